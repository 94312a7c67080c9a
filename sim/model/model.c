#include "model/model.h"

#include "config/provenance.h"
#include "model/layer_list.h"
#include "model/local_shape.h"
#include "model/operator_builders.h"
#include "model/tables.h"

#include <math.h>

bool tsim_model_is_of_samples(const struct tsim_model *m) {
    return !tsim_model_has_ends(m) || tsim_model_is_of_patches(m);
}

/* Dosovitskiy et al. 2020: patches are projected with a bias, the class token is learned, the classifier has a bias. */
static void count_image(const struct tsim_model *m, struct tsim_end_parameters *p) {
    double h = (double)m->hidden;
    double vectors = tsim_model_patch_values(m) + (m->image.unbiased ? 0 : 1) + (m->image.patches_alone ? 0 : 1);
    p->embedding = vectors * h + (double)(m->positions * m->hidden + m->other_parameters);
    p->head = (h + 1) * (double)m->vocab;
}

double tsim_tower_embedding_parameters(const struct tsim_model *m) {
    struct tsim_end_parameters p = {0};
    if (m->tower.layers > 0)
        count_image(m->tower.network, &p);
    return p.embedding;
}

struct tsim_end_parameters tsim_model_ends(const struct tsim_model *m) {
    double h = (double)m->hidden, vocab = (double)m->vocab, stacks = tsim_model_stacks(m);
    if (!tsim_model_has_ends(m))
        return (struct tsim_end_parameters){0};
    if (tsim_model_diffuses(m))
        return tsim_diffusion_ends(m);
    struct tsim_end_parameters p = {.embedding = vocab * h + (double)(m->positions * m->hidden + m->other_parameters) +
                                                 stacks * (double)(m->relative_buckets * m->heads),
                                    .final_norm = stacks * tsim_count_norm(m),
                                    .head = m->tied_embeddings ? 0 : vocab * h,
                                    .pooler = m->pooler ? h * h + h : 0,
                                    .further = (double)m->mtp_modules * 2 * h * h,
                                    .further_norms = (double)m->mtp_modules * 3 * tsim_count_norm(m)};
    p.embedding += tsim_tower_embedding_parameters(m) + tsim_shared_parameters(m);
    if (m->image.patch > 0)
        count_image(m, &p);
    return p;
}

/* ---- layers in order ---- */

static bool has_experts(const struct tsim_model *m, int64_t layer) {
    const struct tsim_experts *e = &m->experts;
    return e->count > 0 && layer >= e->first && (layer - e->first + 1) % e->every == 0;
}

/* Returns the entry of the pattern that a layer is of, and how many of it are left from this layer on. */
static const struct tsim_layer_entry *entry_of(const struct tsim_model *m, int64_t layer, int64_t *left) {
    int64_t rest = layer % m->pattern_length;
    const struct tsim_layer_entry *entry = m->pattern;
    while (rest >= entry->count)
        rest -= entry++->count;
    *left = entry->count - rest;
    return entry;
}

/* Counts what comes before the model's own layers: a tower and its projector, or a generator and its head. */
static int64_t layers_before(const struct tsim_model *m) {
    int64_t layers = m->tower.layers + m->generator.layers; /* no model has both */
    return layers > 0 ? layers + 1 : 0;
}

static enum tsim_part of_tower(const struct tsim_model *m, int64_t layer) {
    if (layer == m->tower.layers)
        return TSIM_PART_PROJECTOR;
    return tsim_model_layer(m->tower.network, layer) == TSIM_PART_WINDOW_LAYER ? TSIM_PART_TOWER_WINDOW_LAYER
                                                                               : TSIM_PART_TOWER_LAYER;
}

/* Says of a recurrent network what a layer is: those of GNMT beside an encoder, else all alike. */
static enum tsim_part of_cells(const struct tsim_model *m, int64_t layer) {
    if (m->encoder_layers == 0)
        return TSIM_PART_LSTM;
    if (layer < 2)
        return layer == 0 ? TSIM_PART_LSTM_BOTH_WAYS : TSIM_PART_LSTM_WIDE;
    if (layer < m->encoder_layers)
        return TSIM_PART_LSTM;
    return layer == m->encoder_layers ? TSIM_PART_LSTM_ATTENTION : TSIM_PART_LSTM_DECODER;
}

/* Says of the model's own layers, of which this one is of the entry, what it is. */
static enum tsim_part of_entry(const struct tsim_model *m, struct tsim_layer_entry entry, int64_t own) {
    enum { DENSE, EXPERTS, ALONE };
    static const enum tsim_part PARTS[][3] = {
        [TSIM_MIXING_ATTENTION] = {TSIM_PART_LAYER, TSIM_PART_EXPERT_LAYER, TSIM_PART_ATTENTION},
        [TSIM_MIXING_WINDOW] = {TSIM_PART_WINDOW_LAYER, TSIM_PART_WINDOW_EXPERT_LAYER, TSIM_PART_WINDOW},
        [TSIM_MIXING_MAMBA] = {TSIM_PART_MAMBA_LAYER, TSIM_PART_MAMBA_EXPERT_LAYER, TSIM_PART_MAMBA},
        [TSIM_MIXING_MAMBA1] = {TSIM_PART_MAMBA1_LAYER, TSIM_PART_MAMBA1_EXPERT_LAYER, TSIM_PART_MAMBA1},
        [TSIM_MIXING_DELTA] = {TSIM_PART_DELTA_LAYER, TSIM_PART_DELTA_EXPERT_LAYER, TSIM_PART_DELTA},
        [TSIM_MIXING_SHORT] = {TSIM_PART_SHORT_LAYER, TSIM_PART_SHORT_EXPERT_LAYER, TSIM_PART_SHORT},
        [TSIM_MIXING_LIGHTNING] = {TSIM_PART_LIGHTNING_LAYER, TSIM_PART_LIGHTNING_EXPERT_LAYER, TSIM_PART_LIGHTNING},
        [TSIM_MIXING_BESIDE] = {TSIM_PART_BESIDE_LAYER, TSIM_PART_BESIDE_EXPERT_LAYER, TSIM_PART_BESIDE},
        [TSIM_MIXING_SHARED] = {TSIM_PART_SHARED, TSIM_PART_SHARED, TSIM_PART_SHARED},
        [TSIM_MIXING_SEGMENT] = {TSIM_PART_SEGMENT_LAYER, TSIM_PART_SEGMENT_LAYER, TSIM_PART_SEGMENT_LAYER},
        [TSIM_MIXING_SPARSE] = {TSIM_PART_SPARSE_LAYER, TSIM_PART_SPARSE_EXPERT_LAYER, TSIM_PART_SPARSE},
        [TSIM_MIXING_MODULATED] = {TSIM_PART_MODULATED_LAYER, TSIM_PART_MODULATED_LAYER, TSIM_PART_MODULATED_LAYER},
        [TSIM_MIXING_JOINT] = {TSIM_PART_JOINT_LAYER, TSIM_PART_JOINT_LAYER, TSIM_PART_JOINT_LAYER},
        [TSIM_MIXING_LAST_JOINT] = {TSIM_PART_LAST_JOINT_LAYER, TSIM_PART_LAST_JOINT_LAYER, TSIM_PART_LAST_JOINT_LAYER},
        [TSIM_MIXING_NONE] = {TSIM_PART_FEED_FORWARD, TSIM_PART_EXPERTS, TSIM_PART_FEED_FORWARD},
    };
    switch (entry.feed_forward) {
    case TSIM_FOLLOWING_AUTO:
        return PARTS[entry.kind][has_experts(m, own) ? EXPERTS : DENSE];
    case TSIM_FOLLOWING_DENSE:
        return PARTS[entry.kind][DENSE];
    case TSIM_FOLLOWING_EXPERTS:
        return PARTS[entry.kind][EXPERTS];
    case TSIM_FOLLOWING_NONE:
        return PARTS[entry.kind][ALONE];
    }
    TSIM_BUG("layer %lld", (long long)own);
}

enum tsim_part tsim_model_layer(const struct tsim_model *m, int64_t layer) {
    int64_t before = layers_before(m), left;
    if (m->list)
        return TSIM_PART_BLOCK;
    if (m->recurrent)
        return of_cells(m, layer);
    if (m->encoder_layers > 0)
        return layer < m->encoder_layers ? TSIM_PART_ENCODER_LAYER : TSIM_PART_DECODER_LAYER;
    if (m->generator.layers > 0 && layer < before)
        return layer < m->generator.layers ? TSIM_PART_GENERATOR_LAYER : TSIM_PART_GENERATOR_HEAD;
    if (layer < before)
        return of_tower(m, layer);
    layer -= before;
    if (m->n_pattern > 0)
        return of_entry(m, *entry_of(m, layer, &left), layer);
    return of_entry(
        m, (struct tsim_layer_entry){.kind = m->attention_window > 0 ? TSIM_MIXING_WINDOW : TSIM_MIXING_ATTENTION},
        layer);
}

/* Counts them among the first `n` layers, without a pattern. */
static double expert_layers(const struct tsim_model *m, int64_t n) {
    const struct tsim_experts *e = &m->experts;
    return e->count > 0 && n > e->first ? (double)((n - e->first) / e->every) : 0;
}

/* Tells how many of the first layers are told apart: those behind them follow from their number alone. */
static int64_t n_told_apart(const struct tsim_model *m) {
    return m->n_pattern > 0 || m->encoder_layers > 0 || m->recurrent ? m->layers : layers_before(m);
}

/* Counts own layers from .. to - 1 along the pattern, run by run: one entry alone is one run. */
static void count_pattern(const struct tsim_model *m, int64_t from, int64_t to, struct tsim_parts *parts) {
    int64_t left;
    const struct tsim_layer_entry *entry = entry_of(m, from, &left), *end = m->pattern + m->n_pattern;
    while (from < to) {
        int64_t n = left < to - from && m->n_pattern > 1 ? left : to - from;
        struct tsim_layer_entry of = *entry;
        if (of.feed_forward == TSIM_FOLLOWING_AUTO) {
            double with_experts = expert_layers(m, from + n) - expert_layers(m, from);
            of.feed_forward = TSIM_FOLLOWING_EXPERTS;
            parts->times[of_entry(m, of, from)] += with_experts;
            of.feed_forward = TSIM_FOLLOWING_DENSE;
            parts->times[of_entry(m, of, from)] += (double)n - with_experts;
        } else {
            parts->times[of_entry(m, of, from)] += (double)n;
        }
        from += n;
        left -= n;
        if (left == 0) {
            entry = entry + 1 < end ? entry + 1 : m->pattern;
            left = entry->count;
        }
    }
}

struct tsim_parts tsim_model_layers(const struct tsim_model *m, int64_t from, int64_t to) {
    struct tsim_parts parts = {0};
    int64_t apart = n_told_apart(m), before = layers_before(m);
    for (; from < to && from < (m->n_pattern > 0 ? before : apart); from++)
        parts.times[tsim_model_layer(m, from)]++;
    if (from < to && m->n_pattern > 0) {
        count_pattern(m, from - before, to - before, &parts);
        return parts;
    }
    if (from == to)
        return parts;
    double with_experts = m->list ? 0 : expert_layers(m, to - before) - expert_layers(m, from - before);
    bool has_windows = !m->list && m->attention_window > 0;
    parts.times[has_windows ? TSIM_PART_WINDOW_EXPERT_LAYER : TSIM_PART_EXPERT_LAYER] += with_experts;
    parts.times[m->list       ? TSIM_PART_BLOCK
                : has_windows ? TSIM_PART_WINDOW_LAYER
                              : TSIM_PART_LAYER] += (double)(to - from) - with_experts;
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

bool tsim_model_has_one_kind(const struct tsim_model *m) {
    const enum tsim_part first = tsim_model_layer(m, 0);
    int64_t apart = n_told_apart(m), same = 0;
    if (tsim_model_layer(m, m->layers - 1) != first) /* mostly because a tower or an encoder comes first */
        return false;
    while (same < apart && tsim_model_layer(m, same) == first)
        same++;
    return same == apart && tsim_model_layers(m, apart, m->layers).times[first] == (double)(m->layers - apart);
}

bool tsim_model_layers_vary(const struct tsim_model *m) {
    return tsim_part_variants(m, tsim_model_layer(m, 0)) > 1;
}

bool tsim_model_layers_are_alike(const struct tsim_model *m) {
    return tsim_model_has_one_kind(m) && !tsim_model_layers_vary(m);
}

/* A count follows from these dimensions of the model's file, as a set. */
enum { OF_HIDDEN = 1, OF_VOCAB = 2, OF_HEADS = 4, OF_FFN = 8, OF_EXPERTS = 16 };

static struct tsim_amount dimension(struct tsim_term_recorder *r, const struct tsim_model *m, const char *key,
                                    int64_t value) {
    return tsim_of_file(r, TSIM_CATALOGUE_MODELS, m->name, key, (double)value, TSIM_COUNT);
}

static struct tsim_amount counted(struct tsim_term_recorder *r, const struct tsim_model *m, const char *name,
                                  const char *formula, double n, unsigned of) {
    if (!r)
        return (struct tsim_amount){.value = n};
    const struct {
        unsigned of;
        const char *key;
        int64_t value;
    } ALL[] = {{OF_VOCAB, "vocab", m->vocab},
               {OF_HIDDEN, "hidden", m->hidden},
               {OF_HEADS, "heads", m->heads},
               {OF_HEADS, "kv_heads", m->kv_heads},
               {OF_HEADS, "head_dim", m->head_dim},
               {OF_FFN, "ffn_hidden", m->ffn_hidden},
               {OF_EXPERTS, "experts.count", m->experts.count},
               {OF_EXPERTS, "experts.active", m->experts.active},
               {OF_EXPERTS, "experts.ffn_hidden", m->experts.ffn_hidden}};
    struct tsim_part_list in = {.recorder = r};
    for (size_t i = 0; n != 0 && i < sizeof ALL / sizeof ALL[0]; i++)
        if (of & ALL[i].of)
            tsim_part_add(&in, dimension(r, m, ALL[i].key, ALL[i].value));
    return tsim_outcome(r, name, tsim_record_text(r, "%s, counted (sim/model/model.h)", formula), n, TSIM_COUNT,
                        in.parts, (size_t)in.n);
}

/* Returns the parameters of a layer of the kind, with `used_frac` of its experts. */
static struct tsim_amount layer_parameters(struct tsim_term_recorder *r, const struct tsim_model *m,
                                           enum tsim_part part, double used_frac, bool with_norms) {
    struct tsim_layer_parameters p = tsim_layer_count(m, part);
    struct tsim_amount used = {0};
    if (p.experts > 0)
        used = tsim_product(
            r, "experts", "part of them x all", TSIM_COUNT,
            TSIM_PARTS(tsim_given(r, "part of them", used_frac, TSIM_FRACTION, "experts of a token over all, or all"),
                       counted(r, m, "all experts", "experts x matrices x hidden x inner", p.experts,
                               OF_HIDDEN | OF_EXPERTS)));
    return tsim_sum(
        r, "parameters of one", "the sum of", TSIM_COUNT,
        TSIM_PARTS(
            counted(r, m, "attention", "queries, keys, values, output", p.attention, OF_HIDDEN | OF_HEADS),
            counted(r, m, "latent projections", "to and from latent vectors", p.latent, OF_HIDDEN | OF_HEADS),
            counted(r, m, "norms", "scales and shifts", with_norms ? p.norms : 0, OF_HIDDEN),
            counted(r, m, "modulation", "shifts, scales and gates of a diffusion transformer", p.modulation, OF_HIDDEN),
            counted(r, m, "cross attention", "queries, keys, values, output", p.cross, OF_HIDDEN | OF_HEADS),
            counted(r, m, "norm of cross attention", "scale and shift", p.cross_norm, OF_HIDDEN),
            counted(r, m, "feed-forward block", "matrices x hidden x inner", p.ffn, OF_HIDDEN | OF_FFN),
            counted(r, m, "router", "hidden x experts", p.router, OF_HIDDEN | OF_EXPERTS),
            counted(r, m, "shared experts", "experts x matrices x hidden x inner", p.shared, OF_HIDDEN | OF_EXPERTS),
            used));
}

static struct tsim_amount layers_parameters(struct tsim_term_recorder *r, const struct tsim_model *m, double used_frac,
                                            bool with_norms) {
    struct tsim_parts layers = tsim_model_layers(m, 0, m->layers);
    struct tsim_part_list all = {.recorder = r};
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        if (layers.times[part] <= 0)
            continue;
        struct tsim_amount each = layer_parameters(r, m, (enum tsim_part)part, used_frac, with_norms);
        tsim_part_add(&all, tsim_product(r, tsim_record_text(r, "%ss", tsim_layer_kind((enum tsim_part)part)->word),
                                         "layers x parameters of each", TSIM_COUNT,
                                         TSIM_PARTS(tsim_given(r, "layers", layers.times[part], TSIM_COUNT,
                                                               "layers of the model (sim/model/model.h)"),
                                                    each)));
    }
    return tsim_sum_of(&all, "layers", "sum over all kinds", TSIM_COUNT);
}

static struct tsim_amount all_parameters(struct tsim_term_recorder *r, const char *name, const struct tsim_model *m,
                                         double used_frac, double tables) {
    if (!tsim_model_has_ends(m))
        return tsim_sum(r, name, "list + tables", TSIM_COUNT,
                        TSIM_PARTS(tsim_given(r, "the list, layer by layer", tsim_list_parameters(m), TSIM_COUNT,
                                              "sim/model/layer_list.h"),
                                   tsim_given(r, "embedding tables", tables, TSIM_COUNT, "sim/model/tables.h")));
    struct tsim_end_parameters ends = tsim_model_ends(m);
    return tsim_sum(r, name, "part by part", TSIM_COUNT,
                    TSIM_PARTS(counted(r, m, "embedding", "vocabulary x hidden, and learned positions", ends.embedding,
                                       OF_VOCAB | OF_HIDDEN),
                               layers_parameters(r, m, used_frac, true),
                               counted(r, m, "final norm", "scales and shifts", ends.final_norm, OF_HIDDEN),
                               counted(r, m, "head", "vocabulary x hidden, unless tied to the embedding", ends.head,
                                       OF_VOCAB | OF_HIDDEN),
                               counted(r, m, "pooler", "hidden x hidden, and a bias", ends.pooler, OF_HIDDEN),
                               counted(r, m, "modules of further tokens", "2 x hidden x hidden and three norms of each",
                                       ends.further + ends.further_norms, OF_HIDDEN)));
}

struct tsim_amount tsim_model_parameters_recorded(struct tsim_term_recorder *r, const struct tsim_model *m) {
    return all_parameters(r, "model.parameters", m, 1, tsim_tables_parameters(m));
}

double tsim_model_parameters(const struct tsim_model *m) {
    return tsim_model_parameters_recorded(NULL, m).value;
}

struct tsim_amount tsim_model_active_parameters_recorded(struct tsim_term_recorder *r, const struct tsim_model *m) {
    return all_parameters(r, "model.active_parameters", m, tsim_active_frac(m), tsim_tables_active_parameters(m));
}

double tsim_model_active_parameters(const struct tsim_model *m) {
    return tsim_model_active_parameters_recorded(NULL, m).value;
}

double tsim_model_mtp_parameters(const struct tsim_model *m) {
    struct tsim_model without = *m;
    without.layers -= m->mtp_layers;
    without.mtp_modules = 0;
    return m->mtp_layers > 0 ? tsim_model_parameters(m) - tsim_model_parameters(&without) : 0;
}

/* Returns the FLOPs of attention's core in so many layers, whose queries meet so many keys. */
static struct tsim_amount core_of_layers(struct tsim_term_recorder *r, const struct tsim_model *m, const char *name,
                                         struct tsim_amount layers, struct tsim_amount keys) {
    return tsim_product(
        r, name, "2 x layers x heads x (key + value) dimension x tokens", TSIM_FLOPS,
        TSIM_PARTS(tsim_given(r, "FLOPs of a product", 2, TSIM_FLOPS, "multiply and add"), layers,
                   dimension(r, m, "heads", m->heads),
                   tsim_given(r, "dimensions of key and value", tsim_model_key_dim(m) + (double)m->head_dim, TSIM_COUNT,
                              m->source ? m->source : "the scenario"),
                   keys));
}

/* Layers whose attention's core has FLOPs of its own, each as the kind alone has. */
static const struct {
    const char *name, *source;
    enum tsim_part parts[3]; /* with a dense block, with experts, alone */
} OWN_CORES[] = {
    {"Mamba's recurrences",
     "sim/model/layer_mamba.c",
     {TSIM_PART_MAMBA_LAYER, TSIM_PART_MAMBA_EXPERT_LAYER, TSIM_PART_MAMBA}},
    {"delta rules", "sim/model/layer_delta.c", {TSIM_PART_DELTA_LAYER, TSIM_PART_DELTA_EXPERT_LAYER, TSIM_PART_DELTA}},
    {"attention to segments",
     "sim/model/layer_segment.c",
     {TSIM_PART_SEGMENT_LAYER, TSIM_PART_SEGMENT_LAYER, TSIM_PART_SEGMENT_LAYER}},
    {"attention to picked tokens, and their index",
     "sim/model/layer_sparse.c",
     {TSIM_PART_SPARSE_LAYER, TSIM_PART_SPARSE_EXPERT_LAYER, TSIM_PART_SPARSE}},
    {"lightning attention",
     "sim/model/layer_lightning.c",
     {TSIM_PART_LIGHTNING_LAYER, TSIM_PART_LIGHTNING_EXPERT_LAYER, TSIM_PART_LIGHTNING}},
    {"attention and Mamba's recurrences beside it",
     "sim/model/layer_beside.c",
     {TSIM_PART_BESIDE_LAYER, TSIM_PART_BESIDE_EXPERT_LAYER, TSIM_PART_BESIDE}},
    {"shared blocks used again, and Mamba's recurrences behind them",
     "sim/model/layer_shared.c",
     {TSIM_PART_SHARED, TSIM_PART_SHARED, TSIM_PART_SHARED}},
};

static double times_of(const struct tsim_parts *layers, const enum tsim_part parts[3]) {
    double times = layers->times[parts[0]];
    for (int i = 1; i < 3; i++)
        times += parts[i] != parts[0] ? layers->times[parts[i]] : 0;
    return times;
}

static struct tsim_amount core_attention_forward(struct tsim_term_recorder *r, const struct tsim_model *m,
                                                 struct tsim_amount length) {
    static const enum tsim_part WHOLE[] = {TSIM_PART_LAYER, TSIM_PART_EXPERT_LAYER, TSIM_PART_ATTENTION},
                                DIFFUSING[] = {TSIM_PART_MODULATED_LAYER, TSIM_PART_JOINT_LAYER,
                                               TSIM_PART_LAST_JOINT_LAYER},
                                WINDOWED[] = {TSIM_PART_WINDOW_LAYER, TSIM_PART_WINDOW_EXPERT_LAYER, TSIM_PART_WINDOW};
    static const char OF_PATTERN[] = "layers of the model (sim/model/model.h)";
    struct tsim_parts layers = tsim_model_layers(m, 0, m->layers);
    double whole = times_of(&layers, WHOLE) + times_of(&layers, DIFFUSING);
    if (whole == (double)m->layers)
        return core_of_layers(r, m, "attention, forward", dimension(r, m, "layers", m->layers), length);
    struct tsim_part_list all = {.recorder = r};
    tsim_part_add(&all,
                  core_of_layers(r, m, "attention to all tokens",
                                 tsim_given(r, "layers without a window", whole, TSIM_COUNT, OF_PATTERN), length));
    tsim_part_add(
        &all, core_of_layers(r, m, "attention in windows",
                             tsim_given(r, "layers with a window", times_of(&layers, WINDOWED), TSIM_COUNT, OF_PATTERN),
                             tsim_given(r, "tokens of a window, at most the sequence",
                                        fmin((double)m->attention_window, length.value), TSIM_COUNT,
                                        "attention_window of the model")));
    for (size_t i = 0; i < sizeof OWN_CORES / sizeof OWN_CORES[0]; i++) {
        double times = times_of(&layers, OWN_CORES[i].parts),
               each =
                   times > 0 ? tsim_layer_forward_flops(m, OWN_CORES[i].parts[2], length.value, length.value).core : 0;
        tsim_part_add(&all,
                      tsim_product(r, OWN_CORES[i].name, "layers x FLOPs of each", TSIM_FLOPS,
                                   TSIM_PARTS(tsim_given(r, "layers of the kind", times, TSIM_COUNT, OF_PATTERN),
                                              tsim_given(r, "FLOPs of each", each, TSIM_FLOPS, OWN_CORES[i].source))));
    }
    return tsim_sum_of(&all, "attention, forward", "sum over all kinds of layers", TSIM_FLOPS);
}

struct tsim_layer_flops tsim_model_forward_flops_per_token(const struct tsim_model *m, double first_length,
                                                           double last_length) {
    struct tsim_parts layers = tsim_model_layers(m, 0, m->layers);
    struct tsim_layer_flops all = {.products = 2 * tsim_shared_products(m)};
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        if (layers.times[part] <= 0)
            continue;
        struct tsim_layer_flops one = tsim_layer_forward_flops(m, (enum tsim_part)part, first_length, last_length);
        all.products += layers.times[part] * one.products;
        all.core += layers.times[part] * one.core;
    }
    return all;
}

/* Counts each parameter of both stacks and of the head for the tokens that meet it; there are no others. */
static double stacked_flops(const struct tsim_model *m, double first_length, double last_length) {
    struct tsim_layer_flops forward = tsim_model_forward_flops_per_token(m, first_length, last_length);
    double head = (double)(m->vocab * m->hidden) * last_length / first_length;
    return 3 * (forward.products + forward.core) + 6 * head;
}

/* Tokens of a text meet other parameters than those of the image, and what a sample is asked for meets its own. */
static double diffusion_flops(const struct tsim_model *m, double length) {
    struct tsim_layer_flops forward = tsim_model_forward_flops_per_token(m, length, length);
    return 3 * (forward.products + forward.core + tsim_diffusion_end_flops(m, length));
}

static struct tsim_amount core_attention(struct tsim_term_recorder *r, const struct tsim_model *m,
                                         struct tsim_amount length) {
    return tsim_product(r, "attention", "3 x forward", TSIM_FLOPS,
                        TSIM_PARTS(tsim_given(r, "forward, for inputs and for weights", 3, TSIM_COUNT,
                                              "Chowdhery et al. 2022 (PaLM), appendix B: the full square"),
                                   core_attention_forward(r, m, length)));
}

double tsim_tower_parameters(const struct tsim_model *m) {
    struct tsim_parts layers = tsim_model_layers(m, 0, m->tower.layers);
    double parameters = tsim_tower_embedding_parameters(m);
    for (int part = 0; part < TSIM_N_PARTS; part++)
        if (layers.times[part] > 0)
            parameters += layers.times[part] * layer_parameters(NULL, m, (enum tsim_part)part, 1, true).value;
    return parameters;
}

/* Returns the layers behind the tower, as a model. */
static struct tsim_model language_model(const struct tsim_model *m) {
    struct tsim_model language = *m;
    language.layers -= layers_before(m);
    language.tower = (struct tsim_tower){0};
    language.generator = (struct tsim_generator){0};
    return language;
}

static struct tsim_amount generator_flops(struct tsim_term_recorder *r, const struct tsim_model *m, double length) {
    struct tsim_layer_flops layer = tsim_layer_forward_flops(m, TSIM_PART_GENERATOR_LAYER, length, length),
                            head = tsim_layer_forward_flops(m, TSIM_PART_GENERATOR_HEAD, length, length);
    return tsim_given(r, "FLOPs of the generator",
                      3 * ((double)m->generator.layers * (layer.products + layer.core) + head.products), TSIM_FLOPS,
                      "3 forward passes of its layers and its head (sim/model/model.h)");
}

/* Counts for a token of the language model what the tower, the product of the patches and the projector take of a
 * sample over its tokens. Frozen, the tower goes forward alone. */
static struct tsim_amount tower_flops(struct tsim_term_recorder *r, const struct tsim_model *m, double length,
                                      bool is_frozen) {
    struct tsim_parts layers = tsim_model_layers(m, 0, layers_before(m));
    double of_tower =
               tsim_tower_tokens(m) / length * 2 * tsim_model_patch_values(m->tower.network) * (double)m->tower.hidden,
           of_projector = 0;
    for (int part = 0; part < TSIM_N_PARTS; part++) {
        if (layers.times[part] <= 0)
            continue;
        struct tsim_layer_flops one = tsim_layer_forward_flops(m, (enum tsim_part)part, length, length);
        *(part == TSIM_PART_PROJECTOR ? &of_projector : &of_tower) += layers.times[part] * (one.products + one.core);
    }
    return tsim_given(r, "FLOPs of the tower and the projector", (is_frozen ? 1 : 3) * of_tower + 3 * of_projector,
                      TSIM_FLOPS, "3 forward passes, 1 where the tower is frozen (sim/model/model.h)");
}

/* The shared head is met once more for each further token (Megatron-LM, megatron/training/training.py,
 * num_floating_point_operations: the logits of mtp_num_layers + 1 tokens). */
static struct tsim_amount further_heads(struct tsim_term_recorder *r, const struct tsim_model *m, double each) {
    return tsim_given(r, "the head, once more for each further token",
                      each * (double)(m->mtp_modules * m->vocab * m->hidden), TSIM_FLOPS,
                      "mtp_modules x vocab x hidden of the model, as a parameter's each");
}

struct tsim_amount tsim_frozen_model_flops_recorded(struct tsim_term_recorder *r, const struct tsim_model *m,
                                                    struct tsim_amount length, double trained) {
    if (m->tower.layers > 0) {
        struct tsim_model language = language_model(m);
        return tsim_sum(r, "model FLOPs of a token, with its share of the images", "language model + tower", TSIM_FLOPS,
                        TSIM_PARTS(tsim_frozen_model_flops_recorded(r, &language, length, trained),
                                   tower_flops(r, m, length.value, true)));
    }
    struct tsim_amount frozen = tsim_product(r, "frozen parameters", "4 x active parameters", TSIM_FLOPS,
                                             TSIM_PARTS(tsim_given(r, "FLOPs of a frozen parameter", 4, TSIM_FLOPS,
                                                                   "multiply and add, forward and for inputs"),
                                                        tsim_model_active_parameters_recorded(r, m)));
    struct tsim_amount adapters =
        tsim_product(r, "adapters", "6 x parameters", TSIM_FLOPS,
                     TSIM_PARTS(tsim_given(r, "FLOPs of a parameter", 6, TSIM_FLOPS,
                                           "multiply and add, forward, for inputs and for weights"),
                                tsim_given(r, "parameters of the adapters that a token meets", trained, TSIM_COUNT,
                                           "sim/model/adapter.h")));
    return tsim_sum(r, "model FLOPs of a token", "4 N + 6 A + 12 L H Q T", TSIM_FLOPS,
                    TSIM_PARTS(frozen, adapters, core_attention(r, m, length), further_heads(r, m, 4)));
}

struct tsim_amount tsim_model_flops_recorded(struct tsim_term_recorder *r, const struct tsim_model *m,
                                             struct tsim_amount first, double last_length) {
    if (!tsim_model_has_ends(m))
        return tsim_given(r, "model FLOPs of a sample", tsim_list_flops_per_sample(m), TSIM_FLOPS,
                          "6 for each multiplication with addition of the list's products, 4 in the first layer "
                          "(sim/model/layer_list.h)");
    if (tsim_model_diffuses(m))
        return tsim_given(r, "model FLOPs of a token", diffusion_flops(m, first.value), TSIM_FLOPS,
                          "6 for each parameter and token that meets it, 12 for each score (sim/model/model.h)");
    if (m->generator.layers > 0) {
        struct tsim_model judge = language_model(m);
        return tsim_sum(
            r, "model FLOPs of a token, in both networks", "discriminator + generator", TSIM_FLOPS,
            TSIM_PARTS(tsim_model_flops_recorded(r, &judge, first, last_length), generator_flops(r, m, first.value)));
    }
    if (m->tower.layers > 0) {
        struct tsim_model language = language_model(m);
        return tsim_sum(r, "model FLOPs of a token, with its share of the images", "language model + tower", TSIM_FLOPS,
                        TSIM_PARTS(tsim_model_flops_recorded(r, &language, first, last_length),
                                   tower_flops(r, m, first.value, m->tower.frozen)));
    }
    if (tsim_model_stacks(m) > 1)
        return tsim_given(
            r, "model FLOPs of a token of the encoder", stacked_flops(m, first.value, last_length), TSIM_FLOPS,
            "6 for each parameter of both stacks and token that meets it, 12 for each score (sim/model/model.h)");
    struct tsim_amount products =
        tsim_product(r, "parameters", "6 x active parameters", TSIM_FLOPS,
                     TSIM_PARTS(tsim_given(r, "FLOPs of a parameter", 6, TSIM_FLOPS,
                                           "multiply and add, forward, for inputs and for weights"),
                                tsim_model_active_parameters_recorded(r, m)));
    struct tsim_amount attention = core_attention(r, m, first);
    if (m->head_rows.each > 0) {
        const struct tsim_head_rows *rows = &m->head_rows;
        double met = (double)rows->each + rows->tail_frac * (double)rows->tail;
        struct tsim_amount unmet =
            tsim_given(r, "rows that the head's tokens do not meet", 6 * ((double)m->vocab - met) * (double)m->hidden,
                       TSIM_FLOPS, "head_rows of the model");
        return tsim_sum(r, "model FLOPs of a token", "6 N + 12 L H Q T - 6 for each row not met", TSIM_FLOPS,
                        TSIM_PARTS(products, attention, tsim_inverse(unmet)));
    }
    return tsim_sum(r, "model FLOPs of a token", "6 N + 12 L H Q T", TSIM_FLOPS,
                    TSIM_PARTS(products, attention, further_heads(r, m, 6)));
}

double tsim_model_flops_per_token(const struct tsim_model *m, double first_length, double last_length) {
    return tsim_model_flops_recorded(NULL, m, (struct tsim_amount){.value = first_length}, last_length).value;
}

const char *tsim_model_family(const struct tsim_model *m) {
    if (m->approximate)
        return "approximate";
    switch (m->kind) {
    case TSIM_MODEL_CNN:
        return "cnn";
    case TSIM_MODEL_DLRM:
        return "dlrm";
    case TSIM_MODEL_MLP:
        return "mlp";
    case TSIM_MODEL_TRANSFORMER:
        break;
    }
    if (m->mamba.heads > 0 || m->mamba1.width > 0 || m->delta.value_heads > 0 || m->lightning.heads > 0)
        return "hybrid";
    if (m->experts.count > 0)
        return "experts";
    if (m->tower.layers > 0)
        return "vision-language";
    if (m->generator.layers > 0)
        return "generator and discriminator";
    if (m->recurrent)
        return "recurrent";
    if (m->memory > 0)
        return "segments with a memory";
    if (tsim_model_diffuses(m))
        return "diffusion";
    if (m->image.tokens > 0)
        return "image";
    return tsim_model_stacks(m) > 1 ? "encoder-decoder" : m->causal ? "dense" : "encoder";
}
