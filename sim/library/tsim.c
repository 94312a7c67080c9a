#include "library/tsim.h"

#include "base/among.h"
#include "base/text_sink.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "report/terminal/summary.h"
#include "run/run.h"
#include "study/curves/section.h"
#include "study/judge/uncertainty.h"
#include "study/search/advice.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

struct tsim_job {
    struct tsim_arena scenario_arena; /* the source and what was set */
    struct tsim_arena text_arena;     /* messages */
    struct tsim_scenario_source source;
    bool is_loaded, ignores_memory;
    struct tsim_override *overrides;
    size_t n_overrides, overrides_capacity;
    struct tsim_json *summary; /* of the last run; NULL: none */
    struct tsim_arena json_arena;
    const char *json, *messages, *diagnostics, *view;
    struct tsim_arena lent_arena;
    struct tsim_caller caller; /* of its commands and sweeps */
};

const char *tsim_job_version(void) {
    return TSIM_VERSION;
}

struct tsim_job *tsim_job_new(void) {
    size_t capacity = 0;
    struct tsim_job *job = tsim_heap_grow(NULL, &capacity, 1, sizeof *job);
    memset(job, 0, sizeof *job);
    tsim_arena_init(&job->scenario_arena);
    tsim_arena_init(&job->text_arena);
    tsim_arena_init(&job->json_arena);
    tsim_arena_init(&job->lent_arena);
    job->json = "{}";
    job->messages = job->view = "";
    job->diagnostics = "[]";
    return job;
}

static void forget_run(struct tsim_job *job) {
    if (job->summary)
        tsim_json_release(job->summary);
    job->summary = NULL;
    job->json = "{}";
    job->diagnostics = "[]";
    job->view = "";
    tsim_arena_reset(&job->json_arena);
}

void tsim_job_free(struct tsim_job *job) {
    if (!job)
        return;
    forget_run(job);
    tsim_heap_free(job->overrides);
    tsim_arena_release(&job->scenario_arena);
    tsim_arena_release(&job->text_arena);
    tsim_arena_release(&job->json_arena);
    tsim_arena_release(&job->lent_arena);
    tsim_heap_free(job);
}

/* ---- messages ---- */

static void begin_messages(struct tsim_job *job, struct tsim_diags *diags) {
    tsim_arena_reset(&job->text_arena);
    job->messages = "";
    tsim_diags_init(diags);
}

/* Returns the sink's text in `arena`; the sink is released. */
static const char *taken_text(struct tsim_arena *arena, struct tsim_text_sink *sink) {
    const char *text = tsim_arena_strdup(arena, tsim_text_sink_text(sink));
    tsim_text_sink_release(sink);
    return text;
}

typedef void (*print_fn)(const void *what, FILE *out);

/* Collects what a function prints as a text in `arena`. */
static const char *text_of(struct tsim_arena *arena, print_fn print, const void *what) {
    struct tsim_text_sink sink;
    tsim_text_sink_open(&sink, SIZE_MAX - 1);
    print(what, sink.stream);
    return taken_text(arena, &sink);
}

static void print_diags(const void *diags, FILE *out) {
    tsim_diags_print(diags, out);
}

static enum tsim_job_status end_messages(struct tsim_job *job, struct tsim_diags *diags, enum tsim_status status) {
    if (diags->n_items > 0)
        job->messages = text_of(&job->text_arena, print_diags, diags);
    tsim_diags_release(diags);
    if (status == TSIM_OK)
        return TSIM_JOB_OK;
    return status == TSIM_ERR_IO || status == TSIM_ERR_DB ? TSIM_JOB_IO : TSIM_JOB_INVALID;
}

static enum tsim_job_status say(struct tsim_job *job, const char *message) {
    tsim_arena_reset(&job->text_arena);
    job->messages = message;
    return TSIM_JOB_INVALID;
}

/* ---- the scenario ---- */

static void begin_load(struct tsim_job *job, struct tsim_diags *diags) {
    begin_messages(job, diags);
    forget_run(job);
    tsim_arena_reset(&job->scenario_arena);
    job->n_overrides = 0;
}

static enum tsim_job_status end_load(struct tsim_job *job, struct tsim_diags *diags, enum tsim_status status) {
    job->is_loaded = status == TSIM_OK;
    return end_messages(job, diags, status);
}

enum tsim_job_status tsim_job_load_file(struct tsim_job *job, const char *file) {
    struct tsim_diags diags;
    begin_load(job, &diags);
    const char *kept = tsim_arena_strdup(&job->scenario_arena, file);
    return end_load(job, &diags, tsim_scenario_open(&job->scenario_arena, kept, &job->source, &diags));
}

enum tsim_job_status tsim_job_load_text(struct tsim_job *job, const char *text) {
    struct tsim_diags diags;
    begin_load(job, &diags);
    return end_load(job, &diags, tsim_scenario_open_text(&job->scenario_arena, "scenario", text, &job->source, &diags));
}

enum tsim_job_status tsim_job_set(struct tsim_job *job, const char *path, const char *value) {
    if (!job->is_loaded)
        return say(job, "tsim_job_set: no scenario is loaded\n");
    job->messages = "";
    job->overrides =
        tsim_heap_grow(job->overrides, &job->overrides_capacity, job->n_overrides + 1, sizeof *job->overrides);
    job->overrides[job->n_overrides++] = (struct tsim_override){
        .path = tsim_arena_strdup(&job->scenario_arena, path), .value = tsim_arena_strdup(&job->scenario_arena, value)};
    return TSIM_JOB_OK;
}

void tsim_job_ignore_memory(struct tsim_job *job, int is_ignored) {
    job->ignores_memory = is_ignored != 0;
}

/* ---- one run ---- */

static enum tsim_status simulate(struct tsim_job *job, struct tsim_arena *arena, struct tsim_prediction *prediction,
                                 struct tsim_diags *diags) {
    const struct tsim_run_options options = {.ignore_memory = job->ignores_memory};
    const struct tsim_scenario *scenario;
    struct tsim_scenario_source *source = TSIM_NEW(arena, struct tsim_scenario_source);
    TSIM_TRY(tsim_scenario_reopen(arena, &job->source, source, diags)); /* mistakes leave their lines in its arena */
    TSIM_TRY(tsim_scenario_load_from(arena, source, job->overrides, job->n_overrides, &scenario, diags));
    TSIM_TRY(tsim_train_run(arena, scenario, &options, &prediction->result, diags));
    tsim_advise(arena, scenario, prediction);
    return tsim_uncertainty_add(arena, prediction, diags);
}

static void print_json(const void *json, FILE *out) {
    tsim_json_write(*(struct tsim_json *const *)json, out);
}

enum tsim_job_status tsim_job_run(struct tsim_job *job) {
    struct tsim_diags diags;
    struct tsim_arena arena;
    struct tsim_prediction prediction = {0};
    if (!job->is_loaded)
        return say(job, "tsim_job_run: no scenario is loaded\n");
    begin_messages(job, &diags);
    forget_run(job);
    tsim_arena_init(&arena);
    enum tsim_status status = simulate(job, &arena, &prediction, &diags);
    bool is_simulated = status == TSIM_OK && prediction.result.step.simulated;
    if (status == TSIM_OK) {
        job->summary = tsim_summary_json(&prediction, &(struct tsim_logged){0, NULL});
        job->json = text_of(&job->json_arena, print_json, &job->summary);
    }
    enum tsim_job_status code = end_messages(job, &diags, status); /* places of mistakes are in the arena */
    tsim_arena_release(&arena);
    return code == TSIM_JOB_OK && !is_simulated ? TSIM_JOB_DOES_NOT_FIT : code;
}

double tsim_job_figure(const struct tsim_job *job, const char *name) {
    return job->summary ? tsim_json_figure(job->summary, name) : (double)NAN;
}

const char *tsim_job_json(const struct tsim_job *job) {
    return job->json;
}

const char *tsim_job_messages(const struct tsim_job *job) {
    return job->messages;
}

/* ---- sweeps ---- */

struct study {
    struct tsim_arena arena;
    struct tsim_section section;
    struct tsim_sweep sweep;
    struct tsim_sweep_progress progress;
    struct tsim_store *store;
    int64_t sweep_id;
    tsim_job_point_fn on_point;
    void *context;
};

double tsim_job_point_figure(const struct tsim_job_point *point, const char *name) {
    const struct tsim_outcome *outcome = point->figures;
    enum tsim_outcome_figure columns[TSIM_N_OUTCOME_COLUMNS];
    tsim_outcome_columns(columns);
    for (size_t i = 0; i < TSIM_N_OUTCOME_COLUMNS; i++)
        if (strcmp(tsim_outcome_spec(columns[i])->name, name) == 0)
            return outcome->value[columns[i]];
    return (double)NAN;
}

static enum tsim_job_status status_of(enum tsim_point_status status) {
    if (status == TSIM_POINT_OK)
        return TSIM_JOB_OK;
    return status == TSIM_POINT_DOES_NOT_FIT ? TSIM_JOB_DOES_NOT_FIT : TSIM_JOB_INVALID;
}

static enum tsim_status hand_out(struct study *study, struct tsim_diags *diags) {
    struct tsim_point_reader *reader;
    struct tsim_point point;
    struct tsim_arena arena;
    bool is_there = true;
    TSIM_TRY(tsim_point_reader_open(&study->arena, study->store, study->sweep_id, 0, 1, &reader, diags));
    tsim_arena_init(&arena);
    enum tsim_status status = tsim_point_reader_next(reader, &point, &is_there, diags);
    while (status == TSIM_OK && is_there) {
        const struct tsim_job_point given = {point.position,
                                             tsim_space_set_json(&arena, &study->section.space, point.position),
                                             status_of(point.status), point.reason, &point.outcome};
        if (study->on_point(study->context, &given) != 0)
            break;
        tsim_arena_reset(&arena);
        status = tsim_point_reader_next(reader, &point, &is_there, diags);
    }
    tsim_arena_release(&arena);
    tsim_point_reader_close(reader);
    return status;
}

static enum tsim_status sweep(struct tsim_job *job, struct study *study, const char *const *axes, size_t n_axes,
                              int n_threads, struct tsim_diags *diags) {
    const struct tsim_section_words words = {
        .space = {.vary = axes, .n_vary = n_axes}, .overrides = job->overrides, .n_overrides = job->n_overrides};
    struct tsim_scenario_source source;
    size_t n_overrides;
    const struct tsim_override *overrides =
        tsim_overrides_of_points(&study->arena, job->overrides, job->n_overrides, &n_overrides);
    TSIM_TRY(tsim_scenario_reopen(&study->arena, &job->source, &source, diags));
    TSIM_TRY(tsim_section_read(&study->arena, &source, &words, &study->section, diags));
    study->sweep = (struct tsim_sweep){.source = &source,
                                       .space = &study->section.space,
                                       .overrides = overrides,
                                       .n_overrides = n_overrides,
                                       .ignore_memory = job->ignores_memory,
                                       .n_shards = 1,
                                       .started_at = ""};
    TSIM_TRY(tsim_sweep_check(&study->arena, &study->sweep, diags));
    TSIM_TRY(tsim_store_open(&study->arena, "", TSIM_STORE_WRITE, &study->store, diags));
    TSIM_TRY(tsim_sweep_register(&study->arena, &study->sweep, study->store, &study->sweep_id, diags));
    TSIM_TRY(tsim_sweep_run(&study->sweep, study->store, NULL, study->sweep_id, n_threads > 0 ? n_threads : 1, NULL,
                            NULL, &study->progress, diags));
    return study->progress.is_interrupted ? TSIM_OK : hand_out(study, diags);
}

enum tsim_job_status tsim_job_sweep(struct tsim_job *job, const char *const *axes, size_t n_axes, int n_threads,
                                    tsim_job_point_fn on_point, void *context) {
    struct study study = {.on_point = on_point, .context = context};
    struct tsim_diags diags;
    if (!job->is_loaded)
        return say(job, "tsim_job_sweep: no scenario is loaded\n");
    begin_messages(job, &diags);
    tsim_arena_init(&study.arena);
    tsim_caller_set(&job->caller);
    enum tsim_status status = sweep(job, &study, axes, n_axes, n_threads, &diags);
    tsim_caller_set(NULL);
    atomic_store(&job->caller.is_interrupted, false);
    tsim_store_close(study.store);
    enum tsim_job_status code = end_messages(job, &diags, status);
    tsim_arena_release(&study.arena);
    return code == TSIM_JOB_OK && study.progress.is_interrupted ? TSIM_JOB_INTERRUPTED : code;
}

/* ---- commands ---- */

static const char *const COMMANDS[] = {"run", "check", "explain",    "compare", "validate", "sweep", "plan",
                                       "buy", "scale", "collective", "export",  "list",     "show"};

enum tsim_job_status tsim_job_lend(struct tsim_job *job, const char *name, const char *text) {
    const char *kept = tsim_arena_strdup(&job->lent_arena, text);
    job->messages = "";
    if (tsim_caller_lend(&job->caller, tsim_arena_strdup(&job->lent_arena, name), kept, strlen(kept)))
        return TSIM_JOB_OK;
    return say(job, "tsim_job_lend: too many texts\n");
}

/* Returns the words of a command line that asks for JSON, and for no database unless one is named. */
static char **command_line(struct tsim_arena *arena, const struct tsim_command *command, const char *const *words,
                           size_t n_words, int *n_all) {
    char **all = TSIM_NEW_ARRAY(arena, n_words + 2, char *);
    bool names_database = false;
    for (size_t i = 0; i < n_words && strcmp(words[i], "--") != 0; i++)
        names_database |= strcmp(words[i], "--db") == 0 || strncmp(words[i], "--db=", 5) == 0;
    *n_all = 0;
    if (tsim_command_takes(command, TSIM_OPTION_JSON))
        all[(*n_all)++] = tsim_arena_strdup(arena, "--json");
    if (tsim_command_takes(command, TSIM_OPTION_NO_DB) && !names_database)
        all[(*n_all)++] = tsim_arena_strdup(arena, "--no-db");
    for (size_t i = 0; i < n_words; i++)
        all[(*n_all)++] = tsim_arena_strdup(arena, words[i]);
    return all;
}

static enum tsim_exit work(const char *name, const char *const *words, size_t n_words, struct tsim_answer *answer) {
    const struct tsim_command *command = TSIM_IS_AMONG(name, COMMANDS) ? tsim_command_find(name) : NULL;
    struct tsim_arena arena;
    struct tsim_arguments arguments;
    enum tsim_exit code = TSIM_EXIT_USAGE;
    int n_all;
    if (!command) {
        tsim_say_unknown("tsim_job_command: no command of the library", name, COMMANDS,
                         sizeof COMMANDS / sizeof COMMANDS[0]);
        return code;
    }
    tsim_arena_init(&arena);
    char **all = command_line(&arena, command, words, n_words, &n_all);
    if (tsim_options_parse(&arena, command, n_all, all, &arguments, tsim_messages())) {
        arguments.answer = answer;
        code = tsim_command_run(command, &arguments);
    }
    tsim_arena_release(&arena);
    return code;
}

enum tsim_job_status tsim_job_command(struct tsim_job *job, const char *name, const char *const *words,
                                      size_t n_words) {
    struct tsim_text_sink results, messages, view;
    struct tsim_answer answer = {.diagnostics = tsim_json_new_array(), .is_library = true};
    sigset_t before;
    forget_run(job);
    tsim_arena_reset(&job->text_arena);
    tsim_text_sink_open(&results, SIZE_MAX - 1);
    tsim_text_sink_open(&messages, SIZE_MAX - 1);
    tsim_text_sink_open(&view, SIZE_MAX - 1);
    job->caller.results = results.stream;
    job->caller.messages = messages.stream;
    answer.view = tsim_is_among("--report=-", words, n_words) ? view.stream : NULL;
    tsim_caller_set(&job->caller);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    enum tsim_exit code = work(name, words, n_words, &answer);
    bool is_interrupted = atomic_exchange(&job->caller.is_interrupted, false);
    tsim_caller_set(NULL);
    job->json = taken_text(&job->json_arena, &results);
    job->view = taken_text(&job->json_arena, &view);
    job->messages = taken_text(&job->text_arena, &messages);
    job->diagnostics = text_of(&job->json_arena, print_json, &answer.diagnostics);
    tsim_json_release(answer.diagnostics);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_interrupted ? TSIM_JOB_INTERRUPTED : (enum tsim_job_status)code;
}

const char *tsim_job_diagnostics(const struct tsim_job *job) {
    return job->diagnostics;
}

const char *tsim_job_view(const struct tsim_job *job) {
    return job->view;
}

void tsim_job_interrupt(struct tsim_job *job) {
    atomic_store(&job->caller.is_interrupted, true);
}
