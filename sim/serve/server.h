/* server.h - an HTTP server for one machine's users. It serves pages, which are the same for all, and answers, each
 * computed by a process (process.h) while the others go on. One thread waits for all of them. The caller says what is
 * answered.
 *
 * Quick requests and slow ones have processes of their own, so that a long search delays no short run. Requests beyond
 * what can be answered at once wait in the order in which they came. A process for quick requests answers a limited
 * number of them, one after another; a slow request has a process to itself. */
#pragma once

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
    int port;         /* 0: any free port */
    int n_quick;      /* processes at a time */
    int n_slow;
    double most_s; /* time that an answer may take */
};

enum { TSIM_SERVE_MOST_BODY_BYTES = 1000 * 1000 };

struct tsim_server;
/* Opens the server and listens. If it cannot, it returns NULL, and `why` says what is wrong. If the address is not a
 * loopback address, requests need a token. */
struct tsim_server *tsim_server_open(struct tsim_arena *arena, const struct tsim_serve_options *options,
                                     const struct tsim_serve_app *app, char why[200]);
/* Returns the address of the page, with the token if one is needed. */
const char *tsim_server_address(const struct tsim_server *server);
/* Answers requests until a signal ends the program. */
_Noreturn void tsim_server_run(struct tsim_server *server);
