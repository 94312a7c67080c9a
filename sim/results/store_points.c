#include "results/store_points.h"

#include "results/store_figures.h"

#include <string.h>

/* ---- tables and views, by the version that has them first (store.c adds the columns of figures) ---- */

/* Version 1 had these two and never wrote them. Times of a clock and speeds have no place in `points`: equal sweeps
 * have equal tables. */
const char *tsim_store_migration_2(struct tsim_arena *arena) {
    return tsim_arena_printf(
        arena,
        "DROP TABLE points; DROP TABLE sweeps;"
        "CREATE TABLE sweeps(sweep_id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, scenario TEXT NOT NULL,"
        " spec_json TEXT NOT NULL, version TEXT NOT NULL, n_points INTEGER NOT NULL, started_at TEXT NOT NULL) STRICT;"
        "CREATE TABLE points(sweep_id INTEGER NOT NULL REFERENCES sweeps ON DELETE CASCADE, position INTEGER NOT NULL,"
        " key TEXT NOT NULL, set_json TEXT NOT NULL, seed INTEGER NOT NULL,"
        " status TEXT NOT NULL CHECK(status IN ('ok', 'does_not_fit', 'invalid', 'failed')), reason TEXT,"
        " bottleneck TEXT%s, PRIMARY KEY(sweep_id, position)) STRICT, WITHOUT ROWID;"
        "CREATE INDEX points_of_key ON points(key);",
        tsim_store_figures(arena, TSIM_STORE_POINTS, 2, ", ", " REAL"));
}

/* Ready views for `tsim query`. Versions before had some that did not say which sweep. The first of equally fast
 * points counts. */
const char TSIM_STORE_MIGRATION_6[] =
    "DROP VIEW IF EXISTS best_per_gpu_count; DROP VIEW IF EXISTS cost_per_trillion_tokens;"
    "DROP VIEW IF EXISTS infeasible;"
    "CREATE VIEW best_per_gpu_count AS"
    " SELECT sweep_id, scenario, CAST(accelerators AS INTEGER) AS gpus, set_json, tokens_per_s, step_time_s, mfu,"
    " memory_peak_bytes / 1e9 AS memory_peak_gb, bottleneck FROM"
    " (SELECT *, row_number() OVER (PARTITION BY sweep_id, accelerators"
    " ORDER BY coalesce(tokens_per_s, samples_per_s) DESC, position) AS place"
    " FROM points JOIN sweeps USING(sweep_id) WHERE status = 'ok')"
    " WHERE place = 1 ORDER BY sweep_id, accelerators;"
    "CREATE VIEW cost_per_trillion_tokens AS"
    " SELECT sweep_id, scenario, CAST(accelerators AS INTEGER) AS gpus, set_json,"
    " rent_usd_per_trillion_tokens AS rent_usd, electricity_usd_per_trillion_tokens AS electricity_usd,"
    " 1e12 / tokens_per_s / 86400 AS days, mfu FROM points JOIN sweeps USING(sweep_id)"
    " WHERE status = 'ok' AND tokens_per_s IS NOT NULL"
    " ORDER BY sweep_id, coalesce(rent_usd_per_trillion_tokens, electricity_usd_per_trillion_tokens), position;"
    "CREATE VIEW infeasible AS"
    " SELECT sweep_id, scenario, set_json, status, reason FROM points JOIN sweeps USING(sweep_id)"
    " WHERE status <> 'ok' ORDER BY sweep_id, position;";

/* An axis is a list of choices, a choice an object of settings: of those the keys, not what an inline value has. SQLite
 * also calls a text no JSON when it is out of memory. */
static const char SELECT_SWEEPS[] =
    "SELECT sweep_id, n_points, count(position), total(status = 'ok'), started_at, scenario, version,"
    " CASE WHEN json_valid(spec_json) THEN (SELECT group_concat(key, ' ') FROM"
    "  (SELECT DISTINCT key FROM json_tree(spec_json, '$.axes')"
    "   WHERE path GLOB '$.axes[[]*' AND typeof(key) = 'text' AND instr(path, '\"') = 0))"
    " ELSE 'could not be read' END"
    " FROM sweeps LEFT JOIN points USING(sweep_id) GROUP BY sweep_id ORDER BY sweep_id";
static const char FIND_SWEEP[] = "SELECT sweep_id FROM sweeps WHERE key = ?";
static const char INSERT_SWEEP[] =
    "INSERT INTO sweeps(key, scenario, spec_json, version, n_points, started_at) VALUES(?, ?, ?, ?, ?, ?)";
/* %s: the columns of figures, and a mark for each. A statement that may replace keeps a journal of its own, five times
 * what it writes otherwise: only when it must. */
#define INTO_POINTS                                                                                                    \
    " INTO points(sweep_id, position, key, set_json, seed, status, reason, bottleneck%s)"                              \
    " VALUES(?, ?, ?, ?, ?, ?, ?, ?%s)"
#define INSERT_POINT "INSERT" INTO_POINTS
#define REPLACE_POINT "INSERT OR REPLACE" INTO_POINTS
#define POINT_COLUMNS "key, seed, status, reason, bottleneck%s"
#define FIND_POINT                                                                                                     \
    "SELECT " POINT_COLUMNS ", sweep_id = ?1 AND position = ?2 AS is_here FROM points WHERE key = ?3"                  \
    " ORDER BY is_here DESC LIMIT 1"
#define SELECT_POINTS                                                                                                  \
    "SELECT " POINT_COLUMNS ", position FROM points WHERE sweep_id = ?1 AND position %% ?2 = ?3 ORDER BY position"
static const char SELECT_POSITIONS[] = "SELECT position FROM points WHERE sweep_id = ?1 AND position % ?2 = ?3"
                                       " ORDER BY position";
enum { FIRST_OUTCOME = 5, EXTRA = FIRST_OUTCOME + TSIM_N_OUTCOME_COLUMNS };

static const char *const STATUS_NAMES[] = {"ok", "does_not_fit", "invalid", "failed"};

const char *tsim_point_status_name(enum tsim_point_status status) {
    return STATUS_NAMES[status];
}

static void read_point(const struct tsim_statement *s, struct tsim_point *point) {
    const char *reason = tsim_sql_text(s, 3), *status = tsim_sql_word(s, 2);
    snprintf(point->key, sizeof point->key, "%s", tsim_sql_word(s, 0));
    point->seed = tsim_sql_integer(s, 1);
    point->status = TSIM_POINT_OK;
    while (point->status < TSIM_POINT_FAILED && strcmp(STATUS_NAMES[point->status], status) != 0)
        point->status++;
    snprintf(point->reason, sizeof point->reason, "%s", reason ? reason : "");
    tsim_outcome_clear(&point->outcome);
    point->outcome.bottleneck = tsim_bottleneck_word(tsim_sql_text(s, 4));
    enum tsim_outcome_figure columns[TSIM_N_OUTCOME_COLUMNS];
    tsim_outcome_columns(columns);
    for (int i = 0; i < TSIM_N_OUTCOME_COLUMNS; i++)
        point->outcome.value[columns[i]] = tsim_sql_real(s, FIRST_OUTCOME + i);
    tsim_outcome_complete(&point->outcome);
}

/* ---- sweeps ---- */

static int64_t find_sweep(const struct tsim_store *store, const char *key) {
    struct tsim_statement s = tsim_sql_prepare(store, FIND_SWEEP);
    tsim_sql_bind_text(&s, key);
    int64_t sweep_id = tsim_sql_step(&s) == TSIM_SQL_ROW ? tsim_sql_integer(&s, 0) : 0;
    tsim_sql_finalize(&s);
    return sweep_id;
}

static bool insert_sweep(const struct tsim_store *store, const struct tsim_sweep_row *sweep) {
    struct tsim_statement s = tsim_sql_prepare(store, INSERT_SWEEP);
    tsim_sql_bind_text(&s, sweep->key);
    tsim_sql_bind_text(&s, sweep->scenario);
    tsim_sql_bind_text(&s, sweep->spec_json);
    tsim_sql_bind_text(&s, sweep->version);
    tsim_sql_bind_integer(&s, sweep->n_points);
    tsim_sql_bind_text(&s, sweep->started_at);
    bool is_done = tsim_sql_run(&s);
    tsim_sql_finalize(&s);
    return is_done;
}

enum tsim_status tsim_store_add_sweep(struct tsim_store *store, const struct tsim_sweep_row *sweep, int64_t *sweep_id,
                                      struct tsim_diags *diags) {
    if (!tsim_sql_begin(store))
        return tsim_sql_fail(store, "store the sweep", diags);
    int64_t found = find_sweep(store, sweep->key);
    if (found == 0 && insert_sweep(store, sweep))
        found = tsim_sql_last_id(store);
    if (found != 0 && tsim_sql_commit(store)) {
        *sweep_id = found;
        return TSIM_OK;
    }
    enum tsim_status status = tsim_sql_fail(store, "store the sweep", diags);
    tsim_sql_rollback(store);
    return status;
}

static void read_sweep(struct tsim_arena *arena, const struct tsim_statement *s, struct tsim_sweep_listed *sweep) {
    sweep->sweep_id = tsim_sql_integer(s, 0);
    sweep->n_points = tsim_sql_integer(s, 1);
    sweep->n_kept = tsim_sql_integer(s, 2);
    sweep->n_ok = tsim_sql_integer(s, 3);
    sweep->started_at = tsim_sql_copy(arena, s, 4);
    sweep->scenario = tsim_sql_copy(arena, s, 5);
    sweep->version = tsim_sql_copy(arena, s, 6);
    sweep->axes = tsim_sql_copy(arena, s, 7);
}

enum tsim_status tsim_store_list_sweeps(struct tsim_store *store, struct tsim_arena *arena,
                                        struct tsim_sweep_listed **sweeps, size_t *n_sweeps, struct tsim_diags *diags) {
    struct tsim_sweep_listed *rows = NULL;
    struct tsim_statement s = {0};
    size_t n_rows = 0, capacity = 0;
    enum tsim_sql_step step = TSIM_SQL_DONE;
    bool is_empty = tsim_sql_is_empty(store);
    if (!is_empty)
        s = tsim_sql_prepare(store, SELECT_SWEEPS);
    while (!is_empty && (step = tsim_sql_step(&s)) == TSIM_SQL_ROW) {
        rows = tsim_heap_grow(rows, &capacity, n_rows + 1, sizeof *rows);
        read_sweep(arena, &s, &rows[n_rows++]);
    }
    *sweeps = TSIM_NEW_ARRAY(arena, n_rows, struct tsim_sweep_listed);
    if (n_rows > 0)
        memcpy(*sweeps, rows, n_rows * sizeof *rows);
    *n_sweeps = n_rows;
    enum tsim_status status = step == TSIM_SQL_DONE ? TSIM_OK : tsim_sql_fail(store, "read the sweeps", diags);
    tsim_sql_finalize(&s);
    tsim_heap_free(rows);
    return status;
}

enum tsim_status tsim_store_n_leading_points(struct tsim_store *store, int64_t sweep_id, int64_t shard,
                                             int64_t n_shards, int64_t *n, struct tsim_diags *diags) {
    struct tsim_statement s = tsim_sql_prepare(store, SELECT_POSITIONS);
    enum tsim_sql_step step;
    tsim_sql_bind_integer(&s, sweep_id);
    tsim_sql_bind_integer(&s, n_shards);
    tsim_sql_bind_integer(&s, shard);
    for (*n = 0; (step = tsim_sql_step(&s)) == TSIM_SQL_ROW && tsim_sql_integer(&s, 0) == shard + *n * n_shards;)
        ++*n;
    enum tsim_status status = step == TSIM_SQL_FAILED ? tsim_sql_fail(store, "read points", diags) : TSIM_OK;
    tsim_sql_finalize(&s);
    return status;
}

/* ---- writing ---- */

struct tsim_point_writer {
    struct tsim_store *store;
    struct tsim_statement insert, replace;
    int64_t sweep_id;
    bool is_open; /* a transaction */
};

enum tsim_status tsim_point_writer_open(struct tsim_arena *arena, struct tsim_store *store, int64_t sweep_id,
                                        struct tsim_point_writer **writer, struct tsim_diags *diags) {
    struct tsim_point_writer *opened = TSIM_NEW(arena, struct tsim_point_writer);
    opened->store = store;
    opened->sweep_id = sweep_id;
    const char *columns = tsim_store_figures(arena, TSIM_STORE_POINTS, 0, ", ", "");
    const char *marks = tsim_store_marks(arena, TSIM_STORE_POINTS);
    opened->insert = tsim_sql_prepare(store, tsim_arena_printf(arena, INSERT_POINT, columns, marks));
    opened->replace = tsim_sql_prepare(store, tsim_arena_printf(arena, REPLACE_POINT, columns, marks));
    if (opened->insert.stmt && opened->replace.stmt) {
        *writer = opened;
        return TSIM_OK;
    }
    enum tsim_status status = tsim_sql_fail(store, "store points", diags);
    tsim_sql_finalize(&opened->insert);
    tsim_sql_finalize(&opened->replace);
    return status;
}

static bool write_point(struct tsim_statement *s, int64_t sweep_id, const struct tsim_point *point,
                        const char *set_json) {
    tsim_sql_bind_integer(s, sweep_id);
    tsim_sql_bind_integer(s, point->position);
    tsim_sql_bind_text(s, point->key);
    tsim_sql_bind_text(s, set_json);
    tsim_sql_bind_integer(s, point->seed);
    tsim_sql_bind_text(s, STATUS_NAMES[point->status]);
    tsim_sql_bind_text(s, point->reason[0] ? point->reason : NULL);
    tsim_sql_bind_text(s, point->outcome.bottleneck);
    tsim_store_bind_figures(s, TSIM_STORE_POINTS, &point->outcome);
    return tsim_sql_run(s);
}

enum tsim_status tsim_point_writer_add(struct tsim_point_writer *writer, const struct tsim_point *point,
                                       const char *set_json, struct tsim_diags *diags) {
    if (!writer->is_open && !tsim_sql_begin(writer->store))
        return tsim_sql_fail(writer->store, "store points", diags);
    writer->is_open = true;
    bool is_done =
        write_point(&writer->insert, writer->sweep_id, point, set_json) ||
        (tsim_sql_is_taken(writer->store) && write_point(&writer->replace, writer->sweep_id, point, set_json));
    return is_done ? TSIM_OK : tsim_sql_fail(writer->store, "store points", diags);
}

enum tsim_status tsim_point_writer_commit(struct tsim_point_writer *writer, struct tsim_diags *diags) {
    if (writer->is_open && !tsim_sql_commit(writer->store))
        return tsim_sql_fail(writer->store, "store points", diags);
    writer->is_open = false;
    return TSIM_OK;
}

void tsim_point_writer_close(struct tsim_point_writer *writer) {
    if (!writer)
        return;
    tsim_sql_finalize(&writer->insert);
    tsim_sql_finalize(&writer->replace);
    tsim_sql_rollback(writer->store);
}

/* ---- finding ---- */

struct tsim_point_finder {
    struct tsim_store *store;
    struct tsim_statement find;
    int64_t sweep_id;
};

enum tsim_status tsim_point_finder_open(struct tsim_arena *arena, struct tsim_store *store, int64_t sweep_id,
                                        struct tsim_point_finder **finder, struct tsim_diags *diags) {
    struct tsim_point_finder *opened = TSIM_NEW(arena, struct tsim_point_finder);
    opened->store = store;
    opened->sweep_id = sweep_id;
    opened->find = tsim_sql_prepare(
        store, tsim_arena_printf(arena, FIND_POINT, tsim_store_figures(arena, TSIM_STORE_POINTS, 0, ", ", "")));
    if (!opened->find.stmt)
        return tsim_sql_fail(store, "read points", diags);
    *finder = opened;
    return TSIM_OK;
}

enum tsim_status tsim_point_finder_find(struct tsim_point_finder *finder, struct tsim_point *point,
                                        enum tsim_found *found, struct tsim_diags *diags) {
    struct tsim_statement *s = &finder->find;
    tsim_sql_bind_integer(s, finder->sweep_id);
    tsim_sql_bind_integer(s, point->position);
    tsim_sql_bind_text(s, point->key);
    enum tsim_sql_step step = tsim_sql_step(s);
    *found = TSIM_FOUND_NOT;
    if (step == TSIM_SQL_ROW) {
        read_point(s, point);
        *found = tsim_sql_integer(s, EXTRA) ? TSIM_FOUND_HERE : TSIM_FOUND_ELSEWHERE;
    }
    enum tsim_status status = step == TSIM_SQL_FAILED ? tsim_sql_fail(finder->store, "read points", diags) : TSIM_OK;
    tsim_sql_reset(s);
    return status;
}

void tsim_point_finder_close(struct tsim_point_finder *finder) {
    if (finder)
        tsim_sql_finalize(&finder->find);
}

/* ---- reading ---- */

struct tsim_point_reader {
    struct tsim_store *store;
    struct tsim_statement select;
};

enum tsim_status tsim_point_reader_open(struct tsim_arena *arena, struct tsim_store *store, int64_t sweep_id,
                                        int64_t shard, int64_t n_shards, struct tsim_point_reader **reader,
                                        struct tsim_diags *diags) {
    struct tsim_point_reader *opened = TSIM_NEW(arena, struct tsim_point_reader);
    opened->store = store;
    opened->select = tsim_sql_prepare(
        store, tsim_arena_printf(arena, SELECT_POINTS, tsim_store_figures(arena, TSIM_STORE_POINTS, 0, ", ", "")));
    if (!opened->select.stmt)
        return tsim_sql_fail(store, "read points", diags);
    tsim_sql_bind_integer(&opened->select, sweep_id);
    tsim_sql_bind_integer(&opened->select, n_shards);
    tsim_sql_bind_integer(&opened->select, shard);
    *reader = opened;
    return TSIM_OK;
}

enum tsim_status tsim_point_reader_next(struct tsim_point_reader *reader, struct tsim_point *point, bool *is_there,
                                        struct tsim_diags *diags) {
    enum tsim_sql_step step = tsim_sql_step(&reader->select);
    if (step == TSIM_SQL_FAILED)
        return tsim_sql_fail(reader->store, "read points", diags);
    *is_there = step == TSIM_SQL_ROW;
    if (*is_there) {
        *point = (struct tsim_point){0};
        read_point(&reader->select, point);
        point->position = tsim_sql_integer(&reader->select, EXTRA);
    }
    return TSIM_OK;
}

void tsim_point_reader_rewind(struct tsim_point_reader *reader) {
    tsim_sql_rewind(&reader->select);
}

void tsim_point_reader_close(struct tsim_point_reader *reader) {
    if (reader)
        tsim_sql_finalize(&reader->select);
}
