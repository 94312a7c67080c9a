/* The links by load: passes at the rate that they need on average, collectives and messages as they flow. */
#include "report/terminal/explain_sections.h"

static void fill(struct tsim_arena *arena, const struct tsim_explanation *explanation, struct tsim_figures *figures) {
    static const struct tsim_figure_column COLUMNS[] = {
        {"links", "sort", TSIM_FIGURE_TEXT},         {"count", "links", TSIM_FIGURE_COUNT},
        {"mean", "mean_load", TSIM_FIGURE_SHARE},    {"highest", "highest_load", TSIM_FIGURE_SHARE},
        {NULL, "bytes", TSIM_FIGURE_BYTES},          {"of", "capacity_bytes_per_s", TSIM_FIGURE_BYTES_PER_S},
        {"the fullest", "fullest", TSIM_FIGURE_TEXT}};
    tsim_figures_init(figures, arena, "links", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int32_t i = 0; i < explanation->n_link_utilizations; i++) {
        const struct tsim_link_utilization *use = &explanation->link_utilizations[i];
        tsim_figures_add_text(figures, use->sort);
        tsim_figures_add(figures, use->n_links);
        tsim_figures_add(figures, use->mean_frac);
        tsim_figures_add(figures, use->highest_frac);
        tsim_figures_add(figures, use->highest_bytes);
        tsim_figures_add(figures, use->highest_capacity_bytes_per_s);
        tsim_figures_add_text(figures, use->busiest);
    }
}

static void tables(struct tsim_arena *arena, const struct tsim_explanation *explanation, tsim_explain_take_fn take,
                   void *context) {
    struct tsim_figures figures;
    fill(arena, explanation, &figures);
    take(context, &figures);
}

static void print(struct tsim_arena *arena, FILE *out, const struct tsim_style *style,
                  const struct tsim_explanation *explanation) {
    struct tsim_figures figures;
    if (explanation->n_link_utilizations == 0)
        return;
    fill(arena, explanation, &figures);
    tsim_explain_heading(out, style, "links by load over the step (each direction)");
    tsim_figures_print(&figures, style, out);
}

const struct tsim_explain_section tsim_explain_links = {true, tables, print};
