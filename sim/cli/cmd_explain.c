#include "cli/command.h"

#include "report/explain.h"
#include "study/advice.h"

struct explain {
    const struct tsim_arguments *arguments;
    struct tsim_arena arena;
    struct tsim_diags diags;
    const struct tsim_scenario *scenario;
    struct tsim_result result;
    struct tsim_explanation explanation;
};

static enum tsim_status simulate(struct explain *explain) {
    const struct tsim_arguments *arguments = explain->arguments;
    const struct tsim_run_options options = {.ignore_memory = arguments->has[TSIM_OPTION_IGNORE_MEMORY]};
    TSIM_TRY(tsim_scenario_load(&explain->arena, arguments->operands[0], arguments->overrides, arguments->n_overrides,
                                &explain->scenario, &explain->diags));
    TSIM_TRY(tsim_train_run(&explain->arena, explain->scenario, &options, &explain->result, &explain->diags));
    tsim_advise(&explain->arena, explain->scenario, &explain->result);
    return tsim_explanation_build(&explain->arena, explain->scenario, &explain->result, &explain->explanation,
                                  &explain->diags);
}

static enum tsim_exit print_sections(const struct explain *explain) {
    const struct tsim_arguments *arguments = explain->arguments;
    const struct tsim_explanation *explanation = &explain->explanation;
    enum tsim_exit status = explain->result.simulated ? TSIM_EXIT_OK : TSIM_EXIT_DOES_NOT_FIT;
    if (arguments->has[TSIM_OPTION_CSV]) {
        tsim_explain_print_csv(stdout, explanation);
    } else if (!tsim_is_json_on_stdout(arguments)) {
        struct tsim_style style = tsim_style_of(stdout);
        tsim_explain_print(stdout, &style, explanation);
    }
    if (arguments->has[TSIM_OPTION_JSON])
        status = tsim_exit_worse(status, tsim_write_json(arguments, tsim_explain_json(explanation)));
    return status;
}

enum tsim_exit tsim_cmd_explain(const struct tsim_arguments *arguments) {
    struct explain explain = {.arguments = arguments};
    tsim_arena_init(&explain.arena);
    tsim_diags_init(&explain.diags);
    enum tsim_exit status = tsim_exit_of(simulate(&explain));
    tsim_report_diags(arguments, &explain.diags);
    if (status == TSIM_EXIT_OK)
        status = print_sections(&explain);
    status = tsim_exit_worse(status, tsim_flush_results());
    tsim_diags_release(&explain.diags);
    tsim_arena_release(&explain.arena);
    return status;
}
