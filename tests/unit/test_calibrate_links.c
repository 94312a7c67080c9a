/* Fits to collectives whose times were made with known values must find those values; what nccl-tests prints, as text
 * and as JSON; measured collectives. */
#include "cluster/cluster.h"
#include "config/catalogue_load.h"
#include "study/judge/calibrate_links.h"
#include "support/arena_rig.h"

#include <math.h>
#include <string.h>

static const struct tsim_nccl_hints NO_HINTS = {.n_ranks = 0};

/* ---- made-up measurements ---- */

struct truth {
    const char *node, *fabric;
    double ring, reduce, latency, efficiency, fabric_latency; /* 0: the catalogue's */
};

static double time_s(const struct truth *t, enum tsim_collective_op op, int32_t n_nodes, double bytes) {
    static const struct tsim_software ANY = {.nics_used = 0};
    const struct tsim_node *node;
    const struct tsim_fabric *fabric;
    ck_assert_int_eq(tsim_catalogue_load_node(&arena, t->node, &node, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_catalogue_load_fabric(&arena, t->fabric, &fabric, &diags), TSIM_OK);
    struct tsim_node n = *node;
    struct tsim_fabric f = *fabric;
    n.scale_up_ring_bytes_per_s = t->ring > 0 ? t->ring : n.scale_up_ring_bytes_per_s;
    n.scale_up_reduce_bytes_per_s = t->reduce > 0 ? t->reduce : n.scale_up_reduce_bytes_per_s;
    n.scale_up_latency_s = t->latency > 0 ? t->latency : n.scale_up_latency_s;
    f.efficiency_frac = t->efficiency > 0 ? t->efficiency : f.efficiency_frac;
    f.latency_s = t->fabric_latency > 0 ? t->fabric_latency : f.latency_s;
    struct tsim_scenario scenario = {.software = &ANY, .n_accelerators = n_nodes * n.accelerators};
    scenario.cluster.node = &n;
    scenario.cluster.fabric = n_nodes > 1 ? &f : NULL;
    scenario.cluster.nodes = n_nodes;
    scenario.cluster.accelerators_per_node = n.accelerators;
    struct tsim_collective_request request = {.op = op,
                                              .bytes = bytes,
                                              .group = {.n_ranks = n_nodes * (int32_t)n.accelerators,
                                                        .n_nodes = n_nodes,
                                                        .max_ranks_per_node = (int32_t)n.accelerators,
                                                        .min_ranks_per_node = (int32_t)n.accelerators}};
    struct tsim_collective_cost cost;
    tsim_collective_cost(tsim_cluster_build(&arena, &scenario), &request, &cost);
    return cost.time_s;
}

static const char *devices(int32_t n_nodes, const char *device) {
    const char *text = "";
    for (int32_t i = 0; i < 8 * n_nodes; i++)
        text = tsim_arena_printf(&arena, "%s#  Rank %2d Group  0 Pid %6d on  host%d device %2d [0000:1b:00] %s\n", text,
                                 (int)i, 1000 + (int)i, (int)(i / 8), (int)(i % 8), device);
    return text;
}

static const char *program(enum tsim_collective_op op) {
    return op == TSIM_ALL_TO_ALL ? "alltoall" : tsim_collective_op_name(op);
}

/* Writes what nccl-tests prints, times with 10 digits. */
static const char *text_of(const struct truth *t, enum tsim_collective_op op, int32_t n_nodes, const char *device) {
    const char *text = tsim_arena_printf(&arena,
                                         "# Collective test starting: %s_perf\n%s#\n#       size         count      "
                                         "type   redop    root     time   algbw   busbw  #wrong\n",
                                         program(op), devices(n_nodes, device));
    for (double bytes = 1024; bytes < 5e9; bytes *= 4) {
        double s = time_s(t, op, n_nodes, bytes);
        text =
            tsim_arena_printf(&arena, "%s%12.0f %12.0f float none -1 %.10g %.2f %.2f 0 N/A N/A N/A N/A\n", text, bytes,
                              bytes / 4, 1e6 * s, bytes / s / 1e9, bytes / s / 1e9 * tsim_bus_factor(op, 8 * n_nodes));
    }
    return text;
}

static struct tsim_nccl_run run_of(const char *text) {
    struct tsim_nccl_run run;
    ck_assert_int_eq(tsim_nccl_tests_read(&arena, "run.txt", text, strlen(text), &NO_HINTS, &run, &diags), TSIM_OK);
    return run;
}

/* Each value that was changed is found to a thousandth, and no error is left. */
TSIM_TEST_LOOP(finds_what_was_put_in, 0, 2) {
    static const struct truth H100 = {"dgx-h100", "ib-ndr", 310e9, 450e9, 0.9e-6, 0.81, 9e-6};
    static const struct truth A100 = {"dgx-a100", "ib-hdr", 200e9, 0, 0, 0.7, 12e-6};
    const struct truth *t = _i == 0 ? &H100 : &A100;
    const char *device = _i == 0 ? "NVIDIA H100 80GB HBM3" : "NVIDIA A100-SXM4-80GB";
    struct tsim_nccl_run runs[4] = {
        run_of(text_of(t, TSIM_ALL_REDUCE, 1, device)), run_of(text_of(t, TSIM_ALL_GATHER, 1, device)),
        run_of(text_of(t, TSIM_ALL_REDUCE, 4, device)), run_of(text_of(t, TSIM_REDUCE_SCATTER, 2, device))};
    struct tsim_link_calibration c;
    ck_assert_int_eq(tsim_calibrate_links(&arena, NULL, NULL, runs, 4, &c, &diags), TSIM_OK);
    ck_assert_str_eq(c.node->name, t->node);
    ck_assert_str_eq(c.fabric->name, t->fabric);
    double truths[TSIM_N_LINK_VALUES] = {t->ring, t->reduce, t->latency, t->efficiency, t->fabric_latency};
    for (int i = 0; i < TSIM_N_LINK_VALUES; i++) {
        ck_assert_msg(c.values[i].fitted || truths[i] <= 0, "%s", tsim_link_value_name((enum tsim_link_value)i));
        double truth = truths[i] > 0 ? truths[i] : c.values[i].before;
        if (truth > 0)
            ck_assert_double_eq_tol(c.values[i].after / truth, 1, 1e-3);
    }
    ck_assert_double_lt(c.after_frac, 1e-4);
    ck_assert_double_gt(c.before_frac, 0.05);
    ck_assert_uint_eq(c.n_left_out, 0);
}

/* One size that took three times as long changes nothing. */
TSIM_TEST(single_sizes_do_not_pull) {
    static const struct truth TRUTH = {"dgx-h100", "ib-ndr", 310e9, 450e9, 0.9e-6, 0, 0};
    struct tsim_nccl_run runs[2] = {run_of(text_of(&TRUTH, TSIM_ALL_REDUCE, 1, "H100")),
                                    run_of(text_of(&TRUTH, TSIM_ALL_GATHER, 1, "H100"))};
    struct tsim_link_calibration c;
    runs[0].rows[8].measured_s *= 3;
    ck_assert_int_eq(tsim_calibrate_links(&arena, NULL, NULL, runs, 2, &c, &diags), TSIM_OK);
    ck_assert_uint_eq(c.n_left_out, 1);
    ck_assert_double_eq_tol(c.values[TSIM_LINK_REDUCE].after / 450e9, 1, 1e-3);
}

/* ---- what nccl-tests prints ---- */

TSIM_TEST(json_and_text_are_the_same) {
    static const char TEXT[] =
        "[1,0]<stdout>:# Collective test starting: reduce_scatter_perf\n"
        "[1,0]<stdout>:#  Rank  0 Group  0 Pid 7 on a device  0 [0x1b] NVIDIA H200\n"
        "[1,0]<stdout>:#  Rank  1 Group  0 Pid 8 on b device  0 [0x1b] NVIDIA H200\n"
        "[1,0]<stdout>:#       size         count      type   redop    root     time   algbw   busbw  #wrong\n"
        "[1,0]<stdout>:        1024           128     float     sum      -1    12.50    0.08    0.04       0\n"
        "[1,0]<stdout>:        2048           256     float     sum      -1      N/A     N/A     N/A     N/A\n"
        "[1,0]<stdout>:     1048576        131072     float     sum      -1    50.25   20.87   10.43       0\n";
    static const char JSON[] =
        "{\"version\": 2, \"args\": [\"./build/reduce_scatter_perf\", \"-J\", \"x\"], \"devices\": [\n"
        "{\"rank\": 0, \"hostname\": \"a\", \"device\": 0, \"device_info\": \"NVIDIA H200\"},\n"
        "{\"rank\": 1, \"hostname\": \"b\", \"device\": 0, \"device_info\": \"NVIDIA H200\"}],\n"
        "\"results\": [{\"size\": 1024, \"count\": 128, \"type\": \"float\", \"redop\": \"sum\", \"root\": \"-1\",\n"
        "\"out_of_place\": {\"time\": 12.5, \"alg_bw\": 0.08, \"bus_bw\": 0.04, \"nwrong\": 0.0}, \"in_place\": "
        "null},\n"
        "{\"size\": 1048576, \"out_of_place\": {\"time\": 50.25, \"alg_bw\": 20.87, \"bus_bw\": 10.43}}]}";
    for (int i = 0; i < 2; i++) {
        struct tsim_nccl_run run = run_of(i == 0 ? TEXT : JSON);
        ck_assert_int_eq(run.op, TSIM_REDUCE_SCATTER);
        ck_assert_int_eq(run.n_ranks, 2);
        ck_assert_int_eq(run.n_nodes, 2);
        ck_assert_str_eq(run.device, "NVIDIA H200");
        ck_assert_uint_eq(run.n_rows, 2);
        ck_assert_double_eq(run.rows[0].bytes, 1024);
        ck_assert_double_eq_tol(run.rows[1].measured_s, 50.25e-6, 1e-12);
    }
}

/* Without a list of devices: 2 (n - 1) / n = 1.75 is of 8 ranks. Older tables lack the root. */
TSIM_TEST(ranks_from_bandwidths) {
    static const char TEXT[] = "$ mpirun ./all_reduce_perf -b 8 -e 1G\n"
                               "#       size         count    type   redop     time   algbw   busbw    error\n"
                               "     1048576        262144   float     sum    30.00   34.95   61.17    4e-07\n";
    struct tsim_nccl_run run = run_of(TEXT);
    ck_assert_int_eq(run.n_ranks, 8);
    ck_assert_int_eq(run.n_nodes, 0);
    ck_assert_double_eq_tol(run.rows[0].measured_s, 30e-6, 1e-12);
}

/* ---- measured ---- */

static struct tsim_nccl_run measured(const char *name) {
    char text[32768];
    FILE *file = fopen(tsim_arena_printf(&arena, "%s/tests/data/nccl-tests/%s", TSIM_SOURCE_TREE, name), "r");
    ck_assert_ptr_nonnull(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    return run_of(tsim_arena_strdup(&arena, text));
}

/* 8 H100: the in-switch bandwidth of the catalogue (480 GB/s, read at 8 GB) is found from all sizes; 2 nodes of 8 A100
 * on EFA: the catalogue's efficiency is. Errors become smaller. */
TSIM_TEST(measured_collectives) {
    struct tsim_nccl_run h100 = measured("dgx-h100.txt"), p4de = measured("p4de.txt");
    struct tsim_link_calibration c;
    ck_assert_int_eq(tsim_calibrate_links(&arena, NULL, NULL, &h100, 1, &c, &diags), TSIM_OK);
    ck_assert_double_eq_tol(c.values[TSIM_LINK_REDUCE].after, 480e9, 0.03 * 480e9);
    ck_assert_double_lt(c.after_frac, c.before_frac);
    ck_assert(!c.values[TSIM_LINK_RING].fitted); /* hardly any size uses it */
    ck_assert_int_eq(tsim_calibrate_links(&arena, "p4de-24xlarge", "efa-100", &p4de, 1, &c, &diags), TSIM_OK);
    ck_assert_double_eq_tol(c.values[TSIM_LINK_EFFICIENCY].after, 0.91, 0.05);
    ck_assert_double_lt(c.after_frac, c.before_frac);
}

TSIM_MAIN(60, set_up, tear_down)
