/* YAML of huggingface/nanotron (src/nanotron/config/config.py, models_config.py): sections for the model, the
 * optimizer, the parallelism and the tokens of a step. Settings are read under Megatron's names. */
#include "config/text/document.h"
#include "import/launches/gpt.h"
#include "import/launches/recipe_short.h"
#include "import/launches/recipes.h"

#include <string.h>

/* The layers are Llama's, or Qwen2's, which have biases if attention_bias says so. */
static void add_model(struct tsim_recipe *r) {
    const struct tsim_setting *tied = find(r, "model.model_config.tie_word_embeddings"),
                              *bias = find(r, "model.model_config.attention_bias"),
                              *activation = find(r, "model.model_config.hidden_act"),
                              *rows = find(r, "model.model_config.vocab_size"),
                              *unit = find(r, "model.make_vocab_size_divisible_by");
    if (activation && !tsim_setting_is(activation, "silu"))
        tsim_recipe_refuse(r, activation, "'%.40s' is not silu, whose blocks are gated", tsim_setting_text(activation));
    add(r, activation, "swiglu", "true");
    add(r, NULL, "normalization", "RMSNorm");
    add(r, NULL, "position_embedding_type", "rope");
    add(r, NULL, "disable_bias_linear", "true");
    add(r, NULL, "hidden_dropout", "0");
    add(r, NULL, "attention_dropout", "0");
    const struct tsim_setting *window = find(r, "model.model_config.sliding_window_size");
    if (window && find(r, "model.model_config.is_qwen2_config"))
        add_as(r, window, "sliding_window");
    if (bias && tsim_setting_flag(r, bias))
        add(r, bias, "add_qkv_bias", "true");
    if (!tied || !tsim_setting_flag(r, tied))
        add(r, tied, "untie_embeddings_and_output_weights", "true");
    if (find(r, "model.model_config.num_key_value_heads"))
        add(r, find(r, "model.model_config.num_key_value_heads"), "group_query_attention", "true");
    if (rows) { /* padded to whole tensor ranks, too */
        int64_t n = tsim_setting_int(r, rows, 1, 1000000000),
                tensor = tsim_recipe_int(r, "parallelism.tp", 1, 100000, 1),
                whole = tensor * (unit ? tsim_setting_int(r, unit, 1, 1000000) : 1);
        add_int(r, rows, "padded_vocab_size", (n + whole - 1) / whole * whole);
    }
}

/* Adds Qwen2's mixture of experts (config/models_config.py, MoEConfig). */
static void add_experts(struct tsim_recipe *r) {
    static const char *const NAMES[][2] = {{"num_experts", "num_experts"},
                                           {"top_k", "moe_router_topk"},
                                           {"moe_intermediate_size", "moe_ffn_hidden_size"},
                                           {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"}};
    if (!find(r, "model.model_config.moe_config.num_experts"))
        return;
    const struct tsim_setting *shares = find(r, "model.model_config.moe_config.enable_shared_expert"),
                              *ranks = find(r, "parallelism.expert_parallel_size");
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        const struct tsim_setting *s =
            find(r, tsim_arena_printf(r->arena, "model.model_config.moe_config.%s", NAMES[i][0]));
        if (s && (i < 3 || (shares && tsim_setting_flag(r, shares))))
            add_as(r, s, NAMES[i][1]);
    }
    add_as(r, ranks, "expert_model_parallel_size");
    add(r, NULL, "moe_token_dispatcher_type", "alltoall");
    add(r, NULL, "moe_grouped_gemm", "true");
}

static void add_world(struct tsim_recipe *r) {
    const struct tsim_setting *dp = find(r, "parallelism.dp"), *micro = find(r, "tokens.micro_batch_size"),
                              *steps = find(r, "tokens.batch_accumulation_per_replica");
    const int64_t replicas = tsim_recipe_int(r, "parallelism.dp", 1, 1000000, 1),
                  ranks = replicas * tsim_recipe_int(r, "parallelism.tp", 1, 100000, 1) *
                          tsim_recipe_int(r, "parallelism.pp", 1, 100000, 1) *
                          tsim_recipe_int(r, "parallelism.context_parallel_size", 1, 100000, 1),
                  per_node = ranks < 8 ? ranks : 8;
    if (ranks % per_node == 0 && ranks <= 1000000) {
        add_int(r, dp, "nnodes", ranks / per_node);
        add_int(r, dp, "nproc_per_node", per_node);
    }
    if (micro)
        add_int(r, steps ? steps : micro, "global_batch_size",
                tsim_setting_int(r, micro, 1, 1000000) * (steps ? tsim_setting_int(r, steps, 1, 1000000) : 1) *
                    replicas);
}

static void add_precision(struct tsim_recipe *r) {
    const struct tsim_setting *type = find(r, "model.dtype"), *sums = find(r, "optimizer.accumulate_grad_in_fp32");
    if (!type || tsim_setting_is(type, "bfloat16"))
        add(r, type, "bf16", "true");
    else if (tsim_setting_is(type, "float16"))
        add(r, type, "fp16", "true");
    else if (!tsim_setting_is(type, "float32"))
        tsim_recipe_refuse(r, type, "'%.40s' is not modelled: bfloat16, float16 and float32 are",
                           tsim_setting_text(type));
    add(r, sums, "grad_reduce_in_fp32", sums && !tsim_setting_flag(r, sums) ? "false" : "true");
}

static void build(struct tsim_recipe *r) {
    static const char *const NAMES[][2] = {{"model.model_config.hidden_size", "hidden_size"},
                                           {"model.model_config.num_hidden_layers", "num_layers"},
                                           {"model.model_config.num_attention_heads", "num_attention_heads"},
                                           {"model.model_config.num_key_value_heads", "num_query_groups"},
                                           {"model.model_config.intermediate_size", "ffn_hidden_size"},
                                           {"tokens.sequence_length", "seq_length"},
                                           {"tokens.micro_batch_size", "micro_batch_size"},
                                           {"tokens.train_steps", "train_iters"},
                                           {"parallelism.tp", "tensor_model_parallel_size"},
                                           {"parallelism.pp", "pipeline_model_parallel_size"},
                                           {"parallelism.context_parallel_size", "context_parallel_size"}};
    struct tsim_gpt gpt = {.r = r, .program = TSIM_GPT_MEGATRON, .software = "nanotron-2025"};
    const struct tsim_setting *mode = find(r, "parallelism.tp_mode"), *stage = find(r, "optimizer.zero_stage"),
                              *engine = find(r, "parallelism.pp_engine"), *all = find(r, "parallelism.recompute_layer"),
                              *kernel = find(r, "model.model_config._attn_implementation");
    add_renamed(r, NAMES, sizeof NAMES / sizeof NAMES[0], false);
    add_model(r);
    add_experts(r);
    add_world(r);
    add_precision(r);
    if (has_text(kernel, "llama3_ring")) /* keys and values of some heads at a time are gathered */
        add(r, kernel, "cp_comm_type", "all_gather");
    add(r, mode, "sequence_parallel", tsim_setting_is(mode, "REDUCE_SCATTER") ? "true" : "false");
    if (stage && tsim_setting_int(r, stage, 0, 1) == 1)
        add(r, stage, "use_distributed_optimizer", "true");
    if (all && tsim_setting_flag(r, all))
        add(r, all, "recompute_granularity", "full");
    tsim_gpt_build(&gpt);
    if (tsim_setting_is(engine, "afab") && gpt.pipeline > 1)
        tsim_recipe_put(r, "parallelism.schedule", engine, NULL, "gpipe");
    if (gpt.pipeline > 1 && gpt.layers % gpt.pipeline != 0) /* blocks go to stages by what they cost */
        tsim_recipe_put(r, "parallelism.layers_per_stage", find(r, "parallelism.pp"), NULL, "balance");
}

enum tsim_status tsim_import_nanotron(struct tsim_arena *arena, const struct tsim_import_input *input,
                                      struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    const struct tsim_value *root;
    TSIM_TRY(tsim_document_parse_wide(arena, input->file, input->text, input->size, &root, diags));
    tsim_recipe_init(&r, arena, input, "nanotron", "nanotron", diags);
    tsim_recipe_each(&r, root, tsim_recipe_add_leaf, &r);
    if (!tsim_value_find_path(root, "parallelism.dp"))
        tsim_diag_hint(tsim_recipe_error(&r, NULL, "parallelism.dp is missing"), "the YAML that run_train.py takes");
    else if (tsim_recipe_accepts(&r))
        build(&r);
    enum tsim_status status = tsim_recipe_finish(&r, result);
    tsim_recipe_release(&r);
    return status;
}
