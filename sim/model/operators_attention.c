#include "model/kept.h"
#include "model/local_shape.h"
#include "model/matrices.h"
#include "model/operator_builders.h"

#include <math.h>

/* Standard attention writes the scores to memory. These return the bytes that the passes over them move, per score. */
static double softmax_forward_bytes(const struct tsim_op_shape *z) {
    double e = z->element_bytes;
    if (z->software->attention_kernel == TSIM_ATTENTION_UNFUSED)
        return 2 * e + (2 * e + 1) + (e + 4) + 8 + (4 + e); /* scale, mask, to fp32, softmax, back */
    /* Scale, mask and softmax are one kernel; a causal one reads only the lower triangle and writes the square
     * (Megatron-LM, scaled_upper_triang_masked_softmax.h). */
    return (z->causal ? 1.5 : 2) * e;
}

/* Returns the bytes of a learned bias of each score, which is the same for all samples of the micro-batch. */
static double bias_bytes(const struct tsim_op_shape *z, double bytes_per_score) {
    return z->is_biased ? z->s / z->cp * z->sk * z->heads * bytes_per_score : 0;
}

/* Returns the part of the square of scores on which a flash kernel works: half if tokens attend to earlier ones. In a
 * window of w tokens, itself included, the first w - 1 of s tokens meet fewer: w (1 - w / 2s) of s keys in the mean. In
 * a window to both sides the tokens at both ends do: w (1 - w / 4s). Within a chunk of w the mean is half. */
static double scores_frac(const struct tsim_op_shape *z) {
    double frac = z->window / z->sk;
    if (z->window == 0)
        return z->causal ? 0.5 : 1;
    if (z->is_chunk)
        return z->causal ? 0.5 * frac : frac;
    return frac * (1 - frac / (z->causal ? 2 : 4));
}

/* Sets the keys of a flash kernel; chunks are short sequences. */
static void set_keys(const struct tsim_op_shape *z, struct tsim_op *op) {
    op->sequence = z->window > 0 ? z->window : z->sk;
    op->window_keys = z->window > 0 && !z->is_chunk ? z->sk * scores_frac(z) : 0;
}

/* Adds the core for few queries that meet a cache of keys and values. Latent attention meets the latent vectors as they
 * are: the projection up of keys goes to the queries, and that of values to the result, with as many FLOPs
 * (DeepSeek-V2, section 2.1.2). */
static void core_of_cache(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    const struct tsim_latent *latent = &z->model->latent;
    bool is_latent = latent->kv_rank > 0;
    double query = is_latent ? z->heads * (double)(latent->kv_rank + latent->rope_dim) : z->query,
           result = is_latent ? z->heads * (double)latent->kv_rank : z->q;
    struct tsim_op *op = add(list, "attention core", TSIM_OP_FLASH);
    op->precision = z->attention_precision;
    set_keys(z, op);
    op->head_dim = (query + result) / (2 * z->heads);
    op->queries = z->t * z->heads;
    op->flops = 2 * z->t * z->sk * (query + result);
    op->bytes = (z->t * (query + result) + z->tk * tsim_cached_width(z)) * attention_bytes(z);
    op->pieces = op->kernels = 1;
}

void tsim_op_core_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double d = (double)z->model->head_dim, dk = tsim_model_key_dim(z->model), e = z->element_bytes, e2 = z->mask_bytes;
    int32_t first = list->n;
    if (z->scenario->cached_tokens > 0) {
        core_of_cache(list, z);
        return;
    }
    tsim_op_context_before_forward(list, z);
    if (z->flash) {
        struct tsim_op *op = add(list, "attention core", TSIM_OP_FLASH);
        op->precision = z->attention_precision;
        set_keys(z, op);
        op->head_dim = (dk + d) / 2;
        op->is_fp8 = attends_in_fp8(z);
        op->queries = z->t * z->heads;
        op->causal = z->causal;
        op->flops = 2 * z->t * z->sk * (z->query + z->q) * scores_frac(z);
        op->bytes = (z->t * (z->query + z->q) + z->tk * (z->key + z->value)) * attention_bytes(z) + bias_bytes(z, e);
        op->pieces = op->kernels = tsim_op_ring_pieces(z);
    } else {
        double scores = z->t * z->sk * z->heads;
        batched(gemm(list, "attention scores", z->attention_precision, z->s / z->cp, z->sk, dk, e, e), z->b * z->heads);
        if (z->is_biased)
            elementwise(list, "attention bias", 1, scores * 2 * e + bias_bytes(z, e), 1);
        /* ALiBi's bias of each position is written out for all scores, and read by the product that adds to it
         * (torch.baddbmm with beta: bigscience-workshop/Megatron-DeepSpeed, megatron/model/transformer.py). */
        if (z->model->position == TSIM_POSITION_ALIBI)
            elementwise(list, "attention bias", scores, 2 * e, 1);
        elementwise(list, "attention softmax", scores, softmax_forward_bytes(z),
                    z->software->attention_kernel == TSIM_ATTENTION_UNFUSED ? 5 : 1);
        if (e2 > 0)
            elementwise(list, "attention dropout", scores, 2 * e + e2, 1);
        batched(gemm(list, "attention values", z->attention_precision, z->s / z->cp, d, z->sk, e, e), z->b * z->heads);
    }
    tsim_op_context_after_forward(list, z);
    mark_part(list, first, TSIM_RECOMPUTE_ATTENTION);
}

/* Adds the gradients of sinks. A sink adds to the sum of each row's exponentials, in the same kernel; its gradient is a
 * sum over the rows of their two fp32 statistics. */
static void sinks_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    if (z->model->sinks && !tsim_is_frozen(z->scenario))
        elementwise(list, "attention sinks, gradient", z->t * z->heads, 2 * 4, 1)->is_weight_gradient = true;
}

/* Returns the FLOPs of a backward pass over those of a forward pass. The forward pass has two products. The backward
 * pass makes the scores again and has four more products; two kernels each make the scores and their gradients (JAX,
 * splash_attention_kernel.py: dkv and dq, unless use_fused_bwd_kernel). */
static double backward_over_forward(const struct tsim_op_shape *z) {
    return (z->software->splits_attention_backward ? 7 : 5) / 2.0;
}

void tsim_op_core_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double d = (double)z->model->head_dim, dk = tsim_model_key_dim(z->model), e = z->element_bytes;
    double sq = z->s / z->cp, products = z->b * z->heads;
    enum tsim_precision precision = z->attention_precision;
    tsim_op_context_before_backward(list, z);
    if (z->flash) {
        struct tsim_op *op = add(list, "attention core", TSIM_OP_FLASH);
        op->precision = precision;
        op->is_gradient = true;
        set_keys(z, op);
        op->head_dim = (dk + d) / 2;
        op->is_fp8 = attends_in_fp8(z);
        op->queries = z->t * z->heads;
        op->causal = z->causal;
        op->flops = backward_over_forward(z) * 2 * z->t * z->sk * (z->query + z->q) * scores_frac(z);
        double read = z->t * (z->query + z->q) + z->tk * (z->key + z->value);
        op->bytes = ((z->software->splits_attention_backward ? 2 : 1) * read + z->t * (z->query + 2 * z->q) +
                     z->tk * (z->key + z->value)) *
                        attention_bytes(z) +
                    bias_bytes(z, e + 4);
        op->pieces = tsim_op_ring_pieces(z);
        op->kernels = 2 * op->pieces;
        sinks_backward(list, z);
        tsim_op_context_after_backward(list, z);
        return;
    }
    double scores = z->t * z->sk * z->heads;
    batched(gemm(list, "attention values, dP", precision, sq, z->sk, d, e, e), products);
    batched(gemm(list, "attention values, dV", precision, z->sk, d, sq, e, e), products);
    if (z->mask_bytes > 0)
        elementwise(list, "attention dropout", scores, 2 * e + z->mask_bytes, 1);
    bool unfused = z->software->attention_kernel == TSIM_ATTENTION_UNFUSED;
    elementwise(list, "attention softmax", scores,
                unfused ? (e + 4) + 12 + (4 + e) + (2 * e + 1) + 2 * e : (z->causal ? 2 : 3) * e, unfused ? 5 : 1);
    if (z->is_biased && !tsim_is_frozen(z->scenario)) /* the bias' gradient is the sum over the samples */
        elementwise(list, "attention bias gradient", 1, scores * e + bias_bytes(z, 4), 1);
    batched(gemm(list, "attention scores, dQ", precision, sq, dk, z->sk, e, e), products);
    batched(gemm(list, "attention scores, dK", precision, z->sk, dk, sq, e, e), products);
    sinks_backward(list, z);
    tsim_op_context_after_backward(list, z);
}

/* Returns the bytes of the passes over the rotated parts, per element. Written out: two products and a half negated
 * (element by element, below), both halves joined and a sum; backward the same two and a half, each half's gradient
 * copied into zeros of the whole, both added, and added to the other product's. As complex numbers of fp32, which
 * compilers leave as they are: converted, multiplied, converted. As matrices of 2 x 2 in fp32: converted, multiplied by
 * both columns, summed, converted. */
static double rotary_bytes(const struct tsim_op_shape *z, bool is_backward) {
    double e = z->element_bytes;
    switch (z->software->rotary) {
    case TSIM_ROTARY_COMPLEX:
        return (e + 4) + (4 + 4) + (4 + e);
    case TSIM_ROTARY_MATRIX:
        return (e + 4) + (4 + 8) + (8 + 4) + (4 + e);
    case TSIM_ROTARY_BY_FUSION:
    case TSIM_ROTARY_FUSED:
        break;
    }
    return (is_backward ? 4 + 3 + 3 : 3) * e;
}

/* Adds both products, whose tables are repeated for the heads, and the negation of a half, which lies apart. */
static void rotary_element_by_element(struct tsim_op_list *list, const char *name, double elements, double e) {
    issuing(elementwise(list, name, elements, (2 + 2 + 1) * e, 3), 2.5 * elements * ISSUED_PLACES);
}

static bool joins_heads(const struct tsim_op_shape *z) {
    return z->model->latent.kv_rank > 0 && z->software->latent_heads == TSIM_LATENT_HEADS_JOINED;
}

/* Puts the heads of latent attention together with PyTorch's kernels, as modules do that follow DeepSeek's (NeMo
 * AutoModel, components/models/deepseek_v3/layers.py; Megatron-Core, transformer/multi_latent_attention.py without
 * apply_rope_fusion): cat of both parts of queries and of keys, and a contiguous copy of values. Backward, what was
 * split is joined by cat: the parts of queries, and keys with values; the gradients of the rotated part of keys are
 * summed over the heads. */
static void join_heads(struct tsim_op_list *list, const struct tsim_op_shape *z, bool is_backward) {
    double e = z->element_bytes, rotated = z->t * z->heads * (double)z->model->latent.rope_dim;
    double joined = z->t * (z->query + (is_backward ? z->key + z->value : z->key)) - (is_backward ? rotated : 0);
    if (!joins_heads(z))
        return;
    issuing(elementwise(list, "join heads", joined, 2 * e, 2), joined * ISSUED_JOINED);
    if (is_backward)
        elementwise(list, "sum of heads", rotated, e, 1);
    else
        issuing(elementwise(list, "copy of values", z->t * z->value, 2 * e, 1), z->t * z->value * ISSUED_PLACES);
}

/* Adds the rotation of positions. If only a part of each head is rotated, both parts are put together again (read and
 * written); backward each part's gradient is copied into zeros of the whole, and the two are added. One kernel does it
 * all in one pass; Transformer Engine's does not scale what it rotates, so Megatron-Core writes that out
 * (models/common/embeddings/rope_utils.py, apply_rotary_pos_emb: "mscale is not supported by TE's fused RoPE"). */
static void rotary(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name, bool is_backward) {
    double share = z->model->rotary_frac > 0 ? z->model->rotary_frac : 1, width = z->query + z->key;
    bool by_fusion = z->software->rotary == TSIM_ROTARY_BY_FUSION,
         fused = z->software->rotary == TSIM_ROTARY_FUSED ||
                 (by_fusion && !joins_heads(z) &&
                  ((z->software->fusion == TSIM_FUSION_TE && !z->model->rotary_scaled) ||
                   z->software->fusion == TSIM_FUSION_COMPILE));
    if (z->model->position != TSIM_POSITION_ROPE)
        return;
    if (joins_heads(z)) /* only rotated parts, which keys share */
        width = (z->heads + 1) * (double)z->model->latent.rope_dim;
    else if (z->model->latent.kv_rank > 0) /* and keys are put together from both parts: read and written */
        width = 2 * z->heads * (double)z->model->latent.rope_dim + z->key;
    if (fused) {
        elementwise(list, name, z->t * width, 2 * z->element_bytes, 1);
        return;
    }
    double e = z->element_bytes, parts = share < 1 ? (is_backward ? 7 : 2) * e : 0;
    if (by_fusion)
        rotary_element_by_element(list, name, share * z->t * width, e);
    if (by_fusion && !is_backward) { /* by cat, whose other half is a part of the heads (transformers, rotate_half) */
        double joined = z->t * width * (share + (share < 1));
        issuing(elementwise(list, "join halves", joined, 2 * e, share < 1 ? 2 : 1), joined * ISSUED_JOINED);
        parts = 0;
    }
    elementwise(list, by_fusion ? "rotary, sum" : name, z->t * width, share * rotary_bytes(z, is_backward) + parts,
                !by_fusion    ? 3 + (share < 1)
                : is_backward ? 6 + (share < 1)
                              : 1);
}

/* Adds the kernels from the residual stream to queries, keys and values. */
static void project_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double e = z->element_bytes, le = z->linear_bytes;
    tsim_op_gather_input(list, z, "tensor: gather, attention", z->input);
    tsim_op_take_weight(list, z, (z->query + z->key + z->value + z->gate) * z->input);
    struct tsim_op *qkv = gemm(list, "attention qkv", z->linear_precision, z->t, z->query + z->key + z->value + z->gate,
                               z->input, le, attention_bytes(z));
    qkv->product = TSIM_PRODUCT_QKV;
    qkv->joined[0] = z->query + z->gate;
    qkv->joined[1] = z->key;
    qkv->joined[2] = z->value;
    tsim_op_adapters_forward(list, z, tsim_adapters_of(z, TSIM_PRODUCT_QKV));
    /* Megatron-LM adds the bias after the product (LinearWithGradAccumulationAndAsyncCommunication); others let the
     * product's kernel add it. The bias of other layers is added by the kernels that follow them. */
    if ((z->model->bias || z->model->qkv_bias) && z->software->fusion == TSIM_FUSION_MEGATRON)
        elementwise(list, "attention qkv, bias", z->t * (z->query + z->key + z->value), 2 * e, 1);
    tsim_op_head_norms_forward(list, z);
    rotary(list, z, "rotary", false);
}

/* Lists attention by way of latent vectors. Projections down, and the norms of their results, work on each rank's own
 * tokens, whole on every tensor rank; projections up are divided over the tensor ranks, after the (short) latents are
 * gathered. */
static void project_latent_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    const struct tsim_latent *latent = &z->model->latent;
    const struct tsim_latent_adapters of = tsim_latent_adapters(z);
    double e = z->element_bytes, le = z->linear_bytes, query_rank = (double)latent->query_rank,
           kv_rank = (double)latent->kv_rank, down = kv_rank + (double)latent->rope_dim;
    tsim_op_take_weight(list, z,
                        z->h * (query_rank + down) + z->query * (query_rank > 0 ? query_rank : z->h) +
                            tsim_expanded_width(z) * kv_rank);
    if (query_rank > 0)
        gemm(list, "attention q down", z->linear_precision, z->ts, query_rank, z->h, le, e);
    gemm(list, "attention kv down", z->linear_precision, z->ts, down, z->h, le, e);
    tsim_op_adapters_forward(list, &of.own, of.query_down);
    tsim_op_adapters_forward(list, &of.own, of.down);
    elementwise(list, "latent norms", z->ts * (query_rank + kv_rank), 2 * e, query_rank > 0 ? 2 : 1);
    if (z->gate > 0) {
        tsim_op_gather_input(list, z, "tensor: gather, attention gate", z->h);
        tsim_op_take_weight(list, z, z->gate * z->h);
        gemm(list, "attention gate, product", z->linear_precision, z->t, z->gate, z->h, le, e);
    }
    int32_t first = list->n;
    tsim_op_gather_input(list, z, "tensor: gather, latents", (query_rank > 0 ? query_rank : z->h) + down);
    gemm(list, "attention q up", z->linear_precision, z->t, z->query, query_rank > 0 ? query_rank : z->h, le, e);
    gemm(list, "attention kv up", z->linear_precision, z->t, tsim_expanded_width(z), kv_rank, le, e);
    tsim_op_adapters_forward(list, z, of.query_up);
    tsim_op_adapters_forward(list, z, of.up);
    rotary(list, z, "rotary", false);
    join_heads(list, z, false);
    mark_part(list, first, TSIM_RECOMPUTE_LATENT);
}

static void project_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    tsim_op_product_backward(list, z, TSIM_PRODUCT_QKV,
                             &(struct tsim_op_linear){.input = "attention qkv, input",
                                                      .takes_fp8 = attends_in_fp8(z),
                                                      .weight = "attention qkv, weight",
                                                      .gather = "tensor: gather input, attention",
                                                      .reduce = "tensor: reduce, attention",
                                                      .n = z->query + z->key + z->value + z->gate,
                                                      .k = z->input,
                                                      .is_column_parallel = true});
}

static void project_latent_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    const struct tsim_latent *latent = &z->model->latent;
    double query_rank = (double)latent->query_rank, kv_rank = (double)latent->kv_rank;
    const struct tsim_latent_adapters of = tsim_latent_adapters(z);
    if (z->gate > 0)
        tsim_op_linear_backward(list, z,
                                &(struct tsim_op_linear){.input = "attention gate, product, input",
                                                         .weight = "attention gate, product, weight",
                                                         .gather = "tensor: gather input, attention gate",
                                                         .reduce = "tensor: reduce, attention gate",
                                                         .n = z->gate,
                                                         .k = z->h,
                                                         .is_column_parallel = true});
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.input = "attention kv up, input",
                                                     .weight = "attention kv up, weight",
                                                     .gather = "tensor: gather latents, kv",
                                                     .reduce = "tensor: reduce, kv latents",
                                                     .n = tsim_expanded_width(z),
                                                     .k = kv_rank,
                                                     .has_adapters = of.up.count > 0,
                                                     .is_column_parallel = true});
    tsim_op_adapters_backward(list, z, of.up);
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.input = "attention q up, input",
                                                     .weight = "attention q up, weight",
                                                     .gather = "tensor: gather latents, q",
                                                     .reduce = "tensor: reduce, q latents",
                                                     .n = z->query,
                                                     .k = query_rank > 0 ? query_rank : z->h,
                                                     .has_adapters = of.query_up.count > 0,
                                                     .is_column_parallel = true});
    tsim_op_adapters_backward(list, z, of.query_up);
    elementwise(list, "latent norms", z->ts * (query_rank + kv_rank), 3 * z->element_bytes, query_rank > 0 ? 2 : 1);
    tsim_op_linear_backward(list, &of.own,
                            &(struct tsim_op_linear){.input = "attention kv down, input",
                                                     .weight = "attention kv down, weight",
                                                     .n = kv_rank + (double)latent->rope_dim,
                                                     .k = z->h});
    tsim_op_adapters_backward(list, &of.own, of.down);
    if (query_rank > 0)
        tsim_op_linear_backward(
            list, &of.own,
            &(struct tsim_op_linear){
                .input = "attention q down, input", .weight = "attention q down, weight", .n = query_rank, .k = z->h});
    tsim_op_adapters_backward(list, &of.own, of.query_down);
}

/* Returns the shape with the width of what attention's first product takes. */
static struct tsim_op_shape of_input(const struct tsim_op_shape *z) {
    struct tsim_op_shape shape = *z;
    shape.h = z->input;
    return shape;
}

void tsim_op_attention_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    const struct tsim_op_shape input = of_input(z);
    tsim_op_norm_before_linear(list, &input, "norm 1");
    if (z->model->latent.kv_rank > 0)
        project_latent_forward(list, z);
    else
        project_forward(list, z);
    tsim_op_layout_operands(list, z);
    tsim_op_core_forward(list, z);
    tsim_op_layout_result(list, z);
    int32_t first = list->n;
    if (z->gate > 0)
        elementwise(list, "attention gate", z->t * z->gate, 3 * z->element_bytes, 1);
    if (attends_in_fp8(z))
        transpose(list, z, "cast", z->t * z->q);
    else
        cast(list, z, "cast", z->t * z->q);
    tsim_op_take_weight(list, z, z->h * z->q);
    gemm(list, "attention output", z->linear_precision, z->t, z->h, z->q, z->linear_bytes, z->element_bytes)->product =
        TSIM_PRODUCT_OUT;
    tsim_op_adapters_forward(list, z, tsim_adapters_of(z, TSIM_PRODUCT_OUT));
    if (!z->sums_later) {
        tsim_op_reduce_output(list, z, "tensor: reduce, attention");
        tsim_op_norm_behind_forward(list, z, "norm 1, behind");
        tsim_op_residual_forward(list, z, "residual 1", !z->is_alone);
    }
    mark_part(list, first, TSIM_RECOMPUTE_OUTPUT);
}

void tsim_op_attention_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    if (!z->sums_later) {
        tsim_op_residual_backward(list, z, "residual 1");
        tsim_op_norm_behind_backward(list, z, "norm 1, behind");
    }
    tsim_op_product_backward(list, z, TSIM_PRODUCT_OUT,
                             &(struct tsim_op_linear){.input = "attention output, input",
                                                      .gives_fp8 = attends_in_fp8(z),
                                                      .weight = "attention output, weight",
                                                      .gather = "tensor: gather, attention",
                                                      .n = z->h,
                                                      .k = z->q,
                                                      .shares_collectives = z->sums_later});
    if (z->gate > 0)
        elementwise(list, "attention gate", z->t * z->gate, 5 * z->element_bytes, 1);
    tsim_op_layout_result_gradient(list, z);
    tsim_op_core_backward(list, z);
    rotary(list, z, "rotary", true);
    join_heads(list, z, true);
    tsim_op_head_norms_backward(list, z);
    tsim_op_layout_joined(list, z);
    if (z->model->latent.kv_rank > 0)
        project_latent_backward(list, z);
    else
        project_backward(list, z);
    tsim_op_layout_inputs(list, z);
    const struct tsim_op_shape input = of_input(z);
    tsim_op_norm_backward(list, &input, "norm 1");
}

/* ---- parameters ---- */

/* Returns the parameters of a norm: it has a scale, a layer norm also a shift, and a plain one neither. */
double tsim_count_norm(const struct tsim_model *m) {
    static const double VECTORS[] = {[TSIM_NORM_LAYERNORM] = 2, [TSIM_NORM_RMSNORM] = 1, [TSIM_NORM_PLAIN] = 0};
    return VECTORS[m->norm] * (double)m->hidden;
}

double tsim_count_wide_norms(const struct tsim_model *m) {
    return (double)((m->heads + m->kv_heads) * m->head_dim);
}

/* Counts attention's parameters. Queries, and keys with values, come from the residual stream, or from latent vectors
 * that have a norm of their own. */
void tsim_count_attention(const struct tsim_model *m, struct tsim_layer_parameters *p) {
    double h = (double)m->hidden, bias = m->bias ? 1 : 0, qkv_bias = m->bias || m->qkv_bias ? 1 : 0,
           heads = (double)m->heads, d = (double)m->head_dim;
    double q = heads * d, kv = (double)m->kv_heads * d;
    p->norms += (1 + (m->post_norms ? 1 : 0)) * tsim_count_norm(m) + (m->qk_norm ? 2 * (double)m->head_dim : 0) +
                (m->wide_qk_norm ? tsim_count_wide_norms(m) : 0);
    if (m->latent.kv_rank == 0) {
        p->attention = h * (q + 2 * kv) + q * h + (m->output_gate ? h * q : 0) + qkv_bias * (q + 2 * kv) + bias * h +
                       (m->sinks ? heads : 0);
        return;
    }
    double query_rank = (double)m->latent.query_rank, kv_rank = (double)m->latent.kv_rank,
           rope = (double)m->latent.rope_dim, key = tsim_model_key_dim(m);
    p->attention = (query_rank > 0 ? query_rank : h) * heads * key + kv_rank * heads * (key - rope + d) +
                   (m->output_gate ? 2 : 1) * q * h;
    p->latent = h * query_rank + query_rank + h * (kv_rank + rope) + kv_rank;
}

/* ---- mixers ---- */

/* Returns 2 Q + 2 V FLOPs for each head and key, with queries of dimension Q and values of dimension V. */
static double core_flops(const struct tsim_model *m, double length) {
    return 2 * (double)m->heads * (tsim_model_key_dim(m) + (double)m->head_dim) * length;
}

static void add_matrices(const struct tsim_model *m, double times, struct tsim_matrices *matrices) {
    tsim_matrices_add_attention(matrices, m, times);
}

#define ATTENTION                                                                                                      \
    .forward = tsim_op_attention_forward, .backward = tsim_op_attention_backward, .keep = tsim_keep_attention,         \
    .keep_core = tsim_keep_core, .waiting = tsim_attention_waiting, .count = tsim_count_attention,                     \
    .add_matrices = add_matrices

const struct tsim_mixer tsim_attention_mixer = {ATTENTION, .core_flops = core_flops};

/* Fits the shape to a window. A window as long as the sequence is none, nor is one as long as a pack's samples. */
static void fit_window(struct tsim_op_shape *z) {
    double window = (double)z->model->attention_window, most = z->window > 0 ? z->window : z->sk;
    if (window >= most)
        return;
    if (z->scenario->cached_tokens > 0) { /* the cache holds no more */
        z->sk = window;
        z->tk = z->b * window;
        return;
    }
    z->window = window;
    z->is_chunk = z->model->window_chunks;
}

static double window_core_flops(const struct tsim_model *m, double length) {
    return core_flops(m, fmin((double)m->attention_window, length));
}

const struct tsim_mixer tsim_window_mixer = {ATTENTION, .fit = fit_window, .core_flops = window_core_flops};

/* Fits the shape to an encoder, whose tokens attend to all others. */
static void fit_encoder(struct tsim_op_shape *z) {
    z->causal = false;
}

const struct tsim_mixer tsim_encoder_mixer = {ATTENTION, .fit = fit_encoder, .core_flops = core_flops};
