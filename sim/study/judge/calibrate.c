#include "study/judge/calibrate.h"

#include "config/catalogue_load.h"
#include "config/scenario.h"
#include "cost/compute.h"
#include "study/judge/least_squares.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 512, N_COLUMNS = 9, LEAST_PRODUCTS = 4, LEAST_COPIES = 3 };
#define LEAST_EFFECT_FRAC 1e-3 /* of a row's time, when a value changes by a tenth */
static const char HEADER[] = "accelerator,op,precision,batch,m,n,k,bytes,time_us";

const char *tsim_calibrated_name(enum tsim_calibrated value) {
    static const char *const NAMES[] = {"matrix_sustained", "matrix_ramp_k", "memory_sustained", "kernel_latency"};
    return NAMES[value];
}

/* ---- the model ---- */

static double *field_of(struct tsim_accelerator *a, enum tsim_precision precision, enum tsim_calibrated value) {
    switch (value) {
    case TSIM_CALIBRATED_MATRIX_SUSTAINED:
        return &a->matrix_sustained_frac[precision];
    case TSIM_CALIBRATED_MATRIX_RAMP:
        return &a->matrix_ramp_k;
    case TSIM_CALIBRATED_MEMORY_SUSTAINED:
        return &a->memory_sustained_frac;
    case TSIM_CALIBRATED_KERNEL_LATENCY:
    case TSIM_N_CALIBRATED:
        break;
    }
    return &a->kernel_latency_s;
}

/* Both inputs in the precision, the result in no fewer than 16 bits. */
static double product_bytes(enum tsim_precision precision, const struct tsim_kernel_row *row) {
    double element_bytes = tsim_operand_bytes(precision);
    return row->batch *
           (element_bytes * (row->m * row->k + row->k * row->n) + fmax(2, element_bytes) * row->m * row->n);
}

static double predict_s(const struct tsim_accelerator *a, enum tsim_precision precision,
                        const struct tsim_kernel_row *row) {
    if (row->is_copy)
        return row->bytes / tsim_memory_rate(a) + a->kernel_latency_s;
    double matrix_s = tsim_gemm_s(a, precision, row->batch, row->m, row->n, row->k);
    return fmax(matrix_s, product_bytes(precision, row) / tsim_memory_rate(a)) + a->kernel_latency_s;
}

/* ---- the fit ---- */

struct fit {
    const struct tsim_calibration *calibration;
    enum tsim_calibrated which[TSIM_N_CALIBRATED];
    size_t n_values;
};

static void relative_errors(const double *values, double *errors, void *context) {
    const struct fit *fit = context;
    struct tsim_accelerator a = *fit->calibration->accelerator;
    for (size_t i = 0; i < fit->n_values; i++)
        *field_of(&a, fit->calibration->precision, fit->which[i]) = values[i];
    for (size_t i = 0; i < fit->calibration->n_rows; i++) {
        const struct tsim_kernel_row *row = &fit->calibration->rows[i];
        errors[i] = predict_s(&a, fit->calibration->precision, row) / row->measured_s - 1.0;
    }
}

static enum tsim_status fit_values(struct fit *fit, struct tsim_calibration *calibration, const char *file,
                                   struct tsim_diags *diags) {
    struct tsim_place place = {.file = file};
    double values[TSIM_N_CALIBRATED], low_95[TSIM_N_CALIBRATED], high_95[TSIM_N_CALIBRATED];
    if (calibration->n_rows < fit->n_values || fit->n_values == 0) {
        tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, place, "", "%zu rows for %zu values: too few to fit",
                         calibration->n_rows, fit->n_values);
        return TSIM_ERR_INFEASIBLE;
    }
    for (size_t i = 0; i < fit->n_values; i++)
        values[i] = calibration->values[fit->which[i]].before;
    struct tsim_least_squares problem = {calibration->n_rows, fit->n_values, relative_errors, fit};
    const char *why = tsim_least_squares_fit(&problem, values, low_95, high_95);
    if (why) {
        tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, place, "", "the fit does not converge: %s", why);
        return TSIM_ERR_INFEASIBLE;
    }
    for (size_t i = 0; i < fit->n_values; i++) {
        struct tsim_calibration_value *value = &calibration->values[fit->which[i]];
        value->after = values[i];
        value->low_95 = low_95[i];
        value->high_95 = high_95[i];
    }
    return TSIM_OK;
}

/* Where the others are as fitted, too: of products that all wait for memory the matrix rate is not told. */
static bool has_effect(const struct tsim_calibration *c, enum tsim_calibrated which) {
    struct tsim_accelerator base = *c->accelerator, changed;
    for (int i = 0; i < TSIM_N_CALIBRATED; i++)
        *field_of(&base, c->precision, (enum tsim_calibrated)i) = c->values[i].after;
    changed = base;
    *field_of(&changed, c->precision, which) *= 0.9;
    for (size_t i = 0; i < c->n_rows; i++) {
        double base_s = predict_s(&base, c->precision, &c->rows[i]);
        if (fabs(predict_s(&changed, c->precision, &c->rows[i]) - base_s) > LEAST_EFFECT_FRAC * base_s)
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
            tells[i] = has_effect(c, fit->which[i]);
        for (size_t i = 0; i < n; i++) {
            struct tsim_calibration_value *value = &c->values[fit->which[i]];
            if (tells[i])
                fit->which[n_kept++] = fit->which[i];
            else
                *value = (struct tsim_calibration_value){
                    .before = value->before, .after = value->before, .low_95 = (double)NAN, .high_95 = (double)NAN};
        }
        fit->n_values = n_kept;
    }
    return TSIM_OK;
}

/* Chooses the values that the rows can tell apart; the rest keeps the catalogue's. */
static void choose_values(struct tsim_calibration *c, struct fit *fit) {
    size_t n_products = 0, n_copies = 0;
    double least_k = HUGE_VAL, most_k = 0, least_bytes = HUGE_VAL, most_bytes = 0;
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct tsim_kernel_row *row = &c->rows[i];
        n_copies += row->is_copy;
        n_products += !row->is_copy;
        if (row->is_copy) {
            least_bytes = fmin(least_bytes, row->bytes);
            most_bytes = fmax(most_bytes, row->bytes);
        } else {
            least_k = fmin(least_k, row->k);
            most_k = fmax(most_k, row->k);
        }
    }
    c->values[TSIM_CALIBRATED_MATRIX_SUSTAINED].fitted = n_products > 0;
    c->values[TSIM_CALIBRATED_MATRIX_RAMP].fitted = n_products >= LEAST_PRODUCTS && most_k > least_k;
    c->values[TSIM_CALIBRATED_MEMORY_SUSTAINED].fitted = n_copies > 0;
    c->values[TSIM_CALIBRATED_KERNEL_LATENCY].fitted = n_copies >= LEAST_COPIES && most_bytes > least_bytes;
    for (int i = 0; i < TSIM_N_CALIBRATED; i++) {
        struct tsim_accelerator a = *c->accelerator;
        struct tsim_calibration_value *value = &c->values[i];
        value->before = value->after = *field_of(&a, c->precision, (enum tsim_calibrated)i);
        value->low_95 = value->high_95 = (double)NAN;
        value->fitted = value->fitted && value->before > 0.0; /* a zero has no logarithm to start from */
        if (value->fitted)
            fit->which[fit->n_values++] = (enum tsim_calibrated)i;
    }
}

static void compare(struct tsim_calibration *c) {
    struct tsim_accelerator after = *c->accelerator;
    for (int i = 0; i < TSIM_N_CALIBRATED; i++)
        *field_of(&after, c->precision, (enum tsim_calibrated)i) = c->values[i].after;
    for (size_t i = 0; i < c->n_rows; i++) {
        struct tsim_kernel_row *row = &c->rows[i];
        row->before_s = predict_s(c->accelerator, c->precision, row);
        row->after_s = predict_s(&after, c->precision, row);
        c->before_frac += fabs(row->before_s / row->measured_s - 1.0) / (double)c->n_rows;
        c->after_frac += fabs(row->after_s / row->measured_s - 1.0) / (double)c->n_rows;
    }
}

/* ---- the file ---- */

struct reading {
    struct tsim_arena *arena;
    const char *file;
    struct tsim_diags *diags;
    struct tsim_kernel_row *rows; /* on the heap */
    size_t n, capacity;
    const char *accelerator, *precision; /* of the first row */
};

__attribute__((format(printf, 3, 4))) static enum tsim_status refuse(const struct reading *reading, int line,
                                                                     const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = tsim_arena_vprintf(reading->arena, format, args);
    va_end(args);
    tsim_diags_error(reading->diags, TSIM_ERR_SCHEMA, (struct tsim_place){.file = reading->file, .line = line}, "",
                     "%s", text);
    return TSIM_ERR_SCHEMA;
}

static enum tsim_status cannot_read(const struct reading *reading) {
    tsim_diags_error(reading->diags, TSIM_ERR_IO, (struct tsim_place){.file = reading->file}, "", "cannot be read: %s",
                     strerror(errno));
    return TSIM_ERR_IO;
}

static bool number(const char *text, double *value) {
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value) && *value > 0.0;
}

static bool take_numbers(char *const *fields, struct tsim_kernel_row *row) {
    double time_us = 0.0;
    bool good = number(fields[8], &time_us);
    row->measured_s = time_us / 1e6;
    if (row->is_copy)
        return good && number(fields[7], &row->bytes);
    return good && number(fields[3], &row->batch) && number(fields[4], &row->m) && number(fields[5], &row->n) &&
           number(fields[6], &row->k);
}

static enum tsim_status take_row(struct reading *reading, char *line, int at) {
    char *fields[N_COLUMNS];
    size_t n = 0;
    for (char *field = line; field; n++) {
        char *comma = strchr(field, ',');
        if (n < N_COLUMNS)
            fields[n] = field;
        if (comma)
            *comma = '\0';
        field = comma ? comma + 1 : NULL;
    }
    if (n != N_COLUMNS)
        return refuse(reading, at, "%zu columns, not the 9 of %s", n, HEADER);
    struct tsim_kernel_row row = {.line = at, .is_copy = strcmp(fields[1], "copy") == 0};
    if (!row.is_copy && strcmp(fields[1], "gemm") != 0)
        return refuse(reading, at, "op is '%s', not gemm or copy", fields[1]);
    if (!take_numbers(fields, &row))
        return refuse(reading, at, "a %s needs %s and time_us, all above 0", fields[1],
                      row.is_copy ? "bytes" : "batch, m, n, k");
    if (!reading->accelerator)
        reading->accelerator = tsim_arena_strdup(reading->arena, fields[0]);
    if (!row.is_copy && !reading->precision)
        reading->precision = tsim_arena_strdup(reading->arena, fields[2]);
    if (strcmp(reading->accelerator, fields[0]) != 0)
        return refuse(reading, at, "'%s' after '%s': one accelerator in a file", fields[0], reading->accelerator);
    if (!row.is_copy && strcmp(reading->precision, fields[2]) != 0)
        return refuse(reading, at, "'%s' after '%s': one precision in a file", fields[2], reading->precision);
    reading->rows = tsim_heap_grow(reading->rows, &reading->capacity, reading->n + 1, sizeof *reading->rows);
    reading->rows[reading->n++] = row;
    return TSIM_OK;
}

/* The rest of a long comment is passed over; no row is as long. */
static bool has_whole_line(const char *line, FILE *stream) {
    int c = '\0';
    if (strlen(line) + 1 < LINE_BYTES || line[LINE_BYTES - 2] == '\n')
        return true;
    while (line[0] == '#' && c != '\n' && c != EOF)
        c = fgetc(stream);
    return line[0] == '#';
}

static enum tsim_status read_lines(struct reading *reading, FILE *stream) {
    char line[LINE_BYTES];
    bool has_header = false;
    for (int at = 1; fgets(line, sizeof line, stream); at++) {
        if (!has_whole_line(line, stream))
            return refuse(reading, at, "a line of more than %d characters", LINE_BYTES - 2);
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0')
            continue;
        if (!has_header && strcmp(line, HEADER) != 0)
            return refuse(reading, at, "the columns are not %s", HEADER);
        if (has_header)
            TSIM_TRY(take_row(reading, line, at));
        has_header = true;
    }
    if (ferror(stream))
        return cannot_read(reading);
    return reading->n > 0 ? TSIM_OK : refuse(reading, 0, "no kernel in it");
}

static enum tsim_status find_precision(const struct reading *reading, const struct tsim_accelerator *a,
                                       enum tsim_precision *precision) {
    if (!reading->precision) { /* copies alone */
        *precision = TSIM_BF16;
        return TSIM_OK;
    }
    for (int i = 0; i < TSIM_N_PRECISIONS; i++) {
        if (strcmp(tsim_precision_name((enum tsim_precision)i), reading->precision) != 0)
            continue;
        *precision = (enum tsim_precision)i;
        return a->peak_flops_per_s[i] > 0 ? TSIM_OK : refuse(reading, 0, "%s has no %s", a->name, reading->precision);
    }
    return refuse(reading, 0, "precision is '%s', not fp32, tf32, fp16, bf16, fp8, mxfp8 or nvfp4", reading->precision);
}

enum tsim_status tsim_calibrate_kernels(struct tsim_arena *arena, const char *file,
                                        struct tsim_calibration *calibration, struct tsim_diags *diags) {
    struct reading reading = {.arena = arena, .file = file, .diags = diags};
    struct tsim_calibration c = {0};
    FILE *stream = fopen(file, "r");
    if (!stream)
        return cannot_read(&reading);
    enum tsim_status status = read_lines(&reading, stream);
    fclose(stream);
    if (status == TSIM_OK) {
        c.rows = TSIM_NEW_ARRAY(arena, reading.n, struct tsim_kernel_row);
        c.n_rows = reading.n;
        memcpy(c.rows, reading.rows, reading.n * sizeof *c.rows);
    }
    tsim_heap_free(reading.rows);
    TSIM_TRY(status);
    TSIM_TRY(tsim_catalogue_load_accelerator(arena, reading.accelerator, &c.accelerator, diags));
    TSIM_TRY(find_precision(&reading, c.accelerator, &c.precision));
    struct fit fit = {.calibration = &c};
    choose_values(&c, &fit);
    TSIM_TRY(fit_what_tells(&fit, &c, file, diags));
    compare(&c);
    *calibration = c;
    return TSIM_OK;
}
