#include "base/status.h"

#include "support/check_main.h"

#include <string.h>

static struct tsim_diags diags;
static const struct tsim_place PLACE = {"a.yaml", 3, 5};

static void set_up(void) {
    tsim_diags_init(&diags);
}

static void tear_down(void) {
    tsim_diags_release(&diags);
}

static const char *printed(void) {
    static char text[65536];
    FILE *out = fmemopen(text, sizeof text, "w");
    tsim_diags_print(&diags, out);
    fclose(out);
    return text;
}

/* Tabs stay tabs before the caret, so that it stands below its column however wide they are. */
TSIM_TEST(the_caret_stands_below_its_column) {
    struct tsim_diag *diag = tsim_diags_error(&diags, TSIM_ERR_UNIT, PLACE, "cluster.nodes", "no unit");
    diag->source_line = "\ta: 7";
    tsim_diag_hint(diag, "write %d kg", 7);
    ck_assert_str_eq(printed(), "a.yaml:3:5: error: cluster.nodes: no unit\n"
                                "  \ta: 7\n"
                                "  \t   ^\n"
                                "  write 7 kg\n");
}

/* A column behind the line's end points there; a line without a number, or a number without a line, shows none. */
TSIM_TEST(places_that_are_not_whole) {
    tsim_diags_warning(&diags, (struct tsim_place){"a.yaml", 1, 9}, "", "too short")->source_line = "ab";
    tsim_diags_warning(&diags, (struct tsim_place){"--set", 0, 0}, NULL, "no line")->source_line = "never shown";
    tsim_diags_warning(&diags, (struct tsim_place){NULL, 0, 0}, "", "nowhere");
    ck_assert_str_eq(printed(), "a.yaml:1:9: warning: too short\n  ab\n    ^\n"
                                "--set: warning: no line\n"
                                "warning: nowhere\n");
}

TSIM_TEST(long_messages_are_cut) {
    struct tsim_diag *diag = tsim_diags_error(&diags, TSIM_ERR_SCHEMA, PLACE, "", "%1000d", 7);
    tsim_diag_hint(diag, "%1000d", 7);
    ck_assert_uint_eq(strlen(diag->message), sizeof diag->message - 1);
    ck_assert_str_eq(diag->message + sizeof diag->message - 4, "...");
    ck_assert_str_eq(diag->hint + sizeof diag->hint - 4, "...");
}

TSIM_TEST(a_hundred_are_kept_and_the_rest_counted) {
    for (int i = 0; i < TSIM_MAX_DIAGS + 7; i++)
        tsim_diag_hint(tsim_diags_error(&diags, TSIM_ERR_RANGE, PLACE, "", "number %d", i), "hint");
    tsim_diags_warning(&diags, PLACE, "", "one more");
    ck_assert_uint_eq(diags.n_items, TSIM_MAX_DIAGS);
    ck_assert_uint_eq(diags.n_errors, TSIM_MAX_DIAGS + 7);
    const char *text = printed();
    ck_assert_ptr_nonnull(strstr(text, "number 99\n"));
    ck_assert_ptr_null(strstr(text, "number 100\n"));
    ck_assert_ptr_nonnull(strstr(text, "and 8 more\n"));
}

/* The first error's status, but a failing disk is what the user must hear of first. Errors beyond those that are kept
 * are a limit. */
TSIM_TEST(which_status_is_told) {
    tsim_diags_warning(&diags, PLACE, "", "no error");
    tsim_diags_error(&diags, TSIM_ERR_RANGE, PLACE, "", "first");
    tsim_diags_error(&diags, TSIM_ERR_UNIT, PLACE, "", "second");
    ck_assert_int_eq(tsim_diags_status(&diags, 0), TSIM_ERR_RANGE);
    ck_assert_int_eq(tsim_diags_status(&diags, 2), TSIM_ERR_UNIT);
    ck_assert_int_eq(tsim_diags_status(&diags, 3), TSIM_ERR_LIMIT);
    tsim_diags_error(&diags, TSIM_ERR_IO, PLACE, "", "third");
    ck_assert_int_eq(tsim_diags_status(&diags, 0), TSIM_ERR_IO);
}

TSIM_EXIT_TEST(a_bug_of_ours, 70) {
    TSIM_BUG("what %d", 7);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
