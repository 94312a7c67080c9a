/* Fine-tuners on Hugging Face's Trainer whose YAML has settings of their own beside it: axolotl
 * (axolotl-ai-cloud/axolotl, src/axolotl/utils/schemas) and LLaMA-Factory (hiyouga/LLaMA-Factory,
 * src/llamafactory/hparams). */
#include "config/text/document.h"
#include "import/launches/deepspeed.h"
#include "import/launches/hf_script.h"
#include "import/launches/hf_trainer.h"
#include "import/launches/hub_names.h"
#include "import/launches/launch_command.h"
#include "import/launches/recipe_short.h"
#include "import/launches/recipes.h"

#include <string.h>

#define PART_OF_MODEL "this trains a part of the model; tsim can do that only with adapters"

struct reading {
    struct tsim_recipe *r;
    const char *why; /* of what the file does not say */
};

/* ---- axolotl ---- */

/* bf16: auto, the default, takes bf16 if the accelerator has it; full keeps no fp32 copy. Where auto takes bf16, fp16 is
 * switched off (resolve_dtype of axolotl's utils/config). */
static void add_axolotl_precision(struct reading *g) {
    const struct tsim_setting *s = find(g->r, "bf16"), *other = find(g->r, "bfloat16"),
                              *model = find(g->r, "base_model");
    const char *text = s ? tsim_setting_text(s) : "";
    if (model && !s && !other && !find(g->r, "fp16") && !find(g->r, "float16"))
        add(g->r, model, "bf16", "true");
    if (strcmp(text, "auto") == 0 && is_on(g->r, "fp16"))
        add(g->r, s, "fp16", "false");
    if (strcmp(text, "full") == 0)
        add(g->r, s, "training.master_weights", "false");
    if (strcmp(text, "auto") == 0 || strcmp(text, "full") == 0 ||
        (!s && other && (tsim_setting_is(other, "auto") || tsim_setting_flag(g->r, other))))
        add(g->r, s ? s : other, "bf16", "true");
}

static void add_axolotl_adapter(struct reading *g) {
    const struct tsim_setting *s = find(g->r, "adapter"), *targets = find(g->r, "lora_target_modules");
    const char *text = s ? tsim_setting_text(s) : "";
    bool is_qlora = strcmp(text, "qlora") == 0, is_of_4 = is_on(g->r, "load_in_4bit"),
         is_of_8 = is_on(g->r, "load_in_8bit");
    if (!s || !*text) {
        if (find(g->r, "lora_r")) /* without an adapter its rank says nothing */
            add(g->r, find(g->r, "lora_r"), "lora_r", "null");
        return;
    }
    if (!is_qlora && strcmp(text, "lora") != 0) {
        tsim_recipe_refuse(g->r, s, "adapters of the kind '%.40s' are not modelled: lora and qlora are", text);
        return;
    }
    if (!find(g->r, "lora_r"))
        add(g->r, s, "lora_r", "8");
    if (is_on(g->r, "lora_target_linear"))
        add(g->r, find(g->r, "lora_target_linear"), "lora_targets", "all");
    else if (targets)
        add_as(g->r, targets, "lora_targets");
    else
        tsim_recipe_error(g->r, s, "neither lora_target_linear nor lora_target_modules says what has an adapter");
    if (is_qlora || is_of_4 || is_of_8)
        add(g->r, s, "quantization_bit", is_of_8 && !is_qlora ? "8" : "4");
}

static void add_axolotl_attention(struct reading *g) {
    static const char *const FUSED[] = {"flash_attention", "sdp_attention", "xformers_attention", "flex_attention"};
    const struct tsim_setting *named = find(g->r, "attention");
    if (named)
        add(g->r, named, "attn_implementation", tsim_setting_text(named));
    if (is_on(g->r, "eager_attention"))
        add(g->r, find(g->r, "eager_attention"), "attn_implementation", "eager");
    for (size_t i = 0; i < sizeof FUSED / sizeof FUSED[0]; i++)
        if (is_on(g->r, FUSED[i]))
            add(g->r, find(g->r, FUSED[i]), "attn_implementation", "flash");
}

/* gradient_checkpointing: unsloth, offload and offload_disk keep the inputs of recomputation elsewhere. */
static void add_axolotl_recompute(struct reading *g) {
    const struct tsim_setting *s = find(g->r, "gradient_checkpointing");
    const char *text = s ? tsim_setting_text(s) : "";
    if (strcmp(text, "unsloth") != 0 && strncmp(text, "offload", 7) != 0)
        return;
    tsim_recipe_not_modelled(g->r, s, "the inputs of recomputation are on the host or on a disk");
    add(g->r, s, "gradient_checkpointing", "true");
}

/* Adds FSDP's own recomputation. */
static void add_recompute_of_fsdp(struct reading *g) {
    static const char *const KEYS[] = {"fsdp_config.fsdp_activation_checkpointing",
                                       "fsdp_config.activation_checkpointing", NULL};
    const struct tsim_setting *s = tsim_recipe_find_any(g->r, KEYS);
    if (s && tsim_setting_flag(g->r, s))
        add(g->r, s, "gradient_checkpointing", "true");
}

/* Plugins are programs, which may change what is trained; the settings of these are known. */
static void check_plugins(struct reading *g) {
    static const char *const KNOWN[] = {"liger",    "cut_cross_entropy", "kernels",   "lm_eval",
                                        "swanlab",  "spectrum",          "kd",        "llm_compressor",
                                        "grokfast", "expert_parallel",   "densemixer"};
    const struct tsim_setting *s = find(g->r, "plugins");
    const size_t n = !s ? 0 : s->value->kind == TSIM_VALUE_SEQUENCE ? s->value->n_items : 1;
    for (size_t i = 0; i < n; i++) {
        const struct tsim_value *item = s->value->kind == TSIM_VALUE_SEQUENCE ? s->value->items[i] : s->value;
        const char *text = item->kind == TSIM_VALUE_SCALAR ? item->text : "";
        bool is_known = false;
        for (size_t k = 0; k < sizeof KNOWN / sizeof KNOWN[0]; k++)
            is_known |= strstr(text, KNOWN[k]) != NULL;
        if (!is_known) {
            tsim_recipe_refuse(g->r, s, "tsim does not know what the plugin '%.60s' changes", text);
            return;
        }
    }
}

static void build_axolotl(struct reading *g) {
    static const char *const NAMES[][2] = {{"base_model", "model_name_or_path"},
                                           {"micro_batch_size", "per_device_train_batch_size"},
                                           {"sequence_len", "max_seq_length"},
                                           {"optimizer", "optim"},
                                           {"sequence_parallel_degree", "context_parallel_size"}};
    static const struct tsim_hf_trainer DEFAULTS = {
        .why = "axolotl's default", .micro_batch = 1, .sequence_length = 512, .optimizer = "adamw_torch_fused"};
    const struct tsim_setting *method = find(g->r, "rl"), *corpus = find(g->r, "pretraining_dataset");
    if (find(g->r, "unfrozen_parameters") && !find(g->r, "adapter"))
        tsim_recipe_refuse(g->r, find(g->r, "unfrozen_parameters"), PART_OF_MODEL);
    add_renamed(g->r, NAMES, sizeof NAMES / sizeof NAMES[0], false);
    check_plugins(g);
    add_axolotl_precision(g);
    add_axolotl_adapter(g);
    add_axolotl_attention(g);
    add_axolotl_recompute(g);
    const struct tsim_setting *all = find(g->r, "batch_size"), *micro = find(g->r, "micro_batch_size");
    if (all && !find(g->r, "gradient_accumulation_steps") && micro) /* of an accelerator, as once */
        add(g->r, all, "gradient_accumulation_steps",
            tsim_arena_printf(
                g->r->arena, "%lld",
                (long long)(tsim_setting_int(g->r, all, 1, 1000000) / tsim_setting_int(g->r, micro, 1, 1000000))));
    add_recompute_of_fsdp(g);
    const bool has_reference = method && !tsim_setting_is(method, "orpo") && !tsim_setting_is(method, "simpo");
    add(g->r, method, "kind", has_reference ? "dpo" : method ? "pairs" : corpus ? "pretrain" : "sft");
    if (!method && !is_on(g->r, "sample_packing"))
        add(g->r, find(g->r, "sample_packing"), "unpacked", "true");
    tsim_hf_trainer_build(g->r, &DEFAULTS);
    tsim_put_changed_sizes(g->r, find(g->r, "base_model"), "overrides_of_model_config");
    if (find(g->r, "training.master_weights"))
        tsim_recipe_put(g->r, "training.master_weights", find(g->r, "bf16"), NULL, "false");
}

enum tsim_status tsim_import_axolotl(struct tsim_arena *arena, const struct tsim_import_input *input,
                                     struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    struct reading g = {.r = &r, .why = "axolotl's default"};
    const struct tsim_value *root;
    TSIM_TRY(tsim_document_parse_wide(arena, input->file, input->text, input->size, &root, diags));
    tsim_recipe_init(&r, arena, input, "axolotl", "axolotl", diags);
    tsim_recipe_each(&r, root, tsim_recipe_add_leaf, &r);
    for (size_t i = 0; i < r.n_settings && i < TSIM_RECIPE_MAX_SETTINGS; i++)
        if (strcmp(r.settings[i].key, "train_batch_size") == 0)
            r.settings[i].key = "of_others.train_batch_size"; /* of DeepSpeed: axolotl passes over it */
    if (!tsim_value_find(root, "base_model"))
        tsim_diag_hint(tsim_recipe_error(&r, NULL, "base_model is missing"), "the YAML that axolotl train takes");
    else if (tsim_recipe_accepts(&r))
        build_axolotl(&g);
    enum tsim_status status = tsim_recipe_finish(&r, result);
    tsim_recipe_release(&r);
    return status;
}

/* ---- LLaMA-Factory ---- */

static void build_llama_factory(struct reading *g) {
    static const char *const NAMES[][2] = {
        {"cutoff_len", "max_seq_length"}, {"lora_target", "lora_targets"}, {"lora_rank", "lora_r"}};
    const struct tsim_setting *pure = find(g->r, "pure_bf16"), *tuning = find(g->r, "finetuning_type"),
                              *stage = find(g->r, "stage"), *flash = find(g->r, "flash_attn");
    const bool is_lora = !tuning || strcmp(tsim_setting_text(tuning), "lora") == 0;
    const char *kind = stage ? tsim_setting_text(stage) : "sft";
    const struct tsim_hf_trainer defaults = {.why = g->why,
                                             .micro_batch = 8,
                                             .sequence_length = 2048,
                                             .adapter_rank = 8,
                                             .optimizer = "adamw_torch",
                                             .has_adapter = is_lora};
    add_renamed(g->r, NAMES, sizeof NAMES / sizeof NAMES[0] - !is_lora, false);
    const bool is_pure = pure && tsim_setting_flag(g->r, pure);
    if (is_pure)
        add(g->r, pure, "bf16", "true");
    if (is_lora && !is_pure && !is_on(g->r, "bf16") &&
        !is_on(g->r, "fp16")) /* model/patcher.py: the model's own type */
        add(g->r, NULL, "bf16", "true");
    if (is_on(g->r, "use_muon"))
        add(g->r, find(g->r, "use_muon"), "optim", "muon");
    const bool is_alone = tsim_recipe_is(g->r, "pref_loss", "orpo") || tsim_recipe_is(g->r, "pref_loss", "simpo");
    add(g->r, stage, "kind",
        strcmp(kind, "pt") == 0                ? "pretrain"
        : strcmp(kind, "dpo") == 0 && is_alone ? "pairs"
                                               : kind);
    if (flash && strcmp(tsim_setting_text(flash), "disabled") == 0)
        add(g->r, flash, "attn_implementation", "eager");
    add(g->r, find(g->r, "disable_gradient_checkpointing"), "gradient_checkpointing",
        is_on(g->r, "disable_gradient_checkpointing") ? "false"
                                                      : "true"); /* model_utils/checkpointing.py: always, unless so */
    if (strcmp(kind, "sft") == 0 && !is_on(g->r, "packing") && !is_on(g->r, "neat_packing"))
        add(g->r, find(g->r, "packing"), "unpacked", "true");
    tsim_hf_trainer_build(g->r, &defaults);
    if (is_pure && !is_lora)
        tsim_recipe_put(g->r, "training.master_weights", pure, NULL, "false");
}

/* Reads llamafactory-cli train, or its older form src/train_bash.py. */
static enum tsim_status read_command(struct tsim_recipe *r) {
    static const char *const ARGUMENTS[] = {"stage",
                                            "finetuning_type",
                                            "per_device_train_batch_size",
                                            "lora_target",
                                            "template",
                                            "model_name_or_path",
                                            "cutoff_len",
                                            NULL};
    static const char *const VARIABLES[][2] = {
        TSIM_VISIBLE_DEVICES, {"NNODES", "nnodes"}, {"NPROC_PER_NODE", "nproc_per_node"}, {NULL, NULL}};
    static const struct tsim_command_kind COMMAND = {
        .telling = ARGUMENTS,
        .of = "LLaMA-Factory",
        .line = "llamafactory-cli train --stage sft --model_name_or_path ID ...",
        .variables = VARIABLES};
    TSIM_TRY(tsim_recipe_check_size(r));
    TSIM_TRY(tsim_command_read(r, &COMMAND));
    tsim_hf_script_world(r);
    return TSIM_OK;
}

enum tsim_status tsim_import_llama_factory(struct tsim_arena *arena, const struct tsim_import_input *input,
                                           struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    struct reading g = {.r = &r, .why = "LLaMA-Factory's default"};
    const struct tsim_value *root = NULL;
    enum tsim_status status = TSIM_OK;
    const bool is_script = !tsim_looks_like_yaml(input->text, input->size);
    if (!is_script)
        TSIM_TRY(tsim_document_parse_wide(arena, input->file, input->text, input->size, &root, diags));
    tsim_recipe_init(&r, arena, input, "LLaMA-Factory", "llama-factory", diags);
    if (is_script)
        status = read_command(&r);
    else
        tsim_recipe_each(&r, root, tsim_recipe_add_leaf, &r);
    if (status != TSIM_OK) {
        tsim_recipe_release(&r);
        return status;
    }
    if (!find(&r, "model_name_or_path"))
        tsim_diag_hint(tsim_recipe_error(&r, NULL, "model_name_or_path is missing"),
                       "the YAML that llamafactory-cli train takes");
    else if (tsim_recipe_accepts(&r))
        build_llama_factory(&g);
    status = tsim_recipe_finish(&r, result);
    tsim_recipe_release(&r);
    return status;
}
