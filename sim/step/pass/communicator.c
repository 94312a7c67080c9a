#include "step/pass/communicator.h"

struct tsim_communicator tsim_communicator_add(struct tsim_engine *engine) {
    int32_t counters = tsim_engine_add_counters(engine, 2);
    return (struct tsim_communicator){.started = counters, .ended = counters + 1};
}

void tsim_communicator_meet(struct tsim_communicator *communicator, const struct tsim_played *played,
                            struct tsim_task *task) {
    if (played->kind == TSIM_PLAYED_START) {
        task->raised_counter = communicator->started;
        return;
    }
    communicator->n_awaited += played->count;
    task->awaited_counter = communicator->ended;
    task->awaited_value = communicator->n_awaited;
}

void tsim_communicator_listen(const struct tsim_communicator *communicator, struct tsim_task *task) {
    task->awaited_counter = communicator->started;
    task->awaited_value = communicator->n_begun + 1;
}

void tsim_communicator_order(struct tsim_communicator *communicator, const struct tsim_played *played,
                             struct tsim_task *task) {
    if (played->needs_start) {
        task->awaited_counter = communicator->started;
        task->awaited_value = ++communicator->n_begun;
    }
    task->raised_counter = communicator->ended;
}

void tsim_communicator_started(struct tsim_communicator *communicator, const struct tsim_played *start) {
    communicator->n_started += start->count;
}

void tsim_communicator_ended(struct tsim_communicator *communicator, tsim_tick end) {
    communicator->last_end = end;
    communicator->n_ended++;
}

enum tsim_axis tsim_communicators_beside(const struct tsim_communicator communicators[TSIM_AXIS_PIPELINE],
                                         tsim_tick begin) {
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++)
        if (tsim_communicator_is_under_way(&communicators[axis]) || communicators[axis].last_end > begin)
            return (enum tsim_axis)axis;
    return TSIM_N_AXES;
}
