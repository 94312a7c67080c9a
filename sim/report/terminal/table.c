#include "report/terminal/table.h"

#include "base/plain_text.h"
#include "base/status.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PLAIN_WIDTH = 80, LEAST_WIDTH = 60, MOST_WIDTH = 100, LEAST_CELL = 16, GAP = 2 };

static int clamp(int width, int least, int most) {
    return width < least ? least : width > most ? most : width;
}

/* Returns the width that the environment gives, or 0. */
static int said_width(void) {
    const char *text = getenv("COLUMNS");
    long columns = text ? strtol(text, NULL, 10) : 0;
    return columns > 0 && columns < 10000 ? (int)columns : 0;
}

static int terminal_width(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 ? PLAIN_WIDTH : size.ws_col;
}

struct tsim_style tsim_style_of(FILE *stream) {
    int descriptor = fileno(stream), columns = said_width();
    bool is_terminal = isatty(descriptor);
    if (columns == 0 && is_terminal)
        columns = terminal_width(descriptor);
    struct tsim_style style = {.width = clamp(columns ? columns : PLAIN_WIDTH, LEAST_WIDTH, MOST_WIDTH),
                               .table_width = columns};
    if (!is_terminal)
        return style;
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool is_refused = (no_color && no_color[0]) || !term || strcmp(term, "dumb") == 0;
    style.is_colored = !is_refused;
    return style;
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

void tsim_text_heading(FILE *out, const struct tsim_style *style, const char *text) {
    fprintf(out, "\n%s%s%s\n", tsim_tint_on(style, TSIM_TINT_BOLD), text, tsim_tint_off(style));
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
    struct tsim_arena arena;
    int at = indent;
    tsim_arena_init(&arena);
    text = tsim_plain_text(&arena, text);
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
    tsim_arena_release(&arena);
}

/* ---- folding ---- */

/* Returns the bytes that take no column: an escape sequence that colours, or the rest of a code point. */
static size_t invisible_bytes(const char *text) {
    if (*text == '\033')
        return strcspn(text, "m") + 1;
    return !starts_code_point(*text);
}

static int visible_width(const char *text, size_t n_bytes) {
    int width = 0;
    for (size_t i = 0; i < n_bytes;) {
        size_t n = invisible_bytes(text + i);
        width += n == 0;
        i += n ? n : 1;
    }
    return width;
}

/* Returns the column in which the rest of a line goes on: below its second column, else a little to the right of its
 * beginning. */
static int hanging_indent(const char *line, size_t n_bytes, int width) {
    size_t begin = strspn(line, " ");
    for (size_t i = begin; i + 2 < n_bytes; i++)
        if (line[i] == ' ' && line[i + 1] == ' ') {
            i += strspn(line + i, " ");
            return visible_width(line, i) <= width / 2 ? visible_width(line, i) : (int)begin + 2;
        }
    return (int)begin + 2;
}

static void fold_line(FILE *out, const char *line, size_t n_bytes, int width, int hang) {
    size_t at = strspn(line, " "), first = at + strcspn(line + at, " \n");
    int room = width - visible_width(line + at, (first < n_bytes ? first : n_bytes) - at);
    int column = room < 0 ? 0 : (int)at < room ? (int)at : room; /* a word that has no room there begins further left */
    bool is_begin = true;
    fprintf(out, "%*s", column, "");
    while (at < n_bytes) {
        size_t n_blanks = is_begin ? 0 : strspn(line + at, " "), n_word = strcspn(line + at + n_blanks, " ");
        n_word = at + n_blanks + n_word > n_bytes ? n_bytes - at - n_blanks : n_word;
        int word = visible_width(line + at + n_blanks, n_word);
        if (!is_begin && column + (int)n_blanks + word > width) {
            fprintf(out, "\n%*s", hang, "");
            column = hang;
        } else {
            fprintf(out, "%*s", (int)n_blanks, "");
            column += (int)n_blanks;
        }
        fwrite(line + at + n_blanks, 1, n_word, out);
        column += word;
        at += n_blanks + n_word;
        is_begin = false;
    }
}

static bool is_prose(const char *line, size_t n_bytes) {
    return n_bytes > 0 && line[0] != ' ' && hanging_indent(line, n_bytes, INT_MAX) == 2;
}

/* Returns the lines of the paragraph that begins here, made one; returns its bytes. */
static size_t join_lines(char *text) {
    size_t n = strcspn(text, "\n");
    while (is_prose(text, n) && text[n] && is_prose(text + n + 1, strcspn(text + n + 1, "\n"))) {
        text[n] = ' ';
        n += 1 + strcspn(text + n + 1, "\n");
    }
    return n;
}

static void write_folded(const struct tsim_fold *fold) {
    char *at = fold->text;
    while (*at) {
        size_t n = strcspn(at, "\n"), n_joined = n;
        bool is_wide = visible_width(at, n) > fold->width;
        if (fold->joins && is_prose(at, n))
            n_joined = join_lines(at);
        if (n_joined > n || is_wide)
            fold_line(fold->out, at, n_joined, fold->width, n_joined > n ? 0 : hanging_indent(at, n, fold->width));
        else
            fwrite(at, 1, n, fold->out);
        at += n_joined;
        if (*at)
            fputc(*at++, fold->out);
    }
}

FILE *tsim_fold_open(struct tsim_fold *fold, const struct tsim_style *style, FILE *out) {
    *fold = (struct tsim_fold){.out = out, .stream = out, .width = style->table_width};
    if (style->table_width == 0)
        return out;
    fold->stream = open_memstream(&fold->text, &fold->size);
    if (!fold->stream)
        tsim_out_of_memory();
    return fold->stream;
}

void tsim_fold_close(struct tsim_fold *fold) {
    if (fold->stream == fold->out)
        return;
    if (ferror(fold->stream) || fclose(fold->stream) != 0 || !fold->text) /* the last realloc's failure is not told */
        tsim_out_of_memory();
    write_folded(fold);
    tsim_heap_free_foreign(fold->text);
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
    table->cells = tsim_arena_grow(table->arena, table->cells, table->n_cells, &table->capacity, sizeof *table->cells);
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

/* ---- tables that fit ---- */

/* The columns that stand side by side: the first one, and from .. to - 1. */
struct block {
    size_t from, to;
};

static size_t place_of(const struct block *block, size_t i) {
    return i == 0 ? 0 : block->from + i - 1;
}

static size_t n_places(const struct block *block) {
    return 1 + block->to - block->from;
}

static int total_width(const int *widths, size_t n_columns) {
    int total = -GAP;
    for (size_t c = 0; c < n_columns; c++)
        total += widths[c] + GAP;
    return total;
}

static bool is_text(const bool *is_number, const int *widths, size_t c) {
    return !is_number[c] && widths[c] > LEAST_CELL;
}

/* Shortens the widest text again and again until the table fits. If that is not enough, it changes nothing and returns
 * false. */
static bool narrow(int *widths, const bool *is_number, size_t n_columns, int limit) {
    int excess = total_width(widths, n_columns) - limit;
    for (size_t c = 0; c < n_columns; c++)
        excess -= is_text(is_number, widths, c) ? widths[c] - LEAST_CELL : 0;
    while (excess <= 0 && total_width(widths, n_columns) > limit) {
        size_t widest = SIZE_MAX;
        for (size_t c = 0; c < n_columns; c++)
            if (is_text(is_number, widths, c) && (widest == SIZE_MAX || widths[c] > widths[widest]))
                widest = c;
        widths[widest]--;
    }
    return excess <= 0;
}

/* Narrows each text that would leave no room beside the first column. */
static void narrow_each(int *widths, const bool *is_number, size_t n_columns, int limit) {
    for (size_t c = 0; c < n_columns; c++) {
        int most = c == 0 ? limit / 2 : limit - widths[0] - GAP;
        widths[c] = is_text(is_number, widths, c) && widths[c] > most ? most : widths[c];
    }
}

size_t tsim_columns_fit(const struct tsim_style *style, int *widths, const bool *is_number, size_t n_columns) {
    while (style->table_width > 0 && n_columns > 1 && !narrow(widths, is_number, n_columns, style->table_width))
        n_columns--;
    return n_columns;
}

/* Returns the bytes of the longest start of `text` that takes `width` columns. */
static size_t bytes_of_width(const char *text, int width) {
    size_t n = 0;
    for (; text[n]; n++)
        if (starts_code_point(text[n]) && width-- == 0)
            break;
    return n;
}

const char *tsim_text_cut_short(struct tsim_arena *arena, const char *text, int width) {
    return tsim_text_width(text) <= width
               ? text
               : tsim_arena_printf(arena, "%.*s..", (int)bytes_of_width(text, width - 2), text);
}

const char *tsim_path_cut_short(struct tsim_arena *arena, const char *path, int width) {
    int all = tsim_text_width(path);
    return all <= width ? path : tsim_arena_printf(arena, "..%s", path + bytes_of_width(path, all - width + 2));
}

void tsim_text_cut(FILE *out, const char *text, int width) {
    int columns = abs(width);
    if (tsim_text_width(text) <= columns || columns < 3)
        tsim_text_pad(out, text, width);
    else
        fprintf(out, "%.*s..", (int)bytes_of_width(text, columns - 2), text);
}

/* Returns the bytes of the next line of a cell: as many words as fit, or the part of one that does. */
static size_t line_bytes(const char *text, int width) {
    size_t n_bytes = 0, fits = 0;
    int columns = 0;
    for (; text[n_bytes]; n_bytes++) {
        columns += starts_code_point(text[n_bytes]);
        if (columns > width)
            return fits > 0 && text[n_bytes] != ' ' ? fits : n_bytes;
        if (text[n_bytes] == ' ')
            fits = n_bytes;
    }
    return n_bytes;
}

/* Prints one line of the row; `rest` moves on in each cell, to NULL at its end. Nothing is padded behind the last cell
 * with text, so that no line ends with blanks. */
static bool print_line(const struct tsim_text_table *table, const struct block *block, const int *widths,
                       const char **rest, FILE *out) {
    size_t n = n_places(block);
    while (n > 0 && (!rest[place_of(block, n - 1)] || !rest[place_of(block, n - 1)][0]))
        n--;
    bool has_more = false;
    for (size_t i = 0; i < n; i++) {
        size_t c = place_of(block, i);
        const char *text = rest[c] ? rest[c] : "";
        size_t n_bytes = table->columns[c].is_number ? strlen(text) : line_bytes(text, widths[c]);
        int blanks = widths[c] - word_width(text, n_bytes);
        bool is_last = i + 1 == n;
        fprintf(out, "%*s%.*s%*s", table->columns[c].is_number && blanks > 0 ? blanks : 0, "", (int)n_bytes, text,
                is_last                       ? 0
                : table->columns[c].is_number ? GAP
                                              : blanks + GAP,
                "");
        n_bytes += strspn(text + n_bytes, " ");
        rest[c] = text[n_bytes] ? text + n_bytes : NULL;
        has_more |= rest[c] != NULL;
    }
    return has_more;
}

static void print_row(const struct tsim_text_table *table, const struct block *block, const int *widths,
                      const char *const *cells, FILE *out) {
    const char **rest = TSIM_NEW_ARRAY(table->arena, table->n_columns, const char *);
    for (size_t c = 0; c < table->n_columns; c++)
        rest[c] = tsim_plain_text(table->arena, cells[c]);
    while (print_line(table, block, widths, rest, out))
        fputc('\n', out);
}

static void print_block(const struct tsim_text_table *table, const struct tsim_style *style, const struct block *block,
                        const int *widths, FILE *out) {
    const char **titles = TSIM_NEW_ARRAY(table->arena, table->n_columns, const char *);
    for (size_t c = 0; c < table->n_columns; c++)
        titles[c] = table->columns[c].title;
    fputs(tsim_tint_on(style, TSIM_TINT_BOLD), out);
    print_row(table, block, widths, titles, out);
    fprintf(out, "%s\n", tsim_tint_off(style));
    for (size_t i = 0; i < table->n_cells; i += table->n_columns) {
        print_row(table, block, widths, &table->cells[i], out);
        fputc('\n', out);
    }
}

void tsim_text_table_print(const struct tsim_text_table *table, const struct tsim_style *style, FILE *out) {
    TSIM_ASSERT(table->n_cells % table->n_columns == 0);
    int *widths = TSIM_NEW_ARRAY(table->arena, table->n_columns, int);
    bool *is_number = TSIM_NEW_ARRAY(table->arena, table->n_columns, bool);
    int limit = style->table_width > 0 ? style->table_width : INT_MAX;
    for (size_t c = 0; c < table->n_columns; c++) {
        widths[c] = column_width(table, c);
        is_number[c] = table->columns[c].is_number;
    }
    if (!narrow(widths, is_number, table->n_columns, limit))
        narrow_each(widths, is_number, table->n_columns, limit);
    for (struct block block = {1, 1}; block.from <= table->n_columns; block.from = block.to) {
        int width = widths[0];
        for (block.to = block.from; block.to < table->n_columns; block.to++) {
            width += GAP + widths[block.to];
            if (width > limit && block.to > block.from)
                break;
        }
        if (block.from > 1)
            fputc('\n', out);
        print_block(table, style, &block, widths, out);
        if (block.to == table->n_columns)
            break;
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
