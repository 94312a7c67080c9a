#include "step/account/peak_demand.h"

#include "model/model.h"

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

/* Returns the rate that a pass that takes this long asks for. By chance (noise.h) it may be shorter, and ask for any
 * rate. */
static double asked_per_s(const struct tsim_step_plan *plan, double bytes, double time_s, double capacity_per_s) {
    if (plan->noise_deviation_frac > 0)
        return bytes > 0 ? (double)INFINITY : 0;
    return fmin(bytes / time_s, capacity_per_s);
}

/* Raises the peaks by what operators ask: kernels a device, collectives the links of their own rates. */
static void raise_operators(const struct tsim_pass_programs *programs, enum tsim_axis axis, struct use *most) {
    for (int i = 0; i < TSIM_N_LAYER_WAYS * TSIM_N_PARTS; i++) {
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

/* Does what raise_operators does for what the compute stream waits for along one axis. */
static void raise_waited_for(const struct tsim_pass_programs *programs, enum tsim_axis axis, struct use *most) {
    for (int i = 0; i < TSIM_N_LAYER_WAYS * TSIM_N_PARTS; i++) {
        const struct tsim_pass_program *program = &programs->of[i / TSIM_N_PARTS][i % TSIM_N_PARTS];
        for (int32_t at = 0; at < program->n; at++)
            if (program->at[at].kind == TSIM_PLAYED_COLLECTIVE && program->at[at].axis == axis)
                raise(most, (struct use){.scale_up = program->at[at].scale_up_bytes_per_s,
                                         .nic = program->at[at].nic_bytes_per_s});
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

/* Returns whether each collective of the stage's passes ends before another begins. Else some stand among kernels
 * beside which others run. */
static bool follow_one_another(const struct tsim_pass_programs *programs) {
    for (int i = 0; i < TSIM_N_LAYER_WAYS * TSIM_N_PARTS; i++) {
        const struct tsim_pass_program *program = &programs->of[i / TSIM_N_PARTS][i % TSIM_N_PARTS];
        int32_t under_way = 0;
        enum tsim_axis axis = TSIM_N_AXES;
        for (int32_t at = 0; at < program->n; at++) {
            const struct tsim_played *played = &program->at[at];
            if (played->kind == TSIM_PLAYED_KERNEL)
                continue;
            if (under_way > 0 && (played->axis != axis || played->kind == TSIM_PLAYED_COLLECTIVE))
                return false;
            axis = played->axis;
            if (played->kind == TSIM_PLAYED_START)
                under_way += played->count;
            else if (played->kind == TSIM_PLAYED_WAIT)
                under_way -= played->count;
        }
    }
    return true;
}

void tsim_stage_group_peaks_find(const struct tsim_step_plan *plan, int32_t stage,
                                 struct tsim_stage_group_peaks *most) {
    int32_t p = plan->schedule.stages;
    struct use compute = {0}, data = {0};
    raise_streams(plan, stage, &compute, &data);
    *most = (struct tsim_stage_group_peaks){.units = {0, 0}};
    bool plays = plan->plays_operators != TSIM_OPERATORS_OF_NONE,
         takes_turns = plays && follow_one_another(plan->stages[stage].programs);
    for (int axis = 0; plays && axis < TSIM_AXIS_PIPELINE; axis++) {
        struct use beside = {0};
        raise_operators(plan->stages[stage].programs, (enum tsim_axis)axis, &beside);
        add(&most->units, beside.units);
        add(&most->memory, beside.memory);
        if (takes_turns) {
            raise(&compute, (struct use){.scale_up = beside.scale_up, .nic = beside.nic});
            continue;
        }
        add(&most->scale_up_out, beside.scale_up);
        add(&most->scale_up_in, beside.scale_up);
        add(&most->nic_out, beside.nic);
        add(&most->nic_in, beside.nic);
    }
    const struct use out[] = {compute, data, of_messages(plan, stage, true), of_messages(plan, stage, false)},
                     in[] = {compute, data, of_messages(plan, (stage + p - 1) % p, true),
                             of_messages(plan, (stage + 1) % p, false)};
    for (int i = 0; i < 4; i++) {
        add(&most->units, out[i].units);
        add(&most->memory, out[i].memory);
        add(&most->scale_up_out, out[i].scale_up);
        add(&most->scale_up_in, in[i].scale_up);
        add(&most->nic_out, out[i].nic);
        add(&most->nic_in, in[i].nic);
    }
}

/* ---- unfolded ---- */

/* The most that a stage group asks for: in passes by axis, in those that are one task, and in collectives of the
 * data-parallel group. */
struct stage_use {
    bool takes_turns;
    struct use axes[TSIM_AXIS_PIPELINE], passes, data;
};

/* The sum of what is asked of each link, in units/s; scratch memory, 0 except for the stage group that is looked at. */
struct loads {
    double *all, *of_axis, *of_group;
};

static struct stage_use use_of_stage(const struct tsim_step_plan *plan, int32_t stage) {
    const struct tsim_stage_plan *sp = &plan->stages[stage];
    struct stage_use use = {.takes_turns = follow_one_another(sp->programs)};
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++) {
        struct use waited_for = {0};
        raise_operators(sp->programs, (enum tsim_axis)axis, &use.axes[axis]);
        raise_waited_for(sp->programs, (enum tsim_axis)axis, &waited_for);
        if (use.takes_turns) {
            raise(&use.axes[axis], waited_for);
        } else {
            use.axes[axis].scale_up += waited_for.scale_up;
            use.axes[axis].nic += waited_for.nic;
        }
    }
    for (int32_t c = 0; c < plan->schedule.chunks; c++) {
        if (plan->plays_operators != TSIM_OPERATORS_OF_ALL || tsim_model_layers_vary(plan->scenario->model))
            raise_passes(plan, &sp->chunks[c], &use.passes);
        if (plan->has_data_group && !plan->shards_fully) {
            raise_collective(&use.data, &sp->chunks[c].gather);
            raise_collective(&use.data, &sp->chunks[c].reduce);
        }
    }
    if (plan->has_data_group && plan->shards_fully)
        raise_sharded(sp, &use.data);
    return use;
}

/* Finds the k-th link that the member's collectives of a kind, or its own (TSIM_N_CROSSED), cross, with their demand on
 * it. Returns false if there are no more. */
static bool link_at(const struct tsim_member *member, int whose, int32_t k, struct use use, struct tsim_demand *load) {
    const struct tsim_crossed_links *crossed = whose < TSIM_N_CROSSED ? &member->crossed[whose] : NULL;
    if (crossed && crossed->items) {
        if (k == crossed->n)
            return false;
        const struct tsim_crossed_link *link = &crossed->items[k];
        *load = link->link;
        load->per_unit *= link->is_between_nodes ? use.nic : use.scale_up;
        return true;
    }
    const int32_t own[] = {member->scale_up_out, member->scale_up_in, member->nic_out, member->nic_in};
    if (k == 4)
        return false;
    *load = (struct tsim_demand){own[k], k < 2 ? use.scale_up : use.nic};
    return true;
}

/* Adds what all members ask of each link; what their kinds of collectives ask of it one after another is not added
 * up. */
static void add_in_turn(const struct tsim_stage_group *group, int whose, struct use use, bool takes_turns,
                        const struct loads *loads) {
    struct tsim_demand load;
    for (int32_t i = 0; i < group->n_members; i++)
        for (int32_t k = 0; link_at(&group->members[i], whose, k, use, &load); k++)
            if (load.resource >= 0)
                loads->of_axis[load.resource] += load.per_unit;
    for (int32_t i = 0; i < group->n_members; i++)
        for (int32_t k = 0; link_at(&group->members[i], whose, k, use, &load); k++)
            if (load.resource >= 0) {
                double *sum = &loads->of_group[load.resource], more = loads->of_axis[load.resource];
                *sum = takes_turns ? fmax(*sum, more) : *sum + more;
                loads->of_axis[load.resource] = 0;
            }
}

/* Moves what add_in_turn has added. */
static void move_to(const struct tsim_stage_group *group, int whose, double sign, const struct loads *loads) {
    struct tsim_demand load;
    for (int32_t i = 0; i < group->n_members; i++)
        for (int32_t k = 0; link_at(&group->members[i], whose, k, (struct use){0}, &load); k++)
            if (load.resource >= 0) {
                loads->all[load.resource] += sign * loads->of_group[load.resource];
                loads->of_group[load.resource] = 0;
            }
}

static void add_passes(const struct tsim_stage_group *group, const struct stage_use *use, const struct loads *loads) {
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++)
        add_in_turn(group, TSIM_CROSSED_PASS + axis, use->axes[axis], use->takes_turns, loads);
    add_in_turn(group, TSIM_N_CROSSED, use->passes, true, loads);
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++)
        move_to(group, TSIM_CROSSED_PASS + axis, 1, loads);
    move_to(group, TSIM_N_CROSSED, 1, loads);
}

/* Adds those of the data-parallel group, or takes them away. */
static void add_data(const struct tsim_stage_group *group, const struct stage_use *use, double sign,
                     const struct loads *loads) {
    for (int whose = TSIM_CROSSED_DATA; whose < TSIM_CROSSED_PASS; whose++)
        add_in_turn(group, whose, use->data, true, loads);
    for (int whose = TSIM_CROSSED_DATA; whose < TSIM_CROSSED_PASS; whose++)
        move_to(group, whose, sign, loads);
}

static void add_sent(const struct tsim_stage_group *group, int what, struct use use, const struct loads *loads) {
    const struct tsim_crossed_links *sent = &group->sent[what];
    for (int32_t i = 0; i < sent->n; i++)
        loads->all[sent->items[i].link.resource] += sent->items[i].link.per_unit * fmax(use.scale_up, use.nic);
}

/* Adds the messages to other stages; a tied table is summed by the first and the last. */
static void add_to_stages(const struct tsim_stage_group *group, const struct loads *loads) {
    const struct tsim_step_plan *plan = group->plan;
    struct use tied = {0};
    if (plan->schedule.stages > 1 && sends(plan, group->stage, true))
        add_sent(group, TSIM_SENT_TO_NEXT, of_flow(&group->to_next.cost, 0, 0), loads);
    if (plan->schedule.stages > 1 && sends(plan, group->stage, false))
        add_sent(group, TSIM_SENT_TO_PREV, of_flow(&group->to_prev.cost, 0, 0), loads);
    if (plan->has_tied_reduction)
        raise_collective(&tied, &plan->tied);
    add_sent(group, TSIM_SENT_TIED, tied, loads);
}

static bool has_room(const struct tsim_stage_group *group, int axis, struct use use, const struct loads *loads) {
    struct tsim_demand load;
    for (int32_t i = 0; i < group->n_members; i++)
        for (int32_t k = 0; link_at(&group->members[i], TSIM_CROSSED_PASS + axis, k, use, &load); k++)
            if (load.per_unit > 0 &&
                loads->all[load.resource] > tsim_engine_capacity(group->engine, load.resource) * (1 + TSIM_SUMS_FRAC))
                return false;
    return true;
}

void tsim_spare_links_find(struct tsim_stage_group *groups, int32_t n_groups) {
    const struct tsim_step_plan *plan = groups[0].plan;
    if (plan->is_stepped || plan->plays_operators == TSIM_OPERATORS_OF_NONE || plan->gathers_products ||
        plan->scenario->cluster.n_background > 0)
        return;
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    size_t n = (size_t)tsim_engine_n_resources(groups[0].engine);
    const struct loads loads = {TSIM_NEW_ARRAY(&arena, n, double), TSIM_NEW_ARRAY(&arena, n, double),
                                TSIM_NEW_ARRAY(&arena, n, double)};
    struct stage_use *uses = TSIM_NEW_ARRAY(&arena, (size_t)plan->schedule.stages, struct stage_use);
    for (int32_t s = 0; s < plan->schedule.stages; s++)
        uses[s] = use_of_stage(plan, s);
    for (int32_t g = 0; g < n_groups; g++) {
        add_passes(&groups[g], &uses[groups[g].stage], &loads);
        add_data(&groups[g], &uses[groups[g].stage], 1, &loads);
        add_to_stages(&groups[g], &loads);
    }
    for (int32_t g = 0; g < n_groups; g++) {
        const struct stage_use *use = &uses[groups[g].stage];
        for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++)
            if ((use->axes[axis].scale_up > 0 || use->axes[axis].nic > 0) &&
                has_room(&groups[g], axis, use->axes[axis], &loads))
                groups[g].meters[axis] = (struct tsim_axis_meters){tsim_engine_add_meter(groups[g].engine),
                                                                   tsim_engine_add_meter(groups[g].engine)};
        add_data(&groups[g], use, -1, &loads);
        for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++)
            groups[g].has_spare_links[axis] = has_room(&groups[g], axis, use->axes[axis], &loads);
        add_data(&groups[g], use, 1, &loads);
    }
    tsim_arena_release(&arena);
}

void tsim_spare_links_book(const struct tsim_stage_group *groups, int32_t n_groups) {
    for (int32_t g = 0; g < n_groups; g++)
        for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++) {
            const struct tsim_stage_group *group = &groups[g];
            const struct tsim_axis_meters *meters = &group->meters[axis];
            struct tsim_demand sent;
            if (meters->scale_up == 0)
                continue;
            const struct use use = {.scale_up = tsim_engine_resource_flowed(group->engine, meters->scale_up),
                                    .nic = tsim_engine_resource_flowed(group->engine, meters->nic)};
            for (int32_t i = 0; i < group->n_members; i++)
                for (int32_t k = 0; link_at(&group->members[i], TSIM_CROSSED_PASS + axis, k, use, &sent); k++)
                    if (sent.resource >= 0)
                        tsim_engine_book_flow(group->engine, sent.resource, sent.per_unit);
        }
}

void tsim_spare_meters_find(struct tsim_stage_group *group) {
    const struct tsim_member *member = &group->members[0];
    bool has_scale_up = member->scale_up_out < 0 && member->scale_up_in < 0,
         has_nic = member->nic_out < 0 && member->nic_in < 0;
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE && group->stage_plan->programs; axis++) {
        struct use use = {0};
        raise_operators(group->stage_plan->programs, (enum tsim_axis)axis, &use);
        raise_waited_for(group->stage_plan->programs, (enum tsim_axis)axis, &use);
        group->has_spare_links[axis] =
            group->plan->is_ideal || ((has_scale_up || !(use.scale_up > 0)) && (has_nic || !(use.nic > 0)));
    }
}
