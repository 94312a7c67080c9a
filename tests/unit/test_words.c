/* Words read as they were put, and in so many bytes as words.h says. */
#include "base/words.h"
#include "support/check_main.h"

#include <float.h>
#include <math.h>

static struct tsim_words words;

static void tear_down(void) {
    tsim_words_release(&words);
}

static size_t bytes_of(int64_t word) {
    size_t before = words.n;
    tsim_words_put(&words, word);
    return words.n - before;
}

/* Twice the number, and one more for the sign, in one byte below 128, else behind a byte that counts them. */
START_TEST(small_words_take_few_bytes) {
    ck_assert_uint_eq(bytes_of(0), 1);
    ck_assert_uint_eq(bytes_of(63), 1);
    ck_assert_uint_eq(bytes_of(-64), 1);
    ck_assert_uint_eq(bytes_of(64), 2);
    ck_assert_uint_eq(bytes_of(-65), 2);
    ck_assert_uint_eq(bytes_of(127), 2);
    ck_assert_uint_eq(bytes_of(128), 3);
    ck_assert_uint_eq(bytes_of(INT64_MAX), 9);
    ck_assert_uint_eq(bytes_of(INT64_MIN), 9);
}
END_TEST

/* Many at once are the same bytes as one after the other. */
START_TEST(all_at_once_are_the_same) {
    static const int64_t ALL[] = {0, 1, -1, 63, 64, -65, INT64_MAX, 0, INT64_MIN, 7};
    const size_t n = sizeof ALL / sizeof ALL[0];
    struct tsim_words one_by_one = {0};
    for (int round = 0; round < 20; round++) {
        tsim_words_put_all(&words, ALL, n);
        for (size_t i = 0; i < n; i++)
            tsim_words_put(&one_by_one, ALL[i]);
    }
    ck_assert(tsim_words_equal(&words, &one_by_one));
    tsim_words_release(&one_by_one);
}
END_TEST

/* Around every power of two, both signs; and doubles of every kind, by their bits. */
START_TEST(what_is_put_is_read) {
    static const double DOUBLES[] = {0, -0.0, 1, -1, 0.1, 1e300, -DBL_MIN, DBL_TRUE_MIN, DBL_MAX, HUGE_VAL};
    for (int bit = 0; bit < 63; bit++)
        for (int64_t near = -1; near <= 1; near++) {
            tsim_words_put(&words, ((int64_t)1 << bit) + near);
            tsim_words_put(&words, -((int64_t)1 << bit) + near);
        }
    for (size_t i = 0; i < sizeof DOUBLES / sizeof DOUBLES[0]; i++)
        tsim_words_put_double(&words, DOUBLES[i]);
    const uint8_t *at = words.bytes;
    for (int bit = 0; bit < 63; bit++)
        for (int64_t near = -1; near <= 1; near++) {
            ck_assert_int_eq(tsim_words_next(&at), ((int64_t)1 << bit) + near);
            ck_assert_int_eq(tsim_words_next(&at), -((int64_t)1 << bit) + near);
        }
    for (size_t i = 0; i < sizeof DOUBLES / sizeof DOUBLES[0]; i++) {
        double read = tsim_words_next_double(&at);
        ck_assert_mem_eq(&read, &DOUBLES[i], sizeof read);
    }
    ck_assert_ptr_eq(at, words.bytes + words.n);
}
END_TEST

static Suite *words_suite(void) {
    Suite *suite = suite_create("words");
    TCase *tcase = tcase_create("words");
    tcase_add_checked_fixture(tcase, NULL, tear_down);
    tcase_add_test(tcase, all_at_once_are_the_same);
    tcase_add_test(tcase, small_words_take_few_bytes);
    tcase_add_test(tcase, what_is_put_is_read);
    suite_add_tcase(suite, tcase);
    return suite;
}

TSIM_TEST_MAIN(words_suite)
