/* A launch script with Megatron-LM's arguments. */
#include "import/launches/launch_writer.h"

#include <string.h>

const char *tsim_megatron_program(const struct tsim_launch_writer *w) {
    return tsim_launch_is_hybrid(w)     ? "pretrain_mamba.py"
           : w->scenario->model->causal ? "pretrain_gpt.py"
                                        : "pretrain_bert.py";
}

/* DeepSpeed's own argument has an underscore. */
static const char *dashed(struct tsim_arena *arena, const char *key) {
    if (strcmp(key, "deepspeed_config") == 0)
        return key;
    char *name = tsim_arena_strdup(arena, key);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : *c;
    return name;
}

/* Several words are separate arguments; brackets, stars and bars must be quoted for a shell. */
static const char *shell_text(struct tsim_arena *arena, const char *value) {
    return strpbrk(value, "()[]*|") ? tsim_arena_printf(arena, "'%s'", value) : value;
}

void tsim_write_arguments(struct tsim_launch_writer *w, const char *indent) {
    w->n_options = 0;
    tsim_gpt_options(w);
    for (size_t i = 0; i < w->n_options; i++) {
        const struct tsim_launch_option *o = &w->options[i];
        TSIM_WRITE(w, "%s--%s%s%s \\\n", indent, dashed(w->arena, o->key), o->value ? " " : "",
                   o->value ? shell_text(w->arena, o->value) : "");
    }
    if (w->launch == TSIM_LAUNCH_MEGATRON_CORE)
        TSIM_WRITE(w, "%s--mock-data \\\n", indent);
}

void tsim_write_megatron(struct tsim_launch_writer *w) {
    const struct tsim_cluster_spec *cluster = &w->scenario->cluster;
    TSIM_WRITE(w, "#!/bin/bash\n# %s, for %s. Arguments of this script (data, --train-iters) go to the program.\n",
               w->scenario->name, w->scenario->software->name);
    tsim_launch_write_carried(w, "");
    if (w->scenario->software->launch_blocking)
        TSIM_WRITE(w, "export CUDA_LAUNCH_BLOCKING=1\n");
    if (w->launch == TSIM_LAUNCH_MEGATRON_DEEPSPEED)
        TSIM_WRITE(w, "cat >ds_config.json <<'EOF'\n%s\nEOF\n", tsim_deepspeed_line(w));
    TSIM_WRITE(
        w,
        "torchrun --nnodes %lld --nproc-per-node %lld --node-rank \"${NODE_RANK:-0}\" \\\n"
        "    --master-addr \"${MASTER_ADDR:-localhost}\" --master-port \"${MASTER_PORT:-29500}\" \\\n    %s \\\n",
        (long long)cluster->nodes, (long long)cluster->accelerators_per_node, tsim_megatron_program(w));
    tsim_write_arguments(w, "    ");
    TSIM_WRITE(w, "    \"$@\"\n");
}
