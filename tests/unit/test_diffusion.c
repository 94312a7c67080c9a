/* Diffusion transformers: published FLOPs, operators against the count by convention, what is kept of each stream, and
 * where the parameters are. */
#include "config/catalogue_load.h"
#include "model/kept.h"
#include "model/model.h"
#include "partition/partition.h"
#include "support/arena_rig.h"
#include "support/example.h"
#include "support/operator_list.h"

#include <math.h>

static struct example x;

static void begin(const char *id, int64_t length) {
    const struct tsim_model *model = NULL;
    ck_assert_int_eq(tsim_catalogue_load_model(&arena, id, &model, &diags), TSIM_OK);
    example_init(&x);
    x.model = *model;
    x.scenario.training.sequence_length = length;
    x.scenario.training.micro_batch_size = 2;
    x.scenario.training.attention = TSIM_ATTENTION_FLASH;
    x.scenario.parallelism.sequence = false;
}

/* Peebles and Xie 2022, table 1 (DiT-XL/2) and table 4 in appendix B, have 118.64 G multiplications for an image of 256
 * x 256, 256 tokens. */
TSIM_TEST(published_flops) {
    begin("dit-xl-2", 256);
    ck_assert_double_eq_tol(256 * tsim_model_flops_per_token(&x.model, 256, 256) / 6, 118.64e9, 0.1e9);
}

/* Forward FLOPs of a micro-batch of two, over all tensor ranks: products of rows that every rank has whole (of a
 * sample's vector, and the ends) count on each. */
static double executed(double *of_layers) {
    struct tsim_parts parts = tsim_model_parts(&x.model);
    double all = 0;
    *of_layers = 0;
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        struct tsim_op_list list;
        if (parts.times[part] <= 0)
            continue;
        tsim_operators_forward(&x.scenario, (enum tsim_part)part, 0, &list);
        all += parts.times[part] * sum_flops(&list);
        if (!tsim_layer_kind((enum tsim_part)part)->is_end)
            *of_layers += parts.times[part] * sum_flops(&list);
    }
    return all;
}

/* Biases are counted as products by convention, and are none of the operators': 0.1 %. */
TSIM_TEST(operators_do_what_is_counted) {
    static const struct {
        const char *id;
        int64_t length;
    } MODELS[] = {{"dit-xl-2", 256}, {"wan2.1-1.3b", 32760}, {"wan2.1-14b", 37440}, {"sd3-medium", 4096}};
    for (size_t i = 0; i < sizeof MODELS / sizeof MODELS[0]; i++) {
        double length = (double)MODELS[i].length, layers, whole;
        begin(MODELS[i].id, MODELS[i].length);
        example_finish(&x);
        double counted = 2 * length * tsim_model_flops_per_token(&x.model, length, length) / 3;
        ck_assert_double_eq_tol(executed(&whole) / counted, 1, 1e-3);
        x.scenario.parallelism.tensor = 2;
        example_finish(&x);
        executed(&layers);
        ck_assert_double_eq_tol(2 * layers / whole, 1, 2e-2); /* and twice the products of the samples' vectors */
        ck_assert_double_ge(2 * layers, whole);
        /* Context ranks divide the tokens of the image, and have the whole text each. */
        x.scenario.parallelism.tensor = 1;
        x.scenario.parallelism.context = 2;
        example_finish(&x);
        executed(&layers);
        ck_assert_double_ge(2 * layers, whole);
        ck_assert_double_eq_tol(2 * layers / whole, 1, 0.05);
    }
}

/* Nothing follows the last joint layer's text: its operators are an output, a block and four vectors fewer. */
TSIM_TEST(last_joint_layer) {
    struct tsim_op_list joint, last;
    struct tsim_kept kept, of_last;
    const double text = 2 * 154, h = 1536;
    begin("sd3-medium", 4096);
    example_finish(&x);
    tsim_operators_forward(&x.scenario, TSIM_PART_JOINT_LAYER, 0, &joint);
    tsim_operators_forward(&x.scenario, TSIM_PART_LAST_JOINT_LAYER, 0, &last);
    ck_assert_double_eq(sum_flops(&joint) - sum_flops(&last), 2 * text * (h * h + 8 * h * h) + 2 * 2 * h * 4 * h);
    ck_assert_double_eq(tsim_layer_count(&x.model, TSIM_PART_JOINT_LAYER).modulation, 2 * (6 * h * h + 6 * h));
    ck_assert_double_eq(tsim_layer_count(&x.model, TSIM_PART_LAST_JOINT_LAYER).modulation, 8 * h * h + 8 * h);
    tsim_layer_activations(&x.scenario, TSIM_PART_JOINT_LAYER, &kept);
    tsim_layer_activations(&x.scenario, TSIM_PART_LAST_JOINT_LAYER, &of_last);
    double difference = 0;
    for (int32_t i = 0; i < kept.n; i++)
        difference += kept.rows[i].bytes;
    for (int32_t i = 0; i < of_last.n; i++)
        difference -= of_last.rows[i].bytes;
    /* The second norm's and block's inputs, what is scaled and gated, and 4 h up, before and behind the activation. */
    ck_assert_double_eq(difference, text * h * 2 * (2 + 4 + 8));
}

/* Products of samples' vectors are whole on every tensor rank, and all that attention and feed-forward have is cut. */
TSIM_TEST(ranks) {
    begin("wan2.1-14b", 1024);
    example_finish(&x);
    double h = 5120, whole = tsim_layer_rank_parameters(&x.scenario, TSIM_PART_MODULATED_LAYER);
    x.scenario.parallelism.tensor = 4;
    example_finish(&x);
    ck_assert_double_eq(4 * tsim_layer_rank_parameters(&x.scenario, TSIM_PART_MODULATED_LAYER) - whole,
                        3 * (6 * h + 2 * h + 4 * h)); /* tables, a norm, those of queries and keys of both attentions */
}

/* A compiler takes what scales and gates into the norms and residuals, forward; queries of the image meet the keys of
 * 512 tokens of text in one product of its own. */
TSIM_TEST(kernels) {
    struct tsim_op_list list;
    begin("wan2.1-1.3b", 4096);
    x.software.fusion = TSIM_FUSION_MEGATRON;
    example_finish(&x);
    tsim_operators_forward(&x.scenario, TSIM_PART_MODULATED_LAYER, 0, &list);
    ck_assert_double_eq(find(&list, "modulation, scale 1")->bytes, 2.0 * 4096 * 1536 * 4);
    ck_assert_double_eq(find(&list, "cross kv")->m, 2 * 512);
    ck_assert_double_eq(find(&list, "cross kv")->n, 2 * 1536);
    for (int compiled = 0; compiled < 2; compiled++) {
        x.software.fusion = compiled ? TSIM_FUSION_COMPILE : TSIM_FUSION_TE;
        example_finish(&x);
        tsim_operators_forward(&x.scenario, TSIM_PART_MODULATED_LAYER, 0, &list);
        ck_assert(!seek(&list, "modulation, scale 1") && !seek(&list, "modulation, gate 2"));
    }
    x.model.diffusion.text_tokens = 0;
    tsim_operators_forward(&x.scenario, TSIM_PART_MODULATED_LAYER, 0, &list);
    ck_assert(!seek(&list, "cross kv"));
    tsim_operators_backward(&x.scenario, TSIM_PART_EMBEDDING, 0, &list);
    ck_assert(!seek(&list, "text, weight"));
    ck_assert(find(&list, "patches, weight")->is_weight_gradient);
}

/* Norms of queries and keys over all heads: 4 tensor ranks gather those of two samples in 16 bits, of the image's tokens and of
 * the text's keys, and each norms all of them, forward and backward. */
TSIM_TEST(heads_are_gathered_to_be_normed) {
    struct tsim_op_list list;
    double all = 2 * 4096 * 2 * 1536.0, cross = 2 * (4096 + 512) * 1536.0;
    begin("wan2.1-1.3b", 4096);
    x.scenario.parallelism.tensor = 4;
    example_finish(&x);
    for (int backward = 0; backward < 2; backward++) {
        double bytes = 0, elements = 0;
        if (backward)
            tsim_operators_backward(&x.scenario, TSIM_PART_MODULATED_LAYER, 0, &list);
        else
            tsim_operators_forward(&x.scenario, TSIM_PART_MODULATED_LAYER, 0, &list);
        for (int32_t i = 0; i < list.n; i++) {
            bool is_norm = strcmp(list.ops[i].name, "norms of queries and keys") == 0,
                 is_gather = strcmp(list.ops[i].name, "tensor: gather, heads to normalize") == 0;
            elements += is_norm ? list.ops[i].elements : 0;
            bytes += is_gather ? list.ops[i].collective_bytes : 0;
        }
        ck_assert_double_eq(bytes, 2 * (all + cross));
        ck_assert_double_eq(elements, all + cross);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
