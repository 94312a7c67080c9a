/* Replays as they are written: files beside their own, defaults, and refusals. */
#include "config/replay_spec.h"
#include "config/text/document.h"
#include "support/arena_rig.h"

#include <string.h>

#define HEAD "schema: tsim/replay/v1\nname: job\n"
#define TRACES "traces: [a.0.et]\n"
#define CLUSTER "cluster: {node: dgx-h100, nodes: 1}\n"

static const struct tsim_replay_spec *load_as(const char *file, const char *text, const struct tsim_override *sets,
                                              size_t n_sets) {
    const struct tsim_replay_spec *spec = NULL;
    enum tsim_status status = tsim_replay_load_text(&arena, file, text, sets, n_sets, &spec, &diags);
    ck_assert((status == TSIM_OK) == (spec != NULL) && (spec != NULL) == (diags.n_errors == 0));
    return spec;
}

static const struct tsim_replay_spec *load(const char *text) {
    return load_as("jobs/job.yaml", text, NULL, 0);
}

TSIM_TEST(files_lie_beside_the_replay) {
    const struct tsim_replay_spec *spec =
        load(HEAD CLUSTER
             "traces: [a.0.et, /b.1.et, {file: c/d.et, rank: 7}, {file: e.2.et}]\ngroups: g.json\nstep_time: 250 ms\n");
    ck_assert_uint_eq(spec->n_traces, 4);
    ck_assert_str_eq(spec->traces[0].file, "jobs/a.0.et");
    ck_assert_int_eq(spec->traces[0].rank, -1);
    ck_assert_str_eq(spec->traces[1].file, "/b.1.et");
    ck_assert_str_eq(spec->traces[2].file, "jobs/c/d.et");
    ck_assert_int_eq(spec->traces[2].rank, 7);
    ck_assert_str_eq(spec->traces[3].file, "jobs/e.2.et");
    ck_assert_int_eq(spec->traces[3].rank, -1);
    ck_assert_str_eq(spec->groups, "jobs/g.json");
    ck_assert_double_eq(spec->measured_s, 0.25);
    ck_assert_str_eq(load_as("job.yaml", HEAD TRACES CLUSTER, NULL, 0)->traces[0].file, "a.0.et");
    const struct tsim_override groups = {"groups", "mine.json"}; /* in the current folder */
    ck_assert_str_eq(load_as("jobs/job.yaml", HEAD TRACES CLUSTER, &groups, 1)->groups, "mine.json");
}

/* Kernels as recorded, collectives simulated over shared links, in the best precision of the accelerator. */
TSIM_TEST(what_is_taken_where_nothing_is_said) {
    const struct tsim_replay_spec *spec = load(HEAD TRACES CLUSTER);
    ck_assert_int_eq(spec->kernels, TSIM_REPLAY_RECORDED);
    ck_assert_int_eq(spec->communication, TSIM_REPLAY_SIMULATED);
    ck_assert_int_eq(spec->scenario->simulation.network, TSIM_NETWORK_FLUID);
    ck_assert_int_eq(spec->precision, TSIM_BF16);
    ck_assert_double_eq(spec->eager_bytes, 4194304); /* NCCL_BUFFSIZE */
    ck_assert_int_eq(load(HEAD TRACES "cluster: {node: dgx-2, nodes: 1}\n")->precision, TSIM_FP16);
    ck_assert_int_eq(load(HEAD TRACES "cluster: {node: dgx-2, nodes: 1}\nprecision: fp32\n")->precision, TSIM_FP32);
}

TSIM_TEST(an_accelerator_of_fp32_alone) {
    const struct tsim_replay_spec *spec = load(
        HEAD TRACES "cluster:\n  nodes: 1\n  node:\n    name: one\n    accelerators: 1\n    scale_up: {kind: none}\n"
                    "    accelerator: {name: chip, compute_units: 1, clock: 1 GHz, memory: 1 GB,\n"
                    "      memory_bandwidth: 1 GB/s, vector_peak: 1 TFLOP/s, peak: {fp32: 1 TFLOP/s},\n"
                    "      efficiency: {matrix_sustained: {fp32: 0.9}, matrix_ramp_k: 9, memory_sustained: 0.8,\n"
                    "        kernel_latency: 3 us},\n"
                    "      power: {idle: 1 W, limit: 2 W, compute: 0.7, memory: 0.3, link: 0.05}}\n");
    ck_assert_ptr_nonnull(spec);
    ck_assert_int_eq(spec->precision, TSIM_FP32);
}

TSIM_TEST(settings_reach_the_cluster) {
    const struct tsim_override sets[] = {{"cluster.nodes", "2"},
                                         {"cluster.fabric", "ib-ndr"},
                                         {"software", "{extends: megatron-core-2024, nics_used: 4}"},
                                         {"network", "ideal"},
                                         {"kernels", "roofline"},
                                         {"communication", "recorded"}};
    const struct tsim_replay_spec *spec = load_as("job.yaml", HEAD TRACES CLUSTER, sets, 6);
    ck_assert_int_eq(spec->scenario->n_accelerators, 16);
    ck_assert_int_eq(spec->scenario->software->nics_used, 4);
    ck_assert_int_eq(spec->scenario->simulation.network, TSIM_NETWORK_IDEAL);
    ck_assert_int_eq(spec->kernels, TSIM_REPLAY_SIMULATED);
    ck_assert_int_eq(spec->communication, TSIM_REPLAY_RECORDED);
}

static const struct {
    const char *text;
    struct tsim_override set;
    const char *message;
} MISTAKES[] = {
    {HEAD CLUSTER, {0}, "missing key 'traces'"},
    {HEAD TRACES, {0}, "missing key 'cluster'"},
    {HEAD CLUSTER "traces: a.0.et\n", {0}, "rank, found 'a.0.et'"},
    {HEAD CLUSTER "traces: []\n", {0}, "rank, found a list"},
    {HEAD CLUSTER "traces: [[a.0.et]]\n", {0}, "expected a file, or {file: NAME, rank: N}, found a list"},
    {HEAD CLUSTER "traces: [{rank: 1}]\n", {0}, "missing key 'traces[0].file'"},
    {HEAD CLUSTER "traces: [{file: [a]}]\n", {0}, "name of a file, found a list"},
    {HEAD CLUSTER "traces: [{file: a, rank: -2}]\n", {0}, "-2 is out of range"},
    {HEAD TRACES CLUSTER "groups: {a: b}\n", {0}, "file, found a mapping"},
    {HEAD TRACES CLUSTER "kernels: measured\n", {0}, "unknown word 'measured'"},
    {HEAD TRACES "cluster: {node: dgx-h101, nodes: 1}\n", {0}, "unknown node 'dgx-h101'"},
    {HEAD TRACES "cluster: {node: dgx-h101, nodes: 1}\nprecision: bf16\n", {0}, "unknown node 'dgx-h101'"},
    {HEAD TRACES "cluster: [8]\n", {0}, "values, found a list"},
    {HEAD TRACES CLUSTER "software: no-such\n", {0}, "unknown software 'no-such'"},
    {HEAD TRACES "cluster: {node: dgx-2, nodes: 1}\nprecision: bf16\n", {0}, "v100-32gb-sxm3 has no bf16"},
    {HEAD TRACES CLUSTER, {"a..b", "1"}, "'a..b' is not a path"},
    {HEAD TRACES CLUSTER, {"traces", "[1"}, "not valid YAML"},
    {"traces: [\n", {0}, "not valid YAML"},
};

TSIM_TEST_ROWS(mistakes, MISTAKES) {
    ck_assert_ptr_null(load_as("job.yaml", MISTAKES[_i].text, &MISTAKES[_i].set, MISTAKES[_i].set.path != NULL));
    assert_says(diags.items[0].message, MISTAKES[_i].message);
}

TSIM_TEST(more_traces_than_there_may_be) {
    char *text = tsim_arena_alloc(&arena, 3 * (TSIM_REPLAY_MOST_TRACES + 100));
    size_t n = (size_t)sprintf(text, HEAD CLUSTER "traces: [");
    for (int i = 0; i <= TSIM_REPLAY_MOST_TRACES; i++, n += 2)
        memcpy(text + n, "a,", 2);
    text[n] = ']';
    ck_assert_ptr_null(load(text));
    assert_says(diags.items[0].message, "rank, found a list");
}

TSIM_TEST(files_that_are_replays) {
    const struct tsim_replay_spec *spec;
    ck_assert(!tsim_replay_is("-"));
    ck_assert(!tsim_replay_is("/nowhere/job.yaml"));
    ck_assert(!tsim_replay_is(TSIM_SOURCE_TREE "/scenarios/llama70b.yaml"));
    ck_assert_int_eq(tsim_replay_load(&arena, "/nowhere/job.yaml", NULL, 0, &spec, &diags), TSIM_ERR_IO);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
