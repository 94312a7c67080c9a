/* replay_run.h - private to sim/step: the ranks of a replay (replay.h) with their streams, and what they do together.
 */
#pragma once

#include "cluster/placement.h"
#include "cluster/topology.h"
#include "engine/engine.h"
#include "step/replay/replay.h"

enum tsim_replay_category {
    TSIM_REPLAY_HOST,
    TSIM_REPLAY_KERNELS,
    TSIM_REPLAY_MEMORY,
    TSIM_REPLAY_GROUP,
    TSIM_REPLAY_SENDS,
    TSIM_REPLAY_RECEIVES
};

struct tsim_replay_stream {
    enum tsim_replay_category category;
    int64_t number; /* of the thread, stream, group or other rank */
    int32_t n, at;  /* its nodes, and the next of them */
    int32_t *nodes;
    int32_t stream; /* number in the engine */
    struct tsim_replay_member *member;
};

/* A collective or message that several ranks do at the same time. */
struct tsim_replay_meeting {
    int64_t join; /* id in the engine; -1: it is done alone */
    int32_t n_parties;
    double latency_s, flow_s; /* of the collective or message, when it runs alone */
    double scale_up_bytes, nic_bytes;
    /* These are set for a message that does not wait for its receiver; else they are NULL and -1. */
    struct tsim_replay_member *receiver; /* of a send: the rank on whose links it arrives */
    int32_t arrival;                     /* the signal that the send lowers and for which the receive waits */
};

/* A node that lowers more signals than a task can; it hands the rest on to streams of a single task each. */
struct tsim_replay_fan {
    int32_t wait, n_lowers, lowers[TSIM_TASK_MAX_SIGNALS];
    bool is_done;
};

struct tsim_replay_interval {
    double begin_s, end_s;
    int category; /* 0: kernels, 1: communication, 2: host */
};

/* A member is a traced rank. */
struct tsim_replay_member {
    struct tsim_replay_run *run;
    const struct tsim_history *execution;
    int32_t n_streams;
    struct tsim_replay_stream *streams;
    int32_t *stream_of; /* one for each node */
    int32_t *waits;     /* one for each node: a signal, or -1 */
    int32_t *n_lowers;  /* one for each node */
    int32_t (*lowers)[TSIM_TASK_MAX_SIGNALS];
    struct tsim_replay_meeting *meetings; /* one for each node, set for communication */
    int32_t *groups; /* 1 + groups of the execution: numbers in the run, first that of all ranks; -1: not used */
    int32_t device, scale_up_out, scale_up_in, nic_out, nic_in; /* resources; -1: none */
    struct tsim_replay_interval *intervals;
    int32_t n_intervals;
};

/* A set of ranks that take part in collectives together. */
struct tsim_replay_group {
    const char *name;
    int32_t n_ranks;
    const int32_t *ranks; /* ascending */
    struct tsim_group shape;
};

struct tsim_replay_run {
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    const struct tsim_scenario *scenario;
    const struct tsim_cluster *cluster;
    const struct tsim_topology *topology;
    struct tsim_replay_options options;
    struct tsim_engine *engine;
    int32_t n_members;
    struct tsim_replay_member *members;
    struct tsim_replay_member **by_rank; /* one for each rank of the cluster */
    struct tsim_replay_group *groups;
    size_t n_groups, group_capacity;
    const struct tsim_history_group *told;
    int32_t n_told;
    int32_t n_waiting_messages;         /* messages between traced ranks that are larger than eager_bytes */
    struct tsim_replay_stream **owners; /* by stream of the engine; NULL: a fan */
    int32_t n_owners;
};

/* replay_order.c makes the streams, and the signals between them. */
void tsim_replay_order(struct tsim_replay_run *run, struct tsim_replay_member *member);
void tsim_replay_signals(struct tsim_replay_run *run, struct tsim_replay_member *member);
/* replay_meet.c finds, before the order is made, the groups of all executions, and after it the costs of collectives
 * and messages and who takes part in them. */
enum tsim_status tsim_replay_groups(struct tsim_replay_run *run);
enum tsim_status tsim_replay_meet(struct tsim_replay_run *run);
