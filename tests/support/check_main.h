/* Each unit test file is a program of its own. TSIM_TEST(name) { ... } is a test that runs by standing there; TSIM_MAIN, the
 * last line, gives the file its main(). */
#pragma once

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* Returns the case that all tests of a file are. */
static inline TCase *tsim_test_case(void) {
    static TCase *all;
    if (!all)
        all = tcase_create("all");
    return all;
}

/* The test is run for _i from `first` to before `end`, each time in a process that must exit with `status`. */
#define TSIM_EXIT_TEST_LOOP(name, status, first, end)                                                                  \
    static const TTest *name;                                                                                          \
    __attribute__((constructor)) static void name##_joins(void) {                                                      \
        tcase_add_loop_exit_test(tsim_test_case(), name, status, first, end);                                          \
    }                                                                                                                  \
    START_TEST(name)
#define TSIM_TEST(name) TSIM_EXIT_TEST_LOOP(name, 0, 0, 1)
#define TSIM_EXIT_TEST(name, status) TSIM_EXIT_TEST_LOOP(name, status, 0, 1)
#define TSIM_TEST_LOOP(name, first, end) TSIM_EXIT_TEST_LOOP(name, 0, first, end)
#define TSIM_TEST_ROWS(name, table) TSIM_EXIT_TEST_LOOP(name, 0, 0, LENGTH(table)) /* _i is a row */

/* START_TEST ... END_TEST would be a test that nobody runs. */
#undef END_TEST
#pragma GCC poison END_TEST

/* Each test may take so many seconds, and has `before` and `after` run around it (or NULL). */
#define CHECKS_LIMIT_S (-1.0) /* CK_DEFAULT_TIMEOUT, or 4 s */
#define NO_LIMIT_S 0.0        /* TSIM_CASES says how long it takes */
#define TSIM_MAIN(limit_s, before, after)                                                                              \
    int main(void) {                                                                                                   \
        Suite *suite = suite_create(__FILE__);                                                                         \
        tcase_add_checked_fixture(tsim_test_case(), before, after);                                                    \
        if ((limit_s) >= 0)                                                                                            \
            tcase_set_timeout(tsim_test_case(), limit_s);                                                              \
        suite_add_tcase(suite, tsim_test_case());                                                                      \
        SRunner *runner = srunner_create(suite);                                                                       \
        srunner_run_all(runner, CK_ENV);                                                                               \
        int n_failed = srunner_ntests_failed(runner);                                                                  \
        srunner_free(runner);                                                                                          \
        return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;                                                                 \
    }

/* A message is known by a key word; its whole text stands once, in tests/cli (tests/messages.py). */
#define assert_says(text, part) ck_assert_msg(strstr(text, part) != NULL, "'%s' does not say '%s'", text, part)

/* Does what ck_assert_msg does, for inner loops: Check reports every assertion that holds through a file, a microsecond each. */
#define TSIM_ALWAYS(condition, ...)                                                                                    \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            ck_abort_msg(__VA_ARGS__);                                                                                 \
    } while (0)
