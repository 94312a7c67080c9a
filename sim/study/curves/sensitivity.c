#include "study/curves/sensitivity.h"

#include <math.h>

/* A scenario with hardware and software of its own, free to change. */
struct changed {
    struct tsim_scenario scenario;
    struct tsim_node node;
    struct tsim_accelerator accelerator;
    struct tsim_fabric fabric;
    struct tsim_software software;
    struct tsim_storage storage;
};

static void copy(const struct tsim_scenario *scenario, struct changed *to) {
    to->scenario = *scenario;
    to->node = *scenario->cluster.node;
    to->accelerator = *to->node.accelerator;
    to->software = *scenario->software;
    to->node.accelerator = &to->accelerator;
    to->scenario.cluster.node = &to->node;
    to->scenario.software = &to->software;
    if (scenario->data.has) {
        to->storage = *scenario->data.storage;
        to->scenario.data.storage = &to->storage;
    }
    if (!scenario->cluster.fabric)
        return;
    to->fabric = *scenario->cluster.fabric;
    to->scenario.cluster.fabric = &to->fabric;
}

/* ---- the capacities: each multiplies by `factor` and returns the value that it had, 0 where the machine lacks it */

static double scale(double *value, double factor) {
    double before = *value;
    *value *= factor;
    return before;
}

static double matrix_peak(struct changed *c, double factor) {
    double before = c->accelerator.peak_flops_per_s[c->scenario.training.precision];
    for (int p = 0; p < TSIM_N_PRECISIONS; p++)
        c->accelerator.peak_flops_per_s[p] *= factor;
    return before;
}

static double memory_bandwidth(struct changed *c, double factor) {
    return scale(&c->accelerator.memory_bytes_per_s, factor);
}

static double kernel_latency(struct changed *c, double factor) {
    return scale(&c->accelerator.kernel_latency_s, factor);
}

static bool has_scale_up(const struct changed *c) {
    return c->scenario.cluster.accelerators_per_node > 1;
}

/* Without links of their own, accelerators talk through the host's. */
static double scale_up_bandwidth(struct changed *c, double factor) {
    struct tsim_node *n = &c->node;
    if (!has_scale_up(c))
        return 0;
    if (n->scale_up == TSIM_SCALE_UP_NONE)
        return scale(&n->host_link_bytes_per_s, factor);
    n->scale_up_ring_bytes_per_s *= factor;
    n->scale_up_reduce_bytes_per_s *= factor;
    n->switch_uplink_bytes_per_s *= factor;
    n->socket_link_bytes_per_s *= factor;
    return scale(&n->scale_up_bytes_per_s, factor);
}

static double scale_up_latency(struct changed *c, double factor) {
    return has_scale_up(c) ? scale(&c->node.scale_up_latency_s, factor) : 0;
}

static bool has_fabric(const struct changed *c) {
    return c->scenario.cluster.fabric && c->scenario.cluster.nodes > 1;
}

/* A NIC is capped by the fabric's port: both change. */
static double nic_bandwidth(struct changed *c, double factor) {
    if (!has_fabric(c))
        return 0;
    double before = fmin(c->node.nic_bytes_per_s, c->fabric.link_bytes_per_s);
    c->node.nic_bytes_per_s *= factor;
    c->fabric.link_bytes_per_s *= factor;
    return before;
}

static double fabric_latency(struct changed *c, double factor) {
    return has_fabric(c) ? scale(&c->fabric.latency_s, factor) : 0;
}

static double host_time(struct changed *c, double factor) {
    c->software.host_time_per_fp8_op_s *= factor;
    return scale(&c->software.host_time_per_op_s, factor);
}

static double storage_bandwidth(struct changed *c, double factor) {
    c->storage.client_bytes_per_s *= factor;
    return scale(&c->storage.bandwidth_bytes_per_s, factor);
}

static double storage_latency(struct changed *c, double factor) {
    return scale(&c->storage.latency_s, factor);
}

static double sample_cpu_time(struct changed *c, double factor) {
    return scale(&c->scenario.data.sample_cpu_s, factor);
}

static const struct {
    const char *name, *key;
    enum tsim_dimension dimension;
    double (*change)(struct changed *changed, double factor);
} CAPACITIES[] = {{"matrix peak", "matrix_peak", TSIM_FLOPS_PER_S, matrix_peak},
                  {"memory bandwidth", "memory_bandwidth", TSIM_BYTES_PER_S, memory_bandwidth},
                  {"kernel latency", "kernel_latency", TSIM_TIME_S, kernel_latency},
                  {"scale-up bandwidth", "scale_up_bandwidth", TSIM_BYTES_PER_S, scale_up_bandwidth},
                  {"scale-up latency", "scale_up_latency", TSIM_TIME_S, scale_up_latency},
                  {"NIC bandwidth", "nic_bandwidth", TSIM_BYTES_PER_S, nic_bandwidth},
                  {"fabric latency", "fabric_latency", TSIM_TIME_S, fabric_latency},
                  {"host time per operator", "host_time_per_op", TSIM_TIME_S, host_time},
                  {"storage bandwidth", "storage_bandwidth", TSIM_BYTES_PER_S, storage_bandwidth},
                  {"storage latency", "storage_latency", TSIM_TIME_S, storage_latency},
                  {"CPU time per sample", "sample_cpu_time", TSIM_TIME_S, sample_cpu_time}};
enum { N_CAPACITIES = sizeof CAPACITIES / sizeof CAPACITIES[0] };
_Static_assert((int)N_CAPACITIES <= (int)TSIM_MOST_SENSITIVITIES, "callers keep as many");

/* ---- running ---- */

static enum tsim_status run_changed(const struct tsim_scenario *scenario, int capacity, double factor, double *time_s,
                                    struct tsim_diags *diags) {
    const struct tsim_run_options options = {.ignore_memory = true, .is_steady = true};
    struct tsim_arena arena;
    struct changed changed = {0};
    struct tsim_result result;
    tsim_arena_init(&arena);
    copy(scenario, &changed);
    CAPACITIES[capacity].change(&changed, factor);
    enum tsim_status status = tsim_train_run(&arena, &changed.scenario, &options, &result, diags);
    if (status == TSIM_OK)
        *time_s = result.step.terms.time_s;
    tsim_arena_release(&arena);
    return status;
}

static void insert(struct tsim_sensitivities *list, const struct tsim_sensitivity *row) {
    int32_t at = list->n++;
    for (; at > 0 && fabs(list->rows[at - 1].elasticity) < fabs(row->elasticity); at--)
        list->rows[at] = list->rows[at - 1];
    list->rows[at] = *row;
}

enum tsim_status tsim_sensitivities_run(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                        struct tsim_sensitivities *sensitivities, struct tsim_diags *diags) {
    const double less = 1 - TSIM_SENSITIVITY_STEP_FRAC, more = 1 + TSIM_SENSITIVITY_STEP_FRAC;
    struct tsim_sensitivities list = {.rows = TSIM_NEW_ARRAY(arena, N_CAPACITIES, struct tsim_sensitivity)};
    for (int i = 0; i < N_CAPACITIES; i++) {
        struct changed as_is = {0};
        copy(scenario, &as_is);
        struct tsim_sensitivity row = {.name = CAPACITIES[i].name,
                                       .key = CAPACITIES[i].key,
                                       .dimension = CAPACITIES[i].dimension,
                                       .value = CAPACITIES[i].change(&as_is, 1)};
        if (!(row.value > 0))
            continue;
        TSIM_TRY(run_changed(scenario, i, less, &row.less_time_s, diags));
        TSIM_TRY(run_changed(scenario, i, more, &row.more_time_s, diags));
        row.elasticity = log(row.more_time_s / row.less_time_s) / log(more / less);
        insert(&list, &row);
    }
    *sensitivities = list;
    return TSIM_OK;
}
