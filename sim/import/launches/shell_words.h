/* shell_words.h - private to import: reads a shell's words with their quotes and expansions. */
#pragma once

#include "import/launches/shell.h"

enum { TSIM_SHELL_MAX_EXPANDED = 4 * 1000 * 1000, TSIM_SHELL_MAX_DEPTH = 32 };

struct tsim_shell_variable {
    const char *name;
    const struct tsim_shell_word *words;
    size_t n_words;
    const char *lost; /* the text from which its value would have come, if that is not known; NULL: it is known */
};

/* Words that are being made from one piece of text. An expansion may give none or several. */
struct tsim_shell_fields {
    struct tsim_shell_word *words; /* on the heap */
    size_t n_words, words_capacity;
    char *text; /* of the word that is open */
    uint32_t *at;
    size_t n, text_capacity, at_capacity;
    bool is_open;
    uint32_t start;
    bool never_splits; /* for the right side of an assignment */
};

struct tsim_shell {
    struct tsim_arena *arena;
    const char *text; /* the script, or a text in it that is given to another shell */
    size_t size, pos;
    const uint32_t *at; /* where in the script each character was written; NULL: the text is the script */
    struct tsim_shell_variable *variables; /* on the heap */
    size_t n_variables, variables_capacity;
    const struct tsim_shell_word *arguments; /* $1, $2, ... */
    size_t n_arguments;
    const char *missing; /* the first thing that came to nothing since this was NULL, because nobody gives it */
    size_t n_expanded;
    int depth;
    enum tsim_status status; /* of the first mistake */
    size_t bad_offset;
    const char *bad_message;
};

/* Returns the place in the script at which character `pos` of the text was written. */
uint32_t tsim_shell_place(const struct tsim_shell *s, size_t pos);
/* Records a mistake at `pos` of the text; the first one counts. */
void tsim_shell_fail(struct tsim_shell *s, enum tsim_status status, size_t pos, const char *message);

const struct tsim_shell_variable *tsim_shell_get(const struct tsim_shell *s, const char *name, size_t length);
void tsim_shell_set(struct tsim_shell *s, const char *name, const struct tsim_shell_word *words, size_t n_words);

/* Returns the name of the variable that is one element of an array: "NAME[key]". */
const char *tsim_shell_element(struct tsim_arena *arena, const char *name, size_t length, const char *key);
/* Returns what text[pos, end) gives, expanded and without its quotes, as one word. */
const char *tsim_shell_text_to(struct tsim_shell *s, size_t end);

/* Returns a word with a text of our own and the place `place`. */
struct tsim_shell_word tsim_shell_word_at(struct tsim_shell *s, const char *text, uint32_t place);

/* Reads one word from `pos` up to what ends it. */
void tsim_shell_read_word(struct tsim_shell *s, struct tsim_shell_fields *fields);
/* A here-document that `<<` has announced; s->pos is behind the announcement. */
struct tsim_shell_document {
    const char *name; /* the line that ends it; NULL: there is no document */
    bool is_quoted;   /* its text is left as it is; else variables in it are expanded */
};
struct tsim_shell_document tsim_shell_read_document_name(struct tsim_shell *s);
/* Returns the document that begins at `pos`, as one word; s->pos is then behind its last line. */
struct tsim_shell_word tsim_shell_read_document(struct tsim_shell *s, const struct tsim_shell_document *document);
/* Returns the value of ((...)) whose inside is text[from, to). */
int64_t tsim_shell_arithmetic(struct tsim_shell *s, size_t from, size_t to);
void tsim_shell_release_fields(struct tsim_shell_fields *fields);

/* Returns the text that printf makes of a format and its arguments: %s, %d, %i, %u and %%, with width and zeros. */
const char *tsim_shell_format(struct tsim_arena *arena, const struct tsim_shell_word *words, size_t n);

/* Returns the offset of the bracket that closes the one at `from`; `size` if none does. */
size_t tsim_shell_matching(const struct tsim_shell *s, size_t from, char open, char close);
