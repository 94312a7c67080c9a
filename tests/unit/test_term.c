/* Terms: computing and recording are one call, equal nodes are one, and without a recorder there is the number alone. */
#include "base/term.h"
#include "config/provenance.h"
#include "support/check_main.h"

#include <math.h>
#include <string.h>

static struct tsim_arena arena;
static struct tsim_term_recorder recorder;

static void setup(void) {
    tsim_arena_init(&arena);
    tsim_term_recorder_init(&recorder, &arena);
}

static void teardown(void) {
    tsim_arena_release(&arena);
}

static struct tsim_amount leaf(struct tsim_term_recorder *r, const char *name, double value) {
    return tsim_given(r, name, value, TSIM_COUNT, "a test");
}

TSIM_TEST(rules_by_hand) {
    static const struct {
        enum tsim_term_rule rule;
        double value;
    } RULES[] = {{TSIM_TERM_SUM, 7 + 2 - 4}, {TSIM_TERM_PRODUCT, 7 * 2 / 4.0}, {TSIM_TERM_MAX, 7},
                 {TSIM_TERM_MIN, 2},         {TSIM_TERM_CEILING, 4},           {TSIM_TERM_FLOOR, 3}};
    for (int recorded = 0; recorded < 2; recorded++)
        for (size_t i = 0; i < sizeof RULES / sizeof RULES[0]; i++) {
            struct tsim_term_recorder *r = recorded ? &recorder : NULL;
            struct tsim_amount amount =
                tsim_combined(r, RULES[i].rule, "it", "of three", TSIM_COUNT,
                              TSIM_PARTS(leaf(r, "seven", 7), leaf(r, "two", 2), tsim_inverse(leaf(r, "four", 4))));
            ck_assert_double_eq(amount.value, RULES[i].value);
            ck_assert(recorded ? amount.term->value == amount.value : amount.term == NULL);
            if (recorded)
                ck_assert_double_eq(tsim_term_by_rule(amount.term), RULES[i].value);
        }
}

TSIM_TEST(powers_may_be_negative) {
    for (int recorded = 0; recorded < 2; recorded++) {
        struct tsim_term_recorder *r = recorded ? &recorder : NULL;
        struct tsim_amount three = leaf(r, "three", 3);
        ck_assert_double_eq(tsim_power(r, "cube", "2^3", TSIM_COUNT, leaf(r, "two", 2), three).value, 8);
        struct tsim_amount eighth = tsim_power(r, "eighth", "2^-3", TSIM_COUNT, leaf(r, "two", 2), tsim_inverse(three));
        ck_assert_double_eq(eighth.value, 0.125);
        if (recorded)
            ck_assert_double_eq(tsim_term_by_rule(eighth.term), 0.125);
    }
}

TSIM_TEST(figures_are_found_by_name) {
    struct tsim_amount long_tree = tsim_elsewhere(&recorder, "step.time_s", 2, TSIM_TIME_S);
    ck_assert_str_eq(long_tree.term->source, "its own tree: tsim explain SCENARIO step.time_s");
    ck_assert_ptr_null(tsim_recorded_term(&recorder, "step.time_s")); /* a leaf that points at it is not the tree */
    struct tsim_amount time = tsim_sum(&recorder, "step.time_s", "1 + 1", TSIM_TIME_S,
                                       TSIM_PARTS(leaf(&recorder, "a", 1), leaf(&recorder, "b", 1)));
    ck_assert_ptr_eq(tsim_recorded_term(&recorder, "step.time_s"), time.term);
    ck_assert_ptr_eq(tsim_figure(&recorder, "step.time_s", 2, TSIM_TIME_S).term, time.term);
    ck_assert_ptr_ne(tsim_figure(&recorder, "step.time_s", 3, TSIM_TIME_S).term, time.term); /* another run's */
    ck_assert_ptr_eq(tsim_figure(&recorder, "campaign.days", 4, TSIM_FRACTION).term,
                     tsim_elsewhere(&recorder, "campaign.days", 4, TSIM_FRACTION).term);
    ck_assert_ptr_null(tsim_figure(NULL, "step.time_s", 2, TSIM_TIME_S).term);
    ck_assert_double_eq(tsim_figure(NULL, "step.time_s", 2, TSIM_TIME_S).value, 2);
}

TSIM_TEST(a_list_is_a_sum) {
    for (int recorded = 0; recorded < 2; recorded++) {
        struct tsim_part_list list = {.recorder = recorded ? &recorder : NULL};
        for (int i = 0; i < 20; i++)
            tsim_part_add(&list, leaf(list.recorder, "a number", i));
        tsim_part_add(&list, tsim_inverse(leaf(list.recorder, "what is taken away", 90)));
        struct tsim_amount sum = tsim_sum_of(&list, "sum", "of them", TSIM_COUNT);
        ck_assert_double_eq(sum.value, 100);
        if (recorded)
            ck_assert_int_eq(sum.term->n_parts, 20); /* the 0 is left out */
    }
}

TSIM_TEST(equal_nodes_are_one) {
    struct tsim_amount a = leaf(&recorder, "a", 1), b = leaf(&recorder, "b", 1);
    ck_assert_ptr_eq(leaf(&recorder, "a", 1).term, a.term);
    ck_assert_ptr_ne(a.term, b.term);
    ck_assert_ptr_ne(leaf(&recorder, "a", 2).term, a.term);
    struct tsim_amount sum = tsim_sum(&recorder, "s", "a + b", TSIM_COUNT, TSIM_PARTS(a, b));
    ck_assert_ptr_eq(tsim_sum(&recorder, "s", "a + b", TSIM_COUNT, TSIM_PARTS(a, b)).term, sum.term);
    ck_assert_ptr_ne(tsim_sum(&recorder, "s", "a + b", TSIM_COUNT, TSIM_PARTS(b, a)).term, sum.term);
    ck_assert_ptr_ne(tsim_product(&recorder, "s", "a + b", TSIM_COUNT, TSIM_PARTS(a, b)).term, sum.term);
}

TSIM_TEST(an_outcome_keeps_what_went_in) {
    struct tsim_amount in = leaf(&recorder, "in", 3);
    struct tsim_amount out = tsim_outcome(&recorder, "out", "simulated", 5, TSIM_TIME_S, TSIM_PARTS(in));
    ck_assert_double_eq(tsim_term_by_rule(out.term), 5);
    ck_assert_ptr_eq(out.term->parts[0].term, in.term);
    ck_assert_double_eq(tsim_outcome(NULL, "out", "simulated", 5, TSIM_TIME_S, NULL, 0).value, 5);
}

TSIM_TEST(constants_say_where_they_were_read) {
    struct tsim_amount read =
        tsim_of_file(&recorder, TSIM_CATALOGUE_ACCELERATORS, "h100-sxm", "power.memory", 0.35, TSIM_FRACTION);
    ck_assert_str_eq(read.term->name, "h100-sxm power.memory");
    ck_assert_ptr_nonnull(read.term->status);
    read = tsim_of_file(&recorder, TSIM_CATALOGUE_ACCELERATORS, "h100-sxm", "power.memory", 0.36, TSIM_FRACTION);
    ck_assert_str_eq(read.term->source, "the scenario, not the catalogue");
    ck_assert_ptr_null(read.term->status);
    read = tsim_of_file(&recorder, TSIM_CATALOGUE_ACCELERATORS, "of-a-test", "memory", 1, TSIM_BYTES);
    ck_assert_str_eq(read.term->source, "the scenario, not the catalogue");
    ck_assert_str_eq(tsim_of_scenario(&recorder, "cluster.nodes", 4, TSIM_COUNT).term->source, "the scenario");
    ck_assert_ptr_null(
        tsim_of_file(NULL, TSIM_CATALOGUE_ACCELERATORS, "h100-sxm", "power.memory", 0.35, TSIM_FRACTION).term);
}

TSIM_TEST(text_needs_a_recorder) {
    struct tsim_term_recorder *none = NULL, *some = &recorder;
    ck_assert_ptr_null(tsim_record_text(none, "%d", 1));
    ck_assert_str_eq(tsim_record_text(some, "%d nodes", 2), "2 nodes");
}

TSIM_MAIN(CHECKS_LIMIT_S, setup, teardown)
