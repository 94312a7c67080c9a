/* Layer lists: published counts of multiplications, kernels of a small list by hand, what is kept. */
#include "config/catalogue_load.h"
#include "cost/compute.h"
#include "model/layer_list.h"
#include "model/model.h"
#include "partition/memory.h"
#include "support/arena_rig.h"
#include "support/example.h"
#include "support/operator_list.h"

static const struct tsim_model *load(const char *id) {
    const struct tsim_model *model = NULL;
    ck_assert_int_eq(tsim_catalogue_load_model(&arena, id, &model, &diags), TSIM_OK);
    return model;
}

/* torchvision prints 4.09 and 0.71 GMAC. AlexNet by hand, output pixels x kernel area x in x out:
 * 55^2 363 64 + 27^2 1600 192 + 13^2 (1728 384 + 3456 256 + 2304 256) + 9216 4096 + 4096^2 + 4096 1000. */
TSIM_TEST(published_macs) {
    double alexnet = 3025.0 * 363 * 64 + 729.0 * 1600 * 192 + 169.0 * (1728 * 384 + 3456 * 256 + 2304 * 256) +
                     9216.0 * 4096 + 4096.0 * 4096 + 4096.0 * 1000;
    ck_assert_double_eq(tsim_list_macs(load("alexnet")), alexnet);
    ck_assert_double_eq_tol(alexnet, 0.71e9, 0.005e9);
    ck_assert_double_eq_tol(tsim_list_macs(load("resnet50")), 4.09e9, 0.005e9);
    ck_assert_double_eq_tol(tsim_list_macs(load("mobilenet-v1")), 0.569e9, 0.0005e9); /* Howard et al. 2017, table 4 */
    ck_assert_double_eq_tol(tsim_list_macs(load("mobilenet-v2")), 0.300e9, 0.001e9);  /* Sandler et al. 2018, table 4 */
    ck_assert_double_eq_tol(tsim_list_macs(load("efficientnet-b0")), 0.39e9, 0.005e9);
}

/* The first of EfficientNet-B0's blocks that is repeated, 16 channels of 112 x 112 to 24 of 56 x 56: up to 96, 3 x 3
 * channel by channel, the mean of each down to 4 and up to 96, each channel scaled, down to 24; the second of 24
 * channels adds its input. Scaling reads and writes its image forward, and twice backward; its input is kept. */
TSIM_TEST(inverted_blocks) {
    const struct tsim_model *m = load("efficientnet-b0");
    const struct tsim_list_layer *block[2][16];
    size_t n[2] = {0}, scale = 0;
    for (size_t i = 0; i < m->n_list; i++)
        if (m->list[i].block == 2 || m->list[i].block == 3)
            block[m->list[i].block - 2][n[m->list[i].block - 2]++] = &m->list[i];
    static const enum tsim_list_kind KINDS[] = {
        TSIM_LIST_PRODUCT, TSIM_LIST_NORM,         TSIM_LIST_RELU,    TSIM_LIST_PRODUCT, TSIM_LIST_NORM,
        TSIM_LIST_RELU,    TSIM_LIST_AVERAGE_POOL, TSIM_LIST_PRODUCT, TSIM_LIST_RELU,    TSIM_LIST_PRODUCT,
        TSIM_LIST_RELU,    TSIM_LIST_SCALE,        TSIM_LIST_PRODUCT, TSIM_LIST_NORM};
    ck_assert_uint_eq(n[0], 14);
    ck_assert_uint_eq(n[1], 15);
    for (size_t i = 0; i < n[0]; i++)
        ck_assert_int_eq(block[0][i]->kind, KINDS[i]);
    ck_assert_int_eq(block[1][14]->kind, TSIM_LIST_ADD);
    ck_assert_int_eq(block[0][3]->groups, 96);
    ck_assert_int_eq(block[0][7]->out, 4);
    ck_assert_int_eq(block[0][9]->in, 4);
    ck_assert_int_eq(block[0][11]->in, 96);
    ck_assert_int_eq(block[0][11]->in_area, 56 * 56);
    ck_assert_int_eq(block[0][12]->in_area, 56 * 56);
    ck_assert_int_eq(block[1][7]->out, 6);
    struct example x;
    struct tsim_op_list list;
    example_init(&x);
    x.model = *m;
    x.scenario.training.micro_batch_size = 5;
    x.scenario.training.precision = TSIM_FP16;
    x.software.fusion = TSIM_FUSION_NONE;
    example_finish(&x);
    tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, 2, &list);
    while (strcmp(list.ops[scale].name, "channels, scale") != 0)
        scale++;
    ck_assert_double_eq(list.ops[scale].bytes, 5.0 * 96 * 56 * 56 * 2 * 2);
    tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, 2, &list);
    ck_assert_double_eq(find(&list, "channels, scale")->bytes, 5.0 * 96 * 56 * 56 * 2 * 4);
}

/* ResNet-50 has 18 blocks: stem, 16 bottlenecks, classifier. The first of stage 3 maps 256 channels of 56 x 56 to 512
 * of 28 x 28. */
TSIM_TEST(resnet_blocks) {
    const struct tsim_model *m = load("resnet50");
    int32_t products = 0, norms = 0;
    ck_assert_int_eq(m->layers, 18);
    for (size_t i = 0; i < m->n_list; i++) {
        products += m->list[i].kind == TSIM_LIST_PRODUCT;
        norms += m->list[i].kind == TSIM_LIST_NORM;
    }
    ck_assert_int_eq(products, 54); /* 1 + 16 x 3 + 4 projections + 1 */
    ck_assert_int_eq(norms, 53);
    const struct tsim_list_layer *projection = NULL;
    for (size_t i = 0; i < m->n_list; i++)
        if (m->list[i].block == 4 && m->list[i].kind == TSIM_LIST_PRODUCT)
            projection = &m->list[i]; /* the last product of its block */
    ck_assert_int_eq(projection->in, 256);
    ck_assert_int_eq(projection->in_area, 56 * 56);
    ck_assert_int_eq(projection->out, 512);
    ck_assert_int_eq(projection->out_area, 28 * 28);
    ck_assert_int_eq(projection->stride, 2);
}

/* The list has 4 channels of 8 x 8; 3 x 3 to 6 channels in 2 groups, norm, activation; then 6 x 64 features to 10. */
static const struct tsim_list_layer LAYERS[] = {
    {TSIM_LIST_PRODUCT, 0, 4, 6, 64, 64, 9, 1, 2, false, true},
    {TSIM_LIST_NORM, 0, 6, 6, 64, 64, 1, 1, 1, false, false},
    {TSIM_LIST_RELU, 0, 6, 6, 64, 64, 1, 1, 1, false, false},
    {TSIM_LIST_PRODUCT, 1, 384, 10, 1, 1, 1, 1, 1, true, false, .is_result = true},
};

static void init_small(struct example *x) {
    example_init(x);
    x->model = (struct tsim_model){.name = "small",
                                   .kind = TSIM_MODEL_CNN,
                                   .layers = 2,
                                   .hidden = 1,
                                   .heads = 1,
                                   .kv_heads = 1,
                                   .head_dim = 1,
                                   .ffn_hidden = 1,
                                   .list = LAYERS,
                                   .n_list = 4};
    x->scenario.training.micro_batch_size = 5;
    x->scenario.training.sequence_length = 1;
    x->scenario.training.precision = TSIM_FP16;
    x->scenario.training.recompute = TSIM_RECOMPUTE_NONE;
    x->software.fusion = TSIM_FUSION_NONE;
    example_finish(x);
}

/* Weights 9 (4 / 2) 6 = 108 and 3,840 with 10 biases, 12 of the norm. Forward: 2 products of 5 x 64 by 3 by 18. The
 * first layer has no input gradient. */
TSIM_TEST(kernels_by_hand) {
    struct example x;
    struct tsim_op_list list;
    init_small(&x);
    ck_assert_double_eq(tsim_model_parameters(&x.model), 108 + 12 + 3850);
    ck_assert_double_eq(tsim_list_macs(&x.model), 108 * 64 + 3840);
    ck_assert_double_eq(tsim_model_flops_per_token(&x.model, 1, 1), 4 * 108 * 64 + 6 * 3840);
    tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_int_eq(list.n, 3);
    ck_assert_double_eq(list.ops[0].batch, 2);
    ck_assert_double_eq(list.ops[0].m, 320);
    ck_assert_double_eq(list.ops[0].n, 3);
    ck_assert_double_eq(list.ops[0].k, 18);
    ck_assert_double_eq(list.ops[0].flops, 5 * 2 * 108 * 64);
    ck_assert_double_eq(list.ops[0].bytes, 2 * (5 * 256 + 108 + 5 * 384));
    ck_assert_double_eq(list.ops[1].bytes, 5 * 384 * 6);
    tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_int_eq(list.n, 3); /* activation, norm, weight gradient */
    ck_assert_double_eq(list.ops[2].k, 320);
    ck_assert(list.ops[2].is_weight_gradient);
    x.software.fusion = TSIM_FUSION_TE;
    tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_int_eq(list.n, 2);
}

/* A micro-batch keeps the inputs of both products, 256 and 384 elements of 2 bytes a sample, and the norm's 384. */
TSIM_TEST(activations_by_hand) {
    struct example x;
    struct tsim_kept kept;
    init_small(&x);
    tsim_layer_activations(&x.scenario, TSIM_PART_BLOCK, &kept);
    ck_assert_int_eq(kept.n, 2);
    ck_assert_double_eq(2 * kept.rows[0].bytes, 5 * 2 * (256 + 384));
    ck_assert_double_eq(2 * kept.rows[1].bytes, 5 * 2 * 384);
    struct tsim_stage_memory memory;
    tsim_stage_memory(&x.scenario, 0, &memory);
    ck_assert_double_eq(memory.activations_bytes, 5 * 2 * (256 + 384 + 384));
    ck_assert_double_eq(memory.weights_bytes, 2 * 3970);
}

/* In fp32, 3 x 3 without groups has 16 products over a quarter of the pixels, 4 / 9 of the FLOPs. In tf32 input and
 * output are moved once more. */
TSIM_TEST(algorithms) {
    struct example x;
    struct tsim_op_list list;
    struct tsim_list_layer conv = {TSIM_LIST_PRODUCT, 0, 32, 32, 64, 64, 9, 1, 1, false, false};
    init_small(&x);
    x.model.list = &conv;
    x.model.n_list = 1;
    x.scenario.training.precision = TSIM_TF32;
    tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    double direct = list.ops[0].flops, bytes = 4 * (5 * 64 * 64 + 9 * 32 * 32);
    ck_assert_double_eq(direct, 2.0 * 5 * 64 * 9 * 32 * 32);
    ck_assert_double_eq(list.ops[0].bytes, bytes + 2 * 4 * 5 * 64 * 64);
    struct tsim_list_layer pair = {TSIM_LIST_PRODUCT, 0, 32, 32, 2, 2, 1, 1, 1, false, false};
    x.model.list = &pair; /* two pixels are an image, too */
    tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(find(&list, "convolution, input")->bytes, 4 * (5 * 64 * 2 + 32 * 32) + 2 * 4 * 5 * 64 * 2);
    x.model.list = &conv;
    x.scenario.training.precision = TSIM_FP32;
    tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(list.ops[0].batch, 16);
    ck_assert_double_eq_tol(list.ops[0].flops, direct * 4 / 9, 1e-6);
    ck_assert_double_eq_tol(list.ops[1].flops, direct * 4 / 9, 1e-6);
    ck_assert_double_eq(list.ops[0].bytes, bytes);
}

static const struct tsim_accelerator *load_accelerator(const char *node) {
    const struct tsim_node *loaded = NULL;
    ck_assert_int_eq(tsim_catalogue_load_node(&arena, node, &loaded, &diags), TSIM_OK);
    return loaded->accelerator;
}

/* Ten images of 128 channels, 224 x 224, on an RTX 2070 Super: 13.30 ms in one kernel, 15.0 in several, of which 36
 * products of 50,176 x 128 by 128 x 128 take 8.19 ms (the source in hardware/families/all.yaml). The ratios of large products are
 * those of any machine. */
TSIM_TEST(winograd_beside_its_products) {
    static const double MEASURED[3] = {13.30 / 8.19, 13.30 / 8.19, 15.0 / 8.19};
    struct example x;
    const struct tsim_accelerator *a = load_accelerator("single-v100-32gb");
    struct tsim_list_layer conv = {TSIM_LIST_PRODUCT, 0, 128, 128, 224 * 224, 224 * 224, 9, 1, 1, false, false};
    init_small(&x);
    x.model.list = &conv;
    x.model.n_list = 1;
    x.scenario.training.micro_batch_size = 10;
    x.scenario.training.precision = TSIM_FP32;
    double products_s = tsim_gemm_s(a, TSIM_FP32, 36, 50176, 128, 128);
    for (int i = 0; i < 3; i++) {
        struct tsim_op_list list;
        struct tsim_kernel_cost cost;
        (i == 0 ? tsim_operators_forward : tsim_operators_backward)(&x.scenario, TSIM_PART_BLOCK, 0, &list);
        tsim_kernel_cost(a, &x.software, &list.ops[i > 0 ? i - 1 : 0], &cost);
        ck_assert_double_eq_tol(cost.time_s / products_s / MEASURED[i], 1, 0.11);
    }
}

/* 256 images of 32 channels, 112 x 112, 3 x 3: forward, then what the input's and the weights' gradients take. */
static void time_groups(const struct tsim_accelerator *a, enum tsim_precision precision, int64_t groups,
                        double time_s[3]) {
    struct example x;
    struct tsim_kernel_cost cost;
    struct tsim_list_layer conv = {TSIM_LIST_PRODUCT, 0, 32, 32, 12544, 12544, 9, 1, groups, false, false};
    init_small(&x);
    x.model.list = &conv;
    x.model.n_list = 1;
    x.scenario.training.micro_batch_size = 256;
    x.scenario.training.precision = precision;
    for (int i = 0; i < 3; i++) {
        struct tsim_op_list list;
        (i == 0 ? tsim_operators_forward : tsim_operators_backward)(&x.scenario, TSIM_PART_BLOCK, 0, &list);
        tsim_kernel_cost(a, &x.software, &list.ops[i > 0 ? i - 1 : 0], &cost);
        time_s[i] = cost.time_s;
    }
}

/* Depthwise on A100, 80 GB: 2 x 9 FLOP for each of 103 M results, 1.85 GFLOP, and 411 MB in bf16: 0.25 ms at the 0.8 of
 * 2.039 TB/s that its memory sustains and 3 us of latency. On the vector units, 19.5 TFLOP/s, it is 0.095 ms. */
TSIM_TEST(depthwise_is_bound_by_memory) {
    const struct tsim_accelerator *a = load_accelerator("single-a100-80gb");
    double time_s[3], elements = 256.0 * 32 * 12544, bytes = 2 * (2 * elements + 9 * 32);
    time_groups(a, TSIM_BF16, 32, time_s);
    ck_assert_double_eq_tol(bytes, 411e6, 0.5e6);
    ck_assert_double_lt(2 * 9 * elements / a->vector_flops_per_s, bytes / a->memory_bytes_per_s);
    double expected_s = bytes / (a->memory_bytes_per_s * a->memory_sustained_frac) + a->kernel_latency_s;
    for (int i = 0; i < 3; i++) /* a gradient of the weights in fp32 is a few bytes more */
        ck_assert_double_eq_tol(time_s[i], expected_s, expected_s * 1e-4);
    ck_assert_double_eq_tol(time_s[0], 0.26e-3, 0.01e-3);
    double tf32_s[3];
    time_groups(a, TSIM_TF32, 32, tf32_s); /* no layout is changed for units that are not used */
    ck_assert_double_eq_tol(tf32_s[0] - a->kernel_latency_s, 2 * (time_s[0] - a->kernel_latency_s), 1e-9);
}

/* Groups save work: no kernel is slower with more of them, on GPUs, arrays that keep weights or results. */
TSIM_TEST(groups_are_not_slower) {
    static const char *const NODES[] = {"single-a100-80gb", "single-h100-sxm", "single-mi250x",
                                        "single-tpu-v4",    "single-gaudi2",   "single-v100-16gb"};
    const enum tsim_precision PRECISIONS[] = {TSIM_FP32, TSIM_TF32, TSIM_FP16, TSIM_BF16};
    for (size_t n = 0; n < sizeof NODES / sizeof *NODES; n++) {
        const struct tsim_accelerator *a = load_accelerator(NODES[n]);
        for (size_t p = 0; p < sizeof PRECISIONS / sizeof *PRECISIONS; p++) {
            if (a->peak_flops_per_s[PRECISIONS[p]] == 0)
                continue;
            double fewer_s[3], time_s[3];
            time_groups(a, PRECISIONS[p], 1, fewer_s);
            for (int64_t groups = 2; groups <= 32; groups *= 2) {
                time_groups(a, PRECISIONS[p], groups, time_s);
                for (int i = 0; i < 3; i++) {
                    ck_assert_double_le(time_s[i], fewer_s[i] * (1 + 1e-12));
                    fewer_s[i] = time_s[i];
                }
            }
        }
    }
}

/* DCGAN's products by hand, kernel area x in x out x pixels of the smaller image. The generator is trained on a batch
 * of b images: 6 b FLOPs a MAC, but for the input of its first layer. The discriminator judges three batches: two train
 * it, without the gradient of its images (12 b, and 4 b less in the first layer), and of the third only the gradients
 * of inputs are passed on (4 b). */
TSIM_TEST(adversaries_in_turn) {
    const struct tsim_model *m = load("dcgan");
    static const double GENERATOR[] = {16.0 * 100 * 512, 16.0 * 512 * 256 * 16, 16.0 * 256 * 128 * 64,
                                       16.0 * 128 * 64 * 256, 16.0 * 64 * 3 * 1024},
                        DISCRIMINATOR[] = {16.0 * 3 * 64 * 1024, 16.0 * 64 * 128 * 256, 16.0 * 128 * 256 * 64,
                                           16.0 * 256 * 512 * 16, 16.0 * 512};
    struct example x;
    struct tsim_op_list list;
    double expected = 0, flops = 0;
    ck_assert_double_eq(tsim_list_parameters(m), 3576704 + 2765568);
    ck_assert_int_eq(m->layers, 10);
    example_init(&x);
    x.model = *m;
    x.scenario.training.micro_batch_size = 7;
    x.scenario.training.precision = TSIM_FP16;
    x.software.fusion = TSIM_FUSION_NONE;
    example_finish(&x);
    for (int block = 0; block < 5; block++) {
        expected += (block == 0 ? 4 : 6) * GENERATOR[block] + (block == 0 ? 12 : 16) * DISCRIMINATOR[block];
        for (int at = block; at < 10; at += 5) {
            tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, at, &list);
            ck_assert_double_eq_tol(sum_flops(&list), 7 * (at < 5 ? 2 * GENERATOR[at] : 6 * DISCRIMINATOR[at - 5]), 1);
            flops += sum_flops(&list);
            tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, at, &list);
            flops += sum_flops(&list);
        }
    }
    ck_assert_double_eq_tol(flops, 7 * expected, 1e-9 * flops);
    ck_assert_double_eq(tsim_list_flops_per_sample(m), expected);
}

/* A bias that no kernel takes along is read and written with every result: 5 samples of 32 x 64 in 2 bytes. */
TSIM_TEST(a_bias_by_itself) {
    struct example x;
    struct tsim_op_list list;
    struct tsim_list_layer conv = {.kind = TSIM_LIST_PRODUCT,
                                   .in = 32,
                                   .in_area = 64,
                                   .out = 32,
                                   .out_area = 64,
                                   .kernel_area = 9,
                                   .groups = 1,
                                   .stride = 1,
                                   .has_bias = true};
    init_small(&x);
    x.model.list = &conv;
    x.model.n_list = 1;
    x.software.fusion = TSIM_FUSION_NONE;
    tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(find(&list, "bias")->bytes, 5 * 32 * 64 * 2 * 2);
    x.software.fusion = TSIM_FUSION_COMPILE;
    tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_ptr_null(seek(&list, "bias"));
}

/* A cross layer of 5 samples, fp16, 6 wide: product, first and last vectors in and one out; backward gradient, product
 * and first vector in, the product's gradient out, the first's added to. A bias in a pass of its own: 2 and 3 times the
 * product's 3 wide result, which sums the gradient, too; of a bottom MLP on the first of two ranks, for 10 samples. */
TSIM_TEST(cross_layer_and_bias_pass) {
    struct example x;
    struct tsim_op_list list;
    struct tsim_list_layer cross = {.kind = TSIM_LIST_CROSS, .in = 6, .in_area = 1, .out = 6, .out_area = 1};
    struct tsim_list_layer product = {.kind = TSIM_LIST_PRODUCT,
                                      .in = 6,
                                      .in_area = 1,
                                      .out = 3,
                                      .out_area = 1,
                                      .kernel_area = 1,
                                      .stride = 1,
                                      .groups = 1,
                                      .has_bias = true};
    init_small(&x);
    x.model.list = &cross;
    x.model.n_list = 1;
    tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(find(&list, "cross")->bytes, 4 * 5 * 6 * 2);
    tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(find(&list, "cross")->bytes, 6 * 5 * 6 * 2);
    x.model.list = &product;
    x.software.fusion = TSIM_FUSION_COMPILE;
    x.software.bias_activation = TSIM_BIAS_PASS;
    tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(find(&list, "bias, activation")->bytes, 2 * 5 * 3 * 2);
    tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(find(&list, "bias, activation")->bytes, 3 * 5 * 3 * 2);
    ck_assert_ptr_null(seek(&list, "bias gradient"));
    product.is_bottom = true;
    x.scenario.parallelism.data = 2;
    tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(find(&list, "bias, activation")->bytes, 2 * 5 * 3 * 2);
    x.software.bottom_mlp = TSIM_BOTTOM_FIRST_RANK;
    tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(find(&list, "bias, activation")->bytes, 2 * 10 * 3 * 2);
}

/* DLRM's interaction of 5 samples, fp16: 9 vectors of 16, 36 products of two and the 16 of the bottom MLP go on.
 * Products of all with all are 2 x 9 x 9 x 16 FLOPs, twice that for the gradients. A fused kernel reads and writes each
 * once; otherwise a copy puts the vectors side by side before the product and another picks the triangle after it. */
TSIM_TEST(interaction_by_hand) {
    struct example x;
    struct tsim_op_list list;
    struct tsim_list_layer layer = {
        .kind = TSIM_LIST_INTERACTION, .in = 9 * 16, .in_area = 1, .out = 36 + 16, .out_area = 1, .groups = 9};
    const double in = 5 * 2 * 144, out = 5 * 2 * 52, flops = 5 * 2 * 9 * 9 * 16;
    init_small(&x);
    x.model.list = &layer;
    x.model.n_list = 1;
    for (int fused = 0; fused < 2; fused++)
        for (int backward = 0; backward < 2; backward++) {
            x.software.fusion = fused ? TSIM_FUSION_MEGATRON : TSIM_FUSION_NONE;
            (backward ? tsim_operators_backward : tsim_operators_forward)(&x.scenario, TSIM_PART_BLOCK, 0, &list);
            const struct tsim_op *op = find(&list, backward ? "interaction, inputs" : "interaction");
            ck_assert_double_eq(op->flops, flops * (backward ? 2 : 1));
            ck_assert_double_eq(op->bytes, out + in * (backward ? 2 : 1));
            const struct tsim_op *copies = seek(&list, "interaction, copies");
            ck_assert((copies == NULL) == fused);
            if (copies) {
                ck_assert_double_eq(copies->bytes, 2 * (in + out));
                ck_assert_double_eq(copies->kernels, 2);
                ck_assert_double_eq(op->batch, backward ? 10 : 5);
            }
        }
}

/* One kernel after another in fp16, of 5 samples: a 3 x 3 convolution of stride 2 in 2 groups from 4 x 64 to 6 x 16
 * values, with a bias; norm, sum, activation, pools to 4 places, with the places of maxima in 8 bytes; 6 to 8 features.
 * A weight's gradient is added to an fp32 sum. The input's gradient: each of 4 parts of the pixels takes a quarter of
 * the kernel. */
TSIM_TEST(traffic_by_hand) {
    static const struct tsim_list_layer MIXED[] = {
        {TSIM_LIST_PRODUCT, 0, 4, 6, 64, 16, 9, 2, 2, true, false},
        {TSIM_LIST_NORM, 0, 6, 6, 16, 16, 1, 1, 1, false, false},
        {TSIM_LIST_ADD, 0, 6, 6, 16, 16, 1, 1, 1, false, false},
        {TSIM_LIST_MAX_POOL, 0, 6, 6, 16, 4, 4, 2, 1, false, false},
        {TSIM_LIST_RELU, 0, 6, 6, 4, 4, 1, 1, 1, false, false},
        {TSIM_LIST_AVERAGE_POOL, 0, 6, 6, 4, 1, 4, 2, 1, false, false},
        {TSIM_LIST_PRODUCT, 0, 6, 8, 1, 1, 1, 1, 1, false, false, .is_result = true}};
    static const struct {
        const char *name;
        double bytes, kernels;
    } FORWARD[] = {{"convolution", 2 * (1280 + 108 + 480), 1},
                   {"bias", 480 * 4, 1},
                   {"batch norm", 480 * 6, 2},
                   {"residual", 480 * 6, 1},
                   {"pool", 480 * 2 + 120 * (2 + 8), 1},
                   {"activation", 120 * 4, 1},
                   {"pool", (120 + 30) * 2, 1},
                   {"linear", 2 * (30 + 48 + 40), 1},
                   {"loss", 40 * 6, 3}},
      BACKWARD[] = {{"loss", 40 * 6, 3},
                    {"linear, input", 2 * (30 + 48 + 40), 1},
                    {"linear, weight", 2 * (30 + 40) + 8 * 48, 1},
                    {"pool", (120 + 30) * 2, 1},
                    {"activation", 120 * 6, 1},
                    {"pool", 480 * 2 + 120 * (2 + 8), 1},
                    {"residual gradient", 480 * 6, 1},
                    {"batch norm", 480 * 10, 2},
                    {"convolution, input", 2 * (1280 + 108 + 480), 1},
                    {"convolution, weight", 2 * (1280 + 480) + 8 * 108, 1},
                    {"bias gradient", 480 * 2, 1}};
    struct example x;
    struct tsim_op_list list;
    init_small(&x);
    x.model.list = MIXED;
    x.model.n_list = 7;
    x.model.layers = 1;
    example_finish(&x);
    for (int backward = 0; backward < 2; backward++) {
        (backward ? tsim_operators_backward : tsim_operators_forward)(&x.scenario, TSIM_PART_BLOCK, 0, &list);
        ck_assert_int_eq(list.n, backward ? 11 : 9);
        for (int32_t i = 0; i < list.n; i++) {
            ck_assert_str_eq(list.ops[i].name, (backward ? BACKWARD : FORWARD)[i].name);
            ck_assert_double_eq(list.ops[i].bytes, (backward ? BACKWARD : FORWARD)[i].bytes);
            ck_assert_double_eq(list.ops[i].kernels, (backward ? BACKWARD : FORWARD)[i].kernels);
        }
    }
    const struct tsim_op *input = find(&list, "convolution, input"), *weight = find(&list, "convolution, weight");
    ck_assert(input->batch == 2 && input->m == 320 && input->n == 2 && input->k == 27 / 4.0);
    ck_assert(weight->batch == 2 && weight->m == 3 && weight->n == 18 && weight->k == 80);
    ck_assert(!input->is_weight_gradient && weight->is_weight_gradient);
    ck_assert(find(&list, "bias gradient")->is_weight_gradient);
    ck_assert_double_eq(input->flops, 2 * 5 * 16 * 108.0);
    x.scenario.training.gradient_precision = TSIM_FP16;
    tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(find(&list, "linear, weight")->bytes, 2 * (30 + 40) + 4 * 48);
    struct tsim_stage_memory
        memory; /* inputs of products 1,280 + 30, of the norm 480, of the pool 480 and its places */
    tsim_stage_memory(&x.scenario, 0, &memory);
    ck_assert_double_eq(memory.activations_bytes, 2 * (1280 + 30) + 2 * 480 + 2 * 480 + 8 * 120);
    ck_assert_double_eq(memory.buffers_bytes, 2 * 2 * 1280); /* the widest is the image */
}

/* Returns the sums of all operators of a name. */
static struct tsim_op all_of(const struct tsim_op_list *list, const char *name) {
    struct tsim_op sum = {0};
    for (int32_t i = 0; i < list->n; i++)
        if (strcmp(list->ops[i].name, name) == 0) {
            sum.bytes += list->ops[i].bytes;
            sum.kernels += list->ops[i].kernels;
        }
    return sum;
}

/* The end of a block with a projection, and the next block's first convolution, of 5 samples in fp16: 320 elements in,
 * 480 in the block, 640 out. With sums in convolutions a norm reads and writes once, and the one that is added nothing.
 * All in convolutions, none has a pass forward; backward, the kernel of the input's gradient reads what the norm read,
 * or for a sum the other branch's gradient, a bit an element and both norms' inputs, and a pass makes 3 accesses. */
TSIM_TEST(batch_norms_in_convolutions) {
    static const struct tsim_list_layer BLOCK[] = {
        {TSIM_LIST_PRODUCT, 0, 4, 4, 16, 16, 1, 1, 1, false, true},
        {TSIM_LIST_NORM, 0, 4, 4, 16, 16, 1, 1, 1, false, false},
        {TSIM_LIST_RELU, 0, 4, 4, 16, 16, 1, 1, 1, false, false},
        {TSIM_LIST_PRODUCT, 0, 4, 6, 16, 16, 1, 1, 1, false, false},
        {TSIM_LIST_NORM, 0, 6, 6, 16, 16, 1, 1, 1, false, false},
        {TSIM_LIST_PRODUCT, 0, 4, 6, 16, 16, 1, 1, 1, false, false},
        {TSIM_LIST_NORM, 0, 6, 6, 16, 16, 1, 1, 1, false, false},
        {TSIM_LIST_ADD, 0, 6, 6, 16, 16, 1, 1, 1, false, false},
        {TSIM_LIST_RELU, 0, 6, 6, 16, 16, 1, 1, 1, false, false},
        {TSIM_LIST_PRODUCT, 0, 6, 8, 16, 16, 1, 1, 1, false, false, .is_result = true}};
    const double plain = 2 * (2 * (320 + 24 + 480) + 480 + 48 + 640);
    static const struct {
        enum tsim_batch_norm where;
        double forward, residual, forward_kernels, sums, backward, backward_kernels, residual_gradient, read, kept;
    } EXPECTED[] = {
        {TSIM_BATCH_NORM_APART, 1280 * 6, 480 * 6, 6, 0, 1280 * 10, 6, 480 * 6, 0, 320 * 3 + 480},
        {TSIM_BATCH_NORM_SUMS_FUSED, 800 * 4, 480 * 6, 2, 16 * 56, 1280 * 10, 6, 480 * 6, 0, 320 * 3 + 480},
        {TSIM_BATCH_NORM_FUSED, 0, 480 * 6.125, 0, 16 * 56, 1280 * 6, 3, 0, 320 * 2 + 480 * 6.125, 320 * 2 + 480}};
    struct example x;
    struct tsim_op_list list;
    struct tsim_kept kept;
    init_small(&x);
    x.model.list = BLOCK;
    x.model.n_list = sizeof BLOCK / sizeof BLOCK[0];
    x.model.layers = 1;
    example_finish(&x);
    x.software.fusion = TSIM_FUSION_COMPILE;
    for (size_t i = 0; i < sizeof EXPECTED / sizeof EXPECTED[0]; i++) {
        x.software.batch_norm = EXPECTED[i].where;
        tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
        ck_assert_double_eq(all_of(&list, "batch norm").bytes, EXPECTED[i].forward);
        ck_assert_double_eq(all_of(&list, "batch norm").kernels, EXPECTED[i].forward_kernels);
        ck_assert_double_eq(all_of(&list, "batch norm, sums").bytes, EXPECTED[i].sums);
        ck_assert_double_eq(all_of(&list, "residual").bytes, EXPECTED[i].residual);
        tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
        ck_assert_double_eq(all_of(&list, "batch norm").bytes, EXPECTED[i].backward);
        ck_assert_double_eq(all_of(&list, "batch norm").kernels, EXPECTED[i].backward_kernels);
        ck_assert_double_eq(all_of(&list, "residual gradient").bytes, EXPECTED[i].residual_gradient);
        ck_assert_double_eq(all_of(&list, "convolution, input").bytes, plain + EXPECTED[i].read);
        tsim_layer_activations(&x.scenario, TSIM_PART_BLOCK, &kept);
        ck_assert_double_eq(kept.rows[0].bytes, 2 * EXPECTED[i].kept);
    }
    x.software.fusion = TSIM_FUSION_NONE; /* operator by operator, norms have passes of their own */
    tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(all_of(&list, "batch norm").bytes, EXPECTED[0].forward);
}

/* Fused, an activation goes with what is before it; the first of a stage, after a pool, or of a model does not. Two
 * stages in a row hold twice their widest tensor and what the other one sends. */
TSIM_TEST(first_of_a_stage) {
    static const struct tsim_list_layer CUT[] = {
        {TSIM_LIST_PRODUCT, 0, 6, 7, 1, 1, 1, 1, 1, false, true},
        {TSIM_LIST_RELU, 1, 7, 7, 1, 1, 1, 1, 1, false, false},
        {TSIM_LIST_PRODUCT, 1, 7, 9, 1, 1, 1, 1, 1, false, false, .is_result = true}};
    struct example x;
    struct tsim_op_list list;
    struct tsim_stage_part part;
    init_small(&x);
    x.model.list = CUT;
    x.model.n_list = 3;
    x.software.fusion = TSIM_FUSION_MEGATRON;
    tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, 1, &list);
    ck_assert_ptr_null(seek(&list, "activation"));
    x.scenario.parallelism.pipeline = 2;
    x.scenario.parallelism.schedule = TSIM_SCHEDULE_GPIPE;
    example_finish(&x);
    const struct tsim_scenario *second = tsim_stage_part(&x.scenario, 1, &part);
    tsim_operators_forward(second, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(find(&list, "activation")->bytes, 5 * 7 * 4);
    tsim_operators_backward(second, TSIM_PART_BLOCK, 0, &list);
    ck_assert_double_eq(find(&list, "activation")->bytes, 5 * 7 * 6);
    static const double WIDEST[] = {7, 9};
    for (int32_t s = 0; s < 2; s++) {
        struct tsim_stage_memory memory;
        tsim_stage_memory(&x.scenario, s, &memory);
        ck_assert_double_eq(memory.buffers_bytes, 2 * 5 * (2 * WIDEST[s] + 7));
    }
}

/* Stages of whole blocks: each layer of the list is in one part. */
TSIM_TEST(parts_of_blocks) {
    const struct tsim_model *m = load("resnet50");
    struct tsim_model part;
    size_t n = 0;
    for (int64_t first = 0; first < m->layers; first += 6) {
        tsim_list_part(m, first, 6, &part);
        ck_assert_ptr_eq(part.list, m->list + n);
        for (size_t i = 0; i < part.n_list; i++)
            ck_assert(part.list[i].block >= first && part.list[i].block < first + 6);
        ck_assert_int_eq(part.layers, 6);
        ck_assert_int_eq(part.first_block, first);
        n += part.n_list;
    }
    ck_assert_uint_eq(n, m->n_list);
}

/* RetinaNet by hand: the trunk is ResNeXt-50's (torchvision: 25,028,904 parameters) without its classifier and its
 * norms; then the pyramid, and two heads on 100^2 + 50^2 + 25^2 + 13^2 + 7^2 places. The trunk's 4.23 GMAC are printed
 * for 224 x 224 pixels. */
TSIM_TEST(detector_by_hand) {
    const struct tsim_model *m = load("retinanet-resnext50");
    double conv = 9.0 * 256 * 256, places = 10000 + 2500 + 625 + 169 + 49;
    double trunk = 25028904.0 - 2049000 - 68224;
    double laterals = (512 + 1024 + 2048) * 256.0, heads = 8 * conv + 9.0 * 256 * (2376 + 36);
    ck_assert_double_eq(tsim_list_parameters(m), trunk + laterals + 5 * conv + heads + (3 + 5 + 8) * 256 + 2376 + 36);
    double macs = tsim_list_macs(m) - 256.0 * (512 * 10000 + 1024 * 2500 + 2048 * 625) -
                  conv * (10000 + 2500 + 625 + 169 + 49) - places * heads;
    ck_assert_double_eq_tol(macs / (800 * 800), 4.23e9 / (224 * 224), 0.01 * 4.23e9 / (224 * 224));
    size_t results = 0, shared = 0, kept = 0;
    for (size_t i = 0; i < m->n_list; i++) {
        const struct tsim_list_layer *l = &m->list[i];
        results += l->is_result;
        shared += l->is_shared && l->kind == TSIM_LIST_PRODUCT;
        kept += l->is_kept;
        ck_assert_int_eq(l->is_frozen, l->block < 4);
        /* the first trained block has two products that take what is frozen */
        ck_assert_int_eq(l->is_first && !l->is_frozen && l->kind == TSIM_LIST_PRODUCT,
                         l->block == 4 && l->kind == TSIM_LIST_PRODUCT && l->kernel_area == 1 && l->in_area == 40000);
    }
    ck_assert_uint_eq(results, 10);
    ck_assert_uint_eq(shared, 2 * 5 * 4);
    ck_assert_uint_eq(kept,
                      4 + 2 + 2 + 5); /* projections, laterals, the way from P5 and P6, and boxes behind classes */
}

/* The operators of the level of 50 x 50 pixels: the product, the level above enlarged, and their sum, which both levels'
 * gradients pass as it is. The product's input is also the next block's, so that two gradients meet there. */
TSIM_TEST(levels_are_added) {
    struct example x;
    struct tsim_op_list list;
    const struct tsim_model *m = load("retinanet-resnext50");
    int32_t block = 0;
    for (size_t i = 0; i < m->n_list; i++)
        if (m->list[i].kind == TSIM_LIST_ENLARGE && m->list[i].out_area == 2500)
            block = m->list[i].block;
    example_init(&x);
    x.model = *m;
    x.scenario.training.micro_batch_size = 3;
    x.scenario.training.precision = TSIM_FP16;
    x.software.fusion = TSIM_FUSION_COMPILE;
    example_finish(&x);
    tsim_operators_forward(&x.scenario, TSIM_PART_BLOCK, block, &list);
    ck_assert_int_eq(list.n, 3);
    ck_assert_double_eq(list.ops[0].flops, 3 * 2 * 2500.0 * 1024 * 256);
    ck_assert_double_eq(find(&list, "image, enlarged")->bytes, 3 * 2 * 256.0 * (625 + 2500));
    ck_assert_double_eq(find(&list, "residual")->bytes, 3 * 6 * 256.0 * 2500);
    tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, block, &list);
    ck_assert_ptr_null(seek(&list, "residual gradient"));
    ck_assert_double_eq(find(&list, "image, enlarged")->bytes, 3 * 2 * 256.0 * (625 + 2500));
    ck_assert_double_eq(find(&list, "gradients, sum")->bytes, 3 * 6 * 1024.0 * 2500);
    tsim_operators_backward(&x.scenario, TSIM_PART_BLOCK, 1, &list);
    ck_assert_int_eq(list.n, 0); /* it is frozen */
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
