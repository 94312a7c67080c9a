/* A thin coat over Jansson, which keeps the tree and escapes text. Numbers are written here: Jansson's precision is
 * fixed for a whole document, so it cannot give each double its shortest form. */
#include "results/json.h"

#include "base/arena.h"
#include "base/quantity.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

enum { MARKUP_DIGITS = 9, LONGEST_KEY = 64 };

void tsim_json_init(void) {
    json_set_alloc_funcs(tsim_heap_alloc, tsim_heap_free);
}

/* struct tsim_json is json_t under a name of our own: it is never defined, only cast. */
static json_t *to_jansson(struct tsim_json *json) {
    return (json_t *)json;
}

static struct tsim_json *from_jansson(json_t *json) {
    if (!json)
        TSIM_BUG("Jansson refused a value");
    return (struct tsim_json *)json;
}

struct tsim_json *tsim_json_new_object(void) {
    return from_jansson(json_object());
}

struct tsim_json *tsim_json_new_array(void) {
    return from_jansson(json_array());
}

void tsim_json_release(struct tsim_json *root) {
    json_decref(to_jansson(root));
}

static const char *ascii_only(struct tsim_arena *arena, const char *text) {
    char *copy = tsim_arena_strdup(arena, text);
    for (char *at = copy; *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    return copy;
}

/* Takes over the reference to `value`. */
static struct tsim_json *add(struct tsim_json *parent, const char *key, json_t *value) {
    struct tsim_json *added = from_jansson(value);
    json_t *to = to_jansson(parent);
    TSIM_ASSERT(key ? json_is_object(to) : json_is_array(to));
    int status = key ? json_object_set(to, key, value) : json_array_append(to, value);
    if (status != 0 && key) { /* a key that is not UTF-8 */
        struct tsim_arena arena;
        tsim_arena_init(&arena);
        status = json_object_set(to, ascii_only(&arena, key), value);
        tsim_arena_release(&arena);
    }
    TSIM_ASSERT(status == 0);
    json_decref(value);
    return added;
}

struct tsim_json *tsim_json_object(struct tsim_json *parent, const char *key) {
    return add(parent, key, json_object());
}

struct tsim_json *tsim_json_array(struct tsim_json *parent, const char *key) {
    return add(parent, key, json_array());
}

struct tsim_json *tsim_json_member(struct tsim_json *object, const char *key) {
    return from_jansson(json_object_get(to_jansson(object), key));
}

struct tsim_json *tsim_json_element(struct tsim_json *array, size_t i) {
    return from_jansson(json_array_get(to_jansson(array), i));
}

void tsim_json_drop(struct tsim_json *object, const char *key) {
    json_object_del(to_jansson(object), key);
}

struct tsim_json *tsim_json_make_path(struct tsim_json *root, const char *path, const char **key) {
    char name[LONGEST_KEY];
    const char *dot;
    for (; (dot = strchr(path, '.')); path = dot + 1) {
        TSIM_ASSERT(dot - path < LONGEST_KEY);
        memcpy(name, path, (size_t)(dot - path));
        name[dot - path] = '\0';
        root = tsim_json_find(root, name) ? tsim_json_member(root, name) : tsim_json_object(root, name);
    }
    *key = path;
    return root;
}

void tsim_json_put_text(struct tsim_json *root, const char *path, const char *text) {
    const char *key;
    if (!text)
        return;
    struct tsim_json *parent = tsim_json_make_path(root, path, &key);
    tsim_json_text(parent, key, text);
}

/* ---- reading ---- */

const struct tsim_json *tsim_json_find(const struct tsim_json *object, const char *key) {
    return (const struct tsim_json *)json_object_get((const json_t *)object, key);
}

size_t tsim_json_count(const struct tsim_json *container) {
    const json_t *value = (const json_t *)container;
    return json_is_object(value) ? json_object_size(value) : json_array_size(value);
}

const struct tsim_json *tsim_json_at(const struct tsim_json *array, size_t i) {
    return (const struct tsim_json *)json_array_get((const json_t *)array, i);
}

/* Returns the value as writable, because Jansson walks members only from one to the next, and requires that. */
static json_t *writable(const struct tsim_json *json) {
    union {
        const struct tsim_json *from;
        json_t *to;
    } cast = {.from = json};
    return cast.to;
}

const char *tsim_json_key(const struct tsim_json *object, size_t i) {
    json_t *members = writable(object);
    void *at = json_object_iter(members);
    while (at && i-- > 0)
        at = json_object_iter_next(members, at);
    TSIM_ASSERT(at);
    return json_object_iter_key(at);
}

const char *tsim_json_text_at(const struct tsim_json *array, size_t i) {
    return json_string_value((const json_t *)tsim_json_at(array, i));
}

const char *tsim_json_text_of(const struct tsim_json *object, const char *key) {
    return json_string_value(json_object_get((const json_t *)object, key));
}

double tsim_json_number_of(const struct tsim_json *value) {
    const json_t *at = (const json_t *)value;
    if (json_is_boolean(at))
        return json_is_true(at) ? 1 : 0;
    return json_is_number(at) ? json_number_value(at) : (double)NAN;
}

static void each(struct tsim_arena *arena, json_t *value, const char *path, tsim_json_leaf_fn take, void *context) {
    const char *key;
    size_t i;
    json_t *member;
    json_object_foreach(value, key, member) {
        each(arena, member, tsim_arena_printf(arena, "%s%s%s", path, path[0] ? "." : "", key), take, context);
    }
    json_array_foreach(value, i, member) {
        each(arena, member, tsim_arena_printf(arena, "%s[%zu]", path, i), take, context);
    }
    double number = tsim_json_number_of((struct tsim_json *)value);
    const struct tsim_json_leaf leaf = {path, json_string_value(value), number};
    if (leaf.text || !isnan(number))
        take(context, &leaf);
}

void tsim_json_each(const struct tsim_json *root, tsim_json_leaf_fn take, void *context) {
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    each(&arena, writable(root), "", take, context);
    tsim_arena_release(&arena);
}

double tsim_json_figure(const struct tsim_json *root, const char *path) {
    const json_t *at = (const json_t *)root;
    while (at && *path) {
        size_t length = strcspn(path, ".");
        at = json_object_getn(at, path, length);
        path += length + (path[length] == '.');
    }
    return tsim_json_number_of((const struct tsim_json *)at);
}

void tsim_json_take(struct tsim_json *parent, const char *key, struct tsim_json *tree) {
    add(parent, key, to_jansson(tree));
}

void tsim_json_number(struct tsim_json *parent, const char *key, double value) {
    if (isfinite(value))
        add(parent, key, json_real(value));
}

void tsim_json_integer(struct tsim_json *parent, const char *key, int64_t value) {
    add(parent, key, json_integer(value));
}

void tsim_json_bool(struct tsim_json *parent, const char *key, bool value) {
    add(parent, key, json_boolean(value));
}

void tsim_json_text(struct tsim_json *parent, const char *key, const char *text) {
    if (!text)
        return;
    json_t *string = json_string(text); /* NULL when the text is not UTF-8 */
    if (!string) {
        struct tsim_arena arena;
        tsim_arena_init(&arena);
        string = json_string(ascii_only(&arena, text));
        tsim_arena_release(&arena);
    }
    add(parent, key, string);
}

static json_t *parse(const char *json_text) {
    return json_loads(json_text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
}

struct tsim_json *tsim_json_new_parsed(const char *json_text) {
    return from_jansson(parse(json_text));
}

void tsim_json_parsed(struct tsim_json *parent, const char *key, const char *json_text) {
    add(parent, key, parse(json_text));
}

void tsim_json_parsed_or_text(struct tsim_json *parent, const char *key, const char *json_text) {
    json_t *value = json_text ? parse(json_text) : NULL;
    if (value)
        add(parent, key, value);
    else
        tsim_json_text(parent, key, json_text);
}

static void write_value(json_t *value, int depth, FILE *out);

/* Text must read back as YAML, which refuses some characters and breaks lines at others: U+007F to U+00A0, U+2028,
 * U+2029, U+FEFF, U+FFFE, U+FFFF. Returns the code point of such a character and the bytes that it takes, or 0 for all
 * others. */
static unsigned to_escape(const char *text, size_t *n_bytes) {
    static const struct {
        const char *bytes;
        unsigned code_point;
    } OTHERS[] = {{"\xE2\x80\xA8", 0x2028}, {"\xE2\x80\xA9", 0x2029}, {"\xEF\xBB\xBF", 0xFEFF},
                  {"\xEF\xBF\xBE", 0xFFFE}, {"\xEF\xBF\xBF", 0xFFFF}, {"\x7F", 0x7F}};
    *n_bytes = 1;
    if ((unsigned char)text[0] < 0x7F) /* nearly all of it */
        return 0;
    *n_bytes = 2;
    if (text[0] == '\xC2' && (unsigned char)text[1] <= 0xA0)
        return (unsigned char)text[1];
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++) {
        *n_bytes = strlen(OTHERS[i].bytes);
        if (strncmp(text, OTHERS[i].bytes, *n_bytes) == 0)
            return OTHERS[i].code_point;
    }
    *n_bytes = 1;
    return 0;
}

/* Writes text without anything to escape, such as keys and nearly all values, as it is. */
static bool write_plain(const char *text, FILE *out) {
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (*at < ' ' || *at >= 0x7F || *at == '"' || *at == '\\')
            return false;
    putc_unlocked('"', out);
    fputs(text, out);
    putc_unlocked('"', out);
    return true;
}

static void write_string(const json_t *string, FILE *out) {
    if (write_plain(json_string_value(string), out))
        return;
    char *text = json_dumps(string, JSON_ENCODE_ANY); /* memory that runs out ends the program */
    size_t n_bytes;
    for (const char *at = text; *at; at += n_bytes) {
        unsigned code_point = to_escape(at, &n_bytes);
        if (code_point)
            fprintf(out, "\\u%04X", code_point);
        else
            putc_unlocked(*at, out);
    }
    tsim_heap_free(text);
}

const char *tsim_json_value_text(struct tsim_arena *arena, const struct tsim_json *value) {
    char *text = json_dumps((const json_t *)value, JSON_ENCODE_ANY | JSON_COMPACT);
    const char *kept = tsim_arena_strdup(arena, text);
    tsim_heap_free(text);
    return kept;
}

static void write_scalar(json_t *value, FILE *out) {
    if (json_is_real(value)) {
        char text[40];
        fputs(tsim_double_text(json_real_value(value), text, sizeof text), out);
    } else if (json_is_string(value)) {
        write_string(value, out);
    } else {
        json_dumpf(value, out, JSON_ENCODE_ANY);
    }
}

static void write_key(const char *key, FILE *out) {
    if (!write_plain(key, out)) {
        json_t *string = json_string(key);
        TSIM_ASSERT(string);
        write_string(string, out);
        json_decref(string);
    }
    fputs(": ", out);
}

static bool is_container(const json_t *value) {
    return json_is_object(value) || json_is_array(value);
}

static bool holds_containers(json_t *value) {
    const char *key;
    size_t i;
    json_t *member;
    json_object_foreach(value, key, member) if (is_container(member)) return true;
    json_array_foreach(value, i, member) if (is_container(member)) return true;
    return false;
}

static void write_separator(bool is_first, bool is_tall, int depth, FILE *out) {
    if (!is_first)
        fputc(',', out);
    if (is_tall)
        fprintf(out, "\n%*s", 2 * depth, "");
    else if (!is_first)
        fputc(' ', out);
}

static void write_container(json_t *value, int depth, FILE *out) {
    bool is_tall = holds_containers(value), is_first = true;
    const char *key;
    size_t i;
    json_t *member;
    fputc(json_is_object(value) ? '{' : '[', out);
    json_object_foreach(value, key, member) {
        write_separator(is_first, is_tall, depth + 1, out);
        write_key(key, out);
        write_value(member, depth + 1, out);
        is_first = false;
    }
    json_array_foreach(value, i, member) {
        write_separator(is_first, is_tall, depth + 1, out);
        write_value(member, depth + 1, out);
        is_first = false;
    }
    if (is_tall)
        fprintf(out, "\n%*s", 2 * depth, "");
    fputc(json_is_object(value) ? '}' : ']', out);
}

static void write_value(json_t *value, int depth, FILE *out) {
    if (is_container(value))
        write_container(value, depth, out);
    else
        write_scalar(value, out);
}

void tsim_json_write_part(struct tsim_json *root, int depth, FILE *out) {
    write_value(to_jansson(root), depth, out);
}

void tsim_json_write(struct tsim_json *root, FILE *out) {
    write_value(to_jansson(root), 0, out);
    fputc('\n', out);
}

/* '<' occurs only in strings, which may write it as an escape. */
static int write_escaped(const char *text, size_t size, void *context) {
    FILE *out = context;
    const char *end = text + size;
    for (const char *from = text, *to; from < end; from = to + 1) {
        to = memchr(from, '<', (size_t)(end - from));
        to = to ? to : end;
        fwrite(from, 1, (size_t)(to - from), out);
        if (to < end)
            fputs("\\u003c", out);
    }
    return 0;
}

void tsim_json_write_markup(struct tsim_json *root, FILE *out) {
    int status =
        json_dump_callback(to_jansson(root), write_escaped, out, JSON_COMPACT | JSON_REAL_PRECISION(MARKUP_DIGITS));
    TSIM_ASSERT(status == 0);
}
