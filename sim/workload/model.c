#include "workload/model.h"

void tsim_model_count(const struct tsim_model *m, struct tsim_parameters *p) {
    double h = (double)m->hidden, vocab = (double)m->vocab, bias = m->bias ? 1 : 0;
    double q = (double)(m->heads * m->head_dim), kv = (double)(m->kv_heads * m->head_dim), f = (double)m->ffn_hidden;
    double up = m->gated_mlp ? 2 : 1;
    /* A norm has a scale, a layer norm a shift as well. */
    double norm = (m->norm == TSIM_NORM_LAYERNORM ? 2 : 1) * h;
    p->embedding = vocab * h + (double)m->positions * h;
    p->layer_attention = h * (q + 2 * kv) + q * h + bias * (q + 2 * kv + h);
    p->layer_ffn = (up + 1) * h * f + bias * (up * f + h);
    p->layer_norms = 2 * norm;
    p->final_norm = norm;
    p->head = m->tied_embeddings ? 0 : vocab * h;
}

double tsim_model_layer_parameters(const struct tsim_model *model) {
    struct tsim_parameters p;
    tsim_model_count(model, &p);
    return p.layer_attention + p.layer_ffn + p.layer_norms;
}

double tsim_model_parameters(const struct tsim_model *model) {
    struct tsim_parameters p;
    tsim_model_count(model, &p);
    return p.embedding + (double)model->layers * (p.layer_attention + p.layer_ffn + p.layer_norms) + p.final_norm +
           p.head;
}

double tsim_model_active_parameters(const struct tsim_model *model) {
    return tsim_model_parameters(model);
}

double tsim_model_core_attention_forward_flops_per_token(const struct tsim_model *model, double sequence_length) {
    return 4 * (double)(model->layers * model->heads * model->head_dim) * sequence_length;
}

double tsim_model_flops_per_token(const struct tsim_model *model, double sequence_length) {
    return 6 * tsim_model_active_parameters(model) +
           3 * tsim_model_core_attention_forward_flops_per_token(model, sequence_length);
}

double tsim_model_layers_forward_flops_per_token(const struct tsim_model *model, double sequence_length) {
    struct tsim_parameters p;
    tsim_model_count(model, &p);
    return 2 * (double)model->layers * (p.layer_attention + p.layer_ffn) +
           tsim_model_core_attention_forward_flops_per_token(model, sequence_length);
}
