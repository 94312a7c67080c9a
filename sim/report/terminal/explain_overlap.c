/* Communication of the critical rank, by how it sits beside other work: how long it takes in a step, how long what runs
 * beside it takes, what of it the step waits for, and why. */
#include "partition/partition.h"
#include "report/terminal/explain_sections.h"
#include "results/verdict.h"
#include "step/pass/pass.h"

#include <math.h>
#include <string.h>

enum { MOST_ROWS = 32 };
#define TOLD_FRAC 0.001 /* a smaller part of the step is not worth a reason */

struct row {
    const char *name, *why;
    double bytes;       /* buffers, in the size that nccl-tests counts; NAN: not counted */
    double needs_s;     /* NAN: no communication of its own */
    double available_s; /* of the work that it runs beside; NAN: not defined */
    double exposed_s;
};

struct rows {
    struct row items[MOST_ROWS];
    int32_t n;
};

/* ---- inside passes: tensor, context and expert collectives ---- */

enum { N_OVERLAPS = TSIM_CONCURRENT_PASS + 1 };

struct inside {
    struct row by_overlap[TSIM_N_AXES][N_OVERLAPS];
    double count;
    double product_s;                  /* of the product before, alone */
    struct row *waiting[TSIM_MAX_OPS]; /* for the product after them */
    int32_t n_waiting;
};

static void visit(void *context, const struct tsim_pass_operator *op) {
    struct inside *in = context;
    if (op->op->kind == TSIM_OP_COLLECTIVE) {
        struct row *row = &in->by_overlap[op->op->axis][op->op->overlap];
        row->bytes += in->count * op->op->collective_bytes;
        row->needs_s += in->count * op->time_s;
        row->exposed_s += in->count * op->exposed_s;
        if (op->op->overlap == TSIM_PIPELINED_PREVIOUS)
            row->available_s += in->count * in->product_s;
        in->n_waiting = 0;
        if (op->op->overlap == TSIM_PIPELINED_NEXT || op->op->overlap == TSIM_CONCURRENT_NEXT)
            in->waiting[in->n_waiting++] = row;
        in->product_s = 0;
        return;
    }
    in->product_s = op->op->kind == TSIM_OP_ELEMENTWISE ? 0 : op->time_s;
    if (in->product_s > 0) {
        for (int32_t i = 0; i < in->n_waiting; i++)
            in->waiting[i]->available_s += in->count * in->product_s;
        in->n_waiting = 0;
    }
}

static const char *why_inside(const struct tsim_scenario *sc, enum tsim_axis axis, enum tsim_op_overlap overlap,
                              const struct row *row) {
    switch (overlap) {
    case TSIM_EXPOSED:
        if (axis == TSIM_AXIS_TENSOR && sc->parallelism.sequence && !sc->parallelism.overlap.tensor &&
            tsim_has_tensor_overlap(sc->training.precision))
            return "the next operator needs its result; parallelism.overlap.tensor=true would cut it into chunks "
                   "beside "
                   "its product";
        if (axis == TSIM_AXIS_EXPERT && !sc->parallelism.overlap.expert)
            return "the experts wait for their rows; parallelism.overlap.expert=true would exchange them beside "
                   "another "
                   "micro-batch's pass";
        return "the next operator needs its result, and the software runs nothing beside it";
    case TSIM_PIPELINED_NEXT:
    case TSIM_PIPELINED_PREVIOUS:
        return row->needs_s > row->available_s
                   ? "it is cut into chunks beside a product and takes longer than that product"
                   : "it is cut into chunks beside its product: nothing runs beside one of the chunks, and the small "
                     "products are slower";
    case TSIM_CONCURRENT_NEXT:
        return row->needs_s > row->available_s ? "it takes longer than the product that it runs beside"
                                               : "it is exposed where it takes longer than the product beside it, and "
                                                 "it slows that product by the compute units that it holds";
    case TSIM_CONCURRENT_PASS:
        return "it takes longer than the kernels of the other micro-batch's pass, or takes compute units from them";
    }
    TSIM_BUG("overlap %d", (int)overlap);
}

static const char *inside_name(enum tsim_axis axis, enum tsim_op_overlap overlap) {
    static const char *const NAMES[TSIM_N_AXES][N_OVERLAPS] = {
        [TSIM_AXIS_TENSOR] = {"tensor, nothing beside", "tensor, with next product", "tensor, with product before",
                              "tensor, beside product", "tensor, beside a pass"},
        [TSIM_AXIS_CONTEXT] = {"context, nothing beside", "context, with next product", "context, with product before",
                               "context, beside product", "context, beside a pass"},
        [TSIM_AXIS_EXPERT] = {"expert, nothing beside", "expert, with next product", "expert, with product before",
                              "expert, beside product", "expert, beside a pass"},
        [TSIM_AXIS_DATA] = {"tables, nothing beside", "tables, with next product", "tables, with product before",
                            "tables, beside product", "tables, beside a pass"}};
    return NAMES[axis][overlap];
}

static void add(struct rows *rows, struct row row) {
    TSIM_ASSERT(rows->n < MOST_ROWS);
    rows->items[rows->n++] = row;
}

/* The rows so far say how much of collectives is exposed when they run alone. With other work on their links and
 * devices it is more, which becomes a row here. */
static void add_company(const struct tsim_explanation *explanation, enum tsim_axis axis, struct rows *rows) {
    static const char *const NAMES[] = {[TSIM_AXIS_TENSOR] = "tensor, beside other traffic",
                                        [TSIM_AXIS_CONTEXT] = "context, beside other traffic",
                                        [TSIM_AXIS_EXPERT] = "expert, beside other traffic",
                                        [TSIM_AXIS_DATA] = "tables, beside other traffic"};
    double met_s = explanation->account.met_s[axis];
    if (fabs(met_s) > TSIM_TICKS_FRAC * explanation->result->step.terms.time_s)
        add(rows, (struct row){.name = NAMES[axis],
                               .bytes = (double)NAN,
                               .needs_s = (double)NAN,
                               .available_s = (double)NAN,
                               .exposed_s = met_s,
                               .why = "they share links and compute units with other work at the same time"});
}

static void add_inside(struct tsim_arena *arena, const struct tsim_explanation *explanation, struct rows *rows) {
    const struct tsim_scenario *sc = explanation->scenario;
    const struct tsim_cluster *cluster = tsim_cluster_build(arena, sc);
    const struct tsim_placement *placement = tsim_placement_build(arena, sc);
    int32_t stage = tsim_critical_rank(explanation->result)->stage;
    struct tsim_part_counts counts = tsim_stage_part_counts(sc, stage);
    struct tsim_stage_part own;
    const struct tsim_scenario *of_stage = tsim_stage_part(sc, stage, &own);
    struct inside *in = TSIM_NEW(arena, struct inside);
    for (int part = 0; part < TSIM_N_PARTS; part++)
        for (int way = 0; way < TSIM_N_LAYER_WAYS; way++) {
            in->count = counts.times[way][part];
            in->n_waiting = 0;
            in->product_s = 0;
            if (in->count > 0)
                tsim_pass_visit(of_stage, cluster, placement, (enum tsim_part)part, way, visit, in);
        }
    for (int axis = 0; axis < TSIM_N_AXES; axis++)
        for (int overlap = 0; overlap < N_OVERLAPS; overlap++) {
            struct row *row = &in->by_overlap[axis][overlap];
            if (!(row->needs_s > 0))
                continue;
            row->name = inside_name((enum tsim_axis)axis, (enum tsim_op_overlap)overlap);
            row->why = why_inside(sc, (enum tsim_axis)axis, (enum tsim_op_overlap)overlap, row);
            if (overlap == TSIM_CONCURRENT_PASS)
                row->available_s = (double)NAN;
            add(rows, *row);
        }
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++)
        add_company(explanation, (enum tsim_axis)axis, rows);
}

/* ---- beside passes: the data-parallel group, messages between stages ---- */

static void add_data(const struct tsim_explanation *explanation, struct rows *rows) {
    const struct tsim_stage_group_account *a = &explanation->account;
    const struct tsim_scenario *sc = explanation->scenario;
    double hidden_s = a->data_busy_s, available_s = a->beside_data_s;
    double waits_s = a->exposed_gather_s + a->exposed_reduce_s;
    if (hidden_s + waits_s > 0)
        add(rows, (struct row){.name = "data, gathers and reductions",
                               .bytes = a->data_bytes,
                               .needs_s = fmax(hidden_s, waits_s),
                               .available_s = available_s,
                               .exposed_s = waits_s,
                               .why = !sc->parallelism.overlap.gradients && !tsim_reduces_each_microbatch(sc)
                                          ? "reductions wait for the last backward pass; "
                                            "parallelism.overlap.gradients=true would start them bucket by bucket"
                                      : hidden_s > available_s
                                          ? "they take longer than the passes that they run beside"
                                          : "the first bucket is gathered before anything runs, and the last is "
                                            "reduced after everything"});
    if (a->interference_s > TSIM_TICKS_FRAC * explanation->result->step.terms.time_s)
        add(rows, (struct row){.name = "data, slowing the passes",
                               .bytes = (double)NAN,
                               .needs_s = (double)NAN,
                               .available_s = (double)NAN,
                               .exposed_s = a->interference_s,
                               .why = "while they run, collectives hold compute units and use memory bandwidth"});
    if (a->exposed_norm_s > 0)
        add(rows, (struct row){.name = "data, gradient norm",
                               .bytes = (double)NAN,
                               .needs_s = a->exposed_norm_s,
                               .available_s = 0,
                               .exposed_s = a->exposed_norm_s,
                               .why = "every rank waits for the norm of all gradients before its optimizer"});
}

static void add_messages(const struct tsim_explanation *explanation, struct rows *rows) {
    const struct tsim_stage_group_account *a = &explanation->account;
    const struct tsim_scenario *sc = explanation->scenario;
    const struct tsim_timeline *timeline = explanation->timeline;
    const struct tsim_stage_slices *stage = &timeline->stages[a->stage];
    bool is_async = sc->parallelism.overlap.pipeline;
    if (timeline->shape.stages == 1)
        return;
    add(rows,
        (struct row){.name = "pipeline, messages",
                     .bytes = a->sent_bytes,
                     .needs_s = is_async ? a->send_busy_s : a->terms.exposed_pipeline_s,
                     .available_s = is_async ? stage->busy_s : 0,
                     .exposed_s = a->terms.exposed_pipeline_s,
                     .why = is_async ? "where no other micro-batch is ready the stage waits for a message under "
                                       "way: while the pipeline fills and drains"
                                     : "the stage waits while it sends and receives; parallelism.overlap.pipeline=true "
                                       "would send and receive beside the next pass"});
}

static void fill_rows(struct tsim_arena *arena, const struct tsim_explanation *explanation, struct rows *rows) {
    rows->n = 0;
    add_inside(arena, explanation, rows);
    add_data(explanation, rows);
    add_messages(explanation, rows);
}

/* ---- the table ---- */

static void table(struct tsim_arena *arena, const struct tsim_explanation *explanation, const struct rows *rows,
                  struct tsim_figures *figures) {
    static const struct tsim_figure_column COLUMNS[] = {{"communication", "communication", TSIM_FIGURE_TEXT},
                                                        {"bytes", "bytes", TSIM_FIGURE_BYTES},
                                                        {"needs", "needs_s", TSIM_FIGURE_SECONDS},
                                                        {"beside", "available_s", TSIM_FIGURE_SECONDS},
                                                        {"exposed", "exposed_s", TSIM_FIGURE_SECONDS},
                                                        {"of step", "share_frac", TSIM_FIGURE_SHARE},
                                                        {NULL, "why", TSIM_FIGURE_TEXT}};
    double step_s = explanation->result->step.terms.time_s;
    tsim_figures_init(figures, arena, "overlaps", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int32_t i = 0; i < rows->n; i++) {
        const struct row *row = &rows->items[i];
        bool is_exposed = row->exposed_s > TSIM_TICKS_FRAC * step_s;
        tsim_figures_add_text(figures, row->name);
        tsim_figures_add(figures, row->bytes);
        tsim_figures_add(figures, row->needs_s);
        tsim_figures_add(figures, row->available_s);
        tsim_figures_add(figures, row->exposed_s);
        tsim_figures_add(figures, row->exposed_s / step_s);
        tsim_figures_add_text(figures, is_exposed ? row->why : NULL);
    }
}

static void tables(struct tsim_arena *arena, const struct tsim_explanation *explanation, tsim_explain_take_fn take,
                   void *context) {
    struct rows rows;
    struct tsim_figures figures;
    fill_rows(arena, explanation, &rows);
    table(arena, explanation, &rows, &figures);
    take(context, &figures);
}

/* Prints a reason once for rows that follow each other. */
static void print_reasons(struct tsim_arena *arena, FILE *out, const struct tsim_style *style, const struct rows *rows,
                          double least_s) {
    const char *names = NULL;
    for (int32_t i = 0; i < rows->n; i++) {
        const struct row *row = &rows->items[i], *next = i + 1 < rows->n ? row + 1 : NULL;
        if (row->exposed_s < least_s)
            continue;
        names = names ? tsim_arena_printf(arena, "%s; %s", names, row->name) : row->name;
        if (next && next->exposed_s >= least_s && strcmp(next->why, row->why) == 0)
            continue;
        tsim_text_wrap(out, style, 0, tsim_arena_printf(arena, "%s: %s.", names, row->why));
        names = NULL;
    }
}

static void print(struct tsim_arena *arena, FILE *out, const struct tsim_style *style,
                  const struct tsim_explanation *explanation) {
    struct rows rows;
    struct tsim_figures figures;
    fill_rows(arena, explanation, &rows);
    if (rows.n == 0)
        return;
    tsim_text_heading(out, style, "communication: needed, beside other work, exposed");
    table(arena, explanation, &rows, &figures);
    tsim_figures_print(&figures, style, out);
    print_reasons(arena, out, style, &rows, TOLD_FRAC * explanation->result->step.terms.time_s);
}

const struct tsim_explain_section tsim_explain_overlap = {.needs_step = true, .tables = tables, .print = print};
