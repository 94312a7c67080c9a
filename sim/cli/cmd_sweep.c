#include "cli/command.h"

#include "report/terminal/sweep_output.h"
#include "study/curves/section.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
    const struct tsim_arguments *arguments;
    struct tsim_arena *arena;
    struct tsim_diags *diags;
    struct tsim_scenario_source source;
    struct tsim_section section;
    struct tsim_sweep sweep;
    struct tsim_sweep_output output;
    struct tsim_sweep_progress progress;
    struct tsim_store *store;
    const char *file; /* of the store; NULL: a temporary one */
    int64_t sweep_id;
    int64_t shard_number; /* from 1 on; 0: not a shard */
    bool has_bar;
    int64_t shown_done; /* what the bar said last, when, and how fast it went */
    double shown_s, per_s;
};

/* ---- which share of the points ---- */

static bool read_environment(const char *name, int64_t most, int64_t *value) {
    const char *text = getenv(name);
    char *end;
    if (!text || !text[0])
        return false;
    *value = strtoll(text, &end, 10);
    return *end == '\0' && *value >= 0 && *value < most;
}

/* Open MPI comes first: under Slurm, its mpirun starts its processes through Slurm, whose numbers are then not those of
 * the ranks. */
static void take_environment(struct run *run) {
    static const char *const NAMES[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"SLURM_PROCID", "SLURM_NTASKS"}};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        int64_t rank, n;
        if (read_environment(NAMES[i][1], 1000000, &n) && read_environment(NAMES[i][0], n, &rank)) {
            run->sweep.shard = rank;
            run->sweep.n_shards = n;
            run->shard_number = n > 1 ? rank + 1 : 0;
            return;
        }
    }
}

/* Returns "a.shard-2-of-7.db" for "a.db". */
static const char *shard_file(struct run *run, const char *file) {
    const char *slash = strrchr(file, '/'), *dot = strrchr(file, '.');
    if (!dot || (slash && dot < slash) || dot == file)
        dot = file + strlen(file);
    return tsim_arena_printf(run->arena, "%.*s.shard-%lld-of-%lld%s", (int)(dot - file), file,
                             (long long)run->shard_number, (long long)run->sweep.n_shards, dot);
}

/* A database that is named together with --shard is that shard's own. */
static void choose_share(struct run *run) {
    const struct tsim_arguments *arguments = run->arguments;
    run->sweep.n_shards = 1;
    run->file = tsim_db_file(arguments);
    if (arguments->has[TSIM_OPTION_SHARD]) {
        run->sweep.shard = arguments->shard;
        run->sweep.n_shards = arguments->n_shards;
        run->shard_number = arguments->n_shards > 1 ? arguments->shard + 1 : 0;
    } else {
        take_environment(run);
    }
    bool is_own = arguments->has[TSIM_OPTION_SHARD] && arguments->has[TSIM_OPTION_DB];
    if (run->shard_number > 0 && !is_own)
        run->file = shard_file(run, run->file);
    if (arguments->has[TSIM_OPTION_NO_DB] || strcmp(run->file, ":memory:") == 0)
        run->file = NULL;
}

/* ---- progress ---- */

static void print_time_left(double seconds) {
    long long s = (long long)(seconds + 0.5);
    if (s >= 3600)
        fprintf(stderr, "%lld h %02lld min left", s / 3600, s / 60 % 60);
    else if (s >= 60)
        fprintf(stderr, "%lld min %02lld s left", s / 60, s % 60);
    else
        fprintf(stderr, "%lld s left", s);
}

/* Updates the rate over the last few seconds, because points from the database pass faster than computed ones. */
static double update_rate(struct run *run, const struct tsim_sweep_progress *progress) {
    const double window_s = 3.0;
    double passed_s = progress->elapsed_s - run->shown_s;
    if (passed_s <= 0)
        return run->per_s;
    double now_per_s = (double)(progress->n_done - run->shown_done) / passed_s;
    double weight = run->shown_s > 0 ? 1 - exp(-passed_s / window_s) : 1;
    run->per_s += weight * (now_per_s - run->per_s);
    run->shown_s = progress->elapsed_s;
    run->shown_done = progress->n_done;
    return run->per_s;
}

static void show_progress(void *context, const struct tsim_sweep_progress *progress) {
    enum { BAR_COLUMNS = 24 };
    struct run *run = context;
    char bar[3 * BAR_COLUMNS + 1];
    if (!run->has_bar || progress->n_points == 0)
        return;
    double done_frac = (double)progress->n_done / (double)progress->n_points;
    double per_s = update_rate(run, progress);
    tsim_bar(done_frac, BAR_COLUMNS, bar, sizeof bar);
    fputs("\r[", stderr);
    tsim_text_pad(stderr, bar, BAR_COLUMNS);
    fprintf(stderr, "] %lld/%lld  %.0f/s  ", (long long)progress->n_done, (long long)progress->n_points, per_s);
    if (per_s > 0)
        print_time_left((double)(progress->n_points - progress->n_done) / per_s);
    fputs("\033[K", stderr);
    fflush(stderr);
}

static void end_progress(const struct run *run) {
    if (run->has_bar)
        fputs("\r\033[K", stderr);
}

/* ---- the command ---- */

static enum tsim_status read_sweep(struct run *run) {
    const struct tsim_arguments *arguments = run->arguments;
    const struct tsim_section_words words = {
        .space = {arguments->vary, arguments->n_vary, arguments->zip, arguments->n_zip},
        .objective = arguments->value[TSIM_OPTION_OBJECTIVE],
        .where = arguments->value[TSIM_OPTION_WHERE],
        .overrides = arguments->overrides,
        .n_overrides = arguments->n_overrides,
    };
    TSIM_TRY(tsim_scenario_open(run->arena, arguments->operands[0], &run->source, run->diags));
    TSIM_TRY(tsim_section_read(run->arena, &run->source, &words, &run->section, run->diags));
    const struct tsim_value *name = tsim_value_find(run->source.root, "name");
    run->output = (struct tsim_sweep_output){
        .scenario = name && name->kind == TSIM_VALUE_SCALAR ? name->text : "",
        .space = &run->section.space,
        .filter = run->section.filter,
        .ranking = run->section.ranking,
    };
    run->sweep.source = &run->source;
    run->sweep.space = &run->section.space;
    run->sweep.overrides =
        tsim_overrides_of_points(run->arena, arguments->overrides, arguments->n_overrides, &run->sweep.n_overrides);
    run->sweep.ignore_memory = arguments->has[TSIM_OPTION_IGNORE_MEMORY];
    run->sweep.started_at = tsim_timestamp(run->arena);
    choose_share(run);
    struct tsim_sweep_traits traits;
    TSIM_TRY(tsim_sweep_traits(run->arena, &run->sweep, &traits, run->diags));
    run->output.is_of_samples = traits.is_of_samples;
    tsim_ranking_suit(&run->output.ranking, traits.has_rounds);
    return tsim_sweep_check(run->arena, &run->sweep, run->diags);
}

static enum tsim_status compute(struct run *run) {
    const struct tsim_arguments *arguments = run->arguments;
    const char *term = getenv("TERM");
    run->has_bar = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 && !arguments->has[TSIM_OPTION_QUIET] &&
                   !arguments->answer;
    TSIM_TRY(tsim_store_open(run->arena, run->file ? run->file : "", TSIM_STORE_WRITE, &run->store, run->diags));
    TSIM_TRY(tsim_sweep_register(run->arena, &run->sweep, run->store, &run->sweep_id, run->diags));
    enum tsim_status status = tsim_sweep_run(&run->sweep, run->store, run->file, run->sweep_id, tsim_n_jobs(arguments),
                                             show_progress, run, &run->progress, run->diags);
    end_progress(run);
    return status;
}

static enum tsim_status write_json(void *context, FILE *out) {
    struct run *run = context;
    return tsim_sweep_write_json(&run->output, out, run->diags);
}

static enum tsim_exit write_results(struct run *run) {
    const struct tsim_arguments *arguments = run->arguments;
    enum tsim_status status = tsim_point_reader_open(run->arena, run->store, run->sweep_id, run->sweep.shard,
                                                     run->sweep.n_shards, &run->output.reader, run->diags);
    if (status == TSIM_OK && arguments->has[TSIM_OPTION_CSV]) {
        status = tsim_sweep_print_csv(&run->output, stdout, run->diags);
    } else if (status == TSIM_OK && !tsim_is_json_on_stdout(arguments)) {
        struct tsim_style style = tsim_style_of(stdout);
        status = tsim_sweep_print(&run->output, &style, stdout, run->diags);
    }
    enum tsim_exit code = tsim_exit_of(status);
    if (status == TSIM_OK && arguments->has[TSIM_OPTION_JSON]) {
        tsim_point_reader_rewind(run->output.reader);
        code = tsim_write_json_parts(arguments, write_json, run);
    }
    tsim_point_reader_close(run->output.reader);
    if (status == TSIM_OK && arguments->has[TSIM_OPTION_REPORT])
        code = tsim_exit_worse(code, tsim_write_sweep_page(run->arena, arguments, run->store, run->sweep_id));
    return code;
}

static void say_what_was_done(const struct run *run) {
    const struct tsim_sweep_progress *progress = &run->progress;
    if (progress->is_interrupted && progress->n_done < progress->n_points)
        fprintf(tsim_messages(), "tsim sweep: interrupted; %lld of %lld points are %s\n", (long long)progress->n_kept,
                (long long)progress->n_points,
                run->file ? "kept: run the same command to go on" : "done, and lost without a database");
    else if (run->shard_number > 0 && !run->arguments->has[TSIM_OPTION_QUIET])
        fprintf(tsim_messages(), "tsim sweep: shard %lld of %lld: %lld points in %s\n", (long long)run->shard_number,
                (long long)run->sweep.n_shards, (long long)progress->n_points, run->file ? run->file : "no database");
}

static enum tsim_exit finish(struct run *run) {
    const struct tsim_sweep_progress *progress = &run->progress;
    say_what_was_done(run);
    if (progress->is_interrupted && progress->n_done < progress->n_points)
        return TSIM_EXIT_INTERRUPTED;
    enum tsim_exit code = write_results(run);
    code = tsim_exit_worse(code, tsim_flush_results());
    if (code == TSIM_EXIT_OK && progress->n_points > 0 && progress->n_invalid == progress->n_points) {
        fprintf(tsim_messages(), "tsim sweep: every point is invalid\n");
        code = TSIM_EXIT_INVALID;
    }
    return code;
}

enum tsim_exit tsim_cmd_sweep(const struct tsim_arguments *arguments) {
    struct run run = {.arguments = arguments, .arena = arguments->arena, .diags = arguments->diags};
    enum tsim_status status = read_sweep(&run);
    if (status == TSIM_OK)
        status = compute(&run);
    enum tsim_exit code = status == TSIM_OK ? finish(&run) : tsim_exit_of(status);
    tsim_report_diags(arguments, run.diags);
    tsim_store_close(run.store);
    return code;
}
