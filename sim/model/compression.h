/* compression.h - gradients that data-parallel ranks compress before they exchange them. Each rank keeps what it did
 * not send for the next step (error feedback). These are the bytes exchanged, moved and kept, and the FLOPs computed,
 * for each parameter; g is the bytes of a gradient.
 *
 *   top-k     An all-gather of the largest elements of every rank, each with a 4-byte index (Aji and Heafield 2017,
 *             arXiv:1704.05021; Lin et al. 2018, arXiv:1712.01887). The rank adds the residual to its gradient (in g
 *             and 4, out 4 bytes), takes absolute values (8) and selects: torch.topk reads them once for each of the
 *             four digits of a radix select and once to collect (pytorch/pytorch
 *             aten/src/ATen/native/cuda/TensorTopK.cu). It sets what it sent and the sum to 0 (g), and adds what all
 *             ranks sent: a sector of 32 bytes in and out for each element.
 *   powersgd  Two all-reduces for each matrix M of rows x columns, one of P = M Q and of the vectors, one of Q = M^T P,
 *             with Q of `rank` columns (Vogels et al. 2019, arXiv:1905.13727, algorithm 1). As in PyTorch's hook
 *             (pytorch/pytorch@00c22ce torch/distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py), adding the error,
 *             a copy, two products that read M, one that writes it, and the new error move 11 gradients; each product
 *             has 2 rank FLOPs an element. P is orthogonalized column by column (Gram-Schmidt), by seven small kernels
 *             each, the last by three.
 *   1-bit     An all-to-all and an all-gather of one bit for each element of Adam's momentum, in the optimizer's step,
 *             behind the backward pass (Tang et al. 2021, arXiv:2102.02888). DeepSpeed does it in unfused operators
 *             (microsoft/DeepSpeed@0a849d5 deepspeed/runtime/comm/nccl.py, compressed_allreduce). Their bytes are:
 *             error in 12, norm 4, new error 62, signs packed 22.1, signs of all ranks unpacked and summed 34.1, result
 *             unpacked 38.1; and the first four again for the n-th part of the elements that a rank sums, with 4 for
 *             their sum.
 *
 * The figures are averages over the model's parameters, because all stages exchange the same for each. Temporary
 * tensors are not counted as memory, because activations have left it by then. The effect on the loss, and so on the
 * number of steps, is not predicted. */
#pragma once

#include "config/scenario.h"

enum { TSIM_COMPRESSED_EXCHANGES = 2 };

/* The cost for each parameter on one rank. */
struct tsim_compression_cost {
    double
        exchanged_bytes[TSIM_COMPRESSED_EXCHANGES]; /* counted as in cost/collective.h; 0: there is no such exchange */
    double traffic_bytes, matrix_flops, kernels;
    double kept_bytes;
};

/* Finds the cost of an exchange among `n_ranks`; all of it is 0 if nothing is compressed. */
void tsim_compression_cost(const struct tsim_scenario *scenario, double n_ranks, struct tsim_compression_cost *cost);
