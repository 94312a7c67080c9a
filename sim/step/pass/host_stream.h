/* host_stream.h - private to sim/step: the host's thread that launches what the compute stream plays, one entry after
 * another. It waits only for room in the queue of launches and for the beginning of a pass. So its times are known without
 * tasks of its own, and kernels wait for it.
 *
 * An entry begins when the compute stream is free for it (at time d) and the host has launched it (at time h). Each such
 * step takes maxima of d and h and adds times to them. A part of the model is therefore a matrix of four times, found by
 * playing it once from d alone and once from h alone, and a pass is the product of its parts' matrices (max-plus algebra:
 * Baccelli, Cohen, Olsder and Quadrat 1992, Synchronization and Linearity, section 1.2). */
#pragma once

#include "step/pass/pass_program.h"

/* The time that the host takes for a launch, and the most that it may be ahead of the accelerator, in time of its own. Both
 * are 0 if the host is never in the way. */
struct tsim_pass_launches {
    double each_s, most_ahead_s;
};

struct tsim_host_stream {
    bool is_there;     /* false: the host is never in the way */
    bool meets;        /* a pass, or what follows an awaited entry, is launched no earlier than it could begin */
    bool is_launched;  /* the entry at which the compute stream stands has been launched */
    tsim_tick free_at; /* when the host has launched all that came so far */
    tsim_tick begin;   /* when it began to launch the last of that */
    tsim_tick ahead;   /* the most that it may be ahead of the accelerator */
};

/* Returns when an entry begins for which the compute stream is free from `free` on: when it has been launched, or later if
 * its kernels wait for one another's launches. */
tsim_tick tsim_host_launch(const struct tsim_engine *engine, struct tsim_host_stream *host,
                           const struct tsim_played *played, tsim_tick free);
/* The times of an entry's launches: until its first kernel is launched, from there until its last kernel is launched, and
 * the time of all its kernels but the last. tsim_host_follow returns when such an entry begins. */
struct tsim_launch {
    tsim_tick first, later, before_last;
    bool is_awaited; /* the host launches nothing more until the entry has ended */
};
tsim_tick tsim_host_follow(struct tsim_host_stream *host, struct tsim_launch launch, tsim_tick free);
/* Returns how long the host has been free at `now`, as far as it matters to what follows. A negative value says how long it
 * will still be busy. */
tsim_tick tsim_host_lead(const struct tsim_host_stream *host, tsim_tick now);

/* The matrix of a part: compute stream and host (i) are free after it at the largest of after[i][j] + before[j], where
 * before[j] is when they were free before it. */
enum { TSIM_COMPUTE, TSIM_HOST, TSIM_N_OF_PASS };
struct tsim_launch_map {
    tsim_tick after[TSIM_N_OF_PASS][TSIM_N_OF_PASS];
};
/* A time before everything else, from which a part's matrix is found. It is so early that it is never the maximum, and not
 * so early that adding and subtracting times overflows. */
#define TSIM_LONG_AGO (-(INT64_MAX / 16))
/* Parts and passes are counted up to here (26 days), so that two times can be added. */
#define TSIM_LAST_TICK (INT64_MAX / 4)

/* Goes through a part `times` times, a fraction of it at the end. */
void tsim_launch_map_apply(const struct tsim_launch_map *map, double times, tsim_tick at[TSIM_N_OF_PASS]);
