#include "import/models/hf_keys.h"

#include "import/overrides.h"
#include "import/setting_class.h"

#include <string.h>

enum tsim_status tsim_hf_keys_check(struct tsim_arena *arena, const struct tsim_value *root, const bool *is_used,
                                    bool is_stand_in, const struct tsim_import_input *input, struct tsim_diags *diags,
                                    const char **notes, bool *is_approximate) {
    struct tsim_setting_classes classes;
    enum tsim_status status = tsim_setting_classes_read(arena, "hf-config", &classes, diags);
    for (size_t i = 0; i < root->n_items && classes.n > 0; i++) {
        const struct tsim_pair *pair = &root->pairs[i];
        if (is_used[i] || tsim_value_is_off(pair->value) || tsim_import_ignores(input, pair->key))
            continue;
        const struct tsim_setting_class *class = tsim_setting_class_of(pair->key, pair->value, &classes);
        if (class && !class->why)
            continue;
        const char *key = tsim_arena_strndup(arena, pair->key, strlen(pair->key) < 60 ? strlen(pair->key) : 60);
        bool is_near = class ? class->is_near : is_stand_in;
        if (is_near && input->approximates) {
            *notes = tsim_arena_printf(arena, "%s# approximate: %s is left out (%s).\n", *notes, key,
                                       class ? class->why : "tsim does not know it");
            *is_approximate = true;
            continue;
        }
        tsim_diag_hint(
            tsim_value_error(diags, TSIM_ERR_INFEASIBLE, pair->value, key, "%s",
                             class ? class->why : "tsim does not know this key, nor whether it changes the model"),
            "--ignore %s imports the file as if it were not there%s", key,
            is_near ? "; --approximate all such parts" : "");
        status = TSIM_ERR_INFEASIBLE;
    }
    return status;
}
