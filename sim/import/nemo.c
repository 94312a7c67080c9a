#include "import/recipes.h"

#include "config/document.h"
#include "import/gpt.h"

#include <string.h>

/* NeMo 1 (Hydra: trainer, exp_manager, model) and NeMo 2 (NeMo-Run: trainer.strategy, model.config, data,
 * optim.config). Settings are kept under Megatron's names: what stands below model, model.config or trainer.strategy
 * without that prefix. */

#define NOTHING(pattern)                                                                                               \
    { pattern, NULL }
/* clang-format off */
static const struct tsim_setting_class CLASSES[] = {
    {"data.num_workers", NULL}, {"trainer.accumulate_grad_batches", NULL},
    {"trainer.callbacks*", "callbacks: what they time, save or overlap"},
    {"trainer.plugins._target_", NULL},
    {"trainer.plugins*", "plugins: precision is read from precision, fp8 from fp8"},
    {"trainer.strategy.ddp*", "parts of the reduction of gradients"},
    {"ddp._target_", NULL},
    {"ddp.*", "parts of the reduction of gradients"},
    NOTHING("trainer.*"), NOTHING("exp_manager.*"), NOTHING("run.*"), NOTHING("hydra.*"), NOTHING("defaults*"),
    NOTHING("data.*"), NOTHING("optim.*"), NOTHING("tokenizer.*"), NOTHING("nsys_profile.*"), NOTHING("log.*"),
    NOTHING("resume.*"), NOTHING("_*"), NOTHING("name"), NOTHING("restore_from_path"), NOTHING("base_config"),
    NOTHING("mcore_gpt"), NOTHING("max_position_embeddings"), NOTHING("init_method_std"), NOTHING("use_scaled_init_method"),
    NOTHING("apply_query_key_layer_scaling"), NOTHING("layernorm_epsilon"), NOTHING("do_layer_norm_weight_decay"),
    NOTHING("make_vocab_size_divisible_by"), NOTHING("pre_process"), NOTHING("post_process"), NOTHING("persist_layer_norm"),
    NOTHING("headscale"), NOTHING("transformer_block_type"), NOTHING("openai_gelu"), NOTHING("normalize_attention_scores"),
    NOTHING("rotary_*"), NOTHING("apply_rope_fusion"), NOTHING("attention_type"), NOTHING("scale_positional_embedding"),
    NOTHING("native_amp_*"), NOTHING("hysteresis"), NOTHING("fp16_lm_cross_entropy"), NOTHING("megatron_amp_O2"),
    NOTHING("grad_allreduce_chunk_size_mb"), NOTHING("grad_div_ar_fusion"), NOTHING("gradient_accumulation_fusion"),
    NOTHING("cross_entropy_*"), NOTHING("bias_*"), NOTHING("masked_softmax_fusion"), NOTHING("seed*"),
    NOTHING("resume_from_checkpoint"), NOTHING("use_cpu_initialization"), NOTHING("onnx_safe"), NOTHING("apex_transformer_log_level"),
    NOTHING("gradient_as_bucket_view"), NOTHING("sync_batch_comm"), NOTHING("transformer_engine"), NOTHING("fp8_margin"), NOTHING("fp8_recipe"), NOTHING("fp4_recipe"),
    NOTHING("fp8_interval"), NOTHING("fp8_amax_*"), NOTHING("fp8_e4m3"), NOTHING("fp8_hybrid"), NOTHING("gc_interval"), NOTHING("sequence_parallel"),
    NOTHING("batch_p2p_comm"), NOTHING("activations_checkpoint_method"), NOTHING("activations_checkpoint_num_layers"),
    NOTHING("recompute_*"), NOTHING("encoder_seq_length"), NOTHING("bf16"), NOTHING("fp16"), NOTHING("params_dtype"),
    NOTHING("pipeline_dtype"), NOTHING("autocast_dtype"), NOTHING("layernorm_zero_centered_gamma"), NOTHING("use_emha"),
    NOTHING("moe_aux_loss_coeff"), NOTHING("moe_z_loss_coeff"), NOTHING("moe_router_load_balancing_type"),
    NOTHING("moe_token_dispatcher_type"), NOTHING("moe_router_dtype"),
    NOTHING("gradient_accumulation_steps"), NOTHING("tensor_model_parallel_size"), NOTHING("old_context_len"),
    NOTHING("scale_factor"), NOTHING("low_freq_factor"), NOTHING("high_freq_factor"), NOTHING("save_*"), NOTHING("ckpt_*"),
    NOTHING("use_flash_attention"), NOTHING("cp_comm_type"), NOTHING("precision"), NOTHING("inference.*"), NOTHING("hidden_act"),
    NOTHING("distribute_saved_activations"), NOTHING("share_embeddings_and_output_weights"),
    {"optim.bucket_cap_mb", NULL},
    {"rampup_batch_size", "a batch that grows"},
    {"ffn_dropout", "dropout within the feed-forward block"},
    {"fp32_residual_connection", "a residual stream in fp32"},
    {"deterministic_mode", "slower deterministic kernels"},
    {"defer_embedding_wgrad_compute", "the head's weight gradient in the pipeline's flush"},
    {"wgrad_deferral_limit", "the head's weight gradient in the pipeline's flush"},
    {"num_micro_batches_with_partial_activation_checkpoints", "recomputation of some micro-batches"},
    {"activations_checkpoint_layers_per_pipeline", "recomputation of some layers of a stage"},
    {"ub_tp_comm_overlap_cfg*", "how the overlap of tensor parallelism is done"},
    {"tp_comm_*", "parts of the overlap of tensor parallelism"},
    {"cuda_graph_*", NULL},
    {"window_size", "windows: attention reaches over the whole sequence"},
    {"cpu_offloading*", "activations offloaded to the host"},
    {"fsdp*", "FSDP"},
    {"mtp_num_layers", "modules that predict further tokens"},
    {"expert_tensor_parallel_size", NULL},
    {"nccl_communicator_config_path", NULL},
};
/* clang-format on */

/* Model classes of NeMo 2 that stand for a model of the catalogue. */
static const struct {
    const char *class, *id;
} NAMED[] = {
    {"Llama2Config7B", "llama2-7b"},     {"Llama2Config13B", "llama2-13b"},    {"Llama2Config70B", "llama2-70b"},
    {"Llama3Config8B", "llama3-8b"},     {"Llama31Config8B", "llama3-8b"},     {"Llama3Config70B", "llama3-70b"},
    {"Llama31Config70B", "llama3-70b"},  {"Llama31Config405B", "llama3-405b"}, {"MixtralConfig8x7B", "mixtral-8x7b"},
    {"DeepSeekV3Config", "deepseek-v3"}, {"GPTConfig175B", "gpt3-175b"}};

struct reading {
    struct tsim_recipe *r;
    const struct tsim_value *root;
};

/* ---- settings ---- */

/* "${training.model.x}", "${.x}": the value itself, where it is a scalar of this file. */
static const struct tsim_value *interpolated(const struct reading *g, const struct tsim_value *value) {
    char path[128];
    size_t length = strlen(value->text);
    if (length < 4 || length >= sizeof path || strncmp(value->text, "${", 2) != 0 || value->text[length - 1] != '}')
        return value;
    snprintf(path, sizeof path, "%.*s", (int)(length - 3), value->text + 2);
    const char *start = strncmp(path, "training.", 9) == 0 ? path + 9 : path;
    if (strlen(start) > 100 ||
        strspn(start, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") != strlen(start))
        return value;
    for (const char *step = start; step; step = strchr(step, '.') ? strchr(step, '.') + 1 : NULL)
        if (strcspn(step, ".") >= 60) /* of a step of a path */
            return value;
    const struct tsim_value *found = tsim_value_find_path(g->root, start);
    return found && found->kind == TSIM_VALUE_SCALAR ? found : value;
}

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
    const struct reading *g = context;
    tsim_recipe_add(g->r, name, key_of(g->r->arena, name),
                    value->kind == TSIM_VALUE_SCALAR ? interpolated(g, value) : value);
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
    if (!gpt->named && !tsim_recipe_find(g->r, "num_layers"))
        tsim_diag_hint(
            tsim_recipe_error(g->r, class, "the model '%.60s' is not known here", dot + 1),
            "known are Llama2Config7B, Llama3Config8B, ..., or num_layers, hidden_size and the rest beside it");
}

enum tsim_status tsim_import_nemo(struct tsim_arena *arena, const struct tsim_import_input *input,
                                  struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    struct reading g = {.r = &r};
    TSIM_TRY(tsim_document_parse(arena, input->file, input->text, input->size, &g.root, diags));
    tsim_recipe_init(&r, arena, input, "NeMo", diags);
    struct tsim_gpt gpt = {.r = &r, .program = TSIM_GPT_NEMO, .input = input};
    tsim_recipe_each(g.r, g.root, add_setting, &g);
    find_named(&g, &gpt);
    tsim_gpt_build(&gpt);
    enum tsim_status status = tsim_recipe_finish(&r, CLASSES, sizeof CLASSES / sizeof CLASSES[0], input, result);
    tsim_recipe_release(&r);
    return status;
}
