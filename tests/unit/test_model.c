/* Tests which layers have experts, and the parameters of a mixture by hand. */
#include "model/model.h"
#include "support/check_main.h"

/* Returns a model with h 8, 2 heads of 4, ffn 16, 6 layers, vocabulary 10; 4 experts of 12, 2 for each token, 1
 * shared. */
static struct tsim_model small_mixture(int64_t first, int64_t every) {
    return (struct tsim_model){
        .layers = 6,
        .hidden = 8,
        .heads = 2,
        .kv_heads = 2,
        .head_dim = 4,
        .ffn_hidden = 16,
        .vocab = 10,
        .gated_mlp = true,
        .norm = TSIM_NORM_RMSNORM,
        .position = TSIM_POSITION_ROPE,
        .experts = {.count = 4, .active = 2, .ffn_hidden = 12, .shared = 1, .first = first, .every = every}};
}

static void assert_layers(const struct tsim_model *m, const enum tsim_part *kinds) {
    for (int64_t from = 0; from <= m->layers; from++) {
        struct tsim_parts parts = {0};
        for (int64_t to = from; to <= m->layers; to++) {
            struct tsim_parts counted = tsim_model_layers(m, from, to);
            for (int part = 0; part < TSIM_N_PARTS; part++)
                ck_assert_double_eq(counted.times[part], parts.times[part]);
            if (to == m->layers)
                break;
            ck_assert_int_eq(tsim_model_layer(m, to), kinds[to]);
            parts.times[kinds[to]]++;
        }
    }
}

/* The definition of the catalogue, layer by layer: l has experts where l >= first and (l - first + 1) % every == 0.
 */
TSIM_TEST(expert_layers) {
    for (int64_t first = 0; first < 8; first++)
        for (int64_t every = 1; every < 8; every++) {
            struct tsim_model m = small_mixture(first, every);
            enum tsim_part kinds[6];
            int64_t n = 0;
            for (int64_t l = 0; l < 6; l++) {
                bool has_experts = l >= first && (l - first + 1) % every == 0;
                kinds[l] = has_experts ? TSIM_PART_EXPERT_LAYER : TSIM_PART_LAYER;
                n += has_experts;
            }
            assert_layers(&m, kinds);
            ck_assert_int_eq(tsim_model_has_one_kind(&m), (n == 0 || n == 6));
            ck_assert_int_eq(tsim_model_layers_are_alike(&m), (n == 0 || n == 6));
        }
}

/* Dense layers, an encoder of 2 before its decoder, blocks of a list: each has shapes of its own. */
TSIM_TEST(other_kinds) {
    const enum tsim_part D = TSIM_PART_LAYER, E = TSIM_PART_ENCODER_LAYER, C = TSIM_PART_DECODER_LAYER,
                         B = TSIM_PART_BLOCK;
    struct tsim_model m = {.layers = 4};
    assert_layers(&m, (const enum tsim_part[]){D, D, D, D});
    ck_assert(tsim_model_layers_are_alike(&m));
    m.encoder_layers = 2;
    assert_layers(&m, (const enum tsim_part[]){E, E, C, C});
    ck_assert(!tsim_model_has_one_kind(&m));
    ck_assert_double_eq(tsim_model_parts(&m).times[TSIM_PART_HEAD], 1);
    const struct tsim_list_layer product = {.kind = TSIM_LIST_PRODUCT};
    m = (struct tsim_model){.layers = 4, .list = &product, .n_list = 1};
    assert_layers(&m, (const enum tsim_part[]){B, B, B, B});
    ck_assert(tsim_model_has_one_kind(&m) && !tsim_model_layers_are_alike(&m));
    ck_assert_int_eq(tsim_part_variants(&m, B), 4);
    ck_assert_double_eq(tsim_model_parts(&m).times[TSIM_PART_EMBEDDING], 0);
}

/* Attention 4 h^2 = 256 and norms 2 h = 16 in each of 6 layers; first 1, every 2: layers 2 and 4 have experts, 4 layers
 * a block of 3 h 16 = 384; router 4 h = 32, shared 3 h 12 = 288, experts 4 x 288, of which a token uses 2; table and
 * head 80 each, final norm 8. */
TSIM_TEST(parameters) {
    struct tsim_model m = small_mixture(1, 2);
    double rest = 6 * (256 + 16) + 4 * 384 + 2 * (32 + 288) + 2 * 80 + 8;
    ck_assert_double_eq(tsim_model_parameters(&m), rest + 2 * 4 * 288);
    ck_assert_double_eq(tsim_model_active_parameters(&m), rest + 2 * 2 * 288);
    m.experts.router_bias = true;
    ck_assert_double_eq(tsim_model_parameters(&m), rest + 2 * 4 * 288 + 2 * 4);
}

/* Modules for two further tokens, each of the last layers, with a product of 2 h x h and three norms of h; they go
 * through the table and the head of 80 parameters, which they share. */
TSIM_TEST(further_tokens) {
    struct tsim_model m = small_mixture(1, 2), before = m;
    m.mtp_layers = m.mtp_modules = 2;
    before.layers -= 2;
    const double modules = 2 * (2 * 8 * 8 + 3 * 8), plain = tsim_model_parameters(&before);
    ck_assert_double_eq(tsim_model_mtp_parameters(&m), tsim_model_parameters(&m) - plain);
    before.layers += 2;
    ck_assert_double_eq(tsim_model_parameters(&m), tsim_model_parameters(&before) + modules);
    ck_assert_double_eq(tsim_model_flops_per_token(&m, 100, 100),
                        tsim_model_flops_per_token(&before, 100, 100) + 6 * (modules + 2 * 80));
    ck_assert_double_eq(tsim_model_mtp_parameters(&before), 0);
}

/* Two windows and one layer without, again and again, over 6 layers of which the last of every two have experts; an
 * entry that says what follows has its way. A window of 30 tokens is met by each of 4 layers, 100 tokens by the
 * others. */
TSIM_TEST(patterns) {
    const struct tsim_layer_entry thirds[] = {{.kind = TSIM_MIXING_WINDOW, .count = 2},
                                              {.kind = TSIM_MIXING_ATTENTION, .count = 1}};
    const enum tsim_part W = TSIM_PART_WINDOW_LAYER, X = TSIM_PART_WINDOW_EXPERT_LAYER, A = TSIM_PART_LAYER,
                         E = TSIM_PART_EXPERT_LAYER;
    struct tsim_model m = small_mixture(0, 2);
    m.pattern = thirds;
    m.n_pattern = 2;
    m.pattern_length = 3;
    m.attention_window = 30;
    assert_layers(&m, (const enum tsim_part[]){W, X, A, X, W, E});
    ck_assert(!tsim_model_has_one_kind(&m));
    ck_assert(tsim_layer_has_experts(X) && !tsim_layer_has_experts(W));
    const double keys = 4 * 30 + 2 * 100;
    ck_assert_double_eq(tsim_model_flops_per_token(&m, 100, 100),
                        6 * tsim_model_active_parameters(&m) + 12.0 * 2 * 4 * keys);
    ck_assert_double_eq(tsim_model_flops_per_token(&m, 20, 20),
                        6 * tsim_model_active_parameters(&m) + 12.0 * 2 * 4 * 6 * 20);
    const struct tsim_layer_entry said[] = {
        {.kind = TSIM_MIXING_WINDOW, .feed_forward = TSIM_FOLLOWING_EXPERTS, .count = 1},
        {.kind = TSIM_MIXING_ATTENTION, .feed_forward = TSIM_FOLLOWING_DENSE, .count = 1}};
    m.pattern = said;
    m.pattern_length = 2;
    assert_layers(&m, (const enum tsim_part[]){X, A, X, A, X, A});
    m.n_pattern = 0; /* all have a window */
    assert_layers(&m, (const enum tsim_part[]){W, X, W, X, W, X});
}

/* Nemotron-H: each layer is one block. A Mamba layer of 4 heads of 6, 2 groups and states of 5 with a convolution of 4:
 * in 8 x (24 + 24 + 2 x 2 x 5 + 4), convolution 44 x (4 + 1), 3 a head, a norm of 24, out 24 x 8, and a norm before of
 * 8. Attention alone has 256 and its norm; the feed-forward block 3 x 8 x 16 and its own. A token of a chunk of 10
 * takes 2 x 10 (2 x 5 + 24) + 4 x 5 x 24 in the recurrence. */
TSIM_TEST(blocks_alone) {
    const struct tsim_layer_entry blocks[] = {
        {.kind = TSIM_MIXING_MAMBA, .feed_forward = TSIM_FOLLOWING_NONE, .count = 1},
        {.kind = TSIM_MIXING_NONE, .feed_forward = TSIM_FOLLOWING_DENSE, .count = 1},
        {.kind = TSIM_MIXING_ATTENTION, .feed_forward = TSIM_FOLLOWING_NONE, .count = 1},
        {.kind = TSIM_MIXING_MAMBA, .feed_forward = TSIM_FOLLOWING_DENSE, .count = 1},
        {.kind = TSIM_MIXING_MAMBA, .feed_forward = TSIM_FOLLOWING_EXPERTS, .count = 1},
        {.kind = TSIM_MIXING_NONE, .feed_forward = TSIM_FOLLOWING_EXPERTS, .count = 1}};
    struct tsim_model m = small_mixture(0, 1);
    m.mamba = (struct tsim_mamba){.heads = 4, .head_dim = 6, .state = 5, .groups = 2, .kernel = 4, .chunk = 10};
    m.pattern = blocks;
    m.n_pattern = 6;
    m.pattern_length = 6;
    assert_layers(&m, (const enum tsim_part[]){TSIM_PART_MAMBA, TSIM_PART_FEED_FORWARD, TSIM_PART_ATTENTION,
                                               TSIM_PART_MAMBA_LAYER, TSIM_PART_MAMBA_EXPERT_LAYER, TSIM_PART_EXPERTS});
    const double mamba = 8 * 72 + 44 * 5 + 12 + 24 + 24 * 8, ffn = 384, experts = 4 * 288 + 288 + 32;
    static const enum tsim_part PARTS[] = {TSIM_PART_MAMBA, TSIM_PART_FEED_FORWARD, TSIM_PART_ATTENTION};
    const double expected[] = {mamba + 8, ffn + 8, 256 + 8};
    for (size_t i = 0; i < 3; i++) {
        struct tsim_layer_parameters p = tsim_layer_count(&m, PARTS[i]);
        ck_assert_double_eq(p.attention + p.ffn + p.norms, expected[i]);
    }
    ck_assert_double_eq(tsim_model_parameters(&m),
                        3 * mamba + 2 * ffn + 256 + 2 * experts + (1 + 1 + 1 + 2 + 2 + 1) * 8 + 2 * 80 + 8);
    const double recurrence = 2 * 10 * (2 * 5 + 24) + 4 * 5 * 24;
    ck_assert_double_eq(tsim_model_flops_per_token(&m, 100, 100),
                        6 * tsim_model_active_parameters(&m) + 3 * (3 * recurrence + 4.0 * 2 * 4 * 100));
}

/* Qwen3-Next's layers: 3 of the gated delta rule, 1 of gated attention. With 2 heads of keys of 3, 4 of values of 5 and
 * a convolution of 4 the first has 8 x (2 x 6 + 2 x 20 + 2 x 4), convolution 32 x 4, 2 a head, a norm of 5, out 20 x 8;
 * the other 8 x 8 more than without its gate. */
TSIM_TEST(delta_layers) {
    const struct tsim_layer_entry layers[] = {{.kind = TSIM_MIXING_DELTA, .count = 3},
                                              {.kind = TSIM_MIXING_ATTENTION, .count = 1}};
    struct tsim_model m = small_mixture(0, 1);
    double attention = tsim_layer_count(&m, TSIM_PART_EXPERT_LAYER).attention;
    m.delta =
        (struct tsim_delta){.value_heads = 4, .key_heads = 2, .key_dim = 3, .value_dim = 5, .kernel = 4, .chunk = 10};
    m.output_gate = true;
    m.pattern = layers;
    m.n_pattern = 2;
    m.pattern_length = 4;
    for (int64_t i = 0; i < 4; i++)
        ck_assert_int_eq(tsim_model_layer(&m, i), i < 3 ? TSIM_PART_DELTA_EXPERT_LAYER : TSIM_PART_EXPERT_LAYER);
    ck_assert_double_eq(tsim_layer_count(&m, TSIM_PART_DELTA_EXPERT_LAYER).attention,
                        8 * (2 * 6 + 2 * 20 + 2 * 4) + 32 * 4 + 2 * 4 + 5 + 20 * 8);
    ck_assert_double_eq(tsim_layer_count(&m, TSIM_PART_EXPERT_LAYER).attention, attention + 8 * 8);
}

/* A sink is a score for each of 2 heads; norms behind the blocks have 8 weights each, two a layer. */
TSIM_TEST(sinks_and_norms_behind) {
    struct tsim_model m = small_mixture(0, 1);
    const double without = tsim_model_parameters(&m);
    m.sinks = true;
    ck_assert_double_eq(tsim_model_parameters(&m), without + 6 * 2);
    m.post_norms = true;
    ck_assert_double_eq(tsim_model_parameters(&m), without + 6 * (2 + 2 * 8));
}

/* It counts 6 N of the active ones, and 12 L H Q T: 12 x 6 x 2 x 4 x T. */
TSIM_TEST(flops) {
    struct tsim_model m = small_mixture(0, 1);
    struct tsim_layer_flops layers = tsim_model_forward_flops_per_token(&m, 100, 100);
    ck_assert_double_eq(tsim_model_flops_per_token(&m, 100, 100),
                        6 * tsim_model_active_parameters(&m) + 12.0 * 6 * 2 * 4 * 100);
    ck_assert_double_eq(layers.products + layers.core, 2.0 * 6 * (256 + 32 + 288 + 2 * 288) + 4.0 * 6 * 2 * 4 * 100);
}

/* Queries by way of 6, keys and values of 5, positions in 2 more: down 8 x 6 and 8 x (5 + 2), norms of 6 and 5, up
 * 6 x 2 (4 + 2) and 5 x 2 x 8, result 8 x 8. Without a vector for queries 8 x 2 (4 + 2) in place of the first and the
 * fourth. A score costs 2 (4 + 2), a value 2 x 4, for each head and position. */
TSIM_TEST(latent_attention) {
    struct tsim_model m = {.layers = 1,
                           .hidden = 8,
                           .heads = 2,
                           .kv_heads = 2,
                           .head_dim = 4,
                           .latent = {.kv_rank = 5, .query_rank = 6, .rope_dim = 2}};
    struct tsim_layer_parameters p;
    p = tsim_layer_count(&m, TSIM_PART_LAYER);
    ck_assert_double_eq(p.latent, 48 + 56 + 6 + 5);
    ck_assert_double_eq(p.attention, 72 + 80 + 64);
    ck_assert_double_eq(tsim_model_forward_flops_per_token(&m, 10, 10).core, 2 * 10 * (2 * 6 + 2 * 4));
    m.latent.query_rank = 0;
    p = tsim_layer_count(&m, TSIM_PART_LAYER);
    ck_assert_double_eq(p.latent, 56 + 5);
    ck_assert_double_eq(p.attention, 96 + 80 + 64);
}

/* One layer in each stack, without gates: attention 256, norms 16 and a block of 2 x 8 x 16 in both; the second attends
 * to the first, 256 and a norm of 8; table and head 80 each, a final norm of 8 for each stack. */
TSIM_TEST(a_layer_in_each_stack) {
    struct tsim_model m = {.layers = 2,
                           .encoder_layers = 1,
                           .hidden = 8,
                           .heads = 2,
                           .kv_heads = 2,
                           .head_dim = 4,
                           .ffn_hidden = 16,
                           .vocab = 10,
                           .norm = TSIM_NORM_RMSNORM,
                           .position = TSIM_POSITION_ROPE};
    ck_assert_double_eq(tsim_model_parameters(&m), 2 * (256 + 16 + 256) + 256 + 8 + 2 * 80 + 2 * 8);
}

/* Norms of a layer: two of the stream's 8, of blocks side by side one, each with a shift in layer norm; those of
 * queries and keys have a head's 4 each. */
TSIM_TEST(norms) {
    struct tsim_model m = {
        .layers = 1, .hidden = 8, .heads = 2, .kv_heads = 2, .head_dim = 4, .ffn_hidden = 16, .vocab = 10};
    struct tsim_layer_parameters p;
    for (int shift = 0; shift < 2; shift++)
        for (int parallel = 0; parallel < 2; parallel++)
            for (int of_heads = 0; of_heads < 2; of_heads++) {
                m.norm = shift ? TSIM_NORM_LAYERNORM : TSIM_NORM_RMSNORM;
                m.parallel_block = parallel;
                m.qk_norm = of_heads;
                p = tsim_layer_count(&m, TSIM_PART_LAYER);
                ck_assert_double_eq(p.norms, (parallel ? 1 : 2) * (shift ? 16 : 8) + (of_heads ? 2 * 4 : 0));
                ck_assert_double_eq(tsim_model_ends(&m).final_norm, shift ? 16 : 8);
            }
}

/* A mixture of one expert is dense. */
TSIM_TEST(a_single_expert) {
    struct tsim_model m = small_mixture(1, 2);
    m.experts.count = m.experts.active = 1;
    ck_assert_double_eq(tsim_model_active_parameters(&m), tsim_model_parameters(&m));
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
