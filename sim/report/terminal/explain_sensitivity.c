#include "report/terminal/explain_sections.h"

enum { TEXT_BYTES = 64 };

static void table(struct tsim_arena *arena, const struct tsim_explanation *explanation, struct tsim_figures *figures) {
    static const struct tsim_figure_column COLUMNS[] = {{"capacity", NULL, TSIM_FIGURE_TEXT},
                                                        {NULL, "capacity", TSIM_FIGURE_TEXT},
                                                        {"now", NULL, TSIM_FIGURE_TEXT},
                                                        {NULL, "value", TSIM_FIGURE_NUMBER},
                                                        {"at -10 %", "less_change_frac", TSIM_FIGURE_CHANGE},
                                                        {"at +10 %", "more_change_frac", TSIM_FIGURE_CHANGE},
                                                        {NULL, "less_time_s", TSIM_FIGURE_SECONDS},
                                                        {NULL, "more_time_s", TSIM_FIGURE_SECONDS},
                                                        {"elasticity", "elasticity", TSIM_FIGURE_SIGNED}};
    double time_s = tsim_steady_time_s(&explanation->result->step);
    char text[TEXT_BYTES];
    tsim_figures_init(figures, arena, "sensitivities", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int32_t i = 0; i < explanation->sensitivities.n; i++) {
        const struct tsim_sensitivity *row = &explanation->sensitivities.rows[i];
        tsim_figures_add_text(figures, row->name);
        tsim_figures_add_text(figures, row->key);
        tsim_figures_add_text(
            figures, tsim_arena_strdup(arena, tsim_quantity_human(row->value, row->dimension, text, sizeof text)));
        tsim_figures_add(figures, row->value);
        tsim_figures_add(figures, row->less_time_s / time_s - 1);
        tsim_figures_add(figures, row->more_time_s / time_s - 1);
        tsim_figures_add(figures, row->less_time_s);
        tsim_figures_add(figures, row->more_time_s);
        tsim_figures_add(figures, row->elasticity);
    }
}

static void tables(struct tsim_arena *arena, const struct tsim_explanation *explanation, tsim_explain_take_fn take,
                   void *context) {
    struct tsim_figures figures;
    table(arena, explanation, &figures);
    take(context, &figures);
}

static void print(struct tsim_arena *arena, FILE *out, const struct tsim_style *style,
                  const struct tsim_explanation *explanation) {
    struct tsim_figures figures;
    tsim_explain_heading(out, style, "the step with each capacity a tenth lower and higher");
    table(arena, explanation, &figures);
    tsim_figures_print(&figures, style, out);
}

const struct tsim_explain_section tsim_explain_sensitivity = {.needs_step = true, .tables = tables, .print = print};
