/* dense_solver.h - sharing.h for systems of up to TSIM_DENSE_ACTIVITIES activities: the same solution, found afresh.
 *
 * Sharing among thousands needs lists that change in place, and takes care to look at no more than it must. Among a few
 * it is faster to add up anew: each resource has its users in a row, in the order of their numbers, and a solve fills
 * all that is connected with what has changed. Two activities are connected where they meet on a resource that could be
 * full, which is one whose users would together ask for more than it has if each ran at its bound. Sums are taken in
 * the order of numbers each time, so rates do not depend on what was before, but for this: as in sharing.h a rate that
 * would change by less than TSIM_SHARING_SAME of itself is left alone.
 *
 * The functions are those of sharing.h; activities are numbers below TSIM_DENSE_ACTIVITIES. */
#ifndef TSIM_ENGINE_DENSE_SOLVER_H
#define TSIM_ENGINE_DENSE_SOLVER_H

#include "base/status.h"
#include "engine/engine.h"
#include "engine/sharing.h"

#include <float.h>

enum { TSIM_DENSE_ACTIVITIES = 64, TSIM_DENSE_RESOURCES = 512 };

struct tsim_dense_user {
    double per_unit;
    int32_t activity;
};

struct tsim_dense_resource {
    double capacity;
    double free_up_to; /* below it what is asked binds nobody */
    double asked;      /* sum over users of what they would use alone */
    struct tsim_flowed flowed;
    uint64_t who; /* the users: a bit each */
    int32_t n_users;
    bool is_inside; /* the solve under way */
    bool is_marked;
    struct tsim_dense_user users[TSIM_DENSE_ACTIVITIES]; /* by number */
};

struct tsim_dense_activity {
    double weight, bound, rate, bound_level; /* the last: bound / weight */
    int32_t n_demands;
    bool is_new;
};

/* Read-only to others, except through the functions. */
struct tsim_dense_solver {
    struct tsim_dense_resource *resources;
    struct tsim_demand *demands; /* of activity a: from a * room on */
    int32_t *marked;
    struct tsim_dense_activity activities[TSIM_DENSE_ACTIVITIES];
    int32_t changed[TSIM_DENSE_ACTIVITIES];
    int32_t n_resources, room, n_marked, n_changed;
};

/* The system of the resources of `sharing`, in which nothing is under way. */
void tsim_dense_init(struct tsim_dense_solver *dense, const struct tsim_sharing *sharing);
void tsim_dense_release(struct tsim_dense_solver *dense);

void tsim_dense_set(struct tsim_dense_solver *dense, int32_t activity, double weight, double bound);
void tsim_dense_demand(struct tsim_dense_solver *dense, int32_t activity, const struct tsim_demand *demands,
                       int32_t n_demands);
bool tsim_dense_start(struct tsim_dense_solver *dense, int32_t activity);
/* All three at once. */
bool tsim_dense_begin(struct tsim_dense_solver *dense, int32_t activity, double weight, double bound,
                      const struct tsim_demand *demands, int32_t n_demands);
void tsim_dense_end(struct tsim_dense_solver *dense, int32_t activity, double work);
/* Instead of end, set, demand and start, where the activity goes on with the same weight and bound on the same
 * resources: with the rate that it has, until the next solve. False, and nothing has happened, where it does not. */
bool tsim_dense_renew(struct tsim_dense_solver *dense, int32_t activity, double work, double weight, double bound,
                      const struct tsim_demand *demands, int32_t n_demands);
void tsim_dense_solve(struct tsim_dense_solver *dense);

static inline const struct tsim_demand *tsim_dense_demands(const struct tsim_dense_solver *dense, int32_t activity) {
    return dense->demands + (ptrdiff_t)activity * dense->room;
}

#endif
