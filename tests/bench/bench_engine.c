/* Speed of the engine alone: one line per figure, "name: N ns per event, M million events/s". An event is one start,
 * one end or one solve (tsim_engine_n_events); a hold is one pop and one put of the event queue. */
#include "engine/engine.h"
#include "engine/event_queue.h"
#include "support/clock.h"
#include "support/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_PENDING = 4096, N_DELAYS = 1 << 16 };

static tsim_tick delays[N_DELAYS]; /* exponential, mean a million ticks: the hold model of Jones 1986 */

static void make_delays(void) {
    struct random_source random = {1};
    for (int i = 0; i < N_DELAYS; i++)
        delays[i] = 1 + (tsim_tick)(-log(1 - random_real(&random)) * 1e6);
}

static void print_figure(const char *name, int64_t n_events, double elapsed_s) {
    printf("%-34s %7.1f ns per event, %6.2f million events/s\n", name, elapsed_s / (double)n_events * 1e9,
           (double)n_events / elapsed_s / 1e6);
}

static void bench_queue(void) {
    const int64_t n_holds = 10 * 1000 * 1000;
    struct tsim_event_queue queue;
    tsim_event_queue_init(&queue);
    for (int32_t item = 0; item < N_PENDING; item++)
        tsim_event_queue_put(&queue, item, delays[item], TSIM_PHASE_END);
    double begin_s = processor_s();
    for (int64_t i = 0; i < n_holds; i++) {
        struct tsim_event event;
        tsim_event_queue_pop(&queue, &event);
        tsim_event_queue_put(&queue, event.item, event.tick + delays[i % N_DELAYS], TSIM_PHASE_END);
    }
    print_figure("event queue, hold, 4096 pending", n_holds, processor_s() - begin_s);
    tsim_event_queue_release(&queue);
}

/* A system of equal streams; what task number k of a stream is, is said by one of the programs below. */
struct system {
    struct tsim_engine *engine;
    int32_t n_streams, first_signal, first_counter;
    int64_t n_tasks; /* per stream */
    int64_t *n_done; /* per stream */
};

static void set_up(struct system *system, int32_t n_streams, int64_t n_tasks, tsim_program_fn program) {
    struct tsim_engine_options options = {.tick_s = 1e-12};
    system->engine = tsim_engine_create(&options);
    system->n_streams = n_streams;
    system->n_tasks = n_tasks;
    system->n_done = calloc((size_t)n_streams, sizeof *system->n_done);
    if (!system->n_done)
        exit(EXIT_FAILURE);
    for (int i = 0; i < 2 * n_streams; i++)
        tsim_engine_add_resource(system->engine, 1e12);
    for (int i = 0; i < n_streams; i++)
        tsim_engine_add_stream(system->engine, program, system);
    system->first_counter = tsim_engine_add_counters(system->engine, n_streams);
}

static void run_and_print(const char *name, struct system *system) {
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    double begin_s = processor_s();
    enum tsim_status status = tsim_engine_run(system->engine, &diags);
    double elapsed_s = processor_s() - begin_s;
    tsim_diags_print(&diags, stderr);
    tsim_diags_release(&diags);
    if (status != TSIM_OK)
        exit(EXIT_FAILURE);
    print_figure(name, tsim_engine_n_events(system->engine), elapsed_s);
    tsim_engine_release(system->engine);
    free(system->n_done);
}

/* Makes a task in which nothing but time passes. */
static bool next_hold(void *context, int32_t stream, struct tsim_task *task) {
    struct system *system = context;
    int64_t k = system->n_done[stream]++;
    task->latency = delays[(k * 4099 + stream) % N_DELAYS];
    return k < system->n_tasks;
}

static void use(struct tsim_task *task, int32_t resource, double work) {
    task->work = work;
    task->n_demands = 1;
    task->demands[0] = (struct tsim_demand){resource, 1};
}

/* Makes stream 0 compute on resource 0; its task k lets task k of stream 1, on resource 1, begin. */
static bool next_in_chain(void *context, int32_t stream, struct tsim_task *task) {
    struct system *system = context;
    int32_t k = (int32_t)system->n_done[stream]++;
    use(task, stream, 1e6);
    task->n_lowers = stream == 0;
    task->lowers[0] = system->first_signal + k;
    task->n_waits = stream == 1;
    task->waits[0] = system->first_signal + k;
    return k < system->n_tasks;
}

static void bench_chain(void) {
    struct system system;
    set_up(&system, 2, 1000 * 1000, next_in_chain);
    system.first_signal = tsim_engine_add_signals(system.engine, (int32_t)system.n_tasks + 1, 1);
    run_and_print("two streams, lone tasks, signals", &system);
}

/* Puts both streams on resource 0, never in step, so that every start and every end changes the other's rate. */
static bool next_sharing(void *context, int32_t stream, struct tsim_task *task) {
    struct system *system = context;
    int64_t k = system->n_done[stream]++;
    use(task, 0, 1e6 + (double)delays[(k * 2 + stream) % N_DELAYS]);
    return k < system->n_tasks;
}

/* Makes the steps of a ring: rank i sends its message k over its own link out and its neighbour's link in, when message
 * k - 1 of rank i - 1 has come. */
static bool next_in_ring(void *context, int32_t stream, struct tsim_task *task) {
    struct system *system = context;
    int64_t k = system->n_done[stream]++;
    int32_t next = stream + 1 < system->n_streams ? stream + 1 : 0;
    use(task, stream, 1e6);
    task->demands[1] = (struct tsim_demand){system->n_streams + next, 1};
    task->n_demands = 2;
    task->latency = 1000;
    task->awaited_counter = system->first_counter + stream;
    task->awaited_value = k;
    task->raised_counter = system->first_counter + next;
    return k < system->n_tasks;
}

/* Makes every stream send to one receiver, so that every end re-rates all the others. */
static bool next_incast(void *context, int32_t stream, struct tsim_task *task) {
    struct system *system = context;
    int64_t k = system->n_done[stream]++;
    use(task, 0, 1e6 + stream);
    task->demands[1] = (struct tsim_demand){stream, 1};
    task->n_demands = stream == 0 ? 1 : 2;
    return k < system->n_tasks;
}

static void bench(const char *name, int32_t n_streams, int64_t n_tasks, tsim_program_fn program) {
    struct system system;
    set_up(&system, n_streams, n_tasks, program);
    run_and_print(name, &system);
}

int main(void) {
    make_delays();
    bench_queue();
    bench("engine, hold, 4096 pending", N_PENDING, 1000, next_hold);
    bench_chain();
    bench("two flows on one link", 2, 1000 * 1000, next_sharing);
    bench("ring of 512, separate messages", 512, 2 * 511, next_in_ring);
    bench("ring of 4096, first 500 steps", 4096, 500, next_in_ring);
    bench("incast of 1024", 1024, 1, next_incast);
    return 0;
}
