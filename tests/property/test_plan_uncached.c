/* `tsim plan` with its bounds, its memory of passes and its repeated micro-batches, against reading every
 * plan of the space as a scenario with --set and simulating it whole: alone, nothing remembered, every micro-batch gone
 * through (somebody listens). The five best must be the same, to the last bit of their step times. */
#include "config/catalogue_load.h"
#include "run/run.h"
#include "step/program.h"
#include "study/search/plan.h"
#include "support/check_main.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_WORDS = 8, MOST_OVERRIDES = 24, MOST_PLANS = 4096 };

struct small_space {
    const char *scenario, *objective;
    struct tsim_override set[4];
    const char *vary[MOST_WORDS];
    enum tsim_plan_extent extent;
    bool is_long; /* with TSIM_CASES alone */
};

static const struct small_space SPACES[] = {
    {.scenario = "korthikanti-22b-selective",
     .objective = "tokens_per_s",
     .vary = {"parallelism.tensor=2,4,8", "parallelism.virtual_pipeline=1,2,6", "training.micro_batch_size=1,2,4",
              "parallelism.zero=0,1", "training.recompute=selective,full"}},
    {.scenario = "llama70b",
     .objective = "step_energy_j",
     .is_long = true,
     .set = {{"cluster.nodes", "8"}, {"training.global_batch_size", "64"}, {"model.layers", "20"}},
     .vary = {"parallelism.tensor=4,8", "parallelism.pipeline=1,2,4", "parallelism.virtual_pipeline=1,5",
              "parallelism.context=1,2", "training.micro_batch_size=1,2", "parallelism.zero=1,3"}},
    {.scenario = "moe-mixtral-8x7b-h100-64",
     .objective = "tokens_per_s",
     .set = {{"training.global_batch_size", "128"}},
     .vary = {"parallelism.tensor=1,2,4", "parallelism.pipeline=1,2,4", "parallelism.expert=1,4,8",
              "parallelism.virtual_pipeline=1,8", "training.micro_batch_size=1", "parallelism.zero=1"}},
    {.scenario = "llama70b",
     .objective = "cost",
     .is_long = true,
     .set = {{"cluster.nodes", "16"},
             {"training.global_batch_size", "128"},
             {"training.tokens", "20 G"},
             {"reliability", "{node_mtbf: 300 h, repair: 12 h, spares: optimal, replications: 4}"}},
     .vary = {"parallelism.tensor=8", "parallelism.pipeline=1,2,4", "parallelism.virtual_pipeline=1,4",
              "training.micro_batch_size=1,2", "parallelism.zero=1,2", "reliability.checkpoint.mode=sync,async"}},
    {.scenario = "llama70b",
     .objective = "tokens_per_s",
     .set = {{"cluster", "{node: tpu-v4-host, nodes: 16, fabric: tpu-v4-torus}"},
             {"model", "llama3-8b"},
             {"software", "maxtext-2024"},
             {"training.global_batch_size", "64"}},
     .vary = {"parallelism.tensor=1,2,4", "parallelism.pipeline=1,2", "parallelism.virtual_pipeline=1,2",
              "training.micro_batch_size=1", "parallelism.zero=1,3", "training.recompute=none,full"}},
    {.scenario = "korthikanti-22b-selective",
     .objective = "tokens_per_s",
     .set = {{"software", "megatron-core-2025"}, {"simulation.detail", "passes"}},
     .vary = {"parallelism.tensor=2", "parallelism.pipeline=2", "parallelism.virtual_pipeline=1,3",
              "training.micro_batch_size=1,4", "parallelism.zero=1", "parallelism.sequence=true",
              "parallelism.context=1"},
     .extent = TSIM_PLAN_FINE},
};
enum { N_SPACES = sizeof SPACES / sizeof SPACES[0] };

static void ignore_begin(void *context, const struct tsim_step_outline *outline) {
    (void)context, (void)outline;
}

static void ignore_task(void *context, const struct tsim_step_task *task) {
    (void)context, (void)task;
}

/* Lists the scenario's own changes, then the plan's. */
static size_t overrides_of(struct tsim_arena *arena, const struct small_space *small, const char *set_json,
                           struct tsim_override *overrides) {
    size_t n = 0;
    const char *path;
    json_t *set = json_loads(set_json, 0, NULL), *value;
    ck_assert_ptr_nonnull(set);
    for (; n < 4 && small->set[n].path; n++)
        overrides[n] = small->set[n];
    json_object_foreach(set, path, value) {
        char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
        ck_assert_uint_lt(n, MOST_OVERRIDES);
        overrides[n++] = (struct tsim_override){tsim_arena_strdup(arena, path),
                                                tsim_arena_strdup(arena, text ? text : json_string_value(value))};
        free(text);
    }
    json_decref(set);
    return n;
}

/* Runs the point; false: it is not valid, or too large. */
static bool simulate(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                     const struct small_space *small, const char *set_json, struct tsim_outcome *outcome) {
    const struct tsim_step_sink sink = {.begin = ignore_begin, .take = ignore_task};
    const struct tsim_run_options options = {.sink = &sink};
    struct tsim_override overrides[MOST_OVERRIDES];
    const struct tsim_scenario *scenario;
    struct tsim_prediction prediction = {0};
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    size_t n = overrides_of(arena, small, set_json, overrides);
    bool is_good = tsim_scenario_load_from(arena, source, overrides, n, &scenario, &diags) == TSIM_OK;
    if (is_good) {
        ck_assert_int_eq(tsim_train_run(arena, scenario, &options, &prediction.result, &diags), TSIM_OK);
        is_good = prediction.result.step.fits;
    }
    if (is_good)
        tsim_outcome_of(&prediction, outcome);
    tsim_diags_release(&diags);
    return is_good;
}

/* The best of each plan and its refinements are kept here. */
struct points {
    struct tsim_point at[MOST_PLANS];
    size_t n;
};

static void offer(const struct tsim_ranking *ranking, const struct tsim_plan_space *space,
                  const struct tsim_point *point, struct points *points) {
    const struct tsim_plan_candidate *candidate = tsim_plan_candidate_at(space, point->position);
    struct tsim_plan_choice own, other;
    tsim_plan_choice_at(candidate, point->position, &own);
    own = tsim_plan_coarse(candidate, &own);
    size_t i = 0;
    for (; i < points->n; i++) {
        const struct tsim_plan_candidate *others = tsim_plan_candidate_at(space, points->at[i].position);
        tsim_plan_choice_at(others, points->at[i].position, &other);
        other = tsim_plan_coarse(others, &other);
        if (others == candidate && memcmp(&own, &other, sizeof own) == 0)
            break;
    }
    ck_assert_uint_lt(i, MOST_PLANS);
    if (i == points->n || tsim_ranking_is_better(ranking, point, &points->at[i]))
        points->at[i] = *point;
    points->n += i == points->n;
}

static void find_all(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                     const struct small_space *small, const struct tsim_plan_space *space,
                     const struct tsim_ranking *ranking, struct tsim_best *best, int *n_simulated) {
    static struct points points;
    points.n = 0;
    for (int64_t position = 0; position < space->n_points; position++) {
        const struct tsim_plan_candidate *candidate = tsim_plan_candidate_at(space, position);
        struct tsim_plan_choice choice;
        struct tsim_point point = {.position = position, .status = TSIM_POINT_OK};
        if (!tsim_plan_choice_at(candidate, position, &choice) ||
            !simulate(arena, source, small, tsim_plan_set_json(arena, candidate, &choice), &point.outcome))
            continue;
        (*n_simulated)++;
        if (tsim_ranking_admits(ranking, &point))
            offer(ranking, space, &point, &points);
    }
    for (size_t i = 0; i < points.n; i++)
        tsim_best_offer(best, ranking, &points.at[i]);
}

static void check_space(const struct small_space *small) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_scenario_source source;
    struct tsim_space axes;
    struct tsim_plan_space space;
    struct tsim_plan_result found;
    struct tsim_best best = {.n = 0};
    size_t n_set = 0, n_vary = 0;
    int n_simulated = 0;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    for (; n_set < 4 && small->set[n_set].path; n_set++)
        ;
    for (; n_vary < MOST_WORDS && small->vary[n_vary]; n_vary++)
        ;
    const struct tsim_space_words words = {.vary = small->vary, .n_vary = n_vary};
    const char *file = tsim_catalogue_file(&arena, TSIM_CATALOGUE_SCENARIOS, small->scenario);
    struct tsim_plan_search search = {.space = &space, .n_threads = 1};
    ck_assert_int_eq(tsim_scenario_open(&arena, file, &source, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_space_read(&arena, NULL, &words, &axes, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_ranking_read(&arena, NULL, small->objective, &search.ranking, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_plan_space_read(&arena, &source, small->set, n_set, &axes, small->extent, &space, &diags),
                     TSIM_OK);
    ck_assert_int_eq(tsim_plan_run(&arena, &search, NULL, NULL, &found, &diags), TSIM_OK);
    find_all(&arena, &source, small, &space, &search.ranking, &best, &n_simulated);
    printf("%s: %d simulated, %d by the search\n", small->scenario, n_simulated, (int)found.n_evaluated);
    ck_assert_uint_eq(found.n_best, best.n);
    ck_assert_uint_gt(best.n, 1);
    for (size_t i = 0; i < best.n; i++) {
        ck_assert_int_eq(found.best[i].point.position, best.points[i].position);
        ck_assert_double_eq(found.best[i].point.outcome.value[TSIM_OUTCOME_STEP_TIME],
                            best.points[i].outcome.value[TSIM_OUTCOME_STEP_TIME]);
    }
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
}

TSIM_TEST_LOOP(caches_change_nothing, 0, N_SPACES) {
    if (!SPACES[_i].is_long || getenv("TSIM_CASES"))
        check_space(&SPACES[_i]);
}

TSIM_MAIN(60, NULL, NULL)
