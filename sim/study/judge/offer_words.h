/* offer_words.h - sentences and amounts about offers, for people. */
#pragma once

#include "study/judge/offer.h"

/* Returns "rent 128 x dgx-h100, ib-ndr"; NULL stands for no offer. */
const char *tsim_offer_text(struct tsim_arena *arena, const struct tsim_offer *offer);
/* Returns why `other` is not the choice, which is `best`. */
const char *tsim_offer_why_not(struct tsim_arena *arena, const struct tsim_offer *best, const struct tsim_offer *other,
                               enum tsim_decision_objective objective);
/* Returns "; the contract is paid for 1 y" of a contract that outlasts the run: it costs more than the run needs. */
const char *tsim_offer_contract_text(struct tsim_arena *arena, const struct tsim_offer *offer);
/* Returns a value of an offer's days or cost with as many digits as its range supports, as the table of offers has
 * it. */
const char *tsim_offer_amount_text(struct tsim_arena *arena, const struct tsim_offer *offer, double amount,
                                   enum tsim_limit_kind which);
const char *tsim_offer_usd_text(struct tsim_arena *arena, double usd);  /* two digits */
const char *tsim_percent_above(struct tsim_arena *arena, double ratio); /* "12 %" or "0.4 %" */
/* Returns "12 % more" or "3.4 times as much". */
const char *tsim_ratio_text(struct tsim_arena *arena, double ratio, const char *more, const char *much);
/* Does so of a limit: "12 % later" or "12 % more". */
const char *tsim_over_limit_text(struct tsim_arena *arena, double ratio, enum tsim_limit_kind which);
