/* formats.h - the foreign formats that can be imported, by name. Each reads bytes in memory and nothing else, so that it
 * can be fed by a fuzzer as well as by a file. */
#ifndef TSIM_IMPORT_FORMATS_H
#define TSIM_IMPORT_FORMATS_H

#include "config/scenario.h"

/* The largest file that is read, and what may come of it; and the largest log. */
enum { TSIM_IMPORT_MAX_BYTES = 4 * 1000 * 1000, TSIM_LOG_MAX_BYTES = 64 * 1000 * 1000 };

struct tsim_import_input {
    const char *file; /* what places say */
    const char *text; /* may hold any bytes */
    size_t size;
    const struct tsim_override *overrides; /* --set: of formats that give scenarios */
    size_t n_overrides;
    const struct tsim_import_input *next; /* of formats that take many files; NULL after the last */
    const char *const *ignored;           /* --ignore: settings that are left out although tsim does not know them */
    size_t n_ignored;
    const char *const *arguments; /* behind "--": what a script is given */
    size_t n_arguments;
    const char *const *environment; /* --env NAME=VALUE */
    size_t n_environment;
    /* The text of a file that stands beside `file`, in the arena; NULL: there is none. NULL itself: none is read. */
    const char *(*read_beside)(struct tsim_arena *arena, const char *file, const char *path, size_t *size);
    bool approximates; /* --approximate: parts that tsim does not have are taken as the nearest that it has */
    int64_t gpus;      /* --gpus: how many accelerators the job has; 0: as the file says */
    bool is_smallest;  /* `gpus` is not the user's but the fewest that hold the model */
};

struct tsim_import_result {
    const char *yaml;      /* a file of ours */
    const char *notes;     /* what was assumed, a line each: "FILE:LINE:COLUMN: note: ..."; may be empty */
    const char *no_effect; /* the same of settings without effect on performance; NULL: none */
    size_t n_no_effect;
    int64_t assumed_gpus; /* where nothing says how many there are: as many as were assumed; else 0 */
    bool fits;            /* into the memory of these, by what sim/partition adds up */
};

/* The result is in `arena`. Mistakes (FILE:LINE:COLUMN, all of them) and what is not modelled (warnings) go to `diags`.
 * TSIM_ERR_LIMIT for more than the format's largest size. */
typedef enum tsim_status (*tsim_import_fn)(struct tsim_arena *arena, const struct tsim_import_input *input,
                                           struct tsim_import_result *result, struct tsim_diags *diags);

struct tsim_import_format {
    const char *name;
    const char *help; /* one line */
    bool takes_overrides;
    size_t most_bytes; /* of a file */
    tsim_import_fn read;
    bool takes_many;        /* files */
    bool takes_ignored;     /* --ignore */
    bool is_script;         /* takes arguments and --env */
    bool takes_environment; /* --env alone */
    bool approximates;      /* --approximate */
};

extern const struct tsim_import_format TSIM_IMPORT_FORMATS[];
extern const size_t TSIM_N_IMPORT_FORMATS;

/* NULL for an unknown name. */
const struct tsim_import_format *tsim_import_format_find(const char *name);

/* Tells the format by what stands in the bytes; NULL: by nothing that is known. */
const struct tsim_import_format *tsim_import_format_of(const char *text, size_t size);
/* A scenario of ours, which needs no import. */
bool tsim_import_is_ours(const char *text, size_t size);
/* Does it read jobs? A machine has nothing that --ignore could leave out, a model nothing that --set could change. */
static inline bool tsim_import_gives_scenario(const struct tsim_import_format *format) {
    return format->takes_overrides && format->takes_ignored;
}

/* The rate of the steps in a program's log, of whatever format, as a --set: measured.step_time and its value; `spread` says
 * how far steps differ. False: no line has one. */
bool tsim_import_log_measured(struct tsim_arena *arena, const char *text, size_t size, struct tsim_override *measured,
                              const char **spread);

/* Reads the files ("-": standard input), one unless the format takes many, each up to the format's limit, then as
 * above. `options` has what --set, --ignore, --env, --gpus and the script's arguments say; nothing else of it is read. Where
 * nothing says how many accelerators there are, and as many as the plan needs do not hold the model, the smallest cluster of twice,
 * four times, ... as many that does is taken. TSIM_ERR_IO. */
enum tsim_status tsim_import_files(struct tsim_arena *arena, const struct tsim_import_format *format,
                                   const char *const *files, size_t n, const struct tsim_import_input *options,
                                   struct tsim_import_result *result, struct tsim_diags *diags);

/* Serves fuzzers: reads the bytes as the format of that name and forgets the result. */
void tsim_import_bytes(const char *format, const char *text, size_t size);

#endif
