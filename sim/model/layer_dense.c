/* Attention and a feed-forward block: the layer of most transformers, and of an encoder-decoder model's encoder. */
#include "model/kept.h"
#include "model/matrices.h"
#include "model/operator_builders.h"

/* Side by side (parallel_block: GPT-J, PaLM) both blocks take the one norm's result, which is gathered once, or each
 * that of its own (parallel_norms: GPT-NeoX); their partial sums are added before they are reduced once. */
static void forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    tsim_op_attention_forward(list, z);
    if (z->model->parallel_block)
        elementwise(list, "blocks, add", z->t * z->h, 3 * z->element_bytes, 1);
    tsim_op_ffn_forward(list, z);
}

static void backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    tsim_op_ffn_backward(list, z);
    tsim_op_attention_backward(list, z);
}

/* An encoder's tokens attend to all others. */
struct tsim_op_shape tsim_encoder_shape(const struct tsim_scenario *sc) {
    struct tsim_op_shape z = tsim_op_shape_first(sc);
    z.causal = false;
    return z;
}

void tsim_dense_forward(const struct tsim_scenario *sc, int64_t at, struct tsim_op_list *list) {
    struct tsim_op_shape z = tsim_op_shape_first(sc);
    (void)at;
    forward(list, &z);
}

void tsim_dense_backward(const struct tsim_scenario *sc, int64_t at, struct tsim_op_list *list) {
    struct tsim_op_shape z = tsim_op_shape_first(sc);
    (void)at;
    backward(list, &z);
}

void tsim_encoder_forward(const struct tsim_scenario *sc, int64_t at, struct tsim_op_list *list) {
    struct tsim_op_shape z = tsim_encoder_shape(sc);
    (void)at;
    forward(list, &z);
}

void tsim_encoder_backward(const struct tsim_scenario *sc, int64_t at, struct tsim_op_list *list) {
    struct tsim_op_shape z = tsim_encoder_shape(sc);
    (void)at;
    backward(list, &z);
}

/* ---- what it keeps ---- */

/* Checkpointed by operator: the layer's input, attention's result, and of the products' results every second. */
static void keep_operators(const struct tsim_op_shape *z, struct tsim_kept *kept) {
    double e = z->element_bytes;
    bool is_gated = z->model->gated_mlp;
    tsim_keep(kept, "input of the layer", z->ts * z->h * e);
    tsim_keep(kept, "queries and values", z->t * (z->query + z->value) * e);
    if (z->flash)
        tsim_keep(kept, "result of attention", z->t * z->q * e);
    tsim_keep(kept, is_gated ? "feed-forward: gate and result" : "feed-forward: inner tensor",
              (z->t * z->f + (is_gated ? z->ts * z->h : 0)) * e);
    if (z->flash)
        tsim_keep(kept, "attention: statistics of rows", tsim_core_kept_bytes(z));
}

void tsim_dense_keep(const struct tsim_scenario *sc, unsigned parts, struct tsim_kept *kept) {
    struct tsim_op_shape z = tsim_op_shape_first(sc);
    if (parts & TSIM_RECOMPUTE_OPERATORS) {
        keep_operators(&z, kept);
        return;
    }
    tsim_keep_attention(&z, parts, kept);
    tsim_keep_ffn(&z, "feed-forward: inner tensors", z.f, parts, kept);
    tsim_keep_core(&z, parts, kept);
}

double tsim_dense_waiting_bytes(const struct tsim_scenario *sc) {
    struct tsim_op_shape z = tsim_op_shape_first(sc);
    return tsim_waiting_bytes(&z, z.f, 0);
}

double tsim_dense_widest_bytes(const struct tsim_scenario *sc) {
    struct tsim_op_shape z = tsim_op_shape_first(sc);
    return tsim_ffn_widest_bytes(&z);
}

void tsim_dense_count(const struct tsim_model *m, struct tsim_layer_parameters *parameters) {
    tsim_count_attention(m, parameters);
    parameters->ffn = tsim_count_mlp(m, (double)m->ffn_hidden);
}

void tsim_dense_matrices(const struct tsim_model *m, double times, struct tsim_matrices *matrices) {
    tsim_matrices_add_attention(matrices, m, times);
    tsim_matrices_add_ffn(matrices, m, times, (double)m->ffn_hidden);
}

/* A token meets each parameter of a product once, an expert's where it is one of its own, and the keys of its stack:
 * 2 Q + 2 V FLOPs for each head and key, with queries of dimension Q and values of V. */
void tsim_stream_flops(const struct tsim_model *m, const struct tsim_layer_parameters *p, double first_length,
                       double last_length, struct tsim_layer_flops *flops) {
    double products = p->attention + p->latent + p->ffn + p->router + p->shared + tsim_active_frac(m) * p->experts;
    (void)last_length;
    *flops = (struct tsim_layer_flops){2 * products, 2 * (double)m->heads *
                                                         (tsim_model_key_dim(m) + (double)m->head_dim) * first_length};
}
