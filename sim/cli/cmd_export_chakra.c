/* A simulated step as execution traces of Chakra: report/export/history_record.h, import/traces/chakra_file.h. */
#include "cli/command.h"

#include "import/traces/chakra_file.h"
#include "report/export/history_record.h"
#include "report/terminal/rank_list.h"
#include "run/run.h"

#include <string.h>

enum { MOST_DEFAULT_RANKS = 64 };

struct chakra {
    const struct tsim_arguments *arguments;
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    const struct tsim_scenario *scenario;
    struct tsim_recorder *recorder;
    struct tsim_rank_list ranks;
    int32_t n_files;
    int64_t n_nodes;
};

static enum tsim_exit complain(const char *text) {
    fprintf(stderr, "tsim export: %s\nTry 'tsim export --help'.\n", text);
    return TSIM_EXIT_USAGE;
}

static enum tsim_status wrong(struct chakra *x, const char *what, const char *hint) {
    tsim_diag_hint(
        tsim_diags_error(x->diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){x->scenario->file, 0, 0}, "", "%s", what),
        "%s", hint);
    return TSIM_ERR_INFEASIBLE;
}

static enum tsim_status check(struct chakra *x) {
    int64_t beyond = tsim_rank_list_beyond(&x->ranks, x->scenario->n_accelerators);
    if (beyond >= 0)
        return wrong(x, tsim_arena_printf(x->arena, "there is no rank %lld", (long long)beyond),
                     tsim_arena_printf(x->arena, "ranks are 0 to %lld", (long long)x->scenario->n_accelerators - 1));
    if (x->scenario->simulation.network == TSIM_NETWORK_STEPS)
        return wrong(x, "a step simulated message by message has no collectives to export",
                     "--set simulation.network=fluid");
    if (!x->arguments->has[TSIM_OPTION_RANKS] && x->scenario->n_accelerators > MOST_DEFAULT_RANKS)
        return wrong(
            x,
            tsim_arena_printf(x->arena, "%lld ranks: a file for each is many", (long long)x->scenario->n_accelerators),
            "--ranks all, or some: --ranks 0,8-15");
    return TSIM_OK;
}

static enum tsim_status simulate(struct chakra *x) {
    struct tsim_result result;
    struct tsim_run_options options = {.is_steady = true,
                                       .ignore_memory = x->arguments->has[TSIM_OPTION_IGNORE_MEMORY]};
    x->recorder = tsim_recorder_new(x->arena, x->scenario);
    options.sink = tsim_recorder_sink(x->recorder);
    TSIM_TRY(tsim_train_run(x->arena, x->scenario, &options, &result, x->diags));
    if (!result.step.simulated)
        return wrong(x, "it does not fit in memory, and is not simulated",
                     "--ignore-memory, or one of the changes that tsim run proposes");
    return TSIM_OK;
}

static enum tsim_status write_files(struct chakra *x) {
    const char *name = x->arguments->value[TSIM_OPTION_OUTPUT];
    const struct tsim_history_group *groups;
    struct tsim_history execution;
    struct tsim_arena scratch;
    enum tsim_status status = TSIM_OK;
    for (int32_t rank = 0; rank < x->scenario->n_accelerators && status == TSIM_OK; rank++) {
        if (!tsim_rank_list_has(&x->ranks, rank))
            continue;
        tsim_arena_init(&scratch);
        tsim_recorder_history(x->recorder, &scratch, rank, &execution);
        /* a diagnostic keeps the file's name */
        status = tsim_chakra_write(x->arena, tsim_arena_printf(x->arena, "%s.%d.et", name, rank), &execution, x->diags);
        x->n_files++;
        x->n_nodes += execution.n_nodes;
        tsim_arena_release(&scratch);
    }
    TSIM_TRY(status);
    int32_t n = tsim_recorder_groups(x->recorder, &groups);
    return tsim_chakra_write_groups(x->arena, tsim_arena_printf(x->arena, "%s.groups.json", name), groups, n, x->diags);
}

static enum tsim_status export(struct chakra *x) {
    TSIM_TRY(tsim_scenario_load(x->arena, x->arguments->operands[0], x->arguments->overrides, x->arguments->n_overrides,
                                &x->scenario, x->diags));
    TSIM_TRY(check(x));
    TSIM_TRY(simulate(x));
    return write_files(x);
}

enum tsim_exit tsim_export_chakra(const struct tsim_arguments *arguments) {
    struct chakra x = {.arguments = arguments, .arena = arguments->arena, .diags = arguments->diags};
    const char *ranks = arguments->value[TSIM_OPTION_RANKS];
    if (!arguments->has[TSIM_OPTION_OUTPUT])
        return complain("--format chakra needs --output NAME, for NAME.RANK.et");
    bool is_list = tsim_rank_list_parse(x.arena, ranks ? ranks : "all", &x.ranks);
    enum tsim_exit code = is_list ? tsim_exit_of(export(&x)) : complain("--ranks takes a list, as in 0,3,8-15, or all");
    tsim_report_diags(arguments, x.diags);
    if (code == TSIM_EXIT_OK && !arguments->has[TSIM_OPTION_QUIET])
        printf("%d trace%s of %lld nodes: %s.RANK.et; their process groups: %s.groups.json\n", (int)x.n_files,
               x.n_files == 1 ? "" : "s", (long long)x.n_nodes, arguments->value[TSIM_OPTION_OUTPUT],
               arguments->value[TSIM_OPTION_OUTPUT]);
    if (x.recorder)
        tsim_recorder_release(x.recorder);
    return code != TSIM_EXIT_OK ? code : tsim_flush_results();
}
