/* Advice names the change that gains most, as something to --set. */
#include "study/advice.h"
#include "support/check_main.h"
#include "support/example.h"
#include "training/run.h"

#include <string.h>

static struct example e;
static struct tsim_arena arena;

static struct tsim_result advise(void) {
    struct tsim_result result;
    struct tsim_diags diags;
    const struct tsim_run_options options = {.ignore_memory = false};
    tsim_arena_release(&arena);
    tsim_diags_init(&diags);
    example_finish(&e);
    ck_assert_int_eq(tsim_train_run(&arena, &e.scenario, &options, &result, &diags), TSIM_OK);
    tsim_advise(&arena, &e.scenario, &result);
    tsim_diags_release(&diags);
    return result;
}

static bool advises(const struct tsim_result *result, const char *setting) {
    for (int32_t i = 0; i < result->n_advice; i++)
        if (strncmp(result->advice[i], setting, strlen(setting)) == 0)
            return true;
    return false;
}

/* 16 experts on 16 ranks of two nodes: half of the rows cross the slow NICs. On 8 ranks they stay on a node. With
 * tensor 2 the rows are gathered and scattered, unless tensor ranks hold whole experts. */
START_TEST(experts) {
    example_init(&e);
    e.model.experts = (struct tsim_experts){.count = 16, .active = 2, .ffn_hidden = 2048, .every = 1};
    e.scenario.cluster.nodes = 2;
    e.scenario.parallelism.expert = 16;
    e.scenario.training.global_batch_size = 1024; /* so that gradients, which fewer ranks would reduce, are a trifle */
    struct tsim_result result = advise();
    ck_assert(advises(&result, "parallelism.expert=8:"));
    ck_assert(advises(&result, "parallelism.overlap.expert=true:"));
    e.scenario.parallelism.expert = 8;
    e.scenario.parallelism.tensor = 2;
    e.scenario.parallelism.sequence = true;
    result = advise();
    ck_assert(advises(&result, "parallelism.expert_tensor=1:"));
    e.scenario.parallelism.expert_tensor = 1;
    e.scenario.parallelism.overlap.expert = true;
    result = advise();
    ck_assert(!advises(&result, "parallelism.expert_tensor"));
    ck_assert(!advises(&result, "parallelism.overlap.expert"));
}
END_TEST

/* Without experts none of it; standard attention is what the example could do without. */
START_TEST(dense) {
    example_init(&e);
    struct tsim_result result = advise();
    ck_assert(!advises(&result, "parallelism.expert"));
    ck_assert(!advises(&result, "parallelism.overlap.expert"));
    ck_assert(advises(&result, "training.attention=flash:"));
}
END_TEST

static Suite *advice_suite(void) {
    Suite *suite = suite_create("advice");
    TCase *tcase = tcase_create("candidates");
    tcase_add_test(tcase, experts);
    tcase_add_test(tcase, dense);
    suite_add_tcase(suite, tcase);
    return suite;
}

TSIM_TEST_MAIN(advice_suite)
