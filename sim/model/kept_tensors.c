/* The tensors that layers of several kinds keep. */
#include "model/kept.h"

#include "model/adapter.h"
#include "model/local_shape.h"
#include "model/operator_builders.h"

static double core_bytes(const struct tsim_op_shape *z) {
    double rows = z->t * z->heads, e = z->element_bytes;
    if (z->flash)
        return 4 * rows; /* log-sum-exp of each row */
    /* softmax's result, dropout's mask and result */
    return rows * z->sk * (z->mask_bytes > 0 ? 2 * e + z->mask_bytes : e);
}

double tsim_inner_kept_bytes(const struct tsim_op_shape *z, unsigned parts) {
    double up = tsim_model_up_products(z->model),
           input = z->software->fp8_activation_input ? z->linear_bytes : z->element_bytes;
    if (parts & TSIM_RECOMPUTE_ACTIVATION)
        return up * input;
    /* Written out, the product of the two keeps the activated one as well. */
    double activated = tsim_op_activation_kernels(z, false) > 1 ? z->element_bytes : 0;
    return up * input + activated + (tsim_keeps_input(z, tsim_adapters_of(z, TSIM_PRODUCT_DOWN)) ? z->linear_bytes : 0);
}

void tsim_keep_ffn(const struct tsim_op_shape *z, const char *name, double width, unsigned parts,
                   struct tsim_kept *kept) {
    if (!(parts & TSIM_RECOMPUTE_FFN))
        tsim_keep(kept, name, z->t * width * tsim_inner_kept_bytes(z, parts));
    tsim_keep(kept, "feed-forward: adapters",
              tsim_adapters_kept_bytes(z, tsim_adapters_of(z, TSIM_PRODUCT_UP)) +
                  tsim_adapters_kept_bytes(z, tsim_adapters_of(z, TSIM_PRODUCT_DOWN)));
}

static double latent_width(const struct tsim_model *m) {
    return m->latent.kv_rank > 0 ? (double)(m->latent.query_rank + m->latent.kv_rank) : 0;
}

/* Returns adapters that take attention's input, if there are any. */
static struct tsim_adapters on_input(const struct tsim_op_shape *z) {
    if (z->model->latent.kv_rank == 0 || !tsim_is_frozen(z->scenario))
        return tsim_adapters_of(z, TSIM_PRODUCT_QKV);
    struct tsim_latent_adapters latent = tsim_latent_adapters(z);
    struct tsim_adapters of_query = z->model->latent.query_rank > 0 ? latent.query_down : latent.query_up;
    return of_query.count > 0 ? of_query : latent.down;
}

static double kept_inputs_frac(const struct tsim_op_shape *z) {
    return (tsim_keeps_input(z, on_input(z)) + tsim_keeps_input(z, tsim_adapters_of(z, TSIM_PRODUCT_UP))) / 2.0;
}

/* Returns the bytes that a norm keeps of an element of its input: for an RMS norm in fp32 that copy, and if it is
 * written out and its scale is trained, also the normalized values. */
static double norm_input_bytes(const struct tsim_op_shape *z) {
    if (z->model->norm == TSIM_NORM_RMSNORM && z->software->norms == TSIM_NORMS_FUSED_FP32)
        return 4;
    return norms_are_written_out(z) ? 4 + (tsim_is_frozen(z->scenario) ? 0 : z->element_bytes) : z->element_bytes;
}

/* Returns the width of keys and values as attention takes them. Eager software writes them for every query head. If
 * there are as many heads of keys as of queries, values stay a part of the product's result, which is kept whole beside
 * rotated queries and keys. */
static double kept_keys_and_values(const struct tsim_op_shape *z) {
    enum tsim_attention_layout layout = z->software->attention_layout;
    bool is_eager = z->software->fusion == TSIM_FUSION_NONE && z->model->latent.kv_rank == 0;
    if (!is_eager || (layout != TSIM_LAYOUT_REPEATED && layout != TSIM_LAYOUT_GROUPED))
        return z->key + z->value;
    if (z->key < z->query)
        return z->query + z->q;
    bool holds_result = layout == TSIM_LAYOUT_GROUPED && z->model->position == TSIM_POSITION_ROPE;
    return z->key + z->value + (holds_result ? z->query + z->key : 0);
}

/* Keeps the inputs of norms, of products and the masks of its blocks; queries, keys and values; attention's result and,
 * in fp8, its copy. */
void tsim_keep_attention(const struct tsim_op_shape *z, unsigned parts, struct tsim_kept *kept) {
    double e = z->element_bytes, linear = z->linear_bytes, latent = latent_width(z->model);
    double blocks = z->model->parallel_block || z->is_alone ? 1 : 2; /* with a norm, an input and a mask each */
    bool gives_stream = parts & TSIM_RECOMPUTE_OUTPUT && blocks > 1; /* again, between the blocks */
    double of_norm = parts & TSIM_RECOMPUTE_NORMS ? e : norm_input_bytes(z);
    tsim_keep(kept, "inputs of the norms", z->ts * (gives_stream ? 1 : blocks) * z->h * of_norm);
    if (!(parts & TSIM_RECOMPUTE_NORMS))
        tsim_keep(kept, "inputs of the blocks",
                  z->ts * (z->model->parallel_norms ? 2 : blocks) * kept_inputs_frac(z) * z->h * linear);
    tsim_keep(kept, "masks of dropout", z->ts * blocks * z->h * z->mask_bytes);
    tsim_keep(kept, "latent vectors and their norms", z->ts * 2 * latent * e);
    if (!(parts & TSIM_RECOMPUTE_LATENT && latent > 0))
        tsim_keep(kept, "queries, keys, values", z->t * (z->query + kept_keys_and_values(z)) * attention_bytes(z));
    if (z->model->wide_qk_norm)
        tsim_keep(kept, "queries, keys: inputs of norms", z->t * z->tp * (z->query + z->key) * norm_input_bytes(z));
    if (z->model->qk_norm && latent == 0)
        tsim_keep(kept, "queries, keys: inputs of norms", z->t * (z->query + z->key) * norm_input_bytes(z));
    tsim_keep(kept, "gate of attention, and its result", z->t * 2 * z->gate * e);
    tsim_keep(kept, "attention: adapters", tsim_attention_adapters_kept_bytes(z));
    if (!(parts & TSIM_RECOMPUTE_ATTENTION && (parts & TSIM_RECOMPUTE_OUTPUT || z->software->recomputes_inputs)))
        tsim_keep(kept, "result of attention", z->t * z->q * (attention_bytes(z) + (linear < e ? linear : 0)));
}

void tsim_keep_core_of(const struct tsim_op_shape *z, const char *name, unsigned parts, struct tsim_kept *kept) {
    int32_t n = kept->n;
    if (!(parts & TSIM_RECOMPUTE_ATTENTION))
        tsim_keep(kept, name, core_bytes(z));
    if (kept->n > n)
        kept->rows[n].is_core = true;
}

void tsim_keep_core(const struct tsim_op_shape *z, unsigned parts, struct tsim_kept *kept) {
    tsim_keep_core_of(z, z->flash ? "attention: statistics of rows" : "attention: scores and their masks", parts, kept);
}

void tsim_keep_operators(const struct tsim_op_shape *z, struct tsim_kept *kept) {
    double e = z->element_bytes;
    bool is_gated = z->model->gated_mlp;
    tsim_keep(kept, "input of the layer", z->ts * z->h * e);
    tsim_keep(kept, "queries and values", z->t * (z->query + z->value) * e);
    if (z->flash)
        tsim_keep(kept, "result of attention", z->t * z->q * e);
    tsim_keep(kept, is_gated ? "feed-forward: gate and result" : "feed-forward: inner tensor",
              (z->t * z->f + (is_gated ? z->ts * z->h : 0)) * e);
    if (z->flash)
        tsim_keep_core(z, 0, kept);
}

double tsim_ffn_widest_bytes(const struct tsim_op_shape *z) {
    return tsim_model_up_products(z->model) * z->t * z->f * z->element_bytes;
}

double tsim_attention_waiting(const struct tsim_op_shape *z) {
    /* Inputs of column-parallel products are gathered again with W. */
    double inputs = z->ts * (z->h + 2 * latent_width(z->model)) + z->t * z->q,
           gradients = z->t * ((z->query + z->key + z->value + z->gate) + z->h);
    return inputs + gradients;
}

double tsim_ffn_waiting(const struct tsim_op_shape *z, double width) {
    double up = tsim_model_up_products(z->model);
    return z->ts * z->h + (width > 0 ? z->t * ((1 + up) * width + z->h) : 0);
}
