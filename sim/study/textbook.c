#include "study/textbook_table.h"

#include "config/catalogue_load.h"
#include "cost/compute.h"
#include "report/outcome.h"
#include "training/feed.h"
#include "training/run.h"
#include "workload/memory.h"

#include <string.h>

/* Texts round their inputs to two digits and their results to three. */
#define DEFAULT_TOLERANCE_FRAC 0.05

static const struct {
    const char *name;
    double si;
} UNITS[] = {{"", 1},         {"B", 1},          {"KiB", 1024},     {"MB", 1e6},     {"GB", 1e9},
             {"TB", 1e12},    {"GB/s", 1e9},     {"FLOP", 1},       {"MFLOP", 1e6},  {"GFLOP", 1e9},
             {"TFLOP", 1e12}, {"PFLOP", 1e15},   {"TFLOP/s", 1e12}, {"FLOP/B", 1},   {"s", 1},
             {"ms", 1e-3},    {"us", 1e-6},      {"h", 3600},       {"days", 86400}, {"years", 365.25 * 86400},
             {"%", 0.01},     {"x", 1},          {"kW", 1e3},       {"kWh", 3.6e6},  {"t", 1e3},
             {"USD", 1},      {"k USD", 1e3},    {"M USD", 1e6},    {"USD/h", 1},    {"samples/s", 1},
             {"tokens/s", 1}, {"GPUs", 1},       {"runs", 1},       {"samples", 1},  {"tokens", 1},
             {"M", 1e6},      {"B params", 1e9}, {"months", 1},     {"warps", 1},    {"GPU-days", 1}};

const char *tsim_textbook_right_name(enum tsim_textbook_right right) {
    static const char *const NAMES[] = {"both", "tsim", "text", "unknown"};
    return NAMES[right];
}

/* ---- the parts ---- */

static const struct textbook_part *const PARTS[] = {&tsim_textbook_foundations, &tsim_textbook_memory,
                                                    &tsim_textbook_speed,       &tsim_textbook_scaling,
                                                    &tsim_textbook_input,       &tsim_textbook_others};
enum { N_PARTS = sizeof PARTS / sizeof PARTS[0] };

static size_t n_specs(void) {
    size_t n = 0;
    for (size_t p = 0; p < N_PARTS; p++)
        n += PARTS[p]->n_specs;
    return n;
}

static const struct textbook_spec *spec_at(size_t i) {
    size_t p = 0;
    while (i >= PARTS[p]->n_specs)
        i -= PARTS[p++]->n_specs;
    return &PARTS[p]->specs[i];
}

size_t tsim_textbook_ids(struct tsim_arena *arena, const char *const **ids) {
    size_t n = n_specs();
    const char **names = TSIM_NEW_ARRAY(arena, n, const char *);
    for (size_t i = 0; i < n; i++)
        names[i] = spec_at(i)->id;
    *ids = names;
    return n;
}

/* ---- runs: each once, whatever asks for it ---- */

struct textbook_run {
    const char *of;
    const struct tsim_scenario *scenario;
    struct tsim_result result;
    struct tsim_outcome outcome;
    struct textbook_run *next;
};

struct computing {
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    struct textbook_run *runs;
    const struct textbook_spec *spec;
    double *values_si; /* of the rows of the spec so far */
};

/* "gpt2 training.precision=fp16 cluster.nodes=2": the scenario's name, and the overrides. */
static size_t split_run(struct tsim_arena *arena, const char *of, const char **name, struct tsim_override **overrides) {
    size_t n = 0, length = strcspn(of, " ");
    *name = tsim_arena_strndup(arena, of, length);
    *overrides = TSIM_NEW_ARRAY(arena, strlen(of) + 1, struct tsim_override);
    for (of += length; *of; of += length) {
        length = strcspn(++of, " ");
        size_t path = strcspn(of, "=");
        TSIM_ASSERT(path < length);
        (*overrides)[n++] =
            (struct tsim_override){.path = tsim_arena_strndup(arena, of, path),
                                   .value = tsim_arena_strndup(arena, of + path + 1, length - path - 1)};
    }
    return n;
}

static enum tsim_status start_run(struct computing *c, const char *of, struct textbook_run **started) {
    const struct tsim_run_options options = {.ignore_memory = true};
    const char *name, *folder = tsim_catalogue_folder(c->arena);
    struct tsim_override *overrides;
    size_t n_overrides = split_run(c->arena, of, &name, &overrides);
    struct textbook_run *run = TSIM_NEW(c->arena, struct textbook_run);
    run->of = of;
    const char *file = tsim_arena_printf(c->arena, "%s/scenarios/textbook/%s.yaml", folder ? folder : ".", name);
    TSIM_TRY(tsim_scenario_load(c->arena, file, overrides, n_overrides, &run->scenario, c->diags));
    TSIM_TRY(tsim_train_run(c->arena, run->scenario, &options, &run->result, c->diags));
    tsim_outcome_of(&run->result, &run->outcome);
    run->next = c->runs;
    *started = c->runs = run;
    return TSIM_OK;
}

static enum tsim_status find_run(struct computing *c, const char *of, struct textbook_run **found) {
    for (struct textbook_run *run = c->runs; run; run = run->next)
        if (strcmp(run->of, of) == 0) {
            *found = run;
            return TSIM_OK;
        }
    return start_run(c, of, found);
}

/* ---- terms ---- */

static double operator_quantity(const struct tsim_operator_row *row, enum textbook_quantity quantity) {
    switch (quantity) {
    case TEXTBOOK_FLOPS:
        return row->flops;
    case TEXTBOOK_VECTOR_FLOPS:
        return row->vector_flops;
    case TEXTBOOK_BYTES:
        return row->bytes;
    case TEXTBOOK_SECONDS:
        break;
    }
    return row->time_s;
}

/* Does the operator's name, "norm 1 (forward)", end as asked for: wholly, or "(forward)"? */
static bool is_meant(const char *name, const char *which) {
    size_t length = strlen(name), end = strlen(which);
    return strcmp(name, which) == 0 || (which[0] == '(' && length > end && strcmp(name + length - end, which) == 0);
}

static double operator_value(const struct textbook_run *run, const struct textbook_term *term) {
    double sum = 0;
    bool is_found = false;
    for (int32_t i = 0; i < run->result.n_operators; i++)
        if (is_meant(run->result.operators[i].name, term->name)) {
            sum += operator_quantity(&run->result.operators[i], term->quantity);
            is_found = true;
        }
    if (!is_found)
        TSIM_BUG("%s has no operator '%s'", term->of, term->name);
    return sum;
}

static double kept_value(const struct textbook_run *run, const struct textbook_term *term) {
    struct tsim_activation rows[TSIM_MAX_ACTIVATIONS];
    if (strcmp(term->name, "all") == 0)
        return tsim_layer_activation_bytes(run->scenario, false);
    for (int32_t i = 0; i < tsim_layer_activations(run->scenario, false, rows); i++)
        if (strcmp(rows[i].name, term->name) == 0)
            return rows[i].bytes;
    TSIM_BUG("%s keeps no '%s'", term->of, term->name);
}

static double figure_value(const struct textbook_run *run, const struct textbook_term *term) {
    enum tsim_outcome_figure figure;
    const char *near;
    if (!tsim_outcome_find(term->name, &figure, &near))
        TSIM_BUG("there is no figure '%s'", term->name);
    return run->outcome.value[figure];
}

static enum tsim_status run_value(struct computing *c, const struct textbook_term *term, double *value) {
    struct textbook_run *run = NULL;
    TSIM_TRY(find_run(c, term->of, &run));
    if (term->kind == TEXTBOOK_FIGURE)
        *value = figure_value(run, term);
    else if (term->kind == TEXTBOOK_HOST)
        *value = tsim_data_host_bytes(run->scenario);
    else
        *value = term->kind == TEXTBOOK_KEPT ? kept_value(run, term) : operator_value(run, term);
    return TSIM_OK;
}

static enum tsim_status hardware_value(struct computing *c, const struct textbook_term *term, double *value) {
    size_t kind_length = strcspn(term->of, "/");
    const struct tsim_catalogue_entry *entries;
    enum tsim_catalogue_kind kind;
    size_t n;
    if (term->of[kind_length] == '\0' ||
        !tsim_catalogue_find_kind(tsim_arena_strndup(c->arena, term->of, kind_length), &kind))
        TSIM_BUG("'%s' names no file of the catalogue", term->of);
    TSIM_TRY(tsim_catalogue_describe(c->arena, kind, term->of + kind_length + 1, &entries, &n, c->diags));
    for (size_t i = 0; i < n; i++)
        if (strcmp(entries[i].key, term->name) == 0) {
            *value = entries[i].number;
            return TSIM_OK;
        }
    TSIM_BUG("%s has no '%s'", term->of, term->name);
}

static enum tsim_status product_value(struct computing *c, const struct textbook_term *term, double *value) {
    const struct tsim_accelerator *accelerator;
    const double *x = term->numbers;
    TSIM_TRY(tsim_catalogue_load_accelerator(c->arena, term->of, &accelerator, c->diags));
    for (int p = 0; p < TSIM_N_PRECISIONS; p++)
        if (strcmp(tsim_precision_name((enum tsim_precision)p), term->name) == 0)
            *value = tsim_gemm_s(accelerator, (enum tsim_precision)p, x[0], x[1], x[2], x[3]);
    return TSIM_OK;
}

/* One accelerator; storage and link of a byte a second, so that bytes are the seconds that they take. */
static enum tsim_status feed_value(struct computing *c, const double *x, double *value) {
    int32_t n_batches = (int32_t)x[6];
    double *gaps_s = TSIM_NEW_ARRAY(c->arena, (size_t)n_batches + 1, double);
    struct tsim_feed_flow flow;
    const struct tsim_feed feed = {.read_bytes = x[0],
                                   .read_alone_s = x[0] > 0 ? x[0] : 1,
                                   .cpu_s = x[1],
                                   .transfer_bytes = x[2],
                                   .storage_bytes_per_s = 1,
                                   .link_bytes_per_s = 1,
                                   .workers = (int32_t)x[4],
                                   .prefetch = (int32_t)x[5],
                                   .n_consumers = 1,
                                   .n_batches = n_batches,
                                   .gaps_s = gaps_s};
    for (int32_t i = 1; i <= n_batches; i++)
        gaps_s[i] = x[3];
    TSIM_TRY(tsim_feed_simulate(c->arena, &feed, &flow, c->diags));
    *value = x[7] > 0 ? flow.first_step_s : flow.step_s;
    return TSIM_OK;
}

static double row_value(const struct computing *c, const char *key) {
    for (size_t i = 0; i < c->spec->n_rows; i++)
        if (strcmp(c->spec->rows[i].key, key) == 0)
            return c->values_si[i];
    TSIM_BUG("example %s has no row '%s'", c->spec->id, key);
}

static enum tsim_status term_value(struct computing *c, const struct textbook_term *term, double *value) {
    switch (term->kind) {
    case TEXTBOOK_NUMBER:
        *value = term->numbers[0];
        return TSIM_OK;
    case TEXTBOOK_ROW:
        *value = row_value(c, term->name);
        return TSIM_OK;
    case TEXTBOOK_FIGURE:
    case TEXTBOOK_OPERATOR:
    case TEXTBOOK_KEPT:
    case TEXTBOOK_HOST:
        return run_value(c, term, value);
    case TEXTBOOK_HARDWARE:
        return hardware_value(c, term, value);
    case TEXTBOOK_CALL:
        *value = term->call(term->numbers[0], term->numbers[1], term->numbers[2], term->numbers[3]);
        return TSIM_OK;
    case TEXTBOOK_PRODUCT:
        return product_value(c, term, value);
    case TEXTBOOK_FEED:
        return feed_value(c, term->numbers, value);
    case TEXTBOOK_NONE:
        break;
    }
    TSIM_BUG("example %s: a term of no kind", c->spec->id);
}

static double joined(const struct computing *c, double left, char op, double right) {
    switch (op) {
    case '+':
        return left + right;
    case '-':
        return left - right;
    case '*':
        return left * right;
    case '/':
        return left / right;
    default:
        TSIM_BUG("example %s: terms cannot be joined by '%c'", c->spec->id, op);
    }
}

static enum tsim_status row_si(struct computing *c, const struct textbook_row *row, double *si) {
    double sum = 0;
    for (size_t i = 0; i < TEXTBOOK_MOST_TERMS && row->terms[i].kind != TEXTBOOK_NONE; i++) {
        double value = (double)NAN;
        TSIM_TRY(term_value(c, &row->terms[i], &value));
        sum = joined(c, sum, row->terms[i].op, value);
    }
    *si = sum;
    return TSIM_OK;
}

/* ---- how it was computed, in words ---- */

static const char *plain_number(struct tsim_arena *arena, double x) {
    return tsim_arena_printf(arena, "%.10g", x);
}

static const char *numbers_text(struct tsim_arena *arena, const struct textbook_term *term, size_t n) {
    const char *text = plain_number(arena, term->numbers[0]);
    for (size_t i = 1; i < n; i++)
        text = tsim_arena_printf(arena, "%s, %s", text, plain_number(arena, term->numbers[i]));
    return text;
}

static const char *quantity_text(enum textbook_quantity quantity) {
    static const char *const NAMES[] = {"FLOP", "FLOP outside the matrix units", "bytes", "time"};
    return NAMES[quantity];
}

static const char *term_text(const struct computing *c, const struct textbook_term *term) {
    struct tsim_arena *arena = c->arena;
    switch (term->kind) {
    case TEXTBOOK_NUMBER:
        return plain_number(arena, term->numbers[0]);
    case TEXTBOOK_ROW:
        for (size_t i = 0; i < c->spec->n_rows; i++)
            if (strcmp(c->spec->rows[i].key, term->name) == 0)
                return tsim_arena_printf(arena, "\"%s\"", c->spec->rows[i].what);
        break;
    case TEXTBOOK_FIGURE:
        return tsim_arena_printf(arena, "%s of [%s]", term->name, term->of);
    case TEXTBOOK_OPERATOR:
        return tsim_arena_printf(arena, "%s of \"%s\" of [%s]", quantity_text(term->quantity), term->name, term->of);
    case TEXTBOOK_KEPT:
        return tsim_arena_printf(arena, "\"%s\" kept by a layer of [%s]", term->name, term->of);
    case TEXTBOOK_HARDWARE:
        return tsim_arena_printf(arena, "%s of %s", term->name, term->of);
    case TEXTBOOK_CALL:
        return tsim_arena_printf(arena, "%s(%s)", term->call_name, numbers_text(arena, term, 4));
    case TEXTBOOK_PRODUCT:
        return tsim_arena_printf(arena, "product(%s) on %s in %s", numbers_text(arena, term, 4), term->of, term->name);
    case TEXTBOOK_FEED:
        return tsim_arena_printf(arena, "%sfeed(%s)", term->numbers[7] > 0 ? "first " : "",
                                 numbers_text(arena, term, 7));
    case TEXTBOOK_HOST:
        return tsim_arena_printf(arena, "input buffers on the host of [%s]", term->of);
    case TEXTBOOK_NONE:
        break;
    }
    return "";
}

static const char *row_text(const struct computing *c, const struct textbook_row *row) {
    const char *text = "";
    for (size_t i = 0; i < TEXTBOOK_MOST_TERMS && row->terms[i].kind != TEXTBOOK_NONE; i++)
        text = i == 0 ? term_text(c, &row->terms[i])
                      : tsim_arena_printf(c->arena, "%s %c %s", text, row->terms[i].op, term_text(c, &row->terms[i]));
    return text;
}

/* ---- rows and examples ---- */

static double unit_si(const char *unit) {
    for (size_t i = 0; i < sizeof UNITS / sizeof UNITS[0]; i++)
        if (strcmp(UNITS[i].name, unit) == 0)
            return UNITS[i].si;
    TSIM_BUG("unknown unit '%s'", unit);
}

/* Against the nearer end of the text's range; 0 within it. */
static double difference_frac(const struct textbook_row *row, double tsim) {
    double to = row->text_to > row->text ? row->text_to : row->text;
    if (isnan(row->text))
        return (double)NAN;
    if (tsim >= row->text && tsim <= to)
        return 0;
    double nearer = tsim < row->text ? row->text : to;
    return nearer == 0 ? (double)INFINITY : tsim / nearer - 1;
}

static enum tsim_status compute_row(struct computing *c, size_t i, struct tsim_textbook_value *value) {
    const struct textbook_row *row = &c->spec->rows[i];
    double tolerance = row->tolerance_frac > 0 ? row->tolerance_frac : DEFAULT_TOLERANCE_FRAC;
    TSIM_TRY(row_si(c, row, &c->values_si[i]));
    *value = (struct tsim_textbook_value){.what = row->what,
                                          .unit = row->unit,
                                          .text = row->text,
                                          .text_to = row->text_to > row->text ? row->text_to : row->text,
                                          .tsim = c->values_si[i] / unit_si(row->unit),
                                          .right = row->right,
                                          .why = row->why,
                                          .how = row_text(c, row)};
    value->difference_frac = difference_frac(row, value->tsim);
    value->agrees = isnan(row->text) || fabs(value->difference_frac) <= tolerance;
    return TSIM_OK;
}

static enum tsim_status compute_example(struct computing *c, const struct textbook_spec *spec,
                                        struct tsim_textbook_example *example) {
    struct tsim_textbook_value *values = TSIM_NEW_ARRAY(c->arena, spec->n_rows, struct tsim_textbook_value);
    c->spec = spec;
    c->values_si = TSIM_NEW_ARRAY(c->arena, spec->n_rows, double);
    for (size_t i = 0; i < spec->n_rows; i++)
        TSIM_TRY(compute_row(c, i, &values[i]));
    *example = (struct tsim_textbook_example){
        .id = spec->id, .title = spec->title, .problem = spec->problem, .values = values, .n_values = spec->n_rows};
    return TSIM_OK;
}

static void count_example(struct tsim_textbook *textbook, const struct tsim_textbook_example *example) {
    for (size_t i = 0; i < example->n_values; i++) {
        const struct tsim_textbook_value *value = &example->values[i];
        if (isnan(value->text))
            continue;
        textbook->n_values++;
        textbook->n_agree += value->agrees;
        textbook->n_right[value->right] += !value->agrees;
    }
}

enum tsim_status tsim_textbook_compute(struct tsim_arena *arena, const char *id, struct tsim_textbook *textbook,
                                       struct tsim_diags *diags) {
    struct computing c = {.arena = arena, .diags = diags};
    struct tsim_textbook_example *examples = TSIM_NEW_ARRAY(arena, n_specs(), struct tsim_textbook_example);
    struct tsim_textbook computed = {.examples = examples};
    for (size_t i = 0; i < n_specs(); i++) {
        if (id && strcmp(spec_at(i)->id, id) != 0)
            continue;
        TSIM_TRY(compute_example(&c, spec_at(i), &examples[computed.n_examples]));
        count_example(&computed, &examples[computed.n_examples++]);
    }
    *textbook = computed;
    return TSIM_OK;
}
