/* Laws of searches for plans. Bounds: over random plans and networks, no step is shorter than its bounds and none takes
 * less energy. Searches: over random small spaces, what branch and bound finds (the best, their order, the front) is
 * what simulating every plan finds, with one thread and with three, for several objectives and under limits. Prints its
 * seed. */
#include "study/plan.h"
#include "support/check_main.h"
#include "support/example.h"
#include "support/random_plan.h"
#include "training/run.h"

#include <math.h>
#include <stdio.h>

enum { N_PLANS = 400, N_SPACES = 24 };
#define SEED 20261122u

static void check_bound(struct tsim_arena *arena, const struct example *e, int number) {
    struct tsim_pass_memo *memo = tsim_pass_memo_new(arena);
    const struct tsim_run_options options = {.ignore_memory = true, .is_brief = true, .memo = memo};
    struct tsim_result cheap, near, run;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    tsim_train_bound(arena, &e->scenario, memo, false, &cheap);
    tsim_train_bound(arena, &e->scenario, memo, true, &near);
    ck_assert_int_eq(tsim_train_run(arena, &e->scenario, &options, &run, &diags), TSIM_OK);
    ck_assert(cheap.fits && near.fits);
    const struct tsim_parallelism_spec *p = &e->scenario.parallelism;
    ck_assert_msg(
        cheap.step.time_s <= run.step.time_s && near.step.time_s <= run.step.time_s &&
            cheap.step_energy_j <= run.step_energy_j && near.step_energy_j <= run.step_energy_j,
        "case %d: %.15g s, bounds %.15g and %.15g; %.15g J, %.15g (tensor %d pipeline %d x %d context %d data "
        "%d zero %d %s async %d)",
        number, run.step.time_s, cheap.step.time_s, near.step.time_s, run.step_energy_j, near.step_energy_j,
        (int)p->tensor, (int)p->pipeline, (int)p->virtual_pipeline, (int)p->context, (int)p->data, p->zero,
        tsim_schedule_name(p->schedule), p->overlap.pipeline);
    tsim_diags_release(&diags);
}

START_TEST(nothing_beats_its_bound) {
    struct random_source random = {SEED};
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    printf("seed %u\n", SEED);
    for (int i = 0; i < N_PLANS; i++) {
        struct example e;
        random_plan(&random, &e);
        e.accelerator.memory_bytes = 1e15;
        e.scenario.simulation.fold = i % 8 != 7;
        e.scenario.simulation.network = i % 8 == 7   ? TSIM_NETWORK_STEPS
                                        : i % 4 == 1 ? TSIM_NETWORK_IDEAL
                                                     : TSIM_NETWORK_FLUID;
        check_bound(&arena, &e, i);
        tsim_arena_reset(&arena);
    }
    tsim_arena_release(&arena);
}
END_TEST

/* A job on 8 or 16 accelerators; memory so small that some plans do not fit. */
static void random_job(struct random_source *random, struct example *e) {
    example_init(e);
    e->scenario.cluster.nodes = 1 + random_between(random, 0, 1);
    e->scenario.cluster.accelerators_per_node = random_between(random, 0, 1) ? 8 : 4;
    e->scenario.training.global_batch_size = INT64_C(8) << random_between(random, 0, 1);
    e->scenario.training.sequence_length = random_between(random, 0, 1) ? 8192 : 1024;
    e->scenario.parallelism.overlap.pipeline = random_between(random, 0, 1);
    e->scenario.parallelism.overlap.gradients = random_between(random, 0, 1);
    e->scenario.parallelism.overlap.parameters = random_between(random, 0, 1);
    e->scenario.parallelism.says_overlap_pipeline = true;
    e->accelerator.kernel_latency_s = 2e-6;
    e->accelerator.memory_bytes = 1e9 * (double)(2 + random_between(random, 0, 12));
    if (random_between(random, 0, 1))
        e->model.experts = (struct tsim_experts){.count = 4, .active = 2, .ffn_hidden = 2048, .every = 1};
    e->scenario.cost.rent_usd_per_s = 1e-3;
    example_finish(e);
    e->scenario.parallelism.zero_group_ranks = 0; /* as asked: all */
}

static void check_same(const struct tsim_plan_result *a, const struct tsim_plan_result *b, int number) {
    ck_assert_msg(a->n_best == b->n_best && a->n_front == b->n_front, "space %d: best %zu, %zu; front %zu, %zu", number,
                  a->n_best, b->n_best, a->n_front, b->n_front);
    for (size_t i = 0; i < a->n_best; i++)
        ck_assert_msg(a->best[i].point.position == b->best[i].point.position, "space %d best %zu: %s %s", number, i,
                      a->best[i].set_json, b->best[i].set_json);
    ck_assert(a->n_own == b->n_own && (a->n_own == 0 || a->own[0].point.position == b->own[0].point.position));
    for (size_t i = 0; i < a->n_front; i++)
        ck_assert_msg(a->front[i].point.position == b->front[i].point.position, "space %d front %zu: %s %s", number, i,
                      a->front[i].set_json, b->front[i].set_json);
}

static struct tsim_plan_result find(struct tsim_arena *arena, const struct tsim_plan_search *search) {
    struct tsim_plan_result result;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_plan_run(arena, search, NULL, NULL, &result, &diags), TSIM_OK);
    tsim_diags_release(&diags);
    ck_assert_int_eq(result.n_plans, result.n_invalid + result.n_too_large + result.n_evaluated + result.n_pruned);
    return result;
}

static int64_t n_pruned, n_simulated, n_unbounded;

static void check_space(struct tsim_arena *arena, struct random_source *random, const struct example *e, int number) {
    static const enum tsim_outcome_figure OBJECTIVES[] = {TSIM_OUTCOME_TOKENS_PER_S, TSIM_OUTCOME_STEP_ENERGY,
                                                          TSIM_OUTCOME_TRILLION_RENT, TSIM_OUTCOME_MEAN_POWER};
    static const int64_t ZERO[] = {0, 1, 3}, SMALL[] = {1, 2};
    struct tsim_plan_axis axes[TSIM_N_PLAN_KEYS] = {
        [TSIM_PLAN_ZERO] = {ZERO, 3}, [TSIM_PLAN_VIRTUAL] = {SMALL, 2}, [TSIM_PLAN_MICRO_BATCH] = {SMALL, 2}};
    struct tsim_limit limit = {TSIM_OUTCOME_STEP_TIME, 0.05 + 0.01 * (double)random_between(random, 0, 40)};
    struct tsim_plan_space space;
    tsim_plan_space_of(arena, &e->scenario, axes, &space);
    struct tsim_plan_search search = {.space = &space, .n_threads = 1, .is_exhaustive = true};
    search.ranking.objective = OBJECTIVES[random_between(random, 0, 3)];
    search.ranking.limits = &limit;
    search.ranking.n_limits = (size_t)random_between(random, 0, 1);
    struct tsim_plan_result all = find(arena, &search);
    search.is_exhaustive = false;
    struct tsim_plan_result one = find(arena, &search);
    search.n_threads = 3;
    struct tsim_plan_result three = find(arena, &search);
    ck_assert_int_eq(all.n_pruned, 0);
    check_same(&all, &one, number);
    check_same(&one, &three, number);
    ck_assert_int_eq(one.n_evaluated, three.n_evaluated);
    n_pruned += one.n_pruned;
    n_simulated += one.n_evaluated;
    n_unbounded += all.n_best > 0;
}

START_TEST(search_finds_what_all_simulations_find) {
    struct random_source random = {SEED};
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    for (int i = 0; i < N_SPACES; i++) {
        struct example e;
        random_job(&random, &e);
        check_space(&arena, &random, &e, i);
        tsim_arena_reset(&arena);
    }
    printf("%lld simulated, %lld pruned\n", (long long)n_simulated, (long long)n_pruned);
    ck_assert(n_pruned > 0 && n_simulated > 0 && n_unbounded > N_SPACES / 2);
    tsim_arena_release(&arena);
}
END_TEST

static Suite *plan_random_suite(void) {
    Suite *suite = suite_create("plan_random");
    TCase *tcase = tcase_create("plan_random");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, nothing_beats_its_bound);
    tcase_add_test(tcase, search_finds_what_all_simulations_find);
    suite_add_tcase(suite, tcase);
    return suite;
}

TSIM_TEST_MAIN(plan_random_suite)
