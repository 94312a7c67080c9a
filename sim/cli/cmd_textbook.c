#include "cli/command.h"

#include "report/terminal/table.h"
#include "results/format.h"
#include "study/textbook.h"

#include <math.h>
#include <string.h>

/* ---- numbers ---- */

/* Numbers have three digits; whole numbers up to a million are whole. */
enum { NUMBER_BYTES = 64 };
static const char *number_text(double value, char *buffer, size_t size) {
    if (isnan(value))
        snprintf(buffer, size, "-");
    else if (fabs(value) >= 1000 && fabs(value) < 1e6)
        return tsim_count_text(value, buffer, size);
    else
        snprintf(buffer, size, "%.3g", value);
    return buffer;
}

/* Writes a number as the text prints it, with all of its digits. */
static const char *printed_text(double value, char *buffer, size_t size) {
    if (fabs(value) >= 1000 && fabs(value) < 1e6 && value == floor(value))
        return tsim_count_text(value, buffer, size);
    snprintf(buffer, size, "%.6g", value);
    return buffer;
}

static const char *with_unit(struct tsim_arena *arena, const char *number, const char *unit) {
    return unit[0] ? tsim_arena_printf(arena, "%s %s", number, unit) : tsim_arena_strdup(arena, number);
}

static const char *text_value(struct tsim_arena *arena, const struct tsim_textbook_value *value) {
    char from[NUMBER_BYTES], to[NUMBER_BYTES];
    if (isnan(value->text))
        return "-";
    printed_text(value->text, from, sizeof from);
    if (isinf(value->text_to))
        return with_unit(arena, tsim_arena_printf(arena, "> %s", from), value->unit);
    if (value->text_to > value->text)
        return with_unit(arena, tsim_arena_printf(arena, "%s to %s", from, printed_text(value->text_to, to, sizeof to)),
                         value->unit);
    return with_unit(arena, from, value->unit);
}

static const char *tsim_value(struct tsim_arena *arena, const struct tsim_textbook_value *value) {
    char number[NUMBER_BYTES];
    return with_unit(arena, number_text(value->tsim, number, sizeof number), value->unit);
}

/* "+3.8 %", "6.5 x" above a factor of two, "-" if there is nothing to compare with. */
static const char *difference_text(struct tsim_arena *arena, const struct tsim_textbook_value *value) {
    double ratio = value->difference_frac + 1;
    char number[NUMBER_BYTES];
    if (!isfinite(value->difference_frac))
        return "-";
    if (ratio >= 2 || (ratio > 0 && ratio <= 0.5))
        return tsim_arena_printf(arena, "%s x", number_text(ratio, number, sizeof number));
    return tsim_arena_printf(arena, "%+.1f %%", 100 * value->difference_frac);
}

static const char *right_text(const struct tsim_textbook_value *value) {
    if (isnan(value->text))
        return "";
    return value->agrees ? "agree" : tsim_textbook_right_name(value->right);
}

/* Returns "2, 3, 7": the values with the same reason as value i, if i is the first of them; NULL if it has no reason or
 * an earlier value has told it. */
static const char *numbers_of_reason(struct tsim_arena *arena, const struct tsim_textbook_example *example, size_t i) {
    const char *why = example->values[i].why, *numbers = NULL;
    for (size_t j = 0; why && j < example->n_values; j++) {
        const char *other = example->values[j].why;
        if (!other || strcmp(other, why) != 0)
            continue;
        if (j < i)
            return NULL;
        numbers =
            numbers ? tsim_arena_printf(arena, "%s, %zu", numbers, j + 1) : tsim_arena_printf(arena, "%zu", j + 1);
    }
    return numbers;
}

/* ---- for people ---- */

static void print_example(struct tsim_arena *arena, const struct tsim_style *style,
                          const struct tsim_textbook_example *example) {
    static const struct tsim_column COLUMNS[] = {
        {"what", false}, {"text", true}, {"tsim", true}, {"differ", true}, {"right", false}};
    struct tsim_text_table table;
    struct tsim_fold fold;
    fprintf(tsim_fold_open(&fold, style, stdout), "%s%s%s  (%s)\n", tsim_tint_on(style, TSIM_TINT_BOLD), example->title,
            tsim_tint_off(style), example->id);
    tsim_fold_close(&fold);
    tsim_text_wrap(stdout, style, 0, example->problem);
    putchar('\n');
    tsim_text_table_init(&table, arena, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (size_t i = 0; i < example->n_values; i++) {
        const struct tsim_textbook_value *value = &example->values[i];
        tsim_text_table_add(&table, tsim_arena_printf(arena, "%zu %s", i + 1, value->what));
        tsim_text_table_add(&table, text_value(arena, value));
        tsim_text_table_add(&table, tsim_value(arena, value));
        tsim_text_table_add(&table, difference_text(arena, value));
        tsim_text_table_add(&table, right_text(value));
    }
    tsim_text_table_print(&table, style, stdout);
    for (size_t i = 0; i < example->n_values; i++) {
        const char *numbers = numbers_of_reason(arena, example, i);
        if (numbers)
            tsim_text_wrap(stdout, style, 0, tsim_arena_printf(arena, "%s: %s", numbers, example->values[i].why));
    }
}

static const char *score_text(struct tsim_arena *arena, const struct tsim_textbook *textbook) {
    const size_t *n = textbook->n_right;
    return tsim_arena_printf(
        arena,
        "%zu of the text's %zu numbers agree. Where they differ, tsim is right in %zu and the text in %zu; "
        "%zu numbers answer another question, and %zu cannot be judged.",
        textbook->n_agree, textbook->n_values, n[TSIM_TEXTBOOK_TSIM], n[TSIM_TEXTBOOK_TEXT], n[TSIM_TEXTBOOK_BOTH],
        n[TSIM_TEXTBOOK_NOBODY]);
}

static void print_people(struct tsim_arena *arena, const struct tsim_textbook *textbook) {
    struct tsim_style style = tsim_style_of(stdout);
    for (size_t i = 0; i < textbook->n_examples; i++) {
        print_example(arena, &style, &textbook->examples[i]);
        putchar('\n');
    }
    tsim_text_wrap(stdout, &style, 0, score_text(arena, textbook));
}

/* ---- as a page ---- */

static void markdown_cell(const char *text) {
    putchar(' ');
    for (; *text; text++) {
        if (*text == '|' || *text == '*' || *text == '<' || *text == '_')
            putchar('\\');
        putchar(*text);
    }
    fputs(" |", stdout);
}

static void markdown_example(struct tsim_arena *arena, const struct tsim_textbook_example *example) {
    printf("\n## %s\n\n%s (`%s`)\n\n", example->title, example->problem, example->id);
    fputs("|  | what | text | tsim | differ | right |\n| ---: | --- | ---: | ---: | ---: | --- |\n", stdout);
    for (size_t i = 0; i < example->n_values; i++) {
        const struct tsim_textbook_value *value = &example->values[i];
        printf("| %zu |", i + 1);
        markdown_cell(value->what);
        markdown_cell(text_value(arena, value));
        markdown_cell(tsim_value(arena, value));
        markdown_cell(difference_text(arena, value));
        markdown_cell(right_text(value));
        putchar('\n');
    }
    putchar('\n');
    for (size_t i = 0; i < example->n_values; i++) {
        const char *numbers = numbers_of_reason(arena, example, i);
        if (numbers)
            printf("- **%s.** %s\n", numbers, example->values[i].why);
    }
    fputs("\n<details><summary>computed from</summary>\n\n", stdout);
    for (size_t i = 0; i < example->n_values; i++)
        printf("%zu. `%s`\n", i + 1, example->values[i].how);
    fputs("\n</details>\n", stdout);
}

static void print_markdown(struct tsim_arena *arena, const struct tsim_textbook *textbook) {
    fputs(
        "# A textbook's worked examples\n\n"
        "This page sets the numbers of a textbook beside those that tsim computes, and says which are right.\n"
        "`make docs-textbook` writes it from `tsim textbook --markdown`: do not edit it. A test fails if it is not "
        "what "
        "this\n"
        "build computes. `tsim textbook ID` prints one example.\n\n"
        "The text is the chapter \"Model Training\" of Vijay Janapa Reddi, *Machine Learning Systems*, volume 1\n"
        "([harvard-edge/cs249r_book](https://github.com/harvard-edge/cs249r_book),\n"
        "`book/quarto/contents/vol1/training/training.qmd` at 97118ba0d8, February 2026). Examples of other texts say "
        "so.\n"
        "tsim computes its numbers when the command runs. Below each table stands the expression of each number: a run "
        "of a\n"
        "scenario in `scenarios/textbook` (in square brackets: the scenario, then what is set in it), a value of the\n"
        "catalogue, or a function of `sim/`. `scenarios/textbook/examples/examples.yaml` holds the expressions and "
        "says "
        "what\n"
        "each function gives.\n\n"
        "Two numbers *agree* if they differ by no more than the rounding of the text's inputs and results (5 % unless\n"
        "said otherwise). If they differ, *right* says which one is right: *tsim* (the text is mistaken or leaves out "
        "what\n"
        "counts), *text*, *both* (they answer different questions) or *unknown* (the text gives a measurement without "
        "its\n"
        "settings).\n\n",
        stdout);
    puts(score_text(arena, textbook));
    for (size_t i = 0; i < textbook->n_examples; i++)
        markdown_example(arena, &textbook->examples[i]);
}

/* ---- for programs ---- */

static void print_csv(struct tsim_arena *arena, const struct tsim_textbook *textbook) {
    static const struct tsim_column COLUMNS[] = {{"example", false}, {"what", false},   {"unit", false},
                                                 {"text", true},     {"text_to", true}, {"tsim", true},
                                                 {"agrees", false},  {"right", false},  {"how", false}};
    struct tsim_text_table table;
    char number[NUMBER_BYTES];
    tsim_text_table_init(&table, arena, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0]);
    for (size_t i = 0; i < textbook->n_examples; i++)
        for (size_t j = 0; j < textbook->examples[i].n_values; j++) {
            const struct tsim_textbook_value *value = &textbook->examples[i].values[j];
            const double numbers[] = {value->text, value->text_to, value->tsim};
            tsim_text_table_add(&table, textbook->examples[i].id);
            tsim_text_table_add(&table, value->what);
            tsim_text_table_add(&table, value->unit);
            for (int k = 0; k < 3; k++)
                tsim_text_table_add(&table,
                                    isfinite(numbers[k]) ? tsim_double_text(numbers[k], number, sizeof number) : NULL);
            tsim_text_table_add(&table, isnan(value->text) ? NULL : value->agrees ? "true" : "false");
            tsim_text_table_add(&table, isnan(value->text) ? NULL : tsim_textbook_right_name(value->right));
            tsim_text_table_add(&table, value->how);
        }
    tsim_text_table_print_csv(&table, stdout);
}

static void value_json(struct tsim_json *values, const struct tsim_textbook_value *value) {
    struct tsim_json *object = tsim_json_object(values, NULL);
    tsim_json_text(object, "what", value->what);
    tsim_json_text(object, "unit", value->unit);
    tsim_json_number(object, "text", value->text);
    if (value->text_to > value->text)
        tsim_json_number(object, "text_to", isinf(value->text_to) ? (double)NAN : value->text_to);
    if (isinf(value->text_to))
        tsim_json_bool(object, "text_is_least", true);
    tsim_json_number(object, "tsim", value->tsim);
    tsim_json_number(object, "difference", isfinite(value->difference_frac) ? value->difference_frac : (double)NAN);
    if (!isnan(value->text)) {
        tsim_json_bool(object, "agrees", value->agrees);
        tsim_json_text(object, "right", value->agrees ? "both" : tsim_textbook_right_name(value->right));
    }
    tsim_json_text(object, "why", value->why);
    tsim_json_text(object, "how", value->how);
}

static struct tsim_json *textbook_json(const struct tsim_textbook *textbook) {
    struct tsim_json *root = tsim_json_new_object();
    tsim_json_text(root, "schema", "tsim/textbook/v1");
    struct tsim_json *examples = tsim_json_array(root, "examples");
    for (size_t i = 0; i < textbook->n_examples; i++) {
        const struct tsim_textbook_example *example = &textbook->examples[i];
        struct tsim_json *object = tsim_json_object(examples, NULL);
        tsim_json_text(object, "id", example->id);
        tsim_json_text(object, "title", example->title);
        tsim_json_text(object, "problem", example->problem);
        struct tsim_json *values = tsim_json_array(object, "values");
        for (size_t j = 0; j < example->n_values; j++)
            value_json(values, &example->values[j]);
    }
    struct tsim_json *summary = tsim_json_object(root, "summary");
    tsim_json_integer(summary, "numbers", (int64_t)textbook->n_values);
    tsim_json_integer(summary, "agree", (int64_t)textbook->n_agree);
    for (int right = 0; right < TSIM_N_TEXTBOOK_RIGHTS; right++)
        tsim_json_integer(summary, tsim_textbook_right_name((enum tsim_textbook_right)right),
                          (int64_t)textbook->n_right[right]);
    return root;
}

/* ---- the command ---- */

static enum tsim_exit unknown_example(struct tsim_arena *arena, const char *id, struct tsim_diags *diags) {
    const char *const *ids = NULL;
    size_t n = 0;
    if (tsim_textbook_ids(arena, &ids, &n, diags) != TSIM_OK)
        return TSIM_EXIT_BUG; /* they were read before */
    tsim_say_unknown("tsim textbook: there is no example", id, ids, n);
    const char *list = "";
    for (size_t i = 0; i < n; i++)
        list = tsim_arena_printf(arena, "%s%s%s", list, i ? " " : "", ids[i]);
    struct tsim_style style = tsim_style_of(stderr);
    fputs("Examples: ", stderr);
    tsim_text_wrap(stderr, &style, 10, list);
    return TSIM_EXIT_USAGE;
}

static enum tsim_exit write_textbook(const struct tsim_arguments *arguments, struct tsim_arena *arena,
                                     const struct tsim_textbook *textbook) {
    if (arguments->has[TSIM_OPTION_MARKDOWN])
        print_markdown(arena, textbook);
    else if (arguments->has[TSIM_OPTION_CSV])
        print_csv(arena, textbook);
    else if (!tsim_is_json_on_stdout(arguments))
        print_people(arena, textbook);
    if (arguments->has[TSIM_OPTION_JSON])
        return tsim_write_json(arguments, textbook_json(textbook));
    return TSIM_EXIT_OK;
}

enum tsim_exit tsim_cmd_textbook(const struct tsim_arguments *arguments) {
    const char *id = arguments->n_operands > 0 ? arguments->operands[0] : NULL;
    struct tsim_textbook textbook;
    enum tsim_exit status = tsim_exit_of(tsim_textbook_compute(arguments->arena, id, &textbook, arguments->diags));
    if (status != TSIM_EXIT_OK) /* warnings belong to the scenarios, not to the text */
        tsim_report_diags(arguments, arguments->diags);
    else if (textbook.n_examples == 0)
        status = unknown_example(arguments->arena, id, arguments->diags);
    else
        status = tsim_exit_worse(write_textbook(arguments, arguments->arena, &textbook), tsim_flush_results());
    return status;
}
