/* drive.c - runs commands of tsim again and again, each time with another call failing (fail.c) or with a lower limit
 * on the size of files, and looks at what is left:
 *
 * - it ends by itself within WAIT_S seconds, without a signal, with exit status 0 or 5, or 130 after a SIGTERM;
 * - 5 comes with a message; with 0 everything is as without the failure;
 * - files that it writes are whole or not there (or as they were before), and no temporary one stays;
 * - the database is sound, and whatever a sweep leaves in it, the same sweep goes on to the same table.
 *
 * drive TSIM FAIL_LIBRARY MOST: of each kind at most MOST failures of each command, evenly spread; 0: every one. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
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
#include <unistd.h>

enum { WAIT_S = 20, MOST_FILES = 4, MOST_PROBLEMS = 20, MOST_BYTES = 8 << 20 };

struct subject {
    const char *name, *command;
    const char *files[MOST_FILES]; /* that it writes */
    bool is_sweep;                 /* of a.db */
};

#define AXES "--vary parallelism.tensor=2,4,8 --vary parallelism.pipeline=1,4 --vary simulation.seed=1,2"
static const struct subject SUBJECTS[] = {
    {"run",
     "run small.yaml --db a.db --json=o.json --trace t.json --report r.html --quiet",
     {"o.json", "t.json", "r.html"},
     false},
    {"run-again", "run small.yaml --db full.db --trace t.json.gz", {"t.json.gz"}, false},
    {"check", "check small.yaml --json=o.json", {"o.json"}, false},
    {"sweep", "sweep small.yaml " AXES " --db a.db --csv --jobs 1", {NULL}, true},
    {"sweep-2", "sweep small.yaml " AXES " --db a.db --json=o.json --jobs 2", {"o.json"}, true},
    {"merge", "merge a.db full.db other.db", {NULL}, false},
    {"query", "query best_per_gpu_count --db full.db", {NULL}, false},
    {"runs", "runs --db full.db --json", {NULL}, false},
    {"report", "report --db full.db --output r.html", {"r.html"}, false},
    {"compare", "compare 1 small.yaml --db full.db", {NULL}, false},
    {"explain", "explain small.yaml --json", {NULL}, false},
    {"explain-term", "explain small.yaml mfu", {NULL}, false},
    {"validate", "validate small-measured.yaml --jobs 2", {NULL}, false},
    {"plan",
     "plan small.yaml --vary parallelism.zero=1 --vary training.micro_batch_size=1 --vary training.recompute=none "
     "--jobs 2",
     {NULL},
     false},
    {"scale", "scale small.yaml --gpus 32,64 --db a.db --jobs 1", {NULL}, false},
    {"collective", "collective small.yaml --sizes 1MiB:4MiB --set simulation.network=steps", {NULL}, false},
    {"list", "list accelerators", {NULL}, false},
    {"show", "show node/dgx-h100 --json", {NULL}, false},
    {"import", "import hf-config config.json --output m.yaml", {"m.yaml"}, false},
    {"calibrate", "calibrate kernels kernels.csv mine.yaml", {"mine.yaml"}, false},
};

static const char *tsim, *library;
static long most;
static char work[] = "/tmp/tsim-faults-XXXXXX";
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

static int n_temporary;
static int look_for_temporary(const char *name, const struct stat *info, int type, struct FTW *walk) {
    (void)info, (void)type, (void)walk;
    size_t length = strlen(name);
    n_temporary += length > 4 && strcmp(name + length - 4, ".tmp") == 0;
    return 0;
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

static void wait_for(pid_t pid, struct end *end) {
    for (int i = 0; i < WAIT_S * 200; i++) {
        if (waitpid(pid, &end->status, WNOHANG) == pid)
            return;
        usleep(i < 100 ? 1000 : 5000);
    }
    end->is_late = true;
    kill(pid, SIGKILL);
    waitpid(pid, &end->status, 0);
}

static void start_anew(void) {
    if (system("rm -rf run && cp -r ready run") != 0)
        exit(2);
}

static struct end run(const struct subject *subject, const struct fault *fault) {
    struct end end = {.status = 0};
    unlink("mark");
    pid_t pid = fork();
    if (pid == 0) {
        int out = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666),
            err = open("err", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        dup2(out, STDOUT_FILENO);
        dup2(err, STDERR_FILENO);
        if (chdir("run") != 0)
            _exit(127);
        become(subject, fault);
    }
    wait_for(pid, &end);
    end.is_hit = access("mark", F_OK) == 0;
    end.out = read_text("out");
    end.err = read_text("err");
    blank_times(&end.out);
    for (int i = 0; i < MOST_FILES && subject->files[i]; i++) {
        char name[128];
        snprintf(name, sizeof name, "run/%s", subject->files[i]);
        end.files[i] = read_text(name);
        blank_times(&end.files[i]);
    }
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

static bool is_sound(const char *file) {
    sqlite3 *db;
    sqlite3_stmt *stmt = NULL;
    if (access(file, F_OK) != 0)
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
    n_temporary = 0;
    nftw("run", look_for_temporary, 8, FTW_PHYS);
    if (n_temporary > 0)
        problem(subject, fault, end, "a temporary file is left");
    if (!is_sound("run/a.db") || !is_sound("run/full.db"))
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

static void check_resumed(const struct subject *subject, const struct fault *fault, const struct end *good) {
    struct end again = run(subject, NULL);
    if (!WIFEXITED(again.status) || WEXITSTATUS(again.status) != 0 || !is_same(&again.out, &good->out) ||
        (subject->files[0] && !is_same(&again.files[0], &good->files[0])))
        problem(subject, fault, &again, "the same sweep afterwards gives another table");
    release(&again);
}

/* False when the command is over before the failure. */
static bool try(const struct subject *subject, const struct fault *fault, const struct end *good) {
    start_anew();
    struct end end = run(subject, fault);
    bool is_hit = end.is_hit || (strcmp(fault->kind, "size") == 0 && end.status != 0);
    n_tried++;
    check_end(subject, fault, &end, good);
    check_files(subject, fault, &end, good);
    if (subject->is_sweep && is_hit)
        check_resumed(subject, fault, good);
    release(&end);
    return is_hit;
}

enum { N_KINDS = 9 };
static const char *const KINDS[N_KINDS] = {"alloc",  "write",  "sync", "open",  "read",
                                           "rename", "thread", "sql",  "signal"};

static void count(const struct subject *subject, long counts[N_KINDS]) {
    const struct fault nothing = {"none", 0, false};
    start_anew();
    setenv("TSIM_FAIL_COUNT", "../counts", 1);
    struct end end = run(subject, &nothing);
    unsetenv("TSIM_FAIL_COUNT");
    release(&end);
    FILE *file = fopen("counts", "r");
    for (int k = 0; k < N_KINDS; k++)
        if (!file || fscanf(file, "%ld", &counts[k]) != 1)
            exit(2);
    fclose(file);
    unlink("counts");
}

static void fail_all(const struct subject *subject, const char *kind, long total, bool is_lasting,
                     const struct end *good) {
    long step = most > 0 && total > most ? (total + most - 1) / most : 1, n_before = n_problems;
    long first = most > 0 ? 1 + (long)((unsigned)getpid() % (unsigned)step) : 1; /* each time others */
    for (long n = first; n <= total && n_problems < MOST_PROBLEMS; n += step)
        try(subject, &(struct fault){kind, n, is_lasting}, good);
    if (getenv("TSIM_FAULTS_VERBOSE"))
        printf("     %s: %ld calls of kind %s, %s\n", subject->name, total, kind,
               n_problems > n_before ? "FAIL" : "ok");
}

static void limit_sizes(const struct subject *subject, const struct end *good) {
    long largest = 0;
    for (int i = 0; i < MOST_FILES && subject->files[i]; i++)
        largest = good->files[i].size > largest ? good->files[i].size : largest;
    largest = largest > 70000 ? largest : 70000;
    long n_steps = most > 0 ? most : 40;
    for (long i = 0; i < n_steps && n_problems < MOST_PROBLEMS; i++)
        try(subject, &(struct fault){"size", 64 + i * largest / n_steps, true}, good);
}

static void test(const struct subject *subject) {
    int n_before = n_problems;
    long counts[N_KINDS];
    start_anew();
    struct end good = run(subject, NULL);
    if (!WIFEXITED(good.status) || WEXITSTATUS(good.status) != 0) {
        problem(subject, &(struct fault){"nothing", 0, false}, &good, "fails anyway");
        return;
    }
    count(subject, counts);
    for (size_t k = 0; k < N_KINDS; k++) {
        fail_all(subject, KINDS[k], counts[k], false, &good);
        if (strcmp(KINDS[k], "write") == 0 || strcmp(KINDS[k], "sync") == 0)
            fail_all(subject, KINDS[k], counts[k], true, &good);
    }
    limit_sizes(subject, &good);
    release(&good);
    if (n_problems == n_before)
        printf("ok   %s\n", subject->name);
    fflush(stdout);
}

int main(int argc, char **argv) {
    char mark[128];
    if (argc < 4 || !mkdtemp(work))
        return 2;
    tsim = argv[1];
    library = argv[2];
    most = strtol(argv[3], NULL, 10);
    const char *ready = getenv("TSIM_FAULTS_READY"); /* a folder with what the commands need */
    char command[512];
    snprintf(command, sizeof command, "cp -r '%s' '%s/ready'", ready ? ready : ".", work);
    snprintf(mark, sizeof mark, "%s/mark", work);
    setenv("TSIM_FAIL_MARK", mark, 1);
    if (system(command) != 0 || chdir(work) != 0)
        return 2;
    int n_subjects = 0, n_good = 0;
    for (size_t i = 0; i < sizeof SUBJECTS / sizeof SUBJECTS[0] && n_problems < MOST_PROBLEMS; i++) {
        if (argc > 4 && strcmp(argv[4], SUBJECTS[i].name) != 0)
            continue;
        int n_before = n_problems;
        test(&SUBJECTS[i]);
        n_subjects++;
        n_good += n_problems == n_before;
    }
    printf("%ld failures tried\n%d passed, %d failed\n", n_tried, n_good, n_subjects - n_good);
    snprintf(command, sizeof command, "rm -rf '%s'", work);
    return system(command) != 0 || n_problems > 0 || n_subjects == 0;
}
