#include "run/parameter_server.h"

#include "base/random.h"
#include "cluster/power.h"
#include "config/provenance.h"
#include "engine/engine.h"
#include "model/model.h"
#include "model/optimizer.h"
#include "model/parameter_bytes.h"
#include "step/step.h"

#include <math.h>

enum { WORKER_STREAM = 0x737276 /* "srv": its random numbers are nobody else's */ };
#define TICK_S 1e-9

enum phase { COMPUTE, PUSH, UPDATE, PULL, N_PHASES };

struct worker {
    struct run *run;
    int32_t index, out, in; /* its NICs */
    int64_t round;
    enum phase phase;
    double step_s;  /* its own */
    double first_s; /* of its first step: workers do not begin together */
    int64_t seen;   /* updates before its last pull */
};

struct run {
    const struct tsim_scenario *scenario;
    struct tsim_engine *engine;
    struct worker *workers;
    int64_t n; /* workers */
    bool waits_for_all;
    double push_bytes, pull_bytes, update_bytes;
    int32_t servers_in, servers_out, memory; /* of all servers; memory -1: never in the way */
    int32_t pushed, updated;                 /* signals of each round, if all wait for all */
    int64_t round;                           /* of the servers, there */
    int64_t rounds, first, last;             /* updates that count: those after the first, up to the last */
    int64_t n_updates, n_counted;
    double stale, most_stale;
    tsim_tick first_at, last_at;
};

/* ---- programs ---- */

static struct tsim_demand demand(int32_t resource) {
    return (struct tsim_demand){.resource = resource, .per_unit = 1};
}

static void flow(struct tsim_task *task, double bytes, int32_t a, int32_t b) {
    task->work = bytes;
    task->demands[task->n_demands++] = demand(a);
    task->demands[task->n_demands++] = demand(b);
}

static void update(const struct run *run, struct tsim_task *task) {
    if (run->memory < 0)
        return;
    task->work = run->update_bytes;
    task->demands[task->n_demands++] = demand(run->memory);
}

static void compute(const struct worker *worker, struct tsim_task *task) {
    double s = worker->round == 0 ? worker->first_s : worker->step_s;
    task->latency = tsim_engine_ticks(worker->run->engine, s);
}

static bool is_over(const struct worker *worker) {
    const struct run *run = worker->run;
    return run->waits_for_all ? worker->round == run->rounds : run->n_updates >= run->last;
}

static bool next_of_worker(void *context, int32_t stream, struct tsim_task *task) {
    struct worker *worker = context;
    struct run *run = worker->run;
    (void)stream;
    if (worker->phase == COMPUTE && is_over(worker))
        return false;
    task->label = (int64_t)worker->index * N_PHASES + (int64_t)worker->phase;
    switch (worker->phase) {
    case COMPUTE:
        compute(worker, task);
        break;
    case PUSH:
        flow(task, run->push_bytes, worker->out, run->servers_in);
        if (run->waits_for_all)
            task->lowers[task->n_lowers++] = run->pushed + (int32_t)worker->round;
        break;
    case UPDATE:
        if (!run->waits_for_all)
            update(run, task);
        break;
    case PULL:
        worker->seen = run->n_updates;
        flow(task, run->pull_bytes, run->servers_out, worker->in);
        if (run->waits_for_all)
            task->waits[task->n_waits++] = run->updated + (int32_t)worker->round;
        worker->round++;
        break;
    case N_PHASES:
        break;
    }
    worker->phase = (worker->phase + 1) % N_PHASES;
    return true;
}

/* One stream updates for all servers. */
static bool next_of_servers(void *context, int32_t stream, struct tsim_task *task) {
    struct run *run = context;
    (void)stream;
    if (run->round == run->rounds)
        return false;
    task->label = -1;
    task->waits[task->n_waits++] = run->pushed + (int32_t)run->round;
    task->lowers[task->n_lowers++] = run->updated + (int32_t)run->round;
    update(run, task);
    run->round++;
    return true;
}

static void note_update(struct run *run, double stale, tsim_tick now) {
    run->n_updates++;
    if (run->n_updates == run->first)
        run->first_at = now;
    if (run->n_updates > run->last || run->n_updates <= run->first)
        return;
    run->last_at = now;
    run->n_counted++;
    run->stale += stale;
    run->most_stale = fmax(run->most_stale, stale);
}

static void observe(void *context, int32_t stream, int64_t label, tsim_tick ready, tsim_tick begin, tsim_tick end) {
    struct run *run = context;
    (void)stream, (void)ready, (void)begin;
    if (run->waits_for_all && label == -1)
        note_update(run, 0, end);
    if (!run->waits_for_all && label % N_PHASES == UPDATE)
        note_update(run, (double)(run->n_updates - run->workers[label / N_PHASES].seen), end);
}

/* ---- what they move ---- */

/* A server reads gradients, and reads and writes its fp32 weights and the optimizer's state; pulls read the weights. */
static void size(struct run *run) {
    const struct tsim_scenario *sc = run->scenario;
    double parameters = tsim_model_parameters(sc->model), gradient_bytes = tsim_sent_gradient_bytes(sc);
    double gradients = run->waits_for_all ? (double)run->n : 1;
    run->push_bytes = parameters * gradient_bytes;
    run->pull_bytes = parameters * tsim_weight_bytes(sc->training.precision);
    run->update_bytes = parameters * (gradients * gradient_bytes + 2 * (4 + tsim_optimizer_state_bytes(sc)));
}

static void add_servers(struct run *run, const struct tsim_machine *machine) {
    const struct tsim_scenario *sc = run->scenario;
    double n = (double)sc->parallelism.parameter_server.servers;
    double nics = machine->cluster->nic_bytes_per_s * (double)machine->cluster->accelerators_per_node;
    double memory = sc->cluster.node->host_memory_bytes_per_s;
    run->servers_in = tsim_engine_add_resource(run->engine, n * nics);
    run->servers_out = tsim_engine_add_resource(run->engine, n * nics);
    run->memory = memory > 0 ? tsim_engine_add_resource(run->engine, n * memory) : -1;
    if (!run->waits_for_all)
        return;
    run->pushed = tsim_engine_add_signals(run->engine, (int32_t)run->rounds, (int32_t)run->n);
    run->updated = tsim_engine_add_signals(run->engine, (int32_t)run->rounds, 1);
    tsim_engine_add_stream(run->engine, next_of_servers, run);
}

/* One slow accelerator slows its worker down, because the worker's others wait. */
static double slowdown(const struct tsim_variability_spec *v, double ranks, struct tsim_random *random) {
    bool is_slow = tsim_random_uniform(random) > pow(1 - v->straggler_frac, ranks);
    return v->straggler_frac > 0 && is_slow ? v->straggler_slowdown : 1;
}

static void add_workers(struct run *run, const struct tsim_scenario *varied, const struct tsim_machine *machine,
                        double step_s) {
    const struct tsim_scenario *sc = run->scenario;
    double ranks = (double)sc->n_accelerators / (double)run->n, nics = ranks * machine->cluster->nic_bytes_per_s;
    struct tsim_random random;
    tsim_random_init(&random, (uint64_t)sc->simulation.seed, 0, WORKER_STREAM);
    for (int64_t i = 0; i < run->n; i++) {
        struct worker *worker = &run->workers[i];
        double own_s = step_s * slowdown(&varied->variability, ranks, &random);
        double part = run->waits_for_all ? 1 : tsim_random_uniform(&random);
        *worker = (struct worker){.run = run,
                                  .index = (int32_t)i,
                                  .out = tsim_engine_add_resource(run->engine, nics),
                                  .in = tsim_engine_add_resource(run->engine, nics),
                                  .step_s = own_s,
                                  .first_s = own_s * fmax(part, 1e-3)} /* some work, however little */;
        tsim_engine_add_stream(run->engine, next_of_worker, worker);
    }
}

/* ---- a run ---- */

/* Plays as many updates as settle, and as are soon played. */
static void count_rounds(struct run *run) {
    enum { MOST_UPDATES = 8192, LEAST_ROUNDS = 9, MOST_ROUNDS = 48, SYNCHRONOUS_ROUNDS = 4 };
    int64_t rounds = MOST_UPDATES / run->n;
    rounds = rounds < LEAST_ROUNDS ? LEAST_ROUNDS : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
    run->rounds = run->waits_for_all ? SYNCHRONOUS_ROUNDS : rounds;
    run->first = run->waits_for_all ? 1 : rounds / 3 * run->n;
    run->last = run->waits_for_all ? SYNCHRONOUS_ROUNDS : rounds * run->n;
}

static double busy_frac(const struct run *run) {
    double in = tsim_engine_resource_flowed(run->engine, run->servers_in) /
                tsim_engine_capacity(run->engine, run->servers_in),
           out = tsim_engine_resource_flowed(run->engine, run->servers_out) /
                 tsim_engine_capacity(run->engine, run->servers_out);
    return fmax(in, out) / tsim_engine_seconds(run->engine, tsim_engine_now(run->engine));
}

static void take(const struct run *run, const struct tsim_machine *machine, double step_s, double step_j,
                 struct tsim_term_recorder *r, struct tsim_parameter_server *served) {
    const struct tsim_scenario *sc = run->scenario;
    double updates = run->waits_for_all ? 1 : (double)run->n;
    double each_s = tsim_engine_seconds(run->engine, run->last_at - run->first_at) / (double)(run->n_counted);
    double rest_w = tsim_power_at_rest(NULL, machine->cluster).value * (double)sc->n_accelerators;
    struct tsim_amount step = tsim_elsewhere(r, "step.time_s", step_s, TSIM_TIME_S);
    *served = (struct tsim_parameter_server){
        .has = true,
        .time_s = tsim_outcome(r, "parameter_server.time_s",
                               "pushes, updates and pulls of all workers, simulated on the engine: "
                               "sim/run/parameter_server.h",
                               updates * each_s, TSIM_TIME_S, TSIM_PARTS(step))
                      .value,
        .staleness = run->stale / (double)run->n_counted,
        .most_staleness = run->most_stale,
        .busy_frac = busy_frac(run)};
    served->exchange_s = served->time_s - step_s;
    served->energy_j = step_j + rest_w * fmax(served->exchange_s, 0);
    served->samples_per_s = (double)sc->training.global_batch_size * tsim_samples_of_sequence(sc) / served->time_s;
}

enum tsim_status tsim_parameter_server_simulate(const struct tsim_scenario *sc, const struct tsim_scenario *varied,
                                                const struct tsim_machine *machine, double step_s, double step_j,
                                                struct tsim_term_recorder *r, struct tsim_parameter_server *served,
                                                struct tsim_diags *diags) {
    const struct tsim_server_spec *spec = &sc->parallelism.parameter_server;
    if (spec->servers == 0)
        return TSIM_OK;
    struct tsim_arena arena;
    tsim_arena_init(&arena);
    struct run run = {.scenario = sc, .n = spec->workers, .waits_for_all = spec->is_synchronous};
    run.workers = TSIM_NEW_ARRAY(&arena, (size_t)run.n, struct worker);
    count_rounds(&run);
    size(&run);
    const struct tsim_engine_options options = {.tick_s = TICK_S, .observer = observe, .context = &run};
    run.engine = tsim_engine_create(&options);
    add_servers(&run, machine);
    add_workers(&run, varied, machine, step_s);
    enum tsim_status status = tsim_engine_run(run.engine, diags);
    if (status == TSIM_OK)
        take(&run, machine, step_s, step_j, r, served);
    tsim_engine_release(run.engine);
    tsim_arena_release(&arena);
    return status;
}
