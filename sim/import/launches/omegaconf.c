#include "import/launches/omegaconf.h"

#include "config/text/value.h"
#include "import/overrides.h"

#include <stdlib.h>
#include <string.h>

static const struct tsim_value *resolved(struct tsim_omegaconf *g, const char *path, const struct tsim_value *value,
                                         int depth);

/* Finds what `inside` of "${...}" names; `path` is where it stands. "x.y" from the root (the launcher's has training
 * before it), ".y" beside it, "..y" beside what it stands in. */
static const struct tsim_value *named_value(struct tsim_omegaconf *g, const char *path, const char *inside, int depth) {
    struct tsim_arena *arena = g->arena;
    const char *target = strncmp(inside, "training.", 9) == 0 ? inside + 9 : inside, *base = path;
    for (; *inside == '.'; inside++, target = inside) {
        const char *dot = strrchr(base, '.');
        base = dot ? tsim_arena_strndup(arena, base, (size_t)(dot - base)) : "";
    }
    if (base != path)
        target = *base ? tsim_arena_printf(arena, "%s.%s", base, inside) : inside;
    if (strlen(target) > 100 ||
        strspn(target, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") != strlen(target))
        return NULL;
    for (const char *step = target; step; step = strchr(step, '.') ? strchr(step, '.') + 1 : NULL)
        if (strcspn(step, ".") == 0 || strcspn(step, ".") >= 60) /* a step of a path must be shorter */
            return NULL;
    const struct tsim_value *found = tsim_value_find_path(g->root, target);
    return found && found->kind == TSIM_VALUE_SCALAR ? resolved(g, target, found, depth + 1) : NULL;
}

/* Returns what --env says of a variable; NULL: nothing. */
static const struct tsim_value *given_value(const struct tsim_omegaconf *g, const struct tsim_value *at,
                                            const char *name, size_t length) {
    const char *text = g->input ? tsim_import_environment(g->input, name, length) : NULL;
    return text ? tsim_value_new_scalar(g->arena, at, text) : NULL;
}

/* Returns the length of the text up to a comma that stands in no braces. */
static size_t item_length(const char *text) {
    size_t length = 0;
    for (int open = 0; text[length] && (open > 0 || text[length] != ','); length++)
        open += (text[length] == '{') - (text[length] == '}');
    return length;
}

/* Computes the resolvers that NeMo's launcher registers, on whole numbers. Returns false if the result is unknown or
 * too large. */
static bool calculate(const char *name, long long a, long long b, long long *value) {
    const long long most = 1000000000000LL;
    if (strcmp(name, "multiply") == 0)
        return !__builtin_mul_overflow(a, b, value) && *value <= most;
    if (strcmp(name, "add") == 0 || strcmp(name, "sum") == 0)
        return !__builtin_add_overflow(a, b, value) && *value <= most;
    if (strcmp(name, "subtract") == 0)
        *value = a - b;
    else if (b == 0)
        return false;
    else if (strcmp(name, "divide_ceil") == 0)
        *value = a / b + (a % b != 0);
    else if (strcmp(name, "divide_floor") == 0 || (strcmp(name, "divide") == 0 && a % b == 0))
        *value = a / b;
    else
        return false;
    return *value >= 0;
}

/* Returns the result of "${multiply:A, B}" and the like. Each operand is a whole number, or what "${...}" names. */
static const struct tsim_value *result_of(struct tsim_omegaconf *g, const char *path, const struct tsim_value *at,
                                          const char *name, const char *operands, int depth) {
    struct tsim_arena *arena = g->arena;
    long long value = 0;
    for (size_t n = 0; *operands; n++) {
        size_t length = item_length(operands);
        const char *text = tsim_arena_strndup(arena, operands, length);
        text += strspn(text, " ");
        const struct tsim_value *operand = resolved(g, path, tsim_value_new_scalar(arena, at, text), depth + 1);
        char *end;
        long long number = strtoll(operand->text, &end, 10);
        if (end == operand->text || end[strspn(end, " ")] || number < 0 || number > 1000000000000LL ||
            (n > 0 && !calculate(name, value, number, &value)))
            return NULL;
        value = n == 0 ? number : value;
        operands += length + (operands[length] == ',');
    }
    return tsim_value_new_scalar(arena, at, tsim_arena_printf(arena, "%lld", value));
}

/* "${oc.env:NAME, DEFAULT}": the value of --env, or the default if there is one. */
static const struct tsim_value *environment_default(struct tsim_omegaconf *g, const char *path,
                                                    const struct tsim_value *at, const char *inside, int depth) {
    const char *comma = inside + item_length(inside);
    const struct tsim_value *given = given_value(g, at, inside, (size_t)(comma - inside));
    if (given || !*comma)
        return given;
    comma += 1 + strspn(comma + 1, " ");
    return resolved(g, path, tsim_value_new_scalar(g->arena, at, comma), depth + 1);
}

static const struct tsim_value *stands_for(struct tsim_omegaconf *g, const char *path, const struct tsim_value *at,
                                           const char *inside, int depth) {
    static const char *const NAMES[] = {"multiply", "divide", "add", "sum", "divide_ceil", "divide_floor", "subtract"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        size_t length = strlen(NAMES[i]);
        if (strncmp(inside, NAMES[i], length) == 0 && inside[length] == ':')
            return result_of(g, path, at, NAMES[i], inside + length + 1, depth);
    }
    if (strncmp(inside, "oc.env:", 7) == 0)
        return environment_default(g, path, at, inside + 7, depth);
    const struct tsim_value *named = named_value(g, path, inside, depth);
    return named ? named : given_value(g, at, inside, strlen(inside));
}

static const struct tsim_value *resolved(struct tsim_omegaconf *g, const char *path, const struct tsim_value *value,
                                         int depth) {
    enum { MOST_DEPTH = 8, MOST_RESOLVED = 100000 };
    size_t length = strlen(value->text);
    if (depth > MOST_DEPTH || ++g->n_resolved > MOST_RESOLVED || length < 4 || length > 200 ||
        strncmp(value->text, "${", 2) != 0 || value->text[length - 1] != '}')
        return value;
    const char *inside = tsim_arena_strndup(g->arena, value->text + 2, length - 3);
    const struct tsim_value *found = stands_for(g, path, value, inside, depth);
    return found ? found : value;
}

const struct tsim_value *tsim_omegaconf_value(struct tsim_omegaconf *g, const char *path,
                                              const struct tsim_value *value) {
    return value->kind == TSIM_VALUE_SCALAR ? resolved(g, path, value, 0) : value;
}
