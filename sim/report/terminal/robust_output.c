#include "report/terminal/robust_output.h"

#include "results/format.h"

#include <math.h>

#define LEAST_DIFFERENCE_FRAC 5e-4 /* less prints as 0.0 % */

static const char *turned_text(const struct tsim_robust_row *row) {
    return row->flips_time && row->flips_cost ? "time and cost"
           : row->flips_time                  ? "time"
           : row->flips_cost                  ? "cost"
                                              : "";
}

void tsim_robust_figures(struct tsim_arena *arena, const struct tsim_robust *robust, const char *const names[2],
                         struct tsim_figures *figures) {
    static const struct tsim_figure_column COLUMNS[] = {
        {"", "side", TSIM_FIGURE_TEXT},        {"input", NULL, TSIM_FIGURE_TEXT},
        {NULL, "input", TSIM_FIGURE_TEXT},     {"-10 %", "less", TSIM_FIGURE_CHANGE},
        {"+10 %", "more", TSIM_FIGURE_CHANGE}, {"reverses", "turns", TSIM_FIGURE_TEXT}};
    tsim_figures_init(figures, arena, "sensitivity", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int32_t i = 0; i < robust->n; i++) {
        const struct tsim_robust_row *row = &robust->rows[i];
        tsim_figures_add_text(figures, row->side == TSIM_BOTH_SIDES ? "both" : names[row->side]);
        tsim_figures_add_text(figures, row->name);
        tsim_figures_add_text(figures, row->key);
        tsim_figures_add(figures, row->less_frac);
        tsim_figures_add(figures, row->more_frac);
        tsim_figures_add_text(figures, turned_text(row));
    }
}

static const char *interval_words(const struct tsim_robust *robust) {
    return !robust->has_intervals      ? ""
           : robust->intervals_overlap ? " Their 90 % intervals overlap."
                                       : " Their 90 % intervals do not overlap.";
}

/* Rents as they are written, per hour. */
static const char *rent_words(struct tsim_arena *arena, const struct tsim_robust *robust, const char *name) {
    return tsim_arena_printf(arena, " At a rent of %.2f USD/h instead of %.2f, %s would cost the same.",
                             robust->even_rent_usd_per_s * TSIM_HOUR_S, robust->rent_usd_per_s[1] * TSIM_HOUR_S, name);
}

/* The words for how the second differs from the first: "is 3 % slower", "costs 3 % more". */
struct relation {
    const char *verb, *less, *more, *even;
};

static const char *sentence(struct tsim_arena *arena, const char *const names[2], double frac, bool survives,
                            const struct relation *relation, const char *rest) {
    char text[64];
    if (isnan(frac) || fabs(frac) <= 0)
        return "";
    if (fabs(frac) < LEAST_DIFFERENCE_FRAC)
        return tsim_arena_printf(arena, "%s %s as %s per token as %s.", names[1], relation->verb, relation->even,
                                 names[0]);
    return tsim_arena_printf(
        arena, "%s %s %s %s per token than %s%s.%s", names[1], relation->verb,
        tsim_percent_text(fabs(frac), text, sizeof text), frac < 0 ? relation->less : relation->more, names[0],
        survives ? ", whichever input is a tenth off" : "; one input a tenth off can reverse that", rest);
}

const char *tsim_robust_verdict(struct tsim_arena *arena, const struct tsim_robust *robust,
                                const char *const names[2]) {
    static const struct relation TIME = {"is", "faster", "slower", "fast"}, COST = {"costs", "less", "more", "much"};
    const char *time = sentence(arena, names, robust->time_frac, robust->time_survives, &TIME, interval_words(robust));
    const char *cost =
        sentence(arena, names, robust->cost_frac, robust->cost_survives, &COST, rent_words(arena, robust, names[1]));
    return time[0] || cost[0] ? tsim_arena_printf(arena, "%s%s%s", time, time[0] && cost[0] ? " " : "", cost) : NULL;
}
