#include "study/search/filter.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

enum operation { OR, AND, NOT, LESS, LESS_EQUAL, MORE, MORE_EQUAL, EQUAL, NOT_EQUAL, IS_TRUE };
enum operand_kind { NUMBER, FIGURE, STATUS, BOTTLENECK, WORD };

struct operand {
    enum operand_kind kind;
    double number; /* of a number, resolved by the figure that it stands beside */
    enum tsim_outcome_figure figure;
    const char *text; /* of a number or word */
    size_t at;        /* offset in the condition */
};

struct tsim_filter {
    enum operation operation;
    const struct tsim_filter *left, *right; /* of OR and AND; NOT has a left */
    struct operand a, b;                    /* of a comparison; IS_TRUE has an a */
};

struct parser {
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    const char *origin, *text, *at;
    const struct tsim_value *value; /* of a file; NULL: of the command line */
    int depth;
    bool has_failed;
};

enum { DEEPEST = 100 };

__attribute__((format(printf, 3, 4))) static struct tsim_diag *fail(struct parser *p, size_t at, const char *format,
                                                                    ...) {
    const struct tsim_place place = {p->origin, 1, (int)at + 1};
    struct tsim_diag *diag;
    va_list args;
    va_start(args, format);
    if (p->value) {
        const char *text = tsim_arena_vprintf(p->arena, format, args);
        diag = tsim_value_error(p->diags, TSIM_ERR_SYNTAX, p->value, p->origin, "%s", text);
    } else {
        diag = tsim_diags_verror(p->diags, TSIM_ERR_SYNTAX, place, NULL, format, args);
        diag->source_line = p->text;
    }
    va_end(args);
    p->has_failed = true;
    return diag;
}

/* ---- words ---- */

static void skip_blanks(struct parser *p) {
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static bool is_name_character(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static size_t name_length(const char *at) {
    size_t n = 0;
    while (is_name_character(at[n]))
        n++;
    return n;
}

static bool is_word(const char *at, const char *word) {
    size_t n = name_length(at);
    return n == strlen(word) && strncmp(at, word, n) == 0;
}

static bool take_word(struct parser *p, const char *word) {
    skip_blanks(p);
    if (!is_word(p->at, word))
        return false;
    p->at += strlen(word);
    return true;
}

static bool take_comparison(struct parser *p, enum operation *operation) {
    static const struct {
        const char *sign;
        enum operation operation;
    } SIGNS[] = {{"<=", LESS_EQUAL}, {">=", MORE_EQUAL}, {"==", EQUAL}, {"!=", NOT_EQUAL},
                 {"<", LESS},        {">", MORE},        {"=", EQUAL}};
    skip_blanks(p);
    for (size_t i = 0; i < sizeof SIGNS / sizeof SIGNS[0]; i++)
        if (strncmp(p->at, SIGNS[i].sign, strlen(SIGNS[i].sign)) == 0) {
            p->at += strlen(SIGNS[i].sign);
            *operation = SIGNS[i].operation;
            return true;
        }
    return false;
}

/* ---- operands ---- */

/* Returns the length, from the digit on, of the number and what may be its unit, up to an operator, a parenthesis,
 * "and" or "or". */
static size_t number_length(const char *text) {
    size_t n = 0, end;
    bool is_over = false;
    while (text[n] && !strchr("()<>=!", text[n]) && !is_over) {
        while (text[n] && !isspace((unsigned char)text[n]) && !strchr("()<>=!", text[n]))
            n++;
        end = n + strspn(text + n, " \t\n\r\v\f"); /* isspace says the same above */
        is_over = is_word(text + end, "and") || is_word(text + end, "or");
        if (!is_over)
            n = end;
    }
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        n--;
    return n;
}

static struct operand number_operand(struct parser *p, size_t at) {
    size_t n = number_length(p->at);
    struct operand operand = {.kind = NUMBER, .at = at, .text = tsim_arena_strndup(p->arena, p->at, n)};
    p->at += n;
    return operand;
}

static struct operand parse_operand(struct parser *p) {
    skip_blanks(p);
    size_t at = (size_t)(p->at - p->text), n = name_length(p->at);
    struct operand operand = {.kind = WORD, .at = at, .text = ""};
    if (isdigit((unsigned char)*p->at) || ((*p->at == '-' || *p->at == '.') && p->at[1]))
        return number_operand(p, at);
    if (n == 0) {
        fail(p, at, "expected a figure or a number%s", *p->at ? "" : ", found the end");
        return operand;
    }
    operand.text = tsim_arena_strndup(p->arena, p->at, n);
    p->at += n;
    if (strcmp(operand.text, "true") == 0 || strcmp(operand.text, "false") == 0) {
        operand.kind = NUMBER;
        operand.text = operand.text[0] == 't' ? "1" : "0";
    } else if (strcmp(operand.text, "status") == 0) {
        operand.kind = STATUS;
    } else if (strcmp(operand.text, "bottleneck") == 0 || strcmp(operand.text, "bottleneck.kind") == 0) {
        operand.kind = BOTTLENECK;
    }
    return operand;
}

/* Reads a word in the place of a figure as the name of the figure. */
static void find_figure(struct parser *p, struct operand *operand) {
    const char *near = NULL;
    if (operand->kind != WORD || p->has_failed)
        return;
    if (tsim_outcome_find(operand->text, &operand->figure, &near)) {
        operand->kind = FIGURE;
        return;
    }
    const char *why = tsim_outcome_why_not_of_points(operand->text);
    if (why) {
        tsim_diag_hint(fail(p, operand->at, "'%.60s' is a figure %s", operand->text, why),
                       "'tsim run' with a point's settings prints it");
        return;
    }
    struct tsim_diag *diag = fail(p, operand->at, "no figure is called '%.60s'", operand->text);
    if (near)
        tsim_diag_hint(diag, "did you mean '%s'?", near);
    else
        tsim_diag_hint(diag, "figures have the names of the summary's JSON: mfu, step.time_s, memory.peak_bytes");
}

static void read_number(struct parser *p, struct operand *number, const struct operand *other) {
    char why[160], hint[160];
    if (number->kind != NUMBER || p->has_failed)
        return;
    enum tsim_dimension dimension =
        other->kind == FIGURE ? tsim_outcome_spec(other->figure)->unit->dimension : TSIM_COUNT;
    bool bare_ok = other->kind == FIGURE && tsim_name_says_unit(other->text);
    if (tsim_quantity_parse(number->text, dimension, bare_ok, &number->number, why, hint) != TSIM_OK)
        tsim_diag_hint(fail(p, number->at, "%s", why), "%s", hint);
}

static bool is_text(const struct operand *operand) {
    return operand->kind == STATUS || operand->kind == BOTTLENECK;
}

static bool is_word_of(enum operand_kind kind, const char *word) {
    if (kind == BOTTLENECK)
        return tsim_bottleneck_word(word) != NULL;
    for (int status = TSIM_POINT_OK; status <= TSIM_POINT_FAILED; status++)
        if (strcmp(tsim_point_status_name((enum tsim_point_status)status), word) == 0)
            return true;
    return false;
}

static void check_word(struct parser *p, const struct operand *text, const struct operand *word, bool is_equality) {
    if (p->has_failed || (word->kind == WORD && is_equality && is_word_of(text->kind, word->text)))
        return;
    fail(p, text->at, "'%s' is compared by == or != with a word", text->text);
    tsim_diag_hint(&p->diags->items[p->diags->n_items - 1], "%s",
                   text->kind == STATUS ? "ok, does_not_fit, invalid or failed"
                                        : "compute, memory, data, communication or bubble");
}

/* ---- conditions ---- */

static const struct tsim_filter *parse_or(struct parser *p);

static struct tsim_filter *new_node(struct parser *p, enum operation operation, const struct tsim_filter *left,
                                    const struct tsim_filter *right) {
    struct tsim_filter *node = TSIM_NEW(p->arena, struct tsim_filter);
    node->operation = operation;
    node->left = left;
    node->right = right;
    return node;
}

static const struct tsim_filter *parse_comparison(struct parser *p) {
    struct tsim_filter *node = new_node(p, IS_TRUE, NULL, NULL);
    node->a = parse_operand(p);
    if (p->has_failed || !take_comparison(p, &node->operation)) {
        find_figure(p, &node->a);
        if (!p->has_failed && is_text(&node->a))
            check_word(p, &node->a, &node->a, false);
        read_number(p, &node->a, &node->a);
        return node;
    }
    node->b = parse_operand(p);
    bool is_equality = node->operation == EQUAL || node->operation == NOT_EQUAL;
    if (is_text(&node->a)) {
        check_word(p, &node->a, &node->b, is_equality);
    } else if (is_text(&node->b)) {
        check_word(p, &node->b, &node->a, is_equality);
    } else {
        find_figure(p, &node->a);
        find_figure(p, &node->b);
        read_number(p, &node->a, &node->b);
        read_number(p, &node->b, &node->a);
    }
    return node;
}

static const struct tsim_filter *parse_group(struct parser *p) {
    p->at++;
    const struct tsim_filter *inside = parse_or(p);
    skip_blanks(p);
    if (p->has_failed)
        return inside;
    if (*p->at != ')')
        fail(p, (size_t)(p->at - p->text), "expected ')'%s", *p->at ? "" : ", found the end");
    else
        p->at++;
    return inside;
}

static const struct tsim_filter *parse_factor(struct parser *p) {
    const struct tsim_filter *node = NULL;
    skip_blanks(p);
    if (++p->depth > DEEPEST)
        fail(p, (size_t)(p->at - p->text), "%s", "nested too deep");
    else if (take_word(p, "not"))
        node = new_node(p, NOT, parse_factor(p), NULL);
    else if (*p->at == '(')
        node = parse_group(p);
    else
        node = parse_comparison(p);
    p->depth--;
    return node;
}

static const struct tsim_filter *parse_and(struct parser *p) {
    const struct tsim_filter *left = parse_factor(p);
    while (!p->has_failed && take_word(p, "and"))
        left = new_node(p, AND, left, parse_factor(p));
    return left;
}

static const struct tsim_filter *parse_or(struct parser *p) {
    const struct tsim_filter *left = parse_and(p);
    while (!p->has_failed && take_word(p, "or"))
        left = new_node(p, OR, left, parse_and(p));
    return left;
}

static enum tsim_status parse(struct parser *p, const struct tsim_filter **filter) {
    const struct tsim_filter *parsed = parse_or(p);
    skip_blanks(p);
    if (!p->has_failed && *p->at)
        tsim_diag_hint(fail(p, (size_t)(p->at - p->text), "unexpected '%.40s'", p->at),
                       "conditions are joined by and, or; as in 'memory.fits and mfu > 0.3'");
    if (p->has_failed)
        return TSIM_ERR_SYNTAX;
    *filter = parsed;
    return TSIM_OK;
}

enum tsim_status tsim_filter_parse(struct tsim_arena *arena, const char *origin, const char *text,
                                   const struct tsim_filter **filter, struct tsim_diags *diags) {
    struct parser parser = {.arena = arena, .diags = diags, .origin = origin, .text = text, .at = text};
    return parse(&parser, filter);
}

enum tsim_status tsim_filter_read(struct tsim_arena *arena, const struct tsim_value *value, const char *field,
                                  const struct tsim_filter **filter, struct tsim_diags *diags) {
    struct parser parser = {
        .arena = arena, .diags = diags, .origin = field, .value = value, .text = value->text, .at = value->text};
    return parse(&parser, filter);
}

/* ---- holding ---- */

static double value_of(const struct operand *operand, const struct tsim_point *point) {
    return operand->kind == FIGURE ? point->outcome.value[operand->figure] : operand->number;
}

static const char *text_of(const struct operand *operand, const struct tsim_point *point) {
    if (operand->kind == STATUS)
        return tsim_point_status_name(point->status);
    return operand->kind == BOTTLENECK ? point->outcome.bottleneck : operand->text;
}

static bool compare_texts(const struct tsim_filter *node, const struct tsim_point *point) {
    const char *a = text_of(&node->a, point), *b = text_of(&node->b, point);
    return a && b && (strcmp(a, b) == 0) == (node->operation == EQUAL);
}

static bool compare(const struct tsim_filter *node, const struct tsim_point *point) {
    double a = value_of(&node->a, point), b = value_of(&node->b, point);
    if (is_text(&node->a) || is_text(&node->b))
        return compare_texts(node, point);
    if (isnan(a) || isnan(b))
        return false;
    switch (node->operation) {
    case LESS:
        return a < b;
    case LESS_EQUAL:
        return a <= b;
    case MORE:
        return a > b;
    case MORE_EQUAL:
        return a >= b;
    case EQUAL:
        return a == b;
    default:
        return a != b;
    }
}

bool tsim_filter_holds(const struct tsim_filter *filter, const struct tsim_point *point) {
    if (!filter)
        return true;
    switch (filter->operation) {
    case OR:
        return tsim_filter_holds(filter->left, point) || tsim_filter_holds(filter->right, point);
    case AND:
        return tsim_filter_holds(filter->left, point) && tsim_filter_holds(filter->right, point);
    case NOT:
        return !tsim_filter_holds(filter->left, point);
    case IS_TRUE: {
        double value = value_of(&filter->a, point);
        return !isnan(value) && value != 0;
    }
    default:
        return compare(filter, point);
    }
}
