/* operator_builders.h - private to the kinds of layer: functions that append operators to a list, and the functions of
 * which a kind of layer is made (layer_kind.c). `z` is the shape of a pass through a layer on one accelerator
 * (local_shape.h). */
#pragma once

#include "model/adapter.h"
#include "model/local_shape.h"
#include "model/operators.h"

#include <math.h>
#include <string.h>

/* A linear layer computes y = x W, with x of t x k, W of k x n and t tokens. Its backward products are dx = dy W^T
 * and dW = x^T dy. */
struct tsim_op_linear {
    const char *input, *weight; /* names of dx and dW */
    const char *gather, *reduce;
    double n, k;
    bool has_adapters;         /* LoRA adapters also take its input */
    bool is_never_quantized;   /* its weight stays in 16 bits if a frozen model's weights are quantized (QLoRA) */
    bool takes_fp8, gives_fp8; /* dy comes in fp8, dx leaves in fp8: beside attention in fp8 */
    bool is_cast;              /* the kernel that made dy has also cast and transposed it */
    bool shares_collectives;   /* another linear layer's collectives bring and take its operands */
    bool is_column_parallel;   /* reduces dx over the tensor group; else it is row-parallel, and gathers dy */
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

/* The instructions that PyTorch's kernels issue for an element. They load several elements at a time only where all
 * operands are of one type and lie side by side. Elsewhere (aten/src/ATen/native/cuda/CUDALoops.cuh,
 * launch_legacy_kernel) each element's place is divided out, and each operand's type looked up. Places: 1,048,576 to 15
 * million bytes compared with one row of them run at 186 G elements/s on V100 (pytorch/pytorch#69010), whose 80 units
 * issue 128 a cycle at 1.53 GHz, which makes 84. Types: fp16 to fp32 runs at 236 G/s on H100 PCIe
 * (pytorch/pytorch#137053) and bf16 to fp32 at 185 G/s on A100 (pytorch/pytorch#195542), which makes 100 and 105. The
 * two were not measured together; they are added. */
#define ISSUED_PLACES 84.0
#define ISSUED_TYPES 100.0
/* torch.cat of parts that are not contiguous divides out each element's place, too (aten/src/ATen/native/cuda/Shape.cu,
 * CatArrayBatchedCopy). 302 M elements take 1.556 ms on B300 (vllm-project/vllm#34917) and 805 M take 3.16 ms on
 * Blackwell (vllm-project/vllm#29710), taken as B200, which makes 192 and 146. With 160, and the rotation as complex
 * numbers, what torchtitan's pull request 4134 measures on GB300 (2F + 1B of 65,536 tokens with 128 heads, 53.9 ms) is
 * met within 4 %. */
#define ISSUED_JOINED 160.0
/* Parts of 16 bits that lie side by side are joined along the last dimension with wide loads: 31.5 M elements in 84.9 us
 * (pytorch/pytorch#150233; taken as H100, because 32 bits run at 1.9 TB/s there), which makes 83, and 15 % less with the
 * wide stores of #151818, both of 2025. */
#define ISSUED_JOINED_WIDE 72.0

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

/* Returns whether scales are those of rows along a product's depth. */
static inline bool scales_rows(const struct tsim_op_shape *z) {
    return z->linear_precision == TSIM_FP8 && z->software->fp8_scaling == TSIM_SCALING_ROWS;
}

/* Returns the bytes of an element that tensor ranks gather as a product's operand. Scales of rows are found after the
 * gather (torchtitan, enable_float8_tensorwise_tp: only with scales of tensors are operands cast before). */
static inline double gathered_bytes(const struct tsim_op_shape *z) {
    return scales_rows(z) ? z->element_bytes : z->linear_bytes;
}

/* Adds the cast of an operand. A quantized layer reads the operand in 16 bits and writes it quantized, and once more
 * transposed for the weight gradient, except with scales of rows; operands of experts are cast one after another, but by
 * compiled frameworks in one kernel, as their products are (vLLM, fused_moe: moe_kernel_quantize_input of all rows). If the
 * scale is the tensor's own, a pass before the cast reads the tensor for its largest value: in fp8 unless the kernel
 * that wrote it has found that (`is_scaled`); in NVFP4 always, because the largest value of what is transposed is found
 * after a Hadamard transform (Transformer Engine, hadamard_transform/). MXFP8 has only scales of blocks. The cast is
 * recomputed with `part`. */
static inline void cast_part(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name,
                             double elements, unsigned part, bool is_scaled) {
    enum tsim_precision precision = z->linear_precision;
    if (!tsim_is_quantized(precision))
        return;
    bool is_read_before = precision == TSIM_NVFP4 ||
                          (precision == TSIM_FP8 && !is_scaled && z->software->fp8_scaling == TSIM_SCALING_CURRENT);
    /* It is not transposed if there is no weight gradient. */
    double copies = tsim_is_frozen(z->scenario) || scales_rows(z) ? 1 : 2;
    double kernels = z->software->fusion == TSIM_FUSION_COMPILE ? 1 : z->groups;
    elementwise(list, name, elements, (is_read_before ? 4 : 2) + copies * z->linear_bytes,
                is_read_before ? 2 * kernels : kernels)
        ->parts = part;
}

/* Returns whether scales are taken from earlier steps, and so are known before the operand is. */
static inline bool scales_are_known(const struct tsim_op_shape *z) {
    return z->linear_precision == TSIM_FP8 && z->software->fp8_scaling == TSIM_SCALING_DELAYED;
}

/* Returns whether queries, keys, values, attention's result and their gradients are in fp8 (Transformer Engine's
 * `fp8_mha`). */
static inline bool attends_in_fp8(const struct tsim_op_shape *z) {
    return z->software->fp8_attention && z->flash && scales_are_known(z);
}

static inline double attention_bytes(const struct tsim_op_shape *z) {
    return attends_in_fp8(z) ? z->linear_bytes : z->element_bytes;
}

/* Returns whether the pass that casts a gradient also sums it over the tokens (Transformer Engine's
 * fp8_cast_transpose_bgrad_fused). */
static inline bool cast_sums_bias(const struct tsim_op_shape *z) {
    return scales_are_known(z) && z->software->bias_gradient_in_cast;
}

static inline bool activates_in_product(const struct tsim_op_shape *z) {
    return z->software->activation_in_product && !z->model->gated_mlp;
}

/* Returns whether norms are written out. Compiled norms and Transformer Engine's are kernels of their own, and layer
 * norms are PyTorch's kernels. */
static inline bool norms_are_written_out(const struct tsim_op_shape *z) {
    return z->model->norm == TSIM_NORM_RMSNORM && z->software->fusion == TSIM_FUSION_NONE &&
           z->software->norms == TSIM_NORMS_BY_FUSION;
}

/* Adds the cast of a tensor with scales of its columns, transposed, as torch.compile makes it of torchao's code: a pass
 * finds the largest values, and one casts and transposes, which moves 1.4 TB/s on an H100 where others reach 2.2
 * (pytorch/pytorch issue 133242). */
static inline struct tsim_op *cast_columns(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name,
                                           double elements) {
    const double SLOWER = 2.2 / 1.4;
    return elementwise(list, name, elements, z->element_bytes + (z->element_bytes + z->linear_bytes) * SLOWER,
                       2 * z->groups);
}

/* Adds the transposition, for the weight gradient, of a tensor that is already in fp8. */
static inline void transpose(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name,
                             double elements) {
    elementwise(list, name, elements, 2 * z->linear_bytes, 1);
}

static inline void cast(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name, double elements) {
    cast_part(list, z, name, elements, 0, false);
}

/* Adds the cast of an activation function's result. Megatron-Core's function, which is compiled apart from Transformer
 * Engine's modules, finds no largest value (megatron/core/transformer/mlp.py: bias_swiglu_impl before linear_fc2);
 * torch.compile includes it. */
static inline void cast_activation(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name,
                                   double elements) {
    cast_part(list, z, name, elements, TSIM_RECOMPUTE_ACTIVATION, z->software->fusion != TSIM_FUSION_TE);
}

/* Adds the rows of tiles that two experts have a part of, which are computed for both, and the weights that are read
 * for each tile. FLOPs count what was asked for. */
static inline void in_expert_tiles(struct tsim_op *op, const struct tsim_op_shape *z) {
    const struct tsim_expert_tiles *tiles = &z->software->expert_tiles;
    double devices = fmax((double)tiles->devices, 1), shared = devices * (1 - 1 / z->groups),
           rows = (double)(op->is_weight_gradient ? tiles->weight_gradient_rows : tiles->rows);
    if (!(op->is_grouped && rows > 0 && z->model->experts.capacity_factor <= 0))
        return;
    if (op->is_weight_gradient) {
        op->k += shared * rows;
        return;
    }
    op->bytes += fmax(op->m / rows + shared - 1, 0) * op->n * op->k * z->linear_bytes;
    op->m += shared * rows;
}

/* Makes a product one of each expert of the rank: `groups` equal products, at once or one after another. Frameworks
 * launch each on one of a few streams (Transformer Engine's nvte_multi_stream_cublas_gemm); compiled frameworks launch
 * all as one kernel. */
static inline struct tsim_op *grouped(struct tsim_op *op, const struct tsim_op_shape *z) {
    op->is_sequential = z->software->expert_products == TSIM_PRODUCTS_SEQUENTIAL;
    op->is_grouped = z->groups > 1 && !op->is_sequential;
    if (op->is_sequential)
        op->kernels = z->groups;
    else
        op->launches = z->software->fusion == TSIM_FUSION_COMPILE ? 1 : z->groups;
    in_expert_tiles(op, z);
    return batched(op, z->groups);
}

static inline double activation_bytes(enum tsim_precision precision) {
    return tsim_operand_bytes(tsim_unquantized(precision));
}

/* Marks the operators from `first` on as belonging to a part that can be recomputed. */
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

/* Adds the sum over the tensor ranks' partial results: a reduce-scatter to token shards with sequence parallelism, else
 * an all-reduce. */
static inline struct tsim_op *sum_partial(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name,
                                          double bytes, enum tsim_op_overlap overlap) {
    return tensor_collective(list, name, z->sequence_parallel ? TSIM_OP_REDUCE_SCATTER : TSIM_OP_ALL_REDUCE, bytes,
                             overlap);
}

/* The first adds the gather before a column-parallel product of depth `width`, if there is sequence parallelism; the
 * second adds the reduction after a row-parallel product, if there are tensor ranks. */
void tsim_op_gather_input(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name, double width);
void tsim_op_reduce_output(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name);

void tsim_op_norm_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name);
void tsim_op_norm_before_linear(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name);
void tsim_op_norm_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name);
/* Does the same without a residual, to whose gradient the norm's is added. */
void tsim_op_norm_alone_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name);
/* These add the norms of each head's query and key, if the model has them and no latent vectors. */
void tsim_op_head_norms_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_head_norms_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);
/* These add norms over all heads, of so many elements of queries and keys on this rank. */
void tsim_op_wide_norms_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, double queries, double keys);
void tsim_op_wide_norms_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, double queries, double keys);
/* These add the norm between a block and its residual, which some models have (`post_norms`). */
void tsim_op_norm_behind_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name);
void tsim_op_norm_behind_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name);
/* Adds a residual sum, before a norm of the same layer or at the layer's end. */
void tsim_op_residual_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name,
                              bool is_before_norm);
void tsim_op_residual_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name);

/* These add the operators of attention from its norm to its residual. */
void tsim_op_attention_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_attention_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);

/* These add attention's core: scores, softmax, and the product with the values. */
void tsim_op_core_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_core_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);

/* These add the copies of operands and result around attention's core that the software makes (operators_layout.c). */
void tsim_op_layout_operands(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_layout_result(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_layout_result_gradient(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_layout_joined(struct tsim_op_list *list, const struct tsim_op_shape *z);
/* Adds the sum of the three gradients of one input of which queries, keys and values are three products. Fused software
 * has no such kernel. */
void tsim_op_layout_inputs(struct tsim_op_list *list, const struct tsim_op_shape *z);

/* These add the exchanges between context ranks around attention's core, and the sums over the pieces of a ring. */
void tsim_op_context_before_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_context_after_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_context_before_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_context_after_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);
double tsim_op_ring_pieces(const struct tsim_op_shape *z); /* returns 1 without a ring */

void tsim_op_linear_backward(struct tsim_op_list *list, const struct tsim_op_shape *z,
                             const struct tsim_op_linear *linear);
/* Adds the backward products of x W, with x of `rows` x k and W of k x n, that tensor ranks do not share: their
 * operands are on this rank, in no fewer bits than attention's. */
void tsim_op_unshared_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *input,
                               const char *weight, double rows, double n, double k);
/* Does the same for a layer's product. */
void tsim_op_product_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, enum tsim_layer_product product,
                              const struct tsim_op_linear *linear);

/* These return the bytes that the activation function between the two products of a feed-forward block moves for each
 * element of its result, and the number of its kernels, forward or backward. */
double tsim_op_activation_bytes(const struct tsim_op_shape *z, bool backward);
double tsim_op_activation_kernels(const struct tsim_op_shape *z, bool backward);

/* These count parameters: those of attention and the norms around it, of the norms around a feed-forward block, of a
 * block of inner width `inner`, and of one norm. */
void tsim_count_attention(const struct tsim_model *model, struct tsim_layer_parameters *parameters);
void tsim_count_ffn_norms(const struct tsim_model *model, struct tsim_layer_parameters *parameters);
double tsim_count_mlp(const struct tsim_model *model, double inner);
double tsim_count_norm(const struct tsim_model *model);
double tsim_count_wide_norms(const struct tsim_model *model); /* of queries and keys, over all heads */

/* These add a feed-forward block from its norm to its residual; the last two add its products and activation alone,
 * which shared experts also have. */
void tsim_op_ffn_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_ffn_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_mlp_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_op_mlp_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);

/* Marks the operators with which a layer's forward pass ends, from its last product on, because that product's operands
 * are kept. */
void tsim_op_mark_last_projection(struct tsim_op_list *list);

/* ---- what kinds of layer are made of (layer_kind.c) ---- */

struct tsim_kept;
struct tsim_matrices;

/* A mixer is the part of a layer that mixes tokens, such as attention, from the norm before it to the residual after
 * it. `count` adds to what is there. `keep_core` is called after the feed-forward block's `keep`. */
struct tsim_mixer {
    /* Changes the shape if it differs from that of the model's first layer; NULL: it does not. */
    void (*fit)(struct tsim_op_shape *shape);
    void (*forward)(struct tsim_op_list *list, const struct tsim_op_shape *shape);
    void (*backward)(struct tsim_op_list *list, const struct tsim_op_shape *shape);
    void (*keep)(const struct tsim_op_shape *shape, unsigned parts, struct tsim_kept *kept);
    void (*keep_core)(const struct tsim_op_shape *shape, unsigned parts, struct tsim_kept *kept);
    /* Returns the elements that are kept until its weight gradients are computed. */
    double (*waiting)(const struct tsim_op_shape *shape);
    /* Returns the bytes of its widest tensor; NULL: the feed-forward block has a wider one. */
    double (*widest_bytes)(const struct tsim_op_shape *shape);
    void (*count)(const struct tsim_model *model, struct tsim_layer_parameters *parameters);
    /* Returns the forward FLOPs of a token by convention, without products with weights, in a sequence of `length`
     * tokens. */
    double (*core_flops)(const struct tsim_model *model, double length);
    void (*add_matrices)(const struct tsim_model *model, double times, struct tsim_matrices *matrices);
    /* Returns the bytes of a state that stands for all earlier tokens of a micro-batch; NULL: it has no state, but keys
     * and values of each token. */
    double (*state_bytes)(const struct tsim_op_shape *shape);
    /* Returns the parameters of the adapters beside its products on a tensor rank; NULL: they are attention's. */
    double (*adapter_parameters)(const struct tsim_op_shape *shape);
};
struct tsim_feed_forward {
    void (*forward)(struct tsim_op_list *list, const struct tsim_op_shape *shape);
    void (*backward)(struct tsim_op_list *list, const struct tsim_op_shape *shape);
    void (*keep)(const struct tsim_op_shape *shape, unsigned parts, struct tsim_kept *kept);
    double (*waiting)(const struct tsim_op_shape *shape);
    double (*widest_bytes)(const struct tsim_op_shape *shape);
    void (*count)(const struct tsim_model *model, struct tsim_layer_parameters *parameters);
    void (*add_matrices)(const struct tsim_model *model, double times, struct tsim_matrices *matrices);
    /* These return the parameters of the adapters beside its products on a tensor rank, without those of routed experts,
     * and those of these; NULL: it has none. */
    double (*adapter_parameters)(const struct tsim_op_shape *shape);
    double (*routed_adapter_parameters)(const struct tsim_op_shape *shape);
};
extern const struct tsim_mixer tsim_attention_mixer, tsim_window_mixer, tsim_encoder_mixer, tsim_mamba_mixer,
    tsim_mamba1_mixer, tsim_delta_mixer, tsim_short_mixer, tsim_lightning_mixer, tsim_beside_mixer, tsim_sparse_mixer,
    tsim_shared_mixer, tsim_segment_mixer, tsim_no_mixer;
extern const struct tsim_feed_forward tsim_dense_feed_forward, tsim_experts_feed_forward, tsim_no_feed_forward;

/* A kind of layer that is not a mixer and a feed-forward block has functions for the whole layer. `part` tells kinds
 * apart that share functions. */
struct tsim_whole_layer {
    /* Returns the number of different layers of this kind in a model, one after another; NULL: all are alike. */
    int64_t (*variants)(const struct tsim_model *model);
    /* These add the operators of a micro-batch in execution order; `at` counts the variants from 0. */
    void (*forward)(const struct tsim_scenario *scenario, enum tsim_part part, int64_t at, struct tsim_op_list *list);
    void (*backward)(const struct tsim_scenario *scenario, enum tsim_part part, int64_t at, struct tsim_op_list *list);
    /* The ends of the model have none of the functions below. */
    /* Adds the layer's parameters to a struct that is zeroed. */
    void (*count)(const struct tsim_model *model, enum tsim_part part, struct tsim_layer_parameters *parameters);
    /* Counts FLOPs by convention (struct tsim_layer_flops), with stacks of these lengths in tokens; NULL: it belongs to
     * a layer list, whose FLOPs are counted for the whole list. */
    void (*flops)(const struct tsim_model *model, enum tsim_part part, const struct tsim_layer_parameters *parameters,
                  double first_length, double last_length, struct tsim_layer_flops *flops);
    void (*add_matrices)(const struct tsim_model *model, enum tsim_part part, double times,
                         struct tsim_matrices *matrices);
    /* True if frameworks that make a CUDA graph of each layer make one of this. A graph has one input and one output,
     * of fixed shapes. A mixer with its feed-forward block always has a graph. */
    bool has_graph;
    /* Returns whether the layer is frozen. Nothing before a frozen layer needs a gradient either, and its backward pass
     * is empty. NULL: it is never frozen. */
    bool (*is_frozen)(const struct tsim_scenario *scenario);
    /* Lists the tensors that are kept for the backward pass, without those that `parts` (enum tsim_recompute_part)
     * execute again. */
    void (*keep)(const struct tsim_scenario *scenario, enum tsim_part part, unsigned parts, struct tsim_kept *kept);
    /* Returns the bytes that go to the next layer, over all tensor ranks. */
    double (*flow_bytes)(const struct tsim_scenario *scenario);
    /* Returns the bytes of its widest inner tensor. */
    double (*widest_bytes)(const struct tsim_scenario *scenario, enum tsim_part part);
    /* Returns the bytes that are kept until its weight gradients are computed; NULL: its backward pass is never
     * split. */
    double (*waiting_bytes)(const struct tsim_scenario *scenario, enum tsim_part part);
    /* Returns its shape on one accelerator; NULL: it is never recomputed. */
    struct tsim_op_shape (*shape)(const struct tsim_scenario *scenario);
};
extern const struct tsim_whole_layer tsim_embedding_end, tsim_decoder_layer, tsim_modulated_layer, tsim_joint_layer,
    tsim_tower_layer, tsim_projector_layer, tsim_generator_layer, tsim_generator_head, tsim_lstm_layer,
    tsim_lstm_decoder_layer, tsim_block_layer, tsim_head_end;

/* These add and keep attention to the tokens of another stack, or of a text, from its norm to its residual
 * (layer_decoder.c). */
void tsim_op_cross_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct tsim_op_shape *other);
void tsim_op_cross_backward(struct tsim_op_list *list, const struct tsim_op_shape *z,
                            const struct tsim_op_shape *other);
void tsim_keep_cross(const struct tsim_op_shape *z, const struct tsim_op_shape *other, unsigned parts,
                     struct tsim_kept *kept);

/* layer_tower.c says whether a vision-language model's tower is frozen, and gives the scenario as the tower alone has
 * it. */
bool tsim_tower_is_frozen(const struct tsim_scenario *scenario);
void tsim_tower_scenario(const struct tsim_scenario *scenario, struct tsim_scenario *own);

/* These add the ends of a diffusion transformer; ends.c calls them. */
void tsim_diffusion_embedding_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_diffusion_embedding_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_diffusion_head_forward(struct tsim_op_list *list, const struct tsim_op_shape *z);
void tsim_diffusion_head_backward(struct tsim_op_list *list, const struct tsim_op_shape *z);
