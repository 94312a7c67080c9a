/* replication.h against closed forms: Young, Daly, Poisson and renewal processes. Everything is seeded; if a sampling
 * error enters, the tolerance is four standard errors, of which the standard deviation is derived beside it or
 * measured. */
#include "base/random.h"
#include "support/campaign_job.h"
#include "support/check_main.h"

#include <math.h>

static struct tsim_campaign_job job_of(double units, double mtbf_s) {
    struct tsim_campaign_job job = without_failures((struct tsim_campaign_job){.work_s = 10 * DAY,
                                                                               .restart_s = 300,
                                                                               .nodes = 128,
                                                                               .interval_s = (double)INFINITY,
                                                                               .durable_every = 1,
                                                                               .seed = 7});
    job.causes[TSIM_CAUSE_SOFTWARE] = at_constant_rate(units, mtbf_s);
    return job;
}

struct moments {
    double mean, deviation; /* of one replication */
};

enum measure { TIME, INTERRUPTIONS };

static struct moments moments_of(const struct tsim_campaign_job *job, int n, enum measure measure) {
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        struct tsim_replication r;
        tsim_campaign_replicate(job, i, &r);
        ck_assert(r.is_finished);
        double value = r.time_s;
        if (measure == INTERRUPTIONS) {
            value = 0;
            for (int c = 0; c < TSIM_N_CAUSES; c++)
                value += r.interruptions[c];
        }
        sum += value;
        squares += value * value;
    }
    double mean = sum / n;
    return (struct moments){mean, sqrt(fmax(0, squares / n - mean * mean))};
}

/* ---- without failures ---- */

TSIM_TEST(nothing_fails_and_nothing_is_lost) {
    struct tsim_campaign_job job = job_of(0, 0);
    struct tsim_replication r;
    tsim_campaign_replicate(&job, 0, &r);
    ck_assert(r.is_finished);
    ck_assert_double_eq(r.time_s, 10 * DAY);
}

/* 240 h of work with a checkpoint of 60 s an hour: 239, for the last hour ends with the run. Evaluations of 5 min every
 * 24 h:
 * 9. Maintenance of 2 h with a save of 60 s and a restart of 300 s after 100 h and 200 h of time: 2. */
TSIM_TEST(planned_pauses_add_up) {
    struct tsim_campaign_job job = job_of(0, 0);
    struct tsim_replication r;
    job.interval_s = HOUR;
    job.stall_s = job.save_s = 60;
    tsim_campaign_replicate(&job, 0, &r);
    ck_assert_double_eq_tol(r.time_s, 10 * DAY + 239 * 60, 1e-3);
    job.evaluation_interval_s = DAY;
    job.evaluation_s = 300;
    tsim_campaign_replicate(&job, 0, &r);
    ck_assert_double_eq_tol(r.time_s, 10 * DAY + 239 * 60 + 9 * 300, 0.1);
    ck_assert_double_eq_tol(r.lost_s[TSIM_CAMPAIGN_LOSS_EVALUATION], 9 * 300, 1e-3);
    job.maintenance_interval_s = 100 * HOUR;
    job.maintenance_s = 2 * HOUR;
    tsim_campaign_replicate(&job, 0, &r);
    ck_assert_double_eq_tol(r.lost_s[TSIM_CAMPAIGN_LOSS_MAINTENANCE], 2 * (2 * HOUR + 60 + 300), 1e-3);
    ck_assert_double_eq(r.redone_s, 0);
}

/* ---- the optimal interval ---- */

/* sqrt(2 d M): 60 s against 10 days is 1.4e-4 of it: corrections are of the order of sqrt(d / 2M) / 3 = 0.2 %. */
TSIM_TEST(the_interval_is_youngs_where_checkpoints_are_short) {
    double young = sqrt(2 * 60 * 10 * DAY);
    ck_assert_double_eq_tol(tsim_optimal_interval_s(60, 10 * DAY) / young, 1, 4e-3);
    ck_assert(isinf(tsim_optimal_interval_s(60, (double)INFINITY)));
}

/* sqrt(2dM) [1 + sqrt(d/2M)/3 + (d/2M)/9] - d (Daly 2006, equation 37), good to a percent until d is M / 2. */
TSIM_TEST(the_interval_is_dalys_where_they_are_long) {
    for (double d = 10; d <= HOUR / 2; d *= 1.7) {
        double x = d / (2 * HOUR), daly = sqrt(2 * d * HOUR) * (1 + sqrt(x) / 3 + x / 9) - d;
        ck_assert_double_eq_tol(tsim_optimal_interval_s(d, HOUR) / daly, 1, 1e-2);
    }
}

TSIM_TEST(no_other_interval_is_faster) {
    struct tsim_campaign_job job = job_of(1, 6 * HOUR);
    job.stall_s = 120;
    double best = tsim_optimal_interval_s(120, 6 * HOUR);
    job.interval_s = best;
    double fastest = moments_of(&job, 200, TIME).mean;
    const double others[] = {best / 3, best / 2, best * 2, best * 3};
    for (int i = 0; i < 4; i++) {
        job.interval_s = others[i];
        ck_assert_double_gt(moments_of(&job, 200, TIME).mean, fastest);
    }
}

/* ---- expected time ---- */

static void check_daly(double interval_s, double stall_s, double restart_s, double mtbf_s) {
    enum { N = 400 };
    struct tsim_campaign_job job = job_of(1, mtbf_s);
    job.interval_s = interval_s;
    job.stall_s = stall_s;
    job.restart_s = restart_s;
    struct moments time = moments_of(&job, N, TIME);
    double expected = tsim_daly_time_s(job.work_s, interval_s, stall_s, restart_s, mtbf_s);
    /* The last interval has no checkpoint: stall_s less. */
    ck_assert_double_eq_tol(time.mean, expected, 4 * time.deviation / sqrt(N) + 2 * stall_s);
}

TSIM_TEST(the_time_is_dalys) {
    check_daly(HOUR, 60, 600, DAY);
    check_daly(HOUR, 300, 600, 3 * HOUR);
    check_daly(3 * HOUR, 60, 1800, 3 * HOUR); /* rolled back more often than not; restarts that fail */
}

/* ---- streams ---- */

/* A checkpoint all the time, and instant restarts: interruptions are then the failures of 10 days. A Poisson count of
 * mean m has deviation sqrt(m). */
static struct tsim_campaign_job counting_job(double units, double mtbf_s) {
    struct tsim_campaign_job job = job_of(0, 0);
    job.interval_s = 1;
    job.restart_s = 0;
    job.repair_s = 0;
    job.spares = 1000000;
    job.causes[TSIM_CAUSE_ACCELERATOR] = taking_nodes(units, mtbf_s);
    return job;
}

/* Plays one stream for each unit, which begins anew when the last one fails. */
static struct moments one_stream_a_unit(int units, double mtbf_s, double shape, double age_s, int n) {
    double sum = 0, squares = 0, scale = mtbf_s / tgamma(1 + 1 / shape);
    for (int i = 0; i < n; i++) {
        double count = 0;
        for (int u = 0; u < units; u++) {
            struct tsim_random random;
            tsim_random_init(&random, 99, (uint64_t)i, (uint64_t)u);
            /* the first life, given that it has lasted age_s */
            double t = scale * pow(pow(age_s / scale, shape) + tsim_random_exponential(&random), 1 / shape) - age_s;
            for (; t < 10 * DAY; count++)
                t += scale * pow(tsim_random_exponential(&random), 1 / shape);
        }
        sum += count;
        squares += count * count;
    }
    double mean = sum / n;
    return (struct moments){mean, sqrt(squares / n - mean * mean)};
}

static void check_equal_counts(double shape, double age_s) {
    enum { N = 400, UNITS = 64 };
    struct tsim_campaign_job job = counting_job(UNITS, 40 * DAY);
    job.causes[TSIM_CAUSE_ACCELERATOR].shape = shape;
    job.causes[TSIM_CAUSE_ACCELERATOR].age_s = age_s;
    struct moments one = moments_of(&job, N, INTERRUPTIONS), many = one_stream_a_unit(UNITS, 40 * DAY, shape, age_s, N);
    double error = sqrt((one.deviation * one.deviation + many.deviation * many.deviation) / N);
    ck_assert_double_eq_tol(one.mean, many.mean, 4 * error);
    /* the deviation of a deviation is 1 / sqrt(2 N) of it, for each of the two */
    ck_assert_double_eq_tol(one.deviation / many.deviation, 1, 4 / sqrt((double)N));
}

TSIM_TEST(one_stream_is_as_good_as_one_for_each_unit) {
    check_equal_counts(1, 0);
    check_equal_counts(0.5, 0);         /* infant mortality: new hardware, */
    check_equal_counts(0.5, 100 * DAY); /* and burnt in */
    check_equal_counts(2, 20 * DAY);    /* wear */
}

TSIM_TEST(the_rate_is_that_of_all_units) {
    struct tsim_campaign_job job = counting_job(16384, 16384 * DAY / 10);
    struct moments count = moments_of(&job, 400, INTERRUPTIONS); /* 100 in 10 days */
    ck_assert_double_eq_tol(count.mean, 100, 4 * 10 / sqrt(400));
    ck_assert_double_eq_tol(count.deviation, 10, 4 * 10 / sqrt(2 * 400));
}

/* A shape next to 1 goes the way of ages and renewals, and must give the result of the constant rate. */
TSIM_TEST(a_shape_of_one_is_exponential) {
    struct tsim_campaign_job job = counting_job(1000, 100 * DAY);
    job.causes[TSIM_CAUSE_ACCELERATOR].shape = 1 + 1e-12;
    struct moments count = moments_of(&job, 400, INTERRUPTIONS); /* 1,000 x 10 / 100 */
    ck_assert_double_eq_tol(count.mean, 100, 4 * 10 / sqrt(400));
}

TSIM_TEST(new_hardware_fails_more_often) {
    struct tsim_campaign_job job = counting_job(1000, 1000 * DAY);
    job.causes[TSIM_CAUSE_ACCELERATOR].shape = 0.5;
    double fresh = moments_of(&job, 50, INTERRUPTIONS).mean;
    job.causes[TSIM_CAUSE_ACCELERATOR].age_s = 365 * DAY;
    double old = moments_of(&job, 50, INTERRUPTIONS).mean;
    /* The scale is 1000 d / gamma(3) = 500 d: sqrt(10 / 500) = 0.141 failures a unit when new, sqrt(375 / 500) -
     * sqrt(365 / 500) = 0.0116 after a year; replaced units add to both. */
    ck_assert_double_gt(fresh, 141);
    ck_assert_double_lt(fresh, 200);
    ck_assert_double_gt(old, 10);
    ck_assert_double_lt(old, 20);
}

/* ---- accounts ---- */

static struct tsim_campaign_job busy_job(void) {
    struct tsim_campaign_job job = job_of(16, 10 * DAY);
    job.causes[TSIM_CAUSE_STRAGGLER] = taking_nodes(128, 128 * DAY);
    job.slowdown = 1.3;
    job.straggler_detection_s = 5 * HOUR;
    job.causes[TSIM_CAUSE_ACCELERATOR] =
        (struct tsim_failure_process){.units = 1024, .mtbf_s = 500 * DAY, .shape = 0.7, .takes_node = true};
    job.causes[TSIM_CAUSE_PREEMPTION] = taking_nodes(128, 64 * DAY);
    job.interval_s = 1000;
    job.stall_s = 5;
    job.write_s = 300;
    job.save_s = 305;
    job.detection_s = 60;
    job.warmup_s = 120;
    job.repair_s = 4 * HOUR;
    job.gap_s = HOUR;
    job.spares = 1;
    job.evaluation_interval_s = 3 * HOUR;
    job.evaluation_s = 100;
    job.maintenance_interval_s = 3 * DAY;
    job.maintenance_s = 2 * HOUR;
    job.nodes_per_replica = 4;
    return job;
}

TSIM_TEST(losses_and_work_are_the_time) {
    struct tsim_campaign_job job = busy_job();
    for (int i = 0; i < 64; i++) {
        struct tsim_replication r;
        job.replicas = i % 2 ? 32 : 0;
        job.saves_on_notice = i % 4 > 1;
        job.local_tier = i % 8 > 3;
        job.durable_every = 1 + i % 3;
        job.durable_stall_s = i % 5 * 10;
        job.copies = i % 7 == 6 ? 2 : 0;
        job.copy_s = i % 11;
        tsim_campaign_replicate(&job, i, &r);
        double sum = job.work_s;
        for (int loss = 0; loss < TSIM_N_CAMPAIGN_LOSSES; loss++) {
            sum += r.lost_s[loss];
            ck_assert_double_ge(r.lost_s[loss], -0.5e-3 * (double)r.events); /* half a tick an event */
        }
        ck_assert_double_eq_tol(sum, r.time_s, 0.5e-3 * (double)r.events);
        ck_assert_double_gt(r.redone_s, 0);
    }
}

struct heard {
    double end_s, work_s, sums[TSIM_N_CAMPAIGN_LOSSES + 1];
};

static void hear(void *context, double begin_s, double end_s, int loss, double amount) {
    struct heard *heard = context;
    if (loss == TSIM_CAMPAIGN_AWAY || loss == TSIM_CAMPAIGN_GONE)
        return;
    heard->work_s += amount;
    ck_assert_double_eq(begin_s, heard->end_s);
    ck_assert_double_ge(end_s, begin_s);
    heard->end_s = end_s;
    heard->sums[loss + 1] += end_s - begin_s;
}

/* From the first moment to the last; pauses are what they are charged with, as nothing of them is redone work. */
TSIM_TEST(stretches_are_the_whole_run) {
    struct tsim_campaign_job job = busy_job();
    struct heard heard = {0};
    struct tsim_replication one, alone;
    tsim_campaign_replicate_observed(&job, 3, hear, &heard, &one);
    tsim_campaign_replicate(&job, 3, &alone);
    ck_assert_double_eq(one.time_s, alone.time_s);
    ck_assert_double_eq(heard.end_s, one.time_s);
    ck_assert_double_ge(heard.sums[0], job.work_s);
    ck_assert_double_eq_tol(heard.work_s, job.work_s + one.redone_s, 1e-3);
    ck_assert_double_eq_tol(heard.sums[1 + TSIM_CAMPAIGN_LOSS_EVALUATION], one.lost_s[TSIM_CAMPAIGN_LOSS_EVALUATION],
                            0.1);
    ck_assert_double_eq_tol(heard.sums[1 + TSIM_CAMPAIGN_LOSS_MAINTENANCE], one.lost_s[TSIM_CAMPAIGN_LOSS_MAINTENANCE],
                            0.1);
}

TSIM_TEST(a_replication_depends_on_its_number_alone) {
    struct tsim_campaign_job job = busy_job();
    struct tsim_replication forward[8], again;
    for (int i = 0; i < 8; i++)
        tsim_campaign_replicate(&job, i, &forward[i]);
    for (int i = 7; i >= 0; i--) {
        tsim_campaign_replicate(&job, i, &again);
        ck_assert_double_eq(again.time_s, forward[i].time_s);
        ck_assert_int_eq(again.events, forward[i].events);
        ck_assert(i == 0 || forward[i].time_s != forward[i - 1].time_s);
    }
}

/* ---- what is done about failures ---- */

TSIM_TEST(notice_saves_the_work) {
    struct tsim_campaign_job job = job_of(0, 0);
    struct tsim_replication r;
    job.causes[TSIM_CAUSE_PREEMPTION] = taking_nodes(128, 128 * DAY);
    job.interval_s = 10 * HOUR;
    job.stall_s = job.save_s = 60;
    job.spares = 1000;
    tsim_campaign_replicate(&job, 0, &r);
    ck_assert_double_gt(r.redone_s, 0);
    job.saves_on_notice = true;
    tsim_campaign_replicate(&job, 0, &r);
    ck_assert_double_gt(r.interruptions[TSIM_CAUSE_PREEMPTION], 0);
    ck_assert_double_eq(r.redone_s, 0);
}

TSIM_TEST(memory_spares_and_elasticity_help) {
    struct tsim_campaign_job job = busy_job();
    double plain = moments_of(&job, 100, TIME).mean;
    job.local_tier = true;
    double with_memory = moments_of(&job, 100, TIME).mean;
    ck_assert_double_lt(with_memory, plain);
    job.replicas = 32;
    ck_assert_double_lt(moments_of(&job, 100, TIME).mean, with_memory);
    job.replicas = 0;
    job.spares = 20;
    ck_assert_double_lt(moments_of(&job, 100, TIME).mean, with_memory);
}

/* Nodes turn slow at a rate r and are found D later: the number of slow ones is that of an M/D/infinity queue, none
 * with probability exp(-r D). Nothing else takes time. The first D are faster. */
TSIM_TEST(stragglers_slow_down_until_they_are_found) {
    enum { N = 200 };
    struct tsim_campaign_job job = job_of(0, 0);
    double r = 128 / (640 * HOUR), d = 3 * HOUR;
    job.causes[TSIM_CAUSE_STRAGGLER] = taking_nodes(128, 640 * HOUR);
    job.slowdown = 1.5;
    job.straggler_detection_s = d;
    job.restart_s = 0;
    job.spares = 1000000;
    struct moments time = moments_of(&job, N, TIME);
    double speed = exp(-r * d) + (1 - exp(-r * d)) / 1.5;
    ck_assert_double_eq_tol(time.mean, job.work_s / speed, 4 * time.deviation / sqrt(N) + d / 2);
    struct moments found = moments_of(&job, N, INTERRUPTIONS); /* Poisson, but for those of the last D */
    ck_assert_double_eq_tol(found.mean, r * (time.mean - d), 4 * sqrt(r * time.mean / N));
}

TSIM_TEST(a_straggler_needs_its_save_and_restart) {
    struct tsim_campaign_job job = job_of(0, 0);
    struct tsim_replication one;
    job.causes[TSIM_CAUSE_STRAGGLER] = taking_nodes(1, 5 * DAY);
    job.slowdown = 2;
    job.straggler_detection_s = HOUR;
    job.save_s = 60;
    job.spares = 1000;
    for (int i = 0; i < 20; i++) {
        tsim_campaign_replicate(&job, i, &one);
        double found = one.interruptions[TSIM_CAUSE_STRAGGLER];
        ck_assert_double_eq(one.redone_s, 0);
        ck_assert_double_ge(one.lost_s[TSIM_CAUSE_STRAGGLER], found * (60 + 300) - 1);
        /* at most an hour at half the speed each, and one at the end that is not found any more */
        ck_assert_double_le(one.lost_s[TSIM_CAUSE_STRAGGLER], found * (60 + 300 + HOUR / 2) + HOUR / 2 + 1);
    }
}

TSIM_TEST(a_run_without_hope_is_given_up) {
    struct tsim_campaign_job job = job_of(1000, HOUR); /* every 3.6 s, with a restart of 300 s */
    struct tsim_replication r;
    tsim_campaign_replicate(&job, 0, &r);
    ck_assert(!r.is_finished);
}

/* ---- random numbers ---- */

TSIM_TEST(uniform_numbers_have_their_moments) {
    enum { N = 100000 };
    double sum = 0, squares = 0, logs = 0;
    struct tsim_random a, b;
    tsim_random_init(&a, 1, 2, 3);
    tsim_random_init(&b, 1, 2, 4);
    for (int i = 0; i < N; i++) {
        double u = tsim_random_uniform(&a);
        ck_assert(u > 0 && u <= 1);
        sum += u;
        squares += u * u;
        logs += tsim_random_exponential(&b);
    }
    /* The means are 1/2, 1/3 and 1, with deviations 0.289, 0.298 and 1. */
    ck_assert_double_eq_tol(sum / N, 0.5, 4 * 0.289 / sqrt(N));
    ck_assert_double_eq_tol(squares / N, 1.0 / 3, 4 * 0.298 / sqrt(N));
    ck_assert_double_eq_tol(logs / N, 1, 4 / sqrt(N));
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
