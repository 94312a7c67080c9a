#include "report/page/chart_draw.h"

#include <string.h>

void tsim_chart_begin(const struct tsim_json *entry, const char *what, double height, FILE *out) {
    char title[200];
    const char *name = tsim_json_text_of(entry, "name");
    snprintf(title, sizeof title, "%s%s%s", what, name ? ": " : "", name ? name : "");
    tsim_svg_begin(out, CHART_WIDTH, height, title);
}

void tsim_chart_bar(FILE *out, int row, const char *title, double frac, const char *text, int color) {
    char name[8];
    double y = CHART_TOP + row * CHART_BAR, width = fmax(frac * (CHART_WIDTH - CHART_LEFT - CHART_RIGHT - 130), 1);
    tsim_svg_text(out, CHART_LEFT - 10, y + 16, "end", "ink", title);
    tsim_svg_rect(out, CHART_LEFT, y + 3, width, CHART_BAR - 8, chart_color(name, sizeof name, color), text);
    tsim_svg_text(out, CHART_LEFT + width + 8, y + 16, "start", "soft", text);
}

void tsim_chart_legend(FILE *out, const char *const *names, const int *colors, int n, double y) {
    char name[8];
    double x = 16;
    for (int i = 0; i < n; i++) {
        tsim_svg_rect(out, x, y - 10, 11, 11, chart_color(name, sizeof name, colors[i]), NULL);
        tsim_svg_text(out, x + 16, y, "start", "soft", names[i]);
        x += 30 + 7.2 * (double)strlen(names[i]);
    }
}

void tsim_chart_marks(FILE *out, const struct chart_mark *marks, size_t n, double x, double y) {
    for (size_t i = 0; i < n; i++) {
        const double square[] = {x, y - 9, x + 18, y - 9, x + 18, y + 1, x, y + 1}, line[] = {x, y - 4, x + 18, y - 4};
        if (marks[i].shape == CHART_AREA)
            tsim_svg_area(out, square, 4, marks[i].class_name);
        else if (marks[i].shape == CHART_LINE)
            tsim_svg_path(out, line, 2, marks[i].class_name);
        else
            tsim_svg_dot(out, x + 9, y - 4, 5, marks[i].class_name, NULL);
        tsim_svg_text(out, x + 24, y, "start", "soft", marks[i].text);
        x += 44 + 7.2 * (double)strlen(marks[i].text);
    }
}
