#include "cli/command.h"

#include "report/format.h"
#include "report/table.h"

#include <math.h>

static const struct tsim_column COLUMNS[] = {
    {"run", true},  {"started", false},  {"scenario", false},  {"status", false},
    {"GPUs", true}, {"step time", true}, {"throughput", true}, {"MFU", true},
};
static const struct tsim_column CSV_COLUMNS[] = {
    {"run_id", true},      {"started_at", false},  {"scenario", false}, {"status", false},       {"accelerators", true},
    {"step_time_s", true}, {"tokens_per_s", true}, {"mfu", true},       {"samples_per_s", true},
};
enum { N_COLUMNS = sizeof COLUMNS / sizeof COLUMNS[0], N_CSV_COLUMNS = sizeof CSV_COLUMNS / sizeof CSV_COLUMNS[0] };

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

static struct tsim_json *runs_json(const struct tsim_store_run *runs, size_t n_runs) {
    struct tsim_json *root = tsim_json_new_object(), *list = tsim_json_array(root, "runs");
    for (size_t i = 0; i < n_runs; i++) {
        struct tsim_json *run = tsim_json_object(list, NULL);
        tsim_json_integer(run, "run_id", runs[i].run_id);
        tsim_json_text(run, "started_at", runs[i].started_at);
        tsim_json_text(run, "scenario", runs[i].scenario);
        tsim_json_text(run, "version", runs[i].version);
        tsim_json_text(run, "status", runs[i].status);
        tsim_json_integer(run, "accelerators", runs[i].accelerators);
        tsim_json_number(run, "step_time_s", runs[i].step_time_s);
        tsim_json_number(run, "tokens_per_s", runs[i].tokens_per_s);
        tsim_json_number(run, "samples_per_s", runs[i].samples_per_s);
        tsim_json_number(run, "mfu", runs[i].mfu);
    }
    return root;
}

static void print_runs(const struct tsim_arguments *arguments, struct tsim_arena *arena,
                       const struct tsim_store_run *runs, size_t n_runs) {
    bool is_csv = arguments->has[TSIM_OPTION_CSV];
    struct tsim_style style = tsim_style_of(stdout);
    struct tsim_text_table table;
    tsim_text_table_init(&table, arena, is_csv ? CSV_COLUMNS : COLUMNS, is_csv ? N_CSV_COLUMNS : N_COLUMNS);
    for (size_t i = 0; i < n_runs; i++)
        (is_csv ? add_csv_row : add_row)(&table, &runs[i]);
    if (is_csv)
        tsim_text_table_print_csv(&table, stdout);
    else if (n_runs == 0)
        puts("no runs yet");
    else
        tsim_text_table_print(&table, &style, stdout);
}

static enum tsim_status read_runs(const struct tsim_arguments *arguments, struct tsim_arena *arena,
                                  struct tsim_store_run **runs, size_t *n_runs, struct tsim_diags *diags) {
    struct tsim_store *store;
    TSIM_TRY(tsim_store_open(arena, tsim_db_file(arguments), TSIM_STORE_READ, &store, diags));
    enum tsim_status status = tsim_store_list(store, arena, runs, n_runs, diags);
    tsim_store_close(store);
    return status;
}

enum tsim_exit tsim_cmd_runs(const struct tsim_arguments *arguments) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    struct tsim_store_run *runs = NULL;
    size_t n_runs = 0;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    enum tsim_exit status = tsim_exit_of(read_runs(arguments, &arena, &runs, &n_runs, &diags));
    tsim_report_diags(arguments, &diags);
    if (status == TSIM_EXIT_OK && !tsim_is_json_on_stdout(arguments))
        print_runs(arguments, &arena, runs, n_runs);
    if (status == TSIM_EXIT_OK && arguments->has[TSIM_OPTION_JSON])
        status = tsim_write_json(arguments, runs_json(runs, n_runs));
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return status;
}
