#include "import/launches/gpt.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* pipeline_model_parallel_layout of Megatron-LM: "Et*3|(tt|)*29,m|L", a letter a layer (t decoder, m one that predicts further tokens, E
 * embedding, L loss), | between stages, x*N and (...)*N repeated; or a list of lists of words ([embedding, decoder], [decoder, loss]). */

enum { MOST_REPEATS = 1000 };

struct layout {
    int layers[TSIM_MOST_LAYOUT_STAGES];
    size_t n; /* stages that are behind a | */
    bool is_wrong;
};

static size_t repeats(const char **at) {
    char *end;
    if (**at != '*')
        return 1;
    const long n = strtol(*at + 1, &end, 10);
    *at = end;
    return n > 0 && n <= MOST_REPEATS ? (size_t)n : 0;
}

static void take(struct layout *layout, char c) {
    if (c == '|' && layout->n + 1 < TSIM_MOST_LAYOUT_STAGES)
        layout->layers[++layout->n] = 0;
    else if (c == 't' || c == 'm')
        layout->layers[layout->n]++;
    else
        layout->is_wrong |= c == '|' || (c != 'E' && c != 'L');
}

/* Copies letters up to `end`; groups are not nested. */
static void read_letters(struct layout *layout, const char *at, const char *end) {
    while (at < end && !layout->is_wrong) {
        const char c = *at++;
        if (isspace((unsigned char)c) || c == ',')
            continue;
        const size_t n = repeats(&at);
        layout->is_wrong |= n == 0;
        for (size_t i = 0; i < n; i++)
            take(layout, c);
    }
}

static void read_text(struct layout *layout, const char *text) {
    for (const char *at = text; *at && !layout->is_wrong;) {
        const char *open = strchr(at, '('), *close = open ? strchr(open, ')') : NULL;
        read_letters(layout, at, open ? open : at + strlen(at));
        if (!open)
            return;
        layout->is_wrong |= !close || memchr(open + 1, '(', (size_t)(close - open - 1)) != NULL;
        if (layout->is_wrong)
            return;
        at = close + 1;
        for (size_t i = 0, n = repeats(&at); i < n && !layout->is_wrong; i++)
            read_letters(layout, open + 1, close);
    }
}

static void read_list(struct layout *layout, const struct tsim_value *list) {
    for (size_t i = 0; i < list->n_items && !layout->is_wrong; i++) {
        const struct tsim_value *stage = list->items[i];
        layout->is_wrong |= stage->kind != TSIM_VALUE_SEQUENCE;
        if (i > 0)
            take(layout, '|');
        for (size_t k = 0; !layout->is_wrong && k < stage->n_items; k++)
            if (tsim_value_is_text(stage->items[k], "decoder") || tsim_value_is_text(stage->items[k], "mtp"))
                take(layout, 't');
    }
}

size_t tsim_gpt_layout(struct tsim_gpt *g, int *layers) {
    const struct tsim_setting *s = tsim_recipe_find(g->r, "pipeline_model_parallel_layout");
    struct layout *layout = TSIM_NEW(g->r->arena, struct layout);
    if (!s || tsim_value_is_off(s->value))
        return 0;
    if (s->value->kind == TSIM_VALUE_SEQUENCE)
        read_list(layout, s->value);
    else
        read_text(layout, tsim_setting_text(s));
    int64_t sum = 0;
    for (size_t i = 0; i <= layout->n && !layout->is_wrong; i++)
        sum += layers[i] = layout->layers[i];
    const size_t n = layout->n + 1;
    if (layout->is_wrong || (int64_t)n % g->pipeline != 0)
        tsim_recipe_refuse(
            g->r, s, "a layout of stages like Et*3|(tt|)*4tL, as many as the pipeline has or several times as many");
    else if (sum != g->layers + g->further)
        tsim_recipe_error(g->r, s, "the stages have %lld layers, the model %lld", (long long)sum,
                          (long long)(g->layers + g->further));
    else
        return n;
    return 0;
}
