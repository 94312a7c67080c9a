/* Parsing of command lines against a command that takes every kind of option. */
#include "cli/commands.h"
#include "cli/options.h"
#include "support/arena_rig.h"

#include <string.h>

static const struct tsim_command COMMAND = {
    .name = "study",
    .operands = "SCENARIO...",
    .summary = "for the test",
    .examples = "tsim study a.yaml",
    .least_operands = 1,
    .most_operands = 2,
    .options = TSIM_HAS(TSIM_OPTION_SET) | TSIM_HAS(TSIM_OPTION_SEED) | TSIM_HAS(TSIM_OPTION_JSON) |
               TSIM_HAS(TSIM_OPTION_CSV) | TSIM_HAS(TSIM_OPTION_DB) | TSIM_HAS(TSIM_OPTION_NO_DB) |
               TSIM_HAS(TSIM_OPTION_JOBS) | TSIM_HAS(TSIM_OPTION_MAX_ERROR) | TSIM_HAS(TSIM_OPTION_QUIET),
};

enum { MOST_WORDS = 16 };

static struct tsim_arguments arguments;
static char complaint[1024];

/* Splits `line` at blanks, parses it, and keeps what was said on standard error in `complaint`. */
static bool parse(const char *line) {
    char *words[MOST_WORDS], *rest = tsim_arena_strdup(&arena, line);
    int n_words = 0;
    for (char *word = strtok(rest, " "); word; word = strtok(NULL, " "))
        words[n_words++] = word;
    memset(complaint, 0, sizeof complaint);
    FILE *err = fmemopen(complaint, sizeof complaint - 1, "w");
    bool is_parsed = tsim_options_parse(&arena, &COMMAND, n_words, words, &arguments, err);
    fclose(err);
    return is_parsed;
}

TSIM_TEST(operands_and_options_mix) {
    ck_assert(parse("a.yaml --quiet b.yaml"));
    ck_assert_uint_eq(arguments.n_operands, 2);
    ck_assert_str_eq(arguments.operands[0], "a.yaml");
    ck_assert_str_eq(arguments.operands[1], "b.yaml");
    ck_assert(arguments.has[TSIM_OPTION_QUIET]);
    ck_assert(!arguments.has[TSIM_OPTION_JSON]);
    ck_assert_str_eq(complaint, "");
}

TSIM_TEST(dash_is_an_operand_and_two_dashes_end_the_options) {
    ck_assert(parse("- -- --quiet"));
    ck_assert_uint_eq(arguments.n_operands, 2);
    ck_assert_str_eq(arguments.operands[0], "-");
    ck_assert_str_eq(arguments.operands[1], "--quiet");
    ck_assert(!arguments.has[TSIM_OPTION_QUIET]);
}

TSIM_TEST(sets_keep_their_order_and_the_seed_comes_last) {
    ck_assert(parse("--seed 7 a.yaml --set x.y=1 --set=z={a=b}"));
    ck_assert_uint_eq(arguments.n_overrides, 3);
    ck_assert_str_eq(arguments.overrides[0].path, "x.y");
    ck_assert_str_eq(arguments.overrides[0].value, "1");
    ck_assert_str_eq(arguments.overrides[1].path, "z");
    ck_assert_str_eq(arguments.overrides[1].value, "{a=b}");
    ck_assert_str_eq(arguments.overrides[2].path, "simulation.seed");
    ck_assert_str_eq(arguments.overrides[2].value, "7");
}

TSIM_TEST(an_empty_value_of_set_is_kept) {
    ck_assert(parse("a.yaml --set x="));
    ck_assert_str_eq(arguments.overrides[0].value, "");
}

TSIM_TEST(json_takes_a_file_only_after_equals) {
    ck_assert(parse("--json a.yaml"));
    ck_assert(arguments.has[TSIM_OPTION_JSON]);
    ck_assert_ptr_null(arguments.value[TSIM_OPTION_JSON]);
    ck_assert_str_eq(arguments.operands[0], "a.yaml");
    ck_assert(parse("--json=out.json a.yaml"));
    ck_assert_str_eq(arguments.value[TSIM_OPTION_JSON], "out.json");
}

TSIM_TEST(numbers) {
    ck_assert(parse("a --jobs 4 --max-error 12.5"));
    ck_assert_int_eq(arguments.jobs, 4);
    ck_assert_double_eq_tol(arguments.max_error_frac, 0.125, 1e-15);
    ck_assert(parse("a --max-error=15%"));
    ck_assert_double_eq_tol(arguments.max_error_frac, 0.15, 1e-15);
    ck_assert(parse("a --seed 9223372036854775807"));
}

TSIM_TEST(help_needs_nothing_else) {
    ck_assert(parse("--help"));
    ck_assert(arguments.has[TSIM_OPTION_HELP]);
    ck_assert(parse("-h a b c"));
    ck_assert(arguments.has[TSIM_OPTION_HELP]);
}

static const struct {
    const char *line, *says;
} REFUSED[] = {
    {"", "needs SCENARIO..."},
    {"a b c", "unexpected 'c'"},
    {"a --jason", "unknown option --jason; did you mean --json?"},
    {"a --zzzzzz", "unknown option --zzzzzz; keys of"},
    {"a -q", "unknown option -q"},
    {"a --ignore-memory",
     "option --ignore-memory works with other commands, but not with study\n"}, /* exists, and not for this command */
    {"a --quiet=1", "--quiet takes no value"},
    {"a --db", "--db needs a value: --db FILE"},
    {"a --db=", "--db has an empty value"},
    {"a --json=", "--json has an empty value"},
    {"a --set x", "--set needs PATH=VALUE"},
    {"a --set =1", "--set needs PATH=VALUE"},
    {"a --seed -1", "--seed needs a whole number"},
    {"a --seed 1.5", "--seed needs a whole number"},
    {"a --seed 9223372036854775808", "--seed needs a whole number"},
    {"a --jobs 0", "--jobs needs a whole number from 1 to 1024"},
    {"a --jobs 1025", "--jobs needs a whole number from 1 to 1024"},
    {"a --max-error x", "--max-error needs a percentage"},
    {"a --max-error -1", "--max-error needs a percentage"},
    {"a --max-error nan", "--max-error needs a percentage"},
    {"a --max-error 1%%", "--max-error needs a percentage"},
    {"a --db x --no-db", "--db and --no-db exclude each other"},
    {"a --csv --json", "--csv and --json exclude each other"},
    {"- -", "standard input ('-') can be read only once"},
};

TSIM_TEST_ROWS(mistakes_are_explained, REFUSED) {
    ck_assert(!parse(REFUSED[_i].line));
    ck_assert_msg(strstr(complaint, REFUSED[_i].says), "'%s' gave: %s", REFUSED[_i].line, complaint);
    ck_assert_msg(strncmp(complaint, "tsim study: ", 12) == 0, "%s", complaint);
    ck_assert_msg(strstr(complaint, "\nTry 'tsim study --help'.\n"), "%s", complaint);
}

TSIM_TEST(csv_goes_with_json_into_a_file) {
    ck_assert(parse("a --csv --json=f"));
}

TSIM_TEST(help_text_lists_what_the_command_takes) {
    char text[4096] = "";
    FILE *out = fmemopen(text, sizeof text - 1, "w");
    tsim_help(&COMMAND, out);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "usage: tsim study [OPTION]... SCENARIO..."));
    ck_assert_ptr_nonnull(strstr(text, "\n  --json[=FILE] "));
    ck_assert_ptr_nonnull(strstr(text, "\n  --set PATH=VALUE "));
    ck_assert_ptr_nonnull(strstr(text, "\n  --help "));
    ck_assert_ptr_null(strstr(text, "--ignore-memory"));
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        ck_assert_msg(length <= 80, "wider than a terminal: %.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, set_up, tear_down)
