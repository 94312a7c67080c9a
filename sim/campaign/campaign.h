/* campaign.h - a whole run, made of steps: how long it takes, what interrupts it, and what it costs. It knows of a step
 * and of the machine what struct tsim_campaign_steps says, and of the rest what the scenario does. SI units. */
#ifndef TSIM_CAMPAIGN_CAMPAIGN_H
#define TSIM_CAMPAIGN_CAMPAIGN_H

#include "base/term.h"
#include "campaign/ownership.h"
#include "campaign/replication.h"

/* Energy below is at the wall of the nodes, of the whole cluster. */

struct tsim_evaluation { /* a pause that was simulated */
    bool has;
    double time_s, energy_j;
    double samples; /* that are passed, whole micro-batches */
};

struct tsim_early_steps { /* of the beginning of a run: of another batch or length than the last ones */
    bool has;
    double steps, samples, time_s, energy_j;
};

/* A part of a checkpoint that crosses the NICs while steps go on; zeroed: there is none. */
struct tsim_checkpoint_traffic {
    struct tsim_amount lasts_s; /* from the beginning of a step until all of it is through */
    struct tsim_amount slows_s; /* what the steps that begin meanwhile take longer, together */
};

struct tsim_campaign_steps {
    struct tsim_amount step_s, step_j; /* of the whole batch */
    const struct tsim_early_steps *early;
    const struct tsim_evaluation *evaluation; /* without one a pause takes what the scenario says, at rest */
    struct tsim_amount idle_w;                /* of an accelerator at rest, with its part of the node and its ports */
    struct tsim_amount checkpoint_bytes;
    struct tsim_amount nics_bytes_per_s;            /* of all nodes together; 0: there are none */
    struct tsim_checkpoint_traffic copies, writing; /* to other nodes' memory; to a storage that is reached over NICs */
    bool has_tokens;                                /* else a sample is not made of any */
};

/* Without `reliability:` nothing fails: the run takes steps x step time, and the figures below `failures` are not
 * modelled. With it, days is the median over the replications, and goodput is the work over that. Money and energy are
 * the means, spares included. */
enum { TSIM_CAMPAIGN_BINS = 32, TSIM_CAMPAIGN_MOST_STRETCHES = 4000 };
struct tsim_campaign_stretch {
    double begin_s, end_s;
    int loss; /* as in replication.h */
};
struct tsim_campaign {
    bool has, has_failures;
    int64_t events;         /* that were simulated */
    double work_s, samples; /* without failures, skipped steps and those of the beginning included */
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
    const struct tsim_campaign_stretch *stretches;          /* of the first replication: its first so many */
    int32_t n_stretches;
    struct tsim_ownership own;
    double loaded_w, idle_w; /* of the facility, spares included: while training, and while the job is down */
    double mean_w;           /* over all of the run */
    double embodied_co2_kg;  /* of the machine's making, for the time of the run */
    /* With preemption, the same run is also worked out at full price and never preempted. The break-even rate is the
     * preemptions of one node, in 1/h, at which both cost the same: 0 if spot is dearer even without preemption,
     * INFINITY if it is cheaper up to 1,000 /h. */
    bool is_spot;
    double on_demand_days, on_demand_usd, breakeven_rate_per_h;
};

/* Returns how many steps update the weights if every step had the whole batch; 0 if the scenario has no length. */
double tsim_run_steps(const struct tsim_scenario *scenario);

/* Computes the run that nothing interrupts. */
void tsim_campaign_without_failures(const struct tsim_scenario *scenario, const struct tsim_campaign_steps *steps,
                                    struct tsim_campaign *campaign);
/* Predicts the run with failures and pauses, and what owning the machine costs. `has_stretches` keeps the stretches of
 * the first replication. `recorder` receives the term of each figure under the figure's name. Returns
 * TSIM_ERR_INFEASIBLE if the run does not come to an end. */
enum tsim_status tsim_campaign_predict(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                       const struct tsim_campaign_steps *steps, bool has_stretches,
                                       struct tsim_term_recorder *recorder, struct tsim_campaign *campaign,
                                       struct tsim_diags *diags);

#endif
