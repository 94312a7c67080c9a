#include "model/operator_builders.h"

void tsim_operators_forward(const struct tsim_scenario *scenario, enum tsim_part part, int64_t at,
                            struct tsim_op_list *list) {
    list->n = 0;
    tsim_layer_forward(scenario, part, at, list);
}

void tsim_operators_backward(const struct tsim_scenario *scenario, enum tsim_part part, int64_t at,
                             struct tsim_op_list *list) {
    list->n = 0;
    tsim_layer_backward(scenario, part, at, list);
}

/* ---- again ---- */

/* Leaves of a product that joins others what remains when every second product of the layer is kept: *count is that of
 * the products before. */
static bool halve_product(const struct tsim_scenario *sc, struct tsim_op *op, int *count) {
    double columns = 0;
    if (op->joined[0] > 0) {
        for (size_t i = 0; i < sizeof op->joined / sizeof op->joined[0]; i++)
            if (op->joined[i] > 0 && ++*count % 2 == 0)
                columns += op->joined[i];
    } else if (++*count % 2 == 0) {
        columns = op->n;
    }
    op->flops *= columns / op->n;
    double linear_bytes = tsim_operand_bytes(sc->training.precision);
    op->bytes = linear_bytes * op->k * (op->m + columns) + activation_bytes(sc->training.precision) * op->m * columns;
    op->n = columns;
    return columns > 0;
}

static bool runs_again(const struct tsim_scenario *sc, unsigned parts, struct tsim_op *op, int *count) {
    if (parts != TSIM_RECOMPUTE_OPERATORS) /* 0: whole layers */
        return (!parts || op->parts & parts) && !(op->is_last_projection && sc->software->checkpoint_early_stop);
    bool is_kept = op->kind == TSIM_OP_FLASH || op->collective == TSIM_OP_REDUCE_SCATTER;
    bool is_product = op->kind == TSIM_OP_GEMM && op->batch == 1; /* scores are batches of products */
    bool runs = is_product ? halve_product(sc, op, count) : !is_kept;
    return runs && !op->is_last_projection;
}

void tsim_operators_again(const struct tsim_scenario *scenario, enum tsim_part part, int64_t at,
                          struct tsim_op_list *list) {
    unsigned parts = tsim_recompute_parts(scenario);
    int32_t n = 0;
    int count = 0;
    tsim_operators_forward(scenario, part, at, list);
    for (int32_t i = 0; i < list->n && !tsim_layer_is_frozen(scenario, part); i++)
        if (runs_again(scenario, parts, &list->ops[i], &count))
            list->ops[n++] = list->ops[i];
    list->n = n;
}
