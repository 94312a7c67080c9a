/* LSTM cells and GNMT: operators against multiplications counted by hand, steps one after another, what is kept. */
#include "config/catalogue_load.h"
#include "model/kept.h"
#include "model/model.h"
#include "support/arena_rig.h"
#include "support/example.h"
#include "support/operator_list.h"

static struct example x;

/* Makes 64 pairs of sentences of 50 and 40 tokens. */
static void begin(void) {
    const struct tsim_model *model = NULL;
    ck_assert_int_eq(tsim_catalogue_load_model(&arena, "gnmt", &model, &diags), TSIM_OK);
    example_init(&x);
    x.model = *model;
    x.scenario.training.sequence_length = 50;
    x.scenario.training.decoder_sequence_length = 40;
    x.scenario.training.micro_batch_size = 64;
    x.scenario.training.attention = TSIM_ATTENTION_STANDARD;
    x.scenario.parallelism.tensor = 1;
    x.scenario.parallelism.sequence = false;
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

/* It counts the multiplications of a token and cell: four gates of the input's width and of h. Backward has twice that,
 * of inputs and of weights. */
TSIM_TEST(cells) {
    const double h = 1024, source = 64 * 50, target = 64 * 40;
    begin();
    const struct {
        enum tsim_part part;
        double macs;
    } LAYERS[] = {{TSIM_PART_LSTM, source * 4 * h * 2 * h},
                  {TSIM_PART_LSTM_BOTH_WAYS, 2 * source * 4 * h * 2 * h},
                  {TSIM_PART_LSTM_WIDE, source * 4 * h * 3 * h},
                  {TSIM_PART_LSTM_DECODER, target * 4 * h * 3 * h},
                  {TSIM_PART_LSTM_ATTENTION, target * (4 * h * 2 * h + h * h + 50 * h) + source * h * h}};
    for (size_t i = 0; i < sizeof LAYERS / sizeof LAYERS[0]; i++) {
        ck_assert_double_eq(forward(LAYERS[i].part), 2 * LAYERS[i].macs);
        ck_assert_double_eq(backward(LAYERS[i].part), 4 * LAYERS[i].macs);
    }
}

/* The state's products come one after another, a token of all samples each. */
TSIM_TEST(one_after_another) {
    struct tsim_op_list list;
    begin();
    tsim_operators_forward(&x.scenario, TSIM_PART_LSTM, 0, &list);
    const struct tsim_op *steps = find(&list, "LSTM states");
    ck_assert(steps->is_sequential);
    ck_assert_double_eq(steps->batch, 50);
    ck_assert_double_eq(steps->kernels, 50);
    ck_assert_double_eq(steps->m, 64);
    tsim_operators_forward(&x.scenario, TSIM_PART_LSTM_DECODER, 0, &list);
    ck_assert_double_eq(find(&list, "LSTM states")->batch, 40);
    ck_assert_double_eq(find(&list, "LSTM inputs")->k, 2048);
}

/* Sums of queries and keys are written out: a value for each pair of tokens and channel. */
TSIM_TEST(kept) {
    begin();
    double e = 2, h = 1024, t = 64 * 50;
    x.software.dropout = 0;
    example_finish(&x);
    ck_assert_double_eq(tsim_layer_activation_bytes(&x.scenario, TSIM_PART_LSTM), t * (h + 6 * h) * e);
    ck_assert_double_gt(tsim_layer_activation_bytes(&x.scenario, TSIM_PART_LSTM_ATTENTION), 64 * 40.0 * 50 * h * e);
    ck_assert_int_eq(tsim_model_layer(&x.model, 0), TSIM_PART_LSTM_BOTH_WAYS);
    ck_assert_int_eq(tsim_model_layer(&x.model, 1), TSIM_PART_LSTM_WIDE);
    ck_assert_int_eq(tsim_model_layer(&x.model, 3), TSIM_PART_LSTM);
    ck_assert_int_eq(tsim_model_layer(&x.model, 4), TSIM_PART_LSTM_ATTENTION);
    ck_assert_int_eq(tsim_model_layer(&x.model, 7), TSIM_PART_LSTM_DECODER);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
