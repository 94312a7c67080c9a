/* The data of a sweep that a report's page shows. */
#include "report/page/page.h"

#include "results/sql.h"
#include "results/store_points.h"
#include "study/curves/scale.h"

#include <math.h>
#include <string.h>

/* ---- points ---- */

/* The figures of a point that the page has in its table, and lets one choose for its charts. */
static const enum tsim_outcome_figure SHOWN[] = {
    TSIM_OUTCOME_TOKENS_PER_S, TSIM_OUTCOME_SAMPLES_PER_S, TSIM_OUTCOME_MFU,         TSIM_OUTCOME_STEP_TIME,
    TSIM_OUTCOME_ACCELERATORS, TSIM_OUTCOME_MEMORY_PEAK,   TSIM_OUTCOME_BUBBLE_FRAC, TSIM_OUTCOME_EXPOSED_FRAC,
    TSIM_OUTCOME_MEAN_POWER,   TSIM_OUTCOME_DAYS,          TSIM_OUTCOME_ENERGY_KWH,  TSIM_OUTCOME_CO2,
    TSIM_OUTCOME_RENT};
enum { N_SHOWN = sizeof SHOWN / sizeof SHOWN[0] };

/* Adds {"key", "title", "unit", "better"} for each of them, and returns their columns for a query. */
static const char *add_figures(struct tsim_arena *arena, struct tsim_json *figures) {
    const char *columns = "";
    char title[64];
    for (int i = 0; i < N_SHOWN; i++) {
        const struct tsim_outcome_spec *spec = tsim_outcome_spec(SHOWN[i]);
        struct tsim_json *figure = tsim_json_object(figures, NULL);
        tsim_json_text(figure, "key", spec->column->name);
        tsim_json_text(figure, "title", tsim_outcome_name(SHOWN[i], title, sizeof title));
        tsim_json_text(figure, "unit", spec->unit->word);
        tsim_json_text(figure, "better", spec->goal == TSIM_GOAL_MORE ? "more" : "less");
        columns = tsim_arena_printf(arena, "%s, %s", columns, spec->column->name);
    }
    return columns;
}

static void add_cell(struct tsim_json *row, const char *key, const struct tsim_query *query, int column) {
    switch (tsim_query_kind(query, column)) {
    case TSIM_QUERY_NULL:
        return;
    case TSIM_QUERY_INTEGER:
        tsim_json_integer(row, key, tsim_query_integer(query, column));
        return;
    case TSIM_QUERY_REAL:
        tsim_json_number(row, key, tsim_query_real(query, column));
        return;
    case TSIM_QUERY_TEXT:
        break;
    }
    const char *name = tsim_query_column_name(query, column);
    if (strcmp(name, "set_json") == 0)
        tsim_json_parsed_or_text(row, "set", tsim_query_text(query, column));
    else
        tsim_json_text(row, key, tsim_query_text(query, column));
}

static enum tsim_status add_rows(struct tsim_arena *arena, struct tsim_json *rows, struct tsim_store *store,
                                 const char *select, int64_t *n, struct tsim_diags *diags) {
    struct tsim_query *query;
    bool is_there = true;
    *n = 0;
    TSIM_TRY(tsim_query_open(arena, store, select, &query, diags));
    enum tsim_status status;
    while ((status = tsim_query_next(query, &is_there, diags)) == TSIM_OK && is_there) {
        struct tsim_json *row = tsim_json_object(rows, NULL);
        for (int i = 0; i < tsim_query_n_columns(query); i++)
            add_cell(row, tsim_query_column_name(query, i), query, i);
        ++*n;
    }
    tsim_query_close(query);
    return status;
}

/* ---- scaling: the fastest point of each number of accelerators ---- */

struct curve {
    struct tsim_scale_row *rows; /* by count */
    size_t n_rows;
};

static void offer(struct curve *curve, const struct tsim_point *point) {
    int64_t n = llround(point->outcome.value[TSIM_OUTCOME_ACCELERATORS]);
    double per_s = point->outcome.value[TSIM_OUTCOME_SAMPLES_PER_S];
    size_t i = 0;
    while (i < curve->n_rows && curve->rows[i].n_accelerators < n)
        i++;
    bool is_new = i == curve->n_rows || curve->rows[i].n_accelerators != n;
    if (is_new && curve->n_rows == TSIM_PAGE_MOST_COUNTS)
        return;
    if (is_new) {
        memmove(&curve->rows[i + 1], &curve->rows[i], (curve->n_rows - i) * sizeof *curve->rows);
        curve->n_rows++;
    } else if (per_s <= curve->rows[i].point.outcome.value[TSIM_OUTCOME_SAMPLES_PER_S]) {
        return;
    }
    double batch = per_s * point->outcome.value[TSIM_OUTCOME_STEP_TIME];
    curve->rows[i] = (struct tsim_scale_row){.n_accelerators = n, .global_batch_size = llround(batch), .point = *point};
}

static enum tsim_status read_curve(struct tsim_arena *arena, struct tsim_store *store, int64_t sweep_id,
                                   struct curve *curve, struct tsim_diags *diags) {
    struct tsim_point_reader *reader;
    struct tsim_point point;
    bool is_there = true;
    curve->rows = TSIM_NEW_ARRAY(arena, TSIM_PAGE_MOST_COUNTS + 1, struct tsim_scale_row);
    curve->n_rows = 0;
    TSIM_TRY(tsim_point_reader_open(arena, store, sweep_id, 0, 1, &reader, diags));
    enum tsim_status status;
    while ((status = tsim_point_reader_next(reader, &point, &is_there, diags)) == TSIM_OK && is_there)
        if (point.status == TSIM_POINT_OK)
            offer(curve, &point);
    tsim_point_reader_close(reader);
    return status;
}

static void add_curve(struct tsim_json *sweep, const struct curve *curve) {
    struct tsim_scale scale;
    if (curve->n_rows < 2)
        return;
    tsim_scale_analyse(curve->rows, curve->n_rows, 0, &scale);
    struct tsim_json *scaling = tsim_json_object(sweep, "scaling"), *rows = tsim_json_array(scaling, "rows");
    for (size_t i = 0; i < scale.n_rows; i++) {
        const struct tsim_scale_row *row = &scale.rows[i];
        struct tsim_json *object = tsim_json_object(rows, NULL);
        tsim_json_integer(object, "accelerators", row->n_accelerators);
        tsim_json_number(object, "samples_per_s", row->point.outcome.value[TSIM_OUTCOME_SAMPLES_PER_S]);
        tsim_json_number(object, "tokens_per_s", row->point.outcome.value[TSIM_OUTCOME_TOKENS_PER_S]);
        tsim_json_number(object, "efficiency_frac", row->efficiency_frac);
        tsim_json_number(object, "communication_exposed_frac", row->point.outcome.value[TSIM_OUTCOME_EXPOSED_FRAC]);
        if (row->has_cause)
            tsim_json_text(object, "cause", tsim_step_term(row->cause)->cause);
    }
    if (!scale.has_knee)
        return;
    struct tsim_json *knee = tsim_json_object(scaling, "knee");
    tsim_json_integer(knee, "accelerators", scale.rows[scale.knee].n_accelerators);
    tsim_json_text(knee, "cause", tsim_step_term(scale.knee_cause)->cause);
    tsim_json_number(knee, "excess_s", scale.knee_excess_s);
    tsim_json_number(knee, "share_frac", scale.knee_share_frac);
}

enum tsim_status tsim_page_add_sweep(struct tsim_arena *arena, struct tsim_json *page, struct tsim_store *store,
                                     int64_t sweep_id, struct tsim_diags *diags) {
    struct tsim_json *sweep = tsim_json_object(tsim_json_member(page, "sweeps"), NULL);
    int64_t n;
    TSIM_TRY(add_rows(arena, tsim_json_array(sweep, "about"), store,
                      tsim_arena_printf(arena,
                                        "SELECT sweep_id, scenario, version, started_at, n_points FROM sweeps WHERE "
                                        "sweep_id = %lld",
                                        (long long)sweep_id),
                      &n, diags));
    if (n == 0) {
        tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_DB, (struct tsim_place){.file = store->file}, "",
                                        "there is no sweep %lld", (long long)sweep_id),
                       "'tsim runs' lists the runs and sweeps that there are");
        return TSIM_ERR_DB;
    }
    const char *scenario = tsim_json_text_of(tsim_json_at(tsim_json_find(sweep, "about"), 0), "scenario");
    struct curve curve;
    tsim_json_text(sweep, "name", scenario ? scenario : "");
    TSIM_TRY(read_curve(arena, store, sweep_id, &curve, diags));
    add_curve(sweep, &curve);
    const char *select = tsim_arena_printf(
        arena,
        "SELECT position, set_json, status, substr(reason, 1, 160) AS reason, bottleneck%s FROM points"
        " WHERE sweep_id = %lld ORDER BY status = 'ok' DESC, coalesce(tokens_per_s, samples_per_s) DESC, position"
        " LIMIT %d",
        add_figures(arena, tsim_json_array(sweep, "figures")), (long long)sweep_id, (int)TSIM_PAGE_MOST_POINTS);
    return add_rows(arena, tsim_json_array(sweep, "points"), store, select, &n, diags);
}
