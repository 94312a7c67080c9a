/* link_utilization.h - private to sim/step: the utilization of each sort of link. */
#pragma once

#include "step/groups/expansion.h"

/* Finds the utilization of links after the engine has run. step_links is NULL in a folded step, in which the members of
 * stage groups have links of their own. */
void tsim_link_utilization_find(struct tsim_arena *arena, const struct tsim_step_links *step_links,
                                const struct tsim_stage_group *stage_groups, int32_t n_stage_groups,
                                struct tsim_step_simulation *simulation);
