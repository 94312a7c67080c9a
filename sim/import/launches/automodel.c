/* YAML of NVIDIA-NeMo/Automodel (nemo_automodel/recipes/llm, components/distributed/config.py,
 * components/_peft/lora.py): models of Hugging Face under PyTorch's FSDP2, which the Trainer's keys say, too. */
#include "base/among.h"
#include "config/text/document.h"
#include "import/launches/hf_trainer.h"
#include "import/launches/omegaconf.h"
#include "import/launches/recipe_short.h"
#include "import/launches/recipes.h"
#include "import/overrides.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct tsim_recipe *r;
    struct tsim_omegaconf tree;
    const struct tsim_value *config; /* of the model, written out (transformers.Qwen3Config); NULL: it is named */
};

static const struct tsim_setting *first(struct tsim_recipe *r, const char *a, const char *b, const char *c) {
    const char *const keys[] = {a, b, c, NULL};
    return tsim_recipe_find_any(r, keys);
}

static void add_given(struct tsim_recipe *r, const struct tsim_setting *s, const char *key) {
    if (s && !tsim_setting_is(s, "none"))
        tsim_recipe_add(r, s->name, key, s->value);
}

/* Parts of older files stand in sections of their own, and their keys are the same. */
static const struct tsim_setting *distributed(struct tsim_recipe *r, const char *key) {
    return first(r, tsim_arena_printf(r->arena, "distributed.%s", key),
                 tsim_arena_printf(r->arena, "distributed_config.%s", key),
                 tsim_arena_printf(r->arena, "parallelizer.%s", key));
}

static const struct tsim_setting *pipeline(struct tsim_recipe *r, const char *key) {
    return first(r, tsim_arena_printf(r->arena, "distributed.pipeline.%s", key),
                 tsim_arena_printf(r->arena, "autopipeline.%s", key), tsim_arena_printf(r->arena, "pipeline.%s", key));
}

static int64_t degree(struct tsim_recipe *r, const char *key) {
    const struct tsim_setting *s = distributed(r, key);
    return s && !tsim_setting_is(s, "none") ? tsim_setting_int(r, s, 1, 100000) : 1;
}

/* Optimizer states have as many bits as the parameters, of which there is no other copy. */
static void add_precision(struct tsim_recipe *r) {
    const struct tsim_setting *type = first(r, "model.torch_dtype", "model.dtype", "model.config.torch_dtype"),
                              *fp8 = find(r, "fp8.enabled");
    const char *text = type ? tsim_setting_text(type) : "auto";
    text = strncmp(text, "torch.", 6) == 0 ? text + 6 : text;
    if (strcmp(text, "float16") == 0 || strcmp(text, "fp16") == 0)
        add(r, type, "fp16", "true");
    else
        add(r, type, "bf16", "true"); /* the products', by FSDP2Config's mp_policy */
    if (fp8 && tsim_setting_flag(r, fp8))
        add(r, fp8, "fp8", "true");
    if (strcmp(text, "float32") != 0 && strcmp(text, "fp32") != 0)
        add(r, type, "of_16_bits", "true");
}

/* Patterns of names: "*_proj" are all that are nn.Linear, which grouped experts are not; they are asked for as
 * "*.experts" (components/_peft/lora.py, apply_lora_to_linear_modules). */
static void add_targets(struct tsim_recipe *r) {
    const struct tsim_setting *s = find(r, "peft.target_modules"), *all = find(r, "peft.match_all_linear");
    if ((all && tsim_setting_flag(r, all)) || !s) {
        add(r, all, "lora_targets", "all");
        return;
    }
    const struct tsim_value *value = s->value;
    const size_t n = value->kind == TSIM_VALUE_SEQUENCE ? value->n_items : 1;
    const char *text = "";
    for (size_t i = 0; value->kind == TSIM_VALUE_SEQUENCE && i < n; i++)
        if (value->items[i]->kind == TSIM_VALUE_SCALAR && strstr(value->items[i]->text, "experts")) {
            add(r, s, "lora_experts", "each");
            text = "gate_proj,up_proj,down_proj";
        }
    for (size_t i = 0; i < n; i++) {
        const struct tsim_value *item = value->kind == TSIM_VALUE_SEQUENCE ? value->items[i] : value;
        const char *name = item->kind == TSIM_VALUE_SCALAR ? item->text : "", *dot = strrchr(name, '.');
        name = dot ? dot + 1 : name;
        name += name[0] == '*' && name[1] != '_' && name[1] ? 1 : 0;
        if (TSIM_IS_ONE_OF(name, "*_proj", "*", "*proj")) {
            add(r, s, "lora_targets", "all");
            return;
        }
        if (strcmp(name, "experts") != 0)
            text = tsim_arena_printf(r->arena, "%s%s%s", text, *text ? "," : "", name);
    }
    add(r, s, "lora_targets", text);
}

static void add_adapter(struct tsim_recipe *r) {
    const struct tsim_setting *s = first(r, "peft._target_", "peft.dim", "peft.peft_fn"), *rank = find(r, "peft.dim"),
                              *bits = first(r, "quantization.load_in_4bit", "model.quantization_config.load_in_4bit",
                                            "model.load_in_4bit");
    if (!s)
        return;
    add(r, rank ? rank : s, "lora_r", rank ? tsim_setting_text(rank) : "8");
    add_targets(r);
    if (!find(r, "lora_experts"))
        add(r, s, "lora_experts", "none");
    add_given(r, find(r, "peft.dropout"), "lora_dropout");
    if (bits && tsim_setting_flag(r, bits))
        add(r, bits, "quantization_bit", "4");
}

static void add_batch(struct tsim_recipe *r, int64_t n_stages) {
    const struct tsim_setting *of_pass = pipeline(r, "pp_microbatch_size"),
                              *local = first(r, "step_scheduler.local_batch_size", "step_scheduler.micro_batch_size",
                                             "dataloader.batch_size");
    add_given(r, n_stages > 1 && of_pass ? of_pass : local, "per_device_train_batch_size");
    if (n_stages > 1 && of_pass)
        add_given(r, local, "run_batch_size"); /* recipes/llm/train_ft.py calls the schedule for each batch */
    add_given(r, find(r, "step_scheduler.global_batch_size"), "train_batch_size");
    add_given(r, find(r, "step_scheduler.grad_acc_steps"), "gradient_accumulation_steps");
    add_given(r, find(r, "step_scheduler.max_steps"), "max_steps");
}

static void add_length(struct tsim_recipe *r) {
    const struct tsim_setting *packed = find(r, "packed_sequence.packed_sequence_size"),
                              *of_data = first(r, "dataset.seq_length", "dataset.seq_len", "dataset.max_length"),
                              *pads =
                                  first(r, "dataset.sequence_length", "dataset.block_size", "dataset.max_seq_length");
    const struct tsim_setting *s = packed && tsim_setting_int(r, packed, 0, 1000000000) > 0 ? packed
                                   : of_data                                                ? of_data
                                                                                            : pads;
    add_given(r, s, "max_seq_length");
    if (s != packed && !has_text(find(r, "dataset._target_"), "mock") &&
        !has_text(find(r, "dataset._target_"), "egatron") && !has_text(find(r, "dataset._target_"), "anogpt"))
        add(r, s, "unpacked", "true");
}

static void add_ranks(struct tsim_recipe *r, int64_t n_stages) {
    static const char *const NAMES[][2] = {{"tp_size", "tensor_parallel_size"},
                                           {"cp_size", "context_parallel_size"},
                                           {"ep_size", "expert_parallel_size"},
                                           {"pp_size", "pipeline_parallel_size"},
                                           {"dp_replicate_size", "dp_replicate_size"},
                                           {"sequence_parallel", "sequence_parallel"},
                                           {"activation_checkpointing", "gradient_checkpointing"}};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        add_given(r, distributed(r, NAMES[i][0]), NAMES[i][1]);
    if (n_stages > 1) {
        const struct tsim_setting *schedule = pipeline(r, "pp_schedule");
        if (!schedule || has_text(schedule, "nterleaved") || has_text(schedule, "Loop"))
            add_given(r, pipeline(r, "layers_per_stage"), "layers_per_stage");
        add_given(r, pipeline(r, "round_virtual_stages_to_pp_multiple"), "round_stages");
    }
}

/* FSDP2 keeps parameters gathered beside a pipeline (FSDP2Config, reshard_after_forward None). */
static void add_sharding(struct tsim_recipe *r, int64_t n_stages) {
    const struct tsim_setting *how = first(r, "distributed.strategy", "distributed._target_",
                                           "distributed_config._target_"),
                              *keeps = distributed(r, "reshard_after_forward");
    if (tsim_setting_is(how, "ddp") || has_text(how, "DDP"))
        return;
    const bool releases = keeps && !tsim_setting_is(keeps, "none") ? tsim_setting_flag(r, keeps) : n_stages == 1;
    add(r, keeps ? keeps : how, "fsdp", releases ? "full_shard" : "shard_grad_op");
}

/* Adds the machine: dp_size, nodes of the benchmark, or Slurm's section. */
static void add_world(struct tsim_recipe *r) {
    const struct tsim_setting *nodes = first(r, "benchmark.num_nodes", "slurm.nodes", "ci.nodes"),
                              *replicas = distributed(r, "dp_size"), *each = find(r, "slurm.ntasks_per_node");
    if (nodes) {
        add_given(r, nodes, "nnodes");
        add_given(r, each, "nproc_per_node");
        return;
    }
    if (!replicas || tsim_setting_is(replicas, "none"))
        return;
    const int64_t n = tsim_setting_int(r, replicas, 1, 1000000) * degree(r, "tp_size") * degree(r, "cp_size") *
                      degree(r, "pp_size"),
                  of_node = n < 8 ? n : 8;
    if (n % of_node != 0 || n > 10000000)
        return;
    add(r, replicas, "nnodes", tsim_arena_printf(r->arena, "%lld", (long long)(n / of_node)));
    add(r, replicas, "nproc_per_node", tsim_arena_printf(r->arena, "%lld", (long long)of_node));
}

static void put_software(struct tsim_recipe *r) {
    const struct tsim_setting *attention = first(r, "model.backend.attn", "model.attn_implementation", NULL),
                              *linear = find(r, "model.backend.linear"), *loss = find(r, "loss_fn._target_"),
                              *dispatcher = find(r, "model.backend.dispatcher"),
                              *deepep = find(r, "model.backend.enable_deepep");
    if (tsim_setting_is(attention, "sdpa") || tsim_setting_is(attention, "flash_attention_2"))
        tsim_recipe_put(r, "software.attention_kernel", attention, NULL, "flash2");
    if (tsim_setting_is(linear, "torch"))
        tsim_recipe_put(r, "software.fusion", linear, NULL, "none");
    if (tsim_setting_is(dispatcher, "torch") || (deepep && !tsim_setting_flag(r, deepep)))
        tsim_recipe_put(r, "software.expert_dispatch", dispatcher ? dispatcher : deepep, NULL, "all-to-all");
    if (has_text(loss, "FusedLinearCrossEntropy") || has_text(loss, "TEParallelCrossEntropy"))
        tsim_recipe_put(r, "software.cross_entropy", loss, NULL, "fused");
    const struct tsim_setting *states = find(r, "optimizer.exp_avg_dtype"),
                              *copies = find(r, "optimizer.master_weights");
    const bool is_of_16_bits = find(r, "of_16_bits") != NULL;
    if (has_text(states, "bfloat16"))
        tsim_recipe_put(r, "training.state_precision", states, NULL, "bf16");
    if (copies && tsim_setting_flag(r, copies)) /* of Transformer Engine's FusedAdam */
        tsim_recipe_put(r, "training.master_weights", copies, NULL, "true");
    else if (is_of_16_bits && !find(r, "lora_r"))
        tsim_recipe_put(r, "training.master_weights", find(r, "of_16_bits"), NULL, "false");
    const struct tsim_setting *reduce =
        first(r, "distributed.mp_policy.reduce_dtype", "distributed_config.mp_policy.reduce_dtype", NULL);
    if (reduce)
        tsim_recipe_put(r, "training.gradient_precision", reduce, NULL, has_text(reduce, "bf") ? "bf16" : "fp32");
}

static void build(struct tsim_recipe *r) {
    static const struct tsim_hf_trainer DEFAULTS = {
        .why = "AutoModel's default", .micro_batch = 1, .optimizer = "adamw_torch", .software = "automodel-2026"};
    static const char *const COMPILES[] = {"distributed.enable_compile", "compile.enabled", NULL};
    const struct tsim_setting *compiled = tsim_recipe_find_any(r, COMPILES), *optimizer = find(r, "optimizer._target_");
    const int64_t n_stages = degree(r, "pp_size");
    add_given(
        r,
        first(r, "model.pretrained_model_name_or_path", "model.config.pretrained_model_name_or_path", "model.config"),
        "model_name_or_path");
    if (has_text(optimizer, "SGD"))
        add(r, optimizer, "optim", "sgd");
    else if (has_text(optimizer, "Muon") || has_text(optimizer, "muon"))
        add(r, optimizer, "optim", "muon");
    else if (optimizer && !has_text(optimizer, "Adam"))
        tsim_recipe_refuse(r, optimizer, "the optimizer '%.60s' is not modelled: its states and its step",
                           tsim_setting_text(optimizer));
    if (compiled && tsim_setting_flag(r, compiled))
        add(r, compiled, "torch_compile", "true");
    add_precision(r);
    add_adapter(r);
    add_batch(r, n_stages);
    add_length(r);
    add_ranks(r, n_stages);
    add_sharding(r, n_stages);
    add_world(r);
    tsim_hf_trainer_build(r, &DEFAULTS);
    put_software(r);
}

/* Returns transformers' model_type of a configuration's class: Qwen3MoeConfig is qwen3_moe. */
static const char *type_of_class(struct tsim_arena *arena, const char *class) {
    const char *dot = strrchr(class, '.'), *from = dot ? dot + 1 : class;
    const size_t length = strlen(from);
    char *type = tsim_arena_alloc(arena, 2 * length + 1), *to = type;
    for (size_t i = 0; i + strlen("Config") < length; i++) {
        if (i > 0 && isupper((unsigned char)from[i]) && !isupper((unsigned char)from[i - 1]))
            *to++ = '_';
        *to++ = (char)tolower((unsigned char)from[i]);
    }
    *to = '\0';
    return type;
}

/* Returns the model's configuration as config.json would have it, if the file has it whole; else NULL. */
static const struct tsim_value *config_of(struct tsim_arena *arena, const struct tsim_import_input *input,
                                          const struct tsim_value *root) {
    const struct tsim_value *config = tsim_value_find_path(root, "model.config"),
                            *class = config && config->kind == TSIM_VALUE_MAPPING ? tsim_value_find(config, "_target_")
                                                                                  : NULL;
    const size_t n = class && class->kind == TSIM_VALUE_SCALAR ? strlen(class->text) : 0;
    if (!input->read_model || tsim_import_override(input, "model") || n < 7 ||
        strcmp(class->text + n - 6, "Config") != 0 || !tsim_value_find(config, "vocab_size"))
        return NULL;
    const struct tsim_pair type = {.key = "model_type",
                                   .value = tsim_value_new_scalar(arena, class, type_of_class(arena, class->text))};
    return tsim_value_merge(arena, tsim_value_without(arena, config, "_target_"),
                            tsim_value_new_mapping(arena, class, &type, 1));
}

static void put_config(struct reading *g) {
    struct tsim_recipe *r = g->r;
    const char *yaml = r->input.read_model(r->arena, &r->input, g->config, r->diags);
    const struct tsim_value *model;
    const struct tsim_setting from = {.name = "model.config", .value = g->config};
    if (yaml && tsim_document_parse_wide(r->arena, r->document->file, yaml, strlen(yaml), &model, r->diags) == TSIM_OK)
        tsim_recipe_put_value(r, "model", &from, model);
}

static void add_setting(void *context, const char *name, const struct tsim_value *value) {
    struct reading *g = context;
    static const char CONFIG[] = "model.config.";
    if (g->config && strncmp(name, CONFIG, sizeof CONFIG - 1) == 0 && !strstr(name, "dtype"))
        return;
    tsim_recipe_add(g->r, name, name, tsim_omegaconf_value(&g->tree, name, value));
}

enum tsim_status tsim_import_automodel(struct tsim_arena *arena, const struct tsim_import_input *input,
                                       struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    struct reading g = {.r = &r, .tree = {.arena = arena, .input = input}};
    TSIM_TRY(tsim_document_parse_wide(arena, input->file, input->text, input->size, &g.tree.root, diags));
    tsim_recipe_init(&r, arena, input, "AutoModel", "automodel", diags);
    g.config = config_of(arena, input, g.tree.root);
    tsim_recipe_each(&r, g.tree.root, add_setting, &g);
    if (!tsim_value_find(g.tree.root, "model") || !tsim_value_find(g.tree.root, "step_scheduler"))
        tsim_diag_hint(tsim_recipe_error(&r, NULL, "model and step_scheduler are not both in it"),
                       "the YAML that automodel takes");
    else if (tsim_recipe_accepts(&r)) {
        if (g.config)
            put_config(&g);
        build(&r);
    }
    enum tsim_status status = tsim_recipe_finish(&r, result);
    tsim_recipe_release(&r);
    return status;
}
