/* uncertainty.h - the interval around a predicted step time, from how far off predictions of measured runs were (error_model.h),
 * and what makes it as wide as it is, in words.
 *
 * hardware/calibration/intervals.csv holds the sizes of the error's parts and the ends of the 90 % (coverage.h; `make residuals`). An interval always includes
 * the prediction itself, with 2 % to each side at least: measured runs of one plan differ by as much. */
#ifndef TSIM_STUDY_UNCERTAINTY_H
#define TSIM_STUDY_UNCERTAINTY_H

#include "results/prediction.h"
#include "study/judge/error_model.h"

/* So many measured runs of an accelerator, in its class of precision, are few. */
enum { TSIM_FEW_RUNS = 10 };

struct tsim_evidence {
    struct tsim_residuals measured;
    struct tsim_error_sizes sizes;
    const struct tsim_error_model *model; /* NULL: without measured runs or sizes; then there is no interval */
};

/* From the catalogue's tables. Kept by address: what is made of it lives no longer. */
enum tsim_status tsim_evidence_read(struct tsim_arena *arena, struct tsim_evidence *evidence, struct tsim_diags *diags);

/* FILE's sizes; `has` is false where it is not there. TSIM_ERR_SCHEMA for a table of something else. */
enum tsim_status tsim_error_sizes_read(const char *file, struct tsim_error_sizes *sizes, bool *has,
                                       struct tsim_diags *diags);
void tsim_error_sizes_write(FILE *out, const struct tsim_error_sizes *sizes);

struct tsim_ratios tsim_interval_of(const struct tsim_error_of_run *error, const struct tsim_error_sizes *sizes,
                                    enum tsim_error_class class);

/* Sets the uncertainty of a simulated run, as if a run of its name had not been measured; nothing without a model. */
void tsim_uncertainty_set(struct tsim_arena *arena, const struct tsim_evidence *evidence,
                          struct tsim_prediction *prediction);
/* Its reasons in one text; NULL without any. */
const char *tsim_uncertainty_reasons(struct tsim_arena *arena, const struct tsim_uncertainty *u);
/* From the catalogue's tables. */
enum tsim_status tsim_uncertainty_add(struct tsim_arena *arena, struct tsim_prediction *prediction,
                                      struct tsim_diags *diags);

#endif
