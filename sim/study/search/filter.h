/* filter.h - conditions on a point's figures, as in --where 'memory.fits and mfu > 0.3'.
 *
 *   condition  = term { "or" term }             term = factor { "and" factor }
 *   factor     = "not" factor | "(" condition ")" | comparison
 *   comparison = operand [ ("<" | "<=" | ">" | ">=" | "==" | "=" | "!=") operand ]
 *   operand    = a figure's name | a number, with a unit where the figure has one ("12 s", "70 GB") | true | false
 *
 * A figure alone holds when it is not 0. `status` and `bottleneck` compare (== and !=) with words: status == ok,
 * bottleneck != communication. A comparison with a figure that the point does not have is false. */
#pragma once

#include "config/text/value.h"
#include "results/store_points.h"

struct tsim_filter;

/* Parses a condition. Places give `origin` ("--where"); columns count from 1 within `text`. */
enum tsim_status tsim_filter_parse(struct tsim_arena *arena, const char *origin, const char *text,
                                   const struct tsim_filter **filter, struct tsim_diags *diags);

/* Reads a condition from a scalar of a file, at whose place mistakes are shown. */
enum tsim_status tsim_filter_read(struct tsim_arena *arena, const struct tsim_value *value, const char *field,
                                  const struct tsim_filter **filter, struct tsim_diags *diags);

bool tsim_filter_holds(const struct tsim_filter *filter, const struct tsim_point *point); /* NULL always holds */
