/* The file that `accelerate config` writes (huggingface/accelerate, src/accelerate/commands/config/config_args.py and
 * utils/dataclasses.py): machines, precision, and how DeepSpeed, FSDP or Megatron-LM divide a model that the program's code has. */
#include "import/launches/accelerate.h"
#include "config/text/document.h"
#include "import/launches/deepspeed.h"
#include "import/launches/hf_trainer.h"
#include "import/launches/recipe_short.h"
#include "import/launches/recipes.h"

#include <string.h>

/* Writes the machine: each process is one accelerator. */
static void add_world(struct tsim_recipe *r) {
    const struct tsim_setting *all = find(r, "num_processes"), *machines = find(r, "num_machines");
    const int64_t nodes = machines ? tsim_setting_int(r, machines, 1, 1000000) : 1,
                  n = all ? tsim_setting_int(r, all, 1, 100000000) : 0;
    if (n == 0)
        return;
    if (n % nodes != 0) {
        tsim_recipe_error(r, all, "%lld processes are no whole number on each of %lld machines", (long long)n,
                          (long long)nodes);
        return;
    }
    add(r, machines ? machines : all, "nnodes", tsim_arena_printf(r->arena, "%lld", (long long)nodes));
    add(r, all, "nproc_per_node", tsim_arena_printf(r->arena, "%lld", (long long)(n / nodes)));
}

static void add_precision(struct tsim_recipe *r) {
    static const char *const KINDS[] = {"bf16", "fp16", "fp8"};
    const struct tsim_setting *s = find(r, "mixed_precision");
    for (size_t i = 0; s && i < sizeof KINDS / sizeof KINDS[0]; i++)
        if (tsim_setting_is(s, KINDS[i]))
            add(r, s, KINDS[i], "true");
}

static void add_deepspeed(struct tsim_recipe *r) {
    const struct tsim_setting *stage = find(r, "deepspeed_config.zero_stage"),
                              *file = find(r, "deepspeed_config.deepspeed_config_file"),
                              *steps = find(r, "deepspeed_config.gradient_accumulation_steps"),
                              *optimizer = find(r, "deepspeed_config.offload_optimizer_device"),
                              *micro = find(r, "deepspeed_config.train_micro_batch_size_per_gpu");
    if (!tsim_setting_is(find(r, "distributed_type"), "DEEPSPEED"))
        return;
    if (stage)
        add_as(r, stage, "deepspeed.zero_optimization.stage");
    else if (file)
        add_as(r, file, "deepspeed");
    else
        add(r, find(r, "distributed_type"), "deepspeed.zero_optimization.stage", "2"); /* the plugin's default */
    if (steps && !tsim_setting_is(steps, "auto"))
        add_as(r, steps, "gradient_accumulation_steps");
    if (micro && !tsim_setting_is(micro, "auto"))
        add_as(r, micro, "per_device_train_batch_size");
    if (tsim_setting_is(optimizer, "cpu") || tsim_setting_is(optimizer, "nvme"))
        add(r, optimizer, "offload_optimizer", "true");
}

/* Words, or their numbers in the order of PyTorch's ShardingStrategy; of version 2 whether parameters are released. */
static void add_fsdp(struct tsim_recipe *r) {
    static const char *const WORDS[][2] = {{"FULL_SHARD", "full_shard"},
                                           {"SHARD_GRAD_OP", "shard_grad_op"},
                                           {"NO_SHARD", "no_shard"},
                                           {"HYBRID_SHARD", "hybrid_shard"},
                                           {"HYBRID_SHARD_ZERO2", "hybrid_shard_zero2"}};
    static const char *const STRATEGIES[] = {"fsdp_config.fsdp_sharding_strategy", "fsdp_config.sharding_strategy",
                                             NULL};
    const struct tsim_setting *type = find(r, "distributed_type"), *strategy = tsim_recipe_find_any(r, STRATEGIES),
                              *releases = find(r, "fsdp_config.fsdp_reshard_after_forward"),
                              *all = find(r, "fsdp_config.fsdp_activation_checkpointing"),
                              *s = strategy ? strategy : releases;
    const char *text = s ? tsim_setting_text(s) : "FULL_SHARD", *word = NULL;
    if (!tsim_setting_is(type, "FSDP"))
        return;
    if (strcmp(text, "true") == 0 || strcmp(text, "True") == 0)
        text = "FULL_SHARD";
    else if (strcmp(text, "false") == 0 || strcmp(text, "False") == 0)
        text = "SHARD_GRAD_OP";
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
        const char number[] = {(char)('1' + i), '\0'};
        if (strcmp(text, WORDS[i][0]) == 0 || strcmp(text, number) == 0)
            word = WORDS[i][1];
    }
    if (!word)
        tsim_recipe_error(r, s, "'%.40s' is no strategy: FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD", text);
    else
        add(r, s ? s : type, "fsdp", word);
    if (all && tsim_setting_flag(r, all))
        add(r, all, "gradient_checkpointing", "true");
}

static void add_parallelism(struct tsim_recipe *r) {
    static const char *const NAMES[][2] = {
        {"parallelism_config.parallelism_config_tp_size", "tensor_parallel_size"},
        {"parallelism_config.parallelism_config_cp_size", "context_parallel_size"},
        {"parallelism_config.parallelism_config_dp_replicate_size", "dp_replicate_size"},
        {"megatron_lm_config.megatron_lm_tp_degree", "tensor_parallel_size"},
        {"megatron_lm_config.megatron_lm_pp_degree", "pipeline_parallel_size"},
        {"megatron_lm_config.megatron_lm_num_micro_batches", "gradient_accumulation_steps"},
        {"megatron_lm_config.megatron_lm_sequence_parallelism", "sequence_parallel"}};
    static const char *const COMPILERS[] = {"dynamo_config.dynamo_backend", "dynamo_backend", NULL};
    const struct tsim_setting *compiler = tsim_recipe_find_any(r, COMPILERS),
                              *all = find(r, "megatron_lm_config.megatron_lm_recompute_activations");
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if ((i < 3 || tsim_setting_is(find(r, "distributed_type"), "MEGATRON_LM")) && find(r, NAMES[i][0]))
            tsim_recipe_add(r, find(r, NAMES[i][0])->name, NAMES[i][1], find(r, NAMES[i][0])->value);
    if (tsim_setting_is(compiler, "INDUCTOR") || tsim_setting_is(compiler, "inductor"))
        add(r, compiler, "torch_compile", "true");
    if (all && tsim_setting_flag(r, all))
        tsim_recipe_not_modelled(
            r, all, "the program recomputes selectively; tsim does with --set training.recompute=selective");
}

void tsim_accelerate_add(struct tsim_recipe *r) {
    add_world(r);
    add_precision(r);
    add_deepspeed(r);
    add_fsdp(r);
    add_parallelism(r);
}

static void build(struct tsim_recipe *r) {
    static const struct tsim_hf_trainer DEFAULTS = {
        .why = "only the program's code has it", .micro_batch = 1, .optimizer = "adamw_torch", .is_assumed = true};
    const bool is_megatron = tsim_setting_is(find(r, "distributed_type"), "MEGATRON_LM");
    struct tsim_hf_trainer defaults = DEFAULTS;
    defaults.software = is_megatron ? "megatron-core-2024" : NULL;
    tsim_accelerate_add(r);
    tsim_hf_trainer_build(r, &defaults);
    const struct tsim_setting *shards = find(r, "megatron_lm_config.megatron_lm_use_distributed_optimizer");
    if (is_megatron && shards && tsim_setting_flag(r, shards))
        tsim_recipe_put(r, "parallelism.zero", shards, NULL, "1");
}

enum tsim_status tsim_import_accelerate(struct tsim_arena *arena, const struct tsim_import_input *input,
                                        struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    const struct tsim_value *root;
    TSIM_TRY(tsim_document_parse_wide(arena, input->file, input->text, input->size, &root, diags));
    tsim_recipe_init(&r, arena, input, "accelerate", "accelerate", diags);
    tsim_recipe_each(&r, root, tsim_recipe_add_leaf, &r);
    if (!tsim_value_find(root, "distributed_type") && !tsim_value_find(root, "num_processes"))
        tsim_diag_hint(tsim_recipe_error(&r, NULL, "neither distributed_type nor num_processes in it"),
                       "the YAML that `accelerate config` writes");
    else if (tsim_recipe_accepts(&r))
        build(&r);
    enum tsim_status status = tsim_recipe_finish(&r, result);
    tsim_recipe_release(&r);
    return status;
}
