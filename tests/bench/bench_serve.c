/* Load on `tsim serve`: so many runs over so many connections that are kept open, each of another scenario, so that no answer can be
 * an old one. Prints runs a second, and the processor time that a run takes of server, processes and this client together; ends with 1
 * where an answer is not a run's. bench_serve TSIM [RUNS [CONNECTIONS]] */
#define _GNU_SOURCE /* memmem */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CONNECTIONS = 256, MOST_ANSWER_BYTES = 1 << 16 };

struct connection {
    int socket, run; /* that it waits for */
    size_t size;
    char answer[MOST_ANSWER_BYTES];
};

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double processor_s(int whose) {
    struct rusage used;
    getrusage(whose, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void fail(const char *what, const char *text) {
    fprintf(stderr, "bench_serve: %s: %.300s\n", what, text);
    exit(1);
}

/* Starts the server; its port. */
static int start_server(const char *tsim, pid_t *server) {
    int ends[2];
    char address[128] = "";
    if (pipe(ends) != 0 || (*server = fork()) < 0)
        fail("cannot start", tsim);
    if (*server == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl(tsim, tsim, "serve", "--port", "0", "--quiet", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *out = fdopen(ends[0], "r");
    const char *colon = out && fgets(address, sizeof address, out) ? strrchr(address, ':') : NULL;
    if (!colon)
        fail("no address", address);
    return atoi(colon + 1);
}

static void ask(struct connection *connection, int run) {
    char body[256], request[512];
    int size = snprintf(body, sizeof body,
                        "schema: tsim/v1\nname: run-%d\nmodel: gpt2-small\ncluster: {node: single-a100-80gb}\n"
                        "training: {sequence_length: %d, global_batch_size: 8}\n",
                        run, 256 + run % 768);
    int all = snprintf(request, sizeof request,
                       "POST /api/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", size, body);
    connection->run = run;
    connection->size = 0;
    if (send(connection->socket, request, (size_t)all, MSG_NOSIGNAL) != all)
        fail("cannot send", request);
}

static bool is_whole(const struct connection *c) {
    const char *end = memmem(c->answer, c->size, "\r\n\r\n", 4),
               *length = memmem(c->answer, c->size, "Content-Length: ", 16);
    return end && length && length < end && c->size >= (size_t)(end + 4 - c->answer) + strtoul(length + 16, NULL, 10);
}

/* Returns whether a whole answer is there. */
static bool receive(struct connection *c) {
    char name[40];
    ssize_t n = recv(c->socket, c->answer + c->size, sizeof c->answer - 1 - c->size, 0);
    if (n <= 0)
        fail("the server hung up", "");
    c->size += (size_t)n;
    c->answer[c->size] = '\0';
    if (!is_whole(c))
        return false;
    snprintf(name, sizeof name, "\"scenario\": \"run-%d\"", c->run);
    if (strncmp(c->answer, "HTTP/1.1 200", 12) != 0 || !strstr(c->answer, name) ||
        !strstr(c->answer, "\"tokens_per_s\""))
        fail("not this run", c->answer);
    return true;
}

static void load(int port, int n_runs, int n_connections) {
    static struct connection connections[MOST_CONNECTIONS];
    struct pollfd files[MOST_CONNECTIONS];
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int n_asked = 0, n_answered = 0;
    for (int i = 0; i < n_connections; i++) {
        connections[i].socket = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(connections[i].socket, (struct sockaddr *)&address, sizeof address) != 0)
            fail("cannot connect", "");
        files[i] = (struct pollfd){.fd = connections[i].socket, .events = POLLIN};
        ask(&connections[i], n_asked++);
    }
    while (n_answered < n_runs) {
        poll(files, (nfds_t)n_connections, -1);
        for (int i = 0; i < n_connections; i++) {
            if (!files[i].revents || !receive(&connections[i]))
                continue;
            n_answered++;
            if (n_asked < n_runs)
                ask(&connections[i], n_asked++);
            else
                files[i].fd = -1;
        }
    }
}

int main(int argc, char **argv) {
    int n_runs = argc > 2 ? atoi(argv[2]) : 4000, n_connections = argc > 3 ? atoi(argv[3]) : 16;
    pid_t server;
    if (argc < 2 || n_connections > MOST_CONNECTIONS || n_connections > n_runs)
        return 2;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* the server's processes, once it has ended */
    int port = start_server(argv[1], &server);
    double began_s = now_s();
    load(port, n_runs, n_connections);
    double took_s = now_s() - began_s;
    kill(server, SIGTERM);
    while (wait(NULL) > 0)
        continue;
    printf("serve: %d runs, %.0f a second, %.3f ms of a processor each\n", n_runs, n_runs / took_s,
           1e3 * (processor_s(RUSAGE_SELF) + processor_s(RUSAGE_CHILDREN)) / n_runs);
    return 0;
}
