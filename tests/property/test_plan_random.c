/* Laws of searches for plans. Bounds: over random plans and networks, no step is shorter than its bounds and none takes
 * less energy, and no split of the layers takes less time than the bound of any. Searches: over random small spaces,
 * with refinements that some software can run, what branch and bound finds (the best, their order, the front) is what
 * simulating every plan finds, with one thread and with three, for several objectives and under limits, among one
 * cluster or two; and of a cluster without a plan what is said of its nearest one is reached by none. Prints its seed
 * (another one: TSIM_SEED in the environment); TSIM_CASES says how many plans are drawn (30 for bounds, with operators
 * but each fifth; 50 for searches), and a tenth as many spaces. */
#include "run/run.h"
#include "study/search/plan.h"
#include "support/check_main.h"
#include "support/example.h"
#include "support/random_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_PLANS = 50, N_BOUNDS = 12 };
#define SEED 20261124u

/* Moves layers from part to part, and finds no split whose passes take less than the bound of any. */
static void check_splits(struct tsim_arena *arena, const struct example *e, const struct tsim_run_memo *memo,
                         double any_s, int number) {
    struct random_source random = {(uint64_t)number};
    struct tsim_scenario split = e->scenario;
    int32_t n = (int32_t)tsim_n_model_parts(&split.parallelism);
    int64_t *parts = TSIM_NEW_ARRAY(arena, (size_t)n, int64_t);
    memcpy(parts, split.parallelism.layers_per_chunk, (size_t)n * sizeof *parts);
    split.parallelism.layers_per_chunk = parts;
    split.parallelism.balances = false;
    for (int32_t i = 0; i < 2 * n; i++) {
        struct tsim_result cheap;
        int64_t *from = &parts[random_between(&random, 0, n - 1)], *to = &parts[random_between(&random, 0, n - 1)];
        int64_t moved = *from > 1;
        *from -= moved;
        *to += moved;
        tsim_train_bound(arena, &split, memo, TSIM_LEAST_PASSES, &cheap);
        ck_assert_double_le(any_s, cheap.step.terms.time_s * (1 + 1e-12));
    }
}

static void check_bound(struct tsim_arena *arena, const struct example *e, int number) {
    struct tsim_run_memo *memo = tsim_run_memo_new(arena);
    const struct tsim_run_options options = {.ignore_memory = true, .is_brief = true, .memo = memo};
    struct tsim_result any, cheap, near, run;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    tsim_train_bound(arena, &e->scenario, memo, TSIM_LEAST_ANY_SPLIT, &any);
    tsim_train_bound(arena, &e->scenario, memo, TSIM_LEAST_PASSES, &cheap);
    tsim_train_bound(arena, &e->scenario, memo, TSIM_LEAST_STEP, &near);
    ck_assert_int_eq(tsim_train_run(arena, &e->scenario, &options, &run, &diags), TSIM_OK);
    ck_assert(cheap.step.fits && near.step.fits);
    const struct tsim_parallelism_spec *p = &e->scenario.parallelism;
    ck_assert_msg(
        any.step.terms.time_s <= cheap.step.terms.time_s * (1 + 1e-12) && any.step.energy_j <= run.step.energy_j &&
            cheap.step.terms.time_s <= run.step.terms.time_s && near.step.terms.time_s <= run.step.terms.time_s &&
            cheap.step.energy_j <= run.step.energy_j && near.step.energy_j <= run.step.energy_j,
        "case %d: %.15g s, bounds %.15g, %.15g and %.15g; %.15g J, %.15g (tensor %d pipeline %d x %d context %d data "
        "%d zero %d %s async %d)",
        number, run.step.terms.time_s, any.step.terms.time_s, cheap.step.terms.time_s, near.step.terms.time_s,
        run.step.energy_j, near.step.energy_j, (int)p->tensor, (int)p->pipeline, (int)p->virtual_pipeline,
        (int)p->context, (int)p->data, p->zero, tsim_schedule_name(p->schedule), p->overlap.pipeline);
    tsim_diags_release(&diags);
    check_splits(arena, e, memo, any.step.terms.time_s, number);
}

TSIM_TEST(nothing_beats_its_bound) {
    struct random_source random = random_start(SEED);
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    for (int i = 0; i < random_cases(N_BOUNDS); i++) {
        struct example e;
        random_plan(&random, &e);
        e.accelerator.memory_bytes = 1e15;
        e.scenario.simulation.fold = i % 8 != 7;
        e.scenario.simulation.network = i % 8 == 7   ? TSIM_NETWORK_STEPS
                                        : i % 4 == 1 ? TSIM_NETWORK_IDEAL
                                                     : TSIM_NETWORK_FLUID;
        e.scenario.simulation.detail = i % 5 == 4 ? TSIM_DETAIL_PASSES : TSIM_DETAIL_OPERATORS;
        check_bound(&arena, &e, i);
        tsim_arena_reset(&arena);
    }
    tsim_arena_release(&arena);
}

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
    e->scenario.parallelism.overlap.tensor = random_between(random, 0, 1);
    e->scenario.parallelism.overlap.expert = random_between(random, 0, 1);
    e->scenario.parallelism.says_overlap_pipeline = e->scenario.parallelism.says_overlap_expert = true;
    e->model.layers = random_between(random, 0, 2) ? 8 : 7; /* seven split evenly over nothing but three (9 / 3) */
    e->accelerator.kernel_latency_s = 2e-6;
    e->accelerator.memory_bytes = 1e9 * (double)(2 + random_between(random, 0, 12));
    if (random_between(random, 0, 2) == 0)
        e->scenario.training.attention = TSIM_ATTENTION_FLASH; /* then there is no selective recomputation */
    e->scenario.training.length_kind = random_between(random, 0, 1) ? TSIM_LENGTH_STEPS : TSIM_LENGTH_NONE;
    e->scenario.training.length = 1000;
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
    ck_assert_msg(a->has_safe == b->has_safe && (!a->has_safe || a->safe.point.position == b->safe.point.position),
                  "space %d: the best that fits for sure", number);
    ck_assert_uint_eq(a->n_own, b->n_own);
    for (size_t i = 0; i < a->n_own; i++)
        ck_assert_int_eq(a->own[i].point.position, b->own[i].point.position);
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

static int64_t n_pruned, n_simulated, n_unbounded, n_missed, n_refined;

/* Puts three values of four on the axis, a different one missing each time, or the job's own. */
static void random_axis(struct random_source *random, int64_t first, int64_t values[4], struct tsim_plan_axis *axis) {
    int64_t missing = random_between(random, 0, 4);
    size_t n = 0;
    for (int64_t i = 0; i < 4; i++)
        if (i != missing)
            values[n++] = first == 0 ? i : INT64_C(1) << i;
    if (missing < 4)
        *axis = (struct tsim_plan_axis){values, n};
}

/* Draws a space with the job itself, or with it and the same job with twice the nodes and half the rent, or an unknown
 * rent. */
static void random_space(struct tsim_arena *arena, struct random_source *random, const struct example *e,
                         const struct tsim_plan_axis axes[TSIM_N_PLAN_KEYS], enum tsim_plan_extent extent,
                         struct tsim_plan_space *space) {
    struct tsim_plan_space second;
    struct tsim_scenario *other = TSIM_NEW(arena, struct tsim_scenario);
    tsim_plan_space_of(arena, &e->scenario, axes, extent, space);
    if (random_between(random, 0, 2) > 0)
        return;
    *other = e->scenario;
    other->cluster.nodes *= 2;
    other->n_accelerators *= 2;
    other->cost.rent_usd_per_s = random_between(random, 0, 2) == 0 ? 0 : e->scenario.cost.rent_usd_per_s / 2;
    tsim_plan_space_of(arena, other, axes, extent, &second);
    struct tsim_plan_candidate *both = TSIM_NEW_ARRAY(arena, 2, struct tsim_plan_candidate);
    both[0] = space->candidates[0];
    both[1] = second.candidates[0];
    both[1].first_position = both[0].n_points;
    *space =
        (struct tsim_plan_space){.candidates = both, .n_candidates = 2, .n_points = space->n_points + second.n_points};
}

/* Draws for some figures a limit that about half of the plans keep, or none. */
static size_t random_limits(struct random_source *random, struct tsim_limit limits[3]) {
    size_t n = 0;
    if (random_between(random, 0, 2) == 0)
        limits[n++] = (struct tsim_limit){TSIM_OUTCOME_STEP_TIME, 0.01 + 0.01 * (double)random_between(random, 0, 40)};
    if (random_between(random, 0, 2) == 0)
        limits[n++] = (struct tsim_limit){TSIM_OUTCOME_MEMORY_PEAK, 1e9 * (double)random_between(random, 1, 8)};
    if (random_between(random, 0, 3) == 0)
        limits[n++] = (struct tsim_limit){TSIM_OUTCOME_MFU, 0.05 * (double)random_between(random, 0, 12)};
    return n;
}

/* Expects that no plan of the candidate reaches a better value than the gap says. */
static void check_gap(struct tsim_arena *arena, const struct tsim_plan_gap *gap, int number) {
    struct tsim_plan_candidate alone = *gap->candidate;
    alone.first_position = 0;
    const struct tsim_plan_space space = {.candidates = &alone, .n_candidates = 1, .n_points = alone.n_points};
    struct tsim_plan_search search = {.space = &space, .n_threads = 1, .is_exhaustive = true};
    if (gap->lack == TSIM_PLAN_LACKS_FIGURE)
        search.ranking.objective = gap->figure;
    if (gap->lack != TSIM_PLAN_LACKS_LIMIT) {
        ck_assert_uint_eq(find(arena, &search).n_best, 0);
        return;
    }
    if (!gap->limit)
        return;
    search.ranking.objective = gap->limit->figure;
    struct tsim_plan_result all = find(arena, &search);
    bool is_more = tsim_outcome_spec(gap->limit->figure)->goal == TSIM_GOAL_MORE;
    double best = all.best[0].point.outcome.value[gap->limit->figure];
    ck_assert(all.n_best > 0);
    ck_assert_msg(is_more ? best <= gap->nearest * (1 + 1e-9) : best >= gap->nearest * (1 - 1e-9),
                  "space %d: the best has %.9g, said to be out of reach beyond %.9g", number, best, gap->nearest);
    ck_assert(is_more ? gap->nearest < gap->limit->value : gap->nearest > gap->limit->value);
    n_missed++;
}

/* Refinements that the software can run, around fewer plans. */
static void random_refinements(struct random_source *random, struct example *e,
                               struct tsim_plan_axis axes[TSIM_N_PLAN_KEYS]) {
    static const int64_t ONE[] = {1}, SOME[] = {1, 2}, SCHEDULES[] = {TSIM_SCHEDULE_1F1B, TSIM_SCHEDULE_INTERLEAVED},
                         ZB[] = {TSIM_SCHEDULE_ZB_H1};
    struct tsim_supports *s = &e->software.supports;
    s->splits = 0xffff;
    s->recompute = 1u << TSIM_RECOMPUTE_NONE | 1u << TSIM_RECOMPUTE_FULL;
    s->recompute |= random_between(random, 0, 3) == 0 ? 1u << TSIM_RECOMPUTE_EVERY : 0;
    s->recompute_parts = random_between(random, 0, 1) ? TSIM_RECOMPUTE_NORMS : TSIM_RECOMPUTE_FFN;
    s->offload = random_between(random, 0, 3) == 0;
    s->overlap = (struct tsim_overlap){.tensor = random_between(random, 0, 1), .expert = random_between(random, 0, 1)};
    if (random_between(random, 0, 1))
        s->splits &= ~(1u << TSIM_SPLIT_PIPELINE_INSIDE);
    if (random_between(random, 0, 1))
        s->splits &= ~(1u << TSIM_SPLIT_UNEVEN_STAGES | 1u << TSIM_SPLIT_EXPERT_TENSOR);
    e->node.host_memory_bytes_per_s = 200e9;
    axes[TSIM_PLAN_ZERO] = axes[TSIM_PLAN_SEQUENCE] = axes[TSIM_PLAN_CONTEXT] = (struct tsim_plan_axis){ONE, 1};
    axes[TSIM_PLAN_VIRTUAL] = axes[TSIM_PLAN_TENSOR] = (struct tsim_plan_axis){SOME, 2};
    axes[TSIM_PLAN_SCHEDULE] =
        random_between(random, 0, 4) ? (struct tsim_plan_axis){SCHEDULES, 2} : (struct tsim_plan_axis){ZB, 1};
}

static void check_space(struct tsim_arena *arena, struct random_source *random, struct example *e, int number) {
    static const enum tsim_outcome_figure OBJECTIVES[] = {TSIM_OUTCOME_TOKENS_PER_S,  TSIM_OUTCOME_STEP_ENERGY,
                                                          TSIM_OUTCOME_TRILLION_RENT, TSIM_OUTCOME_MEAN_POWER,
                                                          TSIM_OUTCOME_MFU,           TSIM_OUTCOME_MEMORY_PEAK};
    int64_t zero[4], virtual[4], small[4];
    struct tsim_plan_axis axes[TSIM_N_PLAN_KEYS] = {{NULL, 0}};
    struct tsim_limit limits[3];
    struct tsim_plan_space space;
    random_axis(random, 0, zero, &axes[TSIM_PLAN_ZERO]);
    random_axis(random, 1, virtual, &axes[TSIM_PLAN_VIRTUAL]);
    random_axis(random, 1, small, &axes[TSIM_PLAN_MICRO_BATCH]);
    bool is_refined = number % 2 == 1;
    if (is_refined)
        random_refinements(random, e, axes);
    random_space(arena, random, e, axes, is_refined ? TSIM_PLAN_FINE : TSIM_PLAN_COARSE, &space);
    struct tsim_plan_search search = {.space = &space, .n_threads = 1, .is_exhaustive = true};
    search.ranking.objective = OBJECTIVES[random_between(random, 0, 5)];
    search.ranking.limits = limits;
    search.ranking.n_limits = random_limits(random, limits);
    struct tsim_plan_result all = find(arena, &search);
    search.is_exhaustive = false;
    struct tsim_plan_result one = find(arena, &search);
    search.n_threads = 3;
    struct tsim_plan_result three = find(arena, &search);
    ck_assert_int_eq(all.n_pruned, 0);
    check_same(&all, &one, number);
    check_same(&one, &three, number);
    ck_assert_int_eq(one.n_evaluated, three.n_evaluated);
    ck_assert_uint_eq(one.n_gaps + one.n_own, space.n_candidates);
    for (size_t i = 0; i < one.n_gaps; i++)
        check_gap(arena, &one.gaps[i], number);
    n_pruned += one.n_pruned;
    n_simulated += one.n_evaluated;
    n_unbounded += all.n_best > 0;
    for (size_t i = 0; i < all.n_best; i++)
        n_refined += tsim_plan_is_fine(all.best[i].candidate, &all.best[i].choice);
}

/* Some spaces have no refinement among their best plans, and some no limit that nothing keeps. More of them are drawn
 * until each has been seen, and half have a plan. */
static bool are_all_seen(int64_t n_spaces) {
    return n_refined > 0 && n_pruned > 0 && n_simulated > 0 && n_unbounded > n_spaces / 2 && n_missed > 0;
}

TSIM_TEST(search_finds_what_all_simulations_find) {
    const int n_spaces = (int)random_cases(N_PLANS) / 10;
    struct random_source random = random_start(SEED);
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    for (int i = 0; i < n_spaces || (i < 4 * n_spaces && !are_all_seen(i)); i++) {
        struct example e;
        random_job(&random, &e);
        check_space(&arena, &random, &e, i);
        tsim_arena_reset(&arena);
    }
    printf("%lld simulated, %lld pruned, %lld limits that nothing keeps, %lld refined among the best\n",
           (long long)n_simulated, (long long)n_pruned, (long long)n_missed, (long long)n_refined);
    ck_assert(n_spaces == 0 || are_all_seen(0));
    tsim_arena_release(&arena);
}

static double step_of(struct tsim_arena *arena, const struct tsim_scenario *planned, enum tsim_detail detail) {
    const struct tsim_run_options options = {.ignore_memory = true, .is_brief = true};
    struct tsim_scenario scenario = *planned;
    struct tsim_result run;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    scenario.simulation.detail = detail;
    ck_assert_int_eq(tsim_train_run(arena, &scenario, &options, &run, &diags), TSIM_OK);
    tsim_diags_release(&diags);
    return run.step.terms.time_s;
}

/* The plans that are found have the steps of their operators, to the last digit; some are others pass by pass. */
TSIM_TEST(plans_are_played_by_operators) {
    static const int64_t TENSOR[] = {4}, PIPELINE[] = {2};
    const struct tsim_plan_axis axes[TSIM_N_PLAN_KEYS] = {
        [TSIM_PLAN_TENSOR] = {TENSOR, 1}, [TSIM_PLAN_PIPELINE] = {PIPELINE, 1}};
    struct tsim_arena arena;
    struct example e;
    tsim_arena_init(&arena);
    example_init(&e);
    e.scenario.cluster.nodes = 8; /* tensor groups go over two, and their passes meet messages and gradients */
    e.scenario.cluster.accelerators_per_node = 2;
    e.scenario.training.global_batch_size = 32;
    e.scenario.parallelism.overlap.pipeline = e.scenario.parallelism.says_overlap_pipeline = true;
    e.scenario.parallelism.overlap.gradients = e.scenario.parallelism.overlap.parameters = true;
    e.accelerator.memory_bytes = 1e15;
    example_finish(&e);
    e.scenario.parallelism.zero_group_ranks = 0;
    ck_assert_int_eq(e.scenario.simulation.detail, TSIM_DETAIL_AUTO);
    struct tsim_plan_space space;
    tsim_plan_space_of(&arena, &e.scenario, axes, TSIM_PLAN_COARSE, &space);
    struct tsim_plan_search search = {.space = &space, .n_threads = 1};
    search.ranking.objective = TSIM_OUTCOME_STEP_TIME;
    struct tsim_plan_result found = find(&arena, &search);
    int n_apart = 0;
    ck_assert_uint_gt(found.n_best, 4);
    for (size_t i = 0; i < found.n_best; i++) {
        const struct tsim_scenario *planned;
        double found_s = found.best[i].point.outcome.value[TSIM_OUTCOME_STEP_TIME];
        ck_assert(tsim_scenario_replan(&arena, &e.scenario, &found.best[i].choice, &planned));
        ck_assert_double_eq(found_s, step_of(&arena, planned, TSIM_DETAIL_OPERATORS));
        n_apart += fabs(step_of(&arena, planned, TSIM_DETAIL_PASSES) / found_s - 1) > 1e-6;
    }
    ck_assert_int_gt(n_apart, 0);
    tsim_arena_release(&arena);
}

/* Seventy-two candidates, more than the search remembers the costs of at a time: each has the best plan, and
 * its figures, that it has alone. Every sixth is asked for alone; with TSIM_CASES each. */
TSIM_TEST(many_candidates_are_each_their_own) {
    enum { N = 72 };
    static const int64_t ONE[] = {1}, TWO[] = {1, 2};
    struct tsim_plan_axis axes[TSIM_N_PLAN_KEYS] = {{NULL, 0}};
    struct tsim_plan_candidate candidates[N];
    struct tsim_arena arena;
    struct example e;
    tsim_arena_init(&arena);
    example_init(&e);
    example_finish(&e);
    e.scenario.parallelism.zero_group_ranks = 0;
    axes[TSIM_PLAN_VIRTUAL] = (struct tsim_plan_axis){ONE, 1};
    axes[TSIM_PLAN_ZERO] = (struct tsim_plan_axis){ONE, 1};
    axes[TSIM_PLAN_MICRO_BATCH] = (struct tsim_plan_axis){TWO, 2};
    struct tsim_plan_space space = {.candidates = candidates, .n_candidates = N};
    for (int i = 0; i < N; i++) {
        struct tsim_plan_space own;
        struct tsim_scenario *job = TSIM_NEW(&arena, struct tsim_scenario);
        *job = e.scenario;
        job->training.sequence_length = 1024 + 8 * i;
        tsim_plan_space_of(&arena, job, axes, TSIM_PLAN_COARSE, &own);
        candidates[i] = own.candidates[0];
        candidates[i].first_position = space.n_points;
        space.n_points += own.n_points;
    }
    struct tsim_plan_search search = {.space = &space, .n_threads = 2};
    search.ranking.objective = TSIM_OUTCOME_STEP_TIME;
    struct tsim_plan_result together = find(&arena, &search);
    ck_assert_uint_eq(together.n_own, N);
    for (int i = 0; i < N; i += getenv("TSIM_CASES") ? 1 : 6) {
        struct tsim_plan_candidate alone = candidates[i];
        alone.first_position = 0;
        const struct tsim_plan_space its = {.candidates = &alone, .n_candidates = 1, .n_points = alone.n_points};
        search = (struct tsim_plan_search){.space = &its, .n_threads = 1, .ranking = search.ranking};
        struct tsim_plan_result result = find(&arena, &search);
        ck_assert_ptr_eq(tsim_plan_candidate_at(&space, together.own[i].point.position), &candidates[i]);
        ck_assert_int_eq(together.own[i].point.position, candidates[i].first_position + result.own[0].point.position);
        ck_assert_double_eq(together.own[i].point.outcome.value[TSIM_OUTCOME_STEP_TIME],
                            result.own[0].point.outcome.value[TSIM_OUTCOME_STEP_TIME]);
    }
    tsim_arena_release(&arena);
}

TSIM_MAIN(NO_LIMIT_S, NULL, NULL)
