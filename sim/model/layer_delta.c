/* The gated delta rule in place of attention (Yang et al. 2024, Gated Delta Networks, arXiv:2412.06464), as in Qwen3-Next.
 * Symbols beside those of local_shape.c, per tensor rank: G heads of keys of width n, H heads of values of width p, C tokens
 * of a chunk.
 *
 * Forward: a product to 2 G n + 2 H p + 2 H columns (queries, keys, values, gate, strengths of writing and decay), a short convolution of
 * all but gate and strengths, the recurrence in chunks, a norm with the gate, and a product back. The recurrence of each
 * head and token (section 3.3; kernels of fla-org/flash-linear-attention, ops/gated_delta_rule/chunk.py) is products: keys
 * with keys and queries with keys of the chunk (4 C n), the inverse of the first with keys and with values (2 C n + 2 C p),
 * what the state holds of keys and gives to queries (4 n p), scores with the new values (2 C p), and the state's update
 * (2 n p); the inverse of a triangle of C x C is C^2 / 3, which is left out. States pass from chunk to chunk in fp32.
 * Backward each product has two of its size. */
#include "model/kept.h"
#include "model/matrices.h"
#include "model/operator_builders.h"

#include <math.h>

struct delta {
    double keys, values, heads, n, p, chunk, conv, columns;
};

static struct delta delta_of(const struct tsim_model *m, double tp) {
    const struct tsim_delta *a = &m->delta;
    struct delta x = {.keys = (double)(a->key_heads * a->key_dim) / tp,
                      .values = (double)(a->value_heads * a->value_dim) / tp,
                      .heads = (double)a->value_heads / tp,
                      .n = (double)a->key_dim,
                      .p = (double)a->value_dim,
                      .chunk = (double)a->chunk};
    x.conv = 2 * x.keys + x.values;
    x.columns = x.conv + x.values + 2 * x.heads;
    return x;
}

/* The recurrence's products of a micro-batch, `times` of each. */
static void recurrence(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct delta *x, int times) {
    double e = z->element_bytes, c = fmin(x->chunk, z->s), each = z->t / c * x->heads;
    enum tsim_precision precision = z->attention_precision;
    for (int i = 0; i < times; i++) {
        batched(gemm(list, "delta scores", precision, c, c, x->n, e, e), 2 * each);
        batched(gemm(list, "delta keys", precision, c, x->n, c, e, e), each);
        batched(gemm(list, "delta values", precision, c, x->p, c, e, e), 2 * each);
        batched(gemm(list, "delta outputs", precision, c, x->p, x->n, e, e), 2 * each);
        batched(gemm(list, "delta states", precision, x->n, x->p, c, e, 4), each);
        elementwise(list, "delta states, passed on", each * x->n * x->p, 2 * 4, 1);
    }
}

static void forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct delta x = delta_of(z->model, z->tp);
    double e = z->element_bytes, le = z->linear_bytes;
    tsim_op_norm_before_linear(list, z, "norm 1");
    tsim_op_gather_input(list, z, "tensor: gather, delta rule", z->h);
    gemm(list, "delta in", z->linear_precision, z->t, x.columns, z->h, le, e);
    elementwise(list, "delta convolution", z->t * x.conv, 2 * e, 1);
    recurrence(list, z, &x, 1);
    elementwise(list, "delta norm and gate", z->t * x.values, 3 * e, 1);
    cast(list, z, "cast", z->t * x.values);
    gemm(list, "delta out", z->linear_precision, z->t, z->h, x.values, le, e);
    tsim_op_reduce_output(list, z, "tensor: reduce, delta rule");
    tsim_op_norm_behind_forward(list, z, "norm 1, behind");
    tsim_op_residual_forward(list, z, "residual 1");
}

static void backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct delta x = delta_of(z->model, z->tp);
    double e = z->element_bytes;
    tsim_op_residual_backward(list, z, "residual 1");
    tsim_op_norm_behind_backward(list, z, "norm 1, behind");
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.input = "delta out, input",
                                                     .weight = "delta out, weight",
                                                     .gather = "tensor: gather, delta rule",
                                                     .n = z->h,
                                                     .k = x.values});
    elementwise(list, "delta norm and gate", z->t * x.values, 6 * e, 2);
    recurrence(list, z, &x, 2);
    elementwise(list, "delta convolution", z->t * x.conv, 3 * e, 2);
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.input = "delta in, input",
                                                     .weight = "delta in, weight",
                                                     .gather = "tensor: gather input, delta rule",
                                                     .reduce = "tensor: reduce, delta rule",
                                                     .n = x.columns,
                                                     .k = z->h,
                                                     .is_column_parallel = true});
    tsim_op_norm_backward(list, z, "norm 1");
}

/* Inputs of the norms and blocks of the layer; what the first product gives, before and after the convolution; what the
 * recurrence gives, and the input of the second product. Scores and states are made again. */
static void keep(const struct tsim_op_shape *z, unsigned parts, struct tsim_kept *kept) {
    struct delta x = delta_of(z->model, z->tp);
    double e = z->element_bytes, blocks = z->is_alone ? 1 : 2;
    tsim_keep(kept, "inputs of the norms", z->ts * blocks * z->h * e);
    if (!(parts & TSIM_RECOMPUTE_NORMS))
        tsim_keep(kept, "inputs of the blocks", z->ts * blocks * z->h * z->linear_bytes);
    tsim_keep(kept, "masks of dropout", z->ts * blocks * z->h * z->mask_bytes);
    tsim_keep(kept, "delta rule: queries, keys, values, gate", z->t * (x.columns + x.conv) * e);
    tsim_keep(kept, "delta rule: result", z->t * x.values * (e + z->linear_bytes));
}

static void keep_nothing(const struct tsim_op_shape *z, unsigned parts, struct tsim_kept *kept) {
    (void)z, (void)parts, (void)kept;
}

static double waiting(const struct tsim_op_shape *z) {
    struct delta x = delta_of(z->model, z->tp);
    return z->ts * z->h + z->t * x.values + z->t * (x.columns + z->h);
}

static double widest_bytes(const struct tsim_op_shape *z) {
    return z->t * delta_of(z->model, z->tp).columns * z->element_bytes;
}

/* Each head has a decay and a bias of its step; the norm of a head is of one scale for all of them. */
static void count(const struct tsim_model *m, struct tsim_layer_parameters *p) {
    struct delta x = delta_of(m, 1);
    double h = (double)m->hidden;
    p->norms += (1 + (m->post_norms ? 1 : 0)) * tsim_count_norm(m);
    p->attention = h * x.columns + x.conv * (double)m->delta.kernel + 2 * x.heads + x.p + x.values * h;
}

/* Counts what is executed. */
static double core_flops(const struct tsim_model *m, double length) {
    struct delta x = delta_of(m, 1);
    return x.heads * (fmin(x.chunk, length) * (6 * x.n + 4 * x.p) + 6 * x.n * x.p);
}

static void add_matrices(const struct tsim_model *m, double times, struct tsim_matrices *matrices) {
    struct delta x = delta_of(m, 1);
    tsim_matrices_add(matrices, times, (double)m->hidden, x.columns, true);
    tsim_matrices_add(matrices, times, x.values, (double)m->hidden, true);
}

const struct tsim_mixer tsim_delta_mixer = {.forward = forward,
                                            .backward = backward,
                                            .keep = keep,
                                            .keep_core = keep_nothing,
                                            .waiting = waiting,
                                            .widest_bytes = widest_bytes,
                                            .count = count,
                                            .core_flops = core_flops,
                                            .add_matrices = add_matrices};
