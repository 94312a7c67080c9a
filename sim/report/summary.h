/* summary.h - what one run says, for people (one screen: at most 45 lines of 100 columns) and for programs (the object
 * of the contract's section 6, SI base units). Both read the same struct tsim_result and compute nothing beyond
 * shares of the step and sums over kinds. */
#ifndef TSIM_REPORT_SUMMARY_H
#define TSIM_REPORT_SUMMARY_H

#include "report/json.h"
#include "report/table.h"
#include "training/result.h"

/* Where the run was logged; run_id 0: nowhere. */
struct tsim_logged {
    int64_t run_id;
    const char *file;
};

void tsim_summary_print(FILE *out, const struct tsim_style *style, const struct tsim_result *result,
                        const struct tsim_logged *logged);

/* The caller releases the object. */
struct tsim_json *tsim_summary_json(const struct tsim_result *result, const struct tsim_logged *logged);

/* "ok" or "does_not_fit". A run that does not fit and was simulated all the same stays "does_not_fit". */
const char *tsim_summary_status(const struct tsim_result *result);

/* "compute", "memory", "data", "communication" or "bubble"; waiting for the host counts as compute, kernels that their
 * own latency binds as memory. */
const char *tsim_bottleneck_kind(const struct tsim_result *result);
/* Where the bottleneck lies in data, algorithm and machine (Machine Learning Systems, chapter on training): "data";
 * "algorithm": compute, and the bubble, which the order of the work makes; "machine": memory and communication. */
const char *tsim_bottleneck_axis(const struct tsim_result *result);

/* "compute", "memory", "communication", "host", "latency". */
const char *tsim_bound_name(enum tsim_bound bound);

/* Our own bug (TSIM_BUG) unless the terms of the step add up to its time, and the kinds of memory to the peak, within
 * 1e-6: called by both forms and by the store. */
void tsim_summary_check(const struct tsim_result *result);

#endif
