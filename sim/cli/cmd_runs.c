#include "cli/command.h"

#include "report/terminal/table.h"
#include "results/format.h"
#include "results/store_points.h"

#include <math.h>

static const struct tsim_column COLUMNS[] = {
    {"run", true},          {"started", false},  {"scenario", false},  {"status", false},
    {"accelerators", true}, {"step time", true}, {"throughput", true}, {"MFU", true},
};
static const struct tsim_column CSV_COLUMNS[] = {
    {"run_id", true},      {"started_at", false},  {"scenario", false}, {"status", false},       {"accelerators", true},
    {"step_time_s", true}, {"tokens_per_s", true}, {"mfu", true},       {"samples_per_s", true},
};
static const struct tsim_column SWEEP_COLUMNS[] = {
    {"sweep", true}, {"started", false}, {"scenario", false}, {"points", true}, {"ok", true}, {"axes", false},
};
enum { N_SWEEP_COLUMNS = sizeof SWEEP_COLUMNS / sizeof SWEEP_COLUMNS[0] };
enum { N_COLUMNS = sizeof COLUMNS / sizeof COLUMNS[0], N_CSV_COLUMNS = sizeof CSV_COLUMNS / sizeof CSV_COLUMNS[0] };

struct listed {
    struct tsim_store_run *runs;
    size_t n_runs;
    struct tsim_sweep_listed *sweeps;
    size_t n_sweeps;
};

static void add_integer(struct tsim_text_table *table, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    tsim_text_table_add(table, text);
}

static void add_exact(struct tsim_text_table *table, double value) {
    char text[40];
    tsim_text_table_add(table, isnan(value) ? "" : tsim_double_text(value, text, sizeof text));
}

static void add_csv_row(struct tsim_text_table *table, const struct tsim_store_run *run) {
    add_integer(table, run->run_id);
    tsim_text_table_add(table, run->started_at);
    tsim_text_table_add(table, run->scenario);
    tsim_text_table_add(table, run->status);
    add_integer(table, run->accelerators);
    add_exact(table, run->step_time_s);
    add_exact(table, run->tokens_per_s);
    add_exact(table, run->mfu);
    add_exact(table, run->samples_per_s);
}

static void add_throughput(struct tsim_text_table *table, const struct tsim_store_run *run) {
    char rate[32], text[64];
    bool of_samples = isnan(run->tokens_per_s);
    tsim_quantity_human(of_samples ? run->samples_per_s : run->tokens_per_s, TSIM_COUNT, rate, sizeof rate);
    snprintf(text, sizeof text, "%s %s", rate, of_samples ? "samples/s" : "tokens/s");
    tsim_text_table_add(table, text);
}

static void add_row(struct tsim_text_table *table, const struct tsim_store_run *run) {
    char text[64];
    bool has = !isnan(run->step_time_s);
    add_integer(table, run->run_id);
    tsim_text_table_add(table, run->started_at);
    tsim_text_table_add(table, run->scenario);
    tsim_text_table_add(table, run->status);
    add_integer(table, run->accelerators);
    tsim_text_table_add(table, has ? tsim_quantity_human(run->step_time_s, TSIM_TIME_S, text, sizeof text) : "-");
    if (has)
        add_throughput(table, run);
    else
        tsim_text_table_add(table, "-");
    tsim_text_table_add(table, has ? tsim_percent_text(run->mfu, text, sizeof text) : "-");
}

static void add_sweep(struct tsim_text_table *table, const struct tsim_sweep_listed *sweep) {
    char text[64];
    add_integer(table, sweep->sweep_id);
    tsim_text_table_add(table, sweep->started_at);
    tsim_text_table_add(table, sweep->scenario);
    snprintf(text, sizeof text, "%lld of %lld", (long long)sweep->n_kept, (long long)sweep->n_points);
    if (sweep->n_kept < sweep->n_points)
        tsim_text_table_add(table, text);
    else
        add_integer(table, sweep->n_points);
    add_integer(table, sweep->n_ok);
    tsim_text_table_add(table, sweep->axes);
}

static void add_runs_json(struct tsim_json *list, const struct listed *listed) {
    for (size_t i = 0; i < listed->n_runs; i++) {
        const struct tsim_store_run *from = &listed->runs[i];
        struct tsim_json *run = tsim_json_object(list, NULL);
        tsim_json_integer(run, "run_id", from->run_id);
        tsim_json_text(run, "started_at", from->started_at);
        tsim_json_text(run, "scenario", from->scenario);
        tsim_json_text(run, "version", from->version);
        tsim_json_text(run, "status", from->status);
        tsim_json_integer(run, "accelerators", from->accelerators);
        tsim_json_number(run, "step_time_s", from->step_time_s);
        tsim_json_number(run, "tokens_per_s", from->tokens_per_s);
        tsim_json_number(run, "samples_per_s", from->samples_per_s);
        tsim_json_number(run, "mfu", from->mfu);
    }
}

static struct tsim_json *listed_json(const struct listed *listed) {
    struct tsim_json *root = tsim_json_new_object();
    add_runs_json(tsim_json_array(root, "runs"), listed);
    struct tsim_json *list = tsim_json_array(root, "sweeps");
    for (size_t i = 0; i < listed->n_sweeps; i++) {
        const struct tsim_sweep_listed *from = &listed->sweeps[i];
        struct tsim_json *sweep = tsim_json_object(list, NULL);
        tsim_json_integer(sweep, "sweep_id", from->sweep_id);
        tsim_json_text(sweep, "started_at", from->started_at);
        tsim_json_text(sweep, "scenario", from->scenario);
        tsim_json_text(sweep, "version", from->version);
        tsim_json_integer(sweep, "points", from->n_points);
        tsim_json_integer(sweep, "kept", from->n_kept);
        tsim_json_integer(sweep, "ok", from->n_ok);
        tsim_json_text(sweep, "axes", from->axes);
    }
    return root;
}

static void print_csv(struct tsim_arena *arena, const struct listed *listed) {
    struct tsim_text_table table;
    tsim_text_table_init(&table, arena, CSV_COLUMNS, N_CSV_COLUMNS);
    for (size_t i = 0; i < listed->n_runs; i++)
        add_csv_row(&table, &listed->runs[i]);
    tsim_text_table_print_csv(&table, stdout);
}

static void print_tables(struct tsim_arena *arena, const struct listed *listed) {
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    tsim_text_table_init(&table, arena, COLUMNS, N_COLUMNS);
    for (size_t i = 0; i < listed->n_runs; i++)
        add_row(&table, &listed->runs[i]);
    if (listed->n_runs > 0)
        tsim_text_table_print(&table, &style, stdout);
    tsim_text_table_init(&table, arena, SWEEP_COLUMNS, N_SWEEP_COLUMNS);
    for (size_t i = 0; i < listed->n_sweeps; i++)
        add_sweep(&table, &listed->sweeps[i]);
    fputs(listed->n_runs > 0 && listed->n_sweeps > 0 ? "\n" : "", stdout);
    if (listed->n_sweeps > 0) {
        tsim_text_table_print(&table, &style, stdout);
        putchar('\n');
        tsim_text_wrap(stdout, &style, 0, "'tsim query points' lists the points, 'tsim report sweep:N' draws them");
    }
    if (listed->n_runs + listed->n_sweeps == 0)
        puts("no runs and no sweeps yet");
}

static enum tsim_status read_all(const struct tsim_arguments *arguments, struct tsim_arena *arena,
                                 struct listed *listed, struct tsim_diags *diags) {
    struct tsim_store *store;
    TSIM_TRY(tsim_open_database(arena, arguments, &store, diags));
    enum tsim_status status = tsim_store_list(store, arena, &listed->runs, &listed->n_runs, diags);
    if (status == TSIM_OK)
        status = tsim_store_list_sweeps(store, arena, &listed->sweeps, &listed->n_sweeps, diags);
    tsim_store_close(store);
    return status;
}

enum tsim_exit tsim_cmd_runs(const struct tsim_arguments *arguments) {
    struct listed listed = {0};
    enum tsim_exit status = tsim_exit_of(read_all(arguments, arguments->arena, &listed, arguments->diags));
    tsim_report_diags(arguments, arguments->diags);
    if (status == TSIM_EXIT_OK && arguments->has[TSIM_OPTION_CSV])
        print_csv(arguments->arena, &listed);
    else if (status == TSIM_EXIT_OK && !tsim_is_json_on_stdout(arguments))
        print_tables(arguments->arena, &listed);
    if (status == TSIM_EXIT_OK && arguments->has[TSIM_OPTION_JSON])
        status = tsim_write_json(arguments, listed_json(&listed));
    return status;
}
