/* input_pipeline.h - the input pipeline of one node, on the engine: what it delivers, against what training asks for.
 *
 *   storage --read--> worker --transform--> host buffer --copy--> device buffer --> a pass that needs the batch
 *
 * A batch is one micro-batch of one consumer (a replica's first stage). Batches are dealt to the workers in turn, and
 * delivered in order, as by PyTorch's DataLoader. A worker's reading and its transforming are streams of their own (as
 * in tf.data and DALI; a DataLoader does the same with enough workers), so a worker can read one batch while it
 * transforms the one before. Each worker has at most `prefetch` batches under way or waiting to be copied. A device
 * holds the batch that it works on and one more. With prefetch 0 a batch is read, transformed and copied when a pass
 * asks for it.
 *
 * Resources are the node's part of the storage (bytes/s), its cores (1 core-second per second), and each consumer's
 * PCIe link (bytes/s). Reading is an activity with a latency, a bound of its own (one request stream) and a demand on
 * the storage; transforming demands a core. No rate of delivery is put in: that the slowest of storage, cores and
 * accelerators sets the pace (min-of-three; Machine Learning Systems, chapter on training) is a result.
 *
 * Consumers ask for their batches at the times of a step that never waits, wait if one is late, and end each step
 * together. Steps follow each other, the first with empty buffers, until windows of steps take equally long and fill
 * the buffers as much as they empty them; a window lasts until all batches that can be under way have gone through. The
 * result is the mean over a window. Workers that begin together may drift apart for ever; then it is the mean over
 * hundreds of windows. */
#pragma once

#include "base/arena.h"
#include "base/status.h"

#include <stdint.h>

struct tsim_input_pipeline {
    /* These are the work of one batch. */
    double read_bytes;
    double read_alone_s; /* time of a worker that has the storage for itself: latencies, the rate of one stream */
    double cpu_s;        /* time on one core */
    double transfer_bytes;
    /* These are the capacities of the node. */
    double storage_bytes_per_s;
    double cores;            /* 0: one for each worker */
    double link_bytes_per_s; /* of each consumer; 0: copies take no time, or are a step's own (copies.h) */
    int32_t workers, prefetch;
    int32_t n_consumers, n_batches; /* n_batches: those of each consumer in a step */
    /* Times between requests, [n_consumers][n_batches + 1]: from the beginning of a step until the first batch is asked
     * for; from the pass that took one until the next is asked for; after the last one until the end of the step. */
    const double *gaps_s;
};

/* The part of the pipeline for which training waits most. */
enum tsim_input_bound {
    TSIM_INPUT_BOUND_NONE,     /* training does not wait */
    TSIM_INPUT_BOUND_STORAGE,  /* the storage's bandwidth */
    TSIM_INPUT_BOUND_REQUESTS, /* each worker's requests one after another: latency and the rate of one stream */
    TSIM_INPUT_BOUND_CPU,      /* workers, or the cores that they share */
    TSIM_INPUT_BOUND_LINK,     /* the PCIe link */
    TSIM_INPUT_BOUND_AHEAD     /* none of them is busy all the time: too little is loaded ahead */
};

/* The result has means over a window of steps. */
struct tsim_input_pipeline_flow {
    double step_s;
    double first_step_s; /* of the step with empty buffers, which is no mean */
    double *waits_s;     /* n_batches waits of the consumer that waits longest */
    double wait_s;       /* their sum */
    /* Busy parts of the time: storage by its bandwidth, workers that read, workers that transform, links. */
    double storage_frac, reading_frac, transform_frac, link_frac;
    double storage_bytes_per_s; /* what the storage could deliver, as in the pipeline */
    enum tsim_input_bound bound;
    int32_t n_steps; /* steps that were simulated */
    int64_t events;
};

/* Simulates the pipeline. Arrays are allocated from `arena`. It fails as tsim_engine_run does. */
enum tsim_status tsim_input_pipeline_simulate(struct tsim_arena *arena, const struct tsim_input_pipeline *pipeline,
                                              struct tsim_input_pipeline_flow *flow, struct tsim_diags *diags);
