/* bug.h - the program finds that it is wrong itself. It needs nothing, so that everything may assert. */
#ifndef TSIM_BASE_BUG_H
#define TSIM_BASE_BUG_H

/* Reports a mistake of the program itself: prints where it was found, and ends with status 70. */
_Noreturn void tsim_bug_at(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define TSIM_BUG(...) tsim_bug_at(__FILE__, __LINE__, __VA_ARGS__)
#define TSIM_ASSERT(condition)                                                                                         \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            TSIM_BUG("assertion failed: %s", #condition);                                                              \
    } while (0)

#endif
