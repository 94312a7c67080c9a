#include "campaign/ownership.h"

#include "config/provenance.h"

#include <math.h>

static struct tsim_amount definition(struct tsim_term_recorder *r, const char *name, double value,
                                     enum tsim_dimension dimension) {
    return tsim_given(r, name, value, dimension, "definition");
}

static struct tsim_amount year(struct tsim_term_recorder *r) {
    return definition(r, "a year", TSIM_YEAR_S, TSIM_TIME_S);
}

struct tsim_amount tsim_annuity_per_y(struct tsim_term_recorder *r, const char *name, const struct tsim_cost_spec *cost,
                                      struct tsim_amount residual) {
    struct tsim_amount one = definition(r, "the capital", 1, TSIM_FRACTION),
                       interest = tsim_of_scenario(r, "cost.interest", cost->interest_frac, TSIM_FRACTION);
    if (cost->interest_frac <= 0)
        return tsim_product(
            r, name, "(1 - residual) / lifetime in years", TSIM_FRACTION,
            TSIM_PARTS(tsim_sum(r, "what is lost", "capital - residual", TSIM_FRACTION,
                                TSIM_PARTS(one, tsim_inverse(residual))),
                       year(r), tsim_inverse(tsim_of_scenario(r, "cost.lifetime", cost->lifetime_s, TSIM_TIME_S))));
    struct tsim_amount years = tsim_product(
        r, "lifetime in years", "lifetime / a year", TSIM_FRACTION,
        TSIM_PARTS(tsim_of_scenario(r, "cost.lifetime", cost->lifetime_s, TSIM_TIME_S), tsim_inverse(year(r))));
    struct tsim_amount growth =
        tsim_sum(r, "growth of 1 in a year", "1 + interest", TSIM_FRACTION, TSIM_PARTS(one, interest));
    struct tsim_amount later = tsim_power(r, "worth of 1 at the end of the lifetime", "1 / growth^lifetime in years",
                                          TSIM_FRACTION, growth, tsim_inverse(years));
    struct tsim_amount lost =
        tsim_sum(r, "what is lost", "capital - residual x its worth", TSIM_FRACTION,
                 TSIM_PARTS(one, tsim_inverse(tsim_product(r, "residual at its worth", "residual x worth",
                                                           TSIM_FRACTION, TSIM_PARTS(residual, later)))));
    struct tsim_amount paid = tsim_sum(r, "what is paid back", "capital - worth of 1 at the end", TSIM_FRACTION,
                                       TSIM_PARTS(one, tsim_inverse(later)));
    return tsim_product(r, name, "what is lost x interest / what is paid back", TSIM_FRACTION,
                        TSIM_PARTS(lost, interest, tsim_inverse(paid)));
}

/* A scenario that was read always has them. */
static bool is_shared(const struct tsim_cost_spec *cost) {
    return cost->lifetime_s > 0 && cost->utilization_frac > 0;
}

static struct tsim_amount lifetime(struct tsim_term_recorder *r, const struct tsim_scenario *sc) {
    return tsim_of_scenario(r, "cost.lifetime", sc->cost.lifetime_s, TSIM_TIME_S);
}

static struct tsim_amount utilization(struct tsim_term_recorder *r, const struct tsim_scenario *sc) {
    return tsim_of_scenario(r, "cost.utilization", sc->cost.utilization_frac, TSIM_FRACTION);
}

double tsim_embodied_kg(struct tsim_term_recorder *r, const struct tsim_scenario *sc, struct tsim_amount accelerators,
                        struct tsim_amount time) {
    if (!is_shared(&sc->cost) || !(sc->energy.embodied_kg > 0))
        return 0;
    return tsim_product(r, "campaign.embodied_co2_kg",
                        "accelerators x CO2 of making one x time / (lifetime x utilization)", TSIM_KG,
                        TSIM_PARTS(accelerators,
                                   tsim_of_scenario(r, "energy.embodied", sc->energy.embodied_kg, TSIM_KG), time,
                                   tsim_inverse(lifetime(r, sc)), tsim_inverse(utilization(r, sc))))
        .value;
}

/* ---- the machine ---- */

struct tsim_amount tsim_facility_usd(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                     struct tsim_amount accelerators, struct tsim_amount drawn) {
    const struct tsim_node *node = sc->cluster.node;
    if (!(sc->cost.facility_usd_per_kw > 0))
        return (struct tsim_amount){0};
    struct tsim_amount life = lifetime(r, sc), whole = definition(r, "its whole life", 1, TSIM_FRACTION),
                       kw = definition(r, "a kW", 1e3, TSIM_WATTS);
    struct tsim_amount share = tsim_smallest(
        r, "part of its life", "the machine's life over the facility's, at most 1", TSIM_FRACTION,
        TSIM_PARTS(
            tsim_product(r, "the machine's life over the facility's", "lifetime / facility_lifetime", TSIM_FRACTION,
                         TSIM_PARTS(life, tsim_inverse(tsim_of_scenario(r, "cost.facility_lifetime",
                                                                        sc->cost.facility_lifetime_s, TSIM_TIME_S)))),
            whole));
    if (node->power_limit_w > 0)
        drawn = tsim_product(r, "the most that the nodes draw", "accelerators / accelerators of a node x its limit",
                             TSIM_WATTS,
                             TSIM_PARTS(accelerators,
                                        tsim_inverse(tsim_given(r, "accelerators of a node", (double)node->accelerators,
                                                                TSIM_COUNT, "the node's file")),
                                        tsim_of_file(r, TSIM_CATALOGUE_NODES, node->name, "power.limit",
                                                     node->power_limit_w, TSIM_WATTS)));
    return tsim_product(
        r, "campaign.ownership.facility_usd", "kW of the nodes x price of a kW x part of its life", TSIM_USD,
        TSIM_PARTS(drawn, tsim_inverse(kw),
                   tsim_of_scenario(r, "cost.facility", sc->cost.facility_usd_per_kw, TSIM_USD), share));
}

/* This is what is bought, and what a year of it costs. */
struct machine {
    struct tsim_amount usd, annuity, maintenance; /* nodes, network and storage; the last two over that price */
    struct tsim_amount facility_usd, facility_annuity;
};

static struct machine machine_of(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                 const struct tsim_ownership_run *run) {
    const struct tsim_cost_spec *c = &sc->cost;
    struct tsim_amount around =
        tsim_sum(r, "machine over its accelerators", "1 + host + network + storage", TSIM_FRACTION,
                 TSIM_PARTS(definition(r, "the accelerators", 1, TSIM_FRACTION),
                            tsim_of_scenario(r, "cost.host", c->host_frac, TSIM_FRACTION),
                            tsim_of_scenario(r, "cost.network", c->network_frac, TSIM_FRACTION),
                            tsim_of_scenario(r, "cost.storage", c->storage_frac, TSIM_FRACTION)));
    return (struct machine){
        .usd = tsim_product(
            r, "price of the machine", "accelerators x price x (1 + host + network + storage)", TSIM_USD,
            TSIM_PARTS(run->accelerators, tsim_of_scenario(r, "cost.purchase", c->purchase_usd, TSIM_USD), around)),
        .annuity = tsim_annuity_per_y(r, "capital's cost of a year, over the capital", c,
                                      tsim_of_scenario(r, "cost.residual", c->residual_frac, TSIM_FRACTION)),
        .maintenance = tsim_of_scenario(r, "cost.maintenance", c->maintenance_frac, TSIM_FRACTION),
        .facility_usd = tsim_facility_usd(r, sc, run->accelerators, run->drawn),
        .facility_annuity = tsim_annuity_per_y(r, "the facility's cost of a year, over its price", c,
                                               definition(r, "nothing is left of its share", 0, TSIM_FRACTION))};
}

/* Returns what the machine and its facility, if that has a price, cost in a year, without their upkeep. */
static struct tsim_amount capital_per_y(struct tsim_term_recorder *r, const struct machine *m) {
    struct tsim_amount facility = {0};
    if (m->facility_usd.value > 0)
        facility = tsim_product(r, "the facility's cost of a year", "its price x what a year of it costs", TSIM_USD,
                                TSIM_PARTS(m->facility_usd, m->facility_annuity));
    return tsim_sum(r, "capital's cost of a year", "of the machine + of the facility", TSIM_USD,
                    TSIM_PARTS(tsim_product(r, "the machine's cost of a year", "its price x what a year of it costs",
                                            TSIM_USD, TSIM_PARTS(m->usd, m->annuity)),
                               facility));
}

static struct tsim_amount maintenance_per_y(struct tsim_term_recorder *r, const struct machine *m) {
    return tsim_product(r, "maintenance of a year", "price of the machine x maintenance", TSIM_USD,
                        TSIM_PARTS(m->usd, m->maintenance));
}

/* ---- the run ---- */

static double per_trillion_tokens(struct tsim_term_recorder *r, const char *name, struct tsim_amount usd,
                                  struct tsim_amount tokens) {
    if (!(tokens.value > 0) || isnan(usd.value))
        return (double)NAN;
    return tsim_product(r, name, "cost of the run / its tokens x a trillion", TSIM_USD,
                        TSIM_PARTS(usd, tsim_inverse(tokens), definition(r, "a trillion", 1e12, TSIM_COUNT)))
        .value;
}

/* Fills in the use, and the number of runs, at which owning and renting cost the same. */
static void fill_breakeven(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                           const struct tsim_ownership_run *run, struct tsim_amount fixed, struct tsim_ownership *out) {
    out->breakeven_utilization = out->breakeven_runs = (double)NAN;
    if (isnan(run->rent_usd.value))
        return;
    out->breakeven_utilization = out->breakeven_runs = (double)INFINITY;
    if (!(run->rent_usd.value > run->electricity_usd.value))
        return;
    struct tsim_amount saved = tsim_sum(r, "rent that is saved", "rent - electricity", TSIM_USD,
                                        TSIM_PARTS(run->rent_usd, tsim_inverse(run->electricity_usd)));
    out->breakeven_utilization =
        tsim_product(r, "campaign.ownership.breakeven_utilization",
                     "cost of a year / (rent that a run saves x runs of a year)", TSIM_FRACTION,
                     TSIM_PARTS(fixed, tsim_inverse(saved), run->time, tsim_inverse(year(r))))
            .value;
    out->breakeven_runs = tsim_product(r, "campaign.ownership.breakeven_runs",
                                       "cost of a year x lifetime in years / rent that a run saves", TSIM_FRACTION,
                                       TSIM_PARTS(fixed, lifetime(r, sc), tsim_inverse(year(r)), tsim_inverse(saved)))
                              .value;
}

static void fill_run(struct tsim_term_recorder *r, const struct tsim_scenario *sc, const struct tsim_ownership_run *run,
                     const struct machine *m, struct tsim_ownership *out) {
    struct tsim_amount years =
        tsim_product(r, "years of the machine", "time of the run / a year / utilization", TSIM_FRACTION,
                     TSIM_PARTS(run->time, tsim_inverse(year(r)), tsim_inverse(utilization(r, sc))));
    struct tsim_amount capital =
        tsim_product(r, "campaign.ownership.run_capital_usd", "capital's cost of a year x years of the machine",
                     TSIM_USD, TSIM_PARTS(capital_per_y(r, m), years));
    struct tsim_amount maintenance =
        tsim_product(r, "campaign.ownership.run_maintenance_usd", "maintenance of a year x years of the machine",
                     TSIM_USD, TSIM_PARTS(maintenance_per_y(r, m), years));
    struct tsim_amount power =
        tsim_product(r, "campaign.ownership.run_power_usd", "electricity / PUE", TSIM_USD,
                     TSIM_PARTS(run->electricity_usd,
                                tsim_inverse(tsim_of_scenario(r, "energy.pue", sc->energy.pue, TSIM_FRACTION))));
    struct tsim_amount usd = tsim_sum(r, "campaign.ownership.run_usd", "capital + maintenance + electricity", TSIM_USD,
                                      TSIM_PARTS(capital, maintenance, run->electricity_usd));
    out->capital_share_usd = capital.value;
    out->maintenance_usd = maintenance.value;
    out->power_usd = power.value;
    out->cooling_usd = tsim_sum(r, "campaign.ownership.run_cooling_usd", "electricity - what the nodes take", TSIM_USD,
                                TSIM_PARTS(run->electricity_usd, tsim_inverse(power)))
                           .value;
    out->usd = usd.value;
    out->usd_per_trillion_tokens =
        per_trillion_tokens(r, "campaign.ownership.usd_per_trillion_tokens", usd, run->tokens);
}

/* Returns what a contract costs, which is paid for to its end. */
static double reserved_usd(struct tsim_term_recorder *r, const struct tsim_cost_spec *c,
                           const struct tsim_ownership_run *run) {
    if (!(c->reserved_usd_per_s > 0))
        return (double)NAN;
    struct tsim_amount paid =
        tsim_largest(r, "time that is paid for", "the longer of the run and the commitment", TSIM_TIME_S,
                     TSIM_PARTS(run->time, tsim_of_scenario(r, "cost.commitment", c->commitment_s, TSIM_TIME_S)));
    return tsim_product(r, "campaign.reserved_usd", "accelerators x price under the contract x time", TSIM_USD,
                        TSIM_PARTS(run->accelerators,
                                   tsim_of_scenario(r, "cost.reserved", c->reserved_usd_per_s, TSIM_USD_PER_S), paid))
        .value;
}

void tsim_ownership(struct tsim_term_recorder *r, const struct tsim_scenario *sc, const struct tsim_ownership_run *run,
                    struct tsim_ownership *out) {
    const struct tsim_cost_spec *c = &sc->cost;
    *out = (struct tsim_ownership){.has = is_shared(c) && c->purchase_usd > 0,
                                   .reserved_usd = reserved_usd(r, c, run),
                                   .rent_usd_per_trillion_tokens = per_trillion_tokens(
                                       r, "campaign.rent_usd_per_trillion_tokens", run->rent_usd, run->tokens)};
    if (!out->has)
        r = NULL; /* a machine without a price has no tree */
    const struct machine machine = machine_of(r, sc, run);
    out->facility_usd = machine.facility_usd.value;
    out->capital_usd = tsim_sum(r, "campaign.ownership.capital_usd", "machine + facility", TSIM_USD,
                                TSIM_PARTS(machine.usd, machine.facility_usd))
                           .value;
    struct tsim_amount fixed =
        tsim_sum(r, "campaign.ownership.fixed_usd_per_year", "capital's cost of a year + maintenance", TSIM_USD,
                 TSIM_PARTS(capital_per_y(r, &machine), maintenance_per_y(r, &machine)));
    out->fixed_usd_per_y = fixed.value;
    fill_run(r, sc, run, &machine, out);
    fill_breakeven(r, sc, run, fixed, out);
}
