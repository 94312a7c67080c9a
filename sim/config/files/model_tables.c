#include "config/files/catalogue_keys.h"
#include "config/files/dlrm.h"
#include "config/files/layer_list_keys.h"

#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct tsim_word MODEL_SCHEMA[] = {{"tsim/model/v1", 0}, {NULL, 0}};
static const struct tsim_word MODEL_KINDS[] = {{"transformer", TSIM_MODEL_TRANSFORMER}, {"cnn", TSIM_MODEL_CNN},
                                               {"mlp", TSIM_MODEL_MLP}, {"dlrm", TSIM_MODEL_DLRM}, {NULL, 0}};
static const struct tsim_word NORMS[] = {{"layernorm", TSIM_NORM_LAYERNORM}, {"rmsnorm", TSIM_NORM_RMSNORM},
                                        {"plain", TSIM_NORM_PLAIN}, {NULL, 0}};
static const struct tsim_word ACTIVATIONS[] = {{"auto", TSIM_ACTIVATION_AUTO}, {"relu", TSIM_ACTIVATION_RELU},
                                               {"gelu", TSIM_ACTIVATION_GELU}, {"silu", TSIM_ACTIVATION_SILU},
                                               {"sigmoid", TSIM_ACTIVATION_SIGMOID}, {"tanh", TSIM_ACTIVATION_TANH}, {NULL, 0}};
static const struct tsim_word POSITIONS[] = {{"learned", TSIM_POSITION_LEARNED}, {"rope", TSIM_POSITION_ROPE},
                                             {"alibi", TSIM_POSITION_ALIBI}, {"relative", TSIM_POSITION_RELATIVE},
                                             {"none", TSIM_POSITION_NONE}, {NULL, 0}};

#define EXPERT_INT_KEY(name_, max_, help_)                                                                             \
    .key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_experts, name_), .max = (max_),                \
    .default_text = "0", .help = (help_)
#define EXPERT_INT(name_, max_, help_) {EXPERT_INT_KEY(name_, max_, help_)}
#define EXPERT_NUMBER(name_, field_, dimension_, help_)                                                                \
    .key = (name_), .kind = TSIM_KEY_QUANTITY, .dimension = (dimension_), .is_omitted_when_zero = true,                \
    .offset = offsetof(struct tsim_experts, field_), .default_text = "0", .help = (help_)
static const struct tsim_key EXPERT_KEYS[] = {
    EXPERT_INT(count, 1e5, "experts of a layer; 0: a dense model"),
    EXPERT_INT(active, 1e5, "number of experts that each token is routed to"),
    EXPERT_INT(ffn_hidden, 1e7, "inner width of one expert; default: the model's ffn_hidden"),
    EXPERT_INT(shared, 1e5, "number of shared experts, which process every token"),
    {EXPERT_INT_KEY(first, 1e5, "layers before the first that can have experts"), .is_omitted_when_zero = true},
    EXPERT_INT(every, 1e5, "every n-th layer, counted from the layer first, has experts; default: 1"),
    {EXPERT_INT_KEY(latent, 1e7, "routed experts work on a vector so wide, which a product before them makes of the token and one behind them takes back (Nemotron 3 Super); 0: on the token"),
     .is_omitted_when_zero = true},
    {EXPERT_INT_KEY(node_limit, 1e5, "nodes whose experts a token may choose from; 0: all"),
     .is_omitted_when_zero = true},
    {.key = "router_bias", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_experts, router_bias),
     .default_text = "false", .help = "a correction is added to each expert's score"},
    {.key = "limited", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_experts, limited), .default_text = "false",
     .is_omitted_when_zero = true, .help = "the input of the activation is limited first (GPT-OSS)"},
    {EXPERT_NUMBER("imbalance", imbalance_frac, TSIM_FRACTION,
                   "coefficient of variation of the experts' popularity, beyond chance"), .max = 100},
    {EXPERT_NUMBER("capacity_factor", capacity_factor, TSIM_COUNT,
                   "rows of an expert's padded buffer, over the mean number of tokens; 0: buffers grow as needed, and no token is dropped"), .min = 0.01, .max = 1e5},
};
TSIM_TABLE(EXPERTS, EXPERT_KEYS, true);

#define LATENT_INT(name_, help_)                                                                                       \
    {.key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_latent, name_), .max = 1e6,                   \
     .default_text = "0", .is_omitted_when_zero = true, .help = (help_)}
static const struct tsim_key LATENT_KEYS[] = {
    LATENT_INT(kv_rank, "width of the vector that keys and values are expanded from; 0: ordinary attention"),
    LATENT_INT(query_rank, "the same for queries; 0: they are not compressed"),
    LATENT_INT(rope_dim, "rotary part of queries and keys, beside the part without positions"),
    LATENT_INT(nope_dim, "part of queries and keys without positions; default: head_dim, which is the width of values"),
};
TSIM_TABLE(LATENT, LATENT_KEYS, true);

#define MAMBA_INT(name_, default_, help_)                                                                              \
    {.key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_mamba, name_), .max = 1e6,                    \
     .default_text = (default_), .is_omitted_when_zero = true, .help = (help_)}
static const struct tsim_key MAMBA_KEYS[] = {
    MAMBA_INT(heads, "0", "heads of a Mamba-2 layer"),
    MAMBA_INT(head_dim, "0", "width of one; default: 64"),
    MAMBA_INT(state, "0", "size of the state of each channel; default: 128"),
    MAMBA_INT(groups, "0", "groups of heads; the heads of a group share the projections to and from their states (B and C); default: 8"),
    MAMBA_INT(kernel, "0", "width of the convolution before; default: 4"),
    MAMBA_INT(chunk, "0", "tokens that are worked on as products; default: 128"),
    {.key = "plain_gate", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_mamba, plain_gate), .is_omitted_when_zero = true,
     .help = "the result is gated without a norm (Falcon-H1)"},
};
TSIM_TABLE(MAMBA, MAMBA_KEYS, true);

#define MAMBA1_INT(name_, help_)                                                                                       \
    {.key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_mamba1, name_), .max = 1e7,                   \
     .default_text = "0", .is_omitted_when_zero = true, .help = (help_)}
static const struct tsim_key MAMBA1_KEYS[] = {
    MAMBA1_INT(width, "channels of a Mamba-1 layer"),
    MAMBA1_INT(state, "size of the state of each channel; default: 16"),
    MAMBA1_INT(step_rank, "width of the vector from which the step sizes of all channels are projected; default: hidden / 16"),
    MAMBA1_INT(kernel, "width of the convolution before; default: 4"),
    {.key = "norms", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_mamba1, norms), .is_omitted_when_zero = true,
     .help = "normalize the step sizes and the vectors B and C that write and read the states (Jamba)"},
};
TSIM_TABLE(MAMBA1, MAMBA1_KEYS, true);

#define DELTA_INT(name_, help_)                                                                                        \
    {.key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_delta, name_), .max = 1e6,                    \
     .default_text = "0", .is_omitted_when_zero = true, .help = (help_)}
static const struct tsim_key DELTA_KEYS[] = {
    DELTA_INT(value_heads, "heads of values, each with a state"),
    DELTA_INT(key_heads, "heads of queries and keys; default: as value_heads"),
    DELTA_INT(key_dim, "width of a query or key; default: 128"),
    DELTA_INT(value_dim, "width of a value; default: 128"),
    {.key = "full_gate", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_delta, full_gate), .is_omitted_when_zero = true,
     .help = "with gate_rank: the gate is one product all the same, and the decays alone go by way of short vectors (Kimi K3)"},
    DELTA_INT(gate_rank, "width of the vectors from which the gate and a decay for each channel are projected (Kimi Delta Attention); 0: one decay for each head, and the gate is one product"),
    DELTA_INT(kernel, "width of the convolution before; default: 4"),
    DELTA_INT(chunk, "tokens that are worked on as products; default: 64"),
};
TSIM_TABLE(DELTA, DELTA_KEYS, true);

#define LIGHTNING_INT(name_, help_)                                                                                    \
    {.key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_lightning, name_), .max = 1e6,                \
     .default_text = "0", .is_omitted_when_zero = true, .help = (help_)}
static const struct tsim_key LIGHTNING_KEYS[] = {
    LIGHTNING_INT(heads, "heads of a layer of kind lightning, each with queries, keys and values; default: heads of the model"),
    LIGHTNING_INT(head_dim, "width of one; default: head_dim of the model"),
    LIGHTNING_INT(chunk, "tokens that are worked on as products; default: 256"),
    {.key = "rotary", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_lightning, rotary), .is_omitted_when_zero = true,
     .help = "queries and keys are rotated (Ling linear); without it queries, keys and values go through an activation (MiniMax-01)"},
};
TSIM_TABLE(LIGHTNING, LIGHTNING_KEYS, true);

#define SHARED_INT(name_, help_)                                                                                       \
    {.key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_shared, name_), .max = 1e6,                   \
     .default_text = "0", .is_omitted_when_zero = true, .help = (help_)}
static const struct tsim_key SHARED_KEYS[] = {
    SHARED_INT(blocks, "blocks of attention and feed-forward, with the model's heads and widths, that layers of kind shared take in turn"),
    SHARED_INT(adapter_rank, "rank of what each of these layers adds to the block's first product; 0: nothing"),
};
TSIM_TABLE(SHARED, SHARED_KEYS, true);

static const struct tsim_key SHORT_CONVOLUTION_KEYS[] = {
    {.key = "kernel", .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_short_convolution, kernel), .max = 1e6,
     .default_text = "0", .is_omitted_when_zero = true, .help = "tokens that the convolution of a layer of kind short-convolution spans"},
    {.key = "bias", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_short_convolution, bias), .is_omitted_when_zero = true,
     .help = "the convolution and both products have biases"},
};
TSIM_TABLE(SHORT_CONVOLUTION, SHORT_CONVOLUTION_KEYS, true);

#define IMAGE_INT(name_, default_, help_)                                                                              \
    {.key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_image, name_), .max = 1e6,                    \
     .default_text = (default_), .is_omitted_when_zero = true, .help = (help_)}
static const struct tsim_key IMAGE_KEYS[] = {
    IMAGE_INT(size, "0", "pixels of a side"),
    IMAGE_INT(patch, "0", "pixels of a patch's side; 0: not a model of images"),
    IMAGE_INT(channels, "0", "channels of a pixel; default: 3"),
    {.key = "patches_alone", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_image, patches_alone),
     .is_omitted_when_zero = true, .help = "patches are the only tokens: there is no class token (SigLIP, Qwen-VL)"},
    {.key = "unbiased", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_image, unbiased),
     .is_omitted_when_zero = true, .help = "the product that patches go through has no bias (CLIP, Qwen-VL)"},
};
TSIM_TABLE(IMAGE, IMAGE_KEYS, true);

#define INDEX_INT(name_, help_)                                                                                        \
    {.key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_index, name_), .max = 1e6,                    \
     .default_text = "0", .is_omitted_when_zero = true, .help = (help_)}
static const struct tsim_key INDEX_KEYS[] = {
    INDEX_INT(heads, "heads that score the earlier tokens"),
    INDEX_INT(head_dim, "width of one; default: 128"),
    INDEX_INT(tokens, "tokens that a query then attends to; default: 2048"),
};
TSIM_TABLE(INDEX, INDEX_KEYS, true);

#define DIFFUSION_INT(name_, help_)                                                                                    \
    {.key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_diffusion, name_), .max = 1e6,                \
     .default_text = "0", .is_omitted_when_zero = true, .help = (help_)}
static const struct tsim_key DIFFUSION_KEYS[] = {
    DIFFUSION_INT(values, "values of a token: channels of a latent pixel times pixels of a patch; 0: not a diffusion transformer"),
    DIFFUSION_INT(out_values, "values that are predicted for a token; default: as values (DiT: twice, with their variances)"),
    DIFFUSION_INT(frequencies, "frequencies that encode the moment of diffusion; default: 256"),
    {.key = "shared_modulation", .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_diffusion, shared_modulation),
     .is_omitted_when_zero = true,
     .help = "one product for all layers makes their shifts, scales and gates, with a table of each (Wan); else each has a product (DiT, Stable Diffusion 3)"},
    DIFFUSION_INT(text_tokens, "tokens of the text that layers attend to; 0: without a text"),
    DIFFUSION_INT(text_width, "width of the text encoder's output"),
    DIFFUSION_INT(text_products, "products that take it to the width of the model, 1 or 2; default: 1"),
    DIFFUSION_INT(pooled_width, "width of a vector of the whole text, beside the moment; 0: none"),
};
TSIM_TABLE(DIFFUSION, DIFFUSION_KEYS, true);

#define TOWER_INT(name_, help_)                                                                                        \
    {.key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_tower, name_), .max = 1e9,                    \
     .default_text = "0", .is_omitted_when_zero = true, .help = (help_)}
#define TOWER_FLAG(name_, help_)                                                                                       \
    {.key = #name_, .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_tower, name_), .is_omitted_when_zero = true, \
     .help = (help_)}
static const struct tsim_key TOWER_KEYS[] = {
    TOWER_INT(layers, "layers of the tower; the model's layers counts them and the projector as well; 0: no tower"),
    TOWER_INT(hidden, "width of its residual stream"),
    TOWER_INT(heads, "attention heads"),
    TOWER_INT(head_dim, "width of a head; default: hidden / heads"),
    TOWER_INT(ffn_hidden, "inner width of its feed-forward block; default: 4 x hidden"),
    TOWER_INT(attention_window, "tokens of the window that a layer attends to; 0: the whole image"),
    TOWER_INT(full_every, "with windows: one layer in this many attends to the whole image (Qwen2.5-VL: 8)"),
    TOWER_FLAG(gated_mlp, "gated feed-forward: three matrices instead of two"),
    TOWER_FLAG(bias, "linear layers have biases"),
    TOWER_FLAG(positions, "learned positions, one for each token of an image; else rotary ones"),
    TOWER_FLAG(frozen, "its weights are not trained: no backward pass, gradients, optimizer state or reduction"),
    {.key = "norm", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_tower, norm), .words = NORMS,
     .default_text = "layernorm", .is_omitted_when_zero = true, .help = "normalization in the tower, and before the projector"},
    {.key = "image", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_tower, image), .table = &IMAGE,
     .is_omitted_when_zero = true, .help = "{size, patch, channels}"},
    TOWER_INT(images, "images of a sample; default: 1"),
    TOWER_INT(merge, "patches along each side of the square that becomes one token; default: 1"),
    TOWER_FLAG(pools, "the token is the mean of the square's patches (Gemma 3); else the projector takes all of their values (Qwen-VL)"),
    TOWER_INT(products, "products of the projector, 1 to 4; the second of four keeps the width; default: 2"),
    TOWER_INT(inner, "width behind the first of several; default: that of the language model"),
    TOWER_INT(second_inner, "width before the last of three or four; default: as inner"),
    TOWER_FLAG(gated_projector, "the product to second_inner has a gate beside it (GLM-4.1V)"),
    TOWER_INT(projectors, "projectors side by side, of the results of as many of its layers (Qwen3-VL's DeepStack: 4); default: 1"),
    TOWER_FLAG(unbiased_projector, "the projector's products have no biases"),
    TOWER_INT(other_parameters, "other parameters, such as a norm before the first layer: counted, and held with the patches' product"),
};
TSIM_TABLE(TOWER, TOWER_KEYS, true);

#define GENERATOR_INT(name_, help_)                                                                                    \
    {.key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_generator, name_), .max = 1e7,                \
     .default_text = "0", .is_omitted_when_zero = true, .help = (help_)}
static const struct tsim_key GENERATOR_KEYS[] = {
    GENERATOR_INT(layers, "layers of the generator; the model's layers counts them and its head as well; 0: no generator"),
    GENERATOR_INT(hidden, "width of its residual stream"),
    GENERATOR_INT(heads, "attention heads"),
    GENERATOR_INT(ffn_hidden, "inner width of its feed-forward block; default: 4 x hidden"),
    {.key = "masked", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FRACTION, .max = 1, .is_omitted_when_zero = true,
     .offset = offsetof(struct tsim_generator, masked_frac), .default_text = "0",
     .help = "fraction of the tokens that are masked and filled in; default: 0.15"},
};
TSIM_TABLE(GENERATOR, GENERATOR_KEYS, true);

#define HEAD_ROWS_INT(name_, help_)                                                                                    \
    {.key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_head_rows, name_), .max = 1e9,                \
     .default_text = "0", .is_omitted_when_zero = true, .help = (help_)}
static const struct tsim_key HEAD_ROWS_KEYS[] = {
    HEAD_ROWS_INT(each, "rows that every token meets, those of the clusters among them; 0: all of the table"),
    HEAD_ROWS_INT(tail, "mean number of further rows, those of its cluster, that a rare token meets"),
    HEAD_ROWS_INT(clusters, "number of clusters; default: 1 where there is a tail"),
    {.key = "tail_share", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FRACTION, .max = 1, .is_omitted_when_zero = true,
     .offset = offsetof(struct tsim_head_rows, tail_frac), .default_text = "0", .help = "fraction of the tokens that are rare ones"},
};
TSIM_TABLE(HEAD_ROWS, HEAD_ROWS_KEYS, true);

static const struct tsim_word MIXINGS[] = {{"attention", TSIM_MIXING_ATTENTION}, {"window", TSIM_MIXING_WINDOW},
                                             {"mamba2", TSIM_MIXING_MAMBA}, {"mamba1", TSIM_MIXING_MAMBA1}, {"gated-delta", TSIM_MIXING_DELTA},
                                             {"short-convolution", TSIM_MIXING_SHORT}, {"lightning", TSIM_MIXING_LIGHTNING},
                                             {"attention-beside-mamba2", TSIM_MIXING_BESIDE}, {"shared", TSIM_MIXING_SHARED},
                                             {"sparse", TSIM_MIXING_SPARSE}, {"segment", TSIM_MIXING_SEGMENT},
                                             {"modulated", TSIM_MIXING_MODULATED}, {"joint", TSIM_MIXING_JOINT},
                                             {"last-joint", TSIM_MIXING_LAST_JOINT}, {"none", TSIM_MIXING_NONE}, {NULL, 0}};
static const struct tsim_word FOLLOWINGS[] = {{"auto", TSIM_FOLLOWING_AUTO}, {"dense", TSIM_FOLLOWING_DENSE},
                                              {"experts", TSIM_FOLLOWING_EXPERTS}, {"none", TSIM_FOLLOWING_NONE}, {NULL, 0}};
static const struct tsim_key PATTERN_KEYS[] = {
    {.key = "kind", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_layer_entry, kind), .words = MIXINGS,
     .is_required = true, .help = "layer that mixes the tokens; none: the layer has only a feed-forward block or experts"},
    {.key = "feed_forward", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_layer_entry, feed_forward),
     .words = FOLLOWINGS, .default_text = "auto", .is_omitted_when_zero = true,
     .help = "block after the mixer; auto: experts where experts.first and experts.every say so; none: no second block (Nemotron-H)"},
    {.key = "count", .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_layer_entry, count), .max = 1e5,
     .default_text = "1", .is_positive = true, .help = "how many of them in a row"},
};
TSIM_TABLE(PATTERN, PATTERN_KEYS, false);

#define MODEL_INT(name_, max_, help_)                                                                                  \
    .key = #name_, .kind = TSIM_KEY_INT, .offset = offsetof(struct tsim_model, name_), .max = (max_), .help = (help_)
#define MODEL_BOOL(name_, default_, help_)                                                                             \
    {.key = #name_, .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_model, name_), .default_text = (default_),   \
     .help = (help_)}
#define MODEL_FLAG(name_, help_)                                                                                       \
    .key = #name_, .kind = TSIM_KEY_BOOL, .offset = offsetof(struct tsim_model, name_), .is_omitted_when_zero = true,  \
    .help = (help_)
static const struct tsim_key MODEL_KEYS[] = {
    SCHEMA_KEY(MODEL_SCHEMA),
    NAME_KEY(struct tsim_model),
    {.key = "kind", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_model, kind), .words = MODEL_KINDS,
     .default_text = "transformer", .help = "family of architectures"},
    {MODEL_INT(layers, 1e5, "transformer blocks"), .is_required = true, .is_positive = true},
    {.key = "pattern", TSIM_LIST(struct tsim_model, pattern, n_pattern, &PATTERN),
     .help = "where layers differ: their kinds in order, repeated until every layer has one: list of {kind, count, ...}; written as `layers`, the list also says how many layers there are"},
    {MODEL_INT(hidden, 1e7, "width of the residual stream"), .is_required = true, .is_positive = true},
    {MODEL_INT(heads, 1e6, "query heads"), .is_required = true, .is_positive = true},
    {MODEL_INT(kv_heads, 1e6, "key and value heads (fewer than heads: grouped queries); default: heads"), .is_positive = true},
    {MODEL_INT(head_dim, 1e6, "width of a head; default: hidden / heads"), .is_positive = true},
    {MODEL_INT(ffn_hidden, 1e7, "inner width of the feed-forward block; default: 4 x hidden"), .is_positive = true},
    {MODEL_INT(vocab, 1e9, "rows of the embedding table, or classes of a model of images; required unless the model is of diffusion"), .is_positive = true,
     .is_omitted_when_zero = true},
    {MODEL_INT(encoder_layers, 1e5, "number of layers of the encoder, which come first; the others are the decoder; 0: a single stack"),
     .is_omitted_when_zero = true},
    {MODEL_INT(mtp_layers, 1e5, "number of layers at the end that predict further tokens (multi-token prediction)"),
     .is_omitted_when_zero = true},
    {MODEL_INT(mtp_modules, TSIM_MAX_MTP_MODULES, "number of tokens that mtp_layers predict, each with a module of as many of these layers; default: mtp_layers"),
     .is_omitted_when_zero = true},
    {MODEL_INT(attention_window, 1e9, "tokens that a query of a window layer attends to, its own among them; which layers: those of kind window in the pattern, or all without a pattern"),
     .is_omitted_when_zero = true},
    {MODEL_FLAG(window_chunks, "windows do not slide: a token attends within its own chunk of the sequence (Llama 4)")},
    {MODEL_FLAG(sinks, "softmax has one more, learned score for each head (gpt-oss)")},
    {MODEL_FLAG(output_gate, "attention's result is gated by a product of the layer's input, as wide as its result (Qwen3-Next)")},
    {MODEL_INT(positions, 1e9, "rows of the learned position table"), .is_omitted_when_zero = true},
    {MODEL_INT(relative_buckets, 1e6, "buckets of distances, each with a bias for every head; default: 32 (T5)"),
     .is_omitted_when_zero = true},
    {MODEL_FLAG(approximate, "true: some parts replace parts that tsim does not know, so the interval is that of an unmeasured kind of model")},
    MODEL_BOOL(gated_mlp, "false", "gated feed-forward (SwiGLU): three matrices instead of two"),
    MODEL_BOOL(parallel_block, "false", "attention and feed-forward side by side from one norm (GPT-J, PaLM)"),
    {MODEL_FLAG(recurrent, "layers are LSTM cells, hidden wide; with encoder_layers as in GNMT: the first reads both ways, and the decoder's first attends to the encoder")},
    {MODEL_FLAG(parallel_norms, "with parallel_block, a norm for each of the two (GPT-NeoX, Falcon 40B)")},
    {.key = "norm", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_model, norm), .words = NORMS,
     .default_text = "layernorm", .help = "normalization before attention, before the feed-forward block and after the last layer"},
    {.key = "activation", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_model, activation), .words = ACTIVATIONS,
     .default_text = "auto", .is_omitted_when_zero = true,
     .help = "activation function; auto: silu where gated, else gelu, in lists of layers relu"},
    {.key = "position", .kind = TSIM_KEY_ENUM, .offset = offsetof(struct tsim_model, position), .words = POSITIONS,
     .default_text = "rope", .help = "how positions enter"},
    {.key = "rotary_share", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FRACTION, .max = 1, .is_omitted_when_zero = true,
     .offset = offsetof(struct tsim_model, rotary_frac), .default_text = "0",
     .help = "fraction of each head that rope rotates (GPT-NeoX: 0.25); 0: all"},
    {MODEL_FLAG(rotary_scaled, "rotated queries and keys are scaled, too (YaRN's attention factor; gpt-oss), which Transformer Engine's kernel does not do")},
    MODEL_BOOL(tied_embeddings, "false", "embedding and head share one matrix"),
    MODEL_BOOL(bias, "false", "linear layers have biases"),
    {MODEL_FLAG(qkv_bias, "queries, keys and values have biases, whatever bias says")},
    {MODEL_FLAG(qk_norm, "queries and keys are normalized head by head")},
    {MODEL_FLAG(wide_qk_norm, "queries and keys are normalized over all heads together (OLMo 2, Wan)")},
    {MODEL_FLAG(post_norms, "further norms after attention and after the feed-forward block (Gemma 2 and 3)")},
    {MODEL_FLAG(pooler, "a product of hidden x hidden on the first token, beside the head")},
    {.key = "head_share", .kind = TSIM_KEY_QUANTITY, .dimension = TSIM_FRACTION, .max = 1, .is_omitted_when_zero = true,
     .offset = offsetof(struct tsim_model, head_frac), .default_text = "0",
     .help = "fraction of the tokens that head and loss are computed for, the masked ones; 0: all"},
    {MODEL_INT(other_parameters, 1e15, "other parameters, such as a head's bias: counted, and held with the embedding"),
     .is_omitted_when_zero = true},
    {.key = "image", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_model, image), .table = &IMAGE,
     .help = "vision transformer: {size, patch, channels}"},
    MODEL_BOOL(causal, "true", "a token attends to earlier ones only"),
    {.key = "experts", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_model, experts), .table = &EXPERTS,
     .help = "mixture of experts"},
    {.key = "latent", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_model, latent), .table = &LATENT,
     .help = "multi-head latent attention"},
    {.key = "mamba", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_model, mamba), .table = &MAMBA,
     .is_omitted_when_zero = true, .help = "layers of kind mamba2, and the heads beside attention of kind attention-beside-mamba2"},
    {.key = "mamba1", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_model, mamba1), .table = &MAMBA1,
     .is_omitted_when_zero = true, .help = "layers of kind mamba1"},
    {.key = "delta", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_model, delta), .table = &DELTA,
     .is_omitted_when_zero = true, .help = "layers of kind gated-delta"},
    {.key = "short_convolution", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_model, short_convolution), .table = &SHORT_CONVOLUTION,
     .is_omitted_when_zero = true, .help = "layers of kind short-convolution (LFM2)"},
    {.key = "lightning", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_model, lightning), .table = &LIGHTNING,
     .is_omitted_when_zero = true, .help = "layers of kind lightning (MiniMax-01, Ling linear)"},
    {.key = "shared", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_model, shared), .table = &SHARED,
     .is_omitted_when_zero = true, .help = "layers of kind shared: a block whose weights they share, before Mamba-2 (Zamba2)"},
    {.key = "index", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_model, index), .table = &INDEX,
     .is_omitted_when_zero = true, .help = "layers of kind sparse"},
    {.key = "diffusion", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_model, diffusion), .table = &DIFFUSION,
     .is_omitted_when_zero = true, .help = "diffusion transformers: layers of kinds modulated, joint and last-joint"},
    {MODEL_INT(memory, 1e9, "tokens of the last segment that layers of kind segment attend to (Transformer-XL)"), .is_omitted_when_zero = true},
    {.key = "generator", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_model, generator), .table = &GENERATOR,
     .is_omitted_when_zero = true, .help = "a small encoder that fills in masked tokens, trained beside the model (ELECTRA)"},
    {.key = "head_rows", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_model, head_rows), .table = &HEAD_ROWS,
     .is_omitted_when_zero = true, .help = "rows of the table that a token meets in the head, where not all: adaptive softmax, or a yes and no (ELECTRA)"},
    {.key = "tower", .kind = TSIM_KEY_MAPPING, .offset = offsetof(struct tsim_model, tower), .table = &TOWER,
     .is_omitted_when_zero = true, .help = "vision-language models: a vision transformer and a projector before the language model's layers"},
    SOURCE_KEY(struct tsim_model),
};
const struct tsim_table tsim_model_table = {MODEL_KEYS, sizeof MODEL_KEYS / sizeof MODEL_KEYS[0], true};
/* clang-format on */

/* Returns the tokens of an image: one for each patch, and the class token. */
static int64_t image_tokens(const struct tsim_image *image) {
    return (image->size / image->patch) * (image->size / image->patch) + (image->patches_alone ? 0 : 1);
}

static void finish_image(const struct tsim_checked *c, struct tsim_model *m) {
    struct tsim_image *image = &m->image;
    if (image->patch == 0 && image->size == 0)
        return;
    image->channels = image->channels ? image->channels : 3;
    if (image->patch == 0 || image->size % image->patch != 0 || image->size == 0) {
        tsim_diag_hint(FAIL_AT(c, "image", "size %lld is no multiple of patch %lld", (long long)image->size,
                               (long long)image->patch),
                       "for example {size: 224, patch: 16}");
        if (m->position == TSIM_POSITION_LEARNED && !m->positions)
            m->positions = 1; /* no second mistake */
        return;
    }
    image->tokens = image_tokens(image);
    m->positions = m->position == TSIM_POSITION_LEARNED && !m->positions ? image->tokens : m->positions;
    if (m->positions && m->positions != image->tokens)
        tsim_diag_hint(FAIL_AT(c, "positions", "%lld for an image of %lld tokens", (long long)m->positions,
                               (long long)image->tokens),
                       "leave it out: size, patch and the class token say it");
    if (m->tied_embeddings || m->experts.count > 0)
        FAIL_AT(c, "image", "a model of images has no table to tie, and no experts in this version");
}

/* Completes the modules that predict further tokens. */
static void finish_further(const struct tsim_checked *c, struct tsim_model *m) {
    if (m->mtp_layers >= m->layers)
        tsim_diag_hint(FAIL_AT(c, "mtp_layers", "%lld of %lld layers leave none before them", (long long)m->mtp_layers,
                               (long long)m->layers),
                       "layers counts them, too: 62 of DeepSeek-V3, whose mtp_layers is 1");
    else if (m->mtp_layers > 0 && !m->mtp_modules && m->mtp_layers > TSIM_MAX_MTP_MODULES)
        tsim_diag_hint(FAIL_AT(c, "mtp_layers", "%lld modules, of which there are at most %d", (long long)m->mtp_layers,
                               TSIM_MAX_MTP_MODULES),
                       "mtp_modules, if each has several layers");
    m->mtp_modules = m->mtp_modules ? m->mtp_modules : m->mtp_layers;
    if (m->mtp_modules > 0 && (m->mtp_layers == 0 || m->mtp_layers % m->mtp_modules != 0))
        FAIL_AT(c, "mtp_modules", "%lld layers are not as many for each of %lld modules", (long long)m->mtp_layers,
                (long long)m->mtp_modules);
    if (m->mtp_layers > 0 && (!m->causal || m->encoder_layers > 0 || m->image.patch > 0 || m->recurrent ||
                              m->generator.layers > 0 || m->head_rows.each > 0))
        FAIL_AT(c, "mtp_layers", "only a causal model of one stack of layers predicts further tokens");
}

/* Completes the stacks: the first encodes, and every layer of the second attends to its result. */
static void finish_stacks(const struct tsim_checked *c, struct tsim_model *m) {
    if (m->position == TSIM_POSITION_RELATIVE && !m->relative_buckets)
        m->relative_buckets = 32;
    if (m->position != TSIM_POSITION_RELATIVE && m->relative_buckets)
        FAIL_AT(c, "relative_buckets", "only position: relative has buckets");
    finish_further(c, m);
    if (m->encoder_layers == 0)
        return;
    if (m->encoder_layers >= m->layers)
        tsim_diag_hint(FAIL_AT(c, "encoder_layers", "%lld of %lld layers leave no decoder",
                               (long long)m->encoder_layers, (long long)m->layers),
                       "layers counts both stacks; an encoder alone is causal: false");
    if (m->experts.count > 0 || m->latent.kv_rank > 0 || m->parallel_block || m->image.patch > 0)
        FAIL_AT(c, "encoder_layers",
                "experts, latent, parallel_block and image are for models of one stack in this version");
}

static void finish_variants(const struct tsim_checked *c, const struct tsim_model *m) {
    if (m->parallel_norms && !m->parallel_block)
        tsim_diag_hint(
            FAIL_AT(c, "parallel_norms", "a norm for each of two blocks side by side needs parallel_block: true"),
            "without it the two blocks of a layer have norms of their own anyway");
    if (m->rotary_frac > 0 && m->position != TSIM_POSITION_ROPE)
        FAIL_AT(c, "rotary_share", "only position: rope rotates");
}

static bool has_kind(const struct tsim_model *m, enum tsim_mixing kind) {
    for (size_t i = 0; i < m->n_pattern; i++)
        if (m->pattern[i].kind == kind)
            return true;
    return false;
}

/* Layers of a kind and the block with their sizes come together. */
static void check_block(const struct tsim_checked *c, bool has_layers, bool has_block, const char *kind,
                        const char *block, const char *hint) {
    if (has_layers && !has_block)
        tsim_diag_hint(FAIL_AT(c, block, "layers of kind %s need '%s'", kind, block), "%s", hint);
    if (has_block && !has_layers)
        tsim_diag_hint(FAIL_AT(c, block, "no layer is of kind %s", kind), "%s", hint);
}

static void finish_mamba(const struct tsim_checked *c, struct tsim_model *m) {
    struct tsim_mamba *a = &m->mamba;
    bool is_there = false;
    for (size_t i = 0; i < m->n_pattern; i++) {
        is_there |= m->pattern[i].kind == TSIM_MIXING_MAMBA || m->pattern[i].kind == TSIM_MIXING_BESIDE ||
                    m->pattern[i].kind == TSIM_MIXING_SHARED;
        if (m->pattern[i].kind == TSIM_MIXING_NONE && m->pattern[i].feed_forward == TSIM_FOLLOWING_NONE)
            FAIL_AT(c, "pattern", "a layer needs a mixer or a feed-forward block, and this one has neither");
    }
    check_block(c, is_there, a->heads > 0, "mamba2", "mamba",
                "mamba: {heads: 128, head_dim: 64, state: 128, groups: 8} and {kind: mamba2} in the pattern");
    check_block(c, has_kind(m, TSIM_MIXING_SHARED), m->shared.blocks > 0, "shared", "shared",
                "shared: {blocks: 2, adapter_rank: 128} and {kind: shared} in the pattern");
    if (a->heads == 0)
        return;
    a->head_dim = a->head_dim ? a->head_dim : 64;
    a->state = a->state ? a->state : 128;
    a->groups = a->groups ? a->groups : 8;
    a->kernel = a->kernel ? a->kernel : 4;
    a->chunk = a->chunk ? a->chunk : 128;
    if (a->heads % a->groups != 0)
        FAIL_AT(c, "mamba", "heads %lld is not a multiple of groups %lld", (long long)a->heads, (long long)a->groups);
}

static void finish_mamba1(const struct tsim_checked *c, struct tsim_model *m) {
    struct tsim_mamba1 *a = &m->mamba1;
    check_block(c, has_kind(m, TSIM_MIXING_MAMBA1), a->width > 0, "mamba1", "mamba1",
                "mamba1: {width: 5120} and {kind: mamba1} in the pattern");
    if (a->width == 0)
        return;
    a->state = a->state ? a->state : 16;
    a->step_rank = a->step_rank ? a->step_rank : (m->hidden + 15) / 16;
    a->kernel = a->kernel ? a->kernel : 4;
}

static void finish_delta(const struct tsim_checked *c, struct tsim_model *m) {
    struct tsim_delta *a = &m->delta;
    check_block(c, has_kind(m, TSIM_MIXING_DELTA), a->value_heads > 0, "gated-delta", "delta",
                "delta: {value_heads: 32, key_heads: 16} and {kind: gated-delta} in the pattern");
    if (a->value_heads == 0)
        return;
    a->key_heads = a->key_heads ? a->key_heads : a->value_heads;
    a->key_dim = a->key_dim ? a->key_dim : 128;
    a->value_dim = a->value_dim ? a->value_dim : 128;
    a->kernel = a->kernel ? a->kernel : 4;
    a->chunk = a->chunk ? a->chunk : 64;
    if (a->value_heads % a->key_heads != 0)
        FAIL_AT(c, "delta", "value_heads %lld is not a multiple of key_heads %lld", (long long)a->value_heads,
                (long long)a->key_heads);
}

/* Sizes that are not said are those of attention. */
static void finish_lightning(const struct tsim_checked *c, struct tsim_model *m) {
    struct tsim_lightning *a = &m->lightning;
    if (!has_kind(m, TSIM_MIXING_LIGHTNING)) {
        if (a->heads > 0)
            tsim_diag_hint(FAIL_AT(c, "lightning", "no layer is of kind lightning"),
                           "{kind: lightning} in the pattern");
        *a = (struct tsim_lightning){0};
        return;
    }
    a->heads = a->heads ? a->heads : m->heads;
    a->head_dim = a->head_dim ? a->head_dim : m->head_dim;
    a->chunk = a->chunk ? a->chunk : 256;
}

static void finish_index(const struct tsim_checked *c, struct tsim_model *m) {
    struct tsim_index *a = &m->index;
    check_block(c, has_kind(m, TSIM_MIXING_SPARSE), a->heads > 0, "sparse", "index",
                "index: {heads: 64, head_dim: 128, tokens: 2048} and {kind: sparse} in the pattern");
    if (a->heads == 0)
        return;
    a->head_dim = a->head_dim ? a->head_dim : 128;
    a->tokens = a->tokens ? a->tokens : 2048;
    if (!m->causal || m->parallel_block)
        FAIL_AT(c, "index", "an index picks earlier tokens, in layers whose blocks follow each other");
}

static void finish_diffusion(const struct tsim_checked *c, struct tsim_model *m) {
    struct tsim_diffusion *d = &m->diffusion;
    bool is_there = false, is_joint = false, others = m->n_pattern == 0;
    for (size_t i = 0; i < m->n_pattern; i++) {
        bool joint = m->pattern[i].kind == TSIM_MIXING_JOINT || m->pattern[i].kind == TSIM_MIXING_LAST_JOINT;
        bool diffuses = joint || m->pattern[i].kind == TSIM_MIXING_MODULATED;
        is_there |= diffuses;
        is_joint |= joint;
        others |= !diffuses || m->pattern[i].feed_forward != TSIM_FOLLOWING_AUTO;
    }
    if (is_there != (d->values > 0) || (is_there && others)) {
        tsim_diag_hint(
            FAIL_AT(
                c, "diffusion", "%s",
                !is_there ? "no layer is of kind modulated or joint"
                : others
                    ? "a diffusion transformer cannot have layers of other kinds, and its layers have no feed_forward"
                    : "layers of kind modulated or joint need 'diffusion'"),
            "pattern: [{kind: modulated}] with diffusion: {values: 16}, for example");
        return;
    }
    if (!is_there)
        return;
    d->out_values = d->out_values ? d->out_values : d->values;
    d->frequencies = d->frequencies ? d->frequencies : 256;
    d->text_products = d->text_products ? d->text_products : 1;
    if ((d->text_tokens > 0) != (d->text_width > 0) || (is_joint && d->text_tokens == 0))
        tsim_diag_hint(FAIL_AT(c, "diffusion", "%s",
                               d->text_tokens > 0 || d->text_width > 0 ? "text_tokens and text_width come together"
                                                                       : "joint layers are of an image and a text"),
                       "for example {text_tokens: 154, text_width: 4096}");
    if (d->text_products > 2)
        FAIL_AT(c, "diffusion.text_products", "%lld is neither 1 nor 2", (long long)d->text_products);
    if (is_joint && d->shared_modulation)
        tsim_diag_hint(FAIL_AT(c, "diffusion.shared_modulation", "joint layers have products of their own"),
                       "shared_modulation: false");
    if (m->causal || m->experts.count > 0 || m->latent.kv_rank > 0 || m->parallel_block || m->image.patch > 0 ||
        m->encoder_layers > 0 || m->tied_embeddings || m->gated_mlp || m->output_gate || m->post_norms)
        tsim_diag_hint(FAIL_AT(c, "diffusion",
                               "causal, gated_mlp, experts, latent, image, encoder_layers, tied_embeddings, "
                               "parallel_block, output_gate and post_norms are for other models"),
                       "causal: false");
}

/* Says what is wrong with its sizes; false: something is. */
static bool check_tower(const struct tsim_checked *c, const struct tsim_model *m) {
    const struct tsim_tower *t = &m->tower;
    const char *what = NULL, *hint = "";
    if (t->layers + 1 >= m->layers)
        what = "the model's layers count the tower's and the projector, and leave none for the language model",
        hint = "layers: 56 for a tower of 23 layers, the projector and a language model of 32";
    else if (t->hidden == 0 || t->heads == 0 || (!t->head_dim && t->hidden % t->heads != 0))
        what = "hidden and heads are missing, or do not divide", hint = "for example hidden: 1024, heads: 16";
    else if (t->image.patch == 0 || t->image.size == 0 || t->image.size % t->image.patch != 0)
        what = "the image's size is no multiple of its patch", hint = "image: {size: 336, patch: 14}, for example";
    else if (t->merge > 0 && t->image.size / t->image.patch % t->merge != 0)
        what = "the patches of a side do not divide into squares", hint = "size: a multiple of patch x merge";
    else if (t->products > 4)
        what = "a projector has 1 to 4 products", hint = "products: 2";
    else if (t->gated_projector && t->products < 3)
        what = "gated_projector is for projectors of three or four products", hint = "products: 3";
    else if (t->full_every > 0 && t->attention_window == 0)
        what = "full_every is for towers with an attention_window", hint = "leave it out";
    else if (!m->causal || m->encoder_layers > 0 || m->image.patch > 0 || m->diffusion.values > 0)
        what = "image, encoder_layers, diffusion and causal: false are for other models",
        hint = "a decoder of language";
    if (what)
        tsim_diag_hint(FAIL_AT(c, "tower", "%s", what), "%s", hint);
    return !what;
}

/* Turns `full_every` into a pattern. */
void tsim_tower_finish(struct tsim_arena *arena, struct tsim_model *m) {
    struct tsim_tower *t = &m->tower;
    t->image.channels = t->image.channels ? t->image.channels : 3;
    t->image.tokens = image_tokens(&t->image);
    t->images = t->images ? t->images : 1;
    t->merge = t->merge ? t->merge : 1;
    t->products = t->products ? t->products : 2;
    t->inner = t->inner ? t->inner : m->hidden;
    t->second_inner = t->second_inner ? t->second_inner : t->inner;
    t->projectors = t->projectors ? t->projectors : 1;
    t->ffn_hidden = t->ffn_hidden ? t->ffn_hidden : 4 * t->hidden;
    t->head_dim = t->head_dim ? t->head_dim : t->hidden / t->heads;
    struct tsim_model *network = TSIM_NEW(arena, struct tsim_model);
    *network = (struct tsim_model){.name = m->name,
                                   .source = m->source,
                                   .layers = t->layers,
                                   .hidden = t->hidden,
                                   .heads = t->heads,
                                   .kv_heads = t->heads,
                                   .head_dim = t->head_dim,
                                   .ffn_hidden = t->ffn_hidden,
                                   .gated_mlp = t->gated_mlp,
                                   .bias = t->bias,
                                   .norm = t->norm,
                                   .image = t->image,
                                   .other_parameters = t->other_parameters,
                                   .position = t->positions ? TSIM_POSITION_LEARNED : TSIM_POSITION_ROPE,
                                   .positions = t->positions ? t->image.tokens : 0,
                                   .attention_window = t->attention_window,
                                   .window_chunks = true};
    if (t->full_every > 0) {
        struct tsim_layer_entry *entries = TSIM_NEW_ARRAY(arena, 2, struct tsim_layer_entry);
        entries[0] = (struct tsim_layer_entry){.kind = TSIM_MIXING_WINDOW, .count = t->full_every - 1};
        entries[1] = (struct tsim_layer_entry){.kind = TSIM_MIXING_ATTENTION, .count = 1};
        network->pattern = t->full_every > 1 ? entries : entries + 1;
        network->n_pattern = t->full_every > 1 ? 2 : 1;
        network->pattern_length = t->full_every;
    }
    t->network = network;
}

static void finish_tower(const struct tsim_checked *c, struct tsim_model *m) {
    if (m->tower.layers > 0 && check_tower(c, m))
        tsim_tower_finish(c->reader->arena, m);
    else
        m->tower = (struct tsim_tower){0};
}

/* Checks Transformer-XL's keys and the rows that the head's tokens meet. */
static void finish_memory(const struct tsim_checked *c, struct tsim_model *m) {
    struct tsim_head_rows *rows = &m->head_rows;
    bool is_there = false;
    for (size_t i = 0; i < m->n_pattern; i++)
        is_there |= m->pattern[i].kind == TSIM_MIXING_SEGMENT;
    check_block(c, is_there, m->memory > 0, "segment", "memory",
                "memory: 192 and pattern: [{kind: segment}], for example");
    if (is_there && (m->latent.kv_rank > 0 || m->output_gate || m->qk_norm || m->kv_heads != m->heads || !m->causal))
        tsim_diag_hint(
            FAIL_AT(c, "memory", "latent, output_gate, qk_norm, kv_heads and causal: false are for other models"),
            "leave them out");
    bool is_wrong = rows->each > m->vocab || rows->each + rows->tail > m->vocab + rows->clusters + 1 ||
                    (rows->each == 0 && (rows->tail > 0 || rows->clusters > 0 || rows->tail_frac > 0)) ||
                    (rows->tail > 0) != (rows->tail_frac > 0) || (rows->clusters > 0 && rows->tail == 0);
    if (is_wrong)
        tsim_diag_hint(FAIL_AT(c, "head_rows", "more rows than vocab has, a tail without tail_share, or no 'each'"),
                       "{each: 20000, tail: 60000, tail_share: 0.05, clusters: 3}, for example");
    if (rows->tail > 0 && rows->clusters == 0)
        rows->clusters = 1;
    if (is_wrong)
        *rows = (struct tsim_head_rows){0};
}

/* Checks that a recurrent network has no keys of attention. */
static void finish_recurrent(const struct tsim_checked *c, const struct tsim_model *m) {
    bool is_wrong = m->n_pattern > 0 || m->attention_window > 0 || m->experts.count > 0 || m->latent.kv_rank > 0 ||
                    m->image.patch > 0 || m->diffusion.values > 0 || m->tower.layers > 0 || m->generator.layers > 0 ||
                    m->norm != TSIM_NORM_PLAIN || m->position != TSIM_POSITION_NONE || m->parallel_block ||
                    m->encoder_layers == 1 || m->layers - m->encoder_layers < 2;
    if (m->recurrent && is_wrong)
        tsim_diag_hint(FAIL_AT(c, "recurrent",
                               "LSTM cells have norm: plain and position: none, at least two layers in each "
                               "stack, and no keys of attention or experts"),
                       "models/architectures/gnmt.yaml is one");
}

/* Makes the generator a model of its own: an encoder like the model's, except for its sizes. */
static void finish_generator(const struct tsim_checked *c, struct tsim_model *m) {
    struct tsim_generator *g = &m->generator;
    const char *what = NULL, *hint = "";
    if (g->layers == 0) {
        *g = (struct tsim_generator){0};
        return;
    }
    if (g->layers + 1 >= m->layers)
        what = "the model's layers count the generator's and its head, and leave none for the discriminator",
        hint = "layers: 25 for a generator of 12, its head and a discriminator of 12";
    else if (g->hidden == 0 || g->heads == 0 || g->hidden % g->heads != 0)
        what = "hidden and heads are missing, or do not divide", hint = "for example hidden: 256, heads: 4";
    else if (m->causal || m->n_pattern > 0 || m->encoder_layers > 0 || m->image.patch > 0 || m->experts.count > 0 ||
             m->tower.layers > 0 || m->diffusion.values > 0 || m->attention_window > 0)
        what = "generators are for encoders of text whose layers are alike", hint = "causal: false, without a pattern";
    if (what) {
        tsim_diag_hint(FAIL_AT(c, "generator", "%s", what), "%s", hint);
        *g = (struct tsim_generator){0};
        return;
    }
    g->ffn_hidden = g->ffn_hidden ? g->ffn_hidden : 4 * g->hidden;
    g->masked_frac = g->masked_frac > 0 ? g->masked_frac : 0.15;
    struct tsim_model *network = TSIM_NEW(c->reader->arena, struct tsim_model);
    *network = *m;
    network->generator = (struct tsim_generator){0};
    network->layers = g->layers;
    network->hidden = g->hidden;
    network->heads = network->kv_heads = g->heads;
    network->head_dim = g->hidden / g->heads;
    network->ffn_hidden = g->ffn_hidden;
    g->network = network;
}

/* Checks which layers have a window, and that a window is given for them. */
static void finish_pattern(const struct tsim_checked *c, struct tsim_model *m) {
    bool has_windows = m->n_pattern == 0;
    for (size_t i = 0; i < m->n_pattern; i++) {
        m->pattern_length += m->pattern[i].count;
        has_windows |= m->pattern[i].kind == TSIM_MIXING_WINDOW;
        if (m->pattern[i].feed_forward == TSIM_FOLLOWING_EXPERTS && m->experts.count == 0)
            tsim_diag_hint(FAIL_AT(c, "pattern", "layers with experts, of which there are none"),
                           "give their number in experts: {count: ..., active: ...}");
    }
    if (m->n_pattern > 0 && has_windows && m->attention_window == 0)
        tsim_diag_hint(LACK_AT(c, "pattern", "layers of kind window need 'attention_window'"),
                       "set attention_window to the number of tokens that such a layer attends to");
    if (!has_windows && m->attention_window > 0)
        tsim_diag_hint(FAIL_AT(c, "attention_window", "the pattern has no layer of kind window"),
                       "pattern: [{kind: window, count: 5}, {kind: attention}], for example");
    if (m->window_chunks && m->attention_window == 0)
        FAIL_AT(c, "window_chunks", "there are no chunks without an attention_window");
    if (m->encoder_layers > 0 && (m->n_pattern > 0 || m->attention_window > 0))
        FAIL_AT(c, "encoder_layers", "pattern and attention_window are for models of one stack in this version");
    if (m->post_norms && m->parallel_block)
        FAIL_AT(c, "post_norms", "blocks side by side (parallel_block) cannot have a norm behind each");
    if (m->sinks && m->latent.kv_rank > 0)
        FAIL_AT(c, "sinks", "this version does not combine this with latent attention");
}

static void finish_model(const struct tsim_checked *c, struct tsim_model *m) {
    finish_image(c, m);
    finish_stacks(c, m);
    finish_variants(c, m);
    if (!m->head_dim && m->hidden % m->heads != 0)
        tsim_diag_hint(FAIL_AT(c, "heads", "hidden %lld is not a multiple of heads %lld", (long long)m->hidden,
                               (long long)m->heads),
                       "give head_dim where it is not hidden / heads");
    m->kv_heads = m->kv_heads ? m->kv_heads : m->heads;
    m->head_dim = m->head_dim ? m->head_dim : m->hidden / m->heads;
    m->ffn_hidden = m->ffn_hidden ? m->ffn_hidden : 4 * m->hidden;
    if (m->kv_heads > m->heads || m->heads % m->kv_heads != 0)
        tsim_diag_hint(FAIL_AT(c, "kv_heads", "heads %lld is not a multiple of kv_heads %lld", (long long)m->heads,
                               (long long)m->kv_heads),
                       "every key and value head serves the same number of query heads");
    if (m->position == TSIM_POSITION_LEARNED && !m->positions)
        tsim_diag_hint(LACK_AT(c, "position", "learned positions need 'positions'"),
                       "positions: the rows of the table, the longest sequence that the model takes");
    if (m->position != TSIM_POSITION_LEARNED && m->positions) {
        WARN_AT(c, "positions", "this has no effect, because the positions are not learned");
        m->positions = 0;
    }
}

static void finish_experts(const struct tsim_checked *c, struct tsim_model *m) {
    struct tsim_experts *e = &m->experts;
    if (e->count && (e->active < 1 || e->active > e->count))
        tsim_diag_hint(
            FAIL_AT(c, "experts.active", "%lld of %lld experts active", (long long)e->active, (long long)e->count),
            "active is between 1 and count");
    if (!e->count) {
        *e = (struct tsim_experts){0};
        return;
    }
    e->ffn_hidden = e->ffn_hidden ? e->ffn_hidden : m->ffn_hidden;
    e->every = e->every ? e->every : 1;
    if (m->parallel_block)
        FAIL_AT(c, "parallel_block", "a layer with experts cannot have parallel blocks");
    if (e->first + e->every > m->layers)
        tsim_diag_hint(FAIL_AT(c, "experts",
                               "no layer has experts: %lld layers, first %lld, "
                               "every %lld",
                               (long long)m->layers, (long long)e->first, (long long)e->every),
                       "first + every is at most the number of layers");
    if (e->capacity_factor > 0 && e->imbalance_frac > 0)
        WARN_AT(c, "experts.imbalance",
                "this has no effect, because a capacity_factor makes the buffers of all experts equally long");
    if (e->capacity_factor > 0 && e->capacity_factor * (double)e->active > (double)e->count)
        tsim_diag_hint(FAIL_AT(c, "experts.capacity_factor",
                               "a buffer of %g times the mean is longer than all tokens together", e->capacity_factor),
                       "at most count / active = %g", (double)e->count / (double)e->active);
}

/* ---- by kind ---- */

/* Returns whether the model is a list of layers: cnn and mlp are, and dlrm becomes one. */
static bool is_list(const struct tsim_value *mapping, bool *is_dlrm) {
    const struct tsim_value *kind = tsim_value_find(mapping, "kind");
    *is_dlrm = tsim_value_is_text(kind, "dlrm");
    return *is_dlrm || tsim_value_is_text(kind, "cnn") || tsim_value_is_text(kind, "mlp");
}

struct tsim_table tsim_model_list_table(struct tsim_key keys[TSIM_MOST_LIST_KEYS], bool is_dlrm) {
    size_t n = is_dlrm ? TSIM_N_DLRM_KEYS : TSIM_N_LIST_KEYS;
    keys[0] = (struct tsim_key)SCHEMA_KEY(MODEL_SCHEMA);
    keys[1] = (struct tsim_key)NAME_KEY(struct tsim_model);
    keys[2] = (struct tsim_key){.key = "kind",
                                .kind = TSIM_KEY_ENUM,
                                .offset = offsetof(struct tsim_model, kind),
                                .words = MODEL_KINDS,
                                .help = "family of architectures"};
    keys[3] = (struct tsim_key)SOURCE_KEY(struct tsim_model);
    memcpy(keys + 4, is_dlrm ? tsim_dlrm_keys : tsim_list_keys, n * sizeof *keys);
    return (struct tsim_table){.keys = keys, .n_keys = 4 + n};
}

static void read_list_model(struct tsim_reader *reader, const struct tsim_value *mapping, const char *path,
                            bool is_dlrm, struct tsim_model *model) {
    struct tsim_key keys[TSIM_MOST_LIST_KEYS];
    struct tsim_table table = tsim_model_list_table(keys, is_dlrm);
    tsim_schema_read(reader, &table, mapping, path, model);
}

/* Layers of a list, all counts together; an entry without one is one layer, and what is wrong is said elsewhere. */
static long long layers_of(const struct tsim_value *list) {
    long long layers = 0;
    for (size_t i = 0; i < list->n_items; i++) {
        const struct tsim_value *count = tsim_value_find(list->items[i], "count");
        long long n = count && count->kind == TSIM_VALUE_SCALAR ? strtoll(count->text, NULL, 10) : 1;
        layers += n > 0 && n <= 100000 ? n : 1;
    }
    return layers > 0 ? layers : 1;
}

/* A list under `layers` is a pattern that occurs once, and gives the number of layers. */
static const struct tsim_value *with_pattern(struct tsim_reader *reader, const struct tsim_value *mapping,
                                             const char *path) {
    const struct tsim_pair *layers = tsim_value_find_pair(mapping, "layers");
    if (!layers || layers->value->kind != TSIM_VALUE_SEQUENCE)
        return mapping;
    struct tsim_pair *pairs = TSIM_NEW_ARRAY(reader->arena, mapping->n_items + 1, struct tsim_pair);
    memcpy(pairs, mapping->pairs, mapping->n_items * sizeof *pairs);
    pairs[mapping->n_items] = *layers;
    pairs[mapping->n_items].key = "pattern";
    pairs[layers - mapping->pairs].value = tsim_value_new_scalar(
        reader->arena, layers->value, tsim_arena_printf(reader->arena, "%lld", layers_of(layers->value)));
    if (tsim_value_find(mapping, "pattern"))
        tsim_value_error(reader->diags, TSIM_ERR_INFEASIBLE, layers->value,
                         tsim_schema_path(reader->arena, path, "layers"),
                         "layers is a list, which is a pattern already");
    return tsim_value_new_mapping(reader->arena, mapping, pairs, mapping->n_items + 1);
}

static void read_transformer(struct tsim_reader *reader, const struct tsim_value *mapping, const char *path,
                             struct tsim_model *model) {
    tsim_schema_read(reader, &tsim_model_table, with_pattern(reader, mapping, path), path, model);
    if (mapping && !tsim_value_find(mapping, "vocab") && !tsim_value_find(mapping, "diffusion"))
        tsim_diag_hint(tsim_value_error(reader->diags, TSIM_ERR_SCHEMA, mapping, "", "missing key '%s'",
                                        tsim_schema_path(reader->arena, path, "vocab")),
                       "vocab: rows of the embedding table; of a model of images its classes");
}

void tsim_model_read_mapping(struct tsim_reader *reader, const struct tsim_value *mapping, const char *path,
                             struct tsim_model *model) {
    bool is_dlrm;
    if (is_list(mapping, &is_dlrm))
        read_list_model(reader, mapping, path, is_dlrm, model);
    else
        read_transformer(reader, mapping, path, model);
}

void tsim_model_finish(const struct tsim_checked *c, struct tsim_model *model) {
    bool is_dlrm;
    if (is_list(c->mapping, &is_dlrm)) {
        (is_dlrm ? tsim_dlrm_finish : tsim_layer_list_finish)(c, model);
        return;
    }
    finish_model(c, model);
    finish_experts(c, model);
    finish_pattern(c, model);
    finish_mamba(c, model);
    finish_mamba1(c, model);
    finish_delta(c, model);
    check_block(c, has_kind(model, TSIM_MIXING_SHORT), model->short_convolution.kernel > 0, "short-convolution",
                "short_convolution", "short_convolution: {kernel: 3} and {kind: short-convolution} in the pattern");
    finish_lightning(c, model);
    finish_index(c, model);
    finish_diffusion(c, model);
    finish_tower(c, model);
    finish_memory(c, model);
    finish_generator(c, model);
    finish_recurrent(c, model);
}

void tsim_model_write_members(struct tsim_writer *writer, const char *path, const struct tsim_model *model) {
    struct tsim_key keys[TSIM_MOST_LIST_KEYS];
    struct tsim_table table =
        model->list ? tsim_model_list_table(keys, model->kind == TSIM_MODEL_DLRM) : tsim_model_table;
    tsim_writer_table(writer, &table, path, model);
}
