#include "import/setting_class.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

bool tsim_value_is_null(const struct tsim_value *value) {
    return value->kind == TSIM_VALUE_SCALAR && !value->is_quoted &&
           (strcmp(value->text, "null") == 0 || strcmp(value->text, "None") == 0 || strcmp(value->text, "~") == 0 ||
            value->text[0] == '\0');
}

bool tsim_value_is_off(const struct tsim_value *value) {
    static const char *const OFF[] = {"false", "False", "0", "0.0", "none", "no"};
    if (value->kind == TSIM_VALUE_SEQUENCE && value->n_items == 1)
        value = value->items[0];
    for (size_t i = 0; i < sizeof OFF / sizeof OFF[0]; i++)
        if (tsim_value_is_text(value, OFF[i]))
            return true;
    return tsim_value_is_null(value) || (value->kind != TSIM_VALUE_SCALAR && value->n_items == 0);
}

/* A value matches where one of its items does. */
static bool value_matches(const char *pattern, const struct tsim_value *value) {
    for (size_t i = 0; value->kind == TSIM_VALUE_SEQUENCE && i < value->n_items; i++)
        if (value->items[i]->kind == TSIM_VALUE_SCALAR && fnmatch(pattern, value->items[i]->text, 0) == 0)
            return true;
    return value->kind == TSIM_VALUE_SCALAR && fnmatch(pattern, value->text, 0) == 0;
}

static bool matches(const char *pattern, const char *key, const struct tsim_value *value) {
    char key_pattern[128];
    size_t length = strcspn(pattern, "=");
    snprintf(key_pattern, sizeof key_pattern, "%.*s", (int)length, pattern);
    return fnmatch(key_pattern, key, 0) == 0 && (!pattern[length] || value_matches(pattern + length + 1, value));
}

const struct tsim_setting_class *tsim_setting_class_of(const char *key, const struct tsim_value *value,
                                                       const struct tsim_setting_class *classes, size_t n_classes) {
    for (size_t i = 0; i < n_classes; i++)
        for (const char *at = classes[i].patterns; *at; at += strspn(at, " ")) {
            char pattern[128];
            size_t length = strcspn(at, " ");
            snprintf(pattern, sizeof pattern, "%.*s", (int)length, at);
            if (matches(pattern, key, value))
                return &classes[i];
            at += length;
        }
    return NULL;
}
