/* result.h - everything that one simulated run says: filled by sim/run, read by all above it. SI units.
 * A value that was not modelled in this run is NAN and is left out of every output. */
#ifndef TSIM_RUN_RESULT_H
#define TSIM_RUN_RESULT_H

#include "campaign/campaign.h"
#include "campaign/ownership.h"
#include "step/step_result.h"

struct tsim_evaluation { /* a pause that is simulated (evaluation.h); the campaign counts them */
    bool has;
    double time_s, energy_j; /* energy at the wall of the nodes, whole cluster */
    double samples;          /* that are passed, whole micro-batches */
};

struct tsim_batch_ramp { /* the beginning of a run, in which its batch grows (batch_ramp.h); the campaign counts it */
    bool has;
    double steps, samples, time_s, energy_j; /* energy at the wall of the nodes, whole cluster */
};

/* The whole run. Without `reliability:` nothing fails: it is steps x step time, and what is below `failures` is not
 * modelled. With it days is the median of the replications, goodput the work over that; money and energy are of the
 * mean, spares included. */
enum { TSIM_CAMPAIGN_BINS = 32, TSIM_CAMPAIGN_MOST_STRETCHES = 4000 };
struct tsim_campaign_stretch {
    double begin_s, end_s;
    int loss; /* as in campaign.h */
};
struct tsim_campaign {
    bool has, has_failures;
    double work_s, work_j, samples; /* without failures, skipped steps and the ramp of the batch included */
    double steps, days, energy_kwh, co2_kg, electricity_usd, rent_usd, purchase_usd, breakeven_runs;
    double skipped_steps;     /* of `steps`: those whose gradients overflow, training in fp16 (training.loss_scaling) */
    double goodput, failures; /* failures: mean number of interruptions that were not planned, preemptions included */
    const double *times_s;    /* of all replications, ascending; n_times is 0 without failures */
    int64_t n_times;
    double days_p10, days_p90, mean_days, goodput_p10, goodput_p90, failures_p10, failures_p90;
    double bin_from_days, bin_to_days; /* replications by their days, in bins of equal width: the first begins at the */
    int64_t bins[TSIM_CAMPAIGN_BINS];  /* fastest, the last ends at the slowest */
    double interruptions[TSIM_N_CAUSES], lost_accelerator_h[TSIM_N_CAMPAIGN_LOSSES]; /* means */
    double mtbf_s;                                                                   /* of the job; INFINITY: never */
    double spares;                                                      /* nodes that stand by: as given, or found */
    double checkpoint_bytes, checkpoint_interval_s, checkpoint_stall_s; /* interval INFINITY: none are taken */
    bool has_local_tier; /* then the three above are of the storage, and these of the hosts' memory */
    double local_interval_s, local_stall_s, local_restarts; /* interruptions that went back to it, on average */
    /* With preemption: the same run at full price and never preempted; the rate of one node, in 1/h, at which both cost
     * the same (0: spot is dearer even if it is never preempted, INFINITY: never dearer below 1,000 /h). */
    const struct tsim_campaign_stretch *stretches; /* of the first replication: its first so many */
    int32_t n_stretches;
    struct tsim_ownership own;
    double loaded_w, idle_w; /* of the facility, spares included: while training, and while the job is down */
    double embodied_co2_kg;  /* of the machine's making, for the time of the run */
    bool is_spot;
    double on_demand_days, on_demand_usd, breakeven_rate_per_h;
};

/* The step is bound by these, as shares of its time: kernels that the matrix units bind, kernels that memory or their
 * own latency bind (the optimizer among them), exposed communication, bubble, waits for data, waits for the host.
 * Together 1, up to what recomputation in other passes rounds. */
struct tsim_bound_shares {
    double compute_frac, memory_frac, communication_frac, bubble_frac, data_frac, host_frac;
    double least_frac; /* of compute_frac: what the same products take at the peak, which nothing mends */
};

/* The input pipeline (input_pipeline.h), of the node that feeds most; busy of the time. */
struct tsim_input_figures {
    bool has;
    const char *bound; /* "storage", "requests", "workers", "link", "prefetch"; "none": nothing waits for it */
    double storage_busy_frac, reading_busy_frac, transforming_busy_frac, link_busy_frac;
    double host_buffer_bytes; /* per node: batches loaded ahead */
};

/* Which accelerators are slow is drawn: the run's own step is of one draw, that of its seed. Others are of the seeds
 * that follow, without noise; those in which no accelerator is slow count with their probability. */
enum { TSIM_MOST_STRAGGLER_DRAWS = 20 };
struct tsim_straggler_draws {
    bool has;
    double expected;                          /* number of slow accelerators, ... */
    double chance_frac;                       /* ... and that there is at least one */
    int32_t n;                                /* draws with at least one that were simulated */
    double time_s[TSIM_MOST_STRAGGLER_DRAWS]; /* of a step of each, ascending */
    double p10_s, p50_s, p90_s, mean_s;       /* of all draws */
    double own_s;                             /* of the run's own draw, without noise */
};

/* Steps that differ (variability). The result's step is the one whose time is nearest to their mean. */
struct tsim_variation {
    bool has;
    int32_t n_steps; /* counted: those after the warm-up */
    int64_t n_stragglers;
    double p50_s, p99_s, mean_s;
    double without_s; /* the step without noise and stragglers */
    struct tsim_straggler_draws draws;
};

struct tsim_fit_change { /* a smallest change that makes the configuration fit */
    const char *setting; /* "training.recompute=selective" */
    double peak_bytes;   /* with that change alone */
};

struct tsim_measured_row {
    enum tsim_metric metric;
    double measured, predicted, error_frac; /* error = predicted / measured - 1 */
};

struct tsim_result {
    const struct tsim_scenario *scenario;
    bool fits;
    bool simulated; /* false when it does not fit and --ignore-memory was not given: then only memory and model are set
                     */
    struct tsim_step_terms step;
    struct tsim_throughput throughput;
    struct tsim_memory memory; /* of the fullest rank */
    int32_t fullest_stage;
    double step_energy_j, mean_power_w; /* whole cluster, at the wall of the node (PUE not included) */
    double parameters, active_parameters, step_model_flops, step_hardware_flops;
    double mtp_parameters;      /* of the parameters, those of multi-token prediction; NAN: it has none */
    enum tsim_bound bottleneck; /* with bottleneck_is_bubble / _data the kinds that are not operator bounds */
    bool bottleneck_is_bubble, bottleneck_is_data;
    struct tsim_batch_ramp batch_ramp;
    struct tsim_evaluation evaluation; /* its pauses are in the campaign */
    struct tsim_bound_shares bounds; /* the largest is the bottleneck: compute without what nothing mends, with host */
    struct tsim_input_figures input;
    struct tsim_variation variation;
    struct tsim_campaign campaign;
    struct tsim_fit_change fit_changes[8];
    int32_t n_fit_changes;
    const struct tsim_operator_row *operators;
    int32_t n_operators;
    const struct tsim_rank_row *ranks;
    int32_t n_ranks;
    const struct tsim_step_row *steps;
    int32_t n_steps;
    struct tsim_measured_row measured[TSIM_N_METRICS];
    int32_t n_measured;
    int64_t events, repeated_events; /* the second of the first: counted, not gone through again */
    double wall_s;
    double peak_rss_bytes;
};

/* The step without noise and stragglers, which changed settings are compared with. */
static inline double tsim_steady_time_s(const struct tsim_result *result) {
    return result->variation.has ? result->variation.without_s : result->step.time_s;
}

#endif
