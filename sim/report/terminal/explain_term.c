#include "report/terminal/explain_term.h"

#include "report/terminal/figures.h"
#include "results/format.h"
#include "results/outcome.h"

#include <math.h>
#include <string.h>

enum { TEXT_BYTES = 64, VALUE_COLUMNS = 13, NARROW = 80, MOST_SOURCES = 128 };

/* ---- by name ---- */

/* For a figure without a formula, the term says what it is. */
static const struct tsim_term *without_formula(struct tsim_term_recorder *recorder,
                                               const struct tsim_outcome_spec *spec, double value) {
    return tsim_given(recorder, spec->name, value * spec->unit->shown_per_unit, spec->unit->shown, spec->meaning).term;
}

const struct tsim_term *tsim_term_of(const struct tsim_prediction *prediction, const char *name) {
    struct tsim_term_recorder *recorder = prediction->result.recorder;
    struct tsim_outcome outcome;
    enum tsim_outcome_figure figure;
    tsim_outcome_of(prediction, &outcome);
    if (!tsim_outcome_find_term(name, &figure) || isnan(outcome.value[figure]))
        return NULL;
    const struct tsim_outcome_spec *spec = tsim_outcome_spec(figure);
    const struct tsim_term *recorded = tsim_recorded_term(recorder, spec->name);
    return recorded ? recorded : without_formula(recorder, spec, outcome.value[figure]);
}

/* ---- printing ---- */

static const char *value_text(const struct tsim_term *term, char *buffer, size_t size) {
    if (term->dimension == TSIM_FRACTION) {
        snprintf(buffer, size, "%.4g", term->value);
        return buffer;
    }
    if (term->dimension == TSIM_COUNT && fabs(term->value) < 1e7 && term->value == floor(term->value))
        return tsim_count_text(term->value, buffer, size);
    if (term->value == 0)
        return strcpy(buffer, "0");
    return tsim_quantity_human(term->value, term->dimension, buffer, size);
}

struct printing {
    FILE *out;
    const struct tsim_style *style;
    struct tsim_arena arena;
    const char *sources[MOST_SOURCES];
    size_t n_sources;
    const struct tsim_term **written; /* nodes with parts */
    size_t n_written, written_capacity;
};

static size_t number_of_source(struct printing *p, const char *source) {
    for (size_t i = 0; i < p->n_sources; i++)
        if (strcmp(p->sources[i], source) == 0)
            return i + 1;
    TSIM_ASSERT(p->n_sources < MOST_SOURCES);
    p->sources[p->n_sources++] = source;
    return p->n_sources;
}

static bool was_written(struct printing *p, const struct tsim_term *term) {
    for (size_t i = 0; i < p->n_written; i++)
        if (p->written[i] == term)
            return true;
    p->written = tsim_heap_grow(p->written, &p->written_capacity, p->n_written + 1, sizeof(const struct tsim_term *));
    p->written[p->n_written++] = term;
    return false;
}

static void print_node(struct printing *p, const struct tsim_term *term, int depth) {
    char value[TEXT_BYTES];
    bool is_repeated = term->n_parts > 0 && was_written(p, term);
    const char *text = term->name;
    tsim_text_pad(p->out, value_text(term, value, sizeof value), -VALUE_COLUMNS);
    int indent = 2 + (p->style->table_width > 0 && p->style->table_width < NARROW ? 1 : 2) * depth;
    fprintf(p->out, "%*s", indent, "");
    if (is_repeated)
        text = tsim_arena_printf(&p->arena, "%s (above)", text);
    else if (term->formula)
        text = tsim_arena_printf(&p->arena, "%s = %s", text, term->formula);
    if (term->source)
        text = tsim_arena_printf(&p->arena, "%s [%zu]%s%s", text, number_of_source(p, term->source),
                                 term->status ? " " : "", term->status ? term->status : "");
    tsim_text_wrap(p->out, p->style, VALUE_COLUMNS + indent, text);
    for (int32_t i = 0; i < term->n_parts && !is_repeated; i++)
        print_node(p, term->parts[i].term, depth + 1);
}

void tsim_term_print(FILE *out, const struct tsim_style *style, const struct tsim_term *term) {
    struct printing p = {.out = out, .style = style};
    tsim_arena_init(&p.arena);
    print_node(&p, term, 0);
    for (size_t i = 0; i < p.n_sources; i++) {
        fprintf(out, "%s[%zu] ", i ? "" : "\n", i + 1);
        tsim_text_wrap(out, style, i < 9 ? 4 : 5, p.sources[i]);
    }
    tsim_heap_free(p.written);
    tsim_arena_release(&p.arena);
}

/* Returns the SI unit, as tsim_quantity_si writes it; "" for pure numbers. */
static const char *unit_of(struct tsim_arena *arena, enum tsim_dimension dimension) {
    char text[TEXT_BYTES];
    const char *blank = strchr(tsim_quantity_si(1, dimension, text, sizeof text), ' ');
    return blank ? tsim_arena_strdup(arena, blank + 1) : "";
}

static void add_csv(struct tsim_figures *figures, const struct tsim_term *term, int depth) {
    tsim_figures_add(figures, depth);
    tsim_figures_add_text(figures, term->name);
    tsim_figures_add(figures, term->value);
    tsim_figures_add_text(figures, unit_of(figures->arena, term->dimension));
    tsim_figures_add_text(figures, term->formula);
    tsim_figures_add_text(figures, term->source);
    tsim_figures_add_text(figures, term->status);
    for (int32_t i = 0; i < term->n_parts; i++)
        add_csv(figures, term->parts[i].term, depth + 1);
}

void tsim_term_print_csv(FILE *out, const struct tsim_term *term) {
    static const struct tsim_figure_column COLUMNS[] = {
        {NULL, "depth", TSIM_FIGURE_COUNT}, {NULL, "name", TSIM_FIGURE_TEXT},    {NULL, "value", TSIM_FIGURE_NUMBER},
        {NULL, "unit", TSIM_FIGURE_TEXT},   {NULL, "formula", TSIM_FIGURE_TEXT}, {NULL, "source", TSIM_FIGURE_TEXT},
        {NULL, "status", TSIM_FIGURE_TEXT}};
    struct tsim_arena arena;
    struct tsim_figures figures;
    tsim_arena_init(&arena);
    tsim_figures_init(&figures, &arena, "term", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    add_csv(&figures, term, 0);
    tsim_figures_print_csv(&figures, out);
    tsim_arena_release(&arena);
}

static void fill_json(struct tsim_arena *arena, struct tsim_json *object, const struct tsim_term *term) {
    const char *unit = unit_of(arena, term->dimension);
    tsim_json_text(object, "name", term->name);
    tsim_json_number(object, "value", term->value);
    if (unit[0])
        tsim_json_text(object, "unit", unit);
    tsim_json_text(object, "formula", term->formula);
    tsim_json_text(object, "source", term->source);
    tsim_json_text(object, "status", term->status);
    if (term->n_parts == 0)
        return;
    struct tsim_json *parts = tsim_json_array(object, "parts");
    for (int32_t i = 0; i < term->n_parts; i++)
        fill_json(arena, tsim_json_object(parts, NULL), term->parts[i].term);
}

struct tsim_json *tsim_term_json(const struct tsim_term *term) {
    struct tsim_json *root = tsim_json_new_object();
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    tsim_json_text(root, "schema", "tsim/term/v1");
    fill_json(&arena, root, term);
    tsim_arena_release(&arena);
    return root;
}
