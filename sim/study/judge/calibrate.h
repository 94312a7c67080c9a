/* calibrate.h - fits an accelerator's efficiencies to measured kernels (kernel_rows.h), by nonlinear least squares on
 * relative errors (predicted / measured time - 1) of the same formulas that predict them (cost/compute.h).
 *
 * A training step runs at the rate that a chip keeps up for minutes. A product alone runs faster at first: until the
 * power limit acts, after some tens of milliseconds, and then less and less as the chip gets warm. On a B200 the same
 * products reached 0.64 of the peak after 15 ms of load, 0.515 after 0.15 s, 0.50 after 0.3 to 2 s and 0.475 after 2.5
 * to 7 s (hardware/calibration/b200-node-kernels.csv). So if a file says how long the load lasted, products and
 * attention of less than 0.1 s are compared and not fitted, and the rate of the others is
 *
 *   rate(load) = rate * (10 s / load)^warming, at least `rate`
 *
 * with an exponent that is fitted, too; the rate that is written is the one after 10 s. Grouped products do not keep
 * the matrix units busy enough for that.
 *
 * Short grouped products wait for their launches, which take at least `grouped_launch` each. This is the host's time on
 * the machine that was measured. It is fitted so that it is not taken for the chip's, and is not written. */
#pragma once

#include "study/judge/kernel_rows.h"

enum tsim_calibrated {
    TSIM_CALIBRATED_MATRIX_SUSTAINED, /* fitted with a product */
    TSIM_CALIBRATED_MATRIX_RAMP,      /* with four products, not all of one depth */
    TSIM_CALIBRATED_ACCUMULATION,     /* with products that add to a sum, and others */
    TSIM_CALIBRATED_GROUPED,          /* with grouped products, and others */
    TSIM_CALIBRATED_ATTENTION,        /* with attention whose heads have at most 128 elements */
    TSIM_CALIBRATED_WIDE_HEADS,       /* with cuDNN's attention of wider heads, and others */
    TSIM_CALIBRATED_MEMORY_SUSTAINED, /* with a copy or an element-wise kernel */
    TSIM_CALIBRATED_KERNEL_LATENCY,   /* with three of these, not all of one size */
    TSIM_CALIBRATED_WARMING,          /* with products under load for times of which one is ten times another */
    TSIM_CALIBRATED_GROUPED_LAUNCH,   /* with grouped products */
    TSIM_N_CALIBRATED
};

struct tsim_calibrated_row {
    const struct tsim_kernel_row *measured;
    bool is_fitted;           /* false: the chip was cool */
    double before_s, after_s; /* predicted with the catalogue's values, and with those fitted */
};

struct tsim_calibration_value {
    bool fitted;            /* a tenth less of it changes some row's time by a thousandth at least */
    double before, after;   /* fractions, elements of k, seconds, or an exponent */
    double low_95, high_95; /* NAN: there are only as many rows as values */
};

/* A class has the rows of one kind; rows that were fitted and rows that were cool are apart. */
struct tsim_calibrated_class {
    const char *kind;
    bool is_fitted;
    size_t n;
    double before_frac, after_frac, bias_frac; /* mean absolute relative errors; mean error with the fitted values */
    double clock_hz, power_w;                  /* means over the rows that give them; NAN: none does */
};

struct tsim_calibration {
    struct tsim_kernel_rows measured;
    struct tsim_calibrated_row *rows; /* one for each measured row */
    struct tsim_calibrated_class *classes;
    size_t n_fitted, n_classes;
    struct tsim_calibration_value values[TSIM_N_CALIBRATED];
    double before_frac, after_frac; /* mean absolute relative errors of the rows that are fitted */
};

/* Returns the value's name in the accelerator's file: "matrix_sustained", "matrix_ramp_k", "accumulation_exposed",
 * "grouped_products", "attention", "wide_heads", "memory_sustained", "kernel_latency"; or "warming" and
 * "grouped_launch", which the file does not have. */
const char *tsim_calibrated_name(enum tsim_calibrated value);
bool tsim_calibrated_is_written(enum tsim_calibrated value);

/* Fits the file's kernels; `accelerator` is as in kernel_rows.h. Everything is allocated from `arena`. Returns
 * TSIM_ERR_IO, TSIM_ERR_SCHEMA (a line that is no row), TSIM_ERR_REFERENCE (no such accelerator) or TSIM_ERR_INFEASIBLE
 * (fewer rows than values to fit, or no convergence) on failure. */
enum tsim_status tsim_calibrate_kernels(struct tsim_arena *arena, const char *file, const char *accelerator,
                                        struct tsim_calibration *calibration, struct tsim_diags *diags);
