/* among.h - the questions whether a text is another, and whether it is one of several. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* For the many that differ in their first letter: no call. */
static inline bool tsim_is_same_text(const char *a, const char *b) {
    return a[0] == b[0] && strcmp(a, b) == 0;
}

static inline bool tsim_is_among(const char *text, const char *const *texts, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (tsim_is_same_text(text, texts[i]))
            return true;
    return false;
}

/* These ask the same of an array, and of texts that stand in the call: TSIM_IS_ONE_OF(word, "yes", "true"). */
#define TSIM_IS_AMONG(text, array) tsim_is_among(text, array, sizeof(array) / sizeof(array)[0])
#define TSIM_IS_ONE_OF(text, ...)                                                                                      \
    tsim_is_among(text, (const char *const[]){__VA_ARGS__},                                                            \
                  sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
