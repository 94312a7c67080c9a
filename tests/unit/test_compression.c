/* Compressed gradients: bytes, kernels and memory against counts by hand. */
#include "cost/compute.h"
#include "model/compression.h"
#include "step/step.h"
#include "support/training_rig.h"

#include <math.h>

/* The model has two layers of width 512: q, k, v and output of h x h, up and down of h x 4h, one table of 4,096 x h,
 * and norms. */
enum { H = 512, LAYERS = 2, VOCAB = 4096, N_MATRICES = 6 * LAYERS + 1 };
static const double MATRICES = LAYERS * 12.0 * H * H + (double)VOCAB * H;
static const double ROWS_AND_COLUMNS = LAYERS * 18.0 * H + VOCAB + H;

static struct tsim_result run(const char *compression, int nodes) {
    return train(load_text(tsim_arena_printf(
        &arena,
        "schema: tsim/v1\nname: c\n"
        "model: {layers: %d, hidden: %d, heads: 8, vocab: %d, position: rope, tied_embeddings: true, gated_mlp: "
        "false}\n"
        "cluster: {node: dgx-1v, nodes: %d, accelerators_per_node: 1, fabric: ethernet-10}\n"
        "training: {sequence_length: 128, global_batch_size: %d, micro_batch_size: 4, precision: fp16, "
        "gradient_precision: fp32, optimizer: adam%s}\n"
        "software: {extends: megatron-2022, host_time_per_op: 0 us}\n"
        "parallelism: {zero: 0, overlap: {gradients: false}}\n"
        "simulation: {network: ideal}\n",
        LAYERS, H, VOCAB, nodes, 4 * nodes, compression)));
}

static double exposed_s(const struct tsim_result *result) {
    return result->step.terms.exposed_data_s;
}

static double memory_rate(const struct tsim_result *result) {
    return tsim_memory_rate(result->scenario->cluster.node->accelerator);
}

static double nic_rate(const struct tsim_result *result) {
    return tsim_machine_of(&arena, result->scenario, NULL).cluster->nic_bytes_per_s;
}

/* Eight bytes for each element that a rank sends; of 4 ranks it gets those of 3. A sector comes and goes for each
 * sum. */
TSIM_TEST(top_k_gathers_what_all_send) {
    struct tsim_result few = run(", compression: {kind: top-k}", 4),
                       more = run(", compression: {kind: top-k, fraction: 1.1 %}", 4);
    ck_assert_double_eq(few.scenario->training.compression.fraction, 0.001);
    double elements = 0.01 * few.step.parameters;
    SAME(exposed_s(&more) - exposed_s(&few),
         3 * 8 * elements / nic_rate(&few) + (1 + 2 * 4) * 32 * elements / memory_rate(&few));
    SAME(more.step.memory.buffers_bytes - few.step.memory.buffers_bytes, 4 * 8 * elements);
}

/* One column more in P and Q of each matrix is one more in an all-reduce among 4 of both, and seven kernels a
 * matrix. */
TSIM_TEST(powersgd_sends_thin_factors) {
    struct tsim_result plain = run("", 4), two = run(", compression: {kind: powersgd, rank: 2}", 4),
                       three = run(", compression: {kind: powersgd, rank: 3}", 4);
    double latency_s = two.scenario->cluster.node->accelerator->kernel_latency_s;
    SAME(exposed_s(&three) - exposed_s(&two),
         2 * 0.75 * 4 * ROWS_AND_COLUMNS / nic_rate(&two) + 7 * N_MATRICES * latency_s);
    SAME(two.step.memory.buffers_bytes - plain.step.memory.buffers_bytes, 4 * (MATRICES + 2 * ROWS_AND_COLUMNS));
    ck_assert_double_lt(exposed_s(&two), exposed_s(&plain));
}

/* A bit goes to the rank that sums it, and one comes back: 2 x 3/4 of an eighth of a byte, in place of 2 x 3/4 x 4. */
TSIM_TEST(one_bit_is_a_32nd) {
    struct tsim_result plain = run("", 4), signs = run(", compression: {kind: 1-bit}", 4);
    struct tsim_compression_cost each;
    double n = plain.step.parameters, rate = nic_rate(&plain);
    tsim_compression_cost(signs.scenario, 4, &each);
    SAME(exposed_s(&plain) - exposed_s(&signs),
         1.5 * (4 - 1.0 / 8) * n / rate - each.traffic_bytes * n / memory_rate(&plain));
    SAME(signs.step.memory.buffers_bytes - plain.step.memory.buffers_bytes, (4 + 4.0 / 4) * n);
}

/* The more ranks gather, the more comes to each: of 32 a 32nd of the elements is as much as an all-reduce moves, 8
 * bytes. */
TSIM_TEST(top_k_loses_among_many) {
    struct tsim_compression_cost few, many;
    const struct tsim_scenario *sc = run(", compression: {kind: top-k, fraction: 3.125 %}", 2).scenario;
    tsim_compression_cost(sc, 2, &few);
    tsim_compression_cost(sc, 32, &many);
    ck_assert_double_eq(few.exchanged_bytes[0], 0.5);
    ck_assert_double_eq(many.exchanged_bytes[0], 8);
}

TSIM_TEST(only_whole_gradients) {
    static const char TEXT[] =
        "schema: tsim/v1\nname: c\nmodel: gpt2-small\ncluster: {node: dgx-h100}\n"
        "training: {sequence_length: 1024, global_batch_size: 64, optimizer: %s, compression: {%s}}\n"
        "parallelism: {%s}\n";
    static const char *const REFUSED[][3] = {
        {"adam", "kind: top-k", "zero: 1"}, {"momentum", "kind: 1-bit", ""}, {"adam", "kind: powersgd", "tensor: 2"}};
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++) {
        ck_assert_ptr_null(try_text(tsim_arena_printf(&arena, TEXT, REFUSED[i][0], REFUSED[i][1], REFUSED[i][2])));
        tsim_diags_release(&diags);
        tsim_diags_init(&diags);
    }
    const struct tsim_scenario *sc = load_text(tsim_arena_printf(&arena, TEXT, "adam", "kind: top-k", ""));
    ck_assert_int_eq(sc->parallelism.zero, 0); /* though the software shards by default */
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
