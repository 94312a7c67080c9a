/* Charts of a search for plans: the best side by side, the front of time, cost and energy, the clusters. Beside a
 * plan's summary they show what page_plan.c adds. */
#include "base/arena.h"
#include "config/scenario.h"
#include "report/page/chart_draw.h"
#include "report/page/chart_drawings.h"
#include "results/format.h"

#include <string.h>

enum { TITLE_BYTES = 32, TITLE_LETTERS = 21 };

/* Returns "2: tp8 pp4 dp32 zero1", as many words of it as there is room for. */
static const char *title_of(const struct tsim_json *plan, size_t i, char title[TITLE_BYTES + 8]) {
    const char *text = tsim_json_text_of(plan, "text");
    size_t length = text ? strlen(text) : 0;
    bool is_cut = length > TITLE_LETTERS;
    for (length = is_cut ? TITLE_LETTERS - 1 : length; is_cut && length > 0 && text[length] != ' ';)
        length--;
    snprintf(title, TITLE_BYTES + 8, "%zu: %.*s%s", i + 1, (int)length, text ? text : "", is_cut ? "\u2026" : "");
    return title;
}

static const struct tsim_json *summary_of(const struct tsim_json *plan) {
    return tsim_json_find(plan, "summary");
}

static const struct tsim_json *memory_of(const struct tsim_json *plan) {
    return tsim_json_find(summary_of(plan), "memory");
}

bool tsim_chart_plan_steps(const struct tsim_json *plans, const struct tsim_svg *svg) {
    const struct tsim_json *best = tsim_json_find(plans, "best");
    const struct chart_parts parts = tsim_chart_step_parts();
    size_t n = tsim_json_count(best);
    double most_s = 0, bottom = CHART_TOP + (double)n * CHART_BAR;
    char title[TITLE_BYTES + 8];
    for (size_t i = 0; i < n; i++)
        most_s = fmax(most_s, chart_number(summary_of(tsim_json_at(best, i)), "step.time_s"));
    if (!(most_s > 0))
        return false;
    tsim_chart_begin(plans, "Where the steps of the best plans go", bottom + 56, svg);
    for (size_t i = 0; i < n; i++)
        tsim_chart_stack(svg, (int)i, title_of(tsim_json_at(best, i), i, title), &parts,
                         summary_of(tsim_json_at(best, i)), most_s);
    char time[48];
    tsim_svg_text(svg, CHART_LEFT, bottom + 16, "start", "soft", "0");
    tsim_svg_text(svg, CHART_WIDTH - CHART_RIGHT, bottom + 16, "end", "soft",
                  tsim_quantity_human(most_s, TSIM_TIME_S, time, sizeof time));
    tsim_chart_parts_legend(svg, &parts, best, summary_of, bottom + 34);
    tsim_svg_end(svg);
    return true;
}

bool tsim_chart_plan_memory(const struct tsim_json *plans, const struct tsim_svg *svg) {
    const struct tsim_json *best = tsim_json_find(plans, "best");
    size_t n = tsim_json_count(best);
    const struct chart_parts parts = tsim_chart_memory_parts();
    double most_bytes = 0, least_bytes = (double)INFINITY, bottom = CHART_TOP + (double)n * CHART_BAR;
    char title[TITLE_BYTES + 8];
    for (size_t i = 0; i < n; i++) {
        const struct tsim_json *memory = memory_of(tsim_json_at(best, i));
        double capacity_bytes = chart_number(memory, "capacity_bytes");
        least_bytes = fmin(least_bytes, capacity_bytes);
        most_bytes = fmax(most_bytes, fmax(capacity_bytes, chart_number(memory, "peak_bytes")));
    }
    if (!(most_bytes > 0))
        return false;
    tsim_chart_begin(plans, "Memory of the fullest rank", bottom + 52, svg);
    for (size_t i = 0; i < n; i++) {
        const struct tsim_json *memory = memory_of(tsim_json_at(best, i));
        double y = CHART_TOP + (double)i * CHART_BAR, x = CHART_LEFT + chart_number(memory, "capacity_bytes") /
                                                                           (1.02 * most_bytes) *
                                                                           (CHART_WIDTH - CHART_LEFT - CHART_RIGHT);
        tsim_chart_stack(svg, (int)i, title_of(tsim_json_at(best, i), i, title), &parts, memory, 1.02 * most_bytes);
        if (least_bytes < most_bytes) /* on several clusters each has its own */
            tsim_svg_line(svg, x, y, x, y + CHART_BAR, "warn");
    }
    if (least_bytes >= most_bytes)
        tsim_chart_capacity(svg, most_bytes, 1.02 * most_bytes, bottom);
    tsim_chart_parts_legend(svg, &parts, best, memory_of, bottom + 40);
    tsim_svg_end(svg);
    return true;
}

/* ---- the front ---- */

struct figure {
    const char *key, *name;
    const char *(*text)(double value, char *buffer, size_t size);
};

static const char *days_text(double days, char *buffer, size_t size) {
    snprintf(buffer, size, "%.3g", days);
    return buffer;
}

static const char *usd_text(double usd, char *buffer, size_t size) {
    return tsim_quantity_human(usd, TSIM_USD, buffer, size);
}

static const char *energy_text(double wh, char *buffer, size_t size) {
    char amount[48];
    tsim_rate_text(wh, amount, sizeof amount);
    snprintf(buffer, size, "%s%sWh", amount, strchr(amount, ' ') ? "" : " ");
    return buffer;
}

static const struct figure DAYS = {"days", "days", days_text}, USD = {"usd", "rent", usd_text},
                           ENERGY = {"wh", "energy", energy_text};

/* Makes the axis hold both lists and a margin of a twelfth of their range. Returns false if a plan has no such figure. */
static bool find_range(const struct tsim_json *const lists[2], const struct figure *figure, struct chart_axis *axis) {
    axis->low = (double)INFINITY;
    axis->high = 0;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < tsim_json_count(lists[k]); i++) {
            double value = tsim_json_figure(tsim_json_at(lists[k], i), figure->key);
            if (isnan(value))
                return false;
            axis->low = fmin(axis->low, value);
            axis->high = fmax(axis->high, value);
        }
    chart_widen(axis);
    axis->is_linear = true;
    return axis->high > axis->low;
}

/* A dot's class contains its place in the list, by which a page that can open plans finds the plan. */
static void draw_plans(const struct tsim_json *list, const struct chart_frame *f, const struct figure *figure,
                       double radius, const char *class_name, const struct tsim_svg *svg) {
    char hint[320], amount[2][64], place_class[32];
    for (size_t i = 0; i < tsim_json_count(list); i++) {
        const struct tsim_json *plan = tsim_json_at(list, i);
        double x = chart_number(plan, "days"), y = chart_number(plan, figure->key);
        const char *text = tsim_json_text_of(plan, "text"), *cluster = tsim_json_text_of(plan, "cluster_name");
        snprintf(hint, sizeof hint, "%.100s%s%.100s\n%s: %s\n%s: %s", text ? text : "", cluster ? ", " : "",
                 cluster ? cluster : "", f->name_x, days_text(x, amount[0], sizeof amount[0]), f->name_y,
                 figure->text(y, amount[1], sizeof amount[1]));
        snprintf(place_class, sizeof place_class, "%s p%zu", class_name, i);
        tsim_svg_dot(svg, chart_at(&f->x, x), chart_at(&f->y, y), radius, place_class, hint);
    }
}

static bool draw_front(const struct tsim_json *plans, const struct figure *figure, const char *title,
                       const struct tsim_svg *svg) {
    static const struct chart_mark MARKS[] = {{CHART_DOT, "k1", "the best plans"}, {CHART_DOT, "k3", "front"}};
    const struct tsim_json *const lists[2] = {tsim_json_find(plans, "points"), tsim_json_find(plans, "best")};
    const char *of = tsim_json_text_of(tsim_json_find(plans, "per"), "of");
    char text[4][64], names[2][64];
    struct chart_frame f = {.x = {.from = 110, .to = CHART_WIDTH - 40}, .y = {.from = 280, .to = CHART_TOP + 10}};
    if (tsim_json_count(lists[0]) == 0 || !find_range(lists, &DAYS, &f.x) || !find_range(lists, figure, &f.y))
        return false;
    snprintf(names[0], sizeof names[0], "days%s", of ? of : "");
    snprintf(names[1], sizeof names[1], "%s%s", figure->name, of ? of : "");
    f.name_x = names[0];
    f.name_y = names[1];
    f.low_x = days_text(f.x.low, text[0], sizeof text[0]);
    f.high_x = days_text(f.x.high, text[1], sizeof text[1]);
    f.low_y = figure->text(f.y.low, text[2], sizeof text[2]);
    f.high_y = figure->text(f.y.high, text[3], sizeof text[3]);
    tsim_chart_begin(plans, title, f.y.from + 74, svg);
    tsim_chart_frame(svg, &f);
    draw_plans(lists[1], &f, figure, 9, "k1", svg);
    draw_plans(lists[0], &f, figure, 5, "k3", svg);
    tsim_chart_marks(svg, MARKS, sizeof MARKS / sizeof MARKS[0], f.x.from, f.y.from + 58);
    tsim_svg_end(svg);
    return true;
}

bool tsim_chart_plan_cost(const struct tsim_json *plans, const struct tsim_svg *svg) {
    return draw_front(plans, &USD, "Plans: time and cost", svg);
}

bool tsim_chart_plan_energy(const struct tsim_json *plans, const struct tsim_svg *svg) {
    return draw_front(plans, &ENERGY, "Plans: time and energy", svg);
}

/* ---- clusters ---- */

bool tsim_chart_plan_clusters(const struct tsim_json *plans, const struct tsim_svg *svg) {
    static const struct figure *const FIGURES[] = {&DAYS, &USD};
    static const int COLORS[] = {0, 4};
    enum { N_FIGURES = 2 };
    const struct tsim_json *own = tsim_json_find(plans, "best_of_each");
    const char *of = tsim_json_text_of(tsim_json_find(plans, "per"), "of"), *shown[N_FIGURES];
    size_t n = tsim_json_count(own) < CHART_MOST_ROWS / 2 ? tsim_json_count(own) : CHART_MOST_ROWS / 2;
    char names[N_FIGURES][64];
    double most[N_FIGURES] = {0}, bottom = CHART_TOP + N_FIGURES * (double)n * CHART_BAR;
    for (int k = 0; k < N_FIGURES; k++) {
        snprintf(names[k], sizeof names[k], "%s%s", FIGURES[k]->name, of ? of : "");
        shown[k] = names[k];
        for (size_t i = 0; i < n; i++)
            most[k] = fmax(most[k], chart_number(tsim_json_at(own, i), FIGURES[k]->key));
    }
    int n_shown = most[1] > 0 ? N_FIGURES : 1;
    if (n == 0 || !(most[0] > 0))
        return false;
    tsim_chart_begin(plans, "Time and rent of each cluster's best plan", bottom + 40, svg);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < n_shown; k++) {
            const struct tsim_json *plan = tsim_json_at(own, i);
            double value = chart_number(plan, FIGURES[k]->key);
            const char *cluster = tsim_json_text_of(plan, "cluster_name");
            char title[64], text[128], amount[64];
            snprintf(title, sizeof title, "%.0f: %.24s", chart_number(plan, "cluster"), cluster ? cluster : "");
            snprintf(text, sizeof text, "%s %s", FIGURES[k]->text(value, amount, sizeof amount),
                     k == 0 ? names[0] : "");
            tsim_chart_bar(svg, N_FIGURES * (int)i + k, k == 0 ? title : "", value / most[k], text, COLORS[k]);
        }
    tsim_chart_legend(svg, shown, COLORS, n_shown, bottom + 26);
    tsim_svg_end(svg);
    return true;
}
