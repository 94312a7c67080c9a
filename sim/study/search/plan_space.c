#include "study/search/plan_space.h"

#include "config/supports.h"
#include "model/model.h"

#include <string.h>

enum { MOST_VALUES = 512, LEAST_CONTEXT_TOKENS = 4096, MOST_MICRO_BATCH_TOKENS = 32768 };

/* ---- values that the user lists ---- */

static enum tsim_status wrong(struct tsim_diags *diags, const char *path, const char *what, const char *hint) {
    tsim_diag_hint(tsim_diags_error(diags, TSIM_ERR_SCHEMA, (struct tsim_place){0}, path, "%s", what), "%s", hint);
    return TSIM_ERR_SCHEMA;
}

static bool has_value(const struct tsim_plan_axis *axis, int64_t value) {
    for (size_t i = 0; i < axis->n; i++)
        if (axis->values[i] == value)
            return true;
    return false;
}

/* Reads values, each of them once. */
static enum tsim_status read_values(struct tsim_arena *arena, const struct tsim_space_axis *from,
                                    enum tsim_plan_key key, struct tsim_plan_axis *axis, struct tsim_diags *diags) {
    int64_t *values = TSIM_NEW_ARRAY(arena, from->n_choices, int64_t);
    size_t n = 0;
    for (size_t i = 0; i < from->n_choices; i++) {
        if (!tsim_plan_key_read(key, from->choices[i].settings[0].text, &values[n]))
            return wrong(
                diags, tsim_plan_key_path(key),
                tsim_arena_printf(arena, "a search cannot try the value '%.60s'", from->choices[i].settings[0].text),
                tsim_plan_key_has_words(key) ? "as in recompute: [none, full], schedule: [1f1b, interleaved]"
                                             : "whole numbers from 1 on (zero: 0 to 3)");
        n += !has_value(&(struct tsim_plan_axis){values, n}, values[n]);
    }
    *axis = (struct tsim_plan_axis){values, n};
    return TSIM_OK;
}

/* If an order, offloading or overlap varies with candidates, each candidate keeps its own. */
static bool keep_as_said(const char *path, struct tsim_plan_axis said[TSIM_N_PLAN_KEYS]) {
    static const int64_t AS_SAID = 0;
    static const enum tsim_plan_key THEIRS[] = {TSIM_PLAN_ORDER, TSIM_PLAN_OFFLOAD, TSIM_PLAN_OVERLAP};
    for (size_t i = 0; i < sizeof THEIRS / sizeof THEIRS[0]; i++) {
        size_t length = strlen(tsim_plan_key_path(THEIRS[i]));
        if (strncmp(path, tsim_plan_key_path(THEIRS[i]), length) != 0 || (path[length] && path[length] != '.'))
            continue;
        said[THEIRS[i]] = (struct tsim_plan_axis){&AS_SAID, 1};
        return true;
    }
    return false;
}

/* Axes over one key of the plan are its values; axes over other keys are kept; both together cannot be. */
static enum tsim_status split_axes(struct tsim_arena *arena, const struct tsim_space *axes, struct tsim_space *others,
                                   struct tsim_plan_axis said[TSIM_N_PLAN_KEYS], struct tsim_diags *diags) {
    struct tsim_space_axis *kept = TSIM_NEW_ARRAY(arena, axes->n_axes, struct tsim_space_axis);
    *others = (struct tsim_space){.axes = kept, .n_points = 1, .most_settings = axes->most_settings};
    for (size_t a = 0; a < axes->n_axes; a++) {
        const struct tsim_space_axis *axis = &axes->axes[a];
        size_t n_plan = 0, n_settings = 0;
        enum tsim_plan_key key = TSIM_N_PLAN_KEYS, other;
        for (size_t c = 0; c < axis->n_choices; c++)
            for (size_t i = 0; i < axis->choices[c].n_settings; i++, n_settings++)
                if (tsim_plan_key_find(axis->choices[c].settings[i].path, &other))
                    n_plan++, key = other;
                else if (keep_as_said(axis->choices[c].settings[i].path, said))
                    continue;
                else if (strcmp(axis->choices[c].settings[i].path, "parallelism.data") == 0)
                    return wrong(diags, "parallelism.data",
                                 "a search takes what a plan leaves of the cluster as replicas",
                                 "vary cluster.nodes, or the plan's keys: parallelism.tensor, parallelism.pipeline");
        if (n_plan > 0 && (n_plan != n_settings || n_settings != axis->n_choices))
            return wrong(diags, tsim_plan_key_path(key), "a key of the plan cannot change together with others",
                         "give the values to try as an axis");
        if (n_plan > 0) {
            TSIM_TRY(read_values(arena, axis, key, &said[key], diags));
            continue;
        }
        kept[others->n_axes++] = *axis;
        others->n_points *= (int64_t)axis->n_choices;
    }
    return TSIM_OK;
}

/* ---- values of a candidate's own ---- */

struct values {
    int64_t items[MOST_VALUES];
    size_t n;
};

static void add(struct values *values, int64_t value) {
    for (size_t i = 0; i < values->n; i++)
        if (values->items[i] == value)
            return;
    if (values->n < MOST_VALUES)
        values->items[values->n++] = value;
}

static void add_divisors(struct values *values, int64_t of, int64_t most) {
    for (int64_t d = 1; d <= of && d <= most; d++)
        if (of % d == 0)
            add(values, d);
}

static void add_powers(struct values *values, int64_t most) {
    for (int64_t i = 1; i <= most; i *= 2)
        add(values, i);
}

static void add_schedules(struct values *values, const struct tsim_scenario *job) {
    add(values, TSIM_SCHEDULE_1F1B);
    add(values, TSIM_SCHEDULE_INTERLEAVED);
    add(values, TSIM_SCHEDULE_ZB_H1);
    add(values, TSIM_SCHEDULE_ZB_V);
    if (job->model->experts.count > 0)
        add(values, TSIM_SCHEDULE_DUALPIPE);
}

/* Small samples come in larger micro-batches, because tokens keep the matrix units busy. */
static int64_t most_micro_batch(const struct tsim_scenario *job) {
    int64_t batch = job->training.global_batch_size, tokens = MOST_MICRO_BATCH_TOKENS / job->training.sequence_length;
    int64_t most = job->model->kind != TSIM_MODEL_TRANSFORMER ? batch : tokens > 16 ? tokens : 16;
    return most < batch ? most : batch;
}

/* ---- refinements ---- */

/* Some software recomputes these (Megatron-Core's modules); all of their sets are tried. */
enum {
    ANY_PARTS = TSIM_RECOMPUTE_ATTENTION | TSIM_RECOMPUTE_NORMS | TSIM_RECOMPUTE_LATENT | TSIM_RECOMPUTE_FFN |
                TSIM_RECOMPUTE_EXPERTS
};

static void add_every(struct values *values) {
    for (int64_t every = 2; every <= 8; every *= 2)
        add(values, tsim_plan_recompute_value(TSIM_RECOMPUTE_EVERY, 0, every));
}

/* Returns the parts that a layer of the model has, and that keep something of their own. Operators are alone
 * (scenario.h), and what selective recomputation is of some software. */
static unsigned parts_of(const struct tsim_scenario *job, unsigned has) {
    const struct tsim_model *m = job->model;
    unsigned parts = TSIM_RECOMPUTE_NORMS | TSIM_RECOMPUTE_OUTPUT;
    bool is_dense = m->experts.count == 0 || m->experts.first > 0 || m->experts.every > 1 || m->experts.shared > 0;
    parts |= job->training.attention == TSIM_ATTENTION_STANDARD ? TSIM_RECOMPUTE_ATTENTION : 0;
    parts |= m->latent.kv_rank > 0 ? TSIM_RECOMPUTE_LATENT : 0;
    parts |= is_dense ? TSIM_RECOMPUTE_FFN : 0;
    parts |=
        m->experts.count > 0 ? TSIM_RECOMPUTE_EXPERTS | TSIM_RECOMPUTE_ACTIVATION : 0; /* Megatron-Core's moe_act */
    return parts & has;
}

/* Adds every set of parts, except those that name activations although all their blocks are recomputed, and attention
 * alone, which is selective recomputation. */
static void add_parts(struct values *values, const struct tsim_scenario *job, unsigned has) {
    unsigned all = parts_of(job, has), blocks = all & (TSIM_RECOMPUTE_FFN | TSIM_RECOMPUTE_EXPERTS);
    for (unsigned set = all; set != 0; set = (set - 1) & all)
        if (set != TSIM_RECOMPUTE_ATTENTION &&
            (!(set & TSIM_RECOMPUTE_ACTIVATION) || !blocks || (set & blocks) != blocks))
            add(values, tsim_plan_recompute_value(TSIM_RECOMPUTE_SELECTIVE, set, 0));
}

static void add_offloads(struct values *values, const struct tsim_scenario *job) {
    const struct tsim_node *node = job->cluster.node;
    const struct tsim_offload_spec *own = &job->training.offload;
    if (own->optimizer || own->activations_frac > 0 || !(node->host_link_bytes_per_s > 0))
        return;
    for (int64_t offload = 1; offload <= 3; offload++)
        if (!(offload & TSIM_PLAN_OFFLOADS_OPTIMIZER) || node->host_memory_bytes_per_s > 0)
            add(values, offload);
}

static void add_refinements(struct values *values, const struct tsim_scenario *job, enum tsim_plan_key key,
                            bool is_any_software) {
    const struct tsim_supports *supports = &job->software->supports;
    switch (key) {
    case TSIM_PLAN_RECOMPUTE:
        if (job->model->kind == TSIM_MODEL_TRANSFORMER)
            add_parts(values, job, is_any_software ? ANY_PARTS : supports->recompute_parts);
        if (job->model->kind == TSIM_MODEL_TRANSFORMER)
            add_every(values);
        return;
    case TSIM_PLAN_EXPERT_TENSOR:
        if (job->model->experts.count == 0 || !(is_any_software || tsim_supports_value(supports, key, 1)))
            return;
        add(values, 0);
        add(values, 1);
        return;
    case TSIM_PLAN_ORDER:
        add(values, 1);
        return;
    case TSIM_PLAN_OVERLAP:
        if (is_any_software && tsim_may_overlap_more(job, TSIM_OVERLAP_OF_ANY))
            add(values, TSIM_OVERLAP_OF_ANY);
        return;
    case TSIM_PLAN_OFFLOAD:
        if (!is_any_software || supports->offload)
            add_offloads(values, job);
        return;
    default:
        return;
    }
}

/* ---- and all of them ---- */

static void add_values(struct values *values, const struct tsim_scenario *job, enum tsim_plan_key key) {
    const struct tsim_model *m = job->model;
    switch (key) {
    case TSIM_PLAN_TENSOR:
        add_divisors(values, job->cluster.accelerators_per_node, m->heads);
        return;
    case TSIM_PLAN_PIPELINE:
        add_divisors(values, job->n_accelerators, m->layers + 2);
        return;
    case TSIM_PLAN_VIRTUAL:
        add_divisors(values, m->layers, m->layers);
        add_divisors(values, m->layers + 2, m->layers);
        return;
    case TSIM_PLAN_CONTEXT:
        add(values, 1);
        add_powers(values, job->training.sequence_length / LEAST_CONTEXT_TOKENS);
        return;
    case TSIM_PLAN_EXPERT:
        add(values, 1);
        add_divisors(values, m->experts.count, m->experts.count);
        return;
    case TSIM_PLAN_EXPERT_TENSOR:
        add(values, job->parallelism.expert_tensor);
        return;
    case TSIM_PLAN_ORDER:
    case TSIM_PLAN_OFFLOAD:
        add(values, 0);
        return;
    case TSIM_PLAN_ZERO:
        for (int64_t zero = 0; zero <= 3; zero++)
            add(values, zero);
        return;
    case TSIM_PLAN_MICRO_BATCH:
        add_powers(values, most_micro_batch(job));
        add(values, job->training.micro_batch_size);
        return;
    case TSIM_PLAN_RECOMPUTE:
        add(values, TSIM_RECOMPUTE_NONE);
        if (tsim_selective_differs(job))
            add(values, TSIM_RECOMPUTE_SELECTIVE);
        add(values, TSIM_RECOMPUTE_FULL);
        return;
    case TSIM_PLAN_SCHEDULE:
        add_schedules(values, job);
        return;
    case TSIM_PLAN_SEQUENCE:
        add(values, true);
        add(values, false);
        return;
    case TSIM_PLAN_OVERLAP:
        add(values, TSIM_OVERLAP_AS_SAID);
        if (tsim_may_overlap_more(job, TSIM_OVERLAP_OF_SOFTWARE))
            add(values, TSIM_OVERLAP_OF_SOFTWARE);
        return;
    case TSIM_PLAN_LAYERS:
        add(values, false);
        add(values, tsim_model_has_ends(m));
        return;
    case TSIM_N_PLAN_KEYS:
        break;
    }
    TSIM_BUG("plan key %d", (int)key);
}

/* Keeps the supported values; if none would be left it keeps all, because then the list does not speak of what is
 * searched. */
static void keep_supported(struct values *values, const struct tsim_supports *supports, enum tsim_plan_key key) {
    size_t n = 0;
    for (size_t i = 0; i < values->n; i++)
        if (tsim_supports_value(supports, key, values->items[i]))
            n++;
    for (size_t i = 0, at = 0; i < values->n && n > 0; i++)
        if (tsim_supports_value(supports, key, values->items[i]))
            values->items[at++] = values->items[i];
    values->n = n > 0 ? n : values->n;
}

static void fill_candidate(struct tsim_arena *arena, const struct tsim_scenario *job,
                           const struct tsim_plan_axis said[TSIM_N_PLAN_KEYS], enum tsim_plan_extent extent,
                           struct tsim_plan_candidate *candidate) {
    bool is_any_software = extent == TSIM_PLAN_ANY_SOFTWARE;
    const struct tsim_supports *supports = &job->software->supports;
    candidate->job = job;
    candidate->n_points = 1;
    candidate->any_zero = is_any_software || said[TSIM_PLAN_ZERO].n > 0;
    candidate->balances_all = said[TSIM_PLAN_LAYERS].n > 0;
    candidate->balances_chunks = is_any_software || !tsim_has_equal_middle(supports);
    candidate->is_coarse = extent == TSIM_PLAN_COARSE;
    candidate->n_coarse_recomputes = said[TSIM_PLAN_RECOMPUTE].n;
    for (int key = 0; key < TSIM_N_PLAN_KEYS; key++) {
        candidate->axes[key] = said[key];
        if (said[key].n == 0) {
            struct values own = {.n = 0};
            add_values(&own, job, (enum tsim_plan_key)key);
            bool is_limited = !is_any_software && key != TSIM_PLAN_EXPERT_TENSOR; /* the job's own of that stays */
            if (is_limited)
                keep_supported(&own, supports, (enum tsim_plan_key)key);
            if (is_limited && key == TSIM_PLAN_SEQUENCE && tsim_needs_sequence(job))
                own.n = 1; /* true comes first */
            if (key == TSIM_PLAN_RECOMPUTE)
                candidate->n_coarse_recomputes = own.n;
            if (extent != TSIM_PLAN_COARSE)
                add_refinements(&own, job, (enum tsim_plan_key)key, is_any_software);
            if (is_limited)
                keep_supported(&own, supports, (enum tsim_plan_key)key);
            int64_t *values = TSIM_NEW_ARRAY(arena, own.n, int64_t);
            memcpy(values, own.items, own.n * sizeof *values);
            candidate->axes[key] = (struct tsim_plan_axis){values, own.n};
        }
        candidate->n_points *= (int64_t)candidate->axes[key].n;
    }
}

/* ---- the space ---- */

static const struct tsim_override PLAINEST[] = {
    {"parallelism.tensor", "1", NULL},           {"parallelism.pipeline", "1", NULL},
    {"parallelism.virtual_pipeline", "1", NULL}, {"parallelism.context", "1", NULL},
    {"parallelism.expert", "1", NULL},           {"parallelism.data", "auto", NULL},
    {"parallelism.schedule", "1f1b", NULL},      {"parallelism.layers_per_stage", "auto", NULL},
    {"training.micro_batch_size", "1", NULL},    {"training.recompute", "none", NULL}};
enum { N_PLAINEST = sizeof PLAINEST / sizeof PLAINEST[0] };

void tsim_plan_space_of(struct tsim_arena *arena, const struct tsim_scenario *job,
                        const struct tsim_plan_axis axes[TSIM_N_PLAN_KEYS], enum tsim_plan_extent extent,
                        struct tsim_plan_space *space) {
    struct tsim_plan_candidate *candidate = TSIM_NEW(arena, struct tsim_plan_candidate);
    fill_candidate(arena, job, axes, extent, candidate);
    *space = (struct tsim_plan_space){
        .candidates = candidate, .n_candidates = 1, .n_points = candidate->n_points, .extent = extent};
}

/* Returns whether another plan, or another number of accelerators, could be without this mistake. */
static bool is_of_a_plan(const struct tsim_diag *diag) {
    static const char *const KEYS[] = {
        "parallelism",      "training.global_batch_size", "training.micro_batch_size", "training.recompute",
        "training.offload", "training.batch_ramp",        "training.stages",           "cluster",
        "simulation"};
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++)
        if (strncmp(diag->field, KEYS[i], strlen(KEYS[i])) == 0)
            return true;
    return false;
}

/* Tells mistakes that all plans of the job have, because they are its own: a search would only count its plans as not
 * valid. `overrides` has room for the plan that asks for least. */
static enum tsim_status check_job(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                  struct tsim_override *overrides, size_t n, struct tsim_diags *diags) {
    const struct tsim_scenario *unused;
    struct tsim_diags all;
    size_t n_before = diags->n_errors;
    for (size_t i = 0; i < N_PLAINEST; i++)
        overrides[n++] = PLAINEST[i];
    tsim_diags_init(&all);
    tsim_scenario_load_from(arena, source, overrides, n, &unused, &all);
    for (size_t i = 0; i < all.n_items; i++) {
        const struct tsim_diag *diag = &all.items[i];
        if (!diag->is_warning && !is_of_a_plan(diag))
            *tsim_diags_error(diags, diag->status, diag->at, diag->field, "%s", diag->message) = *diag;
    }
    tsim_diags_release(&all);
    return diags->n_errors > n_before ? TSIM_ERR_INFEASIBLE : TSIM_OK;
}

static enum tsim_status read_candidate(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                       const struct tsim_override *overrides, size_t n_overrides,
                                       const struct tsim_plan_axis said[TSIM_N_PLAN_KEYS], enum tsim_plan_extent extent,
                                       bool is_first, struct tsim_plan_candidate *candidate, struct tsim_diags *diags) {
    size_t n = n_overrides;
    struct tsim_override *all =
        TSIM_NEW_ARRAY(arena, n_overrides + candidate->n_settings + N_PLAINEST, struct tsim_override);
    const struct tsim_scenario *job;
    for (size_t i = 0; i < n_overrides; i++)
        all[i] = overrides[i];
    for (size_t i = 0; i < candidate->n_settings; i++)
        all[n++] = (struct tsim_override){candidate->settings[i]->path, candidate->settings[i]->text};
    TSIM_TRY(tsim_scenario_load_job(arena, source, all, n, &job, diags));
    fill_candidate(arena, job, said, extent, candidate);
    return is_first ? check_job(arena, source, all, n, diags) : TSIM_OK;
}

enum tsim_status tsim_plan_space_read(struct tsim_arena *arena, const struct tsim_scenario_source *source,
                                      const struct tsim_override *overrides, size_t n_overrides,
                                      const struct tsim_space *axes, enum tsim_plan_extent extent,
                                      struct tsim_plan_space *space, struct tsim_diags *diags) {
    enum { MOST_CANDIDATES = 4096 };
    struct tsim_space none = {.n_points = 1}, others;
    struct tsim_plan_axis said[TSIM_N_PLAN_KEYS] = {{NULL, 0}};
    TSIM_TRY(split_axes(arena, axes ? axes : &none, &others, said, diags));
    if (others.n_points > MOST_CANDIDATES) {
        tsim_diags_error(diags, TSIM_ERR_LIMIT, (struct tsim_place){0}, "sweep", "more than %d candidates",
                         MOST_CANDIDATES);
        return TSIM_ERR_LIMIT;
    }
    struct tsim_plan_candidate *list = TSIM_NEW_ARRAY(arena, (size_t)others.n_points, struct tsim_plan_candidate);
    *space = (struct tsim_plan_space){.candidates = list, .n_candidates = (size_t)others.n_points, .extent = extent};
    for (size_t i = 0; i < space->n_candidates; i++) {
        list[i].settings = TSIM_NEW_ARRAY(arena, others.most_settings, const struct tsim_space_setting *);
        list[i].n_settings = tsim_space_settings(&others, (int64_t)i, list[i].settings);
        TSIM_TRY(read_candidate(arena, source, overrides, n_overrides, said, extent, i == 0, &list[i], diags));
        list[i].first_position = space->n_points;
        space->n_points += list[i].n_points;
    }
    return TSIM_OK;
}

/* ---- points ---- */

const struct tsim_plan_candidate *tsim_plan_candidate_at(const struct tsim_plan_space *space, int64_t position) {
    size_t first = 0, end = space->n_candidates;
    while (end - first > 1) {
        size_t middle = first + (end - first) / 2;
        if (position < space->candidates[middle].first_position)
            end = middle;
        else
            first = middle;
    }
    return &space->candidates[first];
}

static void choose(const struct tsim_plan_candidate *candidate, int64_t position, size_t at[TSIM_N_PLAN_KEYS],
                   struct tsim_plan_choice *choice) {
    int64_t rest = position - candidate->first_position;
    for (int key = TSIM_N_PLAN_KEYS - 1; key >= 0; key--) {
        const struct tsim_plan_axis *axis = &candidate->axes[key];
        at[key] = 0;
        if (axis->n > 1) { /* many have one value, and to divide takes time */
            at[key] = (size_t)(rest % (int64_t)axis->n);
            rest /= (int64_t)axis->n;
        }
        choice->value[key] = axis->values[at[key]];
    }
}

/* Tells whether a schedule stands for itself. If schedules come to the same one, the first that is listed stands, or
 * the one that they come to. */
static bool is_own_schedule(const struct tsim_plan_candidate *candidate, const struct tsim_plan_choice *choice,
                            size_t schedule_at) {
    if (tsim_plan_key_is_idle(candidate->job, choice, TSIM_PLAN_SCHEDULE))
        return schedule_at == 0;
    int64_t played = tsim_plan_played_schedule(choice);
    return played == choice->value[TSIM_PLAN_SCHEDULE] || !has_value(&candidate->axes[TSIM_PLAN_SCHEDULE], played);
}

/* Balanced stages take the place of stages that have no even split. They also refine even stages of one chunk. If the
 * key is listed, they are tried everywhere. */
static bool is_own_split(const struct tsim_plan_candidate *candidate, const struct tsim_plan_choice *choice,
                         size_t layers_at) {
    int64_t layers = candidate->job->model->layers, ends, others;
    if (tsim_plan_key_is_idle(candidate->job, choice, TSIM_PLAN_LAYERS))
        return layers_at == 0;
    if (candidate->balances_all)
        return true;
    if (choice->value[TSIM_PLAN_LAYERS] && choice->value[TSIM_PLAN_VIRTUAL] > 1 && !candidate->balances_chunks)
        return false;
    bool is_even = tsim_layers_even(layers, choice->value[TSIM_PLAN_PIPELINE], &ends, &others);
    bool refines = choice->value[TSIM_PLAN_LAYERS] && choice->value[TSIM_PLAN_VIRTUAL] == 1 && !candidate->is_coarse;
    return choice->value[TSIM_PLAN_LAYERS] != is_even || refines;
}

bool tsim_plan_may_balance(const struct tsim_plan_candidate *candidate, const struct tsim_plan_choice *choice) {
    struct tsim_plan_choice balanced = *choice;
    balanced.value[TSIM_PLAN_LAYERS] = 1;
    return has_value(&candidate->axes[TSIM_PLAN_LAYERS], 1) && is_own_split(candidate, &balanced, 1);
}

/* {every: N} is full recomputation of a chunk with at most N layers, because it has one checkpoint. */
static bool is_own_recompute(const struct tsim_plan_candidate *candidate, const struct tsim_plan_choice *choice) {
    int64_t value = choice->value[TSIM_PLAN_RECOMPUTE], every = tsim_plan_recompute_layers(value);
    return tsim_plan_recompute_mode(value) == TSIM_RECOMPUTE_LAYERS ||
           every * choice->value[TSIM_PLAN_PIPELINE] * choice->value[TSIM_PLAN_VIRTUAL] <
               candidate->job->model->layers ||
           every == 0;
}

/* A pipeline inside its replica needs whole nodes, or a whole part of one. */
static bool is_own_order(const struct tsim_plan_candidate *candidate, const struct tsim_plan_choice *choice) {
    int64_t node = candidate->job->cluster.accelerators_per_node,
            replica = candidate->job->n_accelerators / tsim_plan_data(candidate->job, choice);
    return !tsim_plan_key_is_idle(candidate->job, choice, TSIM_PLAN_ORDER) &&
           (replica % node == 0 || node % replica == 0);
}

/* Returns the first key by which the combination is a refinement. */
static enum tsim_plan_key refined_at(const struct tsim_plan_candidate *candidate,
                                     const struct tsim_plan_choice *choice) {
    const struct tsim_plan_axis *recomputes = &candidate->axes[TSIM_PLAN_RECOMPUTE];
    int64_t ends, others;
    if (candidate->is_coarse)
        return TSIM_N_PLAN_KEYS;
    for (size_t i = candidate->n_coarse_recomputes; i < recomputes->n; i++)
        if (recomputes->values[i] == choice->value[TSIM_PLAN_RECOMPUTE])
            return TSIM_PLAN_RECOMPUTE;
    if (choice->value[TSIM_PLAN_LAYERS] && !candidate->balances_all &&
        tsim_layers_even(candidate->job->model->layers, choice->value[TSIM_PLAN_PIPELINE], &ends, &others))
        return TSIM_PLAN_LAYERS;
    return choice->value[TSIM_PLAN_ORDER]     ? TSIM_PLAN_ORDER
           : choice->value[TSIM_PLAN_OFFLOAD] ? TSIM_PLAN_OFFLOAD
                                              : TSIM_N_PLAN_KEYS;
}

bool tsim_plan_is_fine(const struct tsim_plan_candidate *candidate, const struct tsim_plan_choice *choice) {
    return refined_at(candidate, choice) < TSIM_N_PLAN_KEYS;
}

enum tsim_recompute tsim_plan_coarse_recompute(int64_t value) {
    enum tsim_recompute mode = tsim_plan_recompute_mode(value);
    return mode > TSIM_RECOMPUTE_FULL ? TSIM_RECOMPUTE_FULL : mode;
}

struct tsim_plan_choice tsim_plan_coarse(const struct tsim_plan_candidate *candidate,
                                         const struct tsim_plan_choice *choice) {
    struct tsim_plan_choice coarse = *choice;
    for (enum tsim_plan_key key; (key = refined_at(candidate, &coarse)) < TSIM_N_PLAN_KEYS;) {
        coarse.value[key] = key == TSIM_PLAN_RECOMPUTE ? tsim_plan_coarse_recompute(coarse.value[key]) : 0;
    }
    return coarse;
}

/* Returns the first key by which the combination is another one's plan, or one that is not searched, whatever those
 * after it are. */
static enum tsim_plan_key left_out_at(const struct tsim_plan_candidate *candidate,
                                      const struct tsim_plan_choice *choice, const size_t at[TSIM_N_PLAN_KEYS]) {
    const struct tsim_scenario *job = candidate->job;
    bool is_staged = choice->value[TSIM_PLAN_PIPELINE] > 1;
    if (tsim_model_layers_vary(job->model) &&
        is_staged) /* its stages are not alike, as bounds of a step's time take them */
        return TSIM_PLAN_PIPELINE;
    if (at[TSIM_PLAN_EXPERT_TENSOR] > 0 && tsim_plan_key_is_idle(job, choice, TSIM_PLAN_EXPERT_TENSOR))
        return TSIM_PLAN_EXPERT_TENSOR;
    if (tsim_plan_key_is_idle(job, choice, TSIM_PLAN_ZERO)) {
        if (at[TSIM_PLAN_ZERO] > 0)
            return TSIM_PLAN_ZERO;
    } else if (!candidate->any_zero &&
               !tsim_supports_zero(&job->software->supports, choice->value[TSIM_PLAN_ZERO], is_staged)) {
        return TSIM_PLAN_ZERO;
    }
    if (!is_own_schedule(candidate, choice, at[TSIM_PLAN_SCHEDULE]))
        return TSIM_PLAN_SCHEDULE;
    if (at[TSIM_PLAN_SEQUENCE] > 0 && tsim_plan_key_is_idle(job, choice, TSIM_PLAN_SEQUENCE))
        return TSIM_PLAN_SEQUENCE;
    if (at[TSIM_PLAN_OVERLAP] > 0 && tsim_plan_key_is_idle(job, choice, TSIM_PLAN_OVERLAP))
        return TSIM_PLAN_OVERLAP;
    if (!is_own_recompute(candidate, choice))
        return TSIM_PLAN_RECOMPUTE;
    if (!is_own_split(candidate, choice, at[TSIM_PLAN_LAYERS]))
        return TSIM_PLAN_LAYERS;
    return at[TSIM_PLAN_ORDER] > 0 && !is_own_order(candidate, choice) ? TSIM_PLAN_ORDER : TSIM_N_PLAN_KEYS;
}

/* Returns the first key by which the combination is no plan of its own, whatever those after it are; TSIM_N_PLAN_KEYS:
 * it is one, as far as numbers say. */
static enum tsim_plan_key fails_by(const struct tsim_plan_candidate *candidate, const struct tsim_plan_choice *choice,
                                   const size_t at[TSIM_N_PLAN_KEYS]) {
    enum tsim_plan_key refused = tsim_plan_refused_at(candidate->job, choice);
    if (refused < TSIM_PLAN_ZERO) /* most of them */
        return refused;
    enum tsim_plan_key left_out = left_out_at(candidate, choice, at);
    return refused < left_out ? refused : left_out;
}

bool tsim_plan_choice_at(const struct tsim_plan_candidate *candidate, int64_t position,
                         struct tsim_plan_choice *choice) {
    size_t at[TSIM_N_PLAN_KEYS];
    choose(candidate, position, at, choice);
    return fails_by(candidate, choice, at) == TSIM_N_PLAN_KEYS;
}

int64_t tsim_plan_stride(const struct tsim_plan_candidate *candidate, enum tsim_plan_key key) {
    int64_t stride = 1;
    for (int k = (int)key; k < TSIM_N_PLAN_KEYS; k++)
        stride *= (int64_t)candidate->axes[k].n;
    return stride;
}

/* Returns the first position after this one with another value of the key, or of one before it. */
static int64_t after(const struct tsim_plan_candidate *candidate, int64_t position, enum tsim_plan_key key) {
    int64_t run = tsim_plan_stride(candidate, (enum tsim_plan_key)(key + 1));
    return position - (position - candidate->first_position) % run + run;
}

static bool find_from(const struct tsim_plan_candidate *candidate, bool is_coarse, int64_t *position,
                      struct tsim_plan_choice *choice) {
    int64_t end = candidate->first_position + candidate->n_points;
    while (*position < end) {
        size_t at[TSIM_N_PLAN_KEYS];
        choose(candidate, *position, at, choice);
        enum tsim_plan_key key = fails_by(candidate, choice, at);
        if (key == TSIM_N_PLAN_KEYS && is_coarse)
            key = refined_at(candidate, choice);
        if (key == TSIM_N_PLAN_KEYS)
            return true;
        *position = after(candidate, *position, key);
    }
    return false;
}

bool tsim_plan_choice_from(const struct tsim_plan_candidate *candidate, int64_t *position,
                           struct tsim_plan_choice *choice) {
    return find_from(candidate, false, position, choice);
}

bool tsim_plan_coarse_from(const struct tsim_plan_candidate *candidate, int64_t *position,
                           struct tsim_plan_choice *choice) {
    return find_from(candidate, true, position, choice);
}

/* ---- the batch that would divide ---- */

static bool is_plan(struct tsim_arena *scratch, const struct tsim_plan_candidate *candidate, int64_t position,
                    int64_t batch) {
    struct tsim_scenario job = *candidate->job;
    struct tsim_plan_candidate changed = *candidate;
    struct tsim_plan_choice choice;
    const struct tsim_scenario *scenario;
    job.training.global_batch_size = batch;
    changed.job = &job;
    bool is =
        tsim_plan_choice_at(&changed, position, &choice) && tsim_scenario_replan(scratch, &job, &choice, &scenario);
    tsim_arena_reset(scratch);
    return is;
}

/* Each combination divides multiples of its replicas' micro-batches; the two multiples next to the batch are tried. */
void tsim_plan_nearest_batches(const struct tsim_plan_candidate *candidate, int64_t *below, int64_t *above) {
    struct tsim_arena scratch;
    const struct tsim_scenario *job = candidate->job;
    int64_t batch = job->training.global_batch_size, end = candidate->first_position + candidate->n_points;
    *below = *above = 0;
    tsim_arena_init(&scratch);
    for (int64_t i = candidate->first_position; i < end; i++) {
        size_t at[TSIM_N_PLAN_KEYS];
        struct tsim_plan_choice choice;
        choose(candidate, i, at, &choice);
        enum tsim_plan_key key = fails_by(candidate, &choice, at);
        if (key != TSIM_PLAN_MICRO_BATCH && key != TSIM_N_PLAN_KEYS) { /* no batch makes it a plan */
            i = after(candidate, i, key) - 1;
            continue;
        }
        enum tsim_plan_key refined = refined_at(candidate, &choice);
        if (refined < TSIM_N_PLAN_KEYS) { /* it divides no batch that its coarse plan does not */
            i = after(candidate, i, refined) - 1;
            continue;
        }
        int64_t unit = tsim_plan_data(job, &choice) * choice.value[TSIM_PLAN_MICRO_BATCH];
        int64_t lower = (batch - 1) / unit * unit, upper = (batch / unit + 1) * unit;
        bool is_nearer_below = lower > *below, is_nearer_above = !*above || upper < *above;
        if (is_nearer_below && is_plan(&scratch, candidate, i, lower))
            *below = lower;
        if (is_nearer_above && is_plan(&scratch, candidate, i, upper))
            *above = upper;
        if (!is_nearer_below && !is_nearer_above)
            i = after(candidate, i, TSIM_PLAN_MICRO_BATCH) - 1;
    }
    tsim_arena_release(&scratch);
}

static const char *order_json(struct tsim_arena *arena, const struct tsim_scenario *job) {
    enum tsim_axis order[TSIM_N_AXES];
    const char *text = "";
    tsim_plan_pipeline_inside(job->parallelism.order, order);
    for (size_t i = 0; i < TSIM_N_AXES; i++)
        text = tsim_arena_printf(arena, "%s%s\"%s\"", text, i ? ", " : "", tsim_axis_name(order[i]));
    return tsim_arena_printf(arena, "[%s]", text);
}

static const char *parts_json(struct tsim_arena *arena, unsigned parts) {
    const char *text = "";
    for (int part = 0; part < TSIM_N_RECOMPUTE_PARTS; part++)
        if (parts >> part & 1)
            text = tsim_arena_printf(arena, "%s%s\"%s\"", text, *text ? ", " : "", tsim_recompute_part_name(part));
    return tsim_arena_printf(arena, "[%s]", text);
}

static const char *overlap_json(struct tsim_arena *arena, const struct tsim_scenario *job,
                                const struct tsim_plan_choice *choice) {
    unsigned more = tsim_plan_more_overlap(job, choice);
    const char *text = "", *name;
    for (size_t i = 0; (name = tsim_overlap_name(i)); i++)
        if (more >> i & 1)
            text = tsim_arena_printf(arena, "%s\"%s.%s\": true, ", text, tsim_plan_key_path(TSIM_PLAN_OVERLAP), name);
    return text;
}

static const char *key_json(struct tsim_arena *arena, const struct tsim_scenario *job,
                            const struct tsim_plan_choice *choice, enum tsim_plan_key key) {
    static const char *const OFFLOADS[] = {"{}", "{\"optimizer\": true}", "{\"activations\": 1}",
                                           "{\"optimizer\": true, \"activations\": 1}"};
    bool is_idle_switch =
        key == TSIM_PLAN_SEQUENCE && tsim_plan_key_is_idle(job, choice, key); /* on, it is warned of */
    int64_t value = is_idle_switch ? 0 : choice->value[key];
    const char *text = tsim_plan_key_text(arena, key, value);
    if (key == TSIM_PLAN_ORDER)
        return order_json(arena, job);
    if (key == TSIM_PLAN_OFFLOAD)
        return OFFLOADS[value];
    if (key == TSIM_PLAN_RECOMPUTE && tsim_plan_recompute_parts(value))
        return parts_json(arena, tsim_plan_recompute_parts(value));
    if (key == TSIM_PLAN_RECOMPUTE && tsim_plan_recompute_layers(value))
        return tsim_arena_printf(arena, "{\"%s\": %lld}", tsim_recompute_name(tsim_plan_recompute_mode(value)),
                                 (long long)tsim_plan_recompute_layers(value));
    bool is_word = tsim_plan_key_has_words(key) && key != TSIM_PLAN_SEQUENCE;
    return is_word ? tsim_text_json(arena, text) : text;
}

/* Returns whether the scenario lists the parts that are recomputed, for which the word alone would take others. */
static bool keeps_parts(const struct tsim_scenario *job, const struct tsim_plan_choice *choice) {
    int64_t recompute = choice->value[TSIM_PLAN_RECOMPUTE];
    return recompute == TSIM_RECOMPUTE_SELECTIVE && job->training.recompute == recompute &&
           job->training.recompute_parts;
}

static bool is_said(const struct tsim_scenario *job, const struct tsim_plan_choice *choice, enum tsim_plan_key key) {
    const struct tsim_parallelism_spec *own = &job->parallelism;
    if (key == TSIM_PLAN_LAYERS) /* the scenario may say another split */
        return choice->value[key] || own->layers_per_chunk || own->balances;
    if (key == TSIM_PLAN_EXPERT_TENSOR)
        return choice->value[key] != own->expert_tensor;
    if (key == TSIM_PLAN_ORDER || key == TSIM_PLAN_OFFLOAD)
        return choice->value[key] > 0;
    return key != TSIM_PLAN_RECOMPUTE || !keeps_parts(job, choice);
}

const char *tsim_plan_set_json(struct tsim_arena *arena, const struct tsim_plan_candidate *candidate,
                               const struct tsim_plan_choice *choice) {
    static const enum tsim_plan_key SAID[] = {
        /* as people say a plan */
        TSIM_PLAN_TENSOR,        TSIM_PLAN_PIPELINE, TSIM_PLAN_VIRTUAL,     TSIM_PLAN_CONTEXT,   TSIM_PLAN_EXPERT,
        TSIM_PLAN_EXPERT_TENSOR, TSIM_PLAN_ZERO,     TSIM_PLAN_MICRO_BATCH, TSIM_PLAN_RECOMPUTE, TSIM_PLAN_SCHEDULE,
        TSIM_PLAN_SEQUENCE,      TSIM_PLAN_LAYERS,   TSIM_PLAN_ORDER,       TSIM_PLAN_OFFLOAD};
    const char *text = "{";
    for (size_t i = 0; i < candidate->n_settings; i++)
        text = tsim_arena_printf(arena, "%s%s: %s, ", text, tsim_text_json(arena, candidate->settings[i]->path),
                                 candidate->settings[i]->json);
    for (size_t i = 0; i < sizeof SAID / sizeof SAID[0]; i++) {
        enum tsim_plan_key key = SAID[i];
        if (is_said(candidate->job, choice, key))
            text = tsim_arena_printf(arena, "%s\"%s\": %s, ", text, tsim_plan_key_path(key),
                                     key_json(arena, candidate->job, choice, key));
    }
    return tsim_arena_printf(arena, "%s%s\"parallelism.data\": %lld}", text,
                             overlap_json(arena, candidate->job, choice),
                             (long long)tsim_plan_data(candidate->job, choice));
}
