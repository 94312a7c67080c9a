/* A part of a pass alone: its program on an engine with one device and its links. */
#include "step/pass_program.h"

#include <math.h>

/* A tick is as in a step, or longer where the part takes days. */
#define TICK_S 1e-12
#define END_OF_TIME INT64_C(1000000000000000000)
#define MOST_TICKS 1e15

struct alone;

/* A communicator's stream; `at` is where it, and what the compute stream knows of it, stand in the program. */
struct communicator {
    struct alone *alone;
    enum tsim_axis axis;
    int32_t started, ended; /* counters */
    int32_t next;           /* entry to look at */
    int64_t n_begun, n_awaited, n_released, n_over;
    tsim_tick last_end;
};

struct alone {
    const struct tsim_pass_program *program;
    struct tsim_engine *engine;
    int32_t units, memory, next, streams[TSIM_N_AXES];
    int32_t scale_up, nic;             /* resources, or -1; what is sent is received, so one direction is enough */
    const struct tsim_played *playing; /* by the compute stream */
    tsim_tick last_end;                /* of the compute stream's task before */
    struct communicator communicators[TSIM_N_AXES];
    double *exposed_s;
};

/* The entry of the axis' n-th collective beside kernels, from 0. */
static const struct tsim_played *nth_beside(const struct tsim_pass_program *program, enum tsim_axis axis, int64_t n) {
    for (int32_t i = 0; i < program->n; i++)
        if (program->at[i].kind == TSIM_PLAYED_BESIDE && program->at[i].axis == axis && n-- == 0)
            return &program->at[i];
    return NULL;
}

static void demand(struct tsim_task *task, int32_t resource, double per_unit) {
    if (resource >= 0 && per_unit > 0)
        task->demands[task->n_demands++] = (struct tsim_demand){resource, per_unit};
}

static void demand_all(const struct alone *a, const struct tsim_played *played, struct tsim_task *task) {
    demand(task, a->units, played->units_frac);
    demand(task, a->memory, played->memory_frac);
    demand(task, a->scale_up, played->scale_up_bytes_per_s);
    demand(task, a->nic, played->nic_bytes_per_s);
}

static bool next_of_compute(void *context, int32_t stream, struct tsim_task *task) {
    struct alone *a = context;
    (void)stream;
    while (a->next < a->program->n && a->program->at[a->next].kind == TSIM_PLAYED_BESIDE)
        a->next++;
    if (a->next == a->program->n)
        return false;
    const struct tsim_played *played = a->playing = &a->program->at[a->next++];
    struct communicator *c = &a->communicators[played->axis < TSIM_N_AXES ? (int)played->axis : 0];
    if (played->kind == TSIM_PLAYED_START) {
        task->raised_counter = c->started;
    } else if (played->kind == TSIM_PLAYED_WAIT) {
        c->n_awaited += played->count;
        task->awaited_counter = c->ended;
        task->awaited_value = c->n_awaited;
    } else {
        tsim_played_task(a->engine, played, 1, task);
        demand_all(a, played, task);
    }
    return true;
}

static bool next_beside(void *context, int32_t stream, struct tsim_task *task) {
    struct communicator *c = context;
    const struct tsim_pass_program *program = c->alone->program;
    (void)stream;
    while (c->next < program->n &&
           !(program->at[c->next].kind == TSIM_PLAYED_BESIDE && program->at[c->next].axis == c->axis))
        c->next++;
    if (c->next == program->n)
        return false;
    const struct tsim_played *played = &program->at[c->next++];
    tsim_played_task(c->alone->engine, played, 1, task);
    demand_all(c->alone, played, task);
    if (played->needs_start) {
        task->awaited_counter = c->started;
        task->awaited_value = ++c->n_begun;
    }
    task->raised_counter = c->ended;
    return true;
}

/* A collective exposes what it slows the kernel beside it by. */
static void expose_beside(struct alone *a, tsim_tick begin, tsim_tick ticks) {
    for (int axis = 0; axis < TSIM_N_AXES && ticks > 0; axis++) {
        const struct communicator *c = &a->communicators[axis];
        bool is_under_way = c->n_released > c->n_over;
        if (!is_under_way && !(c->last_end > begin))
            continue;
        const struct tsim_played *beside =
            nth_beside(a->program, (enum tsim_axis)axis, is_under_way ? c->n_over : c->n_over - 1);
        a->exposed_s[beside->row] += tsim_engine_seconds(a->engine, ticks);
        return;
    }
}

static void observe(void *context, int32_t stream, int64_t label, tsim_tick ready, tsim_tick begin, tsim_tick end) {
    struct alone *a = context;
    (void)label;
    (void)ready;
    for (int axis = 0; axis < TSIM_N_AXES; axis++)
        if (a->streams[axis] == stream) {
            a->communicators[axis].n_over++;
            a->communicators[axis].last_end = end;
            return;
        }
    const struct tsim_played *played = a->playing;
    tsim_tick waited = end - a->last_end;
    a->last_end = end;
    switch (played->kind) {
    case TSIM_PLAYED_KERNEL:
        expose_beside(a, begin, end - begin - tsim_engine_ticks(a->engine, played->flow_s));
        return;
    case TSIM_PLAYED_COLLECTIVE:
        a->exposed_s[played->row] += tsim_engine_seconds(a->engine, end - begin);
        return;
    case TSIM_PLAYED_START:
        a->communicators[played->axis].n_released += played->count;
        return;
    case TSIM_PLAYED_WAIT:
        a->exposed_s[nth_beside(a->program, played->axis, a->communicators[played->axis].n_awaited - 1)->row] +=
            tsim_engine_seconds(a->engine, waited);
        return;
    case TSIM_PLAYED_BESIDE:
        break;
    }
    TSIM_BUG("an operator of kind %d on the compute stream", (int)played->kind);
}

void tsim_pass_program_play(const struct tsim_pass_program *program, const struct tsim_cluster *cluster,
                            double *exposed_s) {
    struct alone a = {.program = program, .exposed_s = exposed_s};
    double longest_s = 0;
    for (int32_t i = 0; i < program->n; i++)
        longest_s += program->at[i].latency_s + program->at[i].flow_s;
    const struct tsim_engine_options options = {
        .tick_s = fmax(TICK_S, longest_s / MOST_TICKS), .end_of_time = END_OF_TIME, .observer = observe, .context = &a};
    struct tsim_diags diags;
    a.engine = tsim_engine_create(&options);
    a.units = tsim_engine_add_resource(a.engine, 1);
    a.memory = tsim_engine_add_resource(a.engine, 1);
    a.scale_up = cluster && cluster->scale_up_bytes_per_s > 0
                     ? tsim_engine_add_resource(a.engine, cluster->scale_up_bytes_per_s)
                     : -1;
    a.nic = cluster && cluster->nic_bytes_per_s > 0 ? tsim_engine_add_resource(a.engine, cluster->nic_bytes_per_s) : -1;
    tsim_engine_add_stream(a.engine, next_of_compute, &a);
    for (int axis = 0; axis < TSIM_N_AXES; axis++) {
        a.streams[axis] = -1;
        if (program->n_beside[axis] == 0)
            continue;
        int32_t counters = tsim_engine_add_counters(a.engine, 2);
        a.communicators[axis] = (struct communicator){
            .alone = &a, .axis = (enum tsim_axis)axis, .started = counters, .ended = counters + 1};
        a.streams[axis] = tsim_engine_add_stream(a.engine, next_beside, &a.communicators[axis]);
    }
    tsim_diags_init(&diags);
    enum tsim_status status = tsim_engine_run(a.engine, &diags);
    if (status != TSIM_OK)
        TSIM_BUG("a pass by itself did not end");
    tsim_diags_release(&diags);
    tsim_engine_release(a.engine);
}
