/* The lists are written in the order of execution, with bytes per element spelled out:
 *   bf16/fp16 activations are E = 2 bytes, dropout masks 1 byte, fp32 is 4 bytes.
 * Symbols: t tokens of the micro-batch on this context rank (b*s/cp), ts the tokens that norms, dropout and residuals
 * see (t/tp with sequence parallelism, else t), h hidden, q = heads*head_dim/tp, kv = kv_heads*head_dim/tp (at least
 * one head), f = ffn_hidden/tp. */
#include "workload/operators.h"

#include <math.h>
#include <string.h>

struct shape {
    const struct tsim_scenario *scenario;
    const struct tsim_model *model;
    const struct tsim_software *software;
    double tp, cp, b, s, t, ts, h, q, kv, f, vocab;
    double heads;         /* query heads on this rank */
    double element_bytes; /* activations */
    double mask_bytes;    /* of dropout, per element: 0 without dropout */
    enum tsim_precision attention_precision, linear_precision;
    double linear_bytes;   /* per element of a linear layer's operands */
    double gradient_bytes; /* of the buffer that weight gradients accumulate in */
    bool sequence_parallel, flash;
};

static double activation_bytes(enum tsim_precision precision) {
    return precision == TSIM_FP32 || precision == TSIM_TF32 ? 4 : 2;
}

double tsim_padded_vocab_per_rank(const struct tsim_scenario *scenario) {
    double tp = (double)scenario->parallelism.tensor, step = 128 * tp;
    return ceil((double)scenario->model->vocab / step) * step / tp;
}

static struct shape shape_of(const struct tsim_scenario *sc) {
    const struct tsim_model *m = sc->model;
    struct shape z = {.scenario = sc, .model = m, .software = sc->software};
    z.tp = (double)sc->parallelism.tensor;
    z.cp = (double)sc->parallelism.context;
    z.b = (double)sc->training.micro_batch_size;
    z.s = (double)sc->training.sequence_length;
    z.t = z.b * z.s / z.cp;
    z.sequence_parallel = sc->parallelism.sequence && z.tp > 1;
    z.ts = z.sequence_parallel ? z.t / z.tp : z.t;
    z.h = (double)m->hidden;
    z.heads = (double)m->heads / z.tp;
    z.q = z.heads * (double)m->head_dim;
    z.kv = fmax((double)m->kv_heads / z.tp, 1) * (double)m->head_dim;
    z.f = (double)m->ffn_hidden / z.tp;
    z.vocab = tsim_padded_vocab_per_rank(sc);
    z.element_bytes = activation_bytes(sc->training.precision);
    z.mask_bytes = sc->software->dropout > 0 ? 1 : 0;
    z.linear_precision = sc->training.precision;
    z.attention_precision = sc->training.precision == TSIM_FP8 ? TSIM_BF16 : sc->training.precision;
    z.linear_bytes = sc->training.precision == TSIM_FP8 ? 1 : z.element_bytes;
    z.gradient_bytes = sc->training.gradient_precision == TSIM_FP32 ? 4 : 2;
    z.flash = sc->training.attention == TSIM_ATTENTION_FLASH;
    return z;
}

static struct tsim_op *add(struct tsim_op_list *list, const char *name, enum tsim_op_kind kind) {
    TSIM_ASSERT(list->n < TSIM_MAX_OPS);
    struct tsim_op *op = &list->ops[list->n++];
    memset(op, 0, sizeof *op);
    op->name = name;
    op->kind = kind;
    op->kernels = 1;
    op->batch = 1;
    return op;
}

static struct tsim_op *elementwise(struct tsim_op_list *list, const char *name, double elements,
                                   double bytes_per_element, double kernels) {
    struct tsim_op *op = add(list, name, TSIM_OP_ELEMENTWISE);
    op->bytes = elements * bytes_per_element;
    op->kernels = kernels;
    return op;
}

static struct tsim_op *gemm(struct tsim_op_list *list, const char *name, enum tsim_precision precision, double m,
                            double n, double k, double operand_bytes, double result_bytes) {
    struct tsim_op *op = add(list, name, TSIM_OP_GEMM);
    op->precision = precision;
    op->m = m;
    op->n = n;
    op->k = k;
    op->flops = 2 * m * n * k;
    op->bytes = operand_bytes * (m * k + k * n) + result_bytes * m * n;
    return op;
}

static struct tsim_op *batched(struct tsim_op *op, double batch) {
    op->batch = batch;
    op->flops *= batch;
    op->bytes *= batch;
    return op;
}

static struct tsim_op *tensor_collective(struct tsim_op_list *list, const struct shape *z, const char *name,
                                         enum tsim_op_collective collective, double bytes_per_element,
                                         enum tsim_op_overlap overlap) {
    struct tsim_op *op = add(list, name, TSIM_OP_COLLECTIVE);
    op->collective = collective;
    op->axis = TSIM_AXIS_TENSOR;
    op->collective_bytes = z->t * z->h * bytes_per_element;
    op->overlap = overlap;
    return op;
}

/* fp8 linear layers quantize their operand: read 2 bytes, write 1, and 1 transposed for the weight gradient. */
static void cast(struct tsim_op_list *list, const struct shape *z, const char *name, double elements) {
    if (z->linear_precision == TSIM_FP8)
        elementwise(list, name, elements, 4, 1);
}

/* ---- forward ---- */

/* Before a column-parallel product: with sequence parallelism the tokens are gathered. */
static void gather_input(struct tsim_op_list *list, const struct shape *z, const char *name) {
    if (z->sequence_parallel)
        tensor_collective(list, z, name, TSIM_OP_ALL_GATHER, z->linear_bytes,
                          z->scenario->parallelism.overlap.tensor ? TSIM_PIPELINED_NEXT : TSIM_EXPOSED);
}

/* After a row-parallel product: partial sums are reduced, onto token shards with sequence parallelism. */
static struct tsim_op *reduce_output(struct tsim_op_list *list, const struct shape *z, const char *name) {
    if (z->tp == 1)
        return NULL;
    return tensor_collective(
        list, z, name, z->sequence_parallel ? TSIM_OP_REDUCE_SCATTER : TSIM_OP_ALL_REDUCE, z->element_bytes,
        z->scenario->parallelism.overlap.tensor && z->sequence_parallel ? TSIM_PIPELINED_PREVIOUS : TSIM_EXPOSED);
}

static void norm_forward(struct tsim_op_list *list, const struct shape *z, const char *name) {
    double e = z->element_bytes;
    /* Unfused RMS norm as frameworks write it out: square, mean, scale, multiply in fp32. */
    bool written_out = z->model->norm == TSIM_NORM_RMSNORM && z->software->fusion == TSIM_FUSION_NONE;
    elementwise(list, name, z->ts * z->h, written_out ? 4 * e + 16 : 2 * e, written_out ? 4 : 1);
}

static void residual_forward(struct tsim_op_list *list, const struct shape *z, const char *name) {
    double e = z->element_bytes, mask = z->mask_bytes, elements = z->ts * z->h;
    if (z->software->fusion == TSIM_FUSION_NONE && mask > 0)
        elementwise(list, name, elements, (2 * e + mask) + 3 * e, 2); /* dropout, then add */
    else
        elementwise(list, name, elements, 3 * e + mask, 1); /* read both, write one (and the mask) */
}

/* Standard attention materializes the scores: what each pass over them moves, per score. */
static double softmax_forward_bytes(const struct shape *z) {
    double e = z->element_bytes;
    if (z->software->attention_kernel == TSIM_ATTENTION_UNFUSED)
        return 2 * e + (2 * e + 1) + (e + 4) + 8 + (4 + e); /* scale, mask, to fp32, softmax, back */
    /* Scale, mask and softmax in one kernel; a causal one reads the lower triangle alone and writes the square
     * (Megatron-LM, scaled_upper_triang_masked_softmax.h). */
    return (z->model->causal ? 1.5 : 2) * e;
}

static void core_attention_forward(struct tsim_op_list *list, const struct shape *z) {
    double d = (double)z->model->head_dim, e = z->element_bytes, e2 = z->mask_bytes;
    int32_t first = list->n;
    if (z->cp > 1) {
        struct tsim_op *ring = add(list, "context: keys and values", TSIM_OP_COLLECTIVE);
        ring->collective = TSIM_OP_RING_EXCHANGE;
        ring->axis = TSIM_AXIS_CONTEXT;
        ring->collective_bytes = (z->cp - 1) * z->t * 2 * z->kv * e;
        ring->overlap = TSIM_CONCURRENT_NEXT;
    }
    if (z->flash) {
        struct tsim_op *op = add(list, "attention core", TSIM_OP_FLASH);
        op->precision = z->attention_precision;
        op->sequence = z->s;
        op->head_dim = d;
        op->causal = z->model->causal;
        op->flops = 4 * z->t * z->s * z->q * (op->causal ? 0.5 : 1);
        op->bytes = z->t * (2 * z->q + 2 * z->kv) * e;
        op->kernels = z->cp;
    } else {
        double scores = z->t * z->s * z->heads;
        batched(gemm(list, "attention scores", z->attention_precision, z->s / z->cp, z->s, d, e, e), z->b * z->heads);
        elementwise(list, "attention softmax", scores, softmax_forward_bytes(z),
                    z->software->attention_kernel == TSIM_ATTENTION_UNFUSED ? 5 : 1);
        if (e2 > 0)
            elementwise(list, "attention dropout", scores, 2 * e + e2, 1);
        batched(gemm(list, "attention values", z->attention_precision, z->s / z->cp, d, z->s, e, e), z->b * z->heads);
    }
    for (int32_t i = first; i < list->n; i++)
        list->ops[i].is_core_attention = true;
}

static void rotary(struct tsim_op_list *list, const struct shape *z, const char *name) {
    if (z->model->position != TSIM_POSITION_ROPE)
        return;
    /* Written out: two products, a rotation (a copy) and a sum, each a pass; fused: one pass. */
    bool fused = z->software->fusion == TSIM_FUSION_TE || z->software->fusion == TSIM_FUSION_COMPILE;
    elementwise(list, name, z->t * (z->q + z->kv), (fused ? 2 : 9) * z->element_bytes, fused ? 1 : 4);
}

static double activation_forward_bytes(const struct shape *z) {
    double e = z->element_bytes;
    if (!z->model->gated_mlp)
        return 2 * e;
    return z->software->fusion == TSIM_FUSION_NONE ? 2 * e + 3 * e : 3 * e; /* gate, then product; or both at once */
}

static void layer_forward(struct tsim_op_list *list, const struct shape *z) {
    double e = z->element_bytes, le = z->linear_bytes, up = z->model->gated_mlp ? 2 : 1;
    norm_forward(list, z, "norm 1");
    gather_input(list, z, "tensor: gather, attention");
    gemm(list, "attention qkv", z->linear_precision, z->t, z->q + 2 * z->kv, z->h, le, e);
    rotary(list, z, "rotary");
    core_attention_forward(list, z);
    cast(list, z, "cast", z->t * z->q);
    gemm(list, "attention output", z->linear_precision, z->t, z->h, z->q, le, e);
    reduce_output(list, z, "tensor: reduce, attention");
    residual_forward(list, z, "residual 1");
    norm_forward(list, z, "norm 2");
    gather_input(list, z, "tensor: gather, ffn");
    gemm(list, "ffn up", z->linear_precision, z->t, up * z->f, z->h, le, e);
    elementwise(list, "activation", z->t * z->f, activation_forward_bytes(z),
                z->model->gated_mlp && z->software->fusion == TSIM_FUSION_NONE ? 2 : 1);
    gemm(list, "ffn down", z->linear_precision, z->t, z->h, z->f, le, e)->is_last_projection = true;
    struct tsim_op *reduce = reduce_output(list, z, "tensor: reduce, ffn");
    if (reduce)
        reduce->is_last_projection = true;
    residual_forward(list, z, "residual 2");
    list->ops[list->n - 1].is_last_projection = true;
}

static void embedding_forward(struct tsim_op_list *list, const struct shape *z) {
    double e = z->element_bytes;
    elementwise(list, "embedding", z->t * z->h, 2 * e, 1);
    struct tsim_op *reduce = reduce_output(list, z, "tensor: reduce, embedding");
    if (reduce)
        reduce->overlap = TSIM_EXPOSED;
    if (z->model->position == TSIM_POSITION_LEARNED)
        elementwise(list, "positions", z->ts * z->h, 3 * e, 1);
    if (z->mask_bytes > 0)
        elementwise(list, "embedding dropout", z->ts * z->h, 2 * e + z->mask_bytes, 1);
}

/* Cross-entropy over the vocabulary, bytes per logit. Written out in fp32 (PyTorch): convert 2+4, log-softmax 4+4+4
 * read twice, loss; vocabulary-parallel as Megatron: convert 2+4, maximum 4, subtract 8, exponential 8, sum 4, divide
 * 8; fused (Transformer Engine, Liger): one read and one write in place. Backward likewise. */
static double loss_bytes(const struct shape *z, bool backward) {
    double e = z->element_bytes, convert = e < 4 ? e + 4 : 0;
    if (z->software->fusion == TSIM_FUSION_TE)
        return backward ? 2 * e : 2 * e;
    if (z->software->fusion == TSIM_FUSION_MEGATRON)
        return backward ? 8 + convert : convert + 32;
    return backward ? 12 + convert : convert + 12;
}

/* The head keeps the attention's precision where linear layers run in fp8. */
static struct shape head_shape(const struct shape *z) {
    struct shape head = *z;
    head.linear_precision = z->attention_precision;
    head.linear_bytes = z->element_bytes;
    return head;
}

static void head_forward(struct tsim_op_list *list, const struct shape *z) {
    double e = z->element_bytes;
    struct shape head = head_shape(z);
    norm_forward(list, z, "final norm");
    gather_input(list, &head, "tensor: gather, head");
    gemm(list, "head", z->attention_precision, z->t, z->vocab, z->h, e, e);
    elementwise(list, "loss", z->t * z->vocab, loss_bytes(z, false), z->software->fusion == TSIM_FUSION_TE ? 1 : 6);
}

/* ---- backward ---- */

/* Product y = x W of t x k by k x n: dx = dy W^T and dW = x^T dy, accumulated into the gradient buffer. Column-parallel
 * (reduces dx over the tensor group) or row-parallel (gathers dy with sequence parallelism). */
static void linear_backward(struct tsim_op_list *list, const struct shape *z, const char *input_name,
                            const char *weight_name, double n, double k, bool column_parallel, const char *gather_name,
                            const char *reduce_name) {
    const struct tsim_overlap *overlap = &z->scenario->parallelism.overlap;
    double e = z->element_bytes, le = z->linear_bytes;
    bool parallel = z->tp > 1, asynchronous = overlap->tensor_backward || overlap->tensor;
    if (parallel && z->sequence_parallel)
        /* Column: x was kept as shards and is gathered again for dW. Row: dy arrives as shards. */
        tensor_collective(list, z, gather_name, TSIM_OP_ALL_GATHER, le,
                          column_parallel ? (asynchronous ? TSIM_CONCURRENT_NEXT : TSIM_EXPOSED)
                                          : (overlap->tensor ? TSIM_PIPELINED_NEXT : TSIM_EXPOSED));
    cast(list, z, "cast, gradient", z->t * n);
    gemm(list, input_name, z->linear_precision, z->t, k, n, le, e);
    if (parallel && column_parallel)
        tensor_collective(list, z, reduce_name, z->sequence_parallel ? TSIM_OP_REDUCE_SCATTER : TSIM_OP_ALL_REDUCE, e,
                          asynchronous ? TSIM_CONCURRENT_NEXT : TSIM_EXPOSED);
    /* The buffer is read and written by the fused accumulation; unfused, the product is written and added: more. */
    struct tsim_op *weight = gemm(list, weight_name, z->linear_precision, n, k, z->t, le, 2 * z->gradient_bytes);
    weight->is_weight_gradient = true;
    if (z->software->fusion == TSIM_FUSION_NONE || z->software->fusion == TSIM_FUSION_COMPILE)
        weight->bytes += 2 * e * n * k;
    if (z->model->bias)
        elementwise(list, "bias gradient", z->t * n, e, 1)->is_weight_gradient = true;
}

static void norm_backward(struct tsim_op_list *list, const struct shape *z, const char *name) {
    double e = z->element_bytes;
    bool written_out = z->model->norm == TSIM_NORM_RMSNORM && z->software->fusion == TSIM_FUSION_NONE;
    /* dx from dy and x; the scale's gradient is a second pass over both; the residual's gradient is added. */
    elementwise(list, name, z->ts * z->h, written_out ? 8 * e + 24 : 3 * e + 2 * e, written_out ? 8 : 2);
    elementwise(list, "residual gradient", z->ts * z->h, 3 * e, 1);
}

static void residual_backward(struct tsim_op_list *list, const struct shape *z, const char *name) {
    if (z->mask_bytes > 0)
        elementwise(list, name, z->ts * z->h, 2 * z->element_bytes + z->mask_bytes, 1);
}

static void core_attention_backward(struct tsim_op_list *list, const struct shape *z) {
    double d = (double)z->model->head_dim, e = z->element_bytes, sq = z->s / z->cp, products = z->b * z->heads;
    enum tsim_precision precision = z->attention_precision;
    if (z->cp > 1) {
        struct tsim_op *ring = add(list, "context: keys, values and their gradients", TSIM_OP_COLLECTIVE);
        ring->collective = TSIM_OP_RING_EXCHANGE;
        ring->axis = TSIM_AXIS_CONTEXT;
        ring->collective_bytes = (z->cp - 1) * z->t * 2 * z->kv * 2 * e;
        ring->overlap = TSIM_CONCURRENT_NEXT;
    }
    if (z->flash) {
        struct tsim_op *op = add(list, "attention core", TSIM_OP_FLASH);
        op->precision = precision;
        op->sequence = z->s;
        op->head_dim = d;
        op->causal = z->model->causal;
        op->flops = 2.5 * 4 * z->t * z->s * z->q * (op->causal ? 0.5 : 1);
        op->bytes = z->t * (5 * z->q + 4 * z->kv) * e;
        op->kernels = 2 * z->cp;
        return;
    }
    double scores = z->t * z->s * z->heads;
    batched(gemm(list, "attention values, dP", precision, sq, z->s, d, e, e), products);
    batched(gemm(list, "attention values, dV", precision, z->s, d, sq, e, e), products);
    if (z->mask_bytes > 0)
        elementwise(list, "attention dropout", scores, 2 * e + z->mask_bytes, 1);
    bool unfused = z->software->attention_kernel == TSIM_ATTENTION_UNFUSED;
    elementwise(list, "attention softmax", scores,
                unfused ? (e + 4) + 12 + (4 + e) + (2 * e + 1) + 2 * e : (z->model->causal ? 2 : 3) * e,
                unfused ? 5 : 1);
    batched(gemm(list, "attention scores, dQ", precision, sq, d, z->s, e, e), products);
    batched(gemm(list, "attention scores, dK", precision, z->s, d, sq, e, e), products);
}

static double activation_backward_bytes(const struct shape *z) {
    double e = z->element_bytes;
    if (!z->model->gated_mlp)
        return 3 * e;
    return z->software->fusion == TSIM_FUSION_NONE ? 8 * e : 5 * e;
}

static void layer_backward(struct tsim_op_list *list, const struct shape *z) {
    double up = z->model->gated_mlp ? 2 : 1;
    residual_backward(list, z, "residual 2");
    linear_backward(list, z, "ffn down, input", "ffn down, weight", z->h, z->f, false, "tensor: gather, ffn", NULL);
    elementwise(list, "activation", z->t * z->f, activation_backward_bytes(z),
                z->model->gated_mlp && z->software->fusion == TSIM_FUSION_NONE ? 3 : 1);
    linear_backward(list, z, "ffn up, input", "ffn up, weight", up * z->f, z->h, true, "tensor: gather input, ffn",
                    "tensor: reduce, ffn");
    norm_backward(list, z, "norm 2");
    residual_backward(list, z, "residual 1");
    linear_backward(list, z, "attention output, input", "attention output, weight", z->h, z->q, false,
                    "tensor: gather, attention", NULL);
    core_attention_backward(list, z);
    rotary(list, z, "rotary");
    linear_backward(list, z, "attention qkv, input", "attention qkv, weight", z->q + 2 * z->kv, z->h, true,
                    "tensor: gather input, attention", "tensor: reduce, attention");
    norm_backward(list, z, "norm 1");
}

static void embedding_backward(struct tsim_op_list *list, const struct shape *z) {
    if (z->mask_bytes > 0)
        elementwise(list, "embedding dropout", z->ts * z->h, 2 * z->element_bytes + z->mask_bytes, 1);
    if (z->sequence_parallel)
        tensor_collective(list, z, "tensor: gather, embedding", TSIM_OP_ALL_GATHER, z->element_bytes, TSIM_EXPOSED);
    /* Rows are sorted and added into the table's gradient. */
    elementwise(list, "embedding", z->t * z->h, z->element_bytes + 2 * z->gradient_bytes, 3)->is_weight_gradient = true;
}

static void head_backward(struct tsim_op_list *list, const struct shape *z) {
    struct shape head = head_shape(z);
    elementwise(list, "loss", z->t * z->vocab, loss_bytes(z, true), z->software->fusion == TSIM_FUSION_TE ? 1 : 3);
    linear_backward(list, &head, "head, input", "head, weight", z->vocab, z->h, true, "tensor: gather input, head",
                    "tensor: reduce, head");
    norm_backward(list, z, "final norm");
}

void tsim_operators_forward(const struct tsim_scenario *scenario, enum tsim_part part, struct tsim_op_list *list) {
    struct shape z = shape_of(scenario);
    list->n = 0;
    switch (part) {
    case TSIM_PART_EMBEDDING:
        embedding_forward(list, &z);
        break;
    case TSIM_PART_LAYER:
        layer_forward(list, &z);
        break;
    case TSIM_PART_HEAD:
        head_forward(list, &z);
        break;
    }
}

void tsim_operators_backward(const struct tsim_scenario *scenario, enum tsim_part part, struct tsim_op_list *list) {
    struct shape z = shape_of(scenario);
    list->n = 0;
    switch (part) {
    case TSIM_PART_EMBEDDING:
        embedding_backward(list, &z);
        break;
    case TSIM_PART_LAYER:
        layer_backward(list, &z);
        break;
    case TSIM_PART_HEAD:
        head_backward(list, &z);
        break;
    }
}
