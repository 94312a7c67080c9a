/* A block of attention and feed-forward whose weights several layers share, before the Mamba-2 of each of them (Zamba2;
 * Glorioso et al. 2024, arXiv:2411.15242, section 2; transformers, models/zamba2/modeling_zamba2.py,
 * Zamba2HybridLayer).
 *
 * The block takes the stream beside the model's embeddings, 2 h wide: a norm, queries, keys and values of that width,
 * attention, a product back to h, a norm, and a gated feed-forward block, to whose first product each layer adds one of
 * its own that goes through a few columns (adapter_rank). A product h x h of the layer follows, whose result the layer's
 * Mamba-2 takes added to the stream. The model has `blocks` of them, and layers take them in turn. Their weights are held
 * with the embedding, and each layer adds its gradient to theirs. */
#include "model/adapter.h"
#include "model/matrices.h"
#include "model/model.h"
#include "model/recurrent.h"

#include <math.h>

static double taken(const struct tsim_model *m) {
    return 2 * (double)m->hidden;
}

/* Returns the shape of the block's attention, which no residual follows. */
static struct tsim_op_shape of_attention(const struct tsim_op_shape *z) {
    struct tsim_op_shape shape = *z;
    shape.input = taken(z->model);
    shape.sums_later = shape.is_alone = true;
    return shape;
}

static double up_columns(const struct tsim_op_shape *z) {
    return tsim_model_up_products(z->model) * z->f;
}

static void forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    const struct tsim_op_shape of = of_attention(z);
    double e = z->element_bytes, h = z->h, r = (double)z->model->shared.adapter_rank;
    elementwise(list, "stream and embeddings, join", z->ts * of.input, 2 * e, 1);
    tsim_op_attention_forward(list, &of);
    tsim_op_reduce_output(list, z, "tensor: reduce, attention");
    tsim_op_norm_before_linear(list, z, "norm of the shared block");
    tsim_op_mlp_forward(list, z);
    if (r > 0) {
        gemm(list, "layer's own, down", z->attention_precision, z->ts, r, h, e, e);
        tsim_op_gather_input(list, z, "tensor: gather, layer's own", r);
        gemm(list, "layer's own, up", z->attention_precision, z->t, up_columns(z), r, e, e);
        elementwise(list, "layer's own, add", z->t * up_columns(z), 3 * e, 1);
    }
    gemm(list, "shared block, out", z->linear_precision, z->ts, h, h, z->linear_bytes, e);
    elementwise(list, "shared block, add", z->ts * h, 3 * e, 1);
    tsim_mamba_mixer.forward(list, z);
}

static void backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    const struct tsim_op_shape of = of_attention(z);
    double e = z->element_bytes, h = z->h, r = (double)z->model->shared.adapter_rank;
    tsim_mamba_mixer.backward(list, z);
    elementwise(list, "shared block, add", z->ts * h, 3 * e, 1);
    tsim_op_unshared_backward(list, z, "shared block, out, input", "shared block, out, weight", z->ts, h, h);
    tsim_op_mlp_backward(list, z);
    if (r > 0) {
        tsim_op_unshared_backward(list, z, "layer's own, up, input", "layer's own, up, weight", z->t, up_columns(z), r);
        tsim_op_unshared_backward(list, z, "layer's own, down, input", "layer's own, down, weight", z->ts, r, h);
        elementwise(list, "layer's own, add", z->t * h, 3 * e, 1);
    }
    tsim_op_norm_backward(list, z, "norm of the shared block");
    tsim_op_gather_input(list, z, "tensor: gather, attention", h);
    tsim_op_attention_backward(list, &of);
    elementwise(list, "stream and embeddings, gradients", z->ts * of.input, 3 * e, 1);
}

static void keep(const struct tsim_op_shape *z, unsigned parts, struct tsim_kept *kept) {
    struct tsim_op_shape of = of_attention(z);
    double e = z->element_bytes, r = (double)z->model->shared.adapter_rank;
    of.h = of.input;
    tsim_keep_attention(&of, parts, kept);
    double of_products = tsim_is_frozen(z->scenario) ? 0 : 2 * z->linear_bytes;
    tsim_keep(kept, "shared block: inputs of its norm and products", z->ts * z->h * (e + of_products));
    tsim_keep_ffn(z, "shared block: inner tensors", z->f, parts, kept);
    tsim_keep(kept, "shared block: the layer's own", tsim_is_frozen(z->scenario) ? 0 : z->t * r * e);
    tsim_mamba_mixer.keep(z, parts, kept);
}

static void keep_core(const struct tsim_op_shape *z, unsigned parts, struct tsim_kept *kept) {
    struct tsim_op_shape of = of_attention(z);
    tsim_keep_core(&of, parts, kept);
}

static double waiting(const struct tsim_op_shape *z) {
    return tsim_attention_waiting(z) + tsim_ffn_waiting(z, z->f) + tsim_mamba_mixer.waiting(z);
}

static double widest_bytes(const struct tsim_op_shape *z) {
    return fmax(tsim_ffn_widest_bytes(z), tsim_mamba_mixer.widest_bytes(z));
}

/* ---- parameters ---- */

static double products_of_a_block(const struct tsim_model *m) {
    double h = (double)m->hidden, q = (double)(m->heads * m->head_dim), kv = (double)(m->kv_heads * m->head_dim);
    return taken(m) * (q + 2 * kv) + q * h + tsim_count_mlp(m, (double)m->ffn_hidden);
}

double tsim_shared_parameters(const struct tsim_model *m) {
    double norms = (taken(m) / (double)m->hidden + 1) * tsim_count_norm(m);
    return (double)m->shared.blocks * (products_of_a_block(m) + norms);
}

double tsim_shared_products(const struct tsim_model *m) {
    return (double)m->shared.blocks * products_of_a_block(m);
}

static double own_parameters(const struct tsim_model *m) {
    double h = (double)m->hidden, r = (double)m->shared.adapter_rank;
    return h * h + r * (h + tsim_model_up_products(m) * (double)m->ffn_hidden);
}

static void count(const struct tsim_model *m, struct tsim_layer_parameters *p) {
    tsim_mamba_mixer.count(m, p);
    p->attention += own_parameters(m);
}

/* Returns how often each block is executed. */
static double times_each(const struct tsim_model *m) {
    double times = 0;
    for (size_t i = 0; i < m->n_pattern; i++)
        times += m->pattern[i].kind == TSIM_MIXING_SHARED ? (double)m->pattern[i].count : 0;
    return fmax(times * (double)m->layers / (double)m->pattern_length / (double)m->shared.blocks, 1);
}

/* Counts the products of the block beyond once for each of its weights, which the model's parameters stand for. */
static double core_flops(const struct tsim_model *m, double length) {
    return tsim_attention_mixer.core_flops(m, length) + tsim_mamba_mixer.core_flops(m, length) +
           2 * products_of_a_block(m) * (1 - 1 / times_each(m));
}

/* Returns the adapters' parameters of one layer. Layers that share a block share the adapters of its products, because
 * peft replaces a module once, wherever it is used. */
static double adapter_parameters(const struct tsim_op_shape *z) {
    const struct tsim_op_shape of = of_attention(z);
    double of_block = tsim_attention_adapter_parameters(&of) + tsim_dense_feed_forward.adapter_parameters(z);
    return of_block / times_each(z->model) + tsim_mamba_mixer.adapter_parameters(z);
}

static void add_matrices(const struct tsim_model *m, double times, struct tsim_matrices *matrices) {
    double h = (double)m->hidden, each = times / times_each(m), r = (double)m->shared.adapter_rank;
    double q = (double)(m->heads * m->head_dim), kv = (double)(m->kv_heads * m->head_dim);
    tsim_matrices_add(matrices, each, taken(m), q, true);
    tsim_matrices_add(matrices, 2 * each, taken(m), kv, true);
    tsim_matrices_add(matrices, each, q, h, true);
    tsim_matrices_add_ffn(matrices, m, each, (double)m->ffn_hidden);
    tsim_matrices_add(matrices, times, h, h, true);
    tsim_matrices_add(matrices, times, h, r, true);
    tsim_matrices_add(matrices, times, tsim_model_up_products(m) * (double)m->ffn_hidden, r, true);
    tsim_mamba_mixer.add_matrices(m, times, matrices);
}

static double state_bytes(const struct tsim_op_shape *z) {
    return z->tk * tsim_cached_width(z) * z->element_bytes + tsim_mamba_mixer.state_bytes(z);
}

const struct tsim_mixer tsim_shared_mixer = {.forward = forward,
                                             .backward = backward,
                                             .keep = keep,
                                             .keep_core = keep_core,
                                             .waiting = waiting,
                                             .widest_bytes = widest_bytes,
                                             .count = count,
                                             .core_flops = core_flops,
                                             .add_matrices = add_matrices,
                                             .adapter_parameters = adapter_parameters,
                                             .state_bytes = state_bytes};
