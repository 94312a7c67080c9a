/* Collectives with every message an event: one line per figure, then the exponents of cost against messages and ranks.
 */
#include "network/traffic.h"
#include "support/clock.h"
#include "support/example.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define GIB 1073741824.0

/* Simulates a collective on nodes of `per_node` accelerators on NDR InfiniBand; returns what one simulation took. */
static double bench(const char *name, int32_t n_ranks, int32_t per_node, enum tsim_algorithm algorithm,
                    int64_t *n_messages) {
    struct example example;
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_collective_cost cost;
    struct tsim_collective_request request = {
        .op = TSIM_ALL_REDUCE, .algorithm = algorithm, .bytes = GIB, .network = TSIM_NETWORK_STEPS};
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    example_init(&example);
    example.scenario.cluster.nodes = n_ranks / per_node;
    example.scenario.cluster.accelerators_per_node = per_node;
    example.node.nic_bytes_per_s = example.fabric.link_bytes_per_s = 50e9;
    example_finish(&example);
    int32_t *ranks = TSIM_NEW_ARRAY(&arena, (size_t)n_ranks, int32_t);
    for (int32_t i = 0; i < n_ranks; i++)
        ranks[i] = i;
    double begin_s = now_s();
    const struct tsim_topology *topology =
        tsim_topology_build(&arena, &example.scenario, tsim_cluster_build(&arena, &example.scenario));
    if (tsim_collective_alone(topology, ranks, n_ranks, &request, &cost, n_messages, &diags) != TSIM_OK)
        exit(EXIT_FAILURE);
    double elapsed_s = now_s() - begin_s;
    printf("%-34s %9.3f s, %5.1f ns per message, %9lld messages, peak so far %.1f MB\n", name, elapsed_s,
           elapsed_s / (double)*n_messages * 1e9, (long long)*n_messages, peak_mb());
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return elapsed_s;
}

int main(void) {
    int64_t few, many, hierarchical;
    bench("ring of 8 on one node", 8, 8, TSIM_ALGORITHM_RING, &few);
    double few_s = bench("ring of 512, 64 nodes", 512, 8, TSIM_ALGORITHM_RING, &few);
    bench("hierarchical 8 x 512", 4096, 8, TSIM_ALGORITHM_HIERARCHICAL, &hierarchical);
    double many_s = bench("ring of 4096, 512 nodes", 4096, 8, TSIM_ALGORITHM_RING, &many);
    /* The messages of a ring grow with the square of its ranks. */
    double messages = log(many_s / few_s) / log((double)many / (double)few);
    printf("%-34s messages^%.2f, time per message ranks^%.2f\n", "ring of 512 to 4096, cost grows with", messages,
           log(many_s / (double)many / (few_s / (double)few)) / log(8));
    return 0;
}
