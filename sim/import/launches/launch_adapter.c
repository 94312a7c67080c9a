#include "import/launches/launch_adapter.h"

#include "base/among.h"
#include "import/launches/launch_words.h"

#include <ctype.h>
#include <string.h>

/* "q_proj" is query. */
static const struct tsim_launch_word PROJECTIONS[] = {
    {"q_proj", "query"},
    {"k_proj", "key"},
    {"v_proj", "value"},
    {"qkv_proj", "qkv"},
    {"o_proj", "output"},
    {"gate_proj", "gate"},
    {"up_proj", "up"},
    {"down_proj", "down"},
    {"gate_up_proj", "gate-up"},
    {"query_key_value", "qkv"}, /* of GPT-NeoX, Falcon, BLOOM, ChatGLM */
    {"dense", "output"},
    {"dense_h_to_4h", "up"},
    {"dense_4h_to_h", "down"},
    {"W_pack", "qkv"}, /* of Baichuan */
    {"Wqkv", "qkv"},   /* of MPT and DBRX */
    {"wqkv", "qkv"},   /* of InternLM2 */
    {"wo", "output"},
    {"w1", "gate"},
    {"w2", "down"},
    {"w3", "up"},
    {"c_attn", "qkv"}, /* of GPT-2 and Qwen */
    {"out_proj", "output"},
    {"in_proj", "recurrence-in"}, /* of Mamba, of short convolutions and, in two, of the gated delta rule */
    {"in_proj_qkvz", "recurrence-in"},
    {"in_proj_ba", "recurrence-in"},
    {"fc1", "up"},
    {"fc2", "down"},
    {"c_fc", "up"},
    {"c_proj", "output"},
    {"linear_qkv", "qkv"}, /* of Megatron-Core */
    {"linear_proj", "output"},
    {"linear_fc1", "gate-up"},
    {"linear_fc2", "down"},
    {"linear_q_proj", "query"},
    {"linear_kv_up_proj", "key"},
    {"attention_qkv", "qkv"}, /* of NeMo 1 */
    {"attention_dense", "output"},
    {"mlp_fc1", "gate-up"},
    {"mlp_fc2", "down"},
    {NULL, NULL}};
enum { MOST_TARGETS = 16 };

/* Products down and up of latent attention, in pairs. */
static const struct tsim_launch_word LATENT[] = {
    {"q_a_proj", "query"},          {"q_b_proj", "query"},           {"kv_a_proj_with_mqa", "key"},
    {"kv_b_proj", "key"},           {"linear_q_down_proj", "query"}, {"linear_q_up_proj", "query"},
    {"linear_kv_down_proj", "key"}, {"linear_kv_up_proj", "key"},    {NULL, NULL}};

/* Returns the projection that a name ends with: "language_model.layers.0.mlp.up_proj" is up_proj. */
static const char *last_of(const char *word) {
    const char *dot = strrchr(word, '.');
    return dot ? dot + 1 : word;
}

/* Returns the projections that a regular expression of peft speaks of, by their names in it: "(q|k|v|o)_proj" has four. */
static size_t targets_of_pattern(struct tsim_recipe *r, const char *text, const char **words) {
    char *whole = tsim_arena_strdup(r->arena, text), *at = whole;
    size_t n = 0;
    while ((at = strstr(at, "_proj"))) {
        char *begin = at;
        *at = '\0';
        if (begin > whole && begin[-1] == ')') {
            *--begin = '\0';
            while (begin > whole && begin[-1] != '(')
                begin--;
        } else {
            while (begin > whole && (isalpha((unsigned char)begin[-1]) || begin[-1] == '_'))
                begin--;
        }
        char *rest = begin;
        for (char *word = strtok_r(begin, "|?:", &rest); word && n < MOST_TARGETS; word = strtok_r(NULL, "|?:", &rest))
            words[n++] = tsim_arena_printf(r->arena, "%s_proj", word);
        at += strlen("_proj");
    }
    return n;
}

/* Returns the words of a list, of one text with commas between them, or of a pattern. */
static size_t words_of_targets(struct tsim_recipe *r, const struct tsim_setting *s, const char **words) {
    size_t n = 0, n_items = s->value->kind == TSIM_VALUE_SEQUENCE ? s->value->n_items : 0;
    for (size_t i = 0; i < n_items && n < MOST_TARGETS; i++)
        words[n++] = s->value->items[i]->kind == TSIM_VALUE_SCALAR ? s->value->items[i]->text : "";
    const char *one = n_items == 0 ? tsim_setting_text(s) : n == 1 ? words[0] : "";
    if (strpbrk(one, "(|*[\\"))
        return targets_of_pattern(r, one, words);
    if (n_items > 0)
        return n;
    char *text = tsim_arena_strdup(r->arena, one), *rest = text;
    for (char *word = strtok_r(text, ", []'\"", &rest); word && n < MOST_TARGETS;
         word = strtok_r(NULL, ", []'\"", &rest))
        words[n++] = word;
    return n;
}

static bool has_recurrence(const struct tsim_model *model) {
    return model && tsim_adapter_targets(model) & 1u << TSIM_TARGET_RECURRENCE_IN;
}

/* Returns which product of the model a name means; NULL: none. Behind a recurrence out_proj is its last product, and
 * attention's has another name, except beside short convolutions (LFM2). */
static const char *target_of(const struct tsim_model *model, const char *word) {
    const char *of_latent = tsim_launch_ours(LATENT, last_of(word)),
               *part = tsim_launch_ours(PROJECTIONS, last_of(word));
    if (of_latent && model && model->latent.kv_rank > 0)
        return of_latent;
    if (!part || strcmp(part, "recurrence-in") == 0)
        return has_recurrence(model) ? part : NULL;
    bool is_behind = has_recurrence(model) && strcmp(last_of(word), "out_proj") == 0;
    return is_behind ? "recurrence-out" : part;
}

/* Returns the product of a pair of latent attention that stands in the list without the other; NULL: none does. */
static const char *alone_in_pair(const struct tsim_model *model, const char *const *words, size_t n) {
    for (size_t i = 0; model && model->latent.kv_rank > 0 && LATENT[i].theirs; i += 2) {
        bool has[2] = {false, false};
        for (size_t k = 0; k < n; k++)
            for (size_t side = 0; side < 2; side++)
                has[side] |= strcmp(last_of(words[k]), LATENT[i + side].theirs) == 0;
        if (has[0] != has[1])
            return LATENT[i + (has[1] ? 1 : 0)].theirs;
    }
    return NULL;
}

/* Parts of a model that may have adapters beside its projections, and are small or rare. */
static bool is_left_out(const struct tsim_launch_word *others, const char *word) {
    return tsim_launch_ours(others, last_of(word)) != NULL;
}

static void put_targets(struct tsim_recipe *r, const struct tsim_adapter_settings *a) {
    const struct tsim_setting *s = a->targets;
    static const char *const ALL[] = {"q_proj",  "k_proj",    "v_proj",  "o_proj",  "gate_proj",
                                      "up_proj", "down_proj", "in_proj", "out_proj"}; /* the last two of recurrences */
    static const struct tsim_launch_word OTHERS[] = {{"embed_tokens", "embedding"},
                                                     {"lm_head", "head"},
                                                     {"wte", "embedding"},
                                                     {"embed_in", "embedding"},
                                                     {"embed_out", "head"},
                                                     {"output_layer", "head"},
                                                     {"gate", "router"},
                                                     {"router", "router"},
                                                     {"layer", "router"},
                                                     {"x_proj", "state"},
                                                     {"dt_proj", "state"},
                                                     {"embeddings", "embedding"},
                                                     {"linear_q_down_proj", "latent"},
                                                     {"linear_q_up_proj", "latent"},
                                                     {"linear_kv_down_proj", "latent"},
                                                     {NULL, NULL}};
    const char *words[MOST_TARGETS], *ours[MOST_TARGETS];
    const struct tsim_model *model = tsim_recipe_model(r);
    size_t n = s ? words_of_targets(r, s, words) : 0;
    bool is_all = !s;
    for (size_t i = 0; i < n; i++)
        is_all |= strcmp(words[i], "all") == 0 || strcmp(words[i], "all-linear") == 0;
    if (is_all)
        for (n = 0; n < sizeof ALL / sizeof ALL[0] - (has_recurrence(model) ? 0 : 2); n++)
            words[n] = ALL[n];
    const char *alone = alone_in_pair(model, words, n);
    if (alone) {
        tsim_recipe_refuse(r, s,
                           "adapters of '%.40s' alone are not modelled: products to latent vectors and from them have "
                           "adapters together",
                           alone);
        return;
    }
    size_t n_ours = 0;
    bool is_of_experts = false, is_of_others = false;
    for (size_t i = 0; i < n; i++) {
        const char *part = target_of(model, words[i]);
        if (!part && is_left_out(OTHERS, words[i])) {
            is_of_others = true;
            continue;
        }
        if (!part) {
            tsim_recipe_refuse(r, s,
                               "adapters of '%.40s' are not modelled: of the projections of attention and of the "
                               "feed-forward block they are",
                               words[i]);
            return;
        }
        const bool is_gate = strcmp(part, "gate") == 0, is_feed_forward = is_gate || strcmp(part, "up") == 0 ||
                                                                          strcmp(part, "down") == 0 ||
                                                                          strcmp(part, "gate-up") == 0;
        is_of_experts |= model && model->experts.count > 0 && is_feed_forward;
        if (!(is_gate && model && !model->gated_mlp) && !tsim_is_among(part, ours, n_ours))
            ours[n_ours++] = part;
    }
    if (n_ours == 0) {
        tsim_recipe_refuse(r, s, "none of these is a projection of attention or of a feed-forward block");
        return;
    }
    for (size_t i = 0; i < n && n_ours < MOST_TARGETS; i++) { /* of GPT-2 and Qwen, behind both blocks; of LFM2 */
        const char *other = strcmp(words[i], "c_proj") == 0 ? "down" : "output";
        bool has_both = strcmp(other, "down") == 0 ||
                        (model && model->short_convolution.kernel > 0 && strcmp(last_of(words[i]), "out_proj") == 0);
        if (has_both && !tsim_is_among(other, ours, n_ours))
            ours[n_ours++] = other;
    }
    if (is_of_others)
        tsim_recipe_not_modelled(
            r, s, "the program has adapters of embeddings, head or router, tsim those of projections alone");
    tsim_recipe_put_list(r, "training.adapter.targets", s, ours, n_ours);
    if (is_of_experts)
        tsim_recipe_assume(r, "training.adapter.experts", a->why_experts, "%s", a->experts);
}

void tsim_recipe_put_adapter(struct tsim_recipe *r, const struct tsim_adapter_settings *a) {
    static const char *const OF_4_BITS[] = {"AWQ", "awq", "GPTQ-Int4", "gptq-int4", "4bit", "Int4", "int4", "GPTQ"};
    const struct tsim_setting *bits = a->bits;
    int64_t n_bits = bits ? tsim_setting_int(r, bits, 0, 64) : 0;
    for (size_t i = 0; a->base && n_bits == 0 && i < sizeof OF_4_BITS / sizeof OF_4_BITS[0]; i++)
        if (strstr(tsim_setting_text(a->base), OF_4_BITS[i]))
            bits = a->base, n_bits = 4;
    tsim_recipe_put(r, "training.adapter.kind", bits ? bits : a->rank, NULL, n_bits > 0 ? "qlora" : "lora");
    tsim_recipe_put(r, "training.adapter.rank", a->rank, a->rank ? NULL : a->why, "%lld",
                    (long long)(a->rank ? tsim_setting_int(r, a->rank, 1, 100000) : a->default_rank));
    put_targets(r, a);
    if (n_bits == 8)
        tsim_recipe_put(r, "training.adapter.base_precision", bits, NULL, "int8");
    else if (n_bits > 0 && n_bits != 4)
        tsim_recipe_refuse(r, bits, "a frozen model of %lld bits is not modelled: 4 and 8 bits are", (long long)n_bits);
    if (a->dropout && tsim_setting_number(r, a->dropout) > 0)
        tsim_recipe_put(r, "training.adapter.dropout", a->dropout, NULL, "%s", tsim_setting_text(a->dropout));
}
