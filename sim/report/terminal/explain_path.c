/* The chain of activities that the step consists of. Passes and messages come from the replayed schedule, the optimizer
 * and the step's time from the simulation; what the simulation takes longer (traffic of the data-parallel group, links
 * that are shared) closes the sum. */
#include "model/model.h"
#include "report/terminal/explain_sections.h"

#include <math.h>
#include <string.h>

enum { MOST_LINKS = 14, SHOWN_ENDS = 6, MOST_OPERATORS = 6 };
#define ROUNDING_FRAC 1e-9

/* The zero-bubble schedules' stages work shifted against each other: their step is the longest stage's own. */
static bool is_shifted(const struct tsim_timeline *timeline) {
    enum tsim_schedule schedule = timeline->shape.schedule;
    return schedule == TSIM_SCHEDULE_ZB_H1 || schedule == TSIM_SCHEDULE_ZB_H2 || schedule == TSIM_SCHEDULE_ZB_V;
}

static int32_t longest_stage(const struct tsim_timeline *timeline) {
    int32_t longest = 0;
    double longest_s = 0;
    for (int32_t s = 0; s < timeline->shape.stages; s++) {
        const struct tsim_stage_slices *stage = &timeline->stages[s];
        double time_s = stage->slices[stage->n - 1].end_s - stage->slices[0].begin_s;
        if (time_s > longest_s) {
            longest_s = time_s;
            longest = s;
        }
    }
    return longest;
}

static void find_path(struct tsim_arena *arena, const struct tsim_timeline *timeline, struct tsim_path *path) {
    int32_t stage = is_shifted(timeline) ? longest_stage(timeline) : -1;
    double from_s = stage >= 0 ? timeline->stages[stage].slices[0].begin_s : 0;
    tsim_timeline_path(arena, timeline, stage, from_s, path);
}

static double optimizer_s(const struct tsim_result *result, int32_t stage) {
    for (int32_t i = 0; i < result->step.n_ranks; i++)
        if (result->step.ranks[i].stage == stage)
            return result->step.ranks[i].terms.optimizer_s;
    TSIM_BUG("stage %d has no rank", (int)stage);
}

/* ---- the table: a link each, with what is not in the replay at the end ---- */

static const char *passes_text(struct tsim_arena *arena, const struct tsim_path_link *link) {
    static const char *const NAMES[TSIM_N_PASS_KINDS] = {"F", "B", "B", "W"};
    const char *text = "";
    for (int k = 0; k < TSIM_N_PASS_KINDS; k++)
        if (link->counts[k] > 0)
            text = tsim_arena_printf(arena, "%s%s%d %s", text, text[0] ? ", " : "", link->counts[k], NAMES[k]);
    return text;
}

static const char *link_text(struct tsim_arena *arena, const struct tsim_path_link *link) {
    if (link->is_message)
        return tsim_arena_printf(arena, "message from stage %d to %d", link->stage, link->to_stage);
    return tsim_arena_printf(arena, "stage %d: %s%s", link->stage, passes_text(arena, link),
                             link->send_s > 0 ? ", sends" : "");
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
    add_row(figures, link_text(figures->arena, link), link->is_message ? "message" : "passes", link->stage,
            link->begin_s, link->time_s, step_s);
}

/* Adds what follows the passes, and what the simulated step takes longer than the replay. */
static void add_rest(struct tsim_figures *figures, const struct tsim_explanation *explanation,
                     const struct tsim_path *path) {
    const struct tsim_result *result = explanation->result;
    double step_s = result->step.terms.time_s, last_s = optimizer_s(result, path->last_stage);
    double rest_s = step_s - path->time_s - last_s, stall_s = fmax(0, fmin(rest_s, result->step.terms.data_stall_s));
    rest_s -= stall_s;
    if (stall_s > 0)
        add_row(figures, "waiting for input", "input", (double)NAN, (double)NAN, stall_s, step_s);
    if (fabs(rest_s) > ROUNDING_FRAC * step_s)
        add_row(figures, "data-parallel traffic, shared links", "traffic", (double)NAN, (double)NAN, rest_s, step_s);
    add_row(figures, "optimizer", "optimizer", path->last_stage, (double)NAN, last_s, step_s);
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
                tsim_part_counts_add(&counts[is_varied ? s : 0], explanation->scenario, s, c, (enum tsim_pass_kind)k,
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
    find_path(arena, explanation->timeline, &path);
    init_table(arena, &figures);
    for (int32_t i = 0; i < path.n; i++)
        add_link(&figures, &path.links[i], explanation->result->step.terms.time_s);
    add_rest(&figures, explanation, &path);
    take(context, &figures);
    operator_table(arena, explanation, &path, INT32_MAX, &figures);
    take(context, &figures);
}

/* ---- for people: the ends of a long chain, and its middle summed up ---- */

static void add_middle(struct tsim_figures *figures, const struct tsim_path *path, int32_t from, int32_t until,
                       double step_s) {
    double passes_s = 0, messages_s = 0;
    int32_t n_passes = 0, n_messages = 0;
    for (int32_t i = from; i < until; i++) {
        const struct tsim_path_link *link = &path->links[i];
        *(link->is_message ? &messages_s : &passes_s) += link->time_s;
        n_messages += link->is_message;
        for (int k = 0; k < TSIM_N_PASS_KINDS; k++)
            n_passes += link->counts[k];
    }
    add_row(figures, tsim_arena_printf(figures->arena, "... %d passes between", n_passes), "passes", (double)NAN,
            path->links[from].begin_s, passes_s, step_s);
    add_row(figures, tsim_arena_printf(figures->arena, "... %d messages between", n_messages), "message", (double)NAN,
            (double)NAN, messages_s, step_s);
}

static void print(struct tsim_arena *arena, FILE *out, const struct tsim_style *style,
                  const struct tsim_explanation *explanation) {
    double step_s = explanation->result->step.terms.time_s;
    struct tsim_path path;
    struct tsim_figures figures;
    find_path(arena, explanation->timeline, &path);
    init_table(arena, &figures);
    for (int32_t i = 0; i < path.n; i++) {
        if (path.n <= MOST_LINKS || i < SHOWN_ENDS || i >= path.n - SHOWN_ENDS)
            add_link(&figures, &path.links[i], step_s);
        else if (i == SHOWN_ENDS)
            add_middle(&figures, &path, SHOWN_ENDS, path.n - SHOWN_ENDS, step_s);
    }
    add_rest(&figures, explanation, &path);
    add_row(&figures, "step", NULL, (double)NAN, (double)NAN, step_s, step_s);
    tsim_explain_heading(out, style, "critical path: what the step is made of, one after the other");
    tsim_figures_print(&figures, style, out);
    fputc('\n', out);
    operator_table(arena, explanation, &path, MOST_OPERATORS, &figures);
    tsim_figures_print(&figures, style, out);
}

const struct tsim_explain_section tsim_explain_path = {.needs_step = true, .tables = tables, .print = print};
