/* Every row of tests/data/collectives.csv (its sources are there) against the cost model on the shipped catalogue, one
 * set of parameters for each generation: half of the rows within 10 %, and all above 1 MB within 25 %. */
#include "config/catalogue_load.h"
#include "cost/collective.h"
#include "cost/compute.h"
#include "support/arena_rig.h"
#include "support/example.h"

#include <math.h>
#include <string.h>

#define MEDIAN_LIMIT 0.10
#define WORST_LIMIT 0.25
#define WORST_ABOVE_BYTES 1e6

enum { MAX_ROWS = 1000, N_COLUMNS = 10 };
enum { RUN, NODE, FABRIC, RANKS, OP, ALGORITHM, BYTES, TIME_US, CALL_US, EXCLUDED };

struct row {
    char run[32], algorithm[16];
    double bytes, measured_us, predicted_us, error;
};

static struct example example;
static struct row rows[MAX_ROWS];
static size_t n_rows, n_excluded;

static void set_up_rows(void) {
    set_up();
    n_rows = n_excluded = 0;
}

/* Cuts the line at its commas. */
static void split(char *line, char *columns[N_COLUMNS]) {
    line[strcspn(line, "\n")] = 0;
    for (int i = 0; i < N_COLUMNS; i++) {
        ck_assert_msg(line != NULL, "fewer than %d columns", (int)N_COLUMNS);
        columns[i] = line;
        line = strchr(line, ',');
        if (line)
            *line++ = 0;
    }
    ck_assert_msg(line == NULL, "more than %d columns", (int)N_COLUMNS);
}

static const struct tsim_cluster *build(const char *node, const char *fabric, int64_t nodes) {
    example_init(&example);
    struct tsim_cluster_spec *cluster = &example.scenario.cluster;
    ck_assert_int_eq(tsim_catalogue_load_node(&arena, node, &cluster->node, &diags), TSIM_OK);
    cluster->fabric = NULL;
    if (*fabric)
        ck_assert_int_eq(tsim_catalogue_load_fabric(&arena, fabric, &cluster->fabric, &diags), TSIM_OK);
    cluster->nodes = nodes;
    return tsim_cluster_build(&arena, &example.scenario);
}

static enum tsim_collective_op find_op(const char *name) {
    for (int op = 0; op < TSIM_N_COLLECTIVE_OPS; op++)
        if (strcmp(tsim_collective_op_name((enum tsim_collective_op)op), name) == 0)
            return (enum tsim_collective_op)op;
    ck_abort_msg("no operation '%s'", name);
}

static enum tsim_algorithm find_algorithm(const char *name) {
    for (int algorithm = 0; algorithm < TSIM_N_ALGORITHMS; algorithm++)
        if (strcmp(tsim_algorithm_name((enum tsim_algorithm)algorithm), name) == 0)
            return (enum tsim_algorithm)algorithm;
    ck_abort_msg("no algorithm '%s'", name);
}

static void predict(char *columns[N_COLUMNS], struct row *row) {
    int32_t ranks = (int32_t)atoi(columns[RANKS]), nodes = ranks > 8 ? ranks / 8 : 1;
    const struct tsim_cluster *cluster = build(columns[NODE], columns[FABRIC], nodes);
    struct tsim_collective_request request = {.op = find_op(columns[OP]),
                                              .bytes = atof(columns[BYTES]),
                                              .group = {.n_ranks = ranks,
                                                        .n_nodes = nodes,
                                                        .max_ranks_per_node = ranks / nodes,
                                                        .min_ranks_per_node = ranks / nodes},
                                              .algorithm = find_algorithm(columns[ALGORITHM])};
    struct tsim_collective_cost cost;
    ck_assert(tsim_collective_can(cluster, request.op, &request.group, request.algorithm));
    tsim_collective_cost(cluster, &request, &cost);
    *row = (struct row){.bytes = request.bytes,
                        .measured_us = atof(columns[TIME_US]),
                        .predicted_us = cost.time_s * 1e6 + atof(columns[CALL_US])};
    row->error = row->predicted_us / row->measured_us - 1;
    snprintf(row->run, sizeof row->run, "%s", columns[RUN]);
    snprintf(row->algorithm, sizeof row->algorithm, "%s", tsim_algorithm_name(cost.algorithm));
}

static void read_rows(void) {
    char line[512], *columns[N_COLUMNS];
    FILE *file = fopen(TSIM_SOURCE_TREE "/tests/data/collectives.csv", "r");
    ck_assert_ptr_nonnull(file);
    bool in_table = false;
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        split(line, columns);
        if (!in_table) {
            ck_assert_str_eq(columns[EXCLUDED], "excluded"); /* the columns' names */
            in_table = true;
            continue;
        }
        n_excluded += *columns[EXCLUDED] != 0;
        if (*columns[EXCLUDED])
            continue;
        ck_assert_uint_lt(n_rows, MAX_ROWS);
        predict(columns, &rows[n_rows++]);
    }
    fclose(file);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the median of the absolute errors of rows [from, to). */
static double median(size_t from, size_t to) {
    static double errors[MAX_ROWS];
    size_t n = to - from;
    for (size_t i = 0; i < n; i++)
        errors[i] = fabs(rows[from + i].error);
    qsort(errors, n, sizeof *errors, compare);
    return n % 2 ? errors[n / 2] : (errors[n / 2 - 1] + errors[n / 2]) / 2;
}

static bool is_too_far(const struct row *row) {
    return row->bytes > WORST_ABOVE_BYTES && fabs(row->error) > WORST_LIMIT;
}

static void print_table(void) {
    for (size_t from = 0, to; from < n_rows; from = to) {
        for (to = from; to < n_rows && strcmp(rows[to].run, rows[from].run) == 0; to++) {
        }
        fprintf(stderr, "%-14s %3zu rows, median %4.1f %%\n", rows[from].run, to - from, 100 * median(from, to));
        for (size_t i = from; i < to; i++)
            if (is_too_far(&rows[i]))
                fprintf(stderr, "  %12.0f B  measured %10.1f us  predicted %10.1f us  %+6.1f %%  %s\n", rows[i].bytes,
                        rows[i].measured_us, rows[i].predicted_us, 100 * rows[i].error, rows[i].algorithm);
    }
}

TSIM_TEST(measured_tables) {
    read_rows();
    size_t n_too_far = 0;
    for (size_t i = 0; i < n_rows; i++)
        n_too_far += is_too_far(&rows[i]);
    double all = median(0, n_rows);
    if (n_too_far > 0 || all > MEDIAN_LIMIT)
        print_table();
    ck_assert_uint_ge(n_rows, 250);
    ck_assert_uint_le(n_excluded, 1);
    ck_assert_msg(n_too_far == 0, "%zu rows above 1 MB are off by more than 25 %%", n_too_far);
    ck_assert_msg(all < MEDIAN_LIMIT, "median error %.1f %%", 100 * all);
}

/* Kernels beside an all-gather of a node's eight took so many times as long as alone: on A100 products 2.08 for 1.18 ms
 * and attention 0.33 for 0.18 ms (NVIDIA/nccl issue 1428), on H100 a product that reached 80 % of the peak 47 %, beside
 * 24 blocks (forums.developer.nvidia.com, Compute-communication overlap causes severe GEMM performance degradation,
 * 2025). They lose the compute units that the blocks hold, and of the others' rate what it takes of HBM. Within 4 %. */
TSIM_TEST(kernels_beside_a_gather) {
    static const struct {
        const char *node;
        double slowdown;
    } MEASURED[] = {{"dgx-a100", 2.08 / 1.18}, {"dgx-a100", 0.33 / 0.18}, {"dgx-h100", 80.0 / 47}};
    for (size_t i = 0; i < sizeof MEASURED / sizeof MEASURED[0]; i++) {
        const struct tsim_cluster *cluster = build(MEASURED[i].node, "", 1);
        struct tsim_collective_request request = {
            .op = TSIM_ALL_GATHER,
            .bytes = 1e9,
            .group = {.n_ranks = 8, .n_nodes = 1, .max_ranks_per_node = 8, .min_ranks_per_node = 8}};
        struct tsim_collective_cost cost;
        tsim_collective_cost(cluster, &request, &cost);
        double memory_frac = cost.hbm_bytes / cost.time_s / tsim_memory_rate(cluster->accelerator);
        double slowdown = 1 / (1 - tsim_collective_taken_frac(cost.sm_frac, memory_frac));
        ck_assert_msg(fabs(slowdown / MEASURED[i].slowdown - 1) < 0.04, "%s: %.3f, measured %.3f", MEASURED[i].node,
                      slowdown, MEASURED[i].slowdown);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up_rows, tear_down)
