/* Tests intervals: the error model by laws and closed forms, what its tables hold, and coverage of the committed
 * ones. */
#include "base/random.h"
#include "study/judge/coverage.h"
#include "support/check_main.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { N_SOURCES = 40, RUNS_EACH = 5, N_ROWS = N_SOURCES * RUNS_EACH };

static const struct tsim_traits A100 = {.accelerator = "a100",
                                        .vendor = "NVIDIA",
                                        .software = "megatron",
                                        .model = "dense",
                                        .splits = "tensor",
                                        .precision = TSIM_BF16,
                                        .n_accelerators = 8,
                                        .sequence = 2048,
                                        .parameters = 1e10};

static const struct tsim_error_sizes *sizes(void) {
    static struct tsim_error_sizes sizes = {.run = {0.03, 0.06}, .low = {1, 2}, .high = {1.5, 2}};
    for (int part = 0; part < TSIM_N_ERROR_PARTS; part++)
        for (int class = 0; class < TSIM_N_ERROR_CLASSES; class ++)
            sizes.part[part][class] = class == TSIM_ERROR_DENSE ? 0.05 : 0.1;
    return &sizes;
}

/* Sources whose errors have a spread, and whose runs have another around them. */
static struct tsim_residuals made_up(struct tsim_arena *arena, double source_spread, double run_spread,
                                     int n_machines) {
    struct tsim_residual *rows = TSIM_NEW_ARRAY(arena, N_ROWS, struct tsim_residual);
    struct tsim_random random;
    tsim_random_init(&random, 7, 0, 0);
    for (int s = 0, i = 0; s < N_SOURCES; s++) {
        double of_source = source_spread * tsim_random_normal(&random);
        for (int k = 0; k < RUNS_EACH; k++, i++) {
            rows[i] = (struct tsim_residual){.name = tsim_arena_printf(arena, "s%d-%d", s, k),
                                             .source = tsim_arena_printf(arena, "s%d", s),
                                             .traits = A100,
                                             .log_ratio = of_source + run_spread * tsim_random_normal(&random),
                                             .measured_s = 1,
                                             .is_first = true};
            if (n_machines > 1)
                rows[i].traits.accelerator = tsim_arena_printf(arena, "a%d", s % n_machines);
        }
    }
    return (struct tsim_residuals){rows, N_ROWS};
}

static struct tsim_error_of_run error_of(struct tsim_arena *arena, const struct tsim_residuals *rows,
                                         struct tsim_traits traits, const char *source, const char *name) {
    struct tsim_error_of_run error;
    tsim_error_of_run(arena, tsim_error_model_new(arena, rows, sizes(), NULL, NULL), &traits, source, name, &error);
    return error;
}

/* An effect that nobody has measured adds the square of its size, and so does each doubling beyond what was
 * measured. */
TSIM_TEST(what_is_new_adds_its_variance) {
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    const struct tsim_residuals rows = made_up(&arena, 0.02, 0.02, 1);
    struct tsim_traits other = A100;
    struct tsim_error_of_run known = error_of(&arena, &rows, A100, NULL, NULL);
    ck_assert_int_eq(known.n_runs[TSIM_ERROR_VENDOR], N_ROWS);
    other.splits = "pipeline";
    struct tsim_error_of_run split = error_of(&arena, &rows, other, NULL, NULL);
    ck_assert_int_eq(split.n_runs[TSIM_ERROR_SPLITS], 0);
    ck_assert_double_eq_tol(split.part_variance[TSIM_ERROR_SPLITS], 0.05 * 0.05, 1e-12);
    ck_assert_double_gt(split.sd, known.sd);
    other.vendor = "AMD";
    ck_assert_double_gt(error_of(&arena, &rows, other, NULL, NULL).sd, split.sd);
    other = A100;
    other.n_accelerators = 16;
    struct tsim_error_of_run twice = error_of(&arena, &rows, other, NULL, NULL);
    ck_assert_double_eq_tol(twice.sd * twice.sd - known.sd * known.sd, 0.05 * 0.05, 1e-9);
    ck_assert_int_eq(twice.n_runs[TSIM_ERROR_COUNT], 0);
    other.n_accelerators = 64;
    struct tsim_error_of_run eight = error_of(&arena, &rows, other, NULL, NULL);
    ck_assert_double_eq_tol(eight.sd * eight.sd - known.sd * known.sd, 3 * 0.05 * 0.05, 1e-9);
    other = A100;
    other.sequence = 8192;
    struct tsim_error_of_run longer = error_of(&arena, &rows, other, NULL, NULL);
    ck_assert_double_eq_tol(longer.sd * longer.sd - known.sd * known.sd, 2 * 0.05 * 0.05, 1e-9);
    other = A100;
    other.estimates_rate = true;
    ck_assert_double_eq_tol(error_of(&arena, &rows, other, NULL, NULL).part_variance[TSIM_ERROR_RATE], 0.05 * 0.05,
                            1e-12);
    tsim_arena_release(&arena);
}

/* Nobody's first run is as sure as one more run of a source whose others are known; sources that scatter leave more
 * open. */
TSIM_TEST(siblings_make_it_narrow) {
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    const struct tsim_residuals rows = made_up(&arena, 0.1, 0.01, 1), close = made_up(&arena, 0.01, 0.01, 1);
    struct tsim_error_of_run first = error_of(&arena, &rows, A100, NULL, NULL),
                             next = error_of(&arena, &rows, A100, "s3", "s3-1");
    ck_assert_double_gt(first.sd, 2 * next.sd);
    ck_assert_double_gt(first.sd, 2 * error_of(&arena, &close, A100, NULL, NULL).sd);
    double mean = 0;
    for (int k = 0; k < RUNS_EACH; k++)
        mean += rows.rows[3 * RUNS_EACH + k].log_ratio / RUNS_EACH;
    ck_assert_double_eq_tol(next.mean, mean, 0.04); /* its siblings' errors are expected of it */
    tsim_arena_release(&arena);
}

static bool is_row(const struct tsim_residual *row, const void *name) {
    return strcmp(row->name, name) == 0;
}

/* A run that is named counts as not measured: with it the mean is 0.004 nearer to its own error, and the deviation
 * 0.0004 smaller. */
TSIM_TEST(own_run_is_left_out) {
    struct tsim_arena arena;
    struct tsim_error_of_run without;
    tsim_arena_init(&arena);
    const struct tsim_residuals rows = made_up(&arena, 0.05, 0.02, 1);
    struct tsim_error_of_run named = error_of(&arena, &rows, A100, "s3", "s3-1");
    tsim_error_of_run(&arena, tsim_error_model_new(&arena, &rows, sizes(), is_row, "s3-1"), &A100, "s3", NULL,
                      &without);
    ck_assert_double_eq_tol(named.mean, without.mean, 1e-3);
    ck_assert_double_eq_tol(named.sd, without.sd, 5e-5);
    ck_assert_int_eq(named.n_runs[TSIM_ERROR_SOURCE], RUNS_EACH - 1);
    tsim_arena_release(&arena);
}

TSIM_TEST(sizes_are_found_again) {
    struct tsim_arena arena;
    struct tsim_error_sizes found;
    tsim_arena_init(&arena);
    const struct tsim_residuals rows = made_up(&arena, 0.1, 0.02, 20);
    tsim_error_sizes_fit(&arena, &rows, &found);
    ck_assert_double_eq_tol(found.part[TSIM_ERROR_SOURCE][TSIM_ERROR_DENSE], 0.1, 0.03);
    ck_assert_double_eq_tol(found.run[TSIM_ERROR_DENSE], 0.02, 0.004);
    tsim_arena_release(&arena);
}

TSIM_TEST(ends) {
    const struct tsim_error_of_run error = {.mean = 0.01, .sd = 0.04}, biased = {.mean = 0.2, .sd = 0.05};
    struct tsim_ratios ratios = tsim_interval_of(&error, sizes(), TSIM_ERROR_DENSE);
    ck_assert_double_eq_tol(ratios.low, exp(0.01 - 0.04), 1e-12);
    ck_assert_double_eq_tol(ratios.high, exp(0.01 + 0.06), 1e-12);
    ratios = tsim_interval_of(&biased, sizes(), TSIM_ERROR_OTHER); /* holds the prediction all the same */
    ck_assert_double_eq_tol(ratios.low, exp(-0.02), 1e-12);
    ck_assert_double_eq_tol(ratios.high, exp(0.3), 1e-12);
}

/* The committed tables: sources and accelerators that are left out have 85 to 95 % of their runs inside, with the
 * errors that these had when they were first predicted, and at least eight groups in ten hold. */
TSIM_TEST(intervals_are_calibrated) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_evidence evidence;
    struct tsim_residuals blind;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_evidence_read(&arena, &evidence, &diags), TSIM_OK);
    ck_assert_uint_gt(evidence.measured.n, 600);
    const char *file = tsim_calibration_file(&arena, "blind-residuals.csv");
    ck_assert_int_eq(tsim_residuals_read(&arena, file, &blind, &diags), TSIM_OK);
    const struct tsim_residuals first = tsim_first_errors(&arena, &evidence.measured, &blind);
    for (int by = 0; by < TSIM_LEFT_OUT_BLIND; by++) {
        struct tsim_coverage coverage;
        tsim_coverage_of(&arena, &evidence.measured, &first, &evidence.sizes, (enum tsim_left_out)by, &coverage);
        double inside = (double)coverage.held[0].n_inside / coverage.held[0].n;
        printf("left out by %s: %.1f %% of the runs inside, %.0f %% of the groups hold\n",
               tsim_left_out_name((enum tsim_left_out)by), 100 * inside, 100 * coverage.holds_frac);
        ck_assert_double_ge(inside, 0.85);
        ck_assert_double_le(inside, 0.95);
        ck_assert_double_ge(coverage.holds_frac, 0.8);
    }
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
}

/* A run is known again by its accelerators, its time and its machine or its model; what it was first predicted as
 * counts. Blind runs that are not among the measured ones follow. */
TSIM_TEST(first_errors) {
    struct tsim_arena arena;
    struct tsim_traits then = {.accelerator = "b200", .software = "old", .n_accelerators = 8, .parameters = 1e9};
    struct tsim_traits now = then, larger = then, more = then;
    now.accelerator = "b200-own";
    now.software = "new";
    larger.accelerator = "b200-own";
    larger.parameters = 1.1e9;
    more.n_accelerators = 16;
    const struct tsim_residual blind[] = {{"draft", "d", then, 0.3, 2, NULL, false},
                                          {"unseen", "d", then, 0.4, 3, NULL, false}};
    const struct tsim_residual measured[] = {{"same", "m", now, 0.1, 2.001, NULL, false},
                                             {"other-time", "m", then, 0.1, 2.02, NULL, false},
                                             {"other-model", "m", larger, 0.1, 2, NULL, false},
                                             {"other-count", "m", more, 0.1, 2, NULL, false}};
    const struct tsim_residuals old = {blind, 2}, all = {measured, 4};
    tsim_arena_init(&arena);
    const struct tsim_residuals first = tsim_first_errors(&arena, &all, &old);
    ck_assert_uint_eq(first.n, 5);
    ck_assert_double_eq(first.rows[0].log_ratio, 0.3);
    ck_assert_str_eq(first.rows[0].traits.software, "old");
    ck_assert_str_eq(first.rows[0].source, "m");
    ck_assert_str_eq(first.rows[4].name, "unseen");
    ck_assert(first.rows[0].is_first && first.rows[4].is_first && !first.rows[1].is_first);
    for (size_t i = 1; i < 4; i++)
        ck_assert_double_eq(first.rows[i].log_ratio, 0.1);
    tsim_arena_release(&arena);
}

/* The ends are told from what was left out, so that made-up sources have nine in ten inside. */
TSIM_TEST(fitted_intervals_hold) {
    struct tsim_arena arena;
    struct tsim_error_sizes found;
    struct tsim_coverage coverage;
    const struct tsim_residuals none = {0};
    tsim_arena_init(&arena);
    const struct tsim_residuals rows = made_up(&arena, 0.1, 0.02, 20);
    tsim_intervals_fit(&arena, &rows, &none, &found);
    tsim_coverage_of(&arena, &rows, &rows, &found, TSIM_LEFT_OUT_SOURCE, &coverage);
    ck_assert_uint_eq(coverage.n_held, 1 + N_SOURCES);
    ck_assert_double_eq_tol((double)coverage.held[0].n_inside / N_ROWS, 0.9, 0.05);
    tsim_arena_release(&arena);
}

/* ---- tables ---- */

#define HEADER                                                                                                         \
    "case,source,accelerator,vendor,software,model,precision,zero3,peak_tflops,accelerators,tensor,pipeline,"          \
    "micro_batch,parameters,measured_over_predicted,low,high,hidden,step_time_s,estimated_rate,sequence,splits\n"
#define ROW "run-1,run,a100,NVIDIA,megatron,dense,bf16,0,312,8,8,4,1,1e10,%s,0.9,1.1,4096,2.5,0,2048,tensor\n"

static const char *file_of(struct tsim_arena *arena, const char *format, const char *ratio) {
    char *file = tsim_arena_strdup(arena, "/tmp/tsim-residuals-XXXXXX");
    FILE *stream = fdopen(mkstemp(file), "w");
    fprintf(stream, format, ratio);
    fclose(stream);
    return file;
}

static enum tsim_status read_text(struct tsim_arena *arena, const char *format, const char *ratio,
                                  struct tsim_residuals *residuals, int *line) {
    struct tsim_diags diags;
    const char *file = file_of(arena, format, ratio);
    tsim_diags_init(&diags);
    enum tsim_status status = tsim_residuals_read(arena, file, residuals, &diags);
    *line = diags.n_items ? diags.items[0].at.line : 0;
    tsim_diags_release(&diags);
    remove(file);
    return status;
}

TSIM_TEST(tables) {
    struct tsim_arena arena;
    struct tsim_residuals residuals;
    int line;
    tsim_arena_init(&arena);
    ck_assert_int_eq(read_text(&arena, HEADER ROW, "1.25", &residuals, &line), TSIM_OK);
    ck_assert_uint_eq(residuals.n, 1);
    ck_assert_str_eq(residuals.rows[0].source, "run");
    ck_assert_str_eq(residuals.rows[0].traits.splits, "tensor");
    ck_assert_double_eq(residuals.rows[0].traits.sequence, 2048);
    ck_assert_double_eq(residuals.rows[0].log_ratio, log(1.25));
    ck_assert_double_eq(residuals.rows[0].measured_s, 1.25 * 2.5);
    ck_assert_int_eq(read_text(&arena, HEADER ROW, "-1", &residuals, &line), TSIM_ERR_SCHEMA);
    ck_assert_int_eq(line, 2);
    ck_assert_int_eq(read_text(&arena, HEADER "run-1,run,a100%s\n", "", &residuals, &line), TSIM_ERR_SCHEMA);
    ck_assert_int_eq(read_text(&arena, ROW, "1.25", &residuals, &line), TSIM_ERR_SCHEMA);
    ck_assert_int_eq(line, 1);
    tsim_arena_release(&arena);
}

TSIM_TEST(table_of_sizes) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_error_sizes read;
    char text[1024] = "";
    bool has;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    FILE *stream = fmemopen(text, sizeof text, "w");
    tsim_error_sizes_write(stream, sizes());
    fclose(stream);
    const char *good = file_of(&arena, "%s", text);
    ck_assert_int_eq(tsim_error_sizes_read(good, &read, &has, &diags), TSIM_OK);
    ck_assert(has);
    ck_assert_double_eq(read.run[TSIM_ERROR_OTHER], 0.06);
    ck_assert_double_eq(read.high[TSIM_ERROR_DENSE], 1.5);
    ck_assert_double_eq(read.part[TSIM_ERROR_VENDOR][TSIM_ERROR_DENSE], 0.05);
    remove(good);
    ck_assert_int_eq(tsim_error_sizes_read(good, &read, &has, &diags), TSIM_OK);
    ck_assert(!has);
    const char *bad = file_of(&arena, "part,dense,other\nsource,0.1,%s\n", "-1");
    ck_assert_int_eq(tsim_error_sizes_read(bad, &read, &has, &diags), TSIM_ERR_SCHEMA);
    ck_assert_int_eq(diags.items[0].at.line, 2);
    remove(bad);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
}

/* Log ratios of -0.1, 0.1 and 0.3 have the mean 0.1 and the deviation 0.2; t is 2.920 for two degrees of freedom (its
 * tables). A run does not judge itself, two are too few, and the committed rounds hold those that were measured. */
TSIM_TEST(rounds_have_intervals) {
    const struct tsim_residual rows[] = {{.name = "a", .log_ratio = -0.1},
                                         {.name = "b", .log_ratio = 0.1},
                                         {.name = "c", .log_ratio = 0.3},
                                         {.name = "own", .log_ratio = 5}};
    const struct tsim_residuals rounds = {.rows = rows, .n_rounds = 4}, two = {.rows = rows, .n_rounds = 2};
    int32_t n;
    struct tsim_ratios r = tsim_round_interval(&rounds, "own", &n);
    ck_assert_int_eq(n, 3);
    ck_assert_double_eq_tol(log(r.low), 0.1 - 2.920 * 0.2 * sqrt(4.0 / 3), 1e-3);
    ck_assert_double_eq_tol(log(r.high), 0.1 + 2.920 * 0.2 * sqrt(4.0 / 3), 1e-3);
    ck_assert_double_nan(tsim_round_interval(&two, "own", &n).low);
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_evidence evidence;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_evidence_read(&arena, &evidence, &diags), TSIM_OK);
    ck_assert_uint_ge(evidence.measured.n_rounds, 8);
    int held = 0;
    for (size_t i = 0; i < evidence.measured.n_rounds; i++) {
        const struct tsim_residual *round = &evidence.measured.rows[evidence.measured.n + i];
        r = tsim_round_interval(&evidence.measured, round->name, &n);
        held += round->log_ratio >= log(r.low) && round->log_ratio <= log(r.high);
    }
    ck_assert_uint_ge((size_t)held, evidence.measured.n_rounds * 8 / 10);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
}

TSIM_MAIN(60, NULL, NULL)
