/* Execution traces of Chakra: bytes as its schema says, encoded here by hand; what they take when they are replayed. */
#include "cost/collective.h"
#include "import/traces/chakra_file.h"
#include "report/export/history_record.h"
#include "run/run.h"
#include "step/replay/replay.h"
#include "support/training_rig.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* ---- protobuf: a key is number x 8 + wire type; 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes ---- */

struct bytes {
    char at[4096];
    size_t n;
};

static void put(struct bytes *b, uint64_t byte) {
    ck_assert_uint_lt(b->n, sizeof b->at);
    b->at[b->n++] = (char)byte;
}

static void put_varint(struct bytes *b, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        put(b, (value & 0x7f) | 0x80);
    put(b, value);
}

static void put_number(struct bytes *b, unsigned field, uint64_t value) {
    put_varint(b, field * 8);
    put_varint(b, value);
}

static void put_fixed(struct bytes *b, unsigned field, const void *value, size_t size) {
    put_varint(b, field * 8 + (size == 8 ? 1 : 5));
    for (size_t i = 0; i < size; i++)
        put(b, ((const unsigned char *)value)[i]);
}

static void put_bytes(struct bytes *b, unsigned field, const char *text, size_t n) {
    put_varint(b, field * 8 + 2);
    put_varint(b, n);
    for (size_t i = 0; i < n; i++)
        put(b, (unsigned char)text[i]);
}

static void put_text(struct bytes *b, unsigned field, const char *text) {
    put_bytes(b, field, text, strlen(text));
}

/* Adds a message after its length, as a file has them. */
static void put_message(struct bytes *file, const struct bytes *message) {
    put_varint(file, message->n);
    for (size_t i = 0; i < message->n; i++)
        put(file, (unsigned char)message->at[i]);
}

static void put_version(struct bytes *file) {
    struct bytes metadata = {.n = 0};
    put_text(&metadata, 1, "0.0.4");
    put_message(file, &metadata);
}

/* The schema's numbers of the types of nodes. */
enum { METADATA = 1, COMPUTE = 4, SEND = 5, RECEIVE = 6, COLLECTIVE = 7 };

static struct bytes begin_node(uint64_t id, uint64_t type, uint64_t duration_us) {
    struct bytes node = {.n = 0};
    put_number(&node, 1, id);
    put_text(&node, 2, "node");
    put_number(&node, 3, type);
    if (duration_us > 0)
        put_number(&node, 7, duration_us);
    return node;
}

static void put_dep(struct bytes *node, uint64_t id) {
    put_number(node, 5, id);
}

static void put_int64(struct bytes *node, const char *name, int64_t value) {
    struct bytes attribute = {.n = 0};
    put_text(&attribute, 1, name);
    put_number(&attribute, 9, (uint64_t)value);
    put_bytes(node, 10, attribute.at, attribute.n);
}

static void put_string(struct bytes *node, const char *name, const char *value) {
    struct bytes attribute = {.n = 0};
    put_text(&attribute, 1, name);
    put_text(&attribute, 29, value);
    put_bytes(node, 10, attribute.at, attribute.n);
}

static enum tsim_status parse(const struct bytes *file, const char *name, struct tsim_history *e) {
    return tsim_chakra_parse(&arena, name, file->at, file->n, e, &diags);
}

static struct tsim_history parsed(const struct bytes *file, const char *name) {
    struct tsim_history e;
    ck_assert_int_eq(parse(file, name, &e), TSIM_OK);
    return e;
}

/* ---- reading ---- */

TSIM_TEST(kernels_and_what_they_wait_for) {
    struct bytes file = {.n = 0}, node = begin_node(7, COMPUTE, 12);
    put_version(&file);
    put_number(&node, 6, 100);
    put_int64(&node, "num_ops", 1000000);
    put_int64(&node, "stream", 20);
    put_message(&file, &node);
    node = begin_node(3, COMPUTE, 5);
    put_number(&node, 4, 7); /* a control dependency, and the same as data */
    put_dep(&node, 7);
    put_message(&file, &node);
    struct tsim_history e = parsed(&file, "job.12.et");
    ck_assert_str_eq(e.version, "0.0.4");
    ck_assert_int_eq(e.rank, 12);
    ck_assert_int_eq(e.n_nodes, 2);
    ck_assert_double_eq_tol(e.nodes[0].duration_s, 12e-6, 1e-15);
    ck_assert_double_eq_tol(e.nodes[0].start_s, 100e-6, 1e-15);
    ck_assert_double_eq(e.nodes[0].n_ops, 1e6);
    ck_assert_int_eq(e.nodes[0].stream, 20);
    ck_assert(!e.nodes[0].is_host);
    ck_assert_int_eq(e.nodes[1].n_deps, 1);
    ck_assert_int_eq(e.nodes[1].deps[0], 0);
}

/* Every type of number that the schema has for one value: 1,000. Signed ones are zigzag, 2,000. */
TSIM_TEST(numbers_of_every_type) {
    const double d = 1000;
    const float f = 1000;
    const uint32_t u32 = 1000;
    const uint64_t u64 = 1000;
    static const unsigned VARINTS[] = {7, 9, 11, 13}, ZIGZAGS[] = {15, 17};
    for (int i = 0; i < 11; i++) {
        struct bytes file = {.n = 0}, node = begin_node(1, COLLECTIVE, 0), attribute = {.n = 0};
        put_version(&file);
        put_text(&attribute, 1, "comm_size");
        if (i < 4)
            put_number(&attribute, VARINTS[i], 1000);
        else if (i < 6)
            put_number(&attribute, ZIGZAGS[i - 4], 2000);
        else if (i == 6)
            put_fixed(&attribute, 3, &d, 8);
        else if (i == 7)
            put_fixed(&attribute, 5, &f, 4);
        else if (i == 8)
            put_fixed(&attribute, 19, &u32, 4);
        else if (i == 9)
            put_fixed(&attribute, 21, &u64, 8);
        else
            put_text(&attribute, 29, "1000");
        put_bytes(&node, 10, attribute.at, attribute.n);
        put_int64(&node, "comm_type", 2);
        put_message(&file, &node);
        struct tsim_history e = parsed(&file, "a");
        ck_assert_double_eq(e.nodes[0].comm_bytes, 1000);
        ck_assert_int_eq(e.nodes[0].collective, TSIM_HISTORY_ALL_GATHER);
        ck_assert_int_eq(e.nodes[0].group, -1);
        ck_assert_int_eq(e.rank, -1);
    }
}

/* Field 6 is the start in microseconds, of 64 bits: a profiler's clock counts from 1970 at most. */
TSIM_TEST(times_that_cannot_be) {
    static const struct {
        uint64_t start_us, duration_us;
        bool is_good;
    } CASES[] = {{1800000000000000, 12, true},     {999000000000000000, 999000000000000, true},
                 {1000000000000000000, 12, false}, {UINT64_MAX - 7, 12, false},
                 {0, 1000000000000000, false},     {0, UINT64_MAX, false}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct bytes file = {.n = 0}, node = begin_node(1, COMPUTE, CASES[i].duration_us);
        struct tsim_history e;
        put_number(&node, 6, CASES[i].start_us);
        put_version(&file);
        put_message(&file, &node);
        ck_assert_int_eq(parse(&file, "a.0.et", &e) == TSIM_OK, CASES[i].is_good);
    }
}

TSIM_TEST(process_groups) {
    struct bytes file = {.n = 0}, node = begin_node(1, METADATA, 0), inputs = {.n = 0};
    put_version(&file);
    put_text(&inputs, 1,
             "['[{\"pg_name\": \"0\", \"ranks\": [], \"group_size\": 4}, {\"pg_name\": \"7\", \"ranks\": [1, 3]}]']");
    put_bytes(&node, 8, inputs.at, inputs.n);
    put_message(&file, &node);
    for (int i = 0; i < 3; i++) {
        static const char *const NAMES[] = {"7", "0", "9"};
        node = begin_node((uint64_t)i + 2, COLLECTIVE, 0);
        put_int64(&node, "comm_type", 0);
        put_int64(&node, "comm_size", 8);
        put_string(&node, "pg_name", NAMES[i]);
        put_message(&file, &node);
    }
    struct tsim_history e = parsed(&file, "a.1.et");
    ck_assert_int_eq(e.n_ranks, 4);
    const struct tsim_history_group *pair = &e.groups[e.nodes[1].group], *all = &e.groups[e.nodes[2].group];
    ck_assert_int_eq(pair->n_ranks, 2);
    ck_assert_int_eq(pair->ranks[1], 3);
    ck_assert_int_eq(all->n_ranks, 0);
    ck_assert_int_eq(e.groups[e.nodes[3].group].n_ranks, -1); /* named, not told */
}

/* The schema of spring 2023 has no metadata, COMP_NODE 3, COMM_COLL_NODE 6, ALL_GATHER 2 and REDUCE_SCATTER 3,
 * `parent`, and attributes with a type: {name 1, type 2 (INT 1), i 5}. */
TSIM_TEST(the_schema_of_2023) {
    struct bytes file = {.n = 0};
    for (uint64_t i = 0; i < 2; i++) {
        struct bytes node = begin_node(i, i == 0 ? 3 : 6, 0);
        const char *names[] = {"runtime", "comm_type", "comm_size"};
        const uint64_t values[] = {25, 3, 4096};
        for (size_t k = i == 0 ? 0 : 1; k < (i == 0 ? 1U : 3U); k++) {
            struct bytes attribute = {.n = 0};
            put_text(&attribute, 1, names[k]);
            put_number(&attribute, 2, 1);
            put_number(&attribute, 5, values[k]);
            put_bytes(&node, 11, attribute.at, attribute.n);
        }
        if (i == 1)
            put_number(&node, 4, 0);
        put_message(&file, &node);
    }
    struct tsim_history e = parsed(&file, "old.0.et");
    ck_assert_int_eq(e.nodes[0].kind, TSIM_HISTORY_COMPUTE);
    ck_assert_double_eq_tol(e.nodes[0].duration_s, 25e-6, 1e-15);
    ck_assert_int_eq(e.nodes[1].kind, TSIM_HISTORY_COLLECTIVE);
    ck_assert_int_eq(e.nodes[1].collective, TSIM_HISTORY_REDUCE_SCATTER);
    ck_assert_double_eq(e.nodes[1].comm_bytes, 4096);
    ck_assert_int_eq(e.nodes[1].n_deps, 1);
}

static const char *mistake(const struct bytes *file) {
    struct tsim_history e;
    size_t before = diags.n_items;
    ck_assert_int_eq(parse(file, "bad.et", &e), TSIM_ERR_SYNTAX);
    return diags.items[before].message;
}

TSIM_TEST(mistakes) {
    struct bytes empty = {.n = 0}, file = {.n = 0};
    ck_assert_ptr_nonnull(strstr(mistake(&empty), "empty"));
    put_version(&file);
    struct bytes only = file, twice = file, cycle = file, lost = file, sizeless = file, cut = file, strange = file;
    ck_assert_ptr_nonnull(strstr(mistake(&only), "no nodes"));
    struct bytes node = begin_node(5, COMPUTE, 1);
    put_message(&twice, &node);
    put_message(&twice, &node);
    ck_assert_ptr_nonnull(strstr(mistake(&twice), "two nodes have the id 5"));
    put_dep(&node, 5);
    put_message(&cycle, &node);
    ck_assert_ptr_nonnull(strstr(mistake(&cycle), "waits for itself"));
    node = begin_node(5, COLLECTIVE, 1);
    put_int64(&node, "comm_type", 0);
    put_message(&sizeless, &node);
    ck_assert_ptr_nonnull(strstr(mistake(&sizeless), "comm_size"));
    put_message(&cut, &node);
    cut.n--;
    ck_assert_ptr_nonnull(strstr(mistake(&cut), "cut off"));
    node = begin_node(5, 99, 1);
    put_message(&strange, &node);
    ck_assert_ptr_nonnull(strstr(mistake(&strange), "type of node"));
    node = begin_node(5, COMPUTE, 1);
    put_dep(&node, 6);
    put_message(&lost, &node);
    size_t n_warnings = diags.n_warnings;
    ck_assert_int_eq(parsed(&lost, "a").nodes[0].n_deps, 0);
    ck_assert_uint_eq(diags.n_warnings, n_warnings + 1);
}

TSIM_TEST(written_and_read_again) {
    const int32_t deps[] = {0}, ranks[] = {1, 5};
    struct tsim_history_node nodes[] = {
        {.id = 1, .name = "a", .kind = TSIM_HISTORY_COMPUTE, .duration_s = 1.4e-6, .n_ops = 12, .bytes = 34},
        {.id = 2,
         .name = "b",
         .kind = TSIM_HISTORY_COLLECTIVE,
         .n_deps = 1,
         .deps = deps,
         .start_s = 1.4e-6,
         .duration_s = 1.4e-6,
         .collective = TSIM_HISTORY_ALL_TO_ALL,
         .comm_bytes = 56,
         .group = 0},
        {.id = 3, .name = "c", .kind = TSIM_HISTORY_SEND, .comm_bytes = 78, .from = 5, .to = 1, .tag = 9},
        {.id = 4, .name = "d", .kind = TSIM_HISTORY_COMPUTE, .is_host = true, .stream = 3, .duration_s = 2e-6}};
    struct tsim_history_group group = {"4", 2, ranks};
    struct tsim_history e = {.rank = 5, .n_ranks = 8, .n_nodes = 4, .nodes = nodes, .n_groups = 1, .groups = &group},
                        back;
    char file[64];
    snprintf(file, sizeof file, "/tmp/tsim-test-chakra-%ld.5.et", (long)getpid());
    ck_assert_int_eq(tsim_chakra_write(&arena, file, &e, &diags), TSIM_OK);
    ck_assert_int_eq(tsim_chakra_read(&arena, file, &back, &diags), TSIM_OK);
    ck_assert_int_eq(unlink(file), 0);
    ck_assert_int_eq(back.rank, 5);
    ck_assert_int_eq(back.n_ranks, 8);
    ck_assert_int_eq(back.n_nodes, 5); /* and that of the groups, first, on the host as in PyTorch's traces */
    ck_assert(back.nodes[0].is_host);
    ck_assert_uint_eq(back.nodes[0].id, 0);
    const struct tsim_history_node *b = back.nodes + 1;
    ck_assert_double_eq(b[0].n_ops, 12);
    ck_assert_double_eq(b[0].bytes, 34);
    /* 1.4 us is 1; 1.4 to 2.8 is from 1 to 3: what is lost does not add up */
    ck_assert_double_eq_tol(b[0].duration_s, 1e-6, 1e-15);
    ck_assert_double_eq_tol(b[1].duration_s, 2e-6, 1e-15);
    ck_assert_int_eq(b[1].deps[0], 1);
    ck_assert_int_eq(b[1].collective, TSIM_HISTORY_ALL_TO_ALL);
    ck_assert_int_eq(back.groups[b[1].group].ranks[1], 5);
    ck_assert_int_eq(b[2].to, 1);
    ck_assert_int_eq(b[2].tag, 9);
    ck_assert_double_eq(b[2].comm_bytes, 78);
    ck_assert(b[3].is_host);
    ck_assert_int_eq(b[3].stream, 3);
}

/* ---- replaying, on a node of eight ---- */

static const struct tsim_scenario *eight(void) {
    static const char TEXT[] = "{schema: tsim/v1, name: eight, model: mlp-mnist, cluster: {node: dgx-h100, nodes: 1}, "
                               "training: {global_batch_size: 8}}";
    return load_text(TEXT);
}

static double cost_s(const struct tsim_scenario *scenario, enum tsim_collective_op op, double bytes, int32_t n) {
    struct tsim_collective_request request = {
        .op = op,
        .bytes = bytes,
        .group = {.n_ranks = n, .n_nodes = 1, .max_ranks_per_node = n, .min_ranks_per_node = n, .stride = 1}};
    struct tsim_collective_cost cost;
    tsim_collective_cost(tsim_cluster_build(&arena, scenario), &request, &cost);
    return cost.time_s;
}

static struct tsim_replay_result replayed(const struct tsim_history *e, int32_t n) {
    struct tsim_replay_options options = {.by_roofline = false};
    struct tsim_replay_result result = {0};
    ck_assert_int_eq(tsim_replay(&arena, eight(), e, n, NULL, 0, &options, &result, &diags), TSIM_OK);
    return result;
}

static enum tsim_status status_of(const struct tsim_history *e, int32_t n) {
    struct tsim_replay_options options = {.by_roofline = false};
    struct tsim_replay_result result;
    return tsim_replay(&arena, eight(), e, n, NULL, 0, &options, &result, &diags);
}

static struct tsim_history_node kernel(double duration_s) {
    return (struct tsim_history_node){
        .name = "k", .kind = TSIM_HISTORY_COMPUTE, .duration_s = duration_s, .group = -1, .from = -1, .to = -1};
}

static struct tsim_history_node all_reduce(double bytes, const int32_t *deps) {
    return (struct tsim_history_node){.name = "r",
                                      .kind = TSIM_HISTORY_COLLECTIVE,
                                      .collective = TSIM_HISTORY_ALL_REDUCE,
                                      .comm_bytes = bytes,
                                      .n_deps = deps != NULL,
                                      .deps = deps,
                                      .group = -1,
                                      .from = -1,
                                      .to = -1};
}

static struct tsim_history of_rank(int32_t rank, const struct tsim_history_node *nodes, int32_t n) {
    return (struct tsim_history){.file = "test", .version = "", .rank = rank, .n_nodes = n, .nodes = nodes};
}

/* Two kernels on one stream of the accelerator and one of 5 s on the host, which nothing waits for: 5 s, of which the
 * host is alone for 2. */
TSIM_TEST(streams_run_side_by_side) {
    struct tsim_history_node nodes[] = {kernel(1), kernel(2), kernel(5)};
    nodes[2].is_host = true;
    struct tsim_history e = of_rank(0, nodes, 3);
    struct tsim_replay_result r = replayed(&e, 1);
    ck_assert_double_eq_tol(r.time_s, 5, 1e-9);
    ck_assert_double_eq_tol(r.ranks[0].compute_s, 3, 1e-9);
    ck_assert_double_eq_tol(r.ranks[0].host_s, 2, 1e-9);
    nodes[0].stream = 9; /* another stream: both kernels at a time */
    ck_assert_double_eq_tol(replayed(&e, 1).ranks[0].compute_s, 2, 1e-9);
}

/* Time is counted up to 9.2e6 s: what would end later is refused, one node's time or those of several. */
TSIM_TEST(times_that_are_too_long) {
    static const struct {
        double first_s, second_s;
        bool is_host, is_good;
    } CASES[] = {{9e6, 1, false, true},
                 {1e7, 1, false, false},
                 {5e8, 5e8, true, false},
                 {9e6, 9e6, true, false},
                 {9e6, 9e6, false, false}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct tsim_history_node nodes[] = {kernel(CASES[i].first_s), kernel(CASES[i].second_s)};
        nodes[0].is_host = nodes[1].is_host = CASES[i].is_host;
        struct tsim_history e = of_rank(0, nodes, 2);
        ck_assert_int_eq(status_of(&e, 1), CASES[i].is_good ? TSIM_OK : TSIM_ERR_LIMIT);
    }
}

/* The faster rank waits for the slower one; then both take what the collective costs. */
TSIM_TEST(a_collective_begins_with_the_last) {
    const int32_t deps[] = {0};
    struct tsim_history_node slow[] = {kernel(3), all_reduce(1e9, deps)}, fast[] = {kernel(1), all_reduce(1e9, deps)};
    struct tsim_history e[] = {of_rank(0, slow, 2), of_rank(1, fast, 2)};
    struct tsim_replay_result r = replayed(e, 2);
    double c = cost_s(eight(), TSIM_ALL_REDUCE, 1e9, 8); /* of all eight: six are not traced */
    ck_assert_double_eq_tol(r.time_s, 3 + c, 1e-9);
    ck_assert_double_eq_tol(r.ranks[1].waiting_s, 2, 1e-9);
    ck_assert_double_eq_tol(r.ranks[1].exposed_communication_s, c, 1e-9);
}

/* Chakra tells a rank's own part of an all-gather, tsim the whole. */
TSIM_TEST(an_all_gather_of_parts) {
    struct tsim_history_node node = all_reduce(1e8, NULL);
    node.collective = TSIM_HISTORY_ALL_GATHER;
    struct tsim_history e = of_rank(0, &node, 1);
    ck_assert_double_eq_tol(replayed(&e, 1).time_s, cost_s(eight(), TSIM_ALL_GATHER, 8e8, 8), 1e-9);
}

/* Two process groups of the same ranks run at the same time on the same links: their bytes cross the accelerator's port
 * one after another. */
TSIM_TEST(collectives_share_links) {
    const int32_t ranks[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const struct tsim_history_group groups[] = {{"a", 8, ranks}, {"b", 8, ranks}};
    struct tsim_history_node nodes[] = {all_reduce(4e9, NULL), all_reduce(4e9, NULL)};
    nodes[0].group = 0;
    nodes[1].group = 1;
    struct tsim_history e = of_rank(0, nodes, 2);
    e.groups = groups;
    e.n_groups = 2;
    struct tsim_history one = of_rank(0, nodes, 1);
    one.groups = groups;
    one.n_groups = 2;
    const struct tsim_cluster *cluster = tsim_cluster_build(&arena, eight());
    struct tsim_collective_request request = {
        .op = TSIM_ALL_REDUCE,
        .bytes = 4e9,
        .group = {.n_ranks = 8, .n_nodes = 1, .max_ranks_per_node = 8, .min_ranks_per_node = 8, .stride = 1}};
    struct tsim_collective_cost cost;
    tsim_collective_cost(cluster, &request, &cost);
    double port_s = cost.scale_up_bytes / cluster->scale_up_bytes_per_s;
    ck_assert_double_gt(2 * port_s, cost.time_s); /* they do get in each other's way */
    ck_assert_double_eq_tol(replayed(&one, 1).time_s, cost.time_s, 1e-9);
    ck_assert_double_eq_tol(replayed(&e, 1).time_s, cost.latency_s + 2 * port_s, 1e-9);
}

/* It takes 2 s on rank 0, a message, and 1 s on rank 1. */
TSIM_TEST(a_message_from_stage_to_stage) {
    const int32_t deps[] = {0};
    struct tsim_history_node first[] = {kernel(2), kernel(0)}, second[] = {kernel(0), kernel(1)};
    first[1].kind = TSIM_HISTORY_SEND;
    first[1].to = 1;
    second[0].kind = TSIM_HISTORY_RECEIVE;
    second[0].from = 0;
    first[1].comm_bytes = second[0].comm_bytes = 1e8;
    first[1].n_deps = second[1].n_deps = 1;
    first[1].deps = second[1].deps = deps;
    struct tsim_history e[] = {of_rank(0, first, 2), of_rank(1, second, 2)};
    double c = cost_s(eight(), TSIM_SEND_RECV, 1e8, 2);
    ck_assert_double_eq_tol(replayed(e, 2).time_s, 3 + c, 1e-9);
    ck_assert_double_eq_tol(replayed(&e[1], 1).time_s, 1 + c, 1e-9); /* alone: its message is there */
    second[0].tag = 4;
    ck_assert_int_eq(status_of(e, 2), TSIM_ERR_INFEASIBLE);
}

/* A message that fits into the receiver's buffer (c long) flows while the receiver still computes for 3 s; a larger one
 * waits for it. */
TSIM_TEST(a_message_that_does_not_wait) {
    const int32_t deps[] = {0};
    struct tsim_history_node first[] = {kernel(1), kernel(0)}, second[] = {kernel(3), kernel(0)};
    first[1].kind = TSIM_HISTORY_SEND;
    first[1].to = 1;
    second[1].kind = TSIM_HISTORY_RECEIVE;
    second[1].from = 0;
    first[1].comm_bytes = second[1].comm_bytes = 1e6;
    first[1].n_deps = second[1].n_deps = 1;
    first[1].deps = second[1].deps = deps;
    struct tsim_history e[] = {of_rank(0, first, 2), of_rank(1, second, 2)};
    double c = cost_s(eight(), TSIM_SEND_RECV, 1e6, 2);
    ck_assert_double_eq_tol(replayed(e, 2).time_s, 3 + c, 1e-9);
    struct tsim_replay_options eager = {.eager_bytes = 1e6};
    struct tsim_replay_result r;
    ck_assert_int_eq(tsim_replay(&arena, eight(), e, 2, NULL, 0, &eager, &r, &diags), TSIM_OK);
    ck_assert_double_eq_tol(r.time_s, 3, 1e-9);
    ck_assert_double_eq_tol(r.ranks[0].end_s, 1 + c, 1e-9);
    ck_assert_double_eq_tol(r.ranks[1].communication_s, c, 1e-9); /* under its kernel */
    ck_assert_double_eq_tol(r.ranks[1].exposed_communication_s, 0, 1e-12);
}

/* The ring all-reduce of 1 MiB that ASTRA-sim's examples spell out (custom_ring_allreduce_8npus_1MB): each of 8 ranks
 * sends an eighth to the next, then receives one from the previous, 14 times, each after what it did before. All send
 * first: messages that wait for their receiver wait for ever, the others take 14 times as long as one. */
TSIM_TEST(a_ring_in_which_all_send_first) {
    enum { N = 8, STEPS_OF_RING = 2 * (N - 1), NODES = 2 * STEPS_OF_RING };
    static const double PART_BYTES = 1048576.0 / N;
    int32_t before[NODES];
    struct tsim_history_node nodes[N][NODES];
    struct tsim_history e[N];
    for (int r = 0; r < N; r++) {
        for (int i = 0; i < NODES; i++) {
            before[i] = i - 1;
            nodes[r][i] = kernel(0);
            nodes[r][i].kind = i % 2 == 0 ? TSIM_HISTORY_SEND : TSIM_HISTORY_RECEIVE;
            nodes[r][i].from = i % 2 == 0 ? r : (r + N - 1) % N;
            nodes[r][i].to = i % 2 == 0 ? (r + 1) % N : r;
            nodes[r][i].comm_bytes = PART_BYTES;
            nodes[r][i].n_deps = i > 0;
            nodes[r][i].deps = &before[i];
        }
        e[r] = of_rank(r, nodes[r], NODES);
    }
    struct tsim_replay_options options = {.eager_bytes = PART_BYTES};
    struct tsim_replay_result result;
    ck_assert_int_eq(tsim_replay(&arena, eight(), e, N, NULL, 0, &options, &result, &diags), TSIM_OK);
    ck_assert_double_eq_tol(result.time_s, STEPS_OF_RING * cost_s(eight(), TSIM_SEND_RECV, PART_BYTES, 2), 1e-10);
    options.eager_bytes = PART_BYTES - 1;
    ck_assert_int_eq(tsim_replay(&arena, eight(), e, N, NULL, 0, &options, &result, &diags), TSIM_ERR_INFEASIBLE);
    const struct tsim_diag *last = &diags.items[diags.n_items - 1];
    ck_assert_ptr_nonnull(strstr(last->message, "112 messages are larger than eager_limit, 131"));
    ck_assert_ptr_nonnull(strstr(last->hint, "--set eager_limit"));
}

/* A node that 40 others on 40 streams wait for: more than a task of the engine can tell at once. */
TSIM_TEST(many_wait_for_one) {
    const int32_t deps[] = {0};
    struct tsim_history_node nodes[41];
    nodes[0] = kernel(1);
    for (int i = 1; i <= 40; i++) {
        nodes[i] = kernel(0.5 * i);
        nodes[i].stream = i;
        nodes[i].n_deps = 1;
        nodes[i].deps = deps;
    }
    struct tsim_history e = of_rank(3, nodes, 41);
    ck_assert_double_eq_tol(replayed(&e, 1).time_s, 1 + 20, 1e-9);
}

TSIM_TEST(ranks_that_disagree) {
    struct tsim_history_node a[] = {all_reduce(8, NULL)}, b[] = {all_reduce(8, NULL), all_reduce(8, NULL)};
    struct tsim_history e[] = {of_rank(0, a, 1), of_rank(1, b, 2)};
    ck_assert_int_eq(status_of(e, 2), TSIM_ERR_INFEASIBLE); /* one collective, or two */
    e[1].n_nodes = 1;
    b[0].collective = TSIM_HISTORY_BROADCAST;
    ck_assert_int_eq(status_of(e, 2), TSIM_ERR_INFEASIBLE);
    e[1].rank = 0;
    ck_assert_int_eq(status_of(e, 2), TSIM_ERR_REFERENCE); /* the same rank twice */
    e[1].rank = 8;
    ck_assert_int_eq(status_of(e, 2), TSIM_ERR_REFERENCE); /* beyond the cluster */
}

/* ---- there and back: a simulated step, exported and replayed on its own cluster ---- */

/* One rank of each stage; kernels are recorded as long as they took beside collectives. */
static const char *const STEPS[] = {"zb-v",    "zero3", "zero3-hybrid", "zero0-no-overlap", "context-parallel",
                                    "mixtral", "t5",    "interleaved",  "dualpipe",         "deepseek-v3",
                                    "unfolded"};
/* The last ones have up to a hundred thousand nodes: they are left to TSIM_CASES. */
enum { N_STEPS = sizeof STEPS / sizeof STEPS[0], N_BRIEF_STEPS = N_STEPS - 5 };

/* Returns whether each pass of the first micro-batch is its kernels, and none of them is without a name. */
static bool has_kernels_of_passes(const struct tsim_history *e) {
    bool has_forward = false, has_backward = false;
    for (int32_t i = 0; i < e->n_nodes; i++) {
        const char *name = e->nodes[i].name;
        bool is_first = e->nodes[i].kind == TSIM_HISTORY_COMPUTE && strstr(name, ", micro-batch 0,");
        has_forward |= is_first && strstr(name, " (forward)");
        has_backward |= is_first && strstr(name, " (backward)");
        if (is_first && e->nodes[i].duration_s > 0 && !strchr(name, '('))
            return false;
    }
    return has_forward && has_backward;
}

/* Returns one layer per chunk for scenarios with many micro-batches, or NULL for all of the model's. */
static const char *layers_of(const char *golden) {
    return strcmp(golden, "interleaved") == 0 ? "24" : strcmp(golden, "unfolded") == 0 ? "20" : NULL;
}

static void go_there_and_back(const char *golden, const char *detail, const char *offload, double tolerance) {
    const char *file = tsim_arena_printf(&arena, "%s/tests/golden/%s.yaml", TSIM_SOURCE_TREE, golden);
    const struct tsim_scenario *sc;
    struct tsim_override settings[3] = {{"simulation.detail", detail}};
    size_t n_settings = 1;
    if (offload)
        settings[n_settings++] = (struct tsim_override){"training.offload", offload};
    if (layers_of(golden))
        settings[n_settings++] = (struct tsim_override){"model.layers", layers_of(golden)};
    ck_assert_int_eq(tsim_scenario_load(&arena, file, settings, n_settings, &sc, &diags), TSIM_OK);
    struct tsim_recorder *recorder = tsim_recorder_new(&arena, sc);
    struct tsim_run_options options = {.is_steady = true, .ignore_memory = true, .sink = tsim_recorder_sink(recorder)};
    struct tsim_result result;
    struct tsim_replay_result replay;
    ck_assert_int_eq(tsim_train_run(&arena, sc, &options, &result, &diags), TSIM_OK);
    const struct tsim_placement *placement = tsim_placement_build(&arena, sc);
    int32_t n = (int32_t)sc->parallelism.pipeline;
    struct tsim_history *e = TSIM_NEW_ARRAY(&arena, (size_t)n, struct tsim_history);
    const char *name = tsim_arena_printf(&arena, "/tmp/tsim-test-chakra-%ld", (long)getpid());
    for (int32_t stage = 0; stage < n; stage++) {
        struct tsim_coordinates at = {.at[TSIM_AXIS_PIPELINE] = stage};
        int32_t rank = tsim_placement_rank(placement, &at);
        const char *et = tsim_arena_printf(&arena, "%s.%d.et", name, rank);
        tsim_recorder_history(recorder, &arena, rank, &e[stage]);
        ck_assert_int_eq(tsim_chakra_write(&arena, et, &e[stage], &diags), TSIM_OK);
        ck_assert_int_eq(tsim_chakra_read(&arena, et, &e[stage], &diags), TSIM_OK);
        ck_assert_int_eq(unlink(et), 0);
        ck_assert_int_eq(e[stage].rank, rank);
        ck_assert(has_kernels_of_passes(&e[stage]));
    }
    tsim_recorder_release(recorder);
    struct tsim_replay_options as_recorded = {.eager_bytes = 4 * 1048576.0};
    ck_assert_int_eq(tsim_replay(&arena, sc, e, n, NULL, 0, &as_recorded, &replay, &diags), TSIM_OK);
    ck_assert_double_eq_tol(replay.time_s / result.step.terms.time_s, 1, tolerance);
}

/* Times are whole microseconds in a trace. */
TSIM_TEST_LOOP(operators_there_and_back, 0, getenv("TSIM_CASES") ? N_STEPS : N_BRIEF_STEPS) {
    /* A trace has the bytes of exchanges with a copy for each node, not that they reach 0.85 of the links: those that
     * no pass hides are replayed so much faster. */
    bool waits_for_exchanges = strcmp(STEPS[_i], "deepseek-v3") == 0;
    go_there_and_back(STEPS[_i], "operators", NULL, waits_for_exchanges ? 0.04 : 0.0005);
}

/* The kernels of a pass share what collectives beside them take. */
TSIM_TEST_LOOP(passes_there_and_back, 0, getenv("TSIM_CASES") ? 4 : 3) {
    static const char *const SOME[] = {"zero3-hybrid", "mixtral", "context-parallel", "dualpipe"};
    go_there_and_back(SOME[_i], "passes", NULL, 0.005);
}

/* Copies begin with their pass, which is over when they are, as the host's update begins when it has the gradients. */
TSIM_TEST_LOOP(copies_there_and_back, 0, getenv("TSIM_CASES") ? 3 : 2) {
    static const char *const SOME[] = {"zero0-no-overlap", "zero3", "interleaved"};
    go_there_and_back(SOME[_i], "operators", "{activations: 90 %, optimizer: true}", 0.005);
}

/* A tensor-parallel pass forward through four layers and the head on one stage: sequence parallelism gathers and
 * scatters the activations twice in a layer (Korthikanti et al. 2022, section 4.2.2), all b x s x h of them in 16
 * bits. */
TSIM_TEST(operators_are_nodes) {
    static const double ACTIVATIONS_BYTES = 1.0 * 4096 * 8192 * 2;
    enum { TENSOR = 8, LAYERS = 4 };
    const struct tsim_override settings[] = {
        {"model.layers", "4"},           {"parallelism.pipeline", "1"},       {"parallelism.virtual_pipeline", "1"},
        {"cluster.nodes", "1"},          {"training.global_batch_size", "1"}, {"software", "megatron-2022"},
        {"parallelism.sequence", "true"}};
    const char *file = tsim_arena_printf(&arena, "%s/tests/golden/unfolded.yaml", TSIM_SOURCE_TREE);
    const struct tsim_scenario *sc;
    ck_assert_int_eq(tsim_scenario_load(&arena, file, settings, sizeof settings / sizeof settings[0], &sc, &diags),
                     TSIM_OK);
    struct tsim_recorder *recorder = tsim_recorder_new(&arena, sc);
    struct tsim_run_options options = {.is_steady = true, .ignore_memory = true, .sink = tsim_recorder_sink(recorder)};
    struct tsim_result result;
    struct tsim_history e;
    ck_assert_int_eq(tsim_train_run(&arena, sc, &options, &result, &diags), TSIM_OK);
    tsim_recorder_history(recorder, &arena, 0, &e);
    int32_t n_gathers = 0, n_scatters = 0, n_products = 0;
    for (int32_t i = 0; i < e.n_nodes && !strstr(e.nodes[i].name, "(backward)"); i++) {
        const struct tsim_history_node *node = &e.nodes[i];
        if (node->kind == TSIM_HISTORY_COLLECTIVE) {
            bool is_gather = node->collective == TSIM_HISTORY_ALL_GATHER;
            ck_assert(is_gather || node->collective == TSIM_HISTORY_REDUCE_SCATTER);
            ck_assert_double_eq(node->comm_bytes, is_gather ? ACTIVATIONS_BYTES / TENSOR : ACTIVATIONS_BYTES);
            *(is_gather ? &n_gathers : &n_scatters) += 1;
        } else if (strstr(node->name, "ffn up (forward)")) { /* gate and up are 28,672 wide */
            ck_assert_double_eq_tol(node->n_ops, 2.0 * 4096 * 8192 * 2 * 28672 / TENSOR, 1);
            ck_assert_str_eq(e.nodes[node->deps[0]].name, "tensor: gather, ffn");
            n_products++;
        }
        if (i > 0) { /* one after another: nothing runs beside kernels here */
            ck_assert_int_eq(node->n_deps, 1);
            ck_assert_int_eq(node->deps[0], i - 1);
        }
    }
    ck_assert_int_eq(n_gathers, 2 * LAYERS + 1);  /* and the head's */
    ck_assert_int_eq(n_scatters, 2 * LAYERS + 1); /* and the embedding's */
    ck_assert_int_eq(n_products, LAYERS);
    tsim_recorder_release(recorder);
}

TSIM_MAIN(60, set_up, tear_down)
