#include "cluster/placement.h"
#include "support/arena_rig.h"
#include "support/example.h"
#include "support/random.h"

#define TENSOR (1u << TSIM_AXIS_TENSOR)
#define CONTEXT (1u << TSIM_AXIS_CONTEXT)
#define EXPERT (1u << TSIM_AXIS_EXPERT)
#define DATA (1u << TSIM_AXIS_DATA)
#define PIPELINE (1u << TSIM_AXIS_PIPELINE)
#define ALL ((1u << TSIM_N_AXES) - 1)

static struct example example;

static void set_up_example(void) {
    set_up();
    example_init(&example);
}

static const struct tsim_placement *place(int64_t nodes, int64_t per_node, int64_t tensor, int64_t context,
                                          int64_t pipeline) {
    struct tsim_scenario *sc = &example.scenario;
    sc->cluster.nodes = nodes;
    sc->cluster.accelerators_per_node = per_node;
    sc->parallelism.tensor = tensor;
    sc->parallelism.context = context;
    sc->parallelism.pipeline = pipeline;
    example_finish(&example);
    return tsim_placement_build(&arena, sc);
}

static void assert_group(struct tsim_group group, int32_t n_ranks, int32_t n_nodes, int32_t max, int32_t min) {
    ck_assert_int_eq(group.n_ranks, n_ranks);
    ck_assert_int_eq(group.n_nodes, n_nodes);
    ck_assert_int_eq(group.max_ranks_per_node, max);
    ck_assert_int_eq(group.min_ranks_per_node, min);
}

/* 1024 ranks, tensor 8 = one node, data 32, pipeline 4: stage s lies on nodes 32 s .. 32 s + 31. */
TSIM_TEST(tensor_fills_a_node) {
    const struct tsim_placement *p = place(128, 8, 8, 1, 4);
    assert_group(tsim_placement_group(p, TENSOR), 8, 1, 8, 8);
    assert_group(tsim_placement_group(p, DATA), 32, 32, 1, 1);
    assert_group(tsim_placement_group(p, PIPELINE), 4, 4, 1, 1);
    assert_group(tsim_placement_group(p, TENSOR | DATA), 256, 32, 8, 8);
    assert_group(tsim_placement_group(p, ALL), 1024, 128, 8, 8);
    assert_group(tsim_placement_group(p, 0), 1, 1, 1, 1);
    struct tsim_coordinates at = {.at = {[TSIM_AXIS_TENSOR] = 3, [TSIM_AXIS_DATA] = 5, [TSIM_AXIS_PIPELINE] = 2}};
    ck_assert_int_eq(tsim_placement_rank(p, &at), 3 + 5 * 8 + 2 * 256);
    ck_assert_int_eq(tsim_placement_node(p, 3 + 5 * 8 + 2 * 256), 5 + 2 * 32);
    ck_assert(tsim_placement_same_node(p, 8, 15));
    ck_assert(!tsim_placement_same_node(p, 7, 8));
}

/* Nodes of 4, tensor 6, data 2: ranks 0..5 are 4 on node 0 and 2 on node 1, ranks 6..11 are 2 on node 1 and 4 on
 * node 2. Data pairs r, r + 6 are always on two nodes. */
TSIM_TEST(a_group_straddles_nodes_unevenly) {
    const struct tsim_placement *p = place(3, 4, 6, 1, 1);
    assert_group(tsim_placement_group_of(p, 0, TENSOR), 6, 2, 4, 2);
    assert_group(tsim_placement_group_of(p, 11, TENSOR), 6, 2, 4, 2);
    assert_group(tsim_placement_group(p, DATA), 2, 2, 1, 1);
    ck_assert(tsim_placement_same_node(p, 5, 6));
}

/* Nodes of 4, tensor 3, data 4. Tensor groups {0,1,2} and {9,10,11} are whole, {3,4,5} and {6,7,8} are 1 + 2 and 2 + 1.
 * Every data group, such as {0,3,6,9} on nodes 0 0 1 2, has two ranks on one of its three nodes. */
TSIM_TEST(the_worst_group_counts) {
    const struct tsim_placement *p = place(3, 4, 3, 1, 1);
    assert_group(tsim_placement_group_of(p, 1, TENSOR), 3, 1, 3, 3);
    assert_group(tsim_placement_group_of(p, 4, TENSOR), 3, 2, 2, 1);
    assert_group(tsim_placement_group(p, TENSOR), 3, 2, 2, 1);
    assert_group(tsim_placement_group(p, DATA), 4, 3, 2, 1);
}

/* Tensor 2, pipeline 4 on nodes of 4: stages 0 and 1 on node 0, 2 and 3 on node 1. 0 -> 1 and 2 -> 3 stay on a node,
 * 1 -> 2 and 3 -> 0 do not. */
TSIM_TEST(pipeline_neighbours) {
    struct tsim_neighbours stages = tsim_placement_neighbours(place(2, 4, 2, 1, 4), TSIM_AXIS_PIPELINE);
    ck_assert(stages.are_alike && stages.any_on_node);
    ck_assert(!tsim_placement_neighbours(place(2, 4, 2, 1, 4), TSIM_AXIS_DATA).any_on_node); /* size 1 */
    stages = tsim_placement_neighbours(place(4, 8, 4, 1, 4), TSIM_AXIS_PIPELINE);
    ck_assert(stages.are_alike && !stages.any_on_node); /* stage s is node s */
}

/* Pipeline 4 of 3 replicas on nodes of 4: stage 0 is ranks 0 to 2, stage 1 ranks 3 to 5. The message between them of
 * replica 0 stays on node 0, those of the others do not. */
TSIM_TEST(pipeline_neighbours_that_differ) {
    const struct tsim_placement *p = place(3, 4, 1, 1, 4);
    struct tsim_neighbours stages = tsim_placement_neighbours(p, TSIM_AXIS_PIPELINE);
    ck_assert(!stages.are_alike && stages.any_on_node);
    assert_group(tsim_placement_group_at(p, DATA, 0), 3, 1, 3, 3);
    assert_group(tsim_placement_group_at(p, DATA, 1), 3, 2, 2, 1);
    assert_group(tsim_placement_group_at(p, DATA, 3), 3, 1, 3, 3);
    int32_t ranks[3];
    ck_assert_int_eq(tsim_placement_ranks(p, 4, DATA, ranks), 3);
    ck_assert(ranks[0] == 3 && ranks[1] == 4 && ranks[2] == 5);
}

/* Data innermost: replicas share a node, tensor ranks do not. */
TSIM_TEST(order_is_the_scenarios) {
    struct tsim_parallelism_spec *spec = &example.scenario.parallelism;
    spec->order[0] = TSIM_AXIS_DATA;
    spec->order[1] = TSIM_AXIS_CONTEXT;
    spec->order[2] = TSIM_AXIS_EXPERT;
    spec->order[3] = TSIM_AXIS_TENSOR;
    const struct tsim_placement *p = place(4, 8, 4, 1, 1);
    assert_group(tsim_placement_group(p, DATA), 8, 1, 8, 8);
    assert_group(tsim_placement_group(p, TENSOR), 4, 4, 1, 1);
}

TSIM_TEST(experts_are_carved_out_of_data) {
    example.scenario.parallelism.expert = 4;
    const struct tsim_placement *p = place(2, 8, 2, 1, 1);
    ck_assert_int_eq(p->size[TSIM_AXIS_DATA], 2);
    assert_group(tsim_placement_group(p, EXPERT), 4, 1, 4, 4);
    assert_group(tsim_placement_group(p, DATA | EXPERT), 8, 2, 4, 4);
}

/* 16 ranks, 8 expert ranks. If tensor ranks do not divide the experts, they hold different ones: 2 x 2 context ranks x
 * 2 replicas, on a node. If they do: 2 context ranks x 4 replicas, on two nodes. 2 expert ranks are no multiple of 4
 * tensor ranks: those hold the same experts, as the replicas do. */
TSIM_TEST(experts_are_folded) {
    struct tsim_parallelism_spec *spec = &example.scenario.parallelism;
    spec->expert = 8;
    spec->expert_tensor = 1;
    const struct tsim_placement *p = place(2, 8, 2, 2, 1);
    ck_assert_int_eq(p->size[TSIM_AXIS_EXPERT], 2);
    ck_assert_int_eq(p->size[TSIM_AXIS_DATA], 2);
    assert_group(tsim_placement_group(p, p->expert_axes), 8, 1, 8, 8);
    assert_group(tsim_placement_group(p, p->expert_data_axes), 2, 2, 1, 1);
    spec->expert_tensor = 0;
    p = place(2, 8, 2, 2, 1);
    ck_assert_int_eq(p->size[TSIM_AXIS_EXPERT], 4);
    assert_group(tsim_placement_group(p, p->expert_axes), 8, 2, 4, 4);
    assert_group(tsim_placement_group(p, p->expert_data_axes), 1, 1, 1, 1);
    spec->expert = 2;
    spec->expert_tensor = 1;
    p = place(2, 8, 4, 1, 1);
    assert_group(tsim_placement_group(p, p->expert_axes), 2, 1, 2, 2);
    assert_group(tsim_placement_group(p, p->expert_data_axes), 8, 2, 4, 4);
}

/* A rank's group are, by definition, the ranks that agree with it on every other axis. */
static struct tsim_group group_by_definition(const struct tsim_placement *p, int32_t rank, unsigned axes) {
    struct tsim_coordinates mine = tsim_placement_coordinates(p, rank);
    struct tsim_group group = {0};
    for (int32_t first = 0; first < p->n_ranks; first += p->ranks_per_node) {
        int32_t here = 0;
        for (int32_t r = first; r < first + p->ranks_per_node; r++) {
            struct tsim_coordinates its = tsim_placement_coordinates(p, r);
            bool same = true;
            for (int a = 0; a < TSIM_N_AXES; a++)
                same = same && (axes & 1u << a || its.at[a] == mine.at[a]);
            here += same;
        }
        if (here == 0)
            continue;
        group.n_ranks += here;
        group.n_nodes++;
        group.max_ranks_per_node = here > group.max_ranks_per_node ? here : group.max_ranks_per_node;
        group.min_ranks_per_node =
            group.min_ranks_per_node == 0 || here < group.min_ranks_per_node ? here : group.min_ranks_per_node;
    }
    return group;
}

/* Returns whether a group is on more nodes, else has fewer ranks on one of them, else more on another. */
static bool is_worse_by_definition(const struct tsim_group *a, const struct tsim_group *b) {
    if (a->n_nodes != b->n_nodes)
        return a->n_nodes > b->n_nodes;
    if (a->min_ranks_per_node != b->min_ranks_per_node)
        return a->min_ranks_per_node < b->min_ranks_per_node;
    return a->max_ranks_per_node > b->max_ranks_per_node;
}

static void shuffle_order(struct random_source *random) {
    enum tsim_axis *order = example.scenario.parallelism.order;
    for (int32_t i = TSIM_N_AXES - 1; i > 0; i--) {
        int32_t j = random_between(random, 0, i);
        enum tsim_axis other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
}

TSIM_TEST(random_placements) {
    struct random_source random = {1};
    for (int round = 0; round < 40; round++) {
        int64_t tensor = random_between(&random, 1, 4), context = random_between(&random, 1, 3);
        int64_t pipeline = random_between(&random, 1, 4), data = random_between(&random, 1, 4);
        int64_t n = tensor * context * pipeline * data, per_node = random_between(&random, 1, 8);
        while (n % per_node != 0)
            per_node--;
        shuffle_order(&random);
        const struct tsim_placement *p = place(n / per_node, per_node, tensor, context, pipeline);
        unsigned axes = (unsigned)random_between(&random, 0, ALL);
        struct tsim_group worst = tsim_placement_group(p, axes), most = {0};
        for (int32_t rank = 0; rank < p->n_ranks; rank++) {
            struct tsim_coordinates at = tsim_placement_coordinates(p, rank);
            ck_assert_int_eq(tsim_placement_rank(p, &at), rank);
            struct tsim_group expected = group_by_definition(p, rank, axes);
            assert_group(tsim_placement_group_of(p, rank, axes), expected.n_ranks, expected.n_nodes,
                         expected.max_ranks_per_node, expected.min_ranks_per_node);
            if (is_worse_by_definition(&expected, &most))
                most = expected;
        }
        assert_group(worst, most.n_ranks, most.n_nodes, most.max_ranks_per_node, most.min_ranks_per_node);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up_example, tear_down)
