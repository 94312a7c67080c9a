#include "model/arithmetic.h"
#include "model/layer_kind.h"
#include "model/operators.h"
#include "partition/partition.h"
#include "report/terminal/explain_sections.h"
#include "results/verdict.h"
#include "step/pass/pass.h"

#include <math.h>
#include <string.h>

enum { TEXT_BYTES = 96, NARROW_WIDTH = 76, MOST_ROWS = 5 * TSIM_N_PARTS * TSIM_MAX_OPS + 16 };

/* ---- rows ---- */

struct walk {
    const struct tsim_scenario *scenario;
    const struct tsim_cluster *cluster;
    struct tsim_explained_operators *operators;
    double step_time_s;
    const char *part;
    int way;
    double count;
    double slowdown; /* of the rank's kernels */
};

static double ratio(double a, double b) {
    return a > 0 && b > 0 ? a / b : (double)NAN;
}

static struct tsim_explained_operator *add(struct walk *walk, double step_s) {
    struct tsim_explained_operators *operators = walk->operators;
    TSIM_ASSERT(operators->n < MOST_ROWS);
    struct tsim_explained_operator *row = &operators->rows[operators->n++];
    *row = (struct tsim_explained_operator){.intensity = (double)NAN,
                                            .ridge = (double)NAN,
                                            .achieved_flops_per_s = (double)NAN,
                                            .achieved_bytes_per_s = (double)NAN,
                                            .step_s = step_s,
                                            .share_frac = step_s / walk->step_time_s};
    return row;
}

/* Returns the phase's name; alone means that no other micro-batch's pass hides the experts' exchanges. */
static const char *phase_of(int way, const char *phase) {
    enum tsim_pass_kind kind = tsim_kind_of_way(way);
    bool is_alone = tsim_way_is_alone(way);
    if (strcmp(phase, "recompute") == 0)
        return is_alone ? "recompute, alone" : phase;
    static const char *const PHASES[TSIM_N_PASS_KINDS][2] = {{"forward", "forward, alone"},
                                                             {"backward", "backward, alone"},
                                                             {"input gradient", "input gradient, alone"},
                                                             {"weight gradient", "weight gradient"}};
    return PHASES[kind][is_alone];
}

static bool is_backward(const char *phase) {
    return strcmp(phase, "backward") == 0;
}

/* Returns the bytes that an accelerator sends on the kind of link that takes longest: the node's links, or its share of
 * the NICs. */
static double busiest_link_bytes(const struct tsim_cluster *cluster, const struct tsim_pass_operator *op) {
    bool is_nic = op->nic_bytes * cluster->scale_up_bytes_per_s > op->scale_up_bytes * cluster->nic_bytes_per_s;
    return is_nic ? op->nic_bytes : op->scale_up_bytes;
}

static void add_operator(void *context, const struct tsim_pass_operator *op) {
    struct walk *walk = context;
    bool is_collective = op->op->kind == TSIM_OP_COLLECTIVE;
    const struct tsim_accelerator *a = walk->scenario->cluster.node->accelerator;
    double step_s = walk->count * (is_collective ? op->exposed_s : walk->slowdown * op->time_s);
    struct tsim_explained_operator *row = add(walk, step_s);
    row->name = op->op->name;
    row->part = walk->part;
    row->phase = phase_of(walk->way, op->phase);
    row->bound = tsim_bound_name(op->bound);
    row->count = walk->count;
    row->time_s = op->time_s;
    row->bytes = is_collective ? op->op->collective_bytes : op->op->bytes;
    row->achieved_bytes_per_s = ratio(row->bytes, row->time_s);
    if (is_collective) {
        row->achieved_bytes_per_s = ratio(busiest_link_bytes(walk->cluster, op), op->time_s);
        return;
    }
    row->is_vector = op->op->kind == TSIM_OP_ELEMENTWISE && op->op->flops <= 0;
    row->flops =
        row->is_vector ? tsim_op_vector_flops(walk->scenario->model, op->op, is_backward(op->phase)) : op->op->flops;
    double peak = row->is_vector ? a->vector_flops_per_s : a->peak_flops_per_s[op->op->precision];
    row->intensity = row->bytes > 0 ? row->flops / row->bytes : (double)NAN;
    row->ridge = row->flops > 0 && peak > 0 ? peak / a->memory_bytes_per_s : (double)NAN;
    row->achieved_flops_per_s = ratio(row->flops, row->time_s);
}

/* Adds a part of the step beside the operators, unless it is only rounding. */
static void add_beside(struct walk *walk, const char *name, const char *bound, double step_s) {
    if (fabs(step_s) <= TSIM_TICKS_FRAC * walk->step_time_s)
        return;
    struct tsim_explained_operator *row = add(walk, step_s);
    row->name = name;
    row->bound = bound;
    row->count = 1;
    row->time_s = step_s;
}

static void add_operators(struct walk *walk, struct tsim_arena *arena, int32_t stage,
                          const struct tsim_part_counts *counts) {
    const struct tsim_scenario *sc = walk->scenario;
    struct tsim_stage_part own;
    const struct tsim_scenario *of_stage = tsim_stage_part(sc, stage, &own);
    walk->cluster = tsim_cluster_build(arena, sc);
    const struct tsim_placement *placement = tsim_placement_build(arena, sc);
    for (int part = 0; part < TSIM_N_PARTS; part++)
        for (int way = TSIM_PASS_FORWARD; way < TSIM_N_LAYER_WAYS; way++) {
            if (counts->times[way][part] <= 0)
                continue;
            walk->part = tsim_layer_kind((enum tsim_part)part)->word;
            walk->way = way;
            walk->count = counts->times[way][part];
            tsim_pass_visit(of_stage, walk->cluster, placement, (enum tsim_part)part, way, add_operator, walk);
        }
}

void tsim_explain_part_rows(struct tsim_arena *arena, const struct tsim_explanation *explanation,
                            const struct tsim_part_counts *counts, int32_t n_stages,
                            struct tsim_explained_operators *operators) {
    struct walk walk = {.scenario = explanation->scenario,
                        .operators = operators,
                        .slowdown = 1,
                        .step_time_s = explanation->result->step.terms.time_s};
    operators->rows = TSIM_NEW_ARRAY(arena, MOST_ROWS, struct tsim_explained_operator);
    operators->n = 0;
    for (int32_t stage = 0; stage < n_stages; stage++)
        add_operators(&walk, arena, stage, &counts[stage]);
}

static void add_data_traffic(struct walk *walk, const struct tsim_stage_group_account *a) {
    add_beside(walk, "data beside other traffic", "communication", a->met_s[TSIM_AXIS_DATA]);
    add_beside(walk, "waits for parameters", "communication", a->exposed_gather_s);
    add_beside(walk, "waits for reductions", "communication", a->exposed_reduce_s);
    add_beside(walk, "the gradient's norm", "communication", a->exposed_norm_s);
    add_beside(walk, "slowed by collectives", "communication", a->interference_s);
}

void tsim_explain_operator_rows(struct tsim_arena *arena, const struct tsim_explanation *explanation,
                                struct tsim_explained_operators *operators) {
    const struct tsim_stage_group_account *account = &explanation->account;
    const struct tsim_step_terms *t = &account->terms;
    struct walk walk = {.scenario = explanation->scenario,
                        .operators = operators,
                        .slowdown = account->slowdown,
                        .step_time_s = t->time_s};
    operators->rows = TSIM_NEW_ARRAY(arena, MOST_ROWS, struct tsim_explained_operator);
    operators->n = 0;
    int32_t stage = tsim_critical_rank(explanation->result)->stage;
    struct tsim_part_counts counts = tsim_stage_part_counts(explanation->scenario, stage);
    add_operators(&walk, arena, stage, &counts);
    add_beside(&walk, "waiting for the host", "host", account->host_wait_s);
    add_beside(&walk, "waiting for copies", "host", account->copy_wait_s);
    add_beside(&walk, "variation of passes", NULL, account->chance_s + account->recompute_chance_s);
    add_beside(&walk, "tensor beside other traffic", "communication", account->met_s[TSIM_AXIS_TENSOR]);
    add_beside(&walk, "context beside other traffic", "communication", account->met_s[TSIM_AXIS_CONTEXT]);
    add_beside(&walk, "expert beside other traffic", "communication", account->met_s[TSIM_AXIS_EXPERT]);
    add_beside(&walk, "pipeline traffic", "communication", t->exposed_pipeline_s);
    add_data_traffic(&walk, account);
    add_beside(&walk, "optimizer", "memory", t->optimizer_s);
    add_beside(&walk, "pipeline bubble", NULL, t->bubble_s);
    add_beside(&walk, "data stall", NULL, t->data_stall_s);
}

/* ---- the table ---- */

static void tables(struct tsim_arena *arena, const struct tsim_explanation *explanation, tsim_explain_take_fn take,
                   void *context) {
    static const struct tsim_figure_column COLUMNS[] = {
        {NULL, "operator", TSIM_FIGURE_TEXT},
        {NULL, "part", TSIM_FIGURE_TEXT},
        {NULL, "phase", TSIM_FIGURE_TEXT},
        {NULL, "bound", TSIM_FIGURE_TEXT},
        {NULL, "count", TSIM_FIGURE_COUNT},
        {NULL, "flops", TSIM_FIGURE_AMOUNT},
        {NULL, "bytes", TSIM_FIGURE_BYTES},
        {NULL, "intensity_flops_per_byte", TSIM_FIGURE_NUMBER},
        {NULL, "ridge_flops_per_byte", TSIM_FIGURE_NUMBER},
        {NULL, "time_s", TSIM_FIGURE_SECONDS},
        {NULL, "achieved_flops_per_s", TSIM_FIGURE_FLOPS_PER_S},
        {NULL, "achieved_bytes_per_s", TSIM_FIGURE_BYTES_PER_S},
        {NULL, "step_s", TSIM_FIGURE_SECONDS},
        {NULL, "share_frac", TSIM_FIGURE_SHARE},
    };
    struct tsim_explained_operators operators;
    struct tsim_figures figures;
    tsim_explain_operator_rows(arena, explanation, &operators);
    tsim_figures_init(&figures, arena, "operators", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int32_t i = 0; i < operators.n; i++) {
        const struct tsim_explained_operator *row = &operators.rows[i];
        const char *const texts[] = {row->name, row->part, row->phase, row->bound};
        const double numbers[] = {row->count,
                                  row->flops,
                                  row->bytes,
                                  row->intensity,
                                  row->ridge,
                                  row->time_s,
                                  row->achieved_flops_per_s,
                                  row->achieved_bytes_per_s,
                                  row->step_s,
                                  row->share_frac};
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
            tsim_figures_add_text(&figures, texts[k]);
        for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
            tsim_figures_add(&figures, numbers[k]);
    }
    take(context, &figures);
}

/* ---- for people ---- */

static const struct tsim_figure_column SHOWN[] = {
    {"operator", NULL, TSIM_FIGURE_TEXT}, {"FLOP", NULL, TSIM_FIGURE_AMOUNT}, {"bytes", NULL, TSIM_FIGURE_BYTES},
    {"FLOP/B", NULL, TSIM_FIGURE_NUMBER}, {"bound", NULL, TSIM_FIGURE_TEXT},  {"achieved", NULL, TSIM_FIGURE_TEXT},
    {"share", NULL, TSIM_FIGURE_SHARE}};

/* The columns for a narrow terminal: the intensity says what FLOP and bytes say together. */
static const struct tsim_figure_column NARROW[] = {
    {"operator", NULL, TSIM_FIGURE_TEXT}, {NULL, NULL, TSIM_FIGURE_AMOUNT},  {NULL, NULL, TSIM_FIGURE_BYTES},
    {"FLOP/B", NULL, TSIM_FIGURE_NUMBER}, {"bound", NULL, TSIM_FIGURE_TEXT}, {"achieved", NULL, TSIM_FIGURE_TEXT},
    {"share", NULL, TSIM_FIGURE_SHARE}};

static void show(struct tsim_figures *figures, const char *name, double flops, double bytes, double intensity,
                 const char *bound, const char *achieved, double share_frac) {
    tsim_figures_add_text(figures, name);
    tsim_figures_add(figures, flops > 0 ? flops : (double)NAN);
    tsim_figures_add(figures, bytes > 0 ? bytes : (double)NAN);
    tsim_figures_add(figures, intensity > 0 ? intensity : (double)NAN);
    tsim_figures_add_text(figures, bound);
    tsim_figures_add_text(figures, achieved);
    tsim_figures_add(figures, share_frac);
}

static void show_group(struct tsim_figures *figures, const struct tsim_explained_operator *row) {
    char count[64];
    const char *times =
        tsim_arena_printf(figures->arena, "x %s", tsim_figure_text(TSIM_FIGURE_COUNT, row->count, count, sizeof count));
    show(figures, tsim_arena_printf(figures->arena, "%s, %s", row->part, row->phase), (double)NAN, (double)NAN,
         (double)NAN, NULL, times, (double)NAN);
}

/* Returns FLOP/s for products and B/s for element-wise kernels; for collectives the buffer over the time. */
static const char *achieved(struct tsim_arena *arena, const struct tsim_explained_operator *row) {
    char text[64];
    if (row->flops > 0 && !row->is_vector)
        tsim_figure_text(TSIM_FIGURE_FLOPS_PER_S, row->achieved_flops_per_s, text, sizeof text);
    else
        tsim_figure_text(TSIM_FIGURE_BYTES_PER_S, row->achieved_bytes_per_s, text, sizeof text);
    return tsim_arena_strdup(arena, text);
}

/* Shortens "communication", which is as wide as two columns of figures. */
static const char *short_bound(const char *bound) {
    return bound && strcmp(bound, "communication") == 0 ? "network" : bound;
}

static bool same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void show_rows(struct tsim_arena *arena, const struct tsim_explained_operators *operators,
                      struct tsim_figures *figures) {
    double total_frac = 0;
    for (int32_t i = 0; i < operators->n; i++) {
        const struct tsim_explained_operator *row = &operators->rows[i], *before = i > 0 ? row - 1 : NULL;
        if (row->part && (!before || !same_text(row->part, before->part) || !same_text(row->phase, before->phase)))
            show_group(figures, row);
        else if (!row->part && before && before->part)
            show(figures, "beside the operators", (double)NAN, (double)NAN, (double)NAN, NULL, NULL, (double)NAN);
        show(figures, tsim_arena_printf(arena, " %s", row->name), row->flops, row->bytes, row->intensity,
             short_bound(row->bound), achieved(arena, row), row->share_frac);
        total_frac += row->share_frac;
    }
    show(figures, "step", (double)NAN, (double)NAN, (double)NAN, NULL, NULL, total_frac);
}

static void print_ridge(FILE *out, const struct tsim_style *style, struct tsim_arena *arena,
                        const struct tsim_scenario *sc) {
    const struct tsim_accelerator *a = sc->cluster.node->accelerator;
    enum tsim_precision p = sc->training.precision;
    char peak[64], memory[64];
    tsim_text_wrap(
        out, style, 0,
        tsim_arena_printf(
            arena,
            "Each row is one operator on one accelerator. A share is of the step; that of a collective is the "
            "time that it adds to the step, and it achieves what it sends on its busiest link. Ridge point "
            "of %s in %s: %.3g FLOP/B (%s over %s); long kernels sustain %.0f %% and %.0f %% of these.",
            a->name, tsim_precision_name(p), a->peak_flops_per_s[p] / a->memory_bytes_per_s,
            tsim_quantity_human(a->peak_flops_per_s[p], TSIM_FLOPS_PER_S, peak, sizeof peak),
            tsim_quantity_human(a->memory_bytes_per_s, TSIM_BYTES_PER_S, memory, sizeof memory),
            100 * a->matrix_sustained_frac[p], 100 * a->memory_sustained_frac));
}

static void print(struct tsim_arena *arena, FILE *out, const struct tsim_style *style,
                  const struct tsim_explanation *explanation) {
    struct tsim_explained_operators operators;
    struct tsim_figures figures;
    char title[TEXT_BYTES];
    snprintf(title, sizeof title, "operators of the slowest rank (pipeline stage %d)",
             tsim_critical_rank(explanation->result)->stage);
    tsim_text_heading(out, style, title);
    print_ridge(out, style, arena, explanation->scenario);
    tsim_explain_operator_rows(arena, explanation, &operators);
    tsim_figures_init(&figures, arena, "operators", style->width < NARROW_WIDTH ? NARROW : SHOWN,
                      sizeof SHOWN / sizeof SHOWN[0]);
    show_rows(arena, &operators, &figures);
    tsim_figures_print(&figures, style, out);
}

const struct tsim_explain_section tsim_explain_operators = {.needs_step = true, .tables = tables, .print = print};
