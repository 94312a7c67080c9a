/* Models of the hub by name (models/hub.yaml): the sizes of each make as many parameters as its publisher counts. */
#include "base/arena.h"
#include "config/catalogue_load.h"
#include "config/scenario.h"
#include "config/text/document.h"
#include "import/flow_text.h"
#include "import/formats.h"
#include "model/model.h"
#include "support/check_main.h"

#include <string.h>

static struct tsim_arena arena;
static struct tsim_diags diags;

static void set_up(void) {
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
}

static void tear_down(void) {
    tsim_diags_print(&diags, stderr);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
}

static const struct tsim_value *hub(void) {
    const struct tsim_value *root = NULL;
    const char *file = tsim_arena_printf(&arena, "%s/models/hub.yaml", tsim_catalogue_folder(&arena));
    ck_assert_int_eq(tsim_document_read(&arena, file, &root, &diags), TSIM_OK);
    return root;
}

static double stated(const struct tsim_value *row) {
    const struct tsim_value *source = tsim_value_find(row, "source");
    double n = 0;
    for (const char *c = source ? source->text : ""; *c && *c != ' '; c++)
        n = *c == ',' ? n : 10 * n + (*c - '0');
    return n;
}

TSIM_TEST(parameters) {
    const struct tsim_value *root = hub();
    size_t n_stated = 0;
    for (size_t i = 0; i < root->n_items; i++) {
        const char *text =
            tsim_arena_printf(&arena, "schema: tsim/v1\nname: any\nmodel: %s\ncluster: {node: dgx-h100}\n",
                              tsim_flow_text(&arena, root->pairs[i].value));
        const struct tsim_scenario *job;
        struct tsim_scenario_source source;
        ck_assert_int_eq(tsim_scenario_open_text(&arena, "any", text, &source, &diags), TSIM_OK);
        ck_assert_msg(tsim_scenario_load_job(&arena, &source, NULL, 0, &job, &diags) == TSIM_OK, "%s",
                      root->pairs[i].key);
        const double n = stated(root->pairs[i].value);
        n_stated += n > 0;

        ck_assert_msg(n == 0 || tsim_model_parameters(job->model) == n, "%s: %.0f, its publisher counts %.0f",
                      root->pairs[i].key, tsim_model_parameters(job->model), n);
    }
    ck_assert_uint_ge(n_stated, 40);
}

/* The name of a recipe, and a key with its value that is the model's. */
static const struct {
    const char *name, *says;
} NAMES[] = {{"meta-llama/Meta-Llama-3.1-8B-Instruct", "model: llama3-8b"},
             {"unsloth/llama-3-8b-bnb-4bit", "model: llama3-8b"},
             {"/data/models/Llama-2-7b-hf/", "model: llama2-7b"},
             {"TinyLlama/TinyLlama-1.1B-Chat-v1.0", "model: tinyllama-1.1b"},
             {"Qwen/Qwen3-4B-Instruct-2507", "model: qwen3-4b"},
             {"mistralai/Mistral-7B-Instruct-v0.3", "vocab: 32768"},
             {"deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "extends: qwen2.5-1.5b"},
             {"facebook/opt-1.3b", "hidden: 2048"},
             {"facebook/opt-13b", "hidden: 5120"},
             {"cognitivecomputations/dolphin-2.9-llama3-8b", "model: llama3-8b"},
             {"NousResearch/Nous-Hermes-2-Mixtral-8x7B-DPO", "model: mixtral-8x7b"},
             {"bigscience/bloom-1b7", "name: bloom-1b7"},
             {"CohereForAI/c4ai-command-r7b-12-2024", "kind: window"}};

/* Names with a known one in them, of other networks. */
static const char *const OTHER_MODELS[] = {"llava-v1.6-mistral-7b",       "Qwen/Qwen2.5-VL-3B-Instruct",
                                           "DeepSeek-R1-Distill-Qwen-3B", "Qwen/Qwen3-8B-Embedding",
                                           "bigscience/bloom-2b5",        "frank/llama3-8b-11b-merge"};

TSIM_TEST_ROWS(other_models, OTHER_MODELS) {
    const char *text =
        tsim_arena_printf(&arena, "base_model: %s\nmicro_batch_size: 1\nsequence_len: 1024\n", OTHER_MODELS[_i]);
    const struct tsim_import_input input = {.file = "job.yaml", .text = text, .size = strlen(text)};
    struct tsim_import_result result;
    ck_assert_int_eq(tsim_import_format_find("axolotl")->read(&arena, &input, &result, &diags), TSIM_ERR_INFEASIBLE);
    ck_assert_msg(strstr(diags.items[0].message, "no model of the") != NULL, "%s", diags.items[0].message);
    ck_assert_int_eq(diags.items[0].at.line, 1);
}

TSIM_TEST_ROWS(names, NAMES) {
    const char *text = tsim_arena_printf(
        &arena, "base_model: %s\nmicro_batch_size: 1\nsequence_len: 1024\nsample_packing: true\n", NAMES[_i].name);
    const struct tsim_import_input input = {.file = "job.yaml", .text = text, .size = strlen(text)};
    struct tsim_import_result result;
    ck_assert_int_eq(tsim_import_format_find("axolotl")->read(&arena, &input, &result, &diags), TSIM_OK);
    ck_assert_msg(strstr(result.yaml, NAMES[_i].says) != NULL, "%s: %s", NAMES[_i].name, result.yaml);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
