#include "cli/command.h"

/* One file gives its own document, several give a list of them. */
static void collect(const struct tsim_arguments *arguments, const char *resolved_json, struct tsim_json **document) {
    if (arguments->n_operands == 1) {
        *document = tsim_json_new_parsed(resolved_json);
        return;
    }
    if (!*document)
        *document = tsim_json_new_array();
    tsim_json_parsed(*document, NULL, resolved_json);
}

static enum tsim_exit check_file(const struct tsim_arguments *arguments, const char *file,
                                 struct tsim_json **document) {
    struct tsim_arena arena;
    struct tsim_diags diags;
    const struct tsim_scenario *scenario;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    enum tsim_status status =
        tsim_scenario_load(&arena, file, arguments->overrides, arguments->n_overrides, &scenario, &diags);
    tsim_report_diags(arguments, &diags);
    if (status == TSIM_OK && arguments->has[TSIM_OPTION_JSON])
        collect(arguments, scenario->resolved_json, document);
    if (status == TSIM_OK && !tsim_is_json_on_stdout(arguments) && !arguments->has[TSIM_OPTION_QUIET])
        printf("%s: ok\n", file);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return tsim_exit_of(status);
}

enum tsim_exit tsim_cmd_check(const struct tsim_arguments *arguments) {
    enum tsim_exit status = TSIM_EXIT_OK;
    struct tsim_json *document = NULL;
    for (size_t i = 0; i < arguments->n_operands; i++)
        status = tsim_exit_worse(status, check_file(arguments, arguments->operands[i], &document));
    if (document)
        status = tsim_exit_worse(status, tsim_write_json(arguments, document));
    return status;
}
