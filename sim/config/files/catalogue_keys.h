/* catalogue_keys.h - private to config/files/catalogue_tables.c, model_tables.c and software_tables.c: keys that every
 * kind of file has, places for mistakes, and the tables of models and software. */
#pragma once

#include "config/keys/schema.h"

/* clang-format off */
#define SCHEMA_KEY(words_)                                                                                             \
    {.key = "schema", .kind = TSIM_KEY_CONSTANT, .words = (words_), .help = "kind and version of the file"}
#define NAME_KEY(type)                                                                                                 \
    {.key = "name", .kind = TSIM_KEY_STRING, .offset = offsetof(type, name), .default_text = "inline",                 \
     .help = "the file's id"}
#define SOURCE_KEY(type)                                                                                               \
    {.key = "source", .kind = TSIM_KEY_STRING, .offset = offsetof(type, source),                                       \
     .help = "where the values without a source of their own were read"}
#define QUANTITY(type, name_, dimension_, field_, help_)                                                               \
    .key = (name_), .kind = TSIM_KEY_QUANTITY, .dimension = (dimension_), .offset = offsetof(type, field_),            \
    .help = (help_)
#define INTEGER(type, name_, field_, max_, help_)                                                                      \
    .key = (name_), .kind = TSIM_KEY_INT, .offset = offsetof(type, field_), .max = (max_), .help = (help_)
/* clang-format on */

/* A mapping that has been read, whose values are then checked together. */
struct tsim_checked {
    struct tsim_reader *reader;
    const struct tsim_value *mapping;
    const char *path;
};

static inline const char *at_key(const struct tsim_checked *c, const char *key) {
    return tsim_schema_path(c->reader->arena, c->path, key);
}

static inline const struct tsim_value *place_of(const struct tsim_checked *c, const char *key) {
    const struct tsim_value *value = tsim_value_find_path(c->mapping, key);
    return value ? value : c->mapping;
}

/* These report, at a key of the mapping, what cannot be, what is missing, and what has no effect. */
#define FAIL_AT(c, key, ...)                                                                                           \
    tsim_value_error((c)->reader->diags, TSIM_ERR_INFEASIBLE, place_of(c, key), at_key(c, key), __VA_ARGS__)
#define LACK_AT(c, key, ...)                                                                                           \
    tsim_value_error((c)->reader->diags, TSIM_ERR_SCHEMA, place_of(c, key), at_key(c, key), __VA_ARGS__)
#define WARN_AT(c, key, ...) tsim_value_warning((c)->reader->diags, place_of(c, key), at_key(c, key), __VA_ARGS__)

/* known_as.c reads what files of others call a part, and what stands in for parts that they leave out. None of these
 * keys is inherited by `extends`, and none is written. */
#define KNOWN_AS_KEY "known_as"
#define USUAL_FABRIC_KEY "usual_fabric"
#define USUAL_KEY "usual"
extern const struct tsim_table tsim_known_as_table;
void tsim_known_as_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field);
void tsim_usual_fabric_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field);
void tsim_usual_read(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field);

/* software_tables.c has the keys of a software profile. */
extern const struct tsim_table tsim_software_table;

/* model_tables.c has the keys of a transformer. tsim_model_read_mapping reads a mapping by its kind;
 * tsim_model_finish sets what follows from several keys together. */
extern const struct tsim_table tsim_model_table;
void tsim_model_read_mapping(struct tsim_reader *reader, const struct tsim_value *mapping, const char *path,
                             struct tsim_model *model);
void tsim_model_finish(const struct tsim_checked *c, struct tsim_model *model);
void tsim_model_write_members(struct tsim_writer *writer, const char *path, const struct tsim_model *model);
