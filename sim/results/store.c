/* Runs: their tables, one statement each. */
#include "results/store_figures.h"

#include "base/version.h"
#include "results/measured.h"
#include "results/verdict.h"

#include <math.h>
#include <string.h>

/* ---- the tables ---- */

enum { VERSION_OF_VIEWS = 6 }; /* the last that came with other views (store_points.c) */

/* The REAL columns of `ranks`, X(column, value). */
#define RANK_FIGURES_1(X)                                                                                              \
    X(time_s, r->terms.time_s)                                                                                         \
    X(compute_s, r->terms.compute_s)                                                                                   \
    X(recompute_s, r->terms.recompute_s)                                                                               \
    X(bubble_s, r->terms.bubble_s)                                                                                     \
    X(communication_exposed_s, r->terms.communication_exposed_s)                                                       \
    X(exposed_tensor_s, r->terms.exposed_tensor_s)                                                                     \
    X(exposed_pipeline_s, r->terms.exposed_pipeline_s)                                                                 \
    X(exposed_data_s, r->terms.exposed_data_s)                                                                         \
    X(exposed_context_s, r->terms.exposed_context_s)                                                                   \
    X(exposed_expert_s, r->terms.exposed_expert_s)                                                                     \
    X(data_stall_s, r->terms.data_stall_s)                                                                             \
    X(optimizer_s, r->terms.optimizer_s)                                                                               \
    X(memory_peak_bytes, r->memory.peak_bytes)                                                                         \
    X(weights_bytes, r->memory.weights_bytes)                                                                          \
    X(gradients_bytes, r->memory.gradients_bytes)                                                                      \
    X(master_bytes, r->memory.master_bytes)                                                                            \
    X(optimizer_bytes, r->memory.optimizer_bytes)                                                                      \
    X(activations_bytes, r->memory.activations_bytes)                                                                  \
    X(buffers_bytes, r->memory.buffers_bytes + r->memory.reserve_bytes)                                                \
    X(energy_j, r->energy_j)

#define DECLARE(column, value) ", " #column " REAL"
#define NAME(column, value) ", " #column
#define MARK(column, value) ", ?"

/* `sweeps` and `points` of version 1 were never written: version 2 makes them anew. The columns of figures that `runs`
 * had then stand here; those of later versions are added. */
static const char MIGRATION_1[] =
    "CREATE TABLE runs(run_id INTEGER PRIMARY KEY, scenario TEXT NOT NULL, resolved_json TEXT NOT NULL,"
    " version TEXT NOT NULL, seed INTEGER NOT NULL, started_at TEXT NOT NULL,"
    " status TEXT NOT NULL CHECK(status IN ('ok', 'does_not_fit')), fits INTEGER NOT NULL, simulated INTEGER NOT NULL,"
    " bottleneck TEXT, accelerators INTEGER NOT NULL, events INTEGER NOT NULL"
    ", step_time_s REAL, compute_s REAL, recompute_s REAL, bubble_s REAL, communication_exposed_s REAL,"
    " exposed_tensor_s REAL, exposed_pipeline_s REAL, exposed_data_s REAL, exposed_context_s REAL,"
    " exposed_expert_s REAL, data_stall_s REAL, optimizer_s REAL, tokens_per_s REAL, tokens_per_s_per_gpu"
    " REAL, samples_per_s REAL, model_tflops_per_gpu REAL, hardware_tflops_per_gpu REAL, mfu REAL, hfu"
    " REAL, bubble_frac REAL, communication_exposed_frac REAL, data_stall_frac REAL, memory_capacity_bytes"
    " REAL, memory_peak_bytes REAL, weights_bytes REAL, gradients_bytes REAL, master_bytes REAL,"
    " optimizer_bytes REAL, activations_bytes REAL, buffers_bytes REAL, step_energy_j REAL, mean_power_w"
    " REAL, parameters REAL, active_parameters REAL, step_model_flops REAL, step_hardware_flops REAL,"
    " campaign_steps REAL, campaign_days REAL, campaign_energy_kwh REAL, campaign_co2_kg REAL,"
    " campaign_electricity_usd REAL, campaign_rent_usd REAL, campaign_purchase_usd REAL,"
    " campaign_breakeven_runs REAL, wall_s REAL, peak_rss_bytes REAL"
    ") STRICT;"
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
                 "PRAGMA application_id = 0x7473696d;";

/* Each %s is the columns of figures, or a mark for each. */
#define INSERT_RUN                                                                                                     \
    "INSERT INTO runs(scenario, resolved_json, version, seed, started_at, status, simulated, bottleneck, events,"      \
    " wall_s, peak_rss_bytes%s) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?%s)"
static const char INSERT_STEP[] = "INSERT INTO steps(run_id, step, time_s) VALUES(?, ?, ?)";
static const char INSERT_OPERATOR[] =
    "INSERT INTO operators(run_id, position, name, stream, count, time, flops, bytes, bound)"
    " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char INSERT_RANK[] = "INSERT INTO ranks(run_id, rank, stage, multiplicity" RANK_FIGURES_1(
    NAME) ") VALUES(?, ?, ?, ?" RANK_FIGURES_1(MARK) ")";
static const char INSERT_MEASURED[] =
    "INSERT INTO measured(run_id, metric, measured, predicted, error) VALUES(?, ?, ?, ?, ?)";
static const char SELECT_RUNS[] = "SELECT run_id, accelerators, started_at, scenario, status, version, step_time_s,"
                                  " nullif(tokens_per_s, samples_per_s), samples_per_s, mfu FROM runs ORDER BY run_id";

/* Returns the statements that take the tables to `version` from the one before. */
static const char *migration(struct tsim_arena *arena, int version) {
    static const char ADD_TO_POINTS[] = "ALTER TABLE points ADD COLUMN ",
                      ADD_TO_RUNS[] = "ALTER TABLE runs ADD COLUMN ";
    const char *tables = version == 1   ? MIGRATION_1
                         : version == 2 ? tsim_store_migration_2(arena)
                         : version == 6 ? TSIM_STORE_MIGRATION_6
                                        : "";
    const char *points = "", *runs = "";
    if (version > 2) {
        points = tsim_store_figures(arena, TSIM_STORE_POINTS, version, ADD_TO_POINTS, " REAL;");
        runs = tsim_store_figures(arena, TSIM_STORE_RUNS, version, ADD_TO_RUNS, " REAL;");
    }
    return tsim_arena_printf(arena, "%s%s%sPRAGMA user_version = %d;", tables, points, runs, version);
}

enum tsim_status tsim_store_open(struct tsim_arena *arena, const char *file, enum tsim_store_mode mode,
                                 struct tsim_store **store, struct tsim_diags *diags) {
    int newest = tsim_store_figures_version(), version = newest > VERSION_OF_VIEWS ? newest : VERSION_OF_VIEWS;
    const char **migrations = TSIM_NEW_ARRAY(arena, (size_t)version, const char *);
    for (int i = 0; i < version; i++)
        migrations[i] = migration(arena, i + 1);
    return tsim_sql_open(arena, file, mode, migrations, version, store, diags);
}

/* ---- writing ---- */

static bool insert_run(const struct tsim_store *store, const struct tsim_prediction *prediction,
                       const char *started_at) {
    const struct tsim_result *r = &prediction->result;
    struct tsim_outcome outcome;
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    struct tsim_statement statement = tsim_sql_prepare(
        store, tsim_arena_printf(&arena, INSERT_RUN, tsim_store_figures(&arena, TSIM_STORE_RUNS, 0, ", ", ""),
                                 tsim_store_marks(&arena, TSIM_STORE_RUNS)));
    struct tsim_statement *s = &statement;
    tsim_sql_bind_text(s, r->scenario->name);
    tsim_sql_bind_text(s, tsim_scenario_json(&arena, r->scenario));
    tsim_sql_bind_text(s, TSIM_VERSION);
    tsim_sql_bind_integer(s, r->scenario->simulation.seed);
    tsim_sql_bind_text(s, started_at);
    tsim_sql_bind_text(s, tsim_result_status(r));
    tsim_sql_bind_integer(s, r->step.simulated);
    tsim_sql_bind_text(s, r->step.simulated ? tsim_bottleneck_kind(r) : NULL);
    tsim_sql_bind_integer(s, r->events);
    tsim_sql_bind_real(s, r->wall_s);
    tsim_sql_bind_real(s, r->peak_rss_bytes);
    tsim_outcome_of(prediction, &outcome);
    tsim_store_bind_figures(s, TSIM_STORE_RUNS, &outcome);
    bool is_done = tsim_sql_run(s);
    tsim_sql_finalize(s);
    tsim_arena_release(&arena);
    return is_done;
}

typedef void (*bind_row_fn)(struct tsim_statement *s, const void *rows, int32_t i);

/* n rows of a run, whose first column is its id. */
static bool insert_rows(const struct tsim_store *store, const char *sql, int64_t run_id, const void *rows, int32_t n,
                        bind_row_fn bind) {
    struct tsim_statement s = tsim_sql_prepare(store, sql);
    bool is_done = s.stmt != NULL;
    for (int32_t i = 0; is_done && i < n; i++) {
        tsim_sql_bind_integer(&s, run_id);
        bind(&s, rows, i);
        is_done = tsim_sql_run(&s);
    }
    tsim_sql_finalize(&s);
    return is_done;
}

static void bind_step(struct tsim_statement *s, const void *rows, int32_t i) {
    const struct tsim_step_row *step = (const struct tsim_step_row *)rows + i;
    tsim_sql_bind_integer(s, step->step);
    tsim_sql_bind_real(s, step->time_s);
}

static void bind_operator(struct tsim_statement *s, const void *rows, int32_t i) {
    const struct tsim_operator_row *o = (const struct tsim_operator_row *)rows + i;
    tsim_sql_bind_integer(s, i);
    tsim_sql_bind_text(s, o->name);
    tsim_sql_bind_text(s, o->stream);
    tsim_sql_bind_real(s, o->count);
    tsim_sql_bind_real(s, o->time_s);
    tsim_sql_bind_real(s, o->flops);
    tsim_sql_bind_real(s, o->bytes);
    tsim_sql_bind_text(s, tsim_bound_name(o->bound));
}

static void bind_rank(struct tsim_statement *s, const void *rows, int32_t i) {
    const struct tsim_rank_row *r = (const struct tsim_rank_row *)rows + i;
    tsim_sql_bind_integer(s, r->rank);
    tsim_sql_bind_integer(s, r->stage);
    tsim_sql_bind_integer(s, r->multiplicity);
#define BIND(column, value) tsim_sql_bind_real(s, value);
    RANK_FIGURES_1(BIND)
}

static void bind_measured(struct tsim_statement *s, const void *rows, int32_t i) {
    const struct tsim_measured_row *m = (const struct tsim_measured_row *)rows + i;
    tsim_sql_bind_text(s, tsim_metric_name(m->metric));
    tsim_sql_bind_real(s, tsim_metric_in_json(m->metric, m->measured));
    tsim_sql_bind_real(s, tsim_metric_in_json(m->metric, m->predicted));
    tsim_sql_bind_real(s, m->error_frac);
}

static bool insert_all(const struct tsim_store *store, const struct tsim_prediction *prediction, const char *started_at,
                       int64_t *run_id) {
    const struct tsim_step_result *step = &prediction->result.step;
    struct tsim_measured_rows measured;
    if (!insert_run(store, prediction, started_at))
        return false;
    *run_id = tsim_sql_last_id(store);
    tsim_measured_of(&prediction->result, &measured);
    return insert_rows(store, INSERT_STEP, *run_id, step->steps, step->n_steps, bind_step) &&
           insert_rows(store, INSERT_OPERATOR, *run_id, step->operators, step->n_operators, bind_operator) &&
           insert_rows(store, INSERT_RANK, *run_id, step->ranks, step->n_ranks, bind_rank) &&
           insert_rows(store, INSERT_MEASURED, *run_id, measured.rows, measured.n, bind_measured);
}

enum tsim_status tsim_store_add_run(struct tsim_store *store, const struct tsim_prediction *prediction,
                                    const char *started_at, int64_t *run_id, struct tsim_diags *diags) {
    tsim_result_check(&prediction->result);
    if (!tsim_sql_begin(store))
        return tsim_sql_fail(store, "log the run", diags);
    int64_t added = 0;
    if (insert_all(store, prediction, started_at, &added) && tsim_sql_commit(store)) {
        *run_id = added;
        return TSIM_OK;
    }
    enum tsim_status status = tsim_sql_fail(store, "log the run", diags);
    tsim_sql_rollback(store);
    return status;
}

/* ---- reading ---- */

static void read_run(struct tsim_arena *arena, const struct tsim_statement *s, struct tsim_store_run *run) {
    run->run_id = tsim_sql_integer(s, 0);
    run->accelerators = tsim_sql_integer(s, 1);
    run->started_at = tsim_sql_copy(arena, s, 2);
    run->scenario = tsim_sql_copy(arena, s, 3);
    run->status = tsim_sql_copy(arena, s, 4);
    run->version = tsim_sql_copy(arena, s, 5);
    run->step_time_s = tsim_sql_real(s, 6);
    run->tokens_per_s = tsim_sql_real(s, 7);
    run->samples_per_s = tsim_sql_real(s, 8);
    run->mfu = tsim_sql_real(s, 9);
}

/* `rows` is a heap array that grows; the result is its copy in the arena. */
static enum tsim_sql_step read_runs(struct tsim_arena *arena, struct tsim_statement *s, struct tsim_store_run **rows,
                                    size_t *n_rows) {
    size_t capacity = 0;
    enum tsim_sql_step step;
    while ((step = tsim_sql_step(s)) == TSIM_SQL_ROW) {
        *rows = tsim_heap_grow(*rows, &capacity, *n_rows + 1, sizeof **rows);
        read_run(arena, s, &(*rows)[(*n_rows)++]);
    }
    return step;
}

enum tsim_status tsim_store_configuration(struct tsim_store *store, struct tsim_arena *arena, int64_t run_id,
                                          const char **json, struct tsim_diags *diags) {
    enum tsim_sql_step step = TSIM_SQL_DONE;
    struct tsim_statement s = {0};
    *json = NULL;
    if (!tsim_sql_is_empty(store)) {
        s = tsim_sql_prepare(store, "SELECT resolved_json FROM runs WHERE run_id = ?");
        tsim_sql_bind_integer(&s, run_id);
        step = tsim_sql_step(&s);
    }
    if (step == TSIM_SQL_ROW)
        *json = tsim_sql_copy(arena, &s, 0);
    enum tsim_status status = TSIM_OK;
    if (step == TSIM_SQL_FAILED) {
        status = tsim_sql_fail(store, "read a run", diags);
    } else if (!*json) {
        status = TSIM_ERR_REFERENCE;
        tsim_diag_hint(tsim_diags_error(diags, status, (struct tsim_place){.file = store->file}, "",
                                        "there is no run %lld", (long long)run_id),
                       "'tsim runs' lists the runs and sweeps that there are");
    }
    tsim_sql_finalize(&s);
    return status;
}

enum tsim_status tsim_store_list(struct tsim_store *store, struct tsim_arena *arena, struct tsim_store_run **runs,
                                 size_t *n_runs, struct tsim_diags *diags) {
    struct tsim_store_run *rows = NULL;
    size_t n_rows = 0;
    struct tsim_statement s = {0};
    enum tsim_sql_step step = TSIM_SQL_DONE;
    if (!tsim_sql_is_empty(store)) {
        s = tsim_sql_prepare(store, SELECT_RUNS);
        step = read_runs(arena, &s, &rows, &n_rows);
    }
    enum tsim_status status = step == TSIM_SQL_DONE ? TSIM_OK : tsim_sql_fail(store, "read the runs", diags);
    if (status == TSIM_OK) {
        *runs = TSIM_NEW_ARRAY(arena, n_rows, struct tsim_store_run);
        if (n_rows > 0)
            memcpy(*runs, rows, n_rows * sizeof *rows);
        *n_runs = n_rows;
    }
    tsim_sql_finalize(&s);
    tsim_heap_free(rows);
    return status;
}
