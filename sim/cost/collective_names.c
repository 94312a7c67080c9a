#include "cost/collective.h"

const char *tsim_collective_op_name(enum tsim_collective_op op) {
    static const char *const NAMES[TSIM_N_COLLECTIVE_OPS] = {
        [TSIM_ALL_REDUCE] = "all_reduce", [TSIM_ALL_GATHER] = "all_gather", [TSIM_REDUCE_SCATTER] = "reduce_scatter",
        [TSIM_ALL_TO_ALL] = "all_to_all", [TSIM_BROADCAST] = "broadcast",   [TSIM_SEND_RECV] = "send_recv"};
    return NAMES[op];
}

const char *tsim_algorithm_name(enum tsim_algorithm algorithm) {
    static const char *const NAMES[TSIM_N_ALGORITHMS] = {
        [TSIM_ALGORITHM_AUTO] = "auto",           [TSIM_ALGORITHM_RING] = "ring",
        [TSIM_ALGORITHM_TREE] = "tree",           [TSIM_ALGORITHM_NVLS] = "nvls",
        [TSIM_ALGORITHM_NVLS_TREE] = "nvls_tree", [TSIM_ALGORITHM_NVLS_SHARP] = "nvls_sharp",
        [TSIM_ALGORITHM_PAIRWISE] = "pairwise",   [TSIM_ALGORITHM_HIERARCHICAL] = "hierarchical",
        [TSIM_ALGORITHM_DIRECT] = "direct",       [TSIM_ALGORITHM_TORUS] = "torus"};
    return NAMES[algorithm];
}

const char *tsim_protocol_name(enum tsim_protocol protocol) {
    static const char *const NAMES[TSIM_N_PROTOCOLS] = {[TSIM_PROTOCOL_AUTO] = "auto",
                                                        [TSIM_PROTOCOL_LL] = "LL",
                                                        [TSIM_PROTOCOL_LL128] = "LL128",
                                                        [TSIM_PROTOCOL_SIMPLE] = "Simple"};
    return NAMES[protocol];
}
