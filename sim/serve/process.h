/* process.h - processes that answer requests, one at a time and one after another: starting one takes longer than a small answer. A
 * process that takes too much memory or time, or that finds a bug of ours, ends alone, with the request that it was at. It shares
 * nothing with the others but what the server had before it was started.
 *
 * Requests and answers go over a pair of sockets. While it answers, a process is its thread's caller (base/caller.h): the body is
 * lent as "-", results and messages are texts in memory. Its last words on standard error are kept. */
#ifndef TSIM_SERVE_PROCESS_H
#define TSIM_SERVE_PROCESS_H

#include "base/caller.h"
#include "base/text_sink.h"

#include <sys/types.h>

struct tsim_serve_pair {
    const char *name;
    const char *value; /* NULL: none is given */
};

struct tsim_serve_request {
    const char *method, *path;
    const struct tsim_serve_pair *query; /* what follows the path's '?', in its order */
    size_t n_query;
};

/* A process says this of its answer. */
struct tsim_serve_answer {
    int status;       /* HTTP's */
    const char *type; /* of its content; a literal */
};

/* The desk takes the answers of a process. */
struct tsim_serve_desk {
    struct tsim_caller caller;
    struct tsim_text_sink results; /* the answer itself */
    struct tsim_text_sink messages;
    FILE *progress; /* lines that are sent on when it is flushed */
};

/* The work, in the process. */
typedef struct tsim_serve_answer (*tsim_serve_work_fn)(const struct tsim_serve_request *request,
                                                       struct tsim_serve_desk *desk);

struct tsim_serve_process {
    pid_t pid;        /* 0: there is none */
    int line, errors; /* descriptors: of the socket to it, and of what it wrote to standard error */
    size_t n_taken;   /* requests that it was given */
    char *received;   /* of a message that is not complete */
    size_t n_received, capacity;
};

/* The most that an answer may hold. */
enum { TSIM_SERVE_MOST_OUTPUT_BYTES = 64 * 1024 * 1024 };

/* Starts a process; false: the system has no room for another. The caller has one thread. */
bool tsim_serve_process_start(struct tsim_serve_process *process, tsim_serve_work_fn work);

/* Gives it a request while it has none. False: it has ended. */
bool tsim_serve_process_give(struct tsim_serve_process *process, const struct tsim_serve_request *request,
                             const void *body, size_t size);

enum tsim_serve_news { TSIM_SERVE_NOTHING, TSIM_SERVE_PROGRESS, TSIM_SERVE_ANSWER, TSIM_SERVE_ENDED };

/* The next thing that it has said; its text is valid until the next call. TSIM_SERVE_NOTHING: not yet more, as poll will tell. */
struct tsim_serve_message {
    struct tsim_serve_answer answer; /* with TSIM_SERVE_ANSWER */
    const char *text;
    size_t size;
};
enum tsim_serve_news tsim_serve_process_read(struct tsim_serve_process *process, struct tsim_serve_message *message);

/* Ends it, where it still runs; its exit status, 128 + signal where one has ended it. Its last words can still be
 * read. */
int tsim_serve_process_end(struct tsim_serve_process *process);

/* Ends it now. tsim_serve_process_read soon says so. */
void tsim_serve_process_kill(const struct tsim_serve_process *process);

/* Returns the last line that it wrote to standard error, on the heap (tsim_heap_free). */
char *tsim_serve_process_last_line(const struct tsim_serve_process *process);

/* Forgets the process, and closes what is open. */
void tsim_serve_process_release(struct tsim_serve_process *process);

#endif
