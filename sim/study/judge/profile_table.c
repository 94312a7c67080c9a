#include "study/judge/profile.h"

#include <stdlib.h>
#include <string.h>

/* A line a kernel below a head, commas between fields, which may stand in quotes. rocprofv3 writes "Kind","Agent_Id","Queue_Id",
 * ...,"Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp",... (Agent_Id 4 or "Agent 4"), rocprof before it
 * "Index","KernelName","gpu-id","queue-id",...,"BeginNs","EndNs",..., and `nsys stats --report cuda_gpu_trace --format csv`
 * "Start (ns)","Duration (ns)",...,"Device","Strm","Name". Times are nanoseconds, of any origin. */

enum { MOST_COLUMNS = 128, FIELD_BYTES = 1024 };

enum column { NAME, START, END, DURATION, DEVICE, STREAM, N_COLUMNS };

static const struct {
    enum column column;
    const char *name;
} HEADS[] = {
    {NAME, "Kernel_Name"},      {NAME, "KernelName"},  {NAME, "Name"},
    {START, "Start_Timestamp"}, {START, "BeginNs"},    {START, "Start (ns)"},
    {END, "End_Timestamp"},     {END, "EndNs"},        {DURATION, "Duration (ns)"},
    {DEVICE, "Agent_Id"},       {DEVICE, "gpu-id"},    {DEVICE, "GPU_ID"},
    {DEVICE, "Device"},         {STREAM, "Stream_Id"}, {STREAM, "Queue_Id"},
    {STREAM, "queue-id"},       {STREAM, "Strm"},
};

struct reader {
    struct tsim_profile_builder *builder;
    const char *c, *end;
    int line;
    int place[N_COLUMNS]; /* of a column among the fields; below 0: there is none */
    int64_t origin_ns;
    bool has_origin;
    const char *problem; /* with the field that has it */
    int problem_column;
};

/* Reads a field into `out`, cut to its size, and passes the comma. False: the line ends before it. */
static bool read_field(struct reader *t, char *out) {
    size_t n = 0;
    bool is_quoted = t->c < t->end && *t->c == '"';
    if (t->c >= t->end || *t->c == '\n')
        return false;
    t->c += is_quoted;
    for (; t->c < t->end && *t->c != '\n' && (is_quoted || *t->c != ','); t->c++) {
        if (is_quoted && *t->c == '"') {
            t->c++;
            if (t->c >= t->end || *t->c != '"') /* two of them are one */
                break;
        }
        if (n + 1 < FIELD_BYTES && *t->c != '\r')
            out[n++] = *t->c;
    }
    out[n] = '\0';
    while (t->c < t->end && *t->c != ',' && *t->c != '\n')
        t->c++;
    t->c += t->c < t->end && *t->c == ',';
    return true;
}

static void pass_line(struct reader *t) {
    while (t->c < t->end && *t->c != '\n')
        t->c++;
    t->c += t->c < t->end;
    t->line++;
}

static bool read_head(struct reader *t) {
    char field[FIELD_BYTES];
    for (int i = 0; i < N_COLUMNS; i++)
        t->place[i] = -1;
    for (int i = 0; i < MOST_COLUMNS && read_field(t, field); i++)
        for (size_t k = 0; k < sizeof HEADS / sizeof HEADS[0]; k++)
            if (strcmp(field, HEADS[k].name) == 0 && t->place[HEADS[k].column] < 0)
                t->place[HEADS[k].column] = i;
    pass_line(t);
    return t->place[NAME] >= 0 && t->place[START] >= 0 && (t->place[END] >= 0 || t->place[DURATION] >= 0);
}

/* Reads a whole number that words may precede ("Agent 4", "NVIDIA H100 80GB HBM3 (4)"). Returns false if there is none. */
static bool number_of(const char *text, int64_t *value) {
    const char *bracket = strrchr(text, '('), *digits = bracket ? bracket : text;
    char *end;
    digits += strcspn(digits, "0123456789");
    *value = strtoll(digits, &end, 10);
    return *digits && (*end == '\0' || *end == '.' || *end == ' ' || *end == ')');
}

static bool take_row(struct reader *t, char fields[N_COLUMNS][FIELD_BYTES]) {
    int64_t start_ns, end_ns, device = 0, stream = -1;
    const enum column last = t->place[END] >= 0 ? END : DURATION;
    const int64_t most_ns = INT64_MAX / 4;
    bool has_start = number_of(fields[START], &start_ns) && start_ns < most_ns;
    if (!has_start || !number_of(fields[last], &end_ns) || end_ns >= most_ns) {
        t->problem = "no time in nanoseconds";
        t->problem_column = t->place[has_start ? last : START];
        return false;
    }
    if (!t->has_origin)
        t->origin_ns = start_ns;
    t->has_origin = true;
    if (last == DURATION)
        end_ns += start_ns;
    number_of(fields[DEVICE], &device);
    if (!number_of(fields[STREAM], &stream))
        stream = -1;
    tsim_profile_add_kernel(t->builder,
                            &(struct tsim_profile_event){.name = fields[NAME],
                                                         .device = device,
                                                         .stream = stream,
                                                         .correlation = -1,
                                                         .start_s = 1e-9 * (double)(start_ns - t->origin_ns),
                                                         .end_s = 1e-9 * (double)(end_ns - t->origin_ns)});
    return true;
}

static bool read_rows(struct reader *t) {
    while (t->c < t->end) {
        char fields[N_COLUMNS][FIELD_BYTES], other[FIELD_BYTES];
        int n = 0;
        for (int k = 0; k < N_COLUMNS; k++)
            fields[k][0] = '\0';
        for (bool more = true; more && n < MOST_COLUMNS; n += more) {
            char *field = other;
            for (int k = 0; k < N_COLUMNS; k++)
                field = t->place[k] == n ? fields[k] : field;
            more = read_field(t, field);
        }
        if (n > 0 && !take_row(t, fields))
            return false;
        pass_line(t);
    }
    return true;
}

bool tsim_profile_is_table(const char *text, size_t size) {
    struct reader t = {.c = text, .end = text + size};
    return read_head(&t);
}

enum tsim_status tsim_profile_read_table(struct tsim_arena *arena, const char *file, const char *text, size_t size,
                                         struct tsim_profile *profile, struct tsim_diags *diags) {
    struct reader t = {.builder = tsim_profile_begin(arena, file), .c = text, .end = text + size, .line = 1};
    if (read_head(&t) && read_rows(&t))
        return tsim_profile_end(t.builder, profile, diags);
    struct tsim_place place = {tsim_arena_strdup(arena, file), t.line, 1};
    tsim_profile_abandon(t.builder);
    tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_SYNTAX, place, "", "%s%s",
                                    t.problem ? t.problem : "no columns of kernels and their times",
                                    t.problem ? tsim_arena_printf(arena, " in field %d", t.problem_column + 1) : ""),
                   "the CSV of rocprof or rocprofv3 --kernel-trace, or of nsys stats --report cuda_gpu_trace");
    return TSIM_ERR_SYNTAX;
}
