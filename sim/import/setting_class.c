#include "import/setting_class.h"

#include "base/among.h"

#include <fnmatch.h>
#include <string.h>

bool tsim_value_is_null(const struct tsim_value *value) {
    return value->kind == TSIM_VALUE_SCALAR && !value->is_quoted &&
           TSIM_IS_ONE_OF(value->text, "null", "None", "~", "");
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

/* The pattern of LENGTH characters is one of keys, or KEY=VALUE. Most begin with another letter than the key, which is seen without
 * fnmatch. */
static bool matches(const char *pattern, size_t length, const char *key, const struct tsim_value *value) {
    char text[128];
    if (pattern[0] != key[0] && !strchr("*?[", pattern[0]))
        return false;
    length = length < sizeof text ? length : sizeof text - 1;
    memcpy(text, pattern, length);
    text[length] = '\0';
    char *equals = strchr(text, '=');
    if (equals)
        *equals = '\0';
    return fnmatch(text, key, 0) == 0 && (!equals || value_matches(equals + 1, value));
}

const struct tsim_setting_class *tsim_setting_class_of(const char *key, const struct tsim_value *value,
                                                       const struct tsim_setting_class *classes, size_t n_classes) {
    for (size_t i = 0; i < n_classes; i++)
        for (const char *at = classes[i].patterns; *at; at += strspn(at, " ")) {
            size_t length = strcspn(at, " ");
            if (matches(at, length, key, value))
                return &classes[i];
            at += length;
        }
    return NULL;
}
