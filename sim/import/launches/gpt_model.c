#include "import/launches/gpt.h"

#include "base/among.h"
#include "base/lower.h"
#include "import/launches/launch_words.h"

#include <ctype.h>
#include <string.h>

/* The model's keys. */

enum { MOST_LAYERS = 4096 };

/* ---- the vocabulary ---- */

/* Sizes as the models' papers and configurations have them. */
static const struct {
    const char *part;
    int64_t rows;
} VOCABULARIES[] = {
    {"gpt2", 50257},          {"llama2", 32000},       {"llama-2", 32000},         {"llama3", 128256},
    {"llama-3", 128256},      {"llama-4", 202048},     {"llama_tokenizer", 32000}, {"mixtral", 32000},
    {"mistral", 32000},       {"deepseek-v2", 102400}, {"deepseek-v3", 129280},    {"qwen1.5", 151936},
    {"qwen2", 151936},        {"qwen3", 151936},       {"falcon", 65024},          {"gemma", 256000},
    {"nemotron", 256000},     {"starcoder", 49152},    {"bloom", 250880},          {"bertwordpiececase", 28996},
    {"bertwordpiece", 30522}, {"bert", 30522}};

/* Returns whether the name has the part, whatever the case of its letters. */
static bool has_part(const char *name, const char *part) {
    char lower[256];
    return strstr(tsim_lower(name, lower, sizeof lower), part) != NULL;
}

/* Returns the rows of the vocabulary of a tokenizer by a part of its name; 0: unknown. */
static int64_t vocabulary_of(const char *name) {
    for (size_t i = 0; i < sizeof VOCABULARIES / sizeof VOCABULARIES[0]; i++)
        if (has_part(name, VOCABULARIES[i].part))
            return VOCABULARIES[i].rows;
    return 0;
}

static int64_t padded(struct tsim_gpt *g, int64_t rows) {
    int64_t unit = tsim_recipe_int(g->r, "make_vocab_size_divisible_by", 1, 1000000, 128) * g->tensor;
    return (rows + unit - 1) / unit * unit;
}

/* Finds a tokenizer whose vocabulary is known by its name, and its rows. */
static const struct tsim_setting *known_tokenizer(struct tsim_gpt *g, int64_t *rows) {
    static const char *const KEYS[] = {"tokenizer_model",           "tokenizer.type",
                                       "tokenizer_name_or_path",    "tokenizer.model",
                                       "tokenizer.tokenizer_model", "tokenizer_type"};
    const struct tsim_setting *found = NULL;
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        const struct tsim_setting *s = tsim_recipe_find(g->r, KEYS[i]);
        int64_t known = s ? vocabulary_of(tsim_setting_text(s)) : 0;
        if (!found && known > 0) {
            found = s;
            *rows = known;
        }
    }
    return found;
}

/* GPT-2's byte pairs are told by their two files. */
static const struct tsim_setting *merges(struct tsim_gpt *g, int64_t *rows) {
    static const char *const KEYS[] = {"merge_file", "tokenizer.merge_file", NULL};
    const struct tsim_setting *s = tsim_recipe_find_any(g->r, KEYS);
    *rows = s ? 50257 : *rows;
    return s;
}

/* Puts a vocabulary that Alibaba's patches make: a tokenizer's own, padded by a number of rows. */
static bool put_extended(struct tsim_gpt *g) {
    static const struct {
        const char *part;
        int64_t rows;
    } OWN[] = {{"llama3", 128000},     {"qwen", 151643}, {"deepseekv2", 100000},
               {"deepseekv3", 128000}, {"llama", 32000}, {"mistral", 32000}};
    static const char *const TOKENIZERS[] = {"patch_tokenizer_type", "tokenizer_type", NULL}; /* the latter is AMD's */
    const struct tsim_setting *extra = tsim_recipe_find(g->r, "extra_vocab_size"),
                              *tokenizer = tsim_recipe_find_any(g->r, TOKENIZERS);
    if (!extra)
        return false;
    const int64_t more = tsim_setting_int(g->r, extra, 0, 1000000);
    for (size_t i = 0; tokenizer && i < sizeof OWN / sizeof OWN[0]; i++)
        if (has_part(tsim_setting_text(tokenizer), OWN[i].part)) {
            tsim_recipe_put(g->r, "model.vocab", extra, "and the tokenizer's own", "%lld",
                            (long long)(OWN[i].rows + more));
            return true;
        }
    return false;
}

static void put_vocabulary(struct tsim_gpt *g) {
    static const char *const EXACT[] = {"padded_vocab_size", "pad_vocab_size_to", NULL},
                             *const GIVEN[] = {"vocab_size", "override_vocab_size", NULL}; /* the latter is NeMo's */
    const struct tsim_setting *exact = tsim_recipe_find_any(g->r, EXACT), *given = tsim_recipe_find_any(g->r, GIVEN);
    int64_t rows = 50257;
    const struct tsim_setting *known = known_tokenizer(g, &rows);
    if (!known)
        known = merges(g, &rows);
    if (put_extended(g))
        return;
    if (exact) {
        tsim_recipe_put_int(g->r, "model.vocab", exact, tsim_setting_int(g->r, exact, 1, 1000000000));
    } else if (given) {
        bool is_null = tsim_recipe_is(g->r, "tokenizer_type", "NullTokenizer"); /* adds the end of a document */
        rows = tsim_setting_int(g->r, given, 1, 1000000000) + is_null;
        tsim_recipe_put(g->r, "model.vocab", given, "padded", "%lld", (long long)padded(g, rows));
    } else if (known) {
        tsim_recipe_put(g->r, "model.vocab", known, "padded", "%lld", (long long)padded(g, rows));
    } else {
        tsim_recipe_assume(g->r, "model.vocab", "GPT-2's, padded; its tokenizer's is not known", "%lld",
                           (long long)padded(g, rows));
    }
}

/* ---- layers with experts ---- */

struct pattern {
    const char *c;
    int64_t items[MOST_LAYERS];
    size_t n;
    bool is_good;
    int depth;
};

static void pattern_sum(struct pattern *p);

static void pattern_push(struct pattern *p, int64_t item) {
    if (p->n < MOST_LAYERS)
        p->items[p->n++] = item;
    else
        p->is_good = false;
}

static int64_t pattern_number(struct pattern *p) {
    int64_t value = 0;
    p->is_good &= isdigit((unsigned char)*p->c) != 0;
    for (; isdigit((unsigned char)*p->c) && value < 100000; p->c++)
        value = value * 10 + (*p->c - '0');
    return value;
}

static void pattern_operand(struct pattern *p) {
    char open = *p->c;
    if (++p->depth > 16 || (open != '(' && open != '[')) {
        p->is_good = false; /* perhaps at the end: what is behind it is not ours */
        return;
    }
    p->c++;
    if (open == '(')
        pattern_sum(p);
    while (open == '[' && p->is_good && *p->c != ']') {
        pattern_push(p, pattern_number(p));
        p->c += *p->c == ',';
    }
    p->is_good &= *p->c == (open == '(' ? ')' : ']');
    p->c += p->is_good;
    p->depth--;
}

/* Lists of 0 and 1 with + and *, as Python writes them: ([0]*3+[1]*58). */
static void pattern_sum(struct pattern *p) {
    do {
        size_t start = p->n;
        p->c += *p->c == '+';
        pattern_operand(p);
        size_t length = p->n - start;
        while (p->is_good && *p->c == '*') {
            p->c++;
            int64_t times = pattern_number(p);
            p->n = times > 0 ? p->n : start;
            for (int64_t t = 1; t < times && p->is_good; t++)
                for (size_t i = 0; i < length; i++)
                    pattern_push(p, p->items[start + i]);
        }
    } while (p->is_good && *p->c == '+');
}

/* Returns whether the pattern is `first` dense layers, then experts in every `every`-th layer. */
static bool pattern_rule(const struct pattern *p, int64_t *first, int64_t *every) {
    size_t with = 0, next;
    while (with < p->n && p->items[with] == 0)
        with++;
    for (next = with + 1; next < p->n && p->items[next] == 0; next++)
        ;
    if (with == p->n)
        return false;
    int64_t period = next < p->n ? (int64_t)(next - with) : 1;
    if ((int64_t)with + 1 < period)
        return false;
    *first = (int64_t)with + 1 - period;
    *every = period;
    for (size_t i = 0; i < p->n; i++) {
        int64_t at = (int64_t)i - *first;
        if ((p->items[i] != 0) != (at >= 0 && (at + 1) % period == 0))
            return false;
    }
    return true;
}

static void put_expert_layers(struct tsim_gpt *g) {
    const struct tsim_setting *s = tsim_recipe_find(g->r, "moe_layer_freq"),
                              *dense = tsim_recipe_find(g->r, "first_k_dense_replace"); /* MindSpeed-LLM's */
    struct pattern p = {.is_good = true};
    int64_t first = 0, every = 1;
    int64_t n_dense = dense ? tsim_setting_int(g->r, dense, -1, g->layers) : 0; /* -1: none is dense */
    if (n_dense > 0)
        tsim_recipe_put_int(g->r, "model.experts.first", dense, n_dense);
    if (!s || dense)
        return;
    const char *text = tsim_setting_text(s);
    if (s->value->kind == TSIM_VALUE_SEQUENCE && s->value->n_items > 1) {
        for (size_t i = 0; i < s->value->n_items; i++)
            pattern_push(&p, !tsim_value_is_text(s->value->items[i], "0"));
    } else if (strchr(text, '[')) {
        p.c = text;
        pattern_sum(&p);
        p.is_good &= *p.c == '\0';
    } else { /* layers 0, N, 2 N, ... */
        every = tsim_setting_int(g->r, s, 1, 100000);
        for (int64_t i = 0; i < g->layers && i < MOST_LAYERS; i++)
            pattern_push(&p, i % every == 0);
        if (every > 1) { /* experts in the last of each `every` layers instead: as many of them */
            tsim_recipe_put(g->r, "model.experts.every", s, "in the last of them", "%lld", (long long)every);
            return;
        }
    }
    if (!p.is_good || (int64_t)p.n != g->layers)
        tsim_recipe_error(g->r, s, "'%.60s' does not say for each of %lld layers whether it has experts", text,
                          (long long)g->layers);
    else if (!pattern_rule(&p, &first, &every))
        tsim_recipe_refuse(
            g->r, s, "which layers have experts is not modelled: those from some layer on, or every so many, are");
    else {
        if (first > 0)
            tsim_recipe_put_int(g->r, "model.experts.first", s, first);
        if (every > 1)
            tsim_recipe_put_int(g->r, "model.experts.every", s, every);
    }
}

static void put_shared(struct tsim_gpt *g, int64_t width) {
    const struct tsim_setting *s = tsim_recipe_find(g->r, "moe_shared_expert_intermediate_size"),
                              *count = tsim_recipe_find(g->r, "n_shared_experts"); /* MindSpeed-LLM's */
    if (!s && count)
        tsim_recipe_put_int(g->r, "model.experts.shared", count, tsim_setting_int(g->r, count, 0, 1000));
    if (!s)
        return;
    int64_t shared = tsim_setting_int(g->r, s, 0, 10000000);
    if (shared % width != 0)
        tsim_recipe_error(g->r, s, "%lld is not a multiple of an expert's width %lld", (long long)shared,
                          (long long)width);
    else
        tsim_recipe_put_int(g->r, "model.experts.shared", s, shared / width);
}

static void put_routing(struct tsim_gpt *g) {
    const struct tsim_setting *bias = tsim_recipe_find(g->r, "moe_router_enable_expert_bias"),
                              *capacity = tsim_recipe_find(g->r, "moe_expert_capacity_factor"),
                              *pads = tsim_recipe_find(g->r, "moe_pad_expert_input_to_capacity"),
                              *groups = tsim_recipe_find(g->r, "moe_router_group_topk"),
                              *limit = tsim_recipe_find(g->r, "activation_func_clamp_value");
    if (bias && tsim_setting_flag(g->r, bias))
        tsim_recipe_put(g->r, "model.experts.router_bias", bias, NULL, "true");
    if (limit && tsim_setting_number(g->r, limit) > 0)
        tsim_recipe_put(g->r, "model.experts.limited", limit, NULL, "true");
    if (groups && tsim_recipe_find(g->r, "moe_router_num_groups"))
        tsim_recipe_put(g->r, "model.experts.node_limit", groups, "groups taken as nodes", "%lld",
                        (long long)tsim_setting_int(g->r, groups, 1, 100000));
    if (capacity && pads)
        tsim_recipe_put(g->r, "model.experts.capacity_factor", capacity, NULL, "%.60s", tsim_setting_text(capacity));
    else if (capacity)
        tsim_recipe_not_modelled(g->r, capacity, "tsim drops no tokens unless the rest is padded");
}

const struct tsim_setting *tsim_gpt_experts(const struct tsim_gpt *g) {
    static const char *const COUNT[] = {"num_experts", "num_moe_experts", NULL};
    const struct tsim_setting *count = tsim_recipe_find_any(g->r, COUNT);
    const bool is_dense = count && strcmp(tsim_setting_text(count), "1") == 0; /* as Megatron-DeepSpeed says it */
    return is_dense && tsim_recipe_find(g->r, "deepspeed") ? NULL : count;
}

static void put_experts(struct tsim_gpt *g, const struct tsim_setting *ffn_from, int64_t ffn) {
    const struct tsim_setting *count = tsim_gpt_experts(g), *width = tsim_recipe_find(g->r, "moe_ffn_hidden_size"),
                              *active = tsim_recipe_find(g->r, "moe_router_topk"),
                              *latent = tsim_recipe_find(g->r, "moe_latent_size");
    if (!count)
        return;
    int64_t inner = width ? tsim_setting_int(g->r, width, 1, 10000000) : ffn;
    tsim_recipe_put_int(g->r, "model.experts.count", count, tsim_setting_int(g->r, count, 1, 100000));
    if (active)
        tsim_recipe_put_int(g->r, "model.experts.active", active, tsim_setting_int(g->r, active, 1, 100000));
    else
        tsim_recipe_put(g->r, "model.experts.active", NULL, "Megatron's default of moe_router_topk", "2");
    tsim_recipe_put_int(g->r, "model.experts.ffn_hidden", width ? width : ffn_from, inner);
    if (latent)
        tsim_recipe_put_int(g->r, "model.experts.latent", latent, tsim_setting_int(g->r, latent, 1, 10000000));
    put_shared(g, inner);
    put_expert_layers(g);
    put_routing(g);
}

/* ---- attention ---- */

static void put_heads(struct tsim_gpt *g) {
    const struct tsim_setting *heads = tsim_recipe_find(g->r, "num_attention_heads"),
                              *groups = tsim_recipe_find(g->r, "num_query_groups"),
                              *own = tsim_recipe_find(g->r, "num_key_value_heads"), /* Megatron-DeepSpeed's */
                                  *grouped = tsim_recipe_find(g->r, "group_query_attention"),
                              *channels = tsim_recipe_find(g->r, "kv_channels");
    if (heads)
        tsim_recipe_put_int(g->r, "model.heads", heads, tsim_setting_int(g->r, heads, 1, 1000000));
    bool counts = grouped ? tsim_setting_flag(g->r, grouped) : g->program == TSIM_GPT_NEMO;
    if (own)
        tsim_recipe_put_int(g->r, "model.kv_heads", own, tsim_setting_int(g->r, own, 1, 1000000));
    else if (groups && counts)
        tsim_recipe_put_int(g->r, "model.kv_heads", groups, tsim_setting_int(g->r, groups, 1, 1000000));
    else if (groups)
        tsim_recipe_not_modelled(g->r, groups, "has no effect without --group-query-attention");
    else if (grouped && counts)
        tsim_recipe_put(g->r, "model.kv_heads", grouped, "Megatron's default of num_query_groups", "1");
    if (channels && !tsim_recipe_flag(g->r, "multi_latent_attention", false))
        tsim_recipe_put_int(g->r, "model.head_dim", channels, tsim_setting_int(g->r, channels, 1, 1000000));
}

static struct tsim_pair pair_at(struct tsim_recipe *r, const struct tsim_value *at, const char *key, const char *text) {
    return (struct tsim_pair){key, r->document, at->line, at->column, tsim_value_new_scalar(r->arena, at, text)};
}

void tsim_recipe_put_window(struct tsim_recipe *r, const struct tsim_setting *from, int64_t width, int64_t period) {
    const struct tsim_value *at = from->value;
    tsim_recipe_put_int(r, "model.attention_window", from, width);
    if (period < 2)
        return;
    struct tsim_pair pairs[2] = {pair_at(r, at, "kind", "window"),
                                 pair_at(r, at, "count", tsim_arena_printf(r->arena, "%lld", (long long)(period - 1)))};
    struct tsim_pair last = pair_at(r, at, "kind", "attention");
    const struct tsim_value *items[2] = {tsim_value_new_mapping(r->arena, at, pairs, 2),
                                         tsim_value_new_mapping(r->arena, at, &last, 1)};
    tsim_recipe_put_value(r, "model.pattern", from, tsim_value_new_list(r->arena, at, items, 2));
}

/* "128,0", "(127, 0)" or [127, 0]: tokens to the left of its own, and to the right; -1 means all. */
static int64_t tokens_to_the_left(const struct tsim_setting *s) {
    const char *text = tsim_setting_text(s);
    int64_t left = 0;
    text += strspn(text, "([ ");
    const char *number = text;
    for (; isdigit((unsigned char)*text) && left < 1000000000; text++)
        left = left * 10 + (*text - '0');
    return text > number ? left : -1;
}

/* Puts windows of attention. One as long as the sequence is none; of Megatron-Core every N-th layer has none
 * (window_attn_skip_freq). */
static void put_window(struct tsim_gpt *g) {
    static const char *const LENGTHS[] = {"seq_length", "encoder_seq_length", "data.seq_length", NULL};
    const struct tsim_setting *s = tsim_recipe_find(g->r, "sliding_window"),
                              *sides = tsim_recipe_find(g->r, "window_size"),
                              *skips = tsim_recipe_find(g->r, "window_attn_skip_freq"),
                              *length = tsim_recipe_find_any(g->r, LENGTHS);
    const int64_t left = sides ? tokens_to_the_left(sides) : -1,
                  width = s           ? tsim_setting_int(g->r, s, 1, 1000000000)
                          : left >= 0 ? left + 1
                                      : 0,
                  tokens = length ? tsim_setting_int(g->r, length, 1, 1000000000) : INT64_C(1000000000);
    if (width == 0 || width >= tokens)
        return;
    if (skips && skips->value->kind == TSIM_VALUE_SEQUENCE) {
        tsim_recipe_refuse(g->r, skips,
                           "a list of layers with windows is not read: add --ignore and --set model.pattern=[...]");
        return;
    }
    tsim_recipe_put_window(g->r, s ? s : sides, width, skips ? tsim_setting_int(g->r, skips, 1, 100000) : 0);
}

static void put_latent(struct tsim_gpt *g) {
    struct tsim_recipe *r = g->r;
    const struct tsim_setting *on = tsim_recipe_find(r, "multi_latent_attention"),
                              *query = tsim_recipe_find(r, "q_lora_rank");
    if (!on || !tsim_setting_flag(r, on))
        return;
    int64_t value = tsim_recipe_int(r, "v_head_dim", 1, 1000000, 128),
            key = tsim_recipe_int(r, "qk_head_dim", 1, 1000000, 128);
    tsim_recipe_put_int(g->r, "model.head_dim", on, value);
    if (key != value)
        tsim_recipe_put_int(g->r, "model.latent.nope_dim", on, key);
    tsim_recipe_put_int(g->r, "model.latent.kv_rank",
                        tsim_recipe_find(r, "kv_lora_rank") ? tsim_recipe_find(r, "kv_lora_rank") : on,
                        tsim_recipe_int(r, "kv_lora_rank", 1, 1000000, 32));
    if (query)
        tsim_recipe_put_int(g->r, "model.latent.query_rank", query, tsim_setting_int(r, query, 1, 1000000));
    tsim_recipe_put_int(g->r, "model.latent.rope_dim",
                        tsim_recipe_find(r, "qk_pos_emb_head_dim") ? tsim_recipe_find(r, "qk_pos_emb_head_dim") : on,
                        tsim_recipe_int(r, "qk_pos_emb_head_dim", 1, 1000000, 64));
}

/* ---- positions, norms, biases ---- */

static void put_rotary_share(struct tsim_gpt *g, const char *position) {
    static const char *const KEYS[] = {"rotary_percent", "rotary_percentage", NULL};
    const struct tsim_setting *s = tsim_recipe_find_any(g->r, KEYS);
    double share = s ? tsim_setting_number(g->r, s) : 1.0;
    if (strcmp(position, "rope") != 0 || share == 1.0)
        return;
    if (share > 0.0 && share < 1.0)
        tsim_recipe_put(g->r, "model.rotary_share", s, NULL, "%g", share);
    else
        tsim_recipe_error(g->r, s, "%g is no share of a head: from 0 to 1", share);
}

static void put_positions(struct tsim_gpt *g) {
    const struct tsim_setting *type = tsim_recipe_find(g->r, "position_embedding_type"),
                              *rows = tsim_recipe_find(g->r, "max_position_embeddings"),
                              *rotary = tsim_recipe_find(g->r, "use_rotary_position_embeddings");
    const char *text = type ? tsim_setting_text(type) : "learned_absolute", *word = NULL;
    if (rotary && tsim_setting_flag(g->r, rotary))
        type = rotary, text = "rope";
    if (strcmp(text, "learned_absolute") == 0 || strcmp(text, "absolute") == 0) /* BigScience's, like rotary */
        word = "learned";
    else if (TSIM_IS_ONE_OF(text, "rope", "alibi", "none"))
        word = text;
    else if (TSIM_IS_ONE_OF(text, "mrope", "yarn", "rotary"))
        word = "rope";
    if (!word) {
        tsim_recipe_refuse(g->r, type, "'%.40s' is not modelled: learned_absolute, rope, yarn, mrope and none are",
                           text);
        word = "none";
    }
    tsim_recipe_put(g->r, "model.position", type, type ? NULL : "the program's default", "%s", word);
    put_rotary_share(g, word);
    if (strcmp(text, "yarn") == 0)
        tsim_recipe_put(g->r, "model.rotary_scaled", type, NULL, "true");
    if (strcmp(word, "learned") == 0 && rows)
        tsim_recipe_put_int(g->r, "model.positions", rows, tsim_setting_int(g->r, rows, 1, 1000000000));
    else if (strcmp(word, "learned") == 0)
        tsim_recipe_error(g->r, type, "learned positions without max_position_embeddings");
}

static void put_norm(struct tsim_gpt *g) {
    static const char *const SWITCHES[] = {"use_rmsnorm", "use_rms_norm", "RMSNorm", NULL}; /* of forks */
    const struct tsim_setting *s = tsim_recipe_find(g->r, "normalization"), *on = tsim_recipe_find_any(g->r, SWITCHES);
    const char *text = s ? tsim_setting_text(s) : "LayerNorm";
    if (!s && on && tsim_setting_flag(g->r, on))
        s = on, text = "RMSNorm";
    bool is_rms = strcmp(text, "RMSNorm") == 0 || strcmp(text, "rmsnorm") == 0;
    tsim_recipe_put(g->r, "model.norm", s, s ? NULL : "the program's default", is_rms ? "rmsnorm" : "layernorm");
    if (s && !is_rms && strncmp(text, "LayerNorm", 9) != 0 && strncmp(text, "layernorm", 9) != 0 &&
        strcmp(text, "low_precision_layernorm") != 0)
        tsim_recipe_error(g->r, s, "'%.40s' is neither LayerNorm nor RMSNorm", text);
}

/* Puts a flag that `positive` sets and `negative` clears; if both are absent, `otherwise`. */
static void put_flag(struct tsim_gpt *g, const char *path, const char *positive, const char *negative, bool otherwise) {
    const struct tsim_setting *yes = positive ? tsim_recipe_find(g->r, positive) : NULL,
                              *no = negative ? tsim_recipe_find(g->r, negative) : NULL;
    bool value = otherwise;
    if (yes)
        value = tsim_setting_flag(g->r, yes);
    if (no && tsim_setting_flag(g->r, no))
        value = false;
    const struct tsim_setting *from = no ? no : yes;
    tsim_recipe_put(g->r, path, from, from ? NULL : "the program's default", value ? "true" : "false");
}

/* Puts the activation function. Gated, two products are side by side in front of it. */
static bool put_activation(struct tsim_gpt *g) {
    static const char *const FLAGS[] = {"swiglu", "quick_geglu", "gated_linear_unit", NULL};
    static const char *const WORDS[] = {"activation", "activation_func", "glu_activation", NULL};
    const struct tsim_setting *from = NULL, *word = tsim_recipe_find_any(g->r, WORDS);
    bool is_gated = false;
    for (size_t i = 0; FLAGS[i]; i++) {
        const struct tsim_setting *s = tsim_recipe_find(g->r, FLAGS[i]);
        if (s && tsim_setting_flag(g->r, s))
            is_gated = true, from = s;
    }
    if (word && (strstr(tsim_setting_text(word), "glu") || strstr(tsim_setting_text(word), "GLU")))
        is_gated = true, from = from ? from : word;
    const struct tsim_setting *squared = tsim_recipe_find(g->r, "squared_relu");
    if (is_gated && squared && tsim_setting_flag(g->r, squared))
        tsim_recipe_error(g->r, squared, "cannot be together with %.60s", from->name);
    else if (squared && tsim_setting_flag(g->r, squared))
        tsim_recipe_put(g->r, "model.activation", squared, NULL, "relu");
    tsim_recipe_put(g->r, "model.gated_mlp", from, from ? NULL : "no gated activation", is_gated ? "true" : "false");
    return is_gated;
}

static int64_t put_ffn(struct tsim_gpt *g, bool is_gated, const struct tsim_setting **from) {
    const struct tsim_setting *s = tsim_recipe_find(g->r, "ffn_hidden_size");
    int64_t ffn = 4 * g->hidden;
    if (s)
        ffn = tsim_setting_int(g->r, s, 1, 10000000);
    else if (is_gated && g->program == TSIM_GPT_MEGATRON)
        ffn = 4 * g->hidden * 2 / 3 / 64 * 64;
    *from = s;
    if (s)
        tsim_recipe_put_int(g->r, "model.ffn_hidden", s, ffn);
    else
        tsim_recipe_put(g->r, "model.ffn_hidden", NULL, "the program's default", "%lld", (long long)ffn);
    return ffn;
}

/* ---- Mamba-2 ---- */

/* Finds a setting that is on; NULL if it is absent, or off in a list of all arguments. */
static const struct tsim_setting *find_on(struct tsim_gpt *g, const char *key) {
    const struct tsim_setting *s = tsim_recipe_find(g->r, key);
    return s && !tsim_value_is_off(s->value) ? s : NULL;
}

static int64_t put_mamba_size(struct tsim_gpt *g, const char *path, const char *key, int64_t otherwise) {
    const struct tsim_setting *s = find_on(g, key);
    const int64_t size = s ? tsim_setting_int(g->r, s, 1, 1000000) : otherwise;
    tsim_recipe_put(g->r, path, s, s ? NULL : "the program's default", "%lld", (long long)size);
    return size;
}

/* Puts an entry for each letter of what all layers repeat. */
static void put_letters(struct tsim_gpt *g, const struct tsim_setting *from, const char *letters) {
    const size_t n = strlen(letters);
    size_t period = 1;
    while (n % period != 0 || strncmp(letters, letters + period, n - period) != 0)
        period++;
    const struct tsim_value **items = TSIM_NEW_ARRAY(g->r->arena, period, const struct tsim_value *);
    for (size_t i = 0; i < period; i++) {
        const struct tsim_hybrid_block *block = tsim_hybrid_blocks;
        while (block->letter != letters[i])
            block++;
        struct tsim_pair pairs[2] = {pair_at(g->r, from->value, "kind", block->kind),
                                     pair_at(g->r, from->value, "feed_forward", block->feed_forward)};
        items[i] = tsim_value_new_mapping(g->r->arena, from->value, pairs, 2);
    }
    tsim_recipe_put_value(g->r, "model.pattern", from, tsim_value_new_list(g->r->arena, from->value, items, period));
}

/* Layers of one block each, by their letters; without any, pretrain_mamba.py's are all Mamba-2. */
static void put_hybrid(struct tsim_gpt *g) {
    static const char *const RATIOS[] = {"hybrid_attention_ratio", "hybrid_mlp_ratio"}, *const OTHERS[] = {
                                                                                            "mtp_num_layers",
                                                                                            "window_size"};
    const struct tsim_setting *older = find_on(g, "hybrid_override_pattern"),
                              *pattern = older ? older : find_on(g, "hybrid_layer_pattern"),
                              *program = tsim_recipe_find(g->r, "program"), *spec = find_on(g, "spec"),
                              *flag = find_on(g, "is_hybrid_model");
    const bool by_program = program && (strstr(tsim_setting_text(program), "pretrain_mamba") ||
                                        strstr(tsim_setting_text(program), "pretrain_hybrid")),
               by_spec = spec && strncmp(tsim_setting_text(spec), "megatron.core.models.mamba.", 27) == 0;
    const struct tsim_setting *from = pattern ? pattern : by_spec ? spec : by_program ? program : flag;
    for (size_t i = 0; i < 2 && !pattern; i++)
        from = find_on(g, RATIOS[i]) ? find_on(g, RATIOS[i]) : from;
    if (!from)
        return;
    char *letters = tsim_arena_printf(g->r->arena, "%*s", g->layers < MOST_LAYERS ? (int)g->layers : MOST_LAYERS, "");
    memset(letters, 'M', strlen(letters));
    if (pattern)
        letters = tsim_arena_strdup(g->r->arena, tsim_setting_text(pattern));
    else if (from != spec && from != program)
        tsim_recipe_refuse(g->r, from, "which layers are Mamba-2 is not said: --hybrid-override-pattern does");
    if (letters[strspn(letters, "M*-E")] || (int64_t)strlen(letters) != g->layers) {
        tsim_recipe_refuse(g->r, from,
                           "not a letter (M Mamba-2, * attention, - feed-forward, E experts) for each layer");
        return;
    }
    if (strchr(letters, 'E') && !tsim_gpt_experts(g))
        tsim_recipe_error(g->r, from, "experts in layers (E) need num_experts");
    for (size_t i = 0; i < 2; i++)
        if (find_on(g, OTHERS[i]))
            tsim_recipe_refuse(g->r, find_on(g, OTHERS[i]), "not modelled beside Mamba-2 layers");
    put_letters(g, from, letters);
    if (!strchr(letters, 'M'))
        return;
    const int64_t head_dim = put_mamba_size(g, "model.mamba.head_dim", "mamba_head_dim", 64);
    put_mamba_size(g, "model.mamba.state", "mamba_state_dim", 128);
    put_mamba_size(g, "model.mamba.groups", "mamba_num_groups", 8);
    put_mamba_size(g, "model.mamba.heads", "mamba_num_heads", 2 * g->hidden / head_dim);
}

void tsim_gpt_put_model(struct tsim_gpt *g) {
    struct tsim_recipe *r = g->r;
    const struct tsim_setting *ffn_from;
    tsim_recipe_put(r, "model.name", NULL, NULL, "%s", tsim_recipe_name(r->arena, r->document->file, "imported"));
    tsim_recipe_put(r, "model.kind", NULL, NULL, "transformer");
    tsim_recipe_put_int(g->r, "model.layers", tsim_recipe_find(r, "num_layers"), g->layers);
    tsim_recipe_put_int(g->r, "model.hidden", tsim_recipe_find(r, "hidden_size"), g->hidden);
    put_heads(g);
    bool is_gated = put_activation(g);
    int64_t ffn = put_ffn(g, is_gated, &ffn_from);
    put_vocabulary(g);
    put_norm(g);
    put_positions(g);
    if (g->program == TSIM_GPT_NEMO)
        put_flag(g, "model.tied_embeddings", "share_embeddings_and_output_weights", NULL, true);
    else
        put_flag(g, "model.tied_embeddings", NULL, "untie_embeddings_and_output_weights", true);
    if (g->program == TSIM_GPT_NEMO)
        put_flag(g, "model.bias", tsim_recipe_find(r, "add_bias_linear") ? "add_bias_linear" : "bias", NULL, true);
    else
        put_flag(g, "model.bias", "add_bias_linear", "disable_bias_linear", true);
    if (tsim_recipe_flag(r, "add_qkv_bias", false) || tsim_recipe_flag(r, "qkv_bias", false))
        put_flag(g, "model.qkv_bias", tsim_recipe_find(r, "add_qkv_bias") ? "add_qkv_bias" : "qkv_bias", NULL, true);
    if (tsim_recipe_flag(r, "qk_layernorm", false))
        put_flag(g, "model.qk_norm", "qk_layernorm", NULL, true);
    if (g->is_bidirectional)
        tsim_recipe_put(r, "model.causal", NULL, "pretrain_bert", "false");
    put_window(g);
    if (tsim_recipe_is(r, "softmax_type", "learnable"))
        tsim_recipe_put(r, "model.sinks", tsim_recipe_find(r, "softmax_type"), NULL, "true");
    put_latent(g);
    put_experts(g, ffn_from, ffn);
    put_hybrid(g);
}

void tsim_gpt_put_changes(struct tsim_gpt *g, const struct tsim_model *m) {
    const struct {
        const char *key, *path;
        int64_t own;
    } SIZES[] = {{"num_layers", "model.layers", m->layers},
                 {"hidden_size", "model.hidden", m->hidden},
                 {"ffn_hidden_size", "model.ffn_hidden", m->ffn_hidden},
                 {"num_attention_heads", "model.heads", m->heads},
                 {"num_query_groups", "model.kv_heads", m->kv_heads},
                 {"num_experts", "model.experts.count", m->experts.count},
                 {"num_moe_experts", "model.experts.count", m->experts.count},
                 {"moe_router_topk", "model.experts.active", m->experts.active},
                 {"moe_ffn_hidden_size", "model.experts.ffn_hidden", m->experts.ffn_hidden},
                 {"padded_vocab_size", "model.vocab", m->vocab}};
    bool is_changed = false;
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        const struct tsim_setting *s = tsim_recipe_find(g->r, SIZES[i].key);
        const int64_t value = s ? tsim_setting_int(g->r, s, 1, 1000000000) : SIZES[i].own;
        if (value == SIZES[i].own || (SIZES[i].own == 0 && strncmp(SIZES[i].path, "model.experts", 13) == 0))
            continue;
        if (!is_changed)
            tsim_recipe_put(g->r, "model.extends", g->named_from, NULL, "%s", g->named);
        is_changed = true;
        tsim_recipe_put_int(g->r, SIZES[i].path, s, value);
    }
    if (is_changed && m->experts.count > 0)
        put_expert_layers(g);
}
