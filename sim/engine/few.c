#include "engine/few.h"

#include "base/arena.h"
#include "base/status.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { FIRST_ROOM = 8 };

/* A resource with this part of itself to spare binds nobody. */
#define SPARE_FRAC 1e-9

void tsim_few_init(struct tsim_few *few, const struct tsim_sharing *sharing) {
    size_t n = sharing->n_resources, none = 0;
    memset(few, 0, sizeof *few);
    few->n_resources = (int32_t)n;
    few->room = FIRST_ROOM;
    few->resources = tsim_heap_grow(NULL, &none, n + 1, sizeof *few->resources);
    none = 0;
    few->marked = tsim_heap_grow(NULL, &none, n + 1, sizeof *few->marked);
    none = 0;
    few->demands = tsim_heap_grow(NULL, &none, (size_t)TSIM_FEW * FIRST_ROOM, sizeof *few->demands);
    for (size_t i = 0; i < n; i++) {
        struct tsim_few_resource *r = &few->resources[i];
        memset(r, 0, offsetof(struct tsim_few_resource, users));
        r->capacity = sharing->resources[i].capacity;
        r->free_up_to = r->capacity * (1 - SPARE_FRAC);
        r->local = -1;
    }
}

void tsim_few_release(struct tsim_few *few) {
    tsim_heap_free(few->resources);
    tsim_heap_free(few->demands);
    tsim_heap_free(few->marked);
    memset(few, 0, sizeof *few);
}

void tsim_few_set(struct tsim_few *few, int32_t activity, double weight, double bound) {
    TSIM_ASSERT((uint32_t)activity < TSIM_FEW && weight > 0 && weight <= DBL_MAX && bound > 0);
    TSIM_ASSERT(few->activities[activity].n_demands == 0);
    few->activities[activity] = (struct tsim_few_activity){
        .weight = weight, .bound = bound, .bound_level = bound / weight, .bottleneck = -1, .is_new = true};
}

static void make_room(struct tsim_few *few) {
    size_t none = 0, room = (size_t)few->room;
    struct tsim_demand *wider = tsim_heap_grow(NULL, &none, 2 * room * TSIM_FEW, sizeof *wider);
    for (size_t a = 0; a < TSIM_FEW; a++)
        memcpy(wider + 2 * room * a, few->demands + room * a, room * sizeof *wider);
    tsim_heap_free(few->demands);
    few->demands = wider;
    few->room *= 2;
}

static double asked(const struct tsim_few_resource *r, double per_unit, double bound) {
    double most = per_unit * bound;
    return most < r->capacity ? most : r->capacity;
}

/* Of a resource that the activity has demanded already, as its user number `user`, more. */
static void demand_more(struct tsim_few *few, int32_t activity, int32_t user, const struct tsim_demand *more) {
    struct tsim_few_resource *r = &few->resources[more->resource];
    struct tsim_demand *own = few->demands + (ptrdiff_t)activity * few->room;
    while (own->resource != more->resource)
        own++;
    r->asked -= asked(r, own->per_unit, few->activities[activity].bound);
    own->per_unit += more->per_unit;
    r->users[user].per_unit = own->per_unit;
    r->asked += asked(r, own->per_unit, few->activities[activity].bound);
}

static void add_demand(struct tsim_few *few, int32_t activity, const struct tsim_demand *demand) {
    struct tsim_few_activity *a = &few->activities[activity];
    struct tsim_few_resource *r = &few->resources[demand->resource];
    int32_t at = r->n_users;
    while (at > 0 && r->users[at - 1].activity > activity)
        at--;
    if (at > 0 && r->users[at - 1].activity == activity) {
        demand_more(few, activity, at - 1, demand);
        return;
    }
    for (int32_t i = r->n_users++; i > at; i--)
        r->users[i] = r->users[i - 1];
    r->users[at] = (struct tsim_few_user){demand->per_unit, activity};
    r->asked += asked(r, demand->per_unit, a->bound);
    if (a->n_demands == few->room)
        make_room(few);
    few->demands[(ptrdiff_t)activity * few->room + a->n_demands++] = *demand;
}

void tsim_few_demand(struct tsim_few *few, int32_t activity, const struct tsim_demand *demands, int32_t n_demands) {
    for (int32_t i = 0; i < n_demands; i++) {
        TSIM_ASSERT(demands[i].resource >= 0 && demands[i].resource < few->n_resources && demands[i].per_unit > 0 &&
                    demands[i].per_unit <= DBL_MAX);
        add_demand(few, activity, &demands[i]);
    }
}

static void mark(struct tsim_few *few, int32_t resource) {
    struct tsim_few_resource *r = &few->resources[resource];
    if (!r->is_marked)
        few->marked[few->n_marked++] = resource;
    r->is_marked = true;
}

/* By all, or by all but the one that has no rate yet. */
static double used(const struct tsim_few *few, const struct tsim_few_resource *r) {
    double sum = 0;
    for (int32_t i = 0; i < r->n_users; i++)
        sum += r->users[i].per_unit * few->activities[r->users[i].activity].rate;
    return sum;
}

bool tsim_few_start(struct tsim_few *few, int32_t activity) {
    struct tsim_few_activity *a = &few->activities[activity];
    const struct tsim_demand *own = tsim_few_demands(few, activity);
    double rate = a->bound;
    TSIM_ASSERT(a->n_demands > 0);
    for (int32_t i = 0; i < a->n_demands; i++)
        if (rate * own[i].per_unit > few->resources[own[i].resource].capacity) {
            rate = few->resources[own[i].resource].capacity / own[i].per_unit;
            a->bottleneck = own[i].resource;
        }
    TSIM_ASSERT(rate <= DBL_MAX);
    bool fits = true;
    for (int32_t i = 0; i < a->n_demands; i++) {
        const struct tsim_few_resource *r = &few->resources[own[i].resource];
        if (r->n_users == 1 || r->asked <= r->free_up_to ||
            used(few, r) + own[i].per_unit * rate <= r->capacity * (1 - TSIM_SHARING_TOLERANCE))
            continue;
        fits = false;
        mark(few, own[i].resource);
    }
    if (!fits) {
        a->bottleneck = -1;
        return false;
    }
    a->rate = rate;
    a->is_new = false;
    return true;
}

static void leave(struct tsim_few *few, int32_t activity, const struct tsim_demand *demand) {
    struct tsim_few_resource *r = &few->resources[demand->resource];
    int32_t at = 0;
    if (r->n_users == 1) {
        r->n_users = 0;
        r->asked = 0;
        return;
    }
    if (r->asked > r->free_up_to && used(few, r) >= r->capacity * (1 - TSIM_SHARING_TOLERANCE))
        mark(few, demand->resource);
    r->asked -= asked(r, demand->per_unit, few->activities[activity].bound);
    while (r->users[at].activity != activity)
        at++;
    r->n_users--;
    for (; at < r->n_users; at++)
        r->users[at] = r->users[at + 1];
}

void tsim_few_end(struct tsim_few *few, int32_t activity, double work) {
    struct tsim_few_activity *a = &few->activities[activity];
    const struct tsim_demand *own = tsim_few_demands(few, activity);
    TSIM_ASSERT(a->n_demands > 0);
    for (int32_t i = 0; i < a->n_demands; i++) {
        tsim_flowed_add(&few->resources[own[i].resource].flowed, own[i].per_unit * work);
        leave(few, activity, &own[i]);
    }
    a->n_demands = 0;
    a->rate = 0;
}

static bool asks_alike(const struct tsim_few *few, int32_t activity, double weight, double bound,
                       const struct tsim_demand *demands, int32_t n_demands) {
    const struct tsim_few_activity *a = &few->activities[activity];
    const struct tsim_demand *own = tsim_few_demands(few, activity);
    bool is_alike = (a->n_demands == n_demands) & (a->weight == weight) & (a->bound == bound);
    for (int32_t i = 0; i < n_demands && is_alike; i++)
        is_alike = own[i].resource == demands[i].resource;
    return is_alike;
}

/* Demands another amount of a resource. */
static void redemand(struct tsim_few *few, int32_t activity, struct tsim_demand *own, double per_unit) {
    struct tsim_few_resource *r = &few->resources[own->resource];
    double bound = few->activities[activity].bound, before = r->asked;
    int32_t user = 0;
    while (r->users[user].activity != activity)
        user++;
    r->asked += asked(r, per_unit, bound) - asked(r, own->per_unit, bound);
    r->users[user].per_unit = own->per_unit = per_unit;
    if (before > r->free_up_to || r->asked > r->free_up_to)
        mark(few, own->resource);
}

bool tsim_few_renew(struct tsim_few *few, int32_t activity, double work, double weight, double bound,
                    const struct tsim_demand *demands, int32_t n_demands) {
    struct tsim_demand *own = few->demands + (ptrdiff_t)activity * few->room;
    if (!asks_alike(few, activity, weight, bound, demands, n_demands))
        return false;
    for (int32_t i = 0; i < n_demands; i++) {
        tsim_flowed_add(&few->resources[own[i].resource].flowed, own[i].per_unit * work);
        if (own[i].per_unit < demands[i].per_unit || own[i].per_unit > demands[i].per_unit)
            redemand(few, activity, &own[i], demands[i].per_unit);
    }
    return true;
}

/* ---- filling ---- */

/* What is connected with the marked resources, by numbers of its own. */
struct region {
    int32_t n, n_resources;
    int32_t activities[TSIM_FEW];
    double bounds[TSIM_FEW]; /* by activity, as what follows: its own, or of a resource that it has for itself */
    double bound_levels[TSIM_FEW];
    double rates[TSIM_FEW];
    int32_t bottlenecks[TSIM_FEW];
    uint64_t inside, open; /* activities */
    int32_t resources[TSIM_FEW_RESOURCES];
};

static void include_users(struct region *region, const struct tsim_few_resource *r) {
    for (int32_t i = 0; i < r->n_users; i++) {
        int32_t user = r->users[i].activity;
        if (region->inside >> user & 1)
            continue;
        region->inside |= UINT64_C(1) << user;
        region->activities[region->n++] = user;
    }
}

static void include_demands(struct tsim_few *few, struct region *region, int32_t activity) {
    const struct tsim_few_activity *a = &few->activities[activity];
    const struct tsim_demand *own = tsim_few_demands(few, activity);
    region->bounds[activity] = a->bound;
    region->bound_levels[activity] = a->bound_level;
    region->bottlenecks[activity] = -1;
    for (int32_t i = 0; i < a->n_demands; i++) {
        struct tsim_few_resource *r = &few->resources[own[i].resource];
        if (r->n_users == 1 && region->bounds[activity] * own[i].per_unit > r->capacity) {
            region->bounds[activity] = r->capacity / own[i].per_unit;
            region->bound_levels[activity] = region->bounds[activity] / a->weight;
            region->bottlenecks[activity] = own[i].resource;
        }
        if (r->n_users == 1 || r->local >= 0 || r->asked <= r->free_up_to)
            continue;
        r->local = region->n_resources++;
        region->resources[r->local] = own[i].resource;
        include_users(region, r);
    }
}

static void connect(struct tsim_few *few, struct region *region) {
    region->n = region->n_resources = 0;
    region->inside = 0;
    for (int32_t i = 0; i < few->n_marked; i++) {
        struct tsim_few_resource *r = &few->resources[few->marked[i]];
        r->is_marked = false;
        include_users(region, r);
    }
    few->n_marked = 0;
    for (int32_t i = 0; i < region->n; i++) /* grows meanwhile */
        include_demands(few, region, region->activities[i]);
    region->open = region->inside;
}

/* The level at which the resource would be full if only its open users' rates still rose; infinite where none is. */
static double full_level(const struct tsim_few *few, const struct region *region, const struct tsim_few_resource *r) {
    double remaining = r->capacity, load = 0;
    for (int32_t i = 0; i < r->n_users; i++) {
        const struct tsim_few_user *user = &r->users[i];
        if (region->open >> user->activity & 1)
            load += few->activities[user->activity].weight * user->per_unit;
        else
            remaining -= user->per_unit * region->rates[user->activity];
    }
    if (!(load > 0))
        return HUGE_VAL;
    return remaining > 0 ? remaining / load : 0;
}

static void fix(struct region *region, int32_t activity, double rate, int32_t bottleneck) {
    region->open &= ~(UINT64_C(1) << activity);
    region->rates[activity] = rate;
    region->bottlenecks[activity] = bottleneck;
}

/* The lowest level at which an open activity reaches its bound (returns the activity), or a resource is full (its
 * number in the region, less TSIM_FEW_RESOURCES). */
static int32_t lowest(const struct tsim_few *few, const struct region *region, double *level) {
    int32_t who = 0;
    *level = HUGE_VAL;
    for (int32_t i = 0; i < region->n_resources; i++) {
        double full = full_level(few, region, &few->resources[region->resources[i]]);
        if (full < *level) {
            *level = full;
            who = i - TSIM_FEW_RESOURCES;
        }
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

static void fill(struct tsim_few *few, struct region *region) {
    double level = 0;
    while (region->open) {
        double next;
        int32_t who = lowest(few, region, &next);
        level = next <= level * (1 + TSIM_SHARING_SAME) ? level : next;
        if (who >= 0) {
            fix(region, who, region->bounds[who], region->bottlenecks[who]);
            continue;
        }
        int32_t resource = region->resources[who + TSIM_FEW_RESOURCES];
        const struct tsim_few_resource *r = &few->resources[resource];
        for (int32_t i = 0; i < r->n_users; i++) {
            int32_t user = r->users[i].activity;
            double rate = few->activities[user].weight * level, bound = region->bounds[user];
            if (region->open >> user & 1)
                fix(region, user, rate < bound ? rate : bound, resource);
        }
    }
}

void tsim_few_solve(struct tsim_few *few) {
    struct region region;
    connect(few, &region);
    fill(few, &region);
    few->n_changed = 0;
    for (int32_t i = 0; i < region.n_resources; i++)
        few->resources[region.resources[i]].local = -1;
    for (int32_t i = 0; i < region.n; i++) {
        int32_t activity = region.activities[i];
        struct tsim_few_activity *a = &few->activities[activity];
        a->bottleneck = region.bottlenecks[activity];
        if (!a->is_new && fabs(region.rates[activity] - a->rate) <= a->rate * TSIM_SHARING_SAME)
            continue;
        a->rate = region.rates[activity];
        a->is_new = false;
        few->changed[few->n_changed++] = activity;
    }
}
