/* Kernels and collectives record what they cost: every accelerator of the catalogue with products, convolutions
 * and attention of many shapes; every collective by every algorithm and protocol, on nodes of each kind and on a
 * torus. */
#include "cluster/variation.h"
#include "config/catalogue_load.h"
#include "cost/collective.h"
#include "cost/compute.h"
#include "support/check_main.h"
#include "support/example.h"
#include "support/term_rules.h"

#include <stddef.h>
#include <string.h>

static struct example e;
static struct tsim_arena arena;
static struct tsim_term_recorder recorder;

static void setup(void) {
    tsim_arena_init(&arena);
    tsim_term_recorder_init(&recorder, &arena);
    example_init(&e);
}

static void teardown(void) {
    tsim_arena_release(&arena);
}

static void expect_terms(const struct tsim_accelerator *a, const struct tsim_op *op) {
    struct tsim_kernel_cost plain, recorded;
    tsim_kernel_cost(a, &e.software, op, &plain);
    struct tsim_amount time = tsim_kernel_recorded(&recorder, a, &e.software, op, &recorded);
    ck_assert_double_eq(time.value, plain.time_s);
    ck_assert_double_eq(time.term->value, plain.time_s);
    ck_assert_mem_eq(&plain, &recorded, offsetof(struct tsim_kernel_cost, limit)); /* padding follows it */
    ck_assert_int_eq(plain.limit, recorded.limit);
    expect_term_rules(time.term);
}

/* The accelerator is the catalogue's, with what only measured kernels of its own tell. */
static void expect_kernel(const struct tsim_accelerator *a, const struct tsim_op *op) {
    struct tsim_accelerator fitted = *a;
    fitted.accumulation_exposed_frac = 0.4;
    fitted.grouped_products_frac = 0.9;
    fitted.wide_heads_frac = 0.8;
    expect_terms(a, op);
    expect_terms(&fitted, op);
}

static void expect_products(const struct tsim_accelerator *a, enum tsim_precision precision) {
    static const double SHAPES[][4] = {{1, 4096, 4096, 4096}, {1, 64, 64, 8192}, {8, 1000, 120, 130}, {64, 33, 7, 3}};
    for (size_t i = 0; i < sizeof SHAPES / sizeof SHAPES[0]; i++)
        for (int kind = 0; kind < 5; kind++) {
            const double *shape = SHAPES[i];
            struct tsim_op op = {.name = "product",
                                 .kind = TSIM_OP_GEMM,
                                 .precision = precision,
                                 .batch = kind == 3 ? 16 : shape[0],
                                 .m = shape[1],
                                 .n = shape[2],
                                 .k = shape[3],
                                 .is_sequential = kind == 1,
                                 .is_gradient = kind == 2,
                                 .is_grouped = kind == 0,
                                 .groups = kind >= 3 ? 16 : 0,
                                 .is_depthwise = kind == 4,
                                 .kernels = 1 + kind};
            op.flops = 2 * op.batch * op.m * op.n * op.k;
            op.bytes = 2 * op.batch * (op.m * op.k + op.k * op.n + op.m * op.n);
            op.sum_bytes = kind == 2 ? 4 * op.batch * op.m * op.n : 0;
            op.batch = kind == 4 ? 16 : op.batch;
            expect_kernel(a, &op);
        }
}

static void expect_attention(const struct tsim_accelerator *a, enum tsim_precision precision) {
    for (int kernel = 0; kernel <= TSIM_ATTENTION_SPLASH; kernel++)
        for (int i = 0; i < 8; i++) {
            struct tsim_op op = {.name = "attention",
                                 .kind = TSIM_OP_FLASH,
                                 .precision = precision,
                                 .flops = 1e12,
                                 .bytes = 1e8,
                                 .kernels = 1,
                                 .sequence = 4096,
                                 .head_dim = i & 1   ? 64
                                             : i & 2 ? 160
                                                     : 128,
                                 .queries = i & 2 ? 1e7 : 32768,
                                 .pieces = i & 2 ? 4 : 1,
                                 .causal = i & 4,
                                 .is_gradient = i & 1};
            e.software.attention_kernel = (enum tsim_attention_kernel)kernel;
            if (tsim_has_flash(a, e.software.attention_kernel))
                expect_kernel(a, &op);
        }
}

/* One precision in four is tried, another one of each accelerator; with TSIM_CASES all are. */
TSIM_TEST(kernels_of_every_accelerator) {
    const size_t every = getenv("TSIM_CASES") ? 1 : 4;
    const char *const *ids;
    size_t n;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_catalogue_list(&arena, TSIM_CATALOGUE_ACCELERATORS, &ids, &n, &diags), TSIM_OK);
    for (size_t i = 0; i < n; i++) {
        const struct tsim_accelerator *mean;
        ck_assert_int_eq(tsim_catalogue_load_accelerator(&arena, ids[i], &mean, &diags), TSIM_OK);
        const struct tsim_accelerator *a = tsim_slowest_of(&arena, mean, 1024);
        struct tsim_op copy = {.name = "copy", .kind = TSIM_OP_ELEMENTWISE, .bytes = 1e8, .kernels = 2};
        expect_kernel(a, &copy);
        for (int p = 0; p < TSIM_N_PRECISIONS; p++)
            for (int unaligned = 0; unaligned < 2 && a->peak_flops_per_s[p] > 0 && (i + (size_t)p) % every == 0;
                 unaligned++) {
                e.software.unaligned_products = unaligned ? TSIM_UNALIGNED_VECTOR : TSIM_UNALIGNED_MATRIX;
                expect_products(a, (enum tsim_precision)p);
                expect_attention(a, (enum tsim_precision)p);
            }
    }
    tsim_diags_release(&diags);
}

static void expect_collective(const struct tsim_cluster *cluster, struct tsim_collective_request request) {
    struct tsim_collective_cost plain, recorded;
    tsim_collective_cost(cluster, &request, &plain);
    ck_assert_ptr_null(plain.term);
    request.recorder = &recorder;
    tsim_collective_cost(cluster, &request, &recorded);
    ck_assert_double_eq(recorded.term->value, plain.time_s);
    expect_term_rules(recorded.term);
    recorded.term = NULL;
    ck_assert_mem_eq(&plain, &recorded, sizeof plain);
}

static void expect_collectives(const struct tsim_cluster *cluster, struct tsim_group group) {
    for (int op = 0; op < TSIM_N_COLLECTIVE_OPS; op++)
        for (int algorithm = 0; algorithm < TSIM_N_ALGORITHMS; algorithm++)
            for (int protocol = 0; protocol < TSIM_N_PROTOCOLS; protocol++)
                for (double bytes = 8; bytes < 1e11; bytes *= 1000)
                    for (int network = 0; network < 2; network++)
                        expect_collective(cluster, (struct tsim_collective_request){
                                                       .op = (enum tsim_collective_op)op,
                                                       .bytes = bytes,
                                                       .group = group,
                                                       .algorithm = (enum tsim_algorithm)algorithm,
                                                       .protocol = (enum tsim_protocol)protocol,
                                                       .network = network ? TSIM_NETWORK_IDEAL : TSIM_NETWORK_FLUID});
}

TSIM_TEST(collectives_by_every_algorithm) {
    static const enum tsim_scale_up KINDS[] = {TSIM_SCALE_UP_SWITCH, TSIM_SCALE_UP_MESH, TSIM_SCALE_UP_PCIE};
    static const struct tsim_group GROUPS[] = {{8, 1, 8, 8, 1}, {32, 4, 8, 8, 1}, {4, 4, 1, 1, 8}, {2, 2, 1, 1, 8}};
    example_be_dgx_h100(&e);
    for (size_t kind = 0; kind < sizeof KINDS / sizeof KINDS[0]; kind++)
        for (size_t i = 0; i < sizeof GROUPS / sizeof GROUPS[0]; i++) {
            e.node.scale_up = KINDS[kind];
            e.node.accelerators_per_switch = 2;
            e.node.switch_uplink_bytes_per_s = 1e10;
            e.scenario.cluster.nodes = 4;
            example_finish(&e);
            expect_collectives(tsim_cluster_build(&arena, &e.scenario), GROUPS[i]);
        }
}

TSIM_TEST(collectives_on_a_torus) {
    e.fabric.topology = TSIM_TOPOLOGY_TORUS;
    e.fabric.torus_dimensions = 3;
    e.fabric.torus_wrap = 4;
    e.fabric.latency_s = 1e-6;
    e.scenario.cluster.nodes = 8;
    memcpy(e.scenario.cluster.torus_shape, (int64_t[]){4, 4, 4}, sizeof e.scenario.cluster.torus_shape);
    example_finish(&e);
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, &e.scenario);
    expect_collectives(cluster, (struct tsim_group){64, 8, 8, 8, 1});
    expect_collectives(cluster, (struct tsim_group){4, 1, 4, 4, 1});
}

TSIM_MAIN(CHECKS_LIMIT_S, setup, teardown)
