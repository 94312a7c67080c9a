/* Kernels of a made-up profile beside the operators that they were made from: each takes so many times what is
 * predicted, and every pair says so. */
#include "run/run.h"
#include "study/judge/kernel_pairs.h"
#include "support/check_main.h"
#include "support/example.h"

#include <string.h>

static struct tsim_arena arena;
static struct example e;

/* A profiler sees this of a step, under names that tell of it no more than a library's do. */
struct profiler {
    struct tsim_profile_builder *builder;
    const struct tsim_step_sink *sequence;
    bool fuses; /* the first product with its neighbour */
    double from_s;
};

static void setup(void) {
    tsim_arena_init(&arena);
    example_init(&e);
    e.scenario.training.global_batch_size = 16;
    e.scenario.simulation.detail = TSIM_DETAIL_OPERATORS;
    example_finish(&e);
}

static void teardown(void) {
    tsim_arena_release(&arena);
}

static void begin(void *context, const struct tsim_step_outline *outline) {
    const struct profiler *p = context;
    p->sequence->begin(p->sequence->context, outline);
}

/* Returns the prediction times the number of letters of the operator's name. */
static double slowness(const char *name) {
    return (double)strlen(name);
}

static void take(void *context, const struct tsim_step_task *task) {
    struct profiler *p = context;
    static const char *const KERNELS[TSIM_N_KERNEL_CLASSES] = {
        [TSIM_KERNEL_PRODUCT] = "gemm", [TSIM_KERNEL_ATTENTION] = "flash_fwd", [TSIM_KERNEL_ELEMENT] = "element"};
    if (!task->op)
        return;
    enum tsim_kernel_class class = tsim_operator_class(task->op->name, true, task->flops);
    if (!(p->fuses && class == TSIM_KERNEL_PRODUCT)) {
        double time_s = slowness(task->op->name) * (task->end_s - task->begin_s);
        tsim_profile_add_kernel(p->builder, &(struct tsim_profile_event){.name = KERNELS[class],
                                                                         .stream = -1,
                                                                         .correlation = -1,
                                                                         .start_s = p->from_s,
                                                                         .end_s = p->from_s + time_s});
        p->from_s += time_s;
    }
    p->fuses = p->fuses && class != TSIM_KERNEL_PRODUCT;
    p->sequence->take(p->sequence->context, task);
}

static bool wants(void *context, int32_t stage_group) {
    (void)context;
    return stage_group == 0;
}

static void profile_of_a_step(bool fuses, struct tsim_profile *profile, struct tsim_kernel_pairs *pairs) {
    struct tsim_operator_sequence *sequence = tsim_operator_sequence_new(&arena);
    struct profiler p = {.builder = tsim_profile_begin(&arena, "test"),
                         .sequence = tsim_operator_sequence_sink(sequence),
                         .fuses = fuses};
    const struct tsim_step_sink sink = {begin, take, &p, .wants_operators = wants};
    const struct tsim_run_options options = {.ignore_memory = true, .sink = &sink};
    struct tsim_result result;
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    ck_assert_int_eq(tsim_train_run(&arena, &e.scenario, &options, &result, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_profile_end(p.builder, profile, &diags), TSIM_OK);
    tsim_diags_release(&diags);
    tsim_kernel_pairs_find(&arena, profile, sequence, 0, pairs);
}

TSIM_TEST(each_kernel_is_its_operator) {
    struct tsim_profile profile;
    struct tsim_kernel_pairs pairs;
    double count = 0;
    profile_of_a_step(false, &profile, &pairs);
    ck_assert_uint_gt(pairs.n, 20);
    for (size_t i = 0; i < pairs.n; i++) {
        const struct tsim_kernel_pair *pair = &pairs.items[i];
        double letters = (double)(strrchr(pair->op, '(') - pair->op - 1);
        ck_assert_double_eq_tol(pair->measured_s / pair->predicted_s, letters, 1e-9);
        ck_assert_int_eq(tsim_kernel_class_of(pair->kernel), pair->class);
        count += pair->count;
    }
    ck_assert_double_eq_tol(count, (double)profile.n_events, 1e-9);
}

/* One product fewer: products have no pairs, the others do. */
TSIM_TEST(another_number_is_not_paired) {
    struct tsim_profile profile;
    struct tsim_kernel_pairs pairs;
    profile_of_a_step(true, &profile, &pairs);
    ck_assert(!pairs.has_class[TSIM_KERNEL_PRODUCT]);
    ck_assert(pairs.has_class[TSIM_KERNEL_ELEMENT]);
    for (size_t i = 0; i < pairs.n; i++)
        ck_assert_int_ne(pairs.items[i].class, TSIM_KERNEL_PRODUCT);
}

TSIM_MAIN(CHECKS_LIMIT_S, setup, teardown)
