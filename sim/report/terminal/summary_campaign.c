/* The whole run: how long, what interrupts it, what it costs. */
#include "report/terminal/summary_screen.h"
#include "results/scaling_laws.h"

#include <math.h>

static const char *money(struct tsim_screen *screen, const char *what, double usd, const char *so_far) {
    if (isnan(usd))
        return so_far;
    return tsim_arena_printf(&screen->arena, "%s%s%s %s", so_far, so_far[0] ? ", " : "", what,
                             tsim_screen_human(screen, usd, TSIM_USD));
}

/* Returns "12.3 days", or hours or less if the days would round to none. */
static const char *days(struct tsim_screen *screen, double days) {
    return days >= 0.95 || days == 0
               ? tsim_arena_printf(&screen->arena, "%s days", tsim_screen_human(screen, days, TSIM_COUNT))
               : tsim_screen_human(screen, days * TSIM_DAY_S, TSIM_TIME_S);
}

/* Returns "software 63.1, hbm 72.0", the largest first, without those below a hundredth of the sum. */
static const char *largest_first(struct tsim_screen *screen, const double *values, int n, bool as_shares,
                                 double whole) {
    bool is_told[TSIM_N_CAMPAIGN_LOSSES] = {false};
    const char *text = "";
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i];
    for (;;) {
        int largest = -1;
        for (int i = 0; i < n; i++)
            if (!is_told[i] && values[i] > 0.01 * sum && (largest < 0 || values[i] > values[largest]))
                largest = i;
        if (largest < 0)
            return text;
        is_told[largest] = true;
        text =
            tsim_arena_printf(&screen->arena, "%s%s%s %s", text, text[0] ? ", " : "", tsim_campaign_loss_name(largest),
                              as_shares ? tsim_screen_percent(screen, values[largest] / whole)
                                        : tsim_arena_printf(&screen->arena, "%.1f", values[largest]));
    }
}

static void print_spot(struct tsim_screen *screen, const struct tsim_campaign *c) {
    const char *breakeven =
        c->breakeven_rate_per_h > 0 && isfinite(c->breakeven_rate_per_h)
            ? tsim_arena_printf(&screen->arena, "; spot is cheaper below %.3g preemptions of a node per hour",
                                c->breakeven_rate_per_h)
        : c->breakeven_rate_per_h > 0 ? "; spot is cheaper at any rate that was tried"
                                      : "; spot is never cheaper: the discount is too small";
    const char *cost =
        isnan(c->on_demand_usd)
            ? ""
            : tsim_arena_printf(&screen->arena, ", rent %s", tsim_screen_human(screen, c->on_demand_usd, TSIM_USD));
    tsim_screen_line(screen, "on demand", "%s%s%s", days(screen, c->on_demand_days), cost, breakeven);
}

/* Draws how many replications took how many days: "▁▂▅█▇▃▁". */
static const char *picture_of(struct tsim_screen *screen, const struct tsim_campaign *c) {
    static const char *const HEIGHTS[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const char *text = "";
    int64_t most = 1;
    for (int i = 0; i < TSIM_CAMPAIGN_BINS; i++)
        most = c->bins[i] > most ? c->bins[i] : most;
    for (int i = 0; i < TSIM_CAMPAIGN_BINS; i++)
        text = tsim_arena_printf(&screen->arena, "%s%s", text, HEIGHTS[(8 * c->bins[i] + most - 1) / most]);
    return text;
}

/* Returns "80 k USD to 220 k USD", with the digits that the range supports. */
static const char *range_text(struct tsim_screen *screen, struct tsim_percentiles range, double per_unit,
                              const char *unit) {
    char low[64], high[64];
    range = (struct tsim_percentiles){range.p10 * per_unit, range.p50 * per_unit, range.p90 * per_unit};
    return tsim_arena_printf(&screen->arena, "%s to %s", tsim_supported_text(&range, range.p10, unit, low, sizeof low),
                             tsim_supported_text(&range, range.p90, unit, high, sizeof high));
}

/* Returns "20 to 22 days", with both ends in the unit of the first. */
static const char *days_range(struct tsim_screen *screen, const struct tsim_percentiles *range) {
    return range->p10 >= 0.95
               ? tsim_arena_printf(&screen->arena, "%s days", range_text(screen, *range, 1, ""))
               : tsim_arena_printf(&screen->arena, "%s to %s", days(screen, range->p10), days(screen, range->p90));
}

/* Says what the whole run may come to, with everything together that is not known. */
static void print_forecast(struct tsim_screen *screen, const struct tsim_prediction *prediction) {
    const struct tsim_result *result = &prediction->result;
    const struct tsim_uncertainty *u = &prediction->uncertainty;
    bool has_luck = result->campaign.n_times > 1;
    if (!u->has_run)
        return;
    const char *rent = isnan(u->cost_usd.p50)
                           ? ""
                           : tsim_arena_printf(&screen->arena, ", rent %s", range_text(screen, u->cost_usd, 1, "USD"));
    tsim_screen_line(
        screen, "likely",
        "%s%s, %s in eight of ten cases; the spread comes from tsim's own error (-%.1f to +%.1f %%)%s%s%s%s%s",
        days_range(screen, &u->days), rent, range_text(screen, u->energy_kwh, 1e3, "Wh"), 100 * (1 - u->low_ratio),
        100 * (u->high_ratio - 1), has_luck ? ", luck with failures" : "",
        has_luck && result->scenario->reliability.rate_spread > 1 ? ", how often machines fail" : "",
        result->step.variation.draws.has ? ", which accelerators are slow" : "",
        result->scenario->goal.loss_nats > 0 ? ", how many tokens the loss needs" : "",
        *rent && result->scenario->cost.price_spread > 1 ? ", what sellers ask" : "");
}

/* Prints the histogram of days without wrapping, because blanks are a part of the picture. */
static void print_days(struct tsim_screen *screen, const struct tsim_result *result) {
    const struct tsim_campaign *c = &result->campaign;
    const struct tsim_reliability_spec *r = &result->scenario->reliability;
    if (!r->has || c->bin_to_days <= c->bin_from_days)
        return;
    tsim_screen_line(screen, "failures",
                     "they alone make it %.1f to %.1f days in eight of ten runs (%lld simulated, %.1f on average)",
                     c->days_p10, c->days_p90, (long long)r->replications, c->mean_days);
    fprintf(screen->out, "%14s%.1f %s %.1f\n", "", c->bin_from_days, picture_of(screen, c), c->bin_to_days);
}

/* Prints the number of spares if the scenario asks how many. */
static void print_spares(struct tsim_screen *screen, const struct tsim_result *result) {
    int64_t asked = result->scenario->reliability.spares;
    if (asked < 0)
        tsim_screen_line(screen, "spares", "%.0f %s by: %s", result->campaign.spares,
                         result->campaign.spares == 1 ? "node stands" : "nodes stand",
                         asked == TSIM_SPARES_FASTEST ? "more make no run faster"
                                                      : "with fewer the run waits, and more cost more than they save");
}

static void print_failures(struct tsim_screen *screen, const struct tsim_result *result) {
    const struct tsim_campaign *c = &result->campaign;
    double hours = c->mean_days * 24 * (double)tsim_all_accelerators(result->scenario);
    print_days(screen, result);
    tsim_screen_line(screen, "goodput", "%s of the time is training (%s to %s)",
                     tsim_screen_percent(screen, c->goodput), tsim_screen_percent(screen, c->goodput_p10),
                     tsim_screen_percent(screen, c->goodput_p90));
    if (c->failures > 0)
        tsim_screen_line(screen, "interrupted", "%.1f times (%.0f to %.0f), every %s: %s", c->failures, c->failures_p10,
                         c->failures_p90, tsim_screen_human(screen, c->mtbf_s, TSIM_TIME_S),
                         largest_first(screen, c->interruptions, TSIM_N_CAUSES, false, 0));
    const char *lost = largest_first(screen, c->lost_accelerator_h, TSIM_N_CAMPAIGN_LOSSES, true, hours);
    if (lost[0])
        tsim_screen_line(screen, "lost time", "%s", lost);
    print_spares(screen, result);
    if (isfinite(c->checkpoint_interval_s))
        tsim_screen_line(screen, "checkpoints", "%s after every %s of training, which stops for %s each time",
                         tsim_screen_human(screen, c->checkpoint_bytes, TSIM_BYTES),
                         tsim_screen_human(screen, c->checkpoint_interval_s, TSIM_TIME_S),
                         tsim_screen_human(screen, c->checkpoint_stall_s, TSIM_TIME_S));
    if (c->has_local_tier)
        tsim_screen_line(
            screen, "",
            "copied to the hosts' memory after every %s, for which training stops %s; %.1f restarts begin there",
            tsim_screen_human(screen, c->local_interval_s, TSIM_TIME_S),
            tsim_screen_human(screen, c->local_stall_s, TSIM_TIME_S), c->local_restarts);
    if (c->is_spot)
        print_spot(screen, c);
}

/* Prints what the whole machine costs with its part of the facility, and its parts. */
static void print_capital(struct tsim_screen *screen, const struct tsim_cost_spec *cost,
                          const struct tsim_campaign *campaign) {
    double accelerators_usd = campaign->purchase_usd;
    const char *parts = money(screen, "accelerators", accelerators_usd, "");
    parts = money(screen, "hosts", cost->host_frac > 0 ? cost->host_frac * accelerators_usd : (double)NAN, parts);
    parts =
        money(screen, "network", cost->network_frac > 0 ? cost->network_frac * accelerators_usd : (double)NAN, parts);
    parts =
        money(screen, "storage", cost->storage_frac > 0 ? cost->storage_frac * accelerators_usd : (double)NAN, parts);
    double facility_usd = campaign->own.facility_usd;
    parts = money(screen, "its share of the facility's lifetime", facility_usd > 0 ? facility_usd : (double)NAN, parts);
    tsim_screen_line(screen, "buying", "%s: %s", tsim_screen_human(screen, campaign->own.capital_usd, TSIM_USD), parts);
}

/* Returns "; cheaper than renting above 57 % use, or from 36 such runs on". */
static const char *when_cheaper(struct tsim_screen *screen, const struct tsim_ownership *own) {
    if (isnan(own->breakeven_utilization))
        return "";
    if (own->breakeven_utilization > 1)
        return "; renting is cheaper whatever its use";
    return tsim_arena_printf(&screen->arena, "; cheaper than renting above %s use, or from %s such runs on",
                             tsim_screen_percent(screen, own->breakeven_utilization),
                             tsim_screen_count(screen, ceil(own->breakeven_runs)));
}

/* Prints what the run costs on an owned machine, beside the rent. */
static void print_ownership(struct tsim_screen *screen, const struct tsim_cost_spec *cost,
                            const struct tsim_campaign *campaign) {
    const struct tsim_ownership *own = &campaign->own;
    if (!own->has)
        return;
    print_capital(screen, cost, campaign);
    const char *text = money(screen, "capital", own->capital_share_usd, "");
    text = money(screen, "maintenance", own->maintenance_usd, text);
    text = money(screen, "power", own->power_usd, text);
    text = money(screen, "cooling", own->cooling_usd, text);
    const char *tokens = money(screen, "per T tokens", own->usd_per_trillion_tokens, "");
    tokens = money(screen, "rented", own->rent_usd_per_trillion_tokens, tokens);
    tsim_screen_line(screen, "owned",
                     "%s a run, assuming %.3g years, %s use, %s interest and %s residual value: %s%s%s%s",
                     tsim_screen_human(screen, own->usd, TSIM_USD), cost->lifetime_s / TSIM_YEAR_S,
                     tsim_screen_percent(screen, cost->utilization_frac),
                     tsim_screen_percent(screen, cost->interest_frac), tsim_screen_percent(screen, cost->residual_frac),
                     text, when_cheaper(screen, own), tokens[0] ? "; " : "", tokens);
}

static void print_campaign(struct tsim_screen *screen, const struct tsim_campaign *c, const char *date) {
    const char *embodied =
        c->embodied_co2_kg > 0
            ? tsim_arena_printf(&screen->arena, ", %s embodied", tsim_screen_human(screen, c->embodied_co2_kg, TSIM_KG))
            : "";
    const char *skipped = c->skipped_steps > 0 ? tsim_arena_printf(&screen->arena, " (%s skipped)",
                                                                   tsim_screen_count(screen, c->skipped_steps))
                                               : "";
    tsim_screen_line(screen, "whole run", "%s steps%s, %s; %s at the meter, %s CO2%s",
                     tsim_screen_count(screen, c->steps), skipped, days(screen, c->days),
                     tsim_screen_human(screen, c->energy_kwh * TSIM_KWH_J, TSIM_JOULES),
                     tsim_screen_human(screen, c->co2_kg, TSIM_KG), embodied);
    const char *text = money(screen, "electricity", c->electricity_usd, "");
    text = money(screen, "rent", c->rent_usd, text);
    text = money(screen, "contract", c->own.reserved_usd, text);
    if (date && (!isnan(c->rent_usd) || !isnan(c->purchase_usd)))
        text = tsim_arena_printf(&screen->arena, "%s; prices of %s", text, date);
    tsim_screen_line(screen, "cost", "%s", text);
}

/* Says what a kWh came to, beside the mean of the profile. */
static const char *by_the_hour(struct tsim_screen *screen, const struct tsim_hourly *profile, const char *what,
                               double per_kwh, double mean_per_j, const char *unit, const char *so_far) {
    if (profile->n_hours == 0)
        return so_far;
    return tsim_arena_printf(&screen->arena, "%s%s%s %.4g %s (%.4g on average over %zu hours)", so_far,
                             so_far[0] ? ", " : "", what, per_kwh, unit, mean_per_j * TSIM_KWH_J, profile->n_hours);
}

static void print_hours(struct tsim_screen *screen, const struct tsim_result *result) {
    const struct tsim_campaign *c = &result->campaign;
    const struct tsim_energy_spec *e = &result->scenario->energy;
    const char *text = by_the_hour(screen, &e->price_profile, "electricity", c->electricity_usd / c->energy_kwh,
                                   e->price_usd_per_j, "USD/kWh", "");
    text = by_the_hour(screen, &e->carbon_profile, "carbon", c->co2_kg / c->energy_kwh, e->carbon_kg_per_j, "kg/kWh",
                       text);
    if (text[0])
        tsim_screen_line(screen, "by the hour", "%s", text);
}

static void print_scaling_laws(struct tsim_screen *screen, const struct tsim_result *result) {
    struct tsim_scaling_laws laws;
    tsim_scaling_laws(&screen->arena, result, &laws);
    for (int i = 0; i < laws.n_notes; i++)
        tsim_screen_line(screen, i == 0 ? "note" : "", "%s", laws.notes[i]);
}

static void print_search(struct tsim_screen *screen, const struct tsim_result *result) {
    const struct tsim_hyper_search *s = &result->search;
    if (!s->has)
        return;
    const char *costs = money(screen, "rent", s->rent_usd, money(screen, "electricity", s->electricity_usd, ""));
    tsim_screen_line(screen, "search",
                     "%s trial%s, %s of them to the end: the work of %.3g run%s, %s on %s cluster%s; %s",
                     tsim_screen_count(screen, s->trials), s->trials == 1 ? "" : "s",
                     tsim_screen_count(screen, s->full), s->runs, s->runs == 1 ? "" : "s", days(screen, s->days),
                     tsim_screen_count(screen, (double)result->scenario->search.at_once),
                     result->scenario->search.at_once == 1 ? "" : "s", costs);
    tsim_screen_line(screen, "", "without stopping any: %s; evaluating trials is not counted",
                     days(screen, s->all_days));
}

/* Prints a line for each stage, in order. */
static void print_stages(struct tsim_screen *screen, const struct tsim_result *result) {
    const struct tsim_training_spec *t = &result->scenario->training;
    for (size_t i = 0; i < t->n_stages; i++) {
        const struct tsim_training_spec *stage = &t->stages[i].scenario->training;
        const struct tsim_stage_time *of = &result->stages[i];
        tsim_screen_line(
            screen, i == 0 ? "stages first" : "", "%s steps of %s samples of %s tokens, %s each, %s",
            tsim_screen_count(screen, of->steps), tsim_screen_count(screen, (double)stage->global_batch_size),
            tsim_screen_count(screen, (double)stage->sequence_length),
            tsim_screen_human(screen, of->step_s, TSIM_TIME_S), days(screen, of->steps * of->step_s / TSIM_DAY_S));
    }
}

void tsim_screen_campaign(struct tsim_screen *screen, const struct tsim_prediction *prediction) {
    const struct tsim_result *result = &prediction->result;
    print_scaling_laws(screen, result);
    if (!result->campaign.has)
        return;
    print_campaign(screen, &result->campaign, result->scenario->cost.date);
    print_forecast(screen, prediction);
    if (result->stages)
        print_stages(screen, result);
    else if (result->early.has)
        tsim_screen_line(screen, "batch grows", "from %s to %s samples in %s steps, %s",
                         tsim_screen_count(screen, result->scenario->training.batch_ramp.from),
                         tsim_screen_count(screen, (double)result->scenario->training.global_batch_size),
                         tsim_screen_count(screen, result->early.steps),
                         days(screen, result->early.time_s / TSIM_DAY_S));
    print_search(screen, result);
    print_hours(screen, result);
    print_ownership(screen, &result->scenario->cost, &result->campaign);
    if (result->campaign.has_failures)
        print_failures(screen, result);
}
