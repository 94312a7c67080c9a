/* prediction.h - the prediction of a run: the figures that training computed, and what studies add to them, which
 * nothing below the studies knows. All of it is 0 until it is filled in. */
#pragma once

#include "base/quantile.h"
#include "run/result.h"

/* A distribution is given by its quantiles, ascending: point i stands for the i-th part of all cases. */
enum { TSIM_DISTRIBUTION_POINTS = 100 };
struct tsim_distribution {
    double at[TSIM_DISTRIBUTION_POINTS];
};

struct tsim_uncertainty {
    const char *basis;      /* "90 % interval from 30 similar runs"; NULL: no interval */
    const char *reasons[3]; /* the reasons for its width: "no measured run on accelerators of AMD" */
    int n_reasons;
    double step_time_low_s, step_time_high_s;
    double round_low_s, round_high_s; /* of a round of post-training */
    int32_t n_rounds;                 /* measured rounds on which these rest; 0: there are none, and no such interval */
    double low_ratio, high_ratio;     /* ends of the interval of what the run repeats, step or round, over its time */
    /* The number of measured runs on its accelerator in its class of precision: of its kind of model with its
     * software; and all of them. */
    int32_t n_similar, n_own;
    bool has_run; /* the distributions of the whole run are set (study/judge/forecast.h) */
    struct tsim_percentiles days, cost_usd, energy_kwh; /* cost_usd: the rent, NAN if it is not known */
    struct tsim_distribution days_at;
    double missed_frac; /* part of the cases, the longest ones, that ends without reaching the goal's loss */
    const char *because[8];
    int n_because;
};

struct tsim_prediction {
    struct tsim_result result;           /* see run/run.h */
    struct tsim_uncertainty uncertainty; /* see study/judge/uncertainty.h */
    const char *advice[4];               /* see study/search/advice.h */
    int32_t n_advice;
};
