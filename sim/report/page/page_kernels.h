/* page_kernels.h - the operators of a micro-batch in the middle of a step, for the pictures that show kernels.
 *
 * The slowest stage is known only when the step is over, so the operators of each stage's first chunk are kept until
 * then. One `layer` stands for the others: the second that the pass goes through, or the only one, or all of a kind
 * that vary. */
#pragma once

#include "results/json.h"
#include "step/program.h"

struct tsim_page_kernels {
    struct tsim_arena *arena;
    int32_t n_stages, microbatch;
    struct tsim_page_stage *stages;
};

void tsim_page_kernels_begin(struct tsim_page_kernels *kernels, struct tsim_arena *arena,
                             const struct tsim_scenario *scenario);
bool tsim_page_kernels_want(const struct tsim_page_kernels *kernels, int32_t stage_group);
bool tsim_page_kernels_want_item(const struct tsim_page_kernels *kernels, const struct tsim_pass_item *item);
void tsim_page_kernels_take(struct tsim_page_kernels *kernels, const struct tsim_step_task *task);
/* Adds "kernels" to the run: {"stage", "microbatch", "layer", "begin_s", "end_s", "operators": [{"operator", "phase",
 * "pass", "stream", "bound", "in_layer", "begin_s", "end_s", "flops", "hbm_bytes", "sent_bytes"}]}, in the order in
 * which they ended. The times beside "operators" are those of the first of these passes. `of_layer_alone` leaves out the
 * operators of all other layers. It adds nothing if no operators were told. */
void tsim_page_kernels_json(const struct tsim_page_kernels *kernels, int32_t stage, bool of_layer_alone,
                            struct tsim_json *run);
void tsim_page_kernels_release(struct tsim_page_kernels *kernels);
