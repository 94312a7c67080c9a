#include "report/terminal/figures.h"

#include "results/format.h"

#include <math.h>
#include <string.h>

enum { TEXT_BYTES = 64, LEAST_CUT_WIDTH = 10 };

static bool is_text(enum tsim_figure figure) {
    return figure == TSIM_FIGURE_TEXT || figure == TSIM_FIGURE_PATH;
}

void tsim_figures_init(struct tsim_figures *figures, struct tsim_arena *arena, const char *name,
                       const struct tsim_figure_column *columns, size_t n_columns) {
    *figures = (struct tsim_figures){.arena = arena, .name = name, .columns = columns, .n_columns = n_columns};
}

static void add(struct tsim_figures *figures, struct tsim_figure_cell cell) {
    figures->cells =
        tsim_arena_grow(figures->arena, figures->cells, figures->n_cells, &figures->capacity, sizeof *figures->cells);
    figures->cells[figures->n_cells++] = cell;
}

static enum tsim_figure next_figure(const struct tsim_figures *figures) {
    return figures->columns[figures->n_cells % figures->n_columns].figure;
}

void tsim_figures_add_text(struct tsim_figures *figures, const char *text) {
    TSIM_ASSERT(is_text(next_figure(figures)));
    add(figures, (struct tsim_figure_cell){.text = text, .number = (double)NAN});
}

void tsim_figures_add(struct tsim_figures *figures, double number) {
    TSIM_ASSERT(!is_text(next_figure(figures)));
    add(figures, (struct tsim_figure_cell){.number = number});
}

const char *tsim_figure_text(enum tsim_figure figure, double number, char *buffer, size_t size) {
    buffer[0] = '\0';
    if (isnan(number))
        return buffer;
    switch (figure) {
    case TSIM_FIGURE_TEXT:
    case TSIM_FIGURE_PATH:
        break;
    case TSIM_FIGURE_COUNT:
        return tsim_count_text(number, buffer, size);
    case TSIM_FIGURE_NUMBER:
        snprintf(buffer, size, fabs(number) >= 100 ? "%.0f" : "%.3g", number);
        return buffer;
    case TSIM_FIGURE_AMOUNT:
        return tsim_quantity_human(number, TSIM_COUNT, buffer, size);
    case TSIM_FIGURE_SECONDS:
        return tsim_quantity_human(number, TSIM_TIME_S, buffer, size);
    case TSIM_FIGURE_BYTES:
        return tsim_quantity_human(number, TSIM_BYTES, buffer, size);
    case TSIM_FIGURE_BYTES_PER_S:
        return tsim_quantity_human(number, TSIM_BYTES_PER_S, buffer, size);
    case TSIM_FIGURE_FLOPS_PER_S:
        return tsim_quantity_human(number, TSIM_FLOPS_PER_S, buffer, size);
    case TSIM_FIGURE_SHARE:
        return tsim_share_text(number, buffer, size);
    case TSIM_FIGURE_CHANGE:
        snprintf(buffer, size, fabs(number) < 0.09995 ? "%+.2f %%" : "%+.1f %%", 100.0 * number);
        return buffer;
    case TSIM_FIGURE_SIGNED:
        snprintf(buffer, size, "%+.3f", number);
        return buffer;
    }
    return buffer;
}

/* ---- for people ---- */

static const char *cell_text(const struct tsim_figures *figures, size_t cell) {
    const struct tsim_figure_column *column = &figures->columns[cell % figures->n_columns];
    char text[TEXT_BYTES];
    if (is_text(column->figure))
        return figures->cells[cell].text;
    return tsim_arena_strdup(figures->arena,
                             tsim_figure_text(column->figure, figures->cells[cell].number, text, sizeof text));
}

/* Returns the columns that a column of the table takes; 0: it is not for people. */
static int shown_width(const struct tsim_figures *figures, const char *const *texts, size_t column) {
    if (!figures->columns[column].title)
        return 0;
    int widest = tsim_text_width(figures->columns[column].title);
    for (size_t i = column; i < figures->n_cells; i += figures->n_columns) {
        int width = tsim_text_width(texts[i] ? texts[i] : "");
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* Cuts the texts of a column by as much of `excess` as leaves some of them; returns what is left of it. */
static int cut_column(const struct tsim_figures *figures, const char **texts, size_t column, int excess) {
    int width = shown_width(figures, texts, column), to = width - excess;
    if (excess <= 0 || width <= LEAST_CUT_WIDTH || !is_text(figures->columns[column].figure))
        return excess;
    to = to < LEAST_CUT_WIDTH ? LEAST_CUT_WIDTH : to;
    bool has_paths = figures->columns[column].figure == TSIM_FIGURE_PATH;
    for (size_t i = column; i < figures->n_cells; i += figures->n_columns)
        if (texts[i])
            texts[i] = (has_paths ? tsim_path_cut_short : tsim_text_cut_short)(figures->arena, texts[i], to);
    return excess - (width - to);
}

/* Shortens the first column, then the last one. */
static void fit(const struct tsim_figures *figures, const char **texts, int width) {
    int excess = -2 - width;
    for (size_t c = 0; c < figures->n_columns; c++)
        excess += figures->columns[c].title ? 2 + shown_width(figures, texts, c) : 0;
    excess = cut_column(figures, texts, 0, excess);
    cut_column(figures, texts, figures->n_columns - 1, excess);
}

void tsim_figures_print(const struct tsim_figures *figures, const struct tsim_style *style, FILE *out) {
    struct tsim_text_table table;
    struct tsim_column *columns = TSIM_NEW_ARRAY(figures->arena, figures->n_columns, struct tsim_column);
    const char **texts = TSIM_NEW_ARRAY(figures->arena, figures->n_cells, const char *);
    size_t n_columns = 0;
    for (size_t c = 0; c < figures->n_columns; c++)
        if (figures->columns[c].title)
            columns[n_columns++] = (struct tsim_column){.title = figures->columns[c].title,
                                                        .is_number = !is_text(figures->columns[c].figure)};
    for (size_t i = 0; i < figures->n_cells; i++)
        texts[i] = cell_text(figures, i);
    fit(figures, texts, style->width);
    tsim_text_table_init(&table, figures->arena, columns, n_columns);
    for (size_t i = 0; i < figures->n_cells; i++)
        if (figures->columns[i % figures->n_columns].title)
            tsim_text_table_add(&table, texts[i]);
    tsim_text_table_print(&table, style, out);
}

/* ---- for programs ---- */

void tsim_figures_print_csv(const struct tsim_figures *figures, FILE *out) {
    struct tsim_text_table table;
    struct tsim_column *columns = TSIM_NEW_ARRAY(figures->arena, figures->n_columns + 1, struct tsim_column);
    size_t n_columns = 0;
    char text[TEXT_BYTES];
    columns[n_columns++].title = "table";
    for (size_t c = 0; c < figures->n_columns; c++)
        if (figures->columns[c].key)
            columns[n_columns++].title = figures->columns[c].key;
    tsim_text_table_init(&table, figures->arena, columns, n_columns);
    for (size_t i = 0; i < figures->n_cells; i++) {
        const struct tsim_figure_column *column = &figures->columns[i % figures->n_columns];
        if (i % figures->n_columns == 0)
            tsim_text_table_add(&table, figures->name);
        if (!column->key)
            continue;
        if (is_text(column->figure))
            tsim_text_table_add(&table, figures->cells[i].text);
        else
            tsim_text_table_add(&table, isnan(figures->cells[i].number)
                                            ? NULL
                                            : tsim_double_text(figures->cells[i].number, text, sizeof text));
    }
    tsim_text_table_print_csv(&table, out);
}

void tsim_figures_json(const struct tsim_figures *figures, struct tsim_json *parent) {
    struct tsim_json *rows = tsim_json_array(parent, figures->name), *row = NULL;
    for (size_t i = 0; i < figures->n_cells; i++) {
        const struct tsim_figure_column *column = &figures->columns[i % figures->n_columns];
        if (i % figures->n_columns == 0)
            row = tsim_json_object(rows, NULL);
        if (column->key && is_text(column->figure))
            tsim_json_text(row, column->key, figures->cells[i].text);
        else if (column->key)
            tsim_json_number(row, column->key, figures->cells[i].number);
    }
}
