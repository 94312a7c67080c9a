/* figures.h - one table of figures, written in three ways: aligned for people, CSV and JSON for programs.
 *
 * A column says what its figures are. People get units and prefixes, programs SI numbers under the column's key. A
 * column without a title is for programs alone, one without a key for people alone. Cells are added row by row. A
 * number that is NAN is an empty cell, and an absent member in JSON. */
#pragma once

#include "report/terminal/table.h"
#include "results/json.h"

enum tsim_figure {
    TSIM_FIGURE_TEXT,
    TSIM_FIGURE_PATH,        /* a text of keys, whose beginning is cut off if there is no room for it */
    TSIM_FIGURE_COUNT,       /* 1,024 */
    TSIM_FIGURE_NUMBER,      /* three significant digits */
    TSIM_FIGURE_AMOUNT,      /* 549 G: a count with a prefix */
    TSIM_FIGURE_SECONDS,     /* with a fitting prefix */
    TSIM_FIGURE_BYTES,       /* 117 MB */
    TSIM_FIGURE_BYTES_PER_S, /* 2.68 TB/s */
    TSIM_FIGURE_FLOPS_PER_S,
    TSIM_FIGURE_SHARE,  /* 12.3 % */
    TSIM_FIGURE_CHANGE, /* -1.23 % */
    TSIM_FIGURE_SIGNED  /* +0.123 */
};

struct tsim_figure_column {
    const char *title, *key;
    enum tsim_figure figure;
};

struct tsim_figure_cell {
    const char *text; /* for TEXT; may be NULL */
    double number;    /* for all others, in SI units */
};

struct tsim_figures {
    struct tsim_arena *arena;
    const char *name; /* JSON member, and the first column of CSV */
    const struct tsim_figure_column *columns;
    size_t n_columns;
    struct tsim_figure_cell *cells; /* row by row, in the arena */
    size_t n_cells;
    int32_t capacity;
};

/* Begins a table. `columns`, `name` and the arena must outlive it, and there is nothing to free. */
void tsim_figures_init(struct tsim_figures *figures, struct tsim_arena *arena, const char *name,
                       const struct tsim_figure_column *columns, size_t n_columns);
/* These add the next cell, of the kind that its column says. The text is not copied. */
void tsim_figures_add_text(struct tsim_figures *figures, const char *text);
void tsim_figures_add(struct tsim_figures *figures, double number);

/* Writes the figure for people; "" for NAN. Returns `buffer` (at least 64 bytes). */
const char *tsim_figure_text(enum tsim_figure figure, double number, char *buffer, size_t size);

/* Prints an aligned table. If lines would be wider than the style, texts of the first column are cut, then those of the
 * last, to no less than ten characters. */
void tsim_figures_print(const struct tsim_figures *figures, const struct tsim_style *style, FILE *out);
/* Prints CSV. Every line, including that of the titles, begins with the table's name, so that tables in one stream can
 * be told apart. */
void tsim_figures_print_csv(const struct tsim_figures *figures, FILE *out);
/* Adds the table to `parent` as an array of objects under the table's name. */
void tsim_figures_json(const struct tsim_figures *figures, struct tsim_json *parent);
