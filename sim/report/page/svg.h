/* svg.h - pictures as SVG: a few shapes on a page of fixed size. Text is escaped. Colours are classes. k0 to k9 are
 * distinct colours, heat0 to heat9 one colour from faint to strong, and "ink", "soft", "line" and "warn" follow the
 * light or dark form that the reader's system asks for. Write errors are left in the stream. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum { TSIM_SVG_COLORS = 10 };

struct tsim_svg {
    FILE *out;
    bool is_in_page; /* the page has the style; else the picture has it, as a file of its own needs it */
};

/* Begins a picture. Its title is the heading, which a screen reader says. */
void tsim_svg_begin(const struct tsim_svg *svg, double width, double height, const char *title);
void tsim_svg_end(const struct tsim_svg *svg);

/* These draw a shape. `hint` (may be NULL) appears when the pointer rests on it. */
void tsim_svg_rect(const struct tsim_svg *svg, double x, double y, double width, double height, const char *class_name,
                   const char *hint);
void tsim_svg_line(const struct tsim_svg *svg, double x1, double y1, double x2, double y2, const char *class_name);
void tsim_svg_dot(const struct tsim_svg *svg, double x, double y, double radius, const char *class_name,
                  const char *hint);
/* Writes text; `anchor` is "start", "middle" or "end". */
void tsim_svg_text(const struct tsim_svg *svg, double x, double y, const char *anchor, const char *class_name,
                   const char *text);

/* Writes text along a vertical axis, to be read from below; (x, y) is its middle. */
void tsim_svg_text_up(const struct tsim_svg *svg, double x, double y, const char *class_name, const char *text);

/* A group holds shapes that belong together, under a class and attributes as they are written (which may be ""). */
void tsim_svg_group(const struct tsim_svg *svg, const char *class_name, const char *attributes);
void tsim_svg_group_end(const struct tsim_svg *svg);

/* Begins a picture in the picture with units of its own, `across` of them over the width and `down` over the height.
 * Numbers in it keep all digits, so that it can be enlarged. */
void tsim_svg_plot(const struct tsim_svg *svg, double x, double y, double width, double height, double across,
                   double down);
void tsim_svg_plot_rect(const struct tsim_svg *svg, double x, double y, double width, double height,
                        const char *class_name, const char *hint);
void tsim_svg_plot_end(const struct tsim_svg *svg);

/* These draw a line through points (x, y, x, y, ...), or the area within them. */
void tsim_svg_path(const struct tsim_svg *svg, const double *points, size_t n_points, const char *class_name);
void tsim_svg_area(const struct tsim_svg *svg, const double *points, size_t n_points, const char *class_name);
