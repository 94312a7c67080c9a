#include "import/recipes.h"

#include "config/document.h"
#include "import/gpt.h"
#include "import/shell.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Arguments are kept under their names without the leading dashes, with underscores: --num-layers is num_layers, as in
 * Python's namespace and in YAML. */

/* ---- what has no effect, and what is not modelled ---- */

#define NOTHING(pattern)                                                                                               \
    { pattern, NULL }
static const struct tsim_setting_class CLASSES[] = {
    /* data, tokenizer, evaluation, checkpoints, logging, initialization, the optimizer's numbers */
    NOTHING("data_*"),
    NOTHING("train_data_*"),
    NOTHING("valid_*"),
    NOTHING("test_*"),
    NOTHING("split"),
    NOTHING("mock_data"),
    NOTHING("vocab_file"),
    NOTHING("merge_file"),
    NOTHING("tokenizer*"),
    NOTHING("tiktoken*"),
    NOTHING("trust_remote_code"),
    NOTHING("legacy_tokenizer"),
    NOTHING("num_workers"),
    NOTHING("dataloader_type"),
    NOTHING("no_mmap_bin_files"),
    NOTHING("mmap_bin_files"),
    NOTHING("no_create_attention_mask_in_dataloader"),
    NOTHING("create_attention_mask_in_dataloader"),
    NOTHING("reset_position_ids"),
    NOTHING("reset_attention_mask"),
    NOTHING("eod_mask_loss"),
    NOTHING("num_dataset_builder_threads"),
    NOTHING("object_storage*"),
    NOTHING("per_split*"),
    NOTHING("sample_rate"),
    NOTHING("mask_prob"),
    NOTHING("short_seq_prob"),
    NOTHING("retriever_*"),
    NOTHING("vocab_extra_ids"),
    NOTHING("make_vocab_size_divisible_by"),
    NOTHING("train_weighted*"),
    NOTHING("eval_*"),
    NOTHING("full_validation"),
    NOTHING("multiple_validation_sets"),
    NOTHING("skip_train"),
    NOTHING("save*"),
    NOTHING("load*"),
    NOTHING("no_save_*"),
    NOTHING("no_load_*"),
    NOTHING("ckpt*"),
    NOTHING("no_ckpt*"),
    NOTHING("dist_ckpt*"),
    NOTHING("use_dist_ckpt*"),
    NOTHING("use_checkpoint*"),
    NOTHING("use_mp_args*"),
    NOTHING("non_persistent*"),
    NOTHING("finetune"),
    NOTHING("pretrained_checkpoint"),
    NOTHING("exit_*"),
    NOTHING("auto_detect_ckpt_format"),
    NOTHING("async_save"),
    NOTHING("use_persistent_ckpt_worker"),
    NOTHING("no_strict_fsdp_dtensor_load"),
    NOTHING("distrib_optim_fully_reshardable*"),
    NOTHING("replication*"),
    NOTHING("no_initialization"),
    NOTHING("perform_initialization"),
    NOTHING("init_*"),
    NOTHING("embedding_init*"),
    NOTHING("output_layer_init_method"),
    NOTHING("use_cpu_initialization"),
    NOTHING("data_parallel_random_init"),
    NOTHING("seed"),
    NOTHING("lr*"),
    NOTHING("min_lr"),
    NOTHING("decoupled_*"),
    NOTHING("warmup"),
    NOTHING("override_opt*"),
    NOTHING("weight_decay*"),
    NOTHING("start_weight_decay"),
    NOTHING("end_weight_decay"),
    NOTHING("clip_grad"),
    NOTHING("adam_*"),
    NOTHING("sgd_momentum"),
    NOTHING("muon_*"),
    NOTHING("loss_scale*"),
    NOTHING("initial_loss_scale"),
    NOTHING("min_loss_scale"),
    NOTHING("hysteresis"),
    NOTHING("log_*"),
    NOTHING("no_log_*"),
    NOTHING("tensorboard*"),
    NOTHING("wandb*"),
    NOTHING("timing_log_*"),
    NOTHING("logging_level"),
    NOTHING("one_logger*"),
    NOTHING("no_one_logger"),
    NOTHING("enable_one_logger"),
    NOTHING("app_tag_*"),
    NOTHING("config_logger_dir"),
    NOTHING("enable_ft_package"),
    NOTHING("calc_ft_timeouts"),
    NOTHING("inprocess*"),
    NOTHING("adlr_autoresume*"),
    NOTHING("disable_straggler*"),
    NOTHING("straggler_*"),
    NOTHING("rerun_mode"),
    NOTHING("error_injection*"),
    NOTHING("iterations_to_skip"),
    NOTHING("result_rejected*"),
    NOTHING("run_workload_inspector_server"),
    NOTHING("kill_switch_path"),
    NOTHING("abort_on_unmet_fused_kernel_constraints"),
    NOTHING("steps_per_print"),
    /* names, processes, numerics */
    NOTHING("use_mcore_models"),
    NOTHING("transformer_impl"),
    NOTHING("spec"),
    NOTHING("distributed_*"),
    NOTHING("local_rank"),
    NOTHING("lazy_mpu_init"),
    NOTHING("disable_gloo_process_groups"),
    NOTHING("enable_gloo*"),
    NOTHING("launcher.*"),
    NOTHING("rotary_*"),
    NOTHING("use_rope_scaling"),
    NOTHING("rope_*"),
    NOTHING("no_rope_freq"),
    NOTHING("mscale*"),
    NOTHING("no_position_embedding"),
    NOTHING("add_position_embedding"),
    NOTHING("mrope_section"),
    NOTHING("max_position_embeddings"),
    NOTHING("norm_epsilon"),
    NOTHING("layernorm_*"),
    NOTHING("apply_layernorm_1p"),
    NOTHING("apply_residual_connection_post_layernorm"),
    NOTHING("openai_gelu"),
    NOTHING("squared_relu"),
    NOTHING("activation_func_clamp_value"),
    NOTHING("glu_linear_offset"),
    NOTHING("onnx_safe"),
    NOTHING("bert_*"),
    NOTHING("apply_query_key_layer_scaling"),
    NOTHING("attention_softmax_in_fp32"),
    NOTHING("fp16_lm_cross_entropy"),
    NOTHING("params_dtype"),
    NOTHING("pipeline_dtype"),
    NOTHING("softmax_type"),
    NOTHING("disable_bf16_reduced_precision_matmul"),
    NOTHING("fp8_margin"),
    NOTHING("fp8_interval"),
    NOTHING("fp8_amax_*"),
    NOTHING("fp8_recipe"), /* without fp8 */
    NOTHING("fp4_recipe"),
    NOTHING("reuse_grad_buf_for_mxfp8_param_ag"), /* MXFP8's are gathered in 16 bits with it or without */
    NOTHING("no_check_for_nan*"),
    NOTHING("check_for_*"),
    NOTHING("calculate_per_token_loss"),
    NOTHING("decrease_batch_size_if_needed"),
    NOTHING("no_async_tensor_model_parallel_allreduce"),
    NOTHING("async_tensor_model_parallel_allreduce"),
    NOTHING("manual_gc*"),
    NOTHING("no_manual_gc_eval"),
    NOTHING("empty_unused_memory_level"),
    NOTHING("no_clone_scatter_output_in_embedding"),
    NOTHING("clone_scatter_output_in_embedding"),
    NOTHING("moe_router_load_balancing_type"),
    NOTHING("moe_aux_loss_coeff"),
    NOTHING("moe_z_loss_coeff"),
    NOTHING("moe_input_jitter_eps"),
    NOTHING("moe_router_dtype"),
    NOTHING("moe_router_score_function"),
    NOTHING("moe_router_pre_softmax"),
    NOTHING("moe_router_topk*"),
    NOTHING("moe_router_bias_update_rate"),
    NOTHING("moe_per_layer_logging"),
    NOTHING("moe_token_drop_policy"),
    NOTHING("moe_ffn_hidden_size"),
    NOTHING("moe_use_upcycling"),
    NOTHING("moe_upcycling_granularity"),
    NOTHING("moe_router_num_groups"),
    NOTHING("moe_router_force_load_balancing"),
    NOTHING("mtp_loss_scaling_factor"),
    NOTHING("dump_param*"),
    NOTHING("bf16"),
    NOTHING("fp16"),
    NOTHING("group_query_attention"),
    NOTHING("deepspeed_config"),
    NOTHING("use_megatron_fsdp"), /* data_parallel_sharding_strategy says what it does */
    NOTHING("use_custom_fsdp"),
    NOTHING("deepspeed_activation_checkpointing"),
    NOTHING("no_pipeline_parallel"),
    NOTHING("pp_partition_method"),
    NOTHING("v_head_dim"),
    NOTHING("qk_*"),
    NOTHING("kv_lora_rank"),
    NOTHING("q_lora_rank"),
    NOTHING("zero_stage"),
    NOTHING("num_query_groups"),
    NOTHING("expert_tensor_parallel_size"),
    NOTHING("context_parallel_size"),
    NOTHING("sequence_parallel"),
    NOTHING("cp_comm_type"),
    NOTHING("data_parallel_sharding_strategy"),
    NOTHING("timers"),
    NOTHING("nccl_communicator_config_path"),
    NOTHING("batch_p2p_*"),
    NOTHING("scatter_gather_tensors_in_pipeline"),
    NOTHING("sharp_enabled_group"),
    NOTHING("enable_experimental"),
    NOTHING("tp_comm_overlap_cfg"),
    NOTHING("tp_comm_bootstrap_backend"),
    NOTHING("export_*"),
    NOTHING("init_model_with_meta_device"),
    NOTHING("suggested_communication_unit_size"),
    NOTHING("ddp_num_buckets"),
    NOTHING("recompute_method"),
    NOTHING("recompute_num_layers"),
    NOTHING("recompute_modules"),
    /* what is so in every run here */
    {"no_masked_softmax_fusion", "the softmax without its fused kernel (flash attention does not use it)"},
    {"masked_softmax_fusion", NULL},
    NOTHING("bias_*"),
    NOTHING("gradient_accumulation_fusion"),
    NOTHING("cross_entropy_*"),
    NOTHING("persist_layer_norm"),
    NOTHING("apply_rope_fusion"),
    NOTHING("moe_router_fusion"),
    NOTHING("use_te_activation_func"),
    NOTHING("memory_efficient_layer_norm"),
    NOTHING("use_fused_weighted_squared_relu"),
    /* what matters and is not modelled */
    {"no_bias_*", "a fusion switched off: software.fusion"},
    {"no_rope_fusion", "a fusion switched off"},
    {"no_persist_layer_norm", "a slower kernel for norms"},
    {"no_gradient_accumulation_fusion", "a pass over the gradients for each micro-batch"},
    {"fp32_residual_connection", "a residual stream in fp32"},
    {"deterministic_mode", "slower deterministic kernels"},
    {"profile*", "the cost of profiling"},
    {"use_pytorch_profiler", "the cost of profiling"},
    {"record_memory_history", "the cost of profiling"},
    {"memory_snapshot_path", NULL},
    {"no_barrier_with_level_1_timing", NULL},
    {"barrier_with_L1_time", NULL},
    {"distribute_saved_activations", "saved activations shared out over the tensor ranks"},
    {"cpu_offloading*", "activations offloaded to the host"},
    {"_cpu_offloading*", "activations offloaded to the host"},
    {"optimizer_cpu_offload", "the optimizer on the host"},
    {"cpu_optimizer", "the optimizer on the host"},
    {"optimizer_offload_fraction", "the optimizer on the host"},
    {"overlap_cpu_optimizer_d2h_h2d", "the optimizer on the host"},
    {"use_torch_optimizer_for_cpu_offload", "the optimizer on the host"},
    {"no_pin_cpu_*", "the optimizer on the host"},
    {"use_precision_aware_optimizer", "optimizer states in fewer bits"},
    {"main_grads_dtype", "optimizer states in fewer bits"},
    {"main_params_dtype", "optimizer states in fewer bits"},
    {"exp_avg*", "optimizer states in fewer bits"},
    {"fp8_wgrad", NULL},
    {"no_fp8_wgrad", "weight gradients in higher precision"},
    {"first_last_layers_bf16", "layers in another precision"},
    {"num_layers_at_*", "layers in another precision"},
    {"window_size", "windows: attention reaches over the whole sequence"},
    {"window_attn_skip_freq", "windows"},
    {"tp_comm_*", "parts of the overlap of tensor parallelism"},
    {"disable_tp_comm_*", "parts of the overlap of tensor parallelism"},
    {"tp_only_amax_red", NULL},
    {"overlap_p2p_communication_warmup_flush", "messages hidden in the pipeline's warm-up"},
    {"microbatch_group_size_per_virtual_pipeline_stage", "another order of micro-batches"},
    {"defer_embedding_wgrad_compute", "the head's weight gradient in the pipeline's flush"},
    {"wgrad_deferral_limit", "the head's weight gradient in the pipeline's flush"},
    {"delay_wgrad_compute", "weight gradients moved behind exchanges"},
    {"no_align_*", "stages that start their collectives apart"},
    {"align_*", NULL},
    {"delay_*", NULL},
    {"ddp_pad_buckets_for_high_nccl_busbw", NULL},
    {"ddp_average_in_collective", NULL},
    {"ddp_reduce_scatter_with_fp32_accumulation", "reduction as an all-to-all"},
    {"overlap_param_gather_with_optimizer_step", "the first bucket's gather under the optimizer"},
    {"no_scatter_gather_tensors_in_pipeline", "messages between stages that are not split over the tensor ranks"},
    {"use_ring_exchange_p2p", "another way of sending messages"},
    {"use_nccl_ub", "registered buffers"},
    {"disable_symmetric_registration", NULL},
    {"use_sharp", "reduction in the switches of the fabric"},
    {"fsdp_double_buffer", "its buffers"},
    {"keep_fp8_transpose_cache*", "a second copy of fp8 weights"},
    {"no_gradient_reduce_div_fusion", NULL},
    {"hierarchical_context_parallel_sizes", "context parallelism in two levels"},
    {"pipeline_model_parallel_layout", "a layout of stages: parallelism.layers_per_stage"},
    {"pipeline_model_parallel_comm_backend", NULL},
    {"high_priority_stream_groups", NULL},
    {"standalone_embedding_stage", "a stage of its own for the embedding"},
    {"moe_shared_expert_overlap", "shared experts under the exchange"},
    {"moe_token_dispatcher_type", NULL},
    {"moe_deepep_num_sms", "how many SMs the exchange takes"},
    {"moe_pad_expert_input_to_capacity", NULL},
    {"moe_router_padding_for_fp8", NULL},
    {"moe_use_legacy_grouped_gemm", "slower expert products"},
    {"moe_layer_recompute", "recomputed experts: training.recompute [experts]"},
    {"moe_extended_tp", "experts divided over more ranks"},
    {"mtp_num_layers", "modules that predict further tokens"},
    {"embed_layernorm", "a norm behind the embedding"},
    {"cuda_graph_*", NULL},
    {"te_rng_tracker", NULL},
    {"train_sync_interval", "the host waiting for the accelerator"},
    {"check_weight_hash*", "checks between replicas"},
    {"qk_l2_norm", "a norm of queries and keys without a scale"},
};

/* ---- settings from words ---- */

struct reading {
    struct tsim_recipe *r;
    const char *text;
    const char *script; /* pretrain_gpt.py */
};

static const struct tsim_value *value_at(struct reading *g, uint32_t offset, const char *text) {
    int line = 1, column = 1;
    for (uint32_t i = 0; i < offset && i < g->r->document->size; i++) {
        column = g->text[i] == '\n' ? 1 : column + 1;
        line += g->text[i] == '\n';
    }
    return tsim_recipe_scalar(g->r, line, column, text);
}

static const char *key_of(struct tsim_arena *arena, const char *name) {
    char *key = tsim_arena_strdup(arena, name + strspn(name, "-"));
    for (char *c = key; *c; c++)
        *c = *c == '-' ? '_' : *c;
    return key;
}

/* What launchers call nodes and processes; Slurm's short options. */
static const char *launcher_key(const char *key) {
    static const char *const NAMES[][2] = {{"num_nodes", "nnodes"},
                                           {"nodes", "nnodes"},
                                           {"N", "nnodes"},
                                           {"num_gpus", "nproc_per_node"},
                                           {"gpus_per_node", "nproc_per_node"},
                                           {"ntasks_per_node", "slurm.tasks"},
                                           {"constraint", "machine"},
                                           {"C", "machine"}};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (strcmp(key, NAMES[i][0]) == 0)
            return NAMES[i][1];
    return key;
}

/* "1:4" of an elastic launch is its most. */
static const char *most_nodes(const char *key, const char *text) {
    const char *colon = strrchr(text, ':');
    return strcmp(key, "nnodes") == 0 && colon ? colon + 1 : text;
}

/* gpu:a100:8 */
static void add_gres(struct reading *g, const char *name, const struct tsim_value *value) {
    const char *first = strchr(value->text, ':'), *last = strrchr(value->text, ':');
    if (!first)
        return;
    tsim_recipe_add(g->r, name, "nproc_per_node", tsim_value_new_scalar(g->r->arena, value, last + 1));
    if (first != last)
        tsim_recipe_add(g->r, name, "machine", value);
}

struct words { /* arguments, split as far as can be; on the heap */
    struct tsim_shell_word *words;
    size_t n, capacity;
};

/* A quoted text that holds arguments ("--fp8-format hybrid", all of `bash -c "..."`) becomes its words. */
static void split_word(struct reading *g, struct words *out, const struct tsim_shell_word *word) {
    const char *text = word->text;
    bool holds = strpbrk(text, " \t\n") && (strncmp(text, "--", 2) == 0 || strstr(text, " --"));
    for (size_t i = 0; text[i];) {
        size_t length = holds ? strcspn(text + i, " \t\n") : strlen(text);
        size_t skip = holds && length > 1 && strchr("'\"", text[i]) ? 1 : 0, end = i + length;
        if (skip && strchr("'\"", text[end - 1]))
            end--;
        out->words = tsim_heap_grow(out->words, &out->capacity, out->n + 1, sizeof *out->words);
        if (length > 0)
            out->words[out->n++] = (struct tsim_shell_word){
                tsim_arena_strndup(g->r->arena, text + i + skip, end > i + skip ? end - i - skip : 0), NULL,
                word->at[i]};
        i += length + strspn(text + i + length, holds ? " \t\n" : "");
    }
}

static bool is_argument(const char *text) {
    return text[0] == '-' && (text[1] == '-' ? isalpha((unsigned char)text[2]) : isalpha((unsigned char)text[1])) &&
           !(text[1] != '-' && text[2] != '\0');
}

static void add_argument(struct reading *g, const char *name, const char *key, const struct tsim_value *value) {
    if (strcmp(key, "gres") == 0) {
        if (value->kind == TSIM_VALUE_SCALAR)
            add_gres(g, name, value);
        return;
    }
    tsim_recipe_add(g->r, name, key, value);
}

static const struct tsim_value *values_of(struct reading *g, const struct tsim_shell_word *words, size_t n,
                                          const char *key) {
    const struct tsim_value *first = value_at(g, words[0].start, most_nodes(key, words[0].text));
    if (n == 1)
        return first;
    const struct tsim_value **items = TSIM_NEW_ARRAY(g->r->arena, n, const struct tsim_value *);
    items[0] = first;
    for (size_t i = 1; i < n; i++)
        items[i] = tsim_value_new_scalar(g->r->arena, first, words[i].text);
    struct tsim_value *list = TSIM_NEW(g->r->arena, struct tsim_value);
    *list = *first;
    list->kind = TSIM_VALUE_SEQUENCE;
    list->items = items;
    list->n_items = n;
    list->n_nodes = n + 1;
    list->height = 2;
    return list;
}

/* Where the launcher's own arguments end: at the script; 0 without one. */
static size_t end_of_launcher(struct reading *g, const struct words *w) {
    for (size_t i = 0; i < w->n; i++) {
        size_t length = strlen(w->words[i].text);
        if (length > 3 && strcmp(w->words[i].text + length - 3, ".py") == 0 && !is_argument(w->words[i].text)) {
            g->script = w->words[i].text;
            return i;
        }
    }
    return 0;
}

/* Of a launcher's arguments few count. */
static const char *key_in(struct reading *g, const char *name, bool is_launcher) {
    static const char *const COUNTING[] = {"nnodes", "nproc_per_node", "machine", "gres"};
    const char *key = key_of(g->r->arena, name);
    if (!is_launcher)
        return key;
    key = launcher_key(key);
    for (size_t i = 0; i < sizeof COUNTING / sizeof COUNTING[0]; i++)
        if (strcmp(key, COUNTING[i]) == 0)
            return key;
    return tsim_arena_printf(g->r->arena, "launcher.%s", key);
}

/* --name value value, --name=value, --name. */
static void add_words(struct reading *g, const struct words *w, size_t n_launcher) {
    for (size_t i = 0; i < w->n && g->r->n_settings <= TSIM_RECIPE_MAX_SETTINGS;) {
        const struct tsim_shell_word *word = &w->words[i++];
        size_t n = 0, length = strcspn(word->text, "=");
        if (!is_argument(word->text))
            continue;
        while (i + n < w->n && !is_argument(w->words[i + n].text))
            n++;
        const char *name = tsim_arena_strndup(g->r->arena, word->text, length);
        const char *key = key_in(g, name, i <= n_launcher);
        const struct tsim_value *value;
        if (word->text[length])
            value = value_at(g, word->start, most_nodes(key, word->text + length + 1));
        else
            value = n > 0 ? values_of(g, &w->words[i], n, key) : value_at(g, word->start, "true");
        add_argument(g, name, key, value);
        i += n;
    }
}

/* ---- the command that trains ---- */

static bool is_megatron_name(const char *name) {
    static const char *const TELLING[] = {"num_layers",
                                          "hidden_size",
                                          "num_attention_heads",
                                          "seq_length",
                                          "micro_batch_size",
                                          "global_batch_size",
                                          "ffn_hidden_size",
                                          "train_iters",
                                          "tensor_model_parallel_size",
                                          "train_samples",
                                          "pipeline_model_parallel_size"};
    for (size_t i = 0; i < sizeof TELLING / sizeof TELLING[0]; i++)
        if (strcmp(name, TELLING[i]) == 0)
            return true;
    return false;
}

static void split_all(struct reading *g, const struct tsim_shell_word *words, size_t n, struct words *out) {
    out->n = 0;
    for (size_t i = 0; i < n; i++)
        split_word(g, out, &words[i]);
}

static size_t score(struct reading *g, const struct words *w) {
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        if (is_argument(w->words[i].text)) {
            const char *key = key_of(g->r->arena, w->words[i].text);
            n += is_megatron_name(tsim_arena_strndup(g->r->arena, key, strcspn(key, "=")));
        }
    return n;
}

/* The last of the commands that have most of Megatron's arguments; where none has any, all that was assigned. */
static bool read_script(struct reading *g, const struct tsim_shell_script *script) {
    struct words w = {NULL, 0, 0};
    size_t best = script->n_commands, most = 0;
    for (size_t i = 0; i < script->n_commands; i++) {
        const struct tsim_shell_command *command = &script->commands[i];
        bool is_slurm = command->n_words > 0 && strcmp(command->words[0].text, "sbatch") == 0;
        bool is_shown = command->n_words > 0 && strcmp(command->words[0].text, "echo") == 0;
        split_all(g, command->words, command->n_words, &w);
        if (is_slurm)
            add_words(g, &w, w.n);
        size_t points = is_shown ? 0 : score(g, &w);
        if (points > 0 && points >= most)
            best = i, most = points;
    }
    if (best < script->n_commands) {
        split_all(g, script->commands[best].words, script->commands[best].n_words, &w);
    } else {
        split_all(g, script->assigned, script->n_assigned, &w);
        most = score(g, &w);
    }
    if (most > 0)
        add_words(g, &w, end_of_launcher(g, &w));
    tsim_heap_free(w.words);
    return most > 0;
}

static enum tsim_status read_shell(struct reading *g) {
    struct tsim_shell_script script;
    size_t offset = 0;
    const char *message = NULL;
    enum tsim_status status = tsim_shell_read(g->r->arena, g->text, g->r->document->size, &script, &offset, &message);
    if (status != TSIM_OK) {
        tsim_value_error(g->r->diags, status, value_at(g, (uint32_t)offset, ""), "", "%s", message);
        return status;
    }
    if (!read_script(g, &script)) {
        tsim_diag_hint(tsim_recipe_error(g->r, NULL, "no command with arguments of Megatron-LM in it"),
                       "a launch script, or a line like 'torchrun ... pretrain_gpt.py --num-layers 32 ...'");
        return TSIM_ERR_INFEASIBLE;
    }
    if (script.undecided)
        tsim_value_warning(g->r->diags, &g->r->at_top, "",
                           "the condition '%.160s' cannot be told here: taken as not true", script.undecided);
    return TSIM_OK;
}

/* ---- YAML ---- */

/* Every scalar and list under its own name, whatever it stands below. */
static void add_tree(struct reading *g, const struct tsim_value *value) {
    for (size_t i = 0; i < value->n_items; i++) {
        const struct tsim_pair *pair = &value->pairs[i];
        if (pair->value->kind == TSIM_VALUE_MAPPING)
            add_tree(g, pair->value);
        else
            add_argument(g, pair->key, launcher_key(key_of(g->r->arena, pair->key)), pair->value);
    }
}

static enum tsim_status read_yaml(struct reading *g) {
    const struct tsim_value *root;
    TSIM_TRY(tsim_document_parse(g->r->arena, g->r->document->file, g->text, g->r->document->size, &root, g->r->diags));
    add_tree(g, root);
    return TSIM_OK;
}

/* The first line that is neither empty nor a comment: KEY: ... */
static bool looks_like_yaml(const char *text, size_t size) {
    size_t i = 0;
    while (i < size && (text[i] == '#' || text[i] == '\n' || text[i] == '\r' || text[i] == ' '))
        if (text[i] == '#')
            while (i < size && text[i] != '\n')
                i++;
        else
            i++;
    if (i + 3 < size && memcmp(text + i, "---\n", 4) == 0)
        return true;
    while (i < size && (isalnum((unsigned char)text[i]) || text[i] == '_' || text[i] == '-'))
        i++;
    return i < size && text[i] == ':' && (i + 1 == size || isspace((unsigned char)text[i + 1]));
}

/* ---- the whole ---- */

static void check_script(struct reading *g, struct tsim_gpt *gpt) {
    static const char *const OTHERS[] = {"pretrain_t5",    "pretrain_vision", "pretrain_ict",   "pretrain_retro",
                                         "pretrain_mamba", "pretrain_vlm",    "pretrain_hybrid"};
    gpt->is_bidirectional = g->script && strstr(g->script, "pretrain_bert");
    for (size_t i = 0; g->script && i < sizeof OTHERS / sizeof OTHERS[0]; i++)
        if (strstr(g->script, OTHERS[i]))
            tsim_recipe_error(g->r, NULL, "%s.py trains a model that is no single stack of layers", OTHERS[i]);
}

enum tsim_status tsim_import_megatron(struct tsim_arena *arena, const struct tsim_import_input *input,
                                      struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    tsim_recipe_init(&r, arena, input, "Megatron-LM", diags);
    struct reading g = {.r = &r, .text = r.document->text};
    struct tsim_gpt gpt = {.r = &r, .program = TSIM_GPT_MEGATRON, .input = input};
    enum tsim_status status = looks_like_yaml(g.text, input->size) ? read_yaml(&g) : read_shell(&g);
    if (status == TSIM_OK) {
        check_script(&g, &gpt);
        tsim_gpt_build(&gpt);
        status = tsim_recipe_finish(&r, CLASSES, sizeof CLASSES / sizeof CLASSES[0], input, result);
    }
    tsim_recipe_release(&r);
    return status;
}
