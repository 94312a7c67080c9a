/* Every kernel of a layer, an embedding and a head, in order: bytes read and written and number of kernels, counted by
 * hand. The example has 1,024 tokens, hidden 1,024, 8 heads, a feed-forward of 4,096, a vocabulary of 32,768, so all
 * counts are in MiB for tensors of U = 2^20 elements: activations 2 U, a score matrix of all heads 8 U, logits 32 U.
 *
 * A product of m x k by k x n in bf16 moves 2 (mk + kn + mn), its weight gradient added to an fp32 sum 2 (mk + kn) +
 * 8 mn. */
#include "model/kept.h"

#include "support/example.h"
#include "support/operator_list.h"

#include <string.h>

enum { MI = 1 << 20 };

static struct example e;

struct row {
    const char *name;
    double mib, kernels;
};

static void assert_rows(const struct tsim_op_list *list, const struct row *rows, size_t n) {
    size_t at = 0;
    for (int32_t i = 0; i < list->n; i++) {
        const struct tsim_op *op = &list->ops[i];
        ck_assert_int_ne(op->kind, TSIM_OP_COLLECTIVE); /* one rank has none */
        ck_assert_msg(at < n, "%s follows the last", op->name);
        ck_assert_str_eq(op->name, rows[at].name);
        ck_assert_msg(op->bytes == rows[at].mib * (1 << 20), "%s: %g MiB, not %g", op->name, op->bytes / (1 << 20),
                      rows[at].mib);
        ck_assert_msg(op->kernels == rows[at].kernels, "%s: %g kernels", op->name, op->kernels);
        at++;
    }
    ck_assert_uint_eq(at, n);
}
#define assert_forward(part, rows) assert_list(tsim_operators_forward, part, rows)
#define assert_backward(part, rows) assert_list(tsim_operators_backward, part, rows)
#define assert_list(make, part, rows)                                                                                  \
    do {                                                                                                               \
        struct tsim_op_list list;                                                                                      \
        make(&e.scenario, part, 0, &list);                                                                             \
        assert_rows(&list, rows, sizeof rows / sizeof rows[0]);                                                        \
    } while (0)

/* Makes Llama's layer. */
static void gated_init(enum tsim_fusion fusion) {
    example_init(&e);
    e.software.fusion = fusion;
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    e.model.position = TSIM_POSITION_ROPE;
    e.model.norm = TSIM_NORM_RMSNORM;
    e.model.gated_mlp = true;
}

/* PyTorch as written, with dropout and biases. Norm: x and y; backward x and dy three times, and dx. Scores: 8 x 2 (2 x
 * 1/8 + 1). Softmax: scale 4, mask 5, to fp32 6, softmax 8, back 6 a score. Dropout 2 + 2 + a mask byte; then add.
 * Backward a bias sums its output's gradient. */
TSIM_TEST(as_written) {
    static const struct row FORWARD[] = {{"norm 1", 4, 1},
                                         {"attention qkv", 2 * (1 + 3 + 3), 1},
                                         {"attention scores", 20, 1},
                                         {"attention softmax", 8 * (4 + 5 + 6 + 8 + 6), 5},
                                         {"attention dropout", 8 * 5, 1},
                                         {"attention values", 20, 1},
                                         {"attention output", 6, 1},
                                         {"residual 1", 5 + 6, 2},
                                         {"norm 2", 4, 1},
                                         {"ffn up", 2 * (1 + 4 + 4), 1},
                                         {"activation", 4 * 4, 1},
                                         {"ffn down", 2 * (4 + 4 + 1), 1},
                                         {"residual 2", 5 + 6, 2}};
    static const struct row BACKWARD[] = {{"residual 2", 5, 1},
                                          {"ffn down, input", 18, 1},
                                          {"ffn down, weight", 2 * (1 + 4) + 8 * 4, 1},
                                          {"bias gradient", 2, 1},
                                          {"activation", 4 * 6, 1},
                                          {"ffn up, input", 18, 1},
                                          {"ffn up, weight", 2 * (4 + 1) + 8 * 4, 1},
                                          {"bias gradient", 4 * 2, 1},
                                          {"norm 2", 10 + 4, 2},
                                          {"residual gradient", 6, 1},
                                          {"residual 1", 5, 1},
                                          {"attention output, input", 6, 1},
                                          {"attention output, weight", 4 + 8, 1},
                                          {"bias gradient", 2, 1},
                                          {"attention values, dP", 20, 1},
                                          {"attention values, dV", 20, 1},
                                          {"attention dropout", 8 * 5, 1},
                                          {"attention softmax", 8 * (6 + 12 + 6 + 5 + 4), 5},
                                          {"attention scores, dQ", 20, 1},
                                          {"attention scores, dK", 20, 1},
                                          {"attention qkv, input", 14, 1},
                                          {"attention qkv, weight", 2 * (3 + 1) + 8 * 3, 1},
                                          {"bias gradient", 3 * 2, 1},
                                          {"norm 1", 10 + 4, 2},
                                          {"residual gradient", 6, 1}};
    static const struct row TABLE[] = {{"embedding", 4, 1}, {"positions", 6, 1}, {"embedding dropout", 5, 1}};
    static const struct row TABLE_BACK[] = {{"embedding dropout", 5, 1}, {"embedding", 2 + 2 * 4, 3}};
    example_init(&e);
    e.software.fusion = TSIM_FUSION_NONE;
    e.software.attention_kernel = TSIM_ATTENTION_UNFUSED;
    e.software.dropout = 0.1;
    e.model.position = TSIM_POSITION_LEARNED;
    e.model.bias = true;
    assert_forward(TSIM_PART_LAYER, FORWARD);
    assert_backward(TSIM_PART_LAYER, BACKWARD);
    assert_forward(TSIM_PART_EMBEDDING, TABLE);
    assert_backward(TSIM_PART_EMBEDDING, TABLE_BACK);
}

/* Llama as written. The norm: to fp32 6 bytes an element, square 8, mean 4, scaled 8, back 6, times the weight 4.
 * Backward through the weight 4, its gradient 6 and 2, to fp32 6, through the scale 8, the scale's gradient 12 and 4,
 * through the square 3 x 8, the sum of both 12, back 6. Rotary of queries and keys: products 4 and 4, half negated 2,
 * joined 4, sum 6; backward two halves from zeros 8 and one more sum 6. silu, then the product; backward three of 6
 * bytes. Gradients are added by a kernel: 2 bytes read, 4 read and written. Flash attention reads q, k, v and writes o;
 * backward reads q, k, v, o, do, writes dq, dk, dv, and reads dO for row sums: 9 tensors, two kernels. */
TSIM_TEST(gated_as_written) {
    static const struct row FORWARD[] = {{"norm 1", 36, 6},
                                         {"attention qkv", 14, 1},
                                         {"rotary", 2 * 10, 3},
                                         {"join halves", 2 * 4, 1},
                                         {"rotary, sum", 2 * 6, 1},
                                         {"attention core", 4 * 2, 1},
                                         {"attention output", 6, 1},
                                         {"residual 1", 6, 1},
                                         {"norm 2", 36, 6},
                                         {"ffn up", 2 * (1 + 8 + 8), 1},
                                         {"activation", 4 * (4 + 6), 2},
                                         {"ffn down", 18, 1},
                                         {"residual 2", 6, 1}};
    static const struct row BACKWARD[] = {{"ffn down, input", 18, 1},
                                          {"ffn down, weight", 18, 1},
                                          {"gradient accumulation", 4 * 10, 1},
                                          {"activation", 4 * 18, 3},
                                          {"ffn up, input", 34, 1},
                                          {"ffn up, weight", 34, 1},
                                          {"gradient accumulation", 8 * 10, 1},
                                          {"gate input gradients, add", 6, 1},
                                          {"norm 2", 84, 12},
                                          {"residual gradient", 6, 1},
                                          {"attention output, input", 6, 1},
                                          {"attention output, weight", 6, 1},
                                          {"gradient accumulation", 10, 1},
                                          {"attention core", 9 * 2, 2},
                                          {"rotary", 2 * 10, 3},
                                          {"rotary, sum", 2 * 20, 6},
                                          {"attention qkv, input", 14, 1},
                                          {"attention qkv, weight", 14, 1},
                                          {"gradient accumulation", 3 * 10, 1},
                                          {"norm 1", 84, 12},
                                          {"residual gradient", 6, 1}};
    gated_init(TSIM_FUSION_NONE);
    e.software.accumulation = TSIM_ACCUMULATION_SEPARATE;
    assert_forward(TSIM_PART_LAYER, FORWARD);
    assert_backward(TSIM_PART_LAYER, BACKWARD);
}

/* Fused, in fp8: operands of products 1 byte; norms write theirs; the results of attention and of the activation and
 * every gradient are cast, 2 read, 1 and 1 written. A norm reads x and dy once. Gate, silu and product in one kernel. */
TSIM_TEST(fused_fp8) {
    static const struct row FORWARD[] = {{"norm 1", 4, 1},
                                         {"attention qkv", 1 + 3 + 2 * 3, 1},
                                         {"rotary", 2 * 4, 1},
                                         {"attention core", 8, 1},
                                         {"cast", 4, 1},
                                         {"attention output", 1 + 1 + 2, 1},
                                         {"residual 1", 6, 1},
                                         {"norm 2", 4, 1},
                                         {"ffn up", 1 + 8 + 2 * 8, 1},
                                         {"activation", 4 * 6, 1},
                                         {"cast, activation", 4 * 4, 1},
                                         {"ffn down", 4 + 4 + 2, 1},
                                         {"residual 2", 6, 1}};
    static const struct row BACKWARD[] = {{"cast, gradient", 4, 1},
                                          {"ffn down, input", 1 + 4 + 2 * 4, 1},
                                          {"ffn down, weight", 1 + 4 + 8 * 4, 1},
                                          {"activation", 4 * 10, 1},
                                          {"cast, gradient", 8 * 4, 1},
                                          {"ffn up, input", 8 + 8 + 2, 1},
                                          {"ffn up, weight", 8 + 1 + 8 * 8, 1},
                                          {"norm 2", 6, 2},
                                          {"residual gradient", 6, 1},
                                          {"cast, gradient", 4, 1},
                                          {"attention output, input", 4, 1},
                                          {"attention output, weight", 2 + 8, 1},
                                          {"attention core", 18, 2},
                                          {"rotary", 8, 1},
                                          {"cast, gradient", 3 * 4, 1},
                                          {"attention qkv, input", 3 + 3 + 2, 1},
                                          {"attention qkv, weight", 3 + 1 + 8 * 3, 1},
                                          {"norm 1", 6, 2},
                                          {"residual gradient", 6, 1}};
    gated_init(TSIM_FUSION_TE);
    e.scenario.training.precision = TSIM_FP8;
    assert_forward(TSIM_PART_LAYER, FORWARD);
    assert_backward(TSIM_PART_LAYER, BACKWARD);
}

static double bytes_of(const struct tsim_op_list *list, const char *prefix, double *kernels) {
    double bytes = 0;
    *kernels = 0;
    for (int32_t i = 0; i < list->n; i++) {
        if (strncmp(list->ops[i].name, prefix, strlen(prefix)) == 0) {
            bytes += list->ops[i].bytes;
            *kernels += list->ops[i].kernels;
        }
    }
    return bytes;
}

/* Scales of each tile: norms are cast by kernels of their own. With scales of the tensor itself, what no norm wrote is
 * read once more before, by a kernel of its own; compiled, what the activation wrote is not either. Whatever fp8's
 * scales are, MXFP8 reads 2 bytes and writes 33/32 twice, and NVFP4 reads twice 2 and writes 9/16 twice. */
#define MX_BYTES (2 + 2 * 33 / 32.0)
#define NV_BYTES (4 + 2 * 9 / 16.0)
TSIM_TEST(scaling) {
    static const struct {
        enum tsim_precision precision;
        enum tsim_fp8_scaling scaling;
        double forward, forward_kernels, backward, backward_kernels;
        enum tsim_fusion fusion;
    } CASES[] = {{TSIM_FP8, TSIM_SCALING_DELAYED, 4 + 16, 2, 4 * (1 + 8 + 1 + 3), 4, TSIM_FUSION_TE},
                 {TSIM_FP8, TSIM_SCALING_BLOCK, 2 * 4 + 4 + 16, 4, 4 * (1 + 8 + 1 + 3), 4, TSIM_FUSION_TE},
                 {TSIM_FP8, TSIM_SCALING_CURRENT, 2 * 4 + 6 + 24, 6, 6 * (1 + 8 + 1 + 3), 8, TSIM_FUSION_TE},
                 {TSIM_FP8, TSIM_SCALING_CURRENT, 2 * 4 + 6 + 16, 5, 6 * (1 + 8 + 1 + 3), 8, TSIM_FUSION_COMPILE},
                 {TSIM_MXFP8, TSIM_SCALING_DELAYED, MX_BYTES * 7, 4, MX_BYTES * 13, 4, TSIM_FUSION_TE},
                 {TSIM_MXFP8, TSIM_SCALING_CURRENT, MX_BYTES * 7, 4, MX_BYTES * 13, 4, TSIM_FUSION_TE},
                 {TSIM_NVFP4, TSIM_SCALING_CURRENT, NV_BYTES * 7, 8, NV_BYTES * 13, 8, TSIM_FUSION_TE},
                 {TSIM_NVFP4, TSIM_SCALING_CURRENT, NV_BYTES * 7, 8, NV_BYTES * 13, 8, TSIM_FUSION_COMPILE}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct tsim_op_list list;
        double kernels;
        gated_init(CASES[i].fusion);
        e.scenario.training.precision = CASES[i].precision;
        e.software.fp8_scaling = CASES[i].scaling;
        tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
        ck_assert_double_eq(bytes_of(&list, "cast", &kernels), CASES[i].forward * MI);
        ck_assert_double_eq(kernels, CASES[i].forward_kernels);
        tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &list);
        ck_assert_double_eq(bytes_of(&list, "cast", &kernels), CASES[i].backward * MI);
        ck_assert_double_eq(kernels, CASES[i].backward_kernels);
        gated_init(TSIM_FUSION_TE); /* in 16 bits there is nothing to scale */
        e.software.fp8_scaling = CASES[i].scaling;
        tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
        ck_assert_double_eq(bytes_of(&list, "cast", &kernels), 0);
    }
}

/* With scales of rows each operand is cast along the rows, 2 read and 1 written, and for the backward pass along its
 * columns: read for the largest values (2), and read and written at 1.4 parts of 2.2 of the rate. These are weights of
 * 3 + 1 + 8 + 4; gradients of 3 + 1 + 8 + 1 and the inputs 1 + 1 + 1 + 4 of their products. */
#define COLUMN_BYTES (2 + (2 + 1) * (2.2 / 1.4))
TSIM_TEST(scales_of_rows) {
    struct tsim_op_list list;
    double kernels;
    gated_init(TSIM_FUSION_COMPILE);
    e.scenario.training.precision = TSIM_FP8;
    e.software.fp8_scaling = TSIM_SCALING_ROWS;
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
    ck_assert_double_eq(bytes_of(&list, "cast", &kernels), 3 * (1 + 1 + 1 + 4) * MI);
    ck_assert_double_eq(bytes_of(&list, "weight, cast", &kernels), 3 * (3 + 1 + 8 + 4) * MI);
    ck_assert_double_eq(kernels, 4);
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &list);
    ck_assert_double_eq(bytes_of(&list, "cast, gradient", &kernels), 3 * (3 + 1 + 8 + 1) * MI);
    ck_assert_double_eq_tol(bytes_of(&list, "cast, columns", &kernels), COLUMN_BYTES * (13 + 7) * MI, 1);
    ck_assert_double_eq(kernels, 2 * 4);
    ck_assert_double_eq_tol(bytes_of(&list, "weight, cast columns", &kernels), COLUMN_BYTES * 16 * MI, 1);
    ck_assert_double_eq(bytes_of(&list, "weight, transpose", &kernels), 0);
}

/* Compiled: the norm in the middle of a layer takes the residual's sum in the same kernel, which does not read it again
 * (4, not 6, and 4), and a norm's backward kernel adds the residual's gradient (10 and one more read of 2). In fp8
 * every weight, 3 + 1 + 8 + 4, is transposed before its input gradient by a GPU that multiplies rows by rows alone. */
TSIM_TEST(compiled) {
    static const struct row FORWARD[] = {{"norm 1", 4, 1},         {"attention qkv", 14, 1},   {"rotary", 2 * 4, 1},
                                         {"attention core", 8, 1}, {"attention output", 6, 1}, {"residual 1", 4, 1},
                                         {"norm 2", 4, 1},         {"ffn up", 34, 1},          {"activation", 4 * 6, 1},
                                         {"ffn down", 18, 1},      {"residual 2", 6, 1}};
    static const struct row BACKWARD[] = {{"ffn down, input", 18, 1},
                                          {"ffn down, weight", 42, 1},
                                          {"activation", 4 * 10, 1},
                                          {"ffn up, input", 34, 1},
                                          {"ffn up, weight", 82, 1},
                                          {"norm 2", 12, 2},
                                          {"attention output, input", 6, 1},
                                          {"attention output, weight", 12, 1},
                                          {"attention core", 18, 2},
                                          {"rotary", 8, 1},
                                          {"attention qkv, input", 14, 1},
                                          {"attention qkv, weight", 32, 1},
                                          {"norm 1", 12, 2}};
    static const struct {
        enum tsim_fusion fusion;
        enum tsim_generation generation;
        double capability, mib;
    } WEIGHTS[] = {{TSIM_FUSION_COMPILE, TSIM_HOPPER, 9, 2 * 16},
                   {TSIM_FUSION_COMPILE, TSIM_BLACKWELL, 10, 0},
                   {TSIM_FUSION_COMPILE, TSIM_HOPPER, 0, 0}, /* another maker's */
                   {TSIM_FUSION_TE, TSIM_HOPPER, 9, 0}};
    gated_init(TSIM_FUSION_COMPILE);
    assert_forward(TSIM_PART_LAYER, FORWARD);
    assert_backward(TSIM_PART_LAYER, BACKWARD);
    e.software.norms = TSIM_NORMS_FUSED; /* kernels of their own */
    struct tsim_op_list list;
    double kernels;
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
    ck_assert_double_eq(bytes_of(&list, "residual", &kernels), (6 + 6) * MI);
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &list);
    ck_assert_double_eq(bytes_of(&list, "residual", &kernels), (6 + 6) * MI);
    for (size_t i = 0; i < sizeof WEIGHTS / sizeof *WEIGHTS; i++) {
        gated_init(WEIGHTS[i].fusion);
        e.scenario.training.precision = TSIM_FP8;
        e.accelerator.nccl_generation = WEIGHTS[i].generation;
        e.accelerator.compute_capability = WEIGHTS[i].capability;
        tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &list);
        ck_assert_double_eq(bytes_of(&list, "weight, transpose", &kernels), WEIGHTS[i].mib * MI);
    }
}

/* Side by side they have one norm (Apex's, 6 and 14, here and below), one residual, and a sum of the two blocks' results, backward of their gradients. */
TSIM_TEST(side_by_side) {
    static const struct row FORWARD[] = {{"norm 1", 6, 1},           {"attention qkv", 14, 1}, {"attention core", 8, 1},
                                         {"attention output", 6, 1}, {"blocks, add", 6, 1},    {"ffn up", 18, 1},
                                         {"activation", 16, 1},      {"ffn down", 18, 1},      {"residual 2", 6, 1}};
    static const struct row BACKWARD[] = {
        {"ffn down, input", 18, 1},        {"ffn down, weight", 42, 1},         {"activation", 24, 1},
        {"ffn up, input", 18, 1},          {"ffn up, weight", 42, 1},           {"block gradients, add", 6, 1},
        {"attention output, input", 6, 1}, {"attention output, weight", 12, 1}, {"attention core", 18, 2},
        {"attention qkv, input", 14, 1},   {"attention qkv, weight", 32, 1},    {"norm 1", 14, 2},
        {"residual gradient", 6, 1}};
    example_init(&e);
    e.model.parallel_block = true;
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    assert_forward(TSIM_PART_LAYER, FORWARD);
    assert_backward(TSIM_PART_LAYER, BACKWARD);
}

/* T5's decoder layer on 256 tokens beside an encoder's 1,024: its own activations U / 4, its scores U / 2, those with
 * the encoder's 2 U, not causal. Each head's learned bias is read once (U / 2 of 2 bytes) where scores are read and
 * written; backward summed in fp32 from their gradients. */
TSIM_TEST(decoder_layer) {
    static const struct row FORWARD[] = {{"norm 1", 1.5, 1},
                                         {"attention qkv", 2 * (0.25 + 3 + 0.75), 1},
                                         {"attention scores", 2, 1},
                                         {"attention bias", 0.5 * 4 + 0.5 * 2, 1},
                                         {"attention softmax", 0.5 * 3, 1},
                                         {"attention values", 2, 1},
                                         {"attention output", 2 * (0.25 + 1 + 0.25), 1},
                                         {"residual 1", 1.5, 1},
                                         {"norm, cross", 1.5, 1},
                                         {"cross q", 3, 1},
                                         {"cross kv", 2 * (1 + 2 + 2), 1},
                                         {"attention scores", 8 * 2 * (1 / 32.0 + 1 / 8.0 + 1 / 4.0), 1},
                                         {"attention softmax", 2 * 4, 1},
                                         {"attention values", 6.5, 1},
                                         {"cross output", 3, 1},
                                         {"residual, cross", 1.5, 1},
                                         {"norm 2", 1.5, 1},
                                         {"ffn up", 2 * (0.25 + 4 + 1), 1},
                                         {"activation", 4, 1},
                                         {"ffn down", 10.5, 1},
                                         {"residual 2", 1.5, 1}};
    static const struct row BACKWARD[] = {{"ffn down, input", 10.5, 1},
                                          {"ffn down, weight", 2 * (0.25 + 1) + 32, 1},
                                          {"activation", 6, 1},
                                          {"ffn up, input", 10.5, 1},
                                          {"ffn up, weight", 34.5, 1},
                                          {"norm 2", 3.5, 2},
                                          {"residual gradient", 1.5, 1},
                                          {"cross output, input", 3, 1},
                                          {"cross output, weight", 2 * 0.5 + 8, 1},
                                          {"attention values, dP", 6.5, 1},
                                          {"attention values, dV", 6.5, 1},
                                          {"attention softmax", 2 * 6, 1},
                                          {"attention scores, dQ", 6.5, 1},
                                          {"attention scores, dK", 6.5, 1},
                                          {"cross kv, input", 10, 1},
                                          {"cross kv, weight", 2 * (2 + 1) + 8 * 2, 1},
                                          {"encoder gradient, add", 6, 1},
                                          {"cross q, input", 3, 1},
                                          {"cross q, weight", 9, 1},
                                          {"norm, cross", 3.5, 2},
                                          {"residual gradient", 1.5, 1},
                                          {"attention output, input", 3, 1},
                                          {"attention output, weight", 9, 1},
                                          {"attention values, dP", 2, 1},
                                          {"attention values, dV", 2, 1},
                                          {"attention softmax", 0.5 * 4, 1},
                                          {"attention bias gradient", 0.5 * 2 + 0.5 * 4, 1},
                                          {"attention scores, dQ", 2, 1},
                                          {"attention scores, dK", 2, 1},
                                          {"attention qkv, input", 8, 1},
                                          {"attention qkv, weight", 2 * (0.75 + 0.25) + 8 * 3, 1},
                                          {"norm 1", 3.5, 2},
                                          {"residual gradient", 1.5, 1}};
    static const struct row CAST[] = {{"cast", 1, 1}, {"cast", 1, 1}}; /* in fp8: the result of either attention */
    static const struct row TABLE[] = {{"embedding", 4, 1}, {"embedding", 1, 1}};
    static const struct row TABLE_BACK[] = {{"embedding", 10, 3}, {"embedding", 2.5, 3}};
    example_init(&e);
    e.model.encoder_layers = 1;
    e.model.position = TSIM_POSITION_RELATIVE;
    e.scenario.training.decoder_sequence_length = 256;
    assert_forward(TSIM_PART_DECODER_LAYER, FORWARD);
    assert_backward(TSIM_PART_DECODER_LAYER, BACKWARD);
    assert_forward(TSIM_PART_EMBEDDING, TABLE);
    assert_backward(TSIM_PART_EMBEDDING, TABLE_BACK);
    struct tsim_op_list list, casts = {.n = 0};
    e.scenario.training.precision = TSIM_FP8;
    tsim_operators_forward(&e.scenario, TSIM_PART_DECODER_LAYER, 0, &list);
    for (int32_t i = 0; i < list.n; i++)
        if (strcmp(list.ops[i].name, "cast") == 0)
            casts.ops[casts.n++] = list.ops[i];
    assert_rows(&casts, CAST, 2);
}

/* Megatron's loss: to fp32 6, maximum 4, subtract 8, exponential 8, sum 4, divide 8 a logit; backward 6 + 8 in three.
 * The encoder's last norm is here, too. */
TSIM_TEST(heads) {
    static const struct row FORWARD[] = {{"final norm", 1.5, 1},
                                         {"head", 2 * (0.25 + 32 + 8), 1},
                                         {"loss", 8 * (6 + 4 + 8 + 8 + 4 + 8), 6},
                                         {"final norm, encoder", 6, 1}};
    static const struct row BACKWARD[] = {
        {"loss", 8 * 14, 3},        {"head, input", 80.5, 1},      {"head, weight", 2 * (8 + 0.25) + 8 * 32, 1},
        {"final norm", 3.5, 2},     {"residual gradient", 1.5, 1}, {"final norm, encoder", 14, 2},
        {"residual gradient", 6, 1}};
    example_init(&e);
    e.model.encoder_layers = 1;
    e.scenario.training.decoder_sequence_length = 256;
    assert_forward(TSIM_PART_HEAD, FORWARD);
    assert_backward(TSIM_PART_HEAD, BACKWARD);
}

/* BERT has a pooler of one token (1 / 1,024 U), an eighth of the tokens picked, and a fused loss: 2 read and 2
 * written. */
TSIM_TEST(masked_head) {
    static const double K = 1 / 1024.0;
    const struct row forward[] = {{"final norm", 6, 1},
                                  {"pooler", 2 * (K + 1 + K), 1},
                                  {"pooler, tanh", 4 * K, 1},
                                  {"head, pick tokens", 4 / 8.0, 1},
                                  {"head", 2 * (1 / 8.0 + 32 + 4), 1},
                                  {"loss", 4 * 4, 1}};
    const struct row backward[] = {{"loss", 4 * 4, 1},
                                   {"head, input", 2 * (1 / 8.0 + 32 + 4), 1},
                                   {"head, weight", 2 * (4 + 1 / 8.0) + 8 * 32, 1},
                                   {"pooler, tanh", 6 * K, 1},
                                   {"pooler, input", 2 * (K + 1 + K), 1},
                                   {"pooler, weight", 2 * (K + K) + 8, 1},
                                   {"head, put tokens back", 2, 1},
                                   {"final norm", 14, 2},
                                   {"residual gradient", 6, 1}};
    example_init(&e);
    e.model.pooler = true;
    e.model.head_frac = 0.125;
    e.software.cross_entropy = TSIM_LOSS_FUSED;
    assert_forward(TSIM_PART_HEAD, forward);
    assert_backward(TSIM_PART_HEAD, backward);
}

/* 8 images of 256 patches of 16 x 16 x 3 values have 2 U of results, 1.5 U of pixels, weights of 0.75 U, and their
 * bias. */
TSIM_TEST(patches) {
    static const struct row FORWARD[] = {{"patches", 2 * (1.5 + 0.75 + 2), 1}};
    static const struct row BACKWARD[] = {{"patches, weight", 2 * (2 + 1.5) + 8 * 0.75, 1},
                                          {"patches, bias gradient", 2 * 2, 1}};
    example_init(&e);
    e.model.image = (struct tsim_image){.patch = 16, .size = 256, .channels = 3, .tokens = 256};
    e.scenario.training.micro_batch_size = 8;
    assert_forward(TSIM_PART_EMBEDDING, FORWARD);
    assert_backward(TSIM_PART_EMBEDDING, BACKWARD);
}

/* 8 experts, 2 for each token, on one rank: scores of 8 a token (1 / 128 U), fp32, in five passes of 12 kernels; rows
 * of two copies, 2 U; each expert's product of 256 rows, one after another. The shared expert beside them. */
TSIM_TEST(expert_layer) {
    static const double S = 1 / 128.0;
    const struct row forward[] = {{"norm 1", 6, 1},
                                  {"attention qkv", 14, 1},
                                  {"attention core", 8, 1},
                                  {"attention output", 6, 1},
                                  {"residual 1", 6, 1},
                                  {"norm 2", 6, 1},
                                  {"ffn up", 18, 1},
                                  {"activation", 16, 1},
                                  {"ffn down", 18, 1},
                                  {"router", 2 * (1 + S) + 4 * S, 1},
                                  {"routing", S * 4 * 5, 12},
                                  {"permute", 3 * 2, 1},
                                  {"expert up", 8 * 2 * (0.25 + 4 + 1), 1},
                                  {"expert activation", 2 * 4 * 4, 1},
                                  {"expert down", 8 * 2 * (1 + 4 + 0.25), 1},
                                  {"unpermute", 3 * 2, 1},
                                  {"shared, add", 6, 1},
                                  {"residual 2", 6, 1}};
    const struct row backward[] = {{"unpermute", 3 * 2, 1},
                                   {"expert down, input", 8 * 2 * (0.25 + 4 + 1), 1},
                                   {"expert down, weight", 8 * (2 * (0.25 + 1) + 8 * 4), 1},
                                   {"expert activation", 2 * 4 * 6, 1},
                                   {"expert up, input", 8 * 2 * (1 + 4 + 0.25), 1},
                                   {"expert up, weight", 8 * (2 * (1 + 0.25) + 8 * 4), 1},
                                   {"permute", 3 * 2, 1},
                                   {"routing", S * 4 * 3, 3},
                                   {"router, input", 2 * (S + S + 1), 1},
                                   {"router, weight", 2 * (S + 1) + 8 * S, 1},
                                   {"ffn down, input", 18, 1},
                                   {"ffn down, weight", 42, 1},
                                   {"activation", 24, 1},
                                   {"ffn up, input", 18, 1},
                                   {"ffn up, weight", 42, 1},
                                   {"shared, add", 6, 1},
                                   {"norm 2", 14, 2},
                                   {"residual gradient", 6, 1},
                                   {"attention output, input", 6, 1},
                                   {"attention output, weight", 12, 1},
                                   {"attention core", 18, 2},
                                   {"attention qkv, input", 14, 1},
                                   {"attention qkv, weight", 32, 1},
                                   {"norm 1", 14, 2},
                                   {"residual gradient", 6, 1}};
    example_init(&e);
    e.model.experts = (struct tsim_experts){.count = 8, .active = 2, .ffn_hidden = 4096, .shared = 1, .every = 1};
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    assert_forward(TSIM_PART_EXPERT_LAYER, forward);
    assert_backward(TSIM_PART_EXPERT_LAYER, backward);
}

/* Two experts for each token, PyTorch's operators one after another: passes over t h elements of 2 bytes; the router's
 * kernels are written out, too, whatever else is fused. */
TSIM_TEST(permutation_written_out) {
    struct tsim_op_list forward, backward;
    for (int k = 1; k <= 2; k++) {
        example_init(&e);
        e.model.experts = (struct tsim_experts){.count = 8, .active = k, .ffn_hidden = 4096, .every = 1};
        e.software.fusion = TSIM_FUSION_TE;
        e.software.expert_permutation = TSIM_PERMUTATION_WRITTEN_OUT;
        tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &forward);
        tsim_operators_backward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &backward);
        ck_assert_double_eq(find(&forward, "permute")->bytes, 2.0 * 2 * k * MI);
        ck_assert_double_eq(find(&forward, "permute")->kernels, 3);
        ck_assert_double_eq(find(&forward, "unpermute")->bytes, 2.0 * (6 * k + 1) * MI);
        ck_assert_double_eq(find(&forward, "unpermute")->kernels, 4);
        ck_assert_double_eq(find(&backward, "unpermute")->bytes, 2.0 * (6 * k + 2) * MI);
        ck_assert_double_eq(find(&backward, "unpermute")->kernels, 4);
        ck_assert_double_eq(find(&backward, "permute")->bytes, 2.0 * (3 * k + 1) * MI);
        ck_assert_double_eq(find(&backward, "permute")->kernels, 2);
        ck_assert_double_eq(find(&forward, "routing")->kernels, 12);
    }
    e.software.expert_permutation = TSIM_PERMUTATION_FUSED;
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &forward);
    ck_assert_double_eq(find(&forward, "routing")->kernels, 5);
}

/* Buffers of 1,024 x 2 x 1.5 rows for a sample of 1,024 tokens: each way a product with a mask, and back the same and the
 * mask's gradient; without a capacity there are no masks, and rows are gathered. */
TSIM_TEST(permutation_by_products) {
    struct tsim_op_list forward, backward;
    example_init(&e);
    e.model.experts =
        (struct tsim_experts){.count = 8, .active = 2, .ffn_hidden = 4096, .every = 1, .capacity_factor = 1.5};
    e.software.expert_permutation = TSIM_PERMUTATION_PRODUCTS;
    example_finish(&e);
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &forward);
    tsim_operators_backward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &backward);
    double each = 2.0 * 3072 * 1024 * 1024;
    ck_assert_double_eq(find(&forward, "permute")->flops, each);
    ck_assert_double_eq(find(&forward, "unpermute")->flops, each);
    ck_assert_double_eq(find(&forward, "masks")->bytes, 3.0 * 1024 * 3072);
    ck_assert_double_eq(find(&backward, "permute")->flops, each);
    ck_assert_double_eq(find(&backward, "unpermute")->flops, each);
    ck_assert_double_eq(find(&backward, "masks, gradient")->flops, each);
    ck_assert(!find(&forward, "expert down")->is_last_projection);
    ck_assert(find(&forward, "unpermute")->is_last_projection);
    e.model.experts.capacity_factor = 0;
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &forward);
    tsim_operators_backward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &backward);
    ck_assert_double_eq(find(&forward, "permute")->bytes, 2.0 * (3 * 2 + 1) * MI);
    ck_assert_double_eq(find(&forward, "unpermute")->bytes, 2.0 * 2 * 2 * MI);
    ck_assert_double_eq(find(&forward, "weighted sum")->bytes, 2.0 * (2 + 1) * MI);
    ck_assert_double_eq(find(&backward, "unpermute")->bytes, 2.0 * (4 * 2 + 2) * MI);
    ck_assert_double_eq(find(&backward, "permute")->bytes, 2.0 * (3 * 2 + 1) * MI);
    ck_assert(!find(&forward, "unpermute")->is_last_projection);
    ck_assert(find(&forward, "weighted sum")->is_last_projection);
}

static double all_bytes(const struct tsim_op_list *list, const char *name) {
    double bytes = 0;
    for (int32_t i = 0; i < list->n; i++)
        bytes += strcmp(list->ops[i].name, name) == 0 ? list->ops[i].bytes : 0;
    return bytes;
}

static double all_issued(const struct tsim_op_list *list, const char *name) {
    double issued = 0;
    for (int32_t i = 0; i < list->n; i++)
        issued += strcmp(list->ops[i].name, name) == 0 ? list->ops[i].issued : 0;
    return issued;
}

/* Eight experts of 4 h, two for each token, in 16 bits. Halves of 4 h: 2 clamps of 4 bytes; back 3 comparisons of 3
 * bytes and 2 choices of 5, each element by element (84 instructions); joined in 8 bytes, back with 3 for two masks.
 * Rows of h: the bias's product in fp32, then its sum with the row; each expert has its own. Nothing of it where it is
 * fused, or the model has neither. */
TSIM_TEST(expert_epilogue_written_out) {
    for (int i = 0; i < 4; i++) {
        struct tsim_op_list forward, backward;
        bool is_written_out = i & 1, has_them = i & 2, runs = is_written_out && has_them;
        example_init(&e);
        e.model.experts =
            (struct tsim_experts){.count = 8, .active = 2, .ffn_hidden = 4096, .every = 1, .limited = has_them};
        e.model.bias = has_them;
        e.software.fusion = TSIM_FUSION_TE;
        e.software.expert_epilogue = is_written_out ? TSIM_EPILOGUE_WRITTEN_OUT : TSIM_EPILOGUE_FUSED;
        tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &forward);
        tsim_operators_backward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &backward);
        double halves = runs ? 2.0 * 4 * MI : 0, rows = runs ? 2.0 * MI : 0;
        ck_assert_double_eq(all_bytes(&forward, "expert limits"), 8 * halves);
        ck_assert_double_eq(all_bytes(&backward, "expert limits"), 19 * halves);
        ck_assert_double_eq(all_issued(&forward, "expert limits"), 2 * 84 * halves);
        ck_assert_double_eq(all_issued(&backward, "expert limits"), 5 * 84 * halves);
        ck_assert_double_eq(all_bytes(&forward, "join expert limits"), 8 * halves);
        ck_assert_double_eq(all_bytes(&backward, "join expert limits"), 11 * halves);
        ck_assert_double_eq(all_bytes(&forward, "expert bias, product"), 4 * rows);
        ck_assert_double_eq(all_issued(&forward, "expert bias, product"), 184 * rows);
        ck_assert_double_eq(all_bytes(&forward, "expert bias, sum"), 10 * rows);
        ck_assert_double_eq(all_issued(&forward, "expert bias, sum"), 100 * rows);
        ck_assert_double_eq(all_bytes(&backward, "expert bias, products"), 16 * rows);
        ck_assert_double_eq(all_issued(&backward, "expert bias, products"), 268 * rows);
        if (runs) {
            ck_assert_double_eq(find(&forward, "expert limits")->kernels, 2);
            ck_assert_double_eq(find(&forward, "expert bias, product")->kernels, 8);
            ck_assert_double_eq(find(&backward, "expert bias, products")->kernels, 2 * 8);
        }
    }
}

/* In a graph of the whole step experts in MXFP8 have no kernels between their products: of 2 rows of 4 h for each token
 * the first writes both halves and what the second takes, twice in a byte and a 32nd; backward the second's input
 * gradient reads the halves, 2 x 2 bytes, and writes their gradient twice in a byte each where it wrote 2 bytes. */
TSIM_TEST(activation_in_products_of_experts) {
    struct tsim_op_list lists[2][2];
    for (int i = 0; i < 2; i++) {
        example_init(&e);
        e.model.experts = (struct tsim_experts){.count = 8, .active = 2, .ffn_hidden = 4096, .every = 1};
        e.model.gated_mlp = true;
        e.software.fusion = TSIM_FUSION_TE;
        e.scenario.training.precision = TSIM_MXFP8;
        e.software.cuda_graphs = i ? TSIM_GRAPHS_STEP : TSIM_GRAPHS_LAYERS;
        tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &lists[i][0]);
        tsim_operators_backward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &lists[i][1]);
        ck_assert_int_eq(seek(&lists[i][0], "expert activation") != NULL, i == 0);
        ck_assert_int_eq(seek(&lists[i][0], "cast, expert activation") != NULL, i == 0);
        ck_assert_int_eq(seek(&lists[i][1], "expert activation") != NULL, i == 0);
    }
    double halves = 2.0 * 4 * MI, byte = 33 / 32.0;
    ck_assert_double_eq_tol(all_bytes(&lists[1][0], "expert up") - all_bytes(&lists[0][0], "expert up"),
                            2 * byte * halves, 1);
    ck_assert_double_eq_tol(all_bytes(&lists[1][1], "expert down, input") -
                                all_bytes(&lists[0][1], "expert down, input"),
                            (2 * 2 + 2 * 2 * byte - 2) * halves, 1);
    ck_assert_double_eq_tol(all_bytes(&lists[0][1], "cast, gradient") - all_bytes(&lists[1][1], "cast, gradient"),
                            (2 + 2 * byte) * 2 * halves, 1);
}

/* Rows of h in 2 bytes are read and written, four times forward (before the two column-parallel products, after the two
 * row-parallel ones), six times backward (the column-parallel ones' inputs are gathered again). Where products
 * take the pieces as they come, only the two scattered sums of input gradients are copied, and forward the four ranks'
 * pieces of a sum are read once more, and a quarter is written. */
TSIM_TEST(gathered_samples_are_copied) {
    for (int i = 0; i < 3; i++) {
        struct tsim_op_list forward, backward;
        example_init(&e);
        e.scenario.parallelism.tensor = 4;
        e.scenario.parallelism.sequence = true;
        e.scenario.parallelism.overlap.tensor = i == 2;
        e.software.sequence_copies = i > 0;
        example_finish(&e);
        tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &forward);
        tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &backward);
        ck_assert_double_eq(all_bytes(&forward, "tensor: samples, copy"), i == 1 ? 4 * 4.0 * MI : 0);
        ck_assert_double_eq(all_bytes(&backward, "tensor: samples, copy"), (i == 1 ? 6 : i == 2 ? 2 : 0) * 4.0 * MI);
        ck_assert_double_eq(all_bytes(&forward, "tensor: pieces, sum"), i == 2 ? 2 * 2.5 * MI : 0);
        ck_assert_double_eq(all_bytes(&backward, "tensor: pieces, sum"), 0);
    }
}

/* Attention in fp8 halves what it reads and writes, and what is fp8 already is only transposed; the product before an
 * activation writes its result too, in fp8, and one pass applies the derivative (4 in, 2 out) beside transposing that
 * result. Passes that cast gradients with the scales of earlier steps sum them for the bias, others do not. */
TSIM_TEST(attention_and_activation_in_fp8) {
    struct tsim_op_list plain[2], fused[2];
    example_init(&e);
    e.model.bias = true;
    e.scenario.training.precision = TSIM_FP8;
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    e.software.fusion = TSIM_FUSION_TE;
    e.software.bias_gradient_in_cast = true;
    e.software.fp8_scaling = TSIM_SCALING_CURRENT;
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &plain[1]);
    ck_assert_double_eq(all_bytes(&plain[1], "bias gradient"), 2.0 * (1 + 4 + 1 + 3) * MI);
    e.software.fp8_scaling = TSIM_SCALING_DELAYED;
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &plain[0]);
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &plain[1]);
    ck_assert_double_eq(all_bytes(&plain[1], "bias gradient"), 0);
    double kept = tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER);
    e.software.fp8_attention = e.software.activation_in_product = true;
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &fused[0]);
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &fused[1]);
    ck_assert_double_eq(all_bytes(&plain[0], "attention qkv") - all_bytes(&fused[0], "attention qkv"), 3.0 * MI);
    ck_assert_double_eq(all_bytes(&plain[0], "attention core"), 2 * all_bytes(&fused[0], "attention core"));
    ck_assert_double_eq(all_bytes(&fused[0], "cast"), 2.0 * MI);
    ck_assert_double_eq(all_bytes(&fused[0], "ffn up") - all_bytes(&plain[0], "ffn up"), 4.0 * MI);
    ck_assert_double_eq(all_bytes(&fused[0], "activation") + all_bytes(&fused[0], "cast, activation"), 0);
    ck_assert_double_eq(all_bytes(&plain[1], "cast, gradient"), 4.0 * (1 + 4 + 1 + 3) * MI);
    ck_assert_double_eq(all_bytes(&fused[1], "cast, gradient"), 4.0 * (1 + 1) * MI + 2.0 * 3 * MI);
    ck_assert_double_eq(all_bytes(&fused[1], "activation"), 6.0 * 4 * MI);
    ck_assert_double_eq(all_bytes(&fused[1], "cast, activation"), 2.0 * 4 * MI);
    ck_assert_double_eq(all_bytes(&plain[1], "attention core"), 2 * all_bytes(&fused[1], "attention core"));
    ck_assert_double_eq(
        all_bytes(&plain[1], "attention output, input") - all_bytes(&fused[1], "attention output, input"), 1.0 * MI);
    ck_assert_double_eq(kept - tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), (3.0 + 1) * MI);
    e.software.fp8_scaling = TSIM_SCALING_CURRENT; /* attention cannot write what it does not know the scale of */
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &fused[0]);
    ck_assert_double_eq(all_bytes(&plain[0], "attention core"), all_bytes(&fused[0], "attention core"));
    ck_assert(all_bytes(&fused[0], "cast, activation") > 0);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
