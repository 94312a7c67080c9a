#include "study/judge/uncertainty.h"

#include "config/catalogue_load.h"
#include "results/measured.h"
#include "study/judge/forecast.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_NEIGHBOURS = 20, LINE_BYTES = 1024 };
static const double QUANTILE = 0.05;        /* cut off on each side */
static const double LEAST_LOG_RATIO = 0.02; /* to each side */
static const double GROWTH = 0.02;          /* to each side, log ratio for each unit of distance beyond similar */

/* ---- likeness ---- */

static const char *model_word(const struct tsim_model *model) {
    switch (model->kind) {
    case TSIM_MODEL_CNN:
        return "cnn";
    case TSIM_MODEL_DLRM:
        return "dlrm";
    case TSIM_MODEL_MLP:
        return "mlp";
    case TSIM_MODEL_TRANSFORMER:
        break;
    }
    return model->experts.count > 0 ? "experts" : "dense";
}

/* Is the matrix rate that the products run at among the estimates that the scenario leans on? */
static bool leans_on_rate(const struct tsim_scenario *s) {
    const char *precision = tsim_precision_name(s->training.precision);
    for (size_t i = 0; i < s->n_estimates; i++) {
        const char *key = strstr(s->estimates[i], " efficiency.matrix_sustained.");
        if (key && strcmp(strrchr(key, '.') + 1, precision) == 0)
            return true;
    }
    return false;
}

void tsim_traits_of(const struct tsim_result *result, struct tsim_traits *traits) {
    const struct tsim_scenario *s = result->scenario;
    const struct tsim_accelerator *accelerator = s->cluster.node->accelerator;
    double peak_flops_per_s = fmax(accelerator->peak_flops_per_s[TSIM_FP16], accelerator->peak_flops_per_s[TSIM_BF16]);
    *traits = (struct tsim_traits){
        .accelerator = accelerator->name,
        .vendor = accelerator->vendor ? accelerator->vendor : "",
        .software = s->software->name,
        .precision = s->training.precision,
        .model = model_word(s->model),
        .shards_parameters = s->parallelism.zero == 3,
        .estimates_rate = leans_on_rate(s),
        .peak_flops_per_s = fmax(peak_flops_per_s, accelerator->peak_flops_per_s[TSIM_FP32]),
        .n_accelerators = (double)s->n_accelerators,
        .tensor = (double)s->parallelism.tensor,
        .pipeline = (double)s->parallelism.pipeline,
        .micro_batch = (double)s->training.micro_batch_size,
        .parameters = result->step.parameters,
    };
}

/* By bits: 32, 16, 8, 4. */
static long precision_class(enum tsim_precision precision) {
    return lround(log2(tsim_operand_bytes(precision)));
}

static double doublings(double a, double b) {
    return fabs(log2(a / b));
}

double tsim_traits_distance(const struct tsim_traits *a, const struct tsim_traits *b) {
    double distance = 0.0;
    if (strcmp(a->accelerator, b->accelerator) != 0)
        distance += 0.5 + 0.4 * doublings(a->peak_flops_per_s, b->peak_flops_per_s);
    distance += strcmp(a->vendor, b->vendor) != 0 ? 1.0 : 0.0;
    distance += precision_class(a->precision) != precision_class(b->precision) ? 1.0 : 0.0;
    distance += strcmp(a->model, b->model) != 0 ? 2.0 : 0.0;
    distance += a->estimates_rate != b->estimates_rate ? 2.0 : 0.0;
    distance += a->shards_parameters != b->shards_parameters ? 0.5 : 0.0;
    distance += strcmp(a->software, b->software) != 0 ? 0.5 : 0.0;
    distance += 0.15 * doublings(a->n_accelerators, b->n_accelerators);
    distance += 0.1 * (doublings(a->tensor, b->tensor) + doublings(a->pipeline, b->pipeline) +
                       doublings(a->parameters, b->parameters) + doublings(a->micro_batch, b->micro_batch));
    return distance;
}

/* ---- the interval ---- */

struct neighbour {
    double distance, log_ratio;
    const char *name; /* orders those equally far away */
};

static int by_distance(const void *a, const void *b) {
    const struct neighbour *left = a, *right = b;
    if (left->distance != right->distance)
        return left->distance < right->distance ? -1 : 1;
    return strcmp(left->name, right->name);
}

static int by_log_ratio(const void *a, const void *b) {
    double left = ((const struct neighbour *)a)->log_ratio, right = ((const struct neighbour *)b)->log_ratio;
    return (left > right) - (left < right);
}

/* Rank frac (n + 1) of n, the conformal one, between two ranks linearly; the extremes where n is small. */
static double quantile(const struct neighbour *sorted, size_t n, double frac) {
    double at = fmin(fmax(frac * ((double)n + 1.0) - 1.0, 0.0), (double)n - 1.0);
    size_t below = (size_t)at, above = below + 1 < n ? below + 1 : below;
    double weight = at - (double)below;
    return sorted[below].log_ratio * (1.0 - weight) + sorted[above].log_ratio * weight;
}

struct own_runs {
    int32_t n;
    double low, high; /* log ratios */
};

static bool is_named(const char *name, const char *other) {
    return other && strcmp(name, other) == 0;
}

static bool is_own(const struct tsim_traits *a, const struct tsim_traits *b) {
    return strcmp(a->accelerator, b->accelerator) == 0 &&
           precision_class(a->precision) == precision_class(b->precision);
}

/* Widens the interval by what is known of the accelerator itself, where that is little. */
static void widen(const struct own_runs *own, struct tsim_interval *interval) {
    interval->n_own = own->n;
    if (own->n >= TSIM_FEW_RUNS)
        return;
    double low = own->n > 0 ? own->low : -TSIM_UNMEASURED_LOG_RATIO;
    double high = own->n > 0 ? own->high : TSIM_UNMEASURED_LOG_RATIO;
    interval->low_ratio = fmin(interval->low_ratio, exp(low));
    interval->high_ratio = fmax(interval->high_ratio, exp(high));
}

void tsim_interval_of(struct tsim_arena *arena, const struct tsim_residuals *residuals,
                      const struct tsim_traits *traits, const char *without_name, const char *without_source,
                      struct tsim_interval *interval) {
    struct neighbour *near = TSIM_NEW_ARRAY(arena, residuals->n + 1, struct neighbour);
    struct own_runs own = {.low = HUGE_VAL, .high = -HUGE_VAL};
    size_t n = 0;
    double sum = 0.0;
    *interval = (struct tsim_interval){.low_ratio = (double)NAN, .high_ratio = (double)NAN};
    for (size_t i = 0; i < residuals->n; i++) {
        const struct tsim_residual *row = &residuals->rows[i];
        if (is_named(row->name, without_name) || is_named(row->source, without_source))
            continue;
        if (is_own(traits, &row->traits))
            own = (struct own_runs){own.n + 1, fmin(own.low, row->log_ratio), fmax(own.high, row->log_ratio)};
        near[n++] = (struct neighbour){tsim_traits_distance(traits, &row->traits), row->log_ratio, row->name};
    }
    if (n == 0)
        return;
    qsort(near, n, sizeof *near, by_distance);
    n = n < N_NEIGHBOURS ? n : N_NEIGHBOURS;
    for (size_t i = 0; i < n; i++) {
        sum += near[i].distance;
        interval->n_similar += near[i].distance <= TSIM_SIMILAR_DISTANCE;
    }
    interval->n_neighbours = (int32_t)n;
    interval->mean_distance = sum / (double)n;
    qsort(near, n, sizeof *near, by_log_ratio);
    double growth = GROWTH * fmax(0.0, interval->mean_distance - TSIM_SIMILAR_DISTANCE);
    interval->low_ratio = exp(fmin(-LEAST_LOG_RATIO, quantile(near, n, QUANTILE)) - growth);
    interval->high_ratio = exp(fmax(LEAST_LOG_RATIO, quantile(near, n, 1.0 - QUANTILE)) + growth);
    widen(&own, interval);
}

/* ---- the table ---- */

static const char HEADER[] =
    "case,source,accelerator,vendor,software,model,precision,zero3,peak_tflops,accelerators,"
    "tensor,pipeline,micro_batch,parameters,measured_over_predicted,low,high,hidden,step_time_s,estimated_rate";
enum {
    CASE,
    SOURCE,
    ACCELERATOR,
    VENDOR,
    SOFTWARE,
    MODEL,
    PRECISION,
    ZERO3,
    PEAK_TFLOPS,
    ACCELERATORS,
    TENSOR,
    PIPELINE,
    MICRO_BATCH,
    PARAMETERS,
    RATIO,
    LOW,
    HIGH,
    HIDDEN,
    STEP_TIME,
    ESTIMATED_RATE,
    N_COLUMNS
};

/* Cuts the line at its commas; how many fields there are. */
static size_t split(char *line, const char *fields[N_COLUMNS]) {
    size_t n = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line; at; n++) {
        char *comma = strchr(at, ',');
        if (n < N_COLUMNS)
            fields[n] = at;
        if (comma)
            *comma = '\0';
        at = comma ? comma + 1 : NULL;
    }
    return n;
}

static bool find_precision(const char *word, enum tsim_precision *precision) {
    for (int i = 0; i < TSIM_N_PRECISIONS; i++)
        if (strcmp(tsim_precision_name((enum tsim_precision)i), word) == 0) {
            *precision = (enum tsim_precision)i;
            return true;
        }
    return false;
}

static bool parse_row(struct tsim_arena *arena, char *line, struct tsim_residual *row) {
    const char *fields[N_COLUMNS];
    double number[N_COLUMNS];
    if (split(line, fields) != N_COLUMNS)
        return false;
    for (int i = 0; i < N_COLUMNS; i++) {
        char *end;
        number[i] = i > PRECISION ? strtod(fields[i], &end) : 0.0;
        bool is_flag = i == ZERO3;
        if (i > PRECISION && i < LOW &&
            (end == fields[i] || *end || !isfinite(number[i]) || (!is_flag && number[i] <= 0)))
            return false;
    }
    struct tsim_traits *t = &row->traits;
    row->name = tsim_arena_strdup(arena, fields[CASE]);
    row->source = tsim_arena_strdup(arena, fields[SOURCE]);
    row->log_ratio = log(number[RATIO]);
    *t = (struct tsim_traits){
        .accelerator = tsim_arena_strdup(arena, fields[ACCELERATOR]),
        .vendor = tsim_arena_strdup(arena, fields[VENDOR]),
        .software = tsim_arena_strdup(arena, fields[SOFTWARE]),
        .model = tsim_arena_strdup(arena, fields[MODEL]),
        .shards_parameters = number[ZERO3] != 0.0,
        .estimates_rate = number[ESTIMATED_RATE] != 0.0,
        .peak_flops_per_s = 1e12 * number[PEAK_TFLOPS],
        .n_accelerators = number[ACCELERATORS],
        .tensor = number[TENSOR],
        .pipeline = number[PIPELINE],
        .micro_batch = number[MICRO_BATCH],
        .parameters = number[PARAMETERS],
    };
    return find_precision(fields[PRECISION], &t->precision);
}

static enum tsim_status cannot_read(const char *file, struct tsim_diags *diags) {
    tsim_diags_error(diags, TSIM_ERR_IO, (struct tsim_place){.file = file}, "", "cannot be read: %s", strerror(errno));
    return TSIM_ERR_IO;
}

static enum tsim_status read_rows(struct tsim_arena *arena, const char *file, FILE *stream,
                                  struct tsim_residuals *residuals, struct tsim_diags *diags) {
    char line[LINE_BYTES];
    struct tsim_residual *rows = NULL;
    size_t n = 0, capacity = 0;
    enum tsim_status status = TSIM_OK;
    for (int at = 1; status == TSIM_OK && fgets(line, sizeof line, stream); at++) {
        if (at == 1 && strncmp(line, HEADER, strlen(HEADER)) == 0)
            continue;
        rows = tsim_heap_grow(rows, &capacity, n + 1, sizeof *rows);
        if (at > 1 && parse_row(arena, line, &rows[n])) {
            n++;
            continue;
        }
        struct tsim_place place = {.file = file, .line = at};
        tsim_diags_error(diags, TSIM_ERR_SCHEMA, place, "", at == 1 ? "the columns are not %s" : "no residual: not %s",
                         HEADER);
        status = TSIM_ERR_SCHEMA;
    }
    if (status == TSIM_OK && ferror(stream))
        status = cannot_read(file, diags);
    if (status == TSIM_OK) {
        struct tsim_residual *kept = TSIM_NEW_ARRAY(arena, n + 1, struct tsim_residual);
        if (n > 0)
            memcpy(kept, rows, n * sizeof *rows);
        *residuals = (struct tsim_residuals){.rows = kept, .n = n};
    }
    tsim_heap_free(rows);
    return status;
}

enum tsim_status tsim_residuals_read(struct tsim_arena *arena, const char *file, struct tsim_residuals *residuals,
                                     struct tsim_diags *diags) {
    const char *folder = file ? NULL : tsim_catalogue_folder(arena);
    if (folder)
        file = tsim_arena_printf(arena, "%s/hardware/calibration/residuals.csv", folder);
    errno = 0;
    FILE *stream = file ? fopen(file, "r") : NULL;
    if (!stream && errno != 0 && errno != ENOENT)
        return cannot_read(file, diags);
    if (!stream) {
        *residuals = (struct tsim_residuals){0};
        return TSIM_OK;
    }
    enum tsim_status status = read_rows(arena, file, stream, residuals, diags);
    fclose(stream);
    return status;
}

/* From the first time or rate that was measured and is not doubtful. */
static bool time_ratio(const struct tsim_result *result, double *ratio) {
    struct tsim_measured_rows measured;
    tsim_measured_of(result, &measured);
    for (int32_t i = 0; i < measured.n && !result->scenario->measured.doubtful; i++) {
        const struct tsim_measured_row *row = &measured.rows[i];
        if (!tsim_metric_is_speed(row->metric))
            continue;
        bool is_time = tsim_metric_kind(row->metric) == TSIM_METRIC_KIND_TIME;
        *ratio = is_time ? row->measured / row->predicted : row->predicted / row->measured;
        return true;
    }
    return false;
}

void tsim_residuals_of(struct tsim_arena *arena, const struct tsim_validation *validation,
                       struct tsim_residuals *residuals) {
    struct tsim_residual *rows = TSIM_NEW_ARRAY(arena, validation->n_cases + 1, struct tsim_residual);
    size_t n = 0;
    for (size_t i = 0; i < validation->n_cases; i++) {
        const struct tsim_case *item = &validation->cases[i];
        double ratio;
        if (item->status != TSIM_CASE_OK || !time_ratio(&item->result, &ratio))
            continue;
        rows[n].name = item->name;
        rows[n].source = tsim_arena_strndup(arena, item->name, strcspn(item->name, "-"));
        rows[n].log_ratio = log(ratio);
        tsim_traits_of(&item->result, &rows[n].traits);
        rows[n].hidden = (double)item->result.scenario->model->hidden;
        rows[n].step_time_s = item->result.step.terms.time_s;
        n++;
    }
    *residuals = (struct tsim_residuals){.rows = rows, .n = n};
}

void tsim_residuals_print(struct tsim_arena *arena, FILE *out, const struct tsim_validation *validation) {
    struct tsim_residuals residuals;
    tsim_residuals_of(arena, validation, &residuals);
    fprintf(out, "%s\n", HEADER);
    for (size_t i = 0; i < residuals.n; i++) {
        const struct tsim_residual *row = &residuals.rows[i];
        const struct tsim_traits *t = &row->traits;
        struct tsim_interval interval;
        tsim_interval_of(arena, &residuals, t, row->name, row->source, &interval);
        fprintf(out, "%s,%s,%s,%s,%s,%s,%s,%d,%.4g,%.0f,%.0f,%.0f,%.0f,%.4g,%.4f,%.4f,%.4f,%.0f,%.4g,%d\n", row->name,
                row->source, t->accelerator, t->vendor, t->software, t->model, tsim_precision_name(t->precision),
                t->shards_parameters, t->peak_flops_per_s / 1e12, t->n_accelerators, t->tensor, t->pipeline,
                t->micro_batch, t->parameters, exp(row->log_ratio), interval.low_ratio, interval.high_ratio,
                row->hidden, row->step_time_s, t->estimates_rate);
    }
}

/* ---- of one run ---- */

/* "90 % from 20 runs, 3 similar, none on a b200 in 16 bits". */
static const char *basis_of(struct tsim_arena *arena, const struct tsim_interval *interval,
                            const struct tsim_traits *traits) {
    int n = (int)interval->n_neighbours, n_similar = (int)interval->n_similar,
        bits = (int)lround(8 * tsim_operand_bytes(traits->precision));
    const char *text = n_similar == n   ? tsim_arena_printf(arena, "90 %% from %d similar runs", n)
                       : n_similar == 0 ? tsim_arena_printf(arena, "90 %% from %d runs, none similar", n)
                                        : tsim_arena_printf(arena, "90 %% from %d runs, %d similar", n, n_similar);
    if (interval->n_own >= TSIM_FEW_RUNS)
        return text;
    const char *few = interval->n_own > 0 ? tsim_arena_printf(arena, "%d", (int)interval->n_own) : "none";
    return tsim_arena_printf(arena, "%s, %s on %.40s in %d bits", text, few, traits->accelerator, bits);
}

static double end_of(const struct tsim_result *result, const char *end, double ratio, const char *basis) {
    struct tsim_term_recorder *r = result->recorder;
    return tsim_product(r, tsim_record_text(r, "uncertainty.step_time_%s_s", end),
                        "step time x (1 + a quantile of the errors of runs like it)", TSIM_TIME_S,
                        TSIM_PARTS(tsim_elsewhere(r, "step.time_s", result->step.terms.time_s, TSIM_TIME_S),
                                   tsim_given(r, tsim_record_text(r, "1 + %s quantile", end), ratio, TSIM_FRACTION,
                                              tsim_record_text(r, "hardware/calibration/residuals.csv: %s", basis))))
        .value;
}

void tsim_uncertainty_set(struct tsim_arena *arena, const struct tsim_residuals *residuals,
                          struct tsim_prediction *prediction) {
    const struct tsim_result *result = &prediction->result;
    struct tsim_traits traits;
    struct tsim_interval interval;
    if (!result->step.simulated)
        return;
    tsim_traits_of(result, &traits);
    tsim_interval_of(arena, residuals, &traits, result->scenario->name, NULL, &interval);
    if (interval.n_neighbours == 0)
        return;
    const char *basis = basis_of(arena, &interval, &traits);
    prediction->uncertainty =
        (struct tsim_uncertainty){.basis = basis,
                                  .n_similar = interval.n_similar,
                                  .n_own = interval.n_own,
                                  .step_time_low_s = end_of(result, "low", interval.low_ratio, basis),
                                  .step_time_high_s = end_of(result, "high", interval.high_ratio, basis)};
    tsim_forecast(arena, prediction);
}

enum tsim_status tsim_uncertainty_add(struct tsim_arena *arena, struct tsim_prediction *prediction,
                                      struct tsim_diags *diags) {
    struct tsim_residuals residuals;
    if (!prediction->result.step.simulated)
        return TSIM_OK;
    TSIM_TRY(tsim_residuals_read(arena, NULL, &residuals, diags));
    tsim_uncertainty_set(arena, &residuals, prediction);
    return TSIM_OK;
}
