/* A decoder's layer: self attention, attention to the encoder's result, feed-forward (Vaswani et al. 2017, section
 * 3.1). The second has queries of the layer's own tokens, keys and values projected from the encoder's; each layer's
 * gradient of the encoder's result is added to that of the others. */
#include "model/kept.h"
#include "model/matrices.h"
#include "model/operator_builders.h"

/* Queries meet the encoder's keys, all of them, without a bias. */
static struct tsim_op_shape cross_shape(const struct tsim_op_shape *z, const struct tsim_op_shape *encoder) {
    struct tsim_op_shape cross = *z;
    cross.sk = encoder->s;
    cross.tk = encoder->t;
    cross.causal = false;
    cross.is_biased = false;
    return cross;
}

void tsim_op_cross_forward(struct tsim_op_list *list, const struct tsim_op_shape *z,
                           const struct tsim_op_shape *encoder) {
    double e = z->element_bytes, le = z->linear_bytes;
    struct tsim_op_shape cross = cross_shape(z, encoder);
    tsim_op_norm_before_linear(list, z, "norm, cross");
    tsim_op_gather_input(list, z, "tensor: gather, cross", z->h);
    gemm(list, "cross q", z->linear_precision, z->t, z->query, z->h, le, e);
    tsim_op_gather_input(list, encoder, "tensor: gather, encoder", z->h);
    gemm(list, "cross kv", z->linear_precision, encoder->t, z->key + z->value, z->h, le, e);
    if (z->model->wide_qk_norm)
        tsim_op_wide_norms_forward(list, z, z->t * z->query, encoder->t * z->key);
    tsim_op_core_forward(list, &cross);
    cast(list, z, "cast", z->t * z->q);
    gemm(list, "cross output", z->linear_precision, z->t, z->h, z->q, le, e);
    tsim_op_reduce_output(list, z, "tensor: reduce, cross");
    tsim_op_residual_forward(list, z, "residual, cross", true);
}

void tsim_op_cross_backward(struct tsim_op_list *list, const struct tsim_op_shape *z,
                            const struct tsim_op_shape *encoder) {
    struct tsim_op_shape cross = cross_shape(z, encoder);
    tsim_op_residual_backward(list, z, "residual, cross");
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.input = "cross output, input",
                                                     .weight = "cross output, weight",
                                                     .gather = "tensor: gather, cross",
                                                     .n = z->h,
                                                     .k = z->q});
    tsim_op_core_backward(list, &cross);
    if (z->model->wide_qk_norm)
        tsim_op_wide_norms_backward(list, z, z->t * z->query, encoder->t * z->key);
    tsim_op_linear_backward(list, encoder,
                            &(struct tsim_op_linear){.input = "cross kv, input",
                                                     .weight = "cross kv, weight",
                                                     .gather = "tensor: gather input, encoder",
                                                     .reduce = "tensor: reduce, encoder",
                                                     .n = z->key + z->value,
                                                     .k = z->h,
                                                     .is_column_parallel = true});
    elementwise(list, "encoder gradient, add", encoder->ts * z->h, 3 * z->element_bytes, 1);
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.input = "cross q, input",
                                                     .weight = "cross q, weight",
                                                     .gather = "tensor: gather input, cross",
                                                     .reduce = "tensor: reduce, cross",
                                                     .n = z->query,
                                                     .k = z->h,
                                                     .is_column_parallel = true});
    tsim_op_norm_backward(list, z, "norm, cross");
}

static void layer_forward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    struct tsim_op_shape z = tsim_op_shape_last(sc), encoder = tsim_op_shape_first(sc);
    (void)part, (void)at;
    tsim_op_attention_forward(list, &z);
    tsim_op_cross_forward(list, &z, &encoder);
    tsim_op_ffn_forward(list, &z);
}

static void layer_backward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    struct tsim_op_shape z = tsim_op_shape_last(sc), encoder = tsim_op_shape_first(sc);
    (void)part, (void)at;
    tsim_op_ffn_backward(list, &z);
    tsim_op_cross_backward(list, &z, &encoder);
    tsim_op_attention_backward(list, &z);
}

/* ---- what it keeps ---- */

/* Keeps the input of its own norm, its input, mask, queries, result and what the core keeps, and the keys and values of
 * the encoder's tokens. */
void tsim_keep_cross(const struct tsim_op_shape *z, const struct tsim_op_shape *encoder, unsigned parts,
                     struct tsim_kept *kept) {
    struct tsim_op_shape cross = cross_shape(z, encoder);
    double e = z->element_bytes;
    tsim_keep(kept, "cross attention: norm, input, mask", z->ts * z->h * (e + z->linear_bytes + z->mask_bytes));
    tsim_keep(kept, "cross attention: queries and result", z->t * (z->query + z->q) * e);
    tsim_keep(kept, "cross attention: keys and values", encoder->t * (z->key + z->value) * e);
    if (z->model->wide_qk_norm)
        tsim_keep(kept, "cross attention: inputs of norms", z->tp * (z->t * z->query + encoder->t * z->key) * e);
    tsim_keep_core_of(&cross, "cross attention: its core", parts, kept);
}

static void layer_keep(const struct tsim_scenario *sc, enum tsim_part part, unsigned parts, struct tsim_kept *kept) {
    struct tsim_op_shape z = tsim_op_shape_last(sc), encoder = tsim_op_shape_first(sc);
    (void)part;
    tsim_keep_attention(&z, parts, kept);
    tsim_keep_cross(&z, &encoder, parts, kept);
    tsim_keep_ffn(&z, "feed-forward: inner tensors", z.f, parts, kept);
    tsim_keep_core(&z, parts, kept);
}

static double layer_waiting_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_op_shape z = tsim_op_shape_last(sc);
    (void)part;
    return z.linear_bytes * (tsim_attention_waiting(&z) + tsim_ffn_waiting(&z, z.f));
}

static double layer_widest_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_op_shape z = tsim_op_shape_last(sc);
    (void)part;
    return tsim_ffn_widest_bytes(&z);
}

static void layer_count(const struct tsim_model *m, enum tsim_part part, struct tsim_layer_parameters *parameters) {
    (void)part;
    tsim_count_attention(m, parameters);
    tsim_count_ffn_norms(m, parameters);
    parameters->cross = parameters->attention;
    parameters->cross_norm = tsim_count_norm(m);
    parameters->ffn = tsim_count_mlp(m, (double)m->ffn_hidden);
}

static void layer_matrices(const struct tsim_model *m, enum tsim_part part, double times,
                           struct tsim_matrices *matrices) {
    (void)part;
    tsim_matrices_add_attention(matrices, m, 2 * times);
    tsim_matrices_add_ffn(matrices, m, times, (double)m->ffn_hidden);
}

/* Counts the FLOPs of a decoder layer. Keys and values of the cross attention meet the encoder's tokens, and all other
 * parameters the decoder's; its queries meet the keys of both. */
static void layer_flops(const struct tsim_model *m, enum tsim_part part, const struct tsim_layer_parameters *p,
                        double first_length, double last_length, struct tsim_layer_flops *flops) {
    double of_encoder = (double)(2 * m->kv_heads * m->head_dim * m->hidden);
    double macs = (p->attention + p->ffn + p->cross - of_encoder) * last_length + of_encoder * first_length,
           scores = last_length * (last_length + first_length);
    (void)part;
    *flops = (struct tsim_layer_flops){2 * macs / first_length,
                                       4 * (double)(m->heads * m->head_dim) * scores / first_length};
}

const struct tsim_whole_layer tsim_decoder_layer = {.forward = layer_forward,
                                                    .backward = layer_backward,
                                                    .count = layer_count,
                                                    .flops = layer_flops,
                                                    .add_matrices = layer_matrices,
                                                    .keep = layer_keep,
                                                    .shape = tsim_op_shape_last,
                                                    .flow_bytes = tsim_stream_bytes,
                                                    .waiting_bytes = layer_waiting_bytes,
                                                    .widest_bytes = layer_widest_bytes};
