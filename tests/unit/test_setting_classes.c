/* The classes of foreign settings (models/settings/): every file is whole, and its rows say what the reader asks. */
#include "base/among.h"
#include "config/catalogue_load.h"
#include "config/text/document.h"
#include "import/setting_class.h"
#include "support/arena_rig.h"

#include <dirent.h>
#include <string.h>

static const struct tsim_value *document_of(const char *folder, const char *name) {
    const struct tsim_value *root = NULL;
    ck_assert_int_eq(tsim_document_read(&arena, tsim_arena_printf(&arena, "%s/%s", folder, name), &root, &diags),
                     TSIM_OK);
    return root;
}

/* Asserts that a row has nothing but what a reader asks for. */
static void check_row(const char *file, const struct tsim_value *row) {
    for (size_t i = 0; i < row->n_items; i++)
        ck_assert_msg(TSIM_IS_ONE_OF(row->pairs[i].key, "no_effect", "not_modelled", "refused", "why", "reason", "of",
                                     "prefix", "approximate"),
                      "%s: %s", file, row->pairs[i].key);
    ck_assert_msg(!tsim_value_find(row, "no_effect") || row->n_items == 1, "%s: a row of no effect has a why", file);
}

/* Asserts that some row names each of the reasons. */
static void check_reasons(const char *file, const struct tsim_value *reasons, const char *text) {
    for (size_t i = 0; reasons && i < reasons->n_items; i++)
        ck_assert_msg(strstr(text, tsim_arena_printf(&arena, "reason: %s\n", reasons->pairs[i].key)), "%s: %s", file,
                      reasons->pairs[i].key);
}

TSIM_TEST(files) {
    const char *folder = tsim_arena_printf(&arena, "%s/models/settings", tsim_catalogue_folder(&arena)), *all = "";
    DIR *entries = opendir(folder);
    size_t n = 0;
    ck_assert_ptr_nonnull(entries);
    for (const struct dirent *entry; (entry = readdir(entries));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "common.yaml") == 0)
            continue;
        const struct tsim_value *root = document_of(folder, entry->d_name), *rows = tsim_value_find(root, "settings");
        const char *text = root->document->text;
        struct tsim_setting_classes classes;
        ck_assert_int_eq(
            tsim_setting_classes_read(&arena, tsim_arena_strndup(&arena, entry->d_name, (size_t)(dot - entry->d_name)),
                                      &classes, &diags),
            TSIM_OK);
        ck_assert_uint_eq(classes.n, rows->n_items);
        for (size_t i = 0; i < rows->n_items; i++)
            check_row(entry->d_name, rows->items[i]);
        check_reasons(entry->d_name, tsim_value_find(root, "reasons"), text);
        all = tsim_arena_printf(&arena, "%s%s", all, text);
        n++;
    }
    closedir(entries);
    ck_assert_uint_ge(n, 17);
    check_reasons("common.yaml", tsim_value_find(document_of(folder, "common.yaml"), "reasons"), all);
}

TSIM_TEST(sections) { /* a section's rows count behind its prefix, and where the rows before it say nothing */
    struct tsim_setting_classes classes;
    struct tsim_value on = {.kind = TSIM_VALUE_SCALAR, .text = "true"};
    ck_assert_int_eq(tsim_setting_classes_read(&arena, "axolotl", &classes, &diags), TSIM_OK);
    const struct tsim_setting_class *apex = tsim_setting_class_of("deepspeed.amp.enabled", &on, &classes);
    ck_assert(apex && apex->changes_run && strstr(apex->why, "Apex"));
    ck_assert_ptr_null(tsim_setting_class_of("amp.enabled", &on, &classes));
    const struct tsim_setting_class *size =
        tsim_setting_class_of("overrides_of_model_config.vocab_size", &on, &classes);
    ck_assert(size && !size->why);
}

TSIM_MAIN(60, set_up, tear_down)
