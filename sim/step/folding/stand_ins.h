/* stand_ins.h - private to sim/step: which replicas along the data axis are simulated, and for how many others each stands.
 *
 * Where ranks are folded (folding.h) replicas differ by the speed of their accelerators alone: by those that are degraded
 * or stragglers. A replica is as slow, stage by stage, as the slowest of each stage's tensor x context ranks; with experts, replicas
 * that exchange tokens with each other are one of the replicas along the data axis here. Those that are equally slow on all
 * stages do the same at the same time, and the first of them is simulated. They meet the others in collectives that all
 * join, which begin with the last one and flow as the narrowest link lets them: it makes no difference how many join. */
#ifndef TSIM_STEP_STAND_INS_H
#define TSIM_STEP_STAND_INS_H

#include "cluster/placement.h"

struct tsim_stand_ins {
    int32_t n;             /* that are simulated: ... */
    const int32_t *at;     /* ... where on the data axis, ascending, ... */
    const int32_t *counts; /* ... and for how many, itself included */
    const int32_t *of;     /* by place on the axis: which of them stands for it */
};

/* Are accelerators degraded, or may some be stragglers? */
bool tsim_has_slow_accelerators(const struct tsim_scenario *scenario);

/* Returns by how much kernels take longer on the slowest rank of the stage group. */
double tsim_slowdown_of(const struct tsim_scenario *scenario, const struct tsim_placement *placement,
                        struct tsim_coordinates at);

/* Finds the replicas that stand for others, in the arena. With `all_differ`, every replica is simulated. */
struct tsim_stand_ins tsim_stand_ins_find(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                          const struct tsim_placement *placement, bool all_differ);

#endif
