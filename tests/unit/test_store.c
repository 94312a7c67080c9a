/* The database gives back what goes into it; an error that keeps it from being written is said and leaves no trace. */
#include "base/version.h"
#include "results/store.h"
#include "results/store_points.h"
#include "support/arena_rig.h"
#include "support/example_result.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define STARTED "2026-01-02T03:04:05Z"

static char folder[64], file[128];
static struct example_result r;

static void use_example(void init(struct example_result *)) {
    init(&r);
    r.example.scenario.draft = example_draft(&arena, &diags);
}

static void set_up_folder(void) {
    snprintf(folder, sizeof folder, "/tmp/tsim-test-store-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/runs.db", folder);
    set_up();
    use_example(example_result_init);
}

static void tear_down_folder(void) {
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        char name[160];
        snprintf(name, sizeof name, "%s%s", file, suffixes[i]);
        unlink(name);
    }
    rmdir(folder);
    tear_down();
}

static struct tsim_store *open_store(void) {
    struct tsim_store *store = NULL;
    ck_assert_int_eq(tsim_store_open(&arena, file, TSIM_STORE_WRITE, &store, &diags), TSIM_OK);
    return store;
}

static int64_t add_run(const struct tsim_prediction *prediction) {
    struct tsim_store *store = open_store();
    int64_t run_id = 0;
    ck_assert_int_eq(tsim_store_add_run(store, prediction, STARTED, &run_id, &diags), TSIM_OK);
    tsim_store_close(store);
    return run_id;
}

/* The values of every row, columns divided by '|' and rows by newlines; NULL is "-". */
static const char *query(const char *sql) {
    static char text[1 << 15];
    sqlite3 *db;
    sqlite3_stmt *stmt;
    size_t n = 0;
    ck_assert_int_eq(sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    text[0] = '\0';
    while (sqlite3_step(stmt) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(stmt); i++) {
            const unsigned char *value = sqlite3_column_text(stmt, i);
            bool is_last = i + 1 == sqlite3_column_count(stmt);
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", value ? (const char *)value : "-",
                                  is_last ? "\n" : "|");
        }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return text;
}

static void execute(const char *sql) {
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(file, &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void write_file(const void *bytes, size_t n_bytes) {
    FILE *out = fopen(file, "wb");
    ck_assert_uint_eq(fwrite(bytes, 1, n_bytes, out), n_bytes);
    fclose(out);
}

/* Expects that opening or logging fails with TSIM_ERR_DB and one diagnostic that names the file and contains `says`. */
static void assert_refused(const char *says) {
    struct tsim_store *store = NULL;
    int64_t run_id = -1;
    enum tsim_status status = tsim_store_open(&arena, file, TSIM_STORE_WRITE, &store, &diags);
    if (status == TSIM_OK) {
        tsim_store_set_patience(store, 50);
        status = tsim_store_add_run(store, &r.prediction, STARTED, &run_id, &diags);
        tsim_store_close(store);
    }
    ck_assert_int_eq(status, TSIM_ERR_DB);
    ck_assert_int_eq(run_id, -1);
    ck_assert_uint_eq(diags.n_errors, 1);
    ck_assert_str_eq(diags.items[0].at.file, file);
    ck_assert_msg(strstr(diags.items[0].message, says), "%s", diags.items[0].message);
    ck_assert_str_ne(diags.items[0].hint, "");
}

TSIM_TEST(a_run_reads_back_whole) {
    ck_assert_int_eq(add_run(&r.prediction), 1);
    ck_assert_str_eq(query("SELECT run_id, scenario, version, seed, started_at, status, fits, simulated,"
                           " bottleneck, accelerators, events FROM runs"),
                     "1|example|" TSIM_VERSION "|7|" STARTED "|ok|1|1|memory|8|12345\n");
    ck_assert_str_eq(query("SELECT resolved_json FROM runs"),
                     tsim_arena_printf(&arena, "%s\n", tsim_scenario_json(&arena, &r.example.scenario)));
    ck_assert_str_eq(query("SELECT step_time_s, compute_s, recompute_s, bubble_s, communication_exposed_s,"
                           " exposed_tensor_s, exposed_pipeline_s, exposed_data_s, exposed_context_s, exposed_expert_s,"
                           " data_stall_s, optimizer_s FROM runs"),
                     "10.0|5.0|1.0|1.5|1.0|0.5|0.25|0.125|0.0625|0.0625|0.5|1.0\n");
    ck_assert_str_eq(query("SELECT tokens_per_s, tokens_per_s_per_gpu, samples_per_s, model_tflops_per_gpu,"
                           " hardware_tflops_per_gpu, mfu, hfu, bubble_frac, communication_exposed_frac,"
                           " data_stall_frac FROM runs"),
                     "65536.0|8192.0|64.0|400.0|450.0|0.4|0.45|0.15|0.1|0.05\n");
    ck_assert_str_eq(query("SELECT memory_capacity_bytes, memory_peak_bytes, weights_bytes, gradients_bytes,"
                           " master_bytes, optimizer_bytes, activations_bytes, buffers_bytes FROM runs"),
                     "100000000000.0|64000000000.0|1000000000.0|2000000000.0|4000000000.0|8000000000.0|16000000000.0|"
                     "33000000000.0\n");
    ck_assert_str_eq(query("SELECT step_energy_j, mean_power_w, parameters, active_parameters, step_model_flops,"
                           " step_hardware_flops, wall_s, peak_rss_bytes FROM runs"),
                     "50000.0|5000.0|134217728.0|134217728.0|1.0e+18|1.125e+18|0.25|20000000.0\n");
    ck_assert_str_eq(query("SELECT campaign_steps, campaign_days, campaign_energy_kwh, campaign_co2_kg,"
                           " campaign_electricity_usd, campaign_rent_usd, campaign_purchase_usd,"
                           " campaign_breakeven_runs FROM runs"),
                     "1000.0|2.5|15.5|6.25|1.5|2000.0|240000.0|120.0\n");
}

TSIM_TEST(its_rows_read_back) {
    add_run(&r.prediction);
    ck_assert_str_eq(query("SELECT * FROM steps"), "1|0|10.0\n1|1|11.0\n1|2|12.0\n");
    ck_assert_str_eq(query("SELECT run_id, name, stream, count, time, flops, bytes, bound FROM operators"),
                     "1|product (forward)|compute|64.0|3.5|1.0e+15|2000000000.0|compute\n"
                     "1|gather (forward)|tensor|32.0|0.5|0.0|4000000000.0|latency\n");
    ck_assert_str_eq(query("SELECT run_id, rank, stage, multiplicity, time_s, bubble_s, memory_peak_bytes,"
                           " buffers_bytes, energy_j FROM ranks"),
                     "1|0|0|4|10.0|1.5|64000000000.0|33000000000.0|100.0\n"
                     "1|1|1|4|10.0|1.5|64000000000.0|33000000000.0|101.0\n");
    ck_assert_str_eq(query("SELECT * FROM measured ORDER BY metric"),
                     "1|model_tflops_per_gpu|320.0|400.0|0.25\n1|step_time|8.0|10.0|0.25\n");
}

/* A column that no figure of the result reaches would be NULL. */
TSIM_TEST(no_column_is_forgotten) {
    struct tsim_campaign *campaign = &r.prediction.result.campaign;
    campaign->goodput = campaign->failures = campaign->days_p10 = campaign->days_p90 = 1;
    campaign->has_failures = true;
    campaign->spares = campaign->checkpoint_interval_s = 1;
    r.prediction.result.post_training =
        (struct tsim_post_training){.has = true, .steps = 1, .time_s = 1, .energy_j = 1, .generation = {.has = true}};
    r.prediction.uncertainty = (struct tsim_uncertainty){.basis = "90 %", .step_time_low_s = 9, .step_time_high_s = 12};
    add_run(&r.prediction);
    sqlite3 *db;
    sqlite3_stmt *stmt;
    ck_assert_int_eq(sqlite3_open(file, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT * FROM runs", -1, &stmt, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
    for (int i = 0; i < sqlite3_column_count(stmt); i++)
        ck_assert_msg(sqlite3_column_type(stmt, i) != SQLITE_NULL, "%s", sqlite3_column_name(stmt, i));
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

TSIM_TEST(what_was_not_simulated_is_null) {
    use_example(example_result_init_misfit);
    add_run(&r.prediction);
    ck_assert_str_eq(query("SELECT status, fits, simulated, step_time_s, mfu, bubble_frac, mean_power_w, campaign_days,"
                           " bottleneck, memory_peak_bytes FROM runs"),
                     "does_not_fit|0|0|-|-|-|-|-|-|64000000000.0\n");
    ck_assert_str_eq(query("SELECT count(*) FROM steps"), "0\n");
}

TSIM_TEST(tables_are_strict_and_bound_to_their_run) {
    add_run(&r.prediction);
    ck_assert_str_ne(query("PRAGMA user_version"), "0\n");
    ck_assert_str_eq(query("PRAGMA journal_mode"), "wal\n");
    ck_assert_str_eq(query("SELECT name FROM pragma_table_list WHERE strict AND schema = 'main' ORDER BY name"),
                     "measured\noperators\npoints\nranks\nruns\nsteps\nsweeps\n");
    execute("PRAGMA foreign_keys = ON; DELETE FROM runs");
    ck_assert_str_eq(query("SELECT (SELECT count(*) FROM steps) + (SELECT count(*) FROM operators) +"
                           " (SELECT count(*) FROM ranks) + (SELECT count(*) FROM measured)"),
                     "0\n");
}

TSIM_TEST(list_reads_runs_in_order) {
    struct tsim_store *store;
    struct tsim_store_run *runs;
    size_t n_runs;
    add_run(&r.prediction);
    use_example(example_result_init_misfit);
    ck_assert_int_eq(add_run(&r.prediction), 2);
    ck_assert_int_eq(tsim_store_open(&arena, file, TSIM_STORE_READ, &store, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_store_list(store, &arena, &runs, &n_runs, &diags), TSIM_OK);
    tsim_store_close(store);
    ck_assert_uint_eq(n_runs, 2);
    ck_assert_int_eq(runs[0].run_id, 1);
    ck_assert_int_eq(runs[0].accelerators, 8);
    ck_assert_str_eq(runs[0].started_at, STARTED);
    ck_assert_str_eq(runs[0].scenario, "example");
    ck_assert_str_eq(runs[0].status, "ok");
    ck_assert_str_eq(runs[0].version, TSIM_VERSION);
    ck_assert_double_eq(runs[0].step_time_s, 10);
    ck_assert_double_eq(runs[0].tokens_per_s, 65536);
    ck_assert_double_eq(runs[0].mfu, 0.4);
    ck_assert_str_eq(runs[1].status, "does_not_fit");
    ck_assert(isnan(runs[1].step_time_s));
}

TSIM_TEST(reading_makes_no_file) {
    struct tsim_store *store;
    ck_assert_int_eq(tsim_store_open(&arena, file, TSIM_STORE_READ, &store, &diags), TSIM_ERR_DB);
    ck_assert_int_ne(access(file, F_OK), 0);
}

TSIM_TEST(an_empty_file_is_a_new_database) {
    struct tsim_store *store;
    struct tsim_store_run *runs;
    size_t n_runs = 9;
    write_file("", 0);
    ck_assert_int_eq(tsim_store_open(&arena, file, TSIM_STORE_READ, &store, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_store_list(store, &arena, &runs, &n_runs, &diags), TSIM_OK);
    tsim_store_close(store);
    ck_assert_uint_eq(n_runs, 0);
    ck_assert_int_eq(add_run(&r.prediction), 1);
}

/* Two steps with one number break the key of `steps`, long after the row of `runs` was written. */
TSIM_TEST(a_run_is_logged_whole_or_not_at_all) {
    struct tsim_store *store = open_store();
    int64_t run_id = -1;
    r.steps[2].step = 1;
    ck_assert_int_eq(tsim_store_add_run(store, &r.prediction, STARTED, &run_id, &diags), TSIM_ERR_DB);
    ck_assert_int_eq(run_id, -1);
    ck_assert_msg(strstr(diags.items[0].message, "UNIQUE constraint failed"), "%s", diags.items[0].message);
    ck_assert_str_eq(query("SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM steps)"), "0\n");
    r.steps[2].step = 2;
    ck_assert_int_eq(tsim_store_add_run(store, &r.prediction, STARTED, &run_id, &diags), TSIM_OK);
    ck_assert_int_eq(run_id, 1);
    tsim_store_close(store);
}

TSIM_TEST(no_such_folder) {
    snprintf(file, sizeof file, "%s/nowhere/runs.db", folder);
    assert_refused("unable to open");
    ck_assert_msg(strstr(diags.items[0].hint, "No such file"), "%s", diags.items[0].hint);
}

/* The superuser may write to any file, so if the test runs as the superuser, another user makes the attempt. */
TSIM_TEST(a_read_only_file) {
    add_run(&r.prediction);
    ck_assert_int_eq(chmod(file, 0444), 0);
    ck_assert_int_eq(chmod(folder, 0555), 0);
    pid_t child = fork();
    if (child == 0) {
        struct tsim_store *store;
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(3);
        enum tsim_status status = tsim_store_open(&arena, file, TSIM_STORE_WRITE, &store, &diags);
        _exit(status == TSIM_ERR_DB && strstr(diags.items[0].message, "the file is read-only") ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    chmod(folder, 0755);
    ck_assert_int_eq(status, 0);
    ck_assert_str_eq(query("SELECT count(*) FROM runs"), "1\n");
}

TSIM_TEST(garbage) {
    char bytes[5000], after[sizeof bytes];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    write_file(bytes, sizeof bytes);
    assert_refused("not a database");
    FILE *in = fopen(file, "rb");
    ck_assert_uint_eq(fread(after, 1, sizeof after, in), sizeof after);
    fclose(in);
    ck_assert_int_eq(memcmp(bytes, after, sizeof after), 0);
}

TSIM_TEST(a_truncated_file) {
    struct stat info;
    add_run(&r.prediction);
    ck_assert_int_eq(stat(file, &info), 0);
    ck_assert_int_eq(truncate(file, info.st_size / 2), 0);
    assert_refused("malformed");
}

TSIM_TEST(a_newer_version) {
    add_run(&r.prediction);
    execute("PRAGMA user_version = 1000");
    assert_refused("newer tsim");
    ck_assert_msg(strstr(diags.items[0].hint, "version 1000"), "%s", diags.items[0].hint);
}

TSIM_TEST(a_database_of_another_program) {
    execute("CREATE TABLE addresses(name)");
    assert_refused("belongs to another program");
    ck_assert_str_eq(query("SELECT count(*) FROM sqlite_schema"), "1\n");
}

TSIM_TEST(a_locked_database) {
    sqlite3 *other;
    add_run(&r.prediction);
    ck_assert_int_eq(sqlite3_open(file, &other), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_refused("database is locked");
    ck_assert_int_eq(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    ck_assert_int_eq(add_run(&r.prediction), 2);
}

TSIM_TEST(several_processes_make_and_fill_it_at_once) {
    enum { N_PROCESSES = 4, N_RUNS = 5 };
    pid_t children[N_PROCESSES];
    for (int i = 0; i < N_PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            for (int k = 0; k < N_RUNS; k++)
                add_run(&r.prediction);
            _exit(0);
        }
    }
    for (int i = 0; i < N_PROCESSES; i++) {
        int status;
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_str_eq(query("SELECT count(*), max(run_id) FROM runs"), "20|20\n");
    ck_assert_str_eq(query("SELECT count(*) FROM steps"), "60\n");
}

/* A sweep whose tables are those of two processes: the second to come writes over the first, key and all, and no point
 * is there twice. */
TSIM_TEST(a_point_that_is_written_again_is_the_later_one) {
    const struct tsim_sweep_row sweep = {"key", "bench", "{}", "0", STARTED, 3};
    struct tsim_store *store = open_store();
    struct tsim_point_writer *writer;
    int64_t sweep_id;
    ck_assert_int_eq(tsim_store_add_sweep(store, &sweep, &sweep_id, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_point_writer_open(&arena, store, sweep_id, &writer, &diags), TSIM_OK);
    for (int i = 0; i < 5; i++) {
        struct tsim_point point = {.position = i % 3, .seed = 10 + i};
        snprintf(point.key, sizeof point.key, "key-%d", i);
        ck_assert_int_eq(tsim_point_writer_add(writer, &point, "{}", &diags), TSIM_OK);
    }
    ck_assert_int_eq(tsim_point_writer_commit(writer, &diags), TSIM_OK);
    tsim_point_writer_close(writer);
    tsim_store_close(store);
    ck_assert_str_eq(query("SELECT position, key, seed FROM points"), "0|key-3|13\n1|key-4|14\n2|key-2|12\n");
    ck_assert_str_eq(query("SELECT key FROM points INDEXED BY points_of_key ORDER BY key"), "key-2\nkey-3\nkey-4\n");
}

TSIM_MAIN(30, set_up_folder, tear_down_folder)
