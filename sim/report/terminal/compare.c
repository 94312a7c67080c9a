#include "report/terminal/compare.h"

#include "base/among.h"
#include "config/text/document.h"
#include "results/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* People are shown at most so many inputs, columns of a value, and columns of the waterfall. */
enum { MOST_INPUTS = 40, VALUE_COLUMNS = 22, FALL_COLUMNS = 14 };

/* ---- inputs ---- */

struct inputs {
    struct tsim_arena *arena;
    struct tsim_figures *figures;
};

static const char *text_of(struct tsim_arena *arena, const struct tsim_value *value) {
    if (!value)
        return "-";
    if (tsim_value_find(value, "value")) /* {value: 0.9, status: estimate} */
        return text_of(arena, tsim_value_find(value, "value"));
    if (value->kind == TSIM_VALUE_SCALAR)
        return value->text;
    const char *text = "";
    for (size_t i = 0; i < value->n_items; i++) {
        const struct tsim_value *item = value->kind == TSIM_VALUE_SEQUENCE ? value->items[i] : value->pairs[i].value;
        const char *key = value->kind == TSIM_VALUE_MAPPING ? value->pairs[i].key : NULL;
        text = tsim_arena_printf(arena, "%s%s%s%s%s", text, i ? ", " : "", key ? key : "", key ? ": " : "",
                                 text_of(arena, item));
    }
    return tsim_arena_printf(arena, value->kind == TSIM_VALUE_SEQUENCE ? "[%s]" : "{%s}", text);
}

/* Returns "2.95 USD/h" for "0.00081944 USD/s", as scenarios write it, and "30000 USD" in full. */
static const char *rate_text(struct tsim_arena *arena, double number, const char *unit) {
    static const struct {
        const char *unit, *usual;
        double factor;
    } RATES[] = {{"USD/s", "USD/h", TSIM_HOUR_S},
                 {"USD/J", "USD/kWh", TSIM_KWH_J},
                 {"kg/J", "kg/kWh", TSIM_KWH_J},
                 {"/s", "/h", TSIM_HOUR_S}};
    for (size_t i = 0; i < sizeof RATES / sizeof RATES[0]; i++)
        if (strcmp(unit, RATES[i].unit) == 0)
            return tsim_arena_printf(arena, "%.4g %s", number * RATES[i].factor, RATES[i].usual);
    return strcmp(unit, "USD") == 0 && number >= 1000 ? tsim_arena_printf(arena, "%.0f USD", number) : NULL;
}

/* Returns "6.58 years" for "207731520 s" and "2.00 T" for "2e+12"; NULL for what is neither a long time nor a large
 * number. */
static const char *large_text(struct tsim_arena *arena, double number, const char *unit) {
    char text[48];
    bool is_time = strcmp(unit, "s") == 0;
    if (!(number >= (is_time ? 60 : 1e6)) || (!is_time && *unit))
        return NULL;
    return tsim_arena_strdup(arena, tsim_quantity_human(number, is_time ? TSIM_TIME_S : TSIM_COUNT, text, sizeof text));
}

/* Returns "50 GB/s" for "50000000000 B/s", and other texts as they are. */
static const char *scaled_text(struct tsim_arena *arena, const char *text) {
    static const char *const UNITS[] = {"s", "B", "B/s", "b/s", "W", "J", "FLOP/s", "Hz"};
    char *unit;
    double number = strtod(text, &unit);
    if (unit == text || (*unit && *unit != ' '))
        return text;
    unit += *unit == ' ';
    const char *rate = rate_text(arena, number, unit), *large = large_text(arena, number, unit);
    if (rate || large)
        return rate ? rate : large;
    if (!*unit)
        return text;
    const char *prefix = TSIM_IS_AMONG(unit, UNITS) ? tsim_quantity_prefix(&number, 999.95) : "";
    return tsim_arena_printf(arena, "%.4g %s%s", number, prefix, unit);
}

static const char *short_text(struct tsim_arena *arena, const char *text) {
    text = scaled_text(arena, text);
    return tsim_text_cut_short(arena, text, VALUE_COLUMNS);
}

/* Returns whether the path is told elsewhere, or is not an input of the simulation. */
static bool is_told(const char *path) {
    const char *last = strrchr(path, '.');
    return TSIM_IS_ONE_OF(path, "name", "description", "measured", "schema", "derived") ||
           (last && strcmp(last, ".source") == 0);
}

/* Returns whether the value has keys of its own, and is not one value with its source; nothing counts as an empty
 * one. */
static bool is_section(const struct tsim_value *value) {
    return !value || (value->kind == TSIM_VALUE_MAPPING && !tsim_value_find(value, "value"));
}

/* Mappings key by key, those of both in A's order, then those of B alone; everything else as a whole. */
static void add_differences(const struct inputs *inputs, const char *path, const struct tsim_value *a,
                            const struct tsim_value *b) {
    bool are_mappings = is_section(a) && is_section(b);
    if (is_told(path))
        return;
    if (!are_mappings) {
        const char *text_a = text_of(inputs->arena, a), *text_b = text_of(inputs->arena, b);
        if (strcmp(text_a, text_b) == 0)
            return;
        tsim_figures_add_text(inputs->figures, path);
        tsim_figures_add_text(inputs->figures, short_text(inputs->arena, text_a));
        tsim_figures_add_text(inputs->figures, short_text(inputs->arena, text_b));
        tsim_figures_add_text(inputs->figures, text_a);
        tsim_figures_add_text(inputs->figures, text_b);
        return;
    }
    const char *dot = path[0] ? "." : "";
    for (size_t i = 0; a && i < a->n_items; i++)
        add_differences(inputs, tsim_arena_printf(inputs->arena, "%s%s%s", path, dot, a->pairs[i].key),
                        a->pairs[i].value, b ? tsim_value_find(b, a->pairs[i].key) : NULL);
    for (size_t i = 0; b && i < b->n_items; i++)
        if (!a || !tsim_value_find(a, b->pairs[i].key))
            add_differences(inputs, tsim_arena_printf(inputs->arena, "%s%s%s", path, dot, b->pairs[i].key), NULL,
                            b->pairs[i].value);
}

/* Parses a resolved scenario, which is JSON and therefore YAML. */
static const struct tsim_value *tree_of(struct tsim_arena *arena, const struct tsim_side *side) {
    const char *text = tsim_scenario_json(arena, side->prediction->result.scenario);
    const struct tsim_value *root = NULL;
    enum tsim_status status = tsim_document_parse(arena, side->name, text, strlen(text), &root, TSIM_UNHEARD);
    TSIM_ASSERT(status == TSIM_OK);
    return root;
}

static void find_inputs(struct tsim_arena *arena, struct tsim_comparison *c) {
    static const struct tsim_figure_column COLUMNS[] = {{"input", "path", TSIM_FIGURE_PATH},
                                                        {"A", NULL, TSIM_FIGURE_TEXT},
                                                        {"B", NULL, TSIM_FIGURE_TEXT},
                                                        {NULL, "a", TSIM_FIGURE_TEXT},
                                                        {NULL, "b", TSIM_FIGURE_TEXT}};
    tsim_figures_init(&c->inputs, arena, "inputs", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    struct inputs inputs = {arena, &c->inputs};
    add_differences(&inputs, "", tree_of(arena, &c->a), tree_of(arena, &c->b));
}

/* ---- outputs ---- */

/* Draws a bar from one sum of the changes so far to the next, on the range of all sums: full if time is added, hatched
 * if it is saved. The last bar, the step's, goes from the beginning to the end. */
static const char *fall_text(struct tsim_arena *arena, double from, double to, double low, double high) {
    double scale = high > low ? FALL_COLUMNS / (high - low) : 0;
    int first = (int)lround((fmin(from, to) - low) * scale), last = (int)lround((fmax(from, to) - low) * scale);
    if (last == first && from != to)
        last = first < FALL_COLUMNS ? first + 1 : first;
    first -= last == first && from != to;
    char bar[3 * FALL_COLUMNS + 1] = "";
    for (int i = first; i < last; i++)
        strcat(bar, to > from ? "\u2588" : "\u2592");
    return last > first ? tsim_arena_printf(arena, "%*s%s", first, "", bar) : "";
}

/* Finds the lowest and highest sum of the changes so far, with A's step as 0. */
static void find_range(const struct tsim_outcome *a, const struct tsim_outcome *b, double *low, double *high) {
    double sum = 0;
    *low = *high = 0;
    for (int i = 0; i < TSIM_N_STEP_TERMS; i++) {
        sum += b->value[tsim_step_terms[i].figure] - a->value[tsim_step_terms[i].figure];
        *low = fmin(*low, sum);
        *high = fmax(*high, sum);
    }
}

static void find_waterfall(struct tsim_arena *arena, const struct tsim_outcome *a, const struct tsim_outcome *b,
                           struct tsim_comparison *c) {
    static const struct tsim_figure_column COLUMNS[] = {{"where the step goes", "term", TSIM_FIGURE_TEXT},
                                                        {"A", "a_s", TSIM_FIGURE_SECONDS},
                                                        {"B", "b_s", TSIM_FIGURE_SECONDS},
                                                        {"B - A", "change_s", TSIM_FIGURE_SECONDS},
                                                        {"of step", "change_of_step", TSIM_FIGURE_CHANGE},
                                                        {"+\u2588 -\u2592", NULL, TSIM_FIGURE_TEXT}};
    tsim_figures_init(&c->waterfall, arena, "waterfall", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    double step_s = a->value[TSIM_OUTCOME_STEP_TIME], sum_s = 0, low_s, high_s;
    find_range(a, b, &low_s, &high_s);
    for (int i = 0; i <= TSIM_N_STEP_TERMS && !isnan(c->step_change_frac); i++) {
        bool is_step = i == TSIM_N_STEP_TERMS;
        enum tsim_outcome_figure figure = is_step ? TSIM_OUTCOME_STEP_TIME : tsim_step_terms[i].figure;
        double from = a->value[figure], to = b->value[figure];
        if (!(fmax(from, to) > TSIM_ROUNDING_FRAC * step_s))
            continue;
        tsim_figures_add_text(&c->waterfall, is_step ? "step" : tsim_step_terms[i].name);
        tsim_figures_add(&c->waterfall, from);
        tsim_figures_add(&c->waterfall, to);
        tsim_figures_add(&c->waterfall, to - from);
        tsim_figures_add(&c->waterfall, (to - from) / step_s);
        double before_s = is_step ? 0 : sum_s, after_s = is_step ? to - from : sum_s + to - from;
        tsim_figures_add_text(&c->waterfall, fall_text(arena, before_s, after_s, low_s, high_s));
        sum_s = after_s;
    }
}

static void find_outputs(struct tsim_arena *arena, const struct tsim_outcome *a, const struct tsim_outcome *b,
                         struct tsim_comparison *c) {
    static const struct tsim_figure_column COLUMNS[] = {
        {"figure", "figure", TSIM_FIGURE_TEXT}, {"A", "a_text", TSIM_FIGURE_TEXT},
        {"B", "b_text", TSIM_FIGURE_TEXT},      {NULL, "a", TSIM_FIGURE_NUMBER},
        {NULL, "b", TSIM_FIGURE_NUMBER},        {"change", "change", TSIM_FIGURE_CHANGE}};
    tsim_figures_init(&c->outputs, arena, "outputs", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (enum tsim_outcome_figure figure = 0; figure < TSIM_N_OUTCOMES; figure++) {
        const struct tsim_outcome_spec *spec = tsim_outcome_spec(figure);
        /* Days, money and energy of the whole run, which points do not have, are told, too. */
        bool is_likely = figure >= TSIM_OUTCOME_DAYS_LIKELY_P10 && figure <= TSIM_OUTCOME_ENERGY_LIKELY_P90;
        double values[] = {a->value[figure], b->value[figure]};
        bool is_same = (isnan(values[0]) && isnan(values[1])) || fabs(values[1] - values[0]) <= 0;
        if (is_same || tsim_step_term(figure) || !(is_likely || spec->column->name))
            continue;
        tsim_figures_add_text(&c->outputs, spec->name);
        for (int k = 0; k < 2; k++) {
            char text[64];
            tsim_figures_add_text(&c->outputs,
                                  tsim_arena_strdup(arena, tsim_outcome_text(figure, values[k], text, sizeof text)));
        }
        tsim_figures_add(&c->outputs, values[0]);
        tsim_figures_add(&c->outputs, values[1]);
        tsim_figures_add(&c->outputs, fabs(values[0]) > 0 ? values[1] / values[0] - 1 : (double)NAN);
    }
}

static bool is_a_name(const char *path) {
    size_t length = strlen(path), own = strlen(".name");
    return length > own && strcmp(path + length - own, ".name") == 0;
}

/* Says why two runs whose inputs differ have the same figures. */
static const char *why_alike(const struct tsim_figures *inputs) {
    for (size_t i = 0; i < inputs->n_cells; i += inputs->n_columns)
        if (!is_a_name(inputs->cells[i].text))
            return "tsim cannot tell A and B apart: nothing that differs between them has an effect on this run";
    return "tsim cannot tell A and B apart: all that it knows of them is the same, but for names and sources";
}

void tsim_comparison_build(struct tsim_arena *arena, const struct tsim_side *a, const struct tsim_side *b,
                           struct tsim_comparison *comparison) {
    struct tsim_outcome from, to;
    *comparison = (struct tsim_comparison){.a = *a, .b = *b, .step_change_frac = (double)NAN};
    tsim_outcome_of(a->prediction, &from);
    tsim_outcome_of(b->prediction, &to);
    if (a->prediction->result.step.simulated && b->prediction->result.step.simulated)
        comparison->step_change_frac = to.value[TSIM_OUTCOME_STEP_TIME] / from.value[TSIM_OUTCOME_STEP_TIME] - 1;
    find_inputs(arena, comparison);
    find_waterfall(arena, &from, &to, comparison);
    find_outputs(arena, &from, &to, comparison);
    if (!isnan(comparison->step_change_frac) && comparison->inputs.n_cells > 0 && tsim_outcomes_are_alike(&from, &to))
        comparison->alike = why_alike(&comparison->inputs);
}

/* ---- printing ---- */

static const char *interval_text(const struct tsim_uncertainty *u, char *buffer, size_t size) {
    char text[96];
    buffer[0] = '\0';
    if (u->basis)
        snprintf(buffer, size, " (%s: %s)",
                 tsim_interval_text(u->step_time_low_s, u->step_time_high_s, text, sizeof text), u->basis);
    return buffer;
}

static void print_side(FILE *out, const struct tsim_style *style, const char *letter, const struct tsim_side *side) {
    char name[256] = "", text[64], interval[256], line[1024];
    if (strcmp(side->name, side->prediction->result.scenario->name) != 0)
        snprintf(name, sizeof name, " (%s)", side->prediction->result.scenario->name);
    if (side->prediction->result.step.simulated)
        snprintf(line, sizeof line, "%s%s: step %s%s", side->name, name,
                 tsim_quantity_human(side->prediction->result.step.terms.time_s, TSIM_TIME_S, text, sizeof text),
                 interval_text(&side->prediction->uncertainty, interval, sizeof interval));
    else
        snprintf(line, sizeof line, "%s%s: does not fit in memory", side->name, name);
    fprintf(out, "%s  ", letter);
    tsim_text_wrap(out, style, 3, line);
}

void tsim_comparison_print(FILE *out, const struct tsim_style *style, const struct tsim_comparison *comparison) {
    struct tsim_figures inputs = comparison->inputs;
    size_t n_inputs = inputs.n_cells / inputs.n_columns;
    char text[64];
    print_side(out, style, "A", &comparison->a);
    print_side(out, style, "B", &comparison->b);
    tsim_text_heading(out, style, n_inputs ? "what differs in the inputs" : "the inputs are the same");
    if (n_inputs > MOST_INPUTS)
        inputs.n_cells = MOST_INPUTS * inputs.n_columns;
    if (n_inputs > 0)
        tsim_figures_print(&inputs, style, out);
    if (n_inputs > MOST_INPUTS)
        fprintf(out, "and %zu more (--csv and --json have all)\n", n_inputs - MOST_INPUTS);
    if (!isnan(comparison->step_change_frac)) {
        tsim_text_heading(out, style, "from A's step to B's");
        tsim_figures_print(&comparison->waterfall, style, out);
    }
    tsim_text_heading(out, style, comparison->outputs.n_cells ? "what that changes" : "nothing changes in the outputs");
    if (comparison->outputs.n_cells > 0)
        tsim_figures_print(&comparison->outputs, style, out);
    if (comparison->alike)
        tsim_text_wrap(out, style, 0, comparison->alike);
    if (comparison->step_change_frac > 1)
        fprintf(out, "\nB's step takes %.3g times as long as A's\n", 1 + comparison->step_change_frac);
    else if (fabs(comparison->step_change_frac) < 5e-4)
        fputs("\nB's step takes as long as A's\n", out);
    else if (!isnan(comparison->step_change_frac))
        fprintf(out, "\nB's step takes %s %s than A's\n",
                tsim_percent_text(fabs(comparison->step_change_frac), text, sizeof text),
                comparison->step_change_frac < 0 ? "less" : "longer");
    if (comparison->sensitivity.n_cells > 0) {
        tsim_text_heading(out, style, "time per token if one input moves by a tenth (B's over A's)");
        tsim_figures_print(&comparison->sensitivity, style, out);
    }
    if (comparison->verdict)
        tsim_text_wrap(out, style, 0, comparison->verdict);
}

void tsim_comparison_print_csv(FILE *out, const struct tsim_comparison *comparison) {
    tsim_figures_print_csv(&comparison->inputs, out);
    fputc('\n', out);
    tsim_figures_print_csv(&comparison->waterfall, out);
    fputc('\n', out);
    tsim_figures_print_csv(&comparison->outputs, out);
    if (comparison->sensitivity.n_cells == 0)
        return;
    fputc('\n', out);
    tsim_figures_print_csv(&comparison->sensitivity, out);
}

struct tsim_json *tsim_comparison_json(const struct tsim_comparison *comparison) {
    struct tsim_json *root = tsim_json_new_object();
    tsim_json_text(root, "schema", "tsim/compare/v1");
    tsim_json_text(root, "a", comparison->a.name);
    tsim_json_text(root, "b", comparison->b.name);
    tsim_json_number(root, "step_change", comparison->step_change_frac);
    tsim_figures_json(&comparison->inputs, root);
    tsim_figures_json(&comparison->waterfall, root);
    tsim_figures_json(&comparison->outputs, root);
    if (comparison->alike)
        tsim_json_text(root, "alike", comparison->alike);
    if (comparison->sensitivity.n_cells > 0)
        tsim_figures_json(&comparison->sensitivity, root);
    if (comparison->verdict)
        tsim_json_text(root, "verdict", comparison->verdict);
    return root;
}
