#include "model/layer_kind.h"

#include "model/layer_list.h"
#include "model/operator_builders.h"

static bool always(const struct tsim_model *m) {
    (void)m;
    return true;
}

static const struct tsim_layer_kind KINDS[TSIM_N_PARTS] = {
    [TSIM_PART_EMBEDDING] = {.word = "embedding",
                             .is_end = true,
                             .forward = tsim_embedding_forward,
                             .backward = tsim_embedding_backward},
    [TSIM_PART_LAYER] = {.word = "layer",
                         .has_graph = always,
                         .count = tsim_dense_count,
                         .flops = tsim_stream_flops,
                         .add_matrices = tsim_dense_matrices,
                         .forward = tsim_dense_forward,
                         .backward = tsim_dense_backward,
                         .shape = tsim_op_shape_first,
                         .flow_bytes = tsim_stream_bytes,
                         .keep = tsim_dense_keep,
                         .waiting_bytes = tsim_dense_waiting_bytes,
                         .widest_bytes = tsim_dense_widest_bytes},
    [TSIM_PART_EXPERT_LAYER] = {.word = "expert layer",
                                .has_graph = tsim_experts_have_graph,
                                .count = tsim_experts_count,
                                .flops = tsim_stream_flops,
                                .add_matrices = tsim_experts_matrices,
                                .forward = tsim_experts_forward,
                                .backward = tsim_experts_backward,
                                .shape = tsim_op_shape_last,
                                .flow_bytes = tsim_stream_bytes,
                                .keep = tsim_experts_keep,
                                .waiting_bytes = tsim_experts_waiting_bytes,
                                .widest_bytes = tsim_experts_widest_bytes},
    [TSIM_PART_ENCODER_LAYER] = {.word = "encoder layer",
                                 .has_graph = always,
                                 .count = tsim_dense_count,
                                 .flops = tsim_stream_flops,
                                 .add_matrices = tsim_dense_matrices,
                                 .forward = tsim_encoder_forward,
                                 .backward = tsim_encoder_backward,
                                 .shape = tsim_encoder_shape,
                                 .flow_bytes = tsim_stream_bytes,
                                 .keep = tsim_dense_keep,
                                 .waiting_bytes = tsim_dense_waiting_bytes,
                                 .widest_bytes = tsim_dense_widest_bytes},
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

struct tsim_layer_parameters tsim_layer_count(const struct tsim_model *model, enum tsim_part part) {
    struct tsim_layer_parameters parameters = {0};
    KINDS[part].count(model, &parameters);
    return parameters;
}

struct tsim_layer_flops tsim_layer_forward_flops(const struct tsim_model *model, enum tsim_part part,
                                                 double first_length, double last_length) {
    struct tsim_layer_parameters parameters = tsim_layer_count(model, part);
    struct tsim_layer_flops flops;
    KINDS[part].flops(model, &parameters, first_length, last_length, &flops);
    return flops;
}

bool tsim_layer_has_graph(const struct tsim_model *model, enum tsim_part part) {
    return KINDS[part].has_graph && KINDS[part].has_graph(model);
}
