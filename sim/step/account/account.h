/* account.h - private to sim/step: the account of where the time of a stage group went, kept from what the engine's
 * observer reports. Nothing in the step depends on it. */
#pragma once

#include "step/groups/stage_group.h"

/* The work of a stage group is summed in whole numbers, ticks and counts, and priced once at the end. So a period that
 * is left out can be added any number of times, and the sums are those of the step that went through all of it. */
enum tsim_total {
    TSIM_TOTAL_BUBBLE, /* from here: ticks */
    TSIM_TOTAL_PIPELINE,
    TSIM_TOTAL_GATHER, /* from here three totals of exposed time */
    TSIM_TOTAL_REDUCE,
    TSIM_TOTAL_NORM,
    TSIM_TOTAL_OPTIMIZER,
    TSIM_TOTAL_INPUT,
    TSIM_TOTAL_COPIES, /* waits for copies between accelerators and hosts */
    /* If operators are played: waits for the host; from here, by axis, what collectives of passes expose. */
    TSIM_TOTAL_HOST,
    TSIM_TOTAL_EXPOSED,
    /* The time that passes take beyond that at their own rate. */
    TSIM_TOTAL_SLOWED = TSIM_TOTAL_EXPOSED + TSIM_AXIS_PIPELINE,
    TSIM_TOTAL_BESIDE_DATA, /* the time of passes beside which data-parallel collectives may run */
    TSIM_TOTAL_DATA_BUSY,
    TSIM_TOTAL_SEND_BUSY,
    TSIM_TOTAL_SENT, /* from here: counts; messages to the next stage, to the previous one */
    TSIM_TOTAL_TIED = TSIM_TOTAL_SENT + 2,
    TSIM_TOTAL_OPTIMIZERS,
    TSIM_TOTAL_REDUCTIONS, /* reductions that have ended on the data stream */
    TSIM_TOTAL_COLLECTIVES /* from here: data-parallel collectives by kind; then passes by kind */
};
void tsim_account_begin(struct tsim_arena *arena, struct tsim_stage_group *group);
/* Prices the sums: fills in group->account, except for what depends on the end of the step. */
void tsim_account_close(struct tsim_stage_group *group);

/* These account for a task of the stage group's compute stream, a collective of its data stream and a message that it
 * sent, once these have ended. */
void tsim_account_compute(struct tsim_stage_group *group, int64_t label, tsim_tick ready, tsim_tick begin,
                          tsim_tick end);
void tsim_account_data(struct tsim_stage_group *group, int64_t label);
void tsim_account_transfer(struct tsim_stage_group *group, int64_t label, tsim_tick begin, tsim_tick end);
