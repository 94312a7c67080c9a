/* step_result.h - the result of simulating one step, in SI units. A value that was not modelled is NAN and is left out
 * of every output. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsim_scenario;
struct tsim_step_simulation;
struct tsim_input_pipeline_flow;

/* The parts of the critical (slowest) rank's step, which add up to time_s. */
struct tsim_step_terms {
    double time_s;
    double compute_s; /* forward and backward of the model, recompute not included */
    double recompute_s;
    double bubble_s;                /* waits for other pipeline stages (and for slower replicas) */
    double communication_exposed_s; /* the sum of the next five */
    double exposed_tensor_s, exposed_pipeline_s, exposed_data_s, exposed_context_s, exposed_expert_s;
    double data_stall_s;
    double optimizer_s;
};

struct tsim_throughput {
    double tokens_per_s, tokens_per_s_per_gpu, samples_per_s;
    double model_tflops_per_gpu, hardware_tflops_per_gpu; /* in TFLOP/s, the unit of the JSON */
    double mfu, hfu;                                      /* fractions */
};

/* These are bytes of one accelerator. */
struct tsim_memory {
    double capacity_bytes, peak_bytes; /* peak_bytes is the sum of the kinds below */
    double weights_bytes, gradients_bytes, master_bytes, optimizer_bytes, activations_bytes;
    double buffers_bytes; /* logits and loss, communication, gathered parameters */
    double reserve_bytes; /* driver, context, communicators; JSON has it in buffers_bytes */
};

/* Every table and chart of memory has its rows in this order, under these names. */
struct tsim_memory_kind {
    const char *member, *name; /* "optimizer_bytes" in JSON, and "optimizer state" for people */
    size_t offset;             /* in struct tsim_memory */
};
enum { TSIM_N_MEMORY_KINDS = 7 };
extern const struct tsim_memory_kind tsim_memory_kinds[TSIM_N_MEMORY_KINDS];
double tsim_memory_of_kind(const struct tsim_memory *memory, int kind);

/* The ratio of measured to predicted peak memory below which a tenth of the measured ones lie
 * (hardware/calibration/memory.csv; tests/accuracy.sh asserts it). A run is refused only if even such a peak is too
 * large; searches keep to the predicted peak. */
#define TSIM_ONE_IN_TEN_PEAKS 0.988
static inline bool tsim_memory_fits(const struct tsim_memory *memory) {
    return TSIM_ONE_IN_TEN_PEAKS * memory->peak_bytes <= memory->capacity_bytes;
}

enum tsim_bound {
    TSIM_BOUND_COMPUTE,
    TSIM_BOUND_MEMORY,
    TSIM_BOUND_COMMUNICATION,
    TSIM_BOUND_HOST,
    TSIM_BOUND_LATENCY
};

/* A row is one operator in a step, on one accelerator of the critical rank. */
struct tsim_operator_row {
    const char *name, *stream; /* "attention qkv (forward)"; "compute", "tensor", "data" or "pipeline" */
    double count, time_s, flops, bytes;
    enum tsim_bound bound;
    bool is_recompute;
    double vector_flops; /* of element-wise kernels, outside the matrix units (model/arithmetic.h) */
};

/* A row is one simulated rank: a pipeline stage of one replica, which stands for `multiplicity` accelerators. */
struct tsim_rank_row {
    int32_t rank, stage, multiplicity;
    struct tsim_step_terms terms; /* those of this rank; time_s is the same for all ranks */
    struct tsim_memory memory;
    double energy_j; /* of each accelerator in a step */
};

struct tsim_step_row {
    int32_t step;
    double time_s;
};

/* The shares of the step's time by what bounds it: kernels that the matrix units bind, kernels that memory or their own
 * latency bind (the optimizer among them), exposed communication, bubble, waits for data, waits for the host. They add
 * up to 1, except for rounding of recomputation in other passes. */
struct tsim_bound_shares {
    double compute_frac, memory_frac, communication_frac, bubble_frac, data_frac, host_frac;
    double least_frac; /* part of compute_frac: the same products at the peak, which nothing can shorten */
};

/* The figures are those of the input pipeline (input_pipeline.h) of the node that feeds most; *_frac are busy parts of
 * the time. */
struct tsim_input_figures {
    bool has;
    const char *bound; /* "storage", "requests", "workers", "link", "prefetch"; "none": nothing waits for it */
    double storage_busy_frac, reading_busy_frac, transforming_busy_frac, link_busy_frac;
    double host_buffer_bytes; /* on each node: batches loaded ahead */
};

/* The slow accelerators are drawn at random. The run's own step has the draw of its seed. Further draws have the seeds
 * that follow, without noise; draws in which no accelerator is slow count with their probability. */
enum { TSIM_MOST_STRAGGLER_DRAWS = 20 };
struct tsim_straggler_draws {
    bool has;
    double expected;                          /* number of slow accelerators */
    double chance_frac;                       /* probability that there is at least one */
    int32_t n;                                /* simulated draws with at least one */
    double time_s[TSIM_MOST_STRAGGLER_DRAWS]; /* of a step of each such draw, ascending */
    double p10_s, p50_s, p90_s, mean_s;       /* over all draws */
    double own_s;                             /* of the run's own draw, without noise */
};

/* Steps that differ (variability). The result's step is the one whose time is nearest to their mean. */
struct tsim_variation {
    bool has;
    int32_t n_steps; /* those that count, after the warm-up */
    int64_t n_stragglers;
    double p50_s, p99_s, mean_s;
    double without_s; /* of the step without noise and stragglers */
    struct tsim_straggler_draws draws;
};

/* One of the smallest changes that make the configuration fit. */
struct tsim_fit_change {
    const char *setting; /* "training.recompute=selective" */
    double peak_bytes;   /* with that change alone */
};

struct tsim_step_result {
    bool fits;
    bool simulated; /* false: it does not fit and was not to be simulated all the same; only memory and model are set */
    /* The scenario with the variation of this step, its simulation, and the flow of its input; NULL: it is not
     * simulated. */
    const struct tsim_scenario *played;
    const struct tsim_step_simulation *simulation;
    const struct tsim_input_pipeline_flow *flow;
    struct tsim_step_terms terms;
    struct tsim_throughput throughput;
    struct tsim_memory memory; /* that of the fullest rank */
    int32_t fullest_stage;
    double energy_j, mean_power_w; /* of the whole cluster, at the wall of the nodes (without PUE) */
    double parameters, active_parameters, model_flops, hardware_flops;
    double padding_frac;       /* part of the tokens in passes; NAN: all samples are equally long */
    double trained_parameters; /* those of the adapters beside a frozen model; NAN: the model is trained */
    double mtp_parameters;     /* those of multi-token prediction, which parameters include; NAN: there are none */
    /* With bottleneck_is_bubble and bottleneck_is_data for kinds that are not operator bounds. */
    enum tsim_bound bottleneck;
    bool bottleneck_is_bubble, bottleneck_is_data;
    struct tsim_bound_shares bounds; /* the largest is the bottleneck; compute counts without least_frac */
    struct tsim_input_figures input;
    struct tsim_variation variation;
    struct tsim_fit_change fit_changes[8];
    int32_t n_fit_changes;
    const struct tsim_operator_row *operators;
    int32_t n_operators;
    const struct tsim_rank_row *ranks;
    int32_t n_ranks;
    const struct tsim_step_row *steps;
    int32_t n_steps;
    int64_t events, repeated_events; /* repeated_events, which events includes, were not gone through again */
};

/* Returns the time of the step without noise and stragglers, with which changed settings are compared. */
static inline double tsim_steady_time_s(const struct tsim_step_result *step) {
    return step->variation.has ? step->variation.without_s : step->terms.time_s;
}

/* A bound is at least as high as the one before: the passes, however the layers are split over the stages and whatever
 * the memory holds; the passes; a plan of the step, which takes longer to compute. */
enum tsim_least { TSIM_LEAST_ANY_SPLIT, TSIM_LEAST_PASSES, TSIM_LEAST_STEP };
