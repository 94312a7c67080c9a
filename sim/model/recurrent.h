/* recurrent.h - private to model: mixers that pass a state from token to token (Mamba-2, the gated delta rule). Around
 * their recurrence they are alike: a product to several vectors, a short convolution of some of these, the recurrence
 * in chunks, a norm with a gate, and a product back. */
#pragma once

#include "model/kept.h"
#include "model/operator_builders.h"

struct tsim_recurrent {
    double columns, convolved,
        result; /* widths on a tensor rank: of the first product, in the convolution, of the recurrence */
    void (*recurrence)(struct tsim_op_list *list, const struct tsim_op_shape *shape); /* adds the recurrence once */
    const char *in, *in_input, *in_weight, *convolution, *norm, *out, *out_input, *out_weight; /* names of operators */
    const char *gather, *gather_input, *reduce;
    const char *kept_vectors, *kept_result; /* names of tensors */
};

/* These are the adapters beside a recurrent mixer's first product, which gives `columns` columns, and beside its last,
 * which takes a `result` of that width. */
struct tsim_recurrent_adapters {
    struct tsim_adapters in, out;
};
struct tsim_recurrent_adapters tsim_recurrent_adapters(const struct tsim_op_shape *shape, double columns,
                                                       double result);
double tsim_recurrent_adapter_parameters(const struct tsim_op_shape *shape, double columns, double result);
/* Lists the inputs of norms and blocks, dropout's masks and what the adapters keep. */
void tsim_recurrent_keep_inputs(const struct tsim_op_shape *shape, unsigned parts, struct tsim_recurrent_adapters of,
                                struct tsim_kept *kept);

/* Mamba-2's, for the layers that have its heads beside others (layer_mamba.c). */
struct tsim_recurrent tsim_mamba_of(const struct tsim_model *model, double tensor_ranks);

/* These add the operators from the first product to the second, and list what these keep, without the norm before, its
 * gather, and the residual behind. Backward, the input may be shared with a mixer beside it, which gathers it and reduces
 * its gradients. */
void tsim_recurrent_inner_forward(struct tsim_op_list *list, const struct tsim_op_shape *shape,
                                  const struct tsim_recurrent *mixer);
void tsim_recurrent_inner_backward(struct tsim_op_list *list, const struct tsim_op_shape *shape,
                                   const struct tsim_recurrent *mixer, bool shares_input);
void tsim_recurrent_inner_keep(const struct tsim_op_shape *shape, const struct tsim_recurrent *mixer,
                               struct tsim_kept *kept);
/* These add the mixer's operators. Backward, each product, also one of the recurrence, has two of its size. */
void tsim_recurrent_forward(struct tsim_op_list *list, const struct tsim_op_shape *shape,
                            const struct tsim_recurrent *mixer);
void tsim_recurrent_backward(struct tsim_op_list *list, const struct tsim_op_shape *shape,
                             const struct tsim_recurrent *mixer);
/* Lists what a layer keeps: the inputs of its norms and blocks, what the first product gives before and after the
 * convolution, what the recurrence gives, and the input of the second product. Scores and states are computed again. */
void tsim_recurrent_keep(const struct tsim_op_shape *shape, unsigned parts, const struct tsim_recurrent *mixer,
                         struct tsim_kept *kept);
void tsim_keep_nothing(const struct tsim_op_shape *shape, unsigned parts, struct tsim_kept *kept);
double tsim_recurrent_waiting(const struct tsim_op_shape *shape, const struct tsim_recurrent *mixer);
void tsim_recurrent_matrices(const struct tsim_model *model, double times, const struct tsim_recurrent *mixer,
                             struct tsim_matrices *matrices);

/* Defines a mixer by its `mixer_of(model, tensor ranks)`. The mixer's file defines count, core_flops and
 * state_bytes. */
#define TSIM_RECURRENT_MIXER(name, mixer_of)                                                                           \
    static void forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {                                    \
        struct tsim_recurrent x = mixer_of(z->model, z->tp);                                                           \
        tsim_recurrent_forward(list, z, &x);                                                                           \
    }                                                                                                                  \
    static void backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {                                   \
        struct tsim_recurrent x = mixer_of(z->model, z->tp);                                                           \
        tsim_recurrent_backward(list, z, &x);                                                                          \
    }                                                                                                                  \
    static void keep(const struct tsim_op_shape *z, unsigned parts, struct tsim_kept *kept) {                          \
        struct tsim_recurrent x = mixer_of(z->model, z->tp);                                                           \
        tsim_recurrent_keep(z, parts, &x, kept);                                                                       \
    }                                                                                                                  \
    static double waiting(const struct tsim_op_shape *z) {                                                             \
        struct tsim_recurrent x = mixer_of(z->model, z->tp);                                                           \
        return tsim_recurrent_waiting(z, &x);                                                                          \
    }                                                                                                                  \
    static double widest_bytes(const struct tsim_op_shape *z) {                                                        \
        return z->t * mixer_of(z->model, z->tp).columns * z->element_bytes;                                            \
    }                                                                                                                  \
    static double adapter_parameters(const struct tsim_op_shape *z) {                                                  \
        struct tsim_recurrent x = mixer_of(z->model, z->tp);                                                           \
        return tsim_recurrent_adapter_parameters(z, x.columns, x.result);                                              \
    }                                                                                                                  \
    static void add_matrices(const struct tsim_model *m, double times, struct tsim_matrices *matrices) {               \
        struct tsim_recurrent x = mixer_of(m, 1);                                                                      \
        tsim_recurrent_matrices(m, times, &x, matrices);                                                               \
    }                                                                                                                  \
    const struct tsim_mixer name = {.forward = forward,                                                                \
                                    .backward = backward,                                                              \
                                    .keep = keep,                                                                      \
                                    .keep_core = tsim_keep_nothing,                                                    \
                                    .waiting = waiting,                                                                \
                                    .widest_bytes = widest_bytes,                                                      \
                                    .count = count,                                                                    \
                                    .core_flops = core_flops,                                                          \
                                    .add_matrices = add_matrices,                                                      \
                                    .adapter_parameters = adapter_parameters,                                          \
                                    .state_bytes = state_bytes}
