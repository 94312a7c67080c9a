/* Each unit test file is a program of its own: TSIM_TEST_MAIN(suite_function) gives it a main(). */
#pragma once

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define TSIM_TEST_MAIN(suite_function)                                                                                 \
    int main(void) {                                                                                                   \
        SRunner *runner = srunner_create(suite_function());                                                            \
        srunner_run_all(runner, CK_ENV);                                                                               \
        int n_failed = srunner_ntests_failed(runner);                                                                  \
        srunner_free(runner);                                                                                          \
        return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;                                                                 \
    }

/* TSIM_CASE_MAIN gives a file whose tests are one case that main(): so many seconds for each test, what comes before and
 * after it (or NULL), and the tests. */
#define CHECKS_LIMIT_S (-1.0) /* CK_DEFAULT_TIMEOUT, or 4 s */
#define NO_LIMIT_S 0.0        /* TSIM_CASES says how long it takes */
#define TSIM_CASE_MAIN(name, limit_s, before, after, ...)                                                              \
    static Suite *suite_of_one_case(void) {                                                                            \
        const TTest *const tests[] = {__VA_ARGS__};                                                                    \
        Suite *suite = suite_create(name);                                                                             \
        TCase *tcase = tcase_create(name);                                                                             \
        tcase_add_checked_fixture(tcase, before, after);                                                               \
        if ((limit_s) >= 0)                                                                                            \
            tcase_set_timeout(tcase, limit_s);                                                                         \
        for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)                                                    \
            tcase_add_test(tcase, tests[i]);                                                                           \
        suite_add_tcase(suite, tcase);                                                                                 \
        return suite;                                                                                                  \
    }                                                                                                                  \
    TSIM_TEST_MAIN(suite_of_one_case)

/* A message is known by a key word; its whole text stands once, in tests/cli (tests/messages.py). */
#define assert_says(text, part) ck_assert_msg(strstr(text, part) != NULL, "'%s' does not say '%s'", text, part)

/* Does what ck_assert_msg does, for inner loops: Check reports every assertion that holds through a file, a microsecond each. */
#define TSIM_ALWAYS(condition, ...)                                                                                    \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            ck_abort_msg(__VA_ARGS__);                                                                                 \
    } while (0)
