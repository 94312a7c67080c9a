/* torchtitan's TOML, with its sections of 2024 or of 2025. */
#include "import/launches/launch_words.h"
#include "import/launches/launch_writer.h"

#include <string.h>

static bool is_of_2024(const struct tsim_launch_writer *w) {
    return w->launch == TSIM_LAUNCH_TORCHTITAN_2024;
}

static void write_int(struct tsim_launch_writer *w, const char *key, int64_t value) {
    TSIM_WRITE(w, "%s = %lld\n", key, (long long)value);
}

static void write_text(struct tsim_launch_writer *w, const char *key, const char *value) {
    TSIM_WRITE(w, "%s = \"%s\"\n", key, value);
}

static bool is_fp8(const struct tsim_launch_writer *w) {
    return w->scenario->training.precision == TSIM_FP8;
}

static bool is_mxfp8(const struct tsim_launch_writer *w) {
    return w->scenario->training.precision == TSIM_MXFP8;
}

static void write_model(struct tsim_launch_writer *w) {
    const char *name, *flavor;
    TSIM_WRITE(w, "\n[model]\n");
    if (tsim_titan_flavor(w, &name, &flavor)) {
        write_text(w, "name", name);
        write_text(w, "flavor", flavor);
    }
    if (!is_of_2024(w) && (is_fp8(w) || is_mxfp8(w)))
        TSIM_WRITE(w, "converters = [\"%s\"]\n", is_fp8(w) ? "float8" : "mx");
}

static void write_batch(struct tsim_launch_writer *w) {
    const struct tsim_training_spec *t = &w->scenario->training;
    const struct tsim_parallelism_spec *p = &w->scenario->parallelism;
    int64_t local = p->pipeline == 1               ? t->micro_batch_size
                    : p->schedule_microbatches > 0 ? t->micro_batch_size * p->schedule_microbatches
                                                   : t->global_batch_size / tsim_launch_replicas(w);
    write_int(w, is_of_2024(w) ? "batch_size" : "local_batch_size", local);
    if (!is_of_2024(w))
        write_int(w, "global_batch_size", t->global_batch_size);
}

/* Writes the number of ranks that shard, and of copies of their shards. */
static void write_sharding(struct tsim_launch_writer *w) {
    const struct tsim_parallelism_spec *p = &w->scenario->parallelism;
    int64_t ranks = p->data * p->context, copies = p->zero_group_ranks > 0 ? ranks / p->zero_group_ranks : 1;
    write_int(w, "data_parallel_replicate_degree", p->zero == 0 ? p->data : copies);
    write_int(w, "data_parallel_shard_degree", p->zero == 0 ? 1 : p->data / copies > 0 ? p->data / copies : 1);
    if (p->zero == 3 && !p->reshard_after_forward)
        write_text(w, "fsdp_reshard_after_forward", "never");
}

static void write_pipeline(struct tsim_launch_writer *w) {
    const struct tsim_parallelism_spec *p = &w->scenario->parallelism;
    const char *schedule = tsim_launch_theirs(tsim_titan_schedules, tsim_launch_text(w, "parallelism.schedule"));
    const struct tsim_training_spec *t = &w->scenario->training;
    if (p->context > 1) {
        write_int(w, "context_parallel_degree", p->context);
        const char *how = tsim_launch_theirs(tsim_rotate_methods, tsim_launch_text(w, "parallelism.context_exchange"));
        if (how)
            write_text(w, "context_parallel_rotate_method", how);
    }
    write_int(w, "pipeline_parallel_degree", p->pipeline);
    if (p->pipeline > 1 && schedule)
        write_text(w, "pipeline_parallel_schedule", schedule);
    if (p->pipeline > 1 && is_of_2024(w))
        write_int(w, "pipeline_parallel_microbatches",
                  t->global_batch_size / tsim_launch_replicas(w) / t->micro_batch_size);
    else if (p->pipeline > 1)
        write_int(w, "pipeline_parallel_microbatch_size", t->micro_batch_size);
    if (p->overlap.tensor)
        TSIM_WRITE(w, "enable_async_tensor_parallel = true\n");
}

static void write_training(struct tsim_launch_writer *w) {
    const struct tsim_training_spec *t = &w->scenario->training;
    TSIM_WRITE(w, "\n[training]\n");
    write_batch(w);
    write_int(w, "seq_len", t->sequence_length);
    if (t->length_kind == TSIM_LENGTH_STEPS)
        write_int(w, "steps", (int64_t)t->length);
    write_text(w, "mixed_precision_param", t->precision == TSIM_FP32 ? "float32" : "bfloat16");
    write_text(w, "mixed_precision_reduce", t->gradient_precision == TSIM_FP32 ? "float32" : "bfloat16");
    TSIM_WRITE(w, "compile = %s\n", w->scenario->software->fusion == TSIM_FUSION_COMPILE ? "true" : "false");
}

void tsim_write_torchtitan(struct tsim_launch_writer *w) {
    const struct tsim_parallelism_spec *p = &w->scenario->parallelism;
    const char *recompute = tsim_launch_text(w, "training.recompute");
    TSIM_WRITE(w, "# %s, for %s.\n", w->scenario->name, w->scenario->software->name);
    tsim_launch_write_carried(w, "");
    write_model(w);
    TSIM_WRITE(w, "\n[optimizer]\n");
    write_text(w, "name", w->scenario->training.optimizer == TSIM_MUON ? "Muon" : "AdamW");
    write_training(w);
    if (!is_of_2024(w))
        TSIM_WRITE(w, "\n[parallelism]\n");
    write_sharding(w);
    write_int(w, "tensor_parallel_degree", p->tensor);
    if (is_of_2024(w))
        TSIM_WRITE(w, "\n[experimental]\n");
    write_pipeline(w);
    if (p->expert > 1 && !is_of_2024(w))
        write_int(w, "expert_parallel_degree", p->expert);
    if (p->expert > 1 && !is_of_2024(w) && tsim_expert_tensor(p) > 1)
        write_int(w, "expert_tensor_parallel_degree", tsim_expert_tensor(p));
    TSIM_WRITE(w, "\n[activation_checkpoint]\n");
    write_text(w, "mode", *recompute ? recompute : "selective");
    if (strcmp(recompute, "none") != 0 && strcmp(recompute, "full") != 0)
        write_text(w, "selective_ac_option", "op");
    if (is_fp8(w))
        TSIM_WRITE(w, "\n[float8]\n%s%s", is_of_2024(w) ? "enable_float8_linear = true\n" : "",
                   w->scenario->software->fp8_scaling == TSIM_SCALING_ROWS ? "recipe_name = \"rowwise\"\n"
                                                                           : "enable_fsdp_float8_all_gather = true\n");
}
