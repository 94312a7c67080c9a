/* link_utilization.h - private to sim/step: the utilization of each sort of link. */
#pragma once

#include "step/groups/expansion.h"

/* Finds the utilization of links after the engine has run. step_links is NULL in a folded step, in which the members of
 * stage groups have links of their own. */
void tsim_link_utilization_find(struct tsim_arena *arena, const struct tsim_step_links *step_links,
                                const struct tsim_stage_group *stage_groups, int32_t n_stage_groups,
                                struct tsim_step_simulation *simulation);

/* Samples of links that several ranks share, over the time of a step. Traffic of passes must not be counted apart
 * (peak_demand.h), because meters do not count what is under way. Returns NULL if nobody listens, or if there are no
 * such links. */
struct tsim_link_samples;
struct tsim_link_samples *tsim_link_samples_new(struct tsim_arena *arena, const struct tsim_step_links *step_links,
                                                const struct tsim_step_sink *sink, double interval_s);
/* Says which link stands for each (alike_links.h). */
void tsim_link_samples_stand(struct tsim_link_samples *samples, const int32_t *stands_for);
/* Tells of the time since the last sample if it is over an interval. Call it between ticks. */
void tsim_link_samples_look(struct tsim_link_samples *samples);
/* Tells of the rest. */
void tsim_link_samples_end(struct tsim_link_samples *samples);
