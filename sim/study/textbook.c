#include "study/textbook.h"

#include "config/catalogue_load.h"
#include "config/keys/schema.h"
#include "config/text/document.h"
#include "cost/collective.h"
#include "cost/compute.h"
#include "model/kept.h"
#include "results/outcome.h"
#include "run/run.h"
#include "step/input/input_pipeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Texts round their inputs to two digits and their results to three. */
#define DEFAULT_TOLERANCE_FRAC 0.05

static const struct {
    const char *name;
    double si;
} UNITS[] = {{"B", 1},
             {"KiB", 1024},
             {"MB", 1e6},
             {"GB", 1e9},
             {"TB", 1e12},
             {"GB/s", 1e9},
             {"FLOP", 1},
             {"MFLOP", 1e6},
             {"GFLOP", 1e9},
             {"TFLOP", 1e12},
             {"PFLOP", 1e15},
             {"TFLOP/s", 1e12},
             {"FLOP/B", 1},
             {"s", 1},
             {"ms", 1e-3},
             {"us", 1e-6},
             {"h", 3600},
             {"days", 86400},
             {"years", 365.25 * 86400},
             {"%", 0.01},
             {"x", 1},
             {"kW", 1e3},
             {"kWh", 3.6e6},
             {"t", 1e3},
             {"USD", 1},
             {"k USD", 1e3},
             {"M USD", 1e6},
             {"USD/h", 1},
             {"samples/s", 1},
             {"tokens/s", 1},
             {"GPUs", 1},
             {"runs", 1},
             {"samples", 1},
             {"tokens", 1},
             {"M", 1e6},
             {"B params", 1e9},
             {"months", 1},
             {"warps", 1},
             {"GPU-days", 1}};

/* ---- the file of examples ---- */

struct textbook_row {
    const char *key;               /* for other rows of the example; NULL: none asks */
    const char *what;              /* what people read */
    const char *unit;              /* NULL: none */
    const struct tsim_value *text; /* "153", "180 to 220", "more than 3"; NULL: the text gives no number */
    double tolerance_frac;
    int right;
    const struct tsim_value *value; /* an expression */
    const char *why;
};

struct textbook_spec {
    const char *id, *title, *problem;
    const struct textbook_row *rows;
    size_t n_rows;
};

struct textbook_file {
    const struct textbook_spec *specs;
    size_t n_specs;
};

static void keep_value(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    if (value && value->kind != TSIM_VALUE_SCALAR)
        tsim_schema_wrong_kind(reader, value, path, "a line of text");
    *(const struct tsim_value **)field = value;
}

static const struct tsim_word SCHEMA[] = {{"tsim/textbook/v1", 0}, {NULL, 0}};
static const struct tsim_word RIGHTS[] = {{"both", TSIM_TEXTBOOK_BOTH},
                                          {"tsim", TSIM_TEXTBOOK_TSIM},
                                          {"text", TSIM_TEXTBOOK_TEXT},
                                          {"unknown", TSIM_TEXTBOOK_NOBODY},
                                          {NULL, 0}};

const char *tsim_textbook_right_name(enum tsim_textbook_right right) {
    return tsim_word_of(RIGHTS, (int)right);
}

/* clang-format off */
#define AT(member) offsetof(struct textbook_row, member)
static const struct tsim_key ROW_KEYS[] = {
    {.key = "key", .kind = TSIM_KEY_STRING, .offset = AT(key), .help = "what other rows call it"},
    {.key = "what", .kind = TSIM_KEY_STRING, .offset = AT(what), .is_required = true, .help = "what the number is, for people"},
    {.key = "unit", .kind = TSIM_KEY_STRING, .offset = AT(unit), .help = "of both numbers; none: plain ones"},
    {.key = "text", .kind = TSIM_KEY_CUSTOM, .offset = AT(text), .read = keep_value, .help = "153, 180 to 220, or more than 3"},
    {.key = "tolerance", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FRACTION, .offset = AT(tolerance_frac), .default_text = "5 %",
     .max = 1, .help = "what rounding of the text explains"},
    {.key = "right", .kind = TSIM_KEY_ENUM, .offset = AT(right), .words = RIGHTS, .default_text = "both", .help = "where they differ"},
    {.key = "value", .kind = TSIM_KEY_CUSTOM, .offset = AT(value), .read = keep_value, .is_required = true, .help = "how tsim computes it"},
    {.key = "why", .kind = TSIM_KEY_STRING, .offset = AT(why), .help = "why they differ"},
};
#undef AT
TSIM_TABLE(ROW_TABLE, ROW_KEYS, false);

#define AT(member) offsetof(struct textbook_spec, member)
static const struct tsim_key EXAMPLE_KEYS[] = {
    {.key = "id", .kind = TSIM_KEY_STRING, .offset = AT(id), .is_required = true, .help = "what tsim textbook takes"},
    {.key = "title", .kind = TSIM_KEY_STRING, .offset = AT(title), .is_required = true, .help = "a heading"},
    {.key = "problem", .kind = TSIM_KEY_STRING, .offset = AT(problem), .is_required = true, .help = "what the text asks and says"},
    {.key = "rows", TSIM_LIST(struct textbook_spec, rows, n_rows, &ROW_TABLE), .is_required = true, .help = "its numbers"},
};
#undef AT
/* clang-format on */
TSIM_TABLE(EXAMPLE_TABLE, EXAMPLE_KEYS, false);

static const struct tsim_key FILE_KEYS[] = {
    {.key = "schema", .kind = TSIM_KEY_CONSTANT, .words = SCHEMA, .is_required = true, .help = "tsim/textbook/v1"},
    {.key = "examples",
     TSIM_LIST(struct textbook_file, specs, n_specs, &EXAMPLE_TABLE),
     .is_required = true,
     .help = "in the order of the text"},
};
TSIM_TABLE(FILE_TABLE, FILE_KEYS, false);

static enum tsim_status read_file(struct tsim_arena *arena, struct textbook_file *file, struct tsim_diags *diags) {
    struct tsim_reader reader = {.arena = arena, .diags = diags};
    const char *folder = tsim_catalogue_folder(arena);
    const struct tsim_value *root;
    size_t n_items = diags->n_items, n_errors = diags->n_errors;
    TSIM_TRY(tsim_document_read(
        arena, tsim_arena_printf(arena, "%s/scenarios/textbook/examples/examples.yaml", folder ? folder : "."), &root,
        diags));
    *file = (struct textbook_file){NULL, 0};
    tsim_schema_read(&reader, &FILE_TABLE, root, "", file);
    return diags->n_errors > n_errors ? tsim_diags_status(diags, n_items) : TSIM_OK;
}

enum tsim_status tsim_textbook_ids(struct tsim_arena *arena, const char *const **ids, size_t *n,
                                   struct tsim_diags *diags) {
    struct textbook_file file;
    TSIM_TRY(read_file(arena, &file, diags));
    const char **names = TSIM_NEW_ARRAY(arena, file.n_specs, const char *);
    for (size_t i = 0; i < file.n_specs; i++)
        names[i] = file.specs[i].id;
    *ids = names;
    *n = file.n_specs;
    return TSIM_OK;
}

/* ---- runs: each once, whatever asks for it ---- */

struct textbook_run {
    const char *of;
    const struct tsim_scenario *scenario;
    struct tsim_prediction prediction;
    struct tsim_outcome outcome;
    struct textbook_run *next;
};

struct computing {
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    struct textbook_run *runs;
    const struct textbook_spec *spec;
    double *values_si; /* of the rows of the spec so far */
    size_t n_values;   /* how many */
};

/* Splits "gpt2 training.precision=fp16 cluster.nodes=2" into the scenario's name and the overrides. */
static size_t split_run(struct tsim_arena *arena, const char *of, const char **name, struct tsim_override **overrides) {
    size_t n = 0, length = strcspn(of, " ");
    *name = tsim_arena_strndup(arena, of, length);
    *overrides = TSIM_NEW_ARRAY(arena, strlen(of) + 1, struct tsim_override);
    for (of += length; *of; of += length) {
        length = strcspn(++of, " ");
        size_t path = strcspn(of, "=");
        if (path >= length)
            continue; /* two blanks */
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
    TSIM_TRY(tsim_train_run(c->arena, run->scenario, &options, &run->prediction.result, c->diags));
    tsim_outcome_of(&run->prediction, &run->outcome);
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

/* ---- expressions: + - * / with their usual precedence, parentheses, numbers and the functions below ----
 *
 *     (figure([gpt2]; memory.weights_bytes) + row(gradients)) / 1e9
 *
 * Arguments are texts with semicolons between them; a run is a scenario of scenarios/textbook in square brackets, with
 * what is set in it: [gpt2 training.precision=fp16]. Values are in SI; the result is divided by what the row's unit
 * stands for. */

enum { MOST_ARGUMENTS = 8 };

struct expression {
    struct computing *computing;
    const struct tsim_value *value; /* its place in the file */
    const char *at;
};

static enum tsim_status wrong(const struct expression *e, const char *what, const char *name) {
    tsim_value_error(e->computing->diags, TSIM_ERR_REFERENCE, e->value, e->computing->spec->id, "%s '%s'", what, name);
    return TSIM_ERR_REFERENCE;
}

typedef enum tsim_status (*function_fn)(const struct expression *e, const char *const *arguments, double *value);

/* Finds the run for the text between its brackets. */
static enum tsim_status run_of(const struct expression *e, const char *argument, struct textbook_run **run) {
    size_t length = strlen(argument);
    if (length < 3 || argument[0] != '[' || argument[length - 1] != ']')
        return wrong(e, "expected a run in square brackets, found", argument);
    return find_run(e->computing, tsim_arena_strndup(e->computing->arena, argument + 1, length - 2), run);
}

static enum tsim_status numbers_of(const struct expression *e, const char *const *arguments, size_t n,
                                   double *numbers) {
    for (size_t i = 0; i < n; i++) {
        char *end;
        numbers[i] = strtod(arguments[i], &end);
        if (end == arguments[i] || *end)
            return wrong(e, "expected a number, found", arguments[i]);
    }
    return TSIM_OK;
}

static enum tsim_status figure_value(const struct expression *e, const char *const *arguments, double *value) {
    enum tsim_outcome_figure figure;
    const char *near;
    struct textbook_run *run = NULL;
    TSIM_TRY(run_of(e, arguments[0], &run));
    if (!tsim_outcome_find(arguments[1], &figure, &near))
        return wrong(e, "there is no figure", arguments[1]);
    *value = run->outcome.value[figure];
    return TSIM_OK;
}

/* Returns whether the operator's name, "norm 1 (forward)", ends as asked for: wholly, or in "(forward)". */
static bool is_meant(const char *name, const char *which) {
    size_t length = strlen(name), end = strlen(which);
    return strcmp(name, which) == 0 || (which[0] == '(' && length > end && strcmp(name + length - end, which) == 0);
}

/* Returns a value over a step, of one operator, "attention qkv (forward)", or of all whose names end alike,
 * "(forward)". */
static enum tsim_status operator_value(const struct expression *e, const char *const *arguments, double *value) {
    static const char *const QUANTITIES[] = {"flop", "vector flop", "bytes",
                                             "time"}; /* vector: outside the matrix units */
    struct textbook_run *run = NULL;
    size_t quantity = 0;
    bool is_found = false;
    TSIM_TRY(run_of(e, arguments[0], &run));
    while (quantity < 4 && strcmp(QUANTITIES[quantity], arguments[2]) != 0)
        quantity++;
    if (quantity == 4)
        return wrong(e, "expected flop, vector flop, bytes or time, found", arguments[2]);
    *value = 0;
    for (int32_t i = 0; i < run->prediction.result.step.n_operators; i++) {
        const struct tsim_operator_row *row = &run->prediction.result.step.operators[i];
        if (is_meant(row->name, arguments[1])) {
            const double quantities[] = {row->flops, row->vector_flops, row->bytes, row->time_s};
            *value += quantities[quantity];
            is_found = true;
        }
    }
    return is_found ? TSIM_OK : wrong(e, "the run has no operator", arguments[1]);
}

/* Bytes of a tensor that a layer keeps for its backward pass, or of "all". */
static enum tsim_status kept_value(const struct expression *e, const char *const *arguments, double *value) {
    struct tsim_kept kept;
    struct textbook_run *run = NULL;
    TSIM_TRY(run_of(e, arguments[0], &run));
    enum tsim_part first = tsim_model_layer(run->scenario->model, 0);
    if (strcmp(arguments[1], "all") == 0) {
        *value = tsim_layer_activation_bytes(run->scenario, first);
        return TSIM_OK;
    }
    tsim_layer_activations(run->scenario, first, &kept);
    for (int32_t i = 0; i < kept.n; i++)
        if (strcmp(kept.rows[i].name, arguments[1]) == 0) {
            *value = kept.rows[i].bytes;
            return TSIM_OK;
        }
    return wrong(e, "no layer of the run keeps", arguments[1]);
}

static enum tsim_status input_buffers_value(const struct expression *e, const char *const *arguments, double *value) {
    struct textbook_run *run = NULL;
    TSIM_TRY(run_of(e, arguments[0], &run));
    *value = tsim_data_host_bytes(run->scenario);
    return TSIM_OK;
}

/* Reads a value of a catalogue file: accelerator/v100-32gb; peak.fp16 */
static enum tsim_status hardware_value(const struct expression *e, const char *const *arguments, double *value) {
    struct computing *c = e->computing;
    size_t kind_length = strcspn(arguments[0], "/");
    const struct tsim_catalogue_entry *entries;
    enum tsim_catalogue_kind kind;
    size_t n;
    if (arguments[0][kind_length] == '\0' ||
        !tsim_catalogue_find_kind(tsim_arena_strndup(c->arena, arguments[0], kind_length), &kind))
        return wrong(e, "expected KIND/ID of the catalogue, found", arguments[0]);
    TSIM_TRY(tsim_catalogue_describe(c->arena, kind, arguments[0] + kind_length + 1, &entries, &n, c->diags));
    for (size_t i = 0; i < n; i++)
        if (strcmp(entries[i].key, arguments[1]) == 0) {
            *value = entries[i].number;
            return TSIM_OK;
        }
    return wrong(e, "the catalogue's file has no", arguments[1]);
}

/* Computes the seconds of a matrix product: accelerator; precision; batch; m; n; k */
static enum tsim_status product_value(const struct expression *e, const char *const *arguments, double *value) {
    const struct tsim_accelerator *accelerator;
    double x[4];
    TSIM_TRY(numbers_of(e, arguments + 2, 4, x));
    TSIM_TRY(tsim_catalogue_load_accelerator(e->computing->arena, arguments[0], &accelerator, e->computing->diags));
    for (int p = 0; p < TSIM_N_PRECISIONS; p++)
        if (strcmp(tsim_precision_name((enum tsim_precision)p), arguments[1]) == 0) {
            *value = tsim_gemm_s(accelerator, (enum tsim_precision)p, x[0], x[1], x[2], x[3]);
            return TSIM_OK;
        }
    return wrong(e, "expected a precision, found", arguments[1]);
}

/* Simulates one accelerator with storage and a link of one byte a second, so that bytes are the seconds that they take. */
static enum tsim_status simulate_input_pipeline(const struct expression *e, const char *const *arguments,
                                                struct tsim_input_pipeline_flow *flow) {
    double x[7];
    TSIM_TRY(numbers_of(e, arguments, 7, x));
    int32_t n_batches = (int32_t)x[6];
    double *gaps_s = TSIM_NEW_ARRAY(e->computing->arena, (size_t)n_batches + 1, double);
    const struct tsim_input_pipeline pipeline = {.read_bytes = x[0],
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
    return tsim_input_pipeline_simulate(e->computing->arena, &pipeline, flow, e->computing->diags);
}

/* Seconds of a step that an input pipeline feeds: those in which a batch is read, transformed by one core, copied and
 * computed; workers; batches ahead; batches */
static enum tsim_status step_value(const struct expression *e, const char *const *arguments, double *value) {
    struct tsim_input_pipeline_flow flow;
    TSIM_TRY(simulate_input_pipeline(e, arguments, &flow));
    *value = flow.step_s;
    return TSIM_OK;
}

/* Returns the first step alone, which begins with empty buffers. */
static enum tsim_status first_step_value(const struct expression *e, const char *const *arguments, double *value) {
    struct tsim_input_pipeline_flow flow;
    TSIM_TRY(simulate_input_pipeline(e, arguments, &flow));
    *value = flow.first_step_s;
    return TSIM_OK;
}

static enum tsim_status ring_all_reduce_value(const struct expression *e, const char *const *arguments, double *value) {
    double x[4];
    TSIM_TRY(numbers_of(e, arguments, 4, x));
    *value = tsim_ring_all_reduce_s(x[0], x[1], x[2], x[3]);
    return TSIM_OK;
}

/* Finds an earlier row of the example. */
static bool find_row(const struct computing *c, const char *key, size_t *found) {
    for (*found = 0; *found < c->n_values; (*found)++)
        if (c->spec->rows[*found].key && strcmp(c->spec->rows[*found].key, key) == 0)
            return true;
    return false;
}

static enum tsim_status row_value(const struct expression *e, const char *const *arguments, double *value) {
    size_t row;
    if (!find_row(e->computing, arguments[0], &row))
        return wrong(e, "no row before this one has the key", arguments[0]);
    *value = e->computing->values_si[row];
    return TSIM_OK;
}

static const struct {
    const char *name;
    size_t n_arguments;
    function_fn call;
} FUNCTIONS[] = {{"figure", 2, figure_value},
                 {"operator", 3, operator_value},
                 {"kept", 2, kept_value},
                 {"input_buffers", 1, input_buffers_value},
                 {"hardware", 2, hardware_value},
                 {"product", 6, product_value},
                 {"feed", 7, step_value},
                 {"first_feed", 7, first_step_value},
                 {"ring_all_reduce", 4, ring_all_reduce_value},
                 {"row", 1, row_value}};
enum { N_FUNCTIONS = sizeof FUNCTIONS / sizeof FUNCTIONS[0] };

static void skip_blanks(struct expression *e) {
    e->at += strspn(e->at, " ");
}

/* Reads the texts between this parenthesis and the one that closes it. */
static enum tsim_status read_arguments(struct expression *e, const char **arguments, size_t *n) {
    int depth = 1;
    *n = 0;
    const char *began = ++e->at;
    for (;; e->at++) {
        depth += (*e->at == '(') - (*e->at == ')');
        bool ends = depth == 0, separates = *e->at == ';' && depth == 1;
        if (*e->at == '\0' || (separates && *n + 1 == MOST_ARGUMENTS))
            return wrong(e, "the arguments do not end:", began);
        if (!ends && !separates)
            continue;
        began += strspn(began, " ");
        arguments[(*n)++] = tsim_arena_strndup(e->computing->arena, began, (size_t)(e->at - began));
        began = e->at + 1;
        if (ends)
            break;
    }
    e->at++;
    return TSIM_OK;
}

static enum tsim_status read_sum(struct expression *e, double *value);

static enum tsim_status read_factor(struct expression *e, double *value) {
    char *end;
    skip_blanks(e);
    if (*e->at == '(') {
        e->at++;
        TSIM_TRY(read_sum(e, value));
        skip_blanks(e);
        return *e->at++ == ')' ? TSIM_OK : wrong(e, "a parenthesis is not closed in", e->value->text);
    }
    *value = strtod(e->at, &end);
    if (end > e->at) {
        e->at = end;
        return TSIM_OK;
    }
    size_t length = strspn(e->at, "abcdefghijklmnopqrstuvwxyz_");
    const char *name = tsim_arena_strndup(e->computing->arena, e->at, length), *arguments[MOST_ARGUMENTS];
    size_t n;
    for (size_t i = 0; i < N_FUNCTIONS && e->at[length] == '('; i++)
        if (strcmp(FUNCTIONS[i].name, name) == 0) {
            e->at += length;
            TSIM_TRY(read_arguments(e, arguments, &n));
            if (n != FUNCTIONS[i].n_arguments)
                return wrong(e, "too many or too few arguments of", name);
            return FUNCTIONS[i].call(e, arguments, value);
        }
    return wrong(e, "expected a number or a function, found", e->at);
}

static enum tsim_status read_product(struct expression *e, double *value) {
    double factor;
    TSIM_TRY(read_factor(e, value));
    for (skip_blanks(e); *e->at == '*' || *e->at == '/'; skip_blanks(e)) {
        char operation = *e->at++;
        TSIM_TRY(read_factor(e, &factor));
        *value = operation == '*' ? *value * factor : *value / factor;
    }
    return TSIM_OK;
}

static enum tsim_status read_sum(struct expression *e, double *value) {
    double summand;
    TSIM_TRY(read_product(e, value));
    for (skip_blanks(e); *e->at == '+' || *e->at == '-'; skip_blanks(e)) {
        char operation = *e->at++;
        TSIM_TRY(read_product(e, &summand));
        *value = operation == '+' ? *value + summand : *value - summand;
    }
    return TSIM_OK;
}

static enum tsim_status evaluate(struct computing *c, const struct tsim_value *value, double *si) {
    struct expression e = {c, value, value->text};
    TSIM_TRY(read_sum(&e, si));
    return *e.at == '\0' ? TSIM_OK : wrong(&e, "expected + - * or /, found", e.at);
}

/* Returns the expression, with the numbers of rows in place of their keys, as readers see them. */
static const char *how_text(const struct computing *c, const char *expression) {
    static const char CALL[] = "row(";
    const char *text = "", *found;
    for (; (found = strstr(expression, CALL)); expression += strcspn(expression, ")") + 1) {
        size_t row;
        const char *key = found + sizeof CALL - 1;
        text = tsim_arena_printf(c->arena, "%s%.*s", text, (int)(found - expression), expression);
        find_row(c, tsim_arena_strndup(c->arena, key, strcspn(key, ")")), &row);
        text = tsim_arena_printf(c->arena, "%srow %zu", text, row + 1);
        expression = found;
    }
    return tsim_arena_printf(c->arena, "%s%s", text, expression);
}

/* ---- rows and examples ---- */

static enum tsim_status unit_si(struct computing *c, const struct textbook_row *row, double *si) {
    *si = 1;
    if (!row->unit)
        return TSIM_OK;
    for (size_t i = 0; i < sizeof UNITS / sizeof UNITS[0]; i++)
        if (strcmp(UNITS[i].name, row->unit) == 0) {
            *si = UNITS[i].si;
            return TSIM_OK;
        }
    tsim_value_error(c->diags, TSIM_ERR_UNIT, row->value, c->spec->id, "unknown unit '%s'", row->unit);
    return TSIM_ERR_UNIT;
}

/* Reads "153" as both ends, "180 to 220", and "more than 3" as up to infinity; without a text both are NAN. */
static enum tsim_status text_range(struct computing *c, const struct tsim_value *text, double *from, double *to) {
    static const char MORE[] = "more than ";
    *from = *to = (double)NAN;
    if (!text)
        return TSIM_OK;
    bool is_open = strncmp(text->text, MORE, sizeof MORE - 1) == 0;
    char *end;
    *from = strtod(text->text + (is_open ? sizeof MORE - 1 : 0), &end);
    *to = is_open ? (double)INFINITY : *from;
    if (!is_open && strncmp(end, " to ", 4) == 0)
        *to = strtod(end + 4, &end);
    if (*end == '\0' && *to >= *from)
        return TSIM_OK;
    tsim_value_error(c->diags, TSIM_ERR_SYNTAX, text, c->spec->id,
                     "expected 153, 180 to 220 or more than 3, found '%s'", text->text);
    return TSIM_ERR_SYNTAX;
}

/* Returns the difference from the nearer end of the text's range; 0 within it. */
static double difference_frac(double from, double to, double tsim) {
    if (isnan(from))
        return (double)NAN;
    if (tsim >= from && tsim <= to)
        return 0;
    double nearer = tsim < from ? from : to;
    return nearer == 0 ? (double)INFINITY : tsim / nearer - 1;
}

static enum tsim_status compute_row(struct computing *c, size_t i, struct tsim_textbook_value *value) {
    const struct textbook_row *row = &c->spec->rows[i];
    double unit, from, to;
    c->n_values = i;
    TSIM_TRY(unit_si(c, row, &unit));
    TSIM_TRY(text_range(c, row->text, &from, &to));
    TSIM_TRY(evaluate(c, row->value, &c->values_si[i]));
    *value = (struct tsim_textbook_value){.what = row->what,
                                          .unit = row->unit ? row->unit : "",
                                          .text = from,
                                          .text_to = to,
                                          .tsim = c->values_si[i] / unit,
                                          .right = (enum tsim_textbook_right)row->right,
                                          .why = row->why,
                                          .how = how_text(c, row->value->text)};
    value->difference_frac = difference_frac(from, to, value->tsim);
    value->agrees = isnan(from) || fabs(value->difference_frac) <= row->tolerance_frac;
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
    struct textbook_file file;
    TSIM_TRY(read_file(arena, &file, diags));
    struct tsim_textbook_example *examples = TSIM_NEW_ARRAY(arena, file.n_specs, struct tsim_textbook_example);
    struct tsim_textbook computed = {.examples = examples};
    for (size_t i = 0; i < file.n_specs; i++) {
        if (id && strcmp(file.specs[i].id, id) != 0)
            continue;
        TSIM_TRY(compute_example(&c, &file.specs[i], &examples[computed.n_examples]));
        count_example(&computed, &examples[computed.n_examples++]);
    }
    *textbook = computed;
    return TSIM_OK;
}
