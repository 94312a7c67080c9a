/* Laws of a step that is fed (step/input/step_input.h), over random plans and pipelines of input: terms add up, none is
 * negative; no step is shorter than without waiting, than what its slowest rank waits beside the rest, or than the
 * storage, the cores or the links need; more of everything never makes it longer; the same twice. Prints its seed. */
#include "step/input/step_input.h"
#include "support/check_main.h"
#include "support/random_plan.h"

#include <math.h>
#include <stdio.h>

#define TOLERANCE 0.01 /* buffers that empty for hundreds of steps; waits that move collectives apart */
#define SEED 20261122u

struct fed {
    struct tsim_step_simulation step;
    struct tsim_input_pipeline_flow flow;
    struct tsim_input_pipeline pipeline;
    double stall_s; /* the most of a stage group */
};

static struct fed simulate(struct tsim_arena *arena, const struct tsim_scenario *sc) {
    struct fed fed;
    struct tsim_diags diags;
    struct tsim_pass_costs costs;
    tsim_diags_init(&diags);
    const struct tsim_cluster *cluster = tsim_cluster_build(arena, sc);
    const struct tsim_placement *placement = tsim_placement_build(arena, sc);
    tsim_pass_costs_build(arena, sc, cluster, placement, &costs);
    enum tsim_status status =
        tsim_step_simulate_with_input(arena, sc, cluster, placement, &costs, NULL, &fed.step, &fed.flow, &diags);
    tsim_diags_print(&diags, stderr);
    ck_assert_int_eq(status, TSIM_OK);
    tsim_diags_release(&diags);
    if (sc->data.has)
        tsim_input_pipeline_of(sc, placement, &fed.pipeline);
    fed.stall_s = 0;
    for (int32_t g = 0; g < fed.step.n_stage_groups; g++)
        fed.stall_s = fmax(fed.stall_s, fed.step.stage_groups[g].terms.data_stall_s);
    return fed;
}

static void check_terms(const struct tsim_step_simulation *s) {
    for (int32_t g = 0; g < s->n_stage_groups; g++) {
        const struct tsim_step_terms *t = &s->stage_groups[g].terms;
        const double parts[] = {t->compute_s,         t->recompute_s,        t->bubble_s,       t->data_stall_s,
                                t->exposed_tensor_s,  t->exposed_pipeline_s, t->exposed_data_s, t->optimizer_s,
                                t->exposed_context_s, t->exposed_expert_s};
        double sum = 0;
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            ck_assert_double_ge(parts[i], -1e-9 * s->time_s);
            sum += parts[i];
        }
        ck_assert_double_eq_tol(sum, s->time_s, 1e-9 * s->time_s + 1e-12 * (double)s->events); /* each event's tick */
    }
}

/* Draws between a hundredth and ten times what the step needs. */
static double around(struct random_source *random, double value) {
    return value * pow(10, -2 + 3 * random_real(random));
}

static void random_input(struct random_source *random, struct tsim_scenario *sc, double step_s,
                         struct tsim_storage *storage) {
    double samples = (double)sc->training.global_batch_size, bytes = 1e5;
    *storage = (struct tsim_storage){.bandwidth_bytes_per_s = samples * bytes / around(random, step_s),
                                     .random_access_frac = 1,
                                     .latency_s = around(random, step_s) / samples * 0.1,
                                     .is_shared = random_between(random, 0, 1)};
    sc->data =
        (struct tsim_data_spec){.has = true,
                                .storage = storage,
                                .access = random_between(random, 0, 1) ? TSIM_ACCESS_RANDOM : TSIM_ACCESS_SEQUENTIAL,
                                .sample_bytes = bytes,
                                .transfer_bytes = bytes,
                                .workers = 1 + random_between(random, 0, 11),
                                .prefetch = random_between(random, 0, 3)};
    sc->data.sample_cpu_s = around(random, step_s) * (double)sc->data.workers / samples;
}

static void check_case(struct tsim_arena *arena, struct random_source *random, int number) {
    struct example e;
    struct tsim_storage storage;
    random_plan(random, &e);
    struct fed alone = simulate(arena, &e.scenario);
    random_input(random, &e.scenario, alone.step.time_s, &storage);
    struct fed fed = simulate(arena, &e.scenario), again = simulate(arena, &e.scenario);
    double step_s = fed.step.time_s, batches = (double)fed.pipeline.n_consumers * fed.step.stage_groups[0].n_inputs;
    double storage_s = batches * fed.pipeline.read_bytes / fed.pipeline.storage_bytes_per_s;
    double cores = fed.pipeline.cores > 0 ? fmin(fed.pipeline.cores, fed.pipeline.workers) : fed.pipeline.workers;
    double cpu_s = batches * fed.pipeline.cpu_s / cores;
    check_terms(&fed.step);
    ck_assert_msg(step_s >= alone.step.time_s * (1 - TOLERANCE), "case %d: %g s fed, %g s alone", number, step_s,
                  alone.step.time_s);
    ck_assert_msg(step_s >= fmax(storage_s, cpu_s) * (1 - TOLERANCE), "case %d: %g s, storage %g s, cores %g s", number,
                  step_s, storage_s, cpu_s);
    ck_assert_double_le(step_s, (alone.step.time_s + fed.stall_s) * (1 + TOLERANCE));
    ck_assert(step_s == again.step.time_s && fed.step.events == again.step.events);
    storage.bandwidth_bytes_per_s *= 1e6;
    storage.latency_s = 0;
    e.scenario.data.sample_cpu_s = 0;
    e.scenario.data.prefetch += 2;
    struct fed ample = simulate(arena, &e.scenario);
    ck_assert_msg(ample.step.time_s <= alone.step.time_s * (1 + TOLERANCE), "case %d: %g s with ample data, %g s alone",
                  number, ample.step.time_s, alone.step.time_s);
}

TSIM_TEST(random_inputs) {
    struct random_source random = random_start(SEED);
    for (int i = 0; i < random_cases(120); i++) {
        struct tsim_arena arena;
        tsim_arena_init(&arena);
        check_case(&arena, &random, i);
        tsim_arena_release(&arena);
    }
}

TSIM_MAIN(60, NULL, NULL)
