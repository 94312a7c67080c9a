/* import_rig.h - texts in the formats of others, and the scenarios that they become. */
#pragma once

#include "import/formats.h"
#include "support/training_rig.h"

#include <string.h>

static inline enum tsim_status import_text(const char *format, const char *text, int64_t gpus,
                                           struct tsim_import_result *result) {
    struct tsim_import_input input = {.file = "file.yaml", .text = text, .size = strlen(text), .gpus = gpus};
    *result = (struct tsim_import_result){0};
    return tsim_import_format_find(format)->read(&arena, &input, result, &diags);
}

static inline const struct tsim_scenario *imported(const char *format, const char *text, int64_t gpus) {
    struct tsim_import_result result;
    enum tsim_status status = import_text(format, text, gpus, &result);
    ck_assert_msg(status == TSIM_OK, "%s", diags.n_items > 0 ? diags.items[diags.n_items - 1].message : "");
    return load_text(result.yaml);
}

/* Compares the setting of the first mistake. */
static inline void check_refused(const char *format, const char *text, const char *setting) {
    struct tsim_import_result result;
    size_t i = 0;
    diags.n_items = diags.n_errors = diags.n_warnings = 0;
    ck_assert_msg(import_text(format, text, 0, &result) != TSIM_OK, "%s", text);
    while (i < diags.n_items && diags.items[i].is_warning)
        i++;
    ck_assert_uint_lt(i, diags.n_items);
    ck_assert_msg(strcmp(diags.items[i].field, setting) == 0, "%s: %s", diags.items[i].field, diags.items[i].message);
}
