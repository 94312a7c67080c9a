/* damage.h - a text that is cut, and one that has a byte changed to another that means something to its readers, at
 * every byte or at some. */
#pragma once

#include "support/arena_rig.h"
#include "support/random.h"

#include <string.h>

enum { DAMAGE_MOST_BYTES = 1 << 14 };

struct damage {
    const char *junk; /* bytes to change to; a 0 is always one of them */
    int32_t changes;  /* of each byte, beside the cut before it */
    int32_t apart;    /* mean distance of the bytes that are tried, in bytes; 1 = every one */
    uint64_t seed;
};

/* Reads `text` of `size` bytes, which is not terminated by 0, and asserts what must hold of any damage done. */
typedef void damage_reader(const void *context, const char *text, size_t size);

/* Between two calls the rig's arena and diagnostics are emptied. */
static inline void damage_everywhere(const struct damage *damage, const char *text, size_t size, damage_reader *read,
                                     const void *context) {
    static char copy[DAMAGE_MOST_BYTES];
    struct random_source random = {damage->seed};
    int32_t n_junk = (int32_t)strlen(damage->junk);
    ck_assert_uint_le(size, sizeof copy);
    memcpy(copy, text, size);
    for (size_t at = 0; at < size; at += (size_t)random_between(&random, 1, 2 * damage->apart - 1))
        for (int32_t i = 0; i <= damage->changes; i++) {
            if (i > 0)
                copy[at] = damage->junk[random_between(&random, 0, n_junk)];
            read(context, copy, i > 0 ? size : at);
            copy[at] = text[at];
            tsim_diags_release(&diags);
            tsim_diags_init(&diags);
            tsim_arena_reset(&arena);
        }
}

/* The bytes of the file, until the next call; their number goes to `size`. */
static inline const char *damage_file(const char *file, size_t *size) {
    static char text[DAMAGE_MOST_BYTES];
    FILE *stream = fopen(file, "r");
    ck_assert_ptr_nonnull(stream);
    *size = fread(text, 1, sizeof text, stream);
    fclose(stream);
    return text;
}
