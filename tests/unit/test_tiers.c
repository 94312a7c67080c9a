/* Checkpoints on two tiers (replication.h, reliability.h) against closed forms: what goes back where, how long a run
 * then takes, and which intervals are best. Tolerances are four standard errors. */
#include "support/campaign_job.h"
#include "support/training_rig.h"

#include <math.h>

enum { N = 400, MOST_MARKS = 512 };

/* Returns a job with a checkpoint of 30 s after every half hour, of which every fourth takes two minutes more to the
 * storage. */
static struct tsim_campaign_job job_of(double software_mtbf_s, double host_mtbf_s) {
    struct tsim_campaign_job job = without_failures((struct tsim_campaign_job){.work_s = 10 * DAY,
                                                                               .restart_s = 600,
                                                                               .local_restart_s = 240,
                                                                               .nodes = 128,
                                                                               .spares = 1000000,
                                                                               .interval_s = HOUR / 2,
                                                                               .stall_s = 30,
                                                                               .durable_every = 4,
                                                                               .durable_stall_s = 120,
                                                                               .local_tier = true,
                                                                               .seed = 11});
    job.causes[TSIM_CAUSE_SOFTWARE] = at_constant_rate(1, software_mtbf_s);
    job.causes[TSIM_CAUSE_HOST] = taking_nodes(1, host_mtbf_s);
    return job;
}

static void check_mean_time(const struct tsim_campaign_job *job, double expected_s) {
    double sum = 0, squares = 0;
    for (int i = 0; i < N; i++) {
        struct tsim_replication one;
        tsim_campaign_replicate(job, i, &one);
        ck_assert(one.is_finished);
        sum += one.time_s;
        squares += one.time_s * one.time_s;
    }
    double mean = sum / N, deviation = sqrt(fmax(0, squares / N - mean * mean));
    /* The run ends without its last checkpoint. */
    double stall_s = job->stall_s + job->durable_stall_s;
    ck_assert_double_eq_tol(mean, expected_s - stall_s / 2, 4 * deviation / sqrt(N) + stall_s / 2);
}

/* ---- one kind of failure ---- */

/* Only the local tier counts, but for the time that the storage takes. */
TSIM_TEST(software_goes_back_to_memory) {
    struct tsim_campaign_job job = job_of(3 * HOUR, 0);
    job.durable_stall_s = 0;
    check_mean_time(&job, tsim_daly_time_s(job.work_s, job.interval_s, job.stall_s, job.local_restart_s, 3 * HOUR));
}

/* Only the storage counts: two hours of work and what waits for checkpoints in them. */
TSIM_TEST(a_lost_node_goes_back_to_the_storage) {
    struct tsim_campaign_job job = job_of(0, 6 * HOUR);
    double stall_s = 4 * job.stall_s + job.durable_stall_s;
    check_mean_time(&job, tsim_daly_time_s(job.work_s, 4 * job.interval_s, stall_s, job.restart_s, 6 * HOUR));
}

/* The next of a million nodes to be lost is not the other one of two. */
TSIM_TEST(copies_make_a_lost_node_as_good_as_software) {
    struct tsim_campaign_job job = job_of(0, 3 * HOUR);
    job.nodes = 1000000;
    job.copies = 1;
    job.durable_stall_s = 0;
    check_mean_time(&job, tsim_daly_time_s(job.work_s, job.interval_s, job.stall_s, job.local_restart_s, 3 * HOUR));
}

/* ---- both ---- */

/* Expected time between two checkpoints on the storage, of `every` parts of work and stall: from part j on, E_j; of a
 * restart from memory before part j, F_j; of one from the storage, G. A rate a goes back to memory, b to the storage; l
 * = a + b. A part that takes t is done with probability exp(-l t), and takes m(t) = (1 - exp(-l t)) / l on average
 * until it is done or fails:
 *
 *   E_j = m(t_j) + e^(-l t_j) E_(j+1) + (1 - e^(-l t_j)) (a F_j + b G) / l,   E_every = 0
 *   F_j = m(r) + e^(-l r) E_j + (1 - e^(-l r)) (a F_j + b G) / l
 *   G   = m(R) + e^(-l R) E'_0 + (1 - e^(-l R)) G,  E'_0 as E_0, but with G in place of F_0: memory is empty yet
 *
 * Linear in E, F and G: for a given G it is solved backwards, and G is where both sides agree. */
struct two_tiers {
    double a, b, part_s, last_part_s, restart_s, local_restart_s;
    int every;
};

static double until(double rate, double time_s) {
    return -expm1(-rate * time_s) / rate;
}

/* Returns the right side of G's equation, and E_0 in *whole. */
static double storage_restart(const struct two_tiers *t, double g, double *whole) {
    double l = t->a + t->b, next = 0, empty = 0;
    double fails_restart = -expm1(-l * t->local_restart_s), fails_storage = -expm1(-l * t->restart_s);
    for (int j = t->every - 1; j >= 0; j--) {
        double part_s = j == t->every - 1 ? t->last_part_s : t->part_s, fails = -expm1(-l * part_s);
        /* The equations are E = x + y F,  F = u + v E. */
        double x = until(l, part_s) + (1 - fails) * next + fails * t->b / l * g, y = fails * t->a / l;
        double rest = 1 - fails_restart * t->a / l;
        double u = (until(l, t->local_restart_s) + fails_restart * t->b / l * g) / rest;
        double v = (1 - fails_restart) / rest;
        empty = until(l, part_s) + (1 - fails) * next + fails * g;
        next = (x + y * u) / (1 - y * v);
    }
    *whole = next;
    return until(l, t->restart_s) + (1 - fails_storage) * empty + fails_storage * g;
}

static double expected_s(const struct two_tiers *t) {
    double whole, at_0 = storage_restart(t, 0, &whole), slope = storage_restart(t, 1, &whole) - at_0;
    storage_restart(t, at_0 / (1 - slope), &whole);
    return whole;
}

static struct two_tiers tiers_of(const struct tsim_campaign_job *job) {
    double part_s = job->interval_s + job->stall_s;
    return (struct two_tiers){.a = 1 / tsim_campaign_mtbf_s(job, TSIM_CAMPAIGN_TO_LOCAL_TIER),
                              .b = 1 / tsim_campaign_mtbf_s(job, TSIM_CAMPAIGN_TO_STORAGE),
                              .part_s = part_s,
                              .last_part_s = part_s + job->durable_stall_s,
                              .restart_s = job->restart_s,
                              .local_restart_s = job->local_restart_s,
                              .every = (int)job->durable_every};
}

/* The closed form of two tiers with failures of one kind is Daly's, too. */
TSIM_TEST(the_closed_form_contains_dalys) {
    struct two_tiers t = {
        .b = 1 / HOUR, .part_s = 600, .last_part_s = 700, .restart_s = 300, .local_restart_s = 1, .every = 5};
    ck_assert_double_eq_tol(expected_s(&t), tsim_daly_time_s(3100, 3100, 0, 300, HOUR), 1e-6);
}

TSIM_TEST(both_kinds_take_the_closed_forms_time) {
    const double MTBF_H[][2] = {{4, 12}, {12, 4}, {30, 30}};
    for (int i = 0; i < 3; i++) {
        struct tsim_campaign_job job = job_of(MTBF_H[i][0] * HOUR, MTBF_H[i][1] * HOUR);
        struct two_tiers t = tiers_of(&job);
        check_mean_time(&job, expected_s(&t) * job.work_s / (job.interval_s * job.durable_every));
    }
}

/* ---- groups of nodes ---- */

static double local_share(int64_t nodes, int64_t copies, double restart_s) {
    struct tsim_campaign_job job = job_of(0, HOUR);
    double local = 0, all = 0;
    job.nodes = nodes;
    job.copies = copies;
    job.interval_s = 1;
    job.stall_s = job.durable_stall_s = 0;
    job.restart_s = job.local_restart_s = restart_s;
    for (int i = 0; i < N; i++) {
        struct tsim_replication one;
        tsim_campaign_replicate(&job, i, &one);
        local += one.local_restarts;
        all += one.interruptions[TSIM_CAUSE_HOST];
    }
    return local / all;
}

/* A failure at the rate 1 / M comes in a restart of R with q = 1 - exp(-R / M), and so on: 1 / (1 - q) for each
 * that finds the job at work. With two nodes that have each other's copies the first leaves one, the second nothing.
 * With four the second is the other one of its pair in one of three cases, and the third in all. With three and two
 * copies it is the third. 400 runs of 240 h have some 130,000 failures: a share's standard error is 0.14 %. */
TSIM_TEST(a_group_of_nodes_can_be_lost) {
    double restart_s = HOUR / 3, q = 1 - exp(-1.0 / 3), tolerance = 4 * 0.0014 + 1e-3 /* a second without memory */;
    ck_assert_double_eq_tol(local_share(2, 1, restart_s), 1 - q, tolerance);
    ck_assert_double_eq_tol(local_share(4, 1, restart_s), (1 - q) * (1 + q * 2 / 3), tolerance);
    ck_assert_double_eq_tol(local_share(3, 2, restart_s), (1 - q) * (1 + q), tolerance);
    ck_assert_double_eq(local_share(4, 0, restart_s), 0);
}

/* A failure in the w after a checkpoint, while it is copied, goes back one more, by T of work. From a restart on, of
 * which failures in another one are left out, checkpoints end c = T + stall apart:
 *
 *   T (1 - e^(-w / M)) (e^(-c / M) + e^(-2 c / M) + ...) = T (1 - e^(-w / M)) / (e^(c / M) - 1)
 *
 * Means over some 16,000 failures with up to an hour each: 5 s. */
TSIM_TEST(copies_take_their_time) {
    struct tsim_campaign_job job = job_of(0, 6 * HOUR);
    double redone_s[3], mtbf_s = 6 * HOUR, cycle_s = job.interval_s + job.stall_s;
    job.copies = 1;
    job.durable_every = 1e6;
    for (int i = 0; i < 3; i++) {
        double failures = 0;
        job.copy_s = i * 900;
        redone_s[i] = 0;
        for (int n = 0; n < N; n++) {
            struct tsim_replication one;
            tsim_campaign_replicate(&job, n, &one);
            redone_s[i] += one.redone_s;
            failures += one.interruptions[TSIM_CAUSE_HOST];
        }
        redone_s[i] /= failures * exp(-job.local_restart_s / mtbf_s);
        double more_s = -job.interval_s * expm1(-job.copy_s / mtbf_s) / expm1(cycle_s / mtbf_s);
        ck_assert_double_eq_tol(redone_s[i] - redone_s[0], more_s, 20);
    }
}

/* ---- intervals ---- */

static void job_with(const char *reliability, struct tsim_campaign_job *job) {
    const struct tsim_override overrides[] = {{"reliability", reliability}};
    scenario_job(load_shipped("llama70b", overrides, 1), 60 * DAY, 7, job);
}

/* Expects that no pair of intervals on a wide grid is more than half a percent faster than the chosen one. */
static void check_optimal(const char *reliability) {
    struct tsim_campaign_job job;
    job_with(reliability, &job);
    struct two_tiers t = tiers_of(&job);
    double taken = expected_s(&t) / (job.interval_s * job.durable_every), best = taken;
    for (double local_s = 7; local_s < DAY / 2; local_s *= 1.15)
        for (int every = 1; every < MOST_MARKS && every * local_s < 2 * DAY; every = (int)ceil(every * 1.15)) {
            job.interval_s = local_s;
            job.durable_every = every;
            t = tiers_of(&job);
            best = fmin(best, expected_s(&t) / (local_s * every));
        }
    ck_assert_double_le(taken, 1.005 * best);
    ck_assert_double_gt(taken, 1);
}

TSIM_TEST(intervals_are_the_best_ones) {
    check_optimal("{node_mtbf: 2000 h, checkpoint: {mode: sync, bandwidth: 2 GB/s, local: {}}}");
    check_optimal("{node_mtbf: 500 h, checkpoint: {mode: sync, bandwidth: 10 GB/s, local: {}}}");
    check_optimal(
        "{components: {software: 500 h}, checkpoint: {mode: sync, bandwidth: 2 GB/s, local: {restart: 2 min}}}");
}

/* Eight accelerators copy 1/8 each at once. On a DGX A100 each has its link, 31.5 GB/s; on cards in slots four of them
 * an uplink as wide as one; where the host's memory gives 100 GB/s, each an eighth of that. */
TSIM_TEST(all_copy_to_the_host_at_once) {
    static const struct {
        const char *node;
        double bytes_per_s;
    } CASES[] = {{"dgx-a100", 31.5e9},
                 {"pcie-a100x8", 31.5e9 / 4},
                 {"{extends: dgx-a100, host_memory_bandwidth: 100 GB/s}", 100e9 / 8}};
    double copied_bytes = 0;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct tsim_campaign_job job;
        const struct tsim_scenario *scenario =
            load_text(tsim_arena_printf(&arena,
                                        "schema: tsim/v1\nname: t\nmodel: gpt2-xl\ncluster: {node: %s}\n"
                                        "training: {sequence_length: 1024, global_batch_size: 64, tokens: 1 B}\n"
                                        "reliability: {checkpoint: {interval: 1 h, mode: async, bandwidth: 1 GB/s}}\n",
                                        CASES[i].node));
        ck_assert_ptr_nonnull(scenario);
        scenario_job(scenario, 60 * DAY, 1, &job);
        if (i == 0)
            copied_bytes = job.stall_s * CASES[0].bytes_per_s;
        ck_assert_double_gt(job.stall_s, 0);
        ck_assert_double_eq_tol(job.stall_s, copied_bytes / CASES[i].bytes_per_s, 1e-9 * job.stall_s);
    }
}

/* A checkpoint a step is asked for, of which each is copied to the host and then written under training: the next one
 * begins after the fewest steps, of 10 ms, with which the writing has ended. The copy counts towards it. */
TSIM_TEST(the_next_checkpoint_waits_for_the_writing) {
    const struct tsim_override overrides[] = {
        {"reliability", "{checkpoint: {interval: 1, mode: async, bandwidth: 100 GB/s}}"}};
    struct tsim_campaign_job job;
    double step_s = 0.01;
    scenario_job(load_shipped("llama70b", overrides, 1), 60 * DAY, step_s, &job);
    ck_assert_double_gt(job.write_s, 5);
    ck_assert_double_gt(job.stall_s, step_s);
    ck_assert_double_ge(job.interval_s + job.stall_s, job.write_s - 1e-9);
    ck_assert_double_lt(job.interval_s - step_s + job.stall_s, job.write_s);
}

/* If others hold copies, what goes back to the storage is the loss of two nodes of a pair: at the rate a of lost
 * nodes and in a restart r, a x a r / (n - 1). Hourly failures of 8 nodes with restarts of 6 min: 1 / (70 h). */
TSIM_TEST(pairs_are_lost_at_their_rate) {
    struct tsim_campaign_job job = job_of(0, HOUR);
    job.nodes = 8;
    job.copies = 1;
    job.local_restart_s = 360;
    ck_assert_double_eq_tol(tsim_campaign_mtbf_s(&job, TSIM_CAMPAIGN_TO_STORAGE), 70 * HOUR, 1e-6);
    double storage = 0, time_s = 0;
    job.interval_s = 60;
    job.stall_s = job.durable_stall_s = 0;
    for (int i = 0; i < N; i++) {
        struct tsim_replication one;
        tsim_campaign_replicate(&job, i, &one);
        storage += one.interruptions[TSIM_CAUSE_HOST] - one.local_restarts;
        time_s += one.time_s;
    }
    /* To first order there are longer restarts from the storage after losses of three. Some 1,700 of them give 2.4
     * %. */
    ck_assert_double_eq_tol(storage / time_s * 70 * HOUR, 1, 0.3);
}

/* Intervals that are given are kept: 10 min are 86 steps of 7 s, an hour six of them; the storage gets no more than
 * it can take. */
TSIM_TEST(intervals_can_be_given) {
    struct tsim_campaign_job job;
    job_with("{checkpoint: {interval: 1 h, mode: async, local: {interval: 10 min, copies: 2}}}", &job);
    ck_assert_double_eq(job.interval_s, 86 * 7);
    ck_assert_double_eq(job.durable_every, 6);
    ck_assert_double_eq(job.durable_stall_s, 0);
    job_with("{checkpoint: {interval: 300, mode: async, bandwidth: 1 GB/s, local: {interval: 10}}}", &job);
    ck_assert_double_eq(job.interval_s, 70);
    ck_assert_double_eq(job.durable_every, 30);
    job_with("{checkpoint: {interval: 20, mode: async, bandwidth: 1 GB/s, local: {interval: 10}}}", &job);
    ck_assert_double_eq(job.durable_every, ceil((14 * 68976648192.0 / 1e9 - job.stall_s) / 70));
}

TSIM_MAIN(60, set_up, tear_down)
