#include "config/files/vendor.h"

#include "config/catalogue_load.h"
#include "config/text/document.h"

static const char *text_of(const struct tsim_value *row, const char *key, const char *otherwise) {
    const struct tsim_value *value = row ? tsim_value_find(row, key) : NULL;
    return value ? value->text : otherwise;
}

struct tsim_vendor tsim_vendor_find(struct tsim_arena *arena, const char *name) {
    const char *folder = tsim_catalogue_folder(arena);
    const struct tsim_value *table, *row = NULL;
    struct tsim_diags unheard;
    tsim_diags_init(&unheard);
    if (name && folder &&
        tsim_document_read(arena, tsim_arena_printf(arena, "%s/hardware/vendors.yaml", folder), &table, &unheard) ==
            TSIM_OK)
        row = tsim_value_find(table, name);
    tsim_diags_release(&unheard);
    return (struct tsim_vendor){.device = text_of(row, "device", "accelerator"),
                                .kubernetes_resource = text_of(row, "kubernetes_resource", NULL)};
}
