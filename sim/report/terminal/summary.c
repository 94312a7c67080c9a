#include "report/terminal/summary.h"

#include "model/model.h"
#include "report/terminal/summary_screen.h"
#include "results/measured.h"
#include "results/outcome.h"
#include "results/verdict.h"
#include "step/unplayed.h"

#include <math.h>
#include <string.h>

enum { MOST_ADVICE = 2, MOST_ESTIMATES = 3, TEXT_BYTES = 64, BAR_BYTES = 3 * 100 + 1 };

/* ---- what was simulated ---- */

static const char *axis(struct tsim_screen *screen, const char *name, int64_t degree, const char *so_far) {
    if (degree <= 1)
        return so_far;
    return tsim_arena_printf(&screen->arena, "%s%s%s %lld", so_far, so_far[0] ? " x " : "", name, (long long)degree);
}

static const char *degrees(struct tsim_screen *screen, const struct tsim_parallelism_spec *p) {
    const char *text = axis(screen, "tensor", p->tensor, "");
    text = axis(screen, "context", p->context, text);
    text = axis(screen, "expert", p->expert, text);
    text = axis(screen, "pipeline", p->pipeline, text);
    if (p->virtual_pipeline > 1)
        text = tsim_arena_printf(&screen->arena, "%s (virtual %lld)", text, (long long)p->virtual_pipeline);
    text = axis(screen, "data", p->data, text);
    return text[0] ? text : "one accelerator";
}

static void print_plan(struct tsim_screen *screen, const struct tsim_parallelism_spec *p) {
    const char *text = degrees(screen, p);
    if (p->zero > 0)
        text = tsim_arena_printf(&screen->arena, "%s, ZeRO-%d", text, p->zero);
    if (p->zero > 0 && p->zero_group_ranks < p->data * p->context)
        text = tsim_arena_printf(&screen->arena, "%s over %lld ranks", text, (long long)p->zero_group_ranks);
    if (p->sequence)
        text = tsim_arena_printf(&screen->arena, "%s, sequence parallel", text);
    if (p->pipeline > 1)
        text = tsim_arena_printf(&screen->arena, "%s, %s", text, tsim_schedule_name(p->schedule));
    if (p->local_sgd.workers > 0)
        text = tsim_arena_printf(&screen->arena, "%s, %lld workers that meet every %lld steps", text,
                                 (long long)p->local_sgd.workers, (long long)p->local_sgd.steps);
    tsim_screen_line(screen, "plan", "%s", text);
    if (!p->balances)
        return;
    text = "";
    for (int64_t i = 0; i < tsim_n_model_parts(p); i++)
        text = tsim_arena_printf(&screen->arena, "%s%s%lld", text, i ? " " : "", (long long)p->layers_per_chunk[i]);
    tsim_screen_line(screen, "layers", "balanced: %s", text);
}

static void print_model(struct tsim_screen *screen, const struct tsim_result *result) {
    const char *active = "", *mtp = "";
    if (result->step.active_parameters < result->step.parameters)
        active = tsim_arena_printf(&screen->arena, " (%s active)",
                                   tsim_screen_count(screen, result->step.active_parameters));
    if (result->step.mtp_parameters > 0)
        mtp = tsim_arena_printf(&screen->arena, ", %s of them for multi-token prediction",
                                tsim_screen_count(screen, result->step.mtp_parameters));
    tsim_screen_line(screen, "model", "%s, %s parameters%s%s", result->scenario->model->name,
                     tsim_screen_count(screen, result->step.parameters), active, mtp);
}

static void print_adapter(struct tsim_screen *screen, const struct tsim_result *result) {
    const struct tsim_adapter_spec *a = &result->scenario->training.adapter;
    static const char *const BASES[] = {[TSIM_BASE_AS_TRAINING] = "",
                                        [TSIM_BASE_INT8] = ", its products' weights in int8",
                                        [TSIM_BASE_NF4] = ", its products' weights in nf4"};
    if (a->kind != TSIM_ADAPTER_NONE)
        tsim_screen_line(screen, "adapter", "rank %lld: %s parameters are trained, the model's are frozen%s",
                         (long long)a->rank, tsim_screen_count(screen, result->step.trained_parameters),
                         BASES[a->base_precision]);
}

static void print_cluster(struct tsim_screen *screen, const struct tsim_scenario *scenario) {
    const struct tsim_cluster_spec *c = &scenario->cluster;
    const char *fabric = c->fabric ? tsim_arena_printf(&screen->arena, ", fabric %s", c->fabric->name) : "";
    tsim_screen_line(screen, "cluster", "%s x %s on %s node%s %s%s",
                     tsim_screen_count(screen, (double)tsim_all_accelerators(scenario)), c->node->accelerator->name,
                     tsim_screen_count(screen, (double)c->nodes), c->nodes == 1 ? "" : "s", c->node->name, fabric);
}

static void print_batch(struct tsim_screen *screen, const struct tsim_scenario *scenario) {
    const struct tsim_training_spec *t = &scenario->training;
    const char *samples = tsim_screen_count(screen, (double)t->global_batch_size), *batch, *pass = "", *decoder = "";
    const char *recompute =
        t->recompute == TSIM_RECOMPUTE_NONE ? "no recompute"
        : t->recompute == TSIM_RECOMPUTE_LAYERS
            ? tsim_arena_printf(&screen->arena, "recompute %lld layers", (long long)t->recompute_layers)
            : tsim_arena_printf(&screen->arena, "recompute %s", tsim_recompute_name(t->recompute));
    if (t->decoder_sequence_length > 0)
        decoder = tsim_arena_printf(&screen->arena, " (decoder %s)",
                                    tsim_screen_count(screen, (double)t->decoder_sequence_length));
    if (scenario->model->image.patch > 0 || tsim_model_has_ends(scenario->model)) {
        batch = tsim_arena_printf(&screen->arena,
                                  scenario->model->image.patch > 0 ? "%s images of %s tokens%s" : "%s x %s tokens%s",
                                  samples, tsim_screen_count(screen, (double)t->sequence_length), decoder);
        pass = tsim_arena_printf(&screen->arena, ", %s, %s attention", recompute,
                                 t->attention == TSIM_ATTENTION_FLASH ? "flash" : "standard");
    } else {
        batch = tsim_arena_printf(&screen->arena, "%s samples", samples);
    }
    tsim_screen_line(screen, "batch", "%s, micro-batch %lld, %s, %s%s", batch, (long long)t->micro_batch_size,
                     tsim_precision_name(t->precision), tsim_optimizer_name(t->optimizer), pass);
}

static void print_lengths(struct tsim_screen *screen, const struct tsim_result *result) {
    const struct tsim_lengths_spec *l = &result->scenario->training.lengths;
    if (!(l->mean > 0))
        return;
    if (l->batching == TSIM_BATCHING_PACKED)
        tsim_screen_line(
            screen, "samples", "packed: a token attends to %s tokens of its own sample%s",
            tsim_screen_count(screen, round(l->attended)),
            l->fill < 1 ? tsim_arena_printf(&screen->arena, "; %.0f %% of the packs are padding", 100 * (1 - l->fill))
                        : "");
    else
        tsim_screen_line(screen, "samples",
                         "%s tokens long on average, padded to %s: %.0f %% of the computation is padding",
                         tsim_screen_count(screen, round(l->useful)), tsim_screen_count(screen, (double)l->pass),
                         100 * result->step.padding_frac);
}

static void print_offload(struct tsim_screen *screen, const struct tsim_scenario *scenario) {
    const struct tsim_offload_spec *o = &scenario->training.offload;
    if (!o->optimizer && !(o->activations_frac > 0))
        return;
    const char *share = o->activations_frac > 0
                            ? tsim_arena_printf(&screen->arena, "%.3g %% of the activations", 100 * o->activations_frac)
                            : "";
    tsim_screen_line(screen, "offload", "to the host: %s%s%s", o->optimizer ? "master weights and optimizer" : "",
                     o->optimizer && share[0] ? ", " : "", share);
}

static void print_data(struct tsim_screen *screen, const struct tsim_data_spec *data) {
    if (!data->has)
        return;
    const char *cpu = data->sample_cpu_s > 0
                          ? tsim_arena_printf(&screen->arena, ", %s of a core",
                                              tsim_screen_human(screen, data->sample_cpu_s, TSIM_TIME_S))
                          : "";
    tsim_screen_line(screen, "data", "%s, %s: %s a sample%s; %lld workers a node, %lld batches ahead each",
                     data->storage->name, data->access == TSIM_ACCESS_RANDOM ? "random" : "sequential",
                     tsim_screen_human(screen, data->sample_bytes, TSIM_BYTES), cpu, (long long)data->workers,
                     (long long)data->prefetch);
}

static void print_inputs(struct tsim_screen *screen, const struct tsim_result *result) {
    const struct tsim_scenario *scenario = result->scenario;
    fprintf(screen->out, "%s%s%s\n", tsim_tint_on(screen->style, TSIM_TINT_BOLD), scenario->name,
            tsim_tint_off(screen->style));
    print_model(screen, result);
    print_adapter(screen, result);
    print_cluster(screen, scenario);
    print_plan(screen, &scenario->parallelism);
    tsim_screen_line(screen, "software", "%s%s", scenario->software->name,
                     scenario->software_defaulted ? " (the default: the scenario names none)" : "");
    print_batch(screen, scenario);
    print_lengths(screen, result);
    print_offload(screen, scenario);
    print_data(screen, &scenario->data);
}

/* ---- how fast ---- */

static const char *interval(struct tsim_screen *screen, const struct tsim_uncertainty *u) {
    if (!u->basis)
        return "";
    return tsim_arena_printf(&screen->arena, " (%s to %s: %s)",
                             tsim_screen_human(screen, u->step_time_low_s, TSIM_TIME_S),
                             tsim_screen_human(screen, u->step_time_high_s, TSIM_TIME_S), u->basis);
}

static const char *device_of(const struct tsim_result *result) {
    return tsim_device_word(result->scenario->cluster.node->accelerator);
}

static void print_speed(struct tsim_screen *screen, const struct tsim_prediction *prediction) {
    const struct tsim_result *result = &prediction->result;
    const char *unit = device_of(result);
    const struct tsim_throughput *t = &result->step.throughput;
    fputc('\n', screen->out);
    tsim_screen_line(screen, "step time", "%s%s", tsim_screen_human(screen, result->step.terms.time_s, TSIM_TIME_S),
                     interval(screen, &prediction->uncertainty));
    bool is_image = result->scenario->model->image.patch > 0 || result->scenario->model->kind == TSIM_MODEL_CNN;
    const char *what = is_image ? "images" : "samples";
    if (tsim_model_is_of_samples(result->scenario->model))
        tsim_screen_line(screen, "throughput", "%s %s/s, %s %s/s per %s", tsim_screen_rate(screen, t->samples_per_s),
                         what, tsim_screen_rate(screen, t->samples_per_s / (double)result->scenario->n_accelerators),
                         what, unit);
    else
        tsim_screen_line(screen, "throughput", "%s tokens/s, %s tokens/s per %s, %s samples/s",
                         tsim_screen_rate(screen, t->tokens_per_s), tsim_screen_rate(screen, t->tokens_per_s_per_gpu),
                         unit, tsim_screen_rate(screen, t->samples_per_s));
    const char *label = tsim_arena_printf(&screen->arena, "per %s", unit);
    tsim_screen_line(screen, strlen(label) < strlen("per accelerator") ? label : "each",
                     "%s (MFU %s%s), %s executed (HFU %s)",
                     tsim_screen_human(screen, 1e12 * t->model_tflops_per_gpu, TSIM_FLOPS_PER_S),
                     tsim_screen_percent(screen, t->mfu),
                     tsim_model_has_ends(result->scenario->model) ? ", full attention counted" : "",
                     tsim_screen_human(screen, 1e12 * t->hardware_tflops_per_gpu, TSIM_FLOPS_PER_S),
                     tsim_screen_percent(screen, t->hfu));
}

/* ---- the parts of the step and of the memory: rows of name, value, share, bar ---- */

struct share {
    const char *name;
    double value;
};

/* Prints a row: the name's column is 24 wide, the value's 12, the share's 9. */
static void print_share(struct tsim_screen *screen, const char *name, const char *value, double frac) {
    char share[TEXT_BYTES], bar[BAR_BYTES];
    int bar_columns = screen->style->width - (2 + 24 + 12 + 9 + 2);
    bar_columns = bar_columns > 40 ? 40 : bar_columns;
    fprintf(screen->out, "  %-24s%12s %8s  %s\n", name, value, tsim_share_text(frac, share, sizeof share),
            tsim_bar(frac, bar_columns, bar, sizeof bar));
}

static void print_total(struct tsim_screen *screen, const char *name, const char *value, double frac) {
    char share[TEXT_BYTES];
    fprintf(screen->out, "  %-24s%12s %8s\n", name, value, tsim_share_text(frac, share, sizeof share));
}

static void print_terms(struct tsim_screen *screen, const struct tsim_result *result) {
    struct tsim_outcome outcome;
    char text[TEXT_BYTES];
    tsim_outcome_of_run(result, &outcome);
    double step_s = outcome.value[TSIM_OUTCOME_STEP_TIME];
    tsim_screen_heading(screen, "where the step goes (slowest rank)");
    for (int i = 0; i < TSIM_N_STEP_TERMS; i++) {
        double term_s = outcome.value[tsim_step_terms[i].figure];
        if (term_s > TSIM_ROUNDING_FRAC * step_s)
            print_share(screen, tsim_step_terms[i].name, tsim_seconds_text(term_s, step_s, text, sizeof text),
                        term_s / step_s);
    }
    print_total(screen, "total", tsim_seconds_text(step_s, step_s, text, sizeof text), 1.0);
}

static void print_memory(struct tsim_screen *screen, const struct tsim_result *result) {
    const struct tsim_memory *m = &result->step.memory;
    char text[TEXT_BYTES], title[TEXT_BYTES];
    snprintf(title, sizeof title, "memory of the fullest rank (pipeline stage %d)", (int)result->step.fullest_stage);
    tsim_screen_heading(screen, title);
    for (int kind = 0; kind < TSIM_N_MEMORY_KINDS; kind++) {
        double bytes = tsim_memory_of_kind(m, kind);
        if (bytes > 0.0)
            print_share(screen, tsim_memory_kinds[kind].name, tsim_gigabytes_text(bytes, text, sizeof text),
                        bytes / m->capacity_bytes);
    }
    snprintf(title, sizeof title, "peak, of %s", tsim_gigabytes_text(m->capacity_bytes, text, sizeof text));
    print_total(screen, title, tsim_gigabytes_text(m->peak_bytes, text, sizeof text),
                m->peak_bytes / m->capacity_bytes);
}

/* ---- power, the whole run, reality ---- */

static void print_power(struct tsim_screen *screen, const struct tsim_result *result) {
    double n_accelerators = (double)result->scenario->n_accelerators;
    tsim_screen_line(screen, "power", "%s at the nodes (%s per %s), %s a step",
                     tsim_screen_human(screen, result->step.mean_power_w, TSIM_WATTS),
                     tsim_screen_human(screen, result->step.mean_power_w / n_accelerators, TSIM_WATTS),
                     device_of(result), tsim_screen_human(screen, result->step.energy_j, TSIM_JOULES));
}

/* Prints how lucky this seed is, and what other draws of slow accelerators take. */
static void print_stragglers(struct tsim_screen *screen, const struct tsim_result *result) {
    const struct tsim_straggler_draws *d = &result->step.variation.draws;
    double n = (double)result->step.variation.n_stragglers;
    if (!d->has)
        return;
    tsim_screen_line(
        screen, "stragglers",
        "%s of the %s accelerators %s slow with seed %lld; on average %.3g are, and %s of all draws have at least one",
        n > 0 ? tsim_screen_count(screen, n) : "none",
        tsim_screen_count(screen, (double)result->scenario->n_accelerators), n == 1 ? "is" : "are",
        (long long)result->scenario->simulation.seed, d->expected, tsim_screen_percent(screen, d->chance_frac));
    tsim_screen_line(screen, "", "step over all draws: %s to %s in eight of ten, median %s, mean %s; %s with none slow",
                     tsim_screen_human(screen, d->p10_s, TSIM_TIME_S), tsim_screen_human(screen, d->p90_s, TSIM_TIME_S),
                     tsim_screen_human(screen, d->p50_s, TSIM_TIME_S),
                     tsim_screen_human(screen, d->mean_s, TSIM_TIME_S),
                     tsim_screen_human(screen, result->step.variation.without_s, TSIM_TIME_S));
}

static void print_variation(struct tsim_screen *screen, const struct tsim_result *result) {
    const struct tsim_variation *v = &result->step.variation;
    if (!v->has)
        return;
    if (result->scenario->variability.compute_cv > 0)
        tsim_screen_line(
            screen, "variation",
            "%d steps: median %s, 99th percentile %s, mean %s, which is %.1f %% more than the %s without variation",
            (int)v->n_steps, tsim_screen_human(screen, v->p50_s, TSIM_TIME_S),
            tsim_screen_human(screen, v->p99_s, TSIM_TIME_S), tsim_screen_human(screen, v->mean_s, TSIM_TIME_S),
            100 * (v->mean_s / v->without_s - 1), tsim_screen_human(screen, v->without_s, TSIM_TIME_S));
    print_stragglers(screen, result);
}

static void print_input(struct tsim_screen *screen, const struct tsim_input_figures *i) {
    if (!i->has)
        return;
    tsim_screen_line(
        screen, "input",
        "storage busy %s of the time, workers reading %s and transforming %s, links %s; %s of host memory",
        tsim_screen_percent(screen, i->storage_busy_frac), tsim_screen_percent(screen, i->reading_busy_frac),
        tsim_screen_percent(screen, i->transforming_busy_frac), tsim_screen_percent(screen, i->link_busy_frac),
        tsim_screen_human(screen, i->host_buffer_bytes, TSIM_BYTES));
}

static void print_evaluation(struct tsim_screen *screen, const struct tsim_result *result) {
    const struct tsim_evaluation *e = &result->evaluation;
    const struct tsim_period *interval = &result->scenario->training.evaluation.interval;
    if (e->has)
        tsim_screen_line(screen, "evaluation", "%s for %s samples%s, every %s%s",
                         tsim_screen_human(screen, e->time_s, TSIM_TIME_S), tsim_screen_count(screen, e->samples),
                         result->scenario->training.evaluation.tokens > 0 ? " and a text" : "",
                         interval->kind == TSIM_PERIOD_STEPS ? tsim_screen_count(screen, interval->value)
                                                             : tsim_screen_human(screen, interval->value, TSIM_TIME_S),
                         interval->kind == TSIM_PERIOD_STEPS ? " steps" : "");
}

static void print_post_training(struct tsim_screen *screen, const struct tsim_prediction *prediction) {
    const struct tsim_result *result = &prediction->result;
    const struct tsim_uncertainty *u = &prediction->uncertainty;
    const struct tsim_post_training *p = &result->post_training;
    const struct tsim_generation_phase *g = &p->generation;
    const struct tsim_scenario *sc = result->scenario;
    if (!p->has)
        return;
    const char *beside = sc->generation.ahead > 0
                             ? tsim_arena_printf(&screen->arena, "; %s of them side by side",
                                                 tsim_screen_human(screen, p->beside_s, TSIM_TIME_S))
                             : "";
    const char *copies = p->copies_s > 0 ? tsim_arena_printf(&screen->arena, ", copies to the host and back %s",
                                                             tsim_screen_human(screen, p->copies_s, TSIM_TIME_S))
                                         : "";
    const char *generated =
        g->has ? tsim_arena_printf(&screen->arena, "generation %s, ", tsim_screen_human(screen, g->time_s, TSIM_TIME_S))
               : "";
    tsim_screen_line(screen, "round", "%s: %s%s %s, training %s%s%s%s%s",
                     tsim_screen_human(screen, p->time_s, TSIM_TIME_S), generated,
                     sc->teaching ? "the teacher's passes" : "scoring",
                     tsim_screen_human(screen, p->scoring_s, TSIM_TIME_S),
                     tsim_screen_human(screen, p->training_s, TSIM_TIME_S), g->has ? ", transfer of the weights " : "",
                     g->has ? tsim_screen_human(screen, p->transfer_s, TSIM_TIME_S) : "", copies, beside);
    if (u->n_rounds > 0)
        tsim_screen_line(screen, "", "%s to %s: 90 %% interval from %d measured rounds, whose phases are not known",
                         tsim_screen_human(screen, u->round_low_s, TSIM_TIME_S),
                         tsim_screen_human(screen, u->round_high_s, TSIM_TIME_S), (int)u->n_rounds);
    if (sc->generation.nodes > 0)
        tsim_screen_line(
            screen, "", "%s accelerators generate, %s train%s",
            tsim_screen_count(screen, (double)tsim_generating_accelerators(sc)),
            tsim_screen_count(screen, (double)sc->n_accelerators),
            sc->generation.ahead > 0
                ? tsim_arena_printf(&screen->arena, "; samples are trained on by a policy that is up to %s newer",
                                    sc->generation.ahead == 1 ? "one round"
                                                              : tsim_arena_printf(&screen->arena, "%lld rounds",
                                                                                  (long long)sc->generation.ahead))
                : ", in turn");
    if (g->has)
        tsim_screen_line(screen, "generation",
                         "%s tokens/s per accelerator, %s sequences at once, the longest response %s tokens; "
                         "rewards are not counted",
                         tsim_screen_count(screen, round(g->tokens_per_s_per_gpu)),
                         tsim_screen_count(screen, g->sequences), tsim_screen_count(screen, g->longest_tokens));
}

static void print_servers(struct tsim_screen *screen, const struct tsim_result *result) {
    const struct tsim_parameter_server *s = &result->server;
    const struct tsim_server_spec *spec = &result->scenario->parallelism.parameter_server;
    if (!s->has)
        return;
    tsim_screen_line(screen, "servers", "a batch takes %s with pushes and pulls of %s workers (%s of it), %s samples/s",
                     tsim_screen_human(screen, s->time_s, TSIM_TIME_S),
                     tsim_screen_count(screen, (double)spec->workers),
                     tsim_screen_human(screen, s->exchange_s, TSIM_TIME_S), tsim_screen_rate(screen, s->samples_per_s));
    tsim_screen_line(screen, "", "the NICs of %s servers are busy for %s of the time; %s",
                     tsim_screen_count(screen, (double)spec->servers), tsim_screen_percent(screen, s->busy_frac),
                     spec->is_synchronous
                         ? "workers wait for each other, and gradients are never stale"
                         : tsim_arena_printf(&screen->arena,
                                             "gradients are %.3g updates old on average, %.3g at most; what that "
                                             "does to the loss is not predicted",
                                             s->staleness, s->most_staleness));
}

static void print_measured(struct tsim_screen *screen, const struct tsim_result *result) {
    char measured[TEXT_BYTES], predicted[TEXT_BYTES], error[TEXT_BYTES];
    struct tsim_measured_rows rows;
    tsim_measured_of(result, &rows);
    if (rows.n == 0)
        return;
    fprintf(screen->out, "%s%-25s %14s %14s %9s%s\n", tsim_tint_on(screen->style, TSIM_TINT_BOLD),
            "beside what was measured", "measured", "predicted", "error", tsim_tint_off(screen->style));
    for (int32_t i = 0; i < rows.n; i++) {
        const struct tsim_measured_row *row = &rows.rows[i];
        fprintf(screen->out, "  %-23s %14s %14s %9s\n", tsim_metric_name(row->metric),
                tsim_metric_text(row->metric, row->measured, measured, sizeof measured),
                tsim_metric_text(row->metric, row->predicted, predicted, sizeof predicted),
                tsim_error_text(row->error_frac, error, sizeof error));
    }
    const char *doubtful = result->scenario->measured.doubtful;
    if (doubtful)
        tsim_screen_line(screen, "  doubtful", "%s", doubtful);
}

static const char *input_text(const char *bound) {
    static const char *const TEXTS[][2] = {{"storage", "the storage's bandwidth"},
                                           {"requests", "requests that the workers send one after another"},
                                           {"workers", "the workers' time on the host's cores"},
                                           {"link", "copies to the accelerators"},
                                           {"prefetch", "too little is loaded ahead"}};
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++)
        if (strcmp(TEXTS[i][0], bound) == 0)
            return TEXTS[i][1];
    return bound;
}

/* Returns "43 % of the step is compute, ...": the shares of a hundredth or more, the largest first. */
static const char *bounds_text(struct tsim_screen *screen, const struct tsim_result *result) {
    const struct tsim_bound_shares *b = &result->step.bounds;
    bool is_compute = strcmp(tsim_bottleneck_kind(result), "compute") == 0;
    struct share shares[] = {
        {"compute", b->compute_frac}, {"memory", b->memory_frac}, {"communication", b->communication_frac},
        {"bubble", b->bubble_frac},   {"data", b->data_frac},     {"host", b->host_frac}};
    enum { N = sizeof shares / sizeof shares[0] };
    const char *text = "";
    for (int32_t n = 0; n < N; n++) {
        struct share *largest = &shares[0];
        for (int32_t i = 1; i < N; i++)
            if (shares[i].value > largest->value)
                largest = &shares[i];
        if (largest->value < 0.01)
            break;
        text = tsim_arena_printf(&screen->arena, "%s%s%s %s", text, n ? ", " : "",
                                 tsim_screen_percent(screen, largest->value), largest->name);
        if (n == 0 && largest == &shares[0] && !is_compute) /* why it is not the bottleneck */
            text = tsim_arena_printf(&screen->arena, "%s (%s even at the peak rate)", text,
                                     tsim_screen_percent(screen, b->least_frac));
        largest->value = -1;
    }
    return text;
}

/* Tells of compute that waits for the host more than it could save on the accelerator. */
static const char *launches_text(struct tsim_screen *screen, const struct tsim_result *result) {
    const struct tsim_software *software = result->scenario->software;
    const struct tsim_bound_shares *b = &result->step.bounds;
    if (strcmp(tsim_bottleneck_kind(result), "compute") != 0 || !(b->host_frac > b->compute_frac - b->least_frac))
        return "";
    if (!tsim_is_quantized(result->scenario->training.precision) || !(software->host_time_per_fp8_op_s > 0))
        return ": launches by the host";
    return tsim_arena_printf(&screen->arena, ": launches by the host, %s each in %s (%s in bf16)",
                             tsim_screen_human(screen, software->host_time_per_fp8_op_s, TSIM_TIME_S),
                             tsim_precision_name(result->scenario->training.precision),
                             tsim_screen_human(screen, software->host_time_per_op_s, TSIM_TIME_S));
}

static void print_advice(struct tsim_screen *screen, const struct tsim_prediction *prediction) {
    const struct tsim_result *result = &prediction->result;
    tsim_screen_line(
        screen, "bottleneck", "%s%s%s; %s", tsim_bottleneck_kind(result), result->step.bottleneck_is_data ? ": " : "",
        result->step.bottleneck_is_data ? input_text(result->step.input.bound) : launches_text(screen, result),
        bounds_text(screen, result));
    for (int32_t i = 0; i < prediction->n_advice && i < MOST_ADVICE; i++)
        tsim_screen_line(screen, i == 0 ? "advice" : "", "%s", prediction->advice[i]);
}

static void print_notes(struct tsim_screen *screen, const struct tsim_result *result) {
    const struct tsim_scenario *scenario = result->scenario;
    const char *text = "";
    if (tsim_may_not_fit(result->step.memory.peak_bytes, result->step.memory.capacity_bytes))
        tsim_screen_line(screen, "may not fit",
                         result->step.memory.peak_bytes > result->step.memory.capacity_bytes
                             ? "a little too large, and one in ten measured peaks was %.1f %% or more below the "
                               "prediction"
                             : "one in ten measured peaks was %.0f %% or more above the prediction, and PyTorch is "
                               "slow when memory is full",
                         result->step.memory.peak_bytes > result->step.memory.capacity_bytes
                             ? 100 * (1 - TSIM_ONE_IN_TEN_PEAKS)
                             : 100 * (TSIM_NINE_IN_TEN_PEAKS - 1));
    for (size_t i = 0; i < scenario->n_estimates && i < MOST_ESTIMATES; i++)
        text = tsim_arena_printf(&screen->arena, "%s%s%s", text, i ? ", " : "", scenario->estimates[i]);
    if (scenario->n_estimates > MOST_ESTIMATES)
        text = tsim_arena_printf(&screen->arena, "%s and %zu more", text, scenario->n_estimates - MOST_ESTIMATES);
    if (scenario->n_estimates > 0)
        tsim_screen_line(screen, "estimates", "this result uses estimates: %s", text);
    const struct tsim_experts *experts = &scenario->model->experts;
    if (experts->count > 0 && scenario->parallelism.expert > 1 && !(experts->capacity_factor > 0) &&
        !(experts->imbalance_frac > 0))
        tsim_screen_line(screen, "assumed",
                         "each expert gets as many tokens as the others, apart from chance (experts.imbalance)");
    if (tsim_experts_keep_step(scenario))
        tsim_screen_line(
            screen, "in step",
            "groups of experts meet on links at the same time; on hardware that varies they drift apart and "
            "wait less: variability.compute_cv=0.01");
    if (!scenario->reliability.has)
        tsim_screen_line(screen, "not modelled", "failures, checkpoints%s: add a margin to the whole run",
                         result->step.variation.has ? "" : ", stragglers");
}

static void print_logged(struct tsim_screen *screen, const struct tsim_logged *logged) {
    if (logged->run_id)
        tsim_screen_line(screen, "logged", "run %lld in %s", (long long)logged->run_id, logged->file);
}

/* ---- the two screens ---- */

static void print_misfit(struct tsim_screen *screen, const struct tsim_result *result) {
    char text[TEXT_BYTES];
    double excess_bytes = result->step.memory.peak_bytes - result->step.memory.capacity_bytes;
    fprintf(screen->out, "\n%sdoes not fit: %s too much%s\n", tsim_tint_on(screen->style, TSIM_TINT_RED),
            tsim_gigabytes_text(excess_bytes, text, sizeof text), tsim_tint_off(screen->style));
    if (result->step.n_fit_changes == 0) {
        fputs("no change of the plan, the batch, recomputation or offload that was tried makes it fit\n", screen->out);
        return;
    }
    fputs("the smallest changes that fit, each alone:\n", screen->out);
    for (int32_t i = 0; i < result->step.n_fit_changes; i++)
        fprintf(screen->out, "  --set %-36s peak %s\n", result->step.fit_changes[i].setting,
                tsim_gigabytes_text(result->step.fit_changes[i].peak_bytes, text, sizeof text));
}

static void print_outcome(struct tsim_screen *screen, const struct tsim_prediction *prediction) {
    const struct tsim_result *result = &prediction->result;
    print_input(screen, &result->step.input);
    print_variation(screen, result);
    print_power(screen, result);
    print_post_training(screen, prediction);
    print_servers(screen, result);
    print_evaluation(screen, result);
    tsim_screen_campaign(screen, prediction);
    print_measured(screen, result);
    print_advice(screen, prediction);
    print_notes(screen, result);
}

void tsim_summary_print(FILE *out, const struct tsim_style *style, const struct tsim_prediction *prediction,
                        const struct tsim_logged *logged) {
    const struct tsim_result *result = &prediction->result;
    struct tsim_screen screen = {.out = out, .style = style};
    tsim_arena_init(&screen.arena);
    tsim_result_check(result);
    print_inputs(&screen, result);
    if (result->step.simulated) {
        print_speed(&screen, prediction);
        print_terms(&screen, result);
    }
    print_memory(&screen, result);
    if (!result->step.fits) {
        struct tsim_fold fold;
        screen.out = tsim_fold_open(&fold, style, out);
        print_misfit(&screen, result);
        tsim_fold_close(&fold);
        screen.out = out;
    }
    fputc('\n', out);
    if (result->step.simulated)
        print_outcome(&screen, prediction);
    print_logged(&screen, logged);
    tsim_arena_release(&screen.arena);
}
