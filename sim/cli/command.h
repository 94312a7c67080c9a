/* command.h - the commands, one file each (cmd_NAME.c; help and version are in commands.c), and what they share: exit
 * statuses, and where diagnostics and JSON go. Results are written to standard output, everything else to standard
 * error. */
#pragma once

#include "base/caller.h"
#include "cli/options.h"
#include "config/catalogue_load.h"
#include "results/json.h"
#include "results/store.h"

enum tsim_exit tsim_cmd_init(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_run(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_check(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_compare(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_explain(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_diagnose(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_validate(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_sweep(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_plan(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_buy(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_scale(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_merge(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_query(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_collective(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_export(const struct tsim_arguments *arguments);
enum tsim_exit tsim_export_chakra(const struct tsim_arguments *arguments); /* export --format chakra */
enum tsim_exit tsim_cmd_calibrate(const struct tsim_arguments *arguments);
enum tsim_exit tsim_calibrate_nccl_tests(const struct tsim_arguments *arguments); /* calibrate nccl-tests */
enum tsim_exit tsim_calibrate_intervals(const struct tsim_arguments *arguments);  /* calibrate intervals */
enum tsim_exit tsim_calibrate_profile(const struct tsim_arguments *arguments);    /* calibrate profile */
enum tsim_exit tsim_cmd_import(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_replay(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_textbook(const struct tsim_arguments *arguments);
/* Runs a server, which answers with the commands of `all`. */
enum tsim_exit tsim_cmd_serve(const struct tsim_arguments *arguments, const struct tsim_commands *all);
enum tsim_exit tsim_cmd_runs(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_report(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_list(const struct tsim_arguments *arguments);
enum tsim_exit tsim_cmd_show(const struct tsim_arguments *arguments);

/* The place for the answer of a command that serves a request or a program that uses the library: what it would have
 * told a person, in a form for programs. Its results go where the thread's caller wants them (base/caller.h). */
struct tsim_answer {
    struct tsim_json *diagnostics; /* each error and warning, as a list */
    bool is_library; /* diagnostics name their files, as a server's do not; the process is not ours to tune */
    bool has_errors;
    FILE *view;     /* receives the data and charts of the page that --report asks for; NULL: a file is written */
    bool is_page;   /* the view is to be the page itself */
    FILE *progress; /* receives a line of JSON now and then; NULL: nobody waits for it */
};

/* Runs a command with an arena and a list of diagnostics of its own. */
enum tsim_exit tsim_command_run(const struct tsim_command *command, struct tsim_arguments *arguments);

/* Prints "WHAT 'NAME'; did you mean 'NEAR'?" to standard error. */
void tsim_say_unknown(const char *what, const char *name, const char *const *names, size_t n_names);

/* Returns true, after a message (exit status 2), if one of the options is given that `what` has no use for, because the
 * user would not learn otherwise that it does nothing. */
bool tsim_is_refused(const struct tsim_arguments *arguments, const char *what, const enum tsim_option *without,
                     size_t n);

enum tsim_exit tsim_exit_of(enum tsim_status status);

/* Returns the status to report when several things went wrong. Input/output takes precedence, then invalid input, then
 * memory, then a gate. */
enum tsim_exit tsim_exit_worse(enum tsim_exit a, enum tsim_exit b);

/* Prints the list on standard error, with --quiet only its errors, and empties it. */
void tsim_report_diags(const struct tsim_arguments *arguments, struct tsim_diags *diags);

/* Returns whether JSON takes standard output (--json without a FILE). */
bool tsim_is_json_on_stdout(const struct tsim_arguments *arguments);

/* Writes a report's page (report/page/page.h), with a message if that fails. */
enum tsim_exit tsim_write_page(const struct tsim_arguments *arguments, const char *file, struct tsim_json *page);

/* Writes the page of a sweep that --report asks for. */
enum tsim_exit tsim_write_sweep_page(struct tsim_arena *arena, const struct tsim_arguments *arguments,
                                     struct tsim_store *store, int64_t sweep_id);

/* Tries, before a command that may take long begins, whether the files that the options name can be written. Returns
 * false, after a message, if one cannot. */
bool tsim_can_write(const struct tsim_arguments *arguments);

/* Writes the document where --json says, and releases it. */
enum tsim_exit tsim_write_json(const struct tsim_arguments *arguments, struct tsim_json *root);

/* Does the same for a document that `write` writes piece by piece. Its failures are reported through `write`'s own
 * context. */
typedef enum tsim_status (*tsim_json_parts_fn)(void *context, FILE *out);
enum tsim_exit tsim_write_json_parts(const struct tsim_arguments *arguments, tsim_json_parts_fn write, void *context);

struct tsim_figures;
/* Writes tables for programs, as --csv or --json asks. Returns false if neither takes standard output, which is then
 * for people. */
bool tsim_write_tables(const struct tsim_arguments *arguments, const struct tsim_figures *tables, size_t n,
                       enum tsim_exit *status);

/* Writes a file, which appears when `write` has written all of it (base/output.h), with a message if that fails. */
enum tsim_exit tsim_write_file(const char *file, tsim_json_parts_fn write, void *context);

/* Returns --jobs, or the number of processors. */
int32_t tsim_n_jobs(const struct tsim_arguments *arguments);

/* Flushes standard output, so that it appears before what follows on standard error. A failure to write is reported
 * once, unless the reader has gone away (`tsim list | head`). */
enum tsim_exit tsim_flush_results(void);

/* Finds the catalogue's kind of a file by its schema, as in "tsim/accelerator/v1". Returns false for another file, and
 * for one that cannot be read, which its next reader reports. */
bool tsim_find_file_kind(struct tsim_arena *arena, const char *file, enum tsim_catalogue_kind *kind);
/* Finds a kind of the catalogue by its word; returns false after a message (exit status 2). */
bool tsim_find_kind(const struct tsim_arguments *arguments, const char *word, enum tsim_catalogue_kind *kind);

/* Returns --db, or the default. */
const char *tsim_db_file(const struct tsim_arguments *arguments);

/* Opens that file for reading; --no-db is an error. */
enum tsim_status tsim_open_database(struct tsim_arena *arena, const struct tsim_arguments *arguments,
                                    struct tsim_store **store, struct tsim_diags *diags);

/* Returns whether the operand is the number of a run in the database. */
bool tsim_is_run_number(const char *operand);

/* Loads a scenario by its file, or a logged run's scenario by the run's number, with the changes of --set and
 * --seed. */
enum tsim_status tsim_load_operand(struct tsim_arena *arena, const struct tsim_arguments *arguments,
                                   const char *operand, const struct tsim_scenario **scenario,
                                   struct tsim_diags *diags);

/* Writes a file with this text, whole or not at all. */
enum tsim_status tsim_write_text(struct tsim_arena *arena, const char *file, const char *text,
                                 struct tsim_diags *diags);

/* Loads a plan that a search found as a scenario of its own. The overrides come first, then what the plan sets,
 * {"PATH": VALUE, ...}. */
enum tsim_status tsim_load_plan(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                const struct tsim_override *overrides, size_t n_overrides, const char *set_json,
                                const struct tsim_scenario **scenario, struct tsim_diags *diags);

/* Returns the present time in ISO 8601, UTC, in `arena`. */
const char *tsim_timestamp(struct tsim_arena *arena);

/* Writes a scenario that tsim_load_plan made to a file, below a comment with `title` and without the `sweep:` section.
 * It reads the file again where it stands, which shows whether the files that it names are found from there. */
enum tsim_status tsim_write_plan(struct tsim_arena *arena, const char *file, const char *title,
                                 const struct tsim_scenario *scenario, struct tsim_diags *diags);
