/* chart_draw.h - private to report: functions with which the charts are drawn. */
#pragma once

#include "report/page/svg.h"
#include "results/json.h"

#include <math.h>
#include <stdio.h>

enum {
    CHART_WIDTH = 760,
    CHART_LEFT = 190,
    CHART_RIGHT = 20,
    CHART_TOP = 44,
    CHART_BAR = 26,
    CHART_BAR_TEXT = 130, /* room for the text behind the longest bar */
    CHART_MOST_ROWS = 40
};

/* Returns the number at a path; 0 if there is none. */
static inline double chart_number(const struct tsim_json *object, const char *path) {
    double value = tsim_json_figure(object, path);
    return isnan(value) ? 0 : value;
}

/* Returns the class of a colour. */
static inline const char *chart_color(char *buffer, size_t size, int i) {
    snprintf(buffer, size, "k%d", i % TSIM_SVG_COLORS);
    return buffer;
}

/* Begins the picture: "Memory: my-scenario". */
void tsim_chart_begin(const struct tsim_json *entry, const char *what, double height, const struct tsim_svg *svg);
/* Draws a row: its title on the left, then a bar that is this part of the width, then a text. */
void tsim_chart_bar(const struct tsim_svg *svg, int row, const char *title, double frac, const char *text, int color);
/* Draws squares of the colours with their names, along `y`, and below it those that have no room there. */
void tsim_chart_legend(const struct tsim_svg *svg, const char *const *names, const int *colors, int n, double y);

/* A part of a sum is a figure of a JSON object, with its name. */
struct chart_part {
    const char *path, *title;
};
enum { CHART_MOST_PARTS = 10 };
struct chart_parts {
    struct chart_part items[CHART_MOST_PARTS];
    int n;
    const char *(*text)(double value, char *buffer, size_t size); /* writes a figure for people */
};
/* Draws a row: its title on the left, then the parts of `values` side by side; `most` is the whole width. */
void tsim_chart_stack(const struct tsim_svg *svg, int row, const char *title, const struct chart_parts *parts,
                      const struct tsim_json *values, double most);
/* Draws the names of those parts that any of the rows has; `values` finds the object of a row. */
void tsim_chart_parts_legend(const struct tsim_svg *svg, const struct chart_parts *parts, const struct tsim_json *rows,
                             const struct tsim_json *(*values)(const struct tsim_json *row), double y);

/* chart_step.c has the parts of a step's time, from a summary, and the parts of memory, from a stage or a summary. */
struct chart_parts tsim_chart_step_parts(void);
struct chart_parts tsim_chart_memory_parts(void);
/* Draws the capacity of an accelerator as a line through the rows, from the top to `bottom`. */
void tsim_chart_capacity(const struct tsim_svg *svg, double capacity_bytes, double most_bytes, double bottom);

/* An axis has values from `low` to `high`, and the place where they are drawn. */
struct chart_axis {
    double low, high, from, to;
    bool is_linear; /* else it is logarithmic */
};
static inline double chart_at(const struct chart_axis *axis, double value) {
    double frac = axis->is_linear ? (value - axis->low) / (axis->high - axis->low)
                                  : log(value / axis->low) / log(axis->high / axis->low);
    return axis->from + (axis->to - axis->from) * frac;
}

/* Makes a linear axis from the least to the greatest value, longer by a twelfth at both ends. */
static inline void chart_widen(struct chart_axis *axis) {
    double room = (axis->high > axis->low ? axis->high - axis->low : axis->high) / 12;
    axis->low = fmax(axis->low - room, 0);
    axis->high += room;
}

/* Draws the lines of a logarithmic axis: one at each power of ten and, if these are few, at twice and five times it. */
void tsim_chart_ticks(const struct tsim_svg *svg, const struct chart_axis *x, const struct chart_axis *y, bool is_x,
                      const char *unit);

/* A frame is two linear axes, with what stands at their ends and what they show. */
struct chart_frame {
    struct chart_axis x, y;
    const char *low_x, *high_x, *low_y, *high_y, *name_x, *name_y;
};
void tsim_chart_frame(const struct tsim_svg *svg, const struct chart_frame *frame);

/* A mark shows an area, a dot or a line of a class with its meaning, from `left` on along `y` and below. */
struct chart_mark {
    enum { CHART_AREA, CHART_DOT, CHART_LINE } shape;
    const char *class_name, *text;
};
/* Returns the mark of what binds an operator, by its name (results/verdict.h); it is in chart_step.c. */
struct chart_mark tsim_chart_bound_mark(const char *bound);
void tsim_chart_marks(const struct tsim_svg *svg, const struct chart_mark *marks, size_t n, double left, double y);
