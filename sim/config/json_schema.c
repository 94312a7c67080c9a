#include "config/json_schema.h"

#include "config/draft/scenario_draft.h"
#include "config/files/catalogue_read.h"

#include <string.h>

static void put_text(const char *text, FILE *out) {
    fputc('"', out);
    for (const char *at = text; *at; at++)
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if ((unsigned char)*at < ' ')
            fprintf(out, "\\u%04x", (unsigned)*at);
        else
            fputc(*at, out);
    fputc('"', out);
}

static void put_words(const struct tsim_word *words, FILE *out) {
    fputs("\"enum\": [", out);
    for (const struct tsim_word *word = words; word->word; word++) {
        fputs(word == words ? "" : ", ", out);
        put_text(word->word, out);
    }
    fputc(']', out);
}

/* Puts a pattern for text that begins like a number or is one of the words. No word holds a character with a meaning in
 * patterns. */
static void put_pattern(const struct tsim_word *words, FILE *out) {
    fputs("\"pattern\": \"^(\\\\s*[-+.]?[0-9].*", out);
    for (const struct tsim_word *word = words; word && word->word; word++)
        fprintf(out, "|%s", word->word);
    fputs(")$\"", out);
}

static void put_bounds(const struct tsim_key *key, FILE *out) {
    char least[32], most[32];
    struct tsim_range range = tsim_key_range(key);
    bool is_count = key->kind == TSIM_KEY_INT;
    fprintf(out, ", \"%s\": %s, \"%s\": %s", is_count ? "minimum" : "x-least",
            tsim_double_text(range.takes_zero ? 0 : range.least, least, sizeof least), is_count ? "maximum" : "x-most",
            tsim_double_text(range.most, most, sizeof most));
}

static void put_quantity(const struct tsim_key *key, FILE *out) {
    bool is_pure = key->dimension == TSIM_COUNT || key->dimension == TSIM_FRACTION;
    fputs(is_pure || key->takes_bare ? "\"type\": [\"number\", \"string\"], "
                                     : "\"type\": [\"string\", \"number\"], \"maximum\": 0, ",
          out);
    put_pattern(NULL, out);
    put_bounds(key, out);
    fputs(", \"x-unit\": ", out);
    put_text(is_pure ? "" : strchr(tsim_dimension_example(key->dimension), ' ') + 1, out);
}

static void put_table(const struct tsim_table *table, FILE *out);

static void put_kind(const struct tsim_key *key, FILE *out) {
    switch (key->kind) {
    case TSIM_KEY_CONSTANT:
    case TSIM_KEY_ENUM:
        put_words(key->words, out);
        return;
    case TSIM_KEY_WORDS:
        fputs("\"type\": \"array\", \"items\": {", out);
        put_words(key->words, out);
        fputc('}', out);
        return;
    case TSIM_KEY_STRING:
        fputs("\"type\": [\"string\", \"number\", \"boolean\"]",
              out); /* YAML reads 2024 as a number, and so may a name be */
        return;
    case TSIM_KEY_BOOL:
        fputs("\"type\": \"boolean\"", out);
        return;
    case TSIM_KEY_INT:
        fputs("\"type\": [\"integer\", \"string\"], ", out);
        put_pattern(key->words, out);
        put_bounds(key, out);
        return;
    case TSIM_KEY_QUANTITY:
        put_quantity(key, out);
        return;
    case TSIM_KEY_MAPPING:
        put_table(key->table, out);
        return;
    case TSIM_KEY_LIST:
        fputs("\"type\": \"array\", \"items\": {\"type\": \"object\", ", out);
        put_table(key->described_by, out);
        fputc('}', out);
        return;
    case TSIM_KEY_CUSTOM:
        if (key->described_by) /* or a word, an id */
            put_table(key->described_by, out);
        else
            fputs("\"x-see\": \"description\"", out);
        return;
    }
}

/* The mapping of a custom key is one of its shapes. */
static void put_table(const struct tsim_table *table, FILE *out) {
    fputs("\"properties\": {", out);
    for (size_t i = 0; i < table->n_keys; i++) {
        const struct tsim_key *key = &table->keys[i];
        fputs(i ? ",\n" : "\n", out);
        put_text(key->key, out);
        fputs(": {", out);
        if (key->help) {
            fputs("\"description\": ", out);
            put_text(key->help, out);
            fputs(", ", out);
        }
        if (key->default_text) {
            fputs("\"x-default\": ", out);
            put_text(key->default_text, out);
            fputs(", ", out);
        }
        put_kind(key, out);
        if (key->kind == TSIM_KEY_MAPPING)
            fputs(", \"type\": \"object\"", out);
        fputc('}', out);
    }
    fputs("}, \"additionalProperties\": false", out);
}

void tsim_json_schema_print(FILE *out) {
    fputs("{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n\"title\": \"tsim/v1\",\n"
          "\"description\": \"a scenario: how a model is trained on a cluster\",\n\"type\": \"object\",\n"
          "\"anyOf\": [{\"required\": [\"extends\"]}, {\"required\": [",
          out);
    const char *comma = "";
    for (size_t i = 0; i < tsim_scenario_table.n_keys; i++)
        if (tsim_scenario_table.keys[i].is_required) {
            fputs(comma, out);
            put_text(tsim_scenario_table.keys[i].key, out);
            comma = ", ";
        }
    fputs("]}],\n", out);
    put_table(&tsim_scenario_table, out);
    fputs("}\n", out);
}
