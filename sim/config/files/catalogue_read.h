/* catalogue_read.h - private to config: turns references (ids, paths, inline mappings) into mappings with `extends`
 * followed, and mappings into the structs of catalogue.h. */
#pragma once

#include "config/catalogue_load.h"
#include "config/keys/enum_words.h"
#include "config/keys/schema.h"

/* Returns a new cache, which keeps files as they were first read, for many scenarios that name the same ones. The
 * values live in its arena. */
struct tsim_file_cache *tsim_file_cache_new(struct tsim_arena *arena);
/* Returns the thread's cache (tsim_catalogue_keep), else a new one. */
struct tsim_file_cache *tsim_file_cache_of_thread(struct tsim_arena *arena);

/* Returns the mapping that a reference stands for, without `extends`. A scalar with '/' or ending in .yaml is a path
 * relative to the file that names it; another scalar is an id; a mapping is taken as it is. Cycles and chains of over
 * 16 files are refused. After a mistake it returns NULL and adds a diag. */
const struct tsim_value *tsim_catalogue_resolve(struct tsim_reader *reader, enum tsim_catalogue_kind kind,
                                                const struct tsim_value *reference, const char *path);

/* Does the same for a file that is already read: it follows the `extends` of the root. */
const struct tsim_value *tsim_catalogue_resolve_root(struct tsim_reader *reader, enum tsim_catalogue_kind kind,
                                                     const struct tsim_value *root);

/* Returns the root of a file that is only extended, as hardware/families has; NULL after a mistake. */
const struct tsim_value *tsim_catalogue_family(struct tsim_reader *reader, enum tsim_catalogue_kind kind,
                                               const char *id);

/* Reads and checks what a reference to a file of this kind (not a scenario) stands for; after a mistake it returns NULL
 * and adds a diag. `path` is the reference's path in the scenario. */
const void *tsim_catalogue_read(struct tsim_reader *reader, enum tsim_catalogue_kind kind,
                                const struct tsim_value *reference, const char *path);
/* Writes what was read as the member `key` of a scenario: {schema: ..., name: ..., ...}; of NULL nothing. */
void tsim_catalogue_write(struct tsim_writer *writer, const char *key, enum tsim_catalogue_kind kind, const char *path,
                          const void *object);

/* These read and write a custom key whose field is a pointer to such a struct; an absent key leaves it alone. */
#define TSIM_REFERENCE(word)                                                                                           \
    void tsim_##word##_reference_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path,    \
                                      void *field);                                                                    \
    void tsim_##word##_reference_write(struct tsim_writer *writer, const char *key, const char *path,                  \
                                       const void *field);
TSIM_REFERENCE(model)
TSIM_REFERENCE(accelerator)
TSIM_REFERENCE(fabric)
TSIM_REFERENCE(software)
TSIM_REFERENCE(region)
TSIM_REFERENCE(storage)

/* Returns the table of a kind (not of scenarios). */
const struct tsim_table *tsim_catalogue_table(enum tsim_catalogue_kind kind);

/* Returns `name` as the file that holds `value` means it: relative to that file's folder. */
const char *tsim_file_beside(struct tsim_arena *arena, const struct tsim_value *value, const char *name);

/* hourly.c reads and writes keys whose field is a struct tsim_hourly. */
void tsim_price_profile_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field);
void tsim_carbon_profile_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path,
                              void *field);
void tsim_price_profile_write(struct tsim_writer *writer, const char *key, const char *path, const void *field);
void tsim_carbon_profile_write(struct tsim_writer *writer, const char *key, const char *path, const void *field);

/* Reads a struct tsim_overlap; absent keys leave their fields alone. */
extern const struct tsim_table tsim_overlap_table;
