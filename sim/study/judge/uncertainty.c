#include "study/judge/uncertainty.h"

#include "base/among.h"
#include "base/normal.h"
#include "study/judge/forecast.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 256 };
static const double LEAST_LOG_RATIO = 0.02; /* to each side */
/* Shares of the variance; what is known of the accelerator itself is soon worth a word. */
static const double WORTH_A_WORD = 0.05, ACCELERATOR_WORTH_A_WORD = 0.02;
enum { FEW_WITH_IT = 2, MOST_REASONS = 3 };

/* ---- the sizes' table ---- */

static const char SIZES_HEADER[] = "part,dense,other";

/* Returns the table's rows in its order; NULL behind the last. */
static double *row_of(struct tsim_error_sizes *sizes, int row, const char **name) {
    *name = NULL;
    if (row < TSIM_N_ERROR_PARTS) {
        *name = tsim_error_part_name((enum tsim_error_part)row);
        return sizes->part[row];
    }
    switch (row - TSIM_N_ERROR_PARTS) {
    case 0:
        *name = "run";
        return sizes->run;
    case 1:
        *name = "low end";
        return sizes->low;
    case 2:
        *name = "high end";
        return sizes->high;
    default:
        return NULL;
    }
}

void tsim_error_sizes_write(FILE *out, const struct tsim_error_sizes *sizes) {
    struct tsim_error_sizes copy = *sizes;
    const char *name;
    double *row;
    fprintf(out, "%s\n", SIZES_HEADER);
    for (int i = 0; (row = row_of(&copy, i, &name)); i++)
        fprintf(out, "%s,%.4f,%.4f\n", name, row[TSIM_ERROR_DENSE], row[TSIM_ERROR_OTHER]);
}

static bool parse_size(char *line, const char *name, double size[TSIM_N_ERROR_CLASSES]) {
    const char *fields[1 + TSIM_N_ERROR_CLASSES];
    if (tsim_csv_split(line, fields, 1 + TSIM_N_ERROR_CLASSES) != 1 + TSIM_N_ERROR_CLASSES ||
        strcmp(fields[0], name) != 0)
        return false;
    for (int class = 0; class < TSIM_N_ERROR_CLASSES; class ++) {
        char *end;
        size[class] = strtod(fields[1 + class], &end);
        if (end == fields[1 + class] || *end || !(size[class] > 0) || !isfinite(size[class]))
            return false;
    }
    return true;
}

static enum tsim_status read_sizes(const char *file, FILE *stream, struct tsim_error_sizes *sizes,
                                   struct tsim_diags *diags) {
    char line[LINE_BYTES];
    const char *name = SIZES_HEADER;
    int at = 1;
    bool is_right = fgets(line, sizeof line, stream) && strncmp(line, SIZES_HEADER, strlen(SIZES_HEADER)) == 0;
    for (double *row; is_right && (row = row_of(sizes, at - 1, &name)); at++)
        is_right = fgets(line, sizeof line, stream) && parse_size(line, name, row);
    if (is_right)
        return TSIM_OK;
    tsim_diags_error(diags, TSIM_ERR_SCHEMA, (struct tsim_place){.file = file, .line = at}, "",
                     "no sizes of errors: expected %s", name);
    return TSIM_ERR_SCHEMA;
}

enum tsim_status tsim_error_sizes_read(const char *file, struct tsim_error_sizes *sizes, bool *has,
                                       struct tsim_diags *diags) {
    errno = 0;
    FILE *stream = file ? fopen(file, "r") : NULL;
    *has = stream != NULL;
    if (!stream && errno != 0 && errno != ENOENT) {
        tsim_diags_error(diags, TSIM_ERR_IO, (struct tsim_place){.file = file}, "", "cannot be read: %s",
                         strerror(errno));
        return TSIM_ERR_IO;
    }
    if (!stream)
        return TSIM_OK;
    enum tsim_status status = read_sizes(file, stream, sizes, diags);
    fclose(stream);
    return status;
}

/* ---- rounds of post-training ---- */

enum { LEAST_ROUNDS = 3 };

struct tsim_ratios tsim_round_interval(const struct tsim_residuals *measured, const char *name, int32_t *n) {
    double mean = 0, square = 0;
    *n = 0;
    for (size_t i = measured->n; i < measured->n + measured->n_rounds; i++) {
        const struct tsim_residual *round = &measured->rows[i];
        if (strcmp(round->name, name) == 0)
            continue;
        double off = round->log_ratio - mean;
        mean += off / ++*n;
        square += off * (round->log_ratio - mean);
    }
    if (*n < LEAST_ROUNDS)
        return (struct tsim_ratios){(double)NAN, (double)NAN};
    double width = tsim_student_quantile(0.95, *n - 1) * sqrt(square / (*n - 1) * (1 + 1.0 / *n));
    return (struct tsim_ratios){exp(fmin(-LEAST_LOG_RATIO, mean - width)), exp(fmax(LEAST_LOG_RATIO, mean + width))};
}

static void set_round(const struct tsim_residuals *measured, const struct tsim_result *result,
                      struct tsim_uncertainty *u) {
    struct tsim_ratios ratios = tsim_round_interval(measured, result->scenario->name, &u->n_rounds);
    if (isnan(ratios.low))
        u->n_rounds = 0;
    u->round_low_s = ratios.low * result->post_training.time_s;
    u->round_high_s = ratios.high * result->post_training.time_s;
}

enum tsim_status tsim_evidence_read(struct tsim_arena *arena, struct tsim_evidence *evidence,
                                    struct tsim_diags *diags) {
    bool has;
    *evidence = (struct tsim_evidence){0};
    TSIM_TRY(tsim_error_sizes_read(tsim_calibration_file(arena, "intervals.csv"), &evidence->sizes, &has, diags));
    if (!has)
        return TSIM_OK;
    TSIM_TRY(tsim_residuals_read(arena, tsim_calibration_file(arena, "residuals.csv"), &evidence->measured, diags));
    evidence->model = tsim_error_model_new(arena, &evidence->measured, &evidence->sizes, NULL, NULL);
    return TSIM_OK;
}

static const struct tsim_evidence *kept;

enum tsim_status tsim_evidence_keep(struct tsim_arena *arena, struct tsim_diags *diags) {
    struct tsim_evidence *evidence = TSIM_NEW(arena, struct tsim_evidence);
    TSIM_TRY(tsim_evidence_read(arena, evidence, diags));
    kept = evidence;
    return TSIM_OK;
}

/* ---- the interval ---- */

struct tsim_ratios tsim_interval_of(const struct tsim_error_of_run *error, const struct tsim_error_sizes *sizes,
                                    enum tsim_error_class class) {
    return (struct tsim_ratios){exp(fmin(-LEAST_LOG_RATIO, error->mean - sizes->low[class] * error->sd)),
                                exp(fmax(LEAST_LOG_RATIO, error->mean + sizes->high[class] * error->sd))};
}

/* ---- words ---- */

static const char *plural_of(const char *model) {
    static const char *const WORDS[][2] = {{"dense", "dense transformers"},
                                           {"experts", "mixtures of experts"},
                                           {"adapters", "models with adapters"},
                                           {"approximate", "models with replaced parts"},
                                           {"hybrid", "state-space hybrids"},
                                           {"encoder", "encoders"},
                                           {"encoder-decoder", "encoders with decoders"},
                                           {"image", "vision transformers"},
                                           {"cnn", "convolutional networks"},
                                           {"mlp", "perceptrons"},
                                           {"dlrm", "recommendation models"}};
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++)
        if (strcmp(WORDS[i][0], model) == 0)
            return WORDS[i][1];
    return model;
}

/* Says what nobody, or hardly anybody, has measured. */
static const char *reason_of(struct tsim_arena *arena, enum tsim_error_part part, const struct tsim_traits *t,
                             int32_t n_runs) {
    const char *few = n_runs == 0 ? "no measured run" : n_runs == 1 ? "one measured run" : "two measured runs";
    switch (part) {
    case TSIM_ERROR_VENDOR:
        return tsim_arena_printf(arena, "%s on accelerators of %.40s", few,
                                 t->vendor && *t->vendor ? t->vendor : "no named maker");
    case TSIM_ERROR_ACCELERATOR:
        return tsim_arena_printf(arena, "%s of %s on %.40s in %d bits", few, plural_of(t->model), t->accelerator,
                                 (int)lround(8 * tsim_operand_bytes(t->precision)));
    case TSIM_ERROR_SOFTWARE:
        return tsim_arena_printf(arena, "%s of %s with %.60s", few, plural_of(t->model), t->software);
    case TSIM_ERROR_SPLITS:
        return strcmp(t->splits, "data") == 0
                   ? tsim_arena_printf(arena, "%s with %.60s that does not split the model", few, t->software)
                   : tsim_arena_printf(arena, "%s with %.60s split by %s", few, t->software, t->splits);
    case TSIM_ERROR_KIND:
        return tsim_arena_printf(arena, "%s of %s", few, plural_of(t->model));
    case TSIM_ERROR_MODEL:
        return tsim_arena_printf(arena, "%s of this model", few);
    case TSIM_ERROR_RATE:
        return tsim_arena_printf(arena, "the matrix rate of %.40s is an estimate", t->accelerator);
    case TSIM_ERROR_COUNT:
        return "more accelerators than were ever measured";
    case TSIM_ERROR_SEQUENCE:
        return "longer sequences than were ever measured";
    case TSIM_ERROR_SOURCE:
    case TSIM_N_ERROR_PARTS:
        break;
    }
    return NULL;
}

/* Returns whether nobody has measured this kind of model. Then its models, and it with each software and on each
 * machine, are unknown, too. */
static bool is_new_kind(const struct tsim_error_of_run *error) {
    return error->part_variance[TSIM_ERROR_KIND] > 0 && error->n_runs[TSIM_ERROR_KIND] == 0;
}

/* Returns whether the interval is wider by this part, which few or none have measured. */
static bool is_reason(const struct tsim_error_of_run *error, enum tsim_error_part part) {
    bool is_of_kind = part == TSIM_ERROR_KIND || part == TSIM_ERROR_MODEL || part == TSIM_ERROR_SOFTWARE ||
                      part == TSIM_ERROR_ACCELERATOR;
    if (is_new_kind(error) && is_of_kind)
        return part == TSIM_ERROR_KIND;
    double least = part == TSIM_ERROR_ACCELERATOR ? ACCELERATOR_WORTH_A_WORD : WORTH_A_WORD;
    if (part == TSIM_ERROR_SOURCE || error->part_variance[part] < least * error->sd * error->sd)
        return false;
    if (part == TSIM_ERROR_RATE)
        return true;
    return error->n_runs[part] <= (part >= TSIM_ERROR_COUNT ? 0 : FEW_WITH_IT);
}

/* Finds the reasons, the widest first. */
static void find_reasons(struct tsim_arena *arena, const struct tsim_error_of_run *error,
                         const struct tsim_traits *traits, struct tsim_uncertainty *u) {
    bool is_said[TSIM_N_ERROR_PARTS] = {false};
    u->n_reasons = 0;
    while (u->n_reasons < MOST_REASONS) {
        int widest = -1;
        for (int part = 0; part < TSIM_N_ERROR_PARTS; part++)
            if (!is_said[part] && is_reason(error, (enum tsim_error_part)part) &&
                (widest < 0 || error->part_variance[part] > error->part_variance[widest]))
                widest = part;
        if (widest < 0)
            return;
        is_said[widest] = true;
        u->reasons[u->n_reasons++] = reason_of(arena, (enum tsim_error_part)widest, traits, error->n_runs[widest]);
    }
}

const char *tsim_uncertainty_reasons(struct tsim_arena *arena, const struct tsim_uncertainty *u) {
    const char *text = NULL;
    for (int i = 0; i < u->n_reasons; i++)
        text = tsim_arena_printf(arena, "%s%s%s", text ? text : "", text ? ", " : "", u->reasons[i]);
    return text;
}

/* Returns "90 % interval from 20 similar runs", or "90 % interval without a similar run: no measured run on
 * accelerators of AMD". */
static const char *basis_of(struct tsim_arena *arena, const struct tsim_uncertainty *u) {
    const char *text = u->n_similar == 0 ? "90 % interval without a similar run"
                       : u->n_similar == 1
                           ? "90 % interval from one similar run"
                           : tsim_arena_printf(arena, "90 %% interval from %d similar runs", (int)u->n_similar);
    const char *reasons = tsim_uncertainty_reasons(arena, u);
    return reasons ? tsim_arena_printf(arena, "%s: %s", text, reasons) : text;
}

/* ---- of one run ---- */

static double end_of(const struct tsim_result *result, const char *end, double ratio, const char *basis) {
    struct tsim_term_recorder *r = result->recorder;
    return tsim_product(r, tsim_record_text(r, "uncertainty.step_time_%s_s", end),
                        "step time x (1 + a quantile of the errors of runs like it)", TSIM_TIME_S,
                        TSIM_PARTS(tsim_elsewhere(r, "step.time_s", result->step.terms.time_s, TSIM_TIME_S),
                                   tsim_given(r, tsim_record_text(r, "1 + %s quantile", end), ratio, TSIM_FRACTION,
                                              tsim_record_text(r, "hardware/calibration/residuals.csv: %s", basis))))
        .value;
}

static void count_runs(const struct tsim_residuals *measured, const struct tsim_traits *t, const char *name,
                       struct tsim_uncertainty *u) {
    for (size_t i = 0; i < measured->n; i++) {
        const struct tsim_traits *other = &measured->rows[i].traits;
        if (!tsim_is_same_text(other->accelerator, t->accelerator) ||
            tsim_operand_bytes(other->precision) != tsim_operand_bytes(t->precision) ||
            tsim_is_same_text(measured->rows[i].name, name))
            continue;
        u->n_own++;
        u->n_similar += tsim_is_same_text(other->software, t->software) && tsim_is_same_text(other->model, t->model);
    }
}

static const char *source_of(const struct tsim_residuals *measured, const char *name) {
    for (size_t i = 0; i < measured->n; i++)
        if (tsim_is_same_text(measured->rows[i].name, name))
            return measured->rows[i].source;
    return NULL;
}

void tsim_uncertainty_set(struct tsim_arena *arena, const struct tsim_evidence *evidence,
                          struct tsim_prediction *prediction) {
    const struct tsim_result *result = &prediction->result;
    const char *name = result->scenario->name;
    struct tsim_uncertainty *u = &prediction->uncertainty;
    struct tsim_traits traits;
    struct tsim_error_of_run error;
    if (!result->step.simulated || !evidence->model)
        return;
    tsim_traits_of(arena, result, &traits);
    tsim_error_of_run(arena, evidence->model, &traits, source_of(&evidence->measured, name), name, &error);
    struct tsim_ratios ratios = tsim_interval_of(&error, &evidence->sizes, tsim_error_class_of(&traits));
    *u = (struct tsim_uncertainty){0};
    count_runs(&evidence->measured, &traits, name, u);
    find_reasons(arena, &error, &traits, u);
    u->basis = basis_of(arena, u);
    u->step_time_low_s = end_of(result, "low", ratios.low, u->basis);
    u->step_time_high_s = end_of(result, "high", ratios.high, u->basis);
    if (tsim_generates(result->scenario))
        set_round(&evidence->measured, result, u);
    tsim_forecast(arena, prediction);
}

enum tsim_status tsim_uncertainty_add(struct tsim_arena *arena, struct tsim_prediction *prediction,
                                      struct tsim_diags *diags) {
    struct tsim_evidence evidence;
    if (!prediction->result.step.simulated)
        return TSIM_OK;
    if (!kept)
        TSIM_TRY(tsim_evidence_read(arena, &evidence, diags));
    tsim_uncertainty_set(arena, kept ? kept : &evidence, prediction);
    return TSIM_OK;
}
