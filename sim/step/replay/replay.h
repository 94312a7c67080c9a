/* replay.h - execution traces (partition/history.h) on a cluster: what ranks did elsewhere, in the time that it would
 * take here.
 *
 * Each rank has streams: the threads of its host, the streams of its accelerator, loads and stores, one for each
 * process group, and for each other rank one for the messages to it and one for those from it. A stream plays its nodes
 * one after another, in an order in which each node comes after those for which it waits, and otherwise by recorded
 * start, then as in the file.
 *
 * Kernels take the recorded time; or, by roofline and if operations or bytes are given, max(operations / sustained
 * matrix rate, bytes / sustained memory rate) of the cluster's accelerator, which two kernels at a time share. Work on
 * the host takes the recorded time. Loads and stores take their bytes over the host link.
 *
 * A collective begins when the last of the traced ranks of its group is ready, and takes what cost/collective.h says
 * for the group on this cluster. Traffic shares the ranks' scale-up links and NICs, and not the links inside the
 * fabric. A collective's bytes are what a rank contributes (to an all-gather its own part), as ASTRA-sim takes them
 * (Ring.cc: All_Gather ends with data_size x ranks). A reduce takes what a broadcast does, gather and scatter what an
 * all-gather and a reduce-scatter do, and a barrier what an all-reduce of 4 bytes does. The k-th collective of a group
 * on one rank belongs to the k-th on the others; messages belong to those of the same sender, receiver and tag, in
 * order.
 *
 * A message of up to eager_bytes flows when its sender is ready, and lies in a buffer until it is received, as in NCCL,
 * whose sender fills the receiver's buffer (NCCL_BUFFSIZE, 4 MiB) without it. A larger message begins when both are
 * ready, so that ranks which all send before they receive wait for each other for ever, as they do in NCCL.
 *
 * Ranks without a trace are never late: their part of a collective is there when that of the traced ranks is, and their
 * messages when the receiver is ready. So the trace of one rank of a symmetric job gives the step's time, and that of
 * one stage of a pipeline has no bubble. */
#pragma once

#include "config/scenario.h"
#include "partition/history.h"

struct tsim_replay_options {
    bool by_roofline;                /* kernels take their roofline; else the recorded time */
    bool has_recorded_communication; /* collectives and messages take the recorded time, if there is one */
    double eager_bytes;              /* messages up to this size do not wait for their receiver */
};

/* The times of one traced rank. The four in the second line add up to the step's time. */
struct tsim_replay_rank {
    int32_t rank, n_nodes;
    double compute_s, exposed_communication_s, host_s, waiting_s;
    double end_s, communication_s; /* end of its last node; time in which something is communicated */
    double recorded_s;             /* from the first recorded start to the last end; 0: not recorded */
};

struct tsim_replay_result {
    double time_s;
    int32_t n_ranks;
    const struct tsim_replay_rank *ranks; /* in the order of the executions */
    int64_t n_events;
};

/* Replays executions on the scenario's cluster, software and network. `groups` gives the ranks of groups that the
 * executions only name; n_groups may be 0. Returns TSIM_ERR_REFERENCE for a rank that the cluster does not have or a
 * group whose ranks are not given, and TSIM_ERR_INFEASIBLE for ranks that disagree about what they do together or wait
 * for each other for ever. */
enum tsim_status tsim_replay(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                             const struct tsim_history *executions, int32_t n, const struct tsim_history_group *groups,
                             int32_t n_groups, const struct tsim_replay_options *options,
                             struct tsim_replay_result *result, struct tsim_diags *diags);
