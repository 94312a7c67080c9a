/* key_alias.h - other programs' names, and short names, of a scenario's keys. */
#pragma once

#include <stddef.h>

/* Returns the path of the nth key that `name` may mean ("tp" -> "parallelism.tensor"), or NULL if there are not so many. */
const char *tsim_key_alias(const char *name, size_t nth);
