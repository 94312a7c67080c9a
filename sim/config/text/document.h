/* document.h - YAML text into a tree of values (value.h). This is the only reader of YAML, and libyaml is not visible
 * outside.
 *
 * It refuses, each with its place: text that is not UTF-8 or contains NUL, files over 4 MB, an empty file, more than
 * one document, a root that is not a mapping, duplicate keys, keys that are not plain text, merge keys (<<), tags,
 * nesting over 64 levels, and more than 100,000 values once aliases are expanded. It reports several mistakes if
 * reading can go on. The place of an aliased value is that of the alias; the places inside it are those where it was
 * written. */
#pragma once

#include "config/text/value.h"

enum { TSIM_DOCUMENT_MAX_BYTES = 4 * 1000 * 1000 };

/* Reads a file, or standard input if `file` is "-" (places then say "<stdin>"). Returns TSIM_ERR_IO if it cannot be
 * read. After a mistake that leaves all keys known, such as a duplicate key (of two mappings, the keys of both), it
 * sets *root all the same, for whoever looks for the other mistakes of the file; else it leaves *root alone. */
enum tsim_status tsim_document_read(struct tsim_arena *arena, const char *file, const struct tsim_value **root,
                                    struct tsim_diags *diags);

/* Does the same for text in memory, which it copies; places give `file` as the file. */
enum tsim_status tsim_document_parse(struct tsim_arena *arena, const char *file, const char *text, size_t size,
                                     const struct tsim_value **root, struct tsim_diags *diags);

/* Does the same for another program's file, which is not merged with a second one. A mapping may have up to
 * TSIM_DOCUMENT_WIDE_KEYS keys. If keys are repeated the last one counts, with a warning, as in Python's readers of
 * YAML and JSON; merge keys (<<) are followed. */
enum { TSIM_DOCUMENT_WIDE_KEYS = 50000 };
enum tsim_status tsim_document_parse_wide(struct tsim_arena *arena, const char *file, const char *text, size_t size,
                                          const struct tsim_value **root, struct tsim_diags *diags);

/* Reads the value of a `--set PATH=VALUE`, which may be any YAML value and not only a mapping. Places say "--set
 * PATH=VALUE", or "--OPTION VALUE" if another option stands for the path, and have no line. */
enum tsim_status tsim_document_parse_override(struct tsim_arena *arena, const char *path, const char *value,
                                              const char *option, const struct tsim_value **root,
                                              struct tsim_diags *diags);
