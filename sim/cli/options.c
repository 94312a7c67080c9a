#include "cli/options.h"

#include "base/date.h"
#include "config/recognize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const struct tsim_exit_meaning TSIM_EXITS[TSIM_N_EXITS] = {{TSIM_EXIT_OK, "done"},
                                                           {TSIM_EXIT_USAGE, "wrong usage"},
                                                           {TSIM_EXIT_INVALID, "invalid input"},
                                                           {TSIM_EXIT_DOES_NOT_FIT, "does not fit in memory"},
                                                           {TSIM_EXIT_IO, "a file, the database or memory failed"},
                                                           {TSIM_EXIT_GATE, "beyond --max-error or --fail-above"},
                                                           {TSIM_EXIT_BUG, "a bug in tsim"},
                                                           {TSIM_EXIT_INTERRUPTED, "interrupted"}};

static const struct tsim_option_spec OPTIONS[TSIM_N_OPTIONS] = {
    [TSIM_OPTION_MODEL] = {"model", TSIM_OPTION_NEEDS_VALUE, "ID", "the model: an id or a file"},
    [TSIM_OPTION_HF] = {"hf", TSIM_OPTION_NEEDS_VALUE, "FILE", "the model: a config.json of Hugging Face"},
    [TSIM_OPTION_NODE] = {"node", TSIM_OPTION_NEEDS_VALUE, "ID",
                          "the machine: an id or a file (default " TSIM_DEFAULT_NODE ")"},
    [TSIM_OPTION_NODES] = {"nodes", TSIM_OPTION_NEEDS_VALUE, "N", "how many nodes"},
    [TSIM_OPTION_FABRIC] = {"fabric", TSIM_OPTION_NEEDS_VALUE, "ID", "the network (default: as fast as the NICs)"},
    [TSIM_OPTION_GOAL] = {"goal", TSIM_OPTION_NEEDS_VALUE, "WORD", "rank by time (default), cost or energy",
                          "time cost energy"},
    [TSIM_OPTION_TOKENS] = {"tokens", TSIM_OPTION_NEEDS_VALUE, "N", "length of the run: 15T (goal.tokens)"},
    [TSIM_OPTION_LOSS] = {"loss", TSIM_OPTION_NEEDS_VALUE, "L",
                          "train until this loss, in nats a token: 1.9 (goal.loss)"},
    [TSIM_OPTION_DEADLINE] = {"deadline", TSIM_OPTION_NEEDS_VALUE, "TIME",
                              "when it must be done: '90 days', a date (goal.deadline)"},
    [TSIM_OPTION_BUDGET] = {"budget", TSIM_OPTION_NEEDS_VALUE, "MONEY",
                            "the most it may cost: '20 M USD' (goal.budget)"},
    [TSIM_OPTION_SET] = {"set", TSIM_OPTION_NEEDS_VALUE, "PATH=VALUE",
                         "set one key: --set parallelism.tensor=4 (repeatable)"},
    [TSIM_OPTION_SEED] = {"seed", TSIM_OPTION_NEEDS_VALUE, "N", "seed of all randomness (simulation.seed)"},
    [TSIM_OPTION_IGNORE_MEMORY] = {"ignore-memory", TSIM_OPTION_BARE, NULL,
                                   "simulate even what does not fit in memory"},
    [TSIM_OPTION_MAX_ERROR] = {"max-error", TSIM_OPTION_NEEDS_VALUE, "PERCENT",
                               "exit with 6 when the mean absolute error is larger"},
    [TSIM_OPTION_FAIL_ABOVE] = {"fail-above", TSIM_OPTION_NEEDS_VALUE, "PERCENT",
                                "exit with 6 when the step's time changes by more"},
    [TSIM_OPTION_SENSITIVITY] = {"sensitivity", TSIM_OPTION_BARE, NULL,
                                 "does the order hold when an input is 10 % off?"},
    [TSIM_OPTION_RESIDUALS] = {"residuals", TSIM_OPTION_BARE, NULL,
                               "print only the errors that intervals follow from, as CSV"},
    [TSIM_OPTION_OP] = {"op", TSIM_OPTION_NEEDS_VALUE, "NAME", "all_reduce (default), all_gather, reduce_scatter, ...",
                        "all_reduce all_gather reduce_scatter all_to_all broadcast send_recv"},
    [TSIM_OPTION_SIZES] = {"sizes", TSIM_OPTION_NEEDS_VALUE, "A:B", "sizes from A to B, doubling (default 1KiB:8GiB)"},
    [TSIM_OPTION_RANKS] = {"ranks", TSIM_OPTION_NEEDS_VALUE, "N", "the first N accelerators"},
    [TSIM_OPTION_ALGORITHM] = {"algorithm", TSIM_OPTION_NEEDS_VALUE, "NAME",
                               "auto (default), ring, tree, nvls, hierarchical, ...",
                               "auto ring tree nvls hierarchical"},
    [TSIM_OPTION_PROTOCOL] = {"protocol", TSIM_OPTION_NEEDS_VALUE, "NAME", "auto (default), LL, LL128, Simple",
                              "auto LL LL128 Simple"},
    [TSIM_OPTION_VARY] = {"vary", TSIM_OPTION_NEEDS_VALUE, "PATH=A,B",
                          "an axis: the values to try for a key (repeatable)"},
    [TSIM_OPTION_ZIP] = {"zip", TSIM_OPTION_NEEDS_VALUE, "P=A,B;Q=C,D",
                         "an axis of several keys that change together (repeatable)"},
    [TSIM_OPTION_WHERE] = {"where", TSIM_OPTION_NEEDS_VALUE, "EXPR",
                           "show only points for which this holds: 'mfu > 0.3'"},
    [TSIM_OPTION_OBJECTIVE] = {"objective", TSIM_OPTION_NEEDS_VALUE, "FIGURE", "the figure to rank by"},
    [TSIM_OPTION_ANY_SOFTWARE] = {"any-software", TSIM_OPTION_BARE, NULL,
                                  "also try plans that the scenario's software cannot run"},
    [TSIM_OPTION_SHARD] = {"shard", TSIM_OPTION_NEEDS_VALUE, "I/N",
                           "run every N-th point from the I-th on (I from 1 to N)"},
    [TSIM_OPTION_GPUS] = {"gpus", TSIM_OPTION_NEEDS_VALUE, "N", "how many accelerators"},
    [TSIM_OPTION_WEAK] = {"weak", TSIM_OPTION_BARE, NULL, "weak scaling: the batch per accelerator is constant"},
    [TSIM_OPTION_REPLAN] = {"replan", TSIM_OPTION_BARE, NULL, "also show the best plan of each count"},
    [TSIM_OPTION_UNTIL_EFFICIENCY] = {"until-efficiency", TSIM_OPTION_NEEDS_VALUE, "F",
                                      "add nodes until the efficiency is lower: 0.8, 80 %"},
    [TSIM_OPTION_TRACE] = {"trace", TSIM_OPTION_NEEDS_VALUE, "FILE",
                           "write the step for ui.perfetto.dev: FILE.json or .json.gz"},
    [TSIM_OPTION_TRACE_RANKS] = {"trace-ranks", TSIM_OPTION_NEEDS_VALUE, "LIST",
                                 "ranks in the trace: 0,3,8-15 or all (default: a replica)"},
    [TSIM_OPTION_REPORT] = {"report", TSIM_OPTION_NEEDS_VALUE, "FILE",
                            "write a page with charts for browsers: FILE.html"},
    [TSIM_OPTION_OUTPUT] = {"output", TSIM_OPTION_NEEDS_VALUE, "FILE", "write into FILE, not to standard output"},
    [TSIM_OPTION_FORMAT] = {"format", TSIM_OPTION_NEEDS_VALUE, "NAME", "the format (see above)",
                            "csv markdown latex prometheus svg png chakra megatron nemo torchtitan deepspeed slurm "
                            "kubernetes text man bash zsh reference"},
    [TSIM_OPTION_CHART] =
        {"chart", TSIM_OPTION_NEEDS_VALUE, "NAME", "which chart (default: step; for a sweep scaling)",
         "step memory schedule roofline links sensitivity days timeline power lost ownership scaling pareto heat"},
    [TSIM_OPTION_JSON] = {"json", TSIM_OPTION_MAY_HAVE_VALUE, "FILE", "print JSON, or write it into FILE"},
    [TSIM_OPTION_CSV] = {"csv", TSIM_OPTION_BARE, NULL, "print the tables as CSV"},
    [TSIM_OPTION_MARKDOWN] = {"markdown", TSIM_OPTION_BARE, NULL, "print a page of documentation (docs/textbook.md)"},
    [TSIM_OPTION_DB] = {"db", TSIM_OPTION_NEEDS_VALUE, "FILE", "the database of runs (default tsim.db)"},
    [TSIM_OPTION_NO_DB] = {"no-db", TSIM_OPTION_BARE, NULL, "use no database"},
    [TSIM_OPTION_IGNORE] = {"ignore", TSIM_OPTION_NEEDS_VALUE, "NAME", "ignore a setting of the file (repeatable)"},
    [TSIM_OPTION_ENV] = {"env", TSIM_OPTION_NEEDS_VALUE, "NAME=VALUE",
                         "set a variable of the script's environment (repeatable)"},
    [TSIM_OPTION_APPROXIMATE] = {"approximate", TSIM_OPTION_BARE, NULL,
                                 "replace parts of a model that tsim lacks by similar ones"},
    [TSIM_OPTION_VERBOSE] = {"verbose", TSIM_OPTION_BARE, NULL, "also list settings that do not affect the time"},
    [TSIM_OPTION_JOBS] = {"jobs", TSIM_OPTION_NEEDS_VALUE, "N",
                          "use N threads (default: all processors); same results"},
    [TSIM_OPTION_PORT] = {"port", TSIM_OPTION_NEEDS_VALUE, "N", "listen at this port (default 8080; 0: a free one)"},
    [TSIM_OPTION_BIND] = {"bind", TSIM_OPTION_NEEDS_VALUE, "ADDRESS",
                          "listen at this address (default 127.0.0.1: this machine)"},
    [TSIM_OPTION_READ_ONLY] = {"read-only", TSIM_OPTION_BARE, NULL, "log no run, even when --db names a database"},
    [TSIM_OPTION_MAX_MEMORY] = {"max-memory", TSIM_OPTION_NEEDS_VALUE, "SIZE",
                                "stop (status 5) when tsim itself needs more: 8 GB"},
    [TSIM_OPTION_TIMEOUT] = {"timeout", TSIM_OPTION_NEEDS_VALUE, "TIME",
                             "stop (status 130) after this time: 30 s, 2 h"},
    [TSIM_OPTION_QUIET] = {"quiet", TSIM_OPTION_BARE, NULL, "print results and errors, but no warnings"},
    [TSIM_OPTION_HELP] = {"help", TSIM_OPTION_BARE, NULL, "this text"},
};

enum { MOST_JOBS = 1024 };

struct parser {
    struct tsim_arena *arena;
    const struct tsim_command *command;
    struct tsim_arguments *arguments;
    FILE *err;
};

const struct tsim_option_spec *tsim_option_spec(enum tsim_option option) {
    return &OPTIONS[option];
}

const char *tsim_option_help(const struct tsim_command *command, enum tsim_option option) {
    static const struct {
        enum tsim_option option;
        const char *command, *help;
    } OWN[] = {
        {TSIM_OPTION_NODES, "init", "how many nodes (default 8, or 1 without a network)"},
        {TSIM_OPTION_GPUS, "scale", "the counts of accelerators: 128,256,512"},
        {TSIM_OPTION_RANKS, "export", "export only these accelerators: 0,3,8-15"},
        {TSIM_OPTION_RANKS, "calibrate", "how many accelerators the files were measured on"},
        {TSIM_OPTION_OP, "calibrate", "the collective that the files were measured with"},
        {TSIM_OPTION_OUTPUT, "plan", "write the best plan into FILE, as a scenario"},
        {TSIM_OPTION_OUTPUT, "buy", "write the choice into FILE, as a scenario"},
        {TSIM_OPTION_OUTPUT, "calibrate", "write the fitted values into FILE, as YAML"},
        {TSIM_OPTION_OUTPUT, "report", "the page (default report.html)"},
        {TSIM_OPTION_OBJECTIVE, "buy", "rank by chance of success (default), cost, days, energy"},
    };
    for (size_t i = 0; i < sizeof OWN / sizeof OWN[0]; i++)
        if (OWN[i].option == option && strcmp(OWN[i].command, command->name) == 0)
            return OWN[i].help;
    return OPTIONS[option].help;
}

bool tsim_command_takes(const struct tsim_command *command, enum tsim_option option) {
    return option == TSIM_OPTION_HELP || (command->options & TSIM_HAS(option)) != 0;
}

__attribute__((format(printf, 2, 3))) static bool complain(const struct parser *parser, const char *format, ...) {
    va_list args;
    fprintf(parser->err, "tsim %s: ", parser->command->name);
    va_start(args, format);
    vfprintf(parser->err, format, args);
    va_end(args);
    fprintf(parser->err, "\nTry 'tsim %s --help'.\n", parser->command->name);
    return false;
}

static int find_option(const struct tsim_command *command, const char *name) {
    for (int i = 0; i < TSIM_N_OPTIONS; i++)
        if (tsim_command_takes(command, (enum tsim_option)i) && strcmp(OPTIONS[i].name, name) == 0)
            return i;
    return -1;
}

/* Returns how a command says what an option of other commands says: by a key of its scenario, or by an option of its
 * own. */
static const char *said_instead(const struct parser *parser, enum tsim_option option) {
    static const struct {
        enum tsim_option option;
        const char *setting;
    } KEYS[] = {{TSIM_OPTION_MODEL, "model=ID"},           {TSIM_OPTION_NODE, "cluster.node=ID"},
                {TSIM_OPTION_NODES, "cluster.nodes=N"},    {TSIM_OPTION_GPUS, "cluster.nodes=N"},
                {TSIM_OPTION_FABRIC, "cluster.fabric=ID"}, {TSIM_OPTION_TOKENS, "training.tokens='2 T'"}};
    if (option == TSIM_OPTION_GPUS && tsim_command_takes(parser->command, TSIM_OPTION_NODES))
        return "; use --nodes N";
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++)
        if (KEYS[i].option == option && tsim_command_takes(parser->command, TSIM_OPTION_SET))
            return tsim_arena_printf(parser->arena, "; change the scenario with --set %s", KEYS[i].setting);
    return "";
}

static bool unknown_option(const struct parser *parser, const char *name) {
    const char *candidates[TSIM_N_OPTIONS];
    size_t n_candidates = 0;
    for (int i = 0; i < TSIM_N_OPTIONS; i++)
        if (tsim_command_takes(parser->command, (enum tsim_option)i))
            candidates[n_candidates++] = OPTIONS[i].name;
    for (int i = 0; i < TSIM_N_OPTIONS; i++)
        if (strcmp(OPTIONS[i].name, name) == 0)
            return complain(parser, "option --%s works with other commands, but not with %s%s", name,
                            parser->command->name, said_instead(parser, (enum tsim_option)i));
    const char *near = tsim_did_you_mean(name, candidates, n_candidates);
    if (near)
        return complain(parser, "unknown option --%s; did you mean --%s?", name, near);
    bool has_scenario = tsim_command_takes(parser->command, TSIM_OPTION_SET);
    return complain(parser, "unknown option --%s%s", name,
                    has_scenario ? "; keys of the scenario are changed with --set PATH=VALUE" : "");
}

static bool parse_integer(const char *text, int64_t least, int64_t most, int64_t *value) {
    char *end;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || parsed < least || parsed > most)
        return false;
    *value = parsed;
    return true;
}

/* `option` is the option that said it; NULL for --set. */
static void add_override(const struct parser *parser, const char *path, const char *value, const char *option) {
    struct tsim_arguments *arguments = parser->arguments;
    arguments->overrides[arguments->n_overrides++] =
        (struct tsim_override){.path = path, .value = value, .option = option};
}

static bool take_set(const struct parser *parser, const char *text) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return complain(parser, "--set needs PATH=VALUE, as in --set parallelism.tensor=4, not '%s'", text);
    add_override(parser, tsim_arena_strndup(parser->arena, text, (size_t)(equals - text)), equals + 1, NULL);
    return true;
}

static bool take_jobs(const struct parser *parser, const char *text) {
    int64_t jobs;
    if (!parse_integer(text, 1, MOST_JOBS, &jobs))
        return complain(parser, "--jobs needs a whole number from 1 to %d, not '%s'", MOST_JOBS, text);
    parser->arguments->jobs = (int32_t)jobs;
    return true;
}

static bool take_port(const struct parser *parser, const char *text) {
    int64_t port;
    if (!parse_integer(text, 0, 65535, &port))
        return complain(parser, "--port needs a whole number from 0 to 65535, not '%s'", text);
    parser->arguments->port = (int32_t)port;
    return true;
}

/* I and I + N are the same shard, so that counting from 0 works as well. */
static bool take_shard(const struct parser *parser, const char *text) {
    enum { MOST_SHARDS = 1000000 };
    const char *slash = strchr(text, '/');
    int64_t i, n;
    if (!slash || !parse_integer(slash + 1, 1, MOST_SHARDS, &n) ||
        !parse_integer(tsim_arena_strndup(parser->arena, text, (size_t)(slash - text)), 0, n, &i))
        return complain(parser, "--shard needs I/N with I from 1 to N, as in --shard 2/7, not '%s'", text);
    parser->arguments->shard = (i + n - 1) % n;
    parser->arguments->n_shards = n;
    return true;
}

static int by_size(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static bool take_gpus(const struct parser *parser, const char *text) {
    enum { MOST_GPUS = 1000000 };
    struct tsim_arguments *arguments = parser->arguments;
    size_t n = 0;
    arguments->gpus = TSIM_NEW_ARRAY(parser->arena, strlen(text) + 1, int64_t);
    for (const char *at = text; at; n++) {
        size_t length = strcspn(at, ",");
        if (!parse_integer(tsim_arena_strndup(parser->arena, at, length), 1, MOST_GPUS, &arguments->gpus[n]))
            return complain(parser, "--gpus needs numbers from 1 to %d, as in --gpus 8,16,32, not '%s'", MOST_GPUS,
                            text);
        at = at[length] ? at + length + 1 : NULL;
    }
    qsort(arguments->gpus, n, sizeof *arguments->gpus, by_size);
    arguments->n_gpus = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || arguments->gpus[i] != arguments->gpus[i - 1])
            arguments->gpus[arguments->n_gpus++] = arguments->gpus[i];
    return true;
}

static bool take_until_efficiency(const struct parser *parser, const char *text) {
    char why[160], hint[160];
    double *frac = &parser->arguments->until_efficiency_frac;
    if (tsim_quantity_parse(text, TSIM_FRACTION, true, frac, why, hint) == TSIM_OK && *frac > 0 && *frac <= 1)
        return true;
    return complain(parser, "--until-efficiency needs a fraction above 0 and up to 1, as in 0.8, not '%s'", text);
}

static bool take_limit(const struct parser *parser, enum tsim_option option, const char *text, double *value) {
    char why[160], hint[160];
    bool is_time = option == TSIM_OPTION_TIMEOUT;
    double least = is_time ? 0.001 : 1e6, most = is_time ? 1e9 : 1e18;
    if (tsim_quantity_parse(text, is_time ? TSIM_TIME_S : TSIM_BYTES, false, value, why, hint) == TSIM_OK &&
        *value >= least && *value <= most)
        return true;
    return complain(parser, "--%s needs %s, not '%s'", OPTIONS[option].name,
                    is_time ? "a time from 1 ms on, as in 30 s or 2 h" : "a size from 1 MB on, as in 8 GB", text);
}

/* ---- dates ---- */

/* Returns today's day (UTC) as tsim_date_days counts, or that of SOURCE_DATE_EPOCH if the environment sets it, so that an
 * answer can be reproduced. */
static int64_t today(void) {
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    int64_t seconds = epoch ? strtoll(epoch, NULL, 10) : (int64_t)time(NULL);
    return seconds / (24 * 60 * 60);
}

/* Takes a date as the time from today. */
static bool take_date(const struct parser *parser, const char *text, int64_t days) {
    int64_t left = days - today();
    if (left <= 0)
        return complain(parser, "--deadline %s is not after today", text);
    add_override(parser, "goal.deadline", tsim_arena_printf(parser->arena, "%lld days", (long long)left), "deadline");
    return true;
}

static bool take_goal(const struct parser *parser, enum tsim_option option, const char *text) {
    static const struct {
        enum tsim_option option;
        enum tsim_dimension dimension;
        const char *path, *needs;
    } GOALS[] = {{TSIM_OPTION_TOKENS, TSIM_COUNT, "goal.tokens", "a number of tokens, as in 15T or 300B"},
                 {TSIM_OPTION_LOSS, TSIM_FRACTION, "goal.loss", "a loss in nats a token, as in 1.9"},
                 {TSIM_OPTION_DEADLINE, TSIM_TIME_S, "goal.deadline",
                  "a time from today, as in '90 days', or a date, as in 2030-06-30"},
                 {TSIM_OPTION_BUDGET, TSIM_USD, "goal.budget", "US dollars, as in '20 M USD'"}};
    size_t i = 0;
    double value;
    char why[160], hint[160];
    while (GOALS[i].option != option)
        i++;
    int64_t days;
    if (option == TSIM_OPTION_DEADLINE && tsim_date_days(text, &days))
        return take_date(parser, text, days);
    bool takes_bare = GOALS[i].dimension == TSIM_FRACTION;
    bool is_read = tsim_quantity_parse(text, GOALS[i].dimension, takes_bare, &value, why, hint) == TSIM_OK;
    bool has_slip = !is_read && strncmp(hint, "did you mean", 12) == 0; /* in the unit */
    if (!is_read || !(value > 0))
        return complain(parser, "--%s needs %s, not '%s'%s%s", OPTIONS[option].name, GOALS[i].needs, text,
                        has_slip ? "; " : "", has_slip ? hint : "");
    add_override(parser, GOALS[i].path, text, OPTIONS[option].name);
    return true;
}

static bool take_percent(const struct parser *parser, const char *option, const char *text, double *frac) {
    char *end;
    double percent = strtod(text, &end);
    end += strspn(end, " ");
    end += *end == '%';
    if (end == text || *end != '\0' || !(percent >= 0.0 && percent <= 1e6))
        return complain(parser, "--%s needs a percentage, as in --%s 15, not '%s'", option, option, text);
    *frac = percent / 100.0;
    return true;
}

static bool take_value(const struct parser *parser, enum tsim_option option, const char *value) {
    int64_t seed;
    switch (option) {
    case TSIM_OPTION_SET:
        return take_set(parser, value);
    case TSIM_OPTION_SEED:
        return parse_integer(value, 0, INT64_MAX, &seed) ||
               complain(parser, "--seed needs a whole number from 0 on, not '%s'", value);
    case TSIM_OPTION_TOKENS:
    case TSIM_OPTION_LOSS:
    case TSIM_OPTION_DEADLINE:
    case TSIM_OPTION_BUDGET:
        return take_goal(parser, option, value);
    case TSIM_OPTION_JOBS:
        return take_jobs(parser, value);
    case TSIM_OPTION_PORT:
        return take_port(parser, value);
    case TSIM_OPTION_MAX_MEMORY:
        return take_limit(parser, option, value, &parser->arguments->max_memory_bytes);
    case TSIM_OPTION_TIMEOUT:
        return take_limit(parser, option, value, &parser->arguments->timeout_s);
    case TSIM_OPTION_VARY:
        parser->arguments->vary[parser->arguments->n_vary++] = value;
        return true;
    case TSIM_OPTION_ZIP:
        parser->arguments->zip[parser->arguments->n_zip++] = value;
        return true;
    case TSIM_OPTION_IGNORE:
        parser->arguments->ignored[parser->arguments->n_ignored++] = value;
        return true;
    case TSIM_OPTION_ENV:
        parser->arguments->environment[parser->arguments->n_environment++] = value;
        return (value[0] != '=' && strchr(value, '=')) || complain(parser, "--env needs NAME=VALUE, not '%s'", value);
    case TSIM_OPTION_GPUS:
        return take_gpus(parser, value);
    case TSIM_OPTION_UNTIL_EFFICIENCY:
        return take_until_efficiency(parser, value);
    case TSIM_OPTION_SHARD:
        return take_shard(parser, value);
    case TSIM_OPTION_MAX_ERROR:
        return take_percent(parser, "max-error", value, &parser->arguments->max_error_frac);
    case TSIM_OPTION_FAIL_ABOVE:
        return take_percent(parser, "fail-above", value, &parser->arguments->fail_above_frac);
    default:
        return true;
    }
}

/* `next` is the following argument, or NULL; *is_next_taken says whether it was used as the value. */
static bool parse_option(const struct parser *parser, const char *text, const char *next, bool *is_next_taken) {
    const char *equals = strchr(text, '=');
    size_t n_bytes = equals ? (size_t)(equals - text) : strlen(text);
    const char *name = tsim_arena_strndup(parser->arena, text, n_bytes);
    const char *value = equals ? equals + 1 : NULL;
    int option = find_option(parser->command, name);
    if (option < 0)
        return unknown_option(parser, name);
    const struct tsim_option_spec *spec = &OPTIONS[option];
    if (spec->kind == TSIM_OPTION_BARE && value)
        return complain(parser, "--%s takes no value", name);
    if (spec->kind == TSIM_OPTION_NEEDS_VALUE && !value) {
        value = next;
        *is_next_taken = true;
    }
    if (spec->kind == TSIM_OPTION_NEEDS_VALUE && !value)
        return complain(parser, "--%s needs a value: --%s %s", name, name, spec->value);
    if (value && !value[0])
        return complain(parser, "--%s has an empty value: --%s %s", name, name, spec->value);
    parser->arguments->has[option] = true;
    parser->arguments->value[option] = value;
    return !value || take_value(parser, (enum tsim_option)option, value);
}

static bool check_operands(const struct parser *parser) {
    const struct tsim_command *command = parser->command;
    const struct tsim_arguments *arguments = parser->arguments;
    size_t n_stdin = 0;
    if (arguments->n_operands < command->least_operands)
        return complain(parser, "needs %s", command->operands);
    if (arguments->n_operands > command->most_operands)
        return complain(parser, "unexpected '%s'", arguments->operands[command->most_operands]);
    for (size_t i = 0; i < arguments->n_before_dashes; i++)
        if (!arguments->operands[i][0])
            return complain(parser, "an operand is empty: %s", command->operands);
    for (size_t i = 0; i < arguments->n_operands; i++)
        n_stdin += strcmp(arguments->operands[i], "-") == 0;
    return n_stdin <= 1 || complain(parser, "standard input ('-') can be read only once");
}

static bool check_combination(const struct parser *parser) {
    const bool *has = parser->arguments->has;
    if (has[TSIM_OPTION_DB] && has[TSIM_OPTION_NO_DB])
        return complain(parser, "--db and --no-db exclude each other");
    if (has[TSIM_OPTION_CSV] && has[TSIM_OPTION_JSON] && !parser->arguments->value[TSIM_OPTION_JSON])
        return complain(parser, "--csv and --json exclude each other; --json=FILE goes with --csv");
    if (has[TSIM_OPTION_MARKDOWN] &&
        (has[TSIM_OPTION_CSV] || (has[TSIM_OPTION_JSON] && !parser->arguments->value[TSIM_OPTION_JSON])))
        return complain(parser, "--markdown excludes --csv and --json; --json=FILE goes with it");
    if (has[TSIM_OPTION_RESIDUALS] && has[TSIM_OPTION_JSON] && !parser->arguments->value[TSIM_OPTION_JSON])
        return complain(parser, "--residuals and --json exclude each other; --json=FILE goes with --residuals");
    if (has[TSIM_OPTION_TRACE_RANKS] && !has[TSIM_OPTION_TRACE])
        return complain(parser, "--trace-ranks needs --trace FILE");
    return true;
}

static bool parse_all(const struct parser *parser, int argc, char **argv) {
    struct tsim_arguments *arguments = parser->arguments;
    bool is_over = false;
    for (int i = 0; i < argc; i++) {
        bool is_next_taken = false;
        if (is_over || argv[i][0] != '-' || strcmp(argv[i], "-") == 0)
            arguments->operands[arguments->n_operands++] = argv[i];
        else if (strcmp(argv[i], "--") == 0) {
            is_over = true;
            arguments->n_before_dashes = arguments->n_operands;
        } else if (strcmp(argv[i], "-h") == 0)
            arguments->has[TSIM_OPTION_HELP] = true;
        else if (argv[i][1] != '-')
            return complain(parser, "unknown option %s; options have two dashes, as in --help", argv[i]);
        else if (!parse_option(parser, argv[i] + 2, i + 1 < argc ? argv[i + 1] : NULL, &is_next_taken))
            return false;
        i += is_next_taken;
    }
    arguments->n_before_dashes = is_over ? arguments->n_before_dashes : arguments->n_operands;
    return true;
}

bool tsim_options_parse(struct tsim_arena *arena, const struct tsim_command *command, int argc, char **argv,
                        struct tsim_arguments *arguments, FILE *err) {
    size_t n_most = (size_t)argc + 1; /* --seed becomes one override more than there are --set */
    *arguments = (struct tsim_arguments){.command = command};
    arguments->operands = TSIM_NEW_ARRAY(arena, n_most, const char *);
    arguments->overrides = TSIM_NEW_ARRAY(arena, n_most, struct tsim_override);
    arguments->vary = TSIM_NEW_ARRAY(arena, n_most, const char *);
    arguments->zip = TSIM_NEW_ARRAY(arena, n_most, const char *);
    arguments->ignored = TSIM_NEW_ARRAY(arena, n_most, const char *);
    arguments->environment = TSIM_NEW_ARRAY(arena, n_most, const char *);
    struct parser parser = {.arena = arena, .command = command, .arguments = arguments, .err = err};
    if (!parse_all(&parser, argc, argv))
        return false;
    if (arguments->has[TSIM_OPTION_HELP])
        return true;
    if (arguments->has[TSIM_OPTION_SEED])
        add_override(&parser, "simulation.seed", arguments->value[TSIM_OPTION_SEED], "seed");
    return check_operands(&parser) && check_combination(&parser);
}

const char *tsim_option_usage(enum tsim_option option, char *buffer, size_t size) {
    const struct tsim_option_spec *spec = &OPTIONS[option];
    if (spec->kind == TSIM_OPTION_BARE)
        snprintf(buffer, size, "--%s", spec->name);
    else
        snprintf(buffer, size, spec->kind == TSIM_OPTION_NEEDS_VALUE ? "--%s %s" : "--%s[=%s]", spec->name,
                 spec->value);
    return buffer;
}
