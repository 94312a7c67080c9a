/* schema.h - tables that say which keys a mapping has, and the three things that walk them: a reader (tree of values ->
 * struct, with every mistake reported at its place), a writer (struct -> JSON that reads back to the same struct), and
 * whoever prints a reference of all keys.
 *
 * Where a key is absent, its field gets the default; with no default the field keeps what it had. */
#ifndef TSIM_CONFIG_SCHEMA_H
#define TSIM_CONFIG_SCHEMA_H

#include "base/quantity.h"
#include "config/catalogue.h"
#include "config/text/value.h"

#include <stdint.h>

enum tsim_key_kind {
    TSIM_KEY_CONSTANT, /* no field: the text must be words[0] */
    TSIM_KEY_STRING,   /* const char * */
    TSIM_KEY_BOOL,     /* bool */
    TSIM_KEY_INT,      /* int64_t, or one of the words, which then stands for its value */
    TSIM_KEY_QUANTITY, /* double of `dimension`, SI */
    TSIM_KEY_ENUM,     /* int-sized: the value of one of the words */
    TSIM_KEY_WORDS,    /* unsigned: a list of the words, each the bit 1 << its value; absent: 0 */
    TSIM_KEY_MAPPING,  /* a struct, read by `table` */
    TSIM_KEY_CUSTOM    /* read and written by functions */
};

struct tsim_word {
    const char *word;
    int value;
};

struct tsim_reader;
struct tsim_writer;
struct tsim_key;
struct tsim_table;

/* Reads or writes the value of a custom key. `value` is NULL when the key is absent; `path` is the whole path of the
 * key. */
typedef void (*tsim_read_fn)(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field);
typedef void (*tsim_write_fn)(struct tsim_writer *writer, const char *key, const char *path, const void *field);

struct tsim_key {
    const char *key;
    enum tsim_key_kind kind;
    enum tsim_dimension dimension; /* of a quantity */
    size_t offset;                 /* of the field in the table's struct */
    const char *default_text;      /* as YAML text */
    bool is_guessed;               /* the default is an estimate: it is noted as one */
    bool is_required;
    bool is_positive;              /* 0 is refused; below 0 always is */
    const char *unit;              /* that values are written in, offered for a bare number; NULL: the default's */
    bool takes_bare;               /* a quantity that needs no unit: its name says it, or it is a rate of counts */
    bool is_omitted_when_zero;     /* by the writer: 0, false, or no text */
    double min, max;               /* SI, inclusive; 0: the dimension's (tsim_key_range) */
    double bare_scale;             /* SI units in a bare number; 0 = 1 */
    const struct tsim_word *words; /* ends with a NULL word */
    const struct tsim_table *table;
    const struct tsim_table *described_by; /* of a custom key: what its mapping, or each of its list, may hold */
    tsim_read_fn read;
    tsim_write_fn write; /* NULL: not written */
    const char *help;    /* one line */
};

/* A number may be from `least` to `most`, both SI and inclusive, or 0 where that is taken beside them. */
struct tsim_range {
    double least, most;
    bool takes_zero;
};
struct tsim_range tsim_key_range(const struct tsim_key *key); /* the key is an INT or a QUANTITY */

struct tsim_table {
    const struct tsim_key *keys;
    size_t n_keys;
    bool is_sourced; /* its values may be written as {value: ..., source: ..., status: ...} */
};
#define TSIM_TABLE(name, keys, is_sourced)                                                                             \
    static const struct tsim_table name = {(keys), sizeof(keys) / sizeof(keys)[0], (is_sourced)}

/* One plain value that was read: where its number comes from. */
#define TSIM_GUESS_SOURCE "not given: the middle of the catalogue's accelerators"
struct tsim_note {
    const char *path;
    const struct tsim_key *key;
    const char *text;   /* as written, or the default; NULL of a list */
    double number;      /* SI; NAN unless a count or quantity */
    double interval[2]; /* SI; NAN where none is given */
    bool is_default;
    const char *source; /* or NULL */
    enum tsim_source_status status;
};
typedef void (*tsim_note_fn)(void *context, const struct tsim_note *note);

/* The table of a scenario's `sweep` section, which study reads. */
extern const struct tsim_table tsim_sweep_table;

struct tsim_file_cache;

struct tsim_reader {
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    tsim_note_fn note;             /* NULL: nobody listens */
    void *context;                 /* passed to `note` */
    struct tsim_file_cache *files; /* catalogue files that were read before; NULL: each is read anew */
    const struct tsim_table *file; /* of the whole file, while it is read */
};

/* Reads `mapping` (NULL: every key absent, and nothing is required) into `object`. Mistakes go to reader->diags, all of
 * them; fields whose value is wrong keep what they had. */
void tsim_schema_read(struct tsim_reader *reader, const struct tsim_table *table, const struct tsim_value *mapping,
                      const char *path, void *object);
/* Does the same for a value that may be no mapping, which is a mistake: then false. */
bool tsim_schema_read_mapping(struct tsim_reader *reader, const struct tsim_table *table,
                              const struct tsim_value *value, const char *path, void *object);

/* Reads one value as `key` says; for custom readers. False after a mistake. */
bool tsim_schema_read_value(struct tsim_reader *reader, const struct tsim_key *key, const struct tsim_value *value,
                            const char *path, void *field);

/* Reads a list of mappings, each by `table` into an element of `size` bytes that is zeroed before. Returns a new array
 * of the arena with its length in *n; the length is 0 after a mistake, or where `value` is NULL. */
void *tsim_schema_read_list(struct tsim_reader *reader, const struct tsim_table *table, const struct tsim_value *value,
                            const char *path, size_t size, size_t *n);

/* Returns an error "expected X, found a list" at a value. */
struct tsim_diag *tsim_schema_wrong_kind(struct tsim_reader *reader, const struct tsim_value *value, const char *path,
                                         const char *expected);
/* Reports a scalar that is none of the words, with the nearest word or a list of them. */
void tsim_schema_unknown_word(struct tsim_reader *reader, const struct tsim_value *value, const char *path,
                              const char *what, const char *const *words, size_t n_words);

/* Joins a path and a key: "a.b" and "c" give "a.b.c", an empty path and "c" give "c". */
const char *tsim_schema_path(struct tsim_arena *arena, const char *path, const char *key);
const char *tsim_word_of(const struct tsim_word *words, int value); /* NULL when it has none */
/* Lists the words of a set, each the bit 1 << its value: "none, full". */
const char *tsim_words_text(struct tsim_arena *arena, const struct tsim_word *words, unsigned set);

/* ---- writing ---- */

struct tsim_writer {
    char *text;
    size_t length, capacity;
    int depth;
    bool needs_comma;
    const char *const *estimate_paths; /* values at these are written as {value: ..., status: estimate} */
    size_t n_estimate_paths;
};

/* These write a member of an object, or an element of a list where `key` is NULL. */
void tsim_writer_begin(struct tsim_writer *writer, const char *key, char bracket); /* '{' or '[' */
void tsim_writer_end(struct tsim_writer *writer, char bracket);                    /* '}' or ']' */
void tsim_writer_text(struct tsim_writer *writer, const char *key, const char *text);
void tsim_writer_int(struct tsim_writer *writer, const char *key, int64_t value);
void tsim_writer_table(struct tsim_writer *writer, const struct tsim_table *table, const char *path,
                       const void *object); /* its members, without braces */
void tsim_writer_mapping(struct tsim_writer *writer, const char *key, const struct tsim_table *table, const char *path,
                         const void *object);
/* Writes what tsim_schema_read_list has read; nothing where n is 0. */
void tsim_writer_list(struct tsim_writer *writer, const char *key, const struct tsim_table *table, const char *path,
                      const void *elements, size_t size, size_t n);
/* Returns the text, copied to the arena; releases what the writer holds. */
const char *tsim_writer_finish(struct tsim_writer *writer, struct tsim_arena *arena);

#endif
