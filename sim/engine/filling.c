/* filling.c - tsim_sharing_solve: progressive filling of the smallest region that can be proven enough.
 *
 * The region R starts with the activities whose bottleneck is a marked resource, and those that have no rate yet. All
 * others keep their rates, so a resource r offers R the capacity C_r - sum over a not in R of d_{a,r} x_a. Filling R
 * gives its members a bound or a bottleneck within R. Errors that remain show on the touched resources only
 * (those that a member demands), and only where members and others meet:
 *   - a member's bottleneck r has an outsider with a larger share      -> that outsider joins R;
 *   - an outsider's bottleneck r is no longer saturated, or a member
 *     has a larger share there                                         -> the outsider joins R.
 * If neither occurs, every activity of the system has its bound or its bottleneck, which is the definition of the
 * solution. The region can only grow, so this ends; after ROUNDS it is made the whole component. */
#include "engine/sharing.h"

#include "base/arena.h"
#include "base/status.h"

#include <math.h>

enum { ROUNDS = 4, FEW_DEMANDS = 8 };

/* A resource that has this part of itself to spare when all in the region are at their bounds binds nobody. */
#define SPARE_FRAC 1e-9

/* Sums of differences lose digits, so a load that has fallen to this part of its last fresh sum is summed afresh. */
#define REFRESH_FRAC 0.0625

/* Returns the lesser of two numbers, inline. */
static double least(double a, double b) {
    return a < b ? a : b;
}

static void touch(struct tsim_sharing *sharing, int32_t resource) {
    struct tsim_sharing_resource *r = &sharing->resources[resource];
    if (r->is_touched)
        return;
    r->is_touched = true;
    if (sharing->n_touched == sharing->touched_capacity)
        sharing->touched = tsim_heap_grow(sharing->touched, &sharing->touched_capacity, sharing->n_touched + 1,
                                          sizeof *sharing->touched);
    sharing->touched[sharing->n_touched++] = resource;
}

static void include(struct tsim_sharing *sharing, int32_t activity) {
    struct tsim_sharing_activity *a = &sharing->activities[activity];
    if (a->is_inside)
        return;
    a->is_inside = true;
    a->next_rate = a->rate;
    a->next_bottleneck = a->bottleneck;
    if (sharing->n_region == sharing->region_capacity)
        sharing->region =
            tsim_heap_grow(sharing->region, &sharing->region_capacity, sharing->n_region + 1, sizeof *sharing->region);
    sharing->region[sharing->n_region++] = activity;
    for (int32_t i = a->first_demand; i >= 0; i = sharing->demands[i].next_demand)
        touch(sharing, sharing->demands[i].resource);
}

/* Returns the weight of the heaviest newcomer on the resource; 0: none. */
static double newcomers_weight(const struct tsim_sharing *sharing, const struct tsim_sharing_resource *r) {
    double heaviest = 0;
    for (int32_t i = r->first_user; i >= 0; i = sharing->demands[i].next_user) {
        const struct tsim_sharing_activity *a = &sharing->activities[sharing->demands[i].activity];
        if (a->is_new && a->weight > heaviest)
            heaviest = a->weight;
    }
    return heaviest;
}

/* Includes newcomers' neighbours where that costs little, because whom a newcomer meets will join sooner or later, and
 * this saves rounds. Those that weigh more seldom join: a kernel leaves collectives what they have. */
static void include_marked(struct tsim_sharing *sharing) {
    for (size_t m = 0; m < sharing->n_marked; m++) {
        struct tsim_sharing_resource *r = &sharing->resources[sharing->marked[m]];
        r->is_marked = false;
        double weight = newcomers_weight(sharing, r);
        for (int32_t i = r->first_user; i >= 0; i = sharing->demands[i].next_user) {
            int32_t user = sharing->demands[i].activity;
            const struct tsim_sharing_activity *a = &sharing->activities[user];
            if (a->is_new || a->bottleneck == sharing->marked[m] ||
                (a->weight <= weight && a->n_demands <= FEW_DEMANDS))
                include(sharing, user);
        }
    }
    sharing->n_marked = 0;
}

static void include_component(struct tsim_sharing *sharing) {
    for (size_t t = 0; t < sharing->n_touched; t++) { /* `touched` grows meanwhile */
        const struct tsim_sharing_resource *r = &sharing->resources[sharing->touched[t]];
        for (int32_t i = r->first_user; i >= 0; i = sharing->demands[i].next_user)
            include(sharing, sharing->demands[i].activity);
    }
}

/* Orders a binary heap of levels, equal levels by number, so that the order of insertion does not matter. */

static bool is_lower(struct tsim_sharing_candidate a, struct tsim_sharing_candidate b) {
    return a.level < b.level || (a.level == b.level && a.who < b.who);
}

static void push_candidate(struct tsim_sharing *sharing, double level, int32_t who) {
    if (sharing->n_candidates == sharing->candidate_capacity)
        sharing->candidates = tsim_heap_grow(sharing->candidates, &sharing->candidate_capacity,
                                             sharing->n_candidates + 1, sizeof *sharing->candidates);
    struct tsim_sharing_candidate *heap = sharing->candidates, pushed = {level, who};
    size_t at = sharing->n_candidates++;
    for (; at > 0 && is_lower(pushed, heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = pushed;
}

static struct tsim_sharing_candidate pop_candidate(struct tsim_sharing *sharing) {
    TSIM_ASSERT(sharing->n_candidates > 0); /* every open activity has a demand, hence a candidate */
    struct tsim_sharing_candidate *heap = sharing->candidates, first = heap[0];
    size_t n = --sharing->n_candidates, at = 0;
    struct tsim_sharing_candidate last = heap[n];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_lower(heap[child + 1], heap[child]))
            child++;
        if (!is_lower(heap[child], last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return first;
}

/* Returns the level at which the resource would be full if only its open users' rates still rose. */
static double fill_level(const struct tsim_sharing *sharing, int32_t resource) {
    double remaining = sharing->resources[resource].remaining;
    return remaining > 0 ? remaining / sharing->loads[resource].now : 0;
}

static void prepare_resources(struct tsim_sharing *sharing) {
    for (size_t t = 0; t < sharing->n_touched; t++) {
        struct tsim_sharing_resource *r = &sharing->resources[sharing->touched[t]];
        r->n_inside = r->n_open = 0;
        r->outside = r->used;
        sharing->loads[sharing->touched[t]] = (struct tsim_sharing_load){0, 0, 0};
    }
}

static void open_region(struct tsim_sharing *sharing) {
    for (size_t m = 0; m < sharing->n_region; m++) {
        struct tsim_sharing_activity *a = &sharing->activities[sharing->region[m]];
        a->is_open = true;
        double lowest = HUGE_VAL; /* the level at which some resource would be full with this activity alone on it */
        for (int32_t i = a->first_demand; i >= 0; i = sharing->demands[i].next_demand) {
            struct tsim_sharing_resource *r = &sharing->resources[sharing->demands[i].resource];
            double load = a->weight * sharing->demands[i].per_unit;
            r->n_inside++;
            r->n_open++;
            r->outside -= sharing->demands[i].per_unit * a->rate;
            sharing->loads[sharing->demands[i].resource].now += load;
            sharing->loads[sharing->demands[i].resource].most += sharing->demands[i].per_unit * a->bound;
            lowest = least(lowest, r->capacity / load);
        }
        if (a->bound / a->weight < lowest) /* else it can never bind */
            push_candidate(sharing, a->bound / a->weight, ~sharing->region[m]);
    }
}

/* Returns whether the resource could be full if all activities in the region were at their bounds. */
static bool may_bind(const struct tsim_sharing *sharing, int32_t resource) {
    const struct tsim_sharing_resource *r = &sharing->resources[resource];
    return r->outside + sharing->loads[resource].most > r->capacity * (1 - SPARE_FRAC);
}

static void open_resources(struct tsim_sharing *sharing) {
    for (size_t t = 0; t < sharing->n_touched; t++) {
        struct tsim_sharing_resource *r = &sharing->resources[sharing->touched[t]];
        if (r->n_inside == r->n_users || r->outside < 0)
            r->outside = 0;
        r->remaining = r->capacity - r->outside;
        sharing->loads[sharing->touched[t]].mark = sharing->loads[sharing->touched[t]].now;
        if (r->n_open > 1 && may_bind(sharing, sharing->touched[t]))
            push_candidate(sharing, fill_level(sharing, sharing->touched[t]), sharing->touched[t]);
    }
}

/* Pushes one candidate for the resources that an activity has to itself within the region, because only the one that is
 * full first can bind it. So a collective over thousands of links is one candidate, or two with its bound. */
static void push_own_resources(struct tsim_sharing *sharing) {
    for (size_t m = 0; m < sharing->n_region; m++) {
        const struct tsim_sharing_activity *a = &sharing->activities[sharing->region[m]];
        double lowest = HUGE_VAL;
        int32_t first = -1;
        for (int32_t i = a->first_demand; i >= 0; i = sharing->demands[i].next_demand) {
            int32_t resource = sharing->demands[i].resource;
            if (sharing->resources[resource].n_open > 1 || !may_bind(sharing, resource))
                continue;
            double level = fill_level(sharing, resource);
            if (first < 0 || level < lowest || (level == lowest && resource < first)) {
                lowest = level;
                first = resource;
            }
        }
        if (first >= 0)
            push_candidate(sharing, lowest, first);
    }
}

static void refresh_load(struct tsim_sharing *sharing, int32_t resource) {
    struct tsim_sharing_load *load = &sharing->loads[resource];
    load->now = 0;
    for (int32_t i = sharing->resources[resource].first_user; i >= 0; i = sharing->demands[i].next_user) {
        const struct tsim_sharing_activity *a = &sharing->activities[sharing->demands[i].activity];
        if (a->is_open)
            load->now += a->weight * sharing->demands[i].per_unit;
    }
    load->mark = load->now;
}

static void fix(struct tsim_sharing *sharing, int32_t activity, double rate, int32_t bottleneck) {
    struct tsim_sharing_activity *a = &sharing->activities[activity];
    a->is_open = false;
    a->next_rate = rate;
    a->next_bottleneck = bottleneck;
    for (int32_t i = a->first_demand; i >= 0; i = sharing->demands[i].next_demand) {
        struct tsim_sharing_resource *r = &sharing->resources[sharing->demands[i].resource];
        r->n_open--;
        r->remaining -= sharing->demands[i].per_unit * rate;
        struct tsim_sharing_load *load = &sharing->loads[sharing->demands[i].resource];
        load->now -= a->weight * sharing->demands[i].per_unit;
        if (r->n_open > 0 && load->now < load->mark * REFRESH_FRAC)
            refresh_load(sharing, sharing->demands[i].resource);
    }
}

static void fix_users(struct tsim_sharing *sharing, int32_t resource, double level) {
    for (int32_t i = sharing->resources[resource].first_user; i >= 0; i = sharing->demands[i].next_user) {
        int32_t user = sharing->demands[i].activity;
        const struct tsim_sharing_activity *a = &sharing->activities[user];
        if (a->is_open)
            fix(sharing, user, least(a->weight * level, a->bound), resource);
    }
}

/* Fills a region of one activity, as every second solve has: the lowest of its levels is its rate. */
static void fill_one(struct tsim_sharing *sharing) {
    struct tsim_sharing_activity *a = &sharing->activities[sharing->region[0]];
    double lowest = HUGE_VAL, level = HUGE_VAL, own_level = a->bound / a->weight;
    int32_t bottleneck = -1;
    for (int32_t i = a->first_demand; i >= 0; i = sharing->demands[i].next_demand) {
        const struct tsim_sharing_demand *d = &sharing->demands[i];
        struct tsim_sharing_resource *r = &sharing->resources[d->resource];
        double load = a->weight * d->per_unit, outside = tsim_sharing_used_beside(sharing, d);
        r->n_inside = 1;
        r->remaining = r->capacity - outside;
        lowest = least(lowest, r->capacity / load);
        if (outside + d->per_unit * a->bound <= r->capacity * (1 - SPARE_FRAC))
            continue;
        double full = r->remaining > 0 ? r->remaining / load : 0;
        if (full < level || (full == level && d->resource < bottleneck)) {
            level = full;
            bottleneck = d->resource;
        }
    }
    bool is_bound = own_level < lowest && own_level <= level;
    a->next_bottleneck = is_bound ? -1 : bottleneck;
    a->next_rate = is_bound ? a->bound : least(a->weight * level, a->bound);
    for (int32_t i = a->first_demand; i >= 0; i = sharing->demands[i].next_demand)
        sharing->resources[sharing->demands[i].resource].remaining -= sharing->demands[i].per_unit * a->next_rate;
    sharing->n_filled++;
}

/* Fills the region. Fixing an activity at or below the level of a resource never lowers that level: (C - d x) / (U - w
 * d) >= C / U exactly if x / w <= C / U. So a candidate's stored level is a lower bound, corrected when it comes up. */
static void fill_region(struct tsim_sharing *sharing) {
    sharing->n_candidates = 0;
    prepare_resources(sharing);
    open_region(sharing);
    open_resources(sharing);
    push_own_resources(sharing);
    sharing->n_filled += (int64_t)sharing->n_region;
    double level = 0;
    for (size_t n_fixed = 0; n_fixed < sharing->n_region;) {
        struct tsim_sharing_candidate first = pop_candidate(sharing);
        if (first.who < 0) {
            const struct tsim_sharing_activity *a = &sharing->activities[~first.who];
            if (!a->is_open)
                continue;
            level = fmax(level, first.level);
            fix(sharing, ~first.who, a->bound, -1);
            n_fixed++;
            continue;
        }
        const struct tsim_sharing_resource *r = &sharing->resources[first.who];
        if (r->n_open == 0)
            continue;
        double now = fill_level(sharing, first.who);
        if (now <= level * (1 + TSIM_SHARING_SAME)) {
            now = level;
        } else if (now > first.level * (1 + TSIM_SHARING_SAME)) {
            push_candidate(sharing, now, first.who);
            continue;
        }
        level = now;
        n_fixed += (size_t)r->n_open;
        fix_users(sharing, first.who, level);
    }
}

static double share(const struct tsim_sharing_activity *a) {
    return (a->is_inside ? a->next_rate : a->rate) / a->weight;
}

/* Includes the outsiders on the resource whose property, or a member's, is broken there (top of this file). */
static void include_broken(struct tsim_sharing *sharing, int32_t resource) {
    const struct tsim_sharing_resource *r = &sharing->resources[resource];
    bool is_saturated = r->remaining <= r->capacity * TSIM_SHARING_TOLERANCE;
    double largest = 0, least_bottlenecked = HUGE_VAL;
    for (int32_t i = r->first_user; i >= 0; i = sharing->demands[i].next_user) {
        const struct tsim_sharing_activity *a = &sharing->activities[sharing->demands[i].activity];
        largest = fmax(largest, share(a));
        if (a->is_inside && a->next_bottleneck == resource)
            least_bottlenecked = fmin(least_bottlenecked, share(a));
    }
    for (int32_t i = r->first_user; i >= 0; i = sharing->demands[i].next_user) {
        int32_t user = sharing->demands[i].activity;
        const struct tsim_sharing_activity *a = &sharing->activities[user];
        bool takes_too_much = share(a) > least_bottlenecked * (1 + TSIM_SHARING_TOLERANCE);
        bool lost_bottleneck = a->bottleneck == resource && !a->is_new &&
                               (!is_saturated || share(a) < largest * (1 - TSIM_SHARING_TOLERANCE));
        if (!a->is_inside && (takes_too_much || lost_bottleneck))
            include(sharing, user);
    }
}

/* Extends the region; returns false if nothing had to be added, and so the region is enough. A resource that was free
 * and is free is nobody's bottleneck. */
static bool extend_region(struct tsim_sharing *sharing) {
    size_t n_before = sharing->n_region, n_touched = sharing->n_touched;
    for (size_t t = 0; t < n_touched; t++) {
        const struct tsim_sharing_resource *r = &sharing->resources[sharing->touched[t]];
        double free_limit = r->capacity * TSIM_SHARING_TOLERANCE;
        bool was_free = r->capacity - r->used > 2 * free_limit, is_free = r->remaining > 2 * free_limit;
        if (r->n_inside < r->n_users && !(was_free && is_free))
            include_broken(sharing, sharing->touched[t]);
    }
    return sharing->n_region > n_before;
}

static void commit_resources(struct tsim_sharing *sharing) {
    for (size_t t = 0; t < sharing->n_touched; t++) {
        struct tsim_sharing_resource *r = &sharing->resources[sharing->touched[t]];
        r->used = r->capacity - r->remaining > 0 ? r->capacity - r->remaining : 0;
        r->is_touched = false;
    }
    sharing->n_touched = 0;
}

static void commit_activities(struct tsim_sharing *sharing) {
    if (sharing->n_region > sharing->changed_capacity)
        sharing->changed =
            tsim_heap_grow(sharing->changed, &sharing->changed_capacity, sharing->n_region, sizeof *sharing->changed);
    for (size_t m = 0; m < sharing->n_region; m++) {
        struct tsim_sharing_activity *a = &sharing->activities[sharing->region[m]];
        a->is_inside = false;
        a->bottleneck = a->next_bottleneck;
        if (!a->is_new && fabs(a->next_rate - a->rate) <= a->rate * TSIM_SHARING_SAME)
            continue;
        a->rate = a->next_rate;
        a->is_new = false;
        sharing->changed[sharing->n_changed++] = sharing->region[m];
    }
    sharing->n_region = 0;
}

void tsim_sharing_solve(struct tsim_sharing *sharing) {
    sharing->n_changed = 0;
    include_marked(sharing);
    if (sharing->n_region == 0) /* those that waited for capacity have all ended */
        return;
    for (int round = 0;; round++) {
        if (round == ROUNDS)
            include_component(sharing);
        if (sharing->n_region == 1)
            fill_one(sharing);
        else
            fill_region(sharing);
        if (round == ROUNDS || !extend_region(sharing))
            break;
    }
    commit_resources(sharing);
    commit_activities(sharing);
}
