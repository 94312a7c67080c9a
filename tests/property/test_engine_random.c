/* Random systems of streams, resources, signals, counters and joins of two, each run
 *   - on the engine;
 *   - on the engine again with streams, resources, signals and counters renumbered, and what a task demands, waits for
 *     and lowers in another order: the same times to the tick, but for rounding;
 *   - on the engine beside so many idle streams that it shares as among many: the same times, but for rounding;
 *   - on a naive fluid simulator in doubles, which solves the whole system by water-filling at every step: the same
 * times; and on every run: tasks of a stream do not overlap, no task is faster than alone, what flowed through a
 * resource is the sum of work x demand, and no resource could have carried more in the time. */
#include "engine/engine.h"
#include "support/check_main.h"
#include "support/naive_maxmin.h"
#include "support/random.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum { MAX_STREAMS = 8, MAX_TASKS = 6, MAX_RESOURCES = 5, N_SYSTEMS = 10000, N_MANY = 64 };
static const uint64_t SEED = 20260220;

/* The naive run differs by rounding to ticks of 1 ps, at every end of every task, in runs of a few seconds. */
static const double NAIVE_TOLERANCE_S = 1e-9;

/* A sum in another order may round the other way. If a duration is just between two ticks, that makes a tick of
 * difference, and a few ticks if what follows is slowed down from there on. It happens to one system in thousands. */
static const double RENUMBERED_TOLERANCE_S = 4e-12;
enum { MAX_DIFFERENT = N_SYSTEMS / 1000 };

struct task {
    double work, weight, bound; /* bound 0 = none */
    double latency_s;
    double demand[MAX_RESOURCES];
    int waits_stream, waits_task; /* for that task of that stream; -1 = for none */
    int partner;                  /* the stream whose task of the same number joins this one; -1 = none */
};

struct system {
    int n_streams, n_tasks, n_resources; /* n_tasks: of each stream */
    double capacity[MAX_RESOURCES];
    struct task tasks[MAX_STREAMS][MAX_TASKS];
    /* These are results. */
    double begin_s[MAX_STREAMS][MAX_TASKS], end_s[MAX_STREAMS][MAX_TASKS];
    double flowed[MAX_RESOURCES];
};

/* A task waits only for tasks with a smaller number in their stream, and joins one of the same number: no circles. Half
 * of the systems are coarse (whole numbers), so that many things happen at the same tick. */
static void make_task(struct system *system, struct random_source *random, bool is_coarse, int k, struct task *task) {
    *task = (struct task){.waits_stream = -1, .partner = -1, .weight = 1};
    task->work = random_between(random, 0, 9) == 0 ? 0 : is_coarse ? random_between(random, 1, 3) : random_real(random);
    task->latency_s = random_between(random, 0, 2) ? 0 : is_coarse ? 1 : random_real(random);
    if (random_between(random, 0, 3) == 0)
        task->bound = is_coarse ? 1 : 0.1 + random_real(random);
    if (random_between(random, 0, 3) == 0)
        task->weight = is_coarse ? 2 : 0.1 + random_real(random);
    int n_demands = random_between(random, 1, 3);
    for (int i = 0; i < n_demands; i++)
        task->demand[random_between(random, 0, system->n_resources - 1)] = is_coarse ? 1 : 0.1 + random_real(random);
    if (k > 0 && random_between(random, 0, 2) == 0) {
        task->waits_stream = random_between(random, 0, system->n_streams - 1);
        task->waits_task = random_between(random, 0, k - 1);
    }
}

/* Partners have everything in common but what they demand and what they wait for. */
static void join_partners(struct system *system, struct random_source *random, int k) {
    for (int s = 0; s + 1 < system->n_streams; s++) {
        int t = random_between(random, s + 1, system->n_streams - 1);
        struct task *mine = &system->tasks[s][k], *theirs = &system->tasks[t][k];
        if (mine->partner >= 0 || theirs->partner >= 0 || random_between(random, 0, 2))
            continue;
        mine->partner = t;
        theirs->partner = s;
        theirs->work = mine->work;
        theirs->weight = mine->weight;
        theirs->bound = mine->bound;
        theirs->latency_s = mine->latency_s;
    }
}

static void make_system(struct system *system, uint64_t seed) {
    struct random_source random = {seed};
    *system = (struct system){0};
    bool is_coarse = random_between(&random, 0, 1);
    system->n_streams = random_between(&random, 1, MAX_STREAMS);
    system->n_tasks = random_between(&random, 1, MAX_TASKS);
    system->n_resources = random_between(&random, 1, MAX_RESOURCES);
    for (int r = 0; r < system->n_resources; r++)
        system->capacity[r] = is_coarse ? random_between(&random, 1, 2) : 0.2 + random_real(&random);
    for (int s = 0; s < system->n_streams; s++)
        for (int k = 0; k < system->n_tasks; k++)
            make_task(system, &random, is_coarse, k, &system->tasks[s][k]);
    for (int k = 0; k < system->n_tasks; k++)
        join_partners(system, &random, k);
}

static double decades(struct random_source *random, double from, double to) {
    return pow(10, from + (to - from) * random_real(random));
}

/* Spreads capacities over 12 decades, and work, bounds, weights (by task number, so that partners still agree) and
 * demands over a few: durations from less than a tick to days in one system. */
static void widen_system(struct system *system, uint64_t seed) {
    struct random_source random = {~seed};
    for (int r = 0; r < system->n_resources; r++)
        system->capacity[r] *= decades(&random, 3, 15);
    for (int k = 0; k < system->n_tasks; k++) {
        double work = decades(&random, -2, 5), bound = decades(&random, 2, 12), weight = decades(&random, -3, 3);
        for (int s = 0; s < system->n_streams; s++) {
            struct task *task = &system->tasks[s][k];
            task->work *= work;
            task->bound *= bound;
            task->weight *= weight;
            for (int r = 0; r < system->n_resources; r++)
                task->demand[r] *= decades(&random, -3, 2);
        }
    }
}

/* ---- on the engine: stream s of the system is stream stream_at[s] of the engine, and so on ---- */

enum { MAX_SIGNALS = MAX_STREAMS * MAX_TASKS };

struct player {
    struct system *system;
    struct tsim_engine *engine;
    int32_t stream_at[MAX_STREAMS], resource_at[MAX_RESOURCES], signal_at[2 * MAX_SIGNALS], counter_at[MAX_STREAMS];
    int32_t system_stream[MAX_STREAMS]; /* the other way */
    int n_played[MAX_STREAMS];
    struct random_source *renumber; /* NULL = everything in its own order */
};

/* Each task lowers two signals of its own at its end: one that others may wait for, and one that nobody waits for. */
static int32_t signal_of(const struct player *player, int s, int k, int which) {
    return player->signal_at[2 * (s * player->system->n_tasks + k) + which];
}

/* Each stream counts its tasks. One of the streams that wait for its tasks asks the counter, the others the signals.
 */
static bool asks_counter(const struct system *system, int s, int waits_stream) {
    return s == (waits_stream + 1) % system->n_streams;
}

static void shuffle(int32_t *numbers, int count, struct random_source *random) {
    for (int i = 0; i < count; i++)
        numbers[i] = i;
    for (int i = count - 1; random && i > 0; i--) {
        int j = random_between(random, 0, i);
        int32_t swapped = numbers[i];
        numbers[i] = numbers[j];
        numbers[j] = swapped;
    }
}

static void add_demands(const struct player *player, const struct task *from, struct tsim_task *task) {
    int32_t order[MAX_RESOURCES];
    shuffle(order, player->system->n_resources, player->renumber);
    for (int i = 0; i < player->system->n_resources; i++)
        if (from->demand[order[i]] > 0)
            task->demands[task->n_demands++] =
                (struct tsim_demand){player->resource_at[order[i]], from->demand[order[i]]};
}

static void wait_for(const struct player *player, int s, int k, struct tsim_task *task) {
    task->waits[task->n_waits++] = signal_of(player, s, k, 0);
}

/* A task waits for its own past too, which is no wait. */
static void add_waits(const struct player *player, int s, int k, struct tsim_task *task) {
    const struct task *from = &player->system->tasks[s][k];
    int first = player->renumber ? random_between(player->renumber, 0, 1) : 0;
    task->lowers[task->n_lowers++] = signal_of(player, s, k, first);
    task->lowers[task->n_lowers++] = signal_of(player, s, k, 1 - first);
    task->raised_counter = player->counter_at[s];
    if (k > 0 && first == 0)
        wait_for(player, s, k - 1, task);
    if (from->waits_stream >= 0 && asks_counter(player->system, s, from->waits_stream)) {
        task->awaited_counter = player->counter_at[from->waits_stream];
        task->awaited_value = from->waits_task + 1;
    } else if (from->waits_stream >= 0) {
        wait_for(player, from->waits_stream, from->waits_task, task);
    }
    if (k > 0 && first == 1)
        wait_for(player, s, k - 1, task);
}

static bool play(void *context, int32_t stream, struct tsim_task *task) {
    struct player *player = context;
    const struct system *system = player->system;
    int s = player->system_stream[stream], k = player->n_played[s]++;
    if (k == system->n_tasks)
        return false;
    const struct task *from = &system->tasks[s][k];
    task->label = k;
    task->work = from->work;
    task->weight = from->weight;
    task->bound_per_s = from->bound;
    task->latency = tsim_engine_ticks(player->engine, from->latency_s);
    if (from->partner >= 0) {
        task->join = k * MAX_STREAMS + (from->partner < s ? from->partner : s);
        task->n_parties = 2;
    }
    add_demands(player, from, task);
    add_waits(player, s, k, task);
    return true;
}

static void observe(void *context, int32_t stream, int64_t label, tsim_tick ready, tsim_tick begin, tsim_tick end) {
    struct player *player = context;
    int s = player->system_stream[stream];
    TSIM_ALWAYS(ready <= begin, "task %d of stream %d begins before it is ready", (int)label, s);
    player->system->begin_s[s][label] = tsim_engine_seconds(player->engine, begin);
    player->system->end_s[s][label] = tsim_engine_seconds(player->engine, end);
}

static bool idle(void *context, int32_t stream, struct tsim_task *task) {
    (void)context, (void)stream, (void)task;
    return false;
}

static void run_on_engine(struct system *system, struct random_source *renumber, int n_idle) {
    struct player player = {.system = system, .renumber = renumber};
    struct tsim_engine_options options = {.tick_s = 1e-12, .observer = observe, .context = &player};
    struct tsim_diags diags;
    tsim_diags_init(&diags);
    player.engine = tsim_engine_create(&options);
    shuffle(player.resource_at, system->n_resources, renumber);
    shuffle(player.stream_at, system->n_streams, renumber);
    shuffle(player.counter_at, system->n_streams, renumber);
    shuffle(player.signal_at, 2 * system->n_streams * system->n_tasks, renumber);
    for (int32_t at = 0; at < system->n_resources; at++)
        for (int r = 0; r < system->n_resources; r++)
            if (player.resource_at[r] == at)
                tsim_engine_add_resource(player.engine, system->capacity[r]);
    for (int s = 0; s < system->n_streams; s++) {
        player.system_stream[player.stream_at[s]] = s;
        tsim_engine_add_stream(player.engine, play, &player);
    }
    for (int i = 0; i < n_idle; i++)
        tsim_engine_add_stream(player.engine, idle, NULL);
    tsim_engine_add_signals(player.engine, 2 * system->n_streams * system->n_tasks, 1);
    tsim_engine_add_counters(player.engine, system->n_streams);
    TSIM_ALWAYS(tsim_engine_run(player.engine, &diags) == TSIM_OK, "the run fails");
    for (int r = 0; r < system->n_resources; r++)
        system->flowed[r] = tsim_engine_resource_flowed(player.engine, player.resource_at[r]);
    tsim_engine_release(player.engine);
    tsim_diags_release(&diags);
}

/* ---- the naive simulator: time goes from change to change, everything is looked at every time ---- */

/* The one of two partners with the larger number is carried along by the other. */
enum phase { WAITING, IN_LATENCY, FLOWING, CARRIED, DONE };

struct naive {
    struct system *system;
    double now_s;
    int at[MAX_STREAMS]; /* task number */
    enum phase phase[MAX_STREAMS];
    double left[MAX_STREAMS], rate[MAX_STREAMS]; /* seconds of latency, units of work */
};

static bool has_ended(const struct naive *naive, int s, int k) {
    return naive->at[s] > k;
}

static bool is_ready(const struct naive *naive, int s, int k) {
    const struct task *task = &naive->system->tasks[s][k];
    return naive->phase[s] == WAITING && naive->at[s] == k &&
           (task->waits_stream < 0 || has_ended(naive, task->waits_stream, task->waits_task));
}

static void begin_task(struct naive *naive, int s, enum phase phase) {
    naive->system->begin_s[s][naive->at[s]] = naive->now_s;
    naive->phase[s] = phase;
    naive->left[s] = naive->system->tasks[s][naive->at[s]].latency_s;
}

static void end_task(struct naive *naive, int s) {
    naive->system->end_s[s][naive->at[s]++] = naive->now_s;
    naive->phase[s] = naive->at[s] == naive->system->n_tasks ? DONE : WAITING;
}

/* Moves stream s on as far as it can go without time passing; true if it moved. */
static bool advance(struct naive *naive, int s) {
    if (naive->phase[s] == DONE || naive->phase[s] == CARRIED)
        return false;
    const struct task *task = &naive->system->tasks[s][naive->at[s]];
    if (naive->phase[s] == WAITING) {
        if (!is_ready(naive, s, naive->at[s]) ||
            (task->partner >= 0 && (task->partner < s || !is_ready(naive, task->partner, naive->at[s]))))
            return false;
        begin_task(naive, s, IN_LATENCY);
        if (task->partner >= 0)
            begin_task(naive, task->partner, CARRIED);
        return true;
    }
    if (naive->left[s] > 1e-13)
        return false;
    if (naive->phase[s] == IN_LATENCY) {
        naive->phase[s] = FLOWING;
        naive->left[s] = task->work;
        return true;
    }
    if (task->partner >= 0)
        end_task(naive, task->partner);
    end_task(naive, s);
    return true;
}

static void solve_naively(struct naive *naive) {
    const struct system *system = naive->system;
    double weight[MAX_STREAMS], bound[MAX_STREAMS], rate[MAX_STREAMS], demand[MAX_STREAMS * MAX_RESOURCES];
    int who[MAX_STREAMS], n = 0;
    for (int s = 0; s < system->n_streams; s++) {
        naive->rate[s] = 1; /* latency: a second per second */
        if (naive->phase[s] != FLOWING)
            continue;
        const struct task *task = &system->tasks[s][naive->at[s]];
        weight[n] = task->weight;
        bound[n] = task->bound > 0 ? task->bound : HUGE_VAL;
        for (int r = 0; r < system->n_resources; r++)
            demand[n * system->n_resources + r] =
                task->demand[r] + (task->partner >= 0 ? system->tasks[task->partner][naive->at[s]].demand[r] : 0);
        who[n++] = s;
    }
    naive_maxmin_rates(&(struct naive_system){n, system->n_resources, system->capacity, weight, bound, demand}, rate);
    for (int i = 0; i < n; i++)
        naive->rate[who[i]] = rate[i];
}

static void run_naively(struct system *system) {
    struct naive naive = {.system = system};
    for (;;) {
        for (bool moved = true; moved;) {
            moved = false;
            for (int s = 0; s < system->n_streams; s++)
                moved |= advance(&naive, s);
        }
        solve_naively(&naive);
        double step_s = HUGE_VAL;
        for (int s = 0; s < system->n_streams; s++)
            if (naive.phase[s] == IN_LATENCY || naive.phase[s] == FLOWING)
                step_s = fmin(step_s, naive.left[s] / naive.rate[s]);
        if (step_s > DBL_MAX)
            return;
        naive.now_s += step_s;
        for (int s = 0; s < system->n_streams; s++)
            if (naive.phase[s] == IN_LATENCY || naive.phase[s] == FLOWING)
                naive.left[s] -= step_s * naive.rate[s];
    }
}

/* ---- the laws ---- */

static double time_alone_s(const struct system *system, const struct task *task) {
    double flow_s = task->bound > 0 ? task->work / task->bound : 0;
    for (int r = 0; r < system->n_resources; r++)
        flow_s = fmax(flow_s, task->work * task->demand[r] / system->capacity[r]);
    return task->latency_s + flow_s;
}

/* Returns the time at which the stream is free and what the task waits for has ended. */
static double ready_s(const struct system *system, int s, int k) {
    const struct task *task = &system->tasks[s][k];
    double free_s = k > 0 ? system->end_s[s][k - 1] : 0;
    return task->waits_stream >= 0 ? fmax(free_s, system->end_s[task->waits_stream][task->waits_task]) : free_s;
}

static void check_times(const struct system *system, uint64_t seed) {
    for (int s = 0; s < system->n_streams; s++) {
        for (int k = 0; k < system->n_tasks; k++) {
            const struct task *task = &system->tasks[s][k];
            double both_ready_s = ready_s(system, s, k), begin_s = system->begin_s[s][k];
            if (task->partner >= 0)
                both_ready_s = fmax(both_ready_s, ready_s(system, task->partner, k));
            TSIM_ALWAYS(begin_s >= both_ready_s && begin_s <= both_ready_s,
                        "seed %llu: a task does not begin when it can", (unsigned long long)seed);
            double rounding_s = 2e-12 + 2 * DBL_EPSILON * system->end_s[s][k];
            TSIM_ALWAYS(system->end_s[s][k] - begin_s >= time_alone_s(system, task) * (1 - 1e-9) - rounding_s,
                        "seed %llu: a task is faster than alone", (unsigned long long)seed);
        }
    }
}

static void check_flows(const struct system *system, uint64_t seed) {
    double makespan_s = 0;
    for (int s = 0; s < system->n_streams; s++)
        makespan_s = fmax(makespan_s, system->end_s[s][system->n_tasks - 1]);
    for (int r = 0; r < system->n_resources; r++) {
        double expected = 0;
        for (int s = 0; s < system->n_streams; s++)
            for (int k = 0; k < system->n_tasks; k++)
                expected += system->tasks[s][k].work * system->tasks[s][k].demand[r];
        TSIM_ALWAYS(fabs(system->flowed[r] - expected) <= 1e-12 * expected, "seed %llu: %.17g flowed, not %.17g",
                    (unsigned long long)seed, system->flowed[r], expected);
        TSIM_ALWAYS(expected <= system->capacity[r] * (makespan_s * (1 + 1e-9) + 1e-9),
                    "seed %llu: more flowed than could", (unsigned long long)seed);
    }
}

static void check_same(const struct system *a, const struct system *b, const char *what, double tolerance_s,
                       uint64_t seed) {
    for (int s = 0; s < a->n_streams; s++)
        for (int k = 0; k < a->n_tasks; k++)
            TSIM_ALWAYS(fabs(a->end_s[s][k] - b->end_s[s][k]) <= tolerance_s,
                        "seed %llu: task %d of stream %d ends at %.15g, %s at %.15g", (unsigned long long)seed, k, s,
                        a->end_s[s][k], what, b->end_s[s][k]);
}

static bool is_same_to_the_tick(const struct system *a, const struct system *b) {
    for (int s = 0; s < a->n_streams; s++)
        for (int k = 0; k < a->n_tasks; k++)
            if (a->end_s[s][k] < b->end_s[s][k] || a->end_s[s][k] > b->end_s[s][k])
                return false;
    return true;
}

TSIM_TEST(random_systems) {
    int n_different = 0;
    printf("seed %llu\n", (unsigned long long)SEED);
    for (uint64_t seed = SEED; seed < SEED + N_SYSTEMS; seed++) {
        static struct system straight, renumbered, among_many, naive;
        make_system(&straight, seed);
        renumbered = among_many = naive = straight;
        run_on_engine(&straight, NULL, 0);
        check_times(&straight, seed);
        check_flows(&straight, seed);
        run_on_engine(&renumbered, &(struct random_source){seed}, 0);
        check_flows(&renumbered, seed);
        check_same(&straight, &renumbered, "renumbered", RENUMBERED_TOLERANCE_S, seed);
        n_different += !is_same_to_the_tick(&straight, &renumbered);
        run_on_engine(&among_many, NULL, N_MANY);
        check_flows(&among_many, seed);
        check_same(&straight, &among_many, "among many", RENUMBERED_TOLERANCE_S, seed);
        run_naively(&naive);
        check_same(&straight, &naive, "naively", NAIVE_TOLERANCE_S, seed);
    }
    ck_assert_int_le(n_different, MAX_DIFFERENT);
}

/* No second implementation and no renumbering here: a tick more or less at 1e15 units/s is minutes at 1 unit/s. */
TSIM_TEST(wide_systems_obey_the_laws) {
    for (uint64_t seed = SEED; seed < SEED + N_SYSTEMS; seed++) {
        static struct system system;
        make_system(&system, seed);
        widen_system(&system, seed);
        run_on_engine(&system, NULL, seed % 2 == 0 ? 0 : N_MANY);
        check_times(&system, seed);
        check_flows(&system, seed);
    }
}

TSIM_MAIN(CHECKS_LIMIT_S, NULL, NULL)
