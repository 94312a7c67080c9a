/* coverage.h - do the intervals hold? Whole sources and whole accelerators are left out of the measured runs, and the intervals that the rest gives are
 * laid beside what was measured; so are those of runs that were predicted before anybody had compared them.
 *
 * The 90 % are set by the same runs: the ends, in standard deviations, are the 5 % and 95 % quantiles of what was left out, where a group
 * of n runs weighs as sqrt(n) of one: its runs err alike, and one in a hundred of a large group is no news. */
#ifndef TSIM_STUDY_COVERAGE_H
#define TSIM_STUDY_COVERAGE_H

#include "study/judge/uncertainty.h"

enum tsim_left_out { TSIM_LEFT_OUT_SOURCE, TSIM_LEFT_OUT_ACCELERATOR, TSIM_LEFT_OUT_BLIND, TSIM_N_LEFT_OUT };

struct tsim_held { /* a group of runs that was left out, or all of that kind */
    enum tsim_left_out by;
    const char *name; /* "all" */
    int32_t n, n_inside;
    double median_width_frac; /* high over low end, less 1 */
    /* Is this what 90 % look like? At least 85 % of the runs are inside; or so many outside would come about in more than one of ten groups of this
     * size, if each run were inside with 90 %. */
    bool holds;
};

struct tsim_coverage {
    const struct tsim_held *held; /* all, then the groups */
    size_t n_held;
    double holds_frac; /* of the groups */
};

const char *tsim_left_out_name(enum tsim_left_out by);

/* The sizes from the measured runs and the blind ones together: what is new costs most where nobody has looked. The ends of
 * dense transformers, which many sources have measured, from the measured runs alone; those of other models from the blind ones, too. */
void tsim_intervals_fit(struct tsim_arena *arena, const struct tsim_residuals *measured,
                        const struct tsim_residuals *blind, struct tsim_error_sizes *sizes);

/* By source or accelerator. */
void tsim_coverage_of(struct tsim_arena *arena, const struct tsim_residuals *measured,
                      const struct tsim_error_sizes *sizes, enum tsim_left_out by, struct tsim_coverage *coverage);

/* Blind runs never count as measured: what their errors taught has changed the program since. Those of a source are judged by what is known without it: sizes and ends
 * are fitted again, without its runs and without what the same source measured on the same machine, where they are among the measured ones by now. */
void tsim_coverage_of_blind(struct tsim_arena *arena, const struct tsim_residuals *measured,
                            const struct tsim_residuals *blind, struct tsim_coverage *coverage);

/* The table of the residuals of a validation, with the interval that each case gets from all other sources. */
enum tsim_status tsim_residuals_print(struct tsim_arena *arena, FILE *out, const struct tsim_validation *validation,
                                      struct tsim_diags *diags);

#endif
