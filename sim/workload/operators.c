/* The lists are written in the order of execution, with bytes per element spelled out:
 *   bf16/fp16 activations are E = 2 bytes, dropout masks 1 byte, fp32 is 4 bytes.
 * Symbols: t tokens of the micro-batch on this context rank (b*s/cp), ts the tokens that norms, dropout and residuals
 * see (t/tp with sequence parallelism, else t), h hidden, q = heads*head_dim/tp, key = value = kv_heads*head_dim/tp (at
 * least one head), f = ffn_hidden/tp. With latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1; as in
 * training, where keys and values are expanded) query = key = heads*(head_dim + rope_dim)/tp and value = q. */
#include "workload/operators.h"

#include "workload/model.h"
#include "workload/operator_builders.h"
#include "workload/optimizer.h"

#include <math.h>

/* Gives the shape of the first stack, or of the last: where there is one, they are the same. */
static struct tsim_op_shape shape_of(const struct tsim_scenario *sc, bool is_last) {
    const struct tsim_model *m = sc->model;
    struct tsim_op_shape z = {.groups = 1, .scenario = sc, .model = m, .software = sc->software};
    z.tp = (double)sc->parallelism.tensor;
    z.cp = (double)sc->parallelism.context;
    z.b = (double)sc->training.micro_batch_size;
    z.s = z.sk = is_last ? tsim_last_length(sc) : (double)sc->training.sequence_length;
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

/* Side by side (parallel_block: GPT-J, PaLM) both blocks take the one norm's result, which is gathered once, or each
 * that of its own (parallel_norms: GPT-NeoX); their partial sums are added before they are reduced once. */
static void layer_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    tsim_op_attention_forward(list, z);
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
    tsim_op_attention_forward(list, z);
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
    tsim_op_attention_forward(list, z);
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

/* ---- backward ---- */

static void mlp_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    tsim_op_product_backward(list, z, TSIM_PRODUCT_DOWN,
                             &(struct tsim_op_linear){.input = "ffn down, input",
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
    tsim_op_product_backward(list, z, TSIM_PRODUCT_UP,
                             &(struct tsim_op_linear){.input = "ffn up, input",
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
    tsim_op_attention_backward(list, z);
}

static void decoder_layer_backward(struct tsim_op_list *list, const struct tsim_op_shape *z,
                                   const struct tsim_op_shape *encoder) {
    tsim_op_residual_backward(list, z, "residual 2");
    mlp_backward(list, z);
    tsim_op_norm_backward(list, z, "norm 2");
    tsim_op_cross_backward(list, z, encoder);
    tsim_op_attention_backward(list, z);
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
    tsim_op_attention_backward(list, z);
}

static void embedding(struct tsim_op_list *list, const struct tsim_scenario *sc, bool is_backward) {
    struct tsim_op_shape first = shape_of(sc, false), last = shape_of(sc, true);
    (is_backward ? tsim_op_table_backward : tsim_op_table_forward)(list, &first);
    if (sc->model->encoder_layers > 0) /* the decoder's tokens, of the same table */
        (is_backward ? tsim_op_table_backward : tsim_op_table_forward)(list, &last);
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
    (is_backward ? tsim_op_head_backward : tsim_op_head_forward)(list, &z);
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

/* Leaves of a product that joins others what remains when every second product of the layer is kept: *count is that of
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
    if (parts != TSIM_RECOMPUTE_OPERATORS) /* 0: whole layers */
        return (!parts || op->parts & parts) && !(op->is_last_projection && z->software->checkpoint_early_stop);
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
