/* Experts in place of the feed-forward block: where tokens go, there and back. The symbols are those of local_shape.c
 * and, for each tensor rank: E experts, of which each token picks k; n expert ranks with E/n experts each; g, the
 * imbalance of the slowest rank.
 *
 * A rank routes and sends its own tokens: its shard ts with sequence parallelism, all t without (then every tensor rank
 * routes all of them, and exchanges with the tensor ranks of its own number). Its experts get g t k rows if tensor
 * ranks divide each expert, which is then ffn_hidden / tp wide, and g ts k rows if they do not (expert_tensor 1).
 *
 * Forward: router, permutation by destination, all-to-all, sorting by expert (if a rank has several), products of all
 * local experts at once, and all of it back, weighted and summed over the k experts. If tensor ranks divide each
 * expert, the rows are gathered over them before the first product and scattered after the second (sequence
 * parallelism), or the partial sums are reduced at the end, which are k times fewer (without). By width
 * (`expert_dispatch`; Megatron-Core to 0.9, MoEAlltoAllTokenDispatcher, since then alltoall_seq) the tensor ranks
 * exchange their shards of whole tokens for h / tp of all tokens before anything is permuted, and back at the end.
 *
 * The router's weights are applied to the activation, so the experts' results are not kept for the backward pass
 * (Megatron-Core since 0.11). Router scores are fp32.
 *
 * Permutation written out (`expert_permutation`; Megatron-Core to 0.10, transformer/moe/moe_utils.py). Passes over the
 * h elements of a token, k of them where its copies are worked on:
 *   permute            index_select                                           read k, written k          2k
 *   unpermute          zeros; index_copy; times the router's weights; summed   k + 2k + 2k + k + 1        6k + 1
 *   unpermute, back    weights times the gradient (1 + k), the weights' own gradients multiplied out and
 *                      summed (1 + 2k, k), the rows picked again (2k)                                     6k + 2
 *   permute, back      zeros 1; index_add reads k and adds, 2k                                            3k + 1
 *
 * Fused, each way has 1 + k passes.
 *
 * By gathers (MaxText, layers/moe.py, permute, unpermute and _sort_activations, where experts have no capacity): each way
 * the rows of all copies are gathered by a sorted index. Passes:
 *   permute            each token written k times, 1 + k; gathered                                        3k + 1
 *   unpermute          gathered, 2k; then weighted and summed in one pass, k + 1
 *   unpermute, back    rows' gradients written, 1 + k; the weights' own, 1 + k; gathered                  4k + 2
 *   permute, back      gathered; summed over the copies, k + 1                                            3k + 1
 *
 * Weights that are applied after the experts need for their own gradients what the experts gave: recomputation does not
 * end before it.
 *
 * By products (GShard, Lepikhin et al. 2020, arXiv:2006.16668, algorithm 2; MaxText layers/moe.py, dense_matmul and
 * generate_masks: "BSM,BSEC -> EBCM", "EBCM,BSEC -> BSM") a sample of s tokens has buffers of c = s k capacity_factor
 * rows, and two masks of s x c that say which token each row holds, one of them with the router's weights. Each way is
 * a product of c x h x s, and so are the gradients: those of the tokens, of the rows, and of the weights, which are
 * summed over the mask.
 *
 * With the activation in the products, the first product also writes what the second takes, in fp8 and once more
 * transposed. Backward, the second's input gradient does the same with the gradient of the first's result.
 *
 * Limits and last bias written out (`expert_epilogue`; Megatron-Core of 2025, fusions/fused_bias_geglu.py,
 * weighted_bias_quick_geglu_impl, and transformer/moe/experts.py, TEGroupedMLP._apply_bias) are PyTorch's kernels on
 * the two halves of each row, which lie apart, and on the router's weights p in fp32, one for each row. For an element
 * of a half, and for one of the second product's rows:
 *   limits             two clamps read and write; both halves joined                        4 + 4 passes
 *   limits, back       three comparisons read it and write a byte, two of them are joined to one (3 bytes); twice where
 *                      it is not limited: byte and gradient read, written; both joined       6 + 3 + 3 + 10 bytes; 4
 *                      passes
 *   bias               b p, written in fp32; added to the row, in fp32; experts joined; converted
 *   bias, back         converted to fp32, and back for the row's gradient, which are joined; g p, whose sum over the
 *                      rows is the bias's (below); g b, summed over the row for p */
#include "model/kept.h"
#include "model/matrices.h"
#include "model/operator_builders.h"
#include "model/routing.h"

#include <math.h>

/* The number of kernels of routing (softmax or sigmoid, top-k, the auxiliary loss, counting and sorting of
 * destinations), written out in PyTorch and fused (Transformer Engine's fused_router and permutation; moe_utils.py). */
#define ROUTING_KERNELS 12.0
#define ROUTING_KERNELS_FUSED 5.0
/* Passes over the fp32 scores of a token: softmax reads and writes, top-k reads, the map and the loss read. */
#define ROUTING_PASSES 5.0

struct experts {
    double active, ranks, own, rows, f, count;
    double imbalance;
    bool divided;                 /* each expert over the tensor ranks */
    bool by_width;                /* its rows are exchanged in slices of their width */
    struct tsim_op_shape grouped; /* one local expert's product; `groups` of them */
};

/* Returns the share of all experts that at least one of so many tokens picks; weights of the others are not read. */
static double met_frac(const struct tsim_experts *e, double tokens) {
    return 1 - pow(1 - (double)e->active / (double)e->count, tokens);
}

static struct experts experts_of(const struct tsim_op_shape *z) {
    const struct tsim_experts *e = &z->model->experts;
    struct experts x = {.active = (double)e->active,
                        .ranks = (double)z->scenario->parallelism.expert,
                        .own = z->ts,
                        .f = (double)e->ffn_hidden / (double)tsim_expert_tensor(&z->scenario->parallelism),
                        .count = (double)e->count,
                        .divided = tsim_expert_tensor(&z->scenario->parallelism) > 1,
                        .grouped = *z};
    double tokens = x.divided ? z->t : z->ts;
    x.by_width = x.divided && z->sequence_parallel && z->software->expert_dispatch == TSIM_DISPATCH_BY_WIDTH;
    x.imbalance = tsim_routing_imbalance(e, x.ranks, tokens);
    x.rows = x.imbalance * tokens * x.active;
    x.grouped.groups = fmax(x.count / x.ranks * met_frac(e, tokens * x.ranks), 1);
    x.grouped.t = x.rows / x.grouped.groups;
    x.grouped.f = x.f;
    x.grouped.is_routed = true;
    x.grouped.tp = 1; /* its gathers and reductions are those of rows, below */
    x.grouped.sequence_parallel = false;
    return x;
}

static void exchange(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct experts *x,
                     const char *name, double element_bytes) {
    if (x->ranks <= 1)
        return;
    struct tsim_op *op = add(list, name, TSIM_OP_COLLECTIVE);
    op->collective = TSIM_OP_ALL_TO_ALL;
    op->axis = TSIM_AXIS_EXPERT;
    op->collective_bytes = x->imbalance * x->own * x->active * z->h * element_bytes;
    op->once_per_node = z->software->expert_dispatch == TSIM_DISPATCH_PER_NODE;
    op->overlap = z->scenario->parallelism.overlap.expert ? TSIM_CONCURRENT_PASS : TSIM_EXPOSED;
}

/* Returns the bytes of what is dispatched. DeepSeek dispatch what their products take (DeepSeek-AI 2024, section
 * 3.3.2): rows forward, gradients of results backward. Megatron-Core sends activations, with DeepEP's kernels as well
 * (transformer/moe/fused_a2a.py). */
static double dispatched_bytes(const struct tsim_op_shape *z) {
    return z->software->fp8_dispatch ? z->linear_bytes : z->element_bytes;
}

/* Adds the sort of rows from the order of senders to that of experts, or back. DeepEP's copies arrive in order. */
static void sort_rows(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct experts *x,
                      const char *name) {
    if (x->ranks > 1 && x->grouped.groups > 1)
        elementwise(list, name, x->imbalance * x->own * x->active * z->h, 2 * z->element_bytes, 1);
}

/* Adds the padding of rows: products in fp8 take a multiple of 16 rows of an expert. Transformer Engine's modules copy
 * the rows to their places, and the results back (Megatron-Core, transformer/moe/experts.py, TEGroupedMLP: fp8_padding,
 * fp8_unpadding). Buffers of a capacity are laid out in this way from the beginning, and so are the rows that DeepEP's
 * kernels bring. */
static void pad_rows(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct experts *x,
                     const char *name) {
    bool is_laid_out = z->model->experts.capacity_factor > 0 || z->software->expert_dispatch == TSIM_DISPATCH_PER_NODE;
    if (tsim_is_quantized(z->linear_precision) && z->software->fusion == TSIM_FUSION_TE && !is_laid_out)
        elementwise(list, name, x->rows * z->h, 2 * z->element_bytes, 1);
}

/* Exchanges whole tokens of each tensor rank for a slice of the width of all tokens, or back (dispatch by width). The
 * part of each token that a rank sends or gets is copied out of the token's row, or into it. */
static void swap_widths(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct experts *x,
                        const char *name) {
    if (!x->by_width)
        return;
    elementwise(list, "slices of the width", x->own * z->h, 2 * z->element_bytes, 1);
    tensor_collective(list, name, TSIM_OP_ALL_TO_ALL, x->own * z->h * z->element_bytes, TSIM_EXPOSED);
}

/* Gathers rows of all tensor ranks before a product, and sums them back to shards after one. By width each rank has a
 * part of every row: what is gathered is copied into whole rows, and these are copied apart before they are
 * scattered. */
static void join_rows(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct experts *x,
                      const char *name, bool scatters) {
    if (!x->divided || !z->sequence_parallel)
        return;
    if (x->by_width)
        elementwise(list, "slices of the width", x->rows * z->h, 2 * z->element_bytes, 1);
    tensor_collective(list, name, scatters ? TSIM_OP_REDUCE_SCATTER : TSIM_OP_ALL_GATHER,
                      x->rows * z->h * z->element_bytes, TSIM_EXPOSED);
}

/* Joins the tensors that experts which run one after another leave: the results forward, and the gradients of the rows
 * backward. */
static void join_experts(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct experts *x) {
    if (z->software->expert_products == TSIM_PRODUCTS_SEQUENTIAL && x->grouped.groups > 1)
        elementwise(list, "join experts", x->rows * z->h, 2 * z->element_bytes, 1);
}

static bool is_permutation_fused(const struct tsim_op_shape *z) {
    return z->software->expert_permutation != TSIM_PERMUTATION_WRITTEN_OUT;
}

static bool is_permuted_by_products(const struct tsim_op_shape *z) {
    return z->software->expert_permutation == TSIM_PERMUTATION_PRODUCTS && z->model->experts.capacity_factor > 0;
}

/* Returns the rows of all buffers of a sample. */
static double rows_of_sample(const struct tsim_op_shape *z, const struct experts *x) {
    return (double)z->scenario->training.sequence_length * x->active * z->model->experts.capacity_factor;
}

/* Adds a product for each sample that moves tokens or their gradients into buffers (`fills`), or back. */
static void mask_product(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct experts *x,
                         const char *name, bool fills) {
    double s = (double)z->scenario->training.sequence_length, rows = rows_of_sample(z, x), e = z->element_bytes;
    batched(gemm(list, name, z->attention_precision, fills ? rows : s, z->h, fills ? s : rows, e, e), x->own / s);
}

/* Adds the making of two masks, one with the router's weights and one of bits in bytes. */
static void masks(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct experts *x) {
    elementwise(list, "masks", x->own * rows_of_sample(z, x), z->element_bytes + 1, 1);
}

/* Adds the gradient of the router's weights: products of rows and gradients, summed over each expert's part of the
 * mask. */
static void masks_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct experts *x) {
    double s = (double)z->scenario->training.sequence_length, rows = rows_of_sample(z, x), e = z->element_bytes;
    batched(gemm(list, "masks, gradient", z->attention_precision, s, rows, z->h, e, e), x->own / s);
    elementwise(list, "masks, sum", x->own * rows, e, 1);
}

/* The passes above, a k + b, and PyTorch's kernels; the two sorts of the destinations are with the first. */
struct passes {
    double of_copies, of_tokens;
};
static const struct permutation {
    const char *name;
    bool fills;
    struct passes written, gathered;
    double kernels;
} PERMUTE = {"permute", true, {2, 0}, {3, 1}, 3}, UNPERMUTE = {"unpermute", false, {6, 1}, {2, 0}, 4},
  UNPERMUTE_BACK = {"unpermute", true, {6, 2}, {4, 2}, 4}, PERMUTE_BACK = {"permute", false, {3, 1}, {3, 1}, 2};

/* Adds a permutation, with its passes and kernels if it is not fused. */
static void permutation(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct experts *x,
                        const struct permutation *way) {
    static const struct passes FUSED = {1, 1};
    enum tsim_expert_permutation kind = z->software->expert_permutation;
    if (is_permuted_by_products(z)) {
        mask_product(list, z, x, way->name, way->fills);
        return;
    }
    const struct passes *passes = kind == TSIM_PERMUTATION_FUSED         ? &FUSED
                                  : kind == TSIM_PERMUTATION_WRITTEN_OUT ? &way->written
                                                                         : &way->gathered;
    elementwise(list, way->name, x->own * z->h, (passes->of_copies * x->active + passes->of_tokens) * z->element_bytes,
                kind == TSIM_PERMUTATION_WRITTEN_OUT ? way->kernels : 1);
}

static void weighted_sum(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct experts *x) {
    if (z->software->expert_permutation == TSIM_PERMUTATION_PRODUCTS && !is_permuted_by_products(z))
        elementwise(list, "weighted sum", x->own * z->h, (x->active + 1) * z->element_bytes, 1);
}

/* Returns whether the grouped products apply the activation. A graph of the whole step cannot ask the host how many
 * rows an expert has. Megatron-Core of 2026 then takes cuDNN's grouped products, which find the counts on the device,
 * apply the activation and quantize what the next product takes (transformer/moe/experts.py,
 * use_transformer_engine_op_fuser; NVTE_CUTEDSL_FUSED_GROUPED_MLP). They exist for MXFP8, and
 * an adapter's sum stands between the two. */
static bool is_activation_in_products(const struct tsim_op_shape *z, const struct experts *x) {
    return z->software->fusion == TSIM_FUSION_TE && z->software->cuda_graphs == TSIM_GRAPHS_STEP &&
           z->software->expert_products == TSIM_PRODUCTS_GROUPED && z->linear_precision == TSIM_MXFP8 &&
           z->model->gated_mlp && tsim_adapters_of(&x->grouped, TSIM_PRODUCT_UP).count == 0;
}

static bool is_epilogue_written_out(const struct tsim_op_shape *z) {
    return z->software->expert_epilogue == TSIM_EPILOGUE_WRITTEN_OUT;
}

static void limits_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct experts *x) {
    double of_halves = x->rows * x->f, e = z->element_bytes;
    if (!(z->model->experts.limited && is_epilogue_written_out(z)))
        return;
    issuing(elementwise(list, "expert limits", of_halves, 4 * e, 2), 2 * of_halves * ISSUED_PLACES)->parts =
        TSIM_RECOMPUTE_ACTIVATION;
    issuing(elementwise(list, "join expert limits", of_halves, 4 * e, 1), 2 * of_halves * ISSUED_JOINED_WIDE)->parts =
        TSIM_RECOMPUTE_ACTIVATION;
}

static void limits_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct experts *x) {
    double of_halves = x->rows * x->f, e = z->element_bytes;
    if (!(z->model->experts.limited && is_epilogue_written_out(z)))
        return;
    issuing(elementwise(list, "expert limits", of_halves, 3 * (e + 1) + 2 * (1 + 2 * e), 5),
            5 * of_halves * ISSUED_PLACES);
    issuing(elementwise(list, "join expert limits", of_halves, 3 + 4 * e, 2), 2 * of_halves * ISSUED_JOINED_WIDE);
}

/* Each expert has kernels of its own, except for those that join and convert all rows. */
static void last_bias_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct experts *x) {
    double of_rows = x->rows * z->h, e = z->element_bytes, experts = x->grouped.groups;
    if (!(z->model->bias && is_epilogue_written_out(z)))
        return;
    issuing(elementwise(list, "expert bias, product", of_rows, 4, experts), of_rows * (ISSUED_PLACES + ISSUED_TYPES));
    issuing(elementwise(list, "expert bias, sum", of_rows, e + 4 + 4, experts), of_rows * ISSUED_TYPES);
    elementwise(list, "join expert rows", of_rows, 4 + 4 + (4 + e), 2);
}

static void last_bias_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct experts *x) {
    double of_rows = x->rows * z->h, e = z->element_bytes, experts = x->grouped.groups;
    if (!(z->model->bias && is_epilogue_written_out(z)))
        return;
    issuing(elementwise(list, "expert bias, convert", of_rows, e + 4, 1), of_rows * ISSUED_TYPES);
    issuing(elementwise(list, "expert bias, products", of_rows, 8 + 8, 2 * experts),
            of_rows * (2 * ISSUED_PLACES + ISSUED_TYPES));
    elementwise(list, "expert bias, sum of rows", of_rows, 4, experts);
    elementwise(list, "join expert rows", of_rows, (4 + e) + 2 * e, experts + 1);
}

/* Returns whether the host must ask how many rows each expert has. It then launches the rest only when the tokens have
 * been routed (Megatron-Core, transformer/moe/token_dispatcher.py: cuda_sync_point; DeepEP's dispatch waits for its
 * notification, HybridEP's for the stream). It need not ask if each expert has a buffer of a fixed length, or a graph
 * holds the whole step. */
static bool lengths_vary(const struct tsim_op_shape *z) {
    return z->model->experts.capacity_factor <= 0 && z->software->cuda_graphs != TSIM_GRAPHS_STEP;
}

static void mark_lengths(struct tsim_op_list *list, const struct tsim_op_shape *z, int32_t first) {
    for (int32_t i = first; i < list->n; i++)
        list->ops[i].has_no_graph = lengths_vary(z);
}

static void router_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct experts *x) {
    bool fused = z->software->fusion == TSIM_FUSION_TE && is_permutation_fused(z);
    gemm(list, "router", z->attention_precision, x->own, x->count, z->h, z->element_bytes, 4);
    elementwise(list, "routing", x->own * x->count, 4 * ROUTING_PASSES, fused ? ROUTING_KERNELS_FUSED : ROUTING_KERNELS)
        ->is_awaited = lengths_vary(z);
}

/* Returns the bytes of elements that are written quantized twice: as they are for the product, and transposed for the
 * weight gradient. */
static double quantized_twice_bytes(const struct tsim_op_shape *z, double elements) {
    return 2 * z->linear_bytes * elements;
}

/* Returns the place of the first operator whose result no gradient needs. */
static int32_t experts_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct experts x = experts_of(z);
    const struct tsim_op_shape *g = &x.grouped;
    double e = z->element_bytes, le = z->linear_bytes, up = tsim_model_up_products(z->model);
    int32_t routed = list->n;
    if (is_permuted_by_products(z))
        masks(list, z, &x);
    swap_widths(list, z, &x, "tensor: tokens to slices");
    permutation(list, z, &x, &PERMUTE);
    exchange(list, z, &x, "expert: dispatch", dispatched_bytes(z));
    sort_rows(list, z, &x, "sort by expert");
    join_rows(list, z, &x, "tensor: gather, experts", false);
    pad_rows(list, z, &x, "pad, experts");
    cast(list, g, "cast, experts", x.rows * z->h);
    tsim_op_take_weight(list, g, g->groups * up * x.f * z->h);
    grouped(gemm(list, "expert up", z->linear_precision, g->t, up * x.f, z->h, le, e), g)->product = TSIM_PRODUCT_UP;
    tsim_op_adapters_forward(list, g, tsim_adapters_of(g, TSIM_PRODUCT_UP));
    if (is_activation_in_products(z, &x)) {
        list->ops[list->n - 1].bytes += quantized_twice_bytes(z, x.rows * x.f);
    } else {
        limits_forward(list, z, &x);
        elementwise(list, "expert activation", x.rows * x.f, tsim_op_activation_bytes(z, false),
                    tsim_op_activation_kernels(z, false))
            ->parts = TSIM_RECOMPUTE_ACTIVATION;
        cast_activation(list, g, "cast, expert activation", x.rows * x.f);
    }
    tsim_op_take_weight(list, g, g->groups * z->h * x.f);
    grouped(gemm(list, "expert down", z->linear_precision, g->t, z->h, x.f, le, e), g)->product = TSIM_PRODUCT_DOWN;
    tsim_op_adapters_forward(list, g, tsim_adapters_of(g, TSIM_PRODUCT_DOWN));
    pad_rows(list, z, &x, "unpad, experts");
    last_bias_forward(list, z, &x);
    join_experts(list, z, &x);
    join_rows(list, z, &x, "tensor: scatter, experts", true);
    sort_rows(list, z, &x, "sort by sender");
    exchange(list, z, &x, "expert: combine", e);
    int32_t after = list->n;
    permutation(list, z, &x, &UNPERMUTE);
    if (!is_permuted_by_products(z)) /* the mask's gradient takes the buffers as they are */
        after = list->n;
    weighted_sum(list, z, &x);
    swap_widths(list, z, &x, "tensor: slices to tokens");
    if (x.divided && !z->sequence_parallel)
        tensor_collective(list, "tensor: reduce, experts", TSIM_OP_ALL_REDUCE, z->t * z->h * e, TSIM_EXPOSED);
    mark_lengths(list, z, routed);
    return after;
}

static void router_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const struct experts *x) {
    struct tsim_op_shape own = *z;
    own.tp = 1;
    own.t = x->own;
    own.sequence_parallel = false;
    own.linear_precision = z->attention_precision;
    own.linear_bytes = z->element_bytes;
    elementwise(list, "routing", x->own * x->count, 4 * 3, 3); /* dscores from dprobabilities and the mask */
    tsim_op_linear_backward(
        list, &own,
        &(struct tsim_op_linear){.input = "router, input", .weight = "router, weight", .n = x->count, .k = z->h});
}

static struct tsim_op *input_gradient(struct tsim_op_list *list, int32_t first) {
    while (list->ops[first].kind != TSIM_OP_GEMM)
        first++;
    TSIM_ASSERT(first < list->n);
    return &list->ops[first];
}

static void experts_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct experts x = experts_of(z);
    double e = z->element_bytes;
    int32_t begin = list->n;
    swap_widths(list, z, &x, "tensor: tokens to slices");
    if (is_permuted_by_products(z))
        masks_backward(list, z, &x);
    permutation(list, z, &x, &UNPERMUTE_BACK);
    exchange(list, z, &x, "expert: combine, gradient", dispatched_bytes(z));
    sort_rows(list, z, &x, "sort by expert");
    join_rows(list, z, &x, "tensor: gather, experts", false);
    last_bias_backward(list, z, &x);
    pad_rows(list, z, &x, "pad, experts");
    int32_t first = list->n;
    tsim_op_product_backward(
        list, &x.grouped, TSIM_PRODUCT_DOWN,
        &(struct tsim_op_linear){.input = "expert down, input", .weight = "expert down, weight", .n = z->h, .k = x.f});
    bool is_in_products = is_activation_in_products(z, &x);
    if (is_in_products) { /* reads what the activation took, and writes its gradient quantized in place of 16 bits */
        double up = tsim_model_up_products(z->model) * x.f;
        input_gradient(list, first)->bytes +=
            x.rows * up * e + quantized_twice_bytes(z, x.rows * up) - x.rows * x.f * e;
    } else {
        elementwise(list, "expert activation", x.rows * x.f, tsim_op_activation_bytes(z, true),
                    tsim_op_activation_kernels(z, true));
        limits_backward(list, z, &x);
    }
    tsim_op_product_backward(list, &x.grouped, TSIM_PRODUCT_UP,
                             &(struct tsim_op_linear){.input = "expert up, input",
                                                      .weight = "expert up, weight",
                                                      .is_cast = is_in_products,
                                                      .n = tsim_model_up_products(z->model) * x.f,
                                                      .k = z->h});
    pad_rows(list, z, &x, "unpad, experts");
    join_experts(list, z, &x);
    join_rows(list, z, &x, "tensor: scatter, experts", true);
    sort_rows(list, z, &x, "sort by sender");
    exchange(list, z, &x, "expert: dispatch, gradient", e);
    permutation(list, z, &x, &PERMUTE_BACK);
    swap_widths(list, z, &x, "tensor: slices to tokens");
    if (x.divided && !z->sequence_parallel)
        tensor_collective(list, "tensor: reduce, experts", TSIM_OP_ALL_REDUCE, z->t * z->h * e, TSIM_EXPOSED);
    mark_lengths(list, z, begin);
}

/* ---- experts of a latent vector ---- */

/* Routed experts work on a vector that is not as wide as the token (NVIDIA 2025, Nemotron 3, arXiv:2512.20856, section 2.2:
 * LatentMoE; Megatron-Core, transformer/moe/moe_layer.py, fc1_latent_proj and fc2_latent_proj): a product before dispatch
 * and one behind the combination, of each rank's own tokens and whole on every rank. The router takes the token. */
static struct tsim_op_shape narrowed(const struct tsim_op_shape *z) {
    struct tsim_op_shape narrow = *z;
    narrow.h = z->model->experts.latent > 0 ? (double)z->model->experts.latent : z->h;
    return narrow;
}

static void latent_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name, double n,
                           double k) {
    if (z->model->experts.latent == 0)
        return;
    cast(list, z, "cast", z->ts * k);
    tsim_op_take_weight(list, z, n * k);
    gemm(list, name, z->linear_precision, z->ts, n, k, z->linear_bytes, z->element_bytes);
}

static void latent_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *input,
                            const char *weight, double n, double k) {
    struct tsim_op_shape own = *z;
    if (z->model->experts.latent == 0)
        return;
    own.tp = 1;
    own.t = z->ts;
    own.sequence_parallel = false;
    tsim_op_linear_backward(list, &own, &(struct tsim_op_linear){.input = input, .weight = weight, .n = n, .k = k});
}

/* Returns the place of the first operator whose result no gradient needs: the product behind the experts needs what they
 * gave. */
static int32_t routed_forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct experts x = experts_of(z);
    struct tsim_op_shape narrow = narrowed(z);
    int32_t first = list->n;
    router_forward(list, z, &x);
    latent_forward(list, z, "latent of experts, in", narrow.h, z->h);
    int32_t after = experts_forward(list, &narrow);
    if (z->model->experts.latent > 0)
        after = list->n;
    latent_forward(list, z, "latent of experts, out", z->h, narrow.h);
    mark_part(list, first, TSIM_RECOMPUTE_EXPERTS);
    return after;
}

static void routed_backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    struct experts x = experts_of(z);
    struct tsim_op_shape narrow = narrowed(z);
    latent_backward(list, z, "latent of experts, out, input", "latent of experts, out, weight", z->h, narrow.h);
    experts_backward(list, &narrow);
    latent_backward(list, z, "latent of experts, in, input", "latent of experts, in, weight", narrow.h, z->h);
    router_backward(list, z, &x);
}

/* ---- the layer ---- */

/* Shared experts are one block with their widths added up (DeepSeek-AI 2024, arXiv:2401.06066; Megatron-Core replicates
 * them over the expert group). */
static struct tsim_op_shape shared_shape(const struct tsim_op_shape *z) {
    struct tsim_op_shape shared = *z;
    shared.f = (double)(z->model->experts.shared * z->model->experts.ffn_hidden) / z->tp;
    return shared;
}

static void forward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    tsim_op_norm_forward(list, z, "norm 2");
    if (z->model->experts.shared > 0) {
        struct tsim_op_shape shared = shared_shape(z);
        tsim_op_mlp_forward(list, &shared);
    }
    int32_t after = routed_forward(list, z);
    if (z->model->experts.shared > 0)
        elementwise(list, "shared, add", z->ts * z->h, 3 * z->element_bytes, 1);
    tsim_op_norm_behind_forward(list, z, "norm 2, behind");
    tsim_op_residual_forward(list, z, "residual 2", false);
    if (z->software->expert_permutation == TSIM_PERMUTATION_FUSED) {
        tsim_op_mark_last_projection(list);
        return;
    }
    for (int32_t i = after; i < list->n; i++)
        list->ops[i].is_last_projection = true;
}

static void backward(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    tsim_op_residual_backward(list, z, "residual 2");
    tsim_op_norm_behind_backward(list, z, "norm 2, behind");
    routed_backward(list, z);
    if (z->model->experts.shared > 0) {
        struct tsim_op_shape shared = shared_shape(z);
        tsim_op_mlp_backward(list, &shared);
        elementwise(list, "shared, add", z->ts * z->h, 3 * z->element_bytes, 1); /* gradients of the two inputs */
    }
    tsim_op_norm_backward(list, z, "norm 2");
}

/* ---- what it keeps ---- */

double tsim_expert_rows(const struct tsim_op_shape *z) {
    return z->model->experts.count > 0 ? experts_of(z).rows : 0;
}

/* Keeps for the shared experts what a feed-forward block keeps, and for the others the router's scores and, for each
 * row, the input and the inner tensors. */
static void keep(const struct tsim_op_shape *z, unsigned parts, struct tsim_kept *kept) {
    struct tsim_op_shape shared = shared_shape(z), narrow = narrowed(z);
    if (shared.f > 0)
        tsim_keep_ffn(&shared, "shared experts: inner tensors", shared.f, parts, kept);
    if (parts & TSIM_RECOMPUTE_EXPERTS)
        return;
    struct experts x = experts_of(&narrow);
    const struct tsim_op_shape *g = &x.grouped;
    const struct tsim_adapters up = tsim_adapters_of(g, TSIM_PRODUCT_UP), down = tsim_adapters_of(g, TSIM_PRODUCT_DOWN);
    double h = narrow.h;
    tsim_keep(kept, "router: scores", z->ts * x.count * 4);
    if (z->model->experts.latent > 0)
        tsim_keep(kept, "experts: their latent result", z->ts * h * z->linear_bytes);
    tsim_keep(kept, "experts: inputs", tsim_keeps_input(g, up) ? x.rows * h * z->linear_bytes : 0);
    tsim_keep(kept, "experts: inner tensors", x.rows * x.f * tsim_inner_kept_bytes(g, parts));
    tsim_keep(kept, "experts: adapters", tsim_adapters_kept_bytes(g, up) + tsim_adapters_kept_bytes(g, down));
    if (z->model->experts.limited && is_epilogue_written_out(z) && !(parts & TSIM_RECOMPUTE_ACTIVATION))
        tsim_keep(kept, "experts: limited inner tensors",
                  x.rows * x.f * tsim_model_up_products(z->model) * z->element_bytes);
    if (!is_permutation_fused(z)) /* weighted after the experts */
        tsim_keep(kept, "experts: results", z->ts * x.active * h * z->element_bytes);
}

static double waiting(const struct tsim_op_shape *z) {
    struct tsim_op_shape shared = shared_shape(z);
    struct experts x = experts_of(z);
    return tsim_ffn_waiting(z, shared.f) + x.rows * (2 * narrowed(z).h + (1 + tsim_model_up_products(z->model)) * x.f);
}

static double widest_bytes(const struct tsim_op_shape *z) {
    struct experts x = experts_of(z);
    return x.rows * fmax(tsim_model_up_products(z->model) * x.f, narrowed(z).h) * z->element_bytes;
}

static void count(const struct tsim_model *m, struct tsim_layer_parameters *parameters) {
    const struct tsim_experts *e = &m->experts;
    double expert = tsim_count_mlp(m, (double)e->ffn_hidden);
    tsim_count_ffn_norms(m, parameters);
    parameters->router = ((double)m->hidden + (e->router_bias ? 1 : 0)) * (double)e->count;
    parameters->shared = (double)e->shared * expert;
    if (e->latent > 0) { /* products without biases, each of them narrower */
        expert = expert * (double)e->latent / (double)m->hidden;
        parameters->latent += 2 * (double)(m->hidden * e->latent);
    }
    parameters->experts = (double)e->count * expert;
}

static void add_matrices(const struct tsim_model *m, double times, struct tsim_matrices *matrices) {
    double experts = (double)m->experts.count, inner = (double)m->experts.ffn_hidden, h = (double)m->hidden,
           latent = (double)m->experts.latent;
    tsim_matrices_add_ffn(matrices, m, times * (double)m->experts.shared, inner);
    tsim_matrices_add(matrices, times * experts * (tsim_model_up_products(m) + 1), latent > 0 ? latent : h, inner,
                      true);
    tsim_matrices_add(matrices, 2 * times, h, latent, true);
    tsim_matrices_add(matrices, times, (double)m->hidden, experts, false);
}

static double adapter_parameters(const struct tsim_op_shape *z) {
    struct tsim_op_shape shared = shared_shape(z);
    return shared.f > 0 ? tsim_dense_feed_forward.adapter_parameters(&shared) : 0;
}

static double routed_adapter_parameters(const struct tsim_op_shape *z) {
    struct tsim_op_shape narrow = narrowed(z);
    struct experts x = experts_of(&narrow);
    return tsim_dense_feed_forward.adapter_parameters(&x.grouped);
}

/* A CUDA graph holds all of the layer or what comes before the rows of experts (`lengths_vary`). */
const struct tsim_feed_forward tsim_experts_feed_forward = {.forward = forward,
                                                            .backward = backward,
                                                            .keep = keep,
                                                            .waiting = waiting,
                                                            .widest_bytes = widest_bytes,
                                                            .count = count,
                                                            .add_matrices = add_matrices,
                                                            .adapter_parameters = adapter_parameters,
                                                            .routed_adapter_parameters = routed_adapter_parameters};
