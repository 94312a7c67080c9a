#include "report/text_file.h"

#include "base/output.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER_SIZE = 1 << 16 };

/* A .gz file is packed by a thread of its own, which takes as long as what writes the text: one buffer is filled while
 * the other one is packed. */
struct packer {
    gzFile out;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards all that follows */
    pthread_cond_t changed;
    const char *text; /* what is to be packed now; NULL: nothing */
    size_t n_bytes;
    bool is_over;
    int error;
};

struct tsim_text_file {
    const char *name;
    struct tsim_output *output;
    FILE *plain;
    struct packer *packer; /* or `plain` */
    size_t n_bytes;
    int error; /* errno of the first write that failed */
    char *buffer;
    char buffers[2][BUFFER_SIZE];
};

static bool is_packed(const char *name) {
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".gz") == 0;
}

/* ---- packing ---- */

static void *pack(void *context) {
    struct packer *packer = context;
    pthread_mutex_lock(&packer->mutex);
    for (;;) {
        while (!packer->text && !packer->is_over)
            pthread_cond_wait(&packer->changed, &packer->mutex);
        if (!packer->text)
            break;
        pthread_mutex_unlock(&packer->mutex);
        errno = 0;
        int n_written = gzwrite(packer->out, packer->text, (unsigned)packer->n_bytes);
        int error = n_written == (int)packer->n_bytes ? 0 : errno ? errno : EIO;
        pthread_mutex_lock(&packer->mutex);
        packer->text = NULL;
        packer->error = packer->error ? packer->error : error;
        pthread_cond_signal(&packer->changed);
    }
    pthread_mutex_unlock(&packer->mutex);
    return NULL;
}

/* zlib closes what it writes to: a second descriptor of the same file, at the fastest level, as traces are as
 * repetitive as text can be. */
static gzFile open_packed(FILE *plain) {
    errno = 0;
    int fd = dup(fileno(plain));
    gzFile out = fd >= 0 ? gzdopen(fd, "wb1") : NULL;
    int error = errno ? errno : ENOMEM;
    if (!out && fd >= 0)
        close(fd);
    errno = error;
    return out;
}

static struct packer *open_packer(struct tsim_arena *arena, FILE *plain) {
    struct packer *packer = TSIM_NEW(arena, struct packer);
    packer->out = open_packed(plain);
    if (!packer->out)
        return NULL;
    gzbuffer(packer->out, BUFFER_SIZE);
    pthread_mutex_init(&packer->mutex, NULL);
    pthread_cond_init(&packer->changed, NULL);
    int error = pthread_create(&packer->thread, NULL, pack, packer);
    if (error == 0)
        return packer;
    gzclose(packer->out);
    errno = error;
    return NULL;
}

/* Waits until the text before has been packed. */
static int hand_over(struct packer *packer, const char *text, size_t n_bytes) {
    pthread_mutex_lock(&packer->mutex);
    while (packer->text)
        pthread_cond_wait(&packer->changed, &packer->mutex);
    packer->text = text;
    packer->n_bytes = n_bytes;
    int error = packer->error;
    pthread_cond_signal(&packer->changed);
    pthread_mutex_unlock(&packer->mutex);
    return error;
}

static int close_packer(struct packer *packer) {
    pthread_mutex_lock(&packer->mutex);
    packer->is_over = true;
    pthread_cond_signal(&packer->changed);
    pthread_mutex_unlock(&packer->mutex);
    pthread_join(packer->thread, NULL);
    pthread_cond_destroy(&packer->changed);
    pthread_mutex_destroy(&packer->mutex);
    errno = 0;
    int status = gzclose(packer->out);
    if (packer->error)
        return packer->error;
    return status == Z_OK ? 0 : errno ? errno : EIO;
}

/* ---- the file ---- */

enum tsim_status tsim_text_file_open(struct tsim_arena *arena, const char *name, struct tsim_text_file **file,
                                     struct tsim_diags *diags) {
    struct tsim_text_file *opened = TSIM_NEW(arena, struct tsim_text_file);
    opened->name = name;
    opened->buffer = opened->buffers[0];
    TSIM_TRY(tsim_output_open(arena, name, &opened->output, diags));
    opened->plain = tsim_output_stream(opened->output);
    if (is_packed(name) && !(opened->packer = open_packer(arena, opened->plain))) {
        int error = errno;
        tsim_output_discard(opened->output);
        return tsim_output_failed(opened->name, error, diags);
    }
    *file = opened;
    return TSIM_OK;
}

static int write_plain(FILE *out, const char *text, size_t n_bytes) {
    errno = 0;
    if (fwrite(text, 1, n_bytes, out) == n_bytes)
        return 0;
    return errno ? errno : EIO;
}

static void flush(struct tsim_text_file *file) {
    const char *text = file->buffer;
    size_t n_bytes = file->n_bytes;
    file->n_bytes = 0;
    if (file->error || n_bytes == 0)
        return;
    if (file->packer)
        file->buffer = text == file->buffers[0] ? file->buffers[1] : file->buffers[0];
    file->error = file->packer ? hand_over(file->packer, text, n_bytes) : write_plain(file->plain, text, n_bytes);
}

static void put_far(struct tsim_text_file *file, const char *text, size_t n_bytes) {
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

void tsim_text_file_put(struct tsim_text_file *file, const char *text, size_t n_bytes) {
    if (n_bytes >= BUFFER_SIZE - file->n_bytes) {
        put_far(file, text, n_bytes);
        return;
    }
    memcpy(file->buffer + file->n_bytes, text, n_bytes);
    file->n_bytes += n_bytes;
}

char *tsim_text_file_line(struct tsim_text_file *file) {
    if (BUFFER_SIZE - file->n_bytes < TSIM_TEXT_FILE_LINE)
        flush(file);
    return file->buffer + file->n_bytes;
}

void tsim_text_file_end_line(struct tsim_text_file *file, const char *end) {
    file->n_bytes = (size_t)(end - file->buffer);
}

enum tsim_status tsim_text_file_close(struct tsim_text_file *file, struct tsim_diags *diags) {
    flush(file);
    errno = 0;
    int error = file->packer ? close_packer(file->packer) : 0;
    file->error = file->error ? file->error : error;
    if (!file->error)
        return tsim_output_keep(file->output, diags);
    tsim_output_discard(file->output);
    return tsim_output_failed(file->name, file->error, diags);
}

void tsim_text_file_discard(struct tsim_text_file *file) {
    if (file->packer)
        close_packer(file->packer);
    tsim_output_discard(file->output);
}

/* ---- reading ---- */

static enum tsim_status read_packed(gzFile in, size_t most_bytes, const char *what, struct tsim_file_bytes *bytes,
                                    struct tsim_diags *diags) {
    char *text = NULL;
    size_t size = 0, capacity = 0;
    int n_read, code;
    do {
        text = tsim_heap_grow(text, &capacity, size + BUFFER_SIZE + 1, 1);
        n_read = gzread(in, text + size, BUFFER_SIZE);
        size += n_read > 0 ? (size_t)n_read : 0;
    } while (n_read > 0 && size <= most_bytes);
    text[size] = '\0';
    const char *problem = gzerror(in, &code);
    if (n_read >= 0 && size <= most_bytes) {
        bytes->text = text;
        bytes->size = size;
        return TSIM_OK;
    }
    tsim_heap_free(text);
    struct tsim_place place = {.file = bytes->file};
    if (n_read < 0) {
        tsim_diags_error(diags, TSIM_ERR_IO, place, "", "cannot be read: %s",
                         code == Z_ERRNO ? strerror(errno) : problem);
        return TSIM_ERR_IO;
    }
    tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_LIMIT, place, "", "the file is larger than %zu MB, unpacked",
                                    most_bytes / 1000000),
                   "%s: one step of one rank is enough", what);
    return TSIM_ERR_LIMIT;
}

enum tsim_status tsim_text_file_read(struct tsim_arena *arena, const char *file, size_t most_bytes, const char *what,
                                     struct tsim_file_bytes *bytes, struct tsim_diags *diags) {
    if (strcmp(file, "-") == 0)
        return tsim_file_read(arena, file, most_bytes, what, bytes, diags);
    *bytes = (struct tsim_file_bytes){tsim_arena_strdup(arena, file), NULL, 0};
    errno = 0;
    gzFile in = gzopen(file, "rb");
    if (!in) {
        tsim_diags_error(diags, TSIM_ERR_IO, (struct tsim_place){.file = bytes->file}, "", "cannot be opened: %s",
                         errno ? strerror(errno) : "out of memory");
        return TSIM_ERR_IO;
    }
    enum tsim_status status = read_packed(in, most_bytes, what, bytes, diags);
    gzclose(in);
    return status;
}
