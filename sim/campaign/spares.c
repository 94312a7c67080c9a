#include "campaign/spares.h"

#include <math.h>

struct tried {
    double mean_s; /* INFINITY: a replication does not come to an end */
    double gone_node_s;
    int64_t most_away;
};

/* Tries a number of spares, and gives up once the mean must be above most_s. */
static struct tried try_spares(const struct tsim_campaign_job *job, int64_t n_replications, int64_t spares,
                               double most_s) {
    struct tsim_campaign_job changed = *job;
    struct tried tried = {0};
    double left_s = most_s * (double)n_replications;
    changed.spares = spares;
    for (int64_t i = 0; i < n_replications; i++) {
        struct tsim_replication one;
        changed.give_up_s = isfinite(left_s) ? left_s : 0;
        tsim_campaign_replicate(&changed, i, &one);
        if (!one.is_finished)
            return (struct tried){.mean_s = (double)INFINITY};
        left_s -= one.time_s;
        tried.mean_s += one.time_s / (double)n_replications;
        tried.gone_node_s += one.gone_node_s / (double)n_replications;
        tried.most_away = one.most_away > tried.most_away ? one.most_away : tried.most_away;
    }
    return tried;
}

static double value_of(const struct tsim_campaign_job *job, int64_t spares, const struct tried *tried,
                       enum tsim_spares_goal goal) {
    if (goal == TSIM_SPARES_FOR_TIME)
        return tried->mean_s;
    return tried->mean_s * (double)(job->nodes + spares) - tried->gone_node_s;
}

/* Returns the mean time above which the value cannot be the least. */
static double most_time_s(const struct tsim_campaign_job *job, int64_t spares, double least,
                          enum tsim_spares_goal goal) {
    double rounding = 1 + 1e-9;
    if (goal == TSIM_SPARES_FOR_TIME)
        return rounding * least;
    bool is_preempted = job->causes[TSIM_CAUSE_PREEMPTION].mtbf_s > 0; /* how much is not paid for is not known */
    return is_preempted ? (double)INFINITY : rounding * least / (double)(job->nodes + spares);
}

int64_t tsim_best_spares(const struct tsim_campaign_job *job, int64_t n_replications, enum tsim_spares_goal goal) {
    struct tried ample = try_spares(job, n_replications, INT32_MAX, (double)INFINITY);
    int64_t most = ample.most_away, best = most;
    double least = value_of(job, most, &ample, goal);
    for (int64_t spares = most - 1; spares >= 0; spares--) {
        double most_s = most_time_s(job, spares, least, goal);
        struct tried tried = try_spares(job, n_replications, spares, most_s);
        double value = value_of(job, spares, &tried, goal);
        if (value <= least) {
            least = value;
            best = spares;
        }
    }
    return best;
}
