/* Each unit test file is a program of its own: TSIM_TEST_MAIN(suite_function) gives it a main(). */
#ifndef TSIM_TESTS_SUPPORT_CHECK_MAIN_H
#define TSIM_TESTS_SUPPORT_CHECK_MAIN_H

#include <check.h>
#include <stdlib.h>

#define TSIM_TEST_MAIN(suite_function)                                                                                 \
    int main(void) {                                                                                                   \
        SRunner *runner = srunner_create(suite_function());                                                            \
        srunner_run_all(runner, CK_ENV);                                                                               \
        int n_failed = srunner_ntests_failed(runner);                                                                  \
        srunner_free(runner);                                                                                          \
        return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;                                                                 \
    }

#endif
