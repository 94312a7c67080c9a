/* optimizer.h - what an optimizer keeps, moves and computes for each parameter of a step.
 *
 * Traffic is what one fused kernel has to move: the gradient in, the fp32 weight in and out (a master copy, or the
 * weight itself), the weight of 16 bits out where there is a copy, and the states in and out. Without a master copy the
 * weight of 16 bits goes in and out. A software profile says what its Adam moves; every other optimizer moves as much
 * more or less as its least traffic is above or below Adam's.
 *
 *   optimizer    states kept          beside weight and gradient                         source
 *   sgd          -                    -
 *   momentum     4                    momentum in and out                                Polyak 1964
 *   rmsprop      4                    mean square in and out                             Hinton 2012, lecture 6e
 *   adam(w)      8                    two moments in and out                             Kingma and Ba 2015
 *   lamb         8                    the same, the update out and in again, and the     You et al. 2020, algorithm 2
 *                                     weight once more, for the ratio of their norms
 *   adafactor    4 (1/rows + 1/cols)  gradient twice more (row and column sums, clipping Shazeer and Stern 2018,
 *                of a matrix, 4 of a  by the update's mean square), weight once more     algorithm 4
 *                vector               (relative step size)
 *   adam-8bit    2 x (1 + 4 / 2048)   both of them in and out: a byte each, and an       Dettmers et al. 2022,
 *                                     fp32 maximum for each block of 2,048               section 2.1
 *   galore-8bit  adam-8bit's of a     the projected gradient and update out and in,      Zhao et al. 2024, section 4
 *                projected matrix,    states of that size, and the whole update out
 *                the projection       and in
 *   muon         4 of a block's       the momentum in and out, the orthogonal update of  Jordan et al. 2024; Liu et al.
 *                matrix, 8 of the     16 bits out and in; Adam's of the rest             2025, arXiv:2502.16982
 *                rest
 *
 * Moments of momentum, rmsprop, adam(w), lamb and muon may be kept in 16 bits (training.state_precision: MaxText with weight_dtype
 * bfloat16): half of each.
 *
 * GaLore projects the matrices of attention and feed-forward blocks to rank r = hidden / 4 (its 7B model) along their
 * shorter side m: moments are r x n, the projection m x r, a byte each; embedding, head and vectors keep adam-8bit's.
 * With this its 7B model's states are 82.5 % below those of Adam in bf16, as the paper says. Its two products a step, 4
 * r FLOPs a parameter, run on the matrix units. The singular value decomposition that renews the projection every 200
 * steps is left out: below 10 % of the time, says the paper.
 *
 * Muon makes the momentum of each m x n matrix of a block (m the shorter side) orthogonal by five steps of Newton and
 * Schulz in 16 bits, X = aX + (bA + cA A)X with A = X X^T: three products, 4 m^2 n + 2 m^3 FLOPs. Their bytes hide behind
 * them. Embedding, head and vectors are AdamW's. Sharded states are whole matrices that ranks share out (Megatron-LM's
 * layer-wise optimizer); what gathering their parts takes elsewhere (up to a quarter of Adam's traffic, say Liu et al.) is
 * left out, and tensor ranks divide the products.
 *
 * Averages over the model's parameters: stages and ranks keep the same for each. Embedding tables: tables.h. */
#ifndef TSIM_MODEL_OPTIMIZER_H
#define TSIM_MODEL_OPTIMIZER_H

#include "model/matrices.h"
#include "model/parameter_bytes.h"

struct tsim_optimizer_cost { /* a parameter's */
    double state_bytes;
    double least_bytes;   /* moved by one fused kernel */
    double traffic_bytes; /* moved by the scenario's software */
    double vector_flops, matrix_flops;
    double kernels; /* of its products */
};

void tsim_optimizer_cost(const struct tsim_scenario *scenario, struct tsim_optimizer_cost *cost);

/* Adds a model's but for embedding tables. */
void tsim_model_matrices(const struct tsim_model *model, struct tsim_matrices *matrices);

/* Returns the bytes of optimizer state per parameter held. */
double tsim_optimizer_state_bytes(const struct tsim_scenario *scenario);

#endif
