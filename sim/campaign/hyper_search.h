/* hyper_search.h - a search for hyper-parameters that stops trials early, as a campaign of many runs. Each trial is the
 * scenario's run with other hyper-parameters; `at_once` of them are trained at a time, each on a cluster of its own.
 *
 *   halving     n trials are trained for a part r of the run. The best 1/eta of them go on until eta r, and so on: the last are
 *               trained for the whole run (Jamieson and Talwalkar 2016, arXiv:1502.07943)
 *   hyperband   halving begun at each r = 1, 1/eta, 1/eta^2 ... down to `least`, with so many trials that each of the s_max + 1
 *               brackets costs about the same: n = ceil((s_max + 1) / (s + 1) eta^s) at r = eta^-s (Li et al. 2018, JMLR 18,
 *               algorithm 1)
 *
 * A rung is over when all its trials are, which come at_once at a time; the last of them may leave clusters empty, which are paid
 * for and draw nothing here. A trial goes on from its checkpoint; loading that, and evaluating trials at the end of a rung, are
 * not counted. */
#ifndef TSIM_CAMPAIGN_HYPER_SEARCH_H
#define TSIM_CAMPAIGN_HYPER_SEARCH_H

#include "campaign/campaign.h"

/* Trials that are trained from one part of the run to another. */
struct tsim_rung {
    double trials, from_frac, to_frac;
};
enum { TSIM_MOST_RUNGS = 256 };

struct tsim_hyper_search {
    bool has;
    double trials;                                        /* that are begun */
    double full;                                          /* that are trained to the end */
    double runs;                                          /* whole runs that all of them are worth */
    double in_row;                                        /* whole runs that they take one after another */
    double days, all_days;                                /* of the search; of as many trials without a cut */
    double rent_usd, energy_kwh, electricity_usd, co2_kg; /* of the search */
};

/* Returns how many rungs there are, in the order in which they are trained; 0: nothing is searched. */
int tsim_search_rungs(const struct tsim_search_spec *spec, struct tsim_rung rungs[TSIM_MOST_RUNGS]);

/* Plays the search; `run` is the campaign of one run in full. *search stays zeroed where nothing is searched, or the
 * run has no length. */
void tsim_hyper_search(const struct tsim_search_spec *spec, const struct tsim_campaign *run,
                       struct tsim_hyper_search *search);

#endif
