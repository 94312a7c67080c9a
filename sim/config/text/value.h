/* value.h - what a YAML file says, before its meaning is known: a tree of scalars, sequences and mappings in which
 * every key and every value knows the file, line and column (from 1) of its text.
 *
 * A tree is const once built and lives in an arena. Trees share subtrees: an alias, and what `extends` takes over. */
#pragma once

#include "base/arena.h"
#include "base/status.h"

/* The deepest nesting, the most nodes (aliases count as often as they are used) and the most keys of one mapping. */
enum { TSIM_VALUE_MAX_HEIGHT = 64, TSIM_VALUE_MAX_NODES = 100000, TSIM_VALUE_MAX_KEYS = 4096 };

/* The text that values were read from. */
struct tsim_document {
    struct tsim_arena *arena;
    const char *file; /* as given on the command line, or composed from it */
    const char *text;
    size_t size;
    const char *source;   /* of catalogue files: their top-level `source:`, or NULL */
    bool is_override;     /* it comes from a --set, so its values have no line */
    const char *set_path; /* the path that it sets; NULL: nobody wrote it as a --set */
};

enum tsim_value_kind { TSIM_VALUE_SCALAR, TSIM_VALUE_SEQUENCE, TSIM_VALUE_MAPPING };

struct tsim_value {
    enum tsim_value_kind kind;
    bool is_quoted;
    bool is_patch; /* a mapping made by a --set: it amends a reference (an id) below it instead of replacing it */
    int height;    /* 1 for a scalar */
    size_t n_nodes;
    const struct tsim_document *document;
    int line, column;
    const struct tsim_value *under;        /* the value of another text whose place it took; NULL: none */
    const char *text;                      /* scalar */
    size_t n_items;                        /* sequence, mapping */
    const struct tsim_value *const *items; /* sequence */
    const struct tsim_pair *pairs;         /* mapping, in the order of the file */
};

struct tsim_pair {
    const char *key;
    const struct tsim_document *document;
    int line, column;
    const struct tsim_value *value;
};

/* Returns a mapping's value under `key`, or NULL. tsim_value_find_path follows a dotted path through mappings. */
const struct tsim_value *tsim_value_find(const struct tsim_value *mapping, const char *key);
const struct tsim_value *tsim_value_find_path(const struct tsim_value *mapping, const char *path);
const struct tsim_pair *tsim_value_find_pair(const struct tsim_value *mapping, const char *key);

bool tsim_value_is_text(const struct tsim_value *value, const char *text); /* true for a scalar with that text */
const char *tsim_value_kind_name(const struct tsim_value *value);          /* returns "a list", for example */

/* Each returns a new value with the place of `at`. */
const struct tsim_value *tsim_value_new_scalar(struct tsim_arena *arena, const struct tsim_value *at, const char *text);
const struct tsim_value *tsim_value_new_list(struct tsim_arena *arena, const struct tsim_value *at,
                                             const struct tsim_value *const *items, size_t n_items);
const struct tsim_value *tsim_value_new_mapping(struct tsim_arena *arena, const struct tsim_value *at,
                                                const struct tsim_pair *pairs, size_t n_pairs);
/* Counts the child in the parent's height and number of nodes. */
void tsim_value_count_in(struct tsim_value *parent, const struct tsim_value *child);
const struct tsim_value *tsim_value_without(struct tsim_arena *arena, const struct tsim_value *mapping,
                                            const char *key);

/* Lays `over` on `base`. Mappings merge key by key, with base's keys first and in its order; everything else is
 * replaced. Two mappings also replace each other if the upper one has a `value` key (a sourced value is one value) or
 * its own `extends`. A patch on a scalar X becomes {extends: X, ...}. Either may be NULL. Each value keeps the place of
 * its own text. */
const struct tsim_value *tsim_value_merge(struct tsim_arena *arena, const struct tsim_value *base,
                                          const struct tsim_value *over);

/* Sets `path` of `root` to `value`; *result is the changed tree. A path is "cluster.nodes", with list elements as
 * "order.0" or "order[0]". If nothing or a scalar stands in the way of a longer path, a mapping takes its place (a
 * patch); a scalar X under one of `reference_keys` is an id and becomes {extends: X, ...}. Returns TSIM_ERR_REFERENCE,
 * with a diag at `value`, if the path is malformed or points beyond a list. */
enum tsim_status tsim_value_set(struct tsim_arena *arena, const struct tsim_value *root, const char *path,
                                const struct tsim_value *value, const char *const *reference_keys,
                                size_t n_reference_keys, const struct tsim_value **result, struct tsim_diags *diags);

/* ---- diagnostics at a value or key, with the line's text ---- */
struct tsim_diag *tsim_value_error(struct tsim_diags *diags, enum tsim_status status, const struct tsim_value *at,
                                   const char *field, const char *format, ...) __attribute__((format(printf, 5, 6)));
struct tsim_diag *tsim_value_verror(struct tsim_diags *diags, enum tsim_status status, const struct tsim_value *at,
                                    const char *field, const char *format, va_list args);
struct tsim_diag *tsim_value_warning(struct tsim_diags *diags, const struct tsim_value *at, const char *field,
                                     const char *format, ...) __attribute__((format(printf, 4, 5)));
struct tsim_diag *tsim_pair_error(struct tsim_diags *diags, enum tsim_status status, const struct tsim_pair *at,
                                  const char *field, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Returns the text of a line (from 1) for a diag with its caret at `column`: cut if it is long, with control characters
 * replaced. Returns NULL if there is no such line or the caret would stand beyond the cut. */
const char *tsim_document_line(const struct tsim_document *document, int line, int column);
