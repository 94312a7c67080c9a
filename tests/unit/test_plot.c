/* Curves in braille: where the dots are, worked out by hand. A character has two dots across and four up. */
#include "report/terminal/plot.h"
#include "support/check_main.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static char *text;
static const char *lines[16];
static int n_lines;

/* Draws 22 columns: 12 of labels, a blank, and 8 characters or 16 dots. */
static void draw(const struct tsim_plot *plot) {
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const struct tsim_style style = {.width = 22};
    n_lines = 0;
    tsim_plot_print(out, &style, plot);
    fclose(out);
    for (char *line = strtok(text, "\n"); line && n_lines < 16; line = strtok(NULL, "\n"))
        lines[n_lines++] = line;
}

/* Returns the character at a column of the picture; "" beyond the end of its line. */
static const char *cell(int row, int column) {
    static char found[4];
    const char *at = lines[row] + 13;
    for (; column > 0 && *at; column--)
        at += *at == ' ' ? 1 : 3;
    snprintf(found, sizeof found, "%.*s", *at == ' ' ? 1 : 3, at);
    return found;
}

/* The curve y = x goes from 1 to 16 over 16 dots across and 32 up: two dots up for each across, from corner to
 * corner. */
TSIM_TEST(diagonal) {
    const double x[] = {1, 4, 16};
    const struct tsim_plot_curve curve = {.y = x};
    draw(&(struct tsim_plot){.x = x, .n = 3, .curves = &curve, .n_curves = 1, .unit = "apples/s", .mark = 3});
    ck_assert_int_eq(n_lines, 9); /* eight rows, and the numbers below */
    for (int row = 0; row < 8; row++)
        for (int column = 0; column < 8; column++) {
            bool is_on = column == 7 - row;
            ck_assert_msg(is_on ? strcmp(cell(row, column), " ") != 0 && cell(row, column)[0]
                                : strcmp(cell(row, column), " ") == 0 || !cell(row, column)[0],
                          "row %d, column %d", row, column);
        }
    ck_assert_ptr_nonnull(strstr(lines[0], "16 "));
    ck_assert_ptr_nonnull(strstr(lines[1], "apples/s"));
    ck_assert_str_eq(lines[8] + 13, "1   4 16");
    free(text);
}

/* A line goes up at x = 1, the leftmost dots. */
TSIM_TEST(mark) {
    const double x[] = {1, 16}, y[] = {16, 1};
    const struct tsim_plot_curve curve = {.y = y};
    draw(&(struct tsim_plot){.x = x, .n = 2, .curves = &curve, .n_curves = 1, .unit = "", .mark = 0});
    for (int row = 0; row < 8; row++)
        ck_assert_str_ne(cell(row, 0), " ");
    ck_assert_str_eq(cell(0, 7), "");
    free(text);
}

TSIM_TEST(nothing_to_draw) {
    const double x[] = {1, 2, 4}, flat[] = {3, 3, 3}, gaps[] = {1, (double)NAN, 4},
                 none[] = {(double)NAN, (double)NAN, (double)NAN};
    const double *const nothing[] = {flat, none};
    for (int i = 0; i < 2; i++) {
        const struct tsim_plot_curve curve = {.y = nothing[i]};
        draw(&(struct tsim_plot){.x = x, .n = 3, .curves = &curve, .n_curves = 1, .unit = "", .mark = 3});
        ck_assert_int_eq(n_lines, 0);
        free(text);
    }
    const struct tsim_plot_curve one = {.y = x}, gap = {.y = gaps};
    draw(&(struct tsim_plot){.x = x, .n = 1, .curves = &one, .n_curves = 1, .unit = "", .mark = 3});
    ck_assert_int_eq(n_lines, 0);
    free(text);
    draw(&(struct tsim_plot){.x = x, .n = 3, .curves = &gap, .n_curves = 1, .unit = "", .mark = 3});
    for (int row = 0; row < 8; row++)
        ck_assert_str_eq(cell(row, 3), ""); /* lines on both sides of the gap are left out */
    free(text);
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
