/* schedule.h - the order in which one pipeline stage runs its forward and backward passes, generated item by item.
 *
 * p stages, m micro-batches, v model chunks per stage (1 unless interleaved); a stage runs 2 m v passes.
 *   sequential   one micro-batch after the other, forward through all stages, then backward (naive model parallelism)
 *   gpipe        all forwards, then all backwards (Huang et al. 2019)
 *   1f1b         warm-up of p-1-stage forwards, then one forward, one backward (Narayanan et al. 2019, PipeDream-flush)
 *   interleaved  v chunks per stage, groups of p micro-batches; warm-up 2(p-1-stage) + (v-1)p (Narayanan et al. 2021,
 *                section 2.2; the order is Megatron-LM's forward_backward_pipelining_with_interleaving) */
#ifndef TSIM_WORKLOAD_SCHEDULE_H
#define TSIM_WORKLOAD_SCHEDULE_H

#include "config/scenario.h"

struct tsim_schedule_shape {
    enum tsim_schedule schedule;
    int32_t stages, chunks, microbatches;
};

struct tsim_pass_item {
    bool is_backward;
    int32_t microbatch, chunk; /* chunk 0 is the first model part of the stage */
};

int32_t tsim_schedule_n_items(const struct tsim_schedule_shape *shape); /* per stage */
/* Item `index` (0-based) of stage `stage`, in O(1). */
struct tsim_pass_item tsim_schedule_item(const struct tsim_schedule_shape *shape, int32_t stage, int32_t index);

/* Most (micro-batch, chunk) activations that the stage holds at once. */
int32_t tsim_schedule_peak_in_flight(const struct tsim_schedule_shape *shape, int32_t stage);

/* Published bubble over ideal time with equal stages and free communication: 1f1b and gpipe (p-1)/m, interleaved
 * (p-1)/(m v), sequential p-1. */
double tsim_schedule_bubble_ratio(const struct tsim_schedule_shape *shape);

#endif
