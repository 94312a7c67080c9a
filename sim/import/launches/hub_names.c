#include "import/launches/hub_names.h"

#include "base/among.h"
#include "config/catalogue_load.h"
#include "config/text/document.h"
#include "import/overrides.h"

#include <ctype.h>
#include <string.h>

enum { MOST_WORDS = 24 };

struct hub_name { /* the words of a name that say which model it is */
    const char *words[MOST_WORDS];
    size_t n;
};

/* Letters, digits and dots alone, in small letters, from the last slash on, without the maker's name and what was
 * tuned, which edition or how many bits it is: "meta-llama/Meta-Llama-3.1-8B-Instruct" is llama, 3.1, 8b. */
static void split_name(struct tsim_arena *arena, const char *name, struct hub_name *words) {
    static const char *const LEFT_OUT[] = {"meta", "instruct", "chat", "base", "hf",       "it",      "v0.1",
                                           "v1.0", "bnb",      "4bit", "2507", "thinking", "unsloth", "fp16",
                                           "bf16", "awq",      "gptq", "int4", "int8",     "8bit",    "1m"};
    char *whole = tsim_arena_strdup(arena, name), *slash;
    for (char *c = whole; *c; c++) /* a path of Windows; ModelScope's folders have "___" for a dot: Qwen1___5-0___5B */
        if (*c == '\\')
            *c = '/';
        else if (strncmp(c, "___", 3) == 0) {
            *c = '.';
            memmove(c + 1, c + 3, strlen(c + 3) + 1);
        }
    static const char *const OF_CHECKPOINTS[] = {"",     "pt",   "hf",     "final",     "base",   "model",
                                                 "ckpt", "best", "latest", "merged_hf", "weights"};
    while ((slash = strrchr(whole, '/')) && slash > whole &&
           (TSIM_IS_AMONG(slash + 1, OF_CHECKPOINTS) || strncmp(slash + 1, "checkpoint-", 11) == 0))
        *slash = '\0';             /* a folder: "models/llama-7b/", or a checkpoint in it */
    for (char *c = whole; *c; c++) /* phi-1_5 */
        if (*c == '_' && c > whole && isdigit((unsigned char)c[-1]) && isdigit((unsigned char)c[1]))
            *c = '.';
    char *word = slash ? slash + 1 : whole, *cached = strstr(whole, "models--"), *rest;
    if (cached && (cached = strstr(cached + 8, "--"))) { /* the hub's cache: models--MAKER--NAME/snapshots/... */
        word = cached + 2;
        word[strcspn(word, "/")] = '\0';
    }
    rest = word;
    words->n = 0;
    for (char *part = strtok_r(word, "-_ ", &rest); part && words->n < MOST_WORDS;
         part = strtok_r(NULL, "-_ ", &rest)) {
        char *to = part;
        bool is_left_out = false;
        for (const char *from = part; *from; from++)
            if (isalnum((unsigned char)*from) || *from == '.')
                *to++ = (char)tolower((unsigned char)*from);
        *to = '\0';
        for (size_t i = 0; i < sizeof LEFT_OUT / sizeof LEFT_OUT[0]; i++)
            is_left_out |= strcmp(part, LEFT_OUT[i]) == 0;
        if (!is_left_out && *part)
            words->words[words->n++] = part;
    }
}

static const char *join(struct tsim_arena *arena, const struct hub_name *name, size_t from, size_t to) {
    const char *key = "";
    for (size_t i = from; i < to; i++)
        key = tsim_arena_printf(arena, "%s%s", key, name->words[i]);
    return key;
}

/* Returns the whole name: llama3.18b. */
static const char *hub_key(struct tsim_arena *arena, const char *name) {
    struct hub_name words;
    split_name(arena, name, &words);
    return join(arena, &words, 0, words.n);
}

/* Returns the same without dots, because some write "llama3-1-8b". */
static const char *bare_key(struct tsim_arena *arena, const char *key) {
    char *bare = tsim_arena_strdup(arena, key), *to = bare;
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
                                        {"grok1", "grok-1"},
                                        {"llama417b16e", "llama4-scout"},
                                        {"llama417b128e", "llama4-maverick"},
                                        {"llama4scout17b16e", "llama4-scout"},
                                        {"llama4maverick17b128e", "llama4-maverick"}};

struct known_models { /* read once for a name */
    const struct tsim_value *hub;
    const char *const *ids, **bare_ids;
    size_t n;
};

static bool read_known(struct tsim_recipe *r, struct known_models *known) {
    const char *folder = tsim_catalogue_folder(r->arena);
    *known = (struct known_models){0};
    if (tsim_catalogue_list(r->arena, TSIM_CATALOGUE_MODELS, &known->ids, &known->n, r->diags) != TSIM_OK)
        return false;
    known->bare_ids = tsim_arena_alloc(r->arena, known->n * sizeof known->bare_ids[0]);
    for (size_t i = 0; i < known->n; i++)
        known->bare_ids[i] = bare_key(r->arena, hub_key(r->arena, known->ids[i]));
    if (folder && tsim_document_read(r->arena, tsim_arena_printf(r->arena, "%s/models/hub.yaml", folder), &known->hub,
                                     r->diags) != TSIM_OK)
        known->hub = NULL;
    return true;
}

static const char *id_of_key(struct tsim_arena *arena, const struct known_models *known, const char *key) {
    const char *bare = bare_key(arena, key);
    if (strncmp(bare, "llama31", 7) == 0 || strncmp(bare, "llama33", 7) == 0)
        bare = tsim_arena_printf(arena, "llama3%s", bare + 7);
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++)
        if (strcmp(OTHERS[i][0], bare) == 0)
            return OTHERS[i][1];
    for (size_t i = 0; i < known->n; i++)
        if (strcmp(known->bare_ids[i], bare) == 0)
            return known->ids[i];
    return NULL;
}

static const struct tsim_value *row_of_key(const struct known_models *known, const char *key) {
    const struct tsim_value *row = known->hub ? tsim_value_find(known->hub, key) : NULL;
    return row && row->kind == TSIM_VALUE_MAPPING ? row : NULL;
}

const char *tsim_known_model(struct tsim_recipe *r, const char *name) {
    struct known_models known;
    return read_known(r, &known) ? id_of_key(r->arena, &known, hub_key(r->arena, name)) : NULL;
}

/* Returns whether the word is "7b", "1.3b", "560m", "8x7b" or "7b1": digits, then a letter for thousands of millions or
 * for millions. */
static bool is_size(const char *word) {
    const size_t n = strspn(word, "0123456789.x");
    return n > 0 && isdigit((unsigned char)word[0]) && (word[n] == 'b' || word[n] == 'm') &&
           strspn(word + n + 1, "0123456789") == strlen(word + n + 1);
}

/* Tells whether the words beside a known name leave it the model that it is: no other size, and nothing that makes
 * another network of it. */
static bool may_stand_beside(const char *word) {
    static const char *const OF_OTHERS[] = {
        "vl",      "v",          "vision",    "visual",   "audio",  "omni",         "video",    "speech",    "llava",
        "mllm",    "multimodal", "moe",       "mamba",    "hybrid", "width",        "depth",    "pruned",    "draft",
        "eagle",   "eagle3",     "medusa",    "merge",    "merged", "slerp",        "linear",   "diffusion", "tiny",
        "mini",    "small",      "nano",      "lite",     "toy",    "random",       "dummy",    "debug",     "test",
        "sheared", "minitron",   "embedding", "reranker", "mot",    "frankenmerge", "expanded", "air",       "flash",
        "large",   "xl",         "medium"};
    return !TSIM_IS_AMONG(word, OF_OTHERS) && !is_size(word);
}

/* Returns the longest run of words that names a model and its size, beside words that change nothing:
 * "dolphin-2.9-llama3-8b". */
static const char *key_within(struct tsim_arena *arena, const struct known_models *known, const struct hub_name *name) {
    const char *best = NULL;
    for (size_t from = 0; from < name->n; from++)
        for (size_t to = from + 1; to <= name->n; to++) {
            const char *key = join(arena, name, from, to);
            bool is_whole = row_of_key(known, key) || id_of_key(arena, known, key), has_size = false;
            for (const char *c = key; *c; c++)
                has_size |= isdigit((unsigned char)*c) && (c[1] == 'b' || c[1] == 'm') && !isalpha((unsigned char)c[2]);
            if (!is_whole || !(has_size || from == 0) || (best && strlen(key) <= strlen(best)))
                continue;
            for (size_t i = 0; i < name->n; i++)
                is_whole &= (i >= from && i < to) || may_stand_beside(name->words[i]);
            if (is_whole)
                best = key;
        }
    return best;
}

/* Finds the same in a name with a word of whoever tuned it between the model and its size: "llama-3.1-swallow-8b". */
static const char *key_around(struct tsim_arena *arena, const struct known_models *known, const struct hub_name *name) {
    for (size_t i = 1; i + 1 < name->n; i++) {
        struct hub_name without = *name;
        const char *word = name->words[i];
        if (strpbrk(word, "0123456789") || !may_stand_beside(word))
            continue;
        memmove(&without.words[i], &without.words[i + 1], (name->n - i - 1) * sizeof without.words[0]);
        without.n--;
        const char *key = join(arena, &without, 0, without.n);
        if (row_of_key(known, key) || id_of_key(arena, known, key) || (key = key_within(arena, known, &without)))
            return key;
    }
    return NULL;
}

bool tsim_put_hub_model(struct tsim_recipe *r, const struct tsim_setting *from, const char *name) {
    struct known_models known;
    struct hub_name words;
    if (!read_known(r, &known))
        return false;
    split_name(r->arena, name, &words);
    const char *key = join(r->arena, &words, 0, words.n), *id;
    if (!row_of_key(&known, key) && !id_of_key(r->arena, &known, key)) {
        key = key_within(r->arena, &known, &words);
        key = key ? key : key_around(r->arena, &known, &words);
        if (!key)
            return false;
        tsim_recipe_note(r, from->name, from->value,
                         "its sizes are those of the model that the name has in it; --model or --hf says others");
    }
    const struct tsim_value *row = row_of_key(&known, key);
    if (!row && (id = id_of_key(r->arena, &known, key)))
        tsim_recipe_put(r, "model", from, NULL, "%s", id);
    for (size_t i = 0; row && i < row->n_items; i++)
        if (strcmp(row->pairs[i].key, "source") != 0)
            tsim_recipe_put_value(r, tsim_arena_printf(r->arena, "model.%s", row->pairs[i].key), from,
                                  row->pairs[i].value);
    return true;
}

void tsim_put_changed_sizes(struct tsim_recipe *r, const struct tsim_setting *from, const char *section) {
    static const char *const SIZES[][2] = {{"num_hidden_layers", "layers"},
                                           {"hidden_size", "hidden"},
                                           {"intermediate_size", "ffn_hidden"},
                                           {"num_attention_heads", "heads"},
                                           {"num_key_value_heads", "kv_heads"},
                                           {"head_dim", "head_dim"},
                                           {"vocab_size", "vocab"},
                                           {"n_positions", "positions"},
                                           {"tie_word_embeddings", "tied_embeddings"},
                                           {"sliding_window", "attention_window"}};
    const char *id = from ? tsim_known_model(r, tsim_setting_text(from)) : NULL;
    const bool is_given = tsim_import_override(&r->input, "model") != NULL;
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++)
        for (size_t j = 0; j < r->n_settings; j++) {
            struct tsim_setting *s = &r->settings[j];
            if (strcmp(s->key, tsim_arena_printf(r->arena, "%s.%s", section, SIZES[i][0])) != 0)
                continue;
            s->is_used = true;
            if (is_given)
                continue;
            if (id) /* else its row of models/hub.yaml has said it */
                tsim_recipe_put(r, "model.extends", from, NULL, "%s", id);
            if (!tsim_value_is_null(s->value))
                tsim_recipe_put_value(r, tsim_arena_printf(r->arena, "model.%s", SIZES[i][1]), s, s->value);
            else if (strcmp(SIZES[i][1], "attention_window") == 0) /* of another null the model's own value stays */
                tsim_recipe_put(r, "model.attention_window", s, NULL, "0");
        }
}
