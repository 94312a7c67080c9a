/* background.h - private to sim/step: traffic of others on the stage groups' NICs (cluster.background): another job, a
 * checkpoint being written. It shares the links like a collective, from the beginning of the step until its bytes are
 * through or the step is over, and waits for nobody. */
#ifndef TSIM_STEP_BACKGROUND_H
#define TSIM_STEP_BACKGROUND_H

#include "step/stage_group.h"

/* Streams for every member of the stage group, after those of all stage groups. */
void tsim_background_add(struct tsim_arena *arena, struct tsim_stage_group *group);

#endif
