#include "cli/command.h"

#include "results/store_merge.h"

static void say_what_was_done(const char *out, const struct tsim_merged *merged) {
    printf("%s: %lld point%s of %lld sweep%s", out, (long long)merged->n_points, merged->n_points == 1 ? "" : "s",
           (long long)merged->n_sweeps, merged->n_sweeps == 1 ? "" : "s");
    if (merged->n_points < merged->n_expected)
        printf(", %lld are missing", (long long)(merged->n_expected - merged->n_points));
    putchar('\n');
}

enum tsim_exit tsim_cmd_merge(const struct tsim_arguments *arguments) {
    struct tsim_merged merged;
    const char *out = arguments->operands[0];
    enum tsim_exit code = tsim_exit_of(tsim_store_merge(arguments->arena, out, arguments->operands + 1,
                                                        arguments->n_operands - 1, &merged, arguments->diags));
    tsim_report_diags(arguments, arguments->diags);
    if (code == TSIM_EXIT_OK && !arguments->has[TSIM_OPTION_QUIET])
        say_what_was_done(out, &merged);
    return code;
}
