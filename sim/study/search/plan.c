#include "study/search/plan.h"

#include "base/stop.h"
#include "config/supports.h"
#include "partition/memory.h"
#include "results/verdict.h"
#include "run/run.h"
#include "step/balance.h"
#include "step/fit_changes.h"
#include "step/unplayed.h"
#include "study/crew.h"
#include "study/interrupt.h"
#include "study/judge/uncertainty.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK_ITEMS = 256, MOST_LISTED = 1 << 16 };

enum fate {
    FATE_OPEN,
    FATE_INVALID,
    FATE_SAME, /* balancing gave the even split, which is another plan's */
    FATE_UNPLAYED,
    FATE_TOO_LARGE,
    FATE_PRUNED,
    FATE_SIMULATED,
    FATE_FAILED,
    FATE_UNSEEN
};

struct item {
    int64_t position;
    int32_t candidate, family; /* -1: none */
    enum fate fate;
    enum tsim_least bound; /* the last bound that was found */
    const int64_t *layers; /* of each part of the model, once balanced, while it waits again; else NULL */
    double rival;          /* objective of the first that waits behind it; -INFINITY: none */
    bool breaks_limit;     /* it breaks a limit, whatever the simulation says */
    bool may_not_fit;
    double objective; /* the bound, then the value; more is better (negated for figures of which less is) */
    struct tsim_plan_price price;
    double excess_bytes;
};

/* The findings of earlier rounds; nobody writes to them while threads work. */
struct known {
    struct tsim_best best;
    struct item *front; /* heap */
    size_t n_front, capacity;
    struct item *own; /* the best of each candidate; its fate is open while there is none */
    struct item safe; /* the best that fits whatever the memory's error; its fate is open while there is none */
};

/* A heap of the open items, the best bound first. */
struct queue {
    struct item **items;
    size_t n;
};

/* The plans that share all keys before TSIM_PLAN_RECOMPUTE, or before TSIM_PLAN_LAYERS. The item has the position of
 * the first and the bound of all. */
struct family {
    struct item item;
    int64_t n_fine;
    struct best_of *best;
};

/* The best of a coarse plan and its refinements. */
struct best_of {
    double objective; /* so far; -INFINITY: none */
};

/* Counts of a candidate's plans: of those still among the search's items, and of those that fell out before. */
struct outcomes {
    int64_t n_open, n_simulated, n_ranked;
    int64_t n_invalid, n_unplayed, n_too_large;
    double least_excess_bytes; /* of those that are too large; NAN: none */
};

struct search {
    const struct tsim_plan_search *options;
    struct item *items; /* on the heap; by position, and so by candidate */
    size_t n_items, capacity;
    size_t first_unbounded;
    int64_t n_total, n_unseen; /* plans that divide; those that an interrupt kept from being bounded */
    size_t n_unlisted; /* candidates whose plans, or their refinements, an interrupt kept even from being listed */
    bool heeds;        /* an interrupt ends simulations; else they have some time to end by themselves */
    bool is_interrupted;
    atomic_llong ends_ms;      /* of that time, by a steady clock; 0: it has not begun */
    double began_s;            /* when this part of the search began, by a steady clock */
    struct outcomes *outcomes; /* by candidate */
    struct family *families;   /* heap */
    size_t n_families, family_capacity;
    struct tsim_arena kept;
    bool families_recompute;   /* a family's recomputation is its first position's; else it has all values */
    int64_t n_pruned_unlisted; /* refinements that fell out with their family */
    struct known known;
    struct queue *queues; /* for the rounds: one for each candidate that is asked for its best, else one for all */
    size_t n_queues, next_queue;
    struct item **round; /* TSIM_PLAN_ROUND */
    struct tsim_point *points;
    size_t n_round;
    struct tsim_evidence evidence; /* for plans that are completed */
    /* For candidates: what is known of each, whether its plans are looked at, and how far: to the closest bound of the
     * first in its queue, or to the end. */
    struct tsim_plan *own;
    bool *is_chosen;
    enum tsim_plan_knowledge looks_for;
    enum tsim_status *own_status;
    size_t *first_items;                 /* by candidate, and where the last one's end */
    size_t *owned, n_owned, first_owned; /* the candidates that are being completed or bounded */
};

/* ---- figures that a bound says something about ---- */

static bool is_bounded(enum tsim_outcome_figure figure) {
    static const enum tsim_outcome_figure FIGURES[] = {TSIM_OUTCOME_STEP_TIME,
                                                       TSIM_OUTCOME_TOKENS_PER_S,
                                                       TSIM_OUTCOME_TOKENS_PER_S_PER_GPU,
                                                       TSIM_OUTCOME_SAMPLES_PER_S,
                                                       TSIM_OUTCOME_MFU,
                                                       TSIM_OUTCOME_HFU,
                                                       TSIM_OUTCOME_MODEL_TFLOPS_PER_GPU,
                                                       TSIM_OUTCOME_HARDWARE_TFLOPS_PER_GPU,
                                                       TSIM_OUTCOME_STEP_ENERGY,
                                                       TSIM_OUTCOME_POST_TRAINING_TIME,
                                                       TSIM_OUTCOME_POST_TRAINING_SAMPLES_PER_S,
                                                       TSIM_OUTCOME_DAYS,
                                                       TSIM_OUTCOME_ENERGY_KWH,
                                                       TSIM_OUTCOME_CO2,
                                                       TSIM_OUTCOME_ELECTRICITY,
                                                       TSIM_OUTCOME_RENT,
                                                       TSIM_OUTCOME_PURCHASE,
                                                       TSIM_OUTCOME_TRILLION_RENT,
                                                       TSIM_OUTCOME_TRILLION_ELECTRICITY,
                                                       TSIM_OUTCOME_ACCELERATORS,
                                                       TSIM_OUTCOME_MEMORY_PEAK,
                                                       TSIM_OUTCOME_STEPS};
    for (size_t i = 0; i < sizeof FIGURES / sizeof FIGURES[0]; i++)
        if (FIGURES[i] == figure)
            return true;
    return false;
}

static bool is_more(enum tsim_outcome_figure figure) {
    return tsim_outcome_spec(figure)->goal == TSIM_GOAL_MORE;
}

/* Returns the objective, of which more is better; infinite if nothing is known. */
static double objective_of(const struct search *search, const struct tsim_outcome *outcome, bool is_bound) {
    enum tsim_outcome_figure figure = search->options->ranking.objective;
    double value = outcome->value[figure];
    if (is_bound && !is_bounded(figure))
        return (double)INFINITY;
    if (isnan(value))
        return -(double)INFINITY;
    return is_more(figure) ? value : -value;
}

static bool breaks_limit(const struct search *search, const struct tsim_outcome *bound) {
    const struct tsim_ranking *ranking = &search->options->ranking;
    for (size_t i = 0; i < ranking->n_limits; i++) {
        const struct tsim_limit *limit = &ranking->limits[i];
        double value = bound->value[limit->figure];
        if (is_bounded(limit->figure) && (is_more(limit->figure) ? value < limit->value : value > limit->value))
            return true;
    }
    return false;
}

static struct tsim_plan_price price_of(const struct tsim_scenario *sc, const struct tsim_outcome *outcome) {
    double tokens = (double)sc->training.global_batch_size * (double)sc->training.sequence_length;
    double cost = outcome->value[TSIM_OUTCOME_TRILLION_RENT], steps = outcome->value[TSIM_OUTCOME_POST_TRAINING_STEPS];
    bool is_round = !isnan(steps); /* a step has its part of a round */
    double time_s =
        is_round ? outcome->value[TSIM_OUTCOME_POST_TRAINING_TIME] / steps : outcome->value[TSIM_OUTCOME_STEP_TIME];
    double energy_j =
        is_round ? outcome->value[TSIM_OUTCOME_POST_TRAINING_ENERGY] / steps : outcome->value[TSIM_OUTCOME_STEP_ENERGY];
    return (struct tsim_plan_price){
        .time_s = time_s / tokens, .cost_usd = isnan(cost) ? 0 : cost * 1e-12, .energy_j = energy_j / tokens};
}

/* ---- what is excluded ---- */

/* Returns whether `a` is at least as good as `b` in each price. Among plans with equal prices the earlier one stands
 * for all. `b` may be a bound of its own price. */
static bool beats(const struct item *a, const struct item *b) {
    const struct tsim_plan_price *x = &a->price, *y = &b->price;
    if ((x->cost_usd > 0) != (y->cost_usd > 0)) /* the cost is known for one alone */
        return false;
    if (x->time_s > y->time_s || x->cost_usd > y->cost_usd || x->energy_j > y->energy_j)
        return false;
    return x->time_s < y->time_s || x->cost_usd < y->cost_usd || x->energy_j < y->energy_j || a->position < b->position;
}

static bool is_beaten(const struct known *known, const struct item *item) {
    for (size_t i = 0; i < known->n_front; i++)
        if (beats(&known->front[i], item))
            return true;
    return false;
}

static bool is_excluded(const struct search *search, const struct item *item) {
    const struct tsim_best *best = &search->known.best;
    if (search->options->is_exhaustive)
        return false;
    if (item->breaks_limit)
        return true;
    const struct item *own = &search->known.own[item->candidate], *safe = &search->known.safe;
    if (search->options->is_for_candidates)
        return own->fate != FATE_OPEN && item->objective < own->objective;
    if (!item->may_not_fit && (safe->fate == FATE_OPEN || item->objective >= safe->objective))
        return false;
    if (own->fate == FATE_OPEN || item->objective >= own->objective)
        return false;
    bool is_behind = item->family >= 0 && item->objective < search->families[item->family].best->objective;
    if (!is_behind && (best->n < TSIM_BEST_POINTS ||
                       item->objective >= objective_of(search, &best->points[best->n - 1].outcome, false)))
        return false;
    return is_beaten(&search->known, item);
}

/* ---- threads ---- */

/* The number of costs of passes that are kept, each for one candidate. Plans are bounded candidate by candidate, and
 * simulated in the order of their bounds. So places for some candidates are enough, and thousands of candidates take no
 * more memory. */
enum { MEMO_PLACES = 64 };
struct memo_place {
    struct tsim_arena arena;
    const struct tsim_plan_candidate *candidate; /* NULL: none yet */
    struct tsim_run_memo *memo;
    enum fate fate; /* of all its plans: FATE_OPEN if engines can generate, or need not */
    double excess_bytes;
};

struct worker {
    struct tsim_arena kept, scratch; /* for the whole search; for one piece of work */
    struct memo_place memos[MEMO_PLACES];
    double *nearest; /* by candidate and limit: the best that a plan could reach; NAN: none so far */
};

struct team {
    struct worker workers[TSIM_MOST_WORKERS]; /* pieces and memos belong to the thread that took them */
    int32_t n;
};

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool is_interrupted(const struct search *search) {
    return search->heeds && tsim_is_interrupted();
}

/* Returns whether simulations shall end. After an interrupt those whose results are shown have some more time. */
static bool stops(void *context) {
    enum { GRACE_MS = 8000 }; /* a judgement: how long one waits for a result after Ctrl-C */
    struct search *search = context;
    if (search->heeds || !search->options->heeds_interrupt || !tsim_is_interrupted())
        return is_interrupted(search);
    long long now_ms = llround(1000 * now_s()), none = 0;
    atomic_compare_exchange_strong(&search->ends_ms, &none, now_ms + GRACE_MS);
    return now_ms >= atomic_load(&search->ends_ms);
}

static void team_init(struct team *team, const struct tsim_plan_search *options) {
    size_t n_candidates = options->space->n_candidates;
    team->n = options->n_threads < 1                   ? 1
              : options->n_threads < TSIM_MOST_WORKERS ? options->n_threads
                                                       : TSIM_MOST_WORKERS;
    for (int32_t i = 0; i < team->n; i++) {
        struct worker *worker = &team->workers[i];
        tsim_arena_init(&worker->kept);
        tsim_arena_init(&worker->scratch);
        for (size_t p = 0; p < MEMO_PLACES; p++) {
            worker->memos[p].candidate = NULL;
            tsim_arena_init(&worker->memos[p].arena);
        }
        size_t n_nearest = n_candidates * options->ranking.n_limits;
        worker->nearest = TSIM_NEW_ARRAY(&worker->kept, n_nearest, double);
        for (size_t k = 0; k < n_nearest; k++)
            worker->nearest[k] = (double)NAN;
    }
}

static void team_release(struct team *team) {
    for (int32_t i = 0; i < team->n; i++) {
        for (size_t p = 0; p < MEMO_PLACES; p++)
            tsim_arena_release(&team->workers[i].memos[p].arena);
        tsim_arena_release(&team->workers[i].scratch);
        tsim_arena_release(&team->workers[i].kept);
    }
}

struct team_work {
    struct search *search;
    struct team *team;
    void (*work)(struct search *search, struct worker *worker, size_t index);
};

static void work_on(void *context, int32_t worker, size_t piece) {
    const struct team_work *w = context;
    tsim_stop_set(stops, w->search);
    w->work(w->search, &w->team->workers[worker], piece);
    tsim_stop_set(NULL, NULL);
}

static bool is_over(void *context) {
    return is_interrupted(((const struct team_work *)context)->search);
}

static void team_run(struct team *team, struct search *search,
                     void (*work)(struct search *search, struct worker *worker, size_t index), size_t n_pieces) {
    struct team_work w = {search, team, work};
    tsim_crew_run(&(struct tsim_crew){work_on, is_over, &w}, team->n, n_pieces);
}

/* ---- bounds ---- */

/* Simulates the engines that generate, which are the same for every plan of a candidate (`job` is any one), if whole
 * rounds are compared. */
static void place_engines(const struct search *search, const struct tsim_scenario *job, struct memo_place *place) {
    struct tsim_generation_phase *generation = TSIM_NEW(&place->arena, struct tsim_generation_phase);
    struct tsim_diags unheard;
    place->fate = FATE_OPEN;
    if (!tsim_generates(job))
        return;
    tsim_diags_init(&unheard);
    enum tsim_status status = tsim_generation_check(&place->arena, job, &place->excess_bytes, &unheard);
    if (status == TSIM_OK && !search->options->is_for_candidates)
        status = tsim_generation_simulate(&place->arena, job, generation, &unheard);
    if (status == TSIM_ERR_STOPPED)
        place->fate = FATE_UNSEEN;
    else if (status != TSIM_OK)
        place->fate = place->excess_bytes > 0 ? FATE_TOO_LARGE : FATE_INVALID;
    else if (generation->has)
        place->memo->generation = generation;
    tsim_diags_release(&unheard);
}

static struct memo_place *place_of(const struct search *search, struct worker *worker,
                                   const struct tsim_plan_candidate *candidate, const struct tsim_scenario *scenario) {
    struct memo_place *place = &worker->memos[(size_t)(candidate - search->options->space->candidates) % MEMO_PLACES];
    if (place->candidate != candidate || place->fate == FATE_UNSEEN) {
        tsim_arena_reset(&place->arena);
        place->memo = tsim_run_memo_new(&place->arena);
        place->candidate = candidate;
        place_engines(search, scenario, place);
    }
    return place;
}

static double better_of(enum tsim_outcome_figure figure, double a, double b) {
    return is_more(figure) ? fmax(a, b) : fmin(a, b); /* if one is NAN, the other is taken */
}

/* Notes the nearest values to the limits. Figures that are bounded are taken from the bounds of all plans, others from
 * those that are simulated. */
static void note_nearest(const struct search *search, struct worker *worker, const struct item *item,
                         const struct tsim_outcome *outcome, bool is_bound) {
    const struct tsim_ranking *ranking = &search->options->ranking;
    double *nearest = worker->nearest + (size_t)item->candidate * ranking->n_limits;
    for (size_t i = 0; i < ranking->n_limits; i++) {
        enum tsim_outcome_figure figure = ranking->limits[i].figure;
        if (is_bounded(figure) == is_bound)
            nearest[i] = better_of(figure, nearest[i], outcome->value[figure]);
    }
}

static const struct tsim_scenario *plan_of(const struct search *search, struct tsim_arena *arena, int64_t position,
                                           const struct tsim_plan_candidate **candidate) {
    struct tsim_plan_choice choice;
    const struct tsim_scenario *scenario;
    *candidate = tsim_plan_candidate_at(search->options->space, position);
    return tsim_plan_choice_at(*candidate, position, &choice) &&
                   tsim_scenario_replan(arena, (*candidate)->job, &choice, &scenario)
               ? scenario
               : NULL;
}

/* Returns whether what takes most of a bound's time waits until a plan's turn comes, because a candidate is asked only
 * for its fastest plan: balancing layers that differ, finding out whether they fit, and whether all traffic is
 * played. */
static bool bounds_late(const struct search *search, const struct tsim_plan_candidate *candidate) {
    const struct tsim_plan_search *options = search->options;
    return options->is_for_candidates && candidate->is_coarse && options->ranking.objective == TSIM_OUTCOME_STEP_TIME &&
           options->ranking.n_limits == 0 && !options->is_exhaustive;
}

/* Returns whether plans wait with a bound for any memory, and balanced ones for any split, until their turn comes: to
 * balance layers and find out whether they fit takes most of a search's time. If there are limits, all plans tell how
 * near they come to them. */
static bool waits_for_memory(const struct search *search) {
    return !search->options->is_exhaustive && !search->options->is_for_candidates &&
           search->options->ranking.n_limits == 0;
}

/* Returns how much more than predicted a peak may be that still counts as fitting. */
static double most_peaks(const struct search *search) {
    return search->options->is_for_candidates ? TSIM_NINE_IN_TEN_PEAKS : 1;
}

/* Returns whether a plan may fit, as far as its memory is known without balancing layers; with any recomputation, if
 * asked for. It is asked once its candidate has a plan, because else the memory that plans lack is told. */
static bool may_fit(const struct search *search, struct worker *worker, const struct tsim_scenario *scenario,
                    bool any_recompute) {
    const struct tsim_accelerator *a = scenario->cluster.node->accelerator;
    bool is_known = !any_recompute && !scenario->parallelism.balances;
    int32_t stage;
    double bytes = is_known ? tsim_fullest_stage(scenario, &stage).peak_bytes
                            : tsim_least_mean_bytes(scenario, !any_recompute) + a->usable_memory_reserve_bytes;
    return bytes * most_peaks(search) * (1 - 1e-9) <= a->memory_bytes &&
           (any_recompute || is_known || tsim_any_split_fits(&worker->scratch, scenario));
}

/* Bounds the item's plan. Where bounds are late, nothing but the time of its step is asked for. Returns the scenario with
 * its layers balanced, as far as they are. */
static const struct tsim_scenario *bound_item(const struct search *search, struct worker *worker,
                                              const struct tsim_plan_candidate *candidate,
                                              const struct tsim_scenario *scenario, const struct tsim_run_memo *memo,
                                              enum tsim_least of, struct item *item) {
    struct tsim_prediction prediction = {0};
    const struct tsim_result *bound = &prediction.result;
    const struct tsim_memory *memory = &bound->step.memory;
    struct tsim_outcome outcome;
    bool is_late = bounds_late(search, candidate);
    if (of == TSIM_LEAST_PASSES && !search->options->is_exhaustive && scenario->parallelism.balances &&
        search->known.own[item->candidate].fate != FATE_OPEN && !may_fit(search, worker, scenario, false)) {
        item->fate = FATE_TOO_LARGE;
        item->excess_bytes = (double)NAN;
        return scenario;
    }
    if (of == TSIM_LEAST_ANY_SPLIT && !is_late)
        tsim_train_bound_any_memory(&worker->scratch, scenario, memo, TSIM_LEAST_PASSES, &prediction.result);
    else
        (is_late ? tsim_train_bound_time : tsim_train_bound)(&worker->scratch, scenario, memo, of, &prediction.result);
    item->bound = of;
    item->fate = FATE_OPEN;
    if (of != TSIM_LEAST_ANY_SPLIT) {
        double peak_bytes = memory->peak_bytes * most_peaks(search);
        bool fits = bound->step.fits && peak_bytes <= memory->capacity_bytes;
        item->fate = fits ? FATE_OPEN : FATE_TOO_LARGE;
        item->excess_bytes = peak_bytes - memory->capacity_bytes;
    }
    if (item->fate == FATE_OPEN && is_late) {
        item->objective = -bound->step.terms.time_s;
    } else if (item->fate == FATE_OPEN) {
        tsim_outcome_of(&prediction, &outcome);
        item->objective = objective_of(search, &outcome, true);
        item->breaks_limit = breaks_limit(search, &outcome);
        item->may_not_fit = tsim_may_not_fit(memory->peak_bytes, memory->capacity_bytes);
        item->price = price_of(bound->scenario, &outcome);
        note_nearest(search, worker, item, &outcome, true);
    }
    return bound->scenario;
}

/* Returns whether balanced layers came to the even split, which stands elsewhere in the space. */
static bool is_even_after_all(const struct tsim_plan_candidate *candidate, const struct tsim_scenario *balanced) {
    const struct tsim_parallelism_spec *p = &balanced->parallelism;
    int64_t n = tsim_n_model_parts(p), ends, others;
    if (candidate->is_coarse || candidate->balances_all || !p->balances || p->pipeline == 1 ||
        !tsim_layers_even(balanced->model->layers, n, &ends, &others))
        return false;
    for (int64_t i = 0; i < n; i++)
        if (p->layers_per_chunk[i] != (i == 0 || i == n - 1 ? ends : others))
            return false;
    return true;
}

static void bound_block(struct search *search, struct worker *worker, size_t block) {
    size_t first = search->first_unbounded + block * BLOCK_ITEMS, left = search->n_items - first;
    for (size_t i = first; i < first + (left < BLOCK_ITEMS ? left : BLOCK_ITEMS); i++) {
        struct item *item = &search->items[i];
        const struct tsim_plan_candidate *candidate;
        if (item->fate == FATE_OPEN) /* it has its family's bound */
            continue;
        const struct tsim_scenario *scenario = plan_of(search, &worker->scratch, item->position, &candidate);
        item->fate = scenario ? FATE_UNPLAYED : FATE_INVALID;
        const struct memo_place *place = scenario ? place_of(search, worker, candidate, scenario) : NULL;
        if (scenario && place->fate != FATE_OPEN) {
            item->fate = place->fate;
            item->excess_bytes = place->excess_bytes;
        } else if (scenario && (bounds_late(search, candidate) || tsim_is_played(scenario))) {
            bool is_any_split =
                waits_for_memory(search) || (scenario->parallelism.balances && bounds_late(search, candidate));
            enum tsim_least of = is_any_split ? TSIM_LEAST_ANY_SPLIT : TSIM_LEAST_PASSES;
            scenario = bound_item(search, worker, candidate, scenario, place->memo, of, item);
            if (!is_any_split && is_even_after_all(candidate, scenario))
                item->fate = FATE_SAME;
        }
        tsim_arena_reset(&worker->scratch);
    }
}

/* ---- rounds ---- */

/* Returns the plan with the layers to which it was balanced before. */
static const struct tsim_scenario *balanced_plan(const struct search *search, struct tsim_arena *arena,
                                                 const struct item *item,
                                                 const struct tsim_plan_candidate **candidate) {
    const struct tsim_scenario *scenario = plan_of(search, arena, item->position, candidate);
    if (!item->layers)
        return scenario;
    struct tsim_scenario *balanced = TSIM_NEW(arena, struct tsim_scenario);
    *balanced = *scenario;
    balanced->parallelism.layers_per_chunk = item->layers;
    balanced->parallelism.balances = false;
    return balanced;
}

static void keep_layers(struct worker *worker, const struct tsim_scenario *balanced, struct item *item) {
    size_t n = (size_t)tsim_n_model_parts(&balanced->parallelism);
    if (item->layers || !balanced->parallelism.balances)
        return;
    int64_t *layers = TSIM_NEW_ARRAY(&worker->kept, n, int64_t);
    memcpy(layers, balanced->parallelism.layers_per_chunk, n * sizeof *layers);
    item->layers = layers;
}

/* Returns whether the item is the first that waits, as far as is known. */
static bool is_next(const struct search *search, const struct item *item) {
    return item->fate == FATE_OPEN && !is_excluded(search, item) && !(item->objective < item->rival);
}

/* Simulates the round's item, unless a closer bound shows that it is excluded (pruned), too large, or no longer the
 * first of its queue (it stays open), or unless not all of its traffic is played. */
static void simulate(struct search *search, struct worker *worker, size_t index) {
    struct tsim_arena *arena = &worker->scratch;
    struct item *item = search->round[index];
    struct tsim_point *point = &search->points[index];
    const struct tsim_plan_candidate *candidate;
    const struct tsim_scenario *scenario = balanced_plan(search, arena, item, &candidate);
    if (!scenario) {
        item->fate = FATE_INVALID;
        return;
    }
    struct memo_place *place = place_of(search, worker, candidate, scenario);
    struct tsim_run_options options = {
        .is_brief = true, .is_step = search->options->is_for_candidates, .memo = place->memo};
    struct tsim_prediction prediction = {0};
    struct tsim_diags diags;
    while (!search->options->is_exhaustive && item->bound != TSIM_LEAST_STEP && is_next(search, item)) {
        enum tsim_least of = item->bound == TSIM_LEAST_ANY_SPLIT ? TSIM_LEAST_PASSES : TSIM_LEAST_STEP;
        scenario = bound_item(search, worker, candidate, scenario, options.memo, of, item);
        if (item->fate == FATE_OPEN && is_even_after_all(candidate, scenario))
            item->fate = FATE_SAME;
        keep_layers(worker, scenario, item);
        if (scenario->parallelism.balances)
            scenario = balanced_plan(search, arena, item, &candidate);
    }
    bool is_late = item->family >= 0 || bounds_late(search, candidate);
    if (is_next(search, item) && is_late && !tsim_is_played(scenario)) {
        item->fate = FATE_UNPLAYED;
    } else if (is_next(search, item) && search->looks_for == TSIM_PLAN_SIMULATED) {
        tsim_diags_init(&diags);
        enum tsim_status status = tsim_train_run(arena, scenario, &options, &prediction.result, &diags);
        bool is_good = status == TSIM_OK;
        item->fate = is_good ? FATE_SIMULATED : status == TSIM_ERR_STOPPED ? FATE_OPEN : FATE_FAILED;
        *point = (struct tsim_point){.position = item->position, .status = TSIM_POINT_OK};
        if (is_good)
            tsim_outcome_of(&prediction, &point->outcome);
        tsim_diags_release(&diags);
    } else if (item->fate == FATE_OPEN && is_excluded(search, item)) {
        item->fate = FATE_PRUNED;
    }
    if (item->fate == FATE_SIMULATED) {
        item->objective = objective_of(search, &point->outcome, false);
        item->price = price_of(scenario, &point->outcome);
        note_nearest(search, worker, item, &point->outcome, false);
    }
    tsim_arena_reset(arena);
}

static bool is_ahead(const struct item *a, const struct item *b) {
    return a->objective != b->objective ? a->objective > b->objective : a->position < b->position;
}

static void swap(struct item **a, struct item **b) {
    struct item *item = *a;
    *a = *b;
    *b = item;
}

static void push(struct queue *queue, struct item *item) {
    size_t at = queue->n++;
    for (queue->items[at] = item; at > 0 && is_ahead(queue->items[at], queue->items[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&queue->items[at], &queue->items[(at - 1) / 2]);
}

static struct item *pop(struct queue *queue) {
    struct item *first = queue->items[0], **items = queue->items;
    items[0] = items[--queue->n];
    for (size_t at = 0, next; (next = 2 * at + 1) < queue->n; at = next) {
        if (next + 1 < queue->n && is_ahead(items[next + 1], items[next]))
            next++;
        if (!is_ahead(items[next], items[at]))
            break;
        swap(&items[at], &items[next]);
    }
    return first;
}

static void join_front(struct known *known, const struct item *item) {
    size_t n = 0;
    if (is_beaten(known, item))
        return;
    for (size_t i = 0; i < known->n_front; i++)
        if (!beats(item, &known->front[i]))
            known->front[n++] = known->front[i];
    known->front = tsim_heap_grow(known->front, &known->capacity, n + 1, sizeof *known->front);
    known->front[n++] = *item;
    known->n_front = n;
}

static struct item *next_of(const struct search *search, struct queue *queue) {
    while (queue->n > 0) {
        struct item *item = pop(queue);
        if (!is_excluded(search, item))
            return item;
        item->fate = FATE_PRUNED;
    }
    return NULL;
}

/* If each candidate is asked only for its best plan, they take turns, so that a plan of each is known before others of
 * it are simulated. Each gives few plans at a time, because the first may exclude the others. */
enum { MOST_AT_A_TIME = 2 };

/* Takes the next open items that are not excluded by what is known; returns false if none is left. */
static bool next_round(struct search *search) {
    size_t most_turns = search->options->is_for_candidates ? MOST_AT_A_TIME : TSIM_PLAN_ROUND;
    search->n_round = 0;
    for (size_t turn = 0; turn < most_turns * search->n_queues && search->n_round < TSIM_PLAN_ROUND; turn++) {
        struct queue *queue = &search->queues[search->next_queue];
        bool is_bounded =
            search->looks_for == TSIM_PLAN_BOUND && queue->n > 0 && queue->items[0]->bound == TSIM_LEAST_STEP;
        struct item *item = is_bounded ? NULL : next_of(search, queue);
        search->next_queue = (search->next_queue + 1) % search->n_queues;
        if (item)
            search->round[search->n_round++] = item;
    }
    for (size_t i = 0; i < search->n_round; i++) {
        struct item *item = search->round[i];
        const struct queue *queue = &search->queues[search->options->is_for_candidates ? item->candidate : 0];
        item->rival = queue->n > 0 && !search->is_interrupted ? queue->items[0]->objective : -(double)INFINITY;
    }
    return search->n_round > 0;
}

/* Queues the items again that others have overtaken. */
static void queue_again(struct search *search) {
    for (size_t i = 0; i < search->n_round; i++)
        if (search->round[i]->fate == FATE_OPEN)
            push(&search->queues[search->options->is_for_candidates ? search->round[i]->candidate : 0],
                 search->round[i]);
}

static bool is_same_choice(const struct tsim_plan_choice *a, const struct tsim_plan_choice *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

/* Offers a plan to the best, among which it stands once, with the refinement that makes it the best. */
static void offer_best(struct search *search, const struct tsim_point *point) {
    struct tsim_best *best = &search->known.best;
    const struct tsim_plan_candidate *candidate = tsim_plan_candidate_at(search->options->space, point->position);
    struct tsim_plan_choice choice, other;
    tsim_plan_choice_at(candidate, point->position, &choice);
    choice = tsim_plan_coarse(candidate, &choice);
    for (size_t i = 0; i < best->n; i++) {
        const struct tsim_point *known = &best->points[i];
        if (tsim_plan_candidate_at(search->options->space, known->position) != candidate)
            continue;
        tsim_plan_choice_at(candidate, known->position, &other);
        other = tsim_plan_coarse(candidate, &other);
        if (!is_same_choice(&choice, &other))
            continue;
        if (tsim_ranking_is_better(&search->options->ranking, known, point))
            return;
        memmove(&best->points[i], &best->points[i + 1], (best->n - i - 1) * sizeof best->points[0]);
        best->n--;
        break;
    }
    tsim_best_offer(best, &search->options->ranking, point);
}

static void learn(struct search *search, struct tsim_plan_result *result) {
    const struct tsim_ranking *ranking = &search->options->ranking;
    for (size_t i = 0; i < search->n_round; i++) {
        const struct item *item = search->round[i];
        if (item->fate != FATE_SIMULATED || !tsim_ranking_admits(ranking, &search->points[i]))
            continue;
        result->n_admitted++;
        if (item->family >= 0) {
            struct best_of *family = search->families[item->family].best;
            family->objective = fmax(family->objective, item->objective);
        }
        offer_best(search, &search->points[i]);
        struct item *own = &search->known.own[item->candidate];
        if (own->fate == FATE_OPEN || is_ahead(item, own))
            *own = *item;
        struct item *safe = &search->known.safe;
        if (!item->may_not_fit && (safe->fate == FATE_OPEN || is_ahead(item, safe)))
            *safe = *item;
        if (!search->options->is_for_candidates)
            join_front(&search->known, item);
    }
}

static void report_to(tsim_plan_report_fn report, void *context, const struct search *search, bool is_bounding,
                      int64_t n_done, int64_t n_plans) {
    double left_s = (now_s() - search->began_s) * (double)(n_plans - n_done) / (double)n_done;
    const struct tsim_plan_progress progress = {n_plans, n_done, is_bounding, search->is_interrupted,
                                                n_done > 0 ? left_s : (double)NAN};
    if (report)
        report(context, &progress);
}

/* Fills the queues, if candidates are chosen those of them; items are in the order of their candidates. */
static size_t fill_queues(struct search *search, struct item **order) {
    size_t n = 0, n_queues = search->options->is_for_candidates ? search->options->space->n_candidates : 1;
    search->queues = TSIM_NEW_ARRAY(&search->kept, n_queues, struct queue);
    search->n_queues = n_queues;
    search->next_queue = 0;
    for (size_t i = 0; i < search->n_items; i++) {
        struct item *item = &search->items[i];
        struct queue *queue = &search->queues[search->options->is_for_candidates ? item->candidate : 0];
        if (item->fate != FATE_OPEN || (search->is_chosen && !search->is_chosen[item->candidate]))
            continue;
        queue->items = queue->items ? queue->items : &order[n];
        push(queue, item);
        n++;
    }
    return n;
}

static int64_t n_waiting(const struct search *search) {
    int64_t n = 0;
    for (size_t i = 0; i < search->n_queues; i++)
        n += (int64_t)search->queues[i].n;
    return n;
}

static void simulate_all(struct search *search, struct team *team, tsim_plan_report_fn report, void *context,
                         struct tsim_plan_result *result) {
    struct item **order = NULL;
    size_t capacity = 0;
    order = tsim_heap_grow(order, &capacity, search->n_items + 1, sizeof *order);
    int64_t n = (int64_t)fill_queues(search, order);
    search->began_s = now_s();
    /* An interrupt before anything is known leaves time for one round, so that there is something to show. */
    for (bool is_last = false;
         !is_last && (!search->is_interrupted || result->n_admitted == 0) && next_round(search);) {
        is_last = search->is_interrupted;
        search->heeds &= !is_last;
        team_run(team, search, simulate, search->n_round);
        learn(search, result);
        queue_again(search);
        search->is_interrupted |= is_interrupted(search);
        report_to(report, context, search, false, n - n_waiting(search), n);
    }
    tsim_heap_free(order);
}

/* ---- the result ---- */

static void list_plan(struct search *search, size_t candidate, int32_t family, int64_t position) {
    search->items = tsim_heap_grow(search->items, &search->capacity, search->n_items + 1, sizeof *search->items);
    search->items[search->n_items++] =
        (struct item){.position = position, .candidate = (int32_t)candidate, .family = family, .fate = FATE_UNSEEN};
}

static void list_plans(struct search *search, size_t c) {
    const struct tsim_plan_candidate *candidate = &search->options->space->candidates[c];
    struct tsim_plan_choice choice;
    for (int64_t at = candidate->first_position; tsim_plan_coarse_from(candidate, &at, &choice); at++)
        list_plan(search, c, -1, at);
}

/* Drops the plans that are no plans or do not fit, as far as is known. */
static void keep_open(struct search *search) {
    size_t n = search->first_unbounded;
    for (size_t i = n; i < search->n_items; i++) {
        const struct item *item = &search->items[i];
        struct outcomes *outcomes = &search->outcomes[item->candidate];
        outcomes->n_invalid += item->fate == FATE_INVALID;
        outcomes->n_unplayed += item->fate == FATE_UNPLAYED;
        outcomes->n_too_large += item->fate == FATE_TOO_LARGE;
        if (item->fate == FATE_TOO_LARGE)
            outcomes->least_excess_bytes = fmin(outcomes->least_excess_bytes, item->excess_bytes);
        search->n_unseen -= item->fate != FATE_UNSEEN;
        if (item->fate != FATE_OPEN)
            continue;
        outcomes->n_open++;
        search->items[n++] = *item;
    }
    search->n_items = n;
}

/* Returns whether the item's turn has shown that it does not fit, is not played or is no plan of its own. Such plans are
 * counted with those that fell out before. */
static bool is_out_late(const struct item *item) {
    return item->fate == FATE_TOO_LARGE || item->fate == FATE_UNPLAYED || item->fate == FATE_INVALID ||
           item->fate == FATE_SAME;
}

static void count_late(struct search *search) {
    for (size_t i = 0; i < search->n_items; i++) {
        const struct item *item = &search->items[i];
        struct outcomes *outcomes = &search->outcomes[item->candidate];
        if (!is_out_late(item))
            continue;
        outcomes->n_open--;
        outcomes->n_invalid += item->fate == FATE_INVALID;
        outcomes->n_unplayed += item->fate == FATE_UNPLAYED;
        outcomes->n_too_large += item->fate == FATE_TOO_LARGE;
        if (item->fate == FATE_TOO_LARGE)
            outcomes->least_excess_bytes = fmin(outcomes->least_excess_bytes, item->excess_bytes);
    }
}

/* Bounds some candidates at a time, so that what falls out takes no memory. How many plans the others have is expected
 * from these. */
static void bound_all(struct search *search, struct team *team, tsim_plan_report_fn report, void *context) {
    size_t n_candidates = search->options->space->n_candidates;
    search->began_s = now_s();
    for (size_t c = 0; c < n_candidates && !search->is_interrupted;) {
        search->first_unbounded = search->n_items;
        while (c < n_candidates && search->n_items - search->first_unbounded < MOST_LISTED && !is_interrupted(search))
            list_plans(search, c++);
        size_t n = search->n_items - search->first_unbounded;
        search->n_total += (int64_t)n;
        search->n_unseen += (int64_t)n;
        search->n_unlisted = n_candidates - c;
        team_run(team, search, bound_block, (n + BLOCK_ITEMS - 1) / BLOCK_ITEMS);
        keep_open(search);
        search->is_interrupted = is_interrupted(search);
        double n_expected = c > 0 ? (double)search->n_total * (double)n_candidates / (double)c : 0;
        report_to(report, context, search, true, search->n_total - search->n_unseen, llround(n_expected));
    }
}

/* ---- refinements ---- */

/* Returns whether a plan whose ranks lie otherwise than its coarse plan's has passes that take the same time, because
 * nothing that they exchange goes another way. */
static bool passes_stay(const struct tsim_plan_candidate *candidate, const struct tsim_plan_choice *choice) {
    const enum tsim_axis *order = candidate->job->parallelism.order;
    if (candidate->axes[TSIM_PLAN_ORDER].n == 1)
        return true;
    for (size_t i = 0, after_data = 0; i < TSIM_N_AXES; i++) {
        after_data |= order[i] == TSIM_AXIS_DATA;
        if (after_data && ((order[i] == TSIM_AXIS_TENSOR && choice->value[TSIM_PLAN_TENSOR] > 1) ||
                           (order[i] == TSIM_AXIS_CONTEXT && choice->value[TSIM_PLAN_CONTEXT] > 1)))
            return false;
    }
    return choice->value[TSIM_PLAN_EXPERT] == 1;
}

static bool limits_memory(const struct search *search) {
    for (size_t i = 0; i < search->options->ranking.n_limits; i++)
        if (search->options->ranking.limits[i].figure == TSIM_OUTCOME_MEMORY_PEAK)
            return true;
    return false;
}

/* Loosens an item's bound, if need be, to that of a relaxed choice, whose scenario becomes the one that is bounded. */
static void loosen(const struct search *search, struct worker *worker, const struct tsim_plan_candidate *candidate,
                   const struct tsim_scenario *scenario, struct item *item) {
    struct tsim_prediction bound = {0};
    struct tsim_outcome outcome;
    if (!tsim_is_played(scenario)) {
        item->objective = (double)INFINITY;
        item->price = (struct tsim_plan_price){0};
        item->breaks_limit = false;
        return;
    }
    tsim_train_bound_any_memory(&worker->scratch, scenario, place_of(search, worker, candidate, scenario)->memo,
                                TSIM_LEAST_PASSES, &bound.result);
    tsim_outcome_of(&bound, &outcome);
    double objective = isnan(outcome.value[search->options->ranking.objective]) ? (double)INFINITY
                                                                                : objective_of(search, &outcome, true);
    struct tsim_plan_price price = price_of(scenario, &outcome);
    item->objective = fmax(item->objective, objective);
    item->price = (struct tsim_plan_price){.time_s = fmin(item->price.time_s, price.time_s),
                                           .cost_usd = fmin(item->price.cost_usd, price.cost_usd),
                                           .energy_j = fmin(item->price.energy_j, price.energy_j)};
    item->breaks_limit &= !limits_memory(search) && breaks_limit(search, &outcome);
    note_nearest(search, worker, item, &outcome, true);
}

/* Returns the scenario of a relaxed choice, with layers that are not balanced if they cannot be; NULL if it has none. */
static const struct tsim_scenario *relaxed_plan(struct worker *worker, const struct tsim_plan_candidate *candidate,
                                                struct tsim_plan_choice choice) {
    const struct tsim_scenario *scenario;
    if (tsim_scenario_replan(&worker->scratch, candidate->job, &choice, &scenario))
        return scenario;
    bool is_balanced = choice.value[TSIM_PLAN_LAYERS];
    choice.value[TSIM_PLAN_LAYERS] = 0;
    return is_balanced && tsim_scenario_replan(&worker->scratch, candidate->job, &choice, &scenario) ? scenario : NULL;
}

/* Returns whether no plan of the family fits, as far as is known before layers are balanced. */
static bool is_too_large(const struct search *search, struct worker *worker,
                         const struct tsim_plan_candidate *candidate, struct tsim_plan_choice choice) {
    const struct tsim_plan_axis *offloads = &candidate->axes[TSIM_PLAN_OFFLOAD];
    bool is_valid = false;
    if (search->known.own[candidate - search->options->space->candidates].fate == FATE_OPEN)
        return false;
    for (size_t i = 0; i < offloads->n; i++) {
        choice.value[TSIM_PLAN_OFFLOAD] = offloads->values[i];
        const struct tsim_scenario *scenario = relaxed_plan(worker, candidate, choice);
        is_valid |= scenario != NULL;
        if (scenario && may_fit(search, worker, scenario, !search->families_recompute))
            return false;
    }
    return is_valid;
}

/* Relaxes an item to a bound of its whole family: with the least recomputation, for any split of the layers if some plan
 * balances them, any memory and each order of the ranks. More recomputation makes its passes longer, and offloading only
 * adds copies to them. */
static void relax(const struct search *search, struct worker *worker, struct item *item) {
    const struct tsim_plan_candidate *candidate = tsim_plan_candidate_at(search->options->space, item->position);
    const struct tsim_plan_axis *orders = &candidate->axes[TSIM_PLAN_ORDER];
    struct tsim_plan_choice choice;
    tsim_plan_choice_at(candidate, item->position, &choice);
    if (!search->families_recompute)
        choice.value[TSIM_PLAN_RECOMPUTE] = TSIM_RECOMPUTE_NONE;
    choice.value[TSIM_PLAN_LAYERS] = tsim_plan_may_balance(candidate, &choice);
    choice.value[TSIM_PLAN_OFFLOAD] = 0;
    size_t n_orders = passes_stay(candidate, &choice) ? 1 : orders->n;
    /* Most families fall out by their passes' bound; but for each kind of recomputation passes are simulated anew. */
    item->fate = FATE_TOO_LARGE;
    if (search->families_recompute && is_too_large(search, worker, candidate, choice))
        return;
    item->fate = FATE_INVALID;
    item->objective = -(double)INFINITY;
    item->price = (struct tsim_plan_price){(double)INFINITY, (double)INFINITY, (double)INFINITY};
    item->breaks_limit = true;
    for (size_t i = 0; i < n_orders; i++) {
        choice.value[TSIM_PLAN_ORDER] = orders->values[i];
        const struct tsim_scenario *scenario = relaxed_plan(worker, candidate, choice);
        if (!scenario)
            continue;
        item->fate = FATE_OPEN;
        loosen(search, worker, candidate, scenario, item);
    }
    if (item->fate == FATE_OPEN && !search->families_recompute && !is_excluded(search, item) &&
        is_too_large(search, worker, candidate, choice))
        item->fate = FATE_TOO_LARGE;
}

static void relax_block(struct search *search, struct worker *worker, size_t block) {
    size_t first = block * BLOCK_ITEMS, left = search->n_families - first;
    for (size_t i = first; i < first + (left < BLOCK_ITEMS ? left : BLOCK_ITEMS); i++) {
        relax(search, worker, &search->families[i].item);
        tsim_arena_reset(&worker->scratch);
    }
}

static void add_family(struct search *search, int64_t position, size_t candidate, int64_t n_fine,
                       struct best_of *best) {
    search->families =
        tsim_heap_grow(search->families, &search->family_capacity, search->n_families + 1, sizeof *search->families);
    search->families[search->n_families++] = (struct family){
        .item = {.position = position, .candidate = (int32_t)candidate, .family = -1, .fate = FATE_OPEN},
        .n_fine = n_fine,
        .best = best};
}

static int64_t count_fine(const struct tsim_plan_candidate *candidate, int64_t first, int64_t n_positions) {
    struct tsim_plan_choice choice;
    int64_t n = 0;
    for (int64_t at = first; tsim_plan_choice_from(candidate, &at, &choice) && at < first + n_positions; at++)
        n += tsim_plan_is_fine(candidate, &choice);
    return n;
}

/* Counts the refinements among a family's positions. The keys after recompute are the same plans under each of its
 * values, so they are counted once for values that are refinements themselves, and once for the others. */
static int64_t count_family(const struct tsim_plan_candidate *candidate, int64_t first) {
    int64_t stride = tsim_plan_stride(candidate, TSIM_PLAN_LAYERS), known[2] = {-1, -1}, n = 0;
    struct tsim_plan_choice choice;
    for (size_t r = 0; r < candidate->axes[TSIM_PLAN_RECOMPUTE].n; r++, first += stride) {
        int64_t at = first, *each = &known[r >= candidate->n_coarse_recomputes];
        if (!tsim_plan_choice_from(candidate, &at, &choice) || at >= first + stride)
            continue;
        *each = *each < 0 ? count_fine(candidate, first, stride) : *each;
        n += *each;
    }
    return n;
}

static int64_t list_families(struct search *search) {
    int64_t n_fine = 0;
    for (size_t c = 0; c < search->options->space->n_candidates; c++) {
        const struct tsim_plan_candidate *candidate = &search->options->space->candidates[c];
        int64_t stride = tsim_plan_stride(candidate, TSIM_PLAN_RECOMPUTE), first = candidate->first_position;
        struct tsim_plan_choice choice;
        if (candidate->is_coarse)
            continue;
        search->is_interrupted |= is_interrupted(search);
        if (search->is_interrupted && c > 0) {
            size_t n_left = search->options->space->n_candidates - c;
            search->n_unlisted = search->n_unlisted > n_left ? search->n_unlisted : n_left;
            break;
        }
        for (int64_t at = first; tsim_plan_choice_from(candidate, &at, &choice);) {
            at -= (at - first) % stride;
            int64_t n = count_family(candidate, at);
            if (n > 0)
                add_family(search, at, c, n, NULL);
            n_fine += n;
            at += stride;
        }
    }
    return n_fine;
}

/* Drops families that their bounds exclude, or that do not fit. If the memory has a limit, too, the value nearest to that limit needs all
 * plans, and other limits drop nothing. */
static void prune_families(struct search *search, struct team *team) {
    size_t n = 0;
    team_run(team, search, relax_block, (search->n_families + BLOCK_ITEMS - 1) / BLOCK_ITEMS);
    for (size_t i = 0; i < search->n_families; i++) {
        const struct family *family = &search->families[i];
        bool is_open = family->item.fate == FATE_OPEN && !is_excluded(search, &family->item);
        search->n_pruned_unlisted += family->item.fate != FATE_INVALID && !is_open ? family->n_fine : 0;
        if (is_open)
            search->families[n++] = *family;
    }
    search->n_families = n;
}

/* Splits each family into one for each value of recompute. */
static void split_families(struct search *search) {
    struct family *whole = search->families;
    size_t n = search->n_families;
    search->families = NULL;
    search->n_families = search->family_capacity = 0;
    search->families_recompute = true;
    for (size_t i = 0; i < n; i++) {
        const struct tsim_plan_candidate *candidate = &search->options->space->candidates[whole[i].item.candidate];
        const struct tsim_plan_axis *recomputes = &candidate->axes[TSIM_PLAN_RECOMPUTE];
        int64_t stride = tsim_plan_stride(candidate, TSIM_PLAN_LAYERS), at = whole[i].item.position;
        struct best_of *bests = TSIM_NEW_ARRAY(&search->kept, TSIM_RECOMPUTE_EVERY + 1, struct best_of);
        for (int mode = 0; mode <= TSIM_RECOMPUTE_EVERY; mode++)
            bests[mode].objective = -(double)INFINITY;
        for (size_t r = 0; r < recomputes->n; r++, at += stride) {
            int64_t n_fine = count_fine(candidate, at, stride);
            if (n_fine > 0)
                add_family(search, at, (size_t)whole[i].item.candidate, n_fine,
                           &bests[tsim_plan_coarse_recompute(recomputes->values[r])]);
        }
    }
    tsim_heap_free(whole);
}

/* Tells families from the start what their coarse plans reach. */
static void find_bests(struct search *search) {
    const struct tsim_ranking *ranking = &search->options->ranking;
    size_t at = 0; /* items and families are in the order of their positions */
    for (size_t i = 0; i < search->n_items && ranking->n_limits == 0; i++) { /* with limits it may not be admitted */
        const struct item *item = &search->items[i];
        const struct tsim_plan_candidate *candidate = &search->options->space->candidates[item->candidate];
        int64_t stride = tsim_plan_stride(candidate, TSIM_PLAN_LAYERS);
        while (at < search->n_families && search->families[at].item.position + stride <= item->position)
            at++;
        if (at < search->n_families && search->families[at].item.position <= item->position &&
            item->fate == FATE_SIMULATED)
            search->families[at].best->objective = fmax(search->families[at].best->objective, item->objective);
    }
}

/* Gives a plan the bound of its family, which is that of any split of its layers. */
static void take_bound(const struct item *family, struct item *item) {
    item->fate = FATE_OPEN;
    item->bound = TSIM_LEAST_ANY_SPLIT;
    item->objective = family->objective;
    item->price = family->price;
}

/* Lists refinements. Each waits with the bound of its family until its turn comes: to balance its layers and find out
 * whether it fits takes most of a search's time. If there are limits, all plans tell how near they come to them. */
static void list_fine(struct search *search) {
    bool waits = !search->options->is_exhaustive && search->options->ranking.n_limits == 0;
    for (size_t i = 0; i < search->n_families; i++) {
        const struct item *item = &search->families[i].item;
        const struct tsim_plan_candidate *candidate = &search->options->space->candidates[item->candidate];
        int64_t end = item->position + tsim_plan_stride(candidate, TSIM_PLAN_LAYERS);
        struct tsim_plan_choice choice;
        for (int64_t at = item->position; tsim_plan_choice_from(candidate, &at, &choice) && at < end; at++)
            if (tsim_plan_is_fine(candidate, &choice)) {
                list_plan(search, (size_t)item->candidate, (int32_t)i, at);
                if (waits && isfinite(item->objective))
                    take_bound(item, &search->items[search->n_items - 1]);
            }
    }
}

static bool prunes(const struct search *search) {
    const struct tsim_ranking *ranking = &search->options->ranking;
    for (size_t i = 0; i < ranking->n_limits; i++)
        if (!is_bounded(ranking->limits[i].figure))
            return false;
    return is_bounded(ranking->objective);
}

/* Refines the coarse plans. Their refinements are many times as many, and what is known of the coarse ones tells first
 * which are worth a bound of their own. */
static void refine(struct search *search, struct team *team, tsim_plan_report_fn report, void *context,
                   struct tsim_plan_result *result) {
    int64_t n_fine = list_families(search);
    result->is_unrefined = n_fine > 0 && !prunes(search);
    if (result->is_unrefined)
        return;
    if (n_fine == 0 || search->is_interrupted) {
        search->n_unseen += n_fine;
        return;
    }
    if (!search->options->is_exhaustive)
        prune_families(search, team);
    split_families(search);
    if (!search->options->is_exhaustive)
        prune_families(search, team);
    find_bests(search);
    search->first_unbounded = search->n_items;
    list_fine(search);
    size_t n = search->n_items - search->first_unbounded;
    search->n_total = search->n_unseen = (int64_t)n;
    search->began_s = now_s();
    team_run(team, search, bound_block, (n + BLOCK_ITEMS - 1) / BLOCK_ITEMS);
    keep_open(search);
    search->is_interrupted = is_interrupted(search);
    report_to(report, context, search, true, search->n_total - search->n_unseen, search->n_total);
    simulate_all(search, team, report, context, result);
}

static void count(struct search *search, struct tsim_plan_result *result) {
    count_late(search);
    result->n_plans = search->n_pruned_unlisted; /* and those that are counted below */
    result->n_pruned = search->n_pruned_unlisted;
    result->least_excess_bytes = (double)NAN;
    for (size_t c = 0; c < search->options->space->n_candidates; c++) {
        const struct outcomes *outcomes = &search->outcomes[c];
        result->n_plans += outcomes->n_invalid + outcomes->n_unplayed + outcomes->n_too_large;
        result->n_invalid += outcomes->n_invalid;
        result->n_unplayed += outcomes->n_unplayed;
        result->n_too_large += outcomes->n_too_large;
        result->least_excess_bytes = fmin(result->least_excess_bytes, outcomes->least_excess_bytes);
    }
    for (size_t i = 0; i < search->n_items; i++) {
        enum fate fate = search->items[i].fate;
        result->n_plans += !is_out_late(&search->items[i]);
        bool is_passed_over = fate == FATE_OPEN && search->options->choose && !search->is_interrupted;
        result->n_pruned += fate == FATE_PRUNED || is_passed_over;
        result->n_evaluated += fate == FATE_SIMULATED || fate == FATE_FAILED;
        result->n_unseen += fate == FATE_OPEN && !is_passed_over;
        struct outcomes *outcomes = &search->outcomes[search->items[i].candidate];
        outcomes->n_simulated += fate == FATE_SIMULATED;
        outcomes->n_ranked += fate == FATE_SIMULATED && isfinite(search->items[i].objective);
    }
    result->n_unbounded = search->n_unseen;
    result->n_unseen += search->n_unseen;
    result->n_unlisted = search->n_unlisted;
    result->is_interrupted |= search->is_interrupted && result->n_unseen + (int64_t)result->n_unlisted > 0;
}

/* ---- candidates without a plan ---- */

static double nearest_of(const struct search *search, const struct team *team, size_t candidate, size_t limit) {
    const struct tsim_ranking *ranking = &search->options->ranking;
    double nearest = (double)NAN;
    for (int32_t i = 0; i < team->n; i++)
        nearest = better_of(ranking->limits[limit].figure, nearest,
                            team->workers[i].nearest[candidate * ranking->n_limits + limit]);
    return nearest;
}

static void find_missed_limit(const struct search *search, const struct team *team, size_t candidate,
                              struct tsim_plan_gap *gap) {
    const struct tsim_ranking *ranking = &search->options->ranking;
    double worst = 0;
    for (size_t i = 0; i < ranking->n_limits; i++) {
        const struct tsim_limit *limit = &ranking->limits[i];
        double nearest = nearest_of(search, team, candidate, i);
        double miss = tsim_limit_miss(limit, nearest);
        if (!(miss > worst))
            continue;
        worst = miss;
        gap->limit = limit;
        gap->nearest = nearest;
    }
}

/* Finds, if no limit is missed, the figure that is limited or ranked by and has no value. */
static void find_unknown_figure(const struct search *search, const struct team *team, size_t candidate,
                                struct tsim_plan_gap *gap) {
    const struct tsim_ranking *ranking = &search->options->ranking;
    for (size_t i = 0; i < ranking->n_limits; i++)
        if (isnan(nearest_of(search, team, candidate, i))) {
            gap->lack = TSIM_PLAN_LACKS_FIGURE;
            gap->figure = ranking->limits[i].figure;
            return;
        }
    if (search->outcomes[candidate].n_simulated == 0 || search->outcomes[candidate].n_ranked > 0)
        return;
    gap->lack = TSIM_PLAN_LACKS_FIGURE;
    gap->figure = ranking->objective;
}

static void find_gap(const struct search *search, const struct team *team, size_t candidate,
                     struct tsim_plan_gap *gap) {
    const struct outcomes *outcomes = &search->outcomes[candidate];
    bool fits = outcomes->n_open > 0, is_valid = fits || outcomes->n_too_large > 0;
    *gap = (struct tsim_plan_gap){.candidate = &search->options->space->candidates[candidate],
                                  .excess_bytes = outcomes->least_excess_bytes};
    gap->capacity_bytes = gap->candidate->job->cluster.node->accelerator->memory_bytes;
    gap->lack = !is_valid ? TSIM_PLAN_LACKS_VALID : !fits ? TSIM_PLAN_LACKS_MEMORY : TSIM_PLAN_LACKS_LIMIT;
    if (!is_valid)
        tsim_plan_nearest_batches(gap->candidate, &gap->batch_below, &gap->batch_above);
    else if (fits)
        find_missed_limit(search, team, candidate, gap);
    if (fits && !gap->limit)
        find_unknown_figure(search, team, candidate, gap);
}

static void find_gaps(struct tsim_arena *arena, const struct search *search, const struct team *team,
                      struct tsim_plan_result *result) {
    size_t n = search->options->space->n_candidates;
    struct tsim_plan_gap *gaps = TSIM_NEW_ARRAY(arena, n, struct tsim_plan_gap);
    for (size_t c = 0; c < n && !result->is_interrupted && !search->options->choose; c++)
        if (search->known.own[c].fate != FATE_SIMULATED)
            find_gap(search, team, c, &gaps[result->n_gaps++]);
    result->gaps = gaps;
}

/* Stands for days and cost of a run without a length, or with a step without an interval. */
static const struct tsim_percentiles NOT_KNOWN = {(double)NAN, (double)NAN, (double)NAN};

enum tsim_status tsim_plan_play(struct tsim_arena *arena, const struct tsim_evidence *evidence,
                                const struct tsim_scenario *scenario, struct tsim_plan *plan,
                                struct tsim_diags *diags) {
    const struct tsim_run_options options = {.ignore_memory = false};
    struct tsim_arena own; /* a run's results are a hundred times what is kept of them */
    struct tsim_prediction prediction = {0};
    const struct tsim_uncertainty *u = &prediction.uncertainty;
    tsim_arena_init(&own);
    enum tsim_status status = tsim_train_run(&own, scenario, &options, &prediction.result, diags);
    if (status == TSIM_OK) {
        tsim_uncertainty_set(&own, evidence, &prediction);
        plan->point.status = TSIM_POINT_OK;
        tsim_outcome_of(&prediction, &plan->point.outcome);
        plan->price = price_of(scenario, &plan->point.outcome);
        plan->days = u->has_run ? u->days : NOT_KNOWN;
        plan->days_at = u->days_at;
        plan->missed_frac = u->missed_frac;
        plan->cost_usd = u->has_run ? u->cost_usd : NOT_KNOWN;
        plan->may_not_fit =
            tsim_may_not_fit(prediction.result.step.memory.peak_bytes, prediction.result.step.memory.capacity_bytes);
        plan->n_similar_runs = u->basis ? u->n_similar : -1;
        plan->n_own_runs = u->basis ? u->n_own : -1;
        plan->unknown = u->basis ? tsim_uncertainty_reasons(arena, u) : NULL;
    }
    tsim_arena_release(&own);
    return status;
}

static void lack(struct tsim_arena *arena, const char **text, const char *what) {
    *text = tsim_arena_printf(arena, "%s%s%s", *text ? *text : "", *text ? ", " : "", what);
}

/* Returns what the job's software cannot run of the plan, "schedule zb-v, ZeRO-1"; NULL if it can run all of it, as far
 * as its profile says. */
static const char *lacking(struct tsim_arena *arena, const struct tsim_plan_candidate *candidate,
                           const struct tsim_scenario *scenario, const struct tsim_plan_choice *choice) {
    const struct tsim_supports *supports = &scenario->software->supports;
    struct tsim_unsupported list[TSIM_MOST_UNSUPPORTED];
    struct tsim_plan_choice own = *choice;
    const char *text = NULL, *name;
    if (!supports->splits)
        return NULL;
    size_t n = tsim_scenario_unsupported(arena, scenario, list);
    for (size_t i = 0; i < n; i++)
        lack(arena, &text, list[i].what);
    int64_t recompute = choice->value[TSIM_PLAN_RECOMPUTE];
    if (tsim_plan_recompute_parts(recompute) > 0 && !tsim_supports_value(supports, TSIM_PLAN_RECOMPUTE, recompute))
        lack(arena, &text, "recomputation of such parts");
    if (!tsim_supports_value(supports, TSIM_PLAN_ORDER, choice->value[TSIM_PLAN_ORDER]))
        lack(arena, &text, "stages inside replicas");
    own.value[TSIM_PLAN_OVERLAP] = TSIM_OVERLAP_OF_SOFTWARE;
    unsigned more = tsim_plan_more_overlap(candidate->job, choice) & ~tsim_plan_more_overlap(candidate->job, &own);
    for (size_t i = 0; (name = tsim_overlap_name(i)); i++)
        if (more >> i & 1)
            lack(arena, &text, tsim_arena_printf(arena, "overlap.%s", name));
    return text;
}

/* Runs the plan again, in full, because the search itself does without tables, intervals and the whole run. */
static enum tsim_status run_again(struct tsim_arena *arena, const struct search *search, int64_t position,
                                  struct tsim_plan *plan, struct tsim_diags *diags) {
    struct tsim_arena own;
    tsim_arena_init(&own);
    const struct tsim_scenario *scenario = plan_of(search, &own, position, &plan->candidate);
    plan->point = (struct tsim_point){.position = position};
    tsim_plan_choice_at(plan->candidate, position, &plan->choice);
    enum tsim_status status = tsim_plan_play(arena, &search->evidence, scenario, plan, diags);
    if (status == TSIM_OK)
        plan->set_json = tsim_plan_set_json(arena, plan->candidate, &plan->choice);
    if (search->options->space->extent == TSIM_PLAN_ANY_SOFTWARE)
        plan->lacking = lacking(arena, plan->candidate, scenario, &plan->choice);
    tsim_arena_release(&own);
    return status;
}

/* Completes the best plan of a candidate on a worker's thread; its texts are the worker's. */
static void complete_own(struct search *search, struct worker *worker, size_t piece) {
    size_t c = search->owned[search->first_owned + piece];
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    search->own[c] = (struct tsim_plan){.knowledge = TSIM_PLAN_SIMULATED};
    search->own_status[c] = run_again(&worker->kept, search, search->known.own[c].position, &search->own[c], &diags);
    tsim_diags_release(&diags);
}

/* Tells the listener of an interrupt at once, while what was found is still being completed. */
static void tell_interrupt(struct search *search, tsim_plan_report_fn report, void *context) {
    if (search->options->heeds_interrupt && !search->is_interrupted && tsim_is_interrupted()) {
        search->is_interrupted = true;
        report_to(report, context, search, false, 1, 1);
    }
}

/* Works on the candidates that are owned, a round at a time. */
static void work_on_owned(struct search *search, struct team *team,
                          void (*work)(struct search *search, struct worker *worker, size_t index),
                          tsim_plan_report_fn report, void *context) {
    for (search->first_owned = 0; search->first_owned < search->n_owned; search->first_owned += TSIM_PLAN_ROUND) {
        size_t left = search->n_owned - search->first_owned;
        team_run(team, search, work, left < TSIM_PLAN_ROUND ? left : TSIM_PLAN_ROUND);
        tell_interrupt(search, report, context);
    }
}

/* Runs the best plans of the candidates that were chosen in full, interrupted or not. */
static enum tsim_status complete_chosen(struct tsim_arena *arena, struct search *search, struct team *team,
                                        tsim_plan_report_fn report, void *context, struct tsim_plan_result *result,
                                        struct tsim_diags *diags) {
    bool heeds = search->heeds;
    search->heeds = false;
    atomic_store(&search->ends_ms, 0);
    search->n_owned = 0;
    for (size_t c = 0; c < search->options->space->n_candidates; c++) {
        if (search->is_chosen[c] && search->known.own[c].fate == FATE_SIMULATED)
            search->owned[search->n_owned++] = c;
        else if (search->is_chosen[c])
            search->own[c].candidate = NULL;
    }
    work_on_owned(search, team, complete_own, report, context);
    search->heeds = heeds;
    for (size_t i = 0; i < search->n_owned; i++) {
        size_t c = search->owned[i];
        struct tsim_plan *plan = &search->own[c];
        plan->is_left_out = search->own_status[c] == TSIM_ERR_STOPPED;
        result->is_interrupted |= plan->is_left_out;                /* the caller has more to search */
        if (!plan->is_left_out && search->own_status[c] != TSIM_OK) /* runs once more, to report the reason */
            return run_again(arena, search, search->known.own[c].position, plan, diags);
        if (plan->is_left_out)
            continue;
        plan->set_json = tsim_arena_strdup(arena, plan->set_json);
        plan->unknown = plan->unknown ? tsim_arena_strdup(arena, plan->unknown) : NULL;
        plan->lacking = plan->lacking ? tsim_arena_strdup(arena, plan->lacking) : NULL;
    }
    return TSIM_OK;
}

/* ---- bounds of candidates ---- */

/* The interval around a prediction depends on what the model is split by, in any of these ways. */
enum { N_SPLITS = 32 };

static size_t splits_of(const struct tsim_plan_choice *choice) {
    const int64_t *v = choice->value;
    return (size_t)(v[TSIM_PLAN_ZERO] == 3) | (size_t)(v[TSIM_PLAN_TENSOR] > 1) << 1 |
           (size_t)(v[TSIM_PLAN_PIPELINE] > 1) << 2 | (size_t)(v[TSIM_PLAN_CONTEXT] > 1) << 3 |
           (size_t)(v[TSIM_PLAN_EXPERT] > 1) << 4;
}

/* Lowers a candidate's bound to that of the plans whose first is the item. */
static void lower_bound(struct search *search, struct worker *worker, const struct item *item, struct tsim_plan *own) {
    struct tsim_arena *arena = &worker->scratch;
    const struct tsim_plan_candidate *candidate;
    const struct tsim_scenario *scenario = balanced_plan(search, arena, item, &candidate);
    struct tsim_prediction bound = {0};
    const struct tsim_uncertainty *u = &bound.uncertainty;
    struct tsim_outcome *outcome = &own->point.outcome;
    tsim_train_bound(arena, scenario, place_of(search, worker, candidate, scenario)->memo, item->bound, &bound.result);
    tsim_uncertainty_set(arena, &search->evidence, &bound);
    tsim_outcome_of(&bound, outcome);
    outcome->value[TSIM_OUTCOME_ELECTRICITY] *= 0; /* NAN stays: it is not known */
    outcome->value[TSIM_OUTCOME_ENERGY_KWH] *= 0;
    outcome->value[TSIM_OUTCOME_LOADED_POWER] *= 0;
    own->candidate = candidate;
    own->n_similar_runs = u->basis ? u->n_similar : -1;
    own->n_own_runs = u->basis ? u->n_own : -1;
    if (u->has_run) {
        for (int i = 0; i < TSIM_DISTRIBUTION_POINTS; i++)
            own->days_at.at[i] = fmin(own->days_at.at[i], u->days_at.at[i]);
        own->days = (struct tsim_percentiles){.p10 = fmin(own->days.p10, u->days.p10),
                                              .p50 = fmin(own->days.p50, u->days.p50),
                                              .p90 = fmin(own->days.p90, u->days.p90)};
        own->missed_frac = fmin(own->missed_frac, u->missed_frac);
    }
    tsim_arena_reset(arena);
}

/* Bounds a candidate by the plans that are open, in each way to split the model by the first of them. */
static void bound_own(struct search *search, struct worker *worker, size_t piece) {
    size_t c = search->owned[search->first_owned + piece];
    const struct item *firsts[N_SPLITS] = {NULL};
    struct tsim_plan *own = &search->own[c];
    for (size_t i = search->first_items[c]; i < search->first_items[c + 1]; i++) {
        const struct item *item = &search->items[i];
        struct tsim_plan_choice choice;
        if (item->fate != FATE_OPEN)
            continue;
        tsim_plan_choice_at(&search->options->space->candidates[c], item->position, &choice);
        const struct item **first = &firsts[splits_of(&choice)];
        *first = !*first || is_ahead(item, *first) ? item : *first;
    }
    *own = (struct tsim_plan){.knowledge = search->looks_for, .missed_frac = 1, .days = NOT_KNOWN};
    for (int i = 0; i < TSIM_DISTRIBUTION_POINTS; i++)
        own->days_at.at[i] = (double)INFINITY;
    for (size_t k = 0; k < N_SPLITS; k++)
        if (firsts[k])
            lower_bound(search, worker, firsts[k], own);
}

static void find_first_items(struct tsim_arena *arena, struct search *search) {
    size_t n = search->options->space->n_candidates;
    search->first_items = TSIM_NEW_ARRAY(arena, n + 1, size_t);
    for (size_t i = 0; i < search->n_items; i++)
        search->first_items[search->items[i].candidate + 1]++;
    for (size_t c = 0; c < n; c++)
        search->first_items[c + 1] += search->first_items[c];
}

/* Bounds the candidates that are chosen, as closely as has been looked. */
static void bound_chosen(struct search *search, struct team *team, tsim_plan_report_fn report, void *context) {
    search->n_owned = 0;
    for (size_t c = 0; c < search->options->space->n_candidates; c++)
        if (search->is_chosen[c])
            search->owned[search->n_owned++] = c;
    work_on_owned(search, team, bound_own, report, context);
}

/* Keeps those of the chosen candidates of which least is known, and says how closely they are looked at. */
static void choose_least_known(struct search *search) {
    size_t n = search->options->space->n_candidates;
    search->looks_for = TSIM_PLAN_SIMULATED;
    for (size_t c = 0; c < n; c++)
        if (search->is_chosen[c] && search->own[c].knowledge == TSIM_PLAN_LOOSE_BOUND)
            search->looks_for = TSIM_PLAN_BOUND;
    for (size_t c = 0; c < n && search->looks_for == TSIM_PLAN_BOUND; c++)
        search->is_chosen[c] &= search->own[c].knowledge == TSIM_PLAN_LOOSE_BOUND;
}

static void choose_all(struct search *search) {
    for (size_t c = 0; c < search->options->space->n_candidates; c++)
        search->is_chosen[c] = true;
}

static bool choose_again(struct search *search) {
    memset(search->is_chosen, 0, search->options->space->n_candidates * sizeof *search->is_chosen);
    if (search->is_interrupted ||
        !search->options->choose(search->options->choose_context, search->own, search->is_chosen))
        return false;
    choose_least_known(search);
    return true;
}

/* Finds the best plans of all candidates, or of those that the caller chooses by what is known of them: first by a
 * bound, then by a closer one, then by simulations. */
static enum tsim_status search_candidates(struct tsim_arena *arena, struct search *search, struct team *team,
                                          tsim_plan_report_fn report, void *context, struct tsim_plan_result *result,
                                          struct tsim_diags *diags) {
    size_t n = search->options->space->n_candidates;
    search->own = TSIM_NEW_ARRAY(arena, n, struct tsim_plan);
    search->own_status = TSIM_NEW_ARRAY(arena, n, enum tsim_status);
    search->owned = TSIM_NEW_ARRAY(arena, n, size_t);
    search->is_chosen = TSIM_NEW_ARRAY(arena, n, bool);
    TSIM_TRY(tsim_evidence_read(arena, &search->evidence, diags));
    choose_all(search);
    if (search->options->choose) {
        find_first_items(arena, search);
        search->looks_for = TSIM_PLAN_LOOSE_BOUND;
        bound_chosen(search, team, report, context);
        while (choose_again(search)) {
            simulate_all(search, team, report, context, result);
            if (search->looks_for == TSIM_PLAN_BOUND)
                bound_chosen(search, team, report, context);
            else
                TSIM_TRY(complete_chosen(arena, search, team, report, context, result, diags));
        }
        choose_all(search);
    }
    if (!search->options->choose || (search->is_interrupted && result->n_admitted == 0)) {
        search->looks_for = TSIM_PLAN_SIMULATED;
        simulate_all(search, team, report, context, result);
        refine(search, team, report, context, result);
        TSIM_TRY(complete_chosen(arena, search, team, report, context, result, diags));
    }
    for (size_t c = 0; c < n; c++)
        if (search->own[c].candidate)
            search->own[result->n_own++] = search->own[c];
    result->own = search->own;
    return TSIM_OK;
}

static const struct tsim_plan *completed(const struct tsim_plan *plans, size_t n, int64_t position) {
    for (size_t i = 0; i < n; i++)
        if (plans[i].point.position == position)
            return &plans[i];
    return NULL;
}

/* Takes what the search knows of a plan, whose full run was stopped: among the best there is no more of it than its
 * step, and others are left out. */
static void take_brief(struct tsim_arena *arena, const struct search *search, struct tsim_plan *plan) {
    const struct tsim_best *best = &search->known.best;
    plan->is_left_out = true;
    for (size_t i = 0; i < best->n; i++)
        if (best->points[i].position == plan->point.position) {
            plan->point = best->points[i];
            plan->is_left_out = false;
        }
    for (size_t i = 0; i < search->n_items; i++)
        if (search->items[i].position == plan->point.position) {
            plan->price = search->items[i].price;
            plan->may_not_fit = search->items[i].may_not_fit;
        }
    plan->days = plan->cost_usd = NOT_KNOWN;
    plan->n_similar_runs = plan->n_own_runs = -1;
    plan->set_json = tsim_plan_set_json(arena, plan->candidate, &plan->choice);
}

/* Completes each plan once, because most of the front are among the best. */
static enum tsim_status complete(struct tsim_arena *arena, const struct search *search, int64_t position,
                                 struct tsim_plan_result *result, struct tsim_plan *plan, struct tsim_diags *diags) {
    const struct tsim_plan *done = completed(result->best, result->n_best, position);
    done = done ? done : completed(result->front, result->n_front, position);
    if (done) {
        *plan = *done;
        return TSIM_OK;
    }
    enum tsim_status status = run_again(arena, search, position, plan, diags);
    if (status != TSIM_ERR_STOPPED)
        return status;
    result->is_interrupted = true;
    take_brief(arena, search, plan);
    return TSIM_OK;
}

static int by_time(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    if (x->price.time_s != y->price.time_s)
        return x->price.time_s < y->price.time_s ? -1 : 1;
    return x->position < y->position ? -1 : 1;
}

static enum tsim_status complete_plans(struct tsim_arena *arena, struct search *search, struct tsim_plan_result *result,
                                       struct tsim_diags *diags) {
    const struct known *known = &search->known;
    size_t n_candidates = search->options->space->n_candidates;
    struct tsim_plan *front = TSIM_NEW_ARRAY(arena, known->n_front, struct tsim_plan),
                     *own = TSIM_NEW_ARRAY(arena, n_candidates, struct tsim_plan);
    result->front = front;
    result->own = own;
    for (; result->n_best < known->best.n; result->n_best++)
        TSIM_TRY(complete(arena, search, known->best.points[result->n_best].position, result,
                          &result->best[result->n_best], diags));
    if (known->n_front > 0)
        qsort(known->front, known->n_front, sizeof *known->front, by_time);
    for (size_t i = 0; i < known->n_front; i++) {
        TSIM_TRY(complete(arena, search, known->front[i].position, result, &front[result->n_front], diags));
        result->n_front += !front[result->n_front].is_left_out;
    }
    if (known->safe.fate == FATE_SIMULATED)
        TSIM_TRY(complete(arena, search, known->safe.position, result, &result->safe, diags));
    result->has_safe = known->safe.fate == FATE_SIMULATED && !result->safe.is_left_out;
    for (size_t i = 0; i < n_candidates; i++)
        if (known->own[i].fate == FATE_SIMULATED) {
            TSIM_TRY(complete(arena, search, known->own[i].position, result, &own[result->n_own], diags));
            result->n_own += !own[result->n_own].is_left_out;
        }
    return TSIM_OK;
}

/* Runs what was found in full. It is shown, interrupted or not. */
static enum tsim_status complete_all(struct tsim_arena *arena, struct search *search, tsim_plan_report_fn report,
                                     void *context, struct tsim_plan_result *result, struct tsim_diags *diags) {
    search->heeds = false;
    atomic_store(&search->ends_ms, 0);
    TSIM_TRY(tsim_evidence_read(arena, &search->evidence, diags));
    tsim_stop_set(stops, search);
    enum tsim_status status = complete_plans(arena, search, result, diags);
    tsim_stop_set(NULL, NULL);
    tell_interrupt(search, report, context);
    return status;
}

enum tsim_status tsim_plan_run(struct tsim_arena *arena, const struct tsim_plan_search *options,
                               tsim_plan_report_fn report, void *context, struct tsim_plan_result *result,
                               struct tsim_diags *diags) {
    struct search search = {.options = options,
                            .round = TSIM_NEW_ARRAY(arena, TSIM_PLAN_ROUND, struct item *),
                            .points = TSIM_NEW_ARRAY(arena, TSIM_PLAN_ROUND, struct tsim_point)};
    struct team *team = TSIM_NEW(arena, struct team);
    search.known.own = TSIM_NEW_ARRAY(arena, options->space->n_candidates, struct item);
    search.outcomes = TSIM_NEW_ARRAY(arena, options->space->n_candidates, struct outcomes);
    for (size_t c = 0; c < options->space->n_candidates; c++)
        search.outcomes[c].least_excess_bytes = (double)NAN;
    *result = (struct tsim_plan_result){.n_best = 0};
    team_init(team, options);
    tsim_arena_init(&search.kept);
    sigset_t before;
    search.heeds = options->heeds_interrupt;
    if (search.heeds)
        tsim_interrupts_block(&before);
    enum tsim_status status = TSIM_OK;
    bound_all(&search, team, report, context);
    if (options->is_for_candidates) {
        status = search_candidates(arena, &search, team, report, context, result, diags);
    } else {
        simulate_all(&search, team, report, context, result);
        refine(&search, team, report, context, result);
    }
    count(&search, result);
    find_gaps(arena, &search, team, result);
    if (status == TSIM_OK && !options->is_for_candidates)
        status = complete_all(arena, &search, report, context, result, diags);
    if (options->heeds_interrupt && !search.is_interrupted)
        tsim_interrupts_restore(&before);
    team_release(team);
    tsim_heap_free(search.known.front);
    tsim_heap_free(search.families);
    tsim_arena_release(&search.kept);
    tsim_heap_free(search.items);
    return status;
}
