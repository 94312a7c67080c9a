/* adapter.h - fine-tuning of thin matrices beside the products of a frozen model (LoRA: Hu et al. 2021,
 * arXiv:2106.09685).
 *
 * Beside y = W x, with W of n x k, an adapter adds B (A x) times a constant, with A of r x k and B of n x r; dropout
 * may be applied to x before. W has no gradient, no master weight, no state and no reduction. The input of its product
 * is kept if an adapter takes it. Products that are joined (queries, keys and values; gate and up) have one adapter
 * together (NeMo, Megatron-Bridge) or one each (PEFT). Tensor ranks divide both matrices: r of A and n of B if the
 * product's columns are divided, k of A and n of B if its rows are. A x, which is t x r, is gathered or summed between
 * them (NVIDIA-NeMo, ParallelLinearAdapter). Adapters' products run in 16 bits if the model's are quantized. Frozen
 * weights of 8 bits are kept once: where kernels multiply only rows by rows (before Blackwell), their transpose is made
 * for each backward product (disable_parameter_transpose_cache of Megatron-Bridge's recipes). Attention by way of latent
 * vectors has an adapter beside each of its products down and up (q_a_proj, q_b_proj, kv_a_proj_with_mqa, kv_b_proj);
 * keys and values have the same two. Products down are whole on each tensor rank, and so are their adapters.
 *
 * Beside routed experts' products stand adapters of each expert, whose products are grouped as the experts' are (PEFT on
 * experts that are modules; AutoModel, nemo_automodel/components/_peft/lora_experts.py), or one that takes the rows of all
 * experts of the rank (Megatron-Bridge, peft/lora.py: share_expert_adapters, true by default). Ranks that hold the same
 * experts reduce them. Where tensor ranks divide each expert, they divide its adapters as well. Rows have been gathered
 * and are scattered with the experts' own. Routers have none.
 *
 * With QLoRA, weights of products are quantized in blocks, and become 16 bits again before each product, forward and
 * backward (bitsandbytes). A weight comes back in the 16 bits from which it was quantized; if software quantizes from
 * fp16 and trains in bf16, the weight is converted once more (restores_in_fp16). NF4 has 4 bits and 0.127 bits of
 * scales, which are quantized in turn (Dettmers et al. 2023, arXiv:2305.14314, section 3), or half a bit if they are
 * not (fp32_scales). int8 has 8 bits and an fp32 scale for each row. */
#pragma once

#include "model/layer_kind.h"
#include "model/local_shape.h"

/* Returns whether the model itself is left as it is. */
static inline bool tsim_is_frozen(const struct tsim_scenario *scenario) {
    return scenario->training.adapter.kind != TSIM_ADAPTER_NONE;
}

static inline int tsim_n_targets(const struct tsim_scenario *scenario) {
    int n = 0;
    for (unsigned targets = scenario->training.adapter.targets; targets; targets >>= 1)
        n += targets & 1 ? 1 : 0;
    return n;
}

/* The adapters of one product, at most TSIM_MAX_ADAPTERS; adapter i has n[i] columns. */
enum { TSIM_MAX_ADAPTERS = 3 };
struct tsim_adapters {
    int32_t count;
    double n[TSIM_MAX_ADAPTERS], k; /* on this rank */
    bool is_column_parallel;
};
struct tsim_adapters tsim_adapters_of(const struct tsim_op_shape *shape, enum tsim_layer_product product);
/* Returns those of a recurrent mixer's first product, which gives `width` columns on this rank, or of its second, which
 * takes them (TSIM_TARGET_RECURRENCE_IN, _OUT). */
struct tsim_adapters tsim_adapters_of_recurrence(const struct tsim_op_shape *shape, enum tsim_adapter_target target,
                                                 double width);
/* Returns those beside the products to and from latent vectors; products down have the shape `own`. */
struct tsim_latent_adapters {
    struct tsim_op_shape own;
    struct tsim_adapters query_down, down, query_up, up; /* the others are of keys and values */
};
struct tsim_latent_adapters tsim_latent_adapters(const struct tsim_op_shape *shape);
/* These return parameters on this rank: of some adapters, with those of all experts where the shape is of their rows,
 * and of those beside attention's products. */
double tsim_adapters_parameters(const struct tsim_op_shape *shape, struct tsim_adapters of);
double tsim_attention_adapter_parameters(const struct tsim_op_shape *shape);

/* These return the trained parameters of a layer on one tensor rank: all of them, and those beside its routed experts,
 * whose sets of adapters (one for each expert, or one) are counted by the last. */
double tsim_layer_adapter_parameters(const struct tsim_scenario *scenario, enum tsim_part part);
double tsim_layer_routed_adapter_parameters(const struct tsim_scenario *scenario, enum tsim_part part);
double tsim_routed_adapter_sets(const struct tsim_scenario *scenario);
/* These return those of the whole model, and of them those that a token meets. */
double tsim_model_adapter_parameters(const struct tsim_scenario *scenario);
double tsim_model_active_adapter_parameters(const struct tsim_scenario *scenario);

/* Returns the bytes of a frozen weight of a product; those of a trained weight are tsim_weight_bytes. */
double tsim_base_weight_bytes(const struct tsim_scenario *scenario);
bool tsim_base_is_quantized(const struct tsim_scenario *scenario);

/* ---- operators ---- */

struct tsim_op_list;

/* These add an adapter's kernels behind a product in the forward pass, and before its gradients in the backward
 * pass. */
void tsim_op_adapters_forward(struct tsim_op_list *list, const struct tsim_op_shape *shape, struct tsim_adapters of);
void tsim_op_adapters_backward(struct tsim_op_list *list, const struct tsim_op_shape *shape, struct tsim_adapters of);
/* Adds the kernels that a weight of so many elements needs before its product in the forward pass: a quantized frozen
 * one is restored, and with scales of rows it is cast. */
void tsim_op_take_weight(struct tsim_op_list *list, const struct tsim_op_shape *shape, double elements);
/* Does the same in the backward pass, where the cast is by columns. It also transposes a trained weight in fp8 if the
 * software keeps it once, which is compiled software on NVIDIA's accelerators before Blackwell (pytorch/ao
 * float8_ops.py, preprocess_addmm). Transformer Engine's cast writes both. */
void tsim_op_prepare_weight(struct tsim_op_list *list, const struct tsim_op_shape *shape, double elements);

/* The first returns whether products of frozen 4-bit weights keep their inputs, as in bitsandbytes before 0.43.2
 * (quantized_keep_inputs). The second returns whether a product's input is kept: a frozen weight does not need it; an
 * adapter does, unless it keeps its input after dropout instead. */
bool tsim_quantized_keep_inputs(const struct tsim_scenario *scenario);
bool tsim_keeps_input(const struct tsim_op_shape *shape, struct tsim_adapters of);
/* Returns the bytes that the adapters of a product keep of a micro-batch, beside the product's input. */
double tsim_adapters_kept_bytes(const struct tsim_op_shape *shape, struct tsim_adapters of);
double tsim_attention_adapters_kept_bytes(const struct tsim_op_shape *shape);
/* Returns the bytes of a micro-batch that a layer's quantized products still keep when its backward pass is over, as
 * long as its graph lives. They are their inputs, which they do not hand to PyTorch to free. */
double tsim_left_inputs_bytes(const struct tsim_scenario *scenario, enum tsim_part part);
/* Returns the bytes of a restored weight of so many elements, including the weight that it is converted from. */
double tsim_restored_bytes(const struct tsim_scenario *scenario, double elements);
