/* hf_trainer.h - private to import: makes a run of Hugging Face's Trainer from the settings that it and the fine-tuners
 * built on it share. Keys are those of TrainingArguments (transformers' training_args.py), and these:
 *   model_name_or_path    an id of Hugging Face's hub; the catalogue has some
 *   lora_r, lora_targets  adapters: their rank, and a list of projections ("q_proj"), or "all" for all of them
 *   lora_dropout
 *   quantization_bit      4 or 8: of the frozen model
 *   kind                  sft, dpo, pretrain; with dpo a batch counts pairs
 *   tensor_parallel_size, pipeline_parallel_size, context_parallel_size, expert_parallel_size
 *   sequence_parallel     of the tensor ranks
 *   layers_per_stage      of a virtual stage: with a pipeline, there are as many stages as hold the layers, in whole
 *                         rounds of the pipeline; round_stages "down" has one round fewer if they do not divide evenly
 *   train_batch_size      samples of a step on the whole cluster; else per_device_train_batch_size x
 *                         gradient_accumulation_steps x replicas
 *   run_batch_size        samples of one run of the pipeline's schedule on a replica
 *   nnodes, nproc_per_node, machine
 *   dp_replicate_size     replicas of what is sharded
 *   offload_optimizer     true: on the host
 *   attn_implementation   eager, flash_attention_2, sdpa */
#pragma once

#include "import/launches/recipe.h"

struct tsim_hf_trainer {
    const char *why; /* "the Trainer's default" */
    int64_t micro_batch, sequence_length, adapter_rank;
    const char *optimizer;
    const char *software; /* its profile; NULL: transformers, with DeepSpeed or without */
    bool has_adapter;     /* lora_r may be absent */
    bool needs_model;     /* a file that names none is wrong */
    bool is_assumed;      /* the file does not give the batch at all */
};

void tsim_hf_trainer_build(struct tsim_recipe *r, const struct tsim_hf_trainer *defaults);
