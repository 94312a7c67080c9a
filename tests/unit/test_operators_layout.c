/* Software copies around attention, how it rotates positions and adds biases: bytes read and written, counted by
 * hand. The example has 1,024 tokens, hidden 1,024 and 8 heads, so queries are U = 2^20 elements, 2 MiB, and so are
 * keys and values without groups; a copy reads and writes. */
#include "support/example.h"
#include "support/operator_list.h"

static struct example e;
static struct tsim_op_list list;

#define NONE TSIM_ATTENTION_FUSED_SOFTMAX /* no flash kernel */

static const struct copies {
    enum tsim_attention_layout layout;
    enum tsim_attention_kernel kernel;
    int64_t kv_heads;
    bool has_rope;
    double operands, operand_kernels, result, result_gradient, joined; /* MiB */
} COPIES[] = {
    {TSIM_LAYOUT_IN_PLACE, TSIM_ATTENTION_FLASH2, 8, true, 0, 0, 0, 0, 0},
    {TSIM_LAYOUT_IN_PLACE, NONE, 8, true, 0, 0, 0, 0, 0},
    {TSIM_LAYOUT_SPLIT, TSIM_ATTENTION_FLASH_TRITON, 8, false, 0, 0, 0, 0, 12},
    {TSIM_LAYOUT_SPLIT, NONE, 8, false, 0, 0, 4, 0, 12},
    /* cuDNN's gradients lie in the place of the projection's result, unless they are rotated or of groups. */
    {TSIM_LAYOUT_GROUPED, TSIM_ATTENTION_CUDNN, 8, false, 0, 0, 0, 0, 0},
    {TSIM_LAYOUT_GROUPED, TSIM_ATTENTION_CUDNN, 8, true, 0, 0, 0, 0, 12},
    {TSIM_LAYOUT_GROUPED, TSIM_ATTENTION_CUDNN, 2, true, 4, 1, 0, 0, 6},
    {TSIM_LAYOUT_GROUPED, TSIM_ATTENTION_CUDNN, 1, true, 0, 0, 0, 0, 5}, /* the queries of one group lie together */
    {TSIM_LAYOUT_GROUPED, TSIM_ATTENTION_FLASH2, 2, true, 4 + 6, 4, 4, 0, 6},
    {TSIM_LAYOUT_GROUPED, TSIM_ATTENTION_FLASH2, 8, false, 12, 3, 4, 0, 12},
    {TSIM_LAYOUT_GROUPED, NONE, 8, false, 0, 0, 4, 0, 0},
    {TSIM_LAYOUT_SEQUENCE_FIRST, NONE, 8, false, 0, 0, 4, 0, 12},
    {TSIM_LAYOUT_SEQUENCE_FIRST, TSIM_ATTENTION_FLASH1, 8, false, 12, 3, 4, 4, 12},
    {TSIM_LAYOUT_SEQUENCE_FIRST, TSIM_ATTENTION_FLASH2, 8, false, 12, 3, 4, 0, 12},
    {TSIM_LAYOUT_PACKED, NONE, 8, true, 0, 0, 4, 0, 12},
    {TSIM_LAYOUT_PACKED, TSIM_ATTENTION_FLASH1, 8, true, 24, 4, 4, 4, 12},
    {TSIM_LAYOUT_HEADS_FIRST, NONE, 8, false, 12, 3, 4, 4, 12},
    /* 2 heads of keys and of values are read, U / 2, and 2 x 8 are written; backward summed. */
    {TSIM_LAYOUT_REPEATED, TSIM_ATTENTION_FLASH2, 8, true, 0, 0, 0, 0, 0},
    {TSIM_LAYOUT_REPEATED, TSIM_ATTENTION_FLASH2, 2, true, 5, 2, 0, 0, 5},
    {TSIM_LAYOUT_REPEATED, NONE, 2, true, 5, 2, 4, 0, 5},
};

static double mib(const char *name) {
    const struct tsim_op *op = seek(&list, name);
    return op ? op->bytes / (1 << 20) : 0;
}

static void forward(void) {
    example_finish(&e);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
}

static void backward(void) {
    example_finish(&e);
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &list);
}

static void copies_init(const struct copies *c) {
    example_init(&e);
    e.software.attention_layout = c->layout;
    e.software.attention_kernel = c->kernel;
    e.scenario.training.attention = c->kernel == NONE ? TSIM_ATTENTION_STANDARD : TSIM_ATTENTION_FLASH;
    e.model.kv_heads = c->kv_heads;
    e.model.position = c->has_rope ? TSIM_POSITION_ROPE : TSIM_POSITION_LEARNED;
}

TSIM_TEST_ROWS(copies_around_attention, COPIES) {
    const struct copies *c = &COPIES[_i];
    copies_init(c);
    forward();
    ck_assert_double_eq(mib("attention operands, copy"), c->operands);
    ck_assert_double_eq(mib("attention result, copy"), c->result);
    if (c->operands > 0)
        ck_assert_double_eq(find(&list, "attention operands, copy")->kernels, c->operand_kernels);
    backward();
    ck_assert_double_eq(mib("attention result, copy"), c->result_gradient);
    ck_assert_double_eq(mib("attention operands, join"), c->joined);
}

/* With latent attention none are counted. */
TSIM_TEST(none_of_latent_attention) {
    copies_init(&COPIES[16]);
    e.model.position = TSIM_POSITION_ROPE;
    e.model.latent = (struct tsim_latent){.kv_rank = 128, .rope_dim = 32};
    forward();
    ck_assert_ptr_null(seek(&list, "attention operands, copy"));
    ck_assert_ptr_null(seek(&list, "attention result, copy"));
    backward();
    ck_assert_ptr_null(seek(&list, "attention operands, join"));
}

/* Recomputation of attention's core makes the result again as what follows takes it, and not the operands. */
TSIM_TEST(recomputed_with_the_core) {
    copies_init(&COPIES[16]);
    e.scenario.training.recompute = TSIM_RECOMPUTE_SELECTIVE;
    example_finish(&e);
    tsim_operators_again(&e.scenario, TSIM_PART_LAYER, 0, &list);
    ck_assert_ptr_nonnull(seek(&list, "attention result, copy"));
    ck_assert_ptr_null(seek(&list, "attention operands, copy"));
}

/* Rotation of 2 U elements. Written out 10 reads and writes of 2 bytes, backward 15, 5 of them element by element;
 * complex 2 + 4, 4 + 4, 4 + 2 bytes; matrices 2 + 4, 4 + 8, 8 + 4, 4 + 2; in one kernel 2 + 2, which Transformer Engine
 * has none of where what is rotated is scaled as well. A quarter of each head takes a quarter of that, and the whole
 * put together, 2 + 2 bytes, or backward two gradients of the whole from zeros: written 2 x 2, the parts copied 2 + 2,
 * both read and their sum written. */
static const struct rotation {
    enum tsim_rotary rotary;
    enum tsim_fusion fusion;
    double share, forward, backward, kernels, backward_kernels;
    bool scaled;
} ROTATIONS[] = {
    {TSIM_ROTARY_BY_FUSION, TSIM_FUSION_NONE, 0, 40, 60, 5, 9},
    {TSIM_ROTARY_BY_FUSION, TSIM_FUSION_MEGATRON, 1, 40, 60, 5, 9},
    {TSIM_ROTARY_BY_FUSION, TSIM_FUSION_MEGATRON, 0.25, 10 + 8, 15 + 28, 6, 10},
    {TSIM_ROTARY_FUSED, TSIM_FUSION_NONE, 0.25, 8, 8, 1, 1},
    {TSIM_ROTARY_BY_FUSION, TSIM_FUSION_TE, 0, 8, 8, 1, 1},
    {TSIM_ROTARY_BY_FUSION, TSIM_FUSION_TE, 0.5, 8, 8, 1, 1},
    {TSIM_ROTARY_BY_FUSION, TSIM_FUSION_TE, 0, 40, 60, 5, 9, true},
    {TSIM_ROTARY_BY_FUSION, TSIM_FUSION_COMPILE, 0, 8, 8, 1, 1, true},
    {TSIM_ROTARY_FUSED, TSIM_FUSION_TE, 0, 8, 8, 1, 1, true},
    {TSIM_ROTARY_COMPLEX, TSIM_FUSION_COMPILE, 0, 40, 40, 3, 3},
    {TSIM_ROTARY_COMPLEX, TSIM_FUSION_NONE, 0, 40, 40, 3, 3},
    {TSIM_ROTARY_MATRIX, TSIM_FUSION_NONE, 0, 72, 72, 3, 3},
};

static double kernels(const char *name) {
    const struct tsim_op *op = seek(&list, name);
    return op ? op->kernels : 0;
}

TSIM_TEST_ROWS(rotations, ROTATIONS) {
    const struct rotation *r = &ROTATIONS[_i];
    example_init(&e);
    e.software.rotary = r->rotary;
    e.software.fusion = r->fusion;
    e.model.position = TSIM_POSITION_ROPE;
    e.model.rotary_frac = r->share;
    e.model.rotary_scaled = r->scaled;
    forward();
    ck_assert_double_eq(mib("rotary") + mib("join halves") + mib("rotary, sum"), r->forward);
    ck_assert_double_eq(kernels("rotary") + kernels("join halves") + kernels("rotary, sum"), r->kernels);
    const struct tsim_op *joined = seek(&list, "join halves");
    ck_assert(!joined || joined->issued == 160 * joined->elements);
    backward();
    ck_assert_ptr_null(seek(&list, "join halves"));
    ck_assert_double_eq(mib("rotary") + mib("rotary, sum"), r->backward);
    ck_assert_double_eq(kernels("rotary") + kernels("rotary, sum"), r->backward_kernels);
    const struct tsim_op *products = find(&list, "rotary");
    ck_assert_double_eq(products->issued, seek(&list, "rotary, sum") ? 2.5 * 84 * products->elements : 0);
}

/* An RMS norm written out takes 36 bytes an element and 84 backward, as a kernel 4 and 10; its own kernel is one
 * whatever the rest is, or reads each tensor once: 4 and 6. Apex's reads twice: on a copy in fp32 it takes 6 to copy and
 * 10; backward 16 for dx, 6 for the scale's gradient and 6 to convert dx. */
TSIM_TEST(norms_of_their_own) {
    static const struct {
        enum tsim_norm_kernels norms;
        double forward, backward;
    } ROWS[] = {{TSIM_NORMS_BY_FUSION, 36, 84},
                {TSIM_NORMS_FUSED, 4, 10},
                {TSIM_NORMS_ONE_PASS, 4, 6},
                {TSIM_NORMS_FUSED_FP32, 16, 28}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        example_init(&e);
        e.software.fusion = TSIM_FUSION_NONE;
        e.software.norms = ROWS[i].norms;
        e.model.norm = TSIM_NORM_RMSNORM;
        forward();
        ck_assert_double_eq(mib("norm 2"), ROWS[i].forward);
        backward();
        ck_assert_double_eq(mib("norm 2"), ROWS[i].backward);
    }
}

/* Layer norms: PyTorch's read their input once, and backward input and gradient twice and once more; Apex's read twice
 * forward, too; compiled ones once and once more; Transformer Engine's once. Times of kernels alone are within 15 % of
 * those of as many bytes copied: Apex's and its FastLayerNorm on 16,384 x 1,024 in fp16 on an A100 of 40 GB
 * (NVIDIA/apex pull request 1037), where a copy moves 1.205 TB/s, and PyTorch's in 16 bits, RMS forward on 65,536 x 4,096
 * on B200 (pytorch/pytorch pull request 159682), backward on 65,536 x 8,192 on GB300 (meta-pytorch/KernelAgent pull
 * request 133), where one moves 5.815 TB/s. */
TSIM_TEST(layer_norms) {
    static const struct {
        enum tsim_fusion fusion;
        double forward, backward, bytes_per_us, elements_forward, elements_backward, forward_us, backward_us;
    } ROWS[] = {{TSIM_FUSION_NONE, 4, 14, 5.815e6, 65536.0 * 4096, 65536.0 * 8192, 167, 1313.8},
                {TSIM_FUSION_MEGATRON, 6, 14, 1.205e6, 16384.0 * 1024, 16384.0 * 1024, 75.1, 176.2},
                {TSIM_FUSION_TE, 4, 6, 1.205e6, 16384.0 * 1024, 16384.0 * 1024, 53.5, 86.6},
                {.fusion = TSIM_FUSION_COMPILE, 4, 12}}; /* with the residual's gradient; not measured */
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        example_init(&e);
        e.software.fusion = ROWS[i].fusion;
        forward();
        ck_assert_double_eq(mib("norm 2"), ROWS[i].forward);
        backward();
        ck_assert_double_eq(mib("norm 2"), ROWS[i].backward);
        if (ROWS[i].bytes_per_us == 0)
            continue;
        ck_assert_double_eq_tol(ROWS[i].elements_forward * ROWS[i].forward / ROWS[i].bytes_per_us / ROWS[i].forward_us,
                                1, 0.15);
        ck_assert_double_eq_tol(
            ROWS[i].elements_backward * ROWS[i].backward / ROWS[i].bytes_per_us / ROWS[i].backward_us, 1, 0.15);
    }
}

/* Queries and keys have norms as wide as a head: 2 U elements, 4 bytes each in a kernel and 10 backward, written out 36
 * and 84. Their inputs are kept. */
TSIM_TEST(norms_of_heads) {
    static const enum tsim_norm_kernels NORMS[] = {TSIM_NORMS_FUSED, TSIM_NORMS_BY_FUSION};
    static const double FORWARD[] = {4, 36}, BACKWARD[] = {10, 84}, KERNELS[] = {2, 12};
    for (size_t i = 0; i < sizeof NORMS / sizeof *NORMS; i++) {
        example_init(&e);
        e.software.fusion = TSIM_FUSION_NONE;
        e.software.norms = NORMS[i];
        e.model.norm = TSIM_NORM_RMSNORM;
        forward();
        ck_assert_ptr_null(seek(&list, "norms of queries and keys"));
        e.model.qk_norm = true;
        forward();
        ck_assert_double_eq(mib("norms of queries and keys"), 2 * FORWARD[i]);
        ck_assert_double_eq(kernels("norms of queries and keys"), KERNELS[i]);
        backward();
        ck_assert_double_eq(mib("norms of queries and keys"), 2 * BACKWARD[i]);
    }
}

/* Nothing is fused: three products of queries, keys and values leave three gradients of their input, two sums of
 * 3 x 2 bytes; a gate's two products one sum; one product's two gradients of 4 U each are joined, read and written. */
TSIM_TEST(gradients_of_one_input) {
    for (int i = 0; i < 8; i++) {
        bool is_fused = i & 1, has_three = i & 2, has_one_gate = i & 4;
        example_init(&e);
        e.model.gated_mlp = true;
        e.software.fusion = is_fused ? TSIM_FUSION_COMPILE : TSIM_FUSION_NONE;
        e.software.attention_layout = has_three ? TSIM_LAYOUT_REPEATED : TSIM_LAYOUT_SPLIT;
        e.software.gate_products = has_one_gate ? TSIM_GATE_ONE : TSIM_GATE_TWO;
        backward();
        ck_assert_double_eq(mib("attention input gradients, add"), !is_fused && has_three ? 12 : 0);
        ck_assert_double_eq(mib("gate input gradients, add"), !is_fused && !has_one_gate ? 6 : 0);
        ck_assert_double_eq(mib("gate gradients, join"), !is_fused && has_one_gate ? 32 : 0);
    }
}

/* ALiBi's bias is written for each of 8 U scores, and read by the product that adds to it; flash kernels make it up. */
TSIM_TEST(bias_of_a_line) {
    for (int is_flash = 0; is_flash < 2; is_flash++) {
        example_init(&e);
        e.model.position = TSIM_POSITION_ALIBI;
        e.scenario.training.attention = is_flash ? TSIM_ATTENTION_FLASH : TSIM_ATTENTION_STANDARD;
        forward();
        ck_assert_double_eq(mib("attention bias"), is_flash ? 0 : 32);
        backward();
        ck_assert_ptr_null(seek(&list, "attention bias"));
    }
}

/* 32 U logits. Written out 2 + 4 bytes read and written, 8 of log-softmax; backward 16, and back to 16 bits 6. A
 * shifted copy takes 8 more, and backward 12: zeros, and the copied part's gradient read and written. */
TSIM_TEST(loss_of_a_copy) {
    for (int is_shifted = 0; is_shifted < 2; is_shifted++) {
        example_init(&e);
        e.software.fusion = TSIM_FUSION_NONE;
        e.software.cross_entropy = is_shifted ? TSIM_LOSS_SHIFTED : TSIM_LOSS_WRITTEN_OUT;
        example_finish(&e);
        tsim_operators_forward(&e.scenario, TSIM_PART_HEAD, 0, &list);
        ck_assert_double_eq(mib("loss"), 32 * (14 + (is_shifted ? 8 : 0)));
        tsim_operators_backward(&e.scenario, TSIM_PART_HEAD, 0, &list);
        ck_assert_double_eq(mib("loss"), 32 * (22 + (is_shifted ? 12 : 0)));
    }
}

/* Only Megatron-LM adds the biases of queries, keys and values in a kernel of their own: 3 U read and written. */
TSIM_TEST_LOOP(biases_of_queries, 0, 4) {
    static const enum tsim_fusion FUSIONS[] = {TSIM_FUSION_NONE, TSIM_FUSION_MEGATRON, TSIM_FUSION_TE,
                                               TSIM_FUSION_COMPILE};
    for (int bias = 0; bias < 3; bias++) {
        example_init(&e);
        e.software.fusion = FUSIONS[_i];
        e.model.bias = bias == 1;
        e.model.qkv_bias = bias == 2;
        forward();
        ck_assert_double_eq(mib("attention qkv, bias"), bias > 0 && FUSIONS[_i] == TSIM_FUSION_MEGATRON ? 12 : 0);
    }
}

static int n_collectives(enum tsim_op_collective kind) {
    int n = 0;
    for (int32_t i = 0; i < list.n; i++)
        n += list.ops[i].kind == TSIM_OP_COLLECTIVE && list.ops[i].collective == kind;
    return n;
}

/* Blocks side by side with a norm each gather two inputs, and reduce two gradients, over the tensor ranks; their
 * results are one sum as with one norm. */
TSIM_TEST(norms_side_by_side) {
    for (int has_two = 0; has_two < 2; has_two++) {
        example_init(&e);
        e.model.parallel_block = true;
        e.model.parallel_norms = has_two;
        e.scenario.parallelism.tensor = 8;
        e.scenario.parallelism.sequence = true;
        forward();
        ck_assert_int_eq(n_collectives(TSIM_OP_ALL_GATHER), has_two ? 2 : 1);
        ck_assert_int_eq(n_collectives(TSIM_OP_REDUCE_SCATTER), 1);
        ck_assert_int_eq(seek(&list, "norm 2") != NULL, has_two);
        backward();
        ck_assert_int_eq(n_collectives(TSIM_OP_ALL_GATHER), has_two ? 3 : 2);
        ck_assert_int_eq(n_collectives(TSIM_OP_REDUCE_SCATTER), has_two ? 2 : 1);
        ck_assert_int_eq(seek(&list, "norm 2") != NULL, has_two);
        ck_assert_int_eq(seek(&list, "block gradients, add") != NULL, !has_two);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
