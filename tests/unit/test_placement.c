#include "cluster/placement.h"
#include "support/check_main.h"
#include "support/example.h"

static struct example e;
static struct tsim_arena arena;

static const struct tsim_placement *placement(int64_t nodes, int64_t tensor, int64_t context, int64_t pipeline) {
    example_init(&e);
    e.scenario.cluster.nodes = nodes;
    e.scenario.parallelism.tensor = tensor;
    e.scenario.parallelism.context = context;
    e.scenario.parallelism.pipeline = pipeline;
    example_finish(&e);
    return tsim_placement_build(&arena, &e.scenario);
}

#define ASSERT_GROUP(group_, ranks, nodes, most, least)                                                                \
    do {                                                                                                               \
        struct tsim_group g_ = group_;                                                                                 \
        ck_assert_int_eq(g_.n_ranks, ranks);                                                                           \
        ck_assert_int_eq(g_.n_nodes, nodes);                                                                           \
        ck_assert_int_eq(g_.max_ranks_per_node, most);                                                                 \
        ck_assert_int_eq(g_.min_ranks_per_node, least);                                                                \
    } while (0)
#define AXIS(name) (1u << TSIM_AXIS_##name)

/* 4 nodes of 8, tensor 4, pipeline 2, data 4; order tensor, context, expert, data, pipeline: a node holds two tensor
 * groups (data 0 and 1), so a data group has 2 ranks on each of 2 nodes; pipeline neighbours are 2 nodes apart. */
START_TEST(default_order) {
    const struct tsim_placement *p = placement(4, 4, 1, 2);
    ASSERT_GROUP(tsim_placement_group(p, AXIS(TENSOR)), 4, 1, 4, 4);
    ASSERT_GROUP(tsim_placement_group(p, AXIS(DATA)), 4, 2, 2, 2);
    ASSERT_GROUP(tsim_placement_group(p, AXIS(PIPELINE)), 2, 2, 1, 1);
    ASSERT_GROUP(tsim_placement_group(p, AXIS(DATA) | AXIS(TENSOR)), 16, 2, 8, 8);
    struct tsim_coordinates at = {.at = {[TSIM_AXIS_TENSOR] = 3, [TSIM_AXIS_DATA] = 2, [TSIM_AXIS_PIPELINE] = 1}};
    ck_assert_int_eq(tsim_placement_rank(p, &at), 3 + 2 * 4 + 16);
    ck_assert(tsim_placement_same_node(p, 0, 7));
    ck_assert(!tsim_placement_same_node(p, 7, 8));
}
END_TEST

/* Pipeline innermost: the 2 stages of a tensor rank are neighbours, tensor groups still fit a node. */
START_TEST(order_decides) {
    example_init(&e);
    e.scenario.cluster.nodes = 4;
    e.scenario.parallelism.tensor = 4;
    e.scenario.parallelism.pipeline = 2;
    const enum tsim_axis order[] = {TSIM_AXIS_PIPELINE, TSIM_AXIS_TENSOR, TSIM_AXIS_CONTEXT, TSIM_AXIS_EXPERT,
                                    TSIM_AXIS_DATA};
    for (int i = 0; i < TSIM_N_AXES; i++)
        e.scenario.parallelism.order[i] = order[i];
    example_finish(&e);
    const struct tsim_placement *p = tsim_placement_build(&arena, &e.scenario);
    ASSERT_GROUP(tsim_placement_group(p, AXIS(PIPELINE)), 2, 1, 2, 2);
    ASSERT_GROUP(tsim_placement_group(p, AXIS(TENSOR)), 4, 1, 4, 4);
    ASSERT_GROUP(tsim_placement_group(p, AXIS(DATA)), 4, 4, 1, 1);
}
END_TEST

/* Tensor 3 on nodes of 8 (3 nodes, 24 ranks, data 8): groups {6,7,8} and {15,16,17} straddle two nodes, 2 + 1. */
START_TEST(groups_that_straddle) {
    const struct tsim_placement *p = placement(3, 3, 1, 1);
    ASSERT_GROUP(tsim_placement_group_of(p, 0, AXIS(TENSOR)), 3, 1, 3, 3);
    ASSERT_GROUP(tsim_placement_group_of(p, 7, AXIS(TENSOR)), 3, 2, 2, 1);
    ASSERT_GROUP(tsim_placement_group(p, AXIS(TENSOR)), 3, 2, 2, 1);
}
END_TEST

START_TEST(ranks_and_coordinates_are_inverse) {
    const struct tsim_placement *p = placement(8, 2, 2, 4);
    for (int32_t rank = 0; rank < p->n_ranks; rank++) {
        struct tsim_coordinates at;
        tsim_placement_coordinates(p, rank, &at);
        ck_assert_int_eq(tsim_placement_rank(p, &at), rank);
    }
}
END_TEST

static Suite *placement_suite(void) {
    Suite *suite = suite_create("placement");
    TCase *tcase = tcase_create("groups");
    tcase_add_test(tcase, default_order);
    tcase_add_test(tcase, order_decides);
    tcase_add_test(tcase, groups_that_straddle);
    tcase_add_test(tcase, ranks_and_coordinates_are_inverse);
    suite_add_tcase(suite, tcase);
    return suite;
}

TSIM_TEST_MAIN(placement_suite)
