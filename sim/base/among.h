/* among.h - the question whether a text is one of several. */
#ifndef TSIM_BASE_AMONG_H
#define TSIM_BASE_AMONG_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool tsim_is_among(const char *text, const char *const *texts, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(text, texts[i]) == 0)
            return true;
    return false;
}

/* These ask the same of an array, and of texts that stand in the call: TSIM_IS_ONE_OF(word, "yes", "true"). */
#define TSIM_IS_AMONG(text, array) tsim_is_among(text, array, sizeof(array) / sizeof(array)[0])
#define TSIM_IS_ONE_OF(text, ...)                                                                                      \
    tsim_is_among(text, (const char *const[]){__VA_ARGS__},                                                            \
                  sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

#endif
