/* coverage.h - do the intervals hold? Whole sources, and whole accelerators, are left out of the measured runs. The
 * intervals that the other runs give them are then compared with their first errors: where a run was predicted blind,
 * before anybody had compared it, with the error that it had then. Blind runs are judged apart as well.
 *
 * The same runs set the ends of the 90 %. A run's error is counted in standard deviations; the ends are the quantiles
 * 0.05 and 0.95 of the runs that were left out. A group of n runs weighs as much as sqrt(n) single runs: its runs err
 * alike, so that one run outside among a hundred of one source is no news. Where fewer than 85 % of the sources hold, the
 * ends are widened until as many do, but not beyond what holds 95 % of the runs. */
#ifndef TSIM_STUDY_COVERAGE_H
#define TSIM_STUDY_COVERAGE_H

#include "study/judge/uncertainty.h"

enum tsim_left_out { TSIM_LEFT_OUT_SOURCE, TSIM_LEFT_OUT_ACCELERATOR, TSIM_LEFT_OUT_BLIND, TSIM_N_LEFT_OUT };

struct tsim_held { /* a group of runs that was left out, or all groups together */
    enum tsim_left_out by;
    const char *name; /* "all" */
    int32_t n, n_inside;
    double median_width_frac; /* width: high end over low end, less 1 */
    /* Does the group look as 90 % do? It does if at least 85 % of its runs are inside, or if more than one in ten
     * groups of its size would have as many runs outside by chance, each run being inside with 90 %. */
    bool holds;
};

struct tsim_coverage {
    const struct tsim_held *held; /* the first is of all groups together */
    size_t n_held;
    double holds_frac; /* the share of the groups that hold */
};

const char *tsim_left_out_name(enum tsim_left_out by);

/* The measured runs, those that were once predicted blind as they were predicted then, and behind them the blind runs that
 * are not among the measured ones. */
struct tsim_residuals tsim_first_errors(struct tsim_arena *arena, const struct tsim_residuals *measured,
                                        const struct tsim_residuals *blind);

/* Fits sizes and ends to first errors, because they show what new software or a new machine brings. The program was improved
 * on most of the measured runs before they were left out here, and on none of the blind ones as they were then. */
void tsim_intervals_fit(struct tsim_arena *arena, const struct tsim_residuals *measured,
                        const struct tsim_residuals *blind, struct tsim_error_sizes *sizes);

/* Judges the first errors of measured runs, left out by source or by accelerator. */
void tsim_coverage_of(struct tsim_arena *arena, const struct tsim_residuals *measured,
                      const struct tsim_residuals *first, const struct tsim_error_sizes *sizes, enum tsim_left_out by,
                      struct tsim_coverage *coverage);

/* Judges blind runs source by source. Sizes and ends are fitted again for each, without its runs. Where these are among
 * the measured runs by now, all that the same source measured on the same machine is left out as well: the program has
 * learnt from their errors. */
void tsim_coverage_of_blind(struct tsim_arena *arena, const struct tsim_residuals *measured,
                            const struct tsim_residuals *blind, struct tsim_coverage *coverage);

/* Prints the table of a validation's residuals, each with the interval that it gets from all other sources. */
enum tsim_status tsim_residuals_print(struct tsim_arena *arena, FILE *out, const struct tsim_validation *validation,
                                      struct tsim_diags *diags);

#endif
