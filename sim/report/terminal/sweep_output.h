/* sweep_output.h - the points of a sweep as a table, as CSV and as JSON. Points are read from the database one after
 * another and written as they are read, so memory does not grow with their number. There are no clock times, numbers of
 * runs or speeds, so that equal sweeps give equal bytes. */
#pragma once

#include "report/terminal/table.h"
#include "study/search/filter.h"
#include "study/search/ranking.h"
#include "study/search/space.h"

struct tsim_sweep_output {
    const char *scenario;
    const struct tsim_space *space;
    const struct tsim_filter *filter; /* points for which it does not hold are left out; NULL: none is */
    struct tsim_ranking ranking;
    bool is_of_samples;               /* rates in the table are of samples, because the model has no tokens */
    struct tsim_point_reader *reader; /* it stands at its beginning, and is left at its end */
};

/* Prints a table. Its columns are the keys that change, the status of the point, the figures of interest and the
 * objective. Below it are the best points, and how many there are of each status. The rows are read twice, the first
 * time for the widths. */
enum tsim_status tsim_sweep_print(const struct tsim_sweep_output *output, const struct tsim_style *style, FILE *out,
                                  struct tsim_diags *diags);
/* Prints every figure in SI units, as CSV (RFC 4180). */
enum tsim_status tsim_sweep_print_csv(const struct tsim_sweep_output *output, FILE *out, struct tsim_diags *diags);
/* Writes {"points": [{"set", "status", "summary"}], "best": [...]}. */
enum tsim_status tsim_sweep_write_json(const struct tsim_sweep_output *output, FILE *out, struct tsim_diags *diags);
