/* explain_timeline.h - when each pass of each pipeline stage runs: the schedule's items replayed with the costs that
 * the simulation uses, and the chain of passes and messages that decides when the last one ends.
 *
 * A pass begins when the one before it on its stage has ended and its message has arrived; a message leaves at the end
 * of its pass (of the second of a pair), after those before it in the same direction, on the stage's own time when
 * point to point is not overlapped. Traffic of the data-parallel group and links that messages share are not replayed:
 * the simulated step is longer by what they cost, and never shorter. */
#ifndef TSIM_REPORT_EXPLAIN_TIMELINE_H
#define TSIM_REPORT_EXPLAIN_TIMELINE_H

#include "partition/schedule.h"

struct tsim_slice { /* one pass */
    struct tsim_pass_item item;
    double begin_s, end_s;
    double send_s; /* of its messages on the stage's own time, after it */
    /* The pass whose message it waited for last; stage -1: it waited for nothing but its own stage. */
    int32_t cause_stage, cause_index;
};

struct tsim_stage_slices {
    struct tsim_slice *slices;
    int32_t n;
    double busy_s; /* of passes */
};

struct tsim_timeline {
    struct tsim_schedule_shape shape;
    struct tsim_stage_slices *stages;
    double end_s; /* of the last pass or message */
};

const struct tsim_timeline *tsim_timeline_build(struct tsim_arena *arena, const struct tsim_scenario *scenario);

/* A link of the chain: passes of one stage that follow each other, or the wait for a message between two stages. */
struct tsim_path_link {
    bool is_message;
    int32_t stage, to_stage;           /* to_stage: of a message */
    int32_t counts[TSIM_N_PASS_KINDS]; /* of passes */
    double begin_s, time_s, send_s;    /* send_s: part of time_s, messages on the stage's own time */
};

struct tsim_path {
    struct tsim_path_link *links; /* in order of time, without gaps */
    int32_t n, last_stage;
    double time_s;
    double *passes; /* [stage][chunk][kind]: how many of them are on the path */
};

/* The chain that ends with the last pass of `last_stage`, -1: of the stage that ends last (of equals the first); it
 * begins at `from_s`. */
void tsim_timeline_path(struct tsim_arena *arena, const struct tsim_timeline *timeline, int32_t last_stage,
                        double from_s, struct tsim_path *path);

#endif
