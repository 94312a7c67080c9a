/* Lightning attention, and heads of attention and Mamba-2 side by side: operators against multiplications counted by hand,
 * collectives that two mixers share, and what generation caches. */
#include "config/catalogue_load.h"
#include "model/kept.h"
#include "model/model.h"
#include "support/arena_rig.h"
#include "support/example.h"
#include "support/operator_list.h"

static struct example x;

static void begin(const char *id, int64_t tensor) {
    const struct tsim_model *model = NULL;
    ck_assert_int_eq(tsim_catalogue_load_model(&arena, id, &model, &diags), TSIM_OK);
    example_init(&x);
    x.model = *model;
    x.scenario.training.sequence_length = 4096;
    x.scenario.training.micro_batch_size = 1;
    x.scenario.parallelism.tensor = tensor;
    x.scenario.parallelism.sequence = tensor > 1;
    example_finish(&x);
}

static double forward(enum tsim_part part) {
    struct tsim_op_list list;
    tsim_operators_forward(&x.scenario, part, 0, &list);
    return sum_flops(&list);
}

static double backward(enum tsim_part part) {
    struct tsim_op_list list;
    tsim_operators_backward(&x.scenario, part, 0, &list);
    return sum_flops(&list);
}

/* MiniMax-Text-01: h 6,144, 64 heads of 128, chunks of 256. A token has h x 4 w + w x h multiplications of products, and
 * for each head 2 C d of scores and values and 2 d d of outputs and states; backward has two of each. */
TSIM_TEST(lightning) {
    const double h = 6144, w = 8192, d = 128, heads = 64, chunk = 256;
    const double core = heads * (2 * chunk * d + 2 * d * d), macs = 5 * h * w + core;
    begin("minimax-text-01", 1);
    ck_assert_double_eq(forward(TSIM_PART_LIGHTNING), 2 * 4096 * macs);
    ck_assert_double_eq(backward(TSIM_PART_LIGHTNING), 4 * 4096 * macs);
    struct tsim_layer_flops flops = tsim_layer_forward_flops(&x.model, TSIM_PART_LIGHTNING, 4096, 4096);
    ck_assert_double_eq(flops.products, 2 * (5 * h * w + w)); /* and a norm over all heads */
    ck_assert_double_eq(flops.core, 2 * core);
    /* Ten layers meet all tokens, 2 x 2 x 64 x 128 FLOPs each, and seventy the state. */
    struct tsim_layer_flops all = tsim_model_forward_flops_per_token(&x.model, 4096, 4096);
    ck_assert_double_eq(all.core, 10 * 4 * heads * d * 4096 + 70 * 2 * core);
    const double whole = forward(TSIM_PART_LIGHTNING);
    begin("minimax-text-01", 8);
    ck_assert_double_eq(8 * forward(TSIM_PART_LIGHTNING), whole);
}

/* The state stays as it is, however many tokens are cached: 64 x 128 x 128 numbers of fp32. */
TSIM_TEST(states) {
    begin("minimax-text-01", 1);
    x.scenario.cached_tokens = 1000;
    ck_assert_double_eq(tsim_layer_cache_bytes(&x.scenario, TSIM_PART_LIGHTNING), 64 * 128 * 128 * 4);
    x.scenario.cached_tokens = 5000;
    ck_assert_double_eq(tsim_layer_cache_bytes(&x.scenario, TSIM_PART_LIGHTNING), 64 * 128 * 128 * 4);
    begin("falcon-h1-tiny-90m", 1);
    const double state = tsim_layer_cache_bytes(&x.scenario, TSIM_PART_MAMBA);
    x.scenario.cached_tokens = 5000; /* behind the 4,096 of this pass: keys and values of 2 heads of 64 */
    ck_assert_double_eq(tsim_layer_cache_bytes(&x.scenario, TSIM_PART_BESIDE), state + 9096 * 2 * 2 * 64 * 2.0);
}

/* Both kinds of heads do what they do alone. One norm, one gather and one reduction serve both, each way. */
TSIM_TEST(side_by_side) {
    struct tsim_op_list list;
    begin("falcon-h1-tiny-90m", 1);
    ck_assert_int_eq(tsim_model_layer(&x.model, 0), TSIM_PART_BESIDE_LAYER);
    ck_assert_double_eq(forward(TSIM_PART_BESIDE), forward(TSIM_PART_ATTENTION) + forward(TSIM_PART_MAMBA));
    ck_assert_double_eq(backward(TSIM_PART_BESIDE), backward(TSIM_PART_ATTENTION) + backward(TSIM_PART_MAMBA));
    struct tsim_layer_parameters both = tsim_layer_count(&x.model, TSIM_PART_BESIDE),
                                 attention = tsim_layer_count(&x.model, TSIM_PART_ATTENTION),
                                 mamba = tsim_layer_count(&x.model, TSIM_PART_MAMBA);
    ck_assert_double_eq(both.attention, attention.attention + mamba.attention);
    ck_assert_double_eq(both.norms, attention.norms);
    begin("falcon-h1-tiny-90m", 2);
    const double stream = 4096 * 512 * 2;
    tsim_operators_forward(&x.scenario, TSIM_PART_BESIDE, 0, &list);
    ck_assert_double_eq(sum_collective(&list, TSIM_OP_ALL_GATHER), stream);
    ck_assert_double_eq(sum_collective(&list, TSIM_OP_REDUCE_SCATTER), stream);
    tsim_operators_backward(&x.scenario, TSIM_PART_BESIDE, 0, &list); /* gradients, and the input for weights */
    ck_assert_double_eq(sum_collective(&list, TSIM_OP_ALL_GATHER), 2 * stream);
    ck_assert_double_eq(sum_collective(&list, TSIM_OP_REDUCE_SCATTER), stream);
}

/* Zamba2 7B has h = 3,584, attention of 32 heads of 224 that takes 2 h, f = 14,336, and a layer's own 128 columns and h x
 * h. There are 81 layers, of which 13 have one of two blocks of B = 6 h w + w h + 3 h f weights, which count once among the
 * parameters. */
TSIM_TEST(shared_block) {
    const double h = 3584, w = 7168, f = 14336, r = 128, block = 6 * h * w + w * h + 3 * h * f,
                 own = h * h + r * (h + 2 * f);
    begin("zamba2-7b", 1);
    ck_assert_int_eq(tsim_model_layer(&x.model, 5), TSIM_PART_MAMBA);
    ck_assert_int_eq(tsim_model_layer(&x.model, 6), TSIM_PART_SHARED);
    ck_assert_double_eq(tsim_model_parameters(&x.model), 7356749648);
    const double of_attention = 3 * h * w + w * h, beside = block - of_attention + own,
                 whole = forward(TSIM_PART_SHARED);
    ck_assert_double_eq(whole, forward(TSIM_PART_MAMBA) + forward(TSIM_PART_ATTENTION) + 2 * 4096 * beside);
    ck_assert_double_eq(backward(TSIM_PART_SHARED),
                        backward(TSIM_PART_MAMBA) + backward(TSIM_PART_ATTENTION) + 4 * 4096 * beside);
    struct tsim_layer_flops of[3];
    static const enum tsim_part PARTS[3] = {TSIM_PART_SHARED, TSIM_PART_MAMBA, TSIM_PART_ATTENTION};
    for (int i = 0; i < 3; i++)
        of[i] = tsim_layer_forward_flops(&x.model, PARTS[i], 4096, 4096);
    ck_assert_double_eq(of[0].products - of[1].products, 2 * own);
    ck_assert_double_eq_tol(of[0].core - of[1].core - of[2].core, 2 * block * (1 - 2.0 / 13), 1);
    struct tsim_layer_flops all = tsim_model_forward_flops_per_token(&x.model, 4096, 4096);
    ck_assert_double_eq_tol(
        all.products + all.core,
        68 * (of[1].products + of[1].core) + 13 * (of[1].products + of[1].core + of[2].core + 2 * own + 2 * block), 1);
    ck_assert_double_eq(tsim_layer_cache_bytes(&x.scenario, TSIM_PART_SHARED),
                        tsim_layer_cache_bytes(&x.scenario, TSIM_PART_MAMBA) +
                            tsim_layer_cache_bytes(&x.scenario, TSIM_PART_ATTENTION));
    const double without_mamba = whole - forward(TSIM_PART_MAMBA); /* whose two groups eight ranks do not divide */
    begin("zamba2-7b", 8);
    ck_assert_double_eq(8 * (forward(TSIM_PART_SHARED) - forward(TSIM_PART_MAMBA)), without_mamba);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
