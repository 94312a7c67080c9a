#include "import/launches/recipes.h"

#include "base/among.h"
#include "config/text/document.h"
#include "import/launches/bridge.h"
#include "import/launches/gpt.h"
#include "import/launches/launch_command.h"
#include "import/launches/launch_log.h"
#include "import/launches/launch_words.h"
#include "import/overrides.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct tsim_recipe *r;
    const char *text;
};

static const char *const ARGUMENTS[] = {"num_layers",
                                        "hidden_size",
                                        "num_attention_heads",
                                        "seq_length",
                                        "micro_batch_size",
                                        "global_batch_size",
                                        "ffn_hidden_size",
                                        "train_iters",
                                        "tensor_model_parallel_size",
                                        "train_samples",
                                        "pipeline_model_parallel_size",
                                        NULL};
static const struct tsim_command_kind COMMAND = {ARGUMENTS, "Megatron-LM",
                                                 "torchrun ... pretrain_gpt.py --num-layers 32 ...", false, NULL};

/* ---- YAML ---- */

/* Adds every scalar and list under its own name, at any depth. */
static void add_tree(struct reading *g, const struct tsim_value *value) {
    for (size_t i = 0; i < value->n_items; i++) {
        const struct tsim_pair *pair = &value->pairs[i];
        if (pair->value->kind == TSIM_VALUE_MAPPING)
            add_tree(g, pair->value);
        else
            tsim_add_argument(g->r, pair->key, tsim_launcher_key(tsim_argument_key(g->r->arena, pair->key)),
                              pair->value);
    }
}

static enum tsim_status read_yaml(struct reading *g) {
    const struct tsim_value *root;
    TSIM_TRY(
        tsim_document_parse_wide(g->r->arena, g->r->document->file, g->text, g->r->document->size, &root, g->r->diags));
    add_tree(g, root);
    return TSIM_OK;
}

/* ---- what the program printed ---- */

/* A log lists every argument, most at their defaults. Among arguments that would be refused or slow a run down, only
 * those with these keys matter there. */
static bool tells_in_list(const char *key) {
    static const char *const TELLING[] = {"hybrid_override_pattern",
                                          "hybrid_layer_pattern",
                                          "is_hybrid_model",
                                          "experimental_attention_variant",
                                          "spec",
                                          "perform_rl_step",
                                          "retro_add_retriever",
                                          "mtp_num_layers",
                                          "window_size",
                                          "heterogeneous_layers_config_path",
                                          "decoder_num_layers",
                                          "fp32_residual_connection",
                                          "first_last_layers_bf16",
                                          "main_grads_dtype",
                                          "main_params_dtype",
                                          "exp_avg_dtype",
                                          "exp_avg_sq_dtype",
                                          "moe_extended_tp",
                                          "moe_latent_size",
                                          "enable_hyper_connections",
                                          "attention_output_gate",
                                          "pipeline_model_parallel_layout",
                                          "pipeline_model_parallel_split_rank",
                                          "hierarchical_context_parallel_sizes",
                                          "hybrid_context_parallel",
                                          "skip_train",
                                          "peft",
                                          "vision_pretraining",
                                          "kd_teacher_load",
                                          "export_kd_teacher_load",
                                          "ds_inference",
                                          "random_ltd",
                                          "deterministic_mode",
                                          "profile",
                                          "cpu_offloading",
                                          "use_sharp",
                                          "nccl_ub",
                                          "distribute_saved_activations",
                                          "fine_grained_activation_offloading",
                                          "defer_embedding_wgrad_compute",
                                          "delay_wgrad_compute"};
    return TSIM_IS_AMONG(key, TELLING);
}

static bool is_given(struct tsim_recipe *r, const char *key) {
    const struct tsim_setting *s = tsim_recipe_find(r, key);
    return s && !tsim_value_is_off(s->value);
}

static void take_out(struct tsim_recipe *r, const char *key) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_settings && i < TSIM_RECIPE_MAX_SETTINGS; i++)
        if (strcmp(r->settings[i].key, key) != 0)
            r->settings[n++] = r->settings[i];
    r->n_settings = n;
}

/* Values that Megatron-LM has filled in beside what they follow from, and that it does not use. */
static void take_out_derived(struct tsim_recipe *r) {
    if (!is_given(r, "group_query_attention"))
        take_out(r, "num_query_groups");
    if (is_given(r, "virtual_pipeline_model_parallel_size"))
        take_out(r, "num_layers_per_virtual_pipeline_stage");
    if (!is_given(r, "num_experts"))
        take_out(r, "expert_tensor_parallel_size");
    if (is_given(r, "add_bias_linear"))
        take_out(r, "add_qkv_bias");
    if (is_given(r, "multi_latent_attention"))
        take_out(r, "kv_channels");
}

/* Writes the machine for all ranks, in nodes of eight if there are as many. */
static void add_world(struct reading *g) {
    struct tsim_recipe *r = g->r;
    const struct tsim_setting *world = tsim_recipe_find(r, "world_size");
    int64_t n = world ? tsim_setting_int(r, world, 1, INT64_C(1000000000)) : 0, each = n < 8 ? n : 8;
    const char *set = tsim_import_override(&r->input, "cluster.accelerators_per_node");
    if (set && strtoll(set, NULL, 10) > 0 && strtoll(set, NULL, 10) < 1000000)
        each = strtoll(set, NULL, 10);
    if (n == 0 || n % each != 0)
        return;
    const char *nodes = tsim_arena_printf(r->arena, "%lld", (long long)(n / each));
    const struct tsim_value *at = world->value;
    tsim_recipe_add(r, "world_size", "nnodes", tsim_value_new_scalar(r->arena, at, nodes));
    if (each < 8)
        tsim_recipe_add(r, "world_size", "nproc_per_node",
                        tsim_value_new_scalar(r->arena, at, tsim_arena_printf(r->arena, "%lld", (long long)each)));
}

/* Adds the vocabulary of "> padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)". */
static void add_vocabulary(struct reading *g) {
    double rows = tsim_log_largest(g->text, g->r->document->size, "dummy tokens (new size: ");
    if (rows >= 1 && rows < 1e9)
        tsim_recipe_add(
            g->r, "padded vocab", "padded_vocab_size",
            tsim_value_new_scalar(g->r->arena, &g->r->at_top, tsim_arena_printf(g->r->arena, "%.0f", rows)));
}

/* Leaves out the settings at their defaults that would be refused or be said to slow a run down. */
static void keep_telling(struct tsim_recipe *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_settings && i < TSIM_RECIPE_MAX_SETTINGS; i++) {
        const struct tsim_setting *s = &r->settings[i];
        const struct tsim_setting_class *class = tsim_setting_class_of(s->key, s->value, &r->classes);
        if (!class || !class->why || tsim_value_is_off(s->value) || tells_in_list(s->key))
            r->settings[n++] = r->settings[i];
    }
    r->n_settings = n;
}

static void read_list(struct reading *g) {
    struct tsim_recipe *r = g->r;
    r->lists_all = true;
    tsim_log_add_arguments(r);
    keep_telling(r);
    take_out_derived(r);
    add_world(g);
    add_vocabulary(g);
}

/* Megatron-Bridge's configuration says how many ranks a replica has, and its log how many micro-batches. */
static enum tsim_status read_bridge(struct reading *g) {
    static const char *const DEGREES[] = {"tensor_model_parallel_size", "pipeline_model_parallel_size",
                                          "context_parallel_size"};
    struct tsim_recipe *r = g->r;
    TSIM_TRY(tsim_bridge_read(r));
    keep_telling(r);
    if (!is_given(r, "num_moe_experts"))
        take_out(r, "expert_tensor_parallel_size");
    if (is_given(r, "add_bias_linear"))
        take_out(r, "add_qkv_bias");
    double n = tsim_log_largest(g->text, r->document->size, "number of microbatches to constant ");
    int64_t batch = tsim_recipe_int(r, "global_batch_size", 1, INT64_C(1000000000), 1),
            micro = tsim_recipe_int(r, "micro_batch_size", 1, 1000000, 1),
            each = n >= 1 && n < 1e9 ? micro * (int64_t)n : 0, world = each > 0 && batch % each == 0 ? batch / each : 0;
    for (size_t i = 0; i < sizeof DEGREES / sizeof DEGREES[0] && world < INT64_C(1000000000); i++)
        world *= tsim_recipe_int(r, DEGREES[i], 1, 1000000, 1);
    if (world > 0 && world < INT64_C(1000000000))
        tsim_recipe_add(
            r, "micro-batches", "world_size",
            tsim_value_new_scalar(r->arena, &r->at_top, tsim_arena_printf(r->arena, "%lld", (long long)world)));
    add_world(g);
    return TSIM_OK;
}

/* Puts the measured time of steps with the last batch size, if it grew, and the most memory that was allocated. */
static void put_measured(struct reading *g) {
    struct tsim_log_series series;
    const char *text = g->text;
    const size_t size = g->r->document->size;
    if (!tsim_log_series(text, size, TSIM_LOG_MEGATRON.label, TSIM_LOG_MEGATRON.same, &series))
        return;
    tsim_log_put_measured(g->r, &TSIM_LOG_MEGATRON, &series);
    double most_mib = tsim_log_largest(text, size, "max allocated: ");
    if (most_mib > 0)
        tsim_recipe_put(g->r, "measured.memory_peak", NULL, "the most of 'max allocated'", "%.6g MiB", most_mib);
}

/* ---- Primus ---- */

/* Primus prints Megatron-LM's list with names of its own in it. */
static void add_primus(struct reading *g, struct tsim_gpt *gpt) {
    static const char *const NAMES[] = {"enable_primus_turbo", "auto_continue_train", "disable_last_saving", NULL};
    if (!tsim_recipe_find_any(g->r, NAMES))
        return;
    gpt->software = "primus-2025";
    gpt->says_overlaps = true;
    tsim_recipe_add(
        g->r, "Primus", "machine",
        tsim_value_new_scalar(g->r->arena, &g->r->at_top, tsim_primus_machine(g->r->document->file, g->text)));
}

/* ---- older and other names ---- */

/* Names of other versions and of programs built on Megatron-LM, used if the usual name is not given: those of before
 * 2021 (--batch-size was that of a pass on a replica), of BigScience's, of MindSpeed-LLM and of Alibaba's patches. */
static void rename_settings(struct tsim_recipe *r) {
    static const char *const NAMES[][2] = {{"model_parallel_size", "tensor_model_parallel_size"},
                                           {"batch_size", "micro_batch_size"},
                                           {"intermediate_size", "ffn_hidden_size"},
                                           {"no_bias", "disable_bias_linear"},
                                           {"max_absolute_position_embeddings", "max_position_embeddings"},
                                           {"moe_intermediate_size", "moe_ffn_hidden_size"},
                                           {"multi_head_latent_attention", "multi_latent_attention"},
                                           {"qk_rope_head_dim", "qk_pos_emb_head_dim"},
                                           {"qk_nope_head_dim", "qk_head_dim"}};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        const struct tsim_setting *usual = tsim_recipe_find(r, NAMES[i][1]);
        for (size_t k = 0; k < r->n_settings && k < TSIM_RECIPE_MAX_SETTINGS; k++)
            if (strcmp(r->settings[k].key, NAMES[i][0]) == 0 &&
                (!usual || strcmp(tsim_setting_text(usual), tsim_setting_text(&r->settings[k])) == 0))
                r->settings[k].key = NAMES[i][1];
    }
}

/* The newer option for the letters (2026) comes without --num-layers, because the letters give the number. */
static void add_layers(struct tsim_recipe *r) {
    const struct tsim_setting *letters = tsim_recipe_find(r, "hybrid_layer_pattern");
    if (letters && !tsim_value_is_off(letters->value) && !is_given(r, "num_layers"))
        tsim_recipe_add(r, letters->name, "num_layers",
                        tsim_value_new_scalar(r->arena, letters->value,
                                              tsim_arena_printf(r->arena, "%zu", strlen(tsim_setting_text(letters)))));
}

/* ---- the whole ---- */

enum tsim_status tsim_import_megatron(struct tsim_arena *arena, const struct tsim_import_input *input,
                                      struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    tsim_recipe_init(&r, arena, input, "Megatron-LM", "megatron", diags);
    struct reading g = {.r = &r, .text = r.document->text};
    struct tsim_gpt gpt = {.r = &r, .program = TSIM_GPT_MEGATRON};
    enum tsim_status status = TSIM_OK;
    if (tsim_log_has_arguments(g.text, input->size))
        read_list(&g), add_primus(&g, &gpt);
    else if (tsim_is_bridge(g.text, input->size))
        status = read_bridge(&g), gpt.program = TSIM_GPT_NEMO, gpt.is_bridge = true;
    else if ((status = tsim_recipe_check_size(&r)) == TSIM_OK)
        status = tsim_looks_like_yaml(g.text, input->size) ? read_yaml(&g) : tsim_command_read(&r, &COMMAND);
    if (status == TSIM_OK) {
        rename_settings(&r);
        add_layers(&r);
        const struct tsim_setting *program = tsim_recipe_find(&r, "program");
        gpt.is_bidirectional = program && strstr(tsim_setting_text(program), "pretrain_bert");
        if (tsim_recipe_accepts(&r))
            tsim_gpt_build(&gpt);
        put_measured(&g);
        status = tsim_recipe_finish(&r, result);
    }
    tsim_recipe_release(&r);
    return status;
}
