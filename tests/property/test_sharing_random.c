/* Random systems of activities that come and go. After every solve the rates
 *   - are those of the naive second implementation;
 *   - have the defining property (feasible; everybody at a bound or a bottleneck);
 *   - of those whom no chain of shared resources connects with what changed are the same bits, never looked at.
 * From time to time the system is put together afresh: in another order it has the same rates, whatever came and went
 * before; in other units it has the same bits. Systems of numbers over thirty decades have the defining property. */
#include "base/status.h"
#include "engine/sharing.h"
#include "support/check_main.h"
#include "support/naive_maxmin.h"
#include "support/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ACTIVITIES = 24, MAX_RESOURCES = 12 };
static const uint64_t SEED = 20260219;

/* The same system in both forms; `lives` says which rows of the dense one are there at the moment. */
struct twin {
    struct tsim_sharing sharing;
    struct random_source random;
    int n_activities, n_resources;
    bool lives[MAX_ACTIVITIES];
    bool is_even;   /* all weights 1, all demands 1: many exact ties */
    bool is_sparse; /* one or two demands each: many components */
    double decades; /* over which capacities spread, and 3/4 of it the rest */
    double capacity[MAX_RESOURCES], weight[MAX_ACTIVITIES], bound[MAX_ACTIVITIES];
    double demand[MAX_ACTIVITIES][MAX_RESOURCES];
};

/* Returns a number, spread over `decades` powers of ten around 1. */
static double spread(struct random_source *random, double decades) {
    return pow(10, (random_real(random) - 0.5) * decades);
}

static void make_twin(struct twin *twin, uint64_t seed, double decades) {
    *twin = (struct twin){.random = {seed}, .decades = decades};
    tsim_sharing_init(&twin->sharing);
    twin->n_activities = random_between(&twin->random, 1, MAX_ACTIVITIES);
    twin->n_resources = random_between(&twin->random, 1, MAX_RESOURCES);
    twin->is_even = random_between(&twin->random, 0, 3) == 0;
    twin->is_sparse = random_between(&twin->random, 0, 2) == 0;
    for (int r = 0; r < twin->n_resources; r++) {
        twin->capacity[r] = twin->is_even ? random_between(&twin->random, 1, 3) : spread(&twin->random, decades);
        tsim_sharing_add_resource(&twin->sharing, twin->capacity[r]);
    }
}

static void start_activity(struct twin *twin, int a) {
    struct random_source *random = &twin->random;
    int most = twin->is_sparse ? 2 : 4;
    int n_demands = random_between(random, 1, twin->n_resources < most ? twin->n_resources : most);
    twin->lives[a] = true;
    twin->weight[a] = twin->is_even ? 1 : spread(random, 0.75 * twin->decades);
    twin->bound[a] = random_between(random, 0, 2) == 0 ? spread(random, 0.75 * twin->decades) : HUGE_VAL;
    for (int r = 0; r < twin->n_resources; r++)
        twin->demand[a][r] = 0;
    tsim_sharing_set(&twin->sharing, a, twin->weight[a], twin->bound[a]);
    for (int i = 0; i < n_demands; i++) { /* the same resource twice is meant: it must add up */
        int r = random_between(random, 0, twin->n_resources - 1);
        double per_unit = twin->is_even ? 1 : spread(random, 0.75 * twin->decades);
        twin->demand[a][r] += per_unit;
        tsim_sharing_demand(&twin->sharing, a, r, per_unit);
    }
    tsim_sharing_start(&twin->sharing, a);
}

/* Marks what the activity demands as touched. */
static void touch(const struct twin *twin, int a, bool touched[MAX_RESOURCES]) {
    for (int r = 0; r < twin->n_resources; r++)
        touched[r] |= twin->demand[a][r] > 0;
}

/* Changes some activities; `touched` then says on which resources activities began or ended. */
static void change_some(struct twin *twin, bool touched[MAX_RESOURCES]) {
    int n_changes = random_between(&twin->random, 1, 3);
    for (int i = 0; i < n_changes; i++) {
        int a = random_between(&twin->random, 0, twin->n_activities - 1);
        if (!twin->lives[a]) {
            start_activity(twin, a);
            touch(twin, a, touched);
        } else if (!twin->sharing.activities[a].is_new) { /* work cannot end before it has had a rate */
            touch(twin, a, touched);
            tsim_sharing_end(&twin->sharing, a, 1);
            twin->lives[a] = false;
        }
    }
    tsim_sharing_solve(&twin->sharing);
}

static bool demands_any(const struct twin *twin, int a, const bool touched[MAX_RESOURCES]) {
    for (int r = 0; r < twin->n_resources; r++)
        if (twin->demand[a][r] > 0 && touched[r])
            return true;
    return false;
}

/* Extends `touched` to the connected components of the living; returns how many live there. */
static int extend_to_components(const struct twin *twin, bool touched[MAX_RESOURCES]) {
    int n_inside = 0, n_before = -1;
    while (n_inside > n_before) {
        n_before = n_inside;
        n_inside = 0;
        for (int a = 0; a < twin->n_activities; a++) {
            if (!twin->lives[a] || !demands_any(twin, a, touched))
                continue;
            touch(twin, a, touched);
            n_inside++;
        }
    }
    return n_inside;
}

/* Changes and solves; nothing may happen elsewhere. Filling is tried five times at most, on growing regions. */
static void change_and_check(struct twin *twin, uint64_t seed) {
    double before[MAX_ACTIVITIES];
    bool touched[MAX_RESOURCES] = {false};
    int64_t n_filled = twin->sharing.n_filled;
    for (int a = 0; a < twin->n_activities; a++)
        before[a] = twin->lives[a] ? tsim_sharing_rate(&twin->sharing, a) : 0;
    change_some(twin, touched);
    int n_inside = extend_to_components(twin, touched);
    TSIM_ALWAYS(twin->sharing.n_filled - n_filled <= 5 * n_inside,
                "seed %llu: %lld were looked at in a component of %d", (unsigned long long)seed,
                (long long)(twin->sharing.n_filled - n_filled), n_inside);
    for (int a = 0; a < twin->n_activities; a++)
        if (twin->lives[a] && !demands_any(twin, a, touched))
            TSIM_ALWAYS(memcmp(&before[a], &twin->sharing.activities[a].rate, sizeof before[a]) == 0,
                        "seed %llu: a rate changed that nothing is connected with", (unsigned long long)seed);
    for (size_t i = 0; i < twin->sharing.n_changed; i++)
        TSIM_ALWAYS(demands_any(twin, twin->sharing.changed[i], touched), "seed %llu: changed for no reason",
                    (unsigned long long)seed);
}

/* The activities that live, in dense form. */
struct dense {
    struct naive_system system;
    int who[MAX_ACTIVITIES];
    double weight[MAX_ACTIVITIES], bound[MAX_ACTIVITIES], demand[MAX_ACTIVITIES * MAX_RESOURCES], rate[MAX_ACTIVITIES];
};

static void gather(const struct twin *twin, struct dense *dense) {
    int n = 0;
    for (int a = 0; a < twin->n_activities; a++) {
        if (!twin->lives[a])
            continue;
        dense->who[n] = a;
        dense->weight[n] = twin->weight[a];
        dense->bound[n] = twin->bound[a];
        dense->rate[n] = tsim_sharing_rate(&twin->sharing, a);
        for (int r = 0; r < twin->n_resources; r++)
            dense->demand[n * twin->n_resources + r] = twin->demand[a][r];
        n++;
    }
    dense->system =
        (struct naive_system){n, twin->n_resources, twin->capacity, dense->weight, dense->bound, dense->demand};
}

static void check_property(const struct dense *dense, uint64_t seed) {
    const char *violation = naive_maxmin_violation(&dense->system, dense->rate, 1e-9);
    TSIM_ALWAYS(violation == NULL, "seed %llu: %s", (unsigned long long)seed, violation);
}

static void compare(const double *rate, const double *expected, int count, const char *what, uint64_t seed) {
    for (int a = 0; a < count; a++)
        TSIM_ALWAYS(fabs(rate[a] - expected[a]) <= 1e-8 * expected[a], "seed %llu: rate %.17g, %s %.17g",
                    (unsigned long long)seed, rate[a], what, expected[a]);
}

static void shuffle(int *numbers, int count, struct random_source *random) {
    for (int i = 0; i < count; i++)
        numbers[i] = i;
    for (int i = count - 1; random && i > 0; i--) {
        int j = random_between(random, 0, i), swapped = numbers[i];
        numbers[i] = numbers[j];
        numbers[j] = swapped;
    }
}

/* The units of work (rates and bounds), of each resource (capacity and demands), and of weights. */
struct units {
    double work, weight, resource[MAX_RESOURCES];
};

/* Solves the living activities as a new system, renumbered if `random` is given. */
static void solve_afresh(const struct dense *dense, const struct units *units, struct random_source *random,
                         double *rate) {
    struct tsim_sharing sharing;
    int n_resources = dense->system.n_resources, resource_at[MAX_RESOURCES], activity_at[MAX_ACTIVITIES];
    tsim_sharing_init(&sharing);
    shuffle(resource_at, n_resources, random);
    shuffle(activity_at, dense->system.n_activities, random);
    for (int at = 0; at < n_resources; at++)
        for (int r = 0; r < n_resources; r++)
            if (resource_at[r] == at)
                tsim_sharing_add_resource(&sharing, dense->system.capacity[r] * units->resource[r]);
    for (int a = 0; a < dense->system.n_activities; a++) {
        tsim_sharing_set(&sharing, activity_at[a], dense->weight[a] * units->weight, dense->bound[a] * units->work);
        for (int r = 0; r < n_resources; r++)
            if (dense->demand[a * n_resources + r] > 0)
                tsim_sharing_demand(&sharing, activity_at[a], resource_at[r],
                                    dense->demand[a * n_resources + r] * units->resource[r] / units->work);
        tsim_sharing_start(&sharing, activity_at[a]);
    }
    tsim_sharing_solve(&sharing);
    for (int a = 0; a < dense->system.n_activities; a++)
        rate[a] = tsim_sharing_rate(&sharing, activity_at[a]);
    tsim_sharing_release(&sharing);
}

static double power_of_two(struct random_source *random) {
    return ldexp(1, random_between(random, -40, 40));
}

/* Powers of two round nothing: what depends on no unit is the same to the bit. */
static void check_afresh(struct twin *twin, const struct dense *dense, uint64_t seed) {
    struct units plain = {1, 1, {0}}, other = {power_of_two(&twin->random), power_of_two(&twin->random), {0}};
    double rate[MAX_ACTIVITIES], scaled[MAX_ACTIVITIES];
    for (int r = 0; r < MAX_RESOURCES; r++) {
        plain.resource[r] = 1;
        other.resource[r] = power_of_two(&twin->random);
    }
    solve_afresh(dense, &plain, &twin->random, rate);
    compare(dense->rate, rate, dense->system.n_activities, "afresh and renumbered", seed);
    solve_afresh(dense, &plain, NULL, rate);
    compare(dense->rate, rate, dense->system.n_activities, "afresh", seed);
    solve_afresh(dense, &other, NULL, scaled);
    for (int a = 0; a < dense->system.n_activities; a++)
        TSIM_ALWAYS(!(fabs(scaled[a] - rate[a] * other.work) > 0), "seed %llu: %.17g in one unit, %.17g in another",
                    (unsigned long long)seed, rate[a], scaled[a] / other.work);
}

TSIM_TEST(random_systems_have_the_naive_rates) {
    printf("seed %llu\n", (unsigned long long)SEED);
    for (uint64_t seed = SEED; seed < SEED + 3000; seed++) {
        struct twin twin;
        struct dense dense;
        make_twin(&twin, seed, 4);
        for (int change = 0; change < 40; change++) {
            double expected[MAX_ACTIVITIES];
            change_and_check(&twin, seed);
            gather(&twin, &dense);
            check_property(&dense, seed);
            naive_maxmin_rates(&dense.system, expected);
            compare(dense.rate, expected, dense.system.n_activities, "naively", seed);
            if (change % 13 == 12)
                check_afresh(&twin, &dense, seed);
        }
        tsim_sharing_release(&twin.sharing);
    }
}

/* If a small rest of a large capacity is shared, doubles do not say what it is; but whatever it is taken for, what
 * flows must fit, and everybody must have a reason not to be faster. */
TSIM_TEST(wide_systems_have_the_property) {
    for (uint64_t seed = SEED; seed < SEED + 1000; seed++) {
        struct twin twin;
        struct dense dense;
        make_twin(&twin, seed, 30);
        for (int change = 0; change < 40; change++) {
            change_and_check(&twin, seed);
            gather(&twin, &dense);
            check_property(&dense, seed);
        }
        tsim_sharing_release(&twin.sharing);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
