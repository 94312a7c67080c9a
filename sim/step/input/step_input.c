#include "step/input/step_input.h"

#include "config/provenance.h"
#include "partition/partition.h"

#include <math.h>
#include <string.h>

/* Step and input pipeline last as long as each other within this part of themselves, or have taken so many turns. */
#define SAME_FRAC 1e-4
enum { MAX_TURNS = 8, MAX_TOP_UPS = 4 };
/* A step's clock counts picoseconds in 63 bits: 107 days. */
#define LONGEST_STEP_S 5e6
/* Rounding may leave nothing of a NIC that collectives fill: reading gets a part of it nonetheless. */
#define LEAST_NIC_FRAC 1e-3

/* ---- which node feeds whom ---- */

/* Returns the stages of the consumers on `node`, at most `room` of them; returns how many there are. */
static int32_t consumers_on(const struct tsim_scenario *sc, const struct tsim_placement *placement, int32_t node,
                            int32_t *stages, int32_t room) {
    int32_t n = 0, first = node * placement->ranks_per_node;
    for (int32_t rank = first; rank < first + placement->ranks_per_node && rank < placement->n_ranks; rank++) {
        struct tsim_coordinates at = tsim_placement_coordinates(placement, rank);
        if (at.at[TSIM_AXIS_TENSOR] > 0 || at.at[TSIM_AXIS_CONTEXT] > 0 ||
            !tsim_stage_has_embedding(sc, at.at[TSIM_AXIS_PIPELINE]))
            continue;
        if (n < room)
            stages[n] = at.at[TSIM_AXIS_PIPELINE];
        n++;
    }
    return n;
}

static int32_t fullest_node(const struct tsim_scenario *sc, const struct tsim_placement *placement,
                            int32_t *n_consumers, int32_t *n_all) {
    int32_t fullest = 0, nodes = (placement->n_ranks + placement->ranks_per_node - 1) / placement->ranks_per_node;
    *n_consumers = *n_all = 0;
    for (int32_t node = 0; node < nodes; node++) {
        int32_t n = consumers_on(sc, placement, node, NULL, 0);
        *n_all += n;
        if (n > *n_consumers) {
            *n_consumers = n;
            fullest = node;
        }
    }
    return fullest;
}

/* ---- what its parts have to do, and can ---- */

/* The work of a batch and the capacities of the fullest node. */
struct demand {
    struct tsim_amount read_bytes, read_alone, cpu, copied_bytes;
    struct tsim_amount storage, cores, link, workers; /* cores 0: one for each worker; link 0: takes no time */
};

static struct tsim_amount of_storage(struct tsim_term_recorder *r, const struct tsim_storage *storage, const char *key,
                                     double value, enum tsim_dimension dimension) {
    return tsim_of_file(r, TSIM_CATALOGUE_STORAGE, storage->name, key, value, dimension);
}

/* Returns the bytes a second that the node's workers get together. */
static struct tsim_amount storage_rate(struct tsim_term_recorder *r, const struct tsim_data_spec *data,
                                       int32_t n_consumers, int32_t n_all) {
    const struct tsim_storage *storage = data->storage;
    struct tsim_amount rate = of_storage(r, storage, "bandwidth", storage->bandwidth_bytes_per_s, TSIM_BYTES_PER_S);
    if (data->access == TSIM_ACCESS_RANDOM)
        rate = tsim_product(
            r, "storage, at random", "bandwidth x random access", TSIM_BYTES_PER_S,
            TSIM_PARTS(rate, of_storage(r, storage, "random_access", storage->random_access_frac, TSIM_FRACTION)));
    if (!storage->is_shared)
        return rate;
    struct tsim_amount share = tsim_given(r, "the node's part of all that is fed", (double)n_consumers / n_all,
                                          TSIM_FRACTION, "placement of the ranks");
    rate = tsim_product(r, "storage, shared", "rate x the node's part", TSIM_BYTES_PER_S, TSIM_PARTS(rate, share));
    if (!(storage->client_bytes_per_s > 0))
        return rate;
    return tsim_smallest(
        r, "storage of the node", "its part, and what one client gets", TSIM_BYTES_PER_S,
        TSIM_PARTS(rate, of_storage(r, storage, "client_bandwidth", storage->client_bytes_per_s, TSIM_BYTES_PER_S)));
}

static struct tsim_amount of_batch(struct tsim_term_recorder *r, const struct tsim_scenario *sc, const char *name,
                                   const char *key, double of_sample, enum tsim_dimension dimension) {
    return tsim_product(
        r, name, "micro-batch x a sample", dimension,
        TSIM_PARTS(tsim_of_scenario(r, "training.micro_batch_size", (double)sc->training.micro_batch_size, TSIM_COUNT),
                   tsim_of_scenario(r, key, of_sample, dimension)));
}

/* Returns the time in which one worker reads a sample with the storage for itself. */
static struct tsim_amount read_alone(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                     struct tsim_amount bytes, struct tsim_amount storage) {
    const struct tsim_data_spec *data = &sc->data;
    struct tsim_amount latency = of_storage(r, data->storage, "latency", data->storage->latency_s, TSIM_TIME_S);
    struct tsim_amount stream = storage;
    if (data->storage->stream_bytes_per_s > 0)
        stream = tsim_smallest(r, "one request stream", "its own limit, and the storage", TSIM_BYTES_PER_S,
                               TSIM_PARTS(of_storage(r, data->storage, "stream_bandwidth",
                                                     data->storage->stream_bytes_per_s, TSIM_BYTES_PER_S),
                                          storage));
    if (data->access == TSIM_ACCESS_RANDOM)
        latency = tsim_product(r, "latencies of a batch", "micro-batch x latency of a request", TSIM_TIME_S,
                               TSIM_PARTS(tsim_of_scenario(r, "training.micro_batch_size",
                                                           (double)sc->training.micro_batch_size, TSIM_COUNT),
                                          latency));
    return tsim_sum(r, "a batch read by one worker alone", "requests x latency + bytes / stream", TSIM_TIME_S,
                    TSIM_PARTS(latency, tsim_product(r, "its bytes", "bytes / stream", TSIM_TIME_S,
                                                     TSIM_PARTS(bytes, tsim_inverse(stream)))));
}

static struct demand demand_of(struct tsim_term_recorder *r, const struct tsim_scenario *sc, int32_t n_consumers,
                               int32_t n_all) {
    const struct tsim_data_spec *data = &sc->data;
    const struct tsim_node *node = sc->cluster.node;
    struct demand d = {
        .read_bytes = of_batch(r, sc, "bytes read", "data.sample_size", data->sample_bytes, TSIM_BYTES),
        .cpu = of_batch(r, sc, "a batch on one core", "data.sample_cpu_time", data->sample_cpu_s, TSIM_TIME_S),
        .copied_bytes = of_batch(r, sc, "bytes copied", "data.transfer_size", data->transfer_bytes, TSIM_BYTES),
        .storage = storage_rate(r, data, n_consumers, n_all),
        .cores = tsim_of_file(r, TSIM_CATALOGUE_NODES, node->name, "host_cores", (double)node->host_cores, TSIM_COUNT),
        .link = tsim_of_file(r, TSIM_CATALOGUE_NODES, node->name, "host_link", node->host_link_bytes_per_s,
                             TSIM_BYTES_PER_S),
        .workers = tsim_of_scenario(r, "data.workers", (double)data->workers, TSIM_COUNT)};
    d.read_alone = read_alone(r, sc, d.read_bytes, d.storage);
    return d;
}

void tsim_input_pipeline_of(const struct tsim_scenario *sc, const struct tsim_placement *placement,
                            struct tsim_input_pipeline *pipeline) {
    int32_t n_consumers, n_all;
    fullest_node(sc, placement, &n_consumers, &n_all);
    const struct demand d = demand_of(NULL, sc, n_consumers, n_all);
    *pipeline = (struct tsim_input_pipeline){.read_bytes = d.read_bytes.value,
                                             .read_alone_s = d.read_alone.value,
                                             .cpu_s = d.cpu.value,
                                             .transfer_bytes = d.copied_bytes.value,
                                             .storage_bytes_per_s = d.storage.value,
                                             .cores = d.cores.value,
                                             .link_bytes_per_s = d.link.value,
                                             .workers = (int32_t)sc->data.workers,
                                             .prefetch = (int32_t)sc->data.prefetch,
                                             .n_consumers = n_consumers};
}

/* ---- how its waits come about ---- */

/* Returns the time that a part with so many hands needs for all batches of a step. */
static struct tsim_amount by_hands(struct tsim_term_recorder *r, const char *name, const char *formula,
                                   struct tsim_amount batches, struct tsim_amount batch, struct tsim_amount hands) {
    return tsim_product(r, name, formula, TSIM_TIME_S, TSIM_PARTS(batches, batch, tsim_inverse(hands)));
}

/* The slowest part sets the pace, if enough is loaded ahead. */
static struct tsim_amount slowest_part(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                       const struct tsim_placement *placement) {
    struct tsim_schedule_shape shape = tsim_scenario_schedule(sc);
    int32_t n_consumers, n_all;
    fullest_node(sc, placement, &n_consumers, &n_all);
    const struct demand d = demand_of(r, sc, n_consumers, n_all);
    struct tsim_amount replicas =
        tsim_given(r, "replicas that the fullest node feeds", n_consumers, TSIM_COUNT, "placement of the ranks");
    struct tsim_amount batches = tsim_product(
        r, "batches of the node in a step", "replicas x batches", TSIM_COUNT,
        TSIM_PARTS(replicas, tsim_given(r, "batches of a replica in a step", tsim_schedule_chunk_microbatches(&shape),
                                        TSIM_COUNT, "the plan")));
    struct tsim_amount reading = tsim_product(r, "a batch from storage", "bytes / rate", TSIM_TIME_S,
                                              TSIM_PARTS(d.read_bytes, tsim_inverse(d.storage)));
    struct tsim_amount parts[4] = {
        tsim_product(r, "storage", "batches x a batch", TSIM_TIME_S, TSIM_PARTS(batches, reading)),
        by_hands(r, "requests", "batches x a batch alone / workers", batches, d.read_alone, d.workers)};
    size_t n = 2;
    if (d.cpu.value > 0)
        parts[n++] = by_hands(r, "workers", "batches x a batch / cores that work on them", batches, d.cpu,
                              d.cores.value > 0 && d.cores.value < d.workers.value ? d.cores : d.workers);
    if (d.link.value > 0)
        parts[n++] = by_hands(
            r, "links", "batches x a copy / replicas", batches,
            tsim_product(r, "a copy", "bytes / rate", TSIM_TIME_S, TSIM_PARTS(d.copied_bytes, tsim_inverse(d.link))),
            replicas);
    return tsim_largest(r, "a step's batches in the slowest part", "the longest of storage, requests, workers, links",
                        TSIM_TIME_S, parts, n);
}

struct tsim_amount tsim_data_stall_record(struct tsim_term_recorder *r, const struct tsim_scenario *sc,
                                          const struct tsim_placement *placement, const struct tsim_step_terms *terms) {
    static const char *const NAME = "step.data_stall_s";
    if (!sc->data.has)
        return tsim_given(r, NAME, 0, TSIM_TIME_S, "the scenario has no data: batches are always there");
    return tsim_outcome(r, NAME, "what the slowest rank waits for batches, simulated on the engine",
                        terms->data_stall_s, TSIM_TIME_S,
                        TSIM_PARTS(slowest_part(r, sc, placement),
                                   tsim_given(r, "the step but for that", terms->time_s - terms->data_stall_s,
                                              TSIM_TIME_S, "simulated, see step.time_s"),
                                   tsim_of_scenario(r, "data.prefetch", (double)sc->data.prefetch, TSIM_COUNT)));
}

/* ---- gaps ---- */

/* A simulated replica has its own account; all others are like the first. */
static const struct tsim_stage_group_account *account_of(const struct tsim_step_simulation *simulation, int32_t stage) {
    return &simulation->stage_groups[stage];
}

static void take_gaps(const struct tsim_step_simulation *simulation, const int32_t *stages,
                      struct tsim_input_pipeline *pipeline, double *gaps_s) {
    pipeline->n_batches = account_of(simulation, stages[0])->n_inputs;
    pipeline->gaps_s = gaps_s;
    for (int32_t i = 0; i < pipeline->n_consumers; i++) {
        const struct tsim_stage_group_account *account = account_of(simulation, stages[i]);
        TSIM_ASSERT(account->n_inputs == pipeline->n_batches);
        memcpy(gaps_s + (size_t)i * (size_t)(pipeline->n_batches + 1), account->input_gaps_s,
               (size_t)(pipeline->n_batches + 1) * sizeof *gaps_s);
    }
}

/* ---- turns ---- */

struct turns {
    struct tsim_arena *arena;
    const struct tsim_scenario *scenario;
    const struct tsim_cluster *cluster;
    const struct tsim_placement *placement;
    const struct tsim_pass_costs *costs;
    struct tsim_diags *diags;
    struct tsim_step_input input;
    double *waits_s; /* in the step */
    int64_t events;
};

static enum tsim_status simulate_step(struct turns *t, const struct tsim_step_sink *sink,
                                      struct tsim_step_simulation *simulation) {
    TSIM_TRY(tsim_step_simulate_with_late_batches(t->arena, t->scenario, t->cluster, t->placement, t->costs, &t->input,
                                                  sink, simulation, t->diags));
    t->events += simulation->events;
    return TSIM_OK;
}

static enum tsim_status refuse(const struct turns *t, const struct tsim_input_pipeline_flow *flow) {
    struct tsim_place nowhere = {.file = t->scenario->file};
    char text[40];
    tsim_diag_hint(tsim_diags_error(t->diags, TSIM_ERR_INFEASIBLE, nowhere, "data", "a step waits %s for its data",
                                    tsim_quantity_human(flow->wait_s, TSIM_TIME_S, text, sizeof text)),
                   "check sample_size, sample_cpu_time and the storage's bandwidth and latency");
    return TSIM_ERR_INFEASIBLE;
}

static bool is_same(const struct tsim_step_simulation *simulation, const struct tsim_input_pipeline_flow *flow) {
    return fabs(simulation->time_s - flow->step_s) <= SAME_FRAC * flow->step_s;
}

/* Waits that fall into slack do not lengthen the step, and the next input pipeline finds them too short by as much
 * again. The first batch waits longer by what is missing when they have taken their turns: then the whole step moves.
 */
static enum tsim_status top_up(struct turns *t, const struct tsim_input_pipeline_flow *flow,
                               struct tsim_step_simulation *simulation) {
    for (int i = 0; i < MAX_TOP_UPS && !is_same(simulation, flow) && simulation->time_s < flow->step_s; i++) {
        t->waits_s[0] += flow->step_s - simulation->time_s;
        TSIM_TRY(simulate_step(t, NULL, simulation));
    }
    return TSIM_OK;
}

/* Returns the ranks that get a batch together. */
static double ranks_of_batch(const struct tsim_scenario *sc) {
    return (double)(sc->parallelism.tensor * sc->parallelism.context);
}

/* Returns what the storage delivers to the node: over the NICs at most what the step leaves, on average, of those of the ranks that
 * get batches. */
static double delivered_bytes_per_s(const struct turns *t, const struct tsim_step_simulation *simulation,
                                    const int32_t *stages, double storage_bytes_per_s, int32_t n_consumers) {
    bool is_ideal = t->scenario->simulation.network == TSIM_NETWORK_IDEAL;
    double nic = t->cluster->nic_bytes_per_s, ranks = ranks_of_batch(t->scenario) * n_consumers;
    double used = is_ideal ? 0 : account_of(simulation, stages[0])->nic_bytes / simulation->time_s;
    if (!(t->input.read_bytes > 0))
        return storage_bytes_per_s;
    return fmin(storage_bytes_per_s, ranks * fmax(nic - used, LEAST_NIC_FRAC * nic));
}

/* Copies are busy so much of the time; the passes wait most for them where the step waits longer than for the host. */
static void judge_copies(const struct tsim_step_simulation *simulation, const int32_t *stages,
                         const struct tsim_input_pipeline *pipeline, double link_bytes_per_s,
                         struct tsim_input_pipeline_flow *flow) {
    double stall_s = account_of(simulation, stages[0])->terms.data_stall_s;
    if (!(link_bytes_per_s > 0))
        return;
    flow->link_frac = pipeline->n_batches * pipeline->transfer_bytes / (link_bytes_per_s * simulation->time_s);
    if (stall_s - flow->wait_s > fmax(flow->wait_s, 1e-9 * simulation->time_s))
        flow->bound = TSIM_INPUT_BOUND_LINK;
}

static enum tsim_status take_turns(struct turns *t, struct tsim_step_simulation *simulation,
                                   struct tsim_input_pipeline_flow *flow) {
    struct tsim_input_pipeline pipeline;
    tsim_input_pipeline_of(t->scenario, t->placement, &pipeline);
    double link_bytes_per_s = pipeline.link_bytes_per_s;
    pipeline.link_bytes_per_s = 0; /* copies are tasks of the step */
    int32_t n_consumers, n_all, node = fullest_node(t->scenario, t->placement, &n_consumers, &n_all);
    int32_t *stages = TSIM_NEW_ARRAY(t->arena, (size_t)n_consumers, int32_t);
    consumers_on(t->scenario, t->placement, node, stages, n_consumers);
    double storage_bytes_per_s = pipeline.storage_bytes_per_s;
    if (t->scenario->data.network == TSIM_STORAGE_NICS && t->cluster->nic_bytes_per_s > 0) {
        double ranks = ranks_of_batch(t->scenario);
        t->input.read_bytes = pipeline.read_bytes / ranks;
        t->input.read_bytes_per_s = storage_bytes_per_s / (n_consumers * ranks);
    }
    TSIM_TRY(simulate_step(t, NULL, simulation));
    size_t n_batches = (size_t)account_of(simulation, stages[0])->n_inputs;
    double *gaps_s = TSIM_NEW_ARRAY(t->arena, (size_t)n_consumers * (n_batches + 1), double);
    t->waits_s = TSIM_NEW_ARRAY(t->arena, n_batches, double);
    for (int turn = 0; turn < MAX_TURNS; turn++) {
        take_gaps(simulation, stages, &pipeline, gaps_s);
        pipeline.storage_bytes_per_s = delivered_bytes_per_s(t, simulation, stages, storage_bytes_per_s, n_consumers);
        TSIM_TRY(tsim_input_pipeline_simulate(t->arena, &pipeline, flow, t->diags));
        t->events += flow->events;
        judge_copies(simulation, stages, &pipeline, link_bytes_per_s, flow);
        if (turn == 0 && !(flow->wait_s > 1e-9 * flow->step_s))
            return TSIM_OK;
        if (flow->step_s > LONGEST_STEP_S)
            return refuse(t, flow);
        memcpy(t->waits_s, flow->waits_s, n_batches * sizeof *t->waits_s);
        t->input.waits_s = t->waits_s;
        TSIM_TRY(simulate_step(t, NULL, simulation));
        judge_copies(simulation, stages, &pipeline, link_bytes_per_s, flow);
        double delivered = delivered_bytes_per_s(t, simulation, stages, storage_bytes_per_s, n_consumers);
        bool delivers_same = fabs(delivered - pipeline.storage_bytes_per_s) <= SAME_FRAC * delivered;
        if (is_same(simulation, flow) && delivers_same)
            return TSIM_OK;
    }
    return top_up(t, flow, simulation);
}

enum tsim_status tsim_step_simulate_with_input(struct tsim_arena *arena, const struct tsim_scenario *scenario,
                                               const struct tsim_cluster *cluster,
                                               const struct tsim_placement *placement,
                                               const struct tsim_pass_costs *costs, const struct tsim_step_sink *sink,
                                               struct tsim_step_simulation *simulation,
                                               struct tsim_input_pipeline_flow *flow, struct tsim_diags *diags) {
    struct turns turns = {.arena = arena,
                          .scenario = scenario,
                          .cluster = cluster,
                          .placement = placement,
                          .costs = costs,
                          .diags = diags};
    *flow = (struct tsim_input_pipeline_flow){.bound = TSIM_INPUT_BOUND_NONE};
    if (!scenario->data.has)
        return tsim_step_simulate_observed(arena, scenario, cluster, placement, costs, sink, simulation, diags);
    TSIM_TRY(take_turns(&turns, simulation, flow));
    if (sink)
        TSIM_TRY(simulate_step(&turns, sink, simulation));
    simulation->events = turns.events;
    return TSIM_OK;
}
