/* uncertainty.h - the interval around a predicted step time, and the reasons for its width in words. It follows from
 * how far off predictions of measured runs were (error_model.h).
 *
 * hardware/calibration/intervals.csv holds the sizes of the error's parts and the ends of the 90 % (coverage.h; `make
 * residuals` writes it). An interval always includes the prediction itself and 2 % to each side, because measured runs
 * of one plan differ by as much. */
#pragma once

#include "results/prediction.h"
#include "study/judge/error_model.h"

/* Fewer measured runs than this on an accelerator, in its class of precision, are few. */
enum { TSIM_FEW_RUNS = 10 };

struct tsim_evidence {
    struct tsim_residuals measured;
    struct tsim_error_sizes sizes;
    const struct tsim_error_model *model; /* NULL: no measured runs or no sizes exist, so there is no interval */
};

/* Reads the catalogue's tables. `evidence->model` points into `evidence`, which must therefore not move. */
enum tsim_status tsim_evidence_read(struct tsim_arena *arena, struct tsim_evidence *evidence, struct tsim_diags *diags);

/* Reads the tables once for all runs of the process, because that takes half of a small run's time. It is for a server,
 * before it starts processes; `arena` must stay. */
enum tsim_status tsim_evidence_keep(struct tsim_arena *arena, struct tsim_diags *diags);

/* Reads sizes from `file`; `has` is false if there is no such file. Returns TSIM_ERR_SCHEMA if it is no table of
 * sizes. */
enum tsim_status tsim_error_sizes_read(const char *file, struct tsim_error_sizes *sizes, bool *has,
                                       struct tsim_diags *diags);
void tsim_error_sizes_write(FILE *out, const struct tsim_error_sizes *sizes);

struct tsim_ratios tsim_interval_of(const struct tsim_error_of_run *error, const struct tsim_error_sizes *sizes,
                                    enum tsim_error_class class);

/* Returns the interval of a round over its prediction, from the *n measured rounds other than `name`: the next of n draws of a
 * normal distribution is within mean +- t s sqrt(1 + 1/n) in nine of ten cases, with t of Student's distribution. It is
 * NAN if there are fewer than three. */
struct tsim_ratios tsim_round_interval(const struct tsim_residuals *measured, const char *name, int32_t *n);

/* Sets the uncertainty of a simulated run, as if the run of its name had not been measured. It does nothing without a
 * model. */
void tsim_uncertainty_set(struct tsim_arena *arena, const struct tsim_evidence *evidence,
                          struct tsim_prediction *prediction);
/* Returns the reasons for its width in one text; NULL if there are none. */
const char *tsim_uncertainty_reasons(struct tsim_arena *arena, const struct tsim_uncertainty *u);
/* Reads the evidence and sets the uncertainty. */
enum tsim_status tsim_uncertainty_add(struct tsim_arena *arena, struct tsim_prediction *prediction,
                                      struct tsim_diags *diags);
