/* schema.h - tables that say which keys a mapping has, and what walks them: a reader (a tree of values into a struct,
 * with every mistake reported at its place), a writer (a struct into JSON that reads back to the same struct), and the
 * printers of a reference of all keys.
 *
 * A field whose key is absent gets the default; without a default it keeps its value. */
#pragma once

#include "base/quantity.h"
#include "config/catalogue.h"
#include "config/text/value.h"

#include <stddef.h>
#include <stdint.h>

enum tsim_key_kind {
    TSIM_KEY_CONSTANT, /* no field: the text must be words[0] */
    TSIM_KEY_STRING,   /* a const char * */
    TSIM_KEY_BOOL,     /* a bool */
    TSIM_KEY_INT,      /* an int64_t, or one of the words, which then stands for its value */
    TSIM_KEY_QUANTITY, /* a double of `dimension`, in SI units */
    TSIM_KEY_ENUM,     /* an enum: the value of one of the words */
    TSIM_KEY_WORDS,    /* an unsigned: a list of words, each the bit 1 << its value; absent: 0 */
    TSIM_KEY_MAPPING,  /* a struct, read by `table` */
    TSIM_KEY_LIST,     /* an array of structs, each read by `described_by`, and a size_t, its length (TSIM_LIST) */
    TSIM_KEY_CUSTOM    /* functions read and write it */
};

struct tsim_word {
    const char *word;
    int value;
};

struct tsim_reader;
struct tsim_writer;
struct tsim_key;
struct tsim_table;

/* These read and write the value of a custom key. `value` is NULL if the key is absent; `path` is the whole path of the
 * key. */
typedef void (*tsim_read_fn)(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field);
typedef void (*tsim_write_fn)(struct tsim_writer *writer, const char *key, const char *path, const void *field);

struct tsim_key {
    const char *key;
    enum tsim_key_kind kind;
    enum tsim_dimension dimension; /* of a quantity */
    size_t offset;                 /* the field's, in the table's struct */
    const char *default_text;      /* YAML text */
    bool is_guessed;               /* the default is an estimate, and is noted as one */
    bool is_required;
    bool is_positive;          /* 0 is refused, as negative numbers always are */
    const char *unit;          /* for messages about a bare number; NULL: the default's unit */
    bool takes_bare;           /* a quantity that needs no unit, because its name says it or it is a rate of counts */
    bool is_omitted_when_zero; /* the writer omits 0, false and a missing text */
    bool may_be_empty;         /* words: an empty list takes back what an extended file says */
    double min, max;           /* in SI units, inclusive; both 0: the dimension's (tsim_key_range) */
    double bare_scale;         /* SI units in a bare number; 0 means 1 */
    const struct tsim_word *words; /* ends with a NULL word */
    const struct tsim_table *table;
    const struct tsim_table *described_by; /* the keys of a custom key's mapping, or of each mapping of a list */
    size_t n_offset, size;                 /* of a list: the length's place, as `offset`, and an element's bytes */
    tsim_read_fn read;
    tsim_write_fn write; /* NULL: not written */
    const char *help;    /* one line */
};

/* The numbers that a key takes: from `least` to `most`, both in SI units and inclusive, and 0 if that is taken beside
 * them. */
struct tsim_range {
    double least, most;
    bool takes_zero;
};
struct tsim_range tsim_key_range(const struct tsim_key *key); /* for keys of type INT or QUANTITY */

struct tsim_table {
    const struct tsim_key *keys;
    size_t n_keys;
    bool is_sourced; /* values may be written as {value: ..., source: ..., status: ...} */
};
/* The field of a list: the array `member`, whose length `n_member` is beside it in the same struct. Elements are zeroed before they are
 * read; the length is 0 after a mistake, and if the key is absent. An empty list is not written. */
#define TSIM_LIST(type, member, n_member, table_)                                                                      \
    .kind = TSIM_KEY_LIST, .offset = offsetof(type, member), .n_offset = offsetof(type, n_member),                     \
    .size = sizeof *((type *)NULL)->member, .described_by = (table_)
#define TSIM_TABLE(name, keys, is_sourced)                                                                             \
    static const struct tsim_table name = {(keys), sizeof(keys) / sizeof(keys)[0], (is_sourced)}

/* A note on one plain value that was read, with the origin of its number. */
#define TSIM_GUESS_SOURCE "not given: the middle of the catalogue's accelerators"
struct tsim_note {
    const char *path;
    const struct tsim_key *key;
    const char *text;   /* as written, or the default; NULL for a list */
    double number;      /* in SI units; NAN unless it is a count or a quantity */
    double interval[2]; /* in SI units; NAN: none is given */
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
    tsim_note_fn note;             /* NULL: no notes are taken */
    void *context;                 /* passed to `note` */
    struct tsim_file_cache *files; /* catalogue files that were read before; NULL: each file is read anew */
    const struct tsim_table *file; /* the table of the whole file, while that is read */
};

/* Reads `mapping` into `object`. With NULL every key is absent, and none is required. All mistakes go to reader->diags;
 * a field whose value is wrong keeps what it had. */
void tsim_schema_read(struct tsim_reader *reader, const struct tsim_table *table, const struct tsim_value *mapping,
                      const char *path, void *object);
/* Does the same for a value that may not be a mapping, which is a mistake; it then returns false. */
bool tsim_schema_read_mapping(struct tsim_reader *reader, const struct tsim_table *table,
                              const struct tsim_value *value, const char *path, void *object);

/* Reads one value as `key` says, for custom readers. Returns false after a mistake. */
bool tsim_schema_read_value(struct tsim_reader *reader, const struct tsim_key *key, const struct tsim_value *value,
                            const char *path, void *field);

/* Returns an error "expected X, found a list" at a value. */
struct tsim_diag *tsim_schema_wrong_kind(struct tsim_reader *reader, const struct tsim_value *value, const char *path,
                                         const char *expected);
/* Reports a scalar that is none of the words, with the nearest word or a list of them. */
void tsim_schema_unknown_word(struct tsim_reader *reader, const struct tsim_value *value, const char *path,
                              const char *what, const char *const *words, size_t n_words);

/* Joins a path and a key: "a.b" and "c" give "a.b.c", an empty path and "c" give "c". */
const char *tsim_schema_path(struct tsim_arena *arena, const char *path, const char *key);
const char *tsim_word_of(const struct tsim_word *words, int value); /* NULL if no word has the value */
/* Lists the words of a set whose bits are 1 << value: "none, full". */
const char *tsim_words_text(struct tsim_arena *arena, const struct tsim_word *words, unsigned set);

/* ---- writing ---- */

struct tsim_writer {
    char *text;
    size_t length, capacity;
    int depth;
    bool needs_comma;
    bool omits_zeros;                  /* mappings of which all keys are 0, false or missing are left out */
    const char *const *estimate_paths; /* values at these paths are written as {value: ..., status: estimate} */
    size_t n_estimate_paths;
};

/* These write a member of an object, or an element of a list if `key` is NULL. */
void tsim_writer_begin(struct tsim_writer *writer, const char *key, char bracket); /* '{' or '[' */
void tsim_writer_end(struct tsim_writer *writer, char bracket);                    /* '}' or ']' */
void tsim_writer_text(struct tsim_writer *writer, const char *key, const char *text);
void tsim_writer_int(struct tsim_writer *writer, const char *key, int64_t value);
void tsim_writer_table(struct tsim_writer *writer, const struct tsim_table *table, const char *path,
                       const void *object); /* writes the members without braces */
void tsim_writer_mapping(struct tsim_writer *writer, const char *key, const struct tsim_table *table, const char *path,
                         const void *object);
/* Returns the text, copied to the arena, and releases what the writer holds. */
const char *tsim_writer_finish(struct tsim_writer *writer, struct tsim_arena *arena);
