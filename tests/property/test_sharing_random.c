/* Random systems of activities that come and go: after every solve the rates must be those of the naive second
 * implementation, and must have the defining property (feasible; everybody at a bound or a bottleneck). */
#include "base/status.h"
#include "engine/sharing.h"
#include "support/check_main.h"
#include "support/naive_maxmin.h"
#include "support/random.h"

#include <math.h>
#include <stdio.h>

enum { MAX_ACTIVITIES = 24, MAX_RESOURCES = 12 };
static const uint64_t SEED = 20260219;

/* The same system in both forms; `lives` says which rows of the dense one are there at the moment. */
struct twin {
    struct tsim_sharing sharing;
    struct random_source random;
    int n_activities, n_resources;
    bool lives[MAX_ACTIVITIES], is_even; /* is_even: all weights 1, all demands 1: many exact ties */
    double capacity[MAX_RESOURCES], weight[MAX_ACTIVITIES], bound[MAX_ACTIVITIES];
    double demand[MAX_ACTIVITIES][MAX_RESOURCES];
};

/* Spread over `decades` powers of ten around 1. */
static double spread(struct random_source *random, double decades) {
    return pow(10, (random_real(random) - 0.5) * decades);
}

static void make_twin(struct twin *twin, uint64_t seed) {
    *twin = (struct twin){.random = {seed}};
    tsim_sharing_init(&twin->sharing);
    twin->n_activities = random_between(&twin->random, 1, MAX_ACTIVITIES);
    twin->n_resources = random_between(&twin->random, 1, MAX_RESOURCES);
    twin->is_even = random_between(&twin->random, 0, 3) == 0;
    for (int r = 0; r < twin->n_resources; r++) {
        twin->capacity[r] = twin->is_even ? random_between(&twin->random, 1, 3) : spread(&twin->random, 4);
        tsim_sharing_add_resource(&twin->sharing, twin->capacity[r]);
    }
}

static void start_activity(struct twin *twin, int a) {
    struct random_source *random = &twin->random;
    int n_demands = random_between(random, 1, twin->n_resources < 4 ? twin->n_resources : 4);
    twin->lives[a] = true;
    twin->weight[a] = twin->is_even ? 1 : spread(random, 3);
    twin->bound[a] = random_between(random, 0, 2) == 0 ? spread(random, 3) : HUGE_VAL;
    for (int r = 0; r < twin->n_resources; r++)
        twin->demand[a][r] = 0;
    tsim_sharing_set(&twin->sharing, a, twin->weight[a], twin->bound[a]);
    for (int i = 0; i < n_demands; i++) { /* the same resource twice is meant: it must add up */
        int r = random_between(random, 0, twin->n_resources - 1);
        double per_unit = twin->is_even ? 1 : spread(random, 3);
        twin->demand[a][r] += per_unit;
        tsim_sharing_demand(&twin->sharing, a, r, per_unit);
    }
    tsim_sharing_start(&twin->sharing, a);
}

static void change_some(struct twin *twin) {
    int n_changes = random_between(&twin->random, 1, 3);
    for (int i = 0; i < n_changes; i++) {
        int a = random_between(&twin->random, 0, twin->n_activities - 1);
        if (!twin->lives[a]) {
            start_activity(twin, a);
        } else if (!twin->sharing.activities[a].is_new) { /* work cannot end before it has had a rate */
            tsim_sharing_end(&twin->sharing, a, 1);
            twin->lives[a] = false;
        }
    }
    tsim_sharing_solve(&twin->sharing);
}

static void compare(const struct twin *twin, uint64_t seed) {
    double weight[MAX_ACTIVITIES], bound[MAX_ACTIVITIES], demand[MAX_ACTIVITIES * MAX_RESOURCES];
    double rate[MAX_ACTIVITIES], expected[MAX_ACTIVITIES];
    int n = 0;
    for (int a = 0; a < twin->n_activities; a++) {
        if (!twin->lives[a])
            continue;
        weight[n] = twin->weight[a];
        bound[n] = twin->bound[a];
        rate[n] = tsim_sharing_rate(&twin->sharing, a);
        for (int r = 0; r < twin->n_resources; r++)
            demand[n * twin->n_resources + r] = twin->demand[a][r];
        n++;
    }
    struct naive_system system = {n, twin->n_resources, twin->capacity, weight, bound, demand};
    const char *violation = naive_maxmin_violation(&system, rate, 1e-9);
    ck_assert_msg(violation == NULL, "seed %llu: %s", (unsigned long long)seed, violation);
    naive_maxmin_rates(&system, expected);
    for (int a = 0; a < n; a++)
        ck_assert_msg(fabs(rate[a] - expected[a]) <= 1e-8 * expected[a], "seed %llu: rate %.17g, naively %.17g",
                      (unsigned long long)seed, rate[a], expected[a]);
}

START_TEST(random_systems_have_the_naive_rates) {
    for (uint64_t seed = SEED; seed < SEED + 3000; seed++) {
        struct twin twin;
        make_twin(&twin, seed);
        for (int change = 0; change < 40; change++) {
            change_some(&twin);
            compare(&twin, seed);
        }
        tsim_sharing_release(&twin.sharing);
    }
}
END_TEST

static Suite *sharing_random_suite(void) {
    Suite *suite = suite_create("sharing, random systems");
    TCase *tcase = tcase_create("random");
    printf("seed %llu\n", (unsigned long long)SEED);
    tcase_add_test(tcase, random_systems_have_the_naive_rates);
    suite_add_tcase(suite, tcase);
    return suite;
}

TSIM_TEST_MAIN(sharing_random_suite)
