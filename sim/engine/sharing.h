/* sharing.h - how running activities share capacities: weighted max-min fairness.
 *
 * The system
 *   Given, for every resource r, a capacity C_r > 0; for every activity a, a weight w_a > 0, a bound b_a (may be
 *   infinite) and its demands d_{a,r} > 0 on at least one resource. Wanted is a rate x_a for every activity such that
 *
 *       for every r:  sum over a of d_{a,r} x_a <= C_r          (what flows fits)
 *       for every a:  x_a <= b_a
 *
 *   and the smallest share x_a / w_a is as large as it can be; then, with that settled, the next smallest, and so on
 *   (lexicographic). There is exactly one such set of rates, and it is the only one with this property, which is also
 *   what the code checks and the tests test:
 *
 *       every activity runs at its bound, or has a BOTTLENECK: a resource that is saturated and on which no
 *       activity has a larger share than it has.
 *
 *   This is SimGrid's linear max-min solver, and the sharing of Velho and Legrand's fluid network models.
 *
 *   Shares are compared across activities in the units of their work: where a computation in FLOP meets a message in
 *   bytes on one memory, weights say what one is worth in terms of the other.
 *
 * Computing it: progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2). A common level rises from
 *   zero with x_a = w_a * level. When a bound is reached that activity is fixed; when a resource is full all activities
 *   on it are fixed, and it is the bottleneck of each. The levels at which resources would fill are kept in a heap:
 *   with E demands of A activities on R resources a solve costs O(E + (A + R) log (A + R)), so O(degree) for a star.
 *
 * Computing only what changed. Most starts and ends need no solve at all:
 *   - an activity that starts where the capacity it would take alone is still free takes it: all others keep their
 *     bottlenecks, and its own is its bound or a resource that it has for itself;
 *   - an activity that ends on resources that are not saturated was in nobody's way.
 *   Otherwise the resource is marked, and the next solve begins with the activities whose bottleneck it is, holds the
 *   rates of all others fixed, fills, and checks the property above on every resource that it touched. Activities
 *   whose property is broken join the region and it is filled again. As the property is sufficient, a region that
 *   passes is the solution of the whole system, although most of the connected component was never looked at: a
 *   memory-bound operator that takes its share next to a thousand-link collective costs one memory's users, not a
 *   thousand links. After a few rounds the region is the whole connected component, which needs no check.
 *
 * Guarantees: x >= 0; sums exceed capacities and shares differ from fair by at most TSIM_SHARING_TOLERANCE of
 * themselves; a rate that would change by less than TSIM_SHARING_SAME of itself is left alone, bit by bit, so that what
 * is not touched does not drift.
 *
 * Activities are small numbers that the owner chooses (the engine uses stream numbers). Time is not known here. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The part of itself within which a resource counts as saturated, and two shares as equal. It is more than the rounding
 * that sums of a million terms gather, and less than anything that a user could measure. */
#define TSIM_SHARING_TOLERANCE 1e-10
/* Levels and rates that are nearer to each other than this part of themselves are the same number, so that symmetric
 * activities stay equal to the bit. */
#define TSIM_SHARING_SAME 1e-12

/* One pair of an activity and a resource. It is linked in both directions and comes from a pool. */
struct tsim_sharing_demand {
    double per_unit;
    int32_t activity, resource;
    int32_t next_user, previous_user; /* of the resource, newest first */
    int32_t next_demand;              /* of the activity */
};

/* The units that ended activities have used, as Neumaier's compensated sum. */
struct tsim_flowed {
    double sum, lost;
};
static inline void tsim_flowed_add(struct tsim_flowed *flowed, double units) {
    double sum = flowed->sum + units;
    flowed->lost += fabs(flowed->sum) >= units ? (flowed->sum - sum) + units : (units - sum) + flowed->sum;
    flowed->sum = sum;
}

struct tsim_sharing_resource {
    double capacity;
    double used; /* sum of per_unit * rate */
    struct tsim_flowed flowed;
    int32_t first_user, n_users;
    /* These hold during a solve, where is_touched is set: users in the region, and how many of them are not yet
     * fixed. */
    int32_t n_inside;
    int32_t n_open : 30; /* 30 bits, to save memory: large clusters have a hundred thousand resources */
    bool is_marked : 1;  /* it is in `marked`: the next solve begins here */
    bool is_touched : 1; /* the fields below belong to the solve under way */
    double outside;      /* used by activities outside the region */
    double remaining;    /* capacity less `outside` less what is fixed */
};

/* The rest of what a solve keeps of a resource. It is apart, because most starts and ends need no solve. */
struct tsim_sharing_load {
    double now, mark; /* the sum of weight * per_unit of activities not yet fixed; its value when last summed afresh */
    double most;      /* used by the region's activities when all are at their bounds */
};

struct tsim_sharing_activity {
    double weight, bound;
    double rate;
    int32_t first_demand; /* -1: none, and the activity does not exist */
    int32_t n_demands;
    int32_t bottleneck; /* a resource, or -1: its bound */
    bool is_new;        /* it has started, and has no rate yet */
    bool is_inside, is_open;
    int32_t next_bottleneck; /* found by the solve under way, as is next_rate */
    double next_rate;
};

/* A resource (>= 0) that would fill, or an activity (~id < 0) that would reach its bound. */
struct tsim_sharing_candidate {
    double level;
    int32_t who;
};

/* The whole system. Others may read it, and change it only through the functions below. */
struct tsim_sharing {
    struct tsim_sharing_resource *resources;
    struct tsim_sharing_load *loads; /* one for each resource */
    struct tsim_sharing_activity *activities;
    struct tsim_sharing_demand *demands;
    struct tsim_sharing_candidate *candidates;
    int32_t *free_demands; /* a stack: a list through the pool would wait for memory at each step */
    int32_t *marked, *touched, *region;
    int32_t *changed; /* after a solve: the n_changed activities with a new rate, new activities included */
    size_t n_resources, n_activities, n_demands, n_free_demands, n_candidates, n_marked, n_touched, n_region, n_changed;
    size_t resource_capacity, load_capacity, activity_capacity, demand_capacity, free_capacity, candidate_capacity,
        marked_capacity, touched_capacity, region_capacity, changed_capacity;
    int64_t n_filled; /* activities that progressive filling has fixed so far: the cost of sharing, for benchmarks */
};

void tsim_sharing_init(struct tsim_sharing *sharing);
void tsim_sharing_release(struct tsim_sharing *sharing);

int32_t tsim_sharing_add_resource(struct tsim_sharing *sharing, double capacity); /* > 0, finite; returns its number */

/* These begin an activity: set first, then a demand for each resource (two on the same resource add up), then start.
 * `bound` may be HUGE_VAL. start returns true if the rate is known at once and no other rate has changed, and false if
 * the next solve finds it. */
void tsim_sharing_set(struct tsim_sharing *sharing, int32_t activity, double weight, double bound);
void tsim_sharing_demand(struct tsim_sharing *sharing, int32_t activity, int32_t resource, double per_unit);
bool tsim_sharing_start(struct tsim_sharing *sharing, int32_t activity);

/* Ends and forgets the activity, and counts per_unit * work units as flowed on each of its resources. */
void tsim_sharing_end(struct tsim_sharing *sharing, int32_t activity, double work);

void tsim_sharing_book(struct tsim_sharing *sharing, int32_t resource, double units); /* counts them as flowed */

static inline bool tsim_sharing_needs_solve(const struct tsim_sharing *sharing) {
    return sharing->n_marked > 0;
}
void tsim_sharing_solve(struct tsim_sharing *sharing); /* fills `changed` */
static inline double tsim_sharing_rate(const struct tsim_sharing *sharing, int32_t activity) {
    return sharing->activities[activity].rate;
}

/* Returns what all activities but the demand's own use of its resource. If they are few, it is a fresh sum, which does
 * not depend on the order of earlier changes. */
double tsim_sharing_used_beside(const struct tsim_sharing *sharing, const struct tsim_sharing_demand *demand);

/* Returns the units of ended activities. The owner, who knows the time, adds those under way. */
double tsim_sharing_flowed(const struct tsim_sharing *sharing, int32_t resource);
