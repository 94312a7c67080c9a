/* sql.h - a thin layer over SQLite for the files that hold statements (store*.c). Statements are constants, except for
 * the names of figures' columns (store_figures.h), and values are bound: nothing that a user wrote becomes a part of
 * one. */
#pragma once

#include "results/store_query.h"

struct sqlite3;
struct sqlite3_stmt;

struct tsim_store {
    struct sqlite3 *db;
    const char *file;
    enum tsim_store_mode mode;
    /* Statement i takes the tables from version i to i + 1. A later version adds statements and leaves these as they
     * are, except for views, which it makes anew. */
    const char *const *migrations;
    int version;          /* number of migrations, and so the version of today's tables */
    int64_t file_version; /* of the tables in the file; for reading, `db` has today's tables even so */
};

/* Returns the tables of sweeps and points and the current views; it is defined in store_points.c. */
const char *tsim_store_migration_2(struct tsim_arena *arena);
extern const char TSIM_STORE_MIGRATION_6[];

/* Adds a diagnostic for the last failure of the database, "cannot DOING: ...", and returns TSIM_ERR_DB. */
enum tsim_status tsim_sql_fail(const struct tsim_store *store, const char *doing, struct tsim_diags *diags);
/* Adds an error of ours about the file, and returns it. */
struct tsim_diag *tsim_sql_refuse(const struct tsim_store *store, struct tsim_diags *diags, const char *why);

bool tsim_sql_execute(const struct tsim_store *store, const char *sql);
/* Returns the first value of the first row; -1 if there is none or the query fails. */
int64_t tsim_sql_query_integer(const struct tsim_store *store, const char *sql);
bool tsim_sql_begin(const struct tsim_store *store); /* by BEGIN IMMEDIATE */
bool tsim_sql_commit(const struct tsim_store *store);
void tsim_sql_rollback(const struct tsim_store *store); /* does nothing outside a transaction */

int64_t tsim_sql_last_id(const struct tsim_store *store); /* the number of the row that was inserted last */
bool tsim_sql_is_empty(const struct tsim_store *store);   /* true for a file without tables */

/* Opens the file and makes its tables, or brings them up to date. Close it with tsim_store_close. */
enum tsim_status tsim_sql_open(struct tsim_arena *arena, const char *file, enum tsim_store_mode mode,
                               const char *const *migrations, int version, struct tsim_store **store,
                               struct tsim_diags *diags);
/* Opens another program's database for reading only; tsim_store_close closes it. */
enum tsim_status tsim_sql_open_foreign(struct tsim_arena *arena, const char *file, struct tsim_store **store,
                                       struct tsim_diags *diags);
bool tsim_sql_has_table(const struct tsim_store *store, const char *name);

struct tsim_statement {
    struct sqlite3_stmt *stmt; /* NULL after a failed prepare; every call then does nothing */
    int n_bound;
    bool is_bound_wrong; /* a value was refused (memory), and the statement fails from then on */
};

struct tsim_statement tsim_sql_prepare(const struct tsim_store *store, const char *sql);
void tsim_sql_finalize(struct tsim_statement *s);

/* These set the next parameter. A NULL text and NAN become NULL. */
void tsim_sql_bind_text(struct tsim_statement *s, const char *text);
void tsim_sql_bind_integer(struct tsim_statement *s, int64_t value);
void tsim_sql_bind_real(struct tsim_statement *s, double value);

/* Runs a statement that gives no rows, and makes it ready for the next values. */
bool tsim_sql_run(struct tsim_statement *s);
/* Returns whether the last statement failed because the row's primary key exists. */
bool tsim_sql_is_taken(const struct tsim_store *store);

enum tsim_sql_step { TSIM_SQL_ROW, TSIM_SQL_DONE, TSIM_SQL_FAILED };
enum tsim_sql_step tsim_sql_step(struct tsim_statement *s);
void tsim_sql_reset(struct tsim_statement *s);  /* prepares it for the next values, whether or not all rows were read */
void tsim_sql_rewind(struct tsim_statement *s); /* starts again at the first row */

/* From now on statements may only read. */
void tsim_sql_restrict(const struct tsim_store *store);
/* Prepares a statement that somebody typed. Its stmt is NULL after an error; *rest is the text that follows it. */
struct tsim_statement tsim_sql_prepare_typed(const struct tsim_store *store, const char *sql, const char **rest);
/* Returns whether the last failure was one of the file or the system, and not of the statement's text. */
bool tsim_sql_is_broken(const struct tsim_store *store);
const char *tsim_sql_message(const struct tsim_store *store); /* describes the last failure */
int tsim_sql_n_columns(const struct tsim_statement *s);
const char *tsim_sql_column_name(const struct tsim_statement *s, int column);
enum tsim_query_kind tsim_sql_kind(const struct tsim_statement *s, int column); /* bytes count as text */

/* These return values of the current row. A text is valid until the next step. */
const char *tsim_sql_text(const struct tsim_statement *s, int column); /* NULL for NULL */
const char *tsim_sql_word(const struct tsim_statement *s, int column); /* for columns that are NOT NULL in our tables */
const char *tsim_sql_copy(struct tsim_arena *arena, const struct tsim_statement *s, int column); /* "" for NULL */
int64_t tsim_sql_integer(const struct tsim_statement *s, int column);
double tsim_sql_real(const struct tsim_statement *s, int column); /* NAN for NULL */
