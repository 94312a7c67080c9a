/* Laws of a whole run over random scenarios from the whole catalogue (support/random_scenario.h). Whatever is drawn is
 * refused with a message or obeys the laws of one run (support/run_laws.h) and these:
 * - symmetry: which of the equal replicas, and which of the equal ranks in a tensor group, is slow makes no difference;
 * - idleness: spare nodes change nothing in the step, and nodes beside those of a collective nothing in its time;
 * - scale: where no latency is a constant of ours, rates times two and latencies over two are a step of half the time.
 * TSIM_CASES says how many valid ones are run (30), TSIM_SEED from which seed. */
#include "network/traffic.h"
#include "support/random_scenario.h"
#include "support/run_laws.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SLOW_S = 4 }; /* is said */
static struct random_source source;

/* ---- which of equals ---- */

static double time_with(const char *text, const char *path, const char *value) {
    struct run run;
    const struct tsim_override other = {path, value};
    double time_s = run_start(&run, text, &other, 1) ? run.result.step.terms.time_s : (double)NAN;
    run_end(&run);
    return time_s;
}

static double time_with_slow(const char *text, int64_t node, int64_t index) {
    char value[120];
    snprintf(value, sizeof value, "[{link: accelerator, node: %lld, index: %lld, rate: 0.7}]", (long long)node,
             (long long)index);
    return time_with(text, "cluster.degraded", value);
}

/* Exchanges ranks and expects equal results: tensor ranks of a group are interchangeable, and so are replicas on whole
 * nodes with nothing between them. Returns the number of pairs that were exchanged. */
static long check_symmetry(const char *text, const struct tsim_scenario *sc) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    const struct tsim_fabric *fabric = sc->cluster.fabric;
    int64_t per_node = sc->cluster.accelerators_per_node;
    if (p->tensor > per_node || per_node % p->tensor != 0 || p->expert > 1 || sc->n_accelerators > 64 ||
        sc->simulation.network != TSIM_NETWORK_FLUID || tsim_scenario_varies(sc) || p->order[0] != TSIM_AXIS_TENSOR)
        return 0;
    bool are_replicas = p->pipeline == 1 && p->context == 1 && !sc->data.has && sc->cluster.nodes > 1 &&
                        (!fabric || fabric->topology == TSIM_TOPOLOGY_CROSSBAR);
    if (p->tensor == 1 && !are_replicas)
        return 0;
    int64_t rank = random_between(&source, p->tensor > 1, (int32_t)p->tensor - 1);
    int64_t node = are_replicas ? random_between(&source, 1, (int32_t)sc->cluster.nodes - 1) : 0;
    double first_s = time_with_slow(text, 0, 0), other_s = time_with_slow(text, node, rank);
    LAW(isnan(first_s) == isnan(other_s) && (isnan(first_s) || is_near(first_s, other_s, 1e-9)),
        "with tensor rank 0 of node 0 slow %.17g s, with %lld of node %lld %.17g s", first_s, (long long)rank,
        (long long)node, other_s);
    return !isnan(first_s);
}

/* ---- idle nodes ---- */

static void check_spares(const char *text, const struct run *run) {
    double time_s = time_with(text, "reliability.spares", "7");
    LAW(isnan(time_s) || time_s == run->result.step.terms.time_s, "with spare nodes %.17g s, without %.17g s", time_s,
        run->result.step.terms.time_s);
}

/* Draws as many of the nodes of `like`, whatever they are for. */
static const struct tsim_scenario *machine_of(struct tsim_arena *arena, struct tsim_diags *diags,
                                              const struct tsim_scenario *like, int nodes) {
    struct tsim_scenario_source *machine = TSIM_NEW(arena, struct tsim_scenario_source);
    const struct tsim_scenario *scenario;
    const char *text = tsim_arena_printf(
        arena,
        "{schema: tsim/v1, name: machine, model: mlp-mnist, cluster: {node: %s, nodes: %d, fabric: %s, "
        "accelerators_per_node: %lld}, training: {global_batch_size: 36864, precision: %s}, simulation: {network: %s}}",
        like->cluster.node->name, nodes, like->cluster.fabric->name, (long long)like->cluster.accelerators_per_node,
        tsim_precision_name(tsim_unquantized(like->training.precision)),
        like->simulation.network == TSIM_NETWORK_STEPS ? "steps" : "fluid");
    bool is_valid = tsim_scenario_open_text(arena, "machine.yaml", text, machine, diags) == TSIM_OK &&
                    tsim_scenario_load_from(arena, machine, NULL, 0, &scenario, diags) == TSIM_OK;
    return is_valid ? scenario : NULL;
}

static double all_reduce_s(struct tsim_arena *arena, struct tsim_diags *diags, const struct tsim_scenario *sc,
                           int32_t n, double bytes) {
    int32_t per_node = (int32_t)sc->cluster.accelerators_per_node, nodes = n / per_node;
    struct tsim_collective_request request = {.op = TSIM_ALL_REDUCE,
                                              .bytes = bytes,
                                              .group = {n, nodes, per_node, per_node, 1},
                                              .network = sc->simulation.network};
    struct tsim_collective_cost cost;
    int32_t *ranks = TSIM_NEW_ARRAY(arena, (size_t)n, int32_t);
    for (int32_t i = 0; i < n; i++)
        ranks[i] = i;
    const struct tsim_cluster *cluster = tsim_cluster_build(arena, sc);
    ck_assert_int_eq(
        tsim_collective_alone(tsim_topology_build(arena, sc, cluster), ranks, n, &request, &cost, NULL, diags),
        TSIM_OK);
    return cost.time_s;
}

/* Nodes that take no part in a collective. On a torus they change its shape. False: not to be compared. */
static bool check_bystanders(const char *text, const struct tsim_scenario *sc) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    const struct tsim_scenario *few = NULL, *many = NULL;
    if (sc->cluster.fabric && sc->cluster.fabric->topology != TSIM_TOPOLOGY_TORUS) {
        few = machine_of(&arena, &diags, sc, 2);
        many = machine_of(&arena, &diags, sc, 4);
    }
    bool is_compared = few && many;
    if (is_compared) {
        int32_t n = (int32_t)few->n_accelerators;
        double bytes = 1e3 * random_between(&source, 1, 1000000);
        double few_s = all_reduce_s(&arena, &diags, few, n, bytes),
               many_s = all_reduce_s(&arena, &diags, many, n, bytes);
        LAW(is_near(few_s, many_s, 1e-12), "an all-reduce of 2 nodes: %.17g s, beside 2 idle ones %.17g s", few_s,
            many_s);
    }
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return is_compared;
}

/* ---- everything k times as fast ---- */

static struct tsim_accelerator faster_accelerator(const struct tsim_accelerator *accelerator, double k) {
    struct tsim_accelerator a = *accelerator;
    for (int p = 0; p < TSIM_N_PRECISIONS; p++)
        a.peak_flops_per_s[p] *= k;
    a.memory_bytes_per_s *= k;
    a.vector_flops_per_s *= k;
    a.clock_hz *= k;
    a.exchange_bytes_per_s *= k;
    a.kernel_latency_s /= k;
    return a;
}

static struct tsim_node faster_node(const struct tsim_node *node, double k) {
    struct tsim_node n = *node;
    double *const rates[] = {&n.scale_up_bytes_per_s,      &n.scale_up_ring_bytes_per_s, &n.scale_up_reduce_bytes_per_s,
                             &n.switch_uplink_bytes_per_s, &n.socket_link_bytes_per_s,   &n.nic_bytes_per_s,
                             &n.host_link_bytes_per_s,     &n.host_memory_bytes_per_s};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        *rates[i] *= k;
    n.scale_up_latency_s /= k;
    return n;
}

static struct tsim_storage faster_storage(const struct tsim_storage *storage, double k) {
    struct tsim_storage s = *storage;
    s.bandwidth_bytes_per_s *= k;
    s.stream_bytes_per_s *= k;
    s.client_bytes_per_s *= k;
    s.latency_s /= k;
    return s;
}

static double time_scaled(const char *text, const struct run *run, double k) {
    struct tsim_scenario sc = *run->scenario;
    struct tsim_accelerator accelerator = faster_accelerator(sc.cluster.node->accelerator, k);
    struct tsim_node node = faster_node(sc.cluster.node, k);
    struct tsim_fabric fabric = sc.cluster.fabric ? *sc.cluster.fabric : (struct tsim_fabric){0};
    struct tsim_storage storage = sc.data.storage ? faster_storage(sc.data.storage, k) : (struct tsim_storage){0};
    struct tsim_software software = *sc.software;
    struct run fast;
    software.host_time_per_op_s /= k;
    software.host_time_per_fp8_op_s /= k;
    software.host_time_per_collective_s /= k;
    software.host_time_per_checkpoint_s /= k;
    software.host_time_per_sample_s /= k;
    fabric.link_bytes_per_s *= k;
    fabric.latency_s /= k;
    node.accelerator = &accelerator;
    sc.cluster.node = &node;
    sc.cluster.fabric = sc.cluster.fabric ? &fabric : NULL;
    sc.software = &software;
    sc.data.storage = sc.data.storage ? &storage : NULL;
    sc.data.sample_cpu_s /= k;
    sc.reliability.has = false;
    LAW(run_scenario(&fast, &sc), "the faster one is refused");
    double time_s = fast.result.step.terms.time_s;
    run_end(&fast);
    return time_s;
}

/* NCCL's latencies and the bandwidths of its protocols are constants, so links count only where they are ideal. Step
 * and input pipeline take turns until they agree within 1e-4. */
static void check_scaling(const char *text, const struct run *run) {
    const struct tsim_scenario *sc = run->scenario;
    if (sc->n_accelerators > 1 && sc->simulation.network != TSIM_NETWORK_IDEAL)
        return;
    double k = random_between(&source, 2, 5), part_s = time_scaled(text, run, k);
    LAW(fabs(k * part_s - run->result.step.terms.time_s) <=
            (sc->data.has ? 1e-3 : 1e-6) * run->result.step.terms.time_s + k * rounding_s(sc),
        "%g times as fast: %.17g s of %.17g s", k, part_s, run->result.step.terms.time_s);
}

/* ---- all of it ---- */

struct counts {
    long n_drawn, n_run, n_scaled, n_exchanged, n_compared;
};

static void check_one(const char *text, struct counts *counts) {
    struct run run;
    clock_t began = clock();
    counts->n_drawn++;
    if (run_start(&run, text, NULL, 0)) {
        check_run(text, &run);
        check_scaling(text, &run);
        counts->n_exchanged += check_symmetry(text, run.scenario);
        if (counts->n_run % 8 == 1)
            check_spares(text, &run);
        if (counts->n_run % 8 == 2)
            counts->n_compared += check_bystanders(text, run.scenario);
        counts->n_run++;
        counts->n_scaled += run.scenario->n_accelerators == 1 || run.scenario->simulation.network == TSIM_NETWORK_IDEAL;
    }
    run_end(&run);
    if (clock() - began > SLOW_S * CLOCKS_PER_SEC)
        fprintf(stderr, "%g s:\n%s\n", (double)(clock() - began) / CLOCKS_PER_SEC, text);
}

static bool all_tried(const struct counts *counts) {
    return counts->n_scaled > 0 && counts->n_exchanged > 0 && counts->n_compared > 0;
}

TSIM_TEST(laws_of_a_run) {
    const long n_cases = random_cases(30);
    source = random_start(20261122u);
    struct counts counts = {0};
    while ((counts.n_run < n_cases || !all_tried(&counts)) && counts.n_drawn < 60 * n_cases) {
        char *text = random_scenario(&source);
        check_one(text, &counts);
        free(text);
    }
    printf("%ld of %ld drawn scenarios are valid; %ld scaled, ranks of %ld exchanged, %ld machines with bystanders\n",
           counts.n_run, counts.n_drawn, counts.n_scaled, counts.n_exchanged, counts.n_compared);
    fflush(stdout);
    ck_assert_int_ge(counts.n_run, n_cases);
    ck_assert_msg(all_tried(&counts), "a law was never tried");
}

TSIM_MAIN(3600, NULL, NULL)
