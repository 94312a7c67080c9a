#include "step/groups/noise.h"

#include "base/normal.h"
#include "base/random.h"

#include <math.h>

#define MOST_FASTER_FRAC 0.5
/* The names of random streams: of ranks, and of stage groups. */
enum { STREAM_RANKS, STREAM_STAGE_GROUPS };

void tsim_noise_plan(const struct tsim_scenario *sc, struct tsim_step_plan *plan) {
    double g = (double)(sc->parallelism.tensor * sc->parallelism.context), cv = sc->variability.compute_cv;
    if (!(cv > 0))
        return;
    plan->noise_mean_frac = cv * tsim_expected_maximum(g);
    plan->noise_deviation_frac = cv * tsim_deviation_of_maximum(g);
}

double tsim_noise_s(const struct tsim_stage_group *group, int32_t item, int32_t segment,
                    const struct tsim_pass_cost *cost, double kernels_s) {
    const struct tsim_step_plan *plan = group->plan;
    if (!(plan->noise_deviation_frac > 0))
        return 0;
    uint64_t name = STREAM_STAGE_GROUPS | (uint64_t)group->stage << 2 | (uint64_t)group->replica << 24;
    struct tsim_random random;
    tsim_random_init(&random, (uint64_t)plan->scenario->simulation.seed, (uint64_t)plan->scenario->variability.step,
                     name);
    random.counter = (uint64_t)item << 32 | (uint64_t)segment << 4;
    double noise_s = plan->noise_mean_frac * cost->stretches_s +
                     plan->noise_deviation_frac * sqrt(cost->squares_s2) * tsim_random_normal(&random);
    return fmax(noise_s, -MOST_FASTER_FRAC * kernels_s);
}

bool tsim_is_straggler(const struct tsim_scenario *sc, int32_t rank) {
    struct tsim_random random;
    tsim_random_init(&random, (uint64_t)sc->simulation.seed, STREAM_RANKS, (uint64_t)rank);
    return tsim_random_uniform(&random) <= sc->variability.straggler_frac;
}
