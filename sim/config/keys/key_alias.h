/* key_alias.h - what other programs, and people in a hurry, call a scenario's keys. */
#ifndef TSIM_CONFIG_KEY_ALIAS_H
#define TSIM_CONFIG_KEY_ALIAS_H

/* Returns the path of the key that `name` means ("tp" -> "parallelism.tensor"); NULL: none that we know. */
const char *tsim_key_alias(const char *name);

#endif
