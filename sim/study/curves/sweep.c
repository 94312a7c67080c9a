#include "study/curves/sweep.h"

#include "base/stop.h"
#include "base/version.h"
#include "model/model.h"
#include "results/format.h"
#include "run/run.h"
#include "study/interrupt.h"
#include "study/judge/uncertainty.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 1024, QUEUE_POINTS = 256, BATCH_POINTS = 2000, MOST_CHECKED = 250 };
#define BATCH_S 0.1                /* a transaction is open no longer... */
#define BATCH_OF_ELAPSED_FRAC 0.05 /* ...nor than this part of what the sweep has run, which is what a kill costs */
#define LAST_POINTS_S 8.0          /* a judgement: how long one waits for points that an interrupt finds under way */
#define GRACE_S 1.0                /* a sweep that is complete so soon after an interrupt is not stopped */
#define REOPEN_BYTES (8 * 1000 * 1000) /* mistakes leave their lines in a source's arena: then it is read anew */

/* ---- one point ---- */

/* A worker (or whoever computes points one after the other) uses these again and again. */
struct bench {
    const struct tsim_sweep *sweep;
    struct tsim_scenario_source source;
    struct tsim_arena arena; /* of one point */
    struct tsim_diags diags; /* of one point */
    const struct tsim_space_setting **settings;
    struct tsim_override *overrides;
    const struct tsim_evidence *evidence; /* what intervals are made from; NULL: nothing is simulated */
};

static size_t overrides_of(const struct bench *bench, int64_t position) {
    const struct tsim_sweep *sweep = bench->sweep;
    size_t n = sweep->n_overrides;
    for (size_t i = 0; i < n; i++)
        bench->overrides[i] = sweep->overrides[i];
    size_t n_settings = tsim_space_settings(sweep->space, position, bench->settings);
    for (size_t i = 0; i < n_settings; i++)
        bench->overrides[n++] = (struct tsim_override){bench->settings[i]->path, bench->settings[i]->text};
    return n;
}

/* Sets the reason to "FIELD: message (hint)" of the first error, on one line. */
static void set_reason(struct tsim_point *point, const struct tsim_diags *diags) {
    size_t i = 0;
    while (i < diags->n_items && diags->items[i].is_warning)
        i++;
    TSIM_ASSERT(i < diags->n_items);
    const struct tsim_diag *diag = &diags->items[i];
    snprintf(point->reason, sizeof point->reason, "%.100s%s%.240s%s%.100s%s", diag->field, diag->field[0] ? ": " : "",
             diag->message, diag->hint[0] ? " (" : "", diag->hint, diag->hint[0] ? ")" : "");
}

/* Sets the reason of a point that does not fit, with the first of the changes that would make it fit. */
static void set_memory_reason(struct tsim_point *point, const struct tsim_result *result) {
    char needed[32], capacity[32], changed[32];
    int n = snprintf(point->reason, sizeof point->reason, "needs %s of %s",
                     tsim_gigabytes_text(result->step.memory.peak_bytes, needed, sizeof needed),
                     tsim_gigabytes_text(result->step.memory.capacity_bytes, capacity, sizeof capacity));
    if (result->step.n_fit_changes > 0 && n > 0 && (size_t)n < sizeof point->reason)
        snprintf(point->reason + n, sizeof point->reason - (size_t)n, "; --set %s fits (%s)",
                 result->step.fit_changes[0].setting,
                 tsim_gigabytes_text(result->step.fit_changes[0].peak_bytes, changed, sizeof changed));
}

/* Makes a seed from the leading digits of the key, in the range of a --seed. */
static int64_t seed_of(const struct tsim_hash *hash) {
    return (int64_t)(hash->high & INT64_MAX);
}

static void set_key(struct tsim_point *point, const struct tsim_sweep *sweep, const char *kind, const char *text) {
    struct tsim_hash hash;
    tsim_hash_init(&hash);
    tsim_hash_add(&hash, kind);
    tsim_hash_add(&hash, TSIM_VERSION);
    tsim_hash_add(&hash, sweep->ignore_memory ? "ignore-memory" : "");
    tsim_hash_add(&hash, text);
    tsim_hash_text(&hash, point->key);
    point->seed = seed_of(&hash);
}

/* Copies the first error of a list to another one that outlives it. */
static void copy_error(const struct tsim_diags *from, struct tsim_diags *to) {
    for (size_t i = 0; i < from->n_items; i++) {
        const struct tsim_diag *diag = &from->items[i];
        if (diag->is_warning)
            continue;
        const char *file = diag->at.file ? diag->at.file : "";
        tsim_diag_hint(tsim_diags_error(to, diag->status, (struct tsim_place){0}, diag->field, "%.120s%s%s", file,
                                        file[0] ? ": " : "", diag->message),
                       "%s", diag->hint);
        return;
    }
}

/* Reads the point's scenario; *scenario is NULL for an invalid point. An unreadable file is a failure of the sweep. */
static enum tsim_status load_point(struct bench *bench, struct tsim_point *point,
                                   const struct tsim_scenario **scenario) {
    size_t n_overrides = overrides_of(bench, point->position);
    *scenario = NULL;
    enum tsim_status status =
        tsim_scenario_load_from(&bench->arena, &bench->source, bench->overrides, n_overrides, scenario, &bench->diags);
    if (status == TSIM_ERR_IO)
        return status;
    tsim_outcome_clear(&point->outcome);
    point->reason[0] = '\0';
    if (status == TSIM_OK) {
        set_key(point, bench->sweep, "point", tsim_scenario_json(&bench->arena, *scenario));
        return TSIM_OK;
    }
    point->status = TSIM_POINT_INVALID;
    set_reason(point, &bench->diags);
    const char *text = tsim_value_json(&bench->arena, tsim_value_without(&bench->arena, bench->source.root, "sweep"));
    for (size_t i = 0; i < n_overrides; i++)
        text = tsim_arena_printf(&bench->arena, "%s %s=%s", text, bench->overrides[i].path, bench->overrides[i].value);
    set_key(point, bench->sweep, "invalid", text);
    return TSIM_OK;
}

/* Returns whether it went to its end. */
static bool simulate_point(struct bench *bench, const struct tsim_scenario *scenario, struct tsim_point *point) {
    const struct tsim_run_options options = {.ignore_memory = bench->sweep->ignore_memory};
    struct tsim_scenario seeded = *scenario;
    struct tsim_prediction prediction = {0};
    const struct tsim_result *result = &prediction.result;
    seeded.simulation.seed = point->seed;
    enum tsim_status status = tsim_train_run(&bench->arena, &seeded, &options, &prediction.result, &bench->diags);
    if (status == TSIM_ERR_STOPPED)
        return false;
    if (status != TSIM_OK) {
        point->status = status == TSIM_ERR_INFEASIBLE ? TSIM_POINT_INVALID : TSIM_POINT_FAILED;
        set_reason(point, &bench->diags);
        return true;
    }
    point->status = result->step.fits ? TSIM_POINT_OK : TSIM_POINT_DOES_NOT_FIT;
    if (!result->step.fits)
        set_memory_reason(point, result);
    tsim_uncertainty_set(&bench->arena, bench->evidence, &prediction);
    tsim_outcome_of(&prediction, &point->outcome);
    return true;
}

static void bench_clear(struct bench *bench) {
    tsim_arena_reset(&bench->arena);
    tsim_diags_release(&bench->diags);
    tsim_diags_init(&bench->diags);
}

static void bench_init(struct bench *bench, struct tsim_arena *arena, const struct tsim_sweep *sweep,
                       const struct tsim_evidence *evidence) {
    *bench = (struct bench){.sweep = sweep, .evidence = evidence};
    tsim_arena_init(&bench->arena);
    tsim_diags_init(&bench->diags);
    bench->settings = TSIM_NEW_ARRAY(arena, sweep->space->most_settings, const struct tsim_space_setting *);
    bench->overrides = TSIM_NEW_ARRAY(arena, sweep->n_overrides + sweep->space->most_settings, struct tsim_override);
}

static void bench_release(struct bench *bench) {
    tsim_diags_release(&bench->diags);
    tsim_arena_release(&bench->arena);
}

enum tsim_status tsim_sweep_point(const struct tsim_sweep *sweep, int64_t position, struct tsim_point_finder *finder,
                                  struct tsim_point *point, struct tsim_diags *diags) {
    struct tsim_arena arena;
    struct bench bench;
    struct tsim_evidence evidence;
    const struct tsim_scenario *scenario;
    enum tsim_found found = TSIM_FOUND_NOT;
    tsim_arena_init(&arena);
    bench_init(&bench, &arena, sweep, &evidence);
    bench.source = *sweep->source;
    point->position = position;
    enum tsim_status status = tsim_evidence_read(&arena, &evidence, &bench.diags);
    if (status == TSIM_OK)
        status = load_point(&bench, point, &scenario);
    if (status == TSIM_OK && finder)
        status = tsim_point_finder_find(finder, point, &found, &bench.diags);
    if (status != TSIM_OK)
        copy_error(&bench.diags, diags);
    else if (found == TSIM_FOUND_NOT && scenario)
        simulate_point(&bench, scenario, point);
    bench_release(&bench);
    tsim_arena_release(&arena);
    return status;
}

/* ---- mistakes in values ---- */

/* Returns whether the diagnostic is about a value that is wrong whatever the others are. */
static bool is_mistake(const struct tsim_diag *diag) {
    return !diag->is_warning && (diag->status == TSIM_ERR_SYNTAX || diag->status == TSIM_ERR_SCHEMA ||
                                 diag->status == TSIM_ERR_UNIT || diag->status == TSIM_ERR_REFERENCE);
}

static bool has_said(const struct tsim_diags *diags, const struct tsim_diag *diag) {
    for (size_t i = 0; i < diags->n_items; i++)
        if (strcmp(diags->items[i].message, diag->message) == 0 && strcmp(diags->items[i].field, diag->field) == 0)
            return true;
    return false;
}

/* Returns the position of the first point that has choice `c` of axis `a`. */
static int64_t position_of(const struct tsim_space *space, size_t a, size_t c) {
    int64_t n_below = 1;
    for (size_t i = space->n_axes - 1; i > a; i--)
        n_below *= (int64_t)space->axes[i].n_choices;
    return (int64_t)c * n_below;
}

/* Returns the setting of a point that sets `path`, or NULL if only a --set of the whole sweep does. */
static const struct tsim_space_setting *setting_of(const struct bench *bench, int64_t position, const char *path) {
    size_t n = tsim_space_settings(bench->sweep->space, position, bench->settings);
    for (size_t i = 0; i < n; i++)
        if (strcmp(bench->settings[i]->path, path) == 0)
            return bench->settings[i];
    return NULL;
}

/* A point's values are read as a --set that nobody wrote. Their place is in the file that has the axis, or on the
 * command line, as "PATH=VALUE". */
static struct tsim_diag *keep_mistake(struct tsim_arena *arena, const struct bench *bench, int64_t position,
                                      const struct tsim_diag *diag, struct tsim_diags *diags) {
    const struct tsim_space_setting *setting = diag->set_path ? setting_of(bench, position, diag->set_path) : NULL;
    struct tsim_place at = diag->at;
    if (setting && setting->at && !setting->at->document->is_override)
        return tsim_value_error(diags, diag->status, setting->at, diag->field, "%s", diag->message);
    if (setting)
        at.file = tsim_arena_printf(arena, "%.100s=%.100s", setting->path, setting->text);
    else if (at.file)
        at.file = tsim_arena_strdup(arena, at.file);
    return tsim_diags_error(diags, diag->status, at, diag->field, "%s", diag->message);
}

static void keep_mistakes(struct tsim_arena *arena, const struct bench *bench, int64_t position,
                          struct tsim_diags *diags) {
    for (size_t i = 0; i < bench->diags.n_items; i++) {
        const struct tsim_diag *diag = &bench->diags.items[i];
        if (is_mistake(diag) && !has_said(diags, diag))
            tsim_diag_hint(keep_mistake(arena, bench, position, diag, diags), "%s", diag->hint);
    }
}

enum tsim_status tsim_sweep_check(struct tsim_arena *arena, const struct tsim_sweep *sweep, struct tsim_diags *diags) {
    struct bench bench;
    size_t n_errors = diags->n_errors;
    enum tsim_status status = TSIM_OK;
    bench_init(&bench, arena, sweep, NULL);
    bench.source = *sweep->source;
    for (size_t a = 0; a < sweep->space->n_axes; a++)
        for (size_t c = a > 0; c < sweep->space->axes[a].n_choices && c < MOST_CHECKED; c++) {
            struct tsim_point point = {.position = position_of(sweep->space, a, c)};
            const struct tsim_scenario *scenario;
            if (load_point(&bench, &point, &scenario) != TSIM_OK)
                copy_error(&bench.diags, diags);
            keep_mistakes(arena, &bench, point.position, diags);
            bench_clear(&bench);
        }
    for (size_t i = 0; diags->n_errors > n_errors && i < diags->n_items && status == TSIM_OK; i++)
        status = diags->items[i].is_warning ? TSIM_OK : diags->items[i].status; /* a scenario may have warnings */
    bench_release(&bench);
    return status;
}

/* ---- the sweep's row ---- */

static const char *spec_json(struct tsim_arena *arena, const struct tsim_sweep *sweep) {
    const char *text = "{\"set\": [";
    for (size_t i = 0; i < sweep->n_overrides; i++)
        text = tsim_arena_printf(arena, "%s%s{%s: %s}", text, i ? ", " : "",
                                 tsim_text_json(arena, sweep->overrides[i].path),
                                 tsim_text_json(arena, sweep->overrides[i].value));
    return tsim_arena_printf(arena, "%s], \"ignore_memory\": %s, \"axes\": %s}", text,
                             sweep->ignore_memory ? "true" : "false", sweep->space->json);
}

enum tsim_status tsim_sweep_register(struct tsim_arena *arena, const struct tsim_sweep *sweep, struct tsim_store *store,
                                     int64_t *sweep_id, struct tsim_diags *diags) {
    const struct tsim_value *root = sweep->source->root, *name = tsim_value_find(root, "name");
    struct tsim_hash hash;
    char key[TSIM_HASH_TEXT_SIZE];
    const struct tsim_sweep_row row = {
        .key = key,
        .scenario = name && name->kind == TSIM_VALUE_SCALAR ? name->text : "",
        .spec_json = spec_json(arena, sweep),
        .version = TSIM_VERSION,
        .started_at = sweep->started_at,
        .n_points = sweep->space->n_points,
    };
    tsim_hash_init(&hash);
    tsim_hash_add(&hash, "sweep");
    tsim_hash_add(&hash, TSIM_VERSION);
    tsim_hash_add(&hash, tsim_value_json(arena, tsim_value_without(arena, root, "sweep")));
    tsim_hash_add(&hash, row.spec_json);
    tsim_hash_text(&hash, key);
    return tsim_store_add_sweep(store, &row, sweep_id, diags);
}

/* ---- threads ---- */

struct finished {
    struct tsim_point point;
    bool is_stored; /* the database has it at this position */
    bool is_found;  /* not computed now */
};

struct job {
    const struct tsim_sweep *sweep;
    const char *file;
    int64_t sweep_id;
    struct tsim_evidence evidence;
    pthread_mutex_t mutex; /* guards all that follows */
    pthread_cond_t has_points, has_room;
    int64_t n_mine, first, n_taken; /* of this shard's positions; the first one taken; how many are */
    bool is_stopped;                /* no thread begins another point... */
    double ends_s;                  /* ...and by this time, of a steady clock, those under way end */
    int32_t n_working;
    struct finished queue[QUEUE_POINTS]; /* a ring: n_queued from first_queued on */
    size_t first_queued, n_queued;
    enum tsim_status error;  /* the first failure of a thread... */
    struct tsim_diags diags; /* ...and what it says */
};

static double now_s(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns whether a point that is under way shall end, whose thread asks. */
static bool ends_point(void *context) {
    struct job *job = context;
    pthread_mutex_lock(&job->mutex);
    bool ends = job->is_stopped && now_s(CLOCK_MONOTONIC) > job->ends_s;
    pthread_mutex_unlock(&job->mutex);
    return ends;
}

/* Begins with what the database lacks and ends with what it has, whose keys are only compared: however often a sweep is
 * interrupted, each time goes on where the last one ended. */
static bool take_position(struct job *job, int64_t *position) {
    pthread_mutex_lock(&job->mutex);
    bool is_there = !job->is_stopped && job->n_taken < job->n_mine;
    if (is_there)
        *position = job->sweep->shard + (job->first + job->n_taken++) % job->n_mine * job->sweep->n_shards;
    pthread_mutex_unlock(&job->mutex);
    return is_there;
}

static void hand_over(struct job *job, const struct finished *finished) {
    pthread_mutex_lock(&job->mutex);
    while (job->n_queued == QUEUE_POINTS)
        pthread_cond_wait(&job->has_room, &job->mutex);
    job->queue[(job->first_queued + job->n_queued++) % QUEUE_POINTS] = *finished;
    pthread_cond_signal(&job->has_points);
    pthread_mutex_unlock(&job->mutex);
}

struct worker {
    struct job *job;
    struct bench bench;
    struct tsim_arena source_arena;
    size_t source_bytes; /* in it when the source had been read */
    struct tsim_store *store;
    struct tsim_point_finder *finder; /* NULL: a temporary database */
};

static enum tsim_status open_source(struct worker *worker) {
    tsim_arena_reset(&worker->source_arena);
    TSIM_TRY(tsim_scenario_reopen(&worker->source_arena, worker->job->sweep->source, &worker->bench.source,
                                  &worker->bench.diags));
    worker->source_bytes = worker->source_arena.used_bytes;
    return TSIM_OK;
}

static enum tsim_status compute(struct worker *worker, int64_t position) {
    struct bench *bench = &worker->bench;
    struct finished finished = {.point = {.position = position}};
    const struct tsim_scenario *scenario;
    enum tsim_found found = TSIM_FOUND_NOT;
    if (worker->source_arena.used_bytes > worker->source_bytes + REOPEN_BYTES)
        TSIM_TRY(open_source(worker));
    TSIM_TRY(load_point(bench, &finished.point, &scenario));
    if (worker->finder)
        TSIM_TRY(tsim_point_finder_find(worker->finder, &finished.point, &found, &bench->diags));
    finished.is_stored = found == TSIM_FOUND_HERE;
    finished.is_found = found != TSIM_FOUND_NOT;
    if (finished.is_found || !scenario || simulate_point(bench, scenario, &finished.point))
        hand_over(worker->job, &finished);
    bench_clear(bench);
    return TSIM_OK;
}

static enum tsim_status compute_all(struct worker *worker, struct tsim_arena *arena) {
    struct job *job = worker->job;
    struct tsim_diags *diags = &worker->bench.diags;
    int64_t position;
    TSIM_TRY(open_source(worker));
    if (job->file) {
        TSIM_TRY(tsim_store_open(arena, job->file, TSIM_STORE_READ, &worker->store, diags));
        TSIM_TRY(tsim_point_finder_open(arena, worker->store, job->sweep_id, &worker->finder, diags));
    }
    while (take_position(job, &position))
        TSIM_TRY(compute(worker, position));
    return TSIM_OK;
}

static void finish_work(struct worker *worker, enum tsim_status status) {
    struct job *job = worker->job;
    pthread_mutex_lock(&job->mutex);
    if (status != TSIM_OK && job->error == TSIM_OK) {
        job->error = status;
        copy_error(&worker->bench.diags, &job->diags);
    }
    job->is_stopped |= status != TSIM_OK; /* ends_s is 0: others end at once */
    job->n_working--;
    pthread_cond_signal(&job->has_points);
    pthread_mutex_unlock(&job->mutex);
}

static void *work(void *argument) {
    struct worker worker = {.job = argument};
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    tsim_arena_init(&worker.source_arena);
    bench_init(&worker.bench, &arena, worker.job->sweep, &worker.job->evidence);
    tsim_stop_set(ends_point, worker.job);
    finish_work(&worker, compute_all(&worker, &arena));
    tsim_point_finder_close(worker.finder);
    tsim_store_close(worker.store);
    bench_release(&worker.bench);
    tsim_arena_release(&worker.source_arena);
    tsim_arena_release(&arena);
    return NULL;
}

/* ---- the calling thread: writes, reports, watches for interrupts ---- */

struct keeper {
    struct job *job;
    struct tsim_arena arena; /* of one point's text */
    struct tsim_point_writer *writer;
    struct tsim_sweep_progress *progress;
    tsim_sweep_report_fn report;
    void *context;
    int64_t n_in_batch, n_found_in_batch, n_invalid_in_batch;
    double started_s, committed_s, interrupted_s;
};

/* Takes a finished point; returns false if none has come for that long (below a second), or (*is_over) none will
 * come. */
static bool take_finished(struct job *job, double patience_s, struct finished *finished, bool *is_over) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(patience_s * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&job->mutex);
    int code = 0;
    while (job->n_queued == 0 && job->n_working > 0 && code == 0)
        code = pthread_cond_timedwait(&job->has_points, &job->mutex, &until);
    bool is_there = job->n_queued > 0;
    *is_over = !is_there && job->n_working == 0;
    if (is_there) {
        *finished = job->queue[job->first_queued];
        job->first_queued = (job->first_queued + 1) % QUEUE_POINTS;
        job->n_queued--;
        pthread_cond_signal(&job->has_room);
    }
    pthread_mutex_unlock(&job->mutex);
    return is_there;
}

static enum tsim_status keep(struct keeper *keeper, const struct finished *finished, struct tsim_diags *diags) {
    keeper->n_in_batch++;
    keeper->n_found_in_batch += finished->is_found;
    keeper->n_invalid_in_batch += finished->point.status == TSIM_POINT_INVALID;
    if (finished->is_stored)
        return TSIM_OK;
    const char *set_json = tsim_space_set_json(&keeper->arena, keeper->job->sweep->space, finished->point.position);
    enum tsim_status status = tsim_point_writer_add(keeper->writer, &finished->point, set_json, diags);
    tsim_arena_reset(&keeper->arena);
    return status;
}

static enum tsim_status commit(struct keeper *keeper, struct tsim_diags *diags) {
    struct tsim_sweep_progress *progress = keeper->progress;
    TSIM_TRY(tsim_point_writer_commit(keeper->writer, diags));
    keeper->committed_s = now_s(CLOCK_MONOTONIC);
    progress->n_done += keeper->n_in_batch;
    progress->n_found += keeper->n_found_in_batch;
    progress->n_invalid += keeper->n_invalid_in_batch;
    progress->elapsed_s = keeper->committed_s - keeper->started_s;
    progress->n_kept = keeper->job->first + progress->n_done;
    if (progress->n_kept > progress->n_points)
        progress->n_kept = progress->n_points;
    keeper->n_in_batch = keeper->n_found_in_batch = keeper->n_invalid_in_batch = 0;
    if (keeper->report)
        keeper->report(keeper->context, progress);
    return TSIM_OK;
}

/* Work under way has some time to come to its end and be kept. */
static void stop(struct job *job) {
    pthread_mutex_lock(&job->mutex);
    if (!job->is_stopped)
        job->ends_s = now_s(CLOCK_MONOTONIC) + LAST_POINTS_S;
    job->is_stopped = true;
    pthread_mutex_unlock(&job->mutex);
}

/* Returns how long it is until what waits in the batch is committed: often at first, so that a short run keeps what it
 * computed, and seldom later, for each commit writes whole pages. */
static double batch_left_s(const struct keeper *keeper) {
    double now = now_s(CLOCK_MONOTONIC), most_s = BATCH_OF_ELAPSED_FRAC * (now - keeper->started_s);
    double left_s = keeper->committed_s + (most_s < BATCH_S && keeper->n_in_batch > 0 ? most_s : BATCH_S) - now;
    return keeper->n_in_batch < BATCH_POINTS && left_s > 0 ? left_s : 0;
}

/* Heeds an interrupt. When every point is kept already, only keys are compared and the table is soon complete: a sweep
 * that is interrupted again and again comes to its end. */
static void heed_interrupt(struct keeper *keeper) {
    struct tsim_sweep_progress *progress = keeper->progress;
    if (!progress->is_interrupted && tsim_is_interrupted()) {
        progress->is_interrupted = true;
        keeper->interrupted_s = keeper->committed_s;
    }
    bool is_soon_over = progress->n_kept == progress->n_points && keeper->committed_s - keeper->interrupted_s < GRACE_S;
    if (progress->is_interrupted && !is_soon_over)
        stop(keeper->job);
}

static enum tsim_status keep_all(struct keeper *keeper, struct tsim_diags *diags) {
    struct finished finished;
    for (bool is_over = false; !is_over;) {
        if (take_finished(keeper->job, batch_left_s(keeper), &finished, &is_over))
            TSIM_TRY(keep(keeper, &finished, diags));
        if (batch_left_s(keeper) > 0)
            continue;
        TSIM_TRY(commit(keeper, diags));
        heed_interrupt(keeper);
    }
    return commit(keeper, diags);
}

/* Drains the queue after a failure, because threads may wait for room. */
static void drain(struct job *job) {
    struct finished finished;
    bool is_over = false;
    stop(job);
    while (!is_over)
        take_finished(job, BATCH_S, &finished, &is_over);
}

static enum tsim_status start_threads(struct job *job, pthread_t *threads, int32_t n_threads, int32_t *n_started,
                                      struct tsim_diags *diags) {
    for (*n_started = 0; *n_started < n_threads; ++*n_started) {
        pthread_mutex_lock(&job->mutex);
        job->n_working++;
        pthread_mutex_unlock(&job->mutex);
        if (pthread_create(&threads[*n_started], NULL, work, job) == 0)
            continue;
        pthread_mutex_lock(&job->mutex);
        job->n_working--;
        pthread_mutex_unlock(&job->mutex);
        break;
    }
    if (*n_started > 0)
        return TSIM_OK;
    tsim_diags_error(diags, TSIM_ERR_IO, (struct tsim_place){0}, NULL, "the system starts no thread");
    return TSIM_ERR_IO;
}

static enum tsim_status run_threads(struct job *job, struct keeper *keeper, int32_t n_threads,
                                    struct tsim_diags *diags) {
    pthread_t threads[MOST_THREADS];
    int32_t n_started;
    sigset_t before;
    tsim_interrupts_block(&before);
    enum tsim_status status = start_threads(job, threads, n_threads, &n_started, diags);
    if (status == TSIM_OK)
        status = keep_all(keeper, diags);
    if (status != TSIM_OK)
        drain(job);
    for (int32_t i = 0; i < n_started; i++)
        pthread_join(threads[i], NULL);
    if (!keeper->progress->is_interrupted)
        tsim_interrupts_restore(&before);
    if (status == TSIM_OK && job->error != TSIM_OK) {
        status = job->error;
        copy_error(&job->diags, diags);
    }
    return status;
}

static int64_t n_points_of(const struct tsim_sweep *sweep) {
    int64_t n_rest = sweep->space->n_points - sweep->shard;
    return n_rest > 0 ? (n_rest + sweep->n_shards - 1) / sweep->n_shards : 0;
}

enum tsim_status tsim_sweep_run(const struct tsim_sweep *sweep, struct tsim_store *store, const char *file,
                                int64_t sweep_id, int32_t n_threads, tsim_sweep_report_fn report, void *context,
                                struct tsim_sweep_progress *progress, struct tsim_diags *diags) {
    struct job *job = NULL;
    size_t n_jobs = 0;
    job = tsim_heap_grow(job, &n_jobs, 1, sizeof *job); /* too large for a stack */
    memset(job, 0, sizeof *job);
    job->sweep = sweep;
    job->file = file;
    job->sweep_id = sweep_id;
    job->n_mine = n_points_of(sweep);
    tsim_diags_init(&job->diags);
    pthread_mutex_init(&job->mutex, NULL);
    pthread_cond_init(&job->has_points, NULL);
    pthread_cond_init(&job->has_room, NULL);
    *progress = (struct tsim_sweep_progress){.n_points = job->n_mine};
    struct keeper keeper = {.job = job, .progress = progress, .report = report, .context = context};
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    tsim_arena_init(&keeper.arena);
    keeper.started_s = keeper.committed_s = now_s(CLOCK_MONOTONIC);
    enum tsim_status status = tsim_evidence_read(&arena, &job->evidence, diags);
    if (status == TSIM_OK)
        status = tsim_store_n_leading_points(store, sweep_id, sweep->shard, sweep->n_shards, &job->first, diags);
    if (status == TSIM_OK)
        status = tsim_point_writer_open(&arena, store, sweep_id, &keeper.writer, diags);
    if (status == TSIM_OK)
        status = run_threads(job, &keeper, n_threads < MOST_THREADS ? n_threads : MOST_THREADS, diags);
    tsim_point_writer_close(keeper.writer);
    tsim_arena_release(&keeper.arena);
    tsim_arena_release(&arena);
    pthread_cond_destroy(&job->has_room);
    pthread_cond_destroy(&job->has_points);
    pthread_mutex_destroy(&job->mutex);
    tsim_diags_release(&job->diags);
    tsim_heap_free(job);
    return status;
}

enum tsim_status tsim_sweep_traits(struct tsim_arena *arena, const struct tsim_sweep *sweep,
                                   struct tsim_sweep_traits *traits, struct tsim_diags *diags) {
    const struct tsim_diags before = *diags;
    struct tsim_scenario_source source;
    const struct tsim_scenario *scenario;
    *traits = (struct tsim_sweep_traits){false, false, "accelerator"};
    enum tsim_status status = tsim_scenario_reopen(arena, sweep->source, &source, diags);
    if (status == TSIM_OK)
        status = tsim_scenario_load_job(arena, &source, sweep->overrides, sweep->n_overrides, &scenario, diags);
    if (status == TSIM_ERR_IO)
        return status;
    if (status == TSIM_OK)
        *traits = (struct tsim_sweep_traits){tsim_model_is_of_samples(scenario->model), tsim_has_rounds(scenario),
                                             tsim_device_word(scenario->cluster.node->accelerator)};
    tsim_diags_take_back(diags, &before); /* its other mistakes are said of the points that have them */
    return TSIM_OK;
}
