#include "import/launches/launch_writer.h"

#include "import/launches/launch_words.h"

#include <ctype.h>
#include <string.h>

const char *tsim_launch_text(const struct tsim_launch_writer *w, const char *path) {
    const struct tsim_value *value = tsim_value_find_path(w->resolved, path);
    return value && value->kind == TSIM_VALUE_SCALAR ? value->text : "";
}

void tsim_launch_write_carried(struct tsim_launch_writer *w, const char *indent) {
    for (size_t i = 0; i < w->n_carried; i++)
        TSIM_WRITE(w, "%s%s%s\n", indent, TSIM_CARRIED, w->carried[i]);
}

const char *tsim_launch_job_name(const struct tsim_launch_writer *w) {
    enum { MOST = 52 }; /* a label of DNS has 63, and a pod's number comes behind */
    char *name = tsim_arena_strndup(w->arena, w->scenario->name,
                                    strlen(w->scenario->name) < MOST ? strlen(w->scenario->name) : MOST);
    for (char *c = name; *c; c++)
        *c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '-';
    for (size_t n = strlen(name); n > 0 && name[n - 1] == '-'; n--)
        name[n - 1] = '\0';
    return isalpha((unsigned char)name[0]) ? name : tsim_arena_printf(w->arena, "run-%s", name);
}

bool tsim_launch_is_core(const struct tsim_launch_writer *w) {
    return w->launch == TSIM_LAUNCH_MEGATRON_CORE || w->launch == TSIM_LAUNCH_NEMO;
}

static bool has_word(const struct tsim_value *entry, const char *key, const char *word) {
    const struct tsim_value *value = tsim_value_find(entry, key);
    return value && tsim_value_is_text(value, word);
}

char tsim_launch_hybrid_letter(const struct tsim_value *entry) {
    const struct tsim_hybrid_block *block = tsim_hybrid_blocks;
    while (block->letter &&
           !(has_word(entry, "kind", block->kind) && has_word(entry, "feed_forward", block->feed_forward)))
        block++;
    return block->letter;
}

bool tsim_launch_is_hybrid(const struct tsim_launch_writer *w) {
    return w->launch == TSIM_LAUNCH_MEGATRON_CORE && w->scenario->model->mamba.heads > 0;
}

const enum tsim_axis *tsim_launch_tp_pp_dp(const struct tsim_launch_writer *w) {
    bool is_its = memcmp(w->scenario->parallelism.order, tsim_tp_pp_dp_order, sizeof tsim_tp_pp_dp_order) == 0;
    return is_its && tsim_launch_is_core(w) ? tsim_tp_pp_dp_order : NULL;
}

int64_t tsim_launch_replicas(const struct tsim_launch_writer *w) {
    return w->scenario->n_accelerators / tsim_n_model_ranks(&w->scenario->parallelism);
}
