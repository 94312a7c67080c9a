#include "study/curves/sensitivity.h"

#include <math.h>

/* ---- the capacities: which keys each is made of ---- */

enum { MOST_KEYS = TSIM_N_PRECISIONS };
_Static_assert((int)MOST_KEYS >= 3, "a scale-up has as many");

/* Keys that change together, each with the value that the machine has. The first is told. */
struct keys {
    struct {
        const char *path;
        double value;
    } of[MOST_KEYS];
    int n;
};

/* A key without a value is missing in the machine, or follows from another key. */
static void add_key(struct keys *keys, const char *path, double value) {
    if (!(value > 0))
        return;
    keys->of[keys->n].path = path;
    keys->of[keys->n++].value = value;
}

static void matrix_peak(const struct tsim_scenario *sc, struct keys *keys) {
    static const char *const PATHS[TSIM_N_PRECISIONS] = {
        [TSIM_FP32] = "cluster.node.accelerator.peak.fp32",  [TSIM_TF32] = "cluster.node.accelerator.peak.tf32",
        [TSIM_FP16] = "cluster.node.accelerator.peak.fp16",  [TSIM_BF16] = "cluster.node.accelerator.peak.bf16",
        [TSIM_FP8] = "cluster.node.accelerator.peak.fp8",    [TSIM_MXFP8] = "cluster.node.accelerator.peak.mxfp8",
        [TSIM_NVFP4] = "cluster.node.accelerator.peak.nvfp4"};
    const double *peak = sc->cluster.node->accelerator->peak_flops_per_s;
    enum tsim_precision own = sc->training.precision;
    add_key(keys, PATHS[own], peak[own]);
    for (int p = 0; p < TSIM_N_PRECISIONS && keys->n > 0; p++)
        if (p != (int)own)
            add_key(keys, PATHS[p], peak[p]);
}

static void memory_bandwidth(const struct tsim_scenario *sc, struct keys *keys) {
    add_key(keys, "cluster.node.accelerator.memory_bandwidth", sc->cluster.node->accelerator->memory_bytes_per_s);
}

static void kernel_latency(const struct tsim_scenario *sc, struct keys *keys) {
    add_key(keys, "cluster.node.accelerator.efficiency.kernel_latency",
            sc->cluster.node->accelerator->kernel_latency_s);
}

static bool has_scale_up(const struct tsim_scenario *sc) {
    return sc->cluster.accelerators_per_node > 1;
}

/* Finds the keys of the scale-up bandwidth. Accelerators without links of their own talk through the host's. Bandwidths
 * that were measured on the wire follow it. */
static void scale_up_bandwidth(const struct tsim_scenario *sc, struct keys *keys) {
    const struct tsim_node *n = sc->cluster.node;
    if (!has_scale_up(sc))
        return;
    if (n->scale_up == TSIM_SCALE_UP_NONE) {
        add_key(keys, "cluster.node.host_link", n->host_link_bytes_per_s);
        return;
    }
    add_key(keys, "cluster.node.scale_up.bandwidth", n->scale_up_bytes_per_s);
    add_key(keys, "cluster.node.scale_up.switch_uplink", n->switch_uplink_bytes_per_s);
    add_key(keys, "cluster.node.scale_up.socket_link", n->socket_link_bytes_per_s);
}

static void scale_up_latency(const struct tsim_scenario *sc, struct keys *keys) {
    if (has_scale_up(sc))
        add_key(keys, "cluster.node.scale_up.latency", sc->cluster.node->scale_up_latency_s);
}

static bool has_fabric(const struct tsim_scenario *sc) {
    return sc->cluster.fabric && sc->cluster.nodes > 1;
}

/* The fabric's port caps a NIC, so both change. */
static void nic_bandwidth(const struct tsim_scenario *sc, struct keys *keys) {
    static const char NIC[] = "cluster.node.nic_bandwidth", PORT[] = "cluster.fabric.bandwidth";
    if (!has_fabric(sc))
        return;
    double nic = sc->cluster.node->nic_bytes_per_s, port = sc->cluster.fabric->link_bytes_per_s;
    add_key(keys, nic <= port ? NIC : PORT, fmin(nic, port));
    add_key(keys, nic <= port ? PORT : NIC, fmax(nic, port));
}

static void fabric_latency(const struct tsim_scenario *sc, struct keys *keys) {
    if (has_fabric(sc))
        add_key(keys, "cluster.fabric.latency", sc->cluster.fabric->latency_s);
}

static void host_time(const struct tsim_scenario *sc, struct keys *keys) {
    add_key(keys, "software.host_time_per_op", sc->software->host_time_per_op_s);
    if (keys->n > 0)
        add_key(keys, "software.host_time_per_fp8_op", sc->software->host_time_per_fp8_op_s);
}

static void storage_bandwidth(const struct tsim_scenario *sc, struct keys *keys) {
    if (!sc->data.has)
        return;
    add_key(keys, "data.storage.bandwidth", sc->data.storage->bandwidth_bytes_per_s);
    add_key(keys, "data.storage.client_bandwidth", sc->data.storage->client_bytes_per_s);
}

static void storage_latency(const struct tsim_scenario *sc, struct keys *keys) {
    if (sc->data.has)
        add_key(keys, "data.storage.latency", sc->data.storage->latency_s);
}

static void sample_cpu_time(const struct tsim_scenario *sc, struct keys *keys) {
    add_key(keys, "data.sample_cpu_time", sc->data.sample_cpu_s);
}

static const struct {
    const char *name, *key;
    enum tsim_dimension dimension;
    void (*list)(const struct tsim_scenario *scenario, struct keys *keys); /* none: the machine lacks it */
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

static bool propose(struct tsim_arena *arena, const struct tsim_scenario *scenario, const struct keys *keys,
                    enum tsim_dimension dimension, double factor, const struct tsim_scenario **changed) {
    struct tsim_override proposals[MOST_KEYS];
    char text[MOST_KEYS][64];
    for (int i = 0; i < keys->n; i++)
        proposals[i] = (struct tsim_override){
            keys->of[i].path, tsim_quantity_si(keys->of[i].value * factor, dimension, text[i], sizeof text[i])};
    return tsim_scenario_propose(arena, scenario, proposals, (size_t)keys->n, changed, TSIM_UNHEARD);
}

/* Runs with the changed value; the result is NAN if the rules refuse it. */
static enum tsim_status run_changed(const struct tsim_scenario *scenario, const struct keys *keys,
                                    enum tsim_dimension dimension, double factor, double *time_s,
                                    struct tsim_diags *diags) {
    const struct tsim_run_options options = {
        .ignore_memory = true, .is_steady = true, .is_brief = true, .is_step = true};
    const struct tsim_scenario *changed;
    struct tsim_arena arena;
    struct tsim_result result;
    enum tsim_status status = TSIM_OK;
    *time_s = (double)NAN;
    tsim_arena_init(&arena);
    if (propose(&arena, scenario, keys, dimension, factor, &changed)) {
        status = tsim_train_run(&arena, changed, &options, &result, diags);
        if (status == TSIM_OK)
            *time_s = result.step.terms.time_s;
    }
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
        struct keys keys = {.n = 0};
        CAPACITIES[i].list(scenario, &keys);
        if (keys.n == 0)
            continue;
        struct tsim_sensitivity row = {.name = CAPACITIES[i].name,
                                       .key = CAPACITIES[i].key,
                                       .dimension = CAPACITIES[i].dimension,
                                       .value = keys.of[0].value};
        TSIM_TRY(run_changed(scenario, &keys, row.dimension, less, &row.less_time_s, diags));
        TSIM_TRY(run_changed(scenario, &keys, row.dimension, more, &row.more_time_s, diags));
        row.elasticity = log(row.more_time_s / row.less_time_s) / log(more / less);
        if (!isnan(row.elasticity))
            insert(&list, &row);
    }
    *sensitivities = list;
    return TSIM_OK;
}
