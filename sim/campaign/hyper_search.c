#include "campaign/hyper_search.h"

#include "base/bug.h"

#include <math.h>

/* Whole powers of eta come out of logarithms a little too small. */
#define ROUNDING 1e-9

static int powers_within(double eta, double most) {
    return (int)floor(log(most) / log(eta) + ROUNDING);
}

/* Adds a bracket: halving of `trials` with so many cuts. */
static int add_bracket(double trials, double eta, int cuts, struct tsim_rung *rungs) {
    for (int i = 0; i <= cuts; i++)
        rungs[i] = (struct tsim_rung){.trials = floor(trials * pow(eta, -i) + ROUNDING),
                                      .from_frac = i > 0 ? pow(eta, i - 1 - cuts) : 0,
                                      .to_frac = pow(eta, i - cuts)};
    return cuts + 1;
}

int tsim_search_rungs(const struct tsim_search_spec *spec, struct tsim_rung rungs[TSIM_MOST_RUNGS]) {
    if (spec->method == TSIM_SEARCH_NONE)
        return 0;
    int n = 0, most_cuts = powers_within(spec->eta, 1 / spec->least_frac);
    if (spec->method == TSIM_SEARCH_HALVING) {
        int cuts = powers_within(spec->eta, (double)spec->trials);
        return add_bracket((double)spec->trials, spec->eta, cuts < most_cuts ? cuts : most_cuts, rungs);
    }
    for (int cuts = most_cuts; cuts >= 0; cuts--) {
        TSIM_ASSERT(n + cuts + 1 <= TSIM_MOST_RUNGS);
        double trials = ceil((most_cuts + 1.0) / (cuts + 1) * pow(spec->eta, cuts) - ROUNDING);
        n += add_bracket(trials, spec->eta, cuts, &rungs[n]);
    }
    return n;
}

void tsim_hyper_search(const struct tsim_search_spec *spec, const struct tsim_campaign *run,
                       struct tsim_hyper_search *search) {
    struct tsim_rung rungs[TSIM_MOST_RUNGS];
    double at_once = (double)spec->at_once;
    int n = tsim_search_rungs(spec, rungs);
    if (n == 0 || !run->has)
        return;
    *search = (struct tsim_hyper_search){.has = true};
    for (int i = 0; i < n; i++) {
        double part = rungs[i].to_frac - rungs[i].from_frac;
        search->trials += rungs[i].from_frac > 0 ? 0 : rungs[i].trials;
        search->full += rungs[i].to_frac < 1 ? 0 : rungs[i].trials;
        search->runs += rungs[i].trials * part;
        search->in_row += ceil(rungs[i].trials / at_once) * part;
    }
    search->days = run->days * search->in_row;
    search->all_days = run->days * ceil(search->trials / at_once);
    search->rent_usd = run->rent_usd * search->in_row * at_once;
    search->energy_kwh = run->energy_kwh * search->runs;
    search->electricity_usd = run->electricity_usd * search->runs;
    search->co2_kg = run->co2_kg * search->runs;
}
