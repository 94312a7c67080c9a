/* expenses.h - what a run is charged with: its energy at the meter by price and emissions, accelerators for the time that
 * they are rented, and the price of buying them. Spot instances are rented at a discount. */
#ifndef TSIM_CAMPAIGN_EXPENSES_H
#define TSIM_CAMPAIGN_EXPENSES_H

#include "campaign/campaign.h"

/* Returns the accelerators that train and those of the nodes that stand by. */
struct tsim_amount tsim_accelerators_with_spares(struct tsim_term_recorder *recorder,
                                                 const struct tsim_scenario *scenario, double spares);

struct tsim_charged {
    struct tsim_amount energy;        /* of the facility, in J */
    double price_per_j, carbon_per_j; /* where the scenario has a profile by the hour: its mean over the run */
    struct tsim_amount accelerators;
    struct tsim_amount accelerator_time; /* that is paid for */
};

/* Fills in energy, CO2, electricity, rent, purchase and how many runs' rent that is. */
void tsim_expenses(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario,
                   const struct tsim_charged *charged, struct tsim_campaign *campaign);

#endif
