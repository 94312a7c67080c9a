/* server.h - HTTP for one machine's users: pages, which are the same for all, and answers, each computed by a process (process.h)
 * while the others go on. One thread waits for all of them. The caller says what is answered.
 *
 * Quick requests and slow ones have places of their own, so that a long search delays no short run; more than can be
 * answered at once wait in the order in which they came. A process that answers quick requests takes the next one, up to so many; a
 * slow request has a process to itself. */
#ifndef TSIM_SERVE_SERVER_H
#define TSIM_SERVE_SERVER_H

#include "serve/process.h"

struct tsim_arena;

struct tsim_serve_page {
    const char *path, *type;
    const char *text;
};

enum tsim_serve_pace {
    TSIM_SERVE_UNKNOWN,
    TSIM_SERVE_WRONG_METHOD,
    TSIM_SERVE_QUICK,
    TSIM_SERVE_SLOW,
    TSIM_SERVE_N_PACES
};

struct tsim_serve_app {
    const struct tsim_serve_page *pages;
    size_t n_pages;
    enum tsim_serve_pace (*pace)(const struct tsim_serve_request *request);
    tsim_serve_work_fn answer;
};

struct tsim_serve_options {
    const char *bind; /* an address or a name */
    int port;         /* 0: a free one */
    int n_quick;      /* processes at a time */
    int n_slow;
    double most_s; /* that an answer may take */
};

enum { TSIM_SERVE_MOST_BODY_BYTES = 1000 * 1000 };

struct tsim_server;
/* Listens. Returns NULL, with what is wrong in `why`, where it cannot. Where the address is not of the loopback,
 * requests need a token. */
struct tsim_server *tsim_server_open(struct tsim_arena *arena, const struct tsim_serve_options *options,
                                     const struct tsim_serve_app *app, char why[200]);
/* Returns the address of the page, with the token where one is needed. */
const char *tsim_server_address(const struct tsim_server *server);
/* Answers until a signal ends the program. */
_Noreturn void tsim_server_run(struct tsim_server *server);

#endif
