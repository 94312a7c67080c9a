#include "step/balance.h"

#include "config/supports.h"
#include "model/model.h"
#include "partition/memory.h"
#include "partition/schedule.h"
#include "step/step_plan.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A stage that does not fit counts this many times its time. So it is taken only if nothing fits, and then the fastest
 * is taken. */
#define DOES_NOT_FIT_FACTOR 1e12

/* A part of the model. Its time follows from the layers that it holds and from the model's ends, if it holds one; its
 * memory from the number of layers of each kind. */
struct known_part {
    int64_t first, n;
    bool is_there, is_first, is_last;
    int32_t kinds; /* the number of the set of kinds that it holds; -1: too many sets to be told apart */
    double time_s;
};
/* The answer whether a stage with this many layers fits, given the kinds of layer for which that was last computed. */
struct known_size {
    bool is_there, is_too_large;
    struct tsim_parts layers, kept; /* kept: those that are not recomputed while others are */
};
struct known_stage {
    bool is_there, fits;
    int32_t stage;
    int32_t *kinds; /* of its parts, one for each chunk */
};
enum { MOST_KNOWN = 1024, MOST_KINDS = 256 };

struct balance {
    struct tsim_scenario *sc; /* its layers_per_chunk are `parts` */
    struct tsim_arena *arena;
    const struct tsim_pass_costs *costs;
    struct tsim_split_prices *prices; /* with one part per stage */
    struct tsim_schedule_shape shape;
    int64_t *parts;
    int32_t n_parts;
    double capacity_bytes;
    bool are_alike; /* all layers: a stage's cost then follows from its number and the number of its layers */
    /* With one part per stage: if layers are alike, stages between the ends share their times, and more layers take
     * more memory. Otherwise known_* are those of known_layers. */
    bool heeds_memory;
    /* If layers are alike: [first, between, last][layers + 1]; else [first, between, last][start][layers + 1]. */
    struct stage_work *known_works;
    struct known_size *known_sizes; /* [n_parts][layers + 1]; NULL if layers are alike */
    signed char *sizes_fit;         /* [n_parts][start][layers + 1]: 1 fits, -1 does not, 0: not known */
    /* If layers are not alike: each layer's start, and the number of starts. Two layers share a start if what follows the
     * later one, up to the end of the model, also follows the earlier one. */
    int32_t *starts, n_starts;
    int64_t *most_layers; /* if layers are alike: the most that are known to fit, by stage, */
    int64_t *too_many;    /* and the fewest that are known not to fit */
    /* Several parts, layers alike: time of a part's stage with a layer less, more; 0: not known. */
    double *fewer, *more;
    struct tsim_parts *before; /* layers not alike: the parts in the first layers, [layers + 1] */
    /* These are for several parts and layers that differ: */
    struct known_part *known;         /* the last MOST_KNOWN that were asked for, each in the place of its key */
    struct known_stage *known_stages; /* the same */
    struct tsim_parts *kinds;         /* the n_kinds sets that are told apart */
    int32_t n_kinds, *of_stage;       /* of_stage: one for each chunk */
    int32_t *stages;                  /* several parts: the stage of each part */
    int64_t *first;                   /* layers before each part */
};

static double passes_s(const struct tsim_scenario *sc, const struct tsim_pass_costs *costs,
                       const struct tsim_parts *parts, int64_t first_layer) {
    bool splits = tsim_schedule_splits_backward(sc->parallelism.schedule);
    double sum_s = 0;
    for (int kind = 0; kind < TSIM_N_PASS_KINDS; kind++) {
        bool is_whole = kind == TSIM_PASS_BACKWARD;
        struct tsim_pass_cost cost;
        if (kind != TSIM_PASS_FORWARD && is_whole == splits)
            continue;
        tsim_pass_sum(costs, sc, kind, parts, first_layer, &cost);
        sum_s += cost.time_s;
    }
    return sum_s;
}

double tsim_balance_stage_s(const struct tsim_scenario *scenario, const struct tsim_pass_costs *costs, int32_t stage) {
    int32_t chunks = tsim_scenario_schedule(scenario).chunks;
    double sum_s = 0;
    for (int32_t c = 0; c < chunks; c++) {
        struct tsim_parts parts = tsim_chunk_parts(scenario, stage, c);
        sum_s += passes_s(scenario, costs, &parts, tsim_chunk_first_layer(scenario, stage, c));
    }
    return sum_s;
}

/* ---- one part per stage: what a stage does in a step ---- */

/* The gathers before the first pass, and the reductions after the last one, may hide beside other stages' passes. If
 * stages work shifted against each other, a stage waits for its first micro-batch to come back; the forward passes of
 * others fill some of that. */
struct stage_work {
    double own_s; /* 0: not known */
    double gathered_s, released_s, forward_s;
};

struct tsim_split_prices {
    const struct tsim_scenario *scenario;
    int32_t n_stages;
    struct tsim_step_sketch *sketch;
    /* By the layers before a stage: forward and backward passes of the stages that hold them and the embedding. By the
     * layers before its end: how long a micro-batch is away in the stages behind it. */
    double *before_s, *after_s, *away_s;
};

static double time_s(const struct tsim_data_collective *collective) {
    return collective->cost.time_s + collective->kernel_s;
}

/* Returns the part of a collective in n buckets that one pass cannot hide: the last bucket waits for its end. */
static double beyond_s(double all_s, double n, double pass_s) {
    return fmax(all_s / n, all_s - (1 - 1 / n) * pass_s);
}

/* Returns what a fully sharded stage gathers and reduces for a micro-batch. */
static double layers_s(const struct tsim_step_plan *plan, const struct tsim_stage_plan *sp) {
    double sum_s = 0;
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        const struct tsim_layer_collectives *layer = &sp->layers[part];
        sum_s += sp->chunks[0].parts.times[part] *
                 (time_s(&layer->gather) + time_s(&layer->reduce) +
                  (plan->scenario->parallelism.reshard_after_forward ? time_s(&layer->regather) : 0));
    }
    return sum_s;
}

static struct stage_work stage_work(struct tsim_split_prices *prices, int32_t stage) {
    const struct tsim_stage_plan *sp;
    const struct tsim_step_plan *plan = tsim_step_sketch_stage(prices->sketch, stage, &sp);
    const struct tsim_chunk_plan *chunk = &sp->chunks[0];
    const struct tsim_direction_plan *ways = chunk->ways;
    const struct tsim_overlap *overlap = &plan->scenario->parallelism.overlap;
    double m = plan->schedule.microbatches, forward_s = ways[TSIM_PASS_FORWARD].whole.time_s;
    double backward_s = tsim_schedule_splits_backward(plan->schedule.schedule)
                            ? ways[TSIM_PASS_INPUT_GRADIENT].whole.time_s + ways[TSIM_PASS_WEIGHT_GRADIENT].whole.time_s
                            : ways[TSIM_PASS_BACKWARD].whole.time_s;
    double passes_s = m * (forward_s + backward_s);
    struct stage_work work = {.own_s = passes_s + sp->optimizer_s, .forward_s = forward_s};
    if (!plan->has_data_group)
        return work;
    if (plan->shards_fully) {
        double data_s = m * layers_s(plan, sp);
        bool is_beside = overlap->parameters && overlap->gradients;
        work.own_s = sp->optimizer_s + (is_beside ? fmax(passes_s, data_s) : passes_s + data_s);
        work.gathered_s = time_s(&sp->root_gather);
        work.released_s = time_s(&sp->root_reduce);
        return work;
    }
    double n = chunk->n_gathers, gather_s = plan->gathers ? n * time_s(&chunk->gather) : 0;
    if (plan->overlaps_gathers)
        work.gathered_s = beyond_s(gather_s, n, forward_s);
    else
        work.own_s += gather_s;
    n = chunk->n_reduces;
    double reduce_s = n * time_s(&chunk->reduce), later = plan->n_rounds - 1;
    work.released_s = plan->overlaps_reduces && !plan->waits_for_reductions
                          ? beyond_s(reduce_s, n, backward_s) + later * fmax(reduce_s - forward_s - backward_s, 0)
                          : (1 + later) * reduce_s;
    return work;
}

static double split_stage_s(const struct tsim_split_prices *prices, const struct stage_work *work, int32_t stage,
                            int64_t first, int64_t last) {
    double before_s = stage > 0 ? prices->before_s[first] : 0, after_s = stage > 0 ? prices->after_s[first] : 0;
    double away_s = stage < prices->n_stages - 1 ? prices->away_s[last] : 0;
    int32_t others =
        (prices->n_stages - 1 - stage) * (prices->scenario->parallelism.schedule == TSIM_SCHEDULE_ZB_H2 ? 2 : 1);
    double filled_s = fmin(others, (double)prices->scenario->n_microbatches - 1) * work->forward_s;
    return work->own_s + fmax(work->gathered_s - before_s, 0) + fmax(work->released_s - after_s, 0) +
           fmax(away_s - filled_s, 0);
}

static double part_s(const struct tsim_pass_costs *costs, enum tsim_part part, enum tsim_pass_kind kind) {
    return costs->parts[part]->ways[kind].time_s;
}

/* Finds how long a micro-batch is in the stages before each layer, and behind it. */
static void find_others(const struct tsim_scenario *sc, const struct tsim_pass_costs *costs,
                        struct tsim_split_prices *prices) {
    const struct tsim_model *model = sc->model;
    int64_t n = model->layers;
    bool has_ends = tsim_model_has_ends(model), is_shifted = tsim_schedule_splits_backward(sc->parallelism.schedule);
    if (is_shifted) {
        prices->away_s[n] = has_ends ? part_s(costs, TSIM_PART_HEAD, TSIM_PASS_FORWARD) +
                                           part_s(costs, TSIM_PART_HEAD, TSIM_PASS_INPUT_GRADIENT)
                                     : 0;
        for (int64_t i = n; i > 0; i--)
            prices->away_s[i - 1] = prices->away_s[i] +
                                    part_s(costs, tsim_model_layer(model, i - 1), TSIM_PASS_FORWARD) +
                                    part_s(costs, tsim_model_layer(model, i - 1), TSIM_PASS_INPUT_GRADIENT);
        return;
    }
    if (tsim_is_asynchronous(sc->parallelism.schedule))
        return;
    prices->before_s[0] = has_ends ? part_s(costs, TSIM_PART_EMBEDDING, TSIM_PASS_FORWARD) : 0;
    prices->after_s[0] = has_ends ? part_s(costs, TSIM_PART_EMBEDDING, TSIM_PASS_BACKWARD) : 0;
    for (int64_t i = 0; i < n; i++) {
        prices->before_s[i + 1] = prices->before_s[i] + part_s(costs, tsim_model_layer(model, i), TSIM_PASS_FORWARD);
        prices->after_s[i + 1] = prices->after_s[i] + part_s(costs, tsim_model_layer(model, i), TSIM_PASS_BACKWARD);
    }
}

struct tsim_split_prices *tsim_split_prices_new(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                                const struct tsim_cluster *cluster,
                                                const struct tsim_placement *placement,
                                                const struct tsim_pass_costs *costs) {
    size_t width = (size_t)sc->model->layers + 1;
    struct tsim_split_prices *prices = TSIM_NEW(arena, struct tsim_split_prices);
    double *others_s = TSIM_NEW_ARRAY(arena, 3 * width, double);
    *prices = (struct tsim_split_prices){.scenario = sc,
                                         .n_stages = (int32_t)sc->parallelism.pipeline,
                                         .sketch = tsim_step_sketch_new(arena, sc, cluster, placement, costs),
                                         .before_s = others_s,
                                         .after_s = others_s + width,
                                         .away_s = others_s + 2 * width};
    find_others(sc, costs, prices);
    return prices;
}

double tsim_split_stage_s(struct tsim_split_prices *prices, int32_t stage) {
    const struct stage_work work = stage_work(prices, stage);
    int64_t first = tsim_chunk_first_layer(prices->scenario, stage, 0);
    return split_stage_s(prices, &work, stage, first, first + tsim_chunk_layers(prices->scenario, stage, 0));
}

static bool stage_fits(const struct balance *b, int32_t stage) {
    struct tsim_stage_memory memory;
    tsim_stage_memory(b->sc, stage, &memory);
    return memory.total_bytes <= b->capacity_bytes;
}

static void count_layers(struct balance *b) {
    int64_t layers = b->sc->model->layers;
    b->before = TSIM_NEW_ARRAY(b->arena, (size_t)layers + 1, struct tsim_parts);
    for (int64_t i = 0; i < layers; i++) {
        b->before[i + 1] = b->before[i];
        b->before[i + 1].times[tsim_model_layer(b->sc->model, i)]++;
    }
}

static struct tsim_parts layers_between(const struct balance *b, int64_t first, int64_t last) {
    struct tsim_parts parts = b->before[last];
    for (int i = 0; i < TSIM_N_PARTS; i++)
        parts.times[i] -= b->before[first].times[i];
    return parts;
}

/* ---- one part per stage ---- */

/* Sets the split that gives stage k the layers first .. last - 1. */
static void place(struct balance *b, int32_t k, int64_t first, int64_t last) {
    memset(b->parts, 0, (size_t)b->n_parts * sizeof *b->parts);
    b->parts[0] = first;
    b->parts[k] = last - first; /* the first stage begins at 0 */
}

static void find_starts(struct balance *b) {
    const struct tsim_model *m = b->sc->model;
    enum tsim_part *kinds = TSIM_NEW_ARRAY(b->arena, (size_t)m->layers, enum tsim_part);
    int64_t *firsts = TSIM_NEW_ARRAY(b->arena, (size_t)m->layers + 1, int64_t); /* of each start */
    b->starts = TSIM_NEW_ARRAY(b->arena, (size_t)m->layers + 1, int32_t);
    for (int64_t i = 0; i < m->layers; i++)
        kinds[i] = tsim_model_layer(m, i);
    for (int64_t i = 0; i <= m->layers; i++) {
        int32_t start = 0;
        while (start < b->n_starts &&
               memcmp(&kinds[firsts[start]], &kinds[i], (size_t)(m->layers - i) * sizeof *kinds) != 0)
            start++;
        if (start == b->n_starts)
            firsts[b->n_starts++] = i;
        b->starts[i] = start;
    }
}

static bool alike_fit(struct balance *b, int32_t k, int64_t n) {
    if (n <= b->most_layers[k] || n >= b->too_many[k])
        return n <= b->most_layers[k];
    place(b, k, 0, n);
    bool fits = stage_fits(b, k);
    *(fits ? &b->most_layers[k] : &b->too_many[k]) = n;
    return fits;
}

/* Returns whether stage k with layers first .. last - 1 fits, which depends on their number and kinds. */
static bool size_fits(struct balance *b, int32_t k, int64_t first, int64_t last) {
    int64_t width = b->sc->model->layers + 1;
    struct known_size *known = &b->known_sizes[(int64_t)k * width + last - first];
    signed char *fits = &b->sizes_fit[((int64_t)k * b->n_starts + b->starts[first]) * width + last - first];
    if (*fits != 0)
        return *fits > 0;
    struct tsim_parts layers = layers_between(b, first, last), kept = tsim_kept_layers(b->sc, &layers, first);
    if (!known->is_there || memcmp(&known->layers, &layers, sizeof layers) != 0 ||
        memcmp(&known->kept, &kept, sizeof kept) != 0) {
        place(b, k, first, last);
        *known = (struct known_size){true, !stage_fits(b, k), layers, kept};
    }
    *fits = known->is_too_large ? -1 : 1;
    return !known->is_too_large;
}

static bool layers_fit(struct balance *b, int32_t k, int64_t first, int64_t last) {
    return b->are_alike ? alike_fit(b, k, last - first) : size_fits(b, k, first, last);
}

/* Returns the cost of stage k with layers first .. last - 1. Their order counts, because the host's launches follow it.
 * It is infinite if a stage between the ends would have none. A stage that does not fit costs so much more that it is
 * taken only when nothing fits. */
static double stage_cost(struct balance *b, int32_t k, int64_t first, int64_t last) {
    int64_t width = b->sc->model->layers + 1, row = k == 0 ? 0 : k < b->n_parts - 1 ? 1 : 2;
    if (last == first && k > 0 && k < b->n_parts - 1)
        return HUGE_VAL;
    int64_t start = b->are_alike ? 0 : b->starts[first], n_starts = b->are_alike ? 1 : b->n_starts;
    struct stage_work *known = &b->known_works[(row * n_starts + start) * width + last - first];
    if (!(known->own_s > 0)) {
        place(b, k, first, last);
        *known = stage_work(b->prices, k);
    }
    double cost_s = split_stage_s(b->prices, known, k, first, last);
    return b->heeds_memory && !layers_fit(b, k, first, last) ? DOES_NOT_FIT_FACTOR * cost_s : cost_s;
}

/* Returns whether a is less than b. Times that differ only by rounding are equal; else the split would depend on the
 * unit of time. */
static bool is_less(double a_s, double b_s) {
    return a_s < b_s * (1 - 1e-9);
}

static int64_t least_size(const struct balance *b, int32_t k) {
    return k > 0 && k < b->n_parts - 1;
}

/* Returns how far stage k gets within the time if it begins at layer `at` (`step` 1), or how far back if it ends there
 * (-1), leaving a layer for each stage between it and the last (the first). The more layers, the longer it takes. The
 * result is beyond the model if not even the fewest layers will do. */
static int64_t reach(struct balance *b, int32_t k, int64_t at, int64_t step, double most_s) {
    int64_t left = step > 0 ? b->n_parts - 2 - k : k - 1, room = step > 0 ? b->sc->model->layers - at : at;
    int64_t low = least_size(b, k) - 1, high = room - (left > 0 ? left : 0);
    while (low < high) {
        int64_t size = low + (high - low + 1) / 2;
        bool is_in_time = (step > 0 ? stage_cost(b, k, at, at + size) : stage_cost(b, k, at - size, at)) <= most_s;
        low = is_in_time ? size : low;
        high = is_in_time ? high : size - 1;
    }
    return low < least_size(b, k) ? -1 : at + step * low;
}

/* Returns whether all layers have a stage within the time. That is so, or not so, from *from_s to *until_s: the longest
 * that a stage takes, and the shortest that it would take with a layer more. */
static bool is_enough(struct balance *b, double most_s, double *from_s, double *until_s) {
    int64_t at = 0, layers = b->sc->model->layers;
    *from_s = 0;
    *until_s = HUGE_VAL;
    for (int32_t k = 0; k < b->n_parts && at >= 0; k++) {
        int64_t first = at, left = b->n_parts - 2 - k;
        at = reach(b, k, first, 1, most_s);
        int64_t end = at < 0 ? first + least_size(b, k) - 1 : at;
        if (at >= 0)
            *from_s = fmax(*from_s, stage_cost(b, k, first, at));
        if (end < layers - (left > 0 ? left : 0))
            *until_s = fmin(*until_s, stage_cost(b, k, first, end + 1));
    }
    return at == layers;
}

/* Returns the least time in which all layers have a stage, by bisection among the numbers that a double can be, whose
 * bits are in the same order. */
static double least_s(struct balance *b) {
    double low_s = 0, high_s = DBL_MAX, middle_s, from_s, until_s;
    if (is_enough(b, high_s, &from_s, &until_s))
        high_s = from_s;
    while (low_s < high_s) {
        uint64_t low, high;
        memcpy(&low, &low_s, sizeof low);
        memcpy(&high, &high_s, sizeof high);
        low += (high - low) / 2;
        memcpy(&middle_s, &low, sizeof middle_s);
        bool will_do = is_enough(b, middle_s, &from_s, &until_s);
        high_s = will_do ? from_s : high_s;
        low_s = will_do ? low_s : until_s;
    }
    return high_s;
}

/* A bound: after k stages, no split of that time has fewer than first[k] or more than last[k] layers behind it. */
struct band {
    int64_t *first, *last; /* [n_parts + 1] */
    int64_t width;
};

/* Makes a band that only leaves a layer for each stage between the first and the last. It is for layers whose cost
 * depends on their order, so that how far stages get from either side does not agree. */
static void take_all(const struct balance *b, struct band *band) {
    int64_t layers = b->sc->model->layers;
    for (int32_t k = 1; k < b->n_parts; k++) {
        band->first[k] = k - 1;
        band->last[k] = layers - (b->n_parts - 1 - k);
    }
    band->first[b->n_parts] = band->last[b->n_parts] = layers;
}

static void find_band(struct balance *b, struct band *band) {
    int32_t p = b->n_parts;
    double most_s = least_s(b) * (1 + 1e-6); /* by more than is_less takes for equal */
    band->first = TSIM_NEW_ARRAY(b->arena, (size_t)p + 1, int64_t);
    band->last = TSIM_NEW_ARRAY(b->arena, (size_t)p + 1, int64_t);
    band->first[p] = b->sc->model->layers;
    for (int32_t k = 0; k < p; k++)
        band->last[k + 1] = reach(b, k, band->last[k], 1, most_s);
    for (int32_t k = p; k > 0; k--)
        band->first[k - 1] = reach(b, k - 1, band->first[k], -1, most_s);
    band->first[0] = 0;
    for (int32_t k = 0; k <= p; k++)
        if (band->first[k] < 0 || band->first[k] > band->last[k]) {
            take_all(b, band);
            break;
        }
    band->width = 1;
    for (int32_t k = 0; k <= p; k++)
        if (band->last[k] - band->first[k] >= band->width)
            band->width = band->last[k] - band->first[k] + 1;
}

/* The best(k, .) of a band: entry i is that of band.first[k] + i. */
struct row {
    const double *best; /* those of the stages before */
    int64_t first, last;
    int32_t k; /* the stage that is added */
};

static double worst_s(struct balance *b, const struct row *row, int64_t i, int64_t size) {
    return fmax(row->best[i - size - row->first], stage_cost(b, row->k, i - size, i));
}

/* Returns the smallest size within [low, high] at which the stages before take no more than the time (`is_before`), or
 * at which the stage itself takes at least as long as they do; high + 1 if there is none. Each of the two changes once
 * from size to size. */
static int64_t smallest(struct balance *b, const struct row *row, int64_t i, int64_t low, int64_t high,
                        const double *most_s) {
    int64_t end = high + 1;
    while (low < end) {
        int64_t size = low + (end - low) / 2;
        double before = row->best[i - size - row->first];
        if (most_s ? !is_less(*most_s, before) : stage_cost(b, row->k, i - size, i) >= before)
            end = size;
        else
            low = size + 1;
    }
    return low;
}

/* Finds the size nearest to even among those with which the slowest of all stages is as fast as it can be. */
static int64_t best_size(struct balance *b, const struct row *row, int64_t i, double *time_s) {
    int64_t low = least_size(b, row->k), high = i - row->first, even = b->sc->model->layers / b->n_parts;
    low = i - row->last > low ? i - row->last : low;
    *time_s = HUGE_VAL;
    if (high < low)
        return 0;
    int64_t meets = smallest(b, row, i, low, high, NULL);
    double least = HUGE_VAL;
    if (meets <= high)
        least = worst_s(b, row, i, meets);
    if (meets > low)
        least = fmin(least, worst_s(b, row, i, meets - 1));
    int64_t size = smallest(b, row, i, low, high, &least); /* no smaller size will do */
    while (size < even && size < high && !is_less(least, worst_s(b, row, i, size + 1)))
        size++;
    *time_s = worst_s(b, row, i, size);
    return size;
}

static void split(struct balance *b) {
    int32_t p = b->n_parts;
    struct band band;
    find_band(b, &band);
    size_t width = (size_t)band.width;
    double *best = TSIM_NEW_ARRAY(b->arena, (size_t)(p + 1) * width, double);
    int64_t *taken = TSIM_NEW_ARRAY(b->arena, (size_t)(p + 1) * width, int64_t);
    for (int32_t k = 1; k <= p; k++) {
        const struct row row = {&best[(size_t)(k - 1) * width], band.first[k - 1], band.last[k - 1], k - 1};
        for (int64_t i = band.first[k]; i <= band.last[k]; i++) {
            size_t at = (size_t)k * width + (size_t)(i - band.first[k]);
            taken[at] = best_size(b, &row, i, &best[at]);
        }
    }
    int64_t left = b->sc->model->layers;
    for (int32_t k = p; k >= 1; k--) {
        b->parts[k - 1] = taken[(size_t)k * width + (size_t)(left - band.first[k])];
        left -= b->parts[k - 1];
    }
}

/* Returns the longest that a stage takes if the first has so many layers and each between the ends `size`. Once that is
 * not less than `least`, the rest is not computed. */
static double with_ends_s(struct balance *b, int64_t first, int64_t size, double least) {
    int64_t layers = b->sc->model->layers, end = first + size * (b->n_parts - 2);
    double longest_s = stage_cost(b, 0, 0, first);
    if (is_less(longest_s, least))
        longest_s = fmax(longest_s, stage_cost(b, b->n_parts - 1, end, layers));
    for (int64_t at = first; at < end && is_less(longest_s, least); at += size)
        longest_s = fmax(longest_s, stage_cost(b, (int32_t)(1 + (at - first) / size), at, at + size));
    return longest_s;
}

/* Does the same for software whose stages between the first and the last have as many layers as one another. */
static void split_equally(struct balance *b) {
    int32_t p = b->n_parts;
    int64_t layers = b->sc->model->layers, most = layers / (p - 2), even = layers > p ? layers / p : 1;
    int64_t best_first = 0, best_size = even;
    double least = HUGE_VAL;
    for (int64_t i = 0; i < most; i++) { /* from the even size down, then up: near it is the fastest */
        int64_t size = i < even ? even - i : i + 1;
        for (int64_t first = 0; first + size * (p - 2) <= layers; first++) {
            double longest_s = with_ends_s(b, first, size, least);
            if (!is_less(longest_s, least))
                continue;
            least = longest_s;
            best_first = first;
            best_size = size;
        }
    }
    for (int32_t k = 0; k < p; k++)
        b->parts[k] = k == 0 ? best_first : k < p - 1 ? best_size : layers - best_first - best_size * (p - 2);
}

static void split_as_can(struct balance *b) {
    if (b->n_parts > 2 && tsim_has_equal_middle(&b->sc->software->supports))
        split_equally(b);
    else
        split(b);
}

/* Returns whether any split fits: whether all layers have a place if each stage takes as many as it can, beginning with
 * what the stage before it took. */
static bool any_fits(struct balance *b) {
    int64_t layers = b->sc->model->layers, at = 0, size = layers / b->n_parts;
    for (int32_t k = 0; k < b->n_parts; k++, at += size) {
        int64_t left = b->n_parts - 2 - k, low = least_size(b, k) - 1, high = layers - at - (left > 0 ? left : 0);
        size = size <= low ? low + 1 : size > high ? high : size;
        for (int64_t next = size; low < high; next = low == size ? low + 1 : low + (high - low + 1) / 2) {
            bool fits = layers_fit(b, k, at, at + next);
            low = fits ? next : low;
            high = fits ? high : next - 1;
        }
        if (low < least_size(b, k))
            return false;
        size = low;
    }
    return at == layers;
}

/* Makes room for what is found out about stages of each size. */
static void remember_sizes(struct balance *b) {
    size_t width = (size_t)b->sc->model->layers + 1, n = (size_t)b->n_parts * width;
    if (!b->are_alike)
        find_starts(b);
    b->known_works = TSIM_NEW_ARRAY(b->arena, 3 * width * (b->are_alike ? 1 : (size_t)b->n_starts), struct stage_work);
    if (b->are_alike) {
        b->most_layers = TSIM_NEW_ARRAY(b->arena, (size_t)b->n_parts, int64_t);
        b->too_many = TSIM_NEW_ARRAY(b->arena, (size_t)b->n_parts, int64_t);
        for (int32_t k = 0; k < b->n_parts; k++) {
            b->most_layers[k] = -1;
            b->too_many[k] = b->sc->model->layers + 1;
        }
    } else {
        count_layers(b);
        b->known_sizes = TSIM_NEW_ARRAY(b->arena, n, struct known_size);
        b->sizes_fit = TSIM_NEW_ARRAY(b->arena, n * (size_t)b->n_starts, signed char);
    }
}

/* Finds the split with one part per stage. Memory is computed only if the fastest of all splits does not fit. If it
 * does fit, computing memory would find the same split: the sizes that keep the least time are an interval, which
 * memory narrows around it. If no split fits, it stays the fastest. */
static void partition(struct balance *b) {
    if (b->sc->model->layers < b->n_parts - 2)
        return; /* nothing to choose */
    remember_sizes(b);
    split_as_can(b);
    int64_t *fastest = TSIM_NEW_ARRAY(b->arena, (size_t)b->n_parts, int64_t);
    memcpy(fastest, b->parts, (size_t)b->n_parts * sizeof *fastest);
    for (int32_t k = 0; k < b->n_parts && !b->heeds_memory; k++)
        b->heeds_memory = !stage_fits(b, k);
    if (b->heeds_memory && any_fits(b)) {
        split_as_can(b);
        return;
    }
    memcpy(b->parts, fastest, (size_t)b->n_parts * sizeof *fastest);
}

/* ---- several parts per stage ---- */

static void find_firsts(struct balance *b) {
    b->first[0] = 0;
    for (int32_t part = 1; part < b->n_parts; part++)
        b->first[part] = b->first[part - 1] + b->parts[part - 1];
}

static void remember_parts(struct balance *b) {
    size_t chunks = (size_t)b->shape.chunks;
    count_layers(b);
    b->first = TSIM_NEW_ARRAY(b->arena, (size_t)b->n_parts, int64_t);
    find_firsts(b);
    b->known = TSIM_NEW_ARRAY(b->arena, MOST_KNOWN, struct known_part);
    b->kinds = TSIM_NEW_ARRAY(b->arena, MOST_KINDS, struct tsim_parts);
    b->known_stages = TSIM_NEW_ARRAY(b->arena, MOST_KNOWN, struct known_stage);
    int32_t *kinds = TSIM_NEW_ARRAY(b->arena, MOST_KNOWN * chunks, int32_t);
    b->of_stage = TSIM_NEW_ARRAY(b->arena, chunks, int32_t);
    for (size_t i = 0; i < MOST_KNOWN; i++)
        b->known_stages[i].kinds = &kinds[i * chunks];
}

static int32_t number_of(struct balance *b, const struct tsim_parts *parts) {
    for (int32_t i = 0; i < b->n_kinds; i++)
        if (memcmp(&b->kinds[i], parts, sizeof *parts) == 0)
            return i;
    if (b->n_kinds == MOST_KINDS || tsim_model_layers_vary(b->sc->model))
        return -1;
    b->kinds[b->n_kinds] = *parts;
    return b->n_kinds++;
}

static const struct known_part *know_part(struct balance *b, int32_t part, int64_t first) {
    int64_t n = b->parts[part];
    bool is_first = part == 0, is_last = part == b->n_parts - 1;
    struct known_part *known = &b->known[((size_t)first * 61 + (size_t)n * 4 + 2 * is_first + is_last) % MOST_KNOWN];
    if (known->is_there && known->first == first && known->n == n && known->is_first == is_first &&
        known->is_last == is_last)
        return known;
    struct tsim_parts parts = layers_between(b, first, first + n);
    bool has_ends = tsim_model_has_ends(b->sc->model);
    parts.times[TSIM_PART_EMBEDDING] = has_ends && is_first;
    parts.times[TSIM_PART_HEAD] = has_ends && is_last;
    *known = (struct known_part){
        first, n, true, is_first, is_last, number_of(b, &parts), passes_s(b->sc, b->costs, &parts, first)};
    return known;
}

/* Returns the stage's time; `of_stage` becomes what its parts hold. */
static double stage_s(struct balance *b, int32_t stage) {
    double sum_s = 0;
    if (b->are_alike)
        return tsim_balance_stage_s(b->sc, b->costs, stage);
    for (int32_t c = 0; c < b->shape.chunks; c++) {
        int32_t part = tsim_schedule_part(&b->shape, stage, c);
        const struct known_part *known = know_part(b, part, b->first[part]);
        sum_s += known->time_s;
        b->of_stage[c] = known->kinds;
    }
    return sum_s;
}

/* Returns whether the stage whose time was asked for last fits. */
static bool known_fits(struct balance *b, int32_t stage) {
    const int32_t *kinds = b->of_stage;
    size_t hash = (size_t)stage, size = (size_t)b->shape.chunks * sizeof *kinds;
    for (int32_t c = 0; c < b->shape.chunks; c++) {
        if (kinds[c] < 0)
            return stage_fits(b, stage);
        hash = hash * 257 + (size_t)kinds[c];
    }
    struct known_stage *known = &b->known_stages[hash % MOST_KNOWN];
    if (known->is_there && known->stage == stage && memcmp(known->kinds, kinds, size) == 0)
        return known->fits;
    known->is_there = true;
    known->stage = stage;
    memcpy(known->kinds, kinds, size);
    known->fits = stage_fits(b, stage);
    return known->fits;
}

/* Returns a stage's time, with its penalty if it does not fit. Memory is computed only if the time may be less than
 * `least` and more than `known`. */
static double cost_between(struct balance *b, int32_t stage, double known, double least) {
    double time_s = stage_s(b, stage);
    if (!b->heeds_memory || !is_less(time_s, least) || time_s * DOES_NOT_FIT_FACTOR <= known)
        return time_s;
    return time_s * ((b->are_alike ? stage_fits(b, stage) : known_fits(b, stage)) ? 1 : DOES_NOT_FIT_FACTOR);
}

static double whole_cost(struct balance *b, int32_t stage) {
    return cost_between(b, stage, 0, HUGE_VAL);
}

/* Finds the stage of each part; of two that hold it (dualpipe), the first. */
static void find_stages(struct balance *b) {
    b->stages = TSIM_NEW_ARRAY(b->arena, (size_t)b->n_parts, int32_t);
    for (int32_t stage = b->shape.stages - 1; stage >= 0; stage--)
        for (int32_t c = 0; c < b->shape.chunks; c++)
            b->stages[tsim_schedule_part(&b->shape, stage, c)] = stage;
}

static void find_costs(struct balance *b, double *costs) {
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
    for (int32_t part = from + 1; b->first && part <= to; part++)
        b->first[part]--;
    for (int32_t part = to + 1; b->first && part <= from; part++)
        b->first[part]++;
}

/* Returns, for layers that are alike, the cost of the part's stage with `by` more layers in the part. */
static double changed_cost(struct balance *b, int32_t part, int32_t by) {
    double *known = by > 0 ? &b->more[part] : &b->fewer[part];
    if (!(*known > 0)) {
        b->parts[part] += by;
        *known = whole_cost(b, b->stages[part]);
        b->parts[part] -= by;
    }
    return *known;
}

/* Returns the cost of the slower of both parts' stages after a layer has moved; if one is not less than `least`, that
 * one. */
static double shifted_cost(struct balance *b, int32_t from, int32_t to, double least) {
    if (b->are_alike)
        return fmax(changed_cost(b, from, -1), changed_cost(b, to, 1));
    shift(b, from, to);
    double then = cost_between(b, b->stages[from], 0, least);
    if (is_less(then, least))
        then = fmax(then, cost_between(b, b->stages[to], then, least));
    shift(b, to, from);
    return then;
}

/* Moves a layer and counts costs anew. In stages other than the two, layers with experts have moved, too. */
static void count_shift(struct balance *b, int32_t from, int32_t to, double *costs) {
    const int32_t moved[] = {b->stages[from], b->stages[to]};
    shift(b, from, to);
    if (!b->are_alike) {
        find_costs(b, costs);
        return;
    }
    for (int i = 0; i < 2; i++) {
        costs[moved[i]] = whole_cost(b, moved[i]);
        for (int32_t c = 0; c < b->shape.chunks; c++) {
            int32_t part = tsim_schedule_part(&b->shape, moved[i], c);
            b->fewer[part] = b->more[part] = 0;
        }
    }
}

/* Moves a layer from the slowest stage, if that helps, to the place at which the slower of the two stages becomes
 * fastest. */
static bool move_one(struct balance *b, double *costs) {
    int32_t slowest = slowest_stage(b, costs), best_from = -1, best_to = -1;
    double least = costs[slowest];
    for (int32_t c = 0; c < b->shape.chunks; c++) {
        int32_t from = tsim_schedule_part(&b->shape, slowest, c);
        if (b->parts[from] == 0 || (b->parts[from] == 1 && from > 0 && from < b->n_parts - 1))
            continue;
        for (int32_t to = 0; to < b->n_parts; to++) {
            if (b->are_alike && !is_less(changed_cost(b, from, -1), least))
                break; /* that remains so wherever the layer goes */
            if (b->stages[to] == slowest)
                continue;
            double then = shifted_cost(b, from, to, least);
            if (is_less(then, least)) {
                least = then;
                best_from = from;
                best_to = to;
            }
        }
    }
    if (best_from < 0)
        return false;
    count_shift(b, best_from, best_to, costs);
    return true;
}

static void move_all(struct balance *b, double *costs) {
    find_costs(b, costs);
    for (int64_t moves = 0; moves < b->sc->model->layers && move_one(b, costs); moves++) {
    }
}

/* Returns false if the fastest split does not fit, but another one may. */
static bool is_settled(const struct balance *b) {
    double states_bytes = 0; /* of all layers, however they are split */
    bool fits = true;
    for (int32_t stage = 0; stage < b->shape.stages; stage++) {
        struct tsim_stage_memory memory;
        tsim_stage_memory(b->sc, stage, &memory);
        fits &= memory.total_bytes <= b->capacity_bytes;
        states_bytes += tsim_split_state_bytes(b->sc, &memory);
    }
    return fits || states_bytes > b->shape.stages * b->capacity_bytes;
}

/* Moves layers while that helps. If layers differ, memory is computed only if the split that is fastest without it does
 * not fit, because it takes many times as long to find out what a stage holds as how long it takes. */
static void move_layers(struct balance *b) {
    double *costs = TSIM_NEW_ARRAY(b->arena, (size_t)b->shape.stages, double);
    size_t size = (size_t)b->n_parts * sizeof *b->parts;
    find_stages(b);
    b->heeds_memory = b->are_alike;
    if (b->are_alike) {
        b->fewer = TSIM_NEW_ARRAY(b->arena, (size_t)b->n_parts, double);
        b->more = TSIM_NEW_ARRAY(b->arena, (size_t)b->n_parts, double);
        move_all(b, costs);
        return;
    }
    int64_t *even = TSIM_NEW_ARRAY(b->arena, (size_t)b->n_parts, int64_t);
    memcpy(even, b->parts, size);
    remember_parts(b);
    move_all(b, costs);
    if (is_settled(b))
        return;
    memcpy(b->parts, even, size);
    find_firsts(b);
    b->heeds_memory = true;
    move_all(b, costs);
}

static struct balance begin(struct tsim_arena *arena, const struct tsim_scenario *scenario) {
    const struct tsim_accelerator *accelerator = scenario->cluster.node->accelerator;
    struct balance b = {.arena = arena,
                        .sc = TSIM_NEW(arena, struct tsim_scenario),
                        .shape = tsim_scenario_schedule(scenario),
                        .n_parts = (int32_t)tsim_n_model_parts(&scenario->parallelism),
                        .capacity_bytes = accelerator->memory_bytes - accelerator->usable_memory_reserve_bytes,
                        .are_alike = tsim_model_has_one_kind(scenario->model)};
    *b.sc = *scenario;
    b.parts = TSIM_NEW_ARRAY(arena, (size_t)b.n_parts, int64_t);
    memcpy(b.parts, scenario->parallelism.layers_per_chunk, (size_t)b.n_parts * sizeof *b.parts);
    b.sc->parallelism.layers_per_chunk = b.parts;
    if (b.shape.schedule == TSIM_SCHEDULE_DUALPIPE) /* if a layer moves, four stages change */
        b.are_alike = false;
    return b;
}

bool tsim_any_split_fits(struct tsim_arena *arena, const struct tsim_scenario *scenario) {
    struct balance b = begin(arena, scenario);
    if (b.shape.chunks > 1 || scenario->model->layers < b.n_parts - 2)
        return true;
    remember_sizes(&b);
    return any_fits(&b);
}

const struct tsim_scenario *tsim_balance(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                         struct tsim_pass_memo *memo) {
    if (!scenario->parallelism.balances)
        return scenario;
    struct balance b = begin(arena, scenario);
    const struct tsim_cluster *cluster = tsim_cluster_build(arena, scenario);
    const struct tsim_placement *placement = tsim_placement_build(arena, scenario);
    b.costs = tsim_pass_costs_of(arena, memo, scenario, cluster, placement);
    if (b.shape.chunks == 1) {
        b.prices = tsim_split_prices_new(arena, b.sc, cluster, placement, b.costs);
        partition(&b);
    } else {
        move_layers(&b);
    }
    return b.sc;
}
