#include "model/layer_kind.h"

#include "model/kept.h"
#include "model/operator_builders.h"

#include <math.h>

/* clang-format off */
static const struct tsim_layer_kind KINDS[TSIM_N_PARTS] = {
    [TSIM_PART_EMBEDDING] = {"embedding", .whole = &tsim_embedding_end, .is_end = true},
    [TSIM_PART_LAYER] = {"layer", &tsim_attention_mixer, &tsim_dense_feed_forward},
    [TSIM_PART_EXPERT_LAYER] = {"expert layer", &tsim_attention_mixer, &tsim_experts_feed_forward},
    [TSIM_PART_WINDOW_LAYER] = {"window layer", &tsim_window_mixer, &tsim_dense_feed_forward},
    [TSIM_PART_WINDOW_EXPERT_LAYER] = {"window expert layer", &tsim_window_mixer, &tsim_experts_feed_forward},
    [TSIM_PART_MAMBA_LAYER] = {"Mamba layer", &tsim_mamba_mixer, &tsim_dense_feed_forward},
    [TSIM_PART_MAMBA_EXPERT_LAYER] = {"Mamba expert layer", &tsim_mamba_mixer, &tsim_experts_feed_forward},
    [TSIM_PART_MAMBA1_LAYER] = {"Mamba-1 layer", &tsim_mamba1_mixer, &tsim_dense_feed_forward},
    [TSIM_PART_MAMBA1_EXPERT_LAYER] = {"Mamba-1 expert layer", &tsim_mamba1_mixer, &tsim_experts_feed_forward},
    [TSIM_PART_DELTA_LAYER] = {"delta layer", &tsim_delta_mixer, &tsim_dense_feed_forward},
    [TSIM_PART_DELTA_EXPERT_LAYER] = {"delta expert layer", &tsim_delta_mixer, &tsim_experts_feed_forward},
    [TSIM_PART_SHORT_LAYER] = {"short-convolution layer", &tsim_short_mixer, &tsim_dense_feed_forward},
    [TSIM_PART_SHORT_EXPERT_LAYER] = {"short-convolution expert layer", &tsim_short_mixer, &tsim_experts_feed_forward},
    [TSIM_PART_LIGHTNING_LAYER] = {"lightning layer", &tsim_lightning_mixer, &tsim_dense_feed_forward},
    [TSIM_PART_LIGHTNING_EXPERT_LAYER] = {"lightning expert layer", &tsim_lightning_mixer, &tsim_experts_feed_forward},
    [TSIM_PART_BESIDE_LAYER] = {"hybrid-head layer", &tsim_beside_mixer, &tsim_dense_feed_forward},
    [TSIM_PART_BESIDE_EXPERT_LAYER] = {"hybrid-head expert layer", &tsim_beside_mixer, &tsim_experts_feed_forward},
    [TSIM_PART_SPARSE_LAYER] = {"sparse layer", &tsim_sparse_mixer, &tsim_dense_feed_forward},
    [TSIM_PART_SPARSE_EXPERT_LAYER] = {"sparse expert layer", &tsim_sparse_mixer, &tsim_experts_feed_forward},
    [TSIM_PART_SEGMENT_LAYER] = {"segment layer", &tsim_segment_mixer, &tsim_dense_feed_forward},
    [TSIM_PART_SPARSE] = {"sparse block", &tsim_sparse_mixer, &tsim_no_feed_forward},
    [TSIM_PART_ATTENTION] = {"attention block", &tsim_attention_mixer, &tsim_no_feed_forward},
    [TSIM_PART_WINDOW] = {"window block", &tsim_window_mixer, &tsim_no_feed_forward},
    [TSIM_PART_MAMBA] = {"Mamba block", &tsim_mamba_mixer, &tsim_no_feed_forward},
    [TSIM_PART_MAMBA1] = {"Mamba-1 block", &tsim_mamba1_mixer, &tsim_no_feed_forward},
    [TSIM_PART_DELTA] = {"delta block", &tsim_delta_mixer, &tsim_no_feed_forward},
    [TSIM_PART_SHORT] = {"short-convolution block", &tsim_short_mixer, &tsim_no_feed_forward},
    [TSIM_PART_LIGHTNING] = {"lightning block", &tsim_lightning_mixer, &tsim_no_feed_forward},
    [TSIM_PART_BESIDE] = {"hybrid-head block", &tsim_beside_mixer, &tsim_no_feed_forward},
    [TSIM_PART_SHARED] = {"layer with a shared block", &tsim_shared_mixer, &tsim_no_feed_forward},
    [TSIM_PART_FEED_FORWARD] = {"feed-forward block", &tsim_no_mixer, &tsim_dense_feed_forward},
    [TSIM_PART_EXPERTS] = {"expert block", &tsim_no_mixer, &tsim_experts_feed_forward},
    [TSIM_PART_ENCODER_LAYER] = {"encoder layer", &tsim_encoder_mixer, &tsim_dense_feed_forward},
    [TSIM_PART_DECODER_LAYER] = {"decoder layer", .whole = &tsim_decoder_layer},
    [TSIM_PART_MODULATED_LAYER] = {"modulated layer", .whole = &tsim_modulated_layer},
    [TSIM_PART_JOINT_LAYER] = {"joint layer", .whole = &tsim_joint_layer},
    [TSIM_PART_LAST_JOINT_LAYER] = {"last joint layer", .whole = &tsim_joint_layer},
    [TSIM_PART_TOWER_LAYER] = {"tower layer", .whole = &tsim_tower_layer},
    [TSIM_PART_TOWER_WINDOW_LAYER] = {"tower window layer", .whole = &tsim_tower_layer},
    [TSIM_PART_PROJECTOR] = {"projector", .whole = &tsim_projector_layer},
    [TSIM_PART_GENERATOR_LAYER] = {"generator layer", .whole = &tsim_generator_layer},
    [TSIM_PART_GENERATOR_HEAD] = {"generator head", .whole = &tsim_generator_head},
    [TSIM_PART_LSTM] = {"LSTM layer", .whole = &tsim_lstm_layer},
    [TSIM_PART_LSTM_BOTH_WAYS] = {"LSTM layer both ways", .whole = &tsim_lstm_layer},
    [TSIM_PART_LSTM_WIDE] = {"wide LSTM layer", .whole = &tsim_lstm_layer},
    [TSIM_PART_LSTM_ATTENTION] = {"LSTM layer with attention", .whole = &tsim_lstm_decoder_layer},
    [TSIM_PART_LSTM_DECODER] = {"LSTM decoder layer", .whole = &tsim_lstm_decoder_layer},
    [TSIM_PART_BLOCK] = {"block", .whole = &tsim_block_layer},
    [TSIM_PART_HEAD] = {"head", .whole = &tsim_head_end, .is_end = true},
};
/* clang-format on */

const struct tsim_layer_kind *tsim_layer_kind(enum tsim_part part) {
    TSIM_ASSERT(part < TSIM_N_PARTS);
    return &KINDS[part];
}

int64_t tsim_part_variants(const struct tsim_model *model, enum tsim_part part) {
    const struct tsim_whole_layer *whole = KINDS[part].whole;
    return whole && whole->variants ? whole->variants(model) : 1;
}

bool tsim_layer_has_experts(enum tsim_part part) {
    return KINDS[part].feed_forward == &tsim_experts_feed_forward;
}

bool tsim_layer_is_frozen(const struct tsim_scenario *sc, enum tsim_part part) {
    const struct tsim_whole_layer *whole = KINDS[part].whole;
    return whole && whole->is_frozen && whole->is_frozen(sc);
}

/* ---- what is executed ---- */

struct tsim_op_shape tsim_layer_shape(const struct tsim_scenario *sc, enum tsim_part part) {
    const struct tsim_mixer *mixer = KINDS[part].mixer;
    if (!mixer)
        return KINDS[part].whole->shape(sc);
    struct tsim_op_shape z = tsim_op_shape_first(sc);
    z.is_alone = mixer == &tsim_no_mixer || KINDS[part].feed_forward == &tsim_no_feed_forward;
    if (mixer->fit)
        mixer->fit(&z);
    return z;
}

void tsim_layer_forward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    const struct tsim_layer_kind *kind = &KINDS[part];
    if (kind->whole) {
        kind->whole->forward(sc, part, at, list);
        return;
    }
    struct tsim_op_shape z = tsim_layer_shape(sc, part);
    kind->mixer->forward(list, &z);
    kind->feed_forward->forward(list, &z);
}

void tsim_layer_backward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    const struct tsim_layer_kind *kind = &KINDS[part];
    if (kind->whole) {
        kind->whole->backward(sc, part, at, list);
        return;
    }
    struct tsim_op_shape z = tsim_layer_shape(sc, part);
    kind->feed_forward->backward(list, &z);
    kind->mixer->backward(list, &z);
}

double tsim_layer_cache_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    struct tsim_op_shape z = tsim_layer_shape(sc, part);
    const struct tsim_mixer *mixer = KINDS[part].mixer;
    if (mixer && mixer->state_bytes)
        return mixer->state_bytes(&z);
    return z.tk * tsim_cached_width(&z) * z.element_bytes;
}

/* ---- what is kept and handed on ---- */

void tsim_layer_keep(const struct tsim_scenario *sc, enum tsim_part part, unsigned parts, struct tsim_kept *kept) {
    const struct tsim_layer_kind *kind = &KINDS[part];
    if (kind->whole) {
        kind->whole->keep(sc, part, parts, kept);
        return;
    }
    struct tsim_op_shape z = tsim_layer_shape(sc, part);
    if (parts & TSIM_RECOMPUTE_OPERATORS) {
        tsim_keep_operators(&z, kept);
        return;
    }
    kind->mixer->keep(&z, parts, kept);
    kind->feed_forward->keep(&z, parts, kept);
    kind->mixer->keep_core(&z, parts, kept);
}

double tsim_layer_flow_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    return KINDS[part].whole ? KINDS[part].whole->flow_bytes(sc) : tsim_stream_bytes(sc);
}

double tsim_layer_weight_gradient_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    const struct tsim_layer_kind *kind = &KINDS[part];
    if (kind->whole)
        return kind->whole->waiting_bytes(sc, part);
    struct tsim_op_shape z = tsim_layer_shape(sc, part);
    return z.linear_bytes * (kind->mixer->waiting(&z) + kind->feed_forward->waiting(&z));
}

double tsim_layer_widest_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    const struct tsim_layer_kind *kind = &KINDS[part];
    if (kind->whole)
        return kind->whole->widest_bytes(sc, part);
    struct tsim_op_shape z = tsim_layer_shape(sc, part);
    return fmax(kind->mixer->widest_bytes ? kind->mixer->widest_bytes(&z) : 0, kind->feed_forward->widest_bytes(&z));
}

bool tsim_layer_has_graph(enum tsim_part part) {
    return !KINDS[part].whole || KINDS[part].whole->has_graph;
}

/* ---- what is counted ---- */

struct tsim_layer_parameters tsim_layer_count(const struct tsim_model *model, enum tsim_part part) {
    const struct tsim_layer_kind *kind = &KINDS[part];
    struct tsim_layer_parameters parameters = {0};
    if (kind->whole) {
        kind->whole->count(model, part, &parameters);
    } else {
        kind->mixer->count(model, &parameters);
        kind->feed_forward->count(model, &parameters);
    }
    return parameters;
}

/* A token meets each parameter of a product once, an expert's if the expert is one of its own, and the keys of its
 * stack. */
struct tsim_layer_flops tsim_layer_forward_flops(const struct tsim_model *model, enum tsim_part part,
                                                 double first_length, double last_length) {
    const struct tsim_layer_kind *kind = &KINDS[part];
    struct tsim_layer_parameters p = tsim_layer_count(model, part);
    struct tsim_layer_flops flops;
    if (kind->whole) {
        kind->whole->flops(model, part, &p, first_length, last_length, &flops);
        return flops;
    }
    double products = p.attention + p.latent + p.ffn + p.router + p.shared + tsim_active_frac(model) * p.experts;
    return (struct tsim_layer_flops){2 * products, kind->mixer->core_flops(model, first_length)};
}

void tsim_layer_matrices(const struct tsim_model *model, enum tsim_part part, double times,
                         struct tsim_matrices *matrices) {
    const struct tsim_layer_kind *kind = &KINDS[part];
    if (kind->whole) {
        kind->whole->add_matrices(model, part, times, matrices);
        return;
    }
    kind->mixer->add_matrices(model, times, matrices);
    kind->feed_forward->add_matrices(model, times, matrices);
}
