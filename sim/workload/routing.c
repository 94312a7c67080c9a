#include "workload/routing.h"

#include "base/normal.h"

#include <math.h>

double tsim_routing_imbalance(const struct tsim_experts *experts, double ranks, double tokens) {
    double count = (double)experts->count, active = (double)experts->active, c = experts->imbalance_frac;
    if (experts->capacity_factor > 0)
        return experts->capacity_factor;
    if (count <= 1 || ranks <= 1)
        return 1;
    double variance = (count - active) / ((count - 1) * active * tokens) + c * c * ranks / (count - 1);
    return 1 + tsim_expected_maximum(ranks) * sqrt(variance);
}

double tsim_routing_nodes(const struct tsim_experts *experts, double nodes) {
    double count = (double)experts->count, on_node = count / nodes, none = 1;
    for (int64_t i = 0; i < experts->active; i++) /* the i-th pick, too, is of another node */
        none *= fmax(count - on_node - (double)i, 0) / (count - (double)i);
    double expected = nodes * (1 - none);
    return experts->node_limit > 0 ? fmin(expected, (double)experts->node_limit) : expected;
}
