/* explain_sections.h - private to report: the larger sections of explain.h, one file each. */
#ifndef TSIM_REPORT_EXPLAIN_SECTIONS_H
#define TSIM_REPORT_EXPLAIN_SECTIONS_H

#include "model/operators.h"
#include "partition/schedule.h"
#include "report/terminal/explain.h"
#include "step/part_counts.h"

/* Below this share of the step a time is what the engine's ticks round. */
#define TSIM_TICKS_FRAC 1e-8

typedef void (*tsim_explain_take_fn)(void *context, const struct tsim_figures *figures);

/* A section fills tables (for CSV and JSON whole, for people as they are), and prints itself for people. One of a single
 * table fills that alone; false: there is none. */
struct tsim_explain_section {
    bool needs_step; /* only of a simulated result */
    const char *heading;
    bool (*table)(struct tsim_arena *arena, const struct tsim_explanation *explanation, struct tsim_figures *figures);
    void (*tables)(struct tsim_arena *arena, const struct tsim_explanation *explanation, tsim_explain_take_fn take,
                   void *context);
    void (*print)(struct tsim_arena *arena, FILE *out, const struct tsim_style *style,
                  const struct tsim_explanation *explanation);
};

extern const struct tsim_explain_section tsim_explain_memory, tsim_explain_operators, tsim_explain_schedule,
    tsim_explain_path, tsim_explain_overlap;

/* The rows of the operator table. A row is an operator of a part of the model in one phase, or what else the step is
 * made of (part NULL), as the rank's account has it (step/program.h). step_s over all rows adds up to the step's time:
 * kernels count whole, slower ones longer, and collectives with what they add to the passes. */
struct tsim_explained_operator {
    const char *name;
    const char *part;    /* "embedding", "layer", "head" */
    const char *phase;   /* "forward", "recompute", "backward", or "input gradient" and "weight gradient" apart */
    const char *bound;   /* "compute", "memory", "latency", "communication"; NULL where there is none */
    double count;        /* in a step, on one accelerator of the critical rank */
    bool is_vector;      /* element-wise: its FLOPs are those outside the matrix units (model/arithmetic.h) */
    double flops, bytes; /* of one: matrix FLOPs, or those; HBM traffic, of collectives the buffer */
    double intensity;    /* FLOP/B; NAN for collectives */
    double ridge;        /* FLOP/B at which the datasheet peak (of the precision, or outside the matrix units) and HBM
                            balance; NAN without FLOPs */
    double time_s;       /* of one, alone */
    /* FLOPs and bytes over time_s, of collectives the bytes on an accelerator's busiest link; NAN where there are none */
    double achieved_flops_per_s, achieved_bytes_per_s;
    double step_s, share_frac;
};

struct tsim_explained_operators {
    struct tsim_explained_operator *rows;
    int32_t n;
};

/* The rows of operators alone, of parts that run so often: a layer list of each stage, else all stages as one. */
void tsim_explain_part_rows(struct tsim_arena *arena, const struct tsim_explanation *explanation,
                            const struct tsim_part_counts *counts, int32_t n_stages,
                            struct tsim_explained_operators *operators);
void tsim_explain_operator_rows(struct tsim_arena *arena, const struct tsim_explanation *explanation,
                                struct tsim_explained_operators *operators);

#endif
