/* Mamba-2 in place of attention (Dao and Gu 2024, arXiv:2405.21060, section 6), and mixers and feed-forward blocks that stand
 * alone. Symbols beside those of local_shape.c, per tensor rank: d channels (heads x their width), g groups, n state, H
 * heads, p their width, Q tokens of a chunk.
 *
 * Forward: a product to 2 d + 2 g n + H columns (gate, input, what writes and reads the state, step sizes), a short convolution of d +
 * 2 g n channels, the recurrence in chunks, a norm with the gate, and a product back. The recurrence is products: scores of a
 * chunk Q x Q for each group (2 Q n), times the input (2 Q p), each chunk's state (2 n p) and what it gives to the next
 * (2 n p), all for each token and group or head; states pass from chunk to chunk in fp32. Kernels: mamba_ssm,
 * ops/triton/ssd_combined.py. Backward each product has two of its size.
 *
 * A token behind others reads and writes the state of each head, n x p, and of the convolution in one kernel, in the precision of
 * activations (mamba_ssm, modules/mamba2.py: step; ops/triton/selective_state_update.py). */
#include "model/recurrent.h"

#include <math.h>

struct mamba {
    double d, g, n, heads, p, chunk;
};

static struct mamba mamba_of(const struct tsim_model *m, double tp) {
    const struct tsim_mamba *a = &m->mamba;
    return (struct mamba){.d = (double)(a->heads * a->head_dim) / tp,
                          .g = fmax((double)a->groups / tp, 1),
                          .n = (double)a->state,
                          .heads = (double)a->heads / tp,
                          .p = (double)a->head_dim,
                          .chunk = (double)a->chunk};
}

static double state_bytes(const struct tsim_op_shape *z) {
    struct mamba x = mamba_of(z->model, z->tp);
    double convolved = x.d + 2 * x.g * x.n, earlier = (double)z->model->mamba.kernel - 1;
    return z->b * (x.heads * x.n * x.p + convolved * earlier) * z->element_bytes;
}

static void recurrence(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct mamba x = mamba_of(z->model, z->tp);
    if (z->scenario->cached_tokens > 0) {
        elementwise(list, "Mamba state", state_bytes(z), 2, 1); /* each byte in and out */
        return;
    }
    double e = z->element_bytes, q = fmin(x.chunk, z->s), chunks = z->t / q;
    enum tsim_precision precision = z->attention_precision;
    batched(gemm(list, "Mamba scores", precision, q, q, x.n, e, e), chunks * x.g);
    batched(gemm(list, "Mamba values", precision, q, x.p, q, e, e), chunks * x.heads);
    batched(gemm(list, "Mamba states", precision, x.n, x.p, q, e, 4), chunks * x.heads);
    batched(gemm(list, "Mamba outputs", precision, q, x.p, x.n, e, e), chunks * x.heads);
    elementwise(list, "Mamba states, passed on", chunks * x.heads * x.n * x.p, 2 * 4, 1);
}

struct tsim_recurrent tsim_mamba_of(const struct tsim_model *m, double tp) {
    struct mamba x = mamba_of(m, tp);
    double convolved = x.d + 2 * x.g * x.n;
    return (struct tsim_recurrent){.columns = x.d + convolved + x.heads,
                                   .convolved = convolved,
                                   .result = x.d,
                                   .recurrence = recurrence,
                                   .in = "Mamba in",
                                   .in_input = "Mamba in, input",
                                   .in_weight = "Mamba in, weight",
                                   .convolution = "Mamba convolution",
                                   .norm = "Mamba norm and gate",
                                   .out = "Mamba out",
                                   .out_input = "Mamba out, input",
                                   .out_weight = "Mamba out, weight",
                                   .gather = "tensor: gather, Mamba",
                                   .gather_input = "tensor: gather input, Mamba",
                                   .reduce = "tensor: reduce, Mamba",
                                   .kept_vectors = "Mamba: gate, input, state vectors",
                                   .kept_result = "Mamba: result"};
}

static void count(const struct tsim_model *m, struct tsim_layer_parameters *p) {
    struct tsim_recurrent x = tsim_mamba_of(m, 1);
    double h = (double)m->hidden, of_a_head = 3; /* step's bias, decay, and what goes past the state */
    p->norms += (1 + (m->post_norms ? 1 : 0)) * tsim_count_norm(m);
    p->attention = h * x.columns + x.convolved * ((double)m->mamba.kernel + 1) + of_a_head * (double)m->mamba.heads +
                   (m->mamba.plain_gate ? 0 : x.result) + x.result * h;
}

/* Counts what is executed: scores, values, states and outputs. */
static double core_flops(const struct tsim_model *m, double length) {
    struct mamba x = mamba_of(m, 1);
    return 2 * fmin(x.chunk, length) * (x.g * x.n + x.d) + 4 * x.n * x.d;
}

TSIM_RECURRENT_MIXER(tsim_mamba_mixer, tsim_mamba_of);

/* ---- none ---- */

static void execute_nothing(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    (void)list, (void)z;
}

static double nothing(const struct tsim_op_shape *z) {
    (void)z;
    return 0;
}

static void count_nothing(const struct tsim_model *m, struct tsim_layer_parameters *p) {
    (void)m, (void)p;
}

static double no_core_flops(const struct tsim_model *m, double length) {
    (void)m, (void)length;
    return 0;
}

static void add_no_matrices(const struct tsim_model *m, double times, struct tsim_matrices *matrices) {
    (void)m, (void)times, (void)matrices;
}

/* A feed-forward block alone keeps the inputs of its norm and of its first product; otherwise the mixers do. */
static void keep_inputs(const struct tsim_op_shape *z, unsigned parts, struct tsim_kept *kept) {
    tsim_keep(kept, "inputs of the norms", z->ts * z->h * z->element_bytes);
    if (!(parts & TSIM_RECOMPUTE_NORMS) && tsim_keeps_input(z, tsim_adapters_of(z, TSIM_PRODUCT_UP)))
        tsim_keep(kept, "inputs of the blocks", z->ts * z->h * z->linear_bytes);
    tsim_keep(kept, "masks of dropout", z->ts * z->h * z->mask_bytes);
}

const struct tsim_mixer tsim_no_mixer = {.forward = execute_nothing,
                                         .backward = execute_nothing,
                                         .keep = keep_inputs,
                                         .keep_core = tsim_keep_nothing,
                                         .waiting = nothing,
                                         .count = count_nothing,
                                         .core_flops = no_core_flops,
                                         .add_matrices = add_no_matrices,
                                         .adapter_parameters = nothing,
                                         .state_bytes = nothing};

const struct tsim_feed_forward tsim_no_feed_forward = {.forward = execute_nothing,
                                                       .backward = execute_nothing,
                                                       .keep = tsim_keep_nothing,
                                                       .waiting = nothing,
                                                       .widest_bytes = nothing,
                                                       .count = count_nothing,
                                                       .add_matrices = add_no_matrices};
