/* batch_ramp.h: a batch that grows, against a log of BLOOM's run and against steps of each size simulated by
 * themselves. */
#include "run/batch_ramp.h"
#include "support/training_rig.h"

#include <math.h>

static struct tsim_result run(const char *id, const struct tsim_override *overrides, size_t n) {
    return train(load_shipped(id, overrides, n));
}

/* "iteration 12695 | consumed samples: 9841584 | global batch size: 2048", a week after the launch
 * (bigscience tr11-176B-ml, chronicles of 18 March 2022). */
START_TEST(blooms_log_is_met) {
    struct tsim_batch_ramp ramp;
    ck_assert(tsim_batch_ramp_count(load_shipped("bloom-176b-whole-run", NULL, 0), &ramp));
    ck_assert_double_eq(ramp.samples + (12695 - ramp.steps) * 2048, 9841584);
    struct tsim_result result = run("bloom-176b-whole-run", NULL, 0);
    ck_assert_double_eq(result.batch_ramp.steps, ramp.steps);
    ck_assert_double_eq_tol(result.batch_ramp.time_s / 86400, 7, 0.1 * 7);
}
END_TEST

/* From 16 by 8 to 64: six sizes, each for 800 samples: 50, 34 (816 at 24, from 800 on), ... */
START_TEST(the_time_is_that_of_every_size) {
    const struct tsim_override plain[] = {{"cluster", "{node: dgx-h100, nodes: 8, fabric: ib-ndr}"},
                                          {"parallelism", "{tensor: 8, pipeline: 4, zero: 1}"},
                                          {"training", "{sequence_length: 4096, global_batch_size: 64, steps: 2000}"},
                                          {"training.batch_ramp", "{from: 16, increment: 8, samples: 4800}"}};
    struct tsim_result ramped = run("llama70b", plain, 4), whole = run("llama70b", plain, 3);
    double samples = 0, steps = 0, time_s = 0, energy_j = 0;
    for (int i = 0; i < 6; i++) {
        int batch = 16 + 8 * i;
        const struct tsim_override sized[] = {
            plain[0], plain[1], plain[2], {"training.global_batch_size", tsim_arena_printf(&arena, "%d", batch)}};
        struct tsim_result size = run("llama70b", sized, 4);
        for (; samples < 800 * (i + 1); samples += batch) {
            steps += 1;
            time_s += size.step.terms.time_s;
            energy_j += size.step.energy_j;
        }
    }
    ck_assert_double_eq(ramped.batch_ramp.steps, steps);
    ck_assert_double_eq(ramped.batch_ramp.samples, samples);
    ck_assert_double_eq_tol(ramped.batch_ramp.time_s / time_s, 1, 2e-3);
    ck_assert_double_eq_tol(ramped.batch_ramp.energy_j / energy_j, 1, 2e-3);
    /* The run: 2,000 steps, of which these are the first. */
    const struct tsim_campaign *c = &ramped.campaign;
    ck_assert_double_eq(c->steps, 2000);
    ck_assert_double_eq_tol(c->days * 86400, ramped.batch_ramp.time_s + (2000 - steps) * ramped.step.terms.time_s,
                            1e-6);
    ck_assert_double_eq(c->samples, samples + (2000 - steps) * 64);
    ck_assert_double_eq(ramped.step.terms.time_s, whole.step.terms.time_s);
    ck_assert_double_lt(c->days, whole.campaign.days);
}
END_TEST

/* By samples: as many as without a ramp, in more steps and more time. */
START_TEST(a_run_of_samples_takes_longer) {
    const struct tsim_override ramp = {"training.batch_ramp", "{from: 256, increment: 32, samples: 10000000}"};
    struct tsim_result with = run("llama70b", &ramp, 1), without = run("llama70b", NULL, 0);
    ck_assert_double_gt(with.campaign.steps, without.campaign.steps);
    ck_assert_double_gt(with.campaign.days, without.campaign.days);
    ck_assert_double_eq_tol(with.campaign.samples, without.campaign.samples, 1024);
}
END_TEST

static Suite *batch_ramp_suite(void) {
    Suite *suite = suite_create("batch_ramp");
    TCase *tests = tcase_create("batch_ramp");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, blooms_log_is_met);
    tcase_add_test(tests, the_time_is_that_of_every_size);
    tcase_add_test(tests, a_run_of_samples_takes_longer);
    suite_add_tcase(suite, tests);
    return suite;
}

TSIM_TEST_MAIN(batch_ramp_suite)
