#include "step/pass/pass_alone.h"

#include "step/pass/communicator.h"
#include "step/program.h"

#include <math.h>
#include <string.h>

/* A tick is that of a step, or longer if the part takes days. */
#define MOST_TICKS 1e15

struct alone;

/* The compute stream (axis TSIM_N_AXES), or a communicator's. */
struct alone_stream {
    struct alone *alone;
    enum tsim_axis axis;
    int32_t number, next;              /* of the engine, -1: none; the entry to look at */
    const struct tsim_played *playing; /* the last; NULL: waiting for the host */
};

struct alone {
    const struct tsim_pass_program *program;
    double slowdown; /* of kernels */
    struct tsim_engine *engine;
    int32_t units, memory, scale_up, nic; /* resources, or -1; what is sent is received, so one direction is enough */
    struct alone_stream compute, beside[TSIM_AXIS_PIPELINE];
    struct tsim_communicator communicators[TSIM_AXIS_PIPELINE];
    struct tsim_host_stream host;
    tsim_tick last_end; /* of the compute stream's task before */
    tsim_tick waited_for_host, exposed[TSIM_AXIS_PIPELINE];
    double *exposed_s; /* by row; NULL: nobody asks */
};

/* Returns the entry of the axis' n-th collective beside kernels, from 0. */
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

/* Makes the task for an entry that has not been launched when the compute stream comes to it. */
static bool launch_task(struct alone *a, const struct tsim_played *played, struct tsim_task *task) {
    tsim_tick now = tsim_engine_now(a->engine), begin = tsim_host_launch(a->engine, &a->host, played, now);
    task->latency = begin - now;
    return a->host.is_launched = begin > now;
}

static bool next_task(void *context, int32_t number, struct tsim_task *task) {
    struct alone_stream *stream = context;
    struct alone *a = stream->alone;
    (void)number;
    stream->next = tsim_pass_program_next(a->program, stream->next, stream->axis);
    if (stream->next == a->program->n)
        return false;
    const struct tsim_played *played = &a->program->at[stream->next];
    stream->playing = NULL;
    if (stream->axis == TSIM_N_AXES && launch_task(a, played, task))
        return true;
    stream->playing = played;
    stream->next++;
    if (played->kind == TSIM_PLAYED_START || played->kind == TSIM_PLAYED_WAIT) {
        tsim_communicator_meet(&a->communicators[played->axis], played, task);
        return true;
    }
    tsim_played_task(a->engine, played, played->kind == TSIM_PLAYED_KERNEL ? a->slowdown : 1, task);
    demand_all(a, played, task);
    if (played->kind == TSIM_PLAYED_BESIDE)
        tsim_communicator_order(&a->communicators[played->axis], played, task);
    return true;
}

static void expose(struct alone *a, const struct tsim_played *collective, tsim_tick ticks) {
    a->exposed[collective->axis] += ticks;
    if (a->exposed_s)
        a->exposed_s[collective->row] += tsim_engine_seconds(a->engine, ticks);
}

/* Adds to what a collective exposes the time by which it slows the kernel beside it. */
static void expose_beside(struct alone *a, tsim_tick begin, tsim_tick ticks) {
    enum tsim_axis axis = ticks > 0 ? tsim_communicators_beside(a->communicators, begin) : TSIM_N_AXES;
    if (axis == TSIM_N_AXES)
        return;
    const struct tsim_communicator *c = &a->communicators[axis];
    expose(a, nth_beside(a->program, axis, c->n_ended - (tsim_communicator_is_under_way(c) ? 0 : 1)), ticks);
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
    if (!played) {
        a->waited_for_host += waited;
        return;
    }
    switch (played->kind) {
    case TSIM_PLAYED_KERNEL:
        expose_beside(a, begin, end - begin - tsim_engine_ticks(a->engine, played->flow_s * a->slowdown));
        return;
    case TSIM_PLAYED_COLLECTIVE:
        expose(a, played, end - begin);
        return;
    case TSIM_PLAYED_START:
        tsim_communicator_started(&a->communicators[played->axis], played);
        return;
    case TSIM_PLAYED_WAIT:
        expose(a, nth_beside(a->program, played->axis, a->communicators[played->axis].n_awaited - 1), waited);
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

static void play(struct alone *a, double tick_s, const struct tsim_cluster *cluster) {
    const struct tsim_engine_options options = {
        .tick_s = tick_s, .end_of_time = TSIM_STEP_END, .observer = observe, .context = a};
    a->engine = tsim_engine_create(&options);
    a->units = tsim_engine_add_resource(a->engine, 1);
    a->memory = tsim_engine_add_resource(a->engine, 1);
    a->scale_up = cluster && cluster->scale_up_bytes_per_s > 0
                      ? tsim_engine_add_resource(a->engine, cluster->scale_up_bytes_per_s)
                      : -1;
    a->nic =
        cluster && cluster->nic_bytes_per_s > 0 ? tsim_engine_add_resource(a->engine, cluster->nic_bytes_per_s) : -1;
    add_stream(a, &a->compute, TSIM_N_AXES);
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++) {
        a->beside[axis].number = -1;
        if (a->program->n_beside[axis] == 0)
            continue;
        a->communicators[axis] = tsim_communicator_add(a->engine);
        add_stream(a, &a->beside[axis], (enum tsim_axis)axis);
    }
    if (tsim_engine_run(a->engine, TSIM_UNHEARD) != TSIM_OK)
        TSIM_BUG("a pass by itself did not end");
    tsim_engine_release(a->engine);
}

/* Returns the time of all entries one after another, which is the longest possible. */
static double longest_s(const struct tsim_pass_program *program, double slowdown) {
    double sum_s = 0;
    for (int32_t i = 0; i < program->n; i++) {
        const struct tsim_played *played = &program->at[i];
        sum_s += played->latency_s + played->flow_s * (played->kind == TSIM_PLAYED_KERNEL ? slowdown : 1);
        sum_s += played->host_s + played->later_host_s;
    }
    return sum_s;
}

void tsim_pass_program_play(const struct tsim_pass_program *program, const struct tsim_cluster *cluster,
                            struct tsim_pass_launches launches, double *exposed_s) {
    double tick_s = fmax(TSIM_STEP_TICK_S, longest_s(program, 1) / MOST_TICKS);
    struct tsim_host_stream host = {.is_there = launches.each_s > 0, .ahead = llround(launches.most_ahead_s / tick_s)};
    tsim_tick lead = 0;
    for (int n_played = 1;; n_played++) {
        struct alone a = {.program = program, .slowdown = 1, .exposed_s = exposed_s, .host = host};
        for (int32_t i = 0; i < program->n; i++)
            exposed_s[program->at[i].row] = 0;
        play(&a, tick_s, cluster);
        tsim_tick last = lead;
        lead = tsim_host_lead(&a.host, a.last_end);
        if (!host.is_there || (n_played > 1 && lead <= last))
            return;
        host = a.host;
        host.is_there = n_played == 1;
        host.free_at = -lead;
    }
}

/* ---- remembered ---- */

enum { MOST_REMEMBERED = 64 };

/* All that decides how the part goes. */
struct beginning {
    double slowdown;
    tsim_tick lead;
    bool meets, is_launched;
};

struct remembered {
    struct beginning from;
    struct tsim_part_alone part;
    struct tsim_host_stream host; /* after it, counted from its beginning */
};

struct tsim_part_memo {
    struct tsim_arena *arena;
    struct remembered *at;
    int32_t n, capacity, last; /* last: the place found last, at which the next search begins */
};

static bool is_same(const struct beginning *a, const struct beginning *b) {
    return a->slowdown >= b->slowdown && a->slowdown <= b->slowdown && a->lead == b->lead && a->meets == b->meets &&
           a->is_launched == b->is_launched;
}

static const struct remembered *find(struct tsim_part_memo *memo, const struct beginning *from) {
    if (memo->n > 0 && is_same(&memo->at[memo->last].from, from))
        return &memo->at[memo->last];
    for (memo->last = 0; memo->last < memo->n; memo->last++)
        if (is_same(&memo->at[memo->last].from, from))
            return &memo->at[memo->last];
    memo->last = 0;
    return NULL;
}

static void add_sent(const struct tsim_pass_program *program, struct tsim_part_alone *part) {
    for (int32_t i = 0; i < program->n; i++) {
        const struct tsim_played *played = &program->at[i];
        if (played->kind != TSIM_PLAYED_COLLECTIVE && played->kind != TSIM_PLAYED_BESIDE)
            continue;
        part->scale_up_bytes[played->axis] += played->scale_up_bytes_per_s * played->flow_s;
        part->nic_bytes[played->axis] += played->nic_bytes_per_s * played->flow_s;
    }
}

static void remember(const struct tsim_pass_program *program, const struct beginning *from,
                     const struct tsim_host_stream *host, struct remembered *r) {
    struct alone a = {.program = program, .slowdown = from->slowdown, .host = *host};
    a.host.free_at = -from->lead;
    play(&a, TSIM_STEP_TICK_S, NULL);
    *r = (struct remembered){.from = *from, .part = {.ticks = a.last_end, .host = a.waited_for_host}, .host = a.host};
    for (int axis = 0; axis < TSIM_AXIS_PIPELINE; axis++)
        r->part.exposed[axis] = a.exposed[axis];
    add_sent(program, &r->part);
}

struct tsim_part_memo *tsim_part_memo_new(struct tsim_arena *arena) {
    struct tsim_part_memo *memo = TSIM_NEW(arena, struct tsim_part_memo);
    memo->arena = arena;
    return memo;
}

const struct tsim_part_alone *tsim_part_alone_find(const struct tsim_pass_program *program, double slowdown,
                                                   tsim_tick now, struct tsim_host_stream *host) {
    struct tsim_part_memo *memo = program->memo;
    if (!memo)
        return NULL;
    struct beginning from = {.slowdown = slowdown, .meets = host->meets, .is_launched = host->is_launched};
    if (host->is_there) {
        tsim_tick lead = tsim_host_lead(host, now);
        from.lead = host->meets && lead > 0 ? 0 : lead;
    }
    const struct remembered *found = find(memo, &from);
    if (!found) {
        if (memo->n == MOST_REMEMBERED || longest_s(program, slowdown) > MOST_TICKS * TSIM_STEP_TICK_S)
            return NULL;
        memo->at = tsim_arena_grow(memo->arena, memo->at, (size_t)memo->n, &memo->capacity, sizeof *memo->at);
        memo->last = memo->n++;
        remember(program, &from, host, &memo->at[memo->last]);
        found = &memo->at[memo->last];
    }
    *host = found->host;
    host->free_at += now;
    host->begin += now;
    return &found->part;
}
