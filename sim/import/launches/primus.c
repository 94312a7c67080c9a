#include "import/launches/recipes.h"

#include "base/among.h"
#include "config/catalogue_load.h"
#include "config/text/document.h"
#include "import/launches/gpt.h"
#include "import/launches/hub_names.h"
#include "import/launches/launch_log.h"
#include "import/launches/launch_words.h"
#include "import/launches/maxtext.h"
#include "import/launches/titan_job.h"
#include "import/overrides.h"

#include <stdlib.h>
#include <string.h>

/* YAML of AMD-AGI/Primus: modules.pre_trainer names a framework, a preset of its model (primus/configs/models) and what
 * is changed of it. Values may be "${NAME:default}", of variables of the environment. Presets of Megatron-LM are read
 * where they stand in the same tree; else their names say the model of the catalogue. */

enum { MOST_PRESETS = 16 };

struct reading {
    struct tsim_recipe *r;
    const struct tsim_value *module; /* modules.pre_trainer, or post_trainer */
    const char *framework, *model;   /* "megatron"; "llama3.1_8B" without its ending */
    int n_presets;
};

/* Replaces "${PRIMUS_TP:1}" by 1 and "${A:deepseek_v3}.yaml" by deepseek_v3.yaml, unless --env gives another value. */
static const char *with_defaults(struct tsim_arena *arena, const struct tsim_import_input *input, const char *text) {
    const char *result = "";
    for (int n = 0; *text && n < 8; n++) {
        const char *open = strstr(text, "${"), *close = open ? strchr(open, '}') : NULL;
        const char *colon = close ? memchr(open, ':', (size_t)(close - open)) : NULL;
        if (!colon)
            break;
        const char *own = tsim_import_environment(input, open + 2, (size_t)(colon - open - 2));
        own = own ? own : tsim_arena_strndup(arena, colon + 1, (size_t)(close - colon - 1));
        result = tsim_arena_printf(arena, "%s%.*s%s", result, (int)(open - text), text, own);
        text = close + 1;
    }
    return tsim_arena_printf(arena, "%s%s", result, text);
}

static const struct tsim_value *resolved(struct reading *g, const struct tsim_value *value) {
    if (value->kind != TSIM_VALUE_SCALAR || !strstr(value->text, "${") || strlen(value->text) > 400)
        return value;
    const char *text = with_defaults(g->r->arena, &g->r->input, value->text);
    return tsim_value_new_scalar(g->r->arena, value, strcmp(text, "\"\"") == 0 || strcmp(text, "''") == 0 ? "" : text);
}

static const char *word_of(struct reading *g, const char *key) {
    const struct tsim_value *value = tsim_value_find(g->module, key);
    return value && value->kind == TSIM_VALUE_SCALAR ? resolved(g, value)->text : NULL;
}

/* Returns whether the key is about Primus itself, and not about the job. */
static bool is_of_primus(const char *key) {
    static const char *const BEGINNINGS[] = {
        "sink_level",          "file_sink_level", "stderr_sink_level",   "disable_wandb",
        "disable_tensorboard", "disable_mlflow",  "disable_last_saving", "auto_continue_train",
        "primus_turbo",        "pp_warmup",       "dump_pp_data",        "disable_profiler_activity_cpu",
        "torch_profiler_",     "mlflow_"};
    if (TSIM_IS_ONE_OF(key, "primus_turbo.enable_attention_float8", "primus_turbo.use_moe_fp8"))
        return false;
    for (size_t i = 0; i < sizeof BEGINNINGS / sizeof BEGINNINGS[0]; i++)
        if (strncmp(key, BEGINNINGS[i], strlen(BEGINNINGS[i])) == 0)
            return true;
    return false;
}

static void add_override(void *context, const char *path, const struct tsim_value *value) {
    struct reading *g = context;
    const char *dot = strrchr(path, '.');
    const char *key = strcmp(g->framework, "megatron") == 0 && dot ? dot + 1 : path;
    if (strncmp(path, "lora.", 5) == 0)
        key = path;
    if (strncmp(path, "quantize.linear.", 16) == 0) /* torchtitan's float8 and mx, at a newer place */
        key = path + 16;
    if (!is_of_primus(key))
        tsim_recipe_add(g->r, path, key, resolved(g, value));
}

/* ---- presets of Megatron-LM ---- */

static bool read_preset(struct reading *g, const char *name);

/* Adds the presets that a preset extends, then its own settings, which override them. */
static void add_preset(struct reading *g, const struct tsim_value *root) {
    static const char *const PARENTS[] = {"extends", "includes", "bases"};
    for (size_t i = 0; i < sizeof PARENTS / sizeof PARENTS[0]; i++) {
        const struct tsim_value *parents = tsim_value_find(root, PARENTS[i]);
        for (size_t k = 0; parents && parents->kind == TSIM_VALUE_SEQUENCE && k < parents->n_items; k++)
            if (parents->items[k]->kind == TSIM_VALUE_SCALAR && !strstr(parents->items[k]->text, "modules/"))
                read_preset(g, parents->items[k]->text);
    }
    for (size_t i = 0; i < root->n_items; i++) {
        const struct tsim_pair *pair = &root->pairs[i];
        bool is_parent = TSIM_IS_ONE_OF(pair->key, "extends", "includes", "bases");
        if (!is_parent && pair->value->kind != TSIM_VALUE_MAPPING && !is_of_primus(pair->key))
            tsim_recipe_add(g->r, pair->key, pair->key, resolved(g, pair->value));
    }
}

/* Reads primus/configs/models/megatron/NAME in one of the folders above the file. */
static bool read_preset(struct reading *g, const char *name) {
    const struct tsim_import_input *input = &g->r->input;
    const char *up = "";
    if (!input->read_beside || ++g->n_presets > MOST_PRESETS || strchr(name, '/'))
        return false;
    for (int i = 0; i < 8; i++, up = tsim_arena_printf(g->r->arena, "../%s", up)) {
        const char *path = tsim_arena_printf(g->r->arena, "%sprimus/configs/models/megatron/%s", up, name);
        const struct tsim_value *root;
        size_t size = 0;
        const char *text = input->read_beside(g->r->arena, input->file, path, &size);
        if (!text)
            continue;
        if (tsim_document_parse_wide(g->r->arena, path, text, size, &root, g->r->diags) != TSIM_OK ||
            root->kind != TSIM_VALUE_MAPPING)
            return false;
        add_preset(g, root);
        return true;
    }
    return false;
}

/* Returns the model of a preset whose name differs from the model's, or is one with an edition at the end (Qwen's). */
static const char *known_preset(struct reading *g) {
    static const char *const NAMES[][2] = {
        {"deepseek_v2_lite", "deepseek-v2-lite"}, {"deepseek_v2", "deepseek-v2"},
        {"deepseek_v3", "deepseek-v3"},           {"kimi_k2", "kimi-k2"},
        {"mixtral_8x7B_v0.1", "mixtral-8x7b"},    {"mixtral_8x22B_v0.1", "mixtral-8x22b"}};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (strcmp(g->model, NAMES[i][0]) == 0)
            return NAMES[i][1];
    return tsim_known_model(g->r, g->model);
}

/* Refuses settings that would change a model of which only the name is known, because its other sizes are not known
 * here. */
static void check_changes(struct reading *g, const struct tsim_model *model) {
    static const char *const OTHERS[] = {"q_lora_rank",
                                         "kv_lora_rank",
                                         "qk_head_dim",
                                         "v_head_dim",
                                         "kv_channels",
                                         "moe_shared_expert_intermediate_size",
                                         "swiglu",
                                         "normalization",
                                         "untie_embeddings_and_output_weights",
                                         "qk_layernorm",
                                         "add_qkv_bias",
                                         "add_bias_linear",
                                         "position_embedding_type",
                                         "vocab_size"};
    const struct {
        const char *key;
        bool is_on;
    } OWN[] = {{"swiglu", model->gated_mlp},
               {"untie_embeddings_and_output_weights", !model->tied_embeddings},
               {"qk_layernorm", model->qk_norm},
               {"add_qkv_bias", model->qkv_bias},
               {"add_bias_linear", model->bias}};
    const struct tsim_setting *latent = tsim_recipe_find(g->r, "multi_latent_attention");
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++) {
        const struct tsim_setting *s = tsim_recipe_find(g->r, OTHERS[i]);
        for (size_t k = 0; s && k < sizeof OWN / sizeof OWN[0]; k++)
            if (strcmp(OTHERS[i], OWN[k].key) == 0 && tsim_setting_flag(g->r, s) == OWN[k].is_on)
                s = NULL;
        if (s)
            tsim_recipe_refuse(
                g->r, s, "changes the model that '%.40s' names: give the change with --set model.KEY=VALUE", g->model);
    }
    if (latent && tsim_setting_flag(g->r, latent) && model->latent.kv_rank == 0)
        tsim_recipe_refuse(g->r, latent, "changes the attention of the model that '%.40s' names", g->model);
}

/* multi_latent_attention: false of a model that has it leaves attention of as many heads, each as wide
 * (kv_channels). */
static void put_plain_attention(struct reading *g, const char *id, const struct tsim_setting *from) {
    static const char *const RANKS[] = {"kv_rank", "query_rank", "rope_dim"};
    const struct tsim_setting *latent = tsim_recipe_find(g->r, "multi_latent_attention");
    const struct tsim_model *model;
    if (!latent || tsim_setting_flag(g->r, latent) ||
        tsim_catalogue_load_model(g->r->arena, id, &model, g->r->diags) != TSIM_OK || model->latent.kv_rank == 0)
        return;
    tsim_recipe_put(g->r, "model.extends", from, NULL, "%s", id);
    for (size_t i = 0; i < sizeof RANKS / sizeof RANKS[0]; i++)
        tsim_recipe_put(g->r, tsim_arena_printf(g->r->arena, "model.latent.%s", RANKS[i]), latent, NULL, "0");
}

/* Puts the model of a preset that differs from the model of its name
 * (primus/configs/models/megatron/gpt_oss_20B.yaml@5163c07). */
static void put_preset(struct reading *g, const struct tsim_setting *from) {
    if (strcmp(g->model, "gpt_oss_20B") == 0)
        tsim_put_hub_model(g->r, from, "primus-gpt-oss-20b");
}

static enum tsim_status megatron_job(struct reading *g, bool has_preset, struct tsim_import_result *result) {
    struct tsim_recipe *r = g->r;
    struct tsim_gpt gpt = {.r = r, .program = TSIM_GPT_MEGATRON, .software = "primus-2025", .says_overlaps = true};
    const bool has_sizes = tsim_recipe_find(r, "num_layers") && tsim_recipe_find(r, "hidden_size") &&
                           tsim_recipe_find(r, "num_attention_heads");
    const char *id = has_preset || has_sizes ? NULL : known_preset(g);
    const struct tsim_value *at = tsim_value_find(g->module, "model");
    struct tsim_setting *from = TSIM_NEW(r->arena, struct tsim_setting);
    *from = (struct tsim_setting){"model", "model", at, true, NULL};
    if (!has_preset && !has_sizes && !id && !tsim_import_override(&r->input, "model"))
        tsim_diag_hint(tsim_recipe_error(r, from,
                                         "the preset '%.60s' is neither in this tree nor a model of the catalogue",
                                         g->model),
                       "name the model with --model ID or --hf CONFIG");
    if (id && !tsim_import_override(&r->input, "model")) {
        const struct tsim_model *model;
        if (tsim_catalogue_load_model(r->arena, id, &model, r->diags) == TSIM_OK)
            check_changes(g, model);
        gpt.named = id;
        gpt.named_from = from;
    }
    if (r->diags->n_errors == r->n_errors_before && tsim_recipe_accepts(r)) {
        tsim_gpt_build(&gpt);
        if (gpt.named) {
            put_plain_attention(g, gpt.named, from);
            put_preset(g, from);
        }
    }
    return tsim_recipe_finish(r, result);
}

/* Values of primus/configs/modules/megatron (pre_trainer.yaml, trainer_base.yaml) that differ from Megatron-LM's own. */
static void add_defaults(struct reading *g) {
    static const char *const DEFAULTS[][2] = {{"train_iters", "1000"},
                                              {"global_batch_size", "16"},
                                              {"micro_batch_size", "2"},
                                              {"seq_length", "1024"},
                                              {"bf16", "true"},
                                              {"use_distributed_optimizer", "true"},
                                              {"hidden_dropout", "0"},
                                              {"attention_dropout", "0"},
                                              {"overlap_p2p_comm", "true"}};
    for (size_t i = 0; i < sizeof DEFAULTS / sizeof DEFAULTS[0]; i++)
        tsim_recipe_add(g->r, "Primus' default", DEFAULTS[i][0],
                        tsim_value_new_scalar(g->r->arena, &g->r->at_top, DEFAULTS[i][1]));
}

/* ---- the other frameworks ---- */

/* "llama3.1_70B-fp8" is llama3 with the flavor 70B and float8. */
static void add_flavor(struct reading *g) {
    static const char *const FAMILIES[][3] = {
        {"llama3", "llama3", ""}, {"llama4_17Bx", "llama4", "17bx"}, {"deepseek_v3_", "deepseek_v3", ""},
        {"qwen3_", "qwen3", ""},  {"gpt_oss_", "gpt_oss", ""},       {"llama2_", "llama2", ""}};
    char *model = tsim_arena_strdup(g->r->arena, g->model);
    const struct tsim_value *at = tsim_value_find(g->module, "model");
    char *ending = strstr(model, "-fp8") ? strstr(model, "-fp8") : strstr(model, "-FP8");
    char *other = strstr(model, "-bf16") ? strstr(model, "-bf16") : strstr(model, "-BF16");
    if (ending && !tsim_recipe_find(g->r, "model.converters"))
        tsim_recipe_add(g->r, "model", "model.converters", tsim_value_new_scalar(g->r->arena, at, "float8"));
    if (ending || other)
        *(ending ? ending : other) = '\0';
    for (size_t i = 0; i < sizeof FAMILIES / sizeof FAMILIES[0]; i++) {
        size_t length = strlen(FAMILIES[i][0]);
        if (strncmp(model, FAMILIES[i][0], length) != 0)
            continue;
        const char *rest = i == 0 && strchr(model, '_') ? strchr(model, '_') + 1 : model + length;
        char *flavor = tsim_arena_printf(g->r->arena, "%s%s", FAMILIES[i][2], rest);
        bool is_small = i == 1 || i == 4; /* 17bx16e, 20b */
        for (char *c = flavor; *c; c++)
            *c = *c == 'B' && is_small    ? 'b'
                 : *c == 'E' && is_small  ? 'e'
                 : *c == '_' && i == 3    ? '-'
                 : *c == 'b' && !is_small ? 'B'
                                          : *c;
        tsim_recipe_add(g->r, "model", "model.name", tsim_value_new_scalar(g->r->arena, at, FAMILIES[i][1]));
        tsim_recipe_add(g->r, "model", "model.flavor", tsim_value_new_scalar(g->r->arena, at, flavor));
        return;
    }
    tsim_recipe_add(g->r, "model", "model.flavor", tsim_value_new_scalar(g->r->arena, at, model));
}

static void add_machine(struct reading *g, const char *key) {
    const struct tsim_value *at = tsim_value_find(g->module, "framework");
    if (!tsim_recipe_find(g->r, key))
        tsim_recipe_add(g->r, "Primus", key,
                        tsim_value_new_scalar(g->r->arena, at, tsim_primus_machine(g->r->document->file, "")));
}

static enum tsim_status job(struct reading *g, struct tsim_import_result *result) {
    const struct tsim_value *overrides = tsim_value_find(g->module, "overrides"),
                            *at = tsim_value_find(g->module, "model");
    struct tsim_recipe *r = g->r;
    bool is_megatron = strcmp(g->framework, "megatron") == 0, has_preset = false;
    if (is_megatron) {
        add_defaults(g);
        has_preset = read_preset(g, tsim_arena_printf(r->arena, "%s.yaml", g->model));
        add_machine(g, "machine");
    }
    if (overrides && overrides->kind == TSIM_VALUE_MAPPING)
        tsim_recipe_each(r, overrides, add_override, g);
    if (is_megatron)
        return megatron_job(g, has_preset, result);
    if (strcmp(g->framework, "torchtitan") == 0) {
        add_flavor(g);
        add_machine(g, "preset.machine");
        return tsim_titan_job(r, result);
    }
    if (strcmp(g->framework, "maxtext") == 0) {
        if (!tsim_recipe_find(r, "model_name"))
            tsim_recipe_add(r, "model", "model_name", tsim_value_new_scalar(r->arena, at, g->model));
        tsim_recipe_add(r, "Primus", "hardware", tsim_value_new_scalar(r->arena, at, "gpu"));
        add_machine(g, "machine");
        return tsim_maxtext_job(r, result);
    }
    tsim_recipe_error(r, NULL, "the framework '%.40s' is none of megatron, torchtitan and maxtext", g->framework);
    return TSIM_ERR_INFEASIBLE;
}

enum tsim_status tsim_import_primus(struct tsim_arena *arena, const struct tsim_import_input *input,
                                    struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    struct reading g = {.r = &r};
    const struct tsim_value *root;
    if (tsim_log_has_arguments(input->text, input->size))
        return tsim_import_megatron(arena, input, result, diags);
    TSIM_TRY(tsim_document_parse_wide(arena, input->file, input->text, input->size, &root, diags));
    tsim_recipe_init(&r, arena, input, "Primus", "megatron", diags);
    enum tsim_status status = TSIM_ERR_INFEASIBLE;
    const struct tsim_value *modules = tsim_value_find(root, "modules");
    g.module = modules && modules->kind == TSIM_VALUE_MAPPING ? tsim_value_find(modules, "pre_trainer") : NULL;
    if (!g.module && modules && modules->kind == TSIM_VALUE_MAPPING)
        g.module = tsim_value_find(modules, "post_trainer");
    if (g.module && g.module->kind == TSIM_VALUE_MAPPING) {
        g.framework = word_of(&g, "framework");
        g.model = word_of(&g, "model");
    }
    if (g.framework && g.model) {
        const char *ending = strstr(g.model, ".yaml");
        g.model = ending ? tsim_arena_strndup(arena, g.model, (size_t)(ending - g.model)) : g.model;
        status = job(&g, result);
    } else {
        tsim_diag_hint(
            tsim_recipe_error(&r, NULL, "modules.pre_trainer or post_trainer with a framework and a model is missing"),
            "an experiment of Primus, as its examples are");
    }
    tsim_recipe_release(&r);
    return status;
}
