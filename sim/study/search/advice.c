#include "study/search/advice.h"

#include "config/supports.h"
#include "run/run.h"
#include "step/unplayed.h"

#include <math.h>
#include <string.h>

#define MIN_GAIN_FRAC 0.01
#define SAME_FRAC (1 - 1e-6) /* the first of changes that gain the same is taken */

enum { MAX_CANDIDATES = 48, MAX_SETTINGS = 3 };

/* The stages of looking at a change: its step is no shorter than this, played pass by pass, or as a run plays it. */
enum closeness { BOUNDED, SCREENED, PLAYED };

struct candidate {
    const struct tsim_scenario *scenario;
    struct tsim_override settings[MAX_SETTINGS];
    size_t n_settings; /* if there are several, each may be a candidate of its own */
    struct tsim_run_memo *memo;
    enum closeness closeness;
    double time_s; /* 0: does not fit, or is out of the question */
};

struct candidates {
    struct tsim_arena *arena;
    const struct tsim_scenario *base;
    size_t n_unsupported; /* of what the base asks for, which is no reason against a change of it */
    struct candidate *items;
    int32_t n;
};

/* Returns false, and adds no candidate, if the changed scenario is not valid or its software cannot run it. */
static bool add_several(struct candidates *list, const struct tsim_override *settings, size_t n_settings) {
    struct tsim_unsupported lacks[TSIM_MOST_UNSUPPORTED];
    struct candidate *candidate = &list->items[list->n];
    TSIM_ASSERT(list->n < MAX_CANDIDATES && n_settings <= MAX_SETTINGS);
    *candidate = (struct candidate){.n_settings = n_settings};
    memcpy(candidate->settings, settings, n_settings * sizeof *settings);
    bool is_good =
        tsim_scenario_propose(list->arena, list->base, settings, n_settings, &candidate->scenario, TSIM_UNHEARD) &&
        tsim_scenario_unsupported(list->arena, candidate->scenario, lacks) <= list->n_unsupported;
    list->n += is_good;
    return is_good;
}

static bool add(struct candidates *list, const char *path, const char *value) {
    return add_several(list, &(struct tsim_override){path, value}, 1);
}

static const char *number(struct candidates *list, int64_t value) {
    return tsim_arena_printf(list->arena, "%lld", (long long)value);
}

static bool add_number(struct candidates *list, const char *path, int64_t value) {
    return add(list, path, number(list, value));
}

static void add_recompute(struct candidates *list) {
    static const enum tsim_recompute LESS[] = {TSIM_RECOMPUTE_NONE, TSIM_RECOMPUTE_SELECTIVE};
    for (size_t i = 0; i < sizeof LESS / sizeof LESS[0]; i++)
        if (list->base->training.recompute > LESS[i])
            add(list, "training.recompute", tsim_recompute_name(LESS[i]));
}

static void add_attention(struct candidates *list) {
    if (list->base->training.attention == TSIM_ATTENTION_STANDARD)
        add(list, "training.attention", "flash");
}

/* A larger micro-batch makes larger products and fewer messages, but a longer bubble. */
static void add_micro_batches(struct candidates *list) {
    for (int64_t factor = 2; factor <= 4; factor *= 2)
        add_number(list, "training.micro_batch_size", list->base->training.micro_batch_size * factor);
}

/* Adds smaller micro-batches, of which more fill a pipeline better. */
static void add_small_micro_batch(struct candidates *list) {
    int64_t size = list->base->training.micro_batch_size;
    if (list->base->parallelism.pipeline > 1 && size % 2 == 0)
        add_number(list, "training.micro_batch_size", size / 2);
}

/* Proposes 16 bits for training in 32 (matrix units, half the traffic), and fewer launches if the accelerator waits for
 * those of fp8. */
static void add_precision(struct candidates *list, const struct tsim_result *result) {
    const struct tsim_scenario *sc = list->base;
    enum tsim_precision own = sc->training.precision;
    bool is_wide = own == TSIM_FP32 || own == TSIM_TF32;
    bool waits = own == TSIM_FP8 && result->step.bounds.host_frac >= MIN_GAIN_FRAC;
    if ((is_wide || waits) && !add(list, "training.precision", tsim_precision_name(TSIM_BF16)))
        add(list, "training.precision", tsim_precision_name(TSIM_FP16));
}

/* Proposes less to reduce, or less to gather if memory allows it. */
static void add_less_traffic(struct candidates *list) {
    const struct tsim_scenario *sc = list->base;
    const struct tsim_parallelism_spec *p = &sc->parallelism;
    if (!tsim_is_replicated(p, p->data))
        return;
    if (sc->training.gradient_precision == TSIM_FP32 &&
        (sc->training.precision == TSIM_BF16 || sc->training.precision == TSIM_FP16))
        add(list, "training.gradient_precision", tsim_precision_name(sc->training.precision));
    for (int zero = p->zero - 1; zero > 0; zero--)
        add_number(list, "parallelism.zero", zero);
    if (p->zero == 3 && p->reshard_after_forward)
        add(list, "parallelism.reshard_after_forward", "false");
    if (p->zero == 3)
        add_number(list, "parallelism.prefetch", 2 * p->prefetch + 1);
}

/* Proposes CUDA graphs of layers if the accelerator waits for launches and the framework uses Transformer Engine. */
static void add_graphs(struct candidates *list, const struct tsim_result *result) {
    const struct tsim_software *own = list->base->software;
    if (result->step.bounds.host_frac >= MIN_GAIN_FRAC && own->fusion == TSIM_FUSION_TE &&
        own->cuda_graphs == TSIM_GRAPHS_NONE)
        add(list, "software.cuda_graphs", "layers");
}

/* Proposes every interleaving that splits the layers: the bubble shrinks, and there are more messages, which may be
 * hidden. If the scenario names a schedule with a single chunk, the schedule changes, too. */
static void add_interleaving(struct candidates *list) {
    const struct tsim_parallelism_spec *p = &list->base->parallelism;
    if (p->pipeline == 1 || p->says_layers || p->schedule >= TSIM_SCHEDULE_ZB_H1)
        return;
    for (int64_t v = 1; v <= list->base->model->layers / p->pipeline && list->n < MAX_CANDIDATES - 30; v++) {
        bool is_named = p->says_schedule && v > 1 && p->schedule != TSIM_SCHEDULE_INTERLEAVED;
        const struct tsim_override settings[] = {{"parallelism.virtual_pipeline", number(list, v)},
                                                 {"parallelism.schedule", "interleaved"}};
        if (v != p->virtual_pipeline)
            add_several(list, settings, is_named ? 2 : 1);
    }
}

static void add_sequence(struct candidates *list) {
    if (!list->base->parallelism.sequence && list->base->parallelism.tensor > 1)
        add(list, "parallelism.sequence", "true");
}

static void add_overlaps(struct candidates *list) {
    struct tsim_plan_choice own = tsim_plan_of(list->base);
    own.value[TSIM_PLAN_OVERLAP] = TSIM_OVERLAP_OF_SOFTWARE;
    unsigned more = tsim_plan_more_overlap(list->base, &own);
    const char *name;
    for (size_t i = 0; (name = tsim_overlap_name(i)); i++)
        if (more >> i & 1)
            add(list, tsim_arena_printf(list->arena, "parallelism.overlap.%s", name), "true");
}

/* Fewer ranks that share the experts exchange less between nodes; more of them hold less each. Proposes the nearest
 * valid number of each. */
static void add_expert_ranks(struct candidates *list) {
    int64_t n_experts = list->base->model->experts.count;
    for (int step = -1; step <= 1; step += 2) {
        struct tsim_parallelism_spec p = list->base->parallelism;
        do
            p.expert += step;
        while (p.expert >= 1 && p.expert <= n_experts &&
               !(tsim_experts_divide(n_experts, &p) && add_number(list, "parallelism.expert", p.expert)));
    }
}

static void add_experts(struct candidates *list) {
    const struct tsim_parallelism_spec *p = &list->base->parallelism;
    if (list->base->model->experts.count == 0)
        return;
    add_expert_ranks(list);
    if (tsim_expert_tensor(p) > 1)
        add(list, "parallelism.expert_tensor", "1");
}

/* ---- the input pipeline ---- */

/* Adds twice as many workers again and again, up to the host's cores. */
static void add_workers(struct candidates *list) {
    const struct tsim_data_spec *data = &list->base->data;
    int64_t cores = list->base->cluster.node->host_cores, most = cores > 0 ? cores : 4 * data->workers;
    for (int64_t n = 2 * data->workers; data->workers < most && data->prefetch > 0; n *= 2) {
        n = n < most ? n : most;
        add_number(list, "data.workers", n);
        if (n == most)
            return;
    }
}

static void add_storage(struct candidates *list) {
    const struct tsim_data_spec *data = &list->base->data;
    char text[40];
    if (data->access == TSIM_ACCESS_RANDOM)
        add(list, "data.access", "sequential");
    if (!(data->storage->client_bytes_per_s > 0)) {
        tsim_quantity_human(2 * data->storage->bandwidth_bytes_per_s, TSIM_BYTES_PER_S, text, sizeof text);
        add(list, "data.storage.bandwidth", tsim_arena_strdup(list->arena, text));
    }
}

/* Adds all changes of the input pipeline at once, because each alone may meet the next limit close by. */
static void add_all_of_input(struct candidates *list) {
    const struct tsim_data_spec *data = &list->base->data;
    int64_t cores = list->base->cluster.node->host_cores;
    const struct tsim_override settings[] = {{"data.access", "sequential"},
                                             {"data.workers", number(list, cores)},
                                             {"data.prefetch", number(list, data->prefetch < 2 ? 2 : data->prefetch)}};
    if (data->access != TSIM_ACCESS_SEQUENTIAL && cores > data->workers)
        add_several(list, settings, sizeof settings / sizeof settings[0]);
}

static void add_input(struct candidates *list, const struct tsim_result *result) {
    int64_t prefetch = list->base->data.prefetch;
    if (!list->base->data.has || !(result->step.terms.data_stall_s > MIN_GAIN_FRAC * result->step.terms.time_s))
        return;
    add_workers(list);
    add_number(list, "data.prefetch", prefetch < 2 ? 2 : 2 * prefetch);
    add_storage(list);
    add_all_of_input(list);
}

/* Bounds the candidate's step; what its passes cost is worked out once. */
static void bound(struct tsim_arena *arena, struct candidate *candidate) {
    struct tsim_arena scratch;
    struct tsim_step_result step;
    tsim_arena_init(&scratch);
    candidate->memo = tsim_run_memo_new(arena);
    const struct tsim_scenario *steady = tsim_scenario_without_variation(arena, candidate->scenario);
    steady = tsim_step_begin(arena, steady, NULL, NULL, &step);
    candidate->closeness = BOUNDED;
    candidate->time_s = 0;
    if (step.fits) {
        struct tsim_machine machine = tsim_machine_of(&scratch, steady, candidate->memo->passes);
        tsim_step_bound(&scratch, steady, &machine, TSIM_LEAST_STEP, &step);
        candidate->time_s = step.terms.time_s;
    }
    tsim_arena_release(&scratch);
}

static double simulate(const struct tsim_scenario *scenario, const struct tsim_run_memo *memo) {
    struct tsim_arena arena;
    struct tsim_result result;
    const struct tsim_run_options options = {.is_steady = true, .is_brief = true, .is_step = true, .memo = memo};
    tsim_arena_init(&arena);
    double time_s = 0;
    if (tsim_train_run(&arena, scenario, &options, &result, TSIM_UNHEARD) == TSIM_OK && result.step.simulated)
        time_s = result.step.terms.time_s;
    tsim_arena_release(&arena);
    return time_s;
}

static void screen(struct candidate *candidate) {
    struct tsim_scenario screened = *candidate->scenario;
    screened.simulation.detail = tsim_screening_detail(candidate->scenario);
    candidate->closeness = screened.simulation.detail != candidate->scenario->simulation.detail ? SCREENED : PLAYED;
    candidate->time_s = simulate(&screened, candidate->memo);
}

static void look_closer(struct candidate *candidate) {
    if (candidate->closeness == BOUNDED) {
        screen(candidate);
        return;
    }
    candidate->closeness = PLAYED;
    candidate->time_s = simulate(candidate->scenario, candidate->memo);
}

static bool is_of_input(const struct candidate *candidate) {
    return strncmp(candidate->settings[0].path, "data.", 5) == 0;
}

/* Several settings of the input at once are worth a line only if none of them alone does nearly as well, so all must be
 * screened. */
static void drop_needless_sets(struct candidates *list) {
    double best_single_s = (double)INFINITY;
    bool has_sets = false;
    for (int32_t i = 0; i < list->n; i++)
        has_sets |= is_of_input(&list->items[i]) && list->items[i].n_settings > 1;
    for (int32_t i = 0; i < list->n && has_sets; i++)
        if (list->items[i].time_s > 0)
            screen(&list->items[i]);
    for (int32_t i = 0; i < list->n; i++)
        if (list->items[i].time_s > 0 && !(is_of_input(&list->items[i]) && list->items[i].n_settings > 1))
            best_single_s = fmin(best_single_s, list->items[i].time_s);
    for (int32_t i = 0; i < list->n; i++)
        if (is_of_input(&list->items[i]) && list->items[i].n_settings > 1 &&
            best_single_s < (1 + MIN_GAIN_FRAC) * list->items[i].time_s)
            list->items[i].time_s = 0;
}

/* Drops all lines of a setting except its best value. */
static void drop_setting(struct candidates *list, const char *path) {
    for (int32_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].settings[0].path, path) == 0)
            list->items[i].time_s = 0;
}

/* Proposes every change that may be worth a run. */
static void propose_all(struct candidates *list, struct tsim_arena *arena, const struct tsim_scenario *scenario,
                        const struct tsim_result *result) {
    struct tsim_unsupported lacks[TSIM_MOST_UNSUPPORTED];
    *list = (struct candidates){.arena = arena,
                                .base = scenario,
                                .n_unsupported = tsim_scenario_unsupported(arena, scenario, lacks),
                                .items = TSIM_NEW_ARRAY(arena, MAX_CANDIDATES, struct candidate)};
    add_recompute(list);
    add_attention(list);
    add_micro_batches(list);
    add_interleaving(list);
    add_sequence(list);
    add_overlaps(list);
    add_experts(list);
    add_small_micro_batch(list);
    add_precision(list, result);
    add_less_traffic(list);
    add_graphs(list, result);
    add_input(list, result);
}

/* Finds the best of those left, simulated as a run is; NULL: none gains enough. Who may be the best, by its bound and
 * then by its passes, is looked at more closely until it is. */
static const struct candidate *find_best(struct candidates *list, const struct tsim_result *result) {
    for (;;) {
        struct candidate *best = NULL;
        for (int32_t i = 0; i < list->n; i++)
            if (list->items[i].time_s > 0 && (!best || list->items[i].time_s < SAME_FRAC * best->time_s))
                best = &list->items[i];
        if (!best || 1 - best->time_s / tsim_steady_time_s(&result->step) < MIN_GAIN_FRAC)
            return NULL;
        if (best->closeness == PLAYED)
            return best;
        look_closer(best);
    }
}

void tsim_advise(struct tsim_arena *arena, const struct tsim_scenario *scenario, struct tsim_prediction *prediction) {
    enum { MAX_ADVICE = sizeof prediction->advice / sizeof prediction->advice[0] };
    const struct tsim_result *result = &prediction->result;
    const struct candidate *best;
    struct candidates list;
    if (!result->step.simulated)
        return;
    propose_all(&list, arena, scenario, result);
    for (int32_t i = 0; i < list.n; i++)
        bound(arena, &list.items[i]);
    drop_needless_sets(&list);
    while (prediction->n_advice < MAX_ADVICE && (best = find_best(&list, result))) {
        char text[32];
        prediction->advice[prediction->n_advice++] = tsim_arena_printf(
            arena, "%s: step %s%s, %.1f %% faster", tsim_settings_text(arena, best->settings, best->n_settings),
            tsim_quantity_human(best->time_s, TSIM_TIME_S, text, sizeof text),
            result->step.variation.has ? " without variation" : "",
            100 * (1 - best->time_s / tsim_steady_time_s(&result->step)));
        drop_setting(&list, best->settings[0].path);
    }
}

static bool is_switch(const struct candidate *candidate) {
    const char *path = candidate->settings[0].path;
    enum tsim_plan_key key;
    return !tsim_plan_key_find(path, &key) && !strstr(path, "overlap") && !strstr(path, "precision") &&
           !is_of_input(candidate);
}

bool tsim_advise_switch(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                        const struct tsim_result *result, struct tsim_improvement *improvement) {
    struct candidates list;
    propose_all(&list, arena, scenario, result);
    for (int32_t i = 0; i < list.n; i++)
        if (is_switch(&list.items[i]))
            bound(arena, &list.items[i]);
    const struct candidate *best = find_best(&list, result);
    if (best)
        *improvement = (struct tsim_improvement){best->settings, best->n_settings, best->scenario, best->time_s};
    return best != NULL;
}
