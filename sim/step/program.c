#include "step/program.h"

#include "cluster/power.h"
#include "model/model.h"
#include "step/account/account.h"
#include "step/account/alike_links.h"
#include "step/account/link_utilization.h"
#include "step/account/peak_demand.h"
#include "step/account/periods.h"
#include "step/bound.h"
#include "step/folding/folding.h"
#include "step/folding/in_step.h"
#include "step/groups/background.h"
#include "step/groups/copies.h"
#include "step/groups/input_reads.h"
#include "step/groups/pass_tasks.h"
#include "step/groups/stage_group.h"

#include <math.h>
#include <string.h>

struct stream_owner {
    struct tsim_stage_group *stage_group;
    enum tsim_stage_group_stream stream;
    struct tsim_task_events *events; /* of the task under way; NULL: nobody needs them */
};

/* The time that the passes of a step take alone has so many samples of the links. */
enum { N_LINK_SAMPLES = 200 };

struct step_run {
    const struct tsim_step_plan *plan;
    struct tsim_engine *engine;
    struct tsim_stage_group *stage_groups;
    struct stream_owner *owners; /* by stream */
    const struct tsim_placement *placement;
    struct tsim_step_links links; /* unfolded */
    bool has_links;
    int32_t n_stage_groups, n_owned; /* stage groups' streams come first */
    tsim_tick end;                   /* of the last task of a stage group */
    const struct tsim_step_sink *sink;
    struct tsim_background_flow *background;
    struct tsim_periods *periods;      /* NULL: nothing is left out */
    bool is_due;                       /* to look for one between ticks */
    struct tsim_link_samples *samples; /* NULL: nobody listens to links */
};

/* Unfolded, messages go through the topology's links, whose users are not known; nor is the traffic of others. */
static int32_t add_resource(const struct step_run *run, double capacity, struct tsim_peak_demand most) {
    const struct tsim_scenario *sc = run->plan->scenario;
    bool can_spare = run->plan->folding == TSIM_FOLD_STAGES && sc->cluster.n_background == 0 &&
                     !run->plan->is_stepped && !run->plan->has_copies && !tsim_reads_over_nics(run->plan);
    return can_spare && tsim_never_binds(capacity, most) ? tsim_engine_add_meter(run->engine)
                                                         : tsim_engine_add_resource(run->engine, capacity);
}

/* Adds a member's own link, or returns -1 if a link of the topology takes its place. Folded, all links of a torus are
 * one; if each axis has some of them to itself, it only counts. */
static int32_t add_link(const struct step_run *run, enum tsim_link_kind kind, double bytes_per_s,
                        struct tsim_peak_demand most) {
    if (run->has_links && run->links.topology->count[kind] > 0)
        return -1;
    if (run->plan->folding == TSIM_FOLD_STAGES && tsim_axes_have_own_dimensions(run->plan->cluster, run->placement))
        return tsim_engine_add_meter(run->engine);
    return add_resource(run, fmax(bytes_per_s, 1), most);
}

static void add_resources(struct tsim_arena *arena, struct step_run *run, struct tsim_stage_group *group) {
    const struct tsim_scenario *sc = run->plan->scenario;
    const struct tsim_cluster *cluster = run->plan->cluster;
    group->n_members =
        run->plan->folding == TSIM_FOLD_STAGES ? 1 : (int32_t)(sc->parallelism.tensor * sc->parallelism.context);
    struct tsim_member *members = TSIM_NEW_ARRAY(arena, (size_t)group->n_members, struct tsim_member);
    struct tsim_stage_group_peaks most;
    tsim_stage_group_peaks_find(run->plan, group->stage, &most);
    for (int32_t i = 0; i < group->n_members; i++) {
        members[i].rank = -1;
        bool has_device = i == 0 || run->plan->is_stepped;
        members[i].units = has_device ? add_resource(run, 1, most.units) : members[0].units;
        members[i].memory = has_device ? add_resource(run, 1, most.memory) : members[0].memory;
        members[i].scale_up_out = add_link(run, TSIM_LINK_OUT, cluster->scale_up_bytes_per_s, most.scale_up_out);
        members[i].scale_up_in = add_link(run, TSIM_LINK_IN, cluster->scale_up_bytes_per_s, most.scale_up_in);
        members[i].nic_out = add_link(run, TSIM_LINK_NIC_OUT, cluster->nic_bytes_per_s, most.nic_out);
        members[i].nic_in = add_link(run, TSIM_LINK_NIC_IN, cluster->nic_bytes_per_s, most.nic_in);
    }
    if (run->has_links)
        tsim_step_links_members(&run->links, run->placement, group, members);
    tsim_copies_add_ways(group, run->has_links ? run->links.topology : NULL, members);
    group->members = members;
    group->arena = arena;
}

/* Unfolded, those of one replica may stay on a node although those of another do not. */
static void add_messages(const struct step_run *run, struct tsim_stage_group *group) {
    int32_t p = run->plan->schedule.stages;
    group->to_next = group->stage_plan->next;
    group->to_prev = group->stage_plan->prev;
    if (run->plan->folding == TSIM_FOLD_STAGES || p == 1 || group->replica == 0)
        return;
    struct tsim_coordinates at = tsim_stage_group_at(run->placement, group);
    tsim_step_message_of(run->plan, run->placement, at, (group->stage + 1) % p, &group->to_next);
    tsim_step_message_of(run->plan, run->placement, at, (group->stage + p - 1) % p, &group->to_prev);
}

/* With ZeRO-3 the root unit stays gathered after the first forward pass, and if so configured all units stay for the
 * backward pass. */
static void keep_gathered(struct tsim_stage_group *group) {
    const struct tsim_step_plan *plan = group->plan;
    bool all = !plan->scenario->parallelism.reshard_after_forward;
    for (int32_t i = 0; i < group->n_items; i++) {
        enum tsim_pass_kind kind = tsim_stage_group_item(group, i).kind;
        bool is_forward = kind == TSIM_PASS_FORWARD;
        for (int32_t unit = 0; unit < tsim_step_n_units(plan, kind); unit++)
            if (!tsim_stage_group_unit_has(group, kind, unit, true) || (unit == 0 && is_forward && i > 0) ||
                (all && !is_forward))
                tsim_engine_rearm(group->engine, group->gathered + i * plan->n_units + unit, 0);
    }
}

static int32_t n_reducing_units(const struct tsim_stage_group *group) {
    int32_t n = 0;
    for (int32_t unit = 0; unit < tsim_step_n_units(group->plan, TSIM_PASS_BACKWARD); unit++)
        n += tsim_stage_group_unit_has(group, TSIM_PASS_BACKWARD, unit, false);
    return n;
}

static void add_signals(struct tsim_arena *arena, struct step_run *run, struct tsim_stage_group *group) {
    const struct tsim_step_plan *plan = run->plan;
    int32_t slots = plan->schedule.microbatches * plan->schedule.chunks;
    struct tsim_engine *engine = run->engine;
    if (plan->schedule.stages > 1) {
        group->activation_in = tsim_engine_add_signals(engine, slots, 1);
        group->gradient_in = tsim_engine_add_signals(engine, slots, 1);
        for (int32_t i = 0; i < group->n_items; i++) /* what came in the step before */
            if (group->stage > 0 && tsim_schedule_crosses_steps(&plan->schedule, group->stage - 1, group->items[i]))
                tsim_engine_rearm(engine, group->activation_in + tsim_step_slot(plan, group->items[i]), 0);
        if (plan->sends_async) {
            group->forward_out = tsim_engine_add_signals(engine, slots, 1);
            group->backward_out = tsim_engine_add_signals(engine, slots, 1);
        }
    }
    group->activations = TSIM_NEW_ARRAY(arena, (size_t)slots * 2, struct tsim_transfer);
    group->gradients = group->activations + slots;
    if (!plan->has_data_group)
        return;
    int32_t n_gathers = group->stage_plan->n_gathers, n_done = group->stage_plan->n_reduces;
    group->n_reductions = plan->overlaps_reduces ? n_done * plan->n_rounds : 0;
    if (plan->reduces_every_microbatch)
        n_done = slots * group->most_segments;
    if (plan->shards_fully) {
        n_gathers = n_done = group->stage_plan->n_items * plan->n_units;
        group->n_reductions = plan->is_forward_only ? 0 : plan->schedule.microbatches * n_reducing_units(group);
    }
    group->gathered = tsim_engine_add_signals(engine, n_gathers, 1);
    group->segment_done = tsim_engine_add_signals(engine, n_done, 1);
    group->reductions = tsim_engine_add_counters(engine, 1);
    if (group->n_reductions > 0)
        group->reduced = tsim_engine_add_signals(engine, 1, group->n_reductions);
    if (plan->shards_fully)
        keep_gathered(group);
}

static const tsim_program_fn PROGRAMS[TSIM_STREAM_BESIDE] = {
    tsim_stage_group_compute,  tsim_stage_group_data,    tsim_stage_group_send_next, tsim_stage_group_send_prev,
    tsim_stage_group_copy_out, tsim_stage_group_copy_in, tsim_stage_group_copy_batch};

static tsim_program_fn program_of(enum tsim_stage_group_stream stream) {
    return stream >= TSIM_STREAM_BESIDE ? tsim_stage_group_beside : PROGRAMS[stream];
}

/* Gives the next task as the stage group's own program does, and keeps what the task waits for until it is told. */
static bool next_heard(void *context, int32_t stream, struct tsim_task *task) {
    struct stream_owner *owner = context;
    struct tsim_task_events *events = owner->events;
    struct tsim_stage_group *group = owner->stage_group;
    bool is_beside = owner->stream >= TSIM_STREAM_BESIDE;
    void *own = is_beside ? (void *)&group->beside[owner->stream - TSIM_STREAM_BESIDE] : (void *)group;
    if (!program_of(owner->stream)(own, stream, task))
        return false;
    *events = (struct tsim_task_events){.n_waits = task->n_waits,
                                        .n_lowers = task->n_lowers,
                                        .awaited_count = task->awaited_counter,
                                        .raised_count = task->raised_counter,
                                        .awaited = task->awaited_value};
    memcpy(events->waits, task->waits, (size_t)task->n_waits * sizeof events->waits[0]);
    memcpy(events->lowers, task->lowers, (size_t)task->n_lowers * sizeof events->lowers[0]);
    return true;
}

/* Returns whether passes of the stage have collectives along the axis that run beside their kernels. */
static bool has_beside(const struct tsim_stage_group *group, int axis) {
    const struct tsim_pass_programs *programs = group->stage_plan->programs;
    bool has = false;
    for (int i = 0; programs && i < TSIM_N_LAYER_WAYS * TSIM_N_PARTS; i++)
        has |= programs->of[i / TSIM_N_PARTS][i % TSIM_N_PARTS].n_beside[axis] > 0;
    return has;
}

static bool has_stream(const struct step_run *run, const struct tsim_stage_group *group, int stream) {
    switch (stream) {
    case TSIM_STREAM_COMPUTE:
        return true;
    case TSIM_STREAM_DATA:
        return run->plan->has_data_group;
    case TSIM_STREAM_NEXT:
    case TSIM_STREAM_PREV:
        return run->plan->sends_async && run->plan->schedule.stages > 1;
    case TSIM_STREAM_OUT:
        return tsim_copies_has(group, TSIM_COPY_OUT);
    case TSIM_STREAM_IN:
        return tsim_copies_has(group, TSIM_COPY_IN);
    case TSIM_STREAM_BATCH:
        return tsim_copies_has_input(group);
    default:
        return has_beside(group, stream - TSIM_STREAM_BESIDE);
    }
}

static void begin_beside(struct step_run *run, struct tsim_stage_group *group, enum tsim_axis axis) {
    group->communicators[axis] = tsim_communicator_add(run->engine);
    group->beside[axis] = (struct tsim_beside_stream){.stage_group = group, .axis = axis, .listens = true};
}

static void add_streams(struct tsim_arena *arena, struct step_run *run, struct tsim_stage_group *group) {
    for (int s = 0; s < TSIM_N_STREAMS; s++) {
        group->streams[s] = -1;
        if (!has_stream(run, group, s))
            continue;
        bool is_beside = s >= TSIM_STREAM_BESIDE;
        if (is_beside)
            begin_beside(run, group, (enum tsim_axis)(s - TSIM_STREAM_BESIDE));
        struct stream_owner *owner = &run->owners[run->n_owned];
        *owner = (struct stream_owner){.stage_group = group, .stream = (enum tsim_stage_group_stream)s};
        if (run->sink && run->sink->needs_events)
            owner->events = TSIM_NEW(arena, struct tsim_task_events);
        void *own = is_beside ? (void *)&group->beside[s - TSIM_STREAM_BESIDE] : (void *)group;
        group->streams[s] = owner->events
                                ? tsim_engine_add_stream(run->engine, next_heard, owner)
                                : tsim_engine_add_stream(run->engine, program_of((enum tsim_stage_group_stream)s), own);
        TSIM_ASSERT(group->streams[s] == run->n_owned);
        if (is_beside) /* it listens to the end */
            tsim_engine_excuse(run->engine, group->streams[s]);
        run->n_owned++;
    }
}

static void add_input(struct tsim_arena *arena, struct tsim_stage_group *group) {
    struct tsim_stage_group_account *account = group->account;
    for (int32_t i = 0; group->plan->input && i < group->stage_plan->n_items; i++)
        account->n_inputs += tsim_stage_group_takes_input(group, i);
    if (account->n_inputs > 0)
        account->input_gaps_s = TSIM_NEW_ARRAY(arena, (size_t)account->n_inputs + 1, double);
}

static struct tsim_host_stream host_stream(const struct step_run *run) {
    struct tsim_pass_launches launches = tsim_pass_launches(run->plan->scenario);
    if (!run->plan->plays_operators || !(launches.each_s > 0))
        return (struct tsim_host_stream){.is_there = false};
    return (struct tsim_host_stream){
        .is_there = true,
        .ahead = launches.most_ahead_s > 0 ? tsim_engine_ticks(run->engine, launches.most_ahead_s) : 0};
}

/* Accelerators that the stage group stands for: of one replica, or of those that exchange tokens with it, too. */
static int32_t multiplicity_of(const struct step_run *run, const struct tsim_stage_group *group) {
    const struct tsim_step_plan *plan = run->plan;
    int32_t each = run->placement->size[TSIM_AXIS_TENSOR] * run->placement->size[TSIM_AXIS_CONTEXT];
    int32_t of_one = plan->stand_ins.n * plan->n_exchanging / plan->n_replicas;
    return each * of_one * plan->stand_ins.counts[group->replica / plan->n_exchanging];
}

static void add_stage_groups(struct tsim_arena *arena, struct step_run *run,
                             struct tsim_stage_group_account *accounts) {
    int32_t p = run->plan->schedule.stages;
    run->stage_groups = TSIM_NEW_ARRAY(arena, (size_t)run->n_stage_groups, struct tsim_stage_group);
    for (int32_t i = 0; i < run->n_stage_groups; i++) {
        struct tsim_stage_group *group = &run->stage_groups[i];
        int32_t first = i / p * p, stage = i % p;
        group->plan = run->plan;
        group->stage_plan = &run->plan->stages[stage];
        group->engine = run->engine;
        group->stage = stage;
        group->replica = i / p;
        group->next = &run->stage_groups[first + (stage + 1) % p];
        group->prev = &run->stage_groups[first + (stage + p - 1) % p];
        group->items = group->stage_plan->items;
        group->n_items = group->stage_plan->n_items;
        group->account = &accounts[i];
        accounts[i].stage = stage;
        accounts[i].replica = group->replica;
        accounts[i].multiplicity = multiplicity_of(run, group);
        add_resources(arena, run, group);
        add_messages(run, group);
        group->slowdown =
            tsim_slowdown_of(run->plan->scenario, run->placement, tsim_stage_group_at(run->placement, group));
        group->host = host_stream(run);
        tsim_account_begin(arena, group);
        add_signals(arena, run, group);
        tsim_copies_add_signals(group);
        add_streams(arena, run, group);
    }
}

static int64_t message_number(const struct step_run *run, const struct tsim_stage_group *to,
                              struct tsim_pass_item item) {
    int64_t slots = (int64_t)run->plan->schedule.microbatches * run->plan->schedule.chunks;
    return ((to - run->stage_groups) * 2 + (item.kind != TSIM_PASS_FORWARD)) * slots + tsim_step_slot(run->plan, item);
}

static void tell_pass(const struct step_run *run, const struct tsim_stage_group *group, int32_t item,
                      struct tsim_step_task *task) {
    struct tsim_pass_cost cost;
    tsim_stage_group_segment_cost(group, item, task->segment, &cost);
    task->is_last_segment = task->segment == tsim_stage_group_n_segments(group, item) - 1;
    task->flops = cost.flops;
    task->matrix_busy_s = cost.matrix_busy_s;
    task->memory_busy_s = cost.memory_busy_s;
    task->scale_up_bytes = cost.scale_up_bytes;
    task->nic_bytes = cost.nic_bytes;
    struct tsim_segment_layers layers = tsim_stage_group_segment_layers(group, item, task->segment);
    task->model_parts = tsim_model_layers(run->plan->scenario->model, layers.from, layers.to);
    const struct tsim_chunk_plan *chunk = &group->stage_plan->chunks[task->item->chunk];
    int64_t kept_from = chunk->first_layer + chunk->n_again;
    if (kept_from < layers.to)
        task->kept_parts =
            tsim_model_layers(run->plan->scenario->model, kept_from > layers.from ? kept_from : layers.from, layers.to);
    bool has_ends = tsim_model_has_ends(run->plan->scenario->model);
    task->model_parts.times[TSIM_PART_EMBEDDING] = has_ends && layers.has_embedding;
    task->model_parts.times[TSIM_PART_HEAD] = has_ends && layers.has_head;
    if (task->segment == 0 && tsim_stage_group_receives(group, *task->item))
        task->message = message_number(run, group, *task->item);
}

static void tell_message(const struct step_run *run, const struct tsim_stage_group *group,
                         struct tsim_step_task *task) {
    struct tsim_pass_item there;
    struct tsim_stage_group *to;
    tsim_stage_group_route(group, *task->item, &to, &there);
    const struct tsim_collective_cost *cost = tsim_stage_group_message(group, *task->item);
    task->scale_up_bytes = cost->scale_up_bytes;
    task->nic_bytes = cost->nic_bytes;
    task->to_stage_group = (int32_t)(to - run->stage_groups);
    task->message = message_number(run, to, there);
}

/* Message by message it is one task; otherwise the task of this group, or of the last group if that is -1. */
static void tell_collective(const struct step_run *run, const struct tsim_data_collective *collective, int32_t group,
                            struct tsim_step_task *task) {
    const struct tsim_group_collective *own = &collective->groups[group < 0 ? collective->n_groups - 1 : group];
    bool is_whole = run->plan->is_stepped;
    const struct tsim_collective_cost *cost = is_whole ? &collective->cost : &own->cost;
    task->scale_up_bytes = cost->scale_up_bytes;
    task->nic_bytes = cost->nic_bytes;
    task->parts = is_whole ? collective->parts : &collective->parts[own->first_part];
    task->n_parts = is_whole ? collective->n_parts : own->n_parts;
}

/* Buckets are numbered through all micro-batches if each micro-batch is reduced. */
static int32_t reduction_number(const struct tsim_stage_group *group, int32_t item, int32_t segment) {
    const struct tsim_stage_plan *sp = group->stage_plan;
    if (item < 0 || group->plan->shards_fully)
        return segment;
    return sp->items[item].microbatch * sp->n_reduces + sp->chunks[sp->items[item].chunk].first_reduce + segment;
}

static void tell_operator(const struct step_run *run, const struct tsim_stage_group *group,
                          const struct tsim_periods_task *ended) {
    const struct tsim_played *played = ended->played;
    int32_t item = tsim_label_item(ended->label), segment = tsim_label_segment(ended->label);
    struct tsim_pass_place place =
        tsim_pass_place_at(group, item - tsim_stage_group_n_left_out(group), segment, ended->part);
    bool is_collective = played->kind == TSIM_PLAYED_COLLECTIVE || played->kind == TSIM_PLAYED_BESIDE;
    double work = ended->is_launch ? 0 : 1;
    const struct tsim_step_operator op = {
        .name = played->name,
        .phase = played->phase,
        .part = place.part,
        .layer = place.layer,
        .bound = ended->is_launch ? TSIM_BOUND_HOST : played->bound,
        .is_collective = is_collective,
        .is_meeting = !is_collective && (played->kind != TSIM_PLAYED_KERNEL || ended->end == ended->begin),
        .axis = played->axis,
        .collective = played->collective,
        .collective_bytes = played->collective_bytes,
        .is_beside = played->kind == TSIM_PLAYED_BESIDE,
        .goes_once_per_node = played->once_per_node,
        .piece = played->piece,
        .n_pieces = played->n_pieces,
        .hbm_bytes = played->hbm_bytes * work};
    const struct tsim_step_task task = {
        .stage_group = ended->stage_group,
        .stream = ended->is_launch ? TSIM_STREAM_HOST
                  : is_collective  ? (enum tsim_stage_group_stream)(TSIM_STREAM_BESIDE + (int)played->axis)
                                   : TSIM_STREAM_COMPUTE,
        .kind = TSIM_TASK_OPERATOR,
        .item = &group->stage_plan->items[item],
        .op = &op,
        .segment = segment,
        .begin_s = tsim_engine_seconds(run->engine, ended->begin),
        .end_s = tsim_engine_seconds(run->engine, ended->end),
        .flops = played->flops * work,
        .scale_up_bytes = played->scale_up_bytes_per_s * played->flow_s * work,
        .nic_bytes = played->nic_bytes_per_s * played->flow_s * work,
        .to_stage_group = -1,
        .message = -1,
        .events = run->owners[ended->stream].events};
    run->sink->take(run->sink->context, &task);
}

static void tell(void *context, const struct tsim_periods_task *ended) {
    const struct step_run *run = context;
    const struct stream_owner *owner = &run->owners[ended->stream];
    const struct tsim_stage_group *group = owner->stage_group;
    int64_t label = ended->label;
    if (ended->played) {
        const struct tsim_pass_item *item = &group->stage_plan->items[tsim_label_item(label)];
        if (!run->sink->wants_item || run->sink->wants_item(run->sink->context, item))
            tell_operator(run, group, ended);
        return;
    }
    struct tsim_step_task task = {.stage_group = ended->stage_group,
                                  .stream = owner->stream,
                                  .kind = tsim_label_kind(label),
                                  .segment = tsim_label_segment(label),
                                  .begin_s = tsim_engine_seconds(run->engine, ended->begin),
                                  .end_s = tsim_engine_seconds(run->engine, ended->end),
                                  .to_stage_group = -1,
                                  .message = -1,
                                  .events = owner->events};
    int32_t item = tsim_label_item(label);
    if (task.kind == TSIM_TASK_PASS || task.kind == TSIM_TASK_SEND || task.kind == TSIM_TASK_INPUT ||
        (task.kind == TSIM_TASK_COPY && item >= 0))
        task.item = &group->stage_plan->items[item];
    if (task.kind == TSIM_TASK_PASS)
        tell_pass(run, group, item - tsim_stage_group_n_left_out(group), &task);
    else if (task.kind == TSIM_TASK_SEND)
        tell_message(run, group, &task);
    else if (task.kind == TSIM_TASK_GATHER || task.kind == TSIM_TASK_REDUCE)
        tell_collective(
            run,
            tsim_stage_group_data_collective(group, task.kind == TSIM_TASK_GATHER, item, tsim_label_segment(label)),
            ended->part, &task);
    if (task.kind == TSIM_TASK_REDUCE)
        task.segment = reduction_number(group, item, task.segment);
    else if (task.kind == TSIM_TASK_TIED)
        tell_collective(run, &run->plan->tied, -1, &task);
    run->sink->take(run->sink->context, &task);
}

static void tell_and_note(struct step_run *run, struct tsim_periods_task ended) {
    const struct tsim_stage_group *group = run->owners[ended.stream].stage_group;
    tsim_tick later = tsim_periods_ticks(run->periods);
    ended.label = tsim_label_moved(ended.label, tsim_stage_group_n_left_out(group));
    ended.begin += later;
    ended.end += later;
    ended.stage_group = (int32_t)(group - run->stage_groups);
    tell(run, &ended);
    if (run->periods)
        tsim_periods_note(run->periods, &ended);
}

struct telling {
    struct step_run *run;
    int32_t stream;
    int64_t label;
};

static void tell_played(void *context, const struct tsim_played *played, int32_t part, bool is_launch, tsim_tick begin,
                        tsim_tick end) {
    const struct telling *t = context;
    if (is_launch && !t->run->sink->wants_launches)
        return;
    tell_and_note(t->run, (struct tsim_periods_task){.label = t->label,
                                                     .begin = begin,
                                                     .end = end,
                                                     .stream = t->stream,
                                                     .played = played,
                                                     .is_launch = is_launch,
                                                     .part = part});
    struct tsim_task_events *events = t->run->owners[t->stream].events;
    if (events) { /* the operators after the first of a task wait for nothing else */
        events->n_waits = 0;
        events->awaited_count = -1;
    }
}

/* Tells which operators of a pass the task plays. Message by message, a collective begins when the operator before it
 * has ended. */
static void tell_operators(struct step_run *run, int32_t stream, int64_t label, tsim_tick begin, tsim_tick end) {
    const struct tsim_stage_group *group = run->owners[stream].stage_group;
    enum tsim_task_kind kind = tsim_label_kind(label);
    struct telling telling = {run, stream, label};
    int axis = (int)run->owners[stream].stream - TSIM_STREAM_BESIDE;
    if (axis >= 0 ? !group->beside[axis].cursor.is_told : !group->cursor.is_told)
        return;
    if (axis >= 0 && group->beside[axis].playing)
        tell_played(&telling, group->beside[axis].playing, group->beside[axis].cursor.part, false, begin, end);
    else if (run->owners[stream].stream == TSIM_STREAM_COMPUTE && group->plays_pass &&
             (kind == TSIM_TASK_OPERATOR || kind == TSIM_TASK_PASS))
        tsim_pass_tasks_tell(group, run->plan->is_stepped && group->has_operators ? group->operator_end : begin, end,
                             run->sink->needs_events, tell_played, &telling);
}

/* Message by message, a collective's tasks take no time; the time between them counts. */
static void account_data(const struct step_run *run, struct tsim_stage_group *group, int64_t label, tsim_tick begin,
                         tsim_tick end) {
    bool is_go = tsim_label_kind(label) == TSIM_TASK_GO,
         is_first = is_go && group->expanding[TSIM_STREAM_DATA].part == 0;
    tsim_tick from = run->plan->is_stepped && !is_first ? group->go_end : begin;
    group->totals[TSIM_TOTAL_DATA_BUSY] += end - from;
    group->go_end = end;
    if (is_go)
        return;
    group->totals[TSIM_TOTAL_REDUCTIONS] += tsim_label_kind(label) == TSIM_TASK_REDUCE;
    tsim_account_data(group, label);
}

static __attribute__((noinline)) void tell_sink(struct step_run *run, int32_t stream, int64_t label, tsim_tick begin,
                                                tsim_tick end) {
    const struct tsim_stage_group *group = run->owners[stream].stage_group;
    const struct tsim_expanding *expanding = &group->expanding[run->owners[stream].stream];
    bool is_go = tsim_label_kind(label) == TSIM_TASK_GO;
    bool is_whole =
        run->plan->is_stepped && run->owners[stream].stream == TSIM_STREAM_DATA && (!is_go || expanding->part > 0);
    bool is_cut = tsim_label_kind(label) == TSIM_TASK_PASS && group->has_operators;
    bool is_part = is_go && !run->plan->is_stepped && expanding->part > 0; /* else kernels before the first */
    tell_and_note(run, (struct tsim_periods_task){.label = is_part ? expanding->label : label,
                                                  .begin = is_cut     ? group->steps_begin
                                                           : is_whole ? group->go_end
                                                                      : begin,
                                                  .end = end,
                                                  .stream = stream,
                                                  .part = is_part ? expanding->part - 1 : -1});
}

static void observe(void *context, int32_t stream, int64_t label, tsim_tick ready, tsim_tick begin, tsim_tick end) {
    struct step_run *run = context;
    if (stream >= run->n_owned)
        return; /* messages: their collective's own task is seen */
    struct tsim_stage_group *group = run->owners[stream].stage_group;
    run->end = end;
    if (run->sink && run->sink->wants_operators && run->plan->plays_operators == TSIM_OPERATORS_OF_ALL)
        tell_operators(run, stream, label, begin, end);
    if (run->sink && !tsim_label_is_operator(label))
        tell_sink(run, stream, label, begin, end);
    switch (run->owners[stream].stream) {
    case TSIM_STREAM_COMPUTE:
        if (run->periods && group == run->stage_groups)
            run->is_due |= tsim_periods_is_due(run->periods, label);
        tsim_account_compute(group, label, ready, begin, end);
        return;
    case TSIM_STREAM_DATA:
        account_data(run, group, label, begin, end);
        return;
    case TSIM_STREAM_NEXT:
    case TSIM_STREAM_PREV:
        group->totals[TSIM_TOTAL_SEND_BUSY] += end - begin;
        tsim_account_transfer(group, label, begin, end);
        return;
    case TSIM_STREAM_OUT:
    case TSIM_STREAM_IN:
    case TSIM_STREAM_BATCH:
        group->copies_end = end;
        return;
    case TSIM_STREAM_BESIDE:
    case TSIM_N_STREAMS:
        break;
    }
    int axis = (int)run->owners[stream].stream - TSIM_STREAM_BESIDE;
    if (group->beside[axis].playing)
        tsim_communicator_ended(&group->communicators[axis], end);
}

/* Finds the replicas that are simulated for others. If exchanges of experts are folded, too, the first stands for
 * all. */
static const int32_t *find_stand_ins(const struct step_run *run, struct tsim_arena *arena) {
    const struct tsim_step_plan *plan = run->plan;
    int32_t n = (int32_t)plan->scenario->parallelism.data, n_each = plan->n_exchanging,
            *stand_ins = TSIM_NEW_ARRAY(arena, (size_t)n, int32_t);
    for (int32_t i = 0; i < n; i++)
        stand_ins[i] = plan->n_replicas == 1 ? 0 : plan->stand_ins.of[i / n_each] * n_each + i % n_each;
    return stand_ins;
}

static const bool *told_items_of(const struct step_run *run, struct tsim_arena *arena,
                                 const struct tsim_stage_plan *stage) {
    bool *told = TSIM_NEW_ARRAY(arena, (size_t)stage->n_items, bool);
    for (int32_t i = 0; i < stage->n_items; i++)
        told[i] = run->sink->wants_item(run->sink->context, &stage->items[i]);
    return told;
}

static void begin_sink(const struct step_run *run, struct tsim_arena *arena) {
    const struct tsim_schedule_shape *schedule = &run->plan->schedule;
    struct tsim_step_outline outline = {.n_stage_groups = run->n_stage_groups,
                                        .n_stages = schedule->stages,
                                        .bypasses_norm = run->plan->bypasses_norm,
                                        .n_messages = (int64_t)run->n_stage_groups * 2 * schedule->microbatches *
                                                      schedule->chunks};
    if (run->plan->plays_operators == TSIM_OPERATORS_OF_ALL && run->sink->wants_operators) {
        int64_t *n_operators = TSIM_NEW_ARRAY(arena, (size_t)schedule->stages, int64_t);
        for (int32_t s = 0; s < schedule->stages; s++)
            n_operators[s] = tsim_pass_n_operators(&run->stage_groups[s], run->sink->wants_launches);
        outline.n_operators = n_operators;
        outline.has_launches = run->stage_groups[0].host.is_there;
    }
    outline.stand_ins = find_stand_ins(run, arena);
    run->sink->begin(run->sink->context, &outline);
    const bool **told_items = TSIM_NEW_ARRAY(arena, (size_t)schedule->stages, const bool *);
    for (int32_t i = 0; i < run->n_stage_groups && outline.n_operators; i++) {
        struct tsim_stage_group *group = &run->stage_groups[i];
        group->is_told = run->sink->wants_operators(run->sink->context, i);
        if (group->is_told && run->sink->wants_item && !told_items[group->stage])
            told_items[group->stage] = told_items_of(run, arena, group->stage_plan);
        group->told_items = told_items[group->stage];
    }
}

/* Looks for a period after a tick in which one may be over, or samples links. */
static void look(void *context) {
    struct step_run *run = context;
    run->is_due = run->samples != NULL;
    if (run->samples)
        tsim_link_samples_look(run->samples);
    else
        tsim_periods_look(run->periods);
}

static void describe(void *context, int32_t stream, int64_t label, char *text, size_t size) {
    static const char *const KINDS[] = {
        "pass",          "send",      "parameter gather",   "gradient reduction", "tied embedding reduction",
        "gradient norm", "optimizer", "operator of a pass", "batch of input",     "beginning of a collective",
        "copy"};
    struct step_run *run = context;
    bool is_stage_group = stream >= 0 && stream < run->n_owned;
    for (size_t i = 0; i < run->links.n_patterns && !is_stage_group; i++)
        if (tsim_traffic_describe(run->links.traffic[i], stream, label, text, size))
            return;
    if (!is_stage_group)
        return; /* signals go by their numbers */
    const struct tsim_stage_group *group = run->owners[stream].stage_group;
    snprintf(text, size, "replica %d stage %d: %s, item %d segment %d", group->replica, group->stage,
             KINDS[tsim_label_kind(label)], tsim_label_item(label), tsim_label_segment(label));
}

static double compute_stream_s(const struct step_run *run, const struct tsim_stage_group *group) {
    return tsim_engine_seconds(run->engine, group->last_end - group->first_begin + tsim_periods_ticks(run->periods));
}

/* Returns the time that a step takes of a stage group. Before its first message comes its data stream works already, in
 * the time of the step before; steps that follow each other cannot be closer than that stream is busy. */
static double stage_group_s(const struct step_run *run, const struct tsim_stage_group *group) {
    double own_s = compute_stream_s(run, group);
    return run->plan->bypasses_norm ? fmax(own_s, group->account->data_busy_s) : own_s;
}

/* Returns the time from one step to the next: all of it, or what the stage group takes that takes longest. */
static double period_s(const struct step_run *run) {
    if (!run->plan->bypasses_norm)
        return tsim_engine_seconds(run->engine, run->end + tsim_periods_ticks(run->periods));
    double longest_s = 0;
    for (int32_t i = 0; i < run->n_stage_groups; i++)
        longest_s = fmax(longest_s, stage_group_s(run, &run->stage_groups[i]));
    return longest_s;
}

/* A stage group that ends before the last one waits for it, because the step is over when all are. */
static void close_accounts(struct step_run *run, double time_s) {
    for (int32_t i = 0; i < run->n_stage_groups; i++) {
        struct tsim_step_terms *terms = &run->stage_groups[i].account->terms;
        double own_s = stage_group_s(run, &run->stage_groups[i]),
               data_s = own_s - compute_stream_s(run, &run->stage_groups[i]);
        terms->exposed_data_s += data_s;
        run->stage_groups[i].account->exposed_gather_s += data_s;
        terms->bubble_s += time_s - own_s;
        terms->communication_exposed_s = terms->exposed_tensor_s + terms->exposed_pipeline_s + terms->exposed_data_s +
                                         terms->exposed_context_s + terms->exposed_expert_s;
        terms->time_s = time_s;
        if (run->stage_groups[i].n_arrived > 0)
            run->stage_groups[i].account->input_gaps_s[run->stage_groups[i].n_arrived] =
                fmax(0, time_s - tsim_engine_seconds(run->engine, run->stage_groups[i].last_arrival));
    }
}

struct tsim_amount tsim_stage_group_energy(struct tsim_term_recorder *recorder, const struct tsim_cluster *cluster,
                                           const struct tsim_stage_group_account *group, double time_s) {
    struct tsim_power_use use = {.time_s = time_s,
                                 .compute_busy_s = group->matrix_busy_s,
                                 .memory_busy_s = group->memory_busy_s,
                                 .link_busy_s = fmin(time_s, group->data_busy_s + group->send_busy_s)};
    return tsim_power_use_recorded(recorder, cluster, &use);
}

static double flowed(const struct step_run *run, enum tsim_link_kind kind) {
    const struct tsim_topology *topology = run->links.topology;
    double bytes = 0;
    for (int32_t i = 0; i < topology->count[kind]; i++)
        bytes += tsim_engine_resource_flowed(run->engine, run->links.links.first_resource + topology->first[kind] + i);
    return bytes;
}

static void sum_flows(const struct step_run *run, struct tsim_step_simulation *simulation) {
    simulation->nic_out_bytes = simulation->nic_in_bytes = 0;
    if (run->has_links) {
        simulation->nic_out_bytes = flowed(run, TSIM_LINK_NIC_OUT);
        simulation->nic_in_bytes = flowed(run, TSIM_LINK_NIC_IN);
        return;
    }
    for (int32_t i = 0; i < run->n_stage_groups; i++)
        for (int32_t m = 0; m < run->stage_groups[i].n_members; m++) {
            const struct tsim_member *member = &run->stage_groups[i].members[m];
            simulation->nic_out_bytes += tsim_engine_resource_flowed(run->engine, member->nic_out);
            simulation->nic_in_bytes += tsim_engine_resource_flowed(run->engine, member->nic_in);
        }
}

enum tsim_status tsim_step_simulate(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                    const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                                    const struct tsim_pass_costs *costs, struct tsim_step_simulation *simulation,
                                    struct tsim_diags *diags) {
    return tsim_step_simulate_observed(arena, scenario, cluster, placement, costs, NULL, simulation, diags);
}

enum tsim_status tsim_step_simulate_observed(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                             const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                                             const struct tsim_pass_costs *costs, const struct tsim_step_sink *sink,
                                             struct tsim_step_simulation *simulation, struct tsim_diags *diags) {
    return tsim_step_simulate_with_late_batches(arena, scenario, cluster, placement, costs, NULL, sink, simulation,
                                                diags);
}

enum tsim_status tsim_step_simulate_with_late_batches(
    struct tsim_arena *arena, const struct tsim_scenario *scenario, const struct tsim_cluster *cluster,
    const struct tsim_placement *placement, const struct tsim_pass_costs *costs, const struct tsim_step_input *input,
    const struct tsim_step_sink *sink, struct tsim_step_simulation *simulation, struct tsim_diags *diags) {
    struct tsim_step_plan *plan = tsim_step_plan_build(arena, scenario, cluster, placement, costs, input, sink);
    tsim_fold(arena, placement, plan);
    struct step_run run = {.plan = plan, .placement = placement, .sink = sink};
    run.has_links = run.plan->folding != TSIM_FOLD_STAGES && !run.plan->is_ideal;
    struct tsim_engine_options options = {.tick_s = TSIM_STEP_TICK_S,
                                          .end_of_time = TSIM_STEP_END,
                                          .observer = observe,
                                          .describe = describe,
                                          .between = look,
                                          .calls_between = &run.is_due,
                                          .context = &run,
                                          .may_stop = true};
    /* Unfolded, what lives as long as the simulation is tens of megabytes. */
    struct tsim_arena own;
    tsim_arena_init(&own);
    struct tsim_arena *scratch = run.plan->folding == TSIM_FOLD_STAGES ? arena : &own;
    run.engine = tsim_engine_create(&options);
    run.n_stage_groups = run.plan->schedule.stages * run.plan->n_replicas;
    run.owners = TSIM_NEW_ARRAY(scratch, (size_t)run.n_stage_groups * TSIM_N_STREAMS, struct stream_owner);
    if (run.has_links)
        tsim_step_links_init(&run.links, scratch, run.plan, placement, run.engine);
    struct tsim_stage_group_account *accounts =
        TSIM_NEW_ARRAY(arena, (size_t)run.n_stage_groups, struct tsim_stage_group_account);
    add_stage_groups(scratch, &run, accounts);
    if (run.has_links)
        tsim_step_links_cross(&run.links, scratch, placement, run.stage_groups);
    tsim_copies_cross_slots(scratch, run.stage_groups, run.n_stage_groups);
    bool has_others = run.plan->has_copies || tsim_reads_over_nics(run.plan); /* whose rates are not known ahead */
    const int32_t *stands_for = NULL;                                         /* by link of the topology */
    if (run.has_links)
        run.samples =
            tsim_link_samples_new(scratch, &run.links, sink, tsim_passes_bound_s(scenario, costs) / N_LINK_SAMPLES);
    run.is_due = run.samples != NULL;
    if (run.has_links && !has_others) {
        if (!run.samples)
            tsim_spare_links_find(run.stage_groups, run.n_stage_groups);
        if (!run.plan->is_stepped && scenario->cluster.n_background == 0)
            stands_for = tsim_alike_links_find(scratch, &run.links.links, run.stage_groups, run.n_stage_groups);
    }
    if (run.samples)
        tsim_link_samples_stand(run.samples, stands_for);
    for (int32_t i = 0; i < run.n_stage_groups; i++) {
        if (!run.has_links && !has_others)
            tsim_spare_meters_find(&run.stage_groups[i]);
        add_input(arena, &run.stage_groups[i]);
        tsim_background_add(scratch, &run.stage_groups[i], &run.background);
        tsim_input_reads_add(scratch, &run.stage_groups[i]);
    }
    if (!run.samples && !(sink && sink->needs_events) && !run.plan->is_stepped && !run.plan->input &&
        !run.plan->has_copies && !(run.plan->noise_deviation_frac > 0) &&
        !tsim_is_asynchronous(run.plan->schedule.schedule))
        run.periods =
            tsim_periods_new(scratch, run.engine, run.stage_groups, run.n_stage_groups, sink ? tell : NULL, &run);
    if (run.plan->is_stepped) {
        tsim_find_groups_in_step(run.stage_groups, run.n_stage_groups);
        tsim_expansion_build(&run.links, scratch, placement, run.stage_groups, run.n_stage_groups);
    }
    if (sink)
        begin_sink(&run, arena);
    enum tsim_status status = tsim_engine_run(run.engine, diags);
    if (status == TSIM_OK) {
        tsim_link_samples_end(run.samples);
        tsim_spare_links_book(run.stage_groups, run.n_stage_groups);
        if (stands_for)
            tsim_alike_links_book(&run.links.links, stands_for);
        for (int32_t i = 0; i < run.n_stage_groups; i++)
            tsim_account_close(&run.stage_groups[i]);
        simulation->time_s = period_s(&run);
        simulation->repeated_events = tsim_periods_events(run.periods);
        simulation->events = tsim_engine_n_events(run.engine) + simulation->repeated_events;
        simulation->n_stage_groups = run.n_stage_groups;
        simulation->n_stages = run.plan->schedule.stages;
        simulation->n_replicas = run.plan->n_replicas;
        simulation->stage_groups = accounts;
        sum_flows(&run, simulation);
        tsim_link_utilization_find(arena, run.has_links ? &run.links : NULL, run.stage_groups, run.n_stage_groups,
                                   simulation);
        simulation->background = tsim_background_progress_of(arena, run.plan, run.background, simulation->time_s);
        close_accounts(&run, simulation->time_s);
    }
    tsim_periods_release(run.periods);
    tsim_step_links_release(&run.links);
    tsim_engine_release(run.engine);
    tsim_arena_release(&own);
    return status;
}
