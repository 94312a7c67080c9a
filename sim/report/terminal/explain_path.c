/* The chain of tasks that the step consists of, as the engine ran them: passes, messages, collectives, the optimizer. */
#include "model/model.h"
#include "report/terminal/explain_sections.h"

#include <math.h>
#include <string.h>

enum { MOST_LINKS = 14, SHOWN_ENDS = 6, MOST_OPERATORS = 6 };

/* ---- the table: a link each ---- */

/* Names of the kinds of links: of one, of its sort, and of several that are summed up. */
static const struct {
    const char *one, *sort, *several;
} KINDS[TSIM_N_PATH_KINDS] = {
    [TSIM_PATH_PASSES] = {NULL, "passes", "passes"},
    [TSIM_PATH_MESSAGE] = {NULL, "message", "messages"},
    [TSIM_PATH_GATHER] = {"gathers parameters", "traffic", "gathers of parameters"},
    [TSIM_PATH_REDUCE] = {"reduces gradients", "traffic", "reductions of gradients"},
    [TSIM_PATH_TIED] = {"sums the tied embedding's gradient", "traffic", "tied embeddings"},
    [TSIM_PATH_NORM] = {"the gradient's norm", "traffic", "gradient norms"},
    [TSIM_PATH_INPUT] = {"waits for input", "input", "waits for input"},
    [TSIM_PATH_COPY] = {"copies from or to the host", "copy", "copies"},
    [TSIM_PATH_REPLICAS] = {"waits for another replica", "wait", "waits for other replicas"},
    [TSIM_PATH_DATA_BUSY] = {"its collectives, one after the other", "traffic", "collectives"},
    [TSIM_PATH_OPTIMIZER] = {"optimizer", "optimizer", "optimizers"}};

static const char *passes_text(struct tsim_arena *arena, const struct tsim_path_link *link) {
    static const char *const NAMES[TSIM_N_PASS_KINDS] = {"F", "B", "B", "W"};
    const char *text = "";
    for (int k = 0; k < TSIM_N_PASS_KINDS; k++)
        if (link->counts[k] > 0)
            text = tsim_arena_printf(arena, "%s%s%d %s", text, text[0] ? ", " : "", link->counts[k], NAMES[k]);
    return text[0] ? text : "part of a pass";
}

static const char *link_text(struct tsim_arena *arena, const struct tsim_path_link *link) {
    if (link->kind == TSIM_PATH_MESSAGE)
        return tsim_arena_printf(arena, "message from stage %d to %d", link->stage, link->to_stage);
    if (link->kind == TSIM_PATH_PASSES)
        return tsim_arena_printf(arena, "stage %d: %s%s", link->stage, passes_text(arena, link),
                                 link->sends ? ", sends" : "");
    return tsim_arena_printf(arena, "stage %d: %s", link->stage, KINDS[link->kind].one);
}

static void add_row(struct tsim_figures *figures, const char *text, const char *kind, double stage, double begin_s,
                    double time_s, double step_s) {
    tsim_figures_add_text(figures, text);
    tsim_figures_add_text(figures, kind);
    tsim_figures_add(figures, stage);
    tsim_figures_add(figures, begin_s);
    tsim_figures_add(figures, time_s);
    tsim_figures_add(figures, time_s / step_s);
}

static void add_link(struct tsim_figures *figures, const struct tsim_path_link *link, double step_s) {
    add_row(figures, link_text(figures->arena, link), KINDS[link->kind].sort, link->stage, link->begin_s, link->time_s,
            step_s);
}

static void init_table(struct tsim_arena *arena, struct tsim_figures *figures) {
    static const struct tsim_figure_column COLUMNS[] = {
        {"what", "what", TSIM_FIGURE_TEXT},       {NULL, "kind", TSIM_FIGURE_TEXT},
        {NULL, "stage", TSIM_FIGURE_COUNT},       {"from", "begin_s", TSIM_FIGURE_SECONDS},
        {"takes", "time_s", TSIM_FIGURE_SECONDS}, {"share", "share_frac", TSIM_FIGURE_SHARE}};
    tsim_figures_init(figures, arena, "critical_path", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
}

/* ---- its operators ---- */

static void path_operators(struct tsim_arena *arena, const struct tsim_explanation *explanation,
                           const struct tsim_path *path, struct tsim_explained_operators *operators) {
    const struct tsim_schedule_shape *shape = &explanation->timeline->shape;
    bool is_varied = tsim_model_layers_vary(explanation->scenario->model); /* so are its stages */
    int32_t n = is_varied ? shape->stages : 1;
    struct tsim_part_counts *counts = TSIM_NEW_ARRAY(arena, (size_t)n, struct tsim_part_counts);
    for (int32_t s = 0; s < shape->stages; s++)
        for (int32_t c = 0; c < shape->chunks; c++)
            for (int k = 0; k < TSIM_N_PASS_KINDS; k++)
                tsim_part_counts_add(&counts[is_varied ? s : 0], explanation->scenario, s, c, k,
                                     path->passes[(s * shape->chunks + c) * TSIM_N_PASS_KINDS + k]);
    tsim_explain_part_rows(arena, explanation, counts, n, operators);
    for (int32_t i = 1; i < operators->n; i++) /* by time, of equals the first first */
        for (int32_t j = i; j > 0 && operators->rows[j - 1].step_s < operators->rows[j].step_s; j--) {
            struct tsim_explained_operator row = operators->rows[j];
            operators->rows[j] = operators->rows[j - 1];
            operators->rows[j - 1] = row;
        }
}

static void operator_table(struct tsim_arena *arena, const struct tsim_explanation *explanation,
                           const struct tsim_path *path, int32_t most, struct tsim_figures *figures) {
    static const struct tsim_figure_column COLUMNS[] = {{"operator on it", "operator", TSIM_FIGURE_TEXT},
                                                        {"phase", "phase", TSIM_FIGURE_TEXT},
                                                        {"times", "count", TSIM_FIGURE_COUNT},
                                                        {"takes", "time_s", TSIM_FIGURE_SECONDS},
                                                        {"share", "share_frac", TSIM_FIGURE_SHARE}};
    struct tsim_explained_operators operators;
    path_operators(arena, explanation, path, &operators);
    tsim_figures_init(figures, arena, "critical_path_operators", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int32_t i = 0; i < operators.n && i < most; i++) {
        const struct tsim_explained_operator *row = &operators.rows[i];
        tsim_figures_add_text(figures, row->name);
        tsim_figures_add_text(figures, row->phase);
        tsim_figures_add(figures, row->count);
        tsim_figures_add(figures, row->step_s);
        tsim_figures_add(figures, row->share_frac);
    }
}

static void tables(struct tsim_arena *arena, const struct tsim_explanation *explanation, tsim_explain_take_fn take,
                   void *context) {
    struct tsim_path path;
    struct tsim_figures figures;
    tsim_timeline_path(arena, explanation->timeline, explanation->result->step.terms.time_s, &path);
    init_table(arena, &figures);
    for (int32_t i = 0; i < path.n; i++)
        add_link(&figures, &path.links[i], explanation->result->step.terms.time_s);
    take(context, &figures);
    operator_table(arena, explanation, &path, INT32_MAX, &figures);
    take(context, &figures);
}

/* ---- for people: the ends of a long chain, and its middle summed up ---- */

static void add_middle(struct tsim_figures *figures, const struct tsim_path *path, int32_t from, int32_t until,
                       double step_s) {
    double times_s[TSIM_N_PATH_KINDS] = {0};
    int32_t n[TSIM_N_PATH_KINDS] = {0};
    for (int32_t i = from; i < until; i++) {
        const struct tsim_path_link *link = &path->links[i];
        times_s[link->kind] += link->time_s;
        n[link->kind] += link->kind != TSIM_PATH_PASSES;
        for (int k = 0; k < TSIM_N_PASS_KINDS; k++)
            n[TSIM_PATH_PASSES] += link->counts[k];
    }
    for (int kind = 0; kind < TSIM_N_PATH_KINDS; kind++)
        if (times_s[kind] > 0)
            add_row(figures, tsim_arena_printf(figures->arena, "... %d %s between", n[kind], KINDS[kind].several),
                    KINDS[kind].sort, (double)NAN, kind == TSIM_PATH_PASSES ? path->links[from].begin_s : (double)NAN,
                    times_s[kind], step_s);
}

static void print(struct tsim_arena *arena, FILE *out, const struct tsim_style *style,
                  const struct tsim_explanation *explanation) {
    double step_s = explanation->result->step.terms.time_s;
    struct tsim_path path;
    struct tsim_figures figures;
    tsim_timeline_path(arena, explanation->timeline, step_s, &path);
    init_table(arena, &figures);
    for (int32_t i = 0; i < path.n; i++) {
        if (path.n <= MOST_LINKS || i < SHOWN_ENDS || i >= path.n - SHOWN_ENDS)
            add_link(&figures, &path.links[i], step_s);
        else if (i == SHOWN_ENDS)
            add_middle(&figures, &path, SHOWN_ENDS, path.n - SHOWN_ENDS, step_s);
    }
    add_row(&figures, "step", NULL, (double)NAN, (double)NAN, step_s, step_s);
    tsim_text_heading(out, style, "critical path: the chain of work that sets the step time");
    tsim_figures_print(&figures, style, out);
    fputc('\n', out);
    operator_table(arena, explanation, &path, MOST_OPERATORS, &figures);
    tsim_figures_print(&figures, style, out);
}

const struct tsim_explain_section tsim_explain_path = {.needs_step = true, .tables = tables, .print = print};
