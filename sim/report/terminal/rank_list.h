/* rank_list.h - lists of ranks, "0,3,8-15" or "all", as options take them. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct tsim_rank_range {
    int64_t first, last;
};
struct tsim_rank_list {
    struct tsim_rank_range *ranges; /* in the arena */
    int32_t n_ranges;
};

/* Parses a list of ranks; returns false if the text is no such list. */
bool tsim_rank_list_parse(struct tsim_arena *arena, const char *text, struct tsim_rank_list *list);
bool tsim_rank_list_has(const struct tsim_rank_list *list, int64_t rank);
/* Returns a rank of the list that is not one of the first n, or -1 if there is none ("all" has none). */
int64_t tsim_rank_list_beyond(const struct tsim_rank_list *list, int64_t n);
