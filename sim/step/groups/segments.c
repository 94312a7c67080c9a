/* The segments that a pass is cut into: which layers each goes through, the unit that it gathers where all is sharded, and
 * what it costs. */
#include "model/model.h"
#include "step/groups/noise.h"
#include "step/groups/stage_group.h"

#include <math.h>

static const struct tsim_chunk_plan *chunk_of(const struct tsim_stage_group *group, int32_t chunk) {
    return &group->stage_plan->chunks[chunk];
}

/* Returns the time of layers from .. to - 1 of the chunk, as a share of the pass. */
static double layers_frac(const struct tsim_stage_group *group, const struct tsim_chunk_plan *chunk,
                          const struct tsim_direction_plan *way, int64_t from, int64_t to) {
    const struct tsim_model *m = group->plan->scenario->model;
    int64_t first = chunk->first_layer, middle = chunk->n_again < from ? from
                                                 : chunk->n_again > to ? to
                                                                       : chunk->n_again;
    struct tsim_parts again = tsim_model_layers(m, first + from, first + middle),
                      kept = tsim_model_layers(m, first + middle, first + to);
    double frac = 0;
    for (int part = 0; part < TSIM_N_PARTS; part++)
        frac += again.times[part] * way->frac[part] + kept.times[part] * way->kept_frac[part];
    return frac;
}

static int32_t model_order(enum tsim_pass_kind kind, int32_t segment, int32_t n) {
    return kind == TSIM_PASS_FORWARD ? segment : n - 1 - segment;
}

/* In fully sharded training a segment is a unit of a layer. Returns the unit and the layer; NULL for the root, which is
 * the embedding, in model order before all layers. The head runs with the last unit. */
static const struct tsim_layer_unit *unit_of_layer(const struct tsim_step_plan *plan, enum tsim_pass_kind kind,
                                                   int32_t segment, int64_t *layer) {
    const struct tsim_layer_units *units = &plan->layer_units[kind != TSIM_PASS_FORWARD];
    int32_t in_layers = segment - (kind == TSIM_PASS_FORWARD), n_layers = (int32_t)plan->scenario->model->layers;
    *layer = 0;
    if (in_layers < 0 || in_layers >= n_layers * units->n)
        return NULL;
    *layer = model_order(kind, in_layers / units->n, n_layers);
    return &units->at[in_layers % units->n];
}

const struct tsim_layer_unit *tsim_layer_unit_at(const struct tsim_step_plan *plan, enum tsim_pass_kind kind,
                                                 int32_t segment) {
    int64_t layer;
    return unit_of_layer(plan, kind, segment, &layer);
}

/* Segments are in execution order: embedding first going forward, last going backward. */
static void segment_layers(const struct tsim_stage_group *group, struct tsim_pass_item item, int32_t segment, int32_t n,
                           int64_t *from, int64_t *to) {
    if (group->plan->shards_fully) {
        *to = unit_of_layer(group->plan, item.kind, segment, from) ? *from + 1 : *from;
        return;
    }
    const struct tsim_chunk_plan *chunk = chunk_of(group, item.chunk);
    int32_t in_model_order = model_order(item.kind, segment, n);
    *from = (int64_t)chunk->n_layers * in_model_order / n;
    *to = (int64_t)chunk->n_layers * (in_model_order + 1) / n;
}

struct tsim_segment_layers tsim_stage_group_segment_layers(const struct tsim_stage_group *group, int32_t item,
                                                           int32_t segment) {
    struct tsim_pass_item pass = tsim_stage_group_item(group, item);
    const struct tsim_chunk_plan *chunk = chunk_of(group, pass.chunk);
    int32_t n = tsim_stage_group_n_segments(group, item), at = model_order(pass.kind, segment, n);
    struct tsim_segment_layers layers = {.has_embedding = at == 0 && chunk->has_embedding,
                                         .has_head = at == n - 1 && chunk->has_head};
    segment_layers(group, pass, segment, n, &layers.from, &layers.to);
    layers.from += chunk->first_layer;
    layers.to += chunk->first_layer;
    return layers;
}

/* Returns the segment's share of the pass's time. */
static double segment_frac(const struct tsim_stage_group *group, struct tsim_pass_item item, int32_t segment,
                           int32_t n) {
    const struct tsim_chunk_plan *chunk = chunk_of(group, item.chunk);
    const struct tsim_direction_plan *way = &chunk->ways[tsim_item_way(item)];
    int32_t in_model_order = model_order(item.kind, segment, n);
    int64_t from, to;
    segment_layers(group, item, segment, n, &from, &to);
    double frac = layers_frac(group, chunk, way, from, to);
    const struct tsim_layer_unit *unit =
        group->plan->shards_fully ? tsim_layer_unit_at(group->plan, item.kind, segment) : NULL;
    if (unit)
        frac *= unit->frac;
    return frac + (in_model_order == 0 ? chunk->parts.times[TSIM_PART_EMBEDDING] * way->frac[TSIM_PART_EMBEDDING] : 0) +
           (in_model_order == n - 1 ? chunk->parts.times[TSIM_PART_HEAD] * way->frac[TSIM_PART_HEAD] : 0);
}

/* Kernels take longer (or, by chance, less); collectives and the host, which launches them, do not. A pass that waits
 * for the host still does. */
static void slow_down(const struct tsim_stage_group *group, double slowdown, struct tsim_pass_cost *cost) {
    double kernels_s = cost->compute_s - cost->host_excess_s + cost->recompute_s;
    double before_s = cost->compute_s + cost->recompute_s, least_s = cost->host_excess_s > 0 ? before_s : 0;
    double after_s = group->plan->scenario->software->launch_blocking ? kernels_s * slowdown + cost->host_excess_s
                                                                      : fmax(kernels_s * slowdown, least_s);
    cost->recompute_s *= slowdown;
    cost->compute_s = after_s - cost->recompute_s;
    cost->host_excess_s = after_s - kernels_s * slowdown;
    cost->time_s += after_s - before_s;
}

static double slowdown_of(const struct tsim_stage_group *group, int32_t index, int32_t segment,
                          const struct tsim_pass_cost *cost) {
    double kernels_s = cost->compute_s - cost->host_excess_s + cost->recompute_s;
    double noise_s = kernels_s > 0 ? tsim_noise_s(group, index, segment, cost, kernels_s) : 0;
    return group->slowdown * (1 + (noise_s != 0 ? noise_s / kernels_s : 0));
}

static void pass_cost(const struct tsim_stage_group *group, struct tsim_pass_item item, int32_t segment, int32_t n,
                      struct tsim_pass_cost *cost) {
    *cost = chunk_of(group, item.chunk)->ways[tsim_item_way(item)].whole;
    if (n > 1)
        tsim_pass_scale(cost, segment_frac(group, item, segment, n));
}

void tsim_stage_group_pass_cost(const struct tsim_stage_group *group, struct tsim_pass_item item, int32_t segment,
                                int32_t n, struct tsim_pass_cost *cost) {
    pass_cost(group, item, segment, n, cost);
    if (group->slowdown != 1)
        slow_down(group, group->slowdown, cost);
}

double tsim_stage_group_slowdown(const struct tsim_stage_group *group, int32_t item, int32_t segment) {
    struct tsim_pass_cost cost;
    if (group->slowdown == 1 && !(group->plan->noise_deviation_frac > 0))
        return 1;
    pass_cost(group, tsim_stage_group_item(group, item), segment, tsim_stage_group_n_segments(group, item), &cost);
    return slowdown_of(group, item, segment, &cost);
}

void tsim_stage_group_segment_cost(const struct tsim_stage_group *group, int32_t index, int32_t segment,
                                   struct tsim_pass_cost *cost) {
    pass_cost(group, tsim_stage_group_item(group, index), segment, tsim_stage_group_n_segments(group, index), cost);
    double slowdown = slowdown_of(group, index, segment, cost);
    if (slowdown != 1)
        slow_down(group, slowdown, cost);
}

bool tsim_stage_group_unit_has(const struct tsim_stage_group *group, enum tsim_pass_kind kind, int32_t position,
                               bool is_gather) {
    const struct tsim_layer_unit *unit = tsim_layer_unit_at(group->plan, kind, position);
    if (!unit)
        return is_gather == (kind == TSIM_PASS_FORWARD);
    return is_gather ? unit->gathers : unit->reduces;
}

const struct tsim_data_collective *tsim_stage_group_unit(const struct tsim_stage_group *group, enum tsim_pass_kind kind,
                                                         int32_t position, bool is_gather) {
    const struct tsim_stage_plan *sp = group->stage_plan;
    bool is_forward = kind == TSIM_PASS_FORWARD;
    int64_t layer;
    const struct tsim_layer_unit *unit = unit_of_layer(group->plan, kind, position, &layer);
    if (!unit)
        return is_gather ? &sp->root_gather : &sp->root_reduce;
    if (group->plan->gathers_products)
        return is_gather ? &sp->product_gathers[unit->product] : &sp->product_reduces[unit->product];
    const struct tsim_layer_collectives *own = &sp->layers[tsim_model_layer(group->plan->scenario->model, layer)];
    return !is_gather ? &own->reduce : is_forward ? &own->gather : &own->regather;
}
