/* scaling_laws.h - the literature on a run's batch and data: whether its tokens suit its parameters, its batch its
 * loss, and its epochs its data. These are rules of thumb from other people's runs, and none of them enters a predicted
 * time.
 *
 *   tokens      Hoffmann et al. 2022 (arXiv:2203.15556): for a given compute 20 tokens a parameter are best (approaches
 *               1 and 2), and the loss is about 1.69 + 406.4 / N^0.34 + 410.7 / D^0.28 nats (approach 3)
 *   batch       McCandlish et al. 2018 (arXiv:1812.06162): to the same loss a batch B needs 1 + B / Bc times the fewest
 *               tokens and 1 + Bc / B times the fewest steps. Language models have Bc = 2e8 / L^4.76 tokens at the loss
 *               L (Kaplan et al. 2020, arXiv:2001.08361, equation 1.4), which is here the loss above.
 *   epochs      Muennighoff et al. 2023 (arXiv:2305.16264), equation 5: U tokens seen 1 + R times are worth U (1 + r (1
 *               - exp(-R / r))) fresh ones, with r = 15.4
 *   images      Goyal et al. 2017 (arXiv:1706.02677): a learning rate of 0.1 x batch / 256 with warm-up is as good up
 *               to a batch of 8,192
 *
 * Tokens and batch are for decoders of language; other models have only epochs. The parameters of a mixture of experts
 * are those that a token passes through, which is a convention and not a result of the papers. */
#pragma once

#include "run/result.h"

enum { TSIM_SCALING_LAWS_MOST_NOTES = 4 };
/* The figures of a run. NAN means that a law does not apply to it. */
struct tsim_scaling_laws {
    double tokens_per_parameter;
    double optimal_parameters, optimal_tokens; /* for the same compute: 6 N D with D = 20 N */
    double loss_nats;
    double critical_batch_tokens;
    double tokens_factor;            /* tokens needed over those that a very small batch needs */
    double steps_factor;             /* steps needed over those that a very large batch needs */
    double epochs, effective_tokens; /* passes over the data, and the number of fresh tokens that are worth as much */
    double learning_rate;            /* of a CNN with momentum, by the linear rule */
    const char *notes[TSIM_SCALING_LAWS_MOST_NOTES]; /* sentences that a reader should know, each with its source */
    int n_notes;
};

/* Returns whether any of the laws applies to this run. */
bool tsim_scaling_laws_apply(const struct tsim_result *result);

/* Computes the figures and their notes, which are allocated from `arena`; with NULL there are no notes. The run's
 * recorder receives the terms. */
void tsim_scaling_laws(struct tsim_arena *arena, const struct tsim_result *result, struct tsim_scaling_laws *out);

/* These are parts of the laws, for tests. */
struct tsim_amount tsim_chinchilla_loss(struct tsim_term_recorder *recorder, struct tsim_amount parameters,
                                        struct tsim_amount tokens);
struct tsim_amount tsim_effective_tokens(struct tsim_term_recorder *recorder, struct tsim_amount unique_tokens,
                                         struct tsim_amount epochs);
