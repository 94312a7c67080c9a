/* part_counts.h - how often the parts of the model run on a stage. */
#pragma once

#include "model/operators.h"
#include "partition/schedule.h"

/* The number of times that the parts run in the passes of one direction. */
struct tsim_part_counts {
    double times[TSIM_N_LAYER_WAYS][TSIM_N_PARTS];
};
void tsim_part_counts_add(struct tsim_part_counts *counts, const struct tsim_scenario *scenario, int32_t stage,
                          int32_t chunk, int way, double passes);
/* Counts those of a step. */
struct tsim_part_counts tsim_stage_part_counts(const struct tsim_scenario *scenario, int32_t stage);
