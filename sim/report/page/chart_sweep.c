/* Charts of a sweep: its scaling curve, the Pareto front, speed over two axes. */
#include "base/arena.h"
#include "config/scenario.h"
#include "report/page/chart_draw.h"
#include "report/page/chart_drawings.h"
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

/* ---- the scaling curve ---- */

static const struct tsim_json *scaling_rows(const struct tsim_json *sweep) {
    return tsim_json_find(tsim_json_find(sweep, "scaling"), "rows");
}

/* Returns tokens if the model has them. */
static double rate_of(const struct tsim_json *row) {
    double tokens = chart_number(row, "tokens_per_s");
    return tokens > 0 ? tokens : chart_number(row, "samples_per_s");
}

/* Draws the area between two curves over the counts. */
static void draw_between(const struct tsim_svg *svg, const struct tsim_json *rows, const struct chart_axis *x,
                         const struct chart_axis *y, double (*upper)(const struct tsim_json *rows, size_t i),
                         double (*lower)(const struct tsim_json *rows, size_t i), const char *class_name) {
    enum { MOST = 64 };
    double points[4 * MOST];
    size_t n = tsim_json_count(rows) < MOST ? tsim_json_count(rows) : MOST;
    for (size_t i = 0; i < n; i++) {
        double place = chart_at(x, chart_number(tsim_json_at(rows, i), "accelerators"));
        points[2 * i] = points[2 * (2 * n - 1 - i)] = place;
        points[2 * i + 1] = chart_at(y, upper(rows, i));
        points[2 * (2 * n - 1 - i) + 1] = chart_at(y, lower(rows, i));
    }
    tsim_svg_area(svg, points, 2 * n, class_name);
}

static double simulated_of(const struct tsim_json *rows, size_t i) {
    return rate_of(tsim_json_at(rows, i));
}

static double ideal_of(const struct tsim_json *rows, size_t i) {
    const struct tsim_json *first = tsim_json_at(rows, 0), *row = tsim_json_at(rows, i);
    return rate_of(first) * chart_number(row, "accelerators") / chart_number(first, "accelerators");
}

/* Returns the speed of a point if its step had no larger share of exposed communication than the smallest cluster's.
 * The gap from the point to it is due to exposed communication, and the gap from it to the ideal to all else. */
static double untaxed_of(const struct tsim_json *rows, size_t i) {
    const struct tsim_json *first = tsim_json_at(rows, 0), *row = tsim_json_at(rows, i);
    double untaxed = rate_of(row) * (1 - chart_number(first, "communication_exposed_frac")) /
                     (1 - chart_number(row, "communication_exposed_frac"));
    return fmax(rate_of(row), fmin(untaxed, ideal_of(rows, i)));
}

static void draw_curve(const struct tsim_svg *svg, const struct tsim_json *rows, const struct chart_axis *x,
                       const struct chart_axis *y, double (*curve)(const struct tsim_json *rows, size_t i),
                       const char *class_name) {
    enum { MOST = 64 };
    double points[2 * MOST];
    size_t n = tsim_json_count(rows) < MOST ? tsim_json_count(rows) : MOST;
    for (size_t i = 0; i < n; i++) {
        points[2 * i] = chart_at(x, chart_number(tsim_json_at(rows, i), "accelerators"));
        points[2 * i + 1] = chart_at(y, curve(rows, i));
    }
    tsim_svg_path(svg, points, n, class_name);
}

static void draw_knee(const struct tsim_svg *svg, const struct tsim_json *sweep, const struct chart_axis *x,
                      const struct chart_axis *y) {
    const struct tsim_json *knee = tsim_json_find(tsim_json_find(sweep, "scaling"), "knee");
    double n = chart_number(knee, "accelerators");
    char text[200];
    if (!knee)
        return;
    tsim_svg_line(svg, chart_at(x, n), y->from, chart_at(x, n), y->to, "warn");
    snprintf(text, sizeof text, "knee after %.0f: %s", n, tsim_json_text_of(knee, "cause"));
    bool is_left = chart_at(x, n) > (x->from + x->to) / 2;
    tsim_svg_text(svg, chart_at(x, n) + (is_left ? -8 : 8), y->to + 14, is_left ? "end" : "start", "warn", text);
}

static double highest_of(const struct tsim_json *rows, size_t i) {
    return fmax(ideal_of(rows, i), untaxed_of(rows, i));
}

bool tsim_chart_scaling(const struct tsim_json *sweep, const struct tsim_svg *svg) {
    static const struct chart_mark MARKS[] = {{CHART_LINE, "curve", "simulated"},
                                              {CHART_LINE, "ideal", "ideal"},
                                              {CHART_AREA, "tax", "lost to more exposed communication"},
                                              {CHART_AREA, "rest", "lost to all else"}};
    const struct tsim_json *rows = scaling_rows(sweep);
    size_t n = tsim_json_count(rows);
    if (n < 2)
        return false;
    const char *unit = chart_number(tsim_json_at(rows, 0), "tokens_per_s") > 0 ? "tokens/s" : "samples/s";
    double least = simulated_of(rows, 0), most = least;
    for (size_t i = 0; i < n; i++) {
        least = fmin(least, simulated_of(rows, i));
        most = fmax(most, fmax(ideal_of(rows, i), untaxed_of(rows, i)));
    }
    const struct chart_axis x = {chart_number(tsim_json_at(rows, 0), "accelerators"),
                                 chart_number(tsim_json_at(rows, n - 1), "accelerators"), 90,
                                 CHART_WIDTH - CHART_RIGHT - 20},
                            y = {least / 1.2, most * 1.1, 380, CHART_TOP + 6};
    if (!(x.low > 0 && y.low > 0 && isfinite(y.high))) /* a database can hold anything */
        return false;
    tsim_chart_begin(sweep, "Scaling", 462, svg);
    tsim_chart_ticks(svg, &x, &y, false, "");
    draw_between(svg, rows, &x, &y, highest_of, untaxed_of, "rest");
    draw_between(svg, rows, &x, &y, untaxed_of, simulated_of, "tax");
    draw_curve(svg, rows, &x, &y, ideal_of, "ideal");
    draw_curve(svg, rows, &x, &y, simulated_of, "curve");
    for (size_t i = 0; i < n; i++) {
        char text[32], hint[160], rate[48], share[32];
        double count = chart_number(tsim_json_at(rows, i), "accelerators");
        snprintf(text, sizeof text, "%.0f", count);
        tsim_svg_text(svg, chart_at(&x, count), 400, "middle", "soft", text);
        snprintf(hint, sizeof hint, "%s accelerators: %s %s\nefficiency %s", text,
                 tsim_rate_text(simulated_of(rows, i), rate, sizeof rate), unit,
                 tsim_share_text(chart_number(tsim_json_at(rows, i), "efficiency_frac"), share, sizeof share));
        tsim_svg_dot(svg, chart_at(&x, count), chart_at(&y, simulated_of(rows, i)), 4, "k0", hint);
    }
    draw_knee(svg, sweep, &x, &y);
    tsim_svg_text_up(svg, 20, (y.from + y.to) / 2, "soft", unit);
    tsim_svg_text(svg, (x.from + x.to) / 2, 420, "middle", "soft", "accelerators; of each number the fastest point");
    tsim_chart_marks(svg, MARKS, sizeof MARKS / sizeof MARKS[0], x.from, 446);
    tsim_svg_end(svg);
    return true;
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
    size_t point;
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
        struct place place = {tsim_json_figure(point, cost->key), speed(point), i};
        if (is_ok(point) && !isnan(place.cost) && !isnan(place.speed))
            places[n++] = place;
    }
    qsort(places, n, sizeof *places, compare_places);
    return n;
}

/* Draws the cheapest first: a point that is faster than all before it is on the front. A dot's class contains its place
 * among the sweep's points, by which the page's script finds it when it shows other figures. */
static void draw_places(const struct place *places, size_t n, const struct cost *cost, const struct chart_frame *f,
                        struct tsim_arena *arena, const struct tsim_svg *svg) {
    double best = 0, *front = TSIM_NEW_ARRAY(arena, 2 * n, double);
    size_t n_front = 0;
    char text[256], amount[96], rate[96], class_name[32];
    tsim_svg_group(svg, "dots",
                   tsim_arena_printf(arena, "data-frame=\"%g %g %g %g\"", f->x.from, f->x.to, f->y.from, f->y.to));
    for (size_t i = 0; i < n; i++) {
        double x = chart_at(&f->x, places[i].cost), y = chart_at(&f->y, places[i].speed);
        bool is_front = places[i].speed > best;
        snprintf(text, sizeof text, "%s, %s/s",
                 tsim_quantity_human(places[i].cost, cost->dimension, amount, sizeof amount),
                 tsim_rate_text(places[i].speed, rate, sizeof rate));
        snprintf(class_name, sizeof class_name, "%s p%zu", is_front ? "k6" : "k4", places[i].point);
        tsim_svg_dot(svg, x, y, is_front ? 5 : 3, class_name, text);
        if (!is_front)
            continue;
        front[2 * n_front] = x;
        front[2 * n_front++ + 1] = y;
        best = places[i].speed;
    }
    tsim_svg_path(svg, front, n_front, "curve");
    tsim_svg_group_end(svg);
}

static void draw_pareto(const struct tsim_json *sweep, const struct place *places, size_t n, const struct cost *cost,
                        bool has_tokens, struct tsim_arena *arena, const struct tsim_svg *svg) {
    static const struct chart_mark MARKS[] = {{CHART_DOT, "k6", "Pareto front: no other point is better in both"},
                                              {CHART_DOT, "k4", "other points"}};
    char amount[2][96], rate[2][96];
    struct chart_frame f = {.x = {places[0].cost, 0, 100, CHART_WIDTH - 40, .is_linear = true},
                            .y = {places[0].speed, 0, 360, CHART_TOP + 10, .is_linear = true},
                            .name_x = cost->name,
                            .name_y = has_tokens ? "tokens/s" : "samples/s"};
    for (size_t i = 0; i < n; i++) {
        f.x.high = fmax(f.x.high, places[i].cost);
        f.y.low = fmin(f.y.low, places[i].speed);
        f.y.high = fmax(f.y.high, places[i].speed);
    }
    chart_widen(&f.x);
    chart_widen(&f.y);
    f.low_x = tsim_quantity_human(f.x.low, cost->dimension, amount[0], sizeof amount[0]);
    f.high_x = tsim_quantity_human(f.x.high, cost->dimension, amount[1], sizeof amount[1]);
    f.low_y = tsim_rate_text(f.y.low, rate[0], sizeof rate[0]);
    f.high_y = tsim_rate_text(f.y.high, rate[1], sizeof rate[1]);
    tsim_chart_begin(sweep, "Pareto front", f.y.from + 74, svg);
    tsim_chart_frame(svg, &f);
    draw_places(places, n, cost, &f, arena, svg);
    tsim_chart_marks(svg, MARKS, sizeof MARKS / sizeof MARKS[0], f.x.from, f.y.from + 58);
    tsim_svg_end(svg);
}

bool tsim_chart_pareto(const struct tsim_json *sweep, const struct tsim_svg *svg) {
    const struct tsim_json *points = tsim_json_find(sweep, "points");
    const struct cost *cost = cost_of(points);
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    struct place *places = TSIM_NEW_ARRAY(&arena, tsim_json_count(points), struct place);
    size_t n = cost ? find_places(points, cost, places) : 0;
    bool has_tokens = false, has_cost = false, has_speed = false;
    for (size_t i = 0; i < n; i++) {
        has_cost |= places[i].cost > 0;
        has_speed |= places[i].speed > 0;
    }
    for (size_t i = 0; i < tsim_json_count(points); i++)
        has_tokens |= !isnan(tsim_json_figure(tsim_json_at(points, i), "tokens_per_s"));
    bool has_points = n >= 2 && has_cost && has_speed;
    if (has_points)
        draw_pareto(sweep, places, n, cost, has_tokens, &arena, svg);
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

/* Returns the value's place on the axis, to which it adds a new value; -1 if there are too many. */
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

static void draw_cells(const struct tsim_svg *svg, const struct heat_axis axes[2],
                       double cells[MOST_VALUES][MOST_VALUES], double most, double left, double width) {
    for (int y = 0; y < axes[0].n; y++) {
        tsim_svg_text(svg, left - 8, CHART_TOP + (y + 1.65) * CHART_BAR, "end", "ink", axes[0].values[y]);
        for (int x = 0; x < axes[1].n; x++) {
            char text[96], name[16];
            double at = left + x * width, top = CHART_TOP + (y + 1) * CHART_BAR;
            if (!(cells[y][x] > 0))
                continue;
            snprintf(name, sizeof name, "heat%d", (int)(9 * cells[y][x] / most));
            tsim_rate_text(cells[y][x], text, sizeof text);
            tsim_svg_rect(svg, at + 1, top + 1, width - 2, CHART_BAR - 2, name, text);
            tsim_svg_text(svg, at + width / 2, top + 17, "middle", "ink", text);
        }
    }
    for (int x = 0; x < axes[1].n; x++)
        tsim_svg_text(svg, left + (x + 0.5) * width, CHART_TOP + 16, "middle", "ink", axes[1].values[x]);
}

bool tsim_chart_heat(const struct tsim_json *sweep, const struct tsim_svg *svg) {
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
    tsim_chart_begin(sweep, "Speed, tokens or samples a second", bottom + 36, svg);
    draw_cells(svg, axes, cells, most, left, width);
    snprintf(line, sizeof line, "rows: %.60s; columns: %.60s; the best point of each cell", axes[0].key, axes[1].key);
    tsim_svg_text(svg, 16, bottom + 22, "start", "soft", line);
    tsim_svg_end(svg);
    return true;
}
