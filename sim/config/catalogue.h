/* catalogue.h - what a catalogue file becomes: models, accelerators, nodes, fabrics, regions, storage and software
 * profiles, typed and in SI units. Everything here is const once read. Units are in the names; `_frac` is 0..1.
 *
 * A value in a hardware file is either a scalar or {value: ..., source: ..., status: read|derived|estimate}. A scalar
 * takes the file's own `source:`. Sources are kept beside the value for `tsim show` (schema.h). */
#pragma once

#include "base/arena.h"
#include "base/quantity.h"

#include <stdint.h>

enum tsim_precision { TSIM_FP32, TSIM_TF32, TSIM_FP16, TSIM_BF16, TSIM_FP8, TSIM_MXFP8, TSIM_NVFP4, TSIM_N_PRECISIONS };

/* Returns whether the precision is one of linear layers alone, whose operands are quantized before each product.
 * Attention, the head, gradients and what passes between layers then stay in bf16. */
static inline bool tsim_is_quantized(enum tsim_precision precision) {
    return precision >= TSIM_FP8;
}
static inline enum tsim_precision tsim_unquantized(enum tsim_precision precision) {
    return tsim_is_quantized(precision) ? TSIM_BF16 : precision;
}
/* Returns whether tensor collectives can run in chunks beside their product. Kernels for that exist in every precision
 * but NVFP4, whose recipes turn it off (NVIDIA-NeMo/Megatron-Bridge scripts/performance/configs/llama:
 * tp_comm_overlap). */
static inline bool tsim_has_tensor_overlap(enum tsim_precision precision) {
    return precision != TSIM_NVFP4;
}
/* Returns the bytes of an operand's element with its share of the scales. MXFP8 has a scale of 8 bits for 32 elements
 * (OCP Microscaling Formats 1.0, section 5), NVFP4 one of 8 bits for 16 (NVIDIA 2025, arXiv:2509.25149, section 2). */
double tsim_operand_bytes(enum tsim_precision precision);

/* ---- model (models/architectures, schema tsim/model/v1) ---- */
enum tsim_model_kind { TSIM_MODEL_TRANSFORMER, TSIM_MODEL_CNN, TSIM_MODEL_MLP, TSIM_MODEL_DLRM };
enum tsim_norm { TSIM_NORM_LAYERNORM, TSIM_NORM_RMSNORM, TSIM_NORM_PLAIN /* a layer norm without scale and shift */ };
enum tsim_activation_function {
    TSIM_ACTIVATION_AUTO, /* relu in lists of layers, silu in gated feed-forward blocks, gelu elsewhere */
    TSIM_ACTIVATION_RELU,
    TSIM_ACTIVATION_GELU,
    TSIM_ACTIVATION_SILU,
    TSIM_ACTIVATION_SIGMOID,
    TSIM_ACTIVATION_TANH
};
enum tsim_position {
    TSIM_POSITION_LEARNED,
    TSIM_POSITION_ROPE,
    TSIM_POSITION_ALIBI,
    TSIM_POSITION_RELATIVE, /* a learned bias of each score, by distance and head (T5) */
    TSIM_POSITION_NONE
};

struct tsim_experts {
    int64_t count; /* 0: a dense model, and nothing else counts */
    int64_t active, ffn_hidden, shared;
    int64_t first, every; /* layer l (from 0) has experts where l >= first and (l - first + 1) % every == 0 */
    int64_t latent; /* routed experts work on a vector of this width, projected before and behind; 0: on the token */
    int64_t node_limit;     /* nodes from which a token may choose experts; 0: all */
    bool router_bias;       /* each expert has a correction that is added to its score (DeepSeek-V3) */
    bool limited;           /* gate and other half are clamped before the activation (gpt-oss) */
    double imbalance_frac;  /* coefficient of variation of the experts' popularity, beyond chance */
    double capacity_factor; /* rows of an expert's padded buffer over the mean; 0: no padding */
    bool is_even;           /* set by tsim (model/executed.c), not by a file: all experts get equal rows */
};

/* Multi-head latent attention (DeepSeek-V2): queries, and keys with values, are expanded from short latent vectors. The
 * query and the key of a head are nope_dim + rope_dim wide. The rope_dim part holds positions, and the keys of all
 * heads share it. The value is head_dim wide. */
struct tsim_latent {
    int64_t kv_rank;    /* 0: ordinary attention, and nothing else counts */
    int64_t query_rank; /* 0: queries are projected from the residual stream */
    int64_t rope_dim;
    int64_t nope_dim; /* 0: as head_dim */
};

/* The layers of a transformer may differ in how they mix the tokens, and in what follows the mixer. */
enum tsim_mixing {
    TSIM_MIXING_ATTENTION, /* attention to all tokens, or to all earlier ones */
    TSIM_MIXING_WINDOW,    /* attention to the nearest tokens: attention_window */
    TSIM_MIXING_MAMBA,     /* a state-space recurrence, computed by products: `mamba` */
    TSIM_MIXING_MAMBA1,    /* a state-space recurrence, computed by a scan: `mamba1` */
    TSIM_MIXING_DELTA,     /* linear attention by the gated delta rule: `delta` */
    TSIM_MIXING_SHORT,     /* a short convolution between two gates: `short_convolution` */
    TSIM_MIXING_LIGHTNING, /* linear attention with fixed decays: `lightning` */
    TSIM_MIXING_BESIDE,    /* heads of attention and of Mamba-2 side by side: `mamba` */
    TSIM_MIXING_SHARED,    /* a block that layers share, before Mamba-2: `shared`, `mamba` */
    TSIM_MIXING_SEGMENT,   /* attention to the last segment as well: `memory` */
    TSIM_MIXING_SPARSE,    /* attention to the tokens that `index` picks */
    TSIM_MIXING_MODULATED, /* attention of a diffusion transformer: `diffusion` */
    TSIM_MIXING_JOINT,     /* the same, where image and text share a sequence and have weights of their own */
    TSIM_MIXING_LAST_JOINT,
    TSIM_MIXING_NONE /* no mixer: what follows it stands alone */
};
enum tsim_following { /* AUTO: as `experts` says; NONE: the mixer stands alone */
                      TSIM_FOLLOWING_AUTO,
                      TSIM_FOLLOWING_DENSE,
                      TSIM_FOLLOWING_EXPERTS,
                      TSIM_FOLLOWING_NONE
};
struct tsim_layer_entry {
    enum tsim_mixing kind;
    enum tsim_following feed_forward;
    int64_t count; /* the entry stands for this many layers in a row */
};

/* Mamba-2 (Dao and Gu 2024, arXiv:2405.21060). Each head is head_dim wide and has a state of head_dim x state values,
 * which all heads of a group write and read with the same vectors. */
struct tsim_mamba {
    int64_t heads; /* 0: the model has no such layer, and nothing else counts */
    int64_t head_dim, state, groups;
    int64_t kernel;  /* width of the convolution before it, in tokens */
    int64_t chunk;   /* tokens that are worked on together, as products */
    bool plain_gate; /* the result is gated without a norm (Falcon-H1) */
};

/* Blocks of attention and feed-forward that layers share, each with a product of its own behind (Zamba2; Glorioso et al.
 * 2024, arXiv:2411.15242). */
struct tsim_shared {
    int64_t blocks;       /* layers take them in turn; 0: the model has none */
    int64_t adapter_rank; /* of what each layer adds to the first product of the feed-forward block; 0: nothing */
};

/* Mamba-1 (Gu and Dao 2023, arXiv:2312.00752). Each channel has a state of its own. */
struct tsim_mamba1 {
    int64_t width; /* channels; 0: the model has no such layer, and nothing else counts */
    int64_t state, step_rank;
    int64_t kernel; /* width of the convolution before it, in tokens */
    bool norms;     /* step sizes and the vectors that write and read states are normalized (Jamba) */
};

/* A convolution over a few tokens, each channel for itself, between two gates (LFM2; Liquid AI 2025,
 * arXiv:2511.23404). */
struct tsim_short_convolution {
    int64_t kernel; /* width in tokens; 0: the model has no such layer, and nothing else counts */
    bool bias;      /* the convolution and both products have biases */
};

/* The gated delta rule (Yang et al. 2024, arXiv:2412.06464). There are key heads, for queries and keys, and value
 * heads, each with a state of key_dim x value_dim values. */
struct tsim_delta {
    int64_t value_heads; /* 0: the model has no such layer, and nothing else counts */
    int64_t key_heads, key_dim, value_dim;
    /* Each channel has a decay and a gate, computed by way of a vector of this width (Kimi Linear); 0: each head has a
     * decay. */
    int64_t gate_rank;
    bool full_gate; /* only the decays are by way of vectors of gate_rank */
    int64_t kernel; /* width of the convolution before it, in tokens */
    int64_t chunk;  /* tokens that are worked on together, as products */
};

/* Lightning attention (Qin et al. 2024, arXiv:2405.17381): linear attention whose heads forget at fixed rates, each
 * with a state of head_dim x head_dim values. */
struct tsim_lightning {
    int64_t heads; /* 0: the model has no such layer, and nothing else counts */
    int64_t head_dim;
    int64_t chunk; /* tokens that are worked on together, as products */
    bool rotary;   /* queries and keys are rotated (Ling); else all three go through an activation (MiniMax-01) */
};

/* The index chooses the keys that a query meets (DeepSeek-V3.2): its own small heads score all earlier keys. */
struct tsim_index {
    int64_t heads; /* 0: the model has no index, and nothing else counts */
    int64_t head_dim;
    int64_t tokens; /* keys that are picked for a query, those with the highest scores */
};

/* A diffusion transformer takes noisy values of a grid of latent pixels, one token for each patch, and predicts what is
 * to be taken away (sim/model/layer_diffusion.c). */
struct tsim_diffusion {
    int64_t values; /* values of a token at the input; 0: no such model, and nothing else counts */
    int64_t out_values;
    int64_t frequencies; /* values that encode the moment of diffusion */
    /* One product makes shifts, scales and gates for all layers, each of which adds a table to them; otherwise each
     * layer has a product. */
    bool shared_modulation;
    int64_t text_tokens, text_width, text_products; /* 0: the model takes no text */
    int64_t pooled_width;                           /* width of a vector that stands for the whole text; 0: none */
};

/* A vision transformer cuts an image into patches, one token each, behind a class token. */
struct tsim_image {
    int64_t patch; /* pixels of a patch's side; 0: a model of tokens, and nothing else counts */
    int64_t size, channels;
    int64_t tokens;     /* of an image, with the class token */
    bool patches_alone; /* there is no class token */
    bool unbiased;      /* the product that patches go through has no bias */
};

/* A vision transformer whose patches become tokens of a language model, by way of a projector
 * (sim/model/layer_tower.c). The model's first layers are the tower's, and the next one is the projector. */
struct tsim_tower {
    int64_t layers; /* 0: the model has no tower, and nothing else counts */
    int64_t hidden, heads, head_dim, ffn_hidden, other_parameters;
    /* Every full_every-th layer attends to the whole image, the others to windows of attention_window. */
    int64_t attention_window, full_every;
    bool gated_mlp, bias, positions, frozen;
    enum tsim_norm norm;
    struct tsim_image image;
    int64_t images;              /* images of a sample */
    int64_t merge;               /* patches on the side of a square that becomes one token */
    bool pools;                  /* the mean of the square becomes the token, not all of its values */
    int64_t products;            /* products of the projector: 1 to 4 */
    int64_t inner, second_inner; /* its widths behind the first of several and before the last of three or four */
    bool gated_projector;        /* the product to second_inner has a gate beside it */
    int64_t projectors;          /* projectors side by side, of the results of as many layers (DeepStack) */
    bool unbiased_projector;
    const struct tsim_model *network; /* the tower as a model of its own */
};

/* A small encoder that is trained beside the model and fills in masked tokens, which the model then judges (ELECTRA;
 * sim/model/layer_generator.c). The model's first layers are the generator's, and the next one is the generator's
 * head. */
struct tsim_generator {
    int64_t layers; /* 0: the model has no generator, and nothing else counts */
    int64_t hidden, heads, ffn_hidden;
    double masked_frac;               /* masked part of the tokens */
    const struct tsim_model *network; /* the generator as a model of its own */
};

/* The rows of the table that a token meets in the head, if these are not all rows. */
struct tsim_head_rows {
    int64_t each; /* rows that every token meets; 0: all rows, and nothing else counts */
    int64_t tail; /* mean rows of a cluster; a rare token also meets one cluster's rows */
    int64_t clusters;
    double tail_frac; /* part of the tokens that meet a cluster */
};

/* A model of kind cnn or mlp is a list of layers. These are its entries as a file has them. */
enum tsim_entry_kind {
    TSIM_ENTRY_CONV,
    TSIM_ENTRY_TRANSPOSED,
    TSIM_ENTRY_LINEAR,
    TSIM_ENTRY_MAX_POOL,
    TSIM_ENTRY_AVERAGE_POOL,
    TSIM_ENTRY_BOTTLENECK,
    TSIM_ENTRY_INVERTED
};
struct tsim_list_entry {
    enum tsim_entry_kind kind;
    int64_t out, kernel, stride, padding, groups, width, repeat;
    int64_t expand, squeeze; /* of an inverted block (layer_list_keys.c) */
    bool bias, norm, fixed_norm, relu, frozen;
    const char *name, *from, *join, *add; /* of results (layer_list_keys.c) */
};

/* The operators of a list once its entries are expanded. A linear layer is a product on an image of one pixel. Areas
 * are height x width. */
enum tsim_list_kind {
    TSIM_LIST_PRODUCT,
    TSIM_LIST_NORM,
    TSIM_LIST_FIXED_NORM, /* its factors and sums are constants */
    TSIM_LIST_RELU,
    TSIM_LIST_ADD,
    TSIM_LIST_ENLARGE, /* each pixel becomes several */
    TSIM_LIST_JOIN,    /* the channels of a second image come behind those of the first */
    TSIM_LIST_SCALE,   /* each channel of an image is multiplied by a factor of its own */
    TSIM_LIST_MAX_POOL,
    TSIM_LIST_AVERAGE_POOL,
    TSIM_LIST_TABLES,      /* all embedding tables of a recommendation model */
    TSIM_LIST_INTERACTION, /* the dot products of all pairs of `groups` vectors */
    TSIM_LIST_CROSS        /* the first vector times this one, plus the one before */
};
struct tsim_list_layer {
    enum tsim_list_kind kind;
    int32_t block; /* 0 .. model->layers - 1; blocks correspond to the layers of other models */
    int64_t in, out, in_area, out_area, kernel_area, stride, groups;
    bool has_bias, is_first; /* is_first: its input needs no gradient */
    bool is_frozen;          /* it is not trained, and nothing before it is */
    bool is_shared;          /* its weights are those of a product before it */
    bool is_kept;            /* a product before it keeps its input */
    bool is_elsewhere;       /* its input, or what an addition adds to it, is not the result of the layer before it */
    bool adds_gradient;      /* an earlier layer takes its input, too, and the gradients of both are added here */
    bool is_result;          /* no layer takes its result, but a loss */
    bool is_part;            /* its entry works on several images, whose results one loss judges side by side */
    bool is_bottom;          /* it works on a recommendation model's numbers before they meet the vectors */
    bool is_transposed;      /* the convolution goes from the smaller image to the larger one */
    bool is_judge;           /* it belongs to the discriminator of a GAN (model/layer_list.h) */
};

/* A model of kind dlrm has embedding tables beside its list. Its file gives widths in place of layers. */
struct tsim_embedding_table {
    int64_t rows, dim;
    int64_t pooling; /* rows that a sample looks up */
    double skew;     /* exponent of Zipf's law; 0: all rows are equally popular */
};
enum { TSIM_MAX_WIDTHS = 64, TSIM_MAX_MTP_MODULES = 4 };
struct tsim_widths {
    size_t n;
    int64_t width[TSIM_MAX_WIDTHS];
};

struct tsim_model {
    const char *name, *source;
    enum tsim_model_kind kind;
    int64_t layers, hidden, heads, kv_heads, head_dim, ffn_hidden, vocab;
    int64_t encoder_layers; /* so many of `layers`, the first, are an encoder, the others its decoder; 0: one stack */
    int64_t mtp_layers;     /* so many of `layers`, the last, predict further tokens (multi-token prediction) */
    int64_t mtp_modules;    /* which have so many further tokens; a module of each is mtp_layers / mtp_modules layers */
    int64_t positions;      /* rows of the learned position table; 0 unless position is learned */
    int64_t relative_buckets; /* distances that have a bias for every head; 0 unless position is relative */
    int64_t attention_window; /* tokens that a window layer attends to, itself included; 0: no layer has a window */
    bool window_chunks;       /* windows are chunks of the sequence: a token attends to its own chunk (Llama 4) */
    bool sinks;               /* softmax has one more score for each head, a learned one (gpt-oss) */
    bool output_gate; /* a product of the layer's input, as wide as queries, gates attention's result (Qwen3-Next) */
    /* The kinds of layers in order, repeated from the first layer on. Without a pattern all layers have attention, or
     * all have windows. */
    const struct tsim_layer_entry *pattern;
    size_t n_pattern;
    int64_t pattern_length; /* in layers */
    bool gated_mlp, tied_embeddings, bias, causal;
    bool approximate;    /* parts of the model stand for others, which tsim does not have */
    bool post_norms;     /* norms follow attention and the feed-forward block, beside those before them (Gemma 2) */
    bool parallel_block; /* attention and the feed-forward block stand side by side, behind one norm */
    bool recurrent;      /* layers are LSTM cells; with an encoder, those of GNMT */
    bool parallel_norms; /* attention and the feed-forward block stand side by side, each behind a norm */
    bool qkv_bias;       /* queries, keys and values have biases even if other products have none (Qwen2) */
    bool qk_norm;        /* each head's query and key are normed, with scales that heads share (Qwen3) */
    bool wide_qk_norm;   /* the norms of queries and keys go over all heads together (OLMo 2, Wan) */
    bool pooler;         /* the first token goes through a product of hidden x hidden beside the head (BERT) */
    double rotary_frac;  /* part of each head that is rotated; 0: all of it */
    bool rotary_scaled;  /* queries and keys are scaled when they are rotated: YaRN's attention factor is not 1 */
    double head_frac;    /* part of the tokens that reach the head and the loss: the masked ones (BERT); 0: all */
    int64_t other_parameters; /* all others (a head's bias, a transform before it, ...); held with the embedding */
    struct tsim_image image;
    enum tsim_norm norm;
    enum tsim_activation_function activation;
    enum tsim_position position;
    struct tsim_experts experts;
    struct tsim_latent latent;
    struct tsim_mamba mamba;
    struct tsim_shared shared;
    struct tsim_mamba1 mamba1;
    struct tsim_delta delta;
    struct tsim_short_convolution short_convolution;
    struct tsim_lightning lightning;
    struct tsim_index index;
    struct tsim_diffusion diffusion;
    struct tsim_tower tower;
    struct tsim_generator generator;
    struct tsim_head_rows head_rows;
    int64_t memory;                                    /* tokens of the last segment that segment layers attend to */
    int64_t input_channels, input_height, input_width; /* a sample of a cnn or mlp */
    const struct tsim_embedding_table *tables;
    size_t n_tables;
    struct tsim_widths bottom_mlp, top_mlp;
    int64_t cross_layers, cross_rank;               /* of a recommendation model, in place of dot products; 0: none */
    const struct tsim_list_entry *entries, *judges; /* the list's, and those of a GAN's discriminator behind it */
    const struct tsim_list_layer *list;             /* NULL: a transformer */
    size_t n_entries, n_judges, n_list;
    bool has_branches;   /* a layer of the list takes another result than that of the layer before it */
    int64_t first_block; /* a pipeline's stage (tsim_stage_part) begins with this block */
};
/* Fills in the defaults of the model's tower, and makes the tower a model of its own (files/model_tables.c). */
void tsim_tower_finish(struct tsim_arena *arena, struct tsim_model *model);

/* ---- accelerator (hardware/accelerators, schema tsim/accelerator/v1) ---- */

/* This is how programs run on the accelerator. Every kind but the GPU runs a step that is compiled as a whole: no host
 * launches kernels, element-wise chains are one kernel, and engines beside the compute units move collectives. */
enum tsim_execution {
    TSIM_EXECUTION_LAUNCHED,         /* the host launches kernel after kernel: GPU */
    TSIM_EXECUTION_COMPILED,         /* TPU, Trainium, Gaudi */
    TSIM_EXECUTION_BULK_SYNCHRONOUS, /* IPU: supersteps of compute, synchronize, exchange; nothing overlaps */
    TSIM_EXECUTION_WEIGHT_STREAMING /* CS-2: activations stay, weights stream in layer by layer, gradients stream out */
};

/* The things that a compute unit multiplies at once (cost/compute.h): a tile of a GPU's kernels (NONE), or the content
 * of an array of multipliers. In the array either the weights stay and rows stream past them, or a square of results
 * stays and the operands stream past. */
enum tsim_stationary { TSIM_STATIONARY_NONE, TSIM_STATIONARY_WEIGHTS, TSIM_STATIONARY_OUTPUTS };

/* The generation selects the row of the collective library's tuning tables. */
enum tsim_generation { TSIM_VOLTA, TSIM_AMPERE, TSIM_HOPPER, TSIM_BLACKWELL, TSIM_N_GENERATIONS };

/* Generations of flash attention that an accelerator has rates for. */
enum tsim_flash { TSIM_FLASH1, TSIM_FLASH2, TSIM_FLASH3, TSIM_FLASH_CUDNN, TSIM_FLASH_SPLASH, TSIM_N_FLASH };

/* A kernel of flash attention. Ramps are in tokens, and in elements of a head (cost/compute.h). */
struct tsim_flash_kernel {
    double ramp, causal_ramp;
    double head_ramp; /* 0: it has none, but a rate of its own for small heads */
    /* Rate with heads of 64 elements or fewer over that with larger ones, and of a forward pass over that of a backward
     * pass; 0: alike. */
    double small_heads, causal_small_heads, forward_over_backward;
    double tile_queries;
};

/* Tiles for which libraries have kernels. Those of 128 x 256 are like those of 256 x 128. */
enum tsim_tile { TSIM_TILE_256_128, TSIM_TILE_128_128, TSIM_TILE_128_64, TSIM_TILE_64_64, TSIM_N_TILES };

/* Constants of libraries' kernels (cost/compute.h). */
struct tsim_kernels {
    double tile_reuse[TSIM_N_TILES]; /* rate over that of the largest tile */
    double unaligned_frac;           /* rate of unaligned products over that of aligned ones */
    double unaligned_vector_frac;    /* the same without matrix units, over that of fp32 */
    double row_scales_frac;          /* rate with scales of rows over that with one scale */
    double winograd_frac;            /* rate of Winograd's convolutions over that of their products alone */
    double winograd_weights_frac;    /* the same for gradients of weights */
    double issued_per_cycle;         /* instructions of a compute unit */
    struct tsim_flash_kernel flash[TSIM_FLASH_SPLASH], triton; /* splash attention has constants of its own */
    double triton_over_flash1; /* rate of Triton's kernel over that of FlashAttention-1 */
    double splash_masked_frac, splash_start_cycles, splash_backward_over_forward;
};

/* Constants of NCCL's tuning model that depend on the generation (cost/nccl_tables.h has the others). */
struct tsim_nccl {
    double latency_factor; /* time of kernels and hops on a node over that of NCCL's tables, which are Hopper's */
    double ll_bytes_per_s; /* the most bus bandwidth of LL on one node */
    double tree_channel_bytes_per_s;   /* of one channel of a tree, on more than two nodes */
    double tree_channel_2_bytes_per_s; /* on two nodes */
    double plateau;                    /* slowdown of a ring's hops between nodes that wait for each other */
    double channels;                   /* of a collective on one node */
    double fast_nic_channels;          /* channels for a fast NIC over those for another */
    double nvls_channels, nvls_channels_nodes;
};

struct tsim_accelerator {
    const char *name, *vendor, *source;
    const char *device; /* the word for one of them: "GPU", "TPU"; NULL: tsim_device_word says "accelerator" */
    const char *kubernetes_resource; /* under which a device plugin offers them; NULL: not known */
    const char *software;            /* id of its own software's profile; NULL: that of GPUs */
    int64_t year;
    int64_t compute_units; /* SMs, CUs or cores, over which waves of tiles are counted */
    int64_t cores; /* each has its share of the compute units, and goes through blocks of attention by itself; 0: one */
    int64_t dies;  /* devices in the package; above 1 the entry is the package, and programs run on its dies */
    enum tsim_execution execution;
    double compute_capability; /* NVIDIA's; 0: another maker's accelerator */
    enum tsim_generation nccl_generation;
    struct tsim_nccl nccl;
    enum tsim_stationary array_stationary;
    int64_t array_side;          /* multipliers on the side of a compute unit's array; 0: it has none */
    double exchange_bytes_per_s; /* bulk synchronous: between the units' memories, over all units */
    double clock_hz;             /* the clock at which the peaks are stated */
    double memory_bytes, memory_bytes_per_s, cache_bytes;
    double peak_flops_per_s[TSIM_N_PRECISIONS]; /* dense matrix peak; 0: it lacks this precision */
    double vector_flops_per_s;                  /* fp32 outside the matrix units */
    /* Calibrated values: one set for each accelerator, few of them, each with a physical meaning (cost/compute.h). */
    /* Part of the peak that large products reach in the long run (power, clocks). */
    double matrix_sustained_frac[TSIM_N_PRECISIONS];
    double memory_sustained_frac; /* part of memory_bytes_per_s that element-wise kernels reach */
    double fp8_gradients_frac;    /* rate of products that promote sums to fp32 on the way, over others'; 0: equal */
    /* Part of the time of a sum's traffic that shows beside the product that adds to it. */
    double accumulation_exposed_frac;
    double grouped_products_frac; /* rate of grouped products over that of one product; 0: equal */
    double matrix_ramp_k;     /* depth K at which half of a tile's time is start-up, in 16 bits: eff = K / (K + ramp) */
    double speed_spread_frac; /* coefficient of variation of the sustained matrix rates between specimens */
    /* These are parts of the peak, for long sequences, forward and backward. For cuDNN's kernel 0 means as flash3. */
    double attention_frac[TSIM_N_FLASH];
    double wide_heads_frac;     /* part of cuDNN's rate for heads of over 128 elements; 0: by the ramp */
    double fp8_attention_ratio; /* cuDNN's rate in fp8 over that in 16 bits; 0: equal */
    double kernel_latency_s;    /* time of the shortest kernel, and what each kernel adds to its roofline time */
    struct tsim_kernels kernels;
    double power_idle_w, power_limit_w;
    double power_cap_w; /* below the limit, it lowers clocks (cost/compute.h); 0: no cap */
    /* The power that each part adds at full use, over (limit - idle). */
    double power_compute_frac, power_memory_frac, power_link_frac;
    double rent_usd_per_s, purchase_usd;
    double reserved_usd_per_s;          /* the price under a contract of a year; 0: not known */
    double price_spread;                /* sellers' prices are within this factor of the above in eight of ten cases */
    double usable_memory_reserve_bytes; /* for driver, context and communicators, not available to tensors */
    const struct tsim_known_as *known_as; /* what files of others call it; NULL: not said */
    /* For a copy that is the slowest of several (cluster/variation.h): the accelerator that it is a copy of; else
     * NULL. */
    const struct tsim_accelerator *mean;
    double slowest_of;
};

static inline const char *tsim_device_word(const struct tsim_accelerator *accelerator) {
    return accelerator->device ? accelerator->device : "accelerator";
}

/* ---- node (hardware/nodes, schema tsim/node/v1) ---- */
enum tsim_scale_up {
    TSIM_SCALE_UP_NONE,
    TSIM_SCALE_UP_SWITCH,    /* every accelerator has a port on switches that join all of them */
    TSIM_SCALE_UP_MESH,      /* each two accelerators have a link */
    TSIM_SCALE_UP_PCIE,      /* a tree of slots, switches with an uplink, and sockets with a link between each two */
    TSIM_SCALE_UP_CUBE_MESH, /* 8 accelerators with 6 links each: the hybrid cube mesh of DGX-1V */
};

struct tsim_node {
    const char *name, *source;
    const struct tsim_accelerator *accelerator;
    int64_t accelerators; /* of a node */
    enum tsim_scale_up scale_up;
    const char *scale_up_name;          /* a name for people: "NVLink4" */
    double scale_up_bytes_per_s;        /* of an accelerator in each direction, on the wire */
    double scale_up_ring_bytes_per_s;   /* bus bandwidth that a ring over the whole node reaches, measured */
    double scale_up_reduce_bytes_per_s; /* bus bandwidth when the switch reduces (NVLS); 0: it cannot */
    double scale_up_latency_s;          /* of a hop, in hardware */
    /* PCIe trees: accelerators below one switch, whose uplink they share (0: none share one), and on one socket (0:
     * there is one socket), with the rate through each in one direction. */
    int64_t accelerators_per_switch, accelerators_per_socket;
    double switch_uplink_bytes_per_s, socket_link_bytes_per_s;
    int64_t nics;
    bool nics_on_accelerator;     /* true: NIC traffic does not cross the accelerator's slot to its host */
    double nic_bytes_per_s;       /* of a NIC in each direction, on the wire */
    double host_link_bytes_per_s; /* PCIe, of an accelerator in each direction */
    double host_time_factor;      /* multiplies software profiles' host times, which are those of x86 hosts */
    int64_t host_cores;
    double host_memory_bytes;
    double host_memory_bytes_per_s; /* peak of all sockets; 0: not known */
    double power_overhead_w;        /* loaded CPUs, NICs, fans and switches: the node without its accelerators */
    double power_overhead_idle_w;
    double power_limit_w;     /* the most that the node draws, measured or by the nameplate */
    double purchase_usd;      /* of the whole node; 0: accelerators x their price */
    const char *usual_fabric; /* an id (tsim_usual_fabric in recognize.h); NULL: not said */
    bool is_usual;            /* tsim_usual_node (recognize.h) finds it for its kind of scale-up */
    double mtbf_s;            /* between interruptions of one node, by any cause; 0: not counted for this node */
};

/* ---- fabric (hardware/fabrics, schema tsim/fabric/v1) ---- */
enum tsim_topology_kind {
    TSIM_TOPOLOGY_CROSSBAR, /* only the ports' own links limit traffic: non-blocking, or well routed */
    TSIM_TOPOLOGY_FAT_TREE,
    TSIM_TOPOLOGY_TORUS, /* links between accelerators, in place of scale-up links and NICs */
    TSIM_TOPOLOGY_DRAGONFLY
};
enum tsim_routing {
    TSIM_ROUTING_ECMP,    /* each pair of ports keeps to one of the equal paths, chosen by hash */
    TSIM_ROUTING_ADAPTIVE /* traffic spreads evenly over the equal paths */
};

/* A tier of a fat tree is its switches, and the `ports` node ports that can reach each other without going higher. */
struct tsim_tier {
    int64_t ports;
    double oversubscription; /* traffic that can come from below, over what the uplinks carry */
};

struct tsim_fabric {
    const char *name, *source;
    const char *vendor;          /* maker of the accelerators that alone have its ports; NULL: any */
    bool is_usual;               /* one of those from which tsim_usual_fabric (recognize.h) chooses */
    double link_bytes_per_s;     /* of a port in each direction, on the wire; it caps a node's NIC */
    double efficiency_frac;      /* part of the wire that long transfers reach (protocol, congestion control) */
    double latency_s;            /* of a message, end to end, without software */
    double oversubscription;     /* >= 1; 1 is non-blocking */
    double power_w_per_port;     /* share of switches and optics of one accelerator's port */
    int64_t switch_ports;        /* ports of a switch that it is built of; 0: not known */
    double switch_usd, link_usd; /* price of such a switch, and of a cable with the optics at both ends; 0: not known */
    bool is_unordered;           /* bytes of a message may arrive in any order, so no protocol may mark them by flags */
    bool reduces;                /* switches sum what NICs send them (SHARP) */
    enum tsim_topology_kind topology;
    enum tsim_routing routing; /* of fat trees and dragonflies */
    const struct tsim_tier *tiers;
    size_t n_tiers;
    bool rails; /* each switch of the lowest tier takes the same port of many nodes */
    /* Torus: a dimension that is a multiple of `wrap` closes to a ring; with 0 none does. */
    int64_t torus_dimensions, torus_wrap;
    bool torus_wraps_together; /* it is made of cubes: dimensions close only if all are multiples of `wrap` */
    /* Dragonfly (Kim et al. 2008): each router of a group has p ports and h global links, and all routers of a group
     * are linked. */
    int64_t dragonfly_ports, dragonfly_routers, dragonfly_local_links, dragonfly_global_links;
};

/* ---- region (hardware/regions, schema tsim/region/v1): what its electricity costs and emits ---- */
/* A profile has one value for each hour and repeats: 24 values are a day, 168 a week, 8,760 a year. */
enum { TSIM_PROFILE_MOST_HOURS = 8784 };
struct tsim_hourly {
    const double *values; /* in SI units, >= 0 */
    size_t n_hours;       /* 0: there is no profile, and the value is constant */
};
struct tsim_region {
    const char *name, *source;
    const char *place;      /* for people */
    double carbon_kg_per_j; /* CO2 equivalent of the grid's mix */
    double price_usd_per_j; /* 0: not known */
    struct tsim_hourly carbon_profile, price_profile;
};

/* ---- storage (hardware/storage, schema tsim/storage/v1): what training data are read from ----
 *
 * A reader (a worker) asks for one piece after another. Each piece takes latency_s and then flows at stream_bytes_per_s
 * at most. All readers of a node together get client_bytes_per_s, and all readers of the system its bandwidth, of which
 * reading in random order leaves random_access_frac. */
struct tsim_storage {
    const char *name, *source;
    const char *place;            /* for people */
    double bandwidth_bytes_per_s; /* reading in order; of each node's own storage, or of all if it is shared */
    double random_access_frac;
    double latency_s;          /* of one request */
    double stream_bytes_per_s; /* of one reader at most; 0: no limit */
    double client_bytes_per_s; /* of one node at most, if it is shared; 0: no limit */
    bool is_shared;            /* all nodes share it */
};

/* ---- software profile (models/software, schema tsim/software/v1) ---- */
enum tsim_attention_kernel {
    TSIM_ATTENTION_UNFUSED,
    TSIM_ATTENTION_FUSED_SOFTMAX,
    TSIM_ATTENTION_FLASH_TRITON,
    TSIM_ATTENTION_FLASH1,
    TSIM_ATTENTION_FLASH2,
    TSIM_ATTENTION_FLASH3,
    TSIM_ATTENTION_CUDNN,
    TSIM_ATTENTION_SPLASH
};
/* Tokens of the blocks of queries and of keys that JAX's splash attention computes whole, whatever is masked in them
 * (splash_attention_kernel.py, BlockSizes); 0: the whole sequence is one. */
struct tsim_attention_blocks {
    int64_t queries, keys, backward_queries, backward_keys;
};
/* The first returns which of the accelerator's attention rates the kernel runs at; standard kernels run at
 * FlashAttention-2's. The second returns the rate's key below efficiency.attention. */
enum tsim_flash tsim_flash_of(const struct tsim_accelerator *accelerator, enum tsim_attention_kernel kernel);
/* Returns whether the rate of that kernel is known. */
bool tsim_has_flash(const struct tsim_accelerator *accelerator, enum tsim_attention_kernel kernel);
const char *tsim_flash_name(enum tsim_flash flash);

/* Copies that software makes between the projection of queries, keys and values, attention's kernels and the projection
 * of their result (model/operators_layout.c):
 *   IN_PLACE        none: kernels take and give what projections do
 *   SPLIT           one product makes all three, and their gradients are joined (PyTorch's chunk and split;
 *                   mosaicml/llm-foundry, layers/attention.py)
 *   GROUPED         as SPLIT, but gradients that lie side by side are taken as they are, and grouped queries are
 *                   brought together (NVIDIA/Megatron-LM, megatron/core/transformer/attention.py,
 *                   get_query_key_value_tensors; Transformer Engine, attention.py, _SplitAlongDim); FlashAttention-2
 *                   takes and gives samples first
 *   SEQUENCE_FIRST  as SPLIT; standard attention's result is copied from heads first, a flash kernel's operands and
 *                   result to and from samples first (NVIDIA/Megatron-LM of 2021 to 2023,
 *                   megatron/model/transformer.py: permute, rearrange)
 *   PACKED          as SEQUENCE_FIRST, but a flash kernel takes all three in one tensor (EleutherAI/gpt-neox of 2023,
 *                   megatron/model/transformer.py; huggingface/nanotron, models/llama.py)
 *   HEADS_FIRST     each of the three, and the result, is copied (torch.matmul of permuted tensors:
 *                   NVIDIA/DeepLearningExamples, BERT)
 *   REPEATED        three products; grouped keys and values are copied for every query head, and their gradients summed
 *                   (pytorch/torchtitan of 2024, models/llama/model.py, repeat_kv) */
enum tsim_attention_layout {
    TSIM_LAYOUT_IN_PLACE,
    TSIM_LAYOUT_SPLIT,
    TSIM_LAYOUT_GROUPED,
    TSIM_LAYOUT_SEQUENCE_FIRST,
    TSIM_LAYOUT_PACKED,
    TSIM_LAYOUT_HEADS_FIRST,
    TSIM_LAYOUT_REPEATED
};
/* Rotary positions are applied as `fusion` says, in one pass or written out (BY_FUSION); in one pass, whatever `fusion`
 * says (FUSED); as complex numbers of fp32 (torchtitan, apply_rotary_emb: view_as_complex, for which torch.compile
 * generates no code); or as products with matrices of 2 x 2 in fp32 (foundation-model-stack, fms/modules/positions.py,
 * adjusted_qk). */
enum tsim_rotary { TSIM_ROTARY_BY_FUSION, TSIM_ROTARY_FUSED, TSIM_ROTARY_COMPLEX, TSIM_ROTARY_MATRIX };
/* The heads of latent attention are put together from parts with and without positions: in the kernel that rotates
 * (Megatron-Core, fusions/fused_mla_yarn_rope_apply.py; compilers), or by torch.cat on parts that lie apart. */
enum tsim_latent_heads { TSIM_LATENT_HEADS_FUSED, TSIM_LATENT_HEADS_JOINED };
/* A gated feed-forward block's first two matrices are either two products, whose input gradients are added (torchtitan,
 * transformers), or one product, whose result is split and its gradients joined (nanotron). It matters only if nothing
 * is fused. */
enum tsim_gate_products { TSIM_GATE_TWO, TSIM_GATE_ONE };
/* Norms are computed as `fusion` says, or by kernels of their own whatever it says: one forward and two backward; one
 * that reads each tensor once, backward, too; or Apex's, on a copy of the input in fp32. */
enum tsim_norm_kernels { TSIM_NORMS_BY_FUSION, TSIM_NORMS_FUSED, TSIM_NORMS_FUSED_FP32, TSIM_NORMS_ONE_PASS };

enum tsim_fusion { TSIM_FUSION_NONE, TSIM_FUSION_MEGATRON, TSIM_FUSION_TE, TSIM_FUSION_COMPILE };

struct tsim_overlap {
    bool gradients;       /* data-parallel reduction runs under the backward pass */
    bool parameters;      /* ZeRO's gather runs under the forward pass */
    bool tensor;          /* tensor-parallel gathers and scatters run beside their products (user buffers) */
    bool tensor_backward; /* the input gradient's tensor all-reduce runs under the weight gradient's product */
    bool pipeline;        /* sends and receives between stages are asynchronous */
    bool expert;          /* all-to-all of one micro-batch runs under kernels of another (DualPipe; Megatron-Core) */
};

enum tsim_expert_dispatch {
    TSIM_DISPATCH_ALL_TO_ALL, /* sends a copy of a token to each of its experts, in the activations' precision */
    TSIM_DISPATCH_PER_NODE,   /* sends one copy to each node, and from there one to each rank: DeepEP */
    TSIM_DISPATCH_BY_WIDTH    /* tensor ranks first exchange tokens for slices of their width, and send those */
};
enum tsim_interleaving { TSIM_INTERLEAVING_OF_PIPELINE, TSIM_INTERLEAVING_OF_ANY };
enum tsim_pipeline_overlap { TSIM_PIPELINE_OVERLAP_ALWAYS, TSIM_PIPELINE_OVERLAP_INTERLEAVED };

/* The gradients of one more micro-batch are added to the sum either by the weight gradient's product, which reads and
 * writes the sum, or by a kernel after it. */
enum tsim_accumulation { TSIM_ACCUMULATION_FUSED, TSIM_ACCUMULATION_SEPARATE };
/* ZeRO-1: each rank gets the sum of its shard alone, or, as without sharding, every rank gets all sums. */
enum tsim_gradient_reduction { TSIM_REDUCTION_SCATTER, TSIM_REDUCTION_ALL_REDUCE };
/* Gradients are reduced, and with ZeRO-1 and -2 parameters gathered, bucket by bucket, or tensor by tensor. */
enum tsim_data_pieces { TSIM_PIECES_BUCKET, TSIM_PIECES_TENSOR };
/* ZeRO-1 and -2: after the update all ranks gather their slices of one flat tensor, or each rank broadcasts the whole
 * tensors that it owns, one rank after the other. */
enum tsim_weight_return { TSIM_RETURN_GATHER, TSIM_RETURN_BROADCASTS };
enum tsim_gather_unit { TSIM_UNIT_LAYER, TSIM_UNIT_PRODUCT };
/* The units that compute a product whose rows are not a multiple of 16 bytes (cost/compute.h). */
enum tsim_unaligned_products { TSIM_UNALIGNED_MATRIX, TSIM_UNALIGNED_VECTOR };
/* Fully sharded training copies between parameters and the flat buffers of its collectives. FLAT: all gradients of a
 * unit are views of one tensor, joined, converted and divided before they are reduced. PER_PARAMETER: parameters are
 * copied out after each gather, gradients copied in and converted before each reduction. IN_PLACE: products work in the
 * buffers themselves, where gradients of 16 bits are divided. */
enum tsim_context_merge { TSIM_MERGE_AS_OPERANDS, TSIM_MERGE_FP32 };
enum tsim_shard_copies { TSIM_COPIES_FLAT, TSIM_COPIES_PER_PARAMETER, TSIM_COPIES_IN_PLACE, TSIM_COPIES_NONE };

enum tsim_recompute {
    TSIM_RECOMPUTE_NONE,
    TSIM_RECOMPUTE_SELECTIVE,
    TSIM_RECOMPUTE_FULL,
    TSIM_RECOMPUTE_SQRT,
    TSIM_RECOMPUTE_EVERY,
    TSIM_RECOMPUTE_LAYERS
};
/* `recompute: selective` executes one of these again if the scenario does not list parts: see scenario.h. */
enum tsim_selective { TSIM_SELECTIVE_ATTENTION, TSIM_SELECTIVE_OPERATORS };

/* The loss over the vocabulary is computed operator by operator, or by one kernel forward and one backward; as the
 * fusion of the other kernels says, in one with `te`. SHIFTED: operator by operator on a copy of the fp32 logits
 * without the last token's (huggingface/transformers before its loss functions of 2025, models/llama/modeling_llama.py:
 * shift_logits). */
enum tsim_cross_entropy {
    TSIM_LOSS_BY_FUSION,
    TSIM_LOSS_WRITTEN_OUT,
    TSIM_LOSS_FUSED,
    TSIM_LOSS_FUSED_FP32,
    TSIM_LOSS_SHIFTED
};

/* The scales of fp8 operands come from one of four places. DELAYED takes the largest values of earlier steps, so that
 * the kernel that makes a tensor can write it in fp8. CURRENT takes the tensor's own largest value, which one pass
 * finds before another one quantizes. BLOCK takes the largest value of each tile, found while it is quantized. ROWS
 * takes that of each row along the product's depth, so that a tensor of two products is quantized twice, with other
 * scales; what ranks send one another stays in 16 bits (torchao's recipe "rowwise"). */
enum tsim_fp8_scaling { TSIM_SCALING_DELAYED, TSIM_SCALING_CURRENT, TSIM_SCALING_BLOCK, TSIM_SCALING_ROWS };

/* Batch normalization and the activation behind it (model/layer_list.h) are computed in one of three ways. APART: in
 * passes of their own. SUMS_FUSED: the sums in the convolution that writes the input, and the rest in an addition if
 * one follows. FUSED: as SUMS_FUSED, and the rest in the convolution that reads the result. */
enum tsim_batch_norm { TSIM_BATCH_NORM_APART, TSIM_BATCH_NORM_SUMS_FUSED, TSIM_BATCH_NORM_FUSED };

/* Embedding tables (model/tables.h). The first says how they are dealt out to ranks: by CAPACITY, with those above an
 * even share cut by rows; WHOLE, as many to each rank; by LOOKUPS, with those in which most rows are looked up cut by
 * rows. The second says how rows get their gradients: from the vectors' at once (FUSED); as a tensor with a gradient
 * for each lookup (SPARSE); or first summed for each row (REDUCED). */
enum tsim_table_placement { TSIM_TABLES_BY_CAPACITY, TSIM_TABLES_WHOLE, TSIM_TABLES_BY_LOOKUPS, TSIM_TABLES_BY_NODES };
enum tsim_table_update { TSIM_UPDATE_FUSED, TSIM_UPDATE_SPARSE, TSIM_UPDATE_REDUCED };
enum tsim_bottom_mlp { TSIM_BOTTOM_REPLICATED, TSIM_BOTTOM_FIRST_RANK };

/* Bias and activation behind a product of a list, if they are fused, run in the product's kernel or in a pass of
 * their own. */
enum tsim_bias_activation { TSIM_BIAS_IN_PRODUCT, TSIM_BIAS_PASS };

/* Rows of tokens are brought into the order of their experts and back by one kernel each way, which also forms the
 * weighted sum of the experts' results, or operator by operator (layer_experts.c). */
enum tsim_expert_permutation { TSIM_PERMUTATION_FUSED, TSIM_PERMUTATION_WRITTEN_OUT, TSIM_PERMUTATION_PRODUCTS };
/* An expert's clamps and its last bias run in the kernels beside them, or as PyTorch's operators one after another. */
enum tsim_expert_epilogue { TSIM_EPILOGUE_FUSED, TSIM_EPILOGUE_WRITTEN_OUT };

/* Products of the experts of one rank run side by side, their tiles filling the compute units together; or one expert
 * after another (Megatron-Core's SequentialMLP), whose results are then copied to one tensor. */
enum tsim_expert_products { TSIM_PRODUCTS_GROUPED, TSIM_PRODUCTS_SEQUENTIAL };

/* Experts' rows lie one after another, and a kernel computes a tile of rows once for each expert that has some of it
 * (JAX, megablox/gmm.py, make_group_metadata). `devices` are those of an accelerator, each with rows of its own. */
struct tsim_expert_tiles {
    int64_t rows, weight_gradient_rows; /* 0: each expert's rows begin a tile */
    int64_t devices;
};

/* CUDA graphs capture nothing, the passes of each layer without experts (Megatron-Core's --enable-cuda-graph and
 * --external-cuda-graph), or the whole step. The host launches each graph at once. */
enum tsim_cuda_graphs { TSIM_GRAPHS_NONE, TSIM_GRAPHS_LAYERS, TSIM_GRAPHS_STEP };

/* A caveat warns users of a kind of parallelism of what tsim is known to miss of it in this software. NULL or an empty
 * text means that there is none. */
struct tsim_caveats {
    const char *tensor, *pipeline, *context;
};

/* Profiles of the catalogue that run what this one does not; NULL or empty: none is named. */
struct tsim_instead {
    const char *recommendation; /* models with embedding tables */
    const char *encoder_lamb;   /* encoders that LAMB trains */
    const char *newer;          /* accelerators above that compute capability or of later years; 0: all are run */
    double newest_capability;
    int64_t newest_year;
    const char *source;
};

/* The things that a software can run, as its profile says. Each member is a set of words, whose values are bits; 0
 * means that the profile says nothing, and nothing is checked. */
enum tsim_split {
    TSIM_SPLIT_DATA, /* every software has it */
    TSIM_SPLIT_TENSOR,
    TSIM_SPLIT_SEQUENCE,
    TSIM_SPLIT_PIPELINE,
    TSIM_SPLIT_UNEVEN_STAGES, /* stages may hold different numbers of layers */
    TSIM_SPLIT_CONTEXT,
    TSIM_SPLIT_EXPERT,
    TSIM_SPLIT_EXPERT_TENSOR,   /* experts may stay whole where the rest of a layer is split over tensor ranks */
    TSIM_SPLIT_PIPELINE_INSIDE, /* a pipeline's ranks may be neighbours, inside the replicas */
    TSIM_SPLIT_UNEVEN_ENDS      /* the first and the last stage may have other numbers of layers than those between */
};
enum tsim_offload { TSIM_OFFLOAD_OPTIMIZER, TSIM_OFFLOAD_ACTIVATIONS };
enum tsim_model_class { TSIM_MODELS_DENSE, TSIM_MODELS_WITH_EXPERTS };
struct tsim_supports {
    unsigned splits;            /* enum tsim_split */
    unsigned schedules;         /* enum tsim_schedule */
    unsigned zero, zero_staged; /* stages of ZeRO, and those that go with a pipeline (0: the same) */
    unsigned recompute;         /* enum tsim_recompute; sqrt and {every: N} are ways of full */
    unsigned recompute_parts;   /* enum tsim_recompute_part, whose values are bits; a search tries only these */
    unsigned offload;           /* enum tsim_offload; a search tries only these */
    unsigned precisions;        /* enum tsim_precision */
    unsigned sequence_needed; /* enum tsim_model_class: tensor ranks of such models always have sequence parallelism */
    struct tsim_overlap overlap; /* the software can hide these beside its own `overlap` */
    const char *source;
};
static inline bool tsim_is_in(unsigned set, int64_t value) {
    return set == 0 || (set >> value & 1);
}

/* The settings that the software has if a scenario does not name them. */
struct tsim_software_defaults {
    enum tsim_precision fp16_gradients, bf16_gradients; /* in training in fp16, and in bf16 or below */
    bool halves_sharded_gradients;                      /* with ZeRO-2 and -3 gradients have the training's 16 bits */
    enum tsim_recompute recompute;                      /* none, selective or full */
    int64_t zero, zero_staged;                          /* stage of ZeRO, and the one beside a pipeline */
    int64_t zero_group;                                 /* ranks that share, as parallelism.zero_group */
    bool sequence;                                      /* sequence parallelism, wherever tensor ranks can have it */
    int schedule;                                       /* enum tsim_schedule, for a pipeline with one chunk a stage */
    int optimizer;                                      /* enum tsim_optimizer */
    int context_exchange;                               /* enum tsim_context_exchange */
    const char *source;
};

/* The framework whose launch files start the job, in the words of its version (import/launches/launch_file.h). */
enum tsim_launch_kind {
    TSIM_LAUNCH_NONE,
    TSIM_LAUNCH_MEGATRON_2021,      /* --checkpoint-activations */
    TSIM_LAUNCH_MEGATRON_2022,      /* --recompute-granularity, --sequence-parallel, without Transformer Engine */
    TSIM_LAUNCH_MEGATRON_CORE,      /* and all versions since */
    TSIM_LAUNCH_MEGATRON_DEEPSPEED, /* --deepspeed --zero-stage beside DeepSpeed's JSON */
    TSIM_LAUNCH_NEMO,
    TSIM_LAUNCH_TORCHTITAN_2024, /* degrees in [training] and [experimental] */
    TSIM_LAUNCH_TORCHTITAN,      /* degrees in [parallelism], batches as global_batch_size */
    TSIM_LAUNCH_DEEPSPEED
};

struct tsim_software {
    const char *name, *source;
    enum tsim_launch_kind launch;
    struct tsim_supports supports;
    struct tsim_software_defaults defaults;
    struct tsim_caveats caveats;
    struct tsim_instead instead;
    bool for_gpus; /* accelerators with software of their own run that in its place */
    enum tsim_attention_kernel attention_kernel;
    struct tsim_attention_blocks attention_blocks; /* of a kernel that computes whole blocks */
    enum tsim_attention_layout attention_layout;
    enum tsim_rotary rotary;
    enum tsim_latent_heads latent_heads;
    enum tsim_norm_kernels norms;
    enum tsim_gate_products gate_products;
    enum tsim_fusion fusion;
    double dropout; /* part of the elements that are dropped; 0: no such kernels and masks */
    double host_time_per_op_s, host_time_per_collective_s, host_time_per_checkpoint_s;
    double host_time_per_sample_s; /* of the next batch, between a forward pass and its backward pass */
    double host_time_per_pass_s;   /* of an engine that generates, between two of its passes */
    /* Rate at which a new model is gathered, sent to the engines and loaded, over all of its weights; 0: the links
     * alone limit it. */
    double refit_bytes_per_s;
    /* Rates at which an accelerator copies to the host's memory and back; 0: those of its link. */
    double offload_bytes_per_s, onload_bytes_per_s;
    bool launch_blocking; /* the host waits for each kernel, whose time comes on top (CUDA_LAUNCH_BLOCKING=1) */
    double host_time_per_fp8_op_s; /* for training in fp8; 0: as in 16 bits */
    enum tsim_cuda_graphs cuda_graphs;
    bool checkpoint_early_stop;
    enum tsim_selective selective_recompute;
    enum tsim_cross_entropy cross_entropy;
    int64_t update_ops_per_tensor; /* launches that update one tensor; 0: a few kernels update all tensors */
    int64_t loss_metrics; /* metrics such as perplexity that each step computes from the logits, operator by operator */
    int64_t head_tokens;  /* tokens of each sample that the head takes at once; 0: all */
    double optimizer_traffic_bytes; /* bytes moved per parameter and step */
    struct tsim_overlap overlap;
    enum tsim_unaligned_products unaligned_products;
    enum tsim_accumulation accumulation;
    enum tsim_gradient_reduction gradient_reduction;
    enum tsim_data_pieces data_pieces;
    enum tsim_weight_return weight_return;
    enum tsim_gather_unit gather_unit; /* fully sharded: the unit that is gathered, and reduced, at once */
    enum tsim_shard_copies shard_copies;
    enum tsim_context_merge context_merge; /* how the results of a ring's pieces are added up */
    bool adapter_scale_inside; /* adapters scale A x, which is as wide as their rank, and not their result */
    bool restores_in_fp16;     /* quantized frozen weights come back in fp16, and are converted to bf16 */
    bool quantizes_head;       /* the head is quantized with the frozen weights of layers */
    bool recomputes_logits;    /* the logits of a piece of head_tokens are computed again backward, and none are kept */
    bool unties_embeddings;    /* embedding and head are two matrices, whatever the model says */
    bool fp32_scales;          /* scales of frozen weights in nf4 stay in fp32: they are not quantized in turn */
    bool quantized_keep_inputs;  /* products of quantized weights keep their inputs, which nothing needs */
    bool keeps_graph;            /* the graph of a micro-batch lives until the loss of the next */
    bool adapters_share_dropout; /* adapters of one product take one copy of its input, with dropout applied */
    bool sequence_copies;        /* gathered and scattered tokens are copied, because each sample is cut */
    enum tsim_pipeline_overlap pipeline_overlap; /* the schedules in which overlap.pipeline takes effect */
    enum tsim_interleaving interleaving;         /* the numbers of micro-batches that an interleaved schedule takes */
    enum tsim_expert_dispatch expert_dispatch;
    enum tsim_expert_permutation expert_permutation;
    enum tsim_expert_epilogue expert_epilogue;
    enum tsim_batch_norm batch_norm;
    enum tsim_table_placement table_placement;
    enum tsim_table_update table_update;
    enum tsim_bottom_mlp bottom_mlp;
    enum tsim_bias_activation bias_activation;
    bool fp32_tables;               /* embedding tables are in fp32, whatever the training's precision */
    double replicated_tables_bytes; /* every rank holds embedding tables that are smaller than this in fp32 */
    enum tsim_expert_products expert_products;
    struct tsim_expert_tiles expert_tiles; /* grouped products without a capacity */
    enum tsim_fp8_scaling fp8_scaling;
    bool fp8_dispatch;          /* training in fp8: tokens travel to experts in fp8 */
    bool fp8_attention;         /* training in fp8: attention reads and writes fp8 */
    bool bias_gradient_in_cast; /* training in fp8: passes that cast gradients also sum them for the bias */
    bool activation_in_product; /* the first product of an ungated feed-forward block applies the activation */
    bool fp8_activation_input;  /* training in fp8: inputs of the activation function are kept in fp8 */
    int64_t nics_used;          /* of a node; 0: all */
    int64_t data_blocks; /* compute units that a data-parallel collective holds at most; 0: the library's number */
    bool casts_weights;  /* fully sharded: 16-bit weights are made from the fp32 copy when they are gathered */
    bool reduces_once;   /* ZeRO-2 within a pipeline sums whole gradients and reduces them after the last micro-batch */
    bool keeps_gradients; /* gradients that are summed in fp32 are kept in the weights' precision as well */
    bool copies_buckets;  /* not fully sharded: gradients are copied into a bucket to be reduced, and back */
    bool converts_sums;   /* gradients summed in fp32 are converted all at once to be sent (flat_bytes) */
    /* attention's backward pass has one kernel for keys and values and one for queries. */
    bool splits_attention_backward;
    bool recomputes_inputs;         /* results of recomputed parts are not kept for the products that take them */
    bool keeps_outputs;             /* pipeline: what a stage sent on is kept until the micro-batch's backward pass */
    double flat_bucket_elements;    /* updates from flat tensors (flat_bytes in partition/memory.c); 0: none */
    double update_bytes;            /* bytes a parameter that an unfused update writes where activations were */
    double gather_reuse_parameters; /* fully sharded: see gathered_again_frac in step/step_plan.c; 0: no limit */
    double gather_ahead_parameters; /* product by product: see tsim_layer_product_places; 0: parallelism.prefetch */
    int64_t bucket_elements;        /* of a gradient bucket; 0: the framework's max(40e6, 1e6 x data-parallel size) */
    double bucket_bytes;            /* of a gradient bucket, in place of bucket_elements; 0: not said */
    int64_t year;                   /* of the youngest release that the profile describes; 0: not said */
};

static inline bool tsim_loss_is_fused(const struct tsim_software *software) {
    if (software->cross_entropy == TSIM_LOSS_BY_FUSION)
        return software->fusion == TSIM_FUSION_TE;
    return software->cross_entropy == TSIM_LOSS_FUSED || software->cross_entropy == TSIM_LOSS_FUSED_FP32;
}

/* ---- provenance, for `show` and for the estimates that a run uses ---- */
enum tsim_source_status { TSIM_SOURCE_READ, TSIM_SOURCE_DERIVED, TSIM_SOURCE_FITTED, TSIM_SOURCE_ESTIMATE };
