/* What a run costs on an owned machine (campaign/ownership.h), what the literature says of its batch and data
 * (results/scaling_laws.h), what it is bound by, and the step's interval. */
#include "campaign/ownership.h"
#include "report/terminal/explain_term_build.h"
#include "results/scaling_laws.h"

#include <math.h>
#include <string.h>

#define YEAR_S (365.25 * 86400)
#define HOFFMANN "Hoffmann et al. 2022 (arXiv:2203.15556)"

static const struct tsim_result *result_of(const struct tsim_terms *terms) {
    return terms->explanation->result;
}

static const struct tsim_term *definition(struct tsim_terms *terms, const char *name, double value,
                                          enum tsim_dimension dimension) {
    return tsim_term_given(terms, name, value, dimension, "definition");
}

/* name = the product of so many parts, each to its power. */
static const struct tsim_term *product(struct tsim_terms *terms, const char *name, const char *formula,
                                       enum tsim_dimension dimension, const struct tsim_term_part *parts, int n) {
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_PRODUCT, name, formula, (double)NAN, dimension);
    for (int i = 0; i < n; i++)
        tsim_term_add(terms, term, parts[i].term, parts[i].factor);
    return tsim_term_close(terms, term, NULL);
}
#define PRODUCT(terms, name, formula, dimension, ...)                                                                  \
    product(terms, name, formula, dimension, (const struct tsim_term_part[]){__VA_ARGS__},                             \
            sizeof((const struct tsim_term_part[]){__VA_ARGS__}) / sizeof(struct tsim_term_part))

/* ---- the machine ---- */

static const struct tsim_term *cost(struct tsim_terms *terms, const char *key, double value,
                                    enum tsim_dimension dimension) {
    return tsim_term_of_scenario(terms, key, value, dimension);
}

/* With those of the spare nodes. */
static const struct tsim_term *accelerators(struct tsim_terms *terms) {
    const struct tsim_scenario *sc = terms->scenario;
    const struct tsim_campaign *c = &result_of(terms)->campaign;
    double spares = c->has_failures ? c->spares : 0; /* as given, or found */
    double all = ((double)sc->cluster.nodes + spares) * (double)sc->cluster.accelerators_per_node;
    const struct tsim_term *used = tsim_term_accelerators(terms);
    if (!(all > used->value))
        return used;
    return tsim_term_times(terms, "accelerators, spares included", "accelerators x nodes with spares over nodes",
                           TSIM_COUNT, used,
                           tsim_term_given(terms, "nodes with spares, over nodes", all / used->value, TSIM_FRACTION,
                                           "the scenario: reliability.spares"));
}

static const struct tsim_term *capital(struct tsim_terms *terms, const char *name) {
    const struct tsim_cost_spec *c = &terms->scenario->cost;
    struct tsim_term *around = tsim_term_new(terms, TSIM_TERM_SUM, "machine over its accelerators",
                                             "1 + host + network + storage", (double)NAN, TSIM_FRACTION);
    tsim_term_add(terms, around, definition(terms, "the accelerators", 1, TSIM_FRACTION), 1);
    tsim_term_add(terms, around, cost(terms, "cost.host", c->host_frac, TSIM_FRACTION), 1);
    tsim_term_add(terms, around, cost(terms, "cost.network", c->network_frac, TSIM_FRACTION), 1);
    tsim_term_add(terms, around, cost(terms, "cost.storage", c->storage_frac, TSIM_FRACTION), 1);
    return PRODUCT(terms, name, "accelerators x price x (1 + host + network + storage)", TSIM_USD,
                   {accelerators(terms), 1}, {cost(terms, "cost.purchase", c->purchase_usd, TSIM_USD), 1},
                   {tsim_term_close(terms, around, NULL), 1});
}

static const struct tsim_term *annuity(struct tsim_terms *terms) {
    const struct tsim_cost_spec *c = &terms->scenario->cost;
    double value = tsim_annuity_per_y(c->interest_frac, c->lifetime_s / YEAR_S, c->residual_frac);
    struct tsim_term *term = tsim_term_new(
        terms, TSIM_TERM_OUTCOME, "capital's cost of a year, over the capital",
        "(1 - residual / (1 + interest)^lifetime) interest / (1 - (1 + interest)^-lifetime); without interest (1 - "
        "residual) / lifetime, in years",
        value, TSIM_FRACTION);
    tsim_term_add(terms, term, cost(terms, "cost.residual", c->residual_frac, TSIM_FRACTION), 1);
    tsim_term_add(terms, term, cost(terms, "cost.interest", c->interest_frac, TSIM_FRACTION), 1);
    tsim_term_add(terms, term, cost(terms, "cost.lifetime", c->lifetime_s, TSIM_TIME_S), 1);
    return tsim_term_close(terms, term, NULL);
}

static const struct tsim_term *maintenance(struct tsim_terms *terms) {
    return cost(terms, "cost.maintenance", terms->scenario->cost.maintenance_frac, TSIM_FRACTION);
}

static const struct tsim_term *of_a_year(struct tsim_terms *terms, const char *name) {
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_SUM, name, "capital x (its cost of a year + maintenance)",
                                           (double)NAN, TSIM_USD);
    tsim_term_add(terms, term,
                  tsim_term_times(terms, "capital's cost of a year", "capital x what a year of it costs", TSIM_USD,
                                  capital(terms, "capital"), annuity(terms)),
                  1);
    tsim_term_add(terms, term,
                  tsim_term_times(terms, "maintenance of a year", "capital x maintenance", TSIM_USD,
                                  capital(terms, "capital"), maintenance(terms)),
                  1);
    return tsim_term_close(terms, term, NULL);
}

/* ---- the run ---- */

/* Of all replications. */
static const struct tsim_term *mean_time(struct tsim_terms *terms) {
    const struct tsim_campaign *c = &result_of(terms)->campaign;
    const struct tsim_term *day = definition(terms, "a day", 86400, TSIM_TIME_S);
    if (!c->has_failures)
        return tsim_term_times(terms, "time of the run", "days x a day", TSIM_TIME_S,
                               tsim_term_of_rates(terms, "campaign.days"), day);
    return tsim_term_times(terms, "mean time of the run", "mean days x a day", TSIM_TIME_S,
                           tsim_term_given(terms, "campaign.mean_days", c->mean_days, TSIM_FRACTION,
                                           "Monte Carlo of the campaign (sim/campaign/replication.h)"),
                           day);
}

static const struct tsim_term *years(struct tsim_terms *terms) {
    double utilization = terms->scenario->cost.utilization_frac;
    return PRODUCT(terms, "years of the machine", "time of the run / a year / utilization", TSIM_FRACTION,
                   {mean_time(terms), 1}, {definition(terms, "a year", YEAR_S, TSIM_TIME_S), -1},
                   {cost(terms, "cost.utilization", utilization, TSIM_FRACTION), -1});
}

static const struct tsim_term *electricity(struct tsim_terms *terms) {
    return tsim_term_of_rates(terms, "campaign.electricity_usd");
}

static const struct tsim_term *run_capital(struct tsim_terms *terms, const char *name) {
    return PRODUCT(terms, name, "capital x its cost of a year x years of the machine", TSIM_USD,
                   {capital(terms, "capital"), 1}, {annuity(terms), 1}, {years(terms), 1});
}

static const struct tsim_term *run_maintenance(struct tsim_terms *terms, const char *name) {
    return PRODUCT(terms, name, "capital x maintenance x years of the machine", TSIM_USD,
                   {capital(terms, "capital"), 1}, {maintenance(terms), 1}, {years(terms), 1});
}

static const struct tsim_term *run_power(struct tsim_terms *terms, const char *name) {
    return tsim_term_over(terms, name, "electricity / PUE", TSIM_USD, electricity(terms),
                          tsim_term_of_scenario(terms, "energy.pue", terms->scenario->energy.pue, TSIM_FRACTION));
}

static const struct tsim_term *run_cooling(struct tsim_terms *terms, const char *name) {
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_SUM, name, "electricity - what the nodes take", (double)NAN, TSIM_USD);
    tsim_term_add(terms, term, electricity(terms), 1);
    tsim_term_add(terms, term, run_power(terms, "electricity of the nodes"), -1);
    return tsim_term_close(terms, term, NULL);
}

static const struct tsim_term *run_cost(struct tsim_terms *terms, const char *name) {
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_SUM, name, "capital + maintenance + electricity", (double)NAN, TSIM_USD);
    tsim_term_add(terms, term, run_capital(terms, "campaign.ownership.run_capital_usd"), 1);
    tsim_term_add(terms, term, run_maintenance(terms, "campaign.ownership.run_maintenance_usd"), 1);
    tsim_term_add(terms, term, electricity(terms), 1);
    return tsim_term_close(terms, term, NULL);
}

/* Without those whose update is skipped. */
static const struct tsim_term *useful_steps(struct tsim_terms *terms) {
    const struct tsim_term *all = tsim_term_of_rates(terms, "campaign.steps");
    if (!(result_of(terms)->campaign.skipped_steps > 0))
        return all;
    struct tsim_term *steps = tsim_term_new(terms, TSIM_TERM_SUM, "steps that update", "steps - those that are skipped",
                                            (double)NAN, TSIM_COUNT);
    tsim_term_add(terms, steps, all, 1);
    tsim_term_add(terms, steps, tsim_term_of_rates(terms, "campaign.skipped_steps"), -1);
    return tsim_term_close(terms, steps, NULL);
}

static const struct tsim_term *run_tokens(struct tsim_terms *terms) {
    return tsim_term_times(terms, "tokens of the run", "steps x tokens of a step", TSIM_COUNT, useful_steps(terms),
                           tsim_term_tokens(terms));
}

static const struct tsim_term *per_trillion(struct tsim_terms *terms, const char *name, const struct tsim_term *usd) {
    return PRODUCT(terms, name, "cost of the run / its tokens x a trillion", TSIM_USD, {usd, 1},
                   {run_tokens(terms), -1}, {definition(terms, "a trillion", 1e12, TSIM_COUNT), 1});
}

/* By owning, of the rent: what pays for the machine. */
static const struct tsim_term *saved(struct tsim_terms *terms) {
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_SUM, "rent that is saved", "rent - electricity", (double)NAN, TSIM_USD);
    tsim_term_add(terms, term, tsim_term_of_rates(terms, "campaign.rent_usd"), 1);
    tsim_term_add(terms, term, electricity(terms), -1);
    return tsim_term_close(terms, term, NULL);
}

static const struct tsim_term *breakeven(struct tsim_terms *terms, const char *name, bool is_runs) {
    const struct tsim_term *year = definition(terms, "a year", YEAR_S, TSIM_TIME_S);
    if (is_runs)
        return PRODUCT(terms, name, "cost of a year x lifetime in years / rent that a run saves", TSIM_FRACTION,
                       {of_a_year(terms, "cost of a year"), 1},
                       {cost(terms, "cost.lifetime", terms->scenario->cost.lifetime_s, TSIM_TIME_S), 1}, {year, -1},
                       {saved(terms), -1});
    return PRODUCT(terms, name, "cost of a year / (rent that a run saves x runs of a year)", TSIM_FRACTION,
                   {of_a_year(terms, "cost of a year"), 1}, {saved(terms), -1}, {mean_time(terms), 1}, {year, -1});
}

static const struct tsim_term *embodied(struct tsim_terms *terms, const char *name) {
    const struct tsim_cost_spec *c = &terms->scenario->cost;
    return PRODUCT(terms, name, "accelerators x CO2 of making one x time / (lifetime x utilization)", TSIM_KG,
                   {accelerators(terms), 1},
                   {tsim_term_of_scenario(terms, "energy.embodied", terms->scenario->energy.embodied_kg, TSIM_KG), 1},
                   {mean_time(terms), 1}, {cost(terms, "cost.lifetime", c->lifetime_s, TSIM_TIME_S), -1},
                   {cost(terms, "cost.utilization", c->utilization_frac, TSIM_FRACTION), -1});
}

static const struct tsim_term *owned_term(struct tsim_terms *terms, const char *key) {
    const struct tsim_ownership *own = &result_of(terms)->campaign.own;
    const char *name = tsim_arena_printf(terms->arena, "campaign.ownership.%s", key);
    if (!own->has)
        return NULL;
    if (strcmp(key, "capital_usd") == 0)
        return capital(terms, name);
    if (strcmp(key, "fixed_usd_per_year") == 0)
        return of_a_year(terms, name);
    if (strcmp(key, "run_usd") == 0)
        return run_cost(terms, name);
    if (strcmp(key, "run_capital_usd") == 0)
        return run_capital(terms, name);
    if (strcmp(key, "run_maintenance_usd") == 0)
        return run_maintenance(terms, name);
    if (strcmp(key, "run_power_usd") == 0)
        return run_power(terms, name);
    if (strcmp(key, "run_cooling_usd") == 0)
        return run_cooling(terms, name);
    if (strcmp(key, "usd_per_trillion_tokens") == 0)
        return isnan(own->usd_per_trillion_tokens)
                   ? NULL
                   : per_trillion(terms, name, run_cost(terms, "campaign.ownership.run_usd"));
    if (strcmp(key, "breakeven_runs") != 0 && strcmp(key, "breakeven_utilization") != 0)
        return NULL;
    return isfinite(own->breakeven_runs) ? breakeven(terms, name, strcmp(key, "breakeven_runs") == 0) : NULL;
}

const struct tsim_term *tsim_term_of_ownership(struct tsim_terms *terms, const char *name) {
    const struct tsim_campaign *c = &result_of(terms)->campaign;
    const char *key = strrchr(name, '.') + 1;
    if (!c->has)
        return NULL;
    if (strcmp(key, "embodied_co2_kg") == 0)
        return c->embodied_co2_kg > 0 ? embodied(terms, name) : NULL;
    if (strcmp(key, "rent_usd_per_trillion_tokens") == 0)
        return isnan(c->own.rent_usd_per_trillion_tokens)
                   ? NULL
                   : per_trillion(terms, name, tsim_term_of_rates(terms, "campaign.rent_usd"));
    return owned_term(terms, key);
}

/* ---- batch and data ---- */

static const struct tsim_term *fitted(struct tsim_terms *terms, const char *name, const char *formula, double value,
                                      const struct tsim_term *a, const struct tsim_term *b) {
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_OUTCOME, name, formula, value, TSIM_COUNT);
    tsim_term_add(terms, term, a, 1);
    if (b)
        tsim_term_add(terms, term, b, 1);
    return tsim_term_close(terms, term, NULL);
}

static const struct tsim_term *parameters(struct tsim_terms *terms) {
    return tsim_term_of_rates(terms, "model.active_parameters");
}

static const struct tsim_term *epochs(struct tsim_terms *terms) {
    const struct tsim_scenario *sc = terms->scenario;
    return PRODUCT(
        terms, "regimen.epochs", "steps x batch / samples of the data", TSIM_FRACTION, {useful_steps(terms), 1},
        {tsim_term_of_scenario(terms, "training.global_batch_size", (double)sc->training.global_batch_size, TSIM_COUNT),
         1},
        {tsim_term_of_scenario(terms, "data.samples", sc->data.samples, TSIM_COUNT), -1});
}

static const struct tsim_term *effective(struct tsim_terms *terms, const struct tsim_scaling_laws *r) {
    return fitted(terms, "regimen.effective_tokens",
                  "U (1 + 15.4 (1 - exp(-(epochs - 1) / 15.4))), U the data's tokens (Muennighoff et al. 2023, "
                  "arXiv:2305.16264, equation 5)",
                  r->effective_tokens, run_tokens(terms), epochs(terms));
}

static const struct tsim_term *loss(struct tsim_terms *terms, const struct tsim_scaling_laws *r) {
    return fitted(terms, "regimen.loss_nats",
                  "1.69 + 406.4 / parameters^0.34 + 410.7 / tokens^0.28 (" HOFFMANN ", approach 3)", r->loss_nats,
                  parameters(terms), isnan(r->effective_tokens) ? run_tokens(terms) : effective(terms, r));
}

static const struct tsim_term *critical(struct tsim_terms *terms, const struct tsim_scaling_laws *r) {
    return fitted(terms, "regimen.critical_batch_tokens",
                  "2e8 / loss^4.76 (Kaplan et al. 2020, arXiv:2001.08361, equation 1.4)", r->critical_batch_tokens,
                  loss(terms, r), NULL);
}

/* 1 + a / b (McCandlish et al. 2018). */
static const struct tsim_term *factor(struct tsim_terms *terms, const char *name, const char *formula,
                                      const struct tsim_term *a, const struct tsim_term *b) {
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_SUM, name, formula, (double)NAN, TSIM_FRACTION);
    tsim_term_add(terms, term, definition(terms, "one", 1, TSIM_FRACTION), 1);
    tsim_term_add(terms, term, tsim_term_over(terms, "ratio of the two", "one / the other", TSIM_FRACTION, a, b), 1);
    return tsim_term_close(terms, term, NULL);
}

static const struct tsim_term *optimal(struct tsim_terms *terms, const struct tsim_scaling_laws *r) {
    return fitted(terms, "regimen.optimal_parameters",
                  "sqrt(parameters x tokens / 20): the same compute at 20 tokens a parameter (" HOFFMANN ")",
                  r->optimal_parameters, parameters(terms), run_tokens(terms));
}

const struct tsim_term *tsim_term_of_scaling_laws(struct tsim_terms *terms, const char *name) {
    struct tsim_scaling_laws r;
    const char *key = strrchr(name, '.') + 1;
    tsim_scaling_laws(terms->arena, result_of(terms), &r);
    if (strcmp(key, "epochs") == 0)
        return isnan(r.epochs) ? NULL : epochs(terms);
    if (strcmp(key, "effective_tokens") == 0)
        return isnan(r.effective_tokens) ? NULL : effective(terms, &r);
    if (isnan(r.loss_nats))
        return NULL;
    if (strcmp(key, "tokens_per_parameter") == 0)
        return tsim_term_over(terms, name, "tokens of the run / parameters", TSIM_FRACTION, run_tokens(terms),
                              parameters(terms));
    if (strcmp(key, "optimal_parameters") == 0)
        return optimal(terms, &r);
    if (strcmp(key, "optimal_tokens") == 0)
        return tsim_term_times(terms, name, "20 tokens for each of the best number of parameters", TSIM_COUNT,
                               tsim_term_given(terms, "tokens a parameter", 20, TSIM_COUNT, HOFFMANN),
                               optimal(terms, &r));
    if (strcmp(key, "loss_nats") == 0)
        return loss(terms, &r);
    if (strcmp(key, "tokens_factor") == 0)
        return factor(terms, name, "1 + batch / critical batch (McCandlish et al. 2018, arXiv:1812.06162)",
                      tsim_term_tokens(terms), critical(terms, &r));
    if (strcmp(key, "steps_factor") == 0)
        return factor(terms, name, "1 + critical batch / batch (McCandlish et al. 2018, arXiv:1812.06162)",
                      critical(terms, &r), tsim_term_tokens(terms));
    return strcmp(key, "critical_batch_tokens") == 0 ? critical(terms, &r) : NULL;
}

/* ---- what it is bound by, and the interval ---- */

const struct tsim_term *tsim_term_of_shares(struct tsim_terms *terms, const char *name) {
    const struct tsim_bound_shares *b = &result_of(terms)->step.bounds;
    const char *key = strrchr(name, '.') + 1;
    const struct tsim_term *step = tsim_term_of_step(terms, "step.time_s");
    if (strcmp(key, "communication") == 0)
        return tsim_term_over(terms, name, "exposed communication / step", TSIM_FRACTION,
                              tsim_term_of_step(terms, "step.communication_exposed_s"), step);
    if (strcmp(key, "bubble") == 0)
        return tsim_term_over(terms, name, "pipeline bubble / step", TSIM_FRACTION,
                              tsim_term_of_step(terms, "step.bubble_s"), step);
    if (strcmp(key, "data") == 0)
        return tsim_term_over(terms, name, "waiting for data / step", TSIM_FRACTION,
                              tsim_term_of_step(terms, "step.data_stall_s"), step);
    bool is_matrix = strcmp(key, "compute") == 0, is_host = strcmp(key, "host") == 0;
    struct tsim_term *term =
        tsim_term_new(terms, TSIM_TERM_OUTCOME, name,
                      is_matrix ? "kernels of the operator table that the matrix units bind / step"
                      : is_host ? "passes and optimizer without their kernels: launching / step"
                                : "kernels of the operator table that memory or their latency binds / step",
                      is_matrix ? b->compute_frac
                      : is_host ? b->host_frac
                                : b->memory_frac,
                      TSIM_FRACTION);
    tsim_term_add(terms, term, tsim_term_of_step(terms, "step.compute_s"), 1);
    tsim_term_add(terms, term, tsim_term_of_step(terms, "step.recompute_s"), 1);
    tsim_term_add(terms, term, tsim_term_of_step(terms, "step.optimizer_s"), 1);
    tsim_term_add(terms, term, step, 1);
    return tsim_term_close(terms, term, NULL);
}

/* "uncertainty.days.p10" and its kin: a quantile of a distribution, with the figures that it is made of. */
static const struct tsim_term *forecast(struct tsim_terms *terms, const char *name) {
    const struct tsim_uncertainty *u = &terms->explanation->prediction->uncertainty;
    const struct tsim_reliability_spec *r = &terms->scenario->reliability;
    bool is_days = strncmp(name, "uncertainty.days.", strlen("uncertainty.days.")) == 0,
         is_cost = strncmp(name, "uncertainty.cost_usd.", strlen("uncertainty.cost_usd.")) == 0;
    const struct tsim_percentiles *range = is_days ? &u->days : is_cost ? &u->cost_usd : &u->energy_kwh;
    const char *last = strrchr(name, '.') + 1;
    double value = strcmp(last, "p10") == 0 ? range->p10 : strcmp(last, "p50") == 0 ? range->p50 : range->p90;
    if (!u->has_run || isnan(value))
        return NULL;
    struct tsim_term *term = tsim_term_new(terms, TSIM_TERM_OUTCOME, name,
                                           "a quantile of everything that is not known (sim/study/judge/forecast.h)",
                                           value, is_cost ? TSIM_USD : TSIM_FRACTION);
    tsim_term_add(terms, term,
                  tsim_term_of_rates(terms, is_days   ? "campaign.days"
                                            : is_cost ? "campaign.rent_usd"
                                                      : "campaign.energy_kwh"),
                  1);
    tsim_term_add(terms, term, tsim_term_of_interval(terms, "uncertainty.step_time_low_s"), 1);
    tsim_term_add(terms, term, tsim_term_of_interval(terms, "uncertainty.step_time_high_s"), 1);
    if (result_of(terms)->campaign.has_failures && r->has)
        tsim_term_add(terms, term,
                      tsim_term_of_scenario(terms, "reliability.rate_spread", r->rate_spread, TSIM_FRACTION), 1);
    return term;
}

const struct tsim_term *tsim_term_of_interval(struct tsim_terms *terms, const char *name) {
    const struct tsim_uncertainty *u = &terms->explanation->prediction->uncertainty;
    if (strncmp(name, "uncertainty.step_time", strlen("uncertainty.step_time")) != 0)
        return forecast(terms, name);
    double time_s = result_of(terms)->step.terms.time_s;
    bool is_low = strcmp(strrchr(name, '.'), ".step_time_low_s") == 0;
    if (!u->basis)
        return NULL;
    return tsim_term_times(
        terms, name, "step time x (1 + a quantile of the errors of runs like it)", TSIM_TIME_S,
        tsim_term_of_step(terms, "step.time_s"),
        tsim_term_given(terms, is_low ? "1 + low quantile" : "1 + high quantile",
                        (is_low ? u->step_time_low_s : u->step_time_high_s) / time_s, TSIM_FRACTION,
                        tsim_arena_printf(terms->arena, "hardware/calibration/residuals.csv: %s", u->basis)));
}
