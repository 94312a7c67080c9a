#include "study/judge/calibrate_links.h"

#include "base/quantile.h"
#include "cluster/cluster.h"
#include "config/recognize.h"
#include "study/judge/least_squares.h"

#include <math.h>
#include <string.h>

#define LEAST_CHANGE_FRAC 0.01 /* a value that changes by a tenth must change a row's time by so much */
#define FAR_FRAC 0.2
#define FAR_MEDIANS 5
enum { LEAST_ROWS = 3 };

const char *tsim_link_value_name(enum tsim_link_value value) {
    static const char *const NAMES[] = {"scale_up.ring_bandwidth", "scale_up.reduce_bandwidth", "scale_up.latency",
                                        "efficiency", "latency"};
    return NAMES[value];
}

bool tsim_link_value_is_node(enum tsim_link_value value) {
    return value <= TSIM_LINK_LATENCY;
}

/* ---- the model ---- */

struct machine {
    struct tsim_node node;
    struct tsim_fabric fabric;
};

static double *field_of(struct machine *m, enum tsim_link_value value) {
    double *const fields[] = {&m->node.scale_up_ring_bytes_per_s, &m->node.scale_up_reduce_bytes_per_s,
                              &m->node.scale_up_latency_s, &m->fabric.efficiency_frac, &m->fabric.latency_s};
    return fields[value];
}

struct fit {
    struct tsim_link_calibration *calibration;
    enum tsim_link_value which[TSIM_N_LINK_VALUES];
    size_t n_values;
};

static void copy_machine(const struct tsim_link_calibration *c, struct machine *m) {
    m->node = *c->node;
    m->fabric = c->fabric ? *c->fabric : (struct tsim_fabric){0};
}

/* Each node holds equally many ranks. */
static double predict_s(const struct tsim_link_calibration *c, const struct machine *m, const struct tsim_link_row *row,
                        enum tsim_algorithm *algorithm) {
    static const struct tsim_software ANY = {.nics_used = 0};
    struct tsim_arena arena;
    const struct tsim_nccl_run *run = row->run;
    int32_t each = run->n_ranks / run->n_nodes;
    struct tsim_scenario scenario = {.software = &ANY, .n_accelerators = run->n_ranks};
    scenario.cluster.node = &m->node;
    scenario.cluster.fabric = c->fabric ? &m->fabric : NULL;
    scenario.cluster.nodes = run->n_nodes;
    scenario.cluster.accelerators_per_node = m->node.accelerators;
    tsim_arena_init(&arena);
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, &scenario);
    struct tsim_collective_request request = {
        .op = run->op,
        .bytes = row->measured.bytes,
        .group = {
            .n_ranks = run->n_ranks, .n_nodes = run->n_nodes, .max_ranks_per_node = each, .min_ranks_per_node = each}};
    struct tsim_collective_cost cost;
    tsim_collective_cost(cluster, &request, &cost);
    tsim_arena_release(&arena);
    if (algorithm)
        *algorithm = cost.algorithm;
    return cost.time_s;
}

static void relative_errors(const double *values, double *errors, void *context) {
    const struct fit *fit = context;
    struct machine m;
    copy_machine(fit->calibration, &m);
    for (size_t i = 0; i < fit->n_values; i++)
        *field_of(&m, fit->which[i]) = values[i];
    m.fabric.efficiency_frac = fmin(1, m.fabric.efficiency_frac);
    for (size_t i = 0; i < fit->calibration->n_rows; i++) {
        const struct tsim_link_row *row = &fit->calibration->rows[i];
        errors[i] = row->is_left_out ? 0 : predict_s(fit->calibration, &m, row, NULL) / row->measured.measured_s - 1;
    }
}

/* ---- which values ---- */

static bool is_latency(enum tsim_link_value value) {
    return value == TSIM_LINK_LATENCY || value == TSIM_LINK_FABRIC_LATENCY;
}

/* Latencies up to those that the collective library's own table holds have no effect: they start above. */
static double start_of(const struct tsim_link_calibration *c, enum tsim_link_value value) {
    double before = c->values[value].before;
    return is_latency(value) ? 1.3 * before : before;
}

static size_t rows_that_tell(const struct tsim_link_calibration *c, enum tsim_link_value value) {
    size_t n = 0;
    struct machine base, changed;
    copy_machine(c, &base);
    *field_of(&base, value) = start_of(c, value);
    changed = base;
    *field_of(&changed, value) *= is_latency(value) ? 2 : 0.9;
    for (size_t i = 0; i < c->n_rows; i++) {
        double a = predict_s(c, &base, &c->rows[i], NULL), b = predict_s(c, &changed, &c->rows[i], NULL);
        n += fabs(b / a - 1) > LEAST_CHANGE_FRAC;
    }
    return n;
}

static void choose_values(struct tsim_link_calibration *c, struct fit *fit) {
    struct machine m;
    copy_machine(c, &m);
    for (int i = 0; i < TSIM_N_LINK_VALUES; i++) {
        enum tsim_link_value which = (enum tsim_link_value)i;
        struct tsim_link_fitted *value = &c->values[i];
        bool exists = tsim_link_value_is_node(which) || c->fabric;
        value->before = value->after = *field_of(&m, which);
        value->low_95 = value->high_95 = (double)NAN;
        value->fitted = exists && value->before > 0 && rows_that_tell(c, which) >= LEAST_ROWS;
        if (value->fitted)
            fit->which[fit->n_values++] = which;
    }
}

/* Solves; values[] are the start, and afterwards the optimum. */
static enum tsim_status solve(const struct fit *fit, double *values, double *low_95, double *high_95, const char *file,
                              struct tsim_diags *diags) {
    struct tsim_least_squares problem = {fit->calibration->n_rows, fit->n_values, relative_errors, (void *)(size_t)fit};
    const char *why = tsim_least_squares_fit(&problem, values, low_95, high_95);
    if (!why)
        return TSIM_OK;
    tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){.file = file}, "", "the fit does not converge: %s",
                     why);
    return TSIM_ERR_INFEASIBLE;
}

/* Leaves out single sizes that something disturbed, which would pull all values. */
static void leave_out(struct tsim_arena *arena, struct fit *fit, const double *values) {
    struct tsim_link_calibration *c = fit->calibration;
    double *errors = TSIM_NEW_ARRAY(arena, c->n_rows, double), *sorted = TSIM_NEW_ARRAY(arena, c->n_rows, double);
    relative_errors(values, errors, fit);
    for (size_t i = 0; i < c->n_rows; i++)
        sorted[i] = errors[i] = fabs(errors[i]);
    tsim_sort_ascending(sorted, c->n_rows);
    double limit = fmax(FAR_FRAC, FAR_MEDIANS * sorted[c->n_rows / 2]);
    for (size_t i = 0; i < c->n_rows && c->n_rows - c->n_left_out > fit->n_values + 1; i++) {
        c->rows[i].is_left_out = errors[i] > limit;
        c->n_left_out += c->rows[i].is_left_out;
    }
}

/* A latency below the one in the library's table has no effect, so the measurements do not determine it. */
static bool has_effect(const struct tsim_link_calibration *c, enum tsim_link_value which, double after) {
    struct machine base, changed;
    copy_machine(c, &base);
    *field_of(&base, which) = after;
    changed = base;
    *field_of(&changed, which) *= 1.1;
    for (size_t i = 0; i < c->n_rows; i++)
        if (predict_s(c, &base, &c->rows[i], NULL) < predict_s(c, &changed, &c->rows[i], NULL))
            return true;
    return !is_latency(which);
}

static enum tsim_status fit_values(struct tsim_arena *arena, struct tsim_link_calibration *c, struct fit *fit,
                                   const char *file, struct tsim_diags *diags) {
    double values[TSIM_N_LINK_VALUES], low_95[TSIM_N_LINK_VALUES], high_95[TSIM_N_LINK_VALUES];
    if (c->n_rows < fit->n_values || fit->n_values == 0) {
        tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){.file = file}, "",
                         "%zu sizes for %zu values: too few to fit", c->n_rows, fit->n_values);
        return TSIM_ERR_INFEASIBLE;
    }
    for (size_t i = 0; i < fit->n_values; i++)
        values[i] = start_of(c, fit->which[i]);
    TSIM_TRY(solve(fit, values, low_95, high_95, file, diags));
    leave_out(arena, fit, values);
    if (c->n_left_out > 0)
        TSIM_TRY(solve(fit, values, low_95, high_95, file, diags));
    for (size_t i = 0; i < fit->n_values; i++) {
        struct tsim_link_fitted *value = &c->values[fit->which[i]];
        double most = fit->which[i] == TSIM_LINK_EFFICIENCY ? 1 : HUGE_VAL;
        value->fitted = has_effect(c, fit->which[i], values[i]);
        if (!value->fitted)
            continue;
        value->after = fmin(most, values[i]);
        value->low_95 = low_95[i];
        value->high_95 = fmin(most, high_95[i]);
    }
    return TSIM_OK;
}

static void compare(struct tsim_link_calibration *c) {
    struct machine before, after;
    copy_machine(c, &before);
    after = before;
    for (int i = 0; i < TSIM_N_LINK_VALUES; i++)
        *field_of(&after, (enum tsim_link_value)i) = c->values[i].after;
    for (size_t i = 0; i < c->n_rows; i++) {
        struct tsim_link_row *row = &c->rows[i];
        row->before_s = predict_s(c, &before, row, NULL);
        row->after_s = predict_s(c, &after, row, &row->algorithm);
        if (row->is_left_out)
            continue;
        c->before_frac += fabs(row->before_s / row->measured.measured_s - 1) / (double)(c->n_rows - c->n_left_out);
        c->after_frac += fabs(row->after_s / row->measured.measured_s - 1) / (double)(c->n_rows - c->n_left_out);
    }
}

/* ---- the machine ---- */

static enum tsim_status load_machine(struct tsim_arena *arena, const char *node, const char *fabric,
                                     const struct tsim_nccl_run *runs, size_t n_runs, struct tsim_link_calibration *c,
                                     struct tsim_diags *diags) {
    const char *device = NULL;
    struct tsim_place place = {.file = runs[0].rows[0].file};
    bool needs_fabric = false;
    for (size_t i = 0; i < n_runs; i++) {
        if (device && runs[i].device && strcmp(device, runs[i].device) != 0) {
            place.file = runs[i].rows[0].file;
            tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, place, "", "'%.80s' after '%.80s': all files of one machine",
                             runs[i].device, device);
            return TSIM_ERR_INFEASIBLE;
        }
        device = device ? device : runs[i].device;
    }
    const struct tsim_accelerator *named = NULL;
    if (device && !node)
        TSIM_TRY(tsim_accelerator_named(arena, device, &named, diags));
    if (named)
        node = named->known_as->node;
    if (!node) {
        tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_REFERENCE, place, "",
                                        device ? "no accelerator of the catalogue has the name of its device, '%.100s'"
                                               : "the files do not name their machine%.0s",
                                        device ? device : ""),
                       "--set cluster.node=ID, and --set cluster.fabric=ID for several nodes");
        return TSIM_ERR_REFERENCE;
    }
    TSIM_TRY(tsim_catalogue_load_node(arena, node, &c->node, diags));
    for (size_t i = 0; i < n_runs; i++)
        needs_fabric |= runs[i].n_nodes > 1 || runs[i].n_ranks > c->node->accelerators;
    if (needs_fabric && !fabric)
        TSIM_TRY(tsim_usual_fabric(arena, c->node, &fabric, diags));
    if (needs_fabric)
        TSIM_TRY(tsim_catalogue_load_fabric(arena, fabric ? fabric : TSIM_DEFAULT_FABRIC, &c->fabric, diags));
    return TSIM_OK;
}

static enum tsim_status check_run(const struct tsim_link_calibration *c, struct tsim_nccl_run *run,
                                  struct tsim_diags *diags) {
    struct tsim_place place = {.file = run->rows[0].file};
    int64_t most = c->node->accelerators;
    if (run->n_nodes == 0)
        run->n_nodes = (int32_t)((run->n_ranks + most - 1) / most);
    if (run->n_ranks % run->n_nodes != 0 || run->n_ranks / run->n_nodes > most) {
        tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, place, "",
                                        "%d ranks on %d nodes of %lld accelerators", run->n_ranks, run->n_nodes,
                                        (long long)most),
                       "--set cluster.node=ID of a node with as many");
        return TSIM_ERR_INFEASIBLE;
    }
    if (c->fabric && c->fabric->topology == TSIM_TOPOLOGY_TORUS) {
        tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, place, "", "a torus cannot be calibrated in this way");
        return TSIM_ERR_INFEASIBLE;
    }
    return TSIM_OK;
}

enum tsim_status tsim_calibrate_links(struct tsim_arena *arena, const char *node, const char *fabric,
                                      const struct tsim_nccl_run *runs, size_t n_runs,
                                      struct tsim_link_calibration *calibration, struct tsim_diags *diags) {
    struct tsim_link_calibration c = {.node = NULL};
    TSIM_TRY(load_machine(arena, node, fabric, runs, n_runs, &c, diags));
    struct tsim_nccl_run *kept = TSIM_NEW_ARRAY(arena, n_runs, struct tsim_nccl_run);
    size_t n = 0;
    for (size_t i = 0; i < n_runs; i++) {
        kept[i] = runs[i];
        TSIM_TRY(check_run(&c, &kept[i], diags));
        n += runs[i].n_rows;
    }
    c.rows = TSIM_NEW_ARRAY(arena, n, struct tsim_link_row);
    for (size_t i = 0; i < n_runs; i++)
        for (size_t j = 0; j < kept[i].n_rows; j++)
            c.rows[c.n_rows++] = (struct tsim_link_row){.measured = kept[i].rows[j], .run = &kept[i]};
    struct fit fit = {.calibration = &c};
    choose_values(&c, &fit);
    TSIM_TRY(fit_values(arena, &c, &fit, runs[0].rows[0].file, diags));
    compare(&c);
    *calibration = c;
    return TSIM_OK;
}
