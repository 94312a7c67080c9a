/* Tests which points a sweep has, in which order, and what is wrong with axes that are none. */
#include "config/text/document.h"
#include "study/search/space.h"
#include "support/arena_rig.h"

#include <string.h>

static const struct tsim_value *section_of(const char *yaml) {
    const struct tsim_value *section = NULL;
    ck_assert_int_eq(tsim_document_parse(&arena, "s.yaml", yaml, strlen(yaml), &section, &diags), TSIM_OK);
    return section;
}

static enum tsim_status read_section(const char *yaml, struct tsim_space *space) {
    const struct tsim_space_words none = {NULL, 0, NULL, 0};
    return tsim_space_read(&arena, section_of(yaml), &none, space, &diags);
}

/* Returns all points, one line each. */
static const char *points_of(const struct tsim_space *space) {
    const char *text = "";
    for (int64_t i = 0; i < space->n_points; i++)
        text = tsim_arena_printf(&arena, "%s%s\n", text, tsim_space_set_json(&arena, space, i));
    return text;
}

static void assert_points(const char *yaml, const char *points) {
    struct tsim_space space;
    ck_assert_int_eq(read_section(yaml, &space), TSIM_OK);
    ck_assert_str_eq(points_of(&space), points);
}

static void assert_refused(const char *yaml, const char *says) {
    struct tsim_space space;
    ck_assert_int_ne(read_section(yaml, &space), TSIM_OK);
    ck_assert_uint_ge(diags.n_errors, 1);
    ck_assert_msg(strstr(diags.items[0].message, says), "%s", diags.items[0].message);
}

TSIM_TEST(the_first_axis_changes_slowest) {
    assert_points("axes: {cluster.nodes: [1, 2], parallelism.tensor: [4, 8]}",
                  "{\"cluster.nodes\": 1, \"parallelism.tensor\": 4}\n"
                  "{\"cluster.nodes\": 1, \"parallelism.tensor\": 8}\n"
                  "{\"cluster.nodes\": 2, \"parallelism.tensor\": 4}\n"
                  "{\"cluster.nodes\": 2, \"parallelism.tensor\": 8}\n");
}

TSIM_TEST(zipped_keys_change_together) {
    assert_points("{axes: {a: [1, 2]}, zip: [{b: [x, y], c: [3, 4]}]}",
                  "{\"a\": 1, \"b\": \"x\", \"c\": 3}\n{\"a\": 1, \"b\": \"y\", \"c\": 4}\n"
                  "{\"a\": 2, \"b\": \"x\", \"c\": 3}\n{\"a\": 2, \"b\": \"y\", \"c\": 4}\n");
}

TSIM_TEST(listed_points_may_set_different_keys) {
    struct tsim_space space;
    ck_assert_int_eq(read_section("points: [{a: 1, b: 2}, {b: 3}, {}]", &space), TSIM_OK);
    ck_assert_str_eq(points_of(&space), "{\"a\": 1, \"b\": 2}\n{\"b\": 3}\n{}\n");
    ck_assert_uint_eq(space.n_paths, 2);
    ck_assert_uint_eq(space.most_settings, 2);
}

/* Numbers of JSON stay numbers, other words become strings; what YAML reads is as it was written. */
TSIM_TEST(values_of_every_shape) {
    struct tsim_space space;
    const struct tsim_space_setting *settings[1];
    ck_assert_int_eq(
        read_section("axes: {k: [1.5e3, 007, '8', 80 GB, true, auto, {every: 4}, [a, 'b, c'], \"q\\\"\"]}", &space),
        TSIM_OK);
    static const char *const JSON[] = {"1.5e3",    "\"007\"",  "\"8\"",          "\"80 GB\"",
                                       "true",     "\"auto\"", "{\"every\": 4}", "[\"a\", \"b, c\"]",
                                       "\"q\\\"\""};
    static const char *const YAML[] = {"1.5e3",          "007",           "\"8\"",    "80 GB", "true", "auto",
                                       "{\"every\": 4}", "[a, \"b, c\"]", "\"q\\\"\""};
    ck_assert_int_eq(space.n_points, 9);
    for (int64_t i = 0; i < space.n_points; i++) {
        ck_assert_uint_eq(tsim_space_settings(&space, i, settings), 1);
        ck_assert_str_eq(settings[0]->json, JSON[i]);
        ck_assert_str_eq(settings[0]->text, YAML[i]);
    }
}

/* JSON readers differ on what they do with numbers beyond 64 bits or beyond doubles: those are written as text. */
TSIM_TEST(numbers_that_are_too_large_for_json) {
    assert_points("axes: {k: [1e999, 123456789012345678901234567890, 1e18]}",
                  "{\"k\": \"1e999\"}\n{\"k\": \"123456789012345678901234567890\"}\n{\"k\": 1e18}\n");
}

TSIM_TEST(the_command_line_takes_the_place_of_the_section) {
    static const char *const VARY[] = {"t=1,2", "r={every: 4},[1,2],'x,y'"}, *const ZIP[] = {"a=1,2; b=c,d"};
    const struct tsim_space_words words = {VARY, 2, ZIP, 1};
    struct tsim_space space;
    ck_assert_int_eq(tsim_space_read(&arena, section_of("axes: {z: [1]}"), &words, &space, &diags), TSIM_OK);
    ck_assert_int_eq(space.n_points, 2 * 3 * 2);
    ck_assert_str_eq(tsim_space_set_json(&arena, &space, 0),
                     "{\"t\": 1, \"r\": {\"every\": 4}, \"a\": 1, \"b\": \"c\"}");
    ck_assert_str_eq(tsim_space_set_json(&arena, &space, 11), "{\"t\": 2, \"r\": \"x,y\", \"a\": 2, \"b\": \"d\"}");
}

TSIM_TEST(mistakes_in_the_section) {
    static const struct {
        const char *yaml, *says;
    } CASES[] = {
        {"objective: mfu", "nothing to vary"},
        {"axis: {a: [1]}", "unknown key 'axis'"},
        {"axes: [1, 2]", "expected keys with lists"},
        {"axes: {a: 1}", "found a single value"},
        {"axes: {a: []}", "the list is empty"},
        {"zip: [{a: [1, 2], b: [1]}]", "1 values beside the 2 of 'a'"},
        {"{axes: {a: [1]}, zip: [{a: [2]}]}", "'a' is in two axes"},
        {"zip: {a: [1]}", "values, found a mapping"},
        {"points: [3]", "expected keys with a value each"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        assert_refused(CASES[i].yaml, CASES[i].says);
        tear_down();
        set_up();
    }
}

/* A value that stands in an axis a second time is the same point once more; two that begin alike are not. */
TSIM_TEST(what_is_listed_twice) {
    static const struct {
        const char *yaml, *says; /* NULL: nothing */
        int column;
    } CASES[] = {
        {"axes: {a: [4, 8, 4, 8]}", "4 is listed twice", 18},
        {"axes: {a: [{every: 4}, {every: 8}, {every: 4}]}", "is listed twice", 36},
        {"zip: [{a: [1, 2, 1], b: [3, 3, 4]}]", NULL, 0},
        {"zip: [{a: [1, 2, 1], b: [3, 3, 3]}]", "a point is listed twice", 18},
        {"points: [{a: 1}, {a: 1, b: 2}, {b: 2}]", NULL, 0},
        {"points: [{a: 1, b: 2}, {b: 2}, {a: 1, b: 2}]", "a point is listed twice", 36},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct tsim_space space;
        ck_assert_int_eq(read_section(CASES[i].yaml, &space), TSIM_OK);
        ck_assert_uint_eq(diags.n_warnings, CASES[i].says ? 1 : 0);
        ck_assert_uint_eq(diags.n_errors, 0);
        if (CASES[i].says) {
            ck_assert_msg(strstr(diags.items[0].message, CASES[i].says), "%s", diags.items[0].message);
            ck_assert_int_eq(diags.items[0].at.column, CASES[i].column);
        }
        tear_down();
        set_up();
    }
}

TSIM_TEST(mistakes_on_the_command_line) {
    static const char *const WORDS[] = {"t", "=1", "t=", "t=1,,2", "t=1,", "t={"};
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
        const struct tsim_space_words words = {&WORDS[i], 1, NULL, 0};
        struct tsim_space space;
        ck_assert_msg(tsim_space_read(&arena, NULL, &words, &space, &diags) != TSIM_OK, "%s", WORDS[i]);
    }
    ck_assert_uint_eq(diags.n_errors, sizeof WORDS / sizeof WORDS[0]);
}

/* 10^4 values on each of four axes are 10^16 points. */
TSIM_TEST(too_many_points) {
    const char *list = "0";
    for (int i = 1; i < 2000; i++)
        list = tsim_arena_printf(&arena, "%s,%d", list, i);
    const char *vary[4];
    for (int i = 0; i < 4; i++)
        vary[i] = tsim_arena_printf(&arena, "k%d=%s", i, list);
    struct tsim_space space;
    const struct tsim_space_words three = {vary, 3, NULL, 0}, four = {vary, 4, NULL, 0};
    ck_assert_int_eq(tsim_space_read(&arena, NULL, &three, &space, &diags), TSIM_OK);
    ck_assert_int_eq(space.n_points, INT64_C(8000000000));
    ck_assert_str_eq(tsim_space_set_json(&arena, &space, space.n_points - 1),
                     "{\"k0\": 1999, \"k1\": 1999, \"k2\": 1999}");
    ck_assert_int_eq(tsim_space_read(&arena, NULL, &four, &space, &diags), TSIM_ERR_LIMIT);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
