/* options.h - what each command accepts, said once. Parsing, --help, the manual pages, the shells' completions and the
 * suggestions for misspellings all read the same tables. An option is "--name VALUE" or "--name=VALUE"; an option whose
 * value is optional takes it only after '='. Options and operands may be mixed; "--" ends the options; "-" alone is an
 * operand. */
#pragma once

#include "base/arena.h"
#include "config/scenario.h"

enum tsim_exit {
    TSIM_EXIT_OK = 0,
    TSIM_EXIT_USAGE = 2,
    TSIM_EXIT_INVALID = 3,
    TSIM_EXIT_DOES_NOT_FIT = 4,
    TSIM_EXIT_IO = 5,
    TSIM_EXIT_GATE = 6,
    TSIM_EXIT_BUG = 70,
    TSIM_EXIT_INTERRUPTED = 130
};

/* Help and manual pages show an exit status with its meaning. */
struct tsim_exit_meaning {
    enum tsim_exit status;
    const char *text;
};
enum { TSIM_N_EXITS = 8 };
extern const struct tsim_exit_meaning TSIM_EXITS[TSIM_N_EXITS];

enum tsim_option {
    TSIM_OPTION_MODEL,
    TSIM_OPTION_HF,
    TSIM_OPTION_NODE,
    TSIM_OPTION_NODES,
    TSIM_OPTION_FABRIC,
    TSIM_OPTION_GOAL,
    TSIM_OPTION_TOKENS,
    TSIM_OPTION_LOSS,
    TSIM_OPTION_DEADLINE,
    TSIM_OPTION_BUDGET,
    TSIM_OPTION_SET,
    TSIM_OPTION_SEED,
    TSIM_OPTION_IGNORE_MEMORY,
    TSIM_OPTION_MAX_ERROR,
    TSIM_OPTION_FAIL_ABOVE,
    TSIM_OPTION_SENSITIVITY,
    TSIM_OPTION_RESIDUALS,
    TSIM_OPTION_OP,
    TSIM_OPTION_SIZES,
    TSIM_OPTION_RANKS,
    TSIM_OPTION_ALGORITHM,
    TSIM_OPTION_PROTOCOL,
    TSIM_OPTION_VARY,
    TSIM_OPTION_ZIP,
    TSIM_OPTION_WHERE,
    TSIM_OPTION_OBJECTIVE,
    TSIM_OPTION_ANY_SOFTWARE,
    TSIM_OPTION_SHARD,
    TSIM_OPTION_GPUS,
    TSIM_OPTION_WEAK,
    TSIM_OPTION_REPLAN,
    TSIM_OPTION_UNTIL_EFFICIENCY,
    TSIM_OPTION_TRACE,
    TSIM_OPTION_TRACE_RANKS,
    TSIM_OPTION_REPORT,
    TSIM_OPTION_OUTPUT,
    TSIM_OPTION_FORMAT,
    TSIM_OPTION_CHART,
    TSIM_OPTION_JSON,
    TSIM_OPTION_CSV,
    TSIM_OPTION_MARKDOWN,
    TSIM_OPTION_DB,
    TSIM_OPTION_NO_DB,
    TSIM_OPTION_IGNORE,
    TSIM_OPTION_ENV,
    TSIM_OPTION_APPROXIMATE,
    TSIM_OPTION_VERBOSE,
    TSIM_OPTION_JOBS,
    TSIM_OPTION_PORT,
    TSIM_OPTION_BIND,
    TSIM_OPTION_READ_ONLY,
    TSIM_OPTION_MAX_MEMORY,
    TSIM_OPTION_TIMEOUT,
    TSIM_OPTION_QUIET,
    TSIM_OPTION_HELP,
    TSIM_N_OPTIONS
};
#define TSIM_HAS(option) (UINT64_C(1) << (option))

struct tsim_arguments;

struct tsim_command {
    const char *name;
    const char *operands; /* "SCENARIO..." */
    const char *summary;  /* one line, for `tsim help` */
    const char *text;     /* paragraphs below the usage line, in lines of at most 80 columns; may be NULL */
    size_t least_operands, most_operands;
    uint64_t options; /* TSIM_HAS(...) of the options that it takes; it always takes --help */
    /* NULL for the server, which the library does not have (main.c). */
    enum tsim_exit (*run)(const struct tsim_arguments *arguments);
    const char *examples; /* command lines, separated by '\n' */
};

/* The commands are in the order of `tsim help`. */
struct tsim_commands {
    const struct tsim_command *items;
    size_t n_items;
};

struct tsim_answer; /* see command.h */

struct tsim_arguments {
    const struct tsim_command *command;
    struct tsim_arena *arena;   /* for what lasts as long as the command; tsim_command_run makes and releases it, */
    struct tsim_diags *diags;   /* and the list of the command's mistakes */
    struct tsim_answer *answer; /* NULL: a person called the command; else it answers a request of `tsim serve` */
    const char **operands;
    size_t n_operands;
    struct tsim_override *overrides; /* those of --set in their order, then that of --seed */
    size_t n_overrides;
    bool has[TSIM_N_OPTIONS];
    const char *value[TSIM_N_OPTIONS];                  /* NULL: not given, or given without a value */
    const char **vary, **zip, **ignored, **environment; /* each --vary, --zip, --ignore and --env */
    size_t n_vary, n_zip, n_ignored, n_environment;
    size_t n_before_dashes;  /* number of operands before "--"; all of them if there is none */
    int64_t shard, n_shards; /* with TSIM_OPTION_SHARD: I from 0 to N - 1, and N */
    int64_t *gpus;           /* those of --gpus, ascending, each once; NULL: not given */
    size_t n_gpus;
    double until_efficiency_frac; /* 0: not given */
    int32_t jobs;                 /* 0: not given */
    int32_t port;                 /* with TSIM_OPTION_PORT */
    double max_memory_bytes;      /* 0: not given */
    double timeout_s;             /* 0: not given */
    double max_error_frac;        /* with TSIM_OPTION_MAX_ERROR */
    double fail_above_frac;       /* with TSIM_OPTION_FAIL_ABOVE */
};

/* Parses what follows the command's name. A mistake is explained on `err` and gives false (exit status 2). With --help
 * nothing else is checked. Everything in *arguments is in `arena` or in `argv`. */
bool tsim_options_parse(struct tsim_arena *arena, const struct tsim_command *command, int argc, char **argv,
                        struct tsim_arguments *arguments, FILE *err);

enum tsim_option_kind { TSIM_OPTION_BARE, TSIM_OPTION_NEEDS_VALUE, TSIM_OPTION_MAY_HAVE_VALUE };

struct tsim_option_spec {
    const char *name; /* without the dashes */
    enum tsim_option_kind kind;
    const char *value; /* its name in --help; FILE is a file; NULL: the option takes none */
    const char *help;
    const char *words; /* values to offer, separated by blanks; NULL: none in particular */
};
const struct tsim_option_spec *tsim_option_spec(enum tsim_option option);
/* Returns what the option does for this command. A few options have a meaning of their own for some commands. */
const char *tsim_option_help(const struct tsim_command *command, enum tsim_option option);
bool tsim_command_takes(const struct tsim_command *command, enum tsim_option option);
/* Writes "--json[=FILE]" to `buffer`, and returns it. */
const char *tsim_option_usage(enum tsim_option option, char *buffer, size_t size);
