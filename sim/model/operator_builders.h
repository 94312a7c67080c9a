/* operator_builders.h - private to the kinds of layer: how operators are put on a list. */
#ifndef TSIM_MODEL_OPERATOR_BUILDERS_H
#define TSIM_MODEL_OPERATOR_BUILDERS_H

#include "model/adapter.h"
#include "model/local_shape.h"
#include "model/operators.h"

#include <string.h>

/* Product y = x W of t x k by k x n whose backward is dx = dy W^T and dW = x^T dy. */
struct tsim_op_linear {
    const char *input, *weight; /* names of the backward products */
    const char *gather, *reduce;
    double n, k;
    bool has_adapters;         /* which take its input as well */
    bool is_never_quantized;   /* its weight, where those of a frozen model are */
    bool takes_fp8, gives_fp8; /* the gradient that comes in, and that of the input: of and for attention in fp8 */
    bool is_cast;              /* so is the gradient that comes in, by the kernel that made it, transposed, too */
    bool shares_collectives;   /* those of another linear layer bring and take its operands */
    bool is_column_parallel;   /* reduces dx over the tensor group; else row-parallel: gathers dy */
};

static inline struct tsim_op *add(struct tsim_op_list *list, const char *name, enum tsim_op_kind kind) {
    TSIM_ASSERT(list->n < TSIM_MAX_OPS);
    struct tsim_op *op = &list->ops[list->n++];
    memset(op, 0, sizeof *op);
    op->name = name;
    op->kind = kind;
    op->kernels = 1;
    op->batch = 1;
    op->product = TSIM_NO_LAYER_PRODUCT;
    return op;
}

static inline struct tsim_op *elementwise(struct tsim_op_list *list, const char *name, double elements,
                                          double bytes_per_element, double kernels) {
    struct tsim_op *op = add(list, name, TSIM_OP_ELEMENTWISE);
    op->elements = elements;
    op->bytes = elements * bytes_per_element;
    op->kernels = kernels;
    return op;
}

/* Instructions that PyTorch's kernels issue for an element. They load several at a time only where all operands are of one
 * type and lie side by side; else (aten/src/ATen/native/cuda/CUDALoops.cuh, launch_legacy_kernel) each element's place is
 * divided out, and each operand's type looked up. Places: 1,048,576 to 15 million bytes compared with one row of them,
 * 186 G elements/s on V100 (pytorch/pytorch#69010), whose 80 units issue 128 a cycle at 1.53 GHz: 84. Types: fp16 to
 * fp32, 236 G/s on H100 PCIe (pytorch/pytorch#137053) and bf16 to fp32, 185 G/s on A100 (pytorch/pytorch#195542): 100
 * and 105. Both were not measured together; they are added. */
#define ISSUED_PLACES 84.0
#define ISSUED_TYPES 100.0

static inline struct tsim_op *issuing(struct tsim_op *op, double instructions) {
    op->issued = instructions;
    return op;
}

static inline struct tsim_op *gemm(struct tsim_op_list *list, const char *name, enum tsim_precision precision, double m,
                                   double n, double k, double operand_bytes, double result_bytes) {
    struct tsim_op *op = add(list, name, TSIM_OP_GEMM);
    op->precision = precision;
    op->m = m;
    op->n = n;
    op->k = k;
    op->flops = 2 * m * n * k;
    op->bytes = operand_bytes * (m * k + k * n) + result_bytes * m * n;
    return op;
}

static inline struct tsim_op *batched(struct tsim_op *op, double batch) {
    op->batch = batch;
    op->flops *= batch;
    op->bytes *= batch;
    op->sum_bytes *= batch;
    return op;
}

/* Quantized layers read an operand of 2 bytes and write it quantized, and once more transposed for the weight gradient;
 * of experts one after another. Where scales are the tensor's own, it is read before for its largest value: in fp8
 * unless the kernel that wrote it found that (`is_scaled`); in NVFP4 always, since the largest value of what is
 * transposed is found after a Hadamard transform (Transformer Engine, hadamard_transform/). MXFP8 has scales of blocks
 * alone. Recomputed with `part`. */
static inline void cast_part(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name,
                             double elements, unsigned part, bool is_scaled) {
    enum tsim_precision precision = z->linear_precision;
    if (!tsim_is_quantized(precision))
        return;
    bool is_read_before = precision == TSIM_NVFP4 ||
                          (precision == TSIM_FP8 && !is_scaled && z->software->fp8_scaling == TSIM_SCALING_CURRENT);
    double copies = tsim_is_frozen(z->scenario) ? 1 : 2; /* without a weight gradient it is not transposed */
    elementwise(list, name, elements, (is_read_before ? 4 : 2) + copies * z->linear_bytes,
                is_read_before ? 2 * z->groups : z->groups)
        ->parts = part;
}

/* Scales of earlier steps, known before the operand is. */
static inline bool scales_are_known(const struct tsim_op_shape *z) {
    return z->linear_precision == TSIM_FP8 && z->software->fp8_scaling == TSIM_SCALING_DELAYED;
}

/* Queries, keys, values, attention's result and their gradients are fp8 (Transformer Engine's `fp8_mha`). */
static inline bool attends_in_fp8(const struct tsim_op_shape *z) {
    return z->software->fp8_attention && z->flash && scales_are_known(z);
}

static inline double attention_bytes(const struct tsim_op_shape *z) {
    return attends_in_fp8(z) ? z->linear_bytes : z->element_bytes;
}

/* The pass that casts a gradient also sums it over the tokens (Transformer Engine's fp8_cast_transpose_bgrad_fused). */
static inline bool cast_sums_bias(const struct tsim_op_shape *z) {
    return scales_are_known(z) && z->software->bias_gradient_in_cast;
}

static inline bool activates_in_product(const struct tsim_op_shape *z) {
    return z->software->activation_in_product && !z->model->gated_mlp;
}

/* A tensor in fp8 is transposed for the weight gradient, without a cast. */
static inline void transpose(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name,
                             double elements) {
    elementwise(list, name, elements, 2 * z->linear_bytes, 1);
}

static inline void cast(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name, double elements) {
    cast_part(list, z, name, elements, 0, false);
}

/* Casts what an activation function wrote. Megatron-Core's own, compiled apart from Transformer Engine's modules, finds
 * no largest value (megatron/core/transformer/mlp.py: bias_swiglu_impl before linear_fc2); torch.compile takes it
 * along. */
static inline void cast_activation(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name,
                                   double elements) {
    cast_part(list, z, name, elements, TSIM_RECOMPUTE_ACTIVATION, z->software->fusion != TSIM_FUSION_TE);
}

/* `groups` equal products at once, or one after another. Frameworks launch each on one of a few streams (Transformer
 * Engine's nvte_multi_stream_cublas_gemm), compiled ones all as one kernel. */
static inline struct tsim_op *grouped(struct tsim_op *op, const struct tsim_op_shape *z) {
    op->is_sequential = z->software->expert_products == TSIM_PRODUCTS_SEQUENTIAL;
    op->is_grouped = z->groups > 1 && !op->is_sequential;
    if (op->is_sequential)
        op->kernels = z->groups;
    else
        op->launches = z->software->fusion == TSIM_FUSION_COMPILE ? 1 : z->groups;
    return batched(op, z->groups);
}

static inline double activation_bytes(enum tsim_precision precision) {
    return tsim_operand_bytes(tsim_unquantized(precision));
}

/* The operators from `first` on belong to a part. */
static inline void mark_part(struct tsim_op_list *list, int32_t first, enum tsim_recompute_part part) {
    for (int32_t i = first; i < list->n; i++)
        list->ops[i].parts |= (unsigned)part;
}

static inline struct tsim_op *tensor_collective(struct tsim_op_list *list, const char *name,
                                                enum tsim_op_collective collective, double bytes,
                                                enum tsim_op_overlap overlap) {
    struct tsim_op *op = add(list, name, TSIM_OP_COLLECTIVE);
    op->collective = collective;
    op->axis = TSIM_AXIS_TENSOR;
    op->collective_bytes = bytes;
    op->overlap = overlap;
    return op;
}

/* Partial sums of the tensor ranks: onto token shards with sequence parallelism. */
static inline struct tsim_op *sum_partial(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name,
                                          double bytes, enum tsim_op_overlap overlap) {
    return tensor_collective(list, name, z->sequence_parallel ? TSIM_OP_REDUCE_SCATTER : TSIM_OP_ALL_REDUCE, bytes,
                             overlap);
}

/* Adds the gather before a column-parallel product of depth `width`, which sequence parallelism needs. The next one
 * adds the reduction after a row-parallel product, which tensor ranks need. */
void tsim_op_gather_input(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name, double width);
void tsim_op_reduce_output(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name);

void tsim_op_norm_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name);
void tsim_op_norm_before_linear(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name);
void tsim_op_norm_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name);
/* Adds the norms of each head's query and key, where the model has them and no latent vectors. */
void tsim_op_head_norms_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_head_norms_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);
/* Adds the norm between a block and its residual, which some models have (`post_norms`). */
void tsim_op_norm_behind_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name);
void tsim_op_norm_behind_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name);
/* Adds a residual sum, before a norm of the same layer or at the layer's end. */
void tsim_op_residual_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name,
                              bool is_before_norm);
void tsim_op_residual_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name);

/* Add the operators of attention from its norm to its residual. */
void tsim_op_attention_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_attention_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);

/* Scores, softmax, values. */
void tsim_op_core_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_core_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);

/* Around attention's core: copies of operands and result, see operators_layout.c. */
void tsim_op_layout_operands(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_layout_result(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_layout_result_gradient(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_layout_joined(struct tsim_op_list *list, const struct tsim_op_shape *z);
/* Adds the sum of the gradients of an input that three products share, if nothing is fused. */
void tsim_op_layout_inputs(struct tsim_op_list *list, const struct tsim_op_shape *z);

/* Around attention's core: what context ranks exchange, and the sums of a ring's pieces. */
void tsim_op_context_before_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_context_after_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_context_before_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_context_after_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);
double tsim_op_ring_pieces(const struct tsim_op_shape *z); /* 1: no ring */

void tsim_op_linear_backward(struct tsim_op_list *list, const struct tsim_op_shape *z,
                             const struct tsim_op_linear *linear);
/* Does the same for a product of `rows` x k by k x n that tensor ranks do not share: its operands are on this rank, and never in
 * fewer bits than attention's. */
void tsim_op_unshared_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *input,
                               const char *weight, double rows, double n, double k);
/* Does the same for a layer's product. */
void tsim_op_product_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, enum tsim_layer_product product,
                              const struct tsim_op_linear *linear);

/* Returns the activation function between the two products, backward as well: bytes per element of the result, and
 * kernels. */
double tsim_op_activation_bytes(const struct tsim_op_shape *z, bool backward);
double tsim_op_activation_kernels(const struct tsim_op_shape *z, bool backward);

/* Parameters of attention and the norms around it; of the norms around a feed-forward block, and of one of inner width
 * `inner`. */
void tsim_count_attention(const struct tsim_model *model, struct tsim_layer_parameters *parameters);
void tsim_count_ffn_norms(const struct tsim_model *model, struct tsim_layer_parameters *parameters);
double tsim_count_mlp(const struct tsim_model *model, double inner);
double tsim_count_norm(const struct tsim_model *model);

/* A feed-forward block, from norm to residual; and its products alone, which shared experts have as well. */
void tsim_op_ffn_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_ffn_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_mlp_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_mlp_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);

/* Marks what a layer's forward pass ends with, from the last product down on, whose operands are kept. */
void tsim_op_mark_last_projection(struct tsim_op_list *list);

/* ---- what kinds of layer are made of (layer_kind.c) ---- */

struct tsim_kept;
struct tsim_matrices;

/* A mixer reaches from the norm before it to the residual behind it. Counts add to what is there; `keep_core` stands
 * behind the feed-forward block in a list of what is kept. */
struct tsim_mixer {
    void (*fit)(
        struct tsim_op_shape *shape); /* changes what is other than in the model's first layer; NULL: nothing is */
    void (*forward)(struct tsim_op_list *list, const struct tsim_op_shape *shape);
    void (*backward)(struct tsim_op_list *list, const struct tsim_op_shape *shape);
    void (*keep)(const struct tsim_op_shape *shape, unsigned parts, struct tsim_kept *kept);
    void (*keep_core)(const struct tsim_op_shape *shape, unsigned parts, struct tsim_kept *kept);
    double (*waiting)(const struct tsim_op_shape *shape);      /* elements that its weight gradients wait with */
    double (*widest_bytes)(const struct tsim_op_shape *shape); /* NULL: what follows is wider */
    void (*count)(const struct tsim_model *model, struct tsim_layer_parameters *parameters);
    /* FLOPs of a token forward by convention, beside its products with weights, in a sequence so long. */
    double (*core_flops)(const struct tsim_model *model, double length);
    void (*add_matrices)(const struct tsim_model *model, double times, struct tsim_matrices *matrices);
    /* Bytes of a state that stands for all earlier tokens of a micro-batch; NULL: keys and values of each do. */
    double (*state_bytes)(const struct tsim_op_shape *shape);
};
struct tsim_feed_forward {
    void (*forward)(struct tsim_op_list *list, const struct tsim_op_shape *shape);
    void (*backward)(struct tsim_op_list *list, const struct tsim_op_shape *shape);
    void (*keep)(const struct tsim_op_shape *shape, unsigned parts, struct tsim_kept *kept);
    double (*waiting)(const struct tsim_op_shape *shape);
    double (*widest_bytes)(const struct tsim_op_shape *shape);
    bool (*has_graph)(const struct tsim_model *model);
    void (*count)(const struct tsim_model *model, struct tsim_layer_parameters *parameters);
    void (*add_matrices)(const struct tsim_model *model, double times, struct tsim_matrices *matrices);
};
extern const struct tsim_mixer tsim_attention_mixer, tsim_window_mixer, tsim_encoder_mixer, tsim_mamba_mixer,
    tsim_mamba1_mixer, tsim_delta_mixer, tsim_sparse_mixer, tsim_segment_mixer, tsim_no_mixer;
extern const struct tsim_feed_forward tsim_dense_feed_forward, tsim_experts_feed_forward, tsim_no_feed_forward;

/* A kind that is not made of two has functions for the whole; `part` tells apart kinds that share them. */
struct tsim_whole_layer {
    /* Returns how many different layers of this kind a model has, one after another; NULL: all are alike. */
    int64_t (*variants)(const struct tsim_model *model);
    /* Adds what it executes for a micro-batch, in order; `at` counts the variants from 0. */
    void (*forward)(const struct tsim_scenario *scenario, enum tsim_part part, int64_t at, struct tsim_op_list *list);
    void (*backward)(const struct tsim_scenario *scenario, enum tsim_part part, int64_t at, struct tsim_op_list *list);
    /* The rest is asked of layers alone, not of ends. */
    void (*count)(const struct tsim_model *model, enum tsim_part part,
                  struct tsim_layer_parameters *parameters); /* adds to zeros */
    /* Counts by convention (struct tsim_layer_flops), in stacks of so many tokens; NULL: lists count theirs whole. */
    void (*flops)(const struct tsim_model *model, enum tsim_part part, const struct tsim_layer_parameters *parameters,
                  double first_length, double last_length, struct tsim_layer_flops *flops);
    void (*add_matrices)(const struct tsim_model *model, enum tsim_part part, double times,
                         struct tsim_matrices *matrices);
    /* Do frameworks that make a CUDA graph of each layer make one of this? NULL: never. Shapes of a graph are fixed, and
     * it takes and gives one tensor alone. */
    bool (*has_graph)(const struct tsim_model *model);
    /* Is it not trained? Nothing before it needs a gradient, so its backward pass is empty. NULL: never. */
    bool (*is_frozen)(const struct tsim_scenario *scenario);
    /* Tells what it keeps for its backward pass, without what `parts` (enum tsim_recompute_part) execute again. */
    void (*keep)(const struct tsim_scenario *scenario, enum tsim_part part, unsigned parts, struct tsim_kept *kept);
    double (*flow_bytes)(const struct tsim_scenario *scenario); /* what it hands to the next, of all tensor ranks */
    double (*widest_bytes)(const struct tsim_scenario *scenario, enum tsim_part part); /* its widest inner tensor */
    double (*waiting_bytes)(const struct tsim_scenario *scenario,
                            enum tsim_part part); /* weight gradients wait with; NULL: never split */
    struct tsim_op_shape (*shape)(
        const struct tsim_scenario *scenario); /* on one accelerator; NULL: never recomputed */
};
extern const struct tsim_whole_layer tsim_embedding_end, tsim_decoder_layer, tsim_modulated_layer, tsim_joint_layer,
    tsim_tower_layer, tsim_projector_layer, tsim_generator_layer, tsim_generator_head, tsim_lstm_layer,
    tsim_lstm_decoder_layer, tsim_block_layer, tsim_head_end;

/* Attention to the tokens of another stack, or of a text (layer_decoder.c); from norm to residual. */
void tsim_op_cross_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct tsim_op_shape *other);
void tsim_op_cross_backward(struct tsim_op_list *list, const struct tsim_op_shape *z,
                            const struct tsim_op_shape *other);
void tsim_keep_cross(const struct tsim_op_shape *z, const struct tsim_op_shape *other, unsigned parts,
                     struct tsim_kept *kept);

/* A vision-language model's tower (layer_tower.c): is it not trained, and the scenario as it sees it. */
bool tsim_tower_is_frozen(const struct tsim_scenario *scenario);
void tsim_tower_scenario(const struct tsim_scenario *scenario, struct tsim_scenario *own);

/* The ends of a diffusion transformer, which ends.c asks. */
void tsim_diffusion_embedding_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_diffusion_embedding_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_diffusion_head_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_diffusion_head_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);

#endif
