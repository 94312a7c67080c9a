#include "results/verdict.h"

#include <math.h>
#include <string.h>

/* Sums of doubles over the terms of one step: far above rounding (1e-16 a term), far below any figure that is read. */
#define SUM_TOLERANCE 1e-6

const char *tsim_result_status(const struct tsim_result *result) {
    return result->step.fits ? "ok" : "does_not_fit";
}

const char *tsim_bound_name(enum tsim_bound bound) {
    static const char *const NAMES[] = {
        [TSIM_BOUND_COMPUTE] = "compute",
        [TSIM_BOUND_MEMORY] = "memory",
        [TSIM_BOUND_COMMUNICATION] = "communication",
        [TSIM_BOUND_HOST] = "host",
        [TSIM_BOUND_LATENCY] = "latency",
    };
    return NAMES[bound];
}

const char *tsim_bottleneck_kind(const struct tsim_result *result) {
    if (result->step.bottleneck_is_bubble)
        return "bubble";
    if (result->step.bottleneck_is_data)
        return "data";
    if (result->step.bottleneck == TSIM_BOUND_MEMORY || result->step.bottleneck == TSIM_BOUND_COMMUNICATION)
        return tsim_bound_name(result->step.bottleneck);
    return "compute";
}

const char *tsim_bottleneck_axis(const struct tsim_result *result) {
    const char *kind = tsim_bottleneck_kind(result);
    if (strcmp(kind, "data") == 0)
        return "data";
    return strcmp(kind, "compute") == 0 || strcmp(kind, "bubble") == 0 ? "algorithm" : "machine";
}

static bool is_sum(double sum, double total) {
    return fabs(sum - total) <= SUM_TOLERANCE * fabs(total);
}

void tsim_result_check(const struct tsim_result *result) {
    const struct tsim_memory *m = &result->step.memory;
    double kinds_bytes = 0;
    for (int kind = 0; kind < TSIM_N_MEMORY_KINDS; kind++)
        kinds_bytes += tsim_memory_of_kind(m, kind);
    TSIM_ASSERT(is_sum(kinds_bytes, m->peak_bytes));
    if (!result->step.simulated)
        return;
    const struct tsim_step_terms *t = &result->step.terms;
    TSIM_ASSERT(t->time_s > 0.0 && isfinite(t->time_s));
    TSIM_ASSERT(is_sum(t->compute_s + t->recompute_s + t->bubble_s + t->communication_exposed_s + t->data_stall_s +
                           t->optimizer_s,
                       t->time_s));
    double exposed_s =
        t->exposed_tensor_s + t->exposed_pipeline_s + t->exposed_data_s + t->exposed_context_s + t->exposed_expert_s;
    TSIM_ASSERT(fabs(exposed_s - t->communication_exposed_s) <= SUM_TOLERANCE * t->time_s);
}

const struct tsim_rank_row *tsim_critical_rank(const struct tsim_result *result) {
    const struct tsim_rank_row *critical = &result->step.ranks[0];
    for (int32_t i = 1; i < result->step.n_ranks; i++)
        if (result->step.ranks[i].terms.bubble_s < critical->terms.bubble_s)
            critical = &result->step.ranks[i];
    return critical;
}
