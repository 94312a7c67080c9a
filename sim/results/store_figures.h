/* store_figures.h - figures in the database. Each figure that has a column (outcome.def) has it in the table of points;
 * most have one in the table of runs, too. Here are the parts of statements that name the columns, in their order. */
#pragma once

#include "results/outcome.h"
#include "results/sql.h"

enum tsim_store_table { TSIM_STORE_RUNS, TSIM_STORE_POINTS };

/* Returns each column's name between two texts: ", step_time_s REAL, compute_s REAL". With a version it returns the
 * columns that are new in that version, with 0 all of them. */
const char *tsim_store_figures(struct tsim_arena *arena, enum tsim_store_table table, int version, const char *before,
                               const char *after);
/* Returns ", ?, ?", with one mark for each column of figures of the table. */
const char *tsim_store_marks(struct tsim_arena *arena, enum tsim_store_table table);
/* Sets the next parameters, one for each of these columns. */
void tsim_store_bind_figures(struct tsim_statement *s, enum tsim_store_table table, const struct tsim_outcome *outcome);

/* Returns the newest version in which a figure got its column. */
int tsim_store_figures_version(void);
