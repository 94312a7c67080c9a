/* ownership.h - what a run costs on a machine that is owned and on one that is rented under a contract, and when each
 * is cheaper.
 *
 *   machine      K = accelerators x purchase x (1 + host + network + storage), spares included
 *   facility     B = kW of the nodes x facility x min(1, lifetime / facility_lifetime): the part of its life that the
 *                machine's life takes up, of which nothing is left; the capital is K + B
 *   per year     F = (K + B - r K / (1 + i)^L) i / (1 - (1 + i)^-L) + m K, or (K + B - r K) / L + m K at i = 0, with
 *                lifetime L in years, interest i per year, residual r, and maintenance m per year, the last two as
 *                parts of K
 *   per run      F x the run's years / utilization + its electricity (cooling, the facility's part, is shown apart)
 *   rented       accelerators x rent x time
 *   contract     accelerators x reserved price x the longer of the run and the commitment
 *
 * F is the annuity of a loan, K + B less the present value of the residual. Owning costs as much as renting at the
 * utilization u with F / (u year) = rent - electricity (both per time), and with so many runs in the lifetime as cost F
 * L together: F L / (rent of a run - electricity of a run). A machine that is not used is taken to be off.
 *
 * Embodied carbon is accelerators x embodied x time / (lifetime x utilization), as in Luccioni et al. 2023 (JMLR 24,
 * 253), section 4.1. */
#pragma once

#include "base/term.h"
#include "config/scenario.h"

/* One run, as it enters the cost of owning the machine. */
struct tsim_ownership_run {
    struct tsim_amount accelerators; /* spares included */
    struct tsim_amount time, electricity_usd, rent_usd;
    struct tsim_amount tokens; /* 0: the model has no tokens */
    struct tsim_amount drawn;  /* W that the nodes draw in training, spares included; NAN: not known */
};

struct tsim_ownership {
    bool has;            /* false: the purchase price is not known */
    double facility_usd; /* part of the capital */
    double capital_usd, fixed_usd_per_y;
    double capital_share_usd, maintenance_usd, power_usd, cooling_usd; /* of the run; they add up to `usd` */
    double usd;
    double usd_per_trillion_tokens, rent_usd_per_trillion_tokens; /* NAN without tokens; the second also without rent */
    double breakeven_utilization, breakeven_runs; /* INFINITY: renting is always cheaper; NAN: the rent is not known */
    double reserved_usd;                          /* NAN: there is no contract's price */
};

void tsim_ownership(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario,
                    const struct tsim_ownership_run *run, struct tsim_ownership *out);
double tsim_embodied_kg(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario,
                        struct tsim_amount accelerators, struct tsim_amount time);

/* Returns the price of the facility's part that the accelerators take up for the machine's life. They draw their share of
 * their node's limit, or `drawn` where it has none. */
struct tsim_amount tsim_facility_usd(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario,
                                     struct tsim_amount accelerators, struct tsim_amount drawn);

/* Returns what a loan of 1 costs each year, less what the residual value pays back at its end. */
struct tsim_amount tsim_annuity_per_y(struct tsim_term_recorder *recorder, const char *name,
                                      const struct tsim_cost_spec *cost, struct tsim_amount residual);
