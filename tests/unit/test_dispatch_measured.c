/* Dispatch per node against DeepEP's first table (deepseek-ai/DeepEP@ebfe47e, README: H800, 400 Gb/s NICs, 4096 tokens
 * of 7168, top 8 of 256 experts in the best 4 groups; dispatch in fp8, combine in bf16). Its bandwidths count, on one
 * node what a rank gets over NVLink, and between nodes what it sends over RDMA, each with the rank's own part. */
#include "config/catalogue_load.h"
#include "model/routing.h"
#include "step/pass/pass.h"
#include "support/check_main.h"
#include "support/example.h"

#include <math.h>
#include <string.h>

static struct example e;
static struct tsim_arena arena;

struct times {
    double dispatch_s, combine_s;
};

static void take(void *context, const struct tsim_pass_operator *row) {
    struct times *times = context;
    if (strcmp(row->op->name, "expert: dispatch") == 0)
        times->dispatch_s = row->time_s;
    if (strcmp(row->op->name, "expert: combine") == 0)
        times->combine_s = row->time_s;
}

static struct times predict(int64_t nodes, int64_t on_node) {
    struct times times = {0, 0};
    e.scenario.cluster.nodes = nodes;
    e.scenario.parallelism.expert = on_node * nodes;
    example_finish(&e);
    tsim_pass_visit(&e.scenario, tsim_cluster_build(&arena, &e.scenario), tsim_placement_build(&arena, &e.scenario),
                    TSIM_PART_EXPERT_LAYER, TSIM_PASS_FORWARD, take, &times);
    return times;
}

/* The predictions are within 15 %, with one fraction of the links' rates for all (pass.c). */
TSIM_TEST(deepep) {
    static const struct {
        int64_t nodes;
        double dispatch_bytes_per_s, combine_bytes_per_s;
    } MEASURED[] = {{1, 153e9, 158e9}, {2, 43e9, 43e9}, {4, 44e9, 47e9}, {8, 46e9, 45e9}};
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    tsim_arena_init(&arena);
    example_init(&e);
    const struct tsim_node *node;
    const struct tsim_fabric *fabric;
    ck_assert_int_eq(tsim_catalogue_load_node(&arena, "h800-node", &node, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_catalogue_load_fabric(&arena, "ib-ndr", &fabric, &diags), TSIM_OK);
    e.scenario.cluster.node = node;
    e.scenario.cluster.fabric = fabric;
    e.model.hidden = 7168;
    e.model.experts = (struct tsim_experts){.count = 256, .active = 8, .ffn_hidden = 2048, .every = 1, .node_limit = 4};
    e.software.expert_dispatch = TSIM_DISPATCH_PER_NODE;
    e.software.fp8_dispatch = true;
    e.scenario.training.sequence_length = 4096;
    e.scenario.training.global_batch_size = 64;
    e.scenario.training.precision = TSIM_FP8;
    for (size_t i = 0; i < sizeof MEASURED / sizeof MEASURED[0]; i++) {
        int64_t nodes = MEASURED[i].nodes;
        struct times times = predict(nodes, 8);
        double copies = nodes == 1 ? tsim_routing_ranks(&e.model.experts, 1, 8)
                                   : tsim_routing_nodes(&e.model.experts, (double)nodes);
        double bytes = 4096 * 7168 * copies, dispatch = bytes / times.dispatch_s / MEASURED[i].dispatch_bytes_per_s,
               combine = 2 * bytes / times.combine_s / MEASURED[i].combine_bytes_per_s;
        ck_assert_msg(fabs(dispatch - 1) < 0.15 && fabs(combine - 1) < 0.15, "%d nodes: dispatch %.2f, combine %.2f",
                      (int)nodes, dispatch, combine);
    }
    tsim_arena_release(&arena);
    tsim_diags_release(&diags);
}

/* HybridEP's table (deepseek-ai/DeepEP@41cad94, docs/README_Hybrid-EP.md): 4,096 tokens of 7168 in bf16, top 8 of 8
 * experts for each rank, 16 units (32 on GB200), called from PyTorch. Its bandwidths count as DeepEP's. */
TSIM_TEST(hybrid_ep) {
    static const struct {
        const char *node;
        int64_t nodes, on_node;
        double dispatch_bytes_per_s, combine_bytes_per_s, tolerance;
    } MEASURED[] = {{"dgx-h100", 2, 8, 54.5e9, 53.4e9, 0.3},   {"dgx-h100", 4, 8, 47.4e9, 52.5e9, 0.12},
                    {"dgx-h100", 8, 8, 41.2e9, 46.6e9, 0.15},  {"dgx-b200", 1, 8, 536e9, 531e9, 0.05},
                    {"gb200-nvl72", 1, 8, 546e9, 569e9, 0.05}, {"gb200-nvl72", 1, 16, 523e9, 522e9, 0.06},
                    {"gb200-nvl72", 1, 24, 507e9, 484e9, 0.2}, {"gb200-nvl72", 1, 36, 479e9, 448e9, 0.25}};
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    tsim_arena_init(&arena);
    for (size_t i = 0; i < sizeof MEASURED / sizeof MEASURED[0]; i++) {
        int64_t nodes = MEASURED[i].nodes, on_node = MEASURED[i].on_node, ranks = nodes * on_node;
        example_init(&e);
        ck_assert_int_eq(tsim_catalogue_load_node(&arena, MEASURED[i].node, &e.scenario.cluster.node, &diags), TSIM_OK);
        ck_assert_int_eq(tsim_catalogue_load_fabric(&arena, "ib-ndr", &e.scenario.cluster.fabric, &diags), TSIM_OK);
        e.scenario.cluster.accelerators_per_node = on_node;
        e.model.hidden = 7168;
        e.model.experts = (struct tsim_experts){.count = 8 * ranks, .active = 8, .ffn_hidden = 2048, .every = 1};
        e.software.expert_dispatch = TSIM_DISPATCH_PER_NODE;
        e.scenario.training.sequence_length = 4096;
        e.scenario.training.global_batch_size = ranks;
        struct times times = predict(nodes, on_node);
        double copies = nodes == 1 ? tsim_routing_ranks(&e.model.experts, 1, (double)on_node)
                                   : tsim_routing_nodes(&e.model.experts, (double)nodes);
        double bytes = 2.0 * 4096 * 7168 * copies,
               dispatch = bytes / times.dispatch_s / MEASURED[i].dispatch_bytes_per_s,
               combine = bytes / times.combine_s / MEASURED[i].combine_bytes_per_s;
        ck_assert_msg(fabs(dispatch - 1) < MEASURED[i].tolerance && fabs(combine - 1) < MEASURED[i].tolerance,
                      "%s, %d ranks: dispatch %.2f, combine %.2f", MEASURED[i].node, (int)ranks, dispatch, combine);
    }
    tsim_arena_release(&arena);
    tsim_diags_release(&diags);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
