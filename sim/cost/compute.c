#include "cost/compute.h"

#include "cluster/power.h"

#include <math.h>

/* Tiles that libraries have kernels for, and how near a full unit each comes (operand reuse per shared-memory byte:
 * CUTLASS profiler tables; the largest is 1 by definition). */
static const struct tile {
    double m, n, efficiency_frac;
} TILES[] = {{256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 0.96}, {128, 64, 0.85}, {64, 128, 0.85}, {64, 64, 0.7}};
enum { N_TILES = sizeof TILES / sizeof TILES[0], MAX_SPLIT_K = 8, MAX_STRIPS = 32 };

#define ROUNDING 1e-12        /* slack of a lower bound compared with a sum: thousands of double rounding errors */
#define MIN_SPLIT_DEPTH 512.0 /* a slice of k shorter than this is not worth its reduction */

/* Relative clocks under the power limit are found by false position (the Illinois variant: the value at an end that
 * stays is halved), down to where chips stop lowering them. */
#define LOWEST_CLOCK 0.1
#define CLOCK_PRECISION 1e-13 /* of the power range */
enum { CLOCK_STEPS = 40 };

/* Rows that are no multiple of what the matrix units load; see the header. */
#define LOAD_BYTES 16.0
#define UNALIGNED_FRAC 0.69
#define UNALIGNED_VECTOR_FRAC 0.90 /* of the rate of fp32 products */

/* Flash attention's shape terms, and cuDNN's and FlashAttention-1's own; see the header. */
#define FLASH_HEAD_DIM_RAMP 20.0
#define FLASH_REFERENCE_HEAD_DIM 128.0
#define FLASH_RAMP_TOKENS 190.0
#define FLASH_CAUSAL_RAMP_TOKENS 600.0
#define CUDNN_RAMP_TOKENS 330.0
#define CUDNN_CAUSAL_RAMP_TOKENS 1000.0
#define FLASH1_RAMP_TOKENS 90.0
#define FLASH1_CAUSAL_RAMP_TOKENS 310.0
#define FLASH1_SMALL_HEAD_DIM 64.0
#define FLASH1_SMALL_HEAD_FACTOR 1.31
#define FLASH1_CAUSAL_SMALL_HEAD_FACTOR 1.13
/* FlashAttention-1 against the Triton kernel of 2022: FlashAttention-2 is up to 3.0 times as fast as the one and up to
 * 2.5 times as fast as the other, 1.2; by the least, 1.7 and 1.3, it would be 1.3 (Dao 2023, section 4.1). The lower
 * one is taken because llm-foundry's A100 tables are met better with it. */
#define TRITON_OVER_FLASH1 1.2
/* The rate of a forward pass over that of a backward pass; of flash attention 2 FLOP in 7 are of the forward pass. */
#define FLASH_FORWARD_OVER_BACKWARD 1.2
#define TRITON_FORWARD_OVER_BACKWARD 1.7
#define FLASH_FORWARD_FLOPS_FRAC (2.0 / 7)

double tsim_matrix_rate(const struct tsim_accelerator *a, enum tsim_precision precision) {
    return a->peak_flops_per_s[precision] * a->matrix_sustained_frac[precision];
}

double tsim_matrix_ramp_k(const struct tsim_accelerator *a, enum tsim_precision precision) {
    double half = a->peak_flops_per_s[TSIM_BF16] > 0 ? a->peak_flops_per_s[TSIM_BF16] : a->peak_flops_per_s[TSIM_FP16];
    return half > 0 ? a->matrix_ramp_k * a->peak_flops_per_s[precision] / half : a->matrix_ramp_k;
}

double tsim_memory_rate(const struct tsim_accelerator *a) {
    return a->memory_bytes_per_s * a->memory_sustained_frac;
}

/* Tile-times until the last unit is done, in units of one whole-depth tile. */
static double waves_of(double tiles, double units, double k) {
    double best = ceil(tiles / units);
    for (double split = 2; best <= 1 && split <= MAX_SPLIT_K && k / split >= MIN_SPLIT_DEPTH; split++) {
        double waves = ceil(tiles * split / units) / split;
        best = waves < best ? waves : best;
    }
    return best;
}

/* Arrays that keep weights: m is cut into so many strips as fill the units best; see the header. */
static double weights_stay_s(const struct tsim_accelerator *a, double unit_rate, double batch, double m, double n,
                             double k) {
    double side = (double)a->array_side, units = (double)a->compute_units, best_s = HUGE_VAL;
    double depth = ceil(k / side) * side + a->matrix_ramp_k;
    for (double strips = 1; strips == 1 || (strips <= MAX_STRIPS && m / strips >= side); strips++) {
        double rows = fmax(ceil(m / strips), side), waves = ceil(batch * ceil(n / side) * strips / units);
        best_s = fmin(best_s, waves * 2 * rows * side * depth / unit_rate);
    }
    return best_s;
}

static double outputs_stay_s(const struct tsim_accelerator *a, double unit_rate, double batch, double m, double n,
                             double k) {
    double side = (double)a->array_side, squares = batch * ceil(m / side) * ceil(n / side);
    return ceil(squares / (double)a->compute_units) * 2 * side * side * (k + a->matrix_ramp_k) / unit_rate;
}

static double array_gemm_s(const struct tsim_accelerator *a, enum tsim_precision precision, double batch, double m,
                           double n, double k) {
    double unit_rate = tsim_matrix_rate(a, precision) / (double)a->compute_units;
    return a->array_stationary == TSIM_STATIONARY_OUTPUTS ? outputs_stay_s(a, unit_rate, batch, m, n, k)
                                                          : weights_stay_s(a, unit_rate, batch, m, n, k);
}

double tsim_gemm_s(const struct tsim_accelerator *a, enum tsim_precision precision, double batch, double m, double n,
                   double k) {
    if (a->array_side > 0)
        return array_gemm_s(a, precision, batch, m, n, k);
    double units = (double)a->compute_units, unit_rate = tsim_matrix_rate(a, precision) / units, best_s = HUGE_VAL;
    double depth = k + tsim_matrix_ramp_k(a, precision);
    for (int i = 0; i < N_TILES; i++) {
        const struct tile *tile = &TILES[i];
        double tiles = batch * ceil(m / tile->m) * ceil(n / tile->n);
        double tile_rate = precision == TSIM_FP32 ? unit_rate : unit_rate * tile->efficiency_frac;
        double tile_s = 2 * tile->m * tile->n * depth / tile_rate;
        if (tiles / units * tile_s * (1 - ROUNDING) < best_s) /* else no number of waves would be better */
            best_s = fmin(best_s, waves_of(tiles, units, k) * tile_s);
    }
    return best_s;
}

/* Blocks of 32 elements share a scale in MXFP8, and are 16 bytes in NVFP4. */
static double aligned_elements(enum tsim_precision precision) {
    bool has_blocks = precision == TSIM_MXFP8 || precision == TSIM_NVFP4;
    return has_blocks ? 32 : LOAD_BYTES / tsim_operand_bytes(precision);
}

/* Operands lie in memory as features of tokens: of y = x W the rows are n and k long, of W's gradient m and n. fp32
 * products do without matrix units. */
static bool is_aligned(const struct tsim_op *op) {
    double step = aligned_elements(op->precision), other = op->is_weight_gradient ? op->m : op->k;
    return op->is_padded || op->precision == TSIM_FP32 || (fmod(op->n, step) == 0 && fmod(other, step) == 0);
}

/* Sums stay in the matrix units' fewer bits in forward products alone (Transformer Engine's recipes, fp8_gemm_dgrad and
 * _wgrad; torchao's float8; XLA), and in none with scales of blocks (its Float8BlockScaling; DeepSeek-V3, section
 * 3.3.2). */
static bool is_promoted(const struct tsim_software *software, const struct tsim_op *op) {
    return op->precision == TSIM_FP8 && (op->is_gradient || software->fp8_scaling == TSIM_SCALING_BLOCK);
}

/* Of a convolution in groups, the fastest of: so many groups a product, on the diagonal of one, up to all, which is the
 * convolution without groups; and of a depthwise one the vector units. */
static double grouped_s(const struct tsim_accelerator *a, enum tsim_precision precision, const struct tsim_op *op) {
    double best_s = op->is_depthwise ? op->flops / a->vector_flops_per_s : HUGE_VAL;
    for (double joined = 1, last = 0; last < op->groups; last = joined, joined = fmin(2 * joined, op->groups)) {
        double products = op->batch / op->groups * ceil(op->groups / joined), m = op->m, k = op->k;
        *(op->is_weight_gradient ? &m : &k) *= joined;
        best_s = fmin(best_s, tsim_gemm_s(a, precision, products, m, op->n * joined, k));
    }
    return best_s;
}

static double aligned_s(const struct tsim_accelerator *a, enum tsim_precision precision, const struct tsim_op *op) {
    if (op->groups > 1)
        return grouped_s(a, precision, op);
    double turns = op->is_sequential ? op->batch : 1;
    return turns * tsim_gemm_s(a, precision, op->batch / turns, op->m, op->n, op->k);
}

static double product_s(const struct tsim_accelerator *a, const struct tsim_software *software,
                        const struct tsim_op *op) {
    bool is_slow = a->array_side == 0 && !is_aligned(op);
    if (is_slow && software->unaligned_products == TSIM_UNALIGNED_VECTOR && a->peak_flops_per_s[TSIM_FP32] > 0)
        return aligned_s(a, TSIM_FP32, op) / UNALIGNED_VECTOR_FRAC;
    double time_s = aligned_s(a, op->precision, op);
    if (a->fp8_gradients_frac > 0 && is_promoted(software, op))
        time_s /= a->fp8_gradients_frac;
    return is_slow ? time_s / UNALIGNED_FRAC : time_s;
}

static bool is_first_generation(enum tsim_attention_kernel kernel) {
    return kernel == TSIM_ATTENTION_FLASH1 || kernel == TSIM_ATTENTION_FLASH_TRITON;
}

static double flash_frac(const struct tsim_accelerator *a, enum tsim_attention_kernel kernel) {
    double frac = a->attention_frac[tsim_flash_of(a, kernel)];
    return kernel == TSIM_ATTENTION_FLASH_TRITON ? TRITON_OVER_FLASH1 * frac : frac;
}

/* Tokens at which half of the time is not in proportion to the length. */
static double flash_ramp(const struct tsim_accelerator *a, enum tsim_attention_kernel kernel, bool is_causal) {
    if (is_first_generation(kernel))
        return is_causal ? FLASH1_CAUSAL_RAMP_TOKENS : FLASH1_RAMP_TOKENS;
    if (tsim_flash_of(a, kernel) == TSIM_FLASH_CUDNN)
        return is_causal ? CUDNN_CAUSAL_RAMP_TOKENS : CUDNN_RAMP_TOKENS;
    return is_causal ? FLASH_CAUSAL_RAMP_TOKENS : FLASH_RAMP_TOKENS;
}

/* What the ramp adds. Around a ring of `pieces` a rank's tokens lie at both ends of the sequence: one kernel is causal
 * over its own, of the others half attend from all of them to half a piece, half from half of them to a whole one. */
static double flash_slowdown(const struct tsim_accelerator *a, enum tsim_attention_kernel kernel,
                             const struct tsim_op *op) {
    double own = op->sequence / op->pieces, n_others = op->pieces - 1;
    double first = flash_ramp(a, kernel, op->causal) / own, other = flash_ramp(a, kernel, false) / own;
    return 1 + (first + n_others * (op->causal ? 1.5 : 1) * other) / op->pieces; /* half's is twice, whole's once */
}

static double head_dim_factor(enum tsim_attention_kernel kernel, const struct tsim_op *op) {
    if (kernel == TSIM_ATTENTION_FLASH_TRITON) /* not measured apart by head dimension */
        return 1;
    if (kernel != TSIM_ATTENTION_FLASH1)
        return op->head_dim / (op->head_dim + FLASH_HEAD_DIM_RAMP) *
               ((FLASH_REFERENCE_HEAD_DIM + FLASH_HEAD_DIM_RAMP) / FLASH_REFERENCE_HEAD_DIM);
    if (op->head_dim > FLASH1_SMALL_HEAD_DIM)
        return 1;
    return op->causal ? FLASH1_CAUSAL_SMALL_HEAD_FACTOR : FLASH1_SMALL_HEAD_FACTOR;
}

/* Both passes together take as long as with one rate. */
static double direction_factor(enum tsim_attention_kernel kernel, const struct tsim_op *op) {
    if (kernel == TSIM_ATTENTION_FLASH1) /* not measured apart */
        return 1;
    double ratio = kernel == TSIM_ATTENTION_FLASH_TRITON ? TRITON_FORWARD_OVER_BACKWARD : FLASH_FORWARD_OVER_BACKWARD;
    double forward = FLASH_FORWARD_FLOPS_FRAC + (1 - FLASH_FORWARD_FLOPS_FRAC) * ratio;
    return op->is_gradient ? forward / ratio : forward;
}

static double flash_s(const struct tsim_accelerator *a, const struct tsim_software *software,
                      const struct tsim_op *op) {
    enum tsim_attention_kernel kernel = software->attention_kernel;
    double rate = a->peak_flops_per_s[op->precision] * flash_frac(a, kernel) * head_dim_factor(kernel, op) *
                  direction_factor(kernel, op);
    return op->flops / rate * flash_slowdown(a, kernel, op);
}

/* ---- the power limit ---- */

/* What the kernel draws at a relative clock, of the same range. */
static double drawn_frac(const struct tsim_accelerator *a, double matrix_s, double memory_s, double clock) {
    double slowed_s = matrix_s / clock, time_s = fmax(slowed_s, memory_s);
    double busy = slowed_s / time_s, fixed = (1 - a->power_compute_frac) * busy;
    return a->power_compute_frac * busy * clock * clock * clock + fmax(a->power_memory_frac * memory_s / time_s, fixed);
}

double tsim_power_clock(const struct tsim_accelerator *a, double matrix_s, double memory_s) {
    double budget = tsim_power_budget_frac(a), low = LOWEST_CLOCK, high = 1;
    if (!(matrix_s > 0))
        return 1;
    double above = drawn_frac(a, matrix_s, memory_s, high) - budget;
    if (above <= 0)
        return 1;
    double below = drawn_frac(a, matrix_s, memory_s, low) - budget, clock = low;
    for (int i = 0, side = 0; i < CLOCK_STEPS && below < 0; i++) {
        clock = (low * above - high * below) / (above - below);
        double excess = drawn_frac(a, matrix_s, memory_s, clock) - budget;
        if (fabs(excess) < CLOCK_PRECISION)
            break;
        if (excess > 0) {
            high = clock;
            above = excess;
            below /= side > 0 ? 2 : 1;
            side = 1;
        } else {
            low = clock;
            below = excess;
            above /= side < 0 ? 2 : 1;
            side = -1;
        }
    }
    return clock;
}

void tsim_kernel_cost(const struct tsim_accelerator *a, const struct tsim_software *software, const struct tsim_op *op,
                      struct tsim_kernel_cost *cost) {
    TSIM_ASSERT(op->kind != TSIM_OP_COLLECTIVE);
    cost->matrix_s = 0;
    if (op->kind == TSIM_OP_GEMM)
        cost->matrix_s = product_s(a, software, op);
    else if (op->kind == TSIM_OP_FLASH)
        cost->matrix_s = flash_s(a, software, op);
    cost->memory_s = op->bytes / tsim_memory_rate(a);
    double clock = tsim_power_clock(a, cost->matrix_s, cost->memory_s);
    cost->matrix_power_s = cost->matrix_s * clock * clock;
    cost->matrix_s /= clock;
    cost->exchange_s = a->exchange_bytes_per_s > 0 ? op->bytes / a->exchange_bytes_per_s : 0;
    double latency_s = op->kernels * a->kernel_latency_s, roofline_s = fmax(cost->matrix_s, cost->memory_s);
    cost->time_s = roofline_s + cost->exchange_s + latency_s;
    if (latency_s > roofline_s + cost->exchange_s)
        cost->limit = TSIM_LIMIT_LATENCY;
    else
        cost->limit = cost->matrix_s >= fmax(cost->memory_s, cost->exchange_s) ? TSIM_LIMIT_MATRIX : TSIM_LIMIT_MEMORY;
    TSIM_ASSERT(isfinite(cost->time_s) && cost->time_s >= 0);
}
