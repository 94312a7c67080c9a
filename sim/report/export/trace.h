/* trace.h - a step as Chrome Trace Event JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
 *
 * Each pipeline stage of each simulated replica is a process, named after its ranks, with a thread for each of its
 * streams: compute, data-parallel collectives, messages to the next and to the previous stage, communicators. Slices
 * have what they are as arguments (micro-batch, chunk, FLOPs, bytes of an accelerator). An arrow leads from each
 * message to the pass that waited for it.
 *
 * If passes are played by their operators (simulation.detail), kernels are on the compute stream and collectives on
 * that of their axis, each with its layer and what binds it, in the categories of PyTorch's profiler; passes are on a
 * thread of their own. A long step has only the operators of the first micro-batches and of the last, about 25,000 of
 * them.
 *
 * Counters are model state and activations in flight, each stage's power, and the bytes per second on NICs and scale-up
 * links, in tenths, where they change. Times are microseconds, rounded to nanoseconds.
 *
 * The trace is streamed: memory grows with ranks and messages under way, not with slices. Whoever simulates with the
 * sink writes it between the two calls. */
#pragma once

#include "step/program.h"

struct tsim_trace;

/* Opens a trace. `ranks` are those of the job, "0,3,8-15" or "all", each on the row that is its own or stands for it;
 * NULL: the first replica's stages, at most 64. Returns TSIM_ERR_IO for a file that cannot be opened, and
 * TSIM_ERR_RANGE for a list that is none or has ranks that do not exist. A `file` that ends in ".gz" is compressed. */
enum tsim_status tsim_trace_open(struct tsim_arena *arena, const struct tsim_scenario *scenario, const char *file,
                                 const char *ranks, struct tsim_trace **trace, struct tsim_diags *diags);
const struct tsim_step_sink *tsim_trace_sink(struct tsim_trace *trace);
/* Returns of which micro-batches it has operators if these are not all: "kernels of micro-batches 0 to 4 and 31, passes
 * of all 32"; else NULL. */
const char *tsim_trace_window(const struct tsim_trace *trace);
/* Ends the document, and puts the file in its place. */
enum tsim_status tsim_trace_close(struct tsim_trace *trace, struct tsim_diags *diags);
void tsim_trace_discard(struct tsim_trace *trace); /* leaves no file */
