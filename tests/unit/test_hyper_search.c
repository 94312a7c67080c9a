/* Tests searches that stop trials early: brackets against the published table, work and days against sums by hand. */
#include "support/training_rig.h"

#include <math.h>

/* Li et al. 2018 (JMLR 18, section 2.3) have the table of n_i and r_i for R = 81 and eta = 3. */
TSIM_TEST(hyperband_is_as_published) {
    static const struct {
        double trials, resource;
    } TABLE[] = {{81, 1}, {27, 3}, {9, 9},  {3, 27}, {1, 81}, {34, 3}, {11, 9}, {3, 27},
                 {1, 81}, {15, 9}, {5, 27}, {1, 81}, {8, 27}, {2, 81}, {5, 81}};
    const struct tsim_search_spec spec = {
        .method = TSIM_SEARCH_HYPERBAND, .at_once = 1, .eta = 3, .least_frac = 1.0 / 81};
    struct tsim_rung rungs[TSIM_MOST_RUNGS];
    int n = tsim_search_rungs(&spec, rungs);
    ck_assert_int_eq(n, sizeof TABLE / sizeof TABLE[0]);
    for (int i = 0; i < n; i++) {
        ck_assert_double_eq(rungs[i].trials, TABLE[i].trials);
        ck_assert_double_eq_tol(81 * rungs[i].to_frac, TABLE[i].resource, 1e-9);
    }
}

static struct tsim_result search(const char *text) {
    return train(
        load_text(tsim_arena_printf(&arena,
                                    "schema: tsim/v1\nname: h\nmodel: gpt2-small\n"
                                    "cluster: {node: single-h100-sxm}\n"
                                    "training: {sequence_length: 1024, global_batch_size: 8, micro_batch_size: "
                                    "8, steps: 10000}\ncost: {rent: 3 USD/h}\nsearch: {%s}\n",
                                    text)));
}

/* 16 trials for an eighth of the run, 8 for the next eighth, 4 for the next quarter, 2 for the other half: the last cut
 * but one would need a sixteenth, which is less than a tenth. On three clusters these come in 6, 3, 2 and 1 turns. */
TSIM_TEST(rungs_add_up) {
    struct tsim_result r = search("method: halving, trials: 16, at_once: 3, eta: 2, least: 10 %");
    const struct tsim_campaign *run = &r.campaign;
    ck_assert(r.search.has);
    ck_assert_double_eq(r.search.trials, 16);
    ck_assert_double_eq(r.search.full, 2);
    SAME(r.search.runs, 16.0 / 8 + 8.0 / 8 + 4.0 / 4 + 2.0 / 2);
    SAME(r.search.days, run->days * (6.0 / 8 + 3.0 / 8 + 2.0 / 4 + 1.0 / 2));
    SAME(r.search.all_days, run->days * 6);
    SAME(r.search.rent_usd, 3 * 3 * 24 * r.search.days);
    SAME(r.search.energy_kwh, 5 * run->energy_kwh);
    SAME(r.search.co2_kg, 5 * run->co2_kg);
}

/* With as many clusters as trials, a search takes as long as one run; more clusters change nothing but the rent. */
TSIM_TEST(enough_clusters_take_one_run) {
    struct tsim_result enough = search("method: halving, trials: 9, at_once: 9"),
                       more = search("method: halving, trials: 9, at_once: 18"),
                       one = search("method: halving, trials: 9");
    SAME(enough.search.days, enough.campaign.days);
    SAME(more.search.days, enough.search.days);
    SAME(more.search.rent_usd, 2 * enough.search.rent_usd);
    SAME(one.search.days, one.campaign.days * one.search.runs);
    SAME(one.search.rent_usd, one.campaign.rent_usd * one.search.runs);
    ck_assert(!search("method: none").search.has);
}

TSIM_TEST(mistakes_are_named) {
    static const struct {
        const char *search, *length, *message;
    } MISTAKES[] = {{"method: halving", ", steps: 10", "are not a search"},
                    {"method: hyperband, trials: 9", ", steps: 10", "follows from eta and least"},
                    {"trials: 9", ", steps: 10", "but trials are asked for"},
                    {"method: hyperband, eta: 1", ", steps: 10", "1"},
                    {"method: hyperband", "", "no length"}};
    for (size_t i = 0; i < sizeof MISTAKES / sizeof MISTAKES[0]; i++) {
        size_t first = diags.n_items;
        bool is_named = false;
        ck_assert_ptr_null(try_text(tsim_arena_printf(
            &arena,
            "schema: tsim/v1\nname: h\nmodel: gpt2-small\ncluster: {node: single-h100-sxm}\n"
            "training: {sequence_length: 1024, global_batch_size: 8, micro_batch_size: 8%s}\nsearch: {%s}\n",
            MISTAKES[i].length, MISTAKES[i].search)));
        for (size_t d = first; d < diags.n_items; d++)
            is_named |= strstr(diags.items[d].message, MISTAKES[i].message) != NULL;
        ck_assert_msg(is_named, "%s", MISTAKES[i].message);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
