/* json.h - builds one JSON document and writes it. Members keep the order in which they were added; doubles are
 * written with the fewest digits that read back as the same double; NAN, infinities and NULL text are left out ("absent =
 * not modelled"). Text that is not UTF-8 (a file name can be anything) is written with '?' for the bytes in question.
 *
 * A document is a tree with one owner: the root from tsim_json_new_*; everything below is borrowed from it.
 * `key` is the member's name when `parent` is an object, and NULL when it is an array (the value is appended). */
#ifndef TSIM_RESULTS_JSON_H
#define TSIM_RESULTS_JSON_H

#include "base/arena.h"
#include "base/status.h"

#include <stdint.h>

struct tsim_json;

/* Call it once, before the first tree: where memory runs out, JSON then ends the program as an arena does
 * (base/arena.h). */
void tsim_json_init(void);

struct tsim_json *tsim_json_new_object(void);
struct tsim_json *tsim_json_new_array(void);
void tsim_json_release(struct tsim_json *root);

struct tsim_json *tsim_json_object(struct tsim_json *parent, const char *key);
struct tsim_json *tsim_json_array(struct tsim_json *parent, const char *key);
/* Returns the object that has the member at a dotted path ("step.time_s"), made with those on the way where they are
 * missing; *key is the path's last part. */
struct tsim_json *tsim_json_make_path(struct tsim_json *root, const char *path, const char **key);
/* Adds a text at such a path. Nothing is added for NULL, not even the objects on the way. */
void tsim_json_put_text(struct tsim_json *root, const char *path, const char *text);
/* These return the member of an object, or the element of an array, which must be there. */
struct tsim_json *tsim_json_member(struct tsim_json *object, const char *key);
struct tsim_json *tsim_json_element(struct tsim_json *array, size_t i);
/* Takes a member out; nothing happens where there is none. */
void tsim_json_drop(struct tsim_json *object, const char *key);
/* For reading, NULL may stand for a container, and has no members. */
const struct tsim_json *tsim_json_find(const struct tsim_json *object, const char *key); /* NULL: no such member */
size_t tsim_json_count(const struct tsim_json *container);                               /* members or elements */
const struct tsim_json *tsim_json_at(const struct tsim_json *array, size_t i);           /* NULL: beyond the end */
const char *tsim_json_key(const struct tsim_json *object, size_t i);            /* the key of member i < count */
const char *tsim_json_text_of(const struct tsim_json *object, const char *key); /* NULL: no text there */
const char *tsim_json_text_at(const struct tsim_json *array, size_t i);         /* NULL: no text there */
double tsim_json_number_of(const struct tsim_json *value); /* true and false are 1 and 0; NAN: no number */

/* Returns a value as JSON on one line, which YAML reads, too: what a --set says. */
const char *tsim_json_value_text(struct tsim_arena *arena, const struct tsim_json *value);

/* Every scalar of a document, in order: "step.time_s", "bottleneck.advice[0]". */
struct tsim_json_leaf {
    const char *path;
    const char *text; /* NULL: a number */
    double number;
};
typedef void (*tsim_json_leaf_fn)(void *context, const struct tsim_json_leaf *leaf);
void tsim_json_each(const struct tsim_json *root, tsim_json_leaf_fn take, void *context);

/* Returns the number at a dotted path of members ("step.time_s"); true and false are 1 and 0; NAN where there is
 * none. */
double tsim_json_figure(const struct tsim_json *root, const char *path);
/* Takes over `tree`, the root of a document, as a part of this one. */
void tsim_json_take(struct tsim_json *parent, const char *key, struct tsim_json *tree);
void tsim_json_number(struct tsim_json *parent, const char *key, double value); /* left out unless finite */
void tsim_json_integer(struct tsim_json *parent, const char *key, int64_t value);
void tsim_json_bool(struct tsim_json *parent, const char *key, bool value);
void tsim_json_text(struct tsim_json *parent, const char *key, const char *text);

/* Returns a document given as text; text that is not JSON is our bug. */
struct tsim_json *tsim_json_new_parsed(const char *json_text);
void tsim_json_parsed(struct tsim_json *parent, const char *key, const char *json_text);
/* Does the same for what a database says, which may be anything: as text where it is not JSON. NULL is left out. */
void tsim_json_parsed_or_text(struct tsim_json *parent, const char *key, const char *json_text);

/* Writes JSON, indented by two blanks; an object or array that holds only scalars stays on one line. It ends with a
 * newline. Write errors are left in `out` (ferror). */
void tsim_json_write(struct tsim_json *root, FILE *out);

/* Writes the shortest form, with numbers of nine digits and without any '<', so that it can stand in a script
 * element. */
void tsim_json_write_markup(struct tsim_json *root, FILE *out);

/* Writes as tsim_json_write does, without the newline, as a part of a document that is written piece by piece: lines
 * after the first one are indented as at that depth. */
void tsim_json_write_part(struct tsim_json *root, int depth, FILE *out);

#endif
