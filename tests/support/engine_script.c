#include "support/engine_script.h"

#include <stdlib.h>

/* The benches are linked with this folder, and not with Check. */
static void insist(bool condition) {
    if (!condition)
        abort();
}

static void observe(void *context, int32_t stream, int64_t label, tsim_tick ready, tsim_tick begin, tsim_tick end) {
    struct script_step *step = &((struct script *)context)->steps[label];
    (void)stream;
    insist(!step->has_ended);
    step->has_ended = true;
    step->ready = ready;
    step->begin = begin;
    step->end = end;
}

/* Signals are described as tasks of stream -1, counters of stream -2. */
static void describe(void *context, int32_t stream, int64_t label, char *text, size_t size) {
    const struct script *script = context;
    const char *known = stream >= 0    ? script->steps[label].text
                        : stream == -1 ? script->signal_text
                                       : script->counter_text;
    if (known)
        snprintf(text, size, "%s", known);
}

void script_begin(struct script *script, double tick_s) {
    struct tsim_engine_options options = {
        .tick_s = tick_s, .observer = observe, .describe = describe, .context = script};
    script->engine = tsim_engine_create(&options);
    script->n_streams = script->n_steps = 0;
    script->signal_text = script->counter_text = NULL;
    tsim_diags_init(&script->diags);
}

void script_end(struct script *script) {
    tsim_engine_release(script->engine);
    tsim_diags_release(&script->diags);
    script->engine = NULL;
}

static bool play(void *context, int32_t stream, struct tsim_task *task) {
    struct script *script = context;
    int32_t current = script->current[stream];
    if (current < 0)
        return false;
    *task = script->steps[current].task;
    script->current[stream] = script->steps[current].next;
    return true;
}

int32_t script_stream(struct script *script) {
    insist(script->n_streams < SCRIPT_MAX_STREAMS);
    int32_t stream = tsim_engine_add_stream(script->engine, play, script);
    insist(stream == script->n_streams);
    script->last[stream] = script->current[stream] = -1;
    return script->n_streams++;
}

struct script_step *script_step(struct script *script, int32_t stream, double work, tsim_tick latency) {
    insist(script->n_steps < SCRIPT_MAX_STEPS);
    int32_t number = script->n_steps++;
    struct script_step *step = &script->steps[number];
    *step = (struct script_step){.task = {.label = number,
                                          .work = work,
                                          .latency = latency,
                                          .join = -1,
                                          .awaited_counter = -1,
                                          .raised_counter = -1},
                                 .next = -1};
    if (script->last[stream] < 0)
        script->current[stream] = number;
    else
        script->steps[script->last[stream]].next = number;
    script->last[stream] = number;
    return step;
}

void script_demand(struct script_step *step, int32_t resource, double per_unit) {
    insist(step->task.n_demands < TSIM_TASK_MAX_DEMANDS);
    step->task.demands[step->task.n_demands++] = (struct tsim_demand){resource, per_unit};
}

struct script_step *script_flow(struct script *script, int32_t stream, double work, tsim_tick latency,
                                int32_t resource) {
    struct script_step *step = script_step(script, stream, work, latency);
    script_demand(step, resource, 1);
    return step;
}

struct script_step *script_party(struct script *script, int32_t stream, int64_t join, int32_t n_parties) {
    struct script_step *step = script_step(script, stream, 0, 0);
    step->task.join = join;
    step->task.n_parties = n_parties;
    return step;
}
