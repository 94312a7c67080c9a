#include "support/run_laws.h"

#include "config/files/catalogue_read.h"
#include "model/executed.h"

/* Returns whether a few milliseconds are enough to run the scenario. Ranks that differ are simulated each by itself,
 * and a step and its input pipeline take turns. */
static bool is_small(const struct tsim_scenario *sc) {
    double passes = (double)sc->n_microbatches * (double)(sc->parallelism.pipeline * sc->parallelism.virtual_pipeline);
    bool is_whole = !sc->simulation.fold || sc->simulation.network == TSIM_NETWORK_STEPS ||
                    sc->cluster.n_degraded > 0 || sc->cluster.n_background > 0 || tsim_scenario_varies(sc);
    double n_simulated = is_whole ? (double)sc->n_accelerators * fmax(8, (double)sc->model->layers) : 1;
    return sc->n_accelerators <= 512 && passes <= 2048 && passes * n_simulated * (sc->data.has ? 8 : 1) <= 4000;
}

bool run_scenario(struct run *run, const struct tsim_scenario *scenario) {
    const struct tsim_run_options options = {.ignore_memory = true};
    tsim_arena_init(&run->arena);
    tsim_diags_init(&run->diags);
    run->scenario = scenario;
    return tsim_train_run(&run->arena, scenario, &options, &run->result, &run->diags) == TSIM_OK;
}

/* Returns the cache with which the catalogue's files are parsed once for all scenarios; the files do not change. */
static struct tsim_file_cache *catalogue_files(void) {
    static struct tsim_arena arena;
    static struct tsim_file_cache *files;
    if (!files) {
        tsim_arena_init(&arena);
        files = tsim_file_cache_new(&arena);
    }
    return files;
}

static bool load(struct run *run, const char *text, const struct tsim_override *overrides, size_t n_overrides) {
    if (tsim_scenario_open_text(&run->arena, "random.yaml", text, &run->source, &run->diags) != TSIM_OK)
        return false;
    run->source.files = catalogue_files();
    return tsim_scenario_load_from(&run->arena, &run->source, overrides, n_overrides, &run->scenario, &run->diags) ==
           TSIM_OK;
}

bool run_start(struct run *run, const char *text, const struct tsim_override *overrides, size_t n_overrides) {
    const struct tsim_run_options options = {.ignore_memory = true};
    tsim_arena_init(&run->arena);
    tsim_diags_init(&run->diags);
    bool is_valid = load(run, text, overrides, n_overrides);
    if (is_valid && is_small(run->scenario))
        is_valid = tsim_train_run(&run->arena, run->scenario, &options, &run->result, &run->diags) == TSIM_OK;
    else
        is_valid = is_valid && (run->diags.n_errors++, false);
    TSIM_ALWAYS(is_valid || run->diags.n_errors > 0, "refused without a word:\n%s", text);
    return is_valid;
}

void run_end(struct run *run) {
    tsim_diags_release(&run->diags);
    tsim_arena_release(&run->arena);
}

static void check_terms(const char *text, const struct tsim_scenario *sc, const struct tsim_step_terms *t) {
    const double exposed[] = {t->exposed_tensor_s, t->exposed_pipeline_s, t->exposed_data_s, t->exposed_context_s,
                              t->exposed_expert_s};
    const double terms[] = {t->compute_s,    t->recompute_s, t->bubble_s, t->communication_exposed_s,
                            t->data_stall_s, t->optimizer_s};
    double sum = 0, sum_exposed = 0;
    for (size_t i = 0; i < sizeof exposed / sizeof exposed[0]; i++)
        sum_exposed += exposed[i];
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++) {
        LAW(terms[i] >= -1e-8 * t->time_s - rounding_s(sc), "term %zu is %g of %g s", i, terms[i], t->time_s);
        sum += terms[i];
    }
    LAW(isfinite(t->time_s) && t->time_s > 0, "a step of %g s", t->time_s);
    LAW(fabs(sum - t->time_s) <= 1e-6 * t->time_s, "terms add up to %.17g of %.17g s", sum, t->time_s);
    LAW(fabs(sum_exposed - t->communication_exposed_s) <= 1e-6 * t->time_s, "exposed communication does not add up");
}

static void check_memory(const char *text, const struct tsim_memory *m) {
    const double kinds[] = {m->weights_bytes,     m->gradients_bytes, m->master_bytes, m->optimizer_bytes,
                            m->activations_bytes, m->buffers_bytes,   m->reserve_bytes};
    double sum = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        LAW(kinds[i] >= 0, "memory of kind %zu is %g", i, kinds[i]);
        sum += kinds[i];
    }
    LAW(is_near(sum, m->peak_bytes, 1e-9), "memory adds up to %g of %g bytes", sum, m->peak_bytes);
}

static void check_rates(const char *text, const struct tsim_scenario *sc, const struct tsim_result *r) {
    const struct tsim_accelerator *a = sc->cluster.node->accelerator;
    double n = (double)sc->n_accelerators, best_flops_per_s = 0;
    for (int p = 0; p < TSIM_N_PRECISIONS; p++)
        best_flops_per_s = fmax(best_flops_per_s, a->peak_flops_per_s[p]);
    LAW(is_near(r->step.throughput.samples_per_s * r->step.terms.time_s, (double)sc->training.global_batch_size, 1e-9),
        "samples");
    /* 6 N counts the rows of an embedding, which are looked up, too: next to nothing, but in models of two layers. */
    double looked_up = (double)sc->model->vocab * (double)sc->model->hidden / r->step.active_parameters;
    double saved = sc->model->kind == TSIM_MODEL_CNN ? 2.25 : 1; /* at most, by Winograd's convolutions */
    LAW(isnan(r->step.throughput.mfu) ||
            (r->step.throughput.mfu > 0 && r->step.throughput.mfu * (1 - looked_up) < saved),
        "MFU is %g", r->step.throughput.mfu);
    LAW(isnan(r->step.throughput.hfu) || (r->step.throughput.hfu > 0 && r->step.throughput.hfu <= 1), "HFU is %g",
        r->step.throughput.hfu);
    LAW(r->step.terms.compute_s + r->step.terms.bubble_s + r->step.terms.time_s > 0 &&
            r->step.terms.time_s * n * fmax(best_flops_per_s, a->vector_flops_per_s) > r->step.model_flops / 3,
        "faster than the matrix units");
    LAW(is_near(r->step.energy_j, r->step.mean_power_w * r->step.terms.time_s, 1e-6), "energy is not power times time");
    LAW(r->step.mean_power_w >= n * a->power_idle_w * (1 - 1e-9), "less power than at rest");
    double peak_flops_per_s = a->peak_flops_per_s[sc->training.precision];
    LAW(isnan(r->step.throughput.hfu) || !(peak_flops_per_s > 0) ||
            is_near(r->step.throughput.hfu * r->step.terms.time_s * n * peak_flops_per_s, r->step.hardware_flops, 1e-9),
        "HFU is not of the FLOPs executed");
    struct tsim_scenario of_a_step = *sc;
    of_a_step.training.length_kind = TSIM_LENGTH_STEPS;
    of_a_step.training.length = 1;
    double least_flops = tsim_least_run_flops(&of_a_step);
    LAW(least_flops <= r->step.hardware_flops * (1 + 1e-9), "any plan executes %g FLOPs, this one %g", least_flops,
        r->step.hardware_flops);
}

/* Days are the work and what was lost. */
static void check_campaign(const char *text, const struct tsim_scenario *sc, const struct tsim_result *r) {
    const struct tsim_campaign *c = &r->campaign;
    double work_s = c->steps * r->step.terms.time_s, lost_s = 0, n = (double)sc->n_accelerators, n_binned = 0;
    double paid = n + (double)(sc->reliability.spares * sc->cluster.accelerators_per_node);
    if (!c->has_failures)
        return;
    for (int loss = 0; loss < TSIM_N_CAMPAIGN_LOSSES; loss++) {
        double each_s = c->lost_accelerator_h[loss] * 3600 / n; /* times between pauses are whole milliseconds */
        LAW(each_s >= -1e-3 * c->steps, "lost to %s: %g s", tsim_campaign_loss_name(loss), each_s);
        lost_s += each_s;
    }
    for (int bin = 0; bin < TSIM_CAMPAIGN_BINS; bin++)
        n_binned += (double)c->bins[bin];
    LAW(fabs(work_s + lost_s - c->mean_days * 86400) <= 0.01 + 1e-9 * work_s, "%g s of work and %g s lost in %g s",
        work_s, lost_s, c->mean_days * 86400);
    LAW(n_binned == (double)(sc->reliability.has ? sc->reliability.replications : 1), "%g replications in the bins",
        n_binned);
    double few_days = c->days_p10 * (1 - 1e-12), many_days = c->days_p90 * (1 + 1e-12);
    LAW(few_days <= c->days && c->days <= many_days && c->goodput > 0 && c->goodput <= 1, "days or goodput");
    LAW(c->failures_p10 <= c->failures_p90 && c->failures >= 0, "failures");
    LAW(isnan(c->rent_usd) || c->is_spot ||
            is_near(c->rent_usd, c->mean_days * 86400 * paid * sc->cost.rent_usd_per_s, 1e-9),
        "rent is not price times time");
    LAW(c->energy_kwh * 3.6e6 >= sc->energy.pue * (work_s * (1 - 1e-9) - 1e-3 * c->steps) * r->step.mean_power_w,
        "less energy than the work's");
}

void check_run(const char *text, const struct run *run) {
    const struct tsim_scenario *sc = run->scenario;
    const struct tsim_result *r = &run->result;
    check_terms(text, sc, &r->step.terms);
    check_memory(text, &r->step.memory);
    check_rates(text, sc, r);
    check_campaign(text, sc, r);
    double multiplicity = 0, energy_j = 0;
    for (int32_t i = 0; i < r->step.n_ranks; i++) {
        check_terms(text, sc, &r->step.ranks[i].terms);
        check_memory(text, &r->step.ranks[i].memory);
        LAW(r->step.ranks[i].memory.peak_bytes <= r->step.memory.peak_bytes * (1 + 1e-12),
            "a rank fuller than the fullest");
        multiplicity += r->step.ranks[i].multiplicity;
        energy_j += r->step.ranks[i].multiplicity * r->step.ranks[i].energy_j;
    }
    LAW(is_near(energy_j, r->step.energy_j, 1e-9), "the ranks use %g J of %g J", energy_j, r->step.energy_j);
    LAW(multiplicity == (double)sc->n_accelerators, "%g accelerators simulated of %lld", multiplicity,
        (long long)sc->n_accelerators);
}
