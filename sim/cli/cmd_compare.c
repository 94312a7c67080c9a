/* Two scenarios, or runs of the database by their numbers: a run's resolved scenario is simulated again, by this
 * version. */
#include "cli/command.h"

#include "report/page/page.h"
#include "report/terminal/compare.h"
#include "report/terminal/robust_output.h"
#include "run/run.h"
#include "study/judge/uncertainty.h"

#include <math.h>
#include <string.h>

struct compare {
    const struct tsim_arguments *arguments;
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    struct tsim_prediction predictions[2];
    struct tsim_comparison comparison;
};

static enum tsim_status simulate(struct compare *c, int side) {
    const struct tsim_run_options options = {.ignore_memory = c->arguments->has[TSIM_OPTION_IGNORE_MEMORY]};
    const char *operand = c->arguments->operands[side];
    const struct tsim_scenario *scenario;
    TSIM_TRY(tsim_load_operand(c->arena, c->arguments, operand, &scenario, c->diags));
    TSIM_TRY(tsim_train_run(c->arena, scenario, &options, &c->predictions[side].result, c->diags));
    return tsim_uncertainty_add(c->arena, &c->predictions[side], c->diags);
}

static enum tsim_status find_sensitivity(struct compare *c) {
    static const char *const NAMES[] = {"A", "B"};
    struct tsim_robust robust;
    if (!c->arguments->has[TSIM_OPTION_SENSITIVITY] || !c->predictions[0].result.step.simulated ||
        !c->predictions[1].result.step.simulated)
        return TSIM_OK;
    TSIM_TRY(tsim_robust_run(c->arena, &c->predictions[0], &c->predictions[1], &robust, c->diags));
    tsim_robust_figures(c->arena, &robust, NAMES, &c->comparison.sensitivity);
    c->comparison.verdict = tsim_robust_verdict(c->arena, &robust, NAMES);
    return TSIM_OK;
}

static enum tsim_status build(struct compare *c) {
    const char **operands = c->arguments->operands;
    const struct tsim_side a = {operands[0], &c->predictions[0]}, b = {operands[1], &c->predictions[1]};
    TSIM_TRY(simulate(c, 0));
    TSIM_TRY(simulate(c, 1));
    tsim_comparison_build(c->arena, &a, &b, &c->comparison);
    return find_sensitivity(c);
}

static enum tsim_exit write_report(struct compare *c) {
    struct tsim_json *page = tsim_page_new();
    const struct tsim_page_extent extent = {.most_slices = TSIM_PAGE_MOST_SLICES / 2,
                                            .ignore_memory = c->arguments->has[TSIM_OPTION_IGNORE_MEMORY]};
    enum tsim_status status = TSIM_OK;
    tsim_page_add_comparison(page, tsim_comparison_json(&c->comparison));
    bool has_runs = !c->arguments->answer; /* who asks for an answer has them before it */
    for (int side = 0; side < 2 && has_runs && status == TSIM_OK; side++)
        status = tsim_page_add_run(c->arena, page, c->predictions[side].result.scenario, &extent, c->diags);
    enum tsim_exit code = tsim_exit_of(status);
    if (status == TSIM_OK)
        code = tsim_write_page(c->arguments, c->arguments->value[TSIM_OPTION_REPORT], page);
    tsim_json_release(page);
    return code;
}

/* Returns the exit status. Without two steps to compare, the gate fails; without a gate, the status says that one of
 * them does not fit. */
static enum tsim_exit judge(const struct compare *c) {
    double change_frac = c->comparison.step_change_frac, most_frac = c->arguments->fail_above_frac;
    if (!c->arguments->has[TSIM_OPTION_FAIL_ABOVE])
        return c->predictions[0].result.step.simulated && c->predictions[1].result.step.simulated
                   ? TSIM_EXIT_OK
                   : TSIM_EXIT_DOES_NOT_FIT;
    if (fabs(change_frac) <= most_frac)
        return TSIM_EXIT_OK;
    tsim_flush_results();
    if (isnan(change_frac))
        fprintf(tsim_messages(), "tsim compare: there are no two steps to compare, so --fail-above fails\n");
    else
        fprintf(tsim_messages(), "tsim compare: the step's time changes by %+.2f %%, more than --fail-above %g %%\n",
                100 * change_frac, 100 * most_frac);
    return TSIM_EXIT_GATE;
}

static enum tsim_exit print_comparison(struct compare *c) {
    const struct tsim_arguments *arguments = c->arguments;
    enum tsim_exit status = TSIM_EXIT_OK;
    if (arguments->has[TSIM_OPTION_CSV]) {
        tsim_comparison_print_csv(stdout, &c->comparison);
    } else if (!tsim_is_json_on_stdout(arguments)) {
        struct tsim_style style = tsim_style_of(stdout);
        tsim_comparison_print(stdout, &style, &c->comparison);
    }
    if (arguments->has[TSIM_OPTION_JSON])
        status = tsim_write_json(arguments, tsim_comparison_json(&c->comparison));
    if (arguments->has[TSIM_OPTION_REPORT])
        status = tsim_exit_worse(status, write_report(c));
    return tsim_exit_worse(status, judge(c));
}

enum tsim_exit tsim_cmd_compare(const struct tsim_arguments *arguments) {
    struct compare c = {.arguments = arguments, .arena = arguments->arena, .diags = arguments->diags};
    enum tsim_exit status = tsim_exit_of(build(&c));
    tsim_report_diags(arguments, c.diags);
    if (status == TSIM_EXIT_OK)
        status = print_comparison(&c);
    status = tsim_exit_worse(status, tsim_flush_results());
    return status;
}
