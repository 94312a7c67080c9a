/* nccl_tests.h - measured collectives, read from what nccl-tests prints: its table (also through mpirun or srun, which
 * put a word before each line) or its JSON (-J). The time out of place of each size counts. The collective is known by
 * the program's name in the file (newer versions print it) or by the file's name, the number of ranks and nodes by the
 * list of devices. */
#pragma once

#include "cost/collective.h"

enum { TSIM_NCCL_TESTS_MAX_BYTES = 4 * 1000 * 1000 };

struct tsim_nccl_row {
    const char *file;
    int line;
    double bytes, measured_s; /* nccl-tests' size */
};

struct tsim_nccl_run {
    enum tsim_collective_op op;
    int32_t n_ranks, n_nodes; /* n_nodes 0: not known */
    const char *device;       /* "NVIDIA H100 80GB HBM3"; NULL: not known */
    struct tsim_nccl_row *rows;
    size_t n_rows;
};

/* The user's additions to what the file says. */
struct tsim_nccl_hints {
    bool has_op;
    enum tsim_collective_op op;
    int32_t n_ranks; /* 0: none */
};

/* Reads `text` as one run. It fails with TSIM_ERR_SCHEMA (no row, no collective or no ranks), TSIM_ERR_SYNTAX (JSON) or
 * TSIM_ERR_LIMIT. */
enum tsim_status tsim_nccl_tests_read(struct tsim_arena *arena, const char *file, const char *text, size_t size,
                                      const struct tsim_nccl_hints *hints, struct tsim_nccl_run *run,
                                      struct tsim_diags *diags);
