/* pass_alone.h - private to sim/step: a part of a pass by itself, its program played on an engine with one device. The
 * price of a part says what each collective exposes. A step takes from it the time of a part that nothing disturbs. */
#pragma once

#include "step/pass/host_stream.h"

/* Finds the time that each of the program's collectives exposes, by the rows from which the program was built, in
 * exposed_s[n_rows]. Collectives share the links of the cluster; NULL means that the network is ideal. They go on
 * while kernels wait for the host, as they do when the program follows itself: not at all, if the host gets ahead. */
void tsim_pass_program_play(const struct tsim_pass_program *program, const struct tsim_cluster *cluster,
                            struct tsim_pass_launches launches, double *exposed_s);

/* A part by itself, with links to spare. Its times are, to the tick, those that it takes in a step. */
struct tsim_part_alone {
    /* All of it; waits for the host; waits for collectives by axis. */
    tsim_tick ticks, host, exposed[TSIM_AXIS_PIPELINE];
    double scale_up_bytes[TSIM_AXIS_PIPELINE], nic_bytes[TSIM_AXIS_PIPELINE]; /* that each rank sends, by axis */
};

/* Plays the part, or remembers it, with kernels that are slower by a factor. It begins at `now`, and *host moves on to
 * its end. Returns NULL, with *host unchanged, if the part takes too long or too many different beginnings have been
 * met. */
const struct tsim_part_alone *tsim_part_alone_find(const struct tsim_pass_program *program, double slowdown,
                                                   tsim_tick now, struct tsim_host_stream *host);
/* Makes the memo of such parts for one program and one step. */
struct tsim_part_memo *tsim_part_memo_new(struct tsim_arena *arena);
