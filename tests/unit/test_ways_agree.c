/* Scenarios that random draws found, in which ways of playing a step were apart: folded or not, message by message,
 * by operators or by passes. */
#include "support/training_rig.h"

#include <math.h>

/* Returns the time of a step; `way` is a setting of simulation. */
static double step_s(const char *cluster, const char *rest, const char *way) {
    const struct tsim_scenario *scenario = load_text(
        tsim_arena_printf(&arena, "schema: tsim/v1\nname: way\n%s\n%s\nsimulation: {%s}\n", cluster, rest, way));
    return train(scenario).step.terms.time_s;
}

static void check_same(const char *cluster, const char *rest, const char *a, const char *b, double most_frac) {
    double a_s = step_s(cluster, rest, a), b_s = step_s(cluster, rest, b);
    ck_assert_msg(fabs(a_s / b_s - 1) <= most_frac, "%s: %.9g s with %s, %.9g s with %s", cluster, a_s, a, b_s, b);
}

/* On a mesh each pair of accelerators has links of its own, of which a slow one is no other's. */
TSIM_TEST(slow_links_of_a_mesh) {
    static const char PLAN[] = "model: {extends: gpt2-medium, layers: 4}\n"
                               "training: {global_batch_size: 8, micro_batch_size: 2, sequence_length: 512}\n"
                               "software: maxtext-2024\n"
                               "parallelism: {zero: 1}",
                      SOUND[] = "cluster: {node: tpu-v4-host, nodes: 1}",
                      SLOW[] = "cluster: {node: tpu-v4-host, nodes: 1, degraded: [{link: scale-up, node: 0, index: "
                               "all, rate: 0.1}]}";
    ck_assert_double_gt(step_s(SLOW, PLAN, "network: fluid"), 3 * step_s(SOUND, PLAN, "network: fluid"));
    check_same(SLOW, PLAN, "network: fluid", "network: steps", 0.01);
}

/* The mean of what a pass asks of a NIC is less than what its exchanges ask while they run: 7 % apart. */
TSIM_TEST(passes_over_a_slow_nic) {
    check_same("cluster: {node: dgx-1v, nodes: 4, fabric: ib-ndr, degraded: [{link: nic, node: 2, index: all, rate: "
               "0.1}]}",
               "model: dlrm\n"
               "training: {global_batch_size: 2048, micro_batch_size: 8, precision: fp32, optimizer: sgd}\n"
               "parallelism: {zero: 1}",
               "detail: operators", "detail: passes", 1e-6);
}

/* On lines, messages of one replica meet the gradients of their own stage and those of another the gradients of the
 * other stage: as many bytes, at another moment. */
TSIM_TEST(replicas_that_meet_gradients_of_other_stages) {
    check_same(
        "cluster: {node: tpu-v4-host, nodes: 16, shape: [4, 4, 4], fabric: {extends: tpu-v4-torus, torus: "
        "{dimensions: 3, wrap: 0}}}",
        "model: {extends: gpt2-medium, layers: 8}\n"
        "training: {sequence_length: 512, micro_batch_size: 1, global_batch_size: 64}\n"
        "parallelism: {pipeline: 2, zero: 1, overlap: {gradients: true}, schedule: sequential, order: [pipeline, "
        "tensor, context, expert, data]}",
        "fold: auto", "fold: off", 1e-9);
}

/* Both stages' gradients cross the sockets of a single node, which has no NICs. */
TSIM_TEST(replicas_on_one_node) {
    check_same(
        "cluster: {node: pcie-a100x8, nodes: 1}",
        "model: {extends: gpt2-medium, layers: 8}\n"
        "training: {sequence_length: 512, micro_batch_size: 2, global_batch_size: 24}\n"
        "parallelism: {pipeline: 2, zero: 1, overlap: {gradients: true}, schedule: sequential, order: [pipeline, "
        "tensor, context, expert, data]}",
        "fold: auto", "fold: off", 1e-9);
}

/* Some of a pass's kernels wait for the host, and hide there that the accelerator is slow; the others do not: 4.5 %. */
TSIM_TEST(slow_accelerators_wait_for_the_host) {
    check_same("cluster: {node: single-a100-40gb, nodes: 1, degraded: [{link: accelerator, node: 0, index: 0, rate: "
               "0.9}]}",
               "model: mlp-mnist\n"
               "training: {global_batch_size: 4096, micro_batch_size: 16, precision: fp32, optimizer: lamb}\n"
               "software: {extends: transformers-2024, fusion: compile, accumulation: fused}\n"
               "parallelism: {data: auto}",
               "detail: operators", "detail: passes", 1e-6);
}

/* A layer's collectives go on while its kernels wait for the host, but the host is ahead after a few layers: 2.7 %. */
TSIM_TEST(hosts_that_get_ahead) {
    check_same(
        "cluster: {node: dgx-h100, nodes: 8, fabric: roce-400-llama3}",
        "model: qwen3-1.7b\n"
        "training: {global_batch_size: 128, micro_batch_size: 1, precision: fp16, sequence_length: 1024, "
        "attention: flash}\n"
        "software: mlperf-lora-2025\n"
        "parallelism: {tensor: 4, pipeline: 2, sequence: true, zero: 1, overlap: {tensor: true, pipeline: false}}",
        "detail: operators", "detail: passes", 1e-6);
}

/* Gradients that go tensor by tensor have a latency each, also message by message: a third of what is exposed. */
TSIM_TEST(pieces_have_their_latencies) {
    check_same("cluster: {node: trn1-32xlarge, nodes: 2, fabric: omnipath-100}",
               "model: bert-large\n"
               "training: {global_batch_size: 128, micro_batch_size: 2, precision: fp32}\n"
               "software: {extends: nanotron-2025}\n"
               "parallelism: {zero: 1, overlap: {gradients: false}}",
               "network: fluid", "network: steps", 0.03);
}

/* Each rank broadcasts the weights that it has updated: message by message they were one broadcast, a half of the step. */
TSIM_TEST(broadcasts_are_one_for_each_rank) {
    check_same("cluster: {node: h20-node, nodes: 4, fabric: roce-100}",
               "model: mlp-mnist\n"
               "training: {global_batch_size: 1024, micro_batch_size: 32, precision: fp16}\n"
               "software: internevo-2023\n"
               "parallelism: {zero: 1}",
               "network: fluid", "network: steps", 1e-6);
}

/* Gradients are scattered within a node, over links of which those of one node are slow, and then summed over nodes:
 * in one flow the slow links counted for their part of both, 26 % less, and 16 % fully sharded, where message by message
 * whole layers were gathered and not product by product. */
TSIM_TEST(sums_over_replicas_follow_scatters) {
    static const char CLUSTER[] = "cluster: {node: tpu7x-host, nodes: 2, fabric: ib-ndr, degraded: [{link: scale-up, "
                                  "node: 0, index: all, rate: 0.2}]}",
                      PLAN[] = "model: {extends: gpt2-medium, layers: 8}\n"
                               "training: {sequence_length: 512, micro_batch_size: 1, global_batch_size: 32}\n"
                               "parallelism: {zero: %d, zero_group: node}";
    for (int zero = 2; zero <= 3; zero++) {
        char plan[sizeof PLAN];
        snprintf(plan, sizeof plan, PLAN, zero);
        check_same(CLUSTER, plan, "network: fluid", "network: steps", 0.001);
    }
}

/* A pair within a mesh has one link, on which its scatter waits; the links of all ranks of a node, over which the sum
 * goes, had been asked for both: 74 % less. On a torus a host's gradients are scattered over its own links. */
TSIM_TEST(parts_cross_the_links_of_their_own_ranks) {
    static const char REST[] = "model: {extends: gpt2-medium, layers: 8}\n"
                               "training: {sequence_length: 512, micro_batch_size: 1, global_batch_size: 64}\n"
                               "parallelism: {zero: 2, zero_group: 2}";
    check_same("cluster: {node: trn1-32xlarge, nodes: 2, fabric: efa-100, degraded: [{link: scale-up, node: 0, index: "
               "all, rate: 0.2}]}",
               REST, "network: fluid", "network: steps", 0.005);
    check_same("cluster: {node: tpu7x-host, nodes: 2, fabric: tpu7x-torus, degraded: [{link: scale-up, node: 0, index: "
               "all, rate: 0.2}]}",
               REST, "network: fluid", "network: steps", 0.001);
}

/* No rank has a sum before the last of its group has begun: message by message ranks on nodes with faster links went on
 * with the next bucket, and 41 % longer for it, as pairs that had come apart met each other's messages. */
TSIM_TEST(sums_wait_for_all_ranks) {
    check_same("cluster: {node: dgx-b300, nodes: 2, fabric: ib-ndr, degraded: [{link: scale-up, node: 0, index: all, "
               "rate: 0.2}]}",
               "model: {extends: gpt2-medium, layers: 8}\n"
               "training: {sequence_length: 512, micro_batch_size: 1, global_batch_size: 128}\n"
               "software: maxtext-2024\n"
               "parallelism: {zero: 2, zero_group: 2}",
               "network: fluid", "network: steps", 0.001);
}

/* Gathers by product differ in their room. Units that wait for each reduction before them waited for one that came after
 * a gather without room: a deadlock. */
TSIM_TEST(gathers_with_less_room_than_others) {
    static const char CLUSTER[] = "cluster: {node: dgx-h100, nodes: 2, fabric: ib-ndr}",
                      PLAN[] = "model: {extends: llama3-8b, layers: 4}\n"
                               "training: {sequence_length: 2048, global_batch_size: 8, micro_batch_size: 1}\n"
                               "software: deepspeed-zero3-2021\n"
                               "parallelism: {tensor: 2, context: 2, zero: 3, overlap: {gradients: false}}";
    check_same(CLUSTER, PLAN, "detail: operators", "detail: passes", 0.02);
    check_same(CLUSTER, PLAN, "fold: auto", "fold: off", 1e-9);
}

/* Scatters within pairs and sums over them meet those of other stages on PCIe switches and short uplinks. */
TSIM_TEST(replicas_that_shard_over_a_part_of_them) {
    check_same(
        "cluster: {node: pcie-a100x8, nodes: 8, fabric: {extends: ib-ndr, topology: fat-tree, tiers: [{ports: 2, "
        "oversubscription: 2}, {ports: 4}]}}",
        "model: {extends: gpt2-medium, layers: 8}\n"
        "training: {sequence_length: 512, micro_batch_size: 1, global_batch_size: 256}\n"
        "parallelism: {pipeline: 2, zero: 2, zero_group: 2}",
        "fold: auto", "fold: off", 1e-9);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
