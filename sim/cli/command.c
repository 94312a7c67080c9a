#include "cli/command.h"

#include "base/output.h"
#include "config/document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOG_OPTIONS (TSIM_HAS(TSIM_OPTION_DB) | TSIM_HAS(TSIM_OPTION_NO_DB))
/* Of what reads a file that others may have made, or simulates. */
#define BASE_OPTIONS (TSIM_HAS(TSIM_OPTION_MAX_MEMORY) | TSIM_HAS(TSIM_OPTION_TIMEOUT) | TSIM_HAS(TSIM_OPTION_QUIET))
#define INPUT_OPTIONS (BASE_OPTIONS | TSIM_HAS(TSIM_OPTION_SET) | TSIM_HAS(TSIM_OPTION_SEED))
#define JSON_OPTION TSIM_HAS(TSIM_OPTION_JSON)
#define CSV_OPTION TSIM_HAS(TSIM_OPTION_CSV)
#define JOBS_OPTION TSIM_HAS(TSIM_OPTION_JOBS)

const struct tsim_command TSIM_COMMANDS[] = {
    {"init", "[FILE]", "a first scenario: five questions, a commented file that runs",
     "Asks for the model, the node, how many of them, the fabric between them, and the\n"
     "goal; what an option says is not asked, and without a terminal nothing is. Finds\n"
     "the fastest plan that fits, and writes FILE (scenario.yaml; '-' is standard\n"
     "output).",
     0, 1,
     TSIM_HAS(TSIM_OPTION_MODEL) | TSIM_HAS(TSIM_OPTION_NODE) | TSIM_HAS(TSIM_OPTION_NODES) |
         TSIM_HAS(TSIM_OPTION_FABRIC) | TSIM_HAS(TSIM_OPTION_GOAL) | JOBS_OPTION | BASE_OPTIONS,
     tsim_cmd_init},
    {"run", "SCENARIO", "simulate a scenario: step time, memory, energy, cost",
     "SCENARIO is a YAML file, or '-' for standard input. The run is logged to a\n"
     "database (tsim.db in the current folder). Exit status 4: it does not fit in\n"
     "memory; what would fit is printed. --csv: a line for each figure.",
     1, 1,
     INPUT_OPTIONS | LOG_OPTIONS | JSON_OPTION | CSV_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY) |
         TSIM_HAS(TSIM_OPTION_TRACE) | TSIM_HAS(TSIM_OPTION_TRACE_RANKS) | TSIM_HAS(TSIM_OPTION_REPORT),
     tsim_cmd_run},
    {"check", "SCENARIO...", "read and validate scenarios, simulate nothing",
     "All mistakes of all files are reported. --json prints the scenario with every\n"
     "default filled in (a list of them when there are several files). A catalogue\n"
     "file (an accelerator's, say) is checked too: what it leaves to defaults, and\n"
     "what it only estimates.",
     1, SIZE_MAX, INPUT_OPTIONS | JSON_OPTION | JOBS_OPTION, tsim_cmd_check},
    {"explain", "SCENARIO [TERM]", "where the step and the memory go, and what binds",
     "Memory by kind and stage, the roofline of every operator, the schedule, the\n"
     "critical path, exposed communication, sensitivities, advice. With a TERM of the\n"
     "summary, as in step.compute_s, mfu or memory: its formula tree, down to each\n"
     "constant and its source. Nothing is logged. --csv prints one table after the\n"
     "other; the first column is the table's name.",
     1, 2, INPUT_OPTIONS | JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY), tsim_cmd_explain},
    {"compare", "A B", "two scenarios or runs: what differs, and what that changes",
     "A and B are scenarios, or numbers of runs in the database, which are simulated\n"
     "again by this version. What differs in the inputs, where the step's time goes\n"
     "from A to B, and the figures that change, with the interval of each step.\n"
     "--sensitivity runs both again with each capacity, latency and rent a tenth\n"
     "lower and higher, one at a time, and says which of them would turn the order\n"
     "round, in time or in rent per token. --report makes a page of it, with both\n"
     "runs. Where one does not fit in memory, it says so and ends with 4. Nothing is\n"
     "logged.",
     2, 2,
     INPUT_OPTIONS | LOG_OPTIONS | JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY) |
         TSIM_HAS(TSIM_OPTION_FAIL_ABOVE) | TSIM_HAS(TSIM_OPTION_REPORT) | TSIM_HAS(TSIM_OPTION_SENSITIVITY),
     tsim_cmd_compare},
    {"validate", "SCENARIO...", "predicted beside measured, with the error of each and of all",
     "Runs each file that has a measured: section. Where ten or more have a time or\n"
     "rate, errors by source (the first word of the name) and accelerator follow.\n"
     "What measured.doubtful says not to trust is compared and not scored. Nothing\n"
     "is logged unless --db names a database.",
     1, SIZE_MAX,
     INPUT_OPTIONS | LOG_OPTIONS | JSON_OPTION | CSV_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY) |
         TSIM_HAS(TSIM_OPTION_MAX_ERROR) | TSIM_HAS(TSIM_OPTION_RESIDUALS),
     tsim_cmd_validate},
    {"sweep", "SCENARIO", "every point of a space of scenarios, in parallel, resumable",
     "The points are those of the scenario's sweep: section, or of --vary and --zip.\n"
     "Finished points are kept in the database: the same command goes on where it\n"
     "stopped. Under srun and mpirun each process takes its share (--shard) into a\n"
     "database of its own; tsim merge puts them together.",
     1, 1,
     INPUT_OPTIONS | LOG_OPTIONS | JSON_OPTION | CSV_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY) |
         TSIM_HAS(TSIM_OPTION_VARY) | TSIM_HAS(TSIM_OPTION_ZIP) | TSIM_HAS(TSIM_OPTION_WHERE) |
         TSIM_HAS(TSIM_OPTION_OBJECTIVE) | TSIM_HAS(TSIM_OPTION_SHARD) | TSIM_HAS(TSIM_OPTION_REPORT),
     tsim_cmd_sweep},
    {"plan", "SCENARIO", "the best parallelism plans, for one cluster or a choice of them",
     "Searches tensor, pipeline, virtual pipeline, context, expert and data\n"
     "parallelism, ZeRO, micro-batch, recomputation, schedule and sequence\n"
     "parallelism; what the scenario says of them does not count. Axes (sweep.axes,\n"
     "--vary) over these keys say which values to try, axes over other keys\n"
     "(cluster.node, cluster.nodes) are candidates. Limits (sweep.limits, or --set\n"
     "sweep.limits.days=60; cost, power, memory, any figure) are kept; of a candidate\n"
     "without a plan it says which is missed and by how much. Of values that are not\n"
     "listed it tries those that the scenario's software can run (its supports), or,\n"
     "with --any-software, all. The plans are those that\n"
     "simulating all of them would find. --sensitivity asks whether the order of the\n"
     "two best candidates survives each input a tenth off. --report makes a page of\n"
     "it, with a run of the best plan. Nothing is logged.",
     1, 1,
     INPUT_OPTIONS | JSON_OPTION | CSV_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_VARY) | TSIM_HAS(TSIM_OPTION_ZIP) |
         TSIM_HAS(TSIM_OPTION_OBJECTIVE) | TSIM_HAS(TSIM_OPTION_SENSITIVITY) | TSIM_HAS(TSIM_OPTION_REPORT) |
         TSIM_HAS(TSIM_OPTION_ANY_SOFTWARE),
     tsim_cmd_plan},
    {"scale", "SCENARIO", "a scaling curve: efficiency, where it bends and why",
     "Strong scaling (the global batch stays) or, with --weak, weak scaling. Nodes\n"
     "are added or left out and data-parallel replicas with them. Efficiency is\n"
     "relative to the smallest count that runs. The points are logged as a sweep.",
     1, 1,
     INPUT_OPTIONS | LOG_OPTIONS | JSON_OPTION | CSV_OPTION | JOBS_OPTION | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY) |
         TSIM_HAS(TSIM_OPTION_GPUS) | TSIM_HAS(TSIM_OPTION_WEAK) | TSIM_HAS(TSIM_OPTION_UNTIL_EFFICIENCY) |
         TSIM_HAS(TSIM_OPTION_REPORT),
     tsim_cmd_scale},
    {"merge", "OUT.db IN.db...", "one database out of the shards of a sweep",
     "Merging twice changes nothing. Databases of different versions of tsim are\n"
     "not mixed: exit status 3.",
     2, SIZE_MAX, BASE_OPTIONS, tsim_cmd_merge},
    {"query", "[VIEW|SQL]", "read the database: a ready view, or any SELECT",
     "Without an operand: the views. As in: tsim query best_per_gpu_count,\n"
     "tsim query \"SELECT set_json, mfu FROM points WHERE mfu > 0.4\".",
     0, 1, LOG_OPTIONS | JSON_OPTION | CSV_OPTION | BASE_OPTIONS, tsim_cmd_query},
    {"collective", "SCENARIO", "what nccl-tests would print on the scenario's cluster",
     "One collective alone, by size, with the algorithm and protocol that the library\n"
     "would choose. Sizes and bus bandwidth are nccl-tests' (all_gather: the gathered\n"
     "buffer).",
     1, 1,
     INPUT_OPTIONS | JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_OP) | TSIM_HAS(TSIM_OPTION_SIZES) |
         TSIM_HAS(TSIM_OPTION_RANKS) | TSIM_HAS(TSIM_OPTION_ALGORITHM) | TSIM_HAS(TSIM_OPTION_PROTOCOL),
     tsim_cmd_collective},
    {"report", "[RUN...]", "one page with charts, from the database, for any browser",
     "RUN is the number of a run, as 'tsim runs' has them, or sweep:N; without one,\n"
     "the newest run and the newest sweep. Runs are simulated again from what was\n"
     "logged. The page is report.html unless --output names another file, and needs\n"
     "nothing else: no network, no other file.",
     0, SIZE_MAX, LOG_OPTIONS | TSIM_HAS(TSIM_OPTION_OUTPUT) | BASE_OPTIONS, tsim_cmd_report},
    {"export", "SCENARIO|RUN", "figures and charts for papers, sheets and monitoring",
     "A scenario, the number of a logged run, or sweep:N of the database. --format is\n"
     "csv (every figure), markdown or latex (a table with units), prometheus, svg or\n"
     "png (a chart; png needs rsvg-convert). Charts of a run: step, memory, schedule,\n"
     "roofline, links, sensitivity; of one with failures or costs: days, timeline,\n"
     "power, lost, ownership; of a sweep: scaling, pareto, heat. chakra: the step as\n"
     "execution traces for ASTRA-sim, NAME.RANK.et with --output NAME, and\n"
     "NAME.groups.json.",
     1, 1,
     INPUT_OPTIONS | LOG_OPTIONS | TSIM_HAS(TSIM_OPTION_RANKS) | TSIM_HAS(TSIM_OPTION_FORMAT) |
         TSIM_HAS(TSIM_OPTION_CHART) | TSIM_HAS(TSIM_OPTION_OUTPUT) | TSIM_HAS(TSIM_OPTION_IGNORE_MEMORY),
     tsim_cmd_export},
    {"calibrate", "WHAT FILE...", "efficiencies from measured kernels, links from nccl-tests",
     "WHAT is\n"
     "  kernels FILE [MINE.yaml]   an accelerator's efficiencies; FILE is CSV:\n"
     "                             accelerator,op,precision,batch,m,n,k,\n"
     "                             bytes,time_us; op is gemm or copy. MINE.yaml is\n"
     "                             written for a node to name.\n"
     "  nccl-tests FILE...         what a node's links and the fabric reach; FILE is\n"
     "                             the output of nccl-tests, text or JSON. The machine\n"
     "                             is told by its devices or --set cluster.node=ID and\n"
     "                             cluster.fabric=ID; --op and --ranks say what the\n"
     "                             files do not. --output writes a node or a fabric\n"
     "                             (-node.yaml and -fabric.yaml where both).\n"
     "  profile FILE SCENARIO      a profiler's trace of a step beside what is\n"
     "                             predicted: FILE is of PyTorch's profiler (JSON,\n"
     "                             also .gz) or a SQLite export of Nsight Systems.\n"
     "Fits what the measurements tell apart by least squares on relative errors, and\n"
     "prints each value beside the catalogue's with its 95 % interval, and each error.",
     2, SIZE_MAX,
     TSIM_HAS(TSIM_OPTION_SET) | TSIM_HAS(TSIM_OPTION_OP) | TSIM_HAS(TSIM_OPTION_RANKS) | TSIM_HAS(TSIM_OPTION_OUTPUT) |
         JSON_OPTION | CSV_OPTION | BASE_OPTIONS,
     tsim_cmd_calibrate},
    {"import", "FORMAT FILE...", "a foreign file as a model file or a scenario, in YAML",
     "FORMAT is one of\n"
     "  hf-config    config.json of a Hugging Face model: a model file\n"
     "  megatron     Megatron-LM's command line, launch script or YAML: a scenario\n"
     "  nemo         YAML recipe of NeMo: a scenario\n"
     "  deepspeed    DeepSpeed's JSON: a scenario\n"
     "  torchtitan   TOML configuration of torchtitan: a scenario\n"
     "  nvidia-topo  what nvidia-smi topo -m prints: a node\n"
     "  nccl-xml     NCCL's topology (NCCL_TOPO_DUMP_FILE): a node\n"
     "  chakra       execution traces of MLCommons Chakra (.et), one for each rank:\n"
     "               what 'tsim replay' takes\n"
     "What a recipe does not say (which machine) is assumed and marked so; --set\n"
     "changes it. What slows or speeds a run and is not modelled is a warning. What\n"
     "changes the model, the data type, the batch or the parallelism and is not\n"
     "understood is an error, as are contradictions. FILE may be '-'.",
     2, SIZE_MAX,
     TSIM_HAS(TSIM_OPTION_SET) | TSIM_HAS(TSIM_OPTION_OUTPUT) | TSIM_HAS(TSIM_OPTION_IGNORE) |
         TSIM_HAS(TSIM_OPTION_VERBOSE) | BASE_OPTIONS,
     tsim_cmd_import},
    {"replay", "FILE", "execution traces of a job, replayed on a cluster",
     "FILE names traces of MLCommons Chakra and a cluster, as 'tsim import chakra'\n"
     "writes it. Kernels take the time that was recorded, or that of a roofline\n"
     "(kernels: roofline); collectives and messages are simulated on the cluster's\n"
     "links. 'tsim run FILE' does the same. Nothing is logged.",
     1, 1, (INPUT_OPTIONS & ~TSIM_HAS(TSIM_OPTION_SEED)) | JSON_OPTION | CSV_OPTION, tsim_cmd_replay},
    {"textbook", "[ID]", "the worked examples of a textbook, and what differs",
     "Each number of the text beside tsim's, which is simulated or computed anew;\n"
     "where they differ, which is right and why. With an ID that example alone.\n"
     "--markdown writes docs/textbook.md.",
     0, 1, JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_MARKDOWN) | BASE_OPTIONS, tsim_cmd_textbook},
    {"runs", "", "what is in the database: runs and sweeps",
     "Runs and sweeps, each with its number, for 'tsim report', 'tsim export' and (of\n"
     "runs) 'tsim compare'. 'tsim query' reads all that is logged. --csv lists the\n"
     "runs alone.",
     0, 0, LOG_OPTIONS | JSON_OPTION | CSV_OPTION | BASE_OPTIONS, tsim_cmd_runs},
    {"list", "[KIND]", "what is in the catalogue",
     "KIND is models, accelerators, nodes, fabrics, storage, software, regions or\n"
     "scenarios: each entry with what makes one choose it. Without KIND the ids of all\n"
     "of them. 'tsim show KIND/ID' says the rest; --csv and --json list ids alone (of\n"
     "regions also what their electricity emits and costs).",
     0, 1, JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_QUIET), tsim_cmd_list},
    {"show", "KIND/ID|FILE", "one catalogue entry, each value with its source",
     "As in: tsim show model/llama2-70b, tsim show accelerator/h100-sxm, tsim show\n"
     "my-accelerator.yaml. An id that one kind alone has needs no kind.",
     1, 1, JSON_OPTION | CSV_OPTION | TSIM_HAS(TSIM_OPTION_QUIET), tsim_cmd_show},
    {"help", "[COMMAND]", "this list, or one command's options",
     "--format man writes a manual page, bash and zsh what these shells complete (in\n"
     "~/.bashrc: source <(tsim help --format bash)), reference every key of scenarios\n"
     "and of the catalogue's files, as Markdown.",
     0, 1, TSIM_HAS(TSIM_OPTION_FORMAT), tsim_cmd_help},
    {"version", "", "the version of tsim", NULL, 0, 0, 0, tsim_cmd_version},
};
const size_t TSIM_N_COMMANDS = sizeof TSIM_COMMANDS / sizeof TSIM_COMMANDS[0];

void tsim_say_unknown(const char *what, const char *name, const char *const *names, size_t n_names) {
    const char *near = tsim_did_you_mean(name, names, n_names);
    fprintf(stderr, "%s '%s'", what, name);
    if (near)
        fprintf(stderr, "; did you mean '%s'?", near);
    fputc('\n', stderr);
}

bool tsim_is_refused(const struct tsim_arguments *arguments, const char *what, const enum tsim_option *without,
                     size_t n) {
    for (size_t i = 0; i < n; i++)
        if (arguments->has[without[i]]) {
            fprintf(stderr, "tsim %s: %s takes no --%s\nTry 'tsim %s --help'.\n", arguments->command->name, what,
                    tsim_option_spec(without[i])->name, arguments->command->name);
            return true;
        }
    return false;
}

const struct tsim_command *tsim_command_find(const char *name) {
    const char *names[sizeof TSIM_COMMANDS / sizeof TSIM_COMMANDS[0]];
    for (size_t i = 0; i < TSIM_N_COMMANDS; i++) {
        if (strcmp(TSIM_COMMANDS[i].name, name) == 0)
            return &TSIM_COMMANDS[i];
        names[i] = TSIM_COMMANDS[i].name;
    }
    tsim_say_unknown("tsim: unknown command", name, names, TSIM_N_COMMANDS);
    fputs("Try 'tsim help'.\n", stderr);
    return NULL;
}

void tsim_commands_print(FILE *out) {
    fputs("tsim predicts how a neural network trains on a cluster of accelerators.\n\n"
          "usage: tsim COMMAND [OPTION]... [OPERAND]...\n\ncommands:\n",
          out);
    for (size_t i = 0; i < TSIM_N_COMMANDS; i++) {
        char left[40];
        snprintf(left, sizeof left, "%s %s", TSIM_COMMANDS[i].name, TSIM_COMMANDS[i].operands);
        fprintf(out, "  %-23s %s\n", left, TSIM_COMMANDS[i].summary);
    }
    fputs("\n'tsim help COMMAND' lists a command's options.\n"
          "Exit status: 0 done, 2 wrong usage, 3 invalid input, 4 does not fit in memory,\n"
          "5 a file, the database or memory failed, 6 a gate failed, 70 a bug, 130 interrupted.\n",
          out);
}

enum tsim_exit tsim_exit_of(enum tsim_status status) {
    switch (status) {
    case TSIM_OK:
        return TSIM_EXIT_OK;
    case TSIM_ERR_IO:
    case TSIM_ERR_DB:
        return TSIM_EXIT_IO;
    default:
        return TSIM_EXIT_INVALID;
    }
}

enum tsim_exit tsim_exit_worse(enum tsim_exit a, enum tsim_exit b) {
    static const enum tsim_exit WORST_FIRST[] = {TSIM_EXIT_IO, TSIM_EXIT_INVALID, TSIM_EXIT_DOES_NOT_FIT,
                                                 TSIM_EXIT_GATE};
    for (size_t i = 0; i < sizeof WORST_FIRST / sizeof WORST_FIRST[0]; i++)
        if (a == WORST_FIRST[i] || b == WORST_FIRST[i])
            return WORST_FIRST[i];
    return TSIM_EXIT_OK;
}

void tsim_report_diags(const struct tsim_arguments *arguments, const struct tsim_diags *diags) {
    if (!arguments->has[TSIM_OPTION_QUIET]) {
        tsim_diags_print(diags, stderr);
        return;
    }
    for (size_t i = 0; i < diags->n_items; i++) {
        struct tsim_diags one = {.items = &diags->items[i], .n_items = 1, .n_errors = 1};
        if (!diags->items[i].is_warning)
            tsim_diags_print(&one, stderr);
    }
}

bool tsim_is_json_on_stdout(const struct tsim_arguments *arguments) {
    return arguments->has[TSIM_OPTION_JSON] && !arguments->value[TSIM_OPTION_JSON];
}

enum tsim_exit tsim_write_file(const char *file, tsim_json_parts_fn write, void *context) {
    struct tsim_output *output;
    struct tsim_arena arena;
    struct tsim_diags diags;
    tsim_arena_init(&arena);
    tsim_diags_init(&diags);
    enum tsim_status status = tsim_output_open(&arena, file, &output, &diags);
    if (status == TSIM_OK) {
        status = write(context, tsim_output_stream(output));
        if (status == TSIM_OK)
            status = tsim_output_keep(output, &diags);
        else
            tsim_output_discard(output);
    }
    tsim_diags_print(&diags, stderr);
    tsim_diags_release(&diags);
    tsim_arena_release(&arena);
    return tsim_exit_of(status);
}

enum tsim_exit tsim_write_json_parts(const struct tsim_arguments *arguments, tsim_json_parts_fn write, void *context) {
    if (arguments->value[TSIM_OPTION_JSON])
        return tsim_write_file(arguments->value[TSIM_OPTION_JSON], write, context);
    return tsim_exit_of(write(context, stdout)); /* failures of stdout are found when it is flushed at the end */
}

static enum tsim_status write_tree(void *context, FILE *out) {
    tsim_json_write(context, out);
    return TSIM_OK;
}

enum tsim_exit tsim_write_json(const struct tsim_arguments *arguments, struct tsim_json *root) {
    enum tsim_exit status = tsim_write_json_parts(arguments, write_tree, root);
    tsim_json_release(root);
    return status;
}

int32_t tsim_n_jobs(const struct tsim_arguments *arguments) {
    long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (arguments->jobs > 0)
        return arguments->jobs;
    return n_processors > 0 && n_processors < 1024 ? (int32_t)n_processors : 1;
}

enum tsim_exit tsim_flush_results(void) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return TSIM_EXIT_OK;
    if (errno != EPIPE)
        fprintf(stderr, "tsim: error: cannot write to standard output: %s\n", errno ? strerror(errno) : "write error");
    clearerr(stdout);
    return TSIM_EXIT_IO;
}

bool tsim_find_file_kind(struct tsim_arena *arena, const char *file, enum tsim_catalogue_kind *kind) {
    struct tsim_diags unread;
    const struct tsim_value *root = NULL;
    if (strcmp(file, "-") == 0)
        return false;
    tsim_diags_init(&unread);
    bool is_read = tsim_document_read(arena, file, &root, &unread) == TSIM_OK;
    tsim_diags_release(&unread);
    for (int k = 0; is_read && k < TSIM_CATALOGUE_SCENARIOS; k++) {
        *kind = (enum tsim_catalogue_kind)k;
        const char *schema = tsim_arena_printf(arena, "tsim/%s/v1", tsim_catalogue_word(*kind));
        if (tsim_value_is_text(tsim_value_find(root, "schema"), schema))
            return true;
    }
    return false;
}

bool tsim_find_kind(const struct tsim_arguments *arguments, const char *word, enum tsim_catalogue_kind *kind) {
    const char *words[2 * TSIM_N_CATALOGUE_KINDS]; /* the plurals, then the words for one */
    if (tsim_catalogue_find_kind(word, kind))
        return true;
    for (int i = 0; i < TSIM_N_CATALOGUE_KINDS; i++) {
        words[i] = tsim_catalogue_plural((enum tsim_catalogue_kind)i);
        words[TSIM_N_CATALOGUE_KINDS + i] = tsim_catalogue_word((enum tsim_catalogue_kind)i);
    }
    char what[64];
    snprintf(what, sizeof what, "tsim %s: unknown kind", arguments->command->name);
    tsim_say_unknown(what, word, words, 2 * TSIM_N_CATALOGUE_KINDS);
    fputs("Kinds:", stderr);
    for (int i = 0; i < TSIM_N_CATALOGUE_KINDS; i++)
        fprintf(stderr, " %s", words[i]);
    fputc('\n', stderr);
    return false;
}

const char *tsim_db_file(const struct tsim_arguments *arguments) {
    const char *file = arguments->value[TSIM_OPTION_DB];
    return file ? file : "tsim.db";
}

enum tsim_status tsim_open_database(struct tsim_arena *arena, const struct tsim_arguments *arguments,
                                    struct tsim_store **store, struct tsim_diags *diags) {
    if (!arguments->has[TSIM_OPTION_NO_DB])
        return tsim_store_open(arena, tsim_db_file(arguments), TSIM_STORE_READ, store, diags);
    tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_DB, (struct tsim_place){.file = "--no-db"}, "",
                                    "runs and sweeps are read from a database"),
                   "leave it out, or name one with --db FILE");
    return TSIM_ERR_DB;
}

bool tsim_is_run_number(const char *operand) {
    return operand[0] && strspn(operand, "0123456789") == strlen(operand) && strlen(operand) < 18;
}

enum tsim_status tsim_load_operand(struct tsim_arena *arena, const struct tsim_arguments *arguments,
                                   const char *operand, const struct tsim_scenario **scenario,
                                   struct tsim_diags *diags) {
    struct tsim_scenario_source *source = TSIM_NEW(arena, struct tsim_scenario_source);
    struct tsim_store *store;
    const char *json = NULL;
    if (!tsim_is_run_number(operand))
        return tsim_scenario_load(arena, operand, arguments->overrides, arguments->n_overrides, scenario, diags);
    TSIM_TRY(tsim_open_database(arena, arguments, &store, diags));
    enum tsim_status status = tsim_store_configuration(store, arena, strtoll(operand, NULL, 10), &json, diags);
    tsim_store_close(store);
    TSIM_TRY(status);
    TSIM_TRY(tsim_scenario_open_text(arena, tsim_arena_printf(arena, "run %s", operand), json, source, diags));
    return tsim_scenario_load_from(arena, source, arguments->overrides, arguments->n_overrides, scenario, diags);
}

const char *tsim_timestamp(struct tsim_arena *arena) {
    time_t now = time(NULL);
    struct tm utc;
    char text[32] = "";
    if (gmtime_r(&now, &utc))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return tsim_arena_strdup(arena, text);
}
