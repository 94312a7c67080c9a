#include "support/term_rules.h"

#include "support/check_main.h"

#include <math.h>
#include <string.h>

/* The rounding of sums and products of doubles, over at most some hundred parts. */
#define ROUNDING 1e-12

void expect_term_rules(const struct tsim_term *term) {
    bool is_leaf = term->rule == TSIM_TERM_GIVEN;
    double by_rule = tsim_term_by_rule(term), scale = fabs(term->value);
    for (int32_t i = 0; i < term->n_parts && term->rule == TSIM_TERM_SUM; i++)
        scale = fmax(scale, fabs(term->parts[i].value)); /* a difference may be much smaller than its parts */
    TSIM_ALWAYS(!isnan(term->value), "%s is not a number", term->name);
    TSIM_ALWAYS(term->value == by_rule || fabs(by_rule - term->value) <= ROUNDING * scale,
                "%s is %.17g, its parts give %.17g", term->name, term->value, by_rule);
    TSIM_ALWAYS(is_leaf == (term->source != NULL), "the source of %s", term->name);
    TSIM_ALWAYS(is_leaf ? term->n_parts == 0 : term->formula != NULL, "the parts of %s", term->name);
    TSIM_ALWAYS(term->rule != TSIM_TERM_OUTCOME || strstr(term->formula, "simulated") ||
                    strstr(term->formula, "searched") || strstr(term->formula, "counted"),
                "%s = %s is neither of a simulation nor of a search nor of a count", term->name, term->formula);
    for (int32_t i = 0; i < term->n_parts; i++) {
        TSIM_ALWAYS(term->parts[i].value == term->parts[i].term->value, "a part of %s", term->name);
        expect_term_rules(term->parts[i].term);
    }
}
