#include "import/flow_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool is_plain(const char *text) {
    static const char GOOD[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+/- ";
    size_t length = strlen(text);
    return length > 0 && strspn(text, GOOD) == length && text[0] != ' ' && text[length - 1] != ' ' && text[0] != '-';
}

/* Returns whether YAML would read the word as something other than text if it had no quotes. */
static bool needs_quotes(const char *text) {
    static const char *const WORDS[] = {"true", "false", "null", "yes", "no", "on", "off"};
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++)
        if (strcasecmp(text, WORDS[i]) == 0)
            return true;
    return !isalpha((unsigned char)text[0]);
}

static const char *quoted(struct tsim_arena *arena, const char *text) {
    char *out = tsim_arena_alloc(arena, 4 * strlen(text) + 3), *c = out;
    *c++ = '"';
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            *c++ = '\\';
        if ((unsigned char)*text < ' ' || *text == '\x7F')
            c += sprintf(c, "\\x%02x", (unsigned)(unsigned char)*text);
        else
            *c++ = *text;
    }
    *c++ = '"';
    *c = '\0';
    return out;
}

static const char *items(struct tsim_arena *arena, const struct tsim_value *value) {
    bool is_mapping = value->kind == TSIM_VALUE_MAPPING;
    size_t size = 3, used = 0;
    const char **texts = TSIM_NEW_ARRAY(arena, value->n_items, const char *);
    for (size_t i = 0; i < value->n_items; i++) {
        texts[i] = tsim_flow_text(arena, is_mapping ? value->pairs[i].value : value->items[i]);
        size += strlen(texts[i]) + 2 + (is_mapping ? strlen(value->pairs[i].key) + 2 : 0);
    }
    char *out = tsim_arena_alloc(arena, size);
    out[used++] = is_mapping ? '{' : '[';
    for (size_t i = 0; i < value->n_items; i++)
        used += (size_t)sprintf(out + used, "%s%s%s%s", i > 0 ? ", " : "", is_mapping ? value->pairs[i].key : "",
                                is_mapping ? ": " : "", texts[i]);
    out[used++] = is_mapping ? '}' : ']';
    out[used] = '\0';
    return out;
}

const char *tsim_flow_text(struct tsim_arena *arena, const struct tsim_value *value) {
    if (value->kind != TSIM_VALUE_SCALAR)
        return items(arena, value);
    return (value->is_quoted && needs_quotes(value->text)) || !is_plain(value->text) ? quoted(arena, value->text)
                                                                                     : value->text;
}

const char *tsim_block_text(struct tsim_arena *arena, const struct tsim_value *mapping) {
    const char *text = "";
    for (size_t i = 0; i < mapping->n_items; i++) {
        const struct tsim_value *value = mapping->pairs[i].value;
        bool is_section = value->kind == TSIM_VALUE_MAPPING && value->n_items > 0;
        text = tsim_arena_printf(arena, "%s%s:%s%s\n", text, mapping->pairs[i].key, is_section ? "" : " ",
                                 is_section ? "" : tsim_flow_text(arena, value));
        for (size_t k = 0; is_section && k < value->n_items; k++)
            text = tsim_arena_printf(arena, "%s  %s: %s\n", text, value->pairs[k].key,
                                     tsim_flow_text(arena, value->pairs[k].value));
    }
    return text;
}
