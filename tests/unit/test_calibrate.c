/* Fits to kernels whose times were made with known values must find those values. */
#include "config/catalogue_load.h"
#include "cost/compute.h"
#include "study/judge/calibrate.h"
#include "study/judge/kernel_rows.h"
#include "support/arena_rig.h"

#include <math.h>
#include <string.h>
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

static double true_time_s(const struct tsim_op *op) {
    const struct tsim_software software = {.attention_kernel = TSIM_ATTENTION_CUDNN};
    struct tsim_kernel_cost cost;
    tsim_kernel_cost(&truth, &software, op, &cost);
    return cost.time_s;
}

/* Returns the time of a product of bf16 with the true values; sums in fp32 add to one of so many bytes an element. */
static double product_s(double batch, double m, double n, double k, bool is_grouped, double sum_bytes) {
    const struct tsim_op op = {.kind = TSIM_OP_GEMM,
                               .name = "product",
                               .precision = TSIM_BF16,
                               .batch = batch,
                               .m = m,
                               .n = n,
                               .k = k,
                               .is_grouped = is_grouped,
                               .sum_bytes = batch * sum_bytes * m * n,
                               .bytes = batch * (2 * (m * k + k * n) + fmax(2, sum_bytes) * m * n),
                               .kernels = 1};
    return true_time_s(&op);
}

static double attention_s(double heads, double tokens, double head_dim, bool is_backward) {
    const struct tsim_op op = {.kind = TSIM_OP_FLASH,
                               .name = "attention",
                               .precision = TSIM_BF16,
                               .is_gradient = is_backward,
                               .sequence = tokens,
                               .head_dim = head_dim,
                               .queries = heads * tokens,
                               .pieces = 1,
                               .causal = true,
                               .flops = (is_backward ? 5 : 2) * heads * tokens * tokens * head_dim,
                               .kernels = is_backward ? 2 : 1};
    return true_time_s(&op);
}

/* Calibrates on six cubes of products and, with `has_copies`, four copies; every other time is off by `noise_frac`. */
static enum tsim_status calibrate(bool has_copies, double noise_frac, struct tsim_calibration *calibration) {
    char file[] = "/tmp/tsim-calibrate-XXXXXX";
    FILE *out = fdopen(mkstemp(file), "w");
    fputs("# made up\naccelerator,op,precision,batch,m,n,k,bytes,time_us\n", out);
    for (int i = 0; i < 6; i++) {
        double k = 512 << i, time_s = product_s(1, 8192, 8192, k, false, 0);
        fprintf(out, "a100-80gb,gemm,bf16,1,8192,8192,%.0f,,%.17g\n", k, 1e6 * time_s * (1 + (i % 2 ? noise_frac : 0)));
    }
    for (int i = 0; has_copies && i < 4; i++) {
        double bytes = 1e6 * pow(10, i);
        fprintf(out, "a100-80gb,copy,,,,,,%.0f,%.17g\n", bytes,
                1e6 * (bytes / tsim_memory_rate(&truth) + truth.kernel_latency_s) * (1 + (i % 2 ? noise_frac : 0)));
    }
    fclose(out);
    enum tsim_status status = tsim_calibrate_kernels(&arena, file, NULL, calibration, &diags);
    remove(file);
    return status;
}

TSIM_TEST(finds_what_was_put_in) {
    static const double TRUTH[TSIM_N_CALIBRATED] = {[TSIM_CALIBRATED_MATRIX_SUSTAINED] = 0.63,
                                                    [TSIM_CALIBRATED_MATRIX_RAMP] = 210,
                                                    [TSIM_CALIBRATED_MEMORY_SUSTAINED] = 0.7,
                                                    [TSIM_CALIBRATED_KERNEL_LATENCY] = 5e-6};
    struct tsim_calibration c;
    ck_assert_int_eq(calibrate(true, 0, &c), TSIM_OK);
    ck_assert_uint_eq(c.measured.n, 10);
    ck_assert_uint_eq(c.n_fitted, 10);
    for (int i = 0; i < TSIM_N_CALIBRATED; i++) {
        ck_assert_int_eq(c.values[i].fitted, TRUTH[i] > 0);
        if (TRUTH[i] > 0)
            ck_assert_double_eq_tol(c.values[i].after / TRUTH[i], 1, 1e-4);
    }
    ck_assert_double_gt(c.before_frac, 0.1);
    ck_assert_double_lt(c.after_frac, 1e-5);
}

/* With times off by up to 2 % the intervals hold the truth, and are not empty. */
TSIM_TEST(intervals_hold_the_truth) {
    struct tsim_calibration c;
    ck_assert_int_eq(calibrate(true, 0.02, &c), TSIM_OK);
    const struct tsim_calibration_value *sustained = &c.values[TSIM_CALIBRATED_MATRIX_SUSTAINED];
    ck_assert_double_lt(sustained->low_95, sustained->after);
    ck_assert_double_gt(sustained->high_95, sustained->after);
    ck_assert_double_le(sustained->low_95, 0.63);
    ck_assert_double_ge(sustained->high_95, 0.63);
    ck_assert_double_lt(sustained->high_95 / sustained->low_95, 1.1);
}

/* Products alone say nothing of memory and latency: those stay the catalogue's. */
TSIM_TEST(leaves_the_rest_alone) {
    struct tsim_calibration c;
    ck_assert_int_eq(calibrate(false, 0, &c), TSIM_OK);
    ck_assert(c.values[TSIM_CALIBRATED_MATRIX_RAMP].fitted);
    ck_assert(!c.values[TSIM_CALIBRATED_MEMORY_SUSTAINED].fitted);
    ck_assert(!c.values[TSIM_CALIBRATED_KERNEL_LATENCY].fitted);
    ck_assert_double_eq(c.values[TSIM_CALIBRATED_MEMORY_SUSTAINED].after,
                        c.measured.accelerator->memory_sustained_frac);
}

/* Products that all wait for memory, whose time is that of their bytes: the matrix units' values are not told. The
 * comment is longer than any row. */
TSIM_TEST(products_that_wait_for_memory) {
    char file[] = "/tmp/tsim-calibrate-XXXXXX";
    FILE *out = fdopen(mkstemp(file), "w");
    struct tsim_calibration c;
    fprintf(out, "# %01000d\naccelerator,op,precision,batch,m,n,k,bytes,time_us,sum\n", 0);
    for (int i = 1; i <= 5; i++) {
        double k = i % 2 ? 8 : 16, n = 8192 * i, bytes = 2 * (8192 * k + n * k) + 8 * 8192 * n;
        fprintf(out, "a100-80gb,gemm,bf16,1,8192,%.0f,%.0f,,%.17g,fp32\n", n, k,
                1e6 * (bytes / tsim_memory_rate(&truth) + truth.kernel_latency_s));
    }
    for (int i = 0; i < 4; i++) {
        double bytes = 1e6 * pow(10, i);
        fprintf(out, "a100-80gb,copy,,,,,,%.0f,%.17g,\n", bytes,
                1e6 * (bytes / tsim_memory_rate(&truth) + truth.kernel_latency_s));
    }
    fclose(out);
    enum tsim_status status = tsim_calibrate_kernels(&arena, file, NULL, &c, &diags);
    remove(file);
    ck_assert_int_eq(status, TSIM_OK);
    ck_assert_int_eq(c.measured.items[0].line, 3);
    ck_assert(!c.values[TSIM_CALIBRATED_MATRIX_SUSTAINED].fitted);
    ck_assert(!c.values[TSIM_CALIBRATED_MATRIX_RAMP].fitted);
    ck_assert_double_eq(c.values[TSIM_CALIBRATED_MATRIX_RAMP].after, c.values[TSIM_CALIBRATED_MATRIX_RAMP].before);
    ck_assert_double_eq_tol(c.values[TSIM_CALIBRATED_MEMORY_SUSTAINED].after, 0.7, 1e-4);
}

static void write_row(FILE *out, const char *shape, double time_s, const char *rest, double load_s) {
    fprintf(out, "%s,,%.17g,%s,%.17g\n", shape, 1e6 * time_s, rest, load_s / time_s);
}

/* Products under load for 0.2 to 10 s, faster the shorter; with sums in fp32 and without; grouped ones, of which small
 * ones wait for 20 us of launches each; attention with heads of 128 and of 160. Kernels that ran for 10 ms are left
 * out. */
TSIM_TEST(finds_classes_of_shapes) {
    static const double LOADS[] = {0.2, 0.5, 1, 2, 5, 10, 20};
    char file[] = "/tmp/tsim-calibrate-XXXXXX", shape[96];
    FILE *out = fdopen(mkstemp(file), "w");
    const double warming = 0.03, launch_s = 20e-6;
    truth.memory_sustained_frac = 0.775; /* the catalogue's: no copies tell */
    truth.kernel_latency_s = 3e-6;
    truth.accumulation_exposed_frac = 0.4;
    truth.grouped_products_frac = 0.85;
    truth.attention_frac[TSIM_FLASH_CUDNN] = 0.5;
    truth.wide_heads_frac = 0.7;
    fputs("accelerator,op,precision,batch,m,n,k,bytes,time_us,direction,sum,kernel,causal,repeats\n", out);
    for (size_t i = 0; i < sizeof LOADS / sizeof LOADS[0]; i++) {
        const double k = 1024 + 1024 * (double)i, sustained = truth.matrix_sustained_frac[TSIM_BF16],
                     attention = truth.attention_frac[TSIM_FLASH_CUDNN], faster = pow(10 / fmin(LOADS[i], 10), warming);
        truth.matrix_sustained_frac[TSIM_BF16] *= faster;
        truth.attention_frac[TSIM_FLASH_CUDNN] *= faster;
        snprintf(shape, sizeof shape, "a100-80gb,gemm,bf16,1,8192,8192,%.0f", k);
        write_row(out, shape, product_s(1, 8192, 8192, k, false, 0), "input_gradient,,,", LOADS[i]);
        write_row(out, shape, product_s(1, 8192, 8192, k, false, 8), "weight_gradient,fp32,,", LOADS[i]);
        snprintf(shape, sizeof shape, "a100-80gb,attention,bf16,64,%.0f,%.0f,128", 4 * k, 4 * k);
        write_row(out, shape, attention_s(64, 4 * k, 128, true), "backward,,cudnn,yes", LOADS[i]);
        snprintf(shape, sizeof shape, "a100-80gb,attention,bf16,64,%.0f,%.0f,160", 4 * k, 4 * k);
        write_row(out, shape, attention_s(64, 4 * k, 160, false), ",,cudnn,yes", LOADS[i]);
        truth.matrix_sustained_frac[TSIM_BF16] = sustained;
        truth.attention_frac[TSIM_FLASH_CUDNN] = attention;
        double rows = i % 2 ? 64 : 2048;
        snprintf(shape, sizeof shape, "a100-80gb,grouped,bf16,16,%.0f,2048,%.0f", rows, i % 2 ? 512 : k);
        write_row(out, shape, fmax(product_s(16, rows, 2048, i % 2 ? 512 : k, true, 0), 16 * launch_s), "forward,,,",
                  0.01);
    }
    write_row(out, "a100-80gb,gemm,bf16,1,4096,4096,4096", 1, "forward,,,", 0.01);
    fclose(out);
    struct tsim_calibration c;
    enum tsim_status status = tsim_calibrate_kernels(&arena, file, NULL, &c, &diags);
    remove(file);
    ck_assert_int_eq(status, TSIM_OK);
    ck_assert_uint_eq(c.n_fitted, c.measured.n - 1);
    ck_assert_double_lt(c.after_frac, 1e-5);
    const double TRUTH[] = {[TSIM_CALIBRATED_MATRIX_SUSTAINED] = 0.63, [TSIM_CALIBRATED_MATRIX_RAMP] = 210,
                            [TSIM_CALIBRATED_ACCUMULATION] = 0.4,      [TSIM_CALIBRATED_GROUPED] = 0.85,
                            [TSIM_CALIBRATED_ATTENTION] = 0.5,         [TSIM_CALIBRATED_WIDE_HEADS] = 0.7,
                            [TSIM_CALIBRATED_WARMING] = warming,       [TSIM_CALIBRATED_GROUPED_LAUNCH] = launch_s};
    for (int i = 0; i < TSIM_N_CALIBRATED; i++)
        if (i != TSIM_CALIBRATED_MEMORY_SUSTAINED && i != TSIM_CALIBRATED_KERNEL_LATENCY) {
            ck_assert(c.values[i].fitted);
            ck_assert_double_eq_tol(c.values[i].after / TRUTH[i], 1, 1e-3);
        }
}

/* Each wrong row is refused at its column. */
TSIM_TEST(refuses_wrong_rows) {
    static const struct {
        const char *row;
        int column;
        const char *says;
    } CASES[] = {{"a100-80gb,gem,bf16,1,128,128,128,,5,,,,,", 11, "op is 'gem'"},
                 {"a100-80gb,gemm,bf16,1,128,128,0,,5,,,,,", 31, "k is '0'"},
                 {"a100-80gb,gemm,bf15,1,128,128,64,,5,,,,,", 16, "precision is 'bf15'"},
                 {"a100-80gb,gemm,bf16,1,128,128,64,7,5,,,,,", 34, "bytes is '7', but has no meaning"},
                 {"a100-80gb,gemm,bf16,1,128,128,64,,5,backward,,,,", 37, "of a gemm it is input_gradient"},
                 {"a100-80gb,gemm,bf16,1,128,128,64,,5,,fp33,,,", 38, "sum is 'fp33'"},
                 {"a100-80gb,gemm,bf16,1,128,128,64,,5,,,,,often", 41, "repeats is 'often'"},
                 {"a100-80gb,attention,bf16,8,128,128,64,,5,,,flash9,yes,", 44, "kernel is 'flash9'"},
                 {"a100-80gb,attention,bf16,8,128,128,64,,5,,,cudnn,maybe,", 50, "causal is 'maybe'"},
                 {"a100-80gb,attention,bf16,8,128,128,64,,5,input_gradient,,cudnn,yes,", 42, "of attention"},
                 {"a100-80gb,copy,,,,,,,5,,,,,", 21, "bytes is ''"},
                 {"a100-80gb,copy,,,,,,9,5,,,cudnn,,", 27, "kernel is 'cudnn', but has no meaning"},
                 {"a100-80gb,copy,,,,,,9,5", 1, "9 columns, not the 14"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char file[] = "/tmp/tsim-calibrate-XXXXXX";
        FILE *out = fdopen(mkstemp(file), "w");
        struct tsim_calibration c;
        fprintf(out, "accelerator,op,precision,batch,m,n,k,bytes,time_us,direction,sum,kernel,causal,repeats\n%s\n",
                CASES[i].row);
        fclose(out);
        tsim_diags_release(&diags);
        tsim_diags_init(&diags);
        ck_assert_int_eq(tsim_calibrate_kernels(&arena, file, NULL, &c, &diags), TSIM_ERR_SCHEMA);
        remove(file);
        ck_assert_uint_eq(diags.n_items, 1);
        ck_assert_int_eq(diags.items[0].at.line, 2);
        ck_assert_msg(diags.items[0].at.column == CASES[i].column, "%s: column %d", CASES[i].row,
                      diags.items[0].at.column);
        ck_assert_msg(strstr(diags.items[0].message, CASES[i].says) != NULL, "%s: %s", CASES[i].row,
                      diags.items[0].message);
    }
    tsim_diags_release(&diags);
    tsim_diags_init(&diags);
}

/* Shares of 2,250 TFLOP/s, as SimuMax writes them: time = FLOPs / share / peak. */
static enum tsim_status read_shares(const char *lines, const char *accelerator, struct tsim_kernel_rows *rows) {
    char file[] = "/tmp/tsim-b200-XXXXXX";
    FILE *out = fdopen(mkstemp(file), "w");
    fputs("op,shape,share_of_2250_tflops,source\n", out);
    fputs(lines, out);
    fclose(out);
    tsim_diags_release(&diags);
    tsim_diags_init(&diags);
    enum tsim_status status = tsim_kernel_rows_read(&arena, file, accelerator, rows, &diags);
    remove(file);
    return status;
}

TSIM_TEST(shares_of_a_peak) {
    static const char LINES[] =
        "matmul,\"b=2, m=128, k=256, n=512, layout=TN, accumulate=False, out_dtype=bf16\",0.5,here\n"
        "matmul,\"b=1, m=128, k=256, n=512, layout=NT, accumulate=True, out_dtype=fp32\",0.5,here\n"
        "group_matmul,\"ng=8, M=100, N=300, K=200, stage=bwd_grad_act, accumulate=False\",0.25,here\n"
        "group_matmul,\"ng=8, M=100, N=300, K=200, main_grad_dtype=fp32, stage=bwd_grad_w, "
        "accumulate=True\",0.25,here\n"
        "sdp_bwd,\"batch=2, seq_len=1024, head_num=16, qk_head_dim=192, v_head_dim=128, "
        "qkv_contiguous=True\",0.8,here\n"
        "sdp_fwd,\"batch=2, seq_len=1024, head_num=16, qk_head_dim=192, v_head_dim=128, "
        "qkv_contiguous=False\",0.8,here\n";
    static const struct {
        double batch, m, n, k, flops, share;
        bool is_gradient;
    } ROWS[] = {{2, 128, 512, 256, 2.0 * 2 * 128 * 512 * 256, 0.5, false},
                {1, 128, 512, 256, 2.0 * 128 * 512 * 256, 0.5, true},
                {8, 100, 200, 300, 2.0 * 8 * 100 * 200 * 300, 0.25, true},
                {8, 300, 200, 100, 2.0 * 8 * 100 * 200 * 300, 0.25, true},
                {32, 1024, 1024, 160, 2.0 * 5 * 32 * 1024 * 1024 * 160, 0.8, true}};
    struct tsim_kernel_rows rows;
    ck_assert_int_eq(read_shares(LINES, NULL, &rows), TSIM_OK);
    ck_assert_str_eq(rows.accelerator->name, "b200"); /* of its peak, and in the file's name; b300 has the peak too */
    ck_assert_int_eq(rows.kernel, TSIM_ATTENTION_CUDNN);
    ck_assert_uint_eq(rows.n, 5);
    for (size_t i = 0; i < rows.n; i++) {
        const struct tsim_op *op = &rows.items[i].op;
        ck_assert_double_eq(op->batch, ROWS[i].batch);
        ck_assert_double_eq(op->m, ROWS[i].m);
        ck_assert_double_eq(op->n, ROWS[i].n);
        ck_assert_double_eq(op->k, ROWS[i].k);
        ck_assert_int_eq(op->is_gradient, ROWS[i].is_gradient);
        ck_assert_double_eq_tol(rows.items[i].measured_s * ROWS[i].share * 2250e12 / ROWS[i].flops, 1, 1e-6);
    }
    ck_assert_double_eq(rows.items[1].op.sum_bytes, 2 * 4 * 128 * 512);
    ck_assert_double_eq(rows.items[3].op.sum_bytes, 8 * 2 * 4 * 300 * 200);
    ck_assert_double_eq_tol(rows.items[0].load_s, 100 * rows.items[0].measured_s, 1e-12);
    ck_assert_int_eq(read_shares(LINES, "b300", &rows), TSIM_OK);
    ck_assert_str_eq(rows.accelerator->name, "b300");
}

TSIM_TEST(shares_that_are_wrong) {
    static const struct {
        const char *line, *says;
    } CASES[] = {{"matmul,\"b=1, m=1, k=1, n=1, layout=TT\",0.5,x", "layout"},
                 {"matmul,\"b=1, m=1, n=1, layout=TN, accumulate=False\",0.5,x", "has no k"},
                 {"matmul,\"b=1, m=1, k=0, n=1, layout=TN, accumulate=False\",0.5,x", "has no k"},
                 {"matmul,\"b=1, m=1, k=1, n=1, layout=TN, accumulate=False\",much,x", "share"},
                 {"matmul,b=1,0.5,x", "shape"},
                 {"group_matmul,\"ng=1, M=1, N=1, K=1, stage=up, accumulate=False\",0.5,x", "stage"},
                 {"fp8_matmul,\"b=1\",0.5,x", "fp8_matmul"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct tsim_kernel_rows rows;
        ck_assert_int_eq(read_shares(CASES[i].line, NULL, &rows), TSIM_ERR_SCHEMA);
        ck_assert_int_eq(diags.items[0].at.line, 2);
        ck_assert_msg(strstr(diags.items[0].message, CASES[i].says) != NULL, "%s: %s", CASES[i].line,
                      diags.items[0].message);
    }
    tsim_diags_release(&diags);
    tsim_diags_init(&diags);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up_truth, tear_down)
