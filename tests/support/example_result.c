#include "support/example_result.h"

#include <math.h>

#include <stdlib.h>
#include <string.h>

static const struct tsim_step_terms TERMS = {.time_s = 10,
                                             .compute_s = 5,
                                             .recompute_s = 1,
                                             .bubble_s = 1.5,
                                             .communication_exposed_s = 1,
                                             .exposed_tensor_s = 0.5,
                                             .exposed_pipeline_s = 0.25,
                                             .exposed_data_s = 0.125,
                                             .exposed_context_s = 0.0625,
                                             .exposed_expert_s = 0.0625,
                                             .data_stall_s = 0.5,
                                             .optimizer_s = 1};

static const struct tsim_memory MEMORY = {.capacity_bytes = 100e9,
                                          .peak_bytes = 64e9,
                                          .weights_bytes = 1e9,
                                          .gradients_bytes = 2e9,
                                          .master_bytes = 4e9,
                                          .optimizer_bytes = 8e9,
                                          .activations_bytes = 16e9,
                                          .buffers_bytes = 32e9,
                                          .reserve_bytes = 1e9};

static void fill_rows(struct example_result *r) {
    r->operators[0] =
        (struct tsim_operator_row){"product (forward)", "compute", 64, 3.5, 1e15, 2e9, TSIM_BOUND_COMPUTE, 0};
    r->operators[1] = (struct tsim_operator_row){"gather (forward)", "tensor", 32, 0.5, 0, 4e9, TSIM_BOUND_LATENCY, 0};
    for (int32_t i = 0; i < 2; i++)
        r->ranks[i] = (struct tsim_rank_row){
            .rank = i, .stage = i, .multiplicity = 4, .terms = TERMS, .memory = MEMORY, .energy_j = 100 + i};
    for (int32_t i = 0; i < 3; i++)
        r->steps[i] = (struct tsim_step_row){.step = i, .time_s = 10 + i};
    r->prediction.result.step.operators = r->operators;
    r->prediction.result.step.n_operators = 2;
    r->prediction.result.step.ranks = r->ranks;
    r->prediction.result.step.n_ranks = 2;
    r->prediction.result.step.steps = r->steps;
    r->prediction.result.step.n_steps = 3;
}

static void fill_model(struct example_result *r) {
    struct tsim_result *result = &r->prediction.result;
    example_init(&r->example);
    example_finish(&r->example);
    r->example.scenario.simulation.seed = 7;
    result->scenario = &r->example.scenario;
    result->step.memory = MEMORY;
    result->step.parameters = result->step.active_parameters = 134217728;
    result->step.model_flops = 1e18;
    result->wall_s = 0.25;
    result->peak_rss_bytes = 2e7;
}

void example_result_init(struct example_result *r) {
    struct tsim_result *result = &r->prediction.result;
    memset(r, 0, sizeof *r);
    fill_model(r);
    fill_rows(r);
    result->step.fits = result->step.simulated = true;
    result->step.terms = TERMS;
    result->step.throughput = (struct tsim_throughput){65536, 8192, 64, 400, 450, 0.4, 0.45};
    result->step.energy_j = 5e4;
    result->step.mean_power_w = 5e3;
    result->step.hardware_flops = 1.125e18;
    result->step.mtp_parameters = result->step.trained_parameters = result->step.padding_frac = (double)NAN;
    result->step.bottleneck = TSIM_BOUND_MEMORY;
    result->step.bounds = (struct tsim_bound_shares){.compute_frac = 0.25,
                                                     .memory_frac = 0.375,
                                                     .communication_frac = 0.1,
                                                     .bubble_frac = 0.15,
                                                     .data_frac = 0.05,
                                                     .host_frac = 0.075};
    r->prediction.advice[0] = "larger products";
    r->prediction.n_advice = 1;
    result->campaign =
        (struct tsim_campaign){.has = true,
                               .steps = 1000,
                               .days = 2.5,
                               .energy_kwh = 15.5,
                               .co2_kg = 6.25,
                               .electricity_usd = 1.5,
                               .rent_usd = 2000,
                               .purchase_usd = 240000,
                               .breakeven_runs = 120,
                               .own = {.reserved_usd = (double)NAN, .rent_usd_per_trillion_tokens = (double)NAN},
                               .goodput = (double)NAN,
                               .failures = (double)NAN,
                               .days_p10 = (double)NAN,
                               .days_p90 = (double)NAN};
    struct tsim_measured *measured = &r->example.scenario.measured;
    measured->source = "a test";
    measured->has[TSIM_METRIC_STEP_TIME] = measured->has[TSIM_METRIC_MODEL_TFLOPS_PER_GPU] = true;
    measured->value[TSIM_METRIC_STEP_TIME] = 8;
    measured->value[TSIM_METRIC_MODEL_TFLOPS_PER_GPU] = 320e12;
    result->events = 12345;
}

void example_result_init_misfit(struct example_result *r) {
    struct tsim_result *result = &r->prediction.result;
    memset(r, 0, sizeof *r);
    fill_model(r);
    result->step.memory.capacity_bytes = 60e9;
    result->step.fullest_stage = 1;
    result->step.fit_changes[0] = (struct tsim_fit_change){"training.recompute=selective", 52e9};
    result->step.n_fit_changes = 1;
}

const struct tsim_draft *example_draft(struct tsim_arena *arena, struct tsim_diags *diags) {
    static const char TEXT[] = "schema: tsim/v1\nname: example\nmodel: gpt2-small\ncluster: {node: single-a100-80gb}\n"
                               "training: {sequence_length: 1024, global_batch_size: 8}\n";
    struct tsim_scenario_source source;
    const struct tsim_scenario *scenario;
    if (tsim_scenario_open_text(arena, "example", TEXT, &source, diags) != TSIM_OK ||
        tsim_scenario_load_from(arena, &source, NULL, 0, &scenario, diags) != TSIM_OK)
        abort();
    return scenario->draft;
}
