/* expenses.h - what a run is charged: its energy at the meter by price and emissions, the rent of accelerators for the
 * time that they are held, and the price of buying them. Spot instances are rented at a discount. */
#pragma once

#include "campaign/campaign.h"

/* Returns the number of accelerators, those of spare nodes included. */
struct tsim_amount tsim_accelerators_with_spares(struct tsim_term_recorder *recorder,
                                                 const struct tsim_scenario *scenario, double spares);

/* The charges are computed from this. */
struct tsim_charged {
    struct tsim_amount energy;        /* of the facility, in J */
    double price_per_j, carbon_per_j; /* a profile by the hour counts with its mean over the run */
    struct tsim_amount accelerators;
    struct tsim_amount accelerator_time; /* in s: the time that each accelerator is paid for */
};

/* Fills in the campaign's energy, CO2, electricity, rent and purchase, and the number of runs whose rent would buy the
 * machine. */
void tsim_expenses(struct tsim_term_recorder *recorder, const struct tsim_scenario *scenario,
                   const struct tsim_charged *charged, struct tsim_campaign *campaign);
