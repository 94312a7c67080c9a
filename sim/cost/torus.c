#include "cost/torus.h"

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
        bool is_ring = cluster->torus_wraps[d] && extent[d] * step[d] == cluster->torus_shape[d];
        box.extent[box.n_dimensions] = extent[d];
        box.slowness[box.n_dimensions++] = step[d] * (is_ring ? 1 : 2);
    }
    return box;
}

/* One pass over all dimensions: of `bytes` before scattering or after gathering. */
static double pass_s(const struct box *box, double bytes, double link_bytes_per_s) {
    double total_s = 0;
    for (int p = 0; p < box->n_dimensions; p++) {
        double slowest_s = 0;
        for (int r = 0; r < box->n_dimensions; r++) {
            double part = bytes / (2 * box->n_dimensions);
            for (int before = 0; before < p; before++)
                part /= box->extent[(r + before) % box->n_dimensions];
            int d = (r + p) % box->n_dimensions;
            slowest_s = fmax(slowest_s, part * (box->extent[d] - 1) / box->extent[d] * box->slowness[d]);
        }
        total_s += slowest_s / link_bytes_per_s;
    }
    return total_s;
}

static double all_to_all_s(const struct box *box, double bytes, double link_bytes_per_s) {
    double slowest = 0;
    for (int d = 0; d < box->n_dimensions; d++)
        slowest = fmax(slowest, box->extent[d] * box->slowness[d]);
    return bytes * slowest / 8 / link_bytes_per_s;
}

void tsim_torus_cost(const struct tsim_cluster *cluster, const struct tsim_collective_request *request,
                     struct tsim_collective_cost *cost) {
    struct box box = find_box(cluster, &request->group);
    double n = request->group.n_ranks, share = (n - 1) / n, bytes = request->bytes, hops = 0;
    double link = cluster->pair_bytes_per_s;
    for (int d = 0; d < box.n_dimensions; d++)
        hops += box.extent[d] - 1;
    cost->algorithm = TSIM_ALGORITHM_TORUS;
    cost->protocol = TSIM_PROTOCOL_SIMPLE;
    switch (request->op) {
    case TSIM_ALL_REDUCE:
        cost->time_s = 2 * pass_s(&box, bytes, link);
        cost->scale_up_bytes = 2 * share * bytes;
        cost->hbm_bytes = 5 * share * bytes;
        hops *= 2;
        break;
    case TSIM_ALL_GATHER:
    case TSIM_REDUCE_SCATTER:
        cost->time_s = pass_s(&box, bytes, link);
        cost->scale_up_bytes = share * bytes;
        cost->hbm_bytes = (request->op == TSIM_ALL_GATHER ? 2 : 3) * share * bytes;
        break;
    case TSIM_ALL_TO_ALL:
        cost->algorithm = TSIM_ALGORITHM_PAIRWISE;
        cost->time_s = all_to_all_s(&box, bytes, link);
        cost->scale_up_bytes = share * bytes;
        cost->hbm_bytes = 2 * bytes;
        break;
    case TSIM_BROADCAST:
    case TSIM_SEND_RECV:
        cost->algorithm = request->op == TSIM_BROADCAST ? TSIM_ALGORITHM_RING : TSIM_ALGORITHM_DIRECT;
        cost->time_s = bytes / link;
        cost->scale_up_bytes = cost->hbm_bytes = bytes;
        hops = request->op == TSIM_BROADCAST ? n - 1 : 1;
        break;
    case TSIM_N_COLLECTIVE_OPS:
        break;
    }
    if (request->network != TSIM_NETWORK_IDEAL)
        cost->latency_s = hops * cluster->fabric_latency_s;
    cost->time_s += cost->latency_s;
}
