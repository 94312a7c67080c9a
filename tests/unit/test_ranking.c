/* Tests which points are the best, and which objectives and limits make sense. */
#include "config/text/document.h"
#include "study/search/ranking.h"
#include "support/arena_rig.h"

#include <math.h>
#include <string.h>

static struct tsim_point point_at(int64_t position, double tokens_per_s, double days) {
    struct tsim_point point = {.position = position, .status = TSIM_POINT_OK};
    for (int i = 0; i < TSIM_N_OUTCOMES; i++)
        point.outcome.value[i] = (double)NAN;
    point.outcome.value[TSIM_OUTCOME_TOKENS_PER_S] = tokens_per_s;
    point.outcome.value[TSIM_OUTCOME_DAYS] = days;
    return point;
}

static enum tsim_status read_ranking(const char *yaml, const char *objective, struct tsim_ranking *ranking) {
    const struct tsim_value *section = NULL;
    ck_assert_int_eq(tsim_document_parse(&arena, "s.yaml", yaml, strlen(yaml), &section, &diags), TSIM_OK);
    return tsim_ranking_read(&arena, section, objective, ranking, &diags);
}

/* Returns the positions of the best, best first. */
static const char *best_of(const struct tsim_ranking *ranking, const struct tsim_point *points, size_t n_points) {
    struct tsim_best best = {.n = 0};
    const char *text = "";
    for (size_t i = 0; i < n_points; i++)
        tsim_best_offer(&best, ranking, &points[i]);
    for (size_t i = 0; i < best.n; i++)
        text = tsim_arena_printf(&arena, "%s %lld", text, (long long)best.points[i].position);
    return text;
}

/* Seven points of 3 1 4 1 5 9 2 tokens/s: 9 5 4 3 2 are the five best, at positions 5 4 2 0 6. */
TSIM_TEST(the_five_best) {
    static const double TOKENS[] = {3, 1, 4, 1, 5, 9, 2};
    struct tsim_point points[7];
    struct tsim_ranking ranking;
    for (int i = 0; i < 7; i++)
        points[i] = point_at(i, TOKENS[i], 10 * TOKENS[i]);
    ck_assert_int_eq(read_ranking("{}", NULL, &ranking), TSIM_OK);
    ck_assert_str_eq(best_of(&ranking, points, 7), " 5 4 2 0 6");
    ck_assert_int_eq(read_ranking("objective: mfu", "days", &ranking), TSIM_OK);
    ck_assert_str_eq(best_of(&ranking, points, 7), " 1 3 6 0 2");
    points[5].status = TSIM_POINT_DOES_NOT_FIT;
    points[1].outcome.value[TSIM_OUTCOME_DAYS] = (double)NAN;
    ck_assert_str_eq(best_of(&ranking, points, 7), " 3 6 0 2 4");
}

TSIM_TEST(equal_ones_by_position) {
    struct tsim_point points[3] = {point_at(2, 7, 1), point_at(0, 7, 1), point_at(1, 7, 1)};
    struct tsim_ranking ranking;
    ck_assert_int_eq(read_ranking("{}", NULL, &ranking), TSIM_OK);
    ck_assert_str_eq(best_of(&ranking, points, 3), " 0 1 2");
}

/* Days are at most 20 and tokens/s at least 2: of (1, 10) (2, 20) (3, 30) the second is left. */
TSIM_TEST(limits) {
    struct tsim_point points[3] = {point_at(0, 1, 10), point_at(1, 2, 20), point_at(2, 3, 30)};
    struct tsim_ranking ranking;
    ck_assert_int_eq(read_ranking("limits: {days: 20, tokens_per_s: 2}", NULL, &ranking), TSIM_OK);
    ck_assert_str_eq(best_of(&ranking, points, 3), " 1");
    ck_assert_int_eq(read_ranking("limits: {cost: 20 M USD}", NULL, &ranking), TSIM_OK);
    ck_assert_double_eq(ranking.limits[0].value, 20e6);
    ck_assert_str_eq(best_of(&ranking, points, 3), ""); /* their cost is not known */
}

TSIM_TEST(mistakes) {
    static const struct {
        const char *yaml, *objective, *says;
    } CASES[] = {{"objective: tokens_per_z", NULL, "no figure"},
                 {"objective: [mfu]", NULL, "expected the name"},
                 {"objective: memory.fits", NULL, "neither better"},
                 {"{}", "speed", "no figure"},
                 {"limits: {dayz: 3}", NULL, "no figure"},
                 {"limits: {days: soon}", NULL, ""},
                 {"limits: {cost: 3 GB}", NULL, ""},
                 {"limits: {days: [3]}", NULL, "expected a number"},
                 {"limits: 3", NULL, "expected figures with a value"}};
    struct tsim_ranking ranking;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ck_assert_msg(read_ranking(CASES[i].yaml, CASES[i].objective, &ranking) != TSIM_OK, "%s", CASES[i].yaml);
        ck_assert_uint_eq(diags.n_errors, 1);
        ck_assert_msg(strstr(diags.items[0].message, CASES[i].says), "%s", diags.items[0].message);
        tear_down();
        set_up();
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
