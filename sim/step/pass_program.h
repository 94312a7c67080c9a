/* pass_program.h - a pass through a part of the model as the machine executes it: kernels in their order on the compute
 * stream, and collectives, each at its place.
 *
 * The compute stream waits for most collectives: they stand among the kernels. Others run on the stream of their
 * communicator beside kernels (operators.h, enum tsim_op_overlap); then the program says where such a collective may
 * begin and where the compute stream waits for it:
 *   concurrent   START, the kernels up to and with the product that it runs beside, WAIT
 *   pipelined    the product is cut into n = tensor chunks, the collective into the n - 1 that come from or go to other
 *                ranks. A gather: START, chunk 1, then for each other chunk WAIT for its tokens. A scatter: after each
 *                chunk but the last START, and one WAIT for all behind the last (Wang et al. 2023, ASPLOS, "Overlap
 *                communication with dependent computation via decomposition"; Transformer Engine's user buffers)
 *   beside       START before the part's first kernel, WAIT behind its last: the kernels stand for those of another
 *                micro-batch's pass (DualPipe: DeepSeek-AI 2024, arXiv:2412.19437, section 3.2.1) */
#ifndef TSIM_STEP_PASS_PROGRAM_H
#define TSIM_STEP_PASS_PROGRAM_H

#include "step/pass.h"

enum tsim_played_kind {
    TSIM_PLAYED_KERNEL,
    TSIM_PLAYED_COLLECTIVE, /* the compute stream waits for it */
    TSIM_PLAYED_BESIDE,     /* on the stream of its axis */
    TSIM_PLAYED_START,      /* of the compute stream: the next `count` of the axis' BESIDE may begin */
    TSIM_PLAYED_WAIT        /* of the compute stream: until `count` more of the axis' BESIDE are over */
};

struct tsim_data_collective;

struct tsim_played {
    enum tsim_played_kind kind;
    enum tsim_axis axis;   /* of all but kernels */
    enum tsim_bound bound; /* of kernels */
    bool is_recompute;
    bool needs_start;         /* BESIDE */
    int32_t count;            /* WAIT */
    const char *name, *phase; /* of kernels and collectives: "fc1", "forward" */
    enum tsim_collective_op collective;
    double collective_bytes;                      /* S of cost/collective.h */
    double latency_s, flow_s;                     /* alone; kernels: all of it is flow */
    double device_frac;                           /* of the compute units that kernels are slowed by while it flows */
    double scale_up_bytes_per_s, nic_bytes_per_s; /* that each rank sends, while it flows */
    const struct tsim_data_collective *messages;  /* network: steps, of a COLLECTIVE: it is played message by message */
};

struct tsim_pass_program {
    struct tsim_played *at;
    int32_t n, capacity;
    int32_t n_beside[TSIM_N_AXES];
};

/* By what the pass does and the part of the model. */
struct tsim_pass_programs {
    struct tsim_pass_program of[TSIM_N_PASS_KINDS][TSIM_N_PARTS];
};

/* `joins_kernels`: kernels that follow one another become one, for whoever needs the collectives alone. */
void tsim_pass_programs_build(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                              const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                              bool joins_kernels, struct tsim_pass_programs *programs);

#endif
