/* Tests the FLOPs of element-wise kernels, and that memory binds them on every GPU of the catalogue. */
#include "config/catalogue_load.h"
#include "model/arithmetic.h"
#include "support/arena_rig.h"

#include <math.h>
#include <string.h>

static double flops_of(const struct tsim_model *model, const char *name, bool backward) {
    const struct tsim_op op = {.name = name, .kind = TSIM_OP_ELEMENTWISE, .elements = 1000};
    return tsim_op_vector_flops(model, &op, backward) / 1000;
}

/* max(x, 0) is a comparison; 0.5 x (1 + tanh(c (x + 0.044715 x x x))) is 8 operations and a tanh; 1 / (1 + e^-x) an
 * exponential, a sum and a reciprocal, its derivative y (1 - y) two and times what comes in; tanh's (1 - y y), too. */
TSIM_TEST(activations) {
    struct tsim_model m = {.activation = TSIM_ACTIVATION_RELU};
    ck_assert_double_eq(flops_of(&m, "activation", false), 1);
    m.activation = TSIM_ACTIVATION_AUTO;
    ck_assert_double_eq(flops_of(&m, "activation", false), 8 + 8);
    m.gated_mlp = true; /* e^-x, 1 + , reciprocal, x, the other half */
    ck_assert_int_eq(tsim_model_activation(&m), TSIM_ACTIVATION_SILU);
    ck_assert_double_eq(flops_of(&m, "activation", false), 8 + 1 + 8 + 1 + 1);
    ck_assert_double_eq(flops_of(&m, "expert activation", false), 19);
    /* It computes dy (sigmoid + x sigmoid (1 - sigmoid)) and the other half's: the exponential and the reciprocal
     * again. */
    ck_assert_double_eq(flops_of(&m, "activation", true), 28);
    m.gated_mlp = false;
    m.activation = TSIM_ACTIVATION_SILU;
    ck_assert_double_eq(flops_of(&m, "activation", false), 8 + 1 + 8 + 1);
    ck_assert_double_eq(flops_of(&m, "activation", true), 26);
    m.activation = TSIM_ACTIVATION_GELU;
    ck_assert_double_eq(flops_of(&m, "activation", true), 24);
    m.activation = TSIM_ACTIVATION_RELU;
    ck_assert_double_eq(flops_of(&m, "activation", true), 1);
    m.activation = TSIM_ACTIVATION_SIGMOID;
    ck_assert_double_eq(flops_of(&m, "activation", false), 8 + 1 + 8);
    ck_assert_double_eq(flops_of(&m, "activation", true), 2 + 1);
    m.activation = TSIM_ACTIVATION_TANH;
    ck_assert_double_eq(flops_of(&m, "activation", false), 8);
    ck_assert_double_eq(flops_of(&m, "activation", true), 2 + 1);
}

TSIM_TEST(others) {
    struct tsim_model m = {.norm = TSIM_NORM_LAYERNORM};
    ck_assert_double_eq(flops_of(&m, "norm 1", false), 8);
    m.norm = TSIM_NORM_RMSNORM;
    ck_assert_double_eq(flops_of(&m, "final norm", false), 4);
    ck_assert_double_eq(flops_of(&m, "batch norm", false), 8);
    ck_assert_double_eq(flops_of(&m, "attention softmax", false), 13);
    ck_assert_double_eq(flops_of(&m, "residual 1", false), 1);
    ck_assert_double_eq(flops_of(&m, "residual 1", true), 1);
    /* softmax: y (dy - sum y dy): a product, its sum, a difference, a product, the scale; the loss p - 1 of the target,
     * times what comes in; a mask is one product, rotations three operations both ways, tanh's 1 - y y, times dy */
    ck_assert_double_eq(flops_of(&m, "attention softmax", true), 5);
    ck_assert_double_eq(flops_of(&m, "loss", true), 2);
    ck_assert_double_eq(flops_of(&m, "embedding dropout", true), 1);
    ck_assert_double_eq(flops_of(&m, "rotary", false), 3);
    ck_assert_double_eq(flops_of(&m, "rotary", true), 3);
    ck_assert_double_eq(flops_of(&m, "pooler, tanh", false), 8);
    ck_assert_double_eq(flops_of(&m, "pooler, tanh", true), 3);
    ck_assert_double_eq(flops_of(&m, "loss", false), 8 + 3);
    ck_assert_double_eq(flops_of(&m, "final norm", true), 8);
    ck_assert_double_eq(flops_of(&m, "batch norm", true), 13);
    m.norm = TSIM_NORM_LAYERNORM;
    ck_assert_double_eq(flops_of(&m, "norm 1", true), 13);
    ck_assert_double_eq(flops_of(&m, "embedding", false), 0);
    ck_assert_double_eq(flops_of(&m, "embedding dropout", false), 2);
    ck_assert_double_eq(flops_of(&m, "permute", true), 0);
    const struct tsim_op two = {.name = "residual 1", .kind = TSIM_OP_ELEMENTWISE, .elements = 2};
    ck_assert_double_eq(tsim_op_vector_flops(&m, &two, false), 2);
    const struct tsim_op product = {.name = "activation", .kind = TSIM_OP_GEMM, .flops = 1};
    ck_assert_double_eq(tsim_op_vector_flops(&m, &product, false), 0);
}

/* A byte of a fused 16-bit kernel comes with at most: GELU 16 / 4 and 24 / 6, silu 19 / 6, softmax 13 / 3 (it reads a
 * triangle), layer norm 8 / 4. That is below the balance of fp32 units and memory of NVIDIA's and AMD's GPUs. */
TSIM_TEST(memory_binds_on_gpus) {
    const char *const *ids;
    size_t n, n_gpus = 0;
    ck_assert_int_eq(tsim_catalogue_list(&arena, TSIM_CATALOGUE_ACCELERATORS, &ids, &n, &diags), TSIM_OK);
    for (size_t i = 0; i < n; i++) {
        const struct tsim_accelerator *a;
        ck_assert_int_eq(tsim_catalogue_load_accelerator(&arena, ids[i], &a, &diags), TSIM_OK);
        if (strcmp(a->vendor, "NVIDIA") != 0 && strcmp(a->vendor, "AMD") != 0)
            continue;
        n_gpus++;
        ck_assert_msg(a->vector_flops_per_s / a->memory_bytes_per_s > 13.0 / 3, "%s", ids[i]);
    }
    ck_assert_uint_gt(n_gpus, 10);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
