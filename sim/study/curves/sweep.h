/* sweep.h - computes the points of a space on several threads and stores them as they come.
 *
 * A point is the scenario with the space's settings laid over it. Its key is a hash of the resolved scenario and the
 * simulator's version. Its seed derives from that key, so that threads, shards and restarts give the same table. A
 * point whose key the database has is not computed again. Threads hand finished points to the calling thread, which
 * alone writes, in transactions of many points. A point counts as done when it is committed, which is soon: the first
 * one at once, later ones within a twentieth of the time that the sweep has run and within a tenth of a second. Memory
 * does not grow with the number of points.
 *
 * A mistake in a value (an unknown key or id, a wrong unit) is an error of the sweep. A point whose values do not go
 * together (a plan that does not divide) has the status "invalid". */
#pragma once

#include "results/store_points.h"
#include "study/search/space.h"

struct tsim_sweep {
    const struct tsim_scenario_source *source;
    const struct tsim_space *space;
    const struct tsim_override *overrides; /* from --set; the space's settings win */
    size_t n_overrides;
    bool ignore_memory;
    int64_t shard, n_shards; /* takes positions whose remainder modulo n_shards is `shard`; 0 of 1: all */
    const char *started_at;
};

struct tsim_sweep_progress {
    int64_t n_points; /* of this shard */
    int64_t n_done;   /* committed, or found */
    int64_t n_found;  /* part of n_done that was found in the database */
    int64_t n_kept;   /* in the database: done, or of an earlier run and not yet looked at */
    int64_t n_invalid;
    double elapsed_s;
    bool is_interrupted; /* SIGINT or SIGTERM came: threads finish their points, and no other is computed */
};
typedef void (*tsim_sweep_report_fn)(void *context, const struct tsim_sweep_progress *progress);

/* Tries every value of every axis (its first 250) once, with the first values of the other axes. Mistakes go to
 * `diags`, their texts to `arena`. */
enum tsim_status tsim_sweep_check(struct tsim_arena *arena, const struct tsim_sweep *sweep, struct tsim_diags *diags);

/* Fills in the sweep's row for the database. */
enum tsim_status tsim_sweep_register(struct tsim_arena *arena, const struct tsim_sweep *sweep, struct tsim_store *store,
                                     int64_t *sweep_id, struct tsim_diags *diags);

/* Runs the sweep. `file` is the store's, in which the threads look points up; NULL is a temporary store, which has
 * none. `report` is called from this thread a few times a second and at the end; NULL: nobody is told. SIGINT and
 * SIGTERM are blocked while it runs. If one came they stay blocked, and the caller should end soon. */
enum tsim_status tsim_sweep_run(const struct tsim_sweep *sweep, struct tsim_store *store, const char *file,
                                int64_t sweep_id, int32_t n_threads, tsim_sweep_report_fn report, void *context,
                                struct tsim_sweep_progress *progress, struct tsim_diags *diags);

/* The traits of the job before its axes are applied; all are false, and the device an accelerator, if the job is not valid
 * without them. */
struct tsim_sweep_traits {
    bool is_of_samples; /* the model has no tokens */
    bool has_rounds;    /* of post-training */
    const char *device; /* the word for one accelerator, in the arena of the call */
};
/* Returns TSIM_ERR_IO if a file of the job cannot be read at the moment. */
enum tsim_status tsim_sweep_traits(struct tsim_arena *arena, const struct tsim_sweep *sweep,
                                   struct tsim_sweep_traits *traits, struct tsim_diags *diags);

/* Finds one point by `finder` (may be NULL), or computes it, and does not store it; for studies of a few points. */
enum tsim_status tsim_sweep_point(const struct tsim_sweep *sweep, int64_t position, struct tsim_point_finder *finder,
                                  struct tsim_point *point, struct tsim_diags *diags);
