/* scaling_laws.h - what the literature says of a run's batch and data: whether its tokens suit its parameters, its
 * batch its loss, its epochs its data. Rules of thumb from other people's runs, none of which touches a predicted time.
 *
 *   tokens      Hoffmann et al. 2022 (arXiv:2203.15556): for a given compute 20 tokens a parameter are best (approach 1
 *               and 2), and the loss is about 1.69 + 406.4 / N^0.34 + 410.7 / D^0.28 nats (approach 3)
 *   batch       McCandlish et al. 2018 (arXiv:1812.06162): to the same loss a batch B needs 1 + B / Bc times the fewest
 *               tokens and 1 + Bc / B times the fewest steps; of language models Bc = 2e8 / L^4.76 tokens at the loss L
 *               (Kaplan et al. 2020, arXiv:2001.08361, equation 1.4), here the one above
 *   epochs      Muennighoff et al. 2023 (arXiv:2305.16264), equation 5: U tokens seen 1 + R times are worth
 *               U (1 + r (1 - exp(-R / r))) fresh ones, r = 15.4
 *   images      Goyal et al. 2017 (arXiv:1706.02677): learning rate 0.1 x batch / 256 with warm-up, as good up to 8,192
 *
 * Tokens and parameters are a decoder's of language: everything but epochs is left out for other models. Parameters of
 * a mixture of experts are those that a token passes through, which is a convention, not a result of the paper. */
#ifndef TSIM_RESULTS_SCALING_LAWS_H
#define TSIM_RESULTS_SCALING_LAWS_H

#include "run/result.h"

enum { TSIM_SCALING_LAWS_MOST_NOTES = 4 };
struct tsim_scaling_laws { /* NAN: does not apply */
    double tokens_per_parameter;
    double optimal_parameters, optimal_tokens; /* for the same compute: 6 N D with D = 20 N */
    double loss_nats;
    double critical_batch_tokens;
    double tokens_factor;                            /* tokens needed, of those that a very small batch needs */
    double steps_factor;                             /* steps needed, of those that a very large batch needs */
    double epochs, effective_tokens;                 /* passes over the data; fresh tokens that are worth as much */
    double learning_rate;                            /* of a CNN with momentum, by the linear rule */
    const char *notes[TSIM_SCALING_LAWS_MOST_NOTES]; /* what a reader should know, with its source */
    int n_notes;
};

/* Is there anything that they say of this run? */
bool tsim_scaling_laws_apply(const struct tsim_result *result);

/* Notes are allocated from `arena`; NULL: the numbers alone. The run's recorder hears of these, too. */
void tsim_scaling_laws(struct tsim_arena *arena, const struct tsim_result *result, struct tsim_scaling_laws *out);

/* These are parts of the laws, for tests. */
struct tsim_amount tsim_chinchilla_loss(struct tsim_term_recorder *recorder, struct tsim_amount parameters,
                                        struct tsim_amount tokens);
struct tsim_amount tsim_effective_tokens(struct tsim_term_recorder *recorder, struct tsim_amount unique_tokens,
                                         struct tsim_amount epochs);

#endif
