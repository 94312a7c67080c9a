/* alike.h - finds things that are alike, by numbers that say so. */
#pragma once

#include "base/arena.h"

#include <stdint.h>

/* Returns, for each of `n` things, the first thing with the same number. The result is allocated from `arena`; memory
 * from `scratch` is needed during the call alone. The two may be one arena. */
const int32_t *tsim_first_alike(struct tsim_arena *arena, struct tsim_arena *scratch, const uint64_t *numbers,
                                int32_t n);
