#include "step/replay/replay_run.h"

#include "base/quantity.h"
#include "cost/compute.h"
#include "step/program.h"

#include <math.h>
#include <stdlib.h>

#define ROUNDING_FRAC 1e-12 /* sums of a million intervals are off by so much */

enum { KERNELS, COMMUNICATION, HOST, N_CATEGORIES };

/* ---- tasks ---- */

static double kernel_s(const struct tsim_replay_run *run, const struct tsim_history_node *node) {
    const struct tsim_accelerator *a = run->cluster->accelerator;
    double matrix_s = node->n_ops / tsim_matrix_rate(a, run->scenario->training.precision);
    double memory_s = node->bytes / tsim_memory_rate(a);
    return fmax(matrix_s, memory_s);
}

static double memory_s(const struct tsim_replay_run *run, const struct tsim_history_node *node) {
    double rate = run->cluster->host_link_bytes_per_s;
    return node->bytes > 0 && rate > 0 ? node->bytes / rate : node->duration_s;
}

static void demand(struct tsim_task *task, int32_t resource, double per_unit) {
    if (resource >= 0 && per_unit > 0)
        task->demands[task->n_demands++] = (struct tsim_demand){resource, per_unit};
}

/* The work is in seconds, so that messages and collectives that share a link are slowed down by the same factor. */
static void communicate(const struct tsim_replay_member *member, int32_t index, struct tsim_task *task) {
    const struct tsim_history_node *node = &member->execution->nodes[index];
    const struct tsim_replay_meeting *meeting = &member->meetings[index];
    struct tsim_engine *engine = member->run->engine;
    task->latency = meeting->latency_s > 0 ? tsim_engine_ticks(engine, meeting->latency_s) : 0;
    task->work = meeting->flow_s;
    task->bound_per_s = 1;
    task->join = meeting->join;
    task->n_parties = meeting->join >= 0 ? meeting->n_parties : 0;
    if (node->kind == TSIM_HISTORY_RECEIVE && meeting->arrival >= 0)
        task->waits[task->n_waits++] = meeting->arrival;
    if (!(meeting->flow_s > 0) || member->run->scenario->simulation.network == TSIM_NETWORK_IDEAL)
        return;
    double up = meeting->scale_up_bytes / meeting->flow_s, nic = meeting->nic_bytes / meeting->flow_s;
    if (node->kind != TSIM_HISTORY_RECEIVE) {
        demand(task, member->scale_up_out, up);
        demand(task, member->nic_out, nic);
    }
    const struct tsim_replay_member *to = node->kind == TSIM_HISTORY_SEND ? meeting->receiver : member;
    if (to) {
        demand(task, to->scale_up_in, up);
        demand(task, to->nic_in, nic);
    }
}

static void take_time(const struct tsim_replay_member *member, int32_t index, struct tsim_task *task) {
    const struct tsim_history_node *node = &member->execution->nodes[index];
    const struct tsim_replay_run *run = member->run;
    bool is_memory = node->kind == TSIM_HISTORY_LOAD || node->kind == TSIM_HISTORY_STORE;
    bool is_priced = node->kind == TSIM_HISTORY_COMPUTE && !node->is_host && run->options.by_roofline &&
                     node->n_ops + node->bytes > 0;
    double time_s = is_memory ? memory_s(run, node) : node->duration_s;
    task->bound_per_s = 1;
    if (is_priced) {
        task->work = kernel_s(run, node);
        demand(task, member->device, 1);
    } else if (node->kind != TSIM_HISTORY_NOTHING) {
        task->work = time_s;
    }
}

static bool next_node(void *context, int32_t number, struct tsim_task *task) {
    struct tsim_replay_stream *stream = context;
    struct tsim_replay_member *member = stream->member;
    (void)number;
    if (stream->at == stream->n)
        return false;
    int32_t index = stream->nodes[stream->at++];
    task->label = index;
    if (member->waits[index] >= 0)
        task->waits[task->n_waits++] = member->waits[index];
    for (int32_t i = 0; i < member->n_lowers[index]; i++)
        task->lowers[task->n_lowers++] = member->lowers[index][i];
    if (stream->category >= TSIM_REPLAY_GROUP)
        communicate(member, index, task);
    else
        take_time(member, index, task);
    return true;
}

static const struct tsim_replay_stream *owner_of(const struct tsim_replay_run *run, int32_t stream) {
    return stream >= 0 && stream < run->n_owners ? run->owners[stream] : NULL;
}

static void keep_interval(struct tsim_replay_member *member, double begin_s, double end_s, int category) {
    member->intervals[member->n_intervals++] = (struct tsim_replay_interval){begin_s, end_s, category};
}

/* A message that does not wait for its receiver arrives in its sender's time; receiving it takes none. */
static void observe(void *context, int32_t number, int64_t label, tsim_tick ready, tsim_tick begin, tsim_tick end) {
    static const int CATEGORIES[] = {[TSIM_REPLAY_HOST] = HOST,
                                     [TSIM_REPLAY_KERNELS] = KERNELS,
                                     [TSIM_REPLAY_MEMORY] = COMMUNICATION,
                                     [TSIM_REPLAY_GROUP] = COMMUNICATION,
                                     [TSIM_REPLAY_SENDS] = COMMUNICATION,
                                     [TSIM_REPLAY_RECEIVES] = COMMUNICATION};
    struct tsim_replay_run *run = context;
    const struct tsim_replay_stream *stream = owner_of(run, number);
    (void)ready;
    if (!stream || end == begin)
        return;
    double begin_s = tsim_engine_seconds(run->engine, begin), end_s = tsim_engine_seconds(run->engine, end);
    keep_interval(stream->member, begin_s, end_s, CATEGORIES[stream->category]);
    if (stream->category == TSIM_REPLAY_SENDS && stream->member->meetings[label].receiver)
        keep_interval(stream->member->meetings[label].receiver, begin_s, end_s, COMMUNICATION);
}

static void describe(void *context, int32_t number, int64_t label, char *text, size_t size) {
    struct tsim_replay_run *run = context;
    const struct tsim_replay_stream *stream = owner_of(run, number);
    if (!stream)
        return;
    const struct tsim_history_node *node = &stream->member->execution->nodes[label];
    snprintf(text, size, "rank %d: node %llu (%.60s)", stream->member->execution->rank, (unsigned long long)node->id,
             node->name);
}

/* ---- figures ---- */

struct moment {
    double at_s;
    int category, change;
};

static int compare_moments(const void *a, const void *b) {
    const struct moment *x = a, *y = b;
    return x->at_s < y->at_s ? -1 : x->at_s > y->at_s;
}

/* Divides the time into three: a kernel runs; no kernel but communication runs; neither runs, so it is the host's. */
static void fill_terms(struct tsim_replay_run *run, const struct tsim_replay_member *member,
                       struct tsim_replay_rank *out) {
    int32_t n = 0, active[N_CATEGORIES] = {0};
    struct moment *moments = TSIM_NEW_ARRAY(run->arena, 2 * (size_t)member->n_intervals, struct moment);
    for (int32_t i = 0; i < member->n_intervals; i++) {
        const struct tsim_replay_interval *interval = &member->intervals[i];
        moments[n++] = (struct moment){interval->begin_s, interval->category, 1};
        moments[n++] = (struct moment){interval->end_s, interval->category, -1};
        out->end_s = fmax(out->end_s, interval->end_s);
    }
    qsort(moments, (size_t)n, sizeof *moments, compare_moments);
    for (int32_t i = 0; i + 1 < n; i++) {
        double time_s = moments[i + 1].at_s - moments[i].at_s;
        active[moments[i].category] += moments[i].change;
        out->communication_s += active[COMMUNICATION] > 0 ? time_s : 0;
        if (active[KERNELS] > 0)
            out->compute_s += time_s;
        else if (active[COMMUNICATION] > 0)
            out->exposed_communication_s += time_s;
        else if (active[HOST] > 0)
            out->host_s += time_s;
    }
}

static double recorded_s(const struct tsim_history *e) {
    double from_s = (double)INFINITY, to_s = 0;
    bool has_starts = false;
    for (int32_t i = 0; i < e->n_nodes; i++) {
        const struct tsim_history_node *node = &e->nodes[i];
        has_starts = has_starts || node->start_s > 0;
        if (!(node->duration_s > 0))
            continue;
        from_s = fmin(from_s, node->start_s);
        to_s = fmax(to_s, node->start_s + node->duration_s);
    }
    return has_starts && to_s > from_s ? to_s - from_s : 0;
}

static void fill_result(struct tsim_replay_run *run, struct tsim_replay_result *result) {
    struct tsim_replay_rank *ranks = TSIM_NEW_ARRAY(run->arena, (size_t)run->n_members, struct tsim_replay_rank);
    *result = (struct tsim_replay_result){
        .n_ranks = run->n_members, .ranks = ranks, .n_events = tsim_engine_n_events(run->engine)};
    for (int32_t m = 0; m < run->n_members; m++) {
        const struct tsim_history *e = run->members[m].execution;
        ranks[m] = (struct tsim_replay_rank){.rank = e->rank, .n_nodes = e->n_nodes, .recorded_s = recorded_s(e)};
        fill_terms(run, &run->members[m], &ranks[m]);
        result->time_s = fmax(result->time_s, ranks[m].end_s);
    }
    for (int32_t m = 0; m < run->n_members; m++) {
        double rest_s = result->time_s - ranks[m].compute_s - ranks[m].exposed_communication_s - ranks[m].host_s;
        ranks[m].waiting_s = rest_s > ROUNDING_FRAC * result->time_s ? rest_s : 0;
    }
}

/* ---- the run ---- */

static int32_t resource(struct tsim_engine *engine, double capacity) {
    return capacity > 0 ? tsim_engine_add_resource(engine, capacity) : -1;
}

static void add_member(struct tsim_replay_run *run, struct tsim_replay_member *member) {
    size_t n = (size_t)member->execution->n_nodes;
    tsim_replay_order(run, member);
    member->meetings = TSIM_NEW_ARRAY(run->arena, n, struct tsim_replay_meeting);
    member->intervals = TSIM_NEW_ARRAY(run->arena, n, struct tsim_replay_interval);
    member->device = resource(run->engine, 1);
    member->scale_up_out = resource(run->engine, run->cluster->scale_up_bytes_per_s);
    member->scale_up_in = resource(run->engine, run->cluster->scale_up_bytes_per_s);
    member->nic_out = resource(run->engine, run->cluster->nic_bytes_per_s);
    member->nic_in = resource(run->engine, run->cluster->nic_bytes_per_s);
    run->n_owners += member->n_streams;
}

static void add_streams(struct tsim_replay_run *run) {
    run->owners = tsim_arena_array(run->arena, (size_t)run->n_owners, sizeof *run->owners);
    for (int32_t m = 0; m < run->n_members; m++)
        for (int32_t s = 0; s < run->members[m].n_streams; s++) {
            struct tsim_replay_stream *stream = &run->members[m].streams[s];
            stream->stream = tsim_engine_add_stream(run->engine, next_node, stream);
            run->owners[stream->stream] = stream;
        }
    for (int32_t m = 0; m < run->n_members; m++)
        tsim_replay_signals(run, &run->members[m]);
}

static enum tsim_status check_rank(struct tsim_replay_run *run, const struct tsim_history *e) {
    struct tsim_place at = {e->file, 0, 0};
    if (e->rank < 0 || e->rank >= run->topology->n_ranks) {
        tsim_diag_hint(tsim_diags_error(run->diags, TSIM_ERR_REFERENCE, at, "",
                                        "the trace is of rank %d, but the cluster has %d accelerators", e->rank,
                                        run->topology->n_ranks),
                       "as many nodes as the traced job had: cluster.nodes");
        return TSIM_ERR_REFERENCE;
    }
    if (run->by_rank[e->rank]) {
        tsim_diags_error(run->diags, TSIM_ERR_REFERENCE, at, "", "the trace is of rank %d, as is %s", e->rank,
                         run->by_rank[e->rank]->execution->file);
        return TSIM_ERR_REFERENCE;
    }
    return TSIM_OK;
}

static enum tsim_status add_members(struct tsim_replay_run *run, const struct tsim_history *executions) {
    run->members = TSIM_NEW_ARRAY(run->arena, (size_t)run->n_members, struct tsim_replay_member);
    run->by_rank = tsim_arena_array(run->arena, (size_t)run->topology->n_ranks, sizeof *run->by_rank);
    for (int32_t m = 0; m < run->n_members; m++) {
        TSIM_TRY(check_rank(run, &executions[m]));
        run->members[m] = (struct tsim_replay_member){.run = run, .execution = &executions[m]};
        run->by_rank[executions[m].rank] = &run->members[m];
    }
    TSIM_TRY(tsim_replay_groups(run));
    for (int32_t m = 0; m < run->n_members; m++)
        add_member(run, &run->members[m]);
    TSIM_TRY(tsim_replay_meet(run));
    add_streams(run);
    return TSIM_OK;
}

static void say_what_waits(const struct tsim_replay_run *run) {
    char limit[64];
    tsim_diag_hint(
        tsim_diags_error(run->diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){run->members[0].execution->file, 0, 0},
                         "", "%d messages are larger than eager_limit, %s, and wait until their receiver is ready",
                         run->n_waiting_messages,
                         tsim_quantity_human(run->options.eager_bytes, TSIM_BYTES, limit, sizeof limit)),
        "--set eager_limit='1 TB' where sends are asynchronous, as in ASTRA-sim");
}

enum tsim_status tsim_replay(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                             const struct tsim_history *executions, int32_t n, const struct tsim_history_group *groups,
                             int32_t n_groups, const struct tsim_replay_options *options,
                             struct tsim_replay_result *result, struct tsim_diags *diags) {
    const struct tsim_cluster *cluster = tsim_cluster_build(arena, scenario);
    struct tsim_replay_run run = {.arena = arena,
                                  .diags = diags,
                                  .scenario = scenario,
                                  .cluster = cluster,
                                  .topology = tsim_topology_build(arena, scenario, cluster),
                                  .options = *options,
                                  .n_members = n,
                                  .told = groups,
                                  .n_told = n_groups};
    struct tsim_engine_options engine = {
        .tick_s = TSIM_STEP_TICK_S, .observer = observe, .describe = describe, .context = &run};
    run.engine = tsim_engine_create(&engine);
    enum tsim_status status = add_members(&run, executions);
    if (status == TSIM_OK) {
        status = tsim_engine_run(run.engine, diags);
        if (status == TSIM_ERR_INFEASIBLE && run.n_waiting_messages > 0)
            say_what_waits(&run);
    }
    if (status == TSIM_OK)
        fill_result(&run, result);
    tsim_engine_release(run.engine);
    tsim_heap_free(run.groups);
    return status;
}
