/* compare.h - two predictions side by side: the differences of their inputs, where the step's time goes from A to B,
 * and the differences of the other figures. */
#pragma once

#include "report/terminal/figures.h"
#include "results/outcome.h"

struct tsim_side {
    const char *name; /* the user's name for it */
    const struct tsim_prediction *prediction;
};

struct tsim_comparison {
    struct tsim_side a, b;
    struct tsim_figures inputs;    /* path, A, B: every key of the resolved scenarios that differs */
    struct tsim_figures waterfall; /* term, A, B, change in seconds; the last row is the step; empty unless both ran */
    struct tsim_figures outputs;   /* figures of the summary that differ: name, A, B, change as a fraction */
    const char *alike;             /* why every figure is the same although inputs differ; NULL: not so */
    double step_change_frac;       /* B / A - 1; NAN unless both ran */
    /* Side, input, changes, and which order they reverse. The caller fills it in; it is empty unless asked for. */
    struct tsim_figures sensitivity;
    const char *verdict; /* sentences below that table, or NULL */
};

/* Builds the comparison in `arena`, which must hold the scenarios of the predictions. */
void tsim_comparison_build(struct tsim_arena *arena, const struct tsim_side *a, const struct tsim_side *b,
                           struct tsim_comparison *comparison);

void tsim_comparison_print(FILE *out, const struct tsim_style *style, const struct tsim_comparison *comparison);
void tsim_comparison_print_csv(FILE *out, const struct tsim_comparison *comparison);
/* Returns {"schema": "tsim/compare/v1", "a", "b", "step_change", "inputs", "waterfall", "outputs"}, and "sensitivity"
 * if it is not empty. */
struct tsim_json *tsim_comparison_json(const struct tsim_comparison *comparison);
