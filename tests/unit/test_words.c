/* Words read as they were put, one by one or many at once. */
#include "base/words.h"
#include "support/check_main.h"

#include <float.h>
#include <math.h>

static struct tsim_words words;

static void tear_down(void) {
    tsim_words_release(&words);
}

TSIM_TEST(all_at_once_are_the_same) {
    static const int64_t ALL[] = {0, 1, -1, 63, INT64_MAX, 0, INT64_MIN, 7};
    const size_t n = sizeof ALL / sizeof ALL[0];
    struct tsim_words one_by_one = {0};
    for (int round = 0; round < 20; round++) {
        tsim_words_put_all(&words, ALL, n);
        for (size_t i = 0; i < n; i++)
            tsim_words_put(&one_by_one, ALL[i]);
    }
    ck_assert_uint_eq(words.n, one_by_one.n);
    ck_assert_mem_eq(words.words, one_by_one.words, words.n * sizeof *words.words);
    tsim_words_release(&one_by_one);
}

/* Words and doubles of every kind are read by their bits. */
TSIM_TEST(what_is_put_is_read) {
    static const double DOUBLES[] = {0, -0.0, 1, -1, 0.1, 1e300, -DBL_MIN, DBL_TRUE_MIN, DBL_MAX, HUGE_VAL};
    for (int64_t i = -32; i < 32; i++)
        tsim_words_put(&words, i * ((int64_t)1 << 57));
    for (size_t i = 0; i < sizeof DOUBLES / sizeof DOUBLES[0]; i++)
        tsim_words_put_double(&words, DOUBLES[i]);
    const int64_t *at = words.words;
    for (int64_t i = -32; i < 32; i++)
        ck_assert_int_eq(tsim_words_next(&at), i * ((int64_t)1 << 57));
    for (size_t i = 0; i < sizeof DOUBLES / sizeof DOUBLES[0]; i++) {
        double read = tsim_words_next_double(&at);
        ck_assert_mem_eq(&read, &DOUBLES[i], sizeof read);
    }
    ck_assert_ptr_eq(at, words.words + words.n);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, tear_down)
