#include "import/launches/recipes.h"

#include "config/text/document.h"
#include "import/launches/bridge.h"
#include "import/launches/gpt.h"
#include "import/launches/hydra.h"
#include "import/launches/launch_command.h"
#include "import/launches/nemo_script.h"
#include "import/launches/omegaconf.h"
#include "import/overrides.h"

#include <stdlib.h>
#include <string.h>

/* NeMo 1 (Hydra: trainer, exp_manager, model) and NeMo 2 (NeMo-Run: trainer.strategy, model.config, data,
 * optim.config). Settings are kept under Megatron's names: what stands below model, model.config or trainer.strategy
 * without that prefix. */

/* Settings that nothing asks for, by their keys here (examples/nlp/language_modeling/conf of NVIDIA/NeMo, the launcher's
 * and NeMo 2's recipes). A job is known by its names and targets, too. A setting that stands nowhere is an error. */
/* clang-format on */

/* Model classes of NeMo 2 that stand for a model of the catalogue. */
static const struct {
    const char *class, *id;
} NAMED[] = {{"Llama2Config7B", "llama2-7b"},
             {"Llama2Config13B", "llama2-13b"},
             {"Llama2Config70B", "llama2-70b"},
             {"Llama3Config8B", "llama3-8b"},
             {"Llama31Config8B", "llama3-8b"},
             {"Llama3Config70B", "llama3-70b"},
             {"Llama31Config70B", "llama3-70b"},
             {"Llama31Config405B", "llama3-405b"},
             {"MixtralConfig8x7B", "mixtral-8x7b"},
             {"DeepSeekV3Config", "deepseek-v3"},
             {"GPTConfig175B", "gpt3-175b"},
             {"Llama4Experts16Config", "llama4-scout"},
             {"Llama4Experts128Config", "llama4-maverick"}};

struct reading {
    struct tsim_recipe *r;
    struct tsim_omegaconf tree;
};

/* ---- settings ---- */

static const char *key_of(struct tsim_arena *arena, const char *path) {
    static const char *const PREFIXES[][2] = {{"training.", ""},
                                              {"trainer.strategy.", ""},
                                              {"model.config.", ""},
                                              {"model.data.", "data."},
                                              {"model.tokenizer.", "tokenizer."},
                                              {"model.optim.", "optim."},
                                              {"optim.config.", "optim."},
                                              {"model.", ""}};
    static const char *const NAMES[][2] = {{"trainer.num_nodes", "nnodes"},
                                           {"trainer.devices", "nproc_per_node"},
                                           {"trainer.precision", "precision"},
                                           {"trainer.max_steps", "max_steps"},
                                           {"data.micro_batch_size", "micro_batch_size"},
                                           {"data.global_batch_size", "global_batch_size"},
                                           {"data.train_ds.micro_batch_size", "micro_batch_size"},
                                           {"data.train_ds.global_batch_size", "global_batch_size"},
                                           {"optim.use_distributed_optimizer", "use_distributed_optimizer"},
                                           {"data.tokenizer.pretrained_model_name", "tokenizer.type"},
                                           {"tokenizer.pretrained_model_name", "tokenizer.type"},
                                           {"optim.bf16", "bf16"},
                                           {"optim.fp16", "fp16"},
                                           {"trainer.plugins.precision", "precision"},
                                           {"trainer.plugins.fp8", "fp8"},
                                           {"trainer.plugins.grad_reduce_in_fp32", "grad_reduce_in_fp32"},
                                           {"ddp.grad_reduce_in_fp32", "grad_reduce_in_fp32"},
                                           {"num_moe_experts", "num_experts"}};
    const char *key = path;
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (strcmp(key, NAMES[i][0]) == 0)
            return NAMES[i][1];
    for (size_t i = 0; i < sizeof PREFIXES / sizeof PREFIXES[0]; i++)
        if (strncmp(key, PREFIXES[i][0], strlen(PREFIXES[i][0])) == 0)
            key = tsim_arena_printf(arena, "%s%s", PREFIXES[i][1], key + strlen(PREFIXES[i][0]));
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (strcmp(key, NAMES[i][0]) == 0)
            return NAMES[i][1];
    return key;
}

static void add_setting(void *context, const char *name, const struct tsim_value *value) {
    struct reading *g = context;
    tsim_recipe_add(g->r, name, key_of(g->r->arena, name), tsim_omegaconf_value(&g->tree, name, value));
}

/* ---- the model by its class ---- */

static void find_named(struct reading *g, struct tsim_gpt *gpt) {
    const struct tsim_setting *class = tsim_recipe_find(g->r, "_target_");
    for (size_t i = 0; i < g->r->n_settings && i < TSIM_RECIPE_MAX_SETTINGS; i++)
        if (strcmp(g->r->settings[i].name, "model.config._target_") == 0)
            class = &g->r->settings[i];
    const char *dot = class ? strrchr(tsim_setting_text(class), '.') : NULL;
    if (!dot)
        return;
    for (size_t i = 0; i < sizeof NAMED / sizeof NAMED[0]; i++)
        if (strcmp(dot + 1, NAMED[i].class) == 0) {
            gpt->named = NAMED[i].id;
            gpt->named_from = class;
        }
    if (!gpt->named && !tsim_recipe_find(g->r, "num_layers") && !tsim_import_override(&g->r->input, "model"))
        tsim_diag_hint(tsim_recipe_error(g->r, class, "tsim does not know the model '%.60s'", dot + 1),
                       "it knows Llama2Config7B, Llama3Config8B, ...; name the model with --model ID or --hf CONFIG, "
                       "or add num_layers, hidden_size and the other sizes");
}

static bool is_bert(struct tsim_recipe *r) {
    static const char *const NAMES[] = {"name", "run.name", "exp_manager.name"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        const struct tsim_setting *s = tsim_recipe_find(r, NAMES[i]);
        if (s && strstr(tsim_setting_text(s), "bert"))
            return true;
    }
    return false;
}

/* Returns the recipe of Megatron-Bridge that the words behind "--" name, as in "--recipe llama3_8b_pretrain_config";
 * NULL: none. */
static const char *named_recipe(const struct tsim_import_input *input) {
    const char *name = NULL;
    for (size_t i = 0; i < input->n_arguments; i++)
        name = input->arguments[i][0] == '-' || strchr(input->arguments[i], '=') ? name : input->arguments[i];
    return name;
}

static enum tsim_status read_recipe(struct reading *g, const char *name, struct tsim_import_result *result) {
    struct tsim_gpt gpt = {.r = g->r, .program = TSIM_GPT_NEMO, .is_bridge = true};
    tsim_recipe_take_classes(g->r, "megatron");
    TSIM_TRY(tsim_bridge_recipe(g->r, name, g->tree.root, &gpt.named));
    if (tsim_recipe_accepts(g->r))
        tsim_gpt_build(&gpt);
    return tsim_recipe_finish(g->r, result);
}

/* The launcher's own configuration holds that of the training under the key `training`. */
static const struct tsim_value *training_of(const struct tsim_value *root) {
    const struct tsim_value *training = tsim_value_find(root, "training");
    return training && training->kind == TSIM_VALUE_MAPPING && tsim_value_find(training, "model") ? training : root;
}

/* Falcon has attention and feed-forward block side by side, in its newer form with a norm each. */
static void put_parallel_block(struct tsim_recipe *r) {
    const struct tsim_setting *newer = tsim_recipe_find(r, "mcore_customization_config.new_decoder_architecture"),
                              *both = tsim_recipe_find(r, "mcore_customization_config.parallel_attention");
    const bool is_newer = newer && tsim_setting_flag(r, newer);
    if (!is_newer && !(both && tsim_setting_flag(r, both)))
        return;
    tsim_recipe_put(r, "model.parallel_block", is_newer ? newer : both, NULL, "true");
    if (is_newer)
        tsim_recipe_put(r, "model.parallel_norms", newer, NULL, "true");
}

enum tsim_status tsim_import_nemo(struct tsim_arena *arena, const struct tsim_import_input *input,
                                  struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    struct reading g = {.r = &r, .tree = {.arena = arena, .input = input}};
    if (tsim_is_bridge(input->text, input->size))
        return tsim_import_megatron(arena, input, result, diags);
    const enum tsim_nemo_form form = tsim_nemo_form_of(input->text, input->size);
    struct tsim_gpt gpt = {.r = &r, .program = TSIM_GPT_NEMO};
    enum tsim_status status = TSIM_OK;
    if (form == TSIM_NEMO_FILE)
        TSIM_TRY(tsim_document_parse_wide(arena, input->file, input->text, input->size, &g.tree.root, diags));
    tsim_recipe_init(&r, arena, input, "NeMo", "nemo", diags);
    if (form != TSIM_NEMO_FILE) {
        const char *recipe;
        status = tsim_nemo_script(&r, form, &g.tree.root, &gpt.named, &recipe);
        if (status == TSIM_OK && recipe)
            status = read_recipe(&g, recipe, result);
        if (status != TSIM_OK || recipe) {
            tsim_recipe_release(&r);
            return status;
        }
    } else if (named_recipe(input) || tsim_has_bridge_sections(g.tree.root)) {
        enum tsim_status of_recipe = read_recipe(&g, named_recipe(input), result);
        tsim_recipe_release(&r);
        return of_recipe;
    }
    if (form == TSIM_NEMO_FILE)
        g.tree.root = training_of(tsim_hydra_compose(arena, input, g.tree.root, diags));
    tsim_recipe_each(g.r, g.tree.root, add_setting, &g);
    status = TSIM_ERR_INFEASIBLE;
    if (tsim_recipe_accepts(&r)) {
        if (!gpt.named)
            find_named(&g, &gpt);
        gpt.is_bidirectional = is_bert(&r);
        tsim_gpt_build(&gpt);
        if (!gpt.named && !gpt.is_given)
            put_parallel_block(&r);
        status = tsim_recipe_finish(&r, result);
    }
    tsim_recipe_release(&r);
    return status;
}
