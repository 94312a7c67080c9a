/* replay.h - execution traces (partition/history.h) on a cluster: what ranks did somewhere, in the time that it would
 * take here.
 *
 * Each rank has streams: the threads of its host, the streams of its accelerator, loads and stores, one for each
 * process group, one for the messages to and one for those from each other rank. A stream does its nodes one after
 * another, in an order in which everything comes after what it waits for, and otherwise by recorded start, then as in
 * the file.
 *
 * Kernels take the time that was recorded; by roofline max(operations / sustained matrix rate, bytes / sustained memory
 * rate) of the cluster's accelerator where operations or bytes are told, two at a time sharing it. Work on the host
 * takes the time that was recorded. Loads and stores: bytes over the host link.
 *
 * Collectives begin when the last of the traced ranks of their group is ready, and take what cost/collective.h says for
 * the group on this cluster; the ranks' scale-up links and NICs are shared by what crosses them at a time (links inside
 * the fabric are not). Bytes are what a rank puts in (of an all-gather its own part), as ASTRA-sim takes them (Ring.cc:
 * All_Gather ends with data_size x ranks). A reduce takes what a broadcast does, gather and scatter what an all-gather
 * and a reduce-scatter do, a barrier an all-reduce of 4 bytes. The k-th collective of a group on one rank belongs to
 * the k-th on the others, messages to messages of the same sender, receiver and tag in order.
 *
 * A message of up to eager_bytes flows when its sender is ready and lies in a buffer until it is received, as in NCCL,
 * whose sender fills the receiver's buffer (NCCL_BUFFSIZE, 4 MiB) without it. A larger one begins when both are ready,
 * so that ranks which all send before they receive wait for each other for ever, as they do there.
 *
 * Ranks of which there is no trace are never late: their part of a collective is there when the traced ranks' is, their
 * messages when the receiver is. So the trace of one rank of a symmetric job tells the step, that of one stage of a
 * pipeline tells no bubble. */
#ifndef TSIM_STEP_REPLAY_H
#define TSIM_STEP_REPLAY_H

#include "config/scenario.h"
#include "partition/history.h"

struct tsim_replay_options {
    bool by_roofline;                /* kernels; else as recorded */
    bool has_recorded_communication; /* collectives and messages take the time that was recorded, where it was */
    double eager_bytes;              /* messages up to this size do not wait for their receiver */
};

/* The times of one traced rank; the four of the second line add up to the step's time. */
struct tsim_replay_rank {
    int32_t rank, n_nodes;
    double compute_s, exposed_communication_s, host_s, waiting_s;
    double end_s, communication_s; /* its last node's end; time in which something is communicated */
    double recorded_s;             /* from the first recorded start to the last end; 0: not recorded */
};

struct tsim_replay_result {
    double time_s;
    int32_t n_ranks;
    const struct tsim_replay_rank *ranks; /* as the executions are given */
    int64_t n_events;
};

/* Replays executions on the scenario's cluster, software and network. TSIM_ERR_REFERENCE: a rank that the cluster does
 * not have, a group whose ranks are not told; TSIM_ERR_INFEASIBLE: ranks that disagree about what they do together, or
 * wait for each other for ever. `groups` tells the ranks of groups that the executions name only; n_groups may be 0. */
enum tsim_status tsim_replay(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                             const struct tsim_history *executions, int32_t n, const struct tsim_history_group *groups,
                             int32_t n_groups, const struct tsim_replay_options *options,
                             struct tsim_replay_result *result, struct tsim_diags *diags);

#endif
