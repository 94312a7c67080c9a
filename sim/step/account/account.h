/* account.h - private to sim/step: where the time of a stage group went, as the engine's observer tells it. Nothing in
 * the step depends on it. */
#ifndef TSIM_STEP_ACCOUNT_H
#define TSIM_STEP_ACCOUNT_H

#include "step/groups/stage_group.h"

/* The work of a stage group is added up in whole numbers, ticks and counts, and priced once at the end: so a period
 * that is left out can be added any number of times, and the sums are those of the step that went through all of it. */
enum tsim_total {
    TSIM_TOTAL_BUBBLE, /* ticks */
    TSIM_TOTAL_PIPELINE,
    TSIM_TOTAL_GATHER, /* exposed, as the next two */
    TSIM_TOTAL_REDUCE,
    TSIM_TOTAL_NORM,
    TSIM_TOTAL_OPTIMIZER,
    TSIM_TOTAL_INPUT,
    TSIM_TOTAL_COPIES, /* waits for copies between accelerators and hosts */
    TSIM_TOTAL_HOST,   /* where operators are played: waits for the host; what collectives of passes expose, by axis */
    TSIM_TOTAL_EXPOSED,
    TSIM_TOTAL_SLOWED = TSIM_TOTAL_EXPOSED + TSIM_AXIS_PIPELINE, /* what passes take longer than at their own rate */
    TSIM_TOTAL_BESIDE_DATA, /* passes that collectives of the data-parallel group may run beside */
    TSIM_TOTAL_DATA_BUSY,
    TSIM_TOTAL_SEND_BUSY,
    TSIM_TOTAL_SENT, /* counts: to the next, to the previous stage */
    TSIM_TOTAL_TIED = TSIM_TOTAL_SENT + 2,
    TSIM_TOTAL_OPTIMIZERS,
    TSIM_TOTAL_REDUCTIONS, /* that are over, on the data stream */
    TSIM_TOTAL_COLLECTIVES /* from here on collectives of the data-parallel group by kind; then passes by kind */
};
void tsim_account_begin(struct tsim_arena *arena, struct tsim_stage_group *group);
/* Prices what was added up: fills group->account but for what depends on the end of the step. */
void tsim_account_close(struct tsim_stage_group *group);

/* Account for a task of the stage group's compute stream, a collective of its data stream and a message that it sent,
 * when these have ended. */
void tsim_account_compute(struct tsim_stage_group *group, int64_t label, tsim_tick ready, tsim_tick begin,
                          tsim_tick end);
void tsim_account_data(struct tsim_stage_group *group, int64_t label);
void tsim_account_transfer(struct tsim_stage_group *group, int64_t label, tsim_tick begin, tsim_tick end);

#endif
