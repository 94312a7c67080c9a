#include "cli/command.h"

#include "cli/search_bar.h"
#include "import/formats.h"
#include "import/launches/launch_file.h"
#include "report/terminal/diagnosis_output.h"
#include "report/text_file.h"
#include "study/judge/profile_database.h"

#include <string.h>

struct diagnose {
    const struct tsim_arguments *arguments;
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    struct tsim_scenario_source source;
    const char *notes; /* what the importer assumed */
    bool is_imported;  /* then it has reported what is wrong, and the overrides are in the source */
    struct tsim_override *overrides;
    size_t n_overrides;
    struct tsim_override from_log; /* what the second operand says of steps; without a path if it is no log */
    const char *log_note;
    bool has_profile;
    struct tsim_profile profile;
    struct tsim_diagnosis diagnosis;
    struct tsim_diagnosis_output output;
    struct tsim_search_bar bar;
};

/* ---- what is read ---- */

/* Takes the user's settings. A measurement that the user gives needs no source. */
static void take_overrides(struct diagnose *run) {
    const struct tsim_arguments *arguments = run->arguments;
    bool is_measured = false, has_source = false;
    run->overrides = TSIM_NEW_ARRAY(run->arena, arguments->n_overrides + 2, struct tsim_override);
    for (size_t i = 0; i < arguments->n_overrides; i++) {
        const struct tsim_override *o = &arguments->overrides[i];
        is_measured |= strncmp(o->path, "measured.", 9) == 0;
        has_source |= strcmp(o->path, "measured.source") == 0;
        run->overrides[run->n_overrides++] = *o;
    }
    if (!is_measured && run->from_log.path) {
        run->overrides[run->n_overrides++] = run->from_log;
        if (!has_source)
            run->overrides[run->n_overrides++] = (struct tsim_override){"measured.source", arguments->operands[1]};
    } else if (is_measured && !has_source) {
        run->overrides[run->n_overrides++] = (struct tsim_override){"measured.source", "--set"};
    }
}

static enum tsim_status import(struct diagnose *run, const struct tsim_import_format *format, const char *file) {
    const struct tsim_arguments *arguments = run->arguments;
    const struct tsim_import_input options = {.overrides = run->overrides,
                                              .n_overrides = run->n_overrides,
                                              .ignored = arguments->ignored,
                                              .n_ignored = arguments->n_ignored,
                                              .environment = arguments->environment,
                                              .n_environment = arguments->n_environment};
    struct tsim_import_result result = {.notes = ""};
    TSIM_TRY(tsim_import_files(run->arena, format, &file, 1, &options, &result, run->diags));
    run->notes = result.notes;
    run->output.assumed_node = result.assumed_node;
    run->is_imported = true;
    run->n_overrides = 0;
    return tsim_scenario_open_text(run->arena, tsim_arena_printf(run->arena, "%s, imported", file), result.yaml,
                                   &run->source, run->diags);
}

/* Reads a scenario, or a launch or log whose content tells its format. */
static enum tsim_status read_launch(struct diagnose *run) {
    const char *file = run->arguments->operands[0];
    struct tsim_file_bytes bytes;
    take_overrides(run);
    if (strcmp(file, "-") == 0)
        return tsim_scenario_open(run->arena, file, &run->source, run->diags);
    TSIM_TRY(tsim_file_read(run->arena, file, TSIM_LOG_MAX_BYTES, "a launch, a log or a scenario", &bytes, run->diags));
    const struct tsim_import_format *format = tsim_import_format_of(bytes.text, bytes.size);
    bool is_scenario = tsim_import_is_ours(bytes.text, bytes.size);
    struct tsim_override measured;
    const char *spread;
    bool is_log = tsim_import_log_measured(run->arena, bytes.text, bytes.size, &measured, &spread);
    tsim_heap_free(bytes.text);
    if (is_scenario)
        return tsim_scenario_open(run->arena, file, &run->source, run->diags);
    if (format && tsim_import_gives_scenario(format))
        return import(run, format, file);
    if (!format && is_log) {
        tsim_diag_hint(tsim_diags_error(run->diags, TSIM_ERR_SCHEMA, (struct tsim_place){.file = file}, "",
                                        "this log says how long steps take, but not what is trained"),
                       "give what started the job as well: tsim diagnose LAUNCH %s", file);
        return TSIM_ERR_SCHEMA;
    }
    tsim_diag_hint(
        tsim_diags_error(run->diags, TSIM_ERR_SCHEMA, (struct tsim_place){.file = file}, "",
                         format ? "this is a file of %s, which gives no job to diagnose"
                                : "this is no launch, log or scenario that tsim knows",
                         format ? format->name : ""),
        "tsim import FORMAT FILE --output job.yaml reads a file by its format, tsim diagnose job.yaml the result");
    return TSIM_ERR_SCHEMA;
}

/* Reads a profiler's trace, or the job's log. */
static enum tsim_status read_measurement(struct diagnose *run, const char *file) {
    struct tsim_file_bytes bytes;
    const char *spread;
    if (tsim_profile_is_database(file)) {
        run->has_profile = true;
        return tsim_profile_read_database(run->arena, file, &run->profile, run->diags);
    }
    TSIM_TRY(tsim_text_file_read(run->arena, file, TSIM_PROFILE_MAX_BYTES, "a log, or a trace of a profiler", &bytes,
                                 run->diags));
    if (tsim_import_log_measured(run->arena, bytes.text, bytes.size, &run->from_log, &spread)) {
        run->log_note = tsim_arena_printf(run->arena, "%s: note: %s: %s, %s\n", file, run->from_log.path,
                                          run->from_log.value, spread);
        tsim_heap_free(bytes.text);
        return TSIM_OK;
    }
    const char first = bytes.text[strspn(bytes.text, " \t\r\n")];
    if (first != '{' && first != '[' && !tsim_profile_is_table(bytes.text, bytes.size)) {
        tsim_diag_hint(
            tsim_diags_error(run->diags, TSIM_ERR_SCHEMA, (struct tsim_place){.file = file}, "",
                             "no line says how long a step takes, and it is no trace of a profiler"),
            "what started the job comes first, then its log (Megatron-LM, DeepSpeed, torchtitan, MaxText); --set "
            "measured.step_time='13.7 s' does without one");
        tsim_heap_free(bytes.text);
        return TSIM_ERR_SCHEMA;
    }
    run->has_profile = true;
    enum tsim_status status =
        tsim_profile_read_text(run->arena, bytes.file, bytes.text, bytes.size, &run->profile, run->diags);
    tsim_heap_free(bytes.text);
    return status;
}

/* ---- the software's own options ---- */

/* Returns the user's scenario with these settings, or NULL if it is not valid. */
static const struct tsim_scenario *scenario_with(struct diagnose *run, const struct tsim_override *settings, size_t n) {
    struct tsim_override *all = TSIM_NEW_ARRAY(run->arena, run->n_overrides + n + 1, struct tsim_override);
    const struct tsim_scenario *scenario = NULL;
    if (run->n_overrides > 0)
        memcpy(all, run->overrides, run->n_overrides * sizeof *all);
    if (n > 0)
        memcpy(all + run->n_overrides, settings, n * sizeof *all);
    if (tsim_scenario_load_from(run->arena, &run->source, all, run->n_overrides + n, &scenario, TSIM_UNHEARD) !=
        TSIM_OK)
        scenario = NULL;
    return scenario;
}

static void find_flags(struct diagnose *run) {
    const struct tsim_diagnosis *d = &run->diagnosis;
    struct tsim_override *so_far = TSIM_NEW_ARRAY(run->arena, TSIM_MOST_BARS * TSIM_N_PLAN_KEYS, struct tsim_override);
    const struct tsim_scenario *before = d->scenario, *after;
    size_t n = 0;
    for (size_t i = 0; i < d->n_bars; i++) {
        for (size_t k = 0; k < d->bars[i].n_settings; k++)
            so_far[n++] = d->bars[i].settings[k];
        if (d->bars[i].n_settings == 0 || !(after = scenario_with(run, so_far, n)))
            continue;
        run->output.flags[i] = tsim_launch_changes(run->arena, before, after);
        run->output.without_option[i] =
            tsim_launch_lacks(run->arena, after, d->bars[i].settings, d->bars[i].n_settings);
        before = after;
    }
    for (size_t i = 0; i < d->n_suspects; i++)
        if ((after = scenario_with(run, &d->suspects[i].setting, 1)))
            run->output.suspect_flags[i] = tsim_launch_changes(run->arena, d->scenario, after);
}

/* ---- the command ---- */

static enum tsim_status diagnose(struct diagnose *run) {
    const struct tsim_arguments *arguments = run->arguments;
    if (arguments->n_operands > 1)
        TSIM_TRY(read_measurement(run, arguments->operands[1]));
    TSIM_TRY(read_launch(run));
    tsim_search_bar_init(&run->bar, arguments);
    tsim_memory_keep();
    const struct tsim_diagnosis_options options = {.profile = run->has_profile ? &run->profile : NULL,
                                                   .n_threads = tsim_n_jobs(arguments),
                                                   .report = tsim_search_bar_show,
                                                   .context = &run->bar};
    struct tsim_diags again; /* of the imported scenario, whose warnings have been given */
    tsim_diags_init(&again);
    enum tsim_status status = tsim_diagnose(run->arena, &run->source, run->overrides, run->n_overrides, &options,
                                            &run->diagnosis, run->is_imported ? &again : run->diags);
    tsim_search_bar_clear(&run->bar);
    if (status != TSIM_OK)
        tsim_report_diags(arguments, &again);
    tsim_diags_release(&again);
    if (status == TSIM_OK && !run->diagnosis.prediction.result.step.fits)
        tsim_diags_warning(run->diags, run->diagnosis.scenario->plan_at, "",
                           "by our account this job does not fit in memory; it is taken to run all the same");
    return status;
}

static enum tsim_exit write_results(struct diagnose *run) {
    const struct tsim_arguments *arguments = run->arguments;
    run->output.diagnosis = &run->diagnosis;
    find_flags(run);
    if (arguments->has[TSIM_OPTION_CSV]) {
        tsim_diagnosis_print_csv(run->arena, &run->output, stdout);
    } else if (!tsim_is_json_on_stdout(arguments)) {
        struct tsim_style style = tsim_style_of(stdout);
        tsim_diagnosis_print(run->arena, &run->output, &style, stdout);
    }
    enum tsim_exit code = TSIM_EXIT_OK;
    if (arguments->has[TSIM_OPTION_JSON])
        code = tsim_write_json(arguments, tsim_diagnosis_json(run->arena, &run->output));
    return code == TSIM_EXIT_OK && run->diagnosis.is_interrupted ? TSIM_EXIT_INTERRUPTED : code;
}

enum tsim_exit tsim_cmd_diagnose(const struct tsim_arguments *arguments) {
    struct diagnose run = {
        .arguments = arguments, .arena = arguments->arena, .diags = arguments->diags, .notes = "", .log_note = ""};
    enum tsim_exit code = tsim_exit_of(diagnose(&run));
    if (code == TSIM_EXIT_OK && !arguments->has[TSIM_OPTION_QUIET])
        fprintf(stderr, "%s%s", run.notes, run.log_note);
    tsim_report_diags(arguments, run.diags);
    if (code == TSIM_EXIT_OK)
        code = write_results(&run);
    code = tsim_exit_worse(code, tsim_flush_results());
    return code;
}
