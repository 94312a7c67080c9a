/* coverage.h - whether the intervals hold. Whole sources, and whole accelerators, are left out of the measured runs.
 * The intervals that the other runs give them are then compared with their first errors: if a run was predicted blind,
 * before anybody had compared it, with the error that it had then. Blind runs are also judged apart.
 *
 * The runs with a first error set the ends of the 90 %. A run's error is counted in standard deviations, and the ends
 * are the quantiles 0.05 and 0.95 over those that were left out. A group of n runs weighs as much as sqrt(n) single
 * runs, because its runs err alike: one run outside among a hundred of one source is no news. All other runs are
 * inside soon, as the program was improved on them: where more than 95 % of all are, the ends of dense transformers are
 * narrowed. */
#pragma once

#include "study/judge/uncertainty.h"

enum tsim_left_out { TSIM_LEFT_OUT_SOURCE, TSIM_LEFT_OUT_ACCELERATOR, TSIM_LEFT_OUT_BLIND, TSIM_N_LEFT_OUT };

/* A group of runs that was left out, or all groups together. */
struct tsim_held {
    enum tsim_left_out by;
    const char *name; /* "all" for all groups together */
    int32_t n, n_inside;
    double median_width_frac; /* of the width, which is the high end over the low end, less 1 */
    /* True if the group is as a 90 % interval should have it: at least 85 % of its runs are inside, or more than one in
     * ten groups of its size would have as many runs outside by chance, each run being inside with a probability of 90
     * %. */
    bool holds;
};

struct tsim_coverage {
    const struct tsim_held *held; /* the first is that of all groups together */
    size_t n_held;
    double holds_frac; /* part of the groups that hold */
};

const char *tsim_left_out_name(enum tsim_left_out by);

/* Returns the measured runs, those that were once predicted blind with the prediction of that time, and behind them the
 * blind runs that are not among the measured ones. Without blind runs the measured ones count as first errors. */
struct tsim_residuals tsim_first_errors(struct tsim_arena *arena, const struct tsim_residuals *measured,
                                        const struct tsim_residuals *blind);

/* Fits sizes and ends to first errors, because these show what new software or a new machine brings. The program was
 * improved on most of the measured runs before they were left out here, and on none of the blind ones as they were
 * then. */
void tsim_intervals_fit(struct tsim_arena *arena, const struct tsim_residuals *measured,
                        const struct tsim_residuals *blind, struct tsim_error_sizes *sizes);

/* Judges the first errors of measured runs, left out by source or by accelerator. */
void tsim_coverage_of(struct tsim_arena *arena, const struct tsim_residuals *measured,
                      const struct tsim_residuals *first, const struct tsim_error_sizes *sizes, enum tsim_left_out by,
                      struct tsim_coverage *coverage);

/* Judges blind runs source by source. Sizes and ends are fitted again for each source, without its runs. If these are
 * among the measured runs by now, all that the same source measured on the same machine is left out as well, because
 * the program has learnt from their errors. */
void tsim_coverage_of_blind(struct tsim_arena *arena, const struct tsim_residuals *measured,
                            const struct tsim_residuals *blind, struct tsim_coverage *coverage);

/* Prints the table of a validation's residuals, each with the interval that all other sources give it. */
enum tsim_status tsim_residuals_print(struct tsim_arena *arena, FILE *out, const struct tsim_validation *validation,
                                      struct tsim_diags *diags);
