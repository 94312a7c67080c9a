#include "training/balance.h"

#include "training/pass.h"
#include "workload/memory.h"
#include "workload/model.h"
#include "workload/schedule.h"

#include <math.h>
#include <string.h>

/* What does not fit counts so many times as long as it takes: it is taken only where nothing fits, and then the fastest
 * of it. */
#define DOES_NOT_FIT_FACTOR 1e12

struct balance {
    struct tsim_scenario *sc; /* its layers_per_chunk are `parts` */
    struct tsim_arena *arena;
    struct tsim_pass_costs costs;
    struct tsim_schedule_shape shape;
    int64_t *parts;
    int32_t n_parts;
    double capacity_bytes;
    bool are_alike; /* all layers: then a stage costs what its number and the number of its layers say */
    double *known;  /* [n_parts][layers + 1], 0: not yet */
};

static double part_s(const struct tsim_scenario *sc, const struct tsim_pass_costs *costs, int32_t stage,
                     int32_t chunk) {
    double with_experts = (double)tsim_chunk_expert_layers(sc, stage, chunk);
    struct tsim_pass_parts parts = {.embedding = tsim_chunk_has_embedding(sc, stage, chunk),
                                    .layers = (double)tsim_chunk_layers(sc, stage, chunk) - with_experts,
                                    .expert_layers = with_experts,
                                    .head = tsim_chunk_has_head(sc, stage, chunk)};
    bool splits = tsim_schedule_splits_backward(sc->parallelism.schedule);
    double sum_s = 0;
    for (int kind = 0; kind < TSIM_N_PASS_KINDS; kind++) {
        bool is_whole = kind == TSIM_PASS_BACKWARD;
        struct tsim_pass_cost cost;
        if (kind != TSIM_PASS_FORWARD && is_whole == splits)
            continue;
        tsim_pass_sum(costs, (enum tsim_pass_kind)kind, &parts, &cost);
        sum_s += cost.time_s;
    }
    return sum_s;
}

double tsim_balance_stage_s(const struct tsim_scenario *scenario, const struct tsim_pass_costs *costs, int32_t stage) {
    int32_t chunks = tsim_scenario_schedule(scenario).chunks;
    double sum_s = 0;
    for (int32_t c = 0; c < chunks; c++)
        sum_s += part_s(scenario, costs, stage, c);
    return sum_s;
}

static bool stage_fits(const struct balance *b, int32_t stage) {
    struct tsim_stage_memory memory;
    tsim_stage_memory(b->sc, stage, &memory);
    return memory.total_bytes <= b->capacity_bytes;
}

/* ---- one part per stage ---- */

/* Of stage k with layers first .. last - 1; infinite where a stage between the ends would have none. What does not fit
 * costs so much more that it is taken only when nothing fits. */
static double stage_cost(struct balance *b, int32_t k, int64_t first, int64_t last) {
    double *known = b->are_alike ? &b->known[(int64_t)k * (b->sc->model->layers + 1) + last - first] : NULL;
    if (last == first && k > 0 && k < b->n_parts - 1)
        return HUGE_VAL;
    if (known && *known > 0)
        return *known;
    memset(b->parts, 0, (size_t)b->n_parts * sizeof *b->parts);
    b->parts[0] = first;
    b->parts[k] = last - first; /* the first stage begins at 0 */
    double time_s = tsim_balance_stage_s(b->sc, &b->costs, k);
    if (!stage_fits(b, k))
        time_s *= DOES_NOT_FIT_FACTOR;
    if (known)
        *known = time_s;
    return time_s;
}

/* All sizes from 0 to `most`, those near `even` first: of equal splits the first is kept. */
static int64_t nth_size(int64_t even, int64_t most, int64_t n) {
    int64_t below = even, above = most - even, both = below < above ? below : above;
    if (n <= 2 * both)
        return n % 2 == 1 ? even + (n + 1) / 2 : even - n / 2;
    return below > above ? even - (n - above) : even + (n - below);
}

/* Times that rounding alone tells apart are equal: else the split would depend on the unit of time. */
static bool is_less(double a_s, double b_s) {
    return a_s < b_s * (1 - 1e-9);
}

static void partition(struct balance *b) {
    int32_t p = b->n_parts;
    int64_t n = b->sc->model->layers, even = n / p;
    size_t width = (size_t)n + 1;
    double *best = TSIM_NEW_ARRAY(b->arena, (size_t)(p + 1) * width, double);
    int64_t *taken = TSIM_NEW_ARRAY(b->arena, (size_t)(p + 1) * width, int64_t);
    for (size_t i = 0; i < width; i++)
        best[i] = i == 0 ? 0 : HUGE_VAL;
    for (int32_t k = 1; k <= p; k++)
        for (int64_t i = 0; i <= n; i++) {
            double *cell = &best[(size_t)k * width + (size_t)i];
            *cell = HUGE_VAL;
            for (int64_t tried = 0; tried <= i; tried++) {
                int64_t size = nth_size(even < i ? even : i, i, tried);
                double before = best[(size_t)(k - 1) * width + (size_t)(i - size)];
                if (!(before < *cell))
                    continue;
                double worst = fmax(before, stage_cost(b, k - 1, i - size, i));
                if (is_less(worst, *cell)) {
                    *cell = worst;
                    taken[(size_t)k * width + (size_t)i] = size;
                }
            }
        }
    int64_t left = n;
    for (int32_t k = p; k >= 1; k--) {
        b->parts[k - 1] = taken[(size_t)k * width + (size_t)left];
        left -= b->parts[k - 1];
    }
}

/* ---- several parts per stage ---- */

/* A stage's time, with what it counts not to fit. */
static double whole_cost(const struct balance *b, int32_t stage) {
    return tsim_balance_stage_s(b->sc, &b->costs, stage) * (stage_fits(b, stage) ? 1 : DOES_NOT_FIT_FACTOR);
}

static int32_t stage_of(const struct balance *b, int32_t part) {
    for (int32_t stage = 0; stage < b->shape.stages; stage++)
        for (int32_t c = 0; c < b->shape.chunks; c++)
            if (tsim_schedule_part(&b->shape, stage, c) == part)
                return stage;
    TSIM_BUG("no stage holds part %d", part);
}

static void find_costs(const struct balance *b, double *costs) {
    for (int32_t stage = 0; stage < b->shape.stages; stage++)
        costs[stage] = whole_cost(b, stage);
}

static int32_t slowest_stage(const struct balance *b, const double *costs) {
    int32_t slowest = 0;
    for (int32_t stage = 1; stage < b->shape.stages; stage++)
        slowest = is_less(costs[slowest], costs[stage]) ? stage : slowest;
    return slowest;
}

static void shift(struct balance *b, int32_t from, int32_t to) {
    b->parts[from]--;
    b->parts[to]++;
}

/* Takes a layer from the slowest stage where that makes the slower of the two stages fastest. */
static bool move_one(struct balance *b, double *costs) {
    int32_t slowest = slowest_stage(b, costs), best_from = -1, best_to = -1;
    double least = costs[slowest];
    for (int32_t c = 0; c < b->shape.chunks; c++) {
        int32_t from = tsim_schedule_part(&b->shape, slowest, c);
        if (b->parts[from] == 0 || (b->parts[from] == 1 && from > 0 && from < b->n_parts - 1))
            continue;
        for (int32_t to = 0; to < b->n_parts; to++) {
            int32_t stage = stage_of(b, to);
            if (stage == slowest)
                continue;
            shift(b, from, to);
            double then = fmax(whole_cost(b, slowest), whole_cost(b, stage));
            shift(b, to, from);
            if (is_less(then, least)) {
                least = then;
                best_from = from;
                best_to = to;
            }
        }
    }
    if (best_from < 0)
        return false;
    shift(b, best_from, best_to);
    find_costs(b, costs); /* of experts' layers others have moved too */
    return true;
}

static void move_layers(struct balance *b) {
    double *costs = TSIM_NEW_ARRAY(b->arena, (size_t)b->shape.stages, double);
    find_costs(b, costs);
    for (int64_t moves = 0; moves < b->sc->model->layers && move_one(b, costs); moves++) {
    }
}

const struct tsim_scenario *tsim_balance(struct tsim_arena *arena, const struct tsim_scenario *scenario) {
    if (!scenario->parallelism.balances)
        return scenario;
    struct balance b = {.arena = arena,
                        .sc = TSIM_NEW(arena, struct tsim_scenario),
                        .shape = tsim_scenario_schedule(scenario),
                        .n_parts = (int32_t)tsim_n_model_parts(&scenario->parallelism)};
    const struct tsim_cluster *cluster = tsim_cluster_build(arena, scenario);
    const struct tsim_placement *placement = tsim_placement_build(arena, scenario);
    *b.sc = *scenario;
    b.parts = TSIM_NEW_ARRAY(arena, (size_t)b.n_parts, int64_t);
    memcpy(b.parts, scenario->parallelism.layers_per_chunk, (size_t)b.n_parts * sizeof *b.parts);
    b.sc->parallelism.layers_per_chunk = b.parts;
    const struct tsim_accelerator *accelerator = cluster->accelerator;
    b.capacity_bytes = accelerator->memory_bytes - accelerator->usable_memory_reserve_bytes;
    tsim_pass_costs_build(scenario, cluster, placement, &b.costs);
    int64_t n = scenario->model->layers, with_experts = tsim_model_expert_layers(scenario->model, 0, n);
    b.are_alike = with_experts == 0 || with_experts == n;
    if (b.shape.chunks == 1) {
        b.known = TSIM_NEW_ARRAY(arena, (size_t)(b.n_parts * (n + 1)), double);
        partition(&b);
    } else {
        move_layers(&b);
    }
    return b.sc;
}
