/* recipe_short.h - private to import: short names for what every reader of a program's recipe does. Only such readers
 * include it, because its names have no prefix. */
#pragma once

#include "import/launches/recipe.h"

#include <string.h>

static inline const struct tsim_setting *find(struct tsim_recipe *r, const char *key) {
    return tsim_recipe_find(r, key);
}

static inline bool is_on(struct tsim_recipe *r, const char *key) {
    return tsim_recipe_flag(r, key, false);
}

static inline bool has_text(const struct tsim_setting *s, const char *part) {
    return s && strstr(tsim_setting_text(s), part);
}

/* Adds a setting of another value, at the place of `from`; NULL: it is the program's default. */
static inline void add(struct tsim_recipe *r, const struct tsim_setting *from, const char *key, const char *text) {
    tsim_recipe_add(r, from ? from->name : tsim_arena_printf(r->arena, "%s's default", r->program), key,
                    tsim_value_new_scalar(r->arena, from ? from->value : &r->at_top, text));
}

static inline void add_int(struct tsim_recipe *r, const struct tsim_setting *from, const char *key, int64_t value) {
    add(r, from, key, tsim_arena_printf(r->arena, "%lld", (long long)value));
}

/* Adds the setting under another key, if it is there. */
static inline void add_as(struct tsim_recipe *r, const struct tsim_setting *s, const char *key) {
    if (s)
        tsim_recipe_add(r, s->name, key, s->value);
}

/* Adds settings under other keys, {theirs, ours}; with `keeps`, only if none has the other key yet. */
static inline void add_renamed(struct tsim_recipe *r, const char *const (*names)[2], size_t n, bool keeps) {
    for (size_t i = 0; i < n; i++)
        if (!keeps || !tsim_recipe_find(r, names[i][1]))
            add_as(r, tsim_recipe_find(r, names[i][0]), names[i][1]);
}
