/* campaign.h - a whole run, made of steps: how long it takes, what interrupts it, and what it costs. Struct
 * tsim_campaign_steps holds all that it knows of a step and of the machine; the rest it reads in the scenario. All
 * values are in SI units unless a name says otherwise.
 *
 * Energy is measured at the wall of the nodes, for the whole cluster. */
#pragma once

#include "base/term.h"
#include "campaign/ownership.h"
#include "campaign/replication.h"

/* A pause for evaluation that was simulated. */
struct tsim_evaluation {
    bool has;
    double time_s, energy_j;
    double samples; /* that pass in it, in whole micro-batches */
};

/* The steps at the beginning of a run that have another batch or length than the last ones. */
struct tsim_early_steps {
    bool has;
    double steps, samples, time_s, energy_j;
};

/* The part of a checkpoint that crosses the NICs while steps go on. It is zeroed if there is none. */
struct tsim_checkpoint_traffic {
    struct tsim_amount lasts_s; /* from the beginning of a step until all of it has crossed */
    struct tsim_amount slows_s; /* by how much it delays all steps that begin meanwhile, together */
};

struct tsim_campaign_steps {
    struct tsim_amount step_s, step_j; /* time and energy of a step with the whole batch */
    const struct tsim_early_steps *early;
    const struct tsim_evaluation *evaluation; /* NULL: a pause takes the scenario's time, at the power of rest */
    struct tsim_amount idle_w;                /* one accelerator at rest, with its part of the node and its ports */
    struct tsim_amount checkpoint_bytes;
    struct tsim_amount nics_bytes_per_s;            /* of all nodes together; 0: there are no NICs */
    struct tsim_checkpoint_traffic copies, writing; /* to other nodes' memory; to a storage that is reached over NICs */
    bool has_tokens;                                /* false: the model's samples are not made of tokens */
};

/* The prediction of a run. Without `reliability:` nothing fails: the run takes steps x step time, and the figures below
 * `failures` are not modelled. With it, `days` is the median over the replications, and `goodput` is the work over that
 * median; money and energy are means. All include the spares. */
enum { TSIM_CAMPAIGN_BINS = 32, TSIM_CAMPAIGN_MOST_STRETCHES = 4000 };
struct tsim_campaign_stretch {
    double begin_s, end_s;
    int loss; /* a tsim_campaign_loss, or one of the negative numbers of replication.h */
};
struct tsim_campaign {
    bool has, has_failures;
    int64_t events;         /* events that were simulated */
    double work_s, samples; /* without failures; they include skipped steps and those of the beginning */
    double steps, days, energy_kwh, co2_kg, electricity_usd, rent_usd, purchase_usd, breakeven_runs;
    double skipped_steps;     /* those of `steps` whose gradients overflow in fp16 (training.loss_scaling) */
    double goodput, failures; /* failures: mean number of unplanned interruptions, preemptions included */
    const double *times_s;    /* times of all replications, ascending; n_times is 0 without failures */
    int64_t n_times;
    double days_p10, days_p90, mean_days, goodput_p10, goodput_p90, failures_p10, failures_p90;
    /* A histogram of the replications' days, in bins of equal width. The first bin begins at the fastest
     * replication, and the last ends at the slowest. */
    double bin_from_days, bin_to_days;
    int64_t bins[TSIM_CAMPAIGN_BINS];
    double interruptions[TSIM_N_CAUSES], lost_accelerator_h[TSIM_N_CAMPAIGN_LOSSES]; /* means over the replications */
    double mtbf_s; /* mean time between interruptions of the job; INFINITY: there are none */
    double spares; /* nodes that stand by, as given or as found by tsim_best_spares */
    double checkpoint_bytes, checkpoint_interval_s, checkpoint_stall_s; /* interval INFINITY: none are taken */
    bool has_local_tier; /* true: these three figures are the storage's, the next those of the hosts' memory */
    /* restarts: mean number of interruptions that went back to the local tier. */
    double local_interval_s, local_stall_s, local_restarts;
    const struct tsim_campaign_stretch *stretches; /* the first TSIM_CAMPAIGN_MOST_STRETCHES of the first replication */
    int32_t n_stretches;
    struct tsim_ownership own;
    double loaded_w, idle_w; /* the facility's power with spares: in training, and while the job is down */
    double mean_w;           /* the facility's mean power over the whole run */
    double embodied_co2_kg;  /* from making the machine, in proportion to the run's time */
    /* With preemption, the same run is also predicted at the full price and never preempted. The break-even rate is the
     * number of preemptions of one node, in 1/h, at which both cost the same. It is 0 if spot is dearer even without
     * preemption, and INFINITY if spot is cheaper up to 1,000 /h. */
    bool is_spot;
    double on_demand_days, on_demand_usd, breakeven_rate_per_h;
};

/* Returns how many steps update the weights if every step has the whole batch; 0 if the scenario has no length. */
double tsim_run_steps(const struct tsim_scenario *scenario);

/* Predicts the run if nothing interrupts it. */
void tsim_campaign_without_failures(const struct tsim_scenario *scenario, const struct tsim_campaign_steps *steps,
                                    struct tsim_campaign *campaign);
/* Predicts the run with failures and pauses, and what owning the machine costs. With `has_stretches` it keeps the
 * stretches of the first replication. `recorder` receives the term of each figure under the figure's name. Returns
 * TSIM_ERR_INFEASIBLE if the run does not come to an end. */
enum tsim_status tsim_campaign_predict(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                       const struct tsim_campaign_steps *steps, bool has_stretches,
                                       struct tsim_term_recorder *recorder, struct tsim_campaign *campaign,
                                       struct tsim_diags *diags);
