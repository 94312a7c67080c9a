#include "step/groups/pass_tasks.h"

#include "model/model.h"
#include "step/groups/copies.h"
#include "step/pass/pass_alone.h"

#include <string.h>

enum { MOST_COLLECTIVES = 32 };

/* Returns the same collective for equal requests. */
static const struct tsim_data_collective *find_collective(struct tsim_step_plan *plan,
                                                          const struct tsim_played *played) {
    unsigned axes = 1u << played->axis;
    for (int32_t i = 0; i < plan->n_pass_collectives; i++) {
        const struct tsim_data_collective *known = &plan->pass_collectives[i];
        if (known->axes == axes && known->parts[0].op == played->collective &&
            known->parts[0].bytes <= played->collective_bytes && known->parts[0].bytes >= played->collective_bytes)
            return known;
    }
    TSIM_ASSERT(plan->n_pass_collectives < MOST_COLLECTIVES);
    struct tsim_data_collective *added = &plan->pass_collectives[plan->n_pass_collectives++];
    added->axes = axes;
    added->n_parts = 1;
    added->parts[0] = (struct tsim_collective_part){
        .op = played->collective, .bytes = played->collective_bytes, .among = TSIM_AMONG_ALL};
    return added;
}

void tsim_pass_collectives_build(struct tsim_arena *arena, struct tsim_step_plan *plan) {
    plan->pass_collectives = TSIM_NEW_ARRAY(arena, MOST_COLLECTIVES, struct tsim_data_collective);
    for (int32_t s = 0; s < plan->schedule.stages; s++) {
        struct tsim_pass_programs *programs = plan->stages[s].programs;
        for (int i = 0; i < TSIM_N_LAYER_WAYS * TSIM_N_PARTS; i++) {
            struct tsim_pass_program *program = &programs->of[i / TSIM_N_PARTS][i % TSIM_N_PARTS];
            for (int32_t at = 0; at < program->n; at++) {
                struct tsim_played *played = &program->at[at];
                if (played->kind == TSIM_PLAYED_COLLECTIVE && played->axis != TSIM_AXIS_EXPERT && !played->messages)
                    played->messages = find_collective(plan, played);
            }
        }
    }
}

/* ---- the place of a stream ---- */

/* Returns the parts that the segment goes through; layers that vary are one. */
static int32_t n_parts_of(const struct tsim_stage_group *group, const struct tsim_pass_cursor *w) {
    return w->has_embedding + (tsim_model_layers_vary(group->plan->scenario->model) ? 1 : (int32_t)(w->to - w->from)) +
           w->has_head;
}

/* Returns the i-th part in execution order. */
static struct tsim_pass_place place_at(const struct tsim_stage_group *group, const struct tsim_pass_cursor *w,
                                       int32_t i) {
    int32_t at = w->kind == TSIM_PASS_FORWARD ? i : w->n_parts - 1 - i;
    int64_t layer = w->from + at - w->has_embedding;
    if (w->has_embedding && at == 0)
        return (struct tsim_pass_place){TSIM_PART_EMBEDDING, -1};
    if (w->has_head && at == w->n_parts - 1)
        return (struct tsim_pass_place){TSIM_PART_HEAD, -1};
    const struct tsim_model *model = group->plan->scenario->model;
    return (struct tsim_pass_place){tsim_model_layer(model, layer), tsim_model_layers_vary(model) ? -1 : layer};
}

static const struct tsim_pass_program *program_at(const struct tsim_stage_group *group,
                                                  const struct tsim_pass_cursor *w, int32_t i) {
    struct tsim_pass_place place = place_at(group, w, i);
    int way = tsim_pass_way(w->kind, w->is_alone);
    return &group->stage_plan->programs->of[place.layer >= w->kept_from ? tsim_kept_way(way) : way][place.part];
}

/* Goes on to the first entry from where the cursor stands that the communicator of `axis` plays, or the compute stream
 * (TSIM_N_AXES); NULL at the end of the segment. */
static const struct tsim_played *entry_at(const struct tsim_stage_group *group, struct tsim_pass_cursor *w,
                                          enum tsim_axis axis) {
    for (; w->part < w->n_parts; w->part++, w->step = 0, w->program = NULL) {
        if (!w->program)
            w->program = program_at(group, w, w->part);
        w->step = tsim_pass_program_next(w->program, w->step, axis);
        if (w->step < w->program->n)
            return &w->program->at[w->step];
    }
    return NULL;
}

static bool enter(const struct tsim_stage_group *group, int32_t item, int32_t segment, struct tsim_pass_cursor *w) {
    struct tsim_segment_layers layers = tsim_stage_group_segment_layers(group, item, segment);
    struct tsim_pass_item pass = tsim_stage_group_item(group, item);
    *w = (struct tsim_pass_cursor){.kind = pass.kind,
                                   .is_alone = pass.is_alone,
                                   .has_embedding = layers.has_embedding,
                                   .has_head = layers.has_head,
                                   .from = layers.from,
                                   .to = layers.to};
    const struct tsim_chunk_plan *chunk = &group->stage_plan->chunks[pass.chunk];
    w->kept_from = chunk->first_layer + chunk->n_again;
    w->n_parts = n_parts_of(group, w);
    return tsim_pass_is_played(group, item, tsim_stage_group_n_segments(group, item) > 1);
}

/* ---- tasks ---- */

/* Adds demands with which every member sends so much a second over the links of the axis. */
static void demand_links(struct tsim_stage_group *group, enum tsim_stage_group_stream stream, int axis,
                         double scale_up_bytes_per_s, double nic_bytes_per_s, struct tsim_task *task) {
    const struct tsim_axis_meters *meters = &group->meters[axis];
    if (meters->scale_up < 0) {
        tsim_stage_group_demand(group, stream, task, meters->scale_up, scale_up_bytes_per_s);
        tsim_stage_group_demand(group, stream, task, meters->nic, nic_bytes_per_s);
        return;
    }
    for (int32_t i = 0; i < group->n_members; i++)
        tsim_stage_group_demand_links(group, stream, task, &group->members[i], TSIM_CROSSED_PASS + axis,
                                      scale_up_bytes_per_s, nic_bytes_per_s);
}

/* Stage groups of several replicas exchange tokens of experts: if they are simulated apart, they begin together, and so
 * do groups that stay in step. */
static void join_experts(struct tsim_stage_group *group, enum tsim_stage_group_stream stream, struct tsim_task *task) {
    const struct tsim_step_plan *plan = group->plan;
    int32_t n = group->keeps_step ? plan->n_replicas : plan->n_exchanging;
    if (plan->n_replicas == 1 || plan->n_exchanging <= 1)
        return;
    int64_t among = group->replica / n * plan->schedule.stages + group->stage;
    task->join = (int64_t)TSIM_TASK_OPERATOR << 56 | (int64_t)(stream != TSIM_STREAM_COMPUTE) << 55 | among << 32 |
                 group->n_exchanges[stream != TSIM_STREAM_COMPUTE]++;
    task->n_parties = n;
}

static void collective_task(struct tsim_stage_group *group, enum tsim_stage_group_stream stream,
                            const struct tsim_played *played, struct tsim_task *task) {
    if (played->messages) {
        group->asked[stream] = played->messages;
        return;
    }
    tsim_played_task(group->engine, played, 1, task);
    if (played->flow_s > 0) {
        tsim_stage_group_demand_device(group, stream, task, played->units_frac, played->memory_frac);
        if (!group->plan->is_ideal)
            demand_links(group, stream, (int)played->axis, played->scale_up_bytes_per_s, played->nic_bytes_per_s, task);
    }
    if (played->axis == TSIM_AXIS_EXPERT)
        join_experts(group, stream, task);
}

static tsim_tick kernel_ticks(const struct tsim_stage_group *group, const struct tsim_played *played) {
    return tsim_played_ticks(group->engine, played->flow_s * group->cursor.slowdown);
}

/* The communicator's stream begins at the place of the compute stream, unless it has more to do there. */
static void begin_beside(struct tsim_stage_group *group, enum tsim_axis axis) {
    struct tsim_beside_stream *b = &group->beside[axis];
    if (b->listens)
        b->cursor = group->cursor;
    b->listens = false;
}

static void add_kernels(struct tsim_stage_group *group, tsim_tick ticks) {
    group->run.kernels += ticks;
    group->run.noise += (double)ticks * (1 - group->slowdown / group->cursor.slowdown);
}

static void play(struct tsim_stage_group *group, const struct tsim_played *played, struct tsim_task *task) {
    group->run = (struct tsim_operator_run){.part = group->cursor.part,
                                            .playing = played,
                                            .waited_for = played->kind == TSIM_PLAYED_KERNEL ? NULL : played};
    switch (played->kind) {
    case TSIM_PLAYED_KERNEL:
        tsim_played_task(group->engine, played, group->cursor.slowdown, task);
        add_kernels(group, task->flow);
        tsim_stage_group_demand_device(group, TSIM_STREAM_COMPUTE, task, played->units_frac, played->memory_frac);
        return;
    case TSIM_PLAYED_COLLECTIVE:
        collective_task(group, TSIM_STREAM_COMPUTE, played, task);
        return;
    case TSIM_PLAYED_START:
        begin_beside(group, played->axis);
        tsim_communicator_meet(&group->communicators[played->axis], played, task);
        return;
    case TSIM_PLAYED_WAIT:
        tsim_communicator_meet(&group->communicators[played->axis], played, task);
        return;
    case TSIM_PLAYED_BESIDE:
        break;
    }
    TSIM_BUG("an operator of kind %d on the compute stream", (int)played->kind);
}

/* ---- what nothing can disturb ---- */

/* Returns whether nothing else uses the device, and nothing will before the compute stream itself lets it begin: the
 * data stream waits for a segment of the pass, copies wait for the pass, and what ran beside the pass is over. */
static bool is_quiet(const struct tsim_stage_group *group) {
    const struct tsim_step_plan *plan = group->plan;
    if (plan->is_stepped)
        return false;
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++)
        if (tsim_communicator_is_under_way(&group->communicators[axis]))
            return false;
    return (group->streams[TSIM_STREAM_DATA] < 0 ||
            tsim_engine_waits(group->engine, group->streams[TSIM_STREAM_DATA])) &&
           !tsim_copies_are_under_way(group);
}

/* The bytes that a run sends. */
struct sent {
    double scale_up[TSIM_AXIS_PIPELINE], nic[TSIM_AXIS_PIPELINE];
};

/* Returns whether no other activity needs the links that collectives of the axis cross, and no collective waits for
 * other stage groups to join. */
static bool is_apart(const struct tsim_stage_group *group, int axis) {
    return group->has_spare_links[axis] && !(axis == TSIM_AXIS_EXPERT && group->plan->n_replicas > 1);
}

static bool can_follow(const struct tsim_stage_group *group, const struct tsim_played *played) {
    return played->kind == TSIM_PLAYED_KERNEL ||
           (played->kind == TSIM_PLAYED_COLLECTIVE && is_apart(group, (int)played->axis));
}

static tsim_tick collective_ticks(const struct tsim_stage_group *group, const struct tsim_played *played) {
    return tsim_played_ticks(group->engine, played->latency_s) + tsim_played_ticks(group->engine, played->flow_s);
}

static tsim_tick add_entry(struct tsim_stage_group *group, const struct tsim_played *played, struct sent *sent) {
    group->run.n++;
    group->cursor.step++;
    if (played->kind == TSIM_PLAYED_KERNEL) {
        tsim_tick ticks = kernel_ticks(group, played);
        add_kernels(group, ticks);
        return ticks;
    }
    tsim_tick ticks = collective_ticks(group, played);
    group->run.exposed[played->axis] += ticks;
    sent->scale_up[played->axis] += played->scale_up_bytes_per_s * played->flow_s;
    sent->nic[played->axis] += played->nic_bytes_per_s * played->flow_s;
    return ticks;
}

/* Returns whether the cursor stands at the beginning of a part that can be taken as a whole. */
static bool is_whole(const struct tsim_stage_group *group, const struct tsim_pass_cursor *w) {
    if (w->is_told || w->step > 0)
        return false;
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++)
        if (w->program->uses[axis] && !is_apart(group, axis))
            return false;
    return true;
}

/* Takes the part from `now` on, with everything that runs beside its kernels. Returns false if it must be played. */
static bool add_part(struct tsim_stage_group *group, tsim_tick now, tsim_tick *ticks, struct sent *sent) {
    struct tsim_pass_cursor *w = &group->cursor;
    struct tsim_operator_run *run = &group->run;
    const struct tsim_part_alone *part = tsim_part_alone_find(w->program, w->slowdown, now, &group->host);
    if (!part)
        return false;
    tsim_tick kernels = part->ticks - part->host;
    run->host += part->host;
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++) {
        kernels -= part->exposed[axis];
        run->exposed[axis] += part->exposed[axis];
        sent->scale_up[axis] += part->scale_up_bytes[axis];
        sent->nic[axis] += part->nic_bytes[axis];
    }
    add_kernels(group, kernels);
    *ticks += part->ticks;
    run->n++;
    w->part++;
    w->step = 0;
    w->program = NULL;
    return true;
}

/* The run loads the links evenly: a task has room for all meters, so these come first. Folded, the links of all axes
 * are the same. */
static void send_all(struct tsim_stage_group *group, const struct sent *sent, struct tsim_task *task) {
    double all_scale_up = 0, all_nic = 0;
    for (int i = 0; i < 2 * TSIM_AXIS_PIPELINE && task->work > 0; i++) {
        int axis = i % TSIM_AXIS_PIPELINE;
        double scale_up = sent->scale_up[axis] / task->work, nic = sent->nic[axis] / task->work;
        bool comes_first = group->meters[axis].scale_up < 0;
        if (comes_first != (i < TSIM_AXIS_PIPELINE) || !(scale_up > 0 || nic > 0))
            continue;
        all_scale_up += scale_up;
        all_nic += nic;
        if (group->links)
            demand_links(group, TSIM_STREAM_COMPUTE, axis, scale_up, nic, task);
    }
    if (!group->links)
        demand_links(group, TSIM_STREAM_COMPUTE, TSIM_AXIS_TENSOR, all_scale_up, all_nic, task);
}

/* Makes of `task` all from here on that nothing can disturb: it takes to the tick what it would take one by one. False:
 * not even the first operator can be. */
static bool run_task(struct tsim_stage_group *group, const struct tsim_played *played, struct tsim_task *task) {
    if (!is_quiet(group))
        return false;
    struct tsim_pass_cursor *w = &group->cursor;
    struct sent sent = {{0}, {0}};
    tsim_tick ticks = 0, now = tsim_engine_now(group->engine);
    group->run = (struct tsim_operator_run){.part = w->part, .step = w->step, .before = group->host};
    for (; played && ticks < TSIM_STEP_END / 4; played = entry_at(group, w, TSIM_N_AXES)) {
        if (is_whole(group, w) && add_part(group, now + ticks, &ticks, &sent))
            continue;
        if (!can_follow(group, played))
            break;
        tsim_tick begin = tsim_host_launch(group->engine, &group->host, played, now + ticks);
        group->run.host += begin - now - ticks;
        ticks = begin - now + add_entry(group, played, &sent);
    }
    if (group->run.n == 0)
        return false;
    task->work = tsim_engine_seconds(group->engine, ticks);
    task->bound_per_s = 1;
    task->flow = ticks;
    if (!group->plan->is_ideal)
        send_all(group, &sent, task);
    return true;
}

/* ---- the compute stream ---- */

bool tsim_pass_tasks_begin(struct tsim_stage_group *group, int32_t item, int32_t segment,
                           const struct tsim_pass_cost *cost) {
    struct tsim_pass_cursor *w = &group->cursor;
    bool plays = group->plan->plays_operators != TSIM_OPERATORS_OF_NONE && enter(group, item, segment, w) &&
                 entry_at(group, w, TSIM_N_AXES);
    bool is_last = segment == tsim_stage_group_n_segments(group, item) - 1, copies = group->plan->has_copies;
    if (!plays)
        *w = (struct tsim_pass_cursor){.is_one_task = true, .cost = *cost};
    w->is_told = tsim_stage_group_tells(group, item + tsim_stage_group_n_left_out(group));
    w->begins_copies = copies && segment == 0 && tsim_copies_begin_with(group, item);
    w->ends_copies = copies && is_last && tsim_copies_end_with(group, item);
    group->plays_pass = plays;
    group->host.meets = segment == 0 || !plays;
    w->is_active = plays || w->begins_copies || w->ends_copies;
    w->slowdown = plays ? tsim_stage_group_slowdown(group, item, segment) : 1;
    w->label = tsim_label(TSIM_TASK_PASS, item, segment);
    return w->is_active;
}

/* Copies that began with the pass are over. */
static void copies_task(struct tsim_stage_group *group, struct tsim_task *task) {
    task->waits[task->n_waits++] = group->copied + tsim_label_item(group->cursor.label);
    group->run = (struct tsim_operator_run){.waits_for_copies = true};
}

/* Returns whether a task that takes no time opens the pass. Only when everything that the pass waits for is there, it
 * is known how long its first kernels wait for the host, and copies may begin. */
static bool opens(struct tsim_stage_group *group, struct tsim_task *task) {
    struct tsim_pass_cursor *w = &group->cursor;
    bool begins_copies = !w->is_open && w->begins_copies, waits_for_host = group->host.is_there && group->plays_pass;
    bool waits = begins_copies || (!w->is_open && waits_for_host && (task->n_waits > 0 || task->awaited_counter >= 0));
    w->is_open = true;
    if (begins_copies)
        task->lowers[task->n_lowers++] = group->copies_go + tsim_label_item(w->label);
    if (waits)
        group->run = (struct tsim_operator_run){.part = 0};
    return waits;
}

/* Makes the task for an entry that has not been launched when the compute stream comes to it. */
static bool launch_task(struct tsim_stage_group *group, const struct tsim_played *played, struct tsim_task *task) {
    tsim_tick now = tsim_engine_now(group->engine), begin = tsim_host_launch(group->engine, &group->host, played, now);
    group->host.is_launched = true;
    group->run = (struct tsim_operator_run){.host = begin - now};
    task->latency = begin - now;
    return begin > now;
}

static void operator_task(struct tsim_stage_group *group, const struct tsim_played *played, struct tsim_task *task) {
    if (run_task(group, played, task) || launch_task(group, played, task))
        return;
    group->host.is_launched = false;
    play(group, played, task);
    group->cursor.step++;
}

static void one_task(struct tsim_stage_group *group, struct tsim_task *task) {
    tsim_stage_group_pass_task(group, &group->cursor.cost, task);
    group->cursor.is_one_task = false;
}

void tsim_pass_tasks_next(struct tsim_stage_group *group, struct tsim_task *task) {
    struct tsim_pass_cursor *w = &group->cursor;
    const struct tsim_played *played = entry_at(group, w, TSIM_N_AXES);
    task->label = tsim_label(TSIM_TASK_OPERATOR, tsim_label_item(w->label), tsim_label_segment(w->label));
    if (opens(group, task))
        return;
    bool is_one_task = w->is_one_task;
    if (is_one_task)
        one_task(group, task);
    else if (played)
        operator_task(group, played, task);
    else
        copies_task(group, task);
    if ((played || is_one_task) && (w->ends_copies || entry_at(group, w, TSIM_N_AXES)))
        return;
    task->label = w->label;
    task->n_lowers = w->n_lowers;
    memcpy(task->lowers, w->lowers, sizeof task->lowers);
    w->is_active = false;
}

/* ---- telling ---- */

struct tsim_pass_place tsim_pass_place_at(const struct tsim_stage_group *group, int32_t item, int32_t segment,
                                          int32_t part) {
    struct tsim_pass_cursor w;
    enter(group, item, segment, &w);
    return place_at(group, &w, part);
}

/* Tells of a launch. The host launches a collective that runs beside kernels where the compute stream lets it begin. */
static void tell_launch(const struct tsim_host_stream *host, const struct tsim_played *played, int32_t part,
                        tsim_operator_ended_fn ended, void *context) {
    if (host->is_there && played->host_s + played->later_host_s > 0)
        ended(context, played->kind == TSIM_PLAYED_START ? played + 1 : played, part, true, host->begin, host->free_at);
}

static bool is_told(const struct tsim_played *played) {
    return played->kind != TSIM_PLAYED_START && played->kind != TSIM_PLAYED_WAIT;
}

void tsim_pass_tasks_tell(const struct tsim_stage_group *group, tsim_tick begin, tsim_tick end, bool with_meetings,
                          tsim_operator_ended_fn ended, void *context) {
    static const struct tsim_played HOST = {
        .kind = TSIM_PLAYED_KERNEL, .bound = TSIM_BOUND_HOST, .name = "wait for the host", .phase = "host"};
    const struct tsim_operator_run *run = &group->run;
    struct tsim_pass_cursor w = group->cursor;
    if (run->n == 0) {
        const struct tsim_played *played = run->playing ? run->playing : &HOST;
        tell_launch(&group->host, played, run->part, ended, context);
        if (with_meetings || (is_told(played) && end > begin))
            ended(context, played, run->part, false, begin, end);
        return;
    }
    struct tsim_host_stream host = run->before;
    w.part = run->part;
    w.program = NULL;
    w.step = run->step;
    for (int32_t i = 0; i < run->n; i++, w.step++) {
        const struct tsim_played *played = entry_at(group, &w, TSIM_N_AXES);
        tsim_tick from = tsim_host_launch(group->engine, &host, played, begin);
        if (from > begin)
            ended(context, &HOST, w.part, false, begin, from);
        tell_launch(&host, played, w.part, ended, context);
        begin = from;
        end = begin +
              (played->kind == TSIM_PLAYED_KERNEL ? kernel_ticks(group, played) : collective_ticks(group, played));
        ended(context, played, w.part, false, begin, end);
        begin = end;
    }
}

int64_t tsim_pass_n_operators(const struct tsim_stage_group *group, bool with_launches) {
    bool counts_launches = with_launches && group->host.is_there;
    int64_t n = 0;
    for (int32_t i = 0; i < group->n_items; i++) {
        struct tsim_pass_cursor w;
        int32_t n_segments = tsim_stage_group_n_segments(group, i);
        for (int32_t segment = 0; segment < n_segments && group->items[i].microbatch == 0; segment++) {
            if (!enter(group, i, segment, &w))
                continue;
            for (int32_t part = 0; part < w.n_parts; part++)
                n += tsim_pass_program_n_operators(program_at(group, &w, part), counts_launches);
        }
    }
    return n;
}

/* ---- communicators ---- */

bool tsim_stage_group_beside(void *context, int32_t stream, struct tsim_task *task) {
    struct tsim_beside_stream *b = context;
    struct tsim_stage_group *group = b->stage_group;
    struct tsim_pass_cursor *w = &b->cursor;
    struct tsim_communicator *communicator = &group->communicators[b->axis];
    (void)stream;
    if (w->program)
        w->step = tsim_pass_program_next(w->program, w->step, b->axis);
    b->listens = !w->program || w->step == w->program->n;
    if (b->listens) {
        b->playing = NULL;
        task->label = tsim_label(TSIM_TASK_OPERATOR, -1, 0);
        tsim_communicator_listen(communicator, task);
        return true;
    }
    b->playing = &w->program->at[w->step++];
    task->label = tsim_label(TSIM_TASK_OPERATOR, tsim_label_item(w->label), tsim_label_segment(w->label));
    collective_task(group, (enum tsim_stage_group_stream)(TSIM_STREAM_BESIDE + (int)b->axis), b->playing, task);
    tsim_communicator_order(communicator, b->playing, task);
    return true;
}
