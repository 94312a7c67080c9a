/* file_bytes.h - reading the whole of a file, up to a limit, and the names of a folder's files. */
#pragma once

#include "base/arena.h"
#include "base/status.h"

#include <sys/stat.h>

struct tsim_file_bytes {
    const char *file; /* the name for places in messages; "<stdin>" for standard input */
    char *text;       /* on the heap, for tsim_heap_free; a NUL follows the last byte */
    size_t size;
};

/* Confines the process to files below these folders, because a server reads scenarios of strangers, which may name any
 * path. Call it before threads are started. The names are copied, and a folder that is not there holds nothing. */
enum { TSIM_MOST_CONFINED = 4 };
void tsim_files_confine(const char *const *folders, size_t n_folders);

/* These work as stat and fopen(file, "rb") do, and also find what the thread's caller has lent (caller.h). If files are
 * confined, one outside is reported as missing (ENOENT), whether it exists or not. */
int tsim_file_stat(const char *file, struct stat *info);
FILE *tsim_file_open(const char *file);

/* Reads `file` ("-" is standard input) to its end or just past the limit, so that an endless input ends as well.
 * Returns TSIM_ERR_IO on failure, and TSIM_ERR_LIMIT for more than most_bytes; the hint is then `what`, which says what
 * the file should be. */
enum tsim_status tsim_file_read(struct tsim_arena *arena, const char *file, size_t most_bytes, const char *what,
                                struct tsim_file_bytes *bytes, struct tsim_diags *diags);

/* Returns the length of the name without the ending, or 0 if it does not end so (or is nothing else). */
size_t tsim_length_before(const char *name, const char *ending);

/* Lists the names in a folder that end so, sorted, in the arena. Returns 0, or errno if the folder cannot be read. */
int tsim_folder_list(struct tsim_arena *arena, const char *folder, const char *ending, const char *const **names,
                     size_t *n_names);

/* Returns whether the bytes contain `part`, which is not empty. The bytes need no NUL at their end. */
bool tsim_bytes_have(const char *text, size_t size, const char *part);
