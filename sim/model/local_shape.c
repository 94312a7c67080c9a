/* Symbols: t tokens of the micro-batch on this context rank (b*s/cp), ts the tokens that norms, dropout and residuals
 * see (t/tp with sequence parallelism, else t), h hidden, q = heads*head_dim/tp, key = value = kv_heads*head_dim/tp (at
 * least one head), f = ffn_hidden/tp. With latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1; as in
 * training, where keys and values are expanded) query = key = heads*(nope_dim + rope_dim)/tp and value = q. */
#include "model/local_shape.h"

#include "config/lengths.h"

#include "model/operator_builders.h"
#include "model/parameter_bytes.h"

#include <math.h>

static struct tsim_op_shape shape_of(const struct tsim_scenario *sc, double length) {
    const struct tsim_model *m = sc->model;
    struct tsim_op_shape z = {.groups = 1, .scenario = sc, .model = m, .software = sc->software};
    z.tp = (double)sc->parallelism.tensor;
    z.cp = (double)sc->parallelism.context;
    z.b = (double)sc->training.micro_batch_size;
    z.s = length;
    z.sk = length + sc->cached_tokens;
    z.t = z.b * z.s / z.cp;
    z.tk = z.b * z.sk / z.cp;
    z.causal = m->causal && !(sc->cached_tokens > 0); /* the cache is of earlier tokens, which all are met */
    z.sums_later = m->parallel_block;
    z.is_biased = m->position == TSIM_POSITION_RELATIVE;
    z.sequence_parallel = sc->parallelism.sequence && z.tp > 1;
    z.ts = z.sequence_parallel ? z.t / z.tp : z.t;
    z.h = z.input = (double)m->hidden;
    z.heads = (double)m->heads / z.tp;
    z.q = z.heads * (double)m->head_dim;
    z.query = z.heads * tsim_model_key_dim(m);
    z.key = z.value = fmax((double)m->kv_heads / z.tp, 1) * (double)m->head_dim;
    if (m->latent.kv_rank > 0)
        z.key = z.query, z.value = z.q;
    z.gate = m->output_gate ? z.q : 0;
    z.f = (double)m->ffn_hidden / z.tp;
    z.element_bytes = activation_bytes(sc->training.precision);
    z.mask_bytes = sc->software->dropout > 0 ? 1 : 0;
    z.linear_precision = sc->training.precision;
    z.attention_precision = tsim_unquantized(sc->training.precision);
    z.linear_bytes = tsim_operand_bytes(sc->training.precision);
    z.gradient_bytes = tsim_gradient_bytes(sc);
    z.flash = sc->training.attention == TSIM_ATTENTION_FLASH;
    if (tsim_is_packed(sc)) {
        z.window = fmin(sc->training.lengths.attended, z.sk);
        z.is_chunk = true;
    }
    return z;
}

struct tsim_op_shape tsim_op_shape_first(const struct tsim_scenario *sc) {
    return shape_of(sc, tsim_pass_length(sc));
}

struct tsim_op_shape tsim_op_shape_last(const struct tsim_scenario *sc) {
    return shape_of(sc, tsim_last_length(sc));
}

double tsim_stream_bytes(const struct tsim_scenario *sc) {
    double e = sc->training.precision == TSIM_FP32 || sc->training.precision == TSIM_TF32 ? 4 : 2;
    double tokens =
        (double)(sc->training.micro_batch_size *
                 ((int64_t)tsim_pass_length(sc) + sc->training.decoder_sequence_length) / sc->parallelism.context);
    return tokens * (double)sc->model->hidden * e;
}

int tsim_op_stacks(const struct tsim_scenario *sc, struct tsim_op_shape *shapes) {
    int n = tsim_model_stacks(sc->model);
    shapes[0] = tsim_op_shape_first(sc);
    if (n > 1)
        shapes[n - 1] = tsim_op_shape_last(sc);
    return n;
}

double tsim_cached_width(const struct tsim_op_shape *z) {
    const struct tsim_latent *latent = &z->model->latent;
    return latent->kv_rank > 0 ? (double)(latent->kv_rank + latent->rope_dim) : z->key + z->value;
}

double tsim_expanded_width(const struct tsim_op_shape *z) {
    return z->key - z->heads * (double)z->model->latent.rope_dim + z->value;
}

struct tsim_op_shape tsim_own_tokens(const struct tsim_op_shape *z) {
    struct tsim_op_shape own = *z;
    own.tp = 1;
    own.t = z->ts;
    own.sequence_parallel = false;
    return own;
}

/* ---- of the whole model ---- */

double tsim_model_key_dim(const struct tsim_model *m) {
    const struct tsim_latent *latent = &m->latent;
    if (latent->kv_rank == 0)
        return (double)m->head_dim;
    return (double)((latent->nope_dim > 0 ? latent->nope_dim : m->head_dim) + latent->rope_dim);
}

double tsim_model_up_products(const struct tsim_model *m) {
    return m->gated_mlp ? 2 : 1;
}

double tsim_active_frac(const struct tsim_model *m) {
    return m->experts.count > 0 ? (double)m->experts.active / (double)m->experts.count : 0;
}

int tsim_model_stacks(const struct tsim_model *m) {
    return m->encoder_layers > 0 ? 2 : 1;
}

bool tsim_model_diffuses(const struct tsim_model *m) {
    return m->diffusion.values > 0;
}

bool tsim_model_is_of_patches(const struct tsim_model *m) {
    return m->image.patch > 0 || tsim_model_diffuses(m);
}

double tsim_model_patches(const struct tsim_model *m) {
    double side = (double)(m->image.size / m->image.patch);
    return side * side;
}

double tsim_model_patch_values(const struct tsim_model *m) {
    return (double)(m->image.channels * m->image.patch * m->image.patch);
}

double tsim_last_length(const struct tsim_scenario *sc) {
    return tsim_model_stacks(sc->model) > 1 ? (double)sc->training.decoder_sequence_length : tsim_pass_length(sc);
}

double tsim_head_tokens(const struct tsim_scenario *sc) {
    double samples = (double)sc->training.micro_batch_size, head_frac = sc->model->head_frac;
    if (sc->model->image.patch > 0)
        return samples;
    return (head_frac > 0 ? head_frac : 1) * samples * tsim_last_length(sc) / (double)sc->parallelism.context;
}

double tsim_head_columns(const struct tsim_scenario *sc) {
    const struct tsim_head_rows *rows = &sc->model->head_rows;
    if (rows->each == 0)
        return tsim_padded_vocab_per_rank(sc);
    return ((double)rows->each + rows->tail_frac * (double)rows->tail) / (double)sc->parallelism.tensor;
}

double tsim_padded_vocab_per_rank(const struct tsim_scenario *scenario) {
    if (tsim_model_diffuses(scenario->model))
        return (double)scenario->model->diffusion.out_values;
    if (scenario->model->image.patch > 0)
        return (double)scenario->model->vocab;
    double tp = (double)scenario->parallelism.tensor, step = 128 * tp;
    return ceil((double)scenario->model->vocab / step) * step / tp;
}
