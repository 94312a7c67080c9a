/* local_shape.h - how large a layer's tensors are on one accelerator, divided by tensor and context parallelism. */
#ifndef TSIM_MODEL_LOCAL_SHAPE_H
#define TSIM_MODEL_LOCAL_SHAPE_H

#include "config/scenario.h"

/* local_shape.c explains the symbols. */
struct tsim_op_shape {
    const struct tsim_scenario *scenario;
    const struct tsim_model *model;
    const struct tsim_software *software;
    double tp, cp, b, s, t, ts, h;
    double window; /* of the nearest keys alone, or those of a chunk so long; 0: of all, as where it is longer */
    double sk, tk; /* of the keys that queries meet: tokens of a sample, of the micro-batch on this rank */
    double query, key, value, q; /* widths on this rank of queries, keys, values and the attention's result */
    double gate;                 /* width on this rank of the gate of attention's result; 0: none */
    double heads;                /* query heads on this rank */
    double f;                    /* inner width of the feed-forward block */
    double groups;               /* equal products that a grouped one is made of: experts; else 1 */
    double element_bytes;        /* activations */
    double mask_bytes;           /* of dropout, per element: 0 without dropout */
    enum tsim_precision attention_precision, linear_precision;
    double linear_bytes;   /* per element of a linear layer's operands */
    double gradient_bytes; /* of the buffer that weight gradients accumulate in */
    bool sequence_parallel, flash, causal;
    bool is_chunk;  /* the window is a piece of the sequence, or a sample of a pack, and does not slide */
    bool is_alone;  /* the layer is a mixer, or what follows one, and has one norm and residual */
    bool is_biased; /* scores have a learned bias */
};

/* Each gives what one accelerator has of a model's first stack of layers, or of its last: they are the same where
 * there is one. */
struct tsim_op_shape tsim_op_shape_first(const struct tsim_scenario *scenario);
struct tsim_op_shape tsim_op_shape_last(const struct tsim_scenario *scenario);
/* Returns the bytes of a micro-batch's residual stream on one context rank, of all tensor ranks: in an encoder-decoder
 * model that of both stacks. The decoder's input travels with the encoder's tokens (both embeddings are looked up on
 * the first stage), the encoder's result with the decoder's. */
double tsim_stream_bytes(const struct tsim_scenario *scenario);
/* Fills in all stacks, first to last, and returns their number. */
enum { TSIM_MAX_STACKS = 2 };
int tsim_op_stacks(const struct tsim_scenario *scenario, struct tsim_op_shape *shapes);

/* Returns the values that one layer keeps of each token in the cache of keys and values, on this rank: with latent
 * attention the latent vector and the rotated key, which all heads share (DeepSeek-V2, arXiv:2405.04434, section
 * 2.1). */
double tsim_cached_width(const struct tsim_op_shape *shape);

/* Returns the width of a head's query and key, and of its value: head_dim, or with latent attention more for the
 * first. */
double tsim_model_key_dim(const struct tsim_model *model);

/* Returns the number of products up that a feed-forward block has side by side: a gated one has two. */
double tsim_model_up_products(const struct tsim_model *model);

/* Returns the experts of a token over all of them; 0 without experts. */
double tsim_active_frac(const struct tsim_model *model);

/* Returns the number of stacks, which are layers of one length after another: an encoder and its decoder are two, each
 * with an embedding and a final norm. */
int tsim_model_stacks(const struct tsim_model *model);

/* Is it a diffusion transformer? */
bool tsim_model_diffuses(const struct tsim_model *model);
/* Does it work on patches of an image or a video? Then both ends are products that are whole on every tensor rank. */
bool tsim_model_is_of_patches(const struct tsim_model *model);

/* These return, for vision transformers, the patches of an image and the values in one of them. */
double tsim_model_patches(const struct tsim_model *model);
double tsim_model_patch_values(const struct tsim_model *model);

/* Returns the tokens of a sample that the last layers work on: the decoder's, where there is one. */
double tsim_last_length(const struct tsim_scenario *scenario);

/* Returns the vocabulary rows per tensor rank, padded to a multiple of 128 x tensor as Megatron does; the classes of a
 * model of images, whose classifier and projection of patches are whole on every tensor rank (Megatron-LM,
 * vit_backbone.py). */
double tsim_padded_vocab_per_rank(const struct tsim_scenario *scenario);
/* Counts the columns of the head's product on one tensor rank: those rows, or what a token meets of them
 * (head_rows). */
double tsim_head_columns(const struct tsim_scenario *scenario);
/* Returns the tokens of a micro-batch on one context rank that the head and the loss are computed for: all, the masked
 * ones (head_frac: BERT, Devlin et al. 2018, appendix A.2, 20 of 128), or of an image its class token. */
double tsim_head_tokens(const struct tsim_scenario *scenario);

#endif
