/* store.h - the database of runs (SQLite). Many processes may use one file: it has a write-ahead log, a busy timeout,
 * and one transaction a run, so that a killed process loses nothing that was reported as done.
 *
 * PRAGMA user_version is the version of the tables. A new version comes with columns for figures (outcome.def), or with
 * other views. An older database is migrated when it is opened for writing; one that a newer tsim wrote is refused.
 * Every failure is a TSIM_ERR_DB with one diagnostic that names the file. */
#pragma once

#include "results/prediction.h"

enum tsim_store_mode {
    TSIM_STORE_WRITE, /* the file is made if it does not exist */
    TSIM_STORE_READ   /* the file must exist */
};

struct tsim_store; /* an open database, for one thread at a time */

/* Opens the database of a file. An empty name opens a temporary database, which is removed when it is closed. */
enum tsim_status tsim_store_open(struct tsim_arena *arena, const char *file, enum tsim_store_mode mode,
                                 struct tsim_store **store, struct tsim_diags *diags);
void tsim_store_close(struct tsim_store *store); /* does nothing with NULL */

/* Sets how long a call waits for another process, in ms; 5000 unless set. */
void tsim_store_set_patience(struct tsim_store *store, int milliseconds);

/* Logs one run with its steps, operators, ranks and measured rows, all or nothing. `started_at` is in ISO 8601, UTC. */
enum tsim_status tsim_store_add_run(struct tsim_store *store, const struct tsim_prediction *prediction,
                                    const char *started_at, int64_t *run_id, struct tsim_diags *diags);

/* Reads the resolved scenario of a run as JSON into `arena`. Returns TSIM_ERR_REFERENCE if there is no such run. */
enum tsim_status tsim_store_configuration(struct tsim_store *store, struct tsim_arena *arena, int64_t run_id,
                                          const char **json, struct tsim_diags *diags);

struct tsim_store_run {
    int64_t run_id, accelerators;
    const char *started_at, *scenario, *status, *version;
    /* These are NAN if the run was not simulated. tokens_per_s is also NAN if the model has no tokens. */
    double step_time_s, tokens_per_s, samples_per_s, mfu;
};

/* Lists all runs, oldest first, in `arena`. */
enum tsim_status tsim_store_list(struct tsim_store *store, struct tsim_arena *arena, struct tsim_store_run **runs,
                                 size_t *n_runs, struct tsim_diags *diags);
