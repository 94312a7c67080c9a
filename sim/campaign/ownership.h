/* ownership.h - what a run costs on a machine that is owned, on one that is rented under a contract, and when each is
 * the cheaper one.
 *
 *   capital      K = accelerators x purchase x (1 + host + network + storage), spares included
 *   a year       F = (K - r K / (1 + i)^L) i / (1 - (1 + i)^-L) + m K, or (K - r K) / L + m K at i = 0, with lifetime L
 *                years, interest i, residual r, maintenance m
 *   a run        F x its years / utilization + its electricity (what the facility adds is told apart: cooling)
 *   rented       accelerators x rent x its time
 *   contract     accelerators x reserved x the longer of the run and the commitment
 *
 * Owning costs as much as renting at the utilization u with F / (u year) = rent - electricity (both per time), and with
 * so many runs in the lifetime as cost F L together: F L / (rent of a run - electricity of a run). A machine that is
 * not used is taken to be off.
 *
 * Embodied carbon: accelerators x embodied x time / (lifetime x utilization), as Luccioni et al. 2023 (JMLR 24, 253),
 * section 4.1. */
#ifndef TSIM_CAMPAIGN_OWNERSHIP_H
#define TSIM_CAMPAIGN_OWNERSHIP_H

#include "base/term.h"
#include "config/scenario.h"

struct tsim_ownership_run {          /* one run, as far as owning the machine asks */
    struct tsim_amount accelerators; /* spares included */
    struct tsim_amount time, electricity_usd, rent_usd;
    struct tsim_amount tokens; /* 0: the model has none */
};

struct tsim_ownership {
    bool has; /* the purchase price is known */
    double capital_usd, fixed_usd_per_y;
    double capital_share_usd, maintenance_usd, power_usd, cooling_usd; /* of the run; they add up to usd */
    double usd;
    double usd_per_trillion_tokens, rent_usd_per_trillion_tokens; /* NAN without tokens, or without rent */
    double breakeven_utilization, breakeven_runs; /* INFINITY: renting is always cheaper; NAN: the rent is not known */
    double reserved_usd;                          /* NAN: no contract's price is given */
};

void tsim_ownership(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario,
                    const struct tsim_ownership_run *run, struct tsim_ownership *out);
double tsim_embodied_kg(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario,
                        struct tsim_amount accelerators, struct tsim_amount time);

/* Returns what a loan of 1 costs each year, less what the residual value pays back at its end. */
struct tsim_amount tsim_annuity_per_y(struct tsim_term_recorder *recorder, const struct tsim_cost_spec *cost);

#endif
