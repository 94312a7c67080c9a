/* Steps whose tensor, context and expert groups meet on the links of a topology: on a fat tree oversubscribed 8:1
 * against bytes over capacity and against the same tree 1:1, and there and on a dragonfly, a torus and PCIe switches
 * against messages played one by one. */
#include "cluster/topology.h"
#include "model/parameter_bytes.h"
#include "partition/partition.h"
#include "step/pass/pass.h"
#include "step/program.h"
#include "support/arena_rig.h"
#include "support/example.h"

#include <math.h>
#include <string.h>

static struct example e;

static struct tsim_step_simulation simulate_heard(enum tsim_network network, bool folds,
                                                  const struct tsim_step_sink *sink) {
    struct tsim_step_simulation simulation;
    struct tsim_pass_costs costs;
    e.scenario.simulation.network = network;
    e.scenario.simulation.fold = folds;
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, &e.scenario);
    const struct tsim_placement *placement = tsim_placement_build(&arena, &e.scenario);
    tsim_pass_costs_build(&arena, &e.scenario, cluster, placement, &costs);
    ck_assert_int_eq(
        tsim_step_simulate_observed(&arena, &e.scenario, cluster, placement, &costs, sink, &simulation, &diags),
        TSIM_OK);
    return simulation;
}

static struct tsim_step_simulation simulate(enum tsim_network network, bool folds) {
    return simulate_heard(network, folds, NULL);
}

/* Makes a job in which nothing of the data-parallel group runs beside the passes. */
static void init(int64_t nodes) {
    example_init(&e);
    e.scenario.cluster.nodes = nodes;
    e.scenario.training.sequence_length = 8192;
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    e.scenario.simulation.detail = TSIM_DETAIL_OPERATORS;
    e.scenario.parallelism.overlap = (struct tsim_overlap){.pipeline = true};
}

static void finish(void) {
    example_finish(&e);
    e.scenario.training.global_batch_size = e.scenario.parallelism.data;
    example_finish(&e);
}

static void be_of(enum tsim_axis axis, int64_t n) {
    struct tsim_parallelism_spec *p = &e.scenario.parallelism;
    p->tensor = axis == TSIM_AXIS_TENSOR ? n : 1;
    p->sequence = axis == TSIM_AXIS_TENSOR;
    p->context = axis == TSIM_AXIS_CONTEXT ? n : 1;
    p->expert = axis == TSIM_AXIS_EXPERT ? n : 1;
    if (axis == TSIM_AXIS_EXPERT)
        e.model.experts = (struct tsim_experts){.count = 8, .active = 2, .ffn_hidden = 2048, .every = 1};
}

/* ---- a fat tree ---- */

enum { N_GROUP = 8, N_BELOW = 16 };

/* Sixteen nodes of eight, two nodes below each leaf; data-parallel ranks lie side by side, so that each leaf has one
 * rank of each of the 16 groups of eight and all that these send leaves it. */
static void init_leaves(enum tsim_axis axis, const struct tsim_tier *tier) {
    init(16);
    be_of(axis, N_GROUP);
    const enum tsim_axis order[] = {TSIM_AXIS_DATA, TSIM_AXIS_TENSOR, TSIM_AXIS_CONTEXT, TSIM_AXIS_EXPERT,
                                    TSIM_AXIS_PIPELINE};
    memcpy(e.scenario.parallelism.order, order, sizeof order);
    e.fabric.topology = TSIM_TOPOLOGY_FAT_TREE;
    e.fabric.routing = TSIM_ROUTING_ADAPTIVE;
    e.fabric.tiers = tier;
    e.fabric.n_tiers = 1;
    finish();
}

static double exposed_s(const struct tsim_step_simulation *s, enum tsim_axis axis) {
    const struct tsim_step_terms *t = &s->stage_groups[0].terms;
    return axis == TSIM_AXIS_TENSOR    ? t->exposed_tensor_s
           : axis == TSIM_AXIS_CONTEXT ? t->exposed_context_s
                                       : t->exposed_expert_s;
}

/* Sums over the collectives of an axis. */
struct sent {
    double nic_bytes, latency_s;
};

static void add_sent(void *context, const struct tsim_pass_operator *row) {
    struct sent *sent = context;
    sent->nic_bytes += row->op->kind == TSIM_OP_COLLECTIVE ? row->nic_bytes : 0;
    sent->latency_s += row->op->kind == TSIM_OP_COLLECTIVE ? row->latency_s : 0;
}

/* Returns all that a rank's passes of one micro-batch send. */
static struct sent sent_by_passes(void) {
    struct sent sum = {0, 0};
    for (int part = 0; part < TSIM_N_PARTS; part++)
        for (int kind = TSIM_PASS_FORWARD; kind <= TSIM_PASS_BACKWARD; kind++) {
            double times = tsim_model_parts(e.scenario.model).times[part];
            struct sent sent = {0, 0};
            if (times <= 0)
                continue;
            tsim_pass_visit(&e.scenario, tsim_cluster_build(&arena, &e.scenario),
                            tsim_placement_build(&arena, &e.scenario), (enum tsim_part)part, kind, add_sent, &sent);
            sum.nic_bytes += times * sent.nic_bytes;
            sum.latency_s += times * sent.latency_s;
        }
    return sum;
}

static double uplink_bytes(const struct tsim_step_simulation *s) {
    for (int32_t i = 0; i < s->n_link_utilizations; i++)
        if (strstr(s->link_utilizations[i].sort, "up"))
            return s->link_utilizations[i].highest_bytes;
    return 0;
}

/* The uplinks of a leaf carry what its 16 ranks send, 8:1 at 16 / 8 times a port's rate. All of the wait is the group's
 * own: other terms stay. Message by message it takes as long. */
TSIM_TEST(groups_meet_on_uplinks) {
    static const struct tsim_tier EVEN = {.ports = N_BELOW, .oversubscription = 1},
                                  SHORT = {.ports = N_BELOW, .oversubscription = 8};
    static const enum tsim_axis AXES[] = {TSIM_AXIS_TENSOR, TSIM_AXIS_CONTEXT, TSIM_AXIS_EXPERT};
    for (size_t i = 0; i < sizeof AXES / sizeof AXES[0]; i++) {
        init_leaves(AXES[i], &EVEN);
        struct sent sent = sent_by_passes();
        ck_assert_double_gt(sent.nic_bytes, 1e6);
        struct tsim_step_simulation even = simulate(TSIM_NETWORK_FLUID, false);
        init_leaves(AXES[i], &SHORT);
        struct tsim_step_simulation narrow = simulate(TSIM_NETWORK_FLUID, false);
        struct tsim_step_simulation steps = simulate(TSIM_NETWORK_STEPS, false);
        double rate = e.node.nic_bytes_per_s, by_hand_s = N_BELOW * sent.nic_bytes / (N_BELOW / 8.0 * rate);
        double waits_s = exposed_s(&narrow, AXES[i]);
        ck_assert_msg(fabs(waits_s - by_hand_s - sent.latency_s) < 0.05 * by_hand_s,
                      "axis %d: exposed %.6g s, by hand %.6g s (even %.6g s)", (int)AXES[i], waits_s, by_hand_s,
                      exposed_s(&even, AXES[i]));
        ck_assert_double_gt(waits_s, 7 * exposed_s(&even, AXES[i]));
        ck_assert_double_eq_tol(narrow.stage_groups[0].terms.compute_s, even.stage_groups[0].terms.compute_s, 1e-9);
        ck_assert_double_eq_tol(narrow.stage_groups[0].terms.bubble_s, even.stage_groups[0].terms.bubble_s, 1e-9);
        ck_assert_double_eq_tol(narrow.nic_out_bytes, even.nic_out_bytes, 1e-9 * even.nic_out_bytes);
        ck_assert_msg(fabs(steps.time_s / narrow.time_s - 1) < 0.05, "axis %d: %.6g s fluid, %.6g s by messages",
                      (int)AXES[i], narrow.time_s, steps.time_s);
        if (AXES[i] == TSIM_AXIS_TENSOR) /* the data-parallel group stays below its leaf */
            ck_assert_double_eq_tol(uplink_bytes(&narrow), N_BELOW * sent.nic_bytes, 1e-6 * uplink_bytes(&narrow));
    }
}

static struct tsim_step_simulation simulate_experts(const struct tsim_tier *tier, enum tsim_network network) {
    init_leaves(TSIM_AXIS_EXPERT, tier);
    e.scenario.parallelism.zero = 1;
    e.model.experts.ffn_hidden = 16384;
    example_finish(&e);
    return simulate(network, false);
}

/* Experts of a kind lie below one leaf, all else has a ring around all nodes. So gradients of experts, and their
 * weights, take the same at 8:1; those of all else, and their weights, leave each leaf once, over 16 / 8 uplinks
 * instead of the 8 NICs of a node. One goes after the other, so only the second are held up, and the step by as
 * much. */
TSIM_TEST(only_one_of_two_reductions_is_held_up) {
    static const struct tsim_tier EVEN = {.ports = N_BELOW, .oversubscription = 1},
                                  SHORT = {.ports = N_BELOW, .oversubscription = 8};
    struct tsim_step_simulation even = simulate_experts(&EVEN, TSIM_NETWORK_FLUID),
                                narrow = simulate_experts(&SHORT, TSIM_NETWORK_FLUID),
                                steps = simulate_experts(&SHORT, TSIM_NETWORK_STEPS);
    double n = (double)e.scenario.n_accelerators, rate = e.node.nic_bytes_per_s,
           parameters = tsim_chunk_parameters(&e.scenario, 0, 0) - tsim_chunk_expert_parameters(&e.scenario, 0, 0),
           bytes = (n - 1) / n * parameters * (tsim_gradient_bytes(&e.scenario) + 2),
           by_hand_s = bytes / (N_BELOW / 8.0 * rate) - bytes / (8 * rate);
    double waits_s = narrow.stage_groups[0].terms.exposed_data_s - even.stage_groups[0].terms.exposed_data_s;
    ck_assert_double_gt(tsim_chunk_expert_parameters(&e.scenario, 0, 0), parameters);
    ck_assert_msg(fabs(waits_s - by_hand_s) < 0.05 * by_hand_s, "waits %.6g s longer, by hand %.6g s", waits_s,
                  by_hand_s);
    ck_assert_double_eq_tol(narrow.stage_groups[0].terms.exposed_data_s, steps.stage_groups[0].terms.exposed_data_s,
                            0.01 * steps.stage_groups[0].terms.exposed_data_s);
    ck_assert_double_eq_tol(narrow.stage_groups[0].terms.compute_s, even.stage_groups[0].terms.compute_s, 1e-9);
}

/* ---- in step ---- */

/* Makes data traffic run beside the passes, so message by message ranks end it a little apart. */
static void init_beside(enum tsim_axis axis, enum tsim_routing routing, double cv) {
    static const struct tsim_tier SHORT = {.ports = N_BELOW, .oversubscription = 8};
    init_leaves(axis, &SHORT);
    e.model.experts.ffn_hidden *= 16; /* kernels take a part of the step worth hiding */
    e.fabric.routing = routing;
    e.scenario.parallelism.zero = 1;
    e.scenario.parallelism.overlap = (struct tsim_overlap){.gradients = true, .parameters = true, .pipeline = true};
    e.scenario.variability.compute_cv = cv;
    finish();
}

/* Groups that nothing tells apart wait for each other's bytes, also by hashed routes. If their kernels vary, they drift
 * apart, and some compute while others send. Message by message is no variation (step/folding/in_step.h). Without
 * TSIM_CASES each axis has one kind of routes. */
TSIM_TEST(groups_stay_in_step_unless_they_vary) {
    static const enum tsim_axis AXES[] = {TSIM_AXIS_CONTEXT, TSIM_AXIS_EXPERT};
    for (int a = 0; a < 2; a++)
        for (int hashed = 0; hashed < 2; hashed++) {
            if (hashed != (AXES[a] == TSIM_AXIS_EXPERT) && !getenv("TSIM_CASES"))
                continue;
            double fluid_s[2] = {0, 0};
            for (int varies = 0; varies < 1 + (AXES[a] == TSIM_AXIS_EXPERT); varies++) {
                init_beside(AXES[a], hashed ? TSIM_ROUTING_ECMP : TSIM_ROUTING_ADAPTIVE, 0.02 * varies);
                fluid_s[varies] = simulate(TSIM_NETWORK_FLUID, false).time_s;
                double steps_s = simulate(TSIM_NETWORK_STEPS, false).time_s;
                ck_assert_msg(fabs(steps_s / fluid_s[varies] - 1) < 0.05,
                              "axis %d, hashed %d, varies %d: %.6g s fluid, %.6g s by messages", (int)AXES[a], hashed,
                              varies, fluid_s[varies], steps_s);
            }
            if (AXES[a] == TSIM_AXIS_EXPERT)
                ck_assert_msg(fluid_s[1] < 0.95 * fluid_s[0], "hashed %d: %.6g s in step, %.6g s apart", hashed,
                              fluid_s[0], fluid_s[1]);
        }
}

/* ---- other topologies ---- */

static void be_dragonfly(void) {
    init(8);
    e.node.nics = 2;
    e.node.accelerators = e.scenario.cluster.accelerators_per_node = 2;
    e.fabric.topology = TSIM_TOPOLOGY_DRAGONFLY;
    e.fabric.routing = TSIM_ROUTING_ADAPTIVE;
    e.fabric.dragonfly_ports = 2;
    e.fabric.dragonfly_routers = 2;
    e.fabric.dragonfly_local_links = 1;
    e.fabric.dragonfly_global_links = 2;
}

static void be_torus(void) {
    static const int64_t SHAPE[3] = {4, 4, 1};
    init(4);
    e.node.accelerators = e.scenario.cluster.accelerators_per_node = 4;
    memcpy(e.scenario.cluster.torus_shape, SHAPE, sizeof SHAPE);
    e.fabric.topology = TSIM_TOPOLOGY_TORUS;
    e.fabric.torus_dimensions = 2;
    e.fabric.torus_wrap = 4;
}

static void be_pcie(void) {
    init(1);
    e.node.scale_up = TSIM_SCALE_UP_PCIE;
    e.node.accelerators_per_switch = 4;
    e.node.switch_uplink_bytes_per_s = 20e9;
    e.node.accelerators_per_socket = 4;
    e.node.socket_link_bytes_per_s = 10e9;
}

TSIM_TEST(fluid_against_messages) {
    static void (*const TOPOLOGIES[])(void) = {be_dragonfly, be_torus, be_pcie};
    static const char *const NAMES[] = {"dragonfly", "torus", "PCIe"};
    static const enum tsim_axis AXES[] = {TSIM_AXIS_TENSOR, TSIM_AXIS_CONTEXT};
    for (int t = 0; t < 3; t++)
        for (int a = 0; a < 2; a++) {
            TOPOLOGIES[t]();
            be_of(AXES[a], 4);
            finish();
            double fluid_s = simulate(TSIM_NETWORK_FLUID, false).time_s;
            double steps_s = simulate(TSIM_NETWORK_STEPS, false).time_s;
            ck_assert_msg(fabs(steps_s / fluid_s - 1) < 0.05, "%s, axis %d: %.6g s fluid, %.6g s by messages", NAMES[t],
                          (int)AXES[a], fluid_s, steps_s);
        }
}

/* ---- samples of links ---- */

/* Keeps what was told of each sort, in seconds of its whole capacity. */
struct heard {
    int n[TSIM_N_LINK_SORTS];
    double end_s[TSIM_N_LINK_SORTS], mean_s[TSIM_N_LINK_SORTS], highest_frac[TSIM_N_LINK_SORTS];
};

static void hear_begin(void *context, const struct tsim_step_outline *outline) {
    (void)context;
    ck_assert_int_gt(outline->n_stage_groups, 0);
}

static void hear_task(void *context, const struct tsim_step_task *task) {
    (void)context;
    ck_assert_double_ge(task->end_s, task->begin_s);
}

static void hear(void *context, const struct tsim_step_links_sample *sample) {
    struct heard *heard = context;
    int32_t sort = sample->sort;
    ck_assert_double_eq(sample->begin_s, heard->end_s[sort]);
    ck_assert_double_gt(sample->end_s, sample->begin_s);
    ck_assert_double_ge(sample->mean_frac, 0);
    ck_assert_double_le(sample->mean_frac, sample->highest_frac * (1 + 1e-9));
    ck_assert_double_le(sample->highest_frac, 1 + 1e-9);
    heard->n[sort]++;
    heard->end_s[sort] = sample->end_s;
    heard->mean_s[sort] += sample->mean_frac * (sample->end_s - sample->begin_s);
    heard->highest_frac[sort] = fmax(heard->highest_frac[sort], sample->highest_frac);
}

static const struct tsim_link_utilization *utilization_of(const struct tsim_step_simulation *s, int32_t sort) {
    for (int32_t i = 0; i < s->n_link_utilizations; i++)
        if (strcmp(s->link_utilizations[i].sort, tsim_link_sort_name(sort)) == 0)
            return &s->link_utilizations[i];
    return NULL;
}

/* Expects that over the time of the step each sort's use is its bytes over its capacity, and that a step that is heard
 * is as long as one that is not. Returns the number of sorts that were in use. */
static int expect_samples_of_bytes(const char *name, enum tsim_network network, bool folds) {
    struct heard heard = {.n = {0}};
    const struct tsim_step_sink sink = {.begin = hear_begin, .take = hear_task, .take_links = hear, .context = &heard};
    struct tsim_step_simulation alone = simulate(network, folds), s = simulate_heard(network, folds, &sink);
    int n = 0;
    ck_assert_msg(s.time_s == alone.time_s, "%s: %.17g s, heard %.17g s", name, alone.time_s, s.time_s);
    for (int32_t sort = 0; sort < TSIM_N_LINK_SORTS; sort++) {
        if (heard.n[sort] == 0)
            continue;
        const struct tsim_link_utilization *use = utilization_of(&s, sort), *of_alone = utilization_of(&alone, sort);
        ck_assert_int_ge(heard.n[sort], 20);
        ck_assert_msg(fabs(heard.end_s[sort] - s.time_s) <= 1e-9 * s.time_s, "%s, %s: to %.17g of %.17g s", name,
                      tsim_link_sort_name(sort), heard.end_s[sort], s.time_s);
        ck_assert_int_eq(use == NULL, of_alone == NULL);
        double mean_s = use ? use->mean_frac * s.time_s : 0;
        ck_assert_msg(fabs(heard.mean_s[sort] - mean_s) <= 1e-9 * mean_s, "%s, %s: %.12g s in use, %.12g s heard", name,
                      tsim_link_sort_name(sort), mean_s, heard.mean_s[sort]);
        if (!use)
            continue;
        ck_assert_double_eq_tol(use->mean_frac, of_alone->mean_frac, 1e-9 * use->mean_frac);
        ck_assert_double_ge(heard.highest_frac[sort], use->highest_frac * (1 - 1e-9));
        n++;
    }
    return n;
}

/* A way up and one down of the tree; local and global links; the four ways of a torus; switches up and down, and
 * sockets. Ports and NICs are of one rank each, and are not told. */
TSIM_TEST(samples_of_links_add_up_to_their_bytes) {
    static const struct tsim_tier SHORT = {.ports = N_BELOW, .oversubscription = 8};
    static void (*const TOPOLOGIES[])(void) = {be_dragonfly, be_torus, be_pcie};
    static const char *const NAMES[] = {"dragonfly", "torus", "PCIe"};
    static const int N_SORTS[] = {2, 1, 2};
    for (int folds = 0; folds < 2; folds++) {
        init_leaves(TSIM_AXIS_TENSOR, &SHORT);
        ck_assert_int_eq(expect_samples_of_bytes("fat tree", TSIM_NETWORK_FLUID, folds), 2);
    }
    for (int t = 0; t < 3; t++)
        for (int stepped = 0; stepped < 2; stepped++) {
            TOPOLOGIES[t]();
            be_of(TSIM_AXIS_TENSOR, 4);
            e.scenario.parallelism.overlap.gradients = true;
            finish();
            int n = expect_samples_of_bytes(NAMES[t], stepped ? TSIM_NETWORK_STEPS : TSIM_NETWORK_FLUID, false);
            ck_assert_msg(n >= N_SORTS[t], "%s: %d sorts", NAMES[t], n);
        }
}

/* Tells nothing where nothing is shared. */
TSIM_TEST(no_samples_of_own_links) {
    struct heard heard = {.n = {0}};
    const struct tsim_step_sink sink = {.begin = hear_begin, .take = hear_task, .take_links = hear, .context = &heard};
    init(2);
    be_of(TSIM_AXIS_TENSOR, 8);
    finish();
    for (int folds = 0; folds < 2; folds++)
        simulate_heard(TSIM_NETWORK_FLUID, folds, &sink);
    for (int32_t sort = 0; sort < TSIM_N_LINK_SORTS; sort++)
        ck_assert_int_eq(heard.n[sort], 0);
}

/* Tensor groups along one dimension of a torus and data-parallel groups along the other meet on no link, so one rank
 * stands for all. With tensor groups of half a dimension, data-parallel groups go along both and meet them, in all
 * replicas alike as the torus closes to rings: one replica stands for all, on links that they share. */
TSIM_TEST(replicas_of_a_torus_fold) {
    for (int zero = 0; zero <= 3; zero++)
        for (int64_t tensor = 2; tensor <= 4; tensor += 2) {
            be_torus();
            be_of(TSIM_AXIS_TENSOR, tensor);
            e.scenario.parallelism.zero = zero;
            e.scenario.parallelism.overlap =
                (struct tsim_overlap){.gradients = true, .parameters = true, .tensor = true};
            finish();
            struct tsim_step_simulation folded = simulate(TSIM_NETWORK_FLUID, true),
                                        unfolded = simulate(TSIM_NETWORK_FLUID, false);
            ck_assert_int_eq(folded.n_stage_groups, 1);
            ck_assert_int_eq(unfolded.n_stage_groups, 16 / tensor);
            ck_assert_double_gt(unfolded.stage_groups[0].data_busy_s, 0);
            ck_assert_double_eq_tol(folded.time_s, unfolded.time_s, 1e-9 * unfolded.time_s);
        }
}

/* All cards of a node without NICs reduce gradients over its switches and between its sockets, whose links one replica
 * meets as well as eight. */
TSIM_TEST(replicas_of_one_node_fold) {
    be_pcie();
    be_of(TSIM_AXIS_TENSOR, 1);
    e.scenario.parallelism.overlap.gradients = true;
    finish();
    struct tsim_step_simulation folded = simulate(TSIM_NETWORK_FLUID, true),
                                unfolded = simulate(TSIM_NETWORK_FLUID, false);
    ck_assert_int_lt(folded.n_stage_groups, unfolded.n_stage_groups);
    ck_assert_double_gt(unfolded.stage_groups[0].data_busy_s, 0);
    ck_assert_double_eq_tol(folded.time_s, unfolded.time_s, 1e-9 * unfolded.time_s);
}

/* Context ranks, and ranks of experts, reduce gradients over the links of their exchanges. If they are all ranks of a
 * torus, every one is simulated, on separate links in place of one link with all of a rank's bandwidth. */
TSIM_TEST(exchanges_meet_gradients_of_the_same_ranks) {
    static const enum tsim_axis AXES[] = {TSIM_AXIS_CONTEXT, TSIM_AXIS_EXPERT};
    for (int a = 0; a < 2; a++) {
        be_torus();
        be_of(AXES[a], 16);
        e.scenario.parallelism.overlap.gradients = true;
        finish();
        struct tsim_step_simulation folded = simulate(TSIM_NETWORK_FLUID, true),
                                    unfolded = simulate(TSIM_NETWORK_FLUID, false);
        ck_assert_int_eq(folded.n_stage_groups, unfolded.n_stage_groups);
        ck_assert_double_gt(unfolded.stage_groups[0].data_busy_s, 0);
        ck_assert_msg(fabs(folded.time_s - unfolded.time_s) <= 1e-9 * unfolded.time_s,
                      "axis %d: %.12g s folded, %.12g s unfolded", (int)AXES[a], folded.time_s, unfolded.time_s);
    }
}

TSIM_MAIN(60, set_up, tear_down)
