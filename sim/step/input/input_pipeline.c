#include "step/input/input_pipeline.h"

#include "engine/engine.h"

#include <math.h>
#include <string.h>

/* The pipeline has settled when so many windows of steps in a row are equally long within this fraction: the rest would
 * be, too. A pipeline that never settles is told by the mean of the last half of what its limits allow, or more. */
#define SAME_FRAC 1e-7
enum { SAME_WINDOWS = 3, MAX_WINDOWS = 256, MAX_WINDOW_BATCHES = 20000, MAX_BATCHES = 60000 };
/* A stage that is busy this part of the time is what holds the others up. */
#define BUSY_FRAC 0.9

enum task_kind { TASK_READ, TASK_TRANSFORM, TASK_COPY, TASK_ROOM, TASK_FREE, TASK_GAP, TASK_TAKE, TASK_END, TASK_JOIN };

/* Ends of windows that means are taken from: the last one; the last two whose numbers are powers of two. */
enum mark { MARK_LAST, MARK_HALF, MARK_QUARTER, N_MARKS };

struct run;

struct worker {
    struct run *run;
    int32_t index, space, read; /* counters: batches given away (with prefetch 0: asked for), and read */
    int64_t n_reading, n_transforming;
};

struct consumer {
    struct run *run;
    int32_t index, link, arrived, taken; /* a resource, counters */
    const double *gaps_s;
    /* Copies */
    int64_t copied;
    enum task_kind copy_next;
    int64_t *from_worker; /* batches copied from each */
    /* Passes */
    int64_t step, asked; /* batches asked for since the beginning */
    int32_t batch;
    enum task_kind pass_next;
    tsim_tick asked_at;
    double *waits_s, *marked_s[N_MARKS]; /* by batch of a step: so far, and up to a mark */
};

struct progress { /* all that has been done so far */
    double time_s, storage_bytes, cores_s, read_s, transform_s, link_bytes;
    int64_t steps;
};

struct run {
    const struct tsim_input_pipeline *pipeline;
    struct tsim_engine *engine;
    struct worker *workers;
    struct consumer *consumers;
    int32_t storage, cores, ready; /* resources; counters [worker][consumer] */
    int64_t window_steps, max_steps, n_steps, n_windows;
    double first_step_s;
    double read_s, transform_s, window_s;
    struct progress marks[N_MARKS], end;
    int n_same;
};

/* ---- who does what ---- */

static int64_t batch_of(const struct run *run, int32_t worker, int64_t number) {
    return worker + number * run->pipeline->workers;
}

static int32_t worker_of(const struct run *run, const struct consumer *consumer, int64_t number) {
    return (int32_t)((number * run->pipeline->n_consumers + consumer->index) % run->pipeline->workers);
}

static int32_t ready_counter(const struct run *run, int32_t worker, int32_t consumer) {
    return run->ready + worker * run->pipeline->n_consumers + consumer;
}

static void await(struct tsim_task *task, int32_t counter, int64_t value) {
    if (value <= 0)
        return;
    task->awaited_counter = counter;
    task->awaited_value = value;
}

static tsim_tick ticks(const struct run *run, double duration_s) {
    return duration_s > 0 ? tsim_engine_ticks(run->engine, duration_s) : 0;
}

static void flow(struct tsim_task *task, double work, double bound_per_s, int32_t resource) {
    if (!(work > 0))
        return;
    task->work = work;
    task->bound_per_s = bound_per_s;
    task->n_demands = 1;
    task->demands[0] = (struct tsim_demand){resource, 1};
}

/* ---- workers ---- */

static bool next_read(void *context, int32_t stream, struct tsim_task *task) {
    struct worker *worker = context;
    const struct run *run = worker->run;
    const struct tsim_input_pipeline *pipeline = run->pipeline;
    (void)stream;
    int64_t number = worker->n_reading++;
    task->label = TASK_READ;
    await(task, worker->space, number + 1 - pipeline->prefetch);
    flow(task, pipeline->read_bytes, pipeline->read_bytes / pipeline->read_alone_s, run->storage);
    task->raised_counter = worker->read;
    return true;
}

static bool next_transform(void *context, int32_t stream, struct tsim_task *task) {
    struct worker *worker = context;
    const struct run *run = worker->run;
    (void)stream;
    int64_t number = worker->n_transforming++;
    int32_t consumer = (int32_t)(batch_of(run, worker->index, number) % run->pipeline->n_consumers);
    task->label = TASK_TRANSFORM;
    await(task, worker->read, number + 1);
    flow(task, run->pipeline->cpu_s, 1, run->cores);
    task->raised_counter = ready_counter(run, worker->index, consumer);
    return true;
}

/* ---- copies to the device: room for it, the copy, and the worker's buffer is free ---- */

static bool next_copy(void *context, int32_t stream, struct tsim_task *task) {
    struct consumer *consumer = context;
    const struct run *run = consumer->run;
    int32_t worker = worker_of(run, consumer, consumer->copied);
    (void)stream;
    task->label = consumer->copy_next;
    if (consumer->copy_next == TASK_ROOM) {
        await(task, consumer->taken, consumer->copied);
        consumer->copy_next = TASK_COPY;
    } else if (consumer->copy_next == TASK_COPY) {
        await(task, ready_counter(run, worker, consumer->index), ++consumer->from_worker[worker]);
        if (run->pipeline->link_bytes_per_s > 0)
            flow(task, run->pipeline->transfer_bytes, 0, consumer->link);
        task->raised_counter = consumer->arrived;
        consumer->copy_next = TASK_FREE;
    } else {
        if (run->pipeline->prefetch > 0)
            task->raised_counter = run->workers[worker].space;
        consumer->copied++;
        consumer->copy_next = TASK_ROOM;
    }
    return true;
}

/* ---- passes ---- */

static bool is_steady(const struct run *run) {
    return run->n_same >= SAME_WINDOWS - 1;
}

static bool goes_on(const struct run *run, const struct consumer *consumer) {
    return consumer->step < run->max_steps && !is_steady(run);
}

static void ask(struct consumer *consumer, struct tsim_task *task) {
    const struct run *run = consumer->run;
    task->latency = ticks(run, consumer->gaps_s[consumer->batch]);
    if (run->pipeline->prefetch == 0)
        task->raised_counter = run->workers[worker_of(run, consumer, consumer->asked)].space;
    consumer->asked++;
    consumer->pass_next = TASK_TAKE;
}

static void take(struct consumer *consumer, struct tsim_task *task) {
    await(task, consumer->arrived, consumer->asked);
    task->raised_counter = consumer->taken;
    consumer->pass_next = ++consumer->batch < consumer->run->pipeline->n_batches ? TASK_GAP : TASK_END;
}

static bool next_pass(void *context, int32_t stream, struct tsim_task *task) {
    struct consumer *consumer = context;
    const struct run *run = consumer->run;
    (void)stream;
    if (consumer->pass_next == TASK_GAP && consumer->batch == 0 && !goes_on(run, consumer))
        return false;
    task->label = consumer->pass_next;
    if (consumer->pass_next == TASK_GAP) {
        ask(consumer, task);
    } else if (consumer->pass_next == TASK_TAKE) {
        take(consumer, task);
    } else if (consumer->pass_next == TASK_END) {
        task->latency = ticks(run, consumer->gaps_s[consumer->batch]);
        consumer->pass_next = TASK_JOIN;
    } else {
        if (run->pipeline->n_consumers > 1) {
            task->join = consumer->step;
            task->n_parties = run->pipeline->n_consumers;
        }
        consumer->step++;
        consumer->batch = 0;
        consumer->pass_next = TASK_GAP;
    }
    return true;
}

/* ---- looking on ---- */

static struct progress read_progress(const struct run *run, tsim_tick now) {
    struct progress progress = {.time_s = tsim_engine_seconds(run->engine, now),
                                .steps = run->n_steps,
                                .storage_bytes = tsim_engine_resource_flowed(run->engine, run->storage),
                                .cores_s = tsim_engine_resource_flowed(run->engine, run->cores),
                                .read_s = run->read_s,
                                .transform_s = run->transform_s};
    for (int32_t i = 0; i < run->pipeline->n_consumers; i++)
        progress.link_bytes += tsim_engine_resource_flowed(run->engine, run->consumers[i].link);
    return progress;
}

static void set_mark(struct run *run, enum mark mark, const struct progress *progress) {
    run->marks[mark] = *progress;
    for (int32_t i = 0; i < run->pipeline->n_consumers; i++)
        memcpy(run->consumers[i].marked_s[mark], run->consumers[i].waits_s,
               (size_t)run->pipeline->n_batches * sizeof(double));
}

static void move_mark(struct run *run, enum mark from, enum mark to) {
    run->marks[to] = run->marks[from];
    for (int32_t i = 0; i < run->pipeline->n_consumers; i++)
        memcpy(run->consumers[i].marked_s[to], run->consumers[i].marked_s[from],
               (size_t)run->pipeline->n_batches * sizeof(double));
}

static bool is_same(double a, double b) {
    return fabs(a - b) <= SAME_FRAC * fabs(b);
}

/* Returns whether a window repeats the one before it: as much was read and transformed as was used, so no store is
 * running out. */
static bool repeats(const struct run *run, double window_s) {
    const struct tsim_input_pipeline *pipeline = run->pipeline;
    const struct progress *start = &run->marks[MARK_LAST], *end = &run->end;
    double batches = (double)(end->steps - start->steps) * pipeline->n_batches * pipeline->n_consumers;
    return is_same(window_s, run->window_s) &&
           is_same(end->storage_bytes - start->storage_bytes, batches * pipeline->read_bytes) &&
           is_same(end->cores_s - start->cores_s, batches * pipeline->cpu_s);
}

/* Ends a step; the last step of a window compares the window with the one before. */
static void end_step(struct run *run, tsim_tick now) {
    run->n_steps++;
    if (run->n_steps == 1)
        run->first_step_s = tsim_engine_seconds(run->engine, now);
    if (run->n_steps % run->window_steps != 0)
        return;
    run->end = read_progress(run, now);
    double window_s = run->end.time_s - run->marks[MARK_LAST].time_s;
    run->n_same = repeats(run, window_s) ? run->n_same + 1 : 0;
    run->window_s = window_s;
    run->n_windows++;
    if (is_steady(run) || run->n_steps == run->max_steps)
        return;
    set_mark(run, MARK_LAST, &run->end);
    if ((run->n_windows & (run->n_windows - 1)) == 0) {
        move_mark(run, MARK_HALF, MARK_QUARTER);
        set_mark(run, MARK_HALF, &run->end);
    }
}

static struct consumer *consumer_of(struct run *run, int32_t stream) {
    int32_t i = stream - 2 * run->pipeline->workers;
    return i < 0 ? NULL : &run->consumers[i / 2];
}

static void observe(void *context, int32_t stream, int64_t label, tsim_tick ready, tsim_tick begin, tsim_tick end) {
    struct run *run = context;
    struct consumer *consumer = consumer_of(run, stream);
    double busy_s = tsim_engine_seconds(run->engine, end - begin);
    (void)ready;
    if (label == TASK_READ) {
        run->read_s += busy_s;
    } else if (label == TASK_TRANSFORM) {
        run->transform_s += busy_s;
    } else if (label == TASK_GAP) {
        consumer->asked_at = end;
    } else if (label == TASK_TAKE) {
        consumer->waits_s[(consumer->asked - 1) % run->pipeline->n_batches] +=
            tsim_engine_seconds(run->engine, end - consumer->asked_at);
    } else if (label == TASK_JOIN && consumer->index == 0) {
        end_step(run, end);
    }
}

static void describe(void *context, int32_t stream, int64_t label, char *text, size_t size) {
    static const char *const KINDS[] = {"read",      "transform",     "copy",      "room on the device", "free buffer",
                                        "computing", "batch arrives", "computing", "end of the step"};
    const struct run *run = context;
    if (stream >= 0)
        snprintf(text, size, "input of a node, %s %d: %s", stream < 2 * run->pipeline->workers ? "worker" : "consumer",
                 (stream < 2 * run->pipeline->workers ? stream : stream - 2 * run->pipeline->workers) / 2,
                 KINDS[label]);
}

/* ---- building ---- */

static void add_workers(struct tsim_arena *arena, struct run *run) {
    const struct tsim_input_pipeline *pipeline = run->pipeline;
    run->workers = TSIM_NEW_ARRAY(arena, (size_t)pipeline->workers, struct worker);
    for (int32_t i = 0; i < pipeline->workers; i++) {
        struct worker *worker = &run->workers[i];
        *worker = (struct worker){.run = run, .index = i, .space = tsim_engine_add_counters(run->engine, 2)};
        worker->read = worker->space + 1;
        tsim_engine_excuse(run->engine, tsim_engine_add_stream(run->engine, next_read, worker));
        tsim_engine_excuse(run->engine, tsim_engine_add_stream(run->engine, next_transform, worker));
    }
}

static void add_consumers(struct tsim_arena *arena, struct run *run) {
    const struct tsim_input_pipeline *pipeline = run->pipeline;
    run->consumers = TSIM_NEW_ARRAY(arena, (size_t)pipeline->n_consumers, struct consumer);
    for (int32_t i = 0; i < pipeline->n_consumers; i++) {
        struct consumer *consumer = &run->consumers[i];
        *consumer =
            (struct consumer){.run = run,
                              .index = i,
                              .link = tsim_engine_add_resource(run->engine, fmax(pipeline->link_bytes_per_s, 1)),
                              .arrived = tsim_engine_add_counters(run->engine, 2),
                              .gaps_s = pipeline->gaps_s + (size_t)i * (size_t)(pipeline->n_batches + 1),
                              .copy_next = TASK_ROOM,
                              .pass_next = TASK_GAP,
                              .from_worker = TSIM_NEW_ARRAY(arena, (size_t)pipeline->workers, int64_t),
                              .waits_s = TSIM_NEW_ARRAY(arena, (size_t)pipeline->n_batches, double)};
        consumer->taken = consumer->arrived + 1;
        for (int m = 0; m < N_MARKS; m++)
            consumer->marked_s[m] = TSIM_NEW_ARRAY(arena, (size_t)pipeline->n_batches, double);
        tsim_engine_excuse(run->engine, tsim_engine_add_stream(run->engine, next_copy, consumer));
        tsim_engine_add_stream(run->engine, next_pass, consumer);
    }
}

static int64_t greatest_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Chooses a window of as many steps as it takes until the batches are dealt to the workers as in the first, and until
 * all that can be under way has gone through: a store of batches that lasts for a while must not pass for a supply. */
static void choose_window(struct run *run) {
    const struct tsim_input_pipeline *pipeline = run->pipeline;
    int64_t batches = (int64_t)pipeline->n_batches * pipeline->n_consumers, workers = pipeline->workers;
    int64_t round = workers / greatest_divisor(workers, batches);
    int64_t stored = workers * ((int64_t)pipeline->prefetch + 1), rounds = stored / (round * batches) + 1;
    int64_t most = batches < MAX_WINDOW_BATCHES ? MAX_WINDOW_BATCHES / batches : 1;
    run->window_steps = rounds * round < most ? rounds * round : most;
    int64_t windows = MAX_BATCHES / (batches * run->window_steps);
    windows = windows < SAME_WINDOWS ? SAME_WINDOWS : windows > MAX_WINDOWS ? MAX_WINDOWS : windows;
    run->max_steps = windows * run->window_steps;
}

/* Returns the length of a tick: a picosecond, or longer if the clock would run out. */
static double tick_s(const struct tsim_input_pipeline *pipeline) {
    double step_s = 0;
    for (int32_t i = 0; i <= pipeline->n_batches; i++)
        step_s += pipeline->gaps_s[i];
    double batch_s = pipeline->read_alone_s + pipeline->read_bytes / pipeline->storage_bytes_per_s + pipeline->cpu_s;
    return fmax(1e-12, 1e-14 * (step_s + pipeline->n_batches * pipeline->n_consumers * batch_s));
}

/* ---- the result ---- */

static double sum(const double *values, int32_t n) {
    double total = 0;
    for (int32_t i = 0; i < n; i++)
        total += values[i];
    return total;
}

static enum tsim_input_bound bound_of(const struct tsim_input_pipeline_flow *flow) {
    const double busy[] = {flow->storage_frac, flow->reading_frac, flow->transform_frac, flow->link_frac};
    enum tsim_input_bound bound = TSIM_INPUT_BOUND_STORAGE;
    if (!(flow->wait_s > 1e-9 * flow->step_s))
        return TSIM_INPUT_BOUND_NONE;
    if (flow->storage_frac >= BUSY_FRAC) /* then workers are busy reading, too */
        return TSIM_INPUT_BOUND_STORAGE;
    for (int i = 1; i < 4; i++)
        if (busy[i] > busy[bound - TSIM_INPUT_BOUND_STORAGE])
            bound = (enum tsim_input_bound)(TSIM_INPUT_BOUND_STORAGE + i);
    return busy[bound - TSIM_INPUT_BOUND_STORAGE] >= BUSY_FRAC ? bound : TSIM_INPUT_BOUND_AHEAD;
}

/* Returns the time that a consumer has waited since the mark. */
static double waited_s(const struct run *run, const struct consumer *consumer, enum mark mark) {
    return sum(consumer->waits_s, run->pipeline->n_batches) - sum(consumer->marked_s[mark], run->pipeline->n_batches);
}

static double *mean_waits(struct tsim_arena *arena, const struct run *run, enum mark mark) {
    int32_t n = run->pipeline->n_batches;
    const struct consumer *slowest = &run->consumers[0];
    double *waits_s = TSIM_NEW_ARRAY(arena, (size_t)n, double);
    for (int32_t i = 1; i < run->pipeline->n_consumers; i++)
        if (waited_s(run, &run->consumers[i], mark) > waited_s(run, slowest, mark))
            slowest = &run->consumers[i];
    for (int32_t i = 0; i < n; i++)
        waits_s[i] =
            (slowest->waits_s[i] - slowest->marked_s[mark][i]) / (double)(run->end.steps - run->marks[mark].steps);
    return waits_s;
}

static void fill_flow(struct tsim_arena *arena, const struct run *run, struct tsim_input_pipeline_flow *flow) {
    const struct tsim_input_pipeline *pipeline = run->pipeline;
    enum mark mark = is_steady(run) ? MARK_LAST : MARK_QUARTER;
    const struct progress *start = &run->marks[mark], *end = &run->end;
    double steps = (double)(end->steps - start->steps), time_s = end->time_s - start->time_s;
    *flow = (struct tsim_input_pipeline_flow){.step_s = time_s / steps,
                                              .first_step_s = run->first_step_s,
                                              .waits_s = mean_waits(arena, run, mark),
                                              .storage_bytes_per_s = pipeline->storage_bytes_per_s};
    flow->wait_s = sum(flow->waits_s, pipeline->n_batches);
    flow->storage_frac = (end->storage_bytes - start->storage_bytes) / (time_s * pipeline->storage_bytes_per_s);
    flow->reading_frac = (end->read_s - start->read_s) / (time_s * pipeline->workers);
    flow->transform_frac = (end->transform_s - start->transform_s) / (time_s * pipeline->workers);
    if (pipeline->link_bytes_per_s > 0)
        flow->link_frac =
            (end->link_bytes - start->link_bytes) / (time_s * pipeline->link_bytes_per_s * pipeline->n_consumers);
    flow->bound = bound_of(flow);
    flow->n_steps = (int32_t)run->n_steps;
    flow->events = tsim_engine_n_events(run->engine);
}

enum tsim_status tsim_input_pipeline_simulate(struct tsim_arena *arena, const struct tsim_input_pipeline *pipeline,
                                              struct tsim_input_pipeline_flow *flow, struct tsim_diags *diags) {
    struct run run = {.pipeline = pipeline};
    struct tsim_engine_options options = {
        .tick_s = tick_s(pipeline), .observer = observe, .describe = describe, .context = &run};
    run.engine = tsim_engine_create(&options);
    run.storage = tsim_engine_add_resource(run.engine, pipeline->storage_bytes_per_s);
    run.cores = tsim_engine_add_resource(run.engine, pipeline->cores > 0 ? pipeline->cores : pipeline->workers);
    run.ready = tsim_engine_add_counters(run.engine, pipeline->workers * pipeline->n_consumers);
    choose_window(&run);
    add_workers(arena, &run);
    add_consumers(arena, &run);
    enum tsim_status status = tsim_engine_run(run.engine, diags);
    if (status == TSIM_OK)
        fill_flow(arena, &run, flow);
    tsim_engine_release(run.engine);
    return status;
}
