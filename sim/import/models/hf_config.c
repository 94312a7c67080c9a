#include "import/models/hf_config.h"

#include "import/flow_text.h"
#include "import/models/hf_keys.h"
#include "import/models/hf_reading.h"
#include "import/overrides.h"

#include "config/catalogue_load.h"
#include "config/text/document.h"
#include "model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static const char *lacked_keys(struct tsim_hf_reading *r) {
    static const char *const USUAL[] = {"hidden_size",         "num_hidden_layers", "num_attention_heads",
                                        "num_key_value_heads", "intermediate_size", "vocab_size"};
    const char *text = "";
    for (size_t i = 0; i < sizeof USUAL / sizeof USUAL[0]; i++)
        if (!tsim_hf_find(r, USUAL[i]))
            text = tsim_arena_printf(r->arena, "%s%s%s", text, *text ? ", " : "", USUAL[i]);
    return text;
}

/* Models of these types are trained and have a part that tsim does not have. */
static const struct {
    const char *types, *part;
} REFUSED[] = {
    {"gemma3n|gemma3n_text", "embeddings of every layer and several residual streams (AltUp)"},
    {"gemma4|gemma4_text", "embeddings of every layer and heads of two widths"},
    {"deepseek_v4", "attention to compressed tokens and several residual streams (hyper-connections)"},
    {"hymba", "layers with attention and Mamba-1 side by side, and keys that layers share"},
    {"zamba", "attention blocks that layers share, before Mamba-1"},
    {"longcat_flash", "two blocks of attention beside the experts of a layer, and experts that do nothing"},
    {"olmo_hybrid", "a gated delta rule with norms behind the blocks"},
    {"mimo_v2_flash|step3p5", "layers whose heads differ in number or width"},
    {"step3_text|step3_vl", "attention by multi-matrix factorization"},
    {"nemotron-nas", "layers of different widths, some without attention"},
    {"rwkv|rwkv5|rwkv6|rwkv7|xlstm|retnet|recurrent_gemma",
     "recurrent layers other than Mamba and the gated delta rule"},
    {"bitnet", "weights of three values, which are made anew in every step"},
    {"blt", "bytes that are gathered into patches of different lengths"},
    {"doge", "attention to tokens that a mask picks"},
    {"diffllama", "attention as the difference of two softmaxes"},
    {"jetmoe", "experts within attention"},
    {"aria_text|aria", "experts beside a shared block, in layers of images and text"},
    {"phi4_multimodal", "adapters for images and sound within its layers"},
    {"minimax_m3|minimax_m3_vl", "attention to blocks of tokens that an index picks"},
    {"t5gemma|t5gemma2", "an encoder and a decoder that differ in shape"},
    {"moshi|musicgen|musicgen_melody", "several streams of tokens of sound"},
    {"chameleon|emu3|janus", "images as tokens of a network of its own"},
    {"layoutlm|layoutlmv2|layoutlmv3|lilt", "positions in two dimensions, of words on a page"},
    {"decision_transformer", "states, actions and rewards in place of tokens"},
    {"vision-encoder-decoder|encoder-decoder|speech-encoder-decoder", "an encoder and a decoder of two families"},
    {"switch_transformers|nllb-moe", "experts in an encoder and a decoder"},
    {"albert", "layers that share their weights"},
    {"deberta|deberta-v2", "disentangled attention"},
    {"xlnet", "attention of two streams"},
    {"longformer|big_bird|led", "attention to windows and to some tokens of the whole text"},
    {"mllama|mllama_text_model|idefics", "layers that attend to an image"},
    {"clip|siglip|siglip2|align|chinese_clip", "two towers that are compared with each other"},
    {"qwen2_5_omni|qwen3_omni_moe", "two language models, one of which speaks"},
    {"wav2vec2|hubert|wavlm|unispeech|data2vec-audio", "convolutions on sound before the layers"},
    {"swin|swinv2|convnext|convnextv2|resnet|efficientnet|mobilenet_v2|mobilevit|segformer|detr",
     "images that shrink from stage to stage; a model file of kind cnn says convolutions"},
    {"grok-1|git|arctic", "a dense feed-forward block beside the experts"},
    {"llada|Dream", "training by diffusion of masked tokens"},
};

static enum tsim_status is_unknown(struct tsim_hf_reading *r, const struct tsim_value *type) {
    const char *lacked = lacked_keys(r);
    const char *word = type->kind == TSIM_VALUE_SCALAR ? type->text : tsim_value_kind_name(type);
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++)
        if (tsim_hf_has_type(REFUSED[i].types, word)) {
            tsim_diag_hint(tsim_value_error(r->diags, TSIM_ERR_INFEASIBLE, type, "model_type",
                                            "'%.40s' has %s, which tsim does not have", word, REFUSED[i].part),
                           "--approximate takes it as a Llama, where it has a Llama's sizes");
            return TSIM_ERR_INFEASIBLE;
        }
    struct tsim_diag *diag =
        tsim_value_error(r->diags, TSIM_ERR_REFERENCE, type, "model_type", "'%.40s' is not known%s%s", word,
                         *lacked ? "; keys that a transformer has and that are missing: " : "", lacked);
    tsim_diag_hint(diag, "--approximate takes it as a Llama, where it has a Llama's sizes");
    return TSIM_ERR_REFERENCE;
}

static void enter(struct tsim_hf_reading *r, const struct tsim_value *root) {
    r->root = root;
    r->is_used = TSIM_NEW_ARRAY(r->arena, root->n_items, bool);
}

static const struct tsim_hf_family *family_of(const struct tsim_value *type) {
    for (size_t i = 0; type && type->kind == TSIM_VALUE_SCALAR && i < TSIM_N_HF_FAMILIES; i++)
        if (tsim_hf_has_type(TSIM_HF_FAMILIES[i].types, type->text))
            return &TSIM_HF_FAMILIES[i];
    return NULL;
}

/* Enters the text part of a model of text and images or sound. */
static void enter_text_config(struct tsim_hf_reading *r) {
    static const char *const TOWERS[] = {"vision_config", "audio_config", "speech_config", "image_config"};
    const char *key = tsim_hf_key(r, "text_config|llm_config|language_config"); /* InternVL's, DeepSeek-VL's */
    const struct tsim_value *text = family_of(tsim_hf_find(r, "model_type")) ? NULL : tsim_hf_find(r, key);
    const struct tsim_value *type =
        text && text->kind == TSIM_VALUE_MAPPING ? tsim_value_find(text, "model_type") : NULL;
    if (!family_of(type))
        return;
    const struct tsim_value *whole = tsim_hf_find(r, "model_type");
    bool has_tower = tsim_hf_has_tower(whole) && !tsim_import_ignores(r->input, "vision_config");
    for (size_t i = 0; i < sizeof TOWERS / sizeof TOWERS[0] && !has_tower; i++)
        if (tsim_hf_find(r, TOWERS[i]) && !tsim_import_ignores(r->input, TOWERS[i]))
            tsim_diag_hint(tsim_hf_refuse(r, TOWERS[i],
                                          "images and sound have towers of their own, which a model file cannot say"),
                           "--ignore %s imports the text part alone", TOWERS[i]);
    const struct tsim_value *tied = tsim_hf_find(r, "tie_word_embeddings");
    if (has_tower)
        r->around = r->root;
    enter(r, text);
    if (tied && !tsim_value_find(text, "tie_word_embeddings")) /* the whole model's word for it */
        r->tied = tsim_value_is_text(tied, "true") ? 1 : -1;
    if (!has_tower)
        tsim_hf_note(
            r, tsim_arena_printf(r->arena, "The text part (%s) is here; towers and projectors are left out.", key));
}

/* Qwen2-VL and Qwen2.5-VL give the sizes of their text beside the tower's. */
static void look_beside(struct tsim_hf_reading *r, const struct tsim_value *type) {
    bool has_tower = tsim_hf_has_tower(type) && !tsim_import_ignores(r->input, "vision_config");
    if (has_tower && tsim_hf_find(r, "vision_config"))
        r->around = r->root;
}

/* Says what the nearest kind stands for, and marks the model. */
static void approximate(struct tsim_hf_reading *r, const char *text) {
    tsim_hf_note(r, tsim_arena_printf(r->arena, "approximate: %s", text));
    r->is_approximate = true;
}

static enum tsim_status find_family(struct tsim_hf_reading *r) {
    enter_text_config(r);
    const struct tsim_value *type = tsim_hf_find(r, "model_type");
    look_beside(r, type);
    if (!type) {
        const char *lacked = lacked_keys(r);
        const struct tsim_value *diffuser = tsim_hf_find(r, "_class_name");
        if (diffuser) {
            tsim_diag_hint(tsim_value_error(r->diags, TSIM_ERR_INFEASIBLE, diffuser, "_class_name",
                                            "a network of diffusers, which is not imported"),
                           "a model file says diffusion transformers ('tsim show model/sd3-medium')");
            return TSIM_ERR_INFEASIBLE;
        }
        tsim_diag_hint(
            tsim_value_error(r->diags, TSIM_ERR_SCHEMA, r->root, "model_type", "missing%s%s",
                             *lacked ? "; missing as well: " : "", lacked),
            "config.json of a model of transformers says which architecture it is: \"model_type\": \"llama\"");
        return TSIM_ERR_SCHEMA;
    }
    static const char *const SIZES[] = {"hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
                                        "vocab_size"};
    bool has_all = r->input->approximates;
    r->family = family_of(type);
    r->type = type->kind == TSIM_VALUE_SCALAR ? type->text : "";
    for (size_t i = 0; !r->family && i < sizeof SIZES / sizeof SIZES[0]; i++)
        has_all = has_all && tsim_hf_find(r, SIZES[i]);
    if (!r->family && has_all) {
        static const struct tsim_value KINDS[] = {{.kind = TSIM_VALUE_SCALAR, .text = "llama"},
                                                  {.kind = TSIM_VALUE_SCALAR, .text = "bert"}};
        bool is_encoder = tsim_hf_find(r, "layer_norm_eps") && tsim_hf_find(r, "max_position_embeddings") &&
                          !tsim_hf_is_class(r, "*ForCausalLM");
        r->family = family_of(&KINDS[is_encoder]);
        r->type = KINDS[is_encoder].text;
        approximate(r, is_encoder ? "this model_type is not known; its sizes are taken as those of a BERT."
                                  : "this model_type is not known; its sizes are taken as those of a Llama.");
        r->is_stand_in = true;
    }
    return r->family ? TSIM_OK : is_unknown(r, type);
}

static void read_sizes(struct tsim_hf_reading *r) {
    const struct tsim_hf_family *f = r->family;
    struct tsim_model *m = &r->model;
    *m = f->fixed;
    m->hidden = tsim_hf_required(r, tsim_hf_key(r, f->hidden), 10000000);
    m->layers = tsim_hf_required(r, tsim_hf_key(r, f->layers), 100000);
    m->heads = f->heads ? tsim_hf_required(r, tsim_hf_key(r, f->heads), 1000000) : 1;
    const char *ffn = tsim_hf_key(r, f->ffn);
    m->ffn_hidden =
        f->ffn_is_optional ? tsim_hf_number(r, ffn, 1, 10000000, 4 * m->hidden) : tsim_hf_required(r, ffn, 10000000);
    bool is_vit = tsim_hf_has_type("vit|deit|dinov2", r->type);
    m->vocab = is_vit ? 1 : tsim_hf_required(r, f->vocab ? f->vocab : "vocab_size", 1000000000);
    m->positions = f->positions ? tsim_hf_required(r, f->positions, 1000000000) : 0;
    m->kv_heads = m->heads;
    if (f->kv_heads)
        m->kv_heads = f->kv_required ? tsim_hf_required(r, f->kv_heads, 1000000)
                                     : tsim_hf_number(r, f->kv_heads, 1, 1000000, m->heads);
    m->head_dim = f->kv_heads ? tsim_hf_number(r, tsim_hf_key(r, "head_dim|attention_head_dim|kv_channels"), 1, 1000000,
                                               f->head_dim)
                              : 0;
    m->tied_embeddings = !is_vit && tsim_hf_flag(r, "tie_word_embeddings", r->tied ? r->tied > 0 : f->tied);
    if (f->finish)
        f->finish(r);
    if (m->rotary_frac == 1)
        m->rotary_frac = 0; /* the whole head, as without a word */
}

static void check_heads(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    if (m->head_dim == 0 && m->hidden % m->heads != 0)
        tsim_hf_refuse(r, r->family->hidden, "not a multiple of the number of heads");
    if (m->head_dim == 0)
        m->head_dim = m->hidden / m->heads;
    if (m->head_dim == 0 || m->heads % m->kv_heads != 0)
        tsim_hf_refuse(r, r->family->kv_heads ? r->family->kv_heads : r->family->heads,
                       "the number of heads is not a multiple of it");
}

/* ---- layers of several kinds ---- */

/* Reads layer_types, a word for each layer. With --approximate, layers of kinds that tsim does not have attend to all
 * tokens. */
static void read_layer_types(struct tsim_hf_reading *r, const struct tsim_value *layers, enum tsim_mixing *kinds) {
    static const struct {
        const char *word;
        enum tsim_mixing kind;
    } WORDS[] = {{"full_attention", TSIM_MIXING_ATTENTION},
                 {"sliding_attention", TSIM_MIXING_WINDOW},
                 {"chunked_attention", TSIM_MIXING_WINDOW},
                 {"attention", TSIM_MIXING_ATTENTION},
                 {"linear_attention", TSIM_MIXING_DELTA},
                 {"mamba", TSIM_MIXING_MAMBA},
                 {"conv", TSIM_MIXING_SHORT}};
    const size_t n_words = sizeof WORDS / sizeof WORDS[0];
    const bool is_lightning = r->model.lightning.heads > 0;
    bool was_approximated = false;
    for (size_t i = 0; i < layers->n_items && i < (size_t)r->model.layers; i++) {
        const struct tsim_value *item = layers->items[i];
        size_t word = 0;
        while (word < n_words && !tsim_value_is_text(item, WORDS[word].word))
            word++;
        if ((WORDS[word % n_words].kind == TSIM_MIXING_DELTA && r->model.delta.value_heads == 0 && !is_lightning) ||
            (WORDS[word % n_words].kind == TSIM_MIXING_MAMBA && r->model.mamba.heads == 0) ||
            (WORDS[word % n_words].kind == TSIM_MIXING_SHORT && r->model.short_convolution.kernel == 0))
            word = n_words; /* its family has no such layers */
        kinds[i] = word < n_words ? WORDS[word].kind : TSIM_MIXING_ATTENTION;
        if (kinds[i] == TSIM_MIXING_DELTA && is_lightning)
            kinds[i] = TSIM_MIXING_LIGHTNING;
        if (word < n_words || tsim_import_ignores(r->input, "layer_types"))
            continue;
        if (r->input->approximates) {
            was_approximated = true;
            continue;
        }
        tsim_hf_failed(r, TSIM_ERR_INFEASIBLE);
        tsim_diag_hint(
            tsim_value_error(r->diags, TSIM_ERR_INFEASIBLE, item, "layer_types",
                             "layers of '%.40s', which tsim does not have",
                             item->kind == TSIM_VALUE_SCALAR ? item->text : "a list"),
            "full_attention, sliding_attention and chunked_attention are known; --approximate takes others as the "
            "first");
        return;
    }
    if (was_approximated)
        approximate(r, "layers of kinds that tsim does not have (layer_types) attend to all tokens here.");
}

/* Puts the kinds of layers if the file does not list them. */
static void guess_layer_types(struct tsim_hf_reading *r, enum tsim_mixing *kinds) {
    const char *type = r->type;
    const struct tsim_value *rope = tsim_hf_find(r, "no_rope_layers"),
                            *letters = tsim_hf_find(r, "sliding_window_pattern");
    bool is_llama4 = strcmp(type, "llama4_text") == 0, is_qwen = strncmp(type, "qwen", 4) == 0;
    bool are_letters = letters && letters->kind == TSIM_VALUE_SCALAR && strspn(letters->text, "LG") > 0; /* "LLLG" */
    int64_t period = are_letters ? (int64_t)strlen(letters->text)
                                 : tsim_hf_number(r, "sliding_window_pattern", 1, 100000, r->family->period),
            from = is_qwen ? tsim_hf_number(r, "max_window_layers", 0, 100000, r->model.layers) : 0;
    if (r->model.delta.value_heads > 0) {
        period = tsim_hf_number(r, "full_attention_interval", 1, 100000, 4);
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

static bool are_alike(struct tsim_layer_entry a, struct tsim_layer_entry b) {
    return a.kind == b.kind && a.feed_forward == b.feed_forward;
}

/* Says a pattern that has an entry for each layer in few words: its shortest beginning that repeats itself, with one
 * entry for layers alike in a row. */
static void shorten_pattern(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    const struct tsim_layer_entry *each = m->pattern;
    int64_t n = m->layers, alike = 0;
    if (m->n_pattern != (size_t)n || m->pattern_length != n)
        return;
    int64_t *ends = TSIM_NEW_ARRAY(r->arena, (size_t)n, int64_t); /* how much of the end up to here is a beginning */
    for (int64_t i = 1; i < n; i++) {
        while (alike > 0 && !are_alike(each[i], each[alike]))
            alike = ends[alike - 1];
        alike += are_alike(each[i], each[alike]);
        ends[i] = alike;
    }
    const int64_t period = n - alike;
    struct tsim_layer_entry *entries = TSIM_NEW_ARRAY(r->arena, (size_t)period, struct tsim_layer_entry);
    m->n_pattern = 0;
    for (int64_t i = 0; i < period; i++) {
        if (i == 0 || !are_alike(each[i], each[i - 1])) {
            entries[m->n_pattern] = each[i];
            entries[m->n_pattern++].count = 0;
        }
        entries[m->n_pattern - 1].count++;
    }
    m->pattern = entries;
    m->pattern_length = period;
}

/* Sets the pattern of a model, unless all of its layers are of one kind. */
static void set_pattern(struct tsim_hf_reading *r, const enum tsim_mixing *kinds) {
    struct tsim_model *m = &r->model;
    struct tsim_layer_entry *entries = TSIM_NEW_ARRAY(r->arena, (size_t)m->layers, struct tsim_layer_entry);
    bool differ = false;
    for (int64_t i = 0; i < m->layers; i++) {
        entries[i] = (struct tsim_layer_entry){.kind = kinds[i], .count = 1};
        differ |= kinds[i] != kinds[0];
    }
    if (!differ)
        return;
    m->pattern = entries;
    m->n_pattern = (size_t)m->layers;
    m->pattern_length = m->layers;
}

/* Puts a window if it is shorter than the longest sequence and some layers have it. */
static void read_layers(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    if (m->n_pattern > 0) /* its family has said it */
        return;
    const char *key = m->window_chunks ? "attention_chunk_size" : "sliding_window";
    const struct tsim_value *types = tsim_hf_find(r, "layer_types");
    int64_t tokens = tsim_hf_number(r, key, 0, 1000000000, 0);
    bool is_whole = r->family->whole && !r->is_approximate && tsim_hf_has_type(r->family->whole, r->type),
         is_on = tsim_hf_flag(r, "use_sliding_window", true) && !is_whole, has_any = false;
    enum tsim_mixing *kinds = TSIM_NEW_ARRAY(r->arena, (size_t)m->layers, enum tsim_mixing);
    if (types && types->kind == TSIM_VALUE_SEQUENCE)
        read_layer_types(r, types, kinds);
    else
        guess_layer_types(r, kinds);
    if (m->delta.value_heads > 0 || m->mamba.heads > 0 || m->short_convolution.kernel > 0 || m->lightning.heads > 0) {
        set_pattern(r, kinds);
        if (m->n_pattern == 0) /* all layers attend: sizes of the others count for nothing */
            m->mamba.heads = 0;
        return;
    }
    for (int64_t i = 0; i < m->layers; i++)
        has_any |= kinds[i] == TSIM_MIXING_WINDOW;
    if (tokens == 0 || !has_any || !is_on || tsim_import_ignores(r->input, key) ||
        tsim_hf_number(r, "max_position_embeddings", 1, 1000000000, INT64_MAX) <= tokens) {
        m->window_chunks = false;
        if (tokens > 0 && is_whole)
            tsim_hf_note(r,
                         tsim_arena_printf(r->arena,
                                           "sliding_window: transformers' code of '%s' has no windows, so its layers "
                                           "attend to all tokens.",
                                           r->type));
        return;
    }
    m->attention_window = tokens;
    set_pattern(r, kinds);
}

/* Reads the head of one stack by its class: a row for each label in place of one for each token, or none. GPT-2's class
 * and those that ChatGLM's and BLOOM's files name have one. The rows of an encoder have biases. */
static void read_head(struct tsim_hf_reading *r) {
    struct tsim_model *m = &r->model;
    bool chooses = !m->causal && tsim_hf_is_class(r, "*ForMultipleChoice"),
         is_classifier = tsim_hf_is_class(r, "*ForSequenceClassification") || chooses,
         is_tagger = tsim_hf_is_class(r, "*ForTokenClassification") ||
                     (!m->causal && tsim_hf_is_class(r, "*ForQuestionAnswering")),
         has_none = tsim_hf_is_class(r, "*Model") && !tsim_hf_is_class(r, "*LMHeadModel") &&
                    !tsim_hf_is_class(r, "ChatGLMModel") && !tsim_hf_is_class(r, "BloomModel");
    if (m->encoder_layers > 0 || r->around || m->vocab <= 1 || !(is_classifier || is_tagger || has_none))
        return;
    int64_t labels = has_none ? 0 : chooses ? 1 : tsim_hf_labels(r);
    m->tied_embeddings = true;
    m->head_rows.each = labels > 0 && labels < m->vocab ? labels : 1;
    m->other_parameters += labels * (m->hidden + (is_tagger || !m->causal ? 1 : 0));
    tsim_hf_note(r, has_none ? "A model without a head, as its class says: the loss is that of one row."
                             : "The head has a row for each label (id2label), as its class says.");
}

static void add_notes(struct tsim_hf_reading *r) {
    static const char *const FURTHER[] = {"num_nextn_predict_layers", "num_mtp_modules", "mtp_num_layers",
                                          "mtp_num_hidden_layers"};
    for (size_t i = 0; i < sizeof FURTHER / sizeof FURTHER[0]; i++)
        if (tsim_hf_number(r, FURTHER[i], 0, 100, 0) > 0)
            tsim_hf_note(r, tsim_arena_printf(r->arena,
                                              "%s: the modules that predict further tokens are left out, and not "
                                              "counted.",
                                              FURTHER[i]));
    if (r->model.position == TSIM_POSITION_ROPE && tsim_hf_find(r, "rope_scaling") && !r->model.rotary_scaled)
        tsim_hf_note(r, "rope_scaling has no effect on performance.");
    if (tsim_hf_find(r, "quantization_config") || tsim_hf_find(r, "quantization"))
        tsim_hf_note(r, "quantization_config is left out: precision is the scenario's (training.precision).");
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

/* Returns the last part of _name_or_path if it is a name, otherwise the architecture's name. */
static const char *name_of(struct tsim_hf_reading *r) {
    const struct tsim_value *path = tsim_hf_find(r, "_name_or_path");
    if (!path || path->kind != TSIM_VALUE_SCALAR)
        return r->type;
    const char *slash = strrchr(path->text, '/');
    char *name = tsim_arena_strdup(r->arena, slash ? slash + 1 : path->text);
    size_t n_good = 0;
    for (char *c = name; *c; c++) {
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
        n_good += (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-' || *c == '_' || *c == '.';
    }
    bool is_name = n_good == strlen(name) && n_good > 0 && n_good <= 64 && name[0] >= 'a' && name[0] <= 'z';
    return is_name ? name : r->type;
}

static enum tsim_status write_model(struct tsim_hf_reading *r, const struct tsim_model *m, const char **yaml) {
    const struct tsim_value *written;
    const char *json = tsim_model_json(r->arena, m), *active = "";
    TSIM_TRY(tsim_document_parse_wide(r->arena, "the model", json, strlen(json), &written, r->diags));
    if (m->experts.count > 0)
        active = tsim_arena_printf(r->arena, ", of which %s are used for a token",
                                   grouped(r->arena, tsim_model_active_parameters(m)));
    *yaml = tsim_arena_printf(r->arena, "# %s parameters%s.\n%s%s", grouped(r->arena, tsim_model_parameters(m)), active,
                              r->notes, tsim_block_text(r->arena, written));
    return TSIM_OK;
}

enum tsim_status tsim_hf_config_import(struct tsim_arena *arena, const struct tsim_value *root,
                                       const struct tsim_import_input *input, const struct tsim_model **model,
                                       const char **yaml, struct tsim_diags *diags) {
    struct tsim_hf_reading r = {.arena = arena, .input = input, .diags = diags, .notes = ""};
    enter(&r, root);
    TSIM_TRY(find_family(&r));
    read_sizes(&r);
    if (r.status == TSIM_OK)
        check_heads(&r);
    if (r.status == TSIM_OK) {
        read_layers(&r);
        shorten_pattern(&r);
        read_head(&r);
    }
    if (r.status == TSIM_OK && r.around)
        tsim_hf_add_tower(&r);
    add_notes(&r);
    r.model.name = name_of(&r);
    tsim_hf_failed(
        &r, tsim_hf_keys_check(arena, r.root, r.is_used, r.is_stand_in, input, diags, &r.notes, &r.is_approximate));
    TSIM_TRY(r.status);
    r.model.approximate = r.is_approximate;
    r.model.source = tsim_arena_printf(arena, "%sconfig.json of transformers, model_type %s",
                                       r.model.approximate ? "approximate, after the " : "", r.type);
    struct tsim_model *kept = TSIM_NEW(arena, struct tsim_model);
    *kept = r.model;
    *model = kept;
    return write_model(&r, kept, yaml);
}
