#include "config/text/value.h"

#include "base/among.h"

#include <stdarg.h>
#include <string.h>

enum { MAX_SHOWN_LINE = 160 };

const struct tsim_pair *tsim_value_find_pair(const struct tsim_value *mapping, const char *key) {
    if (!mapping || mapping->kind != TSIM_VALUE_MAPPING)
        return NULL;
    for (size_t i = 0; i < mapping->n_items; i++)
        if (tsim_is_same_text(mapping->pairs[i].key, key))
            return &mapping->pairs[i];
    return NULL;
}

const struct tsim_value *tsim_value_find(const struct tsim_value *mapping, const char *key) {
    const struct tsim_pair *pair = tsim_value_find_pair(mapping, key);
    return pair ? pair->value : NULL;
}

const struct tsim_value *tsim_value_find_path(const struct tsim_value *mapping, const char *path) {
    while (mapping) {
        const char *dot = strchr(path, '.');
        if (!dot)
            return tsim_value_find(mapping, path);
        char key[64];
        size_t length = (size_t)(dot - path);
        TSIM_ASSERT(length < sizeof key); /* paths here are our own */
        memcpy(key, path, length);
        key[length] = '\0';
        mapping = tsim_value_find(mapping, key);
        path = dot + 1;
    }
    return NULL;
}

bool tsim_value_is_text(const struct tsim_value *value, const char *text) {
    return value && value->kind == TSIM_VALUE_SCALAR && tsim_is_same_text(value->text, text);
}

const char *tsim_value_kind_name(const struct tsim_value *value) {
    static const char *const names[] = {"a single value", "a list", "a mapping"};
    return names[value->kind];
}

/* ---- building ---- */

static struct tsim_value *new_at(struct tsim_arena *arena, const struct tsim_value *at, enum tsim_value_kind kind) {
    struct tsim_value *value = TSIM_NEW(arena, struct tsim_value);
    value->kind = kind;
    value->document = at->document;
    value->line = at->line;
    value->column = at->column;
    value->height = 1;
    value->n_nodes = 1;
    return value;
}

void tsim_value_count_in(struct tsim_value *parent, const struct tsim_value *child) {
    parent->n_nodes += child->n_nodes;
    if (parent->height < child->height + 1)
        parent->height = child->height + 1;
}

const struct tsim_value *tsim_value_new_scalar(struct tsim_arena *arena, const struct tsim_value *at,
                                               const char *text) {
    struct tsim_value *value = new_at(arena, at, TSIM_VALUE_SCALAR);
    value->text = tsim_arena_strdup(arena, text);
    return value;
}

const struct tsim_value *tsim_value_new_list(struct tsim_arena *arena, const struct tsim_value *at,
                                             const struct tsim_value *const *items, size_t n_items) {
    struct tsim_value *value = new_at(arena, at, TSIM_VALUE_SEQUENCE);
    const struct tsim_value **copy = TSIM_NEW_ARRAY(arena, n_items, const struct tsim_value *);
    for (size_t i = 0; i < n_items; i++) {
        copy[i] = items[i];
        tsim_value_count_in(value, items[i]);
    }
    value->items = copy;
    value->n_items = n_items;
    return value;
}

const struct tsim_value *tsim_value_new_mapping(struct tsim_arena *arena, const struct tsim_value *at,
                                                const struct tsim_pair *pairs, size_t n_pairs) {
    struct tsim_value *value = new_at(arena, at, TSIM_VALUE_MAPPING);
    struct tsim_pair *copy = TSIM_NEW_ARRAY(arena, n_pairs, struct tsim_pair);
    for (size_t i = 0; i < n_pairs; i++) {
        copy[i] = pairs[i];
        tsim_value_count_in(value, pairs[i].value);
    }
    value->pairs = copy;
    value->n_items = n_pairs;
    return value;
}

const struct tsim_value *tsim_value_without(struct tsim_arena *arena, const struct tsim_value *mapping,
                                            const char *key) {
    struct tsim_pair *pairs = TSIM_NEW_ARRAY(arena, mapping->n_items, struct tsim_pair);
    size_t n = 0;
    for (size_t i = 0; i < mapping->n_items; i++)
        if (strcmp(mapping->pairs[i].key, key) != 0)
            pairs[n++] = mapping->pairs[i];
    return tsim_value_new_mapping(arena, mapping, pairs, n);
}

static struct tsim_pair new_pair(const struct tsim_value *at, const char *key, const struct tsim_value *value) {
    struct tsim_pair pair = {key, at->document, at->line, at->column, value};
    return pair;
}

/* ---- merging ---- */

static const struct tsim_value *amend_reference(struct tsim_arena *arena, const struct tsim_value *reference,
                                                const struct tsim_value *patch) {
    struct tsim_pair *pairs = TSIM_NEW_ARRAY(arena, patch->n_items + 1, struct tsim_pair);
    pairs[0] = new_pair(reference, "extends", reference);
    for (size_t i = 0; i < patch->n_items; i++)
        pairs[i + 1] = patch->pairs[i];
    return tsim_value_new_mapping(arena, patch, pairs, patch->n_items + 1);
}

/* Quadratic in the number of keys only for keys of `over`; both sides are small but for hostile input, which
 * TSIM_VALUE_MAX_NODES bounds. */
static const struct tsim_value *merge_mappings(struct tsim_arena *arena, const struct tsim_value *base,
                                               const struct tsim_value *over) {
    struct tsim_pair *pairs = TSIM_NEW_ARRAY(arena, base->n_items + over->n_items, struct tsim_pair);
    size_t n = 0;
    for (size_t i = 0; i < base->n_items; i++) {
        const struct tsim_pair *other = tsim_value_find_pair(over, base->pairs[i].key);
        pairs[n] = other ? *other : base->pairs[i];
        pairs[n].value = tsim_value_merge(arena, base->pairs[i].value, other ? other->value : NULL);
        n++;
    }
    for (size_t i = 0; i < over->n_items; i++)
        if (!tsim_value_find_pair(base, over->pairs[i].key))
            pairs[n++] = over->pairs[i];
    struct tsim_value *merged = new_at(arena, over, TSIM_VALUE_MAPPING);
    merged->is_patch = base->is_patch && over->is_patch;
    merged->pairs = pairs;
    merged->n_items = n;
    for (size_t i = 0; i < n; i++)
        tsim_value_count_in(merged, pairs[i].value);
    return merged;
}

static const struct tsim_value *put_over(struct tsim_arena *arena, const struct tsim_value *under,
                                         const struct tsim_value *over) {
    struct tsim_value *placed = TSIM_NEW(arena, struct tsim_value);
    *placed = *over;
    placed->under = under;
    return placed;
}

const struct tsim_value *tsim_value_merge(struct tsim_arena *arena, const struct tsim_value *base,
                                          const struct tsim_value *over) {
    if (!base || !over)
        return base ? base : over;
    bool both = base->kind == TSIM_VALUE_MAPPING && over->kind == TSIM_VALUE_MAPPING;
    if (both && !tsim_value_find(over, "value") && !tsim_value_find(over, "extends"))
        return merge_mappings(arena, base, over);
    if (over->kind == TSIM_VALUE_MAPPING && over->is_patch && base->kind == TSIM_VALUE_SCALAR &&
        !tsim_value_find(over, "extends"))
        return amend_reference(arena, base, over);
    return put_over(arena, base, over);
}

/* ---- setting ---- */

struct setting {
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    const char *path; /* whole, for messages */
    const struct tsim_value *value;
    const char *const *reference_keys;
    size_t n_reference_keys;
};

/* Cuts the first step off a path: "order[2].x" -> "order", "[2].x"; "[2].x" -> "2", ".x". Returns NULL if it is
 * malformed. */
static char *cut_step(struct tsim_arena *arena, const char **path) {
    const char *start = *path;
    bool is_index = start[0] == '[';
    start += is_index;
    size_t length = strcspn(start, is_index ? "]" : ".[");
    const char *end = start + length;
    if (length == 0 || length > 100 || (is_index && *end != ']'))
        return NULL;
    char *step = tsim_arena_strndup(arena, start, length);
    end += is_index;
    if (*end == '.' && end[1] != '\0' && end[1] != '[')
        end++;
    else if (*end != '\0' && *end != '[')
        return NULL;
    *path = end;
    return step;
}

static const struct tsim_value *set_below(const struct setting *setting, const char *key, const struct tsim_value *at,
                                          const char *path);

static const struct tsim_value *set_item(const struct setting *setting, const struct tsim_value *sequence,
                                         const char *step, const char *rest) {
    size_t index = 0, n_digits = strspn(step, "0123456789");
    for (size_t i = 0; i < n_digits && index < sequence->n_items; i++)
        index = index * 10 + (size_t)(step[i] - '0');
    if (step[n_digits] != '\0' || index >= sequence->n_items) {
        struct tsim_diag *diag = tsim_value_error(setting->diags, TSIM_ERR_REFERENCE, setting->value, "",
                                                  "'%.60s' is no element of a list of %zu", step, sequence->n_items);
        if (sequence->n_items)
            tsim_diag_hint(diag, "elements are numbered 0 to %zu", sequence->n_items - 1);
        return NULL;
    }
    const struct tsim_value *item = set_below(setting, NULL, sequence->items[index], rest);
    if (!item)
        return NULL;
    const struct tsim_value **items = TSIM_NEW_ARRAY(setting->arena, sequence->n_items, const struct tsim_value *);
    memcpy(items, sequence->items, sequence->n_items * sizeof *items);
    items[index] = item;
    struct tsim_value *copy = new_at(setting->arena, sequence, TSIM_VALUE_SEQUENCE);
    copy->items = items;
    copy->n_items = sequence->n_items;
    for (size_t i = 0; i < copy->n_items; i++)
        tsim_value_count_in(copy, items[i]);
    return copy;
}

/* Returns `at` with one key replaced or appended. */
static const struct tsim_value *with_pair(struct tsim_arena *arena, const struct tsim_value *at,
                                          struct tsim_pair pair) {
    struct tsim_pair *pairs = TSIM_NEW_ARRAY(arena, at->n_items + 1, struct tsim_pair);
    size_t index = 0;
    for (size_t i = 0; i < at->n_items; i++)
        pairs[i] = at->pairs[i];
    while (index < at->n_items && strcmp(pairs[index].key, pair.key) != 0)
        index++;
    pairs[index] = pair;
    struct tsim_value *copy = new_at(arena, at, TSIM_VALUE_MAPPING);
    *copy = *tsim_value_new_mapping(arena, at, pairs, index < at->n_items ? at->n_items : at->n_items + 1);
    copy->is_patch = at->is_patch;
    return copy;
}

static bool is_reference_key(const struct setting *setting, const char *key) {
    return key && tsim_is_among(key, setting->reference_keys, setting->n_reference_keys);
}

/* Returns the new value of `at` (NULL: nothing there yet), which stands under `key`, once `path` below it is set; NULL
 * after an error. */
static const struct tsim_value *set_below(const struct setting *setting, const char *key, const struct tsim_value *at,
                                          const char *path) {
    if (*path == '\0')
        return at ? put_over(setting->arena, at, setting->value) : setting->value;
    char *step = cut_step(setting->arena, &path);
    if (!step) {
        struct tsim_diag *diag = tsim_value_error(setting->diags, TSIM_ERR_REFERENCE, setting->value, "",
                                                  "'%.100s' is not a path", setting->path);
        tsim_diag_hint(diag, "keys are joined by dots: 'cluster.nodes', 'parallelism.order[0]'");
        return NULL;
    }
    if (at && at->kind == TSIM_VALUE_SEQUENCE)
        return set_item(setting, at, step, path);
    bool is_mapping = at && at->kind == TSIM_VALUE_MAPPING;
    const struct tsim_value *below = set_below(setting, step, is_mapping ? tsim_value_find(at, step) : NULL, path);
    if (!below)
        return NULL;
    struct tsim_pair pair = new_pair(setting->value, step, below);
    if (is_mapping)
        return with_pair(setting->arena, at, pair);
    struct tsim_value *patch = new_at(setting->arena, setting->value, TSIM_VALUE_MAPPING);
    *patch = *tsim_value_new_mapping(setting->arena, setting->value, &pair, 1);
    patch->is_patch = true;
    return at && is_reference_key(setting, key) ? tsim_value_merge(setting->arena, at, patch) : patch;
}

static size_t count_steps(const char *path) {
    size_t n = 1;
    for (; *path; path++)
        n += *path == '.' || *path == '[';
    return n;
}

enum tsim_status tsim_value_set(struct tsim_arena *arena, const struct tsim_value *root, const char *path,
                                const struct tsim_value *value, const char *const *reference_keys,
                                size_t n_reference_keys, const struct tsim_value **result, struct tsim_diags *diags) {
    struct setting setting = {arena, diags, path, value, reference_keys, n_reference_keys};
    bool is_long = count_steps(path) > TSIM_VALUE_MAX_HEIGHT;
    const struct tsim_value *changed = set_below(&setting, NULL, root, is_long || !*path ? "." : path);
    if (!changed)
        return TSIM_ERR_REFERENCE;
    if (changed->height > TSIM_VALUE_MAX_HEIGHT || changed->n_nodes > TSIM_VALUE_MAX_NODES) {
        tsim_value_error(diags, TSIM_ERR_LIMIT, value, "", "the scenario gets too deep or too large");
        return TSIM_ERR_LIMIT;
    }
    *result = changed;
    return TSIM_OK;
}

/* ---- diagnostics ---- */

/* Returns the bytes of the line break at `text`: LF, CR, CR LF, and the three breaks of Unicode that YAML 1.1 knows; 0
 * for none. */
static size_t break_length(const char *text, size_t size) {
    if (text[0] == '\r')
        return size > 1 && text[1] == '\n' ? 2 : 1;
    if (text[0] == '\n')
        return 1;
    if (size > 1 && memcmp(text, "\xC2\x85", 2) == 0)
        return 2;
    return size > 2 && memcmp(text, "\xE2\x80", 2) == 0 && (text[2] == '\xA8' || text[2] == '\xA9') ? 3 : 0;
}

const char *tsim_document_line(const struct tsim_document *document, int line, int column) {
    const char *text = document->text, *end = text + document->size;
    for (int at = 1; at < line && text < end; text++) {
        size_t length = break_length(text, (size_t)(end - text));
        at += length > 0;
        text += length ? length - 1 : 0;
    }
    if (line < 1 || text >= end || column > MAX_SHOWN_LINE)
        return NULL;
    size_t length = 0;
    while (text + length < end && length < MAX_SHOWN_LINE &&
           !break_length(text + length, (size_t)(end - text) - length))
        length++;
    while (length > 0 && text + length < end && ((unsigned char)text[length] & 0xC0) == 0x80)
        length--; /* no half of a character at the cut */
    char *copy = tsim_arena_strndup(document->arena, text, length);
    for (size_t i = 0; i < length; i++)
        if (((unsigned char)copy[i] < ' ' && copy[i] != '\t') || copy[i] == '\x7F')
            copy[i] = '?';
    return copy;
}

static struct tsim_diag *finish(struct tsim_diags *diags, struct tsim_diag *diag,
                                const struct tsim_document *document) {
    bool is_kept = diags->n_errors + diags->n_warnings <= TSIM_MAX_DIAGS;
    diag->set_path = document->set_path;
    if (is_kept && diag->at.line)
        diag->source_line = tsim_document_line(document, diag->at.line, diag->at.column);
    return diag;
}

static struct tsim_place place_of(const struct tsim_value *value) {
    return (struct tsim_place){value->document->file, value->line, value->column};
}

struct tsim_diag *tsim_value_verror(struct tsim_diags *diags, enum tsim_status status, const struct tsim_value *at,
                                    const char *field, const char *format, va_list args) {
    return finish(diags, tsim_diags_verror(diags, status, place_of(at), field, format, args), at->document);
}

struct tsim_diag *tsim_value_error(struct tsim_diags *diags, enum tsim_status status, const struct tsim_value *at,
                                   const char *field, const char *format, ...) {
    va_list args;
    va_start(args, format);
    struct tsim_diag *diag = tsim_value_verror(diags, status, at, field, format, args);
    va_end(args);
    return diag;
}

struct tsim_diag *tsim_value_warning(struct tsim_diags *diags, const struct tsim_value *at, const char *field,
                                     const char *format, ...) {
    va_list args;
    va_start(args, format);
    struct tsim_diag *diag = tsim_diags_vwarning(diags, place_of(at), field, format, args);
    va_end(args);
    return finish(diags, diag, at->document);
}

struct tsim_diag *tsim_pair_error(struct tsim_diags *diags, enum tsim_status status, const struct tsim_pair *at,
                                  const char *field, const char *format, ...) {
    const struct tsim_place place = {at->document->file, at->line, at->column};
    va_list args;
    va_start(args, format);
    struct tsim_diag *diag = tsim_diags_verror(diags, status, place, field, format, args);
    va_end(args);
    return finish(diags, diag, at->document);
}
