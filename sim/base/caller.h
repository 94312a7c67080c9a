/* caller.h - on whose behalf a thread works: a program that uses the library, or a request of the server, which has its own place for
 * results and messages, texts that are found as if they were files, and a way to stop what takes long. A thread that works for
 * nobody works for the person who started the program. */
#ifndef TSIM_BASE_CALLER_H
#define TSIM_BASE_CALLER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

enum { TSIM_MOST_LENT = 8 };

struct tsim_caller {
    FILE *results, *messages; /* instead of standard output and standard error; NULL: those */
    struct {
        const char *name, *text;
    } lent[TSIM_MOST_LENT];
    size_t n_lent;
    atomic_bool is_interrupted; /* any thread may set it: studies end with what they have */
};

/* Returns the calling thread's; NULL: it has none. Threads that a study starts are given their starter's. */
struct tsim_caller *tsim_caller_of_thread(void);
void tsim_caller_set(struct tsim_caller *caller);

/* Where results and messages go. */
FILE *tsim_results(void);
FILE *tsim_messages(void);

/* A text that is found as the file `name`; NULL: none of that name is lent. */
const char *tsim_caller_text(const char *name);

#endif
