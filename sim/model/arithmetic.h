/* arithmetic.h - the arithmetic of element-wise kernels. Their time is that of their memory traffic (cost/compute.h);
 * the FLOPs here show how far they are from being bound by anything else.
 *
 * FLOPs for each element are counted from the formulas. An addition, a multiplication or a comparison counts 1. A
 * function of the special function units (exp, tanh, reciprocal) counts 8, because these give 16 results a clock and
 * multiprocessor where fp32 units do 128 FLOP (V100, A100; NVIDIA, CUDA C++ Programming Guide, throughput of arithmetic
 * instructions).
 *
 *                 forward                                                       backward
 *   relu          1   max                                                       1
 *   gelu         16   0.5 x (1 + tanh(c (x + 0.044715 x^3)))                    24
 *   silu         18   x / (1 + e^-x); gated: times the other half, 19           26, gated 28
 *   sigmoid      17   1 / (1 + e^-x)                                            3
 *   tanh          8                                                             3
 *   layernorm     8   mean, variance, (x - mean) / sigma, scale and shift       13
 *   rmsnorm       4   mean square, x / rms, scale                               8
 *   softmax      13   scale, maximum, e^(x - max), sum, quotient                5
 *   loss         11   softmax and its logarithm                                 2
 *   dropout       2   residual 1, rotary 3, everything else 1; copies 0 */
#pragma once

#include "model/operators.h"

/* Counts the FLOPs of an element-wise operator from the lists of tsim_operators_forward or, with `backward`,
 * tsim_operators_backward. It is 0 for other operators, and for those that only copy, pools and embedding tables. */
double tsim_op_vector_flops(const struct tsim_model *model, const struct tsim_op *op, bool backward);

/* Returns the model's activation function: its own, or the usual one of its kind. */
enum tsim_activation_function tsim_model_activation(const struct tsim_model *model);
