/* pass.h - one micro-batch's forward or backward pass through a part of the model, as one activity.
 *
 * Operators of a pass run one after another on the compute stream; tensor- and context-parallel collectives sit beside
 * them as operators.h says. The pass is long compared with its operators, and all ranks of a tensor x context group run
 * it in lock-step, so the engine sees it as one activity ("uniform runs of operators on one stream become one").
 *
 * With g the time of a product and c of a collective, both alone:
 *   exposed       g + c
 *   concurrent    max(c, g + sigma c): while the collective runs it occupies a fraction sigma of the compute units
 *   pipelined     the product is cut into n = tensor chunks, each working on what has arrived (Wang et al. 2023,
 *                 ASPLOS, "Overlap communication with dependent computation via decomposition"; Transformer Engine's
 *                 user buffers): g/n + (n-1) max(g/n, c/(n-1)). Chunks take turns on several streams
 *                 (NVIDIA/TransformerEngine transformer_engine/common/comm_gemm_overlap), so the tiles of one fill the
 *                 units that the last wave of another leaves idle, and n chunks take g together
 *   beside        all of a part's together, under the kernels of another micro-batch's pass that are assumed alike: as
 *                 concurrent, with g the kernels of the part (DualPipe: DeepSeek-AI 2024, arXiv:2412.19437, section
 *                 3.2.1)
 *
 * An all-to-all that sends one copy of a token to each node takes max(between nodes, on a node): each rank sends to the
 * ranks of its own number on other nodes, while what arrived is handed on, a copy for each rank (DeepEP; DeepSeek-AI
 * 2024, section 3.2.2).
 *
 * The host launches kernels one after another, too: a pass takes max(accelerator, host). */
#ifndef TSIM_STEP_PASS_H
#define TSIM_STEP_PASS_H

#include "cost/collective.h"
#include "step/step_result.h"
#include "workload/operators.h"
#include "workload/schedule.h"

struct tsim_pass_cost {
    double time_s;      /* sum of the next six */
    double compute_s;   /* kernels, and what the host adds where it is slower */
    double recompute_s; /* kernels executed a second time */
    double exposed_tensor_s, exposed_context_s, exposed_expert_s;
    double exposed_data_s;               /* exchanges of embedding vectors */
    double host_excess_s;                /* part of compute_s: accelerator waiting for launches */
    double flops;                        /* executed on the matrix units, recomputation included */
    double matrix_busy_s, memory_busy_s; /* at sustained rates; for power */
    double hbm_bytes, scale_up_bytes, nic_bytes;
    /* For noise (noise.h): squares of the kernels' times, summed; and the roots of their sums over each stretch between
     * two collectives that wait for all, summed. */
    double squares_s2, stretches_s;
};

struct tsim_part_costs {
    struct tsim_pass_cost forward, backward; /* backward includes recomputation */
    /* The backward pass in two; set when the schedule splits it. Weight gradients have their products, what is made
     * with them, and the gathers of their inputs (sequence parallelism, gathered again); a reduction that the whole
     * pass hides behind the product of a weight gradient is exposed in the input gradient. */
    struct tsim_pass_cost input_gradient, weight_gradient;
};

struct tsim_pass_costs {
    struct tsim_part_costs embedding, layer, expert_layer, head;
    bool launches_block; /* the host's time comes on top of the kernels' */
};

void tsim_pass_costs_build(const struct tsim_scenario *scenario, const struct tsim_cluster *cluster,
                           const struct tsim_placement *placement, struct tsim_pass_costs *costs);

/* The same, worked out once for all plans that agree in what it depends on: tensor, context and expert ranks and where
 * they lie, micro-batch, recomputation, overlaps, whether the backward pass is split. For one job on one cluster. */
struct tsim_pass_memo;
struct tsim_pass_memo *tsim_pass_memo_new(struct tsim_arena *arena);
const struct tsim_pass_costs *tsim_pass_memo_find(struct tsim_pass_memo *memo, const struct tsim_scenario *scenario,
                                                  const struct tsim_cluster *cluster,
                                                  const struct tsim_placement *placement);

/* How often each part runs in a pass. */
struct tsim_pass_parts {
    double embedding, layers, expert_layers, head;
};

/* Their sum, the host's limit applied to the whole. */
void tsim_pass_sum(const struct tsim_pass_costs *costs, enum tsim_pass_kind kind, const struct tsim_pass_parts *parts,
                   struct tsim_pass_cost *sum);
const struct tsim_pass_cost *tsim_part_cost(const struct tsim_part_costs *part, enum tsim_pass_kind kind);

void tsim_pass_scale(struct tsim_pass_cost *cost, double factor);

/* One operator of a part as it runs: for the sums above and for the operator table. */
struct tsim_pass_operator {
    const struct tsim_op *op;
    const char *phase;             /* "forward" | "backward" | "recompute" */
    double time_s;                 /* kernels: alone. Collectives: alone, whatever of it is hidden */
    double latency_s;              /* collectives only: of time_s, without any flow */
    const struct tsim_op *partner; /* collectives only: the product that it runs beside, or NULL */
    double exposed_s; /* collectives only: what they add to the pass; 0 where they run beside another pass, see above */
    double matrix_s, matrix_power_s, memory_s, exchange_s; /* as in tsim_kernel_cost */
    double scale_up_bytes, nic_bytes, hbm_bytes;
    double sm_frac; /* collectives: of the compute units, while they run */
    enum tsim_bound bound;
};
typedef void (*tsim_pass_visit_fn)(void *context, const struct tsim_pass_operator *row);
/* TSIM_PART_LAYER of a layer list: all its blocks, each once. */
void tsim_pass_visit(const struct tsim_scenario *scenario, const struct tsim_cluster *cluster,
                     const struct tsim_placement *placement, enum tsim_part part, enum tsim_pass_kind kind,
                     tsim_pass_visit_fn visit, void *context);

/* Names the operation of a collective among a part's operators. */
enum tsim_collective_op tsim_collective_of(const struct tsim_op *op);

/* How often TSIM_PART_LAYER is visited in a pass through so many layers. */
double tsim_layer_visits(const struct tsim_scenario *scenario, double layers);

#endif
