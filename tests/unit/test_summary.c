/* The JSON object and the screen of a result whose figures are known (support/example_result.h). */
#include "base/version.h"
#include "report/terminal/summary.h"
#include "results/format.h"
#include "results/measured.h"
#include "results/outcome.h"
#include "results/verdict.h"
#include "support/check_main.h"
#include "support/example_result.h"

#include <math.h>
#include <string.h>

static struct example_result r;
static char text[16384];

static const char *json_of(const struct tsim_prediction *prediction, int64_t run_id) {
    struct tsim_logged logged = {.run_id = run_id, .file = "x.db"};
    FILE *out = fmemopen(text, sizeof text, "w");
    struct tsim_json *root = tsim_summary_json(prediction, &logged);
    tsim_json_write(root, out);
    tsim_json_release(root);
    fclose(out);
    return text;
}

static const char *screen_of(const struct tsim_prediction *prediction, int64_t run_id, int width) {
    struct tsim_logged logged = {.run_id = run_id, .file = "x.db"};
    struct tsim_style style = {.width = width};
    FILE *out = fmemopen(text, sizeof text, "w");
    tsim_summary_print(out, &style, prediction, &logged);
    fclose(out);
    return text;
}

#define ck_assert_contains(haystack, needle)                                                                           \
    ck_assert_msg(strstr((haystack), (needle)) != NULL, "'%s' is not in:\n%s", (needle), (haystack))
#define ck_assert_lacks(haystack, needle)                                                                              \
    ck_assert_msg(strstr((haystack), (needle)) == NULL, "'%s' is in:\n%s", (needle), (haystack))

/* The figures are the rows of outcome.def (test_outcome.c); here is what stands beside them. */
TSIM_TEST(json_of_a_run) {
    example_result_init(&r);
    r.example.model.causal = false;
    const char *json = json_of(&r.prediction, 17);
    ck_assert_contains(json, "{\n"
                             "  \"schema\": \"tsim/summary/v1\",\n"
                             "  \"scenario\": \"example\",\n"
                             "  \"run_id\": 17,\n"
                             "  \"status\": \"ok\",\n");
    ck_assert_contains(
        json, "    \"shares\": {\"compute\": 0.25, \"memory\": 0.375, \"communication\": 0.1, \"bubble\": 0.15, "
              "\"data\": 0.05, \"host\": 0.075},\n"
              "    \"advice\": [\"larger products\"]\n");
    ck_assert_contains(
        json, "  \"measured\": [\n"
              "    {\"metric\": \"step_time\", \"measured\": 8, \"predicted\": 10, \"error\": 0.25},\n"
              "    {\"metric\": \"model_tflops_per_gpu\", \"measured\": 320, \"predicted\": 400, \"error\": 0.25}\n"
              "  ],\n"
              "  \"simulator\": {\"version\": \"" TSIM_VERSION
              "\", \"events\": 12345, \"wall_s\": 0.25, \"peak_rss_bytes\": 20000000}\n"
              "}\n");
}

TSIM_TEST(json_leaves_out_what_was_not_modelled) {
    example_result_init(&r);
    r.prediction.result.campaign.has = false;
    memset(&r.example.scenario.measured, 0, sizeof r.example.scenario.measured);
    r.prediction.result.step.throughput.hfu = (double)NAN;
    const char *json = json_of(&r.prediction, 0);
    ck_assert_lacks(json, "run_id");
    ck_assert_lacks(json, "campaign");
    ck_assert_lacks(json, "measured");
    ck_assert_lacks(json, "hfu");
    ck_assert_lacks(json, "uncertainty");
}

TSIM_TEST(json_of_what_does_not_fit) {
    example_result_init_misfit(&r);
    const char *json = json_of(&r.prediction, 0);
    ck_assert_contains(json, "\"status\": \"does_not_fit\"");
    ck_assert_contains(json, "\"fits\": false");
    ck_assert_contains(json, "{\"set\": \"training.recompute=selective\", \"peak_bytes\": 52000000000}");
    ck_assert_lacks(json, "\"step\"");
    ck_assert_lacks(json, "throughput");
    ck_assert_lacks(json, "bottleneck");
    ck_assert_lacks(json, "energy");
}

/* A spread from 79 k to 205 k leaves the tens of thousands; the last digit is kept although it is a nought. */
TSIM_TEST(digits_that_a_spread_supports) {
    const struct tsim_percentiles usd = {79400, 128000, 205000}, wh = {2.61e9, 2.79e9, 2.98e9},
                                  wide = {9e5, 1.4e6, 2.1e6};
    ck_assert_str_eq(tsim_supported_text(&usd, usd.p10, "USD", text, sizeof text), "80 k USD");
    ck_assert_str_eq(tsim_supported_text(&usd, usd.p90, "USD", text, sizeof text), "210 k USD");
    ck_assert_str_eq(tsim_supported_text(&wh, wh.p90, "Wh", text, sizeof text), "3.0 GWh");
    ck_assert_str_eq(tsim_supported_text(&usd, 999600, "USD", text, sizeof text), "1.00 M USD");
    ck_assert_str_eq(tsim_supported_range_text(&usd, "USD", text, sizeof text), "80-210 k USD");
    ck_assert_str_eq(tsim_supported_range_text(&wide, "USD", text, sizeof text), "0.9-2.1 M USD");
    const struct tsim_percentiles unknown = {(double)NAN, (double)NAN, (double)NAN};
    ck_assert_str_eq(tsim_supported_range_text(&unknown, "USD", text, sizeof text), "-");
}

TSIM_TEST(bottleneck_kinds) {
    example_result_init(&r);
    const char *const kinds[] = {"compute", "memory", "communication", "compute", "compute"};
    const char *const axes[] = {"algorithm", "machine", "machine", "algorithm", "algorithm"};
    for (int bound = TSIM_BOUND_COMPUTE; bound <= TSIM_BOUND_LATENCY; bound++) {
        r.prediction.result.step.bottleneck = (enum tsim_bound)bound;
        ck_assert_str_eq(tsim_bottleneck_kind(&r.prediction.result), kinds[bound]);
        ck_assert_str_eq(tsim_bottleneck_axis(&r.prediction.result), axes[bound]);
    }
    r.prediction.result.step.bottleneck_is_data = true;
    ck_assert_str_eq(tsim_bottleneck_kind(&r.prediction.result), "data");
    ck_assert_str_eq(tsim_bottleneck_axis(&r.prediction.result), "data");
    r.prediction.result.step.bottleneck_is_data = false;
    r.prediction.result.step.bottleneck_is_bubble = true;
    ck_assert_str_eq(tsim_bottleneck_kind(&r.prediction.result), "bubble");
    ck_assert_str_eq(tsim_bottleneck_axis(&r.prediction.result), "algorithm");
}

/* Each of these must end the program with status 70: run in a child by Check. */
TSIM_EXIT_TEST_LOOP(terms_that_do_not_add_up_are_our_bug, 70, 0, 5) {
    example_result_init(&r);
    double *const figures[] = {&r.prediction.result.step.terms.compute_s,
                               &r.prediction.result.step.terms.exposed_data_s, &r.prediction.result.step.terms.time_s,
                               &r.prediction.result.step.memory.weights_bytes,
                               &r.prediction.result.step.memory.peak_bytes};
    *figures[_i] *= 1.0001;
    fclose(stderr);
    tsim_result_check(&r.prediction.result);
}

TSIM_TEST(rounding_of_the_terms_is_no_bug) {
    example_result_init(&r);
    r.prediction.result.step.terms.compute_s *= 1 + 1e-9;
    r.prediction.result.step.memory.peak_bytes += 1;
    tsim_result_check(&r.prediction.result);
    ck_assert_double_gt(r.prediction.result.step.terms.compute_s, 5);
}

static int n_lines(const char *screen) {
    int n = 0;
    for (; *screen; screen++)
        n += *screen == '\n';
    return n;
}

static int widest(const char *screen) {
    int width = 0, most = 0;
    for (; *screen; screen++) {
        width = *screen == '\n' ? 0 : width + (((unsigned char)*screen & 0xC0) != 0x80);
        most = width > most ? width : most;
    }
    return most;
}

TSIM_TEST(screen_answers_the_buyer) {
    example_result_init(&r);
    r.example.scenario.software_defaulted = true;
    const char *screen = screen_of(&r.prediction, 17, 100);
    ck_assert_contains(screen, "example-model, 134,217,728 parameters");
    ck_assert_contains(screen, "8 x example on 1 node example-node, fabric example-fabric\n");
    ck_assert_contains(screen, "example-software (the default: the scenario names none)");
    ck_assert_contains(screen, "64 x 1,024 tokens, micro-batch 1, bf16, adamw, no recompute, standard attention");
    ck_assert_contains(screen, "400 TFLOP/s (MFU 40.0 %, full attention counted), 450 TFLOP/s executed");
    ck_assert_contains(screen, "\n  compute                      5.000 s   50.0 %  ████████████████████\n");
    ck_assert_contains(screen, "\n  exposed expert traffic       0.062 s    0.6 %  ▎\n");
    ck_assert_contains(screen, "\n  total                       10.000 s  100.0 %\n");
    ck_assert_contains(screen, "\n  activations                 16.00 GB   16.0 %  ██████▍\n");
    ck_assert_contains(screen, "\n  peak, of 100.0 GB           64.00 GB   64.0 %\n");
    ck_assert_contains(screen, "1,000 steps, 2.50 days");
    ck_assert_contains(screen, "  step_time                      8.000 s       10.000 s   +25.0 %\n");
    ck_assert_contains(screen, "  model_tflops_per_gpu             320.0          400.0   +25.0 %\n");
    ck_assert_contains(screen, "logged        run 17 in x.db\n");
}

/* The whole price comes first, its parts and what a run's share assumes beside it. */
TSIM_TEST(screen_says_what_owning_assumes) {
    example_result_init(&r);
    r.example.scenario.cost = (struct tsim_cost_spec){.host_frac = 0.125,
                                                      .network_frac = 0.2,
                                                      .storage_frac = 0.05,
                                                      .lifetime_s = 4 * 365.25 * 86400,
                                                      .utilization_frac = 0.8,
                                                      .interest_frac = 0.08,
                                                      .residual_frac = 0.1};
    r.prediction.result.campaign.purchase_usd = 240000;
    r.prediction.result.campaign.own = (struct tsim_ownership){.has = true,
                                                               .capital_usd = 330000,
                                                               .usd = 10000,
                                                               .capital_share_usd = 7000,
                                                               .maintenance_usd = 1000,
                                                               .power_usd = 1500,
                                                               .cooling_usd = 500,
                                                               .usd_per_trillion_tokens = (double)NAN,
                                                               .rent_usd_per_trillion_tokens = (double)NAN,
                                                               .reserved_usd = (double)NAN,
                                                               .breakeven_utilization = 0.5,
                                                               .breakeven_runs = 34.2};
    const char *screen = screen_of(&r.prediction, 17, 300);
    ck_assert_contains(screen, "buying        330 k USD: accelerators 240 k USD, hosts 30.0 k USD, network 48.0 k USD, "
                               "storage 12.0 k USD\n");
    ck_assert_contains(screen,
                       "a run, assuming 4 years, 80.0 % use, 8.0 % interest and 10.0 % residual value: capital ");
    ck_assert_contains(screen, "; cheaper than renting above 50.0 % use, or from 35 such runs on\n");
    ck_assert_lacks(screen, "buying 240");
}

/* Compute that waits for the host says so, and what an operator of fp8 costs it. */
TSIM_TEST(launches_are_named) {
    example_result_init(&r);
    r.prediction.result.step.bottleneck = TSIM_BOUND_COMPUTE;
    r.prediction.result.step.bounds =
        (struct tsim_bound_shares){.compute_frac = 0.3, .least_frac = 0.2, .host_frac = 0.05};
    r.example.software.host_time_per_op_s = 9e-6;
    r.example.software.host_time_per_fp8_op_s = 45e-6;
    ck_assert_contains(screen_of(&r.prediction, 17, 100), "bottleneck    compute; 30.0 % compute, 5.0 % host\n");
    r.prediction.result.step.bounds.host_frac = 0.7;
    ck_assert_contains(screen_of(&r.prediction, 17, 100),
                       "compute: launches by the host; 70.0 % host, 30.0 % compute\n");
    r.example.scenario.training.precision = TSIM_FP8;
    ck_assert_contains(screen_of(&r.prediction, 17, 100),
                       "launches by the host, 45.0 us each in fp8 (9.00 us in bf16)");
}

/* Every term and kind of memory is there, which no real run has; notes on its length are not. */
TSIM_TEST(screen_fits_a_screen) {
    example_result_init(&r);
    r.example.model.causal = false;
    int lines = n_lines(screen_of(&r.prediction, 17, 100));
    ck_assert_int_le(lines, 45);
    ck_assert_int_le(widest(text), 100);
    screen_of(&r.prediction, 17, 80);
    ck_assert_int_le(widest(text), 80);
}

TSIM_TEST(screen_hides_what_is_zero_or_unknown) {
    example_result_init(&r);
    struct tsim_step_terms *t = &r.prediction.result.step.terms;
    t->compute_s += t->data_stall_s + t->recompute_s;
    t->data_stall_s = t->recompute_s = 0;
    r.prediction.result.campaign.rent_usd = r.prediction.result.campaign.breakeven_runs = (double)NAN;
    const char *screen = screen_of(&r.prediction, 0, 100);
    ck_assert_lacks(screen, "data stall");
    ck_assert_lacks(screen, "recompute ");
    ck_assert_lacks(screen, "rent");
    ck_assert_lacks(screen, "buying");
    ck_assert_lacks(screen, "logged");
    ck_assert_lacks(screen, "nan");
}

TSIM_TEST(screen_of_what_does_not_fit) {
    example_result_init_misfit(&r);
    const char *screen = screen_of(&r.prediction, 3, 80);
    ck_assert_contains(screen, "(pipeline stage 1)");
    ck_assert_contains(screen, "peak, of 60.00 GB           64.00 GB  106.7 %");
    ck_assert_contains(screen, "does not fit: 4.00 GB too much");
    ck_assert_contains(screen, "  --set training.recompute=selective         peak 52.00 GB\n");
    ck_assert_contains(screen, "logged        run 3 in x.db");
    ck_assert_lacks(screen, "step time");
}

TSIM_TEST(screen_names_the_plan) {
    example_result_init(&r);
    struct tsim_parallelism_spec *p = &r.example.scenario.parallelism;
    p->tensor = 8;
    p->pipeline = 4;
    p->virtual_pipeline = 5;
    p->data = 32;
    p->zero = 1;
    p->zero_group_ranks = 32;
    p->sequence = true;
    p->schedule = TSIM_SCHEDULE_INTERLEAVED;
    ck_assert_contains(screen_of(&r.prediction, 0, 100), "plan          tensor 8 x pipeline 4 (virtual 5) x data 32, "
                                                         "ZeRO-1, sequence parallel, interleaved\n");
    *p = (struct tsim_parallelism_spec){
        .tensor = 1, .pipeline = 1, .virtual_pipeline = 1, .context = 1, .expert = 1, .data = 1};
    ck_assert_contains(screen_of(&r.prediction, 0, 100), "plan          one accelerator\n");
}

TSIM_TEST(formats) {
    char b[64];
    ck_assert_str_eq(tsim_count_text(0, b, sizeof b), "0");
    ck_assert_str_eq(tsim_count_text(999, b, sizeof b), "999");
    ck_assert_str_eq(tsim_count_text(1000, b, sizeof b), "1,000");
    ck_assert_str_eq(tsim_count_text(68976648192.0, b, sizeof b), "68,976,648,192");
    ck_assert_str_eq(tsim_count_text(-123456, b, sizeof b), "-123,456");
    ck_assert_str_eq(tsim_share_text(0, b, sizeof b), "0.0 %");
    ck_assert_str_eq(tsim_share_text(0.0004, b, sizeof b), "<0.1 %");
    ck_assert_str_eq(tsim_seconds_text(1.5, 200, b, sizeof b), "1.5 s");
    ck_assert_str_eq(tsim_seconds_text(0.0015, 0.1, b, sizeof b), "1.50 ms");
    ck_assert_str_eq(tsim_seconds_text(2.5e-6, 9e-4, b, sizeof b), "2.50 us");
    ck_assert_str_eq(tsim_rate_text(4811.4, b, sizeof b), "4.81 k");
    ck_assert_str_eq(tsim_rate_text(1.05e6, b, sizeof b), "1.05 M");
    ck_assert_str_eq(tsim_metric_text(TSIM_METRIC_TOKENS_PER_S, 5320, b, sizeof b), "5,320");
    ck_assert_str_eq(tsim_gigabytes_text(211.93e9, b, sizeof b), "211.9 GB");
    ck_assert_str_eq(tsim_gigabytes_text(99.996e9, b, sizeof b), "100.0 GB");
    ck_assert_str_eq(tsim_outcome_text(TSIM_OUTCOME_ENERGY_KWH, 551846, b, sizeof b), "552 MWh");
    ck_assert_str_eq(tsim_outcome_text(TSIM_OUTCOME_MODEL_TFLOPS_PER_GPU, 1204.9, b, sizeof b), "1.20 PFLOP/s");
    ck_assert_str_eq(tsim_outcome_text(TSIM_OUTCOME_DAYS, (double)NAN, b, sizeof b), "-");
    ck_assert_str_eq(tsim_metric_text(TSIM_METRIC_MFU, 0.514, b, sizeof b), "51.4 %");
    ck_assert_str_eq(tsim_metric_text(TSIM_METRIC_MEMORY_PEAK, 45.2e9, b, sizeof b), "45.20 GB");
    ck_assert_str_eq(tsim_metric_text(TSIM_METRIC_STEP_TIME, (double)NAN, b, sizeof b), "-");
    ck_assert_double_eq(tsim_metric_in_json(TSIM_METRIC_HARDWARE_TFLOPS_PER_GPU, 388e12), 388);
    ck_assert_double_eq(tsim_metric_in_json(TSIM_METRIC_STEP_TIME, 388), 388);
}

TSIM_TEST(bars) {
    char b[3 * 4 + 1];
    ck_assert_str_eq(tsim_bar(1, 4, b, sizeof b), "████");
    ck_assert_str_eq(tsim_bar(7, 4, b, sizeof b), "████");
    ck_assert_str_eq(tsim_bar(0.5, 4, b, sizeof b), "██");
    ck_assert_str_eq(tsim_bar(0.28125, 4, b, sizeof b), "█▏"); /* 9 of 32 eighths */
    ck_assert_str_eq(tsim_bar(1e-9, 4, b, sizeof b), "▏");
    ck_assert_str_eq(tsim_bar(0, 4, b, sizeof b), "");
    ck_assert_str_eq(tsim_bar((double)NAN, 4, b, sizeof b), "");
}

static void fill_table(struct tsim_text_table *table, struct tsim_arena *arena) {
    static const struct tsim_column columns[] = {{"name", false}, {"value", true}};
    tsim_text_table_init(table, arena, columns, 2);
    tsim_text_table_add(table, "länge");
    tsim_text_table_add(table, "1");
    tsim_text_table_add(table, "a,\"b\"");
    tsim_text_table_add(table, "123456");
}

TSIM_TEST(tables) {
    struct tsim_arena arena;
    struct tsim_text_table table;
    struct tsim_style style = {.width = 80};
    tsim_arena_init(&arena);
    fill_table(&table, &arena);
    FILE *out = fmemopen(text, sizeof text, "w");
    tsim_text_table_print(&table, &style, out);
    tsim_text_table_print_csv(&table, out);
    fclose(out);
    ck_assert_str_eq(text, "name    value\n"
                           "länge       1\n"
                           "a,\"b\"  123456\n"
                           "name,value\nlänge,1\n\"a,\"\"b\"\"\",123456\n");
    tsim_arena_release(&arena);
}

TSIM_TEST(json_text_and_numbers) {
    struct tsim_json *root = tsim_json_new_object();
    tsim_json_text(root, "escaped", "a\"b\\c\n\x01 é");
    tsim_json_text(root, "latin1", "caf\xe9");
    tsim_json_text(root, "none", NULL);
    tsim_json_number(root, "tenth", 0.1);
    tsim_json_number(root, "nan", (double)NAN);
    tsim_json_number(root, "large", 1e300);
    tsim_json_integer(root, "most", INT64_MAX);
    tsim_json_parsed(root, "parsed", "[1, 0.1, null, {}]");
    FILE *out = fmemopen(text, sizeof text, "w");
    tsim_json_write(root, out);
    fclose(out);
    tsim_json_release(root);
    ck_assert_str_eq(text, "{\n"
                           "  \"escaped\": \"a\\\"b\\\\c\\n\\u0001 é\",\n"
                           "  \"latin1\": \"caf?\",\n"
                           "  \"tenth\": 0.1,\n"
                           "  \"large\": 1e+300,\n"
                           "  \"most\": 9223372036854775807,\n"
                           "  \"parsed\": [\n"
                           "    1,\n    0.1,\n    null,\n    {}\n"
                           "  ]\n"
                           "}\n");
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
