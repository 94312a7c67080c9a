#include "report/text_file.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

enum { BUFFER_SIZE = 1 << 18 };

struct tsim_text_file {
    const char *name;
    FILE *plain;
    gzFile packed;
    size_t n_bytes;
    int error; /* errno of the first write that failed */
    char buffer[BUFFER_SIZE];
};

static enum tsim_status cannot_write(const char *name, int error, struct tsim_diags *diags) {
    tsim_diags_error(diags, TSIM_ERR_IO, (struct tsim_place){.file = name}, "", "cannot write: %s",
                     error ? strerror(error) : "write error");
    return TSIM_ERR_IO;
}

static bool is_packed(const char *name) {
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".gz") == 0;
}

enum tsim_status tsim_text_file_open(struct tsim_arena *arena, const char *name, struct tsim_text_file **file,
                                     struct tsim_diags *diags) {
    struct tsim_text_file *opened = TSIM_NEW(arena, struct tsim_text_file);
    opened->name = name;
    errno = 0;
    if (is_packed(name))
        opened->packed = gzopen(name, "wb1"); /* the fastest level: traces are as repetitive as text can be */
    else
        opened->plain = fopen(name, "w");
    if (!opened->packed && !opened->plain)
        return cannot_write(name, errno, diags);
    *file = opened;
    return TSIM_OK;
}

static void flush(struct tsim_text_file *file) {
    size_t n_bytes = file->n_bytes;
    file->n_bytes = 0;
    if (file->error || n_bytes == 0)
        return;
    errno = 0;
    bool is_written = file->packed ? gzwrite(file->packed, file->buffer, (unsigned)n_bytes) == (int)n_bytes
                                   : fwrite(file->buffer, 1, n_bytes, file->plain) == n_bytes;
    if (!is_written)
        file->error = errno ? errno : EIO;
}

void tsim_text_file_put(struct tsim_text_file *file, const char *text, size_t n_bytes) {
    while (n_bytes > 0) {
        size_t room = BUFFER_SIZE - file->n_bytes, part = n_bytes < room ? n_bytes : room;
        memcpy(file->buffer + file->n_bytes, text, part);
        file->n_bytes += part;
        text += part;
        n_bytes -= part;
        if (file->n_bytes == BUFFER_SIZE)
            flush(file);
    }
}

/* By hand: a trace is mostly numbers, and printf takes several times as long. */
void tsim_text_file_put_fixed(struct tsim_text_file *file, int64_t value, int decimals) {
    char text[48], *at = text + sizeof text;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    for (int i = 0; i < decimals; i++, rest /= 10)
        *--at = (char)('0' + rest % 10);
    if (decimals > 0)
        *--at = '.';
    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (value < 0)
        *--at = '-';
    tsim_text_file_put(file, at, (size_t)(text + sizeof text - at));
}

enum tsim_status tsim_text_file_close(struct tsim_text_file *file, struct tsim_diags *diags) {
    flush(file);
    errno = 0;
    bool is_closed = file->packed ? gzclose(file->packed) == Z_OK : fclose(file->plain) == 0;
    if (!is_closed && !file->error)
        file->error = errno ? errno : EIO;
    return file->error ? cannot_write(file->name, file->error, diags) : TSIM_OK;
}
