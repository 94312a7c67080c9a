/* document.h - YAML text to a tree of values (value.h). The only reader of YAML; libyaml is not visible outside.
 *
 * Refused, each with its place: text that is not UTF-8 or holds NUL, files over 4 MB, an empty file, more than one
 * document, a root that is not a mapping, duplicate keys, keys that are not plain text, merge keys (<<), tags, nesting
 * over 64 levels, more than 100,000 values once aliases are expanded. Several mistakes are reported where reading can
 * go on. An aliased value stands where the alias stands; what is inside it, where it was written. */
#ifndef TSIM_CONFIG_DOCUMENT_H
#define TSIM_CONFIG_DOCUMENT_H

#include "config/text/value.h"

enum { TSIM_DOCUMENT_MAX_BYTES = 4 * 1000 * 1000 };

/* Reads a file, or standard input when `file` is "-" (places then say "<stdin>"). TSIM_ERR_IO: cannot be read. */
enum tsim_status tsim_document_read(struct tsim_arena *arena, const char *file, const struct tsim_value **root,
                                    struct tsim_diags *diags);

/* Does the same for text in memory; `file` is what places say. The text is copied. */
enum tsim_status tsim_document_parse(struct tsim_arena *arena, const char *file, const char *text, size_t size,
                                     const struct tsim_value **root, struct tsim_diags *diags);

/* Does the same for a file of others, which is not merged with another: up to TSIM_DOCUMENT_WIDE_KEYS keys in a
 * mapping, and of keys that are repeated the last counts, as in Python's readers of YAML and JSON, with a warning. */
enum { TSIM_DOCUMENT_WIDE_KEYS = 50000 };
enum tsim_status tsim_document_parse_wide(struct tsim_arena *arena, const char *file, const char *text, size_t size,
                                          const struct tsim_value **root, struct tsim_diags *diags);

/* Reads the value of a `--set PATH=VALUE`: any YAML value, not only a mapping. Places say "--set PATH=VALUE", or
 * "--OPTION VALUE" where another option stands for the path, and no line. */
enum tsim_status tsim_document_parse_override(struct tsim_arena *arena, const char *path, const char *value,
                                              const char *option, const struct tsim_value **root,
                                              struct tsim_diags *diags);

#endif
