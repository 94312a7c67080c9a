/* Fits to kernels whose times were made with known values must find those values. */
#include "config/catalogue_load.h"
#include "cost/compute.h"
#include "study/judge/calibrate.h"
#include "support/arena_rig.h"

#include <math.h>
#include <unistd.h>

static struct tsim_accelerator truth;

static void set_up_truth(void) {
    const struct tsim_accelerator *a100;
    set_up();
    ck_assert_int_eq(tsim_catalogue_load_accelerator(&arena, "a100-80gb", &a100, &diags), TSIM_OK);
    truth = *a100;
    truth.matrix_sustained_frac[TSIM_BF16] = 0.63;
    truth.matrix_ramp_k = 210;
    truth.memory_sustained_frac = 0.7;
    truth.kernel_latency_s = 5e-6;
}

/* Six cubes of products and, where asked for, four copies; every other time is off by `noise_frac`. */
static enum tsim_status calibrate(bool has_copies, double noise_frac, struct tsim_calibration *calibration) {
    char file[] = "/tmp/tsim-calibrate-XXXXXX";
    FILE *out = fdopen(mkstemp(file), "w");
    fputs("# made up\naccelerator,op,precision,batch,m,n,k,bytes,time_us\n", out);
    for (int i = 0; i < 6; i++) {
        double k = 512 << i, time_s = tsim_gemm_s(&truth, TSIM_BF16, 1, 8192, 8192, k) + truth.kernel_latency_s;
        fprintf(out, "a100-80gb,gemm,bf16,1,8192,8192,%.0f,,%.17g\n", k, 1e6 * time_s * (1 + (i % 2 ? noise_frac : 0)));
    }
    for (int i = 0; has_copies && i < 4; i++) {
        double bytes = 1e6 * pow(10, i);
        fprintf(out, "a100-80gb,copy,,,,,,%.0f,%.17g\n", bytes,
                1e6 * (bytes / tsim_memory_rate(&truth) + truth.kernel_latency_s) * (1 + (i % 2 ? noise_frac : 0)));
    }
    fclose(out);
    enum tsim_status status = tsim_calibrate_kernels(&arena, file, calibration, &diags);
    remove(file);
    return status;
}

START_TEST(finds_what_was_put_in) {
    static const double TRUTH[TSIM_N_CALIBRATED] = {0.63, 210, 0.7, 5e-6};
    struct tsim_calibration c;
    ck_assert_int_eq(calibrate(true, 0, &c), TSIM_OK);
    ck_assert_uint_eq(c.n_rows, 10);
    for (int i = 0; i < TSIM_N_CALIBRATED; i++) {
        ck_assert(c.values[i].fitted);
        ck_assert_double_eq_tol(c.values[i].after / TRUTH[i], 1, 1e-4);
    }
    ck_assert_double_gt(c.before_frac, 0.1);
    ck_assert_double_lt(c.after_frac, 1e-5);
}
END_TEST

/* With times off by up to 2 % the intervals hold the truth, and are not empty. */
START_TEST(intervals_hold_the_truth) {
    struct tsim_calibration c;
    ck_assert_int_eq(calibrate(true, 0.02, &c), TSIM_OK);
    const struct tsim_calibration_value *sustained = &c.values[TSIM_CALIBRATED_MATRIX_SUSTAINED];
    ck_assert_double_lt(sustained->low_95, sustained->after);
    ck_assert_double_gt(sustained->high_95, sustained->after);
    ck_assert_double_le(sustained->low_95, 0.63);
    ck_assert_double_ge(sustained->high_95, 0.63);
    ck_assert_double_lt(sustained->high_95 / sustained->low_95, 1.1);
}
END_TEST

/* Products alone say nothing of memory and latency: those stay the catalogue's. */
START_TEST(leaves_the_rest_alone) {
    struct tsim_calibration c;
    ck_assert_int_eq(calibrate(false, 0, &c), TSIM_OK);
    ck_assert(c.values[TSIM_CALIBRATED_MATRIX_RAMP].fitted);
    ck_assert(!c.values[TSIM_CALIBRATED_MEMORY_SUSTAINED].fitted);
    ck_assert(!c.values[TSIM_CALIBRATED_KERNEL_LATENCY].fitted);
    ck_assert_double_eq(c.values[TSIM_CALIBRATED_MEMORY_SUSTAINED].after, c.accelerator->memory_sustained_frac);
}
END_TEST

/* Products that all wait for memory, whose time is that of their bytes: the matrix units' values are not told. The comment
 * is longer than any row. */
START_TEST(products_that_wait_for_memory) {
    char file[] = "/tmp/tsim-calibrate-XXXXXX";
    FILE *out = fdopen(mkstemp(file), "w");
    struct tsim_calibration c;
    fprintf(out, "# %01000d\naccelerator,op,precision,batch,m,n,k,bytes,time_us\n", 0);
    for (int k = 1; k <= 5; k++) {
        double bytes = 2.0 * 2 * 8192 * k + 2.0 * 8192 * 8192;
        fprintf(out, "a100-80gb,gemm,bf16,1,8192,8192,%d,,%.17g\n", k,
                1e6 * (bytes / tsim_memory_rate(&truth) + truth.kernel_latency_s));
    }
    for (int i = 0; i < 4; i++) {
        double bytes = 1e6 * pow(10, i);
        fprintf(out, "a100-80gb,copy,,,,,,%.0f,%.17g\n", bytes,
                1e6 * (bytes / tsim_memory_rate(&truth) + truth.kernel_latency_s));
    }
    fclose(out);
    enum tsim_status status = tsim_calibrate_kernels(&arena, file, &c, &diags);
    remove(file);
    ck_assert_int_eq(status, TSIM_OK);
    ck_assert_int_eq(c.rows[0].line, 3);
    ck_assert(!c.values[TSIM_CALIBRATED_MATRIX_SUSTAINED].fitted);
    ck_assert(!c.values[TSIM_CALIBRATED_MATRIX_RAMP].fitted);
    ck_assert_double_eq(c.values[TSIM_CALIBRATED_MATRIX_RAMP].after, c.values[TSIM_CALIBRATED_MATRIX_RAMP].before);
    ck_assert_double_eq_tol(c.values[TSIM_CALIBRATED_MEMORY_SUSTAINED].after, 0.7, 1e-4);
}
END_TEST

static Suite *calibrate_suite(void) {
    Suite *suite = suite_create("calibrate");
    TCase *tests = tcase_create("calibrate");
    tcase_add_checked_fixture(tests, set_up_truth, tear_down);
    tcase_add_test(tests, finds_what_was_put_in);
    tcase_add_test(tests, intervals_hold_the_truth);
    tcase_add_test(tests, leaves_the_rest_alone);
    tcase_add_test(tests, products_that_wait_for_memory);
    suite_add_tcase(suite, tests);
    return suite;
}
TSIM_TEST_MAIN(calibrate_suite)
