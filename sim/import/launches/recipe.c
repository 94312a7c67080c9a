#include "import/launches/recipe.h"

#include "base/among.h"
#include "base/quantity.h"
#include "config/recognize.h"
#include "config/text/document.h"
#include "import/flow_text.h"
#include "import/launches/shell.h"
#include "import/overrides.h"
#include "partition/memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHOWN = 60 };

/* ---- what the file carries for tsim itself ---- */

void tsim_recipe_carry(struct tsim_recipe *r, const struct tsim_value *at, const char *setting) {
    const char *equals = strchr(setting, '=');
    if (!equals || equals == setting) {
        tsim_diag_hint(tsim_value_error(r->diags, TSIM_ERR_INFEASIBLE, at, "", "tsim's '%.60s' sets nothing", setting),
                       TSIM_CARRIED "PATH=VALUE");
        return;
    }
    if (r->n_carried == TSIM_RECIPE_MAX_CARRIED) {
        tsim_value_error(r->diags, TSIM_ERR_LIMIT, at, "", "more than %d settings of tsim's in one file",
                         TSIM_RECIPE_MAX_CARRIED);
        return;
    }
    size_t n = r->input.n_overrides + 1;
    struct tsim_override *all = TSIM_NEW_ARRAY(r->arena, n, struct tsim_override);
    for (size_t i = 0; i < r->n_carried; i++)
        all[i] = r->input.overrides[i];
    all[r->n_carried] = (struct tsim_override){tsim_arena_strndup(r->arena, setting, (size_t)(equals - setting)),
                                               tsim_arena_strdup(r->arena, equals + 1)};
    for (size_t i = r->n_carried; i + 1 < n; i++)
        all[i + 1] = r->input.overrides[i];
    r->input.overrides = all;
    r->input.n_overrides = n;
    r->n_carried++;
}

static void take_carried(struct tsim_recipe *r) {
    const size_t length = sizeof TSIM_CARRIED - 1;
    const char *text = r->document->text, *end = text + r->document->size;
    for (int line = 1; text < end; line++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t size = (size_t)((stop ? stop : end) - text);
        size -= size > 0 && text[size - 1] == '\r';
        if (size >= length && memcmp(text, TSIM_CARRIED, length) == 0)
            tsim_recipe_carry(r, tsim_recipe_scalar(r, line, 1, ""),
                              tsim_arena_strndup(r->arena, text + length, size - length));
        text = stop ? stop + 1 : end;
    }
}

/* ---- the recipe ---- */

const char *tsim_recipe_read_beside(const struct tsim_recipe *r, const char *path, size_t *size) {
    path += strncmp(path, "./", 2) == 0 ? 2 : 0;
    for (size_t i = 0; i < r->n_written; i++) {
        const char *name = r->written[i].name;
        if (strcmp(name + (strncmp(name, "./", 2) == 0 ? 2 : 0), path) != 0)
            continue;
        *size = strlen(r->written[i].text);
        return r->written[i].text;
    }
    return r->input.read_beside ? r->input.read_beside(r->arena, r->input.file, path, size) : NULL;
}

void tsim_recipe_init(struct tsim_recipe *r, struct tsim_arena *arena, const struct tsim_import_input *input,
                      const char *program, const char *classes, struct tsim_diags *diags) {
    memset(r, 0, sizeof *r);
    struct tsim_document *document = TSIM_NEW(arena, struct tsim_document);
    document->arena = arena;
    document->file = tsim_arena_strdup(arena, input->file);
    document->text = tsim_arena_strndup(arena, input->text, input->size);
    document->size = input->size;
    r->arena = arena;
    r->diags = diags;
    r->document = document;
    r->input = *input;
    r->program = program;
    r->at_top = (struct tsim_value){.kind = TSIM_VALUE_MAPPING, .document = document, .height = 1, .n_nodes = 1};
    r->root = tsim_value_new_mapping(arena, &r->at_top, NULL, 0);
    r->n_errors_before = diags->n_errors;
    size_t capacity = 0; /* for all that a file may have: who has found a setting keeps it while others are added */
    r->settings = tsim_heap_grow(NULL, &capacity, TSIM_RECIPE_MAX_SETTINGS, sizeof *r->settings);
    r->has_ignored = TSIM_NEW_ARRAY(arena, input->n_ignored, bool);
    for (size_t i = 0; i < input->n_ignored; i++)
        r->has_ignored[i] = false;
    take_carried(r);
    if (classes)
        tsim_recipe_take_classes(r, classes);
}

void tsim_recipe_take_classes(struct tsim_recipe *r, const char *name) {
    (void)tsim_setting_classes_read(r->arena, name, &r->classes, r->diags); /* tsim_recipe_finish sees a mistake */
}

enum tsim_status tsim_recipe_check_size(struct tsim_recipe *r) {
    if (r->document->size <= TSIM_IMPORT_MAX_BYTES)
        return TSIM_OK;
    tsim_diag_hint(tsim_value_error(r->diags, TSIM_ERR_LIMIT, &r->at_top, "", "larger than %d MB",
                                    TSIM_IMPORT_MAX_BYTES / 1000000),
                   "only a log with what %s prints at its start may be", r->program);
    return TSIM_ERR_LIMIT;
}

void tsim_recipe_release(struct tsim_recipe *r) {
    tsim_heap_free(r->settings);
    tsim_heap_free(r->absent);
    tsim_heap_free(r->origins);
    tsim_heap_free(r->assumed.text);
    tsim_heap_free(r->not_modelled.text);
    tsim_heap_free(r->no_effect.text);
    tsim_heap_free(r->notes.text);
}

void tsim_lines_add(struct tsim_arena *arena, struct tsim_lines *lines, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = tsim_arena_vprintf(arena, format, args);
    va_end(args);
    size_t length = strlen(text);
    lines->text = tsim_heap_grow(lines->text, &lines->capacity, lines->size + length + 1, 1);
    memcpy(lines->text + lines->size, text, length + 1);
    lines->size += length;
}

/* Returns the text of the foreign file as a part of a line: no character may end it, and all must be UTF-8. */
static const char *one_line(struct tsim_arena *arena, const char *text) {
    char *copy = tsim_arena_strndup(arena, text, strlen(text) < MOST_SHOWN ? strlen(text) : MOST_SHOWN);
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c >= '\x7F')
            *c = '?';
    return copy;
}

/* Returns whether a --ignore names the setting. */
static bool is_ignored(struct tsim_recipe *r, const char *name, const char *key) {
    bool is_it = false;
    for (size_t i = 0; i < r->input.n_ignored; i++) {
        const char *ignored = r->input.ignored[i] + strspn(r->input.ignored[i], "-");
        bool is_named = strcmp(ignored, name + strspn(name, "-")) == 0 || strcmp(ignored, key) == 0;
        r->has_ignored[i] |= is_named;
        is_it |= is_named;
    }
    return is_it;
}

void tsim_recipe_add(struct tsim_recipe *r, const char *name, const char *key, const struct tsim_value *value) {
    if (is_ignored(r, name, key)) {
        tsim_lines_add(r->arena, &r->not_modelled, "#   %s (line %d): left out by --ignore\n", one_line(r->arena, name),
                       value->line);
        return;
    }
    if (r->n_settings == TSIM_RECIPE_MAX_SETTINGS) {
        tsim_value_error(r->diags, TSIM_ERR_LIMIT, value, name, "more than %d settings in one file",
                         TSIM_RECIPE_MAX_SETTINGS);
        r->n_settings++;
    }
    if (r->n_settings > TSIM_RECIPE_MAX_SETTINGS)
        return;
    r->settings[r->n_settings++] = (struct tsim_setting){.name = name, .key = key, .value = value};
}

void tsim_recipe_add_leaf(void *context, const char *path, const struct tsim_value *value) {
    tsim_recipe_add(context, path, path, value);
}

static void each_below(struct tsim_recipe *r, const struct tsim_value *mapping, const char *path,
                       tsim_recipe_leaf_fn take, void *context) {
    for (size_t i = 0; i < mapping->n_items; i++) {
        const struct tsim_pair *pair = &mapping->pairs[i];
        const char *name = *path ? tsim_arena_printf(r->arena, "%s.%s", path, pair->key) : pair->key;
        if (pair->value->kind == TSIM_VALUE_MAPPING)
            each_below(r, pair->value, name, take, context);
        else
            take(context, name, pair->value);
    }
}

void tsim_recipe_each(struct tsim_recipe *r, const struct tsim_value *mapping, tsim_recipe_leaf_fn take,
                      void *context) {
    each_below(r, mapping, "", take, context);
}

const struct tsim_value *tsim_recipe_scalar(struct tsim_recipe *r, int line, int column, const char *text) {
    struct tsim_value at = {.document = r->document, .line = line, .column = column};
    return tsim_value_new_scalar(r->arena, &at, text);
}

static size_t n_settings(const struct tsim_recipe *r) {
    return r->n_settings < TSIM_RECIPE_MAX_SETTINGS ? r->n_settings : TSIM_RECIPE_MAX_SETTINGS;
}

/* ---- looking up ---- */

static void note_absent(struct tsim_recipe *r, const char *key) {
    for (size_t i = 0; i < r->n_absent; i++)
        if (strcmp(r->absent[i], key) == 0)
            return;
    r->absent = tsim_heap_grow(r->absent, &r->absent_capacity, r->n_absent + 1, sizeof *r->absent);
    r->absent[r->n_absent++] = tsim_arena_strdup(r->arena, key);
}

struct tsim_setting *tsim_recipe_find(struct tsim_recipe *r, const char *key) {
    for (size_t i = n_settings(r); i > 0; i--) {
        struct tsim_setting *s = &r->settings[i - 1];
        if (strcmp(s->key, key) != 0)
            continue;
        s->is_used = true;
        return tsim_value_is_null(s->value) ? NULL : s;
    }
    note_absent(r, key);
    return NULL;
}

struct tsim_setting *tsim_recipe_find_any(struct tsim_recipe *r, const char *const *keys) {
    struct tsim_setting *found = NULL;
    for (; *keys; keys++) {
        struct tsim_setting *s = tsim_recipe_find(r, *keys);
        found = found ? found : s;
    }
    return found;
}

const char *tsim_setting_text(const struct tsim_setting *s) {
    const struct tsim_value *value = s->value;
    if (value->kind == TSIM_VALUE_SEQUENCE && value->n_items > 0)
        value = value->items[0];
    return value->kind == TSIM_VALUE_SCALAR ? value->text : "";
}

bool tsim_setting_is(const struct tsim_setting *s, const char *text) {
    return s && strcmp(tsim_setting_text(s), text) == 0;
}

bool tsim_setting_parse_int(const char *text, int64_t *value) {
    char digits[32];
    size_t n = 0;
    for (; *text && n + 1 < sizeof digits; text++)
        if (*text != '_')
            digits[n++] = *text;
    digits[n] = '\0';
    char *end;
    errno = 0;
    *value = strtoll(digits, &end, 10);
    if (*text || n == 0 || errno)
        return false;
    if (*end == '\0')
        return true;
    double number = strtod(digits, &end); /* 5e8, as YAML and JSON have it */
    *value = fabs(number) < 9e15 ? (int64_t)number : 0;
    return *end == '\0' && fabs(number) < 9e15 && (double)*value == number;
}

static const char *how_to_give(struct tsim_recipe *r, const char *lost) {
    const char *name = lost + 1 + (lost[1] == '{');
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (length > 0 && name[0] >= '1' && name[0] <= '9')
        return tsim_arena_printf(
            r->arena, "%s is the script's argument: give it after --, as in tsim import FORMAT FILE -- ARGUMENTS",
            lost);
    if (lost[0] == '$' && length > 0)
        return tsim_arena_printf(r->arena, "give it with --env %.*s=VALUE", (int)length, name);
    return "the output of a command is unknown: write its value instead";
}

bool tsim_setting_is_lost(struct tsim_recipe *r, const struct tsim_setting *s) {
    if (s->lost)
        tsim_diag_hint(tsim_recipe_error(r, s, "has no value: %s is empty", s->lost), "%s", how_to_give(r, s->lost));
    return s->lost != NULL;
}

static bool value_lists(const struct tsim_value *value, const char *word) {
    for (size_t i = 0; value->kind == TSIM_VALUE_SEQUENCE && i < value->n_items; i++)
        if (value_lists(value->items[i], word))
            return true;
    const char *text = value->kind == TSIM_VALUE_SCALAR ? value->text : "";
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        const size_t length = strcspn(text, " ");
        if (length == strlen(word) && memcmp(text, word, length) == 0)
            return true;
        text += length;
    }
    return false;
}

bool tsim_setting_lists(const struct tsim_setting *s, const char *word) {
    return s && value_lists(s->value, word);
}

int64_t tsim_setting_int(struct tsim_recipe *r, const struct tsim_setting *s, int64_t least, int64_t most) {
    int64_t value;
    if (tsim_setting_parse_int(tsim_setting_text(s), &value) && value >= least && value <= most)
        return value;
    if (tsim_setting_is_lost(r, s))
        return least;
    tsim_recipe_error(r, s, "'%.60s' is no whole number from %lld to %lld", tsim_setting_text(s), (long long)least,
                      (long long)most);
    return least;
}

double tsim_setting_number(struct tsim_recipe *r, const struct tsim_setting *s) {
    const char *text = tsim_setting_text(s);
    char *end;
    double value = strtod(text, &end);
    if (*text && *end == '\0' && isfinite(value))
        return value;
    if (tsim_setting_is_lost(r, s))
        return 0.0;
    tsim_recipe_error(r, s, "'%.60s' is no number", text);
    return 0.0;
}

bool tsim_setting_flag(struct tsim_recipe *r, const struct tsim_setting *s) {
    const char *text = tsim_setting_text(s);
    if (TSIM_IS_ONE_OF(text, "true", "True", "1", "yes"))
        return true;
    if (!TSIM_IS_ONE_OF(text, "false", "False", "0", "no"))
        tsim_recipe_error(r, s, "'%.60s' is neither true nor false", text);
    return false;
}

int64_t tsim_recipe_int(struct tsim_recipe *r, const char *key, int64_t least, int64_t most, int64_t otherwise) {
    const struct tsim_setting *s = tsim_recipe_find(r, key);
    return s ? tsim_setting_int(r, s, least, most) : otherwise;
}

bool tsim_recipe_flag(struct tsim_recipe *r, const char *key, bool otherwise) {
    const struct tsim_setting *s = tsim_recipe_find(r, key);
    return s ? tsim_setting_flag(r, s) : otherwise;
}

bool tsim_recipe_is(struct tsim_recipe *r, const char *key, const char *text) {
    const struct tsim_setting *s = tsim_recipe_find(r, key);
    return s && strcmp(tsim_setting_text(s), text) == 0;
}

/* ---- the scenario ---- */

static void keep_origin(struct tsim_recipe *r, const char *path, const char *text) {
    r->origins = tsim_heap_grow(r->origins, &r->origins_capacity, r->n_origins + 1, sizeof *r->origins);
    r->origins[r->n_origins++] = (struct tsim_origin){path, text};
}

static const char *origin_text(struct tsim_recipe *r, const struct tsim_setting *from, const char *why) {
    if (!from)
        return why;
    const char *file = from->value->document ? from->value->document->file : r->document->file,
               *slash = strrchr(file, '/');
    const bool is_here = strcmp(file, r->document->file) == 0; /* else a file beside it, or a table of recipes */
    const char *at =
        from->value->line > 0
            ? tsim_arena_printf(r->arena, ", %s%sline %d", is_here ? "" : one_line(r->arena, slash ? slash + 1 : file),
                                is_here ? "" : " ", from->value->line)
            : "";
    return tsim_arena_printf(r->arena, "%s%s%s%s", one_line(r->arena, from->name), at, why ? ": " : "", why ? why : "");
}

static void set_value(struct tsim_recipe *r, const char *path, const struct tsim_value *value) {
    enum tsim_status status = tsim_value_set(r->arena, r->root, path, value, NULL, 0, &r->root, r->diags);
    TSIM_ASSERT(status == TSIM_OK); /* paths are ours */
}

void tsim_recipe_put(struct tsim_recipe *r, const char *path, const struct tsim_setting *from, const char *why,
                     const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = tsim_arena_vprintf(r->arena, format, args);
    va_end(args);
    set_value(r, path, tsim_value_new_scalar(r->arena, from ? from->value : &r->at_top, text));
    keep_origin(r, path, origin_text(r, from, why));
}

void tsim_recipe_put_int(struct tsim_recipe *r, const char *path, const struct tsim_setting *from, int64_t value) {
    tsim_recipe_put(r, path, from, NULL, "%lld", (long long)value);
}

void tsim_recipe_assume(struct tsim_recipe *r, const char *path, const char *why, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = tsim_arena_vprintf(r->arena, format, args);
    va_end(args);
    set_value(r, path, tsim_value_new_scalar(r->arena, &r->at_top, text));
    keep_origin(r, path, tsim_arena_printf(r->arena, "assumed: %s", why));
    if (tsim_import_override(&r->input, path))
        return;
    tsim_lines_add(r->arena, &r->assumed, "#   %s %s: %s\n", path, text, why);
    tsim_lines_add(r->arena, &r->notes, "%s: note: %s %s is assumed: %s\n", r->document->file, path, text, why);
}

void tsim_recipe_put_list(struct tsim_recipe *r, const char *path, const struct tsim_setting *from,
                          const char *const *texts, size_t n) {
    const struct tsim_value *at = from ? from->value : &r->at_top;
    const struct tsim_value **items = TSIM_NEW_ARRAY(r->arena, n, const struct tsim_value *);
    for (size_t i = 0; i < n; i++)
        items[i] = tsim_value_new_scalar(r->arena, at, texts[i]);
    set_value(r, path, tsim_value_new_list(r->arena, at, items, n));
    keep_origin(r, path, origin_text(r, from, NULL));
}

void tsim_recipe_put_value(struct tsim_recipe *r, const char *path, const struct tsim_setting *from,
                           const struct tsim_value *value) {
    set_value(r, path, value);
    keep_origin(r, path, origin_text(r, from, NULL));
}

/* ---- mistakes and notes ---- */

struct tsim_diag *tsim_recipe_error(struct tsim_recipe *r, const struct tsim_setting *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = tsim_arena_vprintf(r->arena, format, args);
    va_end(args);
    return tsim_value_error(r->diags, TSIM_ERR_INFEASIBLE, s ? s->value : &r->at_top, s ? s->name : "", "%s", text);
}

/* Returns "--name value", or the name of a flag alone. */
static const char *shown(struct tsim_recipe *r, const struct tsim_setting *s) {
    const char *value = one_line(r->arena, tsim_setting_text(s)), *name = one_line(r->arena, s->name);
    bool is_flag = !*value || strcmp(value, "true") == 0;
    return is_flag ? name : tsim_arena_printf(r->arena, "%s %s", name, value);
}

void tsim_recipe_not_modelled(struct tsim_recipe *r, const struct tsim_setting *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = tsim_arena_vprintf(r->arena, format, args);
    va_end(args);
    for (char *c = text; *c; c++)
        *c = (unsigned char)*c < ' ' || (unsigned char)*c >= '\x7F' ? '?' : *c;
    tsim_value_warning(r->diags, s->value, s->name, "%s", text);
    const char *line = s->value->line > 0 ? tsim_arena_printf(r->arena, " (line %d)", s->value->line) : "";
    tsim_lines_add(r->arena, &r->not_modelled, "#   %s%s: %s\n", shown(r, s), line, text);
}

/* ---- what nothing asked for ---- */

static void note_no_effect(struct tsim_recipe *r, const struct tsim_setting *s, const char *why) {
    r->n_no_effect++;
    tsim_lines_add(r->arena, &r->no_effect, "%s:%d:%d: note: %s: %s\n", r->document->file, s->value->line,
                   s->value->column, shown(r, s), why);
}

void tsim_recipe_note(struct tsim_recipe *r, const char *name, const struct tsim_value *value, const char *text) {
    tsim_lines_add(r->arena, &r->assumed, "#   %s (line %d): %s\n", one_line(r->arena, name), value->line, text);
    tsim_lines_add(r->arena, &r->notes, "%s:%d:%d: note: %s: %s\n", r->document->file, value->line, value->column,
                   one_line(r->arena, name), text);
}

/* The last of several settings of one key counts. */
static bool is_given_again(const struct tsim_recipe *r, size_t index) {
    for (size_t i = index + 1; i < n_settings(r); i++)
        if (strcmp(r->settings[i].key, r->settings[index].key) == 0)
            return true;
    return false;
}

void tsim_recipe_refuse(struct tsim_recipe *r, const struct tsim_setting *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *why = tsim_arena_vprintf(r->arena, format, args), *name = one_line(r->arena, s->name);
    va_end(args);
    tsim_diag_hint(tsim_recipe_error(r, s, "%s", why), "--ignore %s imports the file as if it were not there",
                   name + strspn(name, "-"));
}

bool tsim_recipe_accepts(struct tsim_recipe *r) {
    return tsim_recipe_accepts_by(r, &r->classes);
}

bool tsim_recipe_accepts_by(struct tsim_recipe *r, const struct tsim_setting_classes *classes) {
    size_t n_errors = r->diags->n_errors;
    for (size_t i = 0; i < n_settings(r); i++) {
        struct tsim_setting *s = &r->settings[i];
        const struct tsim_setting_class *class = tsim_setting_class_of(s->key, s->value, classes);
        if (class && class->changes_run && !is_given_again(r, i)) {
            s->is_used = true;
            tsim_recipe_refuse(r, s, "%s", class->why);
        }
    }
    return r->diags->n_errors == n_errors;
}

static bool is_switched_on(const struct tsim_value *value) {
    return tsim_value_is_text(value, "True") || tsim_value_is_text(value, "true");
}

/* Notes the name of an unknown setting for the warning that they share, while there is room. */
static void note_unknown(struct tsim_recipe *r, const struct tsim_setting *s) {
    enum { MOST_NAMED = 8 };
    if (r->n_unknown++ < MOST_NAMED)
        r->unknown = tsim_arena_printf(r->arena, "%s%s%s", r->unknown ? r->unknown : "", r->unknown ? ", " : "",
                                       one_line(r->arena, s->name));
}

/* An unknown name may be a misspelling of one that was looked for and is absent. */
static void take_unknown(struct tsim_recipe *r, const struct tsim_setting *s) {
    const char *near = tsim_did_you_mean(s->key, r->absent, r->n_absent);
    near = near && strcmp(near, s->key) == 0 ? NULL : near;
    if (!near && !tsim_may_change_run(s->key) && !tsim_may_change_run(s->name)) {
        note_unknown(r, s);
        return;
    }
    char *slip = near ? tsim_arena_strdup(r->arena, near) : NULL;
    bool is_argument = strncmp(s->name, "--", 2) == 0 && !strchr(s->name, '_');
    for (char *at = slip; at && is_argument && *at; at++)
        *at = *at == '_' ? '-' : *at;
    tsim_recipe_refuse(r, s, "tsim does not know this setting, nor whether it changes the training%s%s%s%s",
                       slip ? "; did you mean '" : "", slip && is_argument ? "--" : "", slip ? slip : "",
                       slip ? "'?" : "");
}

static void classify(struct tsim_recipe *r, size_t index) {
    const struct tsim_setting *s = &r->settings[index];
    const struct tsim_setting_class *class = tsim_setting_class_of(s->key, s->value, &r->classes);
    if (is_given_again(r, index))
        return;
    const bool is_off = tsim_value_is_off(s->value);
    if (is_off && !class &&
        (r->lists_all || tsim_value_is_null(s->value) || tsim_is_housekeeping(s->key) ||
         tsim_setting_class_of(s->key, NULL, &r->classes)))
        note_no_effect(r, s, "off");
    else if (is_off && !class)
        note_unknown(r, s); /* whether the program does it unless it is switched off is not known */
    else if (r->has_others && !r->lists_all && !class && tsim_may_be_batch(s->key))
        tsim_recipe_refuse(r, s, "this may say how many samples a step has, by its name, and tsim does not know it");
    else if (r->has_others && !r->lists_all && !class && tsim_may_be_layers(s->key))
        tsim_recipe_refuse(r, s, "this may change which layers are computed, by its name, and tsim does not know it");
    else if ((r->lists_all || r->has_others) && !class)
        note_unknown(r, s);
    else if (r->lists_all && class->why && !is_off && !is_switched_on(s->value))
        note_no_effect(r, s, "one of many values that a program prints");
    else if (!class && tsim_is_housekeeping(s->key))
        note_no_effect(r, s, "no effect on performance, by its name");
    else if (!class)
        take_unknown(r, s);
    else if (!class->why && !r->lists_all && tsim_is_any_of_family(s->key, s->value, &r->classes))
        note_unknown(r, s);
    else if (!class->why)
        note_no_effect(r, s, "no effect on performance");
    else
        tsim_recipe_not_modelled(r, s, "tsim does not model this: %s", class->why);
}

/* ---- writing ---- */

static const char *origin_of(const struct tsim_recipe *r, const char *path) {
    for (size_t i = r->n_origins; i > 0; i--)
        if (strcmp(r->origins[i - 1].path, path) == 0)
            return r->origins[i - 1].text;
    return NULL;
}

/* Writes a key of the second level with its source, and for a mapping below it the sources of its keys. */
static void write_key(struct tsim_recipe *r, struct tsim_lines *out, const char *indent, const struct tsim_pair *pair,
                      const char *path) {
    const char *line =
        tsim_arena_printf(r->arena, "%s%s: %s", indent, pair->key, tsim_flow_text(r->arena, pair->value));
    const char *why = origin_of(r, path), *last = NULL;
    struct tsim_lines comment = {NULL, 0, 0};
    if (why)
        tsim_lines_add(r->arena, &comment, "%s", why);
    for (size_t i = 0; !why && pair->value->kind == TSIM_VALUE_MAPPING && i < pair->value->n_items; i++) {
        const char *inner = origin_of(r, tsim_arena_printf(r->arena, "%s.%s", path, pair->value->pairs[i].key));
        if (inner && (!last || strcmp(inner, last) != 0))
            tsim_lines_add(r->arena, &comment, "%s%s", last ? "; " : "", inner);
        last = inner ? inner : last;
    }
    if (comment.text)
        tsim_lines_add(r->arena, out, "%-39s # %s\n", line, comment.text);
    else
        tsim_lines_add(r->arena, out, "%s\n", line);
    tsim_heap_free(comment.text);
}

static void write_pair(struct tsim_recipe *r, struct tsim_lines *out, const struct tsim_pair *pair) {
    if (pair->value->kind != TSIM_VALUE_MAPPING || pair->value->n_items == 0) {
        write_key(r, out, "", pair, pair->key);
        return;
    }
    tsim_lines_add(r->arena, out, "%s:\n", pair->key);
    for (size_t i = 0; i < pair->value->n_items; i++)
        write_key(r, out, "  ", &pair->value->pairs[i],
                  tsim_arena_printf(r->arena, "%s.%s", pair->key, pair->value->pairs[i].key));
}

static void write_section(struct tsim_recipe *r, struct tsim_lines *out, const char *title,
                          const struct tsim_lines *lines) {
    if (lines->text)
        tsim_lines_add(r->arena, out, "# %s\n%s", title, lines->text);
}

/* Writes the sections in the order of the manual, then whatever a --set brought. */
static void write_sections(struct tsim_recipe *r, struct tsim_lines *out) {
    static const char *const ORDER[] = {"schema",  "name",     "description", "model",
                                        "cluster", "training", "software",    "parallelism"};
    enum { N = sizeof ORDER / sizeof ORDER[0] };
    for (size_t i = 0; i < N; i++)
        if (tsim_value_find_pair(r->root, ORDER[i]))
            write_pair(r, out, tsim_value_find_pair(r->root, ORDER[i]));
    for (size_t i = 0; i < r->root->n_items; i++) {
        size_t known = 0;
        while (known < N && strcmp(r->root->pairs[i].key, ORDER[known]) != 0)
            known++;
        if (known == N)
            write_pair(r, out, &r->root->pairs[i]);
    }
}

static const char *write_all(struct tsim_recipe *r) {
    struct tsim_lines out = {NULL, 0, 0};
    const char *slash = strrchr(r->document->file, '/');
    tsim_lines_add(r->arena, &out, "# From %s, settings of %s.\n",
                   one_line(r->arena, slash ? slash + 1 : r->document->file), r->program);
    write_section(r, &out, "What it does not say is assumed:", &r->assumed);
    write_sections(r, &out);
    write_section(r, &out, "Not modelled, or not as it is there:", &r->not_modelled);
    if (r->n_no_effect > 0)
        tsim_lines_add(r->arena, &out, "# Without effect on performance: %zu setting%s.\n", r->n_no_effect,
                       r->n_no_effect == 1 ? "" : "s");
    const char *yaml = tsim_arena_strdup(r->arena, out.text);
    tsim_heap_free(out.text);
    return yaml;
}

const char *tsim_recipe_name(struct tsim_arena *arena, const char *file, const char *otherwise) {
    const char *slash = strrchr(file, '/');
    char *name = tsim_arena_strdup(arena, slash ? slash + 1 : file);
    char *dot = strrchr(name, '.');
    size_t n_good = 0;
    if (dot && dot != name)
        *dot = '\0';
    for (char *c = name; *c; c++)
        n_good += (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '-' ||
                  *c == '_' || *c == '.';
    return n_good == strlen(name) && n_good > 0 && n_good <= 64 && name[0] != '-' ? name : otherwise;
}

/* ---- the end ---- */

static bool is_unset(const struct tsim_recipe *r, size_t i) {
    return i < r->n_carried && strcmp(r->input.overrides[i].value, "null") == 0;
}

/* A null that the file carries removes the key. */
static void take_out(struct tsim_recipe *r, const char *path) {
    const char *dot = strrchr(path, '.');
    const char *parent = dot ? tsim_arena_strndup(r->arena, path, (size_t)(dot - path)) : "";
    const struct tsim_value *mapping = dot ? tsim_value_find_path(r->root, parent) : r->root;
    if (!mapping || mapping->kind != TSIM_VALUE_MAPPING)
        return;
    mapping = tsim_value_without(r->arena, mapping, dot ? dot + 1 : path);
    if (dot)
        set_value(r, parent, mapping);
    else
        r->root = mapping;
}

/* Tells whether the stage that holds most fits. */
static bool fits(const struct tsim_scenario *scenario) {
    const struct tsim_accelerator *accelerator = scenario->cluster.node->accelerator;
    const double usable_bytes = accelerator->memory_bytes - accelerator->usable_memory_reserve_bytes;
    for (int32_t stage = 0; stage < (int32_t)scenario->parallelism.pipeline; stage++) {
        struct tsim_stage_memory memory;
        tsim_stage_memory(scenario, stage, &memory);
        if (memory.total_bytes > usable_bytes)
            return false;
    }
    return true;
}

static const struct tsim_model *model_of_text(struct tsim_recipe *r, const char *text) {
    static const char ANY[] =
        "schema: tsim/v1\nname: any\nmodel: " TSIM_DEFAULT_MODEL "\ncluster: {node: " TSIM_DEFAULT_NODE "}\n";
    const struct tsim_override given = {"model", text};
    const struct tsim_model *model = NULL;
    const struct tsim_scenario *job;
    struct tsim_scenario_source source;
    if (text && tsim_scenario_open_text(r->arena, "any", ANY, &source, r->diags) == TSIM_OK &&
        tsim_scenario_load_job(r->arena, &source, &given, 1, &job, r->diags) == TSIM_OK)
        model = job->model;
    return model;
}

const struct tsim_model *tsim_recipe_given_model(struct tsim_recipe *r) {
    return model_of_text(r, tsim_import_override(&r->input, "model"));
}

const struct tsim_model *tsim_recipe_model(struct tsim_recipe *r) {
    const struct tsim_value *put = tsim_value_find(r->root, "model");
    if (tsim_import_override(&r->input, "model") || !put)
        return tsim_recipe_given_model(r);
    return model_of_text(r, tsim_flow_text(r->arena, put));
}

/* Applies the scenario's own rules, at the places of the foreign file. */
static enum tsim_status check(struct tsim_recipe *r) {
    struct tsim_scenario_source source;
    const struct tsim_scenario *scenario;
    for (size_t i = 0; i < r->input.n_overrides; i++)
        if (is_unset(r, i))
            take_out(r, r->input.overrides[i].path);
        else
            TSIM_TRY(tsim_scenario_override(r->arena, &r->input.overrides[i], 1, &r->root, r->diags));
    for (size_t i = 0; i < r->input.n_overrides; i++)
        keep_origin(r, r->input.overrides[i].path, i < r->n_carried ? "kept in a comment" : "--set");
    TSIM_TRY(tsim_scenario_open_value(r->arena, r->root, &source, r->diags));
    TSIM_TRY(tsim_scenario_load_from(r->arena, &source, NULL, 0, &scenario, r->diags));
    r->fits = fits(scenario);
    return TSIM_OK;
}

enum tsim_status tsim_recipe_finish(struct tsim_recipe *r, struct tsim_import_result *result) {
    if (r->diags->n_errors > r->n_errors_before)
        return TSIM_ERR_INFEASIBLE;
    for (size_t i = 0; i < n_settings(r); i++)
        if (!r->settings[i].is_used)
            classify(r, i);
    if (r->n_unknown > 0)
        tsim_value_warning(r->diags, &r->at_top, "", "tsim does not know %zu setting%s and takes %s for %s: %s%s",
                           r->n_unknown, r->n_unknown == 1 ? "" : "s", r->n_unknown == 1 ? "it" : "them",
                           r->lists_all ? "the program's defaults" : "such that no step's time depends on", r->unknown,
                           r->n_unknown > 8 ? ", ..." : "");
    for (size_t i = 0; i < r->input.n_ignored; i++)
        if (!r->has_ignored[i])
            tsim_value_warning(r->diags, &r->at_top, "", "--ignore %s: there is no such setting in it",
                               r->input.ignored[i]);
    TSIM_TRY(check(r));
    if (r->diags->n_errors > r->n_errors_before)
        return TSIM_ERR_INFEASIBLE;
    result->yaml = write_all(r);
    result->notes = tsim_arena_strdup(r->arena, r->notes.text ? r->notes.text : "");
    result->no_effect = tsim_arena_strdup(r->arena, r->no_effect.text ? r->no_effect.text : "");
    result->n_no_effect = r->n_no_effect;
    result->assumed_gpus = r->assumed_gpus;
    result->assumed_node = r->assumed_node;
    result->fits = r->fits;
    return TSIM_OK;
}

void tsim_recipe_put_loss_scaling(struct tsim_recipe *r, const struct tsim_setting *fixed,
                                  const struct tsim_setting *window, const struct tsim_setting *hysteresis) {
    static const char DEFAULT[] = "the program's default";
    const long long never = 1000000000;
    bool is_fixed = fixed && tsim_setting_number(r, fixed) > 0;
    long long steps = is_fixed ? never : window ? (long long)tsim_setting_int(r, window, 1, never) : 1000;
    long long skipped = hysteresis ? (long long)tsim_setting_int(r, hysteresis, 1, 1000) : 2;
    tsim_recipe_put(r, "training.loss_scaling.growth_interval", is_fixed ? fixed : window,
                    is_fixed ? "it does not grow"
                    : window ? NULL
                             : DEFAULT,
                    "%lld", steps);
    if (!is_fixed)
        tsim_recipe_put(r, "training.loss_scaling.skipped", hysteresis, hysteresis ? NULL : DEFAULT, "%lld", skipped);
}
