#include "results/sql.h"

#include "base/version.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE_MS = 5000, WAL_RETRIES = 100, WAL_RETRY_MS = 20, MOST_TEXT_BYTES = 64 << 20 };

/* PRAGMA application_id, "tsim" in ASCII: tells our databases from those of other programs. */
enum { APPLICATION_ID = 0x7473696d };

/* ---- failures ---- */

/* Returns why the file cannot be opened. SQLite tries to read what it may not write, and so says of a folder that may not
 * be written that the file in it is missing. */
static int reason_not_opened(const struct tsim_store *store) {
    char folder[PATH_MAX];
    const char *slash = strrchr(store->file, '/');
    int length = slash ? (int)(slash - store->file) : 0;
    snprintf(folder, sizeof folder, "%.*s", slash ? length + (length == 0) : 1, slash ? store->file : ".");
    return access(folder, W_OK) == 0 ? sqlite3_system_errno(store->db) : errno;
}

enum tsim_status tsim_sql_fail(const struct tsim_store *store, const char *doing, struct tsim_diags *diags) {
    int code = sqlite3_errcode(store->db);
    struct tsim_diag *diag = tsim_diags_error(diags, TSIM_ERR_DB, (struct tsim_place){.file = store->file}, NULL,
                                              "cannot %s: %s", doing, sqlite3_errmsg(store->db));
    int system_error = sqlite3_system_errno(store->db);
    bool is_there = access(store->file, R_OK) == 0;
    if (code == SQLITE_CANTOPEN && store->mode == TSIM_STORE_READ && system_error == ENOENT && !is_there)
        snprintf(diag->message, sizeof diag->message, "there is no such database");
    if (code == SQLITE_BUSY)
        tsim_diag_hint(diag, "another program holds the database; --db FILE logs to another one, --no-db to none");
    else if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
        tsim_diag_hint(diag, "--db FILE logs to another file; this one was left as it is");
    else if (store->mode == TSIM_STORE_READ && is_there && (code == SQLITE_READONLY || code == SQLITE_CANTOPEN))
        tsim_diag_hint(
            diag,
            "a log of SQLite stands beside the file, and its folder cannot be written: copy both to another folder");
    else if (store->mode == TSIM_STORE_READ)
        tsim_diag_hint(diag, "'tsim run' and 'tsim sweep' make one; --db FILE names another one");
    else if (code == SQLITE_CANTOPEN && system_error)
        tsim_diag_hint(diag, "%s; --db FILE logs to another file, --no-db to none", strerror(reason_not_opened(store)));
    return TSIM_ERR_DB;
}

struct tsim_diag *tsim_sql_refuse(const struct tsim_store *store, struct tsim_diags *diags, const char *why) {
    return tsim_diags_error(diags, TSIM_ERR_DB, (struct tsim_place){.file = store->file}, NULL, "%s", why);
}

/* ---- statements ---- */

bool tsim_sql_execute(const struct tsim_store *store, const char *sql) {
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

int64_t tsim_sql_query_integer(const struct tsim_store *store, const char *sql) {
    struct tsim_statement s = tsim_sql_prepare(store, sql);
    int64_t value = tsim_sql_step(&s) == TSIM_SQL_ROW ? tsim_sql_integer(&s, 0) : -1;
    tsim_sql_finalize(&s);
    return value;
}

int64_t tsim_sql_last_id(const struct tsim_store *store) {
    return sqlite3_last_insert_rowid(store->db);
}

bool tsim_sql_begin(const struct tsim_store *store) {
    return tsim_sql_execute(store, "BEGIN IMMEDIATE");
}

bool tsim_sql_commit(const struct tsim_store *store) {
    return tsim_sql_execute(store, "COMMIT");
}

void tsim_sql_rollback(const struct tsim_store *store) {
    if (!sqlite3_get_autocommit(store->db))
        tsim_sql_execute(store, "ROLLBACK");
}

struct tsim_statement tsim_sql_prepare(const struct tsim_store *store, const char *sql) {
    struct tsim_statement statement = {0};
    sqlite3_prepare_v2(store->db, sql, -1, &statement.stmt, NULL);
    return statement;
}

void tsim_sql_finalize(struct tsim_statement *s) {
    sqlite3_finalize(s->stmt);
    s->stmt = NULL;
}

void tsim_sql_bind_text(struct tsim_statement *s, const char *text) {
    s->n_bound++;
    if (s->stmt && text && sqlite3_bind_text(s->stmt, s->n_bound, text, -1, SQLITE_TRANSIENT) != SQLITE_OK)
        s->is_bound_wrong = true;
    else if (!text)
        sqlite3_bind_null(s->stmt, s->n_bound);
}

void tsim_sql_bind_integer(struct tsim_statement *s, int64_t value) {
    s->n_bound++;
    s->is_bound_wrong |= s->stmt && sqlite3_bind_int64(s->stmt, s->n_bound, value) != SQLITE_OK;
}

void tsim_sql_bind_real(struct tsim_statement *s, double value) {
    s->n_bound++;
    if (isnan(value))
        sqlite3_bind_null(s->stmt, s->n_bound);
    else
        s->is_bound_wrong |= s->stmt && sqlite3_bind_double(s->stmt, s->n_bound, value) != SQLITE_OK;
}

bool tsim_sql_run(struct tsim_statement *s) {
    TSIM_ASSERT(!s->stmt || s->n_bound == sqlite3_bind_parameter_count(s->stmt));
    int code = s->stmt && !s->is_bound_wrong ? sqlite3_step(s->stmt) : SQLITE_ERROR;
    s->n_bound = 0;
    return sqlite3_reset(s->stmt) == SQLITE_OK && code == SQLITE_DONE;
}

bool tsim_sql_is_taken(const struct tsim_store *store) {
    return sqlite3_extended_errcode(store->db) == SQLITE_CONSTRAINT_PRIMARYKEY;
}

enum tsim_sql_step tsim_sql_step(struct tsim_statement *s) {
    int code = s->stmt && !s->is_bound_wrong ? sqlite3_step(s->stmt) : SQLITE_ERROR;
    return code == SQLITE_ROW ? TSIM_SQL_ROW : code == SQLITE_DONE ? TSIM_SQL_DONE : TSIM_SQL_FAILED;
}

void tsim_sql_reset(struct tsim_statement *s) {
    sqlite3_reset(s->stmt);
    s->n_bound = 0;
}

void tsim_sql_rewind(struct tsim_statement *s) {
    sqlite3_reset(s->stmt);
}

const char *tsim_sql_text(const struct tsim_statement *s, int column) {
    bool is_null = sqlite3_column_type(s->stmt, column) == SQLITE_NULL;
    const char *text = (const char *)sqlite3_column_text(s->stmt, column);
    if (!text && !is_null)
        tsim_out_of_memory(); /* SQLite has no other reason */
    return text;
}

const char *tsim_sql_word(const struct tsim_statement *s, int column) {
    const char *text = tsim_sql_text(s, column);
    return text ? text : "";
}

const char *tsim_sql_copy(struct tsim_arena *arena, const struct tsim_statement *s, int column) {
    const char *text = tsim_sql_text(s, column);
    return tsim_arena_strdup(arena, text ? text : "");
}

int64_t tsim_sql_integer(const struct tsim_statement *s, int column) {
    return sqlite3_column_int64(s->stmt, column);
}

double tsim_sql_real(const struct tsim_statement *s, int column) {
    return sqlite3_column_type(s->stmt, column) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(s->stmt, column);
}

/* ---- statements that somebody typed ---- */

static int allow_reading(void *context, int action, const char *a, const char *b, const char *c, const char *d) {
    (void)context, (void)a, (void)b, (void)c, (void)d;
    bool is_reading =
        action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION || action == SQLITE_RECURSIVE;
    return is_reading ? SQLITE_OK : SQLITE_DENY;
}

void tsim_sql_restrict(const struct tsim_store *store) {
    sqlite3_set_authorizer(store->db, allow_reading, NULL);
}

struct tsim_statement tsim_sql_prepare_typed(const struct tsim_store *store, const char *sql, const char **rest) {
    struct tsim_statement statement = {0};
    sqlite3_prepare_v2(store->db, sql, -1, &statement.stmt, rest);
    return statement;
}

bool tsim_sql_is_broken(const struct tsim_store *store) {
    int code = sqlite3_errcode(store->db);
    return code != SQLITE_OK && code != SQLITE_ERROR && code != SQLITE_AUTH && code != SQLITE_TOOBIG &&
           code != SQLITE_ROW && code != SQLITE_DONE;
}

const char *tsim_sql_message(const struct tsim_store *store) {
    return sqlite3_errmsg(store->db);
}

int tsim_sql_n_columns(const struct tsim_statement *s) {
    return sqlite3_column_count(s->stmt);
}

const char *tsim_sql_column_name(const struct tsim_statement *s, int column) {
    return sqlite3_column_name(s->stmt, column);
}

enum tsim_query_kind tsim_sql_kind(const struct tsim_statement *s, int column) {
    switch (sqlite3_column_type(s->stmt, column)) {
    case SQLITE_NULL:
        return TSIM_QUERY_NULL;
    case SQLITE_INTEGER:
        return TSIM_QUERY_INTEGER;
    case SQLITE_FLOAT:
        return TSIM_QUERY_REAL;
    default:
        return TSIM_QUERY_TEXT;
    }
}

/* ---- opening ---- */

/* Switching to WAL needs the file alone, and SQLite does not wait for that by itself. A file system without shared
 * memory keeps its old mode, which is slower and as safe. */
static void use_wal(const struct tsim_store *store) {
    for (int i = 0; i < WAL_RETRIES && !tsim_sql_execute(store, "PRAGMA journal_mode = WAL"); i++) {
        if (sqlite3_errcode(store->db) != SQLITE_BUSY)
            return;
        sqlite3_sleep(WAL_RETRY_MS);
    }
}

/* Two processes may come here at once: the second one finds the work done. */
static enum tsim_status migrate(const struct tsim_store *store, struct tsim_diags *diags) {
    use_wal(store);
    if (!tsim_sql_begin(store))
        return tsim_sql_fail(store, "set up the database", diags);
    int64_t version = tsim_sql_query_integer(store, "PRAGMA user_version");
    bool is_done = version >= 0;
    for (; is_done && version < store->version; version++)
        is_done = tsim_sql_execute(store, store->migrations[version]);
    if (is_done && tsim_sql_commit(store))
        return TSIM_OK;
    enum tsim_status status = tsim_sql_fail(store, "set up the database", diags);
    tsim_sql_rollback(store);
    return status;
}

bool tsim_sql_is_empty(const struct tsim_store *store) {
    return tsim_sql_query_integer(store, "SELECT count(*) FROM sqlite_schema") == 0;
}

/* A database may come from anywhere: its triggers do nothing, what its views may call is limited, texts are below 64
 * MB, pages are checked as they are read. */
static void distrust(sqlite3 *db) {
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MOST_TEXT_BYTES);
    sqlite3_exec(db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
}

static bool copy_all(sqlite3 *to, sqlite3 *from) {
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    bool is_done = backup && sqlite3_backup_step(backup, -1) == SQLITE_DONE;
    return sqlite3_backup_finish(backup) == SQLITE_OK && is_done;
}

/* Readers expect the tables of today: a temporary copy gets them, and the file stays as it is. */
static enum tsim_status read_older(struct tsim_store *store, struct tsim_diags *diags) {
    struct tsim_store copy = *store;
    enum tsim_status status = TSIM_OK;
    if (sqlite3_open_v2("", &copy.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) !=
            SQLITE_OK ||
        !copy_all(copy.db, store->db)) {
        status = tsim_sql_fail(&copy, "copy the tables of an older tsim", diags);
    } else {
        distrust(copy.db);
        status = migrate(&copy, diags);
    }
    sqlite3_close(status == TSIM_OK ? store->db : copy.db);
    if (status == TSIM_OK)
        store->db = copy.db;
    return status;
}

static enum tsim_status check_version(struct tsim_store *store, struct tsim_diags *diags) {
    int64_t version = tsim_sql_query_integer(store, "PRAGMA user_version");
    store->file_version = version;
    if (version < 0 && sqlite3_errcode(store->db) != SQLITE_OK)
        return tsim_sql_fail(store, "read the database", diags);
    if (version == 0 && tsim_sql_is_empty(store))
        return store->mode == TSIM_STORE_WRITE ? migrate(store, diags) : TSIM_OK;
    if (tsim_sql_query_integer(store, "PRAGMA application_id") != APPLICATION_ID) {
        tsim_diag_hint(tsim_sql_refuse(store, diags, "this database belongs to another program"),
                       "--db FILE names another one");
        return TSIM_ERR_DB;
    }
    if (version > store->version) {
        tsim_diag_hint(tsim_sql_refuse(store, diags, "this database was written by a newer tsim"),
                       "its tables are version %lld, tsim %s knows up to version %d: use the newer tsim, or --db FILE",
                       (long long)version, TSIM_VERSION, store->version);
        return TSIM_ERR_DB;
    }
    if (version >= store->version)
        return TSIM_OK;
    return store->mode == TSIM_STORE_WRITE ? migrate(store, diags) : read_older(store, diags);
}

static enum tsim_status set_up(struct tsim_store *store, struct tsim_diags *diags) {
    if (store->mode == TSIM_STORE_WRITE && sqlite3_db_readonly(store->db, "main") == 1) {
        tsim_diag_hint(tsim_sql_refuse(store, diags, "cannot write to the database: the file is read-only"),
                       "--db FILE logs to another file, --no-db to none");
        return TSIM_ERR_DB;
    }
    /* The log is copied into the database when it has 64 MB: seldom, for the disk is waited for each time. */
    if (!tsim_sql_execute(store,
                          "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 16000"))
        return tsim_sql_fail(store, "set up the database", diags);
    return check_version(store, diags);
}

/* Opens the file of that name, never a URI; without a name SQLite's own temporary one. A frozen one is read as it is,
 * without a log or locks. */
static int open_file(struct tsim_arena *arena, const char *file, int flags, bool is_frozen, sqlite3 **db) {
    const char *name = tsim_arena_printf(arena, "%s%s", file[0] == '/' || !file[0] ? "" : "./", file);
    flags |= SQLITE_OPEN_NOMUTEX;
    if (is_frozen) {
        char *uri = tsim_arena_printf(arena, "file:%*s", (int)(3 * strlen(name)), "");
        char *at = uri + strlen("file:");
        for (const char *c = name; *c; c++)
            at += sprintf(at, strchr("%?#", *c) ? "%%%02x" : "%c", *c);
        name = tsim_arena_printf(arena, "%.*s?immutable=1", (int)(at - uri), uri);
        flags |= SQLITE_OPEN_URI;
    }
    return sqlite3_open_v2(name, db, flags, NULL);
}

/* Returns whether SQLite cannot make its log beside the file, and none with anything in it is there: nobody is writing,
 * so the file can be read as it is. */
static bool is_frozen(struct tsim_arena *arena, const struct tsim_store *store) {
    if (store->mode != TSIM_STORE_READ || tsim_sql_query_integer(store, "PRAGMA user_version") >= 0)
        return false;
    int code = sqlite3_errcode(store->db);
    struct stat log;
    return (code == SQLITE_READONLY || code == SQLITE_CANTOPEN) && access(store->file, R_OK) == 0 &&
           (stat(tsim_arena_printf(arena, "%s-wal", store->file), &log) != 0 || log.st_size == 0);
}

/* Refuses what would keep nothing. */
static enum tsim_status check_file(const struct tsim_store *store, struct tsim_diags *diags) {
    struct stat about;
    const char *why = NULL;
    if (strcmp(store->file, ":memory:") == 0)
        why = "a database in memory is gone with the command";
    else if (stat(store->file, &about) == 0 && !S_ISREG(about.st_mode))
        why =
            S_ISDIR(about.st_mode) ? "this is a folder, not a database" : "this is no file that could hold a database";
    if (!why)
        return TSIM_OK;
    tsim_diag_hint(tsim_sql_refuse(store, diags, why),
                   store->mode == TSIM_STORE_WRITE ? "--db FILE logs to a file, --no-db to none"
                                                   : "--db FILE names a file that 'tsim run' or 'tsim sweep' wrote");
    return TSIM_ERR_DB;
}

enum tsim_status tsim_sql_open(struct tsim_arena *arena, const char *file, enum tsim_store_mode mode,
                               const char *const *migrations, int version, struct tsim_store **store,
                               struct tsim_diags *diags) {
    struct tsim_store *opened = TSIM_NEW(arena, struct tsim_store);
    opened->file = tsim_arena_strdup(arena, file);
    opened->mode = mode;
    opened->migrations = migrations;
    opened->version = version;
    TSIM_TRY(check_file(opened, diags));
    /* A reader also asks for writing (and does without if the file does not allow it), because the last one to close a
     * database in WAL mode must be able to remove the files beside it. */
    int create = mode == TSIM_STORE_WRITE ? SQLITE_OPEN_CREATE : 0;
    int code = open_file(arena, file, SQLITE_OPEN_READWRITE | create, false, &opened->db);
    enum tsim_status status = TSIM_OK;
    if (code == SQLITE_OK && is_frozen(arena, opened)) {
        sqlite3_close(opened->db);
        code = open_file(arena, file, SQLITE_OPEN_READONLY, true, &opened->db);
    }
    if (code != SQLITE_OK) {
        status = tsim_sql_fail(opened, "open the database", diags);
    } else {
        sqlite3_busy_timeout(opened->db, PATIENCE_MS);
        distrust(opened->db);
        status = set_up(opened, diags);
    }
    if (status == TSIM_OK)
        *store = opened;
    else
        sqlite3_close(opened->db);
    return status;
}

enum tsim_status tsim_sql_open_foreign(struct tsim_arena *arena, const char *file, struct tsim_store **store,
                                       struct tsim_diags *diags) {
    struct tsim_store *opened = TSIM_NEW(arena, struct tsim_store);
    opened->file = tsim_arena_strdup(arena, file);
    opened->mode = TSIM_STORE_READ;
    int code = open_file(arena, file, SQLITE_OPEN_READONLY, false, &opened->db);
    if (code == SQLITE_OK && tsim_sql_query_integer(opened, "SELECT count(*) FROM sqlite_schema") >= 0) {
        *store = opened;
        return TSIM_OK;
    }
    tsim_sql_refuse(opened, diags, code == SQLITE_OK ? "not a database of SQLite" : "cannot be opened");
    sqlite3_close(opened->db);
    return TSIM_ERR_DB;
}

bool tsim_sql_has_table(const struct tsim_store *store, const char *name) {
    struct tsim_statement s = tsim_sql_prepare(store, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?");
    tsim_sql_bind_text(&s, name);
    bool has = tsim_sql_step(&s) == TSIM_SQL_ROW;
    tsim_sql_finalize(&s);
    return has;
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
