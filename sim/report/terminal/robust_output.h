/* robust_output.h - whether the order of two predictions survives, as a table and as a sentence. */
#pragma once

#include "report/terminal/figures.h"
#include "study/search/robust.h"

/* Fills in the table "sensitivity". A row has a side, an input, the change of the side's time per token (of its cost,
 * if the input is rent) at -10 % and +10 %, and which orders these reverse. A row of "both" has the change of the
 * second side's time over the first's. */
void tsim_robust_figures(struct tsim_arena *arena, const struct tsim_robust *robust, const char *const names[2],
                         struct tsim_figures *figures);

/* Returns "B is 12.3 % faster per token than A, whichever input is a tenth off.", and the same for the cost, in
 * `arena`. It says "as fast" if a percentage would be 0.0; NULL if both are equal. */
const char *tsim_robust_verdict(struct tsim_arena *arena, const struct tsim_robust *robust, const char *const names[2]);
