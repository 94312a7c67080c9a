/* naive_maxmin.h - weighted max-min rates the slow and obvious way, over a dense matrix: the second implementation that
 * sim/engine/sharing.h is compared with. It shares no code and no data structure with it. */
#pragma once

struct naive_system {
    int n_activities, n_resources;
    const double *capacity; /* [n_resources] */
    const double *weight;   /* [n_activities] */
    const double *bound;    /* [n_activities], may be HUGE_VAL */
    const double *demand;   /* [n_activities][n_resources], 0 = none */
};

/* Fills rate[n_activities]. At most NAIVE_MAX_ACTIVITIES activities. */
enum { NAIVE_MAX_ACTIVITIES = 256 };
void naive_maxmin_rates(const struct naive_system *system, double *rate);

/* NULL if the rates are the weighted max-min rates, else what is violated: feasibility, bounds, or that every activity
 * has a saturated resource on which nobody has a larger share (or its own bound). Tolerances are relative. */
const char *naive_maxmin_violation(const struct naive_system *system, const double *rate, double tolerance);
