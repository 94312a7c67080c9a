/* Steps that leave out what repeats, over random plans with many micro-batches: every figure is that of the step that
 * goes through everything, bit by bit; bytes on links, which are sums of fractions, nearly so. Who listens is told the
 * same tasks, also of the operators of one micro-batch alone. (A step to which somebody listens who needs events leaves
 * nothing out.) Prints its seed; TSIM_CASES says how many plans there are (10), and half as many of many chunks. */
#include "step/program.h"
#include "support/check_main.h"
#include "support/random_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 20261122u

/* A task with what its pointers lead to, and its place among those of its stream. */
struct heard_task {
    struct tsim_step_task task;
    struct tsim_pass_item item;
    struct tsim_step_operator op;
    int32_t index;
};

struct heard {
    struct heard_task *tasks;
    size_t n, capacity;
    int64_t n_messages;
};

static struct heard some, all_tasks, of_one;
static int32_t wanted; /* micro-batch */

static void hear_begin(void *context, const struct tsim_step_outline *outline) {
    struct heard *heard = context;
    heard->n_messages = outline->n_messages;
}

static void hear_task(void *context, const struct tsim_step_task *task) {
    struct heard *heard = context;
    if (task->op && task->op->is_meeting) /* which those alone are told of who need events */
        return;
    heard->tasks = tsim_heap_grow(heard->tasks, &heard->capacity, heard->n + 1, sizeof *heard->tasks);
    struct heard_task *h = &heard->tasks[heard->n];
    memset(h, 0, sizeof *h);
    h->task = *task;
    h->task.events = NULL;
    h->task.item = NULL;
    h->task.parts = NULL;
    h->task.op = NULL;
    h->index = (int32_t)heard->n++;
    if (task->item)
        h->item = *task->item;
    if (task->op)
        h->op = *task->op;
}

static bool wants_item(void *context, const struct tsim_pass_item *item) {
    (void)context;
    return item->microbatch == wanted && item->chunk == 0;
}

static bool wants_first(void *context, int32_t stage_group) {
    (void)context;
    return stage_group == 0;
}

static int by_stream(const void *a, const void *b) {
    const struct heard_task *x = a, *y = b;
    if (x->task.stage_group != y->task.stage_group)
        return x->task.stage_group < y->task.stage_group ? -1 : 1;
    if (x->task.stream != y->task.stream)
        return x->task.stream < y->task.stream ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Returns what differs; NULL if nothing does. */
static const char *difference(const struct heard_task *a, const struct heard_task *b, int64_t n_messages) {
    const struct tsim_step_task *s = &a->task, *t = &b->task;
    if (s->stage_group != t->stage_group || s->stream != t->stream || s->kind != t->kind || s->segment != t->segment ||
        s->is_last_segment != t->is_last_segment)
        return "task";
    if (s->to_stage_group != t->to_stage_group || s->message != t->message || s->message >= n_messages)
        return "message";
    if (s->begin_s != t->begin_s || s->end_s != t->end_s)
        return "time";
    if (s->flops != t->flops || s->matrix_busy_s != t->matrix_busy_s || s->nic_bytes != t->nic_bytes ||
        s->memory_busy_s != t->memory_busy_s || s->scale_up_bytes != t->scale_up_bytes ||
        memcmp(&s->model_parts, &t->model_parts, sizeof s->model_parts) != 0 || s->n_parts != t->n_parts)
        return "amount";
    if (a->op.part != b->op.part || a->op.layer != b->op.layer || a->op.bound != b->op.bound ||
        (a->op.name && strcmp(a->op.name, b->op.name) != 0))
        return "operator";
    bool is_same_item = a->item.microbatch == b->item.microbatch && a->item.chunk == b->item.chunk &&
                        a->item.kind == b->item.kind && a->item.pair == b->item.pair;
    return is_same_item ? NULL : "item";
}

static void expect_same_tasks(struct heard *a, struct heard *b, const char *plan) {
    ck_assert_msg(a->n == b->n, "%s: %zu tasks told, not %zu", plan, a->n, b->n);
    qsort(a->tasks, a->n, sizeof *a->tasks, by_stream);
    qsort(b->tasks, b->n, sizeof *b->tasks, by_stream);
    for (size_t i = 0; i < a->n; i++) {
        const struct tsim_step_task *task = &a->tasks[i].task;
        const char *what = difference(&a->tasks[i], &b->tasks[i], a->n_messages);
        if (what) /* each ck_assert writes to a file */
            ck_abort_msg("%s: stage group %d, stream %d, %.15g s: another %s", plan, task->stage_group,
                         (int)task->stream, task->begin_s, what);
    }
}

static struct tsim_step_simulation simulate(struct tsim_arena *arena, const struct tsim_scenario *sc, bool is_whole,
                                            struct heard *heard) {
    const struct tsim_step_sink sink = {hear_begin,
                                        hear_task,
                                        heard,
                                        .needs_events = is_whole,
                                        .wants_operators = wants_first,
                                        .wants_item = heard == &of_one ? wants_item : NULL};
    struct tsim_step_simulation simulation;
    heard->n = 0;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    const struct tsim_cluster *cluster = tsim_cluster_build(arena, sc);
    const struct tsim_placement *placement = tsim_placement_build(arena, sc);
    struct tsim_pass_costs costs;
    tsim_pass_costs_build(arena, sc, cluster, placement, &costs);
    enum tsim_status status =
        tsim_step_simulate_observed(arena, sc, cluster, placement, &costs, &sink, &simulation, &diags);
    tsim_diags_print(&diags, stderr);
    ck_assert_int_eq(status, TSIM_OK);
    tsim_diags_release(&diags);
    return simulation;
}

static void compare_stage_groups(const struct tsim_stage_group_account *a, const struct tsim_stage_group_account *b,
                                 const char *plan) {
    const double of_a[] = {a->terms.compute_s,
                           a->terms.recompute_s,
                           a->terms.bubble_s,
                           a->terms.exposed_tensor_s,
                           a->terms.exposed_data_s,
                           a->terms.exposed_pipeline_s,
                           a->terms.exposed_context_s,
                           a->terms.exposed_expert_s,
                           a->terms.optimizer_s,
                           a->matrix_busy_s,
                           a->memory_busy_s,
                           a->scale_up_bytes,
                           a->nic_bytes,
                           a->pass_nic_bytes,
                           a->exposed_gather_s,
                           a->exposed_reduce_s,
                           a->exposed_norm_s,
                           a->interference_s,
                           a->data_busy_s,
                           a->send_busy_s};
    const double of_b[] = {b->terms.compute_s,
                           b->terms.recompute_s,
                           b->terms.bubble_s,
                           b->terms.exposed_tensor_s,
                           b->terms.exposed_data_s,
                           b->terms.exposed_pipeline_s,
                           b->terms.exposed_context_s,
                           b->terms.exposed_expert_s,
                           b->terms.optimizer_s,
                           b->matrix_busy_s,
                           b->memory_busy_s,
                           b->scale_up_bytes,
                           b->nic_bytes,
                           b->pass_nic_bytes,
                           b->exposed_gather_s,
                           b->exposed_reduce_s,
                           b->exposed_norm_s,
                           b->interference_s,
                           b->data_busy_s,
                           b->send_busy_s};
    for (size_t i = 0; i < sizeof of_a / sizeof of_a[0]; i++)
        ck_assert_msg(of_a[i] == of_b[i], "%s: figure %zu is %.17g, and %.17g with everything", plan, i, of_a[i],
                      of_b[i]);
}

static void expect_close(double bytes, double whole_bytes, const char *plan) {
    ck_assert_msg(fabs(bytes - whole_bytes) <= 1 + 1e-12 * whole_bytes, "%s: %.17g bytes, %.17g with everything", plan,
                  bytes, whole_bytes);
}

static void compare(const struct tsim_step_simulation *a, const struct tsim_step_simulation *b, const char *plan) {
    ck_assert_msg(a->time_s == b->time_s, "%s: %.15g s, %.15g s with everything", plan, a->time_s, b->time_s);
    ck_assert_msg(a->events == b->events, "%s: %lld events, %lld with everything", plan, (long long)a->events,
                  (long long)b->events);
    ck_assert_int_eq(b->repeated_events, 0);
    ck_assert_int_eq(a->n_stage_groups, b->n_stage_groups);
    for (int32_t g = 0; g < a->n_stage_groups; g++)
        compare_stage_groups(&a->stage_groups[g], &b->stage_groups[g], plan);
    expect_close(a->nic_out_bytes, b->nic_out_bytes, plan);
    expect_close(a->nic_in_bytes, b->nic_in_bytes, plan);
    ck_assert_int_eq(a->n_link_utilizations, b->n_link_utilizations);
    for (int32_t i = 0; i < a->n_link_utilizations; i++)
        expect_close(a->link_utilizations[i].highest_bytes, b->link_utilizations[i].highest_bytes, plan);
}

/* Makes a random plan with up to 24 times its micro-batches and up to 16 stages, folded or not. */
static void random_long_plan(struct random_source *random, struct example *e) {
    random_plan(random, e);
    struct tsim_parallelism_spec *p = &e->scenario.parallelism;
    int64_t deeper = p->pipeline > 1 ? 1 << random_between(random, 0, 2) : 1;
    e->model.layers *= deeper;
    p->pipeline *= deeper;
    e->scenario.cluster.nodes *= deeper;
    e->scenario.training.global_batch_size *= deeper * (1 + random_between(random, 0, 23));
    e->scenario.simulation.fold = deeper > 1 || random_between(random, 0, 1);
    if (random_between(random, 0, 1))
        e->accelerator.kernel_latency_s = 0;
    example_finish(e);
}

/* Makes a random interleaved plan with 3 to 12 chunks a stage. */
static void random_deep_plan(struct random_source *random, struct example *e) {
    struct tsim_parallelism_spec *p = &e->scenario.parallelism;
    do
        random_plan(random, e);
    while (p->pipeline == 1);
    int64_t chunks = 3 + random_between(random, 0, 9), deeper = 1 << random_between(random, 0, 1);
    int64_t data =
        e->scenario.cluster.nodes * e->scenario.cluster.accelerators_per_node / (p->tensor * p->pipeline * p->context);
    p->pipeline *= deeper;
    p->virtual_pipeline = chunks;
    p->schedule = TSIM_SCHEDULE_INTERLEAVED;
    e->model.layers = p->pipeline * chunks * (1 + random_between(random, 0, 1));
    e->model.encoder_layers = 0;
    e->scenario.cluster.nodes *= deeper;
    e->scenario.training.global_batch_size =
        p->pipeline * (1 + random_between(random, 0, 11)) * e->scenario.training.micro_batch_size * data;
    e->scenario.simulation.fold = deeper > 1 || random_between(random, 0, 1);
    example_finish(e);
}

/* Drops operators of micro-batches that are not wanted. */
static void keep_wanted(struct heard *heard) {
    size_t n = 0;
    for (size_t i = 0; i < heard->n; i++)
        if (!heard->tasks[i].op.name || wants_item(NULL, &heard->tasks[i].item))
            heard->tasks[n++] = heard->tasks[i];
    heard->n = n;
}

/* The operators of one micro-batch are told as if all were, and the step takes as long. */
static void check_one_of(struct tsim_arena *arena, const struct tsim_scenario *sc, double time_s, const char *plan) {
    wanted = (int32_t)sc->n_microbatches / 2;
    struct tsim_step_simulation simulation = simulate(arena, sc, false, &of_one);
    keep_wanted(&all_tasks);
    ck_assert_msg(simulation.time_s == time_s, "%s: %.15g s, told of one micro-batch %.15g s", plan, time_s,
                  simulation.time_s);
    expect_same_tasks(&of_one, &all_tasks, plan);
}

static void describe_plan(int i, const struct tsim_scenario *sc, char *text, size_t size) {
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    snprintf(text, size, "case %d: tensor %d pipeline %d x %d context %d data %d zero %d %s %d micro-batches%s", i,
             (int)p->tensor, (int)p->pipeline, (int)p->virtual_pipeline, (int)p->context, (int)p->data, p->zero,
             tsim_schedule_name(p->schedule), (int)sc->n_microbatches, sc->simulation.fold ? "" : " unfolded");
}

static void expect_the_same(void (*random_of)(struct random_source *, struct example *), long n_cases) {
    struct random_source random = random_start(SEED);
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    int n_shortened = 0;
    double repeated = 0, all = 0;
    for (int i = 0; i < n_cases; i++) {
        struct example e;
        char plan[200];
        random_of(&random, &e);
        e.scenario.simulation.detail = i % 3 == 0 ? TSIM_DETAIL_OPERATORS : TSIM_DETAIL_PASSES;
        describe_plan(i, &e.scenario, plan, sizeof plan);
        struct tsim_step_simulation shortened = simulate(&arena, &e.scenario, false, &some);
        struct tsim_step_simulation whole = simulate(&arena, &e.scenario, true, &all_tasks);
        compare(&shortened, &whole, plan);
        expect_same_tasks(&some, &all_tasks, plan);
        check_one_of(&arena, &e.scenario, whole.time_s, plan);
        n_shortened += shortened.repeated_events > 0;
        repeated += (double)shortened.repeated_events;
        all += (double)whole.events;
        tsim_arena_reset(&arena);
    }
    printf("%d of %ld steps shortened, %.0f %% of their events repeated\n", n_shortened, n_cases, 100 * repeated / all);
    ck_assert_int_ge(n_shortened, n_cases * 3 / 4);
    tsim_arena_release(&arena);
}

TSIM_TEST(random_plans) {
    expect_the_same(random_long_plan, random_cases(10));
}

TSIM_TEST(random_plans_of_many_chunks) {
    expect_the_same(random_deep_plan, random_cases(10) / 2);
}

/* 16 stages on two nodes, messages between which take their time. */
static int64_t simulated_events(struct tsim_arena *arena, int64_t chunks, int64_t microbatches) {
    struct example e;
    example_init(&e);
    e.model.layers = 64;
    e.scenario.cluster.nodes = 2;
    e.fabric.latency_s = 2e-6;
    e.scenario.parallelism.pipeline = 16;
    e.scenario.parallelism.virtual_pipeline = chunks;
    e.scenario.parallelism.schedule = chunks > 1 ? TSIM_SCHEDULE_INTERLEAVED : TSIM_SCHEDULE_1F1B;
    e.scenario.training.global_batch_size = microbatches;
    example_finish(&e);
    struct tsim_step_simulation simulation = simulate(arena, &e.scenario, false, &some);
    struct tsim_step_simulation whole = simulate(arena, &e.scenario, true, &all_tasks);
    compare(&simulation, &whole, "16 stages");
    expect_same_tasks(&some, &all_tasks, "16 stages");
    return simulation.events - simulation.repeated_events;
}

TSIM_TEST(a_thousand_microbatches) {
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    for (int64_t chunks = 1; chunks <= 4; chunks *= getenv("TSIM_CASES") ? 2 : 4) {
        int64_t few = simulated_events(&arena, chunks, 64), many = simulated_events(&arena, chunks, 1024);
        printf("16 stages of %d chunks: %lld events with 64 micro-batches, %lld with 1024\n", (int)chunks,
               (long long)few, (long long)many);
        ck_assert_int_le(many, few + few / 2);
    }
    tsim_arena_release(&arena);
}

TSIM_MAIN(NO_LIMIT_S, NULL, NULL)
