#include "config/keys/schema.h"

#include "base/among.h"

#include <string.h>

static void append(struct tsim_writer *writer, const char *text, size_t length) {
    writer->text = tsim_heap_grow(writer->text, &writer->capacity, writer->length + length + 1, 1);
    memcpy(writer->text + writer->length, text, length);
    writer->length += length;
    writer->text[writer->length] = '\0';
}

static void append_text(struct tsim_writer *writer, const char *text) {
    append(writer, text, strlen(text));
}

/* Returns whether a code point needs an escape that JSON does not require, because libyaml refuses it, folds it or
 * takes it for a line break: C1 controls, the byte order mark, the separators of lines and paragraphs. `text` is UTF-8
 * of `length` bytes. */
static bool needs_escape(unsigned code_point) {
    return (code_point >= 0x7F && code_point < 0xA1) || code_point == 0x2028 || code_point == 0x2029 ||
           code_point == 0xFEFF || code_point == 0xFFFE || code_point == 0xFFFF;
}

/* Decodes the character at `text`, which libyaml has checked to be UTF-8; *length gets its bytes. Bytes that are not
 * UTF-8 (a command line can hold anything) give U+FFFD, one byte at a time. */
static unsigned decode(const char *text, size_t *length) {
    unsigned first = (unsigned char)text[0];
    size_t n = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 0;
    unsigned code_point = n == 1 ? first : n == 0 ? 0xFFFD : first & (0xFFu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)text[i] & 0xC0) != 0x80) {
            *length = 1;
            return 0xFFFD;
        }
        code_point = code_point << 6 | ((unsigned char)text[i] & 0x3F);
    }
    *length = n ? n : 1;
    return code_point;
}

static void append_quoted(struct tsim_writer *writer, const char *text) {
    append_text(writer, "\"");
    while (*text) {
        size_t length;
        unsigned code_point = decode(text, &length);
        char escape[16];
        if (code_point == '"' || code_point == '\\')
            snprintf(escape, sizeof escape, "\\%c", (char)code_point);
        else if (code_point < ' ' || needs_escape(code_point) || (code_point == 0xFFFD && length == 1))
            snprintf(escape, sizeof escape, "\\u%04x", code_point);
        else
            escape[0] = '\0';
        if (escape[0])
            append_text(writer, escape);
        else
            append(writer, text, length);
        text += length;
    }
    append_text(writer, "\"");
}

static void start_member(struct tsim_writer *writer, const char *key) {
    if (writer->needs_comma)
        append_text(writer, ",");
    if (writer->depth > 0)
        append_text(writer, "\n");
    for (int i = 0; i < writer->depth; i++)
        append_text(writer, "  ");
    if (key) {
        append_quoted(writer, key);
        append_text(writer, ": ");
    }
    writer->needs_comma = true;
}

void tsim_writer_begin(struct tsim_writer *writer, const char *key, char bracket) {
    start_member(writer, key);
    append(writer, &bracket, 1);
    writer->depth++;
    writer->needs_comma = false;
}

void tsim_writer_end(struct tsim_writer *writer, char bracket) {
    writer->depth--;
    if (writer->needs_comma) {
        append_text(writer, "\n");
        for (int i = 0; i < writer->depth; i++)
            append_text(writer, "  ");
    }
    append(writer, &bracket, 1);
    writer->needs_comma = true;
}

void tsim_writer_text(struct tsim_writer *writer, const char *key, const char *text) {
    start_member(writer, key);
    append_quoted(writer, text);
}

static void write_raw(struct tsim_writer *writer, const char *key, const char *text) {
    start_member(writer, key);
    append_text(writer, text);
}

void tsim_writer_int(struct tsim_writer *writer, const char *key, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    write_raw(writer, key, text);
}

/* Writes pure numbers as JSON numbers, and values with a unit as text. */
static void write_quantity(struct tsim_writer *writer, const char *key, enum tsim_dimension dimension, double value) {
    char text[64];
    tsim_quantity_si(value, dimension, text, sizeof text);
    if (dimension == TSIM_COUNT || dimension == TSIM_FRACTION)
        write_raw(writer, key, text);
    else
        tsim_writer_text(writer, key, text);
}

static void write_int(struct tsim_writer *writer, const struct tsim_key *key, const char *name, int64_t value) {
    const char *word = value >= -1 && value <= 0 ? tsim_word_of(key->words, (int)value) : NULL;
    if (word)
        tsim_writer_text(writer, name, word);
    else
        tsim_writer_int(writer, name, value);
}

static const size_t *length_of(const struct tsim_key *list, const void *field) {
    return (const size_t *)((const char *)field + list->n_offset - list->offset);
}

static bool is_zero(const struct tsim_key *key, const void *field) {
    switch (key->kind) {
    case TSIM_KEY_STRING:
        return *(const char *const *)field == NULL;
    case TSIM_KEY_BOOL:
        return !*(const bool *)field;
    case TSIM_KEY_INT:
        return *(const int64_t *)field == 0;
    case TSIM_KEY_QUANTITY:
        return *(const double *)field == 0;
    case TSIM_KEY_ENUM:
        return *(const int *)field == 0;
    case TSIM_KEY_WORDS:
        return *(const unsigned *)field == 0;
    case TSIM_KEY_MAPPING:
        for (size_t i = 0; i < key->table->n_keys; i++)
            if (!is_zero(&key->table->keys[i], (const char *)field + key->table->keys[i].offset))
                return false;
        return true;
    case TSIM_KEY_LIST:
        return *length_of(key, field) == 0;
    case TSIM_KEY_CONSTANT:
    case TSIM_KEY_CUSTOM:
        break;
    }
    return false;
}

static bool is_omitted(const struct tsim_key *key, const void *field) {
    return (key->is_omitted_when_zero || key->kind == TSIM_KEY_STRING) && key->kind != TSIM_KEY_MAPPING &&
           is_zero(key, field);
}

/* Returns whether all keys of a mapping are omitted, so that the mapping may be omitted, too. */
static bool is_empty(const struct tsim_writer *writer, const struct tsim_key *key, const void *object) {
    if (writer->omits_zeros)
        return is_zero(key, object);
    if (!key->is_omitted_when_zero)
        return false;
    for (size_t i = 0; i < key->table->n_keys; i++)
        if (!is_omitted(&key->table->keys[i], (const char *)object + key->table->keys[i].offset))
            return false;
    return true;
}

static void write_plain(struct tsim_writer *writer, const struct tsim_key *key, const char *name, const void *field) {
    int word;
    switch (key->kind) {
    case TSIM_KEY_CONSTANT:
        tsim_writer_text(writer, name, key->words[0].word);
        break;
    case TSIM_KEY_STRING:
        tsim_writer_text(writer, name, *(const char *const *)field);
        break;
    case TSIM_KEY_BOOL:
        write_raw(writer, name, *(const bool *)field ? "true" : "false");
        break;
    case TSIM_KEY_INT:
        write_int(writer, key, name, *(const int64_t *)field);
        break;
    case TSIM_KEY_QUANTITY:
        write_quantity(writer, name, key->dimension, *(const double *)field);
        break;
    case TSIM_KEY_ENUM:
        memcpy(&word, field, sizeof word);
        tsim_writer_text(writer, name, tsim_word_of(key->words, word));
        break;
    case TSIM_KEY_WORDS:
        tsim_writer_begin(writer, name, '[');
        for (const struct tsim_word *w = key->words; w->word; w++)
            if (*(const unsigned *)field >> w->value & 1)
                tsim_writer_text(writer, NULL, w->word);
        tsim_writer_end(writer, ']');
        break;
    case TSIM_KEY_MAPPING:
    case TSIM_KEY_LIST:
    case TSIM_KEY_CUSTOM:
        TSIM_BUG("%s is not a plain key", key->key);
    }
}

static bool is_estimate(const struct tsim_writer *writer, const char *path) {
    return tsim_is_among(path, writer->estimate_paths, writer->n_estimate_paths);
}

static void write_list(struct tsim_writer *writer, const struct tsim_key *key, const char *path, const void *field) {
    size_t n = *length_of(key, field);
    const char *elements;
    memcpy(&elements, field, sizeof elements);
    if (n == 0)
        return;
    tsim_writer_begin(writer, key->key, '[');
    for (size_t i = 0; i < n; i++) {
        char element_path[300];
        snprintf(element_path, sizeof element_path, "%s[%zu]", path, i);
        tsim_writer_mapping(writer, NULL, key->described_by, element_path, elements + i * key->size);
    }
    tsim_writer_end(writer, ']');
}

static void write_key(struct tsim_writer *writer, const struct tsim_key *key, const char *path, const void *field) {
    if (key->kind == TSIM_KEY_CUSTOM) {
        if (key->write)
            key->write(writer, key->key, path, field);
    } else if (key->kind == TSIM_KEY_LIST) {
        write_list(writer, key, path, field);
    } else if (key->kind == TSIM_KEY_MAPPING && is_empty(writer, key, field)) {
        return;
    } else if (key->kind == TSIM_KEY_MAPPING) {
        tsim_writer_begin(writer, key->key, '{');
        tsim_writer_table(writer, key->table, path, field);
        tsim_writer_end(writer, '}');
    } else if (is_omitted(key, field)) {
        return;
    } else if (is_estimate(writer, path)) {
        tsim_writer_begin(writer, key->key, '{');
        write_plain(writer, key, "value", field);
        tsim_writer_text(writer, "status", "estimate");
        tsim_writer_end(writer, '}');
    } else {
        write_plain(writer, key, key->key, field);
    }
}

void tsim_writer_table(struct tsim_writer *writer, const struct tsim_table *table, const char *path,
                       const void *object) {
    for (size_t i = 0; i < table->n_keys; i++) {
        char key_path[256];
        snprintf(key_path, sizeof key_path, "%s%s%s", path, *path ? "." : "", table->keys[i].key);
        write_key(writer, &table->keys[i], key_path, (const char *)object + table->keys[i].offset);
    }
}

void tsim_writer_mapping(struct tsim_writer *writer, const char *key, const struct tsim_table *table, const char *path,
                         const void *object) {
    tsim_writer_begin(writer, key, '{');
    tsim_writer_table(writer, table, path, object);
    tsim_writer_end(writer, '}');
}

const char *tsim_writer_finish(struct tsim_writer *writer, struct tsim_arena *arena) {
    append_text(writer, "\n");
    const char *text = tsim_arena_strndup(arena, writer->text, writer->length);
    tsim_heap_free(writer->text);
    *writer = (struct tsim_writer){0};
    return text;
}
