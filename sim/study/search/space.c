#include "study/search/space.h"

#include "base/among.h"
#include "base/quantity.h"
#include "config/keys/schema.h"
#include "config/text/document.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 24 };
#define MOST_NUMBER 1e18

/* ---- values as text ---- */

static char *write_escape(char *to, unsigned char c) {
    static const char SHORT[] = "\bb\nn\tt\rr\ff\"\"\\\\";
    for (const char *at = SHORT; *at; at += 2)
        if (at[0] == (char)c) {
            *to++ = '\\';
            *to++ = at[1];
            return to;
        }
    if (c >= ' ') {
        *to++ = (char)c;
        return to;
    }
    return to + sprintf(to, "\\u%04x", c);
}

const char *tsim_text_json(struct tsim_arena *arena, const char *text) {
    char *json = tsim_arena_alloc(arena, 6 * strlen(text) + 3), *to = json;
    *to++ = '"';
    for (; *text; text++)
        to = write_escape(to, (unsigned char)*text);
    *to++ = '"';
    *to = '\0';
    return json;
}

/* Returns whether the text matches -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)? and is of a size that every reader of
 * JSON takes. */
static bool is_json_number(const char *text) {
    static const char DIGITS[] = "0123456789";
    if (strlen(text) > MOST_DIGITS || fabs(strtod(text, NULL)) > MOST_NUMBER)
        return false;
    text += *text == '-';
    size_t n = strspn(text, DIGITS);
    if (n == 0 || (n > 1 && text[0] == '0'))
        return false;
    text += n;
    if (*text == '.') {
        n = strspn(++text, DIGITS);
        if (n == 0)
            return false;
        text += n;
    }
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '-' || *text == '+';
        n = strspn(text, DIGITS);
        if (n == 0)
            return false;
        text += n;
    }
    return *text == '\0';
}

static bool is_json_word(const struct tsim_value *value) {
    return tsim_value_is_text(value, "true") || tsim_value_is_text(value, "false") || tsim_value_is_text(value, "null");
}

enum notation { NOTATION_JSON, NOTATION_YAML };

/* Returns the YAML leaves plain scalars plain, so that the schema reads them as it would have in their file; in a list
 * or mapping its indicators need quotes. */
static const char *scalar_text(struct tsim_arena *arena, const struct tsim_value *value, enum notation notation,
                               bool is_inside) {
    bool is_plain = !value->is_quoted;
    if (notation == NOTATION_JSON)
        is_plain = is_plain && (is_json_number(value->text) || is_json_word(value));
    else
        is_plain = is_plain && !(is_inside && strpbrk(value->text, ",[]{}#:"));
    return is_plain ? value->text : tsim_text_json(arena, value->text);
}

static const char *value_text(struct tsim_arena *arena, const struct tsim_value *value, enum notation notation,
                              bool is_inside) {
    if (value->kind == TSIM_VALUE_SCALAR)
        return scalar_text(arena, value, notation, is_inside);
    bool is_mapping = value->kind == TSIM_VALUE_MAPPING;
    const char *text = is_mapping ? "{" : "[";
    for (size_t i = 0; i < value->n_items; i++) {
        const char *item = value_text(arena, is_mapping ? value->pairs[i].value : value->items[i], notation, true);
        const char *comma = i ? ", " : "";
        if (is_mapping)
            text =
                tsim_arena_printf(arena, "%s%s%s: %s", text, comma, tsim_text_json(arena, value->pairs[i].key), item);
        else
            text = tsim_arena_printf(arena, "%s%s%s", text, comma, item);
    }
    return tsim_arena_printf(arena, "%s%s", text, is_mapping ? "}" : "]");
}

const char *tsim_value_json(struct tsim_arena *arena, const struct tsim_value *value) {
    return value_text(arena, value, NOTATION_JSON, false);
}

/* ---- building ---- */

struct builder {
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    struct tsim_space_axis *axes;
    size_t n_axes;
    const char **paths; /* heap */
    size_t n_paths, path_capacity;
};

static struct tsim_space_setting setting_of(struct builder *b, const char *path, const struct tsim_value *value) {
    return (struct tsim_space_setting){path, value_text(b->arena, value, NOTATION_YAML, false),
                                       tsim_value_json(b->arena, value), value};
}

/* Remembers a key that changes; false when another axis has it already. */
static bool add_path(struct builder *b, const char *path, const struct tsim_value *at) {
    for (size_t i = 0; i < b->n_paths; i++)
        if (strcmp(b->paths[i], path) == 0) {
            tsim_diag_hint(tsim_value_error(b->diags, TSIM_ERR_SCHEMA, at, "sweep", "'%.100s' is in two axes", path),
                           "keys that change together are one axis: 'zip'");
            return false;
        }
    b->paths = tsim_heap_grow(b->paths, &b->path_capacity, b->n_paths + 1, sizeof *b->paths);
    b->paths[b->n_paths++] = path;
    return true;
}

static int compare_choices(const struct tsim_choice *a, const struct tsim_choice *b) {
    int order = (a->n_settings > b->n_settings) - (a->n_settings < b->n_settings);
    for (size_t i = 0; order == 0 && i < a->n_settings; i++) {
        order = strcmp(a->settings[i].path, b->settings[i].path);
        order = order ? order : strcmp(a->settings[i].json, b->settings[i].json);
    }
    return order;
}

/* Sorts equal choices by where they stand. */
static int by_settings(const void *a, const void *b) {
    const struct tsim_choice *left = *(const struct tsim_choice *const *)a;
    const struct tsim_choice *right = *(const struct tsim_choice *const *)b;
    int order = compare_choices(left, right);
    return order ? order : (left > right) - (left < right);
}

/* Warns of the first choice that stands in the axis a second time. */
static void warn_of_repeated(struct builder *b, const struct tsim_choice *choices, size_t n_choices) {
    const struct tsim_choice *repeated = NULL,
                             **sorted = TSIM_NEW_ARRAY(b->arena, n_choices, const struct tsim_choice *);
    for (size_t i = 0; i < n_choices; i++)
        sorted[i] = &choices[i];
    qsort(sorted, n_choices, sizeof *sorted, by_settings);
    for (size_t i = 1; i < n_choices; i++)
        if (compare_choices(sorted[i - 1], sorted[i]) == 0 && sorted[i]->n_settings > 0)
            repeated = !repeated || sorted[i] < repeated ? sorted[i] : repeated;
    if (!repeated)
        return;
    const struct tsim_space_setting *setting = &repeated->settings[0];
    bool is_alone = repeated->n_settings == 1;
    tsim_diag_hint(tsim_value_warning(b->diags, setting->at, is_alone ? setting->path : "sweep",
                                      "%.60s is listed twice", is_alone ? setting->text : "a point"),
                   "leave one out: both are the same point");
}

static void add_axis(struct builder *b, const struct tsim_choice *choices, size_t n_choices) {
    warn_of_repeated(b, choices, n_choices);
    b->axes[b->n_axes++] = (struct tsim_space_axis){choices, n_choices};
}

static bool check_list(struct builder *b, const struct tsim_value *value, const char *path) {
    if (value->kind != TSIM_VALUE_SEQUENCE)
        tsim_diag_hint(tsim_value_error(b->diags, TSIM_ERR_SCHEMA, value, path, "expected a list of values, found %s",
                                        tsim_value_kind_name(value)),
                       "as in [4, 8]");
    else if (value->n_items == 0)
        tsim_value_error(b->diags, TSIM_ERR_SCHEMA, value, path, "the list is empty: there is no value to try");
    else if (value->n_items > TSIM_SPACE_MAX_CHOICES)
        tsim_value_error(b->diags, TSIM_ERR_LIMIT, value, path, "more than %d values", TSIM_SPACE_MAX_CHOICES);
    else
        return true;
    return false;
}

/* Adds the lists of a mapping side by side: choice i sets every key to its i-th value. */
static void add_zip(struct builder *b, const struct tsim_value *mapping, const char *field) {
    if (mapping->kind != TSIM_VALUE_MAPPING || mapping->n_items == 0) {
        tsim_diag_hint(
            tsim_value_error(b->diags, TSIM_ERR_SCHEMA, mapping, field, "expected keys with lists of values"),
            "as in {cluster.node: [dgx-a100, dgx-h100], cluster.fabric: [ib-hdr, ib-ndr]}");
        return;
    }
    size_t n_keys = mapping->n_items;
    for (size_t k = 0; k < n_keys; k++)
        if (!check_list(b, mapping->pairs[k].value, mapping->pairs[k].key) ||
            !add_path(b, mapping->pairs[k].key, mapping->pairs[k].value))
            return;
    size_t n_choices = mapping->pairs[0].value->n_items;
    for (size_t k = 1; k < n_keys; k++)
        if (mapping->pairs[k].value->n_items != n_choices) {
            tsim_value_error(b->diags, TSIM_ERR_SCHEMA, mapping->pairs[k].value, mapping->pairs[k].key,
                             "%zu values beside the %zu of '%.100s'", mapping->pairs[k].value->n_items, n_choices,
                             mapping->pairs[0].key);
            return;
        }
    struct tsim_choice *choices = TSIM_NEW_ARRAY(b->arena, n_choices, struct tsim_choice);
    for (size_t i = 0; i < n_choices; i++) {
        struct tsim_space_setting *settings = TSIM_NEW_ARRAY(b->arena, n_keys, struct tsim_space_setting);
        for (size_t k = 0; k < n_keys; k++)
            settings[k] = setting_of(b, mapping->pairs[k].key, mapping->pairs[k].value->items[i]);
        choices[i] = (struct tsim_choice){settings, n_keys};
    }
    add_axis(b, choices, n_choices);
}

static bool has_path(const struct builder *b, size_t first, const char *path) {
    return b->n_paths > first && tsim_is_among(path, b->paths + first, b->n_paths - first);
}

static void add_points(struct builder *b, const struct tsim_value *list) {
    size_t first = b->n_paths;
    if (!check_list(b, list, "sweep.points"))
        return;
    struct tsim_choice *choices = TSIM_NEW_ARRAY(b->arena, list->n_items, struct tsim_choice);
    for (size_t i = 0; i < list->n_items; i++) {
        const struct tsim_value *point = list->items[i];
        if (point->kind != TSIM_VALUE_MAPPING) {
            tsim_diag_hint(tsim_value_error(b->diags, TSIM_ERR_SCHEMA, point, "sweep.points",
                                            "expected keys with a value each, found %s", tsim_value_kind_name(point)),
                           "as in {cluster.nodes: 16, parallelism.tensor: 8}");
            return;
        }
        struct tsim_space_setting *settings = TSIM_NEW_ARRAY(b->arena, point->n_items, struct tsim_space_setting);
        for (size_t k = 0; k < point->n_items; k++) {
            if (!has_path(b, first, point->pairs[k].key) && !add_path(b, point->pairs[k].key, point->pairs[k].value))
                return;
            settings[k] = setting_of(b, point->pairs[k].key, point->pairs[k].value);
        }
        choices[i] = (struct tsim_choice){settings, point->n_items};
    }
    add_axis(b, choices, list->n_items);
}

/* ---- the `sweep:` section ---- */

static void add_axes(struct builder *b, const struct tsim_value *axes) {
    if (axes->kind != TSIM_VALUE_MAPPING) {
        tsim_value_error(b->diags, TSIM_ERR_SCHEMA, axes, "sweep.axes", "expected keys with lists of values, found %s",
                         tsim_value_kind_name(axes));
        return;
    }
    for (size_t i = 0; i < axes->n_items; i++)
        add_zip(b, tsim_value_new_mapping(b->arena, axes, &axes->pairs[i], 1), "sweep.axes");
}

static void add_zips(struct builder *b, const struct tsim_value *zips) {
    if (!check_list(b, zips, "sweep.zip"))
        return;
    for (size_t i = 0; i < zips->n_items; i++)
        add_zip(b, zips->items[i], "sweep.zip");
}

static size_t most_axes(const struct tsim_value *section, const struct tsim_space_words *words) {
    size_t n = words->n_vary + words->n_zip + 1;
    for (size_t i = 0; section && i < section->n_items; i++)
        n += section->pairs[i].value->n_items;
    return n;
}

enum tsim_status tsim_space_check_keys(const struct tsim_value *section, struct tsim_diags *diags) {
    enum tsim_status status = TSIM_OK;
    enum { MOST_KEYS = 16 };
    const char *names[MOST_KEYS];
    size_t n_keys = tsim_sweep_table.n_keys < MOST_KEYS ? tsim_sweep_table.n_keys : MOST_KEYS;
    for (size_t k = 0; k < n_keys; k++)
        names[k] = tsim_sweep_table.keys[k].key;
    for (size_t i = 0; i < section->n_items; i++) {
        size_t k = 0;
        while (k < n_keys && strcmp(names[k], section->pairs[i].key) != 0)
            k++;
        if (k < n_keys)
            continue;
        status = TSIM_ERR_SCHEMA;
        const char *near = tsim_did_you_mean(section->pairs[i].key, names, n_keys);
        struct tsim_diag *diag = tsim_pair_error(diags, TSIM_ERR_SCHEMA, &section->pairs[i], "sweep",
                                                 "unknown key '%.60s'", section->pairs[i].key);
        if (near)
            tsim_diag_hint(diag, "did you mean '%s'?", near);
        else
            tsim_diag_hint(diag, "keys: axes, zip, points, objective, limits, where");
    }
    return status;
}

static void read_section(struct builder *b, const struct tsim_value *section) {
    const struct tsim_value *axes = tsim_value_find(section, "axes"), *zips = tsim_value_find(section, "zip");
    const struct tsim_value *points = tsim_value_find(section, "points");
    if (axes)
        add_axes(b, axes);
    if (zips)
        add_zips(b, zips);
    if (points)
        add_points(b, points);
}

/* ---- the command line ---- */

/* Cuts the text up to the next `separator` outside brackets and quotes; *text moves behind it, NULL at the end. */
static const char *cut(struct tsim_arena *arena, const char **text, char separator) {
    const char *start = *text, *at = start;
    char quote = '\0';
    int depth = 0;
    for (; *at && (quote || depth > 0 || *at != separator); at++) {
        if (quote)
            quote = *at == quote ? '\0' : quote;
        else if (*at == '"' || *at == '\'')
            quote = *at;
        else if (strchr("[{", *at))
            depth++;
        else if (strchr("]}", *at))
            depth--;
    }
    *text = *at ? at + 1 : NULL;
    return tsim_arena_strndup(arena, start, (size_t)(at - start));
}

static bool word_error(struct builder *b, const char *option, const char *word, const char *why) {
    const char *file = tsim_arena_printf(b->arena, "%s %.100s", option, word);
    tsim_diag_hint(
        tsim_diags_error(b->diags, TSIM_ERR_SYNTAX, (struct tsim_place){.file = file}, NULL, "%s", why),
        "as in --vary cluster.nodes=16,32 or --zip 'cluster.node=dgx-a100,dgx-h100;cluster.fabric=ib-hdr,ib-ndr'");
    return false;
}

/* Reads "PATH=A,B,..." as a key with a list. */
static bool read_word(struct builder *b, const char *option, const char *word, struct tsim_pair *pair) {
    const char *equals = strchr(word, '=');
    if (!equals || equals == word || !equals[1])
        return word_error(b, option, word, "expected PATH=A,B,...");
    const char *path = tsim_arena_strndup(b->arena, word, (size_t)(equals - word)), *rest = equals + 1;
    const struct tsim_value **items = NULL;
    size_t n_items = 0, capacity = 0;
    bool is_good = true;
    do {
        const struct tsim_value *value = NULL;
        const char *text = cut(b->arena, &rest, ',');
        if (text[0] == '\0')
            is_good = word_error(b, option, word, "an empty value between commas");
        else
            is_good = tsim_document_parse_override(b->arena, path, text, NULL, &value, b->diags) == TSIM_OK;
        items = tsim_heap_grow(items, &capacity, n_items + 1, sizeof *items);
        items[n_items++] = value;
    } while (rest && is_good);
    if (is_good) {
        struct tsim_value *list = TSIM_NEW(b->arena, struct tsim_value);
        const struct tsim_value **copy = TSIM_NEW_ARRAY(b->arena, n_items, const struct tsim_value *);
        memcpy(copy, items, n_items * sizeof *items);
        struct tsim_document *document = TSIM_NEW(b->arena, struct tsim_document);
        *document = *items[0]->document;
        document->file = tsim_arena_printf(b->arena, "%s %.100s", option, word);
        *list = *items[0];
        list->document = document;
        list->kind = TSIM_VALUE_SEQUENCE;
        list->items = copy;
        list->n_items = n_items;
        *pair = (struct tsim_pair){path, list->document, 0, 0, list};
    }
    tsim_heap_free(items);
    return is_good;
}

static void add_word(struct builder *b, const char *option, const char *word, char separator) {
    enum { MOST_KEYS = 64 };
    struct tsim_pair pairs[MOST_KEYS];
    size_t n = 0;
    const char *rest = word;
    while (rest && n < MOST_KEYS) {
        const char *one = cut(b->arena, &rest, separator);
        if (!read_word(b, option, one + strspn(one, " "), &pairs[n++]))
            return;
    }
    if (rest)
        word_error(b, option, word, "more than 64 keys");
    else
        add_zip(b, tsim_value_new_mapping(b->arena, pairs[0].value, pairs, n), option);
}

/* ---- the whole ---- */

struct text { /* on the heap */
    char *bytes;
    size_t length, capacity;
};

static void append(struct text *text, const char *more) {
    size_t length = strlen(more);
    text->bytes = tsim_heap_grow(text->bytes, &text->capacity, text->length + length + 1, 1);
    memcpy(text->bytes + text->length, more, length + 1);
    text->length += length;
}

static void append_choice(struct text *text, struct tsim_arena *arena, const struct tsim_choice *choice) {
    for (size_t i = 0; i < choice->n_settings; i++) {
        append(text, i ? ", " : "{");
        append(text, tsim_text_json(arena, choice->settings[i].path));
        append(text, ": ");
        append(text, choice->settings[i].json);
    }
    append(text, choice->n_settings ? "}" : "{}");
}

static const char *axes_json(struct tsim_arena *arena, const struct tsim_space_axis *axes, size_t n_axes) {
    struct text text = {0};
    append(&text, "[");
    for (size_t a = 0; a < n_axes; a++) {
        append(&text, a ? ", [" : "[");
        for (size_t c = 0; c < axes[a].n_choices; c++) {
            append(&text, c ? ", " : "");
            append_choice(&text, arena, &axes[a].choices[c]);
        }
        append(&text, "]");
    }
    append(&text, "]");
    const char *json = tsim_arena_strdup(arena, text.bytes);
    tsim_heap_free(text.bytes);
    return json;
}

static enum tsim_status finish(struct builder *b, struct tsim_space *space) {
    *space = (struct tsim_space){.axes = b->axes, .n_axes = b->n_axes, .n_points = 1};
    for (size_t a = 0; a < b->n_axes; a++) {
        size_t most = 0;
        for (size_t c = 0; c < b->axes[a].n_choices; c++)
            most = b->axes[a].choices[c].n_settings > most ? b->axes[a].choices[c].n_settings : most;
        space->most_settings += most;
        if (space->n_points > TSIM_SPACE_MAX_POINTS / (int64_t)b->axes[a].n_choices) {
            tsim_diags_error(b->diags, TSIM_ERR_LIMIT, (struct tsim_place){0}, "sweep", "more than 10^12 points");
            return TSIM_ERR_LIMIT;
        }
        space->n_points *= (int64_t)b->axes[a].n_choices;
    }
    const char **paths = TSIM_NEW_ARRAY(b->arena, b->n_paths, const char *);
    for (size_t i = 0; i < b->n_paths; i++)
        paths[i] = b->paths[i];
    space->paths = paths;
    space->n_paths = b->n_paths;
    space->json = axes_json(b->arena, b->axes, b->n_axes);
    return TSIM_OK;
}

enum tsim_status tsim_space_read(struct tsim_arena *arena, const struct tsim_value *section,
                                 const struct tsim_space_words *words, struct tsim_space *space,
                                 struct tsim_diags *diags) {
    struct builder b = {.arena = arena, .diags = diags};
    size_t n_errors = diags->n_errors;
    b.axes = TSIM_NEW_ARRAY(arena, most_axes(section, words), struct tsim_space_axis);
    if (section)
        tsim_space_check_keys(section, diags);
    for (size_t i = 0; i < words->n_vary; i++)
        add_word(&b, "--vary", words->vary[i], '\0');
    for (size_t i = 0; i < words->n_zip; i++)
        add_word(&b, "--zip", words->zip[i], ';');
    if (section && words->n_vary + words->n_zip == 0)
        read_section(&b, section);
    if (diags->n_errors == n_errors && b.n_axes == 0)
        tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_SCHEMA, (struct tsim_place){0}, "sweep", "nothing to vary"),
                       "give --vary PATH=A,B,... or the scenario a section 'sweep: {axes: {PATH: [A, B]}}'");
    enum tsim_status status = diags->n_errors == n_errors ? finish(&b, space) : TSIM_ERR_SCHEMA;
    tsim_heap_free(b.paths);
    return status;
}

void tsim_space_of(struct tsim_arena *arena, const struct tsim_choice *choices, size_t n_choices,
                   struct tsim_space *space) {
    struct tsim_space_axis *axis = TSIM_NEW(arena, struct tsim_space_axis);
    const char **paths = TSIM_NEW_ARRAY(arena, choices[0].n_settings, const char *);
    *axis = (struct tsim_space_axis){choices, n_choices};
    for (size_t i = 0; i < choices[0].n_settings; i++)
        paths[i] = choices[0].settings[i].path;
    *space = (struct tsim_space){
        .axes = axis,
        .n_axes = 1,
        .n_points = (int64_t)n_choices,
        .most_settings = choices[0].n_settings,
        .paths = paths,
        .n_paths = choices[0].n_settings,
        .json = axes_json(arena, axis, 1),
    };
}

bool tsim_space_varies(const struct tsim_space *space, const char *path) {
    return tsim_is_among(path, space->paths, space->n_paths);
}

/* Returns the choice with what is added to it, whose paths become some of the space. */
static struct tsim_choice with_more(struct builder *b, const struct tsim_choice *choice, tsim_space_more_fn more,
                                    void *context) {
    struct tsim_space_setting *all =
        TSIM_NEW_ARRAY(b->arena, choice->n_settings + TSIM_SPACE_MOST_MORE, struct tsim_space_setting);
    for (size_t i = 0; i < choice->n_settings; i++)
        all[i] = choice->settings[i];
    size_t n = choice->n_settings + more(context, choice, all + choice->n_settings);
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        while (at < b->n_paths && strcmp(b->paths[at], all[i].path) != 0)
            at++;
        if (at < b->n_paths)
            continue;
        b->paths = tsim_heap_grow(b->paths, &b->path_capacity, b->n_paths + 1, sizeof *b->paths);
        b->paths[b->n_paths++] = all[i].path;
    }
    return (struct tsim_choice){all, n};
}

void tsim_space_add(struct tsim_arena *arena, const struct tsim_space *space, tsim_space_more_fn more, void *context,
                    struct tsim_space *result) {
    struct builder b = {.arena = arena, .diags = TSIM_UNHEARD}; /* there are no more points than before */
    b.axes = TSIM_NEW_ARRAY(arena, space->n_axes, struct tsim_space_axis);
    for (; b.n_axes < space->n_axes; b.n_axes++) {
        const struct tsim_space_axis *axis = &space->axes[b.n_axes];
        struct tsim_choice *choices = TSIM_NEW_ARRAY(arena, axis->n_choices, struct tsim_choice);
        for (size_t c = 0; c < axis->n_choices; c++)
            choices[c] = with_more(&b, &axis->choices[c], more, context);
        b.axes[b.n_axes] = (struct tsim_space_axis){choices, axis->n_choices};
    }
    finish(&b, result);
    tsim_heap_free(b.paths);
}

/* ---- points ---- */

size_t tsim_space_settings(const struct tsim_space *space, int64_t position,
                           const struct tsim_space_setting **settings) {
    int64_t n_below = space->n_points;
    size_t n = 0;
    TSIM_ASSERT(position >= 0 && position < space->n_points);
    for (size_t a = 0; a < space->n_axes; a++) {
        n_below /= (int64_t)space->axes[a].n_choices;
        const struct tsim_choice *choice = &space->axes[a].choices[position / n_below];
        position %= n_below;
        for (size_t i = 0; i < choice->n_settings; i++)
            settings[n++] = &choice->settings[i];
    }
    return n;
}

const char *tsim_space_set_json(struct tsim_arena *arena, const struct tsim_space *space, int64_t position) {
    const struct tsim_space_setting **settings =
        TSIM_NEW_ARRAY(arena, space->most_settings, const struct tsim_space_setting *);
    size_t n = tsim_space_settings(space, position, settings);
    const char *text = "{";
    for (size_t i = 0; i < n; i++)
        text = tsim_arena_printf(arena, "%s%s%s: %s", text, i ? ", " : "", tsim_text_json(arena, settings[i]->path),
                                 settings[i]->json);
    return tsim_arena_printf(arena, "%s}", text);
}

bool tsim_is_sweep_path(const char *path) {
    static const char SECTION[] = "sweep";
    size_t length = sizeof SECTION - 1;
    return strncmp(path, SECTION, length) == 0 && (path[length] == '\0' || path[length] == '.');
}
