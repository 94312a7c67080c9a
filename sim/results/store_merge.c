#include "results/store_merge.h"

#include "results/store_figures.h"

#include <string.h>
#include <sys/stat.h>

static const char MERGE_SWEEPS[] =
    "INSERT INTO main.sweeps(key, scenario, spec_json, version, n_points, started_at)"
    " SELECT key, scenario, spec_json, version, n_points, started_at FROM shard.sweeps WHERE true ORDER BY sweep_id"
    " ON CONFLICT(key) DO UPDATE SET started_at = min(started_at, excluded.started_at)";
#define POINT_COLUMNS "position, key, set_json, seed, status, reason, bottleneck%s" /* and those of figures */
/* The columns of `points` and `shard.points` have the same names; `key` of sweeps is renamed to keep them apart. */
#define MERGE_POINTS                                                                                                   \
    "INSERT OR REPLACE INTO main.points(sweep_id, " POINT_COLUMNS ") SELECT merged_id, " POINT_COLUMNS                 \
    " FROM shard.points JOIN (SELECT theirs.sweep_id AS sweep_id, ours.sweep_id AS merged_id"                          \
    " FROM shard.sweeps AS theirs JOIN main.sweeps AS ours USING(key)) USING(sweep_id) ORDER BY merged_id, position"

/* The files' versions are compared with that of the first sweep seen. */
struct versions {
    const char *version, *file;
};

static enum tsim_status check_versions(struct tsim_arena *arena, const struct tsim_store *store,
                                       struct versions *versions, struct tsim_diags *diags) {
    enum tsim_status status = TSIM_OK;
    enum tsim_sql_step step;
    struct tsim_statement s = tsim_sql_prepare(store, "SELECT DISTINCT version FROM sweeps ORDER BY version");
    while ((step = tsim_sql_step(&s)) == TSIM_SQL_ROW && status == TSIM_OK) {
        const char *version = tsim_sql_word(&s, 0);
        if (!versions->version) {
            *versions = (struct versions){tsim_arena_strdup(arena, version), store->file};
        } else if (strcmp(versions->version, version) != 0) {
            tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){.file = store->file}, NULL,
                                            "its points come from tsim %.40s, those of %.120s from tsim %.40s", version,
                                            versions->file, versions->version),
                           "versions are not mixed in one table: run the sweep again with one of them");
            status = TSIM_ERR_INFEASIBLE;
        }
    }
    if (step == TSIM_SQL_FAILED)
        status = tsim_sql_fail(store, "read the sweeps", diags);
    tsim_sql_finalize(&s);
    return status;
}

/* A sweep that was killed before its first transaction leaves a file without tables: a shard that has no points yet. */
static enum tsim_status check_tables(const struct tsim_store *store, struct tsim_diags *diags) {
    if (store->file_version >= tsim_store_figures_version())
        return TSIM_OK;
    if (tsim_sql_is_empty(store)) {
        tsim_diag_hint(
            tsim_diags_warning(diags, (struct tsim_place){.file = store->file}, NULL, "there is nothing in it yet"),
            "its sweep was stopped before it began; run it again, and merge again");
        return TSIM_OK;
    }
    tsim_diag_hint(tsim_sql_refuse(store, diags, "its tables are those of an older tsim"),
                   "version %lld, this tsim has version %d: merge with the older tsim, or run the sweep again",
                   (long long)store->file_version, store->version);
    return TSIM_ERR_DB;
}

static enum tsim_status check_file(struct tsim_arena *arena, const char *file, struct versions *versions,
                                   struct tsim_diags *diags) {
    struct tsim_store *store;
    TSIM_TRY(tsim_store_open(arena, file, TSIM_STORE_READ, &store, diags));
    enum tsim_status status = check_tables(store, diags);
    if (status == TSIM_OK && !tsim_sql_is_empty(store))
        status = check_versions(arena, store, versions, diags);
    tsim_store_close(store);
    return status;
}

static bool is_same_file(const char *a, const char *b) {
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static bool attach(const struct tsim_store *store, const char *file) {
    struct tsim_statement s = tsim_sql_prepare(store, "ATTACH ? AS shard");
    tsim_sql_bind_text(&s, file);
    bool is_done = tsim_sql_run(&s);
    tsim_sql_finalize(&s);
    return is_done;
}

static enum tsim_status merge_file(struct tsim_arena *arena, const struct tsim_store *store, const char *file,
                                   struct tsim_diags *diags) {
    if (!attach(store, file))
        return tsim_sql_fail(store, "read the shard", diags);
    enum tsim_status status = TSIM_OK;
    const char *columns = tsim_store_figures(arena, TSIM_STORE_POINTS, 0, ", ", "");
    bool is_empty = tsim_sql_query_integer(store, "SELECT count(*) FROM shard.sqlite_schema") == 0;
    if (is_empty) {
        tsim_sql_execute(store, "DETACH shard");
        return TSIM_OK;
    }
    if (!tsim_sql_begin(store) || !tsim_sql_execute(store, MERGE_SWEEPS) ||
        !tsim_sql_execute(store, tsim_arena_printf(arena, MERGE_POINTS, columns, columns)) || !tsim_sql_commit(store)) {
        status = tsim_sql_fail(store, "merge the shard", diags);
        tsim_sql_rollback(store);
    }
    tsim_sql_execute(store, "DETACH shard");
    return status;
}

static enum tsim_status merge_all(struct tsim_arena *arena, struct tsim_store *store, const char *const *files,
                                  size_t n_files, struct versions *versions, struct tsim_diags *diags) {
    TSIM_TRY(check_versions(arena, store, versions, diags));
    for (size_t i = 0; i < n_files; i++)
        if (!is_same_file(store->file, files[i]))
            TSIM_TRY(merge_file(arena, store, files[i], diags));
    return TSIM_OK;
}

enum tsim_status tsim_store_merge(struct tsim_arena *arena, const char *out, const char *const *files, size_t n_files,
                                  struct tsim_merged *merged, struct tsim_diags *diags) {
    struct versions versions = {NULL, NULL};
    struct tsim_store *store;
    enum tsim_status status = TSIM_OK;
    for (size_t i = 0; i < n_files; i++) {
        enum tsim_status checked = check_file(arena, files[i], &versions, diags);
        status = status == TSIM_OK ? checked : status;
    }
    TSIM_TRY(status);
    TSIM_TRY(tsim_store_open(arena, out, TSIM_STORE_WRITE, &store, diags));
    status = merge_all(arena, store, files, n_files, &versions, diags);
    if (status == TSIM_OK) {
        merged->n_sweeps = tsim_sql_query_integer(store, "SELECT count(*) FROM sweeps");
        merged->n_points = tsim_sql_query_integer(store, "SELECT count(*) FROM points");
        merged->n_expected = tsim_sql_query_integer(store, "SELECT coalesce(sum(n_points), 0) FROM sweeps");
        if (merged->n_sweeps < 0 || merged->n_points < 0 || merged->n_expected < 0)
            status = tsim_sql_fail(store, "count what was merged", diags);
    }
    tsim_store_close(store);
    return status;
}
