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
 * Backward each product has two of its size.
 *
 * A token behind others reads and writes the state of each head, n x p in fp32, and of the convolution in one kernel
 * (fla-org/flash-linear-attention, ops/gated_delta_rule/fused_recurrent.py). */
#include "model/recurrent.h"

#include <math.h>

struct delta {
    double heads, n, p, chunk;
};

static struct delta delta_of(const struct tsim_model *m, double tp) {
    const struct tsim_delta *a = &m->delta;
    return (struct delta){.heads = (double)a->value_heads / tp,
                          .n = (double)a->key_dim,
                          .p = (double)a->value_dim,
                          .chunk = (double)a->chunk};
}

/* Kimi Delta Attention (Kimi Team 2025, Kimi Linear, arXiv:2510.26692, section 3; fla-org/flash-linear-attention, layers/kda.py): decays of all
 * channels of the keys and gates of all values, each by way of a short vector, in place of a decay for each head and a gate's
 * product. */
static void channel_gates(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct delta *x) {
    double rank = (double)z->model->delta.gate_rank, e = z->element_bytes;
    gemm(list, "delta decays", z->attention_precision, z->t, x->heads * x->n, rank, e, e);
    if (!z->model->delta.full_gate)
        gemm(list, "delta gates", z->attention_precision, z->t, x->heads * x->p, rank, e, e);
    elementwise(list, "delta decays, summed along a chunk", z->t * x->heads * x->n, e + 4, 1);
}

static double state_bytes(const struct tsim_op_shape *z) {
    struct delta x = delta_of(z->model, z->tp);
    double convolved = 2 * (double)z->model->delta.key_heads / z->tp * x.n + x.heads * x.p,
           earlier = (double)z->model->delta.kernel - 1;
    return z->b * (x.heads * x.n * x.p * 4 + convolved * earlier * z->element_bytes);
}

static void recurrence(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct delta x = delta_of(z->model, z->tp);
    if (z->scenario->cached_tokens > 0) {
        if (z->model->delta.gate_rank > 0)
            channel_gates(list, z, &x);
        elementwise(list, "delta state", state_bytes(z), 2, 1); /* each byte in and out */
        return;
    }
    double e = z->element_bytes, c = fmin(x.chunk, z->s), each = z->t / c * x.heads;
    enum tsim_precision precision = z->attention_precision;
    if (z->model->delta.gate_rank > 0)
        channel_gates(list, z, &x);
    batched(gemm(list, "delta scores", precision, c, c, x.n, e, e), 2 * each);
    batched(gemm(list, "delta keys", precision, c, x.n, c, e, e), each);
    batched(gemm(list, "delta values", precision, c, x.p, c, e, e), 2 * each);
    batched(gemm(list, "delta outputs", precision, c, x.p, x.n, e, e), 2 * each);
    batched(gemm(list, "delta states", precision, x.n, x.p, c, e, 4), each);
    elementwise(list, "delta states, passed on", each * x.n * x.p, 2 * 4, 1);
}

static struct tsim_recurrent mixer_of(const struct tsim_model *m, double tp) {
    struct delta x = delta_of(m, tp);
    double keys = (double)m->delta.key_heads / tp * x.n, values = x.heads * x.p, convolved = 2 * keys + values;
    double rank = (double)m->delta.gate_rank, gates = rank == 0            ? values + 2 * x.heads
                                                      : m->delta.full_gate ? rank + values + x.heads
                                                                           : 2 * rank + x.heads;
    return (struct tsim_recurrent){.columns = convolved + gates,
                                   .convolved = convolved,
                                   .result = values,
                                   .recurrence = recurrence,
                                   .in = "delta in",
                                   .in_input = "delta in, input",
                                   .in_weight = "delta in, weight",
                                   .convolution = "delta convolution",
                                   .norm = "delta norm and gate",
                                   .out = "delta out",
                                   .out_input = "delta out, input",
                                   .out_weight = "delta out, weight",
                                   .gather = "tensor: gather, delta rule",
                                   .gather_input = "tensor: gather input, delta rule",
                                   .reduce = "tensor: reduce, delta rule",
                                   .kept_vectors = "delta rule: queries, keys, values, gate",
                                   .kept_result = "delta rule: result"};
}

/* Each head has a decay, and each step a bias, for a head or, if channels decay, for a channel. The norm of the heads
 * has one scale for all of them. */
static void count(const struct tsim_model *m, struct tsim_layer_parameters *p) {
    struct tsim_recurrent x = mixer_of(m, 1);
    double h = (double)m->hidden;
    p->norms += (1 + (m->post_norms ? 1 : 0)) * tsim_count_norm(m);
    double heads = (double)m->delta.value_heads, keys = heads * (double)m->delta.key_dim,
           rank = (double)m->delta.gate_rank;
    p->attention = h * x.columns + x.convolved * (double)m->delta.kernel + heads + (rank > 0 ? keys : heads) +
                   (double)m->delta.value_dim + x.result * h + rank * (keys + (m->delta.full_gate ? 0 : x.result));
}

/* Counts what is executed. */
static double core_flops(const struct tsim_model *m, double length) {
    struct delta x = delta_of(m, 1);
    return x.heads * (fmin(x.chunk, length) * (6 * x.n + 4 * x.p) + 6 * x.n * x.p +
                      2 * (double)m->delta.gate_rank * (x.n + (m->delta.full_gate ? 0 : x.p)));
}

TSIM_RECURRENT_MIXER(tsim_delta_mixer, mixer_of);
