#include "import/launches/megatron_arguments.h"

#include "import/launches/deepspeed.h"
#include "import/setting_class_rows.h"

/* Arguments of Megatron-LM (megatron/training/arguments.py, 2020 to 2026), of Megatron-DeepSpeed, of the launchers, and
 * the names of programs ("program"), by what they do to a run. Those that gpt.c reads stand here too where it reads them
 * only beside others: --moe-ffn-hidden-size has no effect without --num-experts. An argument that stands nowhere is an
 * error, so that one of next year is not taken for one without effect. */

#define REINFORCEMENT "this is reinforcement learning, which also generates text: tsim simulates plain training"
#define POST_TRAINING "this distils, prunes or quantizes a trained model: tsim simulates plain training"
#define CONVERSION "this prepares data or converts a checkpoint: nothing is trained"
#define FROZEN "a part of the model is not trained: tsim trains all of it"
#define HYBRID "the model has layers that are not read here: linear attention, or state-space layers of a fork"
#define RETRIEVAL "this trains a model with retrieval: tsim has none"
#define ELSEWHERE "its settings are in another file, which tsim does not read"

const struct tsim_setting_class TSIM_MEGATRON_ARGUMENTS[] = {
    /* ---- what the job is, by its program ---- */
    NOTHING(
        "program=*pretrain_gpt*.py program=*pretrain_bert*.py program=*pretrain_llama*.py program=*pretrain_deepseek* "
        "program=*pretrain_mamba.py program=*pretrain_hybrid.py"),
    REFUSED("program=*mamba* program=*hybrid* program=*griffin* program=*jamba* program=*zamba*", HYBRID),
    REFUSED("program=*vlm* program=*multimodal* program=*llava* program=*LLaVA* program=*mimo* program=*neva* "
            "program=*nvlm* program=*[_-]vl[/._-]* program=*vision* program=*pretrain_clip* program=*diffusion* "
            "program=*dino* program=*pretrain_vit*",
            IMAGES),
    REFUSED("enable_odc=[tT]rue", "weights and gradients that ranks fetch from each other one by one (Primus' ODC)"),
    NOTHING("enable_odc odc_* *_odc_* lb_mini_*"),
    REFUSED("program=*retro* program=*_ict* program=*realm* program=*orqa* program=*biencoder* program=*retriev* "
            "program=*doc_index*",
            RETRIEVAL),
    REFUSED("program=*text_generation* program=*generate* program=*inference* program=*infer_* program=*_server* "
            "program=*/server* program=*server.py",
            INFERENCE),
    REFUSED("program=*eval* program=*mmlu* program=*tasks/* program=tasks.* program=*zeroshot* "
            "program=*benchmark_accuracy*",
            EVALUATION),
    REFUSED("program=*_t5*", TWO_STACKS),
    REFUSED("program=*train_rl* program=*grpo* program=*rlhf* program=*_ppo* program=*/ppo* program=*_dpo* "
            "program=*/dpo* program=*train_async*",
            REINFORCEMENT),
    REFUSED("program=*distill* program=*prune* program=*pruning* program=*quantiz* program=*export* program=*modelopt* "
            "program=*offline_feature*",
            POST_TRAINING),
    REFUSED("program=*convert* program=*hf2m* program=*2hf* program=*preprocess* program=*tools/checkpoint/* "
            "program=*merge_datasets* program=*prepare_cache*",
            CONVERSION),
    NOTHING("program"),
    /* ---- what the job is, by its arguments ---- */
    NOTHING("hybrid_override_pattern hybrid_layer_pattern hybrid_attention_ratio hybrid_mlp_ratio is_hybrid_model "
            "mamba_state_dim mamba_head_dim mamba_num_groups mamba_num_heads"),
    REFUSED("hybrid_* mamba_* mtp_hybrid_override_pattern linear_attention_* gdn_* experimental_attention_variant",
            HYBRID),
    NOTHING("spec=megatron.core.models.mamba.* spec=megatron.core.models.hybrid.*"),
    REFUSED("spec=*mamba* spec=*hybrid* spec=*gated_delta* spec=*linear_attention*", HYBRID),
    NOTHING(
        "spec=*gpt_layer_specs* spec=local spec=mindspeed_llm.* spec=modellink.*"), /* they build the model that they are named after */
    REFUSED("spec", "layers as a program of its own defines them: what they compute is not in this file"),
    REFUSED("freeze_* freeze train_only_* bitfit", FROZEN),
    NOTHING("peft=lora peft=LoRA peft=[tT]rue"),
    REFUSED("peft", "adapters of another kind than LoRA"),
    SPEED("moe_experts_impl=*grouped*", "another kernel for the products of experts"),
    SPEED("lora_modules_to_save", "more than the adapters' two matrices is trained"),
    NOTHING("lora_alpha lora_dropout lora_fusion lora_ckpt_filter lora.dropout_position lora.lora_A_init_method "
            "lora.lora_B_init_method peft.* lora* use_lora"),
    REFUSED(
        "vision_* img_* img_h img_w patch_dim num_channels num_classes image_* num_image_* num_frames pixel_shuffle "
        "language_model_type max_num_tiles use_tiling use_thumbnail use_tile_tags image_tag_type allow_missing_vision* "
        "dino_* swin_* mask_type mask_factor disable_vision_class_token sound_* audio_* video_*",
        IMAGES),
    REFUSED(
        "inference_* max_tokens_to_oom flash_decode decode_only_cuda_graphs num_tokens_to_generate prompts prompt_file "
        "top_k top_p temperature sample_input_file sample_output_file genfile greedy out_seq_length "
        "disable_chunked_prefill "
        "nccl_all_reduce_for_prefill mlp_chunks_for_prefill symmetric_ar_type ds_inference use_legacy_static_engine",
        INFERENCE),
    REFUSED("skip_train task epochs keep_last overlapping_eval strict_lambada eval_micro_batch_size valid_data",
            EVALUATION),
    REFUSED("perform_rl_step grpo_* rl_* langrl_* advantage_estimator rollout_* num_rollout sglang_* actor_num_nodes "
            "colocate ref_load kl_* reward_*",
            REINFORCEMENT),
    NOTHING("export_te_mcore_model export_legacy_megatron export_model_type"),
    REFUSED("export_* kd kd_* teacher_* load_teacher mos compression_training modelopt_*", POST_TRAINING),
    REFUSED("retro_* ict_* biencoder_* retriever_* indexer_* evidence_data_path block_data_path embedding_path "
            "output_bert_embeddings",
            RETRIEVAL),
    REFUSED("encoder_num_layers decoder_num_layers decoder_seq_length vocab_extra_ids encoder_*_model_parallel_size",
            TWO_STACKS),
    REFUSED("yaml_cfg heterogeneous_* use_checkpoint_args use_mp_args_from_checkpoint_args data_efficiency_* "
            "ckpt_model_args kitchen_* quant_recipe te_precision_config_file fp4_quantizer_factory",
            ELSEWHERE),
    /* ---- the model ---- */
    NOTHING("sink_sliding_window=0 sink_window_even_layers_only"), /* Primus' */
    REFUSED("sliding_window_* interleave_sliding_window sink_sliding_window full_attention_interval", IN_WINDOWS),
    REFUSED("llama_swiglu",
            "this is a fork's SwiGLU, whose width only its code has: add --ignore and --set model.ffn_hidden=N"),
    REFUSED("num_nextn_predict_layers", "modules that predict further tokens, which tsim does not have"),
    REFUSED("intermediate_size", "another name for the feed-forward block's width than --ffn-hidden-size"),
    NOTHING("mlp_type=standard topk=1 moe_expert_parallel_size=1 ds_sequence_parallel_size=1"),
    REFUSED("mlp_type expert_interval topk use_tutel moe_expert_parallel_size enable_expert_tensor_parallelism",
            "Megatron-DeepSpeed's experts are not taken over"),
    REFUSED("random_ltd curriculum_learning* use_dataset_only_* seqlen_warmup*",
            "sequences that change their length while training"),
    REFUSED("enable_hyper_connections num_residual_streams moe_latent_size attention_output_gate dsa_* csa_*",
            "a part of the model that tsim does not have"),
    REFUSED("num_zero_experts", "experts that do nothing"),
    REFUSED("enable_dsa* index_topk index_n_heads index_head_dim use_sparse_flash_attn",
            "attention that leaves out tokens by an index, which tsim does not have"),
    SPEED("no_merge_qkv", "queries, keys and values in three products"),
    SPEED("post_norm", "norms behind each block, too"),
    SPEED("embed_layernorm", "a norm behind the embedding (2 x hidden parameters)"),
    NOTHING("attention_sink_k=0 enable_shared_expert num_shared_experts"), /* AMD's: the size says it */
    SPEED("attention_sink_k use_sink_attention", "a sink that attention sees besides"),
    SPEED("qk_l2_norm", "a norm of queries and keys without a scale"),
    NOTHING(
        "rotary_base rotary_percent rotary_interleaved rotary_scaling_factor rotary_seq_len_interpolation_factor "
        "rope_scaling_factor rope_scaling_type rope_scaling_original_max_position_embeddings layernorm_epsilon "
        "layernorm_zero_centered_gamma qk_layernorm qk_norm qk_head_dim qk_pos_emb_head_dim qk_nope_head_dim "
        "qk_rope_head_dim "
        "rotary_* use_rope_scaling rope_* no_rope_freq mscale* no_position_embedding add_position_embedding "
        "mrope_section "
        "max_position_embeddings norm_epsilon layernorm_* apply_layernorm_1p apply_residual_connection_post_layernorm "
        "seq_len_interpolation_factor use_rmsnorm rms_norm rope_style window_size window_attn_skip_freq "
        "openai_gelu squared_relu activation_func_clamp_value glu_linear_offset onnx_safe bert_* softmax_type "
        "make_vocab_size_divisible_by v_head_dim qk_* kv_lora_rank q_lora_rank cache_mla_latents num_query_groups "
        "group_query_attention relative_attention_* mtp_loss_scaling_factor position_embedding_offset "
        "apply_query_key_layer_scaling no_query_key_layer_scaling qk_clip* log_max_attention_logit"),
    /* ---- data types ---- */
    REFUSED("fp32_residual_connection no_fp8_wgrad first_last_layers_bf16 fp4_param_gather fp4_param "
            "keep_fp8_transpose_cache* fp8_quantizer_factory msamp*",
            OTHER_TYPE),
    NOTHING(
        "main_grads_dtype=bf16 main_grads_dtype=fp32 main_params_dtype=fp32 exp_avg_dtype=fp32 exp_avg_sq_dtype=fp32 "
        "exp_avg_dtype=bf16 exp_avg_sq_dtype=bf16"),
    REFUSED("main_grads_dtype main_params_dtype exp_avg_dtype exp_avg_sq_dtype",
            "optimizer states of another data type than fp32"),
    NOTHING(
        "bf16 fp16 params_dtype pipeline_dtype attention_softmax_in_fp32 fp16_lm_cross_entropy fp8_wgrad fp8_margin "
        "fp8_interval fp8_amax_* fp8_recipe fp4_recipe num_layers_at_* disable_bf16_reduced_precision_matmul "
        "use_precision_aware_optimizer tp_only_amax_red moe_router_dtype disable_jit_fuser "
        "accumulate_allreduce_grads_in_fp32 loss_scale* initial_loss_scale min_loss_scale hysteresis "
        "reuse_grad_buf_for_mxfp8_param_ag"), /* MXFP8's are gathered in 16 bits with it or without */
    /* ---- batch and length ---- */
    REFUSED("batch_size",
            "Megatron-LM's batch size of a replica before 2021: --micro-batch-size and --global-batch-size"),
    REFUSED("dataloader_sequence_packing* packing_buffer_size",
            "samples are packed into sequences: how long they are is not known"),
    SPEED("sft max_padding_length", OF_LENGTHS),
    NOTHING("decrease_batch_size_if_needed"),
    /* ---- parallelism ---- */
    REFUSED("model_parallel_size", "Megatron-LM's tensor parallelism before 2021: --tensor-model-parallel-size"),
    REFUSED("pipeline_model_parallel_split_rank standalone_embedding_stage custom_recompute_layers_per_stage",
            "a stage of its own: --set parallelism.layers_per_stage=[...] with --ignore"),
    REFUSED("schedules_method enable_1f1b_v enable_vocab_parallel use_interlaced_schedule",
            "another schedule of the pipeline: --set parallelism.schedule=ID with --ignore"),
    REFUSED("tp_2d tp_x tp_y use_nd_matmul", "tensor parallelism in two dimensions"),
    REFUSED("stage=*dpo* stage=*ppo* stage=*grpo* stage=*rm", REINFORCEMENT),
    REFUSED("hierarchical_context_parallel_sizes dynamic_context_parallel hybrid_context_parallel "
            "max_seqlen_per_dp_cp_rank min_dynamic_context_parallel_size",
            "context parallelism in levels or of changing width; in tsim it is one ring, gather or exchange"),
    REFUSED("moe_extended_tp", "experts divided over tensor and expert ranks together: --expert-tensor-parallel-size"),
    REFUSED("ds_sequence_parallel_size force_ds_sequence_parallel",
            "DeepSpeed's sequence parallelism: --set parallelism.context=N with --ignore"),
    REFUSED("enable_full_sharding_in_hsdp outer_dp_sharding_strategy=optim",
            "shards over replicas too: --set parallelism.zero_group=all with --ignore"),
    REFUSED("optimizer_offload_policy",
            "the optimizer on the host: --set training.offload.optimizer=true with --ignore"),
    REFUSED("remote_device", "parameters on the host or a disk"),
    SPEED("zero_bubble_v_schedule_mem_setup", "less memory at a longer bubble"),
    SPEED("allow_padding_num_layers", "layers that do nothing, on the last stages"),
    NOTHING("zero_bubble_* enable_optimizer_post_validation"),
    NOTHING("optimizer_offload_fraction use_megatron_fsdp use_custom_fsdp outer_dp_sharding_strategy zero_stage zero_* "
            "data_parallel_sharding_strategy expert_tensor_parallel_size context_parallel_size sequence_parallel "
            "cp_comm_type no_pipeline_parallel pp_partition_method expert_model_parallel_size"),
    /* ---- speed: kernels, fusions, exchanges, the host ---- */
    SPEED("no_masked_softmax_fusion masked_softmax_fusion=OFF",
          "the softmax without its fused kernel (flash attention does not use it)"),
    SPEED("no_bias_* bias_swiglu_fusion=OFF bias_dropout_fusion=OFF", "a fusion switched off: software.fusion"),
    SPEED("no_rope_fusion apply_rope_fusion=OFF", "a fusion switched off"),
    SPEED("no_persist_layer_norm persist_layer_norm=OFF", "a slower kernel for norms"),
    SPEED("no_gradient_accumulation_fusion gradient_accumulation_fusion=OFF",
          "a pass over the gradients for each micro-batch"),
    SPEED("scatter_gather_tensors_in_pipeline=OFF", "messages between stages that are not split over the tensor ranks"),
    SPEED("align_grad_reduce=OFF", "stages that start their collectives apart"),
    SPEED("deterministic_mode", "slower deterministic kernels"),
    SPEED("batch_invariant_mode", "slower kernels"),
    SPEED("profile* use_pytorch_profiler record_memory_history nvtx_ranges", "the cost of profiling"),
    SPEED("distribute_saved_activations distribute_checkpointed_activations partition_activations",
          "saved activations shared out over the tensor ranks"),
    SPEED("cpu_offloading* _cpu_offloading* checkpoint_in_cpu fine_grained_activation_offloading offload_modules",
          "activations offloaded to the host"),
    SPEED(
        "overlap_cpu_optimizer_d2h_h2d use_torch_optimizer_for_cpu_offload no_pin_cpu_* use_pin_memory cpu_torch_adam",
        "how the optimizer on the host is done"),
    NOTHING("tp_comm_overlap_cfg tp_comm_bootstrap_backend"),
    SPEED("tp_comm_* disable_tp_comm_*", "parts of the overlap of tensor parallelism"),
    SPEED("overlap_p2p_communication_warmup_flush", "messages hidden in the pipeline's warm-up"),
    SPEED("microbatch_group_size_per_virtual_pipeline_stage", "another order of micro-batches"),
    SPEED("defer_embedding_wgrad_compute wgrad_deferral_limit", "the head's weight gradient in the pipeline's flush"),
    SPEED("delay_wgrad_compute", "weight gradients moved behind exchanges"),
    SPEED("use_bnb_optimizer", "optimizer states of 8 bits; in tsim they have 32"),
    SPEED("no_align_*", "stages that start their collectives apart"),
    SPEED("ddp_reduce_scatter_with_fp32_accumulation", "reduction as an all-to-all"),
    SPEED("overlap_param_gather_with_optimizer_step", "the first bucket's gather under the optimizer"),
    SPEED("no_scatter_gather_tensors_in_pipeline", "messages between stages that are not split over the tensor ranks"),
    SPEED("use_ring_exchange_p2p", "another way of sending messages"),
    NOTHING("use_fused_weighted_squared_relu"),
    SPEED("use_transformer_engine_op_fuser use_fused_*", "operators fused with others"),
    SPEED("overlap_dispatch_backward_with_experts_wgrad", "weight gradients under the exchange"),
    SPEED("dataloader_inter_document_masking reset_attention_mask", WITHIN_DOCUMENTS),
    SPEED("use_nccl_ub nccl_ub", "registered buffers"),
    SPEED("use_sharp", "reduction in the switches of the fabric"),
    SPEED("fsdp_double_buffer", "its buffers"),
    SPEED("moe_shared_expert_overlap", "shared experts under the exchange"),
    SPEED("moe_deepep_num_sms moe_hybridep_num_sms", "how many SMs the exchange takes"),
    SPEED("moe_use_legacy_grouped_gemm", "slower expert products"),
    SPEED("moe_layer_recompute", "recomputed experts: training.recompute [experts]"),
    SPEED("train_sync_interval", "the host waiting for the accelerator"),
    SPEED("check_weight_hash*", "checks between replicas"),
    SPEED("memory_centric_tiled_linear tile_factor synchronize_each_layer", "DeepSpeed's way of saving memory"),
    SPEED("use_flash_attn_triton use_flash_attn_builder", "another attention kernel: software.attention_kernel"),
    NOTHING("CUDA_DEVICE_MAX_CONNECTIONS NCCL_DEBUG* NCCL_IB_TIMEOUT NCCL_SOCKET_IFNAME NVTE_ALLOW_* NVTE_DEBUG*"),
    SPEED("NCCL_* NVTE_* UB_*", "what the environment says to libraries"),
    NOTHING("scaled_*masked_softmax_fusion no_scaled_*masked_softmax_fusion masked_softmax_fusion bias_swiglu_fusion "
            "bias_gelu_fusion bias_dropout_fusion bias_* "
            "gradient_accumulation_fusion cross_entropy_loss_fusion cross_entropy_fusion_impl cross_entropy_* "
            "persist_layer_norm apply_rope_fusion moe_router_fusion "
            "use_te_activation_func memory_efficient_layer_norm no_async_tensor_model_parallel_allreduce "
            "async_tensor_model_parallel_allreduce align_* delay_* ddp_pad_buckets_for_high_nccl_busbw "
            "ddp_average_in_collective ddp_num_buckets disable_symmetric_registration no_gradient_reduce_div_fusion "
            "pipeline_model_parallel_comm_backend high_priority_stream_groups batch_p2p_* "
            "scatter_gather_tensors_in_pipeline sharp_enabled_group suggested_communication_unit_size "
            "no_clone_scatter_output_in_embedding clone_scatter_output_in_embedding cuda_graph_* te_rng_tracker "
            "use_te_rng_tracker should_pad_vocab manual_gc* "
            "no_manual_gc_eval empty_unused_memory_level recompute_modules recompute_num_layers recompute_method "
            "recompute_* activations_checkpoint_* checkpoint_num_layers "
            "checkpoint_activations contigious_checkpointing deepspeed_activation_checkpointing use_mpi "
            "use_embedding_scaling use_gcp_dynamic_checkpointing split_transformers scattered_embeddings "
            "fused_padded_mla_attention transformer_impl use_mcore_models attention_backend use_kernels "
            "init_model_with_meta_device nccl_communicator_config_path create_all_gather_group "
            "no_contiguous_buffers_in_local_ddp use_contiguous_buffers_in_* sync_tp_duplicated_parameters "
            "high_priority_a2a_comm_stream"),
    /* ---- Primus, for AMD's accelerators ---- */
    SPEED("use_turbo_grouped_mlp use_turbo_rms_norm use_turbo_parallel_linear use_turbo_gemm use_turbo_grouped_gemm",
          "another kernel of Primus-Turbo"),
    SPEED("turbo_sync_free_moe_stage", "how much the host waits for the router"),
    NOTHING(
        "enable_primus_turbo use_turbo_attention turbo_deepep_* use_turbo_deepep moe_use_fused_router_with_aux_score "
        "no_fp8_weight_transpose_cache stash_modules enable_turbo_attention_float8=false multiprocessing_context "
        "decoder_pipeline_manual_split_list=null sft_* hf_path use_packed_attention enable_packed_sequences"),
    SPEED("enable_turbo_attention_float8", "attention in fp8"),
    REFUSED("patch_zero_bubble patch_primus_pipeline",
            "a schedule of Primus' own: --set parallelism.schedule beside --ignore"),
    REFUSED("decoder_pipeline_manual_split_list",
            "where stages begin is not read: add --ignore and --set parallelism.layers_per_stage=[...]"),
    /* ---- MindSpeed and MindSpeed-LLM, for Ascend's NPUs ---- */
    SPEED("use_mc2 use_ascend_mc2 use_ascend_coc coc_* ampipe_* use_pipe_experts pipe_experts_* moe_bmm_mc2",
          "exchanges inside the products' kernels"),
    SPEED("swap_optimizer swap_attention swap_modules smart_swap virtual_optimizer* reuse_fp32_param o2_optimizer "
          "o2_gradient",
          "states or activations that take less memory than here"),
    SPEED("moe_fb_overlap moe_*_overlap_comm moe_*_async_comm moe_zero_memory* moe_unperm2_mem_optim* "
          "moe_hierarchical_alltoallv moe_experts_pipeline_degree enable_token_rearrange_opt balanced_moe_* "
          "use_cp_send_recv_overlap context_parallel_kv_cache_policy context_parallel_cache_interval cp_window_size "
          "megatron_cp_in_bnsd attention_mask_on_cpu",
          "how exchanges of experts and of context are done"),
    SPEED("adaptive_recompute* enable_recompute_layers_per_pp_rank auto_recompute* adaptive_memory*",
          "which layers are recomputed"),
    SPEED("mla_mm_split mla_fa_* enable_mla_* mla_zero_memory mla_up_proj*", "another way to compute latent attention"),
    SPEED(
        "variable_seq_lengths is_instruction_dataset padded_samples no_pad_to_seq_lengths neat_pack pad_to_multiple_of "
        "stage=sft",
        OF_LENGTHS),
    SPEED("use_packed_seq_params sequence_packing qkv_format=thd", WITHIN_DOCUMENTS),
    SPEED("npu_deterministic use_deter_comp", "slower deterministic kernels"),
    SPEED("use_triton_rmsnorm_kernel gemm_gradient_accumulation_fusion no_gemm_* input_layernorm_in_fp32 bucket_size "
          "ddp_bucket_num",
          "another kernel, or another size of buckets"),
    SPEED("n_group topk_group", "routing to some groups of experts"),
    NOTHING(
        "shape_order sparse_mode pre_tockens next_tockens fill_neg_inf square_alibi_mask alibi_fusion_attn_type "
        "alibi_diagonal_opposite use_fusion_attn_v2 attention_mask_type cp_attention_mask_type prompt_type "
        "handler_name no_shuffle no_shared_storage overwrite_cache enable_thinking history_turns cut_max_seqlen "
        "no_add_gate query_key_layer_scaling no_attention_softmax_in_fp32 no_untie_embeddings_and_output_weights "
        "swap_optimizer_times ulysses_degree_in_cp disable_gloo_group enable_high_availability "
        "enable_optimizer_state_local_copy enable_hbmfault_repair enable_worker_reboot enable_elastic* "
        "distributed_optimizer_no_replica optimizer_selection jit_compile no_enable_linear_qkv "
        "kv_head_repeat_before_uly_alltoall routed_scaling_factor norm_topk_prob seq_aux moe_comm_aux* "
        "moe_device_level_aux* moe_router_bias_* beta_fast beta_slow low_freq_factor high_freq_factor "
        "original_max_position_embeddings longrope_* yarn_* use_glm_rope partial_rotary_factor rms_norm_eps "
        "position_embedding_base quick_gelu gelu_tanh moe_model_type use_gpu_initialization use_gloo_process_groups "
        "loss_mask_token_ids router_gating_in_fp32 moe_revert_type_after_topk fix_router add_rmsnorm_offset "
        "input_embeds_norm scale_emb scale_depth dim_model_base output_multiplier_scale query_pre_attn_scalar "
        "attn_logit_softcapping output_logit_softcapping init_norm_weight_in_fp32 mtp_mem_efficient_logits "
        "patch_tokenizer_type stage=pretrain stage=pt"),
    /* ---- experts, without --num-experts or whatever they are ---- */
    NOTHING(
        "use_z_loss moe_token_dispatcher_type moe_router_load_balancing_type moe_aux_loss_coeff moe_z_loss_coeff "
        "moe_input_jitter_eps moe_router_score_function moe_router_pre_softmax moe_router_topk* "
        "moe_router_bias_update_rate moe_per_layer_logging moe_token_drop_policy moe_ffn_hidden_size moe_use_upcycling "
        "moe_upcycling_granularity moe_router_num_groups moe_router_group_topk moe_router_force_load_balancing "
        "moe_pad_expert_input_to_capacity moe_router_padding_for_* moe_apply_probs_on_input moe_layer_freq "
        "moe_shared_expert_* moe_router_enable_expert_bias moe_expert_capacity_factor moe_grouped_gemm "
        "moe_permute_fusion moe_enable_deepep moe_flex_dispatcher_backend moe_enable_routing_replay "
        "moe_eval_capacity_factor moe_train_capacity_factor moe_min_capacity create_moe_param_group moe_loss_coeff "
        "disable_moe_token_dropping"),
    /* ---- data, tokenizer, evaluation, checkpoints, logging, initialization, the optimizer's numbers ---- */
    NOTHING(
        "data_* train_data_* valid_* test_* split mock_data vocab_file merge_file train_mode tokenizer* *_tokenizer "
        "*_tokenizer_* tiktoken* trust_remote_code num_workers dataloader_* no_mmap_bin_files mmap_bin_files "
        "mmap_warmup num_dataset_builder_threads no_create_attention_mask_in_dataloader "
        "create_attention_mask_in_dataloader reset_position_ids eod_mask_loss object_storage* per_split* sample_rate "
        "mask_prob short_seq_prob train_weighted* full_validation multiple_validation_sets mid_level_dataset_surplus "
        "allow_ambiguous_pad_tokens sft_tokenizer_prompt_format fim_* dataset* *_dataset special_tokens* goldfish_* "
        "bert_load titles_data_path query_in_block_prob use_one_sent_docs loss_on_targets_only "
        "reweight_loss_based_on_position_frequency custom_token_counting reset_progress train_idx_path train_desc_path "
        "train_doc_idx_path train_sample_idx_path train_shuffle_idx_path repeated_dataloader return_data_index "
        "train_data_exact_num_epochs enable_msc disable_msc"),
    NOTHING(
        "no_save_optim no_load_optim eval_* save* load* no_save_* no_load_* ckpt* no_ckpt* dist_ckpt* use_dist_ckpt* "
        "use_checkpoint_opt* "
        "*use_tokenizer_model_from_checkpoint_args non_persistent* finetune pretrained_checkpoint exit_* "
        "auto_detect_ckpt_format async_save async_ckpt_* use_persistent_ckpt_worker no_strict_fsdp_dtensor_load "
        "distrib_optim_fully_reshardable* replication* universal_checkpoint verify_integrity persistent_save_interval"),
    NOTHING("no_initialization perform_initialization init_* embedding_init* output_layer_init_method "
            "use_cpu_initialization data_parallel_random_init seed lr* min_lr decoupled_* warmup override_opt* "
            "override_lr_scheduler use_checkpoint_lr_scheduler weight_decay* start_weight_decay end_weight_decay "
            "clip_grad adam_* sgd_momentum muon_* calculate_per_token_loss apply_wd_to_qk_layernorm train_tokens "
            "optimizer_config_file"),
    NOTHING("log_* no_log_* tensorboard* wandb* timing_log_* logging_level one_logger* no_one_logger enable_one_logger "
            "app_tag_* config_logger_dir enable_ft_package calc_ft_timeouts ft_* inprocess* adlr_autoresume* "
            "disable_straggler* straggler_* rerun_* error_injection* iterations_to_skip skip_train_iteration_range "
            "result_rejected* run_workload_inspector_server kill_switch_path codecarbon_dir test_mode "
            "abort_on_unmet_fused_kernel_constraints steps_per_print timers dump_param* memory_snapshot_path "
            "no_check_for_nan_in_loss_and_grad check_for_nan_in_loss_and_grad no_barrier_with_level_1_timing "
            "barrier_with_L1_time no_check_for_nan* check_for_* print_* swanlab* mlflow* "
            "comet_* otlp_* aml_data_download_path"),
    /* ---- processes, launchers, and variables of the environment in test recipes ---- */
    NOTHING(
        "ntasks* cpus_per_task gpus_per_task exclusive container_* partition account time job_name mem cpu_bind mpi "
        "distributed_backend distributed_timeout_minutes distributed_port distributed_* rank local_rank world_size "
        "dist_url lazy_mpu_init disable_gloo_process_groups enable_gloo* "
        "launcher.* master_addr master_port node_rank rdzv_* max_restarts tee redirects standalone hostfile log_dir "
        "enable_experimental deepspeed_config deepspeed_mpi deepscale* slurm.tasks [A-Z][A-Z_]*"),
    SECTION(TSIM_DEEPSPEED_PREFIX, TSIM_DEEPSPEED_CLASSES),
};
const size_t TSIM_N_MEGATRON_ARGUMENTS = sizeof TSIM_MEGATRON_ARGUMENTS / sizeof TSIM_MEGATRON_ARGUMENTS[0];
