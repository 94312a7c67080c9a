/* plot.h - a curve or two as text, in dots of braille; both axes are logarithmic. */
#pragma once

#include "report/terminal/table.h"

struct tsim_plot_curve {
    const double *y; /* > 0; NAN leaves a point out */
    bool is_dotted;
};

struct tsim_plot {
    const double *x; /* > 0, ascending, n of them */
    size_t n;
    const struct tsim_plot_curve *curves;
    size_t n_curves;
    const char *unit; /* unit of y: "tokens/s" */
    size_t mark;      /* index of the x with a vertical line; n: none */
};

/* Prints ten lines as wide as the style, or nothing if there are fewer than two points. */
void tsim_plot_print(FILE *out, const struct tsim_style *style, const struct tsim_plot *plot);
