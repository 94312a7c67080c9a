/* trace.h - a step as Chrome Trace Event JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
 *
 * A process for each pipeline stage of each simulated replica, named after its ranks, a thread for
 * each of its streams: compute, data-parallel collectives, messages to the next and to the previous stage,
 * communicators. Slices carry what they are (micro-batch, chunk, FLOPs, bytes per accelerator); an arrow leads from
 * each message to the pass that waited for it. Where passes are played by their operators (simulation.detail), kernels
 * are on the compute stream and collectives on that of their axis, each with its layer and what binds it, in the
 * categories of PyTorch's profiler, and passes on a thread of their own; of a long step, operators are told of the
 * first micro-batches and of the last, about 25,000 of them. Counters: model state and activations in flight; of each
 * stream its power and the bytes per second on NICs and scale-up links, in tenths, where they change. Times are
 * microseconds, rounded to nanoseconds.
 *
 * Streamed: memory grows with ranks and messages under way, not with slices. Written between the two calls by
 * whoever simulates with the sink. */
#ifndef TSIM_REPORT_TRACE_H
#define TSIM_REPORT_TRACE_H

#include "step/program.h"

struct tsim_trace;

/* `ranks` are those of the job, "0,3,8-15" or "all", each on the row that is of it or stands for it; NULL: the first
 * replica's stages, at most 64. A file that cannot be opened is TSIM_ERR_IO; a list that is none, or has ranks that
 * are not there, is TSIM_ERR_RANGE. A `file` that ends in ".gz" is compressed. */
enum tsim_status tsim_trace_open(struct tsim_arena *arena, const struct tsim_scenario *scenario, const char *file,
                                 const char *ranks, struct tsim_trace **trace, struct tsim_diags *diags);
const struct tsim_step_sink *tsim_trace_sink(struct tsim_trace *trace);
/* Says of which micro-batches it has operators where those are not all: "kernels of micro-batches 0 to 4 and 31, passes
 * of all 32"; else NULL. */
const char *tsim_trace_window(const struct tsim_trace *trace);
/* Ends the document. */
enum tsim_status tsim_trace_close(struct tsim_trace *trace, struct tsim_diags *diags);
void tsim_trace_discard(struct tsim_trace *trace); /* leaves no file */

#endif
