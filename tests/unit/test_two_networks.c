/* Transformer-XL's segments and ELECTRA's generator: operators against multiplications counted by hand, what is kept,
 * and what the convention counts. */
#include "config/catalogue_load.h"
#include "model/kept.h"
#include "model/model.h"
#include "support/arena_rig.h"
#include "support/example.h"
#include "support/operator_list.h"

static struct example x;

static void begin(const char *id, int64_t length, int64_t samples) {
    const struct tsim_model *model = NULL;
    ck_assert_int_eq(tsim_catalogue_load_model(&arena, id, &model, &diags), TSIM_OK);
    example_init(&x);
    x.model = *model;
    x.scenario.training.sequence_length = length;
    x.scenario.training.micro_batch_size = samples;
    x.scenario.training.attention = TSIM_ATTENTION_STANDARD;
    x.scenario.parallelism.sequence = false;
    example_finish(&x);
}

/* 32 samples of 192 tokens, h = 8 heads of 64, f = 2,048: queries, keys and values of 384 tokens; keys of 384 distances
 * whatever the batch; scores of both and values, 192 x 384 each; the output and the feed-forward block of 192 tokens.
 * Backward the distances' input, a table of sines, needs no gradient. */
TSIM_TEST(segments) {
    struct tsim_op_list list;
    double b = 32, s = 192, k = 384, h = 512, distances = k * h * h,
           macs = b * k * 3 * h * h + 3 * b * s * k * h + b * s * (h * h + 2 * h * 2048);
    begin("transformer-xl-base", 192, 32);
    tsim_operators_forward(&x.scenario, TSIM_PART_SEGMENT_LAYER, 0, &list);
    ck_assert_double_eq(sum_flops(&list), 2 * (macs + distances));
    tsim_operators_backward(&x.scenario, TSIM_PART_SEGMENT_LAYER, 0, &list);
    ck_assert_double_eq(sum_flops(&list), 2 * (2 * macs + distances));
    ck_assert_double_eq(tsim_layer_forward_flops(&x.model, TSIM_PART_SEGMENT_LAYER, s, s).core * b * s,
                        2 * 3 * b * s * k * h);
    x.model.memory = 0;
    example_finish(&x);
    tsim_operators_forward(&x.scenario, TSIM_PART_SEGMENT_LAYER, 0, &list);
    ck_assert_double_eq(find(&list, "attention scores")->n, 192);
}

/* Every token meets 20,000 rows and 6 % of them 80,000 more; the table's gradient is joined from four pieces: four
 * copies into zeros and three sums. */
TSIM_TEST(adaptive_head) {
    struct tsim_op_list list;
    begin("transformer-xl-base", 192, 32);
    tsim_operators_forward(&x.scenario, TSIM_PART_HEAD, 0, &list);
    ck_assert_double_eq(find(&list, "head")->n, 20000 + 0.06 * 80000);
    tsim_operators_backward(&x.scenario, TSIM_PART_HEAD, 0, &list);
    double table = 2092 * 128.0 * 512; /* 267,735 rows, padded */
    ck_assert_double_eq(find(&list, "head, join gradients")->bytes, table * (4 * 2 + 3 * 6));
    double met = 24800, h = 512, n = tsim_model_parameters(&x.model);
    ck_assert_double_eq_tol(tsim_model_flops_per_token(&x.model, 192, 192),
                            6 * (n - (267735 - met) * h) + 3 * 16 * 6 * h * 384, 1e-3);
}

/* 2 samples of 128 tokens; of a generator 256 wide 12 layers of 12 h^2 + 2 x 128 h, the product to its width, and of 15
 * % of the tokens the product back and the logits of 30,592 rows; a discriminator of BERT's size whose head has one
 * column. */
TSIM_TEST(generator) {
    struct tsim_op_list list;
    double t = 256, h = 256, w = 768, masked = 0.15 * t;
    begin("electra-base", 128, 2);
    tsim_operators_forward(&x.scenario, TSIM_PART_GENERATOR_LAYER, 0, &list);
    ck_assert_double_eq_tol(sum_flops(&list), 2 * t * (12 * h * h + 2 * 128 * h), 1);
    tsim_operators_forward(&x.scenario, TSIM_PART_GENERATOR_HEAD, 0, &list);
    double head = t * w * h + masked * (w * h + w * 30592);
    ck_assert_double_eq_tol(sum_flops(&list), 2 * head, 1);
    tsim_operators_backward(&x.scenario, TSIM_PART_GENERATOR_HEAD, 0, &list);
    ck_assert_double_eq_tol(sum_flops(&list), 4 * head, 1);
    tsim_operators_forward(&x.scenario, TSIM_PART_HEAD, 0, &list);
    ck_assert_double_eq(find(&list, "head")->n, 1);
    ck_assert_int_eq(tsim_model_layer(&x.model, 11), TSIM_PART_GENERATOR_LAYER);
    ck_assert_int_eq(tsim_model_layer(&x.model, 12), TSIM_PART_GENERATOR_HEAD);
    ck_assert_int_eq(tsim_model_layer(&x.model, 13), TSIM_PART_LAYER);
    /* Between stages, a generator's own tokens travel with the table's vectors. */
    ck_assert_double_eq(tsim_layer_flow_bytes(&x.scenario, TSIM_PART_GENERATOR_LAYER), t * (h + w) * 2);
    ck_assert_double_gt(tsim_layer_activation_bytes(&x.scenario, TSIM_PART_GENERATOR_HEAD), masked * 30592 * 4);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
