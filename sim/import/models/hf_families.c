/* Families of architectures of Hugging Face's transformers, after its modeling_*.py and configuration_*.py, or after
 * the code that lies beside the weights where transformers has none (Baichuan, ChatGLM, InternLM, Qwen, MiniCPM,
 * EXAONE, Ling). */
#include "import/models/hf_reading.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is particular to an architecture ---- */

static void finish_llama(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    bool attention = tsim_hf_flag(r, "attention_bias", false), mlp = tsim_hf_flag(r, "mlp_bias", false);
    m->bias = attention && mlp;
    m->qkv_bias = m->qkv_bias || (attention && !mlp);
    if (attention && !mlp)
        m->other_parameters += m->layers * m->hidden; /* the bias of the attention's output */
    if (mlp && !attention)
        m->other_parameters += m->layers * (2 * m->ffn_hidden + m->hidden);
}

static void finish_qwen3(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    m->qkv_bias = tsim_hf_flag(r, "attention_bias", false);
    if (m->qkv_bias)
        m->other_parameters += m->layers * m->hidden;
}

/* Puts the kinds of layers, which repeat after `length` of them. */
static void put_pattern(struct tsim_hf_reading *r, const struct tsim_layer_entry *entries, size_t n, int64_t length) {
    r->model.pattern = entries;
    r->model.n_pattern = n;
    r->model.pattern_length = length;
}

static void read_experts(struct tsim_hf_reading *r, const char *count) {
    struct tsim_experts *e = &r->model.experts;
    e->count = tsim_hf_required(r, count, 100000);
    e->active = tsim_hf_required(r, "num_experts_per_tok", 100000);
    e->ffn_hidden = r->model.ffn_hidden;
    e->every = 1;
    if (e->active > e->count)
        tsim_hf_refuse(r, "num_experts_per_tok", "more experts of a token than there are");
}

/* Reads fine experts behind some dense layers, some of them for all tokens (DeepSeekMoE and who follows it). */
static void read_fine_experts(struct tsim_hf_reading *r, const char *count) {
    struct tsim_experts *e = &r->model.experts;
    read_experts(r, count);
    e->ffn_hidden = tsim_hf_required(r, "moe_intermediate_size", 10000000);
    e->shared = tsim_hf_number(r, tsim_hf_key(r, "n_shared_experts|num_shared_experts"), 0, 100000, 0);
    e->first = tsim_hf_number(r, tsim_hf_key(r, "first_k_dense_replace|first_last_k_dense_replace|num_dense_layers"), 0,
                              100000, 0);
    if (tsim_hf_number(r, "moe_layer_freq", 1, 100000, 1) != 1)
        tsim_hf_refuse(r, "moe_layer_freq", "only 1 is known: experts in every layer from first_k_dense_replace on");
}

static void finish_mixtral(struct tsim_hf_reading *r) {
    read_experts(r, "num_local_experts");
}

/* Layer l has experts if (l + 1) is a multiple of decoder_sparse_step. */
static void finish_qwen_moe(struct tsim_hf_reading *r) {
    struct tsim_experts *e = &r->model.experts;
    const struct tsim_value *dense = tsim_hf_find(r, "mlp_only_layers");
    read_experts(r, "num_experts");
    e->ffn_hidden = tsim_hf_required(r, "moe_intermediate_size", 10000000);
    e->every = tsim_hf_number(r, "decoder_sparse_step", 1, 100000, 1);
    if (dense && (dense->kind != TSIM_VALUE_SEQUENCE || dense->n_items > 0))
        tsim_hf_refuse(r, "mlp_only_layers", "a model file cannot express single layers without experts");
}

static void finish_qwen3_moe(struct tsim_hf_reading *r) {
    finish_qwen3(r);
    finish_qwen_moe(r);
}

/* The shared expert is as wide as several others, and has a gate of `hidden` weights. */
static void finish_qwen2_moe(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    finish_qwen_moe(r);
    int64_t shared = tsim_hf_required(r, "shared_expert_intermediate_size", 10000000);
    if (shared % m->experts.ffn_hidden != 0)
        tsim_hf_refuse(r, "shared_expert_intermediate_size", "not a multiple of moe_intermediate_size");
    m->experts.shared = shared / m->experts.ffn_hidden;
    m->other_parameters += (int64_t)tsim_model_parts(m).times[TSIM_PART_EXPERT_LAYER] * m->hidden;
}

/* Three layers in four are linear attention by the gated delta rule; attention in the others is gated. */
static void read_delta(struct tsim_hf_reading *r) {
    r->model.rotary_frac = tsim_hf_share(r, "partial_rotary_factor", 0.25);
    r->model.delta = (struct tsim_delta){.value_heads = tsim_hf_required(r, "linear_num_value_heads", 1000000),
                                         .key_heads = tsim_hf_required(r, "linear_num_key_heads", 1000000),
                                         .key_dim = tsim_hf_required(r, "linear_key_head_dim", 1000000),
                                         .value_dim = tsim_hf_required(r, "linear_value_head_dim", 1000000),
                                         .kernel = tsim_hf_number(r, "linear_conv_kernel_dim", 1, 1000, 4),
                                         .chunk = 64};
    tsim_hf_find(r, "full_attention_interval"); /* beside layer_types, which say the same */
}

static void finish_qwen3_next(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    m->qkv_bias = tsim_hf_flag(r, "attention_bias", false);
    finish_qwen2_moe(r);
    read_delta(r);
    if (m->qkv_bias)
        tsim_hf_refuse(r, "attention_bias", "a model file cannot express gated attention with biases");
}

/* Sizes of attention by way of latent vectors. */
static void read_latent(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    m->head_dim = tsim_hf_required(r, "v_head_dim", 1000000);
    m->latent = (struct tsim_latent){.kv_rank = tsim_hf_required(r, "kv_lora_rank", 1000000),
                                     .query_rank = tsim_hf_number(r, "q_lora_rank", 0, 1000000, 0),
                                     .rope_dim = tsim_hf_required(r, "qk_rope_head_dim", 1000000)};
    if (tsim_hf_required(r, "qk_nope_head_dim", 1000000) != m->head_dim)
        m->latent.nope_dim = tsim_hf_required(r, "qk_nope_head_dim", 1000000);
}

static void finish_deepseek(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    struct tsim_experts *e = &m->experts;
    const struct tsim_value *method = tsim_hf_find(r, "topk_method");
    bool is_v3 = !tsim_hf_has_type("deepseek_v2|mistral4", r->type);
    read_latent(r);
    if (tsim_hf_flag(r, "attention_bias", false))
        tsim_hf_refuse(r, "attention_bias", "a model file cannot express latent attention with biases");
    read_fine_experts(r, "n_routed_experts");
    e->router_bias = method ? tsim_value_is_text(method, "noaux_tc") : is_v3;
    if (tsim_hf_number(r, "n_group", 0, 100000, 0) > 1)
        e->node_limit = tsim_hf_number(r, "topk_group", 1, 100000, 1);
    if (tsim_hf_find(r, "index_topk")) {
        static const struct tsim_layer_entry SPARSE = {.kind = TSIM_MIXING_SPARSE, .count = 1};
        m->index = (struct tsim_index){.heads = tsim_hf_required(r, "index_n_heads", 100000),
                                       .head_dim = tsim_hf_required(r, "index_head_dim", 1000000),
                                       .tokens = tsim_hf_required(r, "index_topk", 1000000)};
        put_pattern(r, &SPARSE, 1, 1);
    }
}

static void finish_gemma2(struct tsim_hf_reading *r) {
    finish_llama(r);
    if (tsim_hf_find(r, "attn_logit_softcapping") || tsim_hf_find(r, "final_logit_softcapping"))
        tsim_hf_note(r, "Capping of logits is not modelled.");
}

static void finish_gpt_oss(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    read_experts(r, "num_local_experts");
    m->experts.router_bias = m->experts.limited = true;
    if (!tsim_hf_flag(r, "attention_bias", true))
        tsim_hf_refuse(r, "attention_bias", "a model file cannot express biases everywhere except there");
}

/* Dense layers between those with experts have a width of their own, and one expert is shared. */
static void finish_llama4(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    read_experts(r, "num_local_experts");
    m->experts.ffn_hidden = tsim_hf_required(r, "intermediate_size", 10000000);
    m->experts.every = tsim_hf_number(r, "interleave_moe_layer_step", 1, 100000, 1);
    m->experts.shared = 1;
    m->qkv_bias = tsim_hf_flag(r, "attention_bias", false);
    if (tsim_hf_find(r, "moe_layers"))
        tsim_hf_note(r, "moe_layers is not read: interleave_moe_layer_step says which layers have experts.");
    tsim_hf_flag(r, "use_qk_norm", true); /* without weights */
}

/* Returns a number, or the one that a list repeats for each layer. */
static int64_t same_number(struct tsim_hf_reading *r, const char *key, int64_t otherwise) {
    const struct tsim_value *list = tsim_hf_find(r, key);
    char *end;
    if (!list || list->kind != TSIM_VALUE_SEQUENCE || list->n_items == 0)
        return tsim_hf_number(r, key, 0, 10000000, otherwise);
    const char *first = list->items[0]->kind == TSIM_VALUE_SCALAR ? list->items[0]->text : "";
    long long number = strtoll(first, &end, 10);
    bool is_number = *first && *end == '\0' && number >= 0 && number <= 10000000;
    for (size_t i = 0; i < list->n_items; i++)
        if (!is_number || !tsim_value_is_text(list->items[i], first)) {
            tsim_hf_refuse(r, key, "layers differ in it, which a model file cannot say");
            return otherwise;
        }
    return number;
}

/* Norms stand behind the blocks, and as many. */
static void finish_olmo2(struct tsim_hf_reading *r) {
    finish_qwen3(r);
    r->model.wide_qk_norm = true;
}

static void finish_olmoe(struct tsim_hf_reading *r) {
    finish_olmo2(r);
    read_experts(r, "num_experts");
}

static void finish_minimax(struct tsim_hf_reading *r) {
    read_experts(r, "num_local_experts");
    r->model.experts.router_bias = tsim_hf_flag(r, "use_routing_bias", false);
    r->model.rotary_frac = 0;
    r->model.wide_qk_norm = tsim_hf_flag(r, "use_qk_norm", false);
    tsim_hf_find(r, "qk_norm_type");
    if (same_number(r, "attn_type_list", 1) != 1)
        tsim_hf_refuse(r, "attn_type_list", "not 1 throughout: no released MiniMax-M2 has other layers");
}

/* Marks keys that change no size and no time here as read. */
static void pass_over(const struct tsim_hf_reading *r, const char *const *keys, size_t n) {
    for (size_t i = 0; i < n; i++)
        tsim_hf_find(r, keys[i]);
}
#define PASS_OVER(r, ...)                                                                                              \
    pass_over((r), (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* A number for each layer says whether it attends (1) or is linear (0). */
static void put_numbers(struct tsim_hf_reading *r, const struct tsim_value *list, enum tsim_mixing linear) {
    struct tsim_layer_entry *entries = TSIM_NEW_ARRAY(r->arena, list->n_items, struct tsim_layer_entry);
    for (size_t i = 0; i < list->n_items; i++)
        entries[i] = (struct tsim_layer_entry){
            .kind = tsim_value_is_text(list->items[i], "0") ? linear : TSIM_MIXING_ATTENTION, .count = 1};
    put_pattern(r, entries, list->n_items, (int64_t)list->n_items);
}

/* MiniMax-01 and M1: seven layers in eight are lightning attention, said by layer_types or, before it, attn_type_list. */
static void finish_minimax01(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    const struct tsim_value *list = tsim_hf_find(r, "attn_type_list");
    read_experts(r, "num_local_experts");
    m->lightning = (struct tsim_lightning){.heads = m->heads,
                                           .head_dim = m->head_dim ? m->head_dim : m->hidden / m->heads,
                                           .chunk = tsim_hf_number(r, "block_size", 1, 100000, 256)};
    int64_t rotated = tsim_hf_number(r, "rotary_dim", 1, 1000000, m->lightning.head_dim);
    m->rotary_frac = rotated < m->lightning.head_dim ? (double)rotated / (double)m->lightning.head_dim : 0;
    if (tsim_hf_number(r, "shared_intermediate_size", 0, 10000000, 0) > 0)
        tsim_hf_refuse(r, "shared_intermediate_size", "a shared expert, which no released MiniMax has");
    if (list && list->kind == TSIM_VALUE_SEQUENCE && list->n_items == (size_t)m->layers)
        put_numbers(r, list, TSIM_MIXING_LIGHTNING);
    else if (list || !tsim_hf_find(r, "layer_types"))
        tsim_hf_refuse(r, "attn_type_list", "no number for each layer: 0 for lightning attention, 1 for attention");
    PASS_OVER(r, "layernorm_full_attention_alpha", "layernorm_full_attention_beta", "layernorm_linear_attention_alpha",
              "layernorm_linear_attention_beta", "layernorm_mlp_alpha", "layernorm_mlp_beta", "postnorm",
              "full_attn_alpha_factor", "full_attn_beta_factor", "linear_attn_alpha_factor", "linear_attn_beta_factor",
              "mlp_alpha_factor", "mlp_beta_factor", "shared_moe_mode");
}

static void finish_glm4_moe(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    read_fine_experts(r, "n_routed_experts");
    m->experts.router_bias = true;
    m->qkv_bias = tsim_hf_flag(r, "attention_bias", false);
    m->qk_norm = tsim_hf_flag(r, "use_qk_norm", false);
    m->rotary_frac = tsim_hf_share(r, "partial_rotary_factor", 0.5);
}

static void finish_ernie_moe(struct tsim_hf_reading *r) {
    struct tsim_experts *e = &r->model.experts;
    e->count = tsim_hf_required(r, "moe_num_experts", 100000);
    e->active = tsim_hf_required(r, "moe_k", 100000);
    e->ffn_hidden = tsim_hf_required(r, "moe_intermediate_size", 10000000);
    e->shared = tsim_hf_number(r, "moe_num_shared_experts", 0, 100000, 0);
    e->first = tsim_hf_number(r, "moe_layer_start_index", 0, 100000, 0);
    e->every = tsim_hf_number(r, "moe_layer_interval", 1, 100000, 1);
    e->router_bias = tsim_hf_flag(r, "moe_use_aux_free", true);
    r->model.bias = tsim_hf_flag(r, "use_bias", false);
    tsim_hf_number(r, "moe_layer_end_index", 0, 100000, 0);
    tsim_hf_find(r, "moe_capacity");
    tsim_hf_find(r, "moe_gate");
}

static void finish_seed_oss(struct tsim_hf_reading *r) {
    r->model.qkv_bias = tsim_hf_flag(r, "attention_bias", true);
    if (tsim_hf_flag(r, "attention_out_bias", false) || tsim_hf_flag(r, "mlp_bias", false))
        tsim_hf_refuse(r, "attention_out_bias", "a model file cannot express biases only there");
}

static void finish_starcoder2(struct tsim_hf_reading *r) {
    const struct tsim_value *norm = tsim_hf_find(r, "norm_type"), *mlp = tsim_hf_find(r, "mlp_type");
    r->model.bias = tsim_hf_flag(r, "use_bias", true);
    if (norm && !tsim_value_is_text(norm, "layer_norm"))
        tsim_hf_refuse(r, "norm_type", "only layer_norm is known, which all released StarCoder2 have");
    if (mlp && !tsim_value_is_text(mlp, "default"))
        tsim_hf_refuse(r, "mlp_type", "only default is known, which all released StarCoder2 have");
}

/* Completes Cohere's model: one norm without a shift is before both blocks. */
static void finish_cohere(struct tsim_hf_reading *r) {
    r->model.qkv_bias = tsim_hf_flag(r, "attention_bias", false);
    if (tsim_hf_flag(r, "use_qk_norm", false))
        tsim_hf_refuse(r, "use_qk_norm", "a model file cannot express norms of each head of its own");
}

/* Side by side or in a row, attention and feed-forward have a norm each. */
static void finish_gpt_neox(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    m->parallel_block = m->parallel_norms = tsim_hf_flag(r, "use_parallel_residual", true);
    m->rotary_frac = tsim_hf_share(r, "rotary_pct", 0.25);
    if (!tsim_hf_flag(r, "attention_bias", true))
        tsim_hf_refuse(r, "attention_bias", "a model file cannot express biases everywhere except there");
}

static void finish_phi(struct tsim_hf_reading *r) {
    r->model.rotary_frac = tsim_hf_share(r, "partial_rotary_factor", 0.5);
    if (tsim_hf_flag(r, "qk_layernorm", false))
        tsim_hf_refuse(r, "qk_layernorm", "a model file cannot express layer norms of queries and keys");
    r->model.other_parameters += r->model.vocab; /* the head's bias */
}

/* Returns whether an encoder's class judges whole texts, by way of a product of the first token. */
static bool judges_texts(const struct tsim_hf_reading *r) {
    return tsim_hf_is_class(r, "*ForSequenceClassification") || tsim_hf_is_class(r, "*ForMultipleChoice");
}

static bool judges_tokens(const struct tsim_hf_reading *r) {
    return tsim_hf_is_class(r, "*ForTokenClassification") || tsim_hf_is_class(r, "*ForQuestionAnswering");
}

/* The norms of a layer stand behind its blocks; the one behind the embedding is counted as the final one. */
static void finish_bert(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    bool is_pretraining = tsim_hf_is_class(r, "*ForPreTraining");
    int64_t h = m->hidden, transform = h * h + h + 2 * h + m->vocab;
    m->positions += tsim_hf_number(r, "type_vocab_size", 0, 1000000, 2); /* added like positions */
    if (tsim_hf_is_class(r, "*ForMaskedLM") || is_pretraining)
        m->other_parameters += transform;
    m->pooler = !tsim_hf_is_class(r, "*ForMaskedLM") && !judges_tokens(r);
    if (is_pretraining)
        m->other_parameters += 2 * h + 2; /* the next sentence */
    if (m->pooler && !is_pretraining && !judges_texts(r) && !tsim_hf_is_class(r, "*Model"))
        tsim_hf_note(r, "Counted as a BertModel with its pooler; a classifier of another class comes on top.");
}

/* An ELECTRA that judges texts or tokens is a BERT without pooler; in its own training a generator stands beside it. */
static void finish_electra(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    m->positions += tsim_hf_number(r, "type_vocab_size", 0, 1000000, 2);
    m->pooler = judges_texts(r);
    if (tsim_hf_number(r, "embedding_size", 1, 10000000, 128) != m->hidden)
        tsim_hf_refuse(r, tsim_hf_find(r, "embedding_size") ? "embedding_size" : "hidden_size",
                       "a table narrower than the layers, which a model file cannot say");
    if (!judges_texts(r) && !judges_tokens(r) && !tsim_hf_is_class(r, "*Model"))
        tsim_hf_refuse(r, tsim_hf_find(r, "architectures") ? "architectures" : "model_type",
                       "a generator stands beside it: 'tsim show model/electra-base' shows how a model file says one");
}

/* The stacks share their widths; each has a table of relative biases, and the decoder as many layers as it says. */
static void finish_t5(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    const struct tsim_value *proj = tsim_hf_find(r, "feed_forward_proj");
    m->encoder_layers = m->layers;
    m->layers += tsim_hf_number(r, "num_decoder_layers", 1, 100000, m->encoder_layers);
    m->head_dim = tsim_hf_required(r, "d_kv", 1000000);
    m->relative_buckets = tsim_hf_number(r, "relative_attention_num_buckets", 1, 1000000, 32);
    m->gated_mlp = proj && proj->kind == TSIM_VALUE_SCALAR && strncmp(proj->text, "gated", 5) == 0;
}

/* The decoder has the shape of the encoder before it. */
static void join_decoder(struct tsim_hf_reading *r) {
    static const char *const KEYS[][3] = {
        {"num_hidden_layers", "encoder_layers", "not the encoder's"},
        {"decoder_attention_heads", "encoder_attention_heads", "not as many as the encoder's"},
        {"decoder_ffn_dim", "encoder_ffn_dim", "not as wide as the encoder's"}};
    struct tsim_model *m = &r->model;
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        int64_t of_encoder = tsim_hf_required(r, KEYS[i][1], 10000000);
        if (tsim_hf_number(r, KEYS[i][0], 1, 10000000, of_encoder) != of_encoder)
            tsim_hf_refuse(r, KEYS[i][0], KEYS[i][2]);
    }
    m->encoder_layers = m->layers;
    m->layers += tsim_hf_required(r, "decoder_layers", 100000);
}

/* Completes Whisper: stacks of one shape, a table of positions for each, two convolutions of width 3 before the
 * encoder, and keys without biases. */
static void finish_whisper(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    int64_t h = m->hidden, mels = tsim_hf_required(r, "num_mel_bins", 100000);
    join_decoder(r);
    m->positions =
        tsim_hf_required(r, "max_source_positions", 1000000) + tsim_hf_required(r, "max_target_positions", 1000000);
    int64_t convolutions = 3 * h * (mels + h) + 2 * h, keys = (2 * m->layers - m->encoder_layers) * h;
    if (convolutions < keys)
        tsim_hf_refuse(r, "num_mel_bins", "so few that a model file cannot say that keys alone have no bias");
    m->other_parameters = convolutions < keys ? 0 : convolutions - keys;
    tsim_hf_note(r,
                 "The convolutions before the encoder are counted and not executed. sequence_length is the encoder's, "
                 "half the frames of sound; decoder_sequence_length the text's.");
}

int64_t tsim_hf_labels(struct tsim_hf_reading *r) {
    const struct tsim_value *labels = tsim_hf_find(r, "id2label");
    if (labels && labels->kind == TSIM_VALUE_MAPPING && labels->n_items > 0)
        return (int64_t)labels->n_items;
    return tsim_hf_number(r, "num_labels", 1, 1000000000, 2);
}

/* Reads the head by its class. A model file's head has a row for each class, and a bias. A ViTModel has a pooler
 * instead, which counts as such rows. A masked model reconstructs the pixels of each patch, and learns a mask. */
static void read_vit_head(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    int64_t h = m->hidden;
    if (tsim_hf_is_class(r, "ViTForImageClassification") || tsim_hf_is_class(r, "DeiTForImageClassification")) {
        m->vocab = tsim_hf_labels(r);
    } else if (tsim_hf_is_class(r, "DeiTForImageClassificationWithTeacher")) { /* a head for each of its two tokens */
        m->vocab = tsim_hf_labels(r);
        m->other_parameters += m->vocab * (h + 1);
    } else if (tsim_hf_is_class(r, "Dinov2Model")) {
        m->vocab = 1;
        m->other_parameters -= h + 1;
        tsim_hf_note(r, "A model without a head, as its class says: the loss is that of one row.");
    } else if (tsim_hf_is_class(r, "ViTModel")) {
        m->vocab = 1;
        m->other_parameters += h * h + h - (h + 1);
        tsim_hf_note(r, "Counted as a ViTModel with its pooler; a classifier of another class comes on top.");
    } else if (tsim_hf_is_class(r, "ViTForMaskedImageModeling")) {
        int64_t stride = tsim_hf_number(r, "encoder_stride", 1, 1000, 16);
        m->vocab = stride * stride * m->image.channels;
        m->other_parameters += h;
        tsim_hf_note(r, "The head reconstructs every patch; its time is that of one token's.");
    } else {
        tsim_hf_refuse(
            r, "architectures",
            "ViTForImageClassification, ViTModel, ViTForMaskedImageModeling, DeiTForImageClassification (WithTeacher) "
            "and Dinov2Model are known");
    }
}

static void finish_vit(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    int64_t image = tsim_hf_required(r, "image_size", 100000), patch = tsim_hf_required(r, "patch_size", 1000);
    if (!tsim_hf_flag(r, "qkv_bias", true))
        tsim_hf_refuse(r, "qkv_bias", "a model file cannot express biases everywhere except there");
    if (image % patch != 0)
        tsim_hf_refuse(r, "image_size", "not a multiple of patch_size");
    m->image =
        (struct tsim_image){.size = image, .patch = patch, .channels = tsim_hf_number(r, "num_channels", 1, 1000, 3)};
    m->positions = m->image.tokens = (image / patch) * (image / patch) + 1;
    if (strcmp(r->type, "deit") == 0) { /* a token that learns from a teacher */
        m->positions = ++m->image.tokens;
        m->other_parameters += m->hidden;
    }
    if (strcmp(r->type, "dinov2") == 0) { /* factors behind each block, a token for what is masked */
        m->ffn_hidden = m->hidden * tsim_hf_number(r, "mlp_ratio", 1, 1000, 4);
        m->other_parameters += m->layers * 2 * m->hidden + m->hidden;
        if (tsim_hf_flag(r, "use_swiglu_ffn", false))
            tsim_hf_refuse(r, "use_swiglu_ffn", "gated feed-forward blocks with one product for both parts");
        PASS_OVER(r, "layerscale_value", "apply_layernorm", "reshape_hidden_states", "out_features", "out_indices",
                  "stage_names", "use_mask_token");
    }
    read_vit_head(r);
}

/* Adds to every layer. */
static void count_more(struct tsim_hf_reading *r, int64_t of_layer) {
    r->model.other_parameters += r->model.layers * of_layer;
}

/* Returns a mapping that this file has in place of the whole; whoever reads it checks its keys. */
static const struct tsim_value *mapping(const struct tsim_hf_reading *r, const char *key) {
    const struct tsim_value *value = tsim_hf_find(r, key);
    return value && value->kind == TSIM_VALUE_MAPPING ? value : NULL;
}

/* Returns a whole number within such a mapping. */
static int64_t number_within(struct tsim_hf_reading *r, const struct tsim_value *within, const char *key, int64_t least,
                             int64_t most, int64_t otherwise) {
    const struct tsim_value *value = within ? tsim_value_find(within, key) : NULL;
    char *end;
    if (!value || tsim_value_is_text(value, "null"))
        return otherwise;
    long long parsed = value->kind == TSIM_VALUE_SCALAR ? strtoll(value->text, &end, 10) : -1;
    if (value->kind != TSIM_VALUE_SCALAR || *end != '\0' || parsed < least || parsed > most) {
        tsim_value_error(r->diags, TSIM_ERR_RANGE, value, key, "no whole number from %lld to %lld", (long long)least,
                         (long long)most);
        tsim_hf_failed(r, TSIM_ERR_RANGE);
        return otherwise;
    }
    return parsed;
}

static bool flag_within(const struct tsim_value *within, const char *key, bool otherwise) {
    const struct tsim_value *value = within ? tsim_value_find(within, key) : NULL;
    return value ? tsim_value_is_text(value, "true") : otherwise;
}

/* OPT's table of positions has two rows more. */
static void finish_opt(struct tsim_hf_reading *r) {
    r->model.positions += 2;
    r->model.bias = tsim_hf_flag(r, "enable_bias", true);
    if (tsim_hf_number(r, "word_embed_proj_dim", 1, 10000000, r->model.hidden) != r->model.hidden)
        tsim_hf_refuse(r, "word_embed_proj_dim", "embeddings of another width, which a model file cannot say");
    if (!tsim_hf_flag(r, "do_layer_norm_before", true))
        tsim_hf_refuse(r, "do_layer_norm_before", "norms behind the blocks alone, which a model file cannot say");
}

/* A norm stands behind the embedding. */
static void finish_bloom(struct tsim_hf_reading *r) {
    r->model.other_parameters += 2 * r->model.hidden;
    if (tsim_hf_flag(r, "apply_residual_connection_post_layernorm", false))
        tsim_hf_note(r, "apply_residual_connection_post_layernorm changes no time.");
}

/* Completes Falcon. 7B has one key and value head, and blocks side by side behind one norm; 40B and 180B have groups,
 * and a norm for each block. */
static void finish_falcon(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    bool is_new = tsim_hf_flag(r, "new_decoder_architecture", false), is_multi = tsim_hf_flag(r, "multi_query", true),
         is_side_by_side = tsim_hf_flag(r, "parallel_attn", true) || is_new;
    m->kv_heads = is_new     ? tsim_hf_number(r, tsim_hf_key(r, "num_kv_heads|n_head_kv"), 1, 1000000, m->heads)
                  : is_multi ? 1
                             : m->heads;
    m->bias = tsim_hf_flag(r, "bias", false);
    m->position = tsim_hf_flag(r, "alibi", false) ? TSIM_POSITION_ALIBI : TSIM_POSITION_ROPE;
    m->parallel_block = is_side_by_side;
    m->parallel_norms = is_new && tsim_hf_number(r, "num_ln_in_parallel_attn", 1, 2, 2) == 2;
    tsim_hf_find(r, "num_ln_in_parallel_attn");
    tsim_hf_find(r, "num_kv_heads"); /* said of the 7B, too, which has one */
    tsim_hf_find(r, "n_head_kv");
}

/* Its parts of attention stand in a mapping. Without biases its norms have none either. */
static void finish_mpt(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    const struct tsim_value *attention = mapping(r, "attn_config");
    const struct tsim_value *type = attention ? tsim_value_find(attention, "attn_type") : NULL;
    m->bias = !tsim_hf_flag(r, "no_bias", true);
    m->norm = m->bias ? TSIM_NORM_LAYERNORM : TSIM_NORM_RMSNORM;
    m->ffn_hidden = m->hidden * tsim_hf_number(r, "expansion_ratio", 1, 100, 4);
    m->kv_heads = type && tsim_value_is_text(type, "multiquery_attention")
                      ? 1
                      : number_within(r, attention, "kv_n_heads", 1, 1000000, m->heads);
    tsim_hf_find(r, "max_seq_len");
    tsim_hf_find(r, "norm_type");
    if (flag_within(attention, "alibi", true)) {
        m->position = TSIM_POSITION_ALIBI;
    } else if (flag_within(attention, "rope", false)) {
        m->position = TSIM_POSITION_ROPE;
    } else {
        m->position = TSIM_POSITION_LEARNED;
        m->positions = tsim_hf_required(r, "max_seq_len", 1000000000);
    }
    if (flag_within(attention, "qk_ln", false))
        tsim_hf_refuse(r, "attn_config", "a model file cannot express norms of queries and keys as wide as all heads");
}

/* Completes DistilBERT, which has no token types and no pooler. */
static void finish_distilbert(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    if (tsim_hf_is_class(r, "*ForMaskedLM"))
        m->other_parameters += m->hidden * m->hidden + m->hidden + 2 * m->hidden + m->vocab;
    else if (judges_texts(r))
        m->pooler = true;
    else if (!judges_tokens(r) && !tsim_hf_is_class(r, "*Model"))
        tsim_hf_note(r, "Counted without a head; a classifier comes on top.");
}

static void finish_gpt_bigcode(struct tsim_hf_reading *r) {
    r->model.kv_heads = tsim_hf_flag(r, "multi_query", true) ? 1 : r->model.heads;
}

/* GPT-J and CodeGen: biases in the feed-forward block and the head alone; a part of each head is rotated. */
static void finish_gptj(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    int64_t head = m->heads > 0 ? m->hidden / m->heads : 0, rotated = tsim_hf_number(r, "rotary_dim", 1, 1000000, 64);
    count_more(r, m->ffn_hidden + m->hidden);
    m->other_parameters += m->vocab;
    m->rotary_frac = head > rotated ? (double)rotated / (double)head : 0;
}

/* Every other layer attends to a window: attention_layers says which, or attention_types, [[["global", "local"],
 * 12]]. */
static void read_local_layers(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    const struct tsim_value *layers = tsim_hf_find(r, "attention_layers"), *types = tsim_hf_find(r, "attention_types");
    const int64_t window = tsim_hf_number(r, "window_size", 1, 1000000000, 256);
    for (int depth = 0; !layers && depth < 2 && types && types->kind == TSIM_VALUE_SEQUENCE && types->n_items > 0;
         depth++)
        types = types->items[0];
    layers = layers ? layers : types;
    if (!layers || layers->kind != TSIM_VALUE_SEQUENCE || layers->n_items == 0 || layers->n_items > (size_t)m->layers) {
        tsim_hf_refuse(r, "attention_types",
                       "the file does not say, in a way that tsim knows, which layers attend to a window");
        return;
    }
    struct tsim_layer_entry *entries = TSIM_NEW_ARRAY(r->arena, layers->n_items, struct tsim_layer_entry);
    bool has_any = false;
    for (size_t i = 0; i < layers->n_items; i++) {
        bool is_local = tsim_value_is_text(layers->items[i], "local");
        has_any |= is_local;
        entries[i] =
            (struct tsim_layer_entry){.kind = is_local ? TSIM_MIXING_WINDOW : TSIM_MIXING_ATTENTION, .count = 1};
    }
    if (!has_any)
        return;
    put_pattern(r, entries, layers->n_items, (int64_t)layers->n_items);
    m->attention_window = window;
}

/* Only the product behind attention has a bias. */
static void finish_gpt_neo(struct tsim_hf_reading *r) {
    count_more(r, r->model.hidden + r->model.ffn_hidden + r->model.hidden);
    read_local_layers(r);
}

static void finish_olmo(struct tsim_hf_reading *r) {
    finish_llama(r);
    tsim_hf_note(r, "Its norms have no scales: counted are those of other models, less than 0.01 %.");
    if (tsim_hf_find(r, "clip_qkv"))
        tsim_hf_note(r, "Clipping of queries, keys and values is not modelled.");
}

static void finish_glm(struct tsim_hf_reading *r) {
    r->model.qkv_bias = tsim_hf_flag(r, "attention_bias", strcmp(r->type, "glm") == 0);
    r->model.rotary_frac = tsim_hf_share(r, "partial_rotary_factor", 0.5);
}

static void finish_chatglm(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    if (tsim_hf_flag(r, "multi_query_attention", false))
        m->kv_heads = tsim_hf_required(r, "multi_query_group_num", 1000000);
    m->qkv_bias = tsim_hf_flag(r, "add_qkv_bias", false);
    m->bias = tsim_hf_flag(r, "add_bias_linear", false);
    m->norm = tsim_hf_flag(r, "rmsnorm", true) ? TSIM_NORM_RMSNORM : TSIM_NORM_LAYERNORM;
    m->rotary_frac = 0.5;
}

/* The 7B rotates; the 13B, whose file has no max_position_embeddings, has ALiBi. */
static void finish_baichuan(struct tsim_hf_reading *r) {
    if (!tsim_hf_find(r, "max_position_embeddings"))
        r->model.position = TSIM_POSITION_ALIBI;
}

/* Completes InternLM: one flag for the biases of all four products of attention (InternLM), or one for three of them
 * (InternLM 3). */
static void finish_internlm(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    bool is_first = strcmp(r->type, "internlm") == 0, bias = tsim_hf_flag(r, "bias", is_first);
    m->qkv_bias = is_first ? bias : tsim_hf_flag(r, "qkv_bias", bias);
    if (bias)
        count_more(r, m->hidden);
    if (bias && strcmp(r->type, "internlm3") == 0)
        count_more(r, 2 * m->ffn_hidden + m->hidden);
}

static void finish_stablelm(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    m->qkv_bias = tsim_hf_flag(r, "use_qkv_bias", false);
    m->parallel_block = tsim_hf_flag(r, "use_parallel_residual", false);
    m->rotary_frac = tsim_hf_share(r, tsim_hf_key(r, "partial_rotary_factor|rope_pct"), 0.25);
    if (tsim_hf_flag(r, "qk_layernorm", false))
        tsim_hf_refuse(r, "qk_layernorm", "a model file cannot express layer norms of queries and keys");
}

static void finish_nemotron(struct tsim_hf_reading *r) {
    finish_llama(r);
    r->model.rotary_frac = tsim_hf_share(r, tsim_hf_key(r, "partial_rotary_factor|rope_percent"), 0.5);
}

/* Granite's mixture: a router and experts of intermediate_size; some have an expert of another width that all share. */
static void finish_granite_moe(struct tsim_hf_reading *r) {
    struct tsim_experts *e = &r->model.experts;
    finish_llama(r);
    read_experts(r, "num_local_experts");
    int64_t shared = tsim_hf_number(r, "shared_intermediate_size", 0, 10000000, 0);
    if (shared % e->ffn_hidden != 0)
        tsim_hf_refuse(r, "shared_intermediate_size", "not a multiple of intermediate_size");
    e->shared = shared / e->ffn_hidden;
}

static void finish_dbrx(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    const struct tsim_value *attention = mapping(r, "attn_config"), *blocks = mapping(r, "ffn_config");
    tsim_hf_find(r, "max_seq_len");
    m->kv_heads = number_within(r, attention, "kv_n_heads", 1, 1000000, 1);
    m->ffn_hidden = number_within(r, blocks, "ffn_hidden_size", 1, 10000000, 3584);
    m->experts = (struct tsim_experts){.count = number_within(r, blocks, "moe_num_experts", 1, 100000, 4),
                                       .active = number_within(r, blocks, "moe_top_k", 1, 100000, 1),
                                       .ffn_hidden = m->ffn_hidden,
                                       .every = 1};
}

static void finish_phimoe(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    read_experts(r, "num_local_experts");
    m->qkv_bias = tsim_hf_flag(r, "attention_bias", false);
    if (m->qkv_bias)
        count_more(r, m->hidden);
    if (tsim_hf_flag(r, "lm_head_bias", false))
        m->other_parameters += m->vocab;
}

static void finish_deepseek_moe(struct tsim_hf_reading *r) {
    finish_llama(r);
    read_fine_experts(r, "n_routed_experts");
}

static void finish_dots1(struct tsim_hf_reading *r) {
    finish_qwen3(r);
    read_fine_experts(r, "n_routed_experts");
    r->model.experts.router_bias = true;
}

static void finish_bailing(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    read_fine_experts(r, "num_experts");
    m->qkv_bias = tsim_hf_flag(r, "use_qkv_bias", false);
    m->qk_norm = tsim_hf_flag(r, "use_qk_norm", false);
    m->experts.router_bias = tsim_hf_flag(r, "moe_router_enable_expert_bias", false);
    if (tsim_hf_flag(r, "use_bias", false))
        count_more(r, m->hidden);
    if (tsim_hf_find(r, "moe_shared_expert_intermediate_size") && m->experts.shared > 0 &&
        tsim_hf_number(r, "moe_shared_expert_intermediate_size", 1, 10000000, 1) !=
            m->experts.shared * m->experts.ffn_hidden &&
        tsim_hf_number(r, "moe_shared_expert_intermediate_size", 1, 10000000, 1) != m->experts.ffn_hidden)
        tsim_hf_refuse(r, "moe_shared_expert_intermediate_size", "not as wide as its experts");
    if (m->rotary_frac == 0)
        m->rotary_frac = tsim_hf_share(r, "partial_rotary_factor", 1);
}

/* Ring and Ling with linear attention: the last layer of each group attends, by way of latent vectors from 2.5 on, and so
 * do those behind the last whole group. */
static void finish_bailing_linear(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    int64_t group = tsim_hf_required(r, "layer_group_size", 100000), n = m->layers;
    m->qk_norm = true;
    finish_bailing(r);
    m->qk_norm = tsim_hf_flag(r, "use_qk_norm", true);
    if (tsim_hf_find(r, "kv_lora_rank"))
        read_latent(r);
    m->lightning = (struct tsim_lightning){.heads = m->heads,
                                           .head_dim = tsim_hf_number(r, "head_dim", 1, 1000000, m->hidden / m->heads),
                                           .chunk = 64,
                                           .rotary = true};
    struct tsim_layer_entry *entries = TSIM_NEW_ARRAY(r->arena, (size_t)n, struct tsim_layer_entry);
    for (int64_t i = 0; i < n; i++)
        entries[i] = (struct tsim_layer_entry){
            .kind = (i + 1) % group == 0 || i >= n / group * group ? TSIM_MIXING_ATTENTION : TSIM_MIXING_LIGHTNING,
            .count = 1};
    put_pattern(r, entries, (size_t)n, n);
    if (tsim_hf_flag(r, "linear_silu", false))
        tsim_hf_note(r, "linear_silu: its pass over queries, keys and values is not modelled.");
    PASS_OVER(r, "group_norm_size", "linear_scale", "linear_rope", "linear_mode", "linear_cache_dtype",
              "max_window_layers");
}

/* Three layers in four are linear attention as in Qwen3-Next; dense blocks, or experts with one that all share. */
static void finish_qwen3_5(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    if (strstr(r->type, "moe")) {
        finish_qwen3_next(r);
    } else {
        read_delta(r);
    }
    m->output_gate = tsim_hf_flag(r, "attn_output_gate", true);
}

/* Norms of each head's queries and keys, in every Hunyuan that trains; one key says otherwise. */
static void finish_hunyuan(struct tsim_hf_reading *r) {
    finish_llama(r);
    r->model.qk_norm = tsim_hf_flag(r, "use_qk_norm", true);
    if (tsim_hf_flag(r, "use_cla", false))
        tsim_hf_refuse(r, "use_cla", "layers that share keys and values, which a model file cannot say");
    int64_t experts = tsim_hf_number(r, "num_experts", 1, 100000, 1), shared = same_number(r, "num_shared_expert", 0);
    if (experts > 1)
        r->model.experts =
            (struct tsim_experts){.count = experts,
                                  .active = same_number(r, "moe_topk", 1),
                                  .ffn_hidden = same_number(r, "moe_intermediate_size", r->model.ffn_hidden),
                                  .shared = shared,
                                  .every = 1,
                                  .first = tsim_hf_number(r, "moe_layer_num_skipped", 0, 100000, 0)};
}

static void finish_ernie(struct tsim_hf_reading *r) {
    r->model.bias = tsim_hf_flag(r, "use_bias", false);
}

/* K-EXAONE: EXAONE 4's attention, and experts behind dense layers, with a bias of each score. */
static void finish_exaone_moe(struct tsim_hf_reading *r) {
    struct tsim_experts *e = &r->model.experts;
    const struct tsim_value *list = tsim_hf_find(r, "is_moe_layer");
    read_fine_experts(r, "num_experts");
    e->router_bias = true;
    for (size_t i = 0; list && list->kind == TSIM_VALUE_SEQUENCE && i < list->n_items; i++)
        if (tsim_value_is_text(list->items[i], "true") != ((int64_t)i >= e->first)) {
            tsim_hf_refuse(r, "is_moe_layer", "not all layers from first_k_dense_replace on");
            return;
        }
}

/* nanochat: norms without scales, also of queries and keys, and a square of ReLU. */
static void finish_nanochat(struct tsim_hf_reading *r) {
    PASS_OVER(r, "final_logit_softcapping", "attention_bias");
}

/* Jais 2: layer norms, and biases of all products. */
static void finish_jais2(struct tsim_hf_reading *r) {
    r->model.bias = tsim_hf_flag(r, "attention_bias", true);
    if (tsim_hf_flag(r, "mlp_bias", true) != r->model.bias)
        tsim_hf_refuse(r, "mlp_bias", "not as attention_bias: a model file has one word for both");
}

/* Completes Apertus, which has two learned numbers in each activation function (xIELU). */
static void finish_apertus(struct tsim_hf_reading *r) {
    finish_llama(r);
    count_more(r, 2);
    r->model.qk_norm = tsim_hf_flag(r, "qk_norm", true);
}

/* Completes Phi-3; some of its models rotate a part of each head (Phi-4-mini). */
static void finish_phi3(struct tsim_hf_reading *r) {
    r->model.rotary_frac = tsim_hf_share(r, "partial_rotary_factor", 1);
}

/* Completes Qwen, which has one width for gate and other half together. */
static void finish_qwen(struct tsim_hf_reading *r) {
    if (r->model.ffn_hidden % 2 != 0)
        tsim_hf_refuse(r, "intermediate_size", "not even: a half each is for the gate and for what it gates");
    r->model.ffn_hidden /= 2;
    tsim_hf_find(r, "no_bias");
}

/* A family that names the sizes of its Mamba-2 layers as those of transformers' own do, or as Nemotron-H's and
 * Mamba2's. */
static void read_mamba(struct tsim_hf_reading *r) {
    r->model.mamba = (struct tsim_mamba){
        .heads = tsim_hf_required(r, tsim_hf_key(r, "mamba_n_heads|mamba_num_heads|n_mamba_heads|num_heads"), 1000000),
        .head_dim = tsim_hf_required(r, tsim_hf_key(r, "mamba_d_head|mamba_head_dim|mamba_headdim|head_dim"), 1000000),
        .state = tsim_hf_required(r, tsim_hf_key(r, "mamba_d_state|ssm_state_size|state_size"), 1000000),
        .groups = tsim_hf_required(r, tsim_hf_key(r, "mamba_n_groups|mamba_ngroups|n_groups"), 1000000),
        .kernel = tsim_hf_number(r, tsim_hf_key(r, "mamba_d_conv|conv_kernel"), 1, 1000, 4),
        .chunk = tsim_hf_number(r, tsim_hf_key(r, "mamba_chunk_size|chunk_size"), 1, 100000, 256)};
    tsim_hf_find(r, tsim_hf_key(r, "mamba_expand|expand"));
    if (!tsim_hf_flag(r, tsim_hf_key(r, "mamba_conv_bias|use_conv_bias"), true))
        tsim_hf_refuse(r, "mamba_conv_bias", "a convolution without a bias, which is not modelled");
}

/* Layers of a list, which counts from `first`, are of one kind, the others of another. */
static void put_listed(struct tsim_hf_reading *r, const struct tsim_value *list, int64_t first, enum tsim_mixing listed,
                       enum tsim_mixing other) {
    struct tsim_model *m = &r->model;
    struct tsim_layer_entry *entries = TSIM_NEW_ARRAY(r->arena, (size_t)m->layers, struct tsim_layer_entry);
    for (int64_t i = 0; i < m->layers; i++) {
        char number[24];
        size_t k = 0;
        snprintf(number, sizeof number, "%lld", (long long)(i + first));
        while (k < list->n_items && !tsim_value_is_text(list->items[k], number))
            k++;
        entries[i] = (struct tsim_layer_entry){.kind = k < list->n_items ? listed : other, .count = 1};
    }
    put_pattern(r, entries, (size_t)m->layers, m->layers);
}

/* hybrid_override_pattern: M Mamba-2, * attention, - a feed-forward block, E experts; each layer is one of them. */
static void finish_nemotron_h(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    const struct tsim_value *pattern = tsim_hf_find(r, "hybrid_override_pattern");
    const char *text = pattern && pattern->kind == TSIM_VALUE_SCALAR ? pattern->text : "";
    size_t n = strlen(text);
    if (n == 0 || n != (size_t)m->layers || strspn(text, "M*-E") != n) {
        tsim_hf_refuse(r, "hybrid_override_pattern", "not a letter (M, *, -, E) for each layer");
        return;
    }
    struct tsim_layer_entry *entries = TSIM_NEW_ARRAY(r->arena, n, struct tsim_layer_entry);
    for (size_t i = 0; i < n; i++)
        entries[i] = (struct tsim_layer_entry){.kind = text[i] == 'M'   ? TSIM_MIXING_MAMBA
                                                       : text[i] == '*' ? TSIM_MIXING_ATTENTION
                                                                        : TSIM_MIXING_NONE,
                                               .feed_forward = text[i] == '-'   ? TSIM_FOLLOWING_DENSE
                                                               : text[i] == 'E' ? TSIM_FOLLOWING_EXPERTS
                                                                                : TSIM_FOLLOWING_NONE,
                                               .count = 1};
    put_pattern(r, entries, n, m->layers);
    m->activation = TSIM_ACTIVATION_RELU;
    if (strchr(text, 'M'))
        read_mamba(r);
    if (strchr(text, 'E')) {
        read_experts(r, "n_routed_experts");
        m->experts.ffn_hidden = tsim_hf_required(r, "moe_intermediate_size", 10000000);
        int64_t shared = tsim_hf_number(r, "moe_shared_expert_intermediate_size", 0, 10000000, 0);
        if (shared % m->experts.ffn_hidden != 0)
            tsim_hf_refuse(r, "moe_shared_expert_intermediate_size", "not a multiple of moe_intermediate_size");
        m->experts.shared = shared / m->experts.ffn_hidden;
        m->experts.latent = tsim_hf_number(r, "moe_latent_size", 0, 10000000, 0);
        m->experts.router_bias = true;
    }
    tsim_hf_find(r, "expand");
    tsim_hf_find(r, "n_shared_experts");
}

/* No layer attends: heads only say which tensor ranks divide the channels. */
static void finish_mamba(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    bool is_falcon = strcmp(r->type, "falcon_mamba") == 0;
    struct tsim_layer_entry *entry = TSIM_NEW(r->arena, struct tsim_layer_entry);
    *entry = (struct tsim_layer_entry){.kind = TSIM_MIXING_MAMBA1, .feed_forward = TSIM_FOLLOWING_NONE, .count = 1};
    put_pattern(r, entry, 1, 1);
    m->heads = m->kv_heads = m->hidden % 64 == 0 ? m->hidden / 64 : 1;
    m->head_dim = m->hidden / m->heads;
    m->mamba1 =
        (struct tsim_mamba1){.width = tsim_hf_number(r, "intermediate_size", 1, 10000000,
                                                     tsim_hf_number(r, "expand", 1, 100, 2) * m->hidden),
                             .state = tsim_hf_number(r, "state_size", 1, 1000000, 16),
                             .step_rank = tsim_hf_number(r, "time_step_rank", 1, 1000000, (m->hidden + 15) / 16),
                             .kernel = tsim_hf_number(r, "conv_kernel", 1, 1000, 4)};
    m->ffn_hidden = m->mamba1.width;
    if (tsim_hf_flag(r, "use_bias", false))
        tsim_hf_refuse(r, "use_bias", "products with biases, which Mamba-1 layers do not have");
    if (!tsim_hf_flag(r, "use_conv_bias", true))
        tsim_hf_refuse(r, "use_conv_bias", "a convolution without a bias, which is not modelled");
    if (is_falcon)
        tsim_hf_note(r, "The norms of step sizes and state vectors have no parameters here, and are left out.");
    PASS_OVER(r, "expand", "d_inner", "d_model", "n_layer", "mixer_rms_eps", "ssm_cfg", "rms_norm", "fused_add_norm",
              "pad_vocab_size_multiple");
}

/* Layer l has attention if l % period is an offset, and experts by another period and offset. */
static void finish_jamba(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    int64_t period = tsim_hf_required(r, "attn_layer_period", 100000),
            offset = tsim_hf_number(r, "attn_layer_offset", 0, 100000, 4),
            every = tsim_hf_number(r, "expert_layer_period", 1, 100000, 2),
            first = tsim_hf_number(r, "expert_layer_offset", 0, 100000, 1) - every + 1, n = 0;
    if (offset >= period) {
        tsim_hf_refuse(r, "attn_layer_offset", "not below attn_layer_period");
        return;
    }
    struct tsim_layer_entry *entries = TSIM_NEW_ARRAY(r->arena, 3, struct tsim_layer_entry);
    if (offset > 0)
        entries[n++] = (struct tsim_layer_entry){.kind = TSIM_MIXING_MAMBA1, .count = offset};
    entries[n++] = (struct tsim_layer_entry){.kind = TSIM_MIXING_ATTENTION, .count = 1};
    if (period - offset > 1)
        entries[n++] = (struct tsim_layer_entry){.kind = TSIM_MIXING_MAMBA1, .count = period - offset - 1};
    put_pattern(r, entries, (size_t)n, period);
    m->mamba1 = (struct tsim_mamba1){.width = tsim_hf_number(r, "mamba_expand", 1, 100, 2) * m->hidden,
                                     .state = tsim_hf_number(r, "mamba_d_state", 1, 1000000, 16),
                                     .step_rank = tsim_hf_number(r, "mamba_dt_rank", 1, 1000000, (m->hidden + 15) / 16),
                                     .kernel = tsim_hf_number(r, "mamba_d_conv", 1, 1000, 4),
                                     .norms = true};
    if (!tsim_hf_flag(r, "mamba_conv_bias", true))
        tsim_hf_refuse(r, "mamba_conv_bias", "a convolution without a bias, which is not modelled");
    if (tsim_hf_number(r, "num_experts", 1, 100000, 1) > 1) {
        read_experts(r, "num_experts");
        m->experts.every = every;
        m->experts.first = first;
        if (first < 0)
            tsim_hf_refuse(r, "expert_layer_offset", "experts that do not come last in their period");
    }
    tsim_hf_find(r, "num_experts_per_tok");
}

/* ---- Mamba-2 ---- */

/* Completes a model of Mamba-2 alone. */
static void finish_mamba2(struct tsim_hf_reading *r) {
    static const struct tsim_layer_entry ENTRY = {
        .kind = TSIM_MIXING_MAMBA, .feed_forward = TSIM_FOLLOWING_NONE, .count = 1};
    struct tsim_model *m = &r->model;
    put_pattern(r, &ENTRY, 1, 1);
    read_mamba(r);
    m->heads = m->kv_heads = m->mamba.heads;
    m->head_dim = m->mamba.head_dim;
    tsim_hf_find(r, "rms_norm");
    tsim_hf_find(r, "norm_before_gate");
}

/* Bamba: attn_layer_indices are the layers that attend. */
static void finish_bamba(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    const struct tsim_value *list = tsim_hf_find(r, "attn_layer_indices");
    finish_llama(r);
    read_mamba(r);
    int64_t rotated = tsim_hf_number(r, "attn_rotary_emb", 1, 1000000, 64), head = m->hidden / m->heads;
    m->rotary_frac = head > rotated ? (double)rotated / (double)head : 0;
    if (list && list->kind == TSIM_VALUE_SEQUENCE && m->layers <= 10000)
        put_listed(r, list, 0, TSIM_MIXING_ATTENTION, TSIM_MIXING_MAMBA);
    else
        tsim_hf_refuse(r, "attn_layer_indices", "no list of the layers that attend");
}

/* Falcon-H1: heads of attention and of Mamba-2 side by side in every layer. */
static void finish_falcon_h1(struct tsim_hf_reading *r) {
    static const struct tsim_layer_entry ENTRY = {.kind = TSIM_MIXING_BESIDE, .count = 1};
    static const char *const BIASES[] = {"attention_bias", "mlp_bias", "mamba_proj_bias", "projectors_bias"};
    struct tsim_model *m = &r->model;
    read_mamba(r);
    put_pattern(r, &ENTRY, 1, 1);
    m->mamba.plain_gate = !tsim_hf_flag(r, "mamba_rms_norm", false);
    int64_t width = m->mamba.heads * m->mamba.head_dim;
    if (tsim_hf_number(r, "mamba_d_ssm", 1, 10000000, width) != width)
        tsim_hf_refuse(r, "mamba_d_ssm", "not mamba_n_heads x mamba_d_head");
    if (tsim_hf_find(r, "attn_layer_indices"))
        tsim_hf_refuse(r, "attn_layer_indices", "layers without attention, which no released Falcon-H1 has");
    if (!tsim_hf_flag(r, "mamba_use_mlp", true))
        tsim_hf_refuse(r, "mamba_use_mlp", "layers without a feed-forward block, which no released Falcon-H1 has");
    for (size_t i = 0; i < sizeof BIASES / sizeof BIASES[0]; i++)
        if (tsim_hf_flag(r, BIASES[i], false))
            tsim_hf_refuse(r, BIASES[i], "biases, which no released Falcon-H1 has");
    PASS_OVER(r, "mamba_norm_before_gate", "expansion_factor", "mlp_expansion_factor", "attention_in_multiplier",
              "attention_out_multiplier", "key_multiplier", "lm_head_multiplier", "mlp_multipliers",
              "ssm_in_multiplier", "ssm_out_multiplier", "ssm_multipliers", "add_bos_token");
}

/* Zamba2: Mamba-2 in every layer, in some of them behind a block that they share. */
static void finish_zamba2(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    const struct tsim_value *types = tsim_hf_find(r, "layers_block_type");
    struct tsim_layer_entry *entries = TSIM_NEW_ARRAY(r->arena, (size_t)m->layers, struct tsim_layer_entry);
    if (!types || types->kind != TSIM_VALUE_SEQUENCE || types->n_items != (size_t)m->layers) {
        tsim_hf_refuse(r, "layers_block_type", "not mamba or hybrid for each layer");
        return;
    }
    for (int64_t i = 0; i < m->layers; i++)
        entries[i] = (struct tsim_layer_entry){
            .kind = tsim_value_is_text(types->items[i], "hybrid") ? TSIM_MIXING_SHARED : TSIM_MIXING_MAMBA,
            .feed_forward = TSIM_FOLLOWING_NONE,
            .count = 1};
    put_pattern(r, entries, (size_t)m->layers, m->layers);
    read_mamba(r);
    m->head_dim = 2 * m->hidden / m->heads;
    m->position = tsim_hf_flag(r, "use_mem_rope", false) ? TSIM_POSITION_ROPE : TSIM_POSITION_NONE;
    m->shared.blocks = tsim_hf_number(r, "num_mem_blocks", 1, 1000, 1);
    int64_t rank = tsim_hf_number(r, tsim_hf_key(r, "adapter_rank|lora_rank"), 1, 100000, 128);
    if (tsim_hf_flag(r, tsim_hf_key(r, "use_shared_mlp_adapter|use_shared_block_lora"), false))
        m->shared.adapter_rank = rank;
    if (tsim_hf_flag(r, tsim_hf_key(r, "use_shared_attention_adapter|use_shared_attention_lora"), false))
        tsim_hf_refuse(r, "use_shared_attention_adapter", "products of each layer beside the shared block's attention");
    if (tsim_hf_flag(r, "add_bias_linear", false))
        tsim_hf_refuse(r, "add_bias_linear", "biases, which no released Zamba2 has");
    PASS_OVER(r, "hybrid_layer_ids", "attention_head_dim", "attention_hidden_size", "kv_channels", "num_query_groups",
              "use_long_context", "num_logits_to_keep", "use_mamba_kernels", "ffn_hidden_size", "gated_linear_unit");
}

/* Granite 4: Mamba-2 or attention in each layer, as layer_types says, then experts with a wide one for all tokens, or
 * that one alone. */
static void finish_granite_hybrid(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    const struct tsim_value *position = tsim_hf_find(r, "position_embedding_type");
    if (!tsim_hf_find(r, "layer_types"))
        tsim_hf_refuse(r, "layer_types", "missing: it says which layers attend");
    m->position = position && tsim_value_is_text(position, "rope") ? TSIM_POSITION_ROPE : TSIM_POSITION_NONE;
    read_mamba(r);
    if (tsim_hf_number(r, "num_local_experts", 0, 100000, 0) > 0) {
        finish_granite_moe(r);
    } else {
        finish_llama(r);
        m->ffn_hidden = tsim_hf_required(r, "shared_intermediate_size", 10000000);
    }
}

/* BART's norms stand behind the blocks; two norms behind the embedding are counted as the final ones, which mBART has
 * as well. Each stack has a table of positions with two rows more. M2M-100 and Pegasus compute positions. */
static void finish_bart(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    const struct tsim_value *function = tsim_hf_find(r, "activation_function");
    join_decoder(r);
    if (m->position == TSIM_POSITION_LEARNED)
        m->positions = 2 * (tsim_hf_required(r, "max_position_embeddings", 1000000000) + 2);
    if (strcmp(r->type, "mbart") == 0)
        m->other_parameters += 4 * m->hidden;
    if (function && tsim_value_is_text(function, "relu"))
        m->activation = TSIM_ACTIVATION_RELU;
    tsim_hf_find(r, "scale_embedding");
    PASS_OVER(r, "normalize_before", "normalize_embedding", "add_final_layer_norm", "add_bias_logits",
              "static_position_embeddings", "extra_pos_embeddings");
}

/* ---- encoders of today ---- */

/* Every third layer attends to all tokens, the first among them, which has no norm before: the one behind the embedding
 * is counted for it. Norms have no shifts. */
static void finish_modernbert(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    int64_t h = m->hidden, period = tsim_hf_number(r, "global_attn_every_n_layers", 1, 100000, 3);
    struct tsim_layer_entry *entries = TSIM_NEW_ARRAY(r->arena, 2, struct tsim_layer_entry);
    m->bias = tsim_hf_flag(r, "attention_bias", false);
    if (tsim_hf_flag(r, "mlp_bias", false) != m->bias || tsim_hf_flag(r, "norm_bias", false) != m->bias)
        tsim_hf_refuse(r, "mlp_bias", "not as attention_bias and norm_bias: a model file has one word for all");
    m->norm = m->bias ? TSIM_NORM_LAYERNORM : TSIM_NORM_RMSNORM;
    if (period > 1) {
        entries[0] = (struct tsim_layer_entry){.kind = TSIM_MIXING_ATTENTION, .count = 1};
        entries[1] = (struct tsim_layer_entry){.kind = TSIM_MIXING_WINDOW, .count = period - 1};
        put_pattern(r, entries, 2, period);
        m->attention_window = tsim_hf_number(r, "local_attention", 1, 1000000000, 128);
    }
    tsim_hf_find(r, "local_attention");
    m->causal = strcmp(r->type, "modernbert-decoder") == 0;
    if (tsim_hf_is_class(r, "*ForMaskedLM") || tsim_hf_is_class(r, "*ForCausalLM"))
        m->other_parameters += h * h + h + (tsim_hf_flag(r, "decoder_bias", true) ? m->vocab : 0);
    if (judges_texts(r) || judges_tokens(r))
        m->other_parameters += h * h + h;
    PASS_OVER(r, "global_rope_theta", "local_rope_theta", "decoder_bias", "sparse_pred_ignore_index",
              "sparse_prediction", "deterministic_flash_attn", "initializer_cutoff_factor", "reference_compile");
}

/* A protein's letters are tokens: BERT with a norm before each block, and a regression on the maps of attention. */
static void finish_esm(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    const struct tsim_value *position = tsim_hf_find(r, "position_embedding_type");
    int64_t h = m->hidden;
    if (!position || !tsim_value_is_text(position, "rotary"))
        tsim_hf_refuse(r, "position_embedding_type", "not rotary, as that of ESM-2 is");
    if (tsim_hf_flag(r, "is_folding_model", false))
        tsim_hf_refuse(r, "is_folding_model", "a model that folds proteins has blocks that are no transformer's");
    if (tsim_hf_flag(r, "emb_layer_norm_before", false))
        m->other_parameters += 2 * h;
    m->other_parameters += m->layers * m->heads + 1;
    if (tsim_hf_is_class(r, "*ForMaskedLM"))
        m->other_parameters += h * h + 3 * h + m->vocab;
    m->pooler = judges_texts(r);
    tsim_hf_find(r, "token_dropout");
    tsim_hf_find(r, "vocab_list");
    tsim_hf_find(r, "esmfold_config");
}

/* ---- LFM2 ---- */

/* layer_types, or before it full_attn_idxs, tells attention from short convolutions. The width that is written is adjusted
 * to that of SwiGLU, as Llama 1's was: two thirds of it, rounded up. */
static void finish_lfm2(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    const struct tsim_value *list = tsim_hf_find(r, "full_attn_idxs"), *tied = tsim_hf_find(r, "tie_embedding");
    bool has_experts = strcmp(r->type, "lfm2_moe") == 0;
    if (tied)
        m->tied_embeddings = tsim_hf_flag(r, "tie_embedding", true);
    m->short_convolution = (struct tsim_short_convolution){.kernel = tsim_hf_number(r, "conv_L_cache", 1, 1000, 3),
                                                           .bias = tsim_hf_flag(r, "conv_bias", false)};
    if (!has_experts && tsim_hf_flag(r, "block_auto_adjust_ff_dim", true)) {
        int64_t multiple = tsim_hf_number(r, "block_multiple_of", 1, 1000000, 256);
        double factor = tsim_hf_share(r, "block_ffn_dim_multiplier", 1);
        int64_t width = (int64_t)(factor * (double)(2 * m->ffn_hidden / 3));
        m->ffn_hidden = (width + multiple - 1) / multiple * multiple;
    }
    if (has_experts) {
        read_experts(r, "num_experts");
        m->experts.ffn_hidden = tsim_hf_required(r, "moe_intermediate_size", 10000000);
        m->experts.first = tsim_hf_number(r, "num_dense_layers", 0, 100000, 2);
        m->experts.router_bias = tsim_hf_flag(r, "use_expert_bias", true);
    }
    if (list && list->kind == TSIM_VALUE_SEQUENCE && !tsim_hf_find(r, "layer_types") && m->layers <= 10000)
        put_listed(r, list, 0, TSIM_MIXING_ATTENTION, TSIM_MIXING_SHORT);
    PASS_OVER(r, "block_dim", "block_ff_dim", "block_use_swiglu", "block_use_xavier_init", "conv_dim", "conv_dim_out",
              "conv_use_xavier_init", "num_heads", "use_pos_enc", "block_multiple_of", "block_ffn_dim_multiplier",
              "block_auto_adjust_ff_dim", "block_mlp_init_scale", "block_out_init_scale");
}

/* ---- Kimi Linear ---- */

/* linear_attn_config lists the layers of Kimi Delta Attention, counted from 1; the others are latent attention. */
static void finish_kimi_linear(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    struct tsim_experts *e = &m->experts;
    const struct tsim_value *linear = mapping(r, "linear_attn_config"),
                            *list = linear ? tsim_value_find(linear, "kda_layers") : NULL;
    read_latent(r);
    int64_t width = number_within(r, linear, "head_dim", 1, 1000000, 128);
    m->delta =
        (struct tsim_delta){.value_heads = number_within(r, linear, "num_heads", 1, 1000000, m->heads),
                            .key_heads = number_within(r, linear, "num_heads", 1, 1000000, m->heads),
                            .key_dim = width,
                            .value_dim = width,
                            .gate_rank = width,
                            .full_gate = linear && tsim_value_find(linear, "use_full_rank_gate") &&
                                         tsim_value_is_text(tsim_value_find(linear, "use_full_rank_gate"), "true"),
                            .kernel = number_within(r, linear, "short_conv_kernel_size", 1, 1000, 4),
                            .chunk = 64};
    if (!list || list->kind != TSIM_VALUE_SEQUENCE || m->layers > 10000) {
        tsim_hf_refuse(r, "linear_attn_config", "without kda_layers, which says which layers are linear");
        return;
    }
    put_listed(r, list, 1, TSIM_MIXING_DELTA, TSIM_MIXING_ATTENTION);
    m->position = tsim_hf_flag(r, "mla_use_nope", true) ? TSIM_POSITION_NONE : TSIM_POSITION_ROPE;
    e->count = tsim_hf_required(r, "num_experts", 100000);
    e->active = tsim_hf_required(r, "num_experts_per_token", 100000);
    e->ffn_hidden = tsim_hf_required(r, "moe_intermediate_size", 10000000);
    e->shared = tsim_hf_number(r, "num_shared_experts", 0, 100000, 0);
    e->first = tsim_hf_number(r, "first_k_dense_replace", 0, 100000, 0);
    e->every = 1;
    e->router_bias = true;
    m->output_gate = tsim_hf_flag(r, "mla_use_output_gate", false);
    e->latent = tsim_hf_number(r, "routed_expert_hidden_size", 0, 1000000, 0);
    if (tsim_hf_flag(r, "latent_moe_use_norm", false))
        m->other_parameters += (m->layers - e->first) * e->latent;
    if (tsim_hf_number(r, "attn_res_block_size", 0, 100000, 0) > 0 && !r->input->approximates)
        tsim_hf_refuse(r, "attn_res_block_size",
                       "residuals that weigh what earlier blocks of layers gave; --approximate adds the last alone");
    else if (tsim_hf_find(r, "attn_res_block_size")) { /* a norm and a row before each block and before the head */
        m->other_parameters += (4 * m->layers + 2) * m->hidden;
        r->is_approximate = true;
        tsim_hf_note(r,
                     "approximate: attn_res_block_size: residuals are those of the layer before; their weights count.");
    }
    PASS_OVER(r, "activation_situ_beta", "activation_situ_linear_beta");
    PASS_OVER(r, "moe_layer_freq", "moe_renormalize", "moe_router_activation_func", "num_expert_group",
              "use_grouped_topk");
}

/* ---- Trinity ---- */

/* Norms before and behind the blocks, a gate on attention's result, experts behind some dense layers. */
static void finish_afmoe(struct tsim_hf_reading *r) {
    read_fine_experts(r, "num_experts");
    r->model.experts.router_bias = true;
    PASS_OVER(r, "global_attn_every_n_layers", "load_balance_coeff", "mup_enabled", "num_expert_groups",
              "num_limited_groups", "route_norm", "route_scale", "score_func", "use_grouped_mm");
}

/* ---- architectures ---- */

/* clang-format off */
#define NAMES(hidden_, layers_, heads_, ffn_) .hidden = (hidden_), .layers = (layers_), .heads = (heads_), .ffn = (ffn_)
#define USUAL_NAMES NAMES("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
#define GROUPED_NAMES USUAL_NAMES, .kv_heads = "num_key_value_heads"
#define NEEDS_GROUPS GROUPED_NAMES, .kv_required = true
#define LLAMA_LIKE .gated_mlp = true, .norm = TSIM_NORM_RMSNORM, .position = TSIM_POSITION_ROPE, .causal = true
#define NEOX_LIKE .norm = TSIM_NORM_LAYERNORM, .position = TSIM_POSITION_ROPE, .causal = true
#define BERT_LIKE .norm = TSIM_NORM_LAYERNORM, .position = TSIM_POSITION_LEARNED, .bias = true
#define MAMBA_LIKE .norm = TSIM_NORM_RMSNORM, .position = TSIM_POSITION_NONE, .causal = true
#define LIKE_BERT USUAL_NAMES, \
    .positions = "max_position_embeddings", .tied = true, .finish = finish_bert, .fixed = {BERT_LIKE}
#define LIKE_GPTJ NAMES("n_embd", "n_layer", "n_head", "n_inner"), \
    .ffn_is_optional = true, .finish = finish_gptj, .fixed = {NEOX_LIKE, .parallel_block = true}
#define LIKE_BART NAMES("d_model", "encoder_layers", "encoder_attention_heads", "encoder_ffn_dim"), \
    .tied = true, .finish = finish_bart

const struct tsim_hf_family TSIM_HF_FAMILIES[] = {
    {.types = "gpt2", NAMES("n_embd", "n_layer", "n_head", "n_inner"), .positions = "n_positions",
     .ffn_is_optional = true, .tied = true, .fixed = {BERT_LIKE, .causal = true}},
    /* The attention of the others stands on LlamaAttention. */
    {.types = "llama|granite|helium|code_llama|cwm", .whole = "llama|granite|helium|code_llama", GROUPED_NAMES,
     .fixed = {LLAMA_LIKE}, .finish = finish_llama},
    {.types = "mistral|ministral|ministral3", NEEDS_GROUPS, .fixed = {LLAMA_LIKE}},
    {.types = "mixtral", NEEDS_GROUPS, .fixed = {LLAMA_LIKE}, .finish = finish_mixtral},
    {.types = "qwen2|qwen2_vl|qwen2_vl_text|qwen2_5_vl|qwen2_5_vl_text|mimo", NEEDS_GROUPS,
     .fixed = {LLAMA_LIKE, .qkv_bias = true}},
    {.types = "qwen2_moe", NEEDS_GROUPS, .fixed = {LLAMA_LIKE, .qkv_bias = true}, .finish = finish_qwen2_moe},
    {.types = "qwen3|qwen3_vl_text", NEEDS_GROUPS, .head_dim = 128, .fixed = {LLAMA_LIKE, .qk_norm = true},
     .finish = finish_qwen3},
    {.types = "qwen3_moe", NEEDS_GROUPS, .fixed = {LLAMA_LIKE, .qk_norm = true}, .finish = finish_qwen3_moe},
    {.types = "qwen3_next", NEEDS_GROUPS, .head_dim = 256,
     .fixed = {LLAMA_LIKE, .qk_norm = true, .output_gate = true}, .finish = finish_qwen3_next},
    {.types = "gemma", NEEDS_GROUPS, .tied = true, .head_dim = 256, .fixed = {LLAMA_LIKE}, .finish = finish_llama},
    {.types = "gemma2", .period = 2, NEEDS_GROUPS, .tied = true, .head_dim = 256,
     .fixed = {LLAMA_LIKE, .post_norms = true}, .finish = finish_gemma2},
    {.types = "vaultgemma", .period = 2, NEEDS_GROUPS, .tied = true, .head_dim = 256, .fixed = {LLAMA_LIKE},
     .finish = finish_gemma2},
    {.types = "gemma3_text", .period = 6, NEEDS_GROUPS, .tied = true, .head_dim = 256,
     .fixed = {LLAMA_LIKE, .qk_norm = true, .post_norms = true}, .finish = finish_gemma2},
    {.types = "phi3|xverse|Yi|aquila", GROUPED_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_phi3},
    {.types = "gpt_oss", .period = 2, NEEDS_GROUPS, .head_dim = 64,
     .fixed = {LLAMA_LIKE, .bias = true, .sinks = true, .rotary_scaled = true}, .finish = finish_gpt_oss},
    {.types = "llama4_text", .period = 4,
     NAMES("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size_mlp"),
     .kv_heads = "num_key_value_heads", .kv_required = true, .fixed = {LLAMA_LIKE, .window_chunks = true},
     .finish = finish_llama4},
    {.types = "olmo2|olmo3", GROUPED_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_olmo2},
    {.types = "olmoe|flex_olmo", GROUPED_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_olmoe},
    {.types = "glm4_moe|glm4v_moe_text|solar_open", NEEDS_GROUPS, .fixed = {LLAMA_LIKE}, .finish = finish_glm4_moe},
    {.types = "minimax_m2", NEEDS_GROUPS, .fixed = {LLAMA_LIKE}, .finish = finish_minimax},
    {.types = "ernie4_5_moe", NEEDS_GROUPS, .tied = true, .fixed = {LLAMA_LIKE}, .finish = finish_ernie_moe},
    {.types = "smollm3|minicpm", GROUPED_NAMES, .tied = true, .fixed = {LLAMA_LIKE}, .finish = finish_llama},
    {.types = "seed_oss", NEEDS_GROUPS, .fixed = {LLAMA_LIKE}, .finish = finish_seed_oss},
    {.types = "starcoder2", NEEDS_GROUPS, .tied = true, .fixed = {NEOX_LIKE, .bias = true},
     .finish = finish_starcoder2},
    {.types = "cohere", GROUPED_NAMES, .tied = true, .fixed = {LLAMA_LIKE, .parallel_block = true},
     .finish = finish_cohere},
    {.types = "phi", GROUPED_NAMES, .fixed = {NEOX_LIKE, .bias = true, .parallel_block = true},
     .finish = finish_phi},
    {.types = "gpt_neox", USUAL_NAMES, .fixed = {NEOX_LIKE, .bias = true}, .finish = finish_gpt_neox},
    {.types = "bert", USUAL_NAMES, .positions = "max_position_embeddings", .tied = true, .fixed = {BERT_LIKE},
     .finish = finish_bert},
    {.types = "electra", USUAL_NAMES, .positions = "max_position_embeddings", .tied = true, .fixed = {BERT_LIKE},
     .finish = finish_electra},
    {.types = "t5", NAMES("d_model", "num_layers", "num_heads", "d_ff"), .tied = true,
     .fixed = {.norm = TSIM_NORM_RMSNORM, .position = TSIM_POSITION_RELATIVE, .causal = true}, .finish = finish_t5},
    {.types = "mamba|falcon_mamba", .hidden = "hidden_size|d_model", .layers = "num_hidden_layers|n_layer",
     .ffn = "intermediate_size", .ffn_is_optional = true, .tied = true, .fixed = {MAMBA_LIKE},
     .finish = finish_mamba},
    {.types = "jamba", NEEDS_GROUPS, .fixed = {.gated_mlp = true, MAMBA_LIKE}, .finish = finish_jamba},
    {.types = "whisper", NAMES("d_model", "encoder_layers", "encoder_attention_heads", "encoder_ffn_dim"),
     .tied = true, .fixed = {BERT_LIKE, .causal = true}, .finish = finish_whisper},
    {.types = "vit|deit|dinov2", USUAL_NAMES, .ffn_is_optional = true, .fixed = {BERT_LIKE}, .finish = finish_vit},
    {.types = "deepseek_v2|deepseek_v3|kimi_k2|deepseek_v32|glm4_moe_lite|glm_moe_dsa|mistral4", USUAL_NAMES,
     .fixed = {LLAMA_LIKE}, .finish = finish_deepseek},
    {.types = "deepseek", GROUPED_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_deepseek_moe},
    {.types = "dots1", GROUPED_NAMES, .fixed = {LLAMA_LIKE, .qk_norm = true}, .finish = finish_dots1},
    {.types = "bailing_moe|bailing_moe_v2", GROUPED_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_bailing},
    {.types = "opt", NAMES("hidden_size", "num_hidden_layers", "num_attention_heads", "ffn_dim"),
     .positions = "max_position_embeddings", .tied = true,
     .fixed = {.norm = TSIM_NORM_LAYERNORM, .position = TSIM_POSITION_LEARNED, .activation = TSIM_ACTIVATION_RELU,
      .causal = true},
     .finish = finish_opt},
    {.types = "bloom",
     NAMES("hidden_size|n_embed", "n_layer|num_hidden_layers", "n_head|num_attention_heads", "n_inner"),
     .ffn_is_optional = true, .tied = true,
     .fixed = {.norm = TSIM_NORM_LAYERNORM, .position = TSIM_POSITION_ALIBI, .causal = true, .bias = true},
     .finish = finish_bloom},
    {.types = "falcon|RefinedWebModel",
     NAMES("hidden_size", "num_hidden_layers|n_layer", "num_attention_heads|n_head", "ffn_hidden_size"),
     .ffn_is_optional = true, .tied = true, .fixed = {NEOX_LIKE}, .finish = finish_falcon},
    {.types = "mpt", NAMES("d_model", "n_layers", "n_heads", "ffn_hidden_size"), .ffn_is_optional = true,
     .tied = true, .fixed = {.position = TSIM_POSITION_ALIBI, .causal = true}, .finish = finish_mpt},
    {.types = "roberta|xlm-roberta|camembert", LIKE_BERT},
    {.types = "distilbert", NAMES("dim", "n_layers", "n_heads", "hidden_dim"),
     .positions = "max_position_embeddings", .tied = true, .fixed = {BERT_LIKE}, .finish = finish_distilbert},
    {.types = "gpt_bigcode", NAMES("n_embd", "n_layer", "n_head", "n_inner"), .positions = "n_positions",
     .ffn_is_optional = true, .tied = true, .fixed = {BERT_LIKE, .causal = true}, .finish = finish_gpt_bigcode},
    {.types = "gptj", LIKE_GPTJ},
    {.types = "codegen", LIKE_GPTJ},
    {.types = "gpt_neo", NAMES("hidden_size", "num_layers", "num_heads", "intermediate_size"),
     .positions = "max_position_embeddings", .ffn_is_optional = true, .tied = true,
     .fixed = {.norm = TSIM_NORM_LAYERNORM, .position = TSIM_POSITION_LEARNED, .causal = true},
     .finish = finish_gpt_neo},
    {.types = "olmo", GROUPED_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_olmo},
    {.types = "glm", NEEDS_GROUPS, .fixed = {LLAMA_LIKE}, .finish = finish_glm},
    {.types = "glm4|glm4v_text", NEEDS_GROUPS, .fixed = {LLAMA_LIKE, .post_norms = true}, .finish = finish_glm},
    {.types = "chatglm", NAMES("hidden_size", "num_layers", "num_attention_heads", "ffn_hidden_size"),
     .kv_heads = "multi_query_group_num", .vocab = "padded_vocab_size", .fixed = {LLAMA_LIKE},
     .finish = finish_chatglm},
    {.types = "baichuan", USUAL_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_baichuan},
    {.types = "internlm", GROUPED_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_internlm},
    {.types = "internlm2|internlm3", NEEDS_GROUPS, .fixed = {LLAMA_LIKE}, .finish = finish_internlm},
    {.types = "stablelm|stablelm_epoch", GROUPED_NAMES, .fixed = {NEOX_LIKE, .gated_mlp = true},
     .finish = finish_stablelm},
    {.types = "orion", GROUPED_NAMES, .fixed = {NEOX_LIKE, .gated_mlp = true}},
    {.types = "nemotron", NEEDS_GROUPS, .fixed = {NEOX_LIKE, .activation = TSIM_ACTIVATION_RELU},
     .finish = finish_nemotron},
    {.types = "nemotron_h", NEEDS_GROUPS, .fixed = {MAMBA_LIKE}, .finish = finish_nemotron_h},
    {.types = "cohere2", NEEDS_GROUPS, .tied = true, .period = 4, .fixed = {LLAMA_LIKE, .parallel_block = true},
     .finish = finish_cohere},
    {.types = "granitemoe|granitemoeshared", GROUPED_NAMES, .tied = true, .fixed = {LLAMA_LIKE},
     .finish = finish_granite_moe},
    {.types = "dbrx", NAMES("d_model", "n_layers", "n_heads", "ffn_hidden_size"), .ffn_is_optional = true,
     .fixed = {LLAMA_LIKE}, .finish = finish_dbrx},
    {.types = "phimoe", NEEDS_GROUPS, .fixed = {NEOX_LIKE, .gated_mlp = true}, .finish = finish_phimoe},
    /* The text of models of text and images. */
    {.types = "qwen3_vl_moe_text", NEEDS_GROUPS, .head_dim = 128, .fixed = {LLAMA_LIKE, .qk_norm = true},
     .finish = finish_qwen3_moe},
    {.types = "qwen3_5_text", NEEDS_GROUPS, .head_dim = 256, .fixed = {LLAMA_LIKE, .qk_norm = true},
     .finish = finish_qwen3_5},
    {.types = "qwen3_5_moe_text", NEEDS_GROUPS, .ffn_is_optional = true, .head_dim = 256,
     .fixed = {LLAMA_LIKE, .qk_norm = true}, .finish = finish_qwen3_5},
    {.types = "exaone",
     NAMES("hidden_size", "num_layers|num_hidden_layers", "num_attention_heads", "intermediate_size"),
     .kv_heads = "num_key_value_heads", .fixed = {LLAMA_LIKE}},
    /* EXAONE 4's norms stand behind the blocks, and as many. */
    {.types = "exaone4", NEEDS_GROUPS, .period = 4, .fixed = {LLAMA_LIKE, .qk_norm = true}},
    {.types = "exaone_moe", NEEDS_GROUPS, .period = 4, .fixed = {LLAMA_LIKE, .qk_norm = true},
     .finish = finish_exaone_moe},
    {.types = "nanochat", NEEDS_GROUPS,
     .fixed = {.norm = TSIM_NORM_PLAIN, .position = TSIM_POSITION_ROPE, .activation = TSIM_ACTIVATION_RELU,
      .causal = true},
     .finish = finish_nanochat},
    {.types = "jais2", GROUPED_NAMES, .fixed = {NEOX_LIKE, .activation = TSIM_ACTIVATION_RELU},
     .finish = finish_jais2},
    {.types = "hunyuan_v1_dense|hunyuan_v1_moe", GROUPED_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_hunyuan},
    {.types = "ernie4_5", NEEDS_GROUPS, .tied = true, .fixed = {LLAMA_LIKE}, .finish = finish_ernie},
    /* ArceeForCausalLM is LlamaForCausalLM with another feed-forward block. */
    {.types = "arcee", .whole = "arcee", GROUPED_NAMES,
     .fixed = {.norm = TSIM_NORM_RMSNORM, .position = TSIM_POSITION_ROPE, .activation = TSIM_ACTIVATION_RELU,
      .causal = true},
     .finish = finish_llama},
    {.types = "apertus", GROUPED_NAMES,
     .fixed = {.norm = TSIM_NORM_RMSNORM, .position = TSIM_POSITION_ROPE, .activation = TSIM_ACTIVATION_RELU,
      .causal = true, .qk_norm = true},
     .finish = finish_apertus},
    {.types = "granitemoehybrid", GROUPED_NAMES, .tied = true, .fixed = {LLAMA_LIKE},
     .finish = finish_granite_hybrid},
    {.types = "bamba", NEEDS_GROUPS, .fixed = {LLAMA_LIKE}, .finish = finish_bamba},
    {.types = "falcon_h1", NEEDS_GROUPS, .fixed = {LLAMA_LIKE}, .finish = finish_falcon_h1},
    {.types = "zamba2", GROUPED_NAMES, .tied = true, .fixed = {LLAMA_LIKE}, .finish = finish_zamba2},
    {.types = "minimax|minimax_text_01|minimax_m1|MiniMaxText01|MiniMaxM1", NEEDS_GROUPS, .fixed = {LLAMA_LIKE},
     .finish = finish_minimax01},
    {.types = "bailing_moe_linear|bailing_hybrid|bailing_moe_v2_5", GROUPED_NAMES, .fixed = {LLAMA_LIKE},
     .finish = finish_bailing_linear},
    {.types = "mamba2", .hidden = "hidden_size", .layers = "num_hidden_layers", .ffn = "intermediate_size",
     .ffn_is_optional = true, .fixed = {MAMBA_LIKE}, .finish = finish_mamba2},
    {.types = "lfm2|lfm2_moe",
     NAMES("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size|block_ff_dim"),
     .kv_heads = "num_key_value_heads", .kv_required = true, .tied = true, .fixed = {LLAMA_LIKE, .qk_norm = true},
     .finish = finish_lfm2},
    {.types = "kimi_linear", USUAL_NAMES, .fixed = {LLAMA_LIKE}, .finish = finish_kimi_linear},
    {.types = "afmoe", NEEDS_GROUPS, .head_dim = 128,
     .fixed = {LLAMA_LIKE, .qk_norm = true, .output_gate = true, .post_norms = true}, .finish = finish_afmoe},
    {.types = "modernbert|modernbert-decoder", USUAL_NAMES, .tied = true,
     .fixed = {.gated_mlp = true, .position = TSIM_POSITION_ROPE}, .finish = finish_modernbert},
    {.types = "esm", USUAL_NAMES, .tied = true,
     .fixed = {.norm = TSIM_NORM_LAYERNORM, .position = TSIM_POSITION_ROPE, .bias = true}, .finish = finish_esm},
    {.types = "bart|mbart", LIKE_BART, .fixed = {BERT_LIKE, .causal = true}},
    {.types = "m2m_100|pegasus", LIKE_BART,
     .fixed = {.norm = TSIM_NORM_LAYERNORM, .position = TSIM_POSITION_NONE, .causal = true, .bias = true}},
    {.types = "qwen", USUAL_NAMES, .fixed = {LLAMA_LIKE, .qkv_bias = true}, .finish = finish_qwen},
    {.types = "mt5", NAMES("d_model", "num_layers", "num_heads", "d_ff"),
     .fixed = {.norm = TSIM_NORM_RMSNORM, .position = TSIM_POSITION_RELATIVE, .causal = true, .gated_mlp = true},
     .finish = finish_t5},
};
/* clang-format on */
const size_t TSIM_N_HF_FAMILIES = sizeof TSIM_HF_FAMILIES / sizeof TSIM_HF_FAMILIES[0];
