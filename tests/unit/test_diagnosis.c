/* The bars of a diagnosis: what they add up to, what leads from one level to the next, and what is suspected when. */
#include "study/judge/diagnosis.h"

#include "run/run.h"
#include "support/arena_rig.h"

#include <math.h>
#include <string.h>

/* Eight H100s, whose plan leaves much: everything is recomputed, tensor ranks hide nothing. */
static const char JOB_TEXT[] = "schema: tsim/v1\n"
                               "name: job\n"
                               "model: llama3-8b\n"
                               "cluster: {node: dgx-h100, nodes: 2, fabric: ib-ndr}\n"
                               "training: {sequence_length: 8192, global_batch_size: 128, recompute: full}\n"
                               "software: megatron-core-2024\n"
                               "parallelism: {tensor: 8, pipeline: 2, data: 1, sequence: true}\n";

static struct tsim_diagnosis diagnose(const struct tsim_override *settings, size_t n,
                                      const struct tsim_profile *profile) {
    static struct tsim_scenario_source source; /* a diagnosis names scenarios that name it */
    const struct tsim_diagnosis_options options = {.profile = profile, .n_threads = 1};
    struct tsim_diagnosis diagnosis;
    ck_assert_int_eq(tsim_scenario_open_text(&arena, "job.yaml", JOB_TEXT, &source, &diags), TSIM_OK);
    enum tsim_status status = tsim_diagnose(&arena, &source, settings, n, &options, &diagnosis, &diags);
    ck_assert_msg(status == TSIM_OK, "%s: %s", diags.items[0].field, diags.items[0].message);
    return diagnosis;
}

static double level_s(const struct tsim_diagnosis *d, enum tsim_bar_kind kind) {
    for (size_t i = 0; i < d->n_bars; i++)
        if (d->bars[i].kind == kind)
            return d->bars[i].time_s;
    return (double)NAN;
}

static size_t count(const struct tsim_diagnosis *d, enum tsim_bar_kind kind) {
    size_t n = 0;
    for (size_t i = 0; i < d->n_bars; i++)
        n += d->bars[i].kind == kind;
    return n;
}

/* Each bar begins where the one before it ends; a level is where the bars before it have led. */
static void assert_adds_up(const struct tsim_diagnosis *d) {
    for (size_t i = 1; i < d->n_bars; i++) {
        const struct tsim_diagnosis_bar *bar = &d->bars[i], *last = &d->bars[i - 1];
        ck_assert_double_eq_tol(bar->time_s, last->time_s + bar->change_s, 1e-9 * bar->time_s);
        ck_assert_double_eq_tol(bar->mfu, last->mfu + bar->mfu_change, 1e-9);
        ck_assert_double_eq_tol(bar->mfu * bar->time_s, d->bars[0].mfu * d->bars[0].time_s, 1e-9 * bar->time_s);
    }
}

/* Half as fast again as predicted: the gap is one bar, and the way goes on from the prediction. */
TSIM_TEST(slower_than_predicted) {
    const struct tsim_diagnosis plain = diagnose(NULL, 0, NULL);
    const double predicted_s = plain.prediction.result.step.terms.time_s;
    ck_assert_ptr_null(plain.measured_as);
    ck_assert_int_eq(plain.bars[0].kind, TSIM_BAR_PREDICTED);
    ck_assert_uint_eq(plain.n_suspects, 0);
    char rate[40];
    snprintf(rate, sizeof rate, "%.6f", 128 / (1.5 * predicted_s));
    const struct tsim_override measured[] = {{"measured.source", "a log"}, {"measured.samples_per_s", rate}};
    const struct tsim_diagnosis d = diagnose(measured, 2, NULL);
    ck_assert_str_eq(d.measured_as, "samples_per_s");
    ck_assert_double_eq_tol(d.measured_s, 1.5 * predicted_s, 1e-4 * predicted_s);
    ck_assert_double_eq_tol(d.bars[1].change_s, predicted_s - d.measured_s, 1e-9);
    ck_assert_int_eq(d.bars[1].kind, TSIM_BAR_UNEXPLAINED);
    ck_assert(!d.is_inside);
    ck_assert_uint_gt(d.n_suspects, 0);
    for (size_t i = 0; i < d.n_suspects; i++) {
        ck_assert_double_gt(d.suspects[i].time_s, predicted_s);
        ck_assert_double_eq_tol(d.suspects[i].explained_frac,
                                (d.suspects[i].time_s - predicted_s) / (d.measured_s - predicted_s), 1e-6);
        ck_assert(i == 0 || fabs(d.suspects[i].explained_frac - 1) >= fabs(d.suspects[i - 1].explained_frac - 1));
    }
    ck_assert_double_eq_tol(level_s(&d, TSIM_BAR_BEST), level_s(&plain, TSIM_BAR_BEST), 1e-12);
    assert_adds_up(&d);
}

/* A run with all that the bars set takes as long as the best plan does, and each change has made it faster. */
TSIM_TEST(changes_are_the_best_plan) {
    const struct tsim_diagnosis d = diagnose(NULL, 0, NULL);
    const struct tsim_run_options options = {.ignore_memory = false};
    struct tsim_override all[64];
    struct tsim_scenario_source source;
    const struct tsim_scenario *scenario;
    struct tsim_result result;
    size_t n = 0;
    assert_adds_up(&d);
    ck_assert(d.has_plan);
    ck_assert_uint_ge(count(&d, TSIM_BAR_SWITCH) + count(&d, TSIM_BAR_PLAN), 2);
    for (size_t i = 0; i < d.n_bars; i++) {
        for (size_t k = 0; k < d.bars[i].n_settings; k++)
            all[n++] = d.bars[i].settings[k];
        ck_assert(d.bars[i].n_settings == 0 || d.bars[i].change_s < 0);
    }
    ck_assert_int_eq(tsim_scenario_open_text(&arena, "job.yaml", JOB_TEXT, &source, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_scenario_load_from(&arena, &source, all, n, &scenario, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_train_run(&arena, scenario, &options, &result, &diags), TSIM_OK);
    ck_assert_double_eq_tol(result.step.terms.time_s, level_s(&d, TSIM_BAR_BEST), 1e-9);
    ck_assert_double_lt(level_s(&d, TSIM_BAR_BEST), 0.8 * level_s(&d, TSIM_BAR_PREDICTED));
}

/* A measurement inside the interval needs no suspect. */
TSIM_TEST(as_predicted) {
    const struct tsim_diagnosis plain = diagnose(NULL, 0, NULL);
    char time[40];
    snprintf(time, sizeof time, "%.6f s", 1.01 * plain.prediction.result.step.terms.time_s);
    const struct tsim_override measured[] = {{"measured.source", "a log"}, {"measured.step_time", time}};
    const struct tsim_diagnosis d = diagnose(measured, 2, NULL);
    ck_assert(d.is_inside);
    ck_assert_uint_eq(d.n_suspects, 0);
    assert_adds_up(&d);
}

/* A profile says where the time goes: products take 100 ms longer, and a host leaves 50 ms empty. The rest, which it
 * does not say, is left over. */
TSIM_TEST(profiled) {
    const struct tsim_override operators[] = {{"simulation.detail", "operators"}};
    const struct tsim_diagnosis plain = diagnose(operators, 1, NULL);
    struct tsim_profile_comparison c;
    tsim_profile_compare(&plain.prediction.result, &c);
    struct tsim_profile profile = {.file = "made up", .n_steps = 1, .exposed_s = c.predicted_exposed_s};
    for (int i = 0; i < TSIM_N_KERNEL_CLASSES; i++)
        profile.class_s[i] = c.classes[i].predicted_s + (i == TSIM_KERNEL_PRODUCT ? 0.1 : 0);
    profile.step_s = c.predicted_step_s + 0.15;
    profile.busy_s = profile.step_s - c.predicted_idle_s - 0.05;
    const struct tsim_diagnosis d = diagnose(operators, 1, &profile);
    ck_assert_str_eq(d.measured_as, "profile");
    ck_assert_uint_eq(count(&d, TSIM_BAR_KERNELS), 2);
    ck_assert_str_eq(d.bars[1].name, "matrix products");
    ck_assert_double_eq_tol(d.bars[1].change_s, -0.1, 1e-9);
    ck_assert_str_eq(d.bars[2].name, "nothing runs");
    ck_assert_double_eq_tol(d.bars[2].change_s, -0.05, 1e-9);
    ck_assert_int_eq(d.bars[3].kind, TSIM_BAR_UNEXPLAINED);
    ck_assert_double_eq_tol(d.bars[3].change_s, 0, 1e-9);
    assert_adds_up(&d);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
