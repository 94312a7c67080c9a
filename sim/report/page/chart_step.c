/* Charts of one step: where it goes, its memory, the pipeline over time, the roofline of its operators. */
#include "config/scenario.h"
#include "report/page/chart_draw.h"
#include "report/page/chart_drawings.h"
#include "results/format.h"
#include "results/outcome.h"

#include <string.h>

#define PLOT_WIDTH (CHART_WIDTH - CHART_LEFT - CHART_RIGHT)
#define BARS_WIDTH (PLOT_WIDTH - CHART_BAR_TEXT)

/* ---- the parts of the step ---- */

static const char *time_text(double time_s, char *buffer, size_t size) {
    return tsim_quantity_human(time_s, TSIM_TIME_S, buffer, size);
}

struct chart_parts tsim_chart_step_parts(void) {
    struct chart_parts parts = {.n = TSIM_N_STEP_TERMS, .text = time_text};
    for (int i = 0; i < TSIM_N_STEP_TERMS; i++)
        parts.items[i] =
            (struct chart_part){tsim_outcome_spec(tsim_step_terms[i].figure)->name, tsim_step_terms[i].label};
    return parts;
}

/* Draws the whole step above its terms: the terms side by side, and a line from one end of the interval to the
 * other. */
static void draw_whole_step(const struct tsim_json *summary, const struct chart_parts *parts, double step_s,
                            double most_s, const struct tsim_svg *svg) {
    char title[64], time[48], text[120], low[48], high[48];
    double low_s = tsim_json_figure(summary, "uncertainty.step_time_low_s"),
           high_s = tsim_json_figure(summary, "uncertainty.step_time_high_s"), y = CHART_TOP + CHART_BAR / 2.0 - 1;
    snprintf(title, sizeof title, "step, %s", time_text(step_s, time, sizeof time));
    tsim_chart_stack(svg, 0, title, parts, summary, most_s * PLOT_WIDTH / BARS_WIDTH);
    if (isnan(low_s) || isnan(high_s))
        return;
    double left = CHART_LEFT + low_s / most_s * BARS_WIDTH, right = CHART_LEFT + high_s / most_s * BARS_WIDTH;
    snprintf(text, sizeof text, "%s to %s", time_text(low_s, low, sizeof low), time_text(high_s, high, sizeof high));
    tsim_svg_group(svg, "interval", "");
    tsim_svg_line(svg, left, y, right, y, "ink");
    tsim_svg_line(svg, left, y - 6, left, y + 6, "ink");
    tsim_svg_line(svg, right, y - 6, right, y + 6, "ink");
    tsim_svg_text(svg, right + 8, y + 4, "start", "soft", text);
    tsim_svg_group_end(svg);
}

bool tsim_chart_step(const struct tsim_json *run, const struct tsim_svg *svg) {
    const struct chart_parts parts = tsim_chart_step_parts();
    const struct tsim_json *summary = tsim_json_find(run, "summary");
    double step_s = chart_number(summary, "step.time_s"),
           most_s = fmax(step_s, chart_number(summary, "uncertainty.step_time_high_s"));
    int n_rows = 1;
    for (int i = 0; i < parts.n; i++)
        n_rows += chart_number(summary, parts.items[i].path) > TSIM_ROUNDING_FRAC * step_s;
    if (!(step_s > 0))
        return false;
    tsim_chart_begin(run, "Where the step goes", CHART_TOP + n_rows * CHART_BAR + 12, svg);
    draw_whole_step(summary, &parts, step_s, most_s, svg);
    int row = 1;
    for (int i = 0; i < parts.n; i++) {
        char text[96], time[48], share[32];
        double time_s = chart_number(summary, parts.items[i].path);
        if (!(time_s > TSIM_ROUNDING_FRAC * step_s))
            continue;
        snprintf(text, sizeof text, "%s, %s", time_text(time_s, time, sizeof time),
                 tsim_share_text(time_s / step_s, share, sizeof share));
        tsim_chart_bar(svg, row++, parts.items[i].title, time_s / most_s, text, i);
    }
    tsim_svg_end(svg);
    return true;
}

/* ---- memory by stage ---- */

struct chart_parts tsim_chart_memory_parts(void) {
    struct chart_parts parts = {.n = TSIM_N_MEMORY_KINDS, .text = tsim_gigabytes_text};
    for (int kind = 0; kind < TSIM_N_MEMORY_KINDS; kind++)
        parts.items[kind] = (struct chart_part){tsim_memory_kinds[kind].member, tsim_memory_kinds[kind].name};
    return parts;
}

void tsim_chart_capacity(const struct tsim_svg *svg, double capacity_bytes, double most_bytes, double bottom) {
    double x = CHART_LEFT + capacity_bytes / most_bytes * PLOT_WIDTH;
    char size[32], text[64];
    tsim_svg_line(svg, x, CHART_TOP - 4, x, bottom + 4, "warn");
    snprintf(text, sizeof text, "capacity %s", tsim_gigabytes_text(capacity_bytes, size, sizeof size));
    tsim_svg_text(svg, x - 4, bottom + 18, "end", "warn", text);
}

static const struct tsim_json *itself(const struct tsim_json *stage) {
    return stage;
}

bool tsim_chart_memory(const struct tsim_json *run, const struct tsim_svg *svg) {
    const struct tsim_json *stages = tsim_json_find(tsim_json_find(run, "explain"), "memory");
    const struct chart_parts parts = tsim_chart_memory_parts();
    size_t n = tsim_json_count(stages), n_shown = n < CHART_MOST_ROWS ? n : CHART_MOST_ROWS;
    double most_bytes = 0;
    if (n == 0)
        return false;
    double capacity_bytes = chart_number(tsim_json_at(stages, 0), "capacity_bytes");
    for (size_t i = 0; i < n; i++)
        most_bytes = fmax(most_bytes, chart_number(tsim_json_at(stages, i), "peak_bytes"));
    most_bytes = 1.02 * fmax(most_bytes, capacity_bytes);
    double bottom = CHART_TOP + (double)n_shown * CHART_BAR;
    tsim_chart_begin(run, "Memory by pipeline stage", bottom + 70, svg); /* the names take two lines */
    for (size_t i = 0; i < n_shown; i++) {
        const struct tsim_json *stage = tsim_json_at(stages, i);
        char title[48], size[32];
        snprintf(title, sizeof title, "stage %.0f, %s", chart_number(stage, "stage"),
                 tsim_gigabytes_text(chart_number(stage, "peak_bytes"), size, sizeof size));
        tsim_chart_stack(svg, (int)i, title, &parts, stage, most_bytes);
    }
    tsim_chart_capacity(svg, capacity_bytes, most_bytes, bottom);
    tsim_chart_parts_legend(svg, &parts, stages, itself, bottom + 40);
    tsim_svg_end(svg);
    return true;
}

/* ---- the pipeline over time ---- */

enum { SLICE_NUMBERS = 7, N_STREAMS = 4, MOST_KINDS = 12, N_PASSES = 4, N_TICKS = 4 };

/* The passes, then the messages, then the other tasks, as page_run.c numbers them. */
static const struct {
    const char *name, *class_name;
} KINDS[MOST_KINDS] = {{"forward", "k0"},           {"backward", "k6"},         {"input gradient", "k4"},
                       {"weight gradient", "k8"},   {"send activations", "k5"}, {"send gradients", "k1"},
                       {"gather parameters", "k7"}, {"reduce gradients", "k3"}, {"reduce tied embedding", "k2"},
                       {"gradient norm", "k9"},     {"optimizer", "k9"},        {"begin collective", "k2"}};

static double slice(const struct tsim_json *slices, size_t i, size_t which) {
    return tsim_json_number_of(tsim_json_at(slices, i * SLICE_NUMBERS + which));
}

/* Each stage is as high as four streams; if only its passes are drawn, they take all of it. Micro-batches that follow
 * each other differ in shade. */
static void draw_slice(const struct tsim_json *slices, size_t i, bool has_streams, const struct tsim_svg *svg) {
    char text[80], class_name[24];
    int kind = (int)slice(slices, i, 2), stream = (int)slice(slices, i, 1);
    double microbatch = slice(slices, i, 3), begin = slice(slices, i, 5), end = slice(slices, i, 6);
    if (microbatch >= 0)
        snprintf(text, sizeof text, "%s %.0f, chunk %.0f", KINDS[kind].name, microbatch, slice(slices, i, 4));
    else
        snprintf(text, sizeof text, "%s", KINDS[kind].name);
    snprintf(class_name, sizeof class_name, "%s %s%s", KINDS[kind].class_name, stream ? "aside" : "pass",
             fmod(microbatch, 2) > 0 ? " odd" : "");
    tsim_svg_plot_rect(svg, begin, N_STREAMS * slice(slices, i, 0) + stream + 0.1, end - begin,
                       has_streams ? 0.9 : N_STREAMS - 0.4, class_name, text);
}

/* Tells whether a slice is drawn; without `has_streams` only the passes are, which the first stream has. */
static bool is_drawn(const struct tsim_json *slices, size_t i, bool has_streams) {
    double kind = slice(slices, i, 2);
    return kind >= 0 && kind < (has_streams ? MOST_KINDS : N_PASSES) && (has_streams || slice(slices, i, 1) <= 0);
}

static void draw_axes(double stages, double height, double left, double width, double end_us,
                      const struct tsim_svg *svg) {
    char text[48], time[48];
    double bottom = CHART_TOP + stages * height;
    for (double stage = 0; stage<stages; stage += stages> 16 ? 8 : 1) {
        snprintf(text, sizeof text, "stage %.0f", stage);
        tsim_svg_text(svg, left - 8, CHART_TOP + stage * height + height / 2 + 4, "end", "soft", text);
    }
    for (int i = 0; i <= N_TICKS; i++) {
        const char *anchor = i == 0 ? "start" : i == N_TICKS ? "end" : "middle";
        tsim_quantity_human(end_us * 1e-6 * i / N_TICKS, TSIM_TIME_S, time, sizeof time);
        tsim_svg_text(svg, left + width * i / N_TICKS, bottom + 18, anchor, "soft tick", i == 0 ? "0" : time);
    }
}

/* Draws the operators of those passes of which they were recorded, on their stage, for a closer look. The group tells
 * the page the extent of the first of these passes. They are not drawn if the picture ends before them. */
static void draw_kernels(const struct tsim_json *kernels, double until_us, const struct tsim_svg *svg) {
    const struct tsim_json *operators = tsim_json_find(kernels, "operators");
    double stage = chart_number(kernels, "stage"), from_us = 1e6 * chart_number(kernels, "begin_s");
    size_t n = tsim_json_count(operators);
    char text[160];
    if (n == 0 || from_us >= until_us)
        return;
    snprintf(text, sizeof text, "data-from=\"%.9g\" data-to=\"%.9g\"", from_us, 1e6 * chart_number(kernels, "end_s"));
    tsim_svg_group(svg, "kernels", text);
    for (size_t i = 0; i < n; i++) {
        const struct tsim_json *op = tsim_json_at(operators, i);
        double begin_us = 1e6 * chart_number(op, "begin_s");
        bool is_sent = strcmp(tsim_json_text_of(op, "stream"), "compute") != 0;
        char class_name[24], time[32];
        snprintf(class_name, sizeof class_name, "%s %s",
                 tsim_chart_bound_mark(tsim_json_text_of(op, "bound")).class_name, is_sent ? "sent" : "kernel");
        snprintf(text, sizeof text, "%s, %s: %s", tsim_json_text_of(op, "operator"), tsim_json_text_of(op, "phase"),
                 tsim_quantity_human(chart_number(op, "end_s") - 1e-6 * begin_us, TSIM_TIME_S, time, sizeof time));
        tsim_svg_plot_rect(svg, begin_us, N_STREAMS * stage + (is_sent ? 0.75 : 0.4),
                           1e6 * chart_number(op, "end_s") - begin_us, is_sent ? 0.2 : 0.3, class_name, text);
    }
    tsim_svg_group_end(svg);
}

static bool draw_pipeline(const struct tsim_json *run, bool has_streams, const struct tsim_svg *svg) {
    const struct tsim_json *slices = tsim_json_find(run, "slices");
    size_t n = tsim_json_count(slices) / SLICE_NUMBERS;
    struct chart_mark marks[MOST_KINDS];
    double end_us = 0, stages = 0, left = 70, width = CHART_WIDTH - left - CHART_RIGHT;
    bool is_used[MOST_KINDS] = {false};
    size_t n_marks = 0;
    for (size_t i = 0; i < n; i++) {
        end_us = fmax(end_us, slice(slices, i, 6));
        stages = fmax(stages, slice(slices, i, 0) + 1);
        if (is_drawn(slices, i, has_streams))
            is_used[(int)slice(slices, i, 2)] = true;
    }
    if (n == 0)
        return false;
    double height = (stages > 32 ? 8 : stages > 16 ? 14 : 20) * (has_streams ? 1.4 : 1);
    for (int i = 0; i < MOST_KINDS; i++)
        if (is_used[i])
            marks[n_marks++] = (struct chart_mark){CHART_AREA, KINDS[i].class_name, KINDS[i].name};
    tsim_chart_begin(run, has_streams ? "The pipeline and its communication over time" : "The pipeline over time",
                     CHART_TOP + stages * height + (has_streams ? 76 : 58), svg);
    tsim_svg_rect(svg, left, CHART_TOP, width, stages * height, "paper floor", NULL);
    tsim_svg_plot(svg, left, CHART_TOP, width, stages * height, end_us, N_STREAMS * stages);
    for (size_t i = 0; i < n; i++)
        if (is_drawn(slices, i, has_streams))
            draw_slice(slices, i, has_streams, svg);
    if (has_streams)
        draw_kernels(tsim_json_find(run, "kernels"), end_us, svg);
    tsim_svg_plot_end(svg);
    draw_axes(stages, height, left, width, end_us, svg);
    tsim_chart_marks(svg, marks, n_marks, 16, CHART_TOP + stages * height + 42);
    tsim_svg_end(svg);
    return true;
}

bool tsim_chart_schedule(const struct tsim_json *run, const struct tsim_svg *svg) {
    return draw_pipeline(run, false, svg);
}

bool tsim_chart_streams(const struct tsim_json *run, const struct tsim_svg *svg) {
    return draw_pipeline(run, true, svg);
}

/* ---- roofline ---- */

/* Widens the axis to whole decades, so that it holds every operator that moves and computes something. */
static void widen(struct chart_axis *axis, double value) {
    if (value > 0 && value < axis->low)
        axis->low = pow(10, floor(log10(value)));
    if (value > axis->high)
        axis->high = pow(10, ceil(log10(value)));
}

/* The colours of terms, by the names of results/verdict.h. */
static const struct {
    const char *bound;
    struct chart_mark mark;
} BOUNDS[] = {{"memory", {CHART_DOT, "k4", "bound by memory"}},
              {"compute", {CHART_DOT, "k0", "bound by compute"}},
              {"latency", {CHART_DOT, "k8", "bound by latency"}},
              {"host", {CHART_DOT, "k5", "bound by the host"}},
              {"communication", {CHART_DOT, "k3", "bound by communication"}}};
enum { N_BOUNDS = sizeof BOUNDS / sizeof BOUNDS[0] };

static int bound_of(const struct tsim_json *op) {
    const char *bound = tsim_json_text_of(op, "bound");
    for (int i = 0; i < N_BOUNDS; i++)
        if (bound && strcmp(bound, BOUNDS[i].bound) == 0)
            return i;
    return 1;
}

struct chart_mark tsim_chart_bound_mark(const char *bound) {
    for (int i = 0; i < N_BOUNDS; i++)
        if (strcmp(bound, BOUNDS[i].bound) == 0)
            return BOUNDS[i].mark;
    TSIM_BUG("bound by %s", bound);
}

/* Sets is_used of the bounds that there are. */
static void draw_operators(const struct tsim_json *operators, const struct chart_axis *x, const struct chart_axis *y,
                           bool *is_used, const struct tsim_svg *svg) {
    for (size_t i = 0; i < tsim_json_count(operators); i++) {
        const struct tsim_json *op = tsim_json_at(operators, i);
        double intensity = chart_number(op, "intensity_flops_per_byte"),
               achieved = chart_number(op, "achieved_flops_per_s");
        char hint[320], rate[64], share[32];
        if (!(intensity > 0 && achieved > 0))
            continue;
        snprintf(hint, sizeof hint, "%s, %s\n%s at %.3g FLOP/B\n%s of the step", tsim_json_text_of(op, "operator"),
                 tsim_json_text_of(op, "phase"), tsim_quantity_human(achieved, TSIM_FLOPS_PER_S, rate, sizeof rate),
                 intensity, tsim_share_text(chart_number(op, "share_frac"), share, sizeof share));
        is_used[bound_of(op)] = true;
        tsim_svg_dot(svg, chart_at(x, intensity), chart_at(y, achieved), 3 + 20 * sqrt(chart_number(op, "share_frac")),
                     BOUNDS[bound_of(op)].mark.class_name, hint);
    }
}

bool tsim_chart_roofline(const struct tsim_json *run, const struct tsim_svg *svg) {
    struct chart_mark marks[N_BOUNDS + 1];
    bool is_used[N_BOUNDS] = {false};
    size_t n_marks = 0;
    const struct tsim_json *operators = tsim_json_find(tsim_json_find(run, "explain"), "operators"),
                           *roof = tsim_json_find(run, "roof");
    double peak = chart_number(roof, "flops_per_s"), rate = chart_number(roof, "bytes_per_s");
    if (tsim_json_count(operators) == 0 || !(peak > 0 && rate > 0))
        return false;
    struct chart_axis x = {1, 1e4, 110, CHART_WIDTH - CHART_RIGHT - 10}, y = {peak / 500, peak * 1.5, 400, CHART_TOP};
    for (size_t i = 0; i < tsim_json_count(operators); i++) {
        widen(&x, chart_number(tsim_json_at(operators, i), "intensity_flops_per_byte"));
        widen(&y, chart_number(tsim_json_at(operators, i), "achieved_flops_per_s"));
    }
    tsim_chart_begin(run, "Roofline", 480, svg);
    tsim_chart_ticks(svg, &x, &y, true, "");
    tsim_chart_ticks(svg, &x, &y, false, "FLOP/s");
    double ridge = peak / rate;
    double first = fmax(x.low, y.low / rate); /* the point at which the slope enters the picture */
    const double points[] = {
        chart_at(&x, first), chart_at(&y, first * rate), chart_at(&x, ridge), chart_at(&y, peak), x.to,
        chart_at(&y, peak)};
    tsim_svg_path(svg, points, 3, "ideal");
    draw_operators(operators, &x, &y, is_used, svg);
    for (int i = 0; i < N_BOUNDS; i++)
        if (is_used[i])
            marks[n_marks++] = BOUNDS[i].mark;
    marks[n_marks++] = (struct chart_mark){CHART_LINE, "ideal", "the datasheet's roof"};
    tsim_svg_text_up(svg, 20, (y.from + y.to) / 2, "soft", "achieved");
    tsim_svg_text(svg, (x.from + x.to) / 2, 438, "middle", "soft",
                  "FLOP per byte of memory traffic; the larger a dot, the more of the step");
    tsim_chart_marks(svg, marks, n_marks, x.from, 464);
    tsim_svg_end(svg);
    return true;
}
