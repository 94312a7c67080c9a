/* kernel_rows.h - measured kernels of one accelerator, read from CSV.
 *
 * The file has the columns accelerator,op,precision,batch,m,n,k,bytes,time_us, then any of direction,sum,kernel,causal,
 * repeats,clock_mhz,power_w. Lines that start with # and empty lines are passed over. One accelerator (an id of the
 * catalogue), one precision and one attention kernel in a file. A cell that means nothing for a kernel is empty.
 *
 *   op          gemm         `batch` products of m x k by k x n grouped      the same of `batch` experts, each with
 *               weights of its own, launched side by side attention    `batch` heads of all sequences, m queries of n
 *               keys each, k elements of a head (the mean of
 *                            its keys' and values')
 *               copy, elementwise    `bytes` read and written
 *   direction   forward (also where it is empty), input_gradient, weight_gradient: which product of a linear layer;
 *               of attention forward or backward
 *   sum         precision of the sum that a product adds its result to; empty: it writes its result
 *   kernel      of attention: flash1, flash2, flash3, cudnn
 *   causal      of attention: yes or no
 *   repeats     how often it ran, one after another: repeats x time_us is how long the chip was under load
 *   clock_mhz, power_w    means while it ran
 *
 * Or it has shares of a peak (kernel_shares.h). */
#pragma once

#include "model/operators.h"

struct tsim_kernel_row {
    int line;
    const char *text; /* "gemm 1 x 4096 x 8192 x 5120, weight gradient, + fp32" */
    const char *kind; /* the same without the size */
    struct tsim_op op;
    double load_s;            /* time under load; 0: not given */
    double clock_hz, power_w; /* 0: not given */
    double measured_s;
};

struct tsim_kernel_rows {
    struct tsim_kernel_row *items;
    size_t n;
    const struct tsim_accelerator *accelerator; /* with the catalogue's values */
    enum tsim_precision precision;
    enum tsim_attention_kernel kernel;
    enum tsim_flash flash; /* the attention rate that the file's kernel has */
};

/* Reads the file. `accelerator` (an id, or NULL) is that of a file of shares, which names none; without it the peak and
 * the names in the file tell. Everything is allocated from `arena`. Returns TSIM_ERR_IO, TSIM_ERR_SCHEMA (a line that
 * is no row) or TSIM_ERR_REFERENCE (no such accelerator) on failure. */
enum tsim_status tsim_kernel_rows_read(struct tsim_arena *arena, const char *file, const char *accelerator,
                                       struct tsim_kernel_rows *rows, struct tsim_diags *diags);
