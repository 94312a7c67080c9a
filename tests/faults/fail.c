/* fail.c - preloaded into tsim by tests/faults: makes the N-th call of a kind fail, as the system may.
 *
 * TSIM_FAIL=KIND:N    the N-th call of the kind fails and those after it do not
 * TSIM_FAIL=KIND:N+   and all after it
 * KINDS: alloc (memory), write, sync, open, read, rename, thread, sql (the calls of SQLite that tsim makes itself); and
 * signal: after the N-th call that does something to a file or a folder, which succeeds, comes a SIGTERM
 * TSIM_FAIL_MARK      a file that gets a byte when the first call fails
 * TSIM_FAIL_CALLS     a file that gets a line "KIND N" for each call; with TSIM_FAIL_STACKS set, of the calls of a kind
 * that come through the same functions (the whole call stack) only for the first of memory, and of the others, which
 *                     are rare, for the first, second, fourth, eighth ...
 * TSIM_FAIL_SERVER    before each call, while there is one thread, a child is made that it fails in, and the process
 * goes on when the child has ended: so every single call fails in one run (server.h says how drive.c is asked and
 * told). Locks of files are not taken, which no child would inherit; calls while there are other threads, which no
 * child would have, are noted in TSIM_FAIL_CALLS instead */
#define _GNU_SOURCE
#include "server.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum kind { ALLOC, WRITE, SYNC, OPEN, READ, RENAME, THREAD, SQL, SIGNAL, N_KINDS };
static const char *const NAMES[] = FAIL_KINDS;

enum { N_STACKS = 1 << 16, MOST_FRAMES = 100 };

static enum kind kind = N_KINDS;
static long at;
static int is_lasting;
static atomic_long n_calls[N_KINDS];
static atomic_int has_failed;
static int calls_fd = -1, by_stack, is_server, has_no_locks, has_threads;
static struct {
    uint64_t hash;
    long n;
} stacks[N_STACKS];
static pthread_mutex_t stacks_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void start(void) {
    const char *text = getenv("TSIM_FAIL"), *colon = text ? strchr(text, ':') : NULL,
               *calls = getenv("TSIM_FAIL_CALLS");
    void *frame;
    if (calls) {
        backtrace(&frame, 1); /* the first one allocates */
        by_stack = getenv("TSIM_FAIL_STACKS") != NULL;
        calls_fd = (int)syscall(SYS_openat, AT_FDCWD, calls, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    }
    is_server = has_no_locks = getenv("TSIM_FAIL_SERVER") != NULL;
    if (!colon)
        return;
    char *end;
    at = strtol(colon + 1, &end, 10);
    is_lasting = *end == '+';
    for (int i = 0; i < N_KINDS; i++)
        if (strlen(NAMES[i]) == (size_t)(colon - text) && strncmp(NAMES[i], text, (size_t)(colon - text)) == 0)
            kind = (enum kind)i;
}

static void mark(void) {
    const char *file = getenv("TSIM_FAIL_MARK");
    if (atomic_exchange(&has_failed, 1) || !file)
        return;
    long fd = syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT, 0666);
    syscall(SYS_write, (int)fd, "x", 1);
    syscall(SYS_close, (int)fd);
}

/* Counts the calls of this kind that have come through these functions, this one included. */
static long n_through_here(enum kind of) {
    void *frames[MOST_FRAMES];
    uint64_t hash = 14695981039346656037u + (uint64_t)of; /* FNV-1a */
    int n_frames = backtrace(frames, MOST_FRAMES);
    for (int i = 2; i < n_frames; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)frames[i]) * 1099511628211u;
    pthread_mutex_lock(&stacks_lock);
    size_t slot = hash % N_STACKS;
    for (int i = 0; i < N_STACKS && stacks[slot].n > 0 && stacks[slot].hash != hash; i++)
        slot = (slot + 1) % N_STACKS;
    stacks[slot].hash = hash;
    long n = ++stacks[slot].n;
    pthread_mutex_unlock(&stacks_lock);
    return n;
}

static void note(enum kind of, long n) {
    char line[64];
    long same = by_stack ? n_through_here(of) : 1;
    if (same == 1 || (of != ALLOC && (same & (same - 1)) == 0))
        syscall(SYS_write, calls_fd, line, sprintf(line, "%s %ld\n", NAMES[of], n));
}

/* ---- a child for each call ---- */

static void tell(const void *data, size_t size) {
    if (syscall(SYS_write, REPORTS_FD, data, size) != (long)size)
        syscall(SYS_exit_group, 99);
}

static int ask(void) {
    char answer;
    if (syscall(SYS_read, ANSWERS_FD, &answer, 1) != 1)
        syscall(SYS_exit_group, 99);
    return answer;
}

static int is_alone(void) {
    struct stat tasks;
    return !has_threads || (stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3);
}

/* Returns 1 in the child, in which the call fails, and with `lasting` all calls after it. */
static int child_fails(enum kind of, long n, int lasting) {
    off_t at_byte[N_FILES]; /* children share those of open files */
    int status = 0;
    const struct report call = {of, lasting, n};
    tell(&call, sizeof call);
    ask();
    for (int fd = 0; fd < N_FILES; fd++)
        at_byte[fd] = (off_t)syscall(SYS_lseek, fd, 0L, SEEK_CUR);
    pid_t pid = fork();
    if (pid == 0) {
        syscall(SYS_close, ANSWERS_FD);
        syscall(SYS_close, REPORTS_FD);
        is_server = 0, calls_fd = -1;
        kind = of, at = n, is_lasting = lasting;
        return 1;
    }
    tell(&pid, sizeof pid);
    waitpid(pid, &status, 0);
    tell(&status, sizeof status);
    ask();
    for (int fd = 0; fd < N_FILES; fd++)
        if (at_byte[fd] >= 0)
            syscall(SYS_lseek, fd, (long)at_byte[fd], SEEK_SET);
    return 0;
}

static int serve(enum kind of, long n, int error) {
    int has_lasting = of == WRITE || of == SYNC;
    int is_child = child_fails(of, n, 0) || (has_lasting && child_fails(of, n, 1));
    errno = error;
    return is_child;
}

static int fails(enum kind of, int error) {
    long n = atomic_fetch_add(&n_calls[of], 1) + 1;
    int before = errno;
    if (is_server && is_alone())
        return serve(of, n, before) ? (errno = error, 1) : 0;
    if (calls_fd >= 0)
        note(of, n);
    if (of != kind || (n != at && !(is_lasting && n > at)))
        return 0;
    mark();
    errno = error;
    return 1;
}

/* Passes on what the call returned, unless the signal is due that stands for an interruption here. */
static int did(int result) {
    int error = errno;
    if (fails(SIGNAL, error))
        raise(SIGTERM);
    return result;
}

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        abort();
    return found;
}

/* ---- memory: dlsym allocates, so glibc's own names are called ---- */

void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
void *malloc(size_t size) {
    return fails(ALLOC, ENOMEM) ? NULL : __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    return fails(ALLOC, ENOMEM) ? NULL : __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
    return fails(ALLOC, ENOMEM) ? NULL : __libc_realloc(old, size);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    return fails(ALLOC, ENOMEM) ? MAP_FAILED : REAL(mmap)(address, size, protection, flags, fd, offset);
}
void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset) {
    return fails(ALLOC, ENOMEM) ? MAP_FAILED : REAL(mmap64)(address, size, protection, flags, fd, offset);
}

/* ---- files: glibc's stdio writes past these, limits on the file's size (drive.c) are for that ---- */

ssize_t write(int fd, const void *data, size_t size) {
    return fails(WRITE, ENOSPC) ? -1 : REAL(write)(fd, data, size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    return fails(WRITE, ENOSPC) ? -1 : REAL(pwrite)(fd, data, size, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    return fails(WRITE, ENOSPC) ? -1 : REAL(pwrite64)(fd, data, size, offset);
}
int ftruncate(int fd, off_t size) {
    return fails(WRITE, ENOSPC) ? -1 : did(REAL(ftruncate)(fd, size));
}
int ftruncate64(int fd, off64_t size) {
    return fails(WRITE, ENOSPC) ? -1 : did(REAL(ftruncate64)(fd, size));
}
int fflush(FILE *stream) {
    return stream && stream != stderr && fails(WRITE, ENOSPC) ? EOF : did(REAL(fflush)(stream));
}
int fsync(int fd) {
    return fails(SYNC, EIO) ? -1 : did(REAL(fsync)(fd));
}
int fdatasync(int fd) {
    return fails(SYNC, EIO) ? -1 : did(REAL(fdatasync)(fd));
}
int rename(const char *from, const char *to) {
    return fails(RENAME, EIO) ? -1 : did(REAL(rename)(from, to));
}

int unlink(const char *name) {
    return did(REAL(unlink)(name));
}
int fclose(FILE *stream) {
    int result = REAL(fclose)(stream);
    return fails(WRITE, EIO) ? EOF : did(result); /* as over a network */
}
int close(int fd) {
    int result = REAL(close)(fd);
    return fails(WRITE, EIO) ? -1 : result;
}

FILE *fopen(const char *name, const char *mode) {
    return fails(OPEN, EMFILE) ? NULL : REAL(fopen)(name, mode);
}
FILE *fopen64(const char *name, const char *mode) {
    return fails(OPEN, EMFILE) ? NULL : REAL(fopen64)(name, mode);
}
FILE *fdopen(int fd, const char *mode) {
    return fails(OPEN, EMFILE) ? NULL : REAL(fdopen)(fd, mode);
}
int open(const char *name, int flags, ...) {
    va_list args;
    va_start(args, flags);
    int mode = flags & O_CREAT ? va_arg(args, int) : 0;
    va_end(args);
    return fails(OPEN, EMFILE) ? -1 : did(REAL(open)(name, flags, mode));
}
int open64(const char *name, int flags, ...) {
    va_list args;
    va_start(args, flags);
    int mode = flags & O_CREAT ? va_arg(args, int) : 0;
    va_end(args);
    return fails(OPEN, EMFILE) ? -1 : did(REAL(open64)(name, flags, mode));
}

DIR *opendir(const char *name) {
    return fails(OPEN, EMFILE) ? NULL : REAL(opendir)(name);
}

ssize_t read(int fd, void *data, size_t size) {
    return fails(READ, EIO) ? -1 : REAL(read)(fd, data, size);
}
ssize_t pread(int fd, void *data, size_t size, off_t offset) {
    return fails(READ, EIO) ? -1 : REAL(pread)(fd, data, size, offset);
}
ssize_t pread64(int fd, void *data, size_t size, off64_t offset) {
    return fails(READ, EIO) ? -1 : REAL(pread64)(fd, data, size, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start_routine)(void *),
                   void *argument) {
    if (fails(THREAD, EAGAIN))
        return EAGAIN;
    has_threads = 1;
    return REAL(pthread_create)(thread, attributes, start_routine, argument);
}

static int is_lock(int command) {
    return command == F_SETLK || command == F_SETLKW || command == F_GETLK;
}
int fcntl(int fd, int command, ...) {
    va_list args;
    va_start(args, command);
    void *argument = va_arg(args, void *);
    va_end(args);
    if (!has_no_locks || !is_lock(command))
        return REAL(fcntl)(fd, command, argument);
    if (command == F_GETLK)
        ((struct flock *)argument)->l_type = F_UNLCK;
    return 0;
}
int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));

/* ---- SQLite: what it says about a call that failed here has to fit, too ---- */

static __thread int said; /* the code of the last call that failed here */
static int sql_fails(const void *caller) {
    Dl_info info;
    if (dladdr(caller, &info) == 0 || strstr(info.dli_fname, "libsqlite3"))
        return 0; /* it calls itself */
    said = 0;
    if (!fails(SQL, EIO))
        return 0;
    return said = SQLITE_IOERR;
}
#define sql_fails() sql_fails(__builtin_return_address(0))
int sqlite3_step(sqlite3_stmt *stmt) {
    return sql_fails() ? SQLITE_IOERR : REAL(sqlite3_step)(stmt);
}
int sqlite3_prepare_v2(sqlite3 *db, const char *sql, int size, sqlite3_stmt **stmt, const char **rest) {
    if (!sql_fails())
        return REAL(sqlite3_prepare_v2)(db, sql, size, stmt, rest);
    *stmt = NULL;
    return SQLITE_IOERR;
}
int sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **), void *context,
                 char **message) {
    return sql_fails() ? SQLITE_IOERR : REAL(sqlite3_exec)(db, sql, row, context, message);
}
int sqlite3_open_v2(const char *file, sqlite3 **db, int flags, const char *vfs) {
    int code = REAL(sqlite3_open_v2)(file, db, flags, vfs);
    return sql_fails() ? SQLITE_IOERR : code;
}
int sqlite3_bind_text(sqlite3_stmt *stmt, int i, const char *text, int size, void (*release)(void *)) {
    return sql_fails() ? SQLITE_IOERR : REAL(sqlite3_bind_text)(stmt, i, text, size, release);
}
int sqlite3_bind_double(sqlite3_stmt *stmt, int i, double value) {
    return sql_fails() ? SQLITE_IOERR : REAL(sqlite3_bind_double)(stmt, i, value);
}
int sqlite3_bind_int64(sqlite3_stmt *stmt, int i, sqlite3_int64 value) {
    return sql_fails() ? SQLITE_IOERR : REAL(sqlite3_bind_int64)(stmt, i, value);
}
const unsigned char *sqlite3_column_text(sqlite3_stmt *stmt, int i) {
    return sql_fails() ? NULL : REAL(sqlite3_column_text)(stmt, i); /* as when memory runs out */
}
int sqlite3_errcode(sqlite3 *db) {
    return said ? said : REAL(sqlite3_errcode)(db);
}
const char *sqlite3_errmsg(sqlite3 *db) {
    return said ? sqlite3_errstr(said) : REAL(sqlite3_errmsg)(db);
}
