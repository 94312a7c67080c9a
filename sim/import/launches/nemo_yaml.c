/* NeMo's YAML: trainer, exp_manager and model, as examples/nlp/language_modeling/conf of NVIDIA/NeMo has them. */
#include "import/launches/launch_writer.h"

#include <string.h>

/* Several numbers are a list. */
static const char *yaml_text(struct tsim_arena *arena, const char *value) {
    if (!value)
        return "true";
    if (strpbrk(value, "()[]*"))
        return tsim_arena_printf(arena, "\"%s\"", value);
    char *list = tsim_arena_printf(arena, strchr(value, ' ') ? "[%s]" : "%s", value);
    for (char *c = list; *c; c++)
        *c = *c == ' ' ? ',' : *c;
    return list;
}

void tsim_write_nemo(struct tsim_launch_writer *w) {
    const struct tsim_cluster_spec *cluster = &w->scenario->cluster;
    w->n_options = 0;
    tsim_gpt_options(w);
    TSIM_WRITE(w, "# %s, for %s.\n", w->scenario->name, w->scenario->software->name);
    tsim_launch_write_carried(w, "");
    TSIM_WRITE(w, "trainer:\n  num_nodes: %lld\n  devices: %lld\n", (long long)cluster->nodes,
               (long long)cluster->accelerators_per_node);
    for (size_t i = 0; i < w->n_options; i++)
        if (strcmp(w->options[i].key, "precision") == 0 || strcmp(w->options[i].key, "max_steps") == 0)
            TSIM_WRITE(w, "  %s: %s\n", w->options[i].key, yaml_text(w->arena, w->options[i].value));
    TSIM_WRITE(w, "model:\n");
    for (size_t i = 0; i < w->n_options; i++) {
        const char *key = w->options[i].key;
        if (strcmp(key, "precision") != 0 && strcmp(key, "max_steps") != 0 && strncmp(key, "optim.", 6) != 0)
            TSIM_WRITE(w, "  %s: %s\n", key, yaml_text(w->arena, w->options[i].value));
    }
    TSIM_WRITE(w, "  optim:\n");
    for (size_t i = 0; i < w->n_options; i++)
        if (strncmp(w->options[i].key, "optim.", 6) == 0)
            TSIM_WRITE(w, "    %s: %s\n", w->options[i].key + 6, yaml_text(w->arena, w->options[i].value));
}
