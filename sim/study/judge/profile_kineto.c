#include "study/judge/profile.h"

#include "base/among.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Chrome's trace events, read from the text one after the other: a trace of a step has millions of them, and a tree of
 * it would take ten times its size. */

enum { MOST_DEPTH = 64, NAME_BYTES = 512 };
#define MOST_US 1e16 /* three hundred years */

/* Times are microseconds (with nanoseconds behind the point since PyTorch 2.4; displayTimeUnit is for the eye, and
 * baseTimeNanoseconds only shifts them), in older traces since 1970. A double of seconds would then be a quarter of a
 * microsecond off, so they are counted from the first event. */
struct reader {
    struct tsim_profile_builder *builder;
    double origin_us;
    bool has_origin;
    const char *text, *c, *end;
    const char *problem;
    bool is_own; /* tsim wrote it */ /* of the first mistake, at `c` */
};

struct fields {
    char name[NAME_BYTES], category[64], phase[8];
    double start_us, duration_us;
    int64_t device, stream, correlation; /* the last two negative: not told */
    bool has_start, has_duration, has_queue;
};

static bool fail(struct reader *t, const char *problem) {
    if (!t->problem)
        t->problem = problem;
    return false;
}

static char peek(struct reader *t) {
    while (t->c < t->end && (*t->c == ' ' || *t->c == '\n' || *t->c == '\r' || *t->c == '\t'))
        t->c++;
    return t->c < t->end ? *t->c : '\0';
}

static bool expect(struct reader *t, char c, const char *problem) {
    if (peek(t) != c)
        return fail(t, problem);
    t->c++;
    return true;
}

/* Passes the comma behind an item; what closes the list or object stays. */
static bool pass_comma(struct reader *t, char close) {
    if (peek(t) == ',')
        t->c++;
    else if (peek(t) != close)
        return fail(t, close == '}' ? "',' or '}' is expected here" : "',' or ']' is expected here");
    return true;
}

/* Reads a string into `out`, cut to its size; escapes are kept as the character behind the backslash. */
static bool read_string(struct reader *t, char *out, size_t size) {
    size_t n = 0;
    if (!expect(t, '"', "a text in quotes is expected here"))
        return false;
    while (t->c < t->end && *t->c != '"') {
        if (*t->c == '\\' && t->c + 1 < t->end)
            t->c++;
        if (out && n + 1 < size)
            out[n++] = *t->c;
        t->c++;
    }
    if (t->c >= t->end)
        return fail(t, "this text does not end");
    t->c++;
    if (out)
        out[n] = '\0';
    return true;
}

/* Reads a number, true, false or null, also in quotes. */
static bool read_number(struct reader *t, double *value) {
    char text[64];
    size_t n = 0;
    if (peek(t) == '"') {
        if (!read_string(t, text, sizeof text))
            return false;
    } else {
        while (t->c < t->end && !strchr(",]} \n\r\t", *t->c) && *t->c) {
            if (n + 1 < sizeof text)
                text[n++] = *t->c;
            t->c++;
        }
        if (n == 0)
            return fail(t, "a value is expected here");
        text[n] = '\0';
    }
    *value = strtod(text, NULL);
    return true;
}

static bool skip_value(struct reader *t, int depth) {
    double unused;
    char c = peek(t);
    if (depth > MOST_DEPTH)
        return fail(t, "nested deeper than 64 levels");
    if (c == '"')
        return read_string(t, NULL, 0);
    if (c != '{' && c != '[')
        return read_number(t, &unused);
    char close = c == '{' ? '}' : ']';
    t->c++;
    while (peek(t) != close) {
        if (c == '{' && (!read_string(t, NULL, 0) || !expect(t, ':', "':' is expected here")))
            return false;
        if (!skip_value(t, depth + 1))
            return false;
        if (!pass_comma(t, close))
            return false;
    }
    t->c++;
    return true;
}

/* Reads a whole number into `value`; a number larger than devices, streams and calls have is skipped. */
static bool read_index(struct reader *t, int64_t *value) {
    double number = 0;
    if (!read_number(t, &number))
        return false;
    if (number >= 0 && number < 1e15)
        *value = (int64_t)number;
    return true;
}

/* Reads `args` of an event: the device, the stream and the call, if it gives them. Events that rocprof (of 2019 to
 * 2024) traced have no category; only those that ran on an accelerator have dev-id. */
static bool read_args(struct reader *t, struct fields *f) {
    if (peek(t) != '{')
        return skip_value(t, 1);
    t->c++;
    while (peek(t) != '}') {
        char key[64];
        if (!read_string(t, key, sizeof key) || !expect(t, ':', "':' is expected here"))
            return false;
        f->has_queue |= strcmp(key, "dev-id") == 0;
        int64_t *index = strcmp(key, "device") == 0 || strcmp(key, "dev-id") == 0     ? &f->device
                         : strcmp(key, "stream") == 0 || strcmp(key, "queue-id") == 0 ? &f->stream
                         : strcmp(key, "correlation") == 0                            ? &f->correlation
                                                                                      : NULL;
        if (index && peek(t) != '{' && peek(t) != '[' ? !read_index(t, index) : !skip_value(t, 2))
            return false;
        if (!pass_comma(t, '}'))
            return false;
    }
    t->c++;
    return true;
}

static bool read_field(struct reader *t, const char *key, struct fields *f) {
    if (strcmp(key, "name") == 0 && peek(t) == '"')
        return read_string(t, f->name, sizeof f->name);
    if (strcmp(key, "cat") == 0 && peek(t) == '"')
        return read_string(t, f->category, sizeof f->category);
    if (strcmp(key, "ph") == 0 && peek(t) == '"')
        return read_string(t, f->phase, sizeof f->phase);
    if (strcmp(key, "ts") == 0)
        return f->has_start = true, read_number(t, &f->start_us);
    if (strcmp(key, "dur") == 0)
        return f->has_duration = true, read_number(t, &f->duration_us);
    if (strcmp(key, "args") == 0)
        return read_args(t, f);
    return skip_value(t, 1);
}

/* Categories as they are called today, and as they were before PyTorch 1.13. */
static bool take(struct reader *t, const struct fields *f) {
    static const char *const KERNELS[] = {"kernel", "Kernel"},
                             *const COPIES[] = {"gpu_memcpy", "gpu_memset", "Memcpy", "Memset"},
                             *const CALLS[] = {"cuda_runtime", "cuda_driver", "Runtime"},
                             *const NOTES[] = {"user_annotation", "gpu_user_annotation", "Operator", "cpu_op"};
    bool is_copy = TSIM_IS_AMONG(f->category, COPIES), is_kernel = TSIM_IS_AMONG(f->category, KERNELS);
    if (f->has_queue && !f->category[0] && !strstr(f->name, "Marker")) {
        is_copy = strstr(f->name, "Memcpy") || strstr(f->name, "Copy") || strstr(f->name, "Fill");
        is_kernel = !is_copy;
    }
    if (strcmp(f->phase, "X") != 0 || !f->has_start || !f->has_duration)
        return true;
    if (!(fabs(f->start_us) <= MOST_US) || !(f->duration_us >= 0 && f->duration_us <= MOST_US))
        return fail(t, "no clock shows the time or the length of this event");
    if (!t->has_origin)
        t->origin_us = f->start_us;
    t->has_origin = true;
    double start_s = 1e-6 * (f->start_us - t->origin_us), end_s = 1e-6 * (f->start_us - t->origin_us + f->duration_us);
    if (is_copy || is_kernel)
        tsim_profile_add_kernel(t->builder, &(struct tsim_profile_event){f->name, is_copy, f->device, f->stream,
                                                                         f->correlation, start_s, end_s});
    else if (TSIM_IS_AMONG(f->category, CALLS))
        tsim_profile_add_launch(t->builder, f->correlation, start_s);
    else if (TSIM_IS_AMONG(f->category, NOTES) && strncmp(f->name, "ProfilerStep#", 13) == 0)
        tsim_profile_add_step(t->builder, f->category[0] == 'g', strtoll(f->name + 13, NULL, 10), start_s, end_s);
    return true;
}

static bool read_event(struct reader *t) {
    struct fields f = {.stream = -1, .correlation = -1, .phase = "X"};
    if (!expect(t, '{', "an event is expected here"))
        return false;
    while (peek(t) != '}') {
        char key[64];
        if (!read_string(t, key, sizeof key) || !expect(t, ':', "':' is expected here") || !read_field(t, key, &f))
            return false;
        if (!pass_comma(t, '}'))
            return false;
    }
    t->c++;
    return take(t, &f);
}

static bool read_events(struct reader *t) {
    if (!expect(t, '[', "a list of events is expected here"))
        return false;
    while (peek(t) != ']') {
        if (!read_event(t))
            return false;
        if (!pass_comma(t, ']'))
            return false;
    }
    t->c++;
    return true;
}

/* ---- of rocprofv3 --output-format json ---- */

struct symbol {
    int64_t id;
    char name[NAME_BYTES];
};
struct symbols {
    struct symbol *items; /* heap */
    size_t n, capacity;
};

static bool read_each(struct reader *t, bool (*read)(struct reader *, void *), void *to) {
    if (!expect(t, '[', "a list is expected here"))
        return false;
    while (peek(t) != ']')
        if (!read(t, to) || !pass_comma(t, ']'))
            return false;
    t->c++;
    return true;
}

/* Reads an object's members; `read` takes or skips the value of each. */
static bool read_members(struct reader *t, bool (*read)(struct reader *, const char *, void *), void *to) {
    char key[64];
    if (!expect(t, '{', "an object is expected here"))
        return false;
    while (peek(t) != '}')
        if (!read_string(t, key, sizeof key) || !expect(t, ':', "':' is expected here") || !read(t, key, to) ||
            !pass_comma(t, '}'))
            return false;
    t->c++;
    return true;
}

/* Reads a whole number of 64 bits: nanoseconds since 1970, and the ids of agents and queues. */
static bool read_whole(struct reader *t, int64_t *value) {
    double unused;
    uint64_t number = 0;
    peek(t);
    const char *c = t->c;
    if (!read_number(t, &unused))
        return false;
    for (c += *c == '"'; c < t->c && *c >= '0' && *c <= '9'; c++)
        number = 10 * number + (uint64_t)(*c - '0');
    *value = (int64_t)number;
    return true;
}

static bool read_symbol_member(struct reader *t, const char *key, void *to) {
    struct symbol *symbol = to;
    if (strcmp(key, "kernel_id") == 0 && peek(t) != '{' && peek(t) != '[')
        return read_whole(t, &symbol->id);
    if (peek(t) == '"' &&
        (strcmp(key, "formatted_kernel_name") == 0 || (strcmp(key, "kernel_name") == 0 && !symbol->name[0])))
        return read_string(t, symbol->name, sizeof symbol->name);
    return skip_value(t, 1);
}

static bool read_symbol(struct reader *t, void *to) {
    struct symbols *symbols = to;
    struct symbol symbol = {.id = -1};
    if (!read_members(t, read_symbol_member, &symbol))
        return false;
    symbols->items = tsim_heap_grow(symbols->items, &symbols->capacity, symbols->n + 1, sizeof *symbols->items);
    symbols->items[symbols->n++] = symbol;
    return true;
}

static int by_id(const void *a, const void *b) {
    const int64_t x = ((const struct symbol *)a)->id, y = ((const struct symbol *)b)->id;
    return (x > y) - (x < y);
}

struct dispatch {
    int64_t start_ns, end_ns, kernel, agent, queue;
    char name[NAME_BYTES];
    int depth;
};

/* Reads members of a record, and of `dispatch_info` and {"handle": ...} in it. */
static bool read_dispatch_member(struct reader *t, const char *key, void *to) {
    static const char *const AGENTS[] = {"agent_id", "dst_agent_id", "handle"};
    struct dispatch *d = to;
    if (d->depth > 2)
        return skip_value(t, d->depth);
    if (strcmp(key, "dispatch_info") == 0 && peek(t) == '{') {
        d->depth++;
        bool is_read = read_members(t, read_dispatch_member, d);
        d->depth--;
        return is_read;
    }
    if (strcmp(key, "kernel_name") == 0 && peek(t) == '"')
        return read_string(t, d->name, sizeof d->name);
    int64_t *value = strcmp(key, "start_timestamp") == 0 ? &d->start_ns
                     : strcmp(key, "end_timestamp") == 0 ? &d->end_ns
                     : strcmp(key, "kernel_id") == 0     ? &d->kernel
                     : strcmp(key, "queue_id") == 0      ? &d->queue
                     : TSIM_IS_AMONG(key, AGENTS)        ? &d->agent
                                                         : NULL;
    if (!value || peek(t) == '[')
        return skip_value(t, 1);
    if (peek(t) != '{')
        return read_whole(t, value);
    struct dispatch inner = {.agent = -1, .depth = d->depth + 1};
    if (!read_members(t, read_dispatch_member, &inner))
        return false;
    *value = inner.agent;
    return true;
}

struct records {
    struct symbols symbols;
    const char *kernels, *copies; /* the places at which these lists begin; NULL: there is none */
    bool is_copy;
    int64_t origin_ns;
};

static double since_s(int64_t time_ns, int64_t origin_ns) {
    return 1e-9 * (double)(int64_t)((uint64_t)time_ns - (uint64_t)origin_ns);
}

static bool read_dispatch(struct reader *t, void *to) {
    struct records *records = to;
    struct dispatch d = {.kernel = -1, .queue = -1};
    if (!read_members(t, read_dispatch_member, &d))
        return false;
    const struct symbol wanted = {.id = d.kernel}, *symbol = records->symbols.n == 0
                                                                 ? NULL
                                                                 : bsearch(&wanted, records->symbols.items,
                                                                           records->symbols.n, sizeof wanted, by_id);
    if (records->origin_ns == 0)
        records->origin_ns = d.start_ns;
    tsim_profile_add_kernel(t->builder, &(struct tsim_profile_event){.name = records->is_copy ? "memcpy"
                                                                             : d.name[0]      ? d.name
                                                                             : symbol         ? symbol->name
                                                                                              : "?",
                                                                     .is_copy = records->is_copy,
                                                                     .device = d.agent,
                                                                     .stream = d.queue,
                                                                     .correlation = -1,
                                                                     .start_s = since_s(d.start_ns, records->origin_ns),
                                                                     .end_s = since_s(d.end_ns, records->origin_ns)});
    return true;
}

static bool find_record_lists(struct reader *t, const char *key, void *to) {
    struct records *records = to;
    if (strcmp(key, "kernel_dispatch") == 0 && peek(t) == '[')
        records->kernels = t->c;
    else if (strcmp(key, "memory_copy") == 0 && peek(t) == '[')
        records->copies = t->c;
    return skip_value(t, 1);
}

static bool read_tool_member(struct reader *t, const char *key, void *to) {
    struct records *records = to;
    if (strcmp(key, "kernel_symbols") == 0 && peek(t) == '[')
        return read_each(t, read_symbol, &records->symbols);
    if (strcmp(key, "buffer_records") == 0 && peek(t) == '{')
        return read_members(t, find_record_lists, records);
    return skip_value(t, 1);
}

/* Reads one process. Its kernels are read when their names are known. */
static bool read_process(struct reader *t, void *unused) {
    struct records records = {0};
    (void)unused;
    bool is_read = read_members(t, read_tool_member, &records);
    const char *end = t->c;
    if (records.symbols.n > 0)
        qsort(records.symbols.items, records.symbols.n, sizeof *records.symbols.items, by_id);
    if (is_read && records.kernels) {
        t->c = records.kernels;
        is_read = read_each(t, read_dispatch, &records);
    }
    records.is_copy = true;
    if (is_read && records.copies) {
        t->c = records.copies;
        is_read = read_each(t, read_dispatch, &records);
    }
    t->c = is_read ? end : t->c;
    tsim_heap_free(records.symbols.items);
    return is_read;
}

/* Says whether tsim wrote the trace, which it does before its events. */
static bool read_generator(struct reader *t) {
    char generator[8];
    if (!read_string(t, generator, sizeof generator))
        return false;
    t->is_own = strcmp(generator, "tsim") == 0;
    return !t->is_own;
}

/* Reads {"traceEvents": [...], ...}, the list alone, or {"rocprofiler-sdk-tool": [...]}. */
static bool read_trace(struct reader *t) {
    if (peek(t) == '[')
        return read_events(t);
    if (!expect(t, '{', "a trace begins with '{' or '['"))
        return false;
    while (peek(t) != '}') {
        char key[64];
        if (!read_string(t, key, sizeof key) || !expect(t, ':', "':' is expected here"))
            return false;
        bool is_generator = strcmp(key, "generator") == 0 && peek(t) == '"';
        if (strcmp(key, "traceEvents") == 0            ? !read_events(t)
            : strcmp(key, "rocprofiler-sdk-tool") == 0 ? !read_each(t, read_process, NULL)
            : is_generator                             ? !read_generator(t)
                                                       : !skip_value(t, 1))
            return false;
        if (!pass_comma(t, '}'))
            return false;
    }
    return true;
}

static struct tsim_place place_of(const struct reader *t, const char *file) {
    struct tsim_place place = {file, 1, 1};
    for (const char *c = t->text; c < t->c && c < t->end; c++) {
        place.column = *c == '\n' ? 1 : place.column + 1;
        place.line += *c == '\n';
    }
    return place;
}

enum tsim_status tsim_profile_read_kineto(struct tsim_arena *arena, const char *file, const char *text, size_t size,
                                          struct tsim_profile *profile, struct tsim_diags *diags) {
    struct tsim_profile_builder *builder = tsim_profile_begin(arena, file);
    struct reader t = {.builder = builder, .text = text, .c = text, .end = text + size};
    if (read_trace(&t))
        return tsim_profile_end(builder, profile, diags);
    tsim_profile_abandon(builder);
    struct tsim_place place = place_of(&t, tsim_arena_strdup(arena, file));
    tsim_diag_hint(t.is_own ? tsim_diags_error(diags, TSIM_ERR_SYNTAX, place, "",
                                               "this trace was written by tsim: nothing in it was measured")
                            : tsim_diags_error(diags, TSIM_ERR_SYNTAX, place, "", "not a trace in JSON: %s", t.problem),
                   "the file that torch.profiler's export_chrome_trace or rocprofv3 --output-format json writes");
    return TSIM_ERR_SYNTAX;
}
