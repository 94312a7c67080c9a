/* Scenarios: defaults, references, `extends`, --set, and a resolved form that reads back (rules:
 * test_scenario_rules.c). */
#include "config/catalogue_load.h"
#include "config/text/value.h"
#include "support/random.h"
#include "support/scenario_rig.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- defaults ---- */

TSIM_TEST(defaults) {
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

TSIM_TEST(words) {
    ck_assert_str_eq(tsim_precision_name(TSIM_FP8), "fp8");
    ck_assert_str_eq(tsim_optimizer_name(TSIM_GALORE_8BIT), "galore-8bit");
    ck_assert_str_eq(tsim_recompute_name(TSIM_RECOMPUTE_EVERY), "every");
    ck_assert_str_eq(tsim_schedule_name(TSIM_SCHEDULE_DUALPIPE), "dualpipe");
    ck_assert_str_eq(tsim_metric_name(TSIM_METRIC_STEP_TIME), "step_time");
    ck_assert_str_eq(tsim_metric_name(TSIM_METRIC_MODEL_TFLOPS_PER_GPU), "model_tflops_per_gpu");
    ck_assert_str_eq(tsim_metric_name(TSIM_METRIC_ENERGY), "energy");
}

/* ---- one setting, what it resolves to ---- */

TSIM_TEST(layers) {
    const struct tsim_override interleaved[] = {{"parallelism.virtual_pipeline", "2"}};
    const struct tsim_scenario *sc = must(load_with(path_of("base.yaml"), interleaved, 1));
    ck_assert_int_eq(sc->parallelism.schedule, TSIM_SCHEDULE_INTERLEAVED);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(sc->parallelism.layers_per_chunk[i], 2);
    /* Ten layers in four chunks are (10 + 2) / 4 = 3, and one fewer for embedding and head. */
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
    ck_assert(sc->parallelism.overlap.expert); /* its pairs are there for that */
    ck_assert_int_eq(sc->parallelism.layers_per_chunk[1], 4);
}

TSIM_TEST(recomputation) {
    ck_assert_int_eq(must(load_set("training.recompute", "{every: 3}"))->training.recompute_every, 3);
    ck_assert_uint_eq(tsim_recompute_parts(must(load_set("training.recompute", "[norms, ffn]"))),
                      TSIM_RECOMPUTE_NORMS | TSIM_RECOMPUTE_FFN);
    ck_assert_uint_eq(tsim_recompute_parts(must(load_set("training.recompute", "selective"))),
                      TSIM_RECOMPUTE_ATTENTION);
    ck_assert_int_eq(must(load_set("training.recompute", "[]"))->training.recompute, TSIM_RECOMPUTE_NONE);
    ck_assert_int_eq(must(load_set("training.recompute.every", "3"))->training.recompute, TSIM_RECOMPUTE_EVERY);
    ck_assert_int_eq(must(load_set("training.recompute.layers", "1"))->training.recompute, TSIM_RECOMPUTE_LAYERS);
    ck_assert_double_eq(tsim_recomputed_frac(must(load_set("training.recompute", "{layers: 1}"))), 0.25);
    ck_assert_ptr_null(load_set("training.recompute", "{layers: 1, every: 2}"));
    ck_assert_int_eq(must(load_set("training.recompute", "sqrt"))->training.recompute_every, 2); /* 4 layers a stage */
    ck_assert_int_eq(must(load_set("training.recompute", "full"))->training.recompute, TSIM_RECOMPUTE_FULL);
}

TSIM_TEST(sharding_groups) {
    ck_assert_int_eq(must(load_set("parallelism.zero_group", "2"))->parallelism.zero_group_ranks, 2);
    /* A node of four holds two replicas of tensor 2. */
    ck_assert_int_eq(must(load_set("parallelism.zero_group", "node"))->parallelism.zero_group_ranks, 2);
    ck_assert_int_eq(must(load_set("parallelism.context", "2"))->parallelism.zero_group_ranks,
                     4); /* data 2 x context 2 */
}

TSIM_TEST(run_length) {
    const struct tsim_scenario *sc = must(load_set("training.tokens", "2 T"));
    ck_assert_int_eq(sc->training.length_kind, TSIM_LENGTH_TOKENS);
    ck_assert_double_eq(sc->training.length, 2e12);
    sc = must(load_set("training.steps", "5"));
    ck_assert_int_eq(sc->training.length_kind, TSIM_LENGTH_STEPS);
}

TSIM_TEST(overlap_of_the_scenario_wins) {
    const struct tsim_scenario *sc = must(load_set("parallelism.overlap", "{gradients: false, pipeline: true}"));
    ck_assert(!sc->parallelism.overlap.gradients);
    ck_assert(sc->parallelism.overlap.pipeline);
    ck_assert(sc->software->overlap.gradients);
}

TSIM_TEST(learned_positions_bound_the_default_length) {
    const struct tsim_override sets[] = {
        {"model", "{layers: 8, hidden: 64, heads: 8, vocab: 9, position: learned, positions: 256}"},
        {"training", "{global_batch_size: 16}"}};
    ck_assert_int_eq(must(load_with(path_of("base.yaml"), sets, 2))->training.sequence_length, 256);
    ck_assert_int_eq(must(load_with(path_of("base.yaml"), sets, 2))->model->ffn_hidden, 256); /* 4 x 64 */
}

/* The shape is as even as can be, with multiples of `wrap` in every dimension where the number allows it. */
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

TSIM_TEST_ROWS(shape_of_a_torus, TORI) {
    const struct torus_case *c = &TORI[_i];
    const struct tsim_override sets[] = {{"cluster.fabric.topology", "torus"},
                                         {"cluster.fabric.torus", c->torus},
                                         {"cluster.nodes", c->nodes},
                                         {"training.global_batch_size", "768"}};
    const struct tsim_scenario *sc = must(load_with(path_of("base.yaml"), sets, 4));
    for (int d = 0; d < 3; d++)
        ck_assert_int_eq(sc->cluster.torus_shape[d], c->shape[d]);
}

TSIM_TEST(measured) {
    const struct tsim_scenario *sc =
        must(load_set("measured", "{source: s, step_time: 3 s, mfu: 51.4 %, model_tflops_per_gpu: 137,"
                                  " tokens_per_s: 93000, memory_peak: 70 GB}"));
    ck_assert_double_eq(sc->measured.value[TSIM_METRIC_STEP_TIME], 3);
    ck_assert_double_eq_tol(sc->measured.value[TSIM_METRIC_MFU], 0.514, 1e-15);
    ck_assert_double_eq(sc->measured.value[TSIM_METRIC_MODEL_TFLOPS_PER_GPU], 137e12);
    ck_assert_double_eq(sc->measured.value[TSIM_METRIC_MEMORY_PEAK], 70e9);
    ck_assert(sc->measured.has[TSIM_METRIC_TOKENS_PER_S]);
    ck_assert(!sc->measured.has[TSIM_METRIC_HFU]);
    ck_assert_uint_eq(diags.n_warnings, 0);
    must(load_set("measured", "{source: s, doubtful: it was read off a picture}"));
    ck_assert_uint_eq(diags.n_warnings, 1);
    assert_says(diags.items[0].message, "no effect");
}

/* Bare numbers are SI in a --set, and numbers below an id or a mapping amend it. */
TSIM_TEST(settings_reach_into_the_machine) {
    ck_assert_double_eq(must(load_set("cluster.fabric.bandwidth", "25e9 B/s"))->cluster.fabric->link_bytes_per_s, 25e9);
    const struct tsim_scenario *sc = must(load_set("cluster.node.accelerator.memory", "32 GB"));
    ck_assert_double_eq(sc->cluster.node->accelerator->memory_bytes, 32e9);
    ck_assert_int_eq(sc->cluster.node->accelerators, 4);
    ck_assert_double_eq(must(load_set("software.dropout", "0.1"))->software->dropout, 0.1);
}

TSIM_TEST(estimates_that_enter) {
    const struct tsim_scenario *sc = must(load_with(path_of("base.yaml"), NULL, 0));
    ck_assert_uint_eq(sc->n_estimates, 2); /* neither fp32's rate nor flash3's */
    ck_assert_str_eq(sc->estimates[0], "chip efficiency.matrix_sustained.bf16");
    ck_assert_str_eq(sc->estimates[1], "chip power.limit");
    sc = must(load_set("software.attention_kernel", "cudnn"));
    ck_assert_uint_eq(sc->n_estimates, 3);
}

/* ---- extends and references ---- */

TSIM_TEST(extending) {
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

/* A mistake in a file that is taken over is shown there. */
TSIM_TEST(places_of_what_is_taken_over) {
    write_file("wrong.yaml", "extends: base.yaml\ntraining: {precision: bf17}\n");
    write_file("top.yaml", "extends: ./wrong.yaml\nname: top\n");
    ck_assert_ptr_null(load_with(path_of("top.yaml"), NULL, 0));
    ck_assert_uint_eq(diags.n_errors, 1);
    ck_assert_str_eq(diags.items[0].at.file, tsim_arena_printf(&arena, "%s/./wrong.yaml", folder));
    ck_assert_int_eq(diags.items[0].at.line, 2);
    ck_assert_str_eq(diags.items[0].source_line, "training: {precision: bf17}");
}

TSIM_TEST(cycles) {
    write_file("a.yaml", "extends: b.yaml\n");
    write_file("b.yaml", "extends: ./a.yaml\n"); /* another name of the same file */
    ck_assert_ptr_null(load_with(path_of("a.yaml"), NULL, 0));
    ck_assert_uint_eq(diags.n_errors, 1);
    ck_assert_str_eq(diags.items[0].message, "'./a.yaml' extends itself");
    ck_assert_str_eq(diags.items[0].hint,
                     tsim_arena_printf(&arena, "%s/a.yaml -> %s/b.yaml -> %s/./a.yaml", folder, folder, folder));
}

TSIM_TEST(long_chains) {
    for (int i = 0; i < 20; i++)
        write_file(tsim_arena_printf(&arena, "c%d.yaml", i), tsim_arena_printf(&arena, "extends: c%d.yaml\n", i + 1));
    ck_assert_ptr_null(load_with(path_of("c0.yaml"), NULL, 0));
    ck_assert_str_eq(diags.items[0].message, "a chain of more than 16 files");
}

static void write_keys(const char *name, const char *extends, char prefix, int n_keys) {
    char *text = tsim_arena_alloc(&arena, 32 + 16 * (size_t)n_keys);
    size_t n = (size_t)sprintf(text, "extends: %s\n", extends);
    for (int i = 0; i < n_keys; i++)
        n += (size_t)sprintf(text + n, "%c%d: 1\n", prefix, i);
    write_file(name, text);
}

/* Each within the limits of a file, together beyond them. */
TSIM_TEST(files_that_are_too_large_together) {
    write_keys("a.yaml", "base.yaml", 'a', TSIM_VALUE_MAX_KEYS / 2);
    write_keys("b.yaml", "a.yaml", 'b', TSIM_VALUE_MAX_KEYS / 2);
    ck_assert_ptr_null(load_with(path_of("b.yaml"), NULL, 0));
    ck_assert_uint_eq(diags.n_errors, 1);
    assert_says(diags.items[0].message, "together are too large");
}

/* A list within the limits that a setting makes too large, and one too deep. */
TSIM_TEST(settings_that_grow_too_large) {
    char *text = tsim_arena_alloc(&arena, 2 * TSIM_VALUE_MAX_NODES + 100);
    text[0] = '[';
    for (int i = 1; i < TSIM_VALUE_MAX_NODES; i++)
        memcpy(text + 2 * i - 1, "1,", 2);
    strcat(text, "]");
    ck_assert_ptr_null(load_set("measured", text));
    ck_assert_str_eq(diags.items[0].message, "the scenario gets too deep or too large");
    char deep[200] = "";
    for (int i = 0; i < TSIM_VALUE_MAX_HEIGHT - 2; i++)
        strcat(deep, "[");
    for (int i = 0; i < TSIM_VALUE_MAX_HEIGHT - 2; i++)
        strcat(deep, "]");
    ck_assert_ptr_null(load_set("measured.a.b.c", deep));
    ck_assert_str_eq(diags.items[1].message, "the scenario gets too deep or too large");
}

static void make_folder(const char *name) {
    ck_assert_int_eq(mkdir(path_of(name), 0700), 0);
}

/* Makes a catalogue of our own, in $TSIM_DATA. */
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

TSIM_TEST(ids_and_paths) {
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

static const struct wrong_id {
    const char *id, *message, *hint;
} WRONG_IDS[] = {
    {"net-c", "unknown fabric 'net-c'", "did you mean 'net-a'?"},
    {"zzz", "unknown fabric 'zzz'", "or ends in .yaml"},
    {".hidden", "unknown fabric '.hidden'", "or ends in .yaml"},
    {"'net a'", "unknown fabric 'net a'", "or ends in .yaml"},
    {".yml", "unknown fabric '.yml'", "or ends in .yaml"},
    {"a1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789",
     "unknown fabric 'a1234567890123456789012345678901234567890123456789012345678901234567890123456789'",
     "or ends in .yaml"},
    {"wrong-name", "that of the file", "name: wrong-name"},
    {"wrong-kind", "expected 'tsim/fabric/v1', found 'tsim/node/v1'", ""},
    {"[net-a]", "mapping, found a list", ""},
};

TSIM_TEST_ROWS(wrong_ids, WRONG_IDS) {
    make_catalogue();
    ck_assert_ptr_null(load_set("cluster.fabric", WRONG_IDS[_i].id));
    ck_assert_uint_eq(diags.n_errors, 1);
    assert_says(diags.items[0].message, WRONG_IDS[_i].message);
    assert_says(diags.items[0].hint, WRONG_IDS[_i].hint);
}

TSIM_TEST(catalogue_that_is_not_there) {
    ck_assert_int_eq(setenv("TSIM_DATA", path_of("nowhere"), 1), 0);
    ck_assert_ptr_null(load_set("cluster.fabric", "ib-ndr"));
    ck_assert_int_eq(diags.items[0].status, TSIM_ERR_IO);
    const char *const *ids;
    size_t n_ids;
    ck_assert_int_eq(tsim_catalogue_list(&arena, TSIM_CATALOGUE_NODES, &ids, &n_ids, &diags), TSIM_ERR_IO);
}

/* An unknown id leaves the pointer as it was. */
TSIM_TEST(loading_by_id) {
    make_catalogue();
    const struct tsim_model *model = NULL;
    const struct tsim_accelerator *accelerator = NULL;
    const struct tsim_node *node = NULL;
    const struct tsim_fabric *fabric = NULL, *found = NULL;
    const struct tsim_software *software = NULL;
    const struct tsim_region *region = NULL;
    ck_assert_int_eq(tsim_catalogue_load_model(&arena, "no", &model, &diags), TSIM_ERR_REFERENCE);
    ck_assert_int_eq(tsim_catalogue_load_accelerator(&arena, "no", &accelerator, &diags), TSIM_ERR_REFERENCE);
    ck_assert_int_eq(tsim_catalogue_load_node(&arena, "no", &node, &diags), TSIM_ERR_REFERENCE);
    ck_assert_int_eq(tsim_catalogue_load_fabric(&arena, "no", &fabric, &diags), TSIM_ERR_REFERENCE);
    ck_assert_int_eq(tsim_catalogue_load_software(&arena, "no", &software, &diags), TSIM_ERR_REFERENCE);
    ck_assert_int_eq(tsim_catalogue_load_region(&arena, "no", &region, &diags), TSIM_ERR_REFERENCE);
    ck_assert(!model && !accelerator && !node && !fabric && !software && !region);
    ck_assert_uint_eq(diags.n_errors, 6);
    ck_assert_int_eq(tsim_catalogue_load_fabric(&arena, "net-a", &found, &diags), TSIM_OK);
    ck_assert_str_eq(found->name, "net-a");
}

/* A scenario of the same name among the published ones hides nothing and is listed once. */
TSIM_TEST(an_id_in_two_folders) {
    make_catalogue();
    make_folder("scenarios");
    make_folder("scenarios/published");
    write_file("scenarios/job.yaml", "name: job\n");
    write_file("scenarios/published/job.yaml", "name: job\n");
    const char *const *ids;
    size_t n;
    ck_assert_int_eq(tsim_catalogue_list(&arena, TSIM_CATALOGUE_SCENARIOS, &ids, &n, &diags), TSIM_OK);
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(tsim_catalogue_file(&arena, TSIM_CATALOGUE_SCENARIOS, "job"), path_of("scenarios/job.yaml"));
}

TSIM_TEST(listing_and_describing) {
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

TSIM_TEST(every_accelerator_has_a_single_node) {
    const struct tsim_node *node;
    ck_assert_int_eq(tsim_catalogue_load_node(&arena, "single-h100-sxm", &node, &diags), TSIM_OK);
    ck_assert_int_eq(node->accelerators, 1);
    ck_assert_int_eq(node->scale_up, TSIM_SCALE_UP_NONE);
    ck_assert_str_eq(node->accelerator->name, "h100-sxm");
    ck_assert_int_eq(tsim_catalogue_load_node(&arena, "single-nothing", &node, &diags), TSIM_ERR_REFERENCE);
}

/* ---- the resolved form reads back to the same ---- */

static void check_same(const struct tsim_scenario *a, const struct tsim_scenario *b) {
    ck_assert_str_eq(tsim_scenario_json(&arena, a), tsim_scenario_json(&arena, b));
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
    const char *path = write_file("resolved.json", tsim_scenario_json(&arena, scenario));
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
TSIM_TEST(random_scenarios_read_back) {
    enum { N_CHOICES = sizeof CHOICES / sizeof CHOICES[0] };
    const int n_cases = (int)random_cases(40);
    struct random_source random = {4711};
    int n_good = 0;
    for (int i = 0; i < n_cases; i++) {
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
    ck_assert_int_gt(n_good, n_cases / 4);
}

TSIM_TEST(shipped_scenarios_read_back) {
    const char *const *ids;
    size_t n;
    struct tsim_arena own;
    tsim_arena_init(&own);
    ck_assert_int_eq(tsim_catalogue_list(&own, TSIM_CATALOGUE_SCENARIOS, &ids, &n, &diags), TSIM_OK);
    ck_assert_uint_gt(n, 0);
    const size_t every = getenv("TSIM_CASES") ? 1 : 12;
    for (size_t i = 0; i < n; i += every) {
        check_reads_back(must(load_with(tsim_catalogue_file(&arena, TSIM_CATALOGUE_SCENARIOS, ids[i]), NULL, 0)));
        ck_assert_uint_eq(diags.n_errors, 0);
        tsim_arena_reset(&arena);
    }
    tsim_arena_release(&own);
}

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

TSIM_TEST(mutilated_scenarios) {
    struct random_source random = {99};
    const long n_cases = random_cases(75);
    for (long i = 0; i < n_cases; i++) {
        char text[sizeof BASE];
        memcpy(text, BASE, sizeof BASE);
        mutate(&random, text, sizeof BASE - 1);
        load_with(write_file("mutilated.yaml", text), NULL, 0);
        tsim_diags_release(&diags);
        tsim_arena_reset(&arena);
    }
}

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

TSIM_TEST_ROWS(extreme_numbers, NUMBERS) {
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

/* A rate that a text says of its own wire reaches the same share of another text's; one that is said beside that, or
 * after it, stays as it is said. DGX H100: 365 of 450 GB/s, in the switch 480. */
TSIM_TEST(a_ring_follows_its_wire) {
    static const struct {
        const char *node;
        double ring, reduce;
    } CASES[] = {{"dgx-h100", 365e9, 480e9},
                 {"{extends: dgx-h100, scale_up: {bandwidth: 900 GB/s}}", 730e9, 960e9},
                 {"{extends: dgx-h100, scale_up: {bandwidth: 900 GB/s, ring_bandwidth: 400 GB/s}}", 400e9, 960e9},
                 {"{extends: dgx-h100, scale_up: {ring_bandwidth: 400 GB/s}}", 400e9, 480e9}};
    for (int i = 0; i < LENGTH(CASES); i++) {
        const struct tsim_scenario *sc = must(load_set("cluster.node", CASES[i].node));
        ck_assert_double_eq_tol(sc->cluster.node->scale_up_ring_bytes_per_s, CASES[i].ring, 1);
        ck_assert_double_eq_tol(sc->cluster.node->scale_up_reduce_bytes_per_s, CASES[i].reduce, 1);
    }
    const struct tsim_override sets[] = {{"cluster.node", "dgx-h100"},
                                         {"cluster.node.scale_up.bandwidth", "900 GB/s"},
                                         {"cluster.node.scale_up.bandwidth", "225 GB/s"}};
    const struct tsim_scenario *sc = must(load_with(path_of("base.yaml"), sets, 3));
    ck_assert_double_eq_tol(sc->cluster.node->scale_up_ring_bytes_per_s, 182.5e9, 1);
}

TSIM_MAIN(60, set_up, tear_down)
