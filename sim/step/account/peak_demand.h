/* peak_demand.h - private to sim/step: which resources of a stage group can be asked for more than they have.
 *
 * A stream runs one task at a time, at no more than its full speed. So at any moment no more is asked of a resource
 * than the sum, over the streams that use it, of what the most demanding task of each asks. Where that is less than the
 * capacity the resource holds nobody up, and need not take part in the sharing: what flows through it is only counted
 * (a meter of the engine). Such are the links of passes without neighbours' messages, and the device of a stage whose
 * gradients nobody reduces. */
#ifndef TSIM_STEP_PEAK_DEMAND_H
#define TSIM_STEP_PEAK_DEMAND_H

#include "step/groups/stage_group.h"

/* More than sums round by. */
#define TSIM_NEVER_BINDS_FRAC 1e-9
/* Pieces of all that there is add up to no more than this above it: less than shows in a tick. */
#define TSIM_SUMS_FRAC 1e-12

/* Units a second, of one member: 1 of the compute units and of HBM, bytes of the links; and of how many streams that is
 * the sum. */
struct tsim_peak_demand {
    double units_per_s;
    int n_streams;
};
struct tsim_stage_group_peaks {
    struct tsim_peak_demand units, memory, scale_up_out, scale_up_in, nic_out, nic_in;
};

/* One stream alone may ask for all that there is, but for the rounding of bytes / (bytes / rate). */
static inline bool tsim_never_binds(double capacity_per_s, struct tsim_peak_demand most) {
    return most.units_per_s <= capacity_per_s * (most.n_streams > 1 ? 1 - TSIM_NEVER_BINDS_FRAC : 1 + TSIM_SUMS_FRAC);
}

/* Finds them where one rank of each stage stands for all (TSIM_FOLD_STAGES). */
void tsim_stage_group_peaks_find(const struct tsim_step_plan *plan, int32_t stage, struct tsim_stage_group_peaks *most);

/* Finds, once all groups have their members and the links that these cross, for each group and axis whether all links
 * of its passes' collectives have room for all traffic that may come at one time, with or without its own data stream.
 * Links are those of the topology here, which many stage groups may cross. */
void tsim_spare_links_find(struct tsim_stage_group *stage_groups, int32_t n_stage_groups);
/* Adds, after the step, what was counted without the links to the links. */
void tsim_spare_links_book(const struct tsim_stage_group *stage_groups, int32_t n_stage_groups);
/* Finds the same with TSIM_FOLD_STAGES, where links have room if they are meters. */
void tsim_spare_meters_find(struct tsim_stage_group *group);

#endif
