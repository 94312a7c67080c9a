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

/* Each reads and checks what a reference stands for; after a mistake it returns NULL and adds a diag. `path` is the
 * reference's path in the scenario. */
const struct tsim_model *tsim_model_read(struct tsim_reader *reader, const struct tsim_value *reference,
                                         const char *path);
const struct tsim_accelerator *tsim_accelerator_read(struct tsim_reader *reader, const struct tsim_value *reference,
                                                     const char *path);
const struct tsim_node *tsim_node_read(struct tsim_reader *reader, const struct tsim_value *reference,
                                       const char *path);
const struct tsim_fabric *tsim_fabric_read(struct tsim_reader *reader, const struct tsim_value *reference,
                                           const char *path);
const struct tsim_software *tsim_software_read(struct tsim_reader *reader, const struct tsim_value *reference,
                                               const char *path);
const struct tsim_region *tsim_region_read(struct tsim_reader *reader, const struct tsim_value *reference,
                                           const char *path);
const struct tsim_storage *tsim_storage_read(struct tsim_reader *reader, const struct tsim_value *reference,
                                             const char *path);
const void *tsim_catalogue_read(struct tsim_reader *reader, enum tsim_catalogue_kind kind,
                                const struct tsim_value *reference, const char *path); /* takes a file of any kind */

/* Each writes one of these structs as the member `key` of a scenario: {schema: ..., name: ..., ...}. */
void tsim_model_write(struct tsim_writer *writer, const char *key, const char *path, const struct tsim_model *model);
void tsim_node_write(struct tsim_writer *writer, const char *key, const char *path, const struct tsim_node *node);
void tsim_fabric_write(struct tsim_writer *writer, const char *key, const char *path, const struct tsim_fabric *fabric);
void tsim_software_write(struct tsim_writer *writer, const char *key, const char *path,
                         const struct tsim_software *software);
void tsim_storage_write(struct tsim_writer *writer, const char *key, const char *path,
                        const struct tsim_storage *storage);
void tsim_region_write(struct tsim_writer *writer, const char *key, const char *path, const struct tsim_region *region);

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
