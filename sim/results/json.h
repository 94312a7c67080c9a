/* json.h - builds a JSON document and writes it. Members keep the order in which they were added. Doubles are written
 * with the fewest digits that read back as the same double. NAN, infinities and NULL texts are left out, because an
 * absent member means "not modelled". In a text that is not UTF-8 (a file name can be anything) the offending bytes
 * become '?'.
 *
 * A document is a tree with one owner, the root from tsim_json_new_*; everything below it is borrowed. `key` is the
 * member's name if `parent` is an object, and NULL if it is an array, to which the value is appended. */
#pragma once

#include "base/arena.h"
#include "base/status.h"

#include <stdint.h>

struct tsim_json;

/* Call it once, before the first tree. JSON then ends the program when memory runs out, as an arena does
 * (base/arena.h). */
void tsim_json_init(void);

struct tsim_json *tsim_json_new_object(void);
struct tsim_json *tsim_json_new_array(void);
void tsim_json_release(struct tsim_json *root);

struct tsim_json *tsim_json_object(struct tsim_json *parent, const char *key);
struct tsim_json *tsim_json_array(struct tsim_json *parent, const char *key);
/* Returns the object that has the member at a dotted path ("step.time_s"), and makes it and those on the way if they
 * are missing; *key becomes the path's last part. */
struct tsim_json *tsim_json_make_path(struct tsim_json *root, const char *path, const char **key);
/* Adds a text at such a path. For NULL it adds nothing, not even the objects on the way. */
void tsim_json_put_text(struct tsim_json *root, const char *path, const char *text);
/* These return the member of an object, or the element of an array, which must exist. */
struct tsim_json *tsim_json_member(struct tsim_json *object, const char *key);
struct tsim_json *tsim_json_element(struct tsim_json *array, size_t i);
/* Removes a member, if there is one. */
void tsim_json_drop(struct tsim_json *object, const char *key);
/* The functions that read take NULL for a container without members. */
/* NULL: there is no such member. */
const struct tsim_json *tsim_json_find(const struct tsim_json *object, const char *key);
size_t tsim_json_count(const struct tsim_json *container);                     /* members or elements */
const struct tsim_json *tsim_json_at(const struct tsim_json *array, size_t i); /* NULL if it is beyond the end */
const char *tsim_json_key(const struct tsim_json *object, size_t i);           /* the key of member i, with i < count */
const char *tsim_json_text_of(const struct tsim_json *object, const char *key); /* NULL if there is no text */
const char *tsim_json_text_at(const struct tsim_json *array, size_t i);         /* NULL if there is no text */
double tsim_json_number_of(const struct tsim_json *value); /* true and false are 1 and 0; NAN if it is no number */

/* Returns a value as JSON on one line, which YAML also reads: the text of a --set. */
const char *tsim_json_value_text(struct tsim_arena *arena, const struct tsim_json *value);

/* A leaf is a scalar of a document, with its path: "step.time_s", "bottleneck.advice[0]". */
struct tsim_json_leaf {
    const char *path;
    const char *text; /* NULL: it is a number */
    double number;
};
typedef void (*tsim_json_leaf_fn)(void *context, const struct tsim_json_leaf *leaf);
void tsim_json_each(const struct tsim_json *root, tsim_json_leaf_fn take, void *context);

/* Returns the number at a dotted path of members ("step.time_s"). true and false are 1 and 0; NAN if there is none. */
double tsim_json_figure(const struct tsim_json *root, const char *path);
/* Makes `tree`, the root of another document, a part of this one, which then owns it. */
void tsim_json_take(struct tsim_json *parent, const char *key, struct tsim_json *tree);
void tsim_json_number(struct tsim_json *parent, const char *key, double value); /* adds nothing unless it is finite */
void tsim_json_integer(struct tsim_json *parent, const char *key, int64_t value);
void tsim_json_bool(struct tsim_json *parent, const char *key, bool value);
void tsim_json_text(struct tsim_json *parent, const char *key, const char *text);

/* Returns a document that is given as text; a text that is not JSON is a bug of ours. */
struct tsim_json *tsim_json_new_parsed(const char *json_text);
void tsim_json_parsed(struct tsim_json *parent, const char *key, const char *json_text);
/* Does the same for a text from a database, which may be anything: it is added as a text if it is not JSON, and NULL is
 * left out. */
void tsim_json_parsed_or_text(struct tsim_json *parent, const char *key, const char *json_text);

/* Writes JSON, indented by two blanks; an object or array that holds only scalars stays on one line. It ends with a
 * newline. Write errors are left in `out` (ferror). */
void tsim_json_write(struct tsim_json *root, FILE *out);

/* Writes the shortest form, with numbers of nine digits and without any '<', so that it can stand in a script
 * element. */
void tsim_json_write_markup(struct tsim_json *root, FILE *out);

/* Writes as tsim_json_write does, without the final newline, as a part of a document that is written piece by piece:
 * lines after the first one are indented as at that depth. */
void tsim_json_write_part(struct tsim_json *root, int depth, FILE *out);
