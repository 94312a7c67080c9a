/* text_file.h - text streamed to a file, a large buffer at a time; compressed when the file's name ends in ".gz". The
 * file is there when it is whole (base/output.h). */
#ifndef TSIM_REPORT_TEXT_FILE_H
#define TSIM_REPORT_TEXT_FILE_H

#include "base/arena.h"
#include "base/status.h"

struct tsim_text_file; /* an open file */

/* A failure is TSIM_ERR_IO with one diagnostic that names the file. */
enum tsim_status tsim_text_file_open(struct tsim_arena *arena, const char *name, struct tsim_text_file **file,
                                     struct tsim_diags *diags);
/* Nothing fails before the end: after a failed write the rest is dropped. */
void tsim_text_file_put(struct tsim_text_file *file, const char *text, size_t n_bytes);
/* `value` / 10^decimals. */
void tsim_text_file_put_fixed(struct tsim_text_file *file, int64_t value, int decimals);
/* Says whether everything was written; if not, the file is as it was before. */
enum tsim_status tsim_text_file_close(struct tsim_text_file *file, struct tsim_diags *diags);
void tsim_text_file_discard(struct tsim_text_file *file);

#endif
