/* guard.h - which requests are answered: those that a page of another origin, or a stranger, sends are not. */
#ifndef TSIM_SERVE_GUARD_H
#define TSIM_SERVE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

enum { TSIM_TOKEN_DIGITS = 32 };

/* Headers and a token, as the request has them; NULL where it says nothing. */
struct tsim_serve_claims {
    const char *host, *origin, *fetch_site; /* headers Host, Origin, Sec-Fetch-Site */
    const char *authorization;              /* "Bearer TOKEN" */
    const char *cookie;                     /* "tsim_token=TOKEN; ..." */
    const char *token;                      /* of the address: ?token=TOKEN */
    bool is_page;                           /* a page is asked for, which links elsewhere may lead to */
};

/* Returns why a request is not answered, with HTTP's status in *status; NULL: it may be. `token` is NULL where none
 * is needed, which is on loopback addresses alone. */
const char *tsim_serve_refusal(const struct tsim_serve_claims *claims, const char *token, int *status);

#endif
