#include "model/matrices.h"

#include "model/local_shape.h"

#include <math.h>

void tsim_matrices_add(struct tsim_matrices *s, double times, double rows, double columns, bool is_projected) {
    double narrow = fmin(rows, columns), wide = fmax(rows, columns), rank = fmin(s->rank, narrow);
    if (!(times * narrow > 0))
        return;
    s->count += times;
    s->matrices += times * rows * columns;
    s->rows_and_columns += times * (rows + columns);
    if (!is_projected)
        return;
    s->projected += times * rows * columns;
    s->n_projected += times;
    s->orthogonalized_flops += times * narrow * narrow * (4 * wide + 2 * narrow);
    s->projected_moments += times * rank * wide;
    s->projections += times * rank * narrow;
}

void tsim_matrices_add_attention(struct tsim_matrices *s, const struct tsim_model *m, double times) {
    double h = (double)m->hidden, heads = (double)m->heads, d = (double)m->head_dim, q = heads * d;
    double kv_rank = (double)m->latent.kv_rank, query_rank = (double)m->latent.query_rank,
           rope = (double)m->latent.rope_dim;
    if (kv_rank > 0) {
        tsim_matrices_add(s, times, h, query_rank, true);
        tsim_matrices_add(s, times, query_rank > 0 ? query_rank : h, heads * tsim_model_key_dim(m), true);
        tsim_matrices_add(s, times, h, kv_rank + rope, true);
        tsim_matrices_add(s, times, kv_rank, heads * (tsim_model_key_dim(m) - rope) + q, true);
    } else {
        tsim_matrices_add(s, times, h, q, true);
        tsim_matrices_add(s, 2 * times, h, (double)m->kv_heads * d, true);
    }
    tsim_matrices_add(s, times * (m->output_gate ? 2 : 1), q, h, true);
}

void tsim_matrices_add_ffn(struct tsim_matrices *s, const struct tsim_model *m, double times, double inner) {
    tsim_matrices_add(s, times * (tsim_model_up_products(m) + 1), (double)m->hidden, inner, true);
}
