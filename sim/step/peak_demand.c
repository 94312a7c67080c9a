#include "step/peak_demand.h"

#include <math.h>

/* The most that one stream asks for: links in one direction and in the other are asked for the same. */
struct use {
    double units, memory, scale_up, nic;
};

static void raise(struct use *most, struct use use) {
    most->units = fmax(most->units, use.units);
    most->memory = fmax(most->memory, use.memory);
    most->scale_up = fmax(most->scale_up, use.scale_up);
    most->nic = fmax(most->nic, use.nic);
}

static struct use of_flow(const struct tsim_collective_cost *cost, double units, double memory) {
    double flow_s = cost->time_s - cost->latency_s;
    if (!(flow_s > 0))
        return (struct use){.units = units, .memory = memory};
    return (struct use){units, memory, cost->scale_up_bytes / flow_s, cost->nic_bytes / flow_s};
}

static void raise_collective(struct use *most, const struct tsim_data_collective *collective) {
    for (int32_t i = 0; i < collective->n_groups; i++) {
        const struct tsim_group_collective *own = &collective->groups[i];
        raise(most, of_flow(&own->cost, own->units_share, own->memory_share));
    }
    if (collective->kernel_s > 0)
        raise(most, (struct use){.units = 1, .memory = 1});
}

/* The rate that a pass that takes this long asks for. By chance (noise.h) it may be shorter, and ask for any rate. */
static double asked_per_s(const struct tsim_step_plan *plan, double bytes, double time_s, double capacity_per_s) {
    if (plan->noise_deviation_frac > 0)
        return bytes > 0 ? (double)INFINITY : 0;
    return fmin(bytes / time_s, capacity_per_s);
}

/* Operators ask for this: kernels a device, collectives the links of their own rates. */
static void raise_operators(const struct tsim_pass_programs *programs, enum tsim_axis axis, struct use *most) {
    for (int i = 0; i < TSIM_N_PASS_KINDS * TSIM_N_PARTS; i++) {
        const struct tsim_pass_program *program = &programs->of[i / TSIM_N_PARTS][i % TSIM_N_PARTS];
        for (int32_t at = 0; at < program->n; at++) {
            const struct tsim_played *played = &program->at[at];
            bool is_beside = played->kind == TSIM_PLAYED_BESIDE;
            if (axis == TSIM_N_AXES ? !is_beside : is_beside && played->axis == axis)
                raise(most, (struct use){.units = played->units_frac,
                                         .memory = played->memory_frac,
                                         .scale_up = played->scale_up_bytes_per_s,
                                         .nic = played->nic_bytes_per_s});
        }
    }
}

static void raise_passes(const struct tsim_step_plan *plan, const struct tsim_chunk_plan *chunk, struct use *most) {
    for (int kind = 0; kind < TSIM_N_PASS_KINDS; kind++) {
        const struct tsim_pass_cost *cost = &chunk->ways[kind].whole;
        if (cost->time_s > 0)
            raise(most, (struct use){
                            .units = 1,
                            .memory = 1,
                            .scale_up = asked_per_s(plan, cost->scale_up_bytes, cost->time_s,
                                                    plan->cluster->scale_up_bytes_per_s),
                            .nic = asked_per_s(plan, cost->nic_bytes, cost->time_s, plan->cluster->nic_bytes_per_s)});
    }
}

static bool sends(const struct tsim_step_plan *plan, int32_t stage, bool to_next) {
    bool does = false;
    for (int32_t chunk = 0; chunk < plan->schedule.chunks; chunk++)
        for (int kind = 0; kind < TSIM_N_PASS_KINDS; kind++) {
            struct tsim_pass_item item = {.kind = (enum tsim_pass_kind)kind, .chunk = chunk};
            struct tsim_schedule_hop hop = tsim_schedule_hop(&plan->schedule, stage, item);
            does |= hop.sends && hop.to_next == to_next;
        }
    return does;
}

/* Messages of a stage to the next, or to the previous one; what they ask of the links that they go through. */
static struct use of_messages(const struct tsim_step_plan *plan, int32_t stage, bool to_next) {
    const struct tsim_stage_plan *sp = &plan->stages[stage];
    if (plan->schedule.stages == 1 || !sends(plan, stage, to_next))
        return (struct use){0};
    const struct tsim_step_message *message = to_next ? &sp->next : &sp->prev;
    struct use use = of_flow(&message->cost, 0, 0);
    return (struct use){.scale_up = message->on_node ? use.scale_up : 0, .nic = message->on_node ? 0 : use.nic};
}

static void raise_sharded(const struct tsim_stage_plan *sp, struct use *data) {
    raise_collective(data, &sp->root_gather);
    raise_collective(data, &sp->root_reduce);
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        raise_collective(data, &sp->layers[part].gather);
        raise_collective(data, &sp->layers[part].reduce);
        raise_collective(data, &sp->layers[part].regather);
    }
}

/* Raises what the compute and the data stream ask for. */
static void raise_streams(const struct tsim_step_plan *plan, int32_t stage, struct use *compute, struct use *data) {
    const struct tsim_stage_plan *sp = &plan->stages[stage];
    for (int32_t c = 0; c < plan->schedule.chunks; c++) {
        raise_passes(plan, &sp->chunks[c], compute);
        if (!plan->has_data_group || plan->shards_fully)
            continue;
        raise_collective(plan->overlaps_gathers ? data : compute, &sp->chunks[c].gather);
        raise_collective(plan->overlaps_reduces ? data : compute, &sp->chunks[c].reduce);
    }
    if (plan->has_data_group && plan->shards_fully)
        raise_sharded(sp, data);
    if (plan->plays_operators != TSIM_OPERATORS_OF_NONE)
        raise_operators(sp->programs, TSIM_N_AXES, compute);
    if (plan->has_tied_reduction)
        raise_collective(compute, &plan->tied);
}

static void add(struct tsim_peak_demand *most, double units_per_s) {
    most->units_per_s += units_per_s;
    most->n_streams += units_per_s > 0;
}

void tsim_stage_group_peaks_find(const struct tsim_step_plan *plan, int32_t stage,
                                 struct tsim_stage_group_peaks *most) {
    int32_t p = plan->schedule.stages;
    struct use compute = {0}, data = {0};
    raise_streams(plan, stage, &compute, &data);
    const struct use out[] = {compute, data, of_messages(plan, stage, true), of_messages(plan, stage, false)},
                     in[] = {compute, data, of_messages(plan, (stage + p - 1) % p, true),
                             of_messages(plan, (stage + 1) % p, false)};
    *most = (struct tsim_stage_group_peaks){.units = {0, 0}};
    bool plays = plan->plays_operators != TSIM_OPERATORS_OF_NONE;
    for (int axis = 0; plays && axis < TSIM_AXIS_PIPELINE; axis++) {
        struct use beside = {0};
        raise_operators(plan->stages[stage].programs, (enum tsim_axis)axis, &beside);
        add(&most->units, beside.units);
        add(&most->memory, beside.memory);
        add(&most->scale_up_out, beside.scale_up);
        add(&most->scale_up_in, beside.scale_up);
        add(&most->nic_out, beside.nic);
        add(&most->nic_in, beside.nic);
    }
    for (int i = 0; i < 4; i++) {
        add(&most->units, out[i].units);
        add(&most->memory, out[i].memory);
        add(&most->scale_up_out, out[i].scale_up);
        add(&most->scale_up_in, in[i].scale_up);
        add(&most->nic_out, out[i].nic);
        add(&most->nic_in, in[i].nic);
    }
}
