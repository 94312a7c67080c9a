/* prediction.h - what is said of a run: the figures that training computed, and what studies of it add, which nothing
 * below them knows of. All of it is 0 until it is filled in. */
#ifndef TSIM_RESULTS_PREDICTION_H
#define TSIM_RESULTS_PREDICTION_H

#include "base/quantile.h"
#include "run/result.h"

/* A distribution is said by its quantiles, ascending: point i stands for the i-th part of all cases. */
enum { TSIM_DISTRIBUTION_POINTS = 100 };
struct tsim_distribution {
    double at[TSIM_DISTRIBUTION_POINTS];
};

struct tsim_uncertainty {
    const char *basis;      /* "90 % interval from 30 similar runs"; NULL: no interval */
    const char *reasons[3]; /* what makes it wide: "no measured run on accelerators of AMD" */
    int n_reasons;
    double step_time_low_s, step_time_high_s;
    double round_low_s, round_high_s; /* of a round of post-training */
    int32_t n_rounds;                 /* measured ones that these rest on; 0: there are none, and no such interval */
    int32_t n_similar, n_own; /* measured runs on its accelerator in its class of precision, of its kind of model with
                                  its software; all on that accelerator in that class */
    bool has_run;             /* the rest is there: of the whole run (study/judge/forecast.h) */
    struct tsim_percentiles days, cost_usd, energy_kwh; /* cost: the rent, NAN where it is not known */
    struct tsim_distribution days_at;
    double missed_frac; /* of the cases: the longest ones, which end without the loss that is the goal */
    const char *because[8];
    int n_because;
};

struct tsim_prediction {
    struct tsim_result result;           /* run/run.h */
    struct tsim_uncertainty uncertainty; /* study/judge/uncertainty.h */
    const char *advice[4];               /* study/search/advice.h */
    int32_t n_advice;
};

#endif
