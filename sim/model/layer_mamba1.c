/* Mamba-1 in place of attention (Gu and Dao 2023, arXiv:2312.00752, section 3.4 and algorithm 2). Symbols beside those of
 * local_shape.c: d channels on this tensor rank, n state of a channel, r rank of the step sizes.
 *
 * Forward: a product to 2 d columns (input and gate), a short convolution of d channels, a product of those to r + 2 n (step sizes
 * and what writes and reads the state, which all channels share), one from r to d, the scan, and a product back. Tensor
 * ranks divide the channels, so that the second product is summed between them; Jamba normalizes its result (Lieber et al. 2024,
 * arXiv:2403.19887, section 6.2).
 * The scan is one kernel that keeps the states on chip: it reads input, step sizes, gate and vectors and writes the result,
 * and backward makes the states again (mamba_ssm, csrc/selective_scan). It is no product: 9 n FLOPs a token and channel go
 * to the vector units, which by convention do not count; it is taken to be as fast as memory, which was not measured.
 *
 * A token behind others reads and writes the states of all channels and of the convolution instead (mamba_ssm,
 * modules/mamba_simple.py: step). */
#include "model/kept.h"
#include "model/matrices.h"
#include "model/operator_builders.h"
#include "model/recurrent.h"

struct scan {
    double d, n, r;
};

static struct scan scan_of(const struct tsim_model *m, double tp) {
    return (struct scan){
        .d = (double)m->mamba1.width / tp, .n = (double)m->mamba1.state, .r = (double)m->mamba1.step_rank};
}

static double vectors(const struct scan *x) {
    return x->r + 2 * x->n;
}

static double state_bytes(const struct tsim_op_shape *z) {
    struct scan x = scan_of(z->model, z->tp);
    return z->b * x.d * (x.n + (double)z->model->mamba1.kernel - 1) * z->element_bytes;
}

static void forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct scan x = scan_of(z->model, z->tp);
    double e = z->element_bytes, le = z->linear_bytes;
    tsim_op_norm_before_linear(list, z, "norm 1");
    tsim_op_gather_input(list, z, "tensor: gather, Mamba", z->h);
    struct tsim_recurrent_adapters of = tsim_recurrent_adapters(z, 2 * x.d, x.d);
    tsim_op_take_weight(list, z, 2 * x.d * z->h);
    gemm(list, "Mamba in", z->linear_precision, z->t, 2 * x.d, z->h, le, e);
    tsim_op_adapters_forward(list, z, of.in);
    elementwise(list, "Mamba convolution", z->t * x.d, 2 * e, 1);
    gemm(list, "Mamba vectors", z->attention_precision, z->t, vectors(&x), x.d, e, e);
    if (z->tp > 1)
        tensor_collective(list, "tensor: reduce, Mamba vectors", TSIM_OP_ALL_REDUCE, z->t * vectors(&x) * e,
                          TSIM_EXPOSED);
    if (z->model->mamba1.norms)
        elementwise(list, "Mamba norms of vectors", z->t * vectors(&x), 2 * e, 3);
    gemm(list, "Mamba steps", z->attention_precision, z->t, x.d, x.r, e, e);
    elementwise(list, "Mamba scan", z->t * x.d, 4 * e, 1)->bytes +=
        z->t * 2 * x.n * e + (z->scenario->cached_tokens > 0 ? 2 * state_bytes(z) : 0);
    cast(list, z, "cast", z->t * x.d);
    tsim_op_take_weight(list, z, z->h * x.d);
    gemm(list, "Mamba out", z->linear_precision, z->t, z->h, x.d, le, e);
    tsim_op_adapters_forward(list, z, of.out);
    tsim_op_reduce_output(list, z, "tensor: reduce, Mamba");
    tsim_op_norm_behind_forward(list, z, "norm 1, behind");
    tsim_op_residual_forward(list, z, "residual 1", !z->is_alone);
}

/* The scan reads its inputs, the gradient of its result and the gate's part, and writes four gradients. */
static void backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct scan x = scan_of(z->model, z->tp);
    double e = z->element_bytes;
    struct tsim_recurrent_adapters of = tsim_recurrent_adapters(z, 2 * x.d, x.d);
    tsim_op_residual_backward(list, z, "residual 1");
    tsim_op_norm_behind_backward(list, z, "norm 1, behind");
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.input = "Mamba out, input",
                                                     .weight = "Mamba out, weight",
                                                     .gather = "tensor: gather, Mamba",
                                                     .n = z->h,
                                                     .k = x.d,
                                                     .has_adapters = of.out.count > 0});
    tsim_op_adapters_backward(list, z, of.out);
    elementwise(list, "Mamba scan", z->t * x.d, 8 * e, 1)->bytes += z->t * 4 * x.n * e;
    tsim_op_unshared_backward(list, z, "Mamba steps, input", "Mamba steps, weight", z->t, x.d, x.r);
    if (z->model->mamba1.norms)
        elementwise(list, "Mamba norms of vectors", z->t * vectors(&x), 3 * e, 3);
    if (z->tp > 1)
        tensor_collective(list, "tensor: reduce, Mamba vectors", TSIM_OP_ALL_REDUCE, z->t * vectors(&x) * e,
                          TSIM_EXPOSED);
    tsim_op_unshared_backward(list, z, "Mamba vectors, input", "Mamba vectors, weight", z->t, vectors(&x), x.d);
    elementwise(list, "Mamba convolution", z->t * x.d, 3 * e, 2);
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.input = "Mamba in, input",
                                                     .weight = "Mamba in, weight",
                                                     .gather = "tensor: gather input, Mamba",
                                                     .reduce = "tensor: reduce, Mamba",
                                                     .n = 2 * x.d,
                                                     .k = z->h,
                                                     .has_adapters = of.in.count > 0,
                                                     .is_column_parallel = true});
    tsim_op_adapters_backward(list, z, of.in);
    tsim_op_norm_backward(list, z, "norm 1");
}

/* Keeps the input before and after the convolution, gate, steps, vectors and the result. States are computed again. */
static void keep(const struct tsim_op_shape *z, unsigned parts, struct tsim_kept *kept) {
    struct scan x = scan_of(z->model, z->tp);
    double e = z->element_bytes;
    struct tsim_recurrent_adapters of = tsim_recurrent_adapters(z, 2 * x.d, x.d);
    tsim_recurrent_keep_inputs(z, parts, of, kept);
    tsim_keep(kept, "Mamba: input, gate, steps, vectors", z->t * (4 * x.d + vectors(&x)) * e);
    tsim_keep(kept, "Mamba: result", tsim_keeps_input(z, of.out) ? z->t * x.d * z->linear_bytes : 0);
}

static double waiting(const struct tsim_op_shape *z) {
    struct scan x = scan_of(z->model, z->tp);
    return z->ts * z->h + z->t * (x.d + 2 * x.d + z->h) + z->t * (2 * x.d + x.r + vectors(&x));
}

static double adapter_parameters(const struct tsim_op_shape *z) {
    struct scan x = scan_of(z->model, z->tp);
    return tsim_recurrent_adapter_parameters(z, 2 * x.d, x.d);
}

static double widest_bytes(const struct tsim_op_shape *z) {
    return z->t * 2 * scan_of(z->model, z->tp).d * z->element_bytes;
}

/* Each channel has a kernel with a bias, a step's bias, n decays and a weight for what bypasses the state. */
static void count(const struct tsim_model *m, struct tsim_layer_parameters *p) {
    struct scan x = scan_of(m, 1);
    double h = (double)m->hidden, of_a_channel = (double)m->mamba1.kernel + 1 + 1 + x.n + 1;
    p->norms += (1 + (m->post_norms ? 1 : 0)) * tsim_count_norm(m) + (m->mamba1.norms ? vectors(&x) : 0);
    p->attention = h * 2 * x.d + x.d * (vectors(&x) + x.r + of_a_channel) + x.d * h;
}

static double core_flops(const struct tsim_model *m, double length) {
    (void)m, (void)length;
    return 0;
}

static void add_matrices(const struct tsim_model *m, double times, struct tsim_matrices *matrices) {
    struct scan x = scan_of(m, 1);
    tsim_matrices_add(matrices, times, (double)m->hidden, 2 * x.d, true);
    tsim_matrices_add(matrices, times, x.d, vectors(&x), true);
    tsim_matrices_add(matrices, times, x.r, x.d, true);
    tsim_matrices_add(matrices, times, x.d, (double)m->hidden, true);
}

const struct tsim_mixer tsim_mamba1_mixer = {.forward = forward,
                                             .backward = backward,
                                             .keep = keep,
                                             .keep_core = tsim_keep_nothing,
                                             .waiting = waiting,
                                             .widest_bytes = widest_bytes,
                                             .count = count,
                                             .core_flops = core_flops,
                                             .add_matrices = add_matrices,
                                             .adapter_parameters = adapter_parameters,
                                             .state_bytes = state_bytes};
