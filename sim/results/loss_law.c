#include "results/loss_law.h"

#include "base/normal.h"

#include <math.h>

#define CHINCHILLA_BATCH_TOKENS 1.5e6

const struct tsim_loss_law TSIM_LOSS_FITS[TSIM_N_LOSS_FITS] = {
    [TSIM_LOSS_FIT_HOFFMANN] = {1.69, 406.4, 0.34, 410.7, 0.28},          /* equation 10 */
    [TSIM_LOSS_FIT_BESIROGLU] = {1.8172, 482.01, 0.3478, 2085.43, 0.3658} /* table 1 */
};

double tsim_loss_at(const struct tsim_loss_law *law, double parameters, double tokens) {
    return law->floor + law->per_parameters / pow(parameters, law->parameters_exponent) +
           law->per_tokens / pow(tokens, law->tokens_exponent);
}

double tsim_tokens_to_loss(const struct tsim_loss_law *law, double parameters, double loss) {
    double left = loss - law->floor - law->per_parameters / pow(parameters, law->parameters_exponent);
    return left > 0 ? pow(law->per_tokens / left, 1 / law->tokens_exponent) : (double)INFINITY;
}

double tsim_compute_optimal_parameters(const struct tsim_loss_law *law, double flops) {
    double a = law->parameters_exponent, b = law->tokens_exponent;
    return pow(a * law->per_parameters / (b * law->per_tokens), 1 / (a + b)) *
           pow(flops / TSIM_FLOPS_PER_TOKEN, b / (a + b));
}

struct tsim_amount tsim_critical_batch(struct tsim_term_recorder *r, struct tsim_amount loss) {
    static const char *const KAPLAN = "Kaplan et al. 2020 (arXiv:2001.08361, equation 1.4)";
    struct tsim_amount power = tsim_power(r, "loss to its exponent", "loss^(1 / 0.21)", TSIM_FRACTION, loss,
                                          tsim_given(r, "exponent", 1 / 0.21, TSIM_FRACTION, KAPLAN));
    return tsim_product(
        r, "scaling_laws.critical_batch_tokens", "2e8 / loss^4.76", TSIM_COUNT,
        TSIM_PARTS(tsim_given(r, "tokens at a loss of 1", 2e8, TSIM_COUNT, KAPLAN), tsim_inverse(power)));
}

double tsim_batch_tokens_factor(double batch_tokens, double loss) {
    double critical = tsim_critical_batch(NULL, (struct tsim_amount){.value = loss}).value;
    return (1 + batch_tokens / critical) / (1 + CHINCHILLA_BATCH_TOKENS / critical);
}

/* ---- what is not known ---- */

enum { N_ERRORS = 5, CASES_OF_A_FIT = TSIM_LOSS_CASES / TSIM_N_LOSS_FITS };

/* Deviations of ln E, ln A', ln B', a, b: the lower triangle whose product with its transpose is their covariance.
 * A' and B' are the two terms of e^21 parameters and e^23.3 tokens, amid the runs that were fitted. */
static const double DEVIATIONS[N_ERRORS][N_ERRORS] = {{0.014314},
                                                      {-0.036447, 0.053902},
                                                      {-0.035506, -0.047738, 0.0052177},
                                                      {0.0089505, -0.012051, -0.00082578, 0.0018989},
                                                      {0.012709, 0.015409, -0.0022275, -0.0018304, 0.0029188}};
#define LOG_PARAMETERS 21.0
#define LOG_TOKENS 23.3

/* Returns the points that fill the unit cube evenly without a draw: multiples of the powers of 1 / g, g^6 = g + 1. */
static double evenly(int i, int dimension) {
    static const double STEP = 1 / 1.1347241384015194;
    double at = 0.5 + (i + 1) * pow(STEP, dimension + 1);
    return at - floor(at);
}

static struct tsim_loss_law law_of_case(int i) {
    struct tsim_loss_law law = TSIM_LOSS_FITS[i / CASES_OF_A_FIT];
    double z[N_ERRORS], error[N_ERRORS] = {0};
    for (int k = 0; k < N_ERRORS; k++)
        z[k] = tsim_normal_quantile(evenly(i % CASES_OF_A_FIT, k));
    for (int k = 0; k < N_ERRORS; k++)
        for (int j = 0; j <= k; j++)
            error[k] += DEVIATIONS[k][j] * z[j];
    law.floor *= exp(error[0]);
    law.per_parameters *= exp(error[1] + LOG_PARAMETERS * error[3]);
    law.per_tokens *= exp(error[2] + LOG_TOKENS * error[4]);
    law.parameters_exponent += error[3];
    law.tokens_exponent += error[4];
    return law;
}

struct tsim_percentiles tsim_likely_loss(double parameters, double tokens) {
    double cases[TSIM_LOSS_CASES];
    for (int i = 0; i < TSIM_LOSS_CASES; i++) {
        struct tsim_loss_law law = law_of_case(i);
        cases[i] = tsim_loss_at(&law, parameters, tokens);
    }
    tsim_sort_ascending(cases, TSIM_LOSS_CASES);
    return tsim_points_percentiles(cases, TSIM_LOSS_CASES);
}

struct tsim_tokens_needed tsim_tokens_needed(double parameters, double loss, double batch_tokens) {
    struct tsim_tokens_needed needed = {.reached_frac = 0};
    double factor = tsim_batch_tokens_factor(batch_tokens, loss);
    for (int i = 0; i < TSIM_LOSS_CASES; i++) {
        struct tsim_loss_law law = law_of_case(i);
        needed.at[i] = factor * tsim_tokens_to_loss(&law, parameters, loss);
        needed.reached_frac += isfinite(needed.at[i]) ? 1.0 / TSIM_LOSS_CASES : 0;
    }
    tsim_sort_ascending(needed.at, TSIM_LOSS_CASES);
    needed.middle = tsim_points_quantile(needed.at, TSIM_LOSS_CASES, 0.5);
    return needed;
}
