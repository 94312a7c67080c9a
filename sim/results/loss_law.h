/* loss_law.h - the loss of a language model by its parameters and tokens, and what a given loss or a given compute
 * requires.
 *
 *   loss      L = E + A / N^a + B / D^b nats a token, with N parameters and D fresh tokens
 *   tokens    D = (B / (L - E - A / N^a))^(1 / b); no number suffices unless L is above E + A / N^a
 *   compute   C = 6 N D has the least loss at N = (a A / (b B))^(1 / (a + b)) (C / 6)^(b / (a + b)) (Hoffmann et al.
 *             2022, arXiv:2203.15556, equation 4); by the refit that is at about 20 tokens a parameter, as two other
 *             methods of Hoffmann et al. also find
 *   batch     The fits are of runs with small batches. To the same loss a batch of B tokens needs (1 + B / Bc) / (1 +
 *             B0 / Bc) times the tokens of a batch B0 (McCandlish et al. 2018, arXiv:1812.06162), with the critical
 *             batch Bc of the loss and B0 = 1.5 M, with which Chinchilla began (Hoffmann et al. 2022, table 4).
 *
 * Two fits to the same runs stand for the uncertainty, each taken to be as likely as the other (a judgement): the
 * original, which others still use, and the refit of Besiroglu et al. 2024 (arXiv:2404.10102), who found that the
 * original does not fit its own data. Around each are the errors of its parameters, which are correlated: their
 * covariance is that of 4,000 bootstraps of the 240 runs that Besiroglu et al. read off Hoffmann's figure
 * (github.com/Besiroglu/data). Our fit of these gives E = 1.817, A = 478, B = 2143, a = 0.347, b = 0.367 and deviations
 * of 0.026, 121, 1380, 0.015 and 0.020; theirs are 1.817, 482, 2085, 0.348, 0.366 and 0.03, 125, 1293, 0.02, 0.02.
 *
 * The loss is that of Chinchilla's data with its tokenizer. Other data have another floor E: C4 has 1.87 (Muennighoff
 * et al. 2023, arXiv:2305.16264). The spread includes neither that nor a better recipe. */
#pragma once

#include "base/quantile.h"
#include "base/term.h"

/* Compute is best spent on about this many tokens a parameter (Hoffmann et al. 2022, table 3). */
#define TSIM_TOKENS_PER_PARAMETER 20.0

#define TSIM_FLOPS_PER_TOKEN 6.0 /* of each active parameter, forward and backward (Kaplan et al. 2020, section 2.1) */

struct tsim_loss_law {
    double floor, per_parameters, parameters_exponent, per_tokens, tokens_exponent; /* E, A, a, B, b */
};

enum tsim_loss_fit { TSIM_LOSS_FIT_HOFFMANN, TSIM_LOSS_FIT_BESIROGLU, TSIM_N_LOSS_FITS };
extern const struct tsim_loss_law TSIM_LOSS_FITS[TSIM_N_LOSS_FITS];

double tsim_loss_at(const struct tsim_loss_law *law, double parameters, double tokens);
/* Returns the tokens with which the loss is reached; INFINITY if no number suffices. */
double tsim_tokens_to_loss(const struct tsim_loss_law *law, double parameters, double loss);
double tsim_compute_optimal_parameters(const struct tsim_loss_law *law, double flops);

/* Returns the critical batch of a loss, in tokens: 2e8 / L^4.76 (Kaplan et al. 2020, arXiv:2001.08361, equation
 * 1.4). */
struct tsim_amount tsim_critical_batch(struct tsim_term_recorder *recorder, struct tsim_amount loss);
double tsim_batch_tokens_factor(double batch_tokens, double loss);

/* Returns the median loss and its range over all cases of both fits. */
struct tsim_percentiles tsim_likely_loss(double parameters, double tokens);

/* The number of tokens to a loss is a distribution, ascending. It is INFINITY in those cases in which no number
 * suffices. */
enum { TSIM_LOSS_CASES = 64 };
struct tsim_tokens_needed {
    double at[TSIM_LOSS_CASES];
    double middle;       /* the median: as many cases need more as need fewer */
    double reached_frac; /* part of the cases in which some number of tokens suffices */
};
struct tsim_tokens_needed tsim_tokens_needed(double parameters, double loss, double batch_tokens);
