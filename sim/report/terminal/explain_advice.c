#include "report/terminal/explain_sections.h"

/* Each piece of advice is one text, "SETTING: step TIME, N % faster", the best first. */

static void tables(struct tsim_arena *arena, const struct tsim_explanation *explanation, tsim_explain_take_fn take,
                   void *context) {
    static const struct tsim_figure_column COLUMNS[] = {{"rank", "rank", TSIM_FIGURE_COUNT},
                                                        {"advice", "advice", TSIM_FIGURE_TEXT}};
    struct tsim_figures figures;
    tsim_figures_init(&figures, arena, "advice", COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (int32_t i = 0; i < explanation->prediction->n_advice; i++) {
        tsim_figures_add(&figures, i + 1);
        tsim_figures_add_text(&figures, explanation->prediction->advice[i]);
    }
    take(context, &figures);
}

static void print(struct tsim_arena *arena, FILE *out, const struct tsim_style *style,
                  const struct tsim_explanation *explanation) {
    (void)arena;
    struct tsim_fold fold;
    tsim_explain_heading(out, style, "advice, the largest gain first (each simulated alone)");
    FILE *lines = tsim_fold_open(&fold, style, out);
    for (int32_t i = 0; i < explanation->prediction->n_advice; i++)
        fprintf(lines, "%d. %s\n", i + 1, explanation->prediction->advice[i]);
    if (explanation->prediction->n_advice == 0)
        fputs("no single change that was tried gains 1 %\n", lines);
    tsim_fold_close(&fold);
}

const struct tsim_explain_section tsim_explain_advice = {.needs_step = true, .tables = tables, .print = print};
