/* Tests scaling_laws.h against what its papers print. */
#include "results/loss_law.h"
#include "results/scaling_laws.h"

#include "config/catalogue_load.h"
#include "support/check_main.h"

#include <math.h>
#include <string.h>

static struct tsim_amount amount(double value) {
    return (struct tsim_amount){.value = value};
}

static double loss_nats(double parameters, double tokens) {
    return tsim_chinchilla_loss(NULL, amount(parameters), amount(tokens)).value;
}

static double critical_batch_tokens(double loss) {
    return tsim_critical_batch(NULL, amount(loss)).value;
}

static double effective_tokens(double unique_tokens, double epochs) {
    return tsim_effective_tokens(NULL, amount(unique_tokens), amount(epochs)).value;
}

/* Gopher has 280 G parameters on 300 G tokens, and Chinchilla 70 G on 1.4 T, by the fit of approach 3. */
TSIM_TEST(losses_of_gopher_and_chinchilla) {
    ck_assert_double_eq_tol(loss_nats(280e9, 300e9), 1.993, 1e-3);
    ck_assert_double_eq_tol(loss_nats(70e9, 1.4e12), 1.936, 1e-3);
}

/* Kaplan et al. 2020, section 1.1: one to two million tokens for their largest models at convergence, a loss of about
 * 2.8; figure 10: 2e8 / L^4.76 */
TSIM_TEST(the_critical_batch_grows_as_the_loss_falls) {
    double at_convergence = critical_batch_tokens(2.8);
    ck_assert_double_ge(at_convergence, 1e6);
    ck_assert_double_le(at_convergence, 2e6);
    ck_assert_double_eq_tol(critical_batch_tokens(1), 2e8, 1);
    ck_assert_double_eq_tol(log2(critical_batch_tokens(2) / critical_batch_tokens(4)), 4.76, 5e-3);
}

/* Up to four epochs are almost as good as new data; no number of them is worth more than 16.4 times the data. */
TSIM_TEST(epochs_wear_off) {
    ck_assert_double_eq(effective_tokens(1e9, 0.5), 0.5e9);
    ck_assert_double_eq(effective_tokens(1e9, 1), 1e9);
    ck_assert_double_ge(effective_tokens(1e9, 4), 0.92 * 4e9);
    ck_assert_double_le(effective_tokens(1e9, 16), 0.7 * 16e9);
    ck_assert_double_le(effective_tokens(1e9, 1e6), 16.4e9);
    ck_assert_double_ge(effective_tokens(1e9, 1e6), 16.3e9);
}

static struct tsim_scaling_laws scaling_laws_of(struct tsim_arena *arena, const char *const settings[][2], size_t n) {
    static struct tsim_diags diags;
    struct tsim_override overrides[8];
    const struct tsim_scenario *scenario;
    struct tsim_scaling_laws laws;
    for (size_t i = 0; i < n; i++)
        overrides[i] = (struct tsim_override){settings[i][0], settings[i][1]};
    tsim_diags_init(&diags);
    const char *file = tsim_catalogue_file(arena, TSIM_CATALOGUE_SCENARIOS, "llama70b");
    ck_assert_int_eq(tsim_scenario_load(arena, file, overrides, n, &scenario, &diags), TSIM_OK);
    struct tsim_result result = {.scenario = scenario};
    result.campaign.has = true;
    result.campaign.steps = scenario->training.length / (1024 * 4096.0);
    result.campaign.samples = result.campaign.steps * (double)scenario->training.global_batch_size;
    tsim_scaling_laws(arena, &result, &laws);
    tsim_diags_release(&diags);
    return laws;
}

/* 69 G parameters on 2 T tokens: 29 a parameter. 6 N D of compute are as much as 20 a parameter of sqrt(N D / 20). */
TSIM_TEST(llama2_70b_is_well_fed) {
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    struct tsim_scaling_laws r = scaling_laws_of(&arena, NULL, 0);
    ck_assert_double_eq_tol(r.tokens_per_parameter, 2e12 / 68.98e9, 0.01);
    ck_assert_double_eq_tol(r.optimal_parameters * r.optimal_tokens, 68.98e9 * 2e12, 1e20);
    ck_assert_double_eq_tol(r.optimal_tokens / r.optimal_parameters, 20, 1e-9);
    ck_assert_int_eq(r.n_notes, 0);
    ck_assert(isnan(r.epochs) && isnan(r.learning_rate));
    tsim_arena_release(&arena);
}

TSIM_TEST(a_hungry_run_with_a_huge_batch_is_told) {
    static const char *const SETTINGS[][2] = {{"training.tokens", "100 G"}, {"training.global_batch_size", "4096"}};
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    struct tsim_scaling_laws r = scaling_laws_of(&arena, SETTINGS, 2);
    ck_assert_int_eq(r.n_notes, 2);
    ck_assert_ptr_nonnull(strstr(r.notes[0], "Hoffmann"));
    ck_assert_ptr_nonnull(strstr(r.notes[1], "McCandlish"));
    ck_assert_double_eq_tol((r.tokens_factor - 1) * (r.steps_factor - 1), 1, 1e-9);
    tsim_arena_release(&arena);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
