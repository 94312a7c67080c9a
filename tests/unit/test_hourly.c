/* Profiles by the hour: files as exports have them, lists, and everything that is refused, with its place. */
#include "config/files/catalogue_read.h"
#include "config/text/document.h"
#include "support/arena_rig.h"

#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/tsim-hourly-XXXXXX";

static void set_up_folder(void) {
    set_up();
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void tear_down_folder(void) {
    ck_assert_int_eq(system(tsim_arena_printf(&arena, "rm -rf %s", folder)), 0);
    tear_down();
}

/* A scenario in the folder reads this under a key of the YAML. */
static struct tsim_hourly read_value(const char *yaml) {
    const char *name = tsim_arena_printf(&arena, "%s/s.yaml", folder);
    const char *text = tsim_arena_printf(&arena, "prices: %s\n", yaml);
    struct tsim_reader reader = {.arena = &arena, .diags = &diags};
    const struct tsim_value *root;
    struct tsim_hourly profile = {NULL, 0};
    ck_assert_int_eq(tsim_document_parse(&arena, name, text, strlen(text), &root, &diags), TSIM_OK);
    tsim_price_profile_read(&reader, tsim_value_find(root, "prices"), "prices", &profile);
    ck_assert(diags.n_errors == 0 || profile.n_hours == 0);
    return profile;
}

static struct tsim_hourly read_lines(const char *text) {
    FILE *file = fopen(tsim_arena_printf(&arena, "%s/hours.csv", folder), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    return read_value("hours.csv");
}

static const double KWH = 3.6e6;

/* The last cell of a line counts, whatever stands between cells, around them and between lines. */
TSIM_TEST(lines_of_exports) {
    static const char *const TEXTS[] = {
        "0.36 USD/kWh\n0.72 USD/kWh\n",
        "hour,USD/kWh\n0,0.36\n1,0.72\n",
        "hour;USD/kWh\r\n0;0.36\r\n1;0.72\r\n",
        "USD/MWh\n360\n720",
        "# of a day\n\n   \t \n2024-01-01T00:00\t 0.36 USD/kWh  \n2024-01-01T01:00\t0.72 USD/kWh\n\n",
        "day,hour,USD/kWh\r1,0,3.6e-1\r1,1,+7.2E-1\r",
    };
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        struct tsim_hourly profile = read_lines(TEXTS[i]);
        ck_assert_msg(profile.n_hours == 2 && diags.n_items == 0, "%s", TEXTS[i]);
        ck_assert_double_eq_tol(profile.values[0], 0.36 / KWH, 1e-20);
        ck_assert_double_eq_tol(profile.values[1], 0.72 / KWH, 1e-20);
    }
}

TSIM_TEST(lists) {
    struct tsim_hourly profile = read_value("[0.36 USD/kWh, 0 USD/kWh, 720 USD/MWh]");
    ck_assert_uint_eq(profile.n_hours, 3);
    ck_assert_double_eq(profile.values[1], 0);
    ck_assert_double_eq_tol(profile.values[2], 0.72 / KWH, 1e-20);
}

static const struct {
    const char *yaml, *lines; /* a value, or the lines of a file */
    const char *message;
    int line, column;
} MISTAKES[] = {
    {NULL, "", "no hours", 0, 0},
    {NULL, "# nothing\nUSD/kWh\n", "no hours", 0, 0},
    {NULL, "USD/kWh\n0.1\n-0.2\n", "an hour below 0: '-0.2'", 3, 1},
    {NULL, "hour,USD/kWh\n0,0.1\n1,cheap\n", "'cheap' does not start", 3, 3},
    {NULL, "0.1 USD/kWh\n0.1 W\n", NULL, 2, 1},
    {NULL, "0.1\n", "expected money per energy", 1, 1},
    {"nowhere.csv", NULL, NULL, 1, 9},
    {".", NULL, NULL, 1, 9},
    {"{a: b}", NULL, "file, found a mapping", 1, 9},
    {"[]", NULL, "0 hours", 1, 9},
    {"[0.1 USD/kWh, 5 km]", NULL, NULL, 1, 23},
    {"[-1 USD/kWh]", NULL, NULL, 1, 10},
};

TSIM_TEST_ROWS(mistakes_have_a_place, MISTAKES) {
    struct tsim_hourly profile = MISTAKES[_i].lines ? read_lines(MISTAKES[_i].lines) : read_value(MISTAKES[_i].yaml);
    ck_assert_uint_eq(profile.n_hours, 0);
    ck_assert_uint_eq(diags.n_errors, 1);
    if (MISTAKES[_i].message)
        assert_says(diags.items[0].message, MISTAKES[_i].message);
    ck_assert_int_eq(diags.items[0].at.line, MISTAKES[_i].line);
    ck_assert_int_eq(diags.items[0].at.column, MISTAKES[_i].column);
}

/* A leap year of hours, and not one more; not more bytes than a file of them can sensibly have. */
TSIM_TEST(limits) {
    char *text = tsim_arena_alloc(&arena, 2000000);
    for (int i = 0; i < TSIM_PROFILE_MOST_HOURS; i++)
        strcat(text + 14 * (size_t)i, "0.100 USD/kWh\n");
    ck_assert_uint_eq(read_lines(text).n_hours, TSIM_PROFILE_MOST_HOURS);
    strcat(text, "0.100 USD/kWh\n");
    ck_assert_uint_eq(read_lines(text).n_hours, 0);
    ck_assert_str_eq(diags.items[0].message, "more than the 8784 hours of a year");
    ck_assert_int_eq(diags.items[0].at.line, 8785);
    memset(text, '#', 1000001);
    ck_assert_uint_eq(read_lines(text).n_hours, 0);
    ck_assert_int_eq(diags.items[1].status, TSIM_ERR_LIMIT);
    char *list = tsim_arena_alloc(&arena, 200000);
    strcpy(list, "[0 USD/kWh");
    for (int i = 0; i < TSIM_PROFILE_MOST_HOURS; i++)
        strcat(list + 10 + 11 * (size_t)i, ",0 USD/kWh ");
    strcat(list, "]");
    ck_assert_uint_eq(read_value(list).n_hours, 0);
    assert_says(diags.items[2].message, "8785 hours");
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up_folder, tear_down_folder)
