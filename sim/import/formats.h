/* formats.h - the foreign formats that can be imported, by name. Each reads bytes in memory and nothing else, so that a
 * fuzzer can feed it as well as a file. */
#pragma once

#include "config/scenario.h"

/* The largest file that is read, the largest result, and the largest log. */
enum { TSIM_IMPORT_MAX_BYTES = 4 * 1000 * 1000, TSIM_LOG_MAX_BYTES = 64 * 1000 * 1000 };

struct tsim_import_input {
    const char *file; /* the file's name for messages */
    const char *text; /* may contain any bytes */
    size_t size;
    const struct tsim_override *overrides; /* --set, for formats that give scenarios */
    size_t n_overrides;
    const struct tsim_import_input *next; /* for formats that take many files; NULL after the last */
    const char *const *ignored;           /* --ignore: settings that are left out although tsim does not know them */
    size_t n_ignored;
    const char *const *arguments; /* after "--": the arguments of a script */
    size_t n_arguments;
    const char *const *environment; /* --env NAME=VALUE */
    size_t n_environment;
    /* Returns the text of a file beside `file`, in the arena; NULL if there is none. The function may be NULL: no such
     * file is read. */
    const char *(*read_beside)(struct tsim_arena *arena, const char *file, const char *path, size_t *size);
    /* Returns the model file of ours, in the arena, that a configuration of Hugging Face's gives; NULL after a mistake.
     * The function may be NULL: none is read. */
    const char *(*read_model)(struct tsim_arena *arena, const struct tsim_import_input *input,
                              const struct tsim_value *config, struct tsim_diags *diags);
    bool approximates; /* --approximate: parts that tsim lacks become the nearest that it has */
    int64_t gpus;      /* --gpus: accelerators of the job; 0: as the file says */
    bool is_smallest;  /* `gpus` is not the user's, but the fewest that hold the model */
};

struct tsim_import_result {
    const char *yaml;      /* a scenario, model or node file of tsim's */
    const char *notes;     /* what was assumed, a line each: "FILE:LINE:COLUMN: note: ..."; may be empty */
    const char *no_effect; /* the same for settings without effect on performance; NULL: none */
    size_t n_no_effect;
    int64_t assumed_gpus;     /* accelerators that were assumed because nothing gives their number; else 0 */
    const char *assumed_node; /* the machine that was assumed because nothing names it; else NULL */
    bool fits;                /* the job fits into the memory of these, by sim/partition */
};

/* Imports a file into *result, which is in `arena`. All mistakes (FILE:LINE:COLUMN), and warnings of what is not
 * modelled, go to `diags`. Returns TSIM_ERR_LIMIT for more than the format's largest size. */
typedef enum tsim_status (*tsim_import_fn)(struct tsim_arena *arena, const struct tsim_import_input *input,
                                           struct tsim_import_result *result, struct tsim_diags *diags);

struct tsim_import_format {
    const char *name;
    const char *help; /* one line */
    bool takes_overrides;
    size_t most_bytes; /* of a file */
    tsim_import_fn read;
    bool takes_many;        /* several files */
    bool takes_ignored;     /* --ignore */
    bool is_script;         /* it is a script, which takes arguments and --env */
    bool takes_environment; /* --env without arguments */
    bool approximates;      /* --approximate */
};

extern const struct tsim_import_format TSIM_IMPORT_FORMATS[];
extern const size_t TSIM_N_IMPORT_FORMATS;

/* Returns the format of that name; NULL for an unknown name. */
const struct tsim_import_format *tsim_import_format_find(const char *name);

/* Returns the format that the bytes show; NULL if they show none that is known. */
const struct tsim_import_format *tsim_import_format_of(const char *text, size_t size);
/* Returns whether it is a scenario of ours, which needs no import. */
bool tsim_import_is_ours(const char *text, size_t size);
/* Returns whether the format reads jobs. A machine has nothing that --ignore could leave out, and a model nothing that
 * --set could change. */
static inline bool tsim_import_gives_scenario(const struct tsim_import_format *format) {
    return format->takes_overrides && format->takes_ignored;
}

/* Finds the rate of the steps in a program's log, in whatever format, as a --set: measured.step_time and its value.
 * `spread` says how far steps differ. Returns false if no line has a rate. */
bool tsim_import_log_measured(struct tsim_arena *arena, const char *text, size_t size, struct tsim_override *measured,
                              const char **spread);

/* Reads and imports the files ("-" is standard input): one unless the format takes many, each up to the format's limit.
 * `options` gives --set, --ignore, --env, --gpus and the script's arguments; nothing else of it is read. If nothing
 * gives the number of accelerators, and as many as the plan needs do not hold the model, it takes the smallest cluster
 * of twice, four times, ... as many that does. Returns TSIM_ERR_IO if a file cannot be read. */
enum tsim_status tsim_import_files(struct tsim_arena *arena, const struct tsim_import_format *format,
                                   const char *const *files, size_t n, const struct tsim_import_input *options,
                                   struct tsim_import_result *result, struct tsim_diags *diags);

/* Serves fuzzers: reads the bytes as the format of that name, and forgets the result. */
void tsim_import_bytes(const char *format, const char *text, size_t size);
