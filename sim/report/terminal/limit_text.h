/* limit_text.h - says by how much a limit is missed. */
#pragma once

#include "study/search/ranking.h"

/* Returns, in `arena`, "days: 213 at least, 60 allowed (+255.0 %)" or "mfu: 38.0 % at most, 50.0 % asked for (-24.0
 * %)". `nearest` is the best value that there is. */
const char *tsim_limit_text(struct tsim_arena *arena, const struct tsim_limit *limit, double nearest);
