/* explain_sections.h - private to report: the larger sections of explain.h, one file each. */
#pragma once

#include "model/operators.h"
#include "partition/schedule.h"
#include "report/terminal/explain.h"
#include "step/part_counts.h"

/* A time below this share of the step is a rounding of the engine's ticks. */
#define TSIM_TICKS_FRAC 1e-8

typedef void (*tsim_explain_take_fn)(void *context, const struct tsim_figures *figures);

/* A section fills tables (whole for CSV and JSON, and as they are printed for people), and prints itself for people. A
 * section with a single table fills that alone, and returns false if there is none. */
struct tsim_explain_section {
    bool needs_step; /* it exists only for a simulated result */
    const char *heading;
    bool (*table)(struct tsim_arena *arena, const struct tsim_explanation *explanation, struct tsim_figures *figures);
    void (*tables)(struct tsim_arena *arena, const struct tsim_explanation *explanation, tsim_explain_take_fn take,
                   void *context);
    void (*print)(struct tsim_arena *arena, FILE *out, const struct tsim_style *style,
                  const struct tsim_explanation *explanation);
};

extern const struct tsim_explain_section tsim_explain_memory, tsim_explain_operators, tsim_explain_schedule,
    tsim_explain_path, tsim_explain_overlap;

/* A row of the operator table. It is an operator of a part of the model in one phase, or another term of the step (part
 * NULL), as the rank's account has it (step/program.h). step_s over all rows adds up to the step's time: kernels count
 * whole, with the time by which they are slowed, and collectives with what they add to the passes. */
struct tsim_explained_operator {
    const char *name;
    const char *part;    /* "embedding", "layer", "head" */
    const char *phase;   /* "forward", "recompute", "backward", or "input gradient" and "weight gradient" */
    const char *bound;   /* "compute", "memory", "latency", "communication"; NULL if there is none */
    double count;        /* in a step, on one accelerator of the critical rank */
    bool is_vector;      /* its FLOPs are element-wise, outside the matrix units (model/arithmetic.h) */
    double flops, bytes; /* of one operator: FLOPs, and HBM traffic; of a collective its buffer */
    double intensity;    /* in FLOP/B; NAN for collectives */
    /* The FLOP/B at which the data sheet's peak (of the precision, or outside the matrix units) and HBM balance; NAN
     * without FLOPs. */
    double ridge;
    double time_s; /* of one operator, alone */
    /* FLOPs and bytes over time_s; for collectives the bytes on an accelerator's busiest link. They are NAN if there
     * are none. */
    double achieved_flops_per_s, achieved_bytes_per_s;
    double step_s, share_frac;
};

struct tsim_explained_operators {
    struct tsim_explained_operator *rows;
    int32_t n;
};

/* Finds the rows of operators alone, for parts that run so often: for each stage of a layer list, else for all stages
 * as one. */
void tsim_explain_part_rows(struct tsim_arena *arena, const struct tsim_explanation *explanation,
                            const struct tsim_part_counts *counts, int32_t n_stages,
                            struct tsim_explained_operators *operators);
void tsim_explain_operator_rows(struct tsim_arena *arena, const struct tsim_explanation *explanation,
                                struct tsim_explained_operators *operators);
