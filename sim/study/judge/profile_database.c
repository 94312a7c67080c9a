#include "study/judge/profile_database.h"

#include "results/sql.h"

#include <string.h>

bool tsim_profile_is_database(const char *file) {
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

/* ---- of ROCm ---- */

/* rocprofv3 puts an id of the run behind the names of its tables; the first run with kernels counts, where several are
 * merged. NULL: there is no such table. */
static const char *rocpd_run(struct tsim_arena *arena, const struct tsim_store *store) {
    static const char TABLE[] = "rocpd_kernel_dispatch";
    static const char GOOD[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    struct tsim_statement s = tsim_sql_prepare(
        store,
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'rocpd_kernel_dispatch%' ORDER BY name");
    const char *run = NULL, *first = NULL;
    while (!run && tsim_sql_step(&s) == TSIM_SQL_ROW) {
        const char *name = tsim_sql_copy(arena, &s, 0);
        if (strspn(name, GOOD) != strlen(name))
            continue;
        struct tsim_statement kernels =
            tsim_sql_prepare(store, tsim_arena_printf(arena, "SELECT 1 FROM \"%s\" LIMIT 1", name));
        first = first ? first : name + strlen(TABLE);
        run = tsim_sql_step(&kernels) == TSIM_SQL_ROW ? name + strlen(TABLE) : NULL;
        tsim_sql_finalize(&kernels);
    }
    tsim_sql_finalize(&s);
    return run ? run : first;
}

/* Times are nanoseconds since the machine's start or 1970. A double of seconds would round them, so they are counted
 * from the first kernel. */
static const char *read_rocpd(struct tsim_arena *arena, const struct tsim_store *store, const char *run,
                              struct tsim_profile_builder *builder) {
    const char *origin = tsim_arena_printf(arena, "(SELECT min(start) FROM \"rocpd_kernel_dispatch%s\")", run);
    const char *kernels = tsim_arena_printf(arena,
                                            "SELECT coalesce(i.display_name, i.kernel_name), k.agent_id, k.start - %s, "
                                            "k.\"end\" - %s, coalesce(k.stream_id, -1), -1 "
                                            "FROM \"rocpd_kernel_dispatch%s\" k LEFT JOIN "
                                            "\"rocpd_info_kernel_symbol%s\" i ON i.id = k.kernel_id ORDER BY k.start",
                                            origin, origin, run, run);
    const char *copies = tsim_arena_printf(
        arena,
        "SELECT 'memcpy', max(coalesce(src_agent_id, 0), coalesce(dst_agent_id, 0)), start - %s, \"end\" - %s, "
        "coalesce(stream_id, -1), -1 FROM \"rocpd_memory_copy%s\" ORDER BY start",
        origin, origin, run);
    if (!read_kernels(store, builder, kernels, false))
        return "rocpd_kernel_dispatch";
    bool has_copies = tsim_sql_has_table(store, tsim_arena_printf(arena, "rocpd_memory_copy%s", run));
    return has_copies && !read_kernels(store, builder, copies, true) ? "rocpd_memory_copy" : NULL;
}

static const char *read_rpd(const struct tsim_store *store, struct tsim_profile_builder *builder) {
#define RPD(name, condition)                                                                                           \
    "SELECT " name                                                                                                     \
    ", o.gpuId, o.start - (SELECT min(start) FROM rocpd_op), o.end - (SELECT min(start) FROM rocpd_op), "              \
    "o.queueId, -1 FROM rocpd_op o LEFT JOIN rocpd_string d ON d.id = o.description_id LEFT JOIN rocpd_string t ON "   \
    "t.id = o.opType_id WHERE t.string " condition " ORDER BY o.start"
    bool is_read =
        read_kernels(store, builder, RPD("coalesce(nullif(d.string, ''), t.string)", "= 'KernelExecution'"), false) &&
        read_kernels(store, builder, RPD("'memcpy'", "LIKE 'Copy%'"), true);
#undef RPD
    return is_read ? NULL : "rocpd_op";
}

/* Reads the database of the first rocprof. */
static const char *read_rocprof(const struct tsim_store *store, struct tsim_profile_builder *builder) {
    static const char KERNELS[] =
        "SELECT Name, \"dev-id\", BeginNs - (SELECT min(BeginNs) FROM OPS), EndNs - (SELECT min(BeginNs) FROM OPS), "
        "\"queue-id\", -1 FROM OPS WHERE Name NOT LIKE '%Marker%' ORDER BY BeginNs";
    return read_kernels(store, builder, KERNELS, false) ? NULL : "OPS";
}

/* ---- of Nsight Systems ---- */

/* Returns the name of the table that cannot be read, NULL when all can that are there. */
static const char *read_nsys(const struct tsim_store *store, struct tsim_profile_builder *builder) {
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

enum tsim_status tsim_profile_read_database(struct tsim_arena *arena, const char *file, struct tsim_profile *profile,
                                            struct tsim_diags *diags) {
    struct tsim_store *store;
    TSIM_TRY(tsim_sql_open_foreign(arena, file, &store, diags));
    struct tsim_profile_builder *builder = tsim_profile_begin(arena, file);
    const char *run = rocpd_run(arena, store);
    const char *failed = run                                     ? read_rocpd(arena, store, run, builder)
                         : tsim_sql_has_table(store, "rocpd_op") ? read_rpd(store, builder)
                         : tsim_sql_has_table(store, "OPS")      ? read_rocprof(store, builder)
                                                                 : read_nsys(store, builder);
    if (tsim_sql_has_table(store, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"))
        tsim_diag_hint(tsim_diags_warning(diags, (struct tsim_place){.file = file}, "",
                                          "CUDA graphs were traced as a whole: their kernels are not in the profile"),
                       "nsys profile --cuda-graph-trace=node");
    tsim_store_close(store);
    if (failed) {
        tsim_profile_abandon(builder);
        tsim_diags_error(diags, TSIM_ERR_DB, (struct tsim_place){.file = file}, "",
                         "cannot read the table %s as %s writes it", failed,
                         strncmp(failed, "rocpd", 5) == 0 ? "rocprofv3 or rocmProfileData"
                         : strcmp(failed, "OPS") == 0     ? "rocprof"
                                                          : "Nsight Systems");
        return TSIM_ERR_DB;
    }
    return tsim_profile_end(builder, profile, diags);
}
