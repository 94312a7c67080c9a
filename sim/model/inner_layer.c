#include "model/inner_layer.h"

static struct tsim_op_shape shape_of(const struct tsim_mixer *mixer, const struct tsim_scenario *own) {
    struct tsim_op_shape z = tsim_op_shape_first(own);
    if (mixer->fit)
        mixer->fit(&z);
    return z;
}

void tsim_inner_forward(const struct tsim_mixer *mixer, const struct tsim_scenario *own, struct tsim_op_list *list) {
    struct tsim_op_shape z = shape_of(mixer, own);
    mixer->forward(list, &z);
    tsim_dense_feed_forward.forward(list, &z);
}

void tsim_inner_backward(const struct tsim_mixer *mixer, const struct tsim_scenario *own, struct tsim_op_list *list) {
    struct tsim_op_shape z = shape_of(mixer, own);
    tsim_dense_feed_forward.backward(list, &z);
    mixer->backward(list, &z);
}

void tsim_inner_keep(const struct tsim_mixer *mixer, const struct tsim_scenario *own, unsigned parts,
                     struct tsim_kept *kept) {
    struct tsim_op_shape z = shape_of(mixer, own);
    if (parts & TSIM_RECOMPUTE_OPERATORS) {
        tsim_keep_operators(&z, kept);
        return;
    }
    mixer->keep(&z, parts, kept);
    tsim_dense_feed_forward.keep(&z, parts, kept);
    mixer->keep_core(&z, parts, kept);
}

void tsim_inner_count(const struct tsim_mixer *mixer, const struct tsim_model *network,
                      struct tsim_layer_parameters *parameters) {
    mixer->count(network, parameters);
    tsim_dense_feed_forward.count(network, parameters);
}

struct tsim_layer_flops tsim_inner_flops(const struct tsim_mixer *mixer, const struct tsim_model *network,
                                         double length) {
    struct tsim_layer_parameters p = {0};
    tsim_inner_count(mixer, network, &p);
    return (struct tsim_layer_flops){2 * (p.attention + p.ffn), mixer->core_flops(network, length)};
}

void tsim_inner_matrices(const struct tsim_mixer *mixer, const struct tsim_model *network, double times,
                         struct tsim_matrices *matrices) {
    mixer->add_matrices(network, times, matrices);
    tsim_dense_feed_forward.add_matrices(network, times, matrices);
}

double tsim_inner_waiting_bytes(const struct tsim_mixer *mixer, const struct tsim_scenario *own) {
    struct tsim_op_shape z = shape_of(mixer, own);
    return z.linear_bytes * (mixer->waiting(&z) + tsim_dense_feed_forward.waiting(&z));
}

double tsim_inner_widest_bytes(const struct tsim_scenario *own) {
    struct tsim_op_shape z = tsim_op_shape_first(own);
    return tsim_dense_feed_forward.widest_bytes(&z);
}
