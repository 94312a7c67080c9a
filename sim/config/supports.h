/* supports.h - the settings of a scenario that its software cannot run, by the profile's own lists (`supports:`). */
#pragma once

#include "config/plan_choice.h"

/* Returns whether the software can run that value of a plan's key with some values of the others. */
bool tsim_supports_value(const struct tsim_supports *supports, enum tsim_plan_key key, int64_t value);
/* Returns whether the software's tensor ranks always have sequence parallelism if the job's model is trained. */
bool tsim_needs_sequence(const struct tsim_scenario *job);
/* Returns whether the software can run that stage of ZeRO, in a pipeline or without one. */
bool tsim_supports_zero(const struct tsim_supports *supports, int64_t zero, bool is_staged);
/* Returns whether the software's stages between the first and the last have as many layers as one another. */
bool tsim_has_equal_middle(const struct tsim_supports *supports);

enum { TSIM_MOST_UNSUPPORTED = 10 };
struct tsim_unsupported {
    const char *path; /* of the key that asks for it */
    char what[48];    /* "schedule zb-v" */
    const char *has;  /* what the software has in its place; NULL: nothing */
};

/* Finds the unsupported settings of a scenario whose plan is resolved, and returns their number. Texts are allocated
 * from `arena`. */
size_t tsim_scenario_unsupported(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                 struct tsim_unsupported list[TSIM_MOST_UNSUPPORTED]);
