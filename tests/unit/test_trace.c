/* The trace is read back: slices of a thread never overlap, every arrow has both ends, counters come back to rest. */
#include "report/export/trace.h"
#include "report/terminal/digits.h"
#include "run/run.h"
#include "step/program.h"
#include "support/check_main.h"
#include "support/example.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static struct example e;
static struct tsim_arena arena;
static char file[64];

static void setup(void) {
    tsim_arena_init(&arena);
    example_init(&e);
}

static void teardown(void) {
    tsim_arena_release(&arena);
    unlink(file);
}

static void use_plan(int64_t stages, int64_t chunks, enum tsim_schedule schedule) {
    e.scenario.parallelism.pipeline = stages;
    e.scenario.parallelism.virtual_pipeline = chunks;
    e.scenario.parallelism.schedule = schedule;
    example_finish(&e);
}

/* Makes one node of 8, with `stages` x 8 / stages replicas. */
static void use_pipeline(int64_t stages, int64_t chunks, enum tsim_schedule schedule) {
    e.scenario.training.global_batch_size = 64;
    use_plan(stages, chunks, schedule);
}

static struct tsim_result result;

static enum tsim_status write_trace(const char *ending, const char *ranks, struct tsim_diags *diags) {
    struct tsim_trace *trace;
    snprintf(file, sizeof file, "/tmp/tsim-trace-%ld%s", (long)getpid(), ending);
    TSIM_TRY(tsim_trace_open(&arena, &e.scenario, file, ranks, &trace, diags));
    const struct tsim_run_options options = {.ignore_memory = true, .sink = tsim_trace_sink(trace)};
    ck_assert_int_eq(tsim_train_run(&arena, &e.scenario, &options, &result, diags), TSIM_OK);
    return tsim_trace_close(trace, diags);
}

/* Reads what is compressed and what is not. */
static json_t *read_events(void) {
    enum { MOST = 1 << 24 };
    static char text[MOST];
    gzFile in = gzopen(file, "rb");
    ck_assert_ptr_nonnull(in);
    int n = gzread(in, text, MOST);
    ck_assert_int_gt(n, 0);
    ck_assert_int_lt(n, MOST);
    gzclose(in);
    json_error_t error;
    json_t *root = json_loadb(text, (size_t)n, 0, &error);
    ck_assert_msg(root, "%d:%d: %s", error.line, error.column, error.text);
    json_t *events = json_incref(json_object_get(root, "traceEvents"));
    ck_assert_str_eq(json_string_value(json_object_get(root, "displayTimeUnit")), "ms");
    json_decref(root);
    return events;
}

static json_t *traced(const char *ending, const char *ranks) {
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    ck_assert_int_eq(write_trace(ending, ranks, &diags), TSIM_OK);
    tsim_diags_release(&diags);
    return read_events();
}

static bool is_phase(const json_t *event, const char *phase) {
    return strcmp(json_string_value(json_object_get(event, "ph")), phase) == 0;
}

static double number(const json_t *event, const char *key) {
    const json_t *value = json_object_get(event, key);
    if (!json_is_number(value)) /* each ck_assert writes to a file */
        ck_abort_msg("no %s", key);
    return json_number_value(value);
}

static size_t count(const json_t *events, const char *phase) {
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(events); i++)
        n += is_phase(json_array_get(events, i), phase);
    return n;
}

/* Slices of a thread come in order of time. A tenth of a nanosecond for numbers that are no binary fractions. */
static void expect_no_overlaps(const json_t *events) {
    double free_us[64][64] = {{0}};
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (!is_phase(event, "X"))
            continue;
        double *thread = &free_us[(int)number(event, "pid")][(int)number(event, "tid")];
        if (number(event, "ts") < *thread - 1e-4 || number(event, "dur") < 0)
            ck_abort_msg("slices overlap at %.3f us", number(event, "ts"));
        *thread = number(event, "ts") + number(event, "dur");
    }
}

/* Expects each id once as a beginning and then once, later, as an end. Returns their number. */
static size_t expect_whole_arrows(const json_t *events) {
    enum { MOST = 1 << 16 };
    double *begins_us = TSIM_NEW_ARRAY(&arena, MOST, double);
    size_t n_begun = 0, n_ended = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        bool is_begin = is_phase(event, "s");
        if (!is_begin && !is_phase(event, "f"))
            continue;
        int id = (int)number(event, "id");
        double at_us = number(event, "ts");
        bool is_good = id < MOST && (is_begin ? begins_us[id] == 0 : begins_us[id] > 0 && at_us >= begins_us[id]);
        if (!is_good)
            ck_abort_msg("arrow %d at %.3f us", id, at_us);
        begins_us[id] = is_begin ? at_us : -1;
        n_begun += is_begin;
        n_ended += !is_begin;
    }
    ck_assert_uint_eq(n_begun, n_ended);
    return n_begun;
}

/* Activations rise and are gone at the end. */
static void expect_memory_to_return(const json_t *events) {
    double at[64] = {0}, most = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        const json_t *value = json_object_get(json_object_get(event, "args"), "activations");
        if (!value)
            continue;
        at[(int)number(event, "pid")] = json_number_value(value);
        most = json_number_value(value) > most ? json_number_value(value) : most;
    }
    ck_assert_double_gt(most, 0);
    for (int i = 0; i < 64; i++)
        ck_assert_double_eq_tol(at[i], 0, 1e-9);
}

/* Expects that each value of a counter differs from the one before it and is not earlier. At the end links carry
 * nothing, and the accelerator's power is as at the beginning. */
static void expect_counters_to_rest(const json_t *events) {
    static const char *const NAMES[] = {"compute", "data", "send next", "send prev"}, *const KEYS[] = {"power W",
                                                                                                       "scale-up GB/s",
                                                                                                       "NIC GB/s"};
    double values[64][4][3] = {{{0}}}, begins[64] = {0}, times[64][4] = {{0}};
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i), *args = json_object_get(event, "args");
        for (int s = 0; s < 4 && is_phase(event, "C"); s++) {
            if (strcmp(json_string_value(json_object_get(event, "name")), NAMES[s]) != 0)
                continue;
            int rank = (int)json_integer_value(json_object_get(event, "pid"));
            double at_us = json_number_value(json_object_get(event, "ts"));
            if (at_us < times[rank][s])
                ck_abort_msg("rank %d, %s: %.3f us after %.3f us", rank, NAMES[s], at_us, times[rank][s]);
            times[rank][s] = at_us;
            for (int k = 0; k < 3; k++) {
                const json_t *value = json_object_get(args, KEYS[k]);
                if (!value)
                    continue;
                if (json_number_value(value) == values[rank][s][k])
                    ck_abort_msg("rank %d, %s: %s said twice", rank, NAMES[s], KEYS[k]);
                values[rank][s][k] = json_number_value(value);
            }
            if (times[rank][s] == 0 && begins[rank] == 0)
                begins[rank] = values[rank][0][0];
        }
    }
    for (int rank = 0; rank < 64; rank++)
        for (int s = 0; s < 4; s++)
            for (int k = 0; k < 3; k++)
                if (values[rank][s][k] != (s == 0 && k == 0 ? begins[rank] : 0))
                    ck_abort_msg("rank %d, %s: %s ends as %g", rank, NAMES[s], KEYS[k], values[rank][s][k]);
}

static const char *member_text(const json_t *event, const char *key) {
    const char *text = json_string_value(json_object_get(event, key));
    if (!text || !*text)
        ck_abort_msg("no text %s: %s", key, json_dumps(event, 0));
    return text;
}

struct slice {
    int pid, tid;
    double from_us, to_us;
};

/* Returns the slices, freed with the arena. */
static struct slice *slices_of(const json_t *events, size_t *n) {
    struct slice *slices = TSIM_NEW_ARRAY(&arena, json_array_size(events), struct slice);
    *n = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (is_phase(event, "X"))
            slices[(*n)++] = (struct slice){(int)number(event, "pid"), (int)number(event, "tid"), number(event, "ts"),
                                            number(event, "ts") + number(event, "dur")};
    }
    return slices;
}

/* Returns whether there is a slice on the event's thread around its moment: arrows are drawn only between slices. */
static bool has_slice(const struct slice *slices, size_t n, const json_t *at) {
    int pid = (int)number(at, "pid"), tid = (int)number(at, "tid");
    double at_us = number(at, "ts");
    for (size_t i = 0; i < n; i++)
        if (slices[i].pid == pid && slices[i].tid == tid && slices[i].from_us <= at_us + 1e-3 &&
            at_us <= slices[i].to_us + 1e-3)
            return true;
    return false;
}

static void expect_metadata(const json_t *event, bool named[64][64]) {
    const json_t *args = json_object_get(event, "args");
    const char *name = member_text(event, "name");
    bool is_order = strcmp(name, "thread_sort_index") == 0 || strcmp(name, "process_sort_index") == 0;
    if (is_order ? !json_is_integer(json_object_get(args, "sort_index")) : !*member_text(args, "name"))
        ck_abort_msg("metadata without its value: %s", json_dumps(event, 0));
    if (strcmp(name, "thread_name") == 0)
        named[(int)number(event, "pid")][(int)number(event, "tid")] = true;
    else if (!is_order && strcmp(name, "process_name") != 0)
        ck_abort_msg("unknown metadata: %s", name);
}

/* The arguments of counters are numbers, each a series. */
static void expect_series(json_t *event) {
    const char *key;
    json_t *args = json_object_get(event, "args"), *value;
    ck_assert_uint_gt(json_object_size(args), 0);
    json_object_foreach(args, key, value) if (!json_is_number(value)) ck_abort_msg("a series of no numbers: %s", key);
}

/* Expects that each event has what the Trace Event Format requires of its phase ("Trace Event Format", Google, 2016,
 * sections on complete, counter, flow and metadata events). Threads with slices have a name. Both ends of an arrow have
 * one category and name, and a slice. */
static void expect_chrome_format(const json_t *events) {
    static bool named[64][64];
    size_t n_slices;
    const struct slice *slices = slices_of(events, &n_slices);
    memset(named, 0, sizeof named);
    for (size_t i = 0; i < json_array_size(events); i++) {
        json_t *event = json_array_get(events, i);
        const char *phase = member_text(event, "ph");
        if (strlen(phase) != 1 || !strchr("MCXsf", *phase) || !json_is_integer(json_object_get(event, "pid")))
            ck_abort_msg("an unknown event: %s", json_dumps(event, 0));
        member_text(event, "name");
        if (*phase == 'M') {
            expect_metadata(event, named);
            continue;
        }
        if (!(number(event, "ts") >= 0))
            ck_abort_msg("before the beginning: %s", json_dumps(event, 0));
        if (*phase == 'C') {
            expect_series(event);
            continue;
        }
        if (!named[(int)number(event, "pid")][(int)number(event, "tid")])
            ck_abort_msg("on a thread without a name: %s", json_dumps(event, 0));
        if (*phase == 'X')
            ck_assert(number(event, "dur") >= 0 && json_is_object(json_object_get(event, "args")));
        else if (strcmp(member_text(event, "cat"), "message") != 0 ||
                 strcmp(member_text(event, "name"), "message") != 0 ||
                 (*phase == 'f' && strcmp(member_text(event, "bp"), "e") != 0) || !has_slice(slices, n_slices, event))
            ck_abort_msg("an arrow from or to nothing: %s", json_dumps(event, 0));
    }
}

static void expect_sound(const json_t *events) {
    expect_chrome_format(events);
    expect_no_overlaps(events);
    expect_counters_to_rest(events);
    expect_whole_arrows(events);
    expect_memory_to_return(events);
}

static const struct {
    int64_t stages, chunks;
    enum tsim_schedule schedule;
} PLANS[] = {{1, 1, TSIM_SCHEDULE_1F1B},        {4, 1, TSIM_SCHEDULE_GPIPE},   {4, 1, TSIM_SCHEDULE_1F1B},
             {4, 2, TSIM_SCHEDULE_INTERLEAVED}, {4, 1, TSIM_SCHEDULE_ZB_H1},   {4, 1, TSIM_SCHEDULE_ZB_H2},
             {4, 2, TSIM_SCHEDULE_ZB_V},        {4, 2, TSIM_SCHEDULE_DUALPIPE}};
enum { N_PLANS = sizeof PLANS / sizeof PLANS[0] };

/* Each variant plays every other schedule; with TSIM_CASES all. */
TSIM_TEST(every_schedule_is_sound) {
    for (size_t i = 0; i < N_PLANS; i++)
        for (int variant = 0; variant < 4; variant++) {
            if ((i + (size_t)variant) % 2 == 0 && !getenv("TSIM_CASES"))
                continue;
            example_init(&e);
            e.scenario.simulation.fold = variant != 1;
            e.scenario.simulation.detail = TSIM_DETAIL_PASSES;
            e.scenario.parallelism.overlap.pipeline = variant != 2;
            e.scenario.parallelism.zero = variant == 3 && PLANS[i].stages == 1 ? 3 : 1;
            use_pipeline(PLANS[i].stages, PLANS[i].chunks, PLANS[i].schedule);
            json_t *events = traced(".json", "all");
            expect_sound(events);
            json_decref(events);
        }
}

/* 4 stages, 64 samples over 2 replicas: 32 micro-batches. Each crosses 3 borders forward and 3 backward. One of the
 * replicas is simulated; a stage makes 64 passes and an optimizer step. */
TSIM_TEST(counts_are_those_of_the_schedule) {
    use_pipeline(4, 1, TSIM_SCHEDULE_1F1B);
    json_t *events = traced(".json", NULL);
    ck_assert_uint_eq(count(events, "s"), 32 * 6);
    ck_assert_uint_eq(count(events, "f"), 32 * 6);
    ck_assert_uint_ge(count(events, "X"), 4 * (64 + 1) + 32 * 6);
    json_decref(events);
}

/* Arrows are between stages 1 and 2 alone: 32 micro-batches forward and backward. */
TSIM_TEST(arrows_to_ranks_that_are_left_out_are_left_out) {
    use_pipeline(4, 1, TSIM_SCHEDULE_1F1B);
    json_t *events = traced(".json", "3-4"); /* of two ranks of each stage, the second and the first */
    ck_assert_uint_eq(expect_whole_arrows(events), 32 * 2);
    for (size_t i = 0; i < json_array_size(events); i++) {
        double pid = number(json_array_get(events, i), "pid");
        ck_assert(pid == 1 || pid == 2);
    }
    json_decref(events);
}

TSIM_TEST(compressed_is_the_same) {
    use_pipeline(4, 1, TSIM_SCHEDULE_1F1B);
    json_t *plain = traced(".json", NULL);
    unlink(file);
    json_t *packed = traced(".json.gz", NULL);
    ck_assert(json_equal(plain, packed));
    FILE *raw = fopen(file, "rb");
    ck_assert_ptr_nonnull(raw);
    ck_assert_int_eq(fgetc(raw), 0x1f); /* RFC 1952 */
    ck_assert_int_eq(fgetc(raw), 0x8b);
    fclose(raw);
    json_decref(plain);
    json_decref(packed);
}

/* ---- operators ---- */

static const char *text_of(const json_t *event, const char *key) {
    const json_t *args = json_object_get(event, "args");
    const char *text = json_string_value(json_object_get(json_object_get(event, key) ? event : args, key));
    return text ? text : "";
}

static bool is_slice_of(const json_t *event, int rank, int thread) {
    return is_phase(event, "X") && (int)number(event, "pid") == rank && (int)number(event, "tid") == thread;
}

/* Returns the seconds of the slices of a rank's thread, in the phase or (NULL) in all. */
static double slices_s(const json_t *events, int rank, int thread, const char *phase) {
    double sum_s = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (is_slice_of(event, rank, thread) && (!phase || strcmp(text_of(event, "phase"), phase) == 0))
            sum_s += 1e-6 * number(event, "dur");
    }
    return sum_s;
}

TSIM_TEST(operators_of_every_schedule_are_sound) {
    for (size_t i = 0; i < N_PLANS; i++) {
        example_init(&e);
        e.scenario.simulation.detail = TSIM_DETAIL_OPERATORS;
        e.scenario.simulation.fold = i % 2 == 0;
        e.scenario.parallelism.tensor = 2;
        e.scenario.parallelism.sequence = e.scenario.parallelism.overlap.tensor = true;
        e.scenario.parallelism.zero = PLANS[i].stages == 1 ? 3 : 1;
        e.scenario.training.global_batch_size = 8;
        use_plan(PLANS[i].stages, PLANS[i].chunks, PLANS[i].schedule);
        json_t *events = traced(".json", "all");
        expect_sound(events);
        json_decref(events);
    }
}

/* Makes the trace of one rank with replicas, so that data-parallel traffic runs beside passes, 2 tensor ranks and
 * recomputation. */
static void use_operators(void) {
    e.scenario.simulation.detail = TSIM_DETAIL_OPERATORS;
    e.scenario.parallelism.tensor = 2;
    e.scenario.parallelism.sequence = true;
    e.scenario.training.recompute = TSIM_RECOMPUTE_FULL;
    e.scenario.training.recompute_every = 1;
    use_pipeline(2, 1, TSIM_SCHEDULE_1F1B);
}

/* Slices are rounded to nanoseconds: half of one for each of some thousands. */
TSIM_TEST(kernels_add_up_to_the_terms) {
    use_operators();
    e.scenario.parallelism.overlap.gradients = e.scenario.parallelism.overlap.parameters = false;
    json_t *events = traced(".json", "all");
    expect_sound(events);
    for (int rank = 0; rank < 2; rank++) {
        const struct tsim_step_terms *terms = &result.step.ranks[rank].terms;
        double kernels_s = slices_s(events, rank, TSIM_STREAM_COMPUTE, "forward") +
                           slices_s(events, rank, TSIM_STREAM_COMPUTE, "backward");
        ck_assert_double_eq_tol(kernels_s, terms->compute_s, 1e-5);
        ck_assert_double_eq_tol(slices_s(events, rank, TSIM_STREAM_COMPUTE, "recompute"), terms->recompute_s, 1e-5);
        ck_assert_double_eq_tol(slices_s(events, rank, TSIM_STREAM_BESIDE + TSIM_AXIS_TENSOR, NULL),
                                terms->exposed_tensor_s, 1e-5);
        ck_assert_double_gt(terms->recompute_s, 1e-3);
        ck_assert_double_gt(terms->exposed_tensor_s, 1e-3);
    }
    json_decref(events);
}

/* Kernels beside gradients' reductions take longer, one after another all the same; passes enclose theirs. */
TSIM_TEST(passes_are_their_operators) {
    use_operators();
    json_t *events = traced(".json", "all");
    expect_sound(events);
    for (int rank = 0; rank < 2; rank++) {
        double operators_s = slices_s(events, rank, TSIM_STREAM_BESIDE + TSIM_AXIS_TENSOR, NULL);
        for (const char *const *phase = (const char *const[]){"forward", "backward", "recompute", NULL}; *phase;
             phase++)
            operators_s += slices_s(events, rank, TSIM_STREAM_COMPUTE, *phase);
        ck_assert_double_eq_tol(operators_s, slices_s(events, rank, TSIM_N_TOLD_STREAMS, NULL), 1e-5);
    }
    json_decref(events);
}

/* On slow links an exchange that is executed again, which the kernels wait for, meets one that runs beside them. */
TSIM_TEST(exchanges_that_meet_have_a_thread_each) {
    use_operators();
    e.model.experts = (struct tsim_experts){.count = 16, .active = 2, .ffn_hidden = 2048, .every = 1};
    e.scenario.parallelism.tensor = 1;
    e.scenario.parallelism.expert = 2;
    e.scenario.parallelism.overlap.expert = true;
    e.node.scale_up_bytes_per_s = e.node.scale_up_ring_bytes_per_s = 10e9;
    example_finish(&e);
    json_t *events = traced(".json", "all");
    int n_second = 0;
    expect_sound(events);
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (is_phase(event, "X") && (int)number(event, "tid") > TSIM_N_TOLD_STREAMS)
            n_second += strcmp(text_of(event, "phase"), "recompute") == 0;
    }
    ck_assert_int_gt(n_second, 0);
    json_decref(events);
}

/* The host launches each operator, one after another, and these wait for it: on a slow host many begin when they have
 * been launched; one of several kernels begins with the first of them. */
TSIM_TEST(kernels_begin_after_their_launches) {
    enum { MOST = 4096 };
    static double begun_us[MOST], launched_us[MOST];
    e.software.host_time_per_op_s = 5e-5; /* slower than many kernels */
    use_pipeline(1, 1, TSIM_SCHEDULE_1F1B);
    e.scenario.simulation.detail = TSIM_DETAIL_OPERATORS;
    json_t *events = traced(".json", "0");
    expect_sound(events);
    int n_launches = 0, n_kernels = 0, n_waited = 0;
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (is_phase(event, "X") && is_slice_of(event, 0, TSIM_STREAM_HOST)) {
            ck_assert_int_lt(n_launches, MOST);
            ck_assert_str_eq(text_of(event, "cat"), "cuda_runtime");
            begun_us[n_launches] = number(event, "ts");
            launched_us[n_launches] = begun_us[n_launches] + number(event, "dur");
            n_launches++;
        } else if (is_phase(event, "X") && strcmp(text_of(event, "cat"), "kernel") == 0 && *text_of(event, "phase")) {
            double begin_us = number(event, "ts");
            ck_assert_int_lt(n_kernels, n_launches); /* told before it */
            ck_assert_double_gt(begin_us, begun_us[n_kernels]);
            n_waited += fabs(begin_us - launched_us[n_kernels++]) < 0.002;
        }
    }
    ck_assert_int_eq(n_launches, n_kernels);
    ck_assert_int_gt(n_waited, n_kernels / 4);
    json_decref(events);
}

/* Counts the slices of each name. */
static json_t *counts_of_names(const json_t *events) {
    json_t *counts = json_object();
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        const char *name = text_of(event, "name");
        if (is_phase(event, "X"))
            json_object_set_new(counts, name, json_integer(json_integer_value(json_object_get(counts, name)) + 1));
    }
    return counts;
}

/* The table is of the critical rank. */
TSIM_TEST(every_operator_is_there_as_often_as_it_runs) {
    use_operators();
    json_t *both[2];
    for (int rank = 0; rank < 2; rank++) {
        json_t *events = traced(".json", rank == 0 ? "0" : "4");
        both[rank] = counts_of_names(events);
        json_decref(events);
    }
    int n_found = 0;
    for (int32_t i = 0; i < result.step.n_operators; i++) {
        const struct tsim_operator_row *row = &result.step.operators[i];
        if (!(row->time_s > 0) || row->name[strlen(row->name) - 1] != ')')
            continue;
        double n[] = {json_number_value(json_object_get(both[0], row->name)),
                      json_number_value(json_object_get(both[1], row->name))};
        double expected = 0;
        for (int32_t k = 0; k < result.step.n_operators; k++)
            expected += strcmp(result.step.operators[k].name, row->name) == 0 ? result.step.operators[k].count : 0;
        if (n[0] != expected && n[1] != expected)
            ck_abort_msg("%s: %g and %g slices, not %g", row->name, n[0], n[1], expected);
        n_found++;
    }
    ck_assert_int_gt(n_found, 30);
    json_decref(both[0]);
    json_decref(both[1]);
}

/* So many layers that not all micro-batches' operators are told: those of the first and of the last. */
TSIM_TEST(long_steps_are_cut_to_a_window) {
    e.model.layers = 400;
    use_operators();
    json_t *events = traced(".json", NULL);
    bool is_told[32] = {false};
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (is_slice_of(event, 1, TSIM_STREAM_COMPUTE) && text_of(event, "phase")[0])
            is_told[json_integer_value(json_object_get(json_object_get(event, "args"), "micro-batch"))] = true;
    }
    ck_assert(is_told[0] && !is_told[30] && is_told[31]);
    ck_assert_uint_lt(count(events, "X"), 50000);
    ck_assert_uint_gt(count(events, "X"), 20000);
    json_decref(events);
}

static struct tsim_step_simulation simulated(void) {
    struct tsim_step_simulation simulation;
    struct tsim_pass_costs costs;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, &e.scenario);
    const struct tsim_placement *placement = tsim_placement_build(&arena, &e.scenario);
    tsim_pass_costs_build(&arena, &e.scenario, cluster, placement, &costs);
    ck_assert_int_eq(tsim_step_simulate(&arena, &e.scenario, cluster, placement, &costs, &simulation, &diags), TSIM_OK);
    tsim_diags_release(&diags);
    return simulation;
}

/* Two nodes below each leaf of a tree that is oversubscribed 8:1, with tensor groups across leaves. The area below the
 * counter of a sort of links is its bytes over its capacity; a counter is rounded to a tenth of a percent. */
TSIM_TEST(counters_of_links_add_up_to_their_bytes) {
    static const struct tsim_tier TIER = {.ports = 16, .oversubscription = 8};
    const enum tsim_axis order[] = {TSIM_AXIS_DATA, TSIM_AXIS_TENSOR, TSIM_AXIS_CONTEXT, TSIM_AXIS_EXPERT,
                                    TSIM_AXIS_PIPELINE};
    e.scenario.cluster.nodes = 8;
    e.scenario.parallelism.tensor = 8;
    memcpy(e.scenario.parallelism.order, order, sizeof order);
    e.fabric.topology = TSIM_TOPOLOGY_FAT_TREE;
    e.fabric.routing = TSIM_ROUTING_ADAPTIVE;
    e.fabric.tiers = &TIER;
    e.fabric.n_tiers = 1;
    e.scenario.training.global_batch_size = 8;
    example_finish(&e);
    json_t *events = traced(".json", "0");
    struct tsim_step_simulation alone = simulated();
    double step_us = 1e6 * alone.time_s;
    int n_sorts = 0;
    for (int32_t i = 0; i < alone.n_link_utilizations; i++) {
        const struct tsim_link_utilization *use = &alone.link_utilizations[i];
        const char *name = tsim_arena_printf(&arena, "%s %%", use->sort);
        double at_us = 0, mean = 0, busiest = 0, area = 0;
        int n = 0;
        for (size_t k = 0; k < json_array_size(events); k++) {
            const json_t *event = json_array_get(events, k), *args = json_object_get(event, "args");
            if (!is_phase(event, "C") || strcmp(text_of(event, "name"), name) != 0)
                continue;
            ck_assert(number(event, "ts") >= at_us &&
                      (number(args, "mean") != mean || number(args, "busiest") != busiest));
            area += mean * (number(event, "ts") - at_us);
            at_us = number(event, "ts");
            mean = number(args, "mean");
            busiest = number(args, "busiest");
            ck_assert(mean <= busiest && busiest <= 100);
            n++;
        }
        if (n == 0)
            continue;
        ck_assert_int_ge(n, 10);
        ck_assert(at_us > 0.5 * step_us && at_us <= step_us + 0.01);
        ck_assert_double_le(busiest, 0);
        ck_assert_double_gt(use->mean_frac, 0.1);
        ck_assert_double_eq_tol(area / step_us, 100 * use->mean_frac, 0.05);
        n_sorts++;
    }
    ck_assert_int_eq(n_sorts, 2);
    json_decref(events);
}

static void expect_complaint(const char *ending, const char *ranks, enum tsim_status status) {
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    ck_assert_int_eq(write_trace(ending, ranks, &diags), status);
    ck_assert_uint_eq(diags.n_errors, 1);
    tsim_diags_release(&diags);
}

TSIM_TEST(what_is_wrong_is_said) {
    static const char *const LISTS[] = {"", "x", "1,", "3-1", "1-", "-1", "1;2", "99999999999999999999", "8", "0-8"};
    use_pipeline(4, 1, TSIM_SCHEDULE_1F1B);
    for (size_t i = 0; i < sizeof LISTS / sizeof LISTS[0]; i++)
        expect_complaint(".json", LISTS[i], TSIM_ERR_RANGE);
    expect_complaint("/no/such/folder.json", NULL, TSIM_ERR_IO);
}

TSIM_TEST(numbers_are_those_that_printf_writes) {
    static const int64_t VALUES[] = {0, 1, 9, 10, 99, 100, 101, 999, 1000, 1001, 10050, 123456789, INT64_MAX};
    for (size_t i = 0; i < sizeof VALUES / sizeof VALUES[0]; i++)
        for (int is_negative = 0; is_negative < 2; is_negative++) {
            int64_t value = is_negative ? -VALUES[i] : VALUES[i];
            char text[TSIM_DIGITS_MOST * 2], expected[64];
            *tsim_digits_whole(text, (uint64_t)VALUES[i]) = '\0';
            snprintf(expected, sizeof expected, "%lld", (long long)VALUES[i]);
            ck_assert_str_eq(text, expected);
            *tsim_digits_thousandths(text, value) = '\0';
            long double read = strtold(text, NULL);
            ck_assert(fabsl(read * 1000 - (long double)value) < 1);
            *tsim_digits_tenths(text, value) = '\0';
            read = strtold(text, NULL);
            ck_assert(fabsl(read * 10 - (long double)value) < 1);
        }
}

TSIM_MAIN(CHECKS_LIMIT_S, setup, teardown)
