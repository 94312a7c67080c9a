/* Ranks meet in process groups, for the collectives and messages in them. */
#include "cost/collective.h"
#include "network/pattern.h"
#include "step/replay/replay_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BARRIER_BYTES 4.0 /* an all-reduce of one number, as torch.distributed's */

static struct tsim_place place(const struct tsim_replay_member *member) {
    return (struct tsim_place){member->execution->file, 0, 0};
}

/* Returns the rank's member; NULL if it is not traced. */
static struct tsim_replay_member *member_of(const struct tsim_replay_run *run, int32_t rank) {
    return rank >= 0 && rank < run->topology->n_ranks ? run->by_rank[rank] : NULL;
}

static const char *collective_name(enum tsim_history_collective collective) {
    static const char *const NAMES[] = {
        "all_reduce", "reduce",         "all_gather",           "gather", "scatter", "broadcast",
        "all_to_all", "reduce_scatter", "reduce_scatter_block", "barrier"};
    return NAMES[collective];
}

/* ---- groups ---- */

static int compare_ranks(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static enum tsim_status unknown_rank(struct tsim_replay_run *run, const struct tsim_replay_member *member,
                                     const char *what, int32_t rank) {
    tsim_diag_hint(tsim_diags_error(run->diags, TSIM_ERR_REFERENCE, place(member), "",
                                    "%.80s is rank %d, but the cluster has %d accelerators", what, rank,
                                    run->topology->n_ranks),
                   "as many nodes as the traced job had: cluster.nodes");
    return TSIM_ERR_REFERENCE;
}

/* Returns the ranks ascending, each once; NULL after a mistake. */
static const int32_t *ranks_of(struct tsim_replay_run *run, const struct tsim_replay_member *member,
                               const struct tsim_history_group *group, int32_t *n) {
    int32_t n_all = run->topology->n_ranks, n_given = group->n_ranks > 0 ? group->n_ranks : n_all;
    int32_t *ranks = TSIM_NEW_ARRAY(run->arena, (size_t)n_given, int32_t);
    const char *what = tsim_arena_printf(run->arena, "a member of process group '%s'", group->name);
    for (int32_t i = 0; i < n_given; i++) {
        ranks[i] = group->n_ranks > 0 ? group->ranks[i] : i;
        if (ranks[i] < 0 || ranks[i] >= n_all)
            return unknown_rank(run, member, what, ranks[i]), NULL;
    }
    qsort(ranks, (size_t)n_given, sizeof *ranks, compare_ranks);
    *n = 0;
    for (int32_t i = 0; i < n_given; i++)
        if (i == 0 || ranks[i] != ranks[i - 1])
            ranks[(*n)++] = ranks[i];
    return ranks;
}

static int32_t intern(struct tsim_replay_run *run, const char *name, const int32_t *ranks, int32_t n) {
    for (size_t i = 0; i < run->n_groups; i++) {
        const struct tsim_replay_group *g = &run->groups[i];
        if (g->n_ranks == n && strcmp(g->name, name) == 0 && memcmp(g->ranks, ranks, (size_t)n * sizeof *ranks) == 0)
            return (int32_t)i;
    }
    run->groups = tsim_heap_grow(run->groups, &run->group_capacity, run->n_groups + 1, sizeof *run->groups);
    run->groups[run->n_groups] = (struct tsim_replay_group){
        .name = name, .n_ranks = n, .ranks = ranks, .shape = tsim_group_of_ranks(run->topology, ranks, n)};
    return (int32_t)run->n_groups++;
}

/* Returns the group as the execution tells it, or the file of groups. */
static const struct tsim_history_group *told(const struct tsim_replay_run *run,
                                             const struct tsim_history_group *group) {
    for (int32_t i = 0; i < run->n_told && group->n_ranks < 0; i++)
        if (strcmp(run->told[i].name, group->name) == 0)
            return &run->told[i];
    return group;
}

static enum tsim_status add_group(struct tsim_replay_run *run, struct tsim_replay_member *member, int32_t index) {
    static const struct tsim_history_group ALL = {.name = "all ranks"};
    const struct tsim_history_group *group = index < 0 ? &ALL : told(run, &member->execution->groups[index]);
    int32_t n;
    if (group->n_ranks < 0) {
        tsim_diag_hint(tsim_diags_error(run->diags, TSIM_ERR_REFERENCE, place(member), "",
                                        "nothing says which ranks process group '%.60s' has", group->name),
                       "a file of groups, as ASTRA-sim has it: groups: FILE, with {\"1\": [0, 1], ...}");
        return TSIM_ERR_REFERENCE;
    }
    const int32_t *ranks = ranks_of(run, member, group, &n);
    if (!ranks)
        return TSIM_ERR_REFERENCE;
    if (!bsearch(&member->execution->rank, ranks, (size_t)n, sizeof *ranks, compare_ranks)) {
        tsim_diags_error(run->diags, TSIM_ERR_REFERENCE, place(member), "",
                         "rank %d has a collective of process group '%.60s', to which it does not belong",
                         member->execution->rank, group->name);
        return TSIM_ERR_REFERENCE;
    }
    member->groups[index + 1] = intern(run, group->name, ranks, n);
    return TSIM_OK;
}

/* Finds the groups that collectives name. */
enum tsim_status tsim_replay_groups(struct tsim_replay_run *run) {
    for (int32_t m = 0; m < run->n_members; m++) {
        struct tsim_replay_member *member = &run->members[m];
        const struct tsim_history *e = member->execution;
        member->groups = TSIM_NEW_ARRAY(run->arena, (size_t)e->n_groups + 1, int32_t);
        for (int32_t g = 0; g <= e->n_groups; g++)
            member->groups[g] = -1;
        for (int32_t i = 0; i < e->n_nodes; i++)
            if (e->nodes[i].kind == TSIM_HISTORY_COLLECTIVE && member->groups[e->nodes[i].group + 1] < 0)
                TSIM_TRY(add_group(run, member, e->nodes[i].group));
    }
    return TSIM_OK;
}

/* ---- costs ---- */

static enum tsim_collective_op op_of(enum tsim_history_collective collective) {
    static const enum tsim_collective_op OPS[] = {
        [TSIM_HISTORY_ALL_REDUCE] = TSIM_ALL_REDUCE,
        [TSIM_HISTORY_REDUCE] = TSIM_BROADCAST,
        [TSIM_HISTORY_ALL_GATHER] = TSIM_ALL_GATHER,
        [TSIM_HISTORY_GATHER] = TSIM_ALL_GATHER,
        [TSIM_HISTORY_SCATTER] = TSIM_REDUCE_SCATTER,
        [TSIM_HISTORY_BROADCAST] = TSIM_BROADCAST,
        [TSIM_HISTORY_ALL_TO_ALL] = TSIM_ALL_TO_ALL,
        [TSIM_HISTORY_REDUCE_SCATTER] = TSIM_REDUCE_SCATTER,
        [TSIM_HISTORY_REDUCE_SCATTER_BLOCK] = TSIM_REDUCE_SCATTER,
        [TSIM_HISTORY_BARRIER] = TSIM_ALL_REDUCE,
    };
    return OPS[collective];
}

/* Returns nccl-tests' size from what a rank contributes. */
static double size_of(enum tsim_history_collective collective, double bytes, int32_t n_ranks) {
    if (collective == TSIM_HISTORY_BARRIER)
        return BARRIER_BYTES;
    bool gathers = collective == TSIM_HISTORY_ALL_GATHER || collective == TSIM_HISTORY_GATHER;
    return gathers ? bytes * n_ranks : bytes;
}

static struct tsim_replay_meeting price(const struct tsim_replay_run *run, enum tsim_collective_op op, double bytes,
                                        const struct tsim_group *shape) {
    struct tsim_collective_request request = {
        .op = op, .bytes = bytes, .group = *shape, .network = run->scenario->simulation.network};
    struct tsim_collective_cost cost;
    tsim_collective_cost(run->cluster, &request, &cost);
    return (struct tsim_replay_meeting){.join = -1,
                                        .arrival = -1,
                                        .latency_s = cost.latency_s,
                                        .flow_s = fmax(cost.time_s - cost.latency_s, 0),
                                        .scale_up_bytes = cost.scale_up_bytes,
                                        .nic_bytes = cost.nic_bytes};
}

/* Uses the duration that was recorded on the rank that took longest. */
static void use_recorded(const struct tsim_replay_run *run, double duration_s, struct tsim_replay_meeting *meeting) {
    if (!run->options.has_recorded_communication || !(duration_s > 0))
        return;
    meeting->latency_s = 0;
    meeting->flow_s = duration_s;
    meeting->scale_up_bytes = meeting->nic_bytes = 0;
}

/* ---- collectives ---- */

static const struct tsim_replay_stream *stream_of(const struct tsim_replay_member *member,
                                                  enum tsim_replay_category category, int64_t number) {
    for (int32_t s = 0; s < member->n_streams; s++)
        if (member->streams[s].category == category && member->streams[s].number == number)
            return &member->streams[s];
    return NULL;
}

struct parties {
    const struct tsim_replay_stream **streams; /* of each traced rank of the group */
    int32_t n;
};

static enum tsim_status disagree(struct tsim_replay_run *run, const struct tsim_replay_member *member,
                                 const char *text) {
    tsim_diags_error(run->diags, TSIM_ERR_INFEASIBLE, place(member), "", "%s", text);
    return TSIM_ERR_INFEASIBLE;
}

static enum tsim_status find_parties(struct tsim_replay_run *run, int32_t g, struct parties *parties) {
    const struct tsim_replay_group *group = &run->groups[g];
    parties->streams = tsim_arena_array(run->arena, (size_t)group->n_ranks, sizeof *parties->streams);
    parties->n = 0;
    for (int32_t i = 0; i < group->n_ranks; i++) {
        const struct tsim_replay_member *member = member_of(run, group->ranks[i]);
        const struct tsim_replay_stream *stream = member ? stream_of(member, TSIM_REPLAY_GROUP, g) : NULL;
        const struct tsim_replay_stream *first = parties->n > 0 ? parties->streams[0] : NULL;
        if (!member)
            continue;
        if (!stream || (first && stream->n != first->n))
            return disagree(run, member,
                            tsim_arena_printf(
                                run->arena, "rank %d has %d collectives of process group '%.60s', other ranks have %s",
                                member->execution->rank, stream ? stream->n : 0, group->name,
                                first ? tsim_arena_printf(run->arena, "%d", first->n) : "some"));
        parties->streams[parties->n++] = stream;
    }
    return TSIM_OK;
}

static const struct tsim_history_node *node_of(const struct tsim_replay_stream *stream, int32_t k) {
    return &stream->member->execution->nodes[stream->nodes[k]];
}

static enum tsim_status meet_once(struct tsim_replay_run *run, int32_t g, const struct parties *parties, int32_t k) {
    const struct tsim_replay_group *group = &run->groups[g];
    const struct tsim_history_node *first = node_of(parties->streams[0], k);
    double bytes = 0, duration_s = 0;
    for (int32_t i = 0; i < parties->n; i++) {
        const struct tsim_history_node *node = node_of(parties->streams[i], k);
        bytes = fmax(bytes, node->comm_bytes);
        duration_s = fmax(duration_s, node->duration_s);
        if (node->collective != first->collective)
            return disagree(run, parties->streams[i]->member,
                            tsim_arena_printf(
                                run->arena, "collective %d of process group '%.60s' is %s on rank %d and %s on rank %d",
                                k + 1, group->name, collective_name(node->collective),
                                parties->streams[i]->member->execution->rank, collective_name(first->collective),
                                parties->streams[0]->member->execution->rank));
    }
    struct tsim_replay_meeting meeting =
        price(run, op_of(first->collective), size_of(first->collective, bytes, group->n_ranks), &group->shape);
    use_recorded(run, duration_s, &meeting);
    if (parties->n > 1) {
        meeting.join = ((int64_t)g << 32) | k;
        meeting.n_parties = parties->n;
    }
    for (int32_t i = 0; i < parties->n; i++)
        parties->streams[i]->member->meetings[parties->streams[i]->nodes[k]] = meeting;
    return TSIM_OK;
}

/* ---- messages ---- */

struct message {
    int64_t tag;
    int32_t place, node;
};

static int compare_messages(const void *a, const void *b) {
    const struct message *x = a, *y = b;
    if (x->tag != y->tag)
        return x->tag < y->tag ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static struct message *messages_of(struct tsim_replay_run *run, const struct tsim_replay_stream *stream) {
    struct message *messages = TSIM_NEW_ARRAY(run->arena, (size_t)stream->n, struct message);
    for (int32_t k = 0; k < stream->n; k++)
        messages[k] = (struct message){node_of(stream, k)->tag, k, stream->nodes[k]};
    qsort(messages, (size_t)stream->n, sizeof *messages, compare_messages);
    return messages;
}

static struct tsim_replay_meeting price_message(const struct tsim_replay_run *run, int32_t a, int32_t b,
                                                const struct tsim_history_node *node) {
    const int32_t ranks[] = {a < b ? a : b, a < b ? b : a};
    struct tsim_group shape = tsim_group_of_ranks(run->topology, ranks, 2);
    struct tsim_replay_meeting meeting = price(run, TSIM_SEND_RECV, node->comm_bytes, &shape);
    use_recorded(run, node->duration_s, &meeting);
    return meeting;
}

static enum tsim_status check_peer(struct tsim_replay_run *run, const struct tsim_replay_member *member,
                                   const struct tsim_replay_stream *stream) {
    bool is_send = stream->category == TSIM_REPLAY_SENDS;
    int32_t peer = (int32_t)stream->number, rank = member->execution->rank;
    if (peer >= run->topology->n_ranks)
        return unknown_rank(run, member, is_send ? "the receiver of a message" : "the sender of a message", peer);
    for (int32_t k = 0; k < stream->n; k++) {
        const struct tsim_history_node *node = node_of(stream, k);
        int32_t own = is_send ? node->from : node->to;
        if ((own >= 0 && own != rank) || peer == rank)
            return disagree(run, member,
                            tsim_arena_printf(run->arena,
                                              "node %llu is a message from rank %d to rank %d, in the trace "
                                              "of rank %d",
                                              (unsigned long long)node->id, node->from, node->to, rank));
    }
    return TSIM_OK;
}

/* Joins the messages of a traced pair, from the sender's side; of others each side is alone. */
static enum tsim_status meet_messages(struct tsim_replay_run *run, struct tsim_replay_member *member,
                                      const struct tsim_replay_stream *stream, int64_t *join) {
    int32_t rank = member->execution->rank, peer = (int32_t)stream->number;
    struct tsim_replay_member *other = member_of(run, peer);
    bool is_send = stream->category == TSIM_REPLAY_SENDS;
    TSIM_TRY(check_peer(run, member, stream));
    for (int32_t k = 0; !other && k < stream->n; k++)
        member->meetings[stream->nodes[k]] = price_message(run, rank, peer, node_of(stream, k));
    if (!other)
        return TSIM_OK;
    const struct tsim_replay_stream *there = stream_of(other, is_send ? TSIM_REPLAY_RECEIVES : TSIM_REPLAY_SENDS, rank);
    if (!there || there->n != stream->n)
        return disagree(run, member,
                        tsim_arena_printf(run->arena, "rank %d has %d messages %s rank %d, which knows of %d", rank,
                                          stream->n, is_send ? "to" : "from", peer, there ? there->n : 0));
    struct message *sent = messages_of(run, stream), *received = is_send ? messages_of(run, there) : NULL;
    for (int32_t k = 0; is_send && k < stream->n; k++) {
        struct tsim_replay_meeting meeting = price_message(run, rank, peer, &member->execution->nodes[sent[k].node]);
        if (sent[k].tag != received[k].tag)
            return disagree(run, member,
                            tsim_arena_printf(run->arena,
                                              "messages from rank %d to rank %d have other tags where they "
                                              "are sent (%lld) and received (%lld)",
                                              rank, peer, (long long)sent[k].tag, (long long)received[k].tag));
        bool is_eager = member->execution->nodes[sent[k].node].comm_bytes <= run->options.eager_bytes;
        run->n_waiting_messages += !is_eager;
        if (is_eager)
            meeting.arrival = tsim_engine_add_signals(run->engine, 1, 1);
        else
            meeting.join = (int64_t)1 << 62 | (*join)++, meeting.n_parties = 2;
        other->meetings[received[k].node] =
            is_eager ? (struct tsim_replay_meeting){.join = -1, .arrival = meeting.arrival} : meeting;
        meeting.receiver = is_eager ? other : NULL;
        member->meetings[sent[k].node] = meeting;
    }
    return TSIM_OK;
}

enum tsim_status tsim_replay_meet(struct tsim_replay_run *run) {
    int64_t join = 0;
    for (int32_t g = 0; g < (int32_t)run->n_groups; g++) {
        struct parties parties;
        TSIM_TRY(find_parties(run, g, &parties));
        for (int32_t k = 0; k < parties.streams[0]->n; k++)
            TSIM_TRY(meet_once(run, g, &parties, k));
    }
    for (int32_t m = 0; m < run->n_members; m++)
        for (int32_t s = 0; s < run->members[m].n_streams; s++)
            if (run->members[m].streams[s].category >= TSIM_REPLAY_SENDS)
                TSIM_TRY(meet_messages(run, &run->members[m], &run->members[m].streams[s], &join));
    return TSIM_OK;
}
