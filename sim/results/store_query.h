/* store_query.h - reads the database in SQL: a statement that somebody typed, or a view that comes with the database.
 * Only reading is possible. Rows come one after another. */
#pragma once

#include "results/store.h"

struct tsim_view {
    const char *name, *help;
};
extern const struct tsim_view TSIM_VIEWS[];
extern const size_t TSIM_N_VIEWS;

struct tsim_query;

/* Runs a query. `text` is the name of a view or table, or one SELECT. A mistake in it is TSIM_ERR_SYNTAX, shown at
 * --db's file. */
enum tsim_status tsim_query_open(struct tsim_arena *arena, struct tsim_store *store, const char *text,
                                 struct tsim_query **query, struct tsim_diags *diags);
void tsim_query_close(struct tsim_query *query); /* does nothing with NULL */
int tsim_query_n_columns(const struct tsim_query *query);
const char *tsim_query_column_name(const struct tsim_query *query, int column);

/* Reads the next row; *is_there becomes false after the last one. */
enum tsim_status tsim_query_next(struct tsim_query *query, bool *is_there, struct tsim_diags *diags);
void tsim_query_rewind(struct tsim_query *query);

/* The kinds of value that a column of the current row may have. */
enum tsim_query_kind { TSIM_QUERY_NULL, TSIM_QUERY_INTEGER, TSIM_QUERY_REAL, TSIM_QUERY_TEXT };
enum tsim_query_kind tsim_query_kind(const struct tsim_query *query, int column);
int64_t tsim_query_integer(const struct tsim_query *query, int column);
double tsim_query_real(const struct tsim_query *query, int column);
const char *tsim_query_text(const struct tsim_query *query, int column); /* valid until the next row */
