/* supports.h - what a scenario asks for and its software cannot run, by the profile's own lists (`supports:`). */
#ifndef TSIM_CONFIG_SUPPORTS_H
#define TSIM_CONFIG_SUPPORTS_H

#include "config/scenario.h"

enum { TSIM_MOST_UNSUPPORTED = 10 };
struct tsim_unsupported {
    const char *path; /* the key that asks for it */
    char what[48];    /* "schedule zb-v" */
    const char *has;  /* what the software has in its place; NULL: nothing */
};

/* How many of them a scenario has; its plan is resolved. Texts are allocated from `arena`. */
size_t tsim_scenario_unsupported(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                 struct tsim_unsupported list[TSIM_MOST_UNSUPPORTED]);

#endif
