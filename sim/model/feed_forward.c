#include "model/operator_builders.h"

/* Returns whether both blocks take one norm's result, side by side. */
static bool shares_norm(const struct tsim_op_shape *z) {
    return z->model->parallel_block && !z->model->parallel_norms;
}

/* Adds the feed-forward block, or the shared experts as one. */
void tsim_op_mlp_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double e = z->element_bytes, le = z->linear_bytes, up = tsim_model_up_products(z->model);
    int32_t first = list->n;
    if (!shares_norm(z))
        tsim_op_gather_input(list, z, "tensor: gather, ffn", z->h);
    tsim_op_take_weight(list, z, up * z->f * z->h);
    struct tsim_op *first_product = gemm(list, "ffn up", z->linear_precision, z->t, up * z->f, z->h, le, e);
    first_product->product = TSIM_PRODUCT_UP;
    if (z->model->gated_mlp)
        first_product->joined[0] = first_product->joined[1] = z->f;
    bool has_adapters = tsim_adapters_of(z, TSIM_PRODUCT_UP).count > 0;
    tsim_op_adapters_forward(list, z, tsim_adapters_of(z, TSIM_PRODUCT_UP));
    if (activates_in_product(z) && !has_adapters) {
        first_product->bytes += z->t * z->f * (scales_are_known(z) ? le : e);
    } else {
        elementwise(list, "activation", z->t * z->f, tsim_op_activation_bytes(z, false),
                    tsim_op_activation_kernels(z, false))
            ->parts = TSIM_RECOMPUTE_ACTIVATION;
    }
    if (!activates_in_product(z) || !scales_are_known(z) || has_adapters)
        cast_activation(list, z, "cast, activation", z->t * z->f);
    tsim_op_take_weight(list, z, z->h * z->f);
    gemm(list, "ffn down", z->linear_precision, z->t, z->h, z->f, le, e)->product = TSIM_PRODUCT_DOWN;
    tsim_op_adapters_forward(list, z, tsim_adapters_of(z, TSIM_PRODUCT_DOWN));
    tsim_op_reduce_output(list, z, "tensor: reduce, ffn");
    mark_part(list, first, TSIM_RECOMPUTE_FFN);
}

void tsim_op_mlp_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    tsim_op_product_backward(list, z, TSIM_PRODUCT_DOWN,
                             &(struct tsim_op_linear){.input = "ffn down, input",
                                                      .weight = "ffn down, weight",
                                                      .gather = "tensor: gather, ffn",
                                                      .n = z->h,
                                                      .k = z->f});
    bool casts = activates_in_product(z) && scales_are_known(z);
    if (casts) { /* the derivative, cast, transposed and summed in one pass; the result, transposed */
        transpose(list, z, "cast, activation", z->t * z->f);
        elementwise(list, "activation", z->t * z->f, 2 * z->element_bytes + 2 * z->linear_bytes, 1);
    } else {
        elementwise(list, "activation", z->t * z->f, tsim_op_activation_bytes(z, true),
                    tsim_op_activation_kernels(z, true));
    }
    bool is_written_out = z->model->gated_mlp && z->software->fusion == TSIM_FUSION_NONE,
         is_one = z->software->gate_products == TSIM_GATE_ONE;
    if (is_written_out && is_one)
        elementwise(list, "gate gradients, join", 2 * z->t * z->f, 2 * z->element_bytes, 1);
    tsim_op_product_backward(list, z, TSIM_PRODUCT_UP,
                             &(struct tsim_op_linear){.input = "ffn up, input",
                                                      .weight = "ffn up, weight",
                                                      .gather = "tensor: gather input, ffn",
                                                      .reduce = "tensor: reduce, ffn",
                                                      .n = tsim_model_up_products(z->model) * z->f,
                                                      .k = z->h,
                                                      .is_cast = casts,
                                                      .is_column_parallel = true,
                                                      .shares_collectives = shares_norm(z)});
    if (is_written_out && !is_one)
        elementwise(list, "gate input gradients, add", z->t * z->h, 3 * z->element_bytes, 1);
}

/* Side by side (parallel_block: GPT-J, PaLM), both blocks take the result of one norm, which is gathered once, or each
 * of its own norm (parallel_norms: GPT-NeoX). Their partial sums are added before they are reduced once. */
void tsim_op_ffn_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    if (z->model->parallel_block)
        elementwise(list, "blocks, add", z->t * z->h, 3 * z->element_bytes, 1);
    if (!shares_norm(z))
        tsim_op_norm_before_linear(list, z, "norm 2");
    tsim_op_mlp_forward(list, z);
    tsim_op_norm_behind_forward(list, z, "norm 2, behind");
    tsim_op_residual_forward(list, z, "residual 2", false);
    tsim_op_mark_last_projection(list);
}

void tsim_op_ffn_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    tsim_op_residual_backward(list, z, "residual 2");
    tsim_op_norm_behind_backward(list, z, "norm 2, behind");
    tsim_op_mlp_backward(list, z);
    if (shares_norm(z))
        elementwise(list, "block gradients, add", z->t * z->h, 3 * z->element_bytes, 1);
    else
        tsim_op_norm_backward(list, z, "norm 2");
}

void tsim_count_ffn_norms(const struct tsim_model *m, struct tsim_layer_parameters *p) {
    p->norms += (m->parallel_block && !m->parallel_norms ? 0 : 1 + (m->post_norms ? 1 : 0)) * tsim_count_norm(m);
}

double tsim_count_mlp(const struct tsim_model *m, double inner) {
    double h = (double)m->hidden, up = tsim_model_up_products(m);
    return (up + 1) * h * inner + (m->bias ? up * inner + h : 0);
}
