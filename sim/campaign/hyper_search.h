/* hyper_search.h - a search for hyper-parameters that stops trials early, as a campaign of many runs. Each trial is the
 * scenario's run with other hyper-parameters; `at_once` trials are trained at a time, each on a cluster of its own.
 *
 *   halving     n trials are trained for a part r of the run. The best 1/eta of them go on until eta r, and so on; the
 *               last are trained for the whole run (Jamieson and Talwalkar 2016, arXiv:1502.07943).
 *   hyperband   halving begun at each r = 1, 1/eta, 1/eta^2 ... down to `least`, with so many trials that each of the
 *               s_max + 1 brackets costs about the same: n = ceil((s_max + 1) / (s + 1) eta^s) at r = eta^-s (Li et
 *               al. 2018, JMLR 18, algorithm 1).
 *
 * A rung ends when all its trials have ended. They come at_once at a time, and the last of them may leave clusters
 * empty: an empty cluster is paid for and is taken to draw no power. A trial goes on from its checkpoint; the time to
 * load that, and to evaluate trials at the end of a rung, is not counted. */
#pragma once

#include "campaign/campaign.h"

/* The trials that are trained from one part of the run to another. */
struct tsim_rung {
    double trials, from_frac, to_frac;
};
enum { TSIM_MOST_RUNGS = 256 };

struct tsim_hyper_search {
    bool has;
    double trials;         /* that are begun */
    double full;           /* that are trained to the end */
    double runs;           /* the training of all trials, in whole runs */
    double in_row;         /* the time of the search, in whole runs */
    double days, all_days; /* of the search, and of as many trials if none were stopped */
    double rent_usd, energy_kwh, electricity_usd, co2_kg; /* of the search */
};

/* Fills in the rungs in the order in which they are trained, and returns their number; 0 if nothing is searched. */
int tsim_search_rungs(const struct tsim_search_spec *spec, struct tsim_rung rungs[TSIM_MOST_RUNGS]);

/* Computes the search from the campaign of one whole run. *search stays zeroed if nothing is searched, or if the run
 * has no length. */
void tsim_hyper_search(const struct tsim_search_spec *spec, const struct tsim_campaign *run,
                       struct tsim_hyper_search *search);
