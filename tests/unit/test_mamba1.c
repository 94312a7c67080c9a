/* Mamba-1: operators against multiplications counted by hand, what tensor ranks divide and sum, and what is kept. */
#include "config/catalogue_load.h"
#include "model/kept.h"
#include "model/model.h"
#include "partition/memory.h"
#include "support/arena_rig.h"
#include "support/example.h"
#include "support/operator_list.h"

static struct example x;

static void begin(const char *id, int64_t tensor) {
    const struct tsim_model *model = NULL;
    ck_assert_int_eq(tsim_catalogue_load_model(&arena, id, &model, &diags), TSIM_OK);
    example_init(&x);
    x.model = *model;
    x.scenario.training.sequence_length = 2048;
    x.scenario.training.micro_batch_size = 1;
    x.scenario.parallelism.tensor = tensor;
    x.scenario.parallelism.sequence = false;
    example_finish(&x);
}

/* mamba-2.8b has, for a token and layer, h (2 d) + d (r + 2 n) + r d + d h multiplications with h 2,560, d 5,120, r
 * 160, n 16; backward has two of each. */
TSIM_TEST(products) {
    struct tsim_op_list list;
    double h = 2560, d = 5120, r = 160, n = 16, macs = 2048 * (h * 2 * d + d * (r + 2 * n) + r * d + d * h);
    begin("mamba-2.8b", 1);
    tsim_operators_forward(&x.scenario, TSIM_PART_MAMBA1, 0, &list);
    ck_assert_double_eq(sum_flops(&list), 2 * macs);
    tsim_operators_backward(&x.scenario, TSIM_PART_MAMBA1, 0, &list);
    ck_assert_double_eq(sum_flops(&list), 4 * macs);
    /* It counts every weight and no other, with 2 FLOPs a token forward, and no core. */
    ck_assert_double_eq_tol(tsim_layer_forward_flops(&x.model, TSIM_PART_MAMBA1, 2048, 2048).products * 2048 /
                                (2 * macs),
                            1, 4e-3); /* vectors of the channels count as products */
    ck_assert_double_eq(tsim_layer_forward_flops(&x.model, TSIM_PART_MAMBA1, 2048, 2048).core, 0);
    tsim_operators_forward(&x.scenario, TSIM_PART_MAMBA1, 0, &list);
    ck_assert_double_eq(find(&list, "Mamba scan")->bytes, 2048 * (4 * d + 2 * n) * 2);
}

/* Channels are divided; step sizes and vectors come from all of them, and are summed: r + 2 n values a token. */
TSIM_TEST(tensor_ranks) {
    struct tsim_op_list whole, part;
    begin("jamba-v0.1", 1);
    tsim_operators_forward(&x.scenario, TSIM_PART_MAMBA1_LAYER, 0, &whole);
    begin("jamba-v0.1", 4);
    tsim_operators_forward(&x.scenario, TSIM_PART_MAMBA1_LAYER, 0, &part);
    ck_assert_double_eq(4 * sum_flops(&part), sum_flops(&whole));
    ck_assert_double_eq(find(&part, "tensor: reduce, Mamba vectors")->collective_bytes, 2048 * (256 + 2 * 16) * 2);
    ck_assert(!seek(&whole, "tensor: reduce, Mamba vectors"));
    tsim_operators_backward(&x.scenario, TSIM_PART_MAMBA1_LAYER, 0, &part);
    ck_assert_double_eq(find(&part, "tensor: reduce, Mamba vectors")->collective_bytes, 2048 * (256 + 2 * 16) * 2);
}

/* Input of the norm and of the block; input before and behind the convolution, gate and steps, vectors; the result: of
 * a layer that stands alone. */
TSIM_TEST(kept) {
    begin("mamba-2.8b", 1);
    ck_assert_double_eq(tsim_layer_activation_bytes(&x.scenario, TSIM_PART_MAMBA1),
                        2048.0 * 2 * (2 * 2560 + 4 * 5120 + 160 + 2 * 16 + 5120));
}

/* Buffers hold the gradient of scores if a layer has scores: written out, 2 bytes x heads x tokens^2; these have
 * none. */
TSIM_TEST(no_scores) {
    struct tsim_stage_memory of[2];
    begin("mamba-2.8b", 1);
    static const enum tsim_attention WAYS[] = {TSIM_ATTENTION_FLASH, TSIM_ATTENTION_STANDARD};
    for (int i = 0; i < 2; i++) {
        x.scenario.training.attention = WAYS[i];
        ck_assert_double_eq(tsim_layer_core_bytes(&x.scenario, TSIM_PART_MAMBA1), 0);
        tsim_stage_memory(&x.scenario, 0, &of[i]);
    }
    ck_assert_double_eq(of[0].buffers_bytes, of[1].buffers_bytes);
    begin("jamba-v0.1", 1);
    x.scenario.training.attention = TSIM_ATTENTION_STANDARD;
    ck_assert_double_eq(tsim_layer_core_bytes(&x.scenario, TSIM_PART_LAYER), 2.0 * 32 * 2048 * 2048);
}

/* Jamba: one layer in eight attends, and every second one has experts. */
TSIM_TEST(hybrid) {
    begin("jamba-v0.1", 1);
    struct tsim_parts parts = tsim_model_parts(&x.model);
    ck_assert_double_eq(parts.times[TSIM_PART_LAYER] + parts.times[TSIM_PART_EXPERT_LAYER], 4);
    ck_assert_double_eq(parts.times[TSIM_PART_MAMBA1_EXPERT_LAYER] + parts.times[TSIM_PART_EXPERT_LAYER], 16);
    ck_assert_int_eq(tsim_model_layer(&x.model, 4), TSIM_PART_LAYER);
    ck_assert_int_eq(tsim_model_layer(&x.model, 1), TSIM_PART_MAMBA1_EXPERT_LAYER);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
