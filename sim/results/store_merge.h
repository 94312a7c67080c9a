/* store_merge.h - merges several databases: the sweeps and points of each go into one. Rows that are there already
 * stay, or are overwritten by equal ones, so that merging twice changes nothing. Runs of `tsim run` are not merged. */
#pragma once

#include "results/store.h"

struct tsim_merged {
    int64_t n_sweeps, n_points; /* in the merged database */
    int64_t n_expected;         /* points that its sweeps have in total */
};

/* Merges `files` into `out`. All files are read before `out` is written. Returns TSIM_ERR_INFEASIBLE if two of them (or
 * `out`) come from different versions of the simulator, whose figures must not stand side by side. A file that is `out`
 * itself is skipped. A file without any tables, whose sweep was killed before it began, gives a warning. */
enum tsim_status tsim_store_merge(struct tsim_arena *arena, const char *out, const char *const *files, size_t n_files,
                                  struct tsim_merged *merged, struct tsim_diags *diags);
