/* Configurations of Hugging Face: exact parameter counts, model files that read back, what is refused, damaged files.
 */
#include "config/catalogue_load.h"
#include "config/text/document.h"
#include "import/formats.h"
#include "import/models/hf_config.h"
#include "model/model.h"
#include "support/damage.h"

#include <string.h>
#include <unistd.h>

/* The counts that transformers gives (model.num_parameters()). DeepSeek-V3: 671.03 B without its prediction module. */
static const struct example {
    const char *file;
    double parameters;
} EXAMPLES[] = {
    {"gpt2", 124439808},
    {"llama-2-7b", 6738415616},
    {"mistral-7b", 7241732096},
    {"mixtral-8x7b", 46702792704},
    {"qwen2-7b", 7615616512},
    {"qwen1.5-moe", 14315784192},
    {"qwen3-0.6b", 596049920},
    {"qwen3-30b-a3b", 30532122624},
    {"gemma-7b", 8537680896},
    {"phi-2", 2779683840},
    {"bert-base", 109514298},
    {"vit-large", 304326632},
    {"deepseek-v3", 671026419200},
    {"gemma-2-9b", 9241705984},
    {"gemma-3-1b", 999885952},
    {"phi-3-mini", 3821079552},
    {"vit-base-in21k", 86389248},
    {"t5-11b", 11307321344},
    {"flan-t5-xl", 2849757184},
    {"pythia-6.9b", 6857302016},
    {"qwen3-next-80b", 79674391296},
    {"deepseek-v3.2", 671877944064},
    {"whisper-large-v3", 1543490560},
    {"qwen2.5-vl-7b", 8292166656},
    {"llava-1.5-7b", 7063427072},
    {"gemma-3-4b", 4300079472},
    {"paligemma-3b", 2923466480},
    {"smolvlm-2.2b", 2246272880},
    {"internvl3-8b", 7944373760},
    {"llama4-scout", 108641793536},
    {"mistral-small-3.1", 24011361280},
    {"qwen2-vl-7b", 8291375616},
    {"qwen3-vl-8b", 8767123696},
    {"lfm2-350m", 354483968},
    {"lfm2-8b-a1b", 8339929856 + 22 * 32}, /* with the biases of scores, which are buffers */
    {"nemotron-3-super", 120668707840},
    {"jamba-v0.1", 51570323328},
    {"mamba-2.8b", 2768345600},
    {"falcon-h1-tiny-90m", 91131072},
    {"minimax-text-01", 456089655296},
    {"ring-mini-linear", 16423448320},
    {"glm-4.1v-9b", 10292777472},
    {"kimi-k2.5", 1026879376368},
    {"nanochat-d20", 560988160},
    {"k-exaone", 236571156352},
    {"vaultgemma-1b", 1038741120},
};
static const struct tsim_import_input NOTHING_IGNORED = {0};
enum { N_EXAMPLES = sizeof EXAMPLES / sizeof EXAMPLES[0] };

static const char *file_of(const struct example *example) {
    return tsim_arena_printf(&arena, "%s/tests/data/import/%s.json", TSIM_SOURCE_TREE, example->file);
}

static enum tsim_status import(const char *text, size_t size, const struct tsim_model **model, const char **yaml) {
    const struct tsim_value *root = NULL;
    TSIM_TRY(tsim_document_parse(&arena, "config.json", text, size, &root, &diags));
    return tsim_hf_config_import(&arena, root, &NOTHING_IGNORED, model, yaml, &diags);
}

#define GPT_NEOX                                                                                                       \
    "\"model_type\": \"gpt_neox\", \"hidden_size\": 4096, \"num_hidden_layers\": 32, \"num_attention_heads\": 32, "    \
    "\"intermediate_size\": 16384, \"vocab_size\": 50432"
#define LLAMA_2_7B                                                                                                     \
    "\"model_type\": \"llama\", \"hidden_size\": 4096, \"num_hidden_layers\": 32, \"num_attention_heads\": 32, "       \
    "\"intermediate_size\": 11008, \"vocab_size\": 32000"

#define BERT_BASE                                                                                                      \
    "\"model_type\": \"bert\", \"hidden_size\": 768, \"num_hidden_layers\": 12, \"num_attention_heads\": 12, "         \
    "\"intermediate_size\": 3072, \"vocab_size\": 30522, \"max_position_embeddings\": 512, \"emb_size\": 768"

/* Imports a model's keys with more keys. */
static enum tsim_status import_with(const char *model_keys, const char *more, const struct tsim_model **model,
                                    const char **yaml) {
    const char *text = tsim_arena_printf(&arena, "{%s, %s}", model_keys, more);
    return import(text, strlen(text), model, yaml);
}

static const struct tsim_model *read_back(const char *yaml) {
    const struct tsim_model *model = NULL;
    char file[64];
    snprintf(file, sizeof file, "/tmp/tsim-test-hf-config-%ld.yaml", (long)getpid());
    FILE *out = fopen(file, "w");
    ck_assert_ptr_nonnull(out);
    fputs(yaml, out);
    fclose(out);
    enum tsim_status status = tsim_catalogue_load_model(&arena, file, &model, &diags);
    unlink(file);
    ck_assert_msg(status == TSIM_OK && diags.n_items == 0, "%s", diags.n_items > 0 ? diags.items[0].message : "");
    return model;
}

TSIM_TEST_LOOP(parameters_are_exact, 0, N_EXAMPLES) {
    const struct example *example = &EXAMPLES[_i];
    const struct tsim_value *root;
    const struct tsim_model *model = NULL;
    const char *yaml = NULL;
    ck_assert_int_eq(tsim_document_read(&arena, file_of(example), &root, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_hf_config_import(&arena, root, &NOTHING_IGNORED, &model, &yaml, &diags), TSIM_OK);
    ck_assert_double_eq(tsim_model_parameters(model), example->parameters);
    ck_assert_double_eq(tsim_model_parameters(read_back(yaml)), example->parameters);
}

/* Blocks side by side with a norm each, a quarter of each head rotated; in a row there is a norm each anyway. */
TSIM_TEST_LOOP(a_gpt_neox, 0, 3) {
    static const struct {
        const char *keys;
        bool is_parallel;
        double rotary_frac, parameters;
    } CASES[] = {{"\"rotary_pct\": 1.0", true, 1, 6857302016},
                 {"\"hidden_act\": \"gelu\"", true, 0.25, 6857302016},
                 {"\"use_parallel_residual\": false", false, 0.25, 6857302016}};
    const struct tsim_model *model = NULL;
    const char *yaml = NULL;
    ck_assert_int_eq(import_with(GPT_NEOX, CASES[_i].keys, &model, &yaml), TSIM_OK);
    const struct tsim_model *again = read_back(yaml);
    ck_assert_int_eq(again->parallel_block, CASES[_i].is_parallel);
    ck_assert_int_eq(again->parallel_norms, CASES[_i].is_parallel);
    ck_assert_double_eq(again->rotary_frac > 0 ? again->rotary_frac : 1, CASES[_i].rotary_frac);
    ck_assert_double_eq(tsim_model_parameters(again), CASES[_i].parameters);
}

TSIM_TEST_LOOP(a_share_is_no_share, 0, 5) {
    static const char *const KEYS[] = {"\"rotary_pct\": 0", "\"rotary_pct\": 1.5", "\"rotary_pct\": \"0.25\"",
                                       "\"rotary_pct\": 0.25x", "\"rotary_pct\": [0.25]"};
    const struct tsim_model *model = NULL;
    const char *yaml = NULL;
    ck_assert_int_eq(import_with(GPT_NEOX, KEYS[_i], &model, &yaml), TSIM_ERR_RANGE);
}

/* Llama-2-7b has with biases of attention alone 32 layers of 4 x 4096 more; of the feed-forward block alone, 2 x 11008
 * + 4096; of both, their sum. */
TSIM_TEST_LOOP(biases_of_a_llama, 0, 3) {
    static const struct {
        const char *keys;
        double more;
    } CASES[] = {{"\"attention_bias\": true", 32 * 16384.0},
                 {"\"mlp_bias\": true", 32 * 26112.0},
                 {"\"attention_bias\": true, \"mlp_bias\": true", 32 * 42496.0}};
    const struct tsim_model *model = NULL;
    const char *yaml = NULL;
    ck_assert_int_eq(import_with(LLAMA_2_7B, CASES[_i].keys, &model, &yaml), TSIM_OK);
    ck_assert_double_eq(tsim_model_parameters(model), 6738415616 + CASES[_i].more);
    ck_assert_double_eq(tsim_model_parameters(read_back(yaml)), 6738415616 + CASES[_i].more);
}

/* The model has 21,843 classes of ImageNet-21k: ViT-Base with a classifier of 769 values each. */
TSIM_TEST(many_labels) {
    const struct tsim_model *model = NULL;
    const char *yaml = NULL;
    enum { N = 21843 };
    char *labels = tsim_arena_alloc(&arena, N * 24 + 1), *c = labels;
    for (int i = 0; i < N; i++)
        c += sprintf(c, "%s\"%d\": \"LABEL_%d\"", i > 0 ? ", " : "", i, i);
    const char *text = tsim_arena_printf(
        &arena,
        "{\"model_type\": \"vit\", \"architectures\": [\"ViTForImageClassification\"], \"hidden_size\": 768, "
        "\"num_hidden_layers\": 12, \"num_attention_heads\": 12, \"intermediate_size\": 3072, \"image_size\": 224, "
        "\"patch_size\": 16, \"id2label\": {%s}}",
        labels);
    struct tsim_import_input input = {"config.json", text, strlen(text), NULL, 0};
    struct tsim_import_result result;
    ck_assert_int_eq(tsim_import_format_find("hf-config")->read(&arena, &input, &result, &diags), TSIM_OK);
    ck_assert_double_eq(tsim_model_parameters(read_back(result.yaml)), 85798656.0 + 769.0 * N);
    /* One label twice is still found, and counts once, as in Python. */
    text = tsim_arena_printf(&arena, "{\"model_type\": \"vit\", \"id2label\": {%s, \"21842\": \"x\"}}", labels);
    const struct tsim_value *root;
    ck_assert_int_eq(tsim_document_parse_wide(&arena, "config.json", text, strlen(text), &root, &diags), TSIM_OK);
    ck_assert_ptr_nonnull(strstr(diags.items[0].message, "21842"));
    ck_assert_uint_eq(tsim_value_find(root, "id2label")->n_items, N);
    ck_assert_str_eq(tsim_value_find_path(root, "id2label.21842")->text, "x");
    ck_assert_int_eq(import(text, strlen(text), &model, &yaml), TSIM_ERR_LIMIT);
}

TSIM_TEST(every_missing_key_is_named) {
    static const char text[] = "{\"model_type\": \"qwen2\",\n \"hidden_size\": 3584, \"vocab_size\": null,\n"
                               " \"num_hidden_layers\": \"many\"}";
    static const char *const FIELDS[] = {"num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size",
                                         "num_key_value_heads"};
    const struct tsim_model *model = NULL;
    const char *yaml = NULL;
    ck_assert_int_ne(import(text, strlen(text), &model, &yaml), TSIM_OK);
    ck_assert_ptr_null(yaml);
    ck_assert_uint_eq(diags.n_errors, 5);
    for (size_t i = 0; i < 5; i++)
        ck_assert_str_eq(diags.items[i].field, FIELDS[i]);
    ck_assert_int_eq(diags.items[0].at.line, 3);
    ck_assert_int_eq(diags.items[0].at.column, 23);
}

/* A model_type that tsim knows and has not is refused with the name of its part, a network of diffusers by what it
 * is. */
TSIM_TEST(parts_are_named) {
    static const char *const CASES[][2] = {{"\"model_type\": \"gemma3n\"", "embeddings of every layer"},
                                           {"\"model_type\": \"zamba\"", "that layers share"},
                                           {"\"model_type\": \"hymba\"", "side by side"},
                                           {"\"_class_name\": \"FluxTransformer2DModel\"", "diffusers"}};
    const struct tsim_model *model = NULL;
    const char *yaml = NULL;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const char *text = tsim_arena_printf(&arena, "{%s}", CASES[i][0]);
        ck_assert_int_eq(import(text, strlen(text), &model, &yaml), TSIM_ERR_INFEASIBLE);
        ck_assert_msg(strstr(diags.items[i].message, CASES[i][1]), "%s", diags.items[i].message);
    }
}

TSIM_TEST(unknown_architectures_say_what_is_missing) {
    static const char text[] = "{\"model_type\": \"own\", \"hidden_size\": 768, \"vocab_size\": 50280}";
    const struct tsim_model *model = NULL;
    const char *yaml = NULL;
    ck_assert_int_eq(import(text, strlen(text), &model, &yaml), TSIM_ERR_REFERENCE);
    ck_assert_ptr_nonnull(strstr(diags.items[0].message, "num_attention_heads"));
    ck_assert_ptr_null(strstr(diags.items[0].message, "vocab_size"));
}

/* Each of these is in a model that could not be said in a model file, or is no model at all. */
TSIM_TEST_LOOP(what_cannot_be_said_is_refused, -1, 7) {
    static const char *const KEYS[] = {
        "\"num_attention_heads\": 7", "\"num_key_value_heads\": 3", "\"head_dim\": 0",
        "\"num_experts_per_tok\": 9", "\"decoder_sparse_step\": 0", "\"mlp_only_layers\": [1]",
        "\"attention_bias\": 1"};
    const struct tsim_model *model = NULL;
    const char *yaml = NULL;
    const char *text = "{\"model_type\": \"qwen3_moe\", \"hidden_size\": 64, \"num_hidden_layers\": 2";
    static const char *const REST[][2] = {{"num_attention_heads", "8"},   {"num_key_value_heads", "4"},
                                          {"intermediate_size", "128"},   {"vocab_size", "100"},
                                          {"num_experts", "8"},           {"num_experts_per_tok", "2"},
                                          {"moe_intermediate_size", "32"}};
    for (size_t i = 0; i < sizeof REST / sizeof REST[0]; i++)
        if (_i < 0 || !strstr(KEYS[_i], tsim_arena_printf(&arena, "\"%s\"", REST[i][0])))
            text = tsim_arena_printf(&arena, "%s, \"%s\": %s", text, REST[i][0], REST[i][1]);
    text = tsim_arena_printf(&arena, "%s%s%s}", text, _i < 0 ? "" : ", ", _i < 0 ? "" : KEYS[_i]);
    ck_assert_int_eq(import(text, strlen(text), &model, &yaml) == TSIM_OK, _i < 0);
    ck_assert_int_eq(diags.n_errors > 0, _i >= 0);
}

/* A file gives a model or at least one error; never both, never neither. */
static void read_damaged(const void *context, const char *text, size_t size) {
    const struct tsim_model *model = NULL;
    const char *yaml = NULL;
    enum tsim_status status = import(text, size, &model, &yaml);
    TSIM_ALWAYS((status == TSIM_OK) == (yaml != NULL) && (status == TSIM_OK) == (diags.n_errors == 0), "%s: %.*s",
                (const char *)context, (int)size, text);
    TSIM_ALWAYS(status != TSIM_OK || tsim_model_parameters(model) > 0, "%.*s", (int)size, text);
}

/* Keys beside a Llama's that make another model of it, or that nobody knows: each is named, at its place. */
static const struct {
    const char *key, *value, *why;
} OTHERS[] = {
    {"layer_types", "[\"full_attention\", \"mamba\"]", "layers of 'mamba'"},
    {"mamba_d_state", "128", "state-space"},
    {"num_local_experts", "8", "experts where this model_type has none"},
    {"moe_intermediate_size", "1024", "experts where this model_type has none"},
    {"vision_config", "{\"depth\": 32}", "images or sound"},
    {"use_qk_norm", "true", "a part of attention"},
    {"attention_chunk_size", "8192", "attention in chunks"},
    {"width_of_something", "3", "does not know"},
};

TSIM_TEST_ROWS(keys_that_change_the_model, OTHERS) {
    const struct tsim_model *model = NULL;
    const char *yaml = NULL;
    const char *more = tsim_arena_printf(&arena, "\n\"%s\": %s", OTHERS[_i].key, OTHERS[_i].value);
    ck_assert_int_eq(import_with(LLAMA_2_7B, more, &model, &yaml), TSIM_ERR_INFEASIBLE);
    ck_assert_uint_eq(diags.n_items, 1);
    ck_assert_str_eq(diags.items[0].field, OTHERS[_i].key);
    ck_assert_int_eq(diags.items[0].at.line, 2);
    ck_assert_msg(strstr(diags.items[0].message, OTHERS[_i].why), "%s", diags.items[0].message);
    /* A --ignore leaves it out; a key that is off changes nothing. */
    struct tsim_import_input input = {.ignored = &OTHERS[_i].key, .n_ignored = 1};
    const struct tsim_value *root = NULL;
    const char *text = tsim_arena_printf(&arena, "{%s, %s}", LLAMA_2_7B, more);
    ck_assert_int_eq(tsim_document_parse(&arena, "config.json", text, strlen(text), &root, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_hf_config_import(&arena, root, &input, &model, &yaml, &diags), TSIM_OK);
    ck_assert_double_eq(tsim_model_parameters(model), 6738415616);
    more = tsim_arena_printf(&arena, "\"%s\": null", OTHERS[_i].key);
    ck_assert_int_eq(import_with(LLAMA_2_7B, more, &model, &yaml), TSIM_OK);
}

/* Imports a configuration of three labels for a class of transformers, and reads the result back. */
static const struct tsim_model *import_class(const char *base, const char *class) {
    const struct tsim_model *model = NULL;
    const char *yaml = NULL, *keys = tsim_arena_printf(&arena,
                                                       "\"architectures\": [\"%s\"], "
                                                       "\"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}",
                                                       class);
    ck_assert_int_eq(import_with(base, keys, &model, &yaml), TSIM_OK);
    return read_back(yaml);
}

/* A head of 32,000 rows becomes one of a row for each label in a classifier, with a bias each in a tagger, and none in a bare
 * model. */
TSIM_TEST(heads_by_class) {
    static const struct {
        const char *classes;
        double rows, biases;
        int64_t met; /* rows that a token meets; 0: all */
    } CASES[] = {{"LlamaForCausalLM", 32000, 0, 0},
                 {"LlamaForSequenceClassification", 3, 0, 3},
                 {"LlamaForTokenClassification", 3, 3, 3},
                 {"LlamaModel", 0, 0, 1},
                 {"LlamaLMHeadModel", 32000, 0, 0}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const struct tsim_model *again = import_class(LLAMA_2_7B, CASES[i].classes);
        ck_assert_double_eq(tsim_model_parameters(again),
                            6738415616 - (32000 - CASES[i].rows) * 4096 + CASES[i].biases);
        ck_assert_int_eq(again->head_rows.each, CASES[i].met);
    }
}

/* Encoders that judge texts or tokens have a row and a bias for each label and a product of h x h or none before, in place of
 * the vocabulary's head. Counts: BERT-base without head and pooler 108,891,648, 590,592 of the pooler (google-research/bert);
 * DistilBERT 66,362,880 and a product of h x h (transformers); XLM-R base 277,453,056 and a row. */
TSIM_TEST(encoders_that_judge) {
    static const struct {
        const char *keys, *class;
        double parameters;
    } CASES[] = {
        {BERT_BASE, "BertForSequenceClassification", 108891648 + 590592 + 3 * 769},
        {BERT_BASE, "BertForMultipleChoice", 108891648 + 590592 + 769},
        {BERT_BASE, "BertForTokenClassification", 108891648 + 3 * 769},
        {BERT_BASE, "BertForQuestionAnswering", 108891648 + 3 * 769},
        {BERT_BASE, "BertModel", 108891648 + 590592},
        {"\"model_type\": \"electra\", \"hidden_size\": 768, \"embedding_size\": 768, \"num_hidden_layers\": 12, "
         "\"num_attention_heads\": 12, \"intermediate_size\": 3072, \"vocab_size\": 30522, "
         "\"max_position_embeddings\": 512",
         "ElectraForSequenceClassification", 108891648 + 590592 + 3 * 769},
        {"\"model_type\": \"distilbert\", \"activation\": \"gelu\", \"tie_weights_\": true, \"dim\": 768, "
         "\"n_layers\": 6, \"n_heads\": 12, \"hidden_dim\": 3072, "
         "\"vocab_size\": 30522, \"max_position_embeddings\": 512",
         "DistilBertForSequenceClassification", 66362880 + 590592 + 3 * 769},
        {"\"model_type\": \"xlm-roberta\", \"hidden_size\": 768, \"num_hidden_layers\": 12, \"num_attention_heads\": "
         "12, "
         "\"intermediate_size\": 3072, \"vocab_size\": 250002, \"max_position_embeddings\": 514, \"type_vocab_size\": "
         "1",
         "XLMRobertaForSequenceClassification", 277453056 + 590592 + 3 * 769}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const struct tsim_model *again = import_class(CASES[i].keys, CASES[i].class);
        ck_assert_msg(tsim_model_parameters(again) == CASES[i].parameters, "%s: %.0f", CASES[i].class,
                      tsim_model_parameters(again));
        ck_assert_int_ge(again->head_rows.each, 1);
        ck_assert_int_le(again->head_rows.each, 3);
    }
}

/* A window counts if it is shorter than the longest sequence and some layers have it: a word for each layer, or as
 * the keys of a family say. A Qwen's first max_window_layers have none. The code of a Llama has no windows. */
TSIM_TEST(windows) {
    static const struct {
        const char *type, *keys;
        int64_t window;
        const char *layers; /* w or a for each of 8 */
    } CASES[] = {
        {"mistral", "\"sliding_window\": 4096, \"max_position_embeddings\": 32768", 4096, "wwwwwwww"},
        {"mistral", "\"sliding_window\": 4096", 4096, "wwwwwwww"},
        {"mistral", "\"sliding_window\": 4096, \"max_position_embeddings\": 4096", 0, "aaaaaaaa"},
        {"mistral", "\"sliding_window\": null, \"max_position_embeddings\": 32768", 0, "aaaaaaaa"},
        {"mistral", "\"sliding_window\": 4096, \"use_sliding_window\": false", 0, "aaaaaaaa"},
        {"mistral", "\"sliding_window\": 4096, \"layer_types\": [\"full_attention\"]", 0, "aaaaaaaa"},
        {"mistral", "\"sliding_window\": 64, \"layer_types\": [\"full_attention\", \"sliding_attention\"]", 64,
         "awaaaaaa"},
        {"llama", "\"sliding_window\": 64", 0, "aaaaaaaa"},
        {"granite", "\"sliding_window\": 64, \"layer_types\": [\"sliding_attention\"]", 0, "aaaaaaaa"},
        {"cwm", "\"sliding_window\": 64", 64, "wwwwwwww"},
        {"gemma2", "\"sliding_window\": 64", 64, "wawawawa"},
        {"gemma3_text", "\"sliding_window\": 64", 64, "wwwwwaww"},
        {"gemma3_text", "\"sliding_window\": 64, \"sliding_window_pattern\": 3", 64, "wwawwaww"},
        {"qwen2", "\"sliding_window\": 64, \"use_sliding_window\": true, \"max_window_layers\": 6", 64, "aaaaaaww"},
        {"olmo3",
         "\"sliding_window\": 64, \"layer_types\": [\"sliding_attention\", \"sliding_attention\", "
         "\"sliding_attention\", \"full_attention\", \"sliding_attention\", \"sliding_attention\", "
         "\"sliding_attention\", \"full_attention\"]",
         64, "wwwawwwa"},
    };
    const struct tsim_model *model = NULL;
    const char *yaml = NULL;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const char *keys = tsim_arena_printf(
            &arena,
            "\"model_type\": \"%s\", \"hidden_size\": 64, \"num_hidden_layers\": 8, \"num_attention_heads\": 4, "
            "\"num_key_value_heads\": 4, \"head_dim\": 16, \"intermediate_size\": 128, \"vocab_size\": 100",
            CASES[i].type);
        ck_assert_int_eq(import_with(keys, CASES[i].keys, &model, &yaml), TSIM_OK);
        const struct tsim_model *again = read_back(yaml);
        ck_assert_msg(again->attention_window == CASES[i].window, "%s", CASES[i].keys);
        for (int64_t l = 0; l < 8; l++)
            ck_assert_msg((tsim_model_layer(again, l) == TSIM_PART_WINDOW_LAYER) == (CASES[i].layers[l] == 'w'),
                          "%s %s: layer %lld", CASES[i].type, CASES[i].keys, (long long)l);
        ck_assert_uint_eq(diags.n_items, 0);
    }
}

/* The catalogue's model of each family, of which it has the windows, sinks, experts and the count of parameters. */
static const struct {
    const char *id, *keys;
} FAMILIES[] = {
    {"gpt-oss-20b",
     "\"model_type\": \"gpt_oss\", \"hidden_size\": 2880, \"num_hidden_layers\": 24, \"num_attention_heads\": 64, "
     "\"num_key_value_heads\": 8, \"head_dim\": 64, \"intermediate_size\": 2880, \"vocab_size\": 201088, "
     "\"num_local_experts\": 32, \"num_experts_per_tok\": 4, \"sliding_window\": 128, \"attention_bias\": true, "
     "\"max_position_embeddings\": 131072, \"swiglu_limit\": 7.0, \"experts_per_token\": 4"},
    {"gemma3-27b",
     "\"model_type\": \"gemma3_text\", \"hidden_size\": 5376, \"num_hidden_layers\": 62, "
     "\"num_attention_heads\": 32, \"num_key_value_heads\": 16, \"head_dim\": 128, \"intermediate_size\": 21504, "
     "\"vocab_size\": 262208, \"sliding_window\": 1024, \"max_position_embeddings\": 131072"},
    {"llama4-maverick",
     "\"model_type\": \"llama4_text\", \"hidden_size\": 5120, \"num_hidden_layers\": 48, "
     "\"num_attention_heads\": 40, \"num_key_value_heads\": 8, \"head_dim\": 128, \"intermediate_size\": 8192, "
     "\"intermediate_size_mlp\": 16384, \"vocab_size\": 202048, \"num_local_experts\": 128, "
     "\"num_experts_per_tok\": 1, \"interleave_moe_layer_step\": 2, \"attention_chunk_size\": 8192, "
     "\"max_position_embeddings\": 1048576, \"use_qk_norm\": false"},
    {"olmo2-7b",
     "\"model_type\": \"olmo2\", \"hidden_size\": 4096, \"num_hidden_layers\": 32, \"num_attention_heads\": 32, "
     "\"intermediate_size\": 11008, \"vocab_size\": 100352"},
    {"olmoe-1b-7b",
     "\"model_type\": \"olmoe\", \"hidden_size\": 2048, \"num_hidden_layers\": 16, \"num_attention_heads\": 16, "
     "\"intermediate_size\": 1024, \"vocab_size\": 50304, \"num_experts\": 64, \"num_experts_per_tok\": 8"},
    {"glm-4.5",
     "\"model_type\": \"glm4_moe\", \"hidden_size\": 5120, \"num_hidden_layers\": 92, \"num_attention_heads\": 96, "
     "\"num_key_value_heads\": 8, \"head_dim\": 128, \"intermediate_size\": 12288, \"vocab_size\": 151552, "
     "\"n_routed_experts\": 160, \"num_experts_per_tok\": 8, \"moe_intermediate_size\": 1536, "
     "\"n_shared_experts\": 1, \"first_k_dense_replace\": 3, \"attention_bias\": true, \"use_qk_norm\": true, "
     "\"num_nextn_predict_layers\": 1"},
    {"minimax-m2",
     "\"model_type\": \"minimax_m2\", \"hidden_size\": 3072, \"num_hidden_layers\": 62, "
     "\"num_attention_heads\": 48, \"num_key_value_heads\": 8, \"head_dim\": 128, \"intermediate_size\": 1536, "
     "\"vocab_size\": 200064, \"num_local_experts\": 256, \"num_experts_per_tok\": 8, \"use_qk_norm\": true, "
     "\"use_routing_bias\": true"},
    {"ernie-4.5-21b-a3b",
     "\"model_type\": \"ernie4_5_moe\", \"hidden_size\": 2560, \"num_hidden_layers\": 28, "
     "\"num_attention_heads\": 20, \"num_key_value_heads\": 4, \"head_dim\": 128, "
     "\"intermediate_size\": 12288, \"vocab_size\": 103424, \"moe_num_experts\": 64, \"moe_k\": 6, "
     "\"moe_intermediate_size\": 1536, \"moe_num_shared_experts\": 2, \"moe_layer_start_index\": 1"},
    {"granite-3.3-8b", "\"model_type\": \"granite\", \"hidden_size\": 4096, \"num_hidden_layers\": 40, "
                       "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"intermediate_size\": 12800, "
                       "\"vocab_size\": 49159, \"tie_word_embeddings\": true, \"residual_multiplier\": 0.22"},
    {"smollm3-3b", "\"model_type\": \"smollm3\", \"hidden_size\": 2048, \"num_hidden_layers\": 36, "
                   "\"num_attention_heads\": 16, \"num_key_value_heads\": 4, \"intermediate_size\": 11008, "
                   "\"vocab_size\": 128256, \"no_rope_layers\": [1, 1, 1, 0]"},
    {"seed-oss-36b", "\"model_type\": \"seed_oss\", \"hidden_size\": 5120, \"num_hidden_layers\": 64, "
                     "\"num_attention_heads\": 80, \"num_key_value_heads\": 8, \"head_dim\": 128, "
                     "\"intermediate_size\": 27648, \"vocab_size\": 155136"},
    {"starcoder2-15b", "\"model_type\": \"starcoder2\", \"hidden_size\": 6144, \"num_hidden_layers\": 40, "
                       "\"num_attention_heads\": 48, \"num_key_value_heads\": 4, \"intermediate_size\": 24576, "
                       "\"vocab_size\": 49152, \"tie_word_embeddings\": false, \"sliding_window\": 4096"},
    {"command-r-35b", "\"model_type\": \"cohere\", \"hidden_size\": 8192, \"num_hidden_layers\": 40, "
                      "\"num_attention_heads\": 64, \"num_key_value_heads\": 64, \"intermediate_size\": 22528, "
                      "\"vocab_size\": 256000, \"logit_scale\": 0.0625"},
    {"mistral-small-4",
     "\"model_type\": \"mistral4\", \"hidden_size\": 4096, \"num_hidden_layers\": 36, \"num_attention_heads\": 32, "
     "\"num_key_value_heads\": 32, \"intermediate_size\": 12288, \"vocab_size\": 131072, \"q_lora_rank\": 1024, "
     "\"kv_lora_rank\": 256, \"qk_rope_head_dim\": 64, \"qk_nope_head_dim\": 64, \"v_head_dim\": 128, "
     "\"n_routed_experts\": 128, \"num_experts_per_tok\": 4, \"moe_intermediate_size\": 2048, "
     "\"n_shared_experts\": 1, \"first_k_dense_replace\": 0, \"n_group\": 1, \"rope_interleave\": true"},
    {"kimi-k2",
     "\"model_type\": \"kimi_k2\", \"hidden_size\": 7168, \"num_hidden_layers\": 61, \"num_attention_heads\": 64, "
     "\"intermediate_size\": 18432, \"vocab_size\": 163840, \"q_lora_rank\": 1536, \"kv_lora_rank\": 512, "
     "\"qk_rope_head_dim\": 64, \"qk_nope_head_dim\": 128, \"v_head_dim\": 128, \"n_routed_experts\": 384, "
     "\"num_experts_per_tok\": 8, \"moe_intermediate_size\": 2048, \"n_shared_experts\": 1, "
     "\"first_k_dense_replace\": 1, \"n_group\": 1"},
};
enum { N_FAMILIES = sizeof FAMILIES / sizeof FAMILIES[0] };

TSIM_TEST_LOOP(families_are_the_catalogues, 0, N_FAMILIES) {
    const struct tsim_model *model = NULL, *known = NULL;
    const char *yaml = NULL;
    ck_assert_int_eq(tsim_catalogue_load_model(&arena, FAMILIES[_i].id, &known, &diags), TSIM_OK);
    ck_assert_int_eq(import_with(FAMILIES[_i].keys, "\"use_cache\": true", &model, &yaml), TSIM_OK);
    ck_assert_double_eq(tsim_model_parameters(model), tsim_model_parameters(known));
    const struct tsim_model *again = read_back(yaml);
    ck_assert_double_eq(tsim_model_parameters(again), tsim_model_parameters(known));
    ck_assert_double_eq(tsim_model_active_parameters(again), tsim_model_active_parameters(known));
    ck_assert_int_eq(again->attention_window, known->attention_window);
    ck_assert_int_eq(again->window_chunks, known->window_chunks);
    ck_assert_int_eq(again->sinks, known->sinks);
    ck_assert_int_eq(again->rotary_scaled, known->rotary_scaled);
    ck_assert_int_eq(again->experts.limited, known->experts.limited);
    for (int64_t l = 0; l < known->layers; l++)
        ck_assert_int_eq(tsim_model_layer(again, l), tsim_model_layer(known, l));
}

#define ATTENTION_5 "\"attention\", \"attention\", \"attention\", \"attention\", \"attention\""
#define ATTENTION_10 ATTENTION_5 ", " ATTENTION_5
#define BART                                                                                                           \
    "\"d_model\": 1024, \"encoder_layers\": 12, \"decoder_layers\": 12, \"encoder_attention_heads\": 16, "             \
    "\"decoder_attention_heads\": 16, \"encoder_ffn_dim\": 4096, \"decoder_ffn_dim\": 4096, "                          \
    "\"num_hidden_layers\": 12"
/* The counts are those of transformers (model.num_parameters()), or the authors'; OLMo's norms have no scales, of which
 * 33 x 2048 are counted. */
static const struct {
    const char *name;
    double parameters;
    const char *keys;
} COUNTED[] = {
    {"opt-125m", 125239296,
     "\"model_type\": \"opt\", \"hidden_size\": 768, \"num_hidden_layers\": 12, "
     "\"num_attention_heads\": 12, \"ffn_dim\": 3072, \"vocab_size\": 50272, "
     "\"max_position_embeddings\": 2048, \"word_embed_proj_dim\": 768, "
     "\"do_layer_norm_before\": true, \"layerdrop\": 0.0"},
    {"bloom-560m", 559214592,
     "\"model_type\": \"bloom\", \"n_embed\": 1024, \"n_layer\": 24, "
     "\"num_attention_heads\": 16, \"vocab_size\": 250880, \"slow_but_exact\": false"},
    {"bloom-176b", 176247271424,
     "\"model_type\": \"bloom\", \"hidden_size\": 14336, \"n_layer\": 70, \"n_head\": 112, "
     "\"vocab_size\": 250880"},
    {"falcon-7b", 6921720704,
     "\"model_type\": \"falcon\", \"hidden_size\": 4544, \"num_hidden_layers\": 32, "
     "\"num_attention_heads\": 71, \"vocab_size\": 65024, \"multi_query\": true, "
     "\"parallel_attn\": true, \"new_decoder_architecture\": false, \"bias\": false, "
     "\"alibi\": false"},
    {"falcon-40b", 41303293952,
     "\"model_type\": \"falcon\", \"hidden_size\": 8192, \"num_hidden_layers\": 60, "
     "\"num_attention_heads\": 128, \"num_kv_heads\": 8, \"vocab_size\": 65024, "
     "\"multi_query\": true, \"parallel_attn\": true, \"new_decoder_architecture\": true, "
     "\"bias\": false, \"alibi\": false"},
    {"mpt-7b", 6649286656,
     "\"model_type\": \"mpt\", \"d_model\": 4096, \"n_layers\": 32, \"n_heads\": 32, "
     "\"expansion_ratio\": 4, \"vocab_size\": 50432, \"max_seq_len\": 2048, "
     "\"no_bias\": true, \"attn_config\": {\"alibi\": true, "
     "\"attn_type\": \"multihead_attention\", \"qk_ln\": false}"},
    {"roberta-base", 124697433,
     "\"model_type\": \"roberta\", \"architectures\": [\"RobertaForMaskedLM\"], "
     "\"hidden_size\": 768, \"num_hidden_layers\": 12, \"num_attention_heads\": 12, "
     "\"intermediate_size\": 3072, \"vocab_size\": 50265, "
     "\"max_position_embeddings\": 514, \"type_vocab_size\": 1"},
    {"distilbert", 66985530,
     "\"model_type\": \"distilbert\", \"architectures\": [\"DistilBertForMaskedLM\"], "
     "\"dim\": 768, \"n_layers\": 6, \"n_heads\": 12, \"hidden_dim\": 3072, "
     "\"vocab_size\": 30522, \"max_position_embeddings\": 512"},
    {"starcoder", 15517456384,
     "\"model_type\": \"gpt_bigcode\", \"n_embd\": 6144, \"n_layer\": 40, \"n_head\": 48, "
     "\"n_inner\": 24576, \"n_positions\": 8192, \"vocab_size\": 49152, "
     "\"multi_query\": true"},
    {"gpt-j-6b", 6050882784,
     "\"model_type\": \"gptj\", \"n_embd\": 4096, \"n_layer\": 28, \"n_head\": 16, "
     "\"n_inner\": null, \"rotary_dim\": 64, \"vocab_size\": 50400, "
     "\"tie_word_embeddings\": false, \"n_positions\": 2048"},
    {"codegen-350m", 356712448,
     "\"model_type\": \"codegen\", \"n_embd\": 1024, \"n_layer\": 20, \"n_head\": 16, "
     "\"rotary_dim\": 32, \"vocab_size\": 51200, \"tie_word_embeddings\": false, "
     "\"n_positions\": 2048"},
    {"gpt-neo-125m", 125198592,
     "\"model_type\": \"gpt_neo\", \"hidden_size\": 768, \"num_layers\": 12, "
     "\"num_heads\": 12, \"vocab_size\": 50257, \"max_position_embeddings\": 2048, "
     "\"window_size\": 256, \"attention_types\": [[[\"global\", \"local\"], 6]], "
     "\"intermediate_size\": null"},
    {"glm-4-9b", 9399951360,
     "\"model_type\": \"glm\", \"hidden_size\": 4096, \"num_hidden_layers\": 40, "
     "\"num_attention_heads\": 32, \"intermediate_size\": 13696, \"vocab_size\": 151552, "
     "\"num_key_value_heads\": 2, \"attention_bias\": true, \"head_dim\": 128, "
     "\"partial_rotary_factor\": 0.5"},
    {"glm-4-0414", 9400279040,
     "\"model_type\": \"glm4\", \"hidden_size\": 4096, \"num_hidden_layers\": 40, "
     "\"num_attention_heads\": 32, \"intermediate_size\": 13696, \"vocab_size\": 151552, "
     "\"num_key_value_heads\": 2, \"attention_bias\": true, \"head_dim\": 128, "
     "\"partial_rotary_factor\": 0.5"},
    {"chatglm3-6b", 6243584000,
     "\"model_type\": \"chatglm\", \"hidden_size\": 4096, \"num_layers\": 28, "
     "\"num_attention_heads\": 32, \"ffn_hidden_size\": 13696, "
     "\"padded_vocab_size\": 65024, \"multi_query_attention\": true, "
     "\"multi_query_group_num\": 2, \"kv_channels\": 128, \"add_qkv_bias\": true, "
     "\"add_bias_linear\": false, \"rmsnorm\": true, \"seq_length\": 8192"},
    {"baichuan2-7b", 7505973248,
     "\"model_type\": \"baichuan\", \"hidden_size\": 4096, \"num_hidden_layers\": 32, "
     "\"num_attention_heads\": 32, \"intermediate_size\": 11008, \"vocab_size\": 125696, "
     "\"max_position_embeddings\": 4096"},
    {"internlm-7b", 7321948160,
     "\"model_type\": \"internlm\", \"hidden_size\": 4096, \"num_hidden_layers\": 32, "
     "\"num_attention_heads\": 32, \"intermediate_size\": 11008, \"vocab_size\": 103168, "
     "\"bias\": true"},
    {"internlm2-7b", 7737708544,
     "\"model_type\": \"internlm2\", \"hidden_size\": 4096, \"num_hidden_layers\": 32, "
     "\"num_attention_heads\": 32, \"intermediate_size\": 14336, \"vocab_size\": 92544, "
     "\"num_key_value_heads\": 8, \"bias\": false"},
    {"stablelm-2-1.6b", 1644515328,
     "\"model_type\": \"stablelm\", \"hidden_size\": 2048, \"num_hidden_layers\": 24, "
     "\"num_attention_heads\": 32, \"intermediate_size\": 5632, \"vocab_size\": 100352, "
     "\"num_key_value_heads\": 32, \"use_qkv_bias\": true, \"partial_rotary_factor\": 0.25"},
    {"minitron-4b", 4190509056,
     "\"model_type\": \"nemotron\", \"hidden_size\": 3072, \"num_hidden_layers\": 32, "
     "\"num_attention_heads\": 24, \"intermediate_size\": 9216, \"vocab_size\": 256000, "
     "\"num_key_value_heads\": 8, \"head_dim\": 128, \"partial_rotary_factor\": 0.5"},
    {"command-r7b", 8028033024,
     "\"model_type\": \"cohere2\", \"hidden_size\": 4096, \"num_hidden_layers\": 32, "
     "\"num_attention_heads\": 32, \"intermediate_size\": 14336, \"vocab_size\": 256000, "
     "\"num_key_value_heads\": 8, \"sliding_window\": 4096, "
     "\"sliding_window_pattern\": 4, \"max_position_embeddings\": 132096"},
    {"granite-1b-a400m", 1334628352,
     "\"model_type\": \"granitemoe\", \"hidden_size\": 1024, \"num_hidden_layers\": 24, "
     "\"num_attention_heads\": 16, \"intermediate_size\": 512, \"vocab_size\": 49155, "
     "\"num_key_value_heads\": 8, \"num_local_experts\": 32, \"num_experts_per_tok\": 8, "
     "\"tie_word_embeddings\": true"},
    {"dbrx", 131596523520,
     "\"model_type\": \"dbrx\", \"d_model\": 6144, \"n_layers\": 40, \"n_heads\": 48, "
     "\"vocab_size\": 100352, \"max_seq_len\": 32768, \"attn_config\": {\"kv_n_heads\": 8, "
     "\"clip_qkv\": 8, \"rope_theta\": 500000}, "
     "\"ffn_config\": {\"ffn_hidden_size\": 10752, \"moe_num_experts\": 16, "
     "\"moe_top_k\": 4}"},
    {"phi-3.5-moe", 41873153344,
     "\"model_type\": \"phimoe\", \"hidden_size\": 4096, \"num_hidden_layers\": 32, "
     "\"num_attention_heads\": 32, \"intermediate_size\": 6400, \"vocab_size\": 32064, "
     "\"num_key_value_heads\": 8, \"num_local_experts\": 16, \"num_experts_per_tok\": 2, "
     "\"attention_bias\": true, \"lm_head_bias\": true"},
    {"deepseek-moe-16b", 16375728128,
     "\"model_type\": \"deepseek\", \"hidden_size\": 2048, \"num_hidden_layers\": 28, "
     "\"num_attention_heads\": 16, \"intermediate_size\": 10944, \"vocab_size\": 102400, "
     "\"num_key_value_heads\": 16, \"n_routed_experts\": 64, \"num_experts_per_tok\": 6, "
     "\"n_shared_experts\": 2, \"moe_intermediate_size\": 1408, "
     "\"first_k_dense_replace\": 1, \"moe_layer_freq\": 1"},
    {"dots.llm1", 142774381696,
     "\"model_type\": \"dots1\", \"hidden_size\": 4096, \"num_hidden_layers\": 62, "
     "\"num_attention_heads\": 32, \"intermediate_size\": 10944, \"vocab_size\": 152064, "
     "\"num_key_value_heads\": 32, \"n_routed_experts\": 128, \"num_experts_per_tok\": 6, "
     "\"n_shared_experts\": 2, \"moe_intermediate_size\": 1408, "
     "\"first_k_dense_replace\": 1"},
    {"exaone-3.0-7.8b", 7818448896,
     "\"model_type\": \"exaone\", \"hidden_size\": 4096, \"num_layers\": 32, "
     "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, "
     "\"intermediate_size\": 14336, \"vocab_size\": 102400, \"tie_word_embeddings\": false"},
    {"ernie-4.5-0.3b", 360748032,
     "\"model_type\": \"ernie4_5\", \"hidden_size\": 1024, \"num_hidden_layers\": 18, "
     "\"num_attention_heads\": 16, \"intermediate_size\": 3072, \"vocab_size\": 103424, "
     "\"num_key_value_heads\": 2, \"head_dim\": 128, \"use_bias\": false, "
     "\"tie_word_embeddings\": true"},
    {"apertus-8b", 8053338176,
     "\"model_type\": \"apertus\", \"hidden_size\": 4096, \"num_hidden_layers\": 32, "
     "\"num_attention_heads\": 32, \"intermediate_size\": 21504, \"vocab_size\": 131072, "
     "\"num_key_value_heads\": 8, \"attention_bias\": false, \"mlp_bias\": false"},
    {"minicpm-2b", 2724880896,
     "\"model_type\": \"minicpm\", \"hidden_size\": 2304, \"num_hidden_layers\": 40, "
     "\"num_attention_heads\": 36, \"intermediate_size\": 5760, \"vocab_size\": 122753, "
     "\"num_key_value_heads\": 36"},
    {"qwen-7b", 7721324544,
     "\"model_type\": \"qwen\", \"hidden_size\": 4096, \"num_hidden_layers\": 32, "
     "\"num_attention_heads\": 32, \"intermediate_size\": 22016, \"vocab_size\": 151936, "
     "\"no_bias\": true, \"kv_channels\": 128, \"tie_word_embeddings\": false"},
    {"qwen2-vl-7b text", 7615616512,
     "\"model_type\": \"qwen2_vl\", \"hidden_size\": 3584, \"num_hidden_layers\": 28, "
     "\"num_attention_heads\": 28, \"intermediate_size\": 18944, \"vocab_size\": 152064, "
     "\"num_key_value_heads\": 4"},
    {"mt5-small", 300176768,
     "\"model_type\": \"mt5\", \"d_model\": 512, \"num_layers\": 8, "
     "\"num_decoder_layers\": 8, \"num_heads\": 6, \"d_kv\": 64, \"d_ff\": 1024, "
     "\"vocab_size\": 250112, \"feed_forward_proj\": \"gated-gelu\", "
     "\"tie_word_embeddings\": false"},
    {"olmo-1b", 1176832000,
     "\"model_type\": \"olmo\", \"hidden_size\": 2048, \"num_hidden_layers\": 16, "
     "\"num_attention_heads\": 16, \"intermediate_size\": 8192, \"vocab_size\": 50304, "
     "\"num_key_value_heads\": 16, \"tie_word_embeddings\": true"},
    {"qwen3-vl-30b text", 30532122624,
     "\"model_type\": \"qwen3_vl_moe_text\", \"hidden_size\": 2048, "
     "\"num_hidden_layers\": 48, \"num_attention_heads\": 32, "
     "\"intermediate_size\": 6144, \"vocab_size\": 151936, \"num_key_value_heads\": 4, "
     "\"head_dim\": 128, \"num_experts\": 128, \"num_experts_per_tok\": 8, "
     "\"moe_intermediate_size\": 768"},
    {"nemotron-h-8b", 8100852736,
     "\"model_type\": \"nemotron_h\", \"hidden_size\": 4096, \"num_hidden_layers\": 52, "
     "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, "
     "\"attention_head_dim\": 128, \"intermediate_size\": 21504, \"vocab_size\": 131072, "
     "\"hybrid_override_pattern\": \"M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-\", "
     "\"mamba_num_heads\": 128, \"mamba_head_dim\": 64, \"ssm_state_size\": 128, "
     "\"n_groups\": 8, \"conv_kernel\": 4, \"chunk_size\": 128, \"expand\": 2"},
    {"exaone4-32b", 32003216384,
     "\"model_type\": \"exaone4\", \"hidden_size\": 5120, \"num_hidden_layers\": 64, "
     "\"num_attention_heads\": 40, \"intermediate_size\": 27392, \"vocab_size\": 102400, "
     "\"num_key_value_heads\": 8, \"head_dim\": 128, \"sliding_window\": 4096, "
     "\"sliding_window_pattern\": \"LLLG\", \"max_position_embeddings\": 131072"},
    {"internlm3-8b", 8804241408,
     "\"model_type\": \"internlm3\", \"hidden_size\": 4096, \"num_hidden_layers\": 48, "
     "\"num_attention_heads\": 32, \"intermediate_size\": 10240, \"vocab_size\": 128512, "
     "\"num_key_value_heads\": 2, \"head_dim\": 128, \"qkv_bias\": false, \"bias\": false"},
    /* Whole files as they were released, beside the keys that change nothing. */
    {"glm-5", 743911218432,
     "\"model_type\": \"glm_moe_dsa\", \"hidden_size\": 6144, \"num_hidden_layers\": 78, "
     "\"num_attention_heads\": 64, \"intermediate_size\": 12288, \"vocab_size\": 154880, "
     "\"n_routed_experts\": 256, \"n_shared_experts\": 1, \"num_experts_per_tok\": 8, "
     "\"moe_intermediate_size\": 2048, \"first_k_dense_replace\": 3, \"kv_lora_rank\": 512, "
     "\"q_lora_rank\": 2048, \"qk_nope_head_dim\": 192, \"qk_rope_head_dim\": 64, \"v_head_dim\": 256, "
     "\"index_topk\": 2048, \"index_n_heads\": 32, \"index_head_dim\": 128, \"num_nextn_predict_layers\": 1"},
    {"granite-4.0-h (two layers, six experts)", 212849552,
     "\"model_type\": \"granitemoehybrid\", \"hidden_size\": 1536, \"num_hidden_layers\": 2, "
     "\"num_attention_heads\": 12, \"num_key_value_heads\": 4, \"intermediate_size\": 512, "
     "\"shared_intermediate_size\": 1024, \"num_local_experts\": 6, \"num_experts_per_tok\": 6, "
     "\"layer_types\": [\"mamba\", \"attention\"], \"mamba_n_heads\": 48, \"mamba_d_head\": 64, "
     "\"mamba_d_state\": 128, \"mamba_n_groups\": 1, \"mamba_d_conv\": 4, \"mamba_expand\": 2, "
     "\"position_embedding_type\": \"nope\", \"vocab_size\": 100352"},
    {"granite-4.0-micro", 3402836480,
     "\"model_type\": \"granitemoehybrid\", \"hidden_size\": 2560, \"num_hidden_layers\": 40, "
     "\"num_attention_heads\": 40, \"num_key_value_heads\": 8, \"intermediate_size\": 8192, "
     "\"shared_intermediate_size\": 8192, \"num_local_experts\": 0, \"num_experts_per_tok\": 0, "
     "\"layer_types\": [" ATTENTION_10 ", " ATTENTION_10 ", " ATTENTION_10 ", " ATTENTION_10 "], "
     "\"mamba_n_heads\": 128, \"mamba_d_head\": 64, \"mamba_d_state\": 256, \"mamba_n_groups\": 1, "
     "\"position_embedding_type\": \"rope\", \"vocab_size\": 100352"},
    {"mamba-codestral-7b", 7285403648,
     "\"model_type\": \"mamba2\", \"hidden_size\": 4096, \"num_hidden_layers\": 64, \"num_heads\": 128, "
     "\"head_dim\": 64, \"state_size\": 128, \"n_groups\": 8, \"conv_kernel\": 4, \"chunk_size\": 256, "
     "\"expand\": 2, \"intermediate_size\": 8192, \"vocab_size\": 32768, \"tie_word_embeddings\": false, "
     "\"rms_norm\": true, \"norm_before_gate\": true, \"time_step_rank\": 256"},
    {"modernbert-base", 149655232,
     "\"model_type\": \"modernbert\", \"architectures\": [\"ModernBertForMaskedLM\"], \"hidden_size\": 768, "
     "\"num_hidden_layers\": 22, \"num_attention_heads\": 12, \"intermediate_size\": 1152, "
     "\"vocab_size\": 50368, \"global_attn_every_n_layers\": 3, \"local_attention\": 128"},
    {"bart-large", 406291456,
     "\"model_type\": \"bart\", \"max_position_embeddings\": 1024, " BART ", \"vocab_size\": 50265"},
    {"nllb-200-600m", 615073792,
     "\"model_type\": \"m2m_100\", \"activation_function\": \"relu\", " BART ", \"vocab_size\": 256206"},
    {"esm2-650m", 651043254,
     "\"model_type\": \"esm\", \"architectures\": [\"EsmForMaskedLM\"], \"position_embedding_type\": \"rotary\", "
     "\"hidden_size\": 1280, \"num_hidden_layers\": 33, \"num_attention_heads\": 20, "
     "\"intermediate_size\": 5120, \"vocab_size\": 33"},
    {"hunyuan-a13b (two layers of 32)", 5516739072,
     "\"model_type\": \"hunyuan_v1_moe\", \"hidden_size\": 4096, \"num_hidden_layers\": 2, "
     "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"attention_head_dim\": 128, "
     "\"intermediate_size\": 3072, \"moe_intermediate_size\": [3072, 3072], \"moe_topk\": [8, 8], "
     "\"num_experts\": 64, \"num_shared_expert\": [1, 1], \"vocab_size\": 128167, "
     "\"tie_word_embeddings\": true, \"dense_list\": [4096, 0], \"use_qk_norm\": true"},
    {"apertus-8b", 8053338176,
     "\"model_type\": \"apertus\", \"hidden_size\": 4096, \"num_hidden_layers\": 32, "
     "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"intermediate_size\": 21504, "
     "\"vocab_size\": 131072, \"qk_norm\": true, \"post_norm\": false"},
    {"phi-4-mini", 3836021760,
     "\"model_type\": \"phi3\", \"hidden_size\": 3072, \"num_hidden_layers\": 32, "
     "\"num_attention_heads\": 24, \"num_key_value_heads\": 8, \"intermediate_size\": 8192, "
     "\"vocab_size\": 200064, \"tie_word_embeddings\": true, \"partial_rotary_factor\": 0.75, "
     "\"full_attn_mod\": 1, \"interpolate_factor\": 1"},
    {"command-a", 111057580032,
     "\"model_type\": \"cohere2\", \"hidden_size\": 12288, \"num_hidden_layers\": 64, "
     "\"num_attention_heads\": 96, \"num_key_value_heads\": 8, \"head_dim\": 128, "
     "\"intermediate_size\": 36864, \"vocab_size\": 256000, \"layer_switch\": 4, "
     "\"position_embedding_type\": \"rope_gptj\", \"use_gated_activation\": true, "
     "\"use_parallel_block\": true, \"use_embedding_sharing\": true, \"sliding_window\": 4096"},
    {"kimi-linear", 49122681728,
     "\"model_type\": \"kimi_linear\", \"hidden_size\": 2304, \"num_hidden_layers\": 27, "
     "\"num_attention_heads\": 32, \"intermediate_size\": 9216, \"vocab_size\": 163840, "
     "\"kv_lora_rank\": 512, \"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, \"v_head_dim\": 128, "
     "\"linear_attn_config\": {\"full_attn_layers\": [4, 8, 12, 16, 20, 24, 27], \"head_dim\": 128, "
     "\"kda_layers\": [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26], "
     "\"num_heads\": 32, \"short_conv_kernel_size\": 4}, \"mla_use_nope\": true, \"num_experts\": 256, "
     "\"num_experts_per_token\": 8, \"moe_intermediate_size\": 1024, \"num_shared_experts\": 1, "
     "\"first_k_dense_replace\": 1, \"moe_layer_freq\": 1"},
};
enum { N_COUNTED = sizeof COUNTED / sizeof COUNTED[0] };

TSIM_TEST_LOOP(counts_of_families, 0, N_COUNTED) {
    const struct tsim_model *model = NULL;
    const char *yaml = NULL;
    ck_assert_int_eq(import_with(COUNTED[_i].keys, "\"use_cache\": true", &model, &yaml), TSIM_OK);
    ck_assert_msg(tsim_model_parameters(model) == COUNTED[_i].parameters, "%s: %.0f, not %.0f", COUNTED[_i].name,
                  tsim_model_parameters(model), COUNTED[_i].parameters);
    ck_assert_double_eq(tsim_model_parameters(read_back(yaml)), COUNTED[_i].parameters);
}

/* An unknown model_type is read as a Llama only with --approximate, and only if it has a Llama's sizes. */
TSIM_TEST(fallback) {
    static const struct {
        const char *keys;
        bool approximates, is_taken;
    } CASES[] = {
        {"\"num_attention_heads\": 4, \"intermediate_size\": 128, \"vocab_size\": 100", true, true},
        {"\"num_attention_heads\": 4, \"intermediate_size\": 128, \"vocab_size\": 100", false, false},
        {"\"num_attention_heads\": 4, \"vocab_size\": 100", true, false},
        {"\"num_attention_heads\": 4, \"intermediate_size\": 128, \"vocab_size\": 100, \"num_experts\": 8", true,
         false},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const char *text = tsim_arena_printf(
            &arena, "{\"model_type\": \"own\", \"hidden_size\": 64, \"num_hidden_layers\": 2, %s}", CASES[i].keys);
        const struct tsim_import_input input = {.approximates = CASES[i].approximates};
        const struct tsim_value *root = NULL;
        const struct tsim_model *model = NULL;
        const char *yaml = NULL;
        ck_assert_int_eq(tsim_document_parse(&arena, "config.json", text, strlen(text), &root, &diags), TSIM_OK);
        enum tsim_status status = tsim_hf_config_import(&arena, root, &input, &model, &yaml, &diags);
        ck_assert_msg((status == TSIM_OK) == CASES[i].is_taken, "%zu", i);
        if (CASES[i].is_taken)
            ck_assert(read_back(yaml)->approximate && read_back(yaml)->gated_mlp);
    }
}

/* --approximate takes layers that tsim does not have as attention to all tokens, leaves out parts of attention, and
 * says it in the file; experts and towers are refused as ever. */
TSIM_TEST(approximately) {
    static const struct {
        const char *keys;
        bool is_taken;
    } CASES[] = {{"\"layer_types\": [\"full_attention\", \"mamba\"]", true},
                 {"\"mamba_d_state\": 128", true},
                 {"\"use_qk_norm\": true", true},
                 {"\"num_local_experts\": 8", false},
                 {"\"vision_config\": {\"depth\": 32}", false},
                 {"\"width_of_something\": 3", false}};
    const struct tsim_model *model = NULL;
    const char *yaml = NULL;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const char *text = tsim_arena_printf(&arena, "{%s, %s}", LLAMA_2_7B, CASES[i].keys);
        const struct tsim_import_input input = {.approximates = true};
        const struct tsim_value *root = NULL;
        ck_assert_int_eq(tsim_document_parse(&arena, "config.json", text, strlen(text), &root, &diags), TSIM_OK);
        enum tsim_status status = tsim_hf_config_import(&arena, root, &input, &model, &yaml, &diags);
        ck_assert_msg((status == TSIM_OK) == CASES[i].is_taken, "%s", CASES[i].keys);
        if (!CASES[i].is_taken)
            continue;
        ck_assert_ptr_nonnull(strstr(yaml, "# approximate: "));
        ck_assert_ptr_nonnull(strstr(read_back(yaml)->source, "approximate, after the "));
        ck_assert(read_back(yaml)->approximate);
        ck_assert_double_eq(tsim_model_parameters(model), 6738415616);
    }
}

TSIM_TEST(text_of_a_model_of_images) {
    const char *text =
        "{\"model_type\": \"of_images\", \"vision_config\": {\"depth\": 27}, \"mm_tokens_per_image\": 256, "
        "\"text_config\": {\"model_type\": \"gemma3_text\", \"hidden_size\": 64, \"num_hidden_layers\": 2, "
        "\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"head_dim\": 16, "
        "\"intermediate_size\": 128, \"vocab_size\": 100}}";
    const struct tsim_model *model = NULL;
    const char *yaml = NULL, *vision = "vision_config";
    ck_assert_int_eq(import(text, strlen(text), &model, &yaml), TSIM_ERR_INFEASIBLE);
    ck_assert_str_eq(diags.items[0].field, vision);
    const struct tsim_value *root = NULL;
    struct tsim_import_input input = {.ignored = &vision, .n_ignored = 1};
    ck_assert_int_eq(tsim_document_parse(&arena, "config.json", text, strlen(text), &root, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_hf_config_import(&arena, root, &input, &model, &yaml, &diags), TSIM_OK);
    ck_assert_int_eq(model->layers, 2);
}

TSIM_TEST_LOOP(damaged_files_are_models_or_errors, 0, N_EXAMPLES) {
    const struct damage damage = {
        .junk = "\"{}[]:,9-n\xff&*#", .changes = 2, .apart = getenv("TSIM_CASES") ? 1 : 12, .seed = (uint64_t)_i};
    size_t size;
    const char *text = damage_file(file_of(&EXAMPLES[_i]), &size);
    damage_everywhere(&damage, text, size, read_damaged, EXAMPLES[_i].file);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
