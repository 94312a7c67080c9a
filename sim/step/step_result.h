/* step_result.h - what the simulation of one step says. SI units. A value that was not modelled is NAN and is left out of
 * every output. */
#ifndef TSIM_STEP_STEP_RESULT_H
#define TSIM_STEP_STEP_RESULT_H

#include <stdbool.h>
#include <stdint.h>

/* Where the step of the critical (slowest) rank goes; the terms add up to time_s. */
struct tsim_step_terms {
    double time_s;
    double compute_s; /* forward and backward of the model, recompute not included */
    double recompute_s;
    double bubble_s;                /* waiting for other pipeline stages (and for slower replicas) */
    double communication_exposed_s; /* = the five below */
    double exposed_tensor_s, exposed_pipeline_s, exposed_data_s, exposed_context_s, exposed_expert_s;
    double data_stall_s;
    double optimizer_s;
};

struct tsim_throughput {
    double tokens_per_s, tokens_per_s_per_gpu, samples_per_s;
    double model_tflops_per_gpu, hardware_tflops_per_gpu; /* TFLOP/s, as the contract's JSON */
    double mfu, hfu;                                      /* fractions */
};

/* Bytes per accelerator. */
struct tsim_memory {
    double capacity_bytes, peak_bytes; /* peak = sum of the kinds below */
    double weights_bytes, gradients_bytes, master_bytes, optimizer_bytes, activations_bytes;
    double buffers_bytes; /* logits and loss, communication, gathered parameters */
    double reserve_bytes; /* driver, context, communicators; part of buffers_bytes in JSON */
};

enum tsim_bound {
    TSIM_BOUND_COMPUTE,
    TSIM_BOUND_MEMORY,
    TSIM_BOUND_COMMUNICATION,
    TSIM_BOUND_HOST,
    TSIM_BOUND_LATENCY
};

struct tsim_operator_row {     /* per step, one accelerator of the critical rank */
    const char *name, *stream; /* "attention qkv (forward)", "compute" | "tensor" | "data" | "pipeline" */
    double count, time_s, flops, bytes;
    enum tsim_bound bound;
    bool is_recompute;
    double vector_flops; /* of element-wise kernels, outside the matrix units (workload/arithmetic.h) */
};

struct tsim_rank_row { /* one simulated rank: a pipeline stage of one replica; stands for `multiplicity` accelerators */
    int32_t rank, stage, multiplicity;
    struct tsim_step_terms terms; /* of this rank; time_s is the same for all */
    struct tsim_memory memory;
    double energy_j; /* per accelerator and step */
};

struct tsim_step_row {
    int32_t step;
    double time_s;
};

#endif
