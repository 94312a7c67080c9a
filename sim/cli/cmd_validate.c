#include "cli/command.h"

#include "base/output.h"
#include "report/terminal/table.h"
#include "results/format.h"
#include "results/measured.h"
#include "study/judge/coverage.h"
#include "study/judge/scoreboard.h"

#include <math.h>

enum { FEWEST_ON_A_SCOREBOARD = 10 };

static const struct tsim_column COLUMNS[] = {
    /* the last column is shown if a measurement is doubtful */
    {"scenario", false}, {"metric", false}, {"measured", true}, {"predicted", true}, {"error", true}, {"", false},
};
static const struct tsim_column SCORE_COLUMNS[] = {
    {"error of", false}, {"runs", true}, {"mean", true}, {"p90", true}, {"max", true}, {"bias", true},
};
static const struct tsim_column CSV_COLUMNS[] = {
    {"name", false},     {"file", false}, {"metric", false}, {"measured", true},
    {"predicted", true}, {"error", true}, {"status", false}, {"doubtful", false},
};

static void add_text_row(struct tsim_text_table *table, const struct tsim_case_row *row, bool has_doubtful) {
    char text[64];
    tsim_text_table_add(table, row->of->name);
    tsim_text_table_add(table, row->has_metric ? tsim_metric_name(row->metric) : "-");
    tsim_text_table_add(table, row->has_metric ? tsim_metric_text(row->metric, row->measured, text, sizeof text) : "-");
    tsim_text_table_add(table,
                        row->has_metric ? tsim_metric_text(row->metric, row->predicted, text, sizeof text) : "-");
    if (row->of->status == TSIM_CASE_OK)
        tsim_text_table_add(table, tsim_error_text(row->error_frac, text, sizeof text));
    else
        tsim_text_table_add(table, tsim_case_status_name(row->of->status));
    if (has_doubtful)
        tsim_text_table_add(table, row->is_doubtful ? "doubtful" : "");
}

static void add_number(struct tsim_text_table *table, double value) {
    char text[40];
    tsim_text_table_add(table, isnan(value) ? "" : tsim_double_text(value, text, sizeof text));
}

/* Returns a value in JSON's unit; not a number if the file is invalid. */
static double in_json(const struct tsim_case_row *row, double value) {
    return row->has_metric ? tsim_metric_in_json(row->metric, value) : (double)NAN;
}

static void add_csv_row(struct tsim_text_table *table, const struct tsim_case_row *row) {
    tsim_text_table_add(table, row->of->name);
    tsim_text_table_add(table, row->of->file);
    tsim_text_table_add(table, row->has_metric ? tsim_metric_name(row->metric) : "");
    add_number(table, in_json(row, row->measured));
    add_number(table, in_json(row, row->predicted));
    add_number(table, row->error_frac);
    tsim_text_table_add(table, tsim_case_status_name(row->of->status));
    tsim_text_table_add(table, row->is_doubtful ? row->of->result.scenario->measured.doubtful : "");
}

static void print_score(const struct tsim_score *score, const char *what, const struct tsim_style *style) {
    struct tsim_fold fold;
    fprintf(tsim_fold_open(&fold, style, stdout),
            "%zu value%s%s: mean |error| %.1f %%, median %.1f %%, p90 %.1f %%, max %.1f %%, bias %+.1f %%\n", score->n,
            score->n == 1 ? "" : "s", what, 100.0 * score->mape_frac, 100.0 * score->median_ape_frac,
            100.0 * score->p90_ape_frac, 100.0 * score->max_ape_frac, 100.0 * score->bias_frac);
    tsim_fold_close(&fold);
}

static void print_scores(const struct tsim_validation *validation, const struct tsim_style *style) {
    putchar('\n');
    if (validation->score.n > 0)
        print_score(&validation->score, "", style);
    else
        puts("nothing to score");
    if (validation->doubtful.n > 0)
        print_score(&validation->doubtful, ", doubtful and not counted above", style);
}

static void add_percent(struct tsim_text_table *table, const char *format, double frac) {
    char text[32];
    snprintf(text, sizeof text, format, 100.0 * frac);
    tsim_text_table_add(table, text);
}

static void print_scoreboard(struct tsim_arena *arena, const struct tsim_validation *validation,
                             const struct tsim_style *style) {
    static const char *const PREFIXES[] = {"step time", "  ", "  on ", "memory"};
    struct tsim_scoreboard board;
    struct tsim_text_table table;
    tsim_scoreboard_of(arena, validation, &board);
    if (board.n_groups == 0 || board.groups[0].score.n < FEWEST_ON_A_SCOREBOARD)
        return;
    tsim_text_table_init(&table, arena, SCORE_COLUMNS, sizeof SCORE_COLUMNS / sizeof SCORE_COLUMNS[0]);
    for (size_t i = 0; i < board.n_groups; i++) {
        const struct tsim_scored_group *group = &board.groups[i];
        bool is_part = group->by == TSIM_BY_SOURCE || group->by == TSIM_BY_ACCELERATOR;
        tsim_text_table_add(&table, tsim_arena_printf(arena, "%s%s", PREFIXES[group->by], is_part ? group->name : ""));
        tsim_text_table_add(&table, tsim_arena_printf(arena, "%zu", group->score.n));
        add_percent(&table, "%.1f %%", group->score.mape_frac);
        add_percent(&table, "%.1f %%", group->score.p90_ape_frac);
        add_percent(&table, "%.1f %%", group->score.max_ape_frac);
        add_percent(&table, "%+.1f %%", group->score.bias_frac);
    }
    putchar('\n');
    tsim_text_table_print(&table, style, stdout);
    puts("step times, of rates too: a minus is predicted too fast; doubtful ones left out");
}

static void print_table(struct tsim_arena *arena, const struct tsim_validation *validation) {
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    bool has_doubtful = validation->doubtful.n > 0;
    tsim_text_table_init(&table, arena, COLUMNS, sizeof COLUMNS / sizeof COLUMNS[0] - (has_doubtful ? 0 : 1));
    for (size_t i = 0; i < validation->n_rows; i++)
        add_text_row(&table, &validation->rows[i], has_doubtful);
    if (validation->n_rows > 0)
        tsim_text_table_print(&table, &style, stdout);
    print_scores(validation, &style);
    print_scoreboard(arena, validation, &style);
}

static void print_csv(struct tsim_arena *arena, const struct tsim_validation *validation) {
    struct tsim_text_table table;
    tsim_text_table_init(&table, arena, CSV_COLUMNS, sizeof CSV_COLUMNS / sizeof CSV_COLUMNS[0]);
    for (size_t i = 0; i < validation->n_rows; i++)
        add_csv_row(&table, &validation->rows[i]);
    tsim_text_table_print_csv(&table, stdout);
}

static void add_score(struct tsim_json *object, const struct tsim_score *score) {
    tsim_json_integer(object, "n", (int64_t)score->n);
    tsim_json_number(object, "mape", score->mape_frac);
    tsim_json_number(object, "median_ape", score->median_ape_frac);
    tsim_json_number(object, "p90_ape", score->p90_ape_frac);
    tsim_json_number(object, "max_ape", score->max_ape_frac);
    tsim_json_number(object, "bias", score->bias_frac);
}

static void add_scoreboard(struct tsim_json *root, struct tsim_arena *arena, const struct tsim_validation *validation) {
    struct tsim_scoreboard board;
    struct tsim_json *groups = tsim_json_array(root, "scoreboard");
    tsim_scoreboard_of(arena, validation, &board);
    for (size_t i = 0; i < board.n_groups; i++) {
        struct tsim_json *object = tsim_json_object(groups, NULL);
        tsim_json_text(object, "by", tsim_score_by_name(board.groups[i].by));
        tsim_json_text(object, "name", board.groups[i].name);
        add_score(object, &board.groups[i].score);
    }
}

static struct tsim_json *validation_json(struct tsim_arena *arena, const struct tsim_validation *validation) {
    struct tsim_json *root = tsim_json_new_object(), *cases = tsim_json_array(root, "cases");
    for (size_t i = 0; i < validation->n_rows; i++) {
        const struct tsim_case_row *row = &validation->rows[i];
        struct tsim_json *object = tsim_json_object(cases, NULL);
        tsim_json_text(object, "name", row->of->name);
        tsim_json_text(object, "file", row->of->file);
        tsim_json_text(object, "metric", row->has_metric ? tsim_metric_name(row->metric) : NULL);
        tsim_json_number(object, "measured", in_json(row, row->measured));
        tsim_json_number(object, "predicted", in_json(row, row->predicted));
        tsim_json_number(object, "error", row->error_frac);
        tsim_json_text(object, "status", tsim_case_status_name(row->of->status));
        tsim_json_bool(object, "doubtful", row->is_doubtful);
    }
    add_score(tsim_json_object(root, "summary"), &validation->score);
    add_score(tsim_json_object(root, "doubtful"), &validation->doubtful);
    add_scoreboard(root, arena, validation);
    return root;
}

static bool is_measured(const struct tsim_case *item) {
    for (int metric = 0; metric < TSIM_N_METRICS; metric++)
        if (item->result.scenario->measured.has[metric])
            return true;
    return false;
}

/* Says on standard error what was wrong with the cases and returns the exit status that they call for. That a case does
 * not fit by our account is a result of the comparison, not a failure of it. */
static enum tsim_exit report_cases(const struct tsim_arguments *arguments, struct tsim_validation *validation) {
    enum tsim_exit status = TSIM_EXIT_OK;
    for (size_t i = 0; i < validation->n_cases; i++) {
        struct tsim_case *item = &validation->cases[i];
        bool is_run = item->status == TSIM_CASE_OK || item->status == TSIM_CASE_DOES_NOT_FIT;
        if (is_run && !is_measured(item))
            tsim_diags_warning(&item->diags, (struct tsim_place){.file = item->file}, "measured",
                               "nothing to compare with: the scenario has no measured values");
        tsim_report_diags(arguments, &item->diags);
        status = tsim_exit_worse(status, tsim_exit_of(item->error));
    }
    return status;
}

static enum tsim_status log_cases(const struct tsim_arguments *arguments, struct tsim_arena *arena,
                                  const struct tsim_validation *validation, const char *started_at,
                                  struct tsim_diags *diags) {
    struct tsim_store *store;
    enum tsim_status status = TSIM_OK;
    TSIM_TRY(tsim_store_open(arena, tsim_db_file(arguments), TSIM_STORE_WRITE, &store, diags));
    for (size_t i = 0; i < validation->n_cases && status == TSIM_OK; i++) {
        const struct tsim_case *item = &validation->cases[i];
        const struct tsim_prediction prediction = {.result = item->result};
        int64_t run_id;
        if (item->status == TSIM_CASE_OK || item->status == TSIM_CASE_DOES_NOT_FIT)
            status = tsim_store_add_run(store, &prediction, started_at, &run_id, diags);
    }
    tsim_store_close(store);
    return status;
}

static enum tsim_exit write_results(const struct tsim_arguments *arguments, struct tsim_arena *arena,
                                    const struct tsim_validation *validation, struct tsim_diags *diags) {
    if (arguments->has[TSIM_OPTION_RESIDUALS])
        return tsim_exit_of(tsim_residuals_print(arena, stdout, validation, diags));
    if (arguments->has[TSIM_OPTION_CSV])
        print_csv(arena, validation);
    else if (!tsim_is_json_on_stdout(arguments))
        print_table(arena, validation);
    if (arguments->has[TSIM_OPTION_JSON])
        return tsim_write_json(arguments, validation_json(arena, validation));
    return TSIM_EXIT_OK;
}

/* Applies the gate, which fails if there is not a single value to judge by. */
static enum tsim_exit check_gate(const struct tsim_arguments *arguments, const struct tsim_score *score) {
    if (!arguments->has[TSIM_OPTION_MAX_ERROR] || score->mape_frac <= arguments->max_error_frac)
        return TSIM_EXIT_OK;
    if (score->n == 0)
        fprintf(tsim_messages(), "tsim validate: no value was scored, so --max-error fails\n");
    else
        fprintf(tsim_messages(), "tsim validate: the mean absolute error of %.2f %% is above --max-error %g %%\n",
                100.0 * score->mape_frac, 100.0 * arguments->max_error_frac);
    return TSIM_EXIT_GATE;
}

enum tsim_exit tsim_cmd_validate(const struct tsim_arguments *arguments) {
    struct tsim_validation validation;
    const char *started_at = tsim_timestamp(arguments->arena);
    if (arguments->has[TSIM_OPTION_DB] && tsim_output_try(tsim_db_file(arguments), arguments->diags) != TSIM_OK) {
        tsim_report_diags(arguments, arguments->diags);
        return TSIM_EXIT_IO;
    }
    tsim_validate(arguments->arena, arguments->operands, arguments->n_operands, arguments->overrides,
                  arguments->n_overrides, arguments->has[TSIM_OPTION_IGNORE_MEMORY], tsim_n_jobs(arguments),
                  &validation);
    enum tsim_exit status = report_cases(arguments, &validation);
    if (arguments->has[TSIM_OPTION_DB])
        status = tsim_exit_worse(
            status, tsim_exit_of(log_cases(arguments, arguments->arena, &validation, started_at, arguments->diags)));
    status = tsim_exit_worse(status, write_results(arguments, arguments->arena, &validation, arguments->diags));
    status = tsim_exit_worse(status, tsim_flush_results());
    tsim_report_diags(arguments, arguments->diags);
    status = tsim_exit_worse(status, check_gate(arguments, &validation.score));
    tsim_validation_release(&validation);
    return status;
}
