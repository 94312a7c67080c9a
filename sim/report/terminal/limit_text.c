#include "report/terminal/limit_text.h"

#include "results/format.h"

#include <math.h>
#include <string.h>

const char *tsim_limit_text(struct tsim_arena *arena, const struct tsim_limit *limit, double nearest) {
    bool is_more = tsim_outcome_spec(limit->figure)->goal == TSIM_GOAL_MORE;
    char name[64], here[64], allowed[64], count[96], miss[128] = "";
    double ratio = nearest / limit->value;
    tsim_outcome_text(limit->figure, nearest, here, sizeof here);
    tsim_outcome_text(limit->figure, limit->value, allowed, sizeof allowed);
    if (ratio < 10)
        tsim_error_text(ratio - 1, miss, sizeof miss);
    else if (isfinite(ratio))
        snprintf(miss, sizeof miss, "%s times", tsim_count_text(ratio, count, sizeof count));
    return tsim_arena_printf(arena, "%s: %s at %s, %s %s%s%s%s", tsim_outcome_name(limit->figure, name, sizeof name),
                             here, is_more ? "most" : "least", allowed, is_more ? "asked for" : "allowed",
                             miss[0] ? " (" : "", miss, miss[0] ? ")" : "");
}
