/* A decision stands above its alternatives: days and money of eight cases of ten, beside the date and the budget. */
#include "config/scenario.h"
#include "report/page/chart_draw.h"
#include "report/page/chart_drawings.h"
#include "results/format.h"

#include <string.h>

enum { MOST_OFFERS = 12, PANEL_WIDTH = 240, PANEL_GAP = 60, NAME_WIDTH = 40, TITLE_LETTERS = 25 };

/* Texts have the digits that the range of eight of ten cases supports. */
static const char *days_text(const struct tsim_percentiles *range, double days, char *buffer, size_t size) {
    return tsim_supported_days_text(range, days, " days", buffer, size);
}

static const char *usd_text(const struct tsim_percentiles *range, double usd, char *buffer, size_t size) {
    return tsim_supported_text(range, usd, "USD", buffer, size);
}

static const struct panel {
    const char *key, *name, *limit, *limit_name;
    double per_unit; /* of the limit, for one of what is drawn */
    const char *(*text)(const struct tsim_percentiles *range, double value, char *buffer, size_t size);
} PANELS[] = {{"days", "days", "deadline_s", "the date", 86400, days_text},
              {"cost_usd", "cost", "budget_usd", "the budget", 1, usd_text}};
enum { N_PANELS = sizeof PANELS / sizeof PANELS[0] };

/* Returns the decision, or one of its alternatives behind it. */
static const struct tsim_json *offer_at(const struct tsim_json *decision, size_t i) {
    return i == 0 ? tsim_json_find(decision, "decision")
                  : tsim_json_at(tsim_json_find(decision, "alternatives"), i - 1);
}

static struct tsim_percentiles range_of(const struct tsim_json *offer, const struct panel *panel) {
    const struct tsim_json *range = tsim_json_find(offer, panel->key);
    return (struct tsim_percentiles){chart_number(range, "p10"), chart_number(range, "p50"),
                                     chart_number(range, "p90")};
}

/* Returns a limit, unless it lies so far beyond all offers that it would press them into a corner. */
static double limit_of(const struct tsim_json *decision, const struct panel *panel, double most) {
    double limit = chart_number(tsim_json_find(decision, "goal"), panel->limit) / panel->per_unit;
    return limit > 0 && limit < 4 * most ? limit : 0;
}

static void draw_panel(const struct tsim_json *decision, const struct panel *panel, size_t n, double left,
                       const struct tsim_svg *svg) {
    double most = 0, bottom = CHART_TOP + 14 + (double)n * CHART_BAR;
    char text[160], amounts[3][48];
    struct tsim_percentiles widest = {0};
    for (size_t i = 0; i < n; i++) {
        struct tsim_percentiles range = range_of(offer_at(decision, i), panel);
        widest = range.p90 > widest.p90 ? range : widest;
    }
    most = widest.p90;
    double limit = limit_of(decision, panel, most);
    most = fmax(most, limit);
    if (!(most > 0))
        return;
    const struct chart_axis x = {.low = 0, .high = most, .from = left, .to = left + PANEL_WIDTH, .is_linear = true};
    tsim_svg_text(svg, left, CHART_TOP + 4, "start", "soft", panel->name);
    tsim_svg_line(svg, x.from, bottom, x.to, bottom, "line");
    tsim_svg_text(svg, x.from, bottom + 16, "start", "soft", "0");
    tsim_svg_text(svg, x.to, bottom + 16, "end", "soft", panel->text(&widest, most, amounts[0], sizeof amounts[0]));
    if (limit > 0) {
        tsim_svg_line(svg, chart_at(&x, limit), CHART_TOP + 10, chart_at(&x, limit), bottom, "warn");
        tsim_svg_text(svg, fmax(chart_at(&x, limit) - 4, left + NAME_WIDTH), CHART_TOP + 4,
                      limit > most / 2 ? "end" : "start", "warn", panel->limit_name);
    }
    for (size_t i = 0; i < n; i++) {
        const struct tsim_json *offer = offer_at(decision, i);
        const struct tsim_percentiles r = range_of(offer, panel);
        double y = CHART_TOP + 14 + ((double)i + 0.5) * CHART_BAR;
        snprintf(text, sizeof text, "%s to %s, in the middle case %s",
                 panel->text(&r, r.p10, amounts[0], sizeof amounts[0]),
                 panel->text(&r, r.p90, amounts[1], sizeof amounts[1]),
                 panel->text(&r, r.p50, amounts[2], sizeof amounts[2]));
        tsim_svg_rect(svg, chart_at(&x, r.p10), y - 4, fmax(chart_at(&x, r.p90) - chart_at(&x, r.p10), 1), 8, "k1",
                      text);
        tsim_svg_dot(svg, chart_at(&x, r.p50), y, 5, "k0", text);
    }
}

bool tsim_chart_decision(const struct tsim_json *decision, const struct tsim_svg *svg) {
    const struct tsim_json *choice = tsim_json_find(decision, "decision");
    size_t n = 1 + tsim_json_count(tsim_json_find(decision, "alternatives"));
    if (!tsim_json_find(choice, "nodes"))
        return false;
    n = n < MOST_OFFERS ? n : MOST_OFFERS;
    tsim_chart_begin(decision, "What it takes", CHART_TOP + 14 + (double)n * CHART_BAR + 24, svg);
    for (size_t i = 0; i < n; i++) {
        const struct tsim_json *offer = offer_at(decision, i);
        char title[80];
        const char *action = tsim_json_text_of(offer, "action"), *node = tsim_json_text_of(offer, "node");
        snprintf(title, sizeof title, "%s %.0f x %s", action ? action : "", chart_number(offer, "nodes"),
                 node ? node : "");
        if (strlen(title) > TITLE_LETTERS)
            memcpy(title + TITLE_LETTERS - 1, "\u2026", sizeof "\u2026");
        tsim_svg_text(svg, CHART_LEFT - 10, CHART_TOP + 14 + ((double)i + 0.5) * CHART_BAR + 5, "end",
                      i == 0 ? "ink" : "soft", title);
    }
    for (size_t k = 0; k < N_PANELS; k++)
        draw_panel(decision, &PANELS[k], n, CHART_LEFT + (double)k * (PANEL_WIDTH + PANEL_GAP), svg);
    tsim_svg_end(svg);
    return true;
}
