/* text_file.h - text streamed to a file, a large buffer at a time; compressed when the file's name ends in ".gz". The
 * file is there when it is whole (base/output.h). */
#ifndef TSIM_REPORT_TEXT_FILE_H
#define TSIM_REPORT_TEXT_FILE_H

#include "base/file_bytes.h"

struct tsim_text_file; /* an open file */

/* A failure is TSIM_ERR_IO with one diagnostic that names the file. */
enum tsim_status tsim_text_file_open(struct tsim_arena *arena, const char *name, struct tsim_text_file **file,
                                     struct tsim_diags *diags);
/* Nothing fails before the end: after a failed write the rest is dropped. */
void tsim_text_file_put(struct tsim_text_file *file, const char *text, size_t n_bytes);
/* Room for a line of at most so many bytes, which its writer fills and ends with where it stopped. */
enum { TSIM_TEXT_FILE_LINE = 1024 };
char *tsim_text_file_line(struct tsim_text_file *file);
void tsim_text_file_end_line(struct tsim_text_file *file, const char *end);
/* Says whether everything was written; if not, the file is as it was before. */
enum tsim_status tsim_text_file_close(struct tsim_text_file *file, struct tsim_diags *diags);
void tsim_text_file_discard(struct tsim_text_file *file);

/* The whole of a file, unpacked where it is packed (whatever its name), up to most_bytes of text. As tsim_file_read. */
enum tsim_status tsim_text_file_read(struct tsim_arena *arena, const char *file, size_t most_bytes, const char *what,
                                     struct tsim_file_bytes *bytes, struct tsim_diags *diags);

#endif
