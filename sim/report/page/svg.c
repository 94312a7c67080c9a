#include "report/page/svg.h"

#include "report/page/workbench.h"

/* Returns the bytes of the next character; 0 for what XML does not allow: control characters, and text cut within a
 * code point. */
static size_t character_bytes(const char *at) {
    unsigned char first = (unsigned char)*at;
    if (first < 0x80)
        return first >= ' ' || first == '\t' || first == '\n';
    size_t n = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)at[i] & 0xC0) != 0x80)
            return 0;
    return n;
}

static const char *entity_of(char character) {
    switch (character) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    default:
        return NULL;
    }
}

static void put_escaped(const char *text, FILE *out) {
    for (size_t n; *text; text += n ? n : 1) {
        n = character_bytes(text);
        const char *entity = n == 0 ? "?" : entity_of(*text);
        if (entity)
            fputs(entity, out);
        else
            fwrite(text, 1, n, out);
    }
}

/* page_assets.S: the colours and widths are those of the report's page. */

void tsim_svg_begin(const struct tsim_svg *svg, double width, double height, const char *title) {
    fprintf(svg->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" role=\"img\" "
            "font-family=\"system-ui, DejaVu Sans, sans-serif\" font-size=\"13\">\n<title>",
            width, height, width, height);
    put_escaped(title, svg->out);
    fputs("</title>\n", svg->out);
    if (!svg->is_in_page) /* a browser that is given another style looks at all elements of its page again */
        fprintf(svg->out, "<style>\n%s</style>\n", tsim_chart_css);
    fprintf(svg->out, "<rect class=\"paper\" width=\"%g\" height=\"%g\"/>\n", width, height);
    tsim_svg_text(svg, 16, 26, "start", "head", title);
}

void tsim_svg_end(const struct tsim_svg *svg) {
    fputs("</svg>\n", svg->out);
}

/* Ends an element that may have a hint. */
static void end_shape(const struct tsim_svg *svg, const char *element, const char *hint) {
    if (!hint) {
        fputs("/>\n", svg->out);
        return;
    }
    fputs("><title>", svg->out);
    put_escaped(hint, svg->out);
    fprintf(svg->out, "</title></%s>\n", element);
}

void tsim_svg_rect(const struct tsim_svg *svg, double x, double y, double width, double height, const char *class_name,
                   const char *hint) {
    fprintf(svg->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" class=\"%s\"", x, y, width, height,
            class_name);
    end_shape(svg, "rect", hint);
}

void tsim_svg_line(const struct tsim_svg *svg, double x1, double y1, double x2, double y2, const char *class_name) {
    fprintf(svg->out, "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" class=\"%s\"/>\n", x1, y1, x2, y2,
            class_name);
}

void tsim_svg_dot(const struct tsim_svg *svg, double x, double y, double radius, const char *class_name,
                  const char *hint) {
    fprintf(svg->out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\" class=\"%s\"", x, y, radius, class_name);
    end_shape(svg, "circle", hint);
}

void tsim_svg_group(const struct tsim_svg *svg, const char *class_name, const char *attributes) {
    fprintf(svg->out, "<g class=\"%s\"%s%s>\n", class_name, *attributes ? " " : "", attributes);
}

void tsim_svg_group_end(const struct tsim_svg *svg) {
    fputs("</g>\n", svg->out);
}

void tsim_svg_plot(const struct tsim_svg *svg, double x, double y, double width, double height, double across,
                   double down) {
    fprintf(svg->out,
            "<svg class=\"plot\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" viewBox=\"0 0 %.9g %.9g\" "
            "preserveAspectRatio=\"none\">\n",
            x, y, width, height, across, down);
}

void tsim_svg_plot_rect(const struct tsim_svg *svg, double x, double y, double width, double height,
                        const char *class_name, const char *hint) {
    fprintf(svg->out, "<rect x=\"%.9g\" y=\"%.9g\" width=\"%.9g\" height=\"%.9g\" class=\"%s\"", x, y, width, height,
            class_name);
    end_shape(svg, "rect", hint);
}

void tsim_svg_plot_end(const struct tsim_svg *svg) {
    fputs("</svg>\n", svg->out);
}

void tsim_svg_text(const struct tsim_svg *svg, double x, double y, const char *anchor, const char *class_name,
                   const char *text) {
    fprintf(svg->out, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor, class_name);
    put_escaped(text, svg->out);
    fputs("</text>\n", svg->out);
}

void tsim_svg_text_up(const struct tsim_svg *svg, double x, double y, const char *class_name, const char *text) {
    fprintf(svg->out, "<text transform=\"translate(%.2f %.2f) rotate(-90)\" text-anchor=\"middle\" class=\"%s\">", x, y,
            class_name);
    put_escaped(text, svg->out);
    fputs("</text>\n", svg->out);
}

static void put_points(const struct tsim_svg *svg, const double *points, size_t n_points) {
    for (size_t i = 0; i < n_points; i++)
        fprintf(svg->out, "%c%.2f %.2f", i == 0 ? 'M' : 'L', points[2 * i], points[2 * i + 1]);
}

void tsim_svg_path(const struct tsim_svg *svg, const double *points, size_t n_points, const char *class_name) {
    fprintf(svg->out, "<path class=\"%s\" d=\"", class_name);
    put_points(svg, points, n_points);
    fputs("\"/>\n", svg->out);
}

void tsim_svg_area(const struct tsim_svg *svg, const double *points, size_t n_points, const char *class_name) {
    fprintf(svg->out, "<path class=\"%s\" d=\"", class_name);
    put_points(svg, points, n_points);
    fputs("Z\"/>\n", svg->out);
}
