/* background.h - private to sim/step: foreign traffic on the stage groups' NICs (cluster.background), such as another
 * job or the writing of a checkpoint. It shares the links like a collective, from the beginning of the step until its
 * bytes are through or the step ends, and waits for nobody. Bytes that come out of the hosts' memory, or go there, also
 * take their part of the memory's rate if copies do (copies.h). */
#pragma once

#include "step/groups/stage_group.h"

struct tsim_background_flow;

/* Adds streams for every member of the stage group, after those of all stage groups, and adds their flows to the
 * list. */
void tsim_background_add(struct tsim_arena *arena, struct tsim_stage_group *group, struct tsim_background_flow **flows);

/* Returns, after the run, how far each entry of cluster.background came, in their order; NULL if there is none. */
const struct tsim_background_progress *tsim_background_progress_of(struct tsim_arena *arena,
                                                                   const struct tsim_step_plan *plan,
                                                                   const struct tsim_background_flow *flows,
                                                                   double step_s);
