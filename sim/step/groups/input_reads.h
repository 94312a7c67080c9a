/* input_reads.h - private to sim/step: samples that are read over the NICs (data.network).
 *
 * A worker reads the next batch when a pass has taken one. Its bytes come in over the NICs of the ranks that get it, in
 * equal parts, and share the NICs with collectives and messages. They go to the host's memory. Nobody waits for them
 * here: the input pipeline (step_input.h), which has what the NICs leave, says how long reading takes. */
#pragma once

#include "step/groups/stage_group.h"

bool tsim_reads_over_nics(const struct tsim_step_plan *plan);

/* Adds a stream for every member of a stage group that takes batches, after those of all stage groups. */
void tsim_input_reads_add(struct tsim_arena *arena, struct tsim_stage_group *group);
