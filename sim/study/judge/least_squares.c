#include "study/judge/least_squares.h"

#include "base/arena.h"
#include "base/normal.h"

#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>

enum { MOST_ITERATIONS = 200, MOST_LOG = 230 }; /* exp(230) is 1e100 */
/* A search may go to and fro for ever at a kink of the errors; it ends when it gains less than this. */
#define STANDSTILL_FRAC 1e-6

/* A step of the fit may go far; beyond these bounds no value is a sensible rate or time. */
static double value_of(double log_value) {
    return exp(fmax(-MOST_LOG, fmin(MOST_LOG, log_value)));
}

static int errors_at(const gsl_vector *logs, void *context, gsl_vector *errors) {
    const struct tsim_least_squares *problem = context;
    double *values = NULL, *row = NULL;
    size_t values_capacity = 0, row_capacity = 0;
    values = tsim_heap_grow(values, &values_capacity, problem->n_values, sizeof *values);
    row = tsim_heap_grow(row, &row_capacity, problem->n_rows, sizeof *row);
    for (size_t i = 0; i < problem->n_values; i++)
        values[i] = value_of(gsl_vector_get(logs, i));
    problem->errors(values, row, problem->context);
    bool is_finite = true;
    for (size_t i = 0; i < problem->n_rows; i++) {
        gsl_vector_set(errors, i, row[i]);
        is_finite &= isfinite(row[i]) != 0;
    }
    tsim_heap_free(values);
    tsim_heap_free(row);
    return is_finite ? GSL_SUCCESS : GSL_EDOM;
}

static double sum_of_squares(const gsl_multifit_nlinear_workspace *workspace) {
    const gsl_vector *errors = gsl_multifit_nlinear_residual(workspace);
    double sum = 0;
    for (size_t i = 0; i < errors->size; i++)
        sum += gsl_vector_get(errors, i) * gsl_vector_get(errors, i);
    return sum;
}

/* Values with their 95 % intervals. */
static void take_values(const struct tsim_least_squares *problem, gsl_multifit_nlinear_workspace *workspace,
                        double *values, double *low_95, double *high_95) {
    const gsl_vector *logs = gsl_multifit_nlinear_position(workspace);
    gsl_matrix *covariance = gsl_matrix_alloc(problem->n_values, problem->n_values);
    gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(workspace), 0.0, covariance);
    double sum = sum_of_squares(workspace), freedom = (double)problem->n_rows - (double)problem->n_values;
    for (size_t i = 0; i < problem->n_values; i++) {
        double log_value = gsl_vector_get(logs, i), width = (double)NAN;
        if (freedom > 0)
            width = tsim_student_quantile(0.975, freedom) * sqrt(gsl_matrix_get(covariance, i, i) * sum / freedom);
        values[i] = value_of(log_value);
        low_95[i] = exp(log_value - width);
        high_95[i] = exp(log_value + width);
    }
    gsl_matrix_free(covariance);
}

/* Ends the program if memory runs out, and returns from other errors; GSL's own handler aborts. */
static void on_gsl_error(const char *reason, const char *file, int line, int error) {
    (void)reason, (void)file, (void)line;
    if (error == GSL_ENOMEM)
        tsim_out_of_memory();
}

const char *tsim_least_squares_fit(const struct tsim_least_squares *problem, double *values, double *low_95,
                                   double *high_95) {
    gsl_multifit_nlinear_fdf fdf = {
        .f = errors_at, .n = problem->n_rows, .p = problem->n_values, .params = (void *)(size_t)problem};
    gsl_set_error_handler(on_gsl_error);
    gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_workspace *workspace =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &parameters, fdf.n, fdf.p);
    gsl_vector *start = gsl_vector_alloc(problem->n_values);
    int info;
    for (size_t i = 0; i < problem->n_values; i++)
        gsl_vector_set(start, i, log(values[i]));
    gsl_multifit_nlinear_init(start, &fdf, workspace);
    int status = gsl_multifit_nlinear_driver(MOST_ITERATIONS, 1e-8, 1e-8, 0.0, NULL, NULL, &info, workspace);
    if (status == GSL_EMAXITER) {
        double sum = sum_of_squares(workspace);
        status = gsl_multifit_nlinear_driver(MOST_ITERATIONS, 1e-8, 1e-8, 0.0, NULL, NULL, &info, workspace);
        if (status == GSL_EMAXITER && sum - sum_of_squares(workspace) <= STANDSTILL_FRAC * sum)
            status = GSL_SUCCESS;
    }
    /* No further progress (GSL_ENOPROG) from a finite point is an optimum to rounding. */
    bool is_done = status == GSL_SUCCESS || status == GSL_ENOPROG;
    if (is_done)
        take_values(problem, workspace, values, low_95, high_95);
    gsl_vector_free(start);
    gsl_multifit_nlinear_free(workspace);
    return is_done ? NULL : gsl_strerror(status);
}
