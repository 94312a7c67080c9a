/* sharing.c - activities and resources come and go here; the filling itself is in filling.c. */
#include "engine/sharing.h"

#include "base/arena.h"
#include "base/status.h"

#include <float.h>
#include <string.h>

void tsim_sharing_init(struct tsim_sharing *sharing) {
    memset(sharing, 0, sizeof *sharing);
}

void tsim_sharing_release(struct tsim_sharing *sharing) {
    tsim_heap_free(sharing->resources);
    tsim_heap_free(sharing->loads);
    tsim_heap_free(sharing->activities);
    tsim_heap_free(sharing->demands);
    tsim_heap_free(sharing->free_demands);
    tsim_heap_free(sharing->candidates);
    tsim_heap_free(sharing->marked);
    tsim_heap_free(sharing->touched);
    tsim_heap_free(sharing->region);
    tsim_heap_free(sharing->changed);
    tsim_sharing_init(sharing);
}

int32_t tsim_sharing_add_resource(struct tsim_sharing *sharing, double capacity) {
    TSIM_ASSERT(capacity > 0 && capacity <= DBL_MAX);
    TSIM_ASSERT(sharing->n_resources < INT32_MAX);
    sharing->resources = tsim_heap_grow(sharing->resources, &sharing->resource_capacity, sharing->n_resources + 1,
                                        sizeof *sharing->resources);
    sharing->resources[sharing->n_resources] = (struct tsim_sharing_resource){.capacity = capacity, .first_user = -1};
    sharing->loads =
        tsim_heap_grow(sharing->loads, &sharing->load_capacity, sharing->n_resources + 1, sizeof *sharing->loads);
    return (int32_t)sharing->n_resources++;
}

void tsim_sharing_set(struct tsim_sharing *sharing, int32_t activity, double weight, double bound) {
    TSIM_ASSERT(activity >= 0 && weight > 0 && weight <= DBL_MAX && bound > 0);
    size_t needed = (size_t)activity + 1;
    if (needed > sharing->n_activities) {
        sharing->activities =
            tsim_heap_grow(sharing->activities, &sharing->activity_capacity, needed, sizeof *sharing->activities);
        while (sharing->n_activities < needed)
            sharing->activities[sharing->n_activities++].first_demand = -1;
    }
    TSIM_ASSERT(sharing->activities[activity].first_demand < 0);
    sharing->activities[activity] = (struct tsim_sharing_activity){
        .weight = weight, .bound = bound, .first_demand = -1, .bottleneck = -1, .is_new = true};
}

static int32_t take_demand(struct tsim_sharing *sharing) {
    if (sharing->n_free_demands > 0)
        return sharing->free_demands[--sharing->n_free_demands];
    TSIM_ASSERT(sharing->n_demands < 1 << 29);
    sharing->demands =
        tsim_heap_grow(sharing->demands, &sharing->demand_capacity, sharing->n_demands + 1, sizeof *sharing->demands);
    sharing->free_demands = tsim_heap_grow(sharing->free_demands, &sharing->free_capacity, sharing->n_demands + 1,
                                           sizeof *sharing->free_demands);
    return (int32_t)sharing->n_demands++;
}

void tsim_sharing_demand(struct tsim_sharing *sharing, int32_t activity, int32_t resource, double per_unit) {
    TSIM_ASSERT(resource >= 0 && (size_t)resource < sharing->n_resources);
    TSIM_ASSERT(per_unit > 0 && per_unit <= DBL_MAX);
    struct tsim_sharing_activity *a = &sharing->activities[activity];
    struct tsim_sharing_resource *r = &sharing->resources[resource];
    /* The newest user of the resource is this activity exactly if it has demanded it already. */
    if (r->first_user >= 0 && sharing->demands[r->first_user].activity == activity) {
        sharing->demands[r->first_user].per_unit += per_unit;
        return;
    }
    int32_t taken = take_demand(sharing);
    if (r->first_user >= 0)
        sharing->demands[r->first_user].previous_user = taken;
    sharing->demands[taken] = (struct tsim_sharing_demand){.per_unit = per_unit,
                                                           .activity = activity,
                                                           .resource = resource,
                                                           .next_user = r->first_user,
                                                           .previous_user = -1,
                                                           .next_demand = a->first_demand};
    r->first_user = taken;
    r->n_users++;
    a->first_demand = taken;
    a->n_demands++;
}

static void mark(struct tsim_sharing *sharing, int32_t resource) {
    struct tsim_sharing_resource *r = &sharing->resources[resource];
    if (r->is_marked)
        return;
    r->is_marked = true;
    sharing->marked =
        tsim_heap_grow(sharing->marked, &sharing->marked_capacity, sharing->n_marked + 1, sizeof *sharing->marked);
    sharing->marked[sharing->n_marked++] = resource;
}

/* Returns the rate that the activity would have alone in the world, and the resource that says so (-1 = its bound). */
static double rate_alone(const struct tsim_sharing *sharing, const struct tsim_sharing_activity *a,
                         int32_t *bottleneck) {
    double rate = a->bound;
    *bottleneck = -1;
    for (int32_t i = a->first_demand; i >= 0; i = sharing->demands[i].next_demand) {
        const struct tsim_sharing_demand *d = &sharing->demands[i];
        double capacity = sharing->resources[d->resource].capacity;
        if (rate * d->per_unit > capacity) {
            rate = capacity / d->per_unit;
            *bottleneck = d->resource;
        }
    }
    return rate;
}

bool tsim_sharing_start(struct tsim_sharing *sharing, int32_t activity) {
    struct tsim_sharing_activity *a = &sharing->activities[activity];
    TSIM_ASSERT(a->first_demand >= 0);
    int32_t bottleneck;
    double rate = rate_alone(sharing, a, &bottleneck);
    TSIM_ASSERT(rate <= DBL_MAX);
    bool fits = true;
    for (int32_t i = a->first_demand; i >= 0; i = sharing->demands[i].next_demand) {
        const struct tsim_sharing_demand *d = &sharing->demands[i];
        const struct tsim_sharing_resource *r = &sharing->resources[d->resource];
        if (r->n_users > 1 && r->used + d->per_unit * rate > r->capacity * (1 - TSIM_SHARING_TOLERANCE)) {
            fits = false;
            mark(sharing, d->resource);
        }
    }
    if (!fits)
        return false;
    for (int32_t i = a->first_demand; i >= 0; i = sharing->demands[i].next_demand)
        sharing->resources[sharing->demands[i].resource].used += sharing->demands[i].per_unit * rate;
    a->rate = rate;
    a->bottleneck = bottleneck;
    a->is_new = false;
    return true;
}

void tsim_sharing_book(struct tsim_sharing *sharing, int32_t resource, double units) {
    tsim_flowed_add(&sharing->resources[resource].flowed, units);
}

double tsim_sharing_used_beside(const struct tsim_sharing *sharing, const struct tsim_sharing_demand *demand) {
    enum { FEW_USERS = 8 };
    const struct tsim_sharing_resource *r = &sharing->resources[demand->resource];
    if (r->n_users > FEW_USERS) {
        double used = r->used - demand->per_unit * sharing->activities[demand->activity].rate;
        return used > 0 ? used : 0;
    }
    double used = 0;
    for (int32_t i = r->first_user; i >= 0; i = sharing->demands[i].next_user)
        if (&sharing->demands[i] != demand)
            used += sharing->demands[i].per_unit * sharing->activities[sharing->demands[i].activity].rate;
    return used;
}

static void leave_resource(struct tsim_sharing *sharing, const struct tsim_sharing_demand *d) {
    struct tsim_sharing_resource *r = &sharing->resources[d->resource];
    double rest = tsim_sharing_used_beside(sharing, d);
    if (d->previous_user >= 0)
        sharing->demands[d->previous_user].next_user = d->next_user;
    else
        r->first_user = d->next_user;
    if (d->next_user >= 0)
        sharing->demands[d->next_user].previous_user = d->previous_user;
    if (--r->n_users == 0) {
        r->used = 0;
        return;
    }
    if (r->used >= r->capacity * (1 - TSIM_SHARING_TOLERANCE))
        mark(sharing, d->resource);
    r->used = rest;
}

void tsim_sharing_end(struct tsim_sharing *sharing, int32_t activity, double work) {
    struct tsim_sharing_activity *a = &sharing->activities[activity];
    TSIM_ASSERT(a->first_demand >= 0);
    for (int32_t i = a->first_demand, next; i >= 0; i = next) {
        struct tsim_sharing_demand *d = &sharing->demands[i];
        next = d->next_demand;
        tsim_flowed_add(&sharing->resources[d->resource].flowed, d->per_unit * work);
        leave_resource(sharing, d);
        sharing->free_demands[sharing->n_free_demands++] = i;
    }
    a->first_demand = -1;
}

double tsim_sharing_flowed(const struct tsim_sharing *sharing, int32_t resource) {
    TSIM_ASSERT(resource >= 0 && (size_t)resource < sharing->n_resources);
    return sharing->resources[resource].flowed.sum + sharing->resources[resource].flowed.lost;
}
