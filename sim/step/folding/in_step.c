#include "step/folding/in_step.h"

#include "step/folding/stand_ins.h"

#include <math.h>

/* A margin above the rounding of sums of demands in another order. */
#define SAME_FRAC 1e-9

/* Returns the most that an exchange of the stage asks of a NIC, in bytes/s. */
static double nic_rate_of(const struct tsim_pass_programs *programs) {
    double most = 0;
    for (int i = 0; i < TSIM_N_LAYER_WAYS * TSIM_N_PARTS; i++) {
        const struct tsim_pass_program *program = &programs->of[i / TSIM_N_PARTS][i % TSIM_N_PARTS];
        for (int32_t at = 0; at < program->n; at++)
            if (program->at[at].axis == TSIM_AXIS_EXPERT)
                most = fmax(most, program->at[at].nic_bytes_per_s);
    }
    return most;
}

/* Adds the share of each link's capacity that the stage group's exchanges ask for; or, with `loads` full, returns the
 * largest of them. */
static double cross(const struct tsim_stage_group *group, double rate, double *loads, bool adds) {
    double most = 0;
    for (int32_t m = 0; m < group->n_members; m++) {
        const struct tsim_crossed_links *crossed = &group->members[m].crossed[TSIM_CROSSED_PASS + TSIM_AXIS_EXPERT];
        for (int32_t k = 0; k < crossed->n; k++) {
            const struct tsim_demand *link = &crossed->items[k].link;
            if (!crossed->items[k].is_between_nodes || !(link->per_unit > 0))
                continue;
            if (adds)
                loads[link->resource] += link->per_unit * rate / tsim_engine_capacity(group->engine, link->resource);
            most = fmax(most, loads[link->resource]);
        }
    }
    return most;
}

static double cross_all(const struct tsim_stage_group *groups, int32_t n, int32_t stages, double rate, double *loads,
                        bool adds) {
    double most = 0;
    for (int32_t i = 0; i < n; i++)
        most = fmax(most, cross(&groups[i * stages], rate, loads, adds));
    return most;
}

/* `groups` begins with the stage's stage group of the first replica. */
static bool are_in_step(const struct tsim_stage_group *groups, const struct tsim_step_plan *plan, double *loads) {
    int32_t stages = plan->schedule.stages, n_each = plan->n_exchanging;
    double rate = nic_rate_of(plan->stages[groups[0].stage].programs),
           most = cross_all(groups, plan->n_replicas, stages, rate, loads, true);
    bool in_step = most > 1 + SAME_FRAC;
    for (int32_t i = 0; i < plan->n_replicas && in_step; i += n_each)
        in_step = cross_all(&groups[i * stages], n_each, stages, rate, loads, false) >= most * (1 - SAME_FRAC);
    return in_step;
}

void tsim_find_groups_in_step(struct tsim_stage_group *groups, int32_t n_groups) {
    const struct tsim_step_plan *plan = groups[0].plan;
    if (plan->n_exchanging <= 1 || plan->n_replicas <= plan->n_exchanging || plan->noise_deviation_frac > 0 ||
        tsim_has_slow_accelerators(plan->scenario) || plan->scenario->cluster.n_background > 0)
        return;
    int32_t stages = plan->schedule.stages;
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    for (int32_t s = 0; s < stages; s++) {
        double *loads = TSIM_NEW_ARRAY(&arena, (size_t)tsim_engine_n_resources(groups[0].engine), double);
        bool in_step = are_in_step(&groups[s], plan, loads);
        for (int32_t i = s; i < n_groups; i += stages)
            groups[i].keeps_step = in_step;
    }
    tsim_arena_release(&arena);
}
