/* Scenarios: defaults, references, `extends`, --set, the rules between keys, and a resolved form that reads back. */
#include "config/catalogue_load.h"
#include "config/scenario.h"
#include "support/check_main.h"
#include "support/random.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A small cluster of four nodes of four: 16 accelerators, tensor 2 x pipeline 2 x data 4, eight layers, and 16 samples:
 * four micro-batches a replica. Nothing of it comes from the shipped catalogue. */
static const char BASE[] =
    "schema: tsim/v1\n"
    "name: base\n"
    "model: {layers: 8, hidden: 64, heads: 8, kv_heads: 4, ffn_hidden: 256, vocab: 1000}\n"
    "cluster:\n"
    "  node:\n"
    "    name: four\n"
    "    accelerator:\n"
    "      name: chip\n"
    "      compute_units: 10\n"
    "      clock: 1 GHz\n"
    "      memory: 16 GB\n"
    "      memory_bandwidth: 1 TB/s\n"
    "      peak: {fp32: 10 TFLOP/s, bf16: 100 TFLOP/s}\n"
    "      vector_peak: 10 TFLOP/s\n"
    "      efficiency:\n"
    "        matrix_sustained: {fp32: {value: 0.9, status: estimate}, bf16: {value: 0.7, status: estimate}}\n"
    "        memory_sustained: 0.8\n"
    "        matrix_ramp_k: 100\n"
    "        attention: {flash2: 0.4, flash3: {value: 0.6, status: estimate}}\n"
    "        kernel_latency: 3 us\n"
    "      power: {idle: 50 W, limit: {value: 300 W, status: estimate}, compute: 0.7, memory: 0.3, link: 0.05}\n"
    "      rent: 2 USD/h\n"
    "      purchase: 10000 USD\n"
    "      reserve: 1 GB\n"
    "    accelerators: 4\n"
    "    scale_up: {kind: switch, bandwidth: 100 GB/s}\n"
    "    nics: 4\n"
    "    nic_bandwidth: 100 Gb/s\n"
    "  nodes: 4\n"
    "  fabric: {name: net, bandwidth: 100 Gb/s, efficiency: 0.8, latency: 5 us}\n"
    "software: {name: framework, attention_kernel: flash2, fusion: te, overlap: {gradients: true}}\n"
    "training: {sequence_length: 128, global_batch_size: 16}\n"
    "parallelism: {tensor: 2, pipeline: 2}\n";

static struct tsim_arena arena;
static struct tsim_diags diags;
static char folder[64];

static const char *path_of(const char *name) {
    return tsim_arena_printf(&arena, "%s/%s", folder, name);
}

static const char *write_file(const char *name, const char *text) {
    const char *path = path_of(name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

static void set_up(void) {
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    strcpy(folder, "/tmp/tsim-test-scenario-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    unsetenv("TSIM_DATA");
    write_file("base.yaml", BASE);
}

static void tear_down(void) {
    char command[100];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    ck_assert_int_eq(system(command), 0);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
}

static const struct tsim_scenario *load_with(const char *path, const struct tsim_override *sets, size_t n_sets) {
    const struct tsim_scenario *scenario = NULL;
    size_t n_errors = diags.n_errors;
    enum tsim_status status = tsim_scenario_load(&arena, path, sets, n_sets, &scenario, &diags);
    ck_assert((status == TSIM_OK) == (scenario != NULL));
    ck_assert((status == TSIM_OK) == (diags.n_errors == n_errors));
    return scenario;
}

static const struct tsim_scenario *load_set(const char *path, const char *value) {
    struct tsim_override set = {path, value};
    return load_with(path_of("base.yaml"), &set, 1);
}

static const struct tsim_scenario *must(const struct tsim_scenario *scenario) {
    ck_assert_msg(scenario != NULL, "%s: %s", diags.n_items ? diags.items[0].field : "",
                  diags.n_items ? diags.items[0].message : "no scenario");
    return scenario;
}

/* ---- defaults ---- */

START_TEST(defaults) {
    const struct tsim_scenario *sc = must(load_with(path_of("base.yaml"), NULL, 0));
    ck_assert_uint_eq(diags.n_items, 0);
    ck_assert_int_eq(sc->model->kv_heads, 4);
    ck_assert_int_eq(sc->model->head_dim, 8); /* 64 / 8 */
    ck_assert(sc->model->causal);
    ck_assert_int_eq(sc->cluster.accelerators_per_node, 4);
    ck_assert_int_eq(sc->n_accelerators, 16);
    ck_assert_double_eq(sc->cluster.node->scale_up_ring_bytes_per_s, 100e9); /* the wire's, where not measured */
    ck_assert_int_eq(sc->parallelism.data, 4);
    ck_assert_int_eq(sc->n_microbatches, 4);
    ck_assert(sc->parallelism.sequence);
    ck_assert_int_eq(sc->parallelism.zero, 1);
    ck_assert_int_eq(sc->parallelism.zero_group_ranks, 4);
    ck_assert_int_eq(sc->parallelism.schedule, TSIM_SCHEDULE_1F1B);
    ck_assert(sc->parallelism.overlap.gradients);
    ck_assert(!sc->parallelism.overlap.tensor);
    ck_assert_int_eq(sc->parallelism.order[0], TSIM_AXIS_TENSOR);
    ck_assert_int_eq(sc->parallelism.order[4], TSIM_AXIS_PIPELINE);
    ck_assert_int_eq(sc->parallelism.layers_per_chunk[0], 4);
    ck_assert_int_eq(sc->parallelism.layers_per_chunk[1], 4);
    ck_assert_int_eq(sc->training.micro_batch_size, 1);
    ck_assert_int_eq(sc->training.precision, TSIM_BF16);
    ck_assert_int_eq(sc->training.gradient_precision, TSIM_FP32);
    ck_assert_int_eq(sc->training.optimizer, TSIM_ADAMW);
    ck_assert_int_eq(sc->training.recompute, TSIM_RECOMPUTE_NONE);
    ck_assert_int_eq(sc->training.attention, TSIM_ATTENTION_FLASH);
    ck_assert_int_eq(sc->training.length_kind, TSIM_LENGTH_NONE);
    ck_assert_double_eq(sc->energy.pue, 1.1);
    ck_assert_double_eq_tol(sc->energy.price_usd_per_j, 0.1 / 3.6e6, 1e-20);
    ck_assert_double_eq_tol(sc->cost.rent_usd_per_s, 2 / 3600.0, 1e-15); /* the accelerator's */
    ck_assert_double_eq(sc->cost.purchase_usd, 10000);
    ck_assert_double_eq(sc->cost.lifetime_s, 4 * 365.25 * 86400);
    ck_assert_int_eq(sc->simulation.steps, 3);
    ck_assert_int_eq(sc->simulation.warmup, 1);
    ck_assert(sc->simulation.fold);
    ck_assert(!sc->software_defaulted);
    ck_assert_str_eq(sc->file, path_of("base.yaml"));
}
END_TEST

START_TEST(words) {
    ck_assert_str_eq(tsim_precision_name(TSIM_FP8), "fp8");
    ck_assert_str_eq(tsim_optimizer_name(TSIM_GALORE_8BIT), "galore-8bit");
    ck_assert_str_eq(tsim_recompute_name(TSIM_RECOMPUTE_EVERY), "every");
    ck_assert_str_eq(tsim_schedule_name(TSIM_SCHEDULE_DUALPIPE), "dualpipe");
    ck_assert_str_eq(tsim_metric_name(TSIM_METRIC_STEP_TIME), "step_time");
    ck_assert_str_eq(tsim_metric_name(TSIM_METRIC_MODEL_TFLOPS_PER_GPU), "model_tflops_per_gpu");
    ck_assert_str_eq(tsim_metric_name(TSIM_METRIC_ENERGY), "energy");
}
END_TEST

/* ---- one setting, what it resolves to ---- */

START_TEST(layers) {
    const struct tsim_override interleaved[] = {{"parallelism.virtual_pipeline", "2"}};
    const struct tsim_scenario *sc = must(load_with(path_of("base.yaml"), interleaved, 1));
    ck_assert_int_eq(sc->parallelism.schedule, TSIM_SCHEDULE_INTERLEAVED);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(sc->parallelism.layers_per_chunk[i], 2);
    /* Ten layers in four chunks: (10 + 2) / 4 = 3, one fewer for embedding and head. */
    const struct tsim_override accounted[] = {{"parallelism.virtual_pipeline", "2"}, {"model.layers", "10"}};
    sc = must(load_with(path_of("base.yaml"), accounted, 2));
    static const int expected[] = {2, 3, 3, 2};
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(sc->parallelism.layers_per_chunk[i], expected[i]);
    sc = must(load_set("parallelism.layers_per_stage", "[5, 3]"));
    ck_assert_int_eq(sc->parallelism.layers_per_chunk[0], 5);
    ck_assert_int_eq(sc->parallelism.layers_per_chunk[1], 3);
    /* zb-v has two parts on a stage, dualpipe as many parts as stages. */
    sc = must(load_set("parallelism.schedule", "zb-v"));
    ck_assert_int_eq(tsim_n_model_parts(&sc->parallelism), 4);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(sc->parallelism.layers_per_chunk[i], 2);
    sc = must(load_set("parallelism.schedule", "dualpipe"));
    ck_assert_int_eq(tsim_n_model_parts(&sc->parallelism), 2);
    ck_assert(sc->parallelism.overlap.expert); /* what its pairs are for */
    ck_assert_int_eq(sc->parallelism.layers_per_chunk[1], 4);
}
END_TEST

START_TEST(recomputation) {
    ck_assert_int_eq(must(load_set("training.recompute", "{every: 3}"))->training.recompute_every, 3);
    ck_assert_uint_eq(tsim_recompute_parts(&must(load_set("training.recompute", "[norms, ffn]"))->training),
                      TSIM_RECOMPUTE_NORMS | TSIM_RECOMPUTE_FFN);
    ck_assert_uint_eq(tsim_recompute_parts(&must(load_set("training.recompute", "selective"))->training),
                      TSIM_RECOMPUTE_ATTENTION);
    ck_assert_int_eq(must(load_set("training.recompute", "[]"))->training.recompute, TSIM_RECOMPUTE_NONE);
    ck_assert_int_eq(must(load_set("training.recompute.every", "3"))->training.recompute, TSIM_RECOMPUTE_EVERY);
    ck_assert_int_eq(must(load_set("training.recompute", "sqrt"))->training.recompute_every, 2); /* 4 layers a stage */
    ck_assert_int_eq(must(load_set("training.recompute", "full"))->training.recompute, TSIM_RECOMPUTE_FULL);
}
END_TEST

START_TEST(sharding_groups) {
    ck_assert_int_eq(must(load_set("parallelism.zero_group", "2"))->parallelism.zero_group_ranks, 2);
    /* A node of four holds two replicas of tensor 2. */
    ck_assert_int_eq(must(load_set("parallelism.zero_group", "node"))->parallelism.zero_group_ranks, 2);
    ck_assert_int_eq(must(load_set("parallelism.context", "2"))->parallelism.zero_group_ranks,
                     4); /* data 2 x context 2 */
}
END_TEST

START_TEST(run_length) {
    const struct tsim_scenario *sc = must(load_set("training.tokens", "2 T"));
    ck_assert_int_eq(sc->training.length_kind, TSIM_LENGTH_TOKENS);
    ck_assert_double_eq(sc->training.length, 2e12);
    sc = must(load_set("training.steps", "5"));
    ck_assert_int_eq(sc->training.length_kind, TSIM_LENGTH_STEPS);
}
END_TEST

START_TEST(overlap_of_the_scenario_wins) {
    const struct tsim_scenario *sc = must(load_set("parallelism.overlap", "{gradients: false, pipeline: true}"));
    ck_assert(!sc->parallelism.overlap.gradients);
    ck_assert(sc->parallelism.overlap.pipeline);
    ck_assert(sc->software->overlap.gradients);
}
END_TEST

START_TEST(learned_positions_bound_the_default_length) {
    const struct tsim_override sets[] = {
        {"model", "{layers: 8, hidden: 64, heads: 8, vocab: 9, position: learned, positions: 256}"},
        {"training", "{global_batch_size: 16}"}};
    ck_assert_int_eq(must(load_with(path_of("base.yaml"), sets, 2))->training.sequence_length, 256);
    ck_assert_int_eq(must(load_with(path_of("base.yaml"), sets, 2))->model->ffn_hidden, 256); /* 4 x 64 */
}
END_TEST

/* As even as can be; multiples of `wrap` in every dimension where the number allows it. */
static const struct torus_case {
    const char *torus, *nodes;
    int64_t shape[3];
} TORI[] = {
    {"{dimensions: 2, wrap: 4}", "4", {4, 4, 1}},
    {"{dimensions: 2, wrap: 4}", "8", {4, 8, 1}},
    {"{dimensions: 2, wrap: 32}", "256", {32, 32, 1}},
    {"{dimensions: 2, wrap: 32}", "128", {16, 32, 1}},
    {"{dimensions: 3, wrap: 4}", "4", {2, 2, 4}},
    {"{dimensions: 3, wrap: 4}", "48", {4, 4, 12}},
    {"{dimensions: 3}", "48", {4, 6, 8}},
};

START_TEST(shape_of_a_torus) {
    const struct torus_case *c = &TORI[_i];
    const struct tsim_override sets[] = {{"cluster.fabric.topology", "torus"},
                                         {"cluster.fabric.torus", c->torus},
                                         {"cluster.nodes", c->nodes},
                                         {"training.global_batch_size", "768"}};
    const struct tsim_scenario *sc = must(load_with(path_of("base.yaml"), sets, 4));
    for (int d = 0; d < 3; d++)
        ck_assert_int_eq(sc->cluster.torus_shape[d], c->shape[d]);
}
END_TEST

START_TEST(measured) {
    const struct tsim_scenario *sc =
        must(load_set("measured", "{source: s, step_time: 3 s, mfu: 51.4 %, model_tflops_per_gpu: 137,"
                                  " tokens_per_s: 93000, memory_peak: 70 GB}"));
    ck_assert_double_eq(sc->measured.value[TSIM_METRIC_STEP_TIME], 3);
    ck_assert_double_eq_tol(sc->measured.value[TSIM_METRIC_MFU], 0.514, 1e-15);
    ck_assert_double_eq(sc->measured.value[TSIM_METRIC_MODEL_TFLOPS_PER_GPU], 137e12);
    ck_assert_double_eq(sc->measured.value[TSIM_METRIC_MEMORY_PEAK], 70e9);
    ck_assert(sc->measured.has[TSIM_METRIC_TOKENS_PER_S]);
    ck_assert(!sc->measured.has[TSIM_METRIC_HFU]);
}
END_TEST

/* Bare numbers are SI in a --set, and numbers below an id or a mapping amend it. */
START_TEST(settings_reach_into_the_machine) {
    ck_assert_double_eq(must(load_set("cluster.fabric.bandwidth", "25e9"))->cluster.fabric->link_bytes_per_s, 25e9);
    const struct tsim_scenario *sc = must(load_set("cluster.node.accelerator.memory", "32 GB"));
    ck_assert_double_eq(sc->cluster.node->accelerator->memory_bytes, 32e9);
    ck_assert_int_eq(sc->cluster.node->accelerators, 4);
    ck_assert_double_eq(must(load_set("software.dropout", "0.1"))->software->dropout, 0.1);
}
END_TEST

START_TEST(estimates_that_enter) {
    const struct tsim_scenario *sc = must(load_with(path_of("base.yaml"), NULL, 0));
    ck_assert_uint_eq(sc->n_estimates, 2); /* neither fp32's rate nor flash3's */
    ck_assert_str_eq(sc->estimates[0], "chip efficiency.matrix_sustained.bf16");
    ck_assert_str_eq(sc->estimates[1], "chip power.limit");
    sc = must(load_set("software.attention_kernel", "cudnn"));
    ck_assert_uint_eq(sc->n_estimates, 3);
}
END_TEST

/* ---- rules between keys ---- */

static const struct rule {
    const char *path, *value;
    enum tsim_status status;
    const char *field, *message, *hint;
} RULES[] = {
    {"name", "a b", TSIM_ERR_SCHEMA, "name", "'a b' is not a name",
     "letters, digits, '-', '_' and '.', at most 128 of them"},
    {"parallelism.tensor", "3", TSIM_ERR_INFEASIBLE, "parallelism.tensor", "3 does not divide the 8 heads of inline",
     "nearest that works: tensor 2 or 4"},
    {"parallelism.tensor", "16", TSIM_ERR_INFEASIBLE, "parallelism.tensor", "16 does not divide the 8 heads of inline",
     "nearest that works: tensor 8"},
    {"model.ffn_hidden", "255", TSIM_ERR_INFEASIBLE, "parallelism.tensor", "2 does not divide ffn_hidden 255 of inline",
     "nearest that works: tensor 1"},
    {"model.heads", "6", TSIM_ERR_INFEASIBLE, "model.heads", "hidden 64 is not a multiple of heads 6",
     "give head_dim where it is not hidden / heads"},
    {"model.kv_heads", "3", TSIM_ERR_INFEASIBLE, "model.kv_heads", "heads 8 is not a multiple of kv_heads 3",
     "every key and value head serves the same number of query heads"},
    {"model.position", "learned", TSIM_ERR_SCHEMA, "model.position", "learned positions need 'positions'",
     "positions: the rows of the table, the longest sequence that the model takes"},
    {"model.experts", "{count: 8, active: 9}", TSIM_ERR_INFEASIBLE, "model.experts.active", "9 of 8 experts active",
     "active lies between 1 and count"},
    {"model.experts", "{count: 8, active: 2, first: 7, every: 2}", TSIM_ERR_INFEASIBLE, "model.experts",
     "no layer has experts: 8 layers, first 7, every 2", "first + every is at most the number of layers"},
    {"model.experts", "{count: 8, active: 2, capacity_factor: 5}", TSIM_ERR_INFEASIBLE, "model.experts.capacity_factor",
     "a buffer of 5 times the mean is longer than all tokens together", "at most count / active = 4"},
    {"model.experts", "{count: 8, active: 2, ffn_hidden: 33}", TSIM_ERR_INFEASIBLE, "parallelism.tensor",
     "2 does not divide experts.ffn_hidden 33 of inline", "nearest that works: tensor 1"},
    {"model.experts", "{count: 8, active: 2, capacity_factor: 4}", TSIM_OK, "", "", ""},
    {"model", "{kind: cnn, input: {channels: 3}, list: [{kind: conv, out: 8, kernel: 3}]}", TSIM_ERR_INFEASIBLE,
     "model.list", "layer 1: a kernel is larger than the image that it is moved over", ""},
    {"model", "{kind: mlp, input: {channels: 3}, list: [{kind: linear, out: 8}]}", TSIM_ERR_INFEASIBLE,
     "training.sequence_length", "128, but inline has none", "leave it out: batches are counted in samples"},
    {"parallelism.data", "5", TSIM_ERR_INFEASIBLE, "parallelism.data",
     "tensor 2 x context 1 x pipeline 2 x data 5 is 20, but the cluster has 16 accelerators",
     "data: 4 takes them all, and so does 'data: auto'"},
    {"cluster.nodes", "3", TSIM_ERR_INFEASIBLE, "training.global_batch_size",
     "16 is not divisible by micro_batch_size 1 x data 3 = 3", "nearest that works: global_batch_size 15 or 18"},
    {"cluster.accelerators_per_node", "3", TSIM_ERR_INFEASIBLE, "training.global_batch_size",
     "16 is not divisible by micro_batch_size 1 x data 3 = 3", "nearest that works: global_batch_size 15 or 18"},
    {"cluster.accelerators_per_node", "8", TSIM_ERR_INFEASIBLE, "cluster.accelerators_per_node",
     "8 accelerators of a four, which has 4", "at most 4"},
    {"cluster.node.nics", "0", TSIM_ERR_INFEASIBLE, "cluster.node", "four has no network port to join 4 nodes with",
     "nodes: 1, or a node with 'nics' and 'nic_bandwidth'"},
    {"software.nics_used", "5", TSIM_ERR_INFEASIBLE, "software", "nics_used 5, but a four has 4", "at most 4, or all"},
    {"training.global_batch_size", "6", TSIM_ERR_INFEASIBLE, "training.global_batch_size",
     "6 is not divisible by micro_batch_size 1 x data 4 = 4", "nearest that works: global_batch_size 4 or 8"},
    {"training.global_batch_size", "2", TSIM_ERR_INFEASIBLE, "training.global_batch_size",
     "2 is not divisible by micro_batch_size 1 x data 4 = 4", "nearest that works: global_batch_size 4"},
    {"training.sequence_length", "129", TSIM_ERR_INFEASIBLE, "training.sequence_length",
     "129 is not divisible by tensor 2 x context 1 (sequence parallelism)",
     "nearest that works: sequence_length 128 or 130"},
    {"training.precision", "fp16", TSIM_ERR_INFEASIBLE, "training.precision", "chip has no fp16", "it has fp32, bf16"},
    {"training.precision", "fp8", TSIM_ERR_INFEASIBLE, "training.precision", "chip has no fp8", "it has fp32, bf16"},
    {"training.epochs", "3", TSIM_ERR_INFEASIBLE, "training.epochs", "epochs of a data set of unknown size",
     "data: {samples: ...}, or give tokens, samples or steps"},
    {"training.recompute", "sometimes", TSIM_ERR_SCHEMA, "training.recompute", "unknown word 'sometimes'",
     "one of: none, selective, full, sqrt"},
    {"training.recompute", "[attention, mlp]", TSIM_ERR_SCHEMA, "training.recompute", "unknown part of a layer 'mlp'",
     "one of: attention, norms, latent, activation, ffn, experts"},
    {"software.attention_kernel", "flash1", TSIM_ERR_INFEASIBLE, "training.attention",
     "chip has no efficiency for the attention kernel of framework",
     "attention: standard, or give efficiency.attention in the accelerator"},
    {"parallelism.pipeline", "1", TSIM_OK, NULL, NULL, NULL},
    {"parallelism.pipeline", "8", TSIM_OK, NULL, NULL, NULL},
    {"parallelism.pipeline", "16", TSIM_ERR_INFEASIBLE, "parallelism.pipeline",
     "8 layers do not split into pipeline 16 x virtual_pipeline 1 = 16 chunks",
     "nearest that works: pipeline 8; or layers_per_stage as a list"},
    {"parallelism.layers_per_stage", "[4, 4, 4]", TSIM_ERR_INFEASIBLE, "parallelism.layers_per_stage",
     "3 entries for pipeline 2 x virtual_pipeline 1 = 2 chunks", "one entry for each chunk, in model order"},
    {"parallelism.layers_per_stage", "[4, 5]", TSIM_ERR_INFEASIBLE, "parallelism.layers_per_stage",
     "the entries add up to 9, but inline has 8 layers", "make them add up, or leave it to 'auto'"},
    {"parallelism.layers_per_stage", "[0, 8]", TSIM_OK, NULL, NULL, NULL},
    {"parallelism.layers_per_stage", "4", TSIM_ERR_SCHEMA, "parallelism.layers_per_stage",
     "expected 'auto', 'balance' or a list of layer counts, found '4'", ""},
    {"parallelism.schedule", "zb-h1", TSIM_OK, NULL, NULL, NULL},
    {"parallelism.schedule", "zb-v", TSIM_OK, NULL, NULL, NULL},
    {"parallelism.schedule", "1f2b", TSIM_ERR_SCHEMA, "parallelism.schedule", "unknown word '1f2b'",
     "did you mean '1f1b'? It is one of: sequential, gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-v, dualpipe"},
    {"parallelism.expert", "2", TSIM_ERR_INFEASIBLE, "parallelism.expert", "2, but inline has no experts", "expert: 1"},
    {"parallelism.zero", "3", TSIM_ERR_INFEASIBLE, "parallelism.zero", "3 with pipeline 2: the two are not combined",
     "zero: 1 with the pipeline, or pipeline: 1 with zero: 3"},
    {"parallelism.zero", "4", TSIM_ERR_RANGE, "parallelism.zero", "4 is out of range", "must be at most 3"},
    {"parallelism.zero_group", "3", TSIM_ERR_INFEASIBLE, "parallelism.zero_group",
     "3 does not divide data 4 x context 1 = 4 ranks", "all, node, or a divisor of 4"},
    {"parallelism.order", "[tensor, data]", TSIM_ERR_SCHEMA, "parallelism.order", "must name each axis once",
     "for example [tensor, context, expert, data, pipeline], innermost first"},
    {"parallelism.order", "[tensor, tensor, expert, data, pipeline]", TSIM_ERR_SCHEMA, "parallelism.order",
     "must name each axis once", "for example [tensor, context, expert, data, pipeline], innermost first"},
    {"simulation.warmup", "3", TSIM_ERR_INFEASIBLE, "simulation.warmup", "warmup 3 leaves none of 3 steps",
     "warmup must be below steps"},
    {"cluster.degraded", "[{link: nic, node: 4, rate: 0.5}]", TSIM_ERR_INFEASIBLE, "cluster.degraded",
     "entry 1: node 4 of 4", "nodes are counted from 0"},
    {"cluster.degraded", "[{link: fabric, rate: 0.5}]", TSIM_ERR_INFEASIBLE, "cluster.degraded",
     "entry 1: there is no tier 0 of uplinks", "link: nic, or a fabric with that many tiers"},
    {"data", "{workers: 0}", TSIM_ERR_RANGE, "data.workers", "0 is out of range", "must be at least 1"},
    {"data", "8", TSIM_ERR_SCHEMA, "data", "expected a mapping of keys to values, found '8'", ""},
    {"data", "{storage: {bandwidth: 1 GB/s, random_access: 2}}", TSIM_ERR_RANGE, "data.storage.random_access",
     "2 is out of range", "must be at most 1"},
    {"reliability", "{spares: 4}", TSIM_OK, NULL, NULL, NULL},
    {"reliability", "[4]", TSIM_ERR_SCHEMA, "reliability", "expected a mapping of keys to values, found a list", ""},
    {"reliability.node_mtbf", "0 h", TSIM_ERR_RANGE, "reliability.node_mtbf", "0 h is out of range",
     "must be greater than 0"},
    {"reliability", "{node_mtbf: 5000 h, components: {nic: 1 h}}", TSIM_ERR_INFEASIBLE, "reliability.components",
     "given beside node_mtbf, which is the sum of them", "leave one of the two out"},
    {"reliability.checkpoint", "{memory: true}", TSIM_ERR_INFEASIBLE, "reliability.checkpoint.memory",
     "a sync checkpoint leaves no copy in memory", "set reliability.checkpoint.mode=async"},
    {"reliability.checkpoint.interval", "often", TSIM_ERR_SCHEMA, "reliability.checkpoint.interval",
     "'often' is no interval", "write optimal, a time such as 30 min, or a number of steps"},
    {"reliability.checkpoint.interval", "20 min", TSIM_OK, NULL, NULL, NULL},
    {"reliability.checkpoint.interval", "500", TSIM_OK, NULL, NULL, NULL},
    {"reliability.maintenance", "{interval: 7 d}", TSIM_ERR_INFEASIBLE, "reliability.maintenance",
     "has an interval and no time", "write both: {interval: 6 h, time: 10 min}"},
    {"training.evaluation.time", "7 min", TSIM_ERR_INFEASIBLE, "training.evaluation", "has a time and no interval",
     "write both: {interval: 6 h, time: 10 min}"},
    {"reliability.preemption", "{rate: 0.1 /h, discount: 1}", TSIM_ERR_RANGE, "reliability.preemption.discount",
     "a discount of 1 makes it free", "write what is taken off: 0.7 leaves 30 %"},
    {"variability", "{compute_cv: 0.01}", TSIM_ERR_INFEASIBLE, "variability",
     "noise and stragglers: not simulated by this version yet", "leave 'variability' out"},
    {"variability", "{compute_cv: 0}", TSIM_OK, NULL, NULL, NULL},
    {"sweep", "{axes: {cluster.nodes: [1, 2]}}", TSIM_OK, NULL, NULL, NULL},
    {"extends", "other.yaml", TSIM_ERR_SCHEMA, "extends", "cannot be set from outside",
     "name the other scenario on the command line"},
    {"measured", "{step_time: 3 s}", TSIM_ERR_SCHEMA, "", "missing key 'measured.source'",
     "source: where the measurement was read"},
    {"cluster.node.accelerator.power.idle", "400", TSIM_ERR_INFEASIBLE, "cluster.node.accelerator.power.idle",
     "is above power.limit", ""},
    {"cluster.node.accelerator.peak.fp8", "5 TFLOP/s", TSIM_ERR_SCHEMA,
     "cluster.node.accelerator.efficiency.matrix_sustained", "no value for fp8, which has a peak",
     "fp8: the fraction of the peak that long matrix products reach"},
    {"cluster.node.accelerator.reserve", "16 GB", TSIM_ERR_INFEASIBLE, "cluster.node.accelerator.reserve",
     "is not below memory", ""},
    {"cluster.node.scale_up.kind", "none", TSIM_ERR_INFEASIBLE, "cluster.node.scale_up.kind",
     "4 accelerators without links between them", "kind: switch, mesh or pcie"},
    {"cluster.fabric.oversubscription", "0.5", TSIM_ERR_RANGE, "cluster.fabric.oversubscription", "is below 1",
     "2 means that the uplinks carry half of what the ports below them can send"},
    {"cluster.fabric.efficiency", "1.5", TSIM_ERR_RANGE, "cluster.fabric.efficiency", "1.5 is out of range",
     "must be at most 1"},
};

START_TEST(rules) {
    const struct rule *c = &RULES[_i];
    const struct tsim_scenario *scenario = load_set(c->path, c->value);
    if (c->status == TSIM_OK) {
        must(scenario);
        return;
    }
    ck_assert_ptr_null(scenario);
    ck_assert_str_eq(diags.items[0].message, c->message);
    ck_assert_str_eq(diags.items[0].hint, c->hint);
    ck_assert_str_eq(diags.items[0].field, c->field);
    ck_assert_int_eq(diags.items[0].status, c->status);
}
END_TEST

/* Rules that take more than one setting. */
static const struct pair_rule {
    struct tsim_override sets[3];
    size_t n_sets;
    const char *message, *hint;
} PAIR_RULES[] = {
    {{{"parallelism.virtual_pipeline", "2"}, {"training.global_batch_size", "12"}},
     2,
     "12 gives 3 micro-batches to each replica; interleaving needs a multiple of pipeline 2",
     "nearest that works: global_batch_size 8 or 16"},
    {{{"parallelism.virtual_pipeline", "2"}, {"parallelism.pipeline", "1"}},
     2,
     "2 chunks per stage, but there is one stage",
     "virtual_pipeline: 1, or pipeline above 1"},
    {{{"parallelism.virtual_pipeline", "2"}, {"parallelism.schedule", "gpipe"}},
     2,
     "gpipe takes one chunk per stage, not virtual_pipeline 2",
     "schedule: interleaved, or virtual_pipeline: 1"},
    {{{"parallelism.virtual_pipeline", "2"}, {"parallelism.schedule", "zb-v"}},
     2,
     "zb-v has two chunks per stage of its own, not 2",
     "leave virtual_pipeline out, or schedule: interleaved"},
    {{{"parallelism.schedule", "zb-v"}, {"model.layers", "9"}},
     2,
     "9 layers do not split into 2 x pipeline 2 = 4 parts of zb-v",
     "nearest that works: pipeline 1; or layers_per_stage as a list"},
    {{{"parallelism.schedule", "zb-v"}, {"parallelism.layers_per_stage", "[4, 4]"}},
     2,
     "2 entries for zb-v, which has 4 parts with pipeline 2",
     "one entry for each part, in model order"},
    {{{"parallelism.schedule", "zb-v"}, {"training.global_batch_size", "8"}},
     2,
     "8 gives 2 micro-batches to each replica; zb-v with pipeline 2 needs at least 3",
     "nearest that works: global_batch_size 12"},
    {{{"parallelism.schedule", "dualpipe"}, {"training.global_batch_size", "8"}},
     2,
     "8 gives 2 micro-batches to each replica; dualpipe with pipeline 2 needs at least 4",
     "nearest that works: global_batch_size 16"},
    {{{"parallelism.schedule", "dualpipe"}, {"training.global_batch_size", "20"}},
     2,
     "20 gives 5 micro-batches to each replica; dualpipe needs an even number",
     "nearest that works: global_batch_size 16 or 24"},
    {{{"parallelism.schedule", "dualpipe"}, {"parallelism.pipeline", "1"}},
     2,
     "dualpipe needs an even number of stages, not 1",
     "nearest that works: pipeline 2; or schedule: zb-h1"},
    {{{"training.tokens", "1 M"}, {"training.steps", "4"}},
     2,
     "the length of the run is given twice",
     "training.tokens says it already"},
    {{{"parallelism.context", "2"}, {"training.sequence_length", "130"}},
     2,
     "130 is not divisible by 2 x context 2 (each rank takes an early and a late piece)",
     "nearest that works: sequence_length 128 or 132"},
    {{{"model.position", "learned"}, {"model.positions", "64"}},
     2,
     "128, but inline has 64 learned positions",
     "at most 64"},
    {{{"cluster.nodes", "3"}, {"parallelism.pipeline", "4"}, {"parallelism.tensor", "4"}},
     3,
     "tensor 4 x context 1 x pipeline 4 is 16, which does not divide the 12 accelerators",
     "nearest that works: pipeline 1; or tensor 1"},
    {{{"parallelism.pipeline", "4"}, {"parallelism.layers_per_stage", "[0, 8, 0, 0]"}},
     2,
     "a chunk between the first and the last has no layers",
     "only the chunks with the embedding and the head can be without"},
    {{{"parallelism.tensor", "4"}, {"parallelism.zero_group", "node"}, {"cluster.accelerators_per_node", "2"}},
     3,
     "nodes of 2 with tensor 4 do not cut data 1 x context 1 into equal groups",
     "all, or a divisor of 1"},
};

START_TEST(rules_of_several_keys) {
    const struct pair_rule *c = &PAIR_RULES[_i];
    ck_assert_ptr_null(load_with(path_of("base.yaml"), c->sets, c->n_sets));
    size_t i = 0;
    while (i < diags.n_items && (diags.items[i].is_warning || strcmp(diags.items[i].message, c->message) != 0))
        i++;
    ck_assert_msg(i < diags.n_items, "%s", diags.items[0].message);
    ck_assert_str_eq(diags.items[i].hint, c->hint);
}
END_TEST

static const struct effect {
    struct tsim_override sets[2];
    size_t n_sets;
    const char *field, *message;
} EFFECTS[] = {
    {{{"parallelism.tensor", "1"}, {"parallelism.sequence", "true"}},
     2,
     "parallelism.sequence",
     "has no effect: tensor is 1"},
    {{{"cluster.nodes", "1"}}, 1, "cluster.fabric", "has no effect: there is one node"},
    {{{"parallelism.schedule", "interleaved"}},
     1,
     "parallelism.schedule",
     "interleaved with virtual_pipeline 1 is 1f1b"},
    {{{"parallelism.schedule", "zb-h2"}, {"parallelism.pipeline", "1"}},
     2,
     "parallelism.schedule",
     "zb-h2 with pipeline 1 is 1f1b"},
    {{{"cluster.accelerators_per_node", "1"}},
     1,
     "parallelism.tensor",
     "tensor groups of 2 reach over nodes of 1: their traffic crosses the fabric"},
    {{{"parallelism.zero", "0"}, {"parallelism.zero_group", "2"}},
     2,
     "parallelism.zero_group",
     "has no effect: zero is 0"},
    {{{"parallelism.pipeline", "8"}, {"parallelism.zero", "1"}},
     2,
     "parallelism.zero",
     "has no effect: there is one replica"},
    {{{"software.attention_kernel", "unfused"}, {"training.attention", "flash"}},
     2,
     "training.attention",
     "framework has no flash attention: flash2 is taken"},
    {{{"model.positions", "128"}}, 1, "model.positions", "has no effect: the positions are not learned"},
};

START_TEST(settings_without_effect_are_warnings) {
    const struct effect *c = &EFFECTS[_i];
    must(load_with(path_of("base.yaml"), c->sets, c->n_sets));
    ck_assert_uint_eq(diags.n_warnings, 1);
    ck_assert_str_eq(diags.items[0].message, c->message);
    ck_assert_str_eq(diags.items[0].field, c->field);
}
END_TEST

START_TEST(fabric_is_needed_between_nodes) {
    const char *text = strstr(BASE, "  fabric:");
    const char *rest = strstr(text, "software:");
    write_file("nofabric.yaml", tsim_arena_printf(&arena, "%.*s%s", (int)(text - BASE), BASE, rest));
    ck_assert_ptr_null(load_with(path_of("nofabric.yaml"), NULL, 0));
    ck_assert_str_eq(diags.items[0].message, "4 nodes without a fabric between them");
    struct tsim_override one = {"cluster.nodes", "1"};
    ck_assert_ptr_null(must(load_with(path_of("nofabric.yaml"), &one, 1))->cluster.fabric);
}
END_TEST

/* Lines from top to bottom, whatever the order of the tables. */
START_TEST(mistakes_come_in_the_order_of_the_file) {
    write_file("bad.yaml", "parallelism: {tensr: 8}\n"
                           "training: {precision: bf17}\n"
                           "extends: base.yaml\n"
                           "schema: tsim/v2\n"
                           "cluster: {nodes: x}\n");
    ck_assert_ptr_null(load_with(path_of("bad.yaml"), NULL, 0));
    ck_assert_uint_eq(diags.n_errors, 4);
    static const int lines[] = {1, 2, 4, 5};
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(diags.items[i].at.line, lines[i]);
}
END_TEST

/* ---- extends and references ---- */

START_TEST(extending) {
    write_file("middle.yaml", "extends: base.yaml\nname: middle\ntraining: {global_batch_size: 32}\n");
    write_file("top.yaml", "extends: middle.yaml\nname: top\nparallelism: {tensor: 1}\n");
    const struct tsim_scenario *sc = must(load_with(path_of("top.yaml"), NULL, 0));
    ck_assert_str_eq(sc->name, "top");
    ck_assert_int_eq(sc->training.global_batch_size, 32);
    ck_assert_int_eq(sc->training.sequence_length, 128);
    ck_assert_int_eq(sc->parallelism.tensor, 1);
    ck_assert_int_eq(sc->parallelism.pipeline, 2);
    struct tsim_override set = {"training.global_batch_size", "64"}; /* beats the files */
    ck_assert_int_eq(must(load_with(path_of("top.yaml"), &set, 1))->training.global_batch_size, 64);
}
END_TEST

/* A mistake in a file that is taken over is shown there. */
START_TEST(places_of_what_is_taken_over) {
    write_file("wrong.yaml", "extends: base.yaml\ntraining: {precision: bf17}\n");
    write_file("top.yaml", "extends: ./wrong.yaml\nname: top\n");
    ck_assert_ptr_null(load_with(path_of("top.yaml"), NULL, 0));
    ck_assert_uint_eq(diags.n_errors, 1);
    ck_assert_str_eq(diags.items[0].at.file, tsim_arena_printf(&arena, "%s/./wrong.yaml", folder));
    ck_assert_int_eq(diags.items[0].at.line, 2);
    ck_assert_str_eq(diags.items[0].source_line, "training: {precision: bf17}");
}
END_TEST

START_TEST(cycles) {
    write_file("a.yaml", "extends: b.yaml\n");
    write_file("b.yaml", "extends: ./a.yaml\n"); /* another name of the same file */
    ck_assert_ptr_null(load_with(path_of("a.yaml"), NULL, 0));
    ck_assert_uint_eq(diags.n_errors, 1);
    ck_assert_str_eq(diags.items[0].message, "'./a.yaml' extends itself");
    ck_assert_str_eq(diags.items[0].hint,
                     tsim_arena_printf(&arena, "%s/a.yaml -> %s/b.yaml -> %s/./a.yaml", folder, folder, folder));
}
END_TEST

START_TEST(long_chains) {
    for (int i = 0; i < 20; i++)
        write_file(tsim_arena_printf(&arena, "c%d.yaml", i), tsim_arena_printf(&arena, "extends: c%d.yaml\n", i + 1));
    ck_assert_ptr_null(load_with(path_of("c0.yaml"), NULL, 0));
    ck_assert_str_eq(diags.items[0].message, "a chain of more than 16 files");
}
END_TEST

static void make_folder(const char *name) {
    ck_assert_int_eq(mkdir(path_of(name), 0700), 0);
}

/* A catalogue of our own, in $TSIM_DATA. */
static void make_catalogue(void) {
    make_folder("hardware");
    make_folder("hardware/fabrics");
    make_folder("hardware/nodes");
    write_file("hardware/fabrics/net-a.yaml",
               "schema: tsim/fabric/v1\nname: net-a\nsource: the box\nbandwidth: 100 Gb/s\n"
               "efficiency: {value: 0.7, source: measured, status: fitted}\nlatency: 2 us\n");
    write_file("hardware/fabrics/net-b.yaml",
               "schema: tsim/fabric/v1\nname: net-b\nsource: page 2\nextends: net-a\nlatency: 4 us\n");
    write_file("hardware/fabrics/wrong-name.yaml", "schema: tsim/fabric/v1\nname: other\n");
    write_file("hardware/fabrics/wrong-kind.yaml",
               "schema: tsim/node/v1\nname: wrong-kind\nbandwidth: 1 GB/s\nefficiency: 1\nlatency: 1 s\n");
    write_file("hardware/fabrics/.hidden.yaml", "name: hidden\n");
    write_file("hardware/fabrics/notes.txt", "no fabric\n");
    ck_assert_int_eq(setenv("TSIM_DATA", folder, 1), 0);
}

START_TEST(ids_and_paths) {
    make_catalogue();
    ck_assert_double_eq(must(load_set("cluster.fabric", "net-a"))->cluster.fabric->latency_s, 2e-6);
    const struct tsim_fabric *fabric = must(load_set("cluster.fabric", "net-b"))->cluster.fabric;
    ck_assert_double_eq(fabric->latency_s, 4e-6);
    ck_assert_double_eq(fabric->efficiency_frac, 0.7);
    ck_assert_str_eq(fabric->name, "net-b");
    struct tsim_override amend[] = {{"cluster.fabric", "net-b"}, {"cluster.fabric.bandwidth", "1 GB/s"}};
    fabric = must(load_with(path_of("base.yaml"), amend, 2))->cluster.fabric;
    ck_assert_double_eq(fabric->link_bytes_per_s, 1e9);
    ck_assert_double_eq(fabric->latency_s, 4e-6);
    write_file("user.yaml", "extends: base.yaml\ncluster: {fabric: hardware/fabrics/net-a.yaml}\n");
    ck_assert_str_eq(must(load_with(path_of("user.yaml"), NULL, 0))->cluster.fabric->name, "net-a");
}
END_TEST

static const struct wrong_id {
    const char *id, *message, *hint;
} WRONG_IDS[] = {
    {"net-c", "unknown fabric 'net-c'", "did you mean 'net-a'? 'tsim list fabrics' shows all"},
    {"zzz", "unknown fabric 'zzz'",
     "'tsim list fabrics' shows the 4 that there are; a file's path has a '/' or ends in .yaml"},
    {".hidden", "unknown fabric '.hidden'",
     "an id has letters, digits, '.', '_' and '-'; a file's path has a '/' or ends in .yaml"},
    {"'net a'", "unknown fabric 'net a'",
     "an id has letters, digits, '.', '_' and '-'; a file's path has a '/' or ends in .yaml"},
    {"wrong-name", "the name is not that of the file", "name: wrong-name"},
    {"wrong-kind", "expected 'tsim/fabric/v1', found 'tsim/node/v1'", ""},
    {"[net-a]", "expected an id, a path or a mapping, found a list", ""},
};

START_TEST(wrong_ids) {
    make_catalogue();
    ck_assert_ptr_null(load_set("cluster.fabric", WRONG_IDS[_i].id));
    ck_assert_uint_eq(diags.n_errors, 1);
    ck_assert_str_eq(diags.items[0].message, WRONG_IDS[_i].message);
    ck_assert_str_eq(diags.items[0].hint, WRONG_IDS[_i].hint);
}
END_TEST

START_TEST(catalogue_that_is_not_there) {
    ck_assert_int_eq(setenv("TSIM_DATA", path_of("nowhere"), 1), 0);
    ck_assert_ptr_null(load_set("cluster.fabric", "ib-ndr"));
    ck_assert_int_eq(diags.items[0].status, TSIM_ERR_IO);
    const char *const *ids;
    size_t n_ids;
    ck_assert_int_eq(tsim_catalogue_list(&arena, TSIM_CATALOGUE_NODES, &ids, &n_ids, &diags), TSIM_ERR_IO);
}
END_TEST

START_TEST(listing_and_describing) {
    make_catalogue();
    const char *const *ids;
    size_t n;
    ck_assert_int_eq(tsim_catalogue_list(&arena, TSIM_CATALOGUE_FABRICS, &ids, &n, &diags), TSIM_OK);
    ck_assert_uint_eq(n, 4);
    ck_assert_str_eq(ids[0], "net-a");
    ck_assert_str_eq(ids[3], "wrong-name");
    const struct tsim_catalogue_entry *entries;
    ck_assert_int_eq(tsim_catalogue_describe(&arena, TSIM_CATALOGUE_FABRICS, "net-b", &entries, &n, &diags), TSIM_OK);
    static const struct tsim_catalogue_entry expected[] = {
        {"name", "net-b", 0, NULL, "page 2", "read"},
        {"source", "page 2", 0, NULL, "page 2", "read"},
        {"bandwidth", "12500000000 B/s", 12.5e9, "B/s", "the box", "read"}, /* its own file's source */
        {"efficiency", "0.7", 0.7, "", "measured", "fitted"},
        {"latency", "4e-06 s", 4e-6, "s", "page 2", "read"},
        {"oversubscription", "1", 1, "", NULL, "default"},
        {"power_per_port", "0 W", 0, "W", NULL, "default"},
        {"unordered", "false", (double)NAN, NULL, NULL, "default"},
        {"topology", "crossbar", (double)NAN, NULL, NULL, "default"},
        {"routing", "ecmp", (double)NAN, NULL, NULL, "default"},
        {"rails", "false", (double)NAN, NULL, NULL, "default"},
    };
    ck_assert_uint_eq(n, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < n; i++) {
        ck_assert_str_eq(entries[i].key, expected[i].key);
        ck_assert_str_eq(entries[i].value_si, expected[i].value_si);
        ck_assert_pstr_eq(entries[i].unit, expected[i].unit);
        ck_assert_pstr_eq(entries[i].source, expected[i].source);
        ck_assert_str_eq(entries[i].status, expected[i].status);
        if (expected[i].unit)
            ck_assert_double_eq_tol(entries[i].number, expected[i].number, 1e-12 * expected[i].number + 1e-300);
    }
}
END_TEST

START_TEST(every_accelerator_has_a_single_node) {
    const struct tsim_node *node;
    ck_assert_int_eq(tsim_catalogue_load_node(&arena, "single-h100-sxm", &node, &diags), TSIM_OK);
    ck_assert_int_eq(node->accelerators, 1);
    ck_assert_int_eq(node->scale_up, TSIM_SCALE_UP_NONE);
    ck_assert_str_eq(node->accelerator->name, "h100-sxm");
    ck_assert_int_eq(tsim_catalogue_load_node(&arena, "single-nothing", &node, &diags), TSIM_ERR_REFERENCE);
}
END_TEST

/* ---- the resolved form reads back to the same ---- */

static void check_same(const struct tsim_scenario *a, const struct tsim_scenario *b) {
    ck_assert_str_eq(a->resolved_json, b->resolved_json);
    ck_assert_str_eq(a->name, b->name);
    ck_assert_int_eq(a->n_accelerators, b->n_accelerators);
    ck_assert_int_eq(a->n_microbatches, b->n_microbatches);
    ck_assert_int_eq(a->training.attention, b->training.attention);
    ck_assert_int_eq(a->training.recompute_every, b->training.recompute_every);
    ck_assert_int_eq(a->training.length_kind, b->training.length_kind);
    ck_assert(a->training.length == b->training.length);
    ck_assert(a->energy.price_usd_per_j == b->energy.price_usd_per_j);
    ck_assert(a->cost.rent_usd_per_s == b->cost.rent_usd_per_s);
    ck_assert_int_eq(a->parallelism.zero, b->parallelism.zero);
    ck_assert_int_eq(a->parallelism.zero_group_ranks, b->parallelism.zero_group_ranks);
    ck_assert_int_eq(a->parallelism.schedule, b->parallelism.schedule);
    ck_assert(a->cluster.node->accelerator->memory_bytes == b->cluster.node->accelerator->memory_bytes);
    ck_assert_int_eq(a->cluster.fabric == NULL, b->cluster.fabric == NULL);
    for (size_t i = 0; i < TSIM_N_METRICS; i++)
        ck_assert(a->measured.has[i] == b->measured.has[i] && a->measured.value[i] == b->measured.value[i]);
    ck_assert_uint_eq(a->n_estimates, b->n_estimates);
    for (size_t i = 0; i < a->n_estimates; i++)
        ck_assert_str_eq(a->estimates[i], b->estimates[i]);
}

static void check_reads_back(const struct tsim_scenario *scenario) {
    const char *path = write_file("resolved.json", scenario->resolved_json);
    check_same(scenario, must(load_with(path, NULL, 0)));
}

static const struct tsim_override CHOICES[][4] = {
    {{"parallelism.tensor", "1"},
     {"parallelism.tensor", "2"},
     {"parallelism.tensor", "4"},
     {"parallelism.tensor", "3"}},
    {{"parallelism.pipeline", "1"},
     {"parallelism.pipeline", "2"},
     {"parallelism.pipeline", "4"},
     {"parallelism.pipeline", "8"}},
    {{"parallelism.virtual_pipeline", "1"},
     {"parallelism.virtual_pipeline", "1"},
     {"parallelism.virtual_pipeline", "2"},
     {"parallelism.schedule", "gpipe"}},
    {{"parallelism.context", "1"},
     {"parallelism.context", "1"},
     {"parallelism.context", "2"},
     {"parallelism.sequence", "false"}},
    {{"parallelism.zero", "0"}, {"parallelism.zero", "1"}, {"parallelism.zero", "2"}, {"parallelism.zero", "3"}},
    {{"parallelism.zero_group", "all"},
     {"parallelism.zero_group", "node"},
     {"parallelism.zero_group", "2"},
     {"parallelism.overlap", "{tensor: true}"}},
    {{"training.recompute", "[attention, activation]"},
     {"training.recompute", "full"},
     {"training.recompute", "sqrt"},
     {"training.recompute", "{every: 2}"}},
    {{"training.tokens", "1.23 T"},
     {"training.samples", "1e7"},
     {"training.steps", "77"},
     {"training.precision", "fp32"}},
    {{"cluster.nodes", "1"},
     {"cluster.nodes", "2"},
     {"cluster.accelerators_per_node", "2"},
     {"cluster.accelerators_per_node", "all"}},
    {{"energy.price", "0.0731 USD/kWh"}, {"energy.pue", "1.0717"}, {"cost.rent", "0"}, {"cost.lifetime", "3.3 y"}},
    {{"software.attention_kernel", "unfused"},
     {"software.attention_kernel", "cudnn"},
     {"software.dropout", "0.1"},
     {"software.bucket", "40 M"}},
    {{"simulation.fold", "'off'"},
     {"simulation.network", "ideal"},
     {"simulation.seed", "9007199254740991"},
     {"description", "\"a \\\"b\\\"\\n\\tc\""}},
    {{"measured", "{source: s, mfu: 0.1, energy: 3.3 kWh}"},
     {"measured", "{source: \"x: y\", model_tflops_per_gpu: 137.7}"},
     {"parallelism.order", "[pipeline, data, expert, context, tensor]"},
     {"training.optimizer", "adam-8bit"}},
    {{"cluster.node.accelerator.memory", "{value: 17.3 GiB, source: x, status: estimate}"},
     {"cluster.node.purchase", "1 M USD"},
     {"model.gated_mlp", "true"},
     {"cluster.fabric.oversubscription", "1.7"}},
};

/* Random settings of known seeds; those that contradict each other are skipped, but not too many may. */
START_TEST(random_scenarios_read_back) {
    enum { N_CHOICES = sizeof CHOICES / sizeof CHOICES[0], N_CASES = 400 };
    struct random_source random = {4711};
    int n_good = 0;
    for (int i = 0; i < N_CASES; i++) {
        struct tsim_override sets[N_CHOICES];
        size_t n_sets = 0;
        for (size_t j = 0; j < N_CHOICES; j++)
            if (random_between(&random, 0, 2) == 0)
                sets[n_sets++] = CHOICES[j][random_between(&random, 0, 3)];
        const struct tsim_scenario *scenario = load_with(path_of("base.yaml"), sets, n_sets);
        if (scenario) {
            check_reads_back(scenario);
            n_good++;
        }
        tsim_diags_release(&diags);
        tsim_arena_reset(&arena);
    }
    ck_assert_int_gt(n_good, N_CASES / 4);
}
END_TEST

START_TEST(shipped_scenarios_read_back) {
    const char *const *ids;
    size_t n;
    struct tsim_arena own;
    tsim_arena_init(&own);
    ck_assert_int_eq(tsim_catalogue_list(&own, TSIM_CATALOGUE_SCENARIOS, &ids, &n, &diags), TSIM_OK);
    ck_assert_uint_gt(n, 0);
    for (size_t i = 0; i < n; i++) {
        check_reads_back(must(load_with(tsim_catalogue_file(&arena, TSIM_CATALOGUE_SCENARIOS, ids[i]), NULL, 0)));
        ck_assert_uint_eq(diags.n_errors, 0);
        tsim_arena_reset(&arena);
    }
    tsim_arena_release(&own);
}
END_TEST

/* ---- hostile input: BASE with bytes changed, lines dropped, doubled and swapped ---- */

static size_t mutate(struct random_source *random, char *text, size_t length) {
    static const char letters[] = ":{}[],-#&*!|>'\"% \n\t0129aez~\\";
    for (int i = random_between(random, 1, 6); i > 0; i--) {
        size_t at = (size_t)random_between(random, 0, (int32_t)length - 2);
        if (random_between(random, 0, 2) == 0) {
            size_t n = (size_t)random_between(random, 1, 40);
            n = n < length - at - 1 ? n : length - at - 1;
            memmove(text + at, text + at + n, length - at - n);
            length -= n;
        } else {
            text[at] = letters[random_between(random, 0, sizeof letters - 2)];
        }
    }
    text[length] = '\0';
    return length;
}

START_TEST(mutilated_scenarios) {
    struct random_source random = {99};
    for (int i = 0; i < 1500; i++) {
        char text[sizeof BASE];
        memcpy(text, BASE, sizeof BASE);
        mutate(&random, text, sizeof BASE - 1);
        load_with(write_file("mutilated.yaml", text), NULL, 0);
        tsim_diags_release(&diags);
        tsim_arena_reset(&arena);
    }
}
END_TEST

static const char *const EXTREMES[] = {"0",  "1",  "-1", "9007199254740992", "1e18", "1e308", "999999", "auto",
                                       "[]", "{}", "~"};
static const char *const NUMBERS[] = {
    "model.layers",
    "model.hidden",
    "model.heads",
    "model.vocab",
    "cluster.nodes",
    "parallelism.tensor",
    "parallelism.pipeline",
    "parallelism.virtual_pipeline",
    "parallelism.context",
    "parallelism.data",
    "parallelism.zero_group",
    "training.global_batch_size",
    "training.sequence_length",
    "training.micro_batch_size",
    "simulation.steps",
    "simulation.seed",
    "cluster.node.accelerators",
    "cluster.accelerators_per_node",
    "parallelism.layers_per_stage",
    "training.tokens",
};

START_TEST(extreme_numbers) {
    for (size_t i = 0; i < sizeof EXTREMES / sizeof EXTREMES[0]; i++)
        for (size_t j = 0; j < sizeof NUMBERS / sizeof NUMBERS[0]; j++) {
            struct tsim_override sets[] = {{NUMBERS[_i], EXTREMES[i]},
                                           {NUMBERS[j], i % 2 ? "10000" : "1e6"},
                                           {"cluster.nodes", "1 M"},
                                           {"cluster.node.accelerators", "10 k"}};
            load_with(path_of("base.yaml"), sets, j % 2 ? 4 : 2);
            tsim_diags_release(&diags);
            tsim_arena_reset(&arena);
        }
}
END_TEST

#define LENGTH(array) ((int)(sizeof(array) / sizeof(array)[0]))

static Suite *scenario_suite(void) {
    Suite *suite = suite_create("scenario");
    TCase *tcase = tcase_create("scenario");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, defaults);
    tcase_add_test(tcase, words);
    tcase_add_test(tcase, layers);
    tcase_add_test(tcase, recomputation);
    tcase_add_test(tcase, sharding_groups);
    tcase_add_test(tcase, run_length);
    tcase_add_test(tcase, overlap_of_the_scenario_wins);
    tcase_add_test(tcase, learned_positions_bound_the_default_length);
    tcase_add_loop_test(tcase, shape_of_a_torus, 0, LENGTH(TORI));
    tcase_add_test(tcase, measured);
    tcase_add_test(tcase, settings_reach_into_the_machine);
    tcase_add_test(tcase, estimates_that_enter);
    tcase_add_loop_test(tcase, rules, 0, LENGTH(RULES));
    tcase_add_loop_test(tcase, rules_of_several_keys, 0, LENGTH(PAIR_RULES));
    tcase_add_loop_test(tcase, settings_without_effect_are_warnings, 0, LENGTH(EFFECTS));
    tcase_add_test(tcase, fabric_is_needed_between_nodes);
    tcase_add_test(tcase, mistakes_come_in_the_order_of_the_file);
    tcase_add_test(tcase, extending);
    tcase_add_test(tcase, places_of_what_is_taken_over);
    tcase_add_test(tcase, cycles);
    tcase_add_test(tcase, long_chains);
    tcase_add_test(tcase, ids_and_paths);
    tcase_add_loop_test(tcase, wrong_ids, 0, LENGTH(WRONG_IDS));
    tcase_add_test(tcase, catalogue_that_is_not_there);
    tcase_add_test(tcase, listing_and_describing);
    tcase_add_test(tcase, every_accelerator_has_a_single_node);
    tcase_add_test(tcase, random_scenarios_read_back);
    tcase_add_test(tcase, shipped_scenarios_read_back);
    tcase_add_test(tcase, mutilated_scenarios);
    tcase_add_loop_test(tcase, extreme_numbers, 0, LENGTH(NUMBERS));
    suite_add_tcase(suite, tcase);
    return suite;
}

TSIM_TEST_MAIN(scenario_suite)
