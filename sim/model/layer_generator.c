/* ELECTRA (Clark et al. 2020, arXiv:2003.10555, section 2): a small generator fills in masked tokens, and a
 * discriminator tells for every token whether it was replaced. Both are trained in a step. No gradient goes from the
 * discriminator to the generator, which has a loss of its own.
 *
 * The generator's layers are those of a model of its own, asked of their kinds. They come before the discriminator's,
 * with the generator's head between: a product from the generator's width to the table's, the logits of the masked
 * tokens on the shared table, their loss, a draw of each, and the tokens put in and looked up again. Before its layers
 * the table's vectors go through a product to its width, which the head's row counts as well. */
#include "model/inner_layer.h"
#include "model/matrices.h"
#include "model/model.h"

static void generator_scenario(const struct tsim_scenario *sc, struct tsim_scenario *own) {
    *own = *sc;
    own->model = sc->model->generator.network;
}

static struct tsim_op_shape shape_of_generator(const struct tsim_scenario *sc) {
    struct tsim_scenario own;
    generator_scenario(sc, &own);
    struct tsim_op_shape z = tsim_op_shape_first(&own);
    z.scenario = sc;
    return z;
}

/* ---- a layer ---- */

static void layer_forward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    struct tsim_scenario own;
    (void)part, (void)at;
    generator_scenario(sc, &own);
    tsim_inner_forward(&tsim_attention_mixer, &own, list);
}

static void layer_backward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    struct tsim_scenario own;
    (void)part, (void)at;
    generator_scenario(sc, &own);
    tsim_inner_backward(&tsim_attention_mixer, &own, list);
}

static void layer_count(const struct tsim_model *m, enum tsim_part part, struct tsim_layer_parameters *p) {
    (void)part;
    tsim_inner_count(&tsim_attention_mixer, m->generator.network, p);
}

static void layer_keep(const struct tsim_scenario *sc, enum tsim_part part, unsigned parts, struct tsim_kept *kept) {
    struct tsim_scenario own;
    (void)part;
    generator_scenario(sc, &own);
    tsim_inner_keep(&tsim_attention_mixer, &own, parts, kept);
}

static void layer_matrices(const struct tsim_model *m, enum tsim_part part, double times,
                           struct tsim_matrices *matrices) {
    (void)part;
    tsim_inner_matrices(&tsim_attention_mixer, m->generator.network, times, matrices);
}

static void layer_flops(const struct tsim_model *m, enum tsim_part part, const struct tsim_layer_parameters *p,
                        double first_length, double last_length, struct tsim_layer_flops *flops) {
    (void)part, (void)p, (void)last_length;
    *flops = tsim_inner_flops(&tsim_attention_mixer, m->generator.network, first_length);
}

static double layer_waiting_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_scenario own;
    (void)part;
    generator_scenario(sc, &own);
    return tsim_inner_waiting_bytes(&tsim_attention_mixer, &own);
}

static double layer_widest_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_scenario own;
    (void)part;
    generator_scenario(sc, &own);
    return tsim_inner_widest_bytes(&own);
}

/* Between layers flow their own tokens, and the table's vectors, which both networks take. */
static double layer_flow_bytes(const struct tsim_scenario *sc) {
    struct tsim_op_shape z = shape_of_generator(sc);
    return z.t * z.h * z.element_bytes + tsim_stream_bytes(sc);
}

const struct tsim_whole_layer tsim_generator_layer = {.forward = layer_forward,
                                                      .backward = layer_backward,
                                                      .count = layer_count,
                                                      .flops = layer_flops,
                                                      .add_matrices = layer_matrices,
                                                      .keep = layer_keep,
                                                      .shape = shape_of_generator,
                                                      .flow_bytes = layer_flow_bytes,
                                                      .waiting_bytes = layer_waiting_bytes,
                                                      .widest_bytes = layer_widest_bytes};

/* ---- its head ---- */

static double masked(const struct tsim_op_shape *z) {
    return z->t * z->model->generator.masked_frac;
}

static void head_forward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    struct tsim_op_shape z = tsim_op_shape_first(sc), own = shape_of_generator(sc);
    double e = z.element_bytes, n = masked(&z), vocab = tsim_padded_vocab_per_rank(sc);
    enum tsim_precision precision = z.attention_precision;
    (void)part, (void)at;
    gemm(list, "table to generator", precision, z.t, own.h, z.h, e, e);
    elementwise(list, "masked, pick", n * own.h, 2 * e, 1);
    gemm(list, "generator to table", precision, n, z.h, own.h, e, e);
    elementwise(list, "generator, activation and norm", n * z.h, 4 * e, 2);
    gemm(list, "generator, logits", precision, n, vocab, z.h, e, e);
    elementwise(list, "generator, loss", n * vocab, e + 4 + 8, 6);
    elementwise(list, "generator, draw", n * vocab, 2 * 4 + 2 * 4, 4); /* noise, sum, largest */
    elementwise(list, "tokens put in, and looked up", z.t * z.h, 3 * e, 3);
}

static void head_backward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    struct tsim_op_shape z = tsim_op_shape_first(sc), own = shape_of_generator(sc);
    double e = z.element_bytes, n = masked(&z), vocab = tsim_padded_vocab_per_rank(sc);
    (void)part, (void)at;
    elementwise(list, "tokens looked up, gradient", z.t * z.h, e + 2 * z.gradient_bytes, 3)->is_weight_gradient = true;
    elementwise(list, "generator, loss", n * vocab, e + 4 + 16, 3);
    tsim_op_unshared_backward(list, &z, "generator, logits, input", "generator, logits, weight", n, vocab, z.h);
    elementwise(list, "generator, activation and norm", n * z.h, 7 * e, 3);
    tsim_op_unshared_backward(list, &z, "generator to table, input", "generator to table, weight", n, z.h, own.h);
    elementwise(list, "masked, put back", z.t * own.h, e, 1);
    tsim_op_unshared_backward(list, &z, "table to generator, input", "table to generator, weight", z.t, own.h, z.h);
}

static void head_keep(const struct tsim_scenario *sc, enum tsim_part part, unsigned parts, struct tsim_kept *kept) {
    struct tsim_op_shape z = tsim_op_shape_first(sc), own = shape_of_generator(sc);
    double e = z.element_bytes, n = masked(&z);
    (void)part, (void)parts;
    tsim_keep(kept, "vectors of the table", z.t * z.h * e);
    tsim_keep(kept, "masked tokens, before and behind activation and norm", n * (own.h + 3 * z.h) * e);
    tsim_keep(kept, "generator's logits, in fp32", n * tsim_padded_vocab_per_rank(sc) * 4);
}

/* Counts the head: two products with biases, and a norm. */
static void head_count(const struct tsim_model *m, enum tsim_part part, struct tsim_layer_parameters *p) {
    double h = (double)m->hidden, own = (double)m->generator.hidden;
    (void)part;
    p->norms = tsim_count_norm(m);
    p->latent = 2 * h * own + h + own;
}

static void head_flops(const struct tsim_model *m, enum tsim_part part, const struct tsim_layer_parameters *p,
                       double first_length, double last_length, struct tsim_layer_flops *flops) {
    double h = (double)m->hidden, own = (double)m->generator.hidden, frac = m->generator.masked_frac;
    (void)part, (void)p, (void)first_length, (void)last_length;
    *flops = (struct tsim_layer_flops){.products = 2 * (h * own + frac * (h * own + h * (double)m->vocab))};
}

static void head_matrices(const struct tsim_model *m, enum tsim_part part, double times,
                          struct tsim_matrices *matrices) {
    (void)part;
    tsim_matrices_add(matrices, 2 * times, (double)m->hidden, (double)m->generator.hidden, true);
}

static double head_waiting_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_op_shape z = tsim_op_shape_first(sc), own = shape_of_generator(sc);
    (void)part;
    return z.element_bytes * (z.t * (z.h + own.h) + masked(&z) * (own.h + 2 * z.h + tsim_padded_vocab_per_rank(sc)));
}

static double head_widest_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_op_shape z = tsim_op_shape_first(sc);
    (void)part;
    return masked(&z) * tsim_padded_vocab_per_rank(sc) * 4;
}

const struct tsim_whole_layer tsim_generator_head = {.forward = head_forward,
                                                     .backward = head_backward,
                                                     .count = head_count,
                                                     .flops = head_flops,
                                                     .add_matrices = head_matrices,
                                                     .keep = head_keep,
                                                     .shape = tsim_op_shape_first,
                                                     .flow_bytes = tsim_stream_bytes,
                                                     .waiting_bytes = head_waiting_bytes,
                                                     .widest_bytes = head_widest_bytes};
