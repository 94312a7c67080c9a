/* format.h - the foreign formats that can be imported, by name. */
#ifndef TSIM_IMPORT_FORMAT_H
#define TSIM_IMPORT_FORMAT_H

#include "base/arena.h"
#include "base/status.h"

/* Reads `file` ("-": standard input) and gives the text of a file of ours, in `arena`. Files over 4 MB are refused. */
typedef enum tsim_status (*tsim_import_fn)(struct tsim_arena *arena, const char *file, const char **yaml,
                                           struct tsim_diags *diags);

struct tsim_import_format {
    const char *name;
    tsim_import_fn read;
};

extern const struct tsim_import_format TSIM_IMPORT_FORMATS[];
extern const size_t TSIM_N_IMPORT_FORMATS;

#endif
