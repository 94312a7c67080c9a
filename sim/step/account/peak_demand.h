/* peak_demand.h - private to sim/step: the resources of a stage group of which more can be asked than they have.
 *
 * A stream runs one task at a time, at its full speed at most. So at any moment no more is asked of a resource than the
 * sum, over the streams that use it, of what the most demanding task of each stream asks. If that is less than the
 * capacity, the resource holds nobody up and need not take part in the sharing: what flows through it is only counted
 * (a meter of the engine). Examples are the links of passes without neighbours' messages, and the device of a stage
 * whose gradients nobody reduces. */
#pragma once

#include "step/groups/stage_group.h"

/* The margin is above the rounding of sums. */
#define TSIM_NEVER_BINDS_FRAC 1e-9
/* Parts that together are all of a capacity add up to it within this fraction, which is less than shows in a tick. */
#define TSIM_SUMS_FRAC 1e-12

/* The peak demand of one member in units a second (the compute units and HBM have 1, links have bytes), and the number
 * of streams whose demands it sums. */
struct tsim_peak_demand {
    double units_per_s;
    int n_streams;
};
struct tsim_stage_group_peaks {
    struct tsim_peak_demand units, memory, scale_up_out, scale_up_in, nic_out, nic_in;
};

/* Returns whether the demand can never exceed the capacity. A single stream may ask for all of it, within the rounding
 * of bytes / (bytes / rate). */
static inline bool tsim_never_binds(double capacity_per_s, struct tsim_peak_demand most) {
    return most.units_per_s <= capacity_per_s * (most.n_streams > 1 ? 1 - TSIM_NEVER_BINDS_FRAC : 1 + TSIM_SUMS_FRAC);
}

/* Finds the peak demands if one rank of each stage stands for all (TSIM_FOLD_STAGES). */
void tsim_stage_group_peaks_find(const struct tsim_step_plan *plan, int32_t stage, struct tsim_stage_group_peaks *most);

/* Finds, once all groups have their members and the links that these cross, whether all links of a group's collectives
 * along an axis of its passes have room for all traffic that may come at one time, with or without the group's own data
 * stream. The links here are those of the topology, which many stage groups may cross. */
void tsim_spare_links_find(struct tsim_stage_group *stage_groups, int32_t n_stage_groups);
/* Adds, after the step, the traffic that was counted without the links to the links. */
void tsim_spare_links_book(const struct tsim_stage_group *stage_groups, int32_t n_stage_groups);
/* Finds the same with TSIM_FOLD_STAGES, in which links that are meters have room. */
void tsim_spare_meters_find(struct tsim_stage_group *group);
