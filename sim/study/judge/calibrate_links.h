/* calibrate_links.h - what a node's links and a fabric reach, from measured collectives (nccl_tests.h), by nonlinear
 * least squares on relative errors (predicted / measured time - 1) of the formulas that predict them
 * (cost/collective.h). */
#ifndef TSIM_STUDY_CALIBRATE_LINKS_H
#define TSIM_STUDY_CALIBRATE_LINKS_H

#include "study/judge/nccl_tests.h"

enum tsim_link_value {
    TSIM_LINK_RING,           /* scale_up.ring_bandwidth of the node, bytes/s */
    TSIM_LINK_REDUCE,         /* scale_up.reduce_bandwidth, bytes/s */
    TSIM_LINK_LATENCY,        /* scale_up.latency, s */
    TSIM_LINK_EFFICIENCY,     /* of the fabric, a fraction */
    TSIM_LINK_FABRIC_LATENCY, /* s */
    TSIM_N_LINK_VALUES
};

struct tsim_link_fitted {
    bool fitted; /* three rows at least change by over 1 % when it changes by a tenth (a latency: doubles) */
    double before, after, low_95, high_95;
};

struct tsim_link_row {
    struct tsim_nccl_row measured;
    const struct tsim_nccl_run *run;
    double before_s, after_s;
    bool is_left_out; /* far off all others: over five times the median error of a first fit, and over a fifth */
    enum tsim_algorithm algorithm; /* that the fitted values choose */
};

struct tsim_link_calibration {
    const struct tsim_node *node;
    const struct tsim_fabric *fabric; /* NULL: one node */
    struct tsim_link_row *rows;
    size_t n_rows, n_left_out;
    struct tsim_link_fitted values[TSIM_N_LINK_VALUES];
    double before_frac, after_frac; /* mean absolute relative errors of the rows that count */
};

/* "scale_up.ring_bandwidth", ...; and whether it is the node's or the fabric's. */
const char *tsim_link_value_name(enum tsim_link_value value);
bool tsim_link_value_is_node(enum tsim_link_value value);

/* `node` and `fabric` are ids or paths; NULL: by the runs' devices (a node of their kind; ib-ndr, ib-hdr). All runs are
 * of one machine. TSIM_ERR_REFERENCE; TSIM_ERR_INFEASIBLE: fewer rows than values to fit, more ranks on a node than it
 * has accelerators, no convergence. */
enum tsim_status tsim_calibrate_links(struct tsim_arena *arena, const char *node, const char *fabric,
                                      const struct tsim_nccl_run *runs, size_t n_runs,
                                      struct tsim_link_calibration *calibration, struct tsim_diags *diags);

#endif
