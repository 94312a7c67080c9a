/* Noise and stragglers against order statistics: what a step waits for is the slowest of those that it joins. */
#include "base/normal.h"
#include "run/run.h"
#include "step/account/peak_demand.h"
#include "support/check_main.h"
#include "support/example.h"

#include <math.h>

enum { N_STEPS = 400 };
static struct example e;
static struct tsim_arena arena;
static struct tsim_result result;

static void run(void) {
    struct tsim_diags diags;
    const struct tsim_run_options options = {.is_brief = false};
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_train_run(&arena, &e.scenario, &options, &result, &diags), TSIM_OK);
    tsim_diags_release(&diags);
}

/* `n` accelerators side by side, one micro-batch each, whose gradients are summed after the pass. */
static void replicas(int64_t n, double cv) {
    example_init(&e);
    e.scenario.cluster.accelerators_per_node = n;
    e.scenario.training.global_batch_size = n;
    e.scenario.parallelism.overlap.gradients = false;
    e.scenario.simulation.steps = N_STEPS;
    example_finish(&e);
    e.scenario.simulation.fold = false;
    e.scenario.variability.compute_cv = cv;
}

static double deviation_s(void) {
    double sum = 0;
    for (int32_t i = 0; i < result.step.n_steps; i++)
        sum += pow(result.step.steps[i].time_s - result.step.variation.mean_s, 2);
    return sqrt(sum / (result.step.n_steps - 1));
}

/* The value for two is 1 - 1/pi, those for 8 and 100 stand in tables of the extreme value of normal samples (Harter
 * 1961; Tippett 1925). */
TSIM_TEST(deviation_of_the_maximum) {
    ck_assert_double_eq_tol(tsim_deviation_of_maximum(1), 1, 1e-12);
    ck_assert_double_eq_tol(tsim_deviation_of_maximum(2), sqrt(1 - 1 / 3.14159265), 2e-3);
    ck_assert_double_eq_tol(tsim_deviation_of_maximum(8), 0.6107, 3e-3);
    ck_assert_double_eq_tol(tsim_deviation_of_maximum(100), 0.4294, 3e-3);
}

/* Alone: the mean stays, within what 400 steps can tell; 8 that wait for one another take E(8) = 1.42 deviations longer
 * and vary by 0.61 of one. */
TSIM_TEST(slowest_of_eight) {
    replicas(1, 0.1);
    run();
    double deviation_alone_s = deviation_s();
    ck_assert(result.step.variation.has);
    ck_assert_int_eq(result.step.variation.n_steps, N_STEPS);
    ck_assert_double_gt(deviation_alone_s, 0);
    ck_assert_double_eq_tol(result.step.variation.mean_s, result.step.variation.without_s,
                            4 * deviation_alone_s / sqrt(N_STEPS));
    replicas(8, 0.1);
    run();
    double longer_s = result.step.variation.mean_s - result.step.variation.without_s;
    ck_assert_double_eq_tol(longer_s, tsim_expected_maximum(8) * deviation_alone_s, 0.15 * longer_s);
    ck_assert_double_eq_tol(deviation_s(), 0.61 * deviation_alone_s, 0.15 * deviation_alone_s);
    ck_assert_double_lt(result.step.variation.p50_s, result.step.variation.p99_s);
}

/* Twice the coefficient, twice the deviation: the numbers drawn are the same. */
TSIM_TEST(in_proportion) {
    replicas(1, 0.02);
    run();
    double less_s = deviation_s();
    replicas(1, 0.04);
    run();
    ck_assert_double_eq_tol(deviation_s(), 2 * less_s, 1e-3 * less_s);
}

/* The result's own step is one of those simulated, and the nearest to their mean. */
TSIM_TEST(typical_step) {
    replicas(4, 0.1);
    run();
    double nearest_s = (double)INFINITY;
    bool is_one = false;
    for (int32_t i = 0; i < result.step.n_steps; i++) {
        nearest_s = fmin(nearest_s, fabs(result.step.steps[i].time_s - result.step.variation.mean_s));
        is_one |= result.step.steps[i].time_s == result.step.terms.time_s;
    }
    ck_assert(is_one);
    ck_assert_double_eq_tol(fabs(result.step.terms.time_s - result.step.variation.mean_s), nearest_s, 1e-15);
}

/* Noise adds computation, not traffic: exposed communication stays within what the reduction waits for the
 * slowest. */
TSIM_TEST(terms) {
    replicas(1, 0);
    e.scenario.simulation.steps = 1;
    run();
    double compute_s = result.step.terms.compute_s, other_s = result.step.terms.time_s - compute_s;
    replicas(1, 0.1);
    run();
    const struct tsim_step_terms *t = &result.step.terms;
    ck_assert_double_eq_tol(t->time_s, t->compute_s + other_s, 1e-7 * t->time_s); /* operators take whole picoseconds */
    ck_assert_double_eq_tol(t->compute_s + t->recompute_s + t->bubble_s + t->communication_exposed_s + t->optimizer_s,
                            t->time_s, 1e-8 * t->time_s);
    ck_assert_double_ne(t->compute_s, compute_s);
}

/* Segments of a pass, between which gradients are reduced, have kernels that are not exactly their share of the pass: what chance
 * adds is told by the kernels, and the terms add up. With and without operators. */
TSIM_TEST(terms_of_segments) {
    for (int detail = TSIM_DETAIL_OPERATORS; detail <= TSIM_DETAIL_PASSES; detail++) {
        replicas(8, 0.1);
        e.scenario.parallelism.overlap.gradients = true;
        e.scenario.parallelism.tensor = 4;
        e.scenario.simulation.steps = 4;
        e.scenario.simulation.detail = (enum tsim_detail)detail;
        example_finish(&e);
        run();
        const struct tsim_step_terms *t = &result.step.terms;
        ck_assert_double_eq_tol(t->compute_s + t->recompute_s + t->bubble_s + t->communication_exposed_s +
                                    t->optimizer_s,
                                t->time_s, 1e-7 * t->time_s);
    }
}

/* All kernels of all accelerators take 1.25 times as long; a fifth of 1,000 are slow, by four deviations at most. */
TSIM_TEST(stragglers) {
    replicas(8, 0);
    run();
    double compute_s = result.step.terms.compute_s;
    e.scenario.variability.straggler_frac = 1;
    e.scenario.variability.straggler_slowdown = 1.25;
    run();
    ck_assert_int_eq(result.step.variation.n_stragglers, 8);
    ck_assert_double_eq_tol(result.step.terms.compute_s, 1.25 * compute_s, 1e-6 * compute_s);
    ck_assert_double_eq(result.step.variation.p50_s, result.step.variation.p99_s);
    replicas(8, 0);
    e.scenario.cluster.nodes = 125;
    e.scenario.training.global_batch_size = 1000;
    e.scenario.simulation.steps = 1;
    example_finish(&e);
    e.scenario.simulation.fold = false;
    e.scenario.variability.straggler_frac = 0.2;
    e.scenario.variability.straggler_slowdown = 1.25;
    run();
    ck_assert_double_eq_tol((double)result.step.variation.n_stragglers, 200, 4 * sqrt(1000 * 0.2 * 0.8));
}

/* One slow accelerator holds up all of eight replicas whose gradients are summed: the step has two values, and 0.98^8 =
 * 85.1 % of all draws have the shorter one, whatever this seed drew. */
TSIM_TEST(draws_of_stragglers) {
    replicas(8, 0);
    e.scenario.simulation.steps = 1;
    e.scenario.variability.straggler_frac = 1;
    e.scenario.variability.straggler_slowdown = 1.25;
    run();
    double slow_s = result.step.terms.time_s, without_s = result.step.variation.without_s, chance = 1 - pow(0.98, 8);
    ck_assert_double_eq_tol(result.step.variation.draws.p10_s, slow_s, 1e-9 * slow_s);
    e.scenario.variability.straggler_frac = 0.02;
    for (int64_t seed = 1; seed <= 3; seed++) {
        e.scenario.simulation.seed = seed;
        run();
        const struct tsim_straggler_draws *d = &result.step.variation.draws;
        ck_assert(d->has);
        ck_assert_int_eq(d->n, TSIM_MOST_STRAGGLER_DRAWS);
        ck_assert_double_eq_tol(d->expected, 0.16, 1e-12);
        ck_assert_double_eq_tol(d->chance_frac, chance, 1e-12);
        ck_assert_double_eq_tol(d->p10_s, without_s, 1e-9 * slow_s);
        ck_assert_double_eq_tol(d->p50_s, without_s, 1e-9 * slow_s);
        ck_assert_double_eq_tol(d->p90_s, slow_s, 1e-9 * slow_s);
        ck_assert_double_eq_tol(d->mean_s, without_s + chance * (slow_s - without_s), 1e-9 * slow_s);
        ck_assert_double_eq_tol(d->own_s, result.step.terms.time_s, 1e-9 * slow_s);
        ck_assert_double_eq_tol(result.step.terms.time_s, result.step.variation.n_stragglers > 0 ? slow_s : without_s,
                                1e-9 * slow_s);
    }
}

TSIM_TEST(seeds) {
    replicas(2, 0.1);
    run();
    double first_s = result.step.variation.mean_s;
    run();
    ck_assert_double_eq(result.step.variation.mean_s, first_s);
    e.scenario.simulation.seed = 2;
    run();
    ck_assert_double_ne(result.step.variation.mean_s, first_s);
}

static struct tsim_stage_group_peaks most_used(double noise_deviation_frac) {
    static const struct tsim_cluster cluster = {.nic_bytes_per_s = 100, .scale_up_bytes_per_s = 100};
    static struct tsim_chunk_plan chunk = {.ways = {{.whole = {.time_s = 2, .nic_bytes = 100}}}};
    static struct tsim_stage_plan stage = {.chunks = &chunk};
    const struct tsim_step_plan plan = {.cluster = &cluster,
                                        .stages = &stage,
                                        .schedule = {.stages = 1, .chunks = 1},
                                        .noise_deviation_frac = noise_deviation_frac};
    struct tsim_stage_group_peaks most;
    tsim_stage_group_peaks_find(&plan, 0, &most);
    return most;
}

/* Half of the adapter's rate, on average; a pass that is shorter by chance asks for more, also than there is. */
TSIM_TEST(short_passes_are_not_spare) {
    struct tsim_stage_group_peaks on_average = most_used(0), by_chance = most_used(0.1);
    ck_assert_double_eq(on_average.nic_out.units_per_s, 50);
    ck_assert(tsim_never_binds(50, on_average.nic_out));
    ck_assert(!tsim_never_binds(49, on_average.nic_out));
    ck_assert(!tsim_never_binds(1e6, by_chance.nic_out));
    ck_assert(tsim_never_binds(100, by_chance.scale_up_out));
}

static void set_up(void) {
    tsim_arena_init(&arena);
}
static void tear_down(void) {
    tsim_arena_release(&arena);
}

TSIM_MAIN(60, set_up, tear_down)
