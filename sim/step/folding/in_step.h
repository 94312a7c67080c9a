/* in_step.h - private to sim/step: groups of experts that nothing tells apart stay in step, also message by message.
 *
 * n groups exchange tokens over one link of capacity C, and compute for a while in between. They share the link evenly.
 * So the one that comes first, alone on the link for d seconds, is C d bytes ahead, and the other n - 1 need (n - 1) d
 * longer than it: each exchange makes a lead of d into one of (n - 1) d. (In general the i-th gap between n arrivals
 * becomes (n - i) / i of it.) To be in step is thus an unstable equilibrium. Without variation n groups wait for n
 * times the bytes of one, as one would calculate by hand; a difference of a nanosecond ends in groups that compute
 * while others send, and then the link is busy from the first exchange to the last.
 *
 * Variability, stragglers, degraded accelerators and background traffic tell groups apart, in every fidelity. The order
 * in which the messages of a ring end does not: the channels of one collective end at every place of a node in turn,
 * and a pattern has one lane for all of them (network/pattern.h). So the exchanges of all groups are one activity if
 * all have the same rate when they begin together, and that rate is less than their own. */
#pragma once

#include "step/groups/stage_group.h"

/* Sets keeps_step of each stage group, once all groups have their members and the links that these cross. */
void tsim_find_groups_in_step(struct tsim_stage_group *stage_groups, int32_t n_stage_groups);
