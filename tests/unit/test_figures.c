/* Tests one table written in three ways. */
#include "report/terminal/figures.h"
#include "support/arena_rig.h"

#include <math.h>
#include <string.h>

static struct tsim_figures figures;
static char text[4096];

static const struct tsim_figure_column COLUMNS[] = {{"name", "name", TSIM_FIGURE_TEXT},
                                                    {"size", "size_bytes", TSIM_FIGURE_BYTES},
                                                    {NULL, "ratio", TSIM_FIGURE_NUMBER},
                                                    {"for people", NULL, TSIM_FIGURE_TEXT}};

static void add_row(const char *name, double bytes, double ratio, const char *people) {
    tsim_figures_add_text(&figures, name);
    tsim_figures_add(&figures, bytes);
    tsim_figures_add(&figures, ratio);
    tsim_figures_add_text(&figures, people);
}

static void set_up_figures(void) {
    set_up();
    tsim_figures_init(&figures, &arena, "things", COLUMNS, 4);
    add_row("weights, \"bf16\"", 2.5e9, 0.1, "yes");
    add_row("a name of rather many letters", (double)NAN, 1, NULL);
}

static const char *screen(int width) {
    struct tsim_style style = {.width = width};
    FILE *out = fmemopen(text, sizeof text, "w");
    tsim_figures_print(&figures, &style, out);
    fclose(out);
    return text;
}

TSIM_TEST(people_get_units_and_no_trailing_blanks) {
    ck_assert_str_eq(screen(80), "name                              size  for people\n"
                                 "weights, \"bf16\"                2.50 GB  yes\n"
                                 "a name of rather many letters\n");
}

/* 50 columns are needed; of 40 the first column gives way, below 10 columns of it the last. */
TSIM_TEST(texts_give_way) {
    ck_assert_str_eq(screen(40), "name                    size  for people\n"
                                 "weights, \"bf16\"      2.50 GB  yes\n"
                                 "a name of rather ..\n");
    ck_assert_str_eq(screen(20), "name           size  for people\n"
                                 "weights,..  2.50 GB  yes\n"
                                 "a name o..\n");
}

TSIM_TEST(csv_is_si_and_quoted) {
    FILE *out = fmemopen(text, sizeof text, "w");
    tsim_figures_print_csv(&figures, out);
    fclose(out);
    ck_assert_str_eq(text, "table,name,size_bytes,ratio\n"
                           "things,\"weights, \"\"bf16\"\"\",2500000000,0.1\n"
                           "things,a name of rather many letters,,1\n");
}

TSIM_TEST(json_leaves_out_what_is_not) {
    struct tsim_json *root = tsim_json_new_object();
    FILE *out = fmemopen(text, sizeof text, "w");
    tsim_figures_json(&figures, root);
    tsim_json_write(root, out);
    tsim_json_release(root);
    fclose(out);
    ck_assert_str_eq(text, "{\n"
                           "  \"things\": [\n"
                           "    {\"name\": \"weights, \\\"bf16\\\"\", \"size_bytes\": 2500000000, \"ratio\": 0.1},\n"
                           "    {\"name\": \"a name of rather many letters\", \"ratio\": 1}\n"
                           "  ]\n"
                           "}\n");
}

TSIM_TEST(each_figure_has_its_text) {
    static const struct {
        enum tsim_figure figure;
        double number;
        const char *text;
    } FIGURES[] = {{TSIM_FIGURE_COUNT, 1024, "1,024"},
                   {TSIM_FIGURE_NUMBER, 1819.6, "1820"},
                   {TSIM_FIGURE_NUMBER, 1.8196, "1.82"},
                   {TSIM_FIGURE_AMOUNT, 5.49e11, "549 G"},
                   {TSIM_FIGURE_SECONDS, 0, "0 s"},
                   {TSIM_FIGURE_SECONDS, 0.25, "250 ms"},
                   {TSIM_FIGURE_BYTES_PER_S, 2.68e12, "2.68 TB/s"},
                   {TSIM_FIGURE_FLOPS_PER_S, 6.12e14, "612 TFLOP/s"},
                   {TSIM_FIGURE_SHARE, 0.1234, "12.3 %"},
                   {TSIM_FIGURE_SHARE, 1e-5, "<0.1 %"},
                   {TSIM_FIGURE_CHANGE, -0.0123, "-1.23 %"},
                   {TSIM_FIGURE_SIGNED, 0.1234, "+0.123"},
                   {TSIM_FIGURE_SECONDS, (double)NAN, ""}};
    for (size_t i = 0; i < sizeof FIGURES / sizeof FIGURES[0]; i++)
        ck_assert_str_eq(tsim_figure_text(FIGURES[i].figure, FIGURES[i].number, text, sizeof text), FIGURES[i].text);
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up_figures, tear_down)
