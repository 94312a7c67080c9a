/* adapter.h - fine-tuning of thin matrices beside the products of a frozen model (LoRA: Hu et al. 2021, arXiv:2106.09685).
 *
 * Beside y = W x of n x k an adapter adds B (A x) times a constant, A of r x k and B of n x r; x may be dropped out before.
 * W has no gradient, no master weight, no state and no reduction; its product's input is kept where an adapter takes it.
 * Products that are joined (queries, keys and values; gate and up) have one adapter together (NeMo, Megatron-Bridge) or each its
 * own (PEFT). Tensor ranks divide both matrices: r of A and n of B where the product's columns are divided, k of A and n
 * of B where its rows are; A x, t x r, is gathered or summed between them (NVIDIA-NeMo, ParallelLinearAdapter).
 * Adapters' products run in 16 bits where the model's are quantized, and frozen weights of 8 bits are kept once: where
 * kernels multiply rows by rows alone (before Blackwell) their transpose is made for each backward product
 * (disable_parameter_transpose_cache of Megatron-Bridge's recipes).
 *
 * With QLoRA weights of products are quantized in blocks, and made 16 bits again before each product, forward and backward
 * (bitsandbytes). A weight comes back in the 16 bits that it was quantized from; where software quantizes from fp16 and
 * trains in bf16, it is converted once more (restores_in_fp16). NF4 has 4 bits and 0.127 of scales, which are quantized in turn (Dettmers et al. 2023,
 * arXiv:2305.14314, section 3), or half a bit where they are not (fp32_scales); int8 has 8 and an fp32 scale for each row. */
#ifndef TSIM_MODEL_ADAPTER_H
#define TSIM_MODEL_ADAPTER_H

#include "model/layer_kind.h"
#include "model/local_shape.h"

/* Is the model itself left as it is? */
static inline bool tsim_is_frozen(const struct tsim_scenario *scenario) {
    return scenario->training.adapter.kind != TSIM_ADAPTER_NONE;
}

static inline int tsim_n_targets(const struct tsim_scenario *scenario) {
    int n = 0;
    for (unsigned targets = scenario->training.adapter.targets; targets; targets >>= 1)
        n += targets & 1 ? 1 : 0;
    return n;
}

/* A product has at most this many adapters; each has n columns. */
enum { TSIM_MAX_ADAPTERS = 3 };
struct tsim_adapters {
    int32_t count;
    double n[TSIM_MAX_ADAPTERS], k; /* on this rank */
    bool is_column_parallel;
};
struct tsim_adapters tsim_adapters_of(const struct tsim_op_shape *shape, enum tsim_layer_product product);
double tsim_adapters_parameters(const struct tsim_op_shape *shape, enum tsim_layer_product product); /* on this rank */

/* Returns the trained parameters of a layer on one tensor rank, and of the whole model. */
double tsim_layer_adapter_parameters(const struct tsim_scenario *scenario, enum tsim_part part);
double tsim_model_adapter_parameters(const struct tsim_scenario *scenario);

/* Returns the bytes of a frozen weight of a product; of a trained one it is tsim_weight_bytes. */
double tsim_base_weight_bytes(const struct tsim_scenario *scenario);
bool tsim_base_is_quantized(const struct tsim_scenario *scenario);

/* ---- operators ---- */

struct tsim_op_list;

/* Adds an adapter's kernels behind a product in the forward pass, and before its gradients in the backward pass. */
void tsim_op_adapters_forward(struct tsim_op_list *list, const struct tsim_op_shape *shape,
                              enum tsim_layer_product product);
void tsim_op_adapters_backward(struct tsim_op_list *list, const struct tsim_op_shape *shape,
                               enum tsim_layer_product product);
/* Adds the kernels that restore a quantized frozen weight of so many elements before its product, forward or
 * backward. */
void tsim_op_dequantize(struct tsim_op_list *list, const struct tsim_op_shape *shape, double elements);
/* The second also transposes a trained weight in fp8 where the software keeps it once: compiled, on NVIDIA's before
 * Blackwell (pytorch/ao float8_ops.py, preprocess_addmm). Transformer Engine's cast writes both. */
void tsim_op_prepare_weight(struct tsim_op_list *list, const struct tsim_op_shape *shape, double elements);

/* Is a product's input kept? A frozen weight needs none. An adapter does, unless it keeps what it dropped out in its
 * place, and so do 4-bit products of bitsandbytes before 0.43.2 (quantized_keep_inputs). */
bool tsim_quantized_keep_inputs(const struct tsim_scenario *scenario);
bool tsim_keeps_input(const struct tsim_op_shape *shape, enum tsim_layer_product product);
/* Returns the bytes that the adapters of a product keep of a micro-batch, beside the product's input. */
double tsim_adapters_kept_bytes(const struct tsim_op_shape *shape, enum tsim_layer_product product);
/* Returns the bytes of a layer that quantized products keep of a micro-batch when its backward pass is over, while its
 * graph lives: their inputs, which they do not give to PyTorch to free. */
double tsim_left_inputs_bytes(const struct tsim_scenario *scenario, enum tsim_part part);
/* Returns the bytes of a restored weight of so many elements, with the one that it is converted from. */
double tsim_restored_bytes(const struct tsim_scenario *scenario, double elements);

#endif
