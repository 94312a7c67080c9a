/* The flat row of a summary's figures: complete, and called as in the summary's JSON. */
#include "report/terminal/summary.h"
#include "results/outcome.h"
#include "support/check_main.h"
#include "support/example_result.h"

#include <math.h>
#include <string.h>

static struct example_result r;
static struct tsim_outcome outcome;

START_TEST(figures_of_a_run) {
    example_result_init(&r);
    tsim_outcome_of(&r.prediction, &outcome);
    ck_assert_double_eq(outcome.value[TSIM_OUTCOME_FITS], 1);
    ck_assert_double_eq(outcome.value[TSIM_OUTCOME_ACCELERATORS], 8);
    ck_assert_double_eq(outcome.value[TSIM_OUTCOME_STEP_TIME], 10);
    ck_assert_double_eq(outcome.value[TSIM_OUTCOME_BUBBLE_FRAC], 0.15);
    ck_assert_double_eq(outcome.value[TSIM_OUTCOME_BUFFERS], 33e9);
    ck_assert_str_eq(outcome.bottleneck, "memory");
}
END_TEST

/* 65536 tokens/s at 5 kW, PUE 1.2, 0.1 USD/kWh and 8 x 3.6 USD/h: 10^12 tokens take 15258789.0625 s, so 0.008 USD/s of
 * rent are 122070.3125 USD, and 6 kW are 91552734.375 kJ = 25431.315104 kWh, 2543.1315104 USD. */
START_TEST(price_of_a_trillion_tokens) {
    example_result_init(&r);
    struct tsim_scenario scenario = *r.prediction.result.scenario;
    scenario.cost.rent_usd_per_s = 0.001;
    scenario.energy.pue = 1.2;
    scenario.energy.price_usd_per_j = 0.1 / 3.6e6;
    r.prediction.result.scenario = &scenario;
    tsim_outcome_of(&r.prediction, &outcome);
    ck_assert_double_eq_tol(outcome.value[TSIM_OUTCOME_TRILLION_RENT], 122070.3125, 1e-6);
    ck_assert_double_eq_tol(outcome.value[TSIM_OUTCOME_TRILLION_ELECTRICITY], 2543.1315104, 1e-6);
    scenario.cost.rent_usd_per_s = 0;
    tsim_outcome_of(&r.prediction, &outcome);
    ck_assert(isnan(outcome.value[TSIM_OUTCOME_TRILLION_RENT]));
}
END_TEST

START_TEST(a_run_that_does_not_fit_has_memory_alone) {
    example_result_init_misfit(&r);
    tsim_outcome_of(&r.prediction, &outcome);
    ck_assert_double_eq(outcome.value[TSIM_OUTCOME_FITS], 0);
    ck_assert_double_eq(outcome.value[TSIM_OUTCOME_MEMORY_PEAK], 64e9);
    ck_assert_double_eq(outcome.value[TSIM_OUTCOME_PARAMETERS], 134217728);
    for (int i = TSIM_OUTCOME_STEP_TIME; i < TSIM_N_OUTCOMES; i++)
        ck_assert_msg(isnan(outcome.value[i]), "%s", tsim_outcome_spec((enum tsim_outcome_figure)i)->name);
    ck_assert_ptr_null(outcome.bottleneck);
}
END_TEST

static const char *json_text(struct tsim_json *json) {
    static char text[8192];
    FILE *out = tmpfile();
    tsim_json_write(json, out);
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = '\0';
    fclose(out);
    tsim_json_release(json);
    return text;
}

/* Every member that the outcome has, `tsim run --json` has, with the same value: it is searched for as text. */
START_TEST(json_is_that_of_a_run) {
    static char whole[8192];
    example_result_init(&r);
    tsim_outcome_of(&r.prediction, &outcome);
    const struct tsim_logged logged = {0};
    strcpy(whole, json_text(tsim_summary_json(&r.prediction, &logged)));
    struct tsim_json *object = tsim_json_new_object();
    tsim_outcome_json(&outcome, object);
    const char *text = json_text(object);
    static const char *const SECTIONS[] = {"\"step\": {",       "\"communication_exposed\": {",
                                           "\"throughput\": {", "\"fractions\": {",
                                           "\"energy\": {",     "\"model\": {"};
    for (size_t i = 0; i < sizeof SECTIONS / sizeof SECTIONS[0]; i++) {
        const char *ours = strstr(text, SECTIONS[i]), *theirs = strstr(whole, SECTIONS[i]);
        ck_assert_msg(ours && theirs, "%s", SECTIONS[i]);
        size_t length = strcspn(ours, "}");
        ck_assert_msg(strncmp(ours, theirs, length + 1) == 0, "%.*s", (int)length, ours);
    }
    ck_assert_ptr_nonnull(strstr(text, "\"fits\": true"));
    ck_assert_ptr_nonnull(strstr(text, "\"accelerators\": 8,"));
}
END_TEST

START_TEST(names) {
    static const struct {
        const char *name;
        enum tsim_outcome_figure figure;
    } GOOD[] = {{"throughput.mfu", TSIM_OUTCOME_MFU},
                {"mfu", TSIM_OUTCOME_MFU},
                {"step.time_s", TSIM_OUTCOME_STEP_TIME},
                {"time_s", TSIM_OUTCOME_STEP_TIME},
                {"step_time_s", TSIM_OUTCOME_STEP_TIME},
                {"days", TSIM_OUTCOME_DAYS},
                {"cost", TSIM_OUTCOME_RENT},
                {"peak_bytes", TSIM_OUTCOME_MEMORY_PEAK},
                {"memory.fits", TSIM_OUTCOME_FITS},
                {"exposed_data_s", TSIM_OUTCOME_EXPOSED_DATA},
                {"gpus", TSIM_OUTCOME_ACCELERATORS}};
    enum tsim_outcome_figure figure;
    const char *near;
    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++) {
        ck_assert_msg(tsim_outcome_find(GOOD[i].name, &figure, &near), "%s", GOOD[i].name);
        ck_assert_msg(figure == GOOD[i].figure, "%s", GOOD[i].name);
    }
    ck_assert(!tsim_outcome_find("tokens_per_z", &figure, &near));
    ck_assert_str_eq(near, "tokens_per_s");
    ck_assert(!tsim_outcome_find("elephants", &figure, &near));
    ck_assert_ptr_null(near);
}
END_TEST

/* Every figure is found by its name and by its column: no two share one. */
START_TEST(every_figure_is_found) {
    enum tsim_outcome_figure figure;
    const char *near;
    for (int i = 0; i < TSIM_N_OUTCOMES; i++) {
        const struct tsim_outcome_spec *spec = tsim_outcome_spec((enum tsim_outcome_figure)i);
        ck_assert(tsim_outcome_find(spec->name, &figure, &near) && (int)figure == i);
        ck_assert(tsim_outcome_find(spec->column, &figure, &near) && (int)figure == i);
    }
}
END_TEST

static Suite *outcome_suite(void) {
    Suite *suite = suite_create("outcome");
    TCase *tests = tcase_create("outcome");
    tcase_add_test(tests, figures_of_a_run);
    tcase_add_test(tests, price_of_a_trillion_tokens);
    tcase_add_test(tests, a_run_that_does_not_fit_has_memory_alone);
    tcase_add_test(tests, json_is_that_of_a_run);
    tcase_add_test(tests, names);
    tcase_add_test(tests, every_figure_is_found);
    suite_add_tcase(suite, tests);
    return suite;
}

TSIM_TEST_MAIN(outcome_suite)
