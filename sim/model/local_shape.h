/* local_shape.h - the sizes of a layer's tensors on one accelerator, after division by tensor and context
 * parallelism. */
#pragma once

#include "config/scenario.h"

/* The sizes are those on one accelerator; local_shape.c explains the symbols. */
struct tsim_op_shape {
    const struct tsim_scenario *scenario;
    const struct tsim_model *model;
    const struct tsim_software *software;
    double tp, cp, b, s, t, ts, h;
    double window;               /* keys of a window, or of a chunk; 0: all keys, also if the window is longer */
    double sk, tk;               /* keys that queries meet: tokens of a sample, and of the micro-batch on this rank */
    double query, key, value, q; /* widths on this rank of queries, keys, values and attention's result */
    double input;         /* width of what attention's first product takes: h, if nothing stands beside the stream */
    double gate;          /* width on this rank of the gate of attention's result; 0: no gate */
    double heads;         /* query heads on this rank */
    double f;             /* inner width of the feed-forward block */
    double groups;        /* equal products in a grouped one: experts; else 1 */
    double element_bytes; /* of an element of activations */
    double mask_bytes;    /* of dropout's mask, per element; 0 without dropout */
    enum tsim_precision attention_precision, linear_precision;
    double linear_bytes;   /* per element of a linear layer's operands */
    double gradient_bytes; /* per element of the buffer in which weight gradients accumulate */
    bool sequence_parallel, flash, causal;
    bool is_chunk;   /* the window is a piece of the sequence, or a sample of a pack, and does not slide */
    bool sums_later; /* attention's result is added to that of a block beside it, and then reduced */
    bool is_alone;   /* the layer is a mixer, or what follows one, with one norm and residual */
    bool is_biased;  /* scores have a learned bias */
    bool is_routed;  /* its tokens are rows of routed experts */
};

/* These return the sizes in a model's first stack of layers, and in its last one. They are the same if there is one
 * stack. */
struct tsim_op_shape tsim_op_shape_first(const struct tsim_scenario *scenario);
struct tsim_op_shape tsim_op_shape_last(const struct tsim_scenario *scenario);
/* Returns the bytes of a micro-batch's residual stream on one context rank, over all tensor ranks. In an
 * encoder-decoder model it is that of both stacks: the decoder's input travels with the encoder's tokens (both
 * embeddings are looked up on the first stage), and the encoder's result with the decoder's tokens. */
double tsim_stream_bytes(const struct tsim_scenario *scenario);
/* Fills in the sizes of all stacks, first to last, and returns their number. */
enum { TSIM_MAX_STACKS = 2 };
int tsim_op_stacks(const struct tsim_scenario *scenario, struct tsim_op_shape *shapes);

/* Returns the values that one layer keeps of each token in the cache of keys and values on this rank. With latent
 * attention these are the latent vector and the rotated key, which all heads share (DeepSeek-V2, arXiv:2405.04434,
 * section 2.1). */
double tsim_cached_width(const struct tsim_op_shape *shape);
/* Returns the width that latent attention expands keys, without their rotated part, and values to. */
double tsim_expanded_width(const struct tsim_op_shape *shape);
/* Returns the shape of products that are whole on every tensor rank, for its own tokens. */
struct tsim_op_shape tsim_own_tokens(const struct tsim_op_shape *shape);

/* These return the width of a head's query and key, and that of its value: head_dim, but more for query and key with
 * latent attention. */
double tsim_model_key_dim(const struct tsim_model *model);

/* Returns the number of products side by side that a feed-forward block begins with; a gated block has two. */
double tsim_model_up_products(const struct tsim_model *model);

/* Returns the number of a token's experts over that of all experts; 0 without experts. */
double tsim_active_frac(const struct tsim_model *model);

/* Returns the number of stacks. A stack is layers that work on sequences of one length; an encoder and its decoder are
 * two, each with an embedding and a final norm. */
int tsim_model_stacks(const struct tsim_model *model);

/* Returns whether it is a diffusion transformer. */
bool tsim_model_diffuses(const struct tsim_model *model);
/* Returns whether it works on patches of an image or a video. Both ends are then products that are whole on every
 * tensor rank. */
bool tsim_model_is_of_patches(const struct tsim_model *model);

/* These return the patches of a vision transformer's image and the values in one of them. */
double tsim_model_patches(const struct tsim_model *model);
double tsim_model_patch_values(const struct tsim_model *model);

/* Returns the tokens of a sample on which the last layers work: the decoder's, if there is one. */
double tsim_last_length(const struct tsim_scenario *scenario);

/* Returns the vocabulary's rows on each tensor rank, padded to a multiple of 128 x tensor as Megatron does. For a model
 * of images it returns the classes, because its classifier and its projection of patches are whole on every tensor rank
 * (Megatron-LM, vit_backbone.py). */
double tsim_padded_vocab_per_rank(const struct tsim_scenario *scenario);
/* Returns the columns of the head's product on one tensor rank: those rows, or the ones that a token meets
 * (head_rows). */
double tsim_head_columns(const struct tsim_scenario *scenario);
/* Returns the tokens of a micro-batch on one context rank that reach the head and the loss: all of them, the masked
 * ones (head_frac: BERT, Devlin et al. 2018, appendix A.2, 20 of 128), or an image's class token. */
double tsim_head_tokens(const struct tsim_scenario *scenario);
