/* compute.h - what one kernel costs on one accelerator. Pure functions.
 *
 * A kernel's time is its roofline, max(matrix time, memory time), plus a fixed latency.
 *
 * Matrix products. The result is cut into tiles that are dealt to the compute units in waves; a last, partly filled
 * wave takes as long as a full one. With U units, peak P at the precision, tile (tm x tn), depth k:
 *
 *   tiles = batch * ceil(m/tm) * ceil(n/tn)
 *   waves = ceil(tiles / U); of less than one wave the depth is split in z: ceil(tiles*z / U) / z
 *   time  = waves * 2 tm tn (k + ramp) / (P/U * sustained * tile_eff)
 *
 * Wave quantization: NVIDIA, "Matrix Multiplication Background User's Guide", section 4. Rates of 146 products of 2,304 x
 * (1,536 to 6,144) x 4,096 on A100 and V100 drop by 8 to 18 % where another wave begins (EleutherAI/cookbook@27dff48
 * sizing/results/gemm_data/mm/ksweep_high), so what fills a wave is not split.
 *
 * `ramp` (in elements of k) is the start and end of a tile: filling the pipeline and writing the result, paid once per
 * tile whatever its depth. It is a time, so `matrix_ramp_k`, which is of 16-bit products, is multiplied by peak / peak
 * in 16 bits: fp8 on H100 loses 620 elements where 16 bits lose 310 (DeepGEMM's products on H800), fp32 on V100 an
 * eighth of what fp16 does. `sustained` is the fraction of the datasheet peak that long products reach under the power
 * limit; it is what remains when the rest is taken out. tile_eff: smaller tiles reuse operands less. fp32 asks a
 * quarter of what 16 bits ask of the caches, or less, twice the bytes at an eighth of the rate (V100; A100 a sixteenth):
 * its smallest tile asks two thirds of what their largest does, so none is slower. The library is assumed to choose the
 * best of a few tile shapes, as cuBLAS's heuristics try to.
 *
 * Matrix units load 16 bytes at a time. Where the rows of an operand or of the result are no whole number of them (8
 * elements of 16 bits) libraries fall back to kernels that reach 0.69 of the rate: SwiGLU with an inner width of 10,922
 * on H100, 272.7 TFLOP/s, against 395 to 398 with 10,848 to 11,008, all multiples of 32 (stas00/ml-engineering@744d01e
 * training/performance/README.md; the rule: NVIDIA, the same guide, section 2.2). CUDA before 11.7 did without matrix
 * units (`unaligned_products: vector-units`): cuBLAS before 11.0 by that section, batched products still with 11.6,
 * where (384, 1024 x 1024 x 140) in bf16 on A100's generation reached 12.2 TFLOP/s, and 132 with 128 columns
 * (pytorch/pytorch#83272; 53.9 in fp16, 85.6 in either with 11.7), 0.90 of what fp32 products of its shape reach. BLOOM's
 * tuning runs with heads of 108, 150 and 450 elements are met with that as its others are.
 *
 * fp8 products of gradients have their sums promoted to fp32 every few steps of depth, those of the forward pass keep
 * them in the matrix units' fewer bits unless scales are of blocks: `fp8_gradients` is the one rate over the other
 * (Hopper; Blackwell has one mode).
 *
 * Sums of gradients. A product that adds its result to a sum in memory (the weight gradient with gradient accumulation
 * fused) reads and writes that sum at the ends of its tiles, in fp32 four times what a product writes. The matrix units
 * wait for `accumulation_exposed` of that time, the rest is hidden:
 *
 *   time = max(matrix + exposed * sum_bytes / memory_rate, memory)
 *
 * On B200 0.38 of it (hardware/calibration/b200-node-kernels.csv: products of 2 ms and more, which reach 0.454 of the
 * peak with sums in fp32, 0.478 in bf16 and 0.49 without one at a depth of 4,096; within 2.7 % for each); on A100 0.16, between 0.09 and 0.30 (a100-80gb-pcie-kernels.csv). The layouts of
 * forward products, input gradients and weight gradients make no other difference there: less than 1 %.
 *
 * Grouped products. The products of several experts are launched side by side on a few streams; each is too small to
 * fill the chip alone, and its tiles do not mix freely with the next one's: `grouped_products` is their rate over that of
 * one product (cuBLAS on four streams, on B200 0.95 of it under the power limit, on A100 all of it). Short ones wait for their launches, which
 * is the host's time (step/pass/pass.h).
 *
 * Convolutions in groups. A group's few columns fill a tile badly, so libraries let a tile take several groups, or do
 * without matrix units where each channel is a group (CUTLASS, include/cutlass/conv/convolution.h: GroupMode's
 * kMultipleGroup, kDepthwise; PyTorch, aten/src/ATen/native/cuda/DepthwiseConv2d.cu). Taken is the fastest of 1, 2, 4,
 * ... and all groups on the diagonal of a product, the last of which is the convolution without groups, and of
 * flops / vector_peak where each channel is a group. That leaves depthwise kernels to memory, which bounds them (Ma et
 * al. 2018, arXiv:1807.11164). The vector units' rate is their peak, not a measured one.
 *
 * Flash attention.
 * rate = P * frac * d/(d + 20) * 148/128 * s/(s + r): frac is the long-sequence rate at head dimension
 * 128 (per kernel generation), the head dimension and ramp terms are fits to the measured curves of the
 * FlashAttention-2 and -3 repositories (A100 and H100, 512 to 16k tokens, d = 64 and 128; residuals under 5 % from 1k
 * tokens on): r = 190 tokens, and 600 for causal attention, whose diagonal blocks are computed whole.
 * cuDNN's kernel has longer ones, r = 330 and 1,000 (NVIDIA/cudnn-frontend@816ea45 and @df73764, H200, 2k to 32k
 * tokens, forward and backward, 1 and 2 sequences: residuals 5 % while the chip is cool). FlashAttention-1 is flatter:
 * r = 90 and 310, and a head of 64 is 1.31 and 1.13 times as fast as one of 128, because it keeps more of it on the
 * chip (least squares on the same figure's 24 points for A100, residuals 4 %). The Triton kernel of 2022 has its
 * lengths, 1.2 times its rate, and no rule for heads.
 * Around a ring of context ranks a kernel's s is that of its piece: one is causal over the rank's own t = s/cp tokens, of
 * cp - 1 others half attend from t tokens to t/2 and half from t/2 to t, with the ramp of attention that is not causal:
 * (1 + r_causal/t + (cp - 1) (1 + 1.5 r/t)) / cp (Transformer Engine, AttnFuncWithCPAndKVP2P).
 * A causal forward pass of few heads waits for its longest tile, one of t queries that attends to all s keys. Tiles are
 * dealt to U units as these get free, so the last of them ends about its own time after the mean of all: with q queries
 * of all heads together the work of a unit is q s / 2U rows of keys and the longest tile's is t s, which is 2 t U / q of
 * it. FlashAttention-2 has tiles of t = 128: with 4, 8, 16, 32 and 64 heads of 4,096 queries it reaches 0.257, 0.388, 0.496,
 * 0.566 and 0.594 of A100's peak, times 1 + 2 t U / q the same 0.69, 0.72, 0.70, 0.69, 0.66
 * (a100-80gb-pcie-kernels.csv). cuDNN's kernel on B200 has t = 256: with 8, 16, 32 and 64 heads it reaches 0.155, 0.289,
 * 0.366 and 0.436 of the peak, by this 0.16, 0.25, 0.34 and 0.41 where the rate is 0.53 (b200-node-kernels.csv, while
 * cool). The larger of it and r / s is taken, since r was fitted to many heads; FlashAttention-1 is spared, which was not
 * measured so. Backward passes wait less, by half or not at all: nothing is taken. Heads of more than 128 elements (192
 * of keys, 128 of values) are slower in cuDNN's kernel on B200: `wide_heads`.
 *
 * In a window that slides a query meets k keys in the mean, a tile of t queries those of all its windows, which are t
 * more; all tiles are alike, so that the ramp is that without a mask: 1 + (t + r) / k. For a
 * window as long as the sequence, k = s / 2, it is 1 + 636 / s, causal attention's 1 + 600 / s. cuDNN's kernels of a
 * window of 128 and heads of 64 take 5 to 7 % longer on H200 and 16 to 18 % on GB200, forward and backward
 * (NVIDIA/cudnn-frontend, benchmark/attention_training/results/gpt_oss). Chunks are causal attention in sequences of
 * their length.
 *
 * Backward passes are slower than forward passes, which shows where forward passes are repeated. For its FLOP a forward
 * pass is 1.2 times as fast: FlashAttention-2 on A100 1.11 to 1.28, cuDNN on H200 1.17 to 1.33 and on GB200 1.2 to 1.3
 * (causal, 2k to 32k tokens; NVIDIA/cudnn-frontend@816ea45 benchmark/attention_training/results/llama3.1), of Triton
 * 1.7: 150.0 and 87.5 TFLOP/s at 4,096 tokens on A100 (triton-lang.org, tutorial 06, causal, heads of 64; 1.87 at
 * 1,024). frac is of both, 2 FLOP forward to 5 backward, which so take what they take together at the one rate:
 * forward (2 + 5 ratio) / 7, backward that over ratio. FlashAttention-1 has not been measured apart: 1.
 *
 * Arrays of multipliers (a x a in each of U units; accelerators with `array`) instead of tiles. Those of TPU and
 * Trainium keep a x a weights while rows stream past them, a row each cycle, and load the next weights meanwhile, which
 * takes a cycles (Jouppi et al. 2017, arXiv:1704.04760, section 2): n and k count in whole a, a strip of m no less than
 * a, and the strips of m are dealt to the units: waves * 2 rows a (a ceil(k/a) + ramp) / (P/U * sustained). Those of
 * Gaudi keep a x a results while both operands stream past: tiles of a x a, as above, of one size alone, and of less than
 * a wave of them the depth is split, as Intel's compiler does for weight gradients of convolutions (HabanaAI/
 * Intel_Gaudi3_Software, gaudi2_geo_attr.cpp, setCdConcurrency). A wafer's cores and an IPU's tiles are arrays of 1 and
 * of 16 that keep results: work is dealt element by element.
 *
 * Bulk synchronous accelerators run in supersteps (Valiant 1990): a kernel's time is its roofline, then the exchange of
 * what it reads and writes over the interconnect of the units, then a synchronization, which is its latency.
 *
 * The power limit. A kernel that keeps matrix units busy for a part u of its time, and memory for a part v, draws
 * a_c u f^3 + max(a_m v, (1 - a_c) u) of the range between idle power and the limit (cluster/power.h; voltage falls
 * with the clock, and dynamic power with f V^2; products at the sustained rate draw all of it, a_c of that with the
 * clock). Where that is more than all of it at the clock that the sustained rates hold for (f = 1), that is where both
 * are busy, f is lowered until it fits; a `cap` set below the limit lowers what there is. Memory keeps its clock.
 *
 * Element-wise kernels move bytes at the sustained fraction of HBM's peak. Those of eager code that work on one element
 * at a time (operator_builders.h says which, and from what measurements) take as long as their instructions where that
 * is longer: a unit of NVIDIA's issues four warps of 32 a cycle (NVIDIA, CUDA C++ Programming Guide, compute
 * capabilities 7.x to 10.x), at the clock of the data sheet.
 *
 * Not here: caches (a tensor that fits in L2 is still counted as HBM traffic), clocks that vary with load (in
 * `sustained`), launch limits of the host (step/pass/pass.h). */
#ifndef TSIM_COST_COMPUTE_H
#define TSIM_COST_COMPUTE_H

#include "base/term.h"
#include "model/operators.h"

/* MATRIX: or the instructions of the vector units. */
enum tsim_limit { TSIM_LIMIT_MATRIX, TSIM_LIMIT_MEMORY, TSIM_LIMIT_LATENCY };

struct tsim_kernel_cost {
    double time_s;         /* max of the next two, plus exchange and latency */
    double matrix_s;       /* on the matrix units, quantization and lowered clocks included */
    double matrix_power_s; /* energy on the matrix units, as time at the full clock: f^2 of what it takes there */
    double memory_s;       /* on HBM */
    double exchange_s;     /* bulk synchronous: after it, between the units' memories; else 0 */
    enum tsim_limit limit;
};

/* Returns the time of a kernel, with the terms that it is made of. The software decides which fractions apply
 * (attention kernel). Collectives have a function of their own. */
struct tsim_amount tsim_kernel_recorded(struct tsim_term_recorder *recorder, const struct tsim_accelerator *accelerator,
                                        const struct tsim_software *software, const struct tsim_op *op,
                                        struct tsim_kernel_cost *cost);
void tsim_kernel_cost(const struct tsim_accelerator *accelerator, const struct tsim_software *software,
                      const struct tsim_op *op, struct tsim_kernel_cost *cost);

/* The product alone, no latency: seconds. */
double tsim_gemm_s(const struct tsim_accelerator *accelerator, enum tsim_precision precision, double batch, double m,
                   double n, double k);

/* The clock, of that which the sustained rates hold for, that the power limit leaves a kernel of these busy times. */
double tsim_power_clock(const struct tsim_accelerator *accelerator, double matrix_s, double memory_s);

/* Long-run matrix rate: peak x sustained fraction. */
double tsim_matrix_rate(const struct tsim_accelerator *accelerator, enum tsim_precision precision);
double tsim_memory_rate(const struct tsim_accelerator *accelerator);
struct tsim_amount tsim_matrix_rate_recorded(struct tsim_term_recorder *recorder,
                                             const struct tsim_accelerator *accelerator, enum tsim_precision precision);
struct tsim_amount tsim_memory_rate_recorded(struct tsim_term_recorder *recorder,
                                             const struct tsim_accelerator *accelerator);

#endif
