/* overrides.h - private to import: finds what --set, --ignore and --env give. */
#pragma once

#include "import/formats.h"

/* Returns the value that the last --set of that path gives; NULL if there is none. */
const char *tsim_import_override(const struct tsim_import_input *input, const char *path);
/* Returns it as a whole number of 1 to a million; 0 if there is none. */
int64_t tsim_import_override_int(const struct tsim_import_input *input, const char *path);
/* Returns whether a --ignore names the key. */
bool tsim_import_ignores(const struct tsim_import_input *input, const char *key);
/* Returns the value that --env gives the variable whose name has so many bytes; NULL if it gives none. */
const char *tsim_import_environment(const struct tsim_import_input *input, const char *name, size_t length);
