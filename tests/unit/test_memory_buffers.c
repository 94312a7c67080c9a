/* Buffers, parameters and what is kept beside the layers, counted by hand. The example has 1,024 tokens, hidden 1,024,
 * 8 heads, a feed-forward of 4,096 and a vocabulary of 32,768: with U = 2^20 elements activations are U, the inner
 * tensor 4 U, all heads' scores 8 U, logits 32 U; sizes are in MiB. */
#include "model/model.h"
#include "partition/memory.h"
#include "step/fit_changes.h"
#include "support/check_main.h"
#include "support/example.h"

#include <math.h>

static struct example e;
static const double MIB = 1 << 20, H = 1024;

static void assert_mib(double bytes, double expected) {
    ck_assert_msg(fabs(bytes / MIB - expected) < 1e-9 * (1 + expected), "%.9g MiB, not %.9g", bytes / MIB, expected);
}

static struct tsim_stage_memory stage(int32_t s) {
    struct tsim_stage_memory memory;
    tsim_stage_memory(&e.scenario, s, &memory);
    return memory;
}

/* The more of two. At the loss, a logit: bf16 and its fp32 copy in place (Megatron); fused its gradient beside it, or
 * in its place; written out log-softmax, its gradient and the loss's; of half the logits where the other half is computed later. While a layer is worked on: the widest gradient,
 * the scores' 8 U or the inner tensor's 4 U, and two of the residual stream. Flash attention has its rows' statistics,
 * 4 bytes x 8 x 1,024, in place of scores. */
TSIM_TEST(one_stage) {
    example_init(&e);
    assert_mib(stage(0).buffers_bytes, fmax(16 + 2 * 2, 32 * (2 + 4)));
    e.software.fusion = TSIM_FUSION_TE;
    assert_mib(stage(0).buffers_bytes, 32 * (2 + 4));
    e.software.cross_entropy = TSIM_LOSS_FUSED; /* Transformer Engine's kernel of 2025 */
    assert_mib(stage(0).buffers_bytes, 32 * 2);
    e.software.fusion = TSIM_FUSION_COMPILE;
    assert_mib(stage(0).buffers_bytes, 32 * (2 + 2));
    e.software.fusion = TSIM_FUSION_NONE;
    e.software.cross_entropy = TSIM_LOSS_WRITTEN_OUT;
    assert_mib(stage(0).buffers_bytes, 32 * (2 + 12));
    e.scenario.training.precision = TSIM_FP32;
    assert_mib(stage(0).buffers_bytes, 32 * (4 + 12));
    e.software.head_tokens = 512; /* of 1,024 */
    e.software.recomputes_logits = true;
    assert_mib(stage(0).buffers_bytes, 16 * (4 + 12));
}

/* With fewer tokens to choose from the loss needs less than a layer: 2 U logits. */
TSIM_TEST(small_vocabulary) {
    example_init(&e);
    e.model.vocab = 2048;
    assert_mib(stage(0).buffers_bytes, fmax(16 + 2 * 2, 2 * 6));
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    assert_mib(stage(0).buffers_bytes, fmax(8 + 2 * 2, 2 * 6));
    e.model.gated_mlp = true; /* gradients of both halves at once */
    assert_mib(stage(0).buffers_bytes, 16 + 4);
    e.scenario.training.precision = TSIM_FP32;
    assert_mib(stage(0).buffers_bytes, 32 + 8);
}

/* The last of two stages has the logits; both receive activations and gradients, 2 x 2 MiB. */
TSIM_TEST(two_stages) {
    example_init(&e);
    e.scenario.parallelism.pipeline = 2;
    example_finish(&e);
    assert_mib(stage(0).buffers_bytes, 16 + 4 + 4);
    assert_mib(stage(1).buffers_bytes, 32 * 6 + 4);
}

/* Fully sharded: the layer in use and one prefetched whole in bf16, one layer's gradients in fp32; 12 U and two norms'
 * 2 x 2 h weights a layer. No more is gathered than there is; kept whole: all 8 layers, table, head, final norm. */
TSIM_TEST(gathered_weights) {
    const double layer = 12 + 4 / H, all = 8 * layer + 64 + 2 / H;
    example_init(&e);
    e.scenario.parallelism.zero = 3;
    const double others = fmax(16 + 4, 32 * 6);
    assert_mib(stage(0).buffers_bytes, others + 2 * 2 * layer + 4 * layer);
    e.software.gather_unit = TSIM_UNIT_PRODUCT; /* the widest, 4 U, in use and prefetched, and its gradients */
    assert_mib(stage(0).buffers_bytes, others + 2 * 2 * 4 + 4 * 4);
    e.software.gather_unit = TSIM_UNIT_LAYER;
    e.scenario.parallelism.overlap.parameters = false; /* each is waited for: none is prefetched */
    assert_mib(stage(0).buffers_bytes, others + 2 * layer + 4 * layer);
    e.scenario.parallelism.overlap.parameters = true;
    e.scenario.parallelism.prefetch = 0;
    assert_mib(stage(0).buffers_bytes, others + 2 * layer + 4 * layer);
    e.scenario.parallelism.prefetch = 100;
    assert_mib(stage(0).buffers_bytes, others + 2 * all + 4 * layer);
    e.scenario.parallelism.prefetch = 1;
    e.scenario.parallelism.reshard_after_forward = false;
    assert_mib(stage(0).buffers_bytes, others + 2 * all + 4 * layer);
    e.scenario.training.gradient_precision = TSIM_BF16;
    assert_mib(stage(0).buffers_bytes, others + 2 * all + 2 * layer);
    e.software.flat_bucket_elements = 1e6; /* ZeRO-1 and -2 alone have it */
    assert_mib(stage(0).buffers_bytes, others + 2 * all + 2 * layer);
}

/* Eight experts of width 2,048 in each layer: up 16 U and the router's, down 16 U. They are gathered in the same way if
 * no ranks divide them and none are shared. */
TSIM_TEST(gathered_experts) {
    double p[TSIM_N_LAYER_PRODUCTS], sum = 0;
    example_init(&e);
    e.scenario.parallelism.zero = 3;
    e.software.gather_unit = TSIM_UNIT_PRODUCT;
    e.model.experts = (struct tsim_experts){.count = 8, .active = 2, .ffn_hidden = 2048, .every = 1};
    ck_assert(tsim_gathers_products(&e.scenario));
    ck_assert_int_eq(tsim_products_part(&e.model), TSIM_PART_EXPERT_LAYER);
    tsim_layer_product_parameters(&e.scenario, p);
    ck_assert_double_eq_tol(p[TSIM_PRODUCT_DOWN] / MIB, 8 * 2, 1e-9);
    ck_assert_double_eq_tol(p[TSIM_PRODUCT_UP] / MIB, 8 * 2 + 8 / H, 1e-9);
    for (int i = 0; i < TSIM_N_LAYER_PRODUCTS; i++)
        sum += p[i];
    ck_assert_double_eq_tol(sum / MIB, 8 * 4 + 4 + 8 / H + 4 / H, 1e-9);
    e.model.experts.every = 2;
    ck_assert(!tsim_gathers_products(&e.scenario));
    e.model.experts.first = 1; /* the last layer is a dense one, of 4 U up and down */
    tsim_layer_product_parameters(&e.scenario, p);
    ck_assert_double_eq_tol(p[TSIM_PRODUCT_UP] / MIB, 4, 1e-9);
    ck_assert_double_eq_tol(p[TSIM_PRODUCT_DOWN] / MIB, 4, 1e-9);
    e.model.experts.first = 0;
    e.model.experts.every = 1;
    e.model.experts.shared = 1;
    ck_assert(!tsim_gathers_products(&e.scenario));
    e.model.experts.shared = 0;
    e.scenario.parallelism.expert = 2;
    ck_assert(!tsim_gathers_products(&e.scenario));
}

/* Products of 3, 1, 4 and 4 U weights, one layer after another: 4.5 million are more than 4 U and less than 5, so where
 * the product before is small, that before it is begun with, too. Going backward they come the other way round. */
TSIM_TEST(gathered_ahead) {
    static const int32_t PLACES[2][TSIM_N_LAYER_PRODUCTS] = {{3, 3, 4, 3}, {3, 3, 3, 4}};
    example_init(&e);
    e.scenario.parallelism.zero = 3;
    e.software.gather_unit = TSIM_UNIT_PRODUCT;
    for (int i = 0; i < TSIM_N_LAYER_PRODUCTS; i++)
        for (int backward = 0; backward < 2; backward++) {
            enum tsim_layer_product product = (enum tsim_layer_product)i;
            e.scenario.parallelism.overlap.parameters = true;
            e.software.gather_ahead_parameters = 4.5e6;
            ck_assert_int_eq(tsim_layer_product_places(&e.scenario, product, backward), PLACES[backward][i]);
            e.software.gather_ahead_parameters = 1;
            ck_assert_int_eq(tsim_layer_product_places(&e.scenario, product, backward), 2);
            e.software.gather_ahead_parameters = 1e12;
            ck_assert_int_eq(tsim_layer_product_places(&e.scenario, product, backward), TSIM_MOST_PLACES);
            e.software.gather_ahead_parameters = 0;
            ck_assert_int_eq(tsim_layer_product_places(&e.scenario, product, backward),
                             e.scenario.parallelism.prefetch + 1);
            e.scenario.parallelism.overlap.parameters = false;
            ck_assert_int_eq(tsim_layer_product_places(&e.scenario, product, backward), 1);
        }
    e.scenario.parallelism.overlap.parameters = true;
    e.software.gather_ahead_parameters = 4.5e6; /* most at once: up and the three before it, a layer's worth */
    assert_mib(stage(0).buffers_bytes, fmax(16 + 4, 32 * 6) + 2 * (12 + 4 / H) + 4 * 4);
}

/* With four samples the gradients of scores are 4 x 16 MiB, where the feed-forward block's are 4 x 8. With them the
 * weights of what attention gives out are held (U, and its gradients) and those that come next: queries, keys and
 * values; with 4.5 million ahead the layer's before it, down, as well. */
TSIM_TEST(gathered_at_attention) {
    example_init(&e);
    e.model.vocab = 1024;
    e.scenario.training.micro_batch_size = 4;
    e.scenario.parallelism.zero = 3;
    const double layer = 12 + 4 / H;
    assert_mib(stage(0).buffers_bytes, 4 * (16 + 4) + 2 * 2 * layer + 4 * layer);
    e.software.gather_unit = TSIM_UNIT_PRODUCT;
    assert_mib(stage(0).buffers_bytes, 4 * (16 + 4) + 2 * (1 + 3 + 4 / H) + 4);
    e.software.gather_ahead_parameters = 4.5e6;
    assert_mib(stage(0).buffers_bytes, 4 * (16 + 4) + 2 * (1 + 3 + 4 / H + 4) + 4);
    e.scenario.training.micro_batch_size = 1; /* the feed-forward block's are more with its weights */
    assert_mib(stage(0).buffers_bytes, 8 + 4 + 2 * layer + 4 * 4);
}

/* Each of cp ranks has 1,024 / cp tokens: own keys and values 4 / cp MiB, own queries 2 / cp. A ring holds two pieces,
 * gathering all, all-to-all its own of all three. Scores are of own rows by all columns. */
TSIM_TEST(context_ranks) {
    static const enum tsim_context_exchange KINDS[] = {TSIM_CONTEXT_RING, TSIM_CONTEXT_ALL_GATHER,
                                                       TSIM_CONTEXT_ALL_TO_ALL};
    for (int64_t cp = 2; cp <= 4; cp += 2) {
        const double n = (double)cp, exchanged[] = {2 * 4 / n, n * 4 / n, 4 / n + 2 / n};
        for (int i = 0; i < 3; i++) {
            example_init(&e);
            e.scenario.parallelism.context = cp;
            e.scenario.parallelism.context_exchange = KINDS[i];
            example_finish(&e);
            assert_mib(stage(0).buffers_bytes, fmax(16 + 4, 32 * 6) / n + exchanged[i]);
        }
    }
}

/* Full recomputation brings one layer back whole: the norms' and products' inputs 4 U, queries to result 4 U, the inner
 * tensors 8 U, probabilities 8 U, of 2 bytes. Selective of the norms: their results again. */
TSIM_TEST(recomputation) {
    example_init(&e);
    e.model.vocab = 1024;
    const double others = 16 + 4;
    e.scenario.training.recompute = TSIM_RECOMPUTE_FULL;
    assert_mib(stage(0).buffers_bytes, others + 2 * (4 + 4 + 8 + 8));
    e.scenario.training.recompute = TSIM_RECOMPUTE_SELECTIVE;
    e.scenario.training.recompute_parts = TSIM_RECOMPUTE_NORMS;
    assert_mib(stage(0).buffers_bytes, others + 2 * 2);
    e.scenario.training.recompute_parts = TSIM_RECOMPUTE_ATTENTION; /* probabilities again, and their gradients */
    assert_mib(stage(0).buffers_bytes, others + 16);
}

/* ZeRO-2's unreduced gradients are those of two layers, but of no more than there are: with one layer and its tables no
 * more than ZeRO-1 holds, beside the shard. */
TSIM_TEST(unreduced_gradients) {
    double total[3];
    for (int64_t layers = 1; layers <= 4; layers += 3) {
        for (int zero = 1; zero < 3; zero++) {
            example_init(&e);
            e.model.vocab = 1024;
            e.model.layers = layers;
            e.scenario.parallelism.zero = zero;
            e.scenario.parallelism.overlap.gradients = true;
            example_finish(&e);
            total[zero] = stage(0).total_bytes;
        }
        double n = tsim_stage_parameters(&e.scenario, 0),
               two = 2 * tsim_layer_rank_parameters(&e.scenario, TSIM_PART_LAYER);
        ck_assert_double_eq_tol(total[2] - total[1], 4 * (n / 8 + fmin(two, n) - n), 1);
    }
}

/* A single layer has nothing to save: what is recomputed is there again when its gradients are. */
TSIM_TEST(one_layer_recomputed) {
    static const unsigned PARTS[] = {TSIM_RECOMPUTE_ATTENTION, TSIM_RECOMPUTE_OPERATORS};
    for (int kernel = 0; kernel < 2; kernel++) {
        example_init(&e);
        e.model.vocab = 1024;
        e.model.layers = 1;
        e.scenario.training.attention = kernel ? TSIM_ATTENTION_STANDARD : TSIM_ATTENTION_FLASH;
        example_finish(&e);
        double whole = stage(0).total_bytes, input = 2 * MIB;
        e.scenario.training.recompute = TSIM_RECOMPUTE_FULL;
        assert_mib(stage(0).total_bytes - whole, input / MIB);
        e.scenario.training.recompute = TSIM_RECOMPUTE_SELECTIVE;
        for (int i = 0; i < 2; i++) {
            e.scenario.training.recompute_parts = PARTS[i];
            ck_assert_double_eq_tol(stage(0).total_bytes, whole, input);
        }
    }
}

/* An encoder of 1,024 tokens and a decoder of 256, or the other way around: the longer stack has the widest gradient
 * and residual stream, both are received; the head is the decoder's. */
TSIM_TEST(two_stacks) {
    for (int64_t layers = 1; layers <= 4; layers += 3)
        for (int is_long = 0; is_long < 2; is_long++) {
            example_init(&e);
            e.model.encoder_layers = layers;
            e.scenario.training.attention = TSIM_ATTENTION_FLASH;
            e.scenario.training.sequence_length = is_long ? 1024 : 256;
            e.scenario.training.decoder_sequence_length = is_long ? 256 : 1024;
            assert_mib(stage(0).buffers_bytes, fmax(8 + 4, 32 * 6 / (is_long ? 4.0 : 1)));
            e.scenario.parallelism.pipeline = 2;
            example_finish(&e);
            assert_mib(stage(0).buffers_bytes, 8 + 4 + 4 + 1);
            e.scenario.training.attention = TSIM_ATTENTION_STANDARD;
            e.scenario.training.recompute = TSIM_RECOMPUTE_SELECTIVE;
            e.scenario.training.recompute_parts = TSIM_RECOMPUTE_ATTENTION;
            assert_mib(stage(0).buffers_bytes, 2 * 16 + 4 + 4 + 1);
        }
}

/* A model holds more than the layers of both stacks: dropout's masks of both embeddings, the encoder's result for the
 * decoder's layers, the two final norms' inputs and the head's. */
TSIM_TEST(kept_beside_layers) {
    for (int64_t encoder = 1; encoder <= 4; encoder += 3) {
        example_init(&e);
        e.model.encoder_layers = encoder;
        e.software.dropout = 0.1;
        e.scenario.training.decoder_sequence_length = 256;
        const double layers = (double)encoder * tsim_layer_activation_bytes(&e.scenario, TSIM_PART_ENCODER_LAYER) +
                              (double)(8 - encoder) * tsim_layer_activation_bytes(&e.scenario, TSIM_PART_DECODER_LAYER);
        assert_mib(stage(0).activations_bytes - layers, (1 + 0.25) + 2 + 2 + 2 * 0.5);
    }
    example_init(&e);
    e.model.head_frac = 0.125;
    assert_mib(stage(0).activations_bytes - 8 * tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), 2 + 2 / 8.0);
}

/* A stage that sends on keeps what it sent, with each micro-batch in flight (two on the first of two stages). */
TSIM_TEST(outputs_of_two_stacks) {
    example_init(&e);
    e.model.encoder_layers = 4;
    e.scenario.training.decoder_sequence_length = 256;
    e.scenario.parallelism.pipeline = 2;
    example_finish(&e);
    const double without = stage(0).activations_bytes;
    e.software.keeps_outputs = true;
    assert_mib(stage(0).activations_bytes - without, 2 * (2 + 0.5));
}

/* Each stack learns a bias of 32 distances for every head, divided over the tensor ranks. */
TSIM_TEST(relative_positions) {
    for (int64_t encoder = 0; encoder <= 1; encoder++)
        for (int64_t tensor = 1; tensor <= 2; tensor++) {
            example_init(&e);
            e.model.encoder_layers = encoder;
            e.scenario.training.decoder_sequence_length = 256;
            e.scenario.parallelism.tensor = tensor;
            example_finish(&e);
            const double without = tsim_stage_parameters(&e.scenario, 0);
            e.model.relative_buckets = 32;
            const double whole = (double)(1 + encoder) * 32 * 8, of_model = tsim_model_parameters(&e.model);
            ck_assert_double_eq(tsim_stage_parameters(&e.scenario, 0) - without, whole / (double)tensor);
            e.model.relative_buckets = 0;
            ck_assert_double_eq(of_model - tsim_model_parameters(&e.model), whole);
        }
}

/* The first stage holds the batch that it works on, and one more if batches are fetched ahead. */
TSIM_TEST(batches) {
    example_init(&e);
    e.scenario.training.micro_batch_size = 3;
    e.scenario.parallelism.pipeline = 2;
    example_finish(&e);
    const double first = stage(0).buffers_bytes, last = stage(1).buffers_bytes;
    e.scenario.data.has = true;
    e.scenario.data.transfer_bytes = 1000;
    for (int64_t prefetch = 0; prefetch <= 2; prefetch++) {
        e.scenario.data.prefetch = prefetch;
        ck_assert_double_eq(stage(0).buffers_bytes - first, (prefetch > 0 ? 2 : 1) * 3 * 1000);
        ck_assert_double_eq(stage(1).buffers_bytes, last);
    }
}

/* Flat tensors are not held if layers are updated one by one or on the host; gradients of the largest unit alone
 * are: a layer's 12 U, or table and head by turns, 32 U each with half of the final norm; one of a tied pair, whole. */
TSIM_TEST(updated_by_layer) {
    example_init(&e);
    const double plain = stage(0).buffers_bytes;
    e.software.flat_bucket_elements = 1e6;
    ck_assert_double_gt(stage(0).buffers_bytes, plain);
    e.scenario.training.offload.optimizer = true;
    ck_assert_double_eq(stage(0).buffers_bytes, plain);
    e.scenario.training.offload.optimizer = false;
    e.scenario.training.updates_by_layer = true;
    ck_assert_double_eq(stage(0).buffers_bytes, plain);
    assert_mib(stage(0).gradients_bytes, 4 * (32 + 1 / H));
    e.model.tied_embeddings = true;
    assert_mib(stage(0).gradients_bytes, 4 * (32 + 2 / H));
    e.model.vocab = 1024;
    assert_mib(stage(0).gradients_bytes, 4 * (12 + 4 / H));
}

/* The last stage keeps for weight gradients the head's input and the logits' gradient, 2 x 33 U. */
TSIM_TEST(the_heads_weight_gradient) {
    static const double ONE = 1;
    struct tsim_stage_memory first, last;
    example_init(&e);
    e.scenario.parallelism.pipeline = 2;
    e.scenario.parallelism.schedule = TSIM_SCHEDULE_ZB_H1;
    e.scenario.training.global_batch_size = 4;
    e.scenario.cluster.accelerators_per_node = 2;
    example_finish(&e);
    ck_assert_int_eq(e.scenario.n_microbatches, 4);
    first = stage(0);
    last = stage(1);
    /* F, I put off, F, I, W, ...: the second micro-batch is whole while the first waits. */
    const double layers = 4 * tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER),
                 waits = 4 * tsim_layer_weight_gradient_bytes(&e.scenario, TSIM_PART_LAYER), head = 2 * 2 * MIB;
    assert_mib(first.activations_bytes, 2 * layers / MIB);
    assert_mib(last.activations_bytes, (layers + head + waits + 2 * 33 * MIB * ONE) / MIB);
}

/* Blocks side by side have one norm's and one block's input, U each; queries, keys, values and the result 4 U, the
 * inner tensor and its activation 8 U, probabilities 8 U. */
TSIM_TEST(side_by_side) {
    example_init(&e);
    e.model.parallel_block = true;
    assert_mib(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), 2 * (1 + 1 + 4 + 8 + 8));
    e.software.dropout = 0.1; /* masks of the one residual, and of probabilities, which are kept dropped as well */
    assert_mib(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), 2 * (1 + 1 + 4 + 8 + 16) + 1 + 8);
}

/* Weight gradients of experts wait with, in bf16: attention's inputs 2 U and output gradients 4 U, the block's
 * input U; of two rows of h a token (and the gradients) 4 U, inner tensors of 2,048 and their gradients: 8 U, gated 12.
 */
TSIM_TEST(experts_weight_gradients) {
    example_init(&e);
    e.model.experts = (struct tsim_experts){.count = 8, .active = 2, .ffn_hidden = 2048, .every = 1};
    assert_mib(tsim_layer_weight_gradient_bytes(&e.scenario, TSIM_PART_EXPERT_LAYER), 2 * (2 + 4 + 1 + 4 + 8));
    e.model.gated_mlp = true;
    assert_mib(tsim_layer_weight_gradient_bytes(&e.scenario, TSIM_PART_EXPERT_LAYER), 2 * (2 + 4 + 1 + 4 + 12));
    e.model.experts = (struct tsim_experts){.count = 1, .active = 1, .ffn_hidden = 2048, .every = 2};
    ck_assert_double_eq(tsim_stage_expert_parameters(&e.scenario, 0), 4 * 3 * 1024 * 2048);
    /* A single expert is one, too: half the rows. */
    ck_assert_double_eq(tsim_chunk_parts(&e.scenario, 0, 0).times[TSIM_PART_EXPERT_LAYER], 4);
    assert_mib(tsim_layer_weight_gradient_bytes(&e.scenario, TSIM_PART_EXPERT_LAYER), 2 * (2 + 4 + 1 + 2 + 6));
}

/* Latent vectors of 128 and 256, 3/8 U: the projections up wait with them, those down with their gradients. The inputs
 * of the projections down and of the result are U each, gradients of queries, keys, values and the result 4 U; the
 * block has U and 9 U. */
TSIM_TEST(latent_weight_gradients) {
    example_init(&e);
    e.model.latent = (struct tsim_latent){.kv_rank = 128, .query_rank = 256};
    assert_mib(tsim_layer_weight_gradient_bytes(&e.scenario, TSIM_PART_LAYER), 2 * (1 + 2 * 3 / 8.0 + 1 + 4 + 1 + 9));
    e.model.kv_heads = 1; /* each head has keys and values of its own all the same, from one value as well */
    e.model.latent = (struct tsim_latent){.kv_rank = 1, .query_rank = 1};
    assert_mib(tsim_layer_weight_gradient_bytes(&e.scenario, TSIM_PART_LAYER), 2 * (1 + 2 * 2 / H + 1 + 4 + 1 + 9));
}

/* The host holds the optimizer's states 8, the copy 4 and gradients 4 of what a rank updates: all of it, or from ZeRO-1
 * on a part of eight. */
TSIM_TEST(updated_on_the_host) {
    example_init(&e);
    e.scenario.training.offload.optimizer = true;
    for (int zero = 0; zero <= 3; zero++) {
        e.scenario.parallelism.zero = zero;
        ck_assert_double_eq(stage(0).host_bytes, 16 * tsim_stage_parameters(&e.scenario, 0) / (zero ? 8 : 1));
    }
}

/* U of 2 or 4 bytes goes to the next stage; no weight of 4 bytes has a copy in fp32. */
TSIM_TEST(precisions) {
    for (int p = 0; p < TSIM_N_PRECISIONS; p++) {
        const double bytes = p == TSIM_FP32 || p == TSIM_TF32 ? 4 : 2;
        example_init(&e);
        e.scenario.training.precision = (enum tsim_precision)p;
        assert_mib(tsim_message_bytes(&e.scenario, 0, 1), bytes);
        for (int zero = 0; zero < 2; zero++) {
            e.scenario.parallelism.zero = zero;
            ck_assert_double_eq(stage(0).master_bytes,
                                bytes == 4 ? 0 : 4 * tsim_stage_parameters(&e.scenario, 0) / (zero ? 8 : 1));
        }
    }
}

/* Chunks and stages that need not be counted again are those that are like the one before in all that counts. */
TSIM_TEST(alike) {
    example_init(&e);
    e.model.layers = 64;
    e.scenario.parallelism.pipeline = 8;
    example_finish(&e);
    static const int64_t LAYERS[] = {8, 8, 8, 8, 9, 9, 7, 7};
    static const bool ALIKE[] = {false, false, true, true, false, true, false, false}; /* the last has the head */
    for (int32_t s = 0; s < 8; s++)
        e.layers_per_chunk[s] = LAYERS[s];
    for (int32_t s = 0; s < 8; s++)
        ck_assert_int_eq(tsim_stage_is_like_last(&e.scenario, s), ALIKE[s]);
    e.model.encoder_layers = 12; /* stage 1 has both kinds */
    ck_assert(!tsim_stage_is_like_last(&e.scenario, 2));
    ck_assert(tsim_stage_is_like_last(&e.scenario, 3));
    e.model.encoder_layers = 0;
    e.scenario.parallelism.pipeline = 2;
    e.scenario.parallelism.virtual_pipeline = 4;
    e.scenario.parallelism.schedule = TSIM_SCHEDULE_INTERLEAVED;
    static const bool FIRST[] = {false, false, true, false}, SECOND[] = {false, true, true, false};
    for (int32_t c = 0; c < 8; c++)
        e.layers_per_chunk[c] = c == 6 ? 9 : 8;
    for (int32_t c = 0; c < 4; c++) {
        ck_assert_int_eq(tsim_chunk_is_like_last(&e.scenario, 0, c), FIRST[c]);
        ck_assert_int_eq(tsim_chunk_is_like_last(&e.scenario, 1, c), SECOND[c]);
    }
    e.model.experts = (struct tsim_experts){.count = 1, .active = 1, .ffn_hidden = 64, .every = 2};
    ck_assert(!tsim_chunk_is_like_last(&e.scenario, 1, 1));
    e.model.experts.count = 0;
    e.model.encoder_layers = 1;
    ck_assert(!tsim_chunk_is_like_last(&e.scenario, 1, 1));
}

/* Every third layer has experts, and a stage has two layers: two stages with one of each kind have them in another order.
 * The later one needs no more memory if all layers are recomputed, or none; with {layers: 1} another kind is kept. */
TSIM_TEST(alike_in_what_is_recomputed) {
    static const enum tsim_recompute WAYS[] = {TSIM_RECOMPUTE_NONE, TSIM_RECOMPUTE_FULL, TSIM_RECOMPUTE_LAYERS};
    int n_alike[3] = {0};
    for (int i = 0; i < 3; i++) {
        example_init(&e);
        e.model.layers = 16;
        e.model.experts = (struct tsim_experts){.count = 4, .active = 2, .ffn_hidden = 4096, .every = 3};
        e.scenario.parallelism.pipeline = 8;
        e.scenario.training.recompute = WAYS[i];
        e.scenario.training.recompute_layers = 1;
        example_finish(&e);
        for (int32_t s = 2; s < 7; s++) {
            bool is_alike = tsim_stage_is_like_last(&e.scenario, s);
            n_alike[i] += is_alike;
            if (is_alike)
                ck_assert_double_le(tsim_memory_of_stage(&e.scenario, s).peak_bytes,
                                    tsim_memory_of_stage(&e.scenario, s - 1).peak_bytes);
        }
    }
    ck_assert_int_gt(n_alike[0], 0);
    ck_assert_int_eq(n_alike[1], n_alike[0]);
    ck_assert_int_eq(n_alike[2], 0);
}

/* An unfused update takes its bytes for each parameter that it updates, and the gradients joined with ZeRO-1 alone;
 * what activations leave is taken first. */
TSIM_TEST(update_in_place_of_activations) {
    for (int zero = 0; zero < 4; zero++) {
        struct tsim_stage_memory plain, memory;
        example_init(&e);
        e.scenario.parallelism.zero = zero;
        example_finish(&e);
        double updated = tsim_stage_parameters(&e.scenario, 0) / (zero > 0 ? (double)e.scenario.parallelism.data : 1);
        tsim_stage_memory(&e.scenario, 0, &plain);
        double bytes = 2 * plain.activations_bytes / updated,
               joined = zero == 1 || zero == 2 ? tsim_gradient_bytes(&e.scenario) : 0;
        e.software.update_bytes = bytes;
        tsim_stage_memory(&e.scenario, 0, &memory);
        ck_assert_double_eq_tol(memory.total_bytes - plain.total_bytes,
                                updated * (bytes + joined) - plain.activations_bytes, 1);
        e.software.update_bytes = 1e-3 * bytes;
        tsim_stage_memory(&e.scenario, 0, &memory);
        ck_assert_double_eq_tol(memory.total_bytes - plain.total_bytes,
                                fmax(updated * (1e-3 * bytes + joined) - plain.activations_bytes, 0), 1);
    }
}

/* It takes the place of what is on the accelerator alone: of activations that lie in the host's memory, nothing. */
TSIM_TEST(update_beside_offloaded_activations) {
    struct tsim_stage_memory kept, offloaded;
    example_init(&e);
    example_finish(&e);
    double updated = tsim_stage_parameters(&e.scenario, 0) /
                     (e.scenario.parallelism.zero > 0 ? (double)e.scenario.parallelism.data : 1);
    tsim_stage_memory(&e.scenario, 0, &kept);
    e.software.update_bytes = 4 * kept.activations_bytes / updated;
    tsim_stage_memory(&e.scenario, 0, &kept);
    e.scenario.training.offload.activations_frac = 0.5;
    tsim_stage_memory(&e.scenario, 0, &offloaded);
    ck_assert_double_lt(offloaded.activations_bytes, kept.activations_bytes);
    ck_assert_double_eq_tol(offloaded.total_bytes, kept.total_bytes, 1);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
