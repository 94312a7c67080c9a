#include "import/models/hf_keys.h"

#include "import/overrides.h"
#include "import/setting_class_rows.h"

#include <string.h>

/* Beginnings of what is near something that tsim has. */
static bool has_near(const char *why) {
    static const char *const NEAR[] = {"layers that are", "attention in chunks", "a part of attention"};
    for (size_t i = 0; i < sizeof NEAR / sizeof NEAR[0]; i++)
        if (strncmp(why, NEAR[i], strlen(NEAR[i])) == 0)
            return true;
    return false;
}

/* Keys of transformers' configuration classes (PretrainedConfig and those of the known model_type). */
/* clang-format off */
static const struct tsim_setting_class CLASSES[] = {
    NOTHING("num_nextn_predict_layers mtp_* num_mtp_* use_mtp time_step* "
            "vision_*token_id vision_*_token audio_*token_id image_*token_id mamba_ssm_* mamba_proj_bias mamba_hidden_act linear_conv_kernel_dim"),
    REFUSED("index_* num_sparse* sparse_attention* moba_*", "a part of attention that this model_type does not have (it chooses the tokens it attends to)"),
    REFUSED("mamba* ssm* conv_kernel* conv_L_cache attn_layer_* attn_type_list expert_layer_* hybrid_* block_types "
            "layers_block_type linear_* gdn_* full_attention_interval lru_width attention_window_size rwkv*",
            "layers that are no transformer's (Mamba and other state-space, linear or recurrent attention) are not imported"),
    REFUSED("attention_chunk_size", "attention in chunks, which this model_type does not have"),
    REFUSED("vision_* audio_* speech_* text_config image_size num_channels patch_size mm_* projector_* perceiver_config",
            "a part of the model is for images or sound, which a model file cannot say"),
    REFUSED("num_experts num_local_experts n_routed_experts n_shared_experts num_experts_per_tok moe_* expert_* "
            "shared_expert* num_moe_* enable_moe_block", "experts where this model_type has none, or of another kind than it has"),
    REFUSED("qk_layernorm use_qk_norm qk_norm* use_qkv_bias clip_qkv parallel_attn new_decoder_architecture alibi multi_query",
            "a part of attention that this model_type does not have"),
    NOTHING("architectures model_type _* transformers_version transformers.js_config torch_dtype dtype auto_map use_cache "
            "*_token_id *_token_ids *_token_index *_token tokenizer_class vocab_file unsloth_* model_name is_llama_config leave_empty"),
    NOTHING("initializer_* init_* *_init_range *_init_std weight_init* *_eps *_epsilon *dropout* *_pdrop drop_path_rate "
            "hidden_act hidden_activation activation_function activation dense_act_fn is_gated_act tie_weights_"),
    NOTHING("rope_* rotary_* mrope_* partial_rotary_factor no_rope_layer* original_max_position_embeddings "
            "max_position_embeddings n_positions n_ctx max_sequence_length model_max_length seq_length position_embedding_type=absolute "
            "relative_attention_max_distance initial_context_length"),
    NOTHING("pretraining_tp attn_implementation gradient_checkpointing output_* return_dict* torchscript use_bfloat16 "
            "tf_legacy_loss remove_invalid_values chunk_size_feed_forward is_encoder_decoder cache_implementation"),
    NOTHING("embedding_multiplier logits_scaling residual_multiplier attention_multiplier logit_scale use_bias=False mlp_alpha* mlp_beta* "
            "swiglu_limit experts_per_token attn_temperature_tuning attn_scale floor_scale for_llm_compressor residual_dropout norm_epsilon temperature top_k top_p typical_p num_beams num_beam_groups diversity_penalty length_penalty repetition_penalty "
            "encoder_no_repeat_ngram_size no_repeat_ngram_size max_length min_length do_sample early_stopping "
            "num_return_sequences bad_words_ids suppress_tokens begin_suppress_tokens exponential_decay_length_penalty "
            "force_bos_token_to_be_generated extra_pos_embeddings=2 normalize_embedding=true forced_* task_specific_params prefix"),
    NOTHING("id2label label2id num_labels problem_type finetuning_task classifier_* summary_* pooler_* directionality encoder_stride"),
    NOTHING("router_* norm_topk_prob scoring_func routed_scaling_factor topk_method topk_group n_group aux_loss_alpha seq_aux ep_size"),
    NOTHING("scale_attn_* reorder_and_upcast_attn query_pre_attn_scalar attn_logit_softcapping final_logit_softcapping "
            "attention_scaling use_flash_attn use_flash_attention*"),
    NOTHING("encoder_layerdrop decoder_layerdrop apply_spec_augment mask_feature_* mask_time_* median_filter_width "
            "scale_embedding=False use_weighted_layer_sum=False layerdrop layer_norm_elementwise_affine "
            "_remove_final_layer_norm ffn_bias activation_dropout word_embed_proj_dim slow_but_exact "
            "masked_softmax_fusion offset_alibi learned_pos_emb max_seq_len emb_pdrop resid_pdrop init_config "
            "use_cache_* verbose embedding_fraction tokenizer_name sinusoidal_pos_embds qa_dropout seq_classif_dropout "
            "inference_runner validate_runner_input pre_allocate_kv_cache max_batch_size apply_query_key_layer_scaling "
            "attention_softmax_in_fp32 bias_dropout_fusion fp32_residual_connection original_rope post_layer_norm "
            "apply_residual_connection_post_layernorm kv_channels pre_seq_len prefix_projection quantization_bit "
            "interleaved_qkv z_loss_weight bias=False head_dtype norm_head norm_softmax output_router_logits scale_emb "
            "scale_depth dim_model_base mup_* use_dynamic_ntk use_logn_attn softmax_in_fp32 bf16 fp16 fp32 onnx_safe "
            "layer_norm_eps layernorm_epsilon score_function group_norm_size ignore_* rescale_* residual_in_fp32 "
            "use_mamba_kernels mlp_hidden_act use_conv_bias attention_bias=False mlp_bias=False num_logits_to_keep "
            "moe_aux_loss* moe_z_loss* moe_router_topk_scaling_factor moe_grouped_gemm qkv_fuse use_rmsnorm "
            "embedding_dropout output_dropout"),
    NOTHING("quantization_config quantization compression_config use_sliding_window max_window_layers sliding_window_pattern "
            "num_key_value_heads head_dim attention_head_dim qk_head_dim n_special predict_special_tokens indexer_rope_interleave"),
    NOTHING("add_classification_head class_num dense_list pool_type pixel_shuffle_factor full_attn_mod interpolate_factor "
            "lm_head_bias=false layer_switch order_of_interleaved_layers position_embedding_type=rope* use_embedding_sharing=true "
            "emb_size use_gated_activation=true use_parallel_block=true use_parallel_embedding normalization_function=rmsnorm "
            "cla_share_factor norm_type=rms use_mixed_mlp_moe"),
};
/* clang-format on */

enum tsim_status tsim_hf_keys_check(struct tsim_arena *arena, const struct tsim_value *root, const bool *is_used,
                                    const struct tsim_import_input *input, struct tsim_diags *diags, const char **notes,
                                    bool *is_approximate) {
    enum tsim_status status = TSIM_OK;
    for (size_t i = 0; i < root->n_items; i++) {
        const struct tsim_pair *pair = &root->pairs[i];
        if (is_used[i] || tsim_value_is_off(pair->value) || tsim_import_ignores(input, pair->key))
            continue;
        const struct tsim_setting_class *class =
            tsim_setting_class_of(pair->key, pair->value, CLASSES, sizeof CLASSES / sizeof CLASSES[0]);
        if (class && !class->why)
            continue;
        const char *key = tsim_arena_strndup(arena, pair->key, strlen(pair->key) < 60 ? strlen(pair->key) : 60);
        bool is_near = class && has_near(class->why);
        if (is_near && input->approximates) {
            *notes = tsim_arena_printf(arena, "%s# approximate: %s is left out (%s).\n", *notes, key, class->why);
            *is_approximate = true;
            continue;
        }
        tsim_diag_hint(
            tsim_value_error(diags, TSIM_ERR_INFEASIBLE, pair->value, key, "%s",
                             class ? class->why : "tsim does not know this key, nor whether it changes the model"),
            "--ignore %s imports the file as if it were not there%s", key,
            is_near ? "; --approximate all such parts" : "");
        status = TSIM_ERR_INFEASIBLE;
    }
    return status;
}
