#include "campaign/expenses.h"

#include "config/provenance.h"

#include <math.h>

struct tsim_amount tsim_accelerators_with_spares(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                                 double spares) {
    struct tsim_amount used = tsim_accelerators_of(r, sc);
    if (!(spares > 0))
        return used;
    struct tsim_amount each =
        tsim_of_scenario(r, "cluster.accelerators_per_node", (double)sc->cluster.accelerators_per_node, TSIM_COUNT);
    struct tsim_amount standing_by =
        tsim_product(r, "spare accelerators", "spares x accelerators of each", TSIM_COUNT,
                     TSIM_PARTS(tsim_figure(r, "campaign.spares", spares, TSIM_COUNT), each));
    return tsim_sum(r, "accelerators, spares included", "accelerators that train + spare accelerators", TSIM_COUNT,
                    TSIM_PARTS(used, standing_by));
}

/* ---- rates ---- */

/* Returns what a joule costs or emits: the scenario's own, else its region's; by the hour, what comes out over the run. */
static struct tsim_amount rate_of(struct tsim_term_recorder *r, const struct tsim_energy_spec *e, const char *key,
                                  double value, enum tsim_dimension dimension, const struct tsim_hourly *profile,
                                  double over_run) {
    const struct tsim_region *region = e->region;
    bool is_price = dimension == TSIM_USD_PER_J;
    if (profile->n_hours > 0)
        return tsim_counted(r, tsim_record_text(r, "energy.%s over the hours of the run", key),
                            "the profile's hours, each as long as it lasts and with its energy", over_run, dimension,
                            "the profile by the hour (sim/campaign/energy_meter.h)");
    if (region && (is_price ? region->price_usd_per_j : region->carbon_kg_per_j) == value)
        return tsim_of_file(r, TSIM_CATALOGUE_REGIONS, region->name, key, value, dimension);
    return tsim_of_scenario(r, tsim_record_text(r, "energy.%s", key), value, dimension);
}

static struct tsim_amount rent_of_one(struct tsim_term_recorder *r, const struct tsim_scenario *sc) {
    const struct tsim_reliability_spec *spec = &sc->reliability;
    struct tsim_amount rent = tsim_of_scenario(r, "cost.rent", sc->cost.rent_usd_per_s, TSIM_USD_PER_S);
    if (!(spec->preemption_per_s > 0))
        return rent;
    struct tsim_amount paid = tsim_sum(r, "price of a spot instance, of the full one", "1 - discount", TSIM_FRACTION,
                                       TSIM_PARTS(tsim_given(r, "the full price", 1, TSIM_FRACTION, "definition"),
                                                  tsim_inverse(tsim_of_scenario(r, "reliability.preemption.discount",
                                                                                spec->discount_frac, TSIM_FRACTION))));
    return tsim_product(r, "rent of a spot instance", "rent x its price, of the full one", TSIM_USD_PER_S,
                        TSIM_PARTS(rent, paid));
}

/* ---- figures ---- */

static void fill_energy(struct tsim_term_recorder *r, const struct tsim_energy_spec *e,
                        const struct tsim_charged *charged, struct tsim_campaign *c) {
    struct tsim_amount kwh = tsim_given(r, "a kWh", TSIM_KWH_J, TSIM_JOULES, "definition");
    struct tsim_amount carbon =
        rate_of(r, e, "carbon", e->carbon_kg_per_j, TSIM_KG_PER_J, &e->carbon_profile, charged->carbon_per_j);
    struct tsim_amount price =
        rate_of(r, e, "price", e->price_usd_per_j, TSIM_USD_PER_J, &e->price_profile, charged->price_per_j);
    c->energy_kwh = tsim_product(r, "campaign.energy_kwh", "energy of the run / a kWh", TSIM_FRACTION,
                                 TSIM_PARTS(charged->energy, tsim_inverse(kwh)))
                        .value;
    c->co2_kg = tsim_product(r, "campaign.co2_kg", "energy of the run x emissions", TSIM_KG,
                             TSIM_PARTS(charged->energy, carbon))
                    .value;
    c->electricity_usd = tsim_product(r, "campaign.electricity_usd", "energy of the run x price", TSIM_USD,
                                      TSIM_PARTS(charged->energy, price))
                             .value;
}

void tsim_expenses(struct tsim_term_recorder *r, const struct tsim_scenario *sc, const struct tsim_charged *charged,
                   struct tsim_campaign *c) {
    struct tsim_amount none = {.value = (double)NAN}, rent = none, purchase = none;
    fill_energy(r, &sc->energy, charged, c);
    if (sc->cost.rent_usd_per_s > 0)
        rent = tsim_product(r, "campaign.rent_usd", "accelerators x time x rent", TSIM_USD,
                            TSIM_PARTS(charged->accelerator_time, rent_of_one(r, sc)));
    if (sc->cost.purchase_usd > 0)
        purchase = tsim_product(
            r, "campaign.purchase_usd", "accelerators x price", TSIM_USD,
            TSIM_PARTS(charged->accelerators, tsim_of_scenario(r, "cost.purchase", sc->cost.purchase_usd, TSIM_USD)));
    c->rent_usd = rent.value;
    c->purchase_usd = purchase.value;
    c->breakeven_runs = (double)NAN;
    if (rent.value > 0 && purchase.value > 0)
        c->breakeven_runs = tsim_product(r, "campaign.breakeven_runs", "buying / rent of a run", TSIM_FRACTION,
                                         TSIM_PARTS(purchase, tsim_inverse(rent)))
                                .value;
}
