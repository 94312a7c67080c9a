/* pass_alone.h - private to sim/step: a part of a pass alone, its program played on an engine with one device. Its price
 * says what each collective exposes; a step takes from it what a part takes that nothing disturbs. */
#ifndef TSIM_STEP_PASS_ALONE_H
#define TSIM_STEP_PASS_ALONE_H

#include "step/pass/host_stream.h"

/* Says what each of the program's collectives exposes, by the rows that it was built from: adds to exposed_s[n_rows].
 * Collectives share the links of the cluster; NULL: the network is ideal. They go on while kernels wait for the host. */
void tsim_pass_program_play(const struct tsim_pass_program *program, const struct tsim_cluster *cluster,
                            struct tsim_pass_launches launches, double *exposed_s);

/* A part by itself, with links to spare: to the tick what it takes in a step. */
struct tsim_part_alone {
    tsim_tick ticks, host, exposed[TSIM_AXIS_PIPELINE]; /* of them, waiting for the host and for collectives */
    double scale_up_bytes[TSIM_AXIS_PIPELINE], nic_bytes[TSIM_AXIS_PIPELINE]; /* that each rank sends */
};

/* Plays the part, or remembers it, with kernels so much slower; it begins at `now`, and *host is taken to its end. NULL
 * where it takes too long, or too many different beginnings have been met: *host is as it was. */
const struct tsim_part_alone *tsim_part_alone_find(const struct tsim_pass_program *program, double slowdown,
                                                   tsim_tick now, struct tsim_host_stream *host);
/* Makes the memory of that for one program and one step. */
struct tsim_part_memo *tsim_part_memo_new(struct tsim_arena *arena);

#endif
