/* The arguments of Hugging Face's Trainer, as TrainingArguments.to_json_string prints them (transformers'
 * training_args.py): every one stands there, most with its default. They say nothing of the model and the machine. */
#include "config/document.h"
#include "config/recognize.h"
#include "import/launches/gpt.h"
#include "import/launches/launch_words.h"
#include "import/launches/recipes.h"
#include "import/setting_class_rows.h"

#include <string.h>

static const struct tsim_setting_class CLASSES[] = {
    REFUSED("auto_find_batch_size=[tT]rue", "a batch that is tried out, not given"),
    REFUSED("half_precision_backend=apex fp16_backend=apex",
            "Apex's mixed precision is not modelled: fp16 and bf16 are"),
    REFUSED("sharded_ddp", "FairScale's sharding: --set parallelism.zero=2 or 3 beside --ignore says it"),
    REFUSED("use_cpu no_cuda", "training on a CPU"),
    REFUSED("prediction_loss_only=[tT]rue predict_with_generate=[tT]rue", "this evaluates a model"),
    NOTHING("prediction_loss_only predict_with_generate"),
    SPEED("group_by_length length_column_name_", "samples of different lengths: here each has the whole sequence"),
    SPEED("full_determinism", "slower deterministic kernels"),
    SPEED("use_liger_kernel", "Liger's fused kernels: software.cross_entropy and software.fusion"),
    SPEED("bf16_full_eval fp16_full_eval", "evaluation in another precision"),
    NOTHING(
        "output_dir overwrite_* do_* eval_* evaluation_* per_device_eval_* per_gpu_* logging_* log_* save_* lr_* "
        "learning_rate weight_decay adam_* max_grad_norm num_train_epochs warmup_* seed data_seed dataloader_* "
        "push_to_hub* hub_* report_to run_name disable_tqdm remove_unused_columns label_* load_best_* "
        "metric_for_best_model greater_is_better ignore_data_skip skip_memory_metrics resume_from_checkpoint "
        "mp_parameters include_* local_rank ddp_* debug accelerator_config* fsdp_* past_index "
        "length_column_name restore_callback_* average_tokens_across_devices neftune_* optim_args "
        "optim_target_modules jit_mode_eval use_ipex tpu_* torchdynamo torch_compile_* fp16_opt_level "
        "half_precision_backend fp16_backend tf32 split_batches batch_eval_metrics torch_empty_cache_steps "
        "gradient_checkpointing_kwargs* parallelism_config* project trackio_space_id dispatch_batches "
        "liger_kernel_config* use_legacy_prediction_loop deepspeed.* dataset_* eos_token pad_token packing_strategy "
        "model_init_kwargs* _n_gpu n_gpu"),
};
enum { N_CLASSES = sizeof CLASSES / sizeof CLASSES[0] };

static const struct tsim_launch_word OPTIMIZERS[] = {{"adamw_torch", "adamw"},
                                                     {"adamw_torch_fused", "adamw"},
                                                     {"adamw_hf", "adamw"},
                                                     {"adamw_apex_fused", "adamw"},
                                                     {"adamw_anyprecision", "adamw"},
                                                     {"adafactor", "adafactor"},
                                                     {"adamw_bnb_8bit", "adam-8bit"},
                                                     {"adamw_8bit", "adam-8bit"},
                                                     {"sgd", "momentum"},
                                                     {NULL, NULL}};

struct reading {
    struct tsim_recipe *r;
    int64_t world;
};

static bool is_on(struct reading *g, const char *key) {
    const struct tsim_setting *s = tsim_recipe_find(g->r, key);
    return s && tsim_setting_flag(g->r, s);
}

/* A text "full_shard auto_wrap", or a list of such words. */
static bool lists(const struct tsim_setting *s, const char *word) {
    const struct tsim_value *value = s ? s->value : NULL;
    for (size_t i = 0; value && value->kind == TSIM_VALUE_SEQUENCE && i < value->n_items; i++)
        if (tsim_value_is_text(value->items[i], word))
            return true;
    const char *text = value && value->kind == TSIM_VALUE_SCALAR ? value->text : "";
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t length = strcspn(text, " ");
        if (length == strlen(word) && memcmp(text, word, length) == 0)
            return true;
        text += length;
    }
    return false;
}

static void put_batch(struct reading *g) {
    const struct tsim_setting *micro = tsim_recipe_find(g->r, "per_device_train_batch_size"),
                              *steps = tsim_recipe_find(g->r, "gradient_accumulation_steps");
    int64_t size = micro ? tsim_setting_int(g->r, micro, 1, 1000000) : 8,
            n = steps ? tsim_setting_int(g->r, steps, 1, 1000000) : 1;
    tsim_recipe_put(g->r, "training.micro_batch_size", micro, micro ? NULL : "the Trainer's default", "%lld",
                    (long long)size);
    tsim_recipe_put(g->r, "training.global_batch_size", steps ? steps : micro, "x replicas", "%lld",
                    (long long)(size * n * g->world));
}

static void put_precision(struct reading *g) {
    const struct tsim_setting *bf16 = tsim_recipe_find(g->r, "bf16"), *fp16 = tsim_recipe_find(g->r, "fp16");
    bool has_bf16 = is_on(g, "bf16"), has_fp16 = is_on(g, "fp16");
    if (has_bf16 && has_fp16)
        tsim_recipe_error(g->r, fp16, "cannot be together with bf16");
    tsim_recipe_put(g->r, "training.precision", has_fp16 ? fp16 : bf16, bf16 || fp16 ? NULL : "the Trainer's default",
                    has_fp16   ? "fp16"
                    : has_bf16 ? "bf16"
                               : "fp32");
}

static void put_optimizer(struct reading *g) {
    const struct tsim_setting *s = tsim_recipe_find(g->r, "optim");
    const char *text = s ? tsim_setting_text(s) : "adamw_torch", *ours = tsim_launch_ours(OPTIMIZERS, text);
    if (ours)
        tsim_recipe_put(g->r, "training.optimizer", s, s ? NULL : "the Trainer's default", "%s", ours);
    else
        tsim_recipe_refuse(g->r, s, "the optimizer '%.40s' is not modelled: its states and its step", text);
}

static void put_training(struct reading *g) {
    static const char *const LENGTHS[] = {"max_seq_length", "max_length", "model_max_length", NULL};
    const struct tsim_setting *length = tsim_recipe_find_any(g->r, LENGTHS),
                              *recompute = tsim_recipe_find(g->r, "gradient_checkpointing"),
                              *steps = tsim_recipe_find(g->r, "max_steps");
    if (length)
        tsim_recipe_put_int(g->r, "training.sequence_length", length, tsim_setting_int(g->r, length, 1, 1000000000));
    else
        tsim_recipe_assume(g->r, "training.sequence_length",
                           "the data's code says it; --set training.sequence_length=N", "4096");
    put_batch(g);
    put_precision(g);
    put_optimizer(g);
    tsim_recipe_put(g->r, "training.recompute", recompute, recompute ? NULL : "the Trainer's default",
                    is_on(g, "gradient_checkpointing") ? "full" : "none");
    int64_t n = steps ? tsim_setting_int(g->r, steps, -1, INT64_C(1000000000000)) : -1;
    if (n > 0)
        tsim_recipe_put_int(g->r, "training.steps", steps, n);
}

/* DeepSpeed by its own file, FSDP by its words, else replicas (DistributedDataParallel). */
static void put_sharding(struct reading *g) {
    const struct tsim_setting *deepspeed = tsim_recipe_find(g->r, "deepspeed"),
                              *stage = tsim_recipe_find(g->r, "deepspeed.zero_optimization.stage"),
                              *fsdp = tsim_recipe_find(g->r, "fsdp");
    bool is_hybrid = lists(fsdp, "hybrid_shard"), is_full = is_hybrid || lists(fsdp, "full_shard"),
         is_second = lists(fsdp, "shard_grad_op") || lists(fsdp, "hybrid_shard_zero2");
    if (deepspeed && !stage)
        tsim_diag_hint(tsim_recipe_error(g->r, deepspeed, "DeepSpeed's own settings stand in '%.60s'",
                                         tsim_setting_text(deepspeed)),
                       "tsim import deepspeed takes that file");
    tsim_recipe_put(g->r, "software.extends", stage, stage ? NULL : "transformers",
                    stage ? "transformers-deepspeed-2024" : "transformers-2024");
    if (is_on(g, "torch_compile"))
        tsim_recipe_put(g->r, "software.fusion", tsim_recipe_find(g->r, "torch_compile"), NULL, "compile");
    tsim_recipe_put(g->r, "parallelism.zero", stage ? stage : fsdp, stage || fsdp ? NULL : "replicas", "%lld",
                    stage       ? (long long)tsim_setting_int(g->r, stage, 0, 3)
                    : is_full   ? 3LL
                    : is_second ? 2LL
                                : 0LL);
    if (is_hybrid)
        tsim_recipe_put(g->r, "parallelism.zero_group", fsdp, NULL, "node");
}

enum tsim_status tsim_import_hf_trainer(struct tsim_arena *arena, const struct tsim_import_input *input,
                                        struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_recipe r;
    const struct tsim_value *root;
    struct reading g = {.r = &r};
    TSIM_TRY(tsim_document_parse(arena, input->file, input->text, input->size, &root, diags));
    tsim_recipe_init(&r, arena, input, "Hugging Face's Trainer", diags);
    r.lists_all = true;
    tsim_recipe_each(&r, root, tsim_recipe_add_leaf, &r);
    if (!tsim_value_find(root, "per_device_train_batch_size"))
        tsim_diag_hint(tsim_recipe_error(&r, NULL, "per_device_train_batch_size is missing"),
                       "what TrainingArguments.to_json_string() gives");
    else if (tsim_recipe_accepts(&r, CLASSES, N_CLASSES)) {
        tsim_recipe_put(&r, "schema", NULL, NULL, "tsim/v1");
        tsim_recipe_put(&r, "name", NULL, NULL, "%s", tsim_recipe_name(arena, r.document->file, "imported"));
        tsim_recipe_assume(&r, "model", "the model's code says it; --set model=ID", TSIM_DEFAULT_MODEL);
        g.world = tsim_recipe_put_cluster(&r, NULL, NULL, NULL, 8);
        put_training(&g);
        put_sharding(&g);
    }
    enum tsim_status status = tsim_recipe_finish(&r, CLASSES, N_CLASSES, result);
    tsim_recipe_release(&r);
    return status;
}
