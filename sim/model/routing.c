#include "model/routing.h"

#include "base/normal.h"

#include <math.h>

double tsim_routing_imbalance(const struct tsim_experts *experts, double ranks, double tokens) {
    double count = (double)experts->count, active = (double)experts->active, c = experts->imbalance_frac;
    if (experts->capacity_factor > 0)
        return experts->capacity_factor;
    if (experts->is_even)
        return 1;
    if (count <= 1 || ranks <= 1)
        return 1;
    double variance = (count - active) / ((count - 1) * active * tokens) + c * c * ranks / (count - 1);
    return 1 + tsim_expected_maximum(ranks) * sqrt(variance);
}

/* Expects so many of `parts` equal parts of `count` experts to be met by `active` distinct picks. */
static double parts_met(double count, double active, double parts) {
    double none = 1;
    for (double i = 0; i < active && i < count; i++) /* the i-th pick, too, is of another part */
        none *= fmax(count - count / parts - i, 0) / (count - i);
    return parts * (1 - none);
}

double tsim_routing_nodes(const struct tsim_experts *experts, double nodes) {
    return tsim_routing_ranks(experts, nodes, 1);
}

double tsim_routing_ranks(const struct tsim_experts *experts, double nodes, double on_node) {
    double limit = experts->node_limit > 0 ? fmin((double)experts->node_limit, nodes) : nodes;
    return parts_met((double)experts->count * limit / nodes, (double)experts->active, on_node * limit);
}
