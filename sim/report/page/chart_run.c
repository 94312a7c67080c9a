/* Charts of one run beside the step itself: links, sensitivities, the whole run. */
#include "config/scenario.h"
#include "report/page/chart_draw.h"
#include "report/page/chart_drawings.h"
#include "results/format.h"

#include <string.h>
#include <strings.h>

#define PLOT_WIDTH (CHART_WIDTH - CHART_LEFT - CHART_RIGHT)

static const char *word(const struct tsim_json *object, const char *key) {
    const char *text = tsim_json_text_of(object, key);
    return text ? text : "";
}

/* Writes "matrix_peak" as people do, "matrix peak", and "nic_bandwidth" as "NIC bandwidth". */
static const char *spaced(const char *text, char *buffer, size_t size) {
    static const char *const ABBREVIATIONS[] = {"NIC", "HBM"};
    snprintf(buffer, size, "%s", text);
    for (char *c = buffer; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    for (size_t i = 0; i < sizeof ABBREVIATIONS / sizeof ABBREVIATIONS[0]; i++)
        if (strncasecmp(buffer, ABBREVIATIONS[i], 3) == 0 && (!buffer[3] || buffer[3] == ' '))
            memcpy(buffer, ABBREVIATIONS[i], 3);
    return buffer;
}

static const char *percent(double frac, char *buffer, size_t size) {
    snprintf(buffer, size, "%.1f %%", 100 * frac);
    return buffer;
}

/* ---- links ---- */

bool tsim_chart_links(const struct tsim_json *run, const struct tsim_svg *svg) {
    static const char *const NAMES[] = {"mean", "fullest"};
    static const int COLORS[] = {4, 0};
    const struct tsim_json *rows = tsim_json_find(tsim_json_find(run, "explain"), "links");
    size_t n = tsim_json_count(rows) < CHART_MOST_ROWS / 2 ? tsim_json_count(rows) : CHART_MOST_ROWS / 2;
    char text[96], share[32];
    if (n == 0)
        return false;
    tsim_chart_begin(run, "Links by load, of capacity over the step", CHART_TOP + 2 * (double)n * CHART_BAR + 40, svg);
    for (size_t i = 0; i < n; i++) {
        const struct tsim_json *row = tsim_json_at(rows, i);
        double mean = chart_number(row, "mean_load"), highest = chart_number(row, "highest_load");
        tsim_chart_bar(svg, 2 * (int)i, word(row, "sort"), mean, percent(mean, text, sizeof text), COLORS[0]);
        snprintf(text, sizeof text, "%s %.60s", percent(highest, share, sizeof share), word(row, "fullest"));
        tsim_chart_bar(svg, 2 * (int)i + 1, "", highest, text, COLORS[1]);
    }
    tsim_chart_legend(svg, NAMES, COLORS, 2, CHART_TOP + 2 * (double)n * CHART_BAR + 26);
    tsim_svg_end(svg);
    return true;
}

/* ---- sensitivities: bars to both sides of nothing ---- */

/* Less than that would be written as "+0.0 %". */
#define LEAST_CHANGE_FRAC 0.0005

static void draw_change(const struct tsim_svg *svg, double y, double frac, double most_frac, int color) {
    char name[8], text[32];
    double middle = CHART_LEFT + PLOT_WIDTH / 2.0, width = frac / most_frac * (PLOT_WIDTH / 2.0 - 70);
    if (fabs(frac) < LEAST_CHANGE_FRAC)
        return;
    snprintf(text, sizeof text, "%+.1f %%", 100 * frac);
    tsim_svg_rect(svg, width < 0 ? middle + width : middle, y, fmax(fabs(width), 0.5), CHART_BAR / 2.0 - 3,
                  chart_color(name, sizeof name, color), text);
    tsim_svg_text(svg, middle + width + (width < 0 ? -6 : 6), y + 9, width < 0 ? "end" : "start", "soft", text);
}

bool tsim_chart_sensitivity(const struct tsim_json *run, const struct tsim_svg *svg) {
    static const char *const NAMES[] = {"a tenth lower", "a tenth higher"};
    static const int COLORS[] = {6, 2};
    const struct tsim_json *rows = tsim_json_find(tsim_json_find(run, "explain"), "sensitivities");
    size_t n = tsim_json_count(rows) < CHART_MOST_ROWS ? tsim_json_count(rows) : CHART_MOST_ROWS;
    double most_frac = 1e-6, bottom = CHART_TOP + (double)n * CHART_BAR;
    for (size_t i = 0; i < n; i++) {
        most_frac = fmax(most_frac, fabs(chart_number(tsim_json_at(rows, i), "less_change_frac")));
        most_frac = fmax(most_frac, fabs(chart_number(tsim_json_at(rows, i), "more_change_frac")));
    }
    if (n == 0)
        return false;
    double middle = CHART_LEFT + PLOT_WIDTH / 2.0;
    tsim_chart_begin(run, "Change of the step's time", bottom + 40, svg);
    for (size_t i = 0; i < n; i++) {
        const struct tsim_json *row = tsim_json_at(rows, i);
        char name[64];
        double y = CHART_TOP + (double)i * CHART_BAR;
        tsim_svg_text(svg, CHART_LEFT - 10, y + 16, "end", "ink", spaced(word(row, "capacity"), name, sizeof name));
        double less_frac = chart_number(row, "less_change_frac"), more_frac = chart_number(row, "more_change_frac");
        draw_change(svg, y + 2, less_frac, most_frac, COLORS[0]);
        draw_change(svg, y + CHART_BAR / 2.0, more_frac, most_frac, COLORS[1]);
        if (fmax(fabs(less_frac), fabs(more_frac)) < LEAST_CHANGE_FRAC)
            tsim_svg_text(svg, middle + 6, y + 16, "start", "soft", "under 0.1 %");
    }
    tsim_svg_line(svg, middle, CHART_TOP, middle, bottom, "line");
    tsim_chart_legend(svg, NAMES, COLORS, 2, bottom + 26);
    tsim_svg_end(svg);
    return true;
}

/* ---- the whole run ---- */

static const struct tsim_json *campaign_of(const struct tsim_json *run) {
    return tsim_json_find(tsim_json_find(run, "summary"), "campaign");
}

/* Draws the chance that the run is done by a day, with a dot at each end and in the middle of eight of ten cases. */
bool tsim_chart_days(const struct tsim_json *run, const struct tsim_svg *svg) {
    enum { EACH = 4, MOST = 25, N_DOTS = 3 }; /* quantiles in a row may be steps of one unknown: each fourth is drawn */
    static const struct {
        const char *path, *name;
        double chance;
        bool is_left; /* the curve ascends: there is room on its right, and above it on its left */
    } DOTS[N_DOTS] = {{"uncertainty.days.p10", "one in ten", 0.1, false},
                      {"uncertainty.days.p50", "half", 0.5, false},
                      {"uncertainty.days.p90", "nine in ten", 0.9, true}};
    const struct tsim_json *at = tsim_json_find(run, "days_at"), *summary = tsim_json_find(run, "summary");
    size_t n = tsim_json_count(at), n_points = n / EACH;
    double points[2 * MOST];
    char low[48], high[48], text[96];
    if (n_points < 2 || n_points > MOST)
        return false;
    const struct tsim_percentiles range = {chart_number(summary, DOTS[0].path), chart_number(summary, DOTS[1].path),
                                           chart_number(summary, DOTS[2].path)};
    struct chart_frame frame = {.x = {tsim_json_number_of(tsim_json_at(at, 0)),
                                      tsim_json_number_of(tsim_json_at(at, n - 1)), 90, CHART_WIDTH - CHART_RIGHT,
                                      true},
                                .y = {0, 1, 280, CHART_TOP + 6, true},
                                .low_y = "0 %",
                                .high_y = "100 %",
                                .name_x = "the whole run takes no longer",
                                .name_y = "chance"};
    chart_widen(&frame.x);
    frame.low_x = tsim_supported_days_text(&range, frame.x.low, " days", low, sizeof low);
    frame.high_x = tsim_supported_days_text(&range, frame.x.high, " days", high, sizeof high);
    tsim_chart_begin(run, "Days of the whole run", 326, svg);
    tsim_chart_frame(svg, &frame);
    for (size_t i = 0; i < n_points; i++) {
        size_t next = EACH * i + EACH / 2; /* the quantile between these two */
        points[2 * i] = chart_at(&frame.x, 0.5 * (tsim_json_number_of(tsim_json_at(at, next - 1)) +
                                                  tsim_json_number_of(tsim_json_at(at, next))));
        points[2 * i + 1] = chart_at(&frame.y, (double)next / (double)n);
    }
    tsim_svg_path(svg, points, n_points, "curve");
    for (int i = 0; i < N_DOTS; i++) {
        double value = chart_number(summary, DOTS[i].path), x = chart_at(&frame.x, value),
               y = chart_at(&frame.y, DOTS[i].chance);
        snprintf(text, sizeof text, "%s within %s", DOTS[i].name,
                 tsim_supported_days_text(&range, value, " days", low, sizeof low));
        tsim_svg_dot(svg, x, y, 4, "k0", text);
        tsim_svg_text(svg, x + (DOTS[i].is_left ? -10 : 10), y + (DOTS[i].is_left ? -8 : 4),
                      DOTS[i].is_left ? "end" : "start", "soft", text);
    }
    tsim_svg_end(svg);
    return true;
}

/* A stretch has three numbers: from and to in hours, and the loss (below 0: training). */
enum { STRETCH_NUMBERS = 3, MOST_KINDS = 16 };

static double stretch(const struct tsim_json *stretches, size_t i, size_t which) {
    return tsim_json_number_of(tsim_json_at(stretches, i * STRETCH_NUMBERS + which));
}

static const char *loss_name(const struct tsim_json *run, int loss, char *buffer, size_t size) {
    struct tsim_json const *names = tsim_json_find(run, "loss_names");
    const char *name = loss < 0 ? "training" : tsim_json_text_at(names, (size_t)loss);
    return spaced(name ? name : "other", buffer, size);
}

static void draw_time_axis(const struct tsim_svg *svg, double left, double width, double bottom, double hours) {
    char text[48];
    snprintf(text, sizeof text, "%.4g days", hours / 24);
    tsim_svg_text(svg, left, bottom + 18, "start", "soft", "0");
    tsim_svg_text(svg, left + width, bottom + 18, "end", "soft", text);
}

bool tsim_chart_timeline(const struct tsim_json *run, const struct tsim_svg *svg) {
    const struct tsim_json *stretches = tsim_json_find(run, "stretches");
    size_t n = tsim_json_count(stretches) / STRETCH_NUMBERS;
    double left = 20, width = CHART_WIDTH - left - CHART_RIGHT, top = CHART_TOP + 6, height = 60;
    int losses[MOST_KINDS], colors[MOST_KINDS], n_kinds = 0;
    char names[MOST_KINDS][48], color[8];
    const char *shown[MOST_KINDS];
    if (n < 2)
        return false;
    double hours = stretch(stretches, n - 1, 1);
    tsim_chart_begin(run, "One run over its days", top + height + 60, svg);
    for (size_t i = 0; i < n; i++) {
        int loss = (int)stretch(stretches, i, 2), k = 0;
        double x = stretch(stretches, i, 0) / hours * width, right = stretch(stretches, i, 1) / hours * width;
        loss = loss < 0 ? -1 : loss;
        while (k < n_kinds && losses[k] != loss)
            k++;
        if (k == n_kinds && n_kinds < MOST_KINDS) {
            losses[n_kinds] = loss;
            colors[n_kinds] = loss < 0 ? 0 : 2 + n_kinds;
            shown[n_kinds] = loss_name(run, loss, names[n_kinds], sizeof names[0]);
            n_kinds++;
        }
        tsim_svg_rect(svg, left + x, top, fmax(right - x, loss < 0 ? 0.05 : 0.5), height,
                      chart_color(color, sizeof color, k < MOST_KINDS ? colors[k] : 9),
                      k < MOST_KINDS ? shown[k] : NULL);
    }
    draw_time_axis(svg, left, width, top + height, hours);
    tsim_chart_legend(svg, shown, colors, n_kinds, top + height + 46);
    tsim_svg_end(svg);
    return true;
}

bool tsim_chart_power(const struct tsim_json *run, const struct tsim_svg *svg) {
    const struct tsim_json *stretches = tsim_json_find(run, "stretches"), *campaign = campaign_of(run);
    double loaded_w = chart_number(campaign, "power.loaded_w"), idle_w = chart_number(campaign, "power.idle_w");
    size_t n = tsim_json_count(stretches) / STRETCH_NUMBERS;
    double left = 90, width = CHART_WIDTH - left - CHART_RIGHT, top = CHART_TOP + 10, bottom = 240;
    char text[48];
    if (n < 2 || !(loaded_w > 0))
        return false;
    double hours = stretch(stretches, n - 1, 1), before_w = loaded_w;
    tsim_chart_begin(run, "Power of the facility over one run", bottom + 40, svg);
    for (size_t i = 0; i < n; i++) {
        double w = stretch(stretches, i, 2) < 0 ? loaded_w : idle_w, y = bottom - w / loaded_w * (bottom - top);
        double before = bottom - before_w / loaded_w * (bottom - top),
               x = left + stretch(stretches, i, 0) / hours * width;
        tsim_svg_line(svg, x, before, x, y, "curve");
        tsim_svg_line(svg, x, y, left + stretch(stretches, i, 1) / hours * width, y, "curve");
        before_w = w;
    }
    tsim_svg_line(svg, left, bottom, left + width, bottom, "line");
    tsim_svg_text(svg, left - 8, top + 4, "end", "soft", tsim_quantity_human(loaded_w, TSIM_WATTS, text, sizeof text));
    tsim_svg_text(svg, left - 8, bottom + 4, "end", "soft", "0 W");
    draw_time_axis(svg, left, width, bottom, hours);
    tsim_svg_end(svg);
    return true;
}

/* Returns the place of the i-th cause among all: the largest loss stands first. */
static int place_of_loss(const struct tsim_json *lost, size_t i) {
    double own = chart_number(lost, tsim_json_key(lost, i));
    int place = 0;
    for (size_t k = 0; k < tsim_json_count(lost); k++) {
        double hours = chart_number(lost, tsim_json_key(lost, k));
        place += hours > own || (k < i && !(hours < own));
    }
    return place;
}

bool tsim_chart_lost(const struct tsim_json *run, const struct tsim_svg *svg) {
    const struct tsim_json *campaign = campaign_of(run), *lost = tsim_json_find(campaign, "lost_accelerator_hours");
    double all_h =
        chart_number(tsim_json_find(run, "summary"), "accelerators") * chart_number(campaign, "mean_days") * 24;
    double most_h = 0;
    int n = 0;
    for (size_t i = 0; i < tsim_json_count(lost); i++) {
        double hours = chart_number(lost, tsim_json_key(lost, i));
        most_h = fmax(most_h, hours);
        n += hours > 0;
    }
    if (n == 0)
        return false;
    tsim_chart_begin(run, "Accelerator hours lost by cause", CHART_TOP + n * CHART_BAR + 16, svg);
    for (size_t i = 0; i < tsim_json_count(lost); i++) {
        double hours = chart_number(lost, tsim_json_key(lost, i));
        char name[48], text[160], count[96], share[32];
        if (!(hours > 0))
            continue;
        snprintf(text, sizeof text, "%s h, %s", tsim_count_text(hours, count, sizeof count),
                 tsim_share_text(hours / all_h, share, sizeof share));
        tsim_chart_bar(svg, place_of_loss(lost, i), spaced(tsim_json_key(lost, i), name, sizeof name), hours / most_h,
                       text, 4);
    }
    tsim_svg_end(svg);
    return true;
}

static const struct {
    const char *path, *name;
} COSTS[] = {{"run_capital_usd", "capital"},
             {"run_maintenance_usd", "maintenance"},
             {"run_power_usd", "power"},
             {"run_cooling_usd", "cooling"}};
enum { N_COSTS = sizeof COSTS / sizeof COSTS[0] };

bool tsim_chart_ownership(const struct tsim_json *run, const struct tsim_svg *svg) {
    const struct tsim_json *campaign = campaign_of(run), *own = tsim_json_find(campaign, "ownership");
    double rent_usd = chart_number(campaign, "rent_usd"), run_usd = chart_number(own, "run_usd"), x = CHART_LEFT;
    double most_usd = fmax(rent_usd, run_usd);
    const char *names[N_COSTS + 1] = {[N_COSTS] = "rent"};
    int colors[N_COSTS + 1];
    char color[8], text[64];
    if (!own || !(most_usd > 0))
        return false;
    tsim_chart_begin(run, "The run's cost, owned and rented", CHART_TOP + 2 * CHART_BAR + 44, svg);
    for (int i = 0; i <= N_COSTS; i++) {
        bool is_rent = i == N_COSTS;
        double usd = is_rent ? rent_usd : chart_number(own, COSTS[i].path), width = usd / most_usd * (PLOT_WIDTH - 130);
        colors[i] = i;
        names[i] = is_rent ? "rent" : COSTS[i].name;
        tsim_svg_rect(svg, is_rent ? CHART_LEFT : x, CHART_TOP + (is_rent ? CHART_BAR : 0) + 3, width, CHART_BAR - 8,
                      chart_color(color, sizeof color, i), tsim_quantity_human(usd, TSIM_USD, text, sizeof text));
        x += is_rent ? 0 : width;
    }
    tsim_svg_text(svg, CHART_LEFT - 10, CHART_TOP + 16, "end", "ink", "owned");
    tsim_svg_text(svg, CHART_LEFT - 10, CHART_TOP + CHART_BAR + 16, "end", "ink", "rented");
    tsim_svg_text(svg, x + 8, CHART_TOP + 16, "start", "soft",
                  tsim_quantity_human(run_usd, TSIM_USD, text, sizeof text));
    tsim_svg_text(svg, CHART_LEFT + rent_usd / most_usd * (PLOT_WIDTH - 130) + 8, CHART_TOP + CHART_BAR + 16, "start",
                  "soft", tsim_quantity_human(rent_usd, TSIM_USD, text, sizeof text));
    tsim_chart_legend(svg, names, colors, N_COSTS + 1, CHART_TOP + 2 * CHART_BAR + 28);
    tsim_svg_end(svg);
    return true;
}
