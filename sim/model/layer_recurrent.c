/* Recurrent networks of LSTM cells (Hochreiter and Schmidhuber 1997), and GNMT (Wu et al. 2016, arXiv:1609.08144, section 3; NVIDIA's
 * seq2seq/models: encoder.py, decoder.py, attention.py). Symbols beside those of local_shape.c: i width of a layer's input.
 *
 * A cell has four gates, each a product of its input and of what it gave for the token before, with a bias for both. Products of the
 * input are of all tokens at once, t x 4 h x i; those of the state come one after another, s of them of b x 4 h x h, with
 * the gates in one kernel each. Backward the states' products have one of their size a token, and one for all tokens' weights.
 * Weights of the state are read for each token: where a cache holds them the product is faster than its memory traffic.
 *
 * GNMT's first encoder layer reads both ways, so that the second takes 2 h; from the third on there are residuals. The first
 * layer of its decoder is followed by attention to the encoder's result with normalized scores of a sum (Bahdanau et al. 2014),
 * v tanh(q + k), which are written out for each pair of tokens and each of h channels; what it gives stands beside the input
 * of every later decoder layer. Samples are divided over replicas alone. */
#include "model/kept.h"
#include "model/matrices.h"
#include "model/operator_builders.h"

struct cell {
    double input, directions;
    bool has_attention, has_residual;
};

static struct cell cell_of(const struct tsim_model *m, enum tsim_part part) {
    double h = (double)m->hidden;
    switch (part) {
    case TSIM_PART_LSTM_BOTH_WAYS:
        return (struct cell){.input = h, .directions = 2};
    case TSIM_PART_LSTM_WIDE:
        return (struct cell){.input = 2 * h, .directions = 1};
    case TSIM_PART_LSTM_DECODER:
        return (struct cell){.input = 2 * h, .directions = 1, .has_residual = true};
    case TSIM_PART_LSTM_ATTENTION:
        return (struct cell){.input = h, .directions = 1, .has_attention = true};
    default:
        return (struct cell){.input = h, .directions = 1, .has_residual = true};
    }
}

static bool is_of_decoder(enum tsim_part part) {
    return part == TSIM_PART_LSTM_DECODER || part == TSIM_PART_LSTM_ATTENTION;
}

static struct tsim_op_shape shape_of(const struct tsim_scenario *sc, enum tsim_part part) {
    return is_of_decoder(part) ? tsim_op_shape_last(sc) : tsim_op_shape_first(sc);
}

/* ---- operators ---- */

static void steps(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name, double n, double k) {
    struct tsim_op *op =
        batched(gemm(list, name, z->attention_precision, z->b, n, k, z->element_bytes, z->element_bytes), z->s);
    op->is_sequential = true;
    op->kernels = z->s;
}

static void attention_forward(struct tsim_op_list *list, const struct tsim_op_shape *z,
                              const struct tsim_op_shape *encoder) {
    double e = z->element_bytes, sums = z->t * encoder->s * z->h, scores = z->t * encoder->s;
    enum tsim_precision precision = z->attention_precision;
    gemm(list, "attention q", precision, z->t, z->h, z->h, e, e);
    gemm(list, "attention k", precision, encoder->t, z->h, z->h, e, e);
    elementwise(list, "attention sums", sums, e + 2 * e + e, 3); /* the sum, tanh, and the product with a vector */
    elementwise(list, "attention softmax", scores, 2 * e, 1);
    batched(gemm(list, "attention values", precision, z->s, z->h, encoder->s, e, e), z->b);
}

static void linear_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *input,
                            const char *weight, double rows, double n, double k) {
    struct tsim_op_shape own = *z;
    own.t = own.ts = rows;
    tsim_op_linear_backward(
        list, &own,
        &(struct tsim_op_linear){.input = input, .weight = weight, .n = n, .k = k, .is_never_quantized = true});
}

static void attention_backward(struct tsim_op_list *list, const struct tsim_op_shape *z,
                               const struct tsim_op_shape *encoder) {
    double e = z->element_bytes, sums = z->t * encoder->s * z->h, scores = z->t * encoder->s;
    enum tsim_precision precision = z->attention_precision;
    batched(gemm(list, "attention values, dP", precision, z->s, encoder->s, z->h, e, e), z->b);
    batched(gemm(list, "attention values, dV", precision, encoder->s, z->h, z->s, e, e), z->b);
    elementwise(list, "attention softmax", scores, 3 * e, 1);
    elementwise(list, "attention sums", sums, 2 * e + 3 * e + 2 * e,
                4); /* the vector's, tanh's, and sums for q and k */
    linear_backward(list, z, "attention k, input", "attention k, weight", encoder->t, z->h, z->h);
    linear_backward(list, z, "attention q, input", "attention q, weight", z->t, z->h, z->h);
}

static void layer_forward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    struct tsim_op_shape z = shape_of(sc, part), encoder = tsim_op_shape_first(sc);
    struct cell c = cell_of(z.model, part);
    double e = z.element_bytes;
    (void)at;
    if (part == TSIM_PART_LSTM_DECODER)
        elementwise(list, "attention beside the input", z.t * c.input, 2 * e, 1);
    for (int i = 0; i < (int)c.directions; i++) {
        gemm(list, "LSTM inputs", z.attention_precision, z.t, 4 * z.h, c.input, e, e);
        steps(list, &z, "LSTM states", 4 * z.h, z.h);
        elementwise(list, "LSTM gates", z.t * z.h, (4 + 4 + 2 + 1) * e, z.s);
    }
    if (z.mask_bytes > 0)
        elementwise(list, "dropout", z.t * z.h * c.directions, 2 * e + z.mask_bytes, 1);
    if (c.has_residual)
        elementwise(list, "residual", z.t * z.h, 3 * e, 1);
    if (c.has_attention)
        attention_forward(list, &z, &encoder);
}

static void layer_backward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    struct tsim_op_shape z = shape_of(sc, part), encoder = tsim_op_shape_first(sc);
    struct cell c = cell_of(z.model, part);
    double e = z.element_bytes;
    (void)at;
    if (c.has_attention)
        attention_backward(list, &z, &encoder);
    if (c.has_residual)
        elementwise(list, "residual", z.t * z.h, 3 * e, 1);
    if (z.mask_bytes > 0)
        elementwise(list, "dropout", z.t * z.h * c.directions, 2 * e + z.mask_bytes, 1);
    for (int i = 0; i < (int)c.directions; i++) {
        elementwise(list, "LSTM gates", z.t * z.h, (4 + 2 + 2 + 4) * e, z.s);
        steps(list, &z, "LSTM states, input", z.h, 4 * z.h);
        gemm(list, "LSTM states, weight", z.attention_precision, 4 * z.h, z.h, z.t, e, 2 * z.gradient_bytes)
            ->is_weight_gradient = true;
        linear_backward(list, &z, "LSTM inputs, input", "LSTM inputs, weight", z.t, 4 * z.h, c.input);
        elementwise(list, "LSTM bias gradient", z.t * 4 * z.h, e, 1)->is_weight_gradient = true;
    }
    if (part == TSIM_PART_LSTM_DECODER)
        elementwise(list, "attention beside the input", z.t * c.input, 3 * e, 2);
}

/* ---- what is kept and counted ---- */

static void layer_keep(const struct tsim_scenario *sc, enum tsim_part part, unsigned parts, struct tsim_kept *kept) {
    struct tsim_op_shape z = shape_of(sc, part), encoder = tsim_op_shape_first(sc);
    struct cell c = cell_of(z.model, part);
    double e = z.element_bytes;
    (void)parts;
    tsim_keep(kept, "LSTM: input", z.t * c.input * e);
    tsim_keep(kept, "LSTM: gates, cells and result", c.directions * z.t * 6 * z.h * e);
    tsim_keep(kept, "masks of dropout", c.directions * z.t * z.h * z.mask_bytes);
    if (!c.has_attention)
        return;
    tsim_keep(kept, "attention: tanh of sums", z.t * encoder.s * z.h * e);
    tsim_keep(kept, "attention: queries, keys, scores, result",
              (2 * z.t * z.h + encoder.t * z.h + z.t * encoder.s) * e);
}

static double layer_waiting_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_op_shape z = shape_of(sc, part);
    struct cell c = cell_of(z.model, part);
    return z.element_bytes * z.t * c.directions * (c.input + 5 * z.h);
}

static double layer_widest_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_op_shape z = shape_of(sc, part), encoder = tsim_op_shape_first(sc);
    double gates = z.t * 4 * z.h, sums = cell_of(z.model, part).has_attention ? z.t * encoder.s * z.h : 0;
    return z.element_bytes * (gates > sums ? gates : sums);
}

/* Two products with a bias each for four gates. Attention has two products, a vector, and a scale and a bias of its norm. */
static void layer_count(const struct tsim_model *m, enum tsim_part part, struct tsim_layer_parameters *p) {
    struct cell c = cell_of(m, part);
    double h = (double)m->hidden;
    p->ffn = c.directions * (4 * h * (c.input + h) + 8 * h);
    if (c.has_attention)
        p->cross = 2 * h * h + h + 1 + h;
}

static void layer_flops(const struct tsim_model *m, enum tsim_part part, const struct tsim_layer_parameters *p,
                        double first_length, double last_length, struct tsim_layer_flops *flops) {
    struct cell c = cell_of(m, part);
    double h = (double)m->hidden, frac = is_of_decoder(part) ? last_length / first_length : 1;
    (void)p;
    *flops = (struct tsim_layer_flops){.products = 2 * c.directions * 4 * h * (c.input + h) * frac};
    if (!c.has_attention)
        return;
    flops->products += 2 * h * h * (1 + frac);
    flops->core = 2 * 2 * h * last_length; /* a vector's product with each sum, and values, over the encoder's tokens */
}

static void layer_matrices(const struct tsim_model *m, enum tsim_part part, double times,
                           struct tsim_matrices *matrices) {
    struct cell c = cell_of(m, part);
    double h = (double)m->hidden;
    tsim_matrices_add(matrices, c.directions * times, 4 * h, c.input, true);
    tsim_matrices_add(matrices, c.directions * times, 4 * h, h, true);
    if (c.has_attention)
        tsim_matrices_add(matrices, 2 * times, h, h, true);
}

const struct tsim_whole_layer tsim_lstm_layer = {.forward = layer_forward,
                                                 .backward = layer_backward,
                                                 .count = layer_count,
                                                 .flops = layer_flops,
                                                 .add_matrices = layer_matrices,
                                                 .keep = layer_keep,
                                                 .shape = tsim_op_shape_first,
                                                 .flow_bytes = tsim_stream_bytes,
                                                 .waiting_bytes = layer_waiting_bytes,
                                                 .widest_bytes = layer_widest_bytes};

const struct tsim_whole_layer tsim_lstm_decoder_layer = {.forward = layer_forward,
                                                         .backward = layer_backward,
                                                         .count = layer_count,
                                                         .flops = layer_flops,
                                                         .add_matrices = layer_matrices,
                                                         .keep = layer_keep,
                                                         .shape = tsim_op_shape_last,
                                                         .flow_bytes = tsim_stream_bytes,
                                                         .waiting_bytes = layer_waiting_bytes,
                                                         .widest_bytes = layer_widest_bytes};
