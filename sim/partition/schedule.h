/* schedule.h - the order in which one pipeline stage runs its forward and backward passes.
 *
 * There are p stages, m micro-batches, and v model chunks per stage.
 *   sequential   one micro-batch after the other, forward through all stages, then backward (naive model parallelism)
 *   gpipe        all forwards, then all backwards (Huang et al. 2019)
 *   1f1b         warm-up of p-1-stage forwards, then one forward, one backward (Narayanan et al. 2019, PipeDream-flush)
 *   pipedream    a 1f1b that is never flushed: micro-batches of the next step follow those of this one. In a step a
 *                stage runs m micro-batches backward and, after each of them, the one that is p-stage later forward. It
 *                updates its weights after each micro-batch, and keeps the p-stage versions with which those in flight
 *                began (weight stashing; Narayanan et al. 2019, PipeDream, SOSP).
 *   pipedream-2bw  the same with an update for each batch of m >= p micro-batches, and two versions (Narayanan et al.
 *                  2021, arXiv:2006.09503)
 *   interleaved  v chunks per stage, groups of g = p micro-batches; warm-up 2(p-1-stage) + (v-1)g (Narayanan et al.
 *                2021, section 2.2; the order is Megatron-LM's forward_backward_pipelining_with_interleaving). Groups
 *                may be larger if the software says so (Megatron-Core's microbatch_group_size_per_vp_stage).
 *   zb-h1, zb-h2, zb-v, dualpipe  the backward pass is split in two: schedule_zero_bubble.h
 *
 * Sequential, gpipe, 1f1b and interleaved may have several runs in a step, each of which fills and drains the pipeline:
 * a call of PyTorch's schedules takes one batch (torch/distributed/pipelining/schedules.py, step), and a step that
 * accumulates gradients over several batches makes as many calls. A stage begins a run when it has ended the last.
 *
 * Model parts lie on the stages in one of three ways. In a ring, chunk c of a stage is part c p + stage; all schedules
 * but the last two do so. In a V (zb-v), chunk 0 of stage i is part i, and chunk 1 is part 2p-1-i. In both directions
 * (dualpipe), p parts lie on two stages each: chunk 0 of stage i is part i, chunk 1 is part p-1-i, and each direction
 * takes half of the micro-batches. */
#pragma once

#include "config/scenario.h"

struct tsim_schedule_shape {
    enum tsim_schedule schedule;
    int32_t stages, chunks, microbatches; /* microbatches: those of the replica, with both directions of dualpipe */
    int32_t group; /* interleaved: micro-batches that pass through a chunk before the next; 0: p */
    /* Exchanges of experts run under the kernels of another micro-batch's pass, if there is one (is_alone). */
    bool hides_exchanges;
    int32_t run; /* micro-batches of each run, which divide all; 0: there is one */
};

enum tsim_pass_kind {
    TSIM_PASS_FORWARD,
    TSIM_PASS_BACKWARD,       /* the whole pass: gradients of inputs and of weights */
    TSIM_PASS_INPUT_GRADIENT, /* the part for which the previous stage waits */
    TSIM_PASS_WEIGHT_GRADIENT /* the other part, at any later time */
};
enum {
    TSIM_N_PASS_KINDS = TSIM_PASS_WEIGHT_GRADIENT + 1,
    TSIM_N_PASS_WAYS = 2 * TSIM_N_PASS_KINDS,
    TSIM_N_LAYER_WAYS = TSIM_N_PASS_WAYS + 4 /* the last four are those of tsim_kept_way */
};

/* DualPipe runs a forward and a backward pass as one: it waits for both inputs first, and both results leave at the
 * end. */
enum tsim_pass_pair { TSIM_PAIR_NONE, TSIM_PAIR_FIRST, TSIM_PAIR_SECOND };

struct tsim_pass_item {
    enum tsim_pass_kind kind;
    enum tsim_pass_pair pair;
    int32_t microbatch, chunk; /* chunk 0 is the stage's first model part; micro-batches count per chunk */
    /* If the shape hides exchanges, this says that no pass of the other direction runs that could hide them. That is so
     * for the forward passes before a stage's first backward pass and for the backward passes behind its last forward
     * pass (Megatron-Core, pipeline_parallel/combined_1f1b.py: "executed alone, no a2a overlapping"). It is so for all
     * passes if the directions do not take turns (gpipe) or each micro-batch goes through alone (sequential), and in
     * dualpipe for passes that are in no pair. */
    bool is_alone;
};

/* Passes of a kind run in two ways, alone or not. This numbers the ways of all kinds; that of a pass that is not alone
 * is its kind. */
static inline int tsim_pass_way(enum tsim_pass_kind kind, bool is_alone) {
    return (int)kind + (is_alone ? TSIM_N_PASS_KINDS : 0);
}
static inline enum tsim_pass_kind tsim_kind_of_way(int way) {
    return (enum tsim_pass_kind)(way < TSIM_N_PASS_WAYS ? way % TSIM_N_PASS_KINDS : TSIM_PASS_BACKWARD + way % 2);
}
static inline bool tsim_way_is_alone(int way) {
    return way < TSIM_N_PASS_WAYS ? way >= TSIM_N_PASS_KINDS : way >= TSIM_N_PASS_WAYS + 2;
}
/* A backward pass goes another way through layers that have kept all that it needs, while others are executed again
 * (recompute: {layers: N}). Returns that way; a forward pass and a weight gradient go one way through both. */
static inline int tsim_kept_way(int way) {
    enum tsim_pass_kind kind = tsim_kind_of_way(way);
    return kind == TSIM_PASS_BACKWARD || kind == TSIM_PASS_INPUT_GRADIENT
               ? TSIM_N_PASS_WAYS + 2 * tsim_way_is_alone(way) + (kind == TSIM_PASS_INPUT_GRADIENT)
               : way;
}
static inline bool tsim_way_keeps(int way) {
    return way >= TSIM_N_PASS_WAYS;
}
static inline int tsim_item_way(struct tsim_pass_item item) {
    return tsim_pass_way(item.kind, item.is_alone);
}

int32_t tsim_schedule_n_items(const struct tsim_schedule_shape *shape, int32_t stage);
/* Returns item `index` (from 0) of stage `stage`, in O(1). */
struct tsim_pass_item tsim_schedule_item(const struct tsim_schedule_shape *shape, int32_t stage, int32_t index);
/* Writes all n_items of the stage in their order. */
void tsim_schedule_fill(const struct tsim_schedule_shape *shape, int32_t stage, struct tsim_pass_item *items);

/* A stretch in which the schedule is known to repeat itself, with forward and backward passes in turn. From item `from`
 * to before `to`, item i + step is item i of a later micro-batch, which is so many slots (below) further. step 0: no
 * stretch is known. */
struct tsim_schedule_stretch {
    int32_t from, to, step, slots;
};
struct tsim_schedule_stretch tsim_schedule_regular(const struct tsim_schedule_shape *shape, int32_t stage);

/* Returns the most activations of a (micro-batch, chunk) that the stage holds at once, from the forward pass to the
 * last gradient. */
int32_t tsim_schedule_peak_in_flight(const struct tsim_schedule_shape *shape, int32_t stage);

/* For interleaved schedules: returns the most that the stage holds at once if a pass through chunk c holds held[c] from
 * forward to backward. It adds to counts[c] the passes through chunk c that are then held; counts may be NULL. */
double tsim_schedule_peak(const struct tsim_schedule_shape *shape, int32_t stage, const double *held, int32_t *counts);

bool tsim_schedule_splits_backward(enum tsim_schedule schedule);
/* Returns the chunks of a stage in a scenario that asks for `virtual_pipeline` of them; 2 if the schedule itself fixes
 * them. */
int32_t tsim_schedule_chunks(enum tsim_schedule schedule, int64_t virtual_pipeline);
/* These return the number of model parts (p v, but p in dualpipe), the part that a chunk is, and the micro-batches that
 * pass through a chunk. */
int32_t tsim_schedule_n_parts(const struct tsim_schedule_shape *shape);
int32_t tsim_schedule_part(const struct tsim_schedule_shape *shape, int32_t stage, int32_t chunk);
int32_t tsim_schedule_chunk_microbatches(const struct tsim_schedule_shape *shape);

/* Returns the number of the pass among those of its direction, from 0 to before chunks x micro-batches: in interleaved
 * in the order in which every stage runs them, else chunk by chunk. */
int32_t tsim_schedule_slot(const struct tsim_schedule_shape *shape, struct tsim_pass_item item);

/* The place to which the result of a pass goes: activations to the next part, gradients to the previous one. */
struct tsim_schedule_hop {
    bool sends;    /* false: the pipeline ends, the next part is on the same stage, or nothing leaves */
    bool to_next;  /* true: to stage + 1 (mod p); false: to stage - 1 */
    int32_t chunk; /* on the receiving stage */
};
struct tsim_schedule_hop tsim_schedule_hop(const struct tsim_schedule_shape *shape, int32_t stage,
                                           struct tsim_pass_item item);
/* These say whether it is a pass of the step before, and whether its message is for the step after. Asynchronous
 * schedules have one such message between two stages, from the first forward pass that the later stage runs in a
 * step. */
bool tsim_schedule_crosses_steps(const struct tsim_schedule_shape *shape, int32_t from_stage,
                                 struct tsim_pass_item item);
/* Returns the number of versions of its weights that a stage holds. */
int32_t tsim_schedule_versions(const struct tsim_schedule_shape *shape, int32_t stage);
/* Returns whether the pass waits for a message from another stage. */
bool tsim_schedule_receives(const struct tsim_schedule_shape *shape, int32_t stage, struct tsim_pass_item item);

/* The time in seconds that a stage takes for one micro-batch, all its chunks of one direction together. */
struct tsim_stage_times {
    double forward_s, input_s, weight_s;
};
/* Returns the published idle time of a step with p equal stages, m micro-batches and free communication. f, b and w are the
 * times of a stage's forward pass, input gradient and weight gradient:
 *
 *   sequential               (p-1) m (f+b+w)
 *   gpipe, 1f1b              (p-1)(f+b+w)
 *   interleaved              (p-1)(f+b+w) / v
 *   pipedream, -2bw          0
 *   zb-h1                    (p-1)(f+b-w)     from a stage's first pass to its last (Qi et al. 2023, section 2.3)
 *   zb-h2                    (p-1)(f+b-2w)    likewise
 *   zb-v                     0 if f = b = w   (section 6)
 *   dualpipe                 (p/2-1)(F&B + B - 3w), F&B = f+b+w, B = b+w   (DeepSeek-V3 report, table 2); exact if f = b */
double tsim_schedule_bubble_s(const struct tsim_schedule_shape *shape, struct tsim_stage_times times);
