/* flow_text.h - private to import: writes values as YAML on one line, which a scenario or a --set takes. */
#pragma once

#include "config/text/value.h"

/* Returns a value as YAML on one line: plain if that is possible, else in quotes; lists and mappings in brackets. The
 * text is allocated from `arena`. */
const char *tsim_flow_text(struct tsim_arena *arena, const struct tsim_value *value);

/* Returns a mapping as YAML with a line for each of its keys, and for each key of a mapping directly below it; deeper
 * values are on one line. */
const char *tsim_block_text(struct tsim_arena *arena, const struct tsim_value *mapping);
