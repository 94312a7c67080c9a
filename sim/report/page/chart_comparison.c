/* The chart of two runs side by side: A's step, what each term adds to it or saves, B's step. */
#include "config/scenario.h"
#include "report/page/chart_draw.h"
#include "report/page/chart_drawings.h"
#include "results/format.h"

/* A bar begins where the one before it ended; those of A and B begin at 0. */
struct bar {
    const char *name;
    double from_s, to_s;
    bool is_step;
};

static void draw_bar(const struct tsim_svg *svg, int row, const struct bar *bar, const struct chart_axis *axis,
                     double a_s) {
    double from = chart_at(axis, fmax(bar->from_s, axis->low)), to = chart_at(axis, bar->to_s),
           change_s = bar->to_s - bar->from_s;
    double left = fmin(from, to), width = fmax(fabs(to - from), 1), y = CHART_TOP + row * CHART_BAR;
    char text[96], time[48], share[32];
    if (bar->is_step)
        tsim_quantity_human(bar->to_s, TSIM_TIME_S, text, sizeof text);
    else
        snprintf(text, sizeof text, "%s%s, %s", change_s > 0 ? "+" : "-",
                 tsim_quantity_human(fabs(change_s), TSIM_TIME_S, time, sizeof time),
                 fabs(change_s / a_s) < 0.0005 ? tsim_share_text(fabs(change_s / a_s), share, sizeof share)
                                               : tsim_error_text(change_s / a_s, share, sizeof share));
    tsim_svg_text(svg, CHART_LEFT - 10, y + 16, "end", "ink", bar->name);
    tsim_svg_rect(svg, left, y + 3, width, CHART_BAR - 8, bar->is_step ? "k0" : change_s > 0 ? "k3" : "k6", text);
    tsim_svg_text(svg, left + width + 8, y + 16, "start", "soft", text);
}

bool tsim_chart_waterfall(const struct tsim_json *comparison, const struct tsim_svg *svg) {
    enum { MOST_BARS = 40 };
    const struct tsim_json *terms = tsim_json_find(comparison, "waterfall");
    size_t n_terms = tsim_json_count(terms);
    struct bar bars[MOST_BARS];
    int n = 0;
    if (n_terms < 2)
        return false;
    const struct tsim_json *step = tsim_json_at(terms, n_terms - 1);
    bars[n++] = (struct bar){"A", 0, chart_number(step, "a_s"), true};
    for (size_t i = 0; i + 1 < n_terms && n < MOST_BARS - 1; i++) {
        double change_s = chart_number(tsim_json_at(terms, i), "change_s"), from_s = bars[n - 1].to_s;
        if (change_s > 0 || change_s < 0)
            bars[n++] =
                (struct bar){tsim_json_text_of(tsim_json_at(terms, i), "term"), from_s, from_s + change_s, false};
    }
    bars[n++] = (struct bar){"B", 0, chart_number(step, "b_s"), true};
    struct chart_axis axis = {bars[0].to_s, bars[0].to_s, CHART_LEFT, CHART_WIDTH - CHART_RIGHT - CHART_BAR_TEXT,
                              .is_linear = true};
    for (int i = 0; i < n; i++) {
        axis.low = fmin(axis.low, bars[i].to_s);
        axis.high = fmax(axis.high, bars[i].to_s);
    }
    double room_s = fmax(axis.high - axis.low, 0.02 * axis.high);
    axis.low = axis.low > 0.7 * axis.high ? fmax(0, axis.low - room_s) : 0; /* small changes of a long step are seen */
    double bottom = CHART_TOP + n * CHART_BAR;
    tsim_chart_begin(comparison, "From A's step to B's", bottom + 30, svg);
    for (int i = 0; i < n; i++)
        draw_bar(svg, i, &bars[i], &axis, bars[0].to_s);
    tsim_svg_line(svg, axis.from, CHART_TOP, axis.from, bottom, "line");
    char text[96], time[48];
    snprintf(text, sizeof text, "the bars begin at %s", tsim_quantity_human(axis.low, TSIM_TIME_S, time, sizeof time));
    tsim_svg_text(svg, axis.from, bottom + 18, "start", "soft", axis.low > 0 ? text : "0");
    tsim_svg_end(svg);
    return true;
}
