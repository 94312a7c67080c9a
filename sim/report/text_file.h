/* text_file.h - text streamed to a file, a large buffer at a time, and compressed if the file's name ends in ".gz". The
 * file appears when it is complete (base/output.h). */
#pragma once

#include "base/file_bytes.h"

struct tsim_text_file; /* an open file */

/* Opens a file. A failure is TSIM_ERR_IO, with one diagnostic that names the file. */
enum tsim_status tsim_text_file_open(struct tsim_arena *arena, const char *name, struct tsim_text_file **file,
                                     struct tsim_diags *diags);
/* Writes text. It never fails: after a failed write the rest is dropped, and tsim_text_file_close reports it. */
void tsim_text_file_put(struct tsim_text_file *file, const char *text, size_t n_bytes);
/* Gives room for a line of at most this many bytes, which the writer fills; the second function is told where the line
 * ends. */
enum { TSIM_TEXT_FILE_LINE = 1024 };
char *tsim_text_file_line(struct tsim_text_file *file);
void tsim_text_file_end_line(struct tsim_text_file *file, const char *end);
/* Closes the file, and says whether everything was written; if not, the file stays as it was before. */
enum tsim_status tsim_text_file_close(struct tsim_text_file *file, struct tsim_diags *diags);
void tsim_text_file_discard(struct tsim_text_file *file);

/* Reads the whole of a file, unpacked if it is packed (whatever its name), up to most_bytes of text, as tsim_file_read
 * does. */
enum tsim_status tsim_text_file_read(struct tsim_arena *arena, const char *file, size_t most_bytes, const char *what,
                                     struct tsim_file_bytes *bytes, struct tsim_diags *diags);
