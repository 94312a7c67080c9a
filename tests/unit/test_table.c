/* Tables for people: as wide as they are, or as wide as a terminal is. */
#include "report/terminal/table.h"
#include "support/arena_rig.h"

#include <stdlib.h>
#include <string.h>

static const struct tsim_column COLUMNS[] = {{"n", true}, {"what", false}, {"value", true}, {"more", true}};
static const char *const CELLS[] = {"1", "the first of them all",  "3.5 GB", "1",
                                    "2", "second-without-blanks!", "10 GB",  "22"};

/* The table as it is printed, in the arena. */
static const char *printed(int width, size_t n_columns) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const struct tsim_style style = {.width = 80, .table_width = width};
    struct tsim_text_table table;
    tsim_text_table_init(&table, &arena, COLUMNS, n_columns);
    for (size_t row = 0; row < 2; row++)
        for (size_t c = 0; c < n_columns; c++)
            tsim_text_table_add(&table, CELLS[row * 4 + c]);
    tsim_text_table_print(&table, &style, out);
    fclose(out);
    const char *copy = tsim_arena_strdup(&arena, text);
    free(text);
    return copy;
}

TSIM_TEST(without_a_width_it_is_as_wide_as_it_is) {
    ck_assert_str_eq(printed(0, 4), "n  what                     value  more\n"
                                    "1  the first of them all   3.5 GB     1\n"
                                    "2  second-without-blanks!   10 GB    22\n");
    ck_assert_str_eq(printed(39, 4), printed(0, 4));
}

TSIM_TEST(a_text_is_broken_at_blanks_and_else_where_it_must_be) {
    ck_assert_str_eq(printed(34, 4), "n  what                value  more\n"
                                     "1  the first of them  3.5 GB     1\n"
                                     "   all\n"
                                     "2  second-without-bl   10 GB    22\n"
                                     "   anks!\n");
}

/* 16 is the least that a text is narrowed to. */
TSIM_TEST(columns_that_have_no_room_follow_below) {
    ck_assert_str_eq(printed(30, 4), "n  what\n"
                                     "1  the first of them all\n"
                                     "2  second-without-blanks!\n"
                                     "\n"
                                     "n   value  more\n"
                                     "1  3.5 GB     1\n"
                                     "2   10 GB    22\n");
}

TSIM_TEST(nothing_is_wider_than_the_terminal) {
    for (int width = 20; width < 50; width++)
        for (const char *line = printed(width, 4), *end; (end = strchr(line, '\n')); line = end + 1)
            ck_assert_msg(end - line <= width, "%d: %.*s", width, (int)(end - line), line);
}

TSIM_TEST(columns_are_left_out_at_the_end) {
    const bool is_number[] = {true, false, true, true};
    const struct tsim_style none = {.width = 80}, narrow = {.width = 80, .table_width = 30};
    int as_they_are[] = {1, 40, 6, 4}, narrowed[] = {1, 40, 6, 4};
    ck_assert_uint_eq(tsim_columns_fit(&none, as_they_are, is_number, 4), 4);
    ck_assert_int_eq(as_they_are[1], 40);
    ck_assert_uint_eq(tsim_columns_fit(&narrow, narrowed, is_number, 4), 3);
    ck_assert_int_eq(narrowed[1], 30 - 1 - 6 - 2 * 2);
}

TSIM_TEST(what_is_cut_says_so) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    tsim_text_cut(out,
                  "\xc3\xa4"
                  "bcdefgh",
                  6);
    fputc('|', out);
    tsim_text_cut(out, "abc", -6);
    fputc('|', out);
    tsim_text_cut(out, "abcdef", 6);
    fclose(out);
    ck_assert_str_eq(text, "\xc3\xa4"
                           "bcd..|   abc|abcdef");
    free(text);
}

/* Not a terminal: only COLUMNS says a width. */
TSIM_TEST(columns_say_a_width) {
    FILE *out = tmpfile();
    unsetenv("COLUMNS");
    ck_assert_int_eq(tsim_style_of(out).table_width, 0);
    ck_assert_int_eq(tsim_style_of(out).width, 80);
    setenv("COLUMNS", "120", 1);
    ck_assert_int_eq(tsim_style_of(out).table_width, 120);
    ck_assert_int_eq(tsim_style_of(out).width, 100);
    setenv("COLUMNS", "wide", 1);
    ck_assert_int_eq(tsim_style_of(out).table_width, 0);
    fclose(out);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
