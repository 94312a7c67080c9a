#include "model/optimizer.h"

#include "model/local_shape.h"
#include "model/model.h"

#include <math.h>

#define GALORE_RANK_FRAC 0.25
#define BLOCK_ELEMENTS 2048.0

/* ---- the model as matrices ---- */

struct shapes {
    double rank;                         /* that GaLore projects to */
    double all;                          /* parameters */
    double matrices, rows_and_columns;   /* elements of matrices; rows and columns of each, added up */
    double projected, projected_moments; /* elements of those that GaLore projects; of what is left of a moment */
    double projections;                  /* elements of the projections themselves */
};

static void add_matrix(struct shapes *s, double times, double rows, double columns, bool is_projected) {
    double narrow = fmin(rows, columns), wide = fmax(rows, columns), rank = fmin(s->rank, narrow);
    if (!(times * narrow > 0))
        return;
    s->matrices += times * rows * columns;
    s->rows_and_columns += times * (rows + columns);
    if (!is_projected)
        return;
    s->projected += times * rows * columns;
    s->projected_moments += times * rank * wide;
    s->projections += times * rank * narrow;
}

static void add_attention(const struct tsim_model *m, double times, struct shapes *s) {
    double h = (double)m->hidden, heads = (double)m->heads, d = (double)m->head_dim, q = heads * d;
    double kv_rank = (double)m->latent.kv_rank, query_rank = (double)m->latent.query_rank,
           rope = (double)m->latent.rope_dim;
    if (kv_rank > 0) {
        add_matrix(s, times, h, query_rank, true);
        add_matrix(s, times, query_rank > 0 ? query_rank : h, heads * (d + rope), true);
        add_matrix(s, times, h, kv_rank + rope, true);
        add_matrix(s, times, kv_rank, 2 * q, true);
    } else {
        add_matrix(s, times, h, q, true);
        add_matrix(s, 2 * times, h, (double)m->kv_heads * d, true);
    }
    add_matrix(s, times, q, h, true);
}

static void add_layers(const struct tsim_model *m, struct shapes *s) {
    struct tsim_parts parts = tsim_model_parts(m);
    double h = (double)m->hidden;
    double up = tsim_model_up_products(m), experts = (double)m->experts.count, shared = (double)m->experts.shared;
    double with_experts = parts.times[TSIM_PART_EXPERT_LAYER], decoders = parts.times[TSIM_PART_DECODER_LAYER],
           dense = (double)m->layers - with_experts;
    add_attention(m, (double)m->layers + decoders, s);
    add_matrix(s, dense * (up + 1), h, (double)m->ffn_hidden, true);
    add_matrix(s, with_experts * (experts + shared) * (up + 1), h, (double)m->experts.ffn_hidden, true);
    add_matrix(s, with_experts, h, experts, false);
}

static void add_list(const struct tsim_model *m, struct shapes *s) {
    for (size_t i = 0; i < m->n_list; i++) {
        const struct tsim_list_layer *l = &m->list[i];
        if (l->kind == TSIM_LIST_PRODUCT)
            add_matrix(s, 1, (double)l->out, (double)(l->kernel_area * (l->in / l->groups)), true);
    }
}

static struct shapes shapes_of(const struct tsim_model *m) {
    struct shapes s = {.rank = GALORE_RANK_FRAC * (double)m->hidden, .all = tsim_model_parameters(m)};
    if (m->list) {
        s.all = tsim_layer_count(m, TSIM_PART_BLOCK).block * (double)m->layers;
        s.rank = HUGE_VAL;
        add_list(m, &s);
        return s;
    }
    add_layers(m, &s);
    add_matrix(&s, tsim_model_ends(m).head > 0 ? 2 : 1, (double)m->vocab, (double)m->hidden, false);
    add_matrix(&s, 1, (double)m->positions, (double)m->hidden, false);
    return s;
}

/* ---- what each keeps, moves and computes ---- */

static double block_bytes(void) {
    return 1 + 4 / BLOCK_ELEMENTS;
}

/* Bytes of Adafactor's second moments. */
static double factored_bytes(const struct shapes *s) {
    return 4 * (s->rows_and_columns + fmax(s->all - s->matrices, 0)) / s->all;
}

/* Share of the parameters that projected moments are of. */
static double moments_frac(const struct shapes *s) {
    return s->projected_moments / s->all;
}

static double state_bytes(enum tsim_optimizer optimizer, const struct shapes *s) {
    switch (optimizer) {
    case TSIM_SGD:
        return 0;
    case TSIM_MOMENTUM:
    case TSIM_RMSPROP:
        return 4;
    case TSIM_ADAM:
    case TSIM_ADAMW:
    case TSIM_LAMB:
        return 8;
    case TSIM_ADAFACTOR:
        return factored_bytes(s);
    case TSIM_ADAM_8BIT:
        return 2 * block_bytes();
    case TSIM_GALORE_8BIT:
        return (2 * (s->projected_moments + s->all - s->projected) + s->projections) * block_bytes() / s->all;
    }
    TSIM_BUG("optimizer %d", (int)optimizer);
}

/* Beside gradient and weight; w: the weight that is worked on, g: the gradient. */
static double own_bytes(enum tsim_optimizer optimizer, const struct shapes *s, double w, double g) {
    switch (optimizer) {
    case TSIM_SGD:
    case TSIM_MOMENTUM:
    case TSIM_RMSPROP:
    case TSIM_ADAM:
    case TSIM_ADAMW:
    case TSIM_ADAM_8BIT:
        return 2 * state_bytes(optimizer, s);
    case TSIM_LAMB:
        return 2 * state_bytes(optimizer, s) + 8 + w;
    case TSIM_ADAFACTOR:
        return 2 * state_bytes(optimizer, s) + 2 * g + w;
    case TSIM_GALORE_8BIT: /* projection in; fp32 gradient and update of its size, and the whole update, out and in */
        return 2 * state_bytes(optimizer, s) + 16 * moments_frac(s) + 8 * s->projected / s->all;
    }
    TSIM_BUG("optimizer %d", (int)optimizer);
}

/* Additions, multiplications, divisions and roots, from the papers' algorithms; quantizing 8-bit states is a binary
 * search over 256 values, both ways. */
static double vector_flops(enum tsim_optimizer optimizer) {
    switch (optimizer) {
    case TSIM_SGD:
        return 2;
    case TSIM_MOMENTUM:
        return 4;
    case TSIM_RMSPROP:
        return 8;
    case TSIM_ADAM:
        return 12;
    case TSIM_ADAMW:
        return 14;
    case TSIM_ADAFACTOR:
        return 16;
    case TSIM_LAMB:
        return 20;
    case TSIM_ADAM_8BIT:
    case TSIM_GALORE_8BIT:
        return 14 + 2 * 10;
    }
    TSIM_BUG("optimizer %d", (int)optimizer);
}

static double least_bytes(const struct tsim_scenario *sc, enum tsim_optimizer optimizer, const struct shapes *s) {
    bool has_copy = tsim_has_master_weights(sc);
    double weight = tsim_weight_bytes(sc->training.precision), w = has_copy ? 4 : weight, g = tsim_gradient_bytes(sc);
    return g + 2 * w + (has_copy ? fmin(weight, 2) : 0) + own_bytes(optimizer, s, w, g);
}

void tsim_optimizer_cost(const struct tsim_scenario *sc, struct tsim_optimizer_cost *cost) {
    enum tsim_optimizer optimizer = sc->training.optimizer;
    struct shapes s = shapes_of(sc->model);
    double least = least_bytes(sc, optimizer, &s), of_adam = least_bytes(sc, TSIM_ADAM, &s);
    bool is_adam = optimizer == TSIM_ADAM || optimizer == TSIM_ADAMW;
    *cost = (struct tsim_optimizer_cost){
        .state_bytes = state_bytes(optimizer, &s),
        .least_bytes = least,
        .traffic_bytes = sc->software->optimizer_traffic_bytes * (is_adam ? 1 : least / of_adam),
        .vector_flops = vector_flops(optimizer),
        .matrix_flops = optimizer == TSIM_GALORE_8BIT ? 4 * fmin(s.rank, 1e9) * s.projected / s.all : 0};
}

double tsim_optimizer_state_bytes(const struct tsim_scenario *sc) {
    struct tsim_optimizer_cost cost;
    tsim_optimizer_cost(sc, &cost);
    return cost.state_bytes;
}
