#include "import/launches/shell_words.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

uint32_t tsim_shell_place(const struct tsim_shell *s, size_t pos) {
    if (!s->at)
        return (uint32_t)pos;
    return s->size == 0 ? 0 : s->at[pos < s->size ? pos : s->size - 1];
}

void tsim_shell_fail(struct tsim_shell *s, enum tsim_status status, size_t pos, const char *message) {
    if (s->status != TSIM_OK)
        return;
    s->status = status;
    s->bad_offset = tsim_shell_place(s, pos);
    s->bad_message = message;
    s->pos = s->size; /* ends all reading */
}

static bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(char c) {
    return is_name_start(c) || (c >= '0' && c <= '9');
}

static char peek(const struct tsim_shell *s, size_t ahead) {
    return s->pos + ahead < s->size ? s->text[s->pos + ahead] : '\0';
}

/* ---- variables ---- */

enum { MOST_VARIABLES = 2000 };

const struct tsim_shell_variable *tsim_shell_get(const struct tsim_shell *s, const char *name, size_t length) {
    for (size_t i = 0; i < s->n_variables; i++)
        if (strlen(s->variables[i].name) == length && memcmp(s->variables[i].name, name, length) == 0)
            return &s->variables[i];
    return NULL;
}

void tsim_shell_set(struct tsim_shell *s, const char *name, const struct tsim_shell_word *words, size_t n_words) {
    size_t i = 0;
    while (i < s->n_variables && strcmp(s->variables[i].name, name) != 0)
        i++;
    if (i == MOST_VARIABLES) {
        tsim_shell_fail(s, TSIM_ERR_LIMIT, s->pos, "more than 2000 variables");
        return;
    }
    if (i == s->n_variables) {
        s->variables = tsim_heap_grow(s->variables, &s->variables_capacity, i + 1, sizeof *s->variables);
        s->n_variables++;
    }
    s->variables[i] = (struct tsim_shell_variable){name, words, n_words, NULL};
}

/* ---- fields ---- */

static void open_field(struct tsim_shell_fields *f, uint32_t place) {
    if (f->is_open)
        return;
    f->is_open = true;
    f->start = place;
}

static void put(struct tsim_shell *s, struct tsim_shell_fields *f, char c, uint32_t place) {
    open_field(f, place);
    if (++s->n_expanded > TSIM_SHELL_MAX_EXPANDED) {
        tsim_shell_fail(s, TSIM_ERR_LIMIT, s->pos, "more than 4 million characters once variables are expanded");
        return;
    }
    f->text = tsim_heap_grow(f->text, &f->text_capacity, f->n + 1, 1);
    f->at = tsim_heap_grow(f->at, &f->at_capacity, f->n + 1, sizeof *f->at);
    f->text[f->n] = c;
    f->at[f->n++] = place;
}

/* Puts the character at `pos` of the text. */
static void put_own(struct tsim_shell *s, struct tsim_shell_fields *f, size_t pos) {
    put(s, f, s->text[pos], tsim_shell_place(s, pos));
}

static void close_field(struct tsim_shell *s, struct tsim_shell_fields *f) {
    if (!f->is_open)
        return;
    uint32_t *at = TSIM_NEW_ARRAY(s->arena, f->n, uint32_t);
    if (f->n > 0)
        memcpy(at, f->at, f->n * sizeof *at);
    f->words = tsim_heap_grow(f->words, &f->words_capacity, f->n_words + 1, sizeof *f->words);
    f->words[f->n_words++] =
        (struct tsim_shell_word){.text = tsim_arena_strndup(s->arena, f->n > 0 ? f->text : "", f->n),
                                 .at = at,
                                 .start = f->n > 0 ? at[0] : f->start};
    f->is_open = false;
    f->n = 0;
}

void tsim_shell_release_fields(struct tsim_shell_fields *f) {
    tsim_heap_free(f->words);
    tsim_heap_free(f->text);
    tsim_heap_free(f->at);
}

/* A word from outside has the place of its expansion. */
static void put_word(struct tsim_shell *s, struct tsim_shell_fields *f, const struct tsim_shell_word *word,
                     bool is_quoted, uint32_t place) {
    if (is_quoted)
        open_field(f, word->at ? word->start : place);
    for (size_t i = 0; word->text[i] && s->status == TSIM_OK; i++) {
        char c = word->text[i];
        if (!is_quoted && !f->never_splits && (c == ' ' || c == '\t' || c == '\n'))
            close_field(s, f);
        else
            put(s, f, c, word->at ? word->at[i] : place);
    }
}

struct tsim_shell_word tsim_shell_word_at(struct tsim_shell *s, const char *text, uint32_t place) {
    size_t length = strlen(text);
    uint32_t *at = TSIM_NEW_ARRAY(s->arena, length + 1, uint32_t);
    for (size_t i = 0; i <= length; i++)
        at[i] = place;
    return (struct tsim_shell_word){text, at, place};
}

/* Puts the elements of a list, each of which ends a word. */
static void put_words(struct tsim_shell *s, struct tsim_shell_fields *f, const struct tsim_shell_word *words, size_t n,
                      bool is_quoted, uint32_t place) {
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && f->never_splits)
            put(s, f, ' ', words[i].at ? words[i].start : place);
        else if (i > 0)
            close_field(s, f);
        put_word(s, f, &words[i], is_quoted, place);
    }
}

static bool is_empty(const struct tsim_shell_variable *v) {
    return !v || v->n_words == 0 || (v->n_words == 1 && !v->words[0].text[0]);
}

/* Notes the missing variable from which the value of an empty one would have come; a variable that was never set is
 * missing itself. */
static void note_missing(struct tsim_shell *s, const struct tsim_shell_variable *v, const char *name, size_t length) {
    if (v && is_empty(v) && v->lost)
        s->missing = v->lost;
    if (v || length == 0)
        return;
    s->missing = tsim_arena_printf(s->arena, "$%.*s", (int)length, name);
    if (s->n_variables < MOST_VARIABLES) {
        tsim_shell_set(s, s->missing + 1, NULL, 0);
        s->variables[s->n_variables - 1].lost = s->missing;
    }
}

/* Puts a variable's value: with `all` every element of an array, else the first. */
static void put_variable(struct tsim_shell *s, struct tsim_shell_fields *f, const struct tsim_shell_variable *v,
                         bool all, bool is_quoted, uint32_t place) {
    if (v)
        put_words(s, f, v->words, all || v->n_words == 0 ? v->n_words : 1, is_quoted, place);
}

/* ---- arithmetic ---- */

struct arithmetic {
    struct tsim_shell *s;
    size_t pos, end;
    int depth;
};

static int64_t choice(struct arithmetic *a);

static char skip_blanks(struct arithmetic *a) {
    while (a->pos < a->end && strchr(" \t\n\\", a->s->text[a->pos]))
        a->pos++;
    return a->pos < a->end ? a->s->text[a->pos] : '\0';
}

static int64_t value_of(struct arithmetic *a) {
    const char *text = a->s->text;
    size_t start = a->pos;
    while (a->pos < a->end && is_name(text[a->pos]))
        a->pos++;
    const struct tsim_shell_variable *v = tsim_shell_get(a->s, text + start, a->pos - start);
    note_missing(a->s, v, text + start, a->pos - start);
    return v && v->n_words > 0 ? strtoll(v->words[0].text, NULL, 10) : 0;
}

/* Returns the value of $N. */
static int64_t argument_value(struct tsim_shell *s, int64_t number) {
    if (number >= 1 && number <= (int64_t)s->n_arguments)
        return strtoll(s->arguments[number - 1].text, NULL, 10);
    s->missing = tsim_arena_printf(s->arena, "$%lld", (long long)number);
    return 0;
}

static int64_t literal(struct arithmetic *a) {
    int64_t value = 0;
    for (; a->pos < a->end && a->s->text[a->pos] >= '0' && a->s->text[a->pos] <= '9'; a->pos++)
        value = value < INT64_MAX / 20 ? value * 10 + (a->s->text[a->pos] - '0') : value;
    return value;
}

static int64_t operand(struct arithmetic *a) {
    char c = skip_blanks(a);
    if (c == '-' || c == '+' || c == '(' || c == '!' || c == '~') {
        a->pos++;
        if (++a->depth > TSIM_SHELL_MAX_DEPTH)
            return 0;
        int64_t value = c == '(' ? choice(a) : operand(a);
        if (c == '(' && skip_blanks(a) == ')')
            a->pos++;
        a->depth--;
        if (c == '!' || c == '~')
            return c == '!' ? value == 0 : ~value;
        return c == '-' && value != INT64_MIN ? -value : value; /* as bash has it */
    }
    bool is_expanded = false;
    while (a->pos < a->end && (c == '$' || c == '{' || c == '"')) {
        is_expanded |= c == '$';
        a->pos++;
        c = skip_blanks(a);
    }
    const bool is_count = is_expanded && c == '#' && a->pos++ < a->end; /* $# */
    int64_t value = is_count ? (int64_t)a->s->n_arguments : is_name_start(c) ? value_of(a) : literal(a);
    if (is_expanded && !is_count && !is_name_start(c))
        value = argument_value(a->s, value);
    while (a->pos < a->end && (a->s->text[a->pos] == '}' || a->s->text[a->pos] == '"'))
        a->pos++;
    return value;
}

/* Operators of two operands, from those that bind least on; a longer one stands before its beginning. */
static const struct {
    const char *text;
    int level;
} OPERATORS[] = {{"||", 0}, {"&&", 1},  {"==", 5}, {"!=", 5}, {"<<", 7}, {">>", 7}, {"<=", 6},
                 {">=", 6}, {"**", 10}, {"|", 2},  {"^", 3},  {"&", 4},  {"<", 6},  {">", 6},
                 {"+", 8},  {"-", 8},   {"*", 9},  {"/", 9},  {"%", 9}};
enum { N_OPERATORS = sizeof OPERATORS / sizeof OPERATORS[0], N_LEVELS = 11 };

/* Returns the operator at `pos`, or -1 if there is none. */
static int operator_at(struct arithmetic *a) {
    skip_blanks(a);
    for (int i = 0; i < N_OPERATORS; i++) {
        const size_t n = strlen(OPERATORS[i].text);
        if (a->end - a->pos >= n && memcmp(a->s->text + a->pos, OPERATORS[i].text, n) == 0)
            return i;
    }
    return -1;
}

/* Returns x to the power of y, or 0 if it is too large. */
static int64_t power(int64_t x, int64_t y) {
    int64_t value = 1;
    if (x >= -1 && x <= 1)
        return y == 0 || x == 1 || (x == -1 && y % 2 == 0) ? 1 : x;
    for (; y > 0; y--)
        if (__builtin_mul_overflow(value, x, &value))
            return 0;
    return value;
}

/* Gives 0 for what is too large, or divided by 0. */
static int64_t apply(const char *operation, int64_t x, int64_t y) {
    int64_t value = 0;
    const bool is_double = operation[1] != '\0';
    switch (operation[0]) {
    case '|':
        return is_double ? x != 0 || y != 0 : (x | y);
    case '&':
        return is_double ? x != 0 && y != 0 : (x & y);
    case '^':
        return x ^ y;
    case '=':
        return x == y;
    case '!':
        return x != y;
    case '<':
        if (operation[1] == '<')
            return x >= 0 && y >= 0 && y < 62 && x <= INT64_MAX >> y ? (int64_t)((uint64_t)x << y) : 0;
        return is_double ? x <= y : x < y;
    case '>':
        if (operation[1] == '>')
            return x >= 0 && y >= 0 && y < 63 ? x >> y : 0;
        return is_double ? x >= y : x > y;
    case '+':
        return __builtin_add_overflow(x, y, &value) ? 0 : value;
    case '-':
        return __builtin_sub_overflow(x, y, &value) ? 0 : value;
    case '*':
        if (is_double)
            return power(x, y);
        return __builtin_mul_overflow(x, y, &value) ? 0 : value;
    default:
        if (y == 0 || (y == -1 && x == INT64_MIN))
            return 0;
        return operation[0] == '/' ? x / y : x % y;
    }
}

static int64_t operation_of(struct arithmetic *a, int level) {
    int64_t value = level == N_LEVELS ? operand(a) : operation_of(a, level + 1);
    for (int i = level < N_LEVELS ? operator_at(a) : -1; i >= 0 && OPERATORS[i].level == level; i = operator_at(a)) {
        a->pos += strlen(OPERATORS[i].text);
        value = apply(OPERATORS[i].text, value, operation_of(a, level + 1));
    }
    return value;
}

/* Computes CONDITION ? THIS : THAT. */
static int64_t choice(struct arithmetic *a) {
    const int64_t condition = operation_of(a, 0);
    if (skip_blanks(a) != '?' || ++a->depth > TSIM_SHELL_MAX_DEPTH)
        return condition;
    a->pos++;
    const int64_t yes = choice(a);
    if (skip_blanks(a) == ':')
        a->pos++;
    const int64_t no = choice(a);
    a->depth--;
    return condition ? yes : no;
}

int64_t tsim_shell_arithmetic(struct tsim_shell *s, size_t from, size_t to) {
    struct arithmetic a = {s, from, to, 0};
    return choice(&a);
}

/* ---- expansions ---- */

size_t tsim_shell_matching(const struct tsim_shell *s, size_t from, char open, char close) {
    int depth = 0;
    for (size_t i = from; i < s->size; i++) {
        char c = s->text[i];
        if (c == '\\')
            i++;
        else if ((c == '\'' || c == '"') && open == '(')
            while (i + 1 < s->size && s->text[++i] != c)
                i += s->text[i] == '\\' && c == '"';
        else if (c == open)
            depth++;
        else if (c == close && --depth == 0)
            return i;
    }
    return s->size;
}

static void expand(struct tsim_shell *s, struct tsim_shell_fields *f, bool is_quoted);

/* Reads text[pos, end) within ${NAME:-...}. */
static void read_region(struct tsim_shell *s, struct tsim_shell_fields *f, size_t end, bool is_quoted) {
    bool in_quotes = false;
    while (s->pos < end && s->status == TSIM_OK) {
        char c = s->text[s->pos];
        if (c == '"' || c == '\'') {
            in_quotes = !in_quotes;
            open_field(f, tsim_shell_place(s, s->pos++));
        } else if (c == '$') {
            expand(s, f, is_quoted || in_quotes);
        } else if ((c == ' ' || c == '\n') && !is_quoted && !in_quotes && !f->never_splits) {
            close_field(s, f);
            s->pos++;
        } else {
            put_own(s, f, s->pos);
            s->pos++;
        }
    }
    s->pos = s->pos > end ? s->pos : end;
}

/* Puts $N; $0, which is not known, is empty. */
static void put_argument(struct tsim_shell *s, struct tsim_shell_fields *f, size_t number, bool is_quoted,
                         uint32_t place) {
    if (number >= 1 && number <= s->n_arguments)
        put_words(s, f, &s->arguments[number - 1], 1, is_quoted, place);
    else
        s->missing = tsim_arena_printf(s->arena, "$%zu", number);
}

const char *tsim_shell_text_to(struct tsim_shell *s, size_t end) {
    struct tsim_shell_fields word = {.never_splits = true};
    read_region(s, &word, end, true);
    close_field(s, &word);
    const char *text = word.n_words > 0 ? word.words[0].text : "";
    tsim_shell_release_fields(&word);
    return text;
}

const char *tsim_shell_element(struct tsim_arena *arena, const char *name, size_t length, const char *key) {
    return tsim_arena_printf(arena, "%.*s[%s]", (int)length, name, key);
}

/* A variable, one element of it, an argument, or all elements or arguments: ${...} is about one of these. */
struct subject {
    const struct tsim_shell_variable *variable; /* NULL: it was never set */
    const char *name;
    size_t length; /* of the name; 0: nothing is missing if it was never set */
    bool is_all;
};

static const struct tsim_shell_variable *variable_of(struct tsim_shell *s, const struct tsim_shell_word *words,
                                                     size_t n, const char *lost) {
    struct tsim_shell_variable *v = TSIM_NEW(s->arena, struct tsim_shell_variable);
    *v = (struct tsim_shell_variable){"", words, n, lost};
    return v;
}

/* Returns the elements of an array, or with `keys` their keys. Those of an associative array are variables of their
 * own, "NAME[key]". */
static const struct tsim_shell_variable *elements_of(struct tsim_shell *s, const struct subject *array, bool keys) {
    const struct tsim_shell_variable *v = array->variable;
    const size_t n_own = v ? v->n_words : 0, n_name = array->length;
    struct tsim_shell_word *words = TSIM_NEW_ARRAY(s->arena, n_own + s->n_variables + 1, struct tsim_shell_word);
    size_t n = 0;
    for (size_t i = 0; i < n_own; i++)
        words[n++] =
            keys ? tsim_shell_word_at(s, tsim_arena_printf(s->arena, "%zu", i), v->words[i].start) : v->words[i];
    for (size_t i = 0; i < s->n_variables; i++) {
        const struct tsim_shell_variable *one = &s->variables[i];
        const size_t length = strlen(one->name);
        if (n_name == 0 || strncmp(one->name, array->name, n_name) != 0 || one->name[n_name] != '[' || is_empty(one))
            continue;
        const char *key = tsim_arena_strndup(s->arena, one->name + n_name + 1, length - n_name - 2);
        words[n++] = keys ? tsim_shell_word_at(s, key, one->words[0].start) : one->words[0];
    }
    return n > n_own || keys ? variable_of(s, words, n, v ? v->lost : NULL) : v;
}

/* Reads [@], [*] or [KEY] behind a name. */
static void read_element(struct tsim_shell *s, size_t close, struct subject *subject) {
    const size_t open = s->pos++, end = tsim_shell_matching(s, open, '[', ']');
    if (end >= close)
        return;
    const struct tsim_shell_variable *array = subject->variable, *element;
    if (end == open + 2 && strchr("@*", s->text[open + 1])) {
        subject->is_all = true;
        subject->variable = elements_of(s, subject, false);
    } else {
        const char *key = tsim_shell_text_to(s, end);
        const char *name = tsim_shell_element(s->arena, subject->name, subject->length, key);
        subject->length = *key ? strlen(name) : 0;
        subject->name = name;
        element = tsim_shell_get(s, name, strlen(name));
        if (!element && array && array->n_words > 0) {
            const int64_t at = tsim_shell_arithmetic(s, open + 1, end), n = (int64_t)array->n_words,
                          i = at < 0 ? at + n : at;
            element = variable_of(s, i >= 0 && i < n ? array->words + i : NULL, i >= 0 && i < n, array->lost);
        }
        subject->variable = element;
    }
    s->pos = end + 1;
}

static struct subject read_subject(struct tsim_shell *s, size_t close) {
    struct subject subject = {NULL, s->text + s->pos, 0, false};
    const char c = peek(s, 0);
    if (c == '@' || c == '*' || s->pos == close) { /* the last in ${#} */
        s->pos += s->pos < close;
        subject.is_all = true;
        subject.variable = variable_of(s, s->arguments, s->n_arguments, NULL);
    } else if (c >= '0' && c <= '9') {
        size_t number = 0;
        while (s->pos < close && peek(s, 0) >= '0' && peek(s, 0) <= '9' && number < 10000)
            number = number * 10 + (size_t)(s->text[s->pos++] - '0');
        const bool is_there = number >= 1 && number <= s->n_arguments;
        subject.variable = variable_of(s, is_there ? &s->arguments[number - 1] : NULL, is_there,
                                       tsim_arena_printf(s->arena, "$%zu", number));
    } else {
        while (s->pos < close && is_name(s->text[s->pos]))
            s->pos++;
        subject.length = s->pos - (size_t)(subject.name - s->text);
        subject.variable = tsim_shell_get(s, subject.name, subject.length);
        if (peek(s, 0) == '[' && s->pos < close)
            read_element(s, close, &subject);
    }
    return subject;
}

/* Reads ${NAME:=word}. */
static void assign_default(struct tsim_shell *s, const char *name, size_t close) {
    struct tsim_shell_fields word = {.never_splits = true};
    const size_t from = s->pos;
    read_region(s, &word, close, true);
    close_field(s, &word);
    struct tsim_shell_word *kept = TSIM_NEW_ARRAY(s->arena, 1, struct tsim_shell_word);
    if (word.n_words > 0 && s->status == TSIM_OK) {
        kept[0] = word.words[0];
        tsim_shell_set(s, name, kept, 1);
    }
    tsim_shell_release_fields(&word);
    if (s->status == TSIM_OK)
        s->pos = from;
}

enum { MOST_MATCHED = 2000, MOST_STARS = 4 }; /* characters of a text in which patterns are sought, and their stars */

static struct tsim_shell_word part_of(struct tsim_shell *s, const struct tsim_shell_word *word, size_t from,
                                      size_t to) {
    return (struct tsim_shell_word){tsim_arena_strndup(s->arena, word->text + from, to - from),
                                    word->at ? word->at + from : NULL, word->at ? word->at[from] : word->start};
}

static bool is_match(const char *pattern, const char *text, size_t length) {
    char part[MOST_MATCHED + 1];
    int n_stars = 0;
    for (const char *c = pattern; *c; c++)
        n_stars += *c == '*';
    memcpy(part, text, length);
    part[length] = '\0';
    return n_stars <= MOST_STARS && fnmatch(pattern, part, 0) == 0;
}

/* Takes the shortest or longest beginning (#, ##) or end (%, %%) that matches off a word. */
static struct tsim_shell_word trimmed(struct tsim_shell *s, const struct tsim_shell_word *word, char operation,
                                      bool is_longest, const char *pattern) {
    const size_t n = strlen(word->text);
    for (size_t i = 0; i <= n && n <= MOST_MATCHED; i++) {
        const size_t length = is_longest ? n - i : i;
        if (operation == '#' && is_match(pattern, word->text, length))
            return part_of(s, word, length, n);
        if (operation == '%' && is_match(pattern, word->text + n - length, length))
            return part_of(s, word, 0, n - length);
    }
    return *word;
}

/* Replaces the first match of a pattern, or all; behind # and % it has to be at the beginning or the end. */
static struct tsim_shell_word replaced(struct tsim_shell *s, const struct tsim_shell_word *word, bool is_all,
                                       const char *pattern, const char *by) {
    const size_t n = strlen(word->text);
    const char anchor = *pattern && strchr("#%", *pattern) ? *pattern++ : '\0', *text = "";
    bool is_done = !*pattern || n > MOST_MATCHED / 10;
    for (size_t i = 0; i < n;) {
        size_t length = is_done || (anchor == '#' && i > 0) ? 0 : n - i;
        while (length > 0 && !is_match(pattern, word->text + i, length))
            length = anchor == '%' ? 0 : length - 1;
        text = length > 0 ? tsim_arena_printf(s->arena, "%s%s", text, by)
                          : tsim_arena_printf(s->arena, "%s%c", text, word->text[i]);
        is_done |= length > 0 && !is_all;
        i += length > 0 ? length : 1;
    }
    return tsim_shell_word_at(s, text, word->at ? word->at[0] : word->start);
}

/* Returns the place of the character in front of `close`, outside of ${...}; `close` if there is none. */
static size_t place_of(const struct tsim_shell *s, size_t from, char c, size_t close) {
    int depth = 0;
    for (size_t i = from; i < close; i++) {
        if (s->text[i] == c && depth == 0)
            return i;
        depth += (s->text[i] == '{') - (s->text[i] == '}');
        i += s->text[i] == '\\';
    }
    return close;
}

/* Applies the operation that stands at `pos` (#PATTERN, %%PATTERN, /PATTERN/TEXT, :FROM:LENGTH, ,, or ^^) to the words
 * of the subject. */
static const struct tsim_shell_variable *worked(struct tsim_shell *s, const struct subject *subject, size_t close) {
    const struct tsim_shell_variable *v = subject->variable;
    const char operation = s->pos < close ? s->text[s->pos] : '\0';
    const size_t n = !v ? 0 : subject->is_all || v->n_words == 0 ? v->n_words : 1;
    if (is_empty(v) || !operation || !strchr("#%/:,^", operation))
        return v;
    const bool is_double = s->pos + 1 < close && s->text[s->pos + 1] == operation;
    s->pos += operation == ':' ? 1 : 1 + is_double;
    const size_t slash = place_of(s, s->pos, operation == ':' ? ':' : '/', close);
    struct tsim_shell_word *words = TSIM_NEW_ARRAY(s->arena, n, struct tsim_shell_word);
    if (operation == ':') {
        const int64_t all = subject->is_all ? (int64_t)n : (int64_t)strlen(v->words[0].text),
                      first = subject->is_all && subject->length == 0, /* arguments are counted from 1 */
            at = tsim_shell_arithmetic(s, s->pos, slash),
                      start = at < 0       ? at + all
                              : at > first ? at - first
                                           : 0,
                      from = start < 0     ? 0
                             : start > all ? all
                                           : start,
                      length = slash < close ? tsim_shell_arithmetic(s, slash + 1, close) : all,
                      end = length < 0            ? all + length
                            : length > all - from ? all
                                                  : from + length,
                      to = end < from ? from : end;
        if (subject->is_all)
            return variable_of(s, v->words + from, (size_t)(to - from), NULL);
        words[0] = part_of(s, &v->words[0], (size_t)from, (size_t)to);
        return variable_of(s, words, 1, NULL);
    }
    const char *pattern = tsim_shell_text_to(s, operation == '/' ? slash : close), *by = "";
    if (operation == '/' && slash < close) {
        s->pos = slash + 1;
        by = tsim_shell_text_to(s, close);
    }
    for (size_t i = 0; i < n; i++)
        if (strchr("#%", operation)) {
            words[i] = trimmed(s, &v->words[i], operation, is_double, pattern);
        } else if (operation == '/') {
            words[i] = replaced(s, &v->words[i], is_double, pattern, by);
        } else {
            char *text = tsim_arena_strdup(s->arena, v->words[i].text);
            for (size_t k = 0; text[k] && (is_double || k == 0); k++)
                text[k] = (char)(operation == ',' ? tolower((unsigned char)text[k]) : toupper((unsigned char)text[k]));
            words[i] = v->words[i];
            words[i].text = text;
        }
    return variable_of(s, words, n, NULL);
}

/* Returns what ${!NAME} and ${!NAME[@]} are about: the variable that NAME names, and the keys of an array. */
static struct subject indirect(struct tsim_shell *s, const struct subject *named) {
    if (named->is_all) {
        struct subject array = *named;
        array.variable = tsim_shell_get(s, named->name, named->length);
        array.variable = elements_of(s, &array, true);
        return array;
    }
    note_missing(s, named->variable, named->name, named->length);
    const char *name = is_empty(named->variable) ? "" : named->variable->words[0].text;
    return (struct subject){tsim_shell_get(s, name, strlen(name)), name, strlen(name), false};
}

/* Expands "${...}" from its '{' on; `close` is the place of its end. */
static void expand_braces(struct tsim_shell *s, struct tsim_shell_fields *f, size_t close, bool is_quoted) {
    const size_t start = ++s->pos;
    const uint32_t place = tsim_shell_place(s, start);
    const bool has_more = start + 1 < close, is_count = peek(s, 0) == '#', is_named = peek(s, 0) == '!' && has_more;
    s->pos += is_count || is_named;
    struct subject subject = read_subject(s, close);
    if (is_named)
        subject = indirect(s, &subject);
    const bool is_set = !is_empty(subject.variable);
    const char next = s->pos + 1 < close ? s->text[s->pos + 1] : '\0';
    s->pos += s->pos < close && s->text[s->pos] == ':' && next && strchr("-=+?", next);
    const char operation = s->pos < close ? s->text[s->pos] : '\0';
    const bool has_default = operation == '-' || operation == '=', has_other = operation == '+';
    if (is_count) {
        const struct tsim_shell_variable *v = subject.variable;
        char digits[24];
        snprintf(digits, sizeof digits, "%zu", !is_set ? 0 : subject.is_all ? v->n_words : strlen(v->words[0].text));
        const struct tsim_shell_word word = tsim_shell_word_at(s, tsim_arena_strdup(s->arena, digits), place);
        put_word(s, f, &word, is_quoted, place);
    } else if (has_default || has_other) {
        s->pos++;
        if (operation == '=' && !is_set && subject.length > 0)
            assign_default(s, tsim_arena_strndup(s->arena, subject.name, subject.length), close);
    }
    if (!is_count && ((has_default && !is_set) || (has_other && is_set))) {
        read_region(s, f, close, is_quoted);
    } else if (!is_count && !has_other) {
        note_missing(s, subject.variable, subject.name, subject.length);
        put_variable(s, f, worked(s, &subject, close), subject.is_all, is_quoted, place);
    }
    s->pos = s->pos > close + 1 || s->status != TSIM_OK ? s->pos : close + 1;
}

static bool pass_over(struct tsim_shell *s, size_t end, const char *word) {
    const size_t length = strlen(word);
    s->pos += strspn(s->text + s->pos, " \t\r");
    if (s->pos + length > end || memcmp(s->text + s->pos, word, length) != 0)
        return false;
    s->pos += length;
    return true;
}

/* Expands the document of $(cat <<END ...), without the ends of lines behind it. */
static bool expand_document(struct tsim_shell *s, struct tsim_shell_fields *f, size_t close, bool is_quoted) {
    const size_t size = s->size;
    s->pos++;
    if (!pass_over(s, close, "cat") || !pass_over(s, close, "<<"))
        return false;
    struct tsim_shell_document document = tsim_shell_read_document_name(s);
    if (!document.name || !pass_over(s, close, "\n"))
        return false;
    s->size = close;
    struct tsim_shell_word word = tsim_shell_read_document(s, &document);
    s->size = size;
    size_t length = strlen(word.text);
    while (length > 0 && word.text[length - 1] == '\n')
        length--;
    word.text = tsim_arena_strndup(s->arena, word.text, length);
    put_word(s, f, &word, is_quoted, word.start);
    return true;
}

const char *tsim_shell_format(struct tsim_arena *arena, const struct tsim_shell_word *words, size_t n) {
    enum { MOST = 4000, MOST_WIDTH = 100 };
    char *out = tsim_arena_alloc(arena, MOST + 1);
    size_t used = 0, next = 1;
    for (const char *c = n > 0 ? words[0].text : ""; *c && used < MOST; c++) {
        const char *piece = tsim_arena_strndup(arena, c, 1);
        if (*c == '\\' && (c[1] == 'n' || c[1] == 't')) {
            piece = *++c == 'n' ? "\n" : "\t";
        } else if (*c == '%' && c[1] == '%') {
            c++;
        } else if (*c == '%') {
            size_t zeros = c[1] == '0', digits = 1 + zeros;
            int width = 0;
            for (; c[digits] >= '0' && c[digits] <= '9' && width < MOST_WIDTH; digits++)
                width = width * 10 + (c[digits] - '0');
            const char *value = next < n ? words[next++].text : "";
            if (c[digits] == 's')
                piece = tsim_arena_printf(arena, "%*.*s", width, MOST, value);
            else if (c[digits] && strchr("diu", c[digits]))
                piece = tsim_arena_printf(arena, zeros ? "%0*lld" : "%*lld", width, strtoll(value, NULL, 10));
            else
                return "";
            c += digits;
        }
        size_t length = strlen(piece);
        length = length < MOST - used ? length : MOST - used;
        memcpy(out + used, piece, length);
        used += length;
    }
    out[used] = '\0';
    return out;
}

static const char *joined_text(struct tsim_arena *arena, const struct tsim_shell_word *words, size_t n) {
    const char *text = "";
    for (size_t i = 0; i < n && strlen(text) < 10000; i++)
        text = tsim_arena_printf(arena, "%s%s%s", text, i > 0 ? " " : "", words[i].text);
    return text;
}

/* Computes echo A * B | bc, and expr A \\* B. */
static const char *calculated(struct tsim_shell *s, const char *text) {
    struct tsim_shell inner = {.arena = s->arena, .text = text, .size = strlen(text)};
    if (strspn(text, "0123456789 +-*/%()") != inner.size || inner.size == 0)
        return NULL;
    return tsim_arena_printf(s->arena, "%lld", (long long)tsim_shell_arithmetic(&inner, 0, inner.size));
}

/* Expands $(COMMAND) from its '(' on, if the command only prints what it is given. Returns false if its output is not
 * known. */
static bool expand_said(struct tsim_shell *s, struct tsim_shell_fields *f, size_t close, bool is_quoted,
                        uint32_t place) {
    struct tsim_shell_fields words = {.never_splits = false};
    const size_t size = s->size;
    bool is_bc = false, is_simple = true;
    const char *text = NULL;
    s->pos++;
    s->size = close;
    while (s->pos < close && s->status == TSIM_OK && is_simple) {
        size_t before = s->pos;
        s->pos += strspn(s->text + s->pos, " \t");
        if (s->pos < close && s->text[s->pos] == '|') {
            s->pos++;
            is_simple = is_bc = pass_over(s, close, "bc");
        } else if (s->pos < close) {
            tsim_shell_read_word(s, &words);
        }
        is_simple &= s->pos > before;
    }
    s->size = size;
    const char *command = words.n_words > 0 ? words.words[0].text : "";
    if (!is_simple || s->status != TSIM_OK)
        text = NULL;
    else if (strcmp(command, "echo") == 0 && is_bc)
        text = calculated(s, joined_text(s->arena, words.words + 1, words.n_words - 1));
    else if (strcmp(command, "echo") == 0)
        text = joined_text(s->arena, words.words + 1, words.n_words - 1);
    else if (strcmp(command, "printf") == 0)
        text = tsim_shell_format(s->arena, words.words + 1, words.n_words - 1);
    else if (strcmp(command, "expr") == 0)
        text = calculated(s, joined_text(s->arena, words.words + 1, words.n_words - 1));
    tsim_shell_release_fields(&words);
    if (!text)
        return false;
    struct tsim_shell_word word = tsim_shell_word_at(s, text, place);
    put_word(s, f, &word, is_quoted, place);
    return true;
}

/* Expands a command to nothing, because nobody knows what it prints. */
static void expand_command(struct tsim_shell *s, struct tsim_shell_fields *f, size_t close, bool is_quoted,
                           size_t dollar) {
    const size_t from = s->pos;
    const int n_shown = close - dollar < 40 ? (int)(close - dollar + 1) : 40;
    if (expand_document(s, f, close, is_quoted) || s->status != TSIM_OK)
        return;
    s->pos = from;
    if (!expand_said(s, f, close, is_quoted, tsim_shell_place(s, dollar)))
        s->missing = tsim_arena_printf(s->arena, "%.*s", n_shown, s->text + dollar);
}

static void expand_parentheses(struct tsim_shell *s, struct tsim_shell_fields *f, size_t dollar, bool is_quoted) {
    bool is_arithmetic = peek(s, 1) == '(';
    size_t close = tsim_shell_matching(s, s->pos, '(', ')');
    if (close == s->size) {
        tsim_shell_fail(s, TSIM_ERR_SYNTAX, dollar, "'$(' without its ')'");
        return;
    }
    if (is_arithmetic && close > s->pos + 2) {
        const char *before = s->missing;
        char digits[24] = "";
        s->missing = NULL;
        int64_t value = tsim_shell_arithmetic(s, s->pos + 2, close - 1);
        if (!s->missing) /* a sum with a part that is not known is not known */
            snprintf(digits, sizeof digits, "%lld", (long long)value);
        s->missing = s->missing ? s->missing : before;
        for (const char *c = digits; *c; c++)
            put(s, f, *c, tsim_shell_place(s, dollar));
    } else {
        expand_command(s, f, close, is_quoted, dollar);
    }
    s->pos = s->status == TSIM_OK ? close + 1 : s->size;
}

/* Expands what begins at a '$'. */
static void expand_here(struct tsim_shell *s, struct tsim_shell_fields *f, bool is_quoted) {
    size_t dollar = s->pos++;
    char c = peek(s, 0);
    if (c == '(') {
        expand_parentheses(s, f, dollar, is_quoted);
    } else if (c == '{') {
        size_t close = tsim_shell_matching(s, s->pos, '{', '}');
        if (close == s->size)
            tsim_shell_fail(s, TSIM_ERR_SYNTAX, dollar, "'${' without its '}'");
        else
            expand_braces(s, f, close, is_quoted);
    } else if (is_name_start(c)) {
        size_t start = s->pos;
        while (is_name(peek(s, 0)))
            s->pos++;
        const struct tsim_shell_variable *v = tsim_shell_get(s, s->text + start, s->pos - start);
        note_missing(s, v, s->text + start, s->pos - start);
        put_variable(s, f, v, false, is_quoted, tsim_shell_place(s, dollar));
    } else if (c >= '0' && c <= '9') {
        s->pos++;
        put_argument(s, f, (size_t)(c - '0'), is_quoted, tsim_shell_place(s, dollar));
    } else if (c == '@' || c == '*') {
        s->pos++;
        put_words(s, f, s->arguments, s->n_arguments, is_quoted, tsim_shell_place(s, dollar));
    } else if (c != '\0' && strchr("#?$!-", c)) {
        char digits[24] = "";
        s->pos++;
        if (c == '#')
            snprintf(digits, sizeof digits, "%zu", s->n_arguments);
        for (const char *d = digits; *d; d++)
            put(s, f, *d, tsim_shell_place(s, dollar));
    } else {
        put(s, f, '$', tsim_shell_place(s, dollar));
    }
}

static void expand(struct tsim_shell *s, struct tsim_shell_fields *f, bool is_quoted) {
    if (++s->depth > TSIM_SHELL_MAX_DEPTH)
        tsim_shell_fail(s, TSIM_ERR_LIMIT, s->pos, "expansions nested deeper than 32");
    else
        expand_here(s, f, is_quoted);
    s->depth--;
}

/* ---- words ---- */

static void read_single_quoted(struct tsim_shell *s, struct tsim_shell_fields *f) {
    size_t start = s->pos++;
    open_field(f, tsim_shell_place(s, start));
    while (s->pos < s->size && s->text[s->pos] != '\'') {
        put_own(s, f, s->pos);
        s->pos++;
    }
    if (s->pos >= s->size)
        tsim_shell_fail(s, TSIM_ERR_SYNTAX, start, "a quote (') that does not end");
    s->pos++;
}

static void skip_backticks(struct tsim_shell *s) {
    size_t start = s->pos++;
    while (s->pos < s->size && s->text[s->pos] != '`')
        s->pos++;
    if (s->pos >= s->size)
        tsim_shell_fail(s, TSIM_ERR_SYNTAX, start, "a command in backticks that does not end");
    else
        s->missing = tsim_arena_strndup(s->arena, s->text + start, s->pos + 1 - start < 40 ? s->pos + 1 - start : 40);
    s->pos++;
}

/* Reads one character between double quotes, or its expansion; `escaped` are the characters whose meaning a backslash
 * removes. */
static void read_quoted(struct tsim_shell *s, struct tsim_shell_fields *f, const char *escaped) {
    char c = s->text[s->pos], next = peek(s, 1);
    if (c == '\\' && next == '\n') {
        s->pos += 2;
    } else if (c == '\\' && next != '\0' && strchr(escaped, next)) {
        put_own(s, f, s->pos + 1);
        s->pos += 2;
    } else if (c == '$') {
        expand(s, f, true);
    } else if (c == '`') {
        skip_backticks(s);
    } else {
        put_own(s, f, s->pos);
        s->pos++;
    }
}

/* ---- here-documents ---- */

struct tsim_shell_document tsim_shell_read_document_name(struct tsim_shell *s) {
    struct tsim_shell_document document = {NULL, false};
    struct tsim_shell_fields f = {.never_splits = true};
    s->pos += peek(s, 0) == '-';
    while (peek(s, 0) == ' ' || peek(s, 0) == '\t')
        s->pos++;
    const size_t start = s->pos;
    tsim_shell_read_word(s, &f);
    for (size_t i = start; i < s->pos && i < s->size; i++)
        document.is_quoted |= strchr("'\"\\", s->text[i]) != NULL;
    if (f.n_words > 0 && s->status == TSIM_OK)
        document.name = f.words[0].text;
    tsim_shell_release_fields(&f);
    return document;
}

/* Returns where the line that ends a document begins; *after is the place behind it. Tabs may stand in front of its
 * name. */
static size_t end_of_document(const struct tsim_shell *s, const char *name, size_t *after) {
    const size_t length = strlen(name);
    for (size_t line = s->pos; line < s->size; line = *after) {
        size_t start = line, end = line;
        while (end < s->size && s->text[end] != '\n')
            end++;
        while (start < end && s->text[start] == '\t')
            start++;
        *after = end + (end < s->size);
        if (end - start == length && memcmp(s->text + start, name, length) == 0)
            return line;
    }
    *after = s->size;
    return s->size;
}

struct tsim_shell_word tsim_shell_read_document(struct tsim_shell *s, const struct tsim_shell_document *document) {
    struct tsim_shell_fields f = {.never_splits = true};
    static const uint32_t NOWHERE[1] = {0};
    struct tsim_shell_word word = {"", NOWHERE, tsim_shell_place(s, s->pos)};
    const size_t size = s->size;
    size_t after = s->pos, end = end_of_document(s, document->name, &after);
    s->size = end;
    while (s->pos < end && s->status == TSIM_OK)
        if (document->is_quoted)
            put_own(s, &f, s->pos++);
        else
            read_quoted(s, &f, "$`\\");
    close_field(s, &f);
    s->size = size;
    s->pos = s->status == TSIM_OK ? after : size;
    if (f.n_words > 0 && s->status == TSIM_OK)
        word = f.words[0];
    tsim_shell_release_fields(&f);
    return word;
}

static void read_double_quoted(struct tsim_shell *s, struct tsim_shell_fields *f) {
    size_t start = s->pos++;
    open_field(f, tsim_shell_place(s, start));
    while (s->pos < s->size && s->text[s->pos] != '"')
        read_quoted(s, f, "$`\"\\");
    if (s->pos >= s->size)
        tsim_shell_fail(s, TSIM_ERR_SYNTAX, start, "a quote (\") that does not end");
    s->pos++;
}

static void read_escaped(struct tsim_shell *s, struct tsim_shell_fields *f) {
    if (peek(s, 1) == '\n')
        s->pos += 2;
    else if (peek(s, 1) == '\r' && peek(s, 2) == '\n')
        s->pos += 3;
    else {
        s->pos++;
        if (s->pos < s->size)
            put_own(s, f, s->pos);
        s->pos++;
    }
}

void tsim_shell_read_word(struct tsim_shell *s, struct tsim_shell_fields *f) {
    while (s->pos < s->size && s->status == TSIM_OK) {
        char c = s->text[s->pos];
        if (c == '\0' || strchr(" \t\r\n;&|()<>", c))
            break;
        if (c == '\\')
            read_escaped(s, f);
        else if (c == '\'')
            read_single_quoted(s, f);
        else if (c == '"')
            read_double_quoted(s, f);
        else if (c == '$')
            expand(s, f, false);
        else if (c == '`')
            skip_backticks(s);
        else {
            put_own(s, f, s->pos);
            s->pos++;
        }
    }
    close_field(s, f);
}
