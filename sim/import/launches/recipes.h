/* recipes.h - training recipes of other programs as scenarios. Behind each key of the scenario stands the setting from
 * which it comes. Values that a recipe does not give are assumed and marked so. Settings that have no effect on
 * performance, or that are not modelled, stand in comments at its end. Settings that contradict each other are mistakes
 * of the recipe. */
#pragma once

#include "import/formats.h"

/* Reads arguments of NVIDIA/Megatron-LM (megatron/training/arguments.py) and of the launchers torchrun, deepspeed and
 * srun: from a command line, a shell script (shell.h), or YAML with the arguments' names with dashes or underscores. */
enum tsim_status tsim_import_megatron(struct tsim_arena *arena, const struct tsim_import_input *input,
                                      struct tsim_import_result *result, struct tsim_diags *diags);

/* Reads YAML of NVIDIA/NeMo: that of NeMo 1 (the launcher's trainer, model, exp_manager), or what NeMo-Run writes of
 * a NeMo 2 recipe (trainer.strategy, model.config, data, optim). */
enum tsim_status tsim_import_nemo(struct tsim_arena *arena, const struct tsim_import_input *input,
                                  struct tsim_import_result *result, struct tsim_diags *diags);

/* Reads YAML of EleutherAI/gpt-neox (configs/neox_arguments.md), whose names have dashes or underscores. */
enum tsim_status tsim_import_neox(struct tsim_arena *arena, const struct tsim_import_input *input,
                                  struct tsim_import_result *result, struct tsim_diags *diags);

/* Reads DeepSpeed's configuration (JSON; docs/_pages/config-json.md of deepspeedai/DeepSpeed). It says nothing of the
 * model, which is assumed. "auto" stands for what Hugging Face's Trainer fills in (transformers'
 * integrations/deepspeed.py); each is explained. */
enum tsim_status tsim_import_deepspeed(struct tsim_arena *arena, const struct tsim_import_input *input,
                                       struct tsim_import_result *result, struct tsim_diags *diags);

/* Reads the arguments of Hugging Face's Trainer (JSON; TrainingArguments.to_json_string), with DeepSpeed's beneath
 * "deepspeed" or without. */
enum tsim_status tsim_import_hf_trainer(struct tsim_arena *arena, const struct tsim_import_input *input,
                                        struct tsim_import_result *result, struct tsim_diags *diags);

/* Reads YAML of huggingface/nanotron (src/nanotron/config). */
enum tsim_status tsim_import_nanotron(struct tsim_arena *arena, const struct tsim_import_input *input,
                                      struct tsim_import_result *result, struct tsim_diags *diags);

/* These read YAML of axolotl-ai-cloud/axolotl, and of hiyouga/LLaMA-Factory: fine-tuning on Hugging Face's Trainer. The
 * model is named by its id on Hugging Face's hub. */
enum tsim_status tsim_import_axolotl(struct tsim_arena *arena, const struct tsim_import_input *input,
                                     struct tsim_import_result *result, struct tsim_diags *diags);
enum tsim_status tsim_import_llama_factory(struct tsim_arena *arena, const struct tsim_import_input *input,
                                           struct tsim_import_result *result, struct tsim_diags *diags);

/* Reads YAML that `accelerate config` of huggingface/accelerate writes: it says how the program's own model is run. */
enum tsim_status tsim_import_accelerate(struct tsim_arena *arena, const struct tsim_import_input *input,
                                        struct tsim_import_result *result, struct tsim_diags *diags);

/* Reads YAML of mosaicml/llm-foundry (scripts/train/yamls), also below `parameters` of a job of Mosaic's platform. */
enum tsim_status tsim_import_llm_foundry(struct tsim_arena *arena, const struct tsim_import_input *input,
                                         struct tsim_import_result *result, struct tsim_diags *diags);

/* Reads a script that starts verl (volcengine/verl): reinforcement, which generates and trains in turn. */
enum tsim_status tsim_import_verl(struct tsim_arena *arena, const struct tsim_import_input *input,
                                  struct tsim_import_result *result, struct tsim_diags *diags);

/* Reads YAML of NVIDIA-NeMo/Automodel (examples). */
enum tsim_status tsim_import_automodel(struct tsim_arena *arena, const struct tsim_import_input *input,
                                       struct tsim_import_result *result, struct tsim_diags *diags);

/* Reads a configuration of InternLM/InternEvo, which is Python. */
enum tsim_status tsim_import_internevo(struct tsim_arena *arena, const struct tsim_import_input *input,
                                       struct tsim_import_result *result, struct tsim_diags *diags);

/* Reads a TOML configuration of pytorch/torchtitan (torchtitan/config/job_config.py, and older places of its
 * settings). Its usual comment "preset for N X GPUs" says the machine. */
enum tsim_status tsim_import_torchtitan(struct tsim_arena *arena, const struct tsim_import_input *input,
                                        struct tsim_import_result *result, struct tsim_diags *diags);

/* Reads YAML of AI-Hypercomputer/maxtext (MaxText/configs), or a log with its "Config param" lines. */
enum tsim_status tsim_import_maxtext(struct tsim_arena *arena, const struct tsim_import_input *input,
                                     struct tsim_import_result *result, struct tsim_diags *diags);

/* Reads YAML of AMD-AGI/Primus (examples): each framework's part is read as that framework's own. */
enum tsim_status tsim_import_primus(struct tsim_arena *arena, const struct tsim_import_input *input,
                                    struct tsim_import_result *result, struct tsim_diags *diags);
