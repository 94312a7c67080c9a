/* Launch scripts of fine-tuning on Hugging Face's Trainer: torchrun, deepspeed, accelerate launch or python, a program,
 * and arguments of which those of TrainingArguments (transformers' training_args.py) and of peft and trl are read.
 * Every program has arguments of its own; those that tsim does not know are named in one warning. */
#include "import/launches/hf_script.h"

#include "base/among.h"
#include "base/file_bytes.h"
#include "config/text/document.h"
#include "import/launches/accelerate.h"
#include "import/launches/deepspeed.h"
#include "import/launches/hf_trainer.h"
#include "import/launches/launch_command.h"
#include "import/launches/recipe_short.h"
#include "import/launches/recipes.h"
#include "import/overrides.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define ADAPTER_HINT                                                                                                   \
    "give it with --set training.adapter='{kind: lora, rank: 16, targets: [query, value]}', "                          \
    "--set training.adapter=null that there is none"

static const char *const ARGUMENTS[] = {"per_device_train_batch_size",
                                        "gradient_accumulation_steps",
                                        "model_name_or_path",
                                        "num_train_epochs",
                                        "learning_rate",
                                        "per_gpu_train_batch_size",
                                        "micro_batch_size",
                                        "gradient_checkpointing",
                                        "lr_scheduler_type",
                                        "model_max_length",
                                        "finetuning_type",
                                        NULL};
static const char *const VARIABLES[][2] = {
    TSIM_VISIBLE_DEVICES, {"NPROC_PER_NODE", "launcher.nproc_per_node"}, {"NNODES", "launcher.nnodes"}, {NULL, NULL}};
static const struct tsim_command_kind COMMAND = {
    .telling = ARGUMENTS,
    .of = "Hugging Face's Trainer",
    .line = "torchrun ... train.py --model_name_or_path ID --per_device_train_batch_size 4 ...",
    .variables = VARIABLES};

/* Tells whether the last setting of one of the keys is there and switched on. */
static const struct tsim_setting *switched_on(struct tsim_recipe *r, const char *const *keys) {
    const struct tsim_setting *s = tsim_recipe_find_any(r, keys);
    return s && !tsim_value_is_off(s->value) && !tsim_setting_is(s, "False") ? s : NULL;
}

/* Adds settings under the Trainer's, peft's and trl's names that other programs call otherwise. If several names of a
 * key are given, the first counts. */
static void add_other_names(struct tsim_recipe *r) {
    static const char *const NAMES[][2] = {{"model_name", "model_name_or_path"},
                                           {"model_id_or_path", "model_name_or_path"},
                                           {"base_model", "model_name_or_path"},
                                           {"base_model_name_or_path", "model_name_or_path"},
                                           {"pretrained_model_name_or_path", "model_name_or_path"},
                                           {"model_id", "model_name_or_path"},
                                           {"model_path", "model_name_or_path"},
                                           {"model", "model_name_or_path"},
                                           {"per_gpu_train_batch_size", "per_device_train_batch_size"},
                                           {"micro_batch_size", "per_device_train_batch_size"},
                                           {"per_device_batch_size", "per_device_train_batch_size"},
                                           {"optimizer", "optim"},
                                           {"max_seq_len", "max_seq_length"},
                                           {"max_sequence_length", "max_seq_length"},
                                           {"seq_len", "max_seq_length"},
                                           {"seq_length", "max_seq_length"},
                                           {"block_size", "max_seq_length"},
                                           {"cutoff_len", "max_seq_length"},
                                           {"max_len", "max_seq_length"},
                                           {"context_length", "max_seq_length"},
                                           {"attn_impl", "attn_implementation"},
                                           {"gradient_checkpoint", "gradient_checkpointing"},
                                           {"use_gradient_checkpointing", "gradient_checkpointing"},
                                           {"lora_rank", "lora_r"},
                                           {"lora_dim", "lora_r"},
                                           {"lora_target_modules", "lora_targets"},
                                           {"lora_target", "lora_targets"},
                                           {"lora_trainable", "lora_targets"},
                                           {"target_modules", "lora_targets"},
                                           {"trainable", "lora_targets"},
                                           {"deepspeed_config", "deepspeed"},
                                           {"ds_config", "deepspeed"},
                                           {"ds_file", "deepspeed"},
                                           {"accumulation_steps", "gradient_accumulation_steps"},
                                           {"grad_accum_steps", "gradient_accumulation_steps"},
                                           {"grad_accum", "gradient_accumulation_steps"},
                                           {"accumulate_grad_batches", "gradient_accumulation_steps"},
                                           {"train_batch_size", "per_device_train_batch_size"},
                                           {"zero_stage", "deepspeed.zero_optimization.stage"},
                                           {"bf16_mixed_precision_training", "bf16"}};
    add_renamed(r, NAMES, sizeof NAMES / sizeof NAMES[0], true);
    const struct tsim_setting *source = find(r, "max_source_length"), *target = find(r, "max_target_length");
    source = source ? source : find(r, "source_max_len"); /* QLoRA's names of them */
    target = target ? target : find(r, "target_max_len");
    static const char *const LENGTHS[] = {"max_seq_length", "max_length", "model_max_length", NULL};
    if (source && target && !tsim_recipe_find_any(r, LENGTHS))
        add(r, source, "max_seq_length",
            tsim_arena_printf(
                r->arena, "%lld",
                (long long)(tsim_setting_int(r, source, 1, 100000000) + tsim_setting_int(r, target, 1, 100000000))));
}

/* Takes the settings of a key out of sight. They stay in their places, because others are pointed at. */
static void drop(struct tsim_recipe *r, const char *key) {
    for (size_t i = 0; i < r->n_settings && i < TSIM_RECIPE_MAX_SETTINGS; i++)
        if (strcmp(r->settings[i].key, key) == 0) {
            r->settings[i].key = "";
            r->settings[i].is_used = true;
        }
}

/* Adds the defaults of the program of the paper on QLoRA (artidoro/qlora, qlora.py), which is known by its name and its
 * names of lengths. */
static void add_of_qlora(struct tsim_recipe *r) {
    static const char *const LENGTHS[] = {"source_max_len", "target_max_len", NULL},
                             *const FULL[] = {"full_finetune", NULL},
                             *const DEFAULTS[][2] = {{"lora_r", "64"},
                                                     {"bits", "4"},
                                                     {"optim", "paged_adamw_32bit"},
                                                     {"gradient_checkpointing", "true"},
                                                     {"per_device_train_batch_size", "1"},
                                                     {"gradient_accumulation_steps", "16"}};
    const struct tsim_setting *program = find(r, "program");
    const char *text = program ? tsim_setting_text(program) : "", *slash = strrchr(text, '/');
    if (strcmp(slash ? slash + 1 : text, "qlora.py") != 0 || !tsim_recipe_find_any(r, LENGTHS))
        return;
    for (size_t i = switched_on(r, FULL) ? 2 : 0; i < sizeof DEFAULTS / sizeof DEFAULTS[0]; i++)
        if (!find(r, DEFAULTS[i][0]))
            add(r, program, DEFAULTS[i][0], DEFAULTS[i][1]);
}

static bool is_swift(struct tsim_recipe *r) {
    return has_text(find(r, "program"), "swift ") || (find(r, "program") && find(r, "sft_type"));
}

/* Names the model of swift's arguments, among which model_name is what the model is to call itself. */
static void name_model_of_swift(struct tsim_recipe *r) {
    static const char *const NAMES[][2] = {{"model", "model_name_or_path"}, {"model_id_or_path", "model_name_or_path"}};
    if (!is_swift(r))
        return;
    add_renamed(r, NAMES, sizeof NAMES / sizeof NAMES[0], true);
    if (find(r, "model_name_or_path"))
        drop(r, "model_name");
}

/* Adds what ModelScope's swift takes where its arguments do not say it (swift/llm/argument): an adapter on all products,
 * recomputation, one sample a pass and 16 a step, the model's own precision. */
static void add_of_swift(struct tsim_recipe *r) {
    static const char *const NAMES[][2] = {{"train_type", "finetuning_type"},
                                           {"sft_type", "finetuning_type"},
                                           {"tuner_type", "finetuning_type"},
                                           {"batch_size", "per_device_train_batch_size"},
                                           {"model_type", "model_name_or_path"}},
                             *const DEFAULTS[][2] = {{"finetuning_type", "lora"},
                                                     {"gradient_checkpointing", "true"},
                                                     {"per_device_train_batch_size", "1"}},
                             *const PRECISIONS[] = {"bf16", "fp16", "torch_dtype", "dtype", NULL};
    const struct tsim_setting *program = find(r, "program");
    if (!is_swift(r))
        return;
    add_renamed(r, NAMES, sizeof NAMES / sizeof NAMES[0], true);
    for (size_t i = 0; i < sizeof DEFAULTS / sizeof DEFAULTS[0]; i++)
        if (!find(r, DEFAULTS[i][0]))
            add(r, program, DEFAULTS[i][0], DEFAULTS[i][1]);
    if (!find(r, "gradient_accumulation_steps"))
        add(r, program, "train_batch_size", "16");
    if (!tsim_recipe_find_any(r, PRECISIONS))
        add(r, program, "bf16", "true");
}

static bool is_openrlhf(struct tsim_recipe *r) {
    return find(r, "pretrain") && find(r, "micro_train_batch_size");
}

/* Adds the arguments of OpenRLHF's train_sft and train_dpo, whose batch is that of a step on all accelerators. */
static void add_of_openrlhf(struct tsim_recipe *r) {
    static const char *const NAMES[][2] = {{"pretrain", "model_name_or_path"},
                                           {"micro_train_batch_size", "per_device_train_batch_size"},
                                           {"packing_samples", "packing"},
                                           {"ring_attn_size", "context_parallel_size"},
                                           {"ds_tensor_parallel_size", "tensor_parallel_size"},
                                           {"adam_offload", "offload_optimizer"},
                                           {"param_dtype", "dtype"}};
    if (!is_openrlhf(r))
        return;
    const struct tsim_setting *from = find(r, "pretrain"), *backend = find(r, "backend");
    add_renamed(r, NAMES, sizeof NAMES / sizeof NAMES[0], true);
    if (!find(r, "train_batch_size"))
        add(r, from, "train_batch_size", "128");
    if (has_text(backend, "fsdp"))
        add(r, backend, "fsdp", "full_shard");
    else if (!find(r, "zero_stage"))
        add(r, from, "zero_stage", "2");
    if (find(r, "lora_rank") && !find(r, "target_modules"))
        add(r, from, "lora_targets", "all");
    if (is_on(r, "pretrain_mode"))
        add(r, find(r, "pretrain_mode"), "kind", "pretrain");
}

/* Returns whether the arguments are those of alpaca-lora (tloen/alpaca-lora, finetune.py) and of what is made from
 * it. */
static bool is_alpaca(struct tsim_recipe *r) {
    return find(r, "base_model") && find(r, "data_path") && find(r, "micro_batch_size");
}

/* If no argument gives a precision, adds that of alpaca-lora's code: fp16, a frozen model of 8 bits, and
 * recomputation, which peft's prepare_model_for_int8_training switches on. */
static void add_of_alpaca(struct tsim_recipe *r) {
    static const char *const PRECISIONS[] = {"bf16",         "fp16",      "torch_dtype",
                                             "dtype",        "precision", "load_in_4bit",
                                             "load_in_8bit", "use_4bit",  "use_8bit",
                                             "bits",         NULL},
                             *const ADDED[] = {"fp16", "load_in_8bit", "gradient_checkpointing"};
    const struct tsim_setting *program = find(r, "program");
    if (!program || !is_alpaca(r) || tsim_recipe_find_any(r, PRECISIONS))
        return;
    for (size_t i = 0; i < sizeof ADDED / sizeof ADDED[0]; i++)
        add(r, program, ADDED[i], "true");
    tsim_recipe_note(r, program->name, program->value,
                     "fp16, a frozen model of 8 bits and recomputation, as in alpaca-lora's code; "
                     "--set training.precision=bf16 and other keys say what differs");
}

/* Returns the argument that names an adapter as a method ("--CL_method lora"). */
static const struct tsim_setting *named_method(struct tsim_recipe *r) {
    for (size_t i = 0; i < r->n_settings; i++)
        if (r->settings[i].value->kind == TSIM_VALUE_SCALAR &&
            TSIM_IS_ONE_OF(r->settings[i].value->text, "lora", "qlora", "LoRA", "QLoRA"))
            return &r->settings[i];
    return NULL;
}

/* A program trains an adapter if its name contains "lora", if it has alpaca-lora's arguments, or if an argument says
 * so. If only its own code describes the adapter, an error asks for it. */
static void ask_for_adapter(struct tsim_recipe *r) {
    const struct tsim_setting *program = find(r, "program"), *method = named_method(r);
    const bool is_named = program && strstr(tsim_setting_text(program), "lora");
    if (program && (is_named || method || is_alpaca(r)) && !tsim_import_override(&r->input, "training.adapter") &&
        !tsim_import_override(&r->input, "training.adapter.rank"))
        tsim_diag_hint(tsim_recipe_error(r, method ? method : program,
                                         "'%.80s' trains an adapter by its %s, and no argument says its rank",
                                         tsim_setting_text(program), is_named ? "name" : "arguments"),
                       ADAPTER_HINT);
}

/* Returns the products that have adapters unless the program says others: query and value, which are one product with
 * the key in some models (TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING of peft's utils/constants.py). */
static const char *usual_targets(const struct tsim_setting *model) {
    static const char *const FUSED[] = {"chatglm", "bloom", "falcon-7b", "falcon-40b", "pythia", "neox", "gpt2", "mpt"};
    for (size_t i = 0; i < sizeof FUSED / sizeof FUSED[0]; i++)
        if (has_text(model, FUSED[i]))
            return "query_key_value";
    return "q_proj,v_proj";
}

/* Adds the rank of an adapter that no argument gives, which is the program's own default: swift's, trl's (ModelConfig)
 * and FastChat's are known. An error asks for any other. */
static void add_usual_rank(struct tsim_recipe *r, const struct tsim_setting *from) {
    const struct tsim_setting *program = find(r, "program");
    const char *rank = is_swift(r) || has_text(program, "fastchat") ? "8" : find(r, "use_peft") ? "16" : NULL;
    if (rank)
        add(r, from, "lora_r", rank);
    else if (!tsim_import_override(&r->input, "training.adapter") &&
             !tsim_import_override(&r->input, "training.adapter.rank"))
        tsim_diag_hint(tsim_recipe_error(r, from, "an adapter whose rank is in the program's code"), ADAPTER_HINT);
}

/* Returns whether there is an adapter: a switch says so, or its rank or targets are given and no switch says no. --rank
 * counts as an adapter's rank unless it is as small as the number of a process. */
static void add_adapter(struct tsim_recipe *r) {
    const struct tsim_setting *short_name = find(r, "rank");
    if (short_name && !find(r, "lora_r") && tsim_setting_int(r, short_name, 0, 100000) >= 4)
        add_as(r, short_name, "lora_r");
    static const char *const SWITCHES[] = {"use_lora", "lora_enable", "lora", "use_peft", "peft", "enable_lora", NULL},
                             *const OF_4[] = {"q_lora", "use_qlora", "load_in_4bit", "use_4bit", "qlora", NULL},
                             *const OF_8[] = {"load_in_8bit", "use_8bit", "use_int8_training", NULL},
                             *const FILES[] = {
                                 "lora_config",      "peft_config",    "lora_config_path",    "peft_config_path",
                                 "lora_config_file", "adapter_config", "adapter_config_path", NULL};
    const struct tsim_setting *decides = tsim_recipe_find_any(r, SWITCHES), *is_on = switched_on(r, SWITCHES),
                              *four = switched_on(r, OF_4), *eight = switched_on(r, OF_8), *rank = find(r, "lora_r"),
                              *targets = find(r, "lora_targets"), *type = find(r, "finetuning_type"),
                              *bits = find(r, "bits");
    const bool is_full = tsim_setting_is(type, "full") || (rank && tsim_setting_int(r, rank, 0, 100000) == 0);
    if (is_full || (decides && !is_on && !four)) {
        drop(r, "lora_r");
        drop(r, "lora_targets");
        return;
    }
    const struct tsim_setting *from = rank                            ? rank
                                      : is_on                         ? is_on
                                      : four                          ? four
                                      : tsim_setting_is(type, "lora") ? type
                                                                      : targets;
    if (!from) {
        ask_for_adapter(r);
        return;
    }
    const struct tsim_setting *file = tsim_recipe_find_any(r, FILES);
    if (!rank && file && file->value->kind == TSIM_VALUE_SCALAR && strchr(tsim_setting_text(file), '.') &&
        !tsim_import_override(&r->input, "training.adapter") &&
        !tsim_import_override(&r->input, "training.adapter.rank"))
        tsim_diag_hint(tsim_recipe_error(r, file, "the adapter's rank is in this file, which tsim does not read"),
                       ADAPTER_HINT);
    if (!rank && !file)
        add_usual_rank(r, from);
    if (!targets)
        add(r, from, "lora_targets",
            tsim_setting_is(type, "lora") || find(r, "bits") ? "all" : usual_targets(find(r, "model_name_or_path")));
    if (bits && !tsim_setting_is(bits, "16"))
        add_as(r, bits, "quantization_bit");
    else if ((four || eight) && !find(r, "quantization_bit"))
        add(r, four ? four : eight, "quantization_bit", four ? "4" : "8");
}

static void add_precision(struct tsim_recipe *r) {
    static const char *const KEYS[] = {
        "mixed_precision", "launcher.mixed_precision", "torch_dtype", "dtype", "precision", NULL};
    const struct tsim_setting *s = tsim_recipe_find_any(r, KEYS);
    const struct tsim_setting *stage = find(r, "zero_stage");
    if (find(r, "bf16") || find(r, "fp16") || !(s || stage))
        return;
    if (!s) /* the default of DeepSpeed-Chat's --dtype */
        add(r, stage, "fp16", "true");
    if (tsim_setting_is(s, "bf16") || tsim_setting_is(s, "bfloat16"))
        add(r, s, "bf16", "true");
    else if (tsim_setting_is(s, "fp16") || tsim_setting_is(s, "float16"))
        add(r, s, "fp16", "true");
}

/* Returns the devices that a list like "0,1,2,3" or "localhost:0,1" has. */
static int64_t devices_of(const char *text) {
    const char *colon = strchr(text, ':');
    const char *list = colon ? colon + 1 : text;
    int64_t n = 1;
    if (!isdigit((unsigned char)*list))
        return 0;
    for (; *list && *list != ' '; list++) {
        if (!strchr("0123456789,", *list))
            return 0;
        n += *list == ',' && isdigit((unsigned char)list[1]);
    }
    return n;
}

/* Returns whether the script, or a program that it names, starts a process for each accelerator. */
static bool starts_several(struct tsim_recipe *r) {
    static const char *const LAUNCHERS[] = {"torchrun", "torch.distributed", "deepspeed", "accelerate", "srun",
                                            "mpirun",   "llamafactory",      "nproc",     "launch"};
    for (size_t i = 0; i < sizeof LAUNCHERS / sizeof LAUNCHERS[0]; i++)
        if (tsim_bytes_have(r->document->text, r->document->size, LAUNCHERS[i]))
            return true;
    return has_text(find(r, "program"), "trl ");
}

/* Adds what deepspeed --include, accelerate launch --num_processes or CUDA_VISIBLE_DEVICES say of the machine. */
void tsim_hf_script_world(struct tsim_recipe *r) {
    static const char *const INCLUDES[] = {"launcher.include", "launcher.i", NULL};
    const struct tsim_setting *include = tsim_recipe_find_any(r, INCLUDES), *each = find(r, "nproc_per_node"),
                              *visible = find(r, "visible_devices");
    int64_t n = include ? devices_of(tsim_setting_text(include)) : 0;
    if (each && !isdigit((unsigned char)tsim_setting_text(each)[0])) /* gpu, auto */
        drop(r, "nproc_per_node"), each = NULL;
    if (!each && n == 0 && visible && !find(r, "num_processes"))
        n = devices_of(tsim_setting_text(visible));
    drop(r, "visible_devices");
    const bool is_one = !each && !include && n > 1 && find(r, "program") && !starts_several(r);
    if (is_one && is_alpaca(r)) { /* its layers are dealt out over the devices, of which one works at a time */
        tsim_recipe_note(r, "CUDA_VISIBLE_DEVICES", find(r, "program")->value,
                         "one process, whose devices work one after another: one accelerator here");
        n = 1;
    } else if (is_one)
        add(r, find(r, "program"), "one_process", "true");
    if (!each && n > 0)
        tsim_recipe_add(r, include ? include->name : "CUDA_VISIBLE_DEVICES", "nproc_per_node",
                        tsim_value_new_scalar(r->arena, include ? include->value : &r->at_top,
                                              tsim_arena_printf(r->arena, "%lld", (long long)n)));
    const struct tsim_setting *program = find(r, "program");
    if (!each && n == 0 && program && !find(r, "num_processes") && !find(r, "nnodes") && !find(r, "num_machines") &&
        !starts_several(r)) {
        tsim_recipe_add(r, "one process", "nproc_per_node", tsim_value_new_scalar(r->arena, program->value, "1"));
        n = 1;
    }
    if ((each || n > 0) && !find(r, "nnodes") && !find(r, "num_machines"))
        tsim_recipe_add(r, each ? each->name : "one node", "nnodes",
                        tsim_value_new_scalar(r->arena, each ? each->value : &r->at_top, "1"));
}

/* Puts the arguments of `accelerate launch` under the keys of its file. If the file is there, it counts for whatever
 * the arguments do not say. */
static void add_accelerate(struct tsim_recipe *r) {
    static const char *const NAMES[][2] = {
        {"launcher.num_processes", "num_processes"},
        {"launcher.num_machines", "num_machines"},
        {"launcher.mixed_precision", "mixed_precision"},
        {"launcher.zero_stage", "deepspeed_config.zero_stage"},
        {"launcher.deepspeed_config_file", "deepspeed_config.deepspeed_config_file"},
        {"launcher.offload_optimizer_device", "deepspeed_config.offload_optimizer_device"},
        {"launcher.fsdp_sharding_strategy", "fsdp_config.fsdp_sharding_strategy"},
        {"launcher.gradient_accumulation_steps", "gradient_accumulation_steps"}};
    static const char *const STAGES[][2] = {{"zero0", "0"},  {"zero1", "1"},  {"zero2", "2"},  {"zero3", "3"},
                                            {"zero_1", "1"}, {"zero_2", "2"}, {"zero_3", "3"}, {"stage1", "1"},
                                            {"stage2", "2"}, {"stage3", "3"}, {"_z2", "2"},    {"_z3", "3"}};
    const struct tsim_setting *file = find(r, "launcher.config_file"), *deepspeed = find(r, "launcher.use_deepspeed"),
                              *fsdp = find(r, "launcher.use_fsdp");
    const struct tsim_value *root = NULL;
    size_t size = 0;
    const char *path = file ? tsim_setting_text(file) : NULL;
    const char *text = path ? tsim_recipe_read_beside(r, path, &size) : NULL;
    if (text && tsim_document_parse_wide(r->arena, path, text, size, &root, r->diags) == TSIM_OK && root &&
        root->kind == TSIM_VALUE_MAPPING)
        tsim_recipe_each(r, root, tsim_recipe_add_leaf, r);
    add_renamed(r, NAMES, sizeof NAMES / sizeof NAMES[0], false);
    if (deepspeed || find(r, "deepspeed_config.zero_stage") || find(r, "deepspeed_config.deepspeed_config_file")) {
        if (!root)
            add(r, deepspeed ? deepspeed : file ? file : find(r, "program"), "distributed_type", "DEEPSPEED");
    } else if (fsdp || find(r, "launcher.fsdp_sharding_strategy")) {
        add(r, fsdp ? fsdp : find(r, "launcher.fsdp_sharding_strategy"), "distributed_type", "FSDP");
    } else if (path && !root) {
        const char *stage = NULL;
        for (size_t i = 0; i < sizeof STAGES / sizeof STAGES[0] && !stage; i++)
            stage = strstr(path, STAGES[i][0]) ? STAGES[i][1] : NULL;
        if (stage) {
            add(r, file, "deepspeed.zero_optimization.stage", stage);
            tsim_recipe_note(r, file->name, file->value, "not there: the stage is taken from its name");
        } else if (strstr(path, "fsdp")) {
            add(r, file, "fsdp", "full_shard");
            tsim_recipe_note(r, file->name, file->value, "not there: full sharding is taken from its name");
        } else if (!tsim_import_override(&r->input, "parallelism.zero")) {
            tsim_diag_hint(
                tsim_recipe_error(r, file, "'%.100s' is not there: it says how the model is divided", path),
                "put it beside this file, or say it: --set parallelism.zero=0 (replicas) to 3 (full sharding)");
        }
        if (!find(r, "bf16") && !find(r, "fp16") && !find(r, "mixed_precision") &&
            !tsim_import_override(&r->input, "training.precision"))
            tsim_diag_hint(tsim_recipe_error(r, file, "'%.100s' is not there: it says the precision", path),
                           "put it beside this file, or say it: --set training.precision=bf16");
    }
}

/* alpaca-lora's finetune.py and what is made from it: a batch of all accelerators beside that of a pass. */
static void add_batch(struct tsim_recipe *r) {
    const struct tsim_setting *all = find(r, "batch_size"), *micro = find(r, "micro_batch_size");
    if (!is_openrlhf(r))
        drop(r, "train_batch_size"); /* that of an accelerator, whose name it has by now */
    if (all && micro && find(r, "base_model") && !find(r, "gradient_accumulation_steps"))
        add_as(r, all, "train_batch_size");
}

/* Reads the YAML file that --config of trl's programs names, if it is there; arguments override it. */
static void add_config(struct tsim_recipe *r) {
    const struct tsim_setting *s = find(r, "config");
    const struct tsim_value *root = NULL;
    size_t size = 0;
    const char *path = s ? tsim_setting_text(s) : NULL;
    const char *text = path ? tsim_recipe_read_beside(r, path, &size) : NULL;
    if (!text || tsim_document_parse_wide(r->arena, path, text, size, &root, r->diags) != TSIM_OK ||
        root->kind != TSIM_VALUE_MAPPING)
        return;
    for (size_t i = 0; i < root->n_items; i++)
        if (!find(r, root->pairs[i].key))
            tsim_recipe_add(r, root->pairs[i].key, root->pairs[i].key, root->pairs[i].value);
}

/* The program of trl says how pairs are compared; packing is a switch of it. */
static void add_kind(struct tsim_recipe *r) {
    const struct tsim_setting *program = find(r, "program"), *stage = find(r, "stage"), *s = stage ? stage : program;
    const char *text = s ? tsim_setting_text(s) : "", *slash = strrchr(text, '/');
    static const char *const PACKS[] = {"packing", "pack", "packed", "group_texts", NULL};
    if (find(r, "kind"))
        return;
    if (slash && (strstr(slash, "sft") || strstr(slash, "pretrain") || strstr(slash, "run_clm")))
        text = slash + 1; /* dpo/sft.py is no program of DPO */
    const bool is_dpo = strstr(text, "dpo") != NULL,
               is_alone = strstr(text, "orpo") || strstr(text, "simpo") || strstr(text, "cpo");
    if (!s && find(r, "beta")) /* of trl's DPOConfig */
        add(r, find(r, "beta"), "kind", "dpo");
    if (!s || !*text)
        return;
    add(r, s, "kind",
        is_dpo                                                                           ? "dpo"
        : is_alone                                                                       ? "pairs"
        : strstr(text, "pretrain") || strstr(text, "run_clm") || strcmp(text, "pt") == 0 ? "pretrain"
                                                                                         : "sft");
    if (!is_dpo && !is_alone && !strstr(text, "pretrain") && !strstr(text, "run_clm") && !switched_on(r, PACKS))
        add(r, s, "unpacked", "true");
}

static void normalize(struct tsim_recipe *r) {
    static const char *const FLASH[] = {"use_flash_attn", "flash_attn", NULL};
    if (tsim_recipe_is(r, "deepspeed", "true") && find(r, "zero_stage")) /* DeepSpeed-Chat's switch */
        drop(r, "deepspeed");
    add_of_qlora(r);
    add_of_alpaca(r);
    add_of_openrlhf(r);
    name_model_of_swift(r);
    add_other_names(r);
    add_batch(r);
    add_of_swift(r);
    add_adapter(r);
    add_precision(r);
    add_kind(r);
    const struct tsim_setting *flash = tsim_recipe_find_any(r, FLASH);
    if (flash && !find(r, "attn_implementation"))
        add(r, flash, "attn_implementation",
            tsim_value_is_off(flash->value) || tsim_setting_is(flash, "False") || tsim_setting_is(flash, "disabled")
                ? "eager"
                : "flash");
}

static enum tsim_status read_script(struct tsim_recipe *r) {
    r->has_others = true;
    static const char *const OF_SWIFT[][2] = {{"launcher.nproc_per_node", "nproc_per_node"},
                                              {"launcher.nnodes", "nnodes"}};
    TSIM_TRY(tsim_command_read(r, &COMMAND));
    if (is_swift(r)) /* its launcher reads the environment */
        add_renamed(r, OF_SWIFT, sizeof OF_SWIFT / sizeof OF_SWIFT[0], true);
    add_config(r);
    tsim_hf_script_world(r);
    add_accelerate(r);
    tsim_accelerate_add(r);
    normalize(r);
    return TSIM_OK;
}

/* Returns the Trainer's or peft's name of what a section has, as training_args.optim, lora.r or model.name; NULL: it is
 * none of them. */
static const char *name_in_section(struct tsim_recipe *r, const char *path, const char *last,
                                   const struct tsim_value *value) {
    static const char *const OF_OTHERS[] = {"deepspeed",          "fsdp",        "launcher",
                                            "parallelism_config", "megatron_lm", "accelerator"},
                             *const READ[] = {"per_device_train_batch_size",
                                              "gradient_accumulation_steps",
                                              "gradient_checkpointing",
                                              "model_name_or_path",
                                              "max_seq_length",
                                              "max_length",
                                              "model_max_length",
                                              "cutoff_len",
                                              "bf16",
                                              "fp16",
                                              "optim",
                                              "deepspeed",
                                              "fsdp",
                                              "use_lora",
                                              "lora_r",
                                              "lora_rank",
                                              "target_modules",
                                              "torch_compile"};
    static const char *const SHORT[][3] = {{"lora", "r", "lora_r"},
                                           {"peft", "r", "lora_r"},
                                           {"lora", "rank", "lora_r"},
                                           {"lora", "alpha", "lora_alpha"},
                                           {"lora", "dropout", "lora_dropout"},
                                           {"model", "name", "model_name_or_path"},
                                           {"model", "path", "model_name_or_path"}};
    for (size_t i = 0; i < sizeof OF_OTHERS / sizeof OF_OTHERS[0]; i++)
        if (strncmp(path, OF_OTHERS[i], strlen(OF_OTHERS[i])) == 0)
            return NULL;
    for (size_t i = 0; i < sizeof READ / sizeof READ[0]; i++)
        if (strcmp(last, READ[i]) == 0)
            return READ[i];
    for (size_t i = 0; i < sizeof SHORT / sizeof SHORT[0]; i++)
        if (strncmp(path, SHORT[i][0], strlen(SHORT[i][0])) == 0 && strcmp(last, SHORT[i][1]) == 0)
            return SHORT[i][2];
    return tsim_setting_class_of(last, value, &r->classes) ? tsim_arena_strdup(r->arena, last) : NULL;
}

/* Many programs keep the Trainer's arguments in sections of their own. */
static void add_leaf(void *context, const char *path, const struct tsim_value *value) {
    struct tsim_recipe *r = context;
    const char *dot = strrchr(path, '.'), *key = dot ? name_in_section(r, path, dot + 1, value) : NULL;
    const struct tsim_setting *other = key ? find(r, key) : NULL, s = {path, path, value, true, NULL};
    if (other && value->kind == TSIM_VALUE_SCALAR && !tsim_value_is_text(other->value, value->text))
        tsim_recipe_refuse(r, &s, "'%.60s' has another value, and one run has one", other->name);
    tsim_recipe_add(r, path, key ? key : path, value);
}

static enum tsim_status read_recipe(struct tsim_recipe *r, const struct tsim_value *root) {
    r->has_others = true;
    tsim_recipe_each(r, root, add_leaf, r);
    normalize(r);
    return TSIM_OK;
}

/* Tells JSON and YAML from a script. */
static bool is_script(const struct tsim_import_input *input) {
    size_t i = 0;
    while (i < input->size && isspace((unsigned char)input->text[i]))
        i++;
    return i < input->size && input->text[i] != '{' && !tsim_looks_like_yaml(input->text, input->size);
}

/* Imports a script, or (if its root is given) a YAML file with the same names, such as alignment-handbook's and trl's
 * recipes. */
static enum tsim_status import_script(struct tsim_arena *arena, const struct tsim_import_input *input,
                                      const struct tsim_value *root, struct tsim_import_result *result,
                                      struct tsim_diags *diags) {
    struct tsim_hf_trainer defaults = {.why = "the Trainer's default",
                                       .micro_batch = 8,
                                       .optimizer = "adamw_torch",
                                       .adapter_rank = 8, /* peft's */
                                       .needs_model = true};
    struct tsim_recipe r;
    tsim_recipe_init(&r, arena, input, "Hugging Face's Trainer", "hf-script", diags);
    enum tsim_status status = tsim_recipe_check_size(&r);
    if (status == TSIM_OK)
        status = root ? read_recipe(&r, root) : read_script(&r);
    if (status == TSIM_OK) {
        defaults.has_adapter = find(&r, "lora_targets") != NULL;
        if (tsim_recipe_accepts(&r))
            tsim_hf_trainer_build(&r, &defaults);
        status = tsim_recipe_finish(&r, result);
    }
    tsim_recipe_release(&r);
    return status;
}

enum tsim_status tsim_import_hf_trainer(struct tsim_arena *arena, const struct tsim_import_input *input,
                                        struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    const struct tsim_value *root;
    static const struct tsim_hf_trainer DEFAULTS = {
        .why = "the Trainer's default", .micro_batch = 8, .optimizer = "adamw_torch"};
    if (is_script(input))
        return import_script(arena, input, NULL, result, diags);
    TSIM_TRY(tsim_document_parse_wide(arena, input->file, input->text, input->size, &root, diags));
    if (tsim_looks_like_yaml(input->text, input->size))
        return import_script(arena, input, root, result, diags);
    tsim_recipe_init(&r, arena, input, "Hugging Face's Trainer", "hf-trainer", diags);
    r.lists_all = true;
    tsim_recipe_each(&r, root, tsim_recipe_add_leaf, &r);
    if (!tsim_value_find(root, "per_device_train_batch_size"))
        tsim_diag_hint(tsim_recipe_error(&r, NULL, "per_device_train_batch_size is missing"),
                       "what TrainingArguments.to_json_string() gives");
    else if (tsim_recipe_accepts(&r))
        tsim_hf_trainer_build(&r, &DEFAULTS);
    enum tsim_status status = tsim_recipe_finish(&r, result);
    tsim_recipe_release(&r);
    return status;
}
