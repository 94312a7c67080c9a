/* verdict.h - what a run's figures amount to, in one word: whether it fits, and what bounds it. Every command, page and
 * table uses these words, so they stand in one place. */
#pragma once

#include "run/result.h"

/* Returns "ok" or "does_not_fit"; the latter also for a run that does not fit and was simulated all the same. */
const char *tsim_result_status(const struct tsim_result *result);

/* Returns "compute", "memory", "data", "communication" or "bubble". Waiting for the host counts as compute, and kernels
 * that are bound by their latency count as memory. */
const char *tsim_bottleneck_kind(const struct tsim_result *result);
/* Returns where the bottleneck lies among data, algorithm and machine (Machine Learning Systems, chapter on training).
 * "data" is data; "algorithm" is compute, and the bubble, which the order of the work causes; "machine" is memory and
 * communication. */
const char *tsim_bottleneck_axis(const struct tsim_result *result);

/* Returns the rank that result->step describes: the one that waits least, the first of equals. */
const struct tsim_rank_row *tsim_critical_rank(const struct tsim_result *result);

/* Returns "compute", "memory", "communication", "host" or "latency". */
const char *tsim_bound_name(enum tsim_bound bound);

/* Ends the program (TSIM_BUG) unless the terms of the step add up to its time, and the kinds of memory to the peak,
 * within 1e-6. Every form of a summary calls it, and so does the store. */
void tsim_result_check(const struct tsim_result *result);

/* The ratio of measured to predicted peak memory above which a tenth of the measured ones lie
 * (hardware/calibration/memory.csv; tests/accuracy.sh asserts it). A run whose peak fits may not fit if it comes out
 * that much higher; one whose peak is a little too large may fit (TSIM_ONE_IN_TEN_PEAKS). */
#define TSIM_NINE_IN_TEN_PEAKS 1.09
static inline bool tsim_may_not_fit(double peak_bytes, double capacity_bytes) {
    return TSIM_ONE_IN_TEN_PEAKS * peak_bytes <= capacity_bytes && TSIM_NINE_IN_TEN_PEAKS * peak_bytes > capacity_bytes;
}
