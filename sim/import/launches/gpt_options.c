/* A scenario's GPT as options of Megatron-LM and NeMo, by the names and the versions that gpt.c reads. */
#include "import/launches/launch_words.h"
#include "import/launches/launch_writer.h"

#include <math.h>
#include <string.h>

static bool is_nemo(const struct tsim_launch_writer *w) {
    return w->launch == TSIM_LAUNCH_NEMO;
}

static bool is_deepspeed(const struct tsim_launch_writer *w) {
    return w->launch == TSIM_LAUNCH_MEGATRON_DEEPSPEED;
}

/* ---- options ---- */

static void put(struct tsim_launch_writer *w, const char *key, const char *value) {
    w->options = tsim_heap_grow(w->options, &w->options_capacity, w->n_options + 1, sizeof *w->options);
    w->options[w->n_options++] = (struct tsim_launch_option){key, value};
}

static void put_int(struct tsim_launch_writer *w, const char *key, int64_t value) {
    put(w, key, tsim_arena_printf(w->arena, "%lld", (long long)value));
}

static void put_number(struct tsim_launch_writer *w, const char *key, double value) {
    put(w, key, tsim_arena_printf(w->arena, "%.12g", value));
}

static void put_flag_if(struct tsim_launch_writer *w, const char *key, bool is_on) {
    if (is_on)
        put(w, key, NULL);
}

/* Returns one program's name for what the other calls differently. */
static const char *either(const struct tsim_launch_writer *w, const char *megatron, const char *nemo) {
    return is_nemo(w) ? nemo : megatron;
}

/* ---- the model ---- */

static void put_vocabulary(struct tsim_launch_writer *w) {
    const struct tsim_model *m = w->scenario->model;
    if (is_nemo(w)) {
        put_int(w, "override_vocab_size", m->vocab);
        put_int(w, "make_vocab_size_divisible_by", 1);
    } else if (w->launch == TSIM_LAUNCH_MEGATRON_CORE) { /* its tokenizer of nothing adds the end of a document */
        put(w, "tokenizer_type", "NullTokenizer");
        put_int(w, "vocab_size", m->vocab - 1);
        put_int(w, "make_vocab_size_divisible_by", 1);
    } else {
        if (is_deepspeed(w))
            put_int(w, "pad_vocab_size_to", m->vocab);
        put(w, "tokenizer_type", "GPT2BPETokenizer");
        put(w, "vocab_file", "gpt2-vocab.json");
        put(w, "merge_file", "gpt2-merges.txt");
    }
}

static void put_latent(struct tsim_launch_writer *w) {
    const struct tsim_model *m = w->scenario->model;
    put(w, "multi_latent_attention", NULL);
    if (m->latent.query_rank > 0)
        put_int(w, "q_lora_rank", m->latent.query_rank);
    put_int(w, "kv_lora_rank", m->latent.kv_rank);
    put_int(w, "qk_head_dim", m->latent.nope_dim > 0 ? m->latent.nope_dim : m->head_dim);
    put_int(w, "v_head_dim", m->head_dim);
    put_int(w, "qk_pos_emb_head_dim", m->latent.rope_dim);
}

static void put_attention(struct tsim_launch_writer *w) {
    const struct tsim_model *m = w->scenario->model;
    put_int(w, "num_attention_heads", m->heads);
    if (m->latent.kv_rank > 0) {
        put_latent(w);
        return;
    }
    if (m->kv_heads != m->heads && !is_deepspeed(w)) {
        put_flag_if(w, "group_query_attention", !is_nemo(w));
        put_int(w, "num_query_groups", m->kv_heads);
    } else if (m->kv_heads != m->heads) {
        put_int(w, "num_key_value_heads", m->kv_heads);
    }
    if (m->head_dim * m->heads != m->hidden)
        put_int(w, "kv_channels", m->head_dim);
}

static void put_positions(struct tsim_launch_writer *w) {
    static const struct tsim_launch_word KINDS[] = {
        {"learned_absolute", "learned"}, {"rope", "rope"}, {"alibi", "alibi"}, {"none", "none"}, {NULL, NULL}};
    const struct tsim_model *m = w->scenario->model;
    const char *kind = tsim_launch_theirs(KINDS, tsim_launch_text(w, "model.position"));
    if (kind)
        put(w, "position_embedding_type", kind);
    put_int(w, "max_position_embeddings", m->positions > 0 ? m->positions : w->scenario->training.sequence_length);
    if (m->position == TSIM_POSITION_ROPE && m->rotary_frac > 0 && m->rotary_frac < 1)
        put_number(w, either(w, "rotary_percent", "rotary_percentage"), m->rotary_frac);
}

/* Returns the layers with experts as "([0]*3+[1]*58)": after the dense layers every one, or the last one of each so
 * many. */
static const char *expert_layers(const struct tsim_launch_writer *w) {
    const struct tsim_model *m = w->scenario->model;
    const struct tsim_experts *x = &m->experts;
    const char *text = "";
    int64_t every = x->every > 0 ? x->every : 1, rest = (m->layers - x->first) % every;
    if (x->first > 0)
        text = tsim_arena_printf(w->arena, "[0]*%lld+", (long long)x->first);
    if (every > 1)
        text = tsim_arena_printf(w->arena, "%s([0]*%lld+[1]*1)*%lld", text, (long long)(every - 1),
                                 (long long)((m->layers - x->first) / every));
    else
        text = tsim_arena_printf(w->arena, "%s[1]*%lld", text, (long long)(m->layers - x->first));
    if (rest > 0)
        text = tsim_arena_printf(w->arena, "%s+[0]*%lld", text, (long long)rest);
    return tsim_arena_printf(w->arena, "(%s)", text);
}

static void put_experts(struct tsim_launch_writer *w) {
    const struct tsim_experts *x = &w->scenario->model->experts;
    const struct tsim_software *s = w->scenario->software;
    if (x->count == 0)
        return;
    put_int(w, either(w, "num_experts", "num_moe_experts"), x->count);
    put_int(w, "moe_router_topk", x->active);
    put_int(w, "moe_ffn_hidden_size", x->ffn_hidden);
    if (x->latent > 0)
        put_int(w, "moe_latent_size", x->latent);
    if (x->shared > 0)
        put_int(w, "moe_shared_expert_intermediate_size", x->shared * x->ffn_hidden);
    if (x->first > 0 || x->every > 1)
        put(w, "moe_layer_freq", expert_layers(w));
    put_flag_if(w, "moe_router_enable_expert_bias", x->router_bias);
    if (x->capacity_factor > 0) {
        put_number(w, "moe_expert_capacity_factor", x->capacity_factor);
        put(w, "moe_pad_expert_input_to_capacity", NULL);
    }
    put(w, "moe_token_dispatcher_type", s->expert_dispatch == TSIM_DISPATCH_PER_NODE ? "flex" : "alltoall");
    put_flag_if(w, "moe_enable_deepep", s->expert_dispatch == TSIM_DISPATCH_PER_NODE);
    put_flag_if(w, "moe_permute_fusion",
                s->expert_permutation == TSIM_PERMUTATION_FUSED && s->expert_dispatch != TSIM_DISPATCH_BY_WIDTH);
    put_flag_if(w, "moe_grouped_gemm", s->expert_products == TSIM_PRODUCTS_GROUPED);
}

/* Puts a letter for each layer. Megatron's default number of heads gives twice the hidden width. */
static void put_hybrid(struct tsim_launch_writer *w) {
    const struct tsim_model *m = w->scenario->model;
    const struct tsim_value *pattern = tsim_value_find_path(w->resolved, "model.pattern");
    char *letters = TSIM_NEW_ARRAY(w->arena, (size_t)m->layers + 1, char);
    for (int64_t n = 0; n < m->layers;)
        for (size_t i = 0; i < m->n_pattern; i++)
            for (int64_t k = 0; k < m->pattern[i].count && n < m->layers; k++)
                letters[n++] = tsim_launch_hybrid_letter(pattern->items[i]);
    put(w, "spec", "megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec");
    put(w, "is_hybrid_model", NULL);
    put(w, "hybrid_override_pattern", letters);
    put_int(w, "mamba_state_dim", m->mamba.state);
    put_int(w, "mamba_head_dim", m->mamba.head_dim);
    put_int(w, "mamba_num_groups", m->mamba.groups);
    if (m->mamba.heads * m->mamba.head_dim != 2 * m->hidden)
        put_int(w, "mamba_num_heads", m->mamba.heads);
}

static void put_model(struct tsim_launch_writer *w) {
    const struct tsim_model *m = w->scenario->model;
    put_int(w, "num_layers", m->layers);
    put_int(w, "hidden_size", m->hidden);
    put_int(w, "ffn_hidden_size", m->ffn_hidden);
    put_attention(w);
    put_positions(w);
    if (m->gated_mlp && is_nemo(w))
        put(w, "activation", "swiglu");
    put_flag_if(w, "swiglu", m->gated_mlp && !is_nemo(w));
    put_flag_if(w, "squared_relu",
                m->activation == TSIM_ACTIVATION_RELU && !m->gated_mlp && w->launch == TSIM_LAUNCH_MEGATRON_CORE);
    if (m->norm == TSIM_NORM_RMSNORM || is_nemo(w))
        put(w, "normalization",
            is_nemo(w)        ? tsim_launch_text(w, "model.norm")
            : is_deepspeed(w) ? "rmsnorm"
                              : "RMSNorm");
    put_flag_if(w, "untie_embeddings_and_output_weights", !m->tied_embeddings && !is_nemo(w));
    put_flag_if(w, "disable_bias_linear", !m->bias && !is_nemo(w));
    if (is_nemo(w)) {
        put(w, "share_embeddings_and_output_weights", m->tied_embeddings ? "true" : "false");
        put(w, "bias", m->bias ? "true" : "false");
    }
    put_flag_if(w, either(w, "add_qkv_bias", "qkv_bias"), m->qkv_bias);
    put_flag_if(w, "qk_layernorm", m->qk_norm);
    put_vocabulary(w);
    put_experts(w);
    if (tsim_launch_is_hybrid(w))
        put_hybrid(w);
}

/* ---- training ---- */

static void put_recompute(struct tsim_launch_writer *w) {
    const struct tsim_training_spec *t = &w->scenario->training;
    const char *prefix = is_nemo(w) ? "activations_checkpoint" : "recompute";
    bool has_layers = t->recompute == TSIM_RECOMPUTE_LAYERS,
         is_whole = t->recompute == TSIM_RECOMPUTE_FULL || t->recompute == TSIM_RECOMPUTE_EVERY || has_layers;
    if (t->recompute == TSIM_RECOMPUTE_NONE)
        return;
    if (is_whole && !tsim_launch_is_core(w) && w->launch != TSIM_LAUNCH_MEGATRON_2022) {
        put(w, "checkpoint_activations", NULL);
        if (has_layers)
            put(w, "activations_checkpoint_method", "block");
        if (has_layers || t->recompute_every > 1)
            put_int(w, "checkpoint_num_layers", has_layers ? t->recompute_layers : t->recompute_every);
        return;
    }
    put(w, tsim_arena_printf(w->arena, "%s_granularity", prefix), is_whole ? "full" : "selective");
    if (is_whole) {
        put(w, tsim_arena_printf(w->arena, "%s_method", prefix), has_layers ? "block" : "uniform");
        put_int(w, tsim_arena_printf(w->arena, "%s_num_layers", prefix),
                has_layers               ? t->recompute_layers
                : t->recompute_every > 0 ? t->recompute_every
                                         : 1);
    }
    const struct tsim_value *parts = tsim_value_find_path(w->resolved, "training.recompute");
    const char *names = "";
    for (size_t i = 0; parts && parts->kind == TSIM_VALUE_SEQUENCE && i < parts->n_items; i++) {
        const char *name = tsim_launch_theirs(tsim_recompute_modules, parts->items[i]->text);
        if (name)
            names = tsim_arena_printf(w->arena, "%s%s%s", names, *names ? " " : "", name);
    }
    if (*names && w->launch == TSIM_LAUNCH_MEGATRON_CORE)
        put(w, "recompute_modules", names);
}

static void put_low_precision(struct tsim_launch_writer *w) {
    enum tsim_precision precision = w->scenario->training.precision;
    const char *recipe = precision == TSIM_MXFP8
                             ? "mxfp8"
                             : tsim_launch_theirs(tsim_fp8_recipes, tsim_launch_text(w, "software.fp8_scaling"));
    if (precision == TSIM_NVFP4)
        put(w, "fp4_format", "e2m1");
    else if (is_nemo(w)) {
        put(w, "fp8", NULL);
        put(w, "fp8_hybrid", NULL);
    } else
        put(w, "fp8_format", "hybrid");
    if (precision != TSIM_NVFP4 && recipe)
        put(w, "fp8_recipe", recipe);
    if (precision == TSIM_FP8)
        put(w, either(w, "fp8_param_gather", "fp8_params"), NULL);
}

static void put_precision(struct tsim_launch_writer *w) {
    const struct tsim_training_spec *t = &w->scenario->training;
    bool is_fp16 = t->precision == TSIM_FP16,
         is_low = t->precision == TSIM_FP8 || t->precision == TSIM_MXFP8 || t->precision == TSIM_NVFP4,
         is_bf16 = t->precision == TSIM_BF16 || is_low, in_fp32 = t->gradient_precision == TSIM_FP32;
    if (is_nemo(w))
        put(w, "precision", is_fp16 ? "16" : is_bf16 ? "bf16" : "32");
    put_flag_if(w, "bf16", is_bf16 && !is_nemo(w));
    put_flag_if(w, "fp16", is_fp16 && !is_nemo(w));
    if (is_low)
        put_low_precision(w);
    if (is_nemo(w) && !in_fp32)
        put(w, "optim.grad_sync_dtype", "bf16");
    put_flag_if(w, "grad_reduce_in_bf16", !is_nemo(w) && is_bf16 && !in_fp32);
    put_flag_if(w, "accumulate_allreduce_grads_in_fp32", !is_nemo(w) && is_fp16 && in_fp32);
    if (is_fp16 && !is_nemo(w) && t->loss_scaling.growth_interval > 0) {
        put_int(w, "loss_scale_window", t->loss_scaling.growth_interval);
        put_int(w, "hysteresis", t->loss_scaling.skipped);
    }
}

static void put_optimizer(struct tsim_launch_writer *w) {
    const struct tsim_training_spec *t = &w->scenario->training;
    bool is_sharded = w->scenario->parallelism.zero > 0;
    const char *name = t->optimizer == TSIM_MOMENTUM ? "sgd"
                       : t->optimizer != TSIM_MUON   ? "adam"
                       : is_sharded                  ? "dist_muon"
                                                     : "muon";
    if (is_nemo(w))
        put(w, "optim.name",
            t->optimizer == TSIM_MOMENTUM ? "sgd"
            : is_sharded                  ? "distributed_fused_adam"
                                          : "fused_adam");
    else
        put(w, "optimizer", name);
    put_flag_if(w, "optimizer_cpu_offload", t->offload.optimizer && !is_nemo(w));
}

static void put_training(struct tsim_launch_writer *w) {
    const struct tsim_training_spec *t = &w->scenario->training;
    put_int(w, either(w, "seq_length", "encoder_seq_length"), t->sequence_length);
    put_int(w, "micro_batch_size", t->micro_batch_size);
    put_int(w, "global_batch_size", t->global_batch_size);
    if (t->batch_ramp.samples > 0)
        put(w, "rampup_batch_size",
            tsim_arena_printf(w->arena, "%.12g %.12g %.12g", t->batch_ramp.from, t->batch_ramp.increment,
                              t->batch_ramp.samples));
    if (t->length_kind == TSIM_LENGTH_STEPS)
        put_number(w, either(w, "train_iters", "max_steps"), t->length);
    else if (t->length_kind == TSIM_LENGTH_SAMPLES && !is_nemo(w))
        put_number(w, "train_samples", t->length);
    else if (t->length_kind == TSIM_LENGTH_TOKENS && is_deepspeed(w))
        put_number(w, "train_tokens", t->length);
    else if (t->length_kind == TSIM_LENGTH_TOKENS && !is_nemo(w))
        put_number(w, "train_samples", floor(t->length / (double)t->sequence_length));
    put_precision(w);
    put_optimizer(w);
    put_recompute(w);
}

/* ---- software ---- */

static void put_software(struct tsim_launch_writer *w) {
    const struct tsim_software *s = w->scenario->software;
    const char *kernel = tsim_launch_text(w, "software.attention_kernel"),
               *backend = tsim_launch_theirs(tsim_attention_backends, kernel);
    put_number(w, "hidden_dropout", s->dropout);
    put_number(w, "attention_dropout", s->dropout);
    if (w->launch == TSIM_LAUNCH_MEGATRON_CORE && backend)
        put(w, "attention_backend", backend);
    if (w->launch == TSIM_LAUNCH_MEGATRON_2022)
        put(w, "transformer_impl", "local");
    put_flag_if(w, "use_legacy_models", w->launch == TSIM_LAUNCH_MEGATRON_2021);
    put_flag_if(w, either(w, "use_flash_attn", "use_flash_attention"),
                w->launch != TSIM_LAUNCH_MEGATRON_CORE && strncmp(kernel, "flash", 5) == 0);
    if (s->bucket_elements > 0 && w->launch == TSIM_LAUNCH_MEGATRON_CORE)
        put_int(w, "ddp_bucket_size", s->bucket_elements);
    if (w->launch == TSIM_LAUNCH_MEGATRON_CORE && s->cuda_graphs != TSIM_GRAPHS_NONE) {
        const struct tsim_experts *x = &w->scenario->model->experts;
        bool has_rows = x->count > 0 && x->capacity_factor <= 0; /* which no graph of a layer can have */
        put(w, "cuda_graph_impl", has_rows && s->cuda_graphs == TSIM_GRAPHS_LAYERS ? "transformer_engine" : "local");
        put(w, "cuda_graph_scope",
            s->cuda_graphs == TSIM_GRAPHS_STEP ? "full_iteration"
            : has_rows                         ? "attn moe_router moe_preprocess"
                                               : "full");
    }
}

/* ---- parallelism ---- */

static void put_overlaps(struct tsim_launch_writer *w) {
    const struct tsim_overlap *o = &w->scenario->parallelism.overlap;
    if (!tsim_launch_is_core(w))
        return; /* these versions have no options for it */
    put_flag_if(w, either(w, "overlap_grad_reduce", "optim.overlap_grad_sync"), o->gradients);
    put_flag_if(w, either(w, "overlap_param_gather", "optim.overlap_param_sync"), o->parameters);
    put_flag_if(w, either(w, "tp_comm_overlap", "ub_tp_comm_overlap"), o->tensor);
    put_flag_if(w, "overlap_moe_expert_parallel_comm", o->expert);
    if (is_nemo(w))
        put(w, "overlap_p2p_comm", o->pipeline ? "true" : "false");
    else
        put_flag_if(w, "no_overlap_p2p_communication", !o->pipeline);
}

static void put_sharding(struct tsim_launch_writer *w) {
    const struct tsim_parallelism_spec *p = &w->scenario->parallelism;
    int64_t ranks = p->data * p->context;
    if (is_deepspeed(w)) {
        put(w, "deepspeed", NULL);
        put(w, "deepspeed_config", "ds_config.json");
        put_int(w, "zero_stage", p->zero);
        return;
    }
    if (p->zero == 0)
        return;
    put_flag_if(w, "use_distributed_optimizer", !is_nemo(w));
    if (p->zero > 1 && w->launch == TSIM_LAUNCH_MEGATRON_CORE) {
        put(w, "use_megatron_fsdp", NULL);
        put(w, "data_parallel_sharding_strategy",
            tsim_launch_theirs(tsim_sharding_strategies, tsim_arena_printf(w->arena, "%d", p->zero)));
    }
    if (p->zero_group_ranks > 0 && p->zero_group_ranks < ranks && ranks % p->zero_group_ranks == 0 &&
        tsim_launch_is_core(w))
        put_int(w, "num_distributed_optimizer_instances", ranks / p->zero_group_ranks);
}

enum stages { STAGES_EVEN, STAGES_WITH_ENDS, STAGES_GIVEN, STAGES_OTHERWISE };

/* Stages may be even, count the embedding or the head as a layer, have a first and a last one of their own size, or be
 * such that no option describes them. */
static enum stages stages_of(const struct tsim_launch_writer *w) {
    const struct tsim_parallelism_spec *p = &w->scenario->parallelism;
    const int64_t *layers = p->layers_per_chunk, n = tsim_n_model_parts(p), middle = layers[n > 2];
    bool is_even = true, has_ends = n > 2;
    for (int64_t i = 0; i < n; i++) {
        is_even &= layers[i] == layers[0];
        has_ends &= layers[i] == middle || ((i == 0 || i == n - 1) && layers[i] == middle - 1);
        if (i > 0 && i + 1 < n && layers[i] != middle)
            return STAGES_OTHERWISE;
    }
    if (is_even)
        return STAGES_EVEN;
    if (is_deepspeed(w) && has_ends && layers[0] < middle && layers[n - 1] < middle)
        return STAGES_WITH_ENDS;
    if (!tsim_launch_is_core(w) || n != p->pipeline * p->virtual_pipeline)
        return STAGES_OTHERWISE;
    return has_ends ? STAGES_WITH_ENDS : p->virtual_pipeline == 1 ? STAGES_GIVEN : STAGES_OTHERWISE;
}

bool tsim_gpt_says_stages(const struct tsim_launch_writer *w) {
    return stages_of(w) != STAGES_OTHERWISE;
}

static void put_stages(struct tsim_launch_writer *w) {
    const struct tsim_parallelism_spec *p = &w->scenario->parallelism;
    const int64_t *layers = p->layers_per_chunk, n = tsim_n_model_parts(p);
    enum stages stages = stages_of(w);
    if (stages == STAGES_WITH_ENDS && is_deepspeed(w)) {
        put(w, "pp_partition_method", "type:transformer|embedding");
    } else if (stages == STAGES_WITH_ENDS) {
        put_flag_if(w, "account_for_embedding_in_pipeline_split", layers[0] < layers[1]);
        put_flag_if(w, "account_for_loss_in_pipeline_split", layers[n - 1] < layers[1]);
    } else if (stages == STAGES_GIVEN) {
        put_int(w, either(w, "decoder_first_pipeline_num_layers", "num_layers_in_first_pipeline_stage"), layers[0]);
        put_int(w, either(w, "decoder_last_pipeline_num_layers", "num_layers_in_last_pipeline_stage"), layers[n - 1]);
    }
}

static void put_virtual(struct tsim_launch_writer *w) {
    const struct tsim_parallelism_spec *p = &w->scenario->parallelism;
    int64_t parts = p->pipeline * p->virtual_pipeline;
    if (p->virtual_pipeline == 1)
        return;
    if (is_nemo(w))
        put_int(w, "virtual_pipeline_model_parallel_size", p->virtual_pipeline);
    else if (w->launch == TSIM_LAUNCH_MEGATRON_CORE)
        put_int(w, "num_virtual_stages_per_pipeline_rank", p->virtual_pipeline);
    else if (w->scenario->model->layers % parts == 0)
        put_int(w, "num_layers_per_virtual_pipeline_stage", w->scenario->model->layers / parts);
}

static void put_parallelism(struct tsim_launch_writer *w) {
    const struct tsim_parallelism_spec *p = &w->scenario->parallelism;
    put_int(w, "tensor_model_parallel_size", p->tensor);
    put_int(w, "pipeline_model_parallel_size", p->pipeline);
    put_virtual(w);
    if (p->context > 1) {
        const char *how = tsim_launch_theirs(tsim_context_kinds, tsim_launch_text(w, "parallelism.context_exchange"));
        put_int(w, "context_parallel_size", p->context);
        put(w, "cp_comm_type", how);
    }
    if (p->expert > 1)
        put_int(w, "expert_model_parallel_size", p->expert);
    if (p->expert > 1 && tsim_expert_tensor(p) != p->tensor) /* the default */
        put_int(w, "expert_tensor_parallel_size", tsim_expert_tensor(p));
    put_flag_if(w, "sequence_parallel", p->sequence);
    put_stages(w);
    put_sharding(w);
    put_overlaps(w);
    put_flag_if(w, "use_tp_pp_dp_mapping", tsim_launch_tp_pp_dp(w) != NULL);
}

void tsim_gpt_options(struct tsim_launch_writer *w) {
    put_model(w);
    put_training(w);
    put_parallelism(w);
    put_software(w);
}
