/* Tests that advice names the change that gains most, as something to --set. */
#include "run/run.h"
#include "study/search/advice.h"
#include "support/arena_rig.h"

#include <string.h>

#define FABRIC "{name: example-fabric, bandwidth: 10 GB/s, efficiency: 1, latency: 0 us}"

/* The example of tests/support/example.h, written down: what is proposed goes on top of what was read. */
static const char BASE[] =
    "schema: tsim/v1\n"
    "name: example\n"
    "model: {layers: 8, hidden: 1024, heads: 8, ffn_hidden: 4096, vocab: 32768}\n"
    "cluster:\n"
    "  node:\n"
    "    name: example-node\n"
    "    accelerator:\n"
    "      name: example\n"
    "      compute_units: 100\n"
    "      clock: 1 GHz\n"
    "      memory: 80 GB\n"
    "      memory_bandwidth: 1 TB/s\n"
    "      peak: {bf16: 1 PFLOP/s, nvfp4: 1 PFLOP/s}\n"
    "      vector_peak: 100 PFLOP/s\n"
    "      efficiency: {matrix_sustained: {bf16: 1, nvfp4: 1}, memory_sustained: 1, attention: {flash2: 0.5}}\n"
    "      power: {idle: 100 W, limit: 500 W, compute: 0.75, memory: 0.35, link: 0.05}\n"
    "    accelerators: 8\n"
    "    scale_up: {kind: switch, bandwidth: 100 GB/s}\n"
    "    nics: 8\n"
    "    nic_bandwidth: 10 GB/s\n"
    "software: {name: example-software, attention_kernel: flash2, fusion: megatron,"
    " overlap: {gradients: true, parameters: true, pipeline: true}}\n"
    "training: {sequence_length: 1024, global_batch_size: 64, attention: standard}\n"
    "parallelism: {zero: 0}\n";

static struct tsim_prediction advise(const struct tsim_override *settings, size_t n) {
    static const struct tsim_run_options options = {.ignore_memory = false};
    struct tsim_prediction prediction = {0};
    struct tsim_scenario_source source;
    const struct tsim_scenario *scenario;
    enum tsim_status status = tsim_scenario_open_text(&arena, "example.yaml", BASE, &source, &diags);
    if (status == TSIM_OK)
        status = tsim_scenario_load_from(&arena, &source, settings, n, &scenario, &diags);
    ck_assert_msg(status == TSIM_OK, "%s: %s", diags.items[0].field, diags.items[0].message);
    ck_assert_int_eq(tsim_train_run(&arena, scenario, &options, &prediction.result, &diags), TSIM_OK);
    tsim_advise(&arena, scenario, &prediction);
    return prediction;
}

static bool advises(const struct tsim_prediction *prediction, const char *setting) {
    for (int32_t i = 0; i < prediction->n_advice; i++)
        if (strncmp(prediction->advice[i], setting, strlen(setting)) == 0)
            return true;
    return false;
}

/* 16 experts on 16 ranks of two nodes: half of the rows cross the slow NICs. On 8 ranks they stay on a node. With
 * tensor 2 the rows are gathered and scattered, unless tensor ranks hold whole experts. The batch is so large that
 * gradients, which fewer ranks would reduce, are a trifle. */
TSIM_TEST(experts) {
    static const struct tsim_override SETTINGS[] = {
        {"model.experts", "{count: 16, active: 2, ffn_hidden: 2048}"},
        {"cluster.nodes", "2"},
        {"cluster.fabric", FABRIC},
        {"training.global_batch_size", "1024"},
        {"parallelism.expert", "16"},
        {"parallelism.expert", "8"},
        {"parallelism.tensor", "2"},
        {"parallelism.expert_tensor", "1"},
        {"parallelism.overlap.expert", "true"},
    };
    struct tsim_prediction prediction = advise(SETTINGS, 5);
    ck_assert(advises(&prediction, "parallelism.expert=8:"));
    ck_assert(advises(&prediction, "parallelism.overlap.expert=true:"));
    prediction = advise(SETTINGS, 7);
    ck_assert(advises(&prediction, "parallelism.expert_tensor=1:"));
    prediction = advise(SETTINGS, 9);
    ck_assert(!advises(&prediction, "parallelism.expert_tensor"));
    ck_assert(!advises(&prediction, "parallelism.overlap.expert"));
}

/* Tensor collectives in chunks are there in 16 bits and in fp8, not in NVFP4. */
TSIM_TEST(tensor_overlap) {
    static const struct tsim_override SETTINGS[] = {{"parallelism.tensor", "8"}, {"training.precision", "nvfp4"}};
    struct tsim_prediction prediction = advise(SETTINGS, 1);
    ck_assert(advises(&prediction, "parallelism.overlap.tensor=true:"));
    prediction = advise(SETTINGS, 2);
    ck_assert(!advises(&prediction, "parallelism.overlap.tensor="));
}

/* Without experts none of it; standard attention is what the example could do without. */
TSIM_TEST(dense) {
    struct tsim_prediction prediction = advise(NULL, 0);
    ck_assert(!advises(&prediction, "parallelism.expert"));
    ck_assert(!advises(&prediction, "parallelism.overlap.expert"));
    ck_assert(advises(&prediction, "training.attention=flash:"));
}

/* One worker of 1 s a sample for 128 samples a step; reading takes nothing. Workers are doubled up to the 64 cores,
 * where a step takes 128 / 64 = 2 s; nothing else helps, and no number of accelerators would. */
TSIM_TEST(starved) {
    static const struct tsim_override SETTINGS[] = {
        {"cluster.node.host_cores", "64"},
        {"training.global_batch_size", "128"},
        {"training.attention", "flash"},
        {"data", "{storage: {bandwidth: 1 TB/s, random_access: 1}, sample_size: 1 B, transfer_size: 1 B,"
                 " sample_cpu_time: 1 s, workers: 1}"},
        {"data.workers", "64"},
    };
    struct tsim_prediction prediction = advise(SETTINGS, 4);
    ck_assert(prediction.result.step.bottleneck_is_data);
    ck_assert_str_eq(prediction.result.step.input.bound, "workers");
    ck_assert_double_eq_tol(prediction.result.step.terms.time_s, 128, 1);
    ck_assert_int_ge(prediction.n_advice, 1);
    ck_assert_str_eq(prediction.advice[0], "data.workers=64: step 2.00 s, 98.4 % faster");
    for (int32_t i = 0; i < prediction.n_advice; i++)
        ck_assert_msg(strncmp(prediction.advice[i], "data.", 5) == 0, "%s", prediction.advice[i]);
    prediction = advise(SETTINGS, 5);
    ck_assert_double_eq_tol(prediction.result.step.terms.time_s, 2, 0.01);
}

/* Buffers for 64 workers would not fit into the host's memory, those of 32 do: 2 x 32 samples of 1 MB. */
TSIM_TEST(within_the_host) {
    static const struct tsim_override SETTINGS[] = {
        {"cluster.node.host_cores", "64"},
        {"cluster.node.host_memory", "70 MB"},
        {"training.global_batch_size", "128"},
        {"training.attention", "flash"},
        {"data", "{storage: {bandwidth: 1 TB/s, random_access: 1}, sample_size: 1 B, transfer_size: 1 MB,"
                 " sample_cpu_time: 1 s, workers: 1}"},
    };
    struct tsim_prediction prediction = advise(SETTINGS, sizeof SETTINGS / sizeof SETTINGS[0]);
    ck_assert(advises(&prediction, "data.workers=32:"));
}

/* Stages on two nodes whose NICs are slow: chunks that alternate between them send everything twice, which costs more
 * than the bubble that they save. */
TSIM_TEST(fewer_chunks) {
    static const struct tsim_override SETTINGS[] = {
        {"cluster.nodes", "2"},
        {"cluster.fabric", FABRIC},
        {"cluster.accelerators_per_node", "1"},
        {"cluster.fabric.bandwidth", "0.1 GB/s"},
        {"training.global_batch_size", "16"},
        {"parallelism.pipeline", "2"},
        {"parallelism.virtual_pipeline", "2"},
    };
    struct tsim_prediction prediction = advise(SETTINGS, sizeof SETTINGS / sizeof SETTINGS[0]);
    ck_assert(advises(&prediction, "parallelism.virtual_pipeline=1:"));
}

/* 6 layers do not split into 4 chunks, 6 and the two of embedding and head do: such an interleaving is tried, too. */
TSIM_TEST(chunks_with_embedding_and_head) {
    static const struct tsim_override SETTINGS[] = {
        {"model.layers", "6"},         {"cluster.accelerators_per_node", "2"}, {"training.global_batch_size", "4"},
        {"parallelism.pipeline", "2"}, {"training.attention", "flash"},
    };
    struct tsim_prediction prediction = advise(SETTINGS, sizeof SETTINGS / sizeof SETTINGS[0]);
    ck_assert(advises(&prediction, "parallelism.virtual_pipeline=2:"));
}

/* The shares of what binds add up to the step. */
TSIM_TEST(shares) {
    struct tsim_prediction prediction = advise(NULL, 0);
    const struct tsim_bound_shares *b = &prediction.result.step.bounds;
    ck_assert_double_eq_tol(b->compute_frac + b->memory_frac + b->communication_frac + b->bubble_frac + b->data_frac +
                                b->host_frac,
                            1, 1e-9);
    ck_assert(b->host_frac >= 0 && b->data_frac == 0);
}

/* A third of the step is the pipeline's bubble, and the matrix units work a little longer, half of that at their peak:
 * the label says what can be mended. On an eighth of the machine the bubble is an eighth of what they could save. */
TSIM_TEST(largest_that_can_be_mended) {
    static const struct tsim_override MANY[] = {{"cluster.nodes", "1024"}, {"parallelism.data", "256"}};
    static const struct tsim_run_options options = {.is_steady = true};
    const struct tsim_scenario *scenario;
    for (size_t n = 0; n <= 2; n += 2) {
        struct tsim_result result;
        ck_assert_int_eq(tsim_scenario_load(&arena, "scenarios/llama70b.yaml", MANY, n, &scenario, &diags), TSIM_OK);
        ck_assert_int_eq(tsim_train_run(&arena, scenario, &options, &result, &diags), TSIM_OK);
        const struct tsim_bound_shares *b = &result.step.bounds;
        ck_assert(b->compute_frac > b->bubble_frac);
        ck_assert_double_eq_tol(b->least_frac, result.step.throughput.mfu,
                                0.02); /* attention's upper half is left out */
        ck_assert(result.step.bottleneck_is_bubble == (n > 0));
    }
}

/* The log has the scenario with every default filled in. Read again, its advice is the same: what follows from the
 * plan follows anew. */
TSIM_TEST(same_from_the_log) {
    static const struct tsim_run_options options = {.is_steady = true};
    struct tsim_scenario_source source;
    const struct tsim_scenario *scenario, *logged;
    struct tsim_prediction first = {0}, second = {0};
    ck_assert_int_eq(tsim_scenario_load(&arena, "scenarios/llama70b.yaml", NULL, 0, &scenario, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_scenario_open_text(&arena, "run 1", tsim_scenario_json(&arena, scenario), &source, &diags),
                     TSIM_OK);
    ck_assert_int_eq(tsim_scenario_load_from(&arena, &source, NULL, 0, &logged, &diags), TSIM_OK);
    ck_assert_str_eq(tsim_scenario_json(&arena, logged), tsim_scenario_json(&arena, scenario));
    ck_assert_int_eq(tsim_train_run(&arena, scenario, &options, &first.result, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_train_run(&arena, logged, &options, &second.result, &diags), TSIM_OK);
    tsim_advise(&arena, scenario, &first);
    tsim_advise(&arena, logged, &second);
    ck_assert_int_gt(first.n_advice, 0);
    ck_assert_int_eq(first.n_advice, second.n_advice);
    for (int32_t i = 0; i < first.n_advice; i++)
        ck_assert_str_eq(first.advice[i], second.advice[i]);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
