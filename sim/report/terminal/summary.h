/* summary.h - the summary of one run, for people (one screen: at most 45 lines of 100 columns) and for programs (a JSON
 * object in SI base units). Both read the same struct tsim_prediction and compute nothing beyond shares of the step and
 * sums over kinds. */
#pragma once

#include "report/terminal/table.h"
#include "results/json.h"
#include "results/prediction.h"

/* The place where the run was logged. run_id is 0 if it was not. */
struct tsim_logged {
    int64_t run_id;
    const char *file;
};

void tsim_summary_print(FILE *out, const struct tsim_style *style, const struct tsim_prediction *prediction,
                        const struct tsim_logged *logged);

/* Returns the summary as an object, which the caller releases. */
struct tsim_json *tsim_summary_json(const struct tsim_prediction *prediction, const struct tsim_logged *logged);
