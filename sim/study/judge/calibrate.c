#include "study/judge/calibrate.h"

#include "cost/compute.h"
#include "study/judge/least_squares.h"

#include <math.h>
#include <string.h>

enum { LEAST_PRODUCTS = 4, LEAST_COPIES = 3, LEAST_OF_A_CLASS = 2, SEARCHES = 4 };
#define LEAST_EFFECT_FRAC 1e-3 /* a value that changes by a tenth must change a row's time by so much */
#define LEAST_LOAD_S 0.1       /* less is over before the power limit acts */
#define WARM_LOAD_S 10.0       /* after which the chip does not get warmer */
#define LEAST_LOAD_RATIO 10.0
#define WIDE_HEAD 128.0

/* The fit begins here for values that the catalogue's accelerator does not have. */
#define START_ACCUMULATION 0.3
#define START_GROUPED 0.9
#define START_ATTENTION 0.4
#define START_WIDE_HEADS 0.9
#define START_WARMING 0.02
#define START_GROUPED_LAUNCH_S 5e-6

const char *tsim_calibrated_name(enum tsim_calibrated value) {
    static const char *const NAMES[] = {"matrix_sustained", "matrix_ramp_k", "accumulation_exposed", "grouped_products",
                                        "attention",        "wide_heads",    "memory_sustained",     "kernel_latency",
                                        "warming",          "grouped_launch"};
    return NAMES[value];
}

bool tsim_calibrated_is_written(enum tsim_calibrated value) {
    return value != TSIM_CALIBRATED_WARMING && value != TSIM_CALIBRATED_GROUPED_LAUNCH;
}

/* ---- the model ---- */

static double *field_of(struct tsim_accelerator *a, const struct tsim_kernel_rows *rows, enum tsim_calibrated value) {
    switch (value) {
    case TSIM_CALIBRATED_MATRIX_SUSTAINED:
        return &a->matrix_sustained_frac[rows->precision];
    case TSIM_CALIBRATED_MATRIX_RAMP:
        return &a->matrix_ramp_k;
    case TSIM_CALIBRATED_ACCUMULATION:
        return &a->accumulation_exposed_frac;
    case TSIM_CALIBRATED_GROUPED:
        return &a->grouped_products_frac;
    case TSIM_CALIBRATED_ATTENTION:
        return &a->attention_frac[rows->flash];
    case TSIM_CALIBRATED_WIDE_HEADS:
        return &a->wide_heads_frac;
    case TSIM_CALIBRATED_MEMORY_SUSTAINED:
        return &a->memory_sustained_frac;
    case TSIM_CALIBRATED_KERNEL_LATENCY:
        return &a->kernel_latency_s;
    case TSIM_CALIBRATED_WARMING:
    case TSIM_CALIBRATED_GROUPED_LAUNCH:
    case TSIM_N_CALIBRATED:
        break;
    }
    return NULL;
}

/* Shares are no more than the whole. */
static bool is_share(int value) {
    return value == TSIM_CALIBRATED_ACCUMULATION || value == TSIM_CALIBRATED_GROUPED ||
           value == TSIM_CALIBRATED_WIDE_HEADS;
}

/* Returns the catalogue's accelerator with other values. */
static struct tsim_accelerator with_values(const struct tsim_kernel_rows *rows, const double *values) {
    struct tsim_accelerator a = *rows->accelerator;
    for (int i = 0; i < TSIM_N_CALIBRATED; i++) {
        double *field = field_of(&a, rows, (enum tsim_calibrated)i);
        if (field)
            *field = is_share(i) ? fmin(values[i], 1) : values[i];
    }
    return a;
}

static bool is_product(const struct tsim_kernel_row *row) {
    return row->op.kind == TSIM_OP_GEMM && !row->op.is_grouped;
}

static bool is_memory(const struct tsim_kernel_row *row) {
    return row->op.kind == TSIM_OP_ELEMENTWISE;
}

static bool warms_up(const struct tsim_kernel_row *row) {
    return row->load_s > 0 && (is_product(row) || row->op.kind == TSIM_OP_FLASH);
}

static double predict_s(const struct tsim_kernel_rows *rows, const double *values, const struct tsim_kernel_row *row) {
    struct tsim_accelerator a = with_values(rows, values);
    const struct tsim_software software = {.attention_kernel = rows->kernel};
    struct tsim_kernel_cost cost;
    if (warms_up(row)) {
        double faster = pow(WARM_LOAD_S / fmin(row->load_s, WARM_LOAD_S), values[TSIM_CALIBRATED_WARMING]);
        a.matrix_sustained_frac[rows->precision] *= faster;
        a.attention_frac[rows->flash] *= faster;
    }
    tsim_kernel_cost(&a, &software, &row->op, &cost);
    return row->op.is_grouped ? fmax(cost.time_s, row->op.batch * values[TSIM_CALIBRATED_GROUPED_LAUNCH]) : cost.time_s;
}

/* ---- the fit ---- */

struct fit {
    const struct tsim_calibration *calibration;
    double values[TSIM_N_CALIBRATED]; /* those that are not fitted, too */
    enum tsim_calibrated which[TSIM_N_CALIBRATED];
    size_t n_values;
};

static void relative_errors(const double *values, double *errors, void *context) {
    const struct fit *fit = context;
    const struct tsim_calibration *c = fit->calibration;
    double all[TSIM_N_CALIBRATED];
    memcpy(all, fit->values, sizeof all);
    for (size_t i = 0; i < fit->n_values; i++)
        all[fit->which[i]] = values[i];
    for (size_t i = 0; i < c->measured.n; i++)
        if (c->rows[i].is_fitted) {
            const struct tsim_kernel_row *row = c->rows[i].measured;
            *errors++ = predict_s(&c->measured, all, row) / row->measured_s - 1.0;
        }
}

static enum tsim_status fit_values(struct fit *fit, struct tsim_calibration *c, const char *file,
                                   struct tsim_diags *diags) {
    struct tsim_place place = {.file = file};
    double values[TSIM_N_CALIBRATED], low_95[TSIM_N_CALIBRATED], high_95[TSIM_N_CALIBRATED];
    if (c->n_fitted < fit->n_values || fit->n_values == 0) {
        tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, place, "", "%zu rows for %zu values: too few to fit%s",
                         c->n_fitted, fit->n_values,
                         c->n_fitted < c->measured.n ? "; those under load for less than 0.1 s are not fitted" : "");
        return TSIM_ERR_INFEASIBLE;
    }
    for (size_t i = 0; i < fit->n_values; i++)
        values[i] = fit->values[fit->which[i]];
    struct tsim_least_squares problem = {c->n_fitted, fit->n_values, relative_errors, fit};
    const char *why = tsim_least_squares_fit(&problem, values, low_95, high_95);
    /* Waves of tiles make steps in the times, so one search ends too early; the next one goes on from its end. */
    for (int i = 1; i < SEARCHES && !why; i++)
        why = tsim_least_squares_fit(&problem, values, low_95, high_95);
    if (why) {
        tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, place, "", "the fit does not converge: %s", why);
        return TSIM_ERR_INFEASIBLE;
    }
    for (size_t i = 0; i < fit->n_values; i++) {
        struct tsim_calibration_value *value = &c->values[fit->which[i]];
        value->after = fit->values[fit->which[i]] = values[i];
        value->low_95 = low_95[i];
        value->high_95 = high_95[i];
    }
    return TSIM_OK;
}

/* Tells whether a value has an effect while the others are as fitted: products that all wait for memory do not tell the
 * matrix rate. */
static bool has_effect(const struct fit *fit, enum tsim_calibrated which) {
    const struct tsim_calibration *c = fit->calibration;
    double changed[TSIM_N_CALIBRATED];
    memcpy(changed, fit->values, sizeof changed);
    changed[which] *= 0.9;
    for (size_t i = 0; i < c->measured.n; i++) {
        if (!c->rows[i].is_fitted)
            continue;
        double base_s = predict_s(&c->measured, fit->values, c->rows[i].measured);
        if (fabs(predict_s(&c->measured, changed, c->rows[i].measured) - base_s) > LEAST_EFFECT_FRAC * base_s)
            return true;
    }
    return false;
}

/* Values that turn out to change nothing keep the catalogue's, and the others are fitted again without them. */
static enum tsim_status fit_what_tells(struct fit *fit, struct tsim_calibration *c, const char *file,
                                       struct tsim_diags *diags) {
    for (size_t n = SIZE_MAX; n != fit->n_values;) {
        TSIM_TRY(fit_values(fit, c, file, diags));
        size_t n_kept = 0;
        bool tells[TSIM_N_CALIBRATED];
        n = fit->n_values;
        for (size_t i = 0; i < n; i++)
            tells[i] = has_effect(fit, fit->which[i]);
        for (size_t i = 0; i < n; i++) {
            struct tsim_calibration_value *value = &c->values[fit->which[i]];
            if (tells[i]) {
                fit->which[n_kept++] = fit->which[i];
                continue;
            }
            *value = (struct tsim_calibration_value){
                .before = value->before, .after = value->before, .low_95 = (double)NAN, .high_95 = (double)NAN};
            fit->values[fit->which[i]] = value->before;
        }
        fit->n_values = n_kept;
    }
    return TSIM_OK;
}

/* ---- what the rows can tell apart ---- */

struct range {
    size_t n;
    double least, most;
};

static void widen(struct range *range, double value) {
    range->least = range->n == 0 ? value : fmin(range->least, value);
    range->most = range->n == 0 ? value : fmax(range->most, value);
    range->n++;
}

/* Products and attention that were over before the power limit acts; grouped ones draw less than it. */
static bool was_cool(const struct tsim_kernel_row *row) {
    return warms_up(row) && row->load_s < LEAST_LOAD_S;
}

static void choose_rows(struct tsim_calibration *c) {
    for (size_t i = 0; i < c->measured.n; i++) {
        c->rows[i] = (struct tsim_calibrated_row){.measured = &c->measured.items[i],
                                                  .is_fitted = !was_cool(&c->measured.items[i])};
        c->n_fitted += c->rows[i].is_fitted;
    }
}

/* Chooses the values that the rows can tell apart; the rest keeps the catalogue's. */
static void choose_values(struct tsim_calibration *c, struct fit *fit) {
    struct range depths = {0}, copies = {0}, loads = {0};
    size_t n_sums = 0, n_grouped = 0, n_attention = 0, n_wide = 0;
    for (size_t i = 0; i < c->measured.n; i++) {
        const struct tsim_kernel_row *row = c->rows[i].measured;
        if (!c->rows[i].is_fitted)
            continue;
        if (is_product(row))
            widen(&depths, row->op.k);
        if (is_product(row) && row->load_s > 0)
            widen(&loads, fmin(row->load_s, WARM_LOAD_S));
        if (is_memory(row))
            widen(&copies, row->op.bytes);
        n_sums += is_product(row) && row->op.sum_bytes > 0;
        n_grouped += row->op.is_grouped;
        n_attention += row->op.kind == TSIM_OP_FLASH && row->op.head_dim <= WIDE_HEAD;
        n_wide += row->op.kind == TSIM_OP_FLASH && row->op.head_dim > WIDE_HEAD;
    }
    const bool is_told[TSIM_N_CALIBRATED] = {
        [TSIM_CALIBRATED_MATRIX_SUSTAINED] = depths.n > 0,
        [TSIM_CALIBRATED_MATRIX_RAMP] = depths.n >= LEAST_PRODUCTS && depths.most > depths.least,
        [TSIM_CALIBRATED_ACCUMULATION] = n_sums >= LEAST_OF_A_CLASS && depths.n >= n_sums + LEAST_OF_A_CLASS,
        [TSIM_CALIBRATED_GROUPED] = n_grouped >= LEAST_OF_A_CLASS && depths.n > 0,
        [TSIM_CALIBRATED_ATTENTION] = n_attention > 0,
        [TSIM_CALIBRATED_WIDE_HEADS] = n_wide > 0 && n_attention > 0 && c->measured.kernel == TSIM_ATTENTION_CUDNN,
        [TSIM_CALIBRATED_MEMORY_SUSTAINED] = copies.n > 0,
        [TSIM_CALIBRATED_KERNEL_LATENCY] = copies.n >= LEAST_COPIES && copies.most > copies.least,
        [TSIM_CALIBRATED_WARMING] = loads.n >= LEAST_PRODUCTS && loads.most >= LEAST_LOAD_RATIO * loads.least,
        [TSIM_CALIBRATED_GROUPED_LAUNCH] = n_grouped >= LEAST_OF_A_CLASS,
    };
    static const double STARTS[TSIM_N_CALIBRATED] = {
        [TSIM_CALIBRATED_ACCUMULATION] = START_ACCUMULATION, [TSIM_CALIBRATED_GROUPED] = START_GROUPED,
        [TSIM_CALIBRATED_ATTENTION] = START_ATTENTION,       [TSIM_CALIBRATED_WIDE_HEADS] = START_WIDE_HEADS,
        [TSIM_CALIBRATED_WARMING] = START_WARMING,           [TSIM_CALIBRATED_GROUPED_LAUNCH] = START_GROUPED_LAUNCH_S};
    for (int i = 0; i < TSIM_N_CALIBRATED; i++) {
        struct tsim_accelerator a = *c->measured.accelerator;
        struct tsim_calibration_value *value = &c->values[i];
        const double *field = field_of(&a, &c->measured, (enum tsim_calibrated)i);
        value->before = value->after = field ? *field : 0;
        value->low_95 = value->high_95 = (double)NAN;
        fit->values[i] = value->before > 0 ? value->before : is_told[i] ? STARTS[i] : 0;
        value->fitted = is_told[i] && fit->values[i] > 0.0; /* a zero has no logarithm to start from */
        if (value->fitted)
            fit->which[fit->n_values++] = (enum tsim_calibrated)i;
    }
}

/* ---- what came of it ---- */

static struct tsim_calibrated_class *class_of(struct tsim_calibration *c, const struct tsim_calibrated_row *row) {
    for (size_t i = 0; i < c->n_classes; i++)
        if (c->classes[i].is_fitted == row->is_fitted && strcmp(c->classes[i].kind, row->measured->kind) == 0)
            return &c->classes[i];
    c->classes[c->n_classes] = (struct tsim_calibrated_class){.kind = row->measured->kind, .is_fitted = row->is_fitted};
    return &c->classes[c->n_classes++];
}

static double mean(double sum, size_t n) {
    return n > 0 ? sum / (double)n : (double)NAN;
}

static void average_clocks(struct tsim_calibration *c, struct tsim_calibrated_class *class) {
    double clock_hz = 0, power_w = 0;
    size_t n_clocks = 0, n_powers = 0;
    for (size_t i = 0; i < c->measured.n; i++) {
        const struct tsim_kernel_row *row = c->rows[i].measured;
        if (class_of(c, &c->rows[i]) != class)
            continue;
        clock_hz += row->clock_hz;
        power_w += row->power_w;
        n_clocks += row->clock_hz > 0;
        n_powers += row->power_w > 0;
    }
    class->clock_hz = mean(clock_hz, n_clocks);
    class->power_w = mean(power_w, n_powers);
}

static void compare(struct tsim_calibration *c, const struct fit *fit) {
    double before[TSIM_N_CALIBRATED];
    for (int i = 0; i < TSIM_N_CALIBRATED; i++)
        before[i] = c->values[i].before;
    for (size_t i = 0; i < c->measured.n; i++) {
        struct tsim_calibrated_row *row = &c->rows[i];
        struct tsim_calibrated_class *class = class_of(c, row);
        double measured_s = row->measured->measured_s;
        row->before_s = predict_s(&c->measured, before, row->measured);
        row->after_s = predict_s(&c->measured, fit->values, row->measured);
        class->n++;
        class->before_frac += fabs(row->before_s / measured_s - 1.0);
        class->after_frac += fabs(row->after_s / measured_s - 1.0);
        class->bias_frac += row->after_s / measured_s - 1.0;
    }
    for (size_t i = 0; i < c->n_classes; i++) {
        struct tsim_calibrated_class *class = &c->classes[i];
        if (class->is_fitted) {
            c->before_frac += class->before_frac / (double)c->n_fitted;
            c->after_frac += class->after_frac / (double)c->n_fitted;
        }
        class->before_frac /= (double)class->n;
        class->after_frac /= (double)class->n;
        class->bias_frac /= (double)class->n;
        average_clocks(c, class);
    }
}

enum tsim_status tsim_calibrate_kernels(struct tsim_arena *arena, const char *file, const char *accelerator,
                                        struct tsim_calibration *calibration, struct tsim_diags *diags) {
    struct tsim_calibration c = {.n_fitted = 0};
    TSIM_TRY(tsim_kernel_rows_read(arena, file, accelerator, &c.measured, diags));
    c.rows = TSIM_NEW_ARRAY(arena, c.measured.n, struct tsim_calibrated_row);
    c.classes = TSIM_NEW_ARRAY(arena, c.measured.n, struct tsim_calibrated_class);
    choose_rows(&c);
    struct fit fit = {.calibration = &c};
    choose_values(&c, &fit);
    TSIM_TRY(fit_what_tells(&fit, &c, file, diags));
    for (int i = 0; i < TSIM_N_CALIBRATED; i++) {
        struct tsim_calibration_value *value = &c.values[i];
        if (!is_share(i))
            continue;
        value->after = fmin(value->after, 1);
        value->low_95 = isnan(value->low_95) ? value->low_95 : fmin(value->low_95, 1);
        value->high_95 = isnan(value->high_95) ? value->high_95 : fmin(value->high_95, 1);
    }
    compare(&c, &fit);
    *calibration = c;
    return TSIM_OK;
}
