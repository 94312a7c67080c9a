#include "study/judge/residuals.h"

#include "config/catalogue_load.h"
#include "model/local_shape.h"
#include "results/measured.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 1024 };
static const char ROUNDS[] = "rounds";

/* ---- traits ---- */

static const char *splits_of(struct tsim_arena *arena, const struct tsim_parallelism_spec *p) {
    const struct {
        bool is_there;
        const char *word;
    } SPLITS[] = {{p->zero == 3, "zero3"},
                  {p->tensor > 1, "tensor"},
                  {p->pipeline > 1, "pipeline"},
                  {p->context > 1, "context"},
                  {p->expert > 1, "expert"}};
    const char *text = "";
    for (size_t i = 0; i < sizeof SPLITS / sizeof SPLITS[0]; i++)
        if (SPLITS[i].is_there)
            text = tsim_arena_printf(arena, "%s%s%s", text, *text ? "+" : "", SPLITS[i].word);
    return *text ? text : "data";
}

/* Returns whether the matrix rate of the products is among the estimates on which the scenario relies. */
static bool leans_on_rate(const struct tsim_scenario *s) {
    const char *precision = tsim_precision_name(s->training.precision);
    for (size_t i = 0; i < s->n_estimates; i++) {
        const char *key = strstr(s->estimates[i], " efficiency.matrix_sustained.");
        if (key && strcmp(strrchr(key, '.') + 1, precision) == 0)
            return true;
    }
    return false;
}

void tsim_traits_of(struct tsim_arena *arena, const struct tsim_result *result, struct tsim_traits *traits) {
    const struct tsim_scenario *s = result->scenario;
    const struct tsim_accelerator *accelerator = s->cluster.node->accelerator;
    *traits = (struct tsim_traits){
        .accelerator = accelerator->name,
        .vendor = accelerator->vendor ? accelerator->vendor : "",
        .software = s->software->name,
        .model = s->training.adapter.kind != TSIM_ADAPTER_NONE ? "adapters" : tsim_model_family(s->model),
        .splits = splits_of(arena, &s->parallelism),
        .precision = s->training.precision,
        .estimates_rate = leans_on_rate(s),
        .n_accelerators = (double)s->n_accelerators,
        .sequence = s->model->kind == TSIM_MODEL_TRANSFORMER ? (double)s->training.sequence_length : 0.0,
        .parameters = result->step.parameters,
    };
}

/* Puts the rows of rounds after those of steps, and leaves both in their order. */
static void order(struct tsim_arena *arena, struct tsim_residual *rows, size_t n, struct tsim_residuals *residuals) {
    struct tsim_residual *rounds = TSIM_NEW_ARRAY(arena, n + 1, struct tsim_residual);
    *residuals = (struct tsim_residuals){.rows = rows};
    for (size_t i = 0; i < n; i++) {
        if (strcmp(rows[i].traits.model, ROUNDS) == 0)
            rounds[residuals->n_rounds++] = rows[i];
        else
            rows[residuals->n++] = rows[i];
    }
    if (residuals->n_rounds > 0)
        memcpy(rows + residuals->n, rounds, residuals->n_rounds * sizeof *rounds);
}

/* ---- the table ---- */

static const char HEADER[] =
    "case,source,accelerator,vendor,software,model,precision,zero3,peak_tflops,accelerators,"
    "tensor,pipeline,micro_batch,parameters,measured_over_predicted,low,high,hidden,step_time_s,estimated_rate,"
    "sequence,splits";
enum {
    CASE,
    SOURCE,
    ACCELERATOR,
    VENDOR,
    SOFTWARE,
    MODEL,
    PRECISION,
    ACCELERATORS = 9,
    PARAMETERS = 13,
    RATIO,
    STEP_TIME = 18,
    ESTIMATED_RATE,
    SEQUENCE,
    SPLITS,
    N_COLUMNS
};

size_t tsim_csv_split(char *line, const char **fields, size_t n_most) {
    size_t n = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line; at; n++) {
        char *comma = strchr(at, ',');
        if (n < n_most)
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
    static const int NUMBERS[] = {ACCELERATORS, PARAMETERS, RATIO, STEP_TIME, ESTIMATED_RATE, SEQUENCE};
    const char *fields[N_COLUMNS];
    double number[N_COLUMNS] = {0};
    if (tsim_csv_split(line, fields, N_COLUMNS) != N_COLUMNS)
        return false;
    for (size_t i = 0; i < sizeof NUMBERS / sizeof NUMBERS[0]; i++) {
        int at = NUMBERS[i];
        char *end;
        number[at] = strtod(fields[at], &end);
        if (end == fields[at] || *end || !isfinite(number[at]) || number[at] < 0 ||
            (at <= STEP_TIME && !(number[at] > 0)))
            return false;
    }
    *row = (struct tsim_residual){.name = tsim_arena_strdup(arena, fields[CASE]),
                                  .source = tsim_arena_strdup(arena, fields[SOURCE]),
                                  .log_ratio = log(number[RATIO]),
                                  .measured_s = number[RATIO] * number[STEP_TIME]};
    row->traits = (struct tsim_traits){
        .accelerator = tsim_arena_strdup(arena, fields[ACCELERATOR]),
        .vendor = tsim_arena_strdup(arena, fields[VENDOR]),
        .software = tsim_arena_strdup(arena, fields[SOFTWARE]),
        .model = tsim_arena_strdup(arena, fields[MODEL]),
        .splits = tsim_arena_strdup(arena, fields[SPLITS]),
        .estimates_rate = number[ESTIMATED_RATE] != 0.0,
        .n_accelerators = number[ACCELERATORS],
        .sequence = number[SEQUENCE],
        .parameters = number[PARAMETERS],
    };
    return find_precision(fields[PRECISION], &row->traits.precision);
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
        struct tsim_place place = {.file = file, .line = at, .column = 1};
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
        order(arena, kept, n, residuals);
    }
    tsim_heap_free(rows);
    return status;
}

const char *tsim_calibration_file(struct tsim_arena *arena, const char *name) {
    const char *folder = tsim_catalogue_folder(arena);
    return folder ? tsim_arena_printf(arena, "%s/hardware/calibration/%s", folder, name) : NULL;
}

enum tsim_status tsim_residuals_read(struct tsim_arena *arena, const char *file, struct tsim_residuals *residuals,
                                     struct tsim_diags *diags) {
    errno = 0;
    FILE *stream = fopen(file, "r");
    *residuals = (struct tsim_residuals){0};
    if (!stream)
        return cannot_read(file, diags);
    enum tsim_status status = read_rows(arena, file, stream, residuals, diags);
    fclose(stream);
    return status;
}

/* Finds measured over predicted time from the first time or rate that was measured and is not doubtful. */
static bool time_ratio(const struct tsim_result *result, double *ratio, enum tsim_metric *metric) {
    struct tsim_measured_rows measured;
    tsim_measured_of(result, &measured);
    for (int32_t i = 0; i < measured.n && !result->scenario->measured.doubtful; i++) {
        const struct tsim_measured_row *row = &measured.rows[i];
        if (!tsim_metric_is_pace(row->metric))
            continue;
        bool is_rate = tsim_metric_kind(row->metric) == TSIM_METRIC_KIND_RATE;
        *ratio = is_rate ? row->predicted / row->measured : row->measured / row->predicted;
        *metric = row->metric;
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
        enum tsim_metric metric;
        if (item->status != TSIM_CASE_OK || !time_ratio(&item->result, &ratio, &metric))
            continue;
        rows[n] = (struct tsim_residual){.name = item->name,
                                         .source = tsim_arena_strndup(arena, item->name, strcspn(item->name, "-")),
                                         .log_ratio = log(ratio),
                                         .measured_s = ratio * item->result.step.terms.time_s,
                                         .result = &item->result};
        tsim_traits_of(arena, &item->result, &rows[n].traits);
        if (metric == TSIM_METRIC_POST_TRAINING_TIME) {
            rows[n].traits.model = ROUNDS;
            rows[n].measured_s = ratio * item->result.post_training.time_s;
        }
        n++;
    }
    order(arena, rows, n, residuals);
}

void tsim_residuals_write(FILE *out, const struct tsim_residuals *residuals, const struct tsim_ratios *intervals) {
    fprintf(out, "%s\n", HEADER);
    for (size_t i = 0; i < residuals->n + residuals->n_rounds; i++) {
        const struct tsim_residual *row = &residuals->rows[i];
        const struct tsim_traits *t = &row->traits;
        const struct tsim_scenario *s = row->result->scenario;
        const double *peak = s->cluster.node->accelerator->peak_flops_per_s;
        double peak_tflops = fmax(fmax(peak[TSIM_FP16], peak[TSIM_BF16]), peak[TSIM_FP32]) / 1e12;
        fprintf(out, "%s,%s,%s,%s,%s,%s,%s,%d,%.4g,%.0f,%lld,%lld,%lld,%.4g,%.4f,%.4f,%.4f,%lld,%.4g,%d,%.0f,%s\n",
                row->name, row->source, t->accelerator, t->vendor, t->software, t->model,
                tsim_precision_name(t->precision), s->parallelism.zero == 3, peak_tflops, t->n_accelerators,
                (long long)s->parallelism.tensor, (long long)s->parallelism.pipeline,
                (long long)s->training.micro_batch_size, t->parameters, exp(row->log_ratio), intervals[i].low,
                intervals[i].high, (long long)s->model->hidden, row->measured_s / exp(row->log_ratio),
                t->estimates_rate, t->sequence, t->splits);
    }
}
