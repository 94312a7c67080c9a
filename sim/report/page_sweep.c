/* What a report's page shows of a sweep. */
#include "report/page.h"

#include "report/sql.h"

#include <string.h>

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
        tsim_json_parsed(row, "set", tsim_query_text(query, column));
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
        tsim_diags_error(diags, TSIM_ERR_DB, (struct tsim_place){.file = store->file}, "", "there is no sweep %lld",
                         (long long)sweep_id);
        return TSIM_ERR_DB;
    }
    const char *select = tsim_arena_printf(
        arena,
        "SELECT position, set_json, status, substr(reason, 1, 160) AS reason, bottleneck, accelerators, step_time_s,"
        " tokens_per_s, samples_per_s, mfu, bubble_frac, communication_exposed_frac, memory_peak_bytes, mean_power_w,"
        " campaign_days, campaign_energy_kwh, campaign_co2_kg, campaign_rent_usd FROM points WHERE sweep_id = %lld"
        " ORDER BY status = 'ok' DESC, coalesce(tokens_per_s, samples_per_s) DESC, position LIMIT %d",
        (long long)sweep_id, (int)TSIM_PAGE_MOST_POINTS);
    return add_rows(arena, tsim_json_array(sweep, "points"), store, select, &n, diags);
}
