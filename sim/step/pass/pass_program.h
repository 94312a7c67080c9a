/* pass_program.h - a pass through a part of the model as the machine executes it: kernels in their order on the compute
 * stream, and each collective at its place.
 *
 * The compute stream waits for most collectives, which stand among the kernels. Others run on the stream of their
 * communicator beside kernels (operators.h, enum tsim_op_overlap). For these the program says where they may begin
 * (START) and where the compute stream waits for them (WAIT):
 *   concurrent   START, then the kernels up to the product that it runs beside, that product included, then WAIT.
 *   pipelined    The product is cut into n = tensor chunks, the collective into the n - 1 that come from or go to other
 *                ranks. A gather has START, chunk 1, and a WAIT before each other chunk, for its tokens. A scatter has
 *                START after each chunk but the last, and one WAIT for all after the last chunk (Wang et al. 2023,
 *                ASPLOS, "Overlap communication with dependent computation via decomposition"; Transformer Engine's
 *                user buffers).
 *   beside       START before the part's first kernel, WAIT after its last. The kernels stand for those of another
 *                micro-batch's pass (DualPipe: DeepSeek-AI 2024, arXiv:2412.19437, section 3.2.1). */
#pragma once

#include "cost/collective.h"
#include "engine/engine.h"
#include "model/operators.h"
#include "partition/schedule.h"
#include "step/step_result.h"

/* One operator of a part as it runs, for the sums of a pass and for the table of operators. */
struct tsim_pass_operator {
    const struct tsim_op *op;
    const char *phase;             /* "forward" | "backward" | "recompute" */
    double time_s;                 /* the time that it takes alone; for a collective with its hidden part */
    double latency_s;              /* collectives only: the part of time_s in which nothing flows */
    const struct tsim_op *partner; /* collectives only: the product that it runs beside, or NULL */
    double exposed_s;              /* collectives only: the time that it adds to the pass when that is played alone */
    double matrix_s, matrix_power_s, memory_s, exchange_s; /* as in tsim_kernel_cost */
    double scale_up_bytes, nic_bytes, hbm_bytes;
    double sm_frac; /* collectives: part of the compute units that they hold while they run */
    double host_s;  /* host's time for its launch; the first operator of a graph has all of the graph's */
    enum tsim_bound bound;
};

/* The weight of collectives and messages in the sharing of compute units and HBM, where kernels have 1: it is so large
 * that collectives keep what they were given. */
#define TSIM_COLLECTIVE_WEIGHT 1000.0

enum tsim_played_kind {
    TSIM_PLAYED_KERNEL,
    TSIM_PLAYED_COLLECTIVE, /* the compute stream waits for it */
    TSIM_PLAYED_BESIDE,     /* runs on the stream of its axis */
    TSIM_PLAYED_START,      /* on the compute stream: the next `count` of the axis' BESIDE may begin */
    TSIM_PLAYED_WAIT        /* on the compute stream: waits until `count` more of the axis' BESIDE have ended */
};

struct tsim_data_collective;

struct tsim_played {
    enum tsim_played_kind kind;
    enum tsim_axis axis;      /* of all except kernels */
    enum tsim_bound bound;    /* of kernels */
    bool needs_start;         /* BESIDE */
    int32_t count;            /* WAIT */
    int32_t row;              /* kernels and collectives: the operator from which it was built */
    const char *name, *phase; /* kernels and collectives: "fc1", "forward" */
    enum tsim_collective_op collective;
    double collective_bytes;  /* S of cost/collective.h; a piece has its part */
    bool once_per_node;       /* as in tsim_op */
    int32_t piece, n_pieces;  /* of a collective; 0 of 1 is all of it */
    double latency_s, flow_s; /* when it runs alone; a kernel is all flow */
    /* The time that the host takes until the first of its kernels is launched, and from there until the last is
     * launched; the time of all its kernels but the last. */
    double host_s, later_host_s, before_last_s;
    bool is_awaited; /* the host launches nothing more until it has ended */
    double flops, hbm_bytes;
    double units_frac, memory_frac; /* the parts of the compute units and of HBM's rate that it asks for alone */
    double scale_up_bytes_per_s, nic_bytes_per_s; /* the rates at which each rank sends while it flows */
    const struct tsim_data_collective *messages;  /* its messages, if network: steps plays this COLLECTIVE so */
};

struct tsim_pass_program {
    struct tsim_played *at;
    int32_t n, capacity;
    int32_t n_beside[TSIM_AXIS_PIPELINE]; /* by axis */
    bool uses[TSIM_AXIS_PIPELINE];        /* it has collectives along the axis */
    struct tsim_part_memo *memo;          /* pass_alone.h; written as it is played; NULL: there is nothing to play */
};

/* The programs of passes are in the order of direction and of part of the model. */
struct tsim_pass_programs {
    struct tsim_pass_program of[TSIM_N_LAYER_WAYS][TSIM_N_PARTS];
};

/* The state of building the program of a part from its operators, which are added in their order. The caller sets the
 * first three members and zeroes the others. */
struct tsim_pass_builder {
    struct tsim_arena *arena;
    struct tsim_pass_program *program;
    double n_chunks; /* chunks of a pipelined product */
    double host_s;   /* launches before the compute stream's next entry, which waits for them */
    int32_t row;
    const struct tsim_op *last_kernel;
    /* The product beside which the last collective runs, the axis under which it is waited for, and whether it is cut
     * into chunks. */
    const struct tsim_op *partner;
    enum tsim_axis partner_axis;
    bool partner_is_cut;
    int32_t n_beside_part; /* of the whole part, along their one axis */
    enum tsim_axis part_axis;
};
void tsim_pass_builder_add(struct tsim_pass_builder *builder, const struct tsim_pass_operator *row);
void tsim_pass_builder_close(struct tsim_pass_builder *builder);

/* Makes one kernel of kernels that follow one another, which asks for as much of HBM over its time as they do together.
 * Kernels that may wait for their launches stay apart. */
void tsim_pass_program_join_kernels(struct tsim_pass_program *program);
/* Returns the first entry from `at` on that the communicator of `axis` plays, or the compute stream (TSIM_N_AXES); n if
 * there is none. */
int32_t tsim_pass_program_next(const struct tsim_pass_program *program, int32_t at, enum tsim_axis axis);
/* Counts kernels and collectives, but no START or WAIT; with `with_launches` also the host's launches of them. */
int32_t tsim_pass_program_n_operators(const struct tsim_pass_program *program, bool with_launches);
/* Returns whether nothing runs beside its kernels, so that its operators take their times one after another. */
bool tsim_pass_program_is_plain(const struct tsim_pass_program *program);

/* The clock of a step ends here, left-out periods included, so that sums of a few such spans stay in 64 bits. */
#define TSIM_STEP_END (INT64_MAX / 4)

/* Returns the ticks of a time, at most up to the end of the clock. */
static inline tsim_tick tsim_played_ticks(const struct tsim_engine *engine, double time_s) {
    tsim_tick ticks = time_s > 0 ? tsim_engine_ticks(engine, time_s) : 0;
    return ticks < TSIM_STEP_END ? ticks : TSIM_STEP_END;
}

/* Makes a task of a kernel or a collective: it has its time, and it flows no faster than alone. */
static inline void tsim_played_task(const struct tsim_engine *engine, const struct tsim_played *played, double slowdown,
                                    struct tsim_task *task) {
    task->latency = played->latency_s > 0 ? tsim_engine_ticks(engine, played->latency_s) : 0;
    task->work = played->flow_s * slowdown;
    task->bound_per_s = 1;
    if (played->kind == TSIM_PLAYED_KERNEL)
        task->flow = tsim_engine_ticks(engine, task->work);
    else
        task->weight = TSIM_COLLECTIVE_WEIGHT;
}

/* Names the operation of a collective among a part's operators. */
enum tsim_collective_op tsim_collective_of(const struct tsim_op *op);
