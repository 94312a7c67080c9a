#include "import/format.h"

#include "config/document.h"
#include "import/hf_config.h"

static enum tsim_status read_hf_config(struct tsim_arena *arena, const char *file, const char **yaml,
                                       struct tsim_diags *diags) {
    const struct tsim_value *root;
    const struct tsim_model *model;
    TSIM_TRY(tsim_document_read(arena, file, &root, diags));
    return tsim_hf_config_import(arena, root, &model, yaml, diags);
}

const struct tsim_import_format TSIM_IMPORT_FORMATS[] = {{"hf-config", read_hf_config}};
const size_t TSIM_N_IMPORT_FORMATS = sizeof TSIM_IMPORT_FORMATS / sizeof TSIM_IMPORT_FORMATS[0];
