/* caller.h - on whose behalf a thread works: a program that uses the library, or a request of the server. Such a caller
 * has its own streams for results and messages, texts that are found as if they were files, and a way to stop long
 * work. A thread without a caller works for the person who started the program. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

enum { TSIM_MOST_LENT = 8 };

struct tsim_caller {
    FILE *results, *messages; /* in place of standard output and standard error, which NULL means */
    struct tsim_lent {
        const char *name, *text;
        size_t size;
    } lent[TSIM_MOST_LENT]; /* "-" stands for standard input */
    size_t n_lent;
    atomic_bool is_interrupted; /* any thread may set it; studies then end with what they have */
};

/* Returns the calling thread's caller, or NULL if it has none. Threads that a study starts inherit the caller of the
 * thread that starts them. */
struct tsim_caller *tsim_caller_of_thread(void);
void tsim_caller_set(struct tsim_caller *caller);

/* Returns the stream that results go to, and the one for messages. */
FILE *tsim_results(void);
FILE *tsim_messages(void);

/* Lends a text under a name, and replaces one that had the same name. The caller, the name and the text must outlive
 * their use. Returns false if there is no room for another. */
bool tsim_caller_lend(struct tsim_caller *caller, const char *name, const char *text, size_t size);
/* Returns the text that the calling thread finds as the file `name`, or NULL if no text is lent under it. */
const struct tsim_lent *tsim_caller_lent(const char *name);
