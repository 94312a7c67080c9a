#include "import/models/hf_config.h"

#include "import/models/hf_keys.h"
#include "import/overrides.h"

#include "base/quantity.h"
#include "model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reading;

/* A family of architectures: how it calls things, and what is always so in it. */
struct family {
    const char *type;
    const char *hidden, *layers, *heads, *kv_heads, *ffn, *positions;
    bool kv_required; /* else: as many as heads */
    bool ffn_is_optional;
    bool tied;        /* default of tie_word_embeddings */
    int64_t head_dim; /* default; 0: hidden / heads */
    struct tsim_model fixed;
    void (*finish)(struct reading *r);
};

struct reading {
    struct tsim_arena *arena;
    const struct tsim_value *root;
    struct tsim_diags *diags;
    const struct family *family;
    struct tsim_model model;
    const struct tsim_import_input *input;
    bool *is_used;     /* [pairs of the root] */
    const char *notes; /* lines of comment */
    enum tsim_status status;
};

/* ---- values ---- */

/* null is as good as absent. */
static const struct tsim_value *find(const struct reading *r, const char *key) {
    const struct tsim_pair *pair = tsim_value_find_pair(r->root, key);
    if (!pair)
        return NULL;
    r->is_used[pair - r->root->pairs] = true;
    return !pair->value->is_quoted && tsim_value_is_text(pair->value, "null") ? NULL : pair->value;
}

static void failed(struct reading *r, enum tsim_status status) {
    if (r->status == TSIM_OK)
        r->status = status;
}

static void is_missing(struct reading *r, const char *key) {
    struct tsim_diag *diag =
        tsim_value_error(r->diags, TSIM_ERR_SCHEMA, r->root, key, "missing: a '%s' has it", r->family->type);
    tsim_diag_hint(diag, "config.json as it lies beside the weights; the defaults of transformers are not guessed");
    failed(r, TSIM_ERR_SCHEMA);
}

static int64_t wrong_number(struct reading *r, const struct tsim_value *value, const char *key, int64_t least,
                            int64_t most) {
    if (value->kind == TSIM_VALUE_SCALAR)
        tsim_value_error(r->diags, TSIM_ERR_RANGE, value, key, "'%.60s' is no whole number from %lld to %lld",
                         value->text, (long long)least, (long long)most);
    else
        tsim_value_error(r->diags, TSIM_ERR_SCHEMA, value, key, "%s where a number belongs",
                         tsim_value_kind_name(value));
    failed(r, TSIM_ERR_RANGE);
    return least;
}

static int64_t number(struct reading *r, const char *key, int64_t least, int64_t most, int64_t otherwise) {
    const struct tsim_value *value = find(r, key);
    char *end;
    if (!value)
        return otherwise;
    if (value->kind != TSIM_VALUE_SCALAR || value->is_quoted)
        return wrong_number(r, value, key, least, most);
    errno = 0;
    long long parsed = strtoll(value->text, &end, 10);
    if (errno != 0 || end == value->text || *end != '\0' || parsed < least || parsed > most)
        return wrong_number(r, value, key, least, most);
    return parsed;
}

static int64_t required(struct reading *r, const char *key, int64_t most) {
    if (!find(r, key)) {
        is_missing(r, key);
        return 1;
    }
    return number(r, key, 1, most, 1);
}

/* Above 0, at most 1. */
static double share(struct reading *r, const char *key, double otherwise) {
    const struct tsim_value *value = find(r, key);
    char *end;
    if (!value)
        return otherwise;
    double parsed = value->kind == TSIM_VALUE_SCALAR && !value->is_quoted ? strtod(value->text, &end) : 0;
    if (!(parsed > 0 && parsed <= 1) || *end != '\0') {
        tsim_value_error(r->diags, TSIM_ERR_RANGE, value, key, "no number above 0 and at most 1");
        failed(r, TSIM_ERR_RANGE);
        return otherwise;
    }
    return parsed;
}

static bool flag(struct reading *r, const char *key, bool otherwise) {
    const struct tsim_value *value = find(r, key);
    if (!value)
        return otherwise;
    if (!value->is_quoted && tsim_value_is_text(value, "true"))
        return true;
    if (value->is_quoted || !tsim_value_is_text(value, "false")) {
        tsim_value_error(r->diags, TSIM_ERR_SCHEMA, value, key, "neither true nor false");
        failed(r, TSIM_ERR_SCHEMA);
    }
    return false;
}

static void note(struct reading *r, const char *text) {
    r->notes = tsim_arena_printf(r->arena, "%s# %s\n", r->notes, text);
}

static struct tsim_diag *refuse(struct reading *r, const char *key, const char *message) {
    const struct tsim_value *value = find(r, key);
    failed(r, TSIM_ERR_INFEASIBLE);
    return tsim_value_error(r->diags, TSIM_ERR_INFEASIBLE, value ? value : r->root, key, "%s", message);
}

/* The class that the weights are of: the first of `architectures`. */
static bool is_class(const struct reading *r, const char *name) {
    const struct tsim_value *classes = find(r, "architectures");
    return classes && classes->kind == TSIM_VALUE_SEQUENCE && classes->n_items > 0 &&
           tsim_value_is_text(classes->items[0], name);
}

/* ---- what is particular to an architecture ---- */

static void finish_llama(struct reading *r) {
    struct tsim_model *m = &r->model;
    bool attention = flag(r, "attention_bias", false), mlp = flag(r, "mlp_bias", false);
    m->bias = attention && mlp;
    m->qkv_bias = m->qkv_bias || (attention && !mlp);
    if (attention && !mlp)
        m->other_parameters += m->layers * m->hidden; /* the bias of the attention's output */
    if (mlp && !attention)
        m->other_parameters += m->layers * (2 * m->ffn_hidden + m->hidden);
}

static void finish_qwen3(struct reading *r) {
    struct tsim_model *m = &r->model;
    m->qkv_bias = flag(r, "attention_bias", false);
    if (m->qkv_bias)
        m->other_parameters += m->layers * m->hidden;
}

static void read_experts(struct reading *r, const char *count) {
    struct tsim_experts *e = &r->model.experts;
    e->count = required(r, count, 100000);
    e->active = required(r, "num_experts_per_tok", 100000);
    e->ffn_hidden = r->model.ffn_hidden;
    e->every = 1;
    if (e->active > e->count)
        refuse(r, "num_experts_per_tok", "more experts of a token than there are");
}

static void finish_mixtral(struct reading *r) {
    read_experts(r, "num_local_experts");
}

/* Layer l has experts where (l + 1) is a multiple of decoder_sparse_step. */
static void finish_qwen_moe(struct reading *r) {
    struct tsim_experts *e = &r->model.experts;
    const struct tsim_value *dense = find(r, "mlp_only_layers");
    read_experts(r, "num_experts");
    e->ffn_hidden = required(r, "moe_intermediate_size", 10000000);
    e->every = number(r, "decoder_sparse_step", 1, 100000, 1);
    if (dense && (dense->kind != TSIM_VALUE_SEQUENCE || dense->n_items > 0))
        refuse(r, "mlp_only_layers", "a model file cannot express single layers without experts");
}

static void finish_qwen3_moe(struct reading *r) {
    finish_qwen3(r);
    finish_qwen_moe(r);
}

/* The shared expert is as wide as several others, and has a gate of `hidden` weights. */
static void finish_qwen2_moe(struct reading *r) {
    struct tsim_model *m = &r->model;
    finish_qwen_moe(r);
    int64_t shared = required(r, "shared_expert_intermediate_size", 10000000);
    if (shared % m->experts.ffn_hidden != 0)
        refuse(r, "shared_expert_intermediate_size", "not a multiple of moe_intermediate_size");
    m->experts.shared = shared / m->experts.ffn_hidden;
    m->other_parameters += (int64_t)tsim_model_parts(m).times[TSIM_PART_EXPERT_LAYER] * m->hidden;
}

/* Three layers in four are linear attention by the gated delta rule; attention in the others is gated. */
static void finish_qwen3_next(struct reading *r) {
    struct tsim_model *m = &r->model;
    m->qkv_bias = flag(r, "attention_bias", false);
    finish_qwen2_moe(r);
    m->rotary_frac = share(r, "partial_rotary_factor", 0.25);
    m->delta = (struct tsim_delta){.value_heads = required(r, "linear_num_value_heads", 1000000),
                                   .key_heads = required(r, "linear_num_key_heads", 1000000),
                                   .key_dim = required(r, "linear_key_head_dim", 1000000),
                                   .value_dim = required(r, "linear_value_head_dim", 1000000),
                                   .kernel = number(r, "linear_conv_kernel_dim", 1, 1000, 4),
                                   .chunk = 64};
    if (m->qkv_bias)
        refuse(r, "attention_bias", "a model file cannot express gated attention with biases");
}

static void finish_deepseek(struct reading *r) {
    struct tsim_model *m = &r->model;
    struct tsim_experts *e = &m->experts;
    const struct tsim_value *method = find(r, "topk_method");
    bool is_v3 = strcmp(r->family->type, "deepseek_v2") != 0;
    m->head_dim = required(r, "v_head_dim", 1000000);
    m->latent = (struct tsim_latent){.kv_rank = required(r, "kv_lora_rank", 1000000),
                                     .query_rank = number(r, "q_lora_rank", 0, 1000000, 0),
                                     .rope_dim = required(r, "qk_rope_head_dim", 1000000)};
    if (required(r, "qk_nope_head_dim", 1000000) != m->head_dim)
        refuse(r, "qk_nope_head_dim", "not v_head_dim: a model file has one width for both");
    if (flag(r, "attention_bias", false))
        refuse(r, "attention_bias", "a model file cannot express latent attention with biases");
    read_experts(r, "n_routed_experts");
    e->ffn_hidden = required(r, "moe_intermediate_size", 10000000);
    e->shared = number(r, "n_shared_experts", 0, 100000, 0);
    e->first = number(r, "first_k_dense_replace", 0, 100000, 0);
    e->router_bias = method ? tsim_value_is_text(method, "noaux_tc") : is_v3;
    if (number(r, "moe_layer_freq", 1, 100000, 1) != 1)
        refuse(r, "moe_layer_freq", "only 1 is known: experts in every layer from first_k_dense_replace on");
    if (number(r, "n_group", 0, 100000, 0) > 1)
        e->node_limit = number(r, "topk_group", 1, 100000, 1);
    if (number(r, "num_nextn_predict_layers", 0, 100, 0) > 0)
        note(r, "num_nextn_predict_layers: the modules that predict further tokens are left out, and not counted.");
}

static void finish_gemma2(struct reading *r) {
    finish_llama(r);
    if (find(r, "attn_logit_softcapping") || find(r, "final_logit_softcapping"))
        note(r, "Capping of logits is not modelled.");
}

static void finish_gpt_oss(struct reading *r) {
    struct tsim_model *m = &r->model;
    read_experts(r, "num_local_experts");
    m->experts.router_bias = m->experts.limited = true;
    if (!flag(r, "attention_bias", true))
        refuse(r, "attention_bias", "a model file cannot express biases everywhere except there");
}

/* Dense layers between those with experts have a width of their own, and one expert is shared. */
static void finish_llama4(struct reading *r) {
    struct tsim_model *m = &r->model;
    read_experts(r, "num_local_experts");
    m->experts.ffn_hidden = required(r, "intermediate_size", 10000000);
    m->experts.every = number(r, "interleave_moe_layer_step", 1, 100000, 1);
    m->experts.shared = 1;
    m->qkv_bias = flag(r, "attention_bias", false);
    if (find(r, "moe_layers"))
        note(r, "moe_layers is not read: interleave_moe_layer_step says which layers have experts.");
    flag(r, "use_qk_norm", true); /* without weights */
}

/* Norms of queries and keys as wide as all heads. */
static void count_wide_norms(struct reading *r) {
    struct tsim_model *m = &r->model;
    int64_t head = m->head_dim > 0 ? m->head_dim : m->hidden / m->heads;
    m->other_parameters += m->layers * (m->heads + m->kv_heads) * head;
}

/* Norms stand behind the blocks, and as many. */
static void finish_olmo2(struct reading *r) {
    finish_qwen3(r);
    count_wide_norms(r);
}

static void finish_olmoe(struct reading *r) {
    finish_olmo2(r);
    read_experts(r, "num_experts");
}

static void finish_minimax(struct reading *r) {
    read_experts(r, "num_local_experts");
    r->model.experts.router_bias = flag(r, "use_routing_bias", false);
    r->model.rotary_frac = 0;
    if (flag(r, "use_qk_norm", false))
        count_wide_norms(r);
}

static void finish_glm4_moe(struct reading *r) {
    struct tsim_model *m = &r->model;
    read_experts(r, "n_routed_experts");
    m->experts.ffn_hidden = required(r, "moe_intermediate_size", 10000000);
    m->experts.shared = number(r, "n_shared_experts", 0, 100000, 0);
    m->experts.first = number(r, "first_k_dense_replace", 0, 100000, 0);
    m->experts.router_bias = true;
    m->qkv_bias = flag(r, "attention_bias", false);
    m->qk_norm = flag(r, "use_qk_norm", false);
    m->rotary_frac = share(r, "partial_rotary_factor", 0.5);
    if (number(r, "num_nextn_predict_layers", 0, 100, 0) > 0)
        note(r, "num_nextn_predict_layers: the modules that predict further tokens are left out, and not counted.");
}

static void finish_ernie_moe(struct reading *r) {
    struct tsim_experts *e = &r->model.experts;
    e->count = required(r, "moe_num_experts", 100000);
    e->active = required(r, "moe_k", 100000);
    e->ffn_hidden = required(r, "moe_intermediate_size", 10000000);
    e->shared = number(r, "moe_num_shared_experts", 0, 100000, 0);
    e->first = number(r, "moe_layer_start_index", 0, 100000, 0);
    e->every = number(r, "moe_layer_interval", 1, 100000, 1);
    e->router_bias = flag(r, "moe_use_aux_free", true);
    r->model.bias = flag(r, "use_bias", false);
    number(r, "moe_layer_end_index", 0, 100000, 0);
}

static void finish_seed_oss(struct reading *r) {
    r->model.qkv_bias = flag(r, "attention_bias", true);
    if (flag(r, "attention_out_bias", false) || flag(r, "mlp_bias", false))
        refuse(r, "attention_out_bias", "a model file cannot express biases only there");
}

static void finish_starcoder2(struct reading *r) {
    r->model.bias = flag(r, "use_bias", true);
}

/* One norm without a shift before both blocks. */
static void finish_cohere(struct reading *r) {
    r->model.qkv_bias = flag(r, "attention_bias", false);
    if (flag(r, "use_qk_norm", false))
        refuse(r, "use_qk_norm", "a model file cannot express norms of each head of its own");
}

/* Side by side or in a row, attention and feed-forward have a norm each. */
static void finish_gpt_neox(struct reading *r) {
    struct tsim_model *m = &r->model;
    m->parallel_block = m->parallel_norms = flag(r, "use_parallel_residual", true);
    m->rotary_frac = share(r, "rotary_pct", 0.25);
    if (!flag(r, "attention_bias", true))
        refuse(r, "attention_bias", "a model file cannot express biases everywhere except there");
}

static void finish_phi(struct reading *r) {
    r->model.rotary_frac = share(r, "partial_rotary_factor", 0.5);
    if (flag(r, "qk_layernorm", false))
        refuse(r, "qk_layernorm", "a model file cannot express layer norms of queries and keys");
    r->model.other_parameters += r->model.vocab; /* the head's bias */
}

/* The norms of a layer stand behind its blocks; the one behind the embedding is counted as the final one. */
static void finish_bert(struct reading *r) {
    struct tsim_model *m = &r->model;
    bool is_pretraining = is_class(r, "BertForPreTraining");
    int64_t h = m->hidden, transform = h * h + h + 2 * h + m->vocab;
    m->positions += number(r, "type_vocab_size", 0, 1000000, 2); /* added like positions */
    if (is_class(r, "BertForMaskedLM") || is_pretraining)
        m->other_parameters += transform;
    m->pooler = !is_class(r, "BertForMaskedLM");
    if (is_pretraining)
        m->other_parameters += 2 * h + 2; /* the next sentence */
    if (!is_class(r, "BertForMaskedLM") && !is_pretraining)
        note(r, "Counted as a BertModel with its pooler; a classifier of another class comes on top.");
}

/* The stacks share their widths; each has a table of relative biases, and the decoder as many layers as it says. */
static void finish_t5(struct reading *r) {
    struct tsim_model *m = &r->model;
    const struct tsim_value *proj = find(r, "feed_forward_proj");
    m->encoder_layers = m->layers;
    m->layers += number(r, "num_decoder_layers", 1, 100000, m->encoder_layers);
    m->head_dim = required(r, "d_kv", 1000000);
    m->relative_buckets = number(r, "relative_attention_num_buckets", 1, 1000000, 32);
    m->gated_mlp = proj && proj->kind == TSIM_VALUE_SCALAR && strncmp(proj->text, "gated", 5) == 0;
}

static int64_t n_labels(struct reading *r) {
    const struct tsim_value *labels = find(r, "id2label");
    if (labels && labels->kind == TSIM_VALUE_MAPPING && labels->n_items > 0)
        return (int64_t)labels->n_items;
    return number(r, "num_labels", 1, 1000000000, 2);
}

/* The head by its class. A model file's head has a row for each class, and a bias; a ViTModel has a pooler instead, of
 * which one such row is a part; a masked one reconstructs the pixels of each patch, and learns a mask. */
static void read_vit_head(struct reading *r) {
    struct tsim_model *m = &r->model;
    int64_t h = m->hidden;
    if (is_class(r, "ViTForImageClassification")) {
        m->vocab = n_labels(r);
    } else if (is_class(r, "ViTModel")) {
        m->vocab = 1;
        m->other_parameters += h * h + h - (h + 1);
        note(r, "Counted as a ViTModel with its pooler; a classifier of another class comes on top.");
    } else if (is_class(r, "ViTForMaskedImageModeling")) {
        int64_t stride = number(r, "encoder_stride", 1, 1000, 16);
        m->vocab = stride * stride * m->image.channels;
        m->other_parameters += h;
        note(r, "The head reconstructs every patch; its time is that of one token's.");
    } else {
        refuse(r, "architectures",
               "of the classes of a vit ViTForImageClassification, ViTModel and ViTForMaskedImageModeling are known");
    }
}

static void finish_vit(struct reading *r) {
    struct tsim_model *m = &r->model;
    int64_t image = required(r, "image_size", 100000), patch = required(r, "patch_size", 1000);
    if (!flag(r, "qkv_bias", true))
        refuse(r, "qkv_bias", "a model file cannot express biases everywhere except there");
    if (image % patch != 0)
        refuse(r, "image_size", "not a multiple of patch_size");
    m->image = (struct tsim_image){.size = image, .patch = patch, .channels = number(r, "num_channels", 1, 1000, 3)};
    m->positions = m->image.tokens = (image / patch) * (image / patch) + 1;
    read_vit_head(r);
}

/* ---- architectures ---- */

#define USUAL_NAMES                                                                                                    \
    .hidden = "hidden_size", .layers = "num_hidden_layers", .heads = "num_attention_heads", .ffn = "intermediate_size"
#define GROUPED_NAMES USUAL_NAMES, .kv_heads = "num_key_value_heads"
#define LLAMA_LIKE .gated_mlp = true, .norm = TSIM_NORM_RMSNORM, .position = TSIM_POSITION_ROPE, .causal = true

static const struct family FAMILIES[] = {
    {.type = "gpt2",
     .hidden = "n_embd",
     .layers = "n_layer",
     .heads = "n_head",
     .ffn = "n_inner",
     .positions = "n_positions",
     .ffn_is_optional = true,
     .tied = true,
     .fixed = {.norm = TSIM_NORM_LAYERNORM, .position = TSIM_POSITION_LEARNED, .causal = true, .bias = true}},
    {.type = "llama", GROUPED_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_llama},
    {.type = "mistral", GROUPED_NAMES, .kv_required = true, .fixed = {LLAMA_LIKE}},
    {.type = "mixtral", GROUPED_NAMES, .kv_required = true, .fixed = {LLAMA_LIKE}, .finish = finish_mixtral},
    {.type = "qwen2", GROUPED_NAMES, .kv_required = true, .fixed = {LLAMA_LIKE, .qkv_bias = true}},
    {.type = "qwen2_moe",
     GROUPED_NAMES,
     .kv_required = true,
     .fixed = {LLAMA_LIKE, .qkv_bias = true},
     .finish = finish_qwen2_moe},
    {.type = "qwen3",
     GROUPED_NAMES,
     .kv_required = true,
     .head_dim = 128,
     .fixed = {LLAMA_LIKE, .qk_norm = true},
     .finish = finish_qwen3},
    {.type = "qwen3_moe",
     GROUPED_NAMES,
     .kv_required = true,
     .fixed = {LLAMA_LIKE, .qk_norm = true},
     .finish = finish_qwen3_moe},
    {.type = "qwen3_next",
     GROUPED_NAMES,
     .kv_required = true,
     .head_dim = 256,
     .fixed = {LLAMA_LIKE, .qk_norm = true, .output_gate = true},
     .finish = finish_qwen3_next},
    {.type = "gemma",
     GROUPED_NAMES,
     .kv_required = true,
     .tied = true,
     .head_dim = 256,
     .fixed = {LLAMA_LIKE},
     .finish = finish_llama},
    {.type = "gemma2",
     GROUPED_NAMES,
     .kv_required = true,
     .tied = true,
     .head_dim = 256,
     .fixed = {LLAMA_LIKE, .post_norms = true},
     .finish = finish_gemma2},
    {.type = "gemma3_text",
     GROUPED_NAMES,
     .kv_required = true,
     .tied = true,
     .head_dim = 256,
     .fixed = {LLAMA_LIKE, .qk_norm = true, .post_norms = true},
     .finish = finish_gemma2},
    {.type = "phi3", GROUPED_NAMES, .fixed = {LLAMA_LIKE}},
    {.type = "gpt_oss",
     GROUPED_NAMES,
     .kv_required = true,
     .head_dim = 64,
     .fixed = {LLAMA_LIKE, .bias = true, .sinks = true, .rotary_scaled = true},
     .finish = finish_gpt_oss},
    {.type = "llama4_text",
     .hidden = "hidden_size",
     .layers = "num_hidden_layers",
     .heads = "num_attention_heads",
     .kv_heads = "num_key_value_heads",
     .ffn = "intermediate_size_mlp",
     .kv_required = true,
     .fixed = {LLAMA_LIKE, .window_chunks = true},
     .finish = finish_llama4},
    {.type = "olmo2", GROUPED_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_olmo2},
    {.type = "olmo3", GROUPED_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_olmo2},
    {.type = "olmoe", GROUPED_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_olmoe},
    {.type = "glm4_moe", GROUPED_NAMES, .kv_required = true, .fixed = {LLAMA_LIKE}, .finish = finish_glm4_moe},
    {.type = "minimax_m2", GROUPED_NAMES, .kv_required = true, .fixed = {LLAMA_LIKE}, .finish = finish_minimax},
    {.type = "ernie4_5_moe",
     GROUPED_NAMES,
     .kv_required = true,
     .tied = true,
     .fixed = {LLAMA_LIKE},
     .finish = finish_ernie_moe},
    {.type = "granite", GROUPED_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_llama},
    {.type = "smollm3", GROUPED_NAMES, .tied = true, .fixed = {LLAMA_LIKE}, .finish = finish_llama},
    {.type = "seed_oss", GROUPED_NAMES, .kv_required = true, .fixed = {LLAMA_LIKE}, .finish = finish_seed_oss},
    {.type = "starcoder2",
     GROUPED_NAMES,
     .kv_required = true,
     .tied = true,
     .fixed = {.norm = TSIM_NORM_LAYERNORM, .position = TSIM_POSITION_ROPE, .causal = true, .bias = true},
     .finish = finish_starcoder2},
    {.type = "cohere",
     GROUPED_NAMES,
     .tied = true,
     .fixed = {LLAMA_LIKE, .parallel_block = true},
     .finish = finish_cohere},
    {.type = "phi",
     GROUPED_NAMES,
     .fixed = {.norm = TSIM_NORM_LAYERNORM,
               .position = TSIM_POSITION_ROPE,
               .causal = true,
               .bias = true,
               .parallel_block = true},
     .finish = finish_phi},
    {.type = "gpt_neox",
     USUAL_NAMES,
     .fixed = {.norm = TSIM_NORM_LAYERNORM, .position = TSIM_POSITION_ROPE, .causal = true, .bias = true},
     .finish = finish_gpt_neox},
    {.type = "bert",
     USUAL_NAMES,
     .positions = "max_position_embeddings",
     .tied = true,
     .fixed = {.norm = TSIM_NORM_LAYERNORM, .position = TSIM_POSITION_LEARNED, .bias = true},
     .finish = finish_bert},
    {.type = "t5",
     .hidden = "d_model",
     .layers = "num_layers",
     .heads = "num_heads",
     .ffn = "d_ff",
     .tied = true,
     .fixed = {.norm = TSIM_NORM_RMSNORM, .position = TSIM_POSITION_RELATIVE, .causal = true},
     .finish = finish_t5},
    {.type = "vit",
     USUAL_NAMES,
     .fixed = {.norm = TSIM_NORM_LAYERNORM, .position = TSIM_POSITION_LEARNED, .bias = true},
     .finish = finish_vit},
    {.type = "deepseek_v2", USUAL_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_deepseek},
    {.type = "deepseek_v3", USUAL_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_deepseek},
    {.type = "kimi_k2", USUAL_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_deepseek},
};
enum { N_FAMILIES = sizeof FAMILIES / sizeof FAMILIES[0] };

/* ---- reading ---- */

static const char *lacked_keys(struct reading *r) {
    static const char *const USUAL[] = {"hidden_size",         "num_hidden_layers", "num_attention_heads",
                                        "num_key_value_heads", "intermediate_size", "vocab_size"};
    const char *text = "";
    for (size_t i = 0; i < sizeof USUAL / sizeof USUAL[0]; i++)
        if (!find(r, USUAL[i]))
            text = tsim_arena_printf(r->arena, "%s%s%s", text, *text ? ", " : "", USUAL[i]);
    return text;
}

static enum tsim_status is_unknown(struct reading *r, const struct tsim_value *type) {
    const char *names[N_FAMILIES], *known = "", *lacked = lacked_keys(r);
    const char *word = type->kind == TSIM_VALUE_SCALAR ? type->text : tsim_value_kind_name(type);
    for (size_t i = 0; i < N_FAMILIES; i++) {
        names[i] = FAMILIES[i].type;
        known = tsim_arena_printf(r->arena, "%s%s%s", known, i > 0 ? ", " : "", names[i]);
    }
    struct tsim_diag *diag =
        tsim_value_error(r->diags, TSIM_ERR_REFERENCE, type, "model_type", "'%.40s' is not known%s%s", word,
                         *lacked ? "; keys that a transformer has and that are missing: " : "", lacked);
    const char *near = tsim_did_you_mean(word, names, N_FAMILIES);
    if (near)
        tsim_diag_hint(diag, "did you mean '%s'?", near);
    else
        tsim_diag_hint(diag, "known are %s", known);
    return TSIM_ERR_REFERENCE;
}

static void enter(struct reading *r, const struct tsim_value *root) {
    r->root = root;
    r->is_used = TSIM_NEW_ARRAY(r->arena, root->n_items, bool);
}

/* A model of text and images, of which a model file can say the text part alone. */
static void enter_text_config(struct reading *r) {
    const struct tsim_value *type = find(r, "model_type");
    bool has_text = tsim_value_is_text(type, "gemma3") || tsim_value_is_text(type, "llama4");
    const struct tsim_value *text = has_text ? find(r, "text_config") : NULL;
    if (!text || text->kind != TSIM_VALUE_MAPPING)
        return;
    if (find(r, "vision_config") && !tsim_import_ignores(r->input, "vision_config"))
        tsim_diag_hint(refuse(r, "vision_config", "images have a tower of their own, which a model file cannot say"),
                       "--ignore vision_config imports the text part alone");
    enter(r, text);
    note(r, "The text part (text_config) is here; the vision tower and its projector are left out.");
}

static enum tsim_status find_family(struct reading *r) {
    enter_text_config(r);
    const struct tsim_value *type = find(r, "model_type");
    if (!type) {
        const char *lacked = lacked_keys(r);
        tsim_diag_hint(
            tsim_value_error(r->diags, TSIM_ERR_SCHEMA, r->root, "model_type", "missing%s%s",
                             *lacked ? "; missing as well: " : "", lacked),
            "config.json of a model of transformers says which architecture it is: \"model_type\": \"llama\"");
        return TSIM_ERR_SCHEMA;
    }
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (tsim_value_is_text(type, FAMILIES[i].type))
            r->family = &FAMILIES[i];
    return r->family ? TSIM_OK : is_unknown(r, type);
}

static void read_sizes(struct reading *r) {
    const struct family *f = r->family;
    struct tsim_model *m = &r->model;
    *m = f->fixed;
    m->hidden = required(r, f->hidden, 10000000);
    m->layers = required(r, f->layers, 100000);
    m->heads = required(r, f->heads, 1000000);
    m->ffn_hidden = f->ffn_is_optional ? number(r, f->ffn, 1, 10000000, 4 * m->hidden) : required(r, f->ffn, 10000000);
    m->vocab = strcmp(f->type, "vit") == 0 ? 1 : required(r, "vocab_size", 1000000000);
    m->positions = f->positions ? required(r, f->positions, 1000000000) : 0;
    m->kv_heads = m->heads;
    if (f->kv_heads)
        m->kv_heads = f->kv_required ? required(r, f->kv_heads, 1000000) : number(r, f->kv_heads, 1, 1000000, m->heads);
    m->head_dim = f->kv_heads ? number(r, "head_dim", 1, 1000000, f->head_dim) : 0;
    m->tied_embeddings = strcmp(f->type, "vit") != 0 && flag(r, "tie_word_embeddings", f->tied);
    if (f->finish)
        f->finish(r);
}

static void check_heads(struct reading *r) {
    struct tsim_model *m = &r->model;
    if (m->head_dim == 0 && m->hidden % m->heads != 0)
        refuse(r, r->family->hidden, "not a multiple of the number of heads");
    if (m->head_dim == 0)
        m->head_dim = m->hidden / m->heads;
    if (m->head_dim == 0 || m->heads % m->kv_heads != 0)
        refuse(r, r->family->kv_heads ? r->family->kv_heads : r->family->heads,
               "the number of heads is not a multiple of it");
}

/* ---- layers of several kinds ---- */

/* layer_types, a word for each layer. With --approximate layers of kinds that tsim does not have attend to all tokens. */
static void read_layer_types(struct reading *r, const struct tsim_value *layers, enum tsim_mixing *kinds) {
    static const struct {
        const char *word;
        enum tsim_mixing kind;
    } WORDS[] = {{"full_attention", TSIM_MIXING_ATTENTION},
                 {"sliding_attention", TSIM_MIXING_WINDOW},
                 {"chunked_attention", TSIM_MIXING_WINDOW},
                 {"linear_attention", TSIM_MIXING_DELTA}};
    const size_t n_words = sizeof WORDS / sizeof WORDS[0] - (r->model.delta.value_heads > 0 ? 0 : 1);
    bool was_approximated = false;
    for (size_t i = 0; i < layers->n_items && i < (size_t)r->model.layers; i++) {
        const struct tsim_value *item = layers->items[i];
        size_t word = 0;
        while (word < n_words && !tsim_value_is_text(item, WORDS[word].word))
            word++;
        kinds[i] = word < n_words ? WORDS[word].kind : TSIM_MIXING_ATTENTION;
        if (word < n_words || tsim_import_ignores(r->input, "layer_types"))
            continue;
        if (r->input->approximates) {
            was_approximated = true;
            continue;
        }
        failed(r, TSIM_ERR_INFEASIBLE);
        tsim_diag_hint(
            tsim_value_error(r->diags, TSIM_ERR_INFEASIBLE, item, "layer_types",
                             "layers of '%.40s', which tsim does not have",
                             item->kind == TSIM_VALUE_SCALAR ? item->text : "a list"),
            "full_attention, sliding_attention and chunked_attention are known; --approximate takes others as the "
            "first");
        return;
    }
    if (was_approximated)
        note(r, "approximate: layers of kinds that tsim does not have (layer_types) attend to all tokens here.");
}

/* The kinds of layers where the file does not list them. */
static void guess_layer_types(struct reading *r, enum tsim_mixing *kinds) {
    const char *type = r->family->type;
    const struct tsim_value *rope = find(r, "no_rope_layers");
    bool is_gemma3 = strcmp(type, "gemma3_text") == 0, is_llama4 = strcmp(type, "llama4_text") == 0,
         is_half = strcmp(type, "gemma2") == 0 || strcmp(type, "gpt_oss") == 0, is_qwen = strncmp(type, "qwen", 4) == 0;
    int64_t period = is_half ? 2
                             : number(r, "sliding_window_pattern", 1, 100000,
                                      is_gemma3   ? 6
                                      : is_llama4 ? 4
                                                  : 0),
            from = is_qwen ? number(r, "max_window_layers", 0, 100000, r->model.layers) : 0;
    if (r->model.delta.value_heads > 0) {
        period = number(r, "full_attention_interval", 1, 100000, 4);
        for (int64_t i = 0; i < r->model.layers; i++)
            kinds[i] = (i + 1) % period != 0 ? TSIM_MIXING_DELTA : TSIM_MIXING_ATTENTION;
        return;
    }
    for (int64_t i = 0; i < r->model.layers; i++)
        kinds[i] = (period > 0 ? (i + 1) % period != 0 : i >= from) ? TSIM_MIXING_WINDOW : TSIM_MIXING_ATTENTION;
    for (size_t i = 0; is_llama4 && rope && rope->kind == TSIM_VALUE_SEQUENCE && i < rope->n_items; i++)
        if (i < (size_t)r->model.layers)
            kinds[i] = tsim_value_is_text(rope->items[i], "0") ? TSIM_MIXING_ATTENTION : TSIM_MIXING_WINDOW;
}

/* The shortest beginning that repeats itself. */
static int64_t period_of(const enum tsim_mixing *kinds, int64_t layers) {
    for (int64_t period = 1; period < layers; period++) {
        int64_t i = period;
        while (i < layers && kinds[i] == kinds[i - period])
            i++;
        if (i == layers)
            return period;
    }
    return layers;
}

/* The pattern of a model, unless all of its layers are of one kind. */
static void set_pattern(struct reading *r, const enum tsim_mixing *kinds) {
    struct tsim_model *m = &r->model;
    int64_t period = period_of(kinds, m->layers);
    if (period == 1)
        return;
    struct tsim_layer_entry *entries = TSIM_NEW_ARRAY(r->arena, (size_t)period, struct tsim_layer_entry);
    for (int64_t i = 0; i < period; i++) {
        if (i == 0 || entries[m->n_pattern - 1].kind != kinds[i])
            entries[m->n_pattern++] = (struct tsim_layer_entry){.kind = kinds[i]};
        entries[m->n_pattern - 1].count++;
    }
    m->pattern = entries;
    m->pattern_length = period;
}

/* A window is said where it is shorter than the longest sequence and some layers have it. */
static void read_layers(struct reading *r) {
    struct tsim_model *m = &r->model;
    const char *key = m->window_chunks ? "attention_chunk_size" : "sliding_window";
    const struct tsim_value *types = find(r, "layer_types");
    int64_t tokens = number(r, key, 0, 1000000000, 0);
    bool is_on = flag(r, "use_sliding_window", true), has_any = false;
    enum tsim_mixing *kinds = TSIM_NEW_ARRAY(r->arena, (size_t)m->layers, enum tsim_mixing);
    if (types && types->kind == TSIM_VALUE_SEQUENCE)
        read_layer_types(r, types, kinds);
    else
        guess_layer_types(r, kinds);
    if (m->delta.value_heads > 0) {
        set_pattern(r, kinds);
        return;
    }
    for (int64_t i = 0; i < m->layers; i++)
        has_any |= kinds[i] == TSIM_MIXING_WINDOW;
    if (tokens == 0 || !has_any || !is_on || tsim_import_ignores(r->input, key) ||
        number(r, "max_position_embeddings", 1, 1000000000, INT64_MAX) <= tokens) {
        m->window_chunks = false;
        return;
    }
    m->attention_window = tokens;
    set_pattern(r, kinds);
}

static void add_notes(struct reading *r) {
    if (r->model.position == TSIM_POSITION_ROPE && find(r, "rope_scaling") && !r->model.rotary_scaled)
        note(r, "rope_scaling has no effect on performance.");
    if (find(r, "quantization_config"))
        note(r, "quantization_config is left out: precision is the scenario's (training.precision).");
}

/* ---- writing ---- */

static const char *grouped(struct tsim_arena *arena, double count) {
    char digits[40];
    int length = snprintf(digits, sizeof digits, "%.0f", count);
    const char *text = "";
    for (int i = 0; i < length; i++)
        text = tsim_arena_printf(arena, "%s%s%c", text, i > 0 && (length - i) % 3 == 0 ? "," : "", digits[i]);
    return text;
}

/* The last part of _name_or_path where it is a name, else the architecture's. */
static const char *name_of(struct reading *r) {
    const struct tsim_value *path = find(r, "_name_or_path");
    if (!path || path->kind != TSIM_VALUE_SCALAR)
        return r->family->type;
    const char *slash = strrchr(path->text, '/');
    char *name = tsim_arena_strdup(r->arena, slash ? slash + 1 : path->text);
    size_t n_good = 0;
    for (char *c = name; *c; c++) {
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
        n_good += (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-' || *c == '_' || *c == '.';
    }
    bool is_name = n_good == strlen(name) && n_good > 0 && n_good <= 64 && name[0] >= 'a' && name[0] <= 'z';
    return is_name ? name : r->family->type;
}

static void put_number(struct reading *r, const char **text, const char *key, int64_t value) {
    *text = tsim_arena_printf(r->arena, "%s%s: %lld\n", *text, key, (long long)value);
}

static void put_flag(struct reading *r, const char **text, const char *key, bool value) {
    *text = tsim_arena_printf(r->arena, "%s%s: %s\n", *text, key, value ? "true" : "false");
}

static void put_experts(struct reading *r, const char **text) {
    const struct tsim_experts *e = &r->model.experts;
    const char *inner =
        tsim_arena_printf(r->arena, "count: %lld, active: %lld, ffn_hidden: %lld, shared: %lld", (long long)e->count,
                          (long long)e->active, (long long)e->ffn_hidden, (long long)e->shared);
    if (e->first > 0)
        inner = tsim_arena_printf(r->arena, "%s, first: %lld", inner, (long long)e->first);
    if (e->every > 1)
        inner = tsim_arena_printf(r->arena, "%s, every: %lld", inner, (long long)e->every);
    if (e->node_limit > 0)
        inner = tsim_arena_printf(r->arena, "%s, node_limit: %lld", inner, (long long)e->node_limit);
    *text = tsim_arena_printf(r->arena, "%sexperts: {%s%s%s}\n", *text, inner,
                              e->router_bias ? ", router_bias: true" : "", e->limited ? ", limited: true" : "");
}

static void put_windows(struct reading *r, const char **text) {
    const struct tsim_model *m = &r->model;
    const char *entries = "";
    for (size_t i = 0; i < m->n_pattern; i++) {
        static const char *const WORDS[] = {[TSIM_MIXING_ATTENTION] = "attention",
                                            [TSIM_MIXING_WINDOW] = "window",
                                            [TSIM_MIXING_DELTA] = "gated-delta"};
        const char *word = WORDS[m->pattern[i].kind];
        entries = tsim_arena_printf(r->arena, "%s%s{kind: %s, count: %lld}", entries, i > 0 ? ", " : "", word,
                                    (long long)m->pattern[i].count);
    }
    if (m->n_pattern > 0)
        *text = tsim_arena_printf(r->arena, "%spattern: [%s]\n", *text, entries);
    if (m->attention_window > 0)
        put_number(r, text, "attention_window", m->attention_window);
    if (m->window_chunks)
        put_flag(r, text, "window_chunks", true);
}

static void put_rest(struct reading *r, const char **text) {
    const struct tsim_model *m = &r->model;
    if (m->parallel_block)
        put_flag(r, text, "parallel_block", true);
    if (m->parallel_norms)
        put_flag(r, text, "parallel_norms", true);
    if (m->rotary_frac > 0 && m->rotary_frac < 1)
        *text = tsim_arena_printf(r->arena, "%srotary_share: %g\n", *text, m->rotary_frac);
    if (m->qkv_bias)
        put_flag(r, text, "qkv_bias", true);
    if (m->qk_norm)
        put_flag(r, text, "qk_norm", true);
    if (m->post_norms)
        put_flag(r, text, "post_norms", true);
    if (m->sinks)
        put_flag(r, text, "sinks", true);
    if (m->rotary_scaled)
        put_flag(r, text, "rotary_scaled", true);
    if (m->pooler)
        put_flag(r, text, "pooler", true);
    if (m->image.patch > 0)
        *text = tsim_arena_printf(r->arena, "%simage: {size: %lld, patch: %lld, channels: %lld}\n", *text,
                                  (long long)m->image.size, (long long)m->image.patch, (long long)m->image.channels);
    if (m->other_parameters > 0)
        put_number(r, text, "other_parameters", m->other_parameters);
    if (m->output_gate)
        put_flag(r, text, "output_gate", true);
    if (m->delta.value_heads > 0)
        *text = tsim_arena_printf(
            r->arena, "%sdelta: {value_heads: %lld, key_heads: %lld, key_dim: %lld, value_dim: %lld, kernel: %lld}\n",
            *text, (long long)m->delta.value_heads, (long long)m->delta.key_heads, (long long)m->delta.key_dim,
            (long long)m->delta.value_dim, (long long)m->delta.kernel);
    if (m->latent.kv_rank > 0)
        *text = tsim_arena_printf(r->arena, "%slatent: {query_rank: %lld, kv_rank: %lld, rope_dim: %lld}\n", *text,
                                  (long long)m->latent.query_rank, (long long)m->latent.kv_rank,
                                  (long long)m->latent.rope_dim);
    if (m->experts.count > 0)
        put_experts(r, text);
}

static const char *write_model(struct reading *r) {
    static const char *const NORMS[] = {[TSIM_NORM_LAYERNORM] = "layernorm", [TSIM_NORM_RMSNORM] = "rmsnorm"};
    const struct tsim_model *m = &r->model;
    const char *text = tsim_arena_printf(r->arena, "# %s parameters", grouped(r->arena, tsim_model_parameters(m)));
    if (m->experts.count > 0)
        text = tsim_arena_printf(r->arena, "%s, of which %s are used for a token", text,
                                 grouped(r->arena, tsim_model_active_parameters(m)));
    text = tsim_arena_printf(r->arena, "%s.\n%sschema: tsim/model/v1\nname: %s\nkind: transformer\n", text, r->notes,
                             m->name);
    put_number(r, &text, "layers", m->layers);
    if (m->encoder_layers > 0)
        put_number(r, &text, "encoder_layers", m->encoder_layers);
    put_windows(r, &text);
    put_number(r, &text, "hidden", m->hidden);
    put_number(r, &text, "heads", m->heads);
    put_number(r, &text, "kv_heads", m->kv_heads);
    put_number(r, &text, "head_dim", m->head_dim);
    put_number(r, &text, "ffn_hidden", m->ffn_hidden);
    put_number(r, &text, "vocab", m->vocab);
    if (m->approximate)
        put_flag(r, &text, "approximate", true);
    put_flag(r, &text, "gated_mlp", m->gated_mlp);
    text = tsim_arena_printf(r->arena, "%snorm: %s\nposition: %s\n", text, NORMS[m->norm],
                             m->positions > 0                        ? "learned"
                             : m->position == TSIM_POSITION_RELATIVE ? "relative"
                                                                     : "rope");
    if (m->positions > 0)
        put_number(r, &text, "positions", m->positions);
    if (m->relative_buckets > 0)
        put_number(r, &text, "relative_buckets", m->relative_buckets);
    put_flag(r, &text, "tied_embeddings", m->tied_embeddings);
    put_flag(r, &text, "bias", m->bias);
    put_flag(r, &text, "causal", m->causal);
    put_rest(r, &text);
    return tsim_arena_printf(r->arena, "%ssource: \"%s\"\n", text, m->source);
}

enum tsim_status tsim_hf_config_import(struct tsim_arena *arena, const struct tsim_value *root,
                                       const struct tsim_import_input *input, const struct tsim_model **model,
                                       const char **yaml, struct tsim_diags *diags) {
    struct reading r = {.arena = arena, .input = input, .diags = diags, .notes = ""};
    enter(&r, root);
    TSIM_TRY(find_family(&r));
    read_sizes(&r);
    if (r.status == TSIM_OK)
        check_heads(&r);
    if (r.status == TSIM_OK)
        read_layers(&r);
    add_notes(&r);
    r.model.name = name_of(&r);
    failed(&r, tsim_hf_keys_check(arena, r.root, r.is_used, input, diags, &r.notes));
    TSIM_TRY(r.status);
    r.model.approximate = strstr(r.notes, "approximate:") != NULL;
    r.model.source = tsim_arena_printf(arena, "%sconfig.json of transformers, model_type %s",
                                       r.model.approximate ? "approximate, after the " : "", r.family->type);
    struct tsim_model *kept = TSIM_NEW(arena, struct tsim_model);
    *kept = r.model;
    *model = kept;
    *yaml = write_model(&r);
    return TSIM_OK;
}
