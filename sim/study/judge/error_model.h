/* error_model.h - how far off a prediction may be: a mixed model (random effects) of its logarithmic error.
 *
 *   ln(measured / predicted) = mean + a sum of effects + what a run has of its own
 *
 * An effect belongs to something that a run shares with others: the vendor of its accelerators, the accelerator (with the
 * class of precision and the kind of model), the software (with the kind of model, and with the splits), the kind of model, the model, who measured it, a rate that is an
 * estimate; and each doubling of the number of accelerators and of the sequence between 8 or 2,048 and the run's is one, so that runs beyond all that were
 * measured are as uncertain as they are far. Effects are normal with mean 0, and each part has a size, its standard deviation. Given measured
 * runs, the mean and the variance of a new run's error follow (best linear unbiased prediction): an effect that many
 * sources have measured adds its mean and little variance, one that nobody has measured its whole variance.
 *
 * Sizes differ between dense transformers, which most measured runs are of, and all other models. Machines differ, too: the variance of
 * sources on a machine and of runs in a cell (machine and decade of parameters) is theirs as far as they have been measured,
 * else the common one. */
#ifndef TSIM_STUDY_ERROR_MODEL_H
#define TSIM_STUDY_ERROR_MODEL_H

#include "study/judge/residuals.h"

enum tsim_error_part {
    TSIM_ERROR_SOURCE,
    TSIM_ERROR_MODEL,
    TSIM_ERROR_ACCELERATOR,
    TSIM_ERROR_SOFTWARE,
    TSIM_ERROR_SPLITS,
    TSIM_ERROR_KIND,
    TSIM_ERROR_VENDOR,
    TSIM_ERROR_RATE,
    TSIM_ERROR_COUNT,
    TSIM_ERROR_SEQUENCE,
    TSIM_N_ERROR_PARTS
};
enum tsim_error_class { TSIM_ERROR_DENSE, TSIM_ERROR_OTHER, TSIM_N_ERROR_CLASSES };

struct tsim_error_sizes { /* ln(measured / predicted) */
    double part[TSIM_N_ERROR_PARTS][TSIM_N_ERROR_CLASSES];
    double run[TSIM_N_ERROR_CLASSES];
    double low[TSIM_N_ERROR_CLASSES], high[TSIM_N_ERROR_CLASSES]; /* ends of the 90 %, in standard deviations */
};

const char *tsim_error_part_name(enum tsim_error_part part);
enum tsim_error_class tsim_error_class_of(const struct tsim_traits *traits);

/* The sizes that make the errors of the rows most likely (restricted maximum likelihood by expectation and maximization), beside one effect of 5 % for
 * each part: what few groups have shown is not taken to be nothing. `low` and `high` are those of a normal distribution. */
void tsim_error_sizes_fit(struct tsim_arena *arena, const struct tsim_residuals *residuals,
                          struct tsim_error_sizes *sizes);

struct tsim_error_model;

/* Knows the rows but those that `without` is true of (NULL: all); NULL where none is left. Rows and sizes are kept, not copied. */
typedef bool tsim_residual_filter(const struct tsim_residual *row, const void *context);
const struct tsim_error_model *tsim_error_model_new(struct tsim_arena *arena, const struct tsim_residuals *residuals,
                                                    const struct tsim_error_sizes *sizes, tsim_residual_filter *without,
                                                    const void *context);

struct tsim_error_of_run {
    double mean, sd;
    double part_variance[TSIM_N_ERROR_PARTS]; /* what each part adds, were it alone */
    int32_t n_runs[TSIM_N_ERROR_PARTS];       /* measured runs that share it; of counts and sequences: 0 beyond all */
};

/* `source`: who measures, NULL for somebody new. The row named `name` (NULL: none) counts as not measured. */
void tsim_error_of_run(struct tsim_arena *arena, const struct tsim_error_model *model, const struct tsim_traits *traits,
                       const char *source, const char *name, struct tsim_error_of_run *error);

#endif
