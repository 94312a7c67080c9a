/* history.h - what one rank of a job does in a step, as a graph: kernels, collectives, messages, and what waits for
 * what. Chakra's execution traces are this graph on disk (import/traces/chakra_file.h). A graph comes from a real run
 * or from a simulated one (report/export/history_record.h), and step/replay/replay.h simulates it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum tsim_history_kind {
    TSIM_HISTORY_NOTHING, /* takes no time: metadata */
    TSIM_HISTORY_COMPUTE,
    TSIM_HISTORY_LOAD,  /* from memory outside the accelerator */
    TSIM_HISTORY_STORE, /* to memory outside the accelerator */
    TSIM_HISTORY_SEND,
    TSIM_HISTORY_RECEIVE,
    TSIM_HISTORY_COLLECTIVE,
    TSIM_N_HISTORY_KINDS
};

/* The collectives have Chakra's numbers. */
enum tsim_history_collective {
    TSIM_HISTORY_ALL_REDUCE,
    TSIM_HISTORY_REDUCE,
    TSIM_HISTORY_ALL_GATHER,
    TSIM_HISTORY_GATHER,
    TSIM_HISTORY_SCATTER,
    TSIM_HISTORY_BROADCAST,
    TSIM_HISTORY_ALL_TO_ALL,
    TSIM_HISTORY_REDUCE_SCATTER,
    TSIM_HISTORY_REDUCE_SCATTER_BLOCK,
    TSIM_HISTORY_BARRIER,
    TSIM_N_HISTORY_COLLECTIVES
};

struct tsim_history_node {
    uint64_t id; /* its id in the trace */
    const char *name;
    enum tsim_history_kind kind;
    bool is_host;   /* it runs on the host, not on the accelerator */
    int64_t stream; /* on the host a thread, on the accelerator a stream */
    int32_t n_deps;
    const int32_t *deps; /* indices of the nodes that must have ended, each once */
    double start_s;      /* as recorded; 0: not recorded */
    double duration_s;   /* as recorded; 0: not recorded */
    double n_ops, bytes; /* of kernels, loads and stores; 0: not given */
    /* These are set only for communication. */
    enum tsim_history_collective collective;
    double comm_bytes; /* what this rank contributes: to an all-gather its own part */
    int32_t group;     /* index of the group; -1: all ranks */
    int32_t from, to;  /* of messages: the ranks */
    int64_t tag;
};

struct tsim_history_group {
    const char *name;
    int32_t n_ranks; /* 0: all ranks */
    const int32_t *ranks;
};

struct tsim_history {
    const char *file;
    const char *version; /* of the schema; "" if the file gives none */
    int32_t rank;
    int32_t n_ranks; /* of the job; 0: not given */
    int32_t n_nodes, n_groups;
    const struct tsim_history_node *nodes;
    const struct tsim_history_group *groups;
};
