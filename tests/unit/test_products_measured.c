/* Products and quantization of the shipped catalogue against measured ones: the twelve products of a transformer layer
 * by Transformer Engine on B300 and H200 NVL (NVIDIA/TransformerEngine@8f2e635, docs/examples/gemm_profiling: hidden
 * 4,096, inner width 16,384, 15,872 tokens, 100 repetitions). */
#include "config/catalogue_load.h"
#include "cost/compute.h"
#include "model/operator_builders.h"
#include "support/arena_rig.h"

#include <math.h>

enum { N_LINEAR = 4 };
#define TOKENS 15872.0
static const struct { double in, out; } LINEAR[N_LINEAR] = {{4096, 12288}, {4096, 4096}, {4096, 16384}, {16384, 4096}};

static const struct tsim_accelerator *load(const char *id) {
    const struct tsim_accelerator *a;
    ck_assert_int_eq(tsim_catalogue_load_accelerator(&arena, id, &a, &diags), TSIM_OK);
    return a;
}

static double layer_s(const struct tsim_accelerator *a, enum tsim_precision precision) {
    double sum_s = 0;
    for (int i = 0; i < N_LINEAR; i++) {
        double in = LINEAR[i].in, out = LINEAR[i].out;
        sum_s += tsim_gemm_s(a, precision, 1, TOKENS, out, in) + tsim_gemm_s(a, precision, 1, TOKENS, in, out) +
                 tsim_gemm_s(a, precision, 1, in, out, TOKENS);
    }
    return sum_s;
}

/* Operands quantized before: what matrix_sustained of b300.yaml is derived from. */
TSIM_TEST(products_of_a_layer) {
    static const struct {
        enum tsim_precision precision;
        double measured_s;
    } ROWS[] = {{TSIM_BF16, 13.102e-3}, {TSIM_FP8, 6.812e-3}, {TSIM_MXFP8, 7.161e-3}, {TSIM_NVFP4, 3.764e-3}};
    const struct tsim_accelerator *a = load("b300");
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        double ratio = layer_s(a, ROWS[i].precision) / ROWS[i].measured_s;
        ck_assert_msg(ratio > 0.97 && ratio < 1.03, "%s: %.3f", tsim_precision_name(ROWS[i].precision), ratio);
    }
}

/* H200 NVL is H100's chip at 600 W: if power limits the clock, the clock goes with the cube root of power. */
TSIM_TEST(products_of_a_layer_at_less_power) {
    const struct tsim_accelerator *a = load("h100-sxm");
    double slower = cbrt(a->power_limit_w / 600);
    ck_assert_double_eq_tol(layer_s(a, TSIM_BF16) * slower / 31.968e-3, 1, 0.03);
    ck_assert_double_eq_tol(layer_s(a, TSIM_FP8) * slower / 16.785e-3, 1, 0.03);
}

/* TPU v6e: 8,192 x 8,192 x 8,192 in 1,510.9 us by the device's trace, what matrix_sustained of tpu-v6e.yaml is derived
 * from; a head of 128 fills half of its matrix unit, so attention's rate is half of v5e's part of the peak. */
TSIM_TEST(product_of_tpu_v6e) {
    const struct tsim_accelerator *a = load("tpu-v6e"), *before = load("tpu-v5e");
    ck_assert_double_eq_tol(tsim_gemm_s(a, TSIM_BF16, 1, 8192, 8192, 8192) / 1510.94e-6, 1, 0.01);
    for (int kernel = 0; kernel <= TSIM_FLASH3; kernel++)
        ck_assert_double_eq(a->attention_frac[kernel], before->attention_frac[kernel] / 2);
}

/* 384 products of 1024 x 1024 by 1024 x 140 in bf16 by PyTorch, whose 140 columns are no whole number of 16 bytes:
 * 9.232 ms with CUDA 11.6, 1.318 ms with 11.7, and 512 with 128 columns 1.036 ms with either (pytorch/pytorch#83272;
 * the last is bound by memory, which tells the part of 40 GB, and reads more than it writes, which is faster than a
 * copy). */
TSIM_TEST(products_off_the_alignment) {
    static const struct {
        enum tsim_unaligned_products unaligned;
        double batch, columns, measured_s, tolerance;
    } ROWS[] = {{TSIM_UNALIGNED_VECTOR, 384, 140, 9.232e-3, 0.02},
                {TSIM_UNALIGNED_MATRIX, 384, 140, 1.318e-3, 0.07},
                {TSIM_UNALIGNED_VECTOR, 512, 128, 1.036e-3, 0.08},
                {TSIM_UNALIGNED_MATRIX, 512, 128, 1.036e-3, 0.08}};
    const struct tsim_accelerator *a = load("a100-40gb");
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        struct tsim_software software = {.unaligned_products = ROWS[i].unaligned};
        struct tsim_op op = {.kind = TSIM_OP_GEMM,
                             .precision = TSIM_BF16,
                             .batch = ROWS[i].batch,
                             .m = 1024,
                             .n = ROWS[i].columns,
                             .k = 1024};
        struct tsim_kernel_cost cost;
        op.bytes = 2 * op.batch * (op.m * op.n + op.m * op.k + op.k * op.n);
        tsim_kernel_cost(a, &software, &op, &cost);
        double ratio = cost.time_s / ROWS[i].measured_s;
        ck_assert_msg(fabs(ratio - 1) < ROWS[i].tolerance, "row %zu: %.3f", i, ratio);
    }
}

/* A window of 128 of cuDNN 9.26: 2 sequences, 128 heads of 64, forward and backward in bf16
 * (NVIDIA/cudnn-frontend@b514eea and @d86c512, benchmark/attention_training/results/gpt_oss). The rate is the
 * long-sequence one of unmasked attention; what a window takes of it, 1 + (tile + ramp) / keys, comes from no
 * measurement of windows. */
TSIM_TEST(windows_of_attention) {
    static const struct {
        const char *accelerator;
        double tokens, measured_s;
    } ROWS[] = {{"gb200", 2048, 0.109e-3 + 0.233e-3},  {"gb200", 4096, 0.211e-3 + 0.459e-3},
                {"gb200", 32768, 1.642e-3 + 3.647e-3}, {"h200", 2048, 0.134e-3 + 0.464e-3},
                {"h200", 4096, 0.264e-3 + 0.917e-3},   {"h200", 32768, 2.047e-3 + 7.296e-3}};
    static const struct tsim_software CUDNN = {.attention_kernel = TSIM_ATTENTION_CUDNN};
    const double heads = 2 * 128, dim = 64, window = 128;
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        double tokens = ROWS[i].tokens, scores = heads * (tokens * window - window * (window - 1) / 2), sum_s = 0;
        for (int is_gradient = 0; is_gradient < 2; is_gradient++) {
            struct tsim_op op = {.kind = TSIM_OP_FLASH,
                                 .precision = TSIM_BF16,
                                 .is_gradient = is_gradient,
                                 .sequence = tokens,
                                 .head_dim = dim,
                                 .queries = heads * tokens,
                                 .pieces = 1,
                                 .causal = true,
                                 .window_keys = scores / (heads * tokens),
                                 .flops = (is_gradient ? 10 : 4) * dim * scores,
                                 .kernels = 1};
            struct tsim_kernel_cost cost;
            tsim_kernel_cost(load(ROWS[i].accelerator), &CUDNN, &op, &cost);
            sum_s += cost.time_s;
        }
        double ratio = sum_s / ROWS[i].measured_s;
        ck_assert_msg(ratio > 0.83 && ratio < 1.02, "%s, %g tokens: %.3f", ROWS[i].accelerator, tokens, ratio);
    }
}

/* PyTorch's kernels reach these: V100 compares a row with many at 186 G elements/s, A100 and H100 PCIe convert 185 and
 * 236 G/s. */
TSIM_TEST(instructions_of_an_element) {
    static const struct {
        const char *accelerator;
        double instructions, elements_per_s;
    } ROWS[] = {{"v100-16gb", 84, 186e9}, {"a100-40gb", 100, 185e9}, {"h100-pcie", 100, 236e9}};
    static const struct tsim_software NONE;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        struct tsim_op op = {.kind = TSIM_OP_ELEMENTWISE, .issued = 1e12 * ROWS[i].instructions, .kernels = 1};
        struct tsim_kernel_cost cost;
        tsim_kernel_cost(load(ROWS[i].accelerator), &NONE, &op, &cost);
        ck_assert_double_eq_tol(1e12 / cost.time_s / ROWS[i].elements_per_s, 1, 0.12);
    }
}

/* Operators are those on B300, with operands of 16 bits, less the products: each quantizes both of its operands. The
 * traffic is counted; launches, which are not, are the rest. */
TSIM_TEST(quantizing_the_operands) {
    static const struct {
        enum tsim_precision precision;
        double measured_s;
    } ROWS[] = {{TSIM_FP8, 9.147e-3 - 6.812e-3}, {TSIM_MXFP8, 8.984e-3 - 7.161e-3}, {TSIM_NVFP4, 6.453e-3 - 3.764e-3}};
    static const struct tsim_software CURRENT = {.fp8_scaling = TSIM_SCALING_CURRENT};
    static const struct tsim_scenario TRAINED = {.training.adapter.kind = TSIM_ADAPTER_NONE};
    const struct tsim_accelerator *a = load("b300");
    double elements = 0;
    for (int i = 0; i < N_LINEAR; i++)
        elements += 2 * (TOKENS * LINEAR[i].in + TOKENS * LINEAR[i].out + LINEAR[i].in * LINEAR[i].out);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        enum tsim_precision precision = ROWS[i].precision;
        struct tsim_op_shape shape = {.scenario = &TRAINED,
                                      .software = &CURRENT,
                                      .groups = 1,
                                      .linear_precision = precision,
                                      .linear_bytes = tsim_operand_bytes(precision)};
        struct tsim_op_list list = {0};
        cast(&list, &shape, "cast", elements);
        ck_assert_int_eq(list.n, 1);
        double ratio = list.ops[0].bytes / tsim_memory_rate(a) / ROWS[i].measured_s;
        ck_assert_msg(ratio > 0.8 && ratio < 1.15, "%s: %.3f", tsim_precision_name(precision), ratio);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
