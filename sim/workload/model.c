#include "workload/model.h"

#include "workload/layer_list.h"
#include "workload/tables.h"

/* Queries and keys with values: from the residual stream, or from latent vectors that have a norm of their own. */
static void count_attention(const struct tsim_model *m, struct tsim_parameters *p) {
    double h = (double)m->hidden, bias = m->bias ? 1 : 0, qkv_bias = m->bias || m->qkv_bias ? 1 : 0,
           heads = (double)m->heads, d = (double)m->head_dim;
    double q = heads * d, kv = (double)m->kv_heads * d;
    if (m->latent.kv_rank == 0) {
        p->layer_attention = h * (q + 2 * kv) + q * h + qkv_bias * (q + 2 * kv) + bias * h;
        p->layer_latent = 0;
        return;
    }
    double query_rank = (double)m->latent.query_rank, kv_rank = (double)m->latent.kv_rank,
           rope = (double)m->latent.rope_dim;
    p->layer_attention = (query_rank > 0 ? query_rank : h) * heads * (d + rope) + kv_rank * heads * 2 * d + q * h;
    p->layer_latent = h * query_rank + query_rank + h * (kv_rank + rope) + kv_rank;
}

static double mlp(const struct tsim_model *m, double inner) {
    double h = (double)m->hidden, up = m->gated_mlp ? 2 : 1;
    return (up + 1) * h * inner + (m->bias ? up * inner + h : 0);
}

double tsim_model_patches(const struct tsim_model *m) {
    double side = (double)(m->image.size / m->image.patch);
    return side * side;
}

double tsim_model_patch_values(const struct tsim_model *m) {
    return (double)(m->image.channels * m->image.patch * m->image.patch);
}

bool tsim_model_is_of_samples(const struct tsim_model *m) {
    return m->list || m->image.patch > 0;
}

/* Dosovitskiy et al. 2020: patches are projected with a bias, the class token is learned, the classifier has a bias. */
static void count_image(const struct tsim_model *m, struct tsim_parameters *p) {
    double h = (double)m->hidden;
    p->embedding = (tsim_model_patch_values(m) + 1) * h + h + (double)(m->positions * m->hidden + m->other_parameters);
    p->head = (h + 1) * (double)m->vocab;
}

void tsim_model_count(const struct tsim_model *m, struct tsim_parameters *p) {
    double h = (double)m->hidden, vocab = (double)m->vocab;
    if (m->list) {
        *p = (struct tsim_parameters){.layer_ffn = tsim_list_parameters(m) / (double)m->layers};
        return;
    }
    const struct tsim_experts *e = &m->experts;
    /* A norm has a scale, a layer norm a shift as well. */
    double norm = (m->norm == TSIM_NORM_LAYERNORM ? 2 : 1) * h;
    *p = (struct tsim_parameters){.embedding = vocab * h + (double)(m->positions * m->hidden + m->other_parameters),
                                  .layer_norms = (m->parallel_block && !m->parallel_norms ? 1 : 2) * norm +
                                                 (m->qk_norm ? 2 * (double)m->head_dim : 0),
                                  .layer_ffn = mlp(m, (double)m->ffn_hidden),
                                  .final_norm = norm,
                                  .head = m->tied_embeddings ? 0 : vocab * h};
    p->pooler = m->pooler ? h * h + h : 0;
    if (m->encoder_layers > 0)
        p->final_norm *= 2;
    p->embedding += (m->encoder_layers > 0 ? 2 : 1) * (double)(m->relative_buckets * m->heads);
    if (m->image.patch > 0)
        count_image(m, p);
    count_attention(m, p);
    p->layer_cross = m->encoder_layers > 0 ? p->layer_attention : 0;
    p->layer_cross_norm = m->encoder_layers > 0 ? norm : 0;
    if (e->count == 0)
        return;
    p->layer_router = (h + (e->router_bias ? 1 : 0)) * (double)e->count;
    p->layer_shared = (double)e->shared * mlp(m, (double)e->ffn_hidden);
    p->layer_experts = (double)e->count * mlp(m, (double)e->ffn_hidden);
}

static int64_t expert_layers_before(const struct tsim_model *m, int64_t layer) {
    const struct tsim_experts *e = &m->experts;
    if (m->encoder_layers > 0)
        return layer > m->encoder_layers ? layer - m->encoder_layers : 0;
    return e->count == 0 || layer <= e->first ? 0 : (layer - e->first) / e->every;
}

int64_t tsim_model_expert_layers(const struct tsim_model *m, int64_t from, int64_t to) {
    return expert_layers_before(m, to) - expert_layers_before(m, from);
}

const char *tsim_model_layer_word(const struct tsim_model *m, bool is_second) {
    if (m->list)
        return "block";
    if (m->encoder_layers > 0)
        return is_second ? "decoder layer" : "encoder layer";
    return is_second ? "expert layer" : "layer";
}

double tsim_model_key_dim(const struct tsim_model *m) {
    return (double)(m->head_dim + (m->latent.kv_rank > 0 ? m->latent.rope_dim : 0));
}

/* All layers, with `used_frac` of each layer's experts. */
static double layers_parameters(const struct tsim_model *m, const struct tsim_parameters *p, double used_frac) {
    double n = (double)m->layers, with_experts = (double)tsim_model_expert_layers(m, 0, m->layers);
    if (m->encoder_layers > 0)
        return n * (p->layer_attention + p->layer_norms + p->layer_ffn) +
               with_experts * (p->layer_cross + p->layer_cross_norm);
    return n * (p->layer_attention + p->layer_latent + p->layer_norms) + (n - with_experts) * p->layer_ffn +
           with_experts * (p->layer_router + p->layer_shared + used_frac * p->layer_experts);
}

static double active_frac(const struct tsim_model *m) {
    return m->experts.count > 0 ? (double)m->experts.active / (double)m->experts.count : 0;
}

double tsim_model_parameters(const struct tsim_model *m) {
    if (m->list)
        return tsim_list_parameters(m) + tsim_tables_parameters(m);
    struct tsim_parameters p;
    tsim_model_count(m, &p);
    return p.embedding + layers_parameters(m, &p, 1) + p.final_norm + p.head + p.pooler;
}

double tsim_model_active_parameters(const struct tsim_model *m) {
    if (m->list)
        return tsim_list_parameters(m) + tsim_tables_active_parameters(m);
    struct tsim_parameters p;
    tsim_model_count(m, &p);
    return p.embedding + layers_parameters(m, &p, active_frac(m)) + p.final_norm + p.head + p.pooler;
}

double tsim_model_mtp_parameters(const struct tsim_model *m) {
    struct tsim_model without = *m;
    without.layers -= m->mtp_layers;
    return m->mtp_layers > 0 ? tsim_model_parameters(m) - tsim_model_parameters(&without) : 0;
}

double tsim_model_core_attention_forward_flops_per_token(const struct tsim_model *m, double sequence_length) {
    return 2 * (double)(m->layers * m->heads) * (tsim_model_key_dim(m) + (double)m->head_dim) * sequence_length;
}

double tsim_model_flops_per_token(const struct tsim_model *m, double sequence_length) {
    if (m->list)
        return tsim_list_flops_per_sample(m);
    return 6 * tsim_model_active_parameters(m) +
           3 * tsim_model_core_attention_forward_flops_per_token(m, sequence_length);
}

double tsim_model_layers_forward_flops_per_token(const struct tsim_model *m, double sequence_length) {
    struct tsim_parameters p;
    tsim_model_count(m, &p);
    double norms = (double)m->layers * p.layer_norms;
    return 2 * (layers_parameters(m, &p, active_frac(m)) - norms) +
           tsim_model_core_attention_forward_flops_per_token(m, sequence_length);
}

/* ---- encoder and decoder ---- */

double tsim_model_stacked_core_forward_flops_per_token(const struct tsim_model *m, double encoder_length,
                                                       double decoder_length) {
    double encoders = (double)m->encoder_layers, decoders = (double)m->layers - encoders;
    double scores =
        encoders * encoder_length * encoder_length + decoders * decoder_length * (decoder_length + encoder_length);
    return 4 * (double)(m->heads * m->head_dim) * scores / encoder_length;
}

/* Products of the layers, one multiplication with addition for each token that a parameter meets: keys and values of
 * the cross attention meet the encoder's tokens. */
static double stacked_layer_macs(const struct tsim_model *m, double encoder_length, double decoder_length) {
    struct tsim_parameters p;
    tsim_model_count(m, &p);
    double encoders = (double)m->encoder_layers, decoders = (double)m->layers - encoders;
    double of_encoder = (double)(2 * m->kv_heads * m->head_dim * m->hidden);
    double layer = p.layer_attention + p.layer_ffn;
    return encoders * layer * encoder_length +
           decoders * ((layer + p.layer_cross - of_encoder) * decoder_length + of_encoder * encoder_length);
}

double tsim_model_stacked_layers_forward_flops_per_token(const struct tsim_model *m, double encoder_length,
                                                         double decoder_length) {
    return 2 * stacked_layer_macs(m, encoder_length, decoder_length) / encoder_length +
           tsim_model_stacked_core_forward_flops_per_token(m, encoder_length, decoder_length);
}

double tsim_model_stacked_flops_per_token(const struct tsim_model *m, double encoder_length, double decoder_length) {
    double head = (double)(m->vocab * m->hidden) * decoder_length / encoder_length;
    return 3 * tsim_model_stacked_layers_forward_flops_per_token(m, encoder_length, decoder_length) + 6 * head;
}
