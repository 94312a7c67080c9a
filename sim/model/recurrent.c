#include "model/recurrent.h"

#include "model/matrices.h"

struct tsim_recurrent_adapters tsim_recurrent_adapters(const struct tsim_op_shape *z, double columns, double result) {
    return (struct tsim_recurrent_adapters){.in = tsim_adapters_of_recurrence(z, TSIM_TARGET_RECURRENCE_IN, columns),
                                            .out = tsim_adapters_of_recurrence(z, TSIM_TARGET_RECURRENCE_OUT, result)};
}

double tsim_recurrent_adapter_parameters(const struct tsim_op_shape *z, double columns, double result) {
    struct tsim_recurrent_adapters of = tsim_recurrent_adapters(z, columns, result);
    return tsim_adapters_parameters(z, of.in) + tsim_adapters_parameters(z, of.out);
}

void tsim_recurrent_keep_inputs(const struct tsim_op_shape *z, unsigned parts, struct tsim_recurrent_adapters of,
                                struct tsim_kept *kept) {
    double blocks = z->is_alone ? 1 : 2,
           inputs = tsim_keeps_input(z, of.in) +
                    (z->is_alone ? 0 : tsim_keeps_input(z, tsim_adapters_of(z, TSIM_PRODUCT_UP)));
    tsim_keep(kept, "inputs of the norms", z->ts * blocks * z->h * z->element_bytes);
    if (!(parts & TSIM_RECOMPUTE_NORMS))
        tsim_keep(kept, "inputs of the blocks", z->ts * inputs * z->h * z->linear_bytes);
    tsim_keep(kept, "masks of dropout", z->ts * blocks * z->h * z->mask_bytes);
    tsim_keep(kept, "recurrence: adapters", tsim_adapters_kept_bytes(z, of.in) + tsim_adapters_kept_bytes(z, of.out));
}

void tsim_recurrent_inner_forward(struct tsim_op_list *list, const struct tsim_op_shape *z,
                                  const struct tsim_recurrent *x) {
    double e = z->element_bytes, le = z->linear_bytes;
    struct tsim_recurrent_adapters of = tsim_recurrent_adapters(z, x->columns, x->result);
    tsim_op_take_weight(list, z, x->columns * z->h);
    gemm(list, x->in, z->linear_precision, z->t, x->columns, z->h, le, e);
    tsim_op_adapters_forward(list, z, of.in);
    elementwise(list, x->convolution, z->t * x->convolved, 2 * e, 1);
    x->recurrence(list, z);
    elementwise(list, x->norm, z->t * x->result, 3 * e, 1);
    cast(list, z, "cast", z->t * x->result);
    tsim_op_take_weight(list, z, z->h * x->result);
    gemm(list, x->out, z->linear_precision, z->t, z->h, x->result, le, e);
    tsim_op_adapters_forward(list, z, of.out);
}

void tsim_recurrent_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct tsim_recurrent *x) {
    tsim_op_norm_before_linear(list, z, "norm 1");
    tsim_op_gather_input(list, z, x->gather, z->h);
    tsim_recurrent_inner_forward(list, z, x);
    tsim_op_reduce_output(list, z, x->reduce);
    tsim_op_norm_behind_forward(list, z, "norm 1, behind");
    tsim_op_residual_forward(list, z, "residual 1", !z->is_alone);
}

void tsim_recurrent_inner_backward(struct tsim_op_list *list, const struct tsim_op_shape *z,
                                   const struct tsim_recurrent *x, bool shares_input) {
    double e = z->element_bytes;
    struct tsim_recurrent_adapters of = tsim_recurrent_adapters(z, x->columns, x->result);
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.input = x->out_input,
                                                     .weight = x->out_weight,
                                                     .gather = x->gather,
                                                     .n = z->h,
                                                     .k = x->result,
                                                     .has_adapters = of.out.count > 0});
    tsim_op_adapters_backward(list, z, of.out);
    elementwise(list, x->norm, z->t * x->result, 6 * e, 2);
    x->recurrence(list, z);
    x->recurrence(list, z);
    elementwise(list, x->convolution, z->t * x->convolved, 3 * e, 2);
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.input = x->in_input,
                                                     .weight = x->in_weight,
                                                     .gather = x->gather_input,
                                                     .reduce = x->reduce,
                                                     .n = x->columns,
                                                     .k = z->h,
                                                     .has_adapters = of.in.count > 0,
                                                     .is_column_parallel = true,
                                                     .shares_collectives = shares_input});
    tsim_op_adapters_backward(list, z, of.in);
}

void tsim_recurrent_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct tsim_recurrent *x) {
    tsim_op_residual_backward(list, z, "residual 1");
    tsim_op_norm_behind_backward(list, z, "norm 1, behind");
    tsim_recurrent_inner_backward(list, z, x, false);
    tsim_op_norm_backward(list, z, "norm 1");
}

void tsim_recurrent_inner_keep(const struct tsim_op_shape *z, const struct tsim_recurrent *x, struct tsim_kept *kept) {
    double e = z->element_bytes;
    struct tsim_recurrent_adapters of = tsim_recurrent_adapters(z, x->columns, x->result);
    tsim_keep(kept, x->kept_vectors, z->t * (x->columns + x->convolved) * e);
    tsim_keep(kept, x->kept_result, z->t * x->result * (e + (tsim_keeps_input(z, of.out) ? z->linear_bytes : 0)));
}

void tsim_recurrent_keep(const struct tsim_op_shape *z, unsigned parts, const struct tsim_recurrent *x,
                         struct tsim_kept *kept) {
    tsim_recurrent_keep_inputs(z, parts, tsim_recurrent_adapters(z, x->columns, x->result), kept);
    tsim_recurrent_inner_keep(z, x, kept);
}

void tsim_keep_nothing(const struct tsim_op_shape *z, unsigned parts, struct tsim_kept *kept) {
    (void)z, (void)parts, (void)kept;
}

double tsim_recurrent_waiting(const struct tsim_op_shape *z, const struct tsim_recurrent *x) {
    return z->ts * z->h + z->t * x->result + z->t * (x->columns + z->h);
}

void tsim_recurrent_matrices(const struct tsim_model *m, double times, const struct tsim_recurrent *x,
                             struct tsim_matrices *matrices) {
    tsim_matrices_add(matrices, times, (double)m->hidden, x->columns, true);
    tsim_matrices_add(matrices, times, x->result, (double)m->hidden, true);
}
