#include "cli/command.h"

#include "report/terminal/explain.h"
#include "report/terminal/explain_term.h"
#include "results/outcome.h"
#include "study/judge/uncertainty.h"
#include "study/search/advice.h"

#include <string.h>

struct explain {
    const struct tsim_arguments *arguments;
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    const struct tsim_scenario *scenario;
    struct tsim_term_recorder recorder; /* records the run, if a term of it is asked for */
    struct tsim_prediction prediction;
    struct tsim_explanation explanation;
};

static const char *term_of(const struct tsim_arguments *arguments) {
    return arguments->n_operands > 1 ? arguments->operands[1] : NULL;
}

static enum tsim_status simulate(struct explain *explain) {
    const struct tsim_arguments *arguments = explain->arguments;
    struct tsim_step_sink sink = {.take = NULL};
    const struct tsim_run_options options = {.ignore_memory = arguments->has[TSIM_OPTION_IGNORE_MEMORY],
                                             .sink = term_of(arguments) ? NULL : &sink,
                                             .recorder = term_of(arguments) ? &explain->recorder : NULL};
    tsim_term_recorder_init(&explain->recorder, explain->arena);
    TSIM_TRY(tsim_scenario_load(explain->arena, arguments->operands[0], arguments->overrides, arguments->n_overrides,
                                &explain->scenario, explain->diags));
    const struct tsim_timeline *of_first = tsim_timeline_listen(explain->arena, explain->scenario, 0, &sink);
    TSIM_TRY(tsim_train_run(explain->arena, explain->scenario, &options, &explain->prediction.result, explain->diags));
    if (term_of(arguments))
        return tsim_uncertainty_add(explain->arena, &explain->prediction, explain->diags);
    tsim_advise(explain->arena, explain->scenario, &explain->prediction);
    return tsim_explanation_build(explain->arena, &explain->prediction, of_first, TSIM_EXPLAIN_ALL,
                                  &explain->explanation, explain->diags);
}

static enum tsim_exit print_sections(const struct explain *explain) {
    const struct tsim_arguments *arguments = explain->arguments;
    if (arguments->has[TSIM_OPTION_CSV]) {
        tsim_explain_print_csv(stdout, &explain->explanation);
    } else if (!tsim_is_json_on_stdout(arguments)) {
        struct tsim_style style = tsim_style_of(stdout);
        tsim_explain_print(stdout, &style, &explain->explanation);
    }
    if (arguments->has[TSIM_OPTION_JSON])
        return tsim_write_json(arguments, tsim_explain_json(&explain->explanation));
    return TSIM_EXIT_OK;
}

/* ---- one term ---- */

static bool knows_term(const struct tsim_arguments *arguments) {
    enum tsim_outcome_figure figure;
    const char *name = term_of(arguments), *scenario = arguments->operands[0];
    if (!name || tsim_outcome_find_term(name, &figure))
        return true;
    const char *near = tsim_outcome_near_term(name);
    bool is_swapped = !near && (tsim_outcome_find_term(scenario, &figure) || tsim_outcome_near_term(scenario));
    if (is_swapped)
        fprintf(tsim_messages(), "tsim explain: the scenario comes first: tsim explain %s %s\n", name, scenario);
    else if (near)
        fprintf(tsim_messages(), "tsim explain: unknown term '%s'; did you mean '%s'? docs/reference.md lists all\n",
                name, near);
    else
        fprintf(tsim_messages(),
                "tsim explain: unknown term '%s'; try step_time, mfu or days, or see docs/reference.md\n", name);
    return false;
}

static enum tsim_exit print_term(struct explain *explain, const char *name) {
    const struct tsim_arguments *arguments = explain->arguments;
    const struct tsim_term *term = tsim_term_of(&explain->prediction, name);
    if (!term) {
        fprintf(tsim_messages(), "tsim explain: this run has no '%s'%s\n", name,
                explain->prediction.result.step.simulated
                    ? ": the scenario does not ask for it"
                    : ": it does not fit in memory (--ignore-memory simulates it all the same)");
        return explain->prediction.result.step.simulated ? TSIM_EXIT_INVALID : TSIM_EXIT_DOES_NOT_FIT;
    }
    if (arguments->has[TSIM_OPTION_CSV]) {
        tsim_term_print_csv(stdout, term);
    } else if (!tsim_is_json_on_stdout(arguments)) {
        struct tsim_style style = tsim_style_of(stdout);
        tsim_term_print(stdout, &style, term);
    }
    if (arguments->has[TSIM_OPTION_JSON])
        return tsim_write_json(arguments, tsim_term_json(term));
    return TSIM_EXIT_OK;
}

static enum tsim_exit print_explanation(struct explain *explain) {
    const char *term = term_of(explain->arguments);
    enum tsim_exit status = explain->prediction.result.step.simulated ? TSIM_EXIT_OK : TSIM_EXIT_DOES_NOT_FIT;
    return tsim_exit_worse(status, term ? print_term(explain, term) : print_sections(explain));
}

enum tsim_exit tsim_cmd_explain(const struct tsim_arguments *arguments) {
    struct explain explain = {.arguments = arguments, .arena = arguments->arena, .diags = arguments->diags};
    if (!knows_term(arguments))
        return TSIM_EXIT_USAGE;
    enum tsim_exit status = tsim_exit_of(simulate(&explain));
    tsim_report_diags(arguments, explain.diags);
    if (status == TSIM_EXIT_OK)
        status = print_explanation(&explain);
    status = tsim_exit_worse(status, tsim_flush_results());
    return status;
}
