#include "report/terminal/rank_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool parse_rank(const char **at, int64_t *rank) {
    char *end;
    errno = 0;
    long long parsed = strtoll(*at, &end, 10);
    if (errno != 0 || end == *at || **at < '0' || **at > '9')
        return false;
    *rank = parsed;
    *at = end;
    return true;
}

bool tsim_rank_list_parse(struct tsim_arena *arena, const char *text, struct tsim_rank_list *list) {
    *list = (struct tsim_rank_list){.ranges = TSIM_NEW_ARRAY(arena, strlen(text) + 1, struct tsim_rank_range)};
    if (strcmp(text, "all") == 0) {
        list->ranges[list->n_ranges++] = (struct tsim_rank_range){0, INT64_MAX};
        return true;
    }
    for (const char *at = text;; at++) {
        struct tsim_rank_range *range = &list->ranges[list->n_ranges++];
        if (!parse_rank(&at, &range->first))
            return false;
        range->last = range->first;
        if (*at == '-' && (at++, !parse_rank(&at, &range->last) || range->last < range->first))
            return false;
        if (*at == '\0')
            return true;
        if (*at != ',')
            return false;
    }
}

bool tsim_rank_list_has(const struct tsim_rank_list *list, int64_t rank) {
    for (int32_t i = 0; i < list->n_ranges; i++)
        if (rank >= list->ranges[i].first && rank <= list->ranges[i].last)
            return true;
    return false;
}

int64_t tsim_rank_list_beyond(const struct tsim_rank_list *list, int64_t n) {
    for (int32_t i = 0; i < list->n_ranges; i++) {
        int64_t wrong = list->ranges[i].first >= n ? list->ranges[i].first : list->ranges[i].last;
        if (wrong >= n && list->ranges[i].last != INT64_MAX)
            return wrong;
    }
    return -1;
}
