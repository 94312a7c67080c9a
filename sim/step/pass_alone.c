/* A part of a pass alone: its program on an engine with one device and its links. */
#include "step/communicator.h"

#include <math.h>

/* A tick is as in a step, or longer where the part takes days. */
#define TICK_S 1e-12
#define END_OF_TIME INT64_C(1000000000000000000)
#define MOST_TICKS 1e15

struct alone;

/* The compute stream (axis TSIM_N_AXES), or a communicator's. */
struct alone_stream {
    struct alone *alone;
    enum tsim_axis axis;
    int32_t number, next;              /* of the engine, -1: none; the entry to look at */
    const struct tsim_played *playing; /* the last */
};

struct alone {
    const struct tsim_pass_program *program;
    struct tsim_engine *engine;
    int32_t units, memory, scale_up, nic; /* resources, or -1; what is sent is received, so one direction is enough */
    struct alone_stream compute, beside[TSIM_AXIS_PIPELINE];
    struct tsim_communicator communicators[TSIM_AXIS_PIPELINE];
    tsim_tick last_end; /* of the compute stream's task before */
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

static bool next_task(void *context, int32_t number, struct tsim_task *task) {
    struct alone_stream *stream = context;
    struct alone *a = stream->alone;
    (void)number;
    stream->next = tsim_pass_program_next(a->program, stream->next, stream->axis);
    if (stream->next == a->program->n)
        return false;
    const struct tsim_played *played = stream->playing = &a->program->at[stream->next++];
    if (played->kind == TSIM_PLAYED_START || played->kind == TSIM_PLAYED_WAIT) {
        tsim_communicator_meet(&a->communicators[played->axis], played, task);
        return true;
    }
    tsim_played_task(a->engine, played, 1, task);
    demand_all(a, played, task);
    if (played->kind == TSIM_PLAYED_BESIDE)
        tsim_communicator_order(&a->communicators[played->axis], played, task);
    return true;
}

/* A collective exposes what it slows the kernel beside it by. */
static void expose_beside(struct alone *a, tsim_tick begin, tsim_tick ticks) {
    enum tsim_axis axis = ticks > 0 ? tsim_communicators_beside(a->communicators, begin) : TSIM_N_AXES;
    if (axis == TSIM_N_AXES)
        return;
    const struct tsim_communicator *c = &a->communicators[axis];
    const struct tsim_played *beside =
        nth_beside(a->program, axis, c->n_ended - (tsim_communicator_is_under_way(c) ? 0 : 1));
    a->exposed_s[beside->row] += tsim_engine_seconds(a->engine, ticks);
}

static void observe(void *context, int32_t stream, int64_t label, tsim_tick ready, tsim_tick begin, tsim_tick end) {
    struct alone *a = context;
    (void)label;
    (void)ready;
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++)
        if (a->beside[axis].number == stream) {
            tsim_communicator_ended(&a->communicators[axis], end);
            return;
        }
    const struct tsim_played *played = a->compute.playing;
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
        tsim_communicator_started(&a->communicators[played->axis], played);
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

static void add_stream(struct alone *a, struct alone_stream *stream, enum tsim_axis axis) {
    *stream = (struct alone_stream){.alone = a, .axis = axis};
    stream->number = tsim_engine_add_stream(a->engine, next_task, stream);
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
    add_stream(&a, &a.compute, TSIM_N_AXES);
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++) {
        a.beside[axis].number = -1;
        if (program->n_beside[axis] == 0)
            continue;
        a.communicators[axis] = tsim_communicator_add(a.engine);
        add_stream(&a, &a.beside[axis], (enum tsim_axis)axis);
    }
    tsim_diags_init(&diags);
    enum tsim_status status = tsim_engine_run(a.engine, &diags);
    if (status != TSIM_OK)
        TSIM_BUG("a pass by itself did not end");
    tsim_diags_release(&diags);
    tsim_engine_release(a.engine);
}
