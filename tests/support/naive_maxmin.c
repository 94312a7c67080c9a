#include "support/naive_maxmin.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static double demand_of(const struct naive_system *system, int activity, int resource) {
    return system->demand[activity * system->n_resources + resource];
}

/* Returns the level at which the resource is full, with everything summed again. */
static double level_of(const struct naive_system *system, const bool *fixed, const double *rate, int resource) {
    double remaining = system->capacity[resource], load = 0;
    for (int a = 0; a < system->n_activities; a++) {
        if (fixed[a])
            remaining -= demand_of(system, a, resource) * rate[a];
        else
            load += demand_of(system, a, resource) * system->weight[a];
    }
    return load > 0 ? fmax(remaining, 0) / load : HUGE_VAL;
}

void naive_maxmin_rates(const struct naive_system *system, double *rate) {
    bool fixed[NAIVE_MAX_ACTIVITIES] = {false};
    if (system->n_activities > NAIVE_MAX_ACTIVITIES)
        abort();
    for (;;) {
        double lowest = HUGE_VAL;
        int full = -1, bound = -1;
        for (int r = 0; r < system->n_resources; r++) {
            double level = level_of(system, fixed, rate, r);
            if (level < lowest) {
                lowest = level;
                full = r;
            }
        }
        for (int a = 0; a < system->n_activities; a++) {
            if (!fixed[a] && system->bound[a] / system->weight[a] < lowest) {
                lowest = system->bound[a] / system->weight[a];
                bound = a;
            }
        }
        if (bound < 0 && full < 0)
            return;
        for (int a = 0; a < system->n_activities; a++) {
            if (fixed[a] || (bound >= 0 ? a != bound : demand_of(system, a, full) == 0))
                continue;
            fixed[a] = true;
            rate[a] = bound >= 0 ? system->bound[a] : lowest * system->weight[a];
        }
    }
}

static bool has_bottleneck(const struct naive_system *system, const double *rate, int activity, double tolerance) {
    if (rate[activity] >= system->bound[activity] * (1 - tolerance))
        return true;
    for (int r = 0; r < system->n_resources; r++) {
        if (demand_of(system, activity, r) == 0)
            continue;
        double used = 0, largest_share = 0;
        for (int a = 0; a < system->n_activities; a++) {
            if (demand_of(system, a, r) == 0)
                continue;
            used += demand_of(system, a, r) * rate[a];
            largest_share = fmax(largest_share, rate[a] / system->weight[a]);
        }
        if (used >= system->capacity[r] * (1 - tolerance) &&
            rate[activity] / system->weight[activity] >= largest_share * (1 - tolerance))
            return true;
    }
    return false;
}

const char *naive_maxmin_violation(const struct naive_system *system, const double *rate, double tolerance) {
    for (int r = 0; r < system->n_resources; r++) {
        double used = 0;
        for (int a = 0; a < system->n_activities; a++)
            used += demand_of(system, a, r) * rate[a];
        if (!(used <= system->capacity[r] * (1 + tolerance)))
            return "a resource carries more than its capacity";
    }
    for (int a = 0; a < system->n_activities; a++) {
        if (!(rate[a] > 0))
            return "an activity starves";
        if (rate[a] > system->bound[a] * (1 + tolerance))
            return "an activity exceeds its bound";
        if (!has_bottleneck(system, rate, a, tolerance))
            return "an activity has neither its bound nor a bottleneck";
    }
    return NULL;
}
