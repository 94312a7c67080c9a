/* guard.h - which requests are answered. Those that a page of another origin sends, or a stranger, are not. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { TSIM_TOKEN_DIGITS = 32 };

/* A request claims these headers and this token; those that it lacks are NULL. */
struct tsim_serve_claims {
    const char *host, *origin, *fetch_site; /* headers Host, Origin, Sec-Fetch-Site */
    const char *authorization;              /* header: "Bearer TOKEN" */
    const char *cookie;                     /* header: "tsim_token=TOKEN; ..." */
    const char *token;                      /* from the address: ?token=TOKEN */
    bool is_page;                           /* the request is for a page, to which links elsewhere may lead */
};

/* Returns why a request is not answered, with HTTP's status in *status, or NULL if it may be. `token` is NULL if none
 * is needed, which is so only on loopback addresses. */
const char *tsim_serve_refusal(const struct tsim_serve_claims *claims, const char *token, int *status);
