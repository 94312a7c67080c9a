#include "report/trace.h"

#include "cluster/cluster.h"
#include "cluster/power.h"
#include "report/rank_list.h"
#include "report/text_file.h"
#include "workload/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEFAULT_RANKS = 64, N_GAUGES = 3 /* of a stream */ };

/* A counter that falls back to `idle` between the tasks that set it. Values in tenths. */
struct gauge {
    const char *name, *key;
    int64_t idle, value, end_ns;
};

struct traced_rank {
    bool is_traced;
    double activation_bytes;
    struct gauge gauges[TSIM_N_STREAMS][N_GAUGES];
};

struct tsim_trace {
    struct tsim_arena *arena;
    const struct tsim_scenario *scenario;
    const struct tsim_cluster *cluster;
    struct tsim_schedule_shape shape;
    struct tsim_text_file *file;
    const char *file_name;
    struct tsim_rank_list chosen; /* no ranges: the default */
    struct traced_rank *ranks;
    int32_t n_ranks;
    uint8_t *is_sent; /* by message: an arrow has begun */
    bool has_event;
    struct tsim_step_sink sink;
};

static const char *const STREAM_NAMES[TSIM_N_STREAMS] = {"compute", "data", "send next", "send prev"};
static const char *const GAUGE_NAMES[N_GAUGES] = {"power W", "scale-up GB/s", "NIC GB/s"};

/* ---- writing ---- */

static inline void put(struct tsim_trace *trace, const char *text) {
    tsim_text_file_put(trace->file, text, strlen(text));
}

static inline void put_number(struct tsim_trace *trace, const char *key, int64_t value, int decimals) {
    put(trace, key);
    tsim_text_file_put_fixed(trace->file, value, decimals);
}

/* {"ph":"X","pid":3,"tid":0 - the beginning of every event; the rest is the caller's. A counter has no thread (-1). */
static void begin_event(struct tsim_trace *trace, const char *phase, int64_t pid, int64_t tid) {
    if (trace->has_event)
        put(trace, ",\n{\"ph\":\"");
    else
        put(trace, "\n{\"ph\":\"");
    trace->has_event = true;
    put(trace, phase);
    put_number(trace, "\",\"pid\":", pid, 0);
    if (tid >= 0)
        put_number(trace, ",\"tid\":", tid, 0);
}

static void put_name(struct tsim_trace *trace, const char *what, int64_t pid, int64_t tid, const char *name) {
    begin_event(trace, "M", pid, tid);
    put(trace, ",\"name\":\"");
    put(trace, what);
    put(trace, "\",\"args\":{\"name\":\"");
    put(trace, name);
    put(trace, "\"}}");
}

static void put_counter(struct tsim_trace *trace, int64_t pid, int64_t ns, const char *name, const char *key,
                        int64_t value, int decimals) {
    begin_event(trace, "C", pid, -1);
    put_number(trace, ",\"ts\":", ns, 3);
    put(trace, ",\"name\":\"");
    put(trace, name);
    put(trace, "\",\"args\":{\"");
    put(trace, key);
    put_number(trace, "\":", value, decimals);
    put(trace, "}}");
}

static void set_gauge(struct tsim_trace *trace, struct gauge *gauge, int64_t pid, int64_t ns, int64_t value) {
    if (gauge->value == value)
        return;
    gauge->value = value;
    put_counter(trace, pid, ns, gauge->name, gauge->key, value, 1);
}

static void raise_gauge(struct tsim_trace *trace, struct gauge *gauge, int64_t pid, int64_t begin_ns, int64_t end_ns,
                        double value) {
    if (end_ns <= begin_ns)
        return;
    if (begin_ns > gauge->end_ns)
        set_gauge(trace, gauge, pid, gauge->end_ns, gauge->idle);
    set_gauge(trace, gauge, pid, begin_ns, llround(value * 10));
    gauge->end_ns = end_ns;
}

/* ---- ranks ---- */

static bool is_chosen(const struct tsim_trace *trace, int32_t rank) {
    if (!trace->chosen.ranges)
        return rank < trace->shape.stages && rank < MOST_DEFAULT_RANKS;
    return tsim_rank_list_has(&trace->chosen, rank);
}

/* The memory that stays: everything but activations. */
static double state_bytes(const struct tsim_trace *trace, int32_t stage) {
    struct tsim_stage_memory memory;
    tsim_stage_memory(trace->scenario, stage, &memory);
    return memory.total_bytes - memory.activations_bytes;
}

static void begin_rank(struct tsim_trace *trace, int32_t i) {
    char name[96];
    int32_t stage = i % trace->shape.stages;
    bool has_replicas = trace->n_ranks > trace->shape.stages;
    snprintf(name, sizeof name, "rank %d: stage %d", i, stage);
    if (has_replicas)
        snprintf(name, sizeof name, "rank %d: replica %d, stage %d", i, i / trace->shape.stages, stage);
    put_name(trace, "process_name", i, 0, name);
    for (int s = 0; s < TSIM_N_STREAMS; s++)
        put_name(trace, "thread_name", i, s, STREAM_NAMES[s]);
    put_counter(trace, i, 0, "memory GB", "model state", llround(state_bytes(trace, stage) / 1e6), 3);
    put_counter(trace, i, 0, "memory GB", "activations", 0, 3);
    for (int s = 0; s < TSIM_N_STREAMS; s++)
        for (int g = 0; g < N_GAUGES; g++)
            trace->ranks[i].gauges[s][g] = (struct gauge){.name = GAUGE_NAMES[g], .key = STREAM_NAMES[s]};
    struct gauge *power = &trace->ranks[i].gauges[TSIM_STREAM_COMPUTE][0];
    power->idle = llround(10 * tsim_power_accelerator_w(trace->cluster->accelerator, 0, 0, 0));
    set_gauge(trace, power, i, 0, power->idle);
}

static void begin(void *context, int32_t n_gangs, int64_t n_messages) {
    struct tsim_trace *trace = context;
    trace->n_ranks = n_gangs;
    trace->ranks = TSIM_NEW_ARRAY(trace->arena, (size_t)n_gangs, struct traced_rank);
    trace->is_sent = TSIM_NEW_ARRAY(trace->arena, (size_t)n_messages / 8 + 1, uint8_t);
    for (int32_t i = 0; i < n_gangs; i++) {
        trace->ranks[i].is_traced = is_chosen(trace, i);
        if (trace->ranks[i].is_traced)
            begin_rank(trace, i);
    }
}

/* ---- slices ---- */

static const char *task_name(const struct tsim_step_task *task) {
    static const char *const PASSES[TSIM_N_PASS_KINDS] = {"forward", "backward", "input gradient", "weight gradient"};
    switch (task->kind) {
    case TSIM_TASK_PASS:
        return PASSES[task->item->kind];
    case TSIM_TASK_SEND:
        return task->item->kind == TSIM_PASS_FORWARD ? "send activations" : "send gradients";
    case TSIM_TASK_GATHER:
        return "gather parameters";
    case TSIM_TASK_REDUCE:
        return "reduce gradients";
    case TSIM_TASK_TIED:
        return "reduce tied embedding";
    case TSIM_TASK_NORM:
        return "gradient norm";
    case TSIM_TASK_OPTIMIZER:
        return "optimizer";
    case TSIM_TASK_PIECE:
        return "part of a pass";
    case TSIM_TASK_INPUT:
        return "wait for input";
    case TSIM_TASK_GO:
        return "begin collective";
    }
    TSIM_BUG("task %d", (int)task->kind);
}

static void put_amount(struct tsim_trace *trace, const char *key, double value) {
    if (value > 0)
        put_number(trace, key, llround(value), 0);
}

static void put_slice(struct tsim_trace *trace, const struct tsim_step_task *task, int64_t begin_ns, int64_t end_ns) {
    begin_event(trace, "X", task->gang, task->stream);
    put_number(trace, ",\"ts\":", begin_ns, 3);
    put_number(trace, ",\"dur\":", end_ns - begin_ns, 3);
    put(trace, ",\"name\":\"");
    put(trace, task_name(task));
    put_number(trace, "\",\"args\":{\"segment\":", task->segment, 0);
    if (task->item) {
        put_number(trace, ",\"micro-batch\":", task->item->microbatch, 0);
        put_number(trace, ",\"chunk\":", task->item->chunk, 0);
    }
    if (task->to_gang >= 0)
        put_number(trace, ",\"to rank\":", task->to_gang, 0);
    put_amount(trace, ",\"FLOP\":", task->flops);
    put_amount(trace, ",\"scale-up bytes\":", task->scale_up_bytes);
    put_amount(trace, ",\"NIC bytes\":", task->nic_bytes);
    put(trace, "}}");
}

/* An arrow's end belongs to the slice that encloses it: where a message begins, and where the pass does. */
static void put_arrow(struct tsim_trace *trace, const struct tsim_step_task *task, bool is_end, int64_t ns) {
    begin_event(trace, is_end ? "f\",\"bp\":\"e" : "s", task->gang, task->stream);
    put_number(trace, ",\"ts\":", ns, 3);
    put_number(trace, ",\"id\":", task->message, 0);
    put(trace, ",\"cat\":\"message\",\"name\":\"message\"}");
}

static void take_message(struct tsim_trace *trace, const struct tsim_step_task *task, int64_t begin_ns) {
    uint8_t *cell = &trace->is_sent[task->message / 8], bit = (uint8_t)(1 << task->message % 8);
    bool is_end = task->kind == TSIM_TASK_PASS;
    if (is_end ? !(*cell & bit) : !trace->ranks[task->to_gang].is_traced)
        return; /* its other end is not among the ranks */
    *cell |= bit;
    put_arrow(trace, task, is_end, begin_ns);
}

/* ---- counters ---- */

/* Activations are there from the beginning of a forward pass to the end of the last gradient; what weight gradients
 * need is kept a while longer where the backward pass is split. */
static void count_memory(struct tsim_trace *trace, const struct tsim_step_task *task, int64_t begin_ns,
                         int64_t end_ns) {
    const struct tsim_scenario *sc = trace->scenario;
    int32_t stage = task->gang % trace->shape.stages, chunk = task->item->chunk;
    double expert = (double)tsim_chunk_expert_layers(sc, stage, chunk),
           dense = (double)tsim_chunk_layers(sc, stage, chunk) - expert;
    struct tsim_stage_part own;
    double all = dense * tsim_layer_activation_bytes(tsim_stage_part(sc, stage, &own), false), kept = 0;
    if (expert > 0)
        all += expert * tsim_layer_activation_bytes(sc, true);
    if (tsim_schedule_splits_backward(trace->shape.schedule)) {
        kept = dense * tsim_layer_weight_gradient_bytes(sc, false);
        if (expert > 0)
            kept += expert * tsim_layer_weight_gradient_bytes(sc, true);
    }
    bool is_forward = task->item->kind == TSIM_PASS_FORWARD;
    if (is_forward ? task->segment != 0 : !task->is_last_segment)
        return;
    const double CHANGES[TSIM_N_PASS_KINDS] = {all, -all, kept - all, -kept};
    struct traced_rank *rank = &trace->ranks[task->gang];
    rank->activation_bytes += CHANGES[task->item->kind];
    put_counter(trace, task->gang, is_forward ? begin_ns : end_ns, "memory GB", "activations",
                llround(fmax(rank->activation_bytes, 0) / 1e6), 3);
}

/* The links' share of the power is that of the streams beside compute; what idles is in the latter's. */
static double power_w(const struct tsim_trace *trace, const struct tsim_step_task *task) {
    const struct tsim_accelerator *accelerator = trace->cluster->accelerator;
    double duration_s = task->end_s - task->begin_s;
    if (task->stream == TSIM_STREAM_COMPUTE)
        return tsim_power_accelerator_w(accelerator, task->matrix_busy_s / duration_s, task->memory_busy_s / duration_s,
                                        0);
    return tsim_power_accelerator_w(accelerator, 0, 0, 1) - tsim_power_accelerator_w(accelerator, 0, 0, 0);
}

static void count_rates(struct tsim_trace *trace, const struct tsim_step_task *task, int64_t begin_ns, int64_t end_ns) {
    struct gauge *gauges = trace->ranks[task->gang].gauges[task->stream];
    double scale = 1e-9 / (task->end_s - task->begin_s);
    if (end_ns <= begin_ns)
        return;
    raise_gauge(trace, &gauges[0], task->gang, begin_ns, end_ns, power_w(trace, task));
    if (task->scale_up_bytes > 0)
        raise_gauge(trace, &gauges[1], task->gang, begin_ns, end_ns, task->scale_up_bytes * scale);
    if (task->nic_bytes > 0)
        raise_gauge(trace, &gauges[2], task->gang, begin_ns, end_ns, task->nic_bytes * scale);
}

static int64_t nanoseconds(double time_s) {
    return llround(time_s * 1e9);
}

static void take(void *context, const struct tsim_step_task *task) {
    struct tsim_trace *trace = context;
    int64_t begin_ns = nanoseconds(task->begin_s), end_ns = nanoseconds(task->end_s);
    if (!trace->ranks[task->gang].is_traced ||
        ((task->kind == TSIM_TASK_GO || task->kind == TSIM_TASK_INPUT) && end_ns == begin_ns))
        return;
    put_slice(trace, task, begin_ns, end_ns);
    if (task->message >= 0)
        take_message(trace, task, begin_ns);
    if (task->kind == TSIM_TASK_PASS)
        count_memory(trace, task, begin_ns, end_ns);
    count_rates(trace, task, begin_ns, end_ns);
}

/* ---- the document ---- */

enum tsim_status tsim_trace_open(struct tsim_arena *arena, const struct tsim_scenario *scenario, const char *file,
                                 const char *ranks, struct tsim_trace **trace, struct tsim_diags *diags) {
    struct tsim_trace *opened = TSIM_NEW(arena, struct tsim_trace);
    *opened = (struct tsim_trace){.arena = arena,
                                  .scenario = scenario,
                                  .cluster = tsim_cluster_build(arena, scenario),
                                  .shape = tsim_scenario_schedule(scenario),
                                  .file_name = file,
                                  .sink = {.begin = begin, .take = take, .context = opened}};
    if (ranks && !tsim_rank_list_parse(arena, ranks, &opened->chosen)) {
        struct tsim_diag *diag = tsim_diags_error(diags, TSIM_ERR_RANGE, (struct tsim_place){.file = "--trace-ranks"},
                                                  "", "'%s' is not a list of ranks", ranks);
        tsim_diag_hint(diag, "as in 0,3,8-15, or all");
        return TSIM_ERR_RANGE;
    }
    TSIM_TRY(tsim_text_file_open(arena, file, &opened->file, diags));
    put(opened, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    *trace = opened;
    return TSIM_OK;
}

const struct tsim_step_sink *tsim_trace_sink(struct tsim_trace *trace) {
    return &trace->sink;
}

static enum tsim_status check_ranks(const struct tsim_trace *trace, struct tsim_diags *diags) {
    int64_t wrong = trace->ranks ? tsim_rank_list_beyond(&trace->chosen, trace->n_ranks) : -1;
    if (wrong < 0)
        return TSIM_OK;
    tsim_diags_error(diags, TSIM_ERR_RANGE, (struct tsim_place){.file = "--trace-ranks"}, "",
                     "there is no rank %lld; the simulated ranks are 0 to %d", (long long)wrong, trace->n_ranks - 1);
    return TSIM_ERR_RANGE;
}

enum tsim_status tsim_trace_close(struct tsim_trace *trace, struct tsim_diags *diags) {
    for (int32_t i = 0; i < trace->n_ranks; i++)
        for (int g = 0; g < TSIM_N_STREAMS * N_GAUGES && trace->ranks[i].is_traced; g++) {
            struct gauge *gauge = &trace->ranks[i].gauges[g / N_GAUGES][g % N_GAUGES];
            set_gauge(trace, gauge, i, gauge->end_ns, gauge->idle);
        }
    put(trace, "\n]}\n");
    enum tsim_status status = check_ranks(trace, diags);
    if (status == TSIM_OK)
        return tsim_text_file_close(trace->file, diags);
    tsim_trace_discard(trace);
    return status;
}

void tsim_trace_discard(struct tsim_trace *trace) {
    tsim_text_file_discard(trace->file);
}
