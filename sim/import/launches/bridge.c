#include "import/launches/bridge.h"

#include "base/among.h"
#include "config/catalogue_load.h"
#include "config/text/document.h"
#include "import/launches/hub_names.h"
#include "import/launches/launch_log.h"
#include "import/launches/launch_words.h"
#include "import/launches/omegaconf.h"
#include "import/overrides.h"

#include <string.h>

/* Sections by what is read of them (megatron/bridge/training/config.py). A later one's key counts: the data's length is
 * what is trained, the model's what it could be. */
static const struct section {
    const char *name;
    const char *const keys[12]; /* NULL first: all */
} SECTIONS[] = {
    {"model", {NULL}},
    {"train", {"micro_batch_size", "global_batch_size", "train_iters", "train_samples", "rampup_batch_size", NULL}},
    {"dataset", {"seq_length", "sequence_length", NULL}},
    {"ddp",
     {"overlap_grad_reduce", "overlap_param_gather", "use_distributed_optimizer", "grad_reduce_in_fp32",
      "num_distributed_optimizer_instances", "data_parallel_sharding_strategy", "bucket_size", "fp8_param_gather",
      "use_megatron_fsdp", "nccl_ub", NULL}},
    {"comm_overlap",
     {"overlap_grad_reduce", "overlap_param_gather", "bucket_size", "overlap_p2p_comm", NULL}}, /* over ddp's */
    {"optimizer",
     {"optimizer", "optimizer_cpu_offload", "optimizer_offload_fraction", "main_grads_dtype", "main_params_dtype",
      "exp_avg_dtype", "exp_avg_sq_dtype", "loss_scale", "loss_scale_window", "hysteresis", NULL}},
    {"dist", {"use_tp_pp_dp_mapping", "use_torch_fsdp2", "use_megatron_fsdp", "use_sharp", NULL}},
};
/* Sections of which nothing is read here. */
static const char *const OTHERS[] = {"checkpoint",
                                     "logger",
                                     "rng",
                                     "profiling",
                                     "scheduler",
                                     "tokenizer",
                                     "ft",
                                     "straggler",
                                     "nvrx_straggler",
                                     "inprocess_restart",
                                     "rerun_state_machine",
                                     "tensor_inspect",
                                     "validation",
                                     "optimizer_config_override_provider",
                                     "ENV_VARS",
                                     "peft",
                                     "mixed_precision",
                                     "env_vars",
                                     "recipe"};

bool tsim_is_bridge(const char *text, size_t size) {
    static const char NAME[] = "_target_: megatron.bridge.training.config.ConfigContainer";
    for (const char *c = text, *end = text + size; c && (size_t)(end - c) >= sizeof NAME - 1; c++) {
        c = memchr(c, '_', (size_t)(end - c));
        if (!c || (size_t)(end - c) < sizeof NAME - 1)
            return false;
        if (memcmp(c, NAME, sizeof NAME - 1) == 0)
            return true;
    }
    return false;
}

static bool is_read(const struct section *section, const char *key) {
    for (size_t i = 0; section->keys[i]; i++)
        if (strcmp(section->keys[i], key) == 0)
            return true;
    return !section->keys[0];
}

/* Returns the word that a mapping {_target_: torch.bfloat16} stands for; NULL: an object, of which nothing is read. */
static const char *object_word(const struct tsim_value *object) {
    static const char *const BACKENDS[] = {"flash", "fused", "unfused", "local"}; /* AttnBackend, from 1 */
    const struct tsim_value *target = tsim_value_find(object, "_target_"),
                            *arguments = tsim_value_find(object, "_args_");
    if (!target || target->kind != TSIM_VALUE_SCALAR)
        return NULL;
    const char *type = tsim_launch_ours(tsim_torch_types, target->text);
    if (type)
        return type;
    if (!strstr(target->text, "AttnBackend") || !arguments || arguments->kind != TSIM_VALUE_SEQUENCE ||
        arguments->n_items != 1)
        return NULL;
    for (size_t i = 0; i < sizeof BACKENDS / sizeof BACKENDS[0]; i++) {
        const char number[] = {(char)('1' + i), '\0'};
        if (tsim_value_is_text(arguments->items[0], number))
            return BACKENDS[i];
    }
    return NULL;
}

static const char *key_of(const struct section *section, const char *key) {
    if (strcmp(section->name, "dataset") == 0)
        return "seq_length";
    return strcmp(key, "bucket_size") == 0 ? "ddp_bucket_size" : key;
}

/* Values may be variables of the environment, "${TP}", that a program fills in (--env). */
static void add_section(struct tsim_recipe *r, const struct section *section, const struct tsim_value *mapping) {
    struct tsim_omegaconf tree = {.arena = r->arena, .input = &r->input, .root = mapping};
    for (size_t i = 0; i < mapping->n_items; i++) {
        const struct tsim_pair *pair = &mapping->pairs[i];
        const struct tsim_value *value = tsim_omegaconf_value(&tree, pair->key, pair->value);
        if (!is_read(section, pair->key) || pair->key[0] == '_' || tsim_value_is_null(value))
            continue;
        const char *word = value->kind == TSIM_VALUE_MAPPING  ? object_word(value)
                           : value->kind == TSIM_VALUE_SCALAR ? tsim_launch_ours(tsim_torch_types, value->text)
                                                              : NULL;
        if (value->kind == TSIM_VALUE_MAPPING && !word)
            continue;
        value = word ? tsim_value_new_scalar(r->arena, value, word) : value;
        tsim_recipe_add(r, tsim_arena_printf(r->arena, "%s.%s", section->name, pair->key), key_of(section, pair->key),
                        value);
    }
}

/* Returns the section of that name, also as it was called in 2025 ("model_config"); NULL: there is none. */
static const struct tsim_value *section_of(struct tsim_arena *arena, const struct tsim_value *root, const char *name) {
    const struct tsim_value *section = tsim_value_find(root, name);
    section = section ? section : tsim_value_find(root, tsim_arena_printf(arena, "%s_config", name));
    return section && section->kind == TSIM_VALUE_MAPPING ? section : NULL;
}

static void add_sections(struct tsim_recipe *r, const struct tsim_value *root) {
    for (size_t i = 0; i < sizeof SECTIONS / sizeof SECTIONS[0]; i++) {
        const struct tsim_value *section = section_of(r->arena, root, SECTIONS[i].name);
        if (section)
            add_section(r, &SECTIONS[i], section);
    }
}

/* Adds an adapter by its class, megatron.bridge.peft.lora.LoRA, with its rank and targets. */
static void add_adapter(struct tsim_recipe *r, const struct tsim_value *root) {
    static const char *const KEYS[] = {"dim", "target_modules", "dropout", "share_expert_adapters",
                                       "normalize_moe_lora"};
    const struct tsim_value *peft = tsim_value_find(root, "peft");
    if (!peft || tsim_value_is_off(peft))
        return;
    const struct tsim_value *target = peft->kind == TSIM_VALUE_MAPPING ? tsim_value_find(peft, "_target_") : peft;
    const char *dot = target && target->kind == TSIM_VALUE_SCALAR ? strrchr(target->text, '.') : NULL,
               *name = dot                                           ? dot + 1
                       : target && target->kind == TSIM_VALUE_SCALAR ? target->text
                                                                     : "lora";
    tsim_recipe_add(r, "peft", "peft",
                    tsim_value_new_scalar(r->arena, peft, strcmp(name, "LoRA") == 0 ? "lora" : name));
    for (size_t i = 0; peft->kind == TSIM_VALUE_MAPPING && i < sizeof KEYS / sizeof KEYS[0]; i++) {
        const struct tsim_value *value = tsim_value_find(peft, KEYS[i]);
        if (value && !tsim_value_is_null(value))
            tsim_recipe_add(r, tsim_arena_printf(r->arena, "peft.%s", KEYS[i]),
                            tsim_arena_printf(r->arena, "peft.%s", KEYS[i]), value);
    }
}

/* Puts the vocabulary as it is, if it is not padded. */
static void add_vocabulary(struct tsim_recipe *r, const struct tsim_value *root) {
    const struct tsim_value *rows = tsim_value_find_path(root, "model.vocab_size"),
                            *pads = tsim_value_find_path(root, "model.should_pad_vocab");
    if (rows && rows->kind == TSIM_VALUE_SCALAR && pads && tsim_value_is_off(pads))
        tsim_recipe_add(r, "model.vocab_size", "padded_vocab_size", rows);
}

enum tsim_status tsim_bridge_read(struct tsim_recipe *r) {
    const struct tsim_value *root;
    TSIM_TRY(tsim_log_yaml(r, "- Task Configuration -", &root));
    r->lists_all = true;
    r->program = "Megatron-Bridge";
    add_sections(r, root);
    add_adapter(r, root);
    add_vocabulary(r, root);
    return TSIM_OK;
}

/* ---- recipes by their names ---- */

/* Adds bf16_mixed, bf16_with_fp8_current_scaling_mixed, bf16_with_mxfp8_mixed and the like
 * (training/mixed_precision.py). */
static void add_mixed_precision(struct tsim_recipe *r, const struct tsim_value *value) {
    static const char *const RECIPES[][2] = {
        {"mxfp8", "mxfp8"}, {"current", "tensorwise"}, {"delayed", "delayed"}, {"subchannel", "blockwise"}};
    if (!value || value->kind != TSIM_VALUE_SCALAR) {
        tsim_recipe_add(r, "mixed_precision", "bf16", tsim_value_new_scalar(r->arena, &r->at_top, "true"));
        return;
    }
    tsim_recipe_add(r, "mixed_precision", strncmp(value->text, "fp16", 4) == 0 ? "fp16" : "bf16",
                    tsim_value_new_scalar(r->arena, value, "true"));
    if (strstr(value->text, "fp4"))
        tsim_recipe_add(r, "mixed_precision", "fp4", tsim_value_new_scalar(r->arena, value, "true"));
    else if (strstr(value->text, "fp8"))
        tsim_recipe_add(r, "mixed_precision", "fp8", tsim_value_new_scalar(r->arena, value, "true"));
    for (size_t i = 0; i < sizeof RECIPES / sizeof RECIPES[0]; i++)
        if (strstr(value->text, RECIPES[i][0])) {
            tsim_recipe_add(r, "mixed_precision", "fp8_recipe", tsim_value_new_scalar(r->arena, value, RECIPES[i][1]));
            return;
        }
}

bool tsim_has_bridge_sections(const struct tsim_value *root) {
    const struct tsim_value *container = tsim_value_find(root, "ConfigContainer");
    root = container && container->kind == TSIM_VALUE_MAPPING ? container : root;
    return tsim_value_find_path(root, "train.global_batch_size") ||
           tsim_value_find_path(root, "train.micro_batch_size") ||
           (tsim_value_find_path(root, "model.num_layers") && tsim_value_find_path(root, "model.hidden_size") &&
            tsim_value_find(root, "train"));
}

/* Returns the recipe's name without the ending that all recipes share. */
static const char *bare_recipe(struct tsim_arena *arena, const char *name) {
    static const char *const ENDS[] = {"_config", "_pretrain"};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof ENDS / sizeof ENDS[0]; i++) {
        const size_t length = strlen(ENDS[i]);
        n -= n > length && strncmp(name + n - length, ENDS[i], length) == 0 ? length : 0;
    }
    return tsim_arena_strndup(arena, name, n);
}

/* Returns the overrides by the names of today's sections. Those of its benchmarks stand below ConfigContainer, with
 * plans of many machines beside it. A section that is not known would be left out in silence: a mistake. */
static const struct tsim_value *overrides_of(struct tsim_recipe *r, const struct tsim_value *root) {
    const struct tsim_value *container = tsim_value_find(root, "ConfigContainer"),
                            *matrix = tsim_value_find(root, "perf_matrix");
    if (matrix)
        tsim_diag_hint(
            tsim_value_error(r->diags, TSIM_ERR_INFEASIBLE, matrix, "",
                             "perf_matrix has the plans of several machines"),
            "give the sections below ConfigContainer alone, with one plan's degrees and batches in model and train");
    root = container && container->kind == TSIM_VALUE_MAPPING ? container : root;
    struct tsim_pair *pairs = tsim_arena_alloc(r->arena, (root->n_items + 1) * sizeof pairs[0]);
    size_t n = 0;
    for (size_t i = 0; root->kind == TSIM_VALUE_MAPPING && i < root->n_items; i++) {
        const struct tsim_pair *pair = &root->pairs[i];
        const size_t length = strlen(pair->key);
        const char *name = length > 7 && strcmp(pair->key + length - 7, "_config") == 0
                               ? tsim_arena_strndup(r->arena, pair->key, length - 7)
                               : pair->key;
        bool is_known = TSIM_IS_AMONG(name, OTHERS) || name[0] == '_' || pair->value->kind != TSIM_VALUE_MAPPING;
        for (size_t k = 0; k < sizeof SECTIONS / sizeof SECTIONS[0]; k++)
            is_known |= strcmp(SECTIONS[k].name, name) == 0;
        if (!is_known && pair->value != matrix)
            tsim_value_error(r->diags, TSIM_ERR_INFEASIBLE, pair->value, "",
                             "'%.60s' is no section of Megatron-Bridge's configuration", pair->key);
        pairs[n] = *pair;
        pairs[n++].key = name;
    }
    return tsim_value_new_mapping(r->arena, root, pairs, n);
}

/* Finds a recipe and what its kind begins with: pretraining, fine-tuning of a whole model (_sft) or of adapters
 * (_peft). One without a model has that of its pretraining. */
static const struct tsim_value *recipe_of(struct tsim_recipe *r, const struct tsim_value *table, const char *name,
                                          const struct tsim_value *overrides, const struct tsim_value **common,
                                          const char **model) {
    static const char *const KINDS[] = {"_sft", "_peft"};
    static const char OLD[] = "_finetune"; /* of 2025: with adapters, unless peft says none */
    const char *bare = bare_recipe(r->arena, name), *pretrained = bare;
    const struct tsim_value *same = tsim_value_find(table, bare);
    bare = same && same->kind == TSIM_VALUE_SCALAR ? same->text : bare;
    const size_t n_bare = strlen(bare), n_old = sizeof OLD - 1;
    if (n_bare > n_old && strcmp(bare + n_bare - n_old, OLD) == 0) {
        const struct tsim_value *peft = tsim_value_find(overrides, "peft");
        bare = tsim_arena_printf(r->arena, "%.*s%s", (int)(n_bare - n_old), bare,
                                 peft && tsim_value_is_off(peft) ? "_sft" : "_peft");
        pretrained = bare;
    }
    const struct tsim_value *recipe = tsim_value_find(table, bare), *hf;
    *common = tsim_value_find(table, "common");
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        const size_t n = strlen(bare), length = strlen(KINDS[i]);
        if (n <= length || strcmp(bare + n - length, KINDS[i]) != 0)
            continue;
        pretrained = tsim_arena_strndup(r->arena, bare, n - length);
        *common = tsim_value_merge(r->arena, *common,
                                   tsim_value_find(table, tsim_arena_printf(r->arena, "common%s", KINDS[i])));
    }
    hf = recipe ? tsim_value_find(recipe, "hf") : NULL;
    hf = hf ? hf : tsim_value_find_path(table, tsim_arena_printf(r->arena, "%s.hf", pretrained));
    *model = recipe && hf && hf->kind == TSIM_VALUE_SCALAR ? tsim_known_model(r, hf->text) : NULL;
    return *model ? tsim_value_without(r->arena, recipe, "hf") : NULL;
}

enum tsim_status tsim_bridge_recipe(struct tsim_recipe *r, const char *name, const struct tsim_value *overrides,
                                    const char **model) {
    const char *folder = tsim_catalogue_folder(r->arena), *known = "";
    const struct tsim_value *table, *common, *recipe;
    if (!name) {
        r->program = "Megatron-Bridge";
        overrides = overrides_of(r, overrides);
        if (!tsim_value_find_path(overrides, "model.num_layers") && !tsim_import_override(&r->input, "model")) {
            tsim_diag_hint(tsim_recipe_error(r, NULL, "these settings override a recipe's, which nothing names"),
                           "tsim import nemo FILE -- --recipe NAME, as in llama3_70b_pretrain_config; or --model ID");
            return TSIM_ERR_REFERENCE;
        }
        add_sections(r, overrides);
        if (!tsim_recipe_find(r, "bf16") && !tsim_recipe_find(r, "fp16"))
            add_mixed_precision(r, tsim_value_find(overrides, "mixed_precision"));
        add_vocabulary(r, overrides);
        add_adapter(r, overrides);
        return TSIM_OK;
    }
    if (!folder)
        return TSIM_ERR_IO;
    TSIM_TRY(tsim_document_read(r->arena, tsim_arena_printf(r->arena, "%s/models/bridge-recipes.yaml", folder), &table,
                                r->diags));
    recipe = recipe_of(r, table, name, overrides, &common, model);
    if (!recipe) {
        for (size_t i = 0; i < table->n_items; i++)
            if (strncmp(table->pairs[i].key, "common", 6) != 0)
                known = tsim_arena_printf(r->arena, "%s%s%s", known, *known ? ", " : "", table->pairs[i].key);
        tsim_diag_hint(tsim_recipe_error(r, NULL, "tsim does not know the recipe '%.60s'", name), "known are %s",
                       known);
        return TSIM_ERR_REFERENCE;
    }
    overrides = overrides_of(r, overrides);
    recipe = tsim_value_merge(r->arena, tsim_value_merge(r->arena, common, recipe), overrides);
    r->program = "Megatron-Bridge";
    add_sections(r, recipe);
    const struct tsim_value *overlap = tsim_value_find_path(recipe, "comm_overlap.tp_comm_overlap");
    if (overlap)
        tsim_recipe_add(r, "comm_overlap.tp_comm_overlap", "tp_comm_overlap", overlap);
    add_adapter(r, recipe);
    add_mixed_precision(r, tsim_value_find(recipe, "mixed_precision"));
    return TSIM_OK;
}
