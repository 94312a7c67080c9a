#include "partition/memory.h"
#include "report/terminal/explain_sections.h"
#include "step/fit_changes.h"

#include <math.h>
#include <string.h>

enum { TEXT_BYTES = 96, MOST_STAGES = 6, KIND_COLUMNS = 18, STAGE_COLUMNS = 10 };

/* ---- tables ---- */

static void stage_table(struct tsim_arena *arena, const struct tsim_explanation *explanation,
                        struct tsim_figures *figures) {
    enum { N_COLUMNS = 1 + TSIM_N_MEMORY_KINDS + 3 };
    struct tsim_figure_column *columns = TSIM_NEW_ARRAY(arena, N_COLUMNS, struct tsim_figure_column), *next = columns;
    *next++ = (struct tsim_figure_column){"stage", "stage", TSIM_FIGURE_COUNT};
    for (int kind = 0; kind < TSIM_N_MEMORY_KINDS; kind++)
        *next++ = (struct tsim_figure_column){NULL, tsim_memory_kinds[kind].member, TSIM_FIGURE_BYTES};
    *next++ = (struct tsim_figure_column){NULL, "peak_bytes", TSIM_FIGURE_BYTES};
    *next++ = (struct tsim_figure_column){NULL, "capacity_bytes", TSIM_FIGURE_BYTES};
    *next++ = (struct tsim_figure_column){NULL, "of_capacity_frac", TSIM_FIGURE_SHARE};
    const struct tsim_scenario *sc = explanation->scenario;
    tsim_figures_init(figures, arena, "memory", columns, N_COLUMNS);
    for (int32_t s = 0; s < sc->parallelism.pipeline; s++) {
        struct tsim_memory stage = tsim_memory_of_stage(sc, s);
        tsim_figures_add(figures, s);
        for (int kind = 0; kind < TSIM_N_MEMORY_KINDS; kind++)
            tsim_figures_add(figures, tsim_memory_of_kind(&stage, kind));
        tsim_figures_add(figures, stage.peak_bytes);
        tsim_figures_add(figures, stage.capacity_bytes);
        tsim_figures_add(figures, stage.peak_bytes / stage.capacity_bytes);
    }
}

/* ---- activations of the fullest stage, by tensor: the leaves of what memory has recorded ---- */

struct held_tensor {
    const char *name, *part;
    double bytes, stage_bytes; /* of one, of all on the stage */
};

struct held_tensors {
    struct held_tensor *rows;
    int32_t n, capacity;
};

/* Adds so many of a tensor, to a row that is there of the same. */
static void add_tensor(struct tsim_arena *arena, struct held_tensors *tensors, const struct tsim_term *term,
                       const char *part, double n) {
    for (int32_t i = 0; i < tensors->n; i++) {
        struct held_tensor *row = &tensors->rows[i];
        if (strcmp(row->name, term->name) == 0 && strcmp(row->part, part) == 0 && !(row->bytes > term->value) &&
            !(row->bytes < term->value)) {
            row->stage_bytes += n * term->value;
            return;
        }
    }
    tensors->rows =
        tsim_arena_grow(arena, tensors->rows, (size_t)tensors->n, &tensors->capacity, sizeof *tensors->rows);
    tensors->rows[tensors->n++] = (struct held_tensor){term->name, part, term->value, n * term->value};
}

/* Goes down to the tensors below `term`, of which there are n: parts of a sum, and of a product the one in bytes so many
 * times as the others say. */
static void find_tensors(struct tsim_arena *arena, const struct tsim_term *term, const char *part, double n,
                         struct held_tensors *tensors) {
    size_t prefix = strlen(TSIM_KEPT_BY_ONE);
    if (term->rule == TSIM_TERM_GIVEN) {
        add_tensor(arena, tensors, term, part, n);
        return;
    }
    TSIM_ASSERT(term->rule == TSIM_TERM_SUM || term->rule == TSIM_TERM_PRODUCT);
    if (strncmp(term->name, TSIM_KEPT_BY_ONE, prefix) == 0)
        part = term->name + prefix;
    for (int32_t i = 0; i < term->n_parts && term->rule == TSIM_TERM_PRODUCT; i++)
        n *= term->parts[i].term->dimension == TSIM_BYTES ? 1 : term->parts[i].value;
    for (int32_t i = 0; i < term->n_parts; i++)
        if (term->parts[i].term->dimension == TSIM_BYTES)
            find_tensors(arena, term->parts[i].term, part, term->parts[i].is_inverse ? -n : n, tensors);
}

static void activation_table(struct tsim_arena *arena, const struct tsim_explanation *explanation,
                             struct tsim_figures *figures) {
    static const struct tsim_figure_column COLUMNS[] = {{"kept for the backward pass", "tensor", TSIM_FIGURE_TEXT},
                                                        {"of", "part", TSIM_FIGURE_TEXT},
                                                        {"each", "bytes", TSIM_FIGURE_BYTES},
                                                        {"on the stage", "stage_bytes", TSIM_FIGURE_BYTES}};
    struct tsim_term_recorder *recorder = TSIM_NEW(arena, struct tsim_term_recorder);
    struct tsim_stage_terms terms;
    struct held_tensors tensors = {0};
    tsim_term_recorder_init(recorder, arena);
    tsim_stage_memory_recorded(recorder, explanation->scenario, explanation->result->step.fullest_stage, &terms);
    find_tensors(arena, terms.activations.term, "stage", 1, &tensors);
    tsim_figures_init(figures, arena, "activations", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int32_t i = 0; i < tensors.n; i++) {
        tsim_figures_add_text(figures, tensors.rows[i].name);
        tsim_figures_add_text(figures, tensors.rows[i].part);
        tsim_figures_add(figures, tensors.rows[i].bytes);
        tsim_figures_add(figures, tensors.rows[i].stage_bytes);
    }
}

static void change_table(struct tsim_arena *arena, const struct tsim_explanation *explanation,
                         struct tsim_figures *figures) {
    static const struct tsim_figure_column COLUMNS[] = {{"change", "set", TSIM_FIGURE_TEXT},
                                                        {"peak", "peak_bytes", TSIM_FIGURE_BYTES},
                                                        {"of capacity", "of_capacity_frac", TSIM_FIGURE_SHARE}};
    const struct tsim_result *result = explanation->result;
    tsim_figures_init(figures, arena, "changes_that_fit", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int32_t i = 0; i < result->step.n_fit_changes; i++) {
        tsim_figures_add_text(figures, result->step.fit_changes[i].setting);
        tsim_figures_add(figures, result->step.fit_changes[i].peak_bytes);
        tsim_figures_add(figures, result->step.fit_changes[i].peak_bytes / result->step.memory.capacity_bytes);
    }
}

static void tables(struct tsim_arena *arena, const struct tsim_explanation *explanation, tsim_explain_take_fn take,
                   void *context) {
    struct tsim_figures figures;
    stage_table(arena, explanation, &figures);
    take(context, &figures);
    activation_table(arena, explanation, &figures);
    take(context, &figures);
    if (explanation->result->step.fits)
        return;
    change_table(arena, explanation, &figures);
    take(context, &figures);
}

/* ---- for people: kinds down, stages across ---- */

static bool contains(const int32_t *stages, int32_t n, int32_t stage) {
    for (int32_t i = 0; i < n; i++)
        if (stages[i] == stage)
            return true;
    return false;
}

/* Chooses the stages to show: all if there is room, else the first ones, the fullest, and the last ones, at most
 * `most`. */
static int32_t shown_stages(int32_t n_stages, int32_t fullest, int32_t most, int32_t shown[MOST_STAGES]) {
    int32_t n = 0;
    for (int32_t s = 0; s < n_stages; s++) {
        int32_t behind = n_stages - 1 - s, room = most - n;
        if (n_stages <= most || s < most / 2 || s == fullest ||
            behind < room - (fullest > s && !contains(shown, n, fullest)))
            shown[n++] = s;
    }
    return n;
}

static void add_gigabytes(struct tsim_text_table *table, double bytes) {
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "%.2f", bytes / 1e9);
    tsim_text_table_add(table, bytes > 0 ? text : "-");
}

static void print_stages(struct tsim_arena *arena, FILE *out, const struct tsim_style *style,
                         const struct tsim_explanation *explanation) {
    const struct tsim_result *result = explanation->result;
    struct tsim_column columns[MOST_STAGES + 1] = {{.title = "GB"}};
    struct tsim_memory stages[MOST_STAGES];
    int32_t room = (style->width - KIND_COLUMNS) / STAGE_COLUMNS, shown[MOST_STAGES];
    int32_t n = shown_stages((int32_t)explanation->scenario->parallelism.pipeline, result->step.fullest_stage,
                             room < MOST_STAGES ? room : MOST_STAGES, shown);
    struct tsim_text_table table;
    char text[TEXT_BYTES];
    for (int32_t i = 0; i < n; i++) {
        stages[i] = tsim_memory_of_stage(explanation->scenario, shown[i]);
        columns[i + 1] =
            (struct tsim_column){.title = tsim_arena_printf(arena, "stage %d%s", shown[i],
                                                            shown[i] == result->step.fullest_stage ? "*" : ""),
                                 .is_number = true};
    }
    tsim_text_table_init(&table, arena, columns, (size_t)n + 1);
    for (int kind = 0; kind < TSIM_N_MEMORY_KINDS; kind++) {
        tsim_text_table_add(&table, tsim_memory_kinds[kind].name);
        for (int32_t i = 0; i < n; i++)
            add_gigabytes(&table, tsim_memory_of_kind(&stages[i], kind));
    }
    tsim_text_table_add(&table, "peak");
    for (int32_t i = 0; i < n; i++)
        add_gigabytes(&table, stages[i].peak_bytes);
    snprintf(text, sizeof text, "of %.2f", result->step.memory.capacity_bytes / 1e9);
    tsim_text_table_add(&table, text);
    for (int32_t i = 0; i < n; i++)
        tsim_text_table_add(&table, tsim_figure_text(TSIM_FIGURE_SHARE,
                                                     stages[i].peak_bytes / result->step.memory.capacity_bytes, text,
                                                     sizeof text));
    tsim_text_table_print(&table, style, out);
}

/* Names the kinds of the fullest stage that are larger than what is missing, or the largest one. */
static void print_why(struct tsim_arena *arena, FILE *out, const struct tsim_style *style,
                      const struct tsim_explanation *explanation) {
    const struct tsim_result *result = explanation->result;
    const struct tsim_memory *memory = &result->step.memory;
    double excess_bytes = memory->peak_bytes - memory->capacity_bytes;
    int largest = 0;
    for (int kind = 1; kind < TSIM_N_MEMORY_KINDS; kind++)
        if (tsim_memory_of_kind(memory, kind) > tsim_memory_of_kind(memory, largest))
            largest = kind;
    fprintf(out, "\n%sdoes not fit%s ", tsim_tint_on(style, TSIM_TINT_RED), tsim_tint_off(style));
    tsim_text_wrap(out, style, 13,
                   tsim_arena_printf(arena, "stage %d needs %.2f GB too much; the most of it is %s, %.0f %%",
                                     result->step.fullest_stage, excess_bytes / 1e9, tsim_memory_kinds[largest].name,
                                     100 * tsim_memory_of_kind(memory, largest) / memory->peak_bytes));
}

static void print(struct tsim_arena *arena, FILE *out, const struct tsim_style *style,
                  const struct tsim_explanation *explanation) {
    struct tsim_figures activations, changes;
    tsim_text_heading(out, style, "memory by kind and pipeline stage (* the fullest)");
    print_stages(arena, out, style, explanation);
    fputc('\n', out);
    activation_table(arena, explanation, &activations);
    tsim_figures_print(&activations, style, out);
    if (explanation->result->step.fits)
        return;
    print_why(arena, out, style, explanation);
    change_table(arena, explanation, &changes);
    if (changes.n_cells == 0) {
        fputs("no change of the plan, the batch, recomputation or offload that was tried makes it fit\n", out);
        return;
    }
    tsim_text_heading(out, style, "the smallest changes that fit, each alone, as --set");
    tsim_figures_print(&changes, style, out);
}

const struct tsim_explain_section tsim_explain_memory = {.needs_step = false, .tables = tables, .print = print};
