/* Losses, tokens and compute by scaling laws: the published figures, the closed forms, and what is not known. */
#include "results/loss_law.h"

#include "study/judge/proposal.h"
#include "support/arena_rig.h"

#include <math.h>
#include <string.h>

static const struct tsim_loss_law *refit = &TSIM_LOSS_FITS[TSIM_LOSS_FIT_BESIROGLU];

/* Tokens and loss are one formula solved twice, and no tokens get below the floor. */
TSIM_TEST(tokens_and_loss_are_inverse) {
    for (int fit = 0; fit < TSIM_N_LOSS_FITS; fit++) {
        const struct tsim_loss_law *law = &TSIM_LOSS_FITS[fit];
        double loss = tsim_loss_at(law, 70e9, 1.4e12);
        ck_assert_double_eq_tol(tsim_tokens_to_loss(law, 70e9, loss) / 1.4e12, 1, 1e-9);
        ck_assert(isinf(tsim_tokens_to_loss(law, 70e9, law->floor)));
    }
}

/* Besiroglu et al. 2024: at Chinchilla's compute, 5.76e23 FLOP, about 20 tokens a parameter are best, where the original fit
 * says about 70; the loss there is the least of all splits of that compute. */
TSIM_TEST(compute_is_best_at_twenty_tokens_a_parameter) {
    double flops = 5.76e23, n = tsim_compute_optimal_parameters(refit, flops), d = flops / 6 / n;
    ck_assert_double_eq_tol(d / n, 20, 3);
    ck_assert_double_lt(tsim_loss_at(refit, n, d), tsim_loss_at(refit, 1.1 * n, d / 1.1));
    ck_assert_double_lt(tsim_loss_at(refit, n, d), tsim_loss_at(refit, n / 1.1, 1.1 * d));
    double original = tsim_compute_optimal_parameters(&TSIM_LOSS_FITS[TSIM_LOSS_FIT_HOFFMANN], flops);
    ck_assert_double_gt(flops / 6 / original / original, 60);
}

/* McCandlish et al. 2018: a batch of the critical size needs twice the tokens of a very small one; at Kaplan's 2e8 / L^4.76
 * and beside Chinchilla's own 1.5 M tokens. */
TSIM_TEST(large_batches_need_more_tokens) {
    double critical = 2e8 / pow(2, 1 / 0.21);
    ck_assert_double_eq_tol(tsim_batch_tokens_factor(1.5e6, 2), 1, 1e-12);
    ck_assert_double_eq_tol(tsim_batch_tokens_factor(critical, 2), 2 / (1 + 1.5e6 / critical), 1e-9);
}

/* Amid the runs that were fitted the two fits agree within 3 %, and far beyond them they say what their floors differ by. */
TSIM_TEST(spread_grows_beyond_the_runs) {
    struct tsim_percentiles amid = tsim_likely_loss(1e9, 2e10), beyond = tsim_likely_loss(400e9, 15e12);
    ck_assert_double_lt((amid.p90 - amid.p10) / amid.p50, 0.03);
    ck_assert_double_gt(beyond.p90 - beyond.p10, 0.03);
    ck_assert(amid.p10 <= amid.p50 && amid.p50 <= amid.p90);
}

/* More parameters need fewer tokens, a lower loss needs more, and below the floor of most cases none suffice. */
TSIM_TEST(tokens_needed_are_monotone) {
    struct tsim_tokens_needed some = tsim_tokens_needed(70e9, 2.0, 1.5e6),
                              larger = tsim_tokens_needed(400e9, 2.0, 1.5e6),
                              lower = tsim_tokens_needed(70e9, 1.95, 1.5e6),
                              none = tsim_tokens_needed(70e9, 1.7, 1.5e6);
    ck_assert_double_lt(larger.middle, some.middle);
    ck_assert_double_gt(lower.middle, some.middle);
    ck_assert_double_eq(some.reached_frac, 1);
    ck_assert_double_lt(none.reached_frac, 0.5);
    ck_assert(!isfinite(none.middle));
    for (int i = 1; i < TSIM_LOSS_CASES; i++)
        ck_assert_double_ge(some.at[i], some.at[i - 1]);
    /* Between the two fits' own answers is the middle. */
    double a = tsim_tokens_to_loss(&TSIM_LOSS_FITS[TSIM_LOSS_FIT_HOFFMANN], 70e9, 2.0),
           b = tsim_tokens_to_loss(refit, 70e9, 2.0);
    ck_assert(some.middle >= fmin(a, b) && some.middle <= fmax(a, b));
}

/* A proposal spends the compute, has a shape that exists and nearly the best number of parameters. */
TSIM_TEST(proposals_spend_their_compute) {
    struct tsim_proposal p;
    for (double flops = 1e21; flops < 1e27; flops *= 7) {
        ck_assert(tsim_propose(flops, &p));
        ck_assert_double_eq_tol(6 * p.parameters * p.tokens / flops, 1, 1e-9);
        ck_assert_double_eq_tol(log(p.parameters / tsim_compute_optimal_parameters(refit, flops)), 0, 0.2);
        ck_assert_int_eq(p.heads * 128, p.hidden);
        ck_assert_int_eq(p.heads % 8, 0);
        ck_assert(p.loss.p10 < p.loss.p50 && p.loss.p50 < p.loss.p90);
    }
    ck_assert(!tsim_propose(1e16, &p));
    ck_assert(!tsim_propose((double)INFINITY, &p));
}

/* The least compute to a loss gives that loss. */
TSIM_TEST(least_compute_to_a_loss) {
    double flops = tsim_flops_to_loss(2.1), n = tsim_compute_optimal_parameters(refit, flops);
    ck_assert_double_eq_tol(tsim_loss_at(refit, n, flops / 6 / n), 2.1, 1e-9);
    ck_assert(isinf(tsim_flops_to_loss(refit->floor)));
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
