#include "cost/torus.h"

#include "config/provenance.h"

#include <math.h>

struct box {
    int n_dimensions;              /* of more than one */
    double extent[3], slowness[3]; /* time relative to a ring of neighbours */
};

bool tsim_torus_box(const struct tsim_cluster *cluster, const struct tsim_group *group, struct tsim_torus_box *box) {
    int32_t left = group->n_ranks, stride = group->stride > 1 ? group->stride : 1, below = 1;
    *box = (struct tsim_torus_box){.extent = {1, 1, 1}, .in_tile = {1, 1, 1}, .step = {1, 1, 1}};
    for (int k = 0; k < TSIM_TORUS_DIGITS; k++) {
        struct tsim_torus_digit digit = tsim_torus_digit(cluster, k);
        int d = digit.dimension;
        if (stride < below * digit.size && left > 1) {
            int32_t step = stride > below ? stride / below : 1, room = digit.size / step;
            int32_t part = left < room ? left : room;
            bool leaves_gaps = box->extent[d] > 1 && (step > 1 || box->extent[d] < digit.step);
            if (left % part != 0 || leaves_gaps)
                return false;
            box->step[d] = box->extent[d] > 1 ? 1 : step * digit.step;
            box->extent[d] *= part;
            if (k < TSIM_TORUS_DIGITS / 2)
                box->in_tile[d] = part;
            left /= part;
            stride = below * digit.size;
        }
        below *= digit.size;
    }
    return left == 1;
}

int32_t tsim_torus_neighbour(const struct tsim_torus_box *box, int32_t i, int dimension, int32_t way) {
    int32_t strides[TSIM_TORUS_DIGITS], below = 1, extent = box->extent[dimension], in_tile = box->in_tile[dimension];
    for (int k = 0; k < TSIM_TORUS_DIGITS; k++) {
        int d = k % 3;
        strides[k] = below;
        below *= k < 3 ? box->in_tile[d] : box->extent[d] / box->in_tile[d];
    }
    int32_t place = i / strides[dimension] % in_tile, tile = i / strides[dimension + 3] % (extent / in_tile);
    int32_t next = (place + in_tile * tile + way + extent) % extent;
    return i + (next % in_tile - place) * strides[dimension] + (next / in_tile - tile) * strides[dimension + 3];
}

int32_t tsim_torus_slowness(const struct tsim_cluster *cluster, const struct tsim_torus_box *box, int d) {
    bool is_ring = cluster->torus_wraps[d] && box->extent[d] * box->step[d] == cluster->torus_shape[d];
    return box->step[d] * (is_ring ? 1 : 2);
}

static struct box find_box(const struct tsim_cluster *cluster, const struct tsim_group *group) {
    struct box box = {.n_dimensions = 0};
    struct tsim_torus_box on_torus;
    if (!tsim_torus_box(cluster, group, &on_torus)) {
        box.n_dimensions = 1;
        box.extent[0] = group->n_ranks;
        box.slowness[0] = 2;
        return box;
    }
    for (int d = 0; d < 3; d++) {
        if (on_torus.extent[d] == 1)
            continue;
        box.extent[box.n_dimensions] = on_torus.extent[d];
        box.slowness[box.n_dimensions++] = tsim_torus_slowness(cluster, &on_torus, d);
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
