#include "import/launches/hydra.h"

#include "config/text/document.h"

#include <string.h>

enum { MOST_FILES = 64, MOST_DEPTH = 8, MOST_NAME = 200 };

struct reading {
    struct tsim_arena *arena;
    const struct tsim_import_input *input;
    struct tsim_diags *diags;
    int n_files;
};

static const struct tsim_value *compose(struct reading *g, const char *folder, const struct tsim_value *root,
                                        int depth);

static bool is_name(const char *text) {
    return *text && strlen(text) < MOST_NAME && !strstr(text, "..") && !strpbrk(text, "$ ");
}

/* Returns the mapping below a path of dots; itself at "". */
static const struct tsim_value *below(struct reading *g, const char *path, const struct tsim_value *value) {
    for (const char *dot = path + strlen(path); dot > path;) {
        const char *end = dot;
        while (dot > path && dot[-1] != '.')
            dot--;
        const struct tsim_pair pair = {.key = tsim_arena_strndup(g->arena, dot, (size_t)(end - dot)), .value = value};
        value = tsim_value_new_mapping(g->arena, value, &pair, 1);
        dot -= dot > path;
    }
    return value;
}

/* The first line of a file may say that its keys belong to the top. */
static bool is_global(const char *text) {
    const char *at = strstr(text, "@package"), *line = strchr(text, '\n');
    return at && (!line || at < line) && strstr(at, "_global_") && strstr(at, "_global_") < at + 24;
}

/* Reads FOLDER/NAME.yaml and composes it. Returns NULL if it is not there. */
static const struct tsim_value *read_file(struct reading *g, const char *folder, const char *name, const char *package,
                                          int depth) {
    const char *dot = strrchr(name, '.');
    const bool has_ending = dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
    const char *path = tsim_arena_printf(g->arena, "%s%s%s", folder, name, has_ending ? "" : ".yaml"),
               *slash = strrchr(path, '/');
    const struct tsim_value *root;
    size_t size = 0;
    const char *text = g->input->read_beside && g->n_files++ < MOST_FILES && depth < MOST_DEPTH
                           ? g->input->read_beside(g->arena, g->input->file, path, &size)
                           : NULL;
    if (!text || tsim_document_parse_wide(g->arena, path, text, size, &root, g->diags) != TSIM_OK ||
        root->kind != TSIM_VALUE_MAPPING)
        return NULL;
    root = compose(g, slash ? tsim_arena_strndup(g->arena, path, (size_t)(slash + 1 - path)) : "", root, depth + 1);
    return below(g, is_global(text) ? "" : package, root);
}

/* Adds "model: llama", "optional tp_overlap@model.cfg: x" or "override /db: y" with its name: `base` with the file laid
 * over it. */
static const struct tsim_value *add_option(struct reading *g, const char *folder, const struct tsim_pair *pair,
                                           const struct tsim_value *base, int depth) {
    const char *group = pair->key, *package;
    const bool is_optional = strncmp(group, "optional ", 9) == 0;
    group += is_optional ? 9 : strncmp(group, "override ", 9) == 0 ? 9 : 0;
    const bool is_absolute = *group == '/';
    group += is_absolute;
    const char *at = strchr(group, '@');
    char *path = tsim_arena_strndup(g->arena, group, at ? (size_t)(at - group) : strlen(group)), *dotted;
    package = at ? at + 1 : (dotted = tsim_arena_strdup(g->arena, path));
    for (char *c = at ? NULL : dotted; c && *c; c++)
        *c = *c == '/' ? '.' : *c;
    package = strcmp(package, "_global_") == 0 || strcmp(package, "_here_") == 0 ? "" : package;
    if (pair->value->kind != TSIM_VALUE_SCALAR || pair->value->text[0] == '\0' ||
        strcmp(pair->value->text, "null") == 0 || strncmp(path, "hydra", 5) == 0)
        return base;
    const char *name = tsim_arena_printf(g->arena, "%s/%s", path, pair->value->text);
    const struct tsim_value *more =
        is_name(name) ? read_file(g, is_absolute ? "" : folder, name, package, depth) : NULL;
    if (!more && !is_optional)
        tsim_value_warning(g->diags, pair->value, pair->key,
                           "%.100s.yaml is not beside it, so its settings are unknown", name);
    return more ? tsim_value_merge(g->arena, base, more) : base;
}

static const struct tsim_value *compose(struct reading *g, const char *folder, const struct tsim_value *root,
                                        int depth) {
    const struct tsim_value *list = tsim_value_find(root, "defaults"), *all = NULL, *own;
    bool is_in = false;
    if (!list || list->kind != TSIM_VALUE_SEQUENCE)
        return root;
    own = tsim_value_without(g->arena, root, "defaults");
    for (size_t i = 0; i < list->n_items; i++) {
        const struct tsim_value *item = list->items[i];
        if (item->kind == TSIM_VALUE_MAPPING && item->n_items == 1) {
            all = add_option(g, folder, &item->pairs[0], all, depth);
        } else if (item->kind == TSIM_VALUE_SCALAR && strcmp(item->text, "_self_") == 0) {
            all = tsim_value_merge(g->arena, all, own);
            is_in = true;
        } else if (item->kind == TSIM_VALUE_SCALAR && is_name(item->text)) {
            const struct tsim_value *more = read_file(g, folder, item->text, "", depth);
            if (more)
                all = tsim_value_merge(g->arena, all, more);
            else
                tsim_value_warning(g->diags, item, "defaults",
                                   "%.100s.yaml is not beside it, so its settings are unknown", item->text);
        }
    }
    return is_in ? all : tsim_value_merge(g->arena, all, own);
}

const struct tsim_value *tsim_hydra_compose(struct tsim_arena *arena, const struct tsim_import_input *input,
                                            const struct tsim_value *root, struct tsim_diags *diags) {
    struct reading g = {.arena = arena, .input = input, .diags = diags};
    return compose(&g, "", root, 0);
}
