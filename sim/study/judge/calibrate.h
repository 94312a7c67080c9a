/* calibrate.h - an accelerator's efficiencies from measured kernels, by nonlinear least squares on relative errors
 * (predicted / measured time - 1) of the same formulas that predict them (cost/compute.h).
 *
 * The file is CSV with the columns accelerator,op,precision,batch,m,n,k,bytes,time_us; lines that start with # and
 * empty lines are passed over. One accelerator (an id of the catalogue) and one precision in a file. op is gemm (a
 * product of m x k and k x n, `batch` times; bytes is empty) or copy (`bytes` read and written; batch, m, n, k are
 * empty). */
#ifndef TSIM_STUDY_CALIBRATE_H
#define TSIM_STUDY_CALIBRATE_H

#include "base/arena.h"
#include "base/status.h"
#include "config/catalogue.h"

enum tsim_calibrated {
    TSIM_CALIBRATED_MATRIX_SUSTAINED, /* with a product */
    TSIM_CALIBRATED_MATRIX_RAMP,      /* with four products, not all of one depth */
    TSIM_CALIBRATED_MEMORY_SUSTAINED, /* with a copy */
    TSIM_CALIBRATED_KERNEL_LATENCY,   /* with three copies, not all of one size */
    TSIM_N_CALIBRATED
};

struct tsim_kernel_row {
    int line;
    bool is_copy;
    double batch, m, n, k;                /* a product: so many of m x k by k x n */
    double bytes;                         /* a copy: read and written together */
    double measured_s, before_s, after_s; /* predicted with the catalogue's values, and with those fitted */
};

struct tsim_calibration_value {
    bool fitted;            /* and a tenth less of it changes some row's time by a thousandth at least */
    double before, after;   /* fraction, elements of k, fraction, seconds */
    double low_95, high_95; /* NAN: as many rows as values */
};

struct tsim_calibration {
    const struct tsim_accelerator *accelerator; /* as in the catalogue */
    enum tsim_precision precision;
    struct tsim_kernel_row *rows;
    size_t n_rows;
    struct tsim_calibration_value values[TSIM_N_CALIBRATED];
    double before_frac, after_frac; /* mean absolute relative errors */
};

/* "matrix_sustained", "matrix_ramp_k", "memory_sustained", "kernel_latency". */
const char *tsim_calibrated_name(enum tsim_calibrated value);

/* Everything is allocated from `arena`. TSIM_ERR_IO, TSIM_ERR_SCHEMA (a line that is no row), TSIM_ERR_REFERENCE (no
 * such accelerator), TSIM_ERR_INFEASIBLE (fewer rows than values to fit, or no convergence). */
enum tsim_status tsim_calibrate_kernels(struct tsim_arena *arena, const char *file,
                                        struct tsim_calibration *calibration, struct tsim_diags *diags);

#endif
