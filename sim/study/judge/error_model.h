/* error_model.h - how far off a prediction may be: a mixed model (random effects) of its error.
 *
 *   y = m + sum over k of (x_k b_k) + e
 *
 *   y     ln(measured / predicted step time). It has no unit, nor have the terms below
 *   m     the mean error of all runs
 *   b_k   an effect: an error that runs have in common because they share something. It is normal, with mean 0 and
 *         variance s_k^2
 *   x_k   1; for the last doubling of a count or a sequence the part of it that there is, 0 to 1
 *   e     the error that only this run has. It has Student's distribution with 4 degrees of freedom, mean 0 and scale
 *         s_e, because a run may be far off for a reason of its own, which says little about others
 *
 * An effect belongs to a part of the error. These are the parts, and what runs share that have an effect in common:
 *
 *   source        who measured, and the machine: accelerator, bits of an operand and kind of model
 *   model         kind of model, and number of parameters
 *   accelerator   the machine
 *   software      software, and kind of model
 *   splits        what the model is split by, and software
 *   kind          kind of model, where it is no dense transformer
 *   vendor        who makes the accelerator
 *   rate          an accelerator whose matrix rate is an estimate
 *   count         a doubling of the number of accelerators, counted from 8 upwards and downwards
 *   sequence      a doubling of the sequence, counted from 2,048 tokens upwards and downwards
 *
 * Each doubling beyond all measured runs is an effect that nobody has measured, so a run is as uncertain as it is far
 * from them.
 *
 * Sizes are the standard deviations s_k, one for each part, and s_e. Dense transformers, which most measured runs are
 * of, have their own; all other models share theirs. Splits, vendor, rate, count and sequence have one size for all
 * models. Among the others, the variances of sources, models, accelerators and software differ between kinds of models as
 * far as measured runs show it; a new kind has the kinds' mean. The variance of sources on one machine differs from its
 * kind's likewise, and so does the variance s_e^2 of runs in one cell, which is a machine and a power of ten of parameters,
 * from the common one.
 *
 * Given sizes and measured runs, the mean and the variance of a new run's y follow (best linear unbiased prediction).
 * An effect that many sources have measured adds its mean and little variance. An effect that nobody has measured adds
 * its whole variance. Means of source, model and accelerator move the middle of a run's interval, those of other parts
 * widen it. */
#pragma once

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

/* The sizes of the parts are standard deviations of y. */
struct tsim_error_sizes {
    double part[TSIM_N_ERROR_PARTS][TSIM_N_ERROR_CLASSES];
    double run[TSIM_N_ERROR_CLASSES]; /* s_e */
    /* Ends of the 90 %, in standard deviations of a run. */
    double low[TSIM_N_ERROR_CLASSES], high[TSIM_N_ERROR_CLASSES];
};

const char *tsim_error_part_name(enum tsim_error_part part);
enum tsim_error_class tsim_error_class_of(const struct tsim_traits *traits);

/* Finds the sizes with which the first errors among the rows are most likely (restricted maximum likelihood by
 * expectation and maximization). Other rows only say what the effects are: the program was improved until these were
 * small, so they do not show how far off one that nobody has compared may be. Each part has one effect of 5 % beside
 * those of the rows, so that a part which few groups have shown is not taken to be nothing. `low` and `high` become
 * those of a normal distribution. */
void tsim_error_sizes_fit(struct tsim_arena *arena, const struct tsim_residuals *residuals,
                          struct tsim_error_sizes *sizes);

struct tsim_error_model;

/* Makes a model that knows the rows, except those for which `without` (NULL: none) is true. Returns NULL if no row is
 * left. The model keeps pointers to rows and sizes. */
typedef bool tsim_residual_filter(const struct tsim_residual *row, const void *context);
const struct tsim_error_model *tsim_error_model_new(struct tsim_arena *arena, const struct tsim_residuals *residuals,
                                                    const struct tsim_error_sizes *sizes, tsim_residual_filter *without,
                                                    const void *context);

struct tsim_error_of_run {
    double mean, sd;
    double part_variance[TSIM_N_ERROR_PARTS]; /* the variance that each part would have if it were alone */
    /* Measured runs that share the part's effect; count and sequence: 0 beyond all, else 1. */
    int32_t n_runs[TSIM_N_ERROR_PARTS];
};

/* Predicts the error of a run that `source` measures (NULL: somebody new). The row named `name` (NULL: none) is left
 * out, as if it had not been measured. */
void tsim_error_of_run(struct tsim_arena *arena, const struct tsim_error_model *model, const struct tsim_traits *traits,
                       const char *source, const char *name, struct tsim_error_of_run *error);
