/* host_stream.h - private to sim/step: the host's thread that launches what the compute stream plays, one entry after
 * another. It waits for nothing but room in the queue of launches and the beginning of a pass, so when it has launched
 * what is known without tasks of its own; kernels wait for it. */
#ifndef TSIM_STEP_HOST_STREAM_H
#define TSIM_STEP_HOST_STREAM_H

#include "step/pass_program.h"

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
/* How long the host has been free at `now`, as far as it matters to what follows; below 0: how long it still is not. */
tsim_tick tsim_host_lead(const struct tsim_host_stream *host, tsim_tick now);

#endif
