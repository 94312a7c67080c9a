#define _GNU_SOURCE /* POLLRDHUP */
#include "serve/server.h"

#include "base/arena.h"
#include "base/bug.h"
#include "serve/guard.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- libmicrohttpd ---- */

/* It is loaded when a server starts. It brings GnuTLS and eight libraries more along, and to load these takes as long
 * as all else that a short command does. Debian 12 and 13 have the one whose header this is. */
#define MICROHTTPD "libmicrohttpd.so.12"

#define MICROHTTPD_FUNCTIONS(F)                                                                                        \
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

static struct {
#define POINTER(name) __typeof__(MHD_##name) *name;
    MICROHTTPD_FUNCTIONS(POINTER)
#undef POINTER
} microhttpd;

/* C has no conversion of what dlsym gives to a pointer to a function; POSIX says that their bits are alike. */
static bool find_function(void *library, const char *name, void *pointer) {
    void *symbol = dlsym(library, name);
    memcpy(pointer, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool load_microhttpd(char why[200]) {
    void *library = dlopen(MICROHTTPD, RTLD_NOW | RTLD_LOCAL);
    bool has_all = library != NULL;
#define FIND(name) has_all = has_all && find_function(library, "MHD_" #name, &microhttpd.name);
    MICROHTTPD_FUNCTIONS(FIND)
#undef FIND
    if (!has_all)
        snprintf(why, 200, "libmicrohttpd cannot be loaded (%.100s); Debian's package libmicrohttpd12 has it",
                 dlerror());
    return has_all;
}

enum {
    MOST_CONNECTIONS = 512,
    ROOMY_CONNECTIONS = MOST_CONNECTIONS - 32, /* more: whoever has sent nothing whole for longest is hung up on */
    MOST_WAITING = 1024,                       /* requests */
    MOST_QUERY = 128,                          /* names in a query */
    MOST_RECEIVING_S = 20,                     /* from the first byte of a connection, or of a request, to its last */
    MOST_ANSWERS = 1000                        /* of one process: what it may have lost or kept goes with it */
};

enum state { RECEIVING, REFUSED, WAITING, RUNNING, ANSWERED, STREAMED };

/* A client, from its connection on. */
struct client {
    struct client *next;
    int socket;
    double since_s; /* of what it is sending; INFINITY: nothing is expected */
};

struct request {
    struct request *next; /* in the order in which they came */
    struct tsim_server *server;
    struct client *client;
    struct MHD_Connection *connection;
    struct tsim_arena arena;
    struct tsim_serve_request asked;
    enum tsim_serve_pace pace;
    enum state state;
    char *body;
    size_t size, capacity;
    bool is_suspended;
    struct place *place; /* the place that answers it; NULL: none does */
    double until_s;      /* while it has one */
    bool has_lost_client;
    /* These are the answer. */
    int status;
    const char *type;
    char *text;
    size_t length, text_capacity, n_sent;
    bool is_over; /* nothing more is to be sent */
};

/* A process, and the request that it is at; NULL: it waits for one, or there is none. */
struct place {
    struct tsim_serve_process process;
    struct request *request;
    enum tsim_serve_pace pace;
};

struct tsim_server {
    struct tsim_arena *arena;
    const struct tsim_serve_options *options;
    const struct tsim_serve_app *app;
    struct MHD_Daemon *daemon;
    const char *address, *token;
    struct request *requests;
    struct client *clients;
    size_t n_clients, n_requests;
    struct place *places;
    size_t n_places;
};

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- what is sent ---- */

static void add_headers(struct MHD_Response *response, const char *type) {
    static const char *const HEADERS[][2] = {
        {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
                                    "connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; "
                                    "form-action 'none'; frame-ancestors 'none'"}};
    microhttpd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    for (size_t i = 0; i < sizeof HEADERS / sizeof HEADERS[0]; i++)
        microhttpd.add_response_header(response, HEADERS[i][0], HEADERS[i][1]);
}

static enum MHD_Result queue(struct MHD_Connection *connection, int status, struct MHD_Response *response) {
    enum MHD_Result is_queued = microhttpd.queue_response(connection, (unsigned)status, response);
    microhttpd.destroy_response(response);
    return is_queued;
}

static enum MHD_Result send_text(struct MHD_Connection *connection, int status, const char *type, const char *text,
                                 size_t size, const char *cookie) {
    struct MHD_Response *response =
        microhttpd.create_response_from_buffer(size, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    add_headers(response, type);
    if (cookie)
        microhttpd.add_response_header(response, MHD_HTTP_HEADER_SET_COOKIE, cookie);
    if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
        microhttpd.add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    return queue(connection, status, response);
}

/* `text` needs no escapes. */
static const char *error_json(struct tsim_arena *arena, const char *text) {
    return tsim_arena_printf(arena, "{\"error\": \"%s\"}\n", text);
}

static void set_answer(struct request *request, int status, const char *type, const char *text, size_t length) {
    request->text = tsim_heap_grow(request->text, &request->text_capacity, request->length + length + 1, 1);
    memcpy(request->text + request->length, text, length);
    request->length += length;
    request->status = status;
    request->type = type;
}

static void set_error(struct request *request, int status, const char *text) {
    const char *json = error_json(&request->arena, text);
    set_answer(request, status, "application/json", json, strlen(json));
}

/* ---- processes ---- */

static void resume(struct request *request) {
    if (request->is_suspended)
        microhttpd.resume_connection(request->connection);
    request->is_suspended = false;
}

static const char CLIENT_HAS_GONE[] = "the client closed its side of the connection before the answer";

/* Explains why a process ended without an answer, by its last line without characters that JSON would have to escape. */
static void explain_end(struct request *request, const struct tsim_serve_process *process, int exit_status) {
    enum { KILLED = 128 + 9 };
    char *line = tsim_serve_process_last_line(process);
    for (char *at = line; *at; at++)
        if (*at == '"' || *at == '\\' || (unsigned char)*at < ' ')
            *at = '\'';
    if (exit_status == KILLED && request->has_lost_client)
        set_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, CLIENT_HAS_GONE);
    else if (exit_status == KILLED && now_s() >= request->until_s)
        set_error(
            request, MHD_HTTP_GATEWAY_TIMEOUT,
            tsim_arena_printf(&request->arena, "the answer took longer than %g s", request->server->options->most_s));
    else if (exit_status == KILLED)
        set_error(request, MHD_HTTP_INSUFFICIENT_STORAGE,
                  "the system killed the process, as it does when memory is short");
    else if (exit_status == TSIM_OUT_OF_MEMORY_EXIT)
        set_error(request, MHD_HTTP_INSUFFICIENT_STORAGE, line);
    else
        set_error(request, MHD_HTTP_INTERNAL_SERVER_ERROR, line);
    tsim_heap_free(line);
}

/* The request gives its place to whoever waits. */
static void leave(struct place *place) {
    place->request->place = NULL;
    place->request = NULL;
    bool is_spent = place->pace == TSIM_SERVE_SLOW || place->process.n_taken >= MOST_ANSWERS;
    if (place->process.pid > 0 && is_spent)
        tsim_serve_process_end(&place->process);
    if (place->process.pid == 0)
        tsim_serve_process_release(&place->process);
}

static void finish(struct request *request) {
    leave(request->place);
    request->is_over = true;
    if (request->state == RUNNING)
        request->state = ANSWERED;
    resume(request);
}

static void end_process(struct place *place) {
    int exit_status = tsim_serve_process_end(&place->process);
    if (place->request) {
        explain_end(place->request, &place->process, exit_status);
        finish(place->request);
    } else {
        tsim_serve_process_release(&place->process);
    }
}

/* Lines of progress go out as they come: from the first one on the answer is a stream. */
static void take_progress(struct request *request, const struct tsim_serve_message *message) {
    set_answer(request, MHD_HTTP_OK, "application/x-ndjson", message->text, message->size);
    request->state = STREAMED;
    resume(request);
}

static void take_answer(struct request *request, const struct tsim_serve_message *message) {
    bool is_stream = request->state == STREAMED;
    set_answer(request, is_stream ? MHD_HTTP_OK : message->answer.status,
               is_stream ? request->type : message->answer.type, message->text, message->size);
    finish(request);
}

static void read_process(struct place *place) {
    struct tsim_serve_message message;
    enum tsim_serve_news news;
    while ((news = tsim_serve_process_read(&place->process, &message)) == TSIM_SERVE_PROGRESS)
        take_progress(place->request, &message);
    if (news == TSIM_SERVE_ANSWER)
        take_answer(place->request, &message);
    else if (news == TSIM_SERVE_ENDED)
        end_process(place);
}

/* A waiting process may have ended by itself, for example because the system lacked memory: another one is started. */
static bool give(struct place *place, const struct request *request) {
    for (int attempt = 0; attempt < 2; attempt++) {
        if (place->process.pid == 0 && !tsim_serve_process_start(&place->process, request->server->app->answer))
            return false;
        if (tsim_serve_process_give(&place->process, &request->asked, request->body, request->size))
            return true;
        end_process(place);
    }
    return false;
}

static void start(struct request *request, struct place *place) {
    if (!give(place, request)) {
        set_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "no room for another process");
        request->state = ANSWERED;
        request->is_over = true;
        resume(request);
        return;
    }
    place->request = request;
    request->place = place;
    request->state = RUNNING;
    request->until_s = now_s() + request->server->options->most_s;
}

/* Processes that are there come first. */
static struct place *free_place(struct tsim_server *server, enum tsim_serve_pace pace) {
    struct place *found = NULL;
    for (size_t i = 0; i < server->n_places; i++) {
        struct place *place = &server->places[i];
        if (place->pace == pace && !place->request && (!found || (found->process.pid == 0 && place->process.pid > 0)))
            found = place;
    }
    return found;
}

static void start_waiting(struct tsim_server *server) {
    for (struct request *r = server->requests; r; r = r->next) {
        struct place *place = r->state == WAITING ? free_place(server, r->pace) : NULL;
        if (place)
            start(r, place);
    }
}

/* ---- what is received ---- */

static enum MHD_Result take_pair(void *context, enum MHD_ValueKind kind, const char *name, const char *value) {
    struct request *request = context;
    struct tsim_serve_pair *query = (struct tsim_serve_pair *)(uintptr_t)request->asked.query;
    (void)kind;
    if (request->asked.n_query == MOST_QUERY)
        return MHD_NO;
    query[request->asked.n_query++] = (struct tsim_serve_pair){
        tsim_arena_strdup(&request->arena, name), value ? tsim_arena_strdup(&request->arena, value) : NULL};
    return MHD_YES;
}

static struct client *client_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        microhttpd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static struct request *new_request(struct tsim_server *server, struct MHD_Connection *connection, const char *path,
                                   const char *method) {
    struct request *request = tsim_heap_alloc(sizeof *request), **last = &server->requests;
    *request = (struct request){.server = server, .connection = connection, .client = client_of(connection)};
    tsim_arena_init(&request->arena);
    request->asked.method = tsim_arena_strdup(&request->arena, method);
    request->asked.path = tsim_arena_strdup(&request->arena, path);
    request->asked.query = TSIM_NEW_ARRAY(&request->arena, MOST_QUERY, struct tsim_serve_pair);
    while (*last)
        last = &(*last)->next;
    *last = request;
    server->n_requests++;
    return request;
}

static const char *header(struct MHD_Connection *connection, const char *name) {
    return microhttpd.lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static const struct tsim_serve_page *page_of(const struct request *request) {
    const struct tsim_serve_app *app = request->server->app;
    bool is_read = strcmp(request->asked.method, "GET") == 0 || strcmp(request->asked.method, "HEAD") == 0;
    for (size_t i = 0; is_read && i < app->n_pages; i++)
        if (strcmp(app->pages[i].path, request->asked.path) == 0)
            return &app->pages[i];
    return NULL;
}

static void refuse(struct request *request, int status, const char *why) {
    set_error(request, status, why);
    request->state = REFUSED;
}

/* Judges a request before anything of its body is read. */
static void judge(struct request *request) {
    struct MHD_Connection *connection = request->connection;
    const struct tsim_serve_claims claims = {
        .host = header(connection, "Host"),
        .origin = header(connection, "Origin"),
        .fetch_site = header(connection, "Sec-Fetch-Site"),
        .authorization = header(connection, "Authorization"),
        .cookie = header(connection, "Cookie"),
        .token = microhttpd.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token"),
        .is_page = page_of(request) != NULL,
    };
    const char *length = header(connection, "Content-Length"), *type = header(connection, "Content-Type");
    int status;
    const char *refusal = tsim_serve_refusal(&claims, request->server->token, &status);
    if (refusal)
        refuse(request, status, refusal);
    else if (claims.is_page)
        return;
    else if (request->pace == TSIM_SERVE_UNKNOWN)
        refuse(request, MHD_HTTP_NOT_FOUND, "there is nothing here; GET / is the page, docs/serve.md lists the rest");
    else if (request->pace == TSIM_SERVE_WRONG_METHOD)
        refuse(request, MHD_HTTP_METHOD_NOT_ALLOWED, "this address takes the other of GET and POST");
    else if (length && strtod(length, NULL) > TSIM_SERVE_MOST_BODY_BYTES)
        refuse(request, MHD_HTTP_CONTENT_TOO_LARGE, "a scenario is smaller than 1 MB");
    else if (type && strncmp(type, "multipart/", 10) == 0)
        refuse(request, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "the body is the scenario itself, YAML or JSON");
    else if (request->server->n_requests > MOST_WAITING)
        refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "too many requests are waiting");
}

static enum MHD_Result send_page(struct request *request, const struct tsim_serve_page *page) {
    const char *token = request->server->token;
    const char *cookie =
        token ? tsim_arena_printf(&request->arena, "tsim_token=%s; HttpOnly; SameSite=Lax; Path=/", token) : NULL;
    return send_text(request->connection, MHD_HTTP_OK, page->type, page->text, strlen(page->text), cookie);
}

static ssize_t send_more(void *context, uint64_t position, char *buffer, size_t most) {
    struct request *request = context;
    size_t n = request->length - request->n_sent;
    (void)position;
    if (n == 0 && request->is_over)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (n == 0) {
        microhttpd.suspend_connection(request->connection);
        request->is_suspended = true;
        return 0;
    }
    n = n < most ? n : most;
    memcpy(buffer, request->text + request->n_sent, n);
    request->n_sent += n;
    return (ssize_t)n;
}

static enum MHD_Result send_stream(struct request *request) {
    struct MHD_Response *response =
        microhttpd.create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, send_more, request, NULL);
    if (!response)
        return MHD_NO;
    add_headers(response, request->type);
    return queue(request->connection, request->status, response);
}

static enum MHD_Result receive(struct request *request, const char *bytes, size_t *size) {
    if (request->size + *size > TSIM_SERVE_MOST_BODY_BYTES)
        return MHD_NO; /* more than it said */
    request->body = tsim_heap_grow(request->body, &request->capacity, request->size + *size, 1);
    memcpy(request->body + request->size, bytes, *size);
    request->size += *size;
    *size = 0;
    return MHD_YES;
}

/* libmicrohttpd calls it for the headers of a request, for each part of its body, at its end, and when it is
 * resumed. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *bytes, size_t *size, void **slot) {
    struct tsim_server *server = context;
    struct request *request = *slot;
    (void)version;
    if (!request) {
        request = *slot = new_request(server, connection, path, method);
        if (request->client)
            request->client->since_s = now_s();
        if (microhttpd.get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_pair, request) < 0)
            return MHD_NO;
        request->pace = server->app->pace(&request->asked);
        judge(request);
        if (request->state == REFUSED)
            return send_text(connection, request->status, request->type, request->text, request->length, NULL);
        return MHD_YES;
    }
    if (*size > 0)
        return receive(request, bytes, size);
    const struct tsim_serve_page *page = page_of(request);
    if (page)
        return send_page(request, page);
    if (request->client)
        request->client->since_s = (double)INFINITY;
    if (request->state == RECEIVING) {
        microhttpd.suspend_connection(connection);
        request->is_suspended = true;
        request->state = WAITING;
        return MHD_YES;
    }
    if (request->state == STREAMED)
        return send_stream(request);
    return send_text(connection, request->status, request->type, request->text, request->length, NULL);
}

static void forget(struct request *request) {
    struct tsim_server *server = request->server;
    struct request **at = &server->requests;
    while (*at != request)
        at = &(*at)->next;
    *at = request->next;
    server->n_requests--;
    if (request->place) { /* the client went away */
        tsim_serve_process_kill(&request->place->process);
        tsim_serve_process_end(&request->place->process);
        leave(request->place);
    }
    tsim_heap_free(request->body);
    tsim_heap_free(request->text);
    tsim_arena_release(&request->arena);
    tsim_heap_free(request);
}

static void complete(void *context, struct MHD_Connection *connection, void **slot,
                     enum MHD_RequestTerminationCode code) {
    struct request *request = *slot;
    (void)context, (void)connection, (void)code;
    if (!request)
        return;
    if (request->client)
        request->client->since_s = now_s(); /* for the next one on the same connection */
    forget(request);
    *slot = NULL;
}

/* The connection then ends as if the client had hung up. */
static void hang_up(struct client *client) {
    shutdown(client->socket, SHUT_RDWR);
    client->since_s = (double)INFINITY;
}

/* Hangs up on the client that has been connected for longest without a whole request, so that such clients keep nobody
 * out. */
static void make_room(struct tsim_server *server) {
    struct client *slowest = NULL;
    for (struct client *c = server->clients; c; c = c->next)
        if (c->socket >= 0 && !isinf(c->since_s) && (!slowest || c->since_s < slowest->since_s))
            slowest = c;
    if (slowest && server->n_clients > ROOMY_CONNECTIONS)
        hang_up(slowest);
}

static void note_client(void *context, struct MHD_Connection *connection, void **slot,
                        enum MHD_ConnectionNotificationCode code) {
    struct tsim_server *server = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            microhttpd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct client *client = tsim_heap_alloc(sizeof *client);
        *client = (struct client){server->clients, info ? info->connect_fd : -1, now_s()};
        server->clients = client;
        server->n_clients++;
        *slot = client;
        make_room(server);
        return;
    }
    struct client **at = &server->clients;
    while (*at && *at != *slot)
        at = &(*at)->next;
    if (*at)
        *at = (*at)->next;
    server->n_clients--;
    tsim_heap_free(*slot);
    *slot = NULL;
}

/* ---- time ---- */

/* Drops clients that send a request byte by byte, and ends processes that take too long. Returns when to look again. */
static double enforce_limits(struct tsim_server *server) {
    double now = now_s(), next = (double)INFINITY;
    for (struct client *c = server->clients; c; c = c->next) {
        if (now - c->since_s > MOST_RECEIVING_S && c->socket >= 0)
            hang_up(c);
        next = fmin(next, c->since_s + MOST_RECEIVING_S);
    }
    for (struct request *r = server->requests; r; r = r->next) {
        if (r->place && now > r->until_s)
            tsim_serve_process_kill(&r->place->process);
        if (r->place)
            next = fmin(next, r->until_s);
    }
    return next;
}

static int wait_ms(struct tsim_server *server, double until_s) {
    MHD_UNSIGNED_LONG_LONG daemon_ms;
    double ms = fmin(1000 * fmax(until_s - now_s(), 0) + 1, 60000);
    if (microhttpd.get_timeout(server->daemon, &daemon_ms) == MHD_YES)
        ms = fmin(ms, (double)daemon_ms);
    return (int)ms;
}

/* ---- the loop ---- */

/* A file that is waited for: the daemon's, a process's, or a client's. */
struct watched {
    struct place *place;
    struct request *request;
};

struct watch {
    struct pollfd *files;
    struct watched *watched; /* of each file */
    size_t n, capacity, watched_capacity;
};

static void watch_file(struct watch *watch, int file, short events, struct place *place, struct request *request) {
    watch->files = tsim_heap_grow(watch->files, &watch->capacity, watch->n + 1, sizeof *watch->files);
    watch->watched = tsim_heap_grow(watch->watched, &watch->watched_capacity, watch->n + 1, sizeof *watch->watched);
    watch->files[watch->n] = (struct pollfd){.fd = file, .events = events};
    watch->watched[watch->n++] = (struct watched){place, request};
}

/* libmicrohttpd does not watch a suspended connection, so a client that has gone is found here. (A client that only
 * closes its own direction, which no browser does, is taken for gone, too.) */
static void watch_all(struct tsim_server *server, int daemon_file, struct watch *watch) {
    watch->n = 0;
    watch_file(watch, daemon_file, POLLIN, NULL, NULL);
    for (size_t i = 0; i < server->n_places; i++)
        if (server->places[i].process.pid > 0)
            watch_file(watch, server->places[i].process.line, POLLIN, &server->places[i], NULL);
    for (struct request *r = server->requests; r; r = r->next)
        if (r->is_suspended && r->client && r->client->socket >= 0)
            watch_file(watch, r->client->socket, POLLRDHUP, NULL, r);
}

static void lose_client(struct request *request) {
    if (request->is_over)
        return;
    request->has_lost_client = true;
    if (request->place)
        tsim_serve_process_kill(&request->place->process);
    if (request->state == WAITING) {
        set_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, CLIENT_HAS_GONE);
        request->state = ANSWERED;
        request->is_over = true;
        resume(request);
    }
}

static void take_event(const struct pollfd *file, const struct watched *watched) {
    if (watched->place && watched->place->process.line == file->fd)
        read_process(watched->place);
    else if (watched->request && (file->revents & (POLLRDHUP | POLLHUP | POLLERR)))
        lose_client(watched->request);
}

void tsim_server_run(struct tsim_server *server) {
    struct watch watch = {NULL, NULL, 0, 0, 0};
    int daemon_file = microhttpd.get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    for (;;) {
        start_waiting(server); /* each has its limit from here on */
        double next_s = enforce_limits(server);
        watch_all(server, daemon_file, &watch);
        if (poll(watch.files, watch.n, wait_ms(server, next_s)) < 0 && errno != EINTR)
            TSIM_BUG("poll: %s", strerror(errno));
        for (size_t i = 1; i < watch.n; i++)
            if (watch.files[i].revents)
                take_event(&watch.files[i], &watch.watched[i]);
        microhttpd.run(server->daemon);
    }
}

/* ---- listening ---- */

static void make_places(struct tsim_server *server) {
    size_t n_quick = (size_t)server->options->n_quick;
    server->n_places = n_quick + (size_t)server->options->n_slow;
    server->places = TSIM_NEW_ARRAY(server->arena, server->n_places, struct place);
    for (size_t i = 0; i < server->n_places; i++)
        server->places[i] = (struct place){.process = {.line = -1, .errors = -1},
                                           .pace = i < n_quick ? TSIM_SERVE_QUICK : TSIM_SERVE_SLOW};
}

static bool is_loopback_address(const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
    }
    struct sockaddr_in6 v6;
    memcpy(&v6, address, sizeof v6);
    return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

static const char *new_token(struct tsim_arena *arena) {
    unsigned char random[TSIM_TOKEN_DIGITS / 2];
    char *token = tsim_arena_alloc(arena, TSIM_TOKEN_DIGITS + 1);
    FILE *source = fopen("/dev/urandom", "rb");
    bool is_read = source && fread(random, sizeof random, 1, source) == 1;
    if (source)
        fclose(source);
    for (size_t i = 0; is_read && i < sizeof random; i++)
        snprintf(token + 2 * i, 3, "%02x", random[i]);
    return is_read ? token : NULL;
}

static int open_socket(const struct addrinfo *address) {
    int one = 1, listener = socket(address->ai_family, SOCK_STREAM, 0);
    if (listener < 0)
        return -1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, address->ai_addr, address->ai_addrlen) == 0 && listen(listener, MOST_CONNECTIONS) == 0)
        return listener;
    close(listener);
    return -1;
}

/* Returns "http://127.0.0.1:8080/". */
static const char *address_text(const struct tsim_server *server, int listener, const struct addrinfo *address) {
    struct sockaddr_storage name;
    socklen_t size = sizeof name;
    char host[128] = "?", port[16] = "0";
    bool is_v6 = address->ai_family == AF_INET6;
    if (getsockname(listener, (struct sockaddr *)&name, &size) == 0)
        getnameinfo((struct sockaddr *)&name, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV);
    return tsim_arena_printf(server->arena, "http://%s%s%s:%s/%s%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "", port,
                             server->token ? "?token=" : "", server->token ? server->token : "");
}

static void say_nothing(void *context, const char *format, va_list args) {
    (void)context, (void)format, (void)args;
}

static bool start_daemon(struct tsim_server *server, int listener) {
    server->daemon = microhttpd.start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL, handle, server,
        MHD_OPTION_EXTERNAL_LOGGER, say_nothing, NULL, MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(2 * MOST_RECEIVING_S),
        MHD_OPTION_NOTIFY_COMPLETED, complete, NULL, MHD_OPTION_NOTIFY_CONNECTION, note_client, server, MHD_OPTION_END);
    return server->daemon != NULL;
}

struct tsim_server *tsim_server_open(struct tsim_arena *arena, const struct tsim_serve_options *options,
                                     const struct tsim_serve_app *app, char why[200]) {
    struct addrinfo *address = NULL;
    const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct tsim_server *server = TSIM_NEW(arena, struct tsim_server);
    char port[16];
    if (!load_microhttpd(why))
        return NULL;
    *server = (struct tsim_server){.arena = arena, .options = options, .app = app};
    make_places(server);
    snprintf(port, sizeof port, "%d", options->port);
    int error = getaddrinfo(options->bind, port, &wanted, &address);
    if (error != 0) {
        snprintf(why, 200, "no address '%.100s': %s", options->bind, gai_strerror(error));
        return NULL;
    }
    if (!is_loopback_address(address->ai_addr))
        server->token = new_token(arena);
    bool is_safe = server->token || is_loopback_address(address->ai_addr);
    int listener = is_safe ? open_socket(address) : -1;
    if (listener < 0)
        snprintf(why, 200, "cannot listen at %.100s, port %d: %s", options->bind, options->port, strerror(errno));
    else
        server->address = address_text(server, listener, address);
    freeaddrinfo(address);
    if (listener < 0)
        return NULL;
    if (start_daemon(server, listener))
        return server;
    snprintf(why, 200, "libmicrohttpd cannot be started");
    close(listener);
    return NULL;
}

const char *tsim_server_address(const struct tsim_server *server) {
    return server->address;
}
