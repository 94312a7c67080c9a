/* Laws of the network over random clusters, topologies and plans, loaded from text as a user's are: what auto folds is
 * what off gives; an ideal network is not slower; message by message is as one activity for each collective, but where
 * groups of an axis lie differently; what is not played is refused with a sentence; slower kernels are not faster, and
 * faster links not slower. Nothing ends in an assertion. Prints its seed; TSIM_CASES says how many clusters are drawn
 * for each test (100). */
#include "cluster/placement.h"
#include "cluster/topology.h"
#include "run/run.h"
#include "step/balance.h"
#include "step/step_plan.h"
#include "support/check_main.h"
#include "support/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_CASES = 45 };
#define SEED 20261123u

static struct tsim_arena arena;
static struct tsim_diags diags;
static struct random_source source;
static char file[64];

static int between(int low, int high) {
    return random_between(&source, low, high);
}

static const char *pick(const char *const *words, size_t n) {
    return words[between(0, (int)n - 1)];
}
#define PICK(...) pick((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static int divisor_of(int n, int most) {
    int divisor;
    do
        divisor = between(1, most < n ? most : n);
    while (n % divisor != 0);
    return divisor;
}

static const struct {
    const char *id, *torus;
    int accelerators;
} NODES[] = {{"dgx-h100", NULL, 8},
             {"dgx-a100", NULL, 8},
             {"trn1-32xlarge", NULL, 16},
             {"mi300x-node", NULL, 8},
             {"dgx-1v", NULL, 8},
             {"pcie-a100x8", NULL, 8},
             {"gaudi2-hls", NULL, 8},
             {"tpu-v4-host", "tpu-v4-torus", 4},
             {"tpu-v5e-host", "tpu-v5e-torus", 4}};
enum { N_NODES = sizeof NODES / sizeof *NODES };

/* Draws a cluster of at most 32 ranks, on whole nodes or some of their accelerators. */
static int draw_cluster(FILE *out) {
    int which = between(0, N_NODES - 1), whole = NODES[which].accelerators;
    int per_node = between(0, 1) ? whole : between(1, whole), nodes = between(1, 5);
    while (nodes * per_node > 32)
        nodes--;
    fprintf(out, "cluster: {node: %s, nodes: %d, accelerators_per_node: %d", NODES[which].id, nodes, per_node);
    if (NODES[which].torus)
        fprintf(out, ", fabric: %s", NODES[which].torus);
    else if (nodes > 1)
        fprintf(
            out, ", fabric: %s",
            PICK("ib-ndr", "ib-ndr", "efa-400", "ib-ndr-superpod", "slingshot-200",
                 "{extends: ib-ndr, topology: fat-tree, routing: adaptive, tiers: [{ports: 16, oversubscription: 4}]}",
                 "{extends: ib-ndr, topology: fat-tree, tiers: [{ports: 32, oversubscription: 2}]}"));
    fputs("}\n", out);
    return nodes * per_node;
}

static void draw_plan(FILE *out, int n_ranks, bool has_experts, const char *offload) {
    int tensor = divisor_of(n_ranks, 4), pipeline = divisor_of(n_ranks / tensor, 4);
    int context = between(0, 3) ? 1 : divisor_of(n_ranks / tensor / pipeline, 2);
    int data = n_ranks / tensor / pipeline / context, micro_batch = between(1, 2);
    fprintf(out, "training: {sequence_length: 512, micro_batch_size: %d, global_batch_size: %d%s}\n", micro_batch,
            micro_batch * data * between(1, 4), offload);
    fprintf(out, "parallelism: {tensor: %d, pipeline: %d, context: %d, zero: %d, overlap: {gradients: %s, tensor: %s}",
            tensor, pipeline, context, between(0, pipeline > 1 ? 2 : 3), PICK("true", "false"), PICK("true", "false"));
    if (pipeline > 1)
        fprintf(out, ", layers_per_stage: balance, schedule: %s", PICK("1f1b", "gpipe", "sequential", "zb-h1"));
    if (has_experts)
        fprintf(out, ", expert: %d", divisor_of(data, 4));
    if (between(0, 3) == 0)
        fprintf(out, ", order: [%s]",
                PICK("data, tensor, context, expert, pipeline", "pipeline, tensor, context, expert, data",
                     "expert, data, pipeline, context, tensor"));
    fputs("}\n", out);
}

static void draw(void) {
    FILE *out = fopen(file, "w");
    bool has_experts = between(0, 3) == 0;
    ck_assert_ptr_nonnull(out);
    fputs("schema: tsim/v1\nname: drawn\n", out);
    fputs(has_experts ? "model: {extends: mixtral-8x7b, layers: 8}\n" : "model: {extends: gpt2-medium, layers: 8}\n",
          out);
    draw_plan(out, draw_cluster(out), has_experts, "");
    ck_assert_int_eq(fclose(out), 0);
}

static const char *drawn(void) {
    static char text[2000];
    FILE *in = fopen(file, "r");
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    fclose(in);
    return text;
}

static const struct tsim_scenario *load(const struct tsim_override *sets, size_t n_sets) {
    const struct tsim_scenario *scenario = NULL;
    return tsim_scenario_load(&arena, file, sets, n_sets, &scenario, &diags) == TSIM_OK ? scenario : NULL;
}

/* Returns the step's time, or 0 if the scenario is refused, with a sentence that says why and one that says what
 * would be right. */
static double step_with(const struct tsim_override *sets, size_t n_sets) {
    const struct tsim_run_options options = {.ignore_memory = true, .is_brief = true};
    struct tsim_result result;
    const struct tsim_scenario *scenario = load(sets, n_sets);
    size_t n = diags.n_items;
    enum tsim_status status = tsim_train_run(&arena, scenario, &options, &result, &diags);
    if (status == TSIM_OK)
        return result.step.terms.time_s;
    ck_assert_int_eq(status, TSIM_ERR_INFEASIBLE);
    ck_assert_uint_gt(diags.n_items, n);
    ck_assert_msg(strstr(diags.items[n].message, "meet on links") != NULL, "%s", diags.items[n].message);
    ck_assert_int_gt((int)strlen(diags.items[n].hint), 0);
    return 0;
}

static double step_s(const char *network, const char *fold) {
    const struct tsim_override sets[] = {{"simulation.network", network}, {"simulation.fold", fold}};
    return step_with(sets, 2);
}

/* Returns the layers of each stage as the scenario's text would give them, "[5, 3]", so that a run beside it is split in
 * the same way. */
static const char *split_of(const struct tsim_scenario *scenario) {
    const struct tsim_parallelism_spec *p = &scenario->parallelism;
    const int64_t *layers = tsim_balance(&arena, scenario, NULL)->parallelism.layers_per_chunk;
    const char *text = "[";
    for (int64_t k = 0; k < p->pipeline; k++)
        text = tsim_arena_printf(&arena, "%s%lld%s", text, (long long)layers[k], k + 1 < p->pipeline ? ", " : "]");
    return p->balances ? text : "auto";
}

/* A collective takes as much of the compute units and of HBM from the passes beside it as kernels lose on what it
 * leaves. If it takes the same in a shorter time, that costs them a little more, so faster links can make a step slower
 * by a few percent. */
static void check_senses(const struct tsim_scenario *scenario) {
    const char *split = split_of(scenario);
    const struct tsim_override quick[] = {{"cluster.node.accelerator.efficiency.kernel_latency", "0 us"},
                                          {"parallelism.layers_per_stage", split}},
                               slow[] = {{"cluster.node.accelerator.efficiency.kernel_latency", "20 us"}, quick[1]};
    double quick_s = step_with(quick, 2), slow_s = step_with(slow, 2);
    ck_assert_msg(quick_s <= 1.01 * slow_s, "kernels: %.9g s without latency, %.9g with\n%s", quick_s, slow_s, drawn());
    const struct tsim_override thin[] = {{"cluster.fabric.bandwidth", "400 Gb/s"},
                                         {"cluster.node.nic_bandwidth", "400 Gb/s"},
                                         quick[1]},
                               thick[] = {{"cluster.fabric.bandwidth", "1600 Gb/s"},
                                          {"cluster.node.nic_bandwidth", "1600 Gb/s"},
                                          quick[1]};
    if (!scenario->cluster.fabric)
        return;
    double thin_s = step_with(thin, 3), thick_s = step_with(thick, 3);
    ck_assert_msg(thick_s <= 1.05 * thin_s || thin_s <= 0, "links: %.9g s, four times as fast %.9g s\n%s", thin_s,
                  thick_s, drawn());
}

/* Returns whether, along each axis, all groups lie on equally many nodes, with equally many ranks on each, and NICs
 * serve equally many ranks. If not, one activity takes for all groups as long as the worst group. */
static bool lies_alike(const struct tsim_scenario *scenario) {
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, scenario);
    if (cluster->nic_bytes_per_s > 0 && cluster->accelerators_per_node % tsim_nics_per_node(cluster) != 0)
        return false;
    const struct tsim_placement *p = tsim_placement_build(&arena, scenario);
    for (int axis = 0; axis < TSIM_N_AXES; axis++) {
        struct tsim_group worst = tsim_placement_group(p, 1u << axis);
        for (int32_t rank = 0; rank < p->n_ranks && axis != TSIM_AXIS_PIPELINE; rank++) {
            struct tsim_group own = tsim_placement_group_of(p, rank, 1u << axis);
            if (memcmp(&own, &worst, sizeof own) != 0)
                return false;
        }
    }
    return true;
}

struct outcomes {
    int n_valid, n_refused, n_compared;
    double sum_of_differences;
};

static void check(struct outcomes *outcomes) {
    const struct tsim_scenario *scenario = load(NULL, 0);
    if (!scenario)
        return; /* the rules refuse it */
    outcomes->n_valid++;
    const struct tsim_override ideal[] = {{"simulation.network", "ideal"},
                                          {"parallelism.layers_per_stage", split_of(scenario)}};
    double fluid_s = step_s("fluid", "auto"), unfolded_s = step_s("fluid", "off"), ideal_s = step_with(ideal, 2);
    ck_assert_double_gt(ideal_s, 0);
    ck_assert_msg((fluid_s > 0) == (unfolded_s > 0), "%s", drawn());
    outcomes->n_refused += fluid_s <= 0;
    if (fluid_s <= 0)
        return;
    ck_assert_msg(fabs(unfolded_s / fluid_s - 1) <= 1e-9, "%.12g folded, %.12g unfolded\n%s", fluid_s, unfolded_s,
                  drawn());
    ck_assert_msg(ideal_s <= fluid_s * (1 + 1e-9), "%.12g ideal, %.12g fluid\n%s", ideal_s, fluid_s, drawn());
    check_senses(scenario);
    if (!lies_alike(scenario))
        return;
    double steps_s = step_s("steps", "off");
    outcomes->n_compared++;
    outcomes->sum_of_differences += fabs(steps_s / unfolded_s - 1);
    /* Experts' two groups run one after another; on nodes that hold more of a group than others a ring waits for
     * them. */
    bool is_torus = scenario->cluster.fabric && scenario->cluster.fabric->topology == TSIM_TOPOLOGY_TORUS,
         exchanges = scenario->cluster.fabric && scenario->parallelism.expert > 1;
    double most = is_torus ? 0.05 : exchanges ? 0.15 : 0.08;
    ck_assert_msg(fabs(steps_s / unfolded_s - 1) <= most, "%.6g fluid, %.6g message by message\n%s", unfolded_s,
                  steps_s, drawn());
}

TSIM_TEST(random_networks) {
    const int n_cases = (int)random_cases(N_CASES);
    struct outcomes outcomes = {0};
    source = random_start(SEED);
    strcpy(file, "/tmp/tsim-test-network-XXXXXX");
    int handle = mkstemp(file);
    ck_assert_int_ge(handle, 0);
    close(handle);
    for (int i = 0; i < n_cases; i++) {
        tsim_arena_init(&arena);
        tsim_diags_init(&diags);
        draw();
        check(&outcomes);
        tsim_diags_release(&diags);
        tsim_arena_release(&arena);
    }
    remove(file);
    printf("%d drawn, %d valid, %d of them refused, %d compared: %.2f %% apart on average\n", n_cases, outcomes.n_valid,
           outcomes.n_refused, outcomes.n_compared, 100 * outcomes.sum_of_differences / outcomes.n_compared);
    ck_assert_int_gt(outcomes.n_compared, n_cases / 8);
    ck_assert_int_eq(outcomes.n_refused, 0); /* all topologies act on all traffic */
    ck_assert_double_le(outcomes.sum_of_differences, 0.003 * outcomes.n_compared);
}

/* Draws a torus of 8 to 64 ranks, which closes to rings or not, and returns how many there are. */
static int draw_torus(FILE *out) {
    static const char *const SHAPES[] = {"4, 4", "8, 4", "4, 8", "2, 8", "8, 8", "6, 4", "12, 2", "4, 4, 2", "4, 4, 4"};
    static const int N_RANKS[] = {16, 32, 32, 16, 64, 24, 24, 32, 64};
    int i = between(0, (int)(sizeof N_RANKS / sizeof *N_RANKS) - 1);
    fprintf(out,
            "cluster: {node: %s, nodes: %d, shape: [%s], fabric: {extends: %s, torus: {dimensions: %d, wrap: %s}}}\n",
            i < 7 ? "tpu-v5e-host" : "tpu-v4-host", N_RANKS[i] / 4, SHAPES[i], i < 7 ? "tpu-v5e-torus" : "tpu-v4-torus",
            i < 7 ? 2 : 3, PICK("4", "4", "2", "0"));
    return N_RANKS[i];
}

/* Draws a fat tree or a dragonfly with adaptive routing, or nodes whose accelerators share PCIe switches, sockets or
 * NICs: 16 to 64 ranks. */
static int draw_shared_links(FILE *out) {
    int nodes = between(2, 8);
    bool has_tiers = between(0, 1);
    fprintf(out, "cluster: {node: %s, nodes: %d, accelerators_per_node: %d, fabric: {extends: %s, routing: adaptive",
            has_tiers ? PICK("dgx-h100", "dgx-a100", "mi300x-node", "pcie-a100x8")
                      : PICK("pcie-h100x8", "pcie-a100x8", "dgx-1v", "gaudi2-hls"),
            nodes, 8, PICK("ib-ndr", "slingshot-200"));
    if (has_tiers && between(0, 3))
        fprintf(out,
                ", topology: fat-tree, rails: %s, tiers: [{ports: %d, oversubscription: %d}, {ports: %d, "
                "oversubscription: %d}]",
                PICK("true", "false"), 8 << between(0, 1), between(1, 3), 32, between(1, 4));
    fputs("}}\n", out);
    return nodes * 8;
}

static void draw_shared(void) {
    FILE *out = fopen(file, "w");
    bool has_experts = between(0, 3) == 0;
    ck_assert_ptr_nonnull(out);
    fputs("schema: tsim/v1\nname: drawn\n", out);
    fputs(has_experts ? "model: {extends: mixtral-8x7b, layers: 8}\n" : "model: {extends: gpt2-medium, layers: 8}\n",
          out);
    int n_ranks = between(0, 2) ? draw_shared_links(out) : draw_torus(out);
    draw_plan(out, n_ranks, has_experts, between(0, 7) ? "" : ", offload: {activations: 20 %}");
    if (between(0, 3) == 0)
        fputs("data: {storage: nvme, sample_size: 4 MB, sample_cpu_time: 2 ms, workers: 8}\n", out);
    ck_assert_int_eq(fclose(out), 0);
}

/* Returns how many replicas are simulated. */
static int32_t n_simulated(const struct tsim_scenario *scenario) {
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, scenario);
    const struct tsim_placement *placement = tsim_placement_build(&arena, scenario);
    struct tsim_pass_costs costs;
    tsim_pass_costs_build(&arena, scenario, cluster, placement, &costs);
    struct tsim_step_plan *plan = tsim_step_plan_build(&arena, scenario, cluster, placement, &costs, NULL, NULL);
    tsim_fold(&arena, placement, plan);
    return plan->folding == TSIM_FOLD_STAGES ? (int32_t)scenario->parallelism.data : plan->n_replicas;
}

TSIM_TEST(folded_replicas) {
    const int n_cases = (int)random_cases(N_CASES);
    int n_valid = 0, n_folded = 0, n_of_kinds = 0;
    source = random_start(SEED);
    strcpy(file, "/tmp/tsim-test-network-XXXXXX");
    int handle = mkstemp(file);
    ck_assert_int_ge(handle, 0);
    close(handle);
    for (int i = 0; i < n_cases; i++) {
        tsim_arena_init(&arena);
        tsim_diags_init(&diags);
        draw_shared();
        const struct tsim_scenario *scenario = load(NULL, 0);
        if (scenario) {
            n_valid++;
            int32_t n_replicas = n_simulated(scenario);
            n_folded += n_replicas < scenario->parallelism.data;
            n_of_kinds += n_replicas < scenario->parallelism.data && n_replicas > (int32_t)scenario->parallelism.expert;
            double folded_s = step_s("fluid", "auto"), unfolded_s = step_s("fluid", "off");
            ck_assert_double_gt(folded_s, 0);
            ck_assert_msg(fabs(unfolded_s / folded_s - 1) <= 1e-9, "%.12g folded, %.12g unfolded\n%s", folded_s,
                          unfolded_s, drawn());
        }
        tsim_diags_release(&diags);
        tsim_arena_release(&arena);
    }
    remove(file);
    printf("%d drawn, %d valid, %d of them folded, %d to replicas of several kinds\n", n_cases, n_valid, n_folded,
           n_of_kinds);
    ck_assert_int_gt(n_folded, n_valid / 4);
    ck_assert_int_gt(n_of_kinds, n_valid / 40);
}

TSIM_MAIN(120, NULL, NULL)
