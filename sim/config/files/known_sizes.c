#include "config/files/known_sizes.h"

#include "config/files/catalogue_keys.h"

#include <stdlib.h>
#include <string.h>

enum { N_SIZES = 10 };

/* Returns the number at a path; `other` if nothing is there, -1 if it is no plain number. */
static long long number_at(const struct tsim_value *mapping, const char *path, long long other) {
    const struct tsim_value *value = tsim_value_find_path(mapping, path);
    if (value && value->kind == TSIM_VALUE_MAPPING)
        value = tsim_value_find(value, "value");
    if (!value)
        return other;
    char *end = NULL;
    long long number = value->kind == TSIM_VALUE_SCALAR ? strtoll(value->text, &end, 10) : -1;
    return end && end != value->text && *end == '\0' ? number : -1;
}

static bool find_sizes(const struct tsim_value *m, long long sizes[N_SIZES]) {
    long long hidden = number_at(m, "hidden", -1), heads = number_at(m, "heads", -1);
    long long ffn = number_at(m, "ffn_hidden", 4 * hidden), experts = number_at(m, "experts.count", 0);
    long long found[N_SIZES] = {number_at(m, "layers", -1),
                                hidden,
                                heads,
                                number_at(m, "kv_heads", heads),
                                number_at(m, "head_dim", heads > 0 ? hidden / heads : -1),
                                ffn,
                                number_at(m, "vocab", -1),
                                experts,
                                number_at(m, "experts.active", 0),
                                experts > 0 ? number_at(m, "experts.ffn_hidden", ffn) : 0};
    for (int i = 0; i < N_SIZES; i++) {
        if (found[i] < 0)
            return false;
        sizes[i] = found[i];
    }
    return true;
}

static const struct tsim_key *find_key(const struct tsim_table *table, const char *name) {
    for (size_t i = 0; table && i < table->n_keys; i++)
        if (strcmp(table->keys[i].key, name) == 0)
            return &table->keys[i];
    return NULL;
}

/* Names what `known` has, `own` leaves out, and is not its key's default. */
static const char *name_missing(struct tsim_arena *arena, const struct tsim_table *table,
                                const struct tsim_value *known, const struct tsim_value *own, const char *prefix,
                                const char *names) {
    for (size_t i = 0; i < known->n_items; i++) {
        const struct tsim_pair *pair = &known->pairs[i];
        const struct tsim_key *key = find_key(table, pair->key);
        const struct tsim_value *mine = tsim_value_find(own, pair->key);
        bool is_default = key && key->default_text && tsim_value_is_text(pair->value, key->default_text);
        bool is_inner = pair->value->kind == TSIM_VALUE_MAPPING && key && key->kind == TSIM_KEY_MAPPING;
        if (mine && mine->kind == TSIM_VALUE_MAPPING && is_inner)
            names =
                name_missing(arena, key->table, pair->value, mine, tsim_arena_printf(arena, "%s.", pair->key), names);
        else if (!mine && !is_default)
            names = tsim_arena_printf(arena, "%s%s%s%s", names, *names ? ", " : "", prefix, pair->key);
    }
    return names;
}

const struct tsim_value *tsim_model_completed(struct tsim_reader *reader, const struct tsim_value *mapping,
                                              const char *path) {
    static const char *const NOT_TAKEN[] = {"schema", "name", "source", "kind", "kv_heads", "head_dim", "ffn_hidden"};
    long long own[N_SIZES], sizes[N_SIZES];
    if (!mapping || mapping->kind != TSIM_VALUE_MAPPING || tsim_value_find(mapping, "extends") ||
        tsim_value_find(mapping, "schema") || tsim_value_find(mapping, "kind"))
        return mapping;
    const struct tsim_value *name = tsim_value_find(mapping, "name");
    if (!name || name->kind != TSIM_VALUE_SCALAR ||
        !tsim_catalogue_file(reader->arena, TSIM_CATALOGUE_MODELS, name->text))
        return mapping;
    const struct tsim_value *known = tsim_catalogue_resolve(reader, TSIM_CATALOGUE_MODELS, name, path);
    if (known && !tsim_value_find(mapping, "hidden")) {
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, mapping, path,
                                        "the name %.40s alone takes nothing from the catalogue", name->text),
                       "extends: %.40s takes over all that this leaves out", name->text);
        return tsim_value_merge(reader->arena, known, mapping);
    }
    if (!known || !find_sizes(mapping, own) || !find_sizes(known, sizes) || memcmp(own, sizes, sizeof sizes) != 0)
        return mapping;
    for (size_t i = 0; i < sizeof NOT_TAKEN / sizeof NOT_TAKEN[0]; i++)
        known = tsim_value_without(reader->arena, known, NOT_TAKEN[i]);
    const char *missing = name_missing(reader->arena, &tsim_model_table, known, mapping, "", "");
    if (!*missing)
        return mapping;
    tsim_diag_hint(
        tsim_value_warning(reader->diags, mapping, path,
                           "this has the name and the sizes of %.40s, and what that has and this leaves out is "
                           "taken from it: %.200s",
                           name->text, missing),
        "model: %.40s; or another name, or these keys as they are here", name->text);
    return tsim_value_merge(reader->arena, known, mapping);
}
