#define _GNU_SOURCE /* memfd_create, close_range, fopencookie */
#include "serve/process.h"

#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The head of each message. Both ends are the same program, so it needs no other form. */
struct head {
    size_t size;               /* of what follows */
    size_t n_pairs, n_body;    /* of a request */
    enum tsim_serve_news news; /* of the other direction */
    struct tsim_serve_answer answer;
};

static void close_one(int *descriptor) {
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

/* Sends a head and what follows it at once, so that whoever waits for them wakes once. */
static bool send_message(int line, const struct head *head, const char *bytes) {
    struct iovec parts[2] = {{(void *)(uintptr_t)head, sizeof *head}, {(void *)(uintptr_t)bytes, head->size}};
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        ssize_t n = sendmsg(line, &message, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        for (int i = 0; i < 2 && n > 0; i++) {
            size_t sent = (size_t)n < parts[i].iov_len ? (size_t)n : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + sent;
            parts[i].iov_len -= sent;
            n -= (ssize_t)sent;
        }
    }
    return true;
}

static bool receive_all(int line, void *bytes, size_t size) {
    char *at = bytes;
    while (size > 0) {
        ssize_t n = recv(line, at, size, 0);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* ---- the process ---- */

enum { LINE = 3 };

static ssize_t send_progress(void *cookie, const char *bytes, size_t n) {
    const struct head head = {.size = n, .news = TSIM_SERVE_PROGRESS};
    (void)cookie;
    return send_message(LINE, &head, bytes) ? (ssize_t)n : -1;
}

/* Returns the texts of a message, each with a NUL behind it. */
static const char *next_text(const char **at) {
    const char *text = *at;
    *at += strlen(text) + 1;
    return text;
}

/* Reads the texts of a request: its method and path, then each name of the query with '=' and its value, or '-' for none. */
static void read_request(struct tsim_arena *arena, const struct head *head, const char *texts,
                         struct tsim_serve_request *request) {
    struct tsim_serve_pair *query = TSIM_NEW_ARRAY(arena, head->n_pairs, struct tsim_serve_pair);
    *request = (struct tsim_serve_request){.query = query, .n_query = head->n_pairs};
    request->method = next_text(&texts);
    request->path = next_text(&texts);
    for (size_t i = 0; i < head->n_pairs; i++) {
        query[i].name = next_text(&texts);
        const char *value = next_text(&texts);
        query[i].value = *value == '=' ? value + 1 : NULL;
    }
}

/* Sends nothing if the server has gone; that ends this process, too. */
static void answer_request(struct tsim_arena *arena, const struct head *head, const char *message,
                           tsim_serve_work_fn work, FILE *progress) {
    struct tsim_serve_desk desk = {.progress = progress};
    struct tsim_serve_request request;
    struct head reply = {.news = TSIM_SERVE_ANSWER};
    read_request(arena, head, message, &request);
    tsim_text_sink_open(&desk.results, TSIM_SERVE_MOST_OUTPUT_BYTES);
    tsim_text_sink_open(&desk.messages, TSIM_SERVE_MOST_OUTPUT_BYTES);
    desk.caller.results = desk.results.stream;
    desk.caller.messages = desk.messages.stream;
    tsim_caller_lend(&desk.caller, "-", message + head->size - head->n_body, head->n_body);
    tsim_caller_set(&desk.caller);
    reply.answer = work(&request, &desk);
    tsim_caller_set(NULL);
    fflush(progress);
    const char *text = tsim_text_sink_text(&desk.results);
    reply.size = desk.results.size;
    send_message(LINE, &reply, text);
    tsim_text_sink_release(&desk.results);
    tsim_text_sink_release(&desk.messages);
}

_Noreturn static void be_child(int line, int errors, tsim_serve_work_fn work) {
    const struct rlimit none = {0, 0};
    int nowhere = open("/dev/null", O_RDWR);
    if (dup2(nowhere, STDIN_FILENO) < 0 || dup2(nowhere, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0 ||
        dup2(line, LINE) < 0)
        _exit(TSIM_OUT_OF_MEMORY_EXIT);
    close_range(LINE + 1, ~0U, 0); /* connections of others, and the server's own */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGPIPE, SIG_IGN);
    FILE *progress = fopencookie(NULL, "w", (cookie_io_functions_t){.write = send_progress});
    struct head head;
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    while (progress && receive_all(LINE, &head, sizeof head)) {
        char *message = tsim_heap_alloc(head.size + 1);
        if (!receive_all(LINE, message, head.size))
            break;
        answer_request(&arena, &head, message, work, progress);
        tsim_heap_free(message);
        tsim_arena_reset(&arena);
    }
    _exit(0);
}

bool tsim_serve_process_start(struct tsim_serve_process *process, tsim_serve_work_fn work) {
    enum { ABOVE = 10 }; /* none of them may be among those that are written over */
    int ends[2] = {-1, -1};
    *process = (struct tsim_serve_process){.line = -1, .errors = memfd_create("errors", MFD_CLOEXEC)};
    bool is_ready = process->errors >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
    fflush(stdout); /* else both processes would write what is buffered */
    process->pid = is_ready ? fork() : -1;
    if (process->pid == 0)
        be_child(fcntl(ends[1], F_DUPFD, ABOVE), fcntl(process->errors, F_DUPFD, ABOVE), work);
    close_one(&ends[1]);
    process->line = ends[0];
    if (process->pid > 0)
        return true;
    process->pid = 0;
    tsim_serve_process_release(process);
    return false;
}

/* ---- the server ---- */

static void add_text(struct tsim_text_sink *message, const char *before, const char *text) {
    fputs(before, message->stream);
    fputs(text, message->stream);
    fputc('\0', message->stream);
}

bool tsim_serve_process_give(struct tsim_serve_process *process, const struct tsim_serve_request *request,
                             const void *body, size_t size) {
    struct tsim_text_sink message;
    tsim_text_sink_open(&message, TSIM_SERVE_MOST_OUTPUT_BYTES);
    add_text(&message, "", request->method);
    add_text(&message, "", request->path);
    for (size_t i = 0; i < request->n_query; i++) {
        const char *value = request->query[i].value;
        add_text(&message, "", request->query[i].name);
        add_text(&message, value ? "=" : "-", value ? value : "");
    }
    if (size > 0)
        fwrite(body, 1, size, message.stream);
    const char *bytes = tsim_text_sink_text(&message);
    const struct head head = {.size = message.size, .n_pairs = request->n_query, .n_body = size};
    bool is_given = send_message(process->line, &head, bytes);
    tsim_text_sink_release(&message);
    process->n_taken += is_given;
    return is_given;
}

/* Returns how many bytes of the incoming message are still to be received. */
static size_t missing(const struct tsim_serve_process *process) {
    struct head head;
    if (process->n_received < sizeof head)
        return sizeof head - process->n_received;
    memcpy(&head, process->received, sizeof head);
    return sizeof head + head.size - process->n_received;
}

enum tsim_serve_news tsim_serve_process_read(struct tsim_serve_process *process, struct tsim_serve_message *message) {
    struct head head;
    if (process->n_received >= sizeof head && missing(process) == 0)
        process->n_received = 0; /* it was given out */
    while (missing(process) > 0) {
        size_t wanted = missing(process);
        process->received = tsim_heap_grow(process->received, &process->capacity, process->n_received + wanted, 1);
        ssize_t n = recv(process->line, process->received + process->n_received, wanted, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return TSIM_SERVE_NOTHING;
        if (n <= 0)
            return TSIM_SERVE_ENDED;
        process->n_received += (size_t)n;
    }
    memcpy(&head, process->received, sizeof head);
    *message = (struct tsim_serve_message){head.answer, process->received + sizeof head, head.size};
    return head.news;
}

void tsim_serve_process_kill(const struct tsim_serve_process *process) {
    if (process->pid > 0)
        kill(process->pid, SIGKILL);
}

int tsim_serve_process_end(struct tsim_serve_process *process) {
    int status = 0;
    close_one(&process->line); /* it waits for a request, or has ended */
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    process->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

char *tsim_serve_process_last_line(const struct tsim_serve_process *process) {
    off_t size = lseek(process->errors, 0, SEEK_END);
    size_t length = size > 0 ? (size_t)size : 0;
    char *text = tsim_heap_alloc(length + 1);
    ssize_t n = pread(process->errors, text, length, 0);
    length = n > 0 ? (size_t)n : 0;
    while (length > 0 && text[length - 1] == '\n')
        length--;
    text[length] = '\0';
    const char *newline = strrchr(text, '\n');
    if (newline)
        memmove(text, newline + 1, strlen(newline));
    return text;
}

void tsim_serve_process_release(struct tsim_serve_process *process) {
    close_one(&process->line);
    close_one(&process->errors);
    tsim_heap_free(process->received);
    process->received = NULL;
    process->n_received = process->capacity = 0;
}
