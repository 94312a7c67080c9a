#include "engine/dense_solver.h"

#include "base/arena.h"
#include "base/status.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { FIRST_ROOM = 8 };

/* A resource with this part of itself to spare binds nobody. */
#define SPARE_FRAC 1e-9

void tsim_dense_init(struct tsim_dense_solver *dense, const struct tsim_sharing *sharing) {
    size_t n = sharing->n_resources, none = 0;
    memset(dense, 0, sizeof *dense);
    dense->n_resources = (int32_t)n;
    dense->room = FIRST_ROOM;
    dense->resources = tsim_heap_grow(NULL, &none, n + 1, sizeof *dense->resources);
    none = 0;
    dense->marked = tsim_heap_grow(NULL, &none, n + 1, sizeof *dense->marked);
    none = 0;
    dense->demands = tsim_heap_grow(NULL, &none, (size_t)TSIM_DENSE_ACTIVITIES * FIRST_ROOM, sizeof *dense->demands);
    for (size_t i = 0; i < n; i++) {
        struct tsim_dense_resource *r = &dense->resources[i];
        memset(r, 0, offsetof(struct tsim_dense_resource, users));
        r->capacity = sharing->resources[i].capacity;
        r->free_up_to = r->capacity * (1 - SPARE_FRAC);
    }
}

void tsim_dense_release(struct tsim_dense_solver *dense) {
    tsim_heap_free(dense->resources);
    tsim_heap_free(dense->demands);
    tsim_heap_free(dense->marked);
    memset(dense, 0, sizeof *dense);
}

static void make_room(struct tsim_dense_solver *dense) {
    size_t none = 0, room = (size_t)dense->room;
    struct tsim_demand *wider = tsim_heap_grow(NULL, &none, 2 * room * TSIM_DENSE_ACTIVITIES, sizeof *wider);
    for (size_t a = 0; a < TSIM_DENSE_ACTIVITIES; a++)
        memcpy(wider + 2 * room * a, dense->demands + room * a, room * sizeof *wider);
    tsim_heap_free(dense->demands);
    dense->demands = wider;
    dense->room *= 2;
}

static uint64_t bit_of(int32_t activity) {
    return UINT64_C(1) << activity;
}

/* Every demand that begins is checked, and hardly ever fails: positive and finite, by its bits. */
static bool is_proper(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits - 1 < (UINT64_C(0x7ff) << 52) - 1;
}

static bool is_known(const struct tsim_dense_solver *dense, const struct tsim_demand *demand) {
    return (uint32_t)demand->resource < (uint32_t)dense->n_resources && is_proper(demand->per_unit);
}

void tsim_dense_set(struct tsim_dense_solver *dense, int32_t activity, double weight, double bound) {
    TSIM_ASSERT((uint32_t)activity < TSIM_DENSE_ACTIVITIES && is_proper(weight) && bound > 0);
    TSIM_ASSERT(dense->activities[activity].n_demands == 0);
    dense->activities[activity] =
        (struct tsim_dense_activity){.weight = weight, .bound = bound, .bound_level = bound / weight, .is_new = true};
}

static double asked(const struct tsim_dense_resource *r, double per_unit, double bound) {
    double most = per_unit * bound;
    return most < r->capacity ? most : r->capacity;
}

static struct tsim_dense_user *user_of(struct tsim_dense_resource *r, int32_t activity) {
    struct tsim_dense_user *user = r->users;
    while (user->activity != activity)
        user++;
    return user;
}

/* Adds to the demand of a resource that the activity has demanded already. */
static void demand_more(struct tsim_dense_solver *dense, int32_t activity, const struct tsim_demand *more) {
    struct tsim_dense_resource *r = &dense->resources[more->resource];
    struct tsim_demand *own = dense->demands + (ptrdiff_t)activity * dense->room;
    while (own->resource != more->resource)
        own++;
    r->asked -= asked(r, own->per_unit, dense->activities[activity].bound);
    own->per_unit += more->per_unit;
    user_of(r, activity)->per_unit = own->per_unit;
    r->asked += asked(r, own->per_unit, dense->activities[activity].bound);
}

static inline void add_user(struct tsim_dense_resource *r, int32_t activity, double per_unit, double bound) {
    int32_t at = r->n_users++;
    for (; at > 0 && r->users[at - 1].activity > activity; at--)
        r->users[at] = r->users[at - 1];
    r->users[at] = (struct tsim_dense_user){per_unit, activity};
    r->who |= bit_of(activity);
    r->asked += asked(r, per_unit, bound);
}

static void add_demand(struct tsim_dense_solver *dense, int32_t activity, const struct tsim_demand *demand) {
    struct tsim_dense_activity *a = &dense->activities[activity];
    struct tsim_dense_resource *r = &dense->resources[demand->resource];
    if (r->who & bit_of(activity)) {
        demand_more(dense, activity, demand);
        return;
    }
    add_user(r, activity, demand->per_unit, a->bound);
    if (a->n_demands == dense->room)
        make_room(dense);
    dense->demands[(ptrdiff_t)activity * dense->room + a->n_demands++] = *demand;
}

void tsim_dense_demand(struct tsim_dense_solver *dense, int32_t activity, const struct tsim_demand *demands,
                       int32_t n_demands) {
    for (int32_t i = 0; i < n_demands; i++) {
        TSIM_ASSERT(is_known(dense, &demands[i]));
        add_demand(dense, activity, &demands[i]);
    }
}

static void mark(struct tsim_dense_solver *dense, int32_t resource) {
    struct tsim_dense_resource *r = &dense->resources[resource];
    if (!r->is_marked)
        dense->marked[dense->n_marked++] = resource;
    r->is_marked = true;
}

/* By all, or by all but the one that has no rate yet. */
static double used(const struct tsim_dense_solver *dense, const struct tsim_dense_resource *r) {
    double sum = 0;
    for (int32_t i = 0; i < r->n_users; i++)
        sum += r->users[i].per_unit * dense->activities[r->users[i].activity].rate;
    return sum;
}

static bool fits(struct tsim_dense_solver *dense, int32_t activity, double rate) {
    const struct tsim_demand *own = tsim_dense_demands(dense, activity);
    bool fits = true;
    for (int32_t i = 0; i < dense->activities[activity].n_demands; i++) {
        const struct tsim_dense_resource *r = &dense->resources[own[i].resource];
        if (r->n_users == 1 || r->asked <= r->free_up_to ||
            used(dense, r) + own[i].per_unit * rate <= r->capacity * (1 - TSIM_SHARING_TOLERANCE))
            continue;
        fits = false;
        mark(dense, own[i].resource);
    }
    return fits;
}

/* The rate that the activity would have alone, and whether it meets others where they could be in its way. */
struct alone {
    double rate;
    bool meets_others;
};

static inline void add_alone(struct alone *alone, const struct tsim_dense_resource *r, double per_unit) {
    alone->meets_others |= (r->n_users > 1) & (r->asked > r->free_up_to);
    if (alone->rate * per_unit > r->capacity)
        alone->rate = r->capacity / per_unit;
}

static inline bool start(struct tsim_dense_solver *dense, int32_t activity, const struct alone *alone) {
    struct tsim_dense_activity *a = &dense->activities[activity];
    TSIM_ASSERT((a->n_demands > 0) & (alone->rate <= DBL_MAX));
    if (alone->meets_others && !fits(dense, activity, alone->rate))
        return false;
    a->rate = alone->rate;
    a->is_new = false;
    return true;
}

bool tsim_dense_start(struct tsim_dense_solver *dense, int32_t activity) {
    const struct tsim_dense_activity *a = &dense->activities[activity];
    const struct tsim_demand *own = tsim_dense_demands(dense, activity);
    struct alone alone = {.rate = a->bound};
    for (int32_t i = 0; i < a->n_demands; i++)
        add_alone(&alone, &dense->resources[own[i].resource], own[i].per_unit);
    return start(dense, activity, &alone);
}

bool tsim_dense_begin(struct tsim_dense_solver *dense, int32_t activity, double weight, double bound,
                      const struct tsim_demand *demands, int32_t n_demands) {
    struct tsim_demand *own = dense->demands + (ptrdiff_t)activity * dense->room;
    struct alone alone = {.rate = bound};
    tsim_dense_set(dense, activity, weight, bound);
    for (int32_t i = 0; i < n_demands; i++) {
        TSIM_ASSERT(is_known(dense, &demands[i]));
        struct tsim_dense_resource *r = &dense->resources[demands[i].resource];
        if ((i == dense->room) | ((r->who >> activity & 1) != 0)) {
            tsim_dense_demand(dense, activity, demands + i, n_demands - i);
            return tsim_dense_start(dense, activity);
        }
        add_user(r, activity, demands[i].per_unit, bound);
        add_alone(&alone, r, demands[i].per_unit);
        own[i] = demands[i];
        dense->activities[activity].n_demands = i + 1;
    }
    return start(dense, activity, &alone);
}

static void leave(struct tsim_dense_solver *dense, int32_t activity, const struct tsim_demand *demand) {
    struct tsim_dense_resource *r = &dense->resources[demand->resource];
    r->who &= ~bit_of(activity);
    if (r->n_users == 1) {
        r->n_users = 0;
        r->asked = 0;
        return;
    }
    if (r->asked > r->free_up_to && used(dense, r) >= r->capacity * (1 - TSIM_SHARING_TOLERANCE))
        mark(dense, demand->resource);
    r->asked -= asked(r, demand->per_unit, dense->activities[activity].bound);
    struct tsim_dense_user *end = r->users + --r->n_users;
    for (struct tsim_dense_user *user = user_of(r, activity); user < end; user++)
        user[0] = user[1];
}

void tsim_dense_end(struct tsim_dense_solver *dense, int32_t activity, double work) {
    struct tsim_dense_activity *a = &dense->activities[activity];
    const struct tsim_demand *own = tsim_dense_demands(dense, activity), *end = own + a->n_demands;
    TSIM_ASSERT(own < end);
    for (; own < end; own++) {
        tsim_flowed_add(&dense->resources[own->resource].flowed, own->per_unit * work);
        leave(dense, activity, own);
    }
    a->n_demands = 0;
    a->rate = 0;
}

static bool asks_alike(const struct tsim_dense_solver *dense, int32_t activity, double weight, double bound,
                       const struct tsim_demand *demands, int32_t n_demands) {
    const struct tsim_dense_activity *a = &dense->activities[activity];
    const struct tsim_demand *own = tsim_dense_demands(dense, activity);
    bool is_alike = (a->n_demands == n_demands) & (a->weight == weight) & (a->bound == bound);
    for (int32_t i = 0; i < n_demands && is_alike; i++)
        is_alike = own[i].resource == demands[i].resource;
    return is_alike;
}

/* Demands another amount of a resource. */
static void redemand(struct tsim_dense_solver *dense, int32_t activity, struct tsim_demand *own, double per_unit) {
    struct tsim_dense_resource *r = &dense->resources[own->resource];
    double bound = dense->activities[activity].bound, before = r->asked;
    r->asked += asked(r, per_unit, bound) - asked(r, own->per_unit, bound);
    user_of(r, activity)->per_unit = own->per_unit = per_unit;
    if (before > r->free_up_to || r->asked > r->free_up_to)
        mark(dense, own->resource);
}

bool tsim_dense_renew(struct tsim_dense_solver *dense, int32_t activity, double work, double weight, double bound,
                      const struct tsim_demand *demands, int32_t n_demands) {
    struct tsim_demand *own = dense->demands + (ptrdiff_t)activity * dense->room;
    if (!asks_alike(dense, activity, weight, bound, demands, n_demands))
        return false;
    for (int32_t i = 0; i < n_demands; i++) {
        tsim_flowed_add(&dense->resources[own[i].resource].flowed, own[i].per_unit * work);
        if (own[i].per_unit < demands[i].per_unit || own[i].per_unit > demands[i].per_unit)
            redemand(dense, activity, &own[i], demands[i].per_unit);
    }
    return true;
}

/* ---- filling ---- */

/* A region is all that is connected with the marked resources. */
struct region {
    uint64_t inside, open; /* activities: a bit each */
    /* By activity, as what follows: its own bound, or that of a resource that it has for itself. */
    double bounds[TSIM_DENSE_ACTIVITIES];
    double bound_levels[TSIM_DENSE_ACTIVITIES];
    double rates[TSIM_DENSE_ACTIVITIES];
    struct tsim_dense_resource *resources[TSIM_DENSE_RESOURCES]; /* those on which they meet */
    double full_levels[TSIM_DENSE_RESOURCES];
    int32_t n_resources;
};

static void include(struct tsim_dense_solver *dense, struct region *region, int32_t activity) {
    const struct tsim_dense_activity *a = &dense->activities[activity];
    const struct tsim_demand *own = tsim_dense_demands(dense, activity);
    double bound = a->bound;
    for (int32_t i = 0; i < a->n_demands; i++) {
        struct tsim_dense_resource *r = &dense->resources[own[i].resource];
        if (r->n_users == 1) {
            if (bound * own[i].per_unit > r->capacity)
                bound = r->capacity / own[i].per_unit;
            continue;
        }
        if (r->is_inside || r->asked <= r->free_up_to)
            continue;
        r->is_inside = true;
        region->resources[region->n_resources++] = r;
        region->inside |= r->who;
    }
    region->bounds[activity] = bound;
    region->bound_levels[activity] = bound < a->bound ? bound / a->weight : a->bound_level;
}

static void connect(struct tsim_dense_solver *dense, struct region *region) {
    region->n_resources = 0;
    region->inside = 0;
    for (int32_t i = 0; i < dense->n_marked; i++) {
        struct tsim_dense_resource *r = &dense->resources[dense->marked[i]];
        r->is_marked = false;
        region->inside |= r->who;
    }
    dense->n_marked = 0;
    uint64_t done = 0;
    for (uint64_t left = region->inside; left; left = region->inside & ~done) { /* grows meanwhile */
        done |= left & -left;
        include(dense, region, __builtin_ctzll(left));
    }
    region->open = region->inside;
}

/* The level at which the resource would be full if only its open users' rates still rose; infinite where none is. */
static double full_level(const struct tsim_dense_solver *dense, const struct region *region,
                         const struct tsim_dense_resource *r) {
    double remaining = r->capacity, load = 0;
    if (!(r->who & region->open))
        return HUGE_VAL;
    for (int32_t i = 0; i < r->n_users; i++) {
        const struct tsim_dense_user *user = &r->users[i];
        if (region->open >> user->activity & 1)
            load += dense->activities[user->activity].weight * user->per_unit;
        else
            remaining -= user->per_unit * region->rates[user->activity];
    }
    if (!(load > 0))
        return HUGE_VAL;
    return remaining > 0 ? remaining / load : 0;
}

/* Finds the levels at which the resources that `who` use are full. */
static void find_full_levels(const struct tsim_dense_solver *dense, struct region *region, uint64_t who) {
    for (int32_t i = 0; i < region->n_resources; i++)
        if (region->resources[i]->who & who)
            region->full_levels[i] = full_level(dense, region, region->resources[i]);
}

/* The lowest level at which an open activity reaches its bound (returns the activity), or a resource is full (its
 * number in the region, less TSIM_DENSE_RESOURCES). */
static int32_t lowest(const struct region *region, double *level) {
    int32_t who = 0;
    *level = HUGE_VAL;
    for (int32_t i = 0; i < region->n_resources; i++)
        if (region->full_levels[i] < *level) {
            *level = region->full_levels[i];
            who = i - TSIM_DENSE_RESOURCES;
        }
    for (uint64_t left = region->open; left; left &= left - 1) {
        int32_t activity = __builtin_ctzll(left);
        if (region->bound_levels[activity] < *level) {
            *level = region->bound_levels[activity];
            who = activity;
        }
    }
    return who;
}

/* The resource's open users, at that level; returns them. */
static uint64_t fix_users(const struct tsim_dense_solver *dense, struct region *region,
                          const struct tsim_dense_resource *r, double level) {
    uint64_t users = r->who & region->open;
    for (uint64_t left = users; left; left &= left - 1) {
        int32_t user = __builtin_ctzll(left);
        double rate = dense->activities[user].weight * level, bound = region->bounds[user];
        region->rates[user] = rate < bound ? rate : bound;
    }
    return users;
}

static void fill(const struct tsim_dense_solver *dense, struct region *region) {
    double level = 0;
    find_full_levels(dense, region, region->inside);
    for (;;) {
        double next;
        int32_t who = lowest(region, &next);
        uint64_t fixed;
        level = next <= level * (1 + TSIM_SHARING_SAME) ? level : next;
        if (who >= 0) {
            region->rates[who] = region->bounds[who];
            fixed = bit_of(who);
        } else {
            fixed = fix_users(dense, region, region->resources[who + TSIM_DENSE_RESOURCES], level);
        }
        region->open &= ~fixed;
        if (!region->open)
            return;
        find_full_levels(dense, region, fixed);
    }
}

static void take_rates(struct tsim_dense_solver *dense, uint64_t inside, const double *rates) {
    dense->n_changed = 0;
    for (uint64_t left = inside; left; left &= left - 1) {
        int32_t activity = __builtin_ctzll(left);
        struct tsim_dense_activity *a = &dense->activities[activity];
        double rate = rates[activity];
        if (!a->is_new && fabs(rate - a->rate) <= a->rate * TSIM_SHARING_SAME)
            continue;
        a->rate = rate;
        a->is_new = false;
        dense->changed[dense->n_changed++] = activity;
    }
}

void tsim_dense_solve(struct tsim_dense_solver *dense) {
    struct region region;
    connect(dense, &region);
    if (region.n_resources > 0)
        fill(dense, &region);
    take_rates(dense, region.inside, region.n_resources > 0 ? region.rates : region.bounds);
    for (int32_t i = 0; i < region.n_resources; i++)
        region.resources[i]->is_inside = false;
}
