#include "import/launches/hub_names.h"

#include "config/catalogue_load.h"
#include "config/document.h"

#include <ctype.h>
#include <string.h>

/* Letters, digits and dots alone, in small letters, from the last slash on, without the maker's name and what was tuned, which
 * edition or how many bits it is: "meta-llama/Meta-Llama-3.1-8B-Instruct" is llama3.18b. */
static const char *hub_key(struct tsim_arena *arena, const char *name) {
    static const char *const LEFT_OUT[] = {"meta", "instruct", "chat", "base", "hf",       "it",      "v0.1",
                                           "v1.0", "bnb",      "4bit", "2507", "thinking", "unsloth", "fp16",
                                           "bf16", "awq",      "gptq", "int4", "int8",     "8bit",    "1m"};
    char *whole = tsim_arena_strdup(arena, name), *slash;
    while ((slash = strrchr(whole, '/')) && !slash[1]) /* a folder: "models/llama-7b/" */
        *slash = '\0';
    for (char *c = whole; *c; c++) /* phi-1_5 */
        if (*c == '_' && c > whole && isdigit((unsigned char)c[-1]) && isdigit((unsigned char)c[1]))
            *c = '.';
    const char *key = tsim_arena_strdup(arena, "");
    char *word = slash ? slash + 1 : whole, *rest = word;
    for (char *part = strtok_r(word, "-_ ", &rest); part; part = strtok_r(NULL, "-_ ", &rest)) {
        char *to = part;
        bool is_left_out = false;
        for (const char *from = part; *from; from++)
            if (isalnum((unsigned char)*from) || *from == '.')
                *to++ = (char)tolower((unsigned char)*from);
        *to = '\0';
        for (size_t i = 0; i < sizeof LEFT_OUT / sizeof LEFT_OUT[0]; i++)
            is_left_out |= strcmp(part, LEFT_OUT[i]) == 0;
        if (!is_left_out)
            key = tsim_arena_printf(arena, "%s%s", key, part);
    }
    return key;
}

/* The same without dots: some write "llama3-1-8b". */
static const char *bare_name(struct tsim_arena *arena, const char *name) {
    char *bare = tsim_arena_strdup(arena, hub_key(arena, name)), *to = bare;
    for (const char *from = bare; *from; from++)
        if (*from != '.')
            *to++ = *from;
    *to = '\0';
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

bool tsim_put_hub_model(struct tsim_recipe *r, const struct tsim_setting *from, const char *name) {
    const char *folder = tsim_catalogue_folder(r->arena);
    const struct tsim_value *root = NULL, *model = NULL;
    if (folder && tsim_document_read(r->arena, tsim_arena_printf(r->arena, "%s/models/hub.yaml", folder), &root,
                                     r->diags) == TSIM_OK)
        model = tsim_value_find(root, hub_key(r->arena, name));
    if (!model || model->kind != TSIM_VALUE_MAPPING) {
        const char *id = tsim_known_model(r, name);
        if (id)
            tsim_recipe_put(r, "model", from, NULL, "%s", id);
        return id != NULL;
    }
    for (size_t i = 0; i < model->n_items; i++)
        if (strcmp(model->pairs[i].key, "source") != 0)
            tsim_recipe_put_value(r, tsim_arena_printf(r->arena, "model.%s", model->pairs[i].key), from,
                                  model->pairs[i].value);
    return true;
}
