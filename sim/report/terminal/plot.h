/* plot.h - a curve or two in text, with dots of braille: both axes logarithmic. */
#ifndef TSIM_REPORT_PLOT_H
#define TSIM_REPORT_PLOT_H

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
    const char *unit; /* of y, "tokens/s" */
    size_t mark;      /* a line up from this x; n: none */
};

/* Prints ten lines as wide as the style, or nothing where there are fewer than two points. */
void tsim_plot_print(FILE *out, const struct tsim_style *style, const struct tsim_plot *plot);

#endif
