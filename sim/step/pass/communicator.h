/* communicator.h - private to sim/step: what the compute stream and the stream of a communicator, whose collectives run
 * beside kernels, know of each other. The program of a pass (pass_program.h) says where the compute stream lets
 * collectives begin (START) and where it waits for them (WAIT). */
#pragma once

#include "step/pass/pass_program.h"

struct tsim_communicator {
    int32_t started, ended;     /* counters of the engine: STARTs, and collectives, that have ended */
    int64_t n_begun, n_awaited; /* collectives that needed a START; those for which the compute stream has waited */
    int64_t n_started, n_ended; /* collectives that may begin since a START; those that have ended */
    tsim_tick last_end;         /* when the last collective ended */
};

struct tsim_communicator tsim_communicator_add(struct tsim_engine *engine);
/* Makes `task`, which belongs to the compute stream, the START or WAIT. */
void tsim_communicator_meet(struct tsim_communicator *communicator, const struct tsim_played *played,
                            struct tsim_task *task);
/* Makes `task`, which belongs to the communicator's stream, wait for the next START. */
void tsim_communicator_listen(const struct tsim_communicator *communicator, struct tsim_task *task);
/* Makes the collective, which is a task of the communicator's stream, wait for its START and raise the counter when it
 * ends. */
void tsim_communicator_order(struct tsim_communicator *communicator, const struct tsim_played *played,
                             struct tsim_task *task);
/* These count a START of the compute stream, or a collective of the communicator's stream, that has ended. */
void tsim_communicator_started(struct tsim_communicator *communicator, const struct tsim_played *start);
void tsim_communicator_ended(struct tsim_communicator *communicator, tsim_tick end);

static inline bool tsim_communicator_is_under_way(const struct tsim_communicator *communicator) {
    return communicator->n_started > communicator->n_ended;
}
/* Returns the axis of a collective that ran beside the kernel which began at `begin` and has just ended; TSIM_N_AXES if
 * there was none. */
enum tsim_axis tsim_communicators_beside(const struct tsim_communicator communicators[TSIM_AXIS_PIPELINE],
                                         tsim_tick begin);
