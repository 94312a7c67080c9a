/* microhttpd.h - libmicrohttpd, which is loaded when a server starts. It brings GnuTLS and eight libraries more along, and to load
 * these takes as long as all else that a short command does. Names and meanings are the library's own. */
#ifndef TSIM_SERVE_MICROHTTPD_H
#define TSIM_SERVE_MICROHTTPD_H

#include <microhttpd.h>
#include <stdbool.h>

#define TSIM_MICROHTTPD_FUNCTIONS(F)                                                                                   \
    F(add_response_header)                                                                                             \
    F(create_response_from_buffer)                                                                                     \
    F(create_response_from_callback)                                                                                   \
    F(destroy_response)                                                                                                \
    F(get_connection_info)                                                                                             \
    F(get_connection_values)                                                                                           \
    F(get_daemon_info)                                                                                                 \
    F(get_timeout)                                                                                                     \
    F(lookup_connection_value)                                                                                         \
    F(queue_response)                                                                                                  \
    F(resume_connection)                                                                                               \
    F(run)                                                                                                             \
    F(start_daemon)                                                                                                    \
    F(suspend_connection)

struct tsim_microhttpd {
#define POINTER(name) __typeof__(MHD_##name) *name;
    TSIM_MICROHTTPD_FUNCTIONS(POINTER)
#undef POINTER
};

/* Its functions, all set once the library is loaded. */
extern struct tsim_microhttpd tsim_http;

/* False with what is wrong in `why`. */
bool tsim_microhttpd_load(char *why, size_t size);

#endif
