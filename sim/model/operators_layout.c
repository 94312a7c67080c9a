#include "model/operator_builders.h"

/* Elements that are read and written once each, and by how many kernels. */
struct copy {
    double elements, kernels;
};

struct layout {
    struct copy operands, result;        /* forward, before and after attention's kernels */
    struct copy result_gradient, joined; /* backward, before and after them */
};

static struct copy copy_if(bool is_copied, double elements, double kernels) {
    return is_copied ? (struct copy){elements, kernels} : (struct copy){0, 0};
}

/* Megatron-Core. Queries of several groups on a rank lie between keys and values, and become one tensor by a copy.
 * Transformer Engine's call of FlashAttention-2 takes and gives samples first; cuDNN's kernels take strides, and where
 * they take the projection's result as it lies (no rotation, a head of keys for each of queries) their gradients lie
 * so. */
static struct layout grouped_layout(const struct tsim_op_shape *z, double three) {
    bool is_transposed = z->flash && z->software->attention_kernel == TSIM_ATTENTION_FLASH2,
         has_groups = z->key < z->query && z->key > (double)z->model->head_dim,
         lies_so = !is_transposed && z->model->position != TSIM_POSITION_ROPE && z->key == z->query;
    double queries = has_groups ? z->t * z->query : 0;
    return (struct layout){.operands = {queries + (is_transposed ? three : 0), has_groups + (is_transposed ? 3 : 0)},
                           .result = copy_if(is_transposed || !z->flash, z->t * z->q, 1),
                           .joined = copy_if(!lies_so, three, 1)};
}

/* Lists what software of enum tsim_attention_layout (config/catalogue.h, with the code that each was read from) copies.
 * Products of standard attention take strides and give heads first. FlashAttention's first version wants the gradient
 * of its result contiguous. Not counted: copies of latent attention, and of a decoder's attention to its encoder. */
static struct layout layout_of(const struct tsim_op_shape *z) {
    double three = z->t * z->query + z->tk * (z->key + z->value);
    double repeated = (z->tk * (z->key + z->value) + z->t * (z->query + z->q)) / 2; /* so much read, so much written */
    bool is_flash1 = z->flash && z->software->attention_kernel == TSIM_ATTENTION_FLASH1, has_groups = z->key < z->query;
    struct copy result = {z->t * z->q, 1}, result_of_products = copy_if(!z->flash, z->t * z->q, 1);
    if (z->model->latent.kv_rank > 0)
        return (struct layout){0};
    switch (z->software->attention_layout) {
    case TSIM_LAYOUT_IN_PLACE:
        break;
    case TSIM_LAYOUT_SPLIT:
        return (struct layout){.result = result_of_products, .joined = {three, 1}};
    case TSIM_LAYOUT_GROUPED:
        return grouped_layout(z, three);
    case TSIM_LAYOUT_SEQUENCE_FIRST:
        return (struct layout){.operands = copy_if(z->flash, three, 3),
                               .result = result,
                               .result_gradient = copy_if(is_flash1, z->t * z->q, 1),
                               .joined = {three, 1}};
    case TSIM_LAYOUT_PACKED:
        return (struct layout){.operands = copy_if(z->flash, 2 * three, 4),
                               .result = result,
                               .result_gradient = copy_if(is_flash1, z->t * z->q, 1),
                               .joined = {three, 1}};
    case TSIM_LAYOUT_HEADS_FIRST:
        return (struct layout){
            .operands = {three, 3}, .result = result, .result_gradient = result, .joined = {three, 3}};
    case TSIM_LAYOUT_REPEATED:
        return (struct layout){.operands = copy_if(has_groups, repeated, 2),
                               .result = result_of_products,
                               .joined = copy_if(has_groups, repeated, 2)};
    }
    return (struct layout){0};
}

static void add_copy(struct tsim_op_list *list, const struct tsim_op_shape *z, const char *name, struct copy copy,
                     unsigned parts) {
    if (copy.elements > 0)
        elementwise(list, name, copy.elements, 2 * z->element_bytes, copy.kernels)->parts = parts;
}

void tsim_op_layout_operands(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    add_copy(list, z, "attention operands, copy", layout_of(z).operands, 0);
}

void tsim_op_layout_result(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    add_copy(list, z, "attention result, copy", layout_of(z).result, TSIM_RECOMPUTE_ATTENTION);
}

void tsim_op_layout_result_gradient(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    add_copy(list, z, "attention result, copy", layout_of(z).result_gradient, 0);
}

void tsim_op_layout_joined(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    add_copy(list, z, "attention operands, join", layout_of(z).joined, 0);
}

void tsim_op_layout_inputs(struct tsim_op_list *list, const struct tsim_op_shape *z) {
    enum tsim_attention_layout layout = z->software->attention_layout;
    if ((layout == TSIM_LAYOUT_HEADS_FIRST || layout == TSIM_LAYOUT_REPEATED) &&
        z->software->fusion == TSIM_FUSION_NONE && z->model->latent.kv_rank == 0)
        elementwise(list, "attention input gradients, add", z->t * z->h, 2 * 3 * z->element_bytes, 2);
}
