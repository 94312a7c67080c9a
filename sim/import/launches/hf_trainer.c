/* The arguments of Hugging Face's Trainer, as TrainingArguments.to_json_string prints them (transformers'
 * training_args.py): every one stands there, most with its default. They say nothing of the model and the machine. */
#include "import/launches/hf_trainer.h"

#include "base/file_bytes.h"
#include "config/catalogue_load.h"
#include "config/recognize.h"
#include "import/launches/deepspeed.h"
#include "import/launches/gpt.h"
#include "import/launches/hub_names.h"
#include "import/launches/launch_adapter.h"
#include "import/launches/launch_words.h"
#include "import/launches/recipe_short.h"
#include "import/overrides.h"

#include <ctype.h>
#include <string.h>

static const struct tsim_launch_word OPTIMIZERS[] = {{"adamw_torch", "adamw"},
                                                     {"adamw_torch_fused", "adamw"},
                                                     {"adamw_hf", "adamw"},
                                                     {"adamw_apex_fused", "adamw"},
                                                     {"adamw_anyprecision", "adamw"},
                                                     {"adafactor", "adafactor"},
                                                     {"adamw_bnb_8bit", "adam-8bit"},
                                                     {"adamw_8bit", "adam-8bit"},
                                                     {"adamw_torch_8bit", "adam-8bit"},
                                                     {"paged_adamw_8bit", "adam-8bit"},
                                                     {"paged_adamw", "adamw"},
                                                     {"paged_adamw_32bit", "adamw"},
                                                     {"sgd", "momentum"},
                                                     {"lion_32bit", "momentum"},
                                                     {"paged_lion_32bit", "momentum"},
                                                     {"lion_pytorch", "momentum"},
                                                     {"rmsprop", "rmsprop"},
                                                     {"muon", "muon"},
                                                     {"schedule_free_adamw", "adamw"},
                                                     {"stable_adamw", "adamw"},
                                                     {"adopt_adamw", "adamw"},
                                                     {"adamw_torch_xla", "adamw"},
                                                     {"adamw_torch_npu_fused", "adamw"},
                                                     {NULL, NULL}};
/* Optimizers whose states are like another's but for their size. */
static const struct tsim_launch_word NEAREST_OPTIMIZERS[] = {
    {"adamw_torch_4bit", "adam-8bit"}, {"ao_adamw_4bit", "adam-8bit"},
    {"ao_adamw_8bit", "adam-8bit"},    {"ao_adamw_fp8", "adam-8bit"},
    {"adamw_torch_fp8", "adam-8bit"},  {"lion_8bit", "momentum"},
    {"paged_lion_8bit", "momentum"},   {NULL, NULL}};

struct reading {
    struct tsim_recipe *r;
    const struct tsim_hf_trainer *defaults;
    int64_t replicas, tensor, pipeline, context, expert;
};

static void put_model(struct reading *g) {
    const struct tsim_setting *s = find(g->r, "model_name_or_path");
    if (tsim_value_find(g->r->root, "model")) /* the program's reader has put it */
        return;
    if (s && !tsim_import_override(&g->r->input, "model") && !tsim_put_hub_model(g->r, s, tsim_setting_text(s)))
        tsim_diag_hint(tsim_recipe_error(g->r, s, "'%.80s' is no model of the catalogue", tsim_setting_text(s)),
                       "name the model with --model ID or --hf CONFIG");
    else if (!s && g->defaults->needs_model && !tsim_import_override(&g->r->input, "model"))
        tsim_diag_hint(tsim_recipe_error(g->r, NULL, "nothing names the model"),
                       "name the model with --model ID or --hf CONFIG");
    else if (!s || tsim_import_override(&g->r->input, "model"))
        tsim_recipe_assume(g->r, "model", "only the program's code names the model; give it with --set model=ID",
                           TSIM_DEFAULT_MODEL);
}

static bool is_of_pairs(struct reading *g) {
    return tsim_recipe_is(g->r, "kind", "dpo") || tsim_recipe_is(g->r, "kind", "pairs");
}

static void put_batch(struct reading *g) {
    const struct tsim_setting *micro = find(g->r, "per_device_train_batch_size"),
                              *steps = find(g->r, "gradient_accumulation_steps"), *all = find(g->r, "train_batch_size");
    const int64_t given = tsim_import_override_int(&g->r->input, "training.micro_batch_size");
    int64_t size = given   ? given
                   : micro ? tsim_setting_int(g->r, micro, 1, 1000000)
                           : g->defaults->micro_batch,
            n = steps ? tsim_setting_int(g->r, steps, 1, 1000000) : 1;
    bool is_dpo = is_of_pairs(g);
    size *= is_dpo && !given ? 2 : 1;
    if (!micro && g->defaults->is_assumed)
        tsim_recipe_assume(g->r, "training.micro_batch_size",
                           "only the program's code has the batch; give it with --set training.micro_batch_size=N",
                           "%lld", (long long)size);
    else
        tsim_recipe_put(g->r, "training.micro_batch_size", micro,
                        is_dpo  ? "two samples a pair"
                        : micro ? NULL
                                : g->defaults->why,
                        "%lld", (long long)size);
    if (g->pipeline > 1 && micro && find(g->r, "run_batch_size") && !given) {
        const int64_t run = tsim_recipe_int(g->r, "run_batch_size", 1, 1000000, 1) / size;
        if (all && run > 0 && tsim_setting_int(g->r, all, 1, INT64_C(1000000000)) % (run * size * g->replicas) == 0)
            tsim_recipe_put_int(g->r, "parallelism.schedule_microbatches", find(g->r, "run_batch_size"), run);
    }
    if (all)
        tsim_recipe_put(g->r, "training.global_batch_size", all, NULL, "%lld",
                        (long long)(tsim_setting_int(g->r, all, 1, INT64_C(1000000000)) * (is_dpo ? 2 : 1)));
    else
        tsim_recipe_put(g->r, "training.global_batch_size", steps ? steps : micro, "x replicas", "%lld",
                        (long long)(size * n * g->replicas));
}

static void put_precision(struct reading *g) {
    const struct tsim_setting *bf16 = find(g->r, "bf16"), *fp16 = find(g->r, "fp16");
    const struct tsim_setting *fp8 = find(g->r, "fp8");
    bool has_bf16 = is_on(g->r, "bf16"), has_fp16 = is_on(g->r, "fp16");
    if (fp8 && tsim_setting_flag(g->r, fp8)) {
        tsim_recipe_put(g->r, "training.precision", fp8, NULL, "fp8");
        return;
    }
    if (has_bf16 && has_fp16)
        tsim_recipe_error(g->r, fp16, "cannot be together with bf16");
    if (!bf16 && !fp16 && g->r->has_others)
        tsim_recipe_assume(g->r, "training.precision",
                           "no argument states the precision, though the program's code may; give it with --set "
                           "training.precision=bf16",
                           "fp32");
    else
        tsim_recipe_put(g->r, "training.precision", has_fp16 ? fp16 : bf16, bf16 || fp16 ? NULL : g->defaults->why,
                        has_fp16   ? "fp16"
                        : has_bf16 ? "bf16"
                                   : "fp32");
}

static void put_optimizer(struct reading *g) {
    const struct tsim_setting *s = find(g->r, "optim");
    const char *text = s ? tsim_setting_text(s) : g->defaults->optimizer, *ours = tsim_launch_ours(OPTIMIZERS, text),
               *nearest = ours ? NULL : tsim_launch_ours(NEAREST_OPTIMIZERS, text);
    const bool has_adapter = g->defaults->has_adapter || find(g->r, "lora_r");
    if (has_adapter && s && !nearest && (!ours || strcmp(ours, "muon") == 0))
        nearest = "adamw"; /* of adapters alone: a thousandth of the parameters */
    if (nearest) {
        tsim_recipe_not_modelled(g->r, s, "its states and its step are read as those of %s", nearest);
        tsim_recipe_put(g->r, "training.optimizer", s, NULL, "%s", nearest);
    } else if (ours)
        tsim_recipe_put(g->r, "training.optimizer", s, s ? NULL : g->defaults->why, "%s", ours);
    else
        tsim_recipe_refuse(g->r, s, "the optimizer '%.40s' is not modelled: its states and its step", text);
}

static void put_kind(struct reading *g) {
    const struct tsim_setting *s = find(g->r, "kind");
    if (s)
        tsim_recipe_put(g->r, "training.kind", s, NULL, "%s",
                        tsim_setting_is(s, "pairs") ? "sft"
                                                    : tsim_setting_text(s)); /* no reference model scores them */
}

static void put_attention(struct reading *g) {
    const struct tsim_setting *s = find(g->r, "attn_implementation");
    if (s)
        tsim_recipe_put(g->r, "training.attention", s, NULL,
                        strcmp(tsim_setting_text(s), "eager") == 0 ? "standard" : "flash");
}

/* Assumes the usual length, or what the model's positions reach. */
static void assume_length(struct reading *g) {
    enum { USUAL_LENGTH = 4096 };
    const struct tsim_model *model = tsim_recipe_model(g->r);
    const int64_t most = model && model->position == TSIM_POSITION_LEARNED ? model->positions : USUAL_LENGTH;
    tsim_recipe_assume(
        g->r, "training.sequence_length",
        "only the code that reads the data has the length; give it with --set training.sequence_length=N", "%lld",
        (long long)(most > 0 && most < USUAL_LENGTH ? most : USUAL_LENGTH));
}

static void put_training(struct reading *g) {
    static const char *const LENGTHS[] = {"max_seq_length", "max_length", "model_max_length", NULL};
    const struct tsim_setting *length = tsim_recipe_find_any(g->r, LENGTHS),
                              *recompute = find(g->r, "gradient_checkpointing"), *steps = find(g->r, "max_steps");
    if (length)
        tsim_recipe_put_int(g->r, "training.sequence_length", length, tsim_setting_int(g->r, length, 1, 1000000000));
    else if (g->defaults->sequence_length > 0)
        tsim_recipe_put(g->r, "training.sequence_length", NULL, g->defaults->why, "%lld",
                        (long long)g->defaults->sequence_length);
    else
        assume_length(g);
    put_kind(g);
    put_batch(g);
    put_precision(g);
    put_optimizer(g);
    tsim_recipe_put(g->r, "training.recompute", recompute, recompute ? NULL : g->defaults->why,
                    is_on(g->r, "gradient_checkpointing") ? "full" : "none");
    int64_t n = steps ? tsim_setting_int(g->r, steps, -1, INT64_C(1000000000000)) : -1;
    if (n > 0)
        tsim_recipe_put_int(g->r, "training.steps", steps, n);
    const struct tsim_setting *experts = find(g->r, "lora_experts");
    const struct tsim_adapter_settings adapter = {.rank = find(g->r, "lora_r"),
                                                  .targets = find(g->r, "lora_targets"),
                                                  .dropout = find(g->r, "lora_dropout"),
                                                  .bits = find(g->r, "quantization_bit"),
                                                  .base = find(g->r, "model_name_or_path"),
                                                  .experts = experts ? tsim_setting_text(experts) : "each",
                                                  .why_experts = experts ? "the program's default"
                                                                         : "as PEFT adapts experts that are modules",
                                                  .default_rank = g->defaults->adapter_rank,
                                                  .why = g->defaults->why};
    if (adapter.rank || g->defaults->has_adapter)
        tsim_recipe_put_adapter(g->r, &adapter);
    put_attention(g);
}

/* Returns the stage that the name of a file tells ("zero2.json", "ds_z3_config.json"); -1: none. */
static int64_t stage_of_name(struct reading *g, const struct tsim_setting *s) {
    const char *path = tsim_setting_text(s), *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    static const char *const BEFORE[] = {"zero", "_z", "stage"};
    for (size_t i = 0; i < sizeof BEFORE / sizeof BEFORE[0]; i++) {
        const char *at = strstr(name, BEFORE[i]), *digit = at ? at + strlen(BEFORE[i]) : "";
        digit += *digit == '_' || *digit == '-';
        if (*digit >= '0' && *digit <= '3' && !isdigit((unsigned char)digit[1])) {
            if (strstr(name, "offload"))
                tsim_recipe_put(g->r, "training.offload.optimizer", s, NULL, "true");
            tsim_recipe_note(g->r, s->name, s->value, "not there: the stage is taken from its name");
            return *digit - '0';
        }
    }
    return -1;
}

/* PyTorch's FSDP keeps states and weights on the host together, and the host updates them (CPUOffload). */
static void put_fsdp_offload(struct reading *g, const struct tsim_setting *fsdp) {
    static const char *const SWITCHES[] = {"fsdp_config.fsdp_offload_params", "fsdp_config.offload_params",
                                           "fsdp_offload_params", NULL};
    const struct tsim_setting *s = tsim_recipe_find_any(g->r, SWITCHES), *from = s && tsim_setting_flag(g->r, s) ? s
                                                                                 : tsim_setting_lists(fsdp, "offload")
                                                                                     ? fsdp
                                                                                     : NULL;
    if (!from)
        return;
    tsim_recipe_put(g->r, "training.offload.optimizer", from, NULL, "true");
    tsim_recipe_not_modelled(g->r, from, "weights on the host as well, from which each pass takes them");
}

/* Puts the sharding: DeepSpeed by its own file, FSDP by its words, else replicas (DistributedDataParallel). */
static void put_sharding(struct reading *g) {
    const struct tsim_setting *deepspeed = find(g->r, "deepspeed"), *fsdp = find(g->r, "fsdp"),
                              *strategy = find(g->r, "fsdp_config.fsdp_sharding_strategy"),
                              *stage = find(g->r, TSIM_DEEPSPEED_PREFIX "zero_optimization.stage"),
                              *from = stage ? stage : deepspeed;
    const bool is_there = !stage && deepspeed && tsim_deepspeed_add_file(g->r, deepspeed);
    static const char *const VERSIONS[] = {"fsdp_version", "fsdp_config.fsdp_version", NULL},
                             *const RELEASES[] = {"fsdp_config.fsdp_reshard_after_forward",
                                                  "fsdp_config.reshard_after_forward", NULL};
    const struct tsim_setting *version = tsim_recipe_find_any(g->r, VERSIONS),
                              *releases = tsim_recipe_find_any(g->r, RELEASES);
    bool is_hybrid = tsim_setting_lists(fsdp, "hybrid_shard"),
         is_full = is_hybrid || tsim_setting_lists(fsdp, "full_shard"),
         is_second = tsim_setting_lists(fsdp, "shard_grad_op") || tsim_setting_lists(fsdp, "hybrid_shard_zero2");
    if (strategy && strcmp(tsim_setting_text(strategy), "SHARD_GRAD_OP") == 0)
        is_second = true, is_full = false;
    if (tsim_setting_lists(fsdp, "auto_wrap") && !is_second &&
        !tsim_setting_lists(fsdp, "no_shard")) /* Accelerate's default */
        is_full = true;
    if (version && !fsdp) /* of the second version the section alone says it */
        is_full = !is_second, fsdp = version;
    if (fsdp && releases && tsim_recipe_is(g->r, releases->key, "false"))
        is_second = true, is_full = false;
    if (g->defaults->software)
        tsim_recipe_put(g->r, "software.extends", NULL, g->r->program, "%s", g->defaults->software);
    else
        tsim_recipe_put(g->r, "software.extends", from, from ? NULL : "transformers",
                        from ? "transformers-deepspeed-2024" : "transformers-2024");
    if (is_on(g->r, "torch_compile"))
        tsim_recipe_put(g->r, "software.fusion", find(g->r, "torch_compile"), NULL, "compile");
    int64_t zero = stage || is_there ? tsim_deepspeed_put_sharding(g->r)
                   : deepspeed       ? stage_of_name(g, deepspeed)
                   : is_full         ? 3
                                     : 2 * is_second;
    const bool is_unknown = zero < 0;
    if (is_unknown && !tsim_import_override(&g->r->input, "parallelism.zero"))
        tsim_diag_hint(tsim_recipe_error(g->r, deepspeed,
                                         "'%.100s' is not there: it says how DeepSpeed divides the states",
                                         deepspeed->lost ? deepspeed->lost : tsim_setting_text(deepspeed)),
                       "put it beside this file, or say the stage: --set parallelism.zero=0, 1, 2 or 3");
    if (!from && !fsdp && g->r->has_others && tsim_bytes_have(g->r->document->text, g->r->document->size, "deepspeed "))
        tsim_recipe_assume(g->r, "parallelism.zero",
                           "DeepSpeed starts it, and no argument names its file; --set parallelism.zero=2", "0");
    else if (!is_unknown && !stage && !is_there)
        tsim_recipe_put(g->r, "parallelism.zero", from ? from : fsdp, from || fsdp ? NULL : "replicas", "%lld",
                        (long long)zero);
    const struct tsim_setting *copies = find(g->r, "dp_replicate_size");
    const int64_t n = copies ? tsim_setting_int(g->r, copies, 1, 1000000) : 1, shards = g->replicas * g->context;
    if (is_hybrid)
        tsim_recipe_put(g->r, "parallelism.zero_group", fsdp, NULL, "node");
    else if (n > 1 && zero > 0 && shards % n == 0)
        tsim_recipe_put_int(g->r, "parallelism.zero_group", copies, shards / n);
    else if (n > 1 && zero > 0)
        tsim_recipe_error(g->r, copies, "%lld does not divide the %lld data-parallel ranks", (long long)n,
                          (long long)shards);
    if (find(g->r, "offload_optimizer") && is_on(g->r, "offload_optimizer"))
        tsim_recipe_put(g->r, "training.offload.optimizer", find(g->r, "offload_optimizer"), NULL, "true");
    put_fsdp_offload(g, fsdp);
}

/* ---- tensor, pipeline and expert ranks ---- */

static int64_t degree(struct reading *g, const char *key) {
    return tsim_recipe_int(g->r, key, 1, 100000, 1);
}

/* Writes as many virtual stages as hold the layers, in whole rounds of the pipeline. */
static void put_stages(struct reading *g) {
    const struct tsim_setting *each = find(g->r, "layers_per_stage"), *from = find(g->r, "pipeline_parallel_size");
    const bool is_down = tsim_recipe_is(g->r, "round_stages", "down");
    const struct tsim_model *model = tsim_recipe_model(g->r);
    const int64_t layers = model ? model->layers : 0, n = each ? tsim_setting_int(g->r, each, 1, 100000) : 0,
                  stages = n > 0 ? (layers + n - 1) / n : 0;
    int64_t rounds = stages > 0 ? (stages + (is_down ? 0 : g->pipeline - 1)) / g->pipeline : 1;
    rounds = rounds > 0 ? rounds : 1;
    if (rounds > 1)
        tsim_recipe_put_int(g->r, "parallelism.virtual_pipeline", each, rounds);
    if (layers > 0 && layers % (rounds * g->pipeline) != 0)
        tsim_recipe_put(g->r, "parallelism.layers_per_stage", each ? each : from, NULL, "balance");
}

static void put_degrees(struct reading *g) {
    static const struct {
        const char *key, *path;
    } DEGREES[] = {{"tensor_parallel_size", "parallelism.tensor"},
                   {"pipeline_parallel_size", "parallelism.pipeline"},
                   {"context_parallel_size", "parallelism.context"},
                   {"expert_parallel_size", "parallelism.expert"}};
    const struct tsim_setting *sequence = find(g->r, "sequence_parallel");
    for (size_t i = 0; i < sizeof DEGREES / sizeof DEGREES[0]; i++)
        if (degree(g, DEGREES[i].key) > 1)
            tsim_recipe_put_int(g->r, DEGREES[i].path, find(g->r, DEGREES[i].key), degree(g, DEGREES[i].key));
    if (g->tensor > 1)
        tsim_recipe_put(g->r, "parallelism.sequence", sequence, sequence ? NULL : g->defaults->why,
                        sequence && tsim_setting_flag(g->r, sequence) ? "true" : "false");
    if (g->tensor > 1 && g->expert > 1)
        tsim_recipe_put(g->r, "parallelism.expert_tensor", NULL, "experts are not divided", "1");
    if (g->pipeline > 1)
        put_stages(g);
}

void tsim_hf_trainer_build(struct tsim_recipe *r, const struct tsim_hf_trainer *defaults) {
    struct reading g = {.r = r, .defaults = defaults};
    g.tensor = degree(&g, "tensor_parallel_size");
    g.pipeline = degree(&g, "pipeline_parallel_size");
    g.context = degree(&g, "context_parallel_size");
    g.expert = degree(&g, "expert_parallel_size");
    const int64_t ranks = g.tensor * g.pipeline * g.context, of_experts = g.pipeline * g.expert,
                  of_copies = ranks * degree(&g, "dp_shard_size") * degree(&g, "dp_replicate_size"),
                  least = of_copies > of_experts ? of_copies : of_experts;
    tsim_recipe_put(r, "schema", NULL, NULL, "tsim/v1");
    tsim_recipe_put(r, "name", NULL, NULL, "%s", tsim_recipe_name(r->arena, r->document->file, "imported"));
    put_model(&g);
    const struct tsim_setting *nodes = find(r, "nnodes"), *each = find(r, "nproc_per_node"),
                              *machine = find(r, "machine");
    g.replicas = tsim_recipe_put_cluster(r, nodes, each, machine, least < 8 && !nodes ? 8 : least) / ranks;
    g.replicas = g.replicas > 0 ? g.replicas : 1;
    put_degrees(&g);
    put_training(&g);
    put_sharding(&g);
}
