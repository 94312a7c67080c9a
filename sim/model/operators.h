/* operators.h - a layer as the kernels and collectives that one accelerator executes, by phase.
 *
 * An operator states demands (matrix FLOPs by shape, HBM bytes, collective bytes) and never times: cost/ turns them
 * into seconds. Shapes are local, after division by tensor and context parallelism. Element-wise kernels count the
 * bytes that they read and write; which of them exist depends on the software profile (fusion, dropout, attention
 * kernel).
 *
 * Sources. Layer structure and tensor and sequence parallel communication: Shoeybi et al. 2019 (Megatron-LM), section
 * 3, and Korthikanti et al. 2022 (arXiv:2205.05198), section 4. Flash attention: Dao 2022 and 2023 (the backward pass
 * has 2.5 x the forward FLOPs, because QK^T is formed again). Ring attention: Liu et al. 2023. Experts: Lepikhin et al.
 * 2020 (GShard) and Megatron-Core's all-to-all dispatcher (megatron/core/transformer/moe/token_dispatcher.py).
 *
 * A layer with experts in place of the feed-forward block is a part of its own. Experts are divided over the expert
 * ranks, and each expert over the tensor ranks. Sizes are those of the slowest rank of the expert group (routing.h). */
#pragma once

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
    TSIM_PIPELINED_NEXT,     /* cut into chunks, which are gathered while the next operator works on earlier ones */
    TSIM_PIPELINED_PREVIOUS, /* cut into chunks, which are scattered while the operator before makes later ones */
    TSIM_CONCURRENT_NEXT,    /* asynchronous beside the next operator, and waited for at that operator's end */
    TSIM_CONCURRENT_PASS     /* beside the kernels of another micro-batch's pass */
};

struct tsim_op {
    const char *name;
    enum tsim_op_kind kind;
    unsigned parts;   /* the set of enum tsim_recompute_part to which it belongs */
    double joined[3]; /* GEMM: columns of the products that it joins, 0 for missing ones; all 0: it is one product */
    enum tsim_layer_product product; /* GEMM of a linear layer, forward or backward: its place in the layer */
    bool is_last_projection;         /* fc2 and what follows: recomputation with early stop leaves them out */
    bool is_weight_gradient;         /* split-backward schedules may delay it: products, and gathers of their inputs */
    enum tsim_precision precision;
    double batch, m, n, k; /* GEMM: `batch` products of (m x k) by (k x n) */
    bool is_sequential;    /* GEMM: the `batch` products run one after another, not side by side */
    bool is_grouped;       /* GEMM: the `batch` products are those of experts, each with its own weights */
    double sum_bytes;      /* GEMM: the part of `bytes` that is a sum of gradients, which it reads and writes */
    bool is_gradient;      /* GEMM: gradient of a linear layer's input or weight; FLASH: the backward pass */
    bool is_fp8;           /* FLASH: multiplies in fp8 */
    bool is_padded;        /* GEMM: the library pads the rows of its operands (convolutions) */
    double groups;         /* GEMM: groups of channels of a convolution that do not mix; else 0 */
    bool is_depthwise;     /* GEMM: each input channel is a group */
    bool is_winograd;      /* GEMM: the 16 products of Winograd's algorithm, with its transforms */
    double flops;          /* matrix FLOPs that it executes */
    double elements;       /* ELEMENTWISE: elements of the tensor; arithmetic.h says what is computed for each */
    double bytes;          /* read and written in HBM */
    /* ELEMENTWISE: instructions of kernels that work on one element at a time, because elements lie apart, are
     * repeated or are converted; 0: memory bounds it (cost/compute.h). */
    double issued;
    double kernels;    /* kernels one after another */
    double launches;   /* launches by the host, if they are more than `kernels`: some kernels run side by side */
    bool is_awaited;   /* the host reads its result before it launches what follows */
    bool has_no_graph; /* its size is known only when it runs, so no graph of fixed shapes has it */
    double sequence, head_dim; /* FLASH: tokens attended to, head dimension */
    double queries;            /* FLASH: queries of all heads and sequences of a kernel */
    double window_keys;        /* FLASH: keys that a query meets on average in a sliding window; 0: it meets all */
    double pieces;             /* FLASH: pieces of the sequence in a ring, each with its own kernel; 1 without a ring */
    bool causal;
    enum tsim_op_collective collective;
    enum tsim_axis axis; /* COLLECTIVE: TSIM_AXIS_TENSOR, _CONTEXT or _EXPERT */
    /* COLLECTIVE: size in nccl-tests' convention, which is the whole (gathered) buffer of one rank's group;
     * RING_EXCHANGE: bytes that each rank sends in total. */
    double collective_bytes;
    bool once_per_node; /* ALL_TO_ALL of copies of tokens: one goes to each node and is copied there */
    enum tsim_op_overlap overlap;
};

enum { TSIM_MAX_OPS = 160 };
struct tsim_op_list {
    int32_t n;
    struct tsim_op ops[TSIM_MAX_OPS];
};

/* These list the kernels and collectives of one part for one micro-batch, in execution order. `at` is the variant of
 * the kind, 0 if its layers are all alike (tsim_part_variants). The operators that recomputation executes are a list of their own. */
void tsim_operators_forward(const struct tsim_scenario *scenario, enum tsim_part part, int64_t at,
                            struct tsim_op_list *list);
void tsim_operators_backward(const struct tsim_scenario *scenario, enum tsim_part part, int64_t at,
                             struct tsim_op_list *list);
/* Lists the operators of a layer's forward pass that recomputation executes again in the backward pass, without those
 * after an early stop. The list is empty unless `recompute` is selective or more. */
void tsim_operators_again(const struct tsim_scenario *scenario, enum tsim_part part, int64_t at,
                          struct tsim_op_list *list);

/* Returns the part of a pass's gradients that a kernel of its own adds to the sum, on average over a step. It is 0 if
 * the product adds them, or if each micro-batch's gradients are reduced as they are (ZeRO-2 and -3). The first
 * gradients of a step are kept as they are if the sum has their precision (torch.autograd's AccumulateGrad), else they
 * are added to zero (the fp32 buffers of Megatron-LM and of DeepSpeed's BF16_Optimizer). */
double tsim_separate_accumulation_frac(const struct tsim_scenario *scenario);
