/* calibrate_links.h - fits the rates and latencies of a node's links and of a fabric to measured collectives
 * (nccl_tests.h), by nonlinear least squares on relative errors (predicted / measured time - 1) of the formulas that
 * predict them (cost/collective.h). */
#pragma once

#include "study/judge/nccl_tests.h"

enum tsim_link_value {
    TSIM_LINK_RING,           /* scale_up.ring_bandwidth of the node, in bytes/s */
    TSIM_LINK_REDUCE,         /* scale_up.reduce_bandwidth of the node, in bytes/s */
    TSIM_LINK_LATENCY,        /* scale_up.latency of the node, in s */
    TSIM_LINK_EFFICIENCY,     /* of the fabric, a fraction */
    TSIM_LINK_FABRIC_LATENCY, /* of the fabric, in s */
    TSIM_N_LINK_VALUES
};

struct tsim_link_fitted {
    bool fitted; /* three rows at least change by over 1 % if it changes by a tenth (a latency: doubles) */
    double before, after, low_95, high_95;
};

struct tsim_link_row {
    struct tsim_nccl_row measured;
    const struct tsim_nccl_run *run;
    double before_s, after_s;
    bool is_left_out;              /* its error is over five times the median of a first fit, and over a fifth */
    enum tsim_algorithm algorithm; /* the one that the fitted values choose */
};

struct tsim_link_calibration {
    const struct tsim_node *node;
    const struct tsim_fabric *fabric; /* NULL: one node */
    struct tsim_link_row *rows;
    size_t n_rows, n_left_out;
    struct tsim_link_fitted values[TSIM_N_LINK_VALUES];
    double before_frac, after_frac; /* mean absolute relative errors of the rows that count */
};

/* The first returns the name, "scale_up.ring_bandwidth" for example; the second whether it is the fabric's or the
 * node's. */
const char *tsim_link_value_name(enum tsim_link_value value);
bool tsim_link_value_is_node(enum tsim_link_value value);

/* Fits the values. `node` and `fabric` are ids or paths; NULL: by the runs' devices (a node of their kind; ib-ndr,
 * ib-hdr). All runs are of one machine. Returns TSIM_ERR_REFERENCE for unknown ids, and TSIM_ERR_INFEASIBLE for fewer
 * rows than values to fit, more ranks on a node than it has accelerators, or no convergence. */
enum tsim_status tsim_calibrate_links(struct tsim_arena *arena, const char *node, const char *fabric,
                                      const struct tsim_nccl_run *runs, size_t n_runs,
                                      struct tsim_link_calibration *calibration, struct tsim_diags *diags);
