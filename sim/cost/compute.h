/* compute.h - the time of one kernel on one accelerator. Pure functions.
 *
 * A kernel takes its roofline, max(matrix time, memory time), plus a fixed latency. This comment has the formulas. Their
 * constants are in hardware/families/all.yaml, or in the file of an accelerator that has others (`kernels`);
 * docs/physics.md, "Where the kernels' constants come from", has the measurements behind each.
 *
 * Symbols. U: compute units. P: peak of the precision (FLOP/s). A product is (m x k) times (k x n), `batch` times.
 * `sustained`: the fraction of P that long products reach under the power limit.
 *
 * Matrix products. The result is cut into tiles of tm x tn, which are dealt to the units in waves. A last, partly filled
 * wave takes as long as a full one (NVIDIA, "Matrix Multiplication Background User's Guide", section 4):
 *
 *   tiles = batch * ceil(m/tm) * ceil(n/tn)
 *   waves = ceil(tiles / U); if the tiles do not fill one wave, the depth is cut into z parts: ceil(tiles*z / U) / z
 *   time  = waves * 2 tm tn (k + ramp) / (P/U * sustained * tile_eff)
 *
 * `ramp` is the start and end of a tile, in elements of k: filling the pipeline and writing the result, which every tile
 * pays once. It is a time, so a precision with twice the peak has twice the ramp; `matrix_ramp_k` states it for 16 bits.
 * `tile_eff` is below 1 for small tiles, which reuse operands less. In fp32 it is 1 for all: units that work at an eighth
 * of the rate ask less of the caches. The library is assumed to choose the best of a few tile shapes, as cuBLAS's
 * heuristics try to.
 *
 * Unaligned products. Matrix units load 16 bytes at a time. If the rows of an operand or of the result are not a multiple
 * of 16 bytes (8 elements of 16 bits), libraries fall back to kernels that reach 0.69 of the rate (NVIDIA, the same
 * guide, section 2.2). CUDA before 11.7 does such products without matrix units (`unaligned_products: vector-units`), at
 * 0.90 of the rate of fp32 products of the same shape.
 *
 * fp8. Products of gradients promote their sums to fp32 every few steps of depth, and so do all products whose scales
 * belong to blocks; other forward products do not. `fp8_gradients` is the rate with promotion over the rate without
 * (Hopper; Blackwell has only one mode).
 *
 * Sums of gradients. A weight gradient's product that adds its result to a sum in memory reads and writes that sum at
 * the end of each tile. The matrix units wait for the fraction `accumulation_exposed` of that traffic; the rest is
 * hidden:
 *
 *   time = max(matrix + exposed * sum_bytes / memory_rate, memory)
 *
 * Grouped products. The products of several experts run side by side on a few streams. Each is too small to fill the
 * chip, and its tiles do not mix freely with the next one's: `grouped_products` is their rate over that of one large
 * product. Short products wait for their launches, which is the host's time (step/pass/pass.h).
 *
 * Convolutions in groups. The few columns of a group fill a tile badly. Libraries therefore let a tile take several
 * groups, or do without matrix units if each channel is a group (CUTLASS, include/cutlass/conv/convolution.h: GroupMode's
 * kMultipleGroup and kDepthwise; PyTorch, aten/src/ATen/native/cuda/DepthwiseConv2d.cu). The cost is the least of: 1, 2,
 * 4, ... or all groups on the diagonal of one product; and flops / vector_peak if each channel is a group. Depthwise
 * kernels are then bound by memory (Ma et al. 2018, arXiv:1807.11164).
 *
 * Winograd's convolutions. Their transforms take a part of the kernel, which reaches `winograd` of the rate of products;
 * weight gradients, for which cuDNN has transforms and products apart, reach `winograd_weights`.
 *
 * Flash attention, with d the head dimension, s the tokens of the sequence and r the ramp in tokens:
 *
 *   rate = P * frac * d/(d + 20) * 148/128 * s/(s + r)
 *
 * `frac` is the rate of long sequences with heads of 128, one number for each generation of the kernel. 20 and r are fits
 * to published curves: r = 190 tokens, and 600 if causal, since the blocks on the diagonal are computed whole. cuDNN's
 * kernel has r = 330 and 1,000, FlashAttention-1 and Triton's kernel 90 and 310. In FlashAttention-1 a head of 64 is 1.31
 * times (causal 1.13) as fast as one of 128, because the chip holds more of it.
 *
 *   Context ranks. Around a ring of cp ranks each kernel sees a piece of t = s/cp tokens. One kernel is causal over t. Of
 *   the other cp - 1, half attend from t tokens to t/2 and half from t/2 to t, with the ramp of attention that is not
 *   causal: the factor is (1 + r_causal/t + (cp - 1) (1 + 1.5 r/t)) / cp (Transformer Engine, AttnFuncWithCPAndKVP2P).
 *
 *   Few heads. A causal forward pass waits for its longest tile: t queries that attend to all s keys. Let q be the queries
 *   of all heads. A unit's share of the work is q s / 2U rows of keys and the longest tile's is t s. Tiles go to units as
 *   these become free, so the pass ends about one longest tile after the mean: the ramp is 2 t U / q. Tiles have t = 128
 *   queries in FlashAttention-2 and 256 in cuDNN's kernel on Blackwell. r/s was fitted to many heads, so the larger of
 *   the two ramps is taken. FlashAttention-1 and backward passes have none, as far as was measured.
 *
 *   Wide heads. cuDNN's kernel on B200 is slower for heads of more than 128 elements (192 of keys, 128 of values):
 *   `wide_heads`.
 *
 *   fp8. Where attention multiplies in fp8 cuDNN's kernel on Blackwell is `fp8_over_16` as fast without a ramp; the ramp is
 *   a time: 1 / fp8_over_16 + r/s in place of 1 + r/s. Hopper's has no rate of its own: its forward pass is faster and its
 *   causal backward pass slower than in 16 bits (cuDNN 9.27).
 *
 *   Sliding windows. A query meets k keys on average; a tile of t queries meets the keys of all their windows, t more.
 *   All tiles are alike, so the ramp is that without a mask: 1 + (t + r) / k. With a window as long as the sequence
 *   (k = s/2) that is 1 + 636/s, close to causal attention's 1 + 600/s. Chunks are causal attention in sequences of their
 *   length.
 *
 *   Forward and backward. A forward pass does 2/7 of the FLOP and is `ratio` times as fast per FLOP: 1.2, in Triton's
 *   kernel 1.7, in FlashAttention-1, where it was not measured, 1. `frac` is the rate of both together, so forward takes
 *   frac (2 + 5 ratio) / 7 and backward that over ratio. It matters where a forward pass is repeated (recomputation).
 *
 *   Splash attention (JAX, splash_attention_kernel.py) goes through blocks of q queries and k keys, one after the other on
 *   each core, and computes whole those that the mask leaves a part of. With b the longer side and s the tokens:
 *
 *   time = FLOP / (P * frac * fill) * (1 + (1 + 2 * 0.3) b/s) * (1 + start),   start = 880 cycles / time of a block
 *
 *   The mask itself takes 0.3 of the time of what it touches, half of it for nothing; with a window s is the mean of the
 *   keys. `fill` is the part of its arrays that a head fills: d over whole sides. The three numbers were fitted to
 *   thirteen times of the kernel on a core of TPU7x with heads of 256, forward, 4,096 to 131,072 tokens, blocks of 1,024
 *   to 4,096 (heavyball-research/flywheel-tpu, README_v7x.md and splash_tuned_v7x.json; a start is shared where the table
 *   stacks heads), which they meet within 6 %, 1.8 % on average. Backward products run at 0.95 of forward ones: on TPU
 *   v5p two backward kernels, seven products, take 3.64 to 3.75 times as long as the forward's two, whatever the number
 *   of heads (apple/axlearn, tpu_attention_benchmark.py).
 *
 * Arrays of a x a multipliers (accelerators with `array`) instead of tiles.
 *
 *   TPU and Trainium keep a x a weights while rows stream past them, one row a cycle, and load the next weights meanwhile,
 *   which takes a cycles (Jouppi et al. 2017, arXiv:1704.04760, section 2). n and k count in whole a, a strip of m has at
 *   least a rows, and the strips are dealt to the units: waves * 2 rows a (a ceil(k/a) + ramp) / (P/U * sustained).
 *
 *   Gaudi keeps a x a results while both operands stream past: tiles as above, of this one size. Less than a wave of them
 *   splits the depth, as Intel's compiler does for weight gradients of convolutions (HabanaAI/Intel_Gaudi3_Software,
 *   gaudi2_geo_attr.cpp, setCdConcurrency). The cores of a wafer and the tiles of an IPU are arrays of 1 and of 16 that
 *   keep results.
 *
 * Bulk synchronous accelerators run in supersteps (Valiant 1990): the roofline, then the exchange of what the kernel
 * reads and writes over the interconnect of the units, then a synchronization, which is the kernel's latency.
 *
 * The power limit. A kernel that keeps matrix units busy for a part u of its time and memory for a part v draws
 *
 *   a_c u f^3 + max(a_m v, (1 - a_c) u)
 *
 * of the range between idle power and the limit (cluster/power.h). f is the clock over the one at which the sustained
 * rates hold; dynamic power goes with f V^2, and voltage falls with the clock. Products at the sustained rate draw the
 * whole range, a_c of it with the clock. A kernel that would draw more at f = 1, because matrix units and memory are both
 * busy, runs at the f that fits. A `cap` below the limit lowers the range. Memory keeps its clock.
 *
 * Element-wise kernels move bytes at the sustained fraction of HBM's peak. Eager kernels that work on one element at a
 * time (operator_builders.h says which) take as long as their instructions if that is longer: a unit of NVIDIA's issues
 * four warps of 32 threads a cycle (NVIDIA, CUDA C++ Programming Guide, compute capabilities 7.x to 10.x), at the clock
 * of the data sheet.
 *
 * Not modelled here: caches (a tensor that fits in L2 still counts as HBM traffic), clocks that vary with load (they are
 * in `sustained`), and how fast the host launches (step/pass/pass.h). */
#pragma once

#include "base/term.h"
#include "model/operators.h"

/* The term that decides how long a kernel takes. MATRIX also stands for the instructions of the vector units. */
enum tsim_limit { TSIM_LIMIT_MATRIX, TSIM_LIMIT_MEMORY, TSIM_LIMIT_LATENCY };

struct tsim_kernel_cost {
    double time_s;         /* max(matrix_s, memory_s) + exchange_s + latency */
    double matrix_s;       /* time on the matrix units, with quantization and lowered clocks */
    double matrix_power_s; /* energy of the matrix units as time at the full clock: f^2 * (matrix time at f = 1) */
    double memory_s;       /* time of the kernel's bytes in HBM */
    double exchange_s;     /* exchange between the units' memories (bulk synchronous accelerators); else 0 */
    enum tsim_limit limit;
};

/* Returns the time of a kernel and records the terms that it is made of. The software says which attention kernel runs,
 * and so which fractions apply. Collectives have a function of their own (collective.h). */
struct tsim_amount tsim_kernel_recorded(struct tsim_term_recorder *recorder, const struct tsim_accelerator *accelerator,
                                        const struct tsim_software *software, const struct tsim_op *op,
                                        struct tsim_kernel_cost *cost);
void tsim_kernel_cost(const struct tsim_accelerator *accelerator, const struct tsim_software *software,
                      const struct tsim_op *op, struct tsim_kernel_cost *cost);

/* Returns the seconds that a product takes on the matrix units, without the kernel's latency. */
double tsim_gemm_s(const struct tsim_accelerator *accelerator, enum tsim_precision precision, double batch, double m,
                   double n, double k);

/* Returns f above: the clock that the power limit leaves to a kernel with these busy times, over the clock at which the
 * sustained rates hold. At most 1. */
double tsim_power_clock(const struct tsim_accelerator *accelerator, double matrix_s, double memory_s);

/* These return the rates of long kernels: peak * sustained fraction, in FLOP/s and bytes/s. */
double tsim_matrix_rate(const struct tsim_accelerator *accelerator, enum tsim_precision precision);
double tsim_memory_rate(const struct tsim_accelerator *accelerator);
struct tsim_amount tsim_matrix_rate_recorded(struct tsim_term_recorder *recorder,
                                             const struct tsim_accelerator *accelerator, enum tsim_precision precision);
struct tsim_amount tsim_memory_rate_recorded(struct tsim_term_recorder *recorder,
                                             const struct tsim_accelerator *accelerator);
