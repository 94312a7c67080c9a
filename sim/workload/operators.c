/* The lists are written in the order of execution, with bytes per element spelled out:
 *   bf16/fp16 activations are E = 2 bytes, dropout masks 1 byte, fp32 is 4 bytes.
 * Symbols: t tokens of the micro-batch on this context rank (b*s/cp), ts the tokens that norms, dropout and residuals
 * see (t/tp with sequence parallelism, else t), h hidden, q = heads*head_dim/tp, key = value = kv_heads*head_dim/tp (at
 * least one head), f = ffn_hidden/tp. With latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1; as in
 * training, where keys and values are expanded) query = key = heads*(head_dim + rope_dim)/tp and value = q. */
#include "workload/operators.h"

#include "workload/memory.h"
#include "workload/model.h"
#include "workload/operators_parts.h"

#include <math.h>

static double activation_bytes(enum tsim_precision precision) {
    return tsim_operand_bytes(tsim_unquantized(precision));
}

/* Tokens of a sample that the last layers work on. */
static double last_length(const struct tsim_scenario *sc) {
    return (double)(sc->model->encoder_layers > 0 ? sc->training.decoder_sequence_length
                                                  : sc->training.sequence_length);
}

double tsim_message_tokens(const struct tsim_scenario *sc) {
    return (double)(sc->training.micro_batch_size *
                    (sc->training.sequence_length + sc->training.decoder_sequence_length) / sc->parallelism.context);
}

double tsim_head_tokens(const struct tsim_scenario *sc) {
    double samples = (double)sc->training.micro_batch_size, head_frac = sc->model->head_frac;
    if (sc->model->image.patch > 0)
        return samples;
    return (head_frac > 0 ? head_frac : 1) * samples * last_length(sc) / (double)sc->parallelism.context;
}

double tsim_padded_vocab_per_rank(const struct tsim_scenario *scenario) {
    if (scenario->model->image.patch > 0)
        return (double)scenario->model->vocab;
    double tp = (double)scenario->parallelism.tensor, step = 128 * tp;
    return ceil((double)scenario->model->vocab / step) * step / tp;
}

/* Of the first stack, or of the last: where there is one, they are the same. */
static struct tsim_op_shape shape_of(const struct tsim_scenario *sc, bool is_last) {
    const struct tsim_model *m = sc->model;
    struct tsim_op_shape z = {.groups = 1, .scenario = sc, .model = m, .software = sc->software};
    z.tp = (double)sc->parallelism.tensor;
    z.cp = (double)sc->parallelism.context;
    z.b = (double)sc->training.micro_batch_size;
    z.s = z.sk = is_last ? last_length(sc) : (double)sc->training.sequence_length;
    z.t = z.tk = z.b * z.s / z.cp;
    z.causal = m->causal && (m->encoder_layers == 0 || is_last);
    z.is_biased = m->position == TSIM_POSITION_RELATIVE;
    z.sequence_parallel = sc->parallelism.sequence && z.tp > 1;
    z.ts = z.sequence_parallel ? z.t / z.tp : z.t;
    z.h = (double)m->hidden;
    z.heads = (double)m->heads / z.tp;
    z.q = z.heads * (double)m->head_dim;
    z.query = z.heads * tsim_model_key_dim(m);
    z.key = z.value = fmax((double)m->kv_heads / z.tp, 1) * (double)m->head_dim;
    if (m->latent.kv_rank > 0)
        z.key = z.query, z.value = z.q;
    z.f = (double)m->ffn_hidden / z.tp;
    z.vocab = tsim_padded_vocab_per_rank(sc);
    z.element_bytes = activation_bytes(sc->training.precision);
    z.mask_bytes = sc->software->dropout > 0 ? 1 : 0;
    z.linear_precision = sc->training.precision;
    z.attention_precision = tsim_unquantized(sc->training.precision);
    z.linear_bytes = tsim_operand_bytes(sc->training.precision);
    z.gradient_bytes = tsim_gradient_bytes(sc);
    z.flash = sc->training.attention == TSIM_ATTENTION_FLASH;
    return z;
}

/* ---- forward ---- */

/* Before a column-parallel product of depth `width`: with sequence parallelism the tokens are gathered. */
void tsim_op_gather_input(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name, double width) {
    if (z->sequence_parallel)
        tensor_collective(list, name, TSIM_OP_ALL_GATHER, z->t * width * z->linear_bytes,
                          z->scenario->parallelism.overlap.tensor ? TSIM_PIPELINED_NEXT : TSIM_EXPOSED);
}

/* After a row-parallel product: partial sums are reduced, onto token shards with sequence parallelism. In chunks beside
 * their product they are sent in fp8 where the product is, if its scales are those of earlier steps (Transformer
 * Engine's user buffers, `fp8_buf`; NVIDIA/NeMo, llm/recipes/tp_overlap_configs/userbuffers.py). */
void tsim_op_reduce_output(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name) {
    if (z->tp == 1)
        return;
    bool pipelined = z->scenario->parallelism.overlap.tensor && z->sequence_parallel;
    sum_partial(list, z, name, z->t * z->h * (pipelined && scales_are_known(z) ? z->linear_bytes : z->element_bytes),
                pipelined ? TSIM_PIPELINED_PREVIOUS : TSIM_EXPOSED);
}

/* Compiled and Transformer Engine's norms are kernels of their own, and layer norms PyTorch's. */
static bool norms_are_written_out(const struct tsim_op_shape *z) {
    return z->model->norm == TSIM_NORM_RMSNORM && z->software->fusion == TSIM_FUSION_NONE &&
           z->software->norms == TSIM_NORMS_BY_FUSION;
}

void tsim_op_norm_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name) {
    double e = z->element_bytes;
    /* An RMS norm as frameworks write it out in fp32: converted, squared, its mean, scaled, converted, times the weight. */
    bool written_out = norms_are_written_out(z);
    elementwise(list, name, z->ts * z->h, written_out ? (e + 4) + 8 + 4 + 8 + (4 + e) + 2 * e : 2 * e,
                written_out ? 6 : 1)
        ->parts = TSIM_RECOMPUTE_NORMS;
}

/* Only with the scales of earlier steps does a norm write its result in fp8; its largest value it finds (Transformer
 * Engine since 2.7, FUSED_NORM_AMAX_FP8; torch.compile). */
void tsim_op_norm_before_linear(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name) {
    tsim_op_norm_forward(list, z, name);
    if (scales_are_known(z))
        return;
    cast_part(list, z, "cast, norm", z->ts * z->h, TSIM_RECOMPUTE_NORMS, true);
}

void tsim_op_residual_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name) {
    double e = z->element_bytes, mask = z->mask_bytes, elements = z->ts * z->h;
    if (z->software->fusion == TSIM_FUSION_NONE && mask > 0)
        elementwise(list, name, elements, (2 * e + mask) + 3 * e, 2); /* dropout, then add */
    else
        elementwise(list, name, elements, 3 * e + mask, 1); /* read both, write one (and the mask) */
}

/* Standard attention materializes the scores: what each pass over them moves, per score. */
static double softmax_forward_bytes(const struct tsim_op_shape *z) {
    double e = z->element_bytes;
    if (z->software->attention_kernel == TSIM_ATTENTION_UNFUSED)
        return 2 * e + (2 * e + 1) + (e + 4) + 8 + (4 + e); /* scale, mask, to fp32, softmax, back */
    /* Scale, mask and softmax in one kernel; a causal one reads the lower triangle alone and writes the square
     * (Megatron-LM, scaled_upper_triang_masked_softmax.h). */
    return (z->causal ? 1.5 : 2) * e;
}

/* A learned bias of each score is one for all samples of the micro-batch. */
static double bias_bytes(const struct tsim_op_shape *z, double bytes_per_score) {
    return z->is_biased ? z->s / z->cp * z->sk * z->heads * bytes_per_score : 0;
}

void tsim_op_core_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double d = (double)z->model->head_dim, dk = tsim_model_key_dim(z->model), e = z->element_bytes, e2 = z->mask_bytes;
    int32_t first = list->n;
    tsim_op_context_before_forward(list, z);
    if (z->flash) {
        struct tsim_op *op = add(list, "attention core", TSIM_OP_FLASH);
        op->precision = z->attention_precision;
        op->sequence = z->sk;
        op->head_dim = (dk + d) / 2;
        op->causal = z->causal;
        op->flops = 2 * z->t * z->sk * (z->query + z->q) * (op->causal ? 0.5 : 1);
        op->bytes = (z->t * (z->query + z->q) + z->tk * (z->key + z->value)) * e + bias_bytes(z, e);
        op->pieces = op->kernels = tsim_op_ring_pieces(z);
    } else {
        double scores = z->t * z->sk * z->heads;
        batched(gemm(list, "attention scores", z->attention_precision, z->s / z->cp, z->sk, dk, e, e), z->b * z->heads);
        if (z->is_biased)
            elementwise(list, "attention bias", 1, scores * 2 * e + bias_bytes(z, e), 1);
        /* A line's bias of each position is written out for all scores, and read by the product that adds to it
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

/* Passes over the rotated parts, per element. Written out: two products, a rotation (half negated, both halves joined) and
 * a sum; backward two products, a half negated, each half's gradient copied into zeros of the whole, both added, and to the
 * other product's. Complex numbers of fp32, which compilers leave as they are: converted, multiplied, converted. Matrices
 * of 2 x 2 in fp32: converted, multiplied by both columns, summed, converted. */
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
    return (is_backward ? 2 + 2 + 1 + 4 + 3 + 3 : 2 + 2 + 1 + 2 + 3) * e;
}

/* Where a part of each head is rotated, both parts are put together again (read and written); backward each part's
 * gradient is copied into zeros of the whole, and the two are added. One kernel does it all in one pass. */
static void rotary(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name, bool is_backward) {
    double share = z->model->rotary_frac > 0 ? z->model->rotary_frac : 1, width = z->query + z->key;
    bool by_fusion = z->software->rotary == TSIM_ROTARY_BY_FUSION,
         fused = z->software->rotary == TSIM_ROTARY_FUSED ||
                 (by_fusion && (z->software->fusion == TSIM_FUSION_TE || z->software->fusion == TSIM_FUSION_COMPILE));
    if (z->model->position != TSIM_POSITION_ROPE)
        return;
    if (z->model->latent.kv_rank > 0) /* rotated parts alone; keys are put together from both: read and written */
        width = 2 * z->heads * (double)z->model->latent.rope_dim + z->key;
    if (fused) {
        elementwise(list, name, z->t * width, 2 * z->element_bytes, 1);
        return;
    }
    double parts = share < 1 ? (is_backward ? 7 : 2) * z->element_bytes : 0;
    elementwise(list, name, z->t * width, share * rotary_bytes(z, is_backward) + parts,
                (by_fusion ? is_backward ? 9 : 5 : 3) + (share < 1));
}

double tsim_op_activation_bytes(const struct tsim_op_shape *z, bool backward) {
    double e = z->element_bytes;
    bool unfused = z->software->fusion == TSIM_FUSION_NONE;
    if (!z->model->gated_mlp)
        return backward ? 3 * e : 2 * e;
    if (backward)
        return unfused ? 3 * e + 3 * e + 3 * e : 5 * e; /* the product's two gradients, the gate's */
    return unfused ? 2 * e + 3 * e : 3 * e;             /* gate, then product; or both at once */
}

double tsim_op_activation_kernels(const struct tsim_op_shape *z, bool backward) {
    return z->model->gated_mlp && z->software->fusion == TSIM_FUSION_NONE ? (backward ? 3 : 2) : 1;
}

/* From the residual stream to queries, keys and values. */
static void project_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double e = z->element_bytes, le = z->linear_bytes;
    tsim_op_gather_input(list, z, "tensor: gather, attention", z->h);
    struct tsim_op *qkv =
        gemm(list, "attention qkv", z->linear_precision, z->t, z->query + z->key + z->value, z->h, le, e);
    qkv->product = TSIM_PRODUCT_QKV;
    qkv->joined[0] = z->query;
    qkv->joined[1] = z->key;
    qkv->joined[2] = z->value;
    /* Megatron-LM adds the bias after the product (LinearWithGradAccumulationAndAsyncCommunication); others have the
     * product's kernel add it. That of the other layers goes into the kernels that follow them. */
    if ((z->model->bias || z->model->qkv_bias) && z->software->fusion == TSIM_FUSION_MEGATRON)
        elementwise(list, "attention qkv, bias", z->t * (z->query + z->key + z->value), 2 * e, 1);
    rotary(list, z, "rotary", false);
}

/* The same by way of latent vectors: projections down and the norms of what they give on each rank's own tokens, whole
 * on every tensor rank; projections up over the tensor ranks, after the (short) latents are gathered. */
static void project_latent_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    const struct tsim_latent *latent = &z->model->latent;
    double e = z->element_bytes, le = z->linear_bytes, query_rank = (double)latent->query_rank,
           kv_rank = (double)latent->kv_rank, down = kv_rank + (double)latent->rope_dim;
    if (query_rank > 0)
        gemm(list, "attention q down", z->linear_precision, z->ts, query_rank, z->h, le, e);
    gemm(list, "attention kv down", z->linear_precision, z->ts, down, z->h, le, e);
    elementwise(list, "latent norms", z->ts * (query_rank + kv_rank), 2 * e, query_rank > 0 ? 2 : 1);
    int32_t first = list->n;
    tsim_op_gather_input(list, z, "tensor: gather, latents", (query_rank > 0 ? query_rank : z->h) + down);
    gemm(list, "attention q up", z->linear_precision, z->t, z->query, query_rank > 0 ? query_rank : z->h, le, e);
    gemm(list, "attention kv up", z->linear_precision, z->t, 2 * z->value, kv_rank, le, e);
    rotary(list, z, "rotary", false);
    mark_part(list, first, TSIM_RECOMPUTE_LATENT);
}

static void attention_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    tsim_op_norm_before_linear(list, z, "norm 1");
    if (z->model->latent.kv_rank > 0)
        project_latent_forward(list, z);
    else
        project_forward(list, z);
    tsim_op_layout_operands(list, z);
    tsim_op_core_forward(list, z);
    tsim_op_layout_result(list, z);
    cast(list, z, "cast", z->t * z->q);
    gemm(list, "attention output", z->linear_precision, z->t, z->h, z->q, z->linear_bytes, z->element_bytes)->product =
        TSIM_PRODUCT_OUT;
    if (z->model->parallel_block)
        return;
    tsim_op_reduce_output(list, z, "tensor: reduce, attention");
    tsim_op_residual_forward(list, z, "residual 1");
}

/* Side by side, both blocks take one norm's result. */
static bool shares_norm(const struct tsim_op_shape *z) {
    return z->model->parallel_block && !z->model->parallel_norms;
}

/* The feed-forward block, or the shared experts as one. */
static void mlp_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double e = z->element_bytes, le = z->linear_bytes, up = z->model->gated_mlp ? 2 : 1;
    int32_t first = list->n;
    if (!shares_norm(z))
        tsim_op_gather_input(list, z, "tensor: gather, ffn", z->h);
    struct tsim_op *first_product = gemm(list, "ffn up", z->linear_precision, z->t, up * z->f, z->h, le, e);
    first_product->product = TSIM_PRODUCT_UP;
    if (z->model->gated_mlp)
        first_product->joined[0] = first_product->joined[1] = z->f;
    elementwise(list, "activation", z->t * z->f, tsim_op_activation_bytes(z, false),
                tsim_op_activation_kernels(z, false))
        ->parts = TSIM_RECOMPUTE_ACTIVATION;
    cast_activation(list, z, "cast, activation", z->t * z->f);
    gemm(list, "ffn down", z->linear_precision, z->t, z->h, z->f, le, e)->product = TSIM_PRODUCT_DOWN;
    tsim_op_reduce_output(list, z, "tensor: reduce, ffn");
    mark_part(list, first, TSIM_RECOMPUTE_FFN);
}

/* From the last product down on, whose operands are kept. */
static void mark_last_projection(struct tsim_op_list *list) {
    int32_t i = list->n - 1;
    while (list->ops[i].product != TSIM_PRODUCT_DOWN)
        list->ops[i--].is_last_projection = true;
    list->ops[i].is_last_projection = true;
}

/* Side by side (parallel_block: GPT-J, PaLM) both blocks take the one norm's result, which is gathered once, or each that
 * of its own (parallel_norms: GPT-NeoX); their partial sums are added before they are reduced once. */
static void layer_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    attention_forward(list, z);
    if (z->model->parallel_block)
        elementwise(list, "blocks, add", z->t * z->h, 3 * z->element_bytes, 1);
    if (!shares_norm(z))
        tsim_op_norm_before_linear(list, z, "norm 2");
    mlp_forward(list, z);
    tsim_op_residual_forward(list, z, "residual 2");
    mark_last_projection(list);
}

/* Self attention, attention to the encoder's result, feed-forward (Vaswani et al. 2017, section 3.1). */
static void decoder_layer_forward(struct tsim_op_list *list, const struct tsim_op_shape *z,
                                  const struct tsim_op_shape *encoder) {
    attention_forward(list, z);
    tsim_op_cross_forward(list, z, encoder);
    tsim_op_norm_before_linear(list, z, "norm 2");
    mlp_forward(list, z);
    tsim_op_residual_forward(list, z, "residual 2");
    mark_last_projection(list);
}

/* Shared experts are one block of their widths together (DeepSeek-AI 2024, arXiv:2401.06066; Megatron-Core replicates
 * them over the expert group). */
static struct tsim_op_shape shared_shape(const struct tsim_op_shape *z) {
    struct tsim_op_shape shared = *z;
    shared.f = (double)(z->model->experts.shared * z->model->experts.ffn_hidden) / z->tp;
    return shared;
}

static void expert_layer_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    attention_forward(list, z);
    tsim_op_norm_forward(list, z, "norm 2");
    if (z->model->experts.shared > 0) {
        struct tsim_op_shape shared = shared_shape(z);
        mlp_forward(list, &shared);
    }
    tsim_op_experts_forward(list, z);
    if (z->model->experts.shared > 0)
        elementwise(list, "shared, add", z->ts * z->h, 3 * z->element_bytes, 1);
    tsim_op_residual_forward(list, z, "residual 2");
    mark_last_projection(list);
}

static double patches(const struct tsim_op_shape *z) {
    return z->b / z->cp * tsim_model_patches(z->model);
}

/* Rows of a table that the tensor ranks divide; or patches by a product (a convolution without overlap). */
static void table_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double e = z->element_bytes;
    if (z->model->image.patch > 0) {
        gemm(list, "patches", z->attention_precision, patches(z), z->h, tsim_model_patch_values(z->model), e, e);
    } else {
        elementwise(list, "embedding", z->t * z->h, 2 * e, 1);
        if (z->tp > 1)
            sum_partial(list, z, "tensor: reduce, embedding", z->t * z->h * e, TSIM_EXPOSED);
    }
    if (z->model->position == TSIM_POSITION_LEARNED)
        elementwise(list, "positions", z->ts * z->h, 3 * e, 1);
    if (z->mask_bytes > 0)
        elementwise(list, "embedding dropout", z->ts * z->h, 2 * e + z->mask_bytes, 1);
}

/* Cross-entropy over the vocabulary, bytes per logit. Written out in fp32 (PyTorch): convert 2+4, log-softmax 4+4 (the
 * rows that are worked on stay in the cache between its passes); backward the loss's gradient 4, log-softmax's 4+4+4,
 * convert 4+2. Vocabulary-parallel as Megatron: convert 2+4, maximum 4, subtract 8, exponential 8, sum 4, divide
 * 8; fused (Transformer Engine, Liger): one read and one write in place. Backward likewise. */
static double converted_bytes(double e) {
    return e < 4 ? e + 4 : 0;
}

static double written_out_loss_bytes(double e) {
    return converted_bytes(e) + 8;
}

static double loss_bytes(const struct tsim_op_shape *z, bool backward) {
    double e = z->element_bytes;
    if (tsim_loss_is_fused(z->software))
        return 2 * e;
    if (z->software->cross_entropy == TSIM_LOSS_SHIFTED) /* copied; backward into zeros of the whole */
        return backward ? converted_bytes(e) + 16 + 12 : written_out_loss_bytes(e) + 8;
    if (z->software->fusion == TSIM_FUSION_MEGATRON || z->software->fusion == TSIM_FUSION_TE)
        return converted_bytes(e) + (backward ? 8 : 32);
    return backward ? converted_bytes(e) + 16 : written_out_loss_bytes(e);
}

/* The head keeps the attention's precision where linear layers run in fp8. An image's classifier is whole on every
 * tensor rank. */
static struct tsim_op_shape head_shape(const struct tsim_op_shape *z) {
    struct tsim_op_shape head = *z;
    head.t = tsim_head_tokens(z->scenario);
    if (z->model->image.patch > 0) {
        head.tp = 1;
        head.sequence_parallel = false;
    }
    head.linear_precision = z->attention_precision;
    head.linear_bytes = z->element_bytes;
    return head;
}

static void head_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double e = z->element_bytes;
    struct tsim_op_shape head = head_shape(z);
    tsim_op_norm_forward(list, z, "final norm");
    tsim_op_gather_input(list, &head, "tensor: gather, head", z->h);
    if (z->model->pooler) {
        gemm(list, "pooler", head.linear_precision, z->b, z->h, z->h, e, e);
        elementwise(list, "pooler, tanh", z->b * z->h, 2 * e, 1);
    }
    if (head.t < z->t) /* the head's tokens are picked out */
        elementwise(list, "head, pick tokens", head.t * z->h, 2 * e, 1);
    gemm(list, "head", head.linear_precision, head.t, z->vocab, z->h, e, e);
    elementwise(list, "loss", head.t * z->vocab, loss_bytes(z, false), tsim_loss_is_fused(z->software) ? 1 : 6);
    double metrics = (double)z->software->loss_metrics;
    if (metrics > 0)
        elementwise(list, "metrics of the loss", head.t * z->vocab, metrics * written_out_loss_bytes(e), 6 * metrics);
}

/* ---- backward ---- */

double tsim_separate_accumulation_frac(const struct tsim_scenario *sc) {
    bool is_separate = sc->software->accumulation == TSIM_ACCUMULATION_SEPARATE && sc->parallelism.zero < 2;
    bool keeps_first = activation_bytes(sc->training.precision) == tsim_gradient_bytes(sc);
    double m = (double)sc->n_microbatches;
    return !is_separate ? 0 : keeps_first ? (m - 1) / m : 1;
}

/* A kernel reads what the product wrote, and reads and writes the sum. */
static void accumulate(struct tsim_op_list *list, const struct tsim_op_shape *z, double elements) {
    double frac = tsim_separate_accumulation_frac(z->scenario);
    if (frac > 0)
        elementwise(list, "gradient accumulation", z->groups * elements * frac,
                    z->element_bytes + 2 * z->gradient_bytes, z->groups)
            ->is_weight_gradient = true;
}

void tsim_op_linear_backward(struct tsim_op_list *list, const struct tsim_op_shape *z,
                             const struct tsim_op_linear *linear) {
    const struct tsim_overlap *overlap = &z->scenario->parallelism.overlap;
    double e = z->element_bytes, le = z->linear_bytes, n = linear->n, k = linear->k;
    bool parallel = z->tp > 1 && !linear->shares_collectives,
         asynchronous = overlap->tensor_backward || overlap->tensor;
    if (parallel && z->sequence_parallel)
        /* Column: x was kept as shards and is gathered again for dW. Row: dy arrives as shards. */
        tensor_collective(list, linear->gather, TSIM_OP_ALL_GATHER, z->t * (linear->is_column_parallel ? k : n) * le,
                          linear->is_column_parallel ? (asynchronous ? TSIM_CONCURRENT_NEXT : TSIM_EXPOSED)
                                                     : (overlap->tensor ? TSIM_PIPELINED_NEXT : TSIM_EXPOSED))
            ->is_weight_gradient = linear->is_column_parallel;
    cast(list, z, "cast, gradient", z->groups * z->t * n);
    struct tsim_op *input = gemm(list, linear->input, z->linear_precision, z->t, k, n, le, e);
    input->product = linear->product;
    input->is_gradient = true;
    grouped(input, z);
    if (parallel && linear->is_column_parallel)
        sum_partial(list, z, linear->reduce, z->t * k * e, asynchronous ? TSIM_CONCURRENT_NEXT : TSIM_EXPOSED);
    bool adds = z->software->accumulation == TSIM_ACCUMULATION_FUSED && z->scenario->parallelism.zero < 2;
    struct tsim_op *weight =
        gemm(list, linear->weight, z->linear_precision, n, k, z->t, le, adds ? 2 * z->gradient_bytes : e);
    weight->product = linear->product;
    weight->is_gradient = weight->is_weight_gradient = true;
    grouped(weight, z);
    accumulate(list, z, n * k);
    if (z->model->bias)
        elementwise(list, "bias gradient", z->groups * z->t * n, e, 1)->is_weight_gradient = true;
}

void tsim_op_norm_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name) {
    double e = z->element_bytes;
    bool written_out = norms_are_written_out(z);
    /* dx from dy and x; the scale's gradient is a second pass over both; the residual's gradient is added. Written out, what
     * autograd runs: through the weight, its gradient (a product, summed), converted, through the scale, the scale's
     * gradient (a product, summed), through the square in three passes (pow_backward), the two added, converted. */
    elementwise(list, name, z->ts * z->h,
                written_out ? 2 * e + 4 * e + (e + 4) + 8 + 16 + 24 + 12 + (4 + e) : 3 * e + 2 * e,
                written_out ? 12 : 2);
    elementwise(list, "residual gradient", z->ts * z->h, 3 * e, 1);
}

void tsim_op_residual_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name) {
    if (z->mask_bytes > 0)
        elementwise(list, name, z->ts * z->h, 2 * z->element_bytes + z->mask_bytes, 1);
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
        op->sequence = z->sk;
        op->head_dim = (dk + d) / 2;
        op->causal = z->causal;
        op->flops = 2.5 * 2 * z->t * z->sk * (z->query + z->q) * (op->causal ? 0.5 : 1);
        op->bytes = (z->t * (2 * z->query + 3 * z->q) + z->tk * 2 * (z->key + z->value)) * e + bias_bytes(z, e + 4);
        op->pieces = tsim_op_ring_pieces(z);
        op->kernels = 2 * op->pieces;
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
    if (z->is_biased) /* its gradient is the sum over the samples */
        elementwise(list, "attention bias gradient", 1, scores * e + bias_bytes(z, 4), 1);
    batched(gemm(list, "attention scores, dQ", precision, sq, dk, z->sk, e, e), products);
    batched(gemm(list, "attention scores, dK", precision, z->sk, dk, sq, e, e), products);
    tsim_op_context_after_backward(list, z);
}

static void project_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.product = TSIM_PRODUCT_QKV,
                                                     .input = "attention qkv, input",
                                                     .weight = "attention qkv, weight",
                                                     .gather = "tensor: gather input, attention",
                                                     .reduce = "tensor: reduce, attention",
                                                     .n = z->query + z->key + z->value,
                                                     .k = z->h,
                                                     .is_column_parallel = true});
}

static void project_latent_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    const struct tsim_latent *latent = &z->model->latent;
    double query_rank = (double)latent->query_rank, kv_rank = (double)latent->kv_rank;
    struct tsim_op_shape own = *z; /* whole on every tensor rank, its own tokens */
    own.tp = 1;
    own.t = z->ts;
    own.sequence_parallel = false;
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.product = TSIM_NO_LAYER_PRODUCT,
                                                     .input = "attention kv up, input",
                                                     .weight = "attention kv up, weight",
                                                     .gather = "tensor: gather latents, kv",
                                                     .reduce = "tensor: reduce, kv latents",
                                                     .n = 2 * z->value,
                                                     .k = kv_rank,
                                                     .is_column_parallel = true});
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.product = TSIM_NO_LAYER_PRODUCT,
                                                     .input = "attention q up, input",
                                                     .weight = "attention q up, weight",
                                                     .gather = "tensor: gather latents, q",
                                                     .reduce = "tensor: reduce, q latents",
                                                     .n = z->query,
                                                     .k = query_rank > 0 ? query_rank : z->h,
                                                     .is_column_parallel = true});
    elementwise(list, "latent norms", z->ts * (query_rank + kv_rank), 3 * z->element_bytes, query_rank > 0 ? 2 : 1);
    tsim_op_linear_backward(list, &own,
                            &(struct tsim_op_linear){.product = TSIM_NO_LAYER_PRODUCT,
                                                     .input = "attention kv down, input",
                                                     .weight = "attention kv down, weight",
                                                     .n = kv_rank + (double)latent->rope_dim,
                                                     .k = z->h});
    if (query_rank > 0)
        tsim_op_linear_backward(list, &own,
                                &(struct tsim_op_linear){.product = TSIM_NO_LAYER_PRODUCT,
                                                         .input = "attention q down, input",
                                                         .weight = "attention q down, weight",
                                                         .n = query_rank,
                                                         .k = z->h});
}

static void attention_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    if (!z->model->parallel_block)
        tsim_op_residual_backward(list, z, "residual 1");
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.product = TSIM_PRODUCT_OUT,
                                                     .input = "attention output, input",
                                                     .weight = "attention output, weight",
                                                     .gather = "tensor: gather, attention",
                                                     .n = z->h,
                                                     .k = z->q,
                                                     .shares_collectives = z->model->parallel_block});
    tsim_op_layout_result_gradient(list, z);
    tsim_op_core_backward(list, z);
    rotary(list, z, "rotary", true);
    tsim_op_layout_joined(list, z);
    if (z->model->latent.kv_rank > 0)
        project_latent_backward(list, z);
    else
        project_backward(list, z);
    tsim_op_layout_inputs(list, z);
    tsim_op_norm_backward(list, z, "norm 1");
}

static void mlp_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.product = TSIM_PRODUCT_DOWN,
                                                     .input = "ffn down, input",
                                                     .weight = "ffn down, weight",
                                                     .gather = "tensor: gather, ffn",
                                                     .n = z->h,
                                                     .k = z->f});
    elementwise(list, "activation", z->t * z->f, tsim_op_activation_bytes(z, true),
                tsim_op_activation_kernels(z, true));
    bool is_written_out = z->model->gated_mlp && z->software->fusion == TSIM_FUSION_NONE,
         is_one = z->software->gate_products == TSIM_GATE_ONE;
    if (is_written_out && is_one)
        elementwise(list, "gate gradients, join", 2 * z->t * z->f, 2 * z->element_bytes, 1);
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.product = TSIM_PRODUCT_UP,
                                                     .input = "ffn up, input",
                                                     .weight = "ffn up, weight",
                                                     .gather = "tensor: gather input, ffn",
                                                     .reduce = "tensor: reduce, ffn",
                                                     .n = (z->model->gated_mlp ? 2 : 1) * z->f,
                                                     .k = z->h,
                                                     .is_column_parallel = true,
                                                     .shares_collectives = shares_norm(z)});
    if (is_written_out && !is_one)
        elementwise(list, "gate input gradients, add", z->t * z->h, 3 * z->element_bytes, 1);
}

static void layer_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    tsim_op_residual_backward(list, z, "residual 2");
    mlp_backward(list, z);
    if (shares_norm(z))
        elementwise(list, "block gradients, add", z->t * z->h, 3 * z->element_bytes, 1);
    else
        tsim_op_norm_backward(list, z, "norm 2");
    attention_backward(list, z);
}

static void decoder_layer_backward(struct tsim_op_list *list, const struct tsim_op_shape *z,
                                   const struct tsim_op_shape *encoder) {
    tsim_op_residual_backward(list, z, "residual 2");
    mlp_backward(list, z);
    tsim_op_norm_backward(list, z, "norm 2");
    tsim_op_cross_backward(list, z, encoder);
    attention_backward(list, z);
}

static void expert_layer_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    tsim_op_residual_backward(list, z, "residual 2");
    tsim_op_experts_backward(list, z);
    if (z->model->experts.shared > 0) {
        struct tsim_op_shape shared = shared_shape(z);
        mlp_backward(list, &shared);
        elementwise(list, "shared, add", z->ts * z->h, 3 * z->element_bytes, 1); /* gradients of the two inputs */
    }
    tsim_op_norm_backward(list, z, "norm 2");
    attention_backward(list, z);
}

static void table_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    if (z->mask_bytes > 0)
        elementwise(list, "embedding dropout", z->ts * z->h, 2 * z->element_bytes + z->mask_bytes, 1);
    if (z->sequence_parallel)
        tensor_collective(list, "tensor: gather, embedding", TSIM_OP_ALL_GATHER, z->t * z->h * z->element_bytes,
                          TSIM_EXPOSED);
    if (z->model->image.patch > 0) { /* pixels need no gradient */
        gemm(list, "patches, weight", z->attention_precision, z->h, tsim_model_patch_values(z->model), patches(z),
             z->element_bytes, 2 * z->gradient_bytes)
            ->is_weight_gradient = true;
        elementwise(list, "patches, bias gradient", patches(z) * z->h, z->element_bytes, 1)->is_weight_gradient = true;
        return;
    }
    /* Rows are sorted and added into the table's gradient. */
    elementwise(list, "embedding", z->t * z->h, z->element_bytes + 2 * z->gradient_bytes, 3)->is_weight_gradient = true;
}

static void pooler_backward(struct tsim_op_list *list, const struct tsim_op_shape *head) {
    struct tsim_op_shape first = *head; /* of each sample, on every tensor rank */
    first.tp = 1;
    first.sequence_parallel = false;
    first.t = head->b;
    elementwise(list, "pooler, tanh", first.t * first.h, 3 * first.element_bytes, 1);
    tsim_op_linear_backward(list, &first,
                            &(struct tsim_op_linear){.product = TSIM_NO_LAYER_PRODUCT,
                                                     .input = "pooler, input",
                                                     .weight = "pooler, weight",
                                                     .n = first.h,
                                                     .k = first.h});
}

static void head_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct tsim_op_shape head = head_shape(z);
    elementwise(list, "loss", head.t * z->vocab, loss_bytes(z, true), tsim_loss_is_fused(z->software) ? 1 : 3);
    tsim_op_linear_backward(list, &head,
                            &(struct tsim_op_linear){.product = TSIM_NO_LAYER_PRODUCT,
                                                     .input = "head, input",
                                                     .weight = "head, weight",
                                                     .gather = "tensor: gather input, head",
                                                     .reduce = "tensor: reduce, head",
                                                     .n = z->vocab,
                                                     .k = z->h,
                                                     .is_column_parallel = true});
    if (z->model->pooler)
        pooler_backward(list, &head);
    if (head.t < z->t) /* gradients of the tokens that were not picked are zero */
        elementwise(list, "head, put tokens back", z->ts * z->h, z->element_bytes, 1);
    tsim_op_norm_backward(list, z, "final norm");
}

static void embedding(struct tsim_op_list *list, const struct tsim_scenario *sc, bool is_backward) {
    struct tsim_op_shape first = shape_of(sc, false), last = shape_of(sc, true);
    (is_backward ? table_backward : table_forward)(list, &first);
    if (sc->model->encoder_layers > 0) /* the decoder's tokens, of the same table */
        (is_backward ? table_backward : table_forward)(list, &last);
}

static void second_layer(struct tsim_op_list *list, const struct tsim_scenario *sc, bool is_backward) {
    struct tsim_op_shape z = shape_of(sc, true), encoder = shape_of(sc, false);
    if (sc->model->encoder_layers > 0)
        (is_backward ? decoder_layer_backward : decoder_layer_forward)(list, &z, &encoder);
    else
        (is_backward ? expert_layer_backward : expert_layer_forward)(list, &z);
}

static void head(struct tsim_op_list *list, const struct tsim_scenario *sc, bool is_backward) {
    struct tsim_op_shape z = shape_of(sc, true), encoder = shape_of(sc, false);
    (is_backward ? head_backward : head_forward)(list, &z);
    if (sc->model->encoder_layers > 0)
        (is_backward ? tsim_op_norm_backward : tsim_op_norm_forward)(list, &encoder, "final norm, encoder");
}

static void fill(const struct tsim_scenario *sc, enum tsim_part part, bool is_backward, struct tsim_op_list *list) {
    struct tsim_op_shape z = shape_of(sc, false);
    list->n = 0;
    switch (part) {
    case TSIM_PART_EMBEDDING:
        embedding(list, sc, is_backward);
        return;
    case TSIM_PART_LAYER:
        (is_backward ? layer_backward : layer_forward)(list, &z);
        return;
    case TSIM_PART_EXPERT_LAYER:
        second_layer(list, sc, is_backward);
        return;
    case TSIM_PART_HEAD:
        head(list, sc, is_backward);
        return;
    case TSIM_N_PARTS:
        break;
    }
    TSIM_BUG("no part");
}

void tsim_operators_forward(const struct tsim_scenario *scenario, enum tsim_part part, struct tsim_op_list *list) {
    fill(scenario, part, false, list);
}

/* Of a product that joins others, what is left of it when every second product of the layer is kept: *count is that of
 * the products before. */
static bool halve_product(const struct tsim_op_shape *z, struct tsim_op *op, int *count) {
    double columns = 0;
    if (op->joined[0] > 0) {
        for (size_t i = 0; i < sizeof op->joined / sizeof op->joined[0]; i++)
            if (op->joined[i] > 0 && ++*count % 2 == 0)
                columns += op->joined[i];
    } else if (++*count % 2 == 0) {
        columns = op->n;
    }
    op->flops *= columns / op->n;
    op->bytes = z->linear_bytes * op->k * (op->m + columns) + z->element_bytes * op->m * columns;
    op->n = columns;
    return columns > 0;
}

static bool runs_again(const struct tsim_op_shape *z, unsigned parts, struct tsim_op *op, int *count) {
    if (!parts)
        return !(op->is_last_projection && z->software->checkpoint_early_stop);
    if (parts != TSIM_RECOMPUTE_OPERATORS)
        return op->parts & parts;
    bool is_kept = op->kind == TSIM_OP_FLASH || op->collective == TSIM_OP_REDUCE_SCATTER;
    bool is_product = op->kind == TSIM_OP_GEMM && op->batch == 1; /* scores are batches of products */
    bool runs = is_product ? halve_product(z, op, count) : !is_kept;
    return runs && !op->is_last_projection;
}

void tsim_operators_again(const struct tsim_scenario *scenario, enum tsim_part part, struct tsim_op_list *list) {
    struct tsim_op_shape z = shape_of(scenario, false);
    unsigned parts = tsim_recompute_parts(scenario);
    int32_t n = 0;
    int count = 0;
    fill(scenario, part, false, list);
    for (int32_t i = 0; i < list->n; i++)
        if (runs_again(&z, parts, &list->ops[i], &count))
            list->ops[n++] = list->ops[i];
    list->n = n;
}

void tsim_operators_backward(const struct tsim_scenario *scenario, enum tsim_part part, struct tsim_op_list *list) {
    fill(scenario, part, true, list);
}
