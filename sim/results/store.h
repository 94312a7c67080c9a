/* store.h - the database of runs (SQLite). One file, many processes: WAL, a busy timeout, one
 * transaction a run, so that a killed process loses nothing that was reported as done.
 *
 * PRAGMA user_version is the version of the tables: a new one comes with columns for figures (outcome.def), or with
 * other views. An older database is migrated when it is opened for writing; one that a newer tsim wrote is refused. Every
 * failure is a TSIM_ERR_DB with one diagnostic that names the file. */
#ifndef TSIM_RESULTS_STORE_H
#define TSIM_RESULTS_STORE_H

#include "results/prediction.h"

enum tsim_store_mode {
    TSIM_STORE_WRITE, /* made when it does not exist */
    TSIM_STORE_READ   /* must exist */
};

struct tsim_store; /* an open database; one thread at a time */

/* An empty file name opens a temporary database that goes when it is closed. */
enum tsim_status tsim_store_open(struct tsim_arena *arena, const char *file, enum tsim_store_mode mode,
                                 struct tsim_store **store, struct tsim_diags *diags);
void tsim_store_close(struct tsim_store *store); /* NULL is allowed */

/* Sets how long a call waits for another process; 5000 unless set. */
void tsim_store_set_patience(struct tsim_store *store, int milliseconds);

/* Logs one run with its steps, operators, ranks and measured rows, all or nothing. `started_at` is ISO 8601 in UTC. */
enum tsim_status tsim_store_add_run(struct tsim_store *store, const struct tsim_prediction *prediction,
                                    const char *started_at, int64_t *run_id, struct tsim_diags *diags);

/* Reads the resolved scenario of a run as JSON in `arena`. TSIM_ERR_REFERENCE: there is no such run. */
enum tsim_status tsim_store_configuration(struct tsim_store *store, struct tsim_arena *arena, int64_t run_id,
                                          const char **json, struct tsim_diags *diags);

struct tsim_store_run {
    int64_t run_id, accelerators;
    const char *started_at, *scenario, *status, *version;
    /* NAN when the run was not simulated; tokens too where the model has none, of which there are as many as
     * samples. */
    double step_time_s, tokens_per_s, samples_per_s, mfu;
};

/* Lists all runs, oldest first, in `arena`. */
enum tsim_status tsim_store_list(struct tsim_store *store, struct tsim_arena *arena, struct tsim_store_run **runs,
                                 size_t *n_runs, struct tsim_diags *diags);

#endif
