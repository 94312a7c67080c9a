#include "step/bound.h"

#include <math.h>
#include <string.h>

/* Each operator is rounded to the nearest tick, a picosecond. If operators take half a microsecond or more, their sum
 * is within this share. */
#define TICKS_FRAC 1e-6

/* A chain through the stages, from the first on. */
struct chain {
    double before_s, after_s; /* forward and backward passes of the stages before, with their messages */
    double longest_s;
};

/* Collectives of several communicators, one beside the other, expose this: what slows one of them leaves more of the
 * device to the kernels that another waits for. A pass may take so much less than its time alone. */
static double beside_s(const struct tsim_scenario *sc, const struct tsim_pass_cost *pass) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    bool tensor_is_beside = p->tensor > 1 && (p->overlap.tensor || p->overlap.tensor_backward);
    if (!(p->expert > 1 && p->overlap.expert && (p->context > 1 || tensor_is_beside)))
        return 0;
    return pass->exposed_expert_s + pass->exposed_context_s + (tensor_is_beside ? pass->exposed_tensor_s : 0);
}

/* A pass takes at least the time of its kernels or of their launches, whichever is longer; with launches that block,
 * the sum of both. */
static double longer_s(const struct tsim_scenario *sc, double played_s, double host_s) {
    return sc->software->launch_blocking ? played_s + host_s : fmax(played_s, host_s);
}

static double least_s(const struct tsim_scenario *sc, const struct tsim_pass_cost *pass) {
    return longer_s(sc, pass->time_s - pass->host_excess_s, pass->host_s) - beside_s(sc, pass);
}

/* Returns whether stages wait for each other's first and last passes in every step. */
static bool fills_and_drains(const struct tsim_schedule_shape *shape) {
    return !tsim_schedule_splits_backward(shape->schedule) && !tsim_is_asynchronous(shape->schedule);
}

static bool is_split(const struct tsim_schedule_shape *shape) {
    return tsim_schedule_splits_backward(shape->schedule);
}

/* All work of a stage comes after the first forward pass of all stages before it. After its last pass, a backward one,
 * the same stages still have theirs to do. Zero-bubble steps follow one another without either. */
static void add_stage(struct chain *chain, bool is_chained, double work_s) {
    chain->longest_s = fmax(chain->longest_s, is_chained ? chain->before_s + work_s + chain->after_s : work_s);
}

/* ---- passes alone ---- */

struct chunk_passes {
    struct tsim_parts parts;
    struct tsim_pass_cost forward, backward, weight; /* split: input and weight gradients */
};

/* Sums up a chunk's passes. *passes are those of the chunk before, or zeroed: most chunks are like that one. */
static void sum_chunk(const struct tsim_scenario *sc, const struct tsim_pass_costs *costs, bool splits, int32_t stage,
                      int32_t chunk, struct chunk_passes *passes) {
    struct tsim_parts parts = tsim_chunk_parts(sc, stage, chunk);
    int n_kinds = 0;
    for (int part = 0; part < TSIM_N_PARTS; part++)
        n_kinds += parts.times[part] > 0;
    if (n_kinds == 1 && memcmp(&passes->parts, &parts, sizeof parts) == 0)
        return;
    *passes = (struct chunk_passes){.parts = parts};
    int64_t first = tsim_chunk_first_layer(sc, stage, chunk);
    tsim_pass_sum(costs, sc, TSIM_PASS_FORWARD, &parts, first, &passes->forward);
    if (sc->is_forward_only)
        return;
    tsim_pass_sum(costs, sc, splits ? TSIM_PASS_INPUT_GRADIENT : TSIM_PASS_BACKWARD, &parts, first, &passes->backward);
    if (splits)
        tsim_pass_sum(costs, sc, TSIM_PASS_WEIGHT_GRADIENT, &parts, first, &passes->weight);
}

double tsim_passes_bound_s(const struct tsim_scenario *sc, const struct tsim_pass_costs *costs) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    double m = tsim_schedule_chunk_microbatches(&shape);
    struct chain chain = {0};
    struct chunk_passes passes = {.parts = {{0}}};
    for (int32_t s = 0; s < shape.stages; s++) {
        double work_s = 0, forward_s = 0, backward_s = 0;
        for (int32_t c = 0; c < shape.chunks; c++) {
            sum_chunk(sc, costs, is_split(&shape), s, c, &passes);
            work_s += m * (least_s(sc, &passes.forward) + least_s(sc, &passes.backward) + least_s(sc, &passes.weight));
            if (c == 0)
                forward_s = least_s(sc, &passes.forward), backward_s = least_s(sc, &passes.backward);
        }
        add_stage(&chain, fills_and_drains(&shape), work_s);
        chain.before_s += forward_s;
        chain.after_s += backward_s;
    }
    return chain.longest_s * (1 - TICKS_FRAC);
}

/* Every split has to place these: the passes of a micro-batch through each layer and through the ends of the model. */
struct to_split {
    const struct tsim_model *model;
    struct tsim_schedule_shape shape;
    bool is_chained;
    double part_s[TSIM_N_PARTS], least_layer_s;
    double n_layers; /* in all stages; twice the model's if two stages hold each */
};

/* Lets each stage take as many layers as it can finish within the time, and returns whether all are taken. With one part
 * a stage, the layers are taken in their order. It is best to take as many as possible: a layer that a stage takes
 * delays those behind it for one micro-batch and spares them all micro-batches of its work. With several parts, all
 * layers count as the shortest. */
static bool all_in_time(const struct to_split *of, double most_s) {
    const struct tsim_schedule_shape *shape = &of->shape;
    double m = tsim_schedule_chunk_microbatches(shape), before_s = 0, n_layers = 0;
    int64_t at = 0;
    for (int32_t s = 0; s < shape->stages; s++) {
        double taken_s = 0, room_s = (most_s - before_s) / m;
        for (int32_t c = 0; c < shape->chunks; c++) {
            int32_t part = tsim_schedule_part(shape, s, c);
            taken_s += part == 0 ? of->part_s[TSIM_PART_EMBEDDING] : 0;
            taken_s += part == tsim_schedule_n_parts(shape) - 1 ? of->part_s[TSIM_PART_HEAD] : 0;
        }
        if (taken_s > room_s)
            return false;
        if (shape->chunks > 1) {
            n_layers += floor((room_s - taken_s) / of->least_layer_s);
            continue;
        }
        for (double layer_s; at < of->model->layers; at++, taken_s += layer_s)
            if (taken_s + (layer_s = of->part_s[tsim_model_layer(of->model, at)]) > room_s)
                break;
        before_s += of->is_chained ? taken_s : 0;
    }
    return shape->chunks > 1 ? n_layers >= of->n_layers : at == of->model->layers;
}

/* Raises a bound, in which stages may hold parts of layers, to a little less than what whole layers take, but not to
 * more than twice itself. */
static double with_whole_layers_s(const struct to_split *of, double bound_s) {
    enum { HALVINGS = 10 };
    double low_s = bound_s, high_s = 2 * bound_s;
    bool is_by_kind = !tsim_model_layers_vary(of->model); /* else only the mean of a kind is known */
    if (!is_by_kind || !(of->least_layer_s > 0) || !isfinite(of->least_layer_s) || all_in_time(of, low_s))
        return bound_s;
    for (int i = 0; i < HALVINGS; i++) {
        double middle_s = (low_s + high_s) / 2;
        if (all_in_time(of, middle_s))
            high_s = middle_s;
        else
            low_s = middle_s;
    }
    return low_s;
}

double tsim_any_split_bound_s(const struct tsim_scenario *sc, const struct tsim_pass_costs *costs) {
    static const enum tsim_pass_kind WHOLE[] = {TSIM_PASS_FORWARD, TSIM_PASS_BACKWARD},
                                     SPLIT[] = {TSIM_PASS_FORWARD, TSIM_PASS_INPUT_GRADIENT, TSIM_PASS_WEIGHT_GRADIENT};
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    double m = tsim_schedule_chunk_microbatches(&shape), p = shape.stages, played_s = 0, host_s = 0, less_s = 0;
    size_t n_ways = sc->is_forward_only ? 1 : is_split(&shape) ? 3 : 2;
    double times[TSIM_N_PARTS] = {0}, part_played_s[TSIM_N_PARTS] = {0}, part_host_s[TSIM_N_PARTS] = {0};
    for (int32_t s = 0; s < shape.stages; s++)
        for (int32_t c = 0; c < shape.chunks; c++) {
            struct tsim_parts parts = tsim_chunk_parts(sc, s, c);
            for (int part = 0; part < TSIM_N_PARTS; part++)
                times[part] += parts.times[part];
        }
    for (int part = 0; part < TSIM_N_PARTS; part++)
        for (size_t i = 0; times[part] > 0 && i < n_ways; i++) {
            int way = (int)(is_split(&shape) ? SPLIT[i] : WHOLE[i]);
            bool may_keep = sc->training.recompute == TSIM_RECOMPUTE_LAYERS; /* the split decides how many layers do */
            const struct tsim_pass_cost *pass = &costs->parts[part]->ways[may_keep ? tsim_kept_way(way) : way];
            double less = beside_s(sc, pass);
            part_played_s[part] += pass->time_s - pass->host_excess_s - less;
            part_host_s[part] += pass->host_s - less;
            played_s += times[part] * (pass->time_s - pass->host_excess_s);
            host_s += times[part] * pass->host_s;
            less_s += times[part] * less;
        }
    /* No split gets below the longer of two sums: each of its stages takes the longer of its own two. */
    double micro_s = longer_s(sc, played_s, host_s) - less_s;
    bool is_chained = shape.chunks == 1 && fills_and_drains(&shape) && !sc->is_forward_only;
    double bound_s = is_chained ? micro_s / (1 - pow(1 - 1 / m, p)) : m * micro_s / p;
    struct to_split of = {.model = sc->model, .shape = shape, .is_chained = is_chained, .least_layer_s = HUGE_VAL};
    memcpy(of.part_s, played_s >= host_s ? part_played_s : part_host_s, sizeof of.part_s);
    for (int part = 0; part < TSIM_N_PARTS; part++)
        if (times[part] > 0 && !tsim_layer_kind((enum tsim_part)part)->is_end) {
            of.n_layers += times[part];
            of.least_layer_s = fmin(of.least_layer_s, of.part_s[part]);
        }
    return with_whole_layers_s(&of, bound_s) * (1 - TICKS_FRAC);
}

const struct tsim_stage_busy *tsim_stages_busy(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                               const struct tsim_pass_costs *costs) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    double m = tsim_schedule_chunk_microbatches(&shape);
    struct tsim_stage_busy *stages = TSIM_NEW_ARRAY(arena, (size_t)shape.stages, struct tsim_stage_busy);
    struct chunk_passes p = {.parts = {{0}}};
    for (int32_t s = 0; s < shape.stages; s++) {
        struct tsim_stage_busy *busy = &stages[s];
        for (int32_t c = 0; c < shape.chunks; c++) {
            sum_chunk(sc, costs, is_split(&shape), s, c, &p);
            busy->matrix_s += m * (p.forward.matrix_busy_s + p.backward.matrix_busy_s + p.weight.matrix_busy_s);
            busy->memory_s += m * (p.forward.memory_busy_s + p.backward.memory_busy_s + p.weight.memory_busy_s);
        }
        busy->matrix_s *= 1 - TICKS_FRAC;
        busy->memory_s *= 1 - TICKS_FRAC;
    }
    return stages;
}

/* ---- and what a plan of the step knows beyond them ---- */

/* A pass is over when the copies that began with it are. */
static double with_copies_s(const struct tsim_step_plan *plan, const struct tsim_direction_plan *way) {
    double s = least_s(plan->scenario, &way->whole);
    for (int d = 0; d < TSIM_N_COPY_DIRECTIONS; d++)
        if (way->copied_bytes[d] > 0)
            s = fmax(s, way->copied_bytes[d] / plan->cluster->host_link_bytes_per_s);
    return s;
}

/* Returns the time of the stage's passes, and of messages that are sent between passes. */
static double stream_s(const struct tsim_step_plan *plan, int32_t stage) {
    const struct tsim_stage_plan *sp = &plan->stages[stage];
    double m = tsim_schedule_chunk_microbatches(&plan->schedule), sum_s = 0;
    for (int32_t c = 0; c < plan->schedule.chunks; c++) {
        const struct tsim_direction_plan *ways = sp->chunks[c].ways;
        sum_s += m * with_copies_s(plan, &ways[TSIM_PASS_FORWARD]);
        sum_s += m * (is_split(&plan->schedule) ? with_copies_s(plan, &ways[TSIM_PASS_INPUT_GRADIENT]) +
                                                      with_copies_s(plan, &ways[TSIM_PASS_WEIGHT_GRADIENT])
                                                : with_copies_s(plan, &ways[TSIM_PASS_BACKWARD]));
    }
    for (int32_t i = 0; i < sp->n_items && !plan->sends_async; i++) {
        struct tsim_schedule_hop hop = tsim_schedule_hop(&plan->schedule, stage, sp->items[i]);
        if (hop.sends)
            sum_s += (hop.to_next ? &sp->next : &sp->prev)->cost.time_s;
    }
    return sum_s;
}

/* Returns the time of what the compute stream reduces after the stage's passes: gradients, if nothing overlaps them, and
 * those of a tied table. */
static double reduced_s(const struct tsim_step_plan *plan, int32_t stage) {
    bool is_end = stage == 0 || stage == plan->schedule.stages - 1;
    double sum_s = plan->has_tied_reduction && is_end && !plan->is_stepped ? plan->tied.cost.time_s : 0;
    bool is_beside = plan->shards_fully || plan->overlaps_reduces || is_split(&plan->schedule);
    for (int32_t c = 0; c < plan->schedule.chunks && plan->has_data_group && !plan->is_stepped && !is_beside; c++)
        sum_s += plan->stages[stage].chunks[c].reduce.cost.time_s;
    return sum_s;
}

/* Returns the time of what the data stream can only reduce after the stage's last backward pass: the last bucket. */
static double released_s(const struct tsim_step_plan *plan, int32_t stage) {
    const struct tsim_stage_plan *sp = &plan->stages[stage];
    if (!plan->has_data_group || plan->is_stepped || is_split(&plan->schedule))
        return 0;
    return plan->shards_fully       ? sp->root_reduce.cost.time_s
           : plan->overlaps_reduces ? sp->chunks[0].reduce.cost.time_s
                                    : 0;
}

/* Returns the time of everything that the data stream does. */
static double data_s(const struct tsim_step_plan *plan, int32_t stage) {
    const struct tsim_stage_plan *sp = &plan->stages[stage];
    double sum_s = 0;
    if (!plan->has_data_group || plan->is_stepped)
        return 0;
    if (plan->shards_fully) {
        const struct tsim_chunk_plan *chunk = &sp->chunks[0];
        double gather_s = 0, reduce_s = 0;
        for (int part = 0; part < TSIM_N_PARTS; part++) {
            const struct tsim_layer_collectives *layer = &sp->layers[part];
            double n = chunk->parts.times[part];
            gather_s += n * layer->gather.cost.time_s;
            reduce_s += n * layer->reduce.cost.time_s;
            if (plan->scenario->parallelism.reshard_after_forward)
                gather_s += n * layer->regather.cost.time_s;
        }
        return plan->schedule.microbatches * (gather_s + reduce_s + sp->root_reduce.cost.time_s);
    }
    for (int32_t c = 0; c < plan->schedule.chunks; c++) {
        const struct tsim_chunk_plan *chunk = &sp->chunks[c];
        if (plan->gathers && plan->overlaps_gathers)
            sum_s += chunk->n_gathers * chunk->gather.cost.time_s;
        if (plan->overlaps_reduces)
            sum_s += (double)chunk->n_reduces * plan->n_rounds * chunk->reduce.cost.time_s;
    }
    return sum_s;
}

/* Returns the time after the gradient's norm: the optimizer, and parameters that are gathered at once. */
static double tail_s(const struct tsim_step_plan *plan, int32_t stage) {
    double sum_s = plan->stages[stage].optimizer_s;
    bool gathers = plan->has_data_group && plan->gathers && !plan->overlaps_gathers && !plan->is_stepped;
    for (int32_t c = 0; c < plan->schedule.chunks && gathers; c++)
        sum_s += plan->stages[stage].chunks[c].gather.cost.time_s;
    return sum_s;
}

/* Returns the rate at which all messages of a rank leave its node, if a node has ranks of only one stage: they share its
 * NICs as equals. 0: not known. */
static double nic_bytes_per_s(const struct tsim_step_plan *plan, const struct tsim_placement *placement) {
    bool has_own_nodes =
        placement->stride[TSIM_AXIS_PIPELINE] % placement->ranks_per_node == 0 && !plan->is_ideal && plan->sends_async;
    return has_own_nodes ? plan->cluster->nic_bytes_per_s : 0;
}

/* Returns the time that the stage's messages take on their way. Those of a direction follow one another on a stream. */
static double sent_s(const struct tsim_step_plan *plan, const struct tsim_placement *placement, int32_t stage) {
    const struct tsim_stage_plan *sp = &plan->stages[stage];
    double sums_s[2] = {0}, bytes = 0, rate = nic_bytes_per_s(plan, placement);
    for (int32_t i = 0; i < sp->n_items && plan->sends_async; i++) {
        struct tsim_schedule_hop hop = tsim_schedule_hop(&plan->schedule, stage, sp->items[i]);
        const struct tsim_step_message *message = hop.to_next ? &sp->next : &sp->prev;
        if (!hop.sends)
            continue;
        sums_s[hop.to_next] += message->cost.time_s;
        bytes += message->cost.nic_bytes;
    }
    return fmax(fmax(sums_s[0], sums_s[1]), rate > 0 ? bytes / rate : 0);
}

/* ---- task by task ---- */

/* A stage, as far as its tasks have been placed: each begins when the one before it on its stream is over and what it
 * waits for is there. */
struct placed {
    int32_t item;                                   /* the next pass */
    double compute_s, data_s, messages_s[2], nic_s; /* when these are free */
    double pass_s;                                  /* when the last pass was over */
    double *arrives_s[2]; /* by slot: when gradients arrive, and activations; INFINITY: they have not been sent */
};

static const struct tsim_pass_route *route_of(const struct tsim_step_plan *plan, int32_t stage,
                                              struct tsim_pass_item item) {
    return &plan->stages[stage].routes[item.chunk * TSIM_N_PASS_KINDS + (int32_t)item.kind];
}

static double *arrival_of(const struct tsim_step_plan *plan, const struct placed *stage, struct tsim_pass_item item) {
    return &stage->arrives_s[item.kind == TSIM_PASS_FORWARD][tsim_step_slot(plan, item)];
}

static void place_message(const struct tsim_step_plan *plan, double rate, struct placed *stages, int32_t s,
                          struct tsim_pass_item item) {
    struct tsim_schedule_hop hop = route_of(plan, s, item)->hop;
    struct placed *from = &stages[s];
    int32_t p = plan->schedule.stages;
    if (!hop.sends)
        return;
    const struct tsim_collective_cost *cost = &(hop.to_next ? &plan->stages[s].next : &plan->stages[s].prev)->cost;
    double *free_s = plan->sends_async ? &from->messages_s[hop.to_next] : &from->compute_s;
    if (rate > 0)
        from->nic_s = fmax(from->nic_s, from->pass_s) + cost->nic_bytes / rate;
    *free_s = fmax(*free_s, from->compute_s) + cost->time_s;
    item.chunk = hop.chunk;
    *arrival_of(plan, &stages[(s + (hop.to_next ? 1 : p - 1)) % p], item) = *free_s;
}

/* Places a pass that begins at `begin_s`. The first forward pass through a chunk ends after its parameters are gathered,
 * chunk by chunk. A backward pass releases gradients from its beginning on. */
static void place_pass(const struct tsim_step_plan *plan, const struct tsim_chunk_plan *chunk, struct placed *stage,
                       struct tsim_pass_item item, double begin_s) {
    bool has_data = plan->has_data_group && !plan->shards_fully && !plan->is_stepped,
         is_forward = item.kind == TSIM_PASS_FORWARD,
         releases = plan->n_rounds > 1 || item.microbatch == plan->schedule.microbatches - 1;
    stage->pass_s = begin_s + with_copies_s(plan, &chunk->ways[tsim_item_way(item)]);
    if (has_data && plan->gathers && plan->overlaps_gathers && is_forward && item.microbatch == 0) {
        stage->data_s += chunk->n_gathers * chunk->gather.cost.time_s;
        stage->pass_s = fmax(stage->pass_s, stage->data_s);
    }
    if (has_data && plan->overlaps_reduces && !is_forward && releases)
        stage->data_s = fmax(stage->data_s, begin_s) + chunk->n_reduces * chunk->reduce.cost.time_s;
    stage->compute_s = stage->pass_s;
}

/* Returns the time that the step takes up to the gradient's norm, if stages wait for one another and every task takes
 * what it takes alone. */
static double placed_s(struct tsim_arena *arena, const struct tsim_step_plan *plan,
                       const struct tsim_placement *placement) {
    int32_t p = plan->schedule.stages;
    size_t n_slots = (size_t)plan->schedule.microbatches * (size_t)plan->schedule.chunks;
    struct placed *stages = TSIM_NEW_ARRAY(arena, (size_t)p, struct placed);
    double *arrives_s = TSIM_NEW_ARRAY(arena, 2 * n_slots * (size_t)p, double), longest_s = 0,
           rate = nic_bytes_per_s(plan, placement);
    for (size_t i = 0; i < 2 * n_slots * (size_t)p; i++)
        arrives_s[i] = (double)INFINITY;
    for (int32_t s = 0; s < 2 * p; s++)
        stages[s / 2].arrives_s[s % 2] = &arrives_s[(size_t)s * n_slots];
    for (bool moves = true; moves;) {
        moves = false;
        for (int32_t s = 0; s < p; s++) {
            struct placed *stage = &stages[s];
            for (const struct tsim_stage_plan *sp = &plan->stages[s]; stage->item < sp->n_items; stage->item++) {
                struct tsim_pass_item item = sp->items[stage->item];
                bool receives = p > 1 && route_of(plan, s, item)->receives;
                double begin_s = fmax(stage->compute_s, receives ? *arrival_of(plan, stage, item) : 0);
                if (isinf(begin_s))
                    break;
                place_pass(plan, &sp->chunks[item.chunk], stage, item, begin_s);
                place_message(plan, rate, stages, s, item);
                moves = true;
            }
        }
    }
    for (int32_t s = 0; s < p; s++) {
        const struct placed *stage = &stages[s];
        TSIM_ASSERT(stage->item == plan->stages[s].n_items);
        longest_s = fmax(longest_s, fmax(stage->compute_s + reduced_s(plan, s), stage->pass_s + released_s(plan, s)));
        longest_s = fmax(longest_s, fmax(stage->data_s, stage->nic_s));
    }
    return longest_s;
}

double tsim_step_bound_s(struct tsim_arena *arena, const struct tsim_step_plan *plan,
                         const struct tsim_placement *placement) {
    bool are_placed = fills_and_drains(&plan->schedule);
    double bound_s = are_placed ? placed_s(arena, plan, placement) : 0, longest_tail_s = 0;
    for (int32_t s = 0; s < plan->schedule.stages; s++) {
        double work_s = stream_s(plan, s), own_tail_s = tail_s(plan, s);
        if (plan->bypasses_norm)
            work_s += fmax(reduced_s(plan, s), released_s(plan, s)) + own_tail_s + plan->norm.time_s;
        bound_s = fmax(bound_s, are_placed ? 0 : fmax(work_s, sent_s(plan, placement, s)));
        bound_s = fmax(bound_s, data_s(plan, s));
        longest_tail_s = fmax(longest_tail_s, own_tail_s);
    }
    if (!plan->bypasses_norm)
        bound_s += plan->norm.time_s + longest_tail_s;
    return bound_s * (1 - TICKS_FRAC);
}
