/* A short convolution in place of attention (Liquid AI 2025, LFM2 technical report, arXiv:2511.23404, section 2.1;
 * transformers, models/lfm2/modeling_lfm2.py, Lfm2ShortConv). A product gives three vectors as wide as the token: B, C and x. A
 * convolution over a few tokens, each channel for itself, takes B x; C times its result goes through a product back. A token
 * behind others needs B x of the few before it. */
#include "model/recurrent.h"

static double state_bytes(const struct tsim_op_shape *z) {
    return z->b * ((double)z->model->short_convolution.kernel - 1) * z->h / z->tp * z->element_bytes;
}

/* Multiplies B and x; backward, called twice, it gives the gradients of both. A token that follows others moves its
 * state, too. */
static void first_gate(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double e = z->element_bytes;
    elementwise(list, "short convolution, first gate", z->t * z->h / z->tp, 3 * e, 1);
    if (z->scenario->cached_tokens > 0)
        elementwise(list, "short convolution, state", state_bytes(z), 2, 1); /* each byte in and out */
}

static struct tsim_recurrent mixer_of(const struct tsim_model *m, double tp) {
    double width = (double)m->hidden / tp;
    return (struct tsim_recurrent){.columns = 3 * width,
                                   .convolved = width,
                                   .result = width,
                                   .recurrence = first_gate,
                                   .in = "short convolution in",
                                   .in_input = "short convolution in, input",
                                   .in_weight = "short convolution in, weight",
                                   .convolution = "short convolution",
                                   .norm = "short convolution, second gate",
                                   .out = "short convolution out",
                                   .out_input = "short convolution out, input",
                                   .out_weight = "short convolution out, weight",
                                   .gather = "tensor: gather, short convolution",
                                   .gather_input = "tensor: gather input, short convolution",
                                   .reduce = "tensor: reduce, short convolution",
                                   .kept_vectors = "short convolution: gates and input",
                                   .kept_result = "short convolution: result"};
}

static void count(const struct tsim_model *m, struct tsim_layer_parameters *p) {
    const struct tsim_short_convolution *a = &m->short_convolution;
    double h = (double)m->hidden, biases = a->bias ? 3 * h + h + h : 0;
    p->norms += (1 + (m->post_norms ? 1 : 0)) * tsim_count_norm(m);
    p->attention = 3 * h * h + h * (double)a->kernel + h * h + biases;
}

/* The convolution's FLOPs are counted with its parameters. */
static double core_flops(const struct tsim_model *m, double length) {
    (void)m, (void)length;
    return 0;
}

TSIM_RECURRENT_MIXER(tsim_short_mixer, mixer_of);
