/* lower.h - foreign names in small letters, so that a part of one is found whatever its case. */
#pragma once

#include <ctype.h>
#include <stddef.h>

/* Writes `text` in small letters into `lower`, which has room for `size` > 0 bytes, and cuts longer texts. Returns
 * `lower`. */
static inline char *tsim_lower(const char *text, char *lower, size_t size) {
    size_t n = 0;
    for (; text[n] && n + 1 < size; n++)
        lower[n] = (char)tolower((unsigned char)text[n]);
    lower[n] = '\0';
    return lower;
}
