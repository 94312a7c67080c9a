/* engine_script.h - streams whose tasks are written down beforehand, run on the engine with every task's times kept.
 *
 *   script_begin(&script, 1e-12);
 *   int32_t link = tsim_engine_add_resource(script.engine, 1e9);
 *   struct script_step *step = script_flow(&script, script_stream(&script), 1e9, 0, link);
 *   script_run(&script);
 *   script_expect(step, 0, 1000000000000);
 *   script_end(&script); */
#pragma once

#include "base/status.h"
#include "engine/engine.h"

#include <check.h>

enum { SCRIPT_MAX_STREAMS = 1024, SCRIPT_MAX_STEPS = 4096 };

struct script_step {
    struct tsim_task task; /* to be written until the run; its label belongs to the script */
    const char *text;      /* what the engine is told when it asks what the task is; may be NULL */
    int32_t next;          /* of the stream, in script.steps; -1 = the last */
    bool has_ended;
    tsim_tick ready, begin, end;
};

struct script {
    struct tsim_engine *engine;
    struct tsim_diags diags;
    const char *signal_text, *counter_text; /* as step.text, for the signals and counters, all of them */
    int32_t n_streams, n_steps;
    int32_t last[SCRIPT_MAX_STREAMS], current[SCRIPT_MAX_STREAMS]; /* steps; -1 = none (any more) */
    struct script_step steps[SCRIPT_MAX_STEPS];
};

/* A script is large: keep it static. begin may be called again after end. */
void script_begin(struct script *script, double tick_s);
void script_end(struct script *script);

int32_t script_stream(struct script *script);

/* Appends a task to the stream: one of latency and work alone, with a demand of 1 on a resource, or a party of a
 * join. */
struct script_step *script_step(struct script *script, int32_t stream, double work, tsim_tick latency);
struct script_step *script_flow(struct script *script, int32_t stream, double work, tsim_tick latency,
                                int32_t resource);
struct script_step *script_party(struct script *script, int32_t stream, int64_t join, int32_t n_parties);
void script_demand(struct script_step *step, int32_t resource, double per_unit);

/* These assert that the run succeeds, and that the task has begun and ended at these ticks. */

static inline void script_run(struct script *script) {
    enum tsim_status status = tsim_engine_run(script->engine, &script->diags);
    tsim_diags_print(&script->diags, stderr);
    ck_assert_int_eq(status, TSIM_OK);
}

static inline void script_expect(const struct script_step *step, tsim_tick begin, tsim_tick end) {
    ck_assert(step->has_ended);
    ck_assert_int_eq(step->begin, begin);
    ck_assert_int_eq(step->end, end);
}
