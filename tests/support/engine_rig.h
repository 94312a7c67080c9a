/* An engine whose streams play short scripts, for tests that work times out by hand. A tick is 1 ps unless a test says
 * otherwise; S is a second in ticks. */
#pragma once

#include "engine/engine.h"
#include "support/check_main.h"

#include <stdio.h>
#include <string.h>

#define S INT64_C(1000000000000)

enum { MAX_STREAMS = 8, MAX_TASKS = 8 };

/* A program that plays its tasks one after another. */
struct script {
    struct tsim_task tasks[MAX_TASKS];
    int32_t n_tasks, n_played;
};

struct record {
    int32_t stream;
    int64_t label;
    tsim_tick ready, begin, end;
};

static struct tsim_engine *engine;
static struct tsim_diags diags;
static struct script scripts[MAX_STREAMS];
static struct record records[MAX_STREAMS * MAX_TASKS];
static int32_t n_streams, n_records;

static inline void observe(void *context, int32_t stream, int64_t label, tsim_tick ready, tsim_tick begin,
                           tsim_tick end) {
    (void)context;
    if (n_records < MAX_STREAMS * MAX_TASKS) /* one test has more, and does not look */
        records[n_records++] = (struct record){stream, label, ready, begin, end};
}

static inline void describe(void *context, int32_t stream, int64_t label, char *text, size_t size) {
    (void)context;
    if (stream >= 0)
        snprintf(text, size, "rank %d operation %d", stream, (int)label);
    else
        snprintf(text, size, "%s %d", stream == -1 ? "gradient" : "arrivals", (int)label);
}

static inline void create(double tick_s) {
    tsim_engine_release(engine);
    struct tsim_engine_options options = {.tick_s = tick_s, .observer = observe, .describe = describe};
    engine = tsim_engine_create(&options);
}

static inline void set_up(void) {
    create(1e-12);
    tsim_diags_init(&diags);
    memset(scripts, 0, sizeof scripts);
    n_streams = n_records = 0;
}

static inline void tear_down(void) {
    tsim_engine_release(engine);
    engine = NULL;
    tsim_diags_release(&diags);
}

static inline bool play(void *context, int32_t stream, struct tsim_task *task) {
    struct script *script = context;
    (void)stream;
    if (script->n_played == script->n_tasks)
        return false;
    *task = script->tasks[script->n_played++];
    return true;
}

static inline int32_t add_stream(void) {
    int32_t stream = tsim_engine_add_stream(engine, play, &scripts[n_streams]);
    ck_assert_int_eq(stream, n_streams);
    return n_streams++;
}

/* Appends a task to the stream's script; label = its number there. */
static inline struct tsim_task *add_task(int32_t stream, double work, tsim_tick latency) {
    struct script *script = &scripts[stream];
    struct tsim_task *task = &script->tasks[script->n_tasks];
    *task = (struct tsim_task){.label = script->n_tasks++,
                               .work = work,
                               .latency = latency,
                               .join = -1,
                               .awaited_counter = -1,
                               .raised_counter = -1};
    return task;
}

static inline struct tsim_task *add_flow(int32_t stream, double work, tsim_tick latency, int32_t resource) {
    struct tsim_task *task = add_task(stream, work, latency);
    task->demands[task->n_demands++] = (struct tsim_demand){resource, 1};
    return task;
}

static inline struct tsim_task *add_party(int32_t stream, int64_t join, int32_t n_parties, tsim_tick latency) {
    struct tsim_task *task = add_task(stream, 0, latency);
    task->join = join;
    task->n_parties = n_parties;
    return task;
}

static inline void wait_for(struct tsim_task *task, int32_t signal) {
    task->waits[task->n_waits++] = signal;
}

static inline void lower(struct tsim_task *task, int32_t signal) {
    task->lowers[task->n_lowers++] = signal;
}

static inline void run(void) {
    enum tsim_status status = tsim_engine_run(engine, &diags);
    tsim_diags_print(&diags, stderr);
    ck_assert_int_eq(status, TSIM_OK);
}

static inline const struct record *find_record(int32_t stream, int64_t label) {
    for (int32_t i = 0; i < n_records; i++)
        if (records[i].stream == stream && records[i].label == label)
            return &records[i];
    ck_abort_msg("task %d of stream %d has not ended", (int)label, stream);
    return NULL;
}

static inline void expect(int32_t stream, int64_t label, tsim_tick ready, tsim_tick begin, tsim_tick end) {
    const struct record *record = find_record(stream, label);
    ck_assert_int_eq(record->ready, ready);
    ck_assert_int_eq(record->begin, begin);
    ck_assert_int_eq(record->end, end);
}

static inline void expect_flowed(int32_t resource, double units) {
    double got = tsim_engine_resource_flowed(engine, resource);
    ck_assert_msg(got >= units && got <= units, "%.17g units have flowed, not %.17g", got, units);
}

static int32_t recycled_signal;

/* Stream 0 lowers the same signal once a round; stream 1 waits for it and then arms it for the next round. */
static inline bool consume(void *context, int32_t stream, struct tsim_task *task) {
    int32_t *n_rounds = context;
    (void)stream;
    if (*n_rounds > 0)
        tsim_engine_rearm(engine, recycled_signal, 1);
    task->label = *n_rounds;
    wait_for(task, recycled_signal);
    return (*n_rounds)++ < 3;
}

static inline struct tsim_task *await(struct tsim_task *task, int32_t counter, int64_t value) {
    task->awaited_counter = counter;
    task->awaited_value = value;
    return task;
}
