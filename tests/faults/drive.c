/* drive.c - runs commands of tsim again and again, each time with another call failing (fail.c) or with a lower limit
 * on the size of files, and looks at what is left:
 *
 * - it ends by itself within WAIT_S seconds, without a signal, with exit status 0 or 5, or 130 after a SIGTERM;
 * - 5 comes with a message; with 0 everything is as without the failure;
 * - files that it writes are whole or not there (or as they were before), and no temporary one stays;
 * - the database is sound, and whatever a sweep leaves in it, the same sweep goes on to the same table.
 *
 * drive TSIM FAIL_LIBRARY HOW COMMAND, or --commands, which lists them. HOW is
 *
 * - one: of each kind one call of each command, each time another;
 * - stacks: of the calls that come through the same functions the first (of rare kinds the second, fourth, ... as well);
 * - all: every single one, in children of one process (TSIM_FAIL_SERVER) that go on from the call; those that are made
 *   while a second thread runs from the start, and where several work, in another order each time, as with stacks. */
#define _GNU_SOURCE
#include "server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_S = 20, MOST_FILES = 4, MOST_READY = 32, MOST_KINDS = 12, MOST_PROBLEMS = 20, MOST_BYTES = 8 << 20 };

struct subject {
    const char *name, *command;
    const char *files[MOST_FILES]; /* that it writes */
    bool is_sweep;                 /* of a.db */
};

#define AXES "--vary parallelism.tensor=2,4,8 --vary parallelism.pipeline=1,4 --vary simulation.seed=1,2"
#define PLAN                                                                                                           \
    "--vary parallelism.zero=1 --vary training.micro_batch_size=1 --vary training.recompute=none "                     \
    "--vary parallelism.schedule=1f1b"
static const struct subject SUBJECTS[] = {
    {"run-first", "run small.yaml --db new.db", {NULL}, false}, /* makes the tables */
    {"run",
     "run small.yaml --db a.db --json=o.json --trace t.json --report r.html --quiet",
     {"o.json", "t.json", "r.html"},
     false},
    {"run-again", "run small.yaml --db full.db --trace t.json.gz", {"t.json.gz"}, false},
    {"campaign", "run campaign.yaml --db full.db --json", {NULL}, false},
    {"check", "check small.yaml --json=o.json", {"o.json"}, false},
    {"sweep", "sweep small.yaml " AXES " --db a.db --csv --jobs 1", {NULL}, true},
    {"sweep-2", "sweep small.yaml " AXES " --db a.db --json=o.json --jobs 2", {"o.json"}, true},
    {"merge", "merge a.db full.db other.db", {NULL}, false},
    {"query", "query best_per_gpu_count --db full.db", {NULL}, false},
    {"query-json", "query points --db full.db --json=o.json", {"o.json"}, false},
    {"runs", "runs --db full.db --json", {NULL}, false},
    {"report", "report --db full.db --output r.html", {"r.html"}, false},
    {"report-run", "report 1 --db full.db --output r.html", {"r.html"}, false},
    {"compare", "compare 1 small.yaml --db full.db", {NULL}, false},
    {"explain", "explain small.yaml --json", {NULL}, false},
    {"explain-term", "explain small.yaml mfu", {NULL}, false},
    {"validate", "validate small-measured.yaml --jobs 2", {NULL}, false},
    {"plan", "plan small.yaml " PLAN " --jobs 2", {NULL}, false},
    {"plan-csv", "plan small.yaml " PLAN " --jobs 1 --csv", {NULL}, false},
    {"scale", "scale small.yaml --gpus 32,64 --db a.db --jobs 1", {NULL}, false},
    {"collective", "collective small.yaml --sizes 1MiB:4MiB --set simulation.network=steps", {NULL}, false},
    {"list", "list accelerators", {NULL}, false},
    {"show", "show node/dgx-h100 --json", {NULL}, false},
    {"import", "import hf-config config.json --output m.yaml", {"m.yaml"}, false},
    {"import-launch", "import megatron launch.sh --output m.yaml", {"m.yaml"}, false},
    {"import-topology", "import nccl-xml topology.xml --output m.yaml", {"m.yaml"}, false},
    {"import-chakra", "import chakra step.0.et step.1.et --output m.yaml", {"m.yaml"}, false},
    {"replay", "replay step.yaml --csv", {NULL}, false},
    {"export-svg", "export small.yaml --format svg --chart memory --output o.svg", {"o.svg"}, false},
    {"export-run", "export 1 --db full.db --format csv", {NULL}, false},
    {"export-chakra",
     "export small.yaml --format chakra --ranks 0,1 --output e",
     {"e.0.et", "e.1.et", "e.groups.json"},
     false},
    {"calibrate", "calibrate kernels kernels.csv mine.yaml", {"mine.yaml"}, false},
    {"calibrate-links", "calibrate nccl-tests all-reduce.txt --output n.yaml", {"n.yaml"}, false},
    {"calibrate-profile", "calibrate profile trace.json.gz gpt2.yaml --json=o.json", {"o.json"}, false},
    {"init", "init i.yaml --model gpt2-small --node dgx-a100 --nodes 1 --goal time --jobs 1", {"i.yaml"}, false},
    {"help", "help --format man run", {NULL}, false},
};

enum { N_SUBJECTS = sizeof SUBJECTS / sizeof SUBJECTS[0] };

static const char *tsim, *library, *how;
static char work[64];
static int n_problems;
static long n_tried;

/* ---- files ---- */

struct text {
    char *data;
    long size; /* -1: there is no such file */
};

static struct text read_text(const char *name) {
    struct text text = {malloc(MOST_BYTES), -1};
    FILE *file = fopen(name, "rb");
    if (file) {
        text.size = (long)fread(text.data, 1, MOST_BYTES - 1, file);
        fclose(file);
        text.data[text.size] = '\0';
    }
    return text;
}

/* Clock times and the like, which differ from run to run, become blanks. */
static void blank_times(struct text *text) {
    static const char *const KEYS[] = {
        "\"wall_s\": ",      "\"peak_rss_bytes\": ", "\"wall_s\":",  "\"peak_rss_bytes\":", "\"started_at\": \"",
        "\"started_at\":\"", "simulated in ",        "\"run_id\": ", "\"run_id\":",         " as run "};
    for (size_t k = 0; text->size > 0 && k < sizeof KEYS / sizeof KEYS[0]; k++)
        for (char *at = text->data; (at = strstr(at, KEYS[k]));) {
            at += strlen(KEYS[k]);
            size_t n = strcspn(at, ",}\"\n");
            memmove(at, at + n, strlen(at + n) + 1);
            text->size -= (long)n;
        }
}

static bool is_same(const struct text *a, const struct text *b) {
    return a->size == b->size && (a->size < 0 || memcmp(a->data, b->data, (size_t)a->size) == 0);
}

/* A run that could not be logged has no number, so its files may differ; but they must not stop in the middle. */
static bool is_whole(const struct text *a, const struct text *good) {
    enum { TAIL = 12 };
    return a->size > TAIL && good->size > TAIL &&
           memcmp(a->data + a->size - TAIL, good->data + good->size - TAIL, TAIL) == 0;
}

/* ---- one run ---- */

struct fault {
    const char *kind; /* of fail.c, or "size" */
    long n;
    bool is_lasting;
};

static bool is_signal(const struct fault *fault) {
    return strcmp(fault->kind, "signal") == 0;
}

struct end {
    int status; /* as of wait */
    bool is_hit, is_late;
    struct text out, err, files[MOST_FILES];
};

static void release(struct end *end) {
    free(end->out.data);
    free(end->err.data);
    for (int i = 0; i < MOST_FILES; i++)
        free(end->files[i].data);
}

_Noreturn static void become(const struct subject *subject, const struct fault *fault) {
    char spec[64], *arguments[64], *rest = strdup(subject->command);
    int n = 0;
    if (fault && strcmp(fault->kind, "size") == 0) {
        struct rlimit limit = {(rlim_t)fault->n, (rlim_t)fault->n};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
    } else if (fault) {
        snprintf(spec, sizeof spec, "%s:%ld%s", fault->kind, fault->n, fault->is_lasting ? "+" : "");
        setenv("TSIM_FAIL", spec, 1);
        setenv("LD_PRELOAD", library, 1);
    }
    arguments[n++] = (char *)(uintptr_t)tsim;
    for (char *word = strtok(rest, " "); word; word = strtok(NULL, " "))
        arguments[n++] = word;
    arguments[n] = NULL;
    execv(tsim, arguments);
    _exit(127);
}

/* SIGCHLD is blocked here. */
static void wait_for(pid_t pid, struct end *end) {
    const struct timespec most = {WAIT_S, 0};
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigtimedwait(&child, NULL, &most);
    if (waitpid(pid, &end->status, WNOHANG) == pid)
        return;
    end->is_late = true;
    kill(pid, SIGKILL);
    waitpid(pid, &end->status, 0);
    sigtimedwait(&child, NULL, &most);
}

/* ---- what the commands find: the files of a folder, kept here ---- */

static struct {
    char name[65];
    struct text text;
} ready[MOST_READY];
static int n_ready;

static void keep_ready(const char *folder) {
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir)) && n_ready < MOST_READY;) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        snprintf(ready[n_ready].name, sizeof ready[n_ready].name, "%.64s", entry->d_name);
        if (entry->d_name[0] != '.')
            ready[n_ready++].text = read_text(path);
    }
    closedir(dir);
}

static void clear(const char *folder) {
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

static void start_anew(void) {
    clear("run");
    for (int i = 0; i < n_ready; i++) {
        char path[80];
        snprintf(path, sizeof path, "run/%.64s", ready[i].name);
        FILE *file = fopen(path, "wb");
        if (!file || fwrite(ready[i].text.data, 1, (size_t)ready[i].text.size, file) != (size_t)ready[i].text.size ||
            fclose(file) != 0)
            exit(2);
    }
}

static bool has_temporary(void) {
    int n = 0;
    DIR *dir = opendir("run");
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        size_t length = strlen(entry->d_name);
        n += length > 4 && strcmp(entry->d_name + length - 4, ".tmp") == 0;
    }
    closedir(dir);
    return n > 0;
}

_Noreturn static void start(const struct subject *subject, const struct fault *fault) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int out = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666), err = open("err", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    if (chdir("run") != 0)
        _exit(127);
    become(subject, fault);
}

static void read_what_is_left(const struct subject *subject, struct end *end) {
    end->out = read_text("out");
    end->err = read_text("err");
    blank_times(&end->out);
    for (int i = 0; i < MOST_FILES && subject->files[i]; i++) {
        char name[128];
        snprintf(name, sizeof name, "run/%s", subject->files[i]);
        end->files[i] = read_text(name);
        blank_times(&end->files[i]);
    }
}

static struct end run(const struct subject *subject, const struct fault *fault) {
    struct end end = {.status = 0};
    unlink("mark");
    pid_t pid = fork();
    if (pid == 0)
        start(subject, fault);
    wait_for(pid, &end);
    end.is_hit = access("mark", F_OK) == 0;
    read_what_is_left(subject, &end);
    return end;
}

/* ---- what is left ---- */

static void problem(const struct subject *subject, const struct fault *fault, const struct end *end, const char *what) {
    printf("FAIL %s, %s %ld%s: %s\n", subject->name, fault->kind, fault->n, fault->is_lasting ? " and after" : "",
           what);
    if (end->err.size > 0)
        printf("     %.*s\n", (int)strcspn(end->err.data, "\n"), end->err.data);
    n_problems++;
}

/* Returns whether the file is as it was before, with nothing beside it. */
static bool is_untouched(const char *name) {
    char path[100];
    struct text now;
    bool is_same_text = false;
    snprintf(path, sizeof path, "run/%s-wal", name);
    if (access(path, F_OK) == 0)
        return false;
    snprintf(path, sizeof path, "run/%s", name);
    now = read_text(path);
    for (int i = 0; i < n_ready; i++)
        is_same_text |= strcmp(ready[i].name, name) == 0 && is_same(&ready[i].text, &now);
    free(now.data);
    return is_same_text;
}

static bool is_sound(const char *name) {
    char file[100];
    sqlite3 *db;
    sqlite3_stmt *stmt = NULL;
    snprintf(file, sizeof file, "run/%s", name);
    if (access(file, F_OK) != 0 || is_untouched(name))
        return true;
    bool sound = sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
                 sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL) == SQLITE_OK &&
                 sqlite3_step(stmt) == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") == 0;
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return sound;
}

static void check_files(const struct subject *subject, const struct fault *fault, const struct end *end,
                        const struct end *good) {
    for (int i = 0; i < MOST_FILES && subject->files[i]; i++)
        if (end->files[i].size >= 0 && !is_same(&end->files[i], &good->files[i]) &&
            (end->status == 0 || !is_whole(&end->files[i], &good->files[i])))
            problem(subject, fault, end, subject->files[i]);
    if (has_temporary())
        problem(subject, fault, end, "a temporary file is left");
    if (!is_sound("a.db") || !is_sound("full.db") || !is_sound("new.db"))
        problem(subject, fault, end, "the database is broken");
}

static void check_end(const struct subject *subject, const struct fault *fault, const struct end *end,
                      const struct end *good) {
    int code = WIFEXITED(end->status) ? WEXITSTATUS(end->status) : -1;
    if (end->is_late)
        problem(subject, fault, end, "does not end");
    else if (WIFSIGNALED(end->status))
        problem(subject, fault, end, strsignal(WTERMSIG(end->status)));
    else if (code == 130 && is_signal(fault))
        return;
    else if (code != 0 && code != 5)
        problem(subject, fault, end,
                code == 70  ? "is called a bug"
                : code == 3 ? "is called invalid input"
                            : "exit status");
    else if (code == 5 && end->err.size <= 0 && strcmp(fault->kind, "size") != 0)
        problem(subject, fault, end, "no message");
    else if (code == 0 && !is_same(&end->out, &good->out) && !strstr(end->out.data, "could not be read"))
        problem(subject, fault, end, "exit status 0 and another output");
    for (int i = 0; code == 0 && i < MOST_FILES && subject->files[i]; i++)
        if (end->files[i].size < 0)
            problem(subject, fault, end, "exit status 0 and no file");
}

/* Returns whether no sweep has gone on from these bytes before. */
static bool is_new_database(void) {
    static uint64_t seen[1 << 16];
    static const char *const PARTS[] = {"run/a.db", "run/a.db-wal"};
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (int i = 0; i < 2; i++) {
        struct text text = read_text(PARTS[i]);
        hash = (hash ^ (uint64_t)text.size) * 1099511628211u;
        for (long at = 0; at < text.size; at++)
            hash = (hash ^ (unsigned char)text.data[at]) * 1099511628211u;
        free(text.data);
    }
    uint64_t *slot = &seen[hash % (sizeof seen / sizeof seen[0])];
    bool is_new = *slot != hash;
    *slot = hash;
    return is_new;
}

static void check_resumed(const struct subject *subject, const struct fault *fault, const struct end *good) {
    struct end again = run(subject, NULL);
    if (!WIFEXITED(again.status) || WEXITSTATUS(again.status) != 0 || !is_same(&again.out, &good->out) ||
        (subject->files[0] && !is_same(&again.files[0], &good->files[0])))
        problem(subject, fault, &again, "the same sweep afterwards gives another table");
    release(&again);
}

static void check(const struct subject *subject, const struct fault *fault, const struct end *end,
                  const struct end *good) {
    n_tried++;
    check_end(subject, fault, end, good);
    check_files(subject, fault, end, good);
    if (subject->is_sweep && (end->is_hit || (strcmp(fault->kind, "size") == 0 && end->status != 0)) &&
        is_new_database())
        check_resumed(subject, fault, good);
}

static void try(const struct subject *subject, const struct fault *fault, const struct end *good) {
    start_anew();
    struct end end = run(subject, fault);
    check(subject, fault, &end, good);
    release(&end);
}

/* ---- which calls ---- */

struct call {
    char kind[8];
    long n;
};

/* Reads the calls that fail.c has noted; the caller frees them. */
static struct call *read_calls(long *n_calls) {
    struct call *calls = NULL;
    long n = 0, capacity = 0;
    FILE *file = fopen("calls", "r");
    for (struct call call; file && fscanf(file, "%7s %ld", call.kind, &call.n) == 2; calls[n++] = call)
        if (n == capacity && !(calls = realloc(calls, (size_t)(capacity = 2 * capacity + 64) * sizeof *calls)))
            exit(2);
    if (!file || fclose(file) != 0)
        exit(2);
    unlink("calls");
    *n_calls = n;
    return calls;
}

static void note_calls(const struct subject *subject) {
    start_anew();
    setenv("TSIM_FAIL_CALLS", "../calls", 1);
    struct end end = run(subject, &(struct fault){"none", 0, false});
    unsetenv("TSIM_FAIL_CALLS");
    release(&end);
}

/* Leaves of each kind one, each time another (of a stream the k-th is taken with chance 1 / k); how many that are. */
static long draw(struct call *calls, long n_calls) {
    struct call drawn[MOST_KINDS];
    long seen[MOST_KINDS] = {0};
    int n_kinds = 0;
    for (long i = 0; i < n_calls; i++) {
        int k = 0;
        while (k < n_kinds && strcmp(drawn[k].kind, calls[i].kind) != 0)
            k++;
        n_kinds = k < n_kinds ? n_kinds : k + 1;
        if (random() % ++seen[k] == 0)
            drawn[k] = calls[i];
    }
    memcpy(calls, drawn, (size_t)n_kinds * sizeof *drawn);
    return n_kinds;
}

/* ---- every call, by a server ---- */

/* Files as they are now, each held by a second link so that restoring it gives the server, which may have it open, the
 * same one. */
static struct {
    char name[65];
    struct text text;
} before[MOST_READY];
static int n_before;

static void hold(const char *path, const char *name) {
    char link_name[80];
    snprintf(link_name, sizeof link_name, "held/%.64s", name);
    if (n_before == MOST_READY || link(path, link_name) != 0)
        exit(2);
    snprintf(before[n_before].name, sizeof before[n_before].name, "%.64s", name);
    free(before[n_before].text.data);
    before[n_before++].text = read_text(path);
}

static void hold_files(void) {
    char path[80];
    clear("held");
    n_before = 0;
    hold("out", "out");
    hold("err", "err");
    DIR *dir = opendir("run");
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "run/%.64s", entry->d_name);
            hold(path, entry->d_name);
        }
    closedir(dir);
}

static void write_back(const char *path, const struct text *text) {
    struct text now = read_text(path);
    int fd = is_same(&now, text) ? -1 : open(path, O_WRONLY);
    free(now.data);
    if (fd < 0)
        return;
    if (pwrite(fd, text->data, (size_t)text->size, 0) != text->size || ftruncate(fd, text->size) != 0 || close(fd) != 0)
        exit(2);
}

static void restore_files(void) {
    clear("run");
    for (int i = 0; i < n_before; i++) {
        char held[80], path[80];
        snprintf(held, sizeof held, "held/%.64s", before[i].name);
        snprintf(path, sizeof path, "run/%.64s", before[i].name);
        write_back(held, &before[i].text);
        if (i > 1 && link(held, path) != 0) /* out and err lie beside the folder */
            exit(2);
    }
}

struct server {
    pid_t pid;
    int reports, answers;
};

static struct server serve(const struct subject *subject) {
    int reports[2], answers[2];
    if (pipe(reports) != 0 || pipe(answers) != 0)
        exit(2);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(answers[0], ANSWERS_FD);
        dup2(reports[1], REPORTS_FD);
        for (int i = 0; i < 2; i++)
            close(reports[i]), close(answers[i]);
        setenv("TSIM_FAIL_SERVER", "1", 1);
        if (strstr(subject->command, "--jobs 2"))
            setenv("TSIM_FAIL_STACKS", "1", 1);
        setenv("TSIM_FAIL_CALLS", "../calls", 1);
        start(subject, &(struct fault){"none", 0, false});
    }
    close(reports[1]);
    close(answers[0]);
    return (struct server){pid, reports[0], answers[1]};
}

/* Returns false if the server has ended. */
static bool hear(const struct server *server, void *data, size_t size) {
    ssize_t n = read(server->reports, data, size);
    if (n != 0 && n != (ssize_t)size)
        exit(2);
    return n > 0;
}

static void answer(const struct server *server) {
    if (write(server->answers, "", 1) != 1)
        exit(2);
}

static void await_child(const struct server *server, struct end *end) {
    struct pollfd ended = {.fd = server->reports, .events = POLLIN};
    pid_t pid;
    if (!hear(server, &pid, sizeof pid))
        exit(2);
    if (poll(&ended, 1, WAIT_S * 1000) == 0) {
        end->is_late = true;
        kill(pid, SIGKILL);
    }
    if (!hear(server, &end->status, sizeof end->status))
        exit(2);
}

/* The server's own run, which all this must not have disturbed, ends like any other. */
static void check_server(const struct subject *subject, const struct server *server, const struct end *good) {
    const struct fault nothing = {"nothing", 0, false};
    struct end end = {.status = 0};
    wait_for(server->pid, &end);
    read_what_is_left(subject, &end);
    if (end.status != good->status)
        problem(subject, &nothing, &end, "fails as a server");
    check_end(subject, &nothing, &end, good);
    check_files(subject, &nothing, &end, good);
    release(&end);
}

static void fail_every_call(const struct subject *subject, const struct end *good) {
    static const char *const KINDS[] = FAIL_KINDS;
    struct report call;
    start_anew();
    struct server server = serve(subject);
    while (hear(&server, &call, sizeof call)) {
        struct end end = {.is_hit = true};
        hold_files();
        answer(&server);
        await_child(&server, &end);
        read_what_is_left(subject, &end);
        if (n_problems < MOST_PROBLEMS)
            check(subject, &(struct fault){KINDS[call.kind], call.n, call.is_lasting}, &end, good);
        release(&end);
        restore_files();
        answer(&server);
    }
    check_server(subject, &server, good);
    close(server.reports);
    close(server.answers);
    clear("held");
}

static void fail_calls(const struct subject *subject, const struct end *good) {
    long n_calls;
    if (strcmp(how, "all") == 0)
        fail_every_call(subject, good); /* and notes the others */
    else
        note_calls(subject);
    struct call *calls = read_calls(&n_calls);
    if (strcmp(how, "one") == 0)
        n_calls = draw(calls, n_calls);
    for (long i = 0; i < n_calls && n_problems < MOST_PROBLEMS; i++) {
        try(subject, &(struct fault){calls[i].kind, calls[i].n, false}, good);
        if (strcmp(calls[i].kind, "write") == 0 || strcmp(calls[i].kind, "sync") == 0)
            try(subject, &(struct fault){calls[i].kind, calls[i].n, true}, good);
    }
    free(calls);
}

static void limit_sizes(const struct subject *subject, const struct end *good) {
    long largest = 0;
    for (int i = 0; i < MOST_FILES && subject->files[i]; i++)
        largest = good->files[i].size > largest ? good->files[i].size : largest;
    largest = largest > 70000 ? largest : 70000;
    long n_steps = strcmp(how, "one") == 0 ? 1 : strcmp(how, "stacks") == 0 ? 40 : 100;
    for (long i = 0; i < n_steps && n_problems < MOST_PROBLEMS; i++)
        try(subject, &(struct fault){"size", 64 + i * largest / n_steps, true}, good);
}

static void test(const struct subject *subject) {
    start_anew();
    struct end good = run(subject, NULL);
    if (!WIFEXITED(good.status) || WEXITSTATUS(good.status) != 0) {
        problem(subject, &(struct fault){"nothing", 0, false}, &good, "fails anyway");
        return;
    }
    fail_calls(subject, &good);
    limit_sizes(subject, &good);
    release(&good);
}

static int list_commands(void) {
    for (size_t i = 0; i < N_SUBJECTS; i++)
        puts(SUBJECTS[i].name);
    return 0;
}

/* Makes the folder of the work in memory if possible, because written files are synced. */
static bool start_work(const char *folder) {
    static char mark[80];
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    keep_ready(folder);
    snprintf(work, sizeof work, "%s/tsim-faults-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(work) || chdir(work) != 0 || mkdir("run", 0777) != 0 || mkdir("held", 0777) != 0)
        return false;
    snprintf(mark, sizeof mark, "%s/mark", work);
    setenv("TSIM_FAIL_MARK", mark, 1);
    return true;
}

static void end_work(void) {
    static const char *const FILES[] = {"out", "err", "mark", "calls"};
    clear("run");
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++)
        unlink(FILES[i]);
    if (rmdir("run") != 0 || rmdir("held") != 0 || rmdir(work) != 0)
        printf("     %s is left\n", work);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--commands") == 0)
        return list_commands();
    const char *folder = getenv("TSIM_FAULTS_READY"); /* what the commands need */
    if (argc != 5 || !start_work(folder ? folder : "."))
        return 2;
    tsim = argv[1];
    library = argv[2];
    how = argv[3];
    srandom((unsigned)getpid());
    if (strcmp(how, "stacks") == 0)
        setenv("TSIM_FAIL_STACKS", "1", 1);
    for (size_t i = 0; i < N_SUBJECTS; i++)
        if (strcmp(argv[4], SUBJECTS[i].name) == 0)
            test(&SUBJECTS[i]);
    end_work();
    printf("%s %s, %ld failures\n", n_problems == 0 && n_tried > 0 ? "ok  " : "FAIL", argv[4], n_tried);
    return n_problems > 0 || n_tried == 0;
}
