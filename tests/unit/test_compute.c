/* Tests kernels on the example accelerator: 100 units, 1 PFLOP/s (10 TFLOP/s a unit), 1 TB/s, sustained fractions 1, no
 * ramp. */
#include "cost/compute.h"
#include "support/check_main.h"
#include "support/example.h"

#include <math.h>

static struct example e;

/* A tile of 256 x 128 and depth K takes 2*256*128*K / 10e12 s. */
static double tile_s(double k) {
    return 2 * 256 * 128 * k / 10e12;
}

TSIM_TEST(full_waves_reach_the_peak) {
    example_init(&e);
    /* A result of 2560 x 1280 is 10 x 10 = 100 tiles, one full wave: exactly the peak. */
    ck_assert_double_eq_tol(tsim_gemm_s(&e.accelerator, TSIM_BF16, 1, 2560, 1280, 256), tile_s(256), 1e-15);
    ck_assert_double_eq_tol(2.0 * 2560 * 1280 * 256 / tile_s(256), 1e15, 1);
    /* Twice the batch is two waves. */
    ck_assert_double_eq_tol(tsim_gemm_s(&e.accelerator, TSIM_BF16, 2, 2560, 1280, 256), 2 * tile_s(256), 1e-15);
}

/* Half a wave each: two products side by side fill one wave; one after the other they are cut into smaller tiles. */
TSIM_TEST(products_side_by_side_or_in_turn) {
    struct tsim_op op = {.kind = TSIM_OP_GEMM, .precision = TSIM_BF16, .batch = 2, .m = 1280, .n = 1280, .k = 256};
    struct tsim_kernel_cost cost;
    example_init(&e);
    tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
    ck_assert_double_eq_tol(cost.matrix_s, tile_s(256), 1e-15);
    double alone = tsim_gemm_s(&e.accelerator, TSIM_BF16, 1, 1280, 1280, 256);
    op.is_sequential = true;
    tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
    ck_assert_double_eq_tol(cost.matrix_s, 2 * alone, 1e-15);
    ck_assert_double_gt(2 * alone, 1.04 * tile_s(256));
}

/* 101 tiles of 256 x 128 cost a second wave. Smaller tiles waste less: 64 x 128 (a quarter of the work each, at 0.85)
 * are 404, 5 waves: 5 * 0.25 / 0.85 = 1.47. That one row more costs as much as many more is wave quantization. */
TSIM_TEST(one_tile_more_costs_a_wave) {
    example_init(&e);
    double full = tsim_gemm_s(&e.accelerator, TSIM_BF16, 1, 25600, 128, 256),
           more = tsim_gemm_s(&e.accelerator, TSIM_BF16, 1, 25856, 128, 256),
           as_much = tsim_gemm_s(&e.accelerator, TSIM_BF16, 1, 25601, 128, 256);
    ck_assert_double_eq_tol(full, tile_s(256), 1e-15);
    ck_assert_double_eq_tol(more, tile_s(256) * 5 * 0.25 / 0.85, 1e-15);
    ck_assert_double_eq_tol(as_much, more, 1e-15);
}

/* The ramp is paid once per tile: depth K costs as K + ramp. */
TSIM_TEST(depth_ramp) {
    example_init(&e);
    e.accelerator.matrix_ramp_k = 64;
    ck_assert_double_eq_tol(tsim_gemm_s(&e.accelerator, TSIM_BF16, 1, 2560, 1280, 256), tile_s(256 + 64), 1e-15);
}

/* It is a time: at twice the peak it is worth twice the depth, at an eighth an eighth. */
TSIM_TEST(depth_ramp_is_a_time) {
    example_init(&e);
    struct tsim_accelerator *a = &e.accelerator;
    a->matrix_ramp_k = 64;
    a->peak_flops_per_s[TSIM_FP8] = 2 * a->peak_flops_per_s[TSIM_BF16];
    a->peak_flops_per_s[TSIM_FP32] = a->peak_flops_per_s[TSIM_BF16] / 8;
    a->matrix_sustained_frac[TSIM_FP8] = a->matrix_sustained_frac[TSIM_FP32] = 1;
    ck_assert_double_eq_tol(tsim_gemm_s(a, TSIM_FP8, 1, 2560, 1280, 256), tile_s(256 + 128) / 2, 1e-15);
    ck_assert_double_eq_tol(tsim_gemm_s(a, TSIM_FP32, 1, 2560, 1280, 256), tile_s(256 + 8) * 8, 1e-14);
}

static double matrix_s(const struct tsim_op *op) {
    struct tsim_kernel_cost cost;
    tsim_kernel_cost(&e.accelerator, &e.software, op, &cost);
    return cost.matrix_s;
}

/* On chips that say how much slower they are (0 says nothing): of gradients, or with scales of blocks, in fp8 alone. */
TSIM_TEST(promoted_sums_are_slower) {
    static const struct {
        enum tsim_precision precision;
        enum tsim_fp8_scaling scaling;
        bool is_gradient, is_slower;
    } CASES[] = {{TSIM_FP8, TSIM_SCALING_CURRENT, false, false}, {TSIM_FP8, TSIM_SCALING_CURRENT, true, true},
                 {TSIM_FP8, TSIM_SCALING_DELAYED, true, true},   {TSIM_FP8, TSIM_SCALING_BLOCK, false, true},
                 {TSIM_FP8, TSIM_SCALING_BLOCK, true, true},     {TSIM_BF16, TSIM_SCALING_BLOCK, true, false},
                 {TSIM_FP8, TSIM_SCALING_ROWS, true, false},     {TSIM_MXFP8, TSIM_SCALING_CURRENT, true, false}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        enum tsim_precision precision = CASES[i].precision;
        struct tsim_op op = {.kind = TSIM_OP_GEMM, .precision = precision, .batch = 1, .m = 2560, .n = 1280, .k = 256};
        example_init(&e);
        e.accelerator.peak_flops_per_s[precision] = e.accelerator.peak_flops_per_s[TSIM_BF16];
        e.accelerator.matrix_sustained_frac[precision] = e.accelerator.matrix_sustained_frac[TSIM_BF16];
        e.software.fp8_scaling = CASES[i].scaling;
        op.is_gradient = CASES[i].is_gradient;
        double plain_s = matrix_s(&op);
        e.accelerator.fp8_gradients_frac = 0.8;
        ck_assert_double_eq_tol(matrix_s(&op), CASES[i].is_slower ? plain_s / 0.8 : plain_s, 1e-15);
    }
}

/* PyTorch's kernel for scales of rows reaches 0.95 of the rate, in fp8 alone. */
TSIM_TEST(scales_of_rows_are_slower) {
    for (int i = 0; i < 2; i++) {
        enum tsim_precision precision = i ? TSIM_FP8 : TSIM_BF16;
        struct tsim_op op = {.kind = TSIM_OP_GEMM, .precision = precision, .batch = 1, .m = 2560, .n = 1280, .k = 256};
        example_init(&e);
        e.accelerator.peak_flops_per_s[precision] = e.accelerator.peak_flops_per_s[TSIM_BF16];
        e.accelerator.matrix_sustained_frac[precision] = e.accelerator.matrix_sustained_frac[TSIM_BF16];
        double plain_s = matrix_s(&op);
        e.software.fp8_scaling = TSIM_SCALING_ROWS;
        ck_assert_double_eq_tol(matrix_s(&op), i ? plain_s / 0.95 : plain_s, 1e-15);
    }
}

/* A product that adds to a sum: 2,560 x 1,280 in fp32, read and written at 1 TB/s; a quarter of that is waited for, as
 * long as operands and sum together do not take longer. */
TSIM_TEST(waits_for_the_sum) {
    double sum_bytes = 2 * 4.0 * 2560 * 1280;
    struct tsim_op op = {.kind = TSIM_OP_GEMM,
                         .precision = TSIM_BF16,
                         .batch = 1,
                         .m = 2560,
                         .n = 1280,
                         .k = 25600,
                         .sum_bytes = sum_bytes,
                         .bytes = sum_bytes};
    struct tsim_kernel_cost cost;
    example_init(&e);
    tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
    double hidden_s = cost.time_s;
    e.accelerator.accumulation_exposed_frac = 0.25;
    tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
    ck_assert_double_eq_tol(cost.time_s - hidden_s, 0.25 * sum_bytes / 1e12, 1e-12);
    ck_assert_double_eq_tol(cost.matrix_s, tile_s(25600), 1e-12);
    op.bytes = 1e10;
    tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
    ck_assert_double_eq_tol(cost.time_s, cost.memory_s, 1e-12);
}

/* Products of experts, not batches of another kind, have the rate of grouped ones. */
TSIM_TEST(grouped_products_are_slower) {
    struct tsim_op op = {.kind = TSIM_OP_GEMM, .precision = TSIM_BF16, .batch = 4, .m = 2560, .n = 1280, .k = 256};
    example_init(&e);
    double plain_s = matrix_s(&op);
    e.accelerator.grouped_products_frac = 0.8;
    ck_assert_double_eq(matrix_s(&op), plain_s);
    op.is_grouped = true;
    ck_assert_double_eq_tol(matrix_s(&op), plain_s / 0.8, 1e-15);
}

/* A skinny product of great depth is split over the units: 1 tile of 256 x 128 and K 4096 in 8 slices. Smaller tiles:
 * 64 x 64 at 0.7 gives 8 tiles x 8 slices = 64 <= 100 units: 1/8 of a tile's depth at 1/8 the area / 0.7. */
TSIM_TEST(split_k) {
    example_init(&e);
    ck_assert_double_eq_tol(tsim_gemm_s(&e.accelerator, TSIM_BF16, 1, 256, 128, 4096), tile_s(4096) / 8 / 8 / 0.7,
                            1e-15);
}

/* More than a wave is not: 101 tiles cost what they cost at any depth. */
TSIM_TEST(more_than_a_wave_is_not_split) {
    example_init(&e);
    ck_assert_double_eq_tol(tsim_gemm_s(&e.accelerator, TSIM_BF16, 1, 25856, 128, 4096), tile_s(4096) * 5 * 0.25 / 0.85,
                            1e-14);
}

/* A lone tile of 64 x 64, an eighth of the largest's area, reaches 0.7 of the rate in 16 bits and all of it in fp32. */
TSIM_TEST(fp32_has_no_slow_tiles) {
    example_init(&e);
    e.accelerator.peak_flops_per_s[TSIM_FP32] = e.accelerator.peak_flops_per_s[TSIM_BF16] / 8;
    e.accelerator.matrix_sustained_frac[TSIM_FP32] = 1;
    ck_assert_double_eq_tol(tsim_gemm_s(&e.accelerator, TSIM_BF16, 1, 64, 64, 256), tile_s(256) / 8 / 0.7, 1e-15);
    ck_assert_double_eq_tol(tsim_gemm_s(&e.accelerator, TSIM_FP32, 1, 64, 64, 256), tile_s(256) / 8 * 8, 1e-14);
}

static double product_time(struct tsim_op op) {
    struct tsim_kernel_cost cost;
    op.kind = TSIM_OP_GEMM;
    op.batch = 1;
    tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
    return cost.matrix_s;
}

/* Rows of 16 bytes: 8 elements of bf16, 16 of fp8. SwiGLU's inner width of 10,922 against 10,880 on H100 measured
 * 272.73 against 395.52 TFLOP/s; a width that is off costs all products that have it as a row, forward, of the input's
 * gradient and of the weights', a number of tokens that is off none. fp32 and what the library pads are spared. */
TSIM_TEST(rows_off_the_alignment) {
    const double measured = 272.73 / 395.52, h = 4096, t = 2560;
    example_init(&e);
    double aligned = product_time((struct tsim_op){.precision = TSIM_BF16, .m = t, .n = 10928, .k = h});
    ck_assert_double_eq_tol(
        aligned / product_time((struct tsim_op){.precision = TSIM_BF16, .m = t, .n = 10922, .k = h}), measured, 0.005);
    double deep = product_time((struct tsim_op){.precision = TSIM_BF16, .m = t, .n = h, .k = 10928}) / 10928;
    ck_assert_double_eq_tol(deep * 10922 /
                                product_time((struct tsim_op){.precision = TSIM_BF16, .m = t, .n = h, .k = 10922}),
                            measured, 0.005);
    ck_assert_double_eq(product_time((struct tsim_op){.precision = TSIM_BF16, .m = 2559, .n = 10928, .k = h}), aligned);
    struct tsim_op weight = {.precision = TSIM_BF16, .is_weight_gradient = true, .m = 10922, .n = h, .k = 2559};
    double off = product_time(weight);
    weight.m = 10928;
    ck_assert_double_eq_tol(product_time(weight) / off, measured, 0.005);
    ck_assert_double_eq(
        product_time((struct tsim_op){.precision = TSIM_BF16, .is_padded = true, .m = t, .n = 10922, .k = h}), aligned);
    double fp8 = product_time((struct tsim_op){.precision = TSIM_FP8, .m = t, .n = 10912, .k = h});
    ck_assert_double_eq_tol(fp8 / product_time((struct tsim_op){.precision = TSIM_FP8, .m = t, .n = 10904, .k = h}),
                            measured, 0.005);
    double fp32 = product_time((struct tsim_op){.precision = TSIM_FP32, .m = t, .n = 10928, .k = h});
    ck_assert_double_eq(product_time((struct tsim_op){.precision = TSIM_FP32, .m = t, .n = 10922, .k = h}), fp32);
}

/* Kernels that work on one element at a time issue 128 instructions a unit and cycle on NVIDIA's, or wait for
 * memory. */
TSIM_TEST(element_by_element) {
    example_init(&e);
    struct tsim_op op = {.kind = TSIM_OP_ELEMENTWISE, .bytes = 1e9, .issued = 84e10, .kernels = 1};
    struct tsim_kernel_cost cost;
    double issue_s = 84e10 / ((double)e.accelerator.compute_units * 128 * 1.5e9);
    e.accelerator.kernel_latency_s = 1e-6;
    e.accelerator.clock_hz = 1.5e9;
    e.accelerator.compute_capability = 0;
    tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
    ck_assert_double_eq_tol(cost.time_s, 1e-3 + 1e-6, 1e-12);
    e.accelerator.compute_capability = 10;
    tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
    ck_assert_double_eq_tol(cost.time_s, issue_s + 1e-6, 1e-12);
    op.bytes = 1e12;
    tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
    ck_assert_double_eq_tol(cost.time_s, 1 + 1e-6, 1e-9);
}

/* Roofline of a lone kernel: max(FLOPs / peak, bytes / bandwidth) + latency, and which of them it was. */
TSIM_TEST(roofline) {
    example_init(&e);
    struct tsim_op op = {.kind = TSIM_OP_ELEMENTWISE, .bytes = 1e9, .kernels = 2};
    struct tsim_kernel_cost cost;
    e.accelerator.kernel_latency_s = 1e-6;
    tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
    ck_assert_double_eq_tol(cost.time_s, 1e-3 + 2e-6, 1e-12);
    ck_assert_int_eq(cost.limit, TSIM_LIMIT_MEMORY);
    op = (struct tsim_op){.kind = TSIM_OP_GEMM,
                          .precision = TSIM_BF16,
                          .batch = 1,
                          .m = 2560,
                          .n = 1280,
                          .k = 256,
                          .bytes = 1e3,
                          .kernels = 1};
    tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
    ck_assert_double_eq_tol(cost.time_s, tile_s(256) + 1e-6, 1e-12);
    ck_assert_int_eq(cost.limit, TSIM_LIMIT_MATRIX);
    op.bytes = 1e9;
    tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
    ck_assert_double_eq_tol(cost.time_s, 1e-3 + 1e-6, 1e-12);
    ck_assert_int_eq(cost.limit, TSIM_LIMIT_MEMORY);
}

struct attention_row {
    double sequence, head_dim;
    bool causal;
    double tflops;
};

static double kernels_s(const struct attention_row *row, double flops, bool is_backward, double pieces) {
    struct tsim_op op = {.kind = TSIM_OP_FLASH,
                         .precision = TSIM_FP16,
                         .is_gradient = is_backward,
                         .sequence = row->sequence,
                         .head_dim = row->head_dim,
                         .queries = 64 * row->sequence,
                         .pieces = pieces,
                         .causal = row->causal,
                         .flops = flops,
                         .kernels = 1};
    struct tsim_kernel_cost cost;
    tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
    return cost.time_s;
}

static double attention_s(const struct attention_row *row, double flops, bool is_backward) {
    return kernels_s(row, flops, is_backward, 1);
}

static double pieces_s(const struct attention_row *row, double pieces) {
    return kernels_s(row, 2e18, false, pieces); /* long beside a launch */
}

/* Checks forward and backward passes; causal rows count half. */
static void check_attention(const struct attention_row *rows, size_t n, double peak_tflops, double tolerance_frac) {
    e.accelerator.peak_flops_per_s[TSIM_FP16] = peak_tflops * 1e12;
    for (size_t i = 0; i < n; i++) {
        double time_s = attention_s(&rows[i], 2e15, false) + attention_s(&rows[i], 5e15, true);
        ck_assert_double_eq_tol(7e15 / time_s / 1e12 / rows[i].tflops, 1, tolerance_frac);
    }
}

/* A ring of four over 8,192 tokens: one causal kernel of 2,048, and three of half as much work each between 2,048 and
 * 1,024 tokens, whose ramps are as if of 2,048 / 1.5. Without a mask four alike. */
TSIM_TEST(attention_around_a_ring) {
    static const struct attention_row WHOLE = {8192, 128, true, 0}, OWN = {2048, 128, true, 0},
                                      OTHER = {2048 / 1.5, 128, false, 0}, UNMASKED = {2048, 128, false, 0};
    example_init(&e);
    e.accelerator.attention_frac[TSIM_FLASH2] = 205.0 / 312;
    e.software.attention_kernel = TSIM_ATTENTION_FLASH2;
    double ring_s = pieces_s(&WHOLE, 4), mixed_s = pieces_s(&OWN, 1) / 4 + pieces_s(&OTHER, 1) * 3 / 4;
    ck_assert_double_eq_tol(ring_s / mixed_s, 1, 1e-9);
    ck_assert_double_gt(ring_s, pieces_s(&WHOLE, 1));
    struct attention_row unmasked = WHOLE;
    unmasked.causal = false;
    ck_assert_double_eq_tol(pieces_s(&unmasked, 4) / pieces_s(&UNMASKED, 1), 1, 1e-9);
}

/* For its FLOP a window of k keys in the mean takes 1 + (128 + 190) / k as long as attention to very many keys: a tile
 * of 128 queries meets as many more keys, and the ramp is that without a mask. A window as long as the sequence, of
 * half its tokens in the mean, is what causal attention takes, whose ramp is 600 of 2 k. */
TSIM_TEST(windows_in_tiles) {
    static const struct attention_row LONG = {1e12, 128, false, 0}, CAUSAL = {8192, 128, true, 0};
    example_init(&e);
    e.accelerator.attention_frac[TSIM_FLASH2] = 205.0 / 312;
    e.software.attention_kernel = TSIM_ATTENTION_FLASH2;
    for (double keys = 128; keys <= 4096; keys *= 2) {
        struct tsim_op op = {.kind = TSIM_OP_FLASH,
                             .precision = TSIM_FP16,
                             .sequence = 8192,
                             .head_dim = 128,
                             .queries = 64 * 8192,
                             .pieces = 1,
                             .causal = true,
                             .window_keys = keys,
                             .flops = 2e18,
                             .kernels = 1};
        struct tsim_kernel_cost cost;
        tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
        ck_assert_double_eq_tol(cost.time_s / pieces_s(&LONG, 1), 1 + 318 / keys, 1e-6);
        if (keys == 4096)
            ck_assert_double_eq_tol(cost.time_s / pieces_s(&CAUSAL, 1), 1, 0.005);
    }
}

/* Dao-AILab/flash-attention's figure. With a long-sequence fraction of 205/312 at head dimension 128 every row from 1k
 * tokens on is met within 8 %. */
TSIM_TEST(flash_attention_2_on_a100) {
    static const struct attention_row ROWS[] = {
        {2048, 128, false, 187}, {4096, 128, false, 196}, {8192, 128, false, 201}, {16384, 128, false, 203},
        {1024, 128, true, 133},  {2048, 128, true, 155},  {4096, 128, true, 173},  {8192, 128, true, 182},
        {16384, 128, true, 189}, {1024, 64, false, 153},  {2048, 64, false, 162},  {16384, 64, false, 176},
        {1024, 64, true, 119},   {2048, 64, true, 140},   {4096, 64, true, 156},   {16384, 64, true, 171}};
    example_init(&e);
    e.accelerator.attention_frac[TSIM_FLASH2] = 205.0 / 312;
    e.software.attention_kernel = TSIM_ATTENTION_FLASH2;
    check_attention(ROWS, sizeof ROWS / sizeof ROWS[0], 312, 0.08);
}

/* Splash attention on a core of TPU7x, forward, causal, heads of 256, whose blocks FLOPs are counted for half of the
 * scores (heavyball-research/flywheel-tpu, README_v7x.md and splash_tuned_v7x.json). Rows that skip parts of the blocks
 * on the diagonal are left out; where heads are stacked a block is as many times as long. */
TSIM_TEST(splash_attention_on_tpu7x) {
    static const struct {
        double tokens, queries, keys, tflops;
    } ROWS[] = {{4096, 1024, 1024, 392},  {8192, 2048, 2048, 494},  {16384, 2048, 2048, 573},
                {32768, 2048, 4096, 627}, {65536, 2048, 2048, 663}, {131072, 2048, 2048, 678},
                {16384, 2048, 2048, 587}, {32768, 2048, 2048, 636}};
    example_init(&e);
    e.accelerator.array_side = 256;
    e.accelerator.compute_units = 4;
    e.accelerator.clock_hz = 2.2e9;
    e.accelerator.peak_flops_per_s[TSIM_BF16] = 1153.5e12;
    e.accelerator.attention_frac[TSIM_FLASH_SPLASH] = 0.64;
    e.software.attention_kernel = TSIM_ATTENTION_SPLASH;
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        struct tsim_op op = {.kind = TSIM_OP_FLASH,
                             .precision = TSIM_BF16,
                             .head_dim = 256,
                             .sequence = ROWS[i].tokens,
                             .causal = true,
                             .pieces = 1,
                             .flops = 2 * ROWS[i].tokens * ROWS[i].tokens * 256};
        e.software.attention_blocks =
            (struct tsim_attention_blocks){.queries = (int64_t)ROWS[i].queries, .keys = (int64_t)ROWS[i].keys};
        ck_assert_double_eq_tol(op.flops / matrix_s(&op) / 1e12 / ROWS[i].tflops, 1, 0.06);
    }
}

/* A head of 128 fills half of such an array, a block without a mask costs nothing for it, and a window pays for its
 * edges. */
TSIM_TEST(splash_attention_by_blocks) {
    struct tsim_op op = {
        .kind = TSIM_OP_FLASH, .precision = TSIM_BF16, .head_dim = 256, .sequence = 4096, .pieces = 1, .flops = 1e12};
    example_init(&e);
    e.accelerator.array_side = 256;
    e.accelerator.clock_hz = 1e9;
    e.accelerator.compute_units = 8;
    e.accelerator.cores = 2;
    e.accelerator.attention_frac[TSIM_FLASH_SPLASH] = 0.5;
    e.software.attention_kernel = TSIM_ATTENTION_SPLASH;
    e.software.attention_blocks = (struct tsim_attention_blocks){1024, 512, 512, 512};
    double rate = 0.5 * e.accelerator.peak_flops_per_s[TSIM_BF16], start = 880e-9 * rate / 2 / (4.0 * 1024 * 512 * 256);
    ck_assert_double_eq_tol(matrix_s(&op), 1e12 / rate * (1 + start), 1e-12);
    op.causal = true;
    ck_assert_double_eq_tol(matrix_s(&op), 1e12 / rate * (1 + 1.6 / 4) * (1 + start), 1e-12);
    op.window_keys = 2048;
    ck_assert_double_eq_tol(matrix_s(&op), 1e12 / rate * (1 + 1.6 / 2) * (1 + start), 1e-12);
    op.is_gradient = true;
    ck_assert_double_eq_tol(matrix_s(&op), 1e12 / rate / 0.95 * (1 + 1.6 / 4) * (1 + 2 * start), 1e-12);
    op.head_dim = 128;
    ck_assert_double_eq_tol(matrix_s(&op), 2e12 / rate / 0.95 * (1 + 1.6 / 4) * (1 + 2 * start), 1e-12);
}

/* These are FlashAttention-1's points of the same figure from 512 tokens on, which is flatter, and faster with small
 * heads. */
TSIM_TEST(flash_attention_1_on_a100) {
    static const struct attention_row ROWS[] = {
        {512, 64, false, 91},   {1024, 64, false, 92},   {2048, 64, false, 104}, {4096, 64, false, 108},
        {8192, 64, false, 110}, {16384, 64, false, 110}, {512, 128, false, 76},  {1024, 128, false, 72},
        {2048, 128, false, 76}, {4096, 128, false, 80},  {8192, 128, false, 82}, {16384, 128, false, 83},
        {512, 64, true, 58},    {1024, 64, true, 70},    {2048, 64, true, 77},   {4096, 64, true, 87},
        {8192, 64, true, 92},   {16384, 64, true, 97},   {512, 128, true, 55},   {1024, 128, true, 62},
        {2048, 128, true, 69},  {4096, 128, true, 76},   {8192, 128, true, 80},  {16384, 128, true, 83}};
    example_init(&e);
    e.accelerator.attention_frac[TSIM_FLASH1] = 0.265;
    e.software.attention_kernel = TSIM_ATTENTION_FLASH1;
    check_attention(ROWS, sizeof ROWS / sizeof ROWS[0], 312, 0.09);
}

/* cuDNN on H200, forward and backward, one and two sequences of 64 heads of 128 (rates of the two passes joined as 3.5
 * / (1 / forward + 2.5 / backward)), while the chip is cool: 640 TFLOP/s at length, of a peak of 989. */
TSIM_TEST(cudnn_attention_on_h200) {
    static const struct attention_row ROWS[] = {
        {2048, 128, true, 396},  {4096, 128, true, 502},  {8192, 128, true, 567},  {16384, 128, true, 603},
        {2048, 128, false, 535}, {4096, 128, false, 588}, {8192, 128, false, 619}, {16384, 128, false, 635},
        {2048, 128, true, 433},  {4096, 128, true, 524},  {2048, 128, false, 553}, {4096, 128, false, 604}};
    example_init(&e);
    e.accelerator.attention_frac[TSIM_FLASH_CUDNN] = 640.0 / 989;
    e.software.attention_kernel = TSIM_ATTENTION_CUDNN;
    check_attention(ROWS, sizeof ROWS / sizeof ROWS[0], 989, 0.09);
}

/* Rates of the forward over those of the backward pass, causal: FlashAttention-2 on A100 199 / 180, 203 / 175, 217 /
 * 173 and 204 / 168 at 32,768 to 4,096 tokens, cuDNN on H200 619 / 528, 633 / 539, 655 / 526 and 616 / 495, on GB200
 * 1,593 / 1,221, 1,609 / 1,287, 1,559 / 1,297 and 1,319 / 1,102; Triton on A100 150.0 / 87.5 at 4,096. */
TSIM_TEST(forward_attention_is_faster) {
    static const double HAND_WRITTEN[] = {1.106, 1.160, 1.254, 1.214, 1.172, 1.174,
                                          1.245, 1.244, 1.305, 1.250, 1.202, 1.197};
    static const struct attention_row ROW = {4096, 128, true, 0};
    static const enum tsim_attention_kernel KERNELS[] = {TSIM_ATTENTION_FLASH2, TSIM_ATTENTION_FLASH3,
                                                         TSIM_ATTENTION_CUDNN};
    example_init(&e);
    for (size_t k = 0; k < 3; k++) {
        e.software.attention_kernel = KERNELS[k];
        double ratio = attention_s(&ROW, 1e15, true) / attention_s(&ROW, 1e15, false);
        for (size_t i = 0; i < sizeof HAND_WRITTEN / sizeof HAND_WRITTEN[0]; i++)
            ck_assert_double_eq_tol(HAND_WRITTEN[i] / ratio, 1, 0.09);
    }
    e.software.attention_kernel = TSIM_ATTENTION_FLASH_TRITON;
    ck_assert_double_eq_tol(attention_s(&ROW, 1e15, true) / attention_s(&ROW, 1e15, false), 150.0 / 87.5, 0.02);
    e.software.attention_kernel = TSIM_ATTENTION_FLASH1;
    ck_assert_double_eq(attention_s(&ROW, 1e15, true), attention_s(&ROW, 1e15, false));
}

/* Returns attention of 4,096 causal tokens in so many heads of 128, forward. */
static struct tsim_op causal_attention(double heads) {
    return (struct tsim_op){.kind = TSIM_OP_FLASH,
                            .precision = TSIM_BF16,
                            .sequence = 4096,
                            .head_dim = 128,
                            .queries = 4096 * heads,
                            .pieces = 1,
                            .causal = true,
                            .flops = 2 * 4096.0 * 4096 * 128 * heads,
                            .kernels = 1};
}

/* cuDNN's forward pass on a B200 while it is cool: microseconds of 4,096 causal tokens in 8, 16, 32, 64 and 128 heads
 * of 128 (hardware/calibration/b200-node-kernels.csv). Eight take as long as sixteen, because both wait for the longest
 * tile. */
TSIM_TEST(few_heads_wait_for_the_longest_tile) {
    static const double HEADS[] = {8, 16, 32, 64, 128}, MEASURED_US[] = {98.5, 105.6, 166.9, 280.4, 490.3};
    struct tsim_kernel_cost cost;
    example_init(&e);
    e.accelerator.peak_flops_per_s[TSIM_BF16] = 2250e12;
    e.accelerator.attention_frac[TSIM_FLASH_CUDNN] = 0.5;
    e.accelerator.compute_units = 148;
    e.accelerator.kernels.flash[TSIM_FLASH_CUDNN].tile_queries = 256;
    e.accelerator.kernel_latency_s = 3e-6;
    e.software.attention_kernel = TSIM_ATTENTION_CUDNN;
    for (size_t i = 0; i < sizeof HEADS / sizeof HEADS[0]; i++) {
        struct tsim_op op = causal_attention(HEADS[i]);
        tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
        ck_assert_double_eq_tol(cost.time_s / (MEASURED_US[i] * 1e-6), 1, 0.25);
        op.is_gradient = true; /* has no such tail: half of the heads, half of the time */
        tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
        double whole_s = cost.matrix_s;
        op.queries /= 2;
        op.flops /= 2;
        tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
        ck_assert_double_eq_tol(cost.matrix_s / whole_s, 0.5, 1e-9);
    }
}

/* FlashAttention-2 on an A100: microseconds of 4,096 causal tokens in 4 to 64 heads of 128 (hardware/calibration/
 * a100-80gb-pcie-kernels.csv). The first generation keeps its own lengths. */
TSIM_TEST(few_heads_of_flash_attention_2) {
    static const double HEADS[] = {4, 8, 16, 32, 64}, MEASURED_US[] = {214.2, 283.6, 444.4, 778.1, 1484};
    struct tsim_kernel_cost cost;
    example_init(&e);
    e.accelerator.peak_flops_per_s[TSIM_BF16] = 312e12;
    e.accelerator.attention_frac[TSIM_FLASH1] = e.accelerator.attention_frac[TSIM_FLASH2] = 0.61;
    e.accelerator.compute_units = 108;
    for (size_t i = 0; i < sizeof HEADS / sizeof HEADS[0]; i++) {
        struct tsim_op op = causal_attention(HEADS[i]);
        e.software.attention_kernel = TSIM_ATTENTION_FLASH2;
        tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
        ck_assert_double_eq_tol(cost.time_s / (MEASURED_US[i] * 1e-6), 1, 0.1);
        e.software.attention_kernel = TSIM_ATTENTION_FLASH1;
        tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
        ck_assert_double_eq_tol(cost.matrix_s, op.flops / (312e12 * 0.61) * (1 + 310.0 / 4096), 1e-9);
    }
}

/* Heads wider than 128 of cuDNN's kernel alone. */
TSIM_TEST(wide_heads) {
    static const struct attention_row WIDE = {65536, 160, false, 0}, NARROW = {65536, 128, false, 0};
    example_init(&e);
    e.accelerator.attention_frac[TSIM_FLASH_CUDNN] = 0.5;
    e.software.attention_kernel = TSIM_ATTENTION_CUDNN;
    double by_ramp_s = attention_s(&WIDE, 1e18, true), narrow_s = attention_s(&NARROW, 1e18, true);
    ck_assert_double_lt(by_ramp_s, narrow_s);
    e.accelerator.wide_heads_frac = 0.75;
    ck_assert_double_eq_tol(attention_s(&WIDE, 1e18, true) / narrow_s, 1 / 0.75, 1e-6);
    ck_assert_double_eq(attention_s(&NARROW, 1e18, true), narrow_s);
    e.software.attention_kernel = TSIM_ATTENTION_FLASH2;
    double flash2_s = attention_s(&WIDE, 1e18, true);
    e.accelerator.wide_heads_frac = 0;
    ck_assert_double_eq(attention_s(&WIDE, 1e18, true), flash2_s);
}

/* cuDNN's kernel on B200: the time in fp8 over that in bf16, causal, forward and backward
 * (NVIDIA/cudnn-frontend@0b1577c, in hardware/accelerators/b200.yaml). Other kernels multiply in 16 bits. */
TSIM_TEST(attention_in_fp8) {
    static const double TOKENS[] = {4096, 8192, 16384, 32768, 65536}, MEASURED[] = {0.873, 0.822, 0.805, 0.771, 0.775};
    struct tsim_kernel_cost cost[2];
    example_init(&e);
    e.accelerator.attention_frac[TSIM_FLASH_CUDNN] = 0.5;
    e.accelerator.fp8_attention_ratio = 1.28;
    for (int cudnn = 0; cudnn < 2; cudnn++)
        for (size_t i = 0; i < sizeof TOKENS / sizeof TOKENS[0]; i++) {
            struct tsim_op op = causal_attention(1024);
            op.sequence = TOKENS[i];
            e.software.attention_kernel = cudnn ? TSIM_ATTENTION_CUDNN : TSIM_ATTENTION_FLASH2;
            for (int fp8 = 0; fp8 < 2; fp8++) {
                op.is_fp8 = fp8;
                tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost[fp8]);
            }
            ck_assert_double_eq_tol(cost[1].matrix_s / cost[0].matrix_s / (cudnn ? MEASURED[i] : 1), 1,
                                    cudnn ? 0.06 : 1e-12);
        }
}

/* An accelerator without a rate of cuDNN's kernel takes FlashAttention-3's. */
TSIM_TEST(cudnn_without_a_rate) {
    example_init(&e);
    ck_assert_int_eq(tsim_flash_of(&e.accelerator, TSIM_ATTENTION_CUDNN), TSIM_FLASH3);
    e.accelerator.attention_frac[TSIM_FLASH_CUDNN] = 0.1;
    ck_assert_int_eq(tsim_flash_of(&e.accelerator, TSIM_ATTENTION_CUDNN), TSIM_FLASH_CUDNN);
    ck_assert_str_eq(tsim_flash_name(TSIM_FLASH_CUDNN), "cudnn");
    ck_assert_str_eq(tsim_flash_name(TSIM_FLASH1), "flash1");
}

/* ---- the power limit ---- */

/* Shares 0.75 and 0.35 of the range. Equally long on both sides: 0.75 f^3 + 0.35 f = 1 at f = 0.9602; a kernel with
 * half as much memory time draws 0.925 and keeps its clock, as does one that only memory keeps busy. */
TSIM_TEST(clocks_fall_where_both_are_busy) {
    example_init(&e);
    double f = tsim_power_clock(&e.accelerator, 1, 1);
    ck_assert_double_eq_tol(0.75 * f * f * f + 0.35 * f, 1, 1e-9);
    ck_assert_double_eq_tol(f, 0.9602, 1e-4);
    ck_assert_double_eq(tsim_power_clock(&e.accelerator, 1, 0.5), 1);
    ck_assert_double_eq(tsim_power_clock(&e.accelerator, 0, 1), 1);
}

/* Idle 100 W, limit 500 W: a cap of 400 W leaves three quarters of the range, of which products keep two: a quarter
 * goes elsewhere at any clock. Matrix units alone then run at (0.5 / 0.75)^(1/3) of theirs, and use f^2 of the energy.
 */
TSIM_TEST(a_cap_lowers_clocks) {
    example_init(&e);
    e.accelerator.power_cap_w = 400;
    double f = tsim_power_clock(&e.accelerator, 1, 0);
    ck_assert_double_eq_tol(f, cbrt(0.5 / 0.75), 1e-9);
    struct tsim_op op = {.kind = TSIM_OP_GEMM, .batch = 1, .m = 2560, .n = 1280, .k = 256, .precision = TSIM_BF16};
    struct tsim_kernel_cost cost;
    tsim_kernel_cost(&e.accelerator, &e.software, &op, &cost);
    ck_assert_double_eq_tol(cost.matrix_s, tile_s(256) / f, 1e-12);
    ck_assert_double_eq_tol(cost.matrix_power_s, tile_s(256) * f * f, 1e-12);
    e.accelerator.power_cap_w = 340; /* 0.6 of the range; memory takes twice as long: 0.375 f^2 + 0.35 = 0.6 */
    ck_assert_double_eq_tol(tsim_power_clock(&e.accelerator, 0.5, 1), sqrt(0.25 / 0.375), 1e-9);
    e.accelerator.power_cap_w = 104; /* less than the quarter alone: as slow as clocks go */
    ck_assert_double_eq(tsim_power_clock(&e.accelerator, 1, 0), 0.1);
    e.accelerator.power_cap_w = 600; /* above the limit: none */
    ck_assert_double_eq(tsim_power_clock(&e.accelerator, 1, 0), 1);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
