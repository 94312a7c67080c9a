/* Operator lists against the closed forms of Korthikanti et al. 2022: FLOPs of a layer forward 24 b s h^2 (1 + s/(6h))
 * over the tensor ranks (their appendix A), backward twice that; tensor-parallel volumes of their section 4. */
#include "model/model.h"
#include "model/operators.h"
#include "partition/memory.h"
#include "support/example.h"
#include "support/operator_list.h"

#include <math.h>
#include <string.h>

static struct example e;

/* The example has b 1, s = h = 1024: forward 24 * 1024^3 * (1 + 1/6) = 28 * 2^30. */
TSIM_TEST(layer_flops) {
    struct tsim_op_list forward, backward;
    for (int64_t tensor = 1; tensor <= 8; tensor *= 2) {
        example_init(&e);
        e.scenario.parallelism.tensor = tensor;
        example_finish(&e);
        tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &forward);
        tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &backward);
        double expected = 28.0 * (1 << 30) / (double)tensor;
        ck_assert_double_eq_tol(sum_flops(&forward), expected, 1);
        ck_assert_double_eq_tol(sum_flops(&backward), 2 * expected, 1);
    }
}

/* Flash attention executes half of the causal square, and 2.5 times that backward: with the core's share 4 of 28 * 2^30
 * forward: 24 + 2, backward 48 + 5. Not causal: 24 + 4, 48 + 10. */
TSIM_TEST(flash_flops) {
    struct tsim_op_list list;
    for (int causal = 0; causal < 2; causal++) {
        example_init(&e);
        e.scenario.training.attention = TSIM_ATTENTION_FLASH;
        e.model.causal = causal;
        tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
        ck_assert_double_eq_tol(sum_flops(&list), (causal ? 26.0 : 28.0) * (1 << 30), 1);
        tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &list);
        ck_assert_double_eq_tol(sum_flops(&list), (causal ? 53.0 : 58.0) * (1 << 30), 1);
    }
}

/* The core is 4 of 28 * 2^30. A window of 256 of 1,024 tokens slides over 256 (1 - 256 / 2048) keys in the mean; chunks
 * of 256 have half of that square; to both sides it is 256 (1 - 256 / 4096). As long as the sequence, it is none.
 * Backward 2.5 times as much, in each. */
TSIM_TEST(window_flops) {
    static const struct {
        int64_t window;
        bool chunks, causal;
        double keys, mean; /* of a query; of the kernel, where the window slides */
    } CASES[] = {{256, false, true, 224, 224}, {256, true, true, 128, 0},   {256, false, false, 240, 240},
                 {256, true, false, 256, 0},   {1024, false, true, 512, 0}, {4096, false, true, 512, 0}};
    struct tsim_op_list list;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        example_init(&e);
        e.scenario.training.attention = TSIM_ATTENTION_FLASH;
        e.model.attention_window = CASES[i].window;
        e.model.window_chunks = CASES[i].chunks;
        e.model.causal = CASES[i].causal;
        const double core = 4.0 * (1 << 30) * CASES[i].keys / 1024;
        for (int back = 0; back < 2; back++) {
            (back ? tsim_operators_backward : tsim_operators_forward)(&e.scenario, TSIM_PART_WINDOW_LAYER, 0, &list);
            const struct tsim_op *op = find(&list, "attention core");
            ck_assert_double_eq_tol(op->flops, (back ? 2.5 : 1) * core, 1);
            ck_assert_double_eq(op->window_keys, CASES[i].mean);
            ck_assert_double_eq(op->sequence, CASES[i].window < 1024 ? 256 : 1024);
        }
        ck_assert_double_eq_tol(tsim_layer_forward_flops(&e.model, TSIM_PART_WINDOW_LAYER, 1024, 1024).core,
                                4.0 * 1024 * fmin((double)CASES[i].window, 1024), 1e-6);
    }
}

/* A Mamba layer of 16 heads of 64, 8 groups and states of 128, 1,024 tokens in chunks of 128: products to 2 x 1,024 + 2
 * x 8 x 128 + 16 columns and back, and the recurrence by its closed form; backward twice all of it. Two tensor ranks
 * have a half each. */
TSIM_TEST(mamba_flops) {
    struct tsim_op_list list;
    const double in = 2.0 * 1024 * 1024 * (2 * 1024 + 2 * 8 * 128 + 16), out = 2.0 * 1024 * 1024 * 1024,
                 core = 1024 * (2.0 * 128 * (8 * 128 + 1024) + 4.0 * 128 * 1024);
    for (int64_t tensor = 1; tensor <= 2; tensor++) {
        example_init(&e);
        e.model.mamba =
            (struct tsim_mamba){.heads = 16, .head_dim = 64, .state = 128, .groups = 8, .kernel = 4, .chunk = 128};
        e.scenario.parallelism.tensor = tensor;
        example_finish(&e);
        tsim_operators_forward(&e.scenario, TSIM_PART_MAMBA, 0, &list);
        ck_assert_double_eq_tol(sum_flops(&list) * (double)tensor, in + core + out, 1);
        tsim_operators_backward(&e.scenario, TSIM_PART_MAMBA, 0, &list);
        ck_assert_double_eq_tol(sum_flops(&list) * (double)tensor, 2 * (in + core + out), 1);
        struct tsim_op_list whole, alone;
        tsim_operators_forward(&e.scenario, TSIM_PART_MAMBA_LAYER, 0, &whole);
        tsim_operators_forward(&e.scenario, TSIM_PART_FEED_FORWARD, 0, &alone);
        tsim_operators_forward(&e.scenario, TSIM_PART_MAMBA, 0, &list);
        ck_assert_int_eq(whole.n, list.n + alone.n);
        ck_assert_double_eq_tol(sum_flops(&whole), sum_flops(&list) + sum_flops(&alone), 1);
    }
}

/* A gated-delta layer of 8 heads of keys of 64 and 16 of values of 128, 1,024 tokens in chunks of 64: products to 2 x
 * 512 + 2 x 2,048 + 2 x 16 columns and back, and for each of 16 heads 64 (6 x 64 + 4 x 128) + 6 x 64 x 128 a token;
 * backward twice all of it. */
TSIM_TEST(delta_flops) {
    struct tsim_op_list list;
    const double in = 2.0 * 1024 * 1024 * (2 * 512 + 2 * 2048 + 2 * 16), out = 2.0 * 1024 * 1024 * 2048,
                 core = 1024 * 16 * (64.0 * (6 * 64 + 4 * 128) + 6.0 * 64 * 128);
    for (int64_t tensor = 1; tensor <= 2; tensor++) {
        example_init(&e);
        e.model.delta = (struct tsim_delta){
            .value_heads = 16, .key_heads = 8, .key_dim = 64, .value_dim = 128, .kernel = 4, .chunk = 64};
        e.scenario.parallelism.tensor = tensor;
        example_finish(&e);
        tsim_operators_forward(&e.scenario, TSIM_PART_DELTA, 0, &list);
        ck_assert_double_eq_tol(sum_flops(&list) * (double)tensor, in + core + out, 1);
        tsim_operators_backward(&e.scenario, TSIM_PART_DELTA, 0, &list);
        ck_assert_double_eq_tol(sum_flops(&list) * (double)tensor, 2 * (in + core + out), 1);
        struct tsim_layer_flops flops = tsim_layer_forward_flops(&e.model, TSIM_PART_DELTA, 1024, 1024);
        ck_assert_double_eq_tol(1024 * flops.core, core, 1);
    }
}

/* Kimi Delta Attention has decays and gates of channels by way of vectors of 32 in place of a gate's product and heads'
 * decays. */
TSIM_TEST(channel_gates) {
    struct tsim_op_list list;
    const double in = 2.0 * 1024 * 1024 * (3 * 2048 + 2 * 32 + 16), out = 2.0 * 1024 * 1024 * 2048,
                 gates = 2.0 * 1024 * 32 * 2 * 2048, core = 1024 * 16 * (64.0 * (6 * 128 + 4 * 128) + 6.0 * 128 * 128);
    example_init(&e);
    e.model.delta = (struct tsim_delta){.value_heads = 16,
                                        .key_heads = 16,
                                        .key_dim = 128,
                                        .value_dim = 128,
                                        .kernel = 4,
                                        .chunk = 64,
                                        .gate_rank = 32};
    example_finish(&e);
    tsim_operators_forward(&e.scenario, TSIM_PART_DELTA, 0, &list);
    ck_assert_double_eq_tol(sum_flops(&list), in + core + gates + out, 1);
    tsim_operators_backward(&e.scenario, TSIM_PART_DELTA, 0, &list);
    ck_assert_double_eq_tol(sum_flops(&list), 2 * (in + core + gates + out), 1);
    ck_assert_double_eq_tol(1024 * tsim_layer_forward_flops(&e.model, TSIM_PART_DELTA, 1024, 1024).core, core + gates,
                            1);
}

/* 1,024 tokens of which an index of 4 heads of 32 picks 128: attention as in a window of 128, 128 (1 - 128 / 2048) keys
 * in the mean; the index's two products, and scores of half the square. Where all are picked, attention meets what it
 * met without. Decoding, the cache's picked tokens alone are read, and all of its index. */
TSIM_TEST(sparse_attention) {
    struct tsim_op_list list, plain;
    example_init(&e);
    e.model.index = (struct tsim_index){.heads = 4, .head_dim = 32, .tokens = 128};
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    example_finish(&e);
    tsim_operators_forward(&e.scenario, TSIM_PART_SPARSE_LAYER, 0, &list);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &plain);
    ck_assert_double_eq_tol(find(&list, "attention core")->flops, 4.0 * 1024 * 1024 * 128 * (1 - 128 / 2048.0), 1);
    ck_assert_double_eq_tol(find(&list, "index scores")->flops, 2.0 * 4 * 32 * 1024 * 512, 1);
    double index = 2.0 * 1024 * 1024 * (4 * 32 + 32 + 4) + find(&list, "index scores")->flops;
    ck_assert_double_eq_tol(sum_flops(&list) - sum_flops(&plain),
                            index + find(&list, "attention core")->flops - find(&plain, "attention core")->flops, 1);
    ck_assert_double_eq(tsim_layer_count(&e.model, TSIM_PART_SPARSE_LAYER).latent, 1024 * (4 * 32 + 32 + 4) + 2 * 32);
    /* It has the scores of attention once more, the index's gradients of the picked pairs, and its weights'
     * gradients. */
    tsim_operators_backward(&e.scenario, TSIM_PART_SPARSE, 0, &list);
    ck_assert_double_eq_tol(find(&list, "index, attention's scores")->flops, 2.0 * 1024 * 1024 * 128, 1);
    ck_assert_double_eq_tol(find(&list, "index scores, dQ")->flops, 2.0 * 4 * 32 * 1024 * 128, 1);
    ck_assert_double_eq_tol(find(&list, "index scores, dK")->flops, 2.0 * 4 * 32 * 1024 * 128, 1);
    ck_assert(find(&list, "index queries, weight")->is_weight_gradient);
    e.model.index.tokens = 4096;
    tsim_operators_forward(&e.scenario, TSIM_PART_SPARSE_LAYER, 0, &list);
    ck_assert_double_eq(find(&list, "attention core")->flops, find(&plain, "attention core")->flops);
    e.model.index.tokens = 128;
    e.scenario.cached_tokens = 8191;
    tsim_operators_forward(&e.scenario, TSIM_PART_SPARSE, 0, &list);
    ck_assert_double_eq_tol(find(&list, "index scores")->flops / (2.0 * 4 * 32 * 1024), 1024 + 8191, 1e-6);
    ck_assert_double_eq_tol(find(&list, "attention core")->flops, 4.0 * 1024 * 1024 * 128, 1);
}

/* A gate of attention's result is a product as wide as the queries, forward and twice backward. */
TSIM_TEST(gated_attention_flops) {
    struct tsim_op_list list;
    for (int backward = 0; backward < 2; backward++) {
        double flops[2];
        for (int gated = 0; gated < 2; gated++) {
            example_init(&e);
            e.model.output_gate = gated;
            example_finish(&e);
            (backward ? tsim_operators_backward : tsim_operators_forward)(&e.scenario, TSIM_PART_LAYER, 0, &list);
            flops[gated] = sum_flops(&list);
        }
        double q = (double)(e.model.heads * e.model.head_dim);
        ck_assert_double_eq_tol(flops[1] - flops[0], (1 + backward) * 2.0 * 1024 * (double)e.model.hidden * q, 1);
    }
}

/* ViT-L/16, two images of 224 x 224: 196 patches of 3 x 16 x 16 values each are projected to h; the class token alone
 * meets 1,000 classes; on every tensor rank whole. Pixels need no gradient. An image of 14 x 14 with a patch for each
 * pixel has 3 values in each. */
TSIM_TEST_LOOP(image_ends, 0, 2) {
    struct tsim_op_list list;
    const int64_t patch = _i == 0 ? 16 : 1;
    const double patches = 2.0 * 2 * 196 * (double)(3 * patch * patch) * 1024, classes = 2.0 * 2 * 1024 * 1000;
    for (int64_t tensor = 1; tensor <= 2; tensor++) {
        example_init(&e);
        e.model.image = (struct tsim_image){.patch = patch, .size = 14 * patch, .channels = 3, .tokens = 197};
        e.model.vocab = 1000;
        e.scenario.training.sequence_length = 197;
        e.scenario.training.micro_batch_size = 2;
        e.scenario.parallelism.tensor = tensor;
        example_finish(&e);
        e.scenario.parallelism.sequence = false;
        tsim_operators_forward(&e.scenario, TSIM_PART_EMBEDDING, 0, &list);
        ck_assert_double_eq(sum_flops(&list), patches);
        tsim_operators_backward(&e.scenario, TSIM_PART_EMBEDDING, 0, &list);
        ck_assert_double_eq(sum_flops(&list), patches);
        const double values = (double)(3 * patch * patch); /* of a patch: operands of 2 bytes, an fp32 sum, both ways */
        ck_assert_double_eq(find(&list, "patches, weight")->bytes,
                            2 * (1024 * 2 * 196 + 2 * 196 * values) + 2 * 4 * 1024 * values);
        tsim_operators_forward(&e.scenario, TSIM_PART_HEAD, 0, &list);
        ck_assert_double_eq(sum_flops(&list), classes);
        ck_assert_double_eq(find(&list, "head")->m, 2);
        tsim_operators_backward(&e.scenario, TSIM_PART_HEAD, 0, &list);
        ck_assert_double_eq(sum_flops(&list), 2 * classes);
    }
}

static int32_t count_dropout(const struct tsim_op_list *list) {
    int32_t n = 0;
    for (int32_t i = 0; i < list->n; i++)
        n += strstr(list->ops[i].name, "dropout") != NULL;
    return n;
}

/* The embedding and standard attention have dropout, forward and backward; without a probability there is nothing to
 * do. */
TSIM_TEST(dropout_or_none) {
    static const enum tsim_part PARTS[] = {TSIM_PART_EMBEDDING, TSIM_PART_LAYER};
    struct tsim_op_list forward, backward, plain;
    for (size_t i = 0; i < 2; i++) {
        example_init(&e);
        tsim_operators_forward(&e.scenario, PARTS[i], 0, &forward);
        tsim_operators_backward(&e.scenario, PARTS[i], 0, &backward);
        tsim_operators_backward(&e.scenario, PARTS[i], 0, &plain);
        ck_assert_int_eq(count_dropout(&forward) + count_dropout(&backward), 0);
        e.software.dropout = 0.1;
        tsim_operators_forward(&e.scenario, PARTS[i], 0, &forward);
        tsim_operators_backward(&e.scenario, PARTS[i], 0, &backward);
        ck_assert_int_ge(count_dropout(&backward), 1);
        ck_assert_int_gt(backward.n, plain.n);
    }
}

/* BERT has the head for an eighth of 1,024 tokens, shared by the tensor ranks, and a pooler for the first of each
 * sample, on each of them. */
TSIM_TEST(masked_head) {
    struct tsim_op_list list;
    for (int64_t tensor = 1; tensor <= 2; tensor++) {
        example_init(&e);
        e.model.head_frac = 0.125;
        e.model.pooler = true;
        e.scenario.parallelism.tensor = tensor;
        example_finish(&e);
        const double head = 2.0 * 128 * 1024 * 32768 / (double)tensor, pooler = 2.0 * 1024 * 1024;
        tsim_operators_forward(&e.scenario, TSIM_PART_HEAD, 0, &list);
        ck_assert_double_eq(sum_flops(&list), head + pooler);
        tsim_operators_backward(&e.scenario, TSIM_PART_HEAD, 0, &list);
        ck_assert_double_eq(sum_flops(&list), 2 * (head + pooler));
        ck_assert_double_eq(tsim_head_tokens(&e.scenario), 128);
        ck_assert_double_eq(find(&list, "head, put tokens back")->bytes, 1024 * 1024 * 2); /* most of them zero */
        ck_assert_double_eq(find(&list, "head, put tokens back")->kernels, 1);
        tsim_operators_forward(&e.scenario, TSIM_PART_HEAD, 0, &list);
        ck_assert_double_eq(find(&list, "head, pick tokens")->bytes, 128 * 1024 * 2 * 2); /* read and written */
        ck_assert_double_eq(find(&list, "head, pick tokens")->kernels, 1);
        e.model.head_frac = 0;
        tsim_operators_forward(&e.scenario, TSIM_PART_HEAD, 0, &list);
        ck_assert_ptr_null(seek(&list, "head, pick tokens"));
    }
}

/* Each further token has a product of 2 h x h, which tensor ranks divide, and goes through the head once more. */
TSIM_TEST(further_tokens) {
    struct tsim_op_list list;
    for (int64_t modules = 0; modules <= TSIM_MAX_MTP_MODULES; modules++)
        for (int64_t tensor = 1; tensor <= 2; tensor++) {
            example_init(&e);
            e.model.mtp_modules = modules;
            e.scenario.parallelism.tensor = tensor;
            example_finish(&e);
            const double n = (double)modules, head = 2.0 * 1024 * 1024 * 32768, product = 2.0 * 1024 * 2048 * 1024,
                         all = ((1 + n) * head + n * product) / (double)tensor;
            tsim_operators_forward(&e.scenario, TSIM_PART_HEAD, 0, &list);
            ck_assert_double_eq(sum_flops(&list), all);
            tsim_operators_backward(&e.scenario, TSIM_PART_HEAD, 0, &list);
            ck_assert_double_eq(sum_flops(&list), 2 * all);
            ck_assert(!seek(&list, "further token, weight") == (modules == 0));
        }
}

/* An encoder of 4 layers on e = 1,024 tokens and a decoder of 4 on d = 256, h = 1,024, ffn 4 h. A decoder layer
 * forward: products of its own tokens 2 d (4 + 2 + 8) h^2, keys and values of the encoder's 4 e h^2, scores and values
 * 4 d (d + e) h; backward twice that; over the tensor ranks. */
TSIM_TEST(decoder_layer_flops) {
    struct tsim_op_list list;
    const double h = 1024, s = 1024, d = 256, own = 2 * d * 14 * h * h, keys = 4 * s * h * h,
                 core = 4 * d * (d + s) * h;
    for (int64_t tensor = 1; tensor <= 8; tensor *= 2) {
        example_init(&e);
        e.model.encoder_layers = 4;
        e.scenario.training.decoder_sequence_length = 256;
        e.scenario.parallelism.tensor = tensor;
        example_finish(&e);
        double expected = (own + keys + core) / (double)tensor;
        tsim_operators_forward(&e.scenario, TSIM_PART_DECODER_LAYER, 0, &list);
        ck_assert_double_eq(sum_flops(&list), expected);
        ck_assert_double_eq(find(&list, "cross kv")->m, s);
        ck_assert_double_eq(find(&list, "cross q")->m, d);
        tsim_operators_backward(&e.scenario, TSIM_PART_DECODER_LAYER, 0, &list);
        ck_assert_double_eq(sum_flops(&list), 2 * expected);
    }
}

/* The model counts what is executed, forward and twice backward: layers of both stacks and the head. */
TSIM_TEST(stacked_flops) {
    struct tsim_op_list encoder, decoder, head;
    example_init(&e);
    e.model.encoder_layers = 4;
    e.model.tied_embeddings = true;
    e.scenario.training.decoder_sequence_length = 256;
    example_finish(&e);
    tsim_operators_forward(&e.scenario, TSIM_PART_ENCODER_LAYER, 0, &encoder);
    tsim_operators_forward(&e.scenario, TSIM_PART_DECODER_LAYER, 0, &decoder);
    tsim_operators_forward(&e.scenario, TSIM_PART_HEAD, 0, &head);
    double layers = 4 * (sum_flops(&encoder) + sum_flops(&decoder));
    struct tsim_layer_flops counted = tsim_model_forward_flops_per_token(&e.model, 1024, 256);
    ck_assert_double_eq_tol(counted.products + counted.core, layers / 1024, 1);
    ck_assert_double_eq_tol(tsim_model_flops_per_token(&e.model, 1024, 256), 3 * (layers + sum_flops(&head)) / 1024, 1);
}

/* Tensor and sequence parallel, a decoder layer forward moves three results of its own tokens and the encoder's result
 * once: gathers of d h before attention, cross attention and feed-forward and of e h, and three scatters. */
TSIM_TEST(decoder_layer_volumes) {
    struct tsim_op_list list;
    example_init(&e);
    e.model.encoder_layers = 4;
    e.scenario.training.decoder_sequence_length = 256;
    e.scenario.parallelism.tensor = 4;
    example_finish(&e);
    e.scenario.parallelism.sequence = true;
    tsim_operators_forward(&e.scenario, TSIM_PART_DECODER_LAYER, 0, &list);
    ck_assert_double_eq(sum_collective(&list, TSIM_OP_ALL_GATHER), 2.0 * 1024 * (3 * 256 + 1024));
    ck_assert_double_eq(sum_collective(&list, TSIM_OP_REDUCE_SCATTER), 2.0 * 1024 * 3 * 256);
}

/* User buffers send partial sums in fp8 where a scale is known before the product. The embedding's sums are no
 * product's. */
TSIM_TEST(fp8_partial_sums) {
    static const struct {
        enum tsim_fp8_scaling scaling;
        bool overlaps;
        double bytes; /* per element: of attention and feed-forward together */
    } CASES[] = {{TSIM_SCALING_DELAYED, true, 2}, {TSIM_SCALING_DELAYED, false, 4}, {TSIM_SCALING_CURRENT, true, 4}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct tsim_op_list list;
        example_init(&e);
        e.scenario.training.precision = TSIM_FP8;
        e.scenario.parallelism.tensor = 4;
        e.software.fp8_scaling = CASES[i].scaling;
        example_finish(&e);
        e.scenario.parallelism.sequence = true;
        e.scenario.parallelism.overlap.tensor = CASES[i].overlaps;
        tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
        ck_assert_double_eq(sum_collective(&list, TSIM_OP_REDUCE_SCATTER), CASES[i].bytes * 1024 * 1024);
        tsim_operators_forward(&e.scenario, TSIM_PART_EMBEDDING, 0, &list);
        ck_assert_double_eq(find(&list, "tensor: reduce, embedding")->collective_bytes, 2.0 * 1024 * 1024);
    }
}

/* Scales of rows are found after the gather, which is in 16 bits and which products wait for; each rank casts all that
 * it gathered. The other way round a scale of the tensor. */
TSIM_TEST(gathers_with_scales_of_rows) {
    for (int rows = 0; rows < 2; rows++) {
        struct tsim_op_list list;
        example_init(&e);
        e.scenario.training.precision = TSIM_FP8;
        e.scenario.parallelism.tensor = 4;
        e.software.fp8_scaling = rows ? TSIM_SCALING_ROWS : TSIM_SCALING_CURRENT;
        example_finish(&e);
        e.scenario.parallelism.sequence = e.scenario.parallelism.overlap.tensor = true;
        tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
        ck_assert_double_eq(sum_collective(&list, TSIM_OP_ALL_GATHER), (rows ? 2 : 1) * 2.0 * 1024 * 1024);
        ck_assert_int_eq(find(&list, "tensor: gather, ffn")->overlap, rows ? TSIM_EXPOSED : TSIM_PIPELINED_NEXT);
        ck_assert_double_eq(find(&list, rows ? "cast, gathered" : "cast, norm")->bytes,
                            rows ? 3.0 * 1024 * 1024 : 4.0 * 1024 * 1024 / 4);
        tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &list);
        ck_assert_int_eq(find(&list, "tensor: gather, ffn")->overlap, rows ? TSIM_EXPOSED : TSIM_PIPELINED_NEXT);
        ck_assert_double_eq(find(&list, "tensor: gather, ffn")->collective_bytes, (rows ? 2.0 : 1.0) * 1024 * 1024);
    }
}

/* Executed layers and the model's count agree: 3 x forward of all layers + head (standard attention, full square). The
 * example has no bias, no positions: 6 N counts the layers' matrices, norms (a trifle), table and head. */
TSIM_TEST(model_flops) {
    struct tsim_op_list layer, head;
    example_init(&e);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &layer);
    tsim_operators_forward(&e.scenario, TSIM_PART_HEAD, 0, &head);
    double executed = 3 * (8 * sum_flops(&layer) + sum_flops(&head)) / 1024;
    double uncounted = 6 * (32768.0 * 1024 + (8 * 4 + 2) * 1024); /* the table is looked up, norms are not products */
    ck_assert_double_eq_tol(tsim_model_flops_per_token(&e.model, 1024, 1024), executed + uncounted, 1);
    struct tsim_layer_flops layers = tsim_model_forward_flops_per_token(&e.model, 1024, 1024);
    ck_assert_double_eq_tol(layers.products + layers.core, 8 * sum_flops(&layer) / 1024, 1);
}

/* Without sequence parallelism two all-reduces of b s h activations forward and two backward; with it two gathers and
 * two scatters forward; backward two scatters and four gathers (of which two fetch the inputs of the column-parallel
 * products again: 1.5 times the volume). */
TSIM_TEST(tensor_volumes) {
    struct tsim_op_list forward, backward;
    double activation = 1024.0 * 1024 * 2;
    example_init(&e);
    e.scenario.parallelism.tensor = 4;
    example_finish(&e);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &forward);
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &backward);
    ck_assert_double_eq(sum_collective(&forward, TSIM_OP_ALL_REDUCE), 2 * activation);
    ck_assert_double_eq(sum_collective(&backward, TSIM_OP_ALL_REDUCE), 2 * activation);
    e.scenario.parallelism.sequence = true;
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &forward);
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &backward);
    ck_assert_double_eq(sum_collective(&forward, TSIM_OP_ALL_GATHER), 2 * activation);
    ck_assert_double_eq(sum_collective(&forward, TSIM_OP_REDUCE_SCATTER), 2 * activation);
    ck_assert_double_eq(sum_collective(&backward, TSIM_OP_ALL_GATHER), 4 * activation);
    ck_assert_double_eq(sum_collective(&backward, TSIM_OP_REDUCE_SCATTER), 2 * activation);
    ck_assert_double_eq(sum_collective(&forward, TSIM_OP_ALL_REDUCE), 0);
}

/* Bytes by hand: layer norm (Apex's) reads t h elements of 2 bytes twice and writes them; a residual with dropout also writes a mask byte;
 * with tensor 4 and sequence parallelism a quarter of the tokens. */
TSIM_TEST(elementwise_bytes) {
    struct tsim_op_list list;
    double elements = 1024.0 * 1024;
    example_init(&e);
    e.software.dropout = 0.1;
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
    ck_assert_double_eq(find(&list, "norm 1")->bytes, 6 * elements);
    ck_assert_double_eq(find(&list, "residual 1")->bytes, 7 * elements);
    ck_assert_double_eq(find(&list, "attention softmax")->bytes,
                        8 * elements * 3); /* 8 heads; half read, all written */
    ck_assert_double_eq(find(&list, "activation")->bytes, 4 * 4 * elements);
    e.scenario.parallelism.tensor = 4;
    e.scenario.parallelism.sequence = true;
    example_finish(&e);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
    ck_assert_double_eq(find(&list, "norm 1")->bytes, 1.5 * elements);
    ck_assert_double_eq(find(&list, "activation")->bytes, 4 * elements);
}

/* fp8: linear layers gather half the bytes and read half; the head and the attention stay in bf16. */
TSIM_TEST(fp8) {
    struct tsim_op_list list;
    example_init(&e);
    e.scenario.training.precision = TSIM_FP8;
    e.scenario.parallelism.tensor = 2;
    e.scenario.parallelism.sequence = true;
    example_finish(&e);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
    ck_assert_int_eq(find(&list, "ffn up")->precision, TSIM_FP8);
    ck_assert_int_eq(find(&list, "attention scores")->precision, TSIM_BF16);
    ck_assert_double_eq(sum_collective(&list, TSIM_OP_ALL_GATHER), 2 * 1024.0 * 1024);
    tsim_operators_forward(&e.scenario, TSIM_PART_HEAD, 0, &list);
    ck_assert_int_eq(find(&list, "head")->precision, TSIM_BF16);
    ck_assert_double_eq(sum_collective(&list, TSIM_OP_ALL_GATHER), 2 * 1024.0 * 1024);
}

/* Products of gradients are known as such, those forward not. */
TSIM_TEST(gradients) {
    struct tsim_op_list list;
    example_init(&e);
    example_finish(&e);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
    ck_assert(!find(&list, "ffn up")->is_gradient);
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &list);
    ck_assert(find(&list, "ffn up, input")->is_gradient);
    ck_assert(find(&list, "ffn up, weight")->is_gradient);
}

/* Vocabulary rows are padded to a multiple of 128 per tensor rank (Megatron-LM): 32000 / 8 = 4000 -> 4096. */
TSIM_TEST(padded_vocabulary) {
    example_init(&e);
    e.model.vocab = 32000;
    e.scenario.parallelism.tensor = 8;
    ck_assert_double_eq(tsim_padded_vocab_per_rank(&e.scenario), 4096);
    e.scenario.parallelism.tensor = 1;
    ck_assert_double_eq(tsim_padded_vocab_per_rank(&e.scenario), 32000);
}

/* Each of 2 or 4 context ranks has 1,024 / n tokens; a token's keys and values are 2 x 1,024 numbers of 2 bytes, so a
 * rank's own are 4 / n MiB, its queries half of that. Forward and backward, by kind of collective; one rank alone has
 * none. */
TSIM_TEST_LOOP(context_exchanges, 0, 3) {
    static const double MIB = 1 << 20;
    const int32_t ranks = 1 << _i;
    const double n = ranks, own = 4 * MIB / n;
    const struct {
        enum tsim_context_exchange exchange;
        enum tsim_op_collective collective;
        double forward, backward;                                                /* of a rank's own keys and values */
    } CASES[] = {{TSIM_CONTEXT_RING, TSIM_OP_RING_EXCHANGE, n - 1, 2 * (n - 1)}, /* others'; and their gradients */
                 {TSIM_CONTEXT_ALL_GATHER, TSIM_OP_ALL_GATHER, n, n},
                 {TSIM_CONTEXT_ALL_GATHER, TSIM_OP_REDUCE_SCATTER, 0, n},
                 {TSIM_CONTEXT_ALL_TO_ALL, TSIM_OP_ALL_TO_ALL, 1.5 + 0.5, 0.5 + 1.5}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        for (int flash = 0; flash < 2; flash++) {
            struct tsim_op_list forward, backward;
            const double share = ranks > 1 ? own : 0;
            example_init(&e);
            e.scenario.parallelism.context = ranks;
            e.scenario.parallelism.context_exchange = CASES[i].exchange;
            e.scenario.training.attention = flash ? TSIM_ATTENTION_FLASH : TSIM_ATTENTION_STANDARD;
            example_finish(&e);
            tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &forward);
            tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &backward);
            ck_assert_double_eq_tol(sum_collective(&forward, CASES[i].collective), CASES[i].forward * share, 1);
            ck_assert_double_eq_tol(sum_collective(&backward, CASES[i].collective), CASES[i].backward * share, 1);
            for (int32_t k = 0; k < forward.n && ranks == 1; k++)
                ck_assert_int_ne(forward.ops[k].kind, TSIM_OP_COLLECTIVE);
            for (int32_t k = 0; k < backward.n && ranks == 1; k++)
                ck_assert_int_ne(backward.ops[k].kind, TSIM_OP_COLLECTIVE);
        }
}

/* A rank of four has in standard attention a quarter of the rows of each product, and all columns. */
TSIM_TEST(context_rows) {
    struct tsim_op_list whole, part;
    static const char *const PRODUCTS[] = {"attention scores", "attention values"};
    example_init(&e);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &whole);
    e.scenario.parallelism.context = 4;
    example_finish(&e);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &part);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_double_eq(find(&part, PRODUCTS[i])->m, 256);
        ck_assert_double_eq(find(&whole, PRODUCTS[i])->m, 1024);
        ck_assert_double_eq(find(&part, PRODUCTS[i])->flops, find(&whole, PRODUCTS[i])->flops / 4);
    }
    ck_assert_double_eq(find(&part, "attention scores")->n, 1024);
    e.model.position = TSIM_POSITION_RELATIVE; /* learned: 8 heads' 256 x 1,024, read as often as scores, both ways */
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &part);
    ck_assert_double_eq(find(&part, "attention bias")->bytes, 8.0 * 256 * 1024 * (2 + 2 + 2));
    e.scenario.training.micro_batch_size = 2; /* one for all samples */
    example_finish(&e);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &part);
    ck_assert_double_eq(find(&part, "attention bias")->bytes, 8.0 * 256 * 1024 * (2 * (2 + 2) + 2));
}

/* Blocks side by side do the same products from one norm, and with 8 tensor ranks and sequence parallelism gather their
 * input and reduce their sum once where blocks in a row do it twice: forward one of each; backward the output's
 * gradient and the input again are gathered, and the input's gradient is reduced: 3 collectives instead of 6. */
TSIM_TEST(blocks_side_by_side) {
    struct tsim_op_list list;
    double flops[2][2], bytes[2][2][2];
    for (int is_parallel = 0; is_parallel < 2; is_parallel++) {
        example_init(&e);
        e.model.parallel_block = is_parallel;
        e.scenario.parallelism.tensor = 8;
        e.scenario.parallelism.sequence = true;
        example_finish(&e);
        for (int backward = 0; backward < 2; backward++) {
            if (backward)
                tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &list);
            else
                tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
            flops[is_parallel][backward] = sum_flops(&list);
            bytes[is_parallel][backward][0] = sum_collective(&list, TSIM_OP_ALL_GATHER);
            bytes[is_parallel][backward][1] = sum_collective(&list, TSIM_OP_REDUCE_SCATTER);
        }
    }
    for (int backward = 0; backward < 2; backward++) {
        ck_assert_double_eq_tol(flops[0][backward], flops[1][backward], 1);
        for (int kind = 0; kind < 2; kind++)
            ck_assert_double_eq_tol(bytes[0][backward][kind], 2 * bytes[1][backward][kind], 1);
    }
    ck_assert_double_eq_tol(bytes[1][0][0], 1024 * 1024 * 2, 1);
    ck_assert_double_eq_tol(bytes[1][1][0], 2 * 1024 * 1024 * 2, 1);
}

/* A layer has 12 h^2 weights (12 x 2^20 here): fp16 sums are read and written, 2 bytes each, and new gradients are
 * read; all but the first of 4 micro-batches. fp32 sums take 4 + 4 + 2, the first one, too. Nothing where the product
 * adds them, where there is one micro-batch, or where each is reduced at once. */
TSIM_TEST(separate_accumulation) {
    const struct {
        enum tsim_accumulation accumulation;
        enum tsim_precision kept;
        int64_t n_microbatches, zero;
        double bytes_per_weight;
    } cases[] = {
        {TSIM_ACCUMULATION_SEPARATE, TSIM_BF16, 4, 0, 6 * 0.75}, {TSIM_ACCUMULATION_SEPARATE, TSIM_FP32, 4, 1, 10},
        {TSIM_ACCUMULATION_SEPARATE, TSIM_FP32, 1, 0, 10},       {TSIM_ACCUMULATION_SEPARATE, TSIM_BF16, 1, 0, 0},
        {TSIM_ACCUMULATION_SEPARATE, TSIM_FP32, 4, 3, 0},        {TSIM_ACCUMULATION_FUSED, TSIM_FP32, 4, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tsim_op_list list;
        double bytes = 0;
        example_init(&e);
        e.software.accumulation = cases[i].accumulation;
        e.scenario.training.gradient_precision = cases[i].kept;
        e.scenario.parallelism.zero = (int)cases[i].zero;
        e.scenario.n_microbatches = cases[i].n_microbatches;
        tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &list);
        for (int32_t k = 0; k < list.n; k++)
            if (strcmp(list.ops[k].name, "gradient accumulation") == 0)
                bytes += list.ops[k].bytes;
        ck_assert_double_eq_tol(bytes, cases[i].bytes_per_weight * 12 * 1024 * 1024, 1);
    }
}

/* All parts but the products before attention (MaxText's save_qkv_proj): 6 t h^2 FLOP and the last product, which is
 * dead code where recomputation ends early, 8 t h^2, are missing from 24 and those of the core; kept are the layer's
 * input and 3 h. */
TSIM_TEST(recomputed_from_queries_on) {
    struct tsim_op_list list;
    double t = 1024, h = 1024, core = 2 * t * t * h; /* half: causal */
    example_init(&e);
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    e.scenario.training.recompute = TSIM_RECOMPUTE_SELECTIVE;
    e.scenario.training.recompute_parts = TSIM_RECOMPUTE_ATTENTION | TSIM_RECOMPUTE_NORMS | TSIM_RECOMPUTE_ACTIVATION |
                                          TSIM_RECOMPUTE_FFN | TSIM_RECOMPUTE_OUTPUT;
    for (int early = 0; early < 2; early++) {
        e.software.checkpoint_early_stop = early;
        tsim_operators_again(&e.scenario, TSIM_PART_LAYER, 0, &list);
        ck_assert_double_eq_tol(sum_flops(&list), (early ? 10 : 18) * t * h * h + core, 1);
        ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), t * 4 * h * 2, 1);
    }
}

/* Checkpointed by operator (torchtitan): of q, k, v, output, gate, up, down the products k, output and up run again,
 * with all that is cheap; queries, values, attention, gate and down are kept. Not gated: k and output alone, nothing
 * after up. */
TSIM_TEST(recomputed_by_operator) {
    struct tsim_op_list list;
    for (int gated = 0; gated < 2; gated++) {
        example_init(&e);
        e.model.gated_mlp = gated;
        e.model.kv_heads = 2;
        e.scenario.training.attention = TSIM_ATTENTION_FLASH;
        e.scenario.training.recompute = TSIM_RECOMPUTE_SELECTIVE;
        e.software.selective_recompute = TSIM_SELECTIVE_OPERATORS;
        example_finish(&e);
        tsim_operators_again(&e.scenario, TSIM_PART_LAYER, 0, &list);
        double h = 1024, key = 256, again = h * (key + h + (gated ? 4096 : 0));
        ck_assert_double_eq_tol(sum_flops(&list), 2 * 1024 * again, 1);
        ck_assert_double_eq(find(&list, "attention qkv")->n, key);
        ck_assert_double_eq(find(&list, "attention qkv")->bytes, 2 * (1024 * h + h * key + 1024 * key));
        find(&list, "norm 1");
        find(&list, "activation");
        for (int32_t i = 0; i < list.n; i++)
            ck_assert(list.ops[i].kind != TSIM_OP_FLASH && !list.ops[i].is_last_projection);
        double kept = h + (h + key) + h + 2 * 8 + 4096 + (gated ? h : 0); /* of 2 bytes; 4 for each of 8 heads' rows */
        ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), 1024 * 2 * kept, 1);
        e.software.selective_recompute = TSIM_SELECTIVE_ATTENTION;
        tsim_operators_again(&e.scenario, TSIM_PART_LAYER, 0, &list);
        ck_assert_int_eq(list.n, 1);
        ck_assert_int_eq(list.ops[0].kind, TSIM_OP_FLASH);
    }
}

/* Four pieces of 256 tokens, h = 1024, two key heads of eight (512 values of keys and values a token). Forward the
 * first result is scaled (2 passes), three added (3 each), three early halves of keys and values copied (2 * 1/2).
 * Backward so for dQ; of dK and dV half copied (1), two halves added (1.5 each) and the rank's own whole (3). Without a
 * mask nothing is half. */
TSIM_TEST(pieces_of_a_ring) {
    struct tsim_op_list list;
    for (int causal = 0; causal < 2; causal++) {
        example_init(&e);
        e.scenario.training.attention = TSIM_ATTENTION_FLASH;
        e.model.causal = causal;
        e.model.kv_heads = 2;
        e.scenario.parallelism.context = 4;
        example_finish(&e);
        tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
        double results = 11 * 1024, copies = causal ? 3 : 0, sums = causal ? 1 + 2 * 1.5 + 3 : 2 + 3 * 3;
        ck_assert_double_eq(find(&list, "attention core")->pieces, 4);
        ck_assert_double_eq(find(&list, "context: merge")->bytes, 2 * 256 * (results + 512 * copies));
        tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &list);
        ck_assert_double_eq(find(&list, "context: merge")->bytes, 2 * 256 * (results + 512 * (copies + sums)));
        /* PyTorch's, of keys and values of each query head: four results are converted (6), three added (32), the sum
         * is converted. Gradients of keys and values go around in fp32, once more than keys and values. */
        e.software.context_merge = TSIM_MERGE_FP32;
        e.software.attention_layout = TSIM_LAYOUT_REPEATED;
        tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
        ck_assert_double_eq_tol(find(&list, "context: merge")->bytes, 256 * 1024.0 * (4 * 6 + 3 * 32 + 6 + 2 * 3 * 4),
                                1);
        ck_assert_double_eq(find(&list, "context: keys and values")->collective_bytes, 3 * 256 * 2048.0 * 2);
        tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &list);
        ck_assert_double_eq_tol(find(&list, "context: merge")->bytes,
                                256 * 1024.0 * (4 + 4 * 10 + 6 + 2 * (14 + 3 * 13 + 4 * 8 + 6 + 3 * 4)), 1);
        ck_assert_double_eq(find(&list, "context: keys, values and their gradients")->collective_bytes,
                            256 * 2048.0 * (3 * 2 + 4 * 4));
        e.scenario.parallelism.context_exchange = TSIM_CONTEXT_ALL_GATHER;
        tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &list);
        ck_assert_double_eq(find(&list, "attention core")->pieces, 1);
        for (int32_t i = 0; i < list.n; i++)
            ck_assert_str_ne(list.ops[i].name, "context: merge");
    }
}

/* Written out in fp32: converted (2 + 4), then 8 bytes a logit, 16 backward; a fused kernel reads and writes 2. Two
 * metrics compute it again, forward alone. */
TSIM_TEST(loss_and_its_metrics) {
    struct tsim_op_list list;
    double logits = 1024.0 * 32768;
    for (int fused = 0; fused < 2; fused++) {
        example_init(&e);
        e.software.fusion = TSIM_FUSION_NONE;
        e.software.cross_entropy = fused ? TSIM_LOSS_FUSED : TSIM_LOSS_WRITTEN_OUT;
        e.software.loss_metrics = 2;
        tsim_operators_forward(&e.scenario, TSIM_PART_HEAD, 0, &list);
        ck_assert_double_eq(find(&list, "loss")->bytes, logits * (fused ? 4 : 6 + 8));
        ck_assert_double_eq(find(&list, "metrics of the loss")->bytes, 2 * logits * (6 + 8));
        tsim_operators_backward(&e.scenario, TSIM_PART_HEAD, 0, &list);
        ck_assert_double_eq(find(&list, "loss")->bytes, logits * (fused ? 4 : 16 + 6));
    }
}

/* A copy of the logits in fp32 is written (2 + 4 bytes) and read by the loss (4) and by what is computed beside it (4 +
 * 4); backward the gradient is written over it (4 + 4) and converted (4 + 2). */
TSIM_TEST(loss_of_a_copy_in_fp32) {
    struct tsim_op_list list;
    double logits = 1024.0 * 32768;
    example_init(&e);
    e.software.cross_entropy = TSIM_LOSS_FUSED_FP32;
    e.software.loss_metrics = 3;
    tsim_operators_forward(&e.scenario, TSIM_PART_HEAD, 0, &list);
    ck_assert_double_eq(find(&list, "loss")->bytes, logits * (6 + 4));
    ck_assert_double_eq(find(&list, "metrics of the loss")->bytes, 3 * logits * 8);
    tsim_operators_backward(&e.scenario, TSIM_PART_HEAD, 0, &list);
    ck_assert_double_eq(find(&list, "loss")->bytes, logits * (8 + 6));
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
