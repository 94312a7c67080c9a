/* process.h - processes that answer requests, each one at a time, one after another, because starting a process takes
 * longer than a small answer. A process that takes too much memory or time, or that finds a bug of ours, ends alone,
 * with its current request. It shares with the others only what the server had before it was started.
 *
 * Requests and answers go over a pair of sockets. While it answers, a process is its thread's caller (base/caller.h):
 * the body is lent as "-", and results and messages are texts in memory. The last line that it writes to standard error
 * is kept. */
#pragma once

#include "base/caller.h"
#include "base/text_sink.h"

#include <sys/types.h>

struct tsim_serve_pair {
    const char *name;
    const char *value; /* NULL: none is given */
};

struct tsim_serve_request {
    const char *method, *path;
    const struct tsim_serve_pair *query; /* the pairs that follow the path's '?', in their order */
    size_t n_query;
};

/* The description that a process gives of its answer. */
struct tsim_serve_answer {
    int status;       /* the status of HTTP */
    const char *type; /* type of its content; a literal */
};

/* The place where a process puts its answer. */
struct tsim_serve_desk {
    struct tsim_caller caller;
    struct tsim_text_sink results; /* the answer itself */
    struct tsim_text_sink messages;
    FILE *progress; /* its lines are sent on when it is flushed */
};

/* The function that does the work in the process. */
typedef struct tsim_serve_answer (*tsim_serve_work_fn)(const struct tsim_serve_request *request,
                                                       struct tsim_serve_desk *desk);

struct tsim_serve_process {
    pid_t pid;        /* 0: there is none */
    int line, errors; /* descriptors of the socket to it, and of what it writes to standard error */
    size_t n_taken;   /* requests that it has been given */
    char *received;   /* part of a message that is not complete */
    size_t n_received, capacity;
};

/* The most bytes that an answer may have. */
enum { TSIM_SERVE_MOST_OUTPUT_BYTES = 64 * 1024 * 1024 };

/* Starts a process; returns false if the system has no room for another. The caller must have a single thread. */
bool tsim_serve_process_start(struct tsim_serve_process *process, tsim_serve_work_fn work);

/* Gives a request to a process that has none. Returns false if the process has ended. */
bool tsim_serve_process_give(struct tsim_serve_process *process, const struct tsim_serve_request *request,
                             const void *body, size_t size);

enum tsim_serve_news { TSIM_SERVE_NOTHING, TSIM_SERVE_PROGRESS, TSIM_SERVE_ANSWER, TSIM_SERVE_ENDED };

/* The next message from the process, whose text is valid until the next call. TSIM_SERVE_NOTHING means that there is
 * none yet; poll tells when there is. */
struct tsim_serve_message {
    struct tsim_serve_answer answer; /* set with TSIM_SERVE_ANSWER */
    const char *text;
    size_t size;
};
enum tsim_serve_news tsim_serve_process_read(struct tsim_serve_process *process, struct tsim_serve_message *message);

/* Ends the process if it still runs. Returns its exit status, or 128 + signal if a signal ended it. Its last line can
 * still be read. */
int tsim_serve_process_end(struct tsim_serve_process *process);

/* Ends the process now. tsim_serve_process_read soon reports that. */
void tsim_serve_process_kill(const struct tsim_serve_process *process);

/* Returns the last line that it wrote to standard error, on the heap (tsim_heap_free). */
char *tsim_serve_process_last_line(const struct tsim_serve_process *process);

/* Forgets the process, and closes its descriptors. */
void tsim_serve_process_release(struct tsim_serve_process *process);
