#include "config/draft/scenario_draft.h"

#include <string.h>

void tsim_draft_init(struct tsim_draft *draft, const struct tsim_value *root) {
    static const enum tsim_axis order[TSIM_N_AXES] = {TSIM_AXIS_TENSOR, TSIM_AXIS_CONTEXT, TSIM_AXIS_EXPERT,
                                                      TSIM_AXIS_DATA, TSIM_AXIS_PIPELINE};
    memset(draft, 0, sizeof *draft);
    draft->root = root;
    draft->attention = -1;
    draft->schedule = -1;
    memcpy(draft->scenario.parallelism.order, order, sizeof order);
}

const struct tsim_value *tsim_draft_place(const struct tsim_draft *draft, const char *path) {
    char part[100];
    if (draft->root->n_items == 0)
        return draft->root;
    snprintf(part, sizeof part, "%s", path);
    for (;;) {
        const struct tsim_value *value = tsim_value_find_path(draft->root, part);
        char *dot = strrchr(part, '.');
        if (value || !dot)
            return value ? value : draft->root;
        *dot = '\0';
    }
}

bool tsim_draft_has(const struct tsim_draft *draft, const char *path) {
    return tsim_value_find_path(draft->root, path);
}
