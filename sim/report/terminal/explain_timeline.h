/* explain_timeline.h - private to report: what the stages of one replica did in the simulated step, task by task as the
 * engine told it, and the chain of tasks that the step consists of.
 *
 * A task began when the task before it on its stream had ended and all that it waited for was there. So at the tick at
 * which it began another one ended: the one that let it begin. From the step's last task back, these follow one another
 * without gaps, and their times add up to the step. */
#ifndef TSIM_REPORT_EXPLAIN_TIMELINE_H
#define TSIM_REPORT_EXPLAIN_TIMELINE_H

#include "partition/schedule.h"
#include "step/program.h"

struct tsim_slice { /* one pass */
    struct tsim_pass_item item;
    double begin_s, end_s, busy_s; /* busy: without waits between its segments */
};

struct tsim_stage_slices {
    struct tsim_slice *slices;
    int32_t n;
    double busy_s; /* of passes */
};

struct tsim_timeline {
    struct tsim_schedule_shape shape;
    struct tsim_stage_slices *stages;
    double end_s; /* of the last pass */
    struct tsim_timeline_tasks *tasks;
};

/* Makes `sink` keep what the stages of a replica do in a step of the scenario; the timeline is whole when the step has
 * been simulated. */
const struct tsim_timeline *tsim_timeline_listen(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                                 int32_t replica, struct tsim_step_sink *sink);

/* A link of the chain is tasks of one kind that follow each other. */
enum tsim_path_kind {
    TSIM_PATH_PASSES,
    TSIM_PATH_MESSAGE,   /* between two stages */
    TSIM_PATH_GATHER,    /* parameters, over the data-parallel group */
    TSIM_PATH_REDUCE,    /* gradients */
    TSIM_PATH_TIED,      /* the tied embedding's gradient */
    TSIM_PATH_NORM,      /* the gradient's norm */
    TSIM_PATH_INPUT,     /* a batch that is not there yet */
    TSIM_PATH_COPY,      /* between accelerators and hosts */
    TSIM_PATH_REPLICAS,  /* another replica is not there yet */
    TSIM_PATH_DATA_BUSY, /* all of the step: collectives one after the other, on which the next step waits */
    TSIM_PATH_OPTIMIZER,
    TSIM_N_PATH_KINDS
};

struct tsim_path_link {
    enum tsim_path_kind kind;
    int32_t stage, to_stage;           /* to_stage: of a message */
    int32_t counts[TSIM_N_PASS_KINDS]; /* of passes that end on it */
    bool sends;                        /* passes: with messages on the stage's own time */
    double begin_s, time_s;
};

struct tsim_path {
    struct tsim_path_link *links; /* in order of time */
    int32_t n;
    double
        *passes; /* [stage][chunk][kind]: how many of them are on the path; of one that is in part, the part of its time
                     */
};

/* The chain of a step that takes `time_s`. */
void tsim_timeline_path(struct tsim_arena *arena, const struct tsim_timeline *timeline, double time_s,
                        struct tsim_path *path);

#endif
