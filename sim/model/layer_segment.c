/* Transformer-XL (Dai et al. 2019, arXiv:1901.02860, section 3.3): tokens attend to their segment and to the last one's, whose
 * hidden states are kept as a memory and get no gradients, with scores of the distance beside those of the content.
 *
 * Symbols beside those of local_shape.c: m tokens of memory, so that s tokens of a sample meet s + m keys. Queries, keys and
 * values are made of memory and segment together, and the queries of the memory dropped (NVIDIA's and the authors'
 * mem_transformer.py). The keys of distances are a product of s + m rows, whatever the batch. Queries get one bias for the content
 * and one for the distance; scores of distances are shifted by a copy, and added. Scores are written out. */
#include "model/kept.h"
#include "model/matrices.h"
#include "model/operator_builders.h"

static void fit(struct tsim_op_shape *z) {
    double memory = (double)z->model->memory;
    z->sk = z->s + memory;
    z->tk = z->t + z->b * memory;
    z->flash = false;
}

static double scores(const struct tsim_op_shape *z) {
    return z->t * z->sk * z->heads;
}

static double width(const struct tsim_op_shape *z) {
    return z->query + z->key + z->value;
}

static void forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double e = z->element_bytes, le = z->linear_bytes, d = (double)z->model->head_dim;
    tsim_op_norm_before_linear(list, z, "norm 1");
    tsim_op_gather_input(list, z, "tensor: gather, attention", z->h);
    elementwise(list, "memory, join", z->tk * z->h, 2 * e, 1);
    gemm(list, "attention qkv", z->linear_precision, z->tk, width(z), z->h, le, e);
    gemm(list, "keys of distances", z->attention_precision, z->sk, z->key, z->h, e, e);
    elementwise(list, "biases of queries", z->t * z->query, 4 * e, 2);
    batched(gemm(list, "scores of distances", z->attention_precision, z->t, z->sk, d, e, e), z->heads);
    elementwise(list, "scores of distances, shift", scores(z), 2 * e, 1);
    elementwise(list, "scores, sum", scores(z), 3 * e, 1);
    tsim_op_core_forward(list, z);
    elementwise(list, "attention result, copy", z->t * z->q, 2 * e, 1);
    cast(list, z, "cast", z->t * z->q);
    gemm(list, "attention output", z->linear_precision, z->t, z->h, z->q, le, e);
    tsim_op_reduce_output(list, z, "tensor: reduce, attention");
    tsim_op_residual_forward(list, z, "residual 1", true);
}

static void backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double e = z->element_bytes, d = (double)z->model->head_dim;
    enum tsim_precision precision = z->attention_precision;
    struct tsim_op_shape joined = *z;
    joined.t = z->tk;
    joined.ts = z->sequence_parallel ? z->tk / z->tp : z->tk;
    tsim_op_residual_backward(list, z, "residual 1");
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.input = "attention output, input",
                                                     .weight = "attention output, weight",
                                                     .gather = "tensor: gather, attention",
                                                     .n = z->h,
                                                     .k = z->q});
    elementwise(list, "attention result, copy", z->t * z->q, 2 * e, 1);
    tsim_op_core_backward(list, z);
    elementwise(list, "scores, sum", scores(z), 3 * e, 1);
    elementwise(list, "scores of distances, shift", scores(z), 4 * e, 2);
    batched(gemm(list, "scores of distances, dQ", precision, z->t, d, z->sk, e, e), z->heads);
    batched(gemm(list, "scores of distances, dK", precision, z->sk, d, z->t, e, e), z->heads);
    elementwise(list, "biases of queries", z->t * z->query, 2 * e + 3 * e, 3); /* their sums, and both gradients' */
    /* The keys' input is a table of sines, which needs no gradient. */
    gemm(list, "keys of distances, weight", precision, z->key, z->h, z->sk, e, 2 * z->gradient_bytes)
        ->is_weight_gradient = true;
    elementwise(list, "gradients of queries, keys, values, join", z->tk * width(z), 2 * e, 3);
    tsim_op_linear_backward(list, &joined,
                            &(struct tsim_op_linear){.input = "attention qkv, input",
                                                     .weight = "attention qkv, weight",
                                                     .gather = "tensor: gather input, attention",
                                                     .reduce = "tensor: reduce, attention",
                                                     .n = width(z),
                                                     .k = z->h,
                                                     .is_column_parallel = true});
    tsim_op_norm_backward(list, z, "norm 1");
}

/* Adds the memory itself, which waits for the next segment. */
static void keep(const struct tsim_op_shape *z, unsigned parts, struct tsim_kept *kept) {
    double e = z->element_bytes, memory = z->b * (double)z->model->memory;
    tsim_keep_attention(z, parts, kept);
    tsim_keep(kept, "memory of the last segment, and joined", (memory + z->tk) * z->h * e);
    tsim_keep(kept, "queries, keys and values of the memory", memory * width(z) * e);
    tsim_keep(kept, "queries with biases", 2 * z->t * z->query * e);
    tsim_keep(kept, "keys of distances", z->sk * z->key * e);
}

static void count(const struct tsim_model *m, struct tsim_layer_parameters *p) {
    tsim_count_attention(m, p);
    p->attention += (double)(m->hidden * m->heads * m->head_dim);
}

/* Counts scores of content and of distances, and values, with the keys of memory and segment. */
static double core_flops(const struct tsim_model *m, double length) {
    return 3 * 2 * (double)(m->heads * m->head_dim) * (length + (double)m->memory);
}

static void add_matrices(const struct tsim_model *m, double times, struct tsim_matrices *matrices) {
    tsim_matrices_add_attention(matrices, m, times);
    tsim_matrices_add(matrices, times, (double)m->hidden, (double)(m->heads * m->head_dim), true);
}

const struct tsim_mixer tsim_segment_mixer = {.fit = fit,
                                              .forward = forward,
                                              .backward = backward,
                                              .keep = keep,
                                              .keep_core = tsim_keep_core,
                                              .waiting = tsim_attention_waiting,
                                              .count = count,
                                              .core_flops = core_flops,
                                              .add_matrices = add_matrices};
