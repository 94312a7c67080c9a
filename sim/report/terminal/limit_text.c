#include "report/terminal/limit_text.h"

#include "results/format.h"

#include <math.h>
#include <string.h>

/* "campaign.days" -> "days", "campaign.rent_usd" -> "rent", "memory.peak_bytes" -> "memory peak". */
static const char *limit_name(struct tsim_arena *arena, enum tsim_outcome_figure which) {
    static const char *const UNITS[] = {"_usd", "_bytes", "_w", "_s", "_j", "_kwh", "_kg"};
    const char *name = tsim_outcome_spec(which)->name, *dot = strchr(name, '.');
    char *text = tsim_arena_strdup(arena, dot && strncmp(name, "memory.", 7) != 0 ? dot + 1 : name);
    size_t length = strlen(text);
    for (size_t i = 0; i < sizeof UNITS / sizeof UNITS[0]; i++) {
        size_t n = strlen(UNITS[i]);
        if (length > n && strcmp(text + length - n, UNITS[i]) == 0) {
            text[length -= n] = '\0';
            break;
        }
    }
    for (char *c = text; *c; c++)
        *c = *c == '_' || *c == '.' ? ' ' : *c;
    return text;
}

const char *tsim_limit_text(struct tsim_arena *arena, const struct tsim_limit *limit, double nearest) {
    bool is_more = tsim_outcome_spec(limit->figure)->goal == TSIM_GOAL_MORE;
    char here[64], allowed[64], count[96], miss[128] = "";
    double ratio = nearest / limit->value;
    tsim_outcome_text(limit->figure, nearest, here, sizeof here);
    tsim_outcome_text(limit->figure, limit->value, allowed, sizeof allowed);
    if (ratio < 10)
        tsim_error_text(ratio - 1, miss, sizeof miss);
    else if (isfinite(ratio))
        snprintf(miss, sizeof miss, "%s times", tsim_count_text(ratio, count, sizeof count));
    return tsim_arena_printf(arena, "%s: %s at %s, %s %s%s%s%s", limit_name(arena, limit->figure), here,
                             is_more ? "most" : "least", allowed, is_more ? "asked for" : "allowed",
                             miss[0] ? " (" : "", miss, miss[0] ? ")" : "");
}
