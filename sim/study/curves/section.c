#include "study/curves/section.h"

#include <string.h>

enum tsim_status tsim_section_find(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                   const struct tsim_override *overrides, size_t n_overrides,
                                   const struct tsim_value **section, struct tsim_diags *diags) {
    struct tsim_override *own = TSIM_NEW_ARRAY(arena, n_overrides, struct tsim_override);
    const struct tsim_value *root = source->root;
    size_t n = 0;
    for (size_t i = 0; i < n_overrides; i++)
        if (tsim_is_sweep_path(overrides[i].path))
            own[n++] = overrides[i];
    *section = NULL;
    TSIM_TRY(tsim_scenario_override(arena, own, n, &root, diags));
    const struct tsim_value *found = tsim_value_find(root, "sweep");
    if (found && found->kind == TSIM_VALUE_MAPPING)
        *section = found;
    return TSIM_OK;
}

static enum tsim_status read_where(struct tsim_arena *arena, const struct tsim_value *section, const char *word,
                                   const struct tsim_filter **filter, struct tsim_diags *diags) {
    const struct tsim_value *where = tsim_value_find(section, "where");
    if (word)
        return tsim_filter_parse(arena, "--where", word, filter, diags);
    if (!where)
        return TSIM_OK;
    if (where->kind == TSIM_VALUE_SCALAR)
        return tsim_filter_read(arena, where, "sweep.where", filter, diags);
    tsim_value_error(diags, TSIM_ERR_SCHEMA, where, "sweep.where", "expected a condition, found %s",
                     tsim_value_kind_name(where));
    return TSIM_ERR_SCHEMA;
}

/* Reads all parts, and returns the first failure. */
static enum tsim_status read_rest(struct tsim_arena *arena, const struct tsim_value *section,
                                  const struct tsim_section_words *words, enum tsim_status status,
                                  struct tsim_section *read, struct tsim_diags *diags) {
    enum tsim_status ranked = tsim_ranking_read(arena, section, words->objective, &read->ranking, diags);
    enum tsim_status filtered = read_where(arena, section, words->where, &read->filter, diags);
    return status != TSIM_OK ? status : ranked != TSIM_OK ? ranked : filtered;
}

static bool choice_sets(const struct tsim_choice *choice, const char *path) {
    for (size_t i = 0; i < choice->n_settings; i++)
        if (strcmp(choice->settings[i].path, path) == 0)
            return true;
    return false;
}

/* Tells whether the space sets the path at every point. */
static bool space_sets(const struct tsim_space *space, const char *path) {
    for (size_t a = 0; a < space->n_axes; a++) {
        size_t n = 0;
        while (n < space->axes[a].n_choices && choice_sets(&space->axes[a].choices[n], path))
            n++;
        if (n == space->axes[a].n_choices)
            return true;
    }
    return false;
}

static void warn_of_hidden(struct tsim_arena *arena, const struct tsim_section_words *words,
                           const struct tsim_space *space, struct tsim_diags *diags) {
    for (size_t i = 0; i < words->n_overrides; i++) {
        const struct tsim_override *set = &words->overrides[i];
        const char *place = tsim_arena_printf(arena, "--set %s=%s", set->path, set->value);
        if (!tsim_is_sweep_path(set->path) && space_sets(space, set->path))
            tsim_diag_hint(
                tsim_diags_warning(diags, (struct tsim_place){place, 0, 0}, set->path,
                                   "this has no effect, because the axes of the sweep set it at every point"),
                "--vary %s=%s in place of the axes", set->path, set->value);
    }
}

enum tsim_status tsim_section_read(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                   const struct tsim_section_words *words, struct tsim_section *section,
                                   struct tsim_diags *diags) {
    const struct tsim_value *found;
    struct tsim_section read = {.filter = NULL};
    TSIM_TRY(tsim_section_find(arena, source, words->overrides, words->n_overrides, &found, diags));
    enum tsim_status status = tsim_space_read(arena, found, &words->space, &read.space, diags);
    TSIM_TRY(read_rest(arena, found, words, status, &read, diags));
    warn_of_hidden(arena, words, &read.space, diags);
    *section = read;
    return TSIM_OK;
}

struct tsim_override *tsim_overrides_of_points(struct tsim_arena *arena, const struct tsim_override *overrides,
                                               size_t n, size_t *n_left) {
    struct tsim_override *left = TSIM_NEW_ARRAY(arena, n, struct tsim_override);
    *n_left = 0;
    for (size_t i = 0; i < n; i++)
        if (!tsim_is_sweep_path(overrides[i].path))
            left[(*n_left)++] = overrides[i];
    return left;
}

enum tsim_status tsim_section_check(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                    const struct tsim_override *overrides, size_t n_overrides, bool is_valid,
                                    struct tsim_diags *diags) {
    const struct tsim_section_words none = {.overrides = overrides, .n_overrides = n_overrides};
    const struct tsim_value *found;
    struct tsim_section section;
    TSIM_TRY(tsim_section_find(arena, source, overrides, n_overrides, &found, diags));
    if (!found)
        return TSIM_OK;
    if (!tsim_value_find(found, "axes") && !tsim_value_find(found, "zip") && !tsim_value_find(found, "points"))
        return read_rest(arena, found, &none, tsim_space_check_keys(found, diags), &section, diags);
    TSIM_TRY(tsim_section_read(arena, source, &none, &section, diags));
    const struct tsim_sweep sweep = {
        .source = source, .space = &section.space, .overrides = overrides, .n_overrides = n_overrides, .n_shards = 1};
    return is_valid ? tsim_sweep_check(arena, &sweep, diags) : TSIM_OK;
}
