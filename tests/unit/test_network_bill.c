/* Tests switches and links of networks against a published bill of material and closed forms. */
#include "config/network_bill.h"

#include "support/check_main.h"

static struct tsim_fabric fabric_of(double oversubscription) {
    return (struct tsim_fabric){
        .switch_ports = 64, .switch_usd = 36000, .link_usd = 1280, .oversubscription = oversubscription};
}

/* 1,024 H100s on two tiers have 48 switches for 1.728 M USD, and cables and optics for 2.621 M USD (the sheet that
 * ib-ndr names, August 2024); 32,768 on three have 2,560 switches. */
TSIM_TEST(published_bill) {
    struct tsim_fabric fabric = fabric_of(1);
    struct tsim_network_bill bill = tsim_network_bill(&fabric, 1024);
    ck_assert_int_eq(bill.tiers, 2);
    ck_assert_double_eq_tol(bill.switches, 48, 1e-9);
    ck_assert_double_eq_tol(bill.links, 2048, 1e-9);
    ck_assert_double_eq_tol(bill.usd, 1.728e6 + 2.62144e6, 1);
    bill = tsim_network_bill(&fabric, 32768);
    ck_assert_int_eq(bill.tiers, 3);
    ck_assert_double_eq_tol(bill.switches, 2560, 1e-9);
    ck_assert_double_eq_tol(bill.links, 3 * 32768, 1e-9);
}

/* Another tier begins when the ports of the one below are used up; uplinks that carry a fourth are a fourth as many. */
TSIM_TEST(tiers_and_oversubscription) {
    struct tsim_fabric fabric = fabric_of(1), narrow = fabric_of(4);
    ck_assert_int_eq(tsim_network_bill(&fabric, 64).tiers, 1);
    ck_assert_int_eq(tsim_network_bill(&fabric, 65).tiers, 2);
    ck_assert_int_eq(tsim_network_bill(&fabric, 2048).tiers, 2);
    ck_assert_int_eq(tsim_network_bill(&fabric, 2049).tiers, 3);
    struct tsim_network_bill bill = tsim_network_bill(&narrow, 1024);
    ck_assert_double_eq_tol(bill.links, 1024 * 1.25, 1e-9);
    ck_assert_double_eq_tol(bill.switches, 1024 * 1.5 / 64, 1e-9);
    ck_assert_double_lt(bill.usd, tsim_network_bill(&fabric, 1024).usd);
    static const struct tsim_tier TIERS[] = {{.ports = 32, .oversubscription = 4}};
    fabric.tiers = TIERS;
    fabric.n_tiers = 1;
    ck_assert_double_eq(tsim_network_bill(&fabric, 1024).usd, bill.usd);
}

/* Without a price, ports or a fabric nothing is said. */
TSIM_TEST(nothing_known) {
    struct tsim_fabric fabric = fabric_of(1);
    ck_assert_double_eq(tsim_network_bill(NULL, 64).usd, 0);
    ck_assert_double_eq(tsim_network_bill(&fabric, 0).usd, 0);
    fabric.switch_usd = 0;
    ck_assert_int_eq(tsim_network_bill(&fabric, 64).tiers, 0);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
