/* A database: listed, asked, read point by point, merged into another one, and opened for writing. Input that is none
 * is SQL, which changes a sound one first (corpus/store/small): what a table of others may hold. */
#include "fuzz/fuzz.h"
#include "report/page/page.h"
#include "results/store_merge.h"
#include "results/store_points.h"
#include "results/store_query.h"

#include <sqlite3.h>

#define SOUND TSIM_SOURCE_TREE "/tests/fuzz/corpus/store/small"

static bool is_database(const uint8_t *data, size_t size) {
    return size >= 16 && memcmp(data, "SQLite format 3", 16) == 0;
}

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

/* Returns the bytes of a file, which are the same for all inputs. */
static const uint8_t *read_once(const char *file, size_t *size) {
    enum { MOST_BYTES = 1 << 20 };
    uint8_t *bytes = malloc(MOST_BYTES);
    FILE *in = fopen(file, "rb");
    *size = in ? fread(bytes, 1, MOST_BYTES, in) : 0;
    if (*size == 0)
        abort();
    fclose(in);
    return bytes;
}

static void remove_database(const char *file) {
    static const char *const SUFFIXES[] = {"", "-wal", "-shm", "-journal"};
    char name[300];
    for (size_t i = 0; i < sizeof SUFFIXES / sizeof SUFFIXES[0]; i++) {
        snprintf(name, sizeof name, "%s%s", file, SUFFIXES[i]);
        unlink(name);
    }
}

/* Returns a database of this version without rows. Its tables are made once, which takes longer than all the rest. */
static const char *empty_database(void) {
    static const uint8_t *empty;
    static size_t n_empty;
    if (empty)
        return fuzz_file("-out.db", empty, n_empty);
    const char *file = fuzz_file("-out.db", (const uint8_t *)"", 0);
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_store *store = NULL;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    TSIM_ASSERT(tsim_store_open(&arena, file, TSIM_STORE_WRITE, &store, &diags) == TSIM_OK);
    tsim_store_close(store);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    empty = read_once(file, &n_empty);
    return file;
}

static void merge_and_write(const char *file) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_merged merged;
    struct tsim_store *store = NULL;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    const char *out = empty_database();
    tsim_store_merge(&arena, out, &file, 1, &merged, &diags);
    tsim_store_open(&arena, file, TSIM_STORE_WRITE, &store, &diags);
    tsim_store_close(store);
    remove_database(out);
    remove_database(file);
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
    static const uint8_t *sound;
    static size_t n_sound;
    if (!sound)
        sound = read_once(SOUND, &n_sound);
    const char *file = fuzz_file(".db", sound, n_sound);
    change(file, sql, size);
    return file;
}

/* Adds a statement that gives a column of a table a value that nothing of ours would write there. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    enum { MOST_BYTES = 600, MOST_STATEMENT = 200 };
    static const char COLUMN[] =
        "SELECT printf('\nUPDATE %s SET \"%w\" = ', t.name, c.name) FROM sqlite_schema t,"
        " pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY (t.rowid * 1009 + c.cid) * ?1 % 10007 LIMIT 1";
    static const char *const VALUES[] = {"NULL;",
                                         "-1;",
                                         "0;",
                                         "9223372036854775807;",
                                         "1e308;",
                                         "1e999;",
                                         "-1e999;",
                                         "'';",
                                         "'{}';",
                                         "'[';",
                                         "'{\"a\": [1e400, null]}';",
                                         "CAST(x'ff41' AS TEXT);",
                                         "'ok';",
                                         "'</script>';",
                                         "char(0x202e, 10, 9);",
                                         "hex(zeroblob(3000));",
                                         "rowid;",
                                         "'does_not_fit';",
                                         "json_set('{}', '$.cluster', 1);"};
    static sqlite3 *db;
    sqlite3_stmt *statement = NULL;
    if (seed % 4 == 0 || is_database(data, size) || size > MOST_BYTES || size + MOST_STATEMENT > max_size)
        return LLVMFuzzerMutate(data, size, max_size);
    if (!db && sqlite3_open_v2(SOUND, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        abort();
    if (sqlite3_prepare_v2(db, COLUMN, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_bind_int(statement, 1, (int)(seed / 4 % 9973 + 1)) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW)
        abort();
    size += (size_t)snprintf((char *)data + size, MOST_STATEMENT, "%s%s", sqlite3_column_text(statement, 0),
                             VALUES[seed / 64 % (sizeof VALUES / sizeof VALUES[0])]);
    sqlite3_finalize(statement);
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *file = is_database(data, size) ? fuzz_file(".db", data, size) : changed_file(data, size);
    read_all(file);
    merge_and_write(file);
    return 0;
}
