#include "config/files/catalogue_read.h"

#include <math.h>
#include <string.h>

/* A description joins two walks: the notes that the reader takes (where each value comes from) and the finished struct
 * (what it came to, defaults included). */

struct kept_note {
    const char *path, *source;
    enum tsim_source_status status;
    double interval[2];
};

struct description {
    struct tsim_arena *arena;
    struct kept_note *notes;
    size_t n_notes, notes_capacity;
    struct tsim_catalogue_entry *entries;
    size_t n_entries, entries_capacity;
};

static void keep_note(void *context, const struct tsim_note *note) {
    struct description *d = context;
    if (note->is_default && note->status != TSIM_SOURCE_ESTIMATE)
        return;
    d->notes = tsim_heap_grow(d->notes, &d->notes_capacity, d->n_notes + 1, sizeof *d->notes);
    d->notes[d->n_notes++] =
        (struct kept_note){note->path, note->source, note->status, {note->interval[0], note->interval[1]}};
}

static struct tsim_catalogue_entry *add_entry(struct description *d, const char *path, const char *value) {
    static const char *const statuses[] = {[TSIM_SOURCE_READ] = "read",
                                           [TSIM_SOURCE_DERIVED] = "derived",
                                           [TSIM_SOURCE_FITTED] = "fitted",
                                           [TSIM_SOURCE_ESTIMATE] = "estimate"};
    d->entries = tsim_heap_grow(d->entries, &d->entries_capacity, d->n_entries + 1, sizeof *d->entries);
    struct tsim_catalogue_entry *entry = &d->entries[d->n_entries++];
    *entry = (struct tsim_catalogue_entry){.key = path,
                                           .value_si = value,
                                           .number = (double)NAN,
                                           .interval = {(double)NAN, (double)NAN},
                                           .status = "default"};
    for (size_t i = 0; i < d->n_notes; i++)
        if (strcmp(d->notes[i].path, path) == 0) {
            entry->source = d->notes[i].source;
            entry->status = statuses[d->notes[i].status];
            memcpy(entry->interval, d->notes[i].interval, sizeof entry->interval);
        }
    return entry;
}

static void add_number(struct description *d, const char *path, double value, enum tsim_dimension dimension) {
    char text[64];
    tsim_quantity_si(value, dimension, text, sizeof text);
    struct tsim_catalogue_entry *entry = add_entry(d, path, tsim_arena_strdup(d->arena, text));
    const char *blank = strchr(entry->value_si, ' ');
    entry->number = value;
    entry->unit = blank ? blank + 1 : "";
}

static void add_table(struct description *d, const struct tsim_table *table, const char *path, const void *object);

/* Adds a number, with the meaning of its 0: "cuDNN's kernel; 0: as flash3" -> "as flash3". */
static void add_number_of_key(struct description *d, const struct tsim_key *key, const char *path, double value,
                              enum tsim_dimension dimension) {
    static const char MARK[] = "; 0: ";
    const char *mark = key->help ? strstr(key->help, MARK) : NULL;
    add_number(d, path, value, dimension);
    if (value == 0 && mark)
        d->entries[d->n_entries - 1].meaning = mark + sizeof MARK - 1;
}

static void add_list(struct description *d, const struct tsim_key *key, const char *path, const void *field) {
    const size_t *n = (const size_t *)((const char *)field + key->n_offset - key->offset);
    const char *elements;
    memcpy(&elements, field, sizeof elements);
    for (size_t i = 0; i < *n; i++)
        add_table(d, key->described_by, tsim_arena_printf(d->arena, "%s[%zu]", path, i), elements + i * key->size);
}

static void add_key(struct description *d, const struct tsim_key *key, const char *path, const void *field) {
    const char *word = NULL;
    int number;
    switch (key->kind) {
    case TSIM_KEY_STRING:
        if (*(const char *const *)field)
            add_entry(d, path, *(const char *const *)field);
        break;
    case TSIM_KEY_BOOL:
        if (*(const bool *)field || !key->is_omitted_when_zero)
            add_entry(d, path, *(const bool *)field ? "true" : "false");
        break;
    case TSIM_KEY_INT:
        word = *(const int64_t *)field == 0 ? tsim_word_of(key->words, 0) : NULL;
        if (word)
            add_entry(d, path, word);
        else if (*(const int64_t *)field != 0 || !key->is_omitted_when_zero)
            add_number_of_key(d, key, path, (double)*(const int64_t *)field, TSIM_COUNT);
        break;
    case TSIM_KEY_QUANTITY:
        if (*(const double *)field != 0 || !key->is_omitted_when_zero)
            add_number_of_key(d, key, path, *(const double *)field, key->dimension);
        break;
    case TSIM_KEY_ENUM:
        memcpy(&number, field, sizeof number);
        add_entry(d, path, tsim_word_of(key->words, number));
        break;
    case TSIM_KEY_WORDS:
        if (*(const unsigned *)field)
            add_entry(d, path, tsim_words_text(d->arena, key->words, *(const unsigned *)field));
        break;
    case TSIM_KEY_MAPPING:
        add_table(d, key->table, path, field);
        break;
    case TSIM_KEY_LIST:
        add_list(d, key, path, field);
        break;
    case TSIM_KEY_CONSTANT:
    case TSIM_KEY_CUSTOM:
        break;
    }
}

static void add_table(struct description *d, const struct tsim_table *table, const char *path, const void *object) {
    for (size_t i = 0; i < table->n_keys; i++)
        add_key(d, &table->keys[i], tsim_schema_path(d->arena, path, table->keys[i].key),
                (const char *)object + table->keys[i].offset);
}

/* Adds a scenario as it is written: every scalar with its path. */
static void add_tree(struct description *d, const struct tsim_value *value, const char *path) {
    if (value->kind == TSIM_VALUE_SCALAR)
        add_entry(d, path, value->text)->status = "read";
    for (size_t i = 0; i < value->n_items && value->kind == TSIM_VALUE_MAPPING; i++)
        add_tree(d, value->pairs[i].value, tsim_schema_path(d->arena, path, value->pairs[i].key));
    for (size_t i = 0; i < value->n_items && value->kind == TSIM_VALUE_SEQUENCE; i++)
        add_tree(d, value->items[i], tsim_arena_printf(d->arena, "%s[%zu]", path, i));
}

static bool describe_kind(struct description *d, struct tsim_reader *reader, enum tsim_catalogue_kind kind,
                          const struct tsim_value *reference) {
    if (kind == TSIM_CATALOGUE_SCENARIOS) {
        const struct tsim_value *root = tsim_catalogue_resolve(reader, kind, reference, "");
        if (root)
            add_tree(d, root, "");
        return root;
    }
    const void *object = tsim_catalogue_read(reader, kind, reference, "");
    if (!object)
        return false;
    if (kind == TSIM_CATALOGUE_MODELS && ((const struct tsim_model *)object)->list) {
        const struct tsim_value *root = tsim_catalogue_resolve(reader, kind, reference, "");
        add_tree(d, root, "");
        return root;
    }
    add_table(d, tsim_catalogue_table(kind), "", object);
    if (kind == TSIM_CATALOGUE_NODES)
        add_entry(d, "accelerator", ((const struct tsim_node *)object)->accelerator->name)->status = "read";
    return true;
}

enum tsim_status tsim_catalogue_describe(struct tsim_arena *arena, enum tsim_catalogue_kind kind, const char *id,
                                         const struct tsim_catalogue_entry **entries, size_t *n_entries,
                                         struct tsim_diags *diags) {
    struct description d = {.arena = arena};
    struct tsim_reader reader = {.arena = arena, .diags = diags, .note = keep_note, .context = &d};
    struct tsim_document *document = TSIM_NEW(arena, struct tsim_document);
    *document = (struct tsim_document){.arena = arena, .file = tsim_arena_strdup(arena, id), .is_override = true};
    struct tsim_value reference = {.document = document, .text = document->file};
    size_t first = diags->n_items;
    bool is_described = describe_kind(&d, &reader, kind, &reference);
    if (is_described) {
        struct tsim_catalogue_entry *copy = TSIM_NEW_ARRAY(arena, d.n_entries, struct tsim_catalogue_entry);
        for (size_t i = 0; i < d.n_entries; i++)
            copy[i] = d.entries[i];
        *entries = copy;
        *n_entries = d.n_entries;
    }
    tsim_heap_free(d.notes);
    tsim_heap_free(d.entries);
    return is_described ? TSIM_OK : tsim_diags_status(diags, first);
}
