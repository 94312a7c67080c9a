/* operators.h - a layer as the kernels and collectives that one accelerator executes, by phase.
 *
 * An operator states demands (matrix FLOPs by shape, HBM bytes, collective bytes), never times: cost/ turns them into
 * seconds. Shapes are local: after division by tensor and context parallelism. Element-wise kernels count the bytes
 * they read and write; which of them exist depends on the software profile (fusion, dropout, attention kernel).
 *
 * Sources: layer structure and tensor/sequence parallel communication: Shoeybi et al. 2019 (Megatron-LM) section 3 and
 * Korthikanti et al. 2022 (arXiv:2205.05198) section 4; flash attention: Dao 2022/2023 (backward = 2.5 x forward FLOPs,
 * because QK^T is formed again); ring attention: Liu et al. 2023; experts: Lepikhin et al. 2020 (GShard) and Megatron-
 * Core's all-to-all dispatcher (megatron/core/transformer/moe/token_dispatcher.py). A layer with experts in place of
 * the feed-forward block is a part of its own. Experts are divided over the expert ranks and, each of them, over the
 * tensor ranks. Sizes are those of the slowest rank of the expert group (routing.h). */
#ifndef TSIM_MODEL_OPERATORS_H
#define TSIM_MODEL_OPERATORS_H

#include "model/layer_kind.h"

enum tsim_op_kind { TSIM_OP_GEMM, TSIM_OP_FLASH, TSIM_OP_ELEMENTWISE, TSIM_OP_COLLECTIVE };
enum tsim_op_collective {
    TSIM_OP_ALL_REDUCE,
    TSIM_OP_ALL_GATHER,
    TSIM_OP_REDUCE_SCATTER,
    TSIM_OP_RING_EXCHANGE,
    TSIM_OP_ALL_TO_ALL
};

/* A collective runs beside the kernels of its pass in one of these ways. */
enum tsim_op_overlap {
    TSIM_EXPOSED,            /* nothing runs beside it */
    TSIM_PIPELINED_NEXT,     /* cut into chunks, gathered while the next operator works on the previous chunk */
    TSIM_PIPELINED_PREVIOUS, /* the same with the operator before it, whose output it scatters */
    TSIM_CONCURRENT_NEXT,    /* asynchronous beside the next operator, waited for at that operator's end */
    TSIM_CONCURRENT_PASS     /* beside the kernels of another micro-batch's pass */
};

struct tsim_op {
    const char *name;
    enum tsim_op_kind kind;
    unsigned parts;   /* set of enum tsim_recompute_part that it belongs to */
    double joined[3]; /* GEMM: columns of the products that it joins, 0 where they are fewer; all 0: it is one */
    enum tsim_layer_product product; /* GEMM, forward and its two backward; of which layer product */
    bool is_last_projection;         /* fc2 and what follows: left out of recomputation with early stop */
    bool is_weight_gradient; /* may be delayed by split-backward schedules: products, and gathers of their inputs */
    enum tsim_precision precision;
    double batch, m, n, k;     /* GEMM: `batch` products of (m x k) by (k x n) */
    bool is_sequential;        /* GEMM: one of the `batch` after another, not side by side */
    bool is_grouped;           /* GEMM: the `batch` are of one set of experts, each with weights of its own */
    double sum_bytes;          /* GEMM: of `bytes`, those of a sum of gradients that it reads, adds to and writes */
    bool is_gradient;          /* GEMM: of a linear layer's input or weight; FLASH: the backward pass */
    bool is_fp8;               /* FLASH: multiplies in fp8 */
    bool is_padded;            /* GEMM: the library pads the rows of its operands (convolutions) */
    double groups;             /* GEMM: of a convolution, products of channels that do not mix; else 0 */
    bool is_depthwise;         /* GEMM: each input channel is a group */
    double flops;              /* executed matrix FLOPs */
    double elements;           /* ELEMENTWISE: of the tensor worked on; see arithmetic.h for what is computed of them */
    double bytes;              /* HBM read + written */
    double issued;             /* ELEMENTWISE: instructions of kernels that work on one element at a time, where they
                                  lie apart, are repeated or are converted; 0: memory bounds it (cost/compute.h) */
    double kernels;            /* one after another */
    double launches;           /* by the host, where they are more than `kernels`: some run side by side */
    bool is_awaited;           /* the host reads its result before it launches what follows */
    bool has_no_graph;         /* how much it works on is known only then: no graph of fixed shapes has it */
    double sequence, head_dim; /* FLASH: tokens attended to, head dimension */
    double queries;            /* FLASH: of all heads and sequences of a kernel */
    double window_keys;        /* FLASH: that a query meets on average in a window that slides; 0: it meets all */
    double pieces;             /* FLASH: into which a ring cuts the sequence, each a kernel's; 1 without one */
    bool causal;
    enum tsim_op_collective collective;
    enum tsim_axis axis;     /* COLLECTIVE: TSIM_AXIS_TENSOR, _CONTEXT or _EXPERT */
    double collective_bytes; /* size in nccl-tests' convention: the whole (gathered) buffer of one rank's group;
                                RING_EXCHANGE: bytes that each rank sends in all */
    bool once_per_node;      /* ALL_TO_ALL of copies of tokens: one goes to each node and is copied there */
    enum tsim_op_overlap overlap;
};

enum { TSIM_MAX_OPS = 160 };
struct tsim_op_list {
    int32_t n;
    struct tsim_op ops[TSIM_MAX_OPS];
};

/* Lists the kernels and collectives of one part for one micro-batch, in execution order: of the kind's variant `at`, 0
 * where its layers are all alike (tsim_part_variants). Recomputation is not in the lists: it is a list of its own. */
void tsim_operators_forward(const struct tsim_scenario *scenario, enum tsim_part part, int64_t at,
                            struct tsim_op_list *list);
void tsim_operators_backward(const struct tsim_scenario *scenario, enum tsim_part part, int64_t at,
                             struct tsim_op_list *list);
/* Lists what recomputation executes again of a layer's forward pass in the backward pass (nothing, unless `recompute`
 * is selective or more), without what stops early. */
void tsim_operators_again(const struct tsim_scenario *scenario, enum tsim_part part, int64_t at,
                          struct tsim_op_list *list);

/* Returns the share of the gradients of a pass that a kernel of its own adds to the sum, on average over a step: 0
 * where the product adds them, or where each micro-batch's gradients are reduced as they are (ZeRO-2 and -3). The first
 * of a step are kept as they are where the sum has their precision (torch.autograd's AccumulateGrad), else they are
 * added to zero (the fp32 buffers of Megatron-LM and of DeepSpeed's BF16_Optimizer). */
double tsim_separate_accumulation_frac(const struct tsim_scenario *scenario);

#endif
