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
    struct tsim_lent {
        const char *name, *text;
        size_t size;
    } lent[TSIM_MOST_LENT]; /* "-" stands for standard input */
    size_t n_lent;
    atomic_bool is_interrupted; /* any thread may set it: studies end with what they have */
};

/* Returns the calling thread's; NULL: it has none. Threads that a study starts are given their starter's. */
struct tsim_caller *tsim_caller_of_thread(void);
void tsim_caller_set(struct tsim_caller *caller);

/* Returns the stream that results go to, and the one for messages. */
FILE *tsim_results(void);
FILE *tsim_messages(void);

/* Lends a text under a name, in the place of one that had it; all must stay. False: there is no room for another. */
bool tsim_caller_lend(struct tsim_caller *caller, const char *name, const char *text, size_t size);
/* Returns the text that the calling thread finds as the file `name`; NULL: none of that name is lent. */
const struct tsim_lent *tsim_caller_lent(const char *name);

#endif
