#include "training/spares.h"

#include <math.h>

struct tried {
    double mean_s; /* INFINITY: a replication does not come to an end */
    int64_t most_away;
};

/* Given up when the mean would come out above most_s. */
static struct tried try_spares(const struct tsim_campaign_job *job, int64_t n_replications, int64_t spares,
                               double most_s) {
    struct tsim_campaign_job changed = *job;
    struct tried tried = {0};
    double left_s = most_s * (double)n_replications;
    changed.spares = spares;
    for (int64_t i = 0; i < n_replications; i++) {
        struct tsim_replication one;
        changed.give_up_s = left_s;
        tsim_campaign_replicate(&changed, i, &one);
        if (!one.is_finished)
            return (struct tried){(double)INFINITY, tried.most_away};
        left_s -= one.time_s;
        tried.mean_s += one.time_s / (double)n_replications;
        tried.most_away = one.most_away > tried.most_away ? one.most_away : tried.most_away;
    }
    return tried;
}

/* What the mean must not be above for the value to be the least. */
static double most_time_s(const struct tsim_campaign_job *job, int64_t spares, double least,
                          enum tsim_spares_goal goal) {
    double rounding = 1 + 1e-9;
    return rounding * (goal == TSIM_SPARES_FOR_TIME ? least : least / (double)(job->nodes + spares));
}

static double value_of(const struct tsim_campaign_job *job, int64_t spares, double mean_s, enum tsim_spares_goal goal) {
    return goal == TSIM_SPARES_FOR_TIME ? mean_s : mean_s * (double)(job->nodes + spares);
}

int64_t tsim_best_spares(const struct tsim_campaign_job *job, int64_t n_replications, enum tsim_spares_goal goal) {
    struct tried ample = try_spares(job, n_replications, INT32_MAX, (double)INFINITY);
    int64_t most = ample.most_away, best = most;
    double least = value_of(job, most, ample.mean_s, goal);
    for (int64_t spares = most - 1; spares >= 0; spares--) {
        double most_s = most_time_s(job, spares, least, goal);
        double value = value_of(job, spares, try_spares(job, n_replications, spares, most_s).mean_s, goal);
        if (value <= least) {
            least = value;
            best = spares;
        }
    }
    return best;
}
