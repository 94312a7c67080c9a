#include "import/launches/python_config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 8192, MOST_DEPTH = 32, MOST_CALLS = 8, MOST_FUNCTIONS = 1024, MOST_NAME = 200 };

struct reading {
    struct tsim_recipe *r;
    struct tsim_python *python;
    size_t capacity;
    const char *text;
    size_t size, at;
    size_t *lines; /* where each begins */
    size_t n_lines;
    size_t *heads;  /* of the functions: behind the bracket of their parameters */
    size_t *bodies; /* where their first line begins */
    int depth, n_calls, n_scopes;
    size_t n_work; /* values that were ever kept: a function that calls another twice doubles them */
    enum tsim_status status;
};

/* ---- places, mistakes, values ---- */

static void find_lines(struct reading *g) {
    size_t n = 1;
    for (size_t i = 0; i < g->size; i++)
        n += g->text[i] == '\n';
    g->lines = TSIM_NEW_ARRAY(g->r->arena, n, size_t);
    g->lines[0] = 0;
    for (size_t i = 0; i < g->size; i++)
        if (g->text[i] == '\n')
            g->lines[++g->n_lines] = i + 1;
    g->n_lines = n;
}

static const struct tsim_value *place(const struct reading *g, size_t at, const char *text) {
    size_t low = 0, high = g->n_lines;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (g->lines[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return tsim_recipe_scalar(g->r, (int)low + 1, (int)(at - g->lines[low]) + 1, text);
}

static void fail(struct reading *g, enum tsim_status status, const char *message) {
    if (g->status == TSIM_OK)
        tsim_value_error(g->r->diags, status, place(g, g->at, ""), "", "%s", message);
    g->status = g->status == TSIM_OK ? status : g->status;
    g->at = g->size; /* nothing more is read */
}

static void keep(struct reading *g, const char *path, const char *text, size_t at) {
    struct tsim_python *p = g->python;
    if (++g->n_work > 4 * MOST_VALUES || p->n_values >= MOST_VALUES || strlen(path) > MOST_NAME) {
        fail(g, TSIM_ERR_LIMIT, "a configuration of too many or too deep values");
        return;
    }
    const struct tsim_value *where = place(g, at, "");
    p->values = tsim_heap_grow(p->values, &g->capacity, p->n_values + 1, sizeof *p->values);
    p->values[p->n_values++] = (struct tsim_python_value){path, text, where->line, where->column};
}

static bool is_under(const char *path, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(path, prefix, length) == 0 && (path[length] == '\0' || path[length] == '.' || path[length] == '[');
}

static void forget(struct reading *g, const char *prefix) {
    struct tsim_python *p = g->python;
    size_t n = 0;
    for (size_t i = 0; i < p->n_values; i++)
        if (!is_under(p->values[i].path, prefix))
            p->values[n++] = p->values[i];
    p->n_values = n;
}

/* Keeps the values of a name under another path, too. False: nothing is known of it. */
static bool copy(struct reading *g, const char *from, const char *to) {
    const size_t n = g->python->n_values, length = strlen(from);
    bool has = false;
    for (size_t i = 0; i < n && g->status == TSIM_OK; i++) {
        const struct tsim_python_value value = g->python->values[i];
        if (!is_under(value.path, from))
            continue;
        has = true;
        keep(g, tsim_arena_printf(g->r->arena, "%s%s", to, value.path + length), value.text, g->at);
        if (g->status == TSIM_OK) {
            g->python->values[g->python->n_values - 1].line = value.line;
            g->python->values[g->python->n_values - 1].column = value.column;
        }
    }
    return has;
}

/* ---- characters ---- */

static char now(const struct reading *g) {
    return g->at < g->size ? g->text[g->at] : '\0';
}

static char next(const struct reading *g, size_t n) {
    return g->at + n < g->size ? g->text[g->at + n] : '\0';
}

static bool is_end(const struct reading *g) {
    return g->at >= g->size;
}

/* Skips blanks and comments, and inside brackets also ends of lines. */
static void skip(struct reading *g, bool over_lines) {
    while (!is_end(g)) {
        if (now(g) == '#')
            while (!is_end(g) && now(g) != '\n')
                g->at++;
        else if (now(g) == '\\' && next(g, 1) == '\n')
            g->at += 2;
        else if (now(g) == ' ' || now(g) == '\t' || now(g) == '\r' || (over_lines && now(g) == '\n'))
            g->at++;
        else
            return;
    }
}

static bool is_name_char(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns how many characters open a string here: its quote behind up to two letters (r, f, b, u); 0: none. */
static size_t string_prefix(const struct reading *g) {
    size_t n = 0;
    while (n < 2 && next(g, n) && strchr("rRfFbBuU", next(g, n)))
        n++;
    return next(g, n) == '"' || next(g, n) == '\'' ? n + 1 : 0;
}

/* Returns the string's content, with escapes as they are, and goes past the closing quotes. */
static const char *string(struct reading *g) {
    g->at += string_prefix(g) - 1;
    const char quote = now(g);
    const bool is_triple = next(g, 1) == quote && next(g, 2) == quote;
    const size_t width = is_triple ? 3 : 1, start = g->at + width;
    for (g->at = start; !is_end(g); g->at++) {
        if (now(g) == '\\') {
            g->at++;
        } else if (now(g) == quote && (!is_triple || (next(g, 1) == quote && next(g, 2) == quote))) {
            const char *text = tsim_arena_strndup(g->r->arena, g->text + start, g->at - start);
            g->at += width;
            return text;
        } else if (now(g) == '\n' && !is_triple) {
            break;
        }
    }
    fail(g, TSIM_ERR_SYNTAX, "a string without its end");
    return "";
}

/* Skips everything up to the end of the line, or, within brackets, to a comma or a closing bracket. */
static void pass(struct reading *g, bool is_within) {
    int open = 0;
    while (!is_end(g)) {
        if (now(g) == '#')
            skip(g, false);
        else if (string_prefix(g))
            string(g);
        else if (open == 0 && (is_within ? strchr(",)]}", now(g)) != NULL : now(g) == '\n'))
            return;
        else {
            open += strchr("([{", now(g)) ? 1 : strchr(")]}", now(g)) ? -1 : 0;
            open = open < 0 ? 0 : open;
            while (is_name_char(now(g)) && is_name_char(next(g, 1)))
                g->at++; /* so that no letter of a name begins a string */
            g->at++;
        }
    }
}

static const char *dotted_name(struct reading *g) {
    const size_t start = g->at;
    while (is_name_char(now(g)) || (now(g) == '.' && is_name_char(next(g, 1))))
        g->at++;
    return tsim_arena_strndup(g->r->arena, g->text + start, g->at - start);
}

/* ---- expressions ---- */

static void expression(struct reading *g, const char *scope, const char *path, bool is_within);
static void run(struct reading *g, size_t function, const char *path, const char *given);

static bool closes(struct reading *g, char close) {
    skip(g, true);
    if (now(g) != close && !is_end(g))
        return false;
    g->at += !is_end(g);
    return true;
}

/* Skips the comma behind an item; it is a mistake if neither the comma nor the end is there. */
static void separate(struct reading *g, char close) {
    skip(g, true);
    if (now(g) == ',')
        g->at++;
    else if (now(g) != close)
        fail(g, TSIM_ERR_SYNTAX, "a comma or a closing bracket is missing");
}

static void items(struct reading *g, const char *scope, const char *path, char close) {
    for (int n = 0; !closes(g, close); n++) {
        expression(g, scope, tsim_arena_printf(g->r->arena, "%s[%d]", path, n), true);
        separate(g, close);
    }
}

static void dictionary(struct reading *g, const char *scope, const char *path) {
    while (!closes(g, '}')) {
        const char *key = string_prefix(g) ? string(g) : NULL;
        skip(g, true);
        if (key && now(g) == ':') {
            g->at++;
            expression(g, scope, tsim_arena_printf(g->r->arena, "%s.%s", path, key), true);
        } else {
            pass(g, true);
        }
        separate(g, '}');
    }
}

static void arguments(struct reading *g, const char *scope, const char *path) {
    for (int n = 0; !closes(g, ')'); n++) {
        const size_t before = g->at;
        const char *name = isalpha((unsigned char)now(g)) || now(g) == '_' ? dotted_name(g) : NULL;
        skip(g, true);
        if (name && now(g) == '=' && next(g, 1) != '=') {
            g->at++;
            expression(g, scope, tsim_arena_printf(g->r->arena, "%s.%s", path, name), true);
        } else if ((g->at = before, now(g) == '*')) {
            pass(g, true);
        } else {
            expression(g, scope, tsim_arena_printf(g->r->arena, "%s._%d", path, n), true);
        }
        separate(g, ')');
    }
}

static void call(struct reading *g, const char *scope, const char *path, const char *name, size_t at) {
    size_t i = 0;
    g->at++;
    while (i < g->python->n_functions && strcmp(g->python->functions[i], name) != 0)
        i++;
    if (i < g->python->n_functions) {
        const char *given = tsim_arena_printf(g->r->arena, "given%d", ++g->n_scopes);
        arguments(g, scope, given);
        const size_t behind = g->at;
        run(g, i, path, given);
        forget(g, given);
        g->at = g->status == TSIM_OK ? behind : g->size;
        return;
    }
    if (strcmp(name, "dict") != 0)
        keep(g, tsim_arena_printf(g->r->arena, "%s._call", path), name, at);
    arguments(g, scope, path);
}

static void named(struct reading *g, const char *scope, const char *path) {
    static const char *const WORDS[][2] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};
    const size_t at = g->at;
    const char *name = dotted_name(g);
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++)
        if (strcmp(name, WORDS[i][0]) == 0) {
            keep(g, path, WORDS[i][1], at);
            return;
        }
    if (now(g) == '(')
        call(g, scope, path, name, at);
    else if (!copy(g, tsim_arena_printf(g->r->arena, "%s.%s", scope, name), path) &&
             !copy(g, tsim_arena_printf(g->r->arena, "module.%s", name), path))
        keep(g, path, name, at);
}

static void primary(struct reading *g, const char *scope, const char *path) {
    const size_t at = g->at;
    if (string_prefix(g)) {
        const char *text = string(g);
        for (skip(g, g->depth > 1); string_prefix(g) && g->status == TSIM_OK; skip(g, g->depth > 1))
            text = tsim_arena_printf(g->r->arena, "%s%s", text, string(g));
        keep(g, path, text, at);
    } else if (now(g) == '[') {
        g->at++;
        items(g, scope, path, ']');
    } else if (now(g) == '{') {
        g->at++;
        dictionary(g, scope, path);
    } else if (now(g) == '(') {
        g->at++;
        expression(g, scope, path, true);
        skip(g, true);
        if (now(g) == ',') {
            g->at++;
            items(g, scope, tsim_arena_printf(g->r->arena, "%s.rest", path), ')'); /* a tuple: nobody asks for one */
        } else if (!closes(g, ')')) {
            fail(g, TSIM_ERR_SYNTAX, "a closing bracket is missing");
        }
    } else if (isdigit((unsigned char)now(g)) || (strchr("-+.", now(g)) && isdigit((unsigned char)next(g, 1)))) {
        g->at++;
        while (is_name_char(now(g)) || now(g) == '.' ||
               (strchr("-+", now(g)) && now(g) && strchr("eE", g->text[g->at - 1])))
            g->at++;
        keep(g, path, tsim_arena_strndup(g->r->arena, g->text + at, g->at - at), at);
    } else if (isalpha((unsigned char)now(g)) || now(g) == '_') {
        named(g, scope, path);
    } else if (!is_end(g)) {
        fail(g, TSIM_ERR_SYNTAX, "an expression belongs here");
    }
}

/* Finds the number under the path. Returns false if there is none. */
static bool number_at(const struct reading *g, const char *path, double *number) {
    for (size_t i = g->python->n_values; i > 0; i--)
        if (strcmp(g->python->values[i - 1].path, path) == 0) {
            char *end;
            *number = strtod(g->python->values[i - 1].text, &end);
            return end != g->python->values[i - 1].text && *end == '\0';
        }
    return false;
}

/* Computes "8 / 3", "2 * 1024", "world // 8" from left to right. */
static bool products(struct reading *g, const char *scope, const char *path, size_t at) {
    for (;;) {
        double a, b;
        skip(g, g->depth > 1);
        const bool is_whole = now(g) == '/' && next(g, 1) == '/', is_quotient = now(g) == '/';
        if (now(g) != '*' && now(g) != '/')
            return true;
        if (next(g, 1) == '*' || !number_at(g, path, &a))
            return false;
        const char *right = tsim_arena_printf(g->r->arena, "%s._right", path);
        g->at += 1 + (size_t)is_whole;
        skip(g, g->depth > 1);
        primary(g, scope, right);
        const bool is_number = number_at(g, right, &b) && (!is_quotient || b != 0);
        forget(g, right);
        if (!is_number || g->status != TSIM_OK)
            return false;
        const double value = !is_quotient ? a * b : is_whole && a / b < 1e15 ? (double)(long long)(a / b) : a / b;
        forget(g, path);
        keep(g, path, tsim_arena_printf(g->r->arena, "%.15g", value), at);
    }
}

/* Reads an expression. If it is no literal, call or product, only its source is kept, which few callers use. */
static void expression(struct reading *g, const char *scope, const char *path, bool is_within) {
    if (g->status != TSIM_OK || g->depth >= MOST_DEPTH) {
        fail(g, TSIM_ERR_LIMIT, "expressions within each other that are too deep");
        return;
    }
    g->depth += is_within ? 2 : 1;
    skip(g, is_within);
    const size_t at = g->at;
    bool is_known = !(strncmp(g->text + at, "not ", g->size - at < 4 ? 0 : 4) == 0 && g->size - at >= 4) &&
                    strchr("-+.([{\"'", now(g)) != NULL;
    is_known = is_known || is_name_char(now(g));
    if (is_known) {
        primary(g, scope, path);
        is_known = g->status == TSIM_OK && products(g, scope, path, at);
        skip(g, is_within);
    }
    if (g->status == TSIM_OK && (!is_known || (!is_end(g) && !strchr(is_within ? ",)]}:" : "\n;", now(g))))) {
        forget(g, path);
        pass(g, is_within);
        size_t n = g->at - at;
        while (n > 0 && isspace((unsigned char)g->text[at + n - 1]))
            n--;
        keep(g, path, tsim_arena_strndup(g->r->arena, g->text + at, n < MOST_NAME ? n : MOST_NAME), at);
    }
    g->depth -= is_within ? 2 : 1;
}

/* ---- statements ---- */

static size_t indent_of(const struct reading *g, size_t at) {
    size_t n = 0;
    while (at + n < g->size && (g->text[at + n] == ' ' || g->text[at + n] == '\t'))
        n++;
    return n;
}

static bool is_blank(const struct reading *g, size_t at) {
    const size_t i = at + indent_of(g, at);
    return i >= g->size || strchr("\n\r#", g->text[i]) != NULL;
}

static bool begins(const struct reading *g, const char *word) {
    const size_t n = strlen(word);
    return g->size - g->at > n && strncmp(g->text + g->at, word, n) == 0 && !is_name_char(g->text[g->at + n]);
}

/* Reads name = ..., name.attribute = ..., name: type = ...; skips anything else. */
static void assignment(struct reading *g, const char *scope) {
    const size_t start = g->at;
    const char *name = isalpha((unsigned char)now(g)) || now(g) == '_' ? dotted_name(g) : "";
    skip(g, false);
    if (*name && now(g) == ':')
        while (!is_end(g) && now(g) != '=' && now(g) != '\n')
            g->at++;
    if (!*name || now(g) != '=' || next(g, 1) == '=') {
        g->at = start;
        return;
    }
    g->at++;
    const char *path = tsim_arena_printf(g->r->arena, "%s.%s", scope, name);
    const char *fresh = tsim_arena_printf(g->r->arena, "%s.new", scope); /* the old value may be in the new one */
    forget(g, fresh);
    expression(g, scope, fresh, false);
    if (g->status != TSIM_OK)
        return;
    forget(g, path);
    copy(g, fresh, path);
    forget(g, fresh);
}

static void note_unread(struct reading *g) {
    static const char *const WORDS[] = {"if", "for", "while", "with", "try"};
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++)
        if (begins(g, WORDS[i]) && g->python->unread_line == 0)
            g->python->unread_line = place(g, g->at, "")->line;
}

/* Skips the rest of a statement, to the beginning of the next line. */
static void end_line(struct reading *g) {
    pass(g, false);
    g->at += !is_end(g);
}

/* Reads "nodes: int = 1" and its like: the value that the call gives under `given`, or the default. */
static void parameters(struct reading *g, size_t function, const char *scope, const char *given) {
    g->at = g->heads[function];
    for (int n = 0; !closes(g, ')') && g->status == TSIM_OK; n++) {
        const char *name = isalpha((unsigned char)now(g)) || now(g) == '_' ? dotted_name(g) : "",
                   *path = tsim_arena_printf(g->r->arena, "%s.%s", scope, name);
        const bool is_given = *name && given &&
                              (copy(g, tsim_arena_printf(g->r->arena, "%s.%s", given, name), path) ||
                               copy(g, tsim_arena_printf(g->r->arena, "%s._%d", given, n), path));
        int open = 0;
        while (!is_end(g) && (open > 0 || !strchr("=,)", now(g)))) {
            open += (now(g) == '[') - (now(g) == ']');
            g->at++;
        }
        if (now(g) == '=' && *name && !is_given) {
            g->at++;
            expression(g, "module", path, true);
        } else {
            pass(g, true);
        }
        separate(g, ')');
    }
}

/* Reads a function's body: its lines of the least indent, up to its return. */
static void run(struct reading *g, size_t function, const char *path, const char *given) {
    const char *scope = tsim_arena_printf(g->r->arena, "local%d", ++g->n_scopes);
    const int depth = g->depth;
    size_t indent = 0;
    if (++g->n_calls > MOST_CALLS) {
        fail(g, TSIM_ERR_LIMIT, "functions that call each other too deeply");
        return;
    }
    g->depth = 0;
    parameters(g, function, scope, given);
    for (g->at = g->status == TSIM_OK ? g->bodies[function] : g->size; !is_end(g) && g->status == TSIM_OK;
         end_line(g)) {
        const size_t n = indent_of(g, g->at);
        if (is_blank(g, g->at))
            continue;
        indent = indent == 0 ? n : indent;
        if (n == 0 || n < indent)
            break;
        g->at += n;
        if (n > indent)
            continue;
        if (begins(g, "return")) {
            g->at += strlen("return");
            expression(g, scope, path, false);
            break;
        }
        note_unread(g);
        assignment(g, scope);
    }
    if (g->python->keeps_locals && g->n_calls == 1)
        copy(g, scope, "result.locals");
    forget(g, scope);
    g->n_calls--;
    g->depth = depth;
}

void tsim_python_functions(struct tsim_recipe *r, struct tsim_python *python) {
    /* A mistake is said by tsim_python_read, which knows lines: here it only ends the list. */
    struct reading g = {
        .r = r, .python = python, .text = r->document->text, .size = r->document->size, .status = TSIM_ERR_SYNTAX};
    python->functions = TSIM_NEW_ARRAY(r->arena, MOST_FUNCTIONS, const char *);
    for (python->n_functions = 0; !is_end(&g); end_line(&g)) {
        if (!begins(&g, "def") || python->n_functions == MOST_FUNCTIONS)
            continue;
        g.at += strlen("def");
        skip(&g, false);
        python->functions[python->n_functions++] = dotted_name(&g);
    }
}

/* Finds where the parameters and the bodies begin. */
static void find_bodies(struct reading *g) {
    size_t n = 0;
    g->heads = TSIM_NEW_ARRAY(g->r->arena, MOST_FUNCTIONS, size_t);
    g->bodies = TSIM_NEW_ARRAY(g->r->arena, MOST_FUNCTIONS, size_t);
    for (g->at = 0; !is_end(g) && g->status == TSIM_OK && n < g->python->n_functions;) {
        const bool is_function = begins(g, "def");
        const size_t start = g->at;
        end_line(g);
        if (is_function) {
            const char *bracket = memchr(g->text + start, '(', g->at - start);
            g->heads[n] = bracket ? (size_t)(bracket - g->text) + 1 : g->at;
            g->bodies[n++] = g->at;
        }
    }
    for (; n < g->python->n_functions; n++)
        g->heads[n] = g->bodies[n] = g->size;
}

enum tsim_status tsim_python_read(struct tsim_recipe *r, const char *function, struct tsim_python *python) {
    struct reading g = {.r = r, .python = python, .text = r->document->text, .size = r->document->size};
    static const char MODULE[] = "module";
    size_t chosen = 0;
    tsim_python_functions(r, python);
    find_lines(&g);
    find_bodies(&g);
    for (g.at = 0; !is_end(&g) && g.status == TSIM_OK; end_line(&g))
        if (!is_blank(&g, g.at) && indent_of(&g, g.at) == 0 && !begins(&g, "def"))
            assignment(&g, MODULE);
    while (chosen < python->n_functions && function && strcmp(python->functions[chosen], function) != 0)
        chosen++;
    if (function && g.status == TSIM_OK && chosen < python->n_functions)
        run(&g, chosen, "result", NULL);
    const char *prefix = function ? "result" : MODULE;
    size_t n = 0, length = strlen(prefix);
    for (size_t i = 0; i < python->n_values; i++)
        if (is_under(python->values[i].path, prefix) && python->values[i].path[length] == '.') {
            python->values[n] = python->values[i];
            python->values[n++].path += length + 1;
        }
    python->n_values = n;
    return g.status;
}
