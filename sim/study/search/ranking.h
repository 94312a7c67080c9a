/* ranking.h - the best points of a study: by an objective, among those that are feasible (status ok) and within the
 * limits. They come from a scenario's `sweep: {objective: tokens_per_s, limits: {days: 60, cost: 20 M USD}}`. A limit
 * is the most of a figure of which less is better, and the least of a figure of which more is better. */
#pragma once

#include "config/text/value.h"
#include "results/store_points.h"

struct tsim_limit {
    enum tsim_outcome_figure figure;
    double value; /* in SI units */
};

struct tsim_ranking {
    enum tsim_outcome_figure objective;
    bool is_said; /* it was asked for */
    const struct tsim_limit *limits;
    size_t n_limits;
};

/* Reads how to rank. `objective` takes precedence over the section, which may be NULL; without both the objective is
 * tokens_per_s. */
enum tsim_status tsim_ranking_read(struct tsim_arena *arena, const struct tsim_value *section, const char *objective,
                                   struct tsim_ranking *ranking, struct tsim_diags *diags);

/* Ranks a job that is made of rounds of post-training by whole rounds, unless it has an objective of its own, because a
 * step is only a part of a round. */
void tsim_ranking_suit(struct tsim_ranking *ranking, bool has_rounds);

/* Returns whether it can be among the best: feasible, within the limits, and with a value of the objective. */
bool tsim_ranking_admits(const struct tsim_ranking *ranking, const struct tsim_point *point);
/* Returns whether `a` is better than `b`. Both must be admitted; among equals the earlier position is better. */
bool tsim_ranking_is_better(const struct tsim_ranking *ranking, const struct tsim_point *a, const struct tsim_point *b);

/* Returns how far a value misses a limit, as a fraction of the limit; 0 or less if it is kept, NAN for NAN. */
double tsim_limit_miss(const struct tsim_limit *limit, double value);

/* The best few points seen so far are kept, best first. */
enum { TSIM_BEST_POINTS = 5 };
struct tsim_best {
    struct tsim_point points[TSIM_BEST_POINTS];
    size_t n;
};
void tsim_best_offer(struct tsim_best *best, const struct tsim_ranking *ranking, const struct tsim_point *point);
