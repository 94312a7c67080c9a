/* bug.h - what happens when the program finds a mistake of its own. It includes nothing of tsim, so everything may
 * assert. */
#pragma once

/* Reports a mistake of the program itself: prints the place where it was found, and ends with status 70. */
_Noreturn void tsim_bug_at(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define TSIM_BUG(...) tsim_bug_at(__FILE__, __LINE__, __VA_ARGS__)
#define TSIM_ASSERT(condition)                                                                                         \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            TSIM_BUG("assertion failed: %s", #condition);                                                              \
    } while (0)
