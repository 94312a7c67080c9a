#include "report/page/chart.h"

#include "base/arena.h"
#include "config/scenario.h"
#include "report/page/chart_draw.h"
#include "report/page/chart_run.h"
#include "report/page/chart_sweep.h"
#include "results/format.h"

#include <math.h>
#include <string.h>

enum {
    WIDTH = CHART_WIDTH,
    LEFT = CHART_LEFT,
    RIGHT = CHART_RIGHT,
    TOP = CHART_TOP,
    BAR = CHART_BAR,
    MOST_ROWS = CHART_MOST_ROWS
};
#define PLOT_WIDTH (WIDTH - LEFT - RIGHT)

/* ---- where the step goes ---- */

struct part {
    const char *path, *title;
};
static const struct part STEP_PARTS[] = {{"step.compute_s", "compute"},
                                         {"step.recompute_s", "recompute"},
                                         {"step.bubble_s", "bubble"},
                                         {"communication_exposed.tensor_s", "exposed tensor"},
                                         {"communication_exposed.pipeline_s", "exposed pipeline"},
                                         {"communication_exposed.data_s", "exposed data"},
                                         {"communication_exposed.context_s", "exposed context"},
                                         {"communication_exposed.expert_s", "exposed expert"},
                                         {"step.data_stall_s", "input stall"},
                                         {"step.optimizer_s", "optimizer"}};
enum { N_STEP_PARTS = sizeof STEP_PARTS / sizeof STEP_PARTS[0] };

static bool draw_step(const struct tsim_json *run, FILE *out) {
    const struct tsim_json *summary = tsim_json_find(run, "summary");
    double step_s = chart_number(summary, "step.time_s"), most_s = 0;
    int n = 0;
    for (int i = 0; i < N_STEP_PARTS; i++) {
        double time_s = chart_number(summary, STEP_PARTS[i].path);
        n += time_s > TSIM_ROUNDING_FRAC * step_s;
        most_s = fmax(most_s, time_s);
    }
    if (!(step_s > 0))
        return false;
    tsim_chart_begin(run, "Where the step goes", TOP + (n + 1) * BAR, out);
    int row = 0;
    for (int i = 0; i < N_STEP_PARTS; i++) {
        char text[96], time[48], share[32];
        double time_s = chart_number(summary, STEP_PARTS[i].path);
        if (!(time_s > TSIM_ROUNDING_FRAC * step_s))
            continue;
        snprintf(text, sizeof text, "%s, %s", tsim_quantity_human(time_s, TSIM_TIME_S, time, sizeof time),
                 tsim_share_text(time_s / step_s, share, sizeof share));
        tsim_chart_bar(out, row++, STEP_PARTS[i].title, time_s / most_s, text, i);
    }
    tsim_svg_end(out);
    return true;
}

/* ---- memory by stage ---- */

static const struct part MEMORY_PARTS[] = {{"weights_bytes", "weights"},         {"gradients_bytes", "gradients"},
                                           {"master_bytes", "master weights"},   {"optimizer_bytes", "optimizer"},
                                           {"activations_bytes", "activations"}, {"buffers_bytes", "buffers"},
                                           {"reserve_bytes", "reserve"}};
enum { N_MEMORY_PARTS = sizeof MEMORY_PARTS / sizeof MEMORY_PARTS[0] };

static void draw_stage_memory(FILE *out, int row, const struct tsim_json *stage, double most_bytes) {
    char name[8], text[96], size[32], title[48];
    double x = LEFT, y = TOP + row * BAR;
    snprintf(title, sizeof title, "stage %.0f, %s", chart_number(stage, "stage"),
             tsim_gigabytes_text(chart_number(stage, "peak_bytes"), size, sizeof size));
    tsim_svg_text(out, LEFT - 10, y + 16, "end", "ink", title);
    for (int i = 0; i < N_MEMORY_PARTS; i++) {
        double bytes = chart_number(stage, MEMORY_PARTS[i].path), width = bytes / most_bytes * PLOT_WIDTH;
        snprintf(text, sizeof text, "%s: %s", MEMORY_PARTS[i].title, tsim_gigabytes_text(bytes, size, sizeof size));
        if (bytes > 0)
            tsim_svg_rect(out, x, y + 3, width, BAR - 8, chart_color(name, sizeof name, i), text);
        x += width;
    }
}

static bool draw_memory(const struct tsim_json *run, FILE *out) {
    const struct tsim_json *stages = tsim_json_find(tsim_json_find(run, "explain"), "memory");
    size_t n = tsim_json_count(stages), n_shown = n < MOST_ROWS ? n : MOST_ROWS;
    double most_bytes = 0;
    if (n == 0)
        return false;
    double capacity_bytes = chart_number(tsim_json_at(stages, 0), "capacity_bytes");
    for (size_t i = 0; i < n; i++)
        most_bytes = fmax(most_bytes, chart_number(tsim_json_at(stages, i), "peak_bytes"));
    most_bytes = 1.02 * fmax(most_bytes, capacity_bytes);
    double bottom = TOP + (double)n_shown * BAR, x = LEFT + capacity_bytes / most_bytes * PLOT_WIDTH;
    tsim_chart_begin(run, "Memory by pipeline stage", bottom + 52, out);
    for (size_t i = 0; i < n_shown; i++)
        draw_stage_memory(out, (int)i, tsim_json_at(stages, i), most_bytes);
    tsim_svg_line(out, x, TOP - 4, x, bottom + 4, "warn");
    char size[32], text[64];
    snprintf(text, sizeof text, "capacity %s", tsim_gigabytes_text(capacity_bytes, size, sizeof size));
    tsim_svg_text(out, x - 4, bottom + 18, "end", "warn", text);
    const char *names[N_MEMORY_PARTS];
    int colors[N_MEMORY_PARTS];
    for (int i = 0; i < N_MEMORY_PARTS; i++) {
        names[i] = MEMORY_PARTS[i].title;
        colors[i] = i;
    }
    tsim_chart_legend(out, names, colors, N_MEMORY_PARTS, bottom + 40);
    tsim_svg_end(out);
    return true;
}

/* ---- the pipeline over time ---- */

static const struct part PASS_PARTS[] = {
    {NULL, "forward"}, {NULL, "backward"}, {NULL, "input gradient"}, {NULL, "weight gradient"}};
enum { N_PASS_PARTS = 4, SLICE_NUMBERS = 7 };

static double slice(const struct tsim_json *slices, size_t i, size_t which) {
    return tsim_json_number_of(tsim_json_at(slices, i * SLICE_NUMBERS + which));
}

static bool draw_schedule(const struct tsim_json *run, FILE *out) {
    static const char *const CLASSES[N_PASS_PARTS] = {"k0", "k6", "k4", "k8"};
    const struct tsim_json *slices = tsim_json_find(run, "slices");
    size_t n = tsim_json_count(slices) / SLICE_NUMBERS;
    double end_us = 0, stages = 0;
    bool is_used[N_PASS_PARTS] = {false};
    for (size_t i = 0; i < n; i++) {
        end_us = fmax(end_us, slice(slices, i, 6));
        stages = fmax(stages, slice(slices, i, 0) + 1);
    }
    if (n == 0)
        return false;
    double height = stages > 32 ? 8 : stages > 16 ? 14 : 20, left = 70, width = WIDTH - left - RIGHT;
    tsim_chart_begin(run, "The pipeline over time", TOP + stages * height + 58, out);
    for (size_t i = 0; i < n; i++) {
        int kind = (int)slice(slices, i, 2);
        double x = left + slice(slices, i, 5) / end_us * width, right = left + slice(slices, i, 6) / end_us * width;
        char text[80];
        if (slice(slices, i, 1) > 0 || kind < 0 || kind >= N_PASS_PARTS)
            continue; /* messages and what is beside the passes */
        is_used[kind] = true;
        snprintf(text, sizeof text, "%s %.0f, chunk %.0f", PASS_PARTS[kind].title, slice(slices, i, 3),
                 slice(slices, i, 4));
        tsim_svg_rect(out, x, TOP + slice(slices, i, 0) * height + 1, fmax(right - x - 0.25, 0.1), height - 2,
                      CLASSES[kind], text);
    }
    for (double stage = 0; stage<stages; stage += stages> 16 ? 8 : 1) {
        char text[32];
        snprintf(text, sizeof text, "stage %.0f", stage);
        tsim_svg_text(out, left - 8, TOP + stage * height + height / 2 + 4, "end", "soft", text);
    }
    double bottom = TOP + stages * height;
    char time[48];
    tsim_svg_text(out, left, bottom + 18, "start", "soft", "0");
    tsim_svg_text(out, left + width, bottom + 18, "end", "soft",
                  tsim_quantity_human(end_us * 1e-6, TSIM_TIME_S, time, sizeof time));
    double x = 16;
    for (int i = 0; i < N_PASS_PARTS; i++) {
        if (!is_used[i])
            continue;
        tsim_svg_rect(out, x, bottom + 32, 11, 11, CLASSES[i], NULL);
        tsim_svg_text(out, x + 16, bottom + 42, "start", "soft", PASS_PARTS[i].title);
        x += 30 + 7.2 * (double)strlen(PASS_PARTS[i].title);
    }
    tsim_svg_end(out);
    return true;
}

/* ---- logarithmic axes ---- */

struct axis {
    double low, high, from, to; /* values, and where they are */
};

static double at(const struct axis *axis, double value) {
    return axis->from + (axis->to - axis->from) * log(value / axis->low) / log(axis->high / axis->low);
}

/* "500", "2 k", "100 T". */
static const char *tick_text(double value, char *buffer, size_t size) {
    static const char *const PREFIXES[] = {"", " k", " M", " G", " T", " P", " E"};
    int prefix = 0;
    for (; value >= 999.5 && prefix < 6; prefix++)
        value /= 1000;
    snprintf(buffer, size, "%.3g%s", value, PREFIXES[prefix]);
    return buffer;
}

static void draw_tick(FILE *out, const struct axis *x, const struct axis *y, bool is_x, double value,
                      const char *unit) {
    char text[64], amount[32];
    double place = at(is_x ? x : y, value);
    tick_text(value, amount, sizeof amount);
    snprintf(text, sizeof text, "%s%s%s", amount, unit[0] && !strchr(amount, ' ') ? " " : "", unit);
    if (is_x) {
        tsim_svg_line(out, place, y->from, place, y->to, "line");
        tsim_svg_text(out, place, y->from + 18, "middle", "soft", text);
    } else {
        tsim_svg_line(out, x->from, place, x->to, place, "line");
        tsim_svg_text(out, x->from - 8, place + 4, "end", "soft", text);
    }
}

/* A line at each power of ten; where these are few, at twice and five times it, too. */
static void draw_ticks(FILE *out, const struct axis *x, const struct axis *y, bool is_x, const char *unit) {
    static const double STEPS[] = {1, 2, 5};
    const struct axis *axis = is_x ? x : y;
    int n_steps = axis->high / axis->low < 300 ? 3 : 1;
    for (double decade = pow(10, floor(log10(axis->low))); decade <= axis->high; decade *= 10)
        for (int i = 0; i < n_steps; i++)
            if (decade * STEPS[i] >= axis->low * 0.999 && decade * STEPS[i] <= axis->high * 1.001)
                draw_tick(out, x, y, is_x, decade * STEPS[i], unit);
}

/* ---- roofline ---- */

/* Whole decades, so that no operator that moves and computes something is left out. */
static void widen(struct axis *axis, double value) {
    if (value > 0 && value < axis->low)
        axis->low = pow(10, floor(log10(value)));
    if (value > axis->high)
        axis->high = pow(10, ceil(log10(value)));
}

static void draw_operators(const struct tsim_json *operators, const struct axis *x, const struct axis *y, FILE *out) {
    for (size_t i = 0; i < tsim_json_count(operators); i++) {
        const struct tsim_json *op = tsim_json_at(operators, i);
        double intensity = chart_number(op, "intensity_flops_per_byte"),
               achieved = chart_number(op, "achieved_flops_per_s");
        char hint[160];
        if (!(intensity > 0 && achieved > 0))
            continue;
        snprintf(hint, sizeof hint, "%s, %s", tsim_json_text_of(op, "operator"), tsim_json_text_of(op, "phase"));
        tsim_svg_dot(out, at(x, intensity), at(y, achieved), 3 + 20 * sqrt(chart_number(op, "share_frac")),
                     strcmp(tsim_json_text_of(op, "bound"), "memory") == 0 ? "k4" : "k0", hint);
    }
}

static bool draw_roofline(const struct tsim_json *run, FILE *out) {
    static const struct chart_mark MARKS[] = {{CHART_DOT, "k4", "bound by memory"},
                                              {CHART_DOT, "k0", "bound by compute"},
                                              {CHART_LINE, "ideal", "the datasheet's roof"}};
    const struct tsim_json *operators = tsim_json_find(tsim_json_find(run, "explain"), "operators"),
                           *roof = tsim_json_find(run, "roof");
    double peak = chart_number(roof, "flops_per_s"), rate = chart_number(roof, "bytes_per_s");
    if (tsim_json_count(operators) == 0 || !(peak > 0 && rate > 0))
        return false;
    struct axis x = {1, 1e4, 110, WIDTH - RIGHT - 10}, y = {peak / 500, peak * 1.5, 400, TOP};
    for (size_t i = 0; i < tsim_json_count(operators); i++) {
        widen(&x, chart_number(tsim_json_at(operators, i), "intensity_flops_per_byte"));
        widen(&y, chart_number(tsim_json_at(operators, i), "achieved_flops_per_s"));
    }
    tsim_chart_begin(run, "Roofline", 480, out);
    draw_ticks(out, &x, &y, true, "");
    draw_ticks(out, &x, &y, false, "FLOP/s");
    double ridge = peak / rate;
    double first = fmax(x.low, y.low / rate); /* where the slope enters the picture */
    const double points[] = {at(&x, first), at(&y, first * rate), at(&x, ridge), at(&y, peak), x.to, at(&y, peak)};
    tsim_svg_path(out, points, 3, "ideal");
    draw_operators(operators, &x, &y, out);
    tsim_svg_text_up(out, 20, (y.from + y.to) / 2, "soft", "achieved");
    tsim_svg_text(out, (x.from + x.to) / 2, 438, "middle", "soft",
                  "FLOP per byte of memory traffic; the larger a dot, the more of the step");
    tsim_chart_marks(out, MARKS, sizeof MARKS / sizeof MARKS[0], x.from, 464);
    tsim_svg_end(out);
    return true;
}

/* ---- scaling of a sweep ---- */

static const struct tsim_json *scaling_rows(const struct tsim_json *sweep) {
    return tsim_json_find(tsim_json_find(sweep, "scaling"), "rows");
}

static double speed(const struct tsim_json *row) {
    return chart_number(row, "samples_per_s");
}

/* The area between two curves over the counts. */
static void draw_between(FILE *out, const struct tsim_json *rows, const struct axis *x, const struct axis *y,
                         double (*upper)(const struct tsim_json *rows, size_t i),
                         double (*lower)(const struct tsim_json *rows, size_t i), const char *class_name) {
    enum { MOST = 64 };
    double points[4 * MOST];
    size_t n = tsim_json_count(rows) < MOST ? tsim_json_count(rows) : MOST;
    for (size_t i = 0; i < n; i++) {
        double place = at(x, chart_number(tsim_json_at(rows, i), "accelerators"));
        points[2 * i] = points[2 * (2 * n - 1 - i)] = place;
        points[2 * i + 1] = at(y, upper(rows, i));
        points[2 * (2 * n - 1 - i) + 1] = at(y, lower(rows, i));
    }
    tsim_svg_area(out, points, 2 * n, class_name);
}

static double simulated_of(const struct tsim_json *rows, size_t i) {
    return speed(tsim_json_at(rows, i));
}

static double ideal_of(const struct tsim_json *rows, size_t i) {
    const struct tsim_json *first = tsim_json_at(rows, 0), *row = tsim_json_at(rows, i);
    return speed(first) * chart_number(row, "accelerators") / chart_number(first, "accelerators");
}

/* Were all communication hidden. */
static double untaxed_of(const struct tsim_json *rows, size_t i) {
    const struct tsim_json *row = tsim_json_at(rows, i);
    return speed(row) / (1 - chart_number(row, "communication_exposed_frac"));
}

static void draw_curve(FILE *out, const struct tsim_json *rows, const struct axis *x, const struct axis *y,
                       double (*curve)(const struct tsim_json *rows, size_t i), const char *class_name) {
    enum { MOST = 64 };
    double points[2 * MOST];
    size_t n = tsim_json_count(rows) < MOST ? tsim_json_count(rows) : MOST;
    for (size_t i = 0; i < n; i++) {
        points[2 * i] = at(x, chart_number(tsim_json_at(rows, i), "accelerators"));
        points[2 * i + 1] = at(y, curve(rows, i));
    }
    tsim_svg_path(out, points, n, class_name);
}

static void draw_knee(FILE *out, const struct tsim_json *sweep, const struct axis *x, const struct axis *y) {
    const struct tsim_json *knee = tsim_json_find(tsim_json_find(sweep, "scaling"), "knee");
    double n = chart_number(knee, "accelerators");
    char text[200];
    if (!knee)
        return;
    tsim_svg_line(out, at(x, n), y->from, at(x, n), y->to, "warn");
    snprintf(text, sizeof text, "knee after %.0f: %s", n, tsim_json_text_of(knee, "cause"));
    bool is_left = at(x, n) > (x->from + x->to) / 2;
    tsim_svg_text(out, at(x, n) + (is_left ? -8 : 8), y->to + 14, is_left ? "end" : "start", "warn", text);
}

static double highest_of(const struct tsim_json *rows, size_t i) {
    return fmax(ideal_of(rows, i), untaxed_of(rows, i));
}

static bool draw_scaling(const struct tsim_json *sweep, FILE *out) {
    static const struct chart_mark MARKS[] = {{CHART_LINE, "curve", "simulated"},
                                              {CHART_LINE, "ideal", "ideal"},
                                              {CHART_AREA, "tax", "lost to exposed communication"},
                                              {CHART_AREA, "rest", "lost to all else"}};
    const struct tsim_json *rows = scaling_rows(sweep);
    size_t n = tsim_json_count(rows);
    if (n < 2)
        return false;
    double least = simulated_of(rows, 0), most = least;
    for (size_t i = 0; i < n; i++) {
        least = fmin(least, simulated_of(rows, i));
        most = fmax(most, fmax(ideal_of(rows, i), untaxed_of(rows, i)));
    }
    const struct axis x = {chart_number(tsim_json_at(rows, 0), "accelerators"),
                           chart_number(tsim_json_at(rows, n - 1), "accelerators"), 90, WIDTH - RIGHT - 20},
                      y = {least / 1.2, most * 1.1, 380, TOP + 6};
    tsim_chart_begin(sweep, "Scaling", 462, out);
    draw_ticks(out, &x, &y, false, "");
    draw_between(out, rows, &x, &y, highest_of, untaxed_of, "rest");
    draw_between(out, rows, &x, &y, untaxed_of, simulated_of, "tax");
    draw_curve(out, rows, &x, &y, ideal_of, "ideal");
    draw_curve(out, rows, &x, &y, simulated_of, "curve");
    for (size_t i = 0; i < n; i++) {
        char text[32];
        double count = chart_number(tsim_json_at(rows, i), "accelerators");
        snprintf(text, sizeof text, "%.0f", count);
        tsim_svg_text(out, at(&x, count), 400, "middle", "soft", text);
        tsim_svg_dot(out, at(&x, count), at(&y, simulated_of(rows, i)), 4, "k0", text);
    }
    draw_knee(out, sweep, &x, &y);
    tsim_svg_text_up(out, 20, (y.from + y.to) / 2, "soft", "samples/s");
    tsim_svg_text(out, (x.from + x.to) / 2, 420, "middle", "soft", "accelerators; of each number the fastest point");
    tsim_chart_marks(out, MARKS, sizeof MARKS / sizeof MARKS[0], x.from, 446);
    tsim_svg_end(out);
    return true;
}

const struct tsim_chart TSIM_CHARTS[] = {
    {"step", false, draw_step, "where the step goes"},
    {"memory", false, draw_memory, "memory by pipeline stage against capacity"},
    {"schedule", false, draw_schedule, "the pipeline over time"},
    {"roofline", false, draw_roofline, "every operator below the roof of the accelerator"},
    {"links", false, tsim_chart_links, "mean and highest load of each sort of link"},
    {"sensitivity", false, tsim_chart_sensitivity, "the step's time with each capacity a tenth lower and higher"},
    {"days", false, tsim_chart_days, "days of the whole run over its replications"},
    {"timeline", false, tsim_chart_timeline, "one whole run over its days"},
    {"power", false, tsim_chart_power, "power of the facility over one whole run"},
    {"lost", false, tsim_chart_lost, "accelerator hours that a whole run loses, by cause"},
    {"ownership", false, tsim_chart_ownership, "cost of the run when owned and when rented"},
    {"scaling", true, draw_scaling, "speed over the number of accelerators, with the knee"},
    {"pareto", true, tsim_chart_pareto, "points that no other beats in speed and in rent (or power, or memory)"},
    {"heat", true, tsim_chart_heat, "speed over two of the axes"},
};
const size_t TSIM_N_CHARTS = sizeof TSIM_CHARTS / sizeof TSIM_CHARTS[0];
