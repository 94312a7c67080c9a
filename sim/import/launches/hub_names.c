#include "import/launches/hub_names.h"

#include "config/catalogue_load.h"

#include <ctype.h>
#include <string.h>

/* Letters and digits alone, in small letters, from the last slash on, without the maker's name and what was tuned or which
 * edition it is: "meta-llama/Meta-Llama-3.1-8B-Instruct" is llama318b. */
static const char *bare_name(struct tsim_arena *arena, const char *name) {
    static const char *const LEFT_OUT[] = {"meta", "instruct", "chat", "base", "hf", "it", "v01"};
    const char *slash = strrchr(name, '/');
    char *bare = tsim_arena_strdup(arena, ""), *word = tsim_arena_strdup(arena, slash ? slash + 1 : name), *rest = word;
    for (char *part = strtok_r(word, "-_ ", &rest); part; part = strtok_r(NULL, "-_ ", &rest)) {
        char *to = part;
        bool is_left_out = false;
        for (const char *from = part; *from; from++)
            if (isalnum((unsigned char)*from))
                *to++ = (char)tolower((unsigned char)*from);
        *to = '\0';
        for (size_t i = 0; i < sizeof LEFT_OUT / sizeof LEFT_OUT[0]; i++)
            is_left_out |= strcmp(part, LEFT_OUT[i]) == 0;
        if (!is_left_out)
            bare = tsim_arena_printf(arena, "%s%s", bare, part);
    }
    return bare;
}

/* Names that are others in the catalogue, bare. */
static const char *const OTHERS[][2] = {{"deepseek3671b", "deepseek-v3"},
                                        {"deepseekv3671b", "deepseek-v3"},
                                        {"deepseek216b", "deepseek-v2-lite"},
                                        {"deepseekv216b", "deepseek-v2-lite"},
                                        {"deepseek2236b", "deepseek-v2"},
                                        {"deepseekv2236b", "deepseek-v2"},
                                        {"deepseekr1", "deepseek-v3"},
                                        {"deepseekv31", "deepseek-v3"},
                                        {"kimik21t", "kimi-k2"},
                                        {"llama417b16e", "llama4-scout"},
                                        {"llama417b128e", "llama4-maverick"},
                                        {"llama4scout17b16e", "llama4-scout"},
                                        {"llama4maverick17b128e", "llama4-maverick"}};

const char *tsim_known_model(struct tsim_recipe *r, const char *name) {
    struct tsim_arena *arena = r->arena;
    const char *const *ids, *bare = bare_name(arena, name);
    size_t n;
    if (tsim_catalogue_list(arena, TSIM_CATALOGUE_MODELS, &ids, &n, r->diags) != TSIM_OK)
        return NULL;
    if (strncmp(bare, "llama31", 7) == 0 || strncmp(bare, "llama33", 7) == 0)
        bare = tsim_arena_printf(arena, "llama3%s", bare + 7);
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++)
        if (strcmp(OTHERS[i][0], bare) == 0)
            return OTHERS[i][1];
    for (size_t i = 0; i < n; i++)
        if (strcmp(bare_name(arena, ids[i]), bare) == 0)
            return ids[i];
    return NULL;
}
