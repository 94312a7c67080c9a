#include "model/arithmetic.h"

#include <string.h>

struct cost {
    double forward, backward;
};

static struct cost activation_cost(const struct tsim_model *m) {
    switch (tsim_model_activation(m)) {
    case TSIM_ACTIVATION_RELU:
        return (struct cost){1, 1};
    case TSIM_ACTIVATION_GELU:
        return (struct cost){16, 24};
    case TSIM_ACTIVATION_SILU:
        return m->gated_mlp ? (struct cost){19, 28} : (struct cost){18, 26};
    case TSIM_ACTIVATION_SIGMOID:
        return (struct cost){17, 3};
    case TSIM_ACTIVATION_TANH:
        return (struct cost){8, 3};
    case TSIM_ACTIVATION_AUTO:
        break;
    }
    TSIM_BUG("activation %d", (int)m->activation);
}

enum tsim_activation_function tsim_model_activation(const struct tsim_model *m) {
    if (m->activation != TSIM_ACTIVATION_AUTO)
        return m->activation;
    if (m->list)
        return TSIM_ACTIVATION_RELU;
    return m->gated_mlp ? TSIM_ACTIVATION_SILU : TSIM_ACTIVATION_GELU;
}

static bool has(const char *name, const char *word) {
    return strstr(name, word) != NULL;
}

static bool is_copy(const char *name) {
    static const char *const COPIES[] = {"embedding", "permute", "copies", "copy",  "join",
                                         "gather",    "pick",    "put",    "tables"};
    if (strcmp(name, "embedding dropout") == 0)
        return false;
    for (size_t i = 0; i < sizeof COPIES / sizeof COPIES[0]; i++)
        if (has(name, COPIES[i]))
            return true;
    return false;
}

static struct cost cost_of(const struct tsim_model *m, const char *name) {
    if (is_copy(name))
        return (struct cost){0, 0};
    if (has(name, "tanh"))
        return (struct cost){8, 3};
    if (has(name, "activation"))
        return activation_cost(m);
    if (has(name, "batch norm") || (has(name, "norm") && m->norm == TSIM_NORM_LAYERNORM))
        return (struct cost){8, 13};
    if (has(name, "norm"))
        return (struct cost){4, 8};
    if (has(name, "softmax"))
        return (struct cost){13, 5};
    if (has(name, "loss"))
        return (struct cost){11, 2};
    if (has(name, "rotary") || has(name, "rope"))
        return (struct cost){3, 3};
    if (has(name, "dropout"))
        return (struct cost){2, 1};
    return (struct cost){1, 1};
}

double tsim_op_vector_flops(const struct tsim_model *m, const struct tsim_op *op, bool backward) {
    if (op->kind != TSIM_OP_ELEMENTWISE || op->elements <= 1) /* one: its bytes alone are said */
        return 0;
    struct cost cost = cost_of(m, op->name);
    return op->elements * (backward ? cost.backward : cost.forward);
}
