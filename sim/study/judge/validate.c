#include "study/judge/validate.h"

#include "base/quantile.h"
#include "results/measured.h"
#include "run/run.h"
#include "study/crew.h"

#include <math.h>

const char *tsim_case_status_name(enum tsim_case_status status) {
    static const char *const NAMES[] = {"ok", "invalid", "does_not_fit", "failed"};
    return NAMES[status];
}

/* ---- one case ---- */

struct job { /* shared by all threads */
    struct tsim_case *cases;
    const struct tsim_override *overrides;
    size_t n_overrides;
    bool ignore_memory;
};

/* A case belongs to the thread that took it. */
static void run_case(void *context, int32_t worker, size_t number) {
    const struct job *job = context;
    struct tsim_case *item = &job->cases[number];
    (void)worker;
    const struct tsim_scenario *scenario;
    const struct tsim_run_options options = {.ignore_memory = job->ignore_memory};
    item->status = TSIM_CASE_INVALID;
    item->error =
        tsim_scenario_load(&item->arena, item->file, job->overrides, job->n_overrides, &scenario, &item->diags);
    if (item->error != TSIM_OK)
        return;
    item->name = scenario->name;
    item->status = TSIM_CASE_FAILED;
    item->error = tsim_train_run(&item->arena, scenario, &options, &item->result, &item->diags);
    if (item->error == TSIM_OK)
        item->status = item->result.step.simulated ? TSIM_CASE_OK : TSIM_CASE_DOES_NOT_FIT;
}

/* ---- rows ---- */

static double predicted_of(const struct tsim_measured_rows *measured, enum tsim_metric metric, double *error_frac) {
    for (int32_t i = 0; i < measured->n; i++) {
        if (measured->rows[i].metric == metric) {
            *error_frac = measured->rows[i].error_frac;
            return measured->rows[i].predicted;
        }
    }
    TSIM_BUG("the run left out the measured %s", tsim_metric_name(metric));
}

static void add_row(struct tsim_validation *validation, const struct tsim_case *item,
                    const struct tsim_measured_rows *measured, bool has_metric, enum tsim_metric metric) {
    struct tsim_case_row *row = &validation->rows[validation->n_rows++];
    *row = (struct tsim_case_row){.of = item, .has_metric = has_metric, .metric = metric};
    row->measured = row->predicted = row->error_frac = (double)NAN;
    if (has_metric) {
        row->measured = item->result.scenario->measured.value[metric];
        row->is_doubtful = item->result.scenario->measured.doubtful && tsim_metric_is_pace(metric);
    }
    if (item->status == TSIM_CASE_OK && measured)
        row->predicted = predicted_of(measured, metric, &row->error_frac);
}

static void add_rows(struct tsim_validation *validation, const struct tsim_case *item) {
    if (item->status == TSIM_CASE_INVALID || item->status == TSIM_CASE_FAILED) {
        add_row(validation, item, NULL, false, TSIM_N_METRICS);
        return;
    }
    struct tsim_measured_rows measured;
    tsim_measured_of(&item->result, &measured);
    for (int metric = 0; metric < TSIM_N_METRICS; metric++)
        if (item->result.scenario->measured.has[metric])
            add_row(validation, item, &measured, true, (enum tsim_metric)metric);
}

/* ---- score ---- */

void tsim_score_errors(double *errors_frac, size_t n, struct tsim_score *score) {
    double nan = (double)NAN;
    *score = (struct tsim_score){0, nan, nan, nan, nan, nan};
    if (n == 0)
        return;
    double sum = 0.0, magnitude_sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += errors_frac[i];
        errors_frac[i] = fabs(errors_frac[i]);
        magnitude_sum += errors_frac[i];
    }
    tsim_sort_ascending(errors_frac, n);
    score->n = n;
    score->mape_frac = magnitude_sum / (double)n;
    score->median_ape_frac = tsim_sample_quantile(errors_frac, n, 0.5);
    score->p90_ape_frac = tsim_sample_quantile(errors_frac, n, 0.9);
    score->max_ape_frac = errors_frac[n - 1];
    score->bias_frac = sum / (double)n;
}

static void score_rows(const struct tsim_validation *validation, bool doubtful, double *errors,
                       struct tsim_score *score) {
    size_t n_errors = 0;
    for (size_t i = 0; i < validation->n_rows; i++)
        if (!isnan(validation->rows[i].error_frac) && validation->rows[i].is_doubtful == doubtful)
            errors[n_errors++] = validation->rows[i].error_frac;
    tsim_score_errors(errors, n_errors, score);
}

void tsim_validate(struct tsim_arena *arena, const char *const *files, size_t n_files,
                   const struct tsim_override *overrides, size_t n_overrides, bool ignore_memory, int32_t n_threads,
                   struct tsim_validation *validation) {
    *validation = (struct tsim_validation){.n_cases = n_files};
    validation->cases = TSIM_NEW_ARRAY(arena, n_files, struct tsim_case);
    for (size_t i = 0; i < n_files; i++) {
        struct tsim_case *item = &validation->cases[i];
        item->file = item->name = files[i];
        tsim_arena_init(&item->arena);
        tsim_diags_init(&item->diags);
    }
    struct job job = {
        .cases = validation->cases, .overrides = overrides, .n_overrides = n_overrides, .ignore_memory = ignore_memory};
    tsim_crew_run(&(struct tsim_crew){.work = run_case, .context = &job}, n_threads, n_files);
    validation->rows = TSIM_NEW_ARRAY(arena, n_files * TSIM_N_METRICS, struct tsim_case_row);
    for (size_t i = 0; i < n_files; i++)
        add_rows(validation, &validation->cases[i]);
    double *errors = TSIM_NEW_ARRAY(arena, validation->n_rows, double);
    score_rows(validation, false, errors, &validation->score);
    score_rows(validation, true, errors, &validation->doubtful);
}

void tsim_validation_release(struct tsim_validation *validation) {
    for (size_t i = 0; i < validation->n_cases; i++) {
        tsim_diags_release(&validation->cases[i].diags);
        tsim_arena_release(&validation->cases[i].arena);
    }
}
