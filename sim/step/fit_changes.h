/* fit_changes.h - the memory of a step's stages, and the smallest changes of a scenario with which it fits. */
#pragma once

#include "base/term.h"
#include "config/scenario.h"
#include "step/step_result.h"

struct tsim_memory tsim_memory_of_stage(const struct tsim_scenario *scenario, int32_t stage);
/* Records the terms of the fullest stage's memory. */
void tsim_memory_record(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario, int32_t stage);
struct tsim_memory tsim_fullest_stage(const struct tsim_scenario *scenario, int32_t *stage);

/* Fills in the result's fit_changes. Each change alone is enough, and the one that costs least time comes first; if no
 * single change is enough, they are several together. Each is proposed to the scenario as --set would change it, so a
 * scenario that was not read from a text has none. */
void tsim_fit_changes_find(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                           struct tsim_step_result *result);
