/* Each unit test file is a program of its own: TSIM_TEST_MAIN(suite_function) gives it a main(). */
#ifndef TSIM_TESTS_SUPPORT_CHECK_MAIN_H
#define TSIM_TESTS_SUPPORT_CHECK_MAIN_H

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

/* A message is known by a key word; its whole text stands once, in tests/cli (tests/messages.py). */
#define assert_says(text, part) ck_assert_msg(strstr(text, part) != NULL, "'%s' does not say '%s'", text, part)

/* Does what ck_assert_msg does, for inner loops: Check reports every assertion that holds through a file, a microsecond each. */
#define TSIM_ALWAYS(condition, ...)                                                                                    \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            ck_abort_msg(__VA_ARGS__);                                                                                 \
    } while (0)

#endif
