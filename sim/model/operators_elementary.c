/* The operators of which blocks are made: gathers and sums of tensor ranks, norms, residuals, activation functions, and
 * the gradients of a product. */
#include "model/adapter.h"
#include "model/operator_builders.h"
#include "model/parameter_bytes.h"

/* ---- forward ---- */

/* Returns whether products take gathered pieces as they come. With scales of rows torch.compile leaves the gather apart
 * from the product (pytorch/pytorch issue 149990). */
static bool pipelines_gathers(const struct tsim_op_shape *z) {
    return z->scenario->parallelism.overlap.tensor && !scales_rows(z);
}

static bool cuts_samples(const struct tsim_op_shape *z) {
    return z->software->sequence_copies && z->sequence_parallel;
}

/* Adds the copies of sequence parallelism along the tokens of a sample: what is gathered lies by ranks, and is copied
 * into samples; what is scattered is copied the other way round. Products that take the pieces as they come, or give
 * them, need none. */
static struct tsim_op *sequence_copy(struct tsim_op_list *list, const struct tsim_op_shape *z, double bytes,
                                     bool is_pipelined) {
    return cuts_samples(z) && !is_pipelined ? elementwise(list, "tensor: samples, copy", bytes, 2, 1) : NULL;
}

/* Adds the sum of the pieces that the ranks of a scattered sum send as copies with tensor overlap
 * (torch/distributed/_symmetric_memory, fused_matmul_reduce_scatter: stacked_partials). */
static void sum_pieces(struct tsim_op_list *list, const struct tsim_op_shape *z, double bytes) {
    if (cuts_samples(z) && z->scenario->parallelism.overlap.tensor)
        elementwise(list, "tensor: pieces, sum", bytes, 1 + 1 / z->tp, 1);
}

/* Adds the gather of tokens that sequence parallelism needs before a column-parallel product of depth `width`. */
void tsim_op_gather_input(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name, double width) {
    if (!z->sequence_parallel)
        return;
    double bytes = z->t * width * gathered_bytes(z);
    bool pipelined = pipelines_gathers(z);
    tensor_collective(list, name, TSIM_OP_ALL_GATHER, bytes, pipelined ? TSIM_PIPELINED_NEXT : TSIM_EXPOSED);
    sequence_copy(list, z, bytes, pipelined);
    if (scales_rows(z))
        cast(list, z, "cast, gathered", z->t * width);
}

/* Adds the reduction of partial sums after a row-parallel product, onto token shards with sequence parallelism. In
 * chunks beside their product they are sent in fp8 where the product is, if its scales are those of earlier steps
 * (Transformer Engine's user buffers, `fp8_buf`; NVIDIA/NeMo, llm/recipes/tp_overlap_configs/userbuffers.py). */
void tsim_op_reduce_output(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name) {
    if (z->tp == 1)
        return;
    bool pipelined = z->scenario->parallelism.overlap.tensor && z->sequence_parallel;
    sequence_copy(list, z, z->t * z->h * z->element_bytes, z->scenario->parallelism.overlap.tensor);
    sum_partial(list, z, name, z->t * z->h * (pipelined && scales_are_known(z) ? z->linear_bytes : z->element_bytes),
                pipelined ? TSIM_PIPELINED_PREVIOUS : TSIM_EXPOSED);
    sum_pieces(list, z, z->t * z->h * z->element_bytes);
}

/* Returns whether x.float() is computed before Apex's MixedFusedRMSNorm, whose result has the type of its weights. */
static bool norms_copy_input(const struct tsim_op_shape *z) {
    return z->model->norm == TSIM_NORM_RMSNORM && z->software->norms == TSIM_NORMS_FUSED_FP32;
}

/* A norm's kernels read its input so often and, backward, the gradient of its result. */
struct norm_reads {
    double forward, backward, of_weight;
};

/* Apex's kernels sum a row up and then read it again, backward both tensors (csrc/layer_norm_cuda_kernel.cu,
 * cuApplyLayerNorm, cuComputeGradInput), as PyTorch's do (aten/src/ATen/native/cuda/layer_norm_kernel.cu,
 * vectorized_layer_norm_kernel, layer_norm_grad_input_kernel); another kernel reads both for the gradient of the scale.
 * A second reading may find its row in a cache. Measured times are those of two readings, but of one in PyTorch's kernel
 * forward (tests/unit/test_operators_layout.c). Transformer Engine's kernels (common/normalization, rmsnorm_bwd_kernels.cuh,
 * ln_bwd_kernels.cuh) and Apex's FastLayerNorm keep a row in registers, and sum up the scale's gradient on the way. */
static struct norm_reads norm_reads_of(const struct tsim_op_shape *z) {
    static const struct norm_reads APEX = {2, 2, 1}, PYTORCH = {1, 2, 1}, SEPARATE = {1, 1, 1}, ONE_PASS = {1, 1, 0};
    if (z->software->norms != TSIM_NORMS_BY_FUSION)
        return z->software->norms == TSIM_NORMS_ONE_PASS     ? ONE_PASS
               : z->software->norms == TSIM_NORMS_FUSED_FP32 ? APEX
                                                             : SEPARATE;
    switch (z->software->fusion) {
    case TSIM_FUSION_NONE:
        return PYTORCH;
    case TSIM_FUSION_MEGATRON:
        return APEX;
    case TSIM_FUSION_TE:
        return ONE_PASS;
    case TSIM_FUSION_COMPILE:
        break;
    }
    return SEPARATE;
}

static struct tsim_op *norm_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name,
                                    double elements) {
    double e = z->element_bytes, reads = norm_reads_of(z).forward;
    /* Frameworks write an RMS norm out in fp32: converted, squared, its mean, scaled, converted, times the weight. */
    bool written_out = norms_are_written_out(z), copies = norms_copy_input(z);
    return elementwise(list, name, elements,
                       written_out ? (e + 4) + 8 + 4 + 8 + (4 + e) + 2 * e
                       : copies    ? (e + 4) + (4 * reads + e)
                                   : (reads + 1) * e,
                       written_out ? 6
                       : copies    ? 2
                                   : 1);
}

void tsim_op_norm_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name) {
    norm_forward(list, z, name, z->ts * z->h)->parts = TSIM_RECOMPUTE_NORMS;
}

/* Queries and keys have kernels of their own. Those of Megatron-Core stay where recomputation of norms repeats the
 * layer's two (transformer_layer.py: recompute_input_layernorm, recompute_pre_mlp_layernorm). */
void tsim_op_head_norms_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    if (z->model->qk_norm && z->model->latent.kv_rank == 0)
        norm_forward(list, z, "norms of queries and keys", z->t * (z->query + z->key))->kernels *= 2;
    if (z->model->wide_qk_norm)
        tsim_op_wide_norms_forward(list, z, z->t * z->query, z->t * z->key);
}

/* A norm over all heads needs those of the other tensor ranks: each gathers all, normalizes all and takes its own
 * (Megatron-Bridge, diffusion/models/common/dit_attention.py, layernorm_across_heads; vLLM, models/olmo2.py, _apply_qk_norm).
 * Backward the gradients are gathered in the same way. Ranks' parts lie behind one another when they come: a copy puts
 * them beside one another, and one more takes the rank's own. */
static void gather_heads(struct tsim_op_list *list, const struct tsim_op_shape *z, double own) {
    double e = z->element_bytes;
    if (z->tp <= 1)
        return;
    tensor_collective(list, "tensor: gather, heads to normalize", TSIM_OP_ALL_GATHER, z->tp * own * e, TSIM_EXPOSED);
    elementwise(list, "heads side by side, and apart", (z->tp + 1) * own, 2 * e, 2);
}

void tsim_op_wide_norms_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, double queries, double keys) {
    gather_heads(list, z, queries + keys);
    norm_forward(list, z, "norms of queries and keys", z->tp * (queries + keys))->kernels *= 2;
}

/* Adds a norm before a linear layer. Only with the scales of earlier steps does a norm write its result in fp8; it
 * finds its own largest value (Transformer Engine since 2.7, FUSED_NORM_AMAX_FP8; torch.compile). With scales of rows a
 * result that is gathered is cast after that. */
void tsim_op_norm_before_linear(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name) {
    bool is_gathered = z->sequence_parallel && z->model->latent.kv_rank == 0;
    tsim_op_norm_forward(list, z, name);
    if (scales_are_known(z) || (scales_rows(z) && is_gathered))
        return;
    cast_part(list, z, "cast, norm", z->ts * z->h, TSIM_RECOMPUTE_NORMS, true);
}

void tsim_op_norm_behind_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name) {
    if (z->model->post_norms)
        tsim_op_norm_forward(list, z, name);
}

/* Returns whether norms take sums in. A compiler puts the residual's sum and the norm behind it into one kernel, and
 * backward the sum of gradients into the norm's kernel, while the gradient of its scale stays a kernel of its own
 * (meta-pytorch/tritonbench pull request 994 and pytorch/pytorch pull request 165370 on torch.compile; XLA fuses
 * element-wise operators into reductions). Layers are compiled one by one, so the norm at the next one's beginning
 * reads what this one wrote. */
static bool norms_take_sums(const struct tsim_op_shape *z) {
    return z->software->fusion == TSIM_FUSION_COMPILE && z->software->norms == TSIM_NORMS_BY_FUSION;
}

void tsim_op_residual_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name,
                              bool is_before_norm) {
    double e = z->element_bytes, mask = z->mask_bytes, elements = z->ts * z->h;
    bool is_read_again = !(is_before_norm && norms_take_sums(z)); /* the norm counts as if it read the sum */
    if (z->software->fusion == TSIM_FUSION_NONE && mask > 0)
        elementwise(list, name, elements, (2 * e + mask) + 3 * e, 2); /* dropout, then add */
    else
        elementwise(list, name, elements, (is_read_again ? 3 : 2) * e + mask,
                    1); /* read both, write one (and the mask) */
}

double tsim_op_activation_bytes(const struct tsim_op_shape *z, bool backward) {
    double e = z->element_bytes;
    bool unfused = z->software->fusion == TSIM_FUSION_NONE;
    if (!z->model->gated_mlp)
        return backward ? 3 * e : 2 * e;
    if (backward)
        return unfused ? 3 * e + 3 * e + 3 * e : 5 * e; /* the product's two gradients, the gate's */
    return unfused ? 2 * e + 3 * e : 3 * e;             /* gate, then product; or both at once */
}

double tsim_op_activation_kernels(const struct tsim_op_shape *z, bool backward) {
    return z->model->gated_mlp && z->software->fusion == TSIM_FUSION_NONE ? (backward ? 3 : 2) : 1;
}

/* Marks the operators from the last product of the list on, whose operands are kept. */
void tsim_op_mark_last_projection(struct tsim_op_list *list) {
    int32_t i = list->n - 1;
    while (list->ops[i].product != TSIM_PRODUCT_DOWN)
        list->ops[i--].is_last_projection = true;
    list->ops[i].is_last_projection = true;
}

/* ---- backward ---- */

double tsim_separate_accumulation_frac(const struct tsim_scenario *sc) {
    bool is_separate = sc->software->accumulation == TSIM_ACCUMULATION_SEPARATE && !tsim_reduces_each_microbatch(sc);
    bool keeps_first = activation_bytes(sc->training.precision) == tsim_gradient_bytes(sc);
    double m = (double)sc->n_microbatches;
    return !is_separate ? 0 : keeps_first ? (m - 1) / m : 1;
}

/* Adds a kernel that reads what the product wrote, and reads and writes the sum. */
static void accumulate(struct tsim_op_list *list, const struct tsim_op_shape *z, double elements) {
    double frac = tsim_separate_accumulation_frac(z->scenario);
    if (frac > 0)
        elementwise(list, "gradient accumulation", z->groups * elements * frac,
                    z->element_bytes + 2 * z->gradient_bytes, z->groups)
            ->is_weight_gradient = true;
}

void tsim_op_linear_backward(struct tsim_op_list *list, const struct tsim_op_shape *z,
                             const struct tsim_op_linear *linear) {
    const struct tsim_overlap *overlap = &z->scenario->parallelism.overlap;
    double e = z->element_bytes, le = z->linear_bytes, n = linear->n, k = linear->k;
    /* torch.compile fuses a scatter with one product before it, not with a sum of several (micro_pipeline_tp.py,
     * _find_producer_matmul), and leaves it behind the weights' gradients. */
    bool parallel = z->tp > 1 && !linear->shares_collectives,
         asynchronous = overlap->tensor_backward || (overlap->tensor && !cuts_samples(z)),
         pipelined = pipelines_gathers(z), beside = overlap->tensor_backward || pipelined;
    bool is_frozen = tsim_is_frozen(z->scenario), needs_input = !is_frozen || linear->has_adapters;
    if (parallel && z->sequence_parallel && (needs_input || !linear->is_column_parallel)) {
        /* In a column-parallel product x was kept as shards and is gathered again for dW; in a row-parallel one dy
         * arrives as shards. */
        double bytes = z->t * (linear->is_column_parallel ? k : n) * gathered_bytes(z);
        tensor_collective(list, linear->gather, TSIM_OP_ALL_GATHER, bytes,
                          linear->is_column_parallel ? (beside ? TSIM_CONCURRENT_NEXT : TSIM_EXPOSED)
                                                     : (pipelined ? TSIM_PIPELINED_NEXT : TSIM_EXPOSED))
            ->is_weight_gradient = linear->is_column_parallel;
        struct tsim_op *copy = sequence_copy(list, z, bytes, pipelined);
        if (copy)
            copy->is_weight_gradient = linear->is_column_parallel;
    }
    if (!linear->is_never_quantized)
        tsim_op_prepare_weight(list, z, z->groups * n * k);
    if (linear->takes_fp8)
        transpose(list, z, "cast, gradient", z->groups * z->t * n);
    else if (!linear->is_cast)
        cast(list, z, "cast, gradient", z->groups * z->t * n);
    struct tsim_op *input =
        gemm(list, linear->input, z->linear_precision, z->t, k, n, le, linear->gives_fp8 ? z->linear_bytes : e);
    input->is_gradient = true;
    grouped(input, z);
    if (parallel && linear->is_column_parallel) {
        sequence_copy(list, z, z->t * k * e, false);
        sum_partial(list, z, linear->reduce, z->t * k * e, asynchronous ? TSIM_CONCURRENT_NEXT : TSIM_EXPOSED);
    }
    if (is_frozen)
        return;
    if (scales_rows(z))
        cast_columns(list, z, "cast, columns", z->groups * z->t * (n + k))->is_weight_gradient = true;
    bool adds = z->software->accumulation == TSIM_ACCUMULATION_FUSED && !tsim_reduces_each_microbatch(z->scenario);
    struct tsim_op *weight =
        gemm(list, linear->weight, z->linear_precision, n, k, z->t, le, adds ? 2 * z->gradient_bytes : e);
    weight->is_gradient = weight->is_weight_gradient = true;
    weight->sum_bytes = adds ? 2 * z->gradient_bytes * n * k : 0;
    grouped(weight, z);
    accumulate(list, z, n * k);
    if (z->model->bias && !cast_sums_bias(z))
        elementwise(list, "bias gradient", z->groups * z->t * n, e, 1)->is_weight_gradient = true;
}

void tsim_op_unshared_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *input,
                               const char *weight, double rows, double n, double k) {
    struct tsim_op_shape own = *z;
    own.t = own.ts = rows;
    own.tp = 1;
    own.sequence_parallel = false;
    own.linear_precision = z->attention_precision;
    own.linear_bytes = z->element_bytes;
    tsim_op_linear_backward(
        list, &own,
        &(struct tsim_op_linear){.input = input, .weight = weight, .n = n, .k = k, .is_never_quantized = true});
}

void tsim_op_product_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, enum tsim_layer_product product,
                              const struct tsim_op_linear *linear) {
    int32_t first = list->n;
    struct tsim_op_linear of_layer = *linear;
    of_layer.has_adapters = tsim_adapters_of(z, product).count > 0;
    tsim_op_linear_backward(list, z, &of_layer);
    for (int32_t i = first; i < list->n; i++)
        if (list->ops[i].kind == TSIM_OP_GEMM)
            list->ops[i].product = product;
    tsim_op_adapters_backward(list, z, tsim_adapters_of(z, product));
}

/* Adds a norm's backward kernel, which moves `added_bytes` an element for another gradient that it adds. */
static struct tsim_op *norm_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name,
                                     double elements, double added_bytes) {
    double e = z->element_bytes;
    bool written_out = norms_are_written_out(z), copies = norms_copy_input(z);
    struct norm_reads reads = norm_reads_of(z);
    /* The kernel makes dx from dy and x; the scale's gradient may be a second pass over both; the residual's gradient
     * is added. Written out, it is what autograd runs: through the weight, its gradient (a product, summed), converted,
     * through the scale, the scale's gradient (a product, summed), through the square in three passes (pow_backward),
     * the two added, converted. With a copy in fp32, x and dx are fp32, and dx is converted. The weight of a frozen
     * norm has no gradient. */
    double both = copies ? e + 4 : 2 * e;
    double of_weight = tsim_is_frozen(z->scenario) ? 0 : written_out ? 4 * e : reads.of_weight * both;
    double kernels = written_out ? 12 : copies ? 3 : 2, of_weight_kernels = written_out ? 2 : 1;
    return elementwise(list, name, elements,
                       added_bytes + of_weight +
                           (written_out ? 2 * e + (e + 4) + 8 + 16 + 24 + 12 + (4 + e)
                            : copies    ? (reads.backward * both + 4) + (4 + e)
                                        : reads.backward * both + e),
                       kernels - (tsim_is_frozen(z->scenario) ? of_weight_kernels : 0));
}

void tsim_op_norm_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name) {
    norm_backward(list, z, name, z->ts * z->h, norms_take_sums(z) ? z->element_bytes : 0);
    if (!norms_take_sums(z))
        elementwise(list, "residual gradient", z->ts * z->h, 3 * z->element_bytes, 1);
}

void tsim_op_norm_alone_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name) {
    norm_backward(list, z, name, z->ts * z->h, 0);
}

void tsim_op_norm_behind_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name) {
    if (z->model->post_norms)
        tsim_op_norm_alone_backward(list, z, name);
}

void tsim_op_head_norms_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    if (z->model->qk_norm && z->model->latent.kv_rank == 0)
        norm_backward(list, z, "norms of queries and keys", z->t * (z->query + z->key), 0)->kernels *= 2;
    if (z->model->wide_qk_norm)
        tsim_op_wide_norms_backward(list, z, z->t * z->query, z->t * z->key);
}

void tsim_op_wide_norms_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, double queries,
                                 double keys) {
    gather_heads(list, z, queries + keys);
    norm_backward(list, z, "norms of queries and keys", z->tp * (queries + keys), 0)->kernels *= 2;
}

void tsim_op_residual_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name) {
    if (z->mask_bytes > 0)
        elementwise(list, name, z->ts * z->h, 2 * z->element_bytes + z->mask_bytes, 1);
}
