/* stand_ins.h - private to sim/step: which replicas along the data axis are simulated, and for how many others each
 * stands.
 *
 * If ranks are folded (folding.h), replicas differ by what their messages meet, and by the speed of their accelerators:
 * some are degraded or stragglers. A replica is as slow, stage by stage, as the slowest of each stage's tensor x
 * context ranks. With experts, replicas that exchange tokens with each other are one replica along the data axis here.
 * Replicas that are equally slow on all stages, and meet the same, do the same at the same time, and the first of them
 * is simulated. They meet the others in collectives that all replicas join, which begin with the last one and flow as
 * the narrowest link lets them, however many join. */
#pragma once

#include "cluster/placement.h"

struct tsim_stand_ins {
    int32_t n;             /* replicas that are simulated */
    const int32_t *at;     /* their places on the data axis, ascending */
    const int32_t *counts; /* for how many replicas each of them stands, itself included */
    const int32_t *of;     /* by place on the axis: which of them stands for it */
    const int32_t *links;  /* on a torus, by link: for how many it stands; else NULL (tsim_links_that_stand) */
};

/* Returns whether accelerators are degraded, or may be stragglers. */
bool tsim_has_slow_accelerators(const struct tsim_scenario *scenario);

/* Returns the factor by which kernels take longer on the slowest rank of the stage group. */
double tsim_slowdown_of(const struct tsim_scenario *scenario, const struct tsim_placement *placement,
                        struct tsim_coordinates at);

/* These find the replicas that stand for others, in the arena: by their speed; none, so that every replica is
 * simulated; by their kinds (0, 1, ... in the order of the first of each kind), given n of them by place. */
struct tsim_stand_ins tsim_stand_ins_by_speed(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                              const struct tsim_placement *placement);
struct tsim_stand_ins tsim_stand_ins_all(struct tsim_arena *arena, const struct tsim_placement *placement);
struct tsim_stand_ins tsim_stand_ins_of(struct tsim_arena *arena, const int32_t *kinds, int32_t n);
