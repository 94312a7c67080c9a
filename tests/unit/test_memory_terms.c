/* memory.c records what it computes, in every way to keep less on the accelerator. */
#include "partition/memory.h"
#include "support/check_main.h"
#include "support/example.h"
#include "support/term_rules.h"

static struct example e;
static struct tsim_arena arena;

static void setup(void) {
    tsim_arena_init(&arena);
    example_init(&e);
    e.scenario.parallelism.pipeline = 2;
}

static void teardown(void) {
    tsim_arena_release(&arena);
}

static void expect_kinds(void) {
    example_finish(&e);
    for (int32_t stage = 0; stage < e.scenario.parallelism.pipeline; stage++) {
        struct tsim_term_recorder recorder;
        struct tsim_stage_memory memory;
        struct tsim_stage_terms terms;
        tsim_term_recorder_init(&recorder, &arena);
        tsim_stage_memory(&e.scenario, stage, &memory);
        tsim_stage_memory_recorded(&recorder, &e.scenario, stage, &terms);
        const struct {
            struct tsim_amount amount;
            double bytes;
        } KINDS[] = {{terms.weights, memory.weights_bytes},         {terms.gradients, memory.gradients_bytes},
                     {terms.master, memory.master_bytes},           {terms.optimizer, memory.optimizer_bytes},
                     {terms.activations, memory.activations_bytes}, {terms.buffers, memory.buffers_bytes}};
        for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
            ck_assert_double_eq(KINDS[i].amount.value, KINDS[i].bytes);
            ck_assert_double_eq(KINDS[i].amount.term->value, KINDS[i].bytes);
            expect_term_rules(KINDS[i].amount.term);
        }
        ck_assert_double_eq(terms.host.value, memory.host_bytes);
        if (terms.host.term)
            expect_term_rules(terms.host.term);
    }
}

TSIM_TEST(every_zero) {
    for (e.scenario.parallelism.zero = 0; e.scenario.parallelism.zero <= 3; e.scenario.parallelism.zero++)
        expect_kinds();
}

TSIM_TEST(every_schedule) {
    for (int schedule = 0; schedule <= TSIM_SCHEDULE_DUALPIPE; schedule++) {
        e.scenario.parallelism.schedule = (enum tsim_schedule)schedule;
        e.scenario.parallelism.virtual_pipeline = schedule == TSIM_SCHEDULE_INTERLEAVED ? 2 : 1;
        expect_kinds();
    }
}

TSIM_TEST(every_recomputation) {
    for (int recompute = 0; recompute <= TSIM_RECOMPUTE_FULL; recompute++) {
        e.scenario.training.recompute = (enum tsim_recompute)recompute;
        expect_kinds();
    }
}

/* Activations, the optimizer, both; then a loop over the layers' updates, and weights that are streamed. */
TSIM_TEST(what_lies_elsewhere) {
    for (int i = 0; i < 4; i++) {
        e.scenario.training.offload.activations_frac = i & 1 ? 0.25 : 0;
        e.scenario.training.offload.optimizer = i & 2;
        expect_kinds();
    }
    e.scenario.training.offload.optimizer = false;
    e.scenario.training.updates_by_layer = true;
    expect_kinds();
    e.accelerator.execution = TSIM_EXECUTION_WEIGHT_STREAMING;
    expect_kinds();
}

TSIM_MAIN(CHECKS_LIMIT_S, setup, teardown)
