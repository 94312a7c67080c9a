/* Layers with experts, and latent attention: FLOPs, rows and traffic against counts by hand. The example: t = 1024
 * tokens, h = 1024, ffn 4096 (two matrices), 8 heads of 128, bf16; experts: 8 of width 2048, 2 for each token. In units
 * of 2^30 FLOPs a product of t x h by h x 512 is 1. */
#include "model/model.h"
#include "model/operators.h"
#include "model/routing.h"
#include "support/example.h"
#include "support/operator_list.h"

#include <string.h>

static struct example e;
static const double UNIT = 1 << 30, T = 1024, H = 1024, K = 2;

static void init_mixture(int64_t tensor, int64_t expert) {
    example_init(&e);
    e.model.experts = (struct tsim_experts){.count = 8, .active = 2, .ffn_hidden = 2048, .every = 1};
    e.scenario.parallelism.tensor = tensor;
    e.scenario.parallelism.expert = expert;
    example_finish(&e);
}

/* Attention's products 8 + core 4, as in a dense layer; router 2 t h 8 = 1/64; experts 2 t K 2 h 2048 = 16. Backward
 * twice. On one rank nothing is exchanged and nothing imbalanced. */
TSIM_TEST(flops_on_one_rank) {
    struct tsim_op_list forward, backward;
    init_mixture(1, 1);
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &forward);
    tsim_operators_backward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &backward);
    double expected = (8 + 4 + 1.0 / 64 + 16) * UNIT;
    ck_assert_double_eq_tol(sum_flops(&forward), expected, 1);
    ck_assert_double_eq_tol(sum_flops(&backward), 2 * expected, 1);
    ck_assert_double_eq(find(&forward, "expert up")->batch, 8);
    ck_assert_double_eq(find(&forward, "expert up")->m, T * K / 8);
    ck_assert_ptr_null(seek(&forward, "expert: dispatch"));
    ck_assert_double_eq(sum_collective(&forward, TSIM_OP_ALL_TO_ALL), 0);
}

/* Executed layers, dense and with experts, agree with the model's count (see test_operators.c): 4 layers of each
 * kind. */
TSIM_TEST(model_flops) {
    struct tsim_op_list dense, mixture, head;
    init_mixture(1, 1);
    e.model.experts.every = 2;
    e.model.experts.shared = 1;
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &dense);
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &mixture);
    tsim_operators_forward(&e.scenario, TSIM_PART_HEAD, 0, &head);
    double layers = 4 * sum_flops(&dense) + 4 * sum_flops(&mixture);
    double uncounted = 6 * (32768.0 * 1024 + (8 * 4 + 2) * 1024); /* the table is looked up, norms are not products */
    ck_assert_double_eq_tol(tsim_model_flops_per_token(&e.model, T, T), 3 * (layers + sum_flops(&head)) / T + uncounted,
                            1);
    struct tsim_layer_flops counted = tsim_model_forward_flops_per_token(&e.model, T, T);
    ck_assert_double_eq_tol(counted.products + counted.core, layers / T, 1);
}

/* 4 expert ranks: two experts each, the products of the fullest rank; every rank sends its t K rows, there and back,
 * forward and backward, with the imbalance of the fullest; the router sees its own tokens. */
TSIM_TEST(expert_ranks) {
    struct tsim_op_list forward, backward;
    init_mixture(1, 4);
    e.model.experts.imbalance_frac = 0.1;
    double g = tsim_routing_imbalance(&e.model.experts, 4, T);
    ck_assert_double_gt(g, 1.03);
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &forward);
    tsim_operators_backward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &backward);
    double expected = (8 + 4 + 1.0 / 64 + 16 * g) * UNIT;
    ck_assert_double_eq_tol(sum_flops(&forward), expected, 1);
    ck_assert_double_eq_tol(sum_flops(&backward), 2 * expected, 2);
    ck_assert_double_eq(find(&forward, "expert up")->batch, 2);
    ck_assert_double_eq_tol(find(&forward, "expert up")->m, g * T * K / 2, 1e-6);
    ck_assert_double_eq_tol(sum_collective(&forward, TSIM_OP_ALL_TO_ALL), 2 * g * T * K * H * 2, 1);
    ck_assert_double_eq_tol(sum_collective(&backward, TSIM_OP_ALL_TO_ALL), 2 * g * T * K * H * 2, 1);
    ck_assert_int_eq(find(&forward, "expert: dispatch")->axis, TSIM_AXIS_EXPERT);
    for (int64_t ranks = 2; ranks <= 4; ranks += 2) { /* 4 or 2 experts of 8 each: rows are read and written in order */
        init_mixture(1, ranks);
        double rows = tsim_routing_imbalance(&e.model.experts, (double)ranks, T) * T * K;
        tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &forward);
        tsim_operators_backward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &backward);
        ck_assert_double_eq_tol(find(&forward, "sort by expert")->bytes, rows * H * 2 * 2, 1e-3);
        ck_assert_double_eq_tol(find(&forward, "sort by sender")->bytes, rows * H * 2 * 2, 1e-3);
        ck_assert_double_eq_tol(find(&backward, "sort by sender")->bytes, rows * H * 2 * 2, 1e-3);
        ck_assert_double_eq(find(&backward, "sort by expert")->kernels, 1);
    }
}

/* A capacity factor pads: rows and messages are that times the mean. */
TSIM_TEST(capacity) {
    struct tsim_op_list list;
    init_mixture(1, 8);
    e.model.experts.capacity_factor = 1.5;
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &list);
    ck_assert_double_eq(find(&list, "expert up")->m, 1.5 * T * K);
    ck_assert_double_eq(find(&list, "expert: combine")->collective_bytes, 1.5 * T * K * H * 2);
    ck_assert_ptr_null(seek(&list, "sort by expert")); /* one expert: rows arrive in order */
}

/* Tensor 2: each expert is halved. With sequence parallelism a rank sends its own half of the tokens, and the rows are
 * gathered before and scattered after the products; without, every rank sends all, and h, not K h, is summed at the
 * end. Attention's collectives are those of a dense layer without its block: 1 of 2. */
TSIM_TEST(tensor_ranks) {
    struct tsim_op_list list, dense;
    double activation = T * H * 2;
    init_mixture(2, 2);
    double g = tsim_routing_imbalance(&e.model.experts, 2, T);
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &list);
    ck_assert_double_eq_tol(sum_flops(&list), ((8 + 4 + 16 * g) / 2 + 1.0 / 64) * UNIT, 1);
    ck_assert_double_eq_tol(find(&list, "expert: dispatch")->collective_bytes, g * K * activation, 1);
    ck_assert_double_eq(sum_collective(&list, TSIM_OP_ALL_REDUCE), 2 * activation);
    e.scenario.parallelism.sequence = true;
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &list);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &dense);
    ck_assert_double_eq_tol(sum_flops(&list), ((8 + 4 + 16 * g) / 2 + 0.5 / 64) * UNIT, 1);
    ck_assert_double_eq_tol(find(&list, "expert: dispatch")->collective_bytes, g * K * activation / 2, 1);
    ck_assert_double_eq_tol(sum_collective(&list, TSIM_OP_ALL_GATHER),
                            sum_collective(&dense, TSIM_OP_ALL_GATHER) / 2 + g * K * activation, 1);
    ck_assert_double_eq_tol(sum_collective(&list, TSIM_OP_REDUCE_SCATTER),
                            sum_collective(&dense, TSIM_OP_REDUCE_SCATTER) / 2 + g * K * activation, 1);
}

/* Tensor 2, but experts whole: 4 expert ranks are 2 tensor ranks of 2 replicas, each with the rows of 512 own tokens;
 * the rows stay as they came. */
TSIM_TEST(whole_experts_on_tensor_ranks) {
    struct tsim_op_list list, dense;
    double activation = T * H * 2;
    init_mixture(2, 4);
    e.scenario.parallelism.sequence = true;
    e.scenario.parallelism.expert_tensor = 1;
    double g = tsim_routing_imbalance(&e.model.experts, 4, T / 2);
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &list);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &dense);
    ck_assert_double_eq_tol(sum_flops(&list), ((8 + 4 + 16 * g) / 2 + 0.5 / 64) * UNIT, 1);
    ck_assert_double_eq(find(&list, "expert up")->n, 2048);
    ck_assert_double_eq_tol(find(&list, "expert up")->m, g * T / 2 * K / 2, 1e-6);
    ck_assert_double_eq_tol(find(&list, "expert: dispatch")->collective_bytes, g * K * activation / 2, 1);
    ck_assert_double_eq(sum_collective(&list, TSIM_OP_ALL_GATHER), sum_collective(&dense, TSIM_OP_ALL_GATHER) / 2);
}

/* Shared experts are a block of their widths together: two of 2048 as the dense block of 4096, and a sum. */
TSIM_TEST(shared_experts) {
    struct tsim_op_list without, with, dense;
    init_mixture(1, 1);
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &without);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &dense);
    e.model.experts.shared = 2;
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &with);
    ck_assert_double_eq_tol(sum_flops(&with) - sum_flops(&without), 16 * UNIT, 1);
    ck_assert_double_eq(find(&with, "ffn up")->n, find(&dense, "ffn up")->n);
    ck_assert_double_eq(find(&with, "shared, add")->bytes, 3 * 2 * T * H);
}

/* One copy for each node; in fp8 where software sends it and products are, while results and gradients of inputs return
 * in bf16. */
TSIM_TEST(dispatch_per_node) {
    struct tsim_op_list forward, backward;
    init_mixture(1, 4);
    e.software.expert_dispatch = TSIM_DISPATCH_PER_NODE;
    e.scenario.training.precision = TSIM_FP8;
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &forward);
    ck_assert_double_eq(find(&forward, "expert: dispatch")->collective_bytes,
                        find(&forward, "expert: combine")->collective_bytes);
    e.software.fp8_dispatch = true;
    double g = tsim_routing_imbalance(&e.model.experts, 4, T);
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &forward);
    tsim_operators_backward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &backward);
    ck_assert(find(&forward, "expert: dispatch")->once_per_node);
    ck_assert_double_eq_tol(find(&forward, "expert: dispatch")->collective_bytes, g * T * K * H, 1);
    ck_assert_double_eq_tol(find(&forward, "expert: combine")->collective_bytes, 2 * g * T * K * H, 1);
    ck_assert_double_eq_tol(find(&backward, "expert: combine, gradient")->collective_bytes, g * T * K * H, 1);
    ck_assert_double_eq_tol(find(&backward, "expert: dispatch, gradient")->collective_bytes, 2 * g * T * K * H, 1);
}

static double sum_bytes(const struct tsim_op_list *list) {
    double bytes = 0;
    for (int32_t i = 0; i < list->n; i++)
        bytes += list->ops[i].bytes;
    return bytes;
}

static int count_of(const struct tsim_op_list *list, const char *name) {
    int n = 0;
    for (int32_t i = 0; i < list->n; i++)
        n += strcmp(list->ops[i].name, name) == 0;
    return n;
}

/* Tensor 2, by width: there and back, forward and backward, 512 tokens of 2 h bytes are copied and exchanged over the
 * tensor ranks, and the rows copied beside their gather and their scatter. The exchange of expert ranks stays the same,
 * and so does everything where experts are whole, or tokens are not shared out. */
TSIM_TEST(dispatch_by_width) {
    struct tsim_op_list lists[2][2];
    init_mixture(2, 2);
    e.scenario.parallelism.sequence = true;
    for (int i = 0; i < 2; i++) {
        e.software.expert_dispatch = i ? TSIM_DISPATCH_BY_WIDTH : TSIM_DISPATCH_ALL_TO_ALL;
        tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &lists[i][0]);
        tsim_operators_backward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &lists[i][1]);
    }
    double rows = tsim_routing_imbalance(&e.model.experts, 2, T) * T * K, own = T / 2;
    for (int phase = 0; phase < 2; phase++) {
        const struct tsim_op_list *plain = &lists[0][phase], *list = &lists[1][phase];
        ck_assert_int_eq(list->n, plain->n + 6);
        ck_assert_int_eq(count_of(list, "slices of the width"), 4);
        ck_assert_double_eq_tol(sum_bytes(list) - sum_bytes(plain), 2 * (own + rows) * H * (2 + 2), 1e-3);
        ck_assert_double_eq_tol(sum_collective(list, TSIM_OP_ALL_TO_ALL) - sum_collective(plain, TSIM_OP_ALL_TO_ALL),
                                2 * own * H * 2, 1e-3);
        ck_assert_int_eq(find(list, "tensor: tokens to slices")->axis, TSIM_AXIS_TENSOR);
        ck_assert_double_eq(find(list, "tensor: slices to tokens")->collective_bytes, own * H * 2);
    }
    e.scenario.parallelism.expert_tensor = 1;
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &lists[0][0]);
    ck_assert_int_eq(count_of(&lists[0][0], "slices of the width"), 0);
    init_mixture(2, 2);
    e.software.expert_dispatch = TSIM_DISPATCH_BY_WIDTH;
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &lists[0][0]);
    ck_assert_int_eq(count_of(&lists[0][0], "slices of the width"), 0);
}

/* Two experts on a rank, one after the other: a kernel each, and their results, and the gradients of their rows, come
 * into one tensor by a copy. With one expert there is nothing to join. */
TSIM_TEST(one_expert_after_another) {
    struct tsim_op_list grouped, forward, backward;
    init_mixture(1, 4);
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &grouped);
    ck_assert(!find(&grouped, "expert up")->is_sequential);
    ck_assert_double_eq(find(&grouped, "expert up")->kernels, 1);
    e.software.expert_products = TSIM_PRODUCTS_SEQUENTIAL;
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &forward);
    tsim_operators_backward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &backward);
    double rows = tsim_routing_imbalance(&e.model.experts, 4, T) * T * K;
    ck_assert(find(&forward, "expert up")->is_sequential && find(&backward, "expert up, weight")->is_sequential);
    ck_assert_double_eq(find(&forward, "expert up")->kernels, 2);
    ck_assert_double_eq(find(&forward, "expert up")->flops, find(&grouped, "expert up")->flops);
    ck_assert_double_eq_tol(find(&forward, "join experts")->bytes, rows * H * (2 + 2), 1e-3);
    ck_assert_double_eq_tol(find(&backward, "join experts")->bytes, rows * H * (2 + 2), 1e-3);
    init_mixture(1, 8);
    e.software.expert_products = TSIM_PRODUCTS_SEQUENTIAL;
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &forward);
    ck_assert_ptr_null(seek(&forward, "join experts"));
}

static double padded_bytes(void) {
    struct tsim_op_list list;
    double bytes = 0;
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &list);
    for (int direction = 0; direction < 2; direction++) {
        for (int32_t i = 0; i < list.n; i++)
            if (strcmp(list.ops[i].name, "pad, experts") == 0 || strcmp(list.ops[i].name, "unpad, experts") == 0)
                bytes += list.ops[i].bytes;
        tsim_operators_backward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &list);
    }
    return bytes;
}

/* Transformer Engine in fp8: rows in and results out are copied, there and back, 2 bytes read and 2 written each time.
 * Not in 16 bits, by other software, into buffers of a capacity, or where one copy a node came in order. */
TSIM_TEST(rows_are_padded_for_fp8) {
    init_mixture(1, 4);
    double g = tsim_routing_imbalance(&e.model.experts, 4, T);
    e.software.fusion = TSIM_FUSION_TE;
    ck_assert_double_eq(padded_bytes(), 0);
    e.scenario.training.precision = TSIM_FP8;
    ck_assert_double_eq_tol(padded_bytes(), 4 * 4 * g * T * K * H, 1);
    e.software.expert_dispatch = TSIM_DISPATCH_PER_NODE;
    ck_assert_double_eq(padded_bytes(), 0);
    e.software.expert_dispatch = TSIM_DISPATCH_ALL_TO_ALL;
    e.model.experts.capacity_factor = 1;
    ck_assert_double_eq(padded_bytes(), 0);
    e.model.experts.capacity_factor = 0;
    e.software.fusion = TSIM_FUSION_NONE;
    ck_assert_double_eq(padded_bytes(), 0);
}

/* Tiles of 128 rows, of which 256 are an expert's: seven of eight boundaries lie inside one on each of two devices. A
 * tile's weights are read for each that has some of it, and FLOPs are those that were asked for. */
TSIM_TEST(tiles_of_two_experts) {
    struct tsim_op_list forward, backward;
    init_mixture(1, 1);
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &forward);
    const struct tsim_op plain = *find(&forward, "expert down");
    e.software.expert_tiles = (struct tsim_expert_tiles){.rows = 128, .weight_gradient_rows = 64, .devices = 2};
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &forward);
    tsim_operators_backward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &backward);
    const struct tsim_op *tiled = find(&forward, "expert down");
    ck_assert_double_eq(tiled->m, 256 + 2 * 128 * 7 / 8.0);
    ck_assert_double_eq(tiled->bytes - plain.bytes, 8 * (2 + 2 * 7 / 8.0 - 1) * H * 2048 * 2);
    ck_assert_double_eq(tiled->flops, plain.flops);
    ck_assert_double_eq(find(&backward, "expert down, weight")->k, 256 + 2 * 64 * 7 / 8.0);
    e.model.experts.capacity_factor = 1;
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &forward);
    ck_assert_double_eq(find(&forward, "expert down")->m, 256);
}

/* Recomputation that stops at the last tensor that is needed leaves out the second product and all that follows. */
TSIM_TEST(last_projection) {
    struct tsim_op_list list;
    init_mixture(1, 4);
    e.model.experts.shared = 1;
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &list);
    ck_assert(!find(&list, "expert activation")->is_last_projection);
    ck_assert(!find(&list, "ffn down")->is_last_projection);
    ck_assert(find(&list, "expert down")->is_last_projection);
    ck_assert(find(&list, "expert: combine")->is_last_projection);
    ck_assert(find(&list, "residual 2")->is_last_projection);
}

/* FLOPs of each part, forward: the core 4, queries to values from latent vectors 2 t 1024 (256 + 2 x 128), the shared
 * expert 4 t h 2048 = 8 units, router and experts 16 + 1/64, the product after attention 2; norms and activations
 * have none, but two and two operators. */
TSIM_TEST(parts_to_recompute) {
    struct tsim_op_list list;
    init_mixture(1, 1);
    e.model.experts.shared = 1;
    e.model.latent = (struct tsim_latent){.kv_rank = 128, .query_rank = 256};
    tsim_operators_forward(&e.scenario, TSIM_PART_EXPERT_LAYER, 0, &list);
    const struct {
        enum tsim_recompute_part part;
        double flops;
        int n_elementwise;
    } CASES[] = {{TSIM_RECOMPUTE_ATTENTION, 4 * UNIT, 1}, {TSIM_RECOMPUTE_NORMS, 0, 2},
                 {TSIM_RECOMPUTE_LATENT, 1 * UNIT, 0},    {TSIM_RECOMPUTE_ACTIVATION, 0, 2},
                 {TSIM_RECOMPUTE_FFN, 8 * UNIT, 1},       {TSIM_RECOMPUTE_EXPERTS, (16 + 1.0 / 64) * UNIT, 4},
                 {TSIM_RECOMPUTE_OUTPUT, 2 * UNIT, 1}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        double flops = 0;
        int n_elementwise = 0;
        for (int32_t o = 0; o < list.n; o++)
            if (list.ops[o].parts & CASES[i].part) {
                flops += list.ops[o].flops;
                n_elementwise += list.ops[o].kind == TSIM_OP_ELEMENTWISE;
            }
        ck_assert_double_eq_tol(flops, CASES[i].flops, 1);
        ck_assert_int_eq(n_elementwise, CASES[i].n_elementwise);
    }
}

/* DeepSeek-V2-Lite's kind: queries come straight from the residual stream. Down 2 t h (128 + 64), up 2 t 8 (1024 x 192
 * + 128 x 256), one norm, of 128. Over 4 tensor ranks the stream itself is gathered, with 192 more. */
TSIM_TEST(latent_attention_with_whole_queries) {
    struct tsim_op_list forward, backward;
    struct tsim_layer_parameters p;
    example_init(&e);
    e.model.latent = (struct tsim_latent){.kv_rank = 128, .rope_dim = 64};
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &forward);
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &backward);
    double down = 2 * T * H * 192, up = 2 * T * 8 * (1024.0 * 192 + 128 * 256), core = 2 * T * T * 8 * (192 + 128);
    ck_assert_double_eq_tol(sum_flops(&forward), down + up + core + 18 * UNIT, 1);
    ck_assert_double_eq_tol(sum_flops(&backward), 2 * (down + up + core + 18 * UNIT), 1);
    ck_assert_ptr_null(seek(&forward, "attention q down"));
    ck_assert_ptr_null(seek(&backward, "attention q down, input"));
    ck_assert_double_eq(find(&forward, "latent norms")->bytes, T * 128 * 2 * 2);
    ck_assert_double_eq(find(&backward, "latent norms")->bytes, T * 128 * 3 * 2);
    ck_assert_double_eq(find(&forward, "latent norms")->kernels, 1);
    ck_assert_double_eq(find(&backward, "latent norms")->kernels, 1);
    p = tsim_layer_count(&e.model, TSIM_PART_LAYER);
    ck_assert_double_eq(p.attention, 8 * (1024.0 * 192 + 128 * 256) + 1024 * 1024);
    ck_assert_double_eq(p.latent, 1024 * 192 + 128);
    e.scenario.parallelism.tensor = 4;
    e.scenario.parallelism.sequence = true;
    example_finish(&e);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &forward);
    ck_assert_double_eq(find(&forward, "tensor: gather, latents")->collective_bytes, T * (1024 + 192) * 2);
}

/* Eight heads of 128 + 64 put together by cat: queries and keys of 192, read and written, and a copy of values of 128;
 * backward queries of 192 and keys of 128 with values of 128, and the sum of 64 over the heads. */
TSIM_TEST(latent_heads_joined) {
    struct tsim_op_list forward, backward;
    example_init(&e);
    e.model.latent = (struct tsim_latent){.kv_rank = 128, .rope_dim = 64};
    e.software.latent_heads = TSIM_LATENT_HEADS_JOINED;
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &forward);
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &backward);
    ck_assert_double_eq(find(&forward, "join heads")->bytes, T * 8 * (192 + 192) * 2 * 2);
    ck_assert_double_eq(find(&forward, "join heads")->issued, T * 8 * (192 + 192) * 160);
    ck_assert_double_eq(find(&forward, "copy of values")->bytes, T * 8 * 128 * 2 * 2);
    ck_assert_double_eq(find(&backward, "join heads")->bytes, T * 8 * (192 + 256) * 2 * 2);
    ck_assert_double_eq(find(&backward, "sum of heads")->bytes, T * 8 * 64 * 2);
    e.software.latent_heads = TSIM_LATENT_HEADS_FUSED;
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &forward);
    ck_assert_ptr_null(seek(&forward, "join heads"));
}

/* The vectors are one wide, and there are no positions: down 2 t h (1 + 1), up 2 t 8 (128 + 256), two norms of one. */
TSIM_TEST(latent_attention_one_wide) {
    struct tsim_op_list forward, backward;
    struct tsim_layer_parameters p;
    example_init(&e);
    e.model.latent = (struct tsim_latent){.kv_rank = 1, .query_rank = 1};
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &forward);
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &backward);
    double flops = 2 * T * H * 2 + 2 * T * 8 * 384 + 2 * T * T * 8 * 256 + 18 * UNIT;
    ck_assert_double_eq_tol(sum_flops(&forward), flops, 1);
    ck_assert_double_eq_tol(sum_flops(&backward), 2 * flops, 1);
    ck_assert_double_eq(find(&forward, "attention q up")->k, 1);
    ck_assert_double_eq(find(&forward, "latent norms")->bytes, T * 2 * 2 * 2);
    ck_assert_double_eq(find(&forward, "latent norms")->kernels, 2);
    ck_assert_double_eq(find(&backward, "latent norms")->kernels, 2);
    p = tsim_layer_count(&e.model, TSIM_PART_LAYER);
    ck_assert_double_eq(p.latent, 1024 * 2 + 2);
    e.scenario.parallelism.tensor = 4;
    e.scenario.parallelism.sequence = true;
    example_finish(&e);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &forward);
    ck_assert_double_eq(find(&forward, "tensor: gather, latents")->collective_bytes, T * 2 * 2);
}

/* Latent vectors of 256 (queries) and 128, 64 more for positions: down 2 t h (256 + 192), up 2 t 8 (256 x 192 + 128 x
 * 256), result 2 t h^2, core 2 t s 8 (192 + 128); the block 16. Backward twice. Over 4 tensor ranks the projections
 * down are whole, on a quarter of the tokens with sequence parallelism, and the gathers are of latents. */
TSIM_TEST(latent_attention) {
    struct tsim_op_list forward, backward;
    example_init(&e);
    e.model.latent = (struct tsim_latent){.kv_rank = 128, .query_rank = 256, .rope_dim = 64};
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &forward);
    tsim_operators_backward(&e.scenario, TSIM_PART_LAYER, 0, &backward);
    double down = 2 * T * H * (256 + 192), up = 2 * T * 8 * (256.0 * 192 + 128 * 256),
           core = 2 * T * T * 8 * (192 + 128);
    double rest = 2 * UNIT + 16 * UNIT;
    ck_assert_double_eq_tol(sum_flops(&forward), down + up + core + rest, 1);
    ck_assert_double_eq_tol(sum_flops(&backward), 2 * (down + up + core + rest), 1);
    e.scenario.training.attention = TSIM_ATTENTION_FLASH;
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &forward);
    ck_assert_double_eq_tol(sum_flops(&forward), down + up + core / 2 + rest, 1);
    ck_assert_double_eq(find(&forward, "attention core")->head_dim, 160);
    ck_assert_double_eq(find(&forward, "latent norms")->bytes, T * (256 + 128) * 2 * 2);
    ck_assert_double_eq(find(&backward, "latent norms")->bytes, T * (256 + 128) * 3 * 2);
    ck_assert_double_eq(find(&forward, "latent norms")->kernels, 2);
    ck_assert_double_eq(find(&backward, "latent norms")->kernels, 2);
    e.scenario.parallelism.tensor = 4;
    e.scenario.parallelism.sequence = true;
    example_finish(&e);
    tsim_operators_forward(&e.scenario, TSIM_PART_LAYER, 0, &forward);
    ck_assert_double_eq_tol(sum_flops(&forward), (down + up + core / 2 + rest) / 4, 1);
    ck_assert_double_eq(find(&forward, "tensor: gather, latents")->collective_bytes, T * (256 + 192) * 2);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
