/* proposal.h - proposes a model for a sum of money, or for a loss: the numbers of parameters and tokens with which the
 * compute has the least loss (results/loss_law.h, by the refit), in the shape of Llama 3.
 *
 * The shape is the nearest in parameters among those with widths of 1,024 k, layers in fours with a width of 80 to 160
 * for each layer (Llama 3 8B, 70B and 405B have 128, 102 and 130), heads of 128, eight key-value heads, a gated
 * feed-forward block of 3.5 widths and 128,256 words (Llama 3 Herd of Models, arXiv:2407.21783, table 3).
 *
 * Its batch is the critical one at the expected loss (McCandlish et al. 2018: beyond it tokens cost more than they save
 * steps), and at most the 8 M tokens that Llama 3 405B has after its first 252 M (section 3.4.1 there). */
#pragma once

#include "base/arena.h"
#include "base/quantile.h"

#include <stdbool.h>
#include <stdint.h>

struct tsim_proposal {
    int64_t layers, hidden, heads, ffn_hidden;
    double parameters, tokens;
    struct tsim_percentiles loss; /* the loss that scaling laws expect, with the usual batch */
};

double tsim_usual_batch_tokens(double loss);

/* Proposes a model for this much compute; returns false if so little compute trains no model of this shape well. */
bool tsim_propose(double flops, struct tsim_proposal *proposal);

/* Returns the least compute that reaches a loss, by the refit; INFINITY if none does. */
double tsim_flops_to_loss(double loss);

/* Returns a model as a scenario has it: "{name: llama-like-34b, kind: transformer, layers: 48, ...}". */
const char *tsim_proposal_text(struct tsim_arena *arena, const struct tsim_proposal *proposal);
