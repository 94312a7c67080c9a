#include "report/terminal/summary.h"

#include "base/version.h"
#include "results/measured.h"
#include "results/outcome.h"
#include "results/scaling_laws.h"
#include "results/verdict.h"

/* ---- lists: each is added to the object that it stands in ---- */

static void add_changes(struct tsim_json *memory, const char *key, const struct tsim_prediction *prediction) {
    const struct tsim_result *result = &prediction->result;
    struct tsim_json *changes = tsim_json_array(memory, key);
    for (int32_t i = 0; i < result->step.n_fit_changes; i++) {
        struct tsim_json *change = tsim_json_object(changes, NULL);
        tsim_json_text(change, "set", result->step.fit_changes[i].setting);
        tsim_json_number(change, "peak_bytes", result->step.fit_changes[i].peak_bytes);
    }
}

static void add_advice(struct tsim_json *bottleneck, const char *key, const struct tsim_prediction *prediction) {
    struct tsim_json *advice = tsim_json_array(bottleneck, key);
    for (int32_t i = 0; i < prediction->n_advice; i++)
        tsim_json_text(advice, NULL, prediction->advice[i]);
}

static void add_bins(struct tsim_json *distribution, const char *key, const struct tsim_prediction *prediction) {
    struct tsim_json *bins = tsim_json_array(distribution, key);
    for (int i = 0; i < TSIM_CAMPAIGN_BINS; i++)
        tsim_json_integer(bins, NULL, prediction->result.campaign.bins[i]);
}

static void add_notes(struct tsim_json *laws, const char *key, const struct tsim_prediction *prediction) {
    struct tsim_scaling_laws said;
    struct tsim_arena arena;
    struct tsim_json *notes = tsim_json_array(laws, key);
    tsim_arena_init(&arena);
    tsim_scaling_laws(&arena, &prediction->result, &said);
    for (int i = 0; i < said.n_notes; i++)
        tsim_json_text(notes, NULL, said.notes[i]);
    tsim_arena_release(&arena);
}

static void add_reasons(struct tsim_json *uncertainty, const char *key, const struct tsim_prediction *prediction) {
    struct tsim_json *because = tsim_json_array(uncertainty, key);
    for (int i = 0; i < prediction->uncertainty.n_because; i++)
        tsim_json_text(because, NULL, prediction->uncertainty.because[i]);
}

static void add_wide_for(struct tsim_json *uncertainty, const char *key, const struct tsim_prediction *prediction) {
    struct tsim_json *reasons = tsim_json_array(uncertainty, key);
    for (int i = 0; i < prediction->uncertainty.n_reasons; i++)
        tsim_json_text(reasons, NULL, prediction->uncertainty.reasons[i]);
}

static void add_measured(struct tsim_json *root, const struct tsim_result *result) {
    struct tsim_measured_rows rows;
    tsim_measured_of(result, &rows);
    if (rows.n == 0)
        return;
    struct tsim_json *measured = tsim_json_array(root, "measured");
    for (int32_t i = 0; i < rows.n; i++) {
        const struct tsim_measured_row *row = &rows.rows[i];
        struct tsim_json *object = tsim_json_object(measured, NULL);
        tsim_json_text(object, "metric", tsim_metric_name(row->metric));
        tsim_json_number(object, "measured", tsim_metric_in_json(row->metric, row->measured));
        tsim_json_number(object, "predicted", tsim_metric_in_json(row->metric, row->predicted));
        tsim_json_number(object, "error", row->error_frac);
    }
}

static void add_simulator(struct tsim_json *root, const struct tsim_result *result) {
    struct tsim_json *simulator = tsim_json_object(root, "simulator");
    tsim_json_text(simulator, "version", TSIM_VERSION);
    tsim_json_integer(simulator, "events", result->events);
    tsim_json_number(simulator, "wall_s", result->wall_s);
    tsim_json_number(simulator, "peak_rss_bytes", result->peak_rss_bytes);
}

/* ---- the whole ---- */

typedef void (*add_list_fn)(struct tsim_json *parent, const char *key, const struct tsim_prediction *prediction);

static void add_list(struct tsim_json *root, const char *path, add_list_fn add,
                     const struct tsim_prediction *prediction) {
    const char *key;
    struct tsim_json *parent = tsim_json_make_path(root, path, &key);
    add(parent, key, prediction);
}

static void add_figure(struct tsim_json *root, const struct tsim_outcome *outcome, enum tsim_outcome_figure figure) {
    if (tsim_outcome_spec(figure)->column->is_in_runs)
        tsim_outcome_add(outcome, figure, root);
}

/* Adds the tables row by row, in their order. */
static void add_rows(struct tsim_json *root, const struct tsim_prediction *prediction) {
    const struct tsim_result *r = &prediction->result;
    const struct tsim_uncertainty *u = &prediction->uncertainty;
    struct tsim_outcome outcome;
    tsim_outcome_of(prediction, &outcome);
#define FIGURE(NAME, path, column, unit, goal, words, value, meaning) add_figure(root, &outcome, TSIM_OUTCOME_##NAME);
#define TEXT(path, value, meaning) tsim_json_put_text(root, path, value);
#define LIST(path, condition, add)                                                                                     \
    if (condition)                                                                                                     \
        add_list(root, path, add, prediction);
#include "results/outcome.def"
}

struct tsim_json *tsim_summary_json(const struct tsim_prediction *prediction, const struct tsim_logged *logged) {
    const struct tsim_result *result = &prediction->result;
    tsim_result_check(result);
    struct tsim_json *root = tsim_json_new_object();
    tsim_json_text(root, "schema", "tsim/summary/v1");
    tsim_json_text(root, "scenario", result->scenario->name);
    if (logged->run_id)
        tsim_json_integer(root, "run_id", logged->run_id);
    tsim_json_text(root, "status", tsim_result_status(result));
    add_rows(root, prediction);
    add_measured(root, result);
    add_simulator(root, result);
    return root;
}
