#include "model/adapter.h"

#include "model/operator_builders.h"
#include "model/parameter_bytes.h"

/* Bits of a weight of NF4, and of its scales (Dettmers et al. 2023, section 3: 32 / 64 bits, 0.127 quantized again). */
#define NF4_BITS 4.0
#define NF4_SCALE_BITS 0.127
#define NF4_FP32_SCALE_BITS 0.5

static bool has_target(const struct tsim_op_shape *z, enum tsim_adapter_target target) {
    return z->scenario->training.adapter.targets & 1u << target;
}

static void add_adapter(struct tsim_adapters *adapters, bool is_there, double n) {
    if (is_there && n > 0)
        adapters->n[adapters->count++] = n;
}

struct tsim_adapters tsim_adapters_of(const struct tsim_op_shape *z, enum tsim_layer_product product) {
    struct tsim_adapters of = {.k = product == TSIM_PRODUCT_QKV ? z->input : z->h, .is_column_parallel = true};
    double gate = (tsim_model_up_products(z->model) - 1) * z->f;
    bool is_latent = product == TSIM_PRODUCT_QKV && z->model->latent.kv_rank > 0;
    bool has_none = z->is_routed && z->scenario->training.adapter.experts == TSIM_ADAPTERS_OF_NONE;
    if (!tsim_is_frozen(z->scenario) || has_none || is_latent)
        return of;
    switch (product) {
    case TSIM_PRODUCT_QKV:
        add_adapter(&of, has_target(z, TSIM_TARGET_QKV), z->query + z->key + z->value);
        add_adapter(&of, has_target(z, TSIM_TARGET_QUERY), z->query);
        add_adapter(&of, has_target(z, TSIM_TARGET_KEY), z->key);
        add_adapter(&of, has_target(z, TSIM_TARGET_VALUE), z->value);
        break;
    case TSIM_PRODUCT_UP:
        add_adapter(&of, has_target(z, TSIM_TARGET_GATE_UP), gate + z->f);
        add_adapter(&of, has_target(z, TSIM_TARGET_GATE), gate);
        add_adapter(&of, has_target(z, TSIM_TARGET_UP), z->f);
        break;
    case TSIM_PRODUCT_OUT:
    case TSIM_PRODUCT_DOWN:
        of.k = product == TSIM_PRODUCT_OUT ? z->q : z->f;
        of.is_column_parallel = false;
        add_adapter(&of, has_target(z, product == TSIM_PRODUCT_OUT ? TSIM_TARGET_OUTPUT : TSIM_TARGET_DOWN), z->h);
        break;
    case TSIM_N_LAYER_PRODUCTS:
        break;
    }
    return of;
}

static struct tsim_adapters beside(bool is_there, double n, double k) {
    struct tsim_adapters of = {.k = k, .is_column_parallel = true};
    add_adapter(&of, is_there, n);
    return of;
}

struct tsim_latent_adapters tsim_latent_adapters(const struct tsim_op_shape *z) {
    const struct tsim_latent *latent = &z->model->latent;
    bool is_frozen = tsim_is_frozen(z->scenario) && latent->kv_rank > 0, of_all = has_target(z, TSIM_TARGET_QKV),
         of_query = is_frozen && (of_all || has_target(z, TSIM_TARGET_QUERY)),
         of_others = is_frozen && (of_all || has_target(z, TSIM_TARGET_KEY) || has_target(z, TSIM_TARGET_VALUE));
    double query_rank = (double)latent->query_rank, kv_rank = (double)latent->kv_rank;
    return (struct tsim_latent_adapters){
        .own = tsim_own_tokens(z),
        .query_down = beside(of_query, query_rank, z->h),
        .down = beside(of_others, kv_rank + (double)latent->rope_dim, z->h),
        .query_up = beside(of_query, z->query, query_rank > 0 ? query_rank : z->h),
        .up = beside(of_others, tsim_expanded_width(z), kv_rank),
    };
}

struct tsim_adapters tsim_adapters_of_recurrence(const struct tsim_op_shape *z, enum tsim_adapter_target target,
                                                 double width) {
    bool is_in = target == TSIM_TARGET_RECURRENCE_IN;
    struct tsim_adapters of = {.k = is_in ? z->h : width, .is_column_parallel = is_in};
    add_adapter(&of, tsim_is_frozen(z->scenario) && has_target(z, target), is_in ? width : z->h);
    return of;
}

static double rank_of(const struct tsim_op_shape *z) {
    return (double)z->scenario->training.adapter.rank;
}

static bool is_shared(const struct tsim_op_shape *z) {
    return z->is_routed && z->scenario->training.adapter.experts == TSIM_ADAPTERS_SHARED;
}

/* Returns the tensor ranks that divide an adapter. Products of experts are divided apart from the others. */
static double tensor_ranks(const struct tsim_op_shape *z) {
    return z->is_routed ? (double)tsim_expert_tensor(&z->scenario->parallelism) : z->tp;
}

double tsim_routed_adapter_sets(const struct tsim_scenario *sc) {
    bool is_one = sc->training.adapter.experts == TSIM_ADAPTERS_SHARED;
    return is_one ? 1 : (double)sc->model->experts.count / (double)sc->parallelism.expert;
}

/* Returns an adapter's parameters on this rank. If the product's columns are divided, n is this rank's and r is cut; if
 * its rows are, k is this rank's and n is cut. Either way a tensor rank has its part of both matrices. */
double tsim_adapters_parameters(const struct tsim_op_shape *z, struct tsim_adapters of) {
    double parameters = 0, r = rank_of(z), tp = tensor_ranks(z);
    for (int32_t i = 0; i < of.count; i++)
        parameters += of.is_column_parallel ? r / tp * of.k + r * of.n[i] : r * of.k + r * of.n[i] / tp;
    return parameters * (z->is_routed ? tsim_routed_adapter_sets(z->scenario) : 1);
}

double tsim_attention_adapter_parameters(const struct tsim_op_shape *z) {
    struct tsim_latent_adapters latent = tsim_latent_adapters(z);
    return tsim_adapters_parameters(z, tsim_adapters_of(z, TSIM_PRODUCT_QKV)) +
           tsim_adapters_parameters(&latent.own, latent.query_down) +
           tsim_adapters_parameters(&latent.own, latent.down) + tsim_adapters_parameters(z, latent.query_up) +
           tsim_adapters_parameters(z, latent.up) + tsim_adapters_parameters(z, tsim_adapters_of(z, TSIM_PRODUCT_OUT));
}

bool tsim_base_is_quantized(const struct tsim_scenario *sc) {
    return tsim_is_frozen(sc) && sc->training.adapter.base_precision != TSIM_BASE_AS_TRAINING;
}

double tsim_base_weight_bytes(const struct tsim_scenario *sc) {
    switch (sc->training.adapter.base_precision) {
    case TSIM_BASE_AS_TRAINING:
        return tsim_is_frozen(sc) ? tsim_operand_bytes(sc->training.precision)
                                  : tsim_weight_bytes(sc->training.precision);
    case TSIM_BASE_INT8:
        return 1;
    case TSIM_BASE_NF4:
        return (NF4_BITS + (sc->software->fp32_scales ? NF4_FP32_SCALE_BITS : NF4_SCALE_BITS)) / 8;
    }
    TSIM_BUG("base precision %d", (int)sc->training.adapter.base_precision);
}

/* Returns whether a weight is restored in fp16 and then converted. */
static bool is_converted(const struct tsim_scenario *sc) {
    return sc->software->restores_in_fp16 && tsim_unquantized(sc->training.precision) == TSIM_BF16;
}

double tsim_restored_bytes(const struct tsim_scenario *sc, double elements) {
    double each = tsim_weight_bytes(tsim_unquantized(sc->training.precision));
    return tsim_base_is_quantized(sc) ? elements * each * (is_converted(sc) ? 2 : 1) : 0;
}

/* ---- operators ---- */

static void dequantize(struct tsim_op_list *list, const struct tsim_op_shape *z, double elements) {
    if (!tsim_base_is_quantized(z->scenario))
        return;
    elementwise(list, "weight to 16 bits", elements, tsim_base_weight_bytes(z->scenario) + z->element_bytes, 1);
    if (is_converted(z->scenario))
        elementwise(list, "weight to bf16", elements, 2 * z->element_bytes, 1);
}

void tsim_op_take_weight(struct tsim_op_list *list, const struct tsim_op_shape *z, double elements) {
    dequantize(list, z, elements);
    if (scales_rows(z))
        cast(list, z, "weight, cast", elements);
}

void tsim_op_prepare_weight(struct tsim_op_list *list, const struct tsim_op_shape *z, double elements) {
    const struct tsim_accelerator *accelerator = z->scenario->cluster.node->accelerator;
    dequantize(list, z, elements);
    if (scales_rows(z)) {
        cast_columns(list, z, "weight, cast columns", elements);
        return;
    }
    bool is_by_rows = accelerator->nccl_generation < TSIM_BLACKWELL;
    bool is_kept_once = tsim_is_frozen(z->scenario) ||
                        (z->software->fusion == TSIM_FUSION_COMPILE && accelerator->compute_capability > 0);
    if (z->linear_precision == TSIM_FP8 && is_by_rows && is_kept_once)
        elementwise(list, "weight, transpose", elements, 2 * z->linear_bytes, 1);
}

static bool drops_input(const struct tsim_op_shape *z) {
    const struct tsim_adapter_spec *a = &z->scenario->training.adapter;
    return a->dropout_frac > 0 && !a->drops_result;
}

/* Returns how many of a product's adapters drop out its input, each for itself, or all at once. */
static int32_t dropped_inputs(const struct tsim_op_shape *z, const struct tsim_adapters *of) {
    if (!drops_input(z))
        return 0;
    return z->software->adapters_share_dropout && of->count > 1 ? 1 : of->count;
}

static bool drops_result(const struct tsim_op_shape *z) {
    const struct tsim_adapter_spec *a = &z->scenario->training.adapter;
    return a->dropout_frac > 0 && a->drops_result;
}

/* Returns whether the result is multiplied by a constant before it is added, in a kernel of its own. It is not if
 * kernels are fused or A x is multiplied instead. */
static bool scales_result(const struct tsim_op_shape *z) {
    return z->software->fusion != TSIM_FUSION_COMPILE && !z->software->adapter_scale_inside;
}

/* Returns the shape of an adapter's products: `groups` of them, if each expert has its own, with t rows each. */
static struct tsim_op_shape of_each(const struct tsim_op_shape *z) {
    struct tsim_op_shape each = *z;
    each.groups = is_shared(z) ? 1 : z->groups;
    each.t = z->groups * z->t / each.groups;
    each.tp = tensor_ranks(z);
    return each;
}

static double rows_of(const struct tsim_op_shape *each) {
    return each->groups * each->t;
}

static struct tsim_op *product(struct tsim_op_list *list, const struct tsim_op_shape *each, const char *name, double m,
                               double n, double k, double result_bytes) {
    struct tsim_op *op = gemm(list, name, each->attention_precision, m, n, k, each->element_bytes, result_bytes);
    return each->groups > 1 ? grouped(op, each) : op;
}

/* Adds a pass over tensors, of each expert after another if their products are. */
static void pass(struct tsim_op_list *list, const struct tsim_op_shape *each, const char *name, double elements,
                 double bytes, double kernels) {
    bool is_sequential = each->software->expert_products == TSIM_PRODUCTS_SEQUENTIAL;
    elementwise(list, name, elements, bytes, kernels * (is_sequential ? each->groups : 1));
}

static void dropout(struct tsim_op_list *list, const struct tsim_op_shape *each, bool is_there, double elements) {
    if (is_there)
        pass(list, each, "adapter dropout", elements, 2 * each->element_bytes + 1, 1);
}

static void exchange(struct tsim_op_list *list, const struct tsim_op_shape *each, bool is_gather) {
    if (each->tp > 1)
        tensor_collective(list, is_gather ? "tensor: gather, adapter" : "tensor: reduce, adapter",
                          is_gather ? TSIM_OP_ALL_GATHER : TSIM_OP_ALL_REDUCE,
                          rows_of(each) * rank_of(each) * each->element_bytes, TSIM_EXPOSED);
}

void tsim_op_adapters_forward(struct tsim_op_list *list, const struct tsim_op_shape *z, struct tsim_adapters of) {
    const struct tsim_op_shape each = of_each(z);
    double e = z->element_bytes, r = rank_of(z), rows = rows_of(&each);
    for (int32_t i = 0; i < of.count; i++) {
        dropout(list, &each, i < dropped_inputs(z, &of), rows * of.k);
        product(list, &each, "adapter down", each.t, of.is_column_parallel ? r / each.tp : r, of.k, e);
        exchange(list, &each, of.is_column_parallel);
        product(list, &each, "adapter up", each.t, of.n[i], r, e);
        dropout(list, &each, drops_result(z), rows * of.n[i]);
        pass(list, &each, "adapter, add", rows * of.n[i], (scales_result(z) ? 2 + 3 : 3) * e, scales_result(z) ? 2 : 1);
    }
}

static void gradient(struct tsim_op *op, bool of_weight) {
    op->is_gradient = true;
    op->is_weight_gradient = of_weight;
}

void tsim_op_adapters_backward(struct tsim_op_list *list, const struct tsim_op_shape *z, struct tsim_adapters of) {
    const struct tsim_op_shape each = of_each(z);
    double e = z->element_bytes, r = rank_of(z), own = of.is_column_parallel ? r / each.tp : r, rows = rows_of(&each);
    for (int32_t i = 0; i < of.count; i++) {
        if (scales_result(z))
            pass(list, &each, "adapter, scale gradient", rows * of.n[i], 2 * e, 1);
        dropout(list, &each, drops_result(z), rows * of.n[i]);
        gradient(product(list, &each, "adapter up, input", each.t, r, of.n[i], e), false);
        gradient(product(list, &each, "adapter up, weight", of.n[i], r, each.t, z->gradient_bytes), true);
        exchange(list, &each, !of.is_column_parallel);
        gradient(product(list, &each, "adapter down, input", each.t, of.k, own, e), false);
        gradient(product(list, &each, "adapter down, weight", own, of.k, each.t, z->gradient_bytes), true);
        dropout(list, &each, i < dropped_inputs(z, &of), rows * of.k);
        pass(list, &each, "adapter, add gradient", rows * of.k, 3 * e, 1);
    }
}

bool tsim_quantized_keep_inputs(const struct tsim_scenario *sc) {
    return tsim_base_is_quantized(sc) && sc->software->quantized_keep_inputs;
}

bool tsim_keeps_input(const struct tsim_op_shape *z, struct tsim_adapters of) {
    return !tsim_is_frozen(z->scenario) || tsim_quantized_keep_inputs(z->scenario) || (of.count > 0 && !drops_input(z));
}

/* Returns the bytes that adapters keep of a product: A x of all of the rank; if x is dropped out, the result of that
 * and its mask; if the result is dropped out, only the mask. */
double tsim_adapters_kept_bytes(const struct tsim_op_shape *z, struct tsim_adapters of) {
    double bytes = of.count * rank_of(z) * z->element_bytes + dropped_inputs(z, &of) * of.k * (z->element_bytes + 1);
    for (int32_t i = 0; i < of.count; i++)
        bytes += drops_result(z) ? of.n[i] : 0;
    return z->groups * z->t * bytes;
}

double tsim_attention_adapters_kept_bytes(const struct tsim_op_shape *z) {
    if (!tsim_is_frozen(z->scenario))
        return 0;
    struct tsim_latent_adapters latent = tsim_latent_adapters(z);
    return tsim_adapters_kept_bytes(z, tsim_adapters_of(z, TSIM_PRODUCT_QKV)) +
           tsim_adapters_kept_bytes(&latent.own, latent.query_down) +
           tsim_adapters_kept_bytes(&latent.own, latent.down) + tsim_adapters_kept_bytes(z, latent.query_up) +
           tsim_adapters_kept_bytes(z, latent.up) + tsim_adapters_kept_bytes(z, tsim_adapters_of(z, TSIM_PRODUCT_OUT));
}
