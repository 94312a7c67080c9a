/* table.h - text for people (aligned tables, bars, colour) and CSV for programs. Widths are counted in code points of
 * UTF-8, not in bytes. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stdio.h>

/* The style in which to write to one stream. */
struct tsim_style {
    int width;       /* columns of text, 60..100 */
    int table_width; /* columns that a table may take; 0: as many as it has */
    bool is_colored;
};

/* Returns a terminal's own width, and colour unless NO_COLOR is set or TERM is "dumb". Other output has 80 columns,
 * tables of any width and no colour. COLUMNS sets the width of any output. */
struct tsim_style tsim_style_of(FILE *stream);

enum tsim_tint { TSIM_TINT_NONE, TSIM_TINT_BOLD, TSIM_TINT_DIM, TSIM_TINT_RED, TSIM_TINT_GREEN, TSIM_TINT_YELLOW };

/* Returns the escape sequences around a coloured text; empty strings when the style has no colour. */
const char *tsim_tint_on(const struct tsim_style *style, enum tsim_tint tint);
const char *tsim_tint_off(const struct tsim_style *style);

/* Prints an empty line, and the text in bold. */
void tsim_text_heading(FILE *out, const struct tsim_style *style, const char *text);

int tsim_text_width(const char *text);

/* Prints `text` filled with blanks to `width` columns, left-aligned, or right-aligned if `width` is negative. */
void tsim_text_pad(FILE *out, const char *text, int width);

/* Prints `text` broken at blanks so that no line is wider than the style. The first line starts at column `indent`
 * (already printed), and all others are indented by as much. It ends with a newline. Foreign texts are made plain
 * (base/plain_text.h). */
void tsim_text_wrap(FILE *out, const struct tsim_style *style, int indent, const char *text);

/* A stream that folds lines which are too wide for a table. Text that is written to the stream of tsim_fold_open
 * reaches `out` when it is closed; lines that are too wide are then broken at blanks and continued below their text, or
 * below their second column. With `joins`, lines of a paragraph are filled again. */
struct tsim_fold {
    FILE *out, *stream; /* the same if nothing is folded */
    int width;
    bool joins;
    char *text;
    size_t size;
};
FILE *tsim_fold_open(struct tsim_fold *fold, const struct tsim_style *style, FILE *out);
void tsim_fold_close(struct tsim_fold *fold);

/* Returns a bar of up to `columns` columns for `frac` of full length (clamped to 0..1), in eighths of a column. A
 * fraction above zero shows at least an eighth. Returns `buffer`, which needs 3 bytes a column and one more. */
const char *tsim_bar(double frac, int columns, char *buffer, size_t size);

struct tsim_column {
    const char *title;
    bool is_number; /* aligned to the right */
};

struct tsim_text_table {
    struct tsim_arena *arena;
    const struct tsim_column *columns;
    size_t n_columns;
    const char **cells; /* row by row, in the arena */
    size_t n_cells;
    int32_t capacity;
};

/* Begins a table. `columns` and the arena must outlive it, and there is nothing to free. */
void tsim_text_table_init(struct tsim_text_table *table, struct tsim_arena *arena, const struct tsim_column *columns,
                          size_t n_columns);
/* Adds the next cell; a row is full after n_columns cells. NULL is an empty cell. The text is copied. */
void tsim_text_table_add(struct tsim_text_table *table, const char *text);
/* Prints the table. If it is too wide for the style, its widest texts are broken into lines; if that is not enough, the
 * last columns follow below, beside the first column again. */
void tsim_text_table_print(const struct tsim_text_table *table, const struct tsim_style *style, FILE *out);
/* Fits a table that is written row by row to the style: narrows texts, and drops columns at the end. Returns the number
 * of columns that stay. Their cells are printed with tsim_text_cut, which works as tsim_text_pad if the text is not too
 * long, and marks a cut text with "..". */
size_t tsim_columns_fit(const struct tsim_style *style, int *widths, const bool *is_number, size_t n_columns);
void tsim_text_cut(FILE *out, const char *text, int width);
/* Returns the text that tsim_text_cut prints, in `arena` unless it is `text` itself; width >= 3. */
const char *tsim_text_cut_short(struct tsim_arena *arena, const char *text, int width);
/* Returns the end of a path of keys, which says what the key is. */
const char *tsim_path_cut_short(struct tsim_arena *arena, const char *path, int width);
/* Writes one cell of CSV (RFC 4180) and the comma or line end behind it; NULL is empty. */
void tsim_csv_cell(const char *text, bool is_last, FILE *out);
/* Writes the table as CSV (RFC 4180), titles first; lines end with a newline alone. */
void tsim_text_table_print_csv(const struct tsim_text_table *table, FILE *out);
