/* realpath is an extension of X/Open. */
#define _XOPEN_SOURCE 700
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tsim_output {
    const char *name;   /* as the user gave it */
    char *final, *path; /* its final name, and the one that is written to; the same unless it is a regular file */
    FILE *stream;
    size_t place; /* in `open_paths` */
};

/* The one global that a run writes: a handler of signals has no other way to know. */
static _Atomic(char *) open_paths[TSIM_MOST_OUTPUTS];

void tsim_output_abandon_all(void) {
    for (size_t i = 0; i < TSIM_MOST_OUTPUTS; i++) {
        const char *path = atomic_exchange(&open_paths[i], NULL);
        if (path)
            unlink(path);
    }
}

static size_t remember(char *path) {
    static bool is_registered;
    size_t place = 0;
    if (!is_registered)
        is_registered = atexit(tsim_output_abandon_all) == 0;
    for (char *none = NULL; !atomic_compare_exchange_strong(&open_paths[place], &none, path); none = NULL, place++)
        TSIM_ASSERT(place + 1 < TSIM_MOST_OUTPUTS);
    return place;
}

enum tsim_status tsim_output_failed(const char *name, int error, struct tsim_diags *diags) {
    tsim_diags_error(diags, TSIM_ERR_IO, (struct tsim_place){.file = name}, "", "cannot write: %s",
                     error ? strerror(error) : "write error");
    return TSIM_ERR_IO;
}

/* /dev/stdout may lead to a regular file to which somebody redirected the output; it must not be replaced. */
static bool is_written_directly(const char *name, const struct stat *there) {
    return !S_ISREG(there->st_mode) || strncmp(name, "/dev/", 5) == 0 || strncmp(name, "/proc/", 6) == 0;
}

/* Opens the temporary file. A failure leaves errno. */
static FILE *open_temporary(struct tsim_arena *arena, struct tsim_output *output, const struct stat *there) {
    char target[PATH_MAX];
    if (there && (access(output->name, W_OK) != 0 || !realpath(output->name, target)))
        return NULL;
    output->final = tsim_arena_strdup(arena, there ? target : output->name);
    output->path = tsim_arena_printf(arena, "%s.%ld.tmp", output->final, (long)getpid());
    unlink(output->path);                   /* a process that had our number and was killed has left it */
    output->place = remember(output->path); /* before it is there: a signal may come between any two lines */
    int fd = open(output->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool is_open = fd >= 0 && (!there || fchmod(fd, there->st_mode & 07777) == 0);
    FILE *stream = is_open ? fdopen(fd, "w") : NULL;
    if (!stream) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        tsim_output_discard(output);
        errno = error;
    }
    return stream;
}

enum tsim_status tsim_output_open(struct tsim_arena *arena, const char *name, struct tsim_output **output,
                                  struct tsim_diags *diags) {
    struct tsim_output *opened = TSIM_NEW(arena, struct tsim_output);
    struct stat there;
    opened->name = tsim_arena_strdup(arena, name);
    bool is_there = stat(name, &there) == 0;
    errno = 0;
    if (is_there && is_written_directly(name, &there))
        opened->stream = fopen(name, "w");
    else if (!is_there && lstat(name, &there) == 0) /* a link that leads nowhere: errno says why */
        stat(name, &there);
    else
        opened->stream = open_temporary(arena, opened, is_there ? &there : NULL);
    if (!opened->stream)
        return tsim_output_failed(name, errno, diags); /* which outlives the arena of tsim_output_try */
    *output = opened;
    return TSIM_OK;
}

enum tsim_status tsim_output_try(const char *name, struct tsim_diags *diags) {
    struct tsim_output *output;
    struct tsim_arena arena;
    struct stat there;
    if (stat(name, &there) == 0 && is_written_directly(name, &there) && !S_ISDIR(there.st_mode))
        return TSIM_OK;
    tsim_arena_init(&arena);
    enum tsim_status status = tsim_output_open(&arena, name, &output, diags);
    if (status == TSIM_OK)
        tsim_output_discard(output);
    tsim_arena_release(&arena);
    return status;
}

FILE *tsim_output_stream(const struct tsim_output *output) {
    return output->stream;
}

void tsim_output_discard(struct tsim_output *output) {
    if (output->stream)
        fclose(output->stream);
    output->stream = NULL;
    if (!output->path)
        return;
    unlink(output->path);
    atomic_store(&open_paths[output->place], NULL);
    output->path = NULL;
}

enum tsim_status tsim_output_keep(struct tsim_output *output, struct tsim_diags *diags) {
    FILE *stream = output->stream;
    errno = 0;
    bool is_written = fflush(stream) == 0 && !ferror(stream);
    if (is_written && output->path)
        is_written = fsync(fileno(stream)) == 0;
    int error = errno;
    output->stream = NULL;
    if (fclose(stream) != 0 && is_written) {
        error = errno;
        is_written = false;
    }
    if (is_written && output->path && rename(output->path, output->final) != 0) {
        error = errno;
        is_written = false;
    }
    if (!is_written) {
        tsim_output_discard(output);
        return tsim_output_failed(output->name, error, diags);
    }
    if (output->path)
        atomic_store(&open_paths[output->place], NULL);
    return TSIM_OK;
}
