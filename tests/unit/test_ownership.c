/* Tests ownership.h against closed forms and published sums. */
#include "campaign/ownership.h"

#include "support/check_main.h"

#include <math.h>

#define YEAR_S (365.25 * 86400)

static const struct tsim_node NODE = {.name = "node", .accelerators = 8},
                              LIMITED = {.name = "limited", .accelerators = 8, .power_limit_w = 10e3};

/* The facility costs nothing, unless a test gives it a price. */
static struct tsim_scenario scenario_of(void) {
    struct tsim_scenario sc = {.n_accelerators = 1000, .cluster = {.node = &NODE, .accelerators_per_node = 8}};
    sc.cost.purchase_usd = 30000;
    sc.cost.lifetime_s = 4 * YEAR_S;
    sc.cost.utilization_frac = 1;
    sc.energy.pue = 1.25;
    return sc;
}

/* Returns a run of 1,000 accelerators for a quarter of a year. */
static struct tsim_ownership_run quarter(void) {
    return (struct tsim_ownership_run){.accelerators = {.value = 1000},
                                       .time = {.value = YEAR_S / 4},
                                       .electricity_usd = {.value = 100e3},
                                       .rent_usd = {.value = 6e6},
                                       .tokens = {.value = 2e12},
                                       .drawn = {.value = 1e6}};
}

/* 30 M USD over 4 years are 7.5 M a year. */
TSIM_TEST(without_interest_it_is_a_share_of_the_price) {
    struct tsim_scenario sc = scenario_of();
    struct tsim_ownership_run run = quarter();
    struct tsim_ownership own;
    tsim_ownership(NULL, &sc, &run, &own);
    ck_assert_double_eq_tol(own.capital_usd, 30e6, 1);
    ck_assert_double_eq_tol(own.capital_share_usd, 30e6 / 16, 1);
    ck_assert_double_eq_tol(own.power_usd, 80e3, 1e-6);
    ck_assert_double_eq_tol(own.cooling_usd, 20e3, 1e-6);
    ck_assert_double_eq_tol(own.usd, 30e6 / 16 + 100e3, 1);
    ck_assert_double_eq_tol(own.usd_per_trillion_tokens, own.usd / 2, 1e-6);
    ck_assert_double_eq_tol(own.rent_usd_per_trillion_tokens, 3e6, 1e-6);
    ck_assert(isnan(own.reserved_usd));
    /* 16 such runs fill the lifetime; 30 M are saved by 30 / 5.9 of them */
    ck_assert_double_eq_tol(own.breakeven_runs, 30 / 5.9, 1e-9);
    ck_assert_double_eq_tol(own.breakeven_utilization, 30 / 5.9 / 16, 1e-9);
}

TSIM_TEST(everything_adds_to_the_price) {
    struct tsim_scenario sc = scenario_of();
    struct tsim_ownership_run run = quarter();
    struct tsim_ownership own;
    sc.cost.host_frac = 0.125;
    sc.cost.network_frac = 0.2;
    sc.cost.storage_frac = 0.05;
    sc.cost.maintenance_frac = 0.05;
    sc.cost.residual_frac = 0.1;
    sc.cost.utilization_frac = 0.5;
    tsim_ownership(NULL, &sc, &run, &own);
    ck_assert_double_eq_tol(own.capital_usd, 30e6 * 1.375, 1);
    ck_assert_double_eq_tol(own.fixed_usd_per_y, 41.25e6 * (0.9 / 4 + 0.05), 1);
    ck_assert_double_eq_tol(own.capital_share_usd, 41.25e6 * 0.9 / 4 / 4 / 0.5, 1);
    ck_assert_double_eq_tol(own.maintenance_usd, 41.25e6 * 0.05 / 4 / 0.5, 1);
}

/* 1 MW takes up a fifth of the life of a facility of 10 M USD a MW, or all of it if the machine lasts as long. */
TSIM_TEST(the_facility_is_paid_for_as_long_as_the_machine_lasts) {
    struct tsim_scenario sc = scenario_of();
    struct tsim_ownership_run run = quarter();
    struct tsim_ownership own;
    sc.cost.facility_usd_per_kw = 10e3;
    sc.cost.facility_lifetime_s = 20 * YEAR_S;
    sc.cost.residual_frac = 0.1;
    sc.cost.maintenance_frac = 0.05;
    tsim_ownership(NULL, &sc, &run, &own);
    ck_assert_double_eq_tol(own.facility_usd, 2e6, 1);
    ck_assert_double_eq_tol(own.capital_usd, 32e6, 1);
    /* nothing is left of the facility's part, and maintenance is the machine's */
    ck_assert_double_eq_tol(own.fixed_usd_per_y, (30e6 * 0.9 + 2e6) / 4 + 30e6 * 0.05, 1);
    ck_assert_double_eq_tol(own.capital_share_usd, (30e6 * 0.9 + 2e6) / 16, 1);
    sc.cost.facility_lifetime_s = 2 * YEAR_S;
    tsim_ownership(NULL, &sc, &run, &own);
    ck_assert_double_eq_tol(own.facility_usd, 10e6, 1);
    sc.cluster.node = &LIMITED; /* 125 nodes of 10 kW */
    tsim_ownership(NULL, &sc, &run, &own);
    ck_assert_double_eq_tol(own.facility_usd, 12.5e6, 1);
}

/* Returns the annuity of a loan of five years. */
static double annuity_per_y(double interest, double residual) {
    const struct tsim_cost_spec cost = {.interest_frac = interest, .lifetime_s = 5 * YEAR_S};
    return tsim_annuity_per_y(NULL, NULL, &cost, (struct tsim_amount){.value = residual}).value;
}

/* Payments at the annuity bring a loan to what is left of it: year after year, not by the formula. */
TSIM_TEST(the_annuity_pays_the_loan_off) {
    static const double RESIDUALS[] = {0, 0.1, 0.5};
    for (int i = 0; i < 3; i++) {
        double owed = 1, payment = annuity_per_y(0.08, RESIDUALS[i]);
        for (int year = 0; year < 5; year++)
            owed = owed * 1.08 - payment;
        ck_assert_double_eq_tol(owed, RESIDUALS[i], 1e-12);
    }
    ck_assert_double_eq_tol(annuity_per_y(1e-9, 0.1), annuity_per_y(0, 0.1), 1e-6);
}

/* At the break-even utilization a run costs the same either way. */
TSIM_TEST(breakeven_is_where_both_cost_the_same) {
    struct tsim_scenario sc = scenario_of();
    struct tsim_ownership_run run = quarter();
    struct tsim_ownership own;
    sc.cost.interest_frac = 0.08;
    tsim_ownership(NULL, &sc, &run, &own);
    sc.cost.utilization_frac = own.breakeven_utilization;
    tsim_ownership(NULL, &sc, &run, &own);
    ck_assert_double_eq_tol(own.usd, run.rent_usd.value, 1e-3);
    run.rent_usd.value = 50e3; /* less than the electricity */
    tsim_ownership(NULL, &sc, &run, &own);
    ck_assert(isinf(own.breakeven_utilization) && isinf(own.breakeven_runs));
}

TSIM_TEST(a_contract_is_paid_to_its_end) {
    struct tsim_scenario sc = scenario_of();
    struct tsim_ownership_run run = quarter();
    struct tsim_ownership own;
    sc.cost.reserved_usd_per_s = 2 / 3600.0;
    sc.cost.commitment_s = YEAR_S;
    tsim_ownership(NULL, &sc, &run, &own);
    ck_assert_double_eq_tol(own.reserved_usd, 1000 * 2 * 8766.0, 1);
    run.time.value = 2 * YEAR_S;
    tsim_ownership(NULL, &sc, &run, &own);
    ck_assert_double_eq_tol(own.reserved_usd, 2 * 1000 * 2 * 8766.0, 1);
}

/* BLOOM has 1,082,990 accelerator hours, with 150 kg and an eighth of 2,500 kg each over 6 years at 85 %: 11.2 t
 * (Luccioni et al. 2023, table 3). */
TSIM_TEST(blooms_embodied_carbon) {
    struct tsim_scenario sc = scenario_of();
    const struct tsim_amount accelerators = {.value = 384}, time = {.value = 1082990.0 / 384 * 3600};
    sc.energy.embodied_kg = 150 + 2500.0 / 8;
    sc.cost.lifetime_s = 6 * YEAR_S;
    sc.cost.utilization_frac = 0.85;
    ck_assert_double_eq_tol(tsim_embodied_kg(NULL, &sc, accelerators, time), 11200, 50);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
