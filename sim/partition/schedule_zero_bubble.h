/* schedule_zero_bubble.h - schedules that split the backward pass in two: the input gradient (I), for which the
 * previous stage waits, and the weight gradient (W), which fills time that would be idle. F is a forward pass, B a
 * whole backward pass, and the digit is the chunk. There are p stages and m micro-batches; s is the stage. Every line
 * is in the order of execution:
 *
 *   zb-h1 (Qi et al. 2023, arXiv:2401.10241, figure 2): 1f1b with weight gradients delayed by s micro-batches, so that
 *       every stage holds p micro-batches. w = p-1-s: F x w, FI x s, FIW x (m-w-s), IW x w, W x s
 *   zb-h2 (figure 3): 2(p-s)-1 = w forwards before the first backward; at the end weight gradients wait until the input
 *       gradients are through, which makes a parallelogram of the trapezoid; x = 2s:
 *       F x w, IWF x (m-w-x), IF x x, IW x w, W x x
 *   zb-v (section 6 and figure 6; the order is the authors' hand-made one, sail-sg/zero-bubble-pipeline-parallelism,
 *       handcrafted_zb_v, and torch's ScheduleZBVZeroBubble). m >= 2p-1.
 *       F0 x (2(p-s)-1), F1F0 x s, F1I1W1 x (p-s), F0I0W0F1I1W1 x (m-2p+1+s), I0W0F1I1W1 x (p-1-s), I0I1 x s,
 *       I0W0 x (p-s), W1 x s, W0 x s
 *   dualpipe (DeepSeek-V3 report, section 3.2.1 and figure 5; the order is deepseek-ai/DualPipe, dualpipe.py, steps 1
 *       to 8). p even, m even, m >= 2p. With h = min(s, p-1-s), b = p/2-1-h, for the first half of the stages:
 *       F0 x 2b, F0F1 x (h+1), I1W1F1 x b, F0&B1 F1&B0 x (m/2-p+h+1), B1 F1&B0 x b, B1B0 x (h+1)/2, then I instead of B,
 *       WI0 x b, W x (h+1); & marks a pair that runs as one (the two middle stages do not pair their first). The second
 *       half runs the same with the chunks exchanged.
 *
 * A program is a few phases, each a pattern of passes that repeats. The n-th pass of a kind in a chunk is micro-batch
 * n. */
#pragma once

#include "partition/schedule.h"

enum { TSIM_PHASE_MAX_STEPS = 6, TSIM_MAX_PHASES = 20 };

struct tsim_schedule_step {
    enum tsim_pass_kind kind;
    enum tsim_pass_pair pair;
    int32_t chunk;
};
struct tsim_schedule_phase {
    int32_t repeats, n_steps;
    struct tsim_schedule_step steps[TSIM_PHASE_MAX_STEPS];
};
struct tsim_schedule_program {
    int32_t n_phases;
    struct tsim_schedule_phase phases[TSIM_MAX_PHASES];
};

void tsim_schedule_program_build(const struct tsim_schedule_shape *shape, int32_t stage,
                                 struct tsim_schedule_program *program);
int32_t tsim_schedule_program_n_items(const struct tsim_schedule_program *program);
/* The number of items before the first gradient, and before what follows the last forward pass. */
struct tsim_schedule_turns {
    int32_t first_gradient, forward_end;
};
struct tsim_schedule_turns tsim_schedule_program_turns(const struct tsim_schedule_program *program);
struct tsim_pass_item tsim_schedule_program_item(const struct tsim_schedule_program *program, int32_t index);
void tsim_schedule_program_fill(const struct tsim_schedule_program *program, struct tsim_pass_item *items);

/* The passes through each chunk that are held before their input gradient, and from it to their weight gradient. */
struct tsim_schedule_held {
    int32_t whole[2], kept[2];
};

/* Returns the most that is held at once when a forward pass of chunk c adds whole[c], of which kept[c] stays between
 * input and weight gradient. It takes O(phases). `at_peak`, which may be NULL, receives the passes that are then
 * held. */
double tsim_schedule_program_peak(const struct tsim_schedule_program *program, const double whole[2],
                                  const double kept[2], struct tsim_schedule_held *at_peak);
