/* Conditions on a point: what holds, in which order operators bind, and where a mistake is shown. */
#include "study/search/filter.h"
#include "support/arena_rig.h"

#include <math.h>
#include <string.h>

static struct tsim_point point; /* fits, mfu 0.4, step 2 s, peak 70 GB, no campaign */

static void set_up_point(void) {
    set_up();
    point = (struct tsim_point){.status = TSIM_POINT_OK, .outcome.bottleneck = "memory"};
    for (int i = 0; i < TSIM_N_OUTCOMES; i++)
        point.outcome.value[i] = (double)NAN;
    point.outcome.value[TSIM_OUTCOME_FITS] = 1;
    point.outcome.value[TSIM_OUTCOME_MFU] = 0.4;
    point.outcome.value[TSIM_OUTCOME_HFU] = 0.5;
    point.outcome.value[TSIM_OUTCOME_STEP_TIME] = 2;
    point.outcome.value[TSIM_OUTCOME_MEMORY_PEAK] = 70e9;
    point.outcome.value[TSIM_OUTCOME_ACCELERATORS] = 64;
}

static bool holds(const char *text) {
    const struct tsim_filter *filter = NULL;
    enum tsim_status status = tsim_filter_parse(&arena, "--where", text, &filter, &diags);
    ck_assert_msg(status == TSIM_OK, "%s: %s", text, status == TSIM_OK ? "" : diags.items[0].message);
    return tsim_filter_holds(filter, &point);
}

TSIM_TEST(comparisons) {
    static const char *const TRUE[] = {
        "mfu > 0.3",         "mfu >= 0.4", "mfu<=0.4",    "mfu < hfu", "mfu == 0.4",          "mfu = 0.4",
        "mfu != 0.3",        "0.3 < mfu",  "memory.fits", "true",      "memory.fits == true", "throughput.mfu > 30 %",
        "accelerators = 64", "gpus > 8"};
    static const char *const FALSE[] = {"mfu > 0.4", "mfu < 0.4", "mfu != 0.4", "hfu <= mfu", "false", "0"};
    for (size_t i = 0; i < sizeof TRUE / sizeof TRUE[0]; i++)
        ck_assert_msg(holds(TRUE[i]), "%s", TRUE[i]);
    for (size_t i = 0; i < sizeof FALSE / sizeof FALSE[0]; i++)
        ck_assert_msg(!holds(FALSE[i]), "%s", FALSE[i]);
}

TSIM_TEST(numbers_take_the_unit_of_their_figure) {
    ck_assert(holds("step.time_s < 2.1 s and step.time_s > 1900 ms"));
    ck_assert(holds("step_time_s == 2"));
    ck_assert(holds("memory.peak_bytes < 80 GB and not memory.peak_bytes < 65 GiB"));
    ck_assert(!holds("(70.5 GB < memory.peak_bytes)"));
}

/* The word `and` binds before `or`, and `not` before both. */
TSIM_TEST(operators_bind) {
    ck_assert(holds("true or false and false"));
    ck_assert(!holds("(true or false) and false"));
    ck_assert(!holds("not true or false"));
    ck_assert(holds("not (true and false)"));
    ck_assert(holds("not not true"));
    ck_assert(holds("not mfu > 0.5 and memory.fits"));
}

TSIM_TEST(words) {
    ck_assert(holds("status == ok"));
    ck_assert(holds("bottleneck = memory and bottleneck.kind != compute"));
    ck_assert(!holds("ok != status"));
    point.outcome.bottleneck = NULL;
    ck_assert(!holds("bottleneck == memory"));
    ck_assert(!holds("bottleneck != memory"));
}

/* Days are of a campaign, which this point does not have. */
TSIM_TEST(a_figure_that_is_not_there_compares_false) {
    ck_assert(!holds("days < 60"));
    ck_assert(!holds("days >= 60"));
    ck_assert(!holds("days != 60"));
    ck_assert(!holds("days"));
    ck_assert(holds("not days < 60"));
    ck_assert(tsim_filter_holds(NULL, &point));
}

TSIM_TEST(mistakes_have_a_column) {
    static const struct {
        const char *text, *says, *hint;
        int column;
    } CASES[] = {
        {"mfuu > 0.3", "no figure is called 'mfuu'", "'mfu'", 1},
        {"memory.fits and gpu_count > 3", "no figure is called 'gpu_count'", "", 17},
        {"mfu >", "number, found the end", "", 6},
        {"mfu > 0.3 &", "", "", 7}, /* '&' belongs to no unit */
        {"(mfu > 0.3", "expected ')', found the end", "", 11},
        {"mfu > 0.3)", "unexpected ')'", "", 10},
        {"mfu > 0.3\rx", "", "", 7}, /* once without an end */
        {"", "number, found the end", "", 1},
        {"step.time_s < 5 GB", "", "", 15}, /* a time has no bytes */
        {"status > ok", "'status' is compared by == or != with a word", "", 1},
        {"status == okay", "'status' is compared by == or != with a word", "does_not_fit", 1},
        {"bottleneck", "'bottleneck' is compared", "bubble", 1},
        {"not", "number, found the end", "", 4},
        {"mfu > 0.3 mfu", "", "", 7},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const struct tsim_filter *filter = NULL;
        ck_assert_msg(tsim_filter_parse(&arena, "--where", CASES[i].text, &filter, &diags) == TSIM_ERR_SYNTAX, "%s",
                      CASES[i].text);
        ck_assert_uint_eq(diags.n_errors, 1);
        const struct tsim_diag *diag = &diags.items[0];
        ck_assert_msg(strstr(diag->message, CASES[i].says), "%s: %s", CASES[i].text, diag->message);
        ck_assert_msg(strstr(diag->hint, CASES[i].hint), "%s: %s", CASES[i].text, diag->hint);
        ck_assert_msg(diag->at.column == CASES[i].column, "%s: column %d", CASES[i].text, diag->at.column);
        ck_assert_str_eq(diag->at.file, "--where");
        ck_assert_str_eq(diag->source_line, CASES[i].text);
        tear_down();
        set_up_point();
    }
}

TSIM_TEST(nesting_has_an_end) {
    const struct tsim_filter *filter = NULL;
    char text[3000];
    memset(text, '(', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ck_assert_int_eq(tsim_filter_parse(&arena, "--where", text, &filter, &diags), TSIM_ERR_SYNTAX);
    ck_assert_str_eq(diags.items[0].message, "nested too deep");
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up_point, tear_down)
