/* The library's interface (library/tsim.h): figures, settings, mistakes, sweeps on threads. Expected numbers come from
 * definitions (tokens per second times the step's time are the batch's tokens) and from the published model. */
#include "library/tsim.h"
#include "support/check_main.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* One accelerator takes 8 samples of 1024 tokens a step. */
static const char SCENARIO[] = "schema: tsim/v1\nname: small\nmodel: gpt2-small\ncluster: {node: single-a100-80gb}\n"
                               "training: {sequence_length: 1024, global_batch_size: 8, steps: 1000}\n";

static struct tsim_job *job;

static void set_up(void) {
    job = tsim_job_new();
    ck_assert_int_eq(tsim_job_load_text(job, SCENARIO), TSIM_JOB_OK);
}

static void tear_down(void) {
    tsim_job_free(job);
    tsim_job_free(NULL);
}

TSIM_TEST(figures) {
    ck_assert(isnan(tsim_job_figure(job, "step.time_s")));
    ck_assert_str_eq(tsim_job_json(job), "{}");
    ck_assert_int_eq(tsim_job_run(job), TSIM_JOB_OK);
    double time_s = tsim_job_figure(job, "step.time_s");
    ck_assert_double_gt(time_s, 0);
    ck_assert_double_eq_tol(time_s * tsim_job_figure(job, "throughput.tokens_per_s"), 8 * 1024, 1e-6);
    ck_assert_double_eq_tol(time_s * 1000 / 86400, tsim_job_figure(job, "campaign.days"), 1e-9);
    ck_assert_double_eq(tsim_job_figure(job, "memory.fits"), 1);
    ck_assert_double_eq(tsim_job_figure(job, "model.parameters"), 124439808); /* the published GPT-2 has as many */
    ck_assert(isnan(tsim_job_figure(job, "step")));
    ck_assert(isnan(tsim_job_figure(job, "step.time_s.x")));
    ck_assert(isnan(tsim_job_figure(job, "")));
    ck_assert(isnan(tsim_job_figure(job, "scenario")));
    ck_assert_ptr_nonnull(strstr(tsim_job_json(job), "\"scenario\": \"small\""));
}

TSIM_TEST(settings) {
    ck_assert_int_eq(tsim_job_set(job, "training.global_batch_size", "32"), TSIM_JOB_OK);
    ck_assert_int_eq(tsim_job_set(job, "training.global_batch_size", "16"), TSIM_JOB_OK); /* the later one wins */
    ck_assert_int_eq(tsim_job_run(job), TSIM_JOB_OK);
    double tokens = tsim_job_figure(job, "step.time_s") * tsim_job_figure(job, "throughput.tokens_per_s");
    ck_assert_double_eq_tol(tokens, 16 * 1024, 1e-6);
    ck_assert_int_eq(tsim_job_load_text(job, SCENARIO), TSIM_JOB_OK); /* this drops what was set */
    ck_assert(isnan(tsim_job_figure(job, "step.time_s")));
    ck_assert_int_eq(tsim_job_run(job), TSIM_JOB_OK);
    tokens = tsim_job_figure(job, "step.time_s") * tsim_job_figure(job, "throughput.tokens_per_s");
    ck_assert_double_eq_tol(tokens, 8 * 1024, 1e-6);
}

TSIM_TEST(mistakes) {
    struct tsim_job *empty = tsim_job_new();
    ck_assert_int_eq(tsim_job_run(empty), TSIM_JOB_INVALID);
    ck_assert_ptr_nonnull(strstr(tsim_job_messages(empty), "no scenario"));
    ck_assert_int_eq(tsim_job_set(empty, "name", "x"), TSIM_JOB_INVALID);
    ck_assert_int_eq(tsim_job_sweep(empty, NULL, 0, 1, NULL, NULL), TSIM_JOB_INVALID);
    ck_assert_int_eq(tsim_job_load_file(empty, "no/such/file.yaml"), TSIM_JOB_IO);
    ck_assert_ptr_nonnull(strstr(tsim_job_messages(empty), "no/such/file.yaml"));
    ck_assert_int_eq(tsim_job_load_text(empty, "schema: [\n"), TSIM_JOB_INVALID);
    tsim_job_free(empty);

    ck_assert_int_eq(tsim_job_set(job, "training.preicsion", "bf16"), TSIM_JOB_OK);
    ck_assert_int_eq(tsim_job_run(job), TSIM_JOB_INVALID);
    ck_assert_ptr_nonnull(strstr(tsim_job_messages(job), "did you mean 'precision'"));
    ck_assert(isnan(tsim_job_figure(job, "step.time_s")));
    ck_assert_int_eq(tsim_job_load_text(job, SCENARIO), TSIM_JOB_OK);
    ck_assert_int_eq(tsim_job_run(job), TSIM_JOB_OK);
    ck_assert_ptr_null(strstr(tsim_job_messages(job), "error"));
}

TSIM_TEST(too_large) {
    tsim_job_set(job, "model", "gpt3-175b");
    ck_assert_int_eq(tsim_job_run(job), TSIM_JOB_DOES_NOT_FIT);
    ck_assert_double_eq(tsim_job_figure(job, "memory.fits"), 0);
    ck_assert_double_gt(tsim_job_figure(job, "memory.peak_bytes"), 80e9);
    ck_assert(isnan(tsim_job_figure(job, "step.time_s")));
    tsim_job_ignore_memory(job, 1);
    ck_assert_int_eq(tsim_job_run(job), TSIM_JOB_OK);
    ck_assert_double_gt(tsim_job_figure(job, "step.time_s"), 0);
}

/* ---- sweeps ---- */

struct seen {
    int64_t n, n_most;
    double time_s[8];
    char set[8][120];
    enum tsim_job_status status[8];
};

static int keep(void *context, const struct tsim_job_point *point) {
    struct seen *seen = context;
    ck_assert_int_eq(point->position, seen->n);
    ck_assert(point->status == TSIM_JOB_OK ? !point->reason[0] : point->reason[0]);
    seen->time_s[seen->n] = tsim_job_point_figure(point, "step.time_s");
    seen->status[seen->n] = point->status;
    snprintf(seen->set[seen->n], sizeof seen->set[0], "%s", point->set_json);
    ck_assert(isnan(tsim_job_point_figure(point, "step.no_such")));
    seen->n++;
    return seen->n == seen->n_most;
}

TSIM_TEST(sweeps) {
    static const char *const AXES[] = {"training.global_batch_size=8,12,16", "training.micro_batch_size=4,8"};
    struct seen one = {.n_most = -1}, four = {.n_most = -1}, few = {.n_most = 2};
    ck_assert_int_eq(tsim_job_run(job), TSIM_JOB_OK);
    double before_s = tsim_job_figure(job, "step.time_s");
    ck_assert_int_eq(tsim_job_sweep(job, AXES, 2, 1, keep, &one), TSIM_JOB_OK);
    ck_assert_int_eq(tsim_job_sweep(job, AXES, 2, 4, keep, &four), TSIM_JOB_OK);
    ck_assert_int_eq(tsim_job_sweep(job, AXES, 2, 0, keep, &few), TSIM_JOB_OK);
    ck_assert_int_eq(one.n, 6);
    ck_assert_int_eq(four.n, 6);
    ck_assert_int_eq(few.n, 2); /* the function ended it */
    ck_assert_str_eq(one.set[3], "{\"training.global_batch_size\": 12, \"training.micro_batch_size\": 8}");
    ck_assert_int_eq(one.status[3], TSIM_JOB_INVALID); /* 12 samples do not divide into passes of 8 */
    for (int i = 0; i < 6; i++) {
        ck_assert_str_eq(one.set[i], four.set[i]);
        ck_assert(i == 3 ? isnan(one.time_s[i]) && isnan(four.time_s[i]) : one.time_s[i] == four.time_s[i]);
    }
    ck_assert_double_eq(tsim_job_figure(job, "step.time_s"), before_s);
    tsim_job_set(job, "training.global_batch_size", "16");
    tsim_job_set(job, "training.micro_batch_size", "4");
    ck_assert_int_eq(tsim_job_run(job), TSIM_JOB_OK);
    ck_assert_double_eq(tsim_job_figure(job, "step.time_s"), one.time_s[4]); /* a point is a run */
}

TSIM_TEST(mistakes_of_axes) {
    static const char *const UNKNOWN[] = {"training.batch=1,2"}, *const NO_VALUES[] = {"cluster.nodes"};
    struct seen seen = {.n_most = -1};
    ck_assert_int_eq(tsim_job_sweep(job, UNKNOWN, 1, 2, keep, &seen), TSIM_JOB_INVALID);
    ck_assert_ptr_nonnull(strstr(tsim_job_messages(job), "training.batch"));
    ck_assert_int_eq(tsim_job_sweep(job, NO_VALUES, 1, 2, keep, &seen), TSIM_JOB_INVALID);
    ck_assert_int_eq(tsim_job_sweep(job, NULL, 0, 2, keep, &seen), TSIM_JOB_INVALID); /* no `sweep:` section */
    ck_assert_int_eq(seen.n, 0);
}

/* ---- commands ---- */

TSIM_TEST(commands) {
    static const char *const RUN[] = {"mine", "--set", "training.global_batch_size=16"}, *const SHOW[] = {
                                                                                             "model/gpt2-small"};
    ck_assert_int_eq(tsim_job_set(job, "training.global_batch_size", "16"), TSIM_JOB_OK);
    ck_assert_int_eq(tsim_job_run(job), TSIM_JOB_OK);
    char expected[64];
    snprintf(expected, sizeof expected, "\"step\": {\"time_s\": %.15g", tsim_job_figure(job, "step.time_s"));
    ck_assert_int_eq(tsim_job_lend(job, "mine", "no: scenario"), TSIM_JOB_OK);
    ck_assert_int_eq(tsim_job_lend(job, "mine", SCENARIO), TSIM_JOB_OK); /* in the place of the other one */
    ck_assert_int_eq(tsim_job_command(job, "run", RUN, 3), TSIM_JOB_OK);
    ck_assert_ptr_nonnull(strstr(tsim_job_json(job), expected)); /* a command is a run */
    ck_assert_str_eq(tsim_job_view(job), "");
    ck_assert_str_eq(tsim_job_messages(job), "");
    ck_assert_int_eq(tsim_job_command(job, "show", SHOW, 1), TSIM_JOB_OK);
    ck_assert_ptr_nonnull(strstr(tsim_job_json(job), "\"gpt2-small\""));
    ck_assert_int_eq(tsim_job_run(job), TSIM_JOB_OK); /* this keeps what was loaded and set */
    ck_assert_ptr_nonnull(strstr(tsim_job_json(job), expected));
}

TSIM_TEST(mistakes_of_commands) {
    static const char *const RUN[] = {"mine"}, *const UNKNOWN[] = {"mine", "--wek"},
                             *const FIT[] = {"mine", "--set", "model=gpt3-175b"};
    char name[2] = "a";
    ck_assert_int_eq(tsim_job_lend(job, "mine", "schema: tsim/v1\nname: x\nmodel: gpt2-smal\n"), TSIM_JOB_OK);
    ck_assert_int_eq(tsim_job_command(job, "run", RUN, 1), TSIM_JOB_INVALID);
    ck_assert_str_eq(tsim_job_json(job), "");
    ck_assert_ptr_nonnull(
        strstr(tsim_job_diagnostics(job), "\"file\": \"mine\", \"line\": 3, \"column\": 8, \"field\": \"model\""));
    ck_assert_int_eq(tsim_job_command(job, "run", UNKNOWN, 2), TSIM_JOB_USAGE);
    ck_assert_ptr_nonnull(strstr(tsim_job_messages(job), "--wek"));
    ck_assert_int_eq(tsim_job_command(job, "serve", NULL, 0), TSIM_JOB_USAGE);
    ck_assert_int_eq(tsim_job_lend(job, "mine", SCENARIO), TSIM_JOB_OK);
    ck_assert_int_eq(tsim_job_command(job, "run", FIT, 3), TSIM_JOB_DOES_NOT_FIT);
    ck_assert_ptr_nonnull(strstr(tsim_job_json(job), "\"fits\": false"));
    for (int i = 1; i < 8; i++, name[0]++)
        ck_assert_int_eq(tsim_job_lend(job, name, ""), TSIM_JOB_OK);
    ck_assert_int_eq(tsim_job_lend(job, "one more", ""), TSIM_JOB_INVALID);
}

TSIM_TEST(interrupts) {
    static const char *const PLAN[] = {"mine", "--vary", "cluster.nodes=1,2,4,8", "--set",
                                       "cluster={node: dgx-h100, fabric: ib-ndr}"},
                             *const AXES[] = {"training.global_batch_size=8,16"};
    struct seen seen = {.n_most = -1};
    ck_assert_int_eq(tsim_job_lend(job, "mine", SCENARIO), TSIM_JOB_OK);
    tsim_job_interrupt(job); /* before it begins */
    ck_assert_int_eq(tsim_job_command(job, "plan", PLAN, 5), TSIM_JOB_INTERRUPTED);
    ck_assert_int_eq(tsim_job_command(job, "plan", PLAN, 5), TSIM_JOB_OK); /* it held for one */
    tsim_job_interrupt(job);
    ck_assert_int_eq(tsim_job_sweep(job, AXES, 1, 1, keep, &seen), TSIM_JOB_INTERRUPTED);
    ck_assert_int_eq(tsim_job_sweep(job, AXES, 1, 1, keep, &seen), TSIM_JOB_OK);
}

/* ---- jobs on threads ---- */

enum { N_THREADS = 4, N_RUNS = 10 };

static void *run_often(void *times_s) {
    double *time_s = times_s;
    struct tsim_job *mine = tsim_job_new();
    for (int i = 0; i < N_RUNS; i++) {
        char batch[16];
        snprintf(batch, sizeof batch, "%d", 8 * (1 + i));
        if (tsim_job_load_text(mine, SCENARIO) == TSIM_JOB_OK &&
            tsim_job_set(mine, "training.global_batch_size", batch) == TSIM_JOB_OK && tsim_job_run(mine) == TSIM_JOB_OK)
            time_s[i] = tsim_job_figure(mine, "step.time_s");
    }
    tsim_job_free(mine);
    return NULL;
}

TSIM_TEST(threads) {
    pthread_t thread[N_THREADS];
    double time_s[N_THREADS][N_RUNS] = {{0}};
    for (int i = 0; i < N_THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, run_often, time_s[i]), 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < N_RUNS; i++) {
        ck_assert_double_gt(time_s[0][i], i == 0 ? 0 : time_s[0][i - 1]); /* a larger batch takes longer */
        for (int k = 1; k < N_THREADS; k++)
            ck_assert_double_eq(time_s[k][i], time_s[0][i]);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
