/* pass.h - the cost of one micro-batch's forward or backward pass through a part of the model while nothing else runs.
 *
 * Kernels of a pass run one after another on the compute stream; collectives stand among them or run beside them, as
 * operators.h says. All ranks of a tensor x context group run the pass in lock-step. A part is played once, alone, on
 * an engine of its own (pass_program.h). Its length is the time until its last operator ends. Its collectives expose
 * the time for which the compute stream waits for them or is slowed down by them.
 *
 * The step plays the same operators again among all else that goes on (pass_tasks.h). It compares the result with these
 * costs (slowdown, the host's limit) and takes them for a pass that is one task; bounds and the balance of stages use
 * them, too.
 *
 * An all-to-all that sends one copy of a token to each node takes the longer of its time between nodes and its time on
 * a node. Each rank sends to the ranks of its own number on other nodes, while what arrived is handed on, a copy for
 * each rank (DeepEP; DeepSeek-AI 2024, section 3.2.2).
 *
 * The host launches kernels one after another, and each kernel waits for its launch. How launches and kernels follow
 * one another is played once for each part (host_stream.h), and gives the length of a pass that is one task. */
#pragma once

#include "model/model.h"
#include "partition/schedule.h"
#include "step/pass/host_stream.h"
#include "step/pass/pass_program.h"

struct tsim_pass_cost {
    double time_s;      /* the sum of the next six */
    double compute_s;   /* kernels, and what the host adds if it is slower */
    double recompute_s; /* kernels executed a second time */
    double exposed_tensor_s, exposed_context_s, exposed_expert_s;
    double exposed_data_s;               /* exchanges of embedding vectors */
    double host_s;                       /* the time that the host takes to launch the operators */
    double host_excess_s;                /* the part of compute_s in which the accelerator waits for launches */
    double flops;                        /* executed on the matrix units, recomputation included */
    double matrix_busy_s, memory_busy_s; /* at sustained rates; they give the power */
    double hbm_bytes, scale_up_bytes, nic_bytes;
    /* Noise (noise.h) needs two sums: of the squares of the kernels' times, and of the roots of such sums over each
     * stretch between two collectives that wait for all. */
    double squares_s2, stretches_s;
};

/* The way in which a part's launches and kernels follow one another, found by playing it once. */
struct tsim_part_launches {
    struct tsim_launch_map map;
    double n_layers; /* layers that it goes through: all of a kind whose layers differ */
};

struct tsim_part_costs {
    /* By the way that a pass goes through it (partition/schedule.h), for the ways that passes of the step go. Backward
     * includes recomputation, except through layers that keep what they computed. The input and the weight gradient are
     * the backward pass in two parts: the weight gradient has the products of that name, what is made with them, and the
     * gathers of their inputs (sequence parallelism, gathered again). A reduction that the whole pass hides behind the
     * product of a weight gradient is exposed in the input gradient. */
    struct tsim_pass_cost ways[TSIM_N_LAYER_WAYS];
    struct tsim_part_launches launches[TSIM_N_LAYER_WAYS];
};

struct tsim_pass_costs {
    /* A kind whose layers differ has their mean. Those that the model does not have share one without any cost. */
    const struct tsim_part_costs *parts[TSIM_N_PARTS];
    bool has_launches; /* the host can delay kernels */
    const struct tsim_model *model;
    struct tsim_pass_programs programs; /* that the costs are of */
};

/* The parts and the programs are in the arena. */
void tsim_pass_costs_build(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                           const struct tsim_cluster *cluster, const struct tsim_placement *placement,
                           struct tsim_pass_costs *costs);

/* A memo of these costs for one job on one cluster. They are built once for all plans that agree in what they depend
 * on: tensor, context and expert ranks and where they lie, micro-batch, recomputation, overlaps, and whether the
 * backward pass is split. */
struct tsim_pass_memo;
struct tsim_pass_memo *tsim_pass_memo_new(struct tsim_arena *arena);
const struct tsim_pass_costs *tsim_pass_memo_find(struct tsim_pass_memo *memo, const struct tsim_scenario *scenario,
                                                  const struct tsim_cluster *cluster,
                                                  const struct tsim_placement *placement);
/* Returns those of the memo, or builds them if there is none (NULL). */
const struct tsim_pass_costs *tsim_pass_costs_of(struct tsim_arena *arena, struct tsim_pass_memo *memo,
                                                 const struct tsim_scenario *scenario,
                                                 const struct tsim_cluster *cluster,
                                                 const struct tsim_placement *placement);

struct tsim_pass_launches tsim_pass_launches(const struct tsim_scenario *scenario);

/* Adds up the parts of a chunk, each as often as `parts` says, with the time that their kernels wait for launches, in the
 * order of the model's layers from `first_layer` on. */
void tsim_pass_sum(const struct tsim_pass_costs *costs, const struct tsim_scenario *scenario, int way,
                   const struct tsim_parts *parts, int64_t first_layer, struct tsim_pass_cost *sum);

void tsim_pass_scale(struct tsim_pass_cost *cost, double factor);

typedef void (*tsim_pass_visit_fn)(void *context, const struct tsim_pass_operator *row);
/* Visits all variants of a part, each once, if they differ (the blocks of a layer list). */
void tsim_pass_visit(const struct tsim_scenario *scenario, const struct tsim_cluster *cluster,
                     const struct tsim_placement *placement, enum tsim_part part, int way, tsim_pass_visit_fn visit,
                     void *context);

/* Copies the programs of all parts of the model for a step, which writes into them. `joins_kernels` makes one kernel of those
 * that follow one another, for callers that need only the collectives. */
void tsim_pass_programs_copy(struct tsim_arena *arena, const struct tsim_pass_costs *costs, bool joins_kernels,
                             struct tsim_pass_programs *programs);

/* Returns the term of what a collective among a part's operators takes alone; NULL if it takes no time. */
const struct tsim_term *tsim_pass_collective_term(struct tsim_term_recorder *recorder,
                                                  const struct tsim_scenario *scenario,
                                                  const struct tsim_cluster *cluster,
                                                  const struct tsim_placement *placement, const struct tsim_op *op);
