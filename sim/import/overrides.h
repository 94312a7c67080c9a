/* overrides.h - private to import: reads what --set, --ignore and --env say. */
#ifndef TSIM_IMPORT_OVERRIDES_H
#define TSIM_IMPORT_OVERRIDES_H

#include "import/formats.h"

/* Returns the value that the last --set of that path gives; NULL: there is none. */
const char *tsim_import_override(const struct tsim_import_input *input, const char *path);
/* A --ignore names the key. */
bool tsim_import_ignores(const struct tsim_import_input *input, const char *key);
/* Returns what --env says of the variable whose name has so many bytes; NULL: nothing. */
const char *tsim_import_environment(const struct tsim_import_input *input, const char *name, size_t length);

#endif
