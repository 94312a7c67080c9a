/* A database: listed, asked, read point by point, merged into another one, and opened for writing. Input that is none
 * is SQL, which changes a sound one first (corpus/store/small): what a table of others may hold. */
#include "fuzz/fuzz.h"
#include "report/page/page.h"
#include "results/store_merge.h"
#include "results/store_points.h"
#include "results/store_query.h"

#include <sqlite3.h>

static void ask(struct tsim_arena *arena, struct tsim_store *store, const char *text, struct tsim_diags *diags) {
    struct tsim_query *query = NULL;
    bool is_there = true;
    if (tsim_query_open(arena, store, text, &query, diags) != TSIM_OK)
        return;
    for (int row = 0; row < 100 && tsim_query_next(query, &is_there, diags) == TSIM_OK && is_there; row++)
        for (int i = 0; i < tsim_query_n_columns(query); i++)
            tsim_query_text(query, i);
    tsim_query_close(query);
}

static void read_points(struct tsim_arena *arena, struct tsim_store *store, struct tsim_diags *diags) {
    struct tsim_point_reader *reader = NULL;
    struct tsim_point point;
    bool is_there = true;
    if (tsim_point_reader_open(arena, store, 1, 0, 1, &reader, diags) != TSIM_OK)
        return;
    for (int row = 0; row < 100 && tsim_point_reader_next(reader, &point, &is_there, diags) == TSIM_OK && is_there;
         row++)
        ;
    tsim_point_reader_close(reader);
}

static void read_all(const char *file) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_store *store = NULL;
    struct tsim_store_run *runs;
    const char *json;
    size_t n_runs;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    if (tsim_store_open(&arena, file, TSIM_STORE_READ, &store, &diags) == TSIM_OK) {
        tsim_store_list(store, &arena, &runs, &n_runs, &diags);
        tsim_store_configuration(store, &arena, 1, &json, &diags);
        read_points(&arena, store, &diags);
        struct tsim_json *page = tsim_page_new();
        FILE *nowhere = fopen("/dev/null", "w");
        if (tsim_page_add_sweep(&arena, page, store, 1, &diags) == TSIM_OK && nowhere)
            tsim_page_write(page, nowhere);
        if (nowhere)
            fclose(nowhere);
        tsim_json_release(page);
        for (size_t i = 0; i < TSIM_N_VIEWS; i++)
            ask(&arena, store, TSIM_VIEWS[i].name, &diags);
    }
    tsim_store_close(store);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
}

static void merge_and_write(const char *file) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_merged merged;
    struct tsim_store *store = NULL;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    tsim_store_merge(&arena, ":memory:", &file, 1, &merged, &diags);
    tsim_store_open(&arena, file, TSIM_STORE_WRITE, &store, &diags);
    tsim_store_close(store);
    static const char *const SUFFIXES[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof SUFFIXES / sizeof SUFFIXES[0]; i++)
        unlink(tsim_arena_printf(&arena, "%s%s", file, SUFFIXES[i]));
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
}

static int is_enough(void *unused) {
    (void)unused;
    return 1;
}

/* Changes the database, without effect on other files, and in bounded time and memory. */
static void change(const char *file, const uint8_t *data, size_t size) {
    enum { MOST_BYTES = 1 << 18, MOST_OPERATIONS = 200000 };
    sqlite3 *db;
    char *sql = malloc(size + 1);
    memcpy(sql, data, size);
    sql[size] = '\0';
    if (sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MOST_BYTES);
        sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
        sqlite3_progress_handler(db, MOST_OPERATIONS, is_enough, NULL);
        sqlite3_exec(db, "PRAGMA synchronous = OFF; PRAGMA trusted_schema = OFF", NULL, NULL, NULL);
        sqlite3_exec(db, sql, NULL, NULL, NULL);
    }
    sqlite3_close(db);
    free(sql);
}

static const char *changed_file(const uint8_t *sql, size_t size) {
    static uint8_t sound[1 << 16];
    static size_t n_sound;
    FILE *in = n_sound > 0 ? NULL : fopen(TSIM_SOURCE_TREE "/tests/fuzz/corpus/store/small", "rb");
    if (in) {
        n_sound = fread(sound, 1, sizeof sound, in);
        fclose(in);
    }
    if (n_sound == 0)
        abort();
    const char *file = fuzz_file(".db", sound, n_sound);
    change(file, sql, size);
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bool is_database = size >= 16 && memcmp(data, "SQLite format 3", 16) == 0;
    const char *file = is_database ? fuzz_file(".db", data, size) : changed_file(data, size);
    read_all(file);
    merge_and_write(file);
    return 0;
}
