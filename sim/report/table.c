#include "report/table.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PLAIN_WIDTH = 80, LEAST_WIDTH = 60, MOST_WIDTH = 100 };

static int terminal_width(int descriptor) {
    struct winsize size;
    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return PLAIN_WIDTH;
    return size.ws_col < LEAST_WIDTH ? LEAST_WIDTH : size.ws_col > MOST_WIDTH ? MOST_WIDTH : size.ws_col;
}

struct tsim_style tsim_style_of(FILE *stream) {
    int descriptor = fileno(stream);
    if (!isatty(descriptor))
        return (struct tsim_style){.width = PLAIN_WIDTH, .is_colored = false};
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool is_refused = (no_color && no_color[0]) || !term || strcmp(term, "dumb") == 0;
    return (struct tsim_style){.width = terminal_width(descriptor), .is_colored = !is_refused};
}

const char *tsim_tint_on(const struct tsim_style *style, enum tsim_tint tint) {
    static const char *const CODES[] = {
        [TSIM_TINT_NONE] = "",        [TSIM_TINT_BOLD] = "\033[1m",   [TSIM_TINT_DIM] = "\033[2m",
        [TSIM_TINT_RED] = "\033[31m", [TSIM_TINT_GREEN] = "\033[32m", [TSIM_TINT_YELLOW] = "\033[33m",
    };
    return style->is_colored ? CODES[tint] : "";
}

const char *tsim_tint_off(const struct tsim_style *style) {
    return style->is_colored ? "\033[0m" : "";
}

static bool starts_code_point(char byte) {
    return ((unsigned char)byte & 0xC0) != 0x80;
}

int tsim_text_width(const char *text) {
    int width = 0;
    for (; *text; text++)
        width += starts_code_point(*text);
    return width;
}

void tsim_text_pad(FILE *out, const char *text, int width) {
    int blanks = abs(width) - tsim_text_width(text);
    if (width < 0 && blanks > 0)
        fprintf(out, "%*s", blanks, "");
    fputs(text, out);
    if (width > 0 && blanks > 0)
        fprintf(out, "%*s", blanks, "");
}

static size_t word_bytes(const char *text) {
    return strcspn(text, " ");
}

static int word_width(const char *text, size_t n_bytes) {
    int width = 0;
    for (size_t i = 0; i < n_bytes; i++)
        width += starts_code_point(text[i]);
    return width;
}

void tsim_text_wrap(FILE *out, const struct tsim_style *style, int indent, const char *text) {
    int at = indent;
    while (*text) {
        size_t n_bytes = word_bytes(text);
        int width = word_width(text, n_bytes);
        if (at > indent && at + 1 + width > style->width) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', out);
            at++;
        }
        fwrite(text, 1, n_bytes, out);
        at += width;
        text += n_bytes;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

const char *tsim_bar(double frac, int columns, char *buffer, size_t size) {
    static const char *const EIGHTHS[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    TSIM_ASSERT(size >= 3 * (size_t)columns + 1);
    double clamped = frac > 0.0 ? fmin(frac, 1.0) : 0.0; /* NAN becomes 0 as well */
    long n_eighths = lround(clamped * 8.0 * columns);
    if (n_eighths == 0 && clamped > 0.0)
        n_eighths = 1;
    char *at = buffer;
    for (long i = 0; i < n_eighths / 8; i++, at += 3)
        memcpy(at, "█", 3);
    strcpy(at, EIGHTHS[n_eighths % 8]);
    return buffer;
}

void tsim_text_table_init(struct tsim_text_table *table, struct tsim_arena *arena, const struct tsim_column *columns,
                          size_t n_columns) {
    *table = (struct tsim_text_table){.arena = arena, .columns = columns, .n_columns = n_columns};
}

void tsim_text_table_add(struct tsim_text_table *table, const char *text) {
    if (table->n_cells == table->capacity) {
        size_t capacity = table->capacity ? 2 * table->capacity : 64;
        const char **cells = TSIM_NEW_ARRAY(table->arena, capacity, const char *);
        for (size_t i = 0; i < table->n_cells; i++)
            cells[i] = table->cells[i];
        table->cells = cells;
        table->capacity = capacity;
    }
    table->cells[table->n_cells++] = tsim_arena_strdup(table->arena, text ? text : "");
}

static int column_width(const struct tsim_text_table *table, size_t column) {
    int widest = tsim_text_width(table->columns[column].title);
    for (size_t i = column; i < table->n_cells; i += table->n_columns) {
        int width = tsim_text_width(table->cells[i]);
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* Nothing is filled up behind the last cell of a row that says something, so that no line ends with blanks. */
static void print_row(const struct tsim_text_table *table, const int *widths, const char *const *cells, FILE *out) {
    size_t n_columns = table->n_columns;
    while (n_columns > 0 && !cells[n_columns - 1][0])
        n_columns--;
    for (size_t c = 0; c < n_columns; c++) {
        bool is_last = c + 1 == n_columns;
        int width = table->columns[c].is_number ? -widths[c] : is_last ? 0 : widths[c];
        tsim_text_pad(out, cells[c], width);
        fputs(is_last ? "" : "  ", out);
    }
}

void tsim_text_table_print(const struct tsim_text_table *table, const struct tsim_style *style, FILE *out) {
    TSIM_ASSERT(table->n_cells % table->n_columns == 0);
    int *widths = TSIM_NEW_ARRAY(table->arena, table->n_columns, int);
    const char **titles = TSIM_NEW_ARRAY(table->arena, table->n_columns, const char *);
    for (size_t c = 0; c < table->n_columns; c++) {
        widths[c] = column_width(table, c);
        titles[c] = table->columns[c].title;
    }
    fputs(tsim_tint_on(style, TSIM_TINT_BOLD), out);
    print_row(table, widths, titles, out);
    fprintf(out, "%s\n", tsim_tint_off(style));
    for (size_t i = 0; i < table->n_cells; i += table->n_columns) {
        print_row(table, widths, &table->cells[i], out);
        fputc('\n', out);
    }
}

void tsim_csv_cell(const char *text, bool is_last, FILE *out) {
    text = text ? text : "";
    if (strpbrk(text, ",\"\r\n")) {
        fputc('"', out);
        for (; *text; text++)
            fputs(*text == '"' ? "\"\"" : (char[]){*text, '\0'}, out);
        fputc('"', out);
    } else {
        fputs(text, out);
    }
    fputc(is_last ? '\n' : ',', out);
}

void tsim_text_table_print_csv(const struct tsim_text_table *table, FILE *out) {
    for (size_t c = 0; c < table->n_columns; c++)
        tsim_csv_cell(table->columns[c].title, c + 1 == table->n_columns, out);
    for (size_t i = 0; i < table->n_cells; i++)
        tsim_csv_cell(table->cells[i], (i + 1) % table->n_columns == 0, out);
}
