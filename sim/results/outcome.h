/* outcome.h - the numbers of a summary as one flat row: what a study stores, filters, ranks and prints of a point, so
 * that it need not keep whole results. A figure is called as in the summary's JSON ("step.time_s", "throughput.mfu");
 * what the program's user writes may leave the section out where the rest is unique ("mfu", "time_s" of the step). */
#ifndef TSIM_RESULTS_OUTCOME_H
#define TSIM_RESULTS_OUTCOME_H

#include "results/json.h"
#include "results/prediction.h"

enum tsim_goal { TSIM_GOAL_NONE, TSIM_GOAL_MORE, TSIM_GOAL_LESS }; /* which direction is better */

/* X(NAME, name in JSON, column of the database, dimension, goal, value of a simulated run or NAN). `r` is training's result
 * and `u` its uncertainty; values before TSIM_OUTCOME_STEP_TIME are known of a run that does not fit, too. USD per trillion
 * tokens are what the accelerators' rent and the facility's electricity come to while that many tokens are trained. */
#define TSIM_OUTCOMES_1(X)                                                                                             \
    X(MEMORY_CAPACITY, "memory.capacity_bytes", memory_capacity_bytes, TSIM_BYTES, NONE,                               \
      r->step.memory.capacity_bytes)                                                                                   \
    X(MEMORY_PEAK, "memory.peak_bytes", memory_peak_bytes, TSIM_BYTES, LESS, r->step.memory.peak_bytes)                \
    X(WEIGHTS, "memory.weights_bytes", weights_bytes, TSIM_BYTES, LESS, r->step.memory.weights_bytes)                  \
    X(GRADIENTS, "memory.gradients_bytes", gradients_bytes, TSIM_BYTES, LESS, r->step.memory.gradients_bytes)          \
    X(MASTER, "memory.master_bytes", master_bytes, TSIM_BYTES, LESS, r->step.memory.master_bytes)                      \
    X(OPTIMIZER_BYTES, "memory.optimizer_bytes", optimizer_bytes, TSIM_BYTES, LESS, r->step.memory.optimizer_bytes)    \
    X(ACTIVATIONS, "memory.activations_bytes", activations_bytes, TSIM_BYTES, LESS, r->step.memory.activations_bytes)  \
    X(BUFFERS, "memory.buffers_bytes", buffers_bytes, TSIM_BYTES, LESS,                                                \
      r->step.memory.buffers_bytes + r->step.memory.reserve_bytes)                                                     \
    X(PARAMETERS, "model.parameters", parameters, TSIM_COUNT, NONE, r->step.parameters)                                \
    X(ACTIVE_PARAMETERS, "model.active_parameters", active_parameters, TSIM_COUNT, NONE, r->step.active_parameters)    \
    X(STEP_MODEL_FLOPS, "model.step_model_flops", step_model_flops, TSIM_FLOPS, NONE, r->step.model_flops)             \
    X(STEP_TIME, "step.time_s", step_time_s, TSIM_TIME_S, LESS, r->step.terms.time_s)                                  \
    X(COMPUTE, "step.compute_s", compute_s, TSIM_TIME_S, LESS, r->step.terms.compute_s)                                \
    X(BUBBLE, "step.bubble_s", bubble_s, TSIM_TIME_S, LESS, r->step.terms.bubble_s)                                    \
    X(EXPOSED, "step.communication_exposed_s", communication_exposed_s, TSIM_TIME_S, LESS,                             \
      r->step.terms.communication_exposed_s)                                                                           \
    X(DATA_STALL, "step.data_stall_s", data_stall_s, TSIM_TIME_S, LESS, r->step.terms.data_stall_s)                    \
    X(OPTIMIZER, "step.optimizer_s", optimizer_s, TSIM_TIME_S, LESS, r->step.terms.optimizer_s)                        \
    X(RECOMPUTE, "step.recompute_s", recompute_s, TSIM_TIME_S, LESS, r->step.terms.recompute_s)                        \
    X(EXPOSED_TENSOR, "communication_exposed.tensor_s", exposed_tensor_s, TSIM_TIME_S, LESS,                           \
      r->step.terms.exposed_tensor_s)                                                                                  \
    X(EXPOSED_PIPELINE, "communication_exposed.pipeline_s", exposed_pipeline_s, TSIM_TIME_S, LESS,                     \
      r->step.terms.exposed_pipeline_s)                                                                                \
    X(EXPOSED_DATA, "communication_exposed.data_s", exposed_data_s, TSIM_TIME_S, LESS, r->step.terms.exposed_data_s)   \
    X(EXPOSED_CONTEXT, "communication_exposed.context_s", exposed_context_s, TSIM_TIME_S, LESS,                        \
      r->step.terms.exposed_context_s)                                                                                 \
    X(EXPOSED_EXPERT, "communication_exposed.expert_s", exposed_expert_s, TSIM_TIME_S, LESS,                           \
      r->step.terms.exposed_expert_s)                                                                                  \
    X(TOKENS_PER_S, "throughput.tokens_per_s", tokens_per_s, TSIM_COUNT, MORE, r->step.throughput.tokens_per_s)        \
    X(TOKENS_PER_S_PER_GPU, "throughput.tokens_per_s_per_gpu", tokens_per_s_per_gpu, TSIM_COUNT, MORE,                 \
      r->step.throughput.tokens_per_s_per_gpu)                                                                         \
    X(SAMPLES_PER_S, "throughput.samples_per_s", samples_per_s, TSIM_COUNT, MORE, r->step.throughput.samples_per_s)    \
    X(MODEL_TFLOPS_PER_GPU, "throughput.model_tflops_per_gpu", model_tflops_per_gpu, TSIM_COUNT, MORE,                 \
      r->step.throughput.model_tflops_per_gpu)                                                                         \
    X(HARDWARE_TFLOPS_PER_GPU, "throughput.hardware_tflops_per_gpu", hardware_tflops_per_gpu, TSIM_COUNT, MORE,        \
      r->step.throughput.hardware_tflops_per_gpu)                                                                      \
    X(MFU, "throughput.mfu", mfu, TSIM_FRACTION, MORE, r->step.throughput.mfu)                                         \
    X(HFU, "throughput.hfu", hfu, TSIM_FRACTION, MORE, r->step.throughput.hfu)                                         \
    X(BUBBLE_FRAC, "fractions.bubble", bubble_frac, TSIM_FRACTION, LESS,                                               \
      r->step.terms.bubble_s / r->step.terms.time_s)                                                                   \
    X(EXPOSED_FRAC, "fractions.communication_exposed", communication_exposed_frac, TSIM_FRACTION, LESS,                \
      r->step.terms.communication_exposed_s / r->step.terms.time_s)                                                    \
    X(DATA_STALL_FRAC, "fractions.data_stall", data_stall_frac, TSIM_FRACTION, LESS,                                   \
      r->step.terms.data_stall_s / r->step.terms.time_s)                                                               \
    X(STEP_ENERGY, "energy.step_j", step_energy_j, TSIM_JOULES, LESS, r->step.energy_j)                                \
    X(MEAN_POWER, "energy.mean_power_w", mean_power_w, TSIM_WATTS, LESS, r->step.mean_power_w)                         \
    X(STEP_HARDWARE_FLOPS, "model.step_hardware_flops", step_hardware_flops, TSIM_FLOPS, NONE, r->step.hardware_flops) \
    X(STEPS, "campaign.steps", campaign_steps, TSIM_COUNT, LESS, CAMPAIGN(steps))                                      \
    X(DAYS, "campaign.days", campaign_days, TSIM_COUNT, LESS, CAMPAIGN(days))                                          \
    X(ENERGY_KWH, "campaign.energy_kwh", campaign_energy_kwh, TSIM_COUNT, LESS, CAMPAIGN(energy_kwh))                  \
    X(CO2, "campaign.co2_kg", campaign_co2_kg, TSIM_KG, LESS, CAMPAIGN(co2_kg))                                        \
    X(ELECTRICITY, "campaign.electricity_usd", campaign_electricity_usd, TSIM_USD, LESS, CAMPAIGN(electricity_usd))    \
    X(RENT, "campaign.rent_usd", campaign_rent_usd, TSIM_USD, LESS, CAMPAIGN(rent_usd))                                \
    X(PURCHASE, "campaign.purchase_usd", campaign_purchase_usd, TSIM_USD, LESS, CAMPAIGN(purchase_usd))                \
    X(BREAKEVEN, "campaign.breakeven_runs", campaign_breakeven_runs, TSIM_COUNT, NONE, CAMPAIGN(breakeven_runs))
/* What `points` has since the second version of the database (store.h): the columns that `runs` has since the first, and
 * four more, two of which stand in `runs` as whole numbers. */
#define TSIM_OUTCOMES_2(X)                                                                                             \
    X(FITS, "memory.fits", fits, TSIM_COUNT, NONE, r->step.fits)                                                       \
    X(ACCELERATORS, "accelerators", accelerators, TSIM_COUNT, LESS, (double)r->scenario->n_accelerators)               \
    TSIM_OUTCOMES_1(X)                                                                                                 \
    X(TRILLION_RENT, "per_trillion_tokens.rent_usd", rent_usd_per_trillion_tokens, TSIM_USD, LESS,                     \
      rent_usd_per_trillion_tokens(r))                                                                                 \
    X(TRILLION_ELECTRICITY, "per_trillion_tokens.electricity_usd", electricity_usd_per_trillion_tokens, TSIM_USD,      \
      LESS, electricity_usd_per_trillion_tokens(r))
/* Of later versions of the database: store.h. */
#define TSIM_OUTCOMES_3(X)                                                                                             \
    X(GOODPUT, "campaign.goodput", campaign_goodput, TSIM_FRACTION, MORE, CAMPAIGN(goodput))                           \
    X(FAILURES, "campaign.failures", campaign_failures, TSIM_COUNT, LESS, CAMPAIGN(failures))                          \
    X(DAYS_P10, "campaign.days_p10", campaign_days_p10, TSIM_COUNT, LESS, CAMPAIGN(days_p10))                          \
    X(DAYS_P90, "campaign.days_p90", campaign_days_p90, TSIM_COUNT, LESS, CAMPAIGN(days_p90))
/* NAN where the result has no interval. */
#define TSIM_OUTCOMES_4(X)                                                                                             \
    X(STEP_LOW, "uncertainty.step_time_low_s", step_time_low_s, TSIM_TIME_S, LESS, INTERVAL(step_time_low_s))          \
    X(STEP_HIGH, "uncertainty.step_time_high_s", step_time_high_s, TSIM_TIME_S, LESS, INTERVAL(step_time_high_s))
/* NAN without failures. */
#define TSIM_OUTCOMES_5(X)                                                                                             \
    X(SPARES, "campaign.spares", campaign_spares, TSIM_COUNT, LESS, FAILING(spares))                                   \
    X(CHECKPOINT_INTERVAL, "campaign.checkpoint_interval_s", campaign_checkpoint_interval_s, TSIM_TIME_S, NONE,        \
      FAILING(checkpoint_interval_s))
#define TSIM_OUTCOMES(X) TSIM_OUTCOMES_2(X) TSIM_OUTCOMES_3(X) TSIM_OUTCOMES_4(X) TSIM_OUTCOMES_5(X)
/* Each has a REAL column in `runs`. */
#define TSIM_OUTCOMES_OF_RUNS(X) TSIM_OUTCOMES_1(X) TSIM_OUTCOMES_3(X) TSIM_OUTCOMES_4(X) TSIM_OUTCOMES_5(X)

enum tsim_outcome_figure {
#define OUTCOME_ENUM(NAME, json, column, dimension, goal, value) TSIM_OUTCOME_##NAME,
    TSIM_OUTCOMES(OUTCOME_ENUM)
#undef OUTCOME_ENUM
        TSIM_N_OUTCOMES
};

struct tsim_outcome {
    const char *bottleneck;        /* a constant, or NULL */
    double value[TSIM_N_OUTCOMES]; /* NAN: not modelled in this run */
};

void tsim_outcome_of(const struct tsim_prediction *prediction, struct tsim_outcome *outcome);

/* Is every figure the same, to the last digit, or unknown in both? Two inputs that give such outcomes cannot be told apart. */
bool tsim_outcomes_are_alike(const struct tsim_outcome *a, const struct tsim_outcome *b);

struct tsim_outcome_spec {
    const char *name, *column;
    enum tsim_dimension dimension; /* TSIM_COUNT also for rates of counts, days and kWh: plain numbers */
    enum tsim_goal goal;
};
const struct tsim_outcome_spec *tsim_outcome_spec(enum tsim_outcome_figure figure);

/* Of the figure, for people (results/format.h): "29.21 GB", "552 MWh"; "-" for NAN. Returns `buffer`. */
const char *tsim_outcome_text(enum tsim_outcome_figure figure, double value, char *buffer, size_t size);

/* By "throughput.mfu", by the column's name ("step_time_s"), or by "mfu" alone; also "days", "cost" and "budget" (the
 * rent of the campaign). False: none, or more than one; *near then has the nearest name, or NULL. */
bool tsim_outcome_find(const char *name, enum tsim_outcome_figure *figure, const char **near);

/* The constant word that `text` equals ("compute", "memory", ...), or NULL: for figures read back. */
const char *tsim_bottleneck_word(const char *text);

/* Adds the members of a summary to an object, as `tsim run --json` has them; what belongs to one run alone (its number,
 * its speed) and what is not a figure (advice) is left out. */
void tsim_outcome_json(const struct tsim_outcome *outcome, struct tsim_json *summary);

#endif
