/* The workbench. A request is a command of its own process: its query holds the command's options, its body the
 * scenario, and the answer is what --json prints; under /view it is what --report shows. */
#include "base/file_bytes.h"
#include "cli/command.h"
#include "config/catalogue_load.h"
#include "config/json_schema.h"
#include "config/text/document.h"
#include "report/page/page.h"
#include "report/page/workbench.h"
#include "serve/server.h"
#include "study/judge/uncertainty.h"

#include <string.h>

enum { DEFAULT_PORT = 8080, DEFAULT_MOST_S = 60 };
#define DEFAULT_MOST_BYTES 2e9
#define JSON_TYPE "application/json"

/* Options that a query may hold: none that names a file. */
#define QUERY_OPTIONS                                                                                                  \
    (TSIM_HAS(TSIM_OPTION_SET) | TSIM_HAS(TSIM_OPTION_SEED) | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY) |                    \
     TSIM_HAS(TSIM_OPTION_MODEL) | TSIM_HAS(TSIM_OPTION_TOKENS) | TSIM_HAS(TSIM_OPTION_DEADLINE) |                     \
     TSIM_HAS(TSIM_OPTION_BUDGET) | TSIM_HAS(TSIM_OPTION_VARY) | TSIM_HAS(TSIM_OPTION_ZIP) |                           \
     TSIM_HAS(TSIM_OPTION_WHERE) | TSIM_HAS(TSIM_OPTION_OBJECTIVE) | TSIM_HAS(TSIM_OPTION_ANY_SOFTWARE) |              \
     TSIM_HAS(TSIM_OPTION_GPUS) | TSIM_HAS(TSIM_OPTION_WEAK) | TSIM_HAS(TSIM_OPTION_UNTIL_EFFICIENCY) |                \
     TSIM_HAS(TSIM_OPTION_SENSITIVITY) | TSIM_HAS(TSIM_OPTION_OP) | TSIM_HAS(TSIM_OPTION_SIZES) |                      \
     TSIM_HAS(TSIM_OPTION_RANKS) | TSIM_HAS(TSIM_OPTION_ALGORITHM) | TSIM_HAS(TSIM_OPTION_PROTOCOL) |                  \
     TSIM_HAS(TSIM_OPTION_FORMAT) | TSIM_HAS(TSIM_OPTION_CHART))

enum source {
    SOURCE_NONE,     /* the command takes no scenario */
    SOURCE_BODY,     /* the body is one */
    SOURCE_PAIR,     /* the body is {"a": ..., "b": ...}, each a scenario, as text or as JSON */
    SOURCE_DATABASE, /* the command reads the database */
};

enum shape {
    SHAPE_JSON, /* as --json prints it */
    SHAPE_VIEW, /* the data and charts of the page that --report makes */
    SHAPE_PAGE, /* that page */
    SHAPE_CHART /* as it is printed */
};

struct route {
    const char *method, *path, *command;
    enum tsim_serve_pace pace;
    enum source source;
    const char *operand; /* the name in the query that stands for an operand; NULL: none does */
    enum shape shape;
    bool may_log; /* ?log adds what the command logs to the database */
};

static const struct route ROUTES[] = {
    {"POST", "/api/run", "run", TSIM_SERVE_QUICK, SOURCE_BODY, NULL, SHAPE_JSON, true},
    {"POST", "/api/check", "check", TSIM_SERVE_QUICK, SOURCE_BODY, NULL, SHAPE_JSON, false},
    {"POST", "/api/explain", "explain", TSIM_SERVE_QUICK, SOURCE_BODY, "term", SHAPE_JSON, false},
    {"POST", "/api/collective", "collective", TSIM_SERVE_QUICK, SOURCE_BODY, NULL, SHAPE_JSON, false},
    {"POST", "/api/compare", "compare", TSIM_SERVE_QUICK, SOURCE_PAIR, NULL, SHAPE_JSON, false},
    {"POST", "/api/scale", "scale", TSIM_SERVE_SLOW, SOURCE_BODY, NULL, SHAPE_JSON, true},
    {"POST", "/api/sweep", "sweep", TSIM_SERVE_SLOW, SOURCE_BODY, NULL, SHAPE_JSON, true},
    {"POST", "/api/plan", "plan", TSIM_SERVE_SLOW, SOURCE_BODY, NULL, SHAPE_JSON, false},
    {"POST", "/api/buy", "buy", TSIM_SERVE_SLOW, SOURCE_BODY, NULL, SHAPE_JSON, false},
    {"GET", "/api/runs", "runs", TSIM_SERVE_QUICK, SOURCE_DATABASE, NULL, SHAPE_JSON, false},
    {"GET", "/api/catalogue", "list", TSIM_SERVE_QUICK, SOURCE_NONE, "kind", SHAPE_JSON, false},
    {"GET", "/api/show", "show", TSIM_SERVE_QUICK, SOURCE_NONE, "id", SHAPE_JSON, false},
    {"GET", "/api/schema", NULL, TSIM_SERVE_QUICK, SOURCE_NONE, NULL, SHAPE_JSON, false},
    {"GET", "/api/accuracy", NULL, TSIM_SERVE_QUICK, SOURCE_NONE, NULL, SHAPE_JSON, false},
    {"GET", "/api/scenario", NULL, TSIM_SERVE_QUICK, SOURCE_NONE, "id", SHAPE_JSON, false},
    {"POST", "/api/export", "export", TSIM_SERVE_QUICK, SOURCE_BODY, NULL, SHAPE_CHART, false},
    {"POST", "/api/report", NULL, TSIM_SERVE_QUICK, SOURCE_BODY, NULL, SHAPE_PAGE, false},
    {"POST", "/view/run", NULL, TSIM_SERVE_QUICK, SOURCE_BODY, NULL, SHAPE_VIEW, false},
    {"POST", "/view/compare", "compare", TSIM_SERVE_QUICK, SOURCE_PAIR, NULL, SHAPE_VIEW, false},
    {"POST", "/view/scale", "scale", TSIM_SERVE_SLOW, SOURCE_BODY, NULL, SHAPE_VIEW, true},
    {"POST", "/view/sweep", "sweep", TSIM_SERVE_SLOW, SOURCE_BODY, NULL, SHAPE_VIEW, true},
    {"POST", "/view/plan", "plan", TSIM_SERVE_SLOW, SOURCE_BODY, NULL, SHAPE_VIEW, false},
    {"POST", "/view/buy", "buy", TSIM_SERVE_SLOW, SOURCE_BODY, NULL, SHAPE_VIEW, false},
    {"GET", "/view/report", "report", TSIM_SERVE_SLOW, SOURCE_DATABASE, "run", SHAPE_VIEW, false},
};
enum { N_ROUTES = sizeof ROUTES / sizeof ROUTES[0] };

static const struct tsim_arguments *served; /* the words that `tsim serve` was called with */
static const struct tsim_commands *commands;

static const struct route *find_route(const struct tsim_serve_request *request) {
    for (size_t i = 0; i < N_ROUTES; i++)
        if (strcmp(ROUTES[i].path, request->path) == 0 && strcmp(ROUTES[i].method, request->method) == 0)
            return &ROUTES[i];
    return NULL;
}

static enum tsim_serve_pace pace_of(const struct tsim_serve_request *request) {
    const struct route *route = find_route(request);
    if (route)
        return route->pace;
    for (size_t i = 0; i < N_ROUTES; i++)
        if (strcmp(ROUTES[i].path, request->path) == 0)
            return TSIM_SERVE_WRONG_METHOD;
    return TSIM_SERVE_UNKNOWN;
}

/* ---- the answer, in another process ---- */

struct job {
    struct tsim_arena arena;
    const struct tsim_serve_request *request;
    struct tsim_serve_desk *desk;
    const struct route *route;
    struct tsim_answer answer;
    struct tsim_arguments arguments;
    char **words; /* of a command line */
    int n_words;
    bool has_progress, logs;
    unsigned parts; /* of a run's view, as bits */
    struct tsim_text_sink view;
};

static void add_word(struct job *job, const char *word) {
    job->words[job->n_words++] = tsim_arena_strdup(&job->arena, word);
}

static void add_error(struct job *job, const char *text, const char *hint) {
    struct tsim_json *item = tsim_json_object(job->answer.diagnostics, NULL);
    tsim_json_text(item, "severity", "error");
    tsim_json_integer(item, "line", 0);
    tsim_json_integer(item, "column", 0);
    tsim_json_text(item, "message", text);
    tsim_json_text(item, "hint", hint);
    job->answer.has_errors = true;
}

/* Answers with the diagnostics alone, without what was printed. */
static struct tsim_serve_answer refuse(struct job *job, int status) {
    struct tsim_json *root = tsim_json_new_object();
    tsim_text_sink_clear(&job->desk->results);
    tsim_json_take(root, "diagnostics", job->answer.diagnostics);
    job->answer.diagnostics = NULL;
    tsim_json_write(root, tsim_results());
    tsim_json_release(root);
    return (struct tsim_serve_answer){status, JSON_TYPE};
}

static struct tsim_serve_answer refuse_with(struct job *job, int status, const char *text, const char *hint) {
    add_error(job, text, hint);
    return refuse(job, status);
}

static const char *query_value(const struct tsim_serve_request *request, const char *name) {
    for (size_t i = 0; i < request->n_query; i++)
        if (strcmp(request->query[i].name, name) == 0)
            return request->query[i].value ? request->query[i].value : "";
    return NULL;
}

static int find_option(const char *name) {
    for (int i = 0; i < TSIM_N_OPTIONS; i++)
        if ((QUERY_OPTIONS & TSIM_HAS(i)) && strcmp(tsim_option_spec((enum tsim_option)i)->name, name) == 0)
            return i;
    return -1;
}

static bool is_off(const char *value) {
    return value && (strcmp(value, "0") == 0 || strcmp(value, "false") == 0);
}

/* The parts of a run's view that take longer than the rest (page.h), all of them but PASSES unless the query names
 * some: ?parts=streams,tables. PASSES is what of STREAMS the page shows first. */
enum view_part { VIEW_PASSES, VIEW_STREAMS, VIEW_KERNELS, VIEW_TABLES, VIEW_ADVICE, N_VIEW_PARTS };
static const char *const VIEW_PARTS[N_VIEW_PARTS] = {"passes", "streams", "kernels", "tables", "advice"};

static bool shows(const struct job *job, enum view_part part) {
    return job->parts >> part & 1;
}

static bool take_parts(struct job *job, const char *names) {
    for (job->parts = 0; *names; names += *names == ',') {
        size_t length = strcspn(names, ",");
        const char *name = tsim_arena_strndup(&job->arena, names, length);
        int part = 0;
        while (part < N_VIEW_PARTS && strcmp(name, VIEW_PARTS[part]) != 0)
            part++;
        job->parts |= 1u << part;
        names += length;
    }
    return job->parts < 1u << N_VIEW_PARTS;
}

/* Takes a name of the query as an option of the command line. Returns false if there is no such option. */
static bool take_pair(struct job *job, const struct tsim_serve_pair *pair) {
    bool is_operand = job->route->operand && strcmp(pair->name, job->route->operand) == 0;
    if (is_operand || strcmp(pair->name, "token") == 0)
        return true;
    if (strcmp(pair->name, "progress") == 0) {
        job->has_progress = !is_off(pair->value);
        return true;
    }
    if (strcmp(pair->name, "parts") == 0 && job->route->shape == SHAPE_VIEW)
        return take_parts(job, pair->value ? pair->value : "");
    if (strcmp(pair->name, "log") == 0 && job->route->may_log) {
        job->logs = !is_off(pair->value);
        return true;
    }
    int option = find_option(pair->name);
    if (option < 0)
        return false;
    bool is_bare = tsim_option_spec((enum tsim_option)option)->kind == TSIM_OPTION_BARE;
    if (is_bare && !is_off(pair->value))
        add_word(job, tsim_arena_printf(&job->arena, "--%s", pair->name));
    if (!is_bare)
        add_word(job, tsim_arena_printf(&job->arena, "--%s=%s", pair->name, pair->value ? pair->value : ""));
    return true;
}

/* Lends {"a": ..., "b": ...} as two files in memory, "A" and "B". */
static bool lend_pair(struct job *job) {
    static const char *const NAMES[2][2] = {{"a", "A"}, {"b", "B"}};
    struct tsim_json *root = tsim_json_new_object();
    const struct tsim_lent *body = tsim_caller_lent("-");
    tsim_json_parsed_or_text(root, "body", tsim_arena_strndup(&job->arena, body->text, body->size));
    bool is_pair = !tsim_json_text_of(root, "body");
    for (size_t i = 0; i < 2 && is_pair; i++) {
        const struct tsim_json *pair = tsim_json_find(root, "body"), *side = tsim_json_find(pair, NAMES[i][0]);
        const char *text = side ? tsim_json_text_of(pair, NAMES[i][0]) : "";
        text = tsim_arena_strdup(&job->arena, text ? text : tsim_json_value_text(&job->arena, side));
        is_pair = side && tsim_caller_lend(&job->desk->caller, NAMES[i][1], text, strlen(text));
        add_word(job, NAMES[i][1]);
    }
    tsim_json_release(root);
    return is_pair;
}

/* Writes the command line that asks for the same; returns false after an error. */
static bool write_command_line(struct job *job, const struct tsim_command *command) {
    const struct tsim_serve_request *request = job->request;
    const char *operand = job->route->operand ? query_value(request, job->route->operand) : NULL;
    for (size_t i = 0; i < request->n_query; i++)
        if (!take_pair(job, &request->query[i])) {
            add_error(job, tsim_arena_printf(&job->arena, "unknown name '%.60s' in the query", request->query[i].name),
                      "a query takes the command's options, without their dashes");
            return false;
        }
    if (job->route->shape == SHAPE_VIEW || job->route->shape == SHAPE_PAGE)
        add_word(job, command->run == tsim_cmd_report ? "--output=-" : "--report=-");
    else if (job->route->shape == SHAPE_JSON)
        add_word(job, "--json");
    if (tsim_command_takes(command, TSIM_OPTION_NO_DB) && (job->logs || job->route->source == SOURCE_DATABASE))
        add_word(job, tsim_arena_printf(&job->arena, "--db=%s", served->value[TSIM_OPTION_DB]));
    else if (tsim_command_takes(command, TSIM_OPTION_NO_DB))
        add_word(job, "--no-db");
    bool needs_none =
        command->run == tsim_cmd_buy && tsim_caller_lent("-")->size == 0; /* --model, or a model for the money */
    if (job->route->source == SOURCE_BODY && !needs_none)
        add_word(job, "-");
    if (job->route->source == SOURCE_PAIR && !lend_pair(job)) {
        add_error(job, "the body is not {\"a\": SCENARIO, \"b\": SCENARIO}", "each of them is a text of YAML, or JSON");
        return false;
    }
    add_word(job, "--");
    if (operand)
        add_word(job, operand);
    return true;
}

#define NO_DATABASE "this server has no database; 'tsim serve --db FILE' has one"

/* Returns what is missing: a query needs a database, and so does a run that is to be logged. NULL: nothing is missing. */
static const char *lack_of_database(const struct job *job) {
    bool has_database = served->has[TSIM_OPTION_DB];
    if (job->route->source == SOURCE_DATABASE && !has_database)
        return NO_DATABASE;
    if (job->logs && (!has_database || served->has[TSIM_OPTION_READ_ONLY]))
        return has_database ? "this server is read-only" : NO_DATABASE;
    return NULL;
}

/* Adds what the command has said to people. */
static void add_said(struct job *job) {
    const char *said = tsim_text_sink_text(&job->desk->messages);
    size_t size = job->desk->messages.size;
    const char *help = strstr(said, "\nTry 'tsim "); /* how a terminal gets help */
    if (help)
        size = (size_t)(help - said);
    while (size > 0 && said[size - 1] == '\n')
        size--;
    if (size > 0)
        add_error(job, tsim_arena_strndup(&job->arena, said, size), NULL);
}

/* Writes a stream's last line: {"status": 200, "answer": ...}. */
static void wrap_progress(struct job *job, int status) {
    struct tsim_json *root = tsim_json_new_object();
    tsim_json_integer(root, "status", status);
    tsim_json_parsed(root, "answer", tsim_text_sink_text(&job->desk->results));
    tsim_text_sink_clear(&job->desk->results);
    fprintf(tsim_results(), "%s\n", tsim_json_value_text(&job->arena, root));
    tsim_json_release(root);
}

/* Writes the page or its view, with the warnings that belong to it, in place of the printed text. */
static void write_view(struct job *job) {
    bool is_page = job->route->shape == SHAPE_PAGE;
    FILE *out = tsim_results();
    tsim_text_sink_clear(&job->desk->results);
    fputs(is_page ? "" : "{\"view\": ", out);
    fputs(tsim_text_sink_text(&job->view), out);
    if (is_page)
        return;
    fputs(", \"diagnostics\": ", out);
    tsim_json_write_markup(job->answer.diagnostics, out);
    fputs("}\n", out);
}

static const char *type_of(const struct job *job) {
    if (job->route->shape == SHAPE_PAGE)
        return "text/html; charset=utf-8";
    const char *format = job->arguments.value[TSIM_OPTION_FORMAT];
    if (job->route->shape == SHAPE_CHART &&
        (format ? strcmp(format, "svg") == 0 : job->arguments.value[TSIM_OPTION_CHART] != NULL))
        return "image/svg+xml";
    return job->route->shape == SHAPE_CHART ? "text/plain; charset=utf-8" : JSON_TYPE;
}

static struct tsim_serve_answer answer_of(struct job *job, enum tsim_exit code) {
    bool has_results = *tsim_text_sink_text(job->answer.view ? &job->view : &job->desk->results);
    if (code == TSIM_EXIT_INTERRUPTED)
        return refuse_with(job, 504, "it was stopped", NULL);
    if (code == TSIM_EXIT_IO || code == TSIM_EXIT_BUG) {
        add_said(job);
        return refuse(job, 500);
    }
    if (job->answer.has_errors || !has_results) { /* a search that finds nothing has results that say why */
        if (!job->answer.has_errors)
            add_said(job);
        return refuse(job, code == TSIM_EXIT_USAGE ? 400 : 422);
    }
    if (job->answer.view)
        write_view(job);
    return (struct tsim_serve_answer){200, type_of(job)};
}

/* ---- what no command answers ---- */

/* Simulates a run for the page once; the command would simulate it twice, for its summary and for the page. */
static enum tsim_exit view_run(struct job *job) {
    const struct tsim_arguments *arguments = &job->arguments;
    const struct tsim_scenario *scenario;
    bool has_timeline = shows(job, VIEW_PASSES) || shows(job, VIEW_STREAMS);
    const struct tsim_page_extent extent = {.most_slices = has_timeline ? TSIM_PAGE_MOST_SLICES : 0,
                                            .ignore_memory = arguments->has[TSIM_OPTION_IGNORE_MEMORY],
                                            .of_first_passes = !shows(job, VIEW_STREAMS),
                                            .lacks_kernels = !shows(job, VIEW_KERNELS),
                                            .lacks_tables = !shows(job, VIEW_TABLES),
                                            .lacks_advice = !shows(job, VIEW_ADVICE)};
    struct tsim_json *page = tsim_page_new();
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    enum tsim_status status =
        tsim_scenario_load(&job->arena, "-", arguments->overrides, arguments->n_overrides, &scenario, &diags);
    if (status == TSIM_OK)
        status = tsim_page_add_run(&job->arena, page, scenario, &extent, &diags);
    tsim_report_diags(arguments, &diags);
    enum tsim_exit code = tsim_exit_of(status);
    if (code == TSIM_EXIT_OK)
        code = tsim_write_page(arguments, NULL, page);
    tsim_json_release(page);
    return code;
}

/* Returns the file of the measured runs, each beside its prediction (study/judge/residuals.h). */
static const char *accuracy_file(struct tsim_arena *arena) {
    return tsim_arena_printf(arena, "%s/hardware/calibration/residuals.csv", tsim_catalogue_folder(arena));
}

static const char *scenario_file(const struct job *job, struct tsim_arena *arena) {
    const char *id = query_value(job->request, "id");
    return id ? tsim_catalogue_file(arena, TSIM_CATALOGUE_SCENARIOS, id) : NULL;
}

static struct tsim_serve_answer send_file(struct job *job, const char *file) {
    struct tsim_file_bytes bytes;
    if (!file ||
        tsim_file_read(&job->arena, file, TSIM_DOCUMENT_MAX_BYTES, "the catalogue's", &bytes, TSIM_UNHEARD) != TSIM_OK)
        return refuse_with(job, 404, "there is no such file", "GET /api/catalogue?kind=scenarios lists them");
    fputs(bytes.text, tsim_results());
    tsim_heap_free(bytes.text);
    return (struct tsim_serve_answer){200, "text/plain; charset=utf-8"};
}

/* ---- a request ---- */

static const struct tsim_command *command_of(const struct route *route) {
    const char *name = route->command ? route->command : "run"; /* whose options /view/run takes */
    for (size_t i = 0; i < commands->n_items; i++)
        if (strcmp(commands->items[i].name, name) == 0)
            return &commands->items[i];
    TSIM_BUG("no command %s", name);
}

static struct tsim_serve_answer run_command(struct job *job) {
    const struct tsim_command *command = command_of(job->route);
    if (!write_command_line(job, command))
        return refuse(job, 400);
    const char *lack = lack_of_database(job);
    if (lack)
        return refuse_with(job, 403, lack, "tsim serve --db FILE");
    if (!tsim_options_parse(&job->arena, command, job->n_words, job->words, &job->arguments, tsim_messages())) {
        add_said(job);
        return refuse(job, 400);
    }
    job->arguments.answer = &job->answer;
    job->arguments.jobs = served->jobs;
    return answer_of(job, job->route->command ? tsim_command_run(command, &job->arguments) : view_run(job));
}

static struct tsim_serve_answer answer_job(struct job *job) {
    if (strcmp(job->route->path, "/api/schema") == 0) {
        tsim_json_schema_print(tsim_results());
        return (struct tsim_serve_answer){200, "application/schema+json"};
    }
    if (strcmp(job->route->path, "/api/scenario") == 0)
        return send_file(job, scenario_file(job, &job->arena));
    if (strcmp(job->route->path, "/api/accuracy") == 0)
        return send_file(job, accuracy_file(&job->arena));
    struct tsim_serve_answer given = run_command(job);
    if (job->has_progress)
        wrap_progress(job, given.status);
    return given;
}

static struct tsim_serve_answer answer(const struct tsim_serve_request *request, struct tsim_serve_desk *desk) {
    enum { OWN_WORDS = 8 };
    size_t most_bytes = (size_t)(served->max_memory_bytes > 0 ? served->max_memory_bytes : DEFAULT_MOST_BYTES);
    struct job job = {.request = request, .desk = desk, .route = find_route(request)};
    tsim_memory_limit(most_bytes, "a request");
    tsim_arena_init(&job.arena);
    tsim_text_sink_open(&job.view, TSIM_SERVE_MOST_OUTPUT_BYTES);
    job.answer.diagnostics = tsim_json_new_array();
    job.words = TSIM_NEW_ARRAY(&job.arena, request->n_query + OWN_WORDS, char *);
    job.parts = (1u << N_VIEW_PARTS) - 1;
    job.has_progress = query_value(request, "progress") && !is_off(query_value(request, "progress"));
    job.answer.progress = job.has_progress ? desk->progress : NULL;
    job.answer.is_page = job.route->shape == SHAPE_PAGE;
    job.answer.view = job.route->shape == SHAPE_VIEW || job.answer.is_page ? job.view.stream : NULL;
    struct tsim_serve_answer given = answer_job(&job);
    if (job.answer.diagnostics)
        tsim_json_release(job.answer.diagnostics);
    tsim_text_sink_release(&job.view);
    tsim_arena_release(&job.arena);
    return given;
}

/* ---- the server ---- */

static const struct tsim_serve_page PAGES[] = {
    {"/", "text/html; charset=utf-8", tsim_workbench_html},
    {"/chart.css", "text/css", tsim_chart_css},
    {"/report.css", "text/css", tsim_report_css},
    {"/report.js", "text/javascript", tsim_report_js},
    {"/workbench.css", "text/css", tsim_workbench_css},
    {"/workbench.js", "text/javascript", tsim_workbench_js},
    {"/accuracy_chart.js", "text/javascript", tsim_accuracy_chart_js},
};

/* Scenarios come from anybody: they name entries of the catalogue, and no other file. */
static bool confine(struct tsim_arena *arena) {
    static const char *const PARTS[] = {"models", "hardware", "scenarios"};
    enum { N = sizeof PARTS / sizeof PARTS[0] };
    const char *folders[N + 1], *folder = tsim_catalogue_folder(arena), *own = tsim_catalogue_own_folder(arena);
    for (size_t i = 0; folder && i < N; i++)
        folders[i] = tsim_arena_printf(arena, "%s/%s", folder, PARTS[i]);
    folders[N] = tsim_arena_printf(arena, "%s/hardware/families", own ? own : "");
    if (folder)
        tsim_files_confine(folders, own ? N + 1 : N);
    else
        fputs("tsim serve: there is no catalogue; TSIM_DATA names the folder that holds it\n", stderr);
    return folder != NULL;
}

/* Opens what the requests will open, so that whoever starts the server learns what is wrong with it. */
static enum tsim_status try_files(struct tsim_arena *arena, struct tsim_diags *diags) {
    struct tsim_store *store;
    TSIM_TRY(tsim_evidence_keep(arena, diags));
    tsim_catalogue_keep(arena);
    if (!served->has[TSIM_OPTION_DB])
        return TSIM_OK;
    TSIM_TRY(tsim_store_open(arena, served->value[TSIM_OPTION_DB],
                             served->has[TSIM_OPTION_READ_ONLY] ? TSIM_STORE_READ : TSIM_STORE_WRITE, &store, diags));
    tsim_store_close(store);
    return TSIM_OK;
}

enum tsim_exit tsim_cmd_serve(const struct tsim_arguments *arguments, const struct tsim_commands *all) {
    const struct tsim_serve_options options = {
        .bind = arguments->has[TSIM_OPTION_BIND] ? arguments->value[TSIM_OPTION_BIND] : "127.0.0.1",
        .port = arguments->has[TSIM_OPTION_PORT] ? arguments->port : DEFAULT_PORT,
        .n_quick = tsim_n_jobs(arguments),
        .n_slow = tsim_n_jobs(arguments),
        .most_s = arguments->timeout_s > 0 ? arguments->timeout_s : DEFAULT_MOST_S,
    };
    const struct tsim_serve_app app = {PAGES, sizeof PAGES / sizeof PAGES[0], pace_of, answer};
    struct tsim_arena arena;
    struct tsim_diags diags;
    char why[200];
    served = arguments;
    commands = all;
    tsim_memory_keep(); /* processes answer one request after another */
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    enum tsim_status status = try_files(&arena, &diags);
    tsim_report_diags(arguments, &diags);
    if (status != TSIM_OK || !confine(&arena)) {
        tsim_arena_release(&arena);
        return TSIM_EXIT_IO;
    }
    struct tsim_server *server = tsim_server_open(&arena, &options, &app, why);
    if (server) {
        printf("%s\n", tsim_server_address(server));
        fflush(stdout);
        if (!arguments->has[TSIM_OPTION_QUIET])
            fputs("Ctrl-C ends it.\n", stderr);
        tsim_server_run(server);
    }
    fprintf(stderr, "tsim serve: %s%s\n", why, server ? "" : "; --port 0 takes a free port");
    tsim_arena_release(&arena);
    return TSIM_EXIT_IO;
}
