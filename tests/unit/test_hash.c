/* The hash against published values: keys of points must be the same on every machine. */
#include "base/hash.h"
#include "support/check_main.h"

#include <string.h>

static const char *hash_of(const char *a, const char *b) {
    static char text[TSIM_HASH_TEXT_SIZE];
    struct tsim_hash hash;
    tsim_hash_init(&hash);
    if (a)
        tsim_hash_add(&hash, a);
    if (b)
        tsim_hash_add(&hash, b);
    tsim_hash_text(&hash, text);
    return text;
}

/* FNV-1a with 128 bits, of the bytes and a NUL after each text; by integers of any size (h ^ byte) (2^88 + 0x13b)
 * modulo 2^128 in another program. That of nothing is the offset basis. */
TSIM_TEST(known_values) {
    ck_assert_str_eq(hash_of(NULL, NULL), "6c62272e07bb014262b821756295c58d");
    ck_assert_str_eq(hash_of("a", NULL), "0880954519ab1be95aa0733055b70e0c");
    ck_assert_str_eq(hash_of("ab", "c"), "3275330bec83d94f708144878a7ef76d");
}

TSIM_TEST(texts_do_not_run_together) {
    char first[TSIM_HASH_TEXT_SIZE];
    strcpy(first, hash_of("ab", "c"));
    ck_assert_str_ne(first, hash_of("a", "bc"));
    strcpy(first, hash_of("", NULL));
    ck_assert_str_ne(first, hash_of("", ""));
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
