#include "serve/guard.h"

#include <string.h>

/* Tells whether a name of an address is this machine's own: "127.0.0.1", "localhost", "[::1]", with or without a port.
 * A name that somebody else's name server points here (DNS rebinding) is not. */
static bool is_loopback(const char *host) {
    static const char *const NAMES[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        size_t length = strlen(NAMES[i]);
        const char *port = host + length;
        if (strncmp(host, NAMES[i], length) == 0 &&
            (!*port || (*port == ':' && port[1] && port[1 + strspn(port + 1, "0123456789")] == '\0')))
            return true;
    }
    return false;
}

/* Compares in a time that does not tell where the two differ. */
static bool is_token(const char *given, const char *token) {
    unsigned difference = 0;
    if (!given || strnlen(given, TSIM_TOKEN_DIGITS) < TSIM_TOKEN_DIGITS)
        return false;
    for (size_t i = 0; i < TSIM_TOKEN_DIGITS; i++)
        difference |= (unsigned char)given[i] ^ (unsigned char)token[i];
    return difference == 0 && (given[TSIM_TOKEN_DIGITS] == '\0' || given[TSIM_TOKEN_DIGITS] == ';');
}

static const char *after(const char *text, const char *mark) {
    const char *at = text ? strstr(text, mark) : NULL;
    return at ? at + strlen(mark) : NULL;
}

/* Returns whether the origin is "http://HOST", with the host that the request is for. */
static bool is_own_origin(const struct tsim_serve_claims *claims) {
    const char *host = after(claims->origin, "http://");
    return host == claims->origin + strlen("http://") && claims->host && strcmp(host, claims->host) == 0;
}

const char *tsim_serve_refusal(const struct tsim_serve_claims *claims, const char *token, int *status) {
    *status = 403;
    if (!claims->host || (!token && !is_loopback(claims->host)))
        return "this server answers only under its own address";
    if (claims->origin && !is_own_origin(claims))
        return "pages of other origins are not answered";
    if (!claims->is_page && claims->fetch_site && strcmp(claims->fetch_site, "cross-site") == 0)
        return "pages of other sites are not answered";
    *status = 401;
    if (token && !is_token(after(claims->authorization, "Bearer "), token) &&
        !is_token(after(claims->cookie, "tsim_token="), token) && !is_token(claims->token, token))
        return "the address that 'tsim serve' has printed holds a token, which is missing here";
    return NULL;
}
