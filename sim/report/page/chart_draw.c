#include "report/page/chart_draw.h"

#include "base/quantity.h"

#include <string.h>

void tsim_chart_begin(const struct tsim_json *entry, const char *what, double height, const struct tsim_svg *svg) {
    char title[200];
    const char *name = tsim_json_text_of(entry, "name");
    snprintf(title, sizeof title, "%s%s%s", what, name ? ": " : "", name ? name : "");
    tsim_svg_begin(svg, CHART_WIDTH, height, title);
}

void tsim_chart_bar(const struct tsim_svg *svg, int row, const char *title, double frac, const char *text, int color) {
    char name[8];
    double y = CHART_TOP + row * CHART_BAR,
           width = fmax(frac * (CHART_WIDTH - CHART_LEFT - CHART_RIGHT - CHART_BAR_TEXT), 1);
    tsim_svg_text(svg, CHART_LEFT - 10, y + 16, "end", "ink", title);
    tsim_svg_rect(svg, CHART_LEFT, y + 3, width, CHART_BAR - 8, chart_color(name, sizeof name, color), text);
    tsim_svg_text(svg, CHART_LEFT + width + 8, y + 16, "start", "soft", text);
}

void tsim_chart_legend(const struct tsim_svg *svg, const char *const *names, const int *colors, int n, double y) {
    char name[8];
    double x = 16;
    for (int i = 0; i < n; i++) {
        double width = 30 + 7.2 * (double)strlen(names[i]);
        if (x > 16 && x + width > CHART_WIDTH) {
            x = 16;
            y += 18;
        }
        tsim_svg_group(svg, "key", "");
        tsim_svg_rect(svg, x, y - 10, 11, 11, chart_color(name, sizeof name, colors[i]), NULL);
        tsim_svg_text(svg, x + 16, y, "start", "soft", names[i]);
        tsim_svg_group_end(svg);
        x += width;
    }
}

void tsim_chart_stack(const struct tsim_svg *svg, int row, const char *title, const struct chart_parts *parts,
                      const struct tsim_json *values, double most) {
    double x = CHART_LEFT, y = CHART_TOP + row * CHART_BAR;
    tsim_svg_text(svg, CHART_LEFT - 10, y + 16, "end", "ink", title);
    for (int i = 0; i < parts->n; i++) {
        char color[8], text[96], amount[48];
        double value = chart_number(values, parts->items[i].path),
               width = value / most * (CHART_WIDTH - CHART_LEFT - CHART_RIGHT);
        snprintf(text, sizeof text, "%s: %s", parts->items[i].title, parts->text(value, amount, sizeof amount));
        if (value > 0)
            tsim_svg_rect(svg, x, y + 3, width, CHART_BAR - 8, chart_color(color, sizeof color, i), text);
        x += width;
    }
}

void tsim_chart_parts_legend(const struct tsim_svg *svg, const struct chart_parts *parts, const struct tsim_json *rows,
                             const struct tsim_json *(*values)(const struct tsim_json *row), double y) {
    const char *names[CHART_MOST_PARTS];
    int colors[CHART_MOST_PARTS], n = 0;
    for (int i = 0; i < parts->n; i++) {
        bool is_used = false;
        for (size_t k = 0; k < tsim_json_count(rows); k++)
            is_used |= chart_number(values(tsim_json_at(rows, k)), parts->items[i].path) > 0;
        names[n] = parts->items[i].title;
        colors[n] = i;
        n += is_used;
    }
    tsim_chart_legend(svg, names, colors, n, y);
}

/* Writes "500", "2 k" or "100 T". */
static const char *tick_text(double value, char *buffer, size_t size) {
    const char *prefix = value < 1 ? "" : tsim_quantity_prefix(&value, 999.5);
    snprintf(buffer, size, "%.3g%s%s", value, *prefix ? " " : "", prefix);
    return buffer;
}

static void draw_tick(const struct tsim_svg *svg, const struct chart_axis *x, const struct chart_axis *y, bool is_x,
                      double value, const char *unit) {
    char text[64], amount[32];
    double place = chart_at(is_x ? x : y, value);
    tick_text(value, amount, sizeof amount);
    snprintf(text, sizeof text, "%s%s%s", amount, unit[0] && !strchr(amount, ' ') ? " " : "", unit);
    if (is_x) {
        tsim_svg_line(svg, place, y->from, place, y->to, "line");
        tsim_svg_text(svg, place, y->from + 18, "middle", "soft", text);
    } else {
        tsim_svg_line(svg, x->from, place, x->to, place, "line");
        tsim_svg_text(svg, x->from - 8, place + 4, "end", "soft", text);
    }
}

/* Draws a line at each power of ten, and if these are few, also at two and five times it. */
void tsim_chart_ticks(const struct tsim_svg *svg, const struct chart_axis *x, const struct chart_axis *y, bool is_x,
                      const char *unit) {
    static const double STEPS[] = {1, 2, 5};
    const struct chart_axis *axis = is_x ? x : y;
    int n_steps = axis->high / axis->low < 300 ? 3 : 1;
    for (double decade = pow(10, floor(log10(axis->low))); decade <= axis->high; decade *= 10)
        for (int i = 0; i < n_steps; i++)
            if (decade * STEPS[i] >= axis->low * 0.999 && decade * STEPS[i] <= axis->high * 1.001)
                draw_tick(svg, x, y, is_x, decade * STEPS[i], unit);
}

void tsim_chart_frame(const struct tsim_svg *svg, const struct chart_frame *f) {
    const struct chart_axis *x = &f->x, *y = &f->y;
    tsim_svg_line(svg, x->from, y->from, x->to, y->from, "line");
    tsim_svg_line(svg, x->from, y->from, x->from, y->to, "line");
    tsim_svg_text(svg, x->from, y->from + 18, "start", "soft low-x", f->low_x);
    tsim_svg_text(svg, x->to, y->from + 18, "end", "soft high-x", f->high_x);
    tsim_svg_text(svg, x->from - 8, y->from, "end", "soft low-y", f->low_y);
    tsim_svg_text(svg, x->from - 8, y->to + 4, "end", "soft high-y", f->high_y);
    tsim_svg_text_up(svg, 20, (y->from + y->to) / 2, "soft name-y", f->name_y);
    tsim_svg_text(svg, (x->from + x->to) / 2, y->from + 34, "middle", "soft name-x", f->name_x);
}

void tsim_chart_marks(const struct tsim_svg *svg, const struct chart_mark *marks, size_t n, double left, double y) {
    double x = left;
    for (size_t i = 0; i < n; i++) {
        double width = 44 + 7.2 * (double)strlen(marks[i].text);
        if (x > left && x + width > CHART_WIDTH) {
            x = left;
            y += 18;
        }
        const double square[] = {x, y - 9, x + 18, y - 9, x + 18, y + 1, x, y + 1}, line[] = {x, y - 4, x + 18, y - 4};
        tsim_svg_group(svg, "key", "");
        if (marks[i].shape == CHART_AREA)
            tsim_svg_area(svg, square, 4, marks[i].class_name);
        else if (marks[i].shape == CHART_LINE)
            tsim_svg_path(svg, line, 2, marks[i].class_name);
        else
            tsim_svg_dot(svg, x + 9, y - 4, 5, marks[i].class_name, NULL);
        tsim_svg_text(svg, x + 24, y, "start", "soft", marks[i].text);
        tsim_svg_group_end(svg);
        x += width;
    }
}
