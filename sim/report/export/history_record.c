#include "report/export/history_record.h"

#include "cost/compute.h"
#include "model/routing.h"
#include "partition/partition.h"

#include <math.h>
#include <string.h>

/* Kernels before a collective are on a stream of their own: those beside them stand still, in their own time. */
enum { NO_NODE = -1, MOST_TAIL = 2, DATA_STREAM = 1, JOIN_STREAM = 2, FIRST_COPY_STREAM = 3 };

/* The set of ranks that take part, seen from one of them. */
enum whose { NOBODY, EVERYBODY, OF_AXES, OF_AXES_ON_NODE, OF_AXES_ACROSS, OF_DATA, OF_ENDS };
struct who {
    enum whose whose;
    unsigned axes;
    enum tsim_among among;
    bool is_expert;
};

struct recorded_node {
    struct tsim_history_node node; /* deps: see first_dep */
    size_t first_dep;
    struct who who;
    enum tsim_collective_op op;
    double bytes; /* nccl-tests' size; TSIM_SEND_RECV: of all exchanges around a ring */
    int32_t peer_stage;
};

/* A node that brings an event about, and the one before it that does. */
struct cause {
    int32_t node, before;
};

/* The nodes that raise a count, in their order. */
struct count {
    int32_t number;
    int32_t *nodes;
    size_t n, capacity;
};
/* A stage group has one count of reductions and two of each communicator. */
enum { MOST_COUNTS = 1 + 2 * TSIM_AXIS_PIPELINE };

struct recorded_stage_group {
    struct recorded_node *nodes;
    size_t n_nodes, node_capacity;
    int32_t *deps;
    size_t n_deps, dep_capacity;
    struct cause *causes;
    size_t n_causes, cause_capacity;
    int32_t *last_cause; /* by event; NO_NODE: none so far */
    size_t n_events, event_capacity;
    struct count counts[MOST_COUNTS];
    int32_t n_counts;
    int32_t last[TSIM_N_STREAMS]; /* the last node of each stream */
    int32_t *met;                 /* what the next node of the compute stream waits for since meetings */
    size_t n_met, met_capacity;
    bool plays_pass; /* operators of the pass under way have been told */
};

struct recorded_part { /* the operators of a part of the model in one direction */
    bool is_known;
    int32_t n;
    struct tsim_pass_operator *rows;
    struct tsim_op *ops;
};

struct tsim_recorder {
    struct tsim_arena *arena;
    const struct tsim_scenario *scenario;
    const struct tsim_cluster *cluster;
    const struct tsim_placement *placement;
    struct tsim_step_sink sink;
    struct recorded_stage_group *stage_groups;
    int32_t n_stage_groups, n_stages;
    const int32_t *stand_ins; /* by replica: which of them was simulated for it */
    struct recorded_part parts[TSIM_N_PARTS][TSIM_N_LAYER_WAYS];
    struct tsim_history_group *groups;
    size_t n_groups, group_capacity;
};

/* ---- nodes ---- */

static void add_dep(struct recorded_stage_group *group, struct recorded_node *node, int32_t on) {
    if (on == NO_NODE || (node->node.n_deps > 0 && group->deps[group->n_deps - 1] == on))
        return;
    group->deps = tsim_heap_grow(group->deps, &group->dep_capacity, group->n_deps + 1, sizeof *group->deps);
    group->deps[group->n_deps++] = on;
    node->node.n_deps++;
}

static struct recorded_node *add_node(struct recorded_stage_group *group, enum tsim_history_kind kind, const char *name,
                                      double begin_s, double end_s) {
    group->nodes = tsim_heap_grow(group->nodes, &group->node_capacity, group->n_nodes + 1, sizeof *group->nodes);
    struct recorded_node *node = &group->nodes[group->n_nodes++];
    *node = (struct recorded_node){
        .node = {.kind = kind, .name = name, .start_s = begin_s, .duration_s = end_s - begin_s, .group = -1},
        .first_dep = group->n_deps,
        .peer_stage = -1};
    return node;
}

static int32_t newest(const struct recorded_stage_group *group) {
    return (int32_t)group->n_nodes - 1;
}

static void add_cause(struct recorded_stage_group *group, int32_t event, int32_t node) {
    group->causes = tsim_heap_grow(group->causes, &group->cause_capacity, group->n_causes + 1, sizeof *group->causes);
    group->last_cause =
        tsim_heap_grow(group->last_cause, &group->event_capacity, (size_t)event + 1, sizeof *group->last_cause);
    for (; group->n_events <= (size_t)event; group->n_events++)
        group->last_cause[group->n_events] = NO_NODE;
    group->causes[group->n_causes] = (struct cause){node, group->last_cause[event]};
    group->last_cause[event] = (int32_t)group->n_causes++;
}

static struct count *count_of(struct recorded_stage_group *group, int32_t number) {
    int32_t i = 0;
    while (i < group->n_counts && group->counts[i].number != number)
        i++;
    TSIM_ASSERT(i < MOST_COUNTS);
    if (i == group->n_counts)
        group->counts[group->n_counts++] = (struct count){.number = number};
    return &group->counts[i];
}

/* A task that was waited for has ended, so it is among the causes. */
static void add_waits(struct recorded_stage_group *group, struct recorded_node *node,
                      const struct tsim_task_events *events) {
    for (int32_t i = 0; i < events->n_waits; i++) {
        size_t event = (size_t)events->waits[i];
        for (int32_t k = event < group->n_events ? group->last_cause[event] : NO_NODE; k != NO_NODE;
             k = group->causes[k].before)
            add_dep(group, node, group->causes[k].node);
    }
    if (events->awaited_count < 0 || events->awaited <= 0)
        return;
    const struct count *count = count_of(group, events->awaited_count);
    if ((size_t)events->awaited <= count->n)
        add_dep(group, node, count->nodes[events->awaited - 1]);
}

static void raise_count(struct recorded_stage_group *group, int32_t number, int32_t node) {
    struct count *count = count_of(group, number);
    count->nodes = tsim_heap_grow(count->nodes, &count->capacity, count->n + 1, sizeof *count->nodes);
    count->nodes[count->n++] = node;
}

/* The events of a task are those of its last node. */
static void tell_events(struct recorded_stage_group *group, const struct tsim_step_task *task, int32_t node) {
    for (int32_t i = 0; i < task->events->n_lowers && task->kind != TSIM_TASK_SEND; i++)
        add_cause(group, task->events->lowers[i], node);
    if (task->events->raised_count >= 0)
        raise_count(group, task->events->raised_count, node);
}

/* ---- collectives of passes ---- */

/* A node comes after nodes, and after events of a task unless they are NULL. */
struct lead {
    const int32_t *nodes;
    size_t n_nodes;
    const struct tsim_task_events *events;
};

static void follow(struct recorded_stage_group *group, struct recorded_node *node, const struct lead *lead) {
    for (size_t i = 0; i < lead->n_nodes; i++)
        add_dep(group, node, lead->nodes[i]);
    if (lead->events)
        add_waits(group, node, lead->events);
}

struct pass_collective {
    const char *name;
    enum tsim_collective_op op;
    double bytes; /* as a recorded node's */
    enum tsim_axis axis;
    bool goes_once_per_node;
    double begin_s, end_s;
};

static void add_collective(const struct tsim_recorder *r, struct recorded_stage_group *group,
                           const struct pass_collective *c, enum whose whose, double bytes, const struct lead *lead) {
    struct recorded_node *node = add_node(group, TSIM_HISTORY_COLLECTIVE, c->name, c->begin_s, c->end_s);
    node->op = c->op;
    node->bytes = bytes;
    node->who =
        (struct who){.whose = whose, .axes = c->axis == TSIM_AXIS_EXPERT ? r->placement->expert_axes : 1u << c->axis};
    follow(group, node, lead);
}

/* Adds an all-to-all that sends one copy of a token to each node: the exchange between nodes and, beside it, the one on
 * each node; then a node that takes no time, on a stream of its own, for whatever waits for both (step/pass/pass.h). */
static void add_dispatch(const struct tsim_recorder *r, struct recorded_stage_group *group,
                         const struct pass_collective *c, const struct lead *lead) {
    const struct tsim_experts *experts = &r->scenario->model->experts;
    struct tsim_group ranks = tsim_placement_group(r->placement, r->placement->expert_axes);
    double copy_bytes = c->bytes / (double)experts->active;
    add_collective(r, group, c, OF_AXES_ACROSS, copy_bytes * tsim_routing_nodes(experts, ranks.n_nodes), lead);
    add_collective(r, group, c, OF_AXES_ON_NODE,
                   copy_bytes * tsim_routing_ranks(experts, ranks.n_nodes, ranks.max_ranks_per_node), lead);
    struct recorded_node *both = add_node(group, TSIM_HISTORY_COMPUTE, c->name, c->end_s, c->end_s);
    both->node.stream = JOIN_STREAM;
    add_dep(group, both, newest(group) - 2);
    add_dep(group, both, newest(group) - 1);
}

/* Adds a collective; the newest node is then the one that waits for all of it. */
static void add_pass_collective(const struct tsim_recorder *r, struct recorded_stage_group *group,
                                const struct pass_collective *c, const struct lead *lead) {
    bool by_node = c->goes_once_per_node && tsim_placement_group(r->placement, r->placement->expert_axes).n_nodes > 1;
    if (by_node)
        add_dispatch(r, group, c, lead);
    else
        add_collective(r, group, c, OF_AXES, c->bytes, lead);
}

/* ---- passes that are one task ---- */

static void add_row(void *context, const struct tsim_pass_operator *row) {
    struct recorded_part *part = context;
    part->ops[part->n] = *row->op;
    part->rows[part->n] = *row;
    part->rows[part->n].op = &part->ops[part->n];
    part->n++;
}

static const struct recorded_part *part_of(struct tsim_recorder *r, enum tsim_part which, int way) {
    struct recorded_part *part = &r->parts[which][way];
    size_t most = 4 * TSIM_MAX_OPS + 8 * r->scenario->model->n_list + 8;
    if (part->is_known)
        return part;
    part->is_known = true;
    part->rows = TSIM_NEW_ARRAY(r->arena, most, struct tsim_pass_operator);
    part->ops = TSIM_NEW_ARRAY(r->arena, most, struct tsim_op);
    tsim_pass_visit(r->scenario, r->cluster, r->placement, which, way, add_row, part);
    return part;
}

/* A kernel, or the end of one, that has no node yet. */
struct pending_kernel {
    const struct tsim_pass_operator *row;
    double time_s, left_s; /* elapsed, of all of it; of what has no node */
};

/* A pass while it is cut into nodes. */
struct cutting {
    struct tsim_recorder *recorder;
    struct recorded_stage_group *stage_group;
    const struct tsim_step_task *task;
    double at_s, scale;             /* the place where the next node begins; elapsed over predicted time of kernels */
    struct pending_kernel *pending; /* heap; in their order */
    size_t n_taken, n_pending, pending_capacity;
    double kernels_s;                /* of those that are pending */
    int32_t tail[MOST_TAIL], n_tail; /* what the next node waits for */
    int32_t beside;                  /* a collective that kernels still have to run beside for beside_s */
    double beside_s, beside_end_s;
    bool is_first;
};

/* The next node comes after its predecessors; the first one also after what the pass waits for. */
static struct lead lead_of(struct cutting *c) {
    struct lead lead = {c->tail, (size_t)c->n_tail, c->is_first ? c->task->events : NULL};
    c->is_first = false;
    return lead;
}

static void move_tail(struct cutting *c, int32_t node) {
    c->tail[0] = node;
    c->n_tail = 1;
}

static const char *kernel_name(struct tsim_recorder *r, const char *name, const char *phase,
                               const struct tsim_pass_item *item) {
    return tsim_arena_printf(r->arena, "%s (%s), micro-batch %d, chunk %d", name, phase, item->microbatch, item->chunk);
}

static void put_node(struct cutting *c, const struct pending_kernel *kernel, double time_s) {
    const struct tsim_pass_operator *row = kernel->row;
    const char *name = kernel_name(c->recorder, row->op->name, row->phase, c->task->item);
    struct recorded_node *node = add_node(c->stage_group, TSIM_HISTORY_COMPUTE, name, c->at_s, c->at_s + time_s);
    const struct lead lead = lead_of(c);
    node->node.n_ops = row->op->flops * time_s / kernel->time_s;
    node->node.bytes = row->op->bytes * time_s / kernel->time_s;
    follow(c->stage_group, node, &lead);
    c->at_s += time_s;
    move_tail(c, newest(c->stage_group));
}

/* Gives nodes to the first so many seconds of the kernels that have none. A kernel beside which a collective begins or
 * ends gets two. A rest by rounding goes with the rest of its kernel. */
static void put_kernels(struct cutting *c, double time_s) {
    static const double ROUNDING_S = 1e-12;
    for (; c->n_taken < c->n_pending && time_s > ROUNDING_S; c->n_taken++) {
        struct pending_kernel *kernel = &c->pending[c->n_taken];
        bool is_whole = kernel->left_s <= time_s + ROUNDING_S;
        double node_s = is_whole ? kernel->left_s : time_s;
        put_node(c, kernel, node_s);
        c->kernels_s = fmax(c->kernels_s - node_s, 0);
        kernel->left_s -= node_s;
        if (!is_whole)
            return;
        time_s -= node_s;
    }
}

/* Records kernels until no collective runs beside them; the next node waits for both. */
static void end_beside(struct cutting *c) {
    if (c->beside == NO_NODE)
        return;
    put_kernels(c, fmin(c->kernels_s, c->beside_s));
    if (newest(c->stage_group) == c->beside)
        move_tail(c, c->beside);
    else
        c->tail[c->n_tail++] = c->beside;
    c->at_s = fmax(c->at_s, c->beside_end_s);
    c->beside = NO_NODE;
}

static void put_kernel(struct cutting *c, const struct tsim_pass_operator *row) {
    double time_s = c->scale * row->time_s;
    if (!(time_s > 0))
        return;
    if (c->n_taken == c->n_pending)
        c->n_taken = c->n_pending = 0;
    c->pending = tsim_heap_grow(c->pending, &c->pending_capacity, c->n_pending + 1, sizeof *c->pending);
    c->pending[c->n_pending++] = (struct pending_kernel){row, time_s, time_s};
    c->kernels_s += time_s;
    if (c->beside != NO_NODE && c->kernels_s >= c->beside_s)
        end_beside(c);
}

/* A collective that runs beside the whole pass is recorded beside its kernels, which take longer for it. */
static double waited_s(const struct tsim_pass_operator *row) {
    return row->op->overlap == TSIM_CONCURRENT_PASS ? 0 : row->exposed_s;
}

static void put_collective(struct cutting *c, const struct tsim_pass_operator *row) {
    double hidden_s = fmax(row->time_s - waited_s(row), 0), end_s;
    end_beside(c);
    double before_s = fmin(hidden_s, c->kernels_s);
    put_kernels(c, c->kernels_s - before_s);
    const struct pass_collective one = {.name = row->op->name,
                                        .op = tsim_collective_of(row->op),
                                        .bytes = row->op->collective_bytes,
                                        .axis = row->op->axis,
                                        .goes_once_per_node = row->op->once_per_node,
                                        .begin_s = c->at_s,
                                        .end_s = c->at_s + row->time_s};
    const struct lead lead = lead_of(c);
    add_pass_collective(c->recorder, c->stage_group, &one, &lead);
    int32_t collective = newest(c->stage_group);
    end_s = c->at_s + row->time_s;
    put_kernels(c, before_s);
    if (hidden_s > before_s) { /* the kernels after it hide the rest */
        c->beside = collective;
        c->beside_s = hidden_s - before_s;
        c->beside_end_s = end_s;
        return;
    }
    if (before_s > 0)
        c->tail[c->n_tail++] = collective;
    else
        move_tail(c, collective);
    c->at_s = end_s;
}

/* The layers of a part through which a pass goes one way. */
struct portion {
    enum tsim_part which;
    int way;
    int64_t n;
};

static void put_portion(struct cutting *c, const struct portion *portion) {
    if (portion->n == 0)
        return;
    const struct recorded_part *part = part_of(c->recorder, portion->which, portion->way);
    for (int64_t k = 0; k < portion->n; k++)
        for (int32_t i = 0; i < part->n; i++) {
            if (part->rows[i].op->kind != TSIM_OP_COLLECTIVE)
                put_kernel(c, &part->rows[i]);
            else if (part->rows[i].time_s > 0)
                put_collective(c, &part->rows[i]);
        }
}

/* Adds the seconds of kernels, and of collectives that nothing hides. */
static void add_portion_s(struct tsim_recorder *r, const struct portion *portion, double *kernels_s,
                          double *exposed_s) {
    if (portion->n == 0)
        return;
    const struct recorded_part *part = part_of(r, portion->which, portion->way);
    for (int32_t i = 0; i < part->n; i++) {
        bool is_collective = part->rows[i].op->kind == TSIM_OP_COLLECTIVE;
        *(is_collective ? exposed_s : kernels_s) +=
            (double)portion->n * (is_collective ? waited_s(&part->rows[i]) : part->rows[i].time_s);
    }
}

enum { N_PORTIONS = 2 * TSIM_N_PARTS };

/* Finds the parts of a pass in the order of execution; if variants differ, all of them are in the first segment. */
static void portions_of(const struct tsim_recorder *r, const struct tsim_step_task *task,
                        struct portion out[N_PORTIONS]) {
    int way = tsim_item_way(*task->item);
    for (int i = 0; i < TSIM_N_PARTS; i++) {
        enum tsim_part part = (enum tsim_part)(task->item->kind == TSIM_PASS_FORWARD ? i : TSIM_N_PARTS - 1 - i);
        double times = task->model_parts.times[part], kept = task->kept_parts.times[part];
        bool is_at_once = times > 0 && tsim_part_variants(r->scenario->model, part) > 1;
        out[2 * i] = (struct portion){part, tsim_kept_way(way), (int64_t)kept};
        out[2 * i + 1] = (struct portion){part, way, is_at_once ? task->segment == 0 : (int64_t)(times - kept)};
    }
}

static const char *pass_name(struct tsim_recorder *r, const struct tsim_step_task *task) {
    static const char *const KINDS[TSIM_N_PASS_KINDS] = {[TSIM_PASS_FORWARD] = "forward",
                                                         [TSIM_PASS_BACKWARD] = "backward",
                                                         [TSIM_PASS_INPUT_GRADIENT] = "input gradient",
                                                         [TSIM_PASS_WEIGHT_GRADIENT] = "weight gradient"};
    return tsim_arena_printf(r->arena, "%s, micro-batch %d, chunk %d", KINDS[task->item->kind], task->item->microbatch,
                             task->item->chunk);
}

static void whole_pass(struct tsim_recorder *r, struct recorded_stage_group *group, const struct tsim_step_task *task) {
    struct recorded_node *node = add_node(group, TSIM_HISTORY_COMPUTE, pass_name(r, task), task->begin_s, task->end_s);
    node->node.n_ops = task->flops;
    node->node.bytes = task->memory_busy_s * tsim_memory_rate(r->cluster->accelerator);
    add_dep(group, node, group->last[task->stream]);
    add_waits(group, node, task->events);
}

static void record_pass(struct tsim_recorder *r, struct recorded_stage_group *group,
                        const struct tsim_step_task *task) {
    double kernels_s = 0, exposed_s = 0, elapsed_s = task->end_s - task->begin_s;
    struct portion portions[N_PORTIONS];
    portions_of(r, task, portions);
    for (int i = 0; i < N_PORTIONS; i++)
        add_portion_s(r, &portions[i], &kernels_s, &exposed_s);
    if (!(elapsed_s > exposed_s) || !(kernels_s > 0)) {
        whole_pass(r, group, task);
        return;
    }
    struct cutting c = {.recorder = r,
                        .stage_group = group,
                        .task = task,
                        .at_s = task->begin_s,
                        .scale = (elapsed_s - exposed_s) / kernels_s,
                        .beside = NO_NODE,
                        .is_first = true};
    move_tail(&c, group->last[task->stream]);
    for (int i = 0; i < N_PORTIONS; i++)
        put_portion(&c, &portions[i]);
    end_beside(&c);
    put_kernels(&c, c.kernels_s);
    if (c.n_tail > 1) { /* whoever comes next waits for one node */
        struct recorded_node *node = add_node(group, TSIM_HISTORY_COMPUTE, pass_name(r, task), c.at_s, c.at_s);
        const struct lead lead = lead_of(&c);
        follow(group, node, &lead);
    }
    tsim_heap_free(c.pending);
}

/* ---- passes that are told operator by operator ---- */

static void add_met(struct recorded_stage_group *group, int32_t node) {
    group->met = tsim_heap_grow(group->met, &group->met_capacity, group->n_met + 1, sizeof *group->met);
    group->met[group->n_met++] = node;
}

/* The next node of the stream waits for these nodes, beside the events. */
static struct lead lead_on(struct recorded_stage_group *group, enum tsim_stage_group_stream stream,
                           const struct tsim_task_events *events) {
    if (stream != TSIM_STREAM_COMPUTE)
        return (struct lead){&group->last[stream], 1, events};
    add_met(group, group->last[stream]);
    struct lead lead = {group->met, group->n_met, events};
    group->n_met = 0;
    return lead;
}

/* Records a node that takes no time, for a meeting that something other than the next kernel follows. */
static void join_met(struct tsim_recorder *r, struct recorded_stage_group *group, const struct tsim_step_task *task) {
    if (group->n_met == 0 && group->last[TSIM_STREAM_COMPUTE] != NO_NODE)
        return;
    const struct lead lead = lead_on(group, TSIM_STREAM_COMPUTE, NULL);
    follow(group, add_node(group, TSIM_HISTORY_COMPUTE, pass_name(r, task), task->end_s, task->end_s), &lead);
    group->last[TSIM_STREAM_COMPUTE] = newest(group);
}

/* Records a collective. Only a START raises a count on the compute stream; only the beginning of a pass lowers what its
 * copies wait for, and its end, which tells that itself. */
static void record_meeting(struct tsim_recorder *r, struct recorded_stage_group *group,
                           const struct tsim_step_task *task) {
    struct recorded_node waiting = {.node = {.n_deps = 0}};
    size_t n_before = group->n_deps;
    add_waits(group, &waiting, task->events);
    for (; group->n_deps > n_before; group->n_deps--)
        add_met(group, group->deps[group->n_deps - 1]);
    if (task->events->raised_count < 0 && task->events->n_lowers == 0)
        return;
    join_met(r, group, task);
    tell_events(group, task, group->last[TSIM_STREAM_COMPUTE]);
}

/* Pieces of a collective are one node, since each alone would take the latency of a whole one. A gather's ends with the
 * last piece of its product, a scatter's begins with the first, which takes as long: pieces are equal. */
static void add_piece(struct recorded_stage_group *group, int32_t node, const struct tsim_step_task *task) {
    group->nodes[node].bytes += task->op->collective_bytes;
    group->nodes[node].node.duration_s = task->end_s - group->nodes[node].node.start_s;
}

static void record_operator(struct tsim_recorder *r, struct recorded_stage_group *group,
                            const struct tsim_step_task *task) {
    const struct tsim_step_operator *op = task->op;
    enum tsim_stage_group_stream stream = op->is_beside ? task->stream : TSIM_STREAM_COMPUTE;
    group->plays_pass = true;
    if (op->is_meeting) {
        record_meeting(r, group, task);
        return;
    }
    const struct lead lead = lead_on(group, stream, task->events);
    if (op->is_collective && op->piece > 0) {
        add_piece(group, group->last[stream], task);
    } else if (op->is_collective) {
        const struct pass_collective collective = {.name = op->name,
                                                   .op = op->collective,
                                                   .bytes = op->collective_bytes,
                                                   .axis = op->axis,
                                                   .goes_once_per_node = op->goes_once_per_node,
                                                   .begin_s = task->begin_s,
                                                   .end_s = task->end_s};
        add_pass_collective(r, group, &collective, &lead);
    } else {
        struct recorded_node *node = add_node(
            group, TSIM_HISTORY_COMPUTE, kernel_name(r, op->name, op->phase, task->item), task->begin_s, task->end_s);
        node->node.is_host = op->bound == TSIM_BOUND_HOST && !(task->flops > 0) && !(op->hbm_bytes > 0);
        node->node.n_ops = task->flops;
        node->node.bytes = op->hbm_bytes;
        follow(group, node, &lead);
    }
    if (op->piece == 0)
        group->last[stream] = newest(group);
    if (op->is_beside)
        raise_count(group, task->events->raised_count, op->piece < op->n_pieces - 1 ? NO_NODE : group->last[stream]);
}

/* Ends a pass whose operators have their nodes; the events of the pass are those of the last node. */
static void end_pass(struct tsim_recorder *r, struct recorded_stage_group *group, const struct tsim_step_task *task) {
    join_met(r, group, task);
    tell_events(group, task, group->last[TSIM_STREAM_COMPUTE]);
    group->plays_pass = false;
}

/* ---- collectives and messages ---- */

static void record_parts(struct recorded_stage_group *group, const struct tsim_step_task *task, const char *name,
                         const struct who *who) {
    double each_s = (task->end_s - task->begin_s) / (task->n_parts > 0 ? task->n_parts : 1);
    for (int32_t i = 0; i < task->n_parts; i++) {
        struct recorded_node *node = add_node(group, TSIM_HISTORY_COLLECTIVE, name, task->begin_s + i * each_s,
                                              task->begin_s + (i + 1) * each_s);
        node->op = task->parts[i].op;
        node->bytes = task->parts[i].bytes;
        node->who = *who;
        node->who.among = task->parts[i].among;
        node->who.is_expert = task->parts[i].is_expert;
        add_dep(group, node, i > 0 ? newest(group) - 1 : group->last[task->stream]);
        if (i == 0)
            add_waits(group, node, task->events);
    }
}

static void record_norm(struct tsim_recorder *r, struct recorded_stage_group *group,
                        const struct tsim_step_task *task) {
    bool is_alone = r->scenario->n_accelerators == 1 || !(task->end_s > task->begin_s);
    struct recorded_node *node = add_node(group, is_alone ? TSIM_HISTORY_COMPUTE : TSIM_HISTORY_COLLECTIVE,
                                          "gradient norm", task->begin_s, task->end_s);
    node->op = TSIM_ALL_REDUCE;
    node->bytes = TSIM_NORM_BYTES;
    node->who = (struct who){.whose = EVERYBODY};
    add_dep(group, node, group->last[task->stream]);
    add_waits(group, node, task->events);
}

/* Records a message: one stage sends it, the other receives it. */
static void record_message(struct tsim_recorder *r, struct recorded_stage_group *group,
                           const struct tsim_step_task *task) {
    struct recorded_stage_group *to = &r->stage_groups[task->to_stage_group];
    int32_t from_stage = task->stage_group % r->n_stages, to_stage = task->to_stage_group % r->n_stages;
    struct recorded_node *node = add_node(group, TSIM_HISTORY_SEND, "send", task->begin_s, task->end_s);
    node->bytes = fmax(task->scale_up_bytes, task->nic_bytes);
    node->peer_stage = to_stage;
    node->node.tag = task->message;
    add_dep(group, node, group->last[task->stream]);
    add_waits(group, node, task->events);
    node = add_node(to, TSIM_HISTORY_RECEIVE, "receive", task->begin_s, task->end_s);
    node->bytes = fmax(task->scale_up_bytes, task->nic_bytes);
    node->peer_stage = from_stage;
    node->node.tag = task->message;
    for (int32_t i = 0; i < task->events->n_lowers; i++)
        add_cause(to, task->events->lowers[i], newest(to));
}

static void record_kernel(struct recorded_stage_group *group, const struct tsim_step_task *task, const char *name,
                          bool is_host) {
    struct recorded_node *node = add_node(group, TSIM_HISTORY_COMPUTE, name, task->begin_s, task->end_s);
    node->node.is_host = is_host;
    bool is_copy = task->kind == TSIM_TASK_COPY; /* as a profiler shows it: on a stream of the accelerator */
    node->node.stream = is_copy                            ? FIRST_COPY_STREAM + (int)task->stream - TSIM_STREAM_OUT
                        : task->stream == TSIM_STREAM_DATA ? DATA_STREAM
                                                           : 0;
    add_dep(group, node, group->last[task->stream]);
    add_waits(group, node, task->events);
}

static void take(void *context, const struct tsim_step_task *task) {
    struct tsim_recorder *r = context;
    struct recorded_stage_group *group = &r->stage_groups[task->stage_group];
    const struct who data = {.whose = OF_DATA}, ends = {.whose = OF_ENDS};
    switch (task->kind) {
    case TSIM_TASK_OPERATOR:
        record_operator(r, group, task);
        return;
    case TSIM_TASK_PASS:
        if (group->plays_pass) {
            end_pass(r, group, task);
            return;
        }
        record_pass(r, group, task);
        break;
    case TSIM_TASK_SEND:
        record_message(r, group, task);
        break;
    case TSIM_TASK_GATHER:
        record_parts(group, task, "parameter gather", &data);
        break;
    case TSIM_TASK_REDUCE:
        record_parts(group, task, "gradient reduction", &data);
        break;
    case TSIM_TASK_TIED:
        record_parts(group, task, "tied embedding", &ends);
        break;
    case TSIM_TASK_NORM:
        record_norm(r, group, task);
        break;
    case TSIM_TASK_OPTIMIZER:
        record_kernel(group, task, "optimizer", false);
        break;
    case TSIM_TASK_INPUT:
        record_kernel(group, task, "batch of input", true);
        break;
    case TSIM_TASK_COPY:
        record_kernel(group, task, "copy", false);
        break;
    case TSIM_TASK_GO:
        record_kernel(group, task, "before a collective", false);
        break;
    }
    group->last[task->stream] = newest(group);
    tell_events(group, task, newest(group));
}

static bool wants_operators(void *context, int32_t stage_group) {
    (void)context, (void)stage_group;
    return true;
}

static void begin(void *context, const struct tsim_step_outline *outline) {
    struct tsim_recorder *r = context;
    int32_t n_stage_groups = outline->n_stage_groups;
    r->n_stage_groups = n_stage_groups;
    r->stand_ins = outline->stand_ins;
    r->stage_groups = TSIM_NEW_ARRAY(r->arena, (size_t)n_stage_groups, struct recorded_stage_group);
    for (int32_t g = 0; g < n_stage_groups; g++)
        for (size_t s = 0; s < sizeof r->stage_groups[g].last / sizeof r->stage_groups[g].last[0]; s++)
            r->stage_groups[g].last[s] = NO_NODE;
}

struct tsim_recorder *tsim_recorder_new(struct tsim_arena *arena, const struct tsim_scenario *scenario) {
    struct tsim_recorder *r = TSIM_NEW(arena, struct tsim_recorder);
    *r = (struct tsim_recorder){.arena = arena,
                                .scenario = scenario,
                                .cluster = tsim_cluster_build(arena, scenario),
                                .placement = tsim_placement_build(arena, scenario),
                                .n_stages = (int32_t)scenario->parallelism.pipeline};
    r->sink = (struct tsim_step_sink){
        begin, take, r, .needs_events = true, .needs_whole_passes = true, .wants_operators = wants_operators};
    return r;
}

void tsim_recorder_release(struct tsim_recorder *r) {
    for (int32_t g = 0; g < r->n_stage_groups; g++) {
        tsim_heap_free(r->stage_groups[g].nodes);
        tsim_heap_free(r->stage_groups[g].deps);
        tsim_heap_free(r->stage_groups[g].causes);
        tsim_heap_free(r->stage_groups[g].last_cause);
        tsim_heap_free(r->stage_groups[g].met);
        for (int32_t i = 0; i < r->stage_groups[g].n_counts; i++)
            tsim_heap_free(r->stage_groups[g].counts[i].nodes);
    }
    tsim_heap_free(r->groups);
}

const struct tsim_step_sink *tsim_recorder_sink(struct tsim_recorder *recorder) {
    return &recorder->sink;
}

/* ---- one accelerator's ---- */

/* Returns the ranks that differ from this one along the axes only, ascending; with `mirrors` also those of the stage
 * that holds the same parts of the model. */
static int32_t *ranks_along(const struct tsim_recorder *r, int32_t rank, unsigned axes, bool mirrors, int32_t *n) {
    const struct tsim_placement *p = r->placement;
    struct tsim_coordinates own = tsim_placement_coordinates(p, rank);
    int32_t *ranks = TSIM_NEW_ARRAY(r->arena, (size_t)p->n_ranks, int32_t);
    *n = 0;
    for (int32_t other = 0; other < p->n_ranks; other++) {
        struct tsim_coordinates at = tsim_placement_coordinates(p, other);
        bool is_in = true;
        for (int axis = 0; axis < TSIM_N_AXES && is_in; axis++)
            is_in = at.at[axis] == own.at[axis] || axes & 1u << axis ||
                    (mirrors && axis == TSIM_AXIS_PIPELINE && at.at[axis] == r->n_stages - 1 - own.at[axis]);
        if (is_in)
            ranks[(*n)++] = other;
    }
    return ranks;
}

/* Keeps those of the group that shard together with this rank, or hold the same shard. */
static void keep_among(const struct tsim_recorder *r, const struct who *who, int32_t rank, int32_t *ranks, int32_t *n) {
    double wanted = who->is_expert ? tsim_expert_shards(r->scenario) : tsim_shards(r->scenario);
    int32_t shards = (int32_t)fmin(wanted, *n), own = 0, n_kept = 0;
    while (ranks[own] != rank)
        own++;
    for (int32_t i = 0; i < *n && who->among != TSIM_AMONG_ALL; i++)
        if (who->among == TSIM_AMONG_SHARDS ? i / shards == own / shards : i % shards == own % shards)
            ranks[n_kept++] = ranks[i];
    if (who->among != TSIM_AMONG_ALL)
        *n = n_kept;
}

/* Keeps those of the group on this rank's node; or of each node the one at the same place among those of the group
 * there. */
static void keep_by_node(const struct tsim_recorder *r, enum whose whose, int32_t rank, int32_t *ranks, int32_t *n) {
    int32_t n_kept = 0, own = 0, at = 0;
    for (int32_t i = 0; i < *n && ranks[i] != rank; i++)
        own += tsim_placement_same_node(r->placement, ranks[i], rank);
    for (int32_t i = 0; i < *n && whose != OF_AXES; i++) {
        at = i > 0 && tsim_placement_same_node(r->placement, ranks[i], ranks[i - 1]) ? at + 1 : 0;
        if (whose == OF_AXES_ON_NODE ? tsim_placement_same_node(r->placement, ranks[i], rank) : at == own)
            ranks[n_kept++] = ranks[i];
    }
    if (whose != OF_AXES)
        *n = n_kept;
}

static int32_t *ranks_of(const struct tsim_recorder *r, const struct who *who, int32_t rank, int32_t *n) {
    const unsigned data = 1u << TSIM_AXIS_DATA | 1u << TSIM_AXIS_CONTEXT | 1u << TSIM_AXIS_EXPERT;
    bool mirrors = r->scenario->parallelism.schedule == TSIM_SCHEDULE_DUALPIPE;
    if (who->whose == OF_AXES || who->whose == OF_AXES_ON_NODE || who->whose == OF_AXES_ACROSS) {
        int32_t *along = ranks_along(r, rank, who->axes, false, n);
        keep_by_node(r, who->whose, rank, along, n);
        return along;
    }
    if (who->whose == OF_ENDS) {
        struct tsim_coordinates at = tsim_placement_coordinates(r->placement, rank);
        int32_t *ends = TSIM_NEW_ARRAY(r->arena, 2, int32_t);
        at.at[TSIM_AXIS_PIPELINE] = 0;
        ends[0] = tsim_placement_rank(r->placement, &at);
        at.at[TSIM_AXIS_PIPELINE] = r->n_stages - 1;
        ends[1] = tsim_placement_rank(r->placement, &at);
        *n = 2;
        return ends;
    }
    int32_t *ranks = ranks_along(r, rank, who->is_expert ? r->placement->expert_data_axes : data, mirrors, n);
    keep_among(r, who, rank, ranks, n);
    return ranks;
}

static int32_t intern(struct tsim_recorder *r, const int32_t *ranks, int32_t n) {
    for (size_t i = 0; i < r->n_groups; i++)
        if (r->groups[i].n_ranks == n && memcmp(r->groups[i].ranks, ranks, (size_t)n * sizeof *ranks) == 0)
            return (int32_t)i;
    r->groups = tsim_heap_grow(r->groups, &r->group_capacity, r->n_groups + 1, sizeof *r->groups);
    r->groups[r->n_groups] = (struct tsim_history_group){
        .name = tsim_arena_printf(r->arena, "%zu", r->n_groups + 1), .n_ranks = n, .ranks = ranks};
    return (int32_t)r->n_groups++;
}

static enum tsim_history_collective chakra_of(enum tsim_collective_op op) {
    static const enum tsim_history_collective NAMES[] = {[TSIM_ALL_REDUCE] = TSIM_HISTORY_ALL_REDUCE,
                                                         [TSIM_ALL_GATHER] = TSIM_HISTORY_ALL_GATHER,
                                                         [TSIM_REDUCE_SCATTER] = TSIM_HISTORY_REDUCE_SCATTER,
                                                         [TSIM_ALL_TO_ALL] = TSIM_HISTORY_ALL_TO_ALL,
                                                         [TSIM_BROADCAST] = TSIM_HISTORY_BROADCAST};
    TSIM_ASSERT(op != TSIM_SEND_RECV);
    return NAMES[op];
}

/* Groups that were looked for before, for this rank. */
struct known_group {
    struct who who;
    int32_t group, n_ranks;
};
enum { MOST_KNOWN = 16 };
struct known_groups {
    struct known_group items[MOST_KNOWN];
    int32_t n;
};

static bool same_who(const struct who *a, const struct who *b) {
    return a->whose == b->whose && a->axes == b->axes && a->among == b->among && a->is_expert == b->is_expert;
}

static struct known_group group_of(struct tsim_recorder *r, struct known_groups *known, const struct who *who,
                                   int32_t rank) {
    for (int32_t i = 0; i < known->n; i++)
        if (same_who(&known->items[i].who, who))
            return known->items[i];
    struct known_group found = {.who = *who};
    const int32_t *ranks = ranks_of(r, who, rank, &found.n_ranks);
    found.group = intern(r, ranks, found.n_ranks);
    if (known->n < MOST_KNOWN)
        known->items[known->n++] = found;
    return found;
}

static void finish_collective(struct tsim_recorder *r, struct known_groups *known, const struct recorded_node *from,
                              int32_t rank, struct tsim_history_node *node) {
    int32_t n = r->placement->n_ranks;
    bool is_ring = from->op == TSIM_SEND_RECV;
    enum tsim_collective_op op = is_ring ? TSIM_ALL_GATHER : from->op;
    node->collective = chakra_of(op);
    if (from->who.whose != EVERYBODY) {
        struct known_group group = group_of(r, known, &from->who, rank);
        node->group = group.group;
        n = group.n_ranks;
    }
    node->comm_bytes = is_ring ? from->bytes / fmax(n - 1, 1) : op == TSIM_ALL_GATHER ? from->bytes / n : from->bytes;
}

static int32_t rank_on_stage(const struct tsim_recorder *r, int32_t rank, int32_t stage) {
    struct tsim_coordinates at = tsim_placement_coordinates(r->placement, rank);
    at.at[TSIM_AXIS_PIPELINE] = stage;
    return tsim_placement_rank(r->placement, &at);
}

static int32_t stage_group_of(const struct tsim_recorder *r, int32_t rank) {
    int32_t replica = tsim_placement_replica(r->placement, rank);
    return r->stand_ins[replica] * r->n_stages + tsim_placement_coordinates(r->placement, rank).at[TSIM_AXIS_PIPELINE];
}

void tsim_recorder_history(struct tsim_recorder *r, struct tsim_arena *arena, int32_t rank,
                           struct tsim_history *execution) {
    const struct recorded_stage_group *group = &r->stage_groups[stage_group_of(r, rank)];
    struct tsim_history_node *nodes = TSIM_NEW_ARRAY(arena, group->n_nodes, struct tsim_history_node);
    struct known_groups known = {.n = 0};
    for (size_t i = 0; i < group->n_nodes; i++) {
        const struct recorded_node *from = &group->nodes[i];
        struct tsim_history_node *node = &nodes[i];
        *node = from->node;
        node->id = i + 1; /* 0 is the metadata's */
        node->deps = group->deps + from->first_dep;
        node->comm_bytes = from->bytes;
        if (node->kind == TSIM_HISTORY_COLLECTIVE)
            finish_collective(r, &known, from, rank, node);
        node->from = node->kind == TSIM_HISTORY_RECEIVE ? rank_on_stage(r, rank, from->peer_stage) : rank;
        node->to = node->kind == TSIM_HISTORY_SEND ? rank_on_stage(r, rank, from->peer_stage) : rank;
    }
    *execution = (struct tsim_history){.file = "",
                                       .version = "",
                                       .rank = rank,
                                       .n_ranks = r->placement->n_ranks,
                                       .n_nodes = (int32_t)group->n_nodes,
                                       .nodes = nodes,
                                       .groups = r->groups,
                                       .n_groups = (int32_t)r->n_groups};
}

int32_t tsim_recorder_groups(const struct tsim_recorder *recorder, const struct tsim_history_group **groups) {
    *groups = recorder->groups;
    return (int32_t)recorder->n_groups;
}
