#include "base/file_bytes.h"

#include <errno.h>
#include <string.h>

static enum tsim_status too_large(const char *file, size_t most_bytes, const char *what, struct tsim_diags *diags) {
    tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_LIMIT, (struct tsim_place){file, 0, 0}, "",
                                    "the file is larger than %zu MB", most_bytes / 1000000),
                   "%s: is this the right file?", what);
    return TSIM_ERR_LIMIT;
}

static enum tsim_status read_stream(FILE *stream, size_t most_bytes, const char *what, struct tsim_file_bytes *bytes,
                                    struct tsim_diags *diags) {
    char *text = NULL;
    size_t size = 0, capacity = 0, n_read;
    do {
        text = tsim_heap_grow(text, &capacity, size + BUFSIZ + 1, 1);
        n_read = fread(text + size, 1, BUFSIZ, stream);
        size += n_read;
    } while (n_read > 0 && size <= most_bytes);
    text[size] = '\0';
    enum tsim_status status = TSIM_OK;
    if (ferror(stream)) {
        tsim_diags_error(diags, status = TSIM_ERR_IO, (struct tsim_place){bytes->file, 0, 0}, "", "cannot be read: %s",
                         strerror(errno));
    } else if (size > most_bytes) {
        status = too_large(bytes->file, most_bytes, what, diags);
    } else {
        bytes->text = text;
        bytes->size = size;
        return TSIM_OK;
    }
    tsim_heap_free(text);
    return status;
}

enum tsim_status tsim_file_read(struct tsim_arena *arena, const char *file, size_t most_bytes, const char *what,
                                struct tsim_file_bytes *bytes, struct tsim_diags *diags) {
    bool is_stdin = strcmp(file, "-") == 0;
    *bytes = (struct tsim_file_bytes){is_stdin ? "<stdin>" : tsim_arena_strdup(arena, file), NULL, 0};
    FILE *stream = is_stdin ? stdin : fopen(file, "rb");
    if (!stream) {
        tsim_diags_error(diags, TSIM_ERR_IO, (struct tsim_place){bytes->file, 0, 0}, "", "cannot be opened: %s",
                         strerror(errno));
        return TSIM_ERR_IO;
    }
    enum tsim_status status = read_stream(stream, most_bytes, what, bytes, diags);
    if (!is_stdin)
        fclose(stream);
    return status;
}
