/* Embedding tables: how they are dealt out, and the kernels and exchanges of a small model by hand. */
#include "config/catalogue_load.h"
#include "model/layer_list.h"
#include "model/model.h"
#include "model/tables.h"
#include "partition/memory.h"
#include "support/arena_rig.h"
#include "support/example.h"
#include "support/random.h"

#include <math.h>
#include <string.h>

static const struct tsim_model *load(const char *id) {
    const struct tsim_model *model = NULL;
    ck_assert_int_eq(tsim_catalogue_load_model(&arena, id, &model, &diags), TSIM_OK);
    return model;
}

/* MLPerf's model has 187,767,399 rows of 128, bottom 13-512-256-128, top 479-1024-1024-512-256-1 with 479 = 27 x 26 / 2
 * + 128. A sample touches the products and 26 rows. */
TSIM_TEST(published_counts) {
    const struct tsim_model *m = load("dlrm");
    double bottom = 14.0 * 512 + 513 * 256 + 257 * 128;
    double top = 480.0 * 1024 + 1025 * 1024 + 1025 * 512 + 513 * 256 + 257;
    ck_assert_double_eq(tsim_model_parameters(m), 187767399.0 * 128 + bottom + top);
    ck_assert_double_eq(tsim_model_active_parameters(m), 26 * 128 + bottom + top);
    double macs =
        13.0 * 512 + 512 * 256 + 256 * 128 + 351 * 128 + 479.0 * 1024 + 1024 * 1024 + 1024 * 512 + 512 * 256 + 256;
    ck_assert_double_eq(tsim_list_macs(m), macs);
    ck_assert_double_eq(tsim_model_flops_per_token(m, 1, 1), 6 * macs - 2 * 13 * 512);
}

static const struct tsim_software SOFTWARE = {.table_placement = TSIM_TABLES_BY_CAPACITY};
static const struct tsim_tables_deal CAPACITY = {.software = &SOFTWARE, .samples = 1};

/* Four tables have 100, 60, 40 and 1 rows, and are 2 wide. */
static const struct tsim_embedding_table TABLES[] = {{100, 2, 3}, {60, 2, 1}, {40, 2, 1}, {1, 2, 1}};

/* One rank holds all. On two an even share is 100.5 rows: the first alone, the others together; the last is below a
 * hundredth of it and goes to the rank with fewer lookups. On four the share is 50.25: the first table is cut in two
 * and the second, too; each piece of the first is hit by a sample with 3 lookups in 1 - (1/2)^3 = 7/8 of the cases. */
TSIM_TEST(dealt_by_capacity) {
    struct tsim_model m = {.tables = TABLES, .n_tables = 4};
    struct tsim_tables_share share;
    tsim_tables_share(&m, &CAPACITY, 1, &share);
    ck_assert_double_eq(share.rows, 201);
    ck_assert_double_eq(share.elements, 402);
    ck_assert_double_eq(share.lookups, 6);
    ck_assert_double_eq(share.vector_elements, 4 * 2);
    tsim_tables_share(&m, &CAPACITY, 2, &share);
    ck_assert_double_eq(share.rows, 101);
    ck_assert_double_eq(share.lookups, 3);
    ck_assert_double_eq(share.vector_elements, 3 * 2); /* 60, 40 and 1 */
    ck_assert_double_eq(share.all_vector_elements, 4 * 2);
    tsim_tables_share(&m, &CAPACITY, 4, &share);
    ck_assert_double_eq(share.rows, 60); /* pieces 50, 50, 40, 30 and 30: the last on top of the first */
    ck_assert_double_eq_tol(share.all_vector_elements, 2 * (2 * 0.875 + 2 * 0.5 + 1 + 1), 1e-12);
}

/* Three tables of one size to two ranks, in the order of the model: the first, with five lookups, alone, the others
 * together. From the last on the first would come on top of the second. */
TSIM_TEST(equal_ones_in_order) {
    static const struct tsim_embedding_table EQUAL[] = {{10, 2, 5}, {10, 2, 1}, {10, 2, 1}};
    struct tsim_model m = {.tables = EQUAL, .n_tables = 3};
    struct tsim_tables_share share;
    tsim_tables_share(&m, &CAPACITY, 2, &share);
    ck_assert_double_eq(share.rows, 20);
    ck_assert_double_eq(share.lookups, 5);
    ck_assert_double_eq(share.lookup_elements, 5 * 2);
}

/* A table below a hundredth of a share goes to the rank with fewer lookups, though it is the fuller one: 100 rows with
 * one lookup, 90 with nine. */
TSIM_TEST(small_ones_by_lookups) {
    static const struct tsim_embedding_table UNEVEN[] = {{100, 2, 1}, {90, 2, 9}, {1, 1, 1}};
    struct tsim_model m = {.tables = UNEVEN, .n_tables = 3};
    struct tsim_tables_share share;
    tsim_tables_share(&m, &CAPACITY, 2, &share);
    ck_assert_double_eq(share.rows, 101);
    ck_assert_double_eq(share.lookups, 9);
    ck_assert_double_eq(share.lookup_elements, 18);
}

/* Tables of different sizes, none above a share or below a hundredth of it: each, the largest first, to the emptiest of
 * seven ranks, which is sought among all here. */
TSIM_TEST(always_to_the_emptiest) {
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct random_source random = {seed};
        struct tsim_embedding_table tables[40];
        struct tsim_model m = {.tables = tables, .n_tables = 40};
        struct tsim_tables_share share;
        double rows[7] = {0}, fullest = 0;
        for (int i = 0; i < 40; i++) /* falling */
            tables[i] = (struct tsim_embedding_table){
                .rows = (40 - i) * 1000 + random_between(&random, 0, 999), .dim = 1, .pooling = 1};
        for (int i = 0; i < 40; i++) {
            int emptiest = 0;
            for (int r = 1; r < 7; r++)
                emptiest = rows[r] < rows[emptiest] ? r : emptiest;
            rows[emptiest] += (double)tables[i].rows;
            fullest = fmax(fullest, rows[emptiest]);
        }
        tsim_tables_share(&m, &CAPACITY, 7, &share);
        ck_assert_double_eq(share.rows, fullest);
    }
}

/* More ranks hold no more each, all rows are somewhere, and nothing is lost beyond the number that is dealt to. */
TSIM_TEST(dealt_to_many) {
    const struct tsim_model *m = load("dlrm");
    double before = 1e30;
    for (int64_t n = 1; n <= 2 * TSIM_TABLES_MOST_RANKS; n *= 2) {
        struct tsim_tables_share share;
        tsim_tables_share(m, &CAPACITY, n, &share);
        double dealt = (double)(n < TSIM_TABLES_MOST_RANKS ? n : TSIM_TABLES_MOST_RANKS);
        ck_assert_double_le(share.elements, before);
        ck_assert_double_ge(share.elements * dealt, 187767399.0 * 128 * (1 - 1e-9));
        ck_assert_double_le(share.elements * dealt, 2.2 * 187767399.0 * 128);
        before = share.elements;
    }
}

/* Two ranks by lookups. A table that 30 rows of are looked up is cut in two: loads of 15 lookups and 2.25 for the
 * vector; the tables of 40 and of 1 row follow, one to each, and halves of the one of 60: 15 + 1 + 0.5 lookups and 3
 * vectors on either rank, 50 + 40 + 30 rows on the first. With room for 110 rows that plan is none: uncut, the table of
 * 60 goes to the first, the others to the second. With room for 55 rows no plan is, and each rank has a piece of
 * all. */
TSIM_TEST(dealt_by_lookups) {
    static const struct tsim_embedding_table HOT[] = {{100, 2, 30}, {60, 2, 1}, {40, 2, 1}, {1, 2, 1}};
    struct tsim_model m = {.tables = HOT, .n_tables = 4};
    struct tsim_software software = {.table_placement = TSIM_TABLES_BY_LOOKUPS};
    struct tsim_tables_deal deal = {.software = &software, .samples = 1, .most_elements = 1e9};
    struct tsim_tables_share share;
    tsim_tables_share(&m, &deal, 2, &share);
    ck_assert_double_eq(share.lookups, 16.5);
    ck_assert_double_eq(share.rows, 120);
    deal.most_elements = 2 * 110;
    tsim_tables_share(&m, &deal, 2, &share);
    ck_assert_double_eq(share.lookups, 17);
    ck_assert_double_eq(share.rows, 110);
    deal.most_elements = 2 * 55;
    tsim_tables_share(&m, &deal, 2, &share);
    ck_assert_double_eq(share.rows, 101);
}

/* Two nodes of two ranks. The hot table alone has 30 lookups and one vector, which counts as 16.75; the other three have 3
 * and three. Cut in two it would leave a node with three vectors, too. A rank has half of each, and of the three vectors
 * of one row each second. On one node of four ranks tables lie as by lookups. */
TSIM_TEST(dealt_by_nodes) {
    static const struct tsim_embedding_table HOT[] = {{100, 2, 30}, {60, 2, 1}, {40, 2, 1}, {1, 2, 1}};
    struct tsim_model m = {.tables = HOT, .n_tables = 4};
    struct tsim_software by_nodes = {.table_placement = TSIM_TABLES_BY_NODES},
                         by_lookups = {.table_placement = TSIM_TABLES_BY_LOOKUPS};
    struct tsim_tables_deal deal = {.software = &by_nodes, .samples = 1, .most_elements = 1e9, .node_ranks = 2};
    struct tsim_tables_share share, other;
    tsim_tables_share(&m, &deal, 4, &share);
    ck_assert_double_eq(share.rows, 50.5);
    ck_assert_double_eq(share.lookups, 15);
    ck_assert_double_eq(share.vector_elements, 3);
    ck_assert_double_eq(share.node_vector_elements, 3 * 2);
    deal.node_ranks = 4;
    tsim_tables_share(&m, &deal, 4, &share);
    deal.software = &by_lookups;
    tsim_tables_share(&m, &deal, 4, &other);
    ck_assert_double_eq(share.node_vector_elements, 0);
    ck_assert_double_eq(share.lookups, other.lookups);
    ck_assert_double_eq(share.vector_elements, other.vector_elements);
}

/* Whole tables are dealt, two to each of two ranks: the first table's rank gets the last, though the other had fewer
 * lookups. */
TSIM_TEST(dealt_whole) {
    struct tsim_model m = {.tables = TABLES, .n_tables = 4};
    struct tsim_software software = {.table_placement = TSIM_TABLES_WHOLE};
    struct tsim_tables_deal deal = {.software = &software, .samples = 1};
    struct tsim_tables_share share;
    tsim_tables_share(&m, &deal, 2, &share);
    ck_assert_double_eq(share.rows, 101);
    ck_assert_double_eq(share.lookups, 4);
    ck_assert_double_eq(share.vector_elements, 2 * 2);
    ck_assert_double_eq(share.all_vector_elements, 4 * 2);
}

/* The table of one row takes 8 bytes in fp32. 10 lookups in two rows are of 2 (1 - e^-5) different ones. */
TSIM_TEST(replicas_and_distinct_rows) {
    static const struct tsim_embedding_table SMALL[] = {{2, 2, 5, 0}, {1, 2, 1, 0}};
    struct tsim_model m = {.tables = SMALL, .n_tables = 2};
    struct tsim_software software = {.replicated_tables_bytes = 9};
    struct tsim_tables_deal deal = {.software = &software, .samples = 2};
    struct tsim_tables_share share;
    tsim_tables_share(&m, &deal, 1, &share);
    ck_assert_double_eq(share.replica_elements, 2);
    ck_assert_double_eq(share.replica_lookups, 1);
    ck_assert_double_eq(share.replica_vector_elements, 2);
    ck_assert_double_eq(share.rows, 2);
    ck_assert_double_eq_tol(share.distinct_elements, 2 * 2 * (1 - exp(-5)), 1e-12);
    software.replicated_tables_bytes = 8; /* not below */
    tsim_tables_share(&m, &deal, 1, &share);
    ck_assert_double_eq(share.replica_elements, 0);
}

/* 3,000 ids by 1 / r^1.1: what 500 samples draw, id by id. One table has a row for an id, the other four; and so few
 * ids that nothing is left to integrate. */
TSIM_TEST(skewed_draws) {
    static const struct tsim_embedding_table ROWS[] = {{3000, 2, 1, 1.1}, {3000, 2, 4, 1.1}, {20, 2, 1, 1.1}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        double all = 0, ids = 0, rows = (double)ROWS[i].rows, samples = 500;
        for (int64_t rank = 1; rank <= ROWS[i].rows; rank++)
            all += pow((double)rank, -1.1);
        for (int64_t rank = 1; rank <= ROWS[i].rows; rank++)
            ids += 1 - exp(-samples * pow((double)rank, -1.1) / all);
        double expected = ROWS[i].pooling == 1 ? ids : rows * (1 - pow(1 - 1 / rows, 4 * ids));
        ck_assert_double_eq_tol(tsim_tables_distinct_rows(&ROWS[i], samples), expected, 2e-4 * expected);
    }
    /* nobody draws more than there are, or more than samples, and skew never draws more different ones */
    const struct tsim_embedding_table even = {1000000, 2, 1, 0}, skewed = {1000000, 2, 1, 0.9};
    for (double samples = 1; samples < 1e9; samples *= 10) {
        double n = tsim_tables_distinct_rows(&skewed, samples);
        ck_assert_double_gt(n, 0);
        ck_assert_double_le(n, fmin(samples, 1e6) * (1 + 1e-6));
        ck_assert_double_le(n, tsim_tables_distinct_rows(&even, samples) * (1 + 1e-6));
    }
}

static const struct tsim_list_layer LAYER = {.kind = TSIM_LIST_TABLES, .out = 8, .out_area = 1, .is_result = true};

static void init_small(struct example *x) {
    example_init(x);
    x->model.tables = TABLES;
    x->model.n_tables = 4;
    x->model.list = &LAYER;
    x->model.n_list = 1;
    x->model.layers = 1;
    x->scenario.training.micro_batch_size = 5;
    x->scenario.training.precision = TSIM_FP32;
    x->scenario.training.recompute = TSIM_RECOMPUTE_NONE;
    x->scenario.parallelism.data = 2;
    x->scenario.parallelism.zero = 0;
}

/* Two ranks, ten samples in all, fp32. Each rank looks up 3 rows of 2 for a sample and the second sends 3 vectors of 2:
 * indices 24 bytes, rows 24, vectors 24. It sends 10 x 24 bytes and gets 5 x 32. Backward sorts four times what it
 * reads and writes of 16 bytes a lookup, and updates rows in place: 24 of gradients, 48 of rows, 24 of indices; with a
 * state of 4 bytes, read and written, 24 more. */
TSIM_TEST(kernels_by_hand) {
    struct example x;
    struct tsim_op_list list;
    init_small(&x);
    x.scenario.training.optimizer = TSIM_SGD;
    tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_int_eq(list.n, 3); /* and the loss */
    ck_assert_double_eq(list.ops[0].bytes, 10 * (24 + 24 + 24));
    ck_assert_int_eq(list.ops[1].kind, TSIM_OP_COLLECTIVE);
    ck_assert_int_eq(list.ops[1].collective, TSIM_OP_ALL_TO_ALL);
    ck_assert_int_eq(list.ops[1].axis, TSIM_AXIS_DATA);
    ck_assert_double_eq(list.ops[1].collective_bytes, 10 * 24);
    tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(list.ops[1].collective_bytes, 10 * 24);
    ck_assert_double_eq(list.ops[2].bytes, 10 * 3 * 4 * 2 * 16);
    ck_assert_double_eq(list.ops[2].kernels, 4 * 2); /* a digit's counts, then its moves */
    ck_assert_double_eq(list.ops[3].bytes, 10 * (24 + 48 + 24));
    x.scenario.training.optimizer = TSIM_ADAM;
    tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(list.ops[3].bytes, 10 * (24 + 48 + 24 + 24));
    x.scenario.parallelism.data = 1;
    tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_int_eq(list.n, 2); /* nothing to exchange */
}

static const struct tsim_op *find(const struct tsim_op_list *list, const char *name) {
    for (int32_t i = 0; i < list->n; i++)
        if (strcmp(list->ops[i].name, name) == 0)
            return &list->ops[i];
    return NULL;
}

/* fp16 with tables in fp32: rows of 2 are 8 bytes, vectors 4. A rank of two looks up 3 rows of its tables for a sample
 * and sends 3 vectors: 24 + 3 x 8 + 3 x 4 bytes forward. Sparse gradients are written, unscaled, multiplied and added,
 * 6 times 4 bytes an element, and rows read and written. Reduced ones are written and read, with a state and the row in
 * and out, once for each row that 10 samples look up: of 100 rows 3 each. */
TSIM_TEST(updates_by_hand) {
    struct example x;
    struct tsim_op_list list;
    init_small(&x);
    x.scenario.training.precision = TSIM_FP16;
    x.software.fp32_tables = true;
    x.scenario.software = &x.software;
    x.scenario.training.optimizer = TSIM_SGD;
    x.software.table_update = TSIM_UPDATE_SPARSE;
    tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(list.ops[0].bytes, 10 * (24 + 24 + 12));
    tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_ptr_null(find(&list, "tables, sort"));
    ck_assert_double_eq(find(&list, "tables, update")->bytes, 10 * (24 + 12 + 6 * (6 * 4 + 2 * 4)));
    x.scenario.training.precision = TSIM_FP32; /* nothing to unscale */
    tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(find(&list, "tables, update")->bytes, 10 * (24 + 24 + 6 * (4 * 4 + 2 * 4)));
    x.software.table_update = TSIM_UPDATE_REDUCED;
    x.scenario.training.optimizer = TSIM_MOMENTUM;
    tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    double distinct = 100 * (1 - exp(-30 / 100.0)),
           others = 60 * (1 - exp(-10 / 60.0)) + 40 * (1 - exp(-10 / 40.0)) + 1 - exp(-10);
    ck_assert_double_eq_tol(find(&list, "tables, update")->bytes,
                            10 * (24 + 24) + 2 * fmax(distinct, others) * (2 * 4 + 2 * 4 + 2 * 4), 1e-9);
    ck_assert_double_eq(tsim_tables_state_bytes(&x.scenario), 101 * 2 * 4); /* a state of 4 bytes for each element */
}

/* The table of one row on both ranks: 5 samples look it up there, its gradient of 2 in fp32 is summed, and its row
 * updated. */
TSIM_TEST(replicas_by_hand) {
    struct example x;
    struct tsim_op_list list;
    init_small(&x);
    x.scenario.software = &x.software;
    x.scenario.training.optimizer = TSIM_SGD;
    x.software.replicated_tables_bytes = 9;
    tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(find(&list, "tables, gather of replicas")->bytes, 5 * (8 + 8 + 8));
    ck_assert_double_eq(find(&list, "tables: vectors to samples")->collective_bytes,
                        10 * 2 * 8); /* the tables have 60 and 40 rows */
    tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    const struct tsim_op *sum = find(&list, "tables: gradients of replicas");
    ck_assert_int_eq(sum->collective, TSIM_OP_ALL_REDUCE);
    ck_assert_double_eq(sum->collective_bytes, 8);
    ck_assert_double_eq(find(&list, "tables, update of replicas")->bytes, 2 * (4 + 2 * 4));
    ck_assert_double_eq(tsim_tables_weight_bytes(&x.scenario), (100 + 1) * 2 * 4);
}

/* A bottom MLP on the first rank sends its vector of 2 for each of 10 samples, too; what whole tables' ranks sent is
 * joined: 5 vectors of 2 in and out for each of 5 samples. */
TSIM_TEST(bottom_on_the_first_rank) {
    struct example x;
    struct tsim_op_list list;
    init_small(&x);
    x.scenario.software = &x.software;
    x.software.bottom_mlp = TSIM_BOTTOM_FIRST_RANK;
    x.software.table_placement = TSIM_TABLES_WHOLE;
    tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(find(&list, "tables: vectors to samples")->collective_bytes, 10 * (2 + 1) * 8);
    ck_assert_double_eq(find(&list, "tables, join")->bytes, 5 * 2 * 5 * 8);
}

/* One table of 100 rows of 2 in halves: each sends a vector for a sample that has one of its 3 lookups in it, 7 of 8.
 */
TSIM_TEST(one_table) {
    struct example x;
    init_small(&x);
    x.model.n_tables = 1;
    ck_assert_double_eq(tsim_tables_weight_bytes(&x.scenario), 50 * 2 * 4);
    ck_assert_double_eq(tsim_tables_state_bytes(&x.scenario), 50 * 4);
    ck_assert_double_eq(tsim_tables_buffer_bytes(&x.scenario), 2 * 10 * (7 / 8.0) * 2 * 4);
    x.model.n_tables = 0;
    ck_assert_double_eq(tsim_tables_weight_bytes(&x.scenario), 0);
    ck_assert_double_eq(tsim_tables_state_bytes(&x.scenario), 0);
    ck_assert_double_eq(tsim_tables_buffer_bytes(&x.scenario), 0);
}

/* The fullest of two ranks holds 101 rows of 2 (the tables of 60, 40 and 1), and 4 bytes of each row's state. */
TSIM_TEST(memory_by_hand) {
    struct example x;
    init_small(&x);
    x.scenario.training.optimizer = TSIM_SGD;
    ck_assert_double_eq(tsim_tables_weight_bytes(&x.scenario), 101 * 2 * 4);
    ck_assert_double_eq(tsim_tables_state_bytes(&x.scenario), 0);
    x.model.vocab = 0;
    struct tsim_stage_memory memory; /* 8 results of 5 samples twice, and the vectors of 10 samples */
    tsim_stage_memory(&x.scenario, 0, &memory);
    ck_assert_double_eq(memory.buffers_bytes, 2 * 5 * 8 * 4 + 2 * 10 * 6 * 4);
    ck_assert_double_eq(memory.optimizer_bytes, 0);
    ck_assert_double_eq(memory.weights_bytes, 101 * 2 * 4); /* no products beside the tables */
    x.scenario.training.optimizer = TSIM_ADAM;
    tsim_stage_memory(&x.scenario, 0, &memory);
    ck_assert_double_eq(memory.optimizer_bytes, 101 * 4);
    x.scenario.training.optimizer = TSIM_RMSPROP;
    x.scenario.training.precision = TSIM_FP16;
    ck_assert_double_eq(tsim_tables_weight_bytes(&x.scenario), 101 * 2 * 2);
    ck_assert_double_eq(tsim_tables_state_bytes(&x.scenario), 101 * 4);
    ck_assert_double_eq(tsim_tables_buffer_bytes(&x.scenario), 2 * 10 * 6 * 2);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
