#include "study/judge/profile_nsys.h"

#include "results/sql.h"

#include <string.h>

bool tsim_profile_is_nsys(const char *file) {
    static const char MAGIC[] = "SQLite format 3";
    char start[sizeof MAGIC] = "";
    FILE *in = fopen(file, "rb");
    bool is_database =
        in && fread(start, 1, sizeof start, in) == sizeof start && memcmp(start, MAGIC, sizeof MAGIC) == 0;
    if (in)
        fclose(in);
    return is_database;
}

/* Times are nanoseconds. */
static bool read_kernels(const struct tsim_store *store, struct tsim_profile_builder *builder, const char *sql,
                         bool is_copy) {
    struct tsim_statement s = tsim_sql_prepare(store, sql);
    enum tsim_sql_step step;
    while ((step = tsim_sql_step(&s)) == TSIM_SQL_ROW) {
        const char *name = tsim_sql_text(&s, 0);
        tsim_profile_add_kernel(builder, &(struct tsim_profile_event){.name = name ? name : "?",
                                                                      .is_copy = is_copy,
                                                                      .device = tsim_sql_integer(&s, 1),
                                                                      .start_s = 1e-9 * tsim_sql_real(&s, 2),
                                                                      .end_s = 1e-9 * tsim_sql_real(&s, 3),
                                                                      .stream = tsim_sql_integer(&s, 4),
                                                                      .correlation = tsim_sql_integer(&s, 5)});
    }
    tsim_sql_finalize(&s);
    return step == TSIM_SQL_DONE;
}

static bool read_launches(const struct tsim_store *store, struct tsim_profile_builder *builder) {
    struct tsim_statement s = tsim_sql_prepare(
        store, "SELECT correlationId, start FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId IS NOT NULL");
    enum tsim_sql_step step;
    while ((step = tsim_sql_step(&s)) == TSIM_SQL_ROW)
        tsim_profile_add_launch(builder, tsim_sql_integer(&s, 0), 1e-9 * tsim_sql_real(&s, 1));
    tsim_sql_finalize(&s);
    return step == TSIM_SQL_DONE;
}

static bool read_steps(const struct tsim_store *store, struct tsim_profile_builder *builder) {
    struct tsim_statement s = tsim_sql_prepare(
        store,
        "SELECT e.start, e.end FROM NVTX_EVENTS e LEFT JOIN StringIds i ON i.id = e.textId WHERE e.end IS NOT NULL "
        "AND (coalesce(e.text, i.value) LIKE 'ProfilerStep#%' OR coalesce(e.text, i.value) LIKE 'step%' OR "
        "coalesce(e.text, i.value) LIKE 'iteration%') ORDER BY e.start");
    enum tsim_sql_step step;
    while ((step = tsim_sql_step(&s)) == TSIM_SQL_ROW)
        tsim_profile_add_step(builder, false, -1, 1e-9 * tsim_sql_real(&s, 0), 1e-9 * tsim_sql_real(&s, 1));
    tsim_sql_finalize(&s);
    return step == TSIM_SQL_DONE;
}

/* The name of the table that cannot be read, NULL when all can that are there. */
static const char *read_tables(const struct tsim_store *store, struct tsim_profile_builder *builder) {
    static const struct {
        const char *table, *sql;
        bool is_copy;
    } TABLES[] = {
        {"CUPTI_ACTIVITY_KIND_KERNEL",
         "SELECT coalesce(i.value, j.value), k.deviceId, k.start, k.end, k.streamId, coalesce(k.correlationId, -1) "
         "FROM CUPTI_ACTIVITY_KIND_KERNEL k "
         "LEFT JOIN StringIds i ON i.id = k.demangledName LEFT JOIN StringIds j ON j.id = k.shortName ORDER BY k.start",
         false},
        {"CUPTI_ACTIVITY_KIND_MEMCPY",
         "SELECT 'memcpy', deviceId, start, end, streamId, coalesce(correlationId, -1) FROM CUPTI_ACTIVITY_KIND_MEMCPY "
         "ORDER BY start",
         true},
        {"CUPTI_ACTIVITY_KIND_MEMSET",
         "SELECT 'memset', deviceId, start, end, streamId, coalesce(correlationId, -1) FROM CUPTI_ACTIVITY_KIND_MEMSET "
         "ORDER BY start",
         true},
    };
    for (size_t i = 0; i < sizeof TABLES / sizeof TABLES[0]; i++)
        if (tsim_sql_has_table(store, TABLES[i].table) &&
            !read_kernels(store, builder, TABLES[i].sql, TABLES[i].is_copy))
            return TABLES[i].table;
    if (tsim_sql_has_table(store, "CUPTI_ACTIVITY_KIND_RUNTIME") && !read_launches(store, builder))
        return "CUPTI_ACTIVITY_KIND_RUNTIME";
    return tsim_sql_has_table(store, "NVTX_EVENTS") && !read_steps(store, builder) ? "NVTX_EVENTS" : NULL;
}

enum tsim_status tsim_profile_read_nsys(struct tsim_arena *arena, const char *file, struct tsim_profile *profile,
                                        struct tsim_diags *diags) {
    struct tsim_store *store;
    TSIM_TRY(tsim_sql_open_foreign(arena, file, &store, diags));
    struct tsim_profile_builder *builder = tsim_profile_begin(arena, file);
    const char *failed = read_tables(store, builder);
    if (tsim_sql_has_table(store, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"))
        tsim_diag_hint(tsim_diags_warning(diags, (struct tsim_place){.file = file}, "",
                                          "CUDA graphs were traced as a whole: their kernels are not in the profile"),
                       "nsys profile --cuda-graph-trace=node");
    tsim_store_close(store);
    if (failed) {
        struct tsim_profile unused;
        struct tsim_diags ignored;
        tsim_diags_init(&ignored);
        tsim_profile_end(builder, &unused, &ignored); /* releases it */
        tsim_diags_release(&ignored);
        tsim_diags_error(diags, TSIM_ERR_DB, (struct tsim_place){.file = file}, "",
                         "cannot read the table %s as Nsight Systems writes it", failed);
        return TSIM_ERR_DB;
    }
    return tsim_profile_end(builder, profile, diags);
}
