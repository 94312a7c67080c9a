#include "import/launches/launch_writer.h"

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

int64_t tsim_launch_replicas(const struct tsim_launch_writer *w) {
    return w->scenario->n_accelerators / tsim_n_model_ranks(&w->scenario->parallelism);
}
