/* host_stream.h - private to sim/step: the host's thread that launches what the compute stream plays, one entry after
 * another. It waits for nothing but room in the queue of launches and the beginning of a pass, so when it has launched
 * what is known without tasks of its own; kernels wait for it.
 *
 * An entry begins when the compute stream d is free for it and the host h has launched it: each such step takes maxima of
 * d and h, and adds times to them. So a part of the model, played once from either of them alone, is a matrix of four
 * times, and a pass is the product of its parts' (Baccelli, Cohen, Olsder and Quadrat 1992, Synchronization and
 * Linearity, section 1.2: max-plus algebra). */
#ifndef TSIM_STEP_HOST_STREAM_H
#define TSIM_STEP_HOST_STREAM_H

#include "step/pass/pass_program.h"

/* That the host takes for a launch, and the most that it is ahead of the accelerator, in its own time; 0, 0: it never is
 * in the way. */
struct tsim_pass_launches {
    double each_s, most_ahead_s;
};

struct tsim_host_stream {
    bool is_there;     /* else it never is in the way */
    bool meets;        /* it begins the next pass with the accelerator */
    bool is_launched;  /* the entry at which the compute stream stands */
    tsim_tick free_at; /* it has launched what came so far */
    tsim_tick begin;   /* it began to launch the last of that */
    tsim_tick ahead;   /* the most that it is ahead of the accelerator */
};

/* The compute stream is free for the entry from `free` on: returns when the entry begins, which is when it has been
 * launched, or later where its kernels wait for one another's launches. */
tsim_tick tsim_host_launch(const struct tsim_engine *engine, struct tsim_host_stream *host,
                           const struct tsim_played *played, tsim_tick free);
/* The same of one that the host has not launched before, by what its launches take: until the first of its kernels is
 * launched, and then until the last is; and what all kernels but the last take. */
struct tsim_launch {
    tsim_tick first, later, before_last;
};
tsim_tick tsim_host_follow(struct tsim_host_stream *host, struct tsim_launch launch, tsim_tick free);
/* Returns how long the host has been free at `now`, as far as it matters to what follows; below 0, how long it will
 * still be busy. */
tsim_tick tsim_host_lead(const struct tsim_host_stream *host, tsim_tick now);

/* A matrix that gives when the compute stream and the host are free after a part, from when they were before it: the
 * largest of after[i][j] + before[j]. */
enum { TSIM_COMPUTE, TSIM_HOST, TSIM_N_OF_PASS };
struct tsim_launch_map {
    tsim_tick after[TSIM_N_OF_PASS][TSIM_N_OF_PASS];
};
/* A time before everything else, from which a part's matrix is found: far enough to be no maximum, and to add and
 * subtract times. */
#define TSIM_LONG_AGO (-(INT64_MAX / 16))
/* No part and no pass is counted further, 26 days, so that two times can be added. */
#define TSIM_LAST_TICK (INT64_MAX / 4)

/* Goes through a part `times` times, a fraction of it at the end. */
void tsim_launch_map_apply(const struct tsim_launch_map *map, double times, tsim_tick at[TSIM_N_OF_PASS]);

#endif
