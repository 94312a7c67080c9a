#include "cli/command.h"

#include "cli/search_bar.h"
#include "report/page/page.h"
#include "report/terminal/robust_output.h"
#include "study/curves/section.h"
#include "study/judge/uncertainty.h"

struct run {
    const struct tsim_arguments *arguments;
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    struct tsim_scenario_source source;
    struct tsim_plan_space space;
    struct tsim_plan_search search;
    struct tsim_plan_result result;
    struct tsim_figures sensitivity; /* of the two best clusters */
    const char *verdict;
    struct tsim_search_bar bar;
};

/* Reads the scenario's axes unless the command line has some. Without any axis only plans are searched. */
static enum tsim_status read_axes(struct run *run, const struct tsim_value *section, const struct tsim_space **axes) {
    const struct tsim_arguments *arguments = run->arguments;
    const struct tsim_space_words words = {arguments->vary, arguments->n_vary, arguments->zip, arguments->n_zip};
    bool has_own =
        tsim_value_find(section, "axes") || tsim_value_find(section, "zip") || tsim_value_find(section, "points");
    *axes = NULL;
    if (words.n_vary + words.n_zip == 0 && !has_own)
        return TSIM_OK;
    struct tsim_space *space = TSIM_NEW(run->arena, struct tsim_space);
    *axes = space;
    return tsim_space_read(run->arena, section, &words, space, run->diags);
}

static void warn_of_where(struct run *run, const struct tsim_value *section) {
    const struct tsim_value *where = tsim_value_find(section, "where");
    if (where)
        tsim_diag_hint(tsim_value_warning(run->diags, where, "sweep.where", "this has no effect on a search for plans"),
                       "use sweep.limits to limit the cost of a plan");
}

static enum tsim_status search(struct run *run) {
    const struct tsim_arguments *arguments = run->arguments;
    const struct tsim_space *axes;
    TSIM_TRY(tsim_scenario_open(run->arena, arguments->operands[0], &run->source, run->diags));
    const struct tsim_value *section;
    TSIM_TRY(tsim_section_find(run->arena, &run->source, arguments->overrides, arguments->n_overrides, &section,
                               run->diags));
    warn_of_where(run, section);
    TSIM_TRY(read_axes(run, section, &axes));
    TSIM_TRY(tsim_ranking_read(run->arena, section, arguments->value[TSIM_OPTION_OBJECTIVE], &run->search.ranking,
                               run->diags));
    TSIM_TRY(tsim_plan_space_read(run->arena, &run->source, arguments->overrides, arguments->n_overrides, axes,
                                  arguments->has[TSIM_OPTION_ANY_SOFTWARE] ? TSIM_PLAN_ANY_SOFTWARE : TSIM_PLAN_FINE,
                                  &run->space, run->diags));
    tsim_ranking_suit(&run->search.ranking, tsim_has_rounds(run->space.candidates[0].job));
    run->search.space = &run->space;
    run->search.n_threads = tsim_n_jobs(arguments);
    run->search.heeds_interrupt = true;
    tsim_search_bar_init(&run->bar, arguments);
    if (!arguments->answer || !arguments->answer->is_library)
        tsim_memory_keep();
    enum tsim_status status =
        tsim_plan_run(run->arena, &run->search, tsim_search_bar_show, &run->bar, &run->result, run->diags);
    tsim_search_bar_clear(&run->bar);
    return status;
}

/* ---- does the order of the two best clusters survive? ---- */

static enum tsim_status run_again(struct run *run, const struct tsim_plan *plan, struct tsim_prediction *prediction) {
    const struct tsim_run_options options = {.ignore_memory = false};
    const struct tsim_scenario *scenario;
    if (!tsim_scenario_replan(run->arena, plan->candidate->job, &plan->choice, &scenario))
        TSIM_BUG("a plan that was simulated is not valid");
    TSIM_TRY(tsim_train_run(run->arena, scenario, &options, &prediction->result, run->diags));
    return tsim_uncertainty_add(run->arena, prediction, run->diags);
}

static const struct tsim_plan *best_of(const struct run *run, const struct tsim_plan *without) {
    const struct tsim_plan *best = NULL;
    for (size_t i = 0; i < run->result.n_own; i++) {
        const struct tsim_plan *plan = &run->result.own[i];
        if (plan != without && (!best || tsim_ranking_is_better(&run->search.ranking, &plan->point, &best->point)))
            best = plan;
    }
    return best;
}

static enum tsim_status find_sensitivity(struct run *run) {
    struct tsim_prediction predictions[2] = {0};
    struct tsim_robust robust;
    const struct tsim_plan *first = best_of(run, NULL), *second = best_of(run, first);
    if (!run->arguments->has[TSIM_OPTION_SENSITIVITY])
        return TSIM_OK;
    if (!second) {
        tsim_diag_hint(
            tsim_diags_warning(run->diags, (struct tsim_place){.file = "--sensitivity"}, "",
                               "this has no effect: --sensitivity asks for the order of the two best clusters"),
            "--vary cluster.node=A,B compares clusters");
        return TSIM_OK;
    }
    const struct tsim_plan *plans[] = {first, second};
    const char *names[2];
    for (int i = 0; i < 2; i++) {
        names[i] = tsim_plan_cluster_name(run->arena, &run->space, plans[i]->candidate);
        TSIM_TRY(run_again(run, plans[i], &predictions[i]));
    }
    TSIM_TRY(tsim_robust_run(run->arena, &predictions[0], &predictions[1], &robust, run->diags));
    tsim_robust_figures(run->arena, &robust, names, &run->sensitivity);
    run->verdict = tsim_robust_verdict(run->arena, &robust, names);
    return TSIM_OK;
}

/* ---- the page ---- */

static enum tsim_status load_best(struct run *run, const struct tsim_scenario **scenario) {
    const struct tsim_diags before = *run->diags;
    const struct tsim_arguments *arguments = run->arguments;
    const struct tsim_plan *plan = run->result.has_safe ? &run->result.safe : &run->result.best[0];
    TSIM_TRY(tsim_load_plan(run->arena, &run->source, arguments->overrides, arguments->n_overrides, plan->set_json,
                            scenario, run->diags));
    tsim_diags_take_back(run->diags, &before); /* its warnings have been given for the candidates */
    return TSIM_OK;
}

static enum tsim_exit write_report(struct run *run, const struct tsim_plan_output *output) {
    enum { MOST_SLICES = 3000 };
    const struct tsim_scenario *best;
    struct tsim_json *page = tsim_page_new();
    enum tsim_status status = TSIM_OK;
    tsim_page_add_plans(run->arena, page, output);
    if (run->result.n_best > 0)
        status = load_best(run, &best);
    if (run->result.n_best > 0 && status == TSIM_OK)
        status = tsim_page_add_run(run->arena, page, best, &(struct tsim_page_extent){.most_slices = MOST_SLICES},
                                   run->diags);
    if (status != TSIM_OK)
        tsim_report_diags(run->arguments, run->diags);
    enum tsim_exit code = tsim_exit_of(status);
    if (code == TSIM_EXIT_OK)
        code = tsim_write_page(run->arguments, run->arguments->value[TSIM_OPTION_REPORT], page);
    tsim_json_release(page);
    return code;
}

/* Writes the plan that the answer says to run. */
static enum tsim_exit write_plan(struct run *run) {
    const struct tsim_plan *plan = run->result.has_safe ? &run->result.safe : &run->result.best[0];
    const struct tsim_scenario *best;
    enum tsim_status status = load_best(run, &best);
    if (status == TSIM_OK)
        status = tsim_write_plan(run->arena, run->arguments->value[TSIM_OPTION_OUTPUT],
                                 tsim_arena_printf(run->arena, "%s on %s: the choice of tsim plan.",
                                                   tsim_plan_text(run->arena, plan),
                                                   tsim_plan_cluster_name(run->arena, &run->space, plan->candidate)),
                                 best, run->diags);
    if (status != TSIM_OK)
        tsim_report_diags(run->arguments, run->diags);
    return tsim_exit_of(status);
}

static enum tsim_exit write_results(struct run *run) {
    const struct tsim_arguments *arguments = run->arguments;
    const struct tsim_plan_output output = {run->space.candidates[0].job->name, &run->search, &run->result,
                                            &run->sensitivity, run->verdict};
    enum tsim_exit code = TSIM_EXIT_OK;
    if (arguments->has[TSIM_OPTION_CSV]) {
        tsim_plan_print_csv(run->arena, &output, stdout);
    } else if (!tsim_is_json_on_stdout(arguments)) {
        struct tsim_style style = tsim_style_of(stdout);
        tsim_plan_print(run->arena, &output, &style, stdout);
    }
    if (arguments->has[TSIM_OPTION_JSON])
        code = tsim_write_json(arguments, tsim_plan_json(run->arena, &output));
    if (arguments->has[TSIM_OPTION_REPORT])
        code = tsim_exit_worse(code, write_report(run, &output));
    if (arguments->has[TSIM_OPTION_OUTPUT] && run->result.n_best > 0)
        code = tsim_exit_worse(code, write_plan(run));
    if (run->result.is_interrupted)
        return code == TSIM_EXIT_OK ? TSIM_EXIT_INTERRUPTED : code;
    if (run->result.n_best > 0)
        return code;
    bool is_memory = run->result.n_too_large > 0 && run->result.n_evaluated + run->result.n_pruned == 0;
    bool is_told = !arguments->has[TSIM_OPTION_CSV] && !tsim_is_json_on_stdout(arguments);
    for (size_t i = 0; i < run->result.n_gaps && !is_told; i++)
        fprintf(tsim_messages(), "%s: error: %s\n", run->space.candidates[0].job->name,
                tsim_plan_gap_text(run->arena, &output, &run->result.gaps[i]));
    return tsim_exit_worse(code, is_memory ? TSIM_EXIT_DOES_NOT_FIT : TSIM_EXIT_INVALID);
}

enum tsim_exit tsim_cmd_plan(const struct tsim_arguments *arguments) {
    struct run run = {.arguments = arguments, .arena = arguments->arena, .diags = arguments->diags};
    enum tsim_exit code = tsim_exit_of(search(&run));
    if (code == TSIM_EXIT_OK && !run.result.is_interrupted)
        code = tsim_exit_of(find_sensitivity(&run));
    tsim_report_diags(arguments, run.diags);
    if (code == TSIM_EXIT_OK)
        code = write_results(&run);
    return code;
}
