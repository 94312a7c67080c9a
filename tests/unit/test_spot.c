/* Spot instances of a scenario against closed forms: what the run costs beside on-demand, and the rate of preemption at
 * which both cost the same. */
#include "support/training_rig.h"

#include <math.h>

/* Llama 2 70B on 128 nodes of which nothing fails; a checkpoint of 966 GB takes 9.66 s. */
static struct tsim_campaign run_with(const char *reliability) {
    const struct tsim_override overrides[] = {{"reliability", reliability}};
    struct tsim_result result = train(load_shipped("llama70b", overrides, 1));
    ck_assert(result.campaign.is_spot);
    return result.campaign;
}

#define NOTHING_FAILS "components: {accelerator: 0 h, hbm: 0 h, nic: 0 h, link: 0 h, host: 0 h, software: 0 h}"
#define SPOT(rate, discount)                                                                                           \
    "{" NOTHING_FAILS ", spares: 100000, restart: 420 s, preemption: {rate: " rate " /h, discount: " discount          \
    ", notice: 10 min, gap: 0 s}}"

/* A preemption of the job costs the save s and the restart R, which another one begins anew: a run takes 1 + l s + e^(l
 * R)
 * - 1 times its work at the rate l of the job, and as much money as on demand where that is 1 / (1 - discount). */
TSIM_TEST(the_breakeven_rate_is_the_closed_form) {
    const double save_s = 9.66, restart_s = 420, nodes = 128;
    struct tsim_campaign c = run_with(SPOT("0.001", "0.1"));
    double low = 0, high = 1;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *(middle * save_s + exp(middle * restart_s) < 1 / (1 - 0.1) ? &low : &high) = middle;
    }
    /* There are 8 runs with 100 preemptions each. */
    ck_assert_double_eq_tol(c.breakeven_rate_per_h / (low / nodes * 3600), 1, 4 / sqrt(800));
}

TSIM_TEST(rent_is_the_discount_of_a_longer_run) {
    const double l = 128 * 0.002 / 3600, slowdown = l * 9.66 + exp(l * 420);
    struct tsim_campaign c = run_with(SPOT("0.002", "0.7"));
    ck_assert_double_eq_tol(c.mean_days / c.on_demand_days, slowdown, 0.1 * (slowdown - 1));
    ck_assert_double_eq_tol(c.rent_usd / c.on_demand_usd, 0.3 * slowdown, 0.3 * 0.1 * (slowdown - 1));
}

TSIM_TEST(without_a_discount_spot_is_never_cheaper) {
    ck_assert_double_lt(run_with(SPOT("0.001", "0")).breakeven_rate_per_h, 1e-5);
}

TSIM_MAIN(60, set_up, tear_down)
