/* Charts of a sweep beside its scaling curve: the Pareto front, and speed over two axes. */
#include "report/page/chart_sweep.h"

#include "base/arena.h"
#include "config/scenario.h"
#include "report/page/chart_draw.h"
#include "results/format.h"

#include <stdlib.h>
#include <string.h>

static bool is_ok(const struct tsim_json *point) {
    const char *status = tsim_json_text_of(point, "status");
    return status && strcmp(status, "ok") == 0;
}

static double speed(const struct tsim_json *point) {
    double tokens = tsim_json_figure(point, "tokens_per_s");
    return isnan(tokens) ? tsim_json_figure(point, "samples_per_s") : tokens;
}

/* ---- the Pareto front: what is less against what is more ---- */

static const struct cost {
    const char *key, *name;
    enum tsim_dimension dimension;
} COSTS[] = {{"campaign_rent_usd", "rent of the whole run", TSIM_USD},
             {"mean_power_w", "mean power", TSIM_WATTS},
             {"memory_peak_bytes", "memory of the fullest rank", TSIM_BYTES}};

struct place {
    double cost, speed;
};

static int compare_places(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    if (x->cost < y->cost || x->cost > y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->speed > y->speed ? -1 : x->speed < y->speed;
}

static const struct cost *cost_of(const struct tsim_json *points) {
    for (size_t c = 0; c < sizeof COSTS / sizeof COSTS[0]; c++)
        for (size_t i = 0; i < tsim_json_count(points); i++)
            if (!isnan(tsim_json_figure(tsim_json_at(points, i), COSTS[c].key)))
                return &COSTS[c];
    return NULL;
}

static size_t find_places(const struct tsim_json *points, const struct cost *cost, struct place *places) {
    size_t n = 0;
    for (size_t i = 0; i < tsim_json_count(points); i++) {
        const struct tsim_json *point = tsim_json_at(points, i);
        struct place place = {tsim_json_figure(point, cost->key), speed(point)};
        if (is_ok(point) && !isnan(place.cost) && !isnan(place.speed))
            places[n++] = place;
    }
    qsort(places, n, sizeof *places, compare_places);
    return n;
}

/* From nothing to the largest of both. */
struct frame {
    const struct cost *cost;
    double most_cost, most_speed, left, right, top, bottom;
    bool has_tokens;
};

static void draw_frame(const struct tsim_json *sweep, const struct frame *f, FILE *out) {
    static const struct chart_mark MARKS[] = {{CHART_DOT, "k6", "Pareto front: no other point is better in both"},
                                              {CHART_DOT, "k4", "other points"}};
    char amount[96], rate[96];
    tsim_chart_begin(sweep, "Pareto front", f->bottom + 74, out);
    tsim_svg_line(out, f->left, f->bottom, f->right, f->bottom, "line");
    tsim_svg_line(out, f->left, f->bottom, f->left, f->top, "line");
    tsim_svg_text(out, f->left, f->bottom + 18, "start", "soft", "0");
    tsim_svg_text(out, f->right, f->bottom + 18, "end", "soft",
                  tsim_quantity_human(f->most_cost, f->cost->dimension, amount, sizeof amount));
    tsim_svg_text(out, f->left - 8, f->top + 4, "end", "soft", tsim_rate_text(f->most_speed, rate, sizeof rate));
    tsim_svg_text_up(out, 20, (f->top + f->bottom) / 2, "soft", f->has_tokens ? "tokens/s" : "samples/s");
    tsim_svg_text(out, (f->left + f->right) / 2, f->bottom + 34, "middle", "soft", f->cost->name);
    tsim_chart_marks(out, MARKS, sizeof MARKS / sizeof MARKS[0], f->left, f->bottom + 58);
}

/* The cheapest first: one that is faster than all before it is on the front. */
static void draw_places(const struct place *places, size_t n, const struct frame *f, FILE *out) {
    double best = 0, last_x = 0, last_y = 0;
    char text[256], amount[96], rate[96];
    for (size_t i = 0; i < n; i++) {
        double x = f->left + places[i].cost / f->most_cost * (f->right - f->left);
        double y = f->bottom - places[i].speed / f->most_speed * (f->bottom - f->top);
        bool is_front = places[i].speed > best;
        snprintf(text, sizeof text, "%s, %s/s",
                 tsim_quantity_human(places[i].cost, f->cost->dimension, amount, sizeof amount),
                 tsim_rate_text(places[i].speed, rate, sizeof rate));
        if (is_front && best > 0)
            tsim_svg_line(out, last_x, last_y, x, y, "curve");
        tsim_svg_dot(out, x, y, is_front ? 5 : 3, is_front ? "k6" : "k4", text);
        if (!is_front)
            continue;
        last_x = x;
        last_y = y;
        best = places[i].speed;
    }
}

bool tsim_chart_pareto(const struct tsim_json *sweep, FILE *out) {
    const struct tsim_json *points = tsim_json_find(sweep, "points");
    struct frame f = {
        .cost = cost_of(points), .left = 100, .right = CHART_WIDTH - 40, .top = CHART_TOP + 10, .bottom = 360};
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    struct place *places = TSIM_NEW_ARRAY(&arena, tsim_json_count(points), struct place);
    size_t n = f.cost ? find_places(points, f.cost, places) : 0;
    for (size_t i = 0; i < n; i++) {
        f.most_cost = fmax(f.most_cost, places[i].cost);
        f.most_speed = fmax(f.most_speed, places[i].speed);
    }
    for (size_t i = 0; i < tsim_json_count(points); i++)
        f.has_tokens |= !isnan(tsim_json_figure(tsim_json_at(points, i), "tokens_per_s"));
    bool has_points = n >= 2 && f.most_cost > 0 && f.most_speed > 0;
    if (has_points) {
        draw_frame(sweep, &f, out);
        draw_places(places, n, &f, out);
        tsim_svg_end(out);
    }
    tsim_arena_release(&arena);
    return has_points;
}

/* ---- speed over the first two axes with several values; of points that share a cell the best ---- */

enum { MOST_VALUES = 24, TEXT_BYTES = 40 };

struct heat_axis {
    const char *key;
    char values[MOST_VALUES][TEXT_BYTES];
    int n;
};

static const char *value_text(const struct tsim_json *point, const char *key, char *buffer, size_t size) {
    const struct tsim_json *set = tsim_json_find(point, "set");
    const char *text = tsim_json_text_of(set, key);
    double number = tsim_json_number_of(tsim_json_find(set, key));
    if (text)
        snprintf(buffer, size, "%s", text);
    else if (!isnan(number))
        snprintf(buffer, size, "%.6g", number);
    else
        snprintf(buffer, size, "?");
    return buffer;
}

/* Its place among the axis's values; added when it is new. -1: there are too many. */
static int value_at(struct heat_axis *axis, const char *text) {
    for (int i = 0; i < axis->n; i++)
        if (strcmp(axis->values[i], text) == 0)
            return i;
    if (axis->n == MOST_VALUES)
        return -1;
    snprintf(axis->values[axis->n], TEXT_BYTES, "%s", text);
    return axis->n++;
}

/* Numbers by what they are, texts by their letters. */
static int compare_values(const void *a, const void *b) {
    char *end_a, *end_b;
    double x = strtod(a, &end_a), y = strtod(b, &end_b);
    if (!*end_a && !*end_b && (x < y || x > y))
        return x < y ? -1 : 1;
    return strcmp(a, b);
}

static int find_axes(const struct tsim_json *points, struct heat_axis axes[2]) {
    int n = 0;
    const struct tsim_json *set = tsim_json_find(tsim_json_at(points, 0), "set");
    for (size_t k = 0; k < tsim_json_count(set) && n < 2; k++) {
        char text[TEXT_BYTES];
        axes[n] = (struct heat_axis){.key = tsim_json_key(set, k)};
        for (size_t i = 0; i < tsim_json_count(points); i++)
            if (is_ok(tsim_json_at(points, i)))
                value_at(&axes[n], value_text(tsim_json_at(points, i), axes[n].key, text, sizeof text));
        qsort(axes[n].values, (size_t)axes[n].n, TEXT_BYTES, compare_values);
        n += axes[n].n > 1;
    }
    return n;
}

static void draw_cells(FILE *out, const struct heat_axis axes[2], double cells[MOST_VALUES][MOST_VALUES], double most,
                       double left, double width) {
    for (int y = 0; y < axes[0].n; y++) {
        tsim_svg_text(out, left - 8, CHART_TOP + (y + 1.65) * CHART_BAR, "end", "ink", axes[0].values[y]);
        for (int x = 0; x < axes[1].n; x++) {
            char text[96], name[16];
            double at = left + x * width, top = CHART_TOP + (y + 1) * CHART_BAR;
            if (!(cells[y][x] > 0))
                continue;
            snprintf(name, sizeof name, "heat%d", (int)(9 * cells[y][x] / most));
            tsim_rate_text(cells[y][x], text, sizeof text);
            tsim_svg_rect(out, at + 1, top + 1, width - 2, CHART_BAR - 2, name, text);
            tsim_svg_text(out, at + width / 2, top + 17, "middle", "ink", text);
        }
    }
    for (int x = 0; x < axes[1].n; x++)
        tsim_svg_text(out, left + (x + 0.5) * width, CHART_TOP + 16, "middle", "ink", axes[1].values[x]);
}

bool tsim_chart_heat(const struct tsim_json *sweep, FILE *out) {
    const struct tsim_json *points = tsim_json_find(sweep, "points");
    double cells[MOST_VALUES][MOST_VALUES] = {{0}}, most = 0, left = 130;
    struct heat_axis axes[2];
    char text[TEXT_BYTES], line[200];
    if (find_axes(points, axes) < 2)
        return false;
    for (size_t i = 0; i < tsim_json_count(points); i++) {
        const struct tsim_json *point = tsim_json_at(points, i);
        if (!is_ok(point))
            continue;
        int y = value_at(&axes[0], value_text(point, axes[0].key, text, sizeof text));
        int x = value_at(&axes[1], value_text(point, axes[1].key, text, sizeof text));
        if (x < 0 || y < 0 || isnan(speed(point)))
            continue;
        cells[y][x] = fmax(cells[y][x], speed(point));
        most = fmax(most, cells[y][x]);
    }
    if (!(most > 0))
        return false;
    double width = fmin((CHART_WIDTH - left - CHART_RIGHT) / axes[1].n, 110),
           bottom = CHART_TOP + (axes[0].n + 1) * CHART_BAR;
    tsim_chart_begin(sweep, "Speed, tokens or samples a second", bottom + 36, out);
    draw_cells(out, axes, cells, most, left, width);
    snprintf(line, sizeof line, "rows: %.60s; columns: %.60s; the best point of each cell", axes[0].key, axes[1].key);
    tsim_svg_text(out, 16, bottom + 22, "start", "soft", line);
    tsim_svg_end(out);
    return true;
}
