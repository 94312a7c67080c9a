#include "config/text/document.h"

#include "base/file_bytes.h"

#include <string.h>
#include <yaml.h>

/* The tree is built from libyaml's events and not from its document API: that one accepts duplicate keys, and gives an
 * alias the place of its anchor. libyaml counts lines and columns from 0. */

enum { MAX_ANCHORS = 256 };

struct anchor {
    const char *name;
    const struct tsim_value *value; /* NULL while its own text is being read */
};

struct builder {
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    struct tsim_document *document;
    yaml_parser_t *parser;
    struct tsim_pair *stack; /* children of the collections that are open, key NULL for list elements */
    size_t n_stack, stack_capacity;
    size_t n_nodes; /* so far, aliases expanded */
    struct anchor anchors[MAX_ANCHORS];
    size_t n_anchors;
    bool has_too_many_anchors;
    bool lacks_values;       /* which the file has, so that keys would seem to be missing */
    size_t most_keys;        /* of one mapping */
    bool takes_last;         /* of keys that are repeated, as Python's readers do */
    enum tsim_status status; /* of the first mistake */
};

/* A hash table of the places of a wide mapping's keys on the stack: open addressing, 0 is free. It is in the arena. */
struct key_table {
    uint32_t *slots;
    size_t n_slots; /* a power of two; 0: a mapping that is scanned */
};

/* Returns the value of `event` and of the events that belong to it; NULL when reading cannot go on (a diag says
 * why). */
static const struct tsim_value *build_value(struct builder *b, const yaml_event_t *event, int depth);

/* ---- mistakes ---- */

static struct tsim_diag *error_at(struct builder *b, enum tsim_status status, yaml_mark_t mark, const char *message) {
    struct tsim_value at = {.document = b->document};
    if (!b->document->is_override) {
        at.line = (int)mark.line + 1;
        at.column = (int)mark.column + 1;
    }
    if (b->status == TSIM_OK)
        b->status = status;
    return tsim_value_error(b->diags, status, &at, "", "%s", message);
}

/* Returns line and column of an offset, for the reader's errors, which libyaml places by bytes. */
static yaml_mark_t mark_of_offset(const struct tsim_document *document, size_t offset) {
    yaml_mark_t mark = {offset, 0, 0};
    for (size_t i = 0; i < offset && i < document->size; i++) {
        mark.column++;
        if (document->text[i] == '\n') {
            mark.line++;
            mark.column = 0;
        }
    }
    return mark;
}

static void report_parser_error(struct builder *b) {
    const yaml_parser_t *parser = b->parser;
    const char *problem = parser->problem ? parser->problem : "unknown problem";
    char message[200];
    if (parser->error == YAML_MEMORY_ERROR) {
        tsim_out_of_memory();
    } else if (parser->error == YAML_READER_ERROR) {
        yaml_mark_t mark = mark_of_offset(b->document, parser->problem_offset);
        snprintf(message, sizeof message, "not UTF-8 text: %s", problem);
        tsim_diag_hint(error_at(b, TSIM_ERR_SYNTAX, mark, message),
                       "save the file as UTF-8 without control characters");
    } else {
        snprintf(message, sizeof message, "not valid YAML: %s", problem);
        struct tsim_diag *diag = error_at(b, TSIM_ERR_SYNTAX, parser->problem_mark, message);
        if (strstr(problem, "cannot start any token") && diag->source_line && strchr(diag->source_line, '\t'))
            tsim_diag_hint(diag, "indent with spaces, not with tabs");
        else if (parser->context)
            tsim_diag_hint(diag, "%s that starts on line %zu", parser->context, parser->context_mark.line + 1);
    }
}

static bool next_event(struct builder *b, yaml_event_t *event) {
    if (yaml_parser_parse(b->parser, event))
        return true;
    report_parser_error(b);
    b->lacks_values = true;
    return false;
}

/* ---- values ---- */

static struct tsim_value *new_value(struct builder *b, enum tsim_value_kind kind, const yaml_event_t *event) {
    struct tsim_value *value = TSIM_NEW(b->arena, struct tsim_value);
    value->kind = kind;
    value->document = b->document;
    if (!b->document->is_override) {
        value->line = (int)event->start_mark.line + 1;
        value->column = (int)event->start_mark.column + 1;
    }
    value->height = 1;
    value->n_nodes = 1;
    return value;
}

static bool count_nodes(struct builder *b, size_t n_nodes, const yaml_event_t *event) {
    b->n_nodes += n_nodes;
    if (b->n_nodes <= TSIM_VALUE_MAX_NODES)
        return true;
    char message[100];
    snprintf(message, sizeof message, "more than %d values, aliases expanded", TSIM_VALUE_MAX_NODES);
    error_at(b, TSIM_ERR_LIMIT, event->start_mark, message);
    return false;
}

static bool check_depth(struct builder *b, int depth, const yaml_event_t *event) {
    if (depth <= TSIM_VALUE_MAX_HEIGHT)
        return true;
    char message[100];
    snprintf(message, sizeof message, "nested deeper than %d levels", TSIM_VALUE_MAX_HEIGHT);
    error_at(b, TSIM_ERR_LIMIT, event->start_mark, message);
    return false;
}

static void check_tag(struct builder *b, const yaml_char_t *tag, const yaml_event_t *event) {
    if (tag)
        tsim_diag_hint(error_at(b, TSIM_ERR_SYNTAX, event->start_mark, "tags ('!...') are not used here"),
                       "remove the tag: the key says what type its value has");
}

/* Announces an anchor; its value is filled in when it is complete. Returns its index, or -1 for none or too many, which
 * is said once. */
static int open_anchor(struct builder *b, const yaml_char_t *name, const yaml_event_t *event) {
    if (!name)
        return -1;
    if (b->n_anchors == MAX_ANCHORS) {
        char message[100];
        snprintf(message, sizeof message, "more than %d anchors", MAX_ANCHORS);
        if (!b->has_too_many_anchors)
            error_at(b, TSIM_ERR_LIMIT, event->start_mark, message);
        b->has_too_many_anchors = true;
        return -1;
    }
    b->anchors[b->n_anchors].name = tsim_arena_strdup(b->arena, (const char *)name);
    b->anchors[b->n_anchors].value = NULL;
    return (int)b->n_anchors++;
}

static void close_anchor(struct builder *b, int anchor, const struct tsim_value *value) {
    if (anchor >= 0)
        b->anchors[anchor].value = value;
}

static const struct tsim_value *build_alias(struct builder *b, const yaml_event_t *event, int depth) {
    const char *name = (const char *)event->data.alias.anchor;
    size_t i = b->n_anchors;
    while (i > 0 && strcmp(b->anchors[i - 1].name, name) != 0)
        i--;
    if (i == 0 || !b->anchors[i - 1].value) {
        char message[160];
        snprintf(message, sizeof message,
                 i == 0 ? "there is no anchor '&%.100s' before this alias"
                        : "the alias '*%.100s' is inside its own anchor",
                 name);
        error_at(b, TSIM_ERR_SYNTAX, event->start_mark, message);
        return NULL;
    }
    const struct tsim_value *target = b->anchors[i - 1].value;
    if (!count_nodes(b, target->n_nodes, event) || !check_depth(b, depth + target->height - 1, event))
        return NULL;
    struct tsim_value *value = new_value(b, target->kind, event);
    struct tsim_value place = *value;
    *value = *target;
    value->line = place.line;
    value->column = place.column;
    return value;
}

static const struct tsim_value *build_scalar(struct builder *b, const yaml_event_t *event) {
    check_tag(b, event->data.scalar.tag, event);
    int anchor = open_anchor(b, event->data.scalar.anchor, event);
    struct tsim_value *value = new_value(b, TSIM_VALUE_SCALAR, event);
    const char *text = (const char *)event->data.scalar.value;
    if (strlen(text) != event->data.scalar.length)
        error_at(b, TSIM_ERR_SYNTAX, event->start_mark, "the text holds a NUL character");
    value->text = tsim_arena_strdup(b->arena, text);
    value->is_quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    close_anchor(b, anchor, value);
    return value;
}

static void push(struct builder *b, struct tsim_pair pair) {
    b->stack = tsim_heap_grow(b->stack, &b->stack_capacity, b->n_stack + 1, sizeof *b->stack);
    b->stack[b->n_stack++] = pair;
}

static const struct tsim_value *build_sequence(struct builder *b, const yaml_event_t *start, int depth) {
    check_tag(b, start->data.sequence_start.tag, start);
    int anchor = open_anchor(b, start->data.sequence_start.anchor, start);
    struct tsim_value *value = new_value(b, TSIM_VALUE_SEQUENCE, start);
    size_t bottom = b->n_stack;
    for (bool is_open = true; is_open;) {
        yaml_event_t event;
        if (!next_event(b, &event))
            return NULL;
        is_open = event.type != YAML_SEQUENCE_END_EVENT;
        struct tsim_pair item = {.value = is_open ? build_value(b, &event, depth + 1) : NULL};
        yaml_event_delete(&event);
        if (is_open && !item.value)
            return NULL;
        if (is_open)
            push(b, item);
    }
    value->n_items = b->n_stack - bottom;
    const struct tsim_value **items = TSIM_NEW_ARRAY(b->arena, value->n_items, const struct tsim_value *);
    for (size_t i = 0; i < value->n_items; i++) {
        items[i] = b->stack[bottom + i].value;
        tsim_value_count_in(value, items[i]);
    }
    value->items = items;
    b->n_stack = bottom;
    close_anchor(b, anchor, value);
    return value;
}

enum { MOST_SCANNED = 64 };

static size_t slot_of(const struct builder *b, const struct key_table *table, const char *key) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *c = key; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    size_t slot = (size_t)hash & (table->n_slots - 1);
    while (table->slots[slot] && strcmp(b->stack[table->slots[slot] - 1].key, key) != 0)
        slot = (slot + 1) & (table->n_slots - 1);
    return slot;
}

/* Makes room for the keys from `bottom` on and one more. */
static void grow_table(struct builder *b, struct key_table *table, size_t bottom) {
    size_t n = b->n_stack - bottom;
    if (n < MOST_SCANNED || 2 * (n + 1) <= table->n_slots)
        return;
    table->n_slots = table->n_slots ? 4 * table->n_slots : 4 * MOST_SCANNED;
    table->slots = TSIM_NEW_ARRAY(b->arena, table->n_slots, uint32_t);
    for (size_t i = bottom; i < b->n_stack; i++)
        table->slots[slot_of(b, table, b->stack[i].key)] = (uint32_t)i + 1;
}

/* Returns the line of a key that is there, 0 for none. */
static int line_of_key(struct builder *b, struct key_table *table, size_t bottom, const char *key) {
    grow_table(b, table, bottom);
    if (table->n_slots > 0) {
        uint32_t at = table->slots[slot_of(b, table, key)];
        return at ? b->stack[at - 1].line : 0;
    }
    for (size_t i = bottom; i < b->n_stack; i++)
        if (strcmp(b->stack[i].key, key) == 0)
            return b->stack[i].line;
    return 0;
}

/* Returns whether the key is one that we take. */
static bool check_key(struct builder *b, struct key_table *table, const struct tsim_value *key,
                      const yaml_event_t *event, size_t bottom) {
    char message[160];
    if (key->kind != TSIM_VALUE_SCALAR || (key->text[0] == '\0' && !key->is_quoted)) {
        error_at(b, TSIM_ERR_SYNTAX, event->start_mark, "a key must be plain text");
        return false;
    }
    if (strcmp(key->text, "<<") == 0 && !key->is_quoted && !b->takes_last) {
        b->lacks_values = true;
        tsim_diag_hint(error_at(b, TSIM_ERR_SYNTAX, event->start_mark, "merge keys ('<<') are not supported"),
                       "write the keys out, or take over a whole file with 'extends: FILE'");
        return false;
    }
    int line = b->document->is_override ? 0 : line_of_key(b, table, bottom, key->text);
    bool is_double = line > 0;
    if (is_double && b->takes_last) {
        struct tsim_value at = {.document = b->document,
                                .line = (int)event->start_mark.line + 1,
                                .column = (int)event->start_mark.column + 1};
        tsim_value_warning(b->diags, &at, "", "the key '%.100s' occurs twice, first on line %d; the last value counts",
                           key->text, line);
        return true;
    }
    for (size_t i = bottom; b->document->is_override && i < b->n_stack; i++)
        is_double |= strcmp(b->stack[i].key, key->text) == 0; /* without lines */
    if (is_double) {
        snprintf(message, sizeof message, "the key '%.100s' occurs twice", key->text);
        tsim_diag_hint(error_at(b, TSIM_ERR_SYNTAX, event->start_mark, message),
                       "its first value is on line %d; keep one of them", line);
        return false;
    }
    return true;
}

/* Returns the place of the key on the stack, or the place that it would have. */
static size_t place_of_key(const struct builder *b, const struct key_table *table, size_t bottom, const char *key) {
    if (table->n_slots > 0) {
        uint32_t at = table->slots[slot_of(b, table, key)];
        return at ? at - 1 : b->n_stack;
    }
    while (bottom < b->n_stack && strcmp(b->stack[bottom].key, key) != 0)
        bottom++;
    return bottom;
}

/* Puts the keys of two mappings under the same name together: none seems to be missing, and those of both are read. */
static void join_mappings(struct builder *b, const struct key_table *table, size_t bottom,
                          const struct tsim_pair *second) {
    const size_t at = second->key ? place_of_key(b, table, bottom, second->key) : b->n_stack;
    if (at < b->n_stack && b->stack[at].value->kind == TSIM_VALUE_MAPPING && second->value->kind == TSIM_VALUE_MAPPING)
        b->stack[at].value = tsim_value_merge(b->arena, second->value, b->stack[at].value);
}

/* Builds one key with its value, and pushes them unless the key is refused. Returns false if reading cannot go on. */
static bool build_pair(struct builder *b, struct key_table *table, const yaml_event_t *key_event, size_t bottom,
                       int depth) {
    const struct tsim_value *key = build_value(b, key_event, depth + 1);
    if (!key)
        return false;
    if (b->n_stack - bottom >= b->most_keys) {
        char message[100];
        snprintf(message, sizeof message, "more than %zu keys in one mapping", b->most_keys);
        error_at(b, TSIM_ERR_LIMIT, key_event->start_mark, message);
        return false;
    }
    bool is_good = check_key(b, table, key, key_event, bottom);
    yaml_event_t event;
    if (!next_event(b, &event))
        return false;
    struct tsim_pair pair = {key->text, key->document, key->line, key->column, build_value(b, &event, depth + 1)};
    yaml_event_delete(&event);
    const size_t at = b->takes_last && is_good && pair.value ? place_of_key(b, table, bottom, pair.key) : b->n_stack;
    if (pair.value && is_good && at < b->n_stack) {
        b->stack[at] = pair;
    } else if (pair.value && is_good) {
        push(b, pair);
        if (table->n_slots > 0)
            table->slots[slot_of(b, table, pair.key)] = (uint32_t)b->n_stack;
    } else if (pair.value) {
        join_mappings(b, table, bottom, &pair);
    }
    return pair.value;
}

/* Replaces "<<: *ANCHOR", or a list of such, by the keys of the anchor that the mapping itself does not have. */
static void merge(struct builder *b, struct key_table *table, size_t bottom) {
    const size_t at = place_of_key(b, table, bottom, "<<");
    if (at >= b->n_stack)
        return;
    const struct tsim_value *from = b->stack[at].value;
    const bool is_list = from->kind == TSIM_VALUE_SEQUENCE;
    const struct tsim_value *const *all = is_list ? from->items : &from;
    const size_t n = is_list ? from->n_items : 1;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; all[i]->kind == TSIM_VALUE_MAPPING && k < all[i]->n_items; k++) {
            const struct tsim_pair pair = all[i]->pairs[k];
            if (line_of_key(b, table, bottom, pair.key) > 0)
                continue;
            push(b, pair);
            if (table->n_slots > 0)
                table->slots[slot_of(b, table, pair.key)] = (uint32_t)b->n_stack;
        }
    b->stack[at] = b->stack[--b->n_stack];
}

static const struct tsim_value *build_mapping(struct builder *b, const yaml_event_t *start, int depth) {
    check_tag(b, start->data.mapping_start.tag, start);
    int anchor = open_anchor(b, start->data.mapping_start.anchor, start);
    struct tsim_value *value = new_value(b, TSIM_VALUE_MAPPING, start);
    size_t bottom = b->n_stack;
    struct key_table table = {NULL, 0};
    for (bool is_open = true; is_open;) {
        yaml_event_t event;
        if (!next_event(b, &event))
            return NULL;
        is_open = event.type != YAML_MAPPING_END_EVENT;
        bool can_go_on = !is_open || build_pair(b, &table, &event, bottom, depth);
        yaml_event_delete(&event);
        if (!can_go_on)
            return NULL;
    }
    if (b->takes_last)
        merge(b, &table, bottom);
    value->n_items = b->n_stack - bottom;
    struct tsim_pair *pairs = TSIM_NEW_ARRAY(b->arena, value->n_items, struct tsim_pair);
    for (size_t i = 0; i < value->n_items; i++) {
        pairs[i] = b->stack[bottom + i];
        tsim_value_count_in(value, pairs[i].value);
    }
    value->pairs = pairs;
    b->n_stack = bottom;
    close_anchor(b, anchor, value);
    return value;
}

static const struct tsim_value *build_value(struct builder *b, const yaml_event_t *event, int depth) {
    if (event->type == YAML_ALIAS_EVENT)
        return build_alias(b, event, depth);
    if (!check_depth(b, depth, event) || !count_nodes(b, 1, event))
        return NULL;
    if (event->type == YAML_SEQUENCE_START_EVENT)
        return build_sequence(b, event, depth);
    if (event->type == YAML_MAPPING_START_EVENT)
        return build_mapping(b, event, depth);
    TSIM_ASSERT(event->type == YAML_SCALAR_EVENT);
    return build_scalar(b, event);
}

/* ---- documents ---- */

/* Reads up to the first event of the one document; false after an error. */
static bool open_document(struct builder *b, yaml_event_t *event) {
    for (int i = 0; i < 3; i++) { /* stream start, document start, the root's first event */
        if (!next_event(b, event))
            return false;
        if (event->type == YAML_STREAM_END_EVENT) {
            yaml_event_delete(event);
            struct tsim_value at = {.document = b->document};
            b->status = TSIM_ERR_SYNTAX;
            tsim_value_error(b->diags, b->status, &at, "",
                             b->document->is_override ? "the value is empty" : "the file is empty");
            return false;
        }
        if (i < 2)
            yaml_event_delete(event);
    }
    return true;
}

static void close_document(struct builder *b) {
    for (int i = 0; i < 2; i++) { /* document end, stream end */
        yaml_event_t event;
        if (!next_event(b, &event))
            return;
        if (i == 1 && event.type != YAML_STREAM_END_EVENT) {
            tsim_diag_hint(error_at(b, TSIM_ERR_SYNTAX, event.start_mark, "a second document ('---') starts here"),
                           "one file holds one document");
            b->lacks_values = true;
        }
        yaml_event_delete(&event);
    }
}

static const struct tsim_value *build_document(struct builder *b) {
    yaml_event_t event;
    if (!open_document(b, &event))
        return NULL;
    yaml_mark_t mark = event.start_mark;
    const struct tsim_value *root = build_value(b, &event, 1);
    yaml_event_delete(&event);
    if (!root)
        return NULL;
    close_document(b);
    if (root->kind != TSIM_VALUE_MAPPING && !b->document->is_override)
        tsim_diag_hint(error_at(b, TSIM_ERR_SYNTAX, mark, "expected keys with values"), "%s",
                       b->takes_last ? "is it a file of another format? 'tsim import --help' lists those that are read"
                                     : "for example 'name: my-run'");
    return root;
}

static enum tsim_status parse(struct tsim_document *document, bool is_foreign, const struct tsim_value **root,
                              struct tsim_diags *diags) {
    yaml_parser_t parser;
    struct builder b = {.arena = document->arena,
                        .diags = diags,
                        .document = document,
                        .parser = &parser,
                        .most_keys = is_foreign ? TSIM_DOCUMENT_WIDE_KEYS : TSIM_VALUE_MAX_KEYS,
                        .takes_last = is_foreign};
    const char *nul = memchr(document->text, '\0', document->size);
    if (nul) { /* no excerpt is shown of what is no text */
        yaml_mark_t mark = mark_of_offset(document, (size_t)(nul - document->text));
        struct tsim_place at = {.file = document->file, .line = (int)mark.line + 1, .column = (int)mark.column + 1};
        bool is_utf16 = strncmp(document->text, "\xff\xfe", 2) == 0 || strncmp(document->text, "\xfe\xff", 2) == 0;
        tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_SYNTAX, at, "", "not %s",
                                        is_utf16 ? "UTF-8 but UTF-16 text" : "text: the file holds a NUL byte"),
                       is_utf16 ? "save the file as UTF-8" : "is it compressed, or a file of another program?");
        return TSIM_ERR_SYNTAX;
    }
    if (!yaml_parser_initialize(&parser))
        tsim_out_of_memory();
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)document->text, document->size);
    const struct tsim_value *built = build_document(&b);
    yaml_parser_delete(&parser);
    tsim_heap_free(b.stack);
    const bool is_readable =
        built && built->kind == TSIM_VALUE_MAPPING && !b.lacks_values && !document->is_override && !is_foreign;
    if (b.status == TSIM_OK || is_readable) {
        const struct tsim_value *source = tsim_value_find(built, "source");
        document->source = source && source->kind == TSIM_VALUE_SCALAR ? source->text : NULL;
        *root = built;
    }
    return b.status;
}

static struct tsim_document *new_document(struct tsim_arena *arena, const char *file, const char *text, size_t size) {
    static const char MARK[] = "\xEF\xBB\xBF"; /* of byte order; libyaml would count it as a column */
    bool is_marked = size >= 3 && memcmp(text, MARK, 3) == 0;
    text += is_marked ? 3 : 0;
    size -= is_marked ? 3 : 0;
    struct tsim_document *document = TSIM_NEW(arena, struct tsim_document);
    document->arena = arena;
    document->file = tsim_arena_strdup(arena, file);
    document->text = tsim_arena_strndup(arena, text, size);
    document->size = size;
    return document;
}

static enum tsim_status parse_text(struct tsim_arena *arena, const char *file, const char *text, size_t size,
                                   bool is_foreign, const struct tsim_value **root, struct tsim_diags *diags) {
    if (size > TSIM_DOCUMENT_MAX_BYTES) {
        struct tsim_diag *diag =
            tsim_diags_error(diags, TSIM_ERR_LIMIT, (struct tsim_place){tsim_arena_strdup(arena, file), 0, 0}, "",
                             "the file is larger than %d MB", TSIM_DOCUMENT_MAX_BYTES / 1000000);
        tsim_diag_hint(diag, "a scenario takes a few kilobytes: is this the right file?");
        return TSIM_ERR_LIMIT;
    }
    return parse(new_document(arena, file, text, size), is_foreign, root, diags);
}

enum tsim_status tsim_document_parse(struct tsim_arena *arena, const char *file, const char *text, size_t size,
                                     const struct tsim_value **root, struct tsim_diags *diags) {
    return parse_text(arena, file, text, size, false, root, diags);
}

enum tsim_status tsim_document_parse_wide(struct tsim_arena *arena, const char *file, const char *text, size_t size,
                                          const struct tsim_value **root, struct tsim_diags *diags) {
    return parse_text(arena, file, text, size, true, root, diags);
}

enum tsim_status tsim_document_parse_override(struct tsim_arena *arena, const char *path, const char *value,
                                              const char *option, const struct tsim_value **root,
                                              struct tsim_diags *diags) {
    const char *file = option ? tsim_arena_printf(arena, "--%.40s %.100s", option, value)
                              : tsim_arena_printf(arena, "--set %.100s=%.100s", path, value);
    struct tsim_document *document = new_document(arena, file, value, strlen(value));
    document->is_override = true;
    document->set_path = tsim_arena_strdup(arena, path);
    return parse(document, false, root, diags);
}

enum tsim_status tsim_document_read(struct tsim_arena *arena, const char *file, const struct tsim_value **root,
                                    struct tsim_diags *diags) {
    struct tsim_file_bytes bytes;
    TSIM_TRY(tsim_file_read(arena, file, TSIM_DOCUMENT_MAX_BYTES, "a scenario takes a few kilobytes", &bytes, diags));
    enum tsim_status status = tsim_document_parse(arena, bytes.file, bytes.text, bytes.size, root, diags);
    tsim_heap_free(bytes.text);
    return status;
}
