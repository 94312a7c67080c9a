#define _XOPEN_SOURCE 700 /* realpath */
#include "base/file_bytes.h"

#include "base/caller.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static char confined_to[TSIM_MOST_CONFINED][PATH_MAX];
static size_t n_confined; /* 0: any file */

void tsim_files_confine(const char *const *folders, size_t n_folders) {
    TSIM_ASSERT(n_folders > 0 && n_folders <= TSIM_MOST_CONFINED);
    for (size_t i = 0; i < n_folders; i++)
        if (!realpath(folders[i], confined_to[i]))
            strcpy(confined_to[i], "/dev/null"); /* nothing is below it */
    n_confined = n_folders;
}

static bool is_outside(const char *file) {
    char real[PATH_MAX];
    if (n_confined == 0)
        return false;
    if (!realpath(file, real))
        return true;
    for (size_t i = 0; i < n_confined; i++) {
        size_t length = strlen(confined_to[i]);
        if (strncmp(real, confined_to[i], length) == 0 && real[length] == '/')
            return false;
    }
    return true;
}

int tsim_file_stat(const char *file, struct stat *info) {
    if (!is_outside(file))
        return stat(file, info);
    errno = ENOENT;
    return -1;
}

FILE *tsim_file_open(const char *file) {
    const struct tsim_lent *lent = tsim_caller_lent(file);
    if (lent)
        return fmemopen((void *)(uintptr_t)lent->text, lent->size, "r");
    if (!is_outside(file))
        return fopen(file, "rb");
    errno = ENOENT;
    return NULL;
}

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

static enum tsim_status copy_lent(const struct tsim_lent *lent, size_t most_bytes, const char *what,
                                  struct tsim_file_bytes *bytes, struct tsim_diags *diags) {
    if (lent->size > most_bytes)
        return too_large(bytes->file, most_bytes, what, diags);
    bytes->size = lent->size;
    bytes->text = tsim_heap_alloc(lent->size + 1);
    memcpy(bytes->text, lent->text, lent->size);
    bytes->text[lent->size] = '\0';
    return TSIM_OK;
}

enum tsim_status tsim_file_read(struct tsim_arena *arena, const char *file, size_t most_bytes, const char *what,
                                struct tsim_file_bytes *bytes, struct tsim_diags *diags) {
    bool is_stdin = strcmp(file, "-") == 0;
    const struct tsim_lent *lent = tsim_caller_lent(file);
    *bytes = (struct tsim_file_bytes){is_stdin ? "<stdin>" : tsim_arena_strdup(arena, file), NULL, 0};
    if (lent)
        return copy_lent(lent, most_bytes, what, bytes, diags);
    FILE *stream = is_stdin ? stdin : tsim_file_open(file);
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

size_t tsim_length_before(const char *name, const char *ending) {
    size_t length = strlen(name), n = strlen(ending);
    return length > n && strcmp(name + length - n, ending) == 0 ? length - n : 0;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

int tsim_folder_list(struct tsim_arena *arena, const char *folder, const char *ending, const char *const **names,
                     size_t *n_names) {
    struct dirent **items = NULL;
    const int n_items = scandir(folder, &items, NULL, by_name);
    if (n_items < 0)
        return errno;
    const char **kept = TSIM_NEW_ARRAY(arena, (size_t)n_items, const char *);
    *n_names = 0;
    for (int i = 0; i < n_items; i++) {
        if (tsim_length_before(items[i]->d_name, ending) > 0)
            kept[(*n_names)++] = tsim_arena_strdup(arena, items[i]->d_name);
        tsim_heap_free_foreign((char *)items[i]);
    }
    tsim_heap_free_foreign((char *)items);
    *names = kept;
    return 0;
}

bool tsim_bytes_have(const char *text, size_t size, const char *part) {
    const size_t length = strlen(part);
    for (const char *at = text, *end = text + size; (size_t)(end - at) >= length; at++) {
        at = memchr(at, part[0], (size_t)(end - at) - length + 1);
        if (!at)
            return false;
        if (memcmp(at, part, length) == 0)
            return true;
    }
    return false;
}
