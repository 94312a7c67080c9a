/* One layer of the model, kernel by kernel: a row for each stream of each pass. */
#include "config/scenario.h"
#include "report/page/chart_draw.h"
#include "report/page/chart_drawings.h"

#include <stdlib.h>
#include <string.h>

enum { LEFT = 150, ROW = 34, MOST_ROWS = 16, MOST_MARKS = 8, N_TICKS = 4, LETTER_WIDTH = 7 };

/* The operators of a pass on a stream; the pass is in the layer from `from_s` to `to_s`. */
struct row {
    const char *pass, *stream;
    double from_s, to_s;
};

static const char *word(const struct tsim_json *op, const char *key) {
    const char *text = tsim_json_text_of(op, key);
    return text ? text : "";
}

static bool is_of_pass(const struct row *row, const struct tsim_json *op) {
    return strcmp(row->pass, word(op, "pass")) == 0;
}

static int find_row(const struct row *rows, int n, const struct tsim_json *op) {
    int i = 0;
    while (i < n && !(is_of_pass(&rows[i], op) && strcmp(rows[i].stream, word(op, "stream")) == 0))
        i++;
    return i;
}

/* Compares passes by their order, and puts the compute stream first in each. */
static int by_time(const void *a, const void *b) {
    const struct row *x = a, *y = b;
    bool x_computes = strcmp(x->stream, "compute") == 0, y_computes = strcmp(y->stream, "compute") == 0;
    if (x->from_s != y->from_s)
        return x->from_s < y->from_s ? -1 : 1;
    return x_computes != y_computes ? y_computes - x_computes : strcmp(x->stream, y->stream);
}

static int find_rows(const struct tsim_json *operators, struct row rows[MOST_ROWS]) {
    int n = 0;
    for (size_t i = 0; i < tsim_json_count(operators); i++) {
        const struct tsim_json *op = tsim_json_at(operators, i);
        if (!(chart_number(op, "in_layer") > 0))
            continue;
        int at = find_row(rows, n, op);
        if (at == n && n < MOST_ROWS)
            rows[n++] = (struct row){word(op, "pass"), word(op, "stream"), HUGE_VAL, 0};
        for (int k = 0; k < n; k++)
            if (is_of_pass(&rows[k], op)) {
                rows[k].from_s = fmin(rows[k].from_s, chart_number(op, "begin_s"));
                rows[k].to_s = fmax(rows[k].to_s, chart_number(op, "end_s"));
            }
    }
    for (int k = 0; k < n; k++) /* a stream that comes later knows the pass's beginning from the others */
        for (int other = 0; other < n; other++)
            if (strcmp(rows[k].pass, rows[other].pass) == 0)
                rows[k].from_s = fmin(rows[k].from_s, rows[other].from_s);
    qsort(rows, (size_t)n, sizeof rows[0], by_time);
    return n;
}

static void describe(const struct tsim_json *op, double time_s, char *hint, size_t size) {
    char time[32], flops[32], bytes[32];
    double sent_bytes = chart_number(op, "sent_bytes");
    int n = snprintf(hint, size, "%s, %s\n%s, bound by %s", word(op, "operator"), word(op, "phase"),
                     tsim_quantity_human(time_s, TSIM_TIME_S, time, sizeof time), word(op, "bound"));
    tsim_quantity_human(chart_number(op, "flops"), TSIM_FLOPS, flops, sizeof flops);
    tsim_quantity_human(sent_bytes > 0 ? sent_bytes : chart_number(op, "hbm_bytes"), TSIM_BYTES, bytes, sizeof bytes);
    if (n > 0 && (size_t)n < size)
        snprintf(hint + n, size - (size_t)n, "\n%s%s%s", chart_number(op, "flops") > 0 ? flops : "",
                 chart_number(op, "flops") > 0 ? ", " : "", bytes);
}

static void draw_operator(const struct tsim_json *op, const struct row *row, int at, double per_s,
                          const struct tsim_svg *svg) {
    char hint[256];
    double begin_s = chart_number(op, "begin_s"), end_s = chart_number(op, "end_s");
    describe(op, end_s - begin_s, hint, sizeof hint);
    tsim_svg_rect(svg, LEFT + (begin_s - row->from_s) * per_s, CHART_TOP + ROW * (double)at + 3,
                  fmax((end_s - begin_s) * per_s - 0.6, 0.4), ROW - 6,
                  tsim_chart_bound_mark(word(op, "bound")).class_name, hint);
}

/* Writes the name of equal operators in a row once, if there is room. */
static void draw_names(const struct tsim_json *operators, const struct row *row, int at, double per_s,
                       const struct tsim_svg *svg) {
    const char *name = "";
    double from = 0, to = 0;
    for (size_t i = 0; i <= tsim_json_count(operators); i++) {
        bool is_end = i == tsim_json_count(operators);
        const struct tsim_json *op = is_end ? NULL : tsim_json_at(operators, i);
        if (!is_end && (!(chart_number(op, "in_layer") > 0) || find_row(row, 1, op) != 0))
            continue;
        if (is_end || strcmp(name, word(op, "operator")) != 0) {
            if (to - from > LETTER_WIDTH * (double)strlen(name))
                tsim_svg_text(svg, (from + to) / 2, CHART_TOP + ROW * (double)at + ROW / 2.0 + 4, "middle", "paper",
                              name);
            name = is_end ? "" : word(op, "operator");
            from = is_end ? 0 : LEFT + (chart_number(op, "begin_s") - row->from_s) * per_s;
        }
        to = is_end ? 0 : LEFT + (chart_number(op, "end_s") - row->from_s) * per_s;
    }
}

static void draw_axis(double longest_s, double bottom, double width, const struct tsim_svg *svg) {
    char time[32];
    for (int i = 0; i <= N_TICKS; i++) {
        const char *anchor = i == 0 ? "start" : i == N_TICKS ? "end" : "middle";
        tsim_quantity_human(longest_s * i / N_TICKS, TSIM_TIME_S, time, sizeof time);
        tsim_svg_text(svg, LEFT + width * i / N_TICKS, bottom + 18, anchor, "soft", i == 0 ? "0" : time);
    }
}

bool tsim_chart_layer(const struct tsim_json *run, const struct tsim_svg *svg) {
    const struct tsim_json *kernels = tsim_json_find(run, "kernels"), *operators = tsim_json_find(kernels, "operators");
    struct row rows[MOST_ROWS] = {{NULL, NULL, 0, 0}};
    struct chart_mark marks[MOST_MARKS];
    size_t n_marks = 0;
    double longest_s = 0, layer = chart_number(kernels, "layer"), width = CHART_WIDTH - LEFT - CHART_RIGHT;
    int n = find_rows(operators, rows);
    char title[96], text[96];
    for (int i = 0; i < n; i++)
        longest_s = fmax(longest_s, rows[i].to_s - rows[i].from_s);
    if (!(longest_s > 0))
        return false;
    double bottom = CHART_TOP + ROW * (double)n;
    if (layer < 0)
        snprintf(title, sizeof title, "The layers of stage %.0f, kernel by kernel", chart_number(kernels, "stage"));
    else
        snprintf(title, sizeof title, "Layer %.0f, kernel by kernel", layer);
    tsim_chart_begin(run, title, bottom + 60, svg);
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%s, %s", rows[i].pass, rows[i].stream);
        tsim_svg_text(svg, LEFT - 8, CHART_TOP + ROW * (double)i + ROW / 2.0 + 4, "end", "soft", text);
    }
    for (size_t i = 0; i < tsim_json_count(operators); i++) {
        const struct tsim_json *op = tsim_json_at(operators, i);
        int at = find_row(rows, n, op);
        if (!(chart_number(op, "in_layer") > 0) || at == n)
            continue;
        draw_operator(op, &rows[at], at, width / longest_s, svg);
        struct chart_mark mark = tsim_chart_bound_mark(word(op, "bound"));
        size_t known = 0;
        while (known < n_marks && strcmp(marks[known].class_name, mark.class_name) != 0)
            known++;
        mark.shape = CHART_AREA;
        if (known == n_marks && n_marks < MOST_MARKS)
            marks[n_marks++] = mark;
    }
    for (int i = 0; i < n; i++)
        draw_names(operators, &rows[i], i, width / longest_s, svg);
    draw_axis(longest_s, bottom, width, svg);
    tsim_chart_marks(svg, marks, n_marks, 16, bottom + 44);
    tsim_svg_end(svg);
    return true;
}
