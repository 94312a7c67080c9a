#include "import/launches/recipes.h"

#include "config/text/document.h"
#include "import/launches/bridge.h"
#include "import/launches/gpt.h"
#include "import/launches/hydra.h"
#include "import/launches/launch_command.h"
#include "import/launches/megatron_arguments.h"
#include "import/launches/nemo_script.h"
#include "import/launches/omegaconf.h"
#include "import/overrides.h"
#include "import/setting_class_rows.h"

#include <stdlib.h>
#include <string.h>

/* NeMo 1 (Hydra: trainer, exp_manager, model) and NeMo 2 (NeMo-Run: trainer.strategy, model.config, data,
 * optim.config). Settings are kept under Megatron's names: what stands below model, model.config or trainer.strategy
 * without that prefix. */

#define MAMBA "layers that are no transformer's (Mamba, Griffin, Hyena): tsim has none of them"
#define ADAPTER "an adapter is trained, not the model: tsim trains all of it"
#define REINFORCEMENT "this is reinforcement learning or tuning by preferences: tsim simulates plain training"
#define POST_TRAINING "this distils, prunes, quantizes or exports a trained model: tsim simulates plain training"

/* Settings that nothing asks for, by their keys here (examples/nlp/language_modeling/conf of NVIDIA/NeMo, the launcher's
 * and NeMo 2's recipes). A job is known by its names and targets, too. A setting that stands nowhere is an error. */
/* clang-format off */
static const struct tsim_setting_class CLASSES[] = {
    /* the kind of job */
    REFUSED("name=*[mM]amba* *.name=*[mM]amba* _target_=*[mM]amba* *._target_=*[mM]amba* name=*[gG]riffin* "
            "*.name=*[gG]riffin* name=*[jJ]amba* *.name=*[jJ]amba* name=*[hH]yena* *.name=*[hH]yena* "
            "_target_=*[hH]yena* *._target_=*[hH]yena* _target_=*SSMConfig* _target_=*.ssm.* "
            "*hybrid_override_pattern hybrid_layer_pattern hybrid_*_ratio mamba_* *_mamba "
            "activations_checkpoint_recurrent tokenizer.type=*recurrentgemma*", MAMBA),
    SPEED("logits_soft_cap", "capped logits"),
    REFUSED("mm_cfg.* vision* media_type data.is_multimodal data.media_type data.image_* _target_=*.vlm.* "
            "*._target_=*.vlm.* _target_=*[nN]eva* _target_=*.diffusion.* perception.* *unet* "
            "first_stage_config* *[nN]oise_scheduler*", IMAGES),
    REFUSED("freeze_*", "a part of the model is not trained: tsim trains all of it"),
    REFUSED("encoder.* decoder.* *.name=megatron_*t5* _target_=*.t5* pipeline_model_parallel_split_rank", TWO_STACKS),
    REFUSED("retro* *.name=megatron_retro*", "this trains a model with retrieval: tsim has none"),
    NOTHING("peft.peft_scheme=none peft.peft_scheme=lora *_target_=*.LoRA"),
    REFUSED("peft.normalize_moe_lora=[tT]rue", "adapters of experts with a rank of their own"),
    REFUSED("peft.peft_scheme model_transform._target_ peft._target_", ADAPTER),
    NOTHING("peft.* model_transform.*"),
    REFUSED("virtual_prompt_style", ADAPTER),
    REFUSED("trainer.dpo* trainer.ppo* trainer.rm* trainer.grpo* trainer.kto* trainer.reinforce* dpo.* ppo.* "
            "*_target_=*dpo*", REINFORCEMENT),
    REFUSED("prompts prompts.* server web_server port gpt_model_file chatbot_config.* hparams_file "
            "tokens_to_generate *_target_=*.inference* *_target_=*api.generate *_target_=*api.deploy", INFERENCE),
    REFUSED("*_target_=*api.evaluate eval_batch_size nemo_model eval_harness* *task_name", EVALUATION),
    REFUSED("quantization.* export.* prune.* kd* *_target_=*api.ptq *_target_=*api.distill*", POST_TRAINING),
    /* batch, parallelism, model, data types */
    NOTHING("trainer.accumulate_grad_batches=1"),
    REFUSED("trainer.accumulate_grad_batches", "gradient accumulation: global_batch_size already says the batch of a step"),
    REFUSED("_target_=*FSDP* fsdp", "FSDP is not read from this file: add --ignore and --set parallelism.zero=3"),
    NOTHING("fsdp_grad_reduce_dtype fsdp_sharding_strategy fsdp_*"),
    REFUSED("trainer.plugins", "a list of plugins, of which the data type is not read"),
    REFUSED("encoder_tensor_model_parallel_size encoder_pipeline_model_parallel_size", TWO_STACKS),
    NOTHING("window_size window_attn_skip_freq"),
    REFUSED("transformer_block_type=normformer", "further norms in each layer"),
    REFUSED("headscale", "a scale of each head"),
    REFUSED("heterogeneous_*", "layers that differ, as another file says"),
    NOTHING("mcore_customization_config.* hyena.*"), /* of layers that only a job of that name has */
    REFUSED("fp32_residual_connection first_last_layers_bf16 num_layers_at_start_in_bf16 "
            "num_layers_at_end_in_bf16", OTHER_TYPE),
    NOTHING("fp8_wgrad fp8_dot_product_attention fp8_multi_head_attention fp8_params"),
    /* speed */
    SPEED("trainer.callbacks*", "callbacks: what they time, save or overlap"),
    NOTHING("trainer.plugins._target_ trainer.plugins.fp8_* trainer.plugins.*dtype "
            "trainer.plugins.autocast_enabled trainer.plugins.num_layers_at_*"),
    REFUSED("trainer.plugins.first_last_layers_bf16", OTHER_TYPE),
    SPEED("trainer.plugins*", "plugins: precision is read from precision, fp8 from fp8"),
    SPEED("trainer.strategy.ddp*", "parts of the reduction of gradients"),
    NOTHING("ddp._target_"),
    SPEED("ddp.*", "parts of the reduction of gradients"),
    SPEED("ffn_dropout", "dropout within the feed-forward block"),
    SPEED("deterministic_mode", "slower deterministic kernels"),
    SPEED("defer_embedding_wgrad_compute wgrad_deferral_limit", "the head's weight gradient in the pipeline's flush"),
    SPEED("num_micro_batches_with_partial_activation_checkpoints", "recomputation of some micro-batches"),
    SPEED("activations_checkpoint_layers_per_pipeline", "recomputation of some layers of a stage"),
    SPEED("ub_tp_comm_overlap_cfg*", "how the overlap of tensor parallelism is done"),
    NOTHING("tp_comm_bootstrap_backend"),
    SPEED("tp_comm_*", "parts of the overlap of tensor parallelism"),
    SPEED("cpu_offloading*", "activations offloaded to the host"),
    SPEED("overlap_p2p_comm_warmup_flush", "messages hidden in the pipeline's warm-up"),
    SPEED("masked_softmax_fusion=OFF", "the softmax without its fused kernel (flash attention does not use it)"),
    SPEED("bias_activation_fusion=OFF bias_dropout_add_fusion=OFF bias_dropout_fusion=OFF bias_gelu_fusion=OFF "
          "persist_layer_norm=OFF grad_div_ar_fusion=OFF",
          "a fusion switched off: software.fusion"),
    SPEED("async_grad_allreduce=OFF", "gradients reduced behind the backward pass: parallelism.overlap.gradients"),
    SPEED("deallocate_pipeline_outputs=OFF", "what a stage has sent stays in its memory"),
    SPEED("data.reset_attention_mask data.train_ds.packed_sequence",
          WITHIN_DOCUMENTS),
    SPEED("optim.dtype=bf16 optim.dtype=16 optim.dtype=fp16", "optimizer states of 16 bits; in tsim they have 32"),
    SPEED("optim.overlap_param_gather_with_optimizer_step", "the first bucket's gather under the optimizer"),
    NOTHING("cuda_graph_* optim.bucket_cap_mb expert_tensor_parallel_size nccl_communicator_config_path "
            "data.num_workers data.train_ds.pad_to_max_length optim.contiguous_grad_buffer trainer.limit_val_batches trainer.limit_test_batches trainer.limit_train_batches trainer.limit_* "
            "data.train_ds.concat_sampling_probabilities data.data_prefix data.fim.*"),
    /* nothing */
    SPEED("data.train_ds.max_seq_length", OF_LENGTHS),
    NOTHING("batch_p2p_comm bias_activation_fusion bias_dropout_add_fusion fp8_amax_compute_algo fp8_amax_history_len "
            "fp8_amax_reduction native_amp_init_scale native_amp_growth_interval rotary_base rotary_interleaved "
            "bert_* trainer.* exp_manager.* run.* hydra.* defaults* data.* optim.* tokenizer.* nsys_profile.* "
            "memory_profile.* log.* resume.* _* *._target_ name restore_from_* base_config target model_type mcore_gpt "
            "megatron_legacy max_position_embeddings init_method_std use_scaled_init_method "
            "apply_query_key_layer_scaling layernorm_epsilon do_layer_norm_weight_decay make_vocab_size_divisible_by "
            "pre_process post_process persist_layer_norm transformer_block_type=*_ln openai_gelu "
            "normalize_attention_scores onnx_safe rotary_* seq_len_interpolation_factor apply_rope_fusion "
            "attention_type=multihead scale_positional_embedding native_amp_* hysteresis fp16_lm_cross_entropy "
            "megatron_amp_O2 async_grad_allreduce grad_allreduce_chunk_size_mb grad_div_ar_fusion "
            "gradient_accumulation_fusion get_attention_mask_from_fusion cross_entropy_* bias_* masked_softmax_fusion "
            "seed* dist_ckpt_* sharp resume_from_checkpoint use_cpu_initialization apex_transformer_log_level log_* "
            "sync_batch_comm gradient_as_bucket_view transformer_engine use_te_rng_tracker reduce_amax "
            "tp_only_amax_red fp8_margin fp8_recipe fp4_recipe fp8_interval fp8_amax_* fp8_e4m3 fp8_hybrid gc_interval "
            "gc_interval_* sequence_parallel batch_p2p_* activations_checkpoint_method "
            "activations_checkpoint_num_layers recompute_* encoder_seq_length bf16 fp16 params_dtype pipeline_dtype "
            "autocast_dtype layernorm_zero_centered_gamma use_emha moe_aux_loss_coeff moe_z_loss_coeff "
            "moe_router_load_balancing_type moe_input_jitter_eps moe_token_dispatcher_type moe_router_dtype "
            "moe_router_pre_softmax moe_router_score_function moe_router_bias_update_rate moe_router_topk* "
            "moe_per_layer_logging moe_token_drop_policy moe_shared_expert_overlap gradient_accumulation_steps "
            "old_context_len scale_factor low_freq_factor high_freq_factor save_* ckpt_* use_flash_attention "
            "cp_comm_type precision inference.* hidden_act distribute_saved_activations "
            "share_embeddings_and_output_weights enable_autocast answer_only_loss hidden_dropout attention_dropout"),
};
enum { N_CLASSES = sizeof CLASSES / sizeof CLASSES[0] };
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
    TSIM_TRY(tsim_bridge_recipe(g->r, name, g->tree.root, &gpt.named));
    if (tsim_recipe_accepts(g->r, TSIM_MEGATRON_ARGUMENTS, TSIM_N_MEGATRON_ARGUMENTS))
        tsim_gpt_build(&gpt);
    return tsim_recipe_finish(g->r, TSIM_MEGATRON_ARGUMENTS, TSIM_N_MEGATRON_ARGUMENTS, result);
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
    tsim_recipe_init(&r, arena, input, "NeMo", diags);
    if (form != TSIM_NEMO_FILE) {
        status = tsim_nemo_script(&r, form, &g.tree.root, &gpt.named);
        if (status != TSIM_OK) {
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
    if (tsim_recipe_accepts(&r, CLASSES, N_CLASSES)) {
        if (!gpt.named)
            find_named(&g, &gpt);
        gpt.is_bidirectional = is_bert(&r);
        tsim_gpt_build(&gpt);
        if (!gpt.named && !gpt.is_given)
            put_parallel_block(&r);
        status = tsim_recipe_finish(&r, CLASSES, N_CLASSES, result);
    }
    tsim_recipe_release(&r);
    return status;
}
