/* tsim.h - tsim as a library (libtsim.so, libtsim.a): load a scenario, set keys, run it, read figures; sweep over keys;
 * or give any command of the program and read the JSON that it prints.
 *
 *   struct tsim_job *job = tsim_job_new();
 *   if (tsim_job_load_file(job, "scenario.yaml") != TSIM_JOB_OK)
 *       complain(tsim_job_messages(job));
 *   tsim_job_set(job, "cluster.nodes", "64");
 *   if (tsim_job_run(job) == TSIM_JOB_OK)
 *       printf("%.3f s\n", tsim_job_figure(job, "step.time_s"));
 *   tsim_job_free(job);
 *
 * Compile with: cc program.c $(pkg-config --cflags --libs tsim), and --static for libtsim.a. Figures are called as in
 * the object that `tsim run --json` prints, and are in SI base units; numbers are those of the program, to the last
 * bit.
 *
 * Threads: a job is used by one thread at a time; any number of jobs may be used at once, each by a thread of its own.
 * tsim_job_interrupt alone may be called from any thread at any time. Nothing is kept outside a job. A sweep or a
 * command starts threads of its own, and blocks SIGINT and SIGTERM in the calling thread until it returns: one that
 * came stops it early (TSIM_JOB_INTERRUPTED); after a sweep it stays pending, after a command it is delivered.
 *
 * Memory: a job owns every text that it returns, and copies every text that it is given. Running out of memory ends the
 * program with a message and exit status 5, a bug of ours with 70, as they do for `tsim`. Functions that take a job
 * must not be given NULL, tsim_job_free apart. */
#ifndef TSIM_H
#define TSIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* everything else in the library is hidden */

#define TSIM_API_VERSION 1 /* grows when a program that uses this header would have to change */

const char *tsim_job_version(void); /* tsim's version: "1.0.0" */

/* The values are the exit statuses of the program. After INVALID, tsim_job_messages says where the mistake is and what
 * would be right. After DOES_NOT_FIT (in memory), only the figures of memory exist. */
enum tsim_job_status {
    TSIM_JOB_OK = 0,
    TSIM_JOB_USAGE = 2, /* the words of a command are wrong */
    TSIM_JOB_INVALID = 3,
    TSIM_JOB_DOES_NOT_FIT = 4,
    TSIM_JOB_IO = 5,
    TSIM_JOB_GATE = 6, /* a command's error or change is above the limit that it was given */
    TSIM_JOB_INTERRUPTED = 130
};

struct tsim_job;
struct tsim_job *tsim_job_new(void);
void tsim_job_free(struct tsim_job *job); /* does nothing with NULL */

/* These load a scenario from a file, or from text in memory (YAML or JSON, which looks in the current folder for what
 * it names by a path). It replaces the scenario that was loaded, and drops what was set. The catalogue is found as the
 * program finds it: in $TSIM_DATA, else where it was installed. */
enum tsim_job_status tsim_job_load_file(struct tsim_job *job, const char *file);
enum tsim_job_status tsim_job_load_text(struct tsim_job *job, const char *text);

/* Sets a key as --set PATH=VALUE does, for example ("parallelism.tensor", "4"). A later setting of the same key wins.
 * tsim_job_run reports values that are not possible. */
enum tsim_job_status tsim_job_set(struct tsim_job *job, const char *path, const char *value);

/* From now on, runs and sweeps also simulate what does not fit in memory. */
void tsim_job_ignore_memory(struct tsim_job *job, int is_ignored);

enum tsim_job_status tsim_job_run(struct tsim_job *job);

/* Returns a figure of the last run: "step.time_s", "campaign.days"; NAN if there is none. Booleans are 1 and 0. */
double tsim_job_figure(const struct tsim_job *job, const char *name);
/* Returns the last run as a whole, an object in JSON ("{}" before the first run), or, after a command, what the command
 * printed. The text is valid until the next call of load, run, command or free. */
const char *tsim_job_json(const struct tsim_job *job);
/* Returns the messages of the last call, errors and warnings, in a line or more each; "" if there are none. The text is
 * valid until the next call. */
const char *tsim_job_messages(const struct tsim_job *job);

/* ---- sweeps ---- */

struct tsim_job_point {
    int64_t position;            /* from 0; the first axis changes slowest */
    const char *set_json;        /* {"cluster.nodes": 64, "parallelism.tensor": 8} */
    enum tsim_job_status status; /* TSIM_JOB_INVALID: the point's values do not go together */
    const char *reason;          /* set unless the status is TSIM_JOB_OK; else "" */
    const void *figures;         /* for tsim_job_point_figure */
};
double tsim_job_point_figure(const struct tsim_job_point *point, const char *name); /* returns NAN if there is none */

/* The sweep calls it in the order of positions, from the thread that called tsim_job_sweep, after the last point was
 * computed. `point` is valid during the call. A value other than 0 ends the sweep, which then returns TSIM_JOB_OK. */
typedef int (*tsim_job_point_fn)(void *context, const struct tsim_job_point *point);

/* Computes every point of a grid on `n_threads` threads (0 means one). Axes are written as --vary takes them:
 * "cluster.nodes=16,32,64"; without any (NULL, 0) they are those of the scenario's own `sweep:` section. The points are
 * the same for any number of threads. For a mistake in an axis it returns TSIM_JOB_INVALID and computes no point. It
 * leaves the run that tsim_job_figure and tsim_job_json read. */
enum tsim_job_status tsim_job_sweep(struct tsim_job *job, const char *const *axes, size_t n_axes, int n_threads,
                                    tsim_job_point_fn on_point, void *context);

/* ---- commands ---- */

/* Lends a text that commands of this job find as the file `name`, such as a scenario that exists only in memory. It
 * replaces a text of the same name. A job has at most eight. */
enum tsim_job_status tsim_job_lend(struct tsim_job *job, const char *name, const char *text);

/* Runs a command of the program: run, check, explain, compare, validate, sweep, plan, buy, scale, collective, export,
 * list or show. The words are those that follow its name on a command line. It works as with --json, and with --no-db
 * unless the words have --db: tsim_job_json is what the program prints, byte for byte ("" if it prints nothing). It
 * neither uses nor changes the scenario that is loaded. The status is the program's exit status. Sweeps and searches
 * can be interrupted; `run` cannot. */
enum tsim_job_status tsim_job_command(struct tsim_job *job, const char *name, const char *const *words, size_t n_words);

/* Returns each error and warning of the last command, as a list in JSON: [{"severity": "error", "file": "scenario",
 * "line": 3, "column": 8, "field": "model", "message": "...", "hint": "..."}]. Line 0 means that it belongs to no line.
 * The text is valid as long as that of tsim_job_json. Messages without a place are in tsim_job_messages. */
const char *tsim_job_diagnostics(const struct tsim_job *job);

/* Returns the data and charts of the page that a command with "--report=-" would have written, as an object in JSON;
 * its "charts" are <figure>s that each hold an SVG. It is "" if there is none. The text is valid as long as that of
 * tsim_job_json. */
const char *tsim_job_view(const struct tsim_job *job);

/* Interrupts a command or sweep that runs in another thread, which ends soon with TSIM_JOB_INTERRUPTED; if none runs,
 * the next one does. Any thread may call it. */
void tsim_job_interrupt(struct tsim_job *job);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
