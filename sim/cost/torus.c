#include "cost/torus.h"

#include "config/provenance.h"

#include <math.h>

struct box {
    int n_dimensions;              /* of more than one */
    double extent[3], slowness[3]; /* time relative to a ring of neighbours */
};

bool tsim_torus_box(const struct tsim_cluster *cluster, const struct tsim_group *group, int32_t extent[3],
                    int32_t step[3]) {
    int32_t left = group->n_ranks, stride = group->stride > 1 ? group->stride : 1, below = 1;
    for (int d = 0; d < 3; d++) {
        int32_t size = cluster->torus_shape[d];
        extent[d] = step[d] = 1;
        if (stride < below * size && left > 1) {
            step[d] = stride > below ? stride / below : 1;
            int32_t room = size / step[d];
            extent[d] = left < room ? left : room;
            if (left % extent[d] != 0)
                return false;
            left /= extent[d];
            stride = below * size;
        }
        below *= size;
    }
    return left == 1;
}

int32_t tsim_torus_slowness(const struct tsim_cluster *cluster, const int32_t extent[3], const int32_t step[3], int d) {
    bool is_ring = cluster->torus_wraps[d] && extent[d] * step[d] == cluster->torus_shape[d];
    return step[d] * (is_ring ? 1 : 2);
}

static struct box find_box(const struct tsim_cluster *cluster, const struct tsim_group *group) {
    struct box box = {.n_dimensions = 0};
    int32_t extent[3], step[3];
    if (!tsim_torus_box(cluster, group, extent, step)) {
        box.n_dimensions = 1;
        box.extent[0] = group->n_ranks;
        box.slowness[0] = 2;
        return box;
    }
    for (int d = 0; d < 3; d++) {
        if (extent[d] == 1)
            continue;
        box.extent[box.n_dimensions] = extent[d];
        box.slowness[box.n_dimensions++] = tsim_torus_slowness(cluster, extent, step, d);
    }
    return box;
}

static struct tsim_amount over_link(struct tsim_term_recorder *r, const char *name, double bytes,
                                    struct tsim_amount link) {
    return tsim_product(r, name, "bytes / rate", TSIM_TIME_S,
                        TSIM_PARTS(tsim_given(r, "bytes on the busiest link", bytes, TSIM_BYTES,
                                              "counted in the algorithm (sim/cost/torus.h)"),
                                   tsim_inverse(link)));
}

/* Returns the time of one pass over all dimensions, with `bytes` before scattering or after gathering. */
static struct tsim_amount one_pass(struct tsim_term_recorder *r, const struct box *box, double bytes,
                                   struct tsim_amount link) {
    struct tsim_part_list phases = {.recorder = r};
    for (int p = 0; p < box->n_dimensions; p++) {
        double slowest_bytes = 0;
        for (int q = 0; q < box->n_dimensions; q++) {
            double part = bytes / (2 * box->n_dimensions);
            for (int before = 0; before < p; before++)
                part /= box->extent[(q + before) % box->n_dimensions];
            int d = (q + p) % box->n_dimensions;
            slowest_bytes = fmax(slowest_bytes, part * (box->extent[d] - 1) / box->extent[d] * box->slowness[d]);
        }
        tsim_part_add(&phases, over_link(r, "a dimension", slowest_bytes, link));
    }
    return tsim_sum_of(&phases, "a pass over the dimensions", "one after the other", TSIM_TIME_S);
}

static struct tsim_amount all_to_all(struct tsim_term_recorder *r, const struct box *box, double bytes,
                                     struct tsim_amount link) {
    double slowest = 0;
    for (int d = 0; d < box->n_dimensions; d++)
        slowest = fmax(slowest, box->extent[d] * box->slowness[d]);
    return over_link(r, "across the longest dimension", bytes * slowest / 8, link);
}

void tsim_torus_cost(const struct tsim_cluster *cluster, const struct tsim_collective_request *request,
                     struct tsim_collective_cost *cost) {
    struct box box = find_box(cluster, &request->group);
    double n = request->group.n_ranks, share = (n - 1) / n, bytes = request->bytes, hops = 0;
    struct tsim_term_recorder *r = request->recorder;
    struct tsim_amount link = {.value = cluster->pair_bytes_per_s}, hop = {.value = cluster->fabric_latency_s},
                       flow = {0};
    if (r) {
        link = tsim_cluster_pair_rate(r, cluster);
        hop = tsim_of_file(r, TSIM_CATALOGUE_FABRICS, cluster->fabric->name, "latency", hop.value, TSIM_TIME_S);
    }
    for (int d = 0; d < box.n_dimensions; d++)
        hops += box.extent[d] - 1;
    cost->algorithm = TSIM_ALGORITHM_TORUS;
    cost->protocol = TSIM_PROTOCOL_SIMPLE;
    switch (request->op) {
    case TSIM_ALL_REDUCE:
        flow = tsim_product(r, "flow", "passes x time of one", TSIM_TIME_S,
                            TSIM_PARTS(tsim_given(r, "passes", 2, TSIM_COUNT, "to scatter and to gather"),
                                       one_pass(r, &box, bytes, link)));
        cost->scale_up_bytes = 2 * share * bytes;
        cost->hbm_bytes = 5 * share * bytes;
        hops *= 2;
        break;
    case TSIM_ALL_GATHER:
    case TSIM_REDUCE_SCATTER:
        flow = one_pass(r, &box, bytes, link);
        cost->scale_up_bytes = share * bytes;
        cost->hbm_bytes = (request->op == TSIM_ALL_GATHER ? 2 : 3) * share * bytes;
        break;
    case TSIM_ALL_TO_ALL:
        cost->algorithm = TSIM_ALGORITHM_PAIRWISE;
        flow = all_to_all(r, &box, bytes, link);
        cost->scale_up_bytes = share * bytes;
        cost->hbm_bytes = 2 * bytes;
        break;
    case TSIM_BROADCAST:
    case TSIM_SEND_RECV:
        cost->algorithm = request->op == TSIM_BROADCAST ? TSIM_ALGORITHM_RING : TSIM_ALGORITHM_DIRECT;
        flow = over_link(r, "along the chain of ranks", bytes, link);
        cost->scale_up_bytes = cost->hbm_bytes = bytes;
        hops = request->op == TSIM_BROADCAST ? n - 1 : 1;
        break;
    case TSIM_N_COLLECTIVE_OPS:
        break;
    }
    struct tsim_amount latency =
        tsim_product(r, "latency", "hops x latency of one", TSIM_TIME_S,
                     TSIM_PARTS(tsim_given(r, "hops", request->network == TSIM_NETWORK_IDEAL ? 0 : hops, TSIM_COUNT,
                                           "counted in the algorithm (sim/cost/torus.h)"),
                                hop));
    struct tsim_amount time =
        tsim_sum(r, tsim_record_text(r, "%s on the torus, alone", tsim_collective_op_name(request->op)),
                 "flow + latency", TSIM_TIME_S, TSIM_PARTS(flow, latency));
    cost->latency_s = latency.value;
    cost->time_s = time.value;
    cost->term = time.term;
}
