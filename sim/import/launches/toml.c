#include "import/launches/toml.h"

#include <string.h>

enum { MOST_DEPTH = 16, MOST_ITEMS = 4096 };

struct reader {
    struct tsim_recipe *r;
    const char *c, *end, *line_start;
    int line;
    int depth;
    enum tsim_status status;
};

static struct tsim_diag *fail(struct reader *t, const char *message) {
    if (t->status == TSIM_OK)
        t->status = TSIM_ERR_SYNTAX;
    const struct tsim_value *at = tsim_recipe_scalar(t->r, t->line, (int)(t->c - t->line_start) + 1, "");
    t->end = t->c; /* ends all reading */
    return tsim_value_error(t->r->diags, t->status, at, "", "not valid TOML: %s", message);
}

static char peek(const struct reader *t) {
    return t->c < t->end ? *t->c : '\0';
}

static void next_line(struct reader *t) {
    t->c++;
    t->line++;
    t->line_start = t->c;
}

static void skip_blanks(struct reader *t) {
    while (peek(t) == ' ' || peek(t) == '\t' || (peek(t) == '\r' && t->c + 1 < t->end && t->c[1] == '\n'))
        t->c++;
}

static void skip_comment(struct reader *t) {
    skip_blanks(t);
    if (peek(t) == '#')
        while (t->c < t->end && *t->c != '\n')
            t->c++;
}

/* Blanks, comments and line ends. */
static void skip_lines(struct reader *t) {
    for (skip_comment(t); peek(t) == '\n' && t->c < t->end; skip_comment(t))
        next_line(t);
}

/* ---- strings ---- */

static void put_utf8(char *out, size_t *n, unsigned long code) {
    if (code < 0x80) {
        out[(*n)++] = (char)code;
    } else if (code < 0x800) {
        out[(*n)++] = (char)(0xC0 | code >> 6);
        out[(*n)++] = (char)(0x80 | (code & 0x3F));
    } else {
        if (code >= 0x10000)
            out[(*n)++] = (char)(0xF0 | (code >> 18 & 7));
        out[(*n)++] = (char)(code >= 0x10000 ? 0x80 | (code >> 12 & 0x3F) : 0xE0 | code >> 12);
        out[(*n)++] = (char)(0x80 | (code >> 6 & 0x3F));
        out[(*n)++] = (char)(0x80 | (code & 0x3F));
    }
}

static unsigned long hex_value(char c) {
    return (unsigned long)(c <= '9' ? c - '0' : c >= 'a' ? c - 'a' + 10 : c - 'A' + 10);
}

/* Reads an escape behind its backslash; `out` has room for four more. */
static void read_escape(struct reader *t, char *out, size_t *n) {
    static const char NAMES[] = "btnfr\"\\", VALUES[] = "\b\t\n\f\r\"\\";
    const char *name = peek(t) ? strchr(NAMES, peek(t)) : NULL;
    if (name) {
        out[(*n)++] = VALUES[name - NAMES];
        t->c++;
        return;
    }
    int digits = peek(t) == 'u' ? 4 : peek(t) == 'U' ? 8 : 0;
    unsigned long code = 0;
    if (digits > 0)
        t->c++;
    for (int i = 0; i < digits; i++, t->c++) {
        const char *hex = peek(t) ? strchr("0123456789abcdefABCDEF", peek(t)) : NULL;
        if (!hex) {
            digits = 0;
            break;
        }
        code = code << 4 | hex_value(*hex);
    }
    if (digits == 0 || code == 0 || code > 0x10FFFF)
        fail(t, "an escape that does not exist");
    else
        put_utf8(out, n, code);
}

static void step(struct reader *t) {
    if (*t->c == '\n')
        next_line(t);
    else
        t->c++;
}

static void skip_white(struct reader *t) {
    while (t->c < t->end && *t->c && strchr(" \t\r\n", *t->c))
        step(t);
}

/* Returns the bytes from the opening quotes to those that close, at most: what is read of them is no longer. */
static size_t string_length(const struct reader *t, bool is_long) {
    const char *c = t->c + (is_long ? 3 : 1);
    for (; c < t->end; c++) {
        if (*c == '\\' && *t->c == '"')
            c++;
        else if ((*c == *t->c && (!is_long || (t->end - c >= 3 && c[1] == *c && c[2] == *c))) ||
                 (*c == '\n' && !is_long))
            break;
    }
    return (size_t)((c < t->end ? c : t->end) - t->c);
}

/* Reads a basic or literal string, of one line or of several. */
static char *read_string(struct reader *t) {
    char quote = *t->c;
    bool is_long = t->end - t->c >= 3 && t->c[1] == quote && t->c[2] == quote;
    struct reader start = *t;
    char *out = tsim_arena_alloc(t->r->arena, string_length(t, is_long) + 5);
    t->c += is_long ? 3 : 1;
    size_t n = 0;
    if (is_long && peek(t) == '\n')
        next_line(t);
    while (t->c < t->end) {
        if (*t->c == quote && (!is_long || (t->end - t->c >= 3 && t->c[1] == quote && t->c[2] == quote))) {
            t->c += is_long ? 3 : 1;
            out[n] = '\0';
            return out;
        }
        if (*t->c == '\n' && !is_long)
            break;
        if (*t->c == '\\' && quote == '"') {
            t->c++;
            if (is_long && peek(t) == '\n')
                skip_white(t);
            else
                read_escape(t, out, &n);
        } else {
            out[n++] = *t->c;
            step(t);
        }
    }
    if (t->status == TSIM_OK) {
        *t = start;
        fail(t, "a string that does not end");
    }
    return NULL;
}

/* ---- keys ---- */

static bool is_bare(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static const char *read_key_part(struct reader *t) {
    if (peek(t) == '"' || peek(t) == '\'')
        return read_string(t);
    const char *start = t->c;
    while (t->c < t->end && is_bare(*t->c))
        t->c++;
    if (t->c == start) {
        fail(t, "a key is expected here");
        return NULL;
    }
    return tsim_arena_strndup(t->r->arena, start, (size_t)(t->c - start));
}

/* Returns a.b."c" under `table`. NULL after a mistake. */
static const char *read_key(struct reader *t, const char *table) {
    const char *key = table;
    for (int parts = 0; parts < MOST_DEPTH; parts++) {
        skip_blanks(t);
        const char *part = read_key_part(t);
        if (!part)
            return NULL;
        key = *key ? tsim_arena_printf(t->r->arena, "%s.%s", key, part) : part;
        skip_blanks(t);
        if (peek(t) != '.')
            return key;
        t->c++;
    }
    fail(t, "a key of more than 16 parts");
    return NULL;
}

/* ---- values ---- */

static void read_pair(struct reader *t, const char *table);
static const struct tsim_value *read_value(struct reader *t, const char *key);

static const struct tsim_value *read_word(struct reader *t) {
    const char *start = t->c;
    int column = (int)(t->c - t->line_start) + 1;
    while (t->c < t->end && (is_bare(*t->c) || *t->c == '+' || *t->c == '.' || *t->c == ':'))
        t->c++;
    if (t->c == start) {
        fail(t, "a value is expected here");
        return NULL;
    }
    return tsim_recipe_scalar(t->r, t->line, column, tsim_arena_strndup(t->r->arena, start, (size_t)(t->c - start)));
}

/* An item of an array is called key.0; a table in an array leaves only settings under that name. */
static const struct tsim_value *read_item(struct reader *t, const char *key, size_t i) {
    if (peek(t) != '{' && peek(t) != '[')
        return read_value(t, "");
    int line = t->line, column = (int)(t->c - t->line_start) + 1;
    bool is_table = peek(t) == '{';
    const struct tsim_value *value = read_value(t, tsim_arena_printf(t->r->arena, "%s.%zu", key, i));
    return is_table && t->status == TSIM_OK ? tsim_recipe_scalar(t->r, line, column, "") : value;
}

static const struct tsim_value *read_array(struct reader *t, const char *key) {
    const struct tsim_value *items[MOST_ITEMS];
    struct tsim_value *list = TSIM_NEW(t->r->arena, struct tsim_value);
    *list = *tsim_recipe_scalar(t->r, t->line, (int)(t->c - t->line_start) + 1, "");
    list->kind = TSIM_VALUE_SEQUENCE;
    list->height = 2;
    size_t n = 0;
    t->c++;
    for (skip_lines(t); peek(t) != ']'; skip_lines(t)) {
        if (t->c >= t->end || n == MOST_ITEMS) {
            if (t->status == TSIM_OK)
                fail(t, n == MOST_ITEMS ? "an array of more than 4096 values" : "an array that does not end");
            return NULL;
        }
        items[n] = read_item(t, key, n);
        if (!items[n])
            return NULL;
        list->height = items[n]->height + 1 > list->height ? items[n]->height + 1 : list->height;
        list->n_nodes += items[n++]->n_nodes;
        skip_lines(t);
        if (peek(t) == ',')
            t->c++;
        else if (peek(t) != ']') {
            fail(t, "',' or ']' is expected here");
            return NULL;
        }
    }
    t->c++;
    const struct tsim_value **kept = TSIM_NEW_ARRAY(t->r->arena, n, const struct tsim_value *);
    if (n > 0)
        memcpy(kept, items, n * sizeof *kept);
    list->items = kept;
    list->n_items = n;
    return list;
}

/* Reads {a = 1, b = 2}, whose keys become settings of their own. NULL is no mistake. */
static void read_inline_table(struct reader *t, const char *key) {
    t->c++;
    skip_blanks(t);
    while (t->c < t->end && *t->c != '}') {
        read_pair(t, key);
        skip_blanks(t);
        if (peek(t) == ',')
            t->c++;
        else if (peek(t) != '}')
            fail(t, "',' or '}' is expected here");
        skip_blanks(t);
    }
    if (t->c < t->end)
        t->c++;
    else if (t->status == TSIM_OK)
        fail(t, "a table that does not end");
}

static const struct tsim_value *read_value(struct reader *t, const char *key) {
    const struct tsim_value *value = NULL;
    int line = t->line, column = (int)(t->c - t->line_start) + 1;
    if (++t->depth > MOST_DEPTH) {
        fail(t, "nested deeper than 16 levels");
    } else if (peek(t) == '"' || peek(t) == '\'') {
        const char *text = read_string(t);
        struct tsim_value *string = text ? TSIM_NEW(t->r->arena, struct tsim_value) : NULL;
        if (string) {
            *string = *tsim_recipe_scalar(t->r, line, column, text);
            string->is_quoted = true;
        }
        value = string;
    } else if (peek(t) == '[') {
        value = read_array(t, key);
    } else if (peek(t) == '{') {
        read_inline_table(t, key);
    } else {
        value = read_word(t);
    }
    t->depth--;
    return value;
}

static void read_pair(struct reader *t, const char *table) {
    int line = t->line, column = (int)(t->c - t->line_start) + 1;
    const char *key = read_key(t, table);
    if (!key)
        return;
    if (peek(t) != '=') {
        fail(t, "'=' is expected here");
        return;
    }
    t->c++;
    skip_blanks(t);
    const struct tsim_value *value = read_value(t, key);
    if (!value)
        return;
    const struct tsim_setting *first = tsim_recipe_find(t->r, key);
    if (first) {
        tsim_diag_hint(tsim_value_error(t->r->diags, TSIM_ERR_SYNTAX, tsim_recipe_scalar(t->r, line, column, ""), key,
                                        "stands here twice"),
                       "its first value is on line %d", first->value->line);
        t->status = t->status == TSIM_OK ? TSIM_ERR_SYNTAX : t->status;
    }
    tsim_recipe_add(t->r, key, key, value);
}

static const char *read_header(struct reader *t) {
    if (t->end - t->c > 1 && t->c[1] == '[') {
        tsim_diag_hint(fail(t, "arrays of tables ([[...]]) are not read"), "one table of each name: [name]");
        return "";
    }
    t->c++;
    const char *table = read_key(t, "");
    if (!table)
        return "";
    if (peek(t) != ']')
        fail(t, "']' is expected here");
    else
        t->c++;
    return table;
}

enum tsim_status tsim_toml_read(struct tsim_recipe *r) {
    const struct tsim_document *document = r->document;
    struct reader t = {r, document->text, document->text + document->size, document->text, 1, 0, TSIM_OK};
    const char *table = "";
    for (skip_lines(&t); t.c < t.end; skip_lines(&t)) {
        if (*t.c == '[')
            table = read_header(&t);
        else
            read_pair(&t, table);
        skip_comment(&t);
        if (t.c < t.end && *t.c != '\n')
            fail(&t, "the line goes on where it should end");
    }
    for (size_t i = 0; i < r->n_settings && i < TSIM_RECIPE_MAX_SETTINGS; i++)
        r->settings[i].is_used = false;
    return t.status;
}
