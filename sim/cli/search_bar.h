/* search_bar.h - shows how far a search for plans is, on standard error if that is a terminal: a bar, the current part,
 * and the time left. For a request that waits, it writes lines of JSON. */
#pragma once

#include "cli/options.h"
#include "study/search/plan.h"

struct tsim_search_bar {
    bool is_shown;
    FILE *lines; /* NULL: nobody waits for them */
    int percent; /* the percentage in the last line */
};

void tsim_search_bar_init(struct tsim_search_bar *bar, const struct tsim_arguments *arguments);
/* Shows the progress of tsim_plan_run, which gets the bar as its context. It lifts the limit of time once the search is
 * interrupted. */
void tsim_search_bar_show(void *context, const struct tsim_plan_progress *progress);
void tsim_search_bar_clear(const struct tsim_search_bar *bar);
