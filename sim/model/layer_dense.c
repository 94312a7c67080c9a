/* The feed-forward block of most layers, dense: every token meets all of it. */
#include "model/kept.h"
#include "model/matrices.h"
#include "model/operator_builders.h"

static void keep(const struct tsim_op_shape *z, unsigned parts, struct tsim_kept *kept) {
    tsim_keep_ffn(z, "feed-forward: inner tensors", z->f, parts, kept);
}

static double waiting(const struct tsim_op_shape *z) {
    return tsim_ffn_waiting(z, z->f);
}

static void count(const struct tsim_model *m, struct tsim_layer_parameters *parameters) {
    tsim_count_ffn_norms(m, parameters);
    parameters->ffn = tsim_count_mlp(m, (double)m->ffn_hidden);
}

static void add_matrices(const struct tsim_model *m, double times, struct tsim_matrices *matrices) {
    tsim_matrices_add_ffn(matrices, m, times, (double)m->ffn_hidden);
}

static double adapter_parameters(const struct tsim_op_shape *z) {
    return tsim_adapters_parameters(z, tsim_adapters_of(z, TSIM_PRODUCT_UP)) +
           tsim_adapters_parameters(z, tsim_adapters_of(z, TSIM_PRODUCT_DOWN));
}

const struct tsim_feed_forward tsim_dense_feed_forward = {.forward = tsim_op_ffn_forward,
                                                          .backward = tsim_op_ffn_backward,
                                                          .keep = keep,
                                                          .waiting = waiting,
                                                          .widest_bytes = tsim_ffn_widest_bytes,
                                                          .count = count,
                                                          .add_matrices = add_matrices,
                                                          .adapter_parameters = adapter_parameters};
