#include "model/layer_kind.h"

#include "model/kept.h"
#include "model/layer_list.h"
#include "model/operator_builders.h"

#include <math.h>

static bool always(const struct tsim_model *m) {
    (void)m;
    return true;
}

static const struct tsim_layer_kind KINDS[TSIM_N_PARTS] = {
    [TSIM_PART_EMBEDDING] = {.word = "embedding",
                             .is_end = true,
                             .forward = tsim_embedding_forward,
                             .backward = tsim_embedding_backward},
    [TSIM_PART_LAYER] = {.word = "layer", .mixer = &tsim_attention_mixer, .feed_forward = &tsim_dense_feed_forward},
    [TSIM_PART_EXPERT_LAYER] = {.word = "expert layer",
                                .mixer = &tsim_attention_mixer,
                                .feed_forward = &tsim_experts_feed_forward},
    [TSIM_PART_WINDOW_LAYER] = {.word = "window layer",
                                .mixer = &tsim_window_mixer,
                                .feed_forward = &tsim_dense_feed_forward},
    [TSIM_PART_WINDOW_EXPERT_LAYER] = {.word = "window expert layer",
                                       .mixer = &tsim_window_mixer,
                                       .feed_forward = &tsim_experts_feed_forward},
    [TSIM_PART_MAMBA_LAYER] = {.word = "Mamba layer",
                               .mixer = &tsim_mamba_mixer,
                               .feed_forward = &tsim_dense_feed_forward},
    [TSIM_PART_MAMBA_EXPERT_LAYER] = {.word = "Mamba expert layer",
                                      .mixer = &tsim_mamba_mixer,
                                      .feed_forward = &tsim_experts_feed_forward},
    [TSIM_PART_MAMBA1_LAYER] = {.word = "Mamba-1 layer",
                                .mixer = &tsim_mamba1_mixer,
                                .feed_forward = &tsim_dense_feed_forward},
    [TSIM_PART_MAMBA1_EXPERT_LAYER] = {.word = "Mamba-1 expert layer",
                                       .mixer = &tsim_mamba1_mixer,
                                       .feed_forward = &tsim_experts_feed_forward},
    [TSIM_PART_DELTA_LAYER] = {.word = "delta layer",
                               .mixer = &tsim_delta_mixer,
                               .feed_forward = &tsim_dense_feed_forward},
    [TSIM_PART_DELTA_EXPERT_LAYER] = {.word = "delta expert layer",
                                      .mixer = &tsim_delta_mixer,
                                      .feed_forward = &tsim_experts_feed_forward},
    [TSIM_PART_SPARSE_LAYER] = {.word = "sparse layer",
                                .mixer = &tsim_sparse_mixer,
                                .feed_forward = &tsim_dense_feed_forward},
    [TSIM_PART_SPARSE_EXPERT_LAYER] = {.word = "sparse expert layer",
                                       .mixer = &tsim_sparse_mixer,
                                       .feed_forward = &tsim_experts_feed_forward},
    [TSIM_PART_SEGMENT_LAYER] = {.word = "segment layer",
                                 .mixer = &tsim_segment_mixer,
                                 .feed_forward = &tsim_dense_feed_forward},
    [TSIM_PART_SPARSE] = {.word = "sparse block", .mixer = &tsim_sparse_mixer, .feed_forward = &tsim_no_feed_forward},
    [TSIM_PART_ATTENTION] = {.word = "attention block",
                             .mixer = &tsim_attention_mixer,
                             .feed_forward = &tsim_no_feed_forward},
    [TSIM_PART_WINDOW] = {.word = "window block", .mixer = &tsim_window_mixer, .feed_forward = &tsim_no_feed_forward},
    [TSIM_PART_MAMBA] = {.word = "Mamba block", .mixer = &tsim_mamba_mixer, .feed_forward = &tsim_no_feed_forward},
    [TSIM_PART_MAMBA1] = {.word = "Mamba-1 block", .mixer = &tsim_mamba1_mixer, .feed_forward = &tsim_no_feed_forward},
    [TSIM_PART_DELTA] = {.word = "delta block", .mixer = &tsim_delta_mixer, .feed_forward = &tsim_no_feed_forward},
    [TSIM_PART_FEED_FORWARD] = {.word = "feed-forward block",
                                .mixer = &tsim_no_mixer,
                                .feed_forward = &tsim_dense_feed_forward},
    [TSIM_PART_EXPERTS] = {.word = "expert block", .mixer = &tsim_no_mixer, .feed_forward = &tsim_experts_feed_forward},
    [TSIM_PART_ENCODER_LAYER] = {.word = "encoder layer",
                                 .mixer = &tsim_encoder_mixer,
                                 .feed_forward = &tsim_dense_feed_forward},
    [TSIM_PART_DECODER_LAYER] = {.word = "decoder layer",
                                 .count = tsim_decoder_count,
                                 .flops = tsim_decoder_flops,
                                 .add_matrices = tsim_decoder_matrices,
                                 .forward = tsim_decoder_forward,
                                 .backward = tsim_decoder_backward,
                                 .shape = tsim_op_shape_last,
                                 .flow_bytes = tsim_stream_bytes,
                                 .keep = tsim_decoder_keep,
                                 .waiting_bytes = tsim_decoder_waiting_bytes,
                                 .widest_bytes = tsim_decoder_widest_bytes},
    [TSIM_PART_MODULATED_LAYER] = {.word = "modulated layer",
                                   .count = tsim_modulated_count,
                                   .flops = tsim_modulated_flops,
                                   .add_matrices = tsim_modulated_matrices,
                                   .forward = tsim_modulated_forward,
                                   .backward = tsim_modulated_backward,
                                   .shape = tsim_op_shape_first,
                                   .flow_bytes = tsim_stream_bytes,
                                   .keep = tsim_modulated_keep,
                                   .waiting_bytes = tsim_modulated_waiting_bytes,
                                   .widest_bytes = tsim_modulated_widest_bytes},
    [TSIM_PART_JOINT_LAYER] = {.word = "joint layer",
                               .count = tsim_joint_count,
                               .flops = tsim_joint_flops,
                               .add_matrices = tsim_joint_matrices,
                               .forward = tsim_joint_forward,
                               .backward = tsim_joint_backward,
                               .shape = tsim_op_shape_first,
                               .flow_bytes = tsim_joint_flow_bytes,
                               .keep = tsim_joint_keep,
                               .waiting_bytes = tsim_joint_waiting_bytes,
                               .widest_bytes = tsim_modulated_widest_bytes},
    [TSIM_PART_LAST_JOINT_LAYER] = {.word = "last joint layer",
                                    .count = tsim_last_joint_count,
                                    .flops = tsim_joint_flops,
                                    .add_matrices = tsim_joint_matrices,
                                    .forward = tsim_last_joint_forward,
                                    .backward = tsim_last_joint_backward,
                                    .shape = tsim_op_shape_first,
                                    .flow_bytes = tsim_joint_flow_bytes,
                                    .keep = tsim_last_joint_keep,
                                    .waiting_bytes = tsim_joint_waiting_bytes,
                                    .widest_bytes = tsim_modulated_widest_bytes},
    [TSIM_PART_TOWER_LAYER] = {.word = "tower layer",
                               .count = tsim_tower_count,
                               .flops = tsim_tower_flops,
                               .add_matrices = tsim_tower_matrices,
                               .forward = tsim_tower_forward,
                               .backward = tsim_tower_backward,
                               .shape = tsim_op_shape_tower,
                               .flow_bytes = tsim_tower_flow_bytes,
                               .keep = tsim_tower_keep,
                               .waiting_bytes = tsim_tower_waiting_bytes,
                               .widest_bytes = tsim_tower_widest_bytes},
    [TSIM_PART_TOWER_WINDOW_LAYER] = {.word = "tower window layer",
                                      .count = tsim_tower_window_count,
                                      .flops = tsim_tower_window_flops,
                                      .add_matrices = tsim_tower_window_matrices,
                                      .forward = tsim_tower_window_forward,
                                      .backward = tsim_tower_window_backward,
                                      .shape = tsim_op_shape_tower,
                                      .flow_bytes = tsim_tower_flow_bytes,
                                      .keep = tsim_tower_window_keep,
                                      .waiting_bytes = tsim_tower_window_waiting_bytes,
                                      .widest_bytes = tsim_tower_window_widest_bytes},
    [TSIM_PART_PROJECTOR] = {.word = "projector",
                             .count = tsim_projector_count,
                             .flops = tsim_projector_flops,
                             .add_matrices = tsim_projector_matrices,
                             .forward = tsim_projector_forward,
                             .backward = tsim_projector_backward,
                             .shape = tsim_op_shape_first,
                             .flow_bytes = tsim_stream_bytes,
                             .keep = tsim_projector_keep,
                             .waiting_bytes = tsim_projector_waiting_bytes,
                             .widest_bytes = tsim_projector_widest_bytes},
    [TSIM_PART_GENERATOR_LAYER] = {.word = "generator layer",
                                   .count = tsim_generator_count,
                                   .flops = tsim_generator_flops,
                                   .add_matrices = tsim_generator_matrices,
                                   .forward = tsim_generator_forward,
                                   .backward = tsim_generator_backward,
                                   .shape = tsim_op_shape_generator,
                                   .flow_bytes = tsim_generator_flow_bytes,
                                   .keep = tsim_generator_keep,
                                   .waiting_bytes = tsim_generator_waiting_bytes,
                                   .widest_bytes = tsim_generator_widest_bytes},
    [TSIM_PART_GENERATOR_HEAD] = {.word = "generator head",
                                  .count = tsim_generator_head_count,
                                  .flops = tsim_generator_head_flops,
                                  .add_matrices = tsim_generator_head_matrices,
                                  .forward = tsim_generator_head_forward,
                                  .backward = tsim_generator_head_backward,
                                  .shape = tsim_op_shape_first,
                                  .flow_bytes = tsim_stream_bytes,
                                  .keep = tsim_generator_head_keep,
                                  .waiting_bytes = tsim_generator_head_waiting_bytes,
                                  .widest_bytes = tsim_generator_head_widest_bytes},
    [TSIM_PART_LSTM] = {.word = "LSTM layer",
                        .count = tsim_lstm_count,
                        .flops = tsim_lstm_flops,
                        .add_matrices = tsim_lstm_matrices,
                        .forward = tsim_lstm_forward,
                        .backward = tsim_lstm_backward,
                        .shape = tsim_op_shape_first,
                        .flow_bytes = tsim_stream_bytes,
                        .keep = tsim_lstm_keep,
                        .waiting_bytes = tsim_lstm_waiting_bytes,
                        .widest_bytes = tsim_lstm_widest_bytes},
    [TSIM_PART_LSTM_BOTH_WAYS] = {.word = "LSTM layer both ways",
                                  .count = tsim_lstm_both_ways_count,
                                  .flops = tsim_lstm_both_ways_flops,
                                  .add_matrices = tsim_lstm_both_ways_matrices,
                                  .forward = tsim_lstm_both_ways_forward,
                                  .backward = tsim_lstm_both_ways_backward,
                                  .shape = tsim_op_shape_first,
                                  .flow_bytes = tsim_stream_bytes,
                                  .keep = tsim_lstm_both_ways_keep,
                                  .waiting_bytes = tsim_lstm_both_ways_waiting_bytes,
                                  .widest_bytes = tsim_lstm_both_ways_widest_bytes},
    [TSIM_PART_LSTM_WIDE] = {.word = "wide LSTM layer",
                             .count = tsim_lstm_wide_count,
                             .flops = tsim_lstm_wide_flops,
                             .add_matrices = tsim_lstm_wide_matrices,
                             .forward = tsim_lstm_wide_forward,
                             .backward = tsim_lstm_wide_backward,
                             .shape = tsim_op_shape_first,
                             .flow_bytes = tsim_stream_bytes,
                             .keep = tsim_lstm_wide_keep,
                             .waiting_bytes = tsim_lstm_wide_waiting_bytes,
                             .widest_bytes = tsim_lstm_wide_widest_bytes},
    [TSIM_PART_LSTM_ATTENTION] = {.word = "LSTM layer with attention",
                                  .count = tsim_lstm_attention_count,
                                  .flops = tsim_lstm_attention_flops,
                                  .add_matrices = tsim_lstm_attention_matrices,
                                  .forward = tsim_lstm_attention_forward,
                                  .backward = tsim_lstm_attention_backward,
                                  .shape = tsim_op_shape_last,
                                  .flow_bytes = tsim_stream_bytes,
                                  .keep = tsim_lstm_attention_keep,
                                  .waiting_bytes = tsim_lstm_attention_waiting_bytes,
                                  .widest_bytes = tsim_lstm_attention_widest_bytes},
    [TSIM_PART_LSTM_DECODER] = {.word = "LSTM decoder layer",
                                .count = tsim_lstm_decoder_count,
                                .flops = tsim_lstm_decoder_flops,
                                .add_matrices = tsim_lstm_decoder_matrices,
                                .forward = tsim_lstm_decoder_forward,
                                .backward = tsim_lstm_decoder_backward,
                                .shape = tsim_op_shape_last,
                                .flow_bytes = tsim_stream_bytes,
                                .keep = tsim_lstm_decoder_keep,
                                .waiting_bytes = tsim_lstm_decoder_waiting_bytes,
                                .widest_bytes = tsim_lstm_decoder_widest_bytes},
    [TSIM_PART_BLOCK] = {.word = "block",
                         .has_graph = always,
                         .variants = tsim_block_variants,
                         .count = tsim_block_count,
                         .add_matrices = tsim_block_matrices,
                         .forward = tsim_block_forward,
                         .backward = tsim_block_backward,
                         .flow_bytes = tsim_list_result_bytes,
                         .keep = tsim_block_keep,
                         .widest_bytes = tsim_block_widest_bytes},
    [TSIM_PART_HEAD] = {.word = "head", .is_end = true, .forward = tsim_head_forward, .backward = tsim_head_backward},
};

const struct tsim_layer_kind *tsim_layer_kind(enum tsim_part part) {
    TSIM_ASSERT(part < TSIM_N_PARTS);
    return &KINDS[part];
}

int64_t tsim_part_variants(const struct tsim_model *model, enum tsim_part part) {
    return KINDS[part].variants ? KINDS[part].variants(model) : 1;
}

bool tsim_layer_has_experts(enum tsim_part part) {
    return KINDS[part].feed_forward == &tsim_experts_feed_forward;
}

bool tsim_layer_is_frozen(const struct tsim_scenario *sc, enum tsim_part part) {
    bool is_of_tower = part == TSIM_PART_TOWER_LAYER || part == TSIM_PART_TOWER_WINDOW_LAYER;
    return (is_of_tower && tsim_tower_is_frozen(sc)) || (part == TSIM_PART_PROJECTOR && tsim_is_frozen(sc));
}

/* ---- what is executed ---- */

struct tsim_op_shape tsim_layer_shape(const struct tsim_scenario *sc, enum tsim_part part) {
    const struct tsim_mixer *mixer = KINDS[part].mixer;
    if (!mixer)
        return KINDS[part].shape(sc);
    struct tsim_op_shape z = tsim_op_shape_first(sc);
    z.is_alone = mixer == &tsim_no_mixer || KINDS[part].feed_forward == &tsim_no_feed_forward;
    if (mixer->fit)
        mixer->fit(&z);
    return z;
}

void tsim_layer_forward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    const struct tsim_layer_kind *kind = &KINDS[part];
    if (!kind->mixer) {
        kind->forward(sc, at, list);
        return;
    }
    struct tsim_op_shape z = tsim_layer_shape(sc, part);
    kind->mixer->forward(list, &z);
    kind->feed_forward->forward(list, &z);
}

void tsim_layer_backward(const struct tsim_scenario *sc, enum tsim_part part, int64_t at, struct tsim_op_list *list) {
    const struct tsim_layer_kind *kind = &KINDS[part];
    if (!kind->mixer) {
        kind->backward(sc, at, list);
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
    if (!kind->mixer) {
        kind->keep(sc, parts, kept);
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
    return KINDS[part].mixer ? tsim_stream_bytes(sc) : KINDS[part].flow_bytes(sc);
}

double tsim_layer_weight_gradient_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    const struct tsim_layer_kind *kind = &KINDS[part];
    if (!kind->mixer)
        return kind->waiting_bytes(sc);
    struct tsim_op_shape z = tsim_layer_shape(sc, part);
    return z.linear_bytes * (kind->mixer->waiting(&z) + kind->feed_forward->waiting(&z));
}

double tsim_layer_widest_bytes(const struct tsim_scenario *sc, enum tsim_part part) {
    const struct tsim_layer_kind *kind = &KINDS[part];
    if (!kind->mixer)
        return kind->widest_bytes(sc);
    struct tsim_op_shape z = tsim_layer_shape(sc, part);
    return fmax(kind->mixer->widest_bytes ? kind->mixer->widest_bytes(&z) : 0, kind->feed_forward->widest_bytes(&z));
}

bool tsim_layer_has_graph(const struct tsim_model *model, enum tsim_part part) {
    const struct tsim_layer_kind *kind = &KINDS[part];
    if (kind->mixer)
        return kind->feed_forward->has_graph(model);
    return kind->has_graph && kind->has_graph(model);
}

/* ---- what is counted ---- */

struct tsim_layer_parameters tsim_layer_count(const struct tsim_model *model, enum tsim_part part) {
    const struct tsim_layer_kind *kind = &KINDS[part];
    struct tsim_layer_parameters parameters = {0};
    if (kind->mixer) {
        kind->mixer->count(model, &parameters);
        kind->feed_forward->count(model, &parameters);
    } else {
        kind->count(model, &parameters);
    }
    return parameters;
}

/* A token meets each parameter of a product once, an expert's where it is one of its own, and the keys of its stack. */
struct tsim_layer_flops tsim_layer_forward_flops(const struct tsim_model *model, enum tsim_part part,
                                                 double first_length, double last_length) {
    const struct tsim_layer_kind *kind = &KINDS[part];
    struct tsim_layer_parameters p = tsim_layer_count(model, part);
    struct tsim_layer_flops flops;
    if (!kind->mixer) {
        kind->flops(model, &p, first_length, last_length, &flops);
        return flops;
    }
    double products = p.attention + p.latent + p.ffn + p.router + p.shared + tsim_active_frac(model) * p.experts;
    return (struct tsim_layer_flops){2 * products, kind->mixer->core_flops(model, first_length)};
}

void tsim_layer_matrices(const struct tsim_model *model, enum tsim_part part, double times,
                         struct tsim_matrices *matrices) {
    const struct tsim_layer_kind *kind = &KINDS[part];
    if (!kind->mixer) {
        kind->add_matrices(model, times, matrices);
        return;
    }
    kind->mixer->add_matrices(model, times, matrices);
    kind->feed_forward->add_matrices(model, times, matrices);
}
