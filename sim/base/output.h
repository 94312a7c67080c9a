/* output.h - files that are written as a whole or not at all. Writing goes to NAME.PID.tmp beside the file, which is
 * brought to the disk and renamed when everything is written. Until then NAME is what it was. After a failure, an exit
 * or a signal that can be caught, the temporary file is removed; a kill -9 leaves it.
 *
 * A file that is not regular (/dev/null, /dev/stdout, a pipe) is written to directly. A symbolic link stays one, and
 * the permissions of a file that was there stay as they were. At most TSIM_MOST_OUTPUTS are open at a time, all by one
 * thread. */
#pragma once

#include "base/arena.h"
#include "base/status.h"

enum { TSIM_MOST_OUTPUTS = 8 };

struct tsim_output; /* an open file */

/* Opens a file for writing. A failure is TSIM_ERR_IO, with one diagnostic that names the file. */
enum tsim_status tsim_output_open(struct tsim_arena *arena, const char *name, struct tsim_output **output,
                                  struct tsim_diags *diags);
/* Fails if tsim_output_open would fail, and leaves nothing behind. Call it before work that takes long. Files that are
 * not regular are left alone, since to open them may block or be noticed. */
enum tsim_status tsim_output_try(const char *name, struct tsim_diags *diags);
FILE *tsim_output_stream(const struct tsim_output *output);

/* Puts the file in its place. If anything written to the stream failed, it adds a diagnostic and leaves nothing
 * behind. */
enum tsim_status tsim_output_keep(struct tsim_output *output, struct tsim_diags *diags);

/* Leaves the file as it was before. */
void tsim_output_discard(struct tsim_output *output);

/* Does to all open files what tsim_output_discard does to one, for handlers of signals. */
void tsim_output_abandon_all(void);

/* Adds the error "NAME: cannot write: WHY". */
enum tsim_status tsim_output_failed(const char *name, int error, struct tsim_diags *diags);
