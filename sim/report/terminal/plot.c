#include "report/terminal/plot.h"

#include "base/quantity.h"

#include <math.h>
#include <string.h>

/* A character is two dots wide and four high (Unicode 2800 on). */
enum { ROWS = 8, MOST_COLUMNS = 60, LABEL_COLUMNS = 12, DOTS_Y = 4 * ROWS };

struct canvas {
    int columns;
    unsigned char cells[ROWS][MOST_COLUMNS];
    double log_x, log_y, x_per_dot, y_per_dot; /* of the lowest dot, and between dots */
};

static void set_dot(struct canvas *canvas, int x, int y) {
    static const unsigned char BITS[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    int row = ROWS - 1 - y / 4;
    if (x >= 0 && x < 2 * canvas->columns && y >= 0 && y < DOTS_Y)
        canvas->cells[row][x / 2] |= BITS[3 - y % 4][x % 2];
}

static int dot_x(const struct canvas *canvas, double x) {
    return (int)lround((log(x) - canvas->log_x) / canvas->x_per_dot);
}

static double dot_y(const struct canvas *canvas, double y) {
    return (log(y) - canvas->log_y) / canvas->y_per_dot;
}

static void draw_curve(struct canvas *canvas, const struct tsim_plot *plot, const struct tsim_plot_curve *curve) {
    for (size_t i = 0; i + 1 < plot->n; i++) {
        int from = dot_x(canvas, plot->x[i]), to = dot_x(canvas, plot->x[i + 1]);
        if (isnan(curve->y[i]) || isnan(curve->y[i + 1]))
            continue;
        double y = dot_y(canvas, curve->y[i]),
               slope = to > from ? (dot_y(canvas, curve->y[i + 1]) - y) / (to - from) : 0;
        for (int x = from; x <= to; x++)
            if (!curve->is_dotted || x % 4 == 0)
                set_dot(canvas, x, (int)lround(y + slope * (x - from)));
    }
}

static bool fit(struct canvas *canvas, const struct tsim_plot *plot, double *low, double *high) {
    *low = (double)INFINITY;
    *high = 0;
    for (size_t c = 0; c < plot->n_curves; c++)
        for (size_t i = 0; i < plot->n; i++)
            if (!isnan(plot->curves[c].y[i])) {
                *low = fmin(*low, plot->curves[c].y[i]);
                *high = fmax(*high, plot->curves[c].y[i]);
            }
    if (plot->n < 2 || !(*high > *low) || !(plot->x[plot->n - 1] > plot->x[0]))
        return false;
    canvas->log_x = log(plot->x[0]);
    canvas->log_y = log(*low);
    canvas->x_per_dot = (log(plot->x[plot->n - 1]) - canvas->log_x) / (2 * canvas->columns - 1);
    canvas->y_per_dot = (log(*high) - canvas->log_y) / (DOTS_Y - 1);
    return true;
}

static void print_row(FILE *out, const struct canvas *canvas, int row, const char *label) {
    tsim_text_pad(out, label, -LABEL_COLUMNS);
    fputs(" ", out);
    int end = canvas->columns;
    while (end > 0 && canvas->cells[row][end - 1] == 0)
        end--;
    for (int c = 0; c < end; c++) {
        if (canvas->cells[row][c] == 0) {
            fputc(' ', out);
            continue;
        }
        unsigned code = 0x2800u + canvas->cells[row][c];
        fprintf(out, "%c%c%c", (int)(0xE0u | code >> 12), (int)(0x80u | (code >> 6 & 0x3Fu)),
                (int)(0x80u | (code & 0x3Fu)));
    }
    fputc('\n', out);
}

/* Writes numbers below the points that they belong to, if there is room. */
static void print_ticks(FILE *out, const struct canvas *canvas, const struct tsim_plot *plot) {
    char line[MOST_COLUMNS + 16];
    int end = 0, length;
    memset(line, ' ', sizeof line);
    for (size_t i = 0; i < plot->n; i++) {
        char text[32];
        int width = snprintf(text, sizeof text, "%.0f", plot->x[i]), at = dot_x(canvas, plot->x[i]) / 2 - width / 2;
        at = at < 0 ? 0 : at;
        if ((i > 0 && at < end + 1) || at + width > (int)sizeof line - 1)
            continue;
        memcpy(line + at, text, (size_t)width);
        end = at + width;
    }
    for (length = (int)sizeof line; length > 0 && line[length - 1] == ' ';)
        length--;
    fprintf(out, "%*s %.*s\n", LABEL_COLUMNS, "", length, line);
}

void tsim_plot_print(FILE *out, const struct tsim_style *style, const struct tsim_plot *plot) {
    struct canvas canvas = {.columns = style->width - LABEL_COLUMNS - 2};
    double low, high;
    char top[48], bottom[48];
    canvas.columns = canvas.columns < MOST_COLUMNS ? canvas.columns : MOST_COLUMNS;
    if (!fit(&canvas, plot, &low, &high))
        return;
    for (size_t c = 0; c < plot->n_curves; c++)
        draw_curve(&canvas, plot, &plot->curves[c]);
    for (int y = 0; plot->mark < plot->n && y < DOTS_Y; y += 3)
        set_dot(&canvas, dot_x(&canvas, plot->x[plot->mark]), y);
    tsim_quantity_human(high, TSIM_COUNT, top, sizeof top);
    tsim_quantity_human(low, TSIM_COUNT, bottom, sizeof bottom);
    for (int row = 0; row < ROWS; row++)
        print_row(out, &canvas, row, row == 0 ? top : row == 1 ? plot->unit : row == ROWS - 1 ? bottom : "");
    print_ticks(out, &canvas, plot);
}
