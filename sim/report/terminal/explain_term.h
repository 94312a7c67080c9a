/* explain_term.h - a figure of the summary as a formula tree (base/term.h), down to constants and where each of them
 * was read. */
#pragma once

#include "base/term.h"
#include "report/terminal/table.h"
#include "results/prediction.h"

/* Returns the tree of one figure of the summary, by a name that tsim_outcome_find_term (results/outcome.h) knows, from
 * the recorder of the run. A figure without a formula is a leaf that says what it is. Returns NULL for an unknown name,
 * and for a figure that this run does not have. */
const struct tsim_term *tsim_term_of(const struct tsim_prediction *prediction, const char *name);

/* Prints the tree indented, with the value first. Sources are numbered and stand below. A shared node is written out
 * once. */
void tsim_term_print(FILE *out, const struct tsim_style *style, const struct tsim_term *term);
/* Prints a line for each node in the order of the tree: table,depth,name,value,unit,formula,source,status. */
void tsim_term_print_csv(FILE *out, const struct tsim_term *term);
/* Returns {"schema": "tsim/term/v1", "name", "value", "unit", "formula", "source", "status", "parts": [...]}. */
struct tsim_json *tsim_term_json(const struct tsim_term *term);
