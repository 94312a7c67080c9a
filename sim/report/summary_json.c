#include "report/summary.h"

#include "base/version.h"
#include "report/format.h"
#include "study/regimen.h"

#include <math.h>
#include <string.h>

/* Sums of doubles over the terms of one step: far above rounding (1e-16 a term), far below any figure that is read. */
#define SUM_TOLERANCE 1e-6

const char *tsim_summary_status(const struct tsim_result *result) {
    return result->fits ? "ok" : "does_not_fit";
}

const char *tsim_bound_name(enum tsim_bound bound) {
    static const char *const NAMES[] = {
        [TSIM_BOUND_COMPUTE] = "compute",
        [TSIM_BOUND_MEMORY] = "memory",
        [TSIM_BOUND_COMMUNICATION] = "communication",
        [TSIM_BOUND_HOST] = "host",
        [TSIM_BOUND_LATENCY] = "latency",
    };
    return NAMES[bound];
}

const char *tsim_bottleneck_kind(const struct tsim_result *result) {
    if (result->bottleneck_is_bubble)
        return "bubble";
    if (result->bottleneck_is_data)
        return "data";
    if (result->bottleneck == TSIM_BOUND_MEMORY || result->bottleneck == TSIM_BOUND_COMMUNICATION)
        return tsim_bound_name(result->bottleneck);
    return "compute";
}

const char *tsim_bottleneck_axis(const struct tsim_result *result) {
    const char *kind = tsim_bottleneck_kind(result);
    if (strcmp(kind, "data") == 0)
        return "data";
    return strcmp(kind, "compute") == 0 || strcmp(kind, "bubble") == 0 ? "algorithm" : "machine";
}

static bool is_sum(double sum, double total) {
    return fabs(sum - total) <= SUM_TOLERANCE * fabs(total);
}

void tsim_summary_check(const struct tsim_result *result) {
    const struct tsim_memory *m = &result->memory;
    TSIM_ASSERT(is_sum(m->weights_bytes + m->gradients_bytes + m->master_bytes + m->optimizer_bytes +
                           m->activations_bytes + m->buffers_bytes + m->reserve_bytes,
                       m->peak_bytes));
    if (!result->simulated)
        return;
    const struct tsim_step_terms *t = &result->step;
    TSIM_ASSERT(t->time_s > 0.0 && isfinite(t->time_s));
    TSIM_ASSERT(is_sum(t->compute_s + t->recompute_s + t->bubble_s + t->communication_exposed_s + t->data_stall_s +
                           t->optimizer_s,
                       t->time_s));
    double exposed_s =
        t->exposed_tensor_s + t->exposed_pipeline_s + t->exposed_data_s + t->exposed_context_s + t->exposed_expert_s;
    TSIM_ASSERT(fabs(exposed_s - t->communication_exposed_s) <= SUM_TOLERANCE * t->time_s);
}

static void add_step(struct tsim_json *root, const struct tsim_step_terms *t) {
    struct tsim_json *step = tsim_json_object(root, "step");
    tsim_json_number(step, "time_s", t->time_s);
    tsim_json_number(step, "compute_s", t->compute_s);
    tsim_json_number(step, "bubble_s", t->bubble_s);
    tsim_json_number(step, "communication_exposed_s", t->communication_exposed_s);
    tsim_json_number(step, "data_stall_s", t->data_stall_s);
    tsim_json_number(step, "optimizer_s", t->optimizer_s);
    tsim_json_number(step, "recompute_s", t->recompute_s);
    /* Beside `step`, whose members are its terms and add up to time_s. */
    struct tsim_json *exposed = tsim_json_object(root, "communication_exposed");
    tsim_json_number(exposed, "tensor_s", t->exposed_tensor_s);
    tsim_json_number(exposed, "pipeline_s", t->exposed_pipeline_s);
    tsim_json_number(exposed, "data_s", t->exposed_data_s);
    tsim_json_number(exposed, "context_s", t->exposed_context_s);
    tsim_json_number(exposed, "expert_s", t->exposed_expert_s);
}

static void add_throughput(struct tsim_json *root, const struct tsim_throughput *t) {
    struct tsim_json *throughput = tsim_json_object(root, "throughput");
    tsim_json_number(throughput, "tokens_per_s", t->tokens_per_s);
    tsim_json_number(throughput, "tokens_per_s_per_gpu", t->tokens_per_s_per_gpu);
    tsim_json_number(throughput, "samples_per_s", t->samples_per_s);
    tsim_json_number(throughput, "model_tflops_per_gpu", t->model_tflops_per_gpu);
    tsim_json_number(throughput, "hardware_tflops_per_gpu", t->hardware_tflops_per_gpu);
    tsim_json_number(throughput, "mfu", t->mfu);
    tsim_json_number(throughput, "hfu", t->hfu);
}

static void add_fractions(struct tsim_json *root, const struct tsim_step_terms *t) {
    struct tsim_json *fractions = tsim_json_object(root, "fractions");
    tsim_json_number(fractions, "bubble", t->bubble_s / t->time_s);
    tsim_json_number(fractions, "communication_exposed", t->communication_exposed_s / t->time_s);
    tsim_json_number(fractions, "data_stall", t->data_stall_s / t->time_s);
}

static void add_memory(struct tsim_json *root, const struct tsim_result *result) {
    const struct tsim_memory *m = &result->memory;
    struct tsim_json *memory = tsim_json_object(root, "memory");
    tsim_json_bool(memory, "fits", result->fits);
    tsim_json_number(memory, "capacity_bytes", m->capacity_bytes);
    tsim_json_number(memory, "peak_bytes", m->peak_bytes);
    tsim_json_number(memory, "weights_bytes", m->weights_bytes);
    tsim_json_number(memory, "gradients_bytes", m->gradients_bytes);
    tsim_json_number(memory, "master_bytes", m->master_bytes);
    tsim_json_number(memory, "optimizer_bytes", m->optimizer_bytes);
    tsim_json_number(memory, "activations_bytes", m->activations_bytes);
    tsim_json_number(memory, "buffers_bytes", m->buffers_bytes + m->reserve_bytes);
    if (result->n_fit_changes == 0)
        return;
    struct tsim_json *changes = tsim_json_array(memory, "changes_that_fit");
    for (int32_t i = 0; i < result->n_fit_changes; i++) {
        struct tsim_json *change = tsim_json_object(changes, NULL);
        tsim_json_text(change, "set", result->fit_changes[i].setting);
        tsim_json_number(change, "peak_bytes", result->fit_changes[i].peak_bytes);
    }
}

static void add_energy(struct tsim_json *root, const struct tsim_result *result) {
    struct tsim_json *energy = tsim_json_object(root, "energy");
    tsim_json_number(energy, "step_j", result->step_energy_j);
    tsim_json_number(energy, "mean_power_w", result->mean_power_w);
}

static void add_model(struct tsim_json *root, const struct tsim_result *result) {
    struct tsim_json *model = tsim_json_object(root, "model");
    tsim_json_number(model, "parameters", result->parameters);
    tsim_json_number(model, "active_parameters", result->active_parameters);
    tsim_json_number(model, "step_model_flops", result->step_model_flops);
    tsim_json_number(model, "step_hardware_flops", result->step_hardware_flops);
}

/* Busy of the time, on the node that feeds most. */
static void add_input(struct tsim_json *root, const struct tsim_input_figures *i) {
    struct tsim_json *input = tsim_json_object(root, "input");
    tsim_json_text(input, "waits_for", i->bound);
    tsim_json_number(input, "storage_busy", i->storage_busy_frac);
    tsim_json_number(input, "reading_busy", i->reading_busy_frac);
    tsim_json_number(input, "transforming_busy", i->transforming_busy_frac);
    tsim_json_number(input, "link_busy", i->link_busy_frac);
    tsim_json_number(input, "host_buffer_bytes", i->host_buffer_bytes);
}

static void add_evaluation(struct tsim_json *root, const struct tsim_result *result) {
    const struct tsim_evaluation *e = &result->evaluation;
    struct tsim_json *evaluation = tsim_json_object(root, "evaluation");
    tsim_json_number(evaluation, "samples", e->samples);
    tsim_json_number(evaluation, "time_s", e->time_s);
    tsim_json_number(evaluation, "energy_j", e->energy_j);
}

static void add_bounds(struct tsim_json *bottleneck, const struct tsim_bound_shares *b) {
    struct tsim_json *shares = tsim_json_object(bottleneck, "shares");
    tsim_json_number(shares, "compute", b->compute_frac);
    tsim_json_number(shares, "memory", b->memory_frac);
    tsim_json_number(shares, "communication", b->communication_frac);
    tsim_json_number(shares, "bubble", b->bubble_frac);
    tsim_json_number(shares, "data", b->data_frac);
    tsim_json_number(shares, "host", b->host_frac);
}

static void add_bottleneck(struct tsim_json *root, const struct tsim_result *result) {
    struct tsim_json *bottleneck = tsim_json_object(root, "bottleneck");
    tsim_json_text(bottleneck, "kind", tsim_bottleneck_kind(result));
    tsim_json_text(bottleneck, "axis", tsim_bottleneck_axis(result));
    add_bounds(bottleneck, &result->bounds);
    struct tsim_json *advice = tsim_json_array(bottleneck, "advice");
    for (int32_t i = 0; i < result->n_advice; i++)
        tsim_json_text(advice, NULL, result->advice[i]);
}

static double finite_or_nan(double value) {
    return isfinite(value) ? value : (double)NAN;
}

static void add_ownership(struct tsim_json *campaign, const struct tsim_ownership *own) {
    if (!own->has)
        return;
    struct tsim_json *object = tsim_json_object(campaign, "ownership");
    tsim_json_number(object, "capital_usd", own->capital_usd);
    tsim_json_number(object, "fixed_usd_per_year", own->fixed_usd_per_y);
    tsim_json_number(object, "run_usd", own->usd);
    tsim_json_number(object, "run_capital_usd", own->capital_share_usd);
    tsim_json_number(object, "run_maintenance_usd", own->maintenance_usd);
    tsim_json_number(object, "run_power_usd", own->power_usd);
    tsim_json_number(object, "run_cooling_usd", own->cooling_usd);
    tsim_json_number(object, "usd_per_trillion_tokens", own->usd_per_trillion_tokens);
    tsim_json_number(object, "breakeven_utilization", finite_or_nan(own->breakeven_utilization));
    tsim_json_number(object, "breakeven_runs", finite_or_nan(own->breakeven_runs));
}

static void add_failures(struct tsim_json *campaign, const struct tsim_campaign *c) {
    tsim_json_number(campaign, "mean_days", c->mean_days);
    tsim_json_number(campaign, "spares", c->spares);
    tsim_json_number(campaign, "checkpoint_interval_s", finite_or_nan(c->checkpoint_interval_s));
    tsim_json_number(campaign, "goodput_p10", c->goodput_p10);
    tsim_json_number(campaign, "goodput_p90", c->goodput_p90);
    tsim_json_number(campaign, "failures_p10", c->failures_p10);
    tsim_json_number(campaign, "failures_p90", c->failures_p90);
    struct tsim_json *distribution = tsim_json_object(campaign, "distribution"), *bins;
    tsim_json_number(distribution, "from_days", c->bin_from_days);
    tsim_json_number(distribution, "to_days", c->bin_to_days);
    bins = tsim_json_array(distribution, "replications");
    for (int i = 0; i < TSIM_CAMPAIGN_BINS; i++)
        tsim_json_integer(bins, NULL, c->bins[i]);
    tsim_json_number(campaign, "mtbf_s", finite_or_nan(c->mtbf_s));
    struct tsim_json *interruptions = tsim_json_object(campaign, "interruptions");
    for (int cause = 0; cause < TSIM_N_CAUSES; cause++)
        tsim_json_number(interruptions, tsim_campaign_loss_name(cause), c->interruptions[cause]);
    struct tsim_json *lost = tsim_json_object(campaign, "lost_accelerator_hours");
    for (int loss = 0; loss < TSIM_N_CAMPAIGN_LOSSES; loss++)
        tsim_json_number(lost, tsim_campaign_loss_name(loss), c->lost_accelerator_h[loss]);
    struct tsim_json *power = tsim_json_object(campaign, "power");
    tsim_json_number(power, "loaded_w", c->loaded_w);
    tsim_json_number(power, "idle_w", c->idle_w);
    tsim_json_number(power, "mean_w", c->energy_kwh * 3.6e6 / (c->mean_days * 86400));
    struct tsim_json *checkpoint = tsim_json_object(campaign, "checkpoint");
    tsim_json_number(checkpoint, "bytes", c->checkpoint_bytes);
    tsim_json_number(checkpoint, "interval_s", finite_or_nan(c->checkpoint_interval_s));
    tsim_json_number(checkpoint, "stall_s", c->checkpoint_stall_s);
    if (c->has_local_tier) {
        struct tsim_json *local = tsim_json_object(checkpoint, "local");
        tsim_json_number(local, "interval_s", c->local_interval_s);
        tsim_json_number(local, "stall_s", c->local_stall_s);
        tsim_json_number(local, "restarts", c->local_restarts);
    }
    if (!c->is_spot)
        return;
    struct tsim_json *spot = tsim_json_object(campaign, "spot");
    tsim_json_number(spot, "on_demand_days", c->on_demand_days);
    tsim_json_number(spot, "on_demand_usd", c->on_demand_usd);
    tsim_json_number(spot, "breakeven_rate_per_h", finite_or_nan(c->breakeven_rate_per_h));
}

static void add_campaign(struct tsim_json *root, const struct tsim_campaign *c, const struct tsim_ramp *ramp) {
    struct tsim_json *campaign = tsim_json_object(root, "campaign");
    tsim_json_number(campaign, "steps", c->steps);
    if (ramp->has) {
        struct tsim_json *object = tsim_json_object(campaign, "batch_ramp");
        tsim_json_number(object, "steps", ramp->steps);
        tsim_json_number(object, "samples", ramp->samples);
        tsim_json_number(object, "time_s", ramp->time_s);
        tsim_json_number(object, "energy_j", ramp->energy_j);
    }
    tsim_json_number(campaign, "skipped_steps", c->skipped_steps > 0 ? c->skipped_steps : (double)NAN);
    tsim_json_number(campaign, "days", c->days);
    tsim_json_number(campaign, "energy_kwh", c->energy_kwh);
    tsim_json_number(campaign, "co2_kg", c->co2_kg);
    tsim_json_number(campaign, "electricity_usd", c->electricity_usd);
    tsim_json_number(campaign, "rent_usd", c->rent_usd);
    tsim_json_number(campaign, "purchase_usd", c->purchase_usd);
    tsim_json_number(campaign, "breakeven_runs", c->breakeven_runs);
    tsim_json_number(campaign, "goodput", c->goodput);
    tsim_json_number(campaign, "failures", c->failures);
    tsim_json_number(campaign, "days_p10", c->days_p10);
    tsim_json_number(campaign, "days_p90", c->days_p90);
    tsim_json_number(campaign, "embodied_co2_kg", c->embodied_co2_kg > 0 ? c->embodied_co2_kg : (double)NAN);
    tsim_json_number(campaign, "reserved_usd", c->own.reserved_usd);
    tsim_json_number(campaign, "rent_usd_per_trillion_tokens", c->own.rent_usd_per_trillion_tokens);
    add_ownership(campaign, &c->own);
    if (c->has_failures)
        add_failures(campaign, c);
}

/* What the literature says of batch and data: study/regimen.h. */
static void add_regimen(struct tsim_json *root, const struct tsim_result *result) {
    struct tsim_regimen r;
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    tsim_regimen(&arena, result, &r);
    struct tsim_json *regimen = tsim_json_object(root, "regimen");
    tsim_json_number(regimen, "tokens_per_parameter", r.tokens_per_parameter);
    tsim_json_number(regimen, "optimal_parameters", r.optimal_parameters);
    tsim_json_number(regimen, "optimal_tokens", r.optimal_tokens);
    tsim_json_number(regimen, "loss_nats", r.loss_nats);
    tsim_json_number(regimen, "critical_batch_tokens", r.critical_batch_tokens);
    tsim_json_number(regimen, "tokens_factor", r.tokens_factor);
    tsim_json_number(regimen, "steps_factor", r.steps_factor);
    tsim_json_number(regimen, "epochs", r.epochs);
    tsim_json_number(regimen, "effective_tokens", r.effective_tokens);
    tsim_json_number(regimen, "learning_rate", r.learning_rate);
    struct tsim_json *notes = tsim_json_array(regimen, "notes");
    for (int i = 0; i < r.n_notes; i++)
        tsim_json_text(notes, NULL, r.notes[i]);
    tsim_arena_release(&arena);
}

static void add_measured(struct tsim_json *root, const struct tsim_result *result) {
    struct tsim_json *measured = tsim_json_array(root, "measured");
    for (int32_t i = 0; i < result->n_measured; i++) {
        const struct tsim_measured_row *row = &result->measured[i];
        struct tsim_json *object = tsim_json_object(measured, NULL);
        tsim_json_text(object, "metric", tsim_metric_name(row->metric));
        tsim_json_number(object, "measured", tsim_metric_in_json(row->metric, row->measured));
        tsim_json_number(object, "predicted", tsim_metric_in_json(row->metric, row->predicted));
        tsim_json_number(object, "error", row->error_frac);
    }
}

static void add_variation(struct tsim_json *root, const struct tsim_variation *v) {
    struct tsim_json *variation = tsim_json_object(root, "variation");
    tsim_json_integer(variation, "steps", v->n_steps);
    tsim_json_number(variation, "step_time_p50_s", v->p50_s);
    tsim_json_number(variation, "step_time_p99_s", v->p99_s);
    tsim_json_number(variation, "step_time_mean_s", v->mean_s);
    tsim_json_number(variation, "step_time_without_s", v->without_s);
    tsim_json_integer(variation, "stragglers", v->n_stragglers);
}

static void add_uncertainty(struct tsim_json *root, const struct tsim_uncertainty *u) {
    struct tsim_json *uncertainty = tsim_json_object(root, "uncertainty");
    tsim_json_number(uncertainty, "step_time_low_s", u->step_time_low_s);
    tsim_json_number(uncertainty, "step_time_high_s", u->step_time_high_s);
    tsim_json_text(uncertainty, "basis", u->basis);
}

static void add_simulator(struct tsim_json *root, const struct tsim_result *result) {
    struct tsim_json *simulator = tsim_json_object(root, "simulator");
    tsim_json_text(simulator, "version", TSIM_VERSION);
    tsim_json_integer(simulator, "events", result->events);
    tsim_json_number(simulator, "wall_s", result->wall_s);
    tsim_json_number(simulator, "peak_rss_bytes", result->peak_rss_bytes);
}

struct tsim_json *tsim_summary_json(const struct tsim_result *result, const struct tsim_logged *logged) {
    tsim_summary_check(result);
    struct tsim_json *root = tsim_json_new_object();
    tsim_json_text(root, "schema", "tsim/summary/v1");
    tsim_json_text(root, "scenario", result->scenario->name);
    if (logged->run_id)
        tsim_json_integer(root, "run_id", logged->run_id);
    tsim_json_text(root, "status", tsim_summary_status(result));
    tsim_json_integer(root, "accelerators", result->scenario->n_accelerators);
    if (result->simulated) {
        add_step(root, &result->step);
        add_throughput(root, &result->throughput);
        add_fractions(root, &result->step);
    }
    add_memory(root, result);
    if (result->simulated)
        add_energy(root, result);
    add_model(root, result);
    if (result->variation.has)
        add_variation(root, &result->variation);
    if (result->input.has)
        add_input(root, &result->input);
    if (result->simulated)
        add_bottleneck(root, result);
    if (result->evaluation.has)
        add_evaluation(root, result);
    if (result->simulated && result->campaign.has)
        add_campaign(root, &result->campaign, &result->ramp);
    if (result->simulated && (result->campaign.has || result->scenario->model->kind == TSIM_MODEL_CNN))
        add_regimen(root, result);
    if (result->uncertainty.basis)
        add_uncertainty(root, &result->uncertainty);
    if (result->n_measured > 0)
        add_measured(root, result);
    add_simulator(root, result);
    return root;
}
