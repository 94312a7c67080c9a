#include "run/evaluation.h"

#include <math.h>

/* Beyond so many micro-batches each further one adds the same: a pipeline that only goes forward is in its rhythm. */
enum { MOST_SIMULATED = 256 };

struct pause {
    double time_s, energy_j;
};

static enum tsim_status simulate(struct tsim_arena *arena, struct tsim_scenario *sc, const struct tsim_cluster *cluster,
                                 const struct tsim_placement *placement, const struct tsim_pass_costs *costs,
                                 int64_t microbatches, struct pause *pause, struct tsim_diags *diags) {
    struct tsim_step_simulation simulation;
    struct tsim_input_pipeline_flow flow;
    sc->n_microbatches = microbatches;
    TSIM_TRY(tsim_step_simulate_with_input(arena, sc, cluster, placement, costs, NULL, &simulation, &flow, diags));
    *pause = (struct pause){.time_s = simulation.time_s};
    for (int32_t i = 0; i < simulation.n_stage_groups; i++)
        pause->energy_j += tsim_stage_group_energy_j(cluster, &simulation.stage_groups[i], simulation.time_s) *
                           (double)(sc->n_accelerators / simulation.n_stage_groups);
    return TSIM_OK;
}

static double samples_of(const struct tsim_scenario *sc) {
    const struct tsim_evaluation_spec *e = &sc->training.evaluation;
    return e->samples > 0 ? e->samples : e->steps * (double)sc->training.global_batch_size;
}

/* Counts micro-batches of each replica: enough for all samples, and as many as the schedule takes. */
static int64_t microbatches_of(const struct tsim_scenario *sc) {
    double each = (double)(sc->training.micro_batch_size * sc->parallelism.data);
    int64_t n = (int64_t)ceil(samples_of(sc) / each);
    while (!tsim_microbatches_work(sc, n))
        n++;
    return n;
}

static int64_t simulated_microbatches(const struct tsim_scenario *sc, int64_t n) {
    int64_t most = n < MOST_SIMULATED ? n : MOST_SIMULATED;
    while (most < n && !tsim_microbatches_work(sc, most))
        most++;
    return most;
}

enum tsim_status tsim_evaluation_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                          const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                                          const struct tsim_pass_costs *costs, struct tsim_evaluation *evaluation,
                                          struct tsim_diags *diags) {
    struct tsim_scenario forward = *scenario;
    if (!(samples_of(scenario) > 0))
        return TSIM_OK;
    forward.is_forward_only = true;
    struct pause whole, half;
    int64_t n = microbatches_of(scenario), most = simulated_microbatches(scenario, n);
    TSIM_TRY(simulate(arena, &forward, cluster, placement, costs, most, &whole, diags));
    if (most < n) {
        int64_t fewer = simulated_microbatches(scenario, most / 2);
        TSIM_TRY(simulate(arena, &forward, cluster, placement, costs, fewer, &half, diags));
        double more = (double)(n - most) / (double)(most - fewer);
        whole.time_s += more * (whole.time_s - half.time_s);
        whole.energy_j += more * (whole.energy_j - half.energy_j);
    }
    *evaluation = (struct tsim_evaluation){
        .has = true,
        .time_s = whole.time_s,
        .energy_j = whole.energy_j,
        .samples = (double)n * (double)(scenario->training.micro_batch_size * scenario->parallelism.data)};
    return TSIM_OK;
}
