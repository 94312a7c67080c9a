#include "config/keys/schema.h"

#include "base/among.h"
#include "config/keys/key_alias.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 64, WHY_BYTES = 160 };

const char *tsim_schema_path(struct tsim_arena *arena, const char *path, const char *key) {
    if (!*path)
        return key;
    size_t n_path = strlen(path), n_key = strlen(key);
    char *joined = tsim_arena_alloc(arena, n_path + n_key + 2);
    memcpy(joined, path, n_path);
    joined[n_path] = '.';
    memcpy(joined + n_path + 1, key, n_key + 1);
    return joined;
}

const char *tsim_word_of(const struct tsim_word *words, int value) {
    for (; words && words->word; words++)
        if (words->value == value)
            return words->word;
    return NULL;
}

const char *tsim_words_text(struct tsim_arena *arena, const struct tsim_word *words, unsigned set) {
    const char *text = "";
    for (; words->word; words++)
        if (set >> words->value & 1)
            text = tsim_arena_printf(arena, "%s%s%s", text, *text ? ", " : "", words->word);
    return text;
}

/* ---- mistakes ---- */

struct tsim_diag *tsim_schema_wrong_kind(struct tsim_reader *reader, const struct tsim_value *value, const char *path,
                                         const char *expected) {
    if (value->kind == TSIM_VALUE_SCALAR && value->text[0] == '\0')
        return tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, value, path, "has no value, expected %s", expected);
    if (value->kind == TSIM_VALUE_SCALAR)
        return tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, value, path, "expected %s, found '%.60s'", expected,
                                value->text);
    return tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, value, path, "expected %s, found %s", expected,
                            tsim_value_kind_name(value));
}

static bool is_kept(const struct tsim_reader *reader) {
    return reader->diags->n_errors + reader->diags->n_warnings <= TSIM_MAX_DIAGS;
}

static void hint_words(struct tsim_diag *diag, const char *prefix, const char *const *words, size_t n_words) {
    char list[480] = "";
    for (size_t i = 0, end = 0; i < n_words; i++, end = strlen(list)) {
        if (end + strlen(words[i]) + sizeof ", , ..." > sizeof list) {
            snprintf(list + end, sizeof list - end, ", ...");
            break;
        }
        snprintf(list + end, sizeof list - end, "%s%s", i ? ", " : "", words[i]);
    }
    tsim_diag_hint(diag, "%s%s", prefix, list);
}

/* Returns the word here for one that other programs use, if it is among the words that are possible. */
static const char *word_of_others(const char *text, const char *const *words, size_t n_words) {
    static const char *const OTHERS[][2] = {{"bfloat16", "bf16"}, {"float16", "fp16"}, {"half", "fp16"},
                                            {"float32", "fp32"},  {"float", "fp32"},   {"float8", "fp8"}};
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++)
        for (size_t w = 0; strcmp(text, OTHERS[i][0]) == 0 && w < n_words; w++)
            if (strcmp(words[w], OTHERS[i][1]) == 0)
                return words[w];
    return NULL;
}

void tsim_schema_unknown_word(struct tsim_reader *reader, const struct tsim_value *value, const char *path,
                              const char *what, const char *const *words, size_t n_words) {
    struct tsim_diag *diag =
        tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, value, path, "unknown %s '%.60s'", what, value->text);
    const char *others = word_of_others(value->text, words, n_words);
    const char *nearest = others ? others : tsim_did_you_mean(value->text, words, n_words);
    char prefix[100];
    snprintf(prefix, sizeof prefix, nearest ? "did you mean '%s'? It is one of: " : "%s",
             nearest ? nearest : "one of: ");
    hint_words(diag, prefix, words, n_words);
}

/* Returns the first section of the file that has that key: its path there. NULL: none. */
static const char *path_elsewhere(struct tsim_arena *arena, const struct tsim_table *file, const char *key) {
    for (size_t i = 0; file && i < file->n_keys; i++) {
        const struct tsim_key *at = &file->keys[i];
        const struct tsim_table *below = at->table ? at->table : at->described_by;
        if (!below)
            continue;
        for (size_t k = 0; k < below->n_keys; k++)
            if (strcmp(below->keys[k].key, key) == 0)
                return tsim_schema_path(arena, at->key, key);
    }
    return NULL;
}

static const struct tsim_key *find_key(const struct tsim_table *table, const char *key) {
    for (size_t i = 0; i < table->n_keys; i++)
        if (tsim_is_same_text(table->keys[i].key, key))
            return &table->keys[i];
    return NULL;
}

/* Says what another program's name of a key is here: the key of this mapping, or the path of one of this file. */
static const char *meant_by_alias(const struct tsim_reader *reader, const struct tsim_table *table, const char *name) {
    const char *path, *elsewhere = NULL;
    char section[32];
    for (size_t nth = 0; (path = tsim_key_alias(name, nth)); nth++) {
        const char *dot = strchr(path, '.');
        if (find_key(table, dot + 1))
            return dot + 1;
        snprintf(section, sizeof section, "%.*s", (int)(dot - path), path);
        if (!elsewhere && reader->file && find_key(reader->file, section))
            elsewhere = path;
    }
    return elsewhere;
}

static void report_unknown_key(struct tsim_reader *reader, const struct tsim_table *table, const struct tsim_pair *pair,
                               const char *path) {
    const char *place = *path ? path : "the file";
    struct tsim_diag *diag =
        tsim_pair_error(reader->diags, TSIM_ERR_SCHEMA, pair, "", "unknown key '%.60s' in %s", pair->key, place);
    if (!is_kept(reader))
        return;
    const char **words = TSIM_NEW_ARRAY(reader->arena, table->n_keys, const char *);
    for (size_t i = 0; i < table->n_keys; i++)
        words[i] = table->keys[i].key;
    const char *nearest = meant_by_alias(reader, table, pair->key);
    if (!nearest)
        nearest = path_elsewhere(reader->arena, reader->file, pair->key);
    if (!nearest)
        nearest = tsim_did_you_mean(pair->key, words, table->n_keys);
    if (nearest)
        tsim_diag_hint(diag, "did you mean '%s'?", nearest);
    else
        hint_words(diag, "its keys are: ", words, table->n_keys);
}

/* Generous for any machine, run or price that there is or that may come, and narrow enough that what is computed from
 * such numbers stays finite. Fractions have no range of their own: each key gives its own. */
static const struct tsim_range RANGES[TSIM_N_DIMENSIONS] = {
    [TSIM_COUNT] = {1e-3, 1e18, true},
    [TSIM_FRACTION] = {1e-6, 0, true},
    [TSIM_BYTES] = {1, 1e18, true},
    [TSIM_BYTES_PER_S] = {1e3, 1e18, true},
    [TSIM_FLOPS] = {1, 1e30, true},
    [TSIM_FLOPS_PER_S] = {1e6, 1e20, true},
    [TSIM_TIME_S] = {1e-12, 1000 * TSIM_YEAR_S, true},
    [TSIM_PER_S] = {1e-4 / TSIM_YEAR_S, 1e15, true},
    [TSIM_HZ] = {1e3, 1e13, true},
    [TSIM_WATTS] = {1e-3, 1e9, true},
    [TSIM_JOULES] = {1e-6, 1e18, true},
    [TSIM_USD] = {1e-4, 1e15, true},
    [TSIM_USD_PER_S] = {1e-4 / TSIM_HOUR_S, 1e6 / TSIM_HOUR_S, true},
    [TSIM_USD_PER_J] = {1e-5 / TSIM_KWH_J, 1000 / TSIM_KWH_J, true},
    [TSIM_KG_PER_J] = {1e-6 / TSIM_KWH_J, 100 / TSIM_KWH_J, true},
    [TSIM_KG] = {1e-3, 1e9, true},
};

struct tsim_range tsim_key_range(const struct tsim_key *key) {
    struct tsim_range range = RANGES[key->dimension];
    if (key->kind == TSIM_KEY_INT)
        range = (struct tsim_range){key->is_positive, 0, false};
    else
        range.takes_zero = !key->is_positive;
    range.least = key->min > 0 ? key->min : range.least;
    range.most = key->max > 0 ? key->max : range.most;
    TSIM_ASSERT(range.least <= range.most);
    return range;
}

static bool is_within(const struct tsim_key *key, double number) {
    struct tsim_range range = tsim_key_range(key);
    return (number == 0 && range.takes_zero) || (number >= range.least && number <= range.most);
}

static bool report_range(struct tsim_reader *reader, const struct tsim_key *key, const struct tsim_value *value,
                         const char *path) {
    char least[64], most[64];
    struct tsim_range range = tsim_key_range(key);
    struct tsim_diag *diag =
        tsim_value_error(reader->diags, TSIM_ERR_RANGE, value, path, "%.60s is out of range", value->text);
    char *end;
    double number = strtod(value->text, &end);
    bool is_percent = key->dimension == TSIM_FRACTION && range.most <= 1 && !*end && number > 1 && number <= 100;
    const char *percent =
        is_percent ? tsim_arena_printf(reader->arena, "; write '%s %%' for a percentage", value->text) : "";
    tsim_diag_hint(diag, "must be %sfrom %s to %s%s", range.takes_zero ? "0, or " : "",
                   tsim_quantity_short(range.least, key->dimension, least, sizeof least),
                   tsim_quantity_short(range.most, key->dimension, most, sizeof most), percent);
    return false;
}

/* ---- one value ---- */

static bool check_scalar(struct tsim_reader *reader, const struct tsim_value *value, const char *path,
                         const char *expected) {
    bool is_null = value->kind == TSIM_VALUE_SCALAR && !value->is_quoted && TSIM_IS_ONE_OF(value->text, "~", "null");
    if (value->kind == TSIM_VALUE_SCALAR && !is_null && (value->text[0] != '\0' || value->is_quoted))
        return true;
    tsim_schema_wrong_kind(reader, value, path, expected);
    return false;
}

/* For a number without a unit, hints at the unit in which values of the key are usually written. */
static void hint_unit(const struct tsim_key *key, const char *text, char hint[WHY_BYTES]) {
    const char *unit = key->unit;
    if (!unit && key->dimension == TSIM_TIME_S && key->default_text) /* the numbers of other keys tell more */
        unit = key->default_text + strspn(key->default_text, "0123456789.e+- ");
    char joined[100], why[WHY_BYTES], ignored[WHY_BYTES];
    double value;
    if (!unit || !*unit || snprintf(joined, sizeof joined, "%s %s", text, unit) >= (int)sizeof joined)
        return;
    if (tsim_quantity_parse(joined, key->dimension, false, &value, why, ignored) == TSIM_OK && is_within(key, value))
        snprintf(hint, WHY_BYTES, "write %s", joined);
}

static bool read_number(struct tsim_reader *reader, const struct tsim_key *key, const struct tsim_value *value,
                        const char *path, double *number) {
    enum tsim_dimension dimension = key->kind == TSIM_KEY_INT ? TSIM_COUNT : key->dimension;
    if (!check_scalar(reader, value, path, tsim_dimension_name(dimension)))
        return false;
    char why[WHY_BYTES], hint[WHY_BYTES];
    double parsed;
    enum tsim_status status = tsim_quantity_parse(value->text, dimension, key->takes_bare, &parsed, why, hint);
    if (status != TSIM_OK) {
        hint_unit(key, value->text, hint);
        tsim_diag_hint(tsim_value_error(reader->diags, status, value, path, "%s", why), "%s", hint);
        return false;
    }
    if (key->bare_scale > 0 && isdigit((unsigned char)value->text[strlen(value->text) - 1]))
        parsed *= key->bare_scale;
    if (!is_within(key, parsed))
        return report_range(reader, key, value, path);
    *number = parsed;
    return true;
}

static bool read_quantity(struct tsim_reader *reader, const struct tsim_key *key, const struct tsim_value *value,
                          const char *path, void *field) {
    double number;
    if (!read_number(reader, key, value, path, &number))
        return false;
    *(double *)field = number;
    return true;
}

static bool read_word(struct tsim_reader *reader, const struct tsim_key *key, const struct tsim_value *value,
                      const char *path, int *number) {
    const char *words[MAX_WORDS];
    size_t n = 0;
    for (; key->words[n].word; n++) {
        TSIM_ASSERT(n < MAX_WORDS);
        words[n] = key->words[n].word;
        if (tsim_is_same_text(words[n], value->text)) {
            *number = key->words[n].value;
            return true;
        }
    }
    tsim_schema_unknown_word(reader, value, path, "word", words, n);
    return false;
}

static bool is_a_word(const struct tsim_key *key, const struct tsim_value *value) {
    for (const struct tsim_word *word = key->words; word && word->word; word++)
        if (tsim_value_is_text(value, word->word))
            return true;
    return false;
}

/* Tells whether the value is letters and not a number: then one of the words was meant. */
static bool looks_like_word(const struct tsim_key *key, const struct tsim_value *value) {
    return key->words && value->kind == TSIM_VALUE_SCALAR && strpbrk(value->text, "0123456789") == NULL &&
           value->text[0] != '\0';
}

static bool read_int(struct tsim_reader *reader, const struct tsim_key *key, const struct tsim_value *value,
                     const char *path, void *field) {
    if (is_a_word(key, value) || looks_like_word(key, value)) {
        int word;
        if (!read_word(reader, key, value, path, &word))
            return false;
        *(int64_t *)field = word;
        return true;
    }
    double number;
    if (!read_number(reader, key, value, path, &number))
        return false;
    if (number != floor(number)) {
        struct tsim_diag *diag =
            tsim_value_error(reader->diags, TSIM_ERR_RANGE, value, path, "%.60s is not a whole number", value->text);
        tsim_diag_hint(diag, "write a count such as 8, 1024 or 128 k");
        return false;
    }
    *(int64_t *)field = (int64_t)number;
    return true;
}

static bool read_bool(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    bool is_true = tsim_value_is_text(value, "true");
    if (!value->is_quoted && (is_true || tsim_value_is_text(value, "false"))) {
        *(bool *)field = is_true;
        return true;
    }
    tsim_diag_hint(tsim_schema_wrong_kind(reader, value, path, "true or false"),
                   value->is_quoted ? "write it without quotes" : "yes, no, on and off are not taken");
    return false;
}

static bool read_constant(struct tsim_reader *reader, const struct tsim_key *key, const struct tsim_value *value,
                          const char *path) {
    const char *expected = key->words[0].word;
    if (tsim_value_is_text(value, expected))
        return true;
    char quoted[80];
    snprintf(quoted, sizeof quoted, "'%s'", expected);
    tsim_schema_wrong_kind(reader, value, path, quoted);
    return false;
}

static bool read_string(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    if (!check_scalar(reader, value, path, "text"))
        return false;
    *(const char **)field = value->text;
    return true;
}

static bool read_enum(struct tsim_reader *reader, const struct tsim_key *key, const struct tsim_value *value,
                      const char *path, void *field) {
    int word;
    if (!check_scalar(reader, value, path, "a word") || !read_word(reader, key, value, path, &word))
        return false;
    memcpy(field, &word, sizeof word);
    return true;
}

static bool read_words(struct tsim_reader *reader, const struct tsim_key *key, const struct tsim_value *value,
                       const char *path, void *field) {
    unsigned set = 0;
    if (value->kind != TSIM_VALUE_SEQUENCE || (value->n_items == 0 && !key->may_be_empty)) {
        tsim_schema_wrong_kind(reader, value, path, "a list of one or more words");
        return false;
    }
    for (size_t i = 0; i < value->n_items; i++) {
        int word;
        if (!read_enum(reader, key, value->items[i], path, &word))
            return false;
        set |= 1u << word;
    }
    *(unsigned *)field = set;
    return true;
}

bool tsim_schema_read_mapping(struct tsim_reader *reader, const struct tsim_table *table,
                              const struct tsim_value *value, const char *path, void *object) {
    if (value && value->kind != TSIM_VALUE_MAPPING) {
        tsim_schema_wrong_kind(reader, value, path, "a mapping of keys to values");
        return false;
    }
    tsim_schema_read(reader, table, value, path, object);
    return true;
}

static bool read_list(struct tsim_reader *reader, const struct tsim_key *key, const struct tsim_value *value,
                      const char *path, void *field) {
    size_t *n = (size_t *)((char *)field + key->n_offset - key->offset);
    char *elements = NULL;
    bool is_list = !value || value->kind == TSIM_VALUE_SEQUENCE;
    *n = 0;
    if (!is_list)
        tsim_schema_wrong_kind(reader, value, path, "a list of mappings");
    else if (value)
        elements = tsim_arena_alloc(reader->arena, value->n_items * key->size);
    for (size_t i = 0; elements && is_list && i < value->n_items; i++) {
        const char *at = tsim_arena_printf(reader->arena, "%s[%zu]", path, i);
        memset(elements + i * key->size, 0, key->size);
        is_list = tsim_schema_read_mapping(reader, key->described_by, value->items[i], at, elements + i * key->size);
    }
    if (is_list && value)
        *n = value->n_items;
    else
        elements = NULL;
    memcpy(field, &elements, sizeof elements);
    return is_list;
}

bool tsim_schema_read_value(struct tsim_reader *reader, const struct tsim_key *key, const struct tsim_value *value,
                            const char *path, void *field) {
    switch (key->kind) {
    case TSIM_KEY_CONSTANT:
        return read_constant(reader, key, value, path);
    case TSIM_KEY_STRING:
        return read_string(reader, value, path, field);
    case TSIM_KEY_BOOL:
        return read_bool(reader, value, path, field);
    case TSIM_KEY_INT:
        return read_int(reader, key, value, path, field);
    case TSIM_KEY_QUANTITY:
        return read_quantity(reader, key, value, path, field);
    case TSIM_KEY_ENUM:
        return read_enum(reader, key, value, path, field);
    case TSIM_KEY_WORDS:
        return read_words(reader, key, value, path, field);
    case TSIM_KEY_MAPPING:
        return tsim_schema_read_mapping(reader, key->table, value, path, field);
    case TSIM_KEY_LIST:
        return read_list(reader, key, value, path, field);
    case TSIM_KEY_CUSTOM:
        break;
    }
    key->read(reader, value, path, field);
    return true;
}

/* ---- sources ---- */

struct sourced {
    const struct tsim_value *value;
    const char *source;
    enum tsim_source_status status;
    const struct tsim_value *interval; /* NULL: none given */
};

static const struct tsim_word STATUS_WORDS[] = {{"read", TSIM_SOURCE_READ},
                                                {"derived", TSIM_SOURCE_DERIVED},
                                                {"fitted", TSIM_SOURCE_FITTED},
                                                {"estimate", TSIM_SOURCE_ESTIMATE},
                                                {NULL, 0}};
/* Checks only that `value` is there; the key under which it stands reads it. */
static void keep_value(struct tsim_reader *reader, const struct tsim_value *value, const char *path, void *field) {
    (void)reader;
    (void)path;
    *(const struct tsim_value **)field = value;
}
static const struct tsim_key SOURCED_KEYS[] = {
    {.key = "value",
     .kind = TSIM_KEY_CUSTOM,
     .offset = offsetof(struct sourced, value),
     .is_required = true,
     .read = keep_value,
     .help = "the value itself"},
    {.key = "source",
     .kind = TSIM_KEY_STRING,
     .offset = offsetof(struct sourced, source),
     .help = "where it was read; default: the file's source"},
    {.key = "status",
     .kind = TSIM_KEY_ENUM,
     .offset = offsetof(struct sourced, status),
     .words = STATUS_WORDS,
     .default_text = "read",
     .help = "how far it can be trusted"},
    {.key = "interval",
     .kind = TSIM_KEY_CUSTOM,
     .offset = offsetof(struct sourced, interval),
     .read = keep_value,
     .help = "[low, high]: 95 % confidence of a fit, or what its sources imply one by one"},
};
TSIM_TABLE(SOURCED, SOURCED_KEYS, false);

/* Returns whether a key has one value, not several or one that functions read. */
static bool is_plain(const struct tsim_key *key) {
    return key->kind != TSIM_KEY_MAPPING && key->kind != TSIM_KEY_LIST && key->kind != TSIM_KEY_CUSTOM;
}

/* Takes a value out of its {value: ..., source: ..., status: ...}, if it has one. */
static struct sourced unwrap(struct tsim_reader *reader, const struct tsim_table *table, const struct tsim_key *key,
                             const struct tsim_value *value, const char *path) {
    struct sourced sourced = {value, value ? value->document->source : NULL, TSIM_SOURCE_READ, NULL};
    bool is_sourced =
        tsim_value_find(value, "value") || tsim_value_find(value, "source") || tsim_value_find(value, "status");
    if (!table->is_sourced || !is_sourced || !is_plain(key))
        return sourced;
    sourced.value = NULL;
    struct tsim_reader inner = {.arena = reader->arena, .diags = reader->diags};
    tsim_schema_read(&inner, &SOURCED, value, path, &sourced);
    return sourced;
}

/* Reads two numbers in the key's dimension, with the value between them. */
static bool read_interval(struct tsim_reader *reader, const struct tsim_key *key, const struct tsim_value *interval,
                          const char *path, const void *field, double bounds[2]) {
    if (key->kind != TSIM_KEY_QUANTITY || interval->kind != TSIM_VALUE_SEQUENCE || interval->n_items != 2) {
        tsim_schema_wrong_kind(reader, interval, tsim_schema_path(reader->arena, path, "interval"),
                               key->kind == TSIM_KEY_QUANTITY ? "a list of two, [low, high]"
                                                              : "none: intervals are of quantities");
        return false;
    }
    for (int i = 0; i < 2; i++)
        if (!tsim_schema_read_value(reader, key, interval->items[i], path, &bounds[i]))
            return false;
    const double *value = field;
    if (bounds[0] <= *value && *value <= bounds[1])
        return true;
    struct tsim_diag *diag =
        tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, interval, path, "the value is not within its interval");
    tsim_diag_hint(diag, "[low, high] with the value between them");
    return false;
}

static void take_note(struct tsim_reader *reader, const struct tsim_key *key, const struct sourced *sourced,
                      const char *path, const void *field) {
    double bounds[2];
    if (sourced->interval && !read_interval(reader, key, sourced->interval, path, field, bounds))
        return;
    if (!reader->note || !is_plain(key) || key->kind == TSIM_KEY_CONSTANT)
        return;
    struct tsim_note note = {.path = path, .key = key, .number = (double)NAN, .interval = {(double)NAN, (double)NAN}};
    note.is_default = sourced->value == NULL;
    note.text = note.is_default ? key->default_text : sourced->value->text;
    note.source = sourced->source;
    note.status = sourced->status;
    if (key->kind == TSIM_KEY_QUANTITY)
        note.number = *(const double *)field;
    else if (key->kind == TSIM_KEY_INT)
        note.number = (double)*(const int64_t *)field;
    if (sourced->interval)
        memcpy(note.interval, bounds, sizeof note.interval);
    reader->note(reader->context, &note);
}

/* ---- mappings ---- */

/* Defaults are our own text: they go through the same reader, and a mistake in one is our bug. */
static void read_default(struct tsim_reader *reader, const struct tsim_key *key, const char *path, void *field) {
    static const struct tsim_document DEFAULTS = {.file = "default"};
    struct tsim_value value = {.kind = TSIM_VALUE_SCALAR, .document = &DEFAULTS, .text = key->default_text};
    if (!tsim_schema_read_value(reader, key, &value, path, field))
        TSIM_BUG("the default of %s is wrong: %s", path, key->default_text);
}

static void read_absent(struct tsim_reader *reader, const struct tsim_key *key, const struct tsim_value *mapping,
                        const char *path, void *field) {
    if (key->is_required && mapping) {
        struct tsim_diag *diag =
            tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, mapping, "", "missing key '%s'", path);
        tsim_diag_hint(diag, "%s: %s", key->key, key->help);
    } else if (!is_plain(key)) {
        tsim_schema_read_value(reader, key, NULL, path, field);
    } else if (key->default_text) {
        read_default(reader, key, path, field);
        struct sourced absent = {NULL, NULL, TSIM_SOURCE_READ, NULL};
        if (key->is_guessed)
            absent = (struct sourced){NULL, TSIM_GUESS_SOURCE, TSIM_SOURCE_ESTIMATE, NULL};
        take_note(reader, key, &absent, path, field);
    }
}

void tsim_schema_read(struct tsim_reader *reader, const struct tsim_table *table, const struct tsim_value *mapping,
                      const char *path, void *object) {
    const struct tsim_table *file = reader->file;
    if (!*path)
        reader->file = table;
    for (size_t i = 0; mapping && i < mapping->n_items; i++)
        if (!find_key(table, mapping->pairs[i].key))
            report_unknown_key(reader, table, &mapping->pairs[i], path);
    for (size_t i = 0; i < table->n_keys; i++) {
        const struct tsim_key *key = &table->keys[i];
        const char *key_path = tsim_schema_path(reader->arena, path, key->key);
        void *field = (char *)object + key->offset;
        const struct tsim_value *value = tsim_value_find(mapping, key->key);
        if (!value) {
            read_absent(reader, key, mapping, key_path, field);
            continue;
        }
        struct sourced sourced = unwrap(reader, table, key, value, key_path);
        if (sourced.value && tsim_schema_read_value(reader, key, sourced.value, key_path, field))
            take_note(reader, key, &sourced, key_path, field);
    }
    reader->file = file;
}
