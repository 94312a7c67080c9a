/* hf_trainer.h - private to import: a run of Hugging Face's Trainer out of the settings that it and the fine-tuners built on it
 * share. Keys are those of TrainingArguments (transformers' training_args.py), and these:
 *   model_name_or_path    an id of Hugging Face's hub; the catalogue has some
 *   lora_r, lora_targets  adapters: their rank, and a list of projections ("q_proj"), or "all" for all of them
 *   lora_dropout
 *   quantization_bit      4 or 8: of the frozen model
 *   kind                  sft, dpo, pretrain; of dpo a batch counts pairs
 *   context_parallel_size
 *   attn_implementation   eager, flash_attention_2, sdpa */
#ifndef TSIM_IMPORT_HF_TRAINER_H
#define TSIM_IMPORT_HF_TRAINER_H

#include "import/launches/recipe.h"

struct tsim_hf_trainer {
    const char *why; /* "the Trainer's default" */
    int64_t micro_batch, sequence_length, adapter_rank;
    const char *optimizer;
    bool has_adapter; /* lora_r may be absent */
};

void tsim_hf_trainer_build(struct tsim_recipe *r, const struct tsim_hf_trainer *defaults);

#endif
