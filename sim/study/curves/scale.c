#include "study/curves/scale.h"

#include <math.h>

enum { DEFAULT_DOUBLINGS = 4, MOST_DOUBLINGS = 20, N_SETTINGS = 4 };
#define MOST_ACCELERATORS 1000000

/* ---- analysis ---- */

static bool is_ok(const struct tsim_scale_row *row) {
    return row->point.status == TSIM_POINT_OK;
}

static double step_s(const struct tsim_scale_row *row) {
    return row->point.outcome.value[TSIM_OUTCOME_STEP_TIME];
}

static double samples_per_s(const struct tsim_scale_row *row) {
    return (double)row->global_batch_size / step_s(row);
}

struct cause {
    bool has;
    enum tsim_outcome_figure term;
    double excess_s, share_frac;
};

static struct cause find_cause(const struct tsim_scale_row *reference, const struct tsim_scale_row *row) {
    struct cause cause = {.has = false};
    double work = (double)row->global_batch_size / (double)row->n_accelerators;
    double r = work / ((double)reference->global_batch_size / (double)reference->n_accelerators), sum_s = 0;
    for (int i = 0; i < TSIM_N_STEP_TERMS; i++) {
        enum tsim_outcome_figure figure = tsim_step_terms[i].figure;
        double excess_s = row->point.outcome.value[figure] - r * reference->point.outcome.value[figure];
        if (!(excess_s > 0))
            continue;
        sum_s += excess_s;
        if (!cause.has || excess_s > cause.excess_s)
            cause = (struct cause){true, figure, excess_s, 0};
    }
    cause.has = cause.has && step_s(row) > r * step_s(reference);
    cause.share_frac = cause.has ? cause.excess_s / sum_s : 0;
    return cause;
}

static void set_knee(struct tsim_scale *scale, size_t knee, const struct cause *cause) {
    scale->has_knee = cause->has;
    scale->knee = knee;
    scale->knee_cause = cause->term;
    scale->knee_excess_s = cause->excess_s;
    scale->knee_share_frac = cause->share_frac;
}

static void find_limit(struct tsim_scale *scale, const struct tsim_scale_row *reference, double least_frac) {
    for (size_t i = 0; i < scale->n_rows; i++) {
        const struct tsim_scale_row *row = &scale->rows[i];
        if (!is_ok(row))
            continue;
        if (row->efficiency_frac < least_frac) {
            struct cause cause = find_cause(reference, row);
            set_knee(scale, i, &cause);
            return;
        }
        scale->has_last_above = true;
        scale->last_above = i;
    }
}

/* Slopes of ln(throughput) over ln(count); before the first row it is 1. The knee is the count at which the slope falls
 * most. */
static void find_bend(struct tsim_scale *scale) {
    const struct tsim_scale_row *before = NULL;
    double slope_before = 1, most_bend = TSIM_SCALE_LEAST_BEND;
    for (size_t i = 0; i < scale->n_rows; i++) {
        const struct tsim_scale_row *row = &scale->rows[i];
        if (!is_ok(row))
            continue;
        if (before) {
            double slope = log(samples_per_s(row) / samples_per_s(before)) /
                           log((double)row->n_accelerators / (double)before->n_accelerators);
            struct cause cause = find_cause(before, row);
            if (slope_before - slope > most_bend && cause.has) {
                most_bend = slope_before - slope;
                set_knee(scale, (size_t)(before - scale->rows), &cause);
            }
            slope_before = slope;
        }
        before = row;
    }
}

void tsim_scale_analyse(struct tsim_scale_row *rows, size_t n_rows, double until_efficiency_frac,
                        struct tsim_scale *scale) {
    const struct tsim_scale_row *reference = NULL;
    scale->rows = rows;
    scale->n_rows = n_rows;
    scale->has_knee = scale->has_last_above = false;
    for (size_t i = 0; i < n_rows; i++) {
        struct tsim_scale_row *row = &rows[i];
        row->speedup = row->efficiency_frac = (double)NAN;
        row->has_cause = false;
        if (!is_ok(row))
            continue;
        reference = reference ? reference : row;
        row->speedup = samples_per_s(row) / samples_per_s(reference);
        row->efficiency_frac = row->speedup * (double)reference->n_accelerators / (double)row->n_accelerators;
        struct cause cause = find_cause(reference, row);
        row->has_cause = row != reference && cause.has;
        row->cause = cause.term;
        row->excess_s = cause.excess_s;
        row->share_frac = cause.share_frac;
    }
    if (until_efficiency_frac > 0)
        find_limit(scale, reference, until_efficiency_frac);
    else
        find_bend(scale);
}

/* ---- running ---- */

struct study {
    struct tsim_arena *arena;
    const struct tsim_sweep *sweep;
    const struct tsim_scale_options *options;
    const struct tsim_scenario *base;
    struct tsim_scale_row *rows; /* in the arena, with their choices */
    struct tsim_choice *choices;
    size_t n_rows;
    struct tsim_diags *diags;
};

static struct tsim_space_setting integer_setting(struct tsim_arena *arena, const char *path, int64_t value) {
    const char *text = tsim_arena_printf(arena, "%lld", (long long)value);
    return (struct tsim_space_setting){path, text, text};
}

static struct tsim_diag *refuse(const struct study *study, int64_t count, const char *what) {
    return tsim_diags_error(study->diags, TSIM_ERR_INFEASIBLE, (struct tsim_place){0}, NULL, "%lld accelerators %s",
                            (long long)count, what);
}

/* Sets what a count changes in the scenario. */
static enum tsim_status fill_choice(const struct study *study, struct tsim_scale_row *row, struct tsim_choice *choice) {
    struct tsim_arena *arena = study->arena;
    struct tsim_space_setting *settings = TSIM_NEW_ARRAY(arena, N_SETTINGS, struct tsim_space_setting);
    int64_t n = row->n_accelerators, per_node = study->base->cluster.accelerators_per_node;
    int64_t batch = study->base->training.global_batch_size; /* at most 10^12: batch x n stays in 64 bits */
    if (n > MOST_ACCELERATORS) {
        refuse(study, n, "are more than a million");
        return TSIM_ERR_INFEASIBLE;
    }
    if (n > per_node && n % per_node != 0) {
        tsim_diag_hint(refuse(study, n, "are no whole number of nodes"), "a node has %lld: %lld or %lld fill nodes",
                       (long long)per_node, (long long)(n / per_node * per_node),
                       (long long)((n / per_node + 1) * per_node));
        return TSIM_ERR_INFEASIBLE;
    }
    if (study->options->is_weak && batch * n % study->base->n_accelerators != 0) {
        tsim_diag_hint(refuse(study, n, "give each replica no whole number of samples"),
                       "the scenario has %lld samples on %lld accelerators", (long long)batch,
                       (long long)study->base->n_accelerators);
        return TSIM_ERR_INFEASIBLE;
    }
    row->global_batch_size = study->options->is_weak ? batch * n / study->base->n_accelerators : batch;
    settings[0] = integer_setting(arena, "cluster.nodes", n > per_node ? n / per_node : 1);
    settings[1] = integer_setting(arena, "cluster.accelerators_per_node", n > per_node ? per_node : n);
    settings[2] = integer_setting(arena, "training.global_batch_size", row->global_batch_size);
    settings[3] = (struct tsim_space_setting){"parallelism.data", "auto", "\"auto\""};
    *choice = (struct tsim_choice){settings, N_SETTINGS};
    return TSIM_OK;
}

static enum tsim_status add_row(struct study *study, int64_t count) {
    size_t i = study->n_rows++;
    study->rows[i] = (struct tsim_scale_row){.n_accelerators = count, .best_efficiency_frac = (double)NAN};
    return fill_choice(study, &study->rows[i], &study->choices[i]);
}

/* Returns whether the curve ends with the last row, because it is below the limit, or does not run though others
 * did. */
static bool is_end(const struct study *study) {
    const struct tsim_scale_row *reference = study->rows, *last = &study->rows[study->n_rows - 1];
    while (reference < last && !is_ok(reference))
        reference++;
    if (!is_ok(last) || !is_ok(reference))
        return is_ok(reference);
    double efficiency_frac = samples_per_s(last) / samples_per_s(reference) * (double)reference->n_accelerators /
                             (double)last->n_accelerators;
    return efficiency_frac < study->options->until_efficiency_frac;
}

/* Doubles until the limit is passed; each count is tried at once, because the next depends on it. */
static enum tsim_status double_until(struct study *study, struct tsim_point_finder *finder) {
    struct tsim_sweep sweep = *study->sweep;
    int64_t count = study->base->n_accelerators;
    for (int i = 0; i <= MOST_DOUBLINGS && (i == 0 || count <= MOST_ACCELERATORS); i++, count *= 2) {
        struct tsim_space space;
        TSIM_TRY(add_row(study, count));
        tsim_space_of(study->arena, &study->choices[i], 1, &space);
        sweep.space = &space;
        TSIM_TRY(tsim_sweep_point(&sweep, 0, finder, &study->rows[i].point, study->diags));
        if (is_end(study))
            return TSIM_OK;
    }
    return TSIM_OK;
}

static enum tsim_status find_until(struct study *study, struct tsim_store *store) {
    struct tsim_point_finder *finder;
    TSIM_TRY(tsim_point_finder_open(study->arena, store, 0, &finder, study->diags));
    enum tsim_status status = double_until(study, finder);
    tsim_point_finder_close(finder);
    return status;
}

/* Returns whether counts double until a limit; otherwise all counts are known before any of them has run. */
static bool doubles_until(const struct tsim_scale_options *options) {
    return !options->counts && options->until_efficiency_frac > 0;
}

static enum tsim_status choose_counts(struct study *study, struct tsim_store *store) {
    const struct tsim_scale_options *options = study->options;
    size_t most = options->n_counts > MOST_DOUBLINGS ? options->n_counts : MOST_DOUBLINGS + 1;
    study->rows = TSIM_NEW_ARRAY(study->arena, most, struct tsim_scale_row);
    study->choices = TSIM_NEW_ARRAY(study->arena, most, struct tsim_choice);
    if (doubles_until(options))
        return find_until(study, store);
    for (size_t i = 0; options->counts && i < options->n_counts; i++)
        TSIM_TRY(add_row(study, options->counts[i]));
    int64_t count = study->base->n_accelerators;
    for (int i = 0; !options->counts && i <= DEFAULT_DOUBLINGS && (i == 0 || count <= MOST_ACCELERATORS);
         i++, count *= 2)
        TSIM_TRY(add_row(study, count));
    return TSIM_OK;
}

static enum tsim_status read_points(struct study *study, struct tsim_store *store, int64_t sweep_id) {
    struct tsim_point_reader *reader = NULL;
    enum tsim_status status = tsim_point_reader_open(study->arena, store, sweep_id, 0, 1, &reader, study->diags);
    bool is_there = true;
    for (size_t i = 0; i < study->n_rows && status == TSIM_OK; i++) {
        status = tsim_point_reader_next(reader, &study->rows[i].point, &is_there, study->diags);
        TSIM_ASSERT(status != TSIM_OK || is_there); /* the sweep is complete */
    }
    tsim_point_reader_close(reader);
    return status;
}

/* Keeps what was computed to find the counts. */
static enum tsim_status keep_points(const struct study *study, const struct tsim_space *space, struct tsim_store *store,
                                    int64_t sweep_id) {
    struct tsim_point_writer *writer;
    TSIM_TRY(tsim_point_writer_open(study->arena, store, sweep_id, &writer, study->diags));
    enum tsim_status status = TSIM_OK;
    for (size_t i = 0; i < study->n_rows && status == TSIM_OK; i++) {
        struct tsim_point point = study->rows[i].point;
        point.position = (int64_t)i;
        status = tsim_point_writer_add(writer, &point, tsim_space_set_json(study->arena, space, point.position),
                                       study->diags);
    }
    if (status == TSIM_OK)
        status = tsim_point_writer_commit(writer, study->diags);
    tsim_point_writer_close(writer);
    return status;
}

static enum tsim_status run_counts(struct study *study, struct tsim_store *store, const char *file, int64_t *sweep_id,
                                   bool *is_interrupted) {
    struct tsim_sweep sweep = *study->sweep;
    struct tsim_sweep_progress progress;
    struct tsim_space space;
    tsim_space_of(study->arena, study->choices, study->n_rows, &space);
    sweep.space = &space;
    TSIM_TRY(tsim_sweep_register(study->arena, &sweep, store, sweep_id, study->diags));
    *is_interrupted = false;
    if (doubles_until(study->options))
        return keep_points(study, &space, store, *sweep_id);
    TSIM_TRY(
        tsim_sweep_run(&sweep, store, file, *sweep_id, study->options->n_threads, NULL, NULL, &progress, study->diags));
    *is_interrupted = progress.n_done < progress.n_points;
    return *is_interrupted ? TSIM_OK : read_points(study, store, *sweep_id);
}

/* Returns the rows up to the first one below the limit. */
static size_t n_rows_until(const struct study *study) {
    struct study part = *study;
    if (study->options->until_efficiency_frac > 0)
        for (part.n_rows = 1; part.n_rows < study->n_rows; part.n_rows++)
            if (is_ok(&part.rows[part.n_rows - 1]) && is_end(&part))
                break;
    return part.n_rows;
}

/* ---- the best plan of each count ---- */

static const char *values_of(const struct study *study, size_t n_rows, size_t setting) {
    const char *text = "";
    for (size_t i = 0; i < n_rows; i++)
        text =
            tsim_arena_printf(study->arena, "%s%s%s", text, i > 0 ? "," : "", study->choices[i].settings[setting].text);
    return text;
}

static enum tsim_status read_candidates(const struct study *study, size_t n_rows, struct tsim_plan_space *candidates) {
    const char *zip =
        tsim_arena_printf(study->arena,
                          "cluster.nodes=%s;cluster.accelerators_per_node=%s;"
                          "training.global_batch_size=%s",
                          values_of(study, n_rows, 0), values_of(study, n_rows, 1), values_of(study, n_rows, 2));
    const struct tsim_space_words words = {.zip = &zip, .n_zip = 1};
    const struct tsim_sweep *sweep = study->sweep;
    struct tsim_space space;
    TSIM_TRY(tsim_space_read(study->arena, NULL, &words, &space, study->diags));
    return tsim_plan_space_read(study->arena, sweep->source, sweep->overrides, sweep->n_overrides, &space,
                                TSIM_PLAN_COARSE, candidates, study->diags);
}

static void add_best(struct study *study, const struct tsim_plan_space *space, const struct tsim_plan *plan,
                     const struct tsim_plan *first) {
    struct tsim_scale_row *row = &study->rows[plan->candidate - space->candidates];
    double samples = (double)row->global_batch_size / plan->point.outcome.value[TSIM_OUTCOME_STEP_TIME];
    const struct tsim_scale_row *first_row = &study->rows[first->candidate - space->candidates];
    double first_samples = (double)first_row->global_batch_size / first->point.outcome.value[TSIM_OUTCOME_STEP_TIME];
    row->best = plan;
    row->best_efficiency_frac =
        samples / (double)row->n_accelerators / (first_samples / (double)first_row->n_accelerators);
}

static enum tsim_status find_best(struct study *study, size_t n_rows) {
    struct tsim_plan_space *space = TSIM_NEW(study->arena, struct tsim_plan_space);
    struct tsim_plan_result *result = TSIM_NEW(study->arena, struct tsim_plan_result);
    const struct tsim_scale_options *options = study->options;
    TSIM_TRY(read_candidates(study, n_rows, space));
    const struct tsim_plan_search search = {.space = space,
                                            .ranking = {.objective = TSIM_OUTCOME_STEP_TIME},
                                            .n_threads = options->n_threads,
                                            .is_for_candidates = true};
    TSIM_TRY(tsim_plan_run(study->arena, &search, options->report, options->context, result, study->diags));
    for (size_t i = 0; i < result->n_own; i++)
        add_best(study, space, &result->own[i], &result->own[0]);
    return TSIM_OK;
}

enum tsim_status tsim_scale_run(struct tsim_arena *arena, const struct tsim_sweep *sweep,
                                const struct tsim_scale_options *options, struct tsim_store *store, const char *file,
                                struct tsim_scale *scale, struct tsim_diags *diags) {
    struct study study = {.arena = arena, .sweep = sweep, .options = options, .diags = diags};
    bool is_interrupted;
    int64_t sweep_id;
    TSIM_TRY(tsim_scenario_load_from(arena, sweep->source, sweep->overrides, sweep->n_overrides, &study.base, diags));
    TSIM_TRY(choose_counts(&study, store));
    TSIM_TRY(run_counts(&study, store, file, &sweep_id, &is_interrupted));
    *scale = (struct tsim_scale){.is_weak = options->is_weak, .is_interrupted = is_interrupted, .sweep_id = sweep_id};
    if (is_interrupted)
        return TSIM_OK;
    size_t n_rows = n_rows_until(&study);
    tsim_scale_analyse(study.rows, n_rows, options->until_efficiency_frac, scale);
    return options->is_replanned ? find_best(&study, n_rows) : TSIM_OK;
}
