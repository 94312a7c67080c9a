#define _GNU_SOURCE /* memfd_create, close_range */
#include "serve/process.h"

#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_one(int *descriptor) {
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

static bool write_all(int descriptor, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        ssize_t n = write(descriptor, at, size);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* ---- the new process ---- */

_Noreturn static void be_child(const int descriptors[4], struct tsim_serve_answer *answer, tsim_serve_work_fn work,
                               const void *context) {
    const struct rlimit most_output = {TSIM_SERVE_MOST_OUTPUT_BYTES, TSIM_SERVE_MOST_OUTPUT_BYTES}, none = {0, 0};
    enum { PROGRESS = 3 };
    for (int i = 0; i <= PROGRESS; i++)
        if (dup2(descriptors[i], i) < 0)
            _exit(TSIM_OUT_OF_MEMORY_EXIT);
    close_range(PROGRESS + 1, ~0U, 0); /* connections of others, and the server's own */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_FSIZE, &most_output);
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGPIPE, SIG_IGN);
    FILE *progress = fdopen(PROGRESS, "w");
    if (!progress)
        _exit(TSIM_OUT_OF_MEMORY_EXIT);
    struct tsim_serve_answer given = work(context, progress);
    fflush(stderr);
    if (fflush(stdout) != 0 || ferror(stdout))
        _exit(TSIM_OUT_OF_MEMORY_EXIT);
    *answer = given;
    _exit(0);
}

static int open_memory(const char *name) {
    return memfd_create(name, MFD_CLOEXEC);
}

bool tsim_serve_process_start(struct tsim_serve_process *process, const void *body, size_t size,
                              tsim_serve_work_fn work, const void *context) {
    int ends[2] = {-1, -1}, input = open_memory("body");
    *process = (struct tsim_serve_process){0, open_memory("answer"), open_memory("errors"), -1, NULL};
    void *shared = mmap(NULL, sizeof *process->answer, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    process->answer = shared == MAP_FAILED ? NULL : shared;
    bool is_ready = process->answer && input >= 0 && process->output >= 0 && process->errors >= 0 &&
                    pipe2(ends, O_CLOEXEC) == 0 && write_all(input, body, size) && lseek(input, 0, SEEK_SET) == 0;
    fflush(stdout); /* else both processes would write what is buffered */
    process->pid = is_ready ? fork() : -1;
    if (process->pid == 0) {
        enum { ABOVE = 10 }; /* none of them may be among those that are written over */
        const int descriptors[4] = {fcntl(input, F_DUPFD, ABOVE), fcntl(process->output, F_DUPFD, ABOVE),
                                    fcntl(process->errors, F_DUPFD, ABOVE), fcntl(ends[1], F_DUPFD, ABOVE)};
        be_child(descriptors, process->answer, work, context);
    }
    close_one(&input);
    close_one(&ends[1]);
    process->progress = ends[0];
    if (process->pid < 0)
        tsim_serve_process_release(process);
    return process->pid > 0;
}

/* ---- the server ---- */

bool tsim_serve_process_read(const struct tsim_serve_process *process, FILE *lines) {
    char bytes[4096];
    ssize_t n = read(process->progress, bytes, sizeof bytes);
    if (n < 0)
        return errno == EINTR;
    fwrite(bytes, 1, (size_t)n, lines);
    return n > 0;
}

int tsim_serve_process_end(struct tsim_serve_process *process) {
    int status = 0;
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    process->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void tsim_serve_process_release(struct tsim_serve_process *process) {
    close_one(&process->output);
    close_one(&process->errors);
    close_one(&process->progress);
    if (process->answer)
        munmap(process->answer, sizeof *process->answer);
    process->answer = NULL;
}

void tsim_serve_process_kill(const struct tsim_serve_process *process) {
    if (process->pid > 0)
        kill(process->pid, SIGKILL);
}

char *tsim_serve_file_text(int descriptor, size_t *size) {
    off_t length = lseek(descriptor, 0, SEEK_END);
    char *text = tsim_heap_alloc((size_t)length + 1);
    *size = 0;
    for (ssize_t n = 1; n > 0 && *size<(size_t)length; *size += n> 0 ? (size_t)n : 0)
        n = pread(descriptor, text + *size, (size_t)length - *size, (off_t)*size);
    text[*size] = '\0';
    return text;
}
