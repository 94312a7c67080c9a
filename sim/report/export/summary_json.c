#include "report/terminal/summary.h"

#include "base/version.h"
#include "results/format.h"
#include "results/verdict.h"
#include "study/scaling_laws.h"

#include <math.h>
#include <string.h>

/* ---- figures that stand in a struct as they stand in JSON ---- */

struct figure {
    const char *key;
    size_t offset;
};

static void add_figures(struct tsim_json *parent, const struct figure *figures, const void *object) {
    for (const struct figure *f = figures; f->key; f++) {
        const void *member = (const char *)object + f->offset;
        tsim_json_number(parent, f->key, *(const double *)member);
    }
}

/* clang-format off */
/* Rows of a table over struct OF; that a member is a double is for the compiler to see. */
#define AT(type, member) (offsetof(struct type, member) + 0 * sizeof(_Generic(((struct type *)0)->member, double : 0)))
#define NAMED(key, member) {key, AT(OF, member)}
#define SAME(member) NAMED(#member, member)
#define END {NULL, 0}

#define OF tsim_step_terms
static const struct figure STEP[] = {
    SAME(time_s), SAME(compute_s), SAME(bubble_s), SAME(communication_exposed_s), SAME(data_stall_s),
    SAME(optimizer_s), SAME(recompute_s), END};
static const struct figure EXPOSED[] = {
    NAMED("tensor_s", exposed_tensor_s), NAMED("pipeline_s", exposed_pipeline_s), NAMED("data_s", exposed_data_s),
    NAMED("context_s", exposed_context_s), NAMED("expert_s", exposed_expert_s), END};

#undef OF
#define OF tsim_throughput
static const struct figure THROUGHPUT[] = {
    SAME(tokens_per_s), SAME(tokens_per_s_per_gpu), SAME(samples_per_s), SAME(model_tflops_per_gpu),
    SAME(hardware_tflops_per_gpu), SAME(mfu), SAME(hfu), END};

#undef OF
#define OF tsim_memory
static const struct figure MEMORY[] = {
    SAME(capacity_bytes), SAME(peak_bytes), SAME(weights_bytes), SAME(gradients_bytes), SAME(master_bytes),
    SAME(optimizer_bytes), SAME(activations_bytes), END};

#undef OF
#define OF tsim_step_result
static const struct figure MODEL[] = {
    SAME(parameters), SAME(active_parameters), SAME(mtp_parameters), NAMED("step_model_flops", model_flops),
    NAMED("step_hardware_flops", hardware_flops), END};
static const struct figure ENERGY[] = {NAMED("step_j", energy_j), SAME(mean_power_w), END};

#undef OF
#define OF tsim_input_figures
static const struct figure INPUT[] = {
    NAMED("storage_busy", storage_busy_frac), NAMED("reading_busy", reading_busy_frac),
    NAMED("transforming_busy", transforming_busy_frac), NAMED("link_busy", link_busy_frac), SAME(host_buffer_bytes), END};

#undef OF
#define OF tsim_evaluation
static const struct figure EVALUATION[] = {SAME(samples), SAME(time_s), SAME(energy_j), END};

#undef OF
#define OF tsim_bound_shares
static const struct figure BOUNDS[] = {
    NAMED("compute", compute_frac), NAMED("memory", memory_frac), NAMED("communication", communication_frac),
    NAMED("bubble", bubble_frac), NAMED("data", data_frac), NAMED("host", host_frac), END};

#undef OF
#define OF tsim_campaign
static const struct figure CAMPAIGN[] = {
    SAME(days), SAME(energy_kwh), SAME(co2_kg), SAME(electricity_usd), SAME(rent_usd), SAME(purchase_usd),
    SAME(breakeven_runs), SAME(goodput), SAME(failures), SAME(days_p10), SAME(days_p90), END};
static const struct figure FAILURES[] = {
    SAME(mean_days), SAME(spares), SAME(checkpoint_interval_s), SAME(goodput_p10),
    SAME(goodput_p90), SAME(failures_p10), SAME(failures_p90), END};
static const struct figure MTBF[] = {SAME(mtbf_s), END};
static const struct figure POWER[] = {SAME(loaded_w), SAME(idle_w), END};
static const struct figure CHECKPOINT[] = {
    NAMED("bytes", checkpoint_bytes), NAMED("interval_s", checkpoint_interval_s),
    NAMED("stall_s", checkpoint_stall_s), END};
static const struct figure LOCAL_CHECKPOINT[] = {
    NAMED("interval_s", local_interval_s), NAMED("stall_s", local_stall_s), NAMED("restarts", local_restarts), END};
static const struct figure SPOT[] = {
    SAME(on_demand_days), SAME(on_demand_usd), SAME(breakeven_rate_per_h), END};

#undef OF
#define OF tsim_ownership
static const struct figure OWNERSHIP[] = {
    SAME(capital_usd), NAMED("fixed_usd_per_year", fixed_usd_per_y), NAMED("run_usd", usd),
    NAMED("run_capital_usd", capital_share_usd), NAMED("run_maintenance_usd", maintenance_usd),
    NAMED("run_power_usd", power_usd), NAMED("run_cooling_usd", cooling_usd), SAME(usd_per_trillion_tokens),
    SAME(breakeven_utilization), SAME(breakeven_runs), END};

#undef OF
#define OF tsim_batch_ramp
static const struct figure RAMP[] = {SAME(steps), SAME(samples), SAME(time_s), SAME(energy_j), END};

#undef OF
#define OF tsim_scaling_laws
static const struct figure SCALING_LAWS[] = {
    SAME(tokens_per_parameter), SAME(optimal_parameters), SAME(optimal_tokens), SAME(loss_nats),
    SAME(critical_batch_tokens), SAME(tokens_factor), SAME(steps_factor), SAME(epochs), SAME(effective_tokens),
    SAME(learning_rate), END};

#undef OF
#define OF tsim_variation
static const struct figure VARIATION[] = {
    NAMED("step_time_p50_s", p50_s), NAMED("step_time_p99_s", p99_s), NAMED("step_time_mean_s", mean_s),
    NAMED("step_time_without_s", without_s), END};

#undef OF
#define OF tsim_straggler_draws
static const struct figure STRAGGLER_DRAWS[] = {
    SAME(expected), NAMED("chance", chance_frac), NAMED("step_time_p10_s", p10_s), NAMED("step_time_p50_s", p50_s),
    NAMED("step_time_p90_s", p90_s), NAMED("step_time_mean_s", mean_s), END};

#undef OF
#define OF tsim_percentiles
static const struct figure RANGE[] = {SAME(p10), SAME(p50), SAME(p90), END};

#undef OF
#define OF tsim_uncertainty
static const struct figure UNCERTAINTY[] = {SAME(step_time_low_s), SAME(step_time_high_s), END};
#undef OF
/* clang-format on */

/* ---- sections ---- */

static void add_section(struct tsim_json *root, const char *key, const struct figure *figures, const void *object) {
    add_figures(tsim_json_object(root, key), figures, object);
}

static void add_fractions(struct tsim_json *root, const struct tsim_step_terms *t) {
    struct tsim_json *fractions = tsim_json_object(root, "fractions");
    tsim_json_number(fractions, "bubble", t->bubble_s / t->time_s);
    tsim_json_number(fractions, "communication_exposed", t->communication_exposed_s / t->time_s);
    tsim_json_number(fractions, "data_stall", t->data_stall_s / t->time_s);
}

static void add_memory(struct tsim_json *root, const struct tsim_result *result) {
    const struct tsim_memory *m = &result->step.memory;
    struct tsim_json *memory = tsim_json_object(root, "memory");
    tsim_json_bool(memory, "fits", result->step.fits);
    tsim_json_bool(memory, "may_not_fit",
                   tsim_may_not_fit(result->step.memory.peak_bytes, result->step.memory.capacity_bytes));
    add_figures(memory, MEMORY, m);
    tsim_json_number(memory, "buffers_bytes", m->buffers_bytes + m->reserve_bytes);
    if (result->step.n_fit_changes == 0)
        return;
    struct tsim_json *changes = tsim_json_array(memory, "changes_that_fit");
    for (int32_t i = 0; i < result->step.n_fit_changes; i++) {
        struct tsim_json *change = tsim_json_object(changes, NULL);
        tsim_json_text(change, "set", result->step.fit_changes[i].setting);
        tsim_json_number(change, "peak_bytes", result->step.fit_changes[i].peak_bytes);
    }
}

/* Busy of the time, on the node that feeds most. */
static void add_input(struct tsim_json *root, const struct tsim_input_figures *figures) {
    struct tsim_json *input = tsim_json_object(root, "input");
    tsim_json_text(input, "waits_for", figures->bound);
    add_figures(input, INPUT, figures);
}

static void add_bottleneck(struct tsim_json *root, const struct tsim_prediction *prediction) {
    const struct tsim_result *result = &prediction->result;
    struct tsim_json *bottleneck = tsim_json_object(root, "bottleneck");
    tsim_json_text(bottleneck, "kind", tsim_bottleneck_kind(result));
    tsim_json_text(bottleneck, "axis", tsim_bottleneck_axis(result));
    add_section(bottleneck, "shares", BOUNDS, &result->step.bounds);
    struct tsim_json *advice = tsim_json_array(bottleneck, "advice");
    for (int32_t i = 0; i < prediction->n_advice; i++)
        tsim_json_text(advice, NULL, prediction->advice[i]);
}

static void add_distribution(struct tsim_json *campaign, const struct tsim_campaign *c) {
    struct tsim_json *distribution = tsim_json_object(campaign, "distribution");
    tsim_json_number(distribution, "from_days", c->bin_from_days);
    tsim_json_number(distribution, "to_days", c->bin_to_days);
    struct tsim_json *bins = tsim_json_array(distribution, "replications");
    for (int i = 0; i < TSIM_CAMPAIGN_BINS; i++)
        tsim_json_integer(bins, NULL, c->bins[i]);
}

static void add_losses(struct tsim_json *campaign, const struct tsim_campaign *c) {
    struct tsim_json *interruptions = tsim_json_object(campaign, "interruptions");
    for (int cause = 0; cause < TSIM_N_CAUSES; cause++)
        tsim_json_number(interruptions, tsim_campaign_loss_name(cause), c->interruptions[cause]);
    struct tsim_json *lost = tsim_json_object(campaign, "lost_accelerator_hours");
    for (int loss = 0; loss < TSIM_N_CAMPAIGN_LOSSES; loss++)
        tsim_json_number(lost, tsim_campaign_loss_name(loss), c->lost_accelerator_h[loss]);
}

static void add_failures(struct tsim_json *campaign, const struct tsim_campaign *c) {
    add_figures(campaign, FAILURES, c);
    add_distribution(campaign, c);
    add_figures(campaign, MTBF, c);
    add_losses(campaign, c);
    struct tsim_json *power = tsim_json_object(campaign, "power");
    add_figures(power, POWER, c);
    tsim_json_number(power, "mean_w", c->energy_kwh * 3.6e6 / (c->mean_days * 86400));
    struct tsim_json *checkpoint = tsim_json_object(campaign, "checkpoint");
    add_figures(checkpoint, CHECKPOINT, c);
    if (c->has_local_tier)
        add_section(checkpoint, "local", LOCAL_CHECKPOINT, c);
    if (c->is_spot)
        add_section(campaign, "spot", SPOT, c);
}

static void add_campaign(struct tsim_json *root, const struct tsim_campaign *c, const struct tsim_batch_ramp *ramp) {
    struct tsim_json *campaign = tsim_json_object(root, "campaign");
    tsim_json_number(campaign, "steps", c->steps);
    if (ramp->has)
        add_section(campaign, "batch_ramp", RAMP, ramp);
    tsim_json_number(campaign, "skipped_steps", c->skipped_steps > 0 ? c->skipped_steps : (double)NAN);
    add_figures(campaign, CAMPAIGN, c);
    tsim_json_number(campaign, "embodied_co2_kg", c->embodied_co2_kg > 0 ? c->embodied_co2_kg : (double)NAN);
    tsim_json_number(campaign, "reserved_usd", c->own.reserved_usd);
    tsim_json_number(campaign, "rent_usd_per_trillion_tokens", c->own.rent_usd_per_trillion_tokens);
    if (c->own.has)
        add_section(campaign, "ownership", OWNERSHIP, &c->own);
    if (c->has_failures)
        add_failures(campaign, c);
}

/* What the literature says of batch and data: study/scaling_laws.h. */
static void add_scaling_laws(struct tsim_json *root, const struct tsim_result *result) {
    struct tsim_scaling_laws r;
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    tsim_scaling_laws(&arena, result, &r);
    struct tsim_json *laws = tsim_json_object(root, "regimen");
    add_figures(laws, SCALING_LAWS, &r);
    struct tsim_json *notes = tsim_json_array(laws, "notes");
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
    add_figures(variation, VARIATION, v);
    tsim_json_integer(variation, "stragglers", v->n_stragglers);
    if (!v->draws.has)
        return;
    struct tsim_json *draws = tsim_json_object(variation, "straggler_draws");
    tsim_json_integer(draws, "simulated", v->draws.n);
    add_figures(draws, STRAGGLER_DRAWS, &v->draws);
}

static void add_uncertainty(struct tsim_json *root, const struct tsim_uncertainty *u) {
    struct tsim_json *uncertainty = tsim_json_object(root, "uncertainty");
    add_figures(uncertainty, UNCERTAINTY, u);
    tsim_json_text(uncertainty, "basis", u->basis);
    if (!u->has_run)
        return;
    add_section(uncertainty, "days", RANGE, &u->days);
    if (!isnan(u->cost_usd.p50))
        add_section(uncertainty, "cost_usd", RANGE, &u->cost_usd);
    add_section(uncertainty, "energy_kwh", RANGE, &u->energy_kwh);
    struct tsim_json *because = tsim_json_array(uncertainty, "because");
    for (int i = 0; i < u->n_because; i++)
        tsim_json_text(because, NULL, u->because[i]);
}

static void add_simulator(struct tsim_json *root, const struct tsim_result *result) {
    struct tsim_json *simulator = tsim_json_object(root, "simulator");
    tsim_json_text(simulator, "version", TSIM_VERSION);
    tsim_json_integer(simulator, "events", result->events);
    tsim_json_number(simulator, "wall_s", result->wall_s);
    tsim_json_number(simulator, "peak_rss_bytes", result->peak_rss_bytes);
}

struct tsim_json *tsim_summary_json(const struct tsim_prediction *prediction, const struct tsim_logged *logged) {
    const struct tsim_result *result = &prediction->result;
    tsim_result_check(result);
    struct tsim_json *root = tsim_json_new_object();
    tsim_json_text(root, "schema", "tsim/summary/v1");
    tsim_json_text(root, "scenario", result->scenario->name);
    if (logged->run_id)
        tsim_json_integer(root, "run_id", logged->run_id);
    tsim_json_text(root, "status", tsim_result_status(result));
    tsim_json_integer(root, "accelerators", result->scenario->n_accelerators);
    if (result->step.simulated) {
        add_section(root, "step", STEP, &result->step.terms);
        /* beside `step`, whose members are its terms and add up to time_s */
        add_section(root, "communication_exposed", EXPOSED, &result->step.terms);
        add_section(root, "throughput", THROUGHPUT, &result->step.throughput);
        add_fractions(root, &result->step.terms);
    }
    add_memory(root, result);
    if (result->step.simulated)
        add_section(root, "energy", ENERGY, &result->step);
    add_section(root, "model", MODEL, &result->step);
    if (result->step.variation.has)
        add_variation(root, &result->step.variation);
    if (result->step.input.has)
        add_input(root, &result->step.input);
    if (result->step.simulated)
        add_bottleneck(root, prediction);
    if (result->evaluation.has)
        add_section(root, "evaluation", EVALUATION, &result->evaluation);
    if (result->step.simulated && result->campaign.has)
        add_campaign(root, &result->campaign, &result->batch_ramp);
    if (result->step.simulated && (result->campaign.has || result->scenario->model->kind == TSIM_MODEL_CNN))
        add_scaling_laws(root, result);
    if (prediction->uncertainty.basis)
        add_uncertainty(root, &prediction->uncertainty);
    if (result->n_measured > 0)
        add_measured(root, result);
    add_simulator(root, result);
    return root;
}
