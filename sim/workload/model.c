#include "workload/model.h"

#include "workload/layer_list.h"
#include "workload/local_shape.h"
#include "workload/tables.h"

bool tsim_model_is_of_samples(const struct tsim_model *m) {
    return m->list || m->image.patch > 0;
}

/* Dosovitskiy et al. 2020: patches are projected with a bias, the class token is learned, the classifier has a bias. */
static void count_image(const struct tsim_model *m, struct tsim_end_parameters *p) {
    double h = (double)m->hidden;
    p->embedding = (tsim_model_patch_values(m) + 1) * h + h + (double)(m->positions * m->hidden + m->other_parameters);
    p->head = (h + 1) * (double)m->vocab;
}

struct tsim_end_parameters tsim_model_ends(const struct tsim_model *m) {
    double h = (double)m->hidden, vocab = (double)m->vocab, stacks = m->encoder_layers > 0 ? 2 : 1;
    if (!tsim_model_has_ends(m))
        return (struct tsim_end_parameters){0};
    struct tsim_end_parameters p = {.embedding = vocab * h + (double)(m->positions * m->hidden + m->other_parameters) +
                                                 stacks * (double)(m->relative_buckets * m->heads),
                                    .final_norm = stacks * (m->norm == TSIM_NORM_LAYERNORM ? 2 : 1) * h,
                                    .head = m->tied_embeddings ? 0 : vocab * h,
                                    .pooler = m->pooler ? h * h + h : 0};
    if (m->image.patch > 0)
        count_image(m, &p);
    return p;
}

/* ---- layers in order ---- */

/* Runs without layers are left out, and so are patterns. */
static void add_pattern(struct tsim_layer_order *order, int64_t times, const struct tsim_layer_run *runs, int n_runs) {
    struct tsim_layer_pattern *pattern = &order->patterns[order->n];
    pattern->times = times;
    pattern->length = 0;
    pattern->n_runs = 0;
    for (int i = 0; i < n_runs; i++) {
        if (runs[i].count <= 0)
            continue;
        pattern->runs[pattern->n_runs++] = runs[i];
        pattern->length += runs[i].count;
    }
    if (times > 0 && pattern->length > 0)
        order->n++;
}

static void add_run(struct tsim_layer_order *order, enum tsim_part kind, int64_t count) {
    add_pattern(order, 1, &(struct tsim_layer_run){kind, count}, 1);
}

void tsim_model_order(const struct tsim_model *m, struct tsim_layer_order *order) {
    const struct tsim_experts *e = &m->experts;
    order->n = 0;
    if (m->list) {
        add_run(order, TSIM_PART_BLOCK, m->layers);
    } else if (m->encoder_layers > 0) {
        add_run(order, TSIM_PART_ENCODER_LAYER, m->encoder_layers);
        add_run(order, TSIM_PART_DECODER_LAYER, m->layers - m->encoder_layers);
    } else if (e->count == 0 || e->first >= m->layers) {
        add_run(order, TSIM_PART_LAYER, m->layers);
    } else {
        add_run(order, TSIM_PART_LAYER, e->first);
        const struct tsim_layer_run runs[] = {{TSIM_PART_LAYER, e->every - 1}, {TSIM_PART_EXPERT_LAYER, 1}};
        add_pattern(order, (m->layers - e->first) / e->every, runs, 2);
        add_run(order, TSIM_PART_LAYER, (m->layers - e->first) % e->every);
    }
}

/* Adds `sign` times each layer of the first so many. */
static void add_first_layers(const struct tsim_layer_order *order, int64_t n, double sign, struct tsim_parts *parts) {
    for (int32_t i = 0; i < order->n && n > 0; i++) {
        const struct tsim_layer_pattern *pattern = &order->patterns[i];
        int64_t whole = n / pattern->length < pattern->times ? n / pattern->length : pattern->times,
                rest = whole < pattern->times ? n % pattern->length : 0;
        for (int32_t r = 0; r < pattern->n_runs; r++) {
            int64_t count = pattern->runs[r].count, begun = rest < count ? rest : count;
            parts->times[pattern->runs[r].kind] += sign * (double)(whole * count + begun);
            rest -= begun;
        }
        n -= pattern->times * pattern->length;
    }
}

struct tsim_parts tsim_model_layers(const struct tsim_model *m, int64_t from, int64_t to) {
    struct tsim_layer_order order;
    struct tsim_parts parts = {0};
    tsim_model_order(m, &order);
    if (order.n == 1 && order.patterns[0].n_runs == 1) {
        parts.times[order.patterns[0].runs[0].kind] = (double)(to - from);
        return parts;
    }
    add_first_layers(&order, to, 1, &parts);
    add_first_layers(&order, from, -1, &parts);
    return parts;
}

bool tsim_model_has_ends(const struct tsim_model *m) {
    return !m->list;
}

struct tsim_parts tsim_model_parts(const struct tsim_model *m) {
    struct tsim_parts parts = tsim_model_layers(m, 0, m->layers);
    parts.times[TSIM_PART_EMBEDDING] = parts.times[TSIM_PART_HEAD] = tsim_model_has_ends(m);
    return parts;
}

enum tsim_part tsim_model_layer(const struct tsim_model *m, int64_t layer) {
    struct tsim_layer_order order;
    tsim_model_order(m, &order);
    for (int32_t i = 0; i < order.n; i++) {
        const struct tsim_layer_pattern *pattern = &order.patterns[i];
        int64_t rest = layer % pattern->length;
        for (int32_t r = 0; r < pattern->n_runs && layer < pattern->times * pattern->length; r++) {
            if (rest < pattern->runs[r].count)
                return pattern->runs[r].kind;
            rest -= pattern->runs[r].count;
        }
        layer -= pattern->times * pattern->length;
    }
    TSIM_BUG("layer %lld", (long long)layer);
}

bool tsim_model_has_one_kind(const struct tsim_model *m) {
    struct tsim_layer_order order;
    tsim_model_order(m, &order);
    for (int32_t i = 0; i < order.n; i++)
        for (int32_t r = 0; r < order.patterns[i].n_runs; r++)
            if (order.patterns[i].runs[r].kind != order.patterns[0].runs[0].kind)
                return false;
    return true;
}

bool tsim_model_layers_vary(const struct tsim_model *m) {
    return tsim_part_variants(m, tsim_model_layer(m, 0)) > 1;
}

bool tsim_model_layers_are_alike(const struct tsim_model *m) {
    return tsim_model_has_one_kind(m) && !tsim_model_layers_vary(m);
}

/* All layers, with `used_frac` of each layer's experts. */
static double layers_parameters(const struct tsim_model *m, double used_frac, bool with_norms) {
    struct tsim_parts layers = tsim_model_layers(m, 0, m->layers);
    double sum = 0;
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        if (layers.times[part] <= 0)
            continue;
        struct tsim_layer_parameters p = tsim_layer_count(m, (enum tsim_part)part);
        sum += layers.times[part] * (p.attention + p.latent + (with_norms ? p.norms : 0) + p.cross + p.cross_norm +
                                     p.ffn + p.router + p.shared + used_frac * p.experts);
    }
    return sum;
}

static double active_frac(const struct tsim_model *m) {
    return m->experts.count > 0 ? (double)m->experts.active / (double)m->experts.count : 0;
}

double tsim_model_parameters(const struct tsim_model *m) {
    if (m->list)
        return tsim_list_parameters(m) + tsim_tables_parameters(m);
    struct tsim_end_parameters ends = tsim_model_ends(m);
    return ends.embedding + layers_parameters(m, 1, true) + ends.final_norm + ends.head + ends.pooler;
}

double tsim_model_active_parameters(const struct tsim_model *m) {
    if (m->list)
        return tsim_list_parameters(m) + tsim_tables_active_parameters(m);
    struct tsim_end_parameters ends = tsim_model_ends(m);
    return ends.embedding + layers_parameters(m, active_frac(m), true) + ends.final_norm + ends.head + ends.pooler;
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
    return 2 * layers_parameters(m, active_frac(m), false) +
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
    struct tsim_layer_parameters p = tsim_layer_count(m, TSIM_PART_DECODER_LAYER);
    double encoders = (double)m->encoder_layers, decoders = (double)m->layers - encoders;
    double of_encoder = (double)(2 * m->kv_heads * m->head_dim * m->hidden);
    double layer = p.attention + p.ffn;
    return encoders * layer * encoder_length +
           decoders * ((layer + p.cross - of_encoder) * decoder_length + of_encoder * encoder_length);
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
