/* Tests memory against Korthikanti et al. 2022 (arXiv:2205.05198), equations 1 to 6 and table 2, as the closed form. */
#include "model/model.h"
#include "model/routing.h"
#include "partition/memory.h"
#include "support/check_main.h"
#include "support/example.h"

#include <math.h>

static struct example e;

/* Makes the 22B model of their table 3: h 6144, a 64, s 2048, b 4, t 8, fp16, dropout. */
static void init_22b(void) {
    example_init(&e);
    e.model = (struct tsim_model){.layers = 48,
                                  .hidden = 6144,
                                  .heads = 64,
                                  .kv_heads = 64,
                                  .head_dim = 96,
                                  .ffn_hidden = 24576,
                                  .vocab = 51200,
                                  .positions = 2048,
                                  .bias = true,
                                  .tied_embeddings = true,
                                  .position = TSIM_POSITION_LEARNED};
    e.software.dropout = 0.1;
    e.scenario.training.sequence_length = 2048;
    e.scenario.training.micro_batch_size = 4;
    e.scenario.training.global_batch_size = 4;
    e.scenario.training.precision = TSIM_FP16;
    e.scenario.parallelism.tensor = 8;
    example_finish(&e);
}

static const double SBH = 2048.0 * 4 * 6144, A = 64, S = 2048, H = 6144, T = 8;

TSIM_TEST(layer_activations) {
    init_22b();
    double scores = 5 * A * S / (H * T);
    ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), SBH * (10 + 24 / T + scores), 1);
    e.scenario.parallelism.sequence = true;
    ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), SBH * (34 / T + scores), 1);
    e.scenario.training.recompute = TSIM_RECOMPUTE_SELECTIVE;
    ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), SBH * 34 / T, 1);
    e.scenario.parallelism.sequence = false;
    ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), SBH * (10 + 24 / T), 1);
    e.scenario.training.recompute = TSIM_RECOMPUTE_FULL;
    ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), SBH * 2, 1);
}

/* DeepSpeed's flat tensors: gradients of the quarter that the rank updates joined, in fp16 and in fp32, and two buckets
 * of 1e6 in fp16; without sharded states all of them, and the bucket for reductions alone. Gradients in fp32 are not
 * converted. Measured: BLOOM's tuning runs (scenarios/published). */
TSIM_TEST(flat_updates) {
    struct tsim_stage_memory plain, flat;
    init_22b();
    e.scenario.training.gradient_precision = TSIM_FP16;
    e.scenario.cluster.nodes = 4 * 8 / e.scenario.cluster.accelerators_per_node;
    e.scenario.training.global_batch_size = 16;
    example_finish(&e);
    for (int zero = 0; zero < 2; zero++) {
        e.scenario.parallelism.zero = zero;
        e.software.flat_bucket_elements = 0;
        tsim_stage_memory(&e.scenario, 0, &plain);
        e.software.flat_bucket_elements = 1e6;
        tsim_stage_memory(&e.scenario, 0, &flat);
        double updated = tsim_stage_parameters(&e.scenario, 0) / (zero ? 4 : 1);
        ck_assert_double_eq_tol(flat.total_bytes - plain.total_bytes, 6 * updated + (zero ? 2 : 1) * 2e6, 10);
    }
    e.scenario.training.gradient_precision = TSIM_FP32;
    tsim_stage_memory(&e.scenario, 0, &flat);
    e.software.flat_bucket_elements = 0;
    tsim_stage_memory(&e.scenario, 0, &plain);
    ck_assert_double_eq_tol(flat.total_bytes - plain.total_bytes, 4e6, 1);
    double n = tsim_stage_parameters(&e.scenario, 0);
    e.software.converts_sums = true; /* all of them at once, beside the bucket that weights are gathered in */
    e.software.flat_bucket_elements = 1e6;
    tsim_stage_memory(&e.scenario, 0, &flat);
    ck_assert_double_eq_tol(flat.total_bytes - plain.total_bytes, 2 * n + 2e6, 10);
    e.software.converts_sums = false;
    /* Larger than the model: sharded states' bucket is allocated whole, others hold what there is. */
    const double LARGE[] = {2 * n, 2 * (1e12 + n), 0, 0};
    for (int zero = 0; zero <= 3; zero += zero ? 2 : 1) {
        e.scenario.parallelism.zero = zero;
        e.software.flat_bucket_elements = 0;
        tsim_stage_memory(&e.scenario, 0, &plain);
        e.software.flat_bucket_elements = 1e12;
        tsim_stage_memory(&e.scenario, 0, &flat);
        ck_assert_double_eq_tol(flat.total_bytes - plain.total_bytes, LARGE[zero], 10);
    }
}

/* Four stages: the first has four micro-batches in flight, 2 sbh each; the last sends nothing on. */
TSIM_TEST(outputs_in_flight) {
    struct tsim_stage_memory plain, kept;
    init_22b();
    e.scenario.parallelism.pipeline = 4;
    e.scenario.cluster.nodes = 4 * 8 / e.scenario.cluster.accelerators_per_node;
    e.scenario.training.global_batch_size = 32;
    example_finish(&e);
    for (int stage = 0; stage < 4; stage++) {
        e.software.keeps_outputs = false;
        tsim_stage_memory(&e.scenario, stage, &plain);
        e.software.keeps_outputs = true;
        tsim_stage_memory(&e.scenario, stage, &kept);
        ck_assert_double_eq_tol(kept.activations_bytes - plain.activations_bytes, stage < 3 ? (4 - stage) * 2 * SBH : 0,
                                10);
    }
}

/* Sums of 4 bytes leave 2 more bytes a parameter for gradients; sums of 2 bytes are the gradients themselves. */
TSIM_TEST(gradients_beside_their_sums) {
    struct tsim_stage_memory plain, kept;
    init_22b();
    for (int i = 0; i < 2; i++) {
        bool is_wide = i == 0;
        e.scenario.training.gradient_precision = is_wide ? TSIM_FP32 : e.scenario.training.precision;
        e.software.keeps_gradients = false;
        tsim_stage_memory(&e.scenario, 0, &plain);
        e.software.keeps_gradients = true;
        tsim_stage_memory(&e.scenario, 0, &kept);
        ck_assert_double_eq_tol(kept.total_bytes - plain.total_bytes, is_wide ? plain.weights_bytes : 0, 10);
        ck_assert_double_eq_tol(kept.gradients_bytes, plain.gradients_bytes * (is_wide ? 1.5 : 1), 10);
    }
}

/* A checkpoint every k layers: 2 sbh / k a layer, and k layers whole while they are recomputed (Chen et al. 2016,
 * arXiv:1604.06174, section 3; sqrt is k = sqrt(layers), resolved when a scenario is read). */
TSIM_TEST(every_k_layers) {
    struct tsim_stage_memory every, full;
    init_22b();
    e.scenario.training.recompute = TSIM_RECOMPUTE_FULL;
    tsim_stage_memory(&e.scenario, 0, &full);
    double whole = tsim_layer_whole_activation_bytes(&e.scenario, TSIM_PART_LAYER);
    static const enum tsim_recompute KINDS[] = {TSIM_RECOMPUTE_EVERY, TSIM_RECOMPUTE_SQRT};
    for (int i = 0; i < 2; i++) {
        e.scenario.training.recompute = KINDS[i];
        e.scenario.training.recompute_every = 6;
        ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), SBH * 2 / 6, 1);
        tsim_stage_memory(&e.scenario, 0, &every);
        ck_assert_double_eq_tol(full.activations_bytes - every.activations_bytes, 48 * SBH * 2 * 5 / 6, 10);
        ck_assert_double_eq_tol(every.buffers_bytes - full.buffers_bytes, 5 * whole, 10);
    }
}

/* The first 5 layers of each chunk keep their inputs alone, the other 19 of two stages of 24 everything; a stage of 3
 * keeps 3 inputs. The mean over all layers is what one layer keeps in other sums. */
TSIM_TEST(so_many_layers) {
    struct tsim_stage_memory some, none, full;
    static int64_t uneven[] = {45, 3};
    init_22b();
    for (int i = 0; i < 2; i++) {
        e.scenario.parallelism.pipeline = 2;
        e.scenario.cluster.nodes = 2 * 8 / e.scenario.cluster.accelerators_per_node;
        example_finish(&e);
        if (i == 1)
            e.scenario.parallelism.layers_per_chunk = uneven;
        double n[] = {i == 0 ? 24 : 45, i == 0 ? 24 : 3}, again[] = {5, i == 0 ? 5 : 3};
        for (int32_t stage = 0; stage < 2; stage++) {
            e.scenario.training.recompute = TSIM_RECOMPUTE_NONE;
            tsim_stage_memory(&e.scenario, stage, &none);
            e.scenario.training.recompute = TSIM_RECOMPUTE_FULL;
            tsim_stage_memory(&e.scenario, stage, &full);
            e.scenario.training.recompute = TSIM_RECOMPUTE_LAYERS;
            e.scenario.training.recompute_layers = 5;
            tsim_stage_memory(&e.scenario, stage, &some);
            double share = again[stage] / n[stage];
            ck_assert_double_eq_tol(some.activations_bytes /
                                        (share * full.activations_bytes + (1 - share) * none.activations_bytes),
                                    1, 1e-9);
            ck_assert_double_eq_tol(some.buffers_bytes, full.buffers_bytes, 1);
        }
        double mean = (again[0] + again[1]) / 48;
        ck_assert_double_eq_tol(tsim_recomputed_frac(&e.scenario), mean, 1e-12);
        ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), SBH * 2, 1);
    }
}

/* A decoder's layer after an encoder of as many tokens: its attention to the encoder's result keeps another norm's
 * input, block's input and mask, 5 sbh, queries, result, keys and values, 8 sbh / t, and scores. A shorter decoder
 * keeps keys and values of the whole encoder. */
TSIM_TEST(decoder_activations) {
    init_22b();
    e.scenario.training.decoder_sequence_length = 2048;
    double scores = 5 * A * S / (H * T);
    for (e.model.encoder_layers = 1; e.model.encoder_layers <= 24; e.model.encoder_layers += 23) {
        ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_ENCODER_LAYER),
                                SBH * (10 + 24 / T + scores), 1);
        ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_DECODER_LAYER),
                                SBH * (15 + 32 / T + 2 * scores), 1);
    }
    e.model.encoder_layers = 24;
    e.scenario.training.decoder_sequence_length = 1024;
    ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_DECODER_LAYER),
                            SBH * (7.5 + (14 + 4) / T + 0.25 * scores + 0.5 * scores), 1);
    e.scenario.training.recompute = TSIM_RECOMPUTE_FULL;
    ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_DECODER_LAYER), SBH, 1);
}

/* Flash attention keeps 4 bytes per row and head instead of the scores: 4 b a s / t. */
TSIM_TEST(flash_activations) {
    init_22b();
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER),
                            SBH * (10 + 24 / T) + 4 * 4 * A * S / T, 1);
}

/* One pipeline stage: L layers of one micro-batch; first stage of p: all L again, L/p layers x p in flight (their
 * equation 5, and the interleaving factor 1 + (p-1)/(pm) of section 4.2.3). */
TSIM_TEST(in_flight) {
    init_22b();
    struct tsim_stage_memory m;
    e.scenario.parallelism.pipeline = 4;
    e.scenario.cluster.nodes = 4;
    e.scenario.training.global_batch_size = 64;
    example_finish(&e);
    e.software.dropout = 0; /* no embedding mask: all chunks equal */
    double layer = tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER);
    tsim_stage_memory(&e.scenario, 0, &m);
    ck_assert_double_eq_tol(m.activations_bytes, 48 * layer, 1);
    tsim_stage_memory(&e.scenario, 2, &m);
    ck_assert_double_eq_tol(m.activations_bytes, 24 * layer, 1);
    e.scenario.parallelism.virtual_pipeline = 3;
    e.scenario.parallelism.schedule = TSIM_SCHEDULE_INTERLEAVED;
    example_finish(&e);
    tsim_stage_memory(&e.scenario, 0, &m);
    ck_assert_double_eq_tol(m.activations_bytes, 48 * layer * (1 + 3.0 / 12), 1);
}

/* Between input and weight gradient stay 32 sbh of Qi et al. 2023, table 1 (arXiv:2401.10241), without tensor
 * parallelism; over 8 tensor ranks the two output gradients of h are whole, 4 sbh, and with sequence parallelism the
 * two inputs of h (4 sbh) are shards. */
TSIM_TEST(weight_gradient_activations) {
    init_22b();
    ck_assert_double_eq_tol(tsim_layer_weight_gradient_bytes(&e.scenario, TSIM_PART_LAYER), SBH * (8 + 24 / T), 1);
    e.scenario.parallelism.sequence = true;
    ck_assert_double_eq_tol(tsim_layer_weight_gradient_bytes(&e.scenario, TSIM_PART_LAYER), SBH * (4 + 28 / T), 1);
    e.scenario.parallelism.sequence = false;
    e.scenario.parallelism.tensor = 1;
    ck_assert_double_eq_tol(tsim_layer_weight_gradient_bytes(&e.scenario, TSIM_PART_LAYER), SBH * 32, 1);
}

/* Peak activations of zero-bubble schedules in layers of one micro-batch, 48 layers on 4 stages, no tensor parallelism,
 * so that a layer keeps less for its weight gradient (32 sbh) than it held (34 sbh and scores): zb-h1 on every stage
 * 4 x 12, zb-h2 7 x 12; zb-v 8 chunks of 6. dualpipe: 5 x 12 and every part's state twice. The first stage is taken:
 * the last one's head keeps its logits' gradient as well. */
TSIM_TEST(zero_bubble_memory) {
    static const struct {
        enum tsim_schedule schedule;
        int32_t layers;
    } CASES[] = {{TSIM_SCHEDULE_ZB_H1, 48}, {TSIM_SCHEDULE_ZB_H2, 84}};
    init_22b();
    struct tsim_stage_memory m, dual;
    e.scenario.parallelism.tensor = 1;
    e.scenario.parallelism.pipeline = 4;
    e.scenario.training.global_batch_size = 64;
    e.scenario.cluster.accelerators_per_node = 4;
    e.software.dropout = 0;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        e.scenario.parallelism.schedule = CASES[i].schedule;
        example_finish(&e);
        for (int32_t s = 0; s < 3; s++) {
            tsim_stage_memory(&e.scenario, s, &m);
            ck_assert_double_le(m.activations_bytes,
                                CASES[i].layers * tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER) + 1);
        }
        tsim_stage_memory(&e.scenario, 0, &m);
        ck_assert_double_eq_tol(m.activations_bytes,
                                CASES[i].layers * tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), 1);
    }
    e.scenario.parallelism.schedule = TSIM_SCHEDULE_ZB_V;
    example_finish(&e);
    tsim_stage_memory(&e.scenario, 1, &m);
    ck_assert_double_eq_tol(m.activations_bytes, 48 * tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), 1);
    e.scenario.parallelism.schedule = TSIM_SCHEDULE_DUALPIPE;
    example_finish(&e);
    tsim_stage_memory(&e.scenario, 1, &dual);
    ck_assert_double_eq_tol(dual.activations_bytes, 60 * tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), 1);
    e.scenario.parallelism.schedule = TSIM_SCHEDULE_1F1B;
    example_finish(&e);
    tsim_stage_memory(&e.scenario, 1, &m);
    ck_assert_double_eq_tol(dual.weights_bytes, 2 * m.weights_bytes, 1);
}

/* Uneven chunks are replayed: with 1 and 15 layers per chunk of stage 0 and warm-up 2*1 + 2 = 4 on 2 stages, in flight
 * at the peak are F0a F1a F0b F1b F2a = 3 x 1 + 2 x 15 layers, then B0b frees 15; later F3a F2b ... after B0b, B1b
 * (-30) F3a (+1), F2b (+15) B0a... never more. */
TSIM_TEST(uneven_chunks) {
    example_init(&e);
    e.scenario.parallelism.pipeline = 2;
    e.scenario.parallelism.virtual_pipeline = 2;
    e.scenario.parallelism.schedule = TSIM_SCHEDULE_INTERLEAVED;
    e.scenario.training.global_batch_size = 16;
    e.model.layers = 32;
    example_finish(&e);
    e.layers_per_chunk[0] = 1;
    e.layers_per_chunk[2] = 15;
    struct tsim_stage_memory m;
    tsim_stage_memory(&e.scenario, 0, &m);
    ck_assert_double_eq_tol(m.activations_bytes, 33 * tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER), 1);
}

/* Model state: 8 layers of 12 h^2 + 4 h (two norms of 2h), table and head 32768 h, final norm 2h, h = 1024;
 * bf16 weights 2, fp32 gradients 4, master 4, Adam 8; ZeRO shards over 8. */
TSIM_TEST(model_state) {
    example_init(&e);
    double h = 1024, n = 8 * (12 * h * h + 4 * h) + 2 * 32768 * h + 2 * h;
    struct tsim_stage_memory m;
    ck_assert_double_eq(tsim_stage_parameters(&e.scenario, 0), n);
    static const double SHARDED_FROM[] = {3, 2, 1, 1}; /* weights, gradients, master, optimizer */
    for (int zero = 0; zero <= 3; zero++) {
        e.scenario.parallelism.zero = zero;
        tsim_stage_memory(&e.scenario, 0, &m);
        const double bytes[] = {m.weights_bytes, m.gradients_bytes, m.master_bytes, m.optimizer_bytes},
                     each[] = {2, 4, 4, 8};
        for (int i = 0; i < 4; i++)
            ck_assert_double_eq_tol(bytes[i], n * each[i] / (zero >= SHARDED_FROM[i] ? 8 : 1), 1e-3);
    }
}

/* Software that makes the 16-bit weights of the fp32 copy as it gathers them keeps none: fully sharded, with a copy. */
TSIM_TEST(weights_made_of_the_copy) {
    example_init(&e);
    double h = 1024, n = 8 * (12 * h * h + 4 * h) + 2 * 32768 * h + 2 * h;
    struct tsim_stage_memory m;
    e.software.casts_weights = true;
    for (int zero = 2; zero <= 3; zero++) {
        e.scenario.parallelism.zero = zero;
        tsim_stage_memory(&e.scenario, 0, &m);
        ck_assert_double_eq_tol(m.weights_bytes, zero < 3 ? n * 2 : 0, 1e-3);
        ck_assert_double_eq_tol(m.master_bytes, n * 4 / 8, 1e-3);
    }
    e.scenario.training.no_master_weights = true;
    tsim_stage_memory(&e.scenario, 0, &m);
    ck_assert_double_eq_tol(m.weights_bytes, n * 2 / 8, 1e-3);
    ck_assert_double_eq(m.master_bytes, 0);
}

/* The example with experts of width 2048 in every second layer: 8, 2 for each token, 1 shared, over 4 of 8 ranks. A
 * rank holds 4 layers of 12 h^2 and 4 of attention's 4 h^2, the router's 8 h, the shared expert's 2 h 2048 and 2
 * experts, each as much; norms 2h x 17, table and head. Experts' states are sharded by 2 ranks, all others by 8. */
TSIM_TEST(expert_state) {
    example_init(&e);
    e.model.experts = (struct tsim_experts){.count = 8, .active = 2, .ffn_hidden = 2048, .shared = 1, .every = 2};
    e.scenario.parallelism.expert = 4;
    double h = 1024, expert = 2 * h * 2048;
    double rest = 4 * 12 * h * h + 4 * (4 * h * h + 8 * h + expert) + 17 * 2 * h + 2 * 32768 * h;
    struct tsim_stage_memory m;
    ck_assert_double_eq(tsim_stage_expert_parameters(&e.scenario, 0), 4 * 2 * expert);
    ck_assert_double_eq(tsim_stage_parameters(&e.scenario, 0), rest + 4 * 2 * expert);
    e.scenario.parallelism.zero = 2;
    tsim_stage_memory(&e.scenario, 0, &m);
    ck_assert_double_eq_tol(m.weights_bytes, 2 * (rest + 8 * expert), 1e-3);
    ck_assert_double_eq_tol(m.gradients_bytes, 4 * (rest / 8 + 8 * expert / 2), 1e-3);
    ck_assert_double_eq_tol(m.optimizer_bytes, 8 * (rest / 8 + 8 * expert / 2), 1e-3);
    /* Experts whole on 2 tensor ranks of 4 replicas: the same 8 ranks hold each of the 4 sets twice. */
    e.scenario.parallelism.tensor = 2;
    e.scenario.parallelism.sequence = true;
    e.scenario.parallelism.expert_tensor = 1;
    example_finish(&e);
    ck_assert_double_eq(tsim_stage_expert_parameters(&e.scenario, 0), 4 * 2 * expert);
    ck_assert_double_eq(tsim_expert_shards(&e.scenario), 2);
    e.scenario.parallelism.tensor = 1;
    example_finish(&e);
    e.scenario.parallelism.zero_group_ranks = 2; /* fewer than the expert ranks: experts are not sharded */
    tsim_stage_memory(&e.scenario, 0, &m);
    ck_assert_double_eq_tol(m.optimizer_bytes, 8 * (rest / 2 + 8 * expert), 1e-3);
}

/* Ranks that share experts hold what they send and what they receive: 2 rows of h in bf16 for each row of an expert. */
TSIM_TEST(expert_buffers) {
    struct tsim_stage_memory alone, shared;
    for (int64_t ranks = 2; ranks <= 4; ranks *= 2) {
        example_init(&e);
        e.model.vocab = 1024; /* a small loss */
        e.model.experts = (struct tsim_experts){.count = 8, .active = 2, .ffn_hidden = 64, .every = 2};
        tsim_stage_memory(&e.scenario, 0, &alone);
        e.scenario.parallelism.expert = ranks;
        tsim_stage_memory(&e.scenario, 0, &shared);
        double rows = tsim_routing_imbalance(&e.model.experts, (double)ranks, 1024) * 1024 * 2;
        ck_assert_double_eq_tol(shared.buffers_bytes - alone.buffers_bytes, 2 * rows * 1024 * 2, 1);
    }
}

/* Weighted after the experts, what they gave is kept: k rows of h for each token, in every fourth of 8 layers. */
TSIM_TEST(expert_results_are_kept) {
    struct tsim_stage_memory fused, written_out;
    example_init(&e);
    e.model.experts = (struct tsim_experts){.count = 8, .active = 2, .ffn_hidden = 64, .every = 4};
    tsim_stage_memory(&e.scenario, 0, &fused);
    e.software.expert_permutation = TSIM_PERMUTATION_WRITTEN_OUT;
    tsim_stage_memory(&e.scenario, 0, &written_out);
    ck_assert_double_eq_tol(written_out.activations_bytes - fused.activations_bytes, 2 * 1024 * 2 * 1024 * 2.0, 1);
}

/* The weight gradients of a shared expert wait, per token in bf16, with this: its input is the block's, its two inner
 * tensors (of 2048 over the tensor ranks) and the gradient of its result, h. */
TSIM_TEST(shared_expert_waits) {
    for (int64_t tensor = 1; tensor <= 2; tensor++) {
        example_init(&e);
        e.model.experts = (struct tsim_experts){.count = 8, .active = 2, .ffn_hidden = 2048, .every = 2};
        e.scenario.parallelism.tensor = tensor;
        example_finish(&e);
        double without = tsim_layer_weight_gradient_bytes(&e.scenario, TSIM_PART_EXPERT_LAYER);
        e.model.experts.shared = 1;
        double with = tsim_layer_weight_gradient_bytes(&e.scenario, TSIM_PART_EXPERT_LAYER);
        ck_assert_double_eq_tol(with - without, 1024 * (2 * 2048 / (double)tensor + 1024) * 2, 1);
    }
}

/* If every layer has experts, the width of a dense block is nobody's. */
TSIM_TEST(no_dense_layers) {
    struct tsim_stage_memory narrow, wide;
    example_init(&e);
    e.model.vocab = 1024;
    e.model.experts = (struct tsim_experts){.count = 8, .active = 2, .ffn_hidden = 64, .every = 1};
    tsim_stage_memory(&e.scenario, 0, &narrow);
    e.model.ffn_hidden *= 16;
    tsim_stage_memory(&e.scenario, 0, &wide);
    ck_assert_double_eq(narrow.buffers_bytes, wide.buffers_bytes);
    ck_assert_double_eq(narrow.activations_bytes, wide.activations_bytes);
    e.model.experts.every = 2;
    tsim_stage_memory(&e.scenario, 0, &narrow);
    ck_assert_double_gt(narrow.buffers_bytes, wide.buffers_bytes);
}

/* A layer with experts keeps, per token in bf16: the norms' and products' inputs 4 h, q k v and the result 4 h, and no
 * inner tensors of a block but 8 scores of 4 bytes, the shared expert's two inner tensors of 2048, and for each of 2
 * rows (times the imbalance) its input h and two inner tensors of 2048. Standard attention's probabilities on top. */
TSIM_TEST(expert_activations) {
    example_init(&e);
    e.model.experts = (struct tsim_experts){.count = 8, .active = 2, .ffn_hidden = 2048, .shared = 1, .every = 2};
    e.scenario.parallelism.expert = 4;
    double t = 1024, h = 1024, scores = t * 8 * 1024 * 2;
    double g = tsim_routing_imbalance(&e.model.experts, 4, t);
    double expected = t * (8 * h * 2 + 8 * 4 + 2 * 2048 * 2 + g * 2 * (h + 2 * 2048) * 2) + scores;
    ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_EXPERT_LAYER), expected, 1);
    ck_assert_double_eq_tol(tsim_layer_activation_bytes(&e.scenario, TSIM_PART_LAYER),
                            t * (8 * h + 2 * 4096) * 2 + scores, 1);
    struct tsim_stage_memory m;
    tsim_stage_memory(&e.scenario, 0, &m);
    ck_assert_double_eq_tol(m.activations_bytes,
                            4 * expected + 4 * (t * (8 * h + 2 * 4096) * 2 + scores) + 2 * t * h * 2, 1);
}

/* A part that is executed again does not keep what it gives; bytes of a token of the example with a shared expert (see
 * above), flash attention: norms' results 2 h, queries to values 3 h, the inner results 2048 of the shared expert and
 * of 2 rows, all of the shared expert 2 x 2048, of the experts 8 scores and 2 rows of h + 2 x 2048; the core's
 * statistic of 8 heads, with the product after it attention's result h, and with that alone the stream after it, h.
 * Latent attention gives what ordinary attention does. In fp8 linear layers keep their inputs in
 * a byte: h, h, the inner results and the rows' h; and a copy of the attention's result. */
TSIM_TEST(recomputed_parts) {
    example_init(&e);
    e.model.experts = (struct tsim_experts){.count = 8, .active = 2, .ffn_hidden = 2048, .shared = 1, .every = 2};
    e.model.latent = (struct tsim_latent){.kv_rank = 128};
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    double t = 1024, h = 1024, whole = tsim_layer_whole_activation_bytes(&e.scenario, TSIM_PART_EXPERT_LAYER);
    const struct {
        unsigned parts;
        double bytes;
    } CASES[] = {{TSIM_RECOMPUTE_ATTENTION, 8 * 4},
                 {TSIM_RECOMPUTE_NORMS, 2 * h * 2},
                 {TSIM_RECOMPUTE_LATENT, 3 * h * 2},
                 {TSIM_RECOMPUTE_ACTIVATION, 3 * 2048 * 2},
                 {TSIM_RECOMPUTE_FFN, 2 * 2048 * 2},
                 {TSIM_RECOMPUTE_EXPERTS, 8 * 4 + 2 * (h + 2 * 2048) * 2},
                 {TSIM_RECOMPUTE_OUTPUT, h * 2},
                 {TSIM_RECOMPUTE_OUTPUT | TSIM_RECOMPUTE_ATTENTION, h * 2 + h * 2 + 8 * 4},
                 {TSIM_RECOMPUTE_ACTIVATION | TSIM_RECOMPUTE_FFN, 2 * 2048 * 2 + 2 * 2048 * 2}};
    e.scenario.training.recompute = TSIM_RECOMPUTE_SELECTIVE;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        e.scenario.training.recompute_parts = CASES[i].parts;
        double kept = tsim_layer_activation_bytes(&e.scenario, TSIM_PART_EXPERT_LAYER);
        ck_assert_msg(fabs(whole - kept - t * CASES[i].bytes) < 1, "case %zu: %g", i, (whole - kept) / t);
    }
    e.scenario.training.precision = TSIM_FP8;
    double fp8 = tsim_layer_whole_activation_bytes(&e.scenario, TSIM_PART_EXPERT_LAYER);
    ck_assert_double_eq_tol(whole - fp8, t * (2 * h + 3 * 2048 + 2 * h - h), 1);
    e.software.fp8_activation_input = true; /* a byte for each of the other inner tensors, too */
    ck_assert_double_eq_tol(fp8 - tsim_layer_whole_activation_bytes(&e.scenario, TSIM_PART_EXPERT_LAYER), t * 3 * 2048,
                            1);
}

TSIM_TEST(tied_table_is_held_twice_across_stages) {
    example_init(&e);
    e.model.tied_embeddings = true;
    double one = tsim_stage_parameters(&e.scenario, 0);
    e.scenario.parallelism.pipeline = 2;
    example_finish(&e);
    double two = tsim_stage_parameters(&e.scenario, 0) + tsim_stage_parameters(&e.scenario, 1);
    ck_assert_double_eq(two - one, 32768.0 * 1024);
}

/* The last stage also holds the table in which further tokens are looked up, the modules' products and norms, their
 * logits, and what they keep: four times the hidden state and the head's input. */
TSIM_TEST(further_tokens_are_held_by_the_last_stage) {
    double held[2][2], kept[2];
    for (int64_t modules = 0; modules <= 1; modules++) {
        example_init(&e);
        e.model.mtp_modules = modules;
        e.scenario.parallelism.pipeline = 2;
        example_finish(&e);
        for (int32_t s = 0; s < 2; s++)
            held[modules][s] = tsim_stage_parameters(&e.scenario, s);
        kept[modules] = tsim_chunk_activation_bytes(&e.scenario, 1, 0);
        ck_assert_int_eq(tsim_shares_table(&e.scenario), modules);
    }
    struct tsim_op_shape z = tsim_op_shape_last(&e.scenario);
    const double norms = tsim_model_ends(&e.model).further_norms;
    ck_assert_double_eq(held[1][0], held[0][0]);
    ck_assert_double_eq(held[1][1] - held[0][1], 32768.0 * 1024 + 2.0 * 1024 * 1024 + norms);
    ck_assert_double_eq(kept[1] - kept[0], 5 * z.ts * z.h * z.element_bytes);
}

/* Bytes a parameter: one fp32 buffer for momentum and RMSprop, two for Adam and its kin, in 8 bits a byte each with an
 * fp32 maximum for every 2,048; weights of fp32 and tf32 4, else 2, with an fp32 master copy. */
TSIM_TEST(bytes_of_a_parameter) {
    static const struct {
        enum tsim_optimizer optimizer;
        double bytes;
    } STATES[] = {{TSIM_SGD, 0},
                  {TSIM_MOMENTUM, 4},
                  {TSIM_RMSPROP, 4},
                  {TSIM_ADAM, 8},
                  {TSIM_ADAMW, 8},
                  {TSIM_LAMB, 8},
                  {TSIM_ADAM_8BIT, 2 + 8 / 2048.0}};
    example_init(&e);
    example_finish(&e);
    for (size_t i = 0; i < sizeof STATES / sizeof STATES[0]; i++) {
        e.scenario.training.optimizer = STATES[i].optimizer;
        ck_assert_double_eq(tsim_optimizer_state_bytes(&e.scenario), STATES[i].bytes);
    }
    for (int p = 0; p < TSIM_N_PRECISIONS; p++) {
        bool is_wide = p == TSIM_FP32 || p == TSIM_TF32;
        e.scenario.training.precision = (enum tsim_precision)p;
        /* A parameter of 8 bits has a quantized copy and its transpose, each of 33/32 bytes in blocks of 32; of 4
         * bits both, each of 9/16 bytes in blocks of 16, beside the parameter of 16. */
        double bytes = p == TSIM_MXFP8 ? 2.0625 : p == TSIM_NVFP4 ? 3.125 : is_wide ? 4 : 2;
        ck_assert_double_eq(tsim_weight_bytes((enum tsim_precision)p), bytes);
        ck_assert(tsim_has_master_weights(&e.scenario) == !is_wide);
    }
}

/* Weights that stream in, their gradients and the optimizer's states lie outside, all of them. */
TSIM_TEST(streamed_weights_lie_outside) {
    struct tsim_stage_memory here, outside;
    example_init(&e);
    tsim_stage_memory(&e.scenario, 0, &here);
    e.accelerator.execution = TSIM_EXECUTION_WEIGHT_STREAMING;
    tsim_stage_memory(&e.scenario, 0, &outside);
    ck_assert_double_eq(here.host_bytes, 0);
    ck_assert_double_eq(outside.host_bytes,
                        here.weights_bytes + here.gradients_bytes + here.master_bytes + here.optimizer_bytes);
    ck_assert_double_eq(outside.master_bytes + outside.optimizer_bytes, 0);
    ck_assert_double_lt(outside.weights_bytes, here.weights_bytes);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
