/* The tables, one statement each, and nothing else that knows SQL. Every statement is a constant and its values are
 * bound: no SQL text is put together at run time. */
#include "report/store.h"

#include "base/version.h"
#include "report/format.h"
#include "report/summary.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

enum { PATIENCE_MS = 5000, WAL_RETRIES = 100, WAL_RETRY_MS = 20 };

/* PRAGMA application_id, "tsim" in ASCII: tells our databases from those of other programs. */
enum { APPLICATION_ID = 0x7473696d };

struct tsim_store {
    sqlite3 *db;
    const char *file;
    enum tsim_store_mode mode;
};

/* ---- version 1 of the tables: a later version adds statements of its own and leaves these as they are ---- */

/* X(column, whether the run has it, value): the REAL columns of `runs`. */
#define RUN_FIGURES_1(X)                                                                                               \
    X(step_time_s, r->simulated, r->step.time_s)                                                                       \
    X(compute_s, r->simulated, r->step.compute_s)                                                                      \
    X(recompute_s, r->simulated, r->step.recompute_s)                                                                  \
    X(bubble_s, r->simulated, r->step.bubble_s)                                                                        \
    X(communication_exposed_s, r->simulated, r->step.communication_exposed_s)                                          \
    X(exposed_tensor_s, r->simulated, r->step.exposed_tensor_s)                                                        \
    X(exposed_pipeline_s, r->simulated, r->step.exposed_pipeline_s)                                                    \
    X(exposed_data_s, r->simulated, r->step.exposed_data_s)                                                            \
    X(exposed_context_s, r->simulated, r->step.exposed_context_s)                                                      \
    X(exposed_expert_s, r->simulated, r->step.exposed_expert_s)                                                        \
    X(data_stall_s, r->simulated, r->step.data_stall_s)                                                                \
    X(optimizer_s, r->simulated, r->step.optimizer_s)                                                                  \
    X(tokens_per_s, r->simulated, r->throughput.tokens_per_s)                                                          \
    X(tokens_per_s_per_gpu, r->simulated, r->throughput.tokens_per_s_per_gpu)                                          \
    X(samples_per_s, r->simulated, r->throughput.samples_per_s)                                                        \
    X(model_tflops_per_gpu, r->simulated, r->throughput.model_tflops_per_gpu)                                          \
    X(hardware_tflops_per_gpu, r->simulated, r->throughput.hardware_tflops_per_gpu)                                    \
    X(mfu, r->simulated, r->throughput.mfu)                                                                            \
    X(hfu, r->simulated, r->throughput.hfu)                                                                            \
    X(bubble_frac, r->simulated, r->step.bubble_s / r->step.time_s)                                                    \
    X(communication_exposed_frac, r->simulated, r->step.communication_exposed_s / r->step.time_s)                      \
    X(data_stall_frac, r->simulated, r->step.data_stall_s / r->step.time_s)                                            \
    X(memory_capacity_bytes, true, r->memory.capacity_bytes)                                                           \
    X(memory_peak_bytes, true, r->memory.peak_bytes)                                                                   \
    X(weights_bytes, true, r->memory.weights_bytes)                                                                    \
    X(gradients_bytes, true, r->memory.gradients_bytes)                                                                \
    X(master_bytes, true, r->memory.master_bytes)                                                                      \
    X(optimizer_bytes, true, r->memory.optimizer_bytes)                                                                \
    X(activations_bytes, true, r->memory.activations_bytes)                                                            \
    X(buffers_bytes, true, r->memory.buffers_bytes + r->memory.reserve_bytes)                                          \
    X(step_energy_j, r->simulated, r->step_energy_j)                                                                   \
    X(mean_power_w, r->simulated, r->mean_power_w)                                                                     \
    X(parameters, true, r->parameters)                                                                                 \
    X(active_parameters, true, r->active_parameters)                                                                   \
    X(step_model_flops, true, r->step_model_flops)                                                                     \
    X(step_hardware_flops, r->simulated, r->step_hardware_flops)                                                       \
    X(campaign_steps, has_campaign, r->campaign.steps)                                                                 \
    X(campaign_days, has_campaign, r->campaign.days)                                                                   \
    X(campaign_energy_kwh, has_campaign, r->campaign.energy_kwh)                                                       \
    X(campaign_co2_kg, has_campaign, r->campaign.co2_kg)                                                               \
    X(campaign_electricity_usd, has_campaign, r->campaign.electricity_usd)                                             \
    X(campaign_rent_usd, has_campaign, r->campaign.rent_usd)                                                           \
    X(campaign_purchase_usd, has_campaign, r->campaign.purchase_usd)                                                   \
    X(campaign_breakeven_runs, has_campaign, r->campaign.breakeven_runs)                                               \
    X(wall_s, true, r->wall_s)                                                                                         \
    X(peak_rss_bytes, true, r->peak_rss_bytes)

/* The REAL columns of `ranks`. */
#define RANK_FIGURES_1(X)                                                                                              \
    X(time_s, true, r->terms.time_s)                                                                                   \
    X(compute_s, true, r->terms.compute_s)                                                                             \
    X(recompute_s, true, r->terms.recompute_s)                                                                         \
    X(bubble_s, true, r->terms.bubble_s)                                                                               \
    X(communication_exposed_s, true, r->terms.communication_exposed_s)                                                 \
    X(exposed_tensor_s, true, r->terms.exposed_tensor_s)                                                               \
    X(exposed_pipeline_s, true, r->terms.exposed_pipeline_s)                                                           \
    X(exposed_data_s, true, r->terms.exposed_data_s)                                                                   \
    X(exposed_context_s, true, r->terms.exposed_context_s)                                                             \
    X(exposed_expert_s, true, r->terms.exposed_expert_s)                                                               \
    X(data_stall_s, true, r->terms.data_stall_s)                                                                       \
    X(optimizer_s, true, r->terms.optimizer_s)                                                                         \
    X(memory_peak_bytes, true, r->memory.peak_bytes)                                                                   \
    X(weights_bytes, true, r->memory.weights_bytes)                                                                    \
    X(gradients_bytes, true, r->memory.gradients_bytes)                                                                \
    X(master_bytes, true, r->memory.master_bytes)                                                                      \
    X(optimizer_bytes, true, r->memory.optimizer_bytes)                                                                \
    X(activations_bytes, true, r->memory.activations_bytes)                                                            \
    X(buffers_bytes, true, r->memory.buffers_bytes + r->memory.reserve_bytes)                                          \
    X(energy_j, true, r->energy_j)

#define DECLARE(column, has, value) ", " #column " REAL"
#define NAME(column, has, value) ", " #column
#define MARK(column, has, value) ", ?"

/* A point is keyed by a hash of its resolved scenario and the simulator's version. */
static const char MIGRATION_1[] =
    "CREATE TABLE runs(run_id INTEGER PRIMARY KEY, scenario TEXT NOT NULL, resolved_json TEXT NOT NULL,"
    " version TEXT NOT NULL, seed INTEGER NOT NULL, started_at TEXT NOT NULL,"
    " status TEXT NOT NULL CHECK(status IN ('ok', 'does_not_fit')), fits INTEGER NOT NULL, simulated INTEGER NOT NULL,"
    " bottleneck TEXT, accelerators INTEGER NOT NULL, events INTEGER NOT NULL" RUN_FIGURES_1(
        DECLARE) ") STRICT;"
                 "CREATE TABLE steps(run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, step INTEGER NOT NULL,"
                 " time_s REAL NOT NULL, PRIMARY KEY(run_id, step)) STRICT, WITHOUT ROWID;"
                 "CREATE TABLE operators(run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, position INTEGER "
                 "NOT NULL,"
                 " name TEXT NOT NULL, stream TEXT NOT NULL, count REAL NOT NULL, time REAL NOT NULL, flops REAL NOT "
                 "NULL,"
                 " bytes REAL NOT NULL, bound TEXT NOT NULL, PRIMARY KEY(run_id, position)) STRICT, WITHOUT ROWID;"
                 "CREATE TABLE ranks(run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, rank INTEGER NOT NULL,"
                 " stage INTEGER NOT NULL, multiplicity INTEGER NOT NULL" RANK_FIGURES_1(
                     DECLARE) ", PRIMARY KEY(run_id, rank)) STRICT, WITHOUT ROWID;"
                              "CREATE TABLE measured(run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, metric "
                              "TEXT NOT NULL,"
                              " measured REAL NOT NULL, predicted REAL NOT NULL, error REAL NOT NULL, PRIMARY "
                              "KEY(run_id, metric))"
                              " STRICT, WITHOUT ROWID;"
                              "CREATE TABLE sweeps(sweep_id INTEGER PRIMARY KEY, scenario TEXT NOT NULL, resolved_json "
                              "TEXT NOT NULL,"
                              " version TEXT NOT NULL, started_at TEXT NOT NULL) STRICT;"
                              "CREATE TABLE points(key TEXT PRIMARY KEY, sweep_id INTEGER NOT NULL REFERENCES sweeps "
                              "ON DELETE CASCADE,"
                              " set_json TEXT NOT NULL, seed INTEGER NOT NULL, status TEXT NOT NULL,"
                              " run_id INTEGER REFERENCES runs ON DELETE SET NULL) STRICT, WITHOUT ROWID;"
                              "CREATE INDEX points_of_sweep ON points(sweep_id);"
                              "PRAGMA user_version = 1;"
                              "PRAGMA application_id = 0x7473696d;";

static const char INSERT_RUN[] =
    "INSERT INTO runs(scenario, resolved_json, version, seed, started_at, status, fits, simulated, bottleneck,"
    " accelerators, events" RUN_FIGURES_1(NAME) ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?" RUN_FIGURES_1(MARK) ")";
static const char INSERT_STEP[] = "INSERT INTO steps(run_id, step, time_s) VALUES(?, ?, ?)";
static const char INSERT_OPERATOR[] =
    "INSERT INTO operators(run_id, position, name, stream, count, time, flops, bytes, bound)"
    " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char INSERT_RANK[] = "INSERT INTO ranks(run_id, rank, stage, multiplicity" RANK_FIGURES_1(
    NAME) ") VALUES(?, ?, ?, ?" RANK_FIGURES_1(MARK) ")";
static const char INSERT_MEASURED[] =
    "INSERT INTO measured(run_id, metric, measured, predicted, error) VALUES(?, ?, ?, ?, ?)";
static const char SELECT_RUNS[] =
    "SELECT run_id, accelerators, started_at, scenario, status, version, step_time_s, tokens_per_s, mfu"
    " FROM runs ORDER BY run_id";

/* ---- failures ---- */

static enum tsim_status fail(const struct tsim_store *store, const char *doing, struct tsim_diags *diags) {
    int code = sqlite3_errcode(store->db);
    struct tsim_diag *diag = tsim_diags_error(diags, TSIM_ERR_DB, (struct tsim_place){.file = store->file}, NULL,
                                              "cannot %s: %s", doing, sqlite3_errmsg(store->db));
    int system_error = sqlite3_system_errno(store->db);
    if (code == SQLITE_BUSY)
        tsim_diag_hint(diag, "another program holds the database; --db FILE logs to another one, --no-db to none");
    else if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
        tsim_diag_hint(diag, "--db FILE logs to another file; this one was left as it is");
    else if (code == SQLITE_READONLY)
        tsim_diag_hint(diag, "reading takes a folder that can be written (for the log of SQLite): copy the file there");
    else if (store->mode == TSIM_STORE_READ)
        tsim_diag_hint(diag, "`tsim run SCENARIO` makes a database; --db FILE names another one");
    else if (code == SQLITE_CANTOPEN && system_error)
        tsim_diag_hint(diag, "%s; --db FILE logs to another file, --no-db to none", strerror(system_error));
    return TSIM_ERR_DB;
}

static struct tsim_diag *refuse(const struct tsim_store *store, struct tsim_diags *diags, const char *why) {
    return tsim_diags_error(diags, TSIM_ERR_DB, (struct tsim_place){.file = store->file}, NULL, "%s", why);
}

/* ---- statements ---- */

struct statement {
    sqlite3_stmt *stmt; /* NULL after a failed prepare; every call then does nothing */
    int n_bound;
};

static struct statement prepare(const struct tsim_store *store, const char *sql) {
    struct statement statement = {0};
    sqlite3_prepare_v2(store->db, sql, -1, &statement.stmt, NULL);
    return statement;
}

static void bind_text(struct statement *s, const char *text) {
    if (text)
        sqlite3_bind_text(s->stmt, ++s->n_bound, text, -1, SQLITE_TRANSIENT);
    else
        sqlite3_bind_null(s->stmt, ++s->n_bound);
}

static void bind_integer(struct statement *s, int64_t value) {
    sqlite3_bind_int64(s->stmt, ++s->n_bound, value);
}

static void bind_real(struct statement *s, bool has, double value) {
    if (has && !isnan(value))
        sqlite3_bind_double(s->stmt, ++s->n_bound, value);
    else
        sqlite3_bind_null(s->stmt, ++s->n_bound);
}

/* Runs an INSERT whose values are bound and makes it ready for the next row. */
static bool insert(struct statement *s) {
    TSIM_ASSERT(!s->stmt || s->n_bound == sqlite3_bind_parameter_count(s->stmt));
    int code = s->stmt ? sqlite3_step(s->stmt) : SQLITE_ERROR;
    s->n_bound = 0;
    return code == SQLITE_DONE && sqlite3_reset(s->stmt) == SQLITE_OK;
}

static bool execute(const struct tsim_store *store, const char *sql) {
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* The first value of the first row; -1 when there is none or it fails. */
static int64_t query_integer(const struct tsim_store *store, const char *sql) {
    struct statement s = prepare(store, sql);
    int64_t value = s.stmt && sqlite3_step(s.stmt) == SQLITE_ROW ? sqlite3_column_int64(s.stmt, 0) : -1;
    sqlite3_finalize(s.stmt);
    return value;
}

/* ---- opening ---- */

/* Switching to WAL needs the file alone, and SQLite does not wait for that by itself. A file system without shared
 * memory keeps its old mode, which is slower and as safe. */
static void use_wal(const struct tsim_store *store) {
    for (int i = 0; i < WAL_RETRIES && !execute(store, "PRAGMA journal_mode = WAL"); i++) {
        if (sqlite3_errcode(store->db) != SQLITE_BUSY)
            return;
        sqlite3_sleep(WAL_RETRY_MS);
    }
}

/* Two processes may come here at once: the second one finds the work done. */
static enum tsim_status migrate(const struct tsim_store *store, struct tsim_diags *diags) {
    use_wal(store);
    if (!execute(store, "BEGIN IMMEDIATE"))
        return fail(store, "set up the database", diags);
    bool is_done = query_integer(store, "PRAGMA user_version") > 0 || execute(store, MIGRATION_1);
    if (is_done && execute(store, "COMMIT"))
        return TSIM_OK;
    enum tsim_status status = fail(store, "set up the database", diags);
    execute(store, "ROLLBACK");
    return status;
}

static bool is_empty(const struct tsim_store *store) {
    return query_integer(store, "SELECT count(*) FROM sqlite_schema") == 0;
}

static enum tsim_status check_version(const struct tsim_store *store, struct tsim_diags *diags) {
    int64_t version = query_integer(store, "PRAGMA user_version");
    if (version < 0 && sqlite3_errcode(store->db) != SQLITE_OK)
        return fail(store, "read the database", diags);
    if (version == 0 && is_empty(store))
        return store->mode == TSIM_STORE_WRITE ? migrate(store, diags) : TSIM_OK;
    if (query_integer(store, "PRAGMA application_id") != APPLICATION_ID) {
        tsim_diag_hint(refuse(store, diags, "this database belongs to another program"), "--db FILE names another one");
        return TSIM_ERR_DB;
    }
    if (version > TSIM_STORE_VERSION) {
        tsim_diag_hint(refuse(store, diags, "this database was written by a newer tsim"),
                       "its tables are version %lld, tsim %s knows up to version %d: use the newer tsim, or --db FILE",
                       (long long)version, TSIM_VERSION, TSIM_STORE_VERSION);
        return TSIM_ERR_DB;
    }
    return TSIM_OK;
}

static enum tsim_status set_up(const struct tsim_store *store, struct tsim_diags *diags) {
    if (store->mode == TSIM_STORE_WRITE && sqlite3_db_readonly(store->db, "main") == 1) {
        tsim_diag_hint(refuse(store, diags, "cannot write to the database: the file is read-only"),
                       "--db FILE logs to another file, --no-db to none");
        return TSIM_ERR_DB;
    }
    if (!execute(store, "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL"))
        return fail(store, "set up the database", diags);
    return check_version(store, diags);
}

enum tsim_status tsim_store_open(struct tsim_arena *arena, const char *file, enum tsim_store_mode mode,
                                 struct tsim_store **store, struct tsim_diags *diags) {
    struct tsim_store *opened = TSIM_NEW(arena, struct tsim_store);
    opened->file = tsim_arena_strdup(arena, file);
    opened->mode = mode;
    /* A reader asks for writing too (and gets less where the file allows less): the last one to close a database in WAL
     * mode must be able to tidy up beside it. */
    int create = mode == TSIM_STORE_WRITE ? SQLITE_OPEN_CREATE : 0;
    int code = sqlite3_open_v2(file, &opened->db, SQLITE_OPEN_READWRITE | create, NULL);
    enum tsim_status status = TSIM_OK;
    if (code != SQLITE_OK) {
        status = fail(opened, "open the database", diags);
    } else {
        sqlite3_busy_timeout(opened->db, PATIENCE_MS);
        status = set_up(opened, diags);
    }
    if (status == TSIM_OK)
        *store = opened;
    else
        sqlite3_close(opened->db);
    return status;
}

void tsim_store_close(struct tsim_store *store) {
    if (!store)
        return;
    int code = sqlite3_close(store->db);
    TSIM_ASSERT(code == SQLITE_OK); /* every statement was finalized */
}

void tsim_store_set_patience(struct tsim_store *store, int milliseconds) {
    sqlite3_busy_timeout(store->db, milliseconds);
}

/* ---- writing ---- */

static bool insert_run(const struct tsim_store *store, const struct tsim_result *r, const char *started_at) {
    bool has_campaign = r->simulated && r->campaign.has;
    struct statement s = prepare(store, INSERT_RUN);
    bind_text(&s, r->scenario->name);
    bind_text(&s, r->scenario->resolved_json);
    bind_text(&s, TSIM_VERSION);
    bind_integer(&s, r->scenario->simulation.seed);
    bind_text(&s, started_at);
    bind_text(&s, tsim_summary_status(r));
    bind_integer(&s, r->fits);
    bind_integer(&s, r->simulated);
    bind_text(&s, r->simulated ? tsim_bottleneck_kind(r) : NULL);
    bind_integer(&s, r->scenario->n_accelerators);
    bind_integer(&s, r->events);
#define BIND(column, has, value) bind_real(&s, has, value);
    RUN_FIGURES_1(BIND)
    bool is_done = insert(&s);
    sqlite3_finalize(s.stmt);
    return is_done;
}

static bool insert_steps(const struct tsim_store *store, int64_t run_id, const struct tsim_result *result) {
    struct statement s = prepare(store, INSERT_STEP);
    bool is_done = s.stmt != NULL;
    for (int32_t i = 0; is_done && i < result->n_steps; i++) {
        bind_integer(&s, run_id);
        bind_integer(&s, result->steps[i].step);
        bind_real(&s, true, result->steps[i].time_s);
        is_done = insert(&s);
    }
    sqlite3_finalize(s.stmt);
    return is_done;
}

static bool insert_operators(const struct tsim_store *store, int64_t run_id, const struct tsim_result *result) {
    struct statement s = prepare(store, INSERT_OPERATOR);
    bool is_done = s.stmt != NULL;
    for (int32_t i = 0; is_done && i < result->n_operators; i++) {
        const struct tsim_operator_row *o = &result->operators[i];
        bind_integer(&s, run_id);
        bind_integer(&s, i);
        bind_text(&s, o->name);
        bind_text(&s, o->stream);
        bind_real(&s, true, o->count);
        bind_real(&s, true, o->time_s);
        bind_real(&s, true, o->flops);
        bind_real(&s, true, o->bytes);
        bind_text(&s, tsim_bound_name(o->bound));
        is_done = insert(&s);
    }
    sqlite3_finalize(s.stmt);
    return is_done;
}

static bool insert_ranks(const struct tsim_store *store, int64_t run_id, const struct tsim_result *result) {
    struct statement s = prepare(store, INSERT_RANK);
    bool is_done = s.stmt != NULL;
    for (int32_t i = 0; is_done && i < result->n_ranks; i++) {
        const struct tsim_rank_row *r = &result->ranks[i];
        bind_integer(&s, run_id);
        bind_integer(&s, r->rank);
        bind_integer(&s, r->stage);
        bind_integer(&s, r->multiplicity);
        RANK_FIGURES_1(BIND)
        is_done = insert(&s);
    }
    sqlite3_finalize(s.stmt);
    return is_done;
}

static bool insert_measured(const struct tsim_store *store, int64_t run_id, const struct tsim_result *result) {
    struct statement s = prepare(store, INSERT_MEASURED);
    bool is_done = s.stmt != NULL;
    for (int32_t i = 0; is_done && i < result->n_measured; i++) {
        const struct tsim_measured_row *m = &result->measured[i];
        bind_integer(&s, run_id);
        bind_text(&s, tsim_metric_name(m->metric));
        bind_real(&s, true, tsim_metric_in_json(m->metric, m->measured));
        bind_real(&s, true, tsim_metric_in_json(m->metric, m->predicted));
        bind_real(&s, true, m->error_frac);
        is_done = insert(&s);
    }
    sqlite3_finalize(s.stmt);
    return is_done;
}

static bool insert_all(const struct tsim_store *store, const struct tsim_result *result, const char *started_at,
                       int64_t *run_id) {
    if (!insert_run(store, result, started_at))
        return false;
    *run_id = sqlite3_last_insert_rowid(store->db);
    return insert_steps(store, *run_id, result) && insert_operators(store, *run_id, result) &&
           insert_ranks(store, *run_id, result) && insert_measured(store, *run_id, result);
}

enum tsim_status tsim_store_add_run(struct tsim_store *store, const struct tsim_result *result, const char *started_at,
                                    int64_t *run_id, struct tsim_diags *diags) {
    tsim_summary_check(result);
    if (!execute(store, "BEGIN IMMEDIATE"))
        return fail(store, "log the run", diags);
    int64_t added = 0;
    if (insert_all(store, result, started_at, &added) && execute(store, "COMMIT")) {
        *run_id = added;
        return TSIM_OK;
    }
    enum tsim_status status = fail(store, "log the run", diags);
    execute(store, "ROLLBACK");
    return status;
}

/* ---- reading ---- */

static const char *column_text(struct tsim_arena *arena, sqlite3_stmt *stmt, int column) {
    const unsigned char *text = sqlite3_column_text(stmt, column);
    return tsim_arena_strdup(arena, text ? (const char *)text : "");
}

static double column_real(sqlite3_stmt *stmt, int column) {
    return sqlite3_column_type(stmt, column) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(stmt, column);
}

static void read_run(struct tsim_arena *arena, sqlite3_stmt *stmt, struct tsim_store_run *run) {
    run->run_id = sqlite3_column_int64(stmt, 0);
    run->accelerators = sqlite3_column_int64(stmt, 1);
    run->started_at = column_text(arena, stmt, 2);
    run->scenario = column_text(arena, stmt, 3);
    run->status = column_text(arena, stmt, 4);
    run->version = column_text(arena, stmt, 5);
    run->step_time_s = column_real(stmt, 6);
    run->tokens_per_s = column_real(stmt, 7);
    run->mfu = column_real(stmt, 8);
}

/* `rows` is a heap array that grows; the result is its copy in the arena. */
static int read_runs(struct tsim_arena *arena, sqlite3_stmt *stmt, struct tsim_store_run **rows, size_t *n_rows) {
    size_t capacity = 0;
    int code;
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        *rows = tsim_heap_grow(*rows, &capacity, *n_rows + 1, sizeof **rows);
        read_run(arena, stmt, &(*rows)[(*n_rows)++]);
    }
    return code;
}

enum tsim_status tsim_store_list(struct tsim_store *store, struct tsim_arena *arena, struct tsim_store_run **runs,
                                 size_t *n_runs, struct tsim_diags *diags) {
    struct tsim_store_run *rows = NULL;
    size_t n_rows = 0;
    struct statement s = {0};
    int code = SQLITE_DONE;
    if (!is_empty(store)) {
        s = prepare(store, SELECT_RUNS);
        code = s.stmt ? read_runs(arena, s.stmt, &rows, &n_rows) : SQLITE_ERROR;
    }
    enum tsim_status status = code == SQLITE_DONE ? TSIM_OK : fail(store, "read the runs", diags);
    if (status == TSIM_OK) {
        *runs = TSIM_NEW_ARRAY(arena, n_rows, struct tsim_store_run);
        if (n_rows > 0)
            memcpy(*runs, rows, n_rows * sizeof *rows);
        *n_runs = n_rows;
    }
    sqlite3_finalize(s.stmt);
    tsim_heap_free(rows);
    return status;
}
