#include "import/format.h"

#include "config/document.h"
#include "import/hf_config.h"
#include "import/recipes.h"

#include <errno.h>
#include <string.h>

static enum tsim_status read_hf_config(struct tsim_arena *arena, const struct tsim_import_input *input,
                                       struct tsim_import_result *result, struct tsim_diags *diags) {
    const struct tsim_value *root;
    const struct tsim_model *model;
    TSIM_TRY(tsim_document_parse(arena, input->file, input->text, input->size, &root, diags));
    result->notes = "";
    return tsim_hf_config_import(arena, root, &model, &result->yaml, diags);
}

const struct tsim_import_format TSIM_IMPORT_FORMATS[] = {
    {"hf-config", "config.json of Hugging Face: a model", false, TSIM_DOCUMENT_MAX_BYTES, read_hf_config},
    {"megatron", "Megatron-LM's command line, launch script or YAML: a scenario", true, TSIM_IMPORT_MAX_BYTES,
     tsim_import_megatron},
    {"nemo", "YAML recipe of NeMo: a scenario", true, TSIM_DOCUMENT_MAX_BYTES, tsim_import_nemo},
    {"deepspeed", "DeepSpeed's JSON: a scenario", true, TSIM_DOCUMENT_MAX_BYTES, tsim_import_deepspeed},
    {"torchtitan", "TOML configuration of torchtitan: a scenario", true, TSIM_IMPORT_MAX_BYTES, tsim_import_torchtitan},
};
const size_t TSIM_N_IMPORT_FORMATS = sizeof TSIM_IMPORT_FORMATS / sizeof TSIM_IMPORT_FORMATS[0];

const struct tsim_import_format *tsim_import_format_find(const char *name) {
    for (size_t i = 0; i < TSIM_N_IMPORT_FORMATS; i++)
        if (strcmp(TSIM_IMPORT_FORMATS[i].name, name) == 0)
            return &TSIM_IMPORT_FORMATS[i];
    return NULL;
}

static enum tsim_status too_large(const struct tsim_import_format *format, const char *file, struct tsim_diags *diags) {
    tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_LIMIT, (struct tsim_place){file, 0, 0}, "",
                                    "the file is larger than %zu MB", format->most_bytes / 1000000),
                   "%s: is this the right file?", format->help);
    return TSIM_ERR_LIMIT;
}

/* Reads to the end or just past the limit, so that an endless input (a device) ends as well. */
static enum tsim_status read_stream(struct tsim_arena *arena, const struct tsim_import_format *format,
                                    struct tsim_import_input *input, FILE *stream, struct tsim_import_result *result,
                                    struct tsim_diags *diags) {
    char *text = NULL;
    size_t size = 0, capacity = 0, n_read;
    do {
        text = tsim_heap_grow(text, &capacity, size + BUFSIZ, 1);
        n_read = fread(text + size, 1, BUFSIZ, stream);
        size += n_read;
    } while (n_read > 0 && size <= format->most_bytes);
    enum tsim_status status = TSIM_ERR_IO;
    input->text = text;
    input->size = size;
    if (ferror(stream))
        tsim_diags_error(diags, status, (struct tsim_place){input->file, 0, 0}, "", "cannot be read: %s",
                         strerror(errno));
    else if (size > format->most_bytes)
        status = too_large(format, input->file, diags);
    else
        status = format->read(arena, input, result, diags);
    tsim_heap_free(text);
    return status;
}

enum tsim_status tsim_import_file(struct tsim_arena *arena, const struct tsim_import_format *format, const char *file,
                                  const struct tsim_override *overrides, size_t n_overrides,
                                  struct tsim_import_result *result, struct tsim_diags *diags) {
    struct tsim_import_input input = {"<stdin>", NULL, 0, overrides, n_overrides};
    if (strcmp(file, "-") == 0)
        return read_stream(arena, format, &input, stdin, result, diags);
    input.file = tsim_arena_strdup(arena, file);
    FILE *stream = fopen(file, "rb");
    if (!stream) {
        tsim_diags_error(diags, TSIM_ERR_IO, (struct tsim_place){input.file, 0, 0}, "", "cannot be opened: %s",
                         strerror(errno));
        return TSIM_ERR_IO;
    }
    enum tsim_status status = read_stream(arena, format, &input, stream, result, diags);
    fclose(stream);
    return status;
}

void tsim_import_bytes(const char *format, const char *text, size_t size) {
    const struct tsim_import_format *found = tsim_import_format_find(format);
    struct tsim_import_input input = {"<bytes>", text, size, NULL, 0};
    struct tsim_import_result result;
    struct tsim_arena arena;
    struct tsim_diags diags;
    if (!found || size > found->most_bytes)
        return;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    found->read(&arena, &input, &result, &diags);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
}
