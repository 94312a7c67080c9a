/* Vision-language models: operators of tower, projector and language model against the count by convention, what a
 * frozen tower costs, and where the parameters are. Counts of the catalogue's: test_catalogue_counts.c. */
#include "config/catalogue_load.h"
#include "model/kept.h"
#include "model/model.h"
#include "partition/partition.h"
#include "support/arena_rig.h"
#include "support/example.h"
#include "support/operator_list.h"

static struct example x;

static void begin(const char *id, int64_t length, bool is_frozen) {
    const struct tsim_model *model = NULL;
    ck_assert_int_eq(tsim_catalogue_load_model(&arena, id, &model, &diags), TSIM_OK);
    example_init(&x);
    x.model = *model;
    x.model.tower.frozen = is_frozen;
    x.scenario.training.sequence_length = length;
    x.scenario.training.micro_batch_size = 2;
    x.scenario.training.attention = TSIM_ATTENTION_FLASH;
    x.scenario.parallelism.sequence = false;
    example_finish(&x);
}

static double executed(bool is_backward) {
    struct tsim_parts parts = tsim_model_parts(&x.model);
    double all = 0;
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        struct tsim_op_list list;
        if (parts.times[part] <= 0)
            continue;
        (is_backward ? tsim_operators_backward : tsim_operators_forward)(&x.scenario, (enum tsim_part)part, 0, &list);
        all += parts.times[part] * sum_flops(&list);
    }
    return all;
}

/* Multiplications were counted by hand, for a sample of 2,048 tokens, one image among them. LLaVA-1.5: 577 tokens of
 * 1,024 through 24 layers of 12 h^2 and 2 x 577 h of scores, 576 patches of 588 values, 576 tokens through 1,024 x
 * 4,096 + 4,096 x 4,096; of the language model 32 layers of 4 h^2 + 3 x 11,008 h and, causal, half of 2 x 2,048 h, and
 * the head. Qwen2.5-VL: 1,024 patches of 1,176 values, 32 layers of 4 h^2 + 3 x 3,420 h (h = 1,280) of which 28 attend
 * to 64 and 4 to 1,024 tokens; 256 tokens through 5,120^2 + 5,120 x 3,584. */
TSIM_TEST(multiplications) {
    begin("llava-1.5-7b", 2048, false);
    double h = 1024, t = 577, tower = t * 24 * (12 * h * h + 2 * t * h) + 576 * 588 * h,
           projector = 576 * (h * 4096 + 4096.0 * 4096), l = 2048, w = 4096;
    double language = l * (32 * (4 * w * w + 3 * 11008 * w + l * w) + w * 32128);
    ck_assert_double_eq_tol(executed(false) / (2 * 2 * (tower + projector + language)), 1, 1e-9);

    begin("qwen2.5-vl-7b", 2048, false);
    h = 1280, t = 1024;
    tower = t * (32 * (4 * h * h + 3 * 3420 * h) + 28 * 2 * 64 * h + 4 * 2 * t * h + 1176 * h);
    projector = 256 * (5120.0 * 5120 + 5120.0 * 3584);
    w = 3584;
    language = l * (28 * (w * (3584 + 2 * 512) + w * w + 3 * 18944 * w + l * w) + w * 152064);
    ck_assert_double_eq_tol(executed(false) / (2 * 2 * (tower + projector + language)), 1, 1e-9);
}

/* Gemma 3 4B: 4,096 patches of 588 values, 27 layers of 4 h^2 + 2 x 4,304 h and 2 x 4,096 h of scores (h = 1,152); the
 * means of squares of 16 patches are 256 tokens, through one product without a bias. Frozen, tower and its product of
 * patches count once. */
TSIM_TEST(pooled_patches) {
    struct tsim_op_list list;
    double h = 1152, t = 4096, projector = 256 * h * 2560;
    begin("gemma3-4b-vision", 2048, true);
    tsim_operators_forward(&x.scenario, TSIM_PART_TOWER_LAYER, 0, &list);
    ck_assert_double_eq_tol(sum_flops(&list) / (2 * 2 * t * (4 * h * h + 2 * 4304 * h + 2 * t * h)), 1, 1e-9);
    tsim_operators_forward(&x.scenario, TSIM_PART_PROJECTOR, 0, &list);
    ck_assert_double_eq(sum_flops(&list), 2 * 2 * projector);
    ck_assert_double_eq(find(&list, "mean of patches")->bytes, 2 * t * h * 2);
    tsim_operators_backward(&x.scenario, TSIM_PART_PROJECTOR, 0, &list);
    ck_assert_double_eq(sum_flops(&list), 2 * 2 * 2 * projector);
    ck_assert_double_eq(tsim_layer_count(&x.model, TSIM_PART_PROJECTOR).latent, h * 2560);
}

/* GLM-4.1V: squares of 4 patches of 1,536 through products to 4,096, to 4,096 again, to a gate and a value of 13,696 and back:
 * 576 patches of an image of 336 pixels are 144 tokens. Two samples. */
TSIM_TEST(gated_projector) {
    struct tsim_op_list list;
    double products = 4 * 1536 * 4096.0 + 4096 * 4096.0 + 3 * 4096 * 13696.0, flops = 2 * 2 * 144 * products;
    begin("glm-4.1v-9b", 2048, false);
    tsim_operators_forward(&x.scenario, TSIM_PART_PROJECTOR, 0, &list);
    ck_assert_double_eq(sum_flops(&list), flops);
    tsim_operators_backward(&x.scenario, TSIM_PART_PROJECTOR, 0, &list);
    ck_assert_double_eq(sum_flops(&list), 2 * flops);
    ck_assert_double_eq(tsim_layer_count(&x.model, TSIM_PART_PROJECTOR).ffn, products);
    begin("kimi-k2.5", 2048, false);
    ck_assert_double_eq(tsim_layer_count(&x.model, TSIM_PART_PROJECTOR).ffn, 4608 * 4608 + 4608 + 7168 * 4608 + 7168);
}

/* The convention's FLOPs of a token differ from those of the text alone by three passes of tower and projector, or of a
 * frozen tower by one and three. */
TSIM_TEST(by_convention) {
    double h = 1024, t = 577, l = 2048,
           tower = 2 * (t * 24 * (12 * h * h + 13 * h + 2 * t * h - 9 * h - 4 * h) + t * 588 * h),
           projector = 2 * 576 * (h * 4096 + 4096.0 * 4096 + 2 * 4096);
    begin("llava-1.5-7b", 2048, false);
    double trained = l * tsim_model_flops_per_token(&x.model, l, l);
    begin("llava-1.5-7b", 2048, true);
    double frozen = l * tsim_model_flops_per_token(&x.model, l, l);
    begin("llama2-7b", 2048, false);
    double text =
        l * (tsim_model_flops_per_token(&x.model, l, l) + 6 * 2 * 64 * 4096); /* a vocabulary of 32,064, twice */
    ck_assert_double_eq_tol(trained - frozen, 2 * tower, 2e-3 * tower);       /* biases count as products */
    ck_assert_double_eq_tol(frozen - text, tower + 3 * projector, 2e-3 * tower);
}

/* Nothing is behind a frozen tower's forward pass: no operators backward, nothing kept, no gradient, state or
 * reduction. */
TSIM_TEST(frozen_tower) {
    struct tsim_op_list list;
    double patches = 588 * 1024 + 1024 + 577 * 1024 + 2048, layer = 12 * 1024.0 * 1024 + 13 * 1024;
    begin("llava-1.5-7b", 2048, true);
    tsim_operators_backward(&x.scenario, TSIM_PART_TOWER_LAYER, 0, &list);
    ck_assert_int_eq(list.n, 0);
    ck_assert_double_eq(tsim_layer_activation_bytes(&x.scenario, TSIM_PART_TOWER_LAYER), 0);
    ck_assert_double_eq(tsim_held_parameters(NULL, &x.scenario, 0).all.value -
                            tsim_trained_parameters(NULL, &x.scenario, 0).all.value,
                        patches + 24 * layer);
    x.scenario.training.recompute = TSIM_RECOMPUTE_FULL;
    ck_assert_double_eq(tsim_layer_activation_bytes(&x.scenario, TSIM_PART_TOWER_LAYER), 0);
    tsim_operators_again(&x.scenario, TSIM_PART_TOWER_LAYER, 0, &list);
    ck_assert_int_eq(list.n, 0);
    double forward = executed(false), backward = executed(true);
    begin("llava-1.5-7b", 2048, false);
    ck_assert_double_gt(executed(true), backward);
    ck_assert_double_eq(executed(false), forward);
    ck_assert_double_gt(tsim_layer_activation_bytes(&x.scenario, TSIM_PART_TOWER_LAYER), 0);
}

/* Between stages: tokens of the tower with the text's that were looked up, then those of the language model alone. */
TSIM_TEST(between_stages) {
    begin("llava-1.5-7b", 2048, true);
    double text = 2.0 * 2048 * 4096 * 2;
    ck_assert_double_eq(tsim_layer_flow_bytes(&x.scenario, TSIM_PART_TOWER_LAYER), text + 2 * 577 * 1024 * 2);
    ck_assert_double_eq(tsim_layer_flow_bytes(&x.scenario, TSIM_PART_PROJECTOR), text);
    ck_assert_int_eq(tsim_model_layer(&x.model, 23), TSIM_PART_TOWER_LAYER);
    ck_assert_int_eq(tsim_model_layer(&x.model, 24), TSIM_PART_PROJECTOR);
    ck_assert_int_eq(tsim_model_layer(&x.model, 25), TSIM_PART_LAYER);
    begin("qwen2.5-vl-7b", 2048, false);
    ck_assert_int_eq(tsim_model_layer(&x.model, 6), TSIM_PART_TOWER_WINDOW_LAYER);
    ck_assert_int_eq(tsim_model_layer(&x.model, 7), TSIM_PART_TOWER_LAYER);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
