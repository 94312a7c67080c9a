/* Attention to those keys alone that an index picks for each query (DeepSeek-AI 2025, DeepSeek-V3.2, section 2:
 * "DeepSeek Sparse Attention"; inference/model.py, Indexer, beside the released checkpoint).
 *
 * The index has heads of its own, I of width w, whose queries come from the latent vector of the queries, one key for
 * all of them from the layer's input (with a layer norm), and a weight for each head. A key's score is the sum over the
 * heads of weight x max(0, query . key): 2 I w FLOPs for each pair of a query and an earlier key, of which one number
 * goes to memory. The k best are picked in two passes over the scores (by digits of a radix), and attention meets these
 * k. Its matrices are whole on every tensor rank.
 *
 * It is trained to give the distribution of attention, summed over its heads, on the picked keys, and its input passes
 * no gradient on: backward, that distribution once more (2 FLOPs for each element of a query or key and pair), the
 * scores' gradients of queries and of keys on the picked pairs, and gradients of weights alone. */
#include "model/kept.h"
#include "model/matrices.h"
#include "model/operator_builders.h"

#include <math.h>

/* The bytes of a score, and of the place of a key. */
#define SCORE_BYTES 4.0
#define PLACE_BYTES 4.0

struct index_shape {
    double heads, width, picked; /* keys of a query */
    double pairs;                /* of a query and an earlier key, of a micro-batch on this rank */
    double rank;                 /* width of what its queries come from */
};

static struct index_shape index_of(const struct tsim_op_shape *z) {
    const struct tsim_index *x = &z->model->index;
    double keys = z->scenario->cached_tokens > 0 ? z->s + z->scenario->cached_tokens : z->sk / (z->causal ? 2 : 1);
    return (struct index_shape){.heads = (double)x->heads,
                                .width = (double)x->head_dim,
                                .picked = fmin((double)x->tokens, keys),
                                .pairs = z->t * keys,
                                .rank = z->model->latent.query_rank > 0 ? (double)z->model->latent.query_rank : z->h};
}

/* The index picks as many keys as a window of that length has, also at the beginning of the sequence. */
static void fit(struct tsim_op_shape *z) {
    double tokens = (double)z->model->index.tokens, most = z->window > 0 ? z->window : z->sk;
    if (tokens >= most)
        return;
    if (z->scenario->cached_tokens > 0) {
        z->sk = tokens;
        z->tk = z->b * tokens;
        return;
    }
    z->window = tokens;
    z->is_chunk = false;
}

static void forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct index_shape x = index_of(z);
    double e = z->element_bytes;
    enum tsim_precision precision = z->attention_precision;
    int32_t first = list->n;
    gemm(list, "index queries", precision, z->t, x.heads * x.width, x.rank, e, e);
    gemm(list, "index key and weights", precision, z->t, x.width + x.heads, z->h, e, e);
    elementwise(list, "index, norm and rotary", z->t * (x.heads + 1) * x.width, 2 * e, 2);
    struct tsim_op *scores =
        batched(gemm(list, "index scores", precision, z->t, x.pairs / z->t, x.width, e, e), x.heads);
    scores->bytes = (z->t * x.heads + z->tk) * x.width * e + x.pairs * SCORE_BYTES;
    elementwise(list, "index, pick", x.pairs, 2 * SCORE_BYTES, 2);
    mark_part(list, first, TSIM_RECOMPUTE_ATTENTION);
    tsim_op_attention_forward(list, z);
}

static void backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct index_shape x = index_of(z);
    double e = z->element_bytes, pairs = fmin(x.pairs, z->t * x.picked);
    enum tsim_precision precision = z->attention_precision;
    tsim_op_attention_backward(list, z);
    if (tsim_is_frozen(z->scenario))
        return;
    batched(gemm(list, "index, attention's scores", precision, z->t, pairs / z->t, tsim_model_key_dim(z->model), e, e),
            z->heads)
        ->bytes = (z->t * z->query + z->tk * z->key) * e + pairs * SCORE_BYTES;
    for (int i = 0; i < 2; i++)
        batched(gemm(list, i ? "index scores, dK" : "index scores, dQ", precision, z->t, x.width, pairs / z->t, e, e),
                x.heads)
            ->bytes = (2 * z->t * x.heads + z->tk) * x.width * e + pairs * SCORE_BYTES;
    elementwise(list, "index, norm and rotary", z->t * (x.heads + 1) * x.width, 3 * e, 2);
    gemm(list, "index queries, weight", precision, x.heads * x.width, x.rank, z->t, e, 2 * z->gradient_bytes)
        ->is_weight_gradient = true;
    gemm(list, "index key and weights, weight", precision, x.width + x.heads, z->h, z->t, e, 2 * z->gradient_bytes)
        ->is_weight_gradient = true;
}

static void keep(const struct tsim_op_shape *z, unsigned parts, struct tsim_kept *kept) {
    struct index_shape x = index_of(z);
    tsim_keep_attention(z, parts, kept);
    if (!(parts & TSIM_RECOMPUTE_ATTENTION))
        tsim_keep(kept, "index: queries, key, weights, places",
                  z->t * ((x.heads + 1) * x.width + x.heads) * z->element_bytes + z->t * x.picked * PLACE_BYTES);
}

static double waiting(const struct tsim_op_shape *z) {
    struct index_shape x = index_of(z);
    return tsim_attention_waiting(z) + z->t * ((x.heads + 1) * x.width + x.heads);
}

/* Scores of a micro-batch may be the widest that there is. */
static double widest_bytes(const struct tsim_op_shape *z) {
    return index_of(z).pairs * SCORE_BYTES;
}

static void count(const struct tsim_model *m, struct tsim_layer_parameters *p) {
    double rank = (double)(m->latent.query_rank > 0 ? m->latent.query_rank : m->hidden), h = (double)m->hidden,
           heads = (double)m->index.heads, width = (double)m->index.head_dim;
    tsim_count_attention(m, p);
    p->latent += rank * heads * width + h * width + 2 * width + h * heads;
}

static double core_flops(const struct tsim_model *m, double length) {
    return 2 * (double)m->heads * (tsim_model_key_dim(m) + (double)m->head_dim) *
               fmin((double)m->index.tokens, length) +
           2 * (double)(m->index.heads * m->index.head_dim) * length;
}

static void add_matrices(const struct tsim_model *m, double times, struct tsim_matrices *matrices) {
    double rank = (double)(m->latent.query_rank > 0 ? m->latent.query_rank : m->hidden), h = (double)m->hidden;
    tsim_matrices_add_attention(matrices, m, times);
    tsim_matrices_add(matrices, times, rank, (double)(m->index.heads * m->index.head_dim), true);
    tsim_matrices_add(matrices, times, h, (double)(m->index.heads + m->index.head_dim), true);
}

const struct tsim_mixer tsim_sparse_mixer = {.fit = fit,
                                             .forward = forward,
                                             .backward = backward,
                                             .keep = keep,
                                             .keep_core = tsim_keep_core,
                                             .waiting = waiting,
                                             .widest_bytes = widest_bytes,
                                             .count = count,
                                             .core_flops = core_flops,
                                             .add_matrices = add_matrices};
