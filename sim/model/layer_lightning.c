/* Lightning attention: linear attention whose heads forget at fixed rates, in chunks (Qin et al. 2024, arXiv:2405.17381;
 * MiniMax 2025, MiniMax-01, arXiv:2501.08313, section 2.2; transformers, models/minimax/modeling_minimax.py,
 * MiniMaxLightningAttention; Ling Team 2025, Ring-linear, arXiv:2510.19338). Symbols beside those of local_shape.c, per
 * tensor rank: H heads of width d, C tokens of a chunk.
 *
 * Forward: a product to 4 H d columns (queries, keys, values, a gate), an activation of the first three or a rotation of the
 * first two, the recurrence in chunks, a norm with the gate, and a product back. The recurrence of each head and token is
 * products: queries with the keys of their chunk (2 C d), these scores with the values (2 C d), what the state gives to
 * queries (2 d d), and its update (2 d d). States pass from chunk to chunk in fp32. Backward each product has two of its
 * size. A token behind others reads and writes the state of each head, d x d in fp32, in one kernel. */
#include "model/recurrent.h"

#include <math.h>

static double state_bytes(const struct tsim_op_shape *z) {
    const struct tsim_lightning *a = &z->model->lightning;
    return z->b * (double)(a->heads * a->head_dim * a->head_dim) / z->tp * 4;
}

static void recurrence(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    const struct tsim_lightning *a = &z->model->lightning;
    if (z->scenario->cached_tokens > 0) {
        elementwise(list, "lightning state", state_bytes(z), 2, 1); /* each byte in and out */
        return;
    }
    double d = (double)a->head_dim, e = z->element_bytes, c = fmin((double)a->chunk, z->s),
           each = z->t / c * (double)a->heads / z->tp;
    enum tsim_precision precision = z->attention_precision;
    batched(gemm(list, "lightning scores", precision, c, c, d, e, e), each);
    batched(gemm(list, "lightning values", precision, c, d, c, e, e), each);
    batched(gemm(list, "lightning outputs", precision, c, d, d, e, e), each);
    batched(gemm(list, "lightning states", precision, d, d, c, e, 4), each);
    elementwise(list, "lightning states, passed on", each * d * d, 2 * 4, 1);
}

static struct tsim_recurrent mixer_of(const struct tsim_model *m, double tp) {
    double width = (double)(m->lightning.heads * m->lightning.head_dim) / tp;
    return (struct tsim_recurrent){.columns = 4 * width,
                                   .convolved = (m->lightning.rotary ? 2 : 3) * width,
                                   .result = width,
                                   .recurrence = recurrence,
                                   .in = "lightning in",
                                   .in_input = "lightning in, input",
                                   .in_weight = "lightning in, weight",
                                   .convolution = m->lightning.rotary ? "lightning rotary" : "lightning activation",
                                   .norm = "lightning norm and gate",
                                   .out = "lightning out",
                                   .out_input = "lightning out, input",
                                   .out_weight = "lightning out, weight",
                                   .gather = "tensor: gather, lightning",
                                   .gather_input = "tensor: gather input, lightning",
                                   .reduce = "tensor: reduce, lightning",
                                   .kept_vectors = "lightning: queries, keys, values, gate",
                                   .kept_result = "lightning: result"};
}

/* The norm of the result is as wide as all heads. */
static void count(const struct tsim_model *m, struct tsim_layer_parameters *p) {
    struct tsim_recurrent x = mixer_of(m, 1);
    double h = (double)m->hidden;
    p->norms +=
        (1 + (m->post_norms ? 1 : 0)) * tsim_count_norm(m) + (m->qk_norm ? 2 * (double)m->lightning.head_dim : 0);
    p->attention = h * x.columns + x.result + x.result * h;
}

/* Counts what is executed. */
static double core_flops(const struct tsim_model *m, double length) {
    double d = (double)m->lightning.head_dim;
    return (double)m->lightning.heads * (4 * d * fmin((double)m->lightning.chunk, length) + 4 * d * d);
}

TSIM_RECURRENT_MIXER(tsim_lightning_mixer, mixer_of);
