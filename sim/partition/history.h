/* history.h - what one rank of a job does in a step, as a graph: kernels, collectives, messages, and what waits for
 * what. Execution traces of Chakra are this on disk (import/traces/chakra_file.h); it comes from a real run or from a
 * simulated one (report/export/history_record.h), and is simulated by step/replay/replay.h. */
#ifndef TSIM_PARTITION_HISTORY_H
#define TSIM_PARTITION_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

enum tsim_history_kind {
    TSIM_HISTORY_NOTHING, /* takes no time: metadata */
    TSIM_HISTORY_COMPUTE,
    TSIM_HISTORY_LOAD,  /* from memory outside the accelerator, */
    TSIM_HISTORY_STORE, /* into it */
    TSIM_HISTORY_SEND,
    TSIM_HISTORY_RECEIVE,
    TSIM_HISTORY_COLLECTIVE,
    TSIM_N_HISTORY_KINDS
};

/* Collectives have Chakra's numbers. */
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
    uint64_t id; /* of its own in the trace */
    const char *name;
    enum tsim_history_kind kind;
    bool is_host;   /* on the host, not the accelerator */
    int64_t stream; /* host: thread; accelerator: stream */
    int32_t n_deps;
    const int32_t *deps; /* indices of nodes that must have ended, each once */
    double start_s;      /* recorded; 0: not */
    double duration_s;   /* recorded; 0: not */
    double n_ops, bytes; /* of kernels, loads and stores; 0: not told */
    /* These are set for communication alone. */
    enum tsim_history_collective collective;
    double comm_bytes; /* what this rank puts in: of an all-gather its own part */
    int32_t group;     /* index; -1: all ranks */
    int32_t from, to;  /* ranks, of messages */
    int64_t tag;
};

struct tsim_history_group {
    const char *name;
    int32_t n_ranks; /* 0: all */
    const int32_t *ranks;
};

struct tsim_history {
    const char *file;
    const char *version; /* of the schema; "" when the file has none */
    int32_t rank;
    int32_t n_ranks; /* of the job; 0: not told */
    int32_t n_nodes, n_groups;
    const struct tsim_history_node *nodes;
    const struct tsim_history_group *groups;
};

#endif
