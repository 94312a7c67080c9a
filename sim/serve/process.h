/* process.h - one request, answered by a process of its own: what it writes to standard output is the answer. A process that
 * takes too much memory or time, or that finds a bug of ours, ends alone. */
#ifndef TSIM_SERVE_PROCESS_H
#define TSIM_SERVE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* A process says this of its answer. */
struct tsim_serve_answer {
    int status;       /* HTTP's */
    const char *type; /* of its content; a literal */
};

/* The work, in the new process: standard input holds the request's body, standard output takes the answer, `progress` lines that
 * are sent on at once. */
typedef struct tsim_serve_answer (*tsim_serve_work_fn)(const void *context, FILE *progress);

struct tsim_serve_process {
    pid_t pid;
    int output, errors, progress;     /* descriptors; -1: none */
    struct tsim_serve_answer *answer; /* shared with the process; status 0 until it has answered */
};

/* The most that an answer may hold. */
enum { TSIM_SERVE_MOST_OUTPUT_BYTES = 64 * 1024 * 1024 };

/* Starts the work with `size` bytes of body. False: the system has no room for another process. The caller has one thread. */
bool tsim_serve_process_start(struct tsim_serve_process *process, const void *body, size_t size,
                              tsim_serve_work_fn work, const void *context);

/* Copies the lines of progress that are there to `lines`; false once the process has ended. */
bool tsim_serve_process_read(const struct tsim_serve_process *process, FILE *lines);

/* After that: its exit status, 128 + signal where one has ended it. */
int tsim_serve_process_end(struct tsim_serve_process *process);

/* Forgets the process, and closes what is open. */
void tsim_serve_process_release(struct tsim_serve_process *process);

/* Ends it now. tsim_serve_process_read soon returns false. */
void tsim_serve_process_kill(const struct tsim_serve_process *process);

/* The whole of a descriptor's file, on the heap (tsim_heap_free), with a NUL behind it. */
char *tsim_serve_file_text(int descriptor, size_t *size);

#endif
