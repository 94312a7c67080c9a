/* chart_draw.h - private to report: what the charts are drawn with. */
#ifndef TSIM_REPORT_CHART_DRAW_H
#define TSIM_REPORT_CHART_DRAW_H

#include "report/page/svg.h"
#include "results/json.h"

#include <math.h>
#include <stdio.h>

enum { CHART_WIDTH = 760, CHART_LEFT = 190, CHART_RIGHT = 20, CHART_TOP = 44, CHART_BAR = 26, CHART_MOST_ROWS = 40 };

/* The number at a path, 0 where there is none. */
static inline double chart_number(const struct tsim_json *object, const char *path) {
    double value = tsim_json_figure(object, path);
    return isnan(value) ? 0 : value;
}

/* The class of a colour. */
static inline const char *chart_color(char *buffer, size_t size, int i) {
    snprintf(buffer, size, "k%d", i % TSIM_SVG_COLORS);
    return buffer;
}

/* Begins the picture: "Memory: my-scenario". */
void tsim_chart_begin(const struct tsim_json *entry, const char *what, double height, FILE *out);
/* A row: its title on the left, a bar of so much of the width, a text behind it. */
void tsim_chart_bar(FILE *out, int row, const char *title, double frac, const char *text, int color);
/* Squares of colours with their names, along `y`. */
void tsim_chart_legend(FILE *out, const char *const *names, const int *colors, int n, double y);

/* What the marks of a chart mean, from `x` on along `y`: an area or a dot of that class, or a line. */
struct chart_mark {
    enum { CHART_AREA, CHART_DOT, CHART_LINE } shape;
    const char *class_name, *text;
};
void tsim_chart_marks(FILE *out, const struct chart_mark *marks, size_t n, double x, double y);

#endif
