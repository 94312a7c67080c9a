/* The ends of a model of tokens or patches: the embedding, and from the final norm to the loss. */
#include "model/operator_builders.h"

#include "model/local_shape.h"

#include <math.h>

static double patches(const struct tsim_op_shape *z) {
    return z->b / z->cp * tsim_model_patches(z->model);
}

/* Looks up rows of a table that the tensor ranks divide, or puts patches through a product (a convolution without
 * overlap). */
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

static void table_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    if (z->mask_bytes > 0)
        elementwise(list, "embedding dropout", z->ts * z->h, 2 * z->element_bytes + z->mask_bytes, 1);
    if (z->sequence_parallel)
        tensor_collective(list, "tensor: gather, embedding", TSIM_OP_ALL_GATHER, z->t * z->h * z->element_bytes,
                          TSIM_EXPOSED);
    if (tsim_is_frozen(z->scenario))
        return;
    if (z->model->image.patch > 0) { /* pixels need no gradient */
        gemm(list, "patches, weight", z->attention_precision, z->h, tsim_model_patch_values(z->model), patches(z),
             z->element_bytes, 2 * z->gradient_bytes)
            ->is_weight_gradient = true;
        if (!z->model->image.unbiased)
            elementwise(list, "patches, bias gradient", patches(z) * z->h, z->element_bytes, 1)->is_weight_gradient =
                true;
        return;
    }
    /* Rows are sorted and added into the table's gradient. */
    elementwise(list, "embedding", z->t * z->h, z->element_bytes + 2 * z->gradient_bytes, 3)->is_weight_gradient = true;
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

/* Returns the bytes of a logit when the loss, and what is computed beside it, read it. */
static double loss_element_bytes(const struct tsim_op_shape *z) {
    return z->software->cross_entropy == TSIM_LOSS_FUSED_FP32 ? 4 : z->element_bytes;
}

static double loss_bytes(const struct tsim_op_shape *z, bool backward) {
    double e = z->element_bytes;
    if (z->software->cross_entropy == TSIM_LOSS_FUSED_FP32) /* converted; backward in place and converted back */
        return converted_bytes(e) + (backward ? 8 : 4);
    if (tsim_loss_is_fused(z->software))
        return 2 * e;
    if (z->software->cross_entropy == TSIM_LOSS_SHIFTED) /* copied; backward into zeros of the whole */
        return backward ? converted_bytes(e) + 16 + 12 : written_out_loss_bytes(e) + 8;
    if (z->software->fusion == TSIM_FUSION_MEGATRON || z->software->fusion == TSIM_FUSION_TE)
        return converted_bytes(e) + (backward ? 8 : 32);
    return backward ? converted_bytes(e) + 16 : written_out_loss_bytes(e);
}

/* The head keeps attention's precision if linear layers run in fp8. An image's classifier is whole on every tensor
 * rank. */
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

/* Returns how many pieces of a sample's tokens the head takes, one after another. */
static double head_pieces(const struct tsim_op_shape *z) {
    int64_t tokens = z->software->head_tokens;
    return tokens > 0 ? ceil(tsim_last_length(z->scenario) / (double)tokens) : 1;
}

/* Each piece reads the weight, or writes a gradient of all of it. */
static void in_pieces(struct tsim_op *op, double pieces) {
    double whole = op->is_weight_gradient ? op->m * op->n : op->n * op->k;
    *(op->is_weight_gradient ? &op->k : &op->m) /= pieces;
    op->batch = op->kernels = pieces;
    op->is_sequential = pieces > 1;
    op->bytes += (pieces - 1) * whole * tsim_operand_bytes(op->precision);
}

static void take_head_weight(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    if (z->software->quantizes_head)
        tsim_op_take_weight(list, z, head_pieces(z) * tsim_head_columns(z->scenario) * z->h);
}

/* The product and the loss over its result. */
static void logits_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct tsim_op_shape *head) {
    double e = z->element_bytes, vocab = tsim_head_columns(z->scenario);
    take_head_weight(list, head);
    in_pieces(gemm(list, "head", head->linear_precision, head->t, vocab, z->h, e, e), head_pieces(z));
    elementwise(list, "loss", head->t * vocab, loss_bytes(z, false), tsim_loss_is_fused(z->software) ? 1 : 6);
}

static void head_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double e = z->element_bytes, vocab = tsim_head_columns(z->scenario);
    struct tsim_op_shape head = head_shape(z);
    if (!z->model->recurrent)
        tsim_op_norm_forward(list, z, "final norm");
    tsim_op_gather_input(list, &head, "tensor: gather, head", z->h);
    if (z->model->pooler) {
        gemm(list, "pooler", head.linear_precision, z->b, z->h, z->h, e, e);
        elementwise(list, "pooler, tanh", z->b * z->h, 2 * e, 1);
    }
    if (head.t < z->t) /* the head's tokens are picked out */
        elementwise(list, "head, pick tokens", head.t * z->h, 2 * e, 1);
    logits_forward(list, z, &head);
    double metrics = (double)z->software->loss_metrics;
    if (metrics > 0)
        elementwise(list, "metrics of the loss", head.t * vocab,
                    metrics * written_out_loss_bytes(loss_element_bytes(z)), 6 * metrics);
}

static void pooler_backward(struct tsim_op_list *list, const struct tsim_op_shape *head) {
    struct tsim_op_shape first = *head; /* of each sample, on every tensor rank */
    first.tp = 1;
    first.sequence_parallel = false;
    first.t = head->b;
    elementwise(list, "pooler, tanh", first.t * first.h, 3 * first.element_bytes, 1);
    tsim_op_linear_backward(list, &first,
                            &(struct tsim_op_linear){.input = "pooler, input",
                                                     .weight = "pooler, weight",
                                                     .n = first.h,
                                                     .k = first.h,
                                                     .is_never_quantized = true});
}

/* Adds the gradients of a table that is used in pieces: each is copied into zeros of the whole, and they are summed. */
static void join_pieces(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double pieces = (double)z->model->head_rows.clusters + 1, e = z->element_bytes,
           table = tsim_padded_vocab_per_rank(z->scenario) * z->h;
    if (pieces > 1)
        elementwise(list, "head, join gradients", table, pieces * e + (pieces - 1) * 3 * e, 2 * pieces - 1)
            ->is_weight_gradient = true;
}

static void head_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double vocab = tsim_head_columns(z->scenario);
    struct tsim_op_shape head = head_shape(z);
    if (z->software->recomputes_logits)
        logits_forward(list, z, &head);
    elementwise(list, "loss", head.t * vocab, loss_bytes(z, true), tsim_loss_is_fused(z->software) ? 1 : 3);
    take_head_weight(list, &head);
    int32_t first = list->n;
    tsim_op_linear_backward(list, &head,
                            &(struct tsim_op_linear){.input = "head, input",
                                                     .weight = "head, weight",
                                                     .gather = "tensor: gather input, head",
                                                     .reduce = "tensor: reduce, head",
                                                     .n = vocab,
                                                     .k = z->h,
                                                     .is_never_quantized = true,
                                                     .is_column_parallel = true});
    for (int32_t i = first; i < list->n; i++)
        if (list->ops[i].kind == TSIM_OP_GEMM)
            in_pieces(&list->ops[i], head_pieces(z));
    if (z->software->head_tokens > 0 && !tsim_is_frozen(z->scenario))
        elementwise(list, "head, add gradients", (head_pieces(z) - 1) * vocab * z->h, 3 * z->element_bytes,
                    head_pieces(z) - 1)
            ->is_weight_gradient = true;
    join_pieces(list, z);
    if (z->model->pooler)
        pooler_backward(list, &head);
    if (head.t < z->t) /* gradients of the tokens that were not picked are zero */
        elementwise(list, "head, put tokens back", z->ts * z->h, z->element_bytes, 1);
    if (!z->model->recurrent)
        tsim_op_norm_backward(list, z, "final norm");
}

/* ---- modules that predict further tokens ---- */

/* DeepSeek-AI 2024, section 2.2: the embedding of the next token is looked up in the shared table; it and the hidden
 * state are normalized, joined and projected. Megatron-Core divides the columns of that product, gathers its result and
 * goes on with shards of tokens (megatron/core/transformer/multi_token_prediction.py). The module's layers are among the
 * model's; behind them come a norm, the shared head and a loss. */
static void further_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double e = z->element_bytes, n = z->h / z->tp, k = 2 * z->h;
    table_forward(list, z);
    tsim_op_norm_forward(list, z, "norm, embedding of the next token");
    tsim_op_norm_forward(list, z, "norm, hidden state");
    elementwise(list, "further token, join", z->ts * k, 2 * e, 1);
    cast(list, z, "cast, further token", z->ts * k);
    tsim_op_gather_input(list, z, "tensor: gather, further token", k);
    tsim_op_take_weight(list, z, n * k);
    gemm(list, "further token", z->linear_precision, z->t, n, k, z->linear_bytes, e);
    if (z->tp > 1)
        tensor_collective(list, "tensor: gather result, further token", TSIM_OP_ALL_GATHER, z->t * z->h * e,
                          TSIM_EXPOSED);
    head_forward(list, z);
}

static void further_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    double e = z->element_bytes, k = 2 * z->h;
    head_backward(list, z);
    if (z->sequence_parallel)
        tensor_collective(list, "tensor: gather gradient, further token", TSIM_OP_ALL_GATHER, z->t * z->h * e,
                          TSIM_EXPOSED);
    tsim_op_linear_backward(list, z,
                            &(struct tsim_op_linear){.input = "further token, input",
                                                     .weight = "further token, weight",
                                                     .gather = "tensor: gather input, further token",
                                                     .reduce = "tensor: reduce, further token",
                                                     .n = z->h / z->tp,
                                                     .k = k,
                                                     .is_column_parallel = true});
    elementwise(list, "further token, split", z->ts * k, 2 * e, 2);
    tsim_op_norm_backward(list, z, "norm, hidden state");
    tsim_op_norm_alone_backward(list, z, "norm, embedding of the next token");
    table_backward(list, z);
}

/* ---- of all stacks ---- */

/* Tokens of each stack are looked up, in the same table. */
static void embedding_forward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at,
                              struct tsim_op_list *list) {
    struct tsim_op_shape stacks[TSIM_MAX_STACKS];
    int n = tsim_op_stacks(sc, stacks);
    (void)part, (void)at;
    if (tsim_model_diffuses(sc->model)) {
        tsim_diffusion_embedding_forward(list, &stacks[0]);
        return;
    }
    for (int i = 0; i < n; i++)
        table_forward(list, &stacks[i]);
    if (sc->model->tower.layers > 0) {
        struct tsim_scenario own;
        tsim_tower_scenario(sc, &own);
        struct tsim_op_shape tower = tsim_op_shape_first(&own);
        table_forward(list, &tower);
    }
}

static void embedding_backward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at,
                               struct tsim_op_list *list) {
    struct tsim_op_shape stacks[TSIM_MAX_STACKS];
    int n = tsim_op_stacks(sc, stacks);
    (void)part, (void)at;
    if (tsim_model_diffuses(sc->model)) {
        tsim_diffusion_embedding_backward(list, &stacks[0]);
        return;
    }
    for (int i = 0; i < n; i++)
        table_backward(list, &stacks[i]);
    if (sc->model->tower.layers > 0 && !tsim_tower_is_frozen(sc)) {
        struct tsim_scenario own;
        tsim_tower_scenario(sc, &own);
        struct tsim_op_shape tower = tsim_op_shape_first(&own);
        table_backward(list, &tower);
    }
}

/* The head follows the last stack; the results of the other stacks are normalized, too. */
static void end_forward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    struct tsim_op_shape stacks[TSIM_MAX_STACKS];
    int n = tsim_op_stacks(sc, stacks);
    (void)part, (void)at;
    if (tsim_model_diffuses(sc->model)) {
        tsim_diffusion_head_forward(list, &stacks[0]);
        return;
    }
    head_forward(list, &stacks[n - 1]);
    for (int64_t i = 0; i < sc->model->mtp_modules; i++)
        further_forward(list, &stacks[n - 1]);
    for (int i = 0; i < n - 1 && !sc->model->recurrent; i++)
        tsim_op_norm_forward(list, &stacks[i], "final norm, encoder");
}

static void end_backward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    struct tsim_op_shape stacks[TSIM_MAX_STACKS];
    int n = tsim_op_stacks(sc, stacks);
    (void)part, (void)at;
    if (tsim_model_diffuses(sc->model)) {
        tsim_diffusion_head_backward(list, &stacks[0]);
        return;
    }
    for (int64_t i = 0; i < sc->model->mtp_modules; i++)
        further_backward(list, &stacks[n - 1]);
    head_backward(list, &stacks[n - 1]);
    for (int i = 0; i < n - 1 && !sc->model->recurrent; i++)
        tsim_op_norm_backward(list, &stacks[i], "final norm, encoder");
}

const struct tsim_whole_layer tsim_embedding_end = {.forward = embedding_forward, .backward = embedding_backward};
const struct tsim_whole_layer tsim_head_end = {.forward = end_forward, .backward = end_backward};
