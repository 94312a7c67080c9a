/* Sweeps into a database: the same rows for any number of threads, nothing computed twice, and what shards and mergers
 * make of them. Scenarios are small; their figures do not matter here. */
#include "base/text_sink.h"
#include "base/version.h"
#include "results/store_merge.h"
#include "results/store_query.h"
#include "study/curves/sweep.h"
#include "support/arena_rig.h"

#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

static const char SCENARIO[] =
    "schema: tsim/v1\n"
    "name: tiny\n"
    "model: {schema: tsim/model/v1, name: tiny, kind: transformer, layers: 4, hidden: 1024,\n"
    "  heads: 8, ffn_hidden: 4096, vocab: 32000, source: a test}\n"
    "cluster: {node: dgx-h100}\n"
    "training: {sequence_length: 1024, global_batch_size: 16}\n";

static char folder[64];
static struct tsim_scenario_source source;
static struct tsim_space space;
static struct tsim_sweep sweep;

static const char *path_of(const char *name) {
    return tsim_arena_printf(&arena, "%s/%s", folder, name);
}

static void vary(const char *const *words, size_t n_words) {
    const struct tsim_space_words space_words = {words, n_words, NULL, 0};
    ck_assert_int_eq(tsim_space_read(&arena, NULL, &space_words, &space, &diags), TSIM_OK);
}

static void set_up_folder(void) {
    snprintf(folder, sizeof folder, "/tmp/tsim-test-sweep-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    set_up();
    FILE *out = fopen(path_of("tiny.yaml"), "w");
    fputs(SCENARIO, out);
    fclose(out);
    ck_assert_int_eq(tsim_scenario_open(&arena, path_of("tiny.yaml"), &source, &diags), TSIM_OK);
    sweep =
        (struct tsim_sweep){.source = &source, .space = &space, .n_shards = 1, .started_at = "2026-01-02T03:04:05Z"};
}

static void tear_down_folder(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
    tear_down();
}

static struct tsim_sweep_progress run_heard(const char *name, int32_t n_threads, tsim_sweep_report_fn report,
                                            void *context) {
    struct tsim_store *store;
    struct tsim_sweep_progress progress;
    int64_t sweep_id;
    const char *file = path_of(name);
    ck_assert_int_eq(tsim_store_open(&arena, file, TSIM_STORE_WRITE, &store, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_sweep_register(&arena, &sweep, store, &sweep_id, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_sweep_run(&sweep, store, file, sweep_id, n_threads, report, context, &progress, &diags),
                     TSIM_OK);
    tsim_store_close(store);
    return progress;
}

static struct tsim_sweep_progress run(const char *name, int32_t n_threads) {
    struct tsim_sweep_progress progress = run_heard(name, n_threads, NULL, NULL);
    ck_assert_int_eq(progress.n_done, progress.n_points);
    return progress;
}

/* Returns every value of every row, in the order of the statement. */
static const char *rows_of(const char *name, const char *sql) {
    struct tsim_store *store;
    struct tsim_query *query;
    struct tsim_text_sink text;
    bool is_there;
    tsim_text_sink_open(&text, SIZE_MAX);
    ck_assert_int_eq(tsim_store_open(&arena, path_of(name), TSIM_STORE_READ, &store, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_query_open(&arena, store, sql, &query, &diags), TSIM_OK);
    while (tsim_query_next(query, &is_there, &diags) == TSIM_OK && is_there) {
        for (int i = 0; i < tsim_query_n_columns(query); i++) {
            const char *value = tsim_query_text(query, i);
            fprintf(text.stream, "%s|", value ? value : "-");
        }
        fputc('\n', text.stream);
    }
    tsim_query_close(query);
    tsim_store_close(store);
    const char *rows = tsim_arena_printf(&arena, "%s", tsim_text_sink_text(&text));
    tsim_text_sink_release(&text);
    return rows;
}

/* Points are read as they lie in the file: not even the order may depend on threads. */
static const char *points_in(const char *name) {
    return rows_of(name, "SELECT * FROM points");
}

static void execute(const char *name, const char *sql) {
    sqlite3 *db;
    ck_assert_int_eq(sqlite3_open(path_of(name), &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

static const char *const AXES[] = {"parallelism.tensor=1,2,4,3,8", "training.micro_batch_size=1,2,4",
                                   "parallelism.pipeline=1,2,4"};

/* 45 points; tensor 3 divides no 8 heads: 9 of them are invalid, and so are some whose batch does not divide. */
TSIM_TEST(any_number_of_threads_gives_the_same_rows) {
    vary(AXES, 3);
    struct tsim_sweep_progress progress = run("1.db", 1);
    ck_assert_int_eq(progress.n_points, 45);
    ck_assert_int_eq(progress.n_found, 0);
    ck_assert_int_ge(progress.n_invalid, 9);
    ck_assert_int_lt(progress.n_invalid, 30);
    const char *one = points_in("1.db");
    run("3.db", 3);
    run("17.db", 17);
    ck_assert_str_eq(points_in("3.db"), one);
    ck_assert_str_eq(points_in("17.db"), one);
    ck_assert_ptr_nonnull(strstr(one, "\"parallelism.tensor\": 3"));
}

/* An interruption is a database that lacks rows: whichever they are, only they are computed. */
TSIM_TEST(what_is_missing_is_computed_and_nothing_else) {
    vary(AXES, 3);
    run("a.db", 2);
    const char *whole = points_in("a.db");
    ck_assert_int_eq(run("a.db", 2).n_found, 45);
    execute("a.db", "DELETE FROM points WHERE position % 3 = 1");
    ck_assert_int_eq(run("a.db", 2).n_found, 30);
    ck_assert_str_eq(points_in("a.db"), whole);
    ck_assert_str_eq(rows_of("a.db", "SELECT count(*) FROM sweeps"), "1|\n");
}

struct heard {
    int64_t first_batch; /* points of the first commit that had any */
    bool is_signalled;
};

/* Raises the signal of Ctrl-C as soon as a point is kept. */
static void interrupt(void *context, const struct tsim_sweep_progress *progress) {
    struct heard *heard = context;
    if (heard->first_batch == 0)
        heard->first_batch = progress->n_done;
    if (heard->first_batch == 0 || heard->is_signalled)
        return;
    raise(SIGINT);
    heard->is_signalled = true;
}

/* Forgets the signal that was raised and still waits, blocked. */
static void forget_interrupt(void) {
    sigset_t signals;
    int number;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    ck_assert_int_eq(sigwait(&signals, &number), 0);
}

/* However short the bursts, each keeps at least a point that no other had, none is computed twice, and one ends. */
TSIM_TEST(a_sweep_that_is_interrupted_again_and_again_ends) {
    struct tsim_sweep_progress progress = {0};
    int64_t n_computed = 0;
    vary(AXES, 3);
    while (progress.n_done < 45) {
        struct heard heard = {0};
        int64_t n_kept = progress.n_kept;
        progress = run_heard("bursts.db", 2, interrupt, &heard);
        ck_assert(n_kept == 45 || (progress.n_kept > n_kept && heard.first_batch < 45));
        n_computed += progress.n_done - progress.n_found;
        if (heard.is_signalled)
            forget_interrupt();
    }
    ck_assert_int_eq(n_computed, 45);
    run("whole.db", 2);
    ck_assert_str_eq(points_in("bursts.db"), points_in("whole.db"));
}

/* Another sweep that contains this one takes its points over. Invalid ones count as found as well. */
TSIM_TEST(points_of_another_sweep_are_found) {
    static const char *const FEW[] = {"parallelism.tensor=2,3"}, *const MORE[] = {"parallelism.tensor=1,2,3,4"};
    vary(FEW, 1);
    run("a.db", 1);
    vary(MORE, 1);
    ck_assert_int_eq(run("a.db", 1).n_found, 2);
    ck_assert_str_eq(rows_of("a.db", "SELECT count(*), count(DISTINCT key) FROM points"), "6|4|\n");
}

/* The key is of what is simulated: the same value in other words is the same point, another seed is not. */
TSIM_TEST(keys) {
    static const char *const SAME[] = {"energy.price=0.1 USD/kWh,0.10 USD/kWh,100 USD/MWh"}, *const OTHER[] = {
                                                                                                 "simulation.seed=1,2"};
    vary(SAME, 1);
    run("a.db", 1);
    ck_assert_str_eq(rows_of("a.db", "SELECT count(*), count(DISTINCT key), count(DISTINCT seed) FROM points"),
                     "3|1|1|\n");
    vary(OTHER, 1);
    run("b.db", 1);
    ck_assert_str_eq(rows_of("b.db", "SELECT count(*), count(DISTINCT key), count(DISTINCT seed) FROM points"),
                     "2|2|2|\n");
}

/* Also of a point that is not valid: the section, which says what to show and may list a hundred thousand values, is no
 * part of it. */
TSIM_TEST(keys_of_what_is_not_valid) {
    static const char *const WORDS[] = {"parallelism.tensor=7"};
    struct tsim_point points[2];
    for (int i = 0; i < 2; i++) {
        const char *text = tsim_arena_printf(&arena, "%ssweep: {limits: {mfu: 0.%d}}\n", SCENARIO, i + 1);
        ck_assert_int_eq(tsim_scenario_open_text(&arena, "tiny.yaml", text, &source, &diags), TSIM_OK);
        vary(WORDS, 1);
        ck_assert_int_eq(tsim_sweep_point(&sweep, 0, NULL, &points[i], &diags), TSIM_OK);
        ck_assert_int_eq(points[i].status, TSIM_POINT_INVALID);
    }
    ck_assert_str_eq(points[0].key, points[1].key);
}

/* A database of another version of tsim has nothing to offer. */
TSIM_TEST(another_version_computes_again) {
    static const char *const FEW[] = {"parallelism.tensor=1,2"};
    vary(FEW, 1);
    run("a.db", 1);
    execute("a.db", "UPDATE sweeps SET version = '0.0.1', key = 'old'; UPDATE points SET key = 'old' || position");
    ck_assert_int_eq(run("a.db", 1).n_found, 0);
    ck_assert_str_eq(
        rows_of("a.db", "SELECT version, count(*) FROM points JOIN sweeps USING(sweep_id) GROUP BY version"),
        "0.0.1|2|\n" TSIM_VERSION "|2|\n");
}

TSIM_TEST(shards_merge_into_the_whole) {
    static const int64_t COUNTS[] = {1, 7};
    vary(AXES, 3);
    run("whole.db", 2);
    const char *whole = points_in("whole.db");
    for (size_t c = 0; c < 2; c++) {
        const char *files[7], *out = tsim_arena_printf(&arena, "out%zu.db", c);
        int64_t n_points = 0;
        sweep.n_shards = COUNTS[c];
        for (int64_t i = 0; i < COUNTS[c]; i++) {
            const char *name = tsim_arena_printf(&arena, "%zu-%lld.db", c, (long long)i);
            sweep.shard = i;
            n_points += run(name, 2).n_points;
            files[i] = path_of(name);
        }
        sweep.shard = 0;
        ck_assert_int_eq(n_points, 45);
        for (int time = 0; time < 2; time++) {
            struct tsim_merged merged;
            ck_assert_int_eq(tsim_store_merge(&arena, path_of(out), files, (size_t)COUNTS[c], &merged, &diags),
                             TSIM_OK);
            ck_assert_int_eq(merged.n_points, 45);
            ck_assert_int_eq(merged.n_expected, 45);
            ck_assert_str_eq(points_in(out), whole);
        }
    }
}

TSIM_TEST(merging_mixes_no_versions) {
    static const char *const FEW[] = {"parallelism.tensor=1,2"};
    struct tsim_merged merged;
    vary(FEW, 1);
    run("a.db", 1);
    run("b.db", 1);
    execute("b.db", "UPDATE sweeps SET version = '0.0.1'");
    const char *files[] = {path_of("a.db"), path_of("b.db")};
    ck_assert_int_eq(tsim_store_merge(&arena, path_of("out.db"), files, 2, &merged, &diags), TSIM_ERR_INFEASIBLE);
    ck_assert_int_ne(access(path_of("out.db"), F_OK), 0);
    ck_assert_int_eq(tsim_store_merge(&arena, path_of("a.db"), files + 1, 1, &merged, &diags), TSIM_ERR_INFEASIBLE);
    ck_assert_str_eq(rows_of("a.db", "SELECT count(*) FROM sweeps"), "1|\n");
}

TSIM_TEST(a_mistake_in_a_value_is_said_before_anything_runs) {
    static const char *const WRONG[] = {"parallelism.tensr=1,2", "cluster.node=dgx-h100,dgx-h10",
                                        "energy.price=3 GB,2 W"},
                             *const NODES[] = {"cluster.nodes=2,1"};
    for (size_t i = 0; i < 3; i++) {
        vary(&WRONG[i], 1);
        ck_assert_msg(tsim_sweep_check(&arena, &sweep, &diags) != TSIM_OK, "%s", WRONG[i]);
        ck_assert_uint_eq(diags.n_errors, i == 2 ? 2 : 1);
        tsim_diags_release(&diags);
        tsim_diags_init(&diags);
    }
    vary(NODES, 1); /* two nodes without a fabric do not go together: that is a point's own affair */
    ck_assert_int_eq(tsim_sweep_check(&arena, &sweep, &diags), TSIM_OK);
    ck_assert_int_eq(run("a.db", 1).n_invalid, 1);
}

TSIM_MAIN(30, set_up_folder, tear_down_folder)
