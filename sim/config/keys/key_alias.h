/* key_alias.h - other programs' names, and short names, of a scenario's keys. */
#ifndef TSIM_CONFIG_KEY_ALIAS_H
#define TSIM_CONFIG_KEY_ALIAS_H

/* Returns the path of the key that `name` means ("tp" -> "parallelism.tensor"), or NULL if the name is not known. */
const char *tsim_key_alias(const char *name);

#endif
