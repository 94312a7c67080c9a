#include "campaign/ownership.h"

#include <math.h>

#define YEAR_S (365.25 * 86400)

double tsim_annuity_per_y(double interest, double years, double residual) {
    if (interest <= 0)
        return (1 - residual) / years;
    double later = pow(1 + interest, -years);
    return (1 - residual * later) * interest / (1 - later);
}

/* A scenario that was read always has them. */
static bool is_shared(const struct tsim_cost_spec *cost) {
    return cost->lifetime_s > 0 && cost->utilization_frac > 0;
}

double tsim_embodied_kg(const struct tsim_scenario *sc, double accelerators, double time_s) {
    if (!is_shared(&sc->cost))
        return 0;
    return accelerators * sc->energy.embodied_kg * time_s / (sc->cost.lifetime_s * sc->cost.utilization_frac);
}

/* In which owning and renting cost the same. */
static void fill_breakeven(const struct tsim_scenario *sc, const struct tsim_ownership_run *run,
                           struct tsim_ownership *out) {
    double saved_usd = run->rent_usd - run->electricity_usd, years = sc->cost.lifetime_s / YEAR_S;
    double at_full_use = saved_usd * YEAR_S / run->time_s;
    out->breakeven_utilization = saved_usd > 0 ? out->fixed_usd_per_y / at_full_use : (double)INFINITY;
    out->breakeven_runs = saved_usd > 0 ? out->fixed_usd_per_y * years / saved_usd : (double)INFINITY;
    if (isnan(run->rent_usd))
        out->breakeven_utilization = out->breakeven_runs = (double)NAN;
}

void tsim_ownership(const struct tsim_scenario *sc, const struct tsim_ownership_run *run, struct tsim_ownership *out) {
    const struct tsim_cost_spec *c = &sc->cost;
    double nan = (double)NAN, years = run->time_s / YEAR_S / c->utilization_frac;
    double price = c->purchase_usd * (1 + c->host_frac + c->network_frac + c->storage_frac);
    *out =
        (struct tsim_ownership){.has = is_shared(c) && c->purchase_usd > 0, .capital_usd = run->accelerators * price};
    double annuity_usd =
        out->capital_usd * tsim_annuity_per_y(c->interest_frac, c->lifetime_s / YEAR_S, c->residual_frac);
    out->fixed_usd_per_y = annuity_usd + out->capital_usd * c->maintenance_frac;
    out->capital_share_usd = annuity_usd * years;
    out->maintenance_usd = out->capital_usd * c->maintenance_frac * years;
    out->power_usd = run->electricity_usd / sc->energy.pue;
    out->cooling_usd = run->electricity_usd - out->power_usd;
    out->usd = out->capital_share_usd + out->maintenance_usd + run->electricity_usd;
    out->usd_per_trillion_tokens = run->tokens > 0 ? out->usd / run->tokens * 1e12 : nan;
    out->rent_usd_per_trillion_tokens = run->tokens > 0 ? run->rent_usd / run->tokens * 1e12 : nan;
    double paid_s = fmax(run->time_s, c->commitment_s);
    out->reserved_usd = c->reserved_usd_per_s > 0 ? run->accelerators * c->reserved_usd_per_s * paid_s : nan;
    fill_breakeven(sc, run, out);
}
