/* The schedule as text: a line for each pipeline stage, a column for each slice of time.
 *
 * A column shows what the stage does for most of its time: F forward, B backward (of split passes the input gradient),
 * W weight gradient, a blank in a wait. If passes are wide enough, their first column is a capital and the others are
 * small, so that passes can be told apart. A step that is too long is shown in two windows, its beginning and its end.
 */
#include "report/terminal/explain_sections.h"

#include <math.h>
#include <string.h>

enum { LABEL_COLUMNS = 9, MOST_STAGES = 16, SHOWN_ENDS = 7, MOST_COLUMNS = 100 };
/* A window shows the ramp and half as much of what follows it. A pass has at least two columns if the ramp allows
 * it. */
#define RAMP_FRAC (2.0 / 3.0)
#define COLUMNS_OF_PASS 2.0

static const char BETWEEN[] = " ~ "; /* the two windows */

/* ---- the table: a stage each ---- */

static void tables(struct tsim_arena *arena, const struct tsim_explanation *explanation, tsim_explain_take_fn take,
                   void *context) {
    static const struct tsim_figure_column COLUMNS[] = {
        {NULL, "stage", TSIM_FIGURE_COUNT},     {NULL, "passes", TSIM_FIGURE_COUNT},
        {NULL, "begin_s", TSIM_FIGURE_SECONDS}, {NULL, "end_s", TSIM_FIGURE_SECONDS},
        {NULL, "busy_s", TSIM_FIGURE_SECONDS},  {NULL, "idle_frac", TSIM_FIGURE_SHARE}};
    const struct tsim_timeline *timeline = explanation->timeline;
    struct tsim_figures figures;
    tsim_figures_init(&figures, arena, "schedule", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int32_t s = 0; s < timeline->shape.stages; s++) {
        const struct tsim_stage_slices *stage = &timeline->stages[s];
        tsim_figures_add(&figures, s);
        tsim_figures_add(&figures, stage->n);
        tsim_figures_add(&figures, stage->slices[0].begin_s);
        tsim_figures_add(&figures, stage->slices[stage->n - 1].end_s);
        tsim_figures_add(&figures, stage->busy_s);
        tsim_figures_add(&figures, 1 - stage->busy_s / timeline->end_s);
    }
    take(context, &figures);
}

/* ---- a window of time ---- */

struct window {
    double from_s, column_s;
    int32_t columns;
};

struct drawing {
    FILE *out;
    const struct tsim_style *style;
    const struct tsim_timeline *timeline;
    struct window windows[2];
    int32_t n_windows;
};

static char letter_of(enum tsim_pass_kind kind) {
    static const char LETTERS[TSIM_N_PASS_KINDS] = {[TSIM_PASS_FORWARD] = 'F',
                                                    [TSIM_PASS_BACKWARD] = 'B',
                                                    [TSIM_PASS_INPUT_GRADIENT] = 'B',
                                                    [TSIM_PASS_WEIGHT_GRADIENT] = 'W'};
    return LETTERS[kind];
}

static double overlap_s(const struct tsim_slice *slice, double from_s, double until_s) {
    return fmax(fmin(slice->end_s, until_s) - fmax(slice->begin_s, from_s), 0);
}

/* Returns the letter of what fills most of the column; *at is the first slice that ends after the column's
 * beginning. */
static char column_of(const struct tsim_stage_slices *stage, const struct window *window, int32_t column, int32_t *at) {
    double from_s = window->from_s + column * window->column_s, until_s = from_s + window->column_s;
    double by_kind_s[TSIM_N_PASS_KINDS] = {0}, idle_s = window->column_s;
    int32_t first = -1;
    while (*at < stage->n && stage->slices[*at].end_s <= from_s)
        (*at)++;
    for (int32_t i = *at; i < stage->n && stage->slices[i].begin_s < until_s; i++) {
        double in_column_s = overlap_s(&stage->slices[i], from_s, until_s);
        by_kind_s[stage->slices[i].item.kind] += in_column_s;
        idle_s -= in_column_s;
        if (first < 0 || in_column_s > overlap_s(&stage->slices[first], from_s, until_s))
            first = i;
    }
    int most = 0;
    for (int k = 1; k < TSIM_N_PASS_KINDS; k++)
        if (by_kind_s[k] > by_kind_s[most])
            most = k;
    if (by_kind_s[most] <= idle_s)
        return ' ';
    char letter = letter_of((enum tsim_pass_kind)most);
    bool continues = first >= 0 && stage->slices[first].begin_s < from_s - 0.5 * window->column_s;
    return continues ? (char)(letter - 'A' + 'a') : letter;
}

static enum tsim_tint tint_of(char letter) {
    switch (letter) {
    case 'F':
    case 'f':
        return TSIM_TINT_GREEN;
    case 'B':
    case 'b':
        return TSIM_TINT_YELLOW;
    default:
        return TSIM_TINT_NONE;
    }
}

/* Writes the stage's letters into `text`, which has room for them, and returns how many columns they are. */
static int32_t fill_row(const struct drawing *drawing, int32_t stage, char *text) {
    int32_t n = 0;
    for (int32_t w = 0; w < drawing->n_windows; w++) {
        const struct window *window = &drawing->windows[w];
        int32_t at = 0;
        if (w > 0) {
            memcpy(text + n, BETWEEN, sizeof BETWEEN - 1);
            n += (int32_t)sizeof BETWEEN - 1;
        }
        for (int32_t c = 0; c < window->columns; c++)
            text[n++] = column_of(&drawing->timeline->stages[stage], window, c, &at);
    }
    while (n > 0 && text[n - 1] == ' ')
        n--;
    return n;
}

static void draw_stage(const struct drawing *drawing, int32_t stage) {
    char text[MOST_COLUMNS];
    int32_t n = fill_row(drawing, stage, text);
    fprintf(drawing->out, "stage %-*d", LABEL_COLUMNS - 6, stage);
    for (int32_t c = 0; c < n; c++) {
        enum tsim_tint tint = tint_of(text[c]);
        if (c == 0 || tint_of(text[c - 1]) != tint)
            fputs(tsim_tint_on(drawing->style, tint), drawing->out);
        fputc(text[c], drawing->out);
        if (tint != TSIM_TINT_NONE && (c + 1 == n || tint_of(text[c + 1]) != tint))
            fputs(tsim_tint_off(drawing->style), drawing->out);
    }
    fputc('\n', drawing->out);
}

/* ---- how much fits ---- */

static double shortest_pass_s(const struct tsim_timeline *timeline) {
    double shortest_s = HUGE_VAL;
    for (int32_t s = 0; s < timeline->shape.stages; s++)
        for (int32_t i = 0; i < timeline->stages[s].n; i++) {
            const struct tsim_slice *slice = &timeline->stages[s].slices[i];
            if (slice->end_s > slice->begin_s)
                shortest_s = fmin(shortest_s, slice->end_s - slice->begin_s);
        }
    return shortest_s;
}

/* Returns how much later the last stage begins than the first, or how much earlier the first one ends than the last. */
static double ramp_s(const struct tsim_timeline *timeline) {
    double ramp = 0;
    for (int32_t s = 0; s < timeline->shape.stages; s++) {
        const struct tsim_stage_slices *stage = &timeline->stages[s];
        ramp = fmax(ramp, fmax(stage->slices[0].begin_s, timeline->end_s - stage->slices[stage->n - 1].end_s));
    }
    return ramp;
}

static void choose_windows(struct drawing *drawing) {
    const struct tsim_timeline *timeline = drawing->timeline;
    int32_t room = drawing->style->width - LABEL_COLUMNS, half = (room - (int32_t)(sizeof BETWEEN - 1)) / 2;
    double column_s = fmax(shortest_pass_s(timeline) / COLUMNS_OF_PASS, ramp_s(timeline) / (RAMP_FRAC * half));
    if (column_s * room >= timeline->end_s) {
        drawing->windows[0] = (struct window){.column_s = timeline->end_s / room, .columns = room};
        drawing->n_windows = 1;
        return;
    }
    drawing->windows[0] = (struct window){.column_s = column_s, .columns = half};
    drawing->windows[1] =
        (struct window){.from_s = timeline->end_s - half * column_s, .column_s = column_s, .columns = half};
    drawing->n_windows = 2;
}

static void print(struct tsim_arena *arena, FILE *out, const struct tsim_style *style,
                  const struct tsim_explanation *explanation) {
    const struct tsim_timeline *timeline = explanation->timeline;
    struct drawing drawing = {.out = out, .style = style, .timeline = timeline};
    int32_t n = timeline->shape.stages;
    char column[64], whole[64];
    choose_windows(&drawing);
    tsim_text_heading(out, style, "schedule (F forward, B backward, W weight gradients)");
    for (int32_t s = 0; s < n; s++) {
        if (n <= MOST_STAGES || s < SHOWN_ENDS || s >= n - SHOWN_ENDS)
            draw_stage(&drawing, s);
        else if (s == SHOWN_ENDS)
            fprintf(out, "... %d more stages\n", n - 2 * SHOWN_ENDS);
    }
    tsim_quantity_human(drawing.windows[0].column_s, TSIM_TIME_S, column, sizeof column);
    tsim_quantity_human(timeline->end_s, TSIM_TIME_S, whole, sizeof whole);
    tsim_text_wrap(out, style, 0,
                   tsim_arena_printf(arena,
                                     "A column is %s; the passes take %s%s. Data-parallel traffic%s and the "
                                     "optimizer are not drawn.",
                                     column, whole,
                                     drawing.n_windows > 1 ? ", of which the beginning and the end are shown" : "",
                                     explanation->flow.wait_s > 0 ? ", waits for input" : ""));
}

const struct tsim_explain_section tsim_explain_schedule = {.needs_step = true, .tables = tables, .print = print};
