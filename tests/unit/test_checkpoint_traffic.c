/* Checkpoints that are sent over the NICs under training (run/checkpoint_traffic.h), by hand: two nodes of one accelerator
 * and one NIC, which reduce their gradients after the passes. A step is P of passes, R of the reduction, which fills the
 * NICs, and the rest; each node's part of a checkpoint takes S alone, and flows from the beginning of the step. While both
 * flow each gets half of the NIC. */
#include "partition/memory.h"
#include "run/checkpoint_traffic.h"
#include "step/program.h"
#include "support/training_rig.h"

#include <math.h>

#define NIC 10e9 /* bytes/s */

static const char *const FORMAT =
    "schema: tsim/v1\nname: t\nmodel: {schema: tsim/model/v1, layers: 8, hidden: 1024, heads: 8, vocab: 32768}\n"
    "cluster: {node: {schema: tsim/node/v1, name: one, source: made up, accelerator: a100-80gb, accelerators: 1,\n"
    "  scale_up: {kind: none}, nics: 1, nic_bandwidth: 10 GB/s, host_link: 25 GB/s, host_memory_bandwidth: %s}, nodes: "
    "2,\n"
    "  fabric: {schema: tsim/fabric/v1, name: ten, source: made up, bandwidth: 10 GB/s, efficiency: 1, latency: 0 s}}\n"
    "training: {sequence_length: 1024, micro_batch_size: %d, global_batch_size: %d, steps: 1000, offload: {optimizer: "
    "%s}}\n"
    "software: megatron-core-2024\nparallelism: {zero: 0, overlap: {gradients: false}}\n"
    "simulation: {fold: %s, network: %s}\n"
    "reliability: {node_mtbf: 1000000000 h, replications: 1, checkpoint: {interval: 10, %s}}\n";

struct played {
    double step_s, passes_s, reduction_s, sent_s; /* sent: a node's part of a checkpoint, alone */
    struct tsim_campaign_steps steps;
};

static const struct tsim_scenario *load(int batch, const char *fold, const char *network, const char *checkpoint) {
    return load_text(
        tsim_arena_printf(&arena, FORMAT, "200 GB/s", batch, 2 * batch, "false", fold, network, checkpoint));
}

static struct played play(const struct tsim_scenario *sc) {
    struct tsim_result result;
    const struct tsim_run_options options = {.is_step = true, .is_brief = true};
    ck_assert_int_eq(tsim_train_run(&arena, sc, &options, &result, &diags), TSIM_OK);
    const struct tsim_step_terms *terms = &result.step.terms;
    struct played p = {.step_s = terms->time_s, .passes_s = terms->compute_s, .reduction_s = terms->exposed_data_s};
    p.steps = (struct tsim_campaign_steps){.step_s = {.value = terms->time_s},
                                           .checkpoint_bytes = tsim_checkpoint_bytes(NULL, sc)};
    p.sent_s = p.steps.checkpoint_bytes.value / 2 / NIC;
    const struct tsim_machine machine = tsim_machine_of(&arena, sc, NULL);
    ck_assert_int_eq(tsim_checkpoint_traffic_simulate(&arena, sc, &machine, NULL, &p.steps, &diags), TSIM_OK);
    return p;
}

static void expect(const struct tsim_checkpoint_traffic *traffic, double slows_s, double lasts_s) {
    ck_assert_double_eq_tol(traffic->slows_s.value, slows_s,
                            0.2e-3); /* the norm's message is part of what is exposed */
    ck_assert_double_eq_tol(traffic->lasts_s.value, lasts_s, 0.2e-3);
}

static const char *const WAYS[][2] = {{"auto", "fluid"}, {"off", "fluid"}, {"off", "steps"}};
enum { N_WAYS = sizeof WAYS / sizeof WAYS[0] };

/* P < S < P + R: what is left when the reduction begins takes twice as long, and so much longer takes the step. Copies to the
 * other node's memory do the same in both directions. */
TSIM_TEST(what_is_left_meets_the_reduction) {
    for (int i = 0; i < N_WAYS; i++) {
        struct played p = play(load(16, WAYS[i][0], WAYS[i][1], "mode: async, network: nics, bandwidth: 1 TB/s"));
        double left_s = p.sent_s - p.passes_s;
        ck_assert(left_s > 1e-3 && left_s < p.reduction_s);
        expect(&p.steps.writing, left_s, p.passes_s + 2 * left_s);
        expect(&p.steps.copies, 0, 0);
        p = play(load(16, WAYS[i][0], WAYS[i][1], "local: {copies: 1}"));
        expect(&p.steps.copies, left_s, p.passes_s + 2 * left_s);
        expect(&p.steps.writing, 0, 0);
    }
}

/* A storage takes half of what the NICs carry: the writing never waits, and the reduction beside it takes twice as long. The
 * rest, in the second step, is through before the reduction. */
TSIM_TEST(a_storage_slower_than_the_nics) {
    for (int i = 0; i < N_WAYS; i++) {
        struct played p = play(load(16, WAYS[i][0], WAYS[i][1], "mode: async, network: nics, bandwidth: 10 GB/s"));
        double left_s = 2 * p.sent_s - (p.step_s + p.reduction_s);
        ck_assert(left_s > 1e-3 && left_s < p.passes_s);
        expect(&p.steps.writing, p.reduction_s, 2 * p.sent_s);
    }
}

/* Short passes: the first step lets its passes, its reduction (which takes twice as long) and its rest through, the second
 * step's reduction meets what is left after its passes. */
TSIM_TEST(a_writing_over_two_steps) {
    for (int i = 0; i < N_WAYS; i++) {
        struct played p = play(load(1, WAYS[i][0], WAYS[i][1], "mode: async, network: nics, bandwidth: 1 TB/s"));
        double left_s = p.sent_s - p.step_s - p.passes_s;
        ck_assert(left_s > 1e-3 && left_s < p.reduction_s);
        expect(&p.steps.writing, p.reduction_s + left_s, p.step_s + p.reduction_s + p.passes_s + 2 * left_s);
    }
}

/* Nothing shares the links of an ideal network, and a storage with a network of its own is nowhere near them. */
TSIM_TEST(nothing_meets) {
    struct played p = play(load(16, "auto", "ideal", "mode: async, network: nics, bandwidth: 10 GB/s"));
    expect(&p.steps.writing, 0, 2 * p.sent_s);
    p = play(load(16, "auto", "fluid", "mode: async, bandwidth: 1 TB/s"));
    expect(&p.steps.writing, 0, 0);
}

/* If copies of the optimizer's state cross the host's memory, at 4 GB/s, so does what is written. */
TSIM_TEST(the_hosts_memory_is_shared) {
    struct played p = play(load_text(tsim_arena_printf(&arena, FORMAT, "4 GB/s", 16, 32, "true", "auto", "fluid",
                                                       "mode: async, network: nics, bandwidth: 1 TB/s")));
    ck_assert_double_ge(p.steps.writing.lasts_s.value, p.sent_s * NIC / 4e9);
    ck_assert_double_gt(p.steps.writing.slows_s.value, 1e-3);
}

/* 1,000 steps and a checkpoint after every ten, the last one left out: each holds the run up for its copy to the host and for
 * what it slows steps down; if training waits, for the writing at what two NICs carry. */
TSIM_TEST(the_run_counts_them) {
    static const struct {
        const char *checkpoint;
        bool slows, waits;
    } CASES[] = {{"mode: async, bandwidth: 1 TB/s", false, false},
                 {"mode: async, network: nics, bandwidth: 1 TB/s", true, false},
                 {"mode: sync, network: nics, bandwidth: 1 TB/s", false, true}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const struct tsim_scenario *sc = load(16, "auto", "fluid", CASES[i].checkpoint);
        struct played p = play(sc);
        struct tsim_result result = train(sc);
        double each_s = CASES[i].waits ? p.sent_s : p.sent_s * NIC / 25e9;
        if (CASES[i].slows)
            each_s += p.steps.writing.slows_s.value;
        SAME(result.campaign.checkpoint_stall_s, each_s);
        ck_assert_double_eq_tol(result.campaign.days * 86400, 1000 * p.step_s + 99 * each_s, 2e-3);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
