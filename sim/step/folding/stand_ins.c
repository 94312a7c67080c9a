#include "step/folding/stand_ins.h"

#include "step/groups/noise.h"

#include <math.h>
#include <string.h>

bool tsim_has_slow_accelerators(const struct tsim_scenario *sc) {
    bool has = sc->variability.straggler_frac > 0 && sc->variability.straggler_slowdown > 1;
    for (size_t i = 0; i < sc->cluster.n_degraded; i++)
        has |= sc->cluster.degraded[i].link == TSIM_DEGRADED_ACCELERATOR;
    return has;
}

static double slowdown_of_rank(const struct tsim_scenario *sc, int32_t rank) {
    double slowdown = 1;
    int64_t per_node = sc->cluster.accelerators_per_node;
    for (size_t i = 0; i < sc->cluster.n_degraded; i++) {
        const struct tsim_degraded *d = &sc->cluster.degraded[i];
        if (d->link == TSIM_DEGRADED_ACCELERATOR && d->node == rank / per_node &&
            (d->index < 0 || d->index == rank % per_node))
            slowdown /= d->rate_frac;
    }
    return tsim_is_straggler(sc, rank) ? slowdown * sc->variability.straggler_slowdown : slowdown;
}

double tsim_slowdown_of(const struct tsim_scenario *sc, const struct tsim_placement *placement,
                        struct tsim_coordinates at) {
    double slowdown = 1;
    if (!tsim_has_slow_accelerators(sc))
        return slowdown;
    for (int32_t t = 0; t < placement->size[TSIM_AXIS_TENSOR]; t++)
        for (int32_t c = 0; c < placement->size[TSIM_AXIS_CONTEXT]; c++) {
            at.at[TSIM_AXIS_TENSOR] = t;
            at.at[TSIM_AXIS_CONTEXT] = c;
            slowdown = fmax(slowdown, slowdown_of_rank(sc, tsim_placement_rank(placement, &at)));
        }
    return slowdown;
}

/* Takes those of all stages of all replicas at a place on the data axis. */
static void take_slowdowns(const struct tsim_scenario *sc, const struct tsim_placement *placement, int32_t place,
                           double *slowdowns) {
    for (int32_t e = 0; e < placement->size[TSIM_AXIS_EXPERT]; e++)
        for (int32_t stage = 0; stage < placement->size[TSIM_AXIS_PIPELINE]; stage++) {
            struct tsim_coordinates at = {.at[TSIM_AXIS_DATA] = place};
            at.at[TSIM_AXIS_EXPERT] = e;
            at.at[TSIM_AXIS_PIPELINE] = stage;
            *slowdowns++ = tsim_slowdown_of(sc, placement, at);
        }
}

struct tsim_stand_ins tsim_stand_ins_of(struct tsim_arena *arena, const int32_t *kinds, int32_t n) {
    int32_t *at = TSIM_NEW_ARRAY(arena, (size_t)n, int32_t), *counts = TSIM_NEW_ARRAY(arena, (size_t)n, int32_t),
            *of = TSIM_NEW_ARRAY(arena, (size_t)n, int32_t), n_kinds = 0;
    for (int32_t place = 0; place < n; place++) {
        of[place] = kinds[place];
        if (kinds[place] == n_kinds)
            at[n_kinds++] = place;
        counts[kinds[place]]++;
    }
    return (struct tsim_stand_ins){n_kinds, at, counts, of, NULL};
}

struct tsim_stand_ins tsim_stand_ins_all(struct tsim_arena *arena, const struct tsim_placement *placement) {
    int32_t n = placement->size[TSIM_AXIS_DATA], *kinds = TSIM_NEW_ARRAY(arena, (size_t)n, int32_t);
    for (int32_t place = 0; place < n; place++)
        kinds[place] = place;
    return tsim_stand_ins_of(arena, kinds, n);
}

struct tsim_stand_ins tsim_stand_ins_by_speed(struct tsim_arena *arena, const struct tsim_scenario *sc,
                                              const struct tsim_placement *placement) {
    size_t n_each = (size_t)placement->size[TSIM_AXIS_EXPERT] * (size_t)placement->size[TSIM_AXIS_PIPELINE];
    int32_t n = placement->size[TSIM_AXIS_DATA], n_kinds = 0, *kinds = TSIM_NEW_ARRAY(arena, (size_t)n, int32_t);
    if (!tsim_has_slow_accelerators(sc))
        return tsim_stand_ins_of(arena, kinds, n);
    double **slowdowns = TSIM_NEW_ARRAY(arena, (size_t)n, double *); /* by kind */
    double *own = TSIM_NEW_ARRAY(arena, n_each, double);
    for (int32_t place = 0; place < n; place++) {
        int32_t kind = 0;
        take_slowdowns(sc, placement, place, own);
        while (kind < n_kinds && memcmp(slowdowns[kind], own, n_each * sizeof *own) != 0)
            kind++;
        if (kind == n_kinds) {
            slowdowns[n_kinds++] = own;
            own = TSIM_NEW_ARRAY(arena, n_each, double);
        }
        kinds[place] = kind;
    }
    return tsim_stand_ins_of(arena, kinds, n);
}
