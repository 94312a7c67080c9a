/* store_points.h - sweeps and their points in the database. A sweep has a key, a hash of what it asks for, by which the
 * same command finds its own sweep again. A point has a position in the sweep, and a key of its own, a hash of its
 * resolved scenario and the simulator's version, by which points that another sweep has computed are found. */
#pragma once

#include "base/hash.h"
#include "results/outcome.h"
#include "results/store.h"

enum tsim_point_status { TSIM_POINT_OK, TSIM_POINT_DOES_NOT_FIT, TSIM_POINT_INVALID, TSIM_POINT_FAILED };
enum { TSIM_POINT_REASON_SIZE = 480 };

struct tsim_point {
    int64_t position; /* from 0 */
    char key[TSIM_HASH_TEXT_SIZE];
    int64_t seed;
    enum tsim_point_status status;
    char reason[TSIM_POINT_REASON_SIZE]; /* set unless the status is TSIM_POINT_OK; else "" */
    struct tsim_outcome outcome;
};

/* Returns "ok", "does_not_fit", "invalid" or "failed". */
const char *tsim_point_status_name(enum tsim_point_status status);

struct tsim_sweep_row {
    const char *key, *scenario, *spec_json, *version, *started_at;
    int64_t n_points;
};

/* Finds the sweep with that key, or adds it. */
enum tsim_status tsim_store_add_sweep(struct tsim_store *store, const struct tsim_sweep_row *sweep, int64_t *sweep_id,
                                      struct tsim_diags *diags);

struct tsim_sweep_listed {
    int64_t sweep_id, n_points, n_kept, n_ok; /* n_kept: points in the database, n_points when the sweep is complete */
    const char *started_at, *scenario, *version;
    const char *axes; /* what differs between its points: "cluster.nodes parallelism.tensor" */
};
/* Lists all sweeps, oldest first, in `arena`. */
enum tsim_status tsim_store_list_sweeps(struct tsim_store *store, struct tsim_arena *arena,
                                        struct tsim_sweep_listed **sweeps, size_t *n_sweeps, struct tsim_diags *diags);

/* Counts the points that a shard of the sweep has without a gap from its first one on. A shard is the positions whose
 * remainder modulo `n_shards` is `shard`. */
enum tsim_status tsim_store_n_leading_points(struct tsim_store *store, int64_t sweep_id, int64_t shard,
                                             int64_t n_shards, int64_t *n, struct tsim_diags *diags);

/* ---- writing; the first point after a commit begins a transaction ---- */
struct tsim_point_writer;
enum tsim_status tsim_point_writer_open(struct tsim_arena *arena, struct tsim_store *store, int64_t sweep_id,
                                        struct tsim_point_writer **writer, struct tsim_diags *diags);
/* Writes a point, and replaces one that stood at its position. */
enum tsim_status tsim_point_writer_add(struct tsim_point_writer *writer, const struct tsim_point *point,
                                       const char *set_json, struct tsim_diags *diags);
enum tsim_status tsim_point_writer_commit(struct tsim_point_writer *writer, struct tsim_diags *diags);
/* Undoes what is not committed; does nothing with NULL. */
void tsim_point_writer_close(struct tsim_point_writer *writer);

/* ---- finding by key ---- */
struct tsim_point_finder;
enum tsim_status tsim_point_finder_open(struct tsim_arena *arena, struct tsim_store *store, int64_t sweep_id,
                                        struct tsim_point_finder **finder, struct tsim_diags *diags);
enum tsim_found { TSIM_FOUND_NOT, TSIM_FOUND_ELSEWHERE, TSIM_FOUND_HERE }; /* HERE: in this sweep, at point->position */
/* Looks for point->key. If it is found, fills in everything but the position. */
enum tsim_status tsim_point_finder_find(struct tsim_point_finder *finder, struct tsim_point *point,
                                        enum tsim_found *found, struct tsim_diags *diags);
void tsim_point_finder_close(struct tsim_point_finder *finder);

/* ---- reading a sweep in the order of positions ---- */
struct tsim_point_reader;
/* Opens a reader of the points whose position modulo `n_shards` is `shard`. */
enum tsim_status tsim_point_reader_open(struct tsim_arena *arena, struct tsim_store *store, int64_t sweep_id,
                                        int64_t shard, int64_t n_shards, struct tsim_point_reader **reader,
                                        struct tsim_diags *diags);
/* Reads the next point; *is_there becomes false after the last one. */
enum tsim_status tsim_point_reader_next(struct tsim_point_reader *reader, struct tsim_point *point, bool *is_there,
                                        struct tsim_diags *diags);
void tsim_point_reader_rewind(struct tsim_point_reader *reader);
void tsim_point_reader_close(struct tsim_point_reader *reader);
