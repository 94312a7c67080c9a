/* Heads of attention and heads of Mamba-2 side by side (Falcon-H1; Zuo et al. 2025, arXiv:2507.22448, section 2.1;
 * transformers, models/falcon_h1/modeling_falcon_h1.py, FalconH1DecoderLayer). Both take the result of one norm, which tensor
 * ranks gather once; their results are added before they are reduced once. Backward the gradients of their input are. A
 * token behind others meets the keys and values of all of them, and the state. */
#include "model/recurrent.h"

static void fit(struct tsim_op_shape *z) {
    z->sums_later = true;
}

static void forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct tsim_recurrent x = tsim_mamba_of(z->model, z->tp);
    tsim_op_attention_forward(list, z);
    tsim_recurrent_inner_forward(list, z, &x);
    elementwise(list, "heads side by side, add", z->t * z->h, 3 * z->element_bytes, 1);
    tsim_op_reduce_output(list, z, x.reduce);
    tsim_op_norm_behind_forward(list, z, "norm 1, behind");
    tsim_op_residual_forward(list, z, "residual 1", !z->is_alone);
}

static void backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct tsim_recurrent x = tsim_mamba_of(z->model, z->tp);
    tsim_op_residual_backward(list, z, "residual 1");
    tsim_op_norm_behind_backward(list, z, "norm 1, behind");
    tsim_recurrent_inner_backward(list, z, &x, true);
    elementwise(list, "gradients of heads side by side, add", z->t * z->h, 3 * z->element_bytes, 1);
    tsim_op_attention_backward(list, z);
}

static void keep(const struct tsim_op_shape *z, unsigned parts, struct tsim_kept *kept) {
    struct tsim_recurrent x = tsim_mamba_of(z->model, z->tp);
    tsim_keep_attention(z, parts, kept);
    struct tsim_recurrent_adapters of = tsim_recurrent_adapters(z, x.columns, x.result);
    tsim_recurrent_inner_keep(z, &x, kept);
    tsim_keep(kept, "recurrence: adapters", tsim_adapters_kept_bytes(z, of.in) + tsim_adapters_kept_bytes(z, of.out));
}

static double waiting(const struct tsim_op_shape *z) {
    struct tsim_recurrent x = tsim_mamba_of(z->model, z->tp);
    return tsim_attention_waiting(z) + z->t * (x.result + x.columns);
}

static void count(const struct tsim_model *m, struct tsim_layer_parameters *p) {
    struct tsim_layer_parameters beside = {0};
    tsim_count_attention(m, p);
    tsim_mamba_mixer.count(m, &beside);
    p->attention += beside.attention;
}

static double core_flops(const struct tsim_model *m, double length) {
    return tsim_attention_mixer.core_flops(m, length) + tsim_mamba_mixer.core_flops(m, length);
}

static double widest_bytes(const struct tsim_op_shape *z) {
    return tsim_mamba_mixer.widest_bytes(z);
}

static void add_matrices(const struct tsim_model *m, double times, struct tsim_matrices *matrices) {
    tsim_attention_mixer.add_matrices(m, times, matrices);
    tsim_mamba_mixer.add_matrices(m, times, matrices);
}

static double adapter_parameters(const struct tsim_op_shape *z) {
    return tsim_attention_adapter_parameters(z) + tsim_mamba_mixer.adapter_parameters(z);
}

static double state_bytes(const struct tsim_op_shape *z) {
    return z->tk * tsim_cached_width(z) * z->element_bytes + tsim_mamba_mixer.state_bytes(z);
}

const struct tsim_mixer tsim_beside_mixer = {.fit = fit,
                                             .forward = forward,
                                             .backward = backward,
                                             .keep = keep,
                                             .keep_core = tsim_keep_core,
                                             .waiting = waiting,
                                             .widest_bytes = widest_bytes,
                                             .count = count,
                                             .core_flops = core_flops,
                                             .add_matrices = add_matrices,
                                             .adapter_parameters = adapter_parameters,
                                             .state_bytes = state_bytes};
