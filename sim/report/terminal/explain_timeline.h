/* explain_timeline.h - private to report: what the stages of one replica did in the simulated step, task by task as the
 * engine reported it, and the chain of tasks of which the step consists.
 *
 * A task began when the task before it on its stream had ended and everything for which it waited was there. So at the
 * tick at which it began another task ended: the one that let it begin. From the step's last task back, these follow
 * one another without gaps, and their times add up to the step. */
#pragma once

#include "partition/schedule.h"
#include "step/program.h"

/* A slice is one pass. */
struct tsim_slice {
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

/* Makes `sink` keep what the stages of a replica do in a step of the scenario. The timeline is complete when the step
 * has been simulated. */
const struct tsim_timeline *tsim_timeline_listen(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                                 int32_t replica, struct tsim_step_sink *sink);

/* A link of the chain is tasks of one kind that follow one another. */
enum tsim_path_kind {
    TSIM_PATH_PASSES,
    TSIM_PATH_MESSAGE,   /* between two stages */
    TSIM_PATH_GATHER,    /* gather of parameters over the data-parallel group */
    TSIM_PATH_REDUCE,    /* reduction of gradients */
    TSIM_PATH_TIED,      /* sum of the tied embedding's gradient */
    TSIM_PATH_NORM,      /* the gradient's norm */
    TSIM_PATH_INPUT,     /* a wait for a batch */
    TSIM_PATH_COPY,      /* a copy between accelerators and hosts */
    TSIM_PATH_REPLICAS,  /* a wait for another replica */
    TSIM_PATH_DATA_BUSY, /* all of the step is collectives one after another, for which the next step waits */
    TSIM_PATH_OPTIMIZER,
    TSIM_N_PATH_KINDS
};

struct tsim_path_link {
    enum tsim_path_kind kind;
    int32_t stage, to_stage;           /* to_stage: that of a message */
    int32_t counts[TSIM_N_PASS_KINDS]; /* passes that end on it, by kind */
    bool sends;                        /* passes: their messages take the stage's own time */
    double begin_s, time_s;
};

struct tsim_path {
    struct tsim_path_link *links; /* in the order of time */
    int32_t n;
    /* By stage, chunk and kind: the number of passes on the path; one that is partly on it counts with that part
         * of its time. */
    double *passes;
};

/* Finds the chain of a step that takes `time_s`. */
void tsim_timeline_path(struct tsim_arena *arena, const struct tsim_timeline *timeline, double time_s,
                        struct tsim_path *path);
