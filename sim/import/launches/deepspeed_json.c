/* DeepSpeed's JSON. It says nothing of the model and the machine: a list under "tsim", which it passes over, does. */
#include "import/launches/launch_words.h"
#include "import/launches/launch_writer.h"

#include <string.h>

static const char *json_text(struct tsim_arena *arena, const char *text) {
    char *out = tsim_arena_alloc(arena, 2 * strlen(text) + 3), *c = out;
    *c++ = '"';
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            *c++ = '\\';
        *c++ = *text;
    }
    *c++ = '"';
    *c = '\0';
    return out;
}

/* Writes the members of the outermost object, with `gap` between them. */
static void write_members(struct tsim_launch_writer *w, const char *gap) {
    const struct tsim_training_spec *t = &w->scenario->training;
    const struct tsim_parallelism_spec *p = &w->scenario->parallelism;
    const struct tsim_software *s = w->scenario->software;
    int64_t each = t->micro_batch_size * tsim_launch_replicas(w);
    TSIM_WRITE(w, "\"train_batch_size\": %lld,%s\"train_micro_batch_size_per_gpu\": %lld,%s",
               (long long)t->global_batch_size, gap, (long long)t->micro_batch_size, gap);
    TSIM_WRITE(w, "\"gradient_accumulation_steps\": %lld,%s", (long long)(t->global_batch_size / each), gap);
    TSIM_WRITE(w, "\"bf16\": {\"enabled\": %s},%s",
               t->precision == TSIM_FP16 || t->precision == TSIM_FP32 || t->precision == TSIM_TF32 ? "false" : "true",
               gap);
    TSIM_WRITE(w, "\"fp16\": {\"enabled\": %s", t->precision == TSIM_FP16 ? "true" : "false");
    if (t->precision == TSIM_FP16)
        TSIM_WRITE(w, ", \"loss_scale_window\": %lld, \"hysteresis\": %lld", (long long)t->loss_scaling.growth_interval,
                   (long long)t->loss_scaling.skipped);
    TSIM_WRITE(w, "},%s\"communication_data_type\": \"%s\",%s", gap, tsim_launch_text(w, "training.gradient_precision"),
               gap);
    if (w->launch == TSIM_LAUNCH_DEEPSPEED)
        TSIM_WRITE(w, "\"optimizer\": {\"type\": \"%s\"},%s",
                   t->optimizer == TSIM_LAMB       ? "Lamb"
                   : t->optimizer == TSIM_MOMENTUM ? "SGD"
                   : t->optimizer == TSIM_MUON     ? "Muon"
                                                   : "AdamW",
                   gap);
    TSIM_WRITE(w, "\"zero_optimization\": {\"stage\": %d, \"overlap_comm\": %s", p->zero,
               p->overlap.gradients ? "true" : "false");
    if (s->bucket_elements > 0)
        TSIM_WRITE(w, ", \"reduce_bucket_size\": %lld", (long long)s->bucket_elements);
    if (p->zero == 3 && s->gather_ahead_parameters > 0)
        TSIM_WRITE(w, ", \"stage3_prefetch_bucket_size\": %.15g", s->gather_ahead_parameters);
    if (p->zero == 3 && s->gather_reuse_parameters > 0)
        TSIM_WRITE(w, ", \"stage3_max_reuse_distance\": %.15g", s->gather_reuse_parameters);
    if (p->zero == 3 && p->zero_group_ranks > 0 && p->zero_group_ranks < p->data * p->context)
        TSIM_WRITE(w, ", \"mics_shard_size\": %lld", (long long)p->zero_group_ranks);
    if (t->offload.optimizer)
        TSIM_WRITE(w, ", \"offload_optimizer\": {\"device\": \"cpu\"}");
    TSIM_WRITE(w, "}");
}

const char *tsim_deepspeed_line(struct tsim_launch_writer *w) {
    struct tsim_lines before = w->out;
    w->out = (struct tsim_lines){NULL, 0, 0};
    TSIM_WRITE(w, "{");
    write_members(w, " ");
    TSIM_WRITE(w, "}");
    const char *line = tsim_arena_strdup(w->arena, w->out.text);
    tsim_heap_free(w->out.text);
    w->out = before;
    return line;
}

void tsim_write_deepspeed(struct tsim_launch_writer *w) {
    const struct tsim_parallelism_spec *p = &w->scenario->parallelism;
    TSIM_WRITE(w, "{\n  ");
    write_members(w, "\n  ");
    if (p->tensor > 1)
        TSIM_WRITE(w, ",\n  \"tensor_parallel\": {\"autotp_size\": %lld}", (long long)p->tensor);
    if (p->context > 1)
        TSIM_WRITE(w, ",\n  \"sequence_parallel_size\": %lld", (long long)p->context);
    TSIM_WRITE(w, ",\n  \"" TSIM_CARRIED_KEY "\": [");
    for (size_t i = 0; i < w->n_carried; i++)
        TSIM_WRITE(w, "%s\n    %s", i > 0 ? "," : "", json_text(w->arena, w->carried[i]));
    TSIM_WRITE(w, "\n  ]\n}\n");
}
