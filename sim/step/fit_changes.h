/* fit_changes.h - the memory of a step's stages, and the smallest changes of a scenario with which it fits. */
#ifndef TSIM_STEP_FIT_CHANGES_H
#define TSIM_STEP_FIT_CHANGES_H

#include "base/term.h"
#include "config/scenario.h"
#include "step/step_result.h"

struct tsim_memory tsim_memory_of_stage(const struct tsim_scenario *scenario, int32_t stage);
/* Says how the memory of the fullest stage comes about. */
void tsim_memory_record(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario, int32_t stage);
struct tsim_memory tsim_fullest_stage(const struct tsim_scenario *scenario, int32_t *stage);

/* Fills in the result's fit_changes: each alone is enough, the one that costs least time first; several at once where
 * no single one is. Each is proposed to the scenario as --set would change it, so a scenario that was not read has none. */
void tsim_fit_changes_find(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                           struct tsim_step_result *result);

#endif
