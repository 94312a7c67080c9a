#include "cli/command.h"

#include "config/replay_spec.h"
#include "report/export/export.h"
#include "report/export/trace.h"
#include "report/page/page.h"
#include "report/terminal/summary.h"
#include "run/run.h"
#include "study/judge/uncertainty.h"
#include "study/search/advice.h"

struct run {
    const struct tsim_arguments *arguments;
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    struct tsim_prediction prediction;
    struct tsim_logged logged;
    const char *started_at;
};

static enum tsim_status simulate(struct run *run) {
    const struct tsim_arguments *arguments = run->arguments;
    struct tsim_run_options options = {.ignore_memory = arguments->has[TSIM_OPTION_IGNORE_MEMORY]};
    const struct tsim_scenario *scenario;
    struct tsim_trace *trace = NULL;
    TSIM_TRY(tsim_scenario_load(run->arena, arguments->operands[0], arguments->overrides, arguments->n_overrides,
                                &scenario, run->diags));
    if (arguments->has[TSIM_OPTION_TRACE]) {
        TSIM_TRY(tsim_trace_open(run->arena, scenario, arguments->value[TSIM_OPTION_TRACE],
                                 arguments->value[TSIM_OPTION_TRACE_RANKS], &trace, run->diags));
        options.sink = tsim_trace_sink(trace);
    }
    enum tsim_status status = tsim_train_run(run->arena, scenario, &options, &run->prediction.result, run->diags);
    if (trace && status != TSIM_OK) {
        tsim_trace_discard(trace);
    } else if (trace) {
        status = tsim_trace_close(trace, run->diags);
        if (status == TSIM_OK && !run->prediction.result.step.simulated)
            tsim_diags_warning(run->diags, (struct tsim_place){.file = arguments->value[TSIM_OPTION_TRACE]}, "",
                               "nothing was simulated: the trace is empty");
        if (status == TSIM_OK && tsim_trace_window(trace) && !arguments->has[TSIM_OPTION_QUIET])
            fprintf(stderr, "%s: %s\n", arguments->value[TSIM_OPTION_TRACE], tsim_trace_window(trace));
    }
    TSIM_TRY(status);
    tsim_advise(run->arena, scenario, &run->prediction);
    return tsim_uncertainty_add(run->arena, &run->prediction, run->diags);
}

static enum tsim_status log_run(struct run *run) {
    struct tsim_store *store;
    const char *file = tsim_db_file(run->arguments);
    int64_t run_id = 0;
    TSIM_TRY(tsim_store_open(run->arena, file, TSIM_STORE_WRITE, &store, run->diags));
    enum tsim_status status = tsim_store_add_run(store, &run->prediction, run->started_at, &run_id, run->diags);
    tsim_store_close(store);
    if (status == TSIM_OK)
        run->logged = (struct tsim_logged){.run_id = run_id, .file = file};
    return status;
}

static enum tsim_exit print_result(const struct run *run) {
    enum tsim_exit status = TSIM_EXIT_OK;
    if (run->arguments->has[TSIM_OPTION_CSV]) {
        struct tsim_json *summary = tsim_summary_json(&run->prediction, &run->logged);
        tsim_export_summary_csv(summary, stdout);
        tsim_json_release(summary);
    } else if (!tsim_is_json_on_stdout(run->arguments)) {
        struct tsim_style style = tsim_style_of(stdout);
        tsim_summary_print(stdout, &style, &run->prediction, &run->logged);
    }
    if (run->arguments->has[TSIM_OPTION_JSON])
        status = tsim_write_json(run->arguments, tsim_summary_json(&run->prediction, &run->logged));
    return status;
}

static enum tsim_exit write_report(struct run *run) {
    struct tsim_json *page = tsim_page_new();
    const struct tsim_arguments *arguments = run->arguments;
    const struct tsim_page_extent extent = {.logged = &run->logged,
                                            .most_slices = TSIM_PAGE_MOST_SLICES,
                                            .ignore_memory = arguments->has[TSIM_OPTION_IGNORE_MEMORY]};
    enum tsim_exit status =
        tsim_exit_of(tsim_page_add_run(run->arena, page, run->prediction.result.scenario, &extent, run->diags));
    if (status == TSIM_EXIT_OK)
        status = tsim_write_page(arguments, arguments->value[TSIM_OPTION_REPORT], page);
    tsim_json_release(page);
    return status;
}

/* The run is logged first, because the summary prints its number. If that fails, the message comes last, where it is
 * seen. */
static enum tsim_exit finish(struct run *run) {
    enum tsim_exit status = run->prediction.result.step.simulated ? TSIM_EXIT_OK : TSIM_EXIT_DOES_NOT_FIT;
    if (!run->arguments->has[TSIM_OPTION_NO_DB])
        status = tsim_exit_worse(status, tsim_exit_of(log_run(run)));
    status = tsim_exit_worse(status, print_result(run));
    if (run->arguments->has[TSIM_OPTION_REPORT])
        status = tsim_exit_worse(status, write_report(run));
    status = tsim_exit_worse(status, tsim_flush_results());
    tsim_report_diags(run->arguments, run->diags);
    return status;
}

enum tsim_exit tsim_cmd_run(const struct tsim_arguments *arguments) {
    static const enum tsim_option NOT_OF_TRACES[] = {TSIM_OPTION_TRACE,  TSIM_OPTION_TRACE_RANKS,
                                                     TSIM_OPTION_REPORT, TSIM_OPTION_IGNORE_MEMORY,
                                                     TSIM_OPTION_DB,     TSIM_OPTION_SEED};
    struct run run = {.arguments = arguments, .arena = arguments->arena, .diags = arguments->diags};
    if (tsim_replay_is(arguments->operands[0]))
        return tsim_is_refused(arguments, "a replay of traces", NOT_OF_TRACES,
                               sizeof NOT_OF_TRACES / sizeof NOT_OF_TRACES[0])
                   ? TSIM_EXIT_USAGE
                   : tsim_cmd_replay(arguments);
    run.started_at = tsim_timestamp(run.arena);
    enum tsim_exit status = tsim_exit_of(simulate(&run));
    tsim_report_diags(arguments, run.diags);
    if (status == TSIM_EXIT_OK)
        status = finish(&run);
    return status;
}
