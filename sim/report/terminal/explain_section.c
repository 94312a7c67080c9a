/* Functions that the sections of an explanation share. */
#include "report/terminal/explain_sections.h"

void tsim_explain_heading(FILE *out, const struct tsim_style *style, const char *text) {
    fprintf(out, "\n%s%s%s\n", tsim_tint_on(style, TSIM_TINT_BOLD), text, tsim_tint_off(style));
}

const struct tsim_rank_row *tsim_explain_critical_rank(const struct tsim_result *result) {
    const struct tsim_rank_row *critical = &result->step.ranks[0];
    for (int32_t i = 1; i < result->step.n_ranks; i++)
        if (result->step.ranks[i].terms.bubble_s < critical->terms.bubble_s)
            critical = &result->step.ranks[i];
    return critical;
}
