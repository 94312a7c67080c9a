#include "results/store_query.h"

#include "results/sql.h"

#include <string.h>

const struct tsim_view TSIM_VIEWS[] = {
    {"best_per_gpu_count", "for each sweep and number of accelerators the fastest point that fits"},
    {"cost_per_trillion_tokens", "rent, electricity and days for 10^12 tokens, of each sweep the cheapest first"},
    {"infeasible", "points that do not fit, are invalid or failed, and why"},
    {"points", "every point of every sweep, with all its figures"},
    {"sweeps", "the sweeps: which scenario, which axes, how many points"},
    {"runs", "every run of `tsim run`, with all its figures"},
};
const size_t TSIM_N_VIEWS = sizeof TSIM_VIEWS / sizeof TSIM_VIEWS[0];

struct tsim_query {
    struct tsim_store *store;
    struct tsim_statement statement;
};

/* Letters and '_' alone: a name, as no SELECT is. */
static bool is_name(const char *text) {
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")] == '\0';
}

/* SQLite gives no statement and no error for what is blank. */
static enum tsim_status refuse(const struct tsim_store *store, const char *text, bool is_unknown_name,
                               struct tsim_diags *diags) {
    const char *names[sizeof TSIM_VIEWS / sizeof TSIM_VIEWS[0]];
    const struct tsim_place at = {.file = store->file};
    bool is_blank = text[strspn(text, " \t\r\n;")] == '\0';
    struct tsim_diag *diag =
        is_unknown_name && !is_blank
            ? tsim_diags_error(diags, TSIM_ERR_SYNTAX, at, NULL, "no view or table is called '%.60s'", text)
            : tsim_diags_error(diags, TSIM_ERR_SYNTAX, at, NULL, "%s",
                               is_blank ? "an empty question" : tsim_sql_message(store));
    for (size_t i = 0; i < TSIM_N_VIEWS; i++)
        names[i] = TSIM_VIEWS[i].name;
    const char *near = is_unknown_name ? tsim_did_you_mean(text, names, TSIM_N_VIEWS) : NULL;
    if (strstr(diag->message, "not authorized"))
        tsim_diag_hint(diag, "tsim query reads and changes nothing; the program sqlite3 does the rest");
    else if (near)
        tsim_diag_hint(diag, "did you mean '%s'?", near);
    else
        tsim_diag_hint(diag, "'tsim query' lists the views; 'tsim query \"SELECT ...\"' asks anything else");
    return TSIM_ERR_SYNTAX;
}

/* A name is looked up among the tables and views rather than pasted into SQL. */
static enum tsim_status select_of(struct tsim_arena *arena, const struct tsim_store *store, const char *text,
                                  const char **sql, struct tsim_diags *diags) {
    struct tsim_statement s = tsim_sql_prepare(
        store,
        "SELECT 'SELECT * FROM \"' || name || '\"' FROM sqlite_schema WHERE name = ? AND type IN ('table', 'view')");
    tsim_sql_bind_text(&s, text);
    enum tsim_sql_step step = tsim_sql_step(&s);
    *sql = step == TSIM_SQL_ROW ? tsim_arena_strdup(arena, tsim_sql_text(&s, 0)) : text;
    enum tsim_status status = step == TSIM_SQL_FAILED ? tsim_sql_fail(store, "read the database", diags) : TSIM_OK;
    tsim_sql_finalize(&s);
    return status;
}

enum tsim_status tsim_query_open(struct tsim_arena *arena, struct tsim_store *store, const char *text,
                                 struct tsim_query **query, struct tsim_diags *diags) {
    struct tsim_query *opened = TSIM_NEW(arena, struct tsim_query);
    const char *rest, *sql = text;
    opened->store = store;
    if (is_name(text))
        TSIM_TRY(select_of(arena, store, text, &sql, diags));
    tsim_sql_restrict(store);
    opened->statement = tsim_sql_prepare_typed(store, sql, &rest);
    if (!opened->statement.stmt && tsim_sql_is_broken(store))
        return tsim_sql_fail(store, "read the database", diags);
    if (!opened->statement.stmt)
        return refuse(store, text, is_name(text) && sql == text, diags);
    if (rest[strspn(rest, " \t\r\n;")] != '\0') {
        tsim_query_close(opened);
        tsim_diags_error(diags, TSIM_ERR_SYNTAX, (struct tsim_place){.file = store->file}, NULL,
                         "one statement at a time: unexpected '%.60s'", rest);
        return TSIM_ERR_SYNTAX;
    }
    *query = opened;
    return TSIM_OK;
}

void tsim_query_close(struct tsim_query *query) {
    if (query)
        tsim_sql_finalize(&query->statement);
}

int tsim_query_n_columns(const struct tsim_query *query) {
    return tsim_sql_n_columns(&query->statement);
}

const char *tsim_query_column_name(const struct tsim_query *query, int column) {
    return tsim_sql_column_name(&query->statement, column);
}

enum tsim_status tsim_query_next(struct tsim_query *query, bool *is_there, struct tsim_diags *diags) {
    enum tsim_sql_step step = tsim_sql_step(&query->statement);
    *is_there = step == TSIM_SQL_ROW;
    if (step != TSIM_SQL_FAILED)
        return TSIM_OK;
    if (tsim_sql_is_broken(query->store))
        return tsim_sql_fail(query->store, "read the database", diags);
    return refuse(query->store, "SELECT", false, diags);
}

void tsim_query_rewind(struct tsim_query *query) {
    tsim_sql_rewind(&query->statement);
}

enum tsim_query_kind tsim_query_kind(const struct tsim_query *query, int column) {
    return tsim_sql_kind(&query->statement, column);
}

int64_t tsim_query_integer(const struct tsim_query *query, int column) {
    return tsim_sql_integer(&query->statement, column);
}

double tsim_query_real(const struct tsim_query *query, int column) {
    return tsim_sql_real(&query->statement, column);
}

const char *tsim_query_text(const struct tsim_query *query, int column) {
    return tsim_sql_text(&query->statement, column);
}
