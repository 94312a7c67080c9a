/* summary.h - what one run says, for people (one screen: at most 45 lines of 100 columns) and for programs (the object
 * of the contract's section 6, SI base units). Both read the same struct tsim_prediction and compute nothing beyond
 * shares of the step and sums over kinds. */
#ifndef TSIM_REPORT_SUMMARY_H
#define TSIM_REPORT_SUMMARY_H

#include "report/terminal/table.h"
#include "results/json.h"
#include "results/prediction.h"

/* The place where the run was logged; run_id 0: nowhere. */
struct tsim_logged {
    int64_t run_id;
    const char *file;
};

void tsim_summary_print(FILE *out, const struct tsim_style *style, const struct tsim_prediction *prediction,
                        const struct tsim_logged *logged);

/* The caller releases the object. */
struct tsim_json *tsim_summary_json(const struct tsim_prediction *prediction, const struct tsim_logged *logged);

#endif
