/* Tests optimizers: states against published memory, traffic by hand. */
#include "config/catalogue_load.h"
#include "cost/update.h"
#include "model/model.h"
#include "model/optimizer.h"
#include "partition/memory.h"
#include "support/arena_rig.h"
#include "support/example.h"

static struct example e;

static void set_up_example(void) {
    set_up();
    example_init(&e);
    e.scenario.training.precision = TSIM_BF16;
    e.scenario.training.gradient_precision = TSIM_FP32;
}

static void use_model(const char *id) {
    const struct tsim_model *model = NULL;
    ck_assert_int_eq(tsim_catalogue_load_model(&arena, id, &model, &diags), TSIM_OK);
    e.model = *model;
    e.scenario.model = &e.model;
}

static struct tsim_optimizer_cost cost_of(enum tsim_optimizer optimizer) {
    struct tsim_optimizer_cost cost;
    e.scenario.training.optimizer = optimizer;
    tsim_optimizer_cost(&e.scenario, &cost);
    return cost;
}

/* Bytes of a parameter, fp32 gradient, bf16 weight with an fp32 copy: 4 + 8 + 2 with nothing else; momentum and mean
 * square 8 more, Adam 16, LAMB another 12, 8-bit Adam 2 x 2 (1 + 4 / 2048). Weights of 16 bits without a copy take 4 +
 * 4; in fp32 4 + 8. */
TSIM_TEST(least_traffic) {
    ck_assert_double_eq(cost_of(TSIM_SGD).least_bytes, 14);
    ck_assert_double_eq(cost_of(TSIM_MOMENTUM).least_bytes, 22);
    ck_assert_double_eq(cost_of(TSIM_RMSPROP).least_bytes, 22);
    ck_assert_double_eq(cost_of(TSIM_ADAM).least_bytes, 30);
    ck_assert_double_eq(cost_of(TSIM_ADAMW).least_bytes, 30);
    ck_assert_double_eq(cost_of(TSIM_LAMB).least_bytes, 42);
    ck_assert_double_eq(cost_of(TSIM_ADAM_8BIT).least_bytes, 18 + 1 / 128.0);
    e.scenario.training.no_master_weights = true;
    ck_assert_double_eq(cost_of(TSIM_SGD).least_bytes, 8);
    e.scenario.training.precision = TSIM_FP32;
    ck_assert_double_eq(cost_of(TSIM_SGD).least_bytes, 12);
    ck_assert_double_eq(cost_of(TSIM_ADAM).least_bytes, 28); /* torch's fused AdamW: four in, three out */
}

/* Moments in bf16 are half of Adam's 8 bytes, and go in and out: 30 - 2 x 4 bytes a parameter. A profile's traffic is
 * of moments in fp32, and falls as the least does; Adafactor's factors stay. */
TSIM_TEST(moments_in_16_bits) {
    double in_fp32 = cost_of(TSIM_ADAM).traffic_bytes, factored = cost_of(TSIM_ADAFACTOR).state_bytes;
    e.scenario.training.state_precision = TSIM_BF16;
    ck_assert_double_eq(cost_of(TSIM_ADAM).state_bytes, 4);
    ck_assert_double_eq(cost_of(TSIM_MOMENTUM).state_bytes, 2);
    ck_assert_double_eq(cost_of(TSIM_ADAM).least_bytes, 22);
    ck_assert_double_eq_tol(cost_of(TSIM_ADAM).traffic_bytes, in_fp32 * 22 / 30, 1e-9);
    ck_assert_double_eq(cost_of(TSIM_ADAFACTOR).state_bytes, factored);
}

/* Operations of an update, counted in the papers' algorithms. w - r g: 2. Momentum m = b m + g: 2 more. Mean square
 * v = b v + (1 - b) g g: 4, w - r g / sqrt(v): 4. Adam (Kingma and Ba 2015, section 2, corrections in the step size):
 * m 3, v 4, and w - r m / (sqrt(v) + e): 5. AdamW's decay w - r d w: 2 more. */
TSIM_TEST(operations_of_an_update) {
    ck_assert_double_eq(cost_of(TSIM_SGD).vector_flops, 2);
    ck_assert_double_eq(cost_of(TSIM_MOMENTUM).vector_flops, 2 + 2);
    ck_assert_double_eq(cost_of(TSIM_RMSPROP).vector_flops, 4 + 4);
    ck_assert_double_eq(cost_of(TSIM_ADAM).vector_flops, 3 + 4 + 5);
    ck_assert_double_eq(cost_of(TSIM_ADAMW).vector_flops, 3 + 4 + 5 + 2);
    /* In 8 bits each of two states is looked up, scaled, and sought among 256 values by 8 comparisons (2^8 = 256). */
    ck_assert_double_eq(cost_of(TSIM_ADAM_8BIT).vector_flops, 3 + 4 + 5 + 2 + 2 * (8 + 2));
    ck_assert_double_eq(cost_of(TSIM_GALORE_8BIT).vector_flops, 34);
}

/* A profile says what its Adam moves; others in proportion. */
TSIM_TEST(traffic_of_software) {
    e.software.optimizer_traffic_bytes = 105;
    ck_assert_double_eq(cost_of(TSIM_ADAM).traffic_bytes, 105);
    ck_assert_double_eq(cost_of(TSIM_ADAMW).traffic_bytes, 105);
    ck_assert_double_eq_tol(cost_of(TSIM_SGD).traffic_bytes, 49, 1e-9);
    ck_assert_double_eq_tol(cost_of(TSIM_LAMB).traffic_bytes, 147, 1e-9);
}

static double update_s(void) {
    struct tsim_cluster cluster = {.accelerator = &e.accelerator};
    double hbm_bytes;
    return tsim_update_recorded(NULL, &e.scenario, &cluster, 0, 1, &hbm_bytes).value;
}

/* If the host launches the update tensor by tensor, it takes what the launches take if the accelerator is faster: of 2
 * layers with 4 matrices and 2 layer norms and a table 17 tensors, 10 operators each of 1 ms. */
TSIM_TEST(host_launches_each_tensor) {
    e.software.update_ops_per_tensor = 10;
    e.software.host_time_per_op_s = 1e-3;
    e.model.norm = TSIM_NORM_LAYERNORM;
    e.model.layers = 2;
    e.model.bias = e.model.gated_mlp = false;
    example_finish(&e);
    double before = update_s();
    ck_assert_double_eq_tol(before, 17 * 10 * 1e-3, 1e-12);
    e.software.update_ops_per_tensor = 20;
    double twice = update_s();
    ck_assert_double_eq_tol(twice - before, 17 * 10 * 1e-3, 1e-12);
}

/* One product of 300 x 784 with biases has rows and columns of the matrix, and every bias: 4 (1,084 + 300) bytes in
 * total. */
TSIM_TEST(adafactor_state) {
    static const struct tsim_list_layer LAYER = {.kind = TSIM_LIST_PRODUCT,
                                                 .in = 784,
                                                 .out = 300,
                                                 .in_area = 1,
                                                 .out_area = 1,
                                                 .kernel_area = 1,
                                                 .groups = 1,
                                                 .has_bias = true};
    e.model = (struct tsim_model){.kind = TSIM_MODEL_MLP, .list = &LAYER, .n_list = 1, .layers = 1, .hidden = 1};
    struct tsim_optimizer_cost cost = cost_of(TSIM_ADAFACTOR);
    ck_assert_double_eq_tol(cost.state_bytes * (300 * 785), 4 * (1084 + 300), 1e-6);
    /* It moves the gradient three times and the copy three times: Adam's 30 less its states and more by those. */
    ck_assert_double_eq_tol(cost.least_bytes, 14 + 8 + 4 + 2 * cost.state_bytes, 1e-9);
    static const struct tsim_list_layer TWO[] = {
        {.in = 784, .out = 300, .in_area = 1, .out_area = 1, .kernel_area = 1, .groups = 1},
        {.block = 1, .in = 300, .out = 10, .in_area = 1, .out_area = 1, .kernel_area = 9, .groups = 2}};
    e.model.list = TWO; /* and one of 9 x 150 rows by 10 */
    e.model.n_list = 2;
    e.model.layers = 2;
    ck_assert_double_eq_tol(cost_of(TSIM_ADAFACTOR).state_bytes * (300 * 784 + 13500), 4 * (1084 + 1360), 1e-6);
    use_model("t5-11b"); /* trained with it (Raffel et al. 2020, section 3.1.2): next to nothing */
    ck_assert_double_lt(cost_of(TSIM_ADAFACTOR).state_bytes, 0.005);
}

/* 4 layers of h = 64, 4 heads of 16 and 2 for keys and values, a gated block of 128, 1,000 words and 32 positions, in
 * matrices of rows and columns; layer norms, 2 x 2 h a layer and the last, are none. Attention 64 + 64, twice 64 + 32,
 * 64 + 64. */
static void use_small_model(void) {
    e.model = (struct tsim_model){.layers = 4,
                                  .hidden = 64,
                                  .heads = 4,
                                  .kv_heads = 2,
                                  .head_dim = 16,
                                  .ffn_hidden = 128,
                                  .vocab = 1000,
                                  .positions = 32,
                                  .gated_mlp = true,
                                  .norm = TSIM_NORM_LAYERNORM,
                                  .position = TSIM_POSITION_LEARNED};
    e.scenario.model = &e.model;
}
enum { ENDS = 2 * (1000 + 64) + 32 + 64, END_ELEMENTS = 2 * 64000 + 2048, NORMS = 9 * 128 };

static void assert_factored(double rows_and_columns, double elements, double norms) {
    double all = tsim_model_parameters(&e.model);
    ck_assert_double_eq(all, elements + norms);
    ck_assert_double_eq_tol(cost_of(TSIM_ADAFACTOR).state_bytes * all, 4 * (rows_and_columns + norms), 1e-6);
}

TSIM_TEST(matrices_of_models) {
    const double attention = 128 + 2 * 96 + 128, products = 3 * (64 + 128), expert = 3 * (64 + 96);
    use_small_model();
    assert_factored(4 * (attention + products) + ENDS, 4 * (12288 + 24576) + END_ELEMENTS, NORMS);
    e.model.tied_embeddings = true;
    assert_factored(4 * (attention + products) + ENDS - 1064, 4 * (12288 + 24576) + END_ELEMENTS - 64000, NORMS);
    use_small_model(); /* 4 experts of 96 and a shared one, in two layers or in all, with a router */
    for (int64_t every = 1; every <= 2; every++) {
        const double n = every == 1 ? 4 : 2;
        e.model.experts = (struct tsim_experts){.count = 4, .active = 1, .ffn_hidden = 96, .shared = 1, .every = every};
        assert_factored(4 * attention + (4 - n) * products + n * (5 * expert + 64 + 4) + ENDS,
                        4 * 12288 + (4 - n) * 24576 + n * (5 * 3 * 64 * 96 + 256) + END_ELEMENTS, NORMS);
    }
    use_small_model(); /* three decoder layers attend twice, with a norm more */
    e.model.encoder_layers = 1;
    assert_factored(7 * attention + 4 * products + ENDS, 7 * 12288 + 4 * 24576 + END_ELEMENTS, NORMS + 3 * 128 + 128);
    use_small_model();
    e.model.gated_mlp = false;
    assert_factored(4 * (attention + 2 * 192) + ENDS, 4 * (12288 + 2 * 8192) + END_ELEMENTS, NORMS);
}

/* The latent vectors have 8 for keys and values, 12, 1 or none for queries, and 4 for positions. */
TSIM_TEST(matrices_of_latent_attention) {
    for (int64_t query = 0; query <= 12; query += query == 0 ? 1 : 11) {
        const double r = (double)query, from = query > 0 ? r : 64;
        use_small_model();
        e.model.kv_heads = 4;
        e.model.latent = (struct tsim_latent){.kv_rank = 8, .query_rank = query, .rope_dim = 4};
        double rows = (query > 0 ? 64 + r : 0) + (from + 80) + (64 + 12) + (8 + 128) + 128,
               elements = 64 * r + from * 80 + 64 * 12 + 8 * 128 + 64 * 64;
        assert_factored(4 * (rows + 3 * 192) + ENDS, 4 * (elements + 24576) + END_ELEMENTS, NORMS + 4 * (8 + r));
    }
}

/* Projected to rank 64 / 4: of each matrix of the layers both moments are 16 times its longer side, in a byte, and a
 * projection 16 times the shorter; all else has whole moments. With fp32 gradients and a bf16 weight with a copy the
 * update reads and writes states, a gradient and an update of the moments' size in fp32 both ways, and the whole
 * update. 2 x 16 operations an element project there, and back. */
TSIM_TEST(galore_by_hand) {
    const double longer = 2 * 64 + 2 * 64 + 3 * 128, shorter = 2 * 64 + 2 * 32 + 3 * 64, all_but = 130048 + 1152,
                 projected = 4 * (12288 + 24576), all = projected + all_but, block = 1 + 4 / 2048.0;
    use_small_model();
    struct tsim_optimizer_cost cost = cost_of(TSIM_GALORE_8BIT);
    const double moments = 4 * 16 * longer, states = (2 * (moments + all_but) + 4 * 16 * shorter) * block;
    ck_assert_double_eq(tsim_model_parameters(&e.model), all);
    ck_assert_double_eq_tol(cost.state_bytes * all, states, 1e-6);
    ck_assert_double_eq_tol(cost.least_bytes * all, (4 + 8 + 2) * all + 2 * states + 16 * moments + 8 * projected,
                            1e-6);
    ck_assert_double_eq_tol(cost.matrix_flops * all, 2 * 2 * 16 * projected, 1e-6);
}

/* 7 billion parameters in fp16 without a copy, and Adam in fp32, take 14 + 14 + 56 = 84 GB. GPT-2 XL's 1.5 billion,
 * fp32 or mixed (2 + 2 + 4 + 4 + 4), take 24 GB. */
TSIM_TEST(textbook_states) {
    e.scenario.training.optimizer = TSIM_ADAM;
    e.scenario.training.precision = TSIM_FP16;
    e.scenario.training.gradient_precision = TSIM_FP16;
    e.scenario.training.no_master_weights = true;
    double weight = tsim_weight_bytes(TSIM_FP16), gradient = tsim_gradient_bytes(&e.scenario);
    ck_assert(!tsim_has_master_weights(&e.scenario));
    ck_assert_double_eq(7e9 * (weight + gradient + cost_of(TSIM_ADAM).state_bytes), 84e9);
    e.scenario.training.no_master_weights = false;
    ck_assert_double_eq(1.5e9 * (weight + gradient + 4 + cost_of(TSIM_ADAM).state_bytes), 24e9);
    e.scenario.training.precision = TSIM_FP32;
    ck_assert(!tsim_has_master_weights(&e.scenario));
    ck_assert_double_eq(1.5e9 * (4 + 4 + cost_of(TSIM_ADAM).state_bytes), 24e9);
}

/* Dettmers et al. 2022 (arXiv:2110.02861): a quarter of Adam's states, and a value for each block of 2,048. */
TSIM_TEST(adam_8bit_state) {
    ck_assert_double_eq(cost_of(TSIM_ADAM_8BIT).state_bytes, 2 + 8 / 2048.0);
    ck_assert_double_eq_tol(cost_of(TSIM_ADAM_8BIT).state_bytes / cost_of(TSIM_ADAM).state_bytes, 0.25, 0.001);
}

/* Zhao et al. 2024 (arXiv:2403.03507), LLaMA 7B in bf16 without a copy: states 82.5 % below those of Adam in bf16, 4
 * bytes (abstract); weights and states 18 GB, with 8-bit Adam 26 (table 3). In all 63.3 % below the 58 GB of a bf16
 * baseline with token batches of 256 (abstract and introduction), on a card of 24 GB. */
TSIM_TEST(galore_published) {
    struct tsim_stage_memory memory;
    use_model("llama-7b");
    struct tsim_training_spec *t = &e.scenario.training;
    t->gradient_precision = TSIM_BF16;
    t->no_master_weights = true;
    t->updates_by_layer = true;
    t->sequence_length = 256;
    t->attention = TSIM_ATTENTION_FLASH;
    example_finish(&e);
    double n = tsim_model_parameters(&e.model), galore = cost_of(TSIM_GALORE_8BIT).state_bytes;
    ck_assert_double_eq_tol(1 - galore / 4, 0.825, 0.001);
    ck_assert_double_eq_tol(n * (2 + galore), 18e9, 0.3e9);
    ck_assert_double_eq_tol(n * (2 + cost_of(TSIM_ADAM_8BIT).state_bytes), 26e9, 1.1e9);
    t->optimizer = TSIM_GALORE_8BIT;
    tsim_stage_memory(&e.scenario, 0, &memory);
    ck_assert_double_eq_tol(memory.total_bytes, (1 - 0.633) * 58e9, 2e9);
    ck_assert_double_lt(memory.total_bytes, 24e9);
    t->updates_by_layer = false; /* all gradients at once: it does not fit */
    tsim_stage_memory(&e.scenario, 0, &memory);
    ck_assert_double_eq_tol(memory.gradients_bytes, 2 * n, 0.01 * n);
    ck_assert_double_gt(memory.total_bytes, 30e9);
    t->updates_by_layer = true; /* Adam in fp32 does not either */
    t->optimizer = TSIM_ADAM;
    tsim_stage_memory(&e.scenario, 0, &memory);
    ck_assert_double_gt(memory.total_bytes, 60e9);
}

/* A layer's gradients, here 7B's embedding or head of 32,000 x 4,096, which is less than a layer of 4 h^2 + 3 h f. */
TSIM_TEST(updates_by_layer) {
    struct tsim_stage_memory memory;
    use_model("llama-7b");
    e.scenario.training.updates_by_layer = true;
    example_finish(&e);
    tsim_stage_memory(&e.scenario, 0, &memory);
    double h = 4096, layer = 4 * h * h + 3 * h * 11008 + 2 * h;
    ck_assert_double_eq(memory.gradients_bytes, 4 * layer);
}

/* GaLore moves beside its states, out and in: an fp32 gradient and an update of the moments' size, 1,024 x the
 * longer side of each matrix, 16 bytes; the whole update, 8 of each projected parameter; the projections are in the
 * states. */
TSIM_TEST(galore_traffic) {
    use_model("llama-7b");
    double h = 4096, f = 11008, n = tsim_model_parameters(&e.model), projected = 32 * (4 * h * h + 3 * h * f),
           moments = 32 * 1024 * (4 * h + 3 * f);
    struct tsim_optimizer_cost galore = cost_of(TSIM_GALORE_8BIT);
    ck_assert_double_eq_tol(galore.least_bytes, 14 + 2 * galore.state_bytes + 16 * moments / n + 8 * projected / n,
                            1e-9);
}

/* GaLore's two products: 4 r FLOPs for each projected parameter, r = 1,024 of LLaMA 7B. Others have none. */
TSIM_TEST(products) {
    use_model("llama-7b");
    double h = 4096, projected = 32 * (4 * h * h + 3 * h * 11008), n = tsim_model_parameters(&e.model);
    ck_assert_double_eq_tol(cost_of(TSIM_GALORE_8BIT).matrix_flops, 4 * 1024 * projected / n, 1e-6);
    ck_assert_double_eq(cost_of(TSIM_ADAM).matrix_flops, 0);
}

/* Muon on LLaMA 7B: four h x h matrices and three of h x 11,008 a layer, m = h, 4 m^2 n + 2 m^3 FLOPs in each of five
 * steps of three kernels. It keeps 4 bytes of those and 8 of the rest, and moves an update of 16 bits out and in. */
TSIM_TEST(muon_by_hand) {
    use_model("llama-7b");
    double h = 4096, f = 11008, n = tsim_model_parameters(&e.model), blocks = 32 * (4 * h * h + 3 * h * f),
           step = 32 * h * h * (4 * (4 * h + 2 * h) + 3 * (4 * f + 2 * h));
    struct tsim_optimizer_cost muon = cost_of(TSIM_MUON);
    ck_assert_double_eq_tol(muon.state_bytes * n, 8 * n - 4 * blocks, 1);
    ck_assert_double_eq_tol(muon.least_bytes, 14 + 2 * muon.state_bytes + 4 * blocks / n, 1e-9);
    ck_assert_double_eq_tol(muon.matrix_flops * n, 5 * step, 1e3);
    ck_assert_double_eq_tol(muon.kernels * n, 15 * 7 * 32, 1e-6);
    ck_assert_double_eq(cost_of(TSIM_ADAM).kernels, 0);
    double of_adam = update_s();
    e.scenario.training.optimizer = TSIM_MUON;
    ck_assert_double_gt(update_s(), of_adam);
}

/* T5's shapes in n + n layers: whatever is counted grows by as much with every pair of layers, the first pair included.
 */
static double of_stacks(int64_t n, double (*what)(const struct tsim_optimizer_cost *)) {
    use_model("t5-11b");
    e.model.encoder_layers = n;
    e.model.layers = 2 * n;
    struct tsim_optimizer_cost cost = cost_of(TSIM_GALORE_8BIT);
    return what(&cost) * tsim_model_parameters(&e.model);
}

static double states(const struct tsim_optimizer_cost *cost) {
    return cost->state_bytes;
}

static double products_of(const struct tsim_optimizer_cost *cost) {
    return cost->matrix_flops;
}

TSIM_TEST_LOOP(each_pair_of_layers_is_as_the_first, 0, 2) {
    double (*const WHAT[])(const struct tsim_optimizer_cost *) = {states, products_of};
    double one = of_stacks(1, WHAT[_i]), two = of_stacks(2, WHAT[_i]), three = of_stacks(3, WHAT[_i]);
    ck_assert_double_gt(two, one);
    ck_assert_double_eq_tol((three - two) / (two - one), 1, 1e-9);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up_example, tear_down)
