/* Intervals from residuals: distances and quantiles by hand, calibration on the committed table. */
#include "study/judge/uncertainty.h"
#include "support/check_main.h"

#include <math.h>
#include <unistd.h>

enum { N_ROWS = 19 };

static const struct tsim_traits A100 = {.accelerator = "a100",
                                        .vendor = "NVIDIA",
                                        .software = "megatron",
                                        .model = "dense",
                                        .precision = TSIM_BF16,
                                        .peak_flops_per_s = 312e12,
                                        .n_accelerators = 64,
                                        .tensor = 8,
                                        .pipeline = 4,
                                        .micro_batch = 1,
                                        .parameters = 1e10};

/* 19 rows: rank 0.05 x 20 is the first, 0.95 x 20 the last. Their log ratios are -0.09, -0.08, ..., 0.09. */
static struct tsim_residuals rows_of(struct tsim_residual *rows, const char *const names[N_ROWS]) {
    for (int i = 0; i < N_ROWS; i++)
        rows[i] =
            (struct tsim_residual){.name = names[i], .source = "paper", .traits = A100, .log_ratio = 0.01 * (i - 9)};
    return (struct tsim_residuals){.rows = rows, .n = N_ROWS};
}
static const char *const NAMES[N_ROWS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                                          "k", "l", "m", "n", "o", "p", "q", "r", "s"};

START_TEST(distances) {
    struct tsim_traits other = A100;
    ck_assert_double_eq(tsim_traits_distance(&A100, &other), 0.0);
    other.precision = TSIM_FP16; /* 16 bits like bf16 */
    ck_assert_double_eq(tsim_traits_distance(&A100, &other), 0.0);
    other.n_accelerators = 512; /* three doublings */
    other.tensor = 2;           /* two */
    ck_assert_double_eq_tol(tsim_traits_distance(&A100, &other), 0.45 + 0.2, 1e-12);
    ck_assert_double_eq(tsim_traits_distance(&A100, &other), tsim_traits_distance(&other, &A100));
    other = A100;
    other.accelerator = "x100";
    other.peak_flops_per_s *= 4;
    other.precision = TSIM_FP8;
    other.model = "experts";
    ck_assert_double_eq_tol(tsim_traits_distance(&A100, &other), 0.5 + 0.8 + 1 + 2, 1e-12);
    other = A100;
    other.estimates_rate = true;
    ck_assert_double_eq(tsim_traits_distance(&A100, &other), 2.0);
}
END_TEST

START_TEST(quantiles_of_the_like) {
    struct tsim_arena arena;
    struct tsim_residual rows[N_ROWS];
    struct tsim_interval interval;
    struct tsim_residuals residuals = rows_of(rows, NAMES);
    tsim_arena_init(&arena);
    tsim_interval_of(&arena, &residuals, &A100, NULL, NULL, &interval);
    ck_assert_int_eq(interval.n_neighbours, N_ROWS);
    ck_assert_int_eq(interval.n_similar, N_ROWS);
    ck_assert_double_eq_tol(interval.low_ratio, exp(-0.09), 1e-12);
    ck_assert_double_eq_tol(interval.high_ratio, exp(0.09), 1e-12);
    /* Without the last: 18 rows, rank 0.05 x 19 below the first, 0.95 x 19 above the last. */
    tsim_interval_of(&arena, &residuals, &A100, "s", NULL, &interval);
    ck_assert_double_eq_tol(interval.high_ratio, exp(0.08), 1e-12);
    tsim_interval_of(&arena, &residuals, &A100, NULL, "paper", &interval);
    ck_assert_int_eq(interval.n_neighbours, 0);
    ck_assert(isnan(interval.low_ratio));
    tsim_arena_release(&arena);
}
END_TEST

/* An accelerator without a run in its class of precision has at least 0.2 to each side; with few runs all of them,
 * however far from the rest; with ten and more what is like it alone. */
START_TEST(few_runs_of_the_accelerator) {
    struct tsim_arena arena;
    struct tsim_residual rows[N_ROWS];
    struct tsim_interval interval;
    struct tsim_residuals residuals = rows_of(rows, NAMES);
    struct tsim_traits other = A100;
    other.accelerator = "x100";
    tsim_arena_init(&arena);
    tsim_interval_of(&arena, &residuals, &other, NULL, NULL, &interval);
    ck_assert_int_eq(interval.n_own, 0);
    ck_assert_double_eq_tol(interval.low_ratio, exp(-0.2), 1e-12);
    ck_assert_double_eq_tol(interval.high_ratio, exp(0.2), 1e-12);
    rows[0].traits = other;
    rows[0].log_ratio = 0.3;
    tsim_interval_of(&arena, &residuals, &other, NULL, NULL, &interval);
    ck_assert_int_eq(interval.n_own, 1);
    ck_assert_double_gt(interval.low_ratio, exp(-0.1));
    ck_assert_double_eq_tol(interval.high_ratio, exp(0.3), 1e-12);
    rows[0].traits.precision = TSIM_FP8; /* another class: none of its own again */
    tsim_interval_of(&arena, &residuals, &other, NULL, NULL, &interval);
    ck_assert_int_eq(interval.n_own, 0);
    tsim_interval_of(&arena, &residuals, &A100, NULL, NULL, &interval);
    ck_assert_int_eq(interval.n_own, N_ROWS - 1);
    tsim_arena_release(&arena);
}
END_TEST

START_TEST(wide_where_nothing_is_like) {
    struct tsim_arena arena;
    struct tsim_residual rows[N_ROWS];
    struct tsim_interval interval;
    struct tsim_residuals residuals = rows_of(rows, NAMES);
    struct tsim_traits other = A100;
    other.model = "experts"; /* distance 2: 1.25 beyond similar, so 0.025 wider to each side */
    tsim_arena_init(&arena);
    tsim_interval_of(&arena, &residuals, &other, NULL, NULL, &interval);
    ck_assert_int_eq(interval.n_similar, 0);
    ck_assert_double_eq_tol(interval.high_ratio, exp(0.09 + 0.025), 1e-12);
    /* All too fast: the interval holds the prediction all the same, with 2 % below it. */
    for (int i = 0; i < N_ROWS; i++)
        rows[i].log_ratio = 0.1;
    tsim_interval_of(&arena, &residuals, &A100, NULL, NULL, &interval);
    ck_assert_double_eq_tol(interval.low_ratio, exp(-0.02), 1e-12);
    ck_assert_double_eq_tol(interval.high_ratio, exp(0.1), 1e-12);
    tsim_arena_release(&arena);
}
END_TEST

/* Each run's interval from all other sources: 90 % of them hold what was measured, give or take 5 points. */
START_TEST(intervals_are_calibrated) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_residuals residuals;
    struct tsim_interval interval;
    size_t n_inside = 0;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_residuals_read(&arena, NULL, &residuals, &diags), TSIM_OK);
    ck_assert_uint_gt(residuals.n, 200);
    for (size_t i = 0; i < residuals.n; i++) {
        const struct tsim_residual *row = &residuals.rows[i];
        double ratio = exp(row->log_ratio);
        tsim_interval_of(&arena, &residuals, &row->traits, NULL, row->source, &interval);
        n_inside += interval.low_ratio <= ratio && ratio <= interval.high_ratio;
    }
    double frac = (double)n_inside / (double)residuals.n;
    printf("of %zu runs %.1f %% are within intervals from other sources\n", residuals.n, 100.0 * frac);
    ck_assert_double_ge(frac, 0.85);
    ck_assert_double_le(frac, 0.95);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
}
END_TEST

#define HEADER                                                                                                         \
    "case,source,accelerator,vendor,software,model,precision,zero3,peak_tflops,accelerators,tensor,pipeline,"          \
    "micro_batch,parameters,measured_over_predicted,low,high,hidden,step_time_s,estimated_rate\n"
#define ROW "run-1,run,a100,NVIDIA,megatron,dense,bf16,0,312,64,8,4,1,1e10,%s,0.9,1.1,4096,2.5,0\n"

static enum tsim_status read_text(struct tsim_arena *arena, const char *format, const char *ratio,
                                  struct tsim_residuals *residuals, int *line) {
    struct tsim_diags diags;
    char file[] = "/tmp/tsim-residuals-XXXXXX";
    FILE *stream = fdopen(mkstemp(file), "w");
    fprintf(stream, format, ratio);
    fclose(stream);
    tsim_diags_init(&diags);
    enum tsim_status status = tsim_residuals_read(arena, file, residuals, &diags);
    *line = diags.n_items ? diags.items[0].at.line : 0;
    tsim_diags_release(&diags);
    remove(file);
    return status;
}

START_TEST(tables) {
    struct tsim_arena arena;
    struct tsim_residuals residuals;
    int line;
    tsim_arena_init(&arena);
    ck_assert_int_eq(read_text(&arena, HEADER ROW, "1.25", &residuals, &line), TSIM_OK);
    ck_assert_uint_eq(residuals.n, 1);
    ck_assert_str_eq(residuals.rows[0].source, "run");
    ck_assert_double_eq(residuals.rows[0].log_ratio, log(1.25));
    ck_assert_double_eq(tsim_traits_distance(&residuals.rows[0].traits, &A100), 0.0);
    ck_assert_int_eq(read_text(&arena, HEADER ROW, "-1", &residuals, &line), TSIM_ERR_SCHEMA);
    ck_assert_int_eq(line, 2);
    ck_assert_int_eq(read_text(&arena, HEADER "run-1,run,a100%s\n", "", &residuals, &line), TSIM_ERR_SCHEMA);
    ck_assert_int_eq(read_text(&arena, ROW, "1.25", &residuals, &line), TSIM_ERR_SCHEMA);
    ck_assert_int_eq(line, 1);
    tsim_arena_release(&arena);
}
END_TEST

static Suite *uncertainty_suite(void) {
    Suite *suite = suite_create("uncertainty");
    TCase *tests = tcase_create("uncertainty");
    tcase_add_test(tests, distances);
    tcase_add_test(tests, quantiles_of_the_like);
    tcase_add_test(tests, wide_where_nothing_is_like);
    tcase_add_test(tests, few_runs_of_the_accelerator);
    tcase_add_test(tests, intervals_are_calibrated);
    tcase_add_test(tests, tables);
    suite_add_tcase(suite, tests);
    return suite;
}
TSIM_TEST_MAIN(uncertainty_suite)
