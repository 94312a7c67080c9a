#include "report/export/trace.h"

#include "cluster/cluster.h"
#include "cluster/placement.h"
#include "cluster/power.h"
#include "cluster/topology.h"
#include "partition/memory.h"
#include "report/terminal/digits.h"
#include "report/terminal/rank_list.h"
#include "report/text_file.h"
#include "results/verdict.h"

#include <math.h>
#include <string.h>

/* Passes have a thread of their own where their operators are told. A trace has operators of at most so many rows, and
 * of as many micro-batches as have about so many of them and their launches: six megabytes, which a browser opens in a
 * second. */
enum {
    MOST_DEFAULT_ROWS = 64,
    N_GAUGES = 3 /* a stream has so many */,
    PASSES_THREAD = TSIM_N_TOLD_STREAMS,
    SECOND_THREAD, /* by stream: of what runs beside the stream's slice */
    MOST_OPERATORS = 25000
};

/* Micro-batches whose operators are told: the first n of all, and the last. */
struct window {
    int32_t n, n_microbatches;
};

/* The gauges that a stream's tasks set, in tenths. They fall back between tasks. */
struct gauges {
    int64_t end_ns;
    int64_t values[N_GAUGES];
};

/* A stage group that is simulated, of one replica or for several alike. */
struct row {
    bool is_traced;
    int32_t replica, n_alike; /* the first replica, and how many there are */
    double activation_bytes;
    struct gauges gauges[TSIM_N_STREAMS];
    int64_t busy_ns[TSIM_N_TOLD_STREAMS]; /* until when a stream's thread has a slice */
    bool has_second[TSIM_N_TOLD_STREAMS];
};

struct tsim_trace {
    struct tsim_arena *arena;
    const struct tsim_scenario *scenario;
    const struct tsim_cluster *cluster;
    const struct tsim_placement *placement;
    struct tsim_schedule_shape shape;
    struct tsim_text_file *file;
    const char *file_name;
    struct tsim_rank_list chosen; /* no ranges: the default */
    struct row *rows;
    int32_t n_rows;
    double (*pass_bytes)[TSIM_N_PASS_KINDS]; /* [stage][chunk]: by how much a pass changes the activations */
    double idle_w, link_w;                   /* an accelerator at rest, and what its links take when they are busy */
    uint8_t *is_sent;                        /* by message: an arrow has begun */
    int64_t links[TSIM_N_LINK_SORTS][2];     /* the last samples of shared links, in tenths of a percent */
    int64_t links_end_ns;
    bool has_links;
    bool has_event;
    bool has_operators, has_launches;
    int32_t n_traced;
    struct window window;
    struct tsim_step_sink sink;
};

static const char *const STREAM_NAMES[TSIM_N_TOLD_STREAMS] = {"compute",  "data",    "send next",  "send prev",
                                                              "copy out", "copy in", "copy batch", "tensor",
                                                              "context",  "expert",  "exchange",   "host"};

/* ---- writing ---- */

static inline char *put(char *at, const char *text) {
    return tsim_digits_text(at, text);
}

static inline char *put_whole(char *at, const char *key, int64_t value) {
    return tsim_digits_whole(tsim_digits_text(at, key), (uint64_t)value);
}

static inline char *put_time(char *at, const char *key, int64_t ns) {
    return tsim_digits_thousandths(tsim_digits_text(at, key), ns);
}

/* Begins an event, {"ph":"X","pid":3. Each event is a line; the caller writes the rest, up to end_event. */
static inline char *begin_event(struct tsim_trace *trace, const char *phase, int64_t pid) {
    char *at = tsim_text_file_line(trace->file);
    if (trace->has_event)
        *at++ = ',';
    trace->has_event = true;
    at = put(put(at, "\n{\"ph\":\""), phase);
    return put_whole(at, "\",\"pid\":", pid);
}

static inline void end_event(struct tsim_trace *trace, char *at) {
    tsim_text_file_end_line(trace->file, put(at, "}"));
}

static void put_name(struct tsim_trace *trace, const char *what, int64_t pid, int64_t tid, const char *name) {
    char *at = put_whole(begin_event(trace, "M", pid), ",\"tid\":", tid);
    at = put(put(put(at, ",\"name\":\""), what), "\",\"args\":{\"name\":\"");
    end_event(trace, put(put(at, name), "\"}"));
}

static void put_memory(struct tsim_trace *trace, int64_t pid, int64_t ns, const char *key, double bytes) {
    char *at = put_time(begin_event(trace, "C", pid), ",\"ts\":", ns);
    at = put(put(put(at, ",\"name\":\"memory GB\",\"args\":{\""), key), "\":");
    end_event(trace, put(tsim_digits_thousandths(at, llround(bytes / 1e6)), "}"));
}

/* Writes one line for all gauges that change. */
static void set_gauges(struct tsim_trace *trace, int64_t pid, int stream, int64_t ns, const int64_t values[N_GAUGES]) {
    static const char *const KEYS[N_GAUGES] = {"\"power W\":", "\"scale-up GB/s\":", "\"NIC GB/s\":"};
    struct gauges *gauges = &trace->rows[pid].gauges[stream];
    if (memcmp(gauges->values, values, sizeof gauges->values) == 0)
        return;
    char *at = put_time(begin_event(trace, "C", pid), ",\"ts\":", ns);
    at = put(put(put(at, ",\"name\":\""), STREAM_NAMES[stream]), "\",\"args\":{");
    for (int g = 0; g < N_GAUGES; g++)
        if (gauges->values[g] != values[g])
            at = put(tsim_digits_tenths(put(at, KEYS[g]), values[g]), ",");
    memcpy(gauges->values, values, sizeof gauges->values);
    end_event(trace, put(at - 1, "}"));
}

static void put_links(struct tsim_trace *trace, int32_t sort, int64_t ns) {
    char *at = put_time(begin_event(trace, "C", trace->n_rows), ",\"ts\":", ns);
    at = put(put(put(at, ",\"name\":\""), tsim_link_sort_name(sort)), " %\",\"args\":{\"mean\":");
    at = put(tsim_digits_tenths(at, trace->links[sort][0]), ",\"busiest\":");
    end_event(trace, put(tsim_digits_tenths(at, trace->links[sort][1]), "}"));
}

/* The accelerator's own power at rest is part of compute's. */
static void rest_gauges(struct tsim_trace *trace, int64_t pid, int stream, int64_t ns) {
    const int64_t IDLE[N_GAUGES] = {stream == TSIM_STREAM_COMPUTE ? llround(10 * trace->idle_w) : 0};
    set_gauges(trace, pid, stream, ns, IDLE);
}

/* ---- rows ---- */

/* Finds which replicas each row stands for. */
static void find_replicas(struct tsim_trace *trace, const struct tsim_step_outline *outline) {
    for (int32_t replica = (int32_t)trace->scenario->parallelism.data - 1; replica >= 0; replica--)
        for (int32_t stage = 0; stage < trace->shape.stages; stage++) {
            struct row *row = &trace->rows[outline->stand_ins[replica] * trace->shape.stages + stage];
            row->replica = replica;
            row->n_alike++;
        }
}

/* Chooses the rows that hold ranks of the list, or stand for those that do. */
static void choose_rows(struct tsim_trace *trace, const struct tsim_step_outline *outline) {
    const struct tsim_placement *placement = trace->placement;
    int32_t n_stages = trace->shape.stages;
    for (int32_t i = 0; i < n_stages && i < MOST_DEFAULT_ROWS; i++)
        trace->rows[i].is_traced = !trace->chosen.ranges;
    for (int32_t rank = 0; rank < placement->n_ranks && trace->chosen.ranges; rank++) {
        int32_t stage = tsim_placement_coordinates(placement, rank).at[TSIM_AXIS_PIPELINE];
        if (tsim_rank_list_has(&trace->chosen, rank))
            trace->rows[outline->stand_ins[tsim_placement_replica(placement, rank)] * n_stages + stage].is_traced =
                true;
    }
    for (int32_t i = 0; i < trace->n_rows; i++)
        trace->n_traced += trace->rows[i].is_traced;
}

/* Returns the memory that stays: everything but activations. */
static double state_bytes(const struct tsim_trace *trace, int32_t stage) {
    struct tsim_stage_memory memory;
    tsim_stage_memory(trace->scenario, stage, &memory);
    return memory.total_bytes - memory.activations_bytes;
}

static const char *text_of_ranks(struct tsim_trace *trace, const int32_t *ranks, int32_t n) {
    enum { MOST_RANGES = 8 };
    const char *text = n > 1 ? "ranks" : "rank";
    for (int32_t i = 0, last = 0, n_ranges = 0; i < n; i = last + 1) {
        for (last = i; last + 1 < n && ranks[last + 1] == ranks[last] + 1; last++)
            ;
        if (++n_ranges > MOST_RANGES)
            return tsim_arena_printf(trace->arena, "%s and on to %d", text, ranks[n - 1]);
        text = tsim_arena_printf(trace->arena, last > i ? "%s%s %d-%d" : "%s%s %d", text, i > 0 ? "," : "", ranks[i],
                                 ranks[last]);
    }
    return text;
}

/* Names a row after the ranks of the job that it is of: "stage 1 of replica 3: ranks 24-31". */
static const char *name_of_row(struct tsim_trace *trace, int32_t i) {
    const struct tsim_placement *placement = trace->placement;
    const struct row *row = &trace->rows[i];
    struct tsim_coordinates at = {.at[TSIM_AXIS_DATA] = row->replica / placement->size[TSIM_AXIS_EXPERT]};
    at.at[TSIM_AXIS_EXPERT] = row->replica % placement->size[TSIM_AXIS_EXPERT];
    at.at[TSIM_AXIS_PIPELINE] = i % trace->shape.stages;
    int32_t n_members = placement->size[TSIM_AXIS_TENSOR] * placement->size[TSIM_AXIS_CONTEXT],
            *ranks = TSIM_NEW_ARRAY(trace->arena, (size_t)n_members, int32_t);
    tsim_placement_ranks(placement, tsim_placement_rank(placement, &at),
                         1u << TSIM_AXIS_TENSOR | 1u << TSIM_AXIS_CONTEXT, ranks);
    const char *members = text_of_ranks(trace, ranks, n_members), *of_replica = "";
    if (trace->n_rows > trace->shape.stages)
        of_replica = tsim_arena_printf(trace->arena, " of replica %d", row->replica);
    if (row->n_alike > 1)
        members = tsim_arena_printf(trace->arena, "%s (%d replicas alike)", members, row->n_alike);
    return tsim_arena_printf(trace->arena, "stage %d%s: %s", i % trace->shape.stages, of_replica, members);
}

static void begin_row(struct tsim_trace *trace, int32_t i) {
    int32_t stage = i % trace->shape.stages;
    put_name(trace, "process_name", i, 0, name_of_row(trace, i));
    for (int s = 0; s < TSIM_N_STREAMS; s++)
        put_name(trace, "thread_name", i, s, STREAM_NAMES[s]);
    if (trace->has_operators) {
        if (trace->has_launches)
            put_name(trace, "thread_name", i, TSIM_STREAM_HOST, STREAM_NAMES[TSIM_STREAM_HOST]);
        put_name(trace, "thread_name", i, PASSES_THREAD, "passes");
        char *at = put_whole(begin_event(trace, "M", i), ",\"tid\":", PASSES_THREAD);
        end_event(trace, put(at, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":-1}"));
    }
    put_memory(trace, i, 0, "model state", state_bytes(trace, stage));
    put_memory(trace, i, 0, "activations", 0);
    for (int s = 0; s < TSIM_N_STREAMS; s++)
        rest_gauges(trace, i, s, 0);
}

/* Activations exist from the beginning of a forward pass to the end of its last gradient. If the backward pass is
 * split, what weight gradients need is kept a while longer. */
static void set_pass_bytes(const struct tsim_trace *trace, int32_t stage, int32_t chunk,
                           double changes[TSIM_N_PASS_KINDS]) {
    const struct tsim_scenario *sc = trace->scenario;
    double all = tsim_chunk_activation_bytes(sc, stage, chunk), kept = 0;
    if (tsim_schedule_splits_backward(trace->shape.schedule))
        kept = tsim_chunk_weight_gradient_bytes(sc, stage, chunk);
    const double CHANGES[TSIM_N_PASS_KINDS] = {all, -all, kept - all, -kept};
    memcpy(changes, CHANGES, sizeof CHANGES);
}

static void begin_passes(struct tsim_trace *trace) {
    int32_t n_chunks = trace->shape.chunks, n = trace->shape.stages * n_chunks;
    trace->pass_bytes = tsim_arena_alloc(trace->arena, (size_t)n * sizeof *trace->pass_bytes);
    for (int32_t i = 0; i < n; i++)
        set_pass_bytes(trace, i / n_chunks, i % n_chunks, trace->pass_bytes[i]);
}

static void begin_window(struct tsim_trace *trace, const struct tsim_step_outline *outline) {
    struct window *w = &trace->window;
    int64_t n_operators = 0;
    if (!outline->n_operators || trace->n_traced > MOST_DEFAULT_ROWS)
        return;
    for (int32_t i = 0; i < trace->n_rows; i++)
        n_operators += trace->rows[i].is_traced ? outline->n_operators[i % outline->n_stages] : 0;
    trace->has_operators = n_operators > 0;
    trace->has_launches = outline->has_launches;
    w->n_microbatches = tsim_schedule_chunk_microbatches(&trace->shape);
    w->n = w->n_microbatches;
    if (n_operators * w->n > MOST_OPERATORS)
        w->n = n_operators < MOST_OPERATORS / 2 ? (int32_t)(MOST_OPERATORS / n_operators) - 1 : 1;
}

static void begin(void *context, const struct tsim_step_outline *outline) {
    struct tsim_trace *trace = context;
    trace->n_rows = outline->n_stage_groups;
    trace->rows = TSIM_NEW_ARRAY(trace->arena, (size_t)trace->n_rows, struct row);
    trace->is_sent = TSIM_NEW_ARRAY(trace->arena, (size_t)outline->n_messages / 8 + 1, uint8_t);
    begin_passes(trace);
    find_replicas(trace, outline);
    choose_rows(trace, outline);
    begin_window(trace, outline);
    for (int32_t i = 0; i < trace->n_rows; i++)
        if (trace->rows[i].is_traced)
            begin_row(trace, i);
}

static bool wants_operators(void *context, int32_t stage_group) {
    const struct tsim_trace *trace = context;
    return trace->has_operators && trace->rows[stage_group].is_traced;
}

static bool wants_item(void *context, const struct tsim_pass_item *item) {
    const struct window *window = &((const struct tsim_trace *)context)->window;
    return item->microbatch < window->n || item->microbatch == window->n_microbatches - 1;
}

/* ---- slices ---- */

static bool is_of_experts(const struct tsim_step_task *task) {
    return task->parts[0].is_expert;
}

static const char *task_name(const struct tsim_step_task *task) {
    static const char *const PASSES[TSIM_N_PASS_KINDS] = {"forward", "backward", "input gradient", "weight gradient"};
    switch (task->kind) {
    case TSIM_TASK_PASS:
        return PASSES[task->item->kind];
    case TSIM_TASK_SEND:
        return task->item->kind == TSIM_PASS_FORWARD ? "send activations" : "send gradients";
    case TSIM_TASK_GATHER:
        return is_of_experts(task) ? "gather parameters of experts" : "gather parameters";
    case TSIM_TASK_REDUCE:
        return is_of_experts(task) ? "reduce gradients of experts" : "reduce gradients";
    case TSIM_TASK_TIED:
        return "reduce tied embedding";
    case TSIM_TASK_NORM:
        return "gradient norm";
    case TSIM_TASK_OPTIMIZER:
        return "optimizer";
    case TSIM_TASK_OPERATOR:
        return task->op->name;
    case TSIM_TASK_INPUT:
        return "wait for input";
    case TSIM_TASK_COPY:
        return "copy";
    case TSIM_TASK_GO:
        return "begin collective";
    }
    TSIM_BUG("task %d", (int)task->kind);
}

/* Returns the category that PyTorch's profiler gives to a slice: work of the accelerator, a mark, or work of the host. */
static const char *category_of(const struct tsim_step_task *task) {
    if (task->stream == TSIM_STREAM_HOST)
        return "cuda_runtime";
    if (task->kind == TSIM_TASK_INPUT || (task->op && task->op->bound == TSIM_BOUND_HOST))
        return "cpu_op";
    return task->kind == TSIM_TASK_PASS ? "gpu_user_annotation" : "kernel";
}

static inline int64_t nearest(double amount) {
    return (int64_t)(amount + 0.5);
}

static inline char *put_amount(char *at, const char *key, double value) {
    return value > 0 ? put_whole(at, key, nearest(value)) : at;
}

static char *put_operator(const struct tsim_step_operator *op, char *at) {
    if (op->layer >= 0)
        at = put_whole(at, ",\"layer\":", op->layer);
    else
        at = put(put(put(at, ",\"part\":\""), tsim_layer_kind(op->part)->word), "\"");
    at = put(put(put(at, ",\"phase\":\""), op->phase), "\",\"bound\":\"");
    at = put(put(at, tsim_bound_name(op->bound)), "\"");
    return put_amount(at, ",\"HBM bytes\":", op->hbm_bytes);
}

/* Puts the "args" of a slice. A pass that waits in its middle has several segments. */
static char *put_args(const struct tsim_trace *trace, const struct tsim_step_task *task, int thread, char *at) {
    char *begin = at;
    if (trace->has_operators && strcmp(category_of(task), "kernel") == 0)
        at = put_whole(put_whole(at, ",\"device\":", task->stage_group), ",\"stream\":", thread);
    if (task->item)
        at = put_whole(at, ",\"micro-batch\":", task->item->microbatch);
    if (task->item && trace->shape.chunks > 1)
        at = put_whole(at, ",\"chunk\":", task->item->chunk);
    if (task->op)
        at = put_operator(task->op, at);
    if (task->segment > 0 || (task->kind == TSIM_TASK_PASS && !task->is_last_segment))
        at = put_whole(at, ",\"segment\":", task->segment);
    if (task->to_stage_group >= 0)
        at = put_whole(at, ",\"to stage\":", task->to_stage_group % trace->shape.stages);
    at = put_amount(at, ",\"FLOP\":", task->flops);
    at = put_amount(at, ",\"scale-up bytes\":", task->scale_up_bytes);
    at = put_amount(at, ",\"NIC bytes\":", task->nic_bytes);
    if (at == begin)
        return put(at, "{}");
    *begin = '{';
    return put(at, "}");
}

static int thread_of(const struct tsim_trace *trace, const struct tsim_step_task *task) {
    return trace->has_operators && task->kind == TSIM_TASK_PASS ? PASSES_THREAD : (int)task->stream;
}

/* Returns the thread of a slice. A collective that the kernels wait for can run while one of the same stream runs
 * beside them; slices of a thread may not overlap, so it has a second thread. */
static int free_thread(struct tsim_trace *trace, const struct tsim_step_task *task, int64_t begin_ns, int64_t end_ns) {
    struct row *row = &trace->rows[task->stage_group];
    int thread = thread_of(trace, task), second = SECOND_THREAD + thread;
    if (thread >= TSIM_N_TOLD_STREAMS)
        return thread;
    if (begin_ns >= row->busy_ns[thread]) {
        row->busy_ns[thread] = end_ns;
        return thread;
    }
    if (!row->has_second[thread])
        put_name(trace, "thread_name", task->stage_group, second,
                 tsim_arena_printf(trace->arena, "%s, second", STREAM_NAMES[thread]));
    row->has_second[thread] = true;
    return second;
}

static void put_slice(struct tsim_trace *trace, const struct tsim_step_task *task, int64_t begin_ns, int64_t end_ns) {
    const int thread = free_thread(trace, task, begin_ns, end_ns);
    char *at = put_whole(begin_event(trace, "X", task->stage_group), ",\"tid\":", thread);
    at = put_time(put_time(at, ",\"ts\":", begin_ns), ",\"dur\":", end_ns - begin_ns);
    if (trace->has_operators)
        at = put(put(put(at, ",\"cat\":\""), category_of(task)), "\"");
    bool is_launch = task->stream == TSIM_STREAM_HOST;
    at = put(put(put(at, ",\"name\":\""), is_launch ? "launch " : ""), task_name(task));
    if (task->op && (is_launch || task->op->bound != TSIM_BOUND_HOST))
        at = put(put(put(at, " ("), task->op->phase), ")");
    at = put(at, "\",\"args\":");
    end_event(trace, put_args(trace, task, thread, at));
}

/* An arrow's ends are bound to the slices around them: the message's at its beginning, and the pass's at its own. */
static void put_arrow(struct tsim_trace *trace, const struct tsim_step_task *task, bool is_end, int64_t ns) {
    char *at = begin_event(trace, is_end ? "f\",\"bp\":\"e" : "s", task->stage_group);
    at = put_time(put_whole(at, ",\"tid\":", thread_of(trace, task)), ",\"ts\":", ns);
    at = put_whole(at, ",\"id\":", task->message);
    end_event(trace, put(at, ",\"cat\":\"message\",\"name\":\"message\""));
}

static void take_message(struct tsim_trace *trace, const struct tsim_step_task *task, int64_t begin_ns) {
    uint8_t *cell = &trace->is_sent[task->message / 8], bit = (uint8_t)(1 << task->message % 8);
    bool is_end = task->kind == TSIM_TASK_PASS;
    if (is_end ? !(*cell & bit) : !trace->rows[task->to_stage_group].is_traced)
        return; /* its other end is not among the ranks */
    *cell |= bit;
    put_arrow(trace, task, is_end, begin_ns);
}

/* ---- counters ---- */

static void count_memory(struct tsim_trace *trace, const struct tsim_step_task *task, int64_t begin_ns,
                         int64_t end_ns) {
    bool is_forward = task->item->kind == TSIM_PASS_FORWARD;
    if (is_forward ? task->segment != 0 : !task->is_last_segment)
        return;
    int32_t stage = task->stage_group % trace->shape.stages;
    struct row *row = &trace->rows[task->stage_group];
    row->activation_bytes += trace->pass_bytes[stage * trace->shape.chunks + task->item->chunk][task->item->kind];
    put_memory(trace, task->stage_group, is_forward ? begin_ns : end_ns, "activations", fmax(row->activation_bytes, 0));
}

/* The streams beside compute have the links' share of the power. */
static double power_w(const struct tsim_trace *trace, const struct tsim_step_task *task, double duration_s) {
    if (task->stream != TSIM_STREAM_COMPUTE)
        return trace->link_w;
    return tsim_power_accelerator_w(trace->cluster->accelerator, task->matrix_busy_s / duration_s,
                                    task->memory_busy_s / duration_s, 0);
}

static void count_rates(struct tsim_trace *trace, const struct tsim_step_task *task, int64_t begin_ns, int64_t end_ns) {
    struct gauges *gauges = &trace->rows[task->stage_group].gauges[task->stream];
    if (end_ns <= begin_ns)
        return;
    double duration_s = task->end_s - task->begin_s, scale = 1e-8 / duration_s;
    const int64_t VALUES[N_GAUGES] = {nearest(10 * power_w(trace, task, duration_s)),
                                      nearest(task->scale_up_bytes * scale), nearest(task->nic_bytes * scale)};
    if (begin_ns > gauges->end_ns)
        rest_gauges(trace, task->stage_group, (int)task->stream, gauges->end_ns);
    set_gauges(trace, task->stage_group, (int)task->stream, begin_ns, VALUES);
    gauges->end_ns = end_ns;
}

/* The links that ranks share are a process of their own, behind the rows. Samples follow each other without a gap. */
static void take_links(void *context, const struct tsim_step_links_sample *sample) {
    struct tsim_trace *trace = context;
    int64_t values[] = {nearest(1000 * sample->mean_frac), nearest(1000 * sample->highest_frac)},
            *last = trace->links[sample->sort];
    trace->links_end_ns = nearest(sample->end_s * 1e9);
    if (values[0] == last[0] && values[1] == last[1])
        return;
    if (!trace->has_links)
        put_name(trace, "process_name", trace->n_rows, 0, "links of the topology");
    trace->has_links = true;
    memcpy(last, values, sizeof values);
    put_links(trace, sample->sort, nearest(sample->begin_s * 1e9));
}

static void take(void *context, const struct tsim_step_task *task) {
    struct tsim_trace *trace = context;
    int64_t begin_ns = nearest(task->begin_s * 1e9), end_ns = nearest(task->end_s * 1e9);
    if (!trace->rows[task->stage_group].is_traced ||
        ((task->kind == TSIM_TASK_GO || task->kind == TSIM_TASK_INPUT) && end_ns == begin_ns))
        return;
    put_slice(trace, task, begin_ns, end_ns);
    if (task->op)
        return;
    if (task->message >= 0)
        take_message(trace, task, begin_ns);
    if (task->kind == TSIM_TASK_PASS)
        count_memory(trace, task, begin_ns, end_ns);
    count_rates(trace, task, begin_ns, end_ns);
}

/* ---- the document ---- */

static void put_text(struct tsim_trace *trace, const char *text) {
    tsim_text_file_put(trace->file, text, strlen(text));
}

enum tsim_status tsim_trace_open(struct tsim_arena *arena, const struct tsim_scenario *scenario, const char *file,
                                 const char *ranks, struct tsim_trace **trace, struct tsim_diags *diags) {
    struct tsim_trace *opened = TSIM_NEW(arena, struct tsim_trace);
    *opened = (struct tsim_trace){.arena = arena,
                                  .scenario = scenario,
                                  .cluster = tsim_cluster_build(arena, scenario),
                                  .placement = tsim_placement_build(arena, scenario),
                                  .shape = tsim_scenario_schedule(scenario),
                                  .file_name = file,
                                  .sink = {.begin = begin,
                                           .take = take,
                                           .take_links = take_links,
                                           .context = opened,
                                           .wants_launches = true,
                                           .wants_operators = wants_operators,
                                           .wants_item = wants_item}};
    if (ranks && !tsim_rank_list_parse(arena, ranks, &opened->chosen)) {
        struct tsim_diag *diag = tsim_diags_error(diags, TSIM_ERR_RANGE, (struct tsim_place){.file = "--trace-ranks"},
                                                  "", "'%s' is not a list of ranks", ranks);
        tsim_diag_hint(diag, "as in 0,3,8-15, or all");
        return TSIM_ERR_RANGE;
    }
    int64_t wrong = tsim_rank_list_beyond(&opened->chosen, opened->placement->n_ranks);
    if (wrong >= 0) {
        tsim_diags_error(diags, TSIM_ERR_RANGE, (struct tsim_place){.file = "--trace-ranks"}, "",
                         "there is no rank %lld; the job's ranks are 0 to %d", (long long)wrong,
                         opened->placement->n_ranks - 1);
        return TSIM_ERR_RANGE;
    }
    const struct tsim_accelerator *accelerator = opened->cluster->accelerator;
    opened->idle_w = tsim_power_accelerator_w(accelerator, 0, 0, 0);
    opened->link_w = tsim_power_accelerator_w(accelerator, 0, 0, 1) - opened->idle_w;
    TSIM_TRY(tsim_text_file_open(arena, file, &opened->file, diags));
    put_text(opened, "{\"displayTimeUnit\":\"ms\",\"generator\":\"tsim\",\"traceEvents\":[");
    *trace = opened;
    return TSIM_OK;
}

const struct tsim_step_sink *tsim_trace_sink(struct tsim_trace *trace) {
    return &trace->sink;
}

const char *tsim_trace_window(const struct tsim_trace *trace) {
    const struct window *w = &trace->window;
    if (!trace->has_operators || w->n >= w->n_microbatches - 1)
        return NULL;
    const char *first = w->n == 1 ? "0" : tsim_arena_printf(trace->arena, "0 to %d", w->n - 1);
    return tsim_arena_printf(trace->arena, "kernels of micro-batches %s and %d, passes of all %d", first,
                             w->n_microbatches - 1, w->n_microbatches);
}

enum tsim_status tsim_trace_close(struct tsim_trace *trace, struct tsim_diags *diags) {
    for (int32_t i = 0; i < trace->n_rows; i++)
        for (int s = 0; s < TSIM_N_STREAMS && trace->rows[i].is_traced; s++)
            rest_gauges(trace, i, s, trace->rows[i].gauges[s].end_ns);
    for (int32_t sort = 0; sort < TSIM_N_LINK_SORTS; sort++)
        if (trace->links[sort][1] > 0) {
            memset(trace->links[sort], 0, sizeof trace->links[sort]);
            put_links(trace, sort, trace->links_end_ns);
        }
    put_text(trace, "\n]");
    if (tsim_trace_window(trace)) {
        put_text(trace, ",\"otherData\":{\"window\":\"");
        put_text(trace, tsim_trace_window(trace));
        put_text(trace, "\"}");
    }
    put_text(trace, "}\n");
    return tsim_text_file_close(trace->file, diags);
}

void tsim_trace_discard(struct tsim_trace *trace) {
    tsim_text_file_discard(trace->file);
}
