/* optimizer.h - what an optimizer keeps, moves and computes for each parameter in a step.
 *
 * The table has bytes for each parameter. Traffic is what one fused kernel has to move: the gradient in, the fp32
 * weight in and out (a master copy, or the weight itself), the weight of 16 bits out if there is a copy, and the states
 * in and out. Without a master copy the weight of 16 bits goes in and out. A software profile says what its Adam moves;
 * every other optimizer moves more or less in proportion to its least traffic over Adam's.
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
 * Moments of momentum, rmsprop, adam(w), lamb and muon may be kept in 16 bits, which is half of each
 * (training.state_precision; MaxText with weight_dtype bfloat16).
 *
 * GaLore projects the m x n matrices of attention and feed-forward blocks along their shorter side m to rank r = hidden
 * / 4 (the paper's 7B model). Moments are r x n and the projection is m x r, a byte each; embedding, head and vectors
 * keep adam-8bit's state. The states of that 7B model are then 82.5 % below those of Adam in bf16, as the paper says.
 * The two products of a step, 4 r FLOPs a parameter, run on the matrix units. The singular value decomposition that
 * renews the projection every 200 steps is left out; by the paper it takes less than 10 % of the time.
 *
 * Muon makes the momentum of each m x n matrix of a block (m the shorter side) orthogonal by five steps of Newton and
 * Schulz in 16 bits, X = aX + (bA + cA A)X with A = X X^T. These are three products with 4 m^2 n + 2 m^3 FLOPs, whose
 * memory traffic takes less time than they do. Embedding, head and vectors have AdamW. Sharded states are whole
 * matrices that ranks divide among themselves (Megatron-LM's layer-wise optimizer). Gathering the parts of sharded
 * matrices, which other implementations need (up to a quarter of Adam's traffic, by Liu et al.), is left out. Tensor
 * ranks divide the products.
 *
 * The figures are averages over the model's parameters: stages and ranks keep the same for each. Embedding tables are
 * in tables.h. */
#pragma once

#include "model/matrices.h"
#include "model/parameter_bytes.h"

/* The figures are those of one parameter. */
struct tsim_optimizer_cost {
    double state_bytes;
    double least_bytes;   /* the least that one fused kernel moves */
    double traffic_bytes; /* moved by the scenario's software */
    double vector_flops, matrix_flops;
    double kernels; /* number of the kernels of its products */
};

void tsim_optimizer_cost(const struct tsim_scenario *scenario, struct tsim_optimizer_cost *cost);

/* Adds a model's matrices, except embedding tables. */
void tsim_model_matrices(const struct tsim_model *model, struct tsim_matrices *matrices);

/* Returns the bytes of optimizer state for each parameter held. */
double tsim_optimizer_state_bytes(const struct tsim_scenario *scenario);
